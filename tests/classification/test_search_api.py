"""What scikit-learn's tools expect of the classifiers: weights, nested parameters, scores, and numbers of any size."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from searches import grid_search
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, fbeta_score, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

from vanishing import (
    ABM,
    L1SVC,
    OAVI,
    PerClass,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
    open_rows,
    svm_path,
)

DENSE = OAVI(solver="cg", boost="ihb")
GRID = {"psis": [0.1, 0.003], "Cs": [0.1, 1.0]}
HOLDERS = [PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV]


def rings(n=60, seed=0, noise=0.1):
    """Two noisy rings in the plane."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    radius, angle = 1.0 + 0.5 * y + rng.normal(0.0, noise, n), rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def table_on_disk(path, X, y, **columns):
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": y, **columns}).to_parquet(path)
    return path


# --- weights in the search --------------------------------------------------------------------------------------------


def repeated(X, y, counts, folds):
    """Rows as often as their counts say, and the folds of these."""
    origin = np.repeat(np.arange(len(y)), counts)
    places = [np.flatnonzero(np.isin(origin, test)) for _, test in folds]
    trains = [np.concatenate([np.flatnonzero(origin == i) for i in train]) for train, _ in folds]
    return X[origin], y[origin], list(zip(trains, places, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("final", [L1SVC(), LinearSVC(penalty="l1", max_iter=100_000, random_state=0)], ids=repr)
@pytest.mark.parametrize("scale_input", [True, False])
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
def test_weights_count_like_repeated_rows(scale_input, final):
    X, y = rings()
    X = X if scale_input else 0.5 + 0.2 * X
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    X[counts == 0] *= 0.5 if not scale_input else 7.0  # must not change the range
    folds = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    options = {**GRID, "scale_input": scale_input, "final_estimator": final}
    weighted = grid_search(DENSE, cv=folds, **options).fit(X, y, sample_weight=counts)
    again, labels, split = repeated(X, y, counts, folds)
    plain = grid_search(DENSE, cv=split, **options).fit(again, labels)
    np.testing.assert_allclose(weighted.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(weighted.cv_results_["mean_n_generators"], plain.cv_results_["mean_n_generators"])
    assert weighted.best_params_ == plain.best_params_
    tolerance = 1e-3 if isinstance(final, L1SVC) else 0.05
    np.testing.assert_allclose(weighted.decision_function(X), plain.decision_function(X), rtol=tolerance, atol=0.01)


@pytest.mark.slow
def test_equal_weights_change_nothing():
    X, y = rings()
    plain = grid_search(DENSE, **GRID).fit(X, y)
    weighted = grid_search(DENSE, **GRID).fit(X, y, np.full(len(y), 2.0))
    np.testing.assert_allclose(weighted.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=0.04)


@pytest.mark.slow
def test_automatic_psis_know_the_weights():
    X, y = rings()
    weights = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    weights[:10] = 0.0
    X[:10] *= 100.0
    search = grid_search(DENSE, Cs=[1.0], cv=2, refit=False).fit(X, y, weights)
    X, y, weights, variances = X[10:], y[10:], weights[10:], []
    for train, _ in StratifiedKFold(2).split(X, y):
        Z = MinMaxScaler().fit(X[train]).transform(X)
        variances += [np.cov(Z[y == k].T, aweights=weights[y == k], ddof=0).diagonal().max() for k in (0, 1)]
    assert search.cv_results_["param_psi"].max() == pytest.approx(max(variances))


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", make_scorer(f1_score)])
def test_scores_of_folds_are_weighted(scoring):
    X, y = rings(noise=0.3)
    weights = np.random.default_rng(1).uniform(0.0, 5.0, len(y)) ** 3
    fold = [(np.arange(40), np.arange(40, 60))]
    search = grid_search(DENSE, psis=[0.01], Cs=[1.0], cv=fold, scoring=scoring).fit(X, y, weights)
    model = VanishingIdealClassifier(clone(DENSE).set_params(psi=0.01)).fit(X[:40], y[:40], weights[:40])
    score = {None: lambda y, said, sample_weight: np.average(y == said, weights=sample_weight)}.get(
        scoring, balanced_accuracy_score if scoring == "balanced_accuracy" else f1_score
    )
    expected = score(y[40:], model.predict(X[40:]), sample_weight=weights[40:])
    assert search.best_score_ == pytest.approx(expected)
    assert search.best_score_ != pytest.approx(score(y[40:], model.predict(X[40:]), sample_weight=None))


@pytest.mark.slow
def test_a_function_without_weights_is_called_without_them():
    X, y = rings()
    search = grid_search(DENSE, **GRID, scoring=lambda model, X, y: model.score(X, y))
    assert 0.5 < search.fit(X, y, np.linspace(0.1, 1.0, len(y))).best_score_ <= 1.0


def test_weights_that_cannot_be_used_are_refused():
    X, y = rings()
    with pytest.raises(ValueError, match="All rows of class 1 have sample_weight 0"):
        grid_search(DENSE, **GRID).fit(X, y, (y == 0).astype(float))
    with pytest.raises(ValueError, match="no rows to test on"):
        grid_search(DENSE, **GRID, cv=[(np.arange(40), np.arange(40, 60))]).fit(X, y, np.arange(60) < 40)

    class Stubborn(KNeighborsClassifier):
        def __init__(self, C=1.0):
            super().__init__()
            self.C = C

    with pytest.raises(ValueError, match="Stubborn takes no sample_weight"):
        grid_search(DENSE, **GRID, final_estimator=Stubborn()).fit(X, y, np.ones(60))


# --- parameters of the default estimator ------------------------------------------------------------------------------


@pytest.mark.parametrize("holder", HOLDERS)
def test_parameters_of_the_default_estimator_can_be_set(holder):
    model = holder()
    assert model.set_params(estimator__psi=0.02, n_jobs=1) is model
    assert isinstance(model.estimator, OAVI)
    assert (model.estimator.psi, model.n_jobs) == (0.02, 1)
    model.set_params(estimator__max_degree=3)
    assert (model.estimator.psi, model.estimator.max_degree) == (0.02, 3)
    assert clone(model).get_params()["estimator__psi"] == 0.02


@pytest.mark.parametrize("holder", HOLDERS)
def test_other_parameters_leave_the_default_alone(holder):
    assert holder().set_params(n_jobs=2).estimator is None
    assert isinstance(holder().set_params(estimator=ABM(), estimator__psi=0.1).estimator, ABM)
    assert isinstance(holder(ABM()).set_params(estimator=None, estimator__psi=0.1).estimator, OAVI)
    with pytest.raises(ValueError, match="Invalid parameter 'sigma' for estimator OAVI"):
        holder().set_params(estimator__sigma=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'estimater'"):
        holder().set_params(estimater__psi=1.0)


@pytest.mark.slow
def test_grid_search_over_the_default_classifier():
    X, y = rings()
    model = VanishingIdealClassifier()
    search = GridSearchCV(model, {"estimator__psi": [0.1, 0.01]}, cv=2).fit(X, y)
    assert model.estimator is None
    assert search.best_estimator_.estimator.psi == search.best_params_["estimator__psi"]
    explicit = GridSearchCV(VanishingIdealClassifier(OAVI()), {"estimator__psi": [0.1, 0.01]}, cv=2).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], explicit.cv_results_["mean_test_score"])


# --- the best model ---------------------------------------------------------------------------------------------------


def test_the_search_has_the_weights_of_its_best_model():
    X, y = rings()
    search = grid_search(DENSE, **GRID)
    assert not hasattr(search, "linear_coef_")
    search.fit(X, y)
    np.testing.assert_array_equal(search.linear_coef_, search.best_estimator_.linear_coef_)
    np.testing.assert_array_equal(search.intercept_, search.best_estimator_.intercept_)
    values = np.column_stack([np.abs(generator.polynomial.evaluate(X)) for generator in search.generators_])
    decision = values @ search.generators_.weights[0] + X @ search.linear_coef_[0] + search.intercept_[0]
    np.testing.assert_allclose(search.decision_function(X), decision, atol=1e-6 * np.abs(decision).max())


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["f1", "neg_log_loss", "roc_auc", make_scorer(fbeta_score, beta=5)], ids=str)
def test_the_score_is_the_one_that_was_asked_for(scoring):
    X, y = rings(90, noise=0.3)
    final = LogisticRegression(max_iter=1000)
    search = grid_search(DENSE, **GRID, scoring=scoring, final_estimator=final).fit(X[:60], y[:60])
    grid = GridSearchCV(search.best_estimator_, {"C": [1.0]}, scoring=scoring, cv=2).fit(X[:60], y[:60])
    assert search.score(X[60:], y[60:]) == pytest.approx(grid.score(X[60:], y[60:]), rel=1e-6)
    assert search.score(X[60:], y[60:]) != search.best_estimator_.score(X[60:], y[60:])


@pytest.mark.slow
def test_the_score_takes_weights():
    X, y = rings(90, noise=0.3)
    weights = np.random.default_rng(0).random(30)
    search = grid_search(DENSE, **GRID, scoring="f1").fit(X[:60], y[:60])
    expected = f1_score(y[60:], search.predict(X[60:]), sample_weight=weights)
    assert search.score(X[60:], y[60:], weights) == pytest.approx(expected)


@pytest.mark.slow
def test_the_score_of_rows_in_a_file_is_the_one_that_was_asked_for(tmp_path):
    X, y = rings(90, noise=0.3)
    search = grid_search(DENSE, **GRID, cv=2, scoring="f1")
    search.fit(open_rows(table_on_disk(tmp_path / "train.parquet", X, y), label="label"))
    rows = open_rows(table_on_disk(tmp_path / "test.parquet", X[:40], y[:40]), label="label")
    assert search.score(rows) == pytest.approx(f1_score(y[:40], search.predict(rows)))
    assert search.score(rows) != pytest.approx(np.mean(y[:40] == search.predict(rows)))


# --- numbers that float64 cannot hold ---------------------------------------------------------------------------------


@pytest.mark.parametrize("huge", [10**400, -(10**400), 10**5000, Fraction(10**400, 3)], ids=["+", "-", "5000", "3rd"])
@pytest.mark.parametrize(
    ("fit", "name"),
    [
        (lambda X, y, huge: OAVI(psi=huge).fit(X), "psi"),
        (lambda X, y, huge: OAVI(tau=huge).fit(X), "tau"),
        (lambda X, y, huge: L1SVC(C=huge).fit(X, y), "C"),
        (lambda X, y, huge: L1SVC(tol=huge).fit(X, y), "tol"),
        (lambda X, y, huge: svm_path(X, y, [1.0, huge]), "every entry of Cs"),
        (lambda X, y, huge: VanishingIdealClassifier(DENSE, C=huge).fit(X, y), "C"),
        (lambda X, y, huge: grid_search(DENSE, psis=[0.1, huge]).fit(X, y), "every entry of psis"),
        (lambda X, y, huge: grid_search(DENSE, Cs=[huge]).fit(X, y), "every entry of Cs"),
    ],
)
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
def test_numbers_beyond_float64_are_refused_in_one_sentence(fit, name, huge):
    X, y = rings()
    with pytest.raises(ValueError, match=rf"^{name} is beyond the range of float64: use a number between .*\.$"):
        fit(X, y, huge)


def test_a_huge_contamination_is_refused():
    with pytest.raises(ValueError, match="contamination is beyond the range of float64"):
        VanishingIdealDetector(contamination=10**400).fit(rings()[0])
