"""Whether rows follow each other, what drifts, and where a rate is not promised."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from vanishing import VanishingIdealDetector
from vanishing.constants import WIDE
from vanishing.detection.series import BlockSums, Neighbours, n_levels_needed
from vanishing.detection.sums import Sample


def remembering(m, n, rho, seed):
    rng = np.random.default_rng(seed)
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], rng.normal(size=(m, n)), axis=0)


def neighbours(X, keys=None):
    keys = np.zeros(len(X)) if keys is None else keys
    return Neighbours.of_sample(Sample(keys, X, np.ones(len(X))), whole=len(np.unique(keys)) == 1)


def test_the_correlation_is_that_of_the_ranks():
    X = remembering(800, 3, 0.6, 0)
    expected = max(stats.spearmanr(x[1:], x[:-1]).statistic for x in X.T)
    assert neighbours(X).correlation == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("draw", ["normal", "cauchy", "binary", "lognormal"])
def test_independent_rows_of_any_distribution_are_no_series(draw):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(300, 20))
        X = {"normal": Z, "cauchy": rng.standard_cauchy(Z.shape), "binary": 1.0 * (Z > 1), "lognormal": np.exp(2 * Z)}
        found = neighbours(X[draw])
        assert not found.are_dependent
        assert found.correlation * np.sqrt(found.n_pairs) < WIDE - 0.5


@pytest.mark.parametrize(("m", "rho"), [(200, 0.6), (1000, 0.3), (10_000, 0.1)])
def test_weak_dependence_counts_where_rows_are_many(m, rho):
    assert neighbours(remembering(m, 4, rho, 0)).are_dependent


def test_rows_of_different_runs_are_no_neighbours():
    X = np.repeat(np.arange(200.0), 5)[:, None] + 0.01 * np.random.default_rng(0).normal(size=(1000, 1))
    alone = np.arange(1000.0)  # every row is a run of its own
    assert neighbours(X).are_dependent
    assert neighbours(X, alone).n_pairs == 0


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.2, 0.5, 0.8])
def test_the_rate_holds_for_any_dependence(rho):
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = remembering(6000, 8, rho, seed) @ rng.normal(size=(8, 8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(np.mean(VanishingIdealDetector().fit(X[:1500]).predict(X[1500:]) == -1))
    assert 0.004 < np.mean(found) < 0.016


def test_too_few_levels_are_said():
    X = remembering(500, 5, 0.99, 0) + 0.1 * np.random.default_rng(1).normal(size=(500, 5))
    with pytest.warns(UserWarning, match="the level of the rows changed about [0-9]+ times"):
        model = VanishingIdealDetector().fit(X)
    assert model._current().series.n_levels < n_levels_needed()


def test_a_drift_that_another_column_explains_stays():
    rng = np.random.default_rng(0)
    drift = np.cumsum(rng.normal(size=1000))
    X = np.column_stack([drift, drift + 0.3 * rng.normal(size=1000), remembering(1000, 2, 0.5, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = VanishingIdealDetector(series=True, regimes=False).fit(X)
        alone = VanishingIdealDetector(series=True, regimes=False).fit(X[:, [0, 2, 3]])
    assert model._current().series.left_out == ()
    assert alone._current().series.left_out == (0,)


def test_residuals_out_of_block_are_those_of_a_regression_without_the_block():
    X = remembering(400, 3, 0.7, 3)
    X[:, 2] += X[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = VanishingIdealDetector(series=True, regimes=False, degree=1).fit(X)
    blocks = BlockSums(detector._christoffel(), detector._sums.sample)
    (start, stop), (first, last) = blocks.both[4]
    rest = np.r_[0:first, last:400]
    A = np.column_stack([np.ones(400), X[:, :2]])
    beta = np.linalg.lstsq(A[rest], X[rest, 2], rcond=None)[0]
    expected = (X[start:stop, 2] - A[start:stop] @ beta) / X[:, 2].std()
    rows, gram = list(blocks.without(blocks._columns))[4]
    P = np.linalg.inv(gram)
    np.testing.assert_allclose((P @ blocks.values[blocks._columns][:, rows])[3] / P[3, 3], expected, atol=1e-8)
