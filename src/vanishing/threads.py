"""The number of threads to use, tasks that share them, and a context that limits BLAS to one thread."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

from .checks import WarningRelay, all_or_nothing, check_n_jobs

T = TypeVar("T")


def n_threads(n_jobs: int | None) -> int:
    """Number of threads: joblib's reading of ``n_jobs``; for None all cores, or fewer if OMP_NUM_THREADS says so."""
    check_n_jobs(n_jobs)
    if n_jobs is not None:
        return int(joblib.effective_n_jobs(n_jobs))
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    cores = _cores()
    return min(cores, int(allowed)) if allowed.isdigit() and int(allowed) > 0 else cores


def in_threads(tasks: Sequence[Callable[[], T]], threads: int, done: Callable[[], object] = bool) -> list[T]:
    """The results of tasks, in their order; ``done`` is called after each. An interrupt cancels those that wait.

    Examples
    --------
    >>> in_threads([lambda: 1, lambda: 2], threads=2)
    [1, 2]
    """
    results = []
    with WarningRelay() as relay, ThreadPoolExecutor(threads) as pool:
        try:
            for future in [pool.submit(relay.task(task)) for task in tasks]:
                results.append(future.result())
                done()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


@functools.cache
def _cores() -> int:
    """Number of cores that this process may use; cached, because the lookup takes longer than a small fit."""
    return int(joblib.cpu_count())


@functools.cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (loads the BLAS that compiled code calls, so that the controller finds it)

    return ThreadpoolController()


class _OneBlasThread:
    """A context in which BLAS uses one thread per caller.

    Passes share out rows among threads. BLAS threads on small matrices slow them down: after a call they spin for
    a while and keep a core from the next pass. The limit holds for the whole process: the first thread to enter sets
    it, the last one to leave lifts it.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # reentrant: a signal handler may fork while its own thread holds the lock
        self._users = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if self._users == 0:
                self._limit = _blas().limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()

    def forget(self) -> None:
        """Reset the state in a forked child, where the threads that were inside do not exist."""
        if self._users:
            self._users = 0
            self._limit.restore_original_limits()
        self.lock.release()


one_blas_thread = _OneBlasThread()


@contextmanager
def fitting(estimator: Any) -> Iterator[None]:
    """The context of a fit: BLAS uses one thread, and a fit that fails leaves the estimator as it was."""
    with all_or_nothing(estimator), one_blas_thread:
        yield


if hasattr(os, "register_at_fork"):
    # A fork waits until no thread changes the limit, so that the child starts with a free lock and the right counter.
    os.register_at_fork(
        before=one_blas_thread.lock.acquire,
        after_in_parent=one_blas_thread.lock.release,
        after_in_child=one_blas_thread.forget,
    )
