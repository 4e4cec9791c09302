"""How many threads work, and that BLAS does not start its own among them."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

__all__ = ["n_threads", "one_blas_thread"]


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: all cores for None (or what OMP_NUM_THREADS allows), else joblib's reading of ``n_jobs``."""
    if n_jobs is not None:
        return int(joblib.effective_n_jobs(n_jobs))
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    cores = _cores()
    return min(cores, int(allowed)) if allowed.isdigit() and int(allowed) > 0 else cores


@functools.cache
def _cores() -> int:
    """Cores that this process may use; looking that up takes longer than a small fit."""
    return int(joblib.cpu_count())


@functools.cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (its BLAS, the one compiled code calls, must be loaded to be found)

    return ThreadpoolController()


class _OneBlasThread:
    """Pins BLAS to one thread while anybody is inside.

    The limit is one for the whole process, so the first one in sets it and the last one out lifts it.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # which a signal handler that forks may find held by its own thread
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
        """In a forked child: the threads that were inside do not exist there."""
        if self._users:
            self._users = 0
            self._limit.restore_original_limits()
        self.lock.release()


_shared = _OneBlasThread()
if hasattr(os, "register_at_fork"):
    # A fork waits until no thread changes the limit, so that a child finds the lock free and the counter right.
    os.register_at_fork(
        before=_shared.lock.acquire, after_in_parent=_shared.lock.release, after_in_child=_shared.forget
    )


def one_blas_thread() -> _OneBlasThread:
    """A context in which BLAS uses one thread per caller.

    Rows are what is shared out among threads, and BLAS threads on small matrices only get in the way: once used,
    they spin for a while and keep a core from the next pass.
    """
    return _shared
