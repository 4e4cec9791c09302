"""Runs tasks, in this process or in several, and stores each record as soon as it is done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any, NamedTuple

from ._store import RunRecord, Store

Key = tuple[str, ...]


class Task(NamedTuple):
    """A task: its key (the keys of repetitions differ in the last part), a function, and its arguments.

    ``cost`` is a first estimate of its time, in any unit, from which the time left is estimated. ``origin`` identifies
    its data.
    """

    key: Key
    work: Callable[..., RunRecord]
    arguments: tuple[Any, ...]
    cost: float
    origin: str = ""


def run_all(tasks: Sequence[Task], store: Store, *, jobs: int = 1, quiet: bool = True) -> dict[Key, RunRecord]:
    """The records of all tasks; runs the tasks without a record in the store.

    Raises
    ------
    ChildProcessError
        If a process died. The store keeps the records of finished tasks.
    """
    records = {task.key: record for task in tasks if (record := store.get(task.key, task.origin)) is not None}
    left = [task for task in tasks if task.key not in records]
    clock = _Clock(left, jobs)
    if records and left and not quiet:
        _say(f"{len(records)} of {len(tasks)} runs are there already")
    for task, record, seconds in _finished(left, jobs):
        store.put(task.key, record, task.origin)
        records[task.key] = record
        clock.done(task, seconds)
        if not quiet:
            _say(f"{len(records)}/{len(tasks)} {' '.join(task.key)}: {seconds:.1f} s; {clock.time_left()}")
    return {task.key: records[task.key] for task in tasks}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _finished(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, RunRecord, float]]:
    if jobs == 1:
        for task in tasks:
            yield task, *_timed(task)
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    try:
        with _interrupts_ignored():  # the processes that start here inherit this: only the parent ends them
            waiting = {pool.submit(_timed, task): task for task in tasks}
        for future in as_completed(waiting):
            yield waiting[future], *future.result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "A process died, perhaps for want of memory, or because a script calls this without `if __name__ == "
            "'__main__':`. The finished runs are kept: the same command goes on from there; fewer --jobs need less "
            "memory."
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:  # their tasks are cancelled
            child.terminate()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets interrupts
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_with_parent() -> None:
    """End this process of the pool when its parent ends, for any reason."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _timed(task: Task) -> tuple[RunRecord, float]:
    begin = time.perf_counter()
    record = task.work(*task.arguments)
    return record, time.perf_counter() - begin


class _Clock:
    """Estimates the time left, from finished repetitions of a task or, without any, from its cost."""

    def __init__(self, tasks: Sequence[Task], jobs: int):
        self.left = {task.key: task for task in tasks}
        self.jobs = jobs
        self.spent: dict[Key, list[float]] = defaultdict(list)
        self.seconds = self.cost = 0.0

    def done(self, task: Task, seconds: float) -> None:
        """Record the time of a finished task."""
        del self.left[task.key]
        self.spent[task.key[:-1]].append(seconds)
        self.seconds += seconds
        self.cost += task.cost

    def time_left(self) -> str:
        """The estimated time left, in words."""
        pace = self.seconds / self.cost if self.cost else 0.0
        guesses = (
            sum(known) / len(known) if (known := self.spent.get(task.key[:-1])) else pace * task.cost
            for task in self.left.values()
        )
        seconds = sum(guesses) / self.jobs
        return f"about {seconds:.0f} s left" if seconds < 100.0 else f"about {seconds / 60.0:.0f} min left"
