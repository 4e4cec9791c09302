"""Sums of monomials on an NVIDIA GPU, in one kernel that is limited by memory bandwidth only.

The Gram entry of two terms is the sum over the rows of their product, another monomial, and many pairs share one.
Each thread reads rows, builds all monomials by one multiplication each, and adds them up in registers; the kernel
reads only the rows and writes one sum per block of threads. Its source is generated for the list of monomials and
compiled by CuPy (NVRTC), which caches it on disk for the next process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._typing import Array, Float1D, Float2D
from ..polynomials.terms import Term
from ..rows.array_api import cupy_if_any, has_kernels

__all__ = ["MOST_MONOMIALS", "closed", "has_kernels", "kernel_source", "sum_monomials"]

MOST_MONOMIALS = 128  # sums that fit into the registers of a thread, roughly
_THREADS = 256  # leaves a thread the 255 registers that the sums need


def closed(terms: Sequence[Term]) -> list[Term]:
    """The terms and all their prefixes, sorted so that each is an earlier one times a variable.

    Examples
    --------
    >>> closed([(0, 0, 1)])
    [(), (0,), (0, 0), (0, 0, 1)]
    """
    prefixes = {term[:k] for term in terms for k in range(len(term) + 1)}
    return sorted(prefixes, key=lambda term: (len(term), term))


def kernel_source(terms: Sequence[Term], n_features: int, number: str, *, weighted: bool) -> str:
    """CUDA C++ that sums closed ``terms`` over rows of type ``number``, and computes the range of every column."""
    columns = range(n_features)
    declared = [
        *(f"double s{k} = 0.0;" for k in range(len(terms))),
        *(f"{number} low{j} = 1.0 / 0.0, high{j} = -1.0 / 0.0;" for j in columns),
    ]
    results = [
        *((f"s{k}", "a + b") for k in range(len(terms))),
        *((f"(double)low{j}", "fmin(a, b)") for j in columns),
        *((f"(double)high{j}", "fmax(a, b)") for j in columns),
    ]
    reductions = [
        f"""    {{
        double a = {value};
        for (int d = 16; d > 0; d /= 2) {{ const double b = __shfl_down_sync(0xffffffffu, a, d); a = {rule}; }}
        if (lane == 0) shared[warp] = a;
        __syncthreads();
        if (threadIdx.x == 0) {{
            for (int k = 1; k < {_THREADS // 32}; k++) {{ const double b = shared[k]; a = {rule}; }}
            out[blockIdx.x * {len(results)} + {place}] = a;
        }}
        __syncthreads();
    }}"""
        for place, (value, rule) in enumerate(results)
    ]
    return f"""extern "C" __global__ void __launch_bounds__({_THREADS}) sum_monomials(
    const {number}* __restrict__ X, const double* __restrict__ weights, const long long n_rows,
    const long long row_stride, const long long column_stride, double* out)
{{
    __shared__ double shared[{_THREADS // 32}];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    {" ".join(declared)}
    const long long step = (long long)gridDim.x * blockDim.x;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n_rows; i += step) {{
{_row_source(terms, n_features, number, weighted=weighted)}
    }}
{chr(10).join(reductions)}
}}
"""


def _row_source(terms: Sequence[Term], n_features: int, number: str, *, weighted: bool) -> str:
    """The code for one row."""
    place, columns = {term: k for k, term in enumerate(terms)}, range(n_features)
    used = "if (w > 0.0) " if weighted else ""
    lines = [
        *(f"const {number} r{j} = X[i * row_stride + {j} * column_stride];" for j in columns),
        *(["const double w = weights[i];"] if weighted else []),
        *(
            f"{used}{{ low{j} = r{j} < low{j} ? r{j} : low{j}; high{j} = r{j} > high{j} ? r{j} : high{j}; }}"
            for j in columns
        ),
        *(f"const double x{j} = (double)r{j};" for j in columns),
        f"const double m0 = {'w' if weighted else '1.0'};",
        *(f"const double m{k} = m{place[term[:-1]]} * x{term[-1]};" for k, term in enumerate(terms) if term),
        *(f"s{k} += m{k};" for k in range(len(terms))),
    ]
    return "\n".join("        " + line for line in lines)


@lru_cache(maxsize=64)
def _kernel(terms: tuple[Term, ...], n_features: int, number: str, weighted: bool) -> Any:
    source = kernel_source(terms, n_features, number, weighted=weighted)
    return cupy_if_any().RawKernel(source, "sum_monomials", options=("--std=c++17",))


def sum_monomials(X: Any, weights: Any, terms: Sequence[Term]) -> tuple[Float1D, Float2D]:
    """Weighted sums over the rows of closed ``terms``, and the range of every column ``(2, n_features)``."""
    cupy = cupy_if_any()
    rows = cupy.asarray(X)
    n_rows, n = (int(length) for length in rows.shape)
    number = "float" if rows.dtype == np.float32 else "double"
    with rows.device:
        kernel = _kernel(tuple(terms), n, number, weights is not None)
        n_blocks = min(-(-n_rows // _THREADS), rows.device.attributes["MultiProcessorCount"])
        out = cupy.empty((n_blocks, len(terms) + 2 * n), dtype=np.float64)
        strides = [np.int64(stride // rows.itemsize) for stride in rows.strides]
        # Without weights the kernel ignores its second argument: any array will do.
        second = out if weights is None else cupy.ascontiguousarray(cupy.asarray(weights))
        _wait_for(X)
        kernel((n_blocks,), (_THREADS,), (rows, second, np.int64(n_rows), *strides, out))
        results: Array = out.get()
    sums, low, high = results[:, : len(terms)], results[:, len(terms) : -n], results[:, -n:]
    return sums.sum(axis=0), np.array([low.min(axis=0), high.max(axis=0)])


def _wait_for(X: Any) -> None:
    """Wait until ``X`` is computed, which may happen in another library's stream."""
    if type(X).__module__.split(".")[0] == "torch":
        import torch

        torch.cuda.current_stream(X.device).synchronize()
