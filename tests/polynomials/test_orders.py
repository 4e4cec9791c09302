"""Term orders and feature orders of the estimators."""

import numpy as np
import pytest

from vanishing import ABM, AVI, OAVI


@pytest.fixture(name="X")
def correlated():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 4))
    X[:, 1] = 0.7 * X[:, 0] + 0.3 * X[:, 1]
    X[:, 3] = 0.5 * X[:, 0] * X[:, 2] + 0.5 * X[:, 3]
    return X


def described(model, names):
    """Leading terms and mean squares under names that do not depend on the order of the columns."""
    leads = [
        "*".join(sorted(n for n, e in zip(names, lead, strict=True) for _ in range(e)))
        for lead in model.generators_.leading_terms
    ]
    return dict(zip(leads, model.generators_.mse, strict=True))


@pytest.mark.parametrize("order", ["deglex", "degcolex"])
@pytest.mark.parametrize("estimator", [OAVI, ABM, AVI])
def test_a_permutation_is_the_same_as_permuted_columns(X, estimator, order):
    permutation = np.array([2, 0, 3, 1])
    options = {"solver": "cg", "boost": "ihb"} if estimator is OAVI else {}
    ordered = estimator(1e-3, order=order, feature_order=permutation, **options).fit(X)
    moved = estimator(1e-3, order=order, **options).fit(X[:, permutation])
    names = np.array(["a", "b", "c", "d"])
    assert described(ordered, names) == pytest.approx(described(moved, names[permutation]))
    np.testing.assert_allclose(ordered.transform(X), moved.transform(X[:, permutation]), atol=1e-9)


@pytest.mark.parametrize("feature_order", ["pearson", "rev-pearson"])
def test_correlation_orders_do_not_depend_on_the_order_of_the_columns(X, feature_order):
    names = np.array(["a", "b", "c", "d"])
    found = []
    for seed in range(4):
        permutation = np.random.default_rng(seed).permutation(4)
        model = OAVI(1e-3, solver="cg", boost="ihb", feature_order=feature_order).fit(X[:, permutation])
        found.append(described(model, names[permutation]))
    assert all(other == pytest.approx(found[0]) for other in found[1:])


def test_pearson_visits_the_least_correlated_column_first(X):
    total = np.abs(np.corrcoef(X.T)).sum(axis=1)
    for feature_order, sign in (("pearson", 1), ("rev-pearson", -1)):
        model = OAVI(0.2, feature_order=feature_order, max_degree=1).fit(X)
        visited = np.argmax(model.generators_.leading_terms, axis=1)
        np.testing.assert_array_equal(visited, np.argsort(sign * total))


def test_the_two_term_orders_visit_degree_two_differently():
    X = np.random.default_rng(0).uniform(size=(500, 3))
    leads = {
        order: OAVI(0.02, order=order, max_degree=2).fit(X).generators_.leading_terms.tolist()
        for order in ("deglex", "degcolex")
    }
    squares_and_products = [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]]
    assert leads["deglex"] == squares_and_products
    assert leads["degcolex"] == [squares_and_products[i] for i in (0, 1, 3, 2, 4, 5)]
