"""The moment conditions: covariance by Monte Carlo, J by its distribution, coefficients by their errors."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest
from tables import circle, with_noise

from vanishing.laws.estimate.gmm import Conditions, System, whitener
from vanishing.laws.estimate.monomials import monomials
from vanishing.laws.estimate.noise import effective_level, noise_level, refined_variances, reweighted
from vanishing.laws.estimate.sample import make_sample
from vanishing.laws.estimate.weights import row_noise

CIRCLE = [0, 3, 5]  # 1, x^2, y^2


def circle_conditions(rng, level=0.05, n_rows=500):
    return Conditions(make_sample(with_noise(circle(rng, n_rows), level, rng)), 2)


def circle_law(conditions):
    """x^2 + y^2 - 1."""
    c = np.zeros(6)
    c[CIRCLE] = np.array([-1.0, 1.0, 1.0]) * conditions.unit[CIRCLE]
    return c


def test_the_variance_of_a_polynomial_on_noisy_rows(rng):
    terms, point, variances = monomials(2, 3), np.array([0.7, -1.2]), np.array([0.02, 0.03])
    coef = rng.normal(size=len(terms))
    draws = terms.values(point + rng.normal(size=(200_000, 2)) * np.sqrt(variances))
    found = row_noise(terms, terms.values(point[None]), coef, variances[:, None]).variance[0]
    assert found == pytest.approx((coef @ draws).var(), rel=0.1)


@pytest.mark.slow
def test_the_covariance_of_the_conditions_is_what_draws_have(rng):
    clean = circle(rng, 500)
    sigma = 0.05 * clean.std(axis=0)
    draws = []
    first = None
    for _ in range(300):
        sample = make_sample(clean + sigma * rng.normal(size=clean.shape))
        first = first or sample
        same = type(sample)(
            sample.X, sample.origin, first.centre, first.scale, first.size, (sample.X - first.centre) / first.scale
        )
        conditions = Conditions(same, 2)
        known = (sigma / first.scale) ** 2
        law = circle_law(conditions)
        draws.append(conditions.means(known) @ law)
    covariance, mean = conditions.covariance(law, known)
    expected = covariance * mean / 500
    found = np.var(draws, axis=0)
    assert np.allclose(found, np.diag(expected), rtol=0.35)
    assert np.abs(np.mean(draws, axis=0) / np.sqrt(found / 300)).max() < 5.0


@pytest.mark.slow
def test_j_of_a_true_law_is_chi_squared(rng):
    p = []
    for _ in range(60):
        conditions = circle_conditions(rng)
        level = noise_level(conditions, CIRCLE, np.ones(2))
        system, J, _ = reweighted(conditions, CIRCLE, np.full(2, level**2), circle_law(conditions), "level", 2)
        p.append(chi2.sf(J, system.dof(3)))
    assert kstest(p, "uniform").pvalue > 0.01


def test_the_noise_level_is_found(rng):
    conditions = circle_conditions(rng, 0.08, 4000)
    assert noise_level(conditions, CIRCLE, np.ones(2)) == pytest.approx(0.08, rel=0.08)
    assert noise_level(Conditions(make_sample(rng.normal(size=(500, 2))), 2), range(6), np.ones(2)) > 0.3


def test_noise_per_column_is_found(rng):
    clean = circle(rng, 4000)
    sample = make_sample(clean + clean.std(axis=0) * rng.normal(size=clean.shape) * [0.02, 0.08])
    conditions = Conditions(sample, 2)
    law, found = circle_law(conditions), np.full(2, 0.05**2)
    for _ in range(6):
        found = refined_variances(conditions, law, found)
    assert np.sqrt(found) == pytest.approx([0.02, 0.08], rel=0.25)
    assert effective_level(conditions, law, found) == pytest.approx(np.sqrt((0.02**2 + 0.08**2) / 2), rel=0.1)


def test_minimise_agrees_with_brute_force(rng):
    R, D = rng.normal(size=(12, 4)), np.diag([0.0, 1.0, 2.0, 3.0])
    system = System(R, D, 12, 1, 100)
    J, c = system.minimise([0, 1, 3])
    draws = rng.normal(size=(4, 3000))
    draws[2] = 0.0
    draws[0] = -(system.normal[0, 1:] @ draws[1:]) / system.normal[0, 0]  # the best constant
    tried = [system.statistic(draw) for draw in draws.T]
    assert system.statistic(c) == pytest.approx(J)
    assert min(tried) * (1.0 + 1e-12) >= J
    assert min(tried) < 1.02 * J
    assert c[2] == 0.0
    assert system.spectrum([0, 1, 3])[0] == pytest.approx(J)
    assert system.dof(3) == 9


@pytest.mark.slow
def test_standard_errors_are_the_scatter_of_the_coefficients(rng):
    errors, found = [], []
    for _ in range(80):
        conditions = circle_conditions(rng)
        level = noise_level(conditions, CIRCLE, np.ones(2))
        system, _, c = reweighted(conditions, CIRCLE, np.full(2, level**2), circle_law(conditions), "level", 2)
        units = conditions.unit[CIRCLE] * (c[3] / conditions.unit[3])
        information = system.information(c, CIRCLE) * np.outer(units, units)
        covariance = np.linalg.inv(information[np.ix_([0, 2], [0, 2])])  # x^2 has coefficient 1
        errors.append(np.sqrt(np.diag(covariance)))
        found.append((c[CIRCLE] / conditions.unit[CIRCLE] / (c[3] / conditions.unit[3]))[[0, 2]])
    z = (np.array(found) - [-1.0, 1.0]) / np.array(errors)
    assert z.std(axis=0) == pytest.approx([1.0, 1.0], abs=0.25)
    assert np.abs(z.mean(axis=0)).max() < 0.5


def test_whitening_uses_the_range_of_a_covariance_only(rng):
    A = rng.normal(size=(9, 5))
    V, inside = A @ A.T, A @ rng.normal(size=5)
    W = whitener(V)
    assert W.shape == (9, 5)
    assert np.allclose(W.T @ V @ W, np.eye(5), atol=1e-9)
    assert np.sum((W.T @ inside) ** 2) == pytest.approx(inside @ np.linalg.pinv(V) @ inside)
