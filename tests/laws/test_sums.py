"""Laws of sums without rows, against the rows that were summed."""

import numpy as np
import pytest
from tables import circle, gas, with_noise

from vanishing import Moments, discover
from vanishing.laws.candidates.sums import SummedConditions, summed_sample
from vanishing.laws.estimate.gmm import Conditions
from vanishing.laws.estimate.sample import make_sample

GAS = ["p", "V", "n", "T"]


def test_weights_of_sums_are_those_of_the_rows(rng):
    X = with_noise(circle(rng, 500, 2.0, (3.0, 1.0)), 0.02, rng)
    by_sums = SummedConditions(summed_sample(Moments(2, degree=5).update(X)), 2, 2)
    by_rows = Conditions(make_sample(X), 2, 2)
    c, variances = rng.normal(size=6), np.array([4e-4, 9e-4])
    expected, mean = by_rows.covariance(c, variances)
    covariance, same_mean = by_sums.covariance(c, variances)
    assert same_mean == pytest.approx(mean)
    assert np.allclose(covariance, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    assert np.allclose(by_sums.unit, by_rows.unit)


@pytest.mark.slow
def test_two_sites_find_the_law_of_all_their_rows(rng):
    X = with_noise(gas(rng, 4000), 0.01, rng)
    sites = [Moments(4, degree=5).update(X[:1500]), Moments(4, degree=5).update(X[1500:])]
    laws = discover(sites[0].merge(sites[1]), names=GAS)
    (expected,) = discover(X, names=GAS, max_degree=2)
    assert laws[0].exponents.tolist() == expected.exponents.tolist()
    assert laws[0].coef == pytest.approx(expected.coef, rel=1e-3)
    assert laws[0].stderr == pytest.approx(expected.stderr, rel=0.05)
    assert laws[0].p_value > 1e-3
    assert laws[0].n_rows == 4000
    assert "no rows" in laws.notes[0]
    assert len(laws) == 1


def test_sums_of_a_smooth_curve_have_no_law(rng):
    x = rng.uniform(0.0, 3.0, 3000)
    laws = discover(Moments(2, degree=6).update(with_noise(np.column_stack([x, np.exp(x)]), 0.02, rng)))
    assert len(laws) == 0
    assert [law.kind for law in laws.dense] == ["dense"]
    assert all(attempt.reason != "law" for attempt in laws.attempts)


def test_what_sums_cannot_say(rng):
    X = rng.normal(size=(500, 3))
    laws = discover(Moments(3, degree=3).update(X))
    assert len(laws) == 0
    assert "need Moments(degree=5)" in laws.rejected[-1].reason
    with pytest.raises(ValueError, match="Moments hold no rows"):
        discover(Moments(3, degree=3).update(X), robust=True)
    with pytest.raises(ValueError, match="collect them without"):
        discover(Moments(3, degree=3).update(X, np.full(500, 2.0)))
    X[:, 1] = 4.0
    with pytest.raises(ValueError, match="Column 'x1' is constant in these sums"):
        discover(Moments(3, degree=3).update(X))


def test_sums_look_for_homogeneous_laws_first(rng):
    """``E = m v^2 / 2 = m g h``: units choose the laws whose terms have one dimension, as they do with rows."""
    m, v = rng.uniform(1, 3, (2, 4000))
    X = np.column_stack([m * v**2, m, v, m * v**2 + 0.3])
    X = X[:, :3] + 0.01 * X[:, :3].std(axis=0) * rng.normal(size=(4000, 3))
    units, names = {"E": "J", "m": "kg", "v": "m/s"}, ["E", "m", "v"]
    from_rows = discover(X, names=names, units=units, robust=False)
    from_sums = discover(Moments(3, degree=7).update(X), names=names, units=units)
    assert [law.exponents.tolist() for law in from_sums] == [law.exponents.tolist() for law in from_rows]
    degrees = [attempt.n_terms for attempt in from_sums.attempts if attempt.degree == 3]
    assert 2 in degrees  # the terms of one dimension only: E and m*v^2
