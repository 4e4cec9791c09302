"""Tails of scores: stretched for dependent rows, fenced for dirty ones, fitted for moments."""

import numpy as np
import pytest
from scipy import stats

from vanishing.detection.calibration import (
    FENCE,
    NORMAL_RANGE,
    GammaTail,
    Left,
    Typical,
    weighted_quantiles,
    within_fence,
)


def test_the_range_of_a_normal_distribution_is_that_of_its_quantiles():
    assert np.subtract(*stats.norm.ppf([0.75, 0.25])) == pytest.approx(NORMAL_RANGE)


def test_quantiles_without_weights_are_those_of_the_median():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 100):
        x = rng.normal(size=n)
        assert weighted_quantiles(x, np.ones(n), [0.5])[0] == pytest.approx(np.median(x))


@pytest.mark.parametrize("n", [5, 20, 80])
@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_the_limit_of_few_normal_scores_keeps_its_rate(n, rate):
    """Student's prediction interval, by simulation: fresh scores beyond the limit of n others."""
    rng = np.random.default_rng(n)
    exact = stats.norm.ppf((np.arange(5000) + 0.5) / 5000)  # scores of the right shape
    limit = Left.of_dependent(exact, np.ones(5000), n, rate).threshold(rate)
    few = rng.normal(size=(40_000, n))
    beyond = stats.norm.sf(few.mean(axis=1) + few.std(axis=1, ddof=1) * limit)
    assert beyond.mean() == pytest.approx(rate, rel=0.1)


def test_a_stretched_tail_has_consistent_p_values_scores_and_limits():
    scores = np.random.default_rng(0).gamma(3.0, size=999)
    tail = Left.of_dependent(scores, np.ones(999), 15.0, 0.05)
    assert tail.stretch > 1.0
    limit = tail.threshold(0.05)
    assert tail.p_values(limit + 1e-6) <= 0.05 < tail.p_values(limit - 0.2)
    p = np.array([0.9, 0.5, 0.1, 0.01])
    np.testing.assert_allclose(tail.p_values(tail.score_of(p)), p, atol=2e-3)


def test_many_independent_rows_stretch_nothing():
    scores = np.random.default_rng(0).normal(size=500)
    wide, plain = Left.of_dependent(scores, np.ones(500), 1e7, 0.01), Left.of_scores(scores, np.ones(500))
    assert wide.threshold(0.01) == pytest.approx(plain.threshold(0.01), rel=1e-5)
    assert Left.of_dependent(scores, np.ones(500), 10.0, 0.5).stretch == 1.0


def test_the_fence_keeps_normal_scores_and_drops_far_ones():
    normal = np.random.default_rng(0).normal(size=5000)
    assert within_fence(normal, np.ones(5000)).all()
    limit = stats.norm.ppf(0.75) + FENCE * NORMAL_RANGE
    both = within_fence(np.append(normal, [0.9 * limit, 1.1 * limit]), np.ones(5002))
    assert both[-2:].tolist() == [True, False]


def test_the_tail_of_moments_is_a_gamma_distribution():
    tail = GammaTail.of_moments(6.0, 12.0)  # of q: chi-squared with six degrees of freedom
    q = stats.chi2(6).ppf([0.2, 0.9, 0.999])
    np.testing.assert_allclose(tail.p_values(tail.typical.standard(np.log(q))), [0.8, 0.1, 0.001], rtol=1e-9)


def test_a_spread_by_the_tail_puts_the_quantile_where_a_normal_one_is():
    scores = np.random.default_rng(0).exponential(size=20_001)
    typical = Typical.of_tail(scores, np.ones(20_001))
    assert typical.standard(np.median(scores)) == 0.0
    assert typical.standard(np.quantile(scores, 0.99)) == pytest.approx(stats.norm.isf(0.01), rel=0.01)
