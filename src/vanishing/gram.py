"""The only pass over the data of a fit: Gram matrices of polynomials, summed over chunks of rows.

With the basis O (l polynomials) and the candidates C (c polynomials) of a degree, everything the algorithms
need is ``G = [O|C]'[O|C] / m``. Its block ``O'O / m`` is known from the degrees before, so a pass sums
``C'[O|C]``. Where a float64 Gram cannot resolve ``psi``, a second kind of pass gives the triangular factor R
of ``[O|C] = sqrt(m) Q R`` instead, from QR factors merged over chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ._compiled import compiled
from ._typing import Float1D, Float2D, Int1D
from .evaluation import fill_terms
from .rows import Rows

__all__ = [
    "Survey",
    "border_gram",
    "mean_gram",
    "mean_of_parts",
    "survey",
    "triangular_factor",
    "value_gram",
]

_PANEL = 96  # candidates multiplied at a time: the blocks above the diagonal of C'C are not computed
_SMALL_GEMM = 900_000  # OpenBLAS has a much faster path for products of up to a million multiplications

_NO_WEIGHTS = np.empty(0)


class Survey(NamedTuple):
    """What the first pass finds: the Gram of ``[1, x_1, ..., x_n]`` and the range of every column."""

    gram: Float2D
    low: Float1D
    high: Float1D

    @classmethod
    def of_parts(cls, parts: Sequence[Survey], weights: Sequence[float]) -> Survey:
        """The survey of all rows from those of parts of them, with their total weights."""
        grams, lows, highs = zip(*parts, strict=True)
        return cls(mean_of_parts(grams, weights), np.min(lows, axis=0), np.max(highs, axis=0))


def mean_of_parts(grams: Sequence[Float2D], weights: Sequence[float]) -> Float2D:
    """The Gram of all rows from those of parts of them, with their total weights.

    Examples
    --------
    >>> import numpy as np
    >>> mean_of_parts([np.array([[1.0]]), np.array([[4.0]])], [2.0, 1.0])
    array([[2.]])
    """
    if len(grams) == 1:
        return grams[0]
    shares = np.asarray(weights) / np.sum(weights)
    total = shares[0] * grams[0]
    for share, gram in zip(shares[1:], grams[1:], strict=True):
        total += share * gram
    return np.asarray(total)


@compiled
def _monomial_gram(X: Float2D, weights: Float1D, left: Int1D, right: Int1D, n_basis: int, chunk: int) -> Float2D:
    """Sum over the rows of w * C[O|C]', shape ``(n_candidates, n_terms)``; blocks beyond the diagonal are left 0."""
    n_rows, n_features = X.shape
    n_terms = left.size
    total = np.zeros((n_terms - n_basis, n_terms))
    table = np.empty((n_terms, chunk))
    weighted = np.empty((n_terms - n_basis if weights.size else 0, chunk))
    columns = np.empty((n_features, chunk))
    for start in range(0, n_rows, chunk):
        stop = min(start + chunk, n_rows)
        fill_terms(X[start:stop], left, right, columns, table)
        if stop - start < chunk:
            table[:, stop - start :] = 0.0
        candidates = table[n_basis:]
        if weights.size:
            weighted[:] = 0.0
            for k in range(n_terms - n_basis):
                for i in range(stop - start):
                    weighted[k, i] = candidates[k, i] * weights[start + i]
            candidates = weighted
        for first in range(0, n_terms - n_basis, _PANEL):
            last = min(first + _PANEL, n_terms - n_basis)
            total[first:last, : n_basis + last] += np.dot(candidates[first:last], table[: n_basis + last].T)
    return total


def mean_gram(rows: Rows, left: Int1D, right: Int1D, n_basis: int) -> Float2D:
    """Mean over the rows of ``C[O|C]'``, shape ``(n_candidates, n_terms)``, for terms given as a program.

    The first ``n_basis`` terms are O, the others C. Of ``C C'`` only what lies on or below the diagonal is
    meaningful.
    """
    n_terms = left.size
    work = (n_terms - n_basis) * n_terms

    def kernel(block: Float2D, weights: Float1D | None) -> Float2D:
        chunk = _chunk_rows(work, block.shape[0])
        return _monomial_gram(block, _NO_WEIGHTS if weights is None else weights, left, right, n_basis, chunk)

    return rows.reduce(kernel, _add, block_rows=_block_rows(work, n_terms)) / rows.total_weight


def value_gram(rows: Rows, values: Callable[[Float2D], Float2D], n_basis: int, n_terms: int) -> Float2D:
    """As :func:`mean_gram`, for polynomials that ``values(block)`` evaluates, one per row."""
    work = (n_terms - n_basis) * n_terms
    chunk = int(np.clip(4 * _SMALL_GEMM // work // 8 * 8, 512, 8192))

    def kernel(block: Float2D, weights: Float1D | None) -> Float2D:
        total = np.zeros((n_terms - n_basis, n_terms))
        for start in range(0, block.shape[0], chunk):
            table = values(block[start : start + chunk])
            candidates = table[n_basis:]
            if weights is not None:
                candidates = candidates * weights[start : start + chunk]
            total += candidates @ table.T
        return total

    return rows.reduce(kernel, _add, block_rows=_block_rows(work, n_terms)) / rows.total_weight


@compiled
def _column_range(X: Float2D, weights: Float1D) -> Float2D:
    """Smallest and largest value of every column, ``(2, n_features)``, without rows of weight 0; NaN is skipped."""
    found = np.empty((2, X.shape[1]))
    found[0] = np.inf
    found[1] = -np.inf
    for i in range(X.shape[0]):
        if weights.size and weights[i] == 0.0:
            continue
        for j in range(X.shape[1]):
            if X[i, j] < found[0, j]:
                found[0, j] = X[i, j]
            if X[i, j] > found[1, j]:
                found[1, j] = X[i, j]
    return found


def survey(rows: Rows) -> Survey:
    """Gram of the constant and the columns, and the columns' ranges, in one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.rows import as_rows
    >>> survey(as_rows(np.array([[0.0], [2.0]])))
    Survey(gram=array([[1., 1.],
           [1., 2.]]), low=array([0.]), high=array([2.]))
    """
    n = rows.n_features
    left = np.zeros(n + 1, dtype=np.int64)
    right = np.arange(-1, n)

    def kernel(block: Float2D, weights: Float1D | None) -> tuple[Float2D, Float2D]:
        weights = _NO_WEIGHTS if weights is None else weights
        gram = _monomial_gram(block, weights, left, right, 1, _chunk_rows(n * (n + 1), block.shape[0]))
        return gram, _column_range(block, weights)

    def combine(a: tuple[Float2D, Float2D], b: tuple[Float2D, Float2D]) -> tuple[Float2D, Float2D]:
        low, high = np.minimum(a[1][0], b[1][0]), np.maximum(a[1][1], b[1][1])
        return _add(a[0], b[0]), np.stack([low, high])

    total, found = rows.reduce(kernel, combine, block_rows=_block_rows(n * (n + 1), n + 1))
    return Survey(border_gram(np.ones((1, 1)), total / rows.total_weight), found[0], found[1])


def border_gram(gram: Float2D, new: Float2D) -> Float2D:
    """The symmetric Gram of [O|C] from that of O and the rows of C, which count up to the diagonal."""
    n_basis, n_terms = gram.shape[0], new.shape[1]
    full = np.empty((n_terms, n_terms))
    full[:n_basis, :n_basis] = gram
    full[n_basis:] = new
    full[:n_basis, n_basis:] = new[:, :n_basis].T
    lower = np.tril(new[:, n_basis:])
    full[n_basis:, n_basis:] = lower + np.tril(lower, -1).T
    return full


def triangular_factor(rows: Rows, values: Callable[[Float2D], Float2D], n_terms: int) -> Float2D:
    """R with ``R'R`` the Gram of the polynomials, from QR factors of blocks; shape ``(n_terms, n_terms)``.

    ``values(block)`` evaluates the polynomials, one per row. Small residuals keep full relative accuracy
    in R, where the Gram has lost everything below 1e-16.
    """

    def kernel(block: Float2D, weights: Float1D | None) -> Float2D:
        table = values(block)
        if weights is not None:
            table = table * np.sqrt(weights)
        return np.asarray(np.linalg.qr(table.T, mode="r"))

    def combine(a: Float2D, b: Float2D) -> Float2D:
        return np.asarray(np.linalg.qr(np.vstack([a, b]), mode="r"))

    block_rows = int(np.clip(2_000_000 // n_terms, 2 * n_terms, 65_536))
    factor = rows.reduce(kernel, combine, block_rows=block_rows)
    square = np.zeros((n_terms, n_terms))
    square[: factor.shape[0]] = factor  # fewer rows than terms: the rest of R is zero
    return np.asarray(square / np.sqrt(rows.total_weight))


def _add(a: Float2D, b: Float2D) -> Float2D:
    a += b
    return a


def _chunk_rows(work: int, n_rows: int) -> int:
    """Rows to multiply at a time, for ``work`` products a row: chunks of equal size, as short ones are padded."""
    longest = int(np.clip(_SMALL_GEMM // work, 1024, 4096))
    return -(-n_rows // -(-n_rows // longest))


def _block_rows(work: int, n_terms: int) -> int:
    """Rows of a block that keeps one thread busy for about a millisecond, for ``work`` products a row."""
    return int(np.clip(30_000_000 // (work + 8 * n_terms + 50), 1024, 131_072))
