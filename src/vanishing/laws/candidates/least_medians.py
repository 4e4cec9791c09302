"""The polynomial through some rows that is nearest to half of all rows (Rousseeuw 1984), for many sets of terms."""

from __future__ import annotations

import numpy as np

from ..._compiled import compiled
from ..._typing import Array, Float1D, Float2D, Int2D

__all__ = ["least_medians", "null_vector"]


@compiled
def least_medians(
    values: Float2D,
    slopes: Array,
    supports: Int2D,
    through: Int2D,
    widths: Float1D,
    coef: Float2D,
    distance: Float1D,
    work: Float2D,
) -> None:
    """For every support the polynomial through some rows with the least median of ``g^2 / |u grad g|^2``.

    ``widths`` has bounds on the median distance and becomes the least one; ``distance`` and ``work`` are work space.
    """
    n_rows, n, k = values.shape[0], slopes.shape[2], supports.shape[1]
    half = n_rows // 2
    for t in range(supports.shape[0]):
        for p in range(through.shape[0]):
            for i in range(k - 1):
                size = 0.0
                for q in range(k):
                    work[i, q] = values[through[p, i], supports[t, q]]
                    size = max(size, abs(work[i, q]))
                for q in range(k):
                    work[i, q] /= size + 1e-300
            if not null_vector(work, k):
                continue
            bound, far = widths[t] * widths[t], 0
            for i in range(n_rows):
                g = 0.0
                for q in range(k):
                    g += work[k - 1, q] * values[i, supports[t, q]]
                steepness = 0.0
                for j in range(n):
                    slope = 0.0
                    for q in range(k):
                        slope += work[k - 1, q] * slopes[i, supports[t, q], j]
                    steepness += slope * slope
                distance[i] = g * g / (steepness + 1e-300)
                if distance[i] > bound:
                    far += 1
                    if far > n_rows - half - 1:
                        break
            if far > n_rows - half - 1:
                continue
            for i in range(1, n_rows):  # sorted by insertion: improvements are rare
                entry, at = distance[i], i
                while at > 0 and distance[at - 1] > entry:
                    distance[at] = distance[at - 1]
                    at -= 1
                distance[at] = entry
            widths[t] = np.sqrt(distance[half])
            for q in range(k):
                coef[t, q] = work[k - 1, q]


@compiled
def null_vector(work: Float2D, k: int) -> bool:
    """The last row becomes the vector that the k - 1 rows above vanish on; False if one of its entries is 0."""
    for i in range(k - 1):
        pivot = i
        for r in range(i + 1, k - 1):
            if abs(work[r, i]) > abs(work[pivot, i]):
                pivot = r
        if abs(work[pivot, i]) < 1e-12:
            return False
        for q in range(k):
            swap = work[i, q]
            work[i, q] = work[pivot, q]
            work[pivot, q] = swap
        for r in range(i + 1, k - 1):
            factor = work[r, i] / work[i, i]
            for q in range(i, k):
                work[r, q] -= factor * work[i, q]
    work[k - 1, k - 1] = 1.0
    for back in range(k - 1):
        i = k - 2 - back
        total = 0.0
        for q in range(i + 1, k):
            total += work[i, q] * work[k - 1, q]
        work[k - 1, i] = -total / work[i, i]
        if work[k - 1, i] == 0.0:
            return False
    return True
