"""Grams and triangular factors of evaluated terms, against plain sums over the rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import term_column

from vanishing.constants import CACHE_ENTRIES
from vanishing.engine.gram import (
    border_gram,
    mean_gram,
    range_of,
    sum_of_products,
    triangular_factor,
    value_gram,
)
from vanishing.engine.survey import survey
from vanishing.polynomials.terms import Program, term_values
from vanishing.rows.arrays import as_rows


def all_terms(n_features, degree):
    """Terms up to the degree, as tuples of variables, in ascending order."""
    return [t for d in range(degree + 1) for t in itertools.combinations_with_replacement(range(n_features), d)]


def evaluated(X, terms):
    """Values of the terms in extended precision, one per column."""
    X = np.asarray(X).astype(np.longdouble)
    return np.column_stack([term_column(X, [t.count(v) for v in range(X.shape[1])]) for t in terms])


def direct_gram(table, weights=None):
    """Weighted mean of the outer products of the rows."""
    weights = np.ones(table.shape[0]) if weights is None else weights
    return np.asarray((table * weights[:, None]).T @ table / weights.sum(), dtype=np.float64)


def direct_mean_gram(X, terms, n_basis, weights=None):
    return direct_gram(evaluated(X, terms), weights)[n_basis:]


def meaningful(new, n_basis):
    """The part of ``C[O|C]'`` that :func:`mean_gram` promises: C O' and C C' up to the diagonal."""
    return np.hstack([new[:, :n_basis], np.tril(new[:, n_basis:])])


def assert_same_gram(found, expected, n_basis):
    assert found.shape == expected.shape
    np.testing.assert_allclose(meaningful(found, n_basis), meaningful(expected, n_basis), rtol=1e-12, atol=1e-15)


def data(m, n, seed=0):
    return np.random.default_rng(seed).random((m, n))


QUADRATIC = all_terms(2, 2)  # 3 terms of degree <= 1, 3 of degree 2


# --- mean_gram --------------------------------------------------------------------------------------------------------


# Up to 776 rows, a single chunk, are multiplied by NumPy; more of them by the compiled kernel.
@pytest.mark.parametrize("m", [1, 2, 7, 8, 9, 31, 32, 33, 255, 256, 257, 775, 776, 777, 784, 1552, 1553, 8193])
def test_mean_gram_is_the_mean_of_products_whatever_the_number_of_rows(m):
    X = data(m, 2)
    found = mean_gram(as_rows(X), Program.of(QUADRATIC), 3)
    assert_same_gram(found, direct_mean_gram(X, QUADRATIC, 3), 3)


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 255, 256, 257, 776, 777, 1500])
def test_mean_gram_of_more_candidates_than_a_panel_holds(m):
    terms = all_terms(6, 4)  # 84 up to degree 3, 126 of degree 4
    n_basis = 84
    assert len(terms) - n_basis > 96
    X = data(m, 6)
    assert_same_gram(mean_gram(as_rows(X), Program.of(terms), n_basis), direct_mean_gram(X, terms, n_basis), n_basis)


@pytest.mark.parametrize("m", [100, 777])
@pytest.mark.parametrize("n_candidates", [95, 96, 97, 192, 193])
def test_mean_gram_at_the_edges_of_panels(m, n_candidates):
    terms = all_terms(20, 2)[: 21 + n_candidates]
    X = data(m, 20)
    expected = direct_gram(evaluated(X, terms).astype(np.float64))[21:]  # of positive numbers: right to 1e-13
    assert_same_gram(mean_gram(as_rows(X), Program.of(terms), 21), expected, 21)


@pytest.mark.slow
def test_mean_gram_over_several_blocks():
    X = data(300_000, 2)
    assert_same_gram(mean_gram(as_rows(X), Program.of(QUADRATIC), 3), direct_mean_gram(X, QUADRATIC, 3), 3)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    m=st.integers(1, 400) | st.integers(700, 1700),
    n=st.integers(1, 3),
    degree=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
)
def test_mean_gram_of_random_shapes(m, n, degree, seed, weighted):
    terms = all_terms(n, degree)
    n_basis = sum(len(t) < degree for t in terms)
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (m, n))
    weights = np.random.default_rng(seed + 1).random(m) + 0.1 if weighted else None
    found = mean_gram(as_rows(X, weights), Program.of(terms), n_basis)
    expected = direct_mean_gram(X, terms, n_basis, weights)
    np.testing.assert_allclose(meaningful(found, n_basis), meaningful(expected, n_basis), rtol=1e-11, atol=1e-13)


# --- survey -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 2), (4095, 3), (4096, 3), (4097, 3), (300_000, 2), (700, 120)])
def test_survey_is_the_gram_of_constant_and_columns_with_their_ranges(m, n):
    X = data(m, n) * 3.0 - 1.0
    found = survey(as_rows(X))
    expected = direct_gram(evaluated(X, all_terms(n, 1)))
    np.testing.assert_allclose(found.gram, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(found.gram, found.gram.T)
    np.testing.assert_array_equal(found.low, X.min(axis=0))
    np.testing.assert_array_equal(found.high, X.max(axis=0))
    assert found.gram[0, 0] == 1.0


def test_survey_with_weights():
    X, weights = data(1000, 3), np.random.default_rng(1).integers(0, 4, 1000).astype(float)
    expected = direct_gram(evaluated(X, all_terms(3, 1)), weights)
    np.testing.assert_allclose(survey(as_rows(X, weights)).gram, expected, rtol=1e-12)


# --- value_gram and triangular_factor ---------------------------------------------------------------------------------


def values_of(terms):
    program = Program.of(terms)
    return lambda block: term_values(block, program)


@pytest.mark.parametrize("m", [1, 511, 512, 513, 8191, 8192, 8193])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_gram_is_the_mean_of_products(m, weighted):
    X = data(m, 2)
    weights = data(m, 1, seed=1)[:, 0] if weighted else None
    found = value_gram(as_rows(X, weights), values_of(QUADRATIC), 3, 6)
    np.testing.assert_allclose(found, direct_mean_gram(X, QUADRATIC, 3, weights), rtol=1e-12)


@pytest.mark.slow
def test_value_gram_of_many_candidates_over_several_blocks():
    terms = all_terms(6, 4)
    X = data(1500, 6)
    found = value_gram(as_rows(X), values_of(terms), 84, len(terms))
    np.testing.assert_allclose(found, direct_mean_gram(X, terms, 84), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("m", [1, 3, 6, 7, 100, 65_535, 65_536, 65_537, 131_073])
@pytest.mark.parametrize("weighted", [False, True])
def test_triangular_factor_squares_to_the_gram(m, weighted):
    X = data(m, 2)
    weights = data(m, 1, seed=1)[:, 0] if weighted else None
    R = triangular_factor(as_rows(X, weights), values_of(QUADRATIC), 6)
    assert R.shape == (6, 6)
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, direct_gram(evaluated(X, QUADRATIC), weights), rtol=1e-12, atol=1e-14)


def test_triangular_factor_sees_residuals_far_below_the_rounding_of_the_gram():
    rng = np.random.default_rng(0)
    x, dust = rng.random(150_000), rng.standard_normal(150_000)
    X = np.column_stack([x, x + 1e-11 * dust])
    R = triangular_factor(as_rows(X), values_of([(), (0,), (1,)]), 3)
    A = np.column_stack([np.ones_like(x), x])
    seen = X[:, 1] - x  # what is left of the dust in float64
    residual = seen - A @ np.linalg.lstsq(A, seen, rcond=None)[0]
    assert abs(R[2, 2]) == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-3)


# --- one thread or two, one source or another -------------------------------------------------------------------------


def all_results(rows):
    """Everything that a pass can compute, as one flat list of arrays."""
    values = values_of(QUADRATIC)
    found = survey(rows)
    return [
        *found,
        meaningful(mean_gram(rows, Program.of(QUADRATIC), 3), 3),
        value_gram(rows, values, 3, 6),
        triangular_factor(rows, values, 6),
    ]


@pytest.mark.parametrize("m", [1000, 140_000, 400_001])
@pytest.mark.parametrize("weighted", [False, True])
def test_number_of_threads_does_not_change_a_bit(m, weighted):
    X = data(m, 2)
    weights = data(m, 1, seed=1)[:, 0] if weighted else None
    one, two = (all_results(as_rows(X, weights, n_jobs=n_jobs)) for n_jobs in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_number_of_threads_does_not_change_a_bit_of_a_wide_gram():
    terms = all_terms(6, 4)
    X = data(4000, 6)
    one, two = (mean_gram(as_rows(X, n_jobs=n_jobs), Program.of(terms), 84) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("m", [5, 5000, 140_000])
def test_weights_count_like_repeated_rows(m):
    X = data(m, 2)
    repeats = np.random.default_rng(2).integers(0, 4, m)
    repeats[0] = 1
    weighted = as_rows(X, repeats.astype(float))
    repeated = as_rows(np.repeat(X, repeats, axis=0))
    assert survey(weighted).total_weight == survey(repeated).total_weight
    assert_same_gram(
        mean_gram(weighted, Program.of(QUADRATIC), 3), mean_gram(repeated, Program.of(QUADRATIC), 3), n_basis=3
    )
    values = values_of(QUADRATIC)
    np.testing.assert_allclose(value_gram(weighted, values, 3, 6), value_gram(repeated, values, 3, 6), rtol=1e-12)
    R, S = triangular_factor(weighted, values, 6), triangular_factor(repeated, values, 6)
    np.testing.assert_allclose(R.T @ R, S.T @ S, rtol=1e-12)
    np.testing.assert_allclose(survey(weighted).gram, survey(repeated).gram, rtol=1e-12)


def fortran(X, _):
    return np.asfortranarray(X)


def strided(X, _):
    wide = np.zeros((2 * X.shape[0], 2 * X.shape[1]))
    wide[::2, ::-2] = X
    return wide[::2, ::-2]


def memory_map(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def read_only(X, _):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("source", [fortran, strided, memory_map, read_only])
def test_layout_of_the_data_does_not_change_a_bit(source, tmp_path):
    X = data(140_000, 2)
    for a, b in zip(all_results(as_rows(X)), all_results(as_rows(source(X, tmp_path))), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_])
def test_other_number_types_are_computed_in_float64(dtype):
    X = (data(5000, 2) * 100.0).astype(dtype)
    for a, b in zip(all_results(as_rows(X.astype(np.float64))), all_results(as_rows(X)), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


# --- border_gram ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_basis", "n_candidates"), [(1, 1), (3, 1), (1, 4), (3, 5)])
def test_border_gram_is_the_whole_symmetric_gram(n_basis, n_candidates):
    table = data(50, n_basis + n_candidates)
    whole = direct_gram(table)
    whole = np.tril(whole) + np.tril(whole, -1).T
    new = whole[n_basis:].copy()
    new[:, n_basis:][np.triu_indices(n_candidates, 1)] = np.nan  # not meaningful, and so not to be used
    full = border_gram(whole[:n_basis, :n_basis], new)
    np.testing.assert_array_equal(full, whole)


def test_border_gram_of_successive_degrees_is_the_gram_of_all_terms():
    X = data(1000, 3)
    gram = survey(as_rows(X)).gram
    for degree in (2, 3):
        terms = all_terms(3, degree)
        gram = border_gram(gram, mean_gram(as_rows(X), Program.of(terms), gram.shape[0]))
        np.testing.assert_allclose(gram, direct_gram(evaluated(X, terms)), rtol=1e-12)
        np.testing.assert_array_equal(gram, gram.T)


def test_mean_gram_multiplies_by_any_earlier_term():
    # Not a chain of powers: x1 x0 through x1, then x1 x0 x1.
    program = Program(np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1]))
    X = data(100, 2)
    columns = np.column_stack([np.ones(100), X[:, 1], X[:, 1] * X[:, 0], X[:, 1] ** 2 * X[:, 0]])
    found = mean_gram(as_rows(X), program, 2)
    for k, t in itertools.product(range(2), range(4)):
        if t <= 2 + k:
            assert found[k, t] == pytest.approx(np.mean(columns[:, 2 + k] * columns[:, t]), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_several_chunks_are_those_over_the_rows(weighted):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2 * CACHE_ENTRIES // 10 + 17, 3))
    weights = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    terms = all_terms(3, 2)
    found = sum_of_products(X, weights, Program.of(terms), 4)
    values = np.column_stack([np.prod(X[:, list(term)], axis=1) for term in terms])
    expected = (values[:, 4:] * (np.ones(len(X)) if weights is None else weights)[:, None]).T @ values
    lower = np.tri(len(terms), dtype=bool)[4:]
    np.testing.assert_allclose(found[lower], expected[lower], rtol=1e-12)


def test_the_range_of_columns_leaves_out_rows_of_weight_zero():
    X = np.array([[0.0, 5.0], [1.0, -9.0], [0.5, 6.0]])
    np.testing.assert_array_equal(range_of(X, None), [[0.0, -9.0], [1.0, 6.0]])
    np.testing.assert_array_equal(range_of(X, np.array([1.0, 0.0, 2.0])), [[0.0, 5.0], [0.5, 6.0]])
    assert not np.isfinite(range_of(X, np.zeros(3))).any()
