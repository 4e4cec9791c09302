"""Polynomials as MathML, one inline formula for each term, so that long equations wrap like text.

Browsers render MathML Core without further software: https://www.w3.org/TR/mathml-core/.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Int1D
from ..plots.style import TITLE, shorten
from ..polynomials.polynomial import Polynomial
from ..polynomials.text import quoted_name
from .markup import EMPTY, Html, join, tag

_INDEXED = re.compile(r"([^\W\d_])_?(\d{1,4})")
_MOST_SUMMANDS = 40  # on one side of an equation


class Summand(NamedTuple):
    """A term of a sum: whether it is subtracted, its coefficient, and its product of powers, which may be empty."""

    negative: bool
    coefficient: Html
    product: Html


def variable(name: str) -> Html:
    """A column: one letter is italic, digits after it are an index, longer names are upright, odd ones in backticks.

    Examples
    --------
    >>> variable("x12"), variable("p"), variable("<b>")
    ('<msub><mi>x</mi><mn>12</mn></msub>', '<mi>p</mi>', '<mtext>`&lt;b&gt;`</mtext>')
    """
    indexed = _INDEXED.fullmatch(name)
    if indexed:
        return tag("msub", tag("mi", indexed[1]), tag("mn", indexed[2]))
    if len(name) == 1 and name.isalpha():
        return tag("mi", name)
    shown = shorten(name, TITLE)
    return tag("mtext", shown if name == quoted_name(name) else quoted_name(shown))


def shifted_variable(name: str, shift: float) -> Html:
    """A column, or ``(x - shift)``."""
    if shift == 0.0:
        return variable(name)
    sign = "\N{MINUS SIGN}" if shift > 0.0 else "+"
    inner = [tag("mo", "("), variable(name), tag("mo", sign), number(f"{abs(shift):.6g}"), tag("mo", ")")]
    return tag("mrow", *inner)


def number(text: str) -> Html:
    """A number as Python writes it: ``2/3`` is a fraction, and ``1e-5`` a power of ten.

    Examples
    --------
    >>> number("2.5"), number("2/3")
    ('<mn>2.5</mn>', '<mfrac><mn>2</mn><mn>3</mn></mfrac>')
    >>> number("3e5")
    '<mrow><mn>3</mn><mo>·</mo><msup><mn>10</mn><mn>5</mn></msup></mrow>'
    """
    if text.startswith("-"):
        return tag("mrow", tag("mo", "\N{MINUS SIGN}"), number(text[1:]))
    if "/" in text:
        return tag("mfrac", *(tag("mn", part) for part in text.split("/", 1)))
    if "e" in text:
        mantissa, power = text.split("e")
        ten = tag("msup", tag("mn", "10"), number(str(int(power))))
        return ten if mantissa == "1" else tag("mrow", tag("mn", mantissa), tag("mo", "·"), ten)
    return tag("mn", text)


def monomial(exponents: Sequence[int] | Int1D, variables: Sequence[Html]) -> Html:
    """A product of powers; empty for the constant.

    Examples
    --------
    >>> monomial([2, 0], [variable("x"), variable("y")])
    '<msup><mi>x</mi><mn>2</mn></msup>'
    """
    powers = [(name, int(e)) for name, e in zip(variables, exponents, strict=True) if e]
    factors = [name if e == 1 else tag("msup", name, tag("mn", str(e))) for name, e in powers]
    space = tag("mspace", width="0.17em")
    return join(*(part for k, factor in enumerate(factors) for part in ([space] if k else []) + [factor]))


def equation(left: Sequence[Summand], right: Sequence[Summand] | None, text: str) -> Html:
    """``left = right``, or the left side alone; ``text`` is for screen readers.

    Examples
    --------
    >>> equation([Summand(False, EMPTY, variable("x"))], [Summand(False, number("2"), EMPTY)], "x = 2")[48:]
    '<math><mi>x</mi></math> <math><mo form="infix">=</mo><mn>2</mn></math></span>'
    """
    shown = _side(left)
    if right is not None:
        shown += _side(right or [Summand(False, number("0"), EMPTY)], before=tag("mo", "=", form="infix"))
    return tag("span", *_spaced(shown), class_="eq", role="math", aria_label=text)


def _side(summands: Sequence[Summand], before: Html = EMPTY) -> list[Html]:
    """The terms of one side, the first after ``before``, and how many are left out."""
    shown = [
        _formula(summand, first=k == 0, before=EMPTY if k else before)
        for k, summand in enumerate(summands[:_MOST_SUMMANDS])
    ]
    left_out = len(summands) - _MOST_SUMMANDS
    return [*shown, tag("span", f"+ {left_out} terms", class_="more")] if left_out > 0 else shown


def polynomial(g: Polynomial, *, digits: int = 4, bars: bool = False, zero: bool = False) -> Html:
    """A polynomial; between bars, as an absolute value; or set equal to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> x = np.linspace(0, 1, 50)
    >>> g = OAVI(psi=1e-6).fit(np.column_stack([x, x**2])).generators_[0]
    >>> polynomial(g).count("<math>")
    2
    """
    names = [variable(name) for name in g.feature_names]
    summands = []
    for c, exponents in zip(g.coef, np.asarray(g.exponents), strict=True):
        text, product = f"{abs(c):.{digits}g}", monomial(exponents, names)
        summands.append(Summand(bool(c < 0.0), EMPTY if product and text == "1" else number(text), product))
    if not summands:
        summands = [Summand(False, number("0"), EMPTY)]
    text = g.to_text(digits)
    if not bars:
        return equation(summands, [] if zero else None, f"{text} = 0" if zero else text)
    inner = equation(summands, None, f"|{text}|")
    bar = tag("math", tag("mo", "|", stretchy="false", lspace="0", rspace="0"))
    return join(Html('<span class="bars">'), bar, inner, bar, Html("</span>"))


def _formula(summand: Summand, *, first: bool, before: Html = EMPTY) -> Html:
    sign = EMPTY
    if summand.negative or not first:
        form = "prefix" if first else "infix"  # the first element of a formula is a prefix, without space, otherwise
        sign = tag("mo", "\N{MINUS SIGN}" if summand.negative else "+", form=form)
    space = tag("mspace", width="0.17em") if summand.coefficient and summand.product else EMPTY
    body = join(summand.coefficient, space, summand.product) or number("1")
    return tag("math", join(before, sign, body))


def _spaced(parts: Sequence[Html]) -> list[Html]:
    return [part for k, entry in enumerate(parts) for part in ([Html(" ")] if k else []) + [entry]]
