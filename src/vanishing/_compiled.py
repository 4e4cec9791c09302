"""The decorator for compiled code, and one log message while the first call compiles."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

_logger = logging.getLogger("vanishing")

F = TypeVar("F", bound=Callable[..., Any])

if hasattr(os, "register_at_fork"):
    # A fork waits until no thread compiles: otherwise a child inherits Numba's held lock and hangs at its first fit.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def compiled(function: F, reorder: bool = False, inner: bool = False) -> F:
    """Compile with Numba at the first call, without the GIL, cached on disk.

    With ``reorder``, sums may be added in any order, so that they vectorise. An ``inner`` function is called by other
    compiled functions only: no entry from Python is compiled. Where neither the package's folder nor
    the user's cache is writable, nothing is cached and each process compiles again; ``NUMBA_CACHE_DIR`` names another
    folder.

    To compile fast, kernels assign element by element (assigning to a slice makes Numba compile a check with a
    formatted message), write into arrays that the caller allocates, and sum in loops: each ``np.empty``, ``np.zeros``
    and ``np.dot`` compiles for 0.2 seconds.

    Examples
    --------
    >>> @compiled
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    fastmath = {"reassoc", "contract"} if reorder else False
    options = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    compile_lazily = partial(njit, **options, no_cfunc_wrapper=True, no_cpython_wrapper=inner)
    try:
        return cast("F", compile_lazily(cache=True)(function))
    except RuntimeError:  # no writable folder for the cache
        return cast("F", compile_lazily()(function))


class _Announcement(event.Listener):  # type: ignore[misc]
    """Logs once per process that kernels are being compiled; silent when they come from the cache."""

    def __init__(self) -> None:
        self.made = False

    def on_start(self, event: Any) -> None:
        function = getattr(event.data["dispatcher"], "py_func", None)
        if not self.made and getattr(function, "__module__", "").startswith("vanishing."):
            self.made = True
            _logger.warning("Compiling numerical kernels: a few seconds, the first time only.")

    def on_end(self, event: Any) -> None:
        """Do nothing."""


event.register("numba:compile", _Announcement())
