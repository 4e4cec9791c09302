"""Columns that were rounded before they were written: their grids, and a dither that makes the rounding noise.

The error of a rounded column is a function of the others: rows with the same values repeat it, and it follows the
place like a smooth residual. With independent uniform numbers of one step's width added (non-subtractive dither), the
mean of the total error no longer depends on the place (Schuchman 1964, doi:10.1109/TCOM.1964.1088973; Gray and
Stockham 1993, doi:10.1109/18.256489), so that the tests for noise apply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._typing import Float1D, Float2D
from ...rows.array_api import namespace_of, on_device_of
from ...rows.protocol import Block
from ...rows.sampling import fold_numbers
from .relation import middle_spread
from .table import Table

__all__ = ["dithered", "explains_linear", "rounding_steps"]

_POWERS = range(6, -9, -1)  # of ten: candidates for a step
_ON_GRID = 1e-9  # distance to the grid over the largest number of steps, up to which a value is on it
_FEWEST = 20  # different values of a column that was rounded, not counted
_MATTERS = 1e-4  # step over the deviation, from which rounding can be told from noise
_SLACK = 1.1  # over the bound of a residual, for the error of the coefficients
_N_HASHES = 1 << 40  # of entries; a double holds each of them


def rounding_steps(X: Float2D) -> Float1D:
    """Largest power of ten that divides all values of a column; 0 for columns without one, or with too fine a one.

    Examples
    --------
    >>> x = np.linspace(0.0, 30.0, 301)
    >>> rounding_steps(np.column_stack([x.round(1), np.sqrt(x)])).tolist()
    [0.1, 0.0]
    """
    return np.array([_step(column) for column in X.T])


def _step(column: Float1D) -> float:
    deviation = float(middle_spread(column[:, None])[0])
    for power in _POWERS:
        step = 10.0**power
        if step <= _MATTERS * deviation:
            break
        steps = column / step if power >= 0 else column * 10.0**-power
        close = np.abs(steps - np.round(steps)).max() <= _ON_GRID * max(float(np.abs(steps).max()), 1.0)
        if close and len(np.unique(column)) >= _FEWEST:
            return step
    return 0.0


def explains_linear(X: Float2D, steps: Float1D) -> bool:
    """Whether rounding explains all residuals of the best linear relation: ``|c'x + c_0| <= sum_j |c_j| step_j / 2``.

    Examples
    --------
    >>> celsius = np.arange(-20.0, 41.0)
    >>> explains_linear(np.column_stack([celsius, (1.8 * celsius + 32.0).round()]), np.ones(2))
    True
    """
    if not steps.all():
        return False
    scale = X.std(axis=0)
    _, _, directions = np.linalg.svd((X - X.mean(axis=0)) / scale, full_matrices=False)
    c = directions[-1] / scale
    residual = (X - X.mean(axis=0)) @ c
    return bool(np.ptp(residual) <= _SLACK * np.abs(c) @ steps)


def dithered(table: Table, steps: Float1D) -> Table:
    """The table with independent uniform numbers of a step's width added to each rounded column."""
    rows = table.rows.changed(_Dither(steps))
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, table.X.shape)
    return replace(table, rows=rows, X=table.X + steps * noise)


@dataclass(frozen=True)
class _Dither:
    """Adds numbers in [-1/2, 1/2) times the steps: hashes of the entries' places, so the same in every pass."""

    steps: Float1D

    def __call__(self, block: Block) -> Block:
        namespace, (n_rows, n_columns) = namespace_of(block.X), block.X.shape
        # Each entry has a hash of its own: multiples of one hash per row would correlate the columns.
        hashes = fold_numbers(block.X, block.part, block.start * n_columns, n_rows * n_columns, _N_HASHES)
        uniform = namespace.astype(hashes, namespace.float64) / float(_N_HASHES) - 0.5
        steps = on_device_of(block.X, self.steps)
        return block._replace(X=block.X + namespace.reshape(uniform, (n_rows, n_columns)) * steps)
