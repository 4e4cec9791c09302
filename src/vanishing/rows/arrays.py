"""Rows of arrays in memory, shared among threads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain, islice
from typing import Any, TypeVar, cast

import numpy as np

from .._typing import Array, Bool1D, Float1D, Float2D
from ..constants import LONGEST_BLOCK
from ..progress import Progress, passes_shown, row_progress
from ..threads import n_threads, one_blas_thread
from .protocol import Block, Cost, Rows, merge

T = TypeVar("T")

_BLOCK_WORK = 30_000_000  # multiplications of a block: some milliseconds of a core
_BLOCK_NUMBERS = 2**21  # float64 values that a block needs: 16 MB


class ArrayRows(Rows):
    """Rows of an array in memory (or of a memory map), shared among threads; the array is never copied as a whole.

    The blocks, and the order in which their results are combined, depend on the shape of the data alone, so
    the result is the same to the last bit for every ``n_jobs``. Anything with ``shape``, ``dtype`` and slices of rows
    can stand in for the array.
    """

    n_samples: int
    quiet = False  # True for rows that are one block of a larger source, whose passes show no bar

    def __init__(
        self, X: Array, sample_weight: Float1D | None = None, labels: Array | None = None, n_jobs: int | None = None
    ):
        self.X = X
        self.sample_weight = sample_weight
        self.labels = labels
        self.n_jobs = n_jobs
        self.n_samples, self.n_features = X.shape
        self.labelled = labels is not None
        self.single_precision = X.dtype.kind == "f" and X.dtype.itemsize < 8

    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        block = self._only_block(cost)
        if block is not None:
            with one_blas_thread:
                return cast("T", kernel(block))
        results = self._run(kernel, block_rows(cost))
        total = functools.reduce(functools.partial(merge, combine), results, next(results, None))
        return cast("T", total)

    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Float2D:
        out = np.empty((self.n_samples, n_columns)) if out is None else out
        block = self._only_block(cost)
        if block is not None:
            with one_blas_thread:
                kernel(block, out)
            return np.asarray(out)
        for _ in self._run(lambda block: kernel(block, out[block.start :][: len(block.X)]), block_rows(cost)):
            pass
        return np.asarray(out)

    def __len__(self) -> int:
        return int(self.n_samples)

    def scaled(self, scale: Float1D, offset: Float1D) -> ArrayRows:
        X = np.multiply(self.X, scale)
        X += offset
        return self._of_columns(X)

    def where_label(self, label: Any) -> ArrayRows:
        assert self.labels is not None
        return self.where(self.labels == label)

    def where(self, chosen: Bool1D) -> ArrayRows:
        """The chosen rows."""
        weights, labels = (None if own is None else own[chosen] for own in (self.sample_weight, self.labels))
        return ArrayRows(self.X[chosen], weights, labels, self.n_jobs)

    def signed_by(self, label: Any) -> ArrayRows:
        signs = np.where(self.labels == label, 1.0, -1.0)
        weights = signs if self.sample_weight is None else signs * self.sample_weight
        return ArrayRows(self.X, weights, self.labels, self.n_jobs)

    def computed(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost) -> ArrayRows:
        return self._of_columns(self.map(kernel, n_columns, cost))

    def _of_columns(self, X: Float2D) -> ArrayRows:
        """The same rows with other columns."""
        rows = ArrayRows(X, self.sample_weight, self.labels, self.n_jobs)
        rows.quiet = self.quiet
        return rows

    def without_zero_weights(self) -> ArrayRows:
        """The rows whose weight is not 0."""
        weights = self.sample_weight
        if weights is None or weights.all():
            return self
        return self.where(weights > 0.0)

    def _only_block(self, cost: Cost) -> Block | None:
        """All rows as one block, if they fit into one and no bar is shown, so that no threads are needed; else None."""
        one = 0 < self.n_samples <= block_rows(cost) and (self.quiet or not passes_shown.depth)
        return Block(as_block(self.X), self.sample_weight, self.labels) if one else None

    def _block(self, rows: slice) -> Block:
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        labels = None if self.labels is None else self.labels[rows]
        return Block(as_block(self.X[rows]), weights, labels, 0, rows.start)

    def _run(self, kernel: Callable[[Block], T], longest: int) -> Iterator[T]:
        """``kernel(block)`` for each block, in order; threads stay at most a few blocks ahead of the consumer."""
        n_samples = self.n_samples
        n_blocks = -(-n_samples // longest)
        edges = (n_samples * np.arange(n_blocks + 1) // max(n_blocks, 1)).tolist()
        blocks, shown = map(slice, edges[:-1], edges[1:]), passes_shown.depth > 0 and not self.quiet
        with one_blas_thread, row_progress(n_samples) if shown else nullcontext() as progress:
            yield from in_order(
                lambda rows: kernel(self._block(rows)),
                blocks,
                n_threads(self.n_jobs),
                progress,
                lambda rows: rows.stop - rows.start,
            )


def block_rows(cost: Cost) -> int:
    """Number of rows that keep one thread busy for a few milliseconds, in at most 16 MB of working memory.

    Examples
    --------
    >>> block_rows(Cost(work=100, width=20)), block_rows(Cost(work=10**6, width=20))
    (104857, 1024)
    """
    longest = min(_BLOCK_WORK // (cost.work + 4 * cost.width + 50), _BLOCK_NUMBERS // max(cost.width, 1), LONGEST_BLOCK)
    return max(longest, cost.fewest)


def as_block(X: Any) -> Float2D:
    """Rows as kernels need them: float64, and in C order unless they are in Fortran order already."""
    values = np.asarray(X)
    columnwise = values.flags.f_contiguous or (values.ndim == 2 and values.T.strides[-1] == values.itemsize)
    if columnwise and not values.flags.c_contiguous:
        return np.asfortranarray(values, dtype=np.float64)
    return np.ascontiguousarray(values, dtype=np.float64)


def in_order(
    work: Callable[[Any], T],
    tasks: Sequence[Any] | Iterator[Any],
    threads: int,
    progress: Progress | None,
    size: Callable[[Any], int],
) -> Iterator[T]:
    """Results of ``work`` on each task, in order; threads stay at most a few tasks ahead of the consumer."""
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    if threads == 1 or len(first) == 1:
        for task in chain(first, tasks):  # one by one: a task may hold rows that were read
            yield work(task)
            if progress is not None:
                progress.advance(size(task))
        return
    pool, wait = ThreadPoolExecutor(threads), True
    ahead: list[tuple[Future[T], int]] = []

    def submit(number: int, source: Iterator[Any]) -> None:
        ahead.extend((pool.submit(work, task), size(task)) for task in islice(source, number))

    try:
        submit(2, iter(first))
        submit(threads - 1, tasks)
        while ahead:
            done, n_rows = ahead.pop(0)
            result = done.result()
            submit(1, tasks)
            yield result
            if progress is not None:
                progress.advance(n_rows)
    except GeneratorExit:  # the consumer stopped early
        wait = False  # the garbage collector may be closing us in a thread that is starting: there, joining hangs
        raise
    finally:
        pool.shutdown(wait, cancel_futures=True)


def as_rows(X: Any, sample_weight: Float1D | None = None, n_jobs: int | None = None) -> ArrayRows:
    """The data source for ``X``, an array of shape ``(n_samples, n_features)``.

    Examples
    --------
    >>> import numpy as np
    >>> rows = as_rows(np.ones((5, 2)))
    >>> rows.reduce(lambda block: block.X.sum(), lambda a, b: a + b, Cost(work=2, width=2))
    np.float64(10.0)
    """
    return ArrayRows(np.asarray(X), sample_weight, n_jobs=n_jobs)
