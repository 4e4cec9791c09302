"""Which terms a law may have: those that a user allows or forbids, and those that units make comparable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._typing import Array, Bool1D, Int1D, Int2D
from ...polynomials.text import powers_in, shown_names
from ..rows import units as dimensions
from ..rows.table import in_table

__all__ = ["allowed_terms", "comparable_terms", "dimension_classes", "parse_term"]


def parse_term(term: Any, names: Sequence[str]) -> tuple[int, ...]:
    """Exponents of a term that is written as ``"x^2*y"``, ``"1"``, or as a tuple of exponents.

    Examples
    --------
    >>> parse_term("x^2*y", ["x", "y"]), parse_term("1", ["x", "y"]), parse_term((0, 3), ["x", "y"])
    ((2, 1), (0, 0), (0, 3))
    """
    if not isinstance(term, str):
        exponents = tuple(int(e) for e in term)
        if len(exponents) != len(names) or min(exponents) < 0:
            raise ValueError(f"A term as exponents needs {len(names)} numbers that are not negative; got {term!r}.")
        return exponents
    powers = [0] * len(names)
    factors = powers_in(term)
    if factors is None or any(name not in (*names, "1") for name, _ in factors):
        shown = shown_names(tuple(names))
        raise ValueError(
            f"Cannot read the term {term!r}: write products of powers of columns, such as "
            f"'{shown[0]}^2*{shown[-1]}'; the columns are {', '.join(shown)}."
        )
    for name, power in factors:
        if name in names:
            powers[list(names).index(name)] += power
    return tuple(powers)


def allowed_terms(
    allowed: Sequence[Any] | None, forbidden: Sequence[Any] | None, names: Sequence[str], kept: Sequence[int]
) -> Callable[[Int2D], Bool1D] | None:
    """A function that says which terms, given by their exponents in the columns ``kept``, may occur; None for all."""
    if allowed is None and forbidden is None:
        return None
    only = None if allowed is None else {parse_term(term, names) for term in allowed}
    never = set() if forbidden is None else {parse_term(term, names) for term in forbidden}

    def choose(exponents: Int2D) -> Bool1D:
        terms = [tuple(row) for row in in_table(exponents, kept, len(names)).tolist()]
        return np.array([(only is None or term in only) and term not in never for term in terms])

    return choose


def comparable_terms(dims: Array) -> Callable[[Int2D, int], Bool1D]:
    """A function that says which terms have the dimension of term k; ``dims`` as from :func:`.units.parse`."""

    def choose(exponents: Int2D, k: int) -> Bool1D:
        chosen = np.zeros(len(exponents), dtype=bool)
        for members in dimensions.groups(exponents, dims):
            if k in members:
                chosen[members] = True
        return chosen

    return choose


def dimension_classes(dims: Array) -> Callable[[Int2D], list[Int1D]]:
    """A function that groups terms by dimension, without those whose dimension no other term has."""

    def choose(exponents: Int2D) -> list[Int1D]:
        return [members for members in dimensions.groups(exponents, dims) if len(members) > 1]

    return choose
