"""The criteria of a law: bits, what few rows do not show, width between rows, new bits."""

from fractions import Fraction

import numpy as np
import pytest

from vanishing import discover
from vanishing.laws.criteria import (
    Judgement,
    bits_of_equation,
    follows_from,
    judge,
    most_saved,
    without_factors,
)
from vanishing.laws.rows.relation import Relation, middle_spread, moved_onto, predictable, share_within
from vanishing.laws.say.describe import exact_law


def law_of(X, exponents, coef, *, kind="exact"):
    """An equation as a law, whether the rows obey it or not."""
    from dataclasses import replace

    names = tuple(f"x{j}" for j in range(X.shape[1]))
    rational = [Fraction(c) if float(c).is_integer() else None for c in coef]
    law = exact_law(names, X.std(axis=0), len(X), np.array(exponents), np.array(coef, dtype=float), rational, "test")
    return replace(law, kind=kind)


def independent(n_rows=200, n=3, seed=0):
    return np.random.default_rng(seed).uniform(1, 2, (n_rows, n))


def test_a_product_is_a_law_and_shuffled_columns_have_none():
    X = independent()
    X[:, 2] = X[:, 0] * X[:, 1]
    product = law_of(X, [[0, 0, 1], [1, 1, 0]], [1.0, -1.0])
    assert judge(product, X)[0].accepted
    shuffled = np.random.default_rng(1).permuted(X, axis=0)
    assert not judge(product, shuffled)[0].accepted


def test_a_factor_that_vanishes_pins_no_other_column():
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(1, 4, 300), random.uniform(0, 1, 300)]).astype(float)
    # (a - 1)(a - 2)(a - 3) b = 0 holds for every b.
    law = law_of(X, [[3, 1], [2, 1], [1, 1], [0, 1]], [1.0, -6.0, 11.0, -6.0])
    verdict, _ = judge(law, X)
    assert not verdict.accepted
    assert "bits" in verdict.reason


def test_an_interpolant_pays_for_its_coefficients():
    X = np.random.default_rng(0).integers(0, 1000, (12, 2)).astype(float)
    coef = np.polynomial.polynomial.polyfit(X[:, 0], X[:, 1], 9)
    law = law_of(X, [[0, 1], *[[k, 0] for k in range(10)]], [1.0, *(-coef)])
    assert bits_of_equation(law, len(X)) > 20
    assert not judge(law, X)[0].accepted


@pytest.mark.parametrize("seed", range(5))
def test_walks_with_a_common_drift_have_no_law(seed):
    random = np.random.default_rng(seed)
    X = np.cumsum(random.normal(1.0, 0.5, (40, 3)), axis=0)
    assert not [law for law in discover(X) if len(law.variables) > 1]


def test_a_sum_of_walks_is_a_law():
    random = np.random.default_rng(3)
    X = np.cumsum(random.normal(0.5, 1.0, (200, 2)), axis=0)
    X = np.column_stack([X, X.sum(axis=1)]) + random.normal(0.0, 0.02, (200, 3))
    law = law_of(X, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [1.0, 1.0, -1.0], kind="law")
    assert judge(law, X)[0].accepted


def test_a_linear_law_of_sorted_rows_is_a_sweep():
    random = np.random.default_rng(0)
    x = np.linspace(0, 10, 100)
    X = np.column_stack([x, 2.0 * x + random.normal(0.0, 0.1, 100)])
    law = law_of(X, [[1, 0], [0, 1]], [2.0, -1.0], kind="law")
    assert judge(law, X)[0].accepted


def test_squares_and_multiples_say_nothing_new():
    X = independent()
    X[:, 2] = X[:, 0] * X[:, 1]
    judgement = Judgement(X)
    law = law_of(X, [[1, 1, 0], [0, 0, 1]], [1.0, -1.0])
    square = law_of(X, [[2, 2, 0], [0, 0, 2]], [1.0, -1.0])
    multiple = law_of(X, [[2, 1, 0], [1, 0, 1]], [1.0, -1.0])
    judgement.add([law, square, multiple])
    assert judgement.laws == [law]
    assert all("follows" in attempt.reason for attempt in judgement.rejected)


def test_two_laws_of_the_same_columns_are_both_kept():
    t = np.random.default_rng(0).uniform(0, 2 * np.pi, 300)
    X = np.column_stack([np.cos(t), np.sin(t), np.cos(t) * np.sin(t)])
    judgement = Judgement(X)
    circle = law_of(X, [[2, 0, 0], [0, 2, 0], [0, 0, 0]], [1.0, 1.0, -1.0])
    saddle = law_of(X, [[1, 1, 0], [0, 0, 1]], [1.0, -1.0])
    judgement.add([circle, saddle])
    assert judgement.laws == [circle, saddle]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["cauchy", "lognormal", "pareto", "t2"])
def test_heavy_tails_have_no_law_and_raise_nothing(kind, seed):
    random = np.random.default_rng(seed)
    draw = {
        "cauchy": lambda: random.standard_cauchy((500, 3)),
        "lognormal": lambda: random.lognormal(0, 2, (500, 3)),
        "pareto": lambda: random.pareto(1.5, (500, 3)),
        "t2": lambda: random.standard_t(2, (500, 3)),
    }
    assert len(discover(draw[kind]())) == 0


def test_one_wild_row_of_a_thousand_raises_nothing():
    random = np.random.default_rng(0)
    X = random.uniform(1, 2, (1000, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    X[7, 2] = 300.0
    discover(X)


def test_the_spread_of_the_middle_forgets_wild_rows():
    x = np.random.default_rng(0).normal(size=10_001)
    x[0] = 1e12
    assert middle_spread(x[:, None])[0] == pytest.approx(1.0, abs=0.05)


def test_distances_do_not_depend_on_units_or_on_the_power_of_a_relation():
    X = independent()
    X[:, 2] = X[:, 0] * X[:, 1] * (1.0 + 0.01 * np.random.default_rng(5).normal(size=200))
    plain = Relation(X, np.array([[1, 1, 0], [0, 0, 1]]), [1.0, -1.0], np.zeros(3))
    scaled = Relation(X * [1e3, 1.0, 1e-3], np.array([[1, 1, 0], [0, 0, 1]]), [1e-6, -1.0], np.zeros(3))
    np.testing.assert_allclose(plain.distance(plain.Z), scaled.distance(scaled.Z), rtol=1e-9)
    square = Relation(X, np.array([[2, 2, 0], [0, 0, 2]]), [1.0, -1.0], np.zeros(3))
    np.testing.assert_allclose(plain.distance(plain.Z), square.distance(square.Z), rtol=0.1, atol=1e-3)


def test_rows_are_moved_onto_relations():
    X = independent(100, 3, 4)
    sphere = Relation(X, np.array([[2, 0, 0], [0, 2, 0], [0, 0, 2], [0, 0, 0]]), [1.0, 1.0, 1.0, -6.0], np.zeros(3))
    plane = Relation(X, np.array([[1, 0, 0], [0, 1, 0]]), [1.0, -1.0], np.zeros(3))
    moved, distances = moved_onto([sphere, plane], X)
    np.testing.assert_allclose((moved**2).sum(axis=1), 6.0, atol=1e-6)
    np.testing.assert_allclose(moved[:, 0], moved[:, 1], atol=1e-6)
    assert max(distance.max() for distance in distances) < 1e-6


def test_shares_are_never_none_and_never_all():
    distance = np.array([0.0, 1.0, 2.0])
    assert share_within(distance, 1.5) == pytest.approx(2.5 / 4.0)
    assert 0.0 < share_within(distance, -1.0) < share_within(distance, 9.0) < 1.0


def test_a_row_saves_as_many_bits_as_chance_can_show():
    assert most_saved(10) == pytest.approx(10 * np.log2(16_002))


def test_neighbours_predict_smooth_functions_and_no_noise():
    random = np.random.default_rng(0)
    place, noise = np.sort(random.uniform(0.0, 6.0, 400)), random.normal(size=400)
    # Half of the variance is smooth: neighbours predict that half, less three standard errors of chance.
    half = np.sin(place) / np.sin(place).std() + noise / noise.std()
    assert 0.3 < predictable(half) < 0.6
    assert predictable(noise) == 0.0
    assert predictable(np.zeros(400)) == 0.0
    # By hand: the mean of the six rows before and the six after.
    residual = half - half.mean()
    means = np.array([np.delete(residual[max(k - 6, 0) : k + 7], min(k, 6)).mean() for k in range(400)])
    expected = (residual @ means) / (residual @ residual) - 3.0 * np.sqrt(2.0 / (400 * 12))
    assert predictable(half) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_neighbours_of_noise_predict_nothing_in_short_tables(seed):
    assert predictable(np.random.default_rng(seed).normal(size=20)) < 0.25


def test_rounding_has_the_variance_of_an_equal_distribution():
    random = np.random.default_rng(0)
    x = random.normal(0.0, 3.0, (4000, 1))
    X = np.column_stack([x, (2.0 * x).round(1)])
    line = Relation(X, np.eye(2, dtype=int), [2.0, -1.0], np.zeros(2))
    distance = line.signed_distance(line.Z)
    assert line.variance_of_rounding(np.array([0.0, 0.1])) == pytest.approx(distance.var(), rel=0.05)


def test_an_equation_without_one_of_its_columns_names_it():
    random = np.random.default_rng(2)
    X = random.uniform(1.0, 2.0, (300, 4))
    X[:, 3] = X[:, 0] * (1.0 + 0.02 * X[:, 1])
    law = law_of(X, [[0, 0, 0, 1], [1, 0, 0, 0]], [1.0, -1.03], kind="law")
    verdict, _ = judge(law, X)
    assert not verdict.accepted
    assert verdict.lacks == 1
    assert "column 'x1'" in verdict.reason


def test_a_factor_says_more_than_the_product():
    X = independent(400)
    X[:, 2] = X[:, 0] * X[:, 1]
    X[::20, 2] *= 10.0
    factor = law_of(X, [[1, 1, 0], [0, 0, 1]], [1.0, -1.0])
    product = law_of(X, [[2, 2, 0], [0, 0, 2], [1, 1, 1]], [10.0, 1.0, -11.0])
    assert follows_from(product, factor, X)
    laws = discover(X, names=list("abz"))
    assert [law.equation for law in laws] == ["a*b = z"]
    assert laws[0].share == pytest.approx(0.95)


def between(random, n_rows, *ranges):
    return [random.uniform(low, high, n_rows) for low, high in ranges]


@pytest.mark.parametrize(("n_rows", "expected"), [(20, 0), (500, 1)])
def test_few_rows_about_a_line_of_real_coefficients_may_merely_correlate(n_rows, expected):
    random = np.random.default_rng(5)
    (x,) = between(random, n_rows, (10.0, 30.0))
    X = np.column_stack([x, 1.9137 * x]) * (1.0 + 0.02 * random.normal(size=(n_rows, 2)))
    found = discover(X)
    assert len(found) == expected
    assert expected or "would not show a departure" in str([attempt.reason for attempt in found.attempts])


def test_few_rows_show_a_law_of_plain_numbers():
    random = np.random.default_rng(5)
    a, b = between(random, 60, (1.0, 3.0), (1.0, 3.0))
    X = np.column_stack([a, b, a + b])
    (law,) = discover(X + 0.04 * X.std(axis=0) * random.normal(size=X.shape))
    assert law.equation == "x0 + x1 = x2"


def test_a_column_with_little_to_say_belongs_to_a_law_that_most_rows_obey():
    """Half a bit a row about b is more than it takes to say which rows obey."""
    random = np.random.default_rng(6)
    a, b = between(random, 1000, (1.0, 9.0), (100.0, 103.0))
    z = a**2 * b / 2.0 * (1.0 + 0.003 * random.normal(size=1000))
    wrong = random.random(1000) < 0.03
    X = np.column_stack([a, b, np.where(wrong, 10.0 * z, z)])
    (law,) = discover(X)
    assert law.equation == "x0^2*x1 = 2*x2"


def test_a_law_without_a_column_that_is_constant_where_it_holds_is_none():
    """Three of four rows have one value of b, and obey the law without it."""
    random = np.random.default_rng(7)
    a, b = between(random, 400, (1.0, 9.0), (1.0, 3.0))
    b[:300] = 2.0
    (law,) = discover(np.column_stack([a, b, a * b]))
    assert law.equation == "x0*x1 = x2"


def test_a_law_is_divided_by_a_column_that_is_nowhere_zero():
    X = independent()
    X[:, 2] = X[:, 0] * X[:, 1]
    multiple = law_of(X, [[0, 1, 1], [1, 2, 0]], [1.0, -1.0])
    assert without_factors(multiple, X).exponents.tolist() == [[0, 0, 1], [1, 1, 0]]
    X[0] = 0.0
    assert without_factors(multiple, X) is multiple
