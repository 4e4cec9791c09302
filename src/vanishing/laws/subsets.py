"""All small sets of terms, and those on which a polynomial nearly vanishes."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from .._compiled import compiled
from .._typing import Float1D, Float2D, Int2D

__all__ = ["MOST_SUBSETS", "best_subsets"]

MOST_SUBSETS = 2_000_000  # of one size, that are all tried


def best_subsets(
    P: Float2D, D: Float2D, terms: Sequence[int], size: int, number: int, *, last: int = 0
) -> list[list[int]]:
    """The sets of ``size`` terms with the smallest ``min over c of c'Pc / c'Dc``, about in this order.

    They are ranked by ``trace(P^-1 D)``, the sum of the inverse ratios of a basis, which the smallest ratio dominates
    where it is small.

    Parameters
    ----------
    P, D : ndarray of shape (n_terms, n_terms)
        Mean square, and mean noise variance, of polynomials.
    terms : sequence of int
        Candidates, ascending.
    size, number : int
        Of terms, and of sets.
    last : int, default=0
        The largest term of a set is at least this one.

    Examples
    --------
    >>> P = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> best_subsets(P, np.eye(3), [0, 1, 2], 2, 1)
    [[0, 1]]
    """
    chosen = np.array(terms)
    if size > len(chosen) or comb(len(chosen), size) > MOST_SUBSETS:
        return []
    at = np.ix_(chosen, chosen)
    first_last = int(np.searchsorted(chosen, last))
    values, sets = _largest_traces(np.ascontiguousarray(P[at]), np.ascontiguousarray(D[at]), first_last, size, number)
    return [chosen[sets[k]].tolist() for k in np.argsort(-values) if values[k] > 0.0]


@compiled
def _largest_traces(P: Float2D, D: Float2D, first_last: int, size: int, number: int) -> tuple[Float1D, Int2D]:
    """The largest ``trace(P_S^-1 D_S)`` over sets S, by a walk through all of them.

    One more term i adds ``v'Dv / d^2`` with ``v = (-P_S^-1 p_i, 1)`` the residual of term i after regression on S and
    ``d^2`` its mean square; a Cholesky factor of ``P_S`` grows along the walk.
    """
    n = P.shape[0]
    values, sets = np.zeros(number), np.zeros((number, size), dtype=np.int64)
    least = 1e-14 * np.trace(P) / n
    L, v = np.zeros((size, size)), np.zeros(size)
    index, traces = np.zeros(size, dtype=np.int64), np.zeros(size)
    weakest = 0  # place of the smallest value that is kept
    level = 0
    index[0] = -1
    while level >= 0:
        index[level] += 1
        if level == size - 1 and index[level] < first_last:
            index[level] = first_last
        i = index[level]
        if i > n - size + level:
            level -= 1
            continue
        square = P[i, i]
        for j in range(level):
            total = P[i, index[j]]
            for k in range(j):
                total -= L[level, k] * L[j, k]
            L[level, j] = total / L[j, j]
            square -= L[level, j] * L[level, j]
        square = max(square, least)
        L[level, level] = np.sqrt(square)
        for j in range(level - 1, -1, -1):
            total = L[level, j]
            for k in range(j + 1, level):
                total -= L[k, j] * v[k]
            v[j] = total / L[j, j]
        spread = D[i, i]
        for j in range(level):
            total = -2.0 * D[i, index[j]] + v[j] * D[index[j], index[j]]
            for k in range(j):
                total += 2.0 * v[k] * D[index[j], index[k]]
            spread += v[j] * total
        trace = max(spread, 0.0) / square
        if level > 0:
            trace += traces[level - 1]
        if level < size - 1:
            traces[level] = trace
            level += 1
            index[level] = i
        elif trace > values[weakest]:
            values[weakest] = trace
            for j in range(size):
                sets[weakest, j] = index[j]
            for k in range(number):
                if values[k] < values[weakest]:
                    weakest = k
    return values, sets
