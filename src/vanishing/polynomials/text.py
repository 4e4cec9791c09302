"""Polynomials as text: sums with signs, monomials, and names that can be told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from .._typing import Float1D, Int1D

_FACTOR = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^*^`]+?))\s*(?:(?:\^|\*\*)\s*(\d+)\s*)?(?:\*(?!\*)|$)")


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


def powers_in(monomial: str) -> list[tuple[str, int]] | None:
    """The names and powers in a monomial as :func:`monomial_text` writes it; None if the text is not a monomial.

    Examples
    --------
    >>> powers_in("x^2*y"), powers_in("`flow, m^3/s`*`a*b`^3"), powers_in("x^y")
    ([('x', 2), ('y', 1)], [('flow, m^3/s', 1), ('a*b', 3)], None)
    """
    powers, start = [], 0
    while match := _FACTOR.match(monomial, start):
        quoted, plain, power = match.groups()
        powers.append((plain if quoted is None else quoted.replace("``", "`"), int(power or 1)))
        start = match.end()
        if not match[0].endswith("*"):
            break
    is_whole = start == len(monomial) and bool(powers) and not monomial.rstrip().endswith("*")
    return powers if is_whole else None


def quoted_name(name: str) -> str:
    """A name as equations print it: in backticks where it could be read as a number, a product or several names.

    Examples
    --------
    >>> quoted_name("speed"), quoted_name("mean radius"), quoted_name("T / s"), quoted_name("3`"), quoted_name("nan")
    ('speed', '`mean radius`', '`T / s`', '`3```', '`nan`')
    """
    return name if name.isidentifier() and not is_number(name) else f"`{name.replace('`', '``')}`"


@lru_cache(maxsize=16)
def shown_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as equations print them: quoted where they need it, and distinct."""
    return distinct_names(tuple(quoted_name(name) for name in names))


def distinct_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names; a name that occurs more than once gets the index of its column."""
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
    r"""``x12`` becomes ``x_{12}``; other names are set upright, in quotation marks where plain text has backticks.

    Examples
    --------
    >>> print(latex_name("x12"), latex_name("mu_0"))
    x_{12} \mathrm{mu\_0}
    """
    if name[:1].isalpha() and name[1:].isdigit():
        return f"{name[0]}_{{{name[1:]}}}"
    special = {"\\": r"\backslash ", "^": r"\hat{\ }", "~": r"\sim ", **{ch: f"\\{ch}" for ch in " _%&#${}"}}
    escaped = "".join(special.get(ch, ch) for ch in name)
    if quoted_name(name) != name:
        return f"\\mathrm{{\N{LEFT SINGLE QUOTATION MARK}{escaped}\N{RIGHT SINGLE QUOTATION MARK}}}"
    return name if len(name) == 1 else f"\\mathrm{{{escaped}}}"
