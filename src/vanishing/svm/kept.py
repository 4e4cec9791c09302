"""Rows that the SVM keeps in memory: a sample to start from, and those near the margin, which decide."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D
from ..rows.array_api import namespace_of, to_host
from ..rows.sampling import Lowest, lowest_of

SHORT = 1.0  # the margin below which a row has a loss
_NEAR = 1.5  # and that below which it is near


def drawn(Z: Any, signed: Any, *, positive: bool, most: int) -> Lowest:
    """Rows of one label in a block, drawn at random."""
    weights = to_host(signed)
    numbers = np.random.default_rng(weights.size).random(weights.size)
    return lowest_of(Z, signed, np.where(weights > 0.0 if positive else weights < 0.0, numbers, np.inf), 1.0, most)


class Near(NamedTuple):
    """The rows that are near the margin at some points: nearer than a limit at each."""

    points: tuple[tuple[Float1D, float], ...]
    Z: Float2D
    signed: Float1D

    @classmethod
    def nowhere(cls, n_columns: int) -> Near:
        """No rows yet."""
        return cls((), np.empty((0, n_columns)), np.empty(0))

    def grown(self, x: Float1D, new: Lowest) -> Near:
        """With the rows that are near at x, too."""
        points = (*self.points, (x, new.limit))
        return Near(points, np.concatenate([self.Z, new.Z]), np.concatenate([self.signed, new.signed]))


def new_near(Z: Any, signed: Any, score: Any, before: Iterable[tuple[Any, float]], most: int) -> Lowest:
    """At most ``most`` rows of a block that are near the margin, by their scores, and were not by those ``before``."""
    margins = np.where(to_host(signed) != 0.0, _margins(signed, score), np.inf)
    for earlier, limit in before:
        margins[_margins(signed, earlier) < limit] = np.inf
    return lowest_of(Z, signed, margins, _NEAR, most, SHORT)


def _margins(signed: Any, score: Any) -> Float1D:
    """The margin ``y (w'z + b)`` of every row."""
    return to_host(namespace_of(score).sign(signed) * score)
