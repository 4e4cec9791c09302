"""Orthogonal matching pursuit: short polynomials, term by term.

Reference: Pati, Rezaiifar and Krishnaprasad, 1993, doi:10.1109/ACSSC.1993.342465.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled
from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..constants import SINGULAR
from .homotopy import homotopy
from .quadratic import TIE, Solution, Status, Stop, loss_and_gap

_MOST_SHORT_TERMS = 128  # terms of a short polynomial
_TERMS_BEFORE_FORECAST = 32  # an exact law shows only with its last term


@compiled
def _pursue(
    Q: Float2D, r: float, psi: float, g: Float1D, d: Float1D, used: Bool1D, support: Int1D, W: Float2D, z: Float1D
) -> int:
    """Let terms join until the loss is at most psi; return their number, and write them to ``support``.

    With ``S`` the terms so far, ``g = Qx + c`` at the least-squares solution on S, and ``d_i`` the square of the part
    of term i that is orthogonal to S, adding term i lowers the loss by ``g_i^2 / d_i``; the best one joins. At
    least one joins: a leading term that is small by itself says little, and its residual on the best other term tells
    classes apart better. Rows of ``W = L^-1 Q[S, :]``, with ``L L' = Q[S, S]``, give both in O(n |S|). As ``g = c`` at
    the start, ``z = L^-1 c[S]``.
    """
    most, n = W.shape
    size, loss = 0, r
    while size < most and (loss > psi or size == 0):
        best, gain = -1, 0.0
        for i in range(n):
            if not used[i] and d[i] > SINGULAR * Q[i, i] and g[i] * g[i] > (1.0 + TIE) * gain * d[i]:
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
        if size >= _TERMS_BEFORE_FORECAST and loss > psi > 0.0 and loss * np.log(loss / psi) > gain * (most - size):
            break
    return size


@compiled
def _spare(
    R: Float2D, z: Float1D, room: float, N: Float2D, coef: Float1D, diagonal: Float1D, inside: Bool1D, removed: Float2D
) -> None:
    """Write the solution to ``coef`` and ``inside``, without terms whose removal raises the loss by at most ``room``.

    With N the inverse of the triangular ``R = W[:, S]``, the solution is ``-N z``. With ``M = N N' = Q[S, S]^-1``,
    leaving out term a raises the loss by ``x_a^2 / M_aa``; the cheapest one leaves. M without it is ``M - v v'``, v
    its column of M over the root of its diagonal entry. Only those columns are formed, as rows of ``removed``.
    """
    size = z.size
    for i in range(size - 1, -1, -1):
        coef[i], diagonal[i], inside[i] = 0.0, 0.0, True
        for j in range(i, size):
            entry = 1.0 if i == j else 0.0
            for k in range(i + 1, j + 1):
                entry -= R[i, k] * N[k, j]
            N[i, j] = entry / R[i, i]
            coef[i] -= N[i, j] * z[j]
            diagonal[i] += N[i, j] * N[i, j]
    for n_removed in range(size - 1):
        cheapest, least = -1, room
        for i in range(size):  # in a tie the first one, independent of rounding
            if inside[i] and diagonal[i] > 0.0 and (1.0 + TIE) * coef[i] * coef[i] <= least * diagonal[i]:
                cheapest, least = i, coef[i] * coef[i] / diagonal[i]
        if cheapest < 0:
            return
        column = removed[n_removed]
        for i in range(size):
            column[i] = 0.0
            for k in range(max(i, cheapest), size):
                column[i] += N[i, k] * N[cheapest, k]
        for a in range(n_removed):
            share = removed[a, cheapest]
            for i in range(size):
                column[i] -= share * removed[a, i]
        step, root = coef[cheapest] / column[cheapest], np.sqrt(column[cheapest])
        for i in range(size):
            coef[i] -= step * column[i]
            column[i] /= root
            diagonal[i] -= column[i] * column[i]
        room -= least
        inside[cheapest] = False


def matching_pursuit(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop) -> Solution:
    """A short x with f(x) at most psi by orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad, 1993).

    Each term that joins lowers the loss the most (Chen, Billings and Luo, 1989, call the variant orthogonal least
    squares); terms that psi can spare leave at the end. Nothing is proved about the minimum: the gap is infinite, and
    where no such x is found in the ball, the status is STALLED.

    Examples
    --------
    >>> import numpy as np
    >>> stop = Stop(psi=0.3, gap=1e-9, progress=0.0, max_iter=1000)
    >>> matching_pursuit(np.eye(3), np.array([-0.1, -0.9, 0.3]), 1.0, 10.0, stop).x
    array([0. , 0.9, 0. ])
    """
    Q, psi, n = np.ascontiguousarray(Q), stop.psi, c.size
    most = min(n, stop.max_iter, _MOST_SHORT_TERMS)
    support, W, z = np.empty(most, np.int64), np.empty((most, n)), np.empty(most)
    size = _pursue(Q, r, psi, c.copy(), Q.diagonal().copy(), np.zeros(n, np.bool_), support, W, z)
    x, support, z = np.zeros(n), support[:size], z[:size]
    if size == 1:
        x[support] = -z / W[0, support]
    elif size:
        coef, diagonal, inside = np.empty(size), np.empty(size), np.empty(size, np.bool_)
        N, removed = np.empty((2, size, size))
        _spare(W[:size, support], z, psi - r + float(z @ z), N, coef, diagonal, inside, removed)
        x[support[inside]] = coef[inside]
    loss = float(x @ (Q @ x + 2.0 * c) + r)
    vanishes = loss <= psi and float(np.abs(x).sum()) <= radius
    return Solution(x, loss, np.inf, size, Status.VANISHING if vanishes else Status.STALLED)


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
        return short._replace(gap=loss_and_gap(Q, c, r, short.x, radius)[1])
    exact = homotopy(Q, c, r, radius, stop._replace(max_iter=stop.max_iter - short.n_iter))
    return exact._replace(n_iter=short.n_iter + exact.n_iter)
