"""Lets several computations over the same rows share passes.

Each computation is ordinary code that asks its rows for one reduction after the other. It runs in its own thread
and waits for each result; as soon as all computations wait, one pass over the data serves all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from ..checks import WarningRelay
from ..threads import in_threads
from .arrays import ArrayRows
from .protocol import Block, Cost, Reduction, Rows, View, reduce_together

T = TypeVar("T")


def together(rows: Rows, tasks: Sequence[Callable[[Rows], T]], *, threads: int = 1) -> list[T]:
    """Run ``task(rows)`` for every task, in shared passes, and return the results.

    For rows in memory, where a pass costs little, each task makes its own passes, on ``threads`` threads; views of them
    compute their rows in every pass.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.engine.survey import survey
    >>> from vanishing.rows.arrays import as_rows
    >>> rows = as_rows(np.array([[1.0], [3.0]]))
    >>> together(rows, [lambda rows: float(survey(rows).low[0]), lambda rows: float(survey(rows).high[0])])
    [1.0, 3.0]
    """
    if isinstance(rows, ArrayRows) or len(tasks) == 1:
        return in_threads([partial(task, rows) for task in tasks], threads)
    source = rows
    while isinstance(source, View):
        source = source.source
    with WarningRelay() as relay:
        return _SharedPasses(source, len(tasks)).run([_with_changes(relay.task(task), rows) for task in tasks])


def _with_changes(task: Callable[[Rows], T], rows: Rows) -> Callable[[Rows], T]:
    """The task on another source under the views of ``rows``; all tasks share the same change objects."""

    def with_source(rows: Rows, source: Rows) -> Rows:
        if not isinstance(rows, View):
            return source
        return View(with_source(rows.source, source), rows.change, rows.n_features)

    return lambda source: task(with_source(rows, source))


class _SharedPasses:
    """Runs each task in its own thread; the calling thread makes the passes, so that an interrupt ends all tasks."""

    def __init__(self, source: Rows, n_tasks: int):
        self.source = source
        self.changed = threading.Condition()
        self.pending: list[list[tuple[Reduction, Future[Any]]]] = [[] for _ in range(n_tasks)]
        self.live = set(range(n_tasks))
        self.closed = False
        self.failure: BaseException | None = None

    def run(self, tasks: Sequence[Callable[[Rows], T]]) -> list[T]:
        with ThreadPoolExecutor(len(tasks)) as pool:
            futures = [pool.submit(self._run_task, number, task) for number, task in enumerate(tasks)]
            try:
                while self._all_wait():
                    self._make_pass()
            except BaseException as error:
                self._close(error)
                raise
            return [future.result() for future in futures]

    def result_of(self, number: int, request: Reduction) -> Any:
        """Wait for the next pass and return the result of a reduction; called by task ``number``."""
        result: Future[Any] = Future()
        with self.changed:
            if self.closed:
                raise RuntimeError("The passes have ended.")
            self.pending[number].append((request, result))
            self.changed.notify_all()
        return result.result()

    def _run_task(self, number: int, task: Callable[[Rows], T]) -> T:
        try:
            return task(_TaskRows(self, number))
        except BaseException as error:
            self.failure = self.failure or error
            raise
        finally:
            with self.changed:
                self.live.discard(number)
                self.changed.notify_all()

    def _all_wait(self) -> bool:
        """Wait until every live task waits for a pass; False if none is left. Raise the error of a failed task."""
        with self.changed:
            while not (self.failure or all(self.pending[number] for number in self.live)):
                self.changed.wait(timeout=1.0)  # wake up regularly, so that an interrupt can arrive
            if self.failure:
                raise self.failure
            return bool(self.live)

    def _make_pass(self) -> None:
        """Make one pass for all pending reductions; an error goes to every task, an interrupt ends all of them."""
        batch = self._take_pending()
        try:
            totals = reduce_together([request._replace(rows=self.source) for request, _ in batch])
        except BaseException as error:
            for _, result in batch:
                result.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            for (_, result), total in zip(batch, totals, strict=True):
                result.set_result(total)

    def _take_pending(self) -> list[tuple[Reduction, Future[Any]]]:
        with self.changed:
            batch = [entry for entries in self.pending for entry in entries]
            for entries in self.pending:
                entries.clear()
        return batch

    def _close(self, error: BaseException) -> None:
        """Pass the error to all waiting tasks and accept no further reductions."""
        with self.changed:
            self.closed = True
        for _, result in self._take_pending():
            result.set_exception(error)


class _TaskRows(Rows):
    """The source as one task sees it: a reduction waits for the pass that it shares with the other tasks."""

    def __init__(self, passes: _SharedPasses, number: int):
        source = passes.source
        self.passes = passes
        self.number = number
        self.n_features = source.n_features
        self.n_samples = source.n_samples
        self.feature_names = source.feature_names
        self.labelled = source.labelled
        self.reading_dominates = source.reading_dominates
        self.single_precision = source.single_precision

    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        result: T = self.passes.result_of(self.number, Reduction(self, kernel, combine, cost))
        return result

    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Any:
        return self.passes.source.map(kernel, n_columns, cost, out)

    def place(self, part: int, row: int) -> str:
        return self.passes.source.place(part, row)
