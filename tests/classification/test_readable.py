"""What a printed classifier promises: how good its printed terms are, and which shorter formula is nearly as good."""

import re
from pathlib import Path

import numpy as np
import pytest
from rings import rings
from sklearn.metrics import accuracy_score, balanced_accuracy_score, recall_score, roc_auc_score

from vanishing import OAVI, VanishingIdealClassifier, VanishingIdealClassifierCV, load
from vanishing.classification.model.rates import Rates, rates_of

FILES = Path(__file__).parents[1] / "files"


def overlapping(n=900, rare=0.5, seed=0):
    """Two classes that share much of their room, one of them with a share of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - X[:, 3] + rng.normal(size=n)
    return X, np.where(score > np.quantile(score, 1.0 - rare), "yes", "no")


@pytest.fixture(scope="module")
def searched():
    X, y = overlapping()
    return VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2).fit(X, y), X, y


def test_the_printed_terms_alone_are_as_good_as_the_print_says(searched):
    """By the contributions of each row: those of terms that are not printed are replaced by their means."""
    clf, X, y = searched
    parts = clf.explain(X)
    pattern = r"right on ([\d.]+)% of the training rows, with the (\d+) printed terms alone on ([\d.]+)%"
    whole, n_printed, alone = re.search(pattern, str(clf)).groups()
    terms = clf.best_estimator_.formula_.ordered()
    printed = {term.text for term in terms[: int(n_printed)]}
    assert all(text in str(clf) for text in printed)
    others = [name for name in parts if name not in printed and name != "intercept"]
    short = parts.drop(columns=others).sum(axis=1) + parts[others].mean().sum()
    assert float(whole) == pytest.approx(100.0 * accuracy_score(y, clf.predict(X)), abs=0.05)
    assert float(alone) == pytest.approx(100.0 * np.mean(np.where(short > 0.0, "yes", "no") == y), abs=0.05)


def test_the_shorter_formula_that_is_offered_loses_less_than_a_point(searched):
    clf, X, y = searched
    (offered,) = re.findall(r"terms, fitted again, .*: max_columns=(\d+)", str(clf))
    short = VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2, max_columns=int(offered)).fit(X, y)
    assert short.best_estimator_.n_columns_ <= int(offered) < clf.best_estimator_.n_columns_
    assert short.score(X, y) > clf.score(X, y) - 0.02


def test_uneven_classes_are_shown_beside_the_accuracy():
    X, y = overlapping(rare=0.08)
    clf = VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2).fit(X, y)
    said = clf.predict(X)
    area = roc_auc_score(y == "yes", clf.decision_function(X))
    recalls = recall_score(y, said, average=None)
    assert f"{np.mean(y == 'no'):.1%} of the rows are 'no'; AUC {area:.3f}, balanced accuracy " in str(clf)
    assert f"recall {recalls[1]:.1%} of 'yes', {recalls[0]:.1%} of 'no'" in str(clf)
    assert "of the rows are" not in str(VanishingIdealClassifier(OAVI(0.01)).fit(*overlapping()))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rates_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    codes = rng.choice(n_classes, 500, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    decisions = rng.normal(size=(500, n_classes)) + 1.5 * np.eye(n_classes)[codes]
    if n_classes == 2:
        decisions = decisions[:, 1:] - decisions[:, :1]
    said = (decisions[:, 0] > 0.0).astype(int) if n_classes == 2 else decisions.argmax(axis=1)
    found = rates_of(decisions, codes)
    assert found.accuracy == pytest.approx(accuracy_score(codes, said))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(codes, said))
    np.testing.assert_allclose(found.recalls, recall_score(codes, said, average=None))
    columns = decisions.T if n_classes > 2 else [decisions[:, 0]]
    areas = [roc_auc_score(codes == k, column) for k, column in enumerate(columns, n_classes - len(columns))]
    assert found.area_under_roc == pytest.approx(np.mean(areas))
    assert found.uneven


def test_classes_without_rows_have_no_recall():
    rates = Rates(0.5, 0.5, 0.5, np.array([0.5, np.nan]), np.array([10.0, 0.0]))
    assert rates.details(["a", "b"])["recall"] == {"a": 0.5}
    assert "'b'" not in rates.to_text(["a", "b"])


def test_files_of_older_versions_print_their_formula_and_need_a_reference():
    old = load(FILES / "version1-search-default.vi")
    assert "cross-validated score" in str(old)
    row = np.full(old.n_features_in_, 0.5)
    with pytest.raises(ValueError, match="give a row as reference"):
        old.explain(row, by="column")
    assert old.explain(row, by="column", reference=row).contributions[0][1] == 0.0


def test_counts_of_one_are_singular():
    X, y = rings()
    clf = VanishingIdealClassifier(OAVI(0.001)).fit(X, y)
    text = f"{clf}\n{clf.generators_}\n{clf.explain(X[0])}\n{clf.effects(X)}"
    assert not re.search(r"\b1 (smaller terms|generators|columns|rows|smaller ones)\b", text)
