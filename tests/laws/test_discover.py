"""Laws of tables, end to end: tables with laws, tables without, and changes that must not matter."""

import numpy as np
import pandas as pd
import pytest
from tables import circle, gas, lemniscate, oscillators, saddle, twisted_cubic, with_noise

from vanishing import discover

GAS = ["p", "V", "n", "T"]


@pytest.fixture(scope="module")
def noisy_gas():
    rng = np.random.default_rng(3)
    return with_noise(gas(rng), 0.01, rng)


def equations(laws):
    return sorted(law.equation for law in laws)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.0, 0.01, 0.05])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (circle, ["x0^2 + x1^2 = 1"]),
        (lemniscate, ["x0^4 + 2*x0^2*x1^2 + x1^4 + x1^2 = x0^2"]),
        (saddle, ["x0^2 + 3 = x1^2 + x2"]),
        (twisted_cubic, ["x0*x1 = x2", "x0*x2 = x1^2", "x0^2 = x1"]),
    ],
)
def test_varieties_have_their_equations_with_and_without_noise(make, expected, level, rng):
    assert equations(discover(with_noise(make(rng), level, rng))) == expected


@pytest.mark.slow
def test_the_constant_of_the_gas_law_has_an_error(noisy_gas):
    (law,) = discover(noisy_gas, names=GAS)
    assert law.equation.startswith("p*V = 8.3")
    assert abs(law.coef[1] + 8.314) < 4.0 * law.stderr[1] < 0.05
    assert law.kind == "law"
    assert 0.008 < law.level < 0.012
    assert law.noise == pytest.approx(0.01 * noisy_gas.std(axis=0), rel=0.2)
    assert law.p_value > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.uniform(size=(n, 3)),
        lambda rng, n: rng.normal(size=(n, 4)),
        lambda rng, n: rng.normal(size=(n, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.5], [0.0, 0.0, 0.8]]),
        lambda rng, n: np.exp(rng.normal(size=(n, 2))),
        lambda rng, n: np.vstack([rng.normal(size=(n // 2, 2)), 4.0 + rng.normal(size=(n - n // 2, 2))]),
    ],
)
@pytest.mark.parametrize("n_rows", [200, 1000])
def test_tables_without_a_law_have_none_and_say_why(draw, n_rows, rng):
    laws = discover(draw(rng, n_rows))
    assert len(laws) == 0
    assert str(laws).startswith("No law up to degree")
    assert all(attempt.reason for attempt in laws.rejected)


@pytest.mark.slow
@pytest.mark.parametrize("curve", [np.exp, np.tanh, np.sin])
def test_smooth_curves_are_dense_at_most(curve, rng):
    x = rng.uniform(-2.0, 2.0, 1000)
    laws = discover(with_noise(np.column_stack([x, curve(1.3 * x)]), 0.01, rng))
    assert len(laws) == 0
    assert all("smooth curve" in law.why for law in laws.dense)
    assert {law.degree for law in laws.dense} <= {a.degree for a in laws.rejected if "smooth curve" in a.reason}
    assert len(laws.rejected) == len(laws.attempts)


@pytest.mark.slow
def test_scaling_the_units_changes_the_constant_only(noisy_gas):
    scale = np.array([1e-5, 1e3, 7.0, 1.0])
    (law,) = discover(noisy_gas * scale, names=GAS)
    (plain,) = discover(noisy_gas, names=GAS)
    assert np.array_equal(law.exponents, plain.exponents)
    factor = scale[0] * scale[1] / (scale[2] * scale[3])
    assert law.coef[1] == pytest.approx(plain.coef[1] * factor, rel=1e-6)


@pytest.mark.slow
def test_the_order_of_the_columns_does_not_matter(noisy_gas):
    order = [2, 0, 3, 1]
    (law,) = discover(noisy_gas[:, order], names=[GAS[j] for j in order])
    (plain,) = discover(noisy_gas, names=GAS)
    constant, expected = -law.coef[1] / law.coef[0], -plain.coef[1] / plain.coef[0]
    if np.array_equal(law.exponents[0, np.argsort(order)], plain.exponents[1]):  # the same law, the other way round
        constant = 1.0 / constant
    assert constant == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_copies_and_constants_are_laws_and_unrelated_columns_do_not_matter(noisy_gas, rng):
    table = np.column_stack([noisy_gas, noisy_gas[:, 1], np.full(2000, 5.0), rng.normal(size=2000)])
    laws = discover(table, names=[*GAS, "copy", "five", "dummy"], max_degree=2)
    found = equations(laws)
    assert found[:2] == ["copy = V", "five = 5"]
    assert found[2].startswith("p*V = 8.3")
    assert len(found) == 3


def test_a_circle_a_thousand_deviations_from_zero_is_counted_from_its_centre(rng):
    (law,) = discover(with_noise(circle(rng, 1000, 1.0, (1000.0, -700.0)), 0.01, rng), names=["x", "y"])
    assert law.equation == "(x - 1000)^2 + (y + 700)^2 = 1"
    assert np.allclose(law.evaluate([[1001.0, -700.0], [1000.0, -700.0]]), [0.0, -1.0])


def test_a_linear_law_far_from_zero_keeps_its_origin(rng):
    x = 1e4 + rng.normal(size=1000)
    (law,) = discover(with_noise(np.column_stack([x, 2.0 * x - 3000.0]), 0.01, rng))
    slope, constant = -law.coef[1] / law.coef[0], -law.coef[2] / law.coef[0]  # of x0
    assert slope == pytest.approx(0.5, rel=0.01)
    assert constant + slope * 17_000.0 == pytest.approx(10_000.0, abs=0.1)
    assert not law.origin.any()


@pytest.mark.slow
def test_a_shifted_origin_does_not_turn_a_second_law_into_a_consequence_of_the_first(rng):
    t = rng.uniform(0.0, 5.0, 1000)
    fall = np.column_stack([t, 4.905 * t**2 + 2.0 * t + 1.0, 9.81 * t + 2.0])
    laws = discover(with_noise(fall, 0.01, rng), names=["t", "s", "v"])
    assert [law.exponents.any(axis=0).tolist() for law in (*laws, *laws.dense)] == [
        [True, False, True],
        [True, True, False],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_a_robust_search_ignores_outliers(share, rng):
    X = with_noise(circle(rng, 1000, 2.0), 0.01, rng)
    wrong = rng.choice(1000, int(share * 1000), replace=False)
    X[wrong] = 4.0 * rng.normal(size=(len(wrong), 2))
    assert equations(discover(X, robust=True)) == ["x0^2 + x1^2 = 4"]


@pytest.mark.parametrize("make", [gas, pytest.param(twisted_cubic, marks=pytest.mark.slow)])
def test_outliers_far_away_and_near_one_of_several_laws(make, rng):
    """One value of a row ten times as large outweighs all others; and a row may satisfy one equation by chance."""
    exact = make(rng, 2000)
    X = with_noise(exact, 0.01, rng)
    clean = equations(discover(X))
    wrong = rng.choice(2000, 100, replace=False)
    X[wrong[:50], rng.integers(0, X.shape[1], 50)] *= 10.0
    X[wrong[50:]] = X.mean(axis=0) + X.std(axis=0) * rng.normal(size=(50, X.shape[1]))
    robust = discover(X, robust=True)
    assert all(law.distance(exact).max() < 0.02 for law in robust)
    assert len(robust) >= min(len(clean), 2)  # the third equation of the curve follows from two others


@pytest.mark.slow
def test_noise_in_one_column_only_hides_no_law(rng):
    X = saddle(rng, 2000)
    X[:, 2] += 0.05 * X[:, 2].std() * rng.normal(size=2000)
    assert equations(discover(X)) == ["x0^2 + 3 = x1^2 + x2"]


@pytest.mark.slow
def test_multiplicative_noise_is_estimated_as_a_share_of_the_values(rng):
    X = saddle(rng, 2000) * (1.0 + 0.02 * rng.normal(size=(2000, 3)))
    (law,) = discover(X, noise="multiplicative")
    assert law.equation == "x0^2 + 3 = x1^2 + x2"
    assert law.level == pytest.approx(0.02, rel=0.2)


@pytest.mark.slow
def test_known_noise_is_used_as_given(noisy_gas):
    sigma = dict(zip(GAS, 0.01 * noisy_gas.std(axis=0), strict=True))
    (law,) = discover(noisy_gas, names=GAS, noise=sigma)
    assert law.equation.startswith("p*V = 8.31")
    assert law.noise_kind == "known beforehand"


def test_laws_of_integers_are_proven():
    t = np.arange(60)
    laws = discover(np.column_stack([t, t**2, t**3]))
    assert equations(laws) == ["x0*x1 = x2", "x0*x2 = x1^2", "x0^2 = x1"]
    assert all("exact arithmetic" in law.why for law in laws)


def test_large_integers_have_all_their_digits():
    t = np.arange(40)
    assert equations(discover(np.column_stack([t, t + 1_234_567_890_123_456]))) == ["x0 + 1234567890123456 = x1"]


def test_binary_fractions_are_exact_and_have_a_groebner_basis():
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    t = np.arange(-20, 21) / 4.0
    laws = discover(np.column_stack([t, 2.0 * t**2 + 0.5]), names=["x", "y"])
    assert equations(laws) == ["4*x^2 + 1 = 2*y"]
    assert "exact arithmetic" in laws[0].why
    assert laws.groebner() == [4 * x**2 - 2 * y + 1]


def test_a_groebner_basis_needs_rational_coefficients(noisy_gas):
    with pytest.raises(ValueError, match=r"needs equations with rational coefficients, counted from zero; 'p\*V"):
        discover(noisy_gas, names=GAS).groebner()


@pytest.mark.slow
def test_a_power_law_may_have_a_higher_degree_than_polynomials(rng):
    a, b, c = rng.uniform(1.0, 3.0, (3, 1000))
    X = with_noise(np.column_stack([a, b, c, 2.5 * a**3 * np.sqrt(b) / c**2]), 0.01, rng)
    (law,) = discover(X, names=["a", "b", "c", "d"])
    assert law.degree == 7
    assert law.equation.startswith("a^6*b = ")
    assert law.coef[1] == pytest.approx(-0.16, abs=5 * max(law.stderr[1], 1e-3))


@pytest.mark.slow
def test_few_terms_of_degree_four_in_six_columns(rng):
    """210 terms are too many for a test of all of them together; and a cubic of 40 terms vanishes within the noise."""
    q, e, m, w, v = rng.uniform((1, 1, 1, 3, 1), (3, 3, 3, 5, 2), (2000, 5)).T
    X = np.column_stack([q, e, m, q * e / (m * (w**2 - v**2)), w, v])
    (law,) = discover(with_noise(X, 0.01, rng), names=["q", "e", "m", "x", "w", "v"])
    assert law.equation == "m*x*w^2 = m*x*v^2 + q*e"


@pytest.mark.slow
def test_a_law_of_higher_degree_is_reported_once(rng):
    """A dense cubic leads to the quartic of three terms, which the search meets again at its own degree."""
    n, a, e, f = rng.uniform((0, 0, 1, 1), (1, 1, 2, 2), (2000, 4)).T
    X = np.column_stack([n * a / (1.0 - n * a / 3.0) * e * f, n, a, e, f])
    laws = discover(with_noise(X, 0.01, rng), names=["P", "n", "a", "e", "f"])
    assert equations(laws) == ["3*n*a*e*f + P*n*a = 3*P"]


def test_a_conserved_quantity_is_found_by_groups(rng):
    X, runs = oscillators(rng)
    frame = pd.DataFrame(with_noise(X, 0.01, rng), columns=["x", "v"])
    frame["run"] = runs
    (law,) = discover(frame, groups="run")
    assert law.equation == "4*x^2 + v^2 = const"
    assert law.conserved
    with pytest.raises(ValueError, match="conserved"):
        law.solve_for("x")


@pytest.mark.slow
def test_units_are_those_of_the_constants(noisy_gas):
    pytest.importorskip("pint")
    frame = pd.DataFrame(noisy_gas, columns=GAS)
    (law,) = discover(frame, units={"p": "Pa", "V": "m^3", "n": "mol", "T": "K"})
    assert law.units == ("", "Pa*m^3/(mol*K)")
    assert r"\,\mathrm{Pa\,m^{3}/(mol\,K)}\," in law.to_latex()
    assert "Pa*m^3/(mol*K) * n*T" in law.equation


@pytest.mark.slow
def test_terms_can_be_allowed_or_forbidden(noisy_gas):
    assert len(discover(noisy_gas, names=GAS, max_degree=2, forbidden=["p*V"])) == 0
    (law,) = discover(noisy_gas, names=GAS, max_degree=2, allowed=["p*V", "n*T", (0, 0, 0, 0)])
    assert law.degree == 2


def test_without_snapping_coefficients_are_estimates(rng):
    (law,) = discover(with_noise(circle(rng, 1000, 2.0), 0.01, rng), snap=False)
    assert law.rational.count(None) == 2
    assert law.coef[1:] == pytest.approx([1.0, -4.0], rel=0.02)
    assert (law.stderr[1:] > 0.0).all()


@pytest.mark.slow
def test_equal_real_coefficients_are_one_number(rng):
    """A torus, of 1,000 rows: two of its three real coefficients are the same, and the others are rational."""
    a, b = rng.uniform(0.0, 2.0 * np.pi, (2, 1000))
    table = np.column_stack([(2.0 + 0.7 * np.cos(a)) * np.cos(b), (2.0 + 0.7 * np.cos(a)) * np.sin(b), 0.7 * np.sin(a)])
    (law,) = discover(with_noise(table, 0.005, rng), names=["x", "y", "z"])
    assert law.equation.startswith("x^4 + 2*x^2*y^2 + 2*x^2*z^2 + y^4 + 2*y^2*z^2 + z^4 + 7*z^2 + 12.3")


def test_a_constant_is_a_decimal_where_a_rational_number_is_chance(rng):
    m = rng.uniform(1.0, 5.0, 1000)
    (law,) = discover(with_noise(np.column_stack([6.674 * m, m]), 0.02, rng), names=["F", "m"])
    assert law.equation.startswith("F = 6.6")


def test_a_logarithm_is_no_law_of_six_terms_with_a_real_constant():
    rng = np.random.default_rng([5045, 2000, *b"logarithm"])
    x = rng.uniform(0.05, 5.0, 2000)
    table = np.column_stack([x, np.log(x)])
    level = rng.choice([0.0, 0.005, 0.01, 0.03])
    assert len(discover(with_noise(table, level, rng))) == 0


def test_a_law_times_a_column_is_no_law_of_its_own():
    """In these lognormal columns ``x0^2*x1 = (5/3)*x0^2`` passes the test, and ``x1 = 5/3`` does not hold."""
    rng = np.random.default_rng([5020, 200, *b"lognormal"])
    assert len(discover(np.exp(rng.normal(size=(200, 2)) * rng.uniform(0.2, 1.0, 2)))) == 0


@pytest.mark.parametrize("level", [0.0, 0.02])
def test_products_that_vanish_by_each_factor_are_laws(level, rng):
    first, x, y = rng.integers(0, 2, 1000), rng.uniform(-3.0, 3.0, 1000), rng.uniform(-3.0, 3.0, 1000)

    def found(*columns):
        return equations(discover(with_noise(np.column_stack(columns), level, rng), names=["x", "y"], max_degree=3))

    assert found(np.where(first, x, 0.0), np.where(first, 0.0, y)) == ["x*y = 0"]
    assert found(np.where(first, x, 0.0), np.where(first, 2.0, y)) == ["x*(y - 2) = 0"]
    assert found(first, y) == ["x^2 = x"]
    assert found(np.where(first, np.cos(x), 0.0), np.where(first, np.sin(x), y)) == ["x^3 + x*y^2 = x"]


@pytest.mark.slow
def test_a_column_that_is_linear_in_a_law_counts_from_zero():
    """All three columns are hundreds of deviations from zero, and only one of them is squared."""
    rng = np.random.default_rng(17)
    x, y = 3.0 + 0.01 * rng.normal(size=1500), 0.0064 + 1e-5 * rng.normal(size=1500)
    (law,) = discover(np.column_stack([x, y, x**2 + y]), names=["x", "y", "z"])
    assert law.equation == "x^2 + y = z"


def test_whole_numbers_with_exceptions_obey_a_law_and_no_product_with_their_equation():
    """Ages at entry and exit of a home, in months, and the time between: two rows are wrong."""
    random = np.random.default_rng(12)
    entry, time = random.integers(700, 1000, 450), random.integers(0, 140, 450)
    leave = entry + time
    leave[[7, 200]] = time[[7, 200]]
    found = list(discover(np.column_stack([entry, leave, time]), names=["entry", "exit", "time"]))
    assert [law.equation for law in found] == ["entry + time = exit"]
    assert set(found[0].off) == {7, 200}


def test_a_table_of_cases_is_no_polynomial():
    """The day of the year is exactly a polynomial of the month and the day, with coefficients of seven digits."""
    dates = np.arange("1978-01-01", "1979-01-01", dtype="datetime64[D]")
    months = dates.astype("datetime64[M]")
    month = months.astype(int) % 12 + 1
    day, day_of_year = (dates - months).astype(int) + 1, np.arange(1, 366)
    found = discover(np.column_stack([month, day, day_of_year]).astype(float), names=["month", "day", "day_of_year"])
    assert all(law.kind != "exact" or len(law.coef) <= 4 for law in found if len(law.variables) > 1)
    assert any("longer than real numbers" in attempt.reason for attempt in found.attempts)
