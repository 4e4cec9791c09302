"""Units of columns: which terms of a law have the same dimension, and in which unit its constants are.

A unit is a product of powers of symbols, ``"kg*m^2/s^2"``. With pint installed (``pip install 'vanishing[units]'``)
every symbol is resolved into base dimensions, so that Pa and N/m^2 agree; without it each symbol is a base dimension
of its own, which is right as long as all columns are written in the same base units.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from reprlib import repr as shown
from typing import Any, TypeAlias

import numpy as np

from ..._typing import Array, Int1D, Int2D

__all__ = ["groups", "label", "parse"]

#: Exponents of symbols, or of base dimensions.
Powers: TypeAlias = dict[str, Fraction]

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_SYMBOL = re.compile(r"[^\W\d_]\w*(?: \w+)*|%|°\w*")  # in a mapping; in a text, a symbol does not end in digits
_TOKEN = re.compile(
    r"\s*(?:(?P<exponent>(?:\^|\*\*)\s*(?:[-+]?\d+(?:\.\d+)?|\(\s*[-+]?\d+(?:\.\d+)?(?:\s*/\s*\d+)?\s*\)))"
    r"|(?P<operator>[*·/()])|(?P<one>1(?![\d.]))|(?P<symbol>[^\W\d_](?:\w*[^\W\d])?|%|°\w*))\s*"
)


def parse(units: Mapping[str, str | Mapping[str, Any]], columns: Sequence[str]) -> Array:
    """Dimension of every column, as exponents of base dimensions.

    Parameters
    ----------
    units : mapping from the name of a column to its unit
        A text such as ``"kg*m^2/s^2"`` or ``"1"``, or the exponents themselves, ``{"kg": 1, "m": 2, "s": -2}``. A
        symbol of such a mapping that pint does not know is a base dimension of its own.
    columns : sequence of str

    Returns
    -------
    array of Fraction, shape (n_columns, n_base)
        ``n_base`` is the number of base dimensions that occur; zero when every column is a pure number.

    Examples
    --------
    >>> dims = parse({"distance": "m", "time": "s", "speed": "m/s"}, ["distance", "time", "speed"])
    >>> dims.astype(int)
    array([[ 1,  0],
           [ 0,  1],
           [ 1, -1]])
    """
    _check_columns(units, columns)
    dimensions = [_dimension(name, units[name]) for name in columns]
    base = list(dict.fromkeys(symbol for powers in dimensions for symbol in powers))
    exponents = np.empty((len(columns), len(base)), dtype=object)
    for row, powers in enumerate(dimensions):
        exponents[row] = [powers.get(symbol, Fraction(0)) for symbol in base]
    return exponents


def groups(exponents: Int2D, dims: Array) -> list[Int1D]:
    """Positions of the terms that have the same dimension, group by group, in order of first appearance.

    The term ``x^a`` has the dimension ``a @ dims``. Terms of one group can be added with pure numbers as
    coefficients; a law with terms of ``k`` groups needs ``k - 1`` constants with units.

    Parameters
    ----------
    exponents : array of int, shape (n_terms, n_columns)
    dims : array of Fraction, shape (n_columns, n_base)
        From `parse`.

    Returns
    -------
    list of arrays of int

    Examples
    --------
    Distance, time, speed times time and the squared time:

    >>> dims = parse({"distance": "m", "time": "s", "speed": "m/s"}, ["distance", "time", "speed"])
    >>> groups([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 2, 0]], dims)
    [array([0, 2]), array([1]), array([3])]
    """
    members: dict[tuple[Fraction, ...], list[int]] = {}
    for position, term in enumerate(np.asarray(exponents).astype(object) @ dims):
        members.setdefault(tuple(term), []).append(position)
    return [np.array(positions) for positions in members.values()]


def label(powers: Sequence[Any], units: Sequence[str | Mapping[str, Any]]) -> str:
    """The unit of a product of powers of columns, written in the users' own symbols.

    In ``x^b = k x^a`` the constant ``k`` has the unit of ``x^(b - a)``, so ``powers`` is ``b - a``. The result is in
    the units of the columns, not in base units, because the number in front belongs to those.

    Parameters
    ----------
    powers : sequence of int or Fraction, one per column
    units : sequence of str or mapping, one per column
        As for `parse`.

    Returns
    -------
    str
        ``""`` for a pure number.

    Examples
    --------
    The gas constant in ``p V = k n T``:

    >>> label([1, 1, -1, -1], ["kPa", "L", "mol", "K"])
    'kPa*L/(mol*K)'
    >>> label([1, -1], ["kg*m^2", "m^2"])
    'kg'
    """
    total: Powers = {}
    for power, unit in zip(powers, units, strict=True):
        total = _product(total, _read("the constant", unit), Fraction(power))
    above = [_power_text(symbol, power) for symbol, power in total.items() if power > 0]
    below = [_power_text(symbol, -power) for symbol, power in total.items() if power < 0]
    denominator = "*".join(below) if len(below) < 2 else f"({'*'.join(below)})"
    return ("*".join(above) or ("1" if below else "")) + (f"/{denominator}" if below else "")


def _check_columns(units: Mapping[str, Any], columns: Sequence[str]) -> None:
    if not isinstance(units, Mapping):
        raise ValueError(f"units must be a mapping from columns to units, such as {{'p': 'Pa'}}; got {shown(units)}.")
    unknown = [name for name in units if name not in columns]
    if unknown:
        raise ValueError(
            f"units names a column that the data lack: {unknown[0]!r}; the columns are {', '.join(map(repr, columns))}."
        )
    missing = [name for name in columns if name not in units]
    if missing:
        raise ValueError(f"units says nothing about column {missing[0]!r}: give its unit, or '1' for a pure number.")


def _dimension(name: str, unit: str | Mapping[str, Any]) -> Powers:
    """Exponents of the base dimensions of one column."""
    total: Powers = {}
    for symbol, power in _read(name, unit).items():
        known = _resolved(symbol)
        if known is None and isinstance(unit, str):
            raise ValueError(
                f"The unit {shown(unit)} of column {name!r} has a symbol that pint does not know, {shown(symbol)}: "
                f"correct it, or declare it as a base unit of your own with {{{shown(symbol)}: 1}} in place of the "
                "text."
            )
        total = _product(total, {symbol: Fraction(1)} if known is None else known, power)
    return total


@cache
def _registry() -> Any:
    """pint's registry, made once (it takes most of a second); None without pint."""
    try:
        import pint
    except ImportError:
        return None
    return pint.UnitRegistry()


@cache
def _resolved(symbol: str) -> Powers | None:
    """Base dimensions of a symbol: itself without pint; None when pint does not know it.

    pint looks the symbol up as a name with a prefix; its parser of expressions never sees any other text.
    """
    registry = _registry()
    if registry is None:
        return {symbol: Fraction(1)}
    name = "degree" if symbol == "°" else symbol
    if not registry.parse_unit_name(name):
        return None
    powers = registry.get_dimensionality(name)
    return {name: Fraction(power).limit_denominator(60) for name, power in powers.items()}


def _read(name: str, unit: str | Mapping[str, Any]) -> Powers:
    """Exponents of the symbols of a unit."""
    if isinstance(unit, Mapping):
        return _read_mapping(name, unit)
    if not isinstance(unit, str):
        raise ValueError(f"The unit of {name!r} must be a text such as 'm/s^2' or a mapping; got {shown(unit)}.")
    raised = _RAISED.sub(lambda match: f"^({match[0].translate(_SUPERSCRIPTS)})", unit).replace("%", "percent")
    try:
        tokens = deque(_tokens(raised))
        powers = _powers(tokens)
        if tokens:
            raise _NotAUnitError
        return powers
    except (_NotAUnitError, ZeroDivisionError, ValueError, RecursionError):  # as for ^(1/0), or a thousand brackets
        raise ValueError(
            f"Can't read the unit {shown(unit)} of {name!r}: write powers of symbols, such as 'kg*m^2/s^2', or '1'."
        ) from None


def _read_mapping(name: str, unit: Mapping[str, Any]) -> Powers:
    try:
        powers = {str(symbol): Fraction(power) for symbol, power in unit.items() if power}
    except (TypeError, ValueError, ArithmeticError):  # as for None, "two", infinity
        raise ValueError(
            f"The unit of {name!r} must map symbols to numbers, such as {{'m': 1, 's': -2}}; got {shown(unit)}."
        ) from None
    for symbol in powers:
        if not _SYMBOL.fullmatch(symbol):
            raise ValueError(
                f"The unit of {name!r} must map symbols to numbers, such as {{'m': 1, 's': -2}}; the symbol "
                f"{shown(symbol)} must start with a letter, and have letters, digits and underscores."
            )
    return powers


class _NotAUnitError(Exception):
    """The text is no unit."""


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of every token."""
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise _NotAUnitError
        yield match.lastgroup, match[match.lastgroup]
        position = match.end()


def _powers(tokens: deque[tuple[str, str]]) -> Powers:
    """The exponents of the symbols of a product, which takes its tokens up to a closing bracket.

    A factor is a symbol, a 1 or a bracket, perhaps with an exponent; factors follow each other with ``*``, ``/`` or
    nothing in between, and a slash divides by the next factor alone.
    """
    total: Powers = {}
    sign = 1
    while True:
        kind, text = tokens.popleft() if tokens else ("", "")
        if text == "(":
            factor = _powers(tokens)
            kind, text = tokens.popleft() if tokens else ("", "")
            if text != ")":
                raise _NotAUnitError
        elif kind in ("symbol", "one"):
            factor = {text: Fraction(1)} if kind == "symbol" else {}
        else:
            raise _NotAUnitError
        exponent = tokens.popleft()[1] if tokens and tokens[0][0] == "exponent" else "1"
        power = sign * Fraction(re.sub(r"[\s()^*]", "", exponent))
        for symbol, own in factor.items():
            total[symbol] = total.get(symbol, Fraction(0)) + power * own
        if not tokens or tokens[0][1] == ")":
            return {symbol: power for symbol, power in total.items() if power}
        sign = -1 if tokens[0][1] == "/" else 1
        if tokens[0][0] == "operator" and tokens[0][1] != "(":
            tokens.popleft()


def _product(left: Powers, right: Powers, power: Fraction) -> Powers:
    """``left * right^power``, without the symbols that cancel."""
    total = dict(left)
    for symbol, exponent in right.items():
        total[symbol] = total.get(symbol, Fraction(0)) + exponent * power
    return {symbol: exponent for symbol, exponent in total.items() if exponent}


def _power_text(symbol: str, power: Fraction) -> str:
    if power == 1:
        return symbol
    return f"{symbol}^{power}" if power.denominator == 1 else f"{symbol}^({power})"
