"""The border and the term orders, against the definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import COMPARISONS, as_variables, brute_force_border, divides, exponents_up_to, term_column

from vanishing.polynomials.terms import ORDERS, border, exponents_of

by_order = pytest.mark.parametrize("order", sorted(ORDERS))


@st.composite
def order_ideals(draw):
    """Number of variables, and a set of exponent vectors closed under division: the divisors of random terms."""
    n = draw(st.integers(1, 4))
    corners = draw(st.lists(st.tuples(*[st.integers(0, 3)] * n).filter(lambda e: sum(e) <= 4), max_size=8))
    return n, {e for e in exponents_up_to(n, 4) if sum(e) == 0 or any(divides(e, corner) for corner in corners)}


def of_degree(order_ideal, degree):
    return [as_variables(e) for e in order_ideal if sum(e) == degree]


@pytest.mark.slow
@by_order
@settings(max_examples=100, deadline=None)
@given(ideal=order_ideals(), degree=st.integers(2, 5))
def test_border_is_that_of_the_definition(order, ideal, degree):
    n, order_ideal = ideal
    kept = sorted(of_degree(order_ideal, degree - 1), key=ORDERS[order])
    expected = [as_variables(e) for e in brute_force_border(order_ideal, n, degree, order)]
    assert border(kept, order, limit=10_000) == expected


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(ideal=order_ideals(), degree=st.integers(2, 5), random=st.randoms(use_true_random=False))
def test_border_does_not_depend_on_how_the_kept_terms_are_listed(ideal, degree, random):
    kept = of_degree(ideal[1], degree - 1)
    shuffled = random.sample(kept, len(kept))
    assert border(shuffled, "deglex", limit=10_000) == border(kept, "deglex", limit=10_000)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(ideal=order_ideals(), degree=st.integers(2, 5))
def test_limit_is_the_largest_border_that_is_returned(ideal, degree):
    kept = of_degree(ideal[1], degree - 1)
    whole = border(kept, "deglex", limit=10_000)
    assert border(kept, "deglex", limit=len(whole)) == whole
    if whole:
        assert border(kept, "deglex", limit=len(whole) - 1) is None


def test_border_of_nothing_is_empty():
    assert border([], "deglex", limit=0) == []


def test_border_of_all_terms_is_all_terms_of_the_next_degree():
    kept = list(itertools.combinations_with_replacement(range(3), 2))
    assert border(kept, "deglex", limit=10) == list(itertools.combinations_with_replacement(range(3), 3))


def test_a_missing_divisor_keeps_its_multiples_out():
    # Without x0 x1 only pure powers are left.
    assert border([(0, 0), (1, 1)], "deglex", limit=10) == [(0, 0, 0), (1, 1, 1)]


def test_variables_that_led_generators_of_degree_one_do_not_come_back():
    assert border([(0,), (2,)], "deglex", limit=10) == [(0, 0), (0, 2), (2, 2)]


@pytest.mark.slow
@by_order
@settings(max_examples=200, deadline=None)
@given(data=st.data(), n=st.integers(1, 5), degree=st.integers(0, 5))
def test_order_agrees_with_the_comparison_of_exponents(order, data, n, degree):
    terms = st.lists(st.integers(0, n - 1), min_size=degree, max_size=degree).map(lambda term: tuple(sorted(term)))
    a, b = data.draw(terms), data.draw(terms)
    p, q = (tuple(term.count(v) for v in range(n)) for term in (a, b))
    compared = COMPARISONS[order](p, q)
    key = ORDERS[order]
    assert (key(a) < key(b), key(a) == key(b)) == (compared < 0, compared == 0)


def test_deglex_is_the_order_of_the_paper():
    t, u, v = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    quadratic = [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2)]
    paper = [(0, 0, 0), t, u, v, *quadratic, (3, 0, 0)]
    assert all(COMPARISONS["deglex"](a, b) < 0 for a, b in itertools.pairwise(paper))
    assert border([(0,), (1,), (2,)], "deglex", limit=6) == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def test_degcolex_finishes_the_small_variables_first():
    assert border([(0,), (1,), (2,)], "degcolex", limit=6) == [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]


@by_order
def test_orders_respect_multiplication(order):
    terms = [as_variables(e) for e in exponents_up_to(3, 3) if sum(e) == 3]
    key = ORDERS[order]
    for a, b in itertools.combinations(terms, 2):
        for v in range(3):
            a_v, b_v = tuple(sorted((*a, v))), tuple(sorted((*b, v)))
            assert (key(a) < key(b)) == (key(a_v) < key(b_v))


@settings(max_examples=50, deadline=None)
@given(terms=st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=6))
def test_exponents_of_inverts_the_spelling_of_terms(terms):
    found = exponents_of([as_variables(e) for e in terms], 3)
    assert found.shape == (len(terms), 3)
    np.testing.assert_array_equal(found, np.array(terms, dtype=np.int64).reshape(-1, 3))


def test_exponents_evaluate_to_the_product_of_the_variables():
    X = np.random.default_rng(0).random((5, 3))
    np.testing.assert_allclose(term_column(X, exponents_of([(0, 0, 2)], 3)[0]), X[:, 0] * X[:, 0] * X[:, 2])
