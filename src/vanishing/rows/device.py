"""Rows on a GPU or another device of an array library; kernels compute there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from .._typing import Float2D
from ..checks import check_weights
from ..constants import FEWEST_ROWS
from ..progress import row_progress
from .array_api import free_memory, has_kernels, in_float64, is_device_array, namespace_of, on_device_of, to_host
from .protocol import Block, Cost, Rows, merge

T = TypeVar("T")

_MEMORY_SHARE = 0.4  # share of the free memory for a block and the results of its kernel


def _check_device_weights(sample_weight: Any, n_samples: int) -> Any:
    """Check weights on the device by their minimum and maximum; return them as float64."""
    if tuple(sample_weight.shape) == (n_samples,):
        namespace, weights = namespace_of(sample_weight), in_float64(sample_weight)
        ends = [float(namespace.min(weights)), float(namespace.max(weights))]
        if not np.isfinite(float(namespace.sum(weights))):  # minimum and maximum of some libraries ignore NaN
            ends.append(np.nan)
        check_weights(ends, len(ends))
        return weights
    raise ValueError(
        f"sample_weight must have shape ({n_samples},), one weight per row; got {tuple(sample_weight.shape)}."
    )


class DeviceRows(Rows):
    """Rows of an array of CuPy, PyTorch or another library with the array API.

    Blocks are as long as the free memory of the device allows. Kernels compute on the device, in float64; only their
    results, small matrices, are copied to the host. Labels are on the device already; weights are copied to it.
    """

    def __init__(self, X: Any, sample_weight: Any = None, labels: Any = None):
        namespace = namespace_of(X)
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: reshape X to (n_samples, n_features).")
        if 0 in X.shape:
            raise ValueError(f"Found array with shape {tuple(X.shape)} while at least one row and column is required.")
        if not namespace.isdtype(X.dtype, ("bool", "real floating", "integral")):
            raise ValueError(f"Input X has values of type {X.dtype}; convert it to real numbers.")
        self.X = X.detach() if hasattr(X, "detach") else X
        self.labels = labels
        self.labelled = labels is not None
        self.n_samples, self.n_features = (int(n) for n in X.shape)
        self.single_precision = namespace.isdtype(X.dtype, "real floating") and X.dtype != namespace.float64
        self.reading_dominates = has_kernels(X)
        if is_device_array(sample_weight):
            self.sample_weight = _check_device_weights(sample_weight, self.n_samples)
        else:
            weights = check_weights(sample_weight, self.n_samples)
            self.sample_weight = None if weights is None else on_device_of(X, weights)

    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        results = (kernel(self._block(rows)) for rows in self._slices(cost.width))
        total = functools.reduce(functools.partial(merge, combine), results)
        assert total is not None
        return total

    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Any:
        """The columns ``(n_samples, n_columns)`` that ``kernel(block, out)`` computes, on the device."""
        namespace = namespace_of(self.X)
        if out is None:
            out = namespace.empty((self.n_samples, n_columns), dtype=namespace.float64, device=self.X.device)
        for rows in self._slices(cost.width):
            kernel(self._block(rows), out[rows, :])
        return out

    def head(self) -> Float2D:
        return np.asarray(to_host(self.X[: min(FEWEST_ROWS, self.X.shape[0]), :]), dtype=np.float64)

    def _block(self, rows: slice) -> Block:
        namespace = namespace_of(self.X)
        weights, labels = (None if values is None else values[rows] for values in (self.sample_weight, self.labels))
        X = self.X[rows, :]
        if X.dtype not in (namespace.float32, namespace.float64):
            X = namespace.astype(X, namespace.float64)
        return Block(X, weights, labels, 0, rows.start)

    def _slices(self, width: int) -> Iterator[slice]:
        n_samples = int(self.X.shape[0])
        row_bytes = 8 * (width + self.n_features)
        longest = max(
            int(_MEMORY_SHARE * free_memory(self.X, int(n_samples * row_bytes / _MEMORY_SHARE)) / row_bytes),
            FEWEST_ROWS,
        )
        n_blocks = -(-n_samples // longest)
        edges = [n_samples * i // n_blocks for i in range(n_blocks + 1)]
        with row_progress(n_samples) as progress:
            for start, stop in pairwise(edges):
                yield slice(start, stop)
                progress.advance(stop - start)
