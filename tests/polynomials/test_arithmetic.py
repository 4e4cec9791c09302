"""Arithmetic of polynomials, against SymPy and direct evaluation, and texts for computer algebra systems."""

from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler

from vanishing import ABM, OAVI, Polynomial
from vanishing.polynomials.systems import rationalize, to_sage
from vanishing.solvers import Status

NAMES = ("a", "b b", "c")


def polynomial(terms, names=NAMES):
    exponents = np.array(list(terms), dtype=np.int64).reshape(len(terms), len(names))
    return Polynomial(
        exponents, np.array(list(terms.values()), dtype=float), names, np.nan, np.nan, 0, Status.VANISHING
    )


P = polynomial({(2, 0, 0): 1.5, (0, 1, 1): -2.0, (0, 0, 0): 0.25})
Q = polynomial({(0, 1, 0): 1.0, (2, 0, 0): -1.5})


@pytest.fixture(scope="module", name="X")
def some_rows():
    return np.random.default_rng(0).normal(size=(20, 3))


def test_results_have_the_values_that_they_must_have(X):
    p, q = P(X), Q(X)
    for result, values in [
        (P + Q, p + q), (P - Q, p - q), (P * Q, p * q), (2.0 * P - 1, 2.0 * p - 1.0), (1 - P, 1.0 - p),
        (P**3, p**3), (P**0, np.ones(20)), (-P / 4.0, -p / 4.0),
    ]:  # fmt: skip
        np.testing.assert_allclose(result(X), values, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_derivatives_are_those_of_sympy():
    sympy = pytest.importorskip("sympy")
    symbols = [sympy.Symbol(name) for name in NAMES]
    expression = (P * P * Q).to_sympy()
    for variable, symbol in zip(NAMES, symbols, strict=True):
        assert sympy.expand((P * P * Q).diff(variable).to_sympy() - sympy.diff(expression, symbol)) == 0
    assert P.diff(0) == P.diff("a")


def test_terms_that_cancel_are_gone_and_equal_polynomials_are_equal():
    assert (P + Q).exponents.tolist() == [[0, 1, 1], [0, 1, 0], [0, 0, 0]]
    assert P - P == P * 0
    assert len((P - P).coef) == 0
    assert P + Q == Q + P
    assert hash(P + Q) == hash(Q + P)
    assert P != Q
    assert P != "P"
    assert P.renamed(["x", "y", "z"]) != P
    assert np.isnan((P * Q).mse)


def test_what_has_no_sum_is_refused():
    with pytest.raises(ValueError, match=r"renamed\(\[...\]\)"):
        P + P.renamed(["x", "y", "z"])
    with pytest.raises(TypeError, match="Expected a polynomial or a number, got str"):
        P * "2"
    with pytest.raises(ValueError, match="raised to 0, 1, 2"):
        P**-1
    with pytest.raises(ValueError, match="There is no variable 'd'; the variables are a, b b, c"):
        P.diff("d")


@pytest.mark.slow
@given(st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-6), st.sampled_from([1e-9, 1e-6, 1e-3, 0.1]))
def test_fractions_are_within_the_tolerance_and_the_simplest(value, tol):
    found = rationalize(value, tol)
    assert abs(found - Fraction(value)) <= Fraction(tol) * abs(Fraction(value))
    for denominator in range(1, min(found.denominator, 200)):
        nearest = Fraction(round(Fraction(value) * denominator), denominator)
        assert abs(nearest - Fraction(value)) > Fraction(tol) * abs(Fraction(value))


@pytest.mark.slow
def test_texts_for_systems_are_valid():
    x = np.linspace(0.0, 1.0, 50)
    generators = OAVI(1e-8, max_degree=2).fit(np.column_stack([x, x**2])).generators_
    assert generators.to_singular(1e-6).splitlines()[0] == "ring R = 0,(x0,x1),dp;"
    assert "I = R.ideal([(1)*x0^2 + (-1)*x1" in generators.to_sage(1e-6)
    assert generators.to_macaulay2().startswith("R = RR_53[x0, x1];\nI = ideal((1.0)*x0^2 + (-1")


def test_the_ideal_of_exact_points_is_written_over_the_rationals():
    sympy = pytest.importorskip("sympy")
    points = [(1, 2), (3, 4), (5, 1), (2, 2), (0, 3), (4, 4), (1, 0), (2, 5)]
    scaler = MinMaxScaler().fit(points)
    text = ABM(psi=0).fit(scaler.transform(points)).generators_.in_units(scaler).to_sage(tol=1e-9)
    ideal = text.splitlines()[2].removeprefix("I = R.ideal(").removesuffix(")").replace("^", "**")
    generators = sympy.sympify(ideal, rational=True)
    assert len(generators) == 4
    assert all(g.subs({"x0": x, "x1": y}) == 0 for g in generators for x, y in points)


@pytest.mark.slow
def test_macaulay2_computes_with_the_ideal(tmp_path):
    program = shutil.which("M2")
    if program is None:
        pytest.skip("needs Macaulay2: apt-get install macaulay2")
    t = np.linspace(0.0, 1.0, 50)
    table = pd.DataFrame({"R": t, "time": t**2, "I": t**3})  # names of the ring, of the ideal and of a command
    cubic = OAVI(1e-8, max_degree=2).fit(table).generators_
    (tmp_path / "cubic.m2").write_text(cubic.to_macaulay2(1e-6) + "print(dim I, degree I, isPrime I);\n")
    done = subprocess.run([program, "--script", tmp_path / "cubic.m2"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 3, true)"  # a curve of degree 3


def test_names_that_no_system_accepts_are_changed_and_stay_different():
    sympy = pytest.importorskip("sympy")
    p = polynomial({(1, 1, 1): 1.0}, ("b b", "b_b", "2"))
    text = to_sage([p], tol=0.0)
    assert "['b_b', 'b_bx', 'x2']" in text
    assert "['Rx', 'lambdax', 'Ix']" in to_sage([polynomial({(1, 1, 1): 1.0}, ("R", "lambda", "I"))])
    ideal = text.splitlines()[2].removeprefix("I = R.ideal(").removesuffix(")").replace("^", "**")
    (expression,) = sympy.sympify(ideal)
    assert expression == sympy.prod(sympy.symbols("b_b b_bx x2"))
