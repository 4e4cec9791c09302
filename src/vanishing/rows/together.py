"""Several computations that pass over the same rows, in step: each pass serves all of them.

Each computation is ordinary code that asks its rows for one reduction after the other. It runs in a thread of its
own and waits when it asks; once all of them wait, one pass over the data answers all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ..checks import WarningRelay
from .arrays import ArrayRows
from .protocol import Block, Cost, Reduction, Rows, View, reduce_together

__all__ = ["together"]

T = TypeVar("T")


def together(rows: Rows, tasks: Sequence[Callable[[Rows], T]], *, threads: int = 1) -> list[T]:
    """The results of ``task(rows)`` for every task, from shared passes.

    Rows in memory are quick to reach: there each task makes its own passes, on ``threads`` threads.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.engine.survey import survey
    >>> from vanishing.rows.arrays import as_rows
    >>> rows = as_rows(np.array([[1.0], [3.0]]))
    >>> together(rows, [lambda rows: float(survey(rows).low[0]), lambda rows: float(survey(rows).high[0])])
    [1.0, 3.0]
    """
    source = rows
    while isinstance(source, View):
        source = source.source
    with WarningRelay() as relay:
        tasks = [relay.task(task) for task in tasks]
        if isinstance(source, ArrayRows) or len(tasks) == 1:
            with ThreadPoolExecutor(min(len(tasks), threads)) as pool:
                return list(pool.map(lambda task: task(rows), tasks))
        return _Meeting(source, len(tasks)).run([_with_changes(task, rows) for task in tasks])


def _with_changes(task: Callable[[Rows], T], rows: Rows) -> Callable[[Rows], T]:
    """The task on views like those of ``rows``, of another source; the changes are the same objects for all tasks."""

    def rebuilt(rows: Rows, seat: Rows) -> Rows:
        if not isinstance(rows, View):
            return seat
        return View(rebuilt(rows.source, seat), rows.change, rows.n_features)

    return lambda seat: task(rebuilt(rows, seat))


class _Asked:
    """A reduction that a task waits for."""

    def __init__(self, request: Reduction):
        self.request = request
        self.answered = False
        self.result: Any = None
        self.error: BaseException | None = None


class _Meeting:
    """Conducts the tasks: the calling thread makes the passes, so that an interrupt ends everything."""

    def __init__(self, source: Rows, n_tasks: int):
        self.source = source
        self.changed = threading.Condition()
        self.asked: list[list[_Asked]] = [[] for _ in range(n_tasks)]
        self.live = set(range(n_tasks))
        self.closed = False
        self.failure: BaseException | None = None

    def run(self, tasks: Sequence[Callable[[Rows], T]]) -> list[T]:
        with ThreadPoolExecutor(len(tasks)) as pool:
            futures = [pool.submit(self._attend, k, task) for k, task in enumerate(tasks)]
            try:
                while self._everybody_waits():
                    self._answer()
            except BaseException as error:
                self._close(error)
                raise
            return [future.result() for future in futures]

    def ask(self, seat: int, request: Reduction) -> Any:
        """Wait for the next pass and return its result; called by a task."""
        asked = _Asked(request)
        with self.changed:
            if self.closed:
                raise RuntimeError("The passes have ended.")
            self.asked[seat].append(asked)
            self.changed.notify_all()
            self.changed.wait_for(lambda: asked.answered)
        if asked.error is not None:
            raise asked.error
        return asked.result

    def _attend(self, seat: int, task: Callable[[Rows], T]) -> T:
        try:
            return task(_Seat(self, seat))
        except BaseException as error:
            self.failure = self.failure or error
            raise
        finally:
            with self.changed:
                self.live.discard(seat)
                self.changed.notify_all()

    def _everybody_waits(self) -> bool:
        """Wait until all live tasks do; False when none is left. If one has failed, the others need not go on."""
        with self.changed:
            while not (self.failure or all(self.asked[seat] for seat in self.live)):
                self.changed.wait(timeout=1.0)  # in short bits, so that an interrupt gets through
            if self.failure:
                raise self.failure
            return bool(self.live)

    def _answer(self) -> None:
        with self.changed:
            batch = [asked for waiting in self.asked for asked in waiting]
            for waiting in self.asked:
                waiting.clear()
        error = None
        try:
            results = reduce_together([asked.request._replace(rows=self.source) for asked in batch])
        except Exception as caught:
            error, results = caught, [None] * len(batch)
        except BaseException as caught:
            self._finish(batch, [None] * len(batch), caught)
            raise
        self._finish(batch, results, error)

    def _finish(self, batch: Sequence[_Asked], results: Sequence[Any], error: BaseException | None) -> None:
        with self.changed:
            for asked, result in zip(batch, results, strict=True):
                asked.result, asked.error, asked.answered = result, error, True
            self.changed.notify_all()

    def _close(self, error: BaseException) -> None:
        with self.changed:
            self.closed = True
        self._finish([asked for waiting in self.asked for asked in waiting], [None] * sum(map(len, self.asked)), error)


class _Seat(Rows):
    """The source as a task sees it: reductions wait for the others."""

    def __init__(self, meeting: _Meeting, number: int):
        source = meeting.source
        self.meeting = meeting
        self.number = number
        self.n_features = source.n_features
        self.n_samples = source.n_samples
        self.feature_names = source.feature_names
        self.labelled = source.labelled
        self.reading_dominates = source.reading_dominates
        self.single_precision = source.single_precision

    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        """Combine ``kernel(block)``, where it is not None, over all blocks in the order of the rows."""
        result: T = self.meeting.ask(self.number, Reduction(self, kernel, combine, cost))
        return result

    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Any:
        """The columns ``(n_samples, n_columns)`` that ``kernel(block, out)`` computes."""
        return self.meeting.source.map(kernel, n_columns, cost, out)

    def place(self, part: int, row: int) -> str:
        """Where row ``row`` of part ``part`` is, in words."""
        return self.meeting.source.place(part, row)
