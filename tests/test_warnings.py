"""Warnings name the line of the user, whichever thread they come from."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from vanishing import (
    L1SVC,
    OAVI,
    VCA,
    PerClass,
    RangeWarning,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
    open_rows,
    svm_path,
)

SMALL = OAVI(psi=1e-6, max_terms=8)  # too few terms: every ideal says so


@pytest.fixture(name="table", scope="module")
def labelled_rows():
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    X[:, 2] = 1.0 - X[:, 0]
    return X, rng.integers(0, 3, 300)


@pytest.fixture(name="caught")
def caught_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def assert_named(caught, category, at_least=1):
    assert len(caught) >= at_least
    assert {warning.category for warning in caught} == {category}
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_of_every_class(table, caught, n_jobs):
    PerClass(SMALL, n_jobs=n_jobs).fit(*table)
    assert_named(caught, ConvergenceWarning, 3)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_of_a_classifier(table, caught, n_jobs):
    VanishingIdealClassifier(SMALL, n_jobs=n_jobs).fit(*table)
    assert_named(caught, ConvergenceWarning, 3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_of_a_search(table, caught, n_jobs):
    VanishingIdealClassifierCV(SMALL, psis=[1e-6], Cs=[1.0], cv=2, n_jobs=n_jobs).fit(*table)
    assert_named(caught, ConvergenceWarning, 3)


def test_of_the_svm_alone(table, caught):
    X, _ = table
    y = X[:, 0] + 0.3 * X[:, 1] > 0.6
    L1SVC(max_iter=1).fit(X, y)
    svm_path(X, y, [0.1, 10.0], max_iter=1)
    assert_named(caught, ConvergenceWarning, 2)


def test_of_the_svm_in_a_classifier(table, caught):
    VanishingIdealClassifier(OAVI(0.05), final_estimator=L1SVC(max_iter=1)).fit(*table)
    assert_named(caught, ConvergenceWarning)
    assert "L1SVC stopped after 1 steps" in str(caught[0].message)


def test_of_one_ideal_and_of_a_detector(table, caught):
    X, _ = table
    SMALL.fit(X)
    VanishingIdealDetector().fit(X[:5])
    assert_named(caught, ConvergenceWarning, 2)


def test_of_the_range(table, caught):
    X, y = table
    OAVI().fit(2.0 * X)
    PerClass(VCA()).fit(2.0 * X, y)
    VanishingIdealClassifier(VCA(), scale_input=False).fit(2.0 * X, y)
    assert_named(caught, RangeWarning, 3)


@pytest.mark.slow
def test_of_rows_in_a_file(table, caught, tmp_path):
    X, y = table
    pd.DataFrame(X, columns=list("abc")).assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    VanishingIdealClassifier(SMALL).fit(open_rows(tmp_path / "rows.csv", label="label"))
    assert_named(caught, ConvergenceWarning, 3)


def test_behind_methods_of_scikit_learn(table, caught):
    X, y = table
    PerClass(SMALL).fit_transform(X, y)
    make_pipeline(MinMaxScaler(), SMALL).fit(X)
    assert_named(caught, ConvergenceWarning, 4)


def test_come_in_the_order_of_the_classes(caught):
    rng = np.random.default_rng(0)
    X, y = rng.random((400, 2)), np.repeat([0, 1], 200)
    X[y == 1, 1] = X[y == 1, 0] ** 2  # this class needs more terms to fill them
    for n_jobs in (1, 2, 2):
        PerClass(OAVI(psi=1e-9, max_terms=8), n_jobs=n_jobs).fit(X, y)
    texts = [str(warning.message) for warning in caught]
    third = len(texts) // 3
    assert third >= 1
    assert texts[:third] == texts[third : 2 * third] == texts[2 * third :]


def test_can_be_errors_in_threads(table):
    before = PerClass(OAVI(0.1)).fit(*table)
    fitted = before.estimators_
    before.set_params(estimator=SMALL, n_jobs=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="max_terms"):
            before.fit(*table)
    assert before.estimators_ is fitted


def test_in_a_thread_of_the_user(table, caught):
    X, _ = table

    def work():
        SMALL.fit(X)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert_named(caught, ConvergenceWarning)
