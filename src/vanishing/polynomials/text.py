"""Polynomials as text: sums with signs, monomials, and names that can be told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from .._typing import Float1D, Int1D

__all__ = ["distinct_names", "is_number", "latex_name", "monomial_text", "shown_names", "signed_sum"]


def signed_sum(coef: Float1D, terms: Sequence[str], digits: int, *, times: str, latex: bool = False) -> str:
    """``c1*t1 + c2*t2 - ...`` with the given number of significant digits; an empty term is the constant."""
    text = ""
    for c, term in zip(coef, terms, strict=True):
        if c == 0.0:
            continue
        number = f"{abs(c):.{digits}g}"
        if latex and "e" in number:
            mantissa, power = number.split("e")
            number = f"{mantissa} \\cdot 10^{{{int(power)}}}"
        body = (term if number == "1" else f"{number}{times}{term}") if term else number
        sign = "-" if c < 0 else "+"
        text += f" {sign} {body}" if text else (f"-{body}" if c < 0 else body)
    return text or "0"


def monomial_text(exponents: Int1D, names: tuple[str, ...]) -> str:
    """``x0^2*x1``; the empty string for the constant."""
    powers = [(name, e) for name, e in zip(shown_names(names), exponents, strict=True) if e]
    return "*".join(name if e == 1 else f"{name}^{e}" for name, e in powers)


@lru_cache(maxsize=16)
def shown_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as printed: quoted if they could be read as a number or an expression, and distinct."""
    plain = [bool(name) and not is_number(name) and not set(name) & set("+-*^'") for name in names]
    quoted = tuple(name if is_plain else f"'{name}'" for name, is_plain in zip(names, plain, strict=True))
    return distinct_names(quoted)


def distinct_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, with the column's index appended to those that occur more than once."""
    count = Counter(names)
    return tuple(name if count[name] == 1 else f"{name}[{j}]" for j, name in enumerate(names))


def is_number(name: str) -> bool:
    """Whether a name reads as a number."""
    try:
        float(name)
    except ValueError:
        return False
    return True


def latex_name(name: str) -> str:
    """``x12`` becomes ``x_{12}``; other names are set upright."""
    if name[:1].isalpha() and name[1:].isdigit():
        return f"{name[0]}_{{{name[1:]}}}"
    special = {"\\": r"\backslash ", "^": r"\hat{\ }", "~": r"\sim ", **{ch: f"\\{ch}" for ch in "_%&#${}"}}
    escaped = "".join(special.get(ch, ch) for ch in name)
    return name if len(name) == 1 else f"\\mathrm{{{escaped}}}"
