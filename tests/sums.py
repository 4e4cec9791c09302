"""Sums of products of terms, computed directly, and comparisons of moments and of their models."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler


def all_terms(n_features, degree):
    return [t for d in range(degree + 1) for t in itertools.combinations_with_replacement(range(n_features), d)]


def direct_gram(X, terms, weights=None):
    """Weighted mean of the products of the terms, in extended precision."""
    X = np.asarray(X).astype(np.longdouble)
    table = np.column_stack([np.prod(X[:, list(t)], axis=1) for t in terms])
    weights = np.ones(len(X)) if weights is None else weights
    return np.asarray((table * weights[:, None]).T @ table / weights.sum(), dtype=np.float64)


def state(moments):
    """Everything that moments consist of, with nothing rounded."""
    scaling = None if moments.scaler is None else (moments.scaler.scale_.tobytes(), moments.scaler.min_.tobytes())
    arrays = [array.tobytes() for array in (moments._sum, moments._low, moments._high)]
    shape = moments.n_features, moments.degree, moments.n_samples, moments.total_weight
    return *arrays, *shape, moments.feature_names, scaling


def assert_same_moments(found, expected, rtol=1e-12):
    assert found.terms == expected.terms
    assert found.n_samples == expected.n_samples
    assert found.total_weight == pytest.approx(expected.total_weight, rel=1e-12)
    np.testing.assert_allclose(found.gram, expected.gram, rtol=rtol, atol=1e-15)
    np.testing.assert_array_equal(found._survey().low, expected._survey().low)
    np.testing.assert_array_equal(found._survey().high, expected._survey().high)


def assert_same_model(found, expected):
    assert len(found.generators_) == len(expected.generators_) > 0
    np.testing.assert_array_equal(found.generators_.exponents, expected.generators_.exponents)
    np.testing.assert_array_equal(found.generators_.coef != 0.0, expected.generators_.coef != 0.0)
    size = np.abs(expected.generators_.coef).max(axis=1, keepdims=True)
    np.testing.assert_allclose(
        found.generators_.coef / size, expected.generators_.coef / size, rtol=1e-9, atol=1e-9
    )  # relative to the largest coefficient of each generator
    np.testing.assert_allclose(found.generators_.mse, expected.generators_.mse, rtol=1e-8, atol=1e-15)
    assert list(found.order_ideal_) == list(expected.order_ideal_)
    assert (found.degree_, found.complete_, found.n_basis_) == (expected.degree_, expected.complete_, expected.n_basis_)


SCALER = MinMaxScaler().fit([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])
