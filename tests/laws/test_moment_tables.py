"""Moments without noise, against Monte Carlo and direct sums."""

import numpy as np
import pytest

from vanishing.laws.estimate.moments import ADDITIVE, MULTIPLICATIVE, collect_moments, debias, group_means, slope
from vanishing.laws.estimate.monomials import binomial_matrix, monomials
from vanishing.laws.estimate.sample import make_sample
from vanishing.rows.arrays import as_rows


def test_places_and_products():
    terms = monomials(3, 4)
    assert terms.places(terms.exponents).tolist() == list(range(len(terms)))
    small = monomials(3, 2)
    products = terms.exponents[terms.products(small, small)]
    assert np.array_equal(products, small.exponents[:, None] + small.exponents)


def test_values_and_derivatives(rng):
    terms, X = monomials(2, 3), rng.normal(size=(5, 2))
    assert np.allclose(terms.values(X), [np.prod(X**e, axis=1) for e in terms.exponents])
    coef, step = rng.normal(size=len(terms)), 1e-6
    moved = X + np.array([0.0, step])
    numeric = (coef @ terms.values(moved) - coef @ terms.values(X)) / step
    assert np.allclose(terms.derivative(coef, 1) @ terms.values(X), numeric, atol=1e-4)


def test_the_binomial_matrix_changes_coordinates(rng):
    terms, Z = monomials(2, 3), rng.normal(size=(7, 2))
    centre, scale = np.array([3.0, -2.0]), np.array([0.5, 2.0])
    B = binomial_matrix(terms, centre, scale)
    assert np.allclose(B.T @ terms.values(Z), terms.values(centre + scale * Z))


def test_moments_of_a_pass_are_means(rng):
    X = rng.normal(size=(500, 3))
    table = collect_moments(as_rows(X), 5, 500)
    assert np.allclose(table.means, table.terms.values(X).mean(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("model", [ADDITIVE, MULTIPLICATIVE])
def test_debiased_moments_are_those_without_noise(model, rng):
    n_rows, variances = 400_000, np.array([0.09, 0.04])
    x = rng.uniform(0.5, 1.5, (n_rows, 2))
    noise = rng.normal(size=x.shape) * np.sqrt(variances)
    y = x + noise if model == ADDITIVE else x * (1.0 + noise)
    terms = monomials(2, 4)
    clean, noisy = (terms.values(rows).mean(axis=1) for rows in (x, y))
    errors = terms.values(y).std(axis=1) / np.sqrt(n_rows)
    assert (np.abs(debias(noisy, terms, variances, model) - clean) < 6.0 * errors + 1e-12).all()
    assert (np.abs(noisy - clean)[-5:] > 6.0 * errors[-5:]).any()  # and without, they are not


@pytest.mark.parametrize("model", [ADDITIVE, MULTIPLICATIVE])
def test_slopes_of_debiased_moments(model, rng):
    terms, variances, step = monomials(2, 4), np.array([0.2, 0.1]), 1e-5
    means = rng.normal(size=len(terms))
    numeric = (
        debias(means, terms, variances * [1.0, 1.0 + step], model)
        - debias(means, terms, variances * [1.0, 1.0 - step], model)
    ) / (2.0 * step)
    found = slope(debias(means, terms, variances, model), terms, variances, 1, model)
    assert np.allclose(found, numeric, rtol=1e-3, atol=1e-6)


def test_products_within_groups_are_covariances(rng):
    codes = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 2)) + codes[:, None]
    sample = make_sample(X, codes)
    table = sample.moments(4, 2)
    terms = monomials(2, 2)
    values = terms.values(sample.Z)
    centred = values - group_means(values, codes)[codes].T
    assert np.allclose(table.products(np.zeros(2), terms, terms), centred @ centred.T / (150 - 3))


def test_gradient_products_are_sums_of_slopes(rng):
    X = rng.normal(size=(200, 2))
    table = collect_moments(as_rows(X), 4, 200)
    terms = monomials(2, 2)
    slopes = np.array([[terms.derivative(row, j) for row in np.eye(len(terms))] @ terms.values(X) for j in (0, 1)])
    expected = sum(w * s @ s.T for w, s in zip((2.0, 3.0), slopes, strict=True)) / 200
    assert np.allclose(table.gradient_products(np.array([2.0, 3.0]), terms), expected)
