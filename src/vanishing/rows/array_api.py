"""Arrays other than NumPy's: on a GPU, or of another library with the array API."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._typing import Array

_HOST_MEMORY = 256 * 2**20  # bytes that blocks may take where the device is the host itself

_LIBRARIES = ("cupy", "torch", "array_api_strict")


def is_device_array(X: Any) -> bool:
    """Whether ``X`` is an array of a library whose arrays we leave on their device.

    Examples
    --------
    >>> import numpy as np
    >>> is_device_array(np.ones(3))
    False
    """
    return type(X).__module__.split(".")[0] in _LIBRARIES


def namespace_of(X: Any) -> Any:
    """The array API namespace of the library of ``X``."""
    if isinstance(X, np.ndarray):
        return np
    try:
        from array_api_compat import array_namespace
    except ImportError as error:
        library = type(X).__module__.split(".")[0]
        raise ImportError(f"Arrays of {library} need array-api-compat: pip install 'vanishing[gpu]'.") from error
    return array_namespace(X)


def on_device_of(X: Any, values: Any) -> Any:
    """Copy the NumPy array ``values`` to the device of ``X``; its type stays the same."""
    if isinstance(X, np.ndarray):
        return values
    namespace = namespace_of(X)
    return namespace.asarray(values, device=X.device)


def in_float64(X: Any) -> Any:
    """The values of ``X`` as float64."""
    if isinstance(X, np.ndarray):
        return np.asarray(X, dtype=np.float64)
    namespace = namespace_of(X)
    return namespace.astype(X, namespace.float64, copy=False)


def empty_like(X: Any, n_columns: int) -> Any:
    """An empty float64 array with the rows of ``X`` and ``n_columns`` columns, on the device of ``X``."""
    if isinstance(X, np.ndarray):
        return np.empty((X.shape[0], n_columns))
    namespace = namespace_of(X)
    return namespace.empty((X.shape[0], n_columns), dtype=namespace.float64, device=X.device)


def to_host(X: Any) -> Array:
    """A NumPy array with the values of ``X``."""
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "get"):  # CuPy
        return np.asarray(X.get())
    if hasattr(X, "cpu"):  # PyTorch
        return np.asarray(X.detach().cpu())
    return np.asarray(X)


def free_memory(X: Any, needed: int) -> int:
    """Free bytes on the device of ``X``; includes PyTorch's reserve only if ``needed`` bytes do not fit without it."""
    kind, device = type(X).__module__.split(".")[0], getattr(X, "device", None)
    if kind == "cupy":
        import cupy

        with device:  # type: ignore[union-attr]
            return int(cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes())
    if kind == "torch" and device is not None and device.type == "cuda":
        import torch

        free = int(torch.cuda.mem_get_info(device)[0])
        if free < needed:  # the next line is slow
            free += int(torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
        return free
    return _HOST_MEMORY


def has_kernels(X: Any) -> bool:
    """Whether ``X`` is a float32 or float64 array on an NVIDIA GPU, and CuPy is installed to compile kernels."""
    kind = type(X).__module__.split(".")[0]
    on_gpu = kind == "cupy" or (kind == "torch" and X.device.type == "cuda")
    return on_gpu and str(X.dtype).endswith(("float32", "float64")) and cupy_if_any() is not None


@lru_cache(maxsize=1)
def cupy_if_any() -> Any:
    """CuPy, or None where it is not installed."""
    try:
        import cupy
    except ImportError:
        return None
    return cupy
