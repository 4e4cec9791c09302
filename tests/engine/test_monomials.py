"""What is known of Gram matrices: asked for, it comes from where it is known, or from one pass."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

from vanishing import ABM, AVI, OAVI, VCA, Moments
from vanishing.engine.moments import GoneRows
from vanishing.engine.monomials import MonomialBasis, MonomialGrams
from vanishing.engine.survey import Survey, surveys
from vanishing.rows.arrays import ArrayRows, as_rows


def all_terms(n_features, degree):
    return [term for d in range(degree + 1) for term in combinations_with_replacement(range(n_features), d)]


def direct_gram(X, terms):
    columns = np.column_stack([np.prod(X[:, list(term)], axis=1) for term in terms])
    return columns.T @ columns / len(X)


class CountedRows(ArrayRows):
    """Rows in memory that count the passes over them, and take as long to read as rows on disk."""

    passes = 0
    reading_dominates = True

    def reduce(self, kernel, combine, cost):
        self.passes += 1
        return super().reduce(kernel, combine, cost)


@pytest.fixture(name="X")
def rows_in_the_cube():
    return np.random.default_rng(0).random((300, 3))


def survey_of(X, degree):
    """A survey that knows the Gram of all terms up to a degree."""
    gram = direct_gram(X, all_terms(3, degree))
    return Survey(gram, X.min(axis=0), X.max(axis=0), len(X), float(len(X)), degree)


def grams_of(X, degree, rows=None, order=(0, 1, 2)):
    """The Grams of X and a basis of the constant; without rows, all that is known is the Gram up to a degree."""
    basis = MonomialBasis(np.array(order), "deglex")
    return MonomialGrams([rows or GoneRows(3)], [survey_of(X, degree)], basis), basis


def test_known_entries_need_no_pass_and_no_rows(X):
    grams, basis = grams_of(X, 3)
    new = [(0,), (1,), (2,)]
    grams.extend([basis], new)
    np.testing.assert_allclose(grams.of((0,), basis, new), direct_gram(X, all_terms(3, 1)), rtol=1e-12)
    assert grams.n_samples == 0  # to read: no degree takes long


def test_entries_that_are_not_known_need_rows(X):
    grams, basis = grams_of(X, 1)
    with pytest.raises(ValueError, match="raise psi, or fit to rows"):
        grams.extend([replace(basis, terms=((), (0,)))], [(0, 0)])


def test_terms_are_columns_in_the_order_of_the_features(X):
    grams, basis = grams_of(X, 2, order=(2, 0, 1))
    new = [(0,), (1,), (2,)]
    grams.extend([basis], new)
    expected = direct_gram(X, [(), (2,), (0,), (1,)])
    np.testing.assert_allclose(grams.of((0,), basis, new), expected, rtol=1e-12)


def test_a_pass_serves_the_next_degree_where_reading_takes_longer(X):
    rows = CountedRows(X[:, :2])
    (found,) = surveys([rows], ahead=True)
    np.testing.assert_allclose(found.known, direct_gram(X[:, :2], all_terms(2, 2)), rtol=1e-12)
    scale, offset = np.array([1.0, 2.0]), np.array([-1.0, 0.5])
    converted = found.scaled(scale, offset).known
    np.testing.assert_allclose(converted, direct_gram(X[:, :2] * scale + offset, all_terms(2, 2)), rtol=1e-10)
    basis = MonomialBasis(np.arange(2), "deglex")
    grams, passes = MonomialGrams([rows], [found], basis), []
    for degree in (1, 2, 3, 4):
        basis = replace(basis, terms=tuple(all_terms(2, degree - 1)))
        new = [term for term in all_terms(2, degree) if len(term) == degree]
        grams.extend([basis], new)
        passes.append(rows.passes)
    assert passes[:2] == [1, 1]  # the first pass has found degrees 1 and 2
    assert passes[3] <= 3
    np.testing.assert_allclose(grams.of((0,), basis, new), direct_gram(X[:, :2], all_terms(2, 4)), rtol=1e-9)


def test_rows_in_memory_are_surveyed_without_the_next_degree(X):
    assert surveys([as_rows(X)], ahead=True)[0].degree == 1


def test_the_gram_of_parts_is_their_mean_by_weight(X):
    parts = [X[:100], X[100:]]
    basis, new = MonomialBasis(np.arange(3), "deglex"), [(0,), (1,), (2,)]
    grams = MonomialGrams([GoneRows(3)] * 2, [survey_of(part, 1) for part in parts], basis)
    grams.extend([basis], new)
    np.testing.assert_allclose(grams.of((0, 1), basis, new), direct_gram(X, all_terms(3, 1)), rtol=1e-12)
    np.testing.assert_allclose(grams.of((1,), basis, new), direct_gram(X[100:], all_terms(3, 1)), rtol=1e-12)


def test_terms_that_no_fit_has_kept_are_forgotten(X):
    grams, basis = grams_of(X, 1, as_rows(X))
    kept = replace(basis, terms=((), (1,)))
    grams.extend([kept], [(1, 1)])
    found = grams.of((0,), kept, [(1, 1)])
    np.testing.assert_allclose(found, direct_gram(X, [(), (1,), (1, 1)]), rtol=1e-12)
    with pytest.raises(KeyError):
        grams.of((0,), replace(basis, terms=((), (0,))), [])


@pytest.mark.parametrize("estimator", [OAVI(1e-3), ABM(1e-4), AVI(1e-4)], ids=lambda e: type(e).__name__)
def test_a_fit_to_moments_is_the_fit_to_their_rows(X, estimator):
    X[:, 2] = X[:, 0] * X[:, 1]
    moments = Moments(3, 4).update(X)
    one = estimator.set_params(max_degree=4).fit(X).generators_
    other = estimator.fit(moments).generators_
    np.testing.assert_array_equal(one.exponents, other.exponents)
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-9)


def test_vca_needs_rows():
    with pytest.raises(ValueError, match="needs the rows"):
        VCA().fit(Moments(2, 2).update(np.random.default_rng(0).random((50, 2))))
