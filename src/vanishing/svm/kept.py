"""Rows that the SVM keeps in memory: a sample to start from, and those near the margin, which decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..rows.array_api import namespace_of, on_device_of, to_host

SHORT = 1.0  # the margin below which a row has a loss
_NEAR = 1.5  # and that below which it is near


class Lowest(NamedTuple):
    """The rows with the lowest numbers: all whose number is below ``limit``, with their signed weights."""

    limit: float
    numbers: Float1D
    Z: Float2D
    signed: Float1D

    def thinned(self, most: int, least: float = 0.0) -> Lowest:
        """At most ``most`` of the rows, below a lower limit; none where that would be lower than ``least``."""
        limit, places = _lowest(self.numbers, self.limit, most, least)
        return Lowest(limit, self.numbers[places], self.Z[places], self.signed[places])


def _lowest(numbers: Float1D, limit: float, most: int, least: float) -> tuple[float, Int1D]:
    """The limit below which at most ``most`` numbers lie, no higher than the given one, and their places."""
    if np.count_nonzero(numbers < limit) > most:
        limit = min(limit, float(np.partition(numbers, most)[most]))
    return limit, np.flatnonzero((numbers < limit) & (limit >= least))


def lowest_of(Z: Any, signed: Any, numbers: Float1D, limit: float, most: int, least: float = 0.0) -> Lowest:
    """At most ``most`` rows of a block, those with the lowest numbers below the limit."""
    limit, places = _lowest(numbers, limit, most, least)
    if isinstance(Z, np.ndarray):
        return Lowest(limit, numbers[places], Z[places], signed[places])
    taken = to_host(namespace_of(Z).take(Z, on_device_of(Z, places), axis=0))
    return Lowest(limit, numbers[places], taken, to_host(signed)[places])


def merge(a: Lowest, b: Lowest, most: int, least: float = 0.0) -> Lowest:
    """The lowest of the rows that both are of."""
    numbers, Z, signed = (np.concatenate(pair) for pair in zip(a[1:], b[1:], strict=True))
    return Lowest(min(a.limit, b.limit), numbers, Z, signed).thinned(most, least)


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


def new_near(Z: Any, signed: Any, x: Float1D, before: Sequence[tuple[Float1D, float]], most: int) -> Lowest:
    """At most ``most`` rows of a block that are near the margin at x and were not at the points before."""
    margins = np.where(to_host(signed) != 0.0, _margins(Z, signed, x), np.inf)
    for point, limit in before:
        margins[_margins(Z, signed, point) < limit] = np.inf
    return lowest_of(Z, signed, margins, _NEAR, most, SHORT)


def _margins(Z: Any, signed: Any, x: Float1D) -> Float1D:
    """The margin ``y (w'z + b)`` of every row."""
    score = Z @ on_device_of(Z, np.ascontiguousarray(x[:-1])) + float(x[-1])
    return to_host(namespace_of(Z).sign(signed) * score)
