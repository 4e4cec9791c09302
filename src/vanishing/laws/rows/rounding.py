"""Columns that were rounded before they were written: the steps of their grids."""

from __future__ import annotations

import numpy as np

from ..._typing import Float1D, Float2D
from .relation import LEFT_BY_ROUNDING, ROUNDED, middle_spread

__all__ = ["rounding_steps"]


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
    least = LEFT_BY_ROUNDING * float(middle_spread(column[:, None])[0])
    if not least > 0.0:
        return 0.0
    for power in range(int(np.log10(np.abs(column).max())), int(np.floor(np.log10(least))), -1):
        step = 10.0**power
        steps = column / step if power >= 0 else column * 10.0**-power
        if np.abs(steps - np.round(steps)).max() <= ROUNDED * max(float(np.abs(steps).max()), 1.0):
            return step
    return 0.0
