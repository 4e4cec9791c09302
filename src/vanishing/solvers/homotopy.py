"""The exact minimum over the l1 ball, followed from radius 0 on (Osborne, Presnell and Turlach, 2000).

Reference: "A new approach to variable selection in least squares problems", doi:10.1093/imanum/20.3.389.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled
from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..cholesky import append_column, delete_column, solve_factored
from ..constants import ROUNDING, SINGULAR, TINY
from .conditional_gradients import bpcg
from .quadratic import TIE, Solution, Status, Stop, loss_and_gap, verdict

_MOST_EVENTS = 20  # for each coefficient; rounding makes a longer path run in circles


@compiled
def _follow(
    Q: Float2D, c: Float1D, r: float, radius: float, target: float, psi: float, max_iter: int, x: Float1D
) -> int:
    """Follow the minimisers until the loss is ``target`` or the norm is ``radius``, and return the number of events.

    Along the path the half gradient ``g = Qx + c`` is ``-level * sign(x_i)`` on the support S and at most ``level``
    elsewhere. As the level falls by ``t``, x moves by ``t * d`` with ``Q[S, S] d = sign``: its norm grows by
    ``t * rate``, ``rate = d' sign``, and the loss falls by ``rate * (level^2 - (level - t)^2)``. The next event is
    the smallest t at which a coefficient reaches 0, another entry of g reaches the level, or the path ends. The gap
    of the whole ball is ``2 * level * (radius - norm)``: once it shows that psi is out of reach, the path ends, too.
    """
    n = c.size
    g, change = c.copy(), np.empty(n)
    face, sign = np.empty(n, np.int64), np.zeros(n)
    L = np.empty((n, n))
    barred = np.zeros(n, np.bool_)  # columns that depend on the support, until a column leaves it
    level, entering = 0.0, 0
    for i in range(n):
        if abs(c[i]) > (1.0 + TIE) * level:
            level, entering = abs(c[i]), i
    size, left, norm, loss = int(np.int64(0)), -1, 0.0, r
    for it in range(max_iter):
        if entering >= 0:
            if append_column(Q, L, face, size, entering, TINY) <= SINGULAR:
                barred[entering] = True
                if size == 0:
                    return it
            else:
                sign[entering] = 1.0 if g[entering] < 0.0 else -1.0
                size += 1
        d = np.empty(size)
        for a in range(size):
            d[a] = sign[face[a]]
        solve_factored(L, d, size)
        rate = 0.0
        change[:] = 0.0
        for a in range(size):
            rate += d[a] * sign[face[a]]
            for i in range(n):
                change[i] += d[a] * Q[face[a], i]
        step, entering, leaving, last = _next_event(x, g, change, d, face[:size], sign, barred, left, level)
        longest = (radius - norm) / rate
        square = level * level - (loss - target) / rate  # the squared level at which the loss is the target
        if square >= 0.0:
            longest = min(longest, level - np.sqrt(square))
        if longest <= step:
            step, last = longest, True
        level = max(level - step, 0.0)
        for a in range(size):
            x[face[a]] += step * d[a]
        left = -1
        if not last and leaving >= 0:
            left = face[leaving]
            x[left], sign[left] = 0.0, 0.0
            delete_column(L, face, leaving, size)
            size -= 1
            barred[:] = False
        norm, loss = _gradient_and_loss(Q, c, r, face[:size], x, g)  # recomputed, as rounding errors accumulate
        if last or size == 0 or loss - 2.1 * level * (radius - norm) > psi:
            return it + 1
    return max_iter


@compiled
def _next_event(
    x: Float1D,
    g: Float1D,
    change: Float1D,
    d: Float1D,
    face: Int1D,
    sign: Float1D,
    barred: Bool1D,
    left: int,
    level: float,
) -> tuple[float, int, int, bool]:
    """Length of the step, the column that enters or the place that leaves (-1: none), and whether the level is 0."""
    step, entering, leaving = level, -1, -1
    for i in range(g.size):
        if sign[i] != 0.0 or barred[i]:
            continue
        for end in (1.0, -1.0):  # g_i + t change_i = end * (level - t)
            speed = 1.0 + end * change[i]
            if speed > 0.0:
                t = max(level - end * g[i], 0.0) / speed
                # A column that has just left still touches the level.
                if t < step and not (i == left and t <= TIE * level):
                    step, entering = t, i
    for a in range(face.size):
        value = x[face[a]]
        if value * d[a] < 0.0 and -value / d[a] < step:
            step, entering, leaving = -value / d[a], -1, a
    return step, entering, leaving, entering < 0 and leaving < 0


@compiled
def _gradient_and_loss(Q: Float2D, c: Float1D, r: float, face: Int1D, x: Float1D, g: Float1D) -> tuple[float, float]:
    """Recompute ``g = Qx + c``; return the l1 norm of x and the loss."""
    for i in range(g.size):
        g[i] = c[i]
    for j in face:
        for i in range(g.size):
            g[i] += x[j] * Q[j, i]
    norm, loss = 0.0, r
    for j in face:
        norm += abs(x[j])
        loss += x[j] * (g[j] + c[j])
    return norm, loss


def homotopy(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """The minimiser over the l1 ball by a homotopy; ``x0`` is not used.

    Minimisers over balls of growing radius form a piecewise linear path from 0. It is followed to the given radius,
    or until the loss is below psi, which gives the vanishing polynomial of least l1 norm. The gap is computed from
    the result, as for every solver. If it proves nothing, although it is larger than rounding makes it, the path went
    astray, and :func:`bpcg` decides.

    Examples
    --------
    >>> import numpy as np
    >>> stop = Stop(psi=0.0, gap=1e-9, progress=0.0, max_iter=1000)
    >>> solution = homotopy(np.eye(2), np.array([-1.0, 0.1]), 1.01, 0.5, stop)
    >>> solution.x, solution.status.name
    (array([0.5, 0. ]), 'IMPOSSIBLE')
    """
    x = np.zeros(c.size)
    target = stop.psi - 0.5 * min(stop.gap, stop.psi)
    n_iter = 0
    if c.any() and r > target:
        events = min(stop.max_iter, _MOST_EVENTS * c.size)
        n_iter = _follow(np.ascontiguousarray(Q), np.ascontiguousarray(c), r, radius, target, stop.psi, events, x)
        norm = float(np.abs(x).sum())
        if norm > radius:  # by rounding
            x *= radius / norm
    loss, gap = loss_and_gap(Q, c, r, x, radius)
    status = verdict(loss, gap, np.inf, stop.psi, stop.gap, 0.0)
    if status >= 0:
        return Solution(x, loss, gap, n_iter, Status(status))
    if n_iter == stop.max_iter:
        return Solution(x, loss, gap, n_iter, Status.MAX_ITER)
    largest = float((np.abs(Q) @ np.abs(x) + np.abs(c)).max())
    if gap <= c.size * ROUNDING * (radius + np.abs(x).sum()) * largest:  # no solver would prove more on this Gram
        return Solution(x, loss, gap, n_iter, Status.STALLED)
    detour = bpcg(Q, c, r, radius, stop._replace(max_iter=stop.max_iter - n_iter))
    return detour._replace(n_iter=n_iter + detour.n_iter)
