"""Halves of a class: each has polynomials of its own, which vanish where those of the whole class do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._typing import Float1D, Float2D
from ...rows.array_api import on_device_of
from ...rows.arrays import ArrayRows
from ...rows.protocol import Block, Rows, where

__all__ = ["FEWEST_IN_HALF", "Cut", "owner_name"]

FEWEST_IN_HALF = 20  # rows; a class with fewer in one of its halves is not cut


@dataclass(frozen=True)
class Cut:
    """The plane through the mean of a class across its longest direction: ``normal @ x = level``.

    ``normal`` is the eigenvector of the covariance with the largest eigenvalue, with its largest entry positive, so
    that the cut is known from the Gram of the columns, which the first pass sums.
    """

    normal: Float1D
    level: float

    @classmethod
    def of(cls, gram: Float2D) -> Cut:
        """From the means of the products of (1, x), a matrix of shape ``(n_features + 1, n_features + 1)``.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.2]])
        >>> table = np.column_stack([np.ones(3), x])
        >>> Cut.of(table.T @ table / 3).above(x)
        array([False, False,  True])
        """
        mean = gram[0, 1:]
        normal = np.linalg.eigh(gram[1:, 1:] - np.outer(mean, mean))[1][:, -1]
        normal = normal * np.sign(normal[np.argmax(np.abs(normal))])
        return cls(normal, float(normal @ mean))

    def above(self, X: Any) -> Any:
        """Which rows lie above the plane."""
        return X @ on_device_of(X, self.normal) > self.level

    def halves(self, rows: Rows) -> list[Rows]:
        """The rows that do not lie above the plane, and those that do."""
        if isinstance(rows, ArrayRows):
            above = self.above(rows.X)
            return [rows.where(~above), rows.where(above)]
        return [rows.changed(_Half(self, above)) for above in (False, True)]


@dataclass(frozen=True)
class _Half:
    """The rows above a plane, or the others."""

    leaves_out_rows: ClassVar = True
    cut: Cut
    is_above: bool

    def __call__(self, block: Block) -> Block:
        return where(block, self.cut.above(block.X) == self.is_above)


def owner_name(label: Any, half: int) -> str:
    """What polynomials vanish on: a class (0), or one of its halves (1 or 2).

    Examples
    --------
    >>> owner_name("A", 0), owner_name("A", 2)
    ('A', 'A, half 2')
    """
    return f"{label}, half {half}" if half else f"{label}"
