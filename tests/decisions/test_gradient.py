"""Gradient-weighted normalisation: the Gram of the gradients, the decisions, and what they do not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from vanishing import ABM, OAVI, VCA, open_rows
from vanishing.polynomials.terms import gram_of_gradients, terms_up_to

PSI = 3e-5
ALGORITHMS = [OAVI, ABM, VCA]


@pytest.fixture(scope="module", name="X")
def noisy_circle():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 2000)
    circle = 0.5 + 0.4 * np.column_stack([np.cos(angle), np.sin(angle)])
    return circle + rng.normal(0.0, 0.004, circle.shape)


def values_and_gradients(X, terms):
    """Terms one per column, and their derivatives, one column of X after the other below each other."""
    exponents = np.array([[term.count(j) for j in range(X.shape[1])] for term in terms])
    values = np.prod(X[:, None, :] ** exponents, axis=2)
    slopes = []
    for j in range(X.shape[1]):
        lower = exponents.copy()
        lower[:, j] = np.maximum(lower[:, j] - 1, 0)
        slopes.append(exponents[:, j] * np.prod(X[:, None, :] ** lower, axis=2))
    return values, np.vstack(slopes)


def test_the_gram_of_the_gradients_follows_from_the_gram_of_the_terms():
    X = np.random.default_rng(0).random((50, 3))
    terms = terms_up_to(3, 3)
    values, slopes = values_and_gradients(X, terms)
    found = gram_of_gradients(terms, values.T @ values / 50)
    np.testing.assert_allclose(found, slopes.T @ slopes / 50, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gram_of_the_gradients_of_products_is_that_of_their_expansion(X, weighted):
    weights = np.random.default_rng(1).integers(1, 3, len(X)).astype(float) if weighted else None
    model = VCA(PSI, normalization="gradient", max_degree=2).fit(X, sample_weight=weights)
    (polynomial,) = model.generators_
    step = 1e-6
    gradient = [
        (polynomial.evaluate(X + step * e) - polynomial.evaluate(X - step * e)) / (2.0 * step) for e in np.eye(2)
    ]
    assert np.average(np.sum(np.square(gradient), axis=0), weights=weights) == pytest.approx(1.0, rel=1e-6)
    assert np.average(polynomial.evaluate(X) ** 2, weights=weights) == pytest.approx(model.generators_.mse[0], rel=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_circle_is_found_and_psi_is_a_squared_distance(algorithm, X):
    model = algorithm(PSI, normalization="gradient", max_degree=2).fit(X)
    (circle,) = model.generators_.monic()
    exponents = circle.exponents.tolist()
    assert circle.coef[exponents.index([2, 0])] == pytest.approx(circle.coef[exponents.index([0, 2])], rel=0.01)
    assert len(algorithm(1e-5, normalization="gradient", max_degree=2).fit(X).generators_) == 0  # below the noise


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_order_of_columns_and_a_common_scale_do_not_matter(algorithm, X):
    point = np.random.default_rng(1).random((20, 2))

    def distances(X, point, psi):
        model = algorithm(psi, normalization="gradient", max_degree=2).fit(X)
        (polynomial,) = model.generators_.monic()
        other = polynomial.coef[polynomial.exponents.tolist().index([2, 0])]
        return polynomial.evaluate(point) / np.sqrt(abs(other))

    expected = distances(X, point, PSI)
    np.testing.assert_allclose(distances(X[:, ::-1], point[:, ::-1], PSI), expected, atol=2e-3)
    np.testing.assert_allclose(distances(0.25 * X, 0.25 * point, PSI / 16) * 16, expected, atol=2e-3)


def test_a_candidate_leads_a_generator_if_and_only_if_the_generalised_eigenvalue_is_small(X):
    values, slopes = values_and_gradients(X, terms_up_to(2, 2))
    n = len(X)
    for psi in (1e-5, 1.4e-5, 1.6e-5, 1e-3, 1e-2, 3e-2):
        kept, leads = [0], []
        for k in range(1, 6):
            columns = [*kept, k]
            G, D = values[:, columns].T @ values[:, columns] / n, slopes[:, columns].T @ slopes[:, columns] / n
            largest = eigh(D, G, eigvals_only=True)[-1]
            (leads if largest * psi >= 1.0 else kept).append(k)
        for algorithm in (OAVI, ABM):
            model = algorithm(psi, normalization="gradient", max_degree=2).fit(X)
            assert len(model.generators_) == len(leads)
            ratio = mean_gradient(model.generators_, X)
            assert (model.generators_.mse <= psi * ratio * (1.0 + 1e-9)).all()


def mean_gradient(polynomials, X, step=1e-5):
    change = [polynomials.evaluate(X + step * e) - polynomials.evaluate(X - step * e) for e in np.eye(X.shape[1])]
    return np.mean(np.sum(np.square(change), axis=0), axis=0) / (2.0 * step) ** 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_files_give_the_same_model(algorithm, X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    options = {"normalization": "gradient", "max_degree": 3}
    inside, outside = algorithm(PSI, **options).fit(X), algorithm(PSI, **options).fit(open_rows(tmp_path / "rows.npy"))
    assert len(inside.generators_) == len(outside.generators_)
    np.testing.assert_allclose(inside.generators_.mse, outside.generators_.mse, rtol=1e-6)


def test_exact_relations_vanish_at_psi_zero():
    x = np.linspace(0.0, 1.0, 50)
    for algorithm in (OAVI, ABM):
        model = algorithm(0.0, normalization="gradient", max_degree=3).fit(np.column_stack([x, x**2]))
        assert str(model.generators_.monic()[0]) == "x0^2 - x1"


def test_other_solvers_are_refused():
    with pytest.raises(ValueError, match=r"normalization='gradient' works with solver='omp'"):
        OAVI(solver="bpcg", normalization="gradient").fit(np.eye(3))
    with pytest.raises(ValueError, match="normalization"):
        ABM(normalization="leading").fit(np.eye(3))
