"""Polynomials as computer algebra systems read them: Macaulay2, Singular, SageMath; coefficients as fractions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from keyword import kwlist
from typing import Any

from .._typing import Float1D, Int2D

# Names that no column can have: the ring, the ideal, and keywords of the languages.
_TAKEN = {"R", "I", *kwlist, "ideal", "int", "intvec", "list", "map", "matrix", "poly", "proc", "ring", "string"}


def rationalize(value: float, tol: float) -> Fraction:
    """The fraction with the smallest denominator within ``tol * |value|`` of a number; the number itself for 0.

    Examples
    --------
    >>> rationalize(0.3333, 1e-3), rationalize(-0.5, 0.0)
    (Fraction(1, 3), Fraction(-1, 2))
    """
    exact = Fraction(value)
    if tol == 0.0 or value == 0.0:
        return exact
    reach = Fraction(tol) * abs(exact)
    return _simplest_between(exact - reach, exact + reach)


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator in an interval, by continued fractions (Stern and Brocot)."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -_simplest_between(-high, -low)
    whole = low.numerator // low.denominator
    if whole == low or whole + 1 <= high:
        return Fraction(whole if whole == low else whole + 1)
    return whole + 1 / _simplest_between(1 / (high - whole), 1 / (low - whole))


def to_macaulay2(polynomials: Sequence[Any], tol: float | None = None) -> str:
    """The ideal in the syntax of Macaulay2: over RR, or over QQ with fractions within ``tol``."""
    names, rows = _written(polynomials, tol, identifier=_macaulay2_name)
    field = "RR_53" if tol is None else "QQ"
    return f"R = {field}[{', '.join(names)}];\nI = ideal({', '.join(rows) or '0_R'});\n"


def _macaulay2_name(name: str) -> str:
    """A name of letters and digits; longer ones get a prime, since hundreds of words are functions there."""
    short = re.sub(r"[^A-Za-z0-9]", "", name) or "x"
    return short if re.fullmatch(r"[A-Za-z]\d*", short) else f"{short}'"


def to_singular(polynomials: Sequence[Any], tol: float | None = None) -> str:
    """The ideal in the syntax of Singular: over the reals, or over the rationals with fractions within ``tol``."""
    names, rows = _written(polynomials, tol)
    field = "(real,16)" if tol is None else "0"
    return f"ring R = {field},({','.join(names)}),dp;\nideal I = {', '.join(rows) or '0'};\n"


def to_sage(polynomials: Sequence[Any], tol: float | None = None) -> str:
    """The ideal in the syntax of SageMath: over RDF, or over QQ with fractions within ``tol``."""
    names, rows = _written(polynomials, tol)
    field = "RDF" if tol is None else "QQ"
    ring = f"R = PolynomialRing({field}, {names!r}, order='degrevlex')"
    return f"{ring}\n({', '.join(names)},) = R.gens()\nI = R.ideal([{', '.join(rows)}])\n"


def _written(
    polynomials: Sequence[Any],
    tol: float | None,
    identifier: Callable[[str], str] = lambda name: re.sub(r"\W", "_", name, flags=re.ASCII) or "x",
) -> tuple[list[str], list[str]]:
    """Names of the variables that every system accepts, and the polynomials in them."""
    names: list[str] = []
    for name in polynomials[0].feature_names if len(polynomials) else ["x"]:
        short = identifier(str(name))
        short = short if short[0].isalpha() else f"x{short}"
        while short in names or short in _TAKEN:
            short += "x"
        names.append(short)
    return names, [_sum(polynomial.exponents, polynomial.coef, names, tol) for polynomial in polynomials]


def _sum(exponents: Int2D, coef: Float1D, names: Sequence[str], tol: float | None) -> str:
    """The polynomial; with a tolerance as a multiple of it with leading coefficient 1, whose fractions are simpler.

    The ideal of integer points has rational generators, but a vector of length 1 among their multiples has none.
    """
    terms = []
    coef = coef / coef[0] if tol and len(coef) else coef
    for row, value in zip(exponents.tolist(), coef.tolist(), strict=True):
        number = repr(value) if tol is None else str(rationalize(value, tol))
        powers = [name if power == 1 else f"{name}^{power}" for name, power in zip(names, row, strict=True) if power]
        terms.append("*".join([f"({number})", *powers]))
    return " + ".join(terms) or "0"
