"""Checks of equations on all rows of a source, in one pass: mean squares, rows beyond limits, and worst rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..polynomials.polynomial import Polynomials
from ..rows.array_api import to_host
from ..rows.protocol import Block, Cost, Rows


class Held(NamedTuple):
    """How well equations hold on rows."""

    n_rows: int  # without missing values: the sums and counts are over these
    seen: int  # all rows
    squares: Float1D  # sums of squares
    beyond: Int1D  # rows with an absolute value above the limit
    worst: Float1D  # largest absolute values
    row: Int1D  # their places among all rows

    @property
    def mean_square(self) -> Float1D:
        """Mean squares of the equations."""
        return np.asarray(self.squares / max(self.n_rows, 1))

    @property
    def share_beyond(self) -> Float1D:
        """Share of the rows beyond the limits."""
        return np.asarray(self.beyond / max(self.n_rows, 1))


def check_values(rows: Rows, values: Callable[[Float2D], Float2D], limits: Float1D) -> Held:
    """Evaluate equations on all rows, in one pass; ``values(X)`` has shape ``(n_rows, n_equations)``.

    Examples
    --------
    >>> from vanishing.rows.arrays import as_rows
    >>> held = check_values(as_rows(np.array([[1.0], [-3.0], [np.nan]])), lambda X: X, np.array([2.0]))
    >>> held.n_rows, held.mean_square, held.beyond, held.row
    (2, array([5.]), array([1]), array([1]))
    """
    n = len(limits)

    def kernel(block: Block) -> Held:
        X = np.asarray(to_host(block.X), dtype=np.float64)
        complete = np.isfinite(X).all(axis=1)
        if not complete.any():
            return Held(0, len(X), np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.int64))
        size = np.abs(values(np.ascontiguousarray(X[complete])))
        places = np.flatnonzero(complete)[np.argmax(size, axis=0)]
        return Held(len(size), len(X), (size**2).sum(axis=0), (size > limits).sum(axis=0), size.max(axis=0), places)

    return rows.reduce(kernel, _add_held, Cost(40 * n, 4 * n + rows.n_features))


def _add_held(a: Held, b: Held) -> Held:
    later = b.worst > a.worst
    return Held(
        a.n_rows + b.n_rows,
        a.seen + b.seen,
        a.squares + b.squares,
        a.beyond + b.beyond,
        np.where(later, b.worst, a.worst),
        np.where(later, a.seen + b.row, a.row),
    )


def values_of_polynomials(polynomials: Polynomials, unit: Float1D) -> Callable[[Float2D], Float2D]:
    """A function that evaluates polynomials on rows in memory, each divided by its unit."""
    form = polynomials.form

    def values(X: Float2D) -> Float2D:
        out = np.empty((len(X), form.n_polynomials))
        form.fill(X, out, absolute=False)
        return np.asarray(out / unit)

    return values
