"""Input that the SVM refuses, and the checks of scikit-learn."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from vanishing import L1SVC, svm_path


@pytest.mark.parametrize("C", [0, 0.0, -1.0, "a", np.nan, None, True, [1.0], np.inf], ids=repr)
def test_wrong_c_is_refused_with_its_name_and_value(noisy, C):
    with pytest.raises(ValueError, match=r"^C must be .*got " + re.escape(repr(C))):
        L1SVC(C).fit(*noisy)


@pytest.mark.parametrize("Cs", [[], np.array([]), None, "a", [1.0, 0.0], [1.0, -2.0], [np.nan], [[1.0, 2.0]]], ids=repr)
def test_wrong_cs_are_refused(noisy, Cs):
    with pytest.raises(ValueError, match="Cs must be"):
        svm_path(*noisy, Cs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tol": -1e-6}, "tol must be at least 0"),
        ({"tol": "small"}, "tol must be a number, got 'small'"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1, got 0"),
        ({"max_iter": 2.5}, "max_iter must be an integer"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
    ],
)
def test_wrong_parameters_are_refused(noisy, parameters, message):
    with pytest.raises(ValueError, match=message):
        L1SVC(**parameters).fit(*noisy)
    with pytest.raises(ValueError, match=message):
        svm_path(*noisy, [1.0, 2.0], **parameters)


@pytest.mark.parametrize("label", ["spam", 3, True])
def test_one_class_is_refused_by_name(noisy, label):
    X, _ = noisy
    for fit in (L1SVC().fit, lambda X, y: svm_path(X, y, [1.0])):
        with pytest.raises(ValueError, match=f"at least 2 classes.*{label}"):
            fit(X, [label] * len(X))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(noisy, bad):
    X, y = noisy
    worse = X.copy()
    worse[3, 1] = bad
    model = L1SVC().fit(X, y)
    for call in (lambda: L1SVC().fit(worse, y), lambda: svm_path(worse, y, [1.0]), lambda: model.predict(worse)):
        with pytest.raises(ValueError, match="NaN" if np.isnan(bad) else "infinity"):
            call()


def test_wrong_shapes_are_refused(noisy):
    X, y = noisy
    for rows, labels, message in [
        (X[:, 0], y, "2D array"),
        (X[:-1], y, "inconsistent numbers of samples"),
        (X, np.column_stack([y, y]), "1d array"),
        (X[:, :0], y, "0 feature"),
    ]:
        for fit in (L1SVC().fit, lambda X, y: svm_path(X, y, [1.0])):
            with pytest.raises(ValueError, match=message):
                fit(rows, labels)
    with pytest.raises(ValueError, match="5 features, but L1SVC is expecting 6"):
        L1SVC().fit(X, y).decision_function(X[:, :5])


def test_labels_that_are_measurements_are_refused(noisy):
    X, _ = noisy
    with pytest.raises(ValueError, match="continuous"):
        L1SVC().fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(199), r"shape \(200,\).*\(199,\)"),
        (np.ones((200, 1)), r"shape \(200,\)"),
        (np.full(200, -1.0), "not negative"),
        (np.zeros(200), "not all zero"),
        (np.full(200, np.nan), "finite"),
    ],
)
def test_wrong_weights_are_refused(noisy, weights, message):
    with pytest.raises(ValueError, match=message):
        L1SVC().fit(*noisy, weights)
    with pytest.raises(ValueError, match=message):
        svm_path(*noisy, [1.0], weights)


def test_prediction_before_a_fit_is_refused(noisy):
    with pytest.raises(NotFittedError):
        L1SVC().predict(noisy[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([L1SVC()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
