"""Where the data are: rows that can be reduced and mapped block by block.

A source of data is a small class with the methods of :class:`Rows`. It knows nothing about polynomials;
algorithms know nothing about where the rows come from.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Protocol, TypeVar

import numpy as np

from ._typing import Array, Float1D, Float2D
from .threads import n_threads, one_blas_thread

__all__ = ["ArrayRows", "JoinedRows", "Rows", "as_rows"]

T = TypeVar("T")
Kernel = Callable[[Float2D, "Float1D | None"], T]


class Rows(Protocol):
    """What a fit needs from a data source. A block is a float64 C-ordered array ``(n_rows, n_features)``."""

    n_samples: int
    n_features: int

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights; the number of rows when there are none."""

    def reduce(self, kernel: Kernel[T], combine: Callable[[T, T], T], block_rows: int) -> T:
        """Combine ``kernel(block, weights)`` over all blocks, in the order of the rows."""

    def map(self, kernel: Callable[[Float2D, Float2D], None], n_columns: int, block_rows: int) -> Float2D:
        """Array ``(n_samples, n_columns)`` whose slices ``kernel(block, out)`` has filled."""


class ArrayRows:
    """Rows of an array in memory (or of a memory map), shared among threads; the array is never copied as a whole.

    The blocks, and the order in which their results are combined, depend on the shape of the data alone, so
    the result is the same to the last bit for every ``n_jobs``.
    """

    def __init__(self, X: Array, sample_weight: Float1D | None = None, n_jobs: int | None = None):
        self.X = X
        self.sample_weight = sample_weight
        self.n_threads = n_threads(n_jobs)
        self.n_samples, self.n_features = X.shape

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights; the number of rows when there are none."""
        return float(self.n_samples) if self.sample_weight is None else float(self.sample_weight.sum())

    def reduce(self, kernel: Kernel[T], combine: Callable[[T, T], T], block_rows: int) -> T:
        """Combine ``kernel(block, weights)`` over all blocks, in the order of the rows."""

        def work(rows: slice) -> T:
            weights = None if self.sample_weight is None else self.sample_weight[rows]
            return kernel(self._block(rows), weights)

        return functools.reduce(combine, self._run(work, block_rows))

    def map(
        self,
        kernel: Callable[[Float2D, Float2D], None],
        n_columns: int,
        block_rows: int,
        out: Float2D | None = None,
    ) -> Float2D:
        """Array ``(n_samples, n_columns)`` whose slices ``kernel(block, out)`` has filled; given or new."""
        out = np.empty((self.n_samples, n_columns)) if out is None else out
        for _ in self._run(lambda rows: kernel(self._block(rows), out[rows]), block_rows):
            pass
        return out

    def _block(self, rows: slice) -> Float2D:
        return np.ascontiguousarray(self.X[rows], dtype=np.float64)

    def _run(self, work: Callable[[slice], T], block_rows: int) -> Iterator[T]:
        """Results of ``work`` on each block, in order, with at most a few blocks ahead of the consumer."""
        n_blocks = -(-self.n_samples // block_rows)
        edges = [self.n_samples * i // n_blocks for i in range(n_blocks + 1)]
        blocks = map(slice, edges, edges[1:])
        with one_blas_thread():
            if self.n_threads == 1 or n_blocks == 1:
                yield from map(work, blocks)
                return
            with ThreadPoolExecutor(self.n_threads) as pool:
                ahead: list[Future[T]] = [pool.submit(work, rows) for rows in islice(blocks, self.n_threads + 1)]
                while ahead:
                    done = ahead.pop(0).result()
                    ahead += [pool.submit(work, rows) for rows in islice(blocks, 1)]
                    yield done


class JoinedRows:
    """The rows of several sources, one source after the other, for reductions; nothing is copied."""

    def __init__(self, sources: Sequence[Rows]):
        self.sources = tuple(sources)
        self.n_samples = sum(source.n_samples for source in self.sources)
        self.n_features = self.sources[0].n_features

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights; the number of rows when there are none."""
        return sum(source.total_weight for source in self.sources)

    def reduce(self, kernel: Kernel[T], combine: Callable[[T, T], T], block_rows: int) -> T:
        """Combine ``kernel(block, weights)`` over all blocks, in the order of the rows."""
        return functools.reduce(combine, (source.reduce(kernel, combine, block_rows) for source in self.sources))

    def map(self, kernel: Callable[[Float2D, Float2D], None], n_columns: int, block_rows: int) -> Float2D:
        """Array ``(n_samples, n_columns)`` whose slices ``kernel(block, out)`` has filled."""
        return np.vstack([source.map(kernel, n_columns, block_rows) for source in self.sources])


def as_rows(X: Any, sample_weight: Float1D | None = None, n_jobs: int | None = None) -> ArrayRows:
    """The data source for ``X``, an array of shape ``(n_samples, n_features)``.

    Examples
    --------
    >>> import numpy as np
    >>> as_rows(np.ones((5, 2))).reduce(lambda block, weights: block.sum(), lambda a, b: a + b, block_rows=2)
    np.float64(10.0)
    """
    return ArrayRows(np.asarray(X), sample_weight, n_jobs)
