"""Parts of the search for laws, each by itself: supports, snapping, audits, dependencies, power laws."""

import itertools

import numpy as np
import pytest
from tables import circle, saddle, with_noise

from vanishing import discover
from vanishing.laws.candidates.allowed import allowed_terms, parse_term
from vanishing.laws.candidates.audits import is_exact
from vanishing.laws.candidates.origin import centre_of, far_origin, round_within
from vanishing.laws.candidates.power_laws import find_power_law
from vanishing.laws.candidates.search import find_law
from vanishing.laws.candidates.snapping import nearest_rational, snap
from vanishing.laws.candidates.subsets import best_subsets
from vanishing.laws.candidates.support import eliminate
from vanishing.laws.estimate.gmm import Conditions, System
from vanishing.laws.estimate.sample import make_sample
from vanishing.laws.estimate.settings import Settings
from vanishing.laws.rows.dependencies import affine_dependencies


def planted_system(rng, n_terms=7, planted=((2, 1.0), (4, -2.0), (5, 0.5))):
    """A system in which one polynomial nearly vanishes."""
    law = np.zeros(n_terms)
    for term, value in planted:
        law[term] = value
    R = rng.normal(size=(30, n_terms))
    R -= np.outer(R @ law, law) / (law @ law)
    return System(R + 1e-3 * rng.normal(size=R.shape), np.eye(n_terms), 30, 1, 1000), law


def test_the_best_set_of_terms_is_that_of_brute_force(rng):
    system, _ = planted_system(rng)
    tried = {s: system.minimise(s)[0] for s in itertools.combinations(range(7), 3)}
    assert tuple(best_subsets(system.normal, system.D, range(7), 3, 1)[0]) == min(tried, key=tried.get) == (2, 4, 5)


def test_the_walk_through_subsets_ranks_them_by_their_traces(rng):
    A, B = rng.normal(size=(2, 40, 8))
    P, D = A.T @ A, B.T @ B
    terms = [0, 2, 3, 4, 6, 7]

    def trace(subset):
        at = np.ix_(subset, subset)
        return -np.trace(np.linalg.solve(P[at], D[at]))

    expected = sorted((list(s) for s in itertools.combinations(terms, 3) if s[-1] >= 6), key=trace)
    assert best_subsets(P, D, terms, 3, 5, last=6) == expected[:5]


def test_elimination_ends_at_the_planted_law(rng):
    system, _ = planted_system(rng)
    assert eliminate(system, range(7)) == [2, 4, 5]


def test_snapping_reads_rational_numbers(rng):
    system, law = planted_system(rng)
    found = snap(system, [2, 4, 5], np.ones(7))
    ratio = {term: number * found.c[found.reference] for term, number in found.rational.items()}
    assert len(ratio) == 3
    assert found.c[[2, 4, 5]] / found.c[2] == pytest.approx([1.0, -2.0, 0.5])
    assert pytest.approx(system.statistic(law)) == found.J


def test_terms_of_other_dimensions_are_not_snapped(rng):
    system, _ = planted_system(rng)
    found = snap(system, [2, 4, 5], np.ones(7), comparable=lambda term: np.arange(7) == term)
    assert len(found.rational) == 1


def test_numbers_are_read_as_rational_where_chance_does_not_explain_it():
    assert nearest_rational(0.3334, 1e-3)[1:3] == (1.0, 3.0)
    assert nearest_rational(17.02, 0.05)[1:3] == (17.0, 1.0)
    assert nearest_rational(0.123, 1e-5)[0] == np.inf
    assert nearest_rational(20.0 / 3.0, 1e-4)[1:3] == (20.0, 3.0)


def test_exactness_is_judged_by_the_rows(rng):
    conditions = Conditions(make_sample(saddle(rng, 300)), 2)
    support = conditions.terms.places(np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 1]]))
    assert is_exact(conditions, support)
    assert not is_exact(conditions, support[:3])


def test_constant_columns_and_affine_functions_of_others_are_found(rng):
    X = rng.normal(size=(100, 2))
    table = np.column_stack([X, np.full(100, 2.5), X @ [2.0, -0.5] + 1.0])
    found, kept = affine_dependencies(table, range(table.shape[1]))
    assert kept == [0, 1]
    assert [d.column for d in found] == [2, 3]
    assert found[1].coef[:2] == pytest.approx([2.0, -0.5])
    assert found[1].constant == pytest.approx(1.0)


@pytest.mark.parametrize("multiplicative", [False, True])
def test_power_laws_and_their_tests(multiplicative, rng):
    a, b = rng.uniform(1.0, 4.0, (2, 2000))
    X = np.column_stack([3.0 * a**2 / np.sqrt(b), a, b])
    X = X * (1.0 + 0.02 * rng.normal(size=X.shape)) if multiplicative else with_noise(X, 0.01, rng)
    law = find_power_law(X, 0.2)
    assert law.exponents.tolist() == [2, -4, 1]
    assert law.constant == pytest.approx(9.0, abs=5.0 * law.error)
    assert law.p_value > 1e-3
    assert law.multiplicative == multiplicative


def test_rows_near_zero_do_not_bend_a_power_law(rng):
    """Half of the values of a wide column are within a few deviations of its noise, and some have the wrong sign."""
    a, b, c = rng.uniform(1.0, 5.0, (3, 2000))
    law = find_power_law(with_noise(np.column_stack([-(a**4) / (b * c) ** 2, a, b, c]), 0.01, rng), 0.2)
    assert law.exponents.tolist() == [1, -4, 2, 2]
    assert law.constant == pytest.approx(-1.0, abs=5.0 * law.error)
    assert law.p_value > 1e-3


def test_power_laws_are_not_found_where_there_is_none(rng):
    assert find_power_law(np.exp(rng.normal(size=(500, 3))), 0.2) is None
    x = rng.uniform(1.0, 5.0, 1000)
    assert find_power_law(np.column_stack([x, x**2 + 3.0 * x]), 0.2) is None


def test_power_laws_beyond_the_degree_of_the_moments_are_found(rng):
    """The equation is among the candidates in few columns; in six, the direction of the logarithms proposes it."""
    a, b = rng.uniform(1.0, 5.0, (2, 600))
    steep = np.column_stack([a**5 / b**3, a, b]) * (1.0 + 0.005 * rng.normal(size=(600, 3)))
    assert [law.equation for law in discover(steep, names=list("cab"))] == ["a^5 = c*b^3"]
    m, q, e, h, n = rng.uniform(1.0, 3.0, (5, 600))
    levels = np.column_stack([m * q**4 / (e * h * n) ** 2, m, q, e, h, n]) * (1.0 + 0.002 * rng.normal(size=(600, 6)))
    assert [law.equation for law in discover(levels, names=list("Emqehn"))] == ["E*e^2*h^2*n^2 = m*q^4"]


def test_the_centre_of_a_law_is_known_within_its_errors(rng):
    X = with_noise(circle(rng, 2000, 2.0, (3.0, -1.0)), 0.01, rng)
    law = find_law(make_sample(X), Settings(2), 2)
    centre, errors = centre_of(law)
    assert np.abs(centre - [3.0, -1.0]).max() < 5.0 * errors.max() < 0.05
    assert round_within(centre[0], errors[0]) == 3.0
    assert far_origin(X).tolist() == [0.0, 0.0]


def test_terms_are_read_as_exponents_and_chosen():
    assert parse_term("x*y**2", ["x", "y"]) == (1, 2)
    choose = allowed_terms(["x", "1"], ["1"], ["x", "y"], [0, 1])
    assert choose(np.array([[0, 0], [1, 0], [0, 1]])).tolist() == [False, True, False]
