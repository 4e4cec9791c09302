"""Laws as users meet them: text, numbers, SymPy, files."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tables import circle, gas, with_noise

from vanishing import Laws, discover, load
from vanishing.laws.estimate.settings import Attempt
from vanishing.laws.say.equation import coordinate_names, equation, number, with_error


@pytest.fixture(scope="module")
def gas_table():
    rng = np.random.default_rng(8)
    return pd.DataFrame(with_noise(gas(rng), 0.01, rng), columns=["p", "V", "n", "T"])


@pytest.fixture(scope="module")
def gas_laws(gas_table):
    return discover(gas_table)


@pytest.fixture(scope="module")
def far_circle():
    rng = np.random.default_rng(9)
    X = with_noise(circle(rng, 1000, 3.0, (20.0, -15.0)), 0.01, rng)
    return X, discover(X, names=["x", "y"])


def test_numbers_have_the_digits_that_are_known():
    assert [number(8.31446, 0.003), number(0.0), number(1e-9), number(123456.0, 1000.0)] == [
        "8.314",
        "0",
        "1e-09",
        "123000",
    ]
    assert with_error(0.5004, 0.0012) == "0.500 +- 0.001"


def test_equations_put_terms_where_they_are_positive():
    exponents = np.array([[2, 0], [0, 2], [0, 0]])
    text = equation(exponents, np.array([1.0, -1 / 3, 2.0]), np.zeros(3), [None, Fraction(-1, 3), None], ["x", "y"])
    assert text == "x^2 + 2 = (1/3)*y^2"
    latex = equation(
        exponents, np.array([1.0, -1 / 3, 2e-7]), np.zeros(3), [None, Fraction(-1, 3), None], ["x", "y"], latex=True
    )
    assert latex == r"x^{2} + 2 \cdot 10^{-7} = \frac{1}{3} y^{2}"


def test_shifted_columns_are_written_in_brackets():
    assert coordinate_names(["a b", "y"], np.array([0.0, -2.5])) == ["`a b`", "(y + 2.5)"]


@pytest.mark.slow
def test_a_law_prints_as_equation_noise_p_value_and_constants(gas_laws):
    line = str(gas_laws)
    assert line.startswith("p*V = 8.3")
    assert "noise 1.0% of a deviation" in line
    assert "p-value" in line
    assert "+- 0.00" in line


def test_the_summary_names_tests_and_audits(gas_laws):
    text = gas_laws.summary()
    for part in ("It is a", "degrees of freedom", "noise: p ", "audits:", "2,000 rows", "Tried:"):
        assert part in text


@pytest.mark.slow
def test_to_sympy_vanishes(gas_laws):
    sympy = pytest.importorskip("sympy")
    p, V, n, T = sympy.symbols("p V n T")
    expression = gas_laws[0].to_sympy()
    assert float(expression.subs({p: 8.314, V: 1, n: 1, T: 1})) == pytest.approx(0.0, abs=0.02)
    (solution,) = gas_laws.solve_for("p")
    assert float(solution.subs({V: 2, n: 1, T: 300})) == pytest.approx(8.314 * 150, rel=1e-2)


def test_predictions_and_distances(gas_laws, gas_table):
    predicted = gas_laws.predict("p", gas_table)
    assert np.std(predicted - gas_table["p"]) < 0.05 * gas_table["p"].std()
    distance = gas_laws[0].distance(gas_table)
    assert np.sqrt(np.mean(distance**2)) == pytest.approx(0.01, rel=0.25)
    residuals = gas_laws[0].residuals(gas_table.to_numpy())
    assert np.allclose(residuals, gas_laws[0].evaluate(gas_table))


def test_gradients_are_derivatives(gas_laws, gas_table):
    law, rows = gas_laws[0], gas_table.to_numpy()[:5]
    step = 1e-6 * rows[:, 1:2] * np.eye(4)[1]
    numeric = (law.evaluate(rows + step) - law.evaluate(rows - step)) / (2.0 * step[:, 1])
    assert np.allclose(law.gradient(rows)[:, 1], numeric, rtol=1e-5)


@pytest.mark.slow
def test_a_shifted_law_is_shifted_in_text_predictions_and_sympy(far_circle):
    X, laws = far_circle
    law = laws[0]
    assert law.equation == "(x - 20)^2 + (y + 15)^2 = 9"
    assert law.to_latex() == "(x - 20)^{2} + (y + 15)^{2} = 9"
    assert law.origin.tolist() == [20.0, -15.0]
    assert np.nanmedian(np.abs(law.predict("x", X) - X[:, 0])) < 0.05
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    assert float(law.to_sympy().subs({x: 23.0, y: -15.0})) == pytest.approx(0.0, abs=1e-9)


def test_predict_gives_nan_where_there_is_no_solution(far_circle):
    _, laws = far_circle
    assert np.isnan(laws.predict("x", [[20.0, 100.0]])).all()


def test_unknown_columns_are_named(gas_laws):
    with pytest.raises(ValueError, match="p, V, n, T; got 'q'"):
        gas_laws.solve_for("q")
    with pytest.raises(ValueError, match="4 columns of the table"):
        gas_laws[0].evaluate(np.ones((2, 3)))
    with pytest.raises(IndexError, match="1 laws"):
        gas_laws[3]


def test_laws_survive_a_file(gas_laws, far_circle, tmp_path):
    for laws in (gas_laws, far_circle[1]):
        laws.save(tmp_path / "laws.vi")
        again = load(tmp_path / "laws.vi")
        assert str(again) == str(laws)
        assert again.summary() == laws.summary()
        assert np.array_equal(again[0].noise, laws[0].noise, equal_nan=True)


def test_laws_are_shown_as_html_and_latex(gas_laws, rng):
    assert "<table>" in gas_laws._repr_html_()
    assert gas_laws.to_latex().startswith("\\begin{aligned}")
    assert "No law" in discover(rng.normal(size=(300, 2)))._repr_html_()


def test_attempts_that_failed_for_the_same_reason_are_one_line():
    needed = [(1, 4, "a law would need noise of 97.8%, more than the 7.5% that it may have")]
    needed += [(2, 10, "a law would need noise of 63%, more than the 12.0% that it may have")]
    rejected = [(2, 10, f"rejected: J = {J} with {dof} degrees of freedom") for J, dof in ((5068, 20), ("1e+04", 25))]
    products = [(2, 3, "2*a*x1 = b^2: some rows do not obey it"), (2, 3, "3*a*x1 = b^2: some rows do not obey it")]
    short = [(0, 0, "none is near to half of the rows")]
    attempts = [Attempt(d, n, np.nan, reason) for d, n, reason in (*needed, *rejected, *products, *short)]
    assert str(Laws([], ["a", "x1", "b"], 1000, attempts=attempts)).splitlines()[1:] == [
        "  degrees 1 to 2, 4 to 10 terms: a law would need noise of 63% to 97.8%, more than the 7.5% to 12.0% that it "
        "may have",
        "  degree 2, 10 terms: rejected: J = 5068 to 1e+04 with 20 to 25 degrees of freedom",
        "  degree 2, 3 terms: 2*a*x1 = b^2: some rows do not obey it",
        "  degree 2, 3 terms: 3*a*x1 = b^2: some rows do not obey it",
        "  short equations: none is near to half of the rows",
    ]


def test_laws_say_how_much_noise_each_column_has(gas_laws, gas_table):
    noise = gas_laws.noise
    assert list(noise) == ["p", "V", "n", "T"]
    assert noise["V"] == pytest.approx(0.01 * gas_table["V"].std(), rel=0.2)
