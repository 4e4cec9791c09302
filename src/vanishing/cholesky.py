"""A Cholesky factor of a growing and shrinking principal submatrix, at a quadratic cost per change.

``L L' = H[face, face]`` for the first ``size`` entries of ``face``; both are buffers that the caller owns.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ._compiled import compiled
from ._typing import Float1D, Float2D, Int1D


@partial(compiled, reorder=True, inner=True)
def dot(a: Float1D, b: Float1D, size: int) -> float:
    """Product of the first ``size`` entries of two vectors."""
    total = 0.0
    for i in range(size):
        total += a[i] * b[i]
    return total


@compiled
def append_column(H: Float2D, L: Float2D, face: Int1D, size: int, j: int, least: float) -> float:
    """Add coordinate j to the face; return its pivot relative to ``H[j, j]``, which L stores raised to ``least``.

    Examples
    --------
    >>> L, face = np.zeros((2, 2)), np.zeros(2, dtype=np.int64)
    >>> H = np.array([[4.0, 2.0], [2.0, 2.0]])
    >>> append_column(H, L, face, 0, 0, 1e-14), append_column(H, L, face, 1, 1, 1e-14)
    (1.0, 0.5)
    >>> L
    array([[2., 0.],
           [1., 1.]])
    """
    row = L[size]
    for a in range(size):
        row[a] = (H[j, face[a]] - dot(L[a], row, a)) / L[a, a]
    pivot = H[j, j] - dot(row, row, size)
    row[size] = np.sqrt(pivot if pivot > least * H[j, j] else least * H[j, j])
    face[size] = j
    return pivot / H[j, j] if H[j, j] > 0.0 else 0.0


@partial(compiled, inner=True)
def delete_column(L: Float2D, face: Int1D, k: int, size: int) -> None:
    """Remove the k-th coordinate from the face; rotations make the rest of L triangular again."""
    for a in range(k, size - 1):
        face[a] = face[a + 1]
        for b in range(a + 2):
            L[a, b] = L[a + 1, b]
        length = np.sqrt(L[a, a] * L[a, a] + L[a, a + 1] * L[a, a + 1])
        cos, sin = L[a, a] / length, L[a, a + 1] / length
        L[a, a] = length
        for i in range(a + 2, size):
            left, right = L[i, a], L[i, a + 1]
            L[i, a] = cos * left + sin * right
            L[i, a + 1] = cos * right - sin * left


@partial(compiled, inner=True)
def solve_factored(L: Float2D, v: Float1D, size: int) -> None:
    """Overwrite v with the solution x of ``L L' x = v``."""
    for a in range(size):
        v[a] = (v[a] - dot(L[a], v, a)) / L[a, a]
    for a in range(size - 1, -1, -1):
        v[a] /= L[a, a]
        for b in range(a):
            v[b] -= v[a] * L[a, b]
