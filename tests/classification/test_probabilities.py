"""Calibration: the likelihood that others find, the right probabilities, and no trouble with separable decisions."""

import numpy as np
import pytest
from makers import LABELLED, name_of, some_weights, three_classes
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from vanishing import L1SVC, VanishingIdealClassifierCV
from vanishing.classification.model.probabilities import Calibration, calibrate, probabilities


def log_loss(calibration, decisions, codes):
    log_odds = calibration(decisions)
    given = probabilities(log_odds[:, 0] if log_odds.shape[1] == 1 else log_odds)
    return -np.log(given[np.arange(len(codes)), codes]).mean()


def test_two_classes_agree_with_logistic_regression():
    rng = np.random.default_rng(0)
    decisions = rng.uniform(-1.5, 1.5, size=(4000, 1))
    codes = (rng.random(4000) < 1.0 / (1.0 + np.exp(-(2.0 * decisions[:, 0] - 0.5)))).astype(int)
    found = calibrate(decisions, codes)
    expected = LogisticRegression(C=np.inf).fit(decisions, codes)
    np.testing.assert_allclose(found.scale, expected.coef_[0], rtol=0.01)
    np.testing.assert_allclose(found.offset, expected.intercept_, atol=0.01)


def test_rows_far_beyond_the_margin_neither_move_the_threshold_nor_become_certain():
    rng = np.random.default_rng(4)
    decisions = rng.uniform(-1.5, 1.5, size=(4000, 1))
    codes = (rng.random(4000) < 1.0 / (1.0 + np.exp(-4.0 * decisions[:, 0]))).astype(int)
    alone = calibrate(decisions, codes)
    far, far_codes = np.full((400, 1), 300.0), (np.arange(400) % 50 > 0).astype(int)  # one in fifty is wrong
    found = calibrate(np.vstack([decisions, far]), np.append(codes, far_codes))
    assert abs(found.offset / found.scale - alone.offset / alone.scale)[0] < 0.1
    given = probabilities(found.limited(found(far))[:, 0])[:, 1]
    assert (given > 0.9).all()
    assert (given < 0.999).all()
    low, high = found.limits
    assert low < 0.0 < high


@pytest.mark.slow
def test_several_classes_improve_on_every_common_scale():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, 2000)
    decisions = rng.normal(size=(2000, 3)) + 1.5 * np.eye(3)[codes] * [1.0, 2.0, 0.5]
    found = log_loss(calibrate(decisions, codes), decisions, codes)
    others = [log_loss(Calibration(np.full(3, s), np.zeros(3)), decisions, codes) for s in np.geomspace(0.1, 10, 30)]
    assert found < min(others)


def test_the_likelihood_is_the_largest_also_where_the_decisions_of_a_class_mislead():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 150)
    decisions = rng.normal(size=(150, 4)) + 2.0 * np.eye(4)[codes]
    decisions[:, 2] *= -1.0  # its scale ends at the bound
    decisions[:, 3] = 1e-3 * rng.normal(size=150)
    size, labels = np.sqrt(np.mean(decisions**2, axis=0)), np.eye(4)[codes]
    labels = 0.999 * labels + 0.001 / 3.0 * (1.0 - labels)  # slightly uncertain

    def loss(point):
        return -np.mean((labels * np.log(softmax(decisions / size * point[:4] + point[4:], axis=1))).sum(axis=1))

    least = np.sqrt(np.finfo(np.float32).eps)
    bounds = [(least, None)] * 4 + [(None, None)] * 4
    best = minimize(loss, np.append(np.ones(4), np.zeros(4)), bounds=bounds, method="SLSQP", options={"ftol": 1e-13})
    found = calibrate(decisions, codes)
    assert found.scale[2] * size[2] == pytest.approx(least)
    assert loss(np.append(found.scale * size, found.offset)) == pytest.approx(best.fun, rel=1e-6)


def test_weights_count_like_repeated_rows():
    rng = np.random.default_rng(2)
    decisions, counts = rng.normal(size=(300, 1)), rng.integers(1, 4, 300)
    codes = (decisions[:, 0] + rng.normal(size=300) > 0).astype(int)
    weighted = calibrate(decisions, codes, counts.astype(float))
    repeated = calibrate(np.repeat(decisions, counts, axis=0), np.repeat(codes, counts))
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-7)
    np.testing.assert_allclose(calibrate(decisions, codes, 1e-9 * counts).scale, weighted.scale, rtol=1e-7)


@pytest.mark.parametrize("n_scores", [1, 3])
def test_separable_and_constant_decisions_stay_finite(n_scores):
    codes = np.arange(60) % max(n_scores, 2)
    right = np.eye(max(n_scores, 2))[codes][:, -n_scores:] * 2.0 - 1.0
    for decisions in (right, np.zeros_like(right), 1e12 * right):
        found = calibrate(decisions, codes)
        assert np.isfinite(found.scale).all()
        assert np.isfinite(found.offset).all()
    log_odds = calibrate(right, codes)(right)
    given = probabilities(log_odds[:, 0] if n_scores == 1 else log_odds)
    np.testing.assert_allclose(given.sum(axis=1), 1.0)
    assert (given[np.arange(60), codes] > 0.9).all()


@pytest.mark.parametrize("shape", [(7,), (7, 3)])
def test_probabilities_are_the_same_in_every_array_library(shape):
    strict = pytest.importorskip("array_api_strict")
    log_odds = np.random.default_rng(3).normal(scale=100.0, size=shape)
    np.testing.assert_allclose(np.asarray(probabilities(strict.asarray(log_odds))), probabilities(log_odds), atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"refit": "average"}, {"refit": "average", "final_estimator": L1SVC()}, {"final_estimator": LogisticRegression()}],
    ids=["average", "average without", "another last step"],
)
def test_decisions_and_probabilities_of_one_evaluation_are_those_of_two(options):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 2))
    clf = VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2, **options).fit(X, X[:, 0] > X[:, 1] ** 2)
    decisions, given = clf._decisions_and_probabilities(X)
    np.testing.assert_array_equal(decisions, clf.decision_function(X))
    if hasattr(clf, "predict_proba"):
        np.testing.assert_array_equal(given, clf.predict_proba(X))
    else:
        assert given is None


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
@pytest.mark.parametrize("make", LABELLED, ids=name_of)
def test_scores_of_probabilities_are_the_same_on_every_source(searched_by_probabilities, make, scoring, tmp_path):
    X, y, search = searched_by_probabilities
    search.scoring = scoring
    source, labels = make(X, y, tmp_path)
    assert search.score(source, labels) == pytest.approx(search.score(X, y), rel=1e-9)


@pytest.fixture(scope="module")
def searched_by_probabilities():
    X, y = three_classes()
    search = VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], scoring="neg_log_loss").fit(X, y)
    return X, y, search


def test_scores_of_probabilities_on_a_source_take_weights(searched_by_probabilities):
    dask = pytest.importorskip("dask.array")
    X, y, search = searched_by_probabilities
    search.scoring, weights = "neg_log_loss", some_weights(len(y))
    rows, labels, lazy = (dask.from_array(values, chunks=(250, *values.shape[1:])) for values in (X, y, weights))
    assert search.score(rows, labels, lazy) == pytest.approx(search.score(X, y, weights), rel=1e-9)


def test_scores_of_probabilities_need_probabilities_on_a_source_too():
    dask = pytest.importorskip("dask.array")
    X, y = three_classes()
    search = VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], final_estimator=L1SVC()).fit(X, y)
    search.scoring = "neg_log_loss"
    with pytest.raises(ValueError, match="needs the scores of single rows"):
        search.score(dask.from_array(X, chunks=(250, 3)), dask.from_array(y, chunks=250))


@pytest.mark.slow
def test_a_model_of_many_more_rows_than_the_search_is_calibrated_as_its_folds():
    """The l1 penalty shrinks decisions of 2,700 rows more than those of 15,000: probabilities of a rare class were 45%
    too large.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8))
    X[:, 5], X[:, 6] = rng.poisson(2, len(X)), rng.exponential(size=len(X))
    log_odds = -5.6 + 0.9 * X[:, 5] * (X[:, 0] > 0) + 0.4 * X[:, 1] ** 2 + 0.5 * X[:, 2]
    y = rng.random(len(X)) < 1 / (1 + np.exp(-log_odds))
    model = VanishingIdealClassifierCV(max_columns=10, search_rows=4000).fit(X[:15_000], y[:15_000])
    assert model.predict_proba(X[15_000:])[:, 1].mean() == pytest.approx(y[15_000:].mean(), rel=0.15)
