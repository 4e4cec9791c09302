"""Calibrations that mix the decisions of several classes: classes between others, and no harm where rows are few."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from vanishing import VanishingIdealClassifierCV, load
from vanishing.classification.model.probabilities import Calibration, calibrate, mix_decisions, probabilities


def ordered(m, seed=0):
    """Decisions about five classes in a row: the planes of the inner ones say nothing."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(-3.0, 3.0, m)
    codes = np.digitize(score + 0.1 * rng.normal(size=m), [-1.8, -0.6, 0.6, 1.8])
    return np.column_stack([-1.8 - score, 0.01 * rng.normal(size=(m, 3)) - 0.3, score - 1.8]), codes


def accuracy(calibration, decisions, codes):
    return (calibration(decisions).argmax(axis=1) == codes).mean()


def test_a_class_between_two_others_is_found_by_their_decisions():
    decisions, codes = ordered(4000)
    others, other_codes = ordered(4000, seed=1)
    plain = calibrate(decisions, codes)
    mixed = mix_decisions(plain, decisions, codes, n_rows=4000)
    assert mixed.scale.shape == (5, 5)
    assert accuracy(mixed, others, other_codes) > 0.9 > 0.7 > accuracy(plain, others, other_codes)

    def loss(calibration):
        return -np.log(probabilities(calibration(others))[np.arange(4000), other_codes]).mean()

    assert loss(mixed) < 0.5 * loss(plain)


def test_without_a_penalty_it_is_multinomial_logistic_regression():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, 3000)
    decisions = rng.normal(size=(3000, 4)) + (np.eye(4) + 0.4 * np.eye(4, k=1))[codes]
    mixed = mix_decisions(calibrate(decisions, codes), decisions, codes, n_rows=10**12)
    expected = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(decisions, codes).predict_proba(decisions)
    np.testing.assert_allclose(probabilities(mixed(decisions)), expected, atol=0.02)  # labels are slightly uncertain


def test_few_rows_stay_near_their_scales():
    decisions, codes = ordered(30)
    plain = calibrate(decisions, codes)
    np.testing.assert_allclose(
        mix_decisions(plain, decisions, codes, n_rows=1e-9).scale, np.diag(plain.scale), atol=1e-6
    )


@pytest.mark.parametrize("first", [np.array([2.0, 3.0]), np.array([[2.0, 1.0], [0.5, 3.0]])])
@pytest.mark.parametrize("second", [np.array([0.5, 4.0]), np.array([[1.0, -1.0], [2.0, 5.0]])])
def test_one_calibration_after_another_and_of_planes(first, second):
    rng = np.random.default_rng(3)
    one, other = Calibration(first, rng.normal(size=2)), Calibration(second, rng.normal(size=2))
    X, coef, intercept = rng.normal(size=(5, 4)), rng.normal(size=(2, 4)), rng.normal(size=2)
    decisions = X @ coef.T + intercept
    np.testing.assert_allclose(one.followed_by(other)(decisions), other(one(decisions)))
    weights, offset = one.of_planes(coef, intercept)
    np.testing.assert_allclose(X @ weights.T + offset, one(decisions))


@pytest.fixture(scope="module")
def steps():
    """Seven classes, which are steps of one score."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1400, 4))
    score = X[:, 0] * X[:, 1] + X[:, 2]
    return X, np.digitize(score + 0.1 * rng.normal(size=1400), np.quantile(score, np.arange(1, 7) / 7))


def test_a_search_mixes_where_labels_become_likelier(steps, tmp_path):
    X, y = steps
    options = {"scale_input": "arcsinh", "psis": [0.01], "Cs": [1.0], "n_jobs": 1}
    model = VanishingIdealClassifierCV(**options).fit(X, y)
    assert model.best_estimator_._calibration.scale.shape == (7, 7)
    plain = VanishingIdealClassifierCV(refit="1se", **options).fit(X, y)
    assert plain.best_estimator_._calibration.scale.shape == (7,)
    assert model.score(X, y) > plain.score(X, y) + 0.05
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))

    explained = model.explain(X[0])
    parts = explained.intercept + sum(value for _, value in explained.contributions)
    assert parts == pytest.approx(explained.decision)
    k = int(np.flatnonzero(model.classes_ == explained.towards)[0])
    assert explained.decision == pytest.approx(model.decision_function(X[:1])[0, k])

    model.save(tmp_path / "steps.vi")
    np.testing.assert_array_equal(load(tmp_path / "steps.vi").predict_proba(X), model.predict_proba(X))


def test_an_average_mixes_each_of_its_members(steps):
    X, y = steps
    model = VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], refit="average", n_jobs=1).fit(X, y)
    log_odds = [member.decision_function(X) for member in model.estimators_]
    np.testing.assert_allclose(model.decision_function(X), np.average(log_odds, axis=0, weights=model.weights_))
    assert all(member._calibration.scale.ndim == 2 for member in model.estimators_)
