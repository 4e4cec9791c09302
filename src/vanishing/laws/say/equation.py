"""Equations as people write them: numbers to the digits that are known, terms on the side where they are positive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from math import floor, log10

import numpy as np

from ..._typing import Float1D, Int2D
from ...polynomials.text import latex_name, shown_names

__all__ = ["common_denominator", "coordinate_names", "equation", "monomial", "number", "with_error"]

_DIGITS = 6  # digits of a number without an error


def number(value: float, error: float = 0.0) -> str:
    """A number to the first digit of its error, or to six digits.

    Examples
    --------
    >>> number(8.31446, 0.003), number(0.5), number(1234.5, 20.0), number(2.0, 0.1)
    ('8.314', '0.5', '1230', '2.0')
    """
    if not error > 0.0 or value == 0.0:
        return f"{value:.{_DIGITS}g}"
    decimals = -floor(log10(error))
    digits = max(floor(log10(abs(value))) + 1 + decimals, 1)
    if 0 <= decimals <= 6 and abs(value) < 1e6:
        return f"{value:.{decimals}f}"
    text = f"{value:.{min(digits, 15)}g}"
    return f"{float(text):.0f}" if "e" in text and 1.0 <= abs(value) < 1e6 else text


def with_error(value: float, error: float) -> str:
    """A number with its standard error.

    Examples
    --------
    >>> with_error(8.31446, 0.0031)
    '8.314 +- 0.003'
    """
    return f"{number(value, error)} +- {float(f'{error:.1g}'):g}"


def _value_text(value: float, error: float, rational: Fraction | None) -> str:
    """The size of a coefficient: integers and thirds as such, other rational numbers as decimals."""
    if rational is None:
        return number(abs(value), error)
    return str(abs(rational)) if rational.denominator in (1, 3) else f"{abs(float(rational)):.15g}"


def coordinate_names(names: Sequence[str], origin: Float1D, *, latex: bool = False) -> list[str]:
    """The columns as an equation writes them: ``x``, or ``(x - 20)`` where the origin is shifted.

    Examples
    --------
    >>> coordinate_names(["x", "y"], np.array([20.0, 0.0]))
    ['(x - 20)', 'y']
    """
    shown = [latex_name(name) for name in names] if latex else list(shown_names(tuple(names)))
    return [
        name if shift == 0.0 else f"({name} {'-' if shift > 0.0 else '+'} {abs(shift):.{_DIGITS}g})"
        for name, shift in zip(shown, origin, strict=True)
    ]


def monomial(exponents: Sequence[int], names: Sequence[str], *, latex: bool = False) -> str:
    """A product of powers; an empty text for the constant.

    Examples
    --------
    >>> monomial([2, 1], ["x", "y"])
    'x^2*y'
    """
    if latex:
        return " ".join(name if e == 1 else f"{name}^{{{e}}}" for name, e in zip(names, exponents, strict=True) if e)
    return "*".join(name if e == 1 else f"{name}^{e}" for name, e in zip(names, exponents, strict=True) if e)


def equation(
    exponents: Int2D,
    coef: Float1D,
    errors: Float1D,
    rational: Sequence[Fraction | None],
    names: Sequence[str],
    *,
    latex: bool = False,
    units: Sequence[str] | None = None,
) -> str:
    """``left = right``, with every term on the side where its coefficient is positive.

    Parameters
    ----------
    exponents : ndarray of shape (n_terms, n_columns)
    coef, errors : ndarray of shape (n_terms,)
    rational : sequence of Fraction or None
        Coefficients that are known exactly.
    names : sequence of str
        Of the columns.
    latex : bool, default=False
    units : sequence of str, optional
        Of the coefficients; those of LaTeX are upright.

    Examples
    --------
    >>> equation(np.array([[1, 1], [0, 0]]), np.array([1.0, -2.5]), np.zeros(2), [Fraction(1), None], ["x", "y"])
    'x*y = 2.5'
    """
    sides: tuple[list[str], list[str]] = ([], [])
    for k, row in enumerate(exponents):
        body = monomial(row, names, latex=latex)
        value = _value_text(coef[k], errors[k], rational[k])
        if latex:
            value = _latex_number(value)
        elif "/" in value and body:
            value = f"({value})"
        glue = " " if latex else "*"
        if units is not None and units[k]:
            value, glue = (f"{value}\\,{_latex_unit(units[k])}", "\\,") if latex else (f"{value} {units[k]}", " * ")
        text = value if not body else body if value == "1" else f"{value}{glue}{body}"
        sides[int(coef[k] < 0.0)].append(text)
    left, right = (" + ".join(side) for side in sides)
    return f"{left or '0'} = {right or '0'}"


def _latex_unit(text: str) -> str:
    r"""The unit in upright letters.

    Examples
    --------
    >>> print(_latex_unit("kPa*L/(mol*K^2)"), _latex_unit("m^(1/2)"))
    \mathrm{kPa\,L/(mol\,K^{2})} \mathrm{m^{1/2}}
    """
    text = re.sub(r"([%#&_$])", r"\\\1", text).replace("*", r"\,")
    text = re.sub(r"\^(?:\(([^()]*)\)|(-?\d+))", lambda found: f"^{{{found[1] or found[2]}}}", text)
    return rf"\mathrm{{{text}}}"


def _latex_number(text: str) -> str:
    if "/" in text:
        p, q = text.split("/")
        return f"\\frac{{{p}}}{{{q}}}"
    if "e" in text:
        mantissa, power = text.split("e")
        return f"{mantissa} \\cdot 10^{{{int(power)}}}"
    return text


def common_denominator(numbers: Sequence[Fraction]) -> int:
    """The smallest number whose product with each is an integer.

    Examples
    --------
    >>> common_denominator([Fraction(1, 4), Fraction(1, 9)])
    36
    """
    return int(np.lcm.reduce([number.denominator for number in numbers], initial=1))
