"""Columns that were rounded before they were written: the steps of their grids."""

from __future__ import annotations

import numpy as np

from ..._typing import Float1D, Float2D
from .relation import ROUNDED, middle_spread

__all__ = ["rounding_steps"]

_POWERS = range(6, -9, -1)  # of ten: candidates for a step
_FEWEST = 20  # different values of a column that was rounded, not counted
_MATTERS = 1e-4  # step over the deviation, from which rounding can be told from noise


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
        close = np.abs(steps - np.round(steps)).max() <= ROUNDED * max(float(np.abs(steps).max()), 1.0)
        if close and len(np.unique(column)) >= _FEWEST:
            return step
    return 0.0
