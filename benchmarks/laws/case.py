"""A table with known laws: the columns, the generators of the true ideal, and how rows are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import sympy

from vanishing._typing import Array, Float1D, Float2D

#: A polynomial: exponents of a term -> coefficient.
Poly: TypeAlias = dict[tuple[int, ...], float]

Noise = Literal["relative", "absolute", "multiplicative", "one column"]
NOISES: tuple[Noise, ...] = ("relative", "absolute", "multiplicative", "one column")


@dataclass(frozen=True)
class Case:
    """Rows on the zero set of ``laws``; with runs, rows along which the ``laws`` are constant."""

    name: str
    names: str
    laws: tuple[str, ...]
    draw: Callable[[np.random.Generator, int], tuple[Float1D, ...]]
    runs: Callable[[int], Array] | None = None

    @property
    def columns(self) -> list[str]:
        return self.names.split()

    @cached_property
    def truth(self) -> list[Poly]:
        return [polynomial(law, self.columns) for law in self.laws]

    @property
    def degree(self) -> int:
        return max((sum(term) for law in self.truth for term in law), default=0)

    def rows(self, random: np.random.Generator, n: int) -> Float2D:
        """Rows without noise."""
        return np.column_stack(self.draw(random, n)).astype(np.float64)


def polynomial(text: str | sympy.Expr, columns: list[str]) -> Poly:
    """A polynomial of the columns from a text or a SymPy expression."""
    symbols = sympy.symbols(columns)
    expression = sympy.sympify(text, locals=dict(zip(columns, symbols, strict=True)))
    return {term: float(c) for term, c in sympy.Poly(sympy.expand(expression), symbols).as_dict().items()}


def noisy(rows: Float2D, level: float, noise: Noise, random: np.random.Generator) -> Float2D:
    """Rows with Gaussian noise.

    ``relative``: a fraction ``level`` of each column's deviation; ``absolute``: the same standard deviation in every
    column, ``level`` times the smallest deviation of a column; ``multiplicative``: each value times ``1 + level e``;
    ``one column``: as relative, in the last column only.
    """
    deviation = rows.std(axis=0)
    e = random.normal(size=rows.shape)
    if noise == "multiplicative":
        return rows * (1.0 + level * e)
    if noise == "absolute":
        return rows + level * deviation[deviation > 0.0].min() * e
    if noise == "one column":
        e[:, :-1] = 0.0
    return rows + level * deviation * e
