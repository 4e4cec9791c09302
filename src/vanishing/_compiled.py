"""The decorator for compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile with Numba at the first call, without the GIL, cached on disk.

    Where no folder can be written to (neither beside the package nor in the user's cache), nothing is cached and each
    process compiles anew; ``NUMBA_CACHE_DIR`` names another folder.

    Examples
    --------
    >>> @compiled
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    try:
        return cast("F", njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no place for the cache
        return cast("F", njit(nogil=True)(function))
