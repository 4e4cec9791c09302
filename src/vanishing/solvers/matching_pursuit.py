"""Orthogonal matching pursuit: short polynomials, term by term.

Reference: Pati, Rezaiifar and Krishnaprasad, 1993, doi:10.1109/ACSSC.1993.342465.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from .._compiled import compiled
from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..cholesky import dot
from .homotopy import homotopy
from .quadratic import DEPENDENT, TIE, loss_and_gap
from .solution import Solution, Status, Stop

_LONGEST = 128  # terms of a polynomial that still counts as short
_TRIED = 32  # terms after which the pace says whether psi will be reached; an exact law shows only when it is complete


@compiled
def _pursue(
    Q: Float2D, r: float, psi: float, g: Float1D, d: Float1D, used: Bool1D, support: Int1D, W: Float2D, z: Float1D
) -> int:
    """Let terms join until the loss is at most psi; return their number, and write them to ``support``.

    With ``S`` the terms so far, ``g = Qx + c`` at the least-squares solution on S, and ``d_i`` the square of the part
    of term i that is orthogonal to S, adding term i lowers the loss by ``g_i^2 / d_i``; the best one joins. One joins
    in any case: a leading term that is small by itself says little, and what is left of it beside the best other term
    classifies better. Rows of ``W = L^-1 Q[S, :]``, with ``L L' = Q[S, S]``, give both in O(n |S|). From ``g = c`` at
    the start, ``z = L^-1 c[S]``.
    """
    most, n = W.shape
    size, loss = 0, r
    while size < most and (loss > psi or size == 0):
        best, gain = -1, 0.0
        for i in range(n):
            if not used[i] and d[i] > DEPENDENT * Q[i, i] and g[i] * g[i] > (1.0 + TIE) * gain * d[i]:
                best, gain = i, g[i] * g[i] / d[i]
        if best < 0:
            break
        pivot = np.sqrt(d[best])
        row = W[size]
        for i in range(n):
            row[i] = Q[best, i]
        for a in range(size):
            part = W[a, best]
            for i in range(n):
                row[i] -= part * W[a, i]
        z[size] = g[best] / pivot
        for i in range(n):
            row[i] /= pivot
            g[i] -= z[size] * row[i]
            d[i] -= row[i] * row[i]
        loss -= z[size] * z[size]
        used[best] = True
        support[size] = best
        size += 1
        # If every further term gains the same share, loss / gain * log(loss / psi) more terms are needed.
        if size >= _TRIED and loss > psi > 0.0 and loss * np.log(loss / psi) > gain * (most - size):
            break
    return size


def _spare(R: Float2D, z: Float1D, room: float) -> tuple[Float1D, Bool1D]:
    """The solution on the terms that stay, and which these are, without others that raise the loss by at most ``room``.

    With N the inverse of the triangular ``R = W[:, S]``, the solution is ``-N z``. With ``M = N N' = Q[S, S]^-1``,
    leaving out term a raises the loss by ``x_a^2 / M_aa``; the cheapest one leaves. M without it is ``M - v v'``, v
    its column of M over the root of its diagonal entry. Only those columns are formed.
    """
    N = np.ascontiguousarray(dtrtri(R)[0])
    coef, diagonal, inside = -(N @ z), (N * N).sum(axis=1), np.ones(z.size, np.bool_)
    _remove(N, coef, diagonal, inside, np.empty_like(N), room)
    return coef, inside


@compiled
def _remove(N: Float2D, coef: Float1D, diagonal: Float1D, inside: Bool1D, removed: Float2D, room: float) -> None:
    """Leave out the cheapest terms, as long as there is room; the columns v of M go to the rows of ``removed``."""
    n = coef.size
    for k in range(n - 1):
        lowest, cheapest = np.inf, -1
        for a in range(n):
            if inside[a] and diagonal[a] > 0.0:  # rounding may leave less
                lowest = min(lowest, coef[a] * coef[a] / diagonal[a])
        for a in range(n - 1, -1, -1):  # in a tie the first one, independent of rounding
            if inside[a] and diagonal[a] > 0.0 and coef[a] * coef[a] / diagonal[a] <= (1.0 + TIE) * lowest:
                cheapest = a
        if cheapest < 0 or coef[cheapest] * coef[cheapest] / diagonal[cheapest] > room:
            return
        room -= coef[cheapest] * coef[cheapest] / diagonal[cheapest]
        column = removed[k]
        for a in range(n):
            column[a] = dot(N[a], N[cheapest], n)
        for b in range(k):
            part = removed[b, cheapest]
            for a in range(n):
                column[a] -= part * removed[b, a]
        factor, pivot = coef[cheapest] / column[cheapest], np.sqrt(column[cheapest])
        for a in range(n):
            coef[a] -= factor * column[a]
            column[a] /= pivot
            diagonal[a] -= column[a] * column[a]
        inside[cheapest] = False


def _short_solution(Q: Float2D, c: Float1D, r: float, psi: float, most: int) -> tuple[Float1D, int]:
    """Coefficients of a short polynomial, and how many terms were tried for it."""
    n = c.size
    support, W, z = np.empty(most, np.int64), np.empty((most, n)), np.empty(most)
    size = _pursue(Q, r, psi, c.copy(), Q.diagonal().copy(), np.zeros(n, np.bool_), support, W, z)
    x, support, z = np.zeros(n), support[:size], z[:size]
    if size == 1:
        x[support] = -z / W[0, support]
    elif size:  # LAPACK prints an error about no terms at all
        coef, inside = _spare(W[:size, support], z, psi - r + float(z @ z))
        x[support[inside]] = coef[inside]
    return x, size


def matching_pursuit(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop) -> Solution:
    """A short x with f(x) at most psi by orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad, 1993).

    Each term that joins lowers the loss the most (Chen, Billings and Luo, 1989, call the variant orthogonal least
    squares); terms that psi can spare leave at the end. Nothing is proved where it fails: the status is then STALLED.

    Examples
    --------
    >>> import numpy as np
    >>> stop = Stop(psi=0.3, gap=1e-9, progress=0.0, max_iter=1000)
    >>> matching_pursuit(np.eye(3), np.array([-0.1, -0.9, 0.3]), 1.0, 10.0, stop).x
    array([0. , 0.9, 0. ])
    """
    x, n_iter = _short_solution(np.ascontiguousarray(Q), c, r, stop.psi, min(c.size, stop.max_iter, _LONGEST))
    loss, gap = loss_and_gap(Q, c, r, x, radius)
    vanishes = loss <= stop.psi and float(np.abs(x).sum()) <= radius
    return Solution(x, loss, gap, n_iter, Status.VANISHING if vanishes else Status.STALLED)


def omp(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Matching pursuit for a short x; where it finds none in the ball, :func:`homotopy` decides. ``x0`` is not used.

    Examples
    --------
    >>> import numpy as np
    >>> stop = Stop(psi=0.3, gap=1e-9, progress=0.0, max_iter=1000)
    >>> omp(np.eye(1), np.array([-0.9]), 1.0, 0.1, stop).status.name
    'IMPOSSIBLE'
    """
    short = matching_pursuit(Q, c, r, radius, stop)
    if short.status is Status.VANISHING:
        return short
    exact = homotopy(Q, c, r, radius, stop._replace(max_iter=stop.max_iter - short.n_iter))
    return exact._replace(n_iter=short.n_iter + exact.n_iter)
