"""Few rows: sums over them are the same to the last bit for every order of the rows, in every source.

Where rows are fewer than terms, many polynomials vanish on them up to rounding, and the rounding of a sum decides which
terms are kept. So up to 1024 rows are summed as one block, however a source divides them, in sorted order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Float1D, Float2D
from .array_api import namespace_of
from .protocol import FEWEST_ROWS, Block, Reduction, merge, where

__all__ = ["counted", "finished", "in_few_blocks"]


def counted(block: Block) -> Block:
    """The rows of a block that count in a sum, without labels and folds, in an order that rounds every sum the same.

    Rows of weight 0 are left out. Up to 1024 rows are sorted, and equal ones become one row with the sum of their
    weights: a row of weight 2 and two equal rows give the same sums.

    Examples
    --------
    >>> import numpy as np
    >>> few = counted(Block(np.array([[2.0], [1.0], [3.0], [2.0]]), np.array([1.0, 1.0, 0.0, 1.0])))
    >>> few.X.T, few.weights
    (array([[1., 2.]]), array([1., 2.]))
    """
    X, weights = block.X, block.weights
    if weights is not None and not namespace_of(X).all(weights != 0.0):
        kept = where(Block(X, weights), weights != 0.0)
        X, weights = kept.X, kept.weights
    if isinstance(X, np.ndarray) and 1 < len(X) <= FEWEST_ROWS:
        X, weights = _sorted_and_merged(X, weights)
    return block._replace(X=X, weights=weights, labels=None, folds=None)


def _sorted_and_merged(X: Float2D, weights: Float1D | None) -> tuple[Float2D, Float1D | None]:
    """The distinct rows in ascending order, and how much each of them weighs; None if all weigh 1."""
    order = np.argsort(X[:, 0])
    if (np.diff(X[order, 0]) > 0.0).all():  # the first column tells all rows apart
        return X[order], None if weights is None or (weights == 1.0).all() else weights[order]
    order = np.lexsort([*([] if weights is None else [weights]), *X.T[::-1]])
    X = X[order]
    first = np.ones(len(X), dtype=np.bool_)
    np.any(X[1:] != X[:-1], axis=1, out=first[1:])
    if weights is None and first.all():
        return X, None
    places = np.flatnonzero(first)
    total = np.add.reduceat(np.ones(len(X)) if weights is None else weights[order], places)
    return X[places], None if (total == 1.0).all() else total


def in_few_blocks(request: Reduction) -> Reduction:
    """The reduction with small blocks put together: up to 1024 rows are one block, however a source divides them.

    The result of the reduction is for :func:`finished`.
    """
    kernel = _RowsOrResult(request.kernel)
    return request._replace(kernel=kernel, combine=_RowsOrResults(request.kernel, request.combine))


def finished(request: Reduction, result: Any) -> Any:
    """The result of a reduction, from that of the same reduction :func:`in_few_blocks`."""
    return request.kernel(result) if isinstance(result, Block) else result


@dataclass(frozen=True)
class _RowsOrResult:
    """A kernel that puts off its work on few rows: it returns a copy of them instead of their result."""

    kernel: Callable[[Block], Any]

    def __call__(self, block: Block) -> Any:
        if not isinstance(block.X, np.ndarray) or len(block.X) > FEWEST_ROWS:
            return self.kernel(block)
        return Block(block.X.copy(), None if block.weights is None else block.weights.copy())


@dataclass(frozen=True)
class _RowsOrResults:
    """Combines results and few rows, which stay rows as long as they are few."""

    kernel: Callable[[Block], Any]
    combine: Callable[[Any, Any], Any]

    def __call__(self, a: Any, b: Any) -> Any:
        if isinstance(a, Block) and isinstance(b, Block) and len(a.X) + len(b.X) <= FEWEST_ROWS:
            weights = None if a.weights is None else np.concatenate([a.weights, b.weights])
            return Block(np.concatenate([a.X, b.X]), weights)
        results = [self.kernel(part) if isinstance(part, Block) else part for part in (a, b)]
        return merge(self.combine, *results)
