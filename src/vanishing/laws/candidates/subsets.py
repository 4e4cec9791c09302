"""The best sets of terms: on each a polynomial vanishes up to little noise."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from ..._compiled import compiled
from ..._typing import Array, Float1D, Float2D, Int1D, Int2D

__all__ = ["MOST_SETS", "best_subsets"]

MOST_SETS = 2_000_000  # work budget: sets of one size that are compared


def best_subsets(
    P: Float2D, D: Float2D, terms: Sequence[int], size: int, number: int, *, last: int = 0
) -> list[list[int]]:
    """The sets of ``size`` terms with the smallest ``min over c of c'Pc / c'Dc``.

    They are ranked by ``trace(P^-1 D)``, the sum of the inverse ratios of a basis, which the smallest ratio dominates
    where it is small.

    Parameters
    ----------
    P, D : ndarray of shape (n_terms, n_terms)
        Mean square, and mean noise variance, of polynomials.
    terms : sequence of int
        Candidates, ascending.
    size, number : int
        Terms of a set, and sets to return.
    last : int, default=0
        The largest term of a set is at least this one.

    Examples
    --------
    >>> P = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> best_subsets(P, np.eye(3), [0, 1, 2], 2, 1)
    [[0, 1]]
    """
    chosen = np.array(terms)
    n = len(chosen)
    if size > n or comb(n, size) > MOST_SETS:
        return []
    at = np.ix_(chosen, chosen)
    least = max(1e-14 * float(np.trace(P[at])) / n, 1e-300)
    if size == 1:
        traces = np.diag(D[at]) / np.maximum(np.diag(P[at]), least)
        best = [[int(chosen[k])] for k in np.argsort(-traces) if traces[k] > 0.0 and chosen[k] >= last]
        return best[:number]
    forms = np.empty((2, size - 1, n, n))
    forms[0, 0], forms[1, 0] = P[at], D[at]
    values, sets = np.zeros(number), np.zeros((number, size), dtype=np.int64)
    first_last = int(np.searchsorted(chosen, last))
    _largest_traces(forms[0], forms[1], first_last, least, values, sets, np.zeros(size, dtype=np.int64), np.zeros(size))
    return [chosen[sets[k]].tolist() for k in np.argsort(-values) if values[k] > 0.0]


@compiled
def _largest_traces(
    P: Array, D: Array, first_last: int, least: float, values: Float1D, sets: Int2D, index: Int1D, traces: Float1D
) -> None:
    """The sets S with the largest ``trace(P_S^-1 D_S)``, by a walk through all of them.

    ``P[k]`` and ``D[k]`` are the two forms on what regression on the first k terms of a set leaves of the others;
    ``P[0]`` and ``D[0]`` are given. Term i adds ``D_ii / P_ii`` of these to the trace. For the last term of a set the
    diagonals are enough: a few multiplications for every set. ``index`` and ``traces`` are work space.
    """
    n, number, size = P.shape[1], sets.shape[0], sets.shape[1]
    weakest = 0  # place of the smallest value among the best so far
    level = 0
    index[0] = -1
    while level >= 0:
        index[level] += 1
        s = index[level]
        if s > n - size + level:
            level -= 1
            continue
        inverse = 1.0 / max(P[level, s, s], least)
        trace = traces[level] + max(D[level, s, s], 0.0) * inverse
        if level < size - 2:
            _project(P[level], D[level], s, inverse, P[level + 1], D[level + 1])
            level += 1
            index[level], traces[level] = s, trace
            continue
        for i in range(max(s + 1, first_last), n):
            along = P[level, s, i] * inverse
            square = max(P[level, i, i] - along * P[level, s, i], least)
            spread = D[level, i, i] + along * (along * D[level, s, s] - 2.0 * D[level, s, i])
            if spread > (values[weakest] - trace) * square and trace + max(spread, 0.0) / square > values[weakest]:
                values[weakest] = trace + max(spread, 0.0) / square
                for j in range(size - 1):
                    sets[weakest, j] = index[j]
                sets[weakest, size - 1] = i
                for k in range(number):
                    if values[k] < values[weakest]:
                        weakest = k


@compiled
def _project(P: Float2D, D: Float2D, s: int, inverse: float, P_left: Float2D, D_left: Float2D) -> None:
    """The forms P and D on what regression on term s, in the mean square P, leaves of the later terms."""
    n = P.shape[0]
    for i in range(s + 1, n):
        a = P[s, i] * inverse
        for j in range(i, n):
            b = P[s, j] * inverse
            P_left[i, j] = P[i, j] - a * P[s, j]
            D_left[i, j] = D[i, j] - a * D[s, j] - b * D[s, i] + a * b * D[s, s]
