"""How many threads work, and that BLAS does not start its own among them."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

__all__ = ["n_threads", "one_blas_thread"]


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: all cores for None (or what OMP_NUM_THREADS allows), else joblib's reading of ``n_jobs``."""
    if n_jobs is not None:
        return int(joblib.effective_n_jobs(n_jobs))
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    cores = int(joblib.cpu_count())
    return min(cores, int(allowed)) if allowed.isdigit() and int(allowed) > 0 else cores


@functools.cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (its BLAS, the one compiled code calls, must be loaded to be found)

    return ThreadpoolController()


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Pin BLAS to one thread per caller.

    Rows are what is shared out among threads, and BLAS threads on small matrices only get in the way: once used,
    they spin for a while and keep a core from the next pass. The limit is one for the whole process, so the first
    one in sets it and the last one out lifts it.
    """
    global _blas_users, _blas_limit
    with _blas_lock:
        if _blas_users == 0:
            _blas_limit = _blas().limit(limits=1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()
