"""Accelerated gradient descent (AGD).

Reference: Nesterov, "A method of solving a convex programming problem with convergence rate O(1/k^2)", Soviet
Mathematics Doklady 27, 1983.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled
from .._typing import Float1D, Float2D
from .quadratic import MAX_ITER, PERIOD, STALLED, Solution, Status, Stop, hopeless, product, strong_convexity, verdict


@compiled
def _agd(
    Q: Float2D,
    c: Float1D,
    r: float,
    smooth: float,
    convex: float,
    psi: float,
    gap_tol: float,
    progress: float,
    max_iter: int,
    x: Float1D,
) -> tuple[float, float, int, int]:
    n = x.size
    ahead, gradient = x.copy(), np.empty(n)
    Qx = np.empty(n)
    last_loss, slow = np.inf, 0
    lowest, bound, period_loss, period_bound = np.inf, -np.inf, np.inf, -np.inf
    momentum = 1.0
    ratio = np.sqrt(smooth / convex) if convex > 0.0 else np.inf
    for it in range(max_iter + 1):
        product(Q, x, Qx)
        loss, norm = r, 0.0
        for i in range(n):
            loss += x[i] * (Qx[i] + 2.0 * c[i])
            norm += 4.0 * (Qx[i] + c[i]) ** 2
        gap = norm / (2.0 * convex) if convex > 0.0 else np.inf
        if norm == 0.0:
            gap = 0.0
        lowest, bound = min(lowest, loss), max(bound, loss - gap)
        status = verdict(loss, gap, np.inf, psi, gap_tol, 0.0)
        if status >= 0:
            return loss, gap, it, status
        if it == max_iter:
            break
        slow = slow + 1 if progress > 0.0 and loss + progress > last_loss else 0
        if slow >= 20:
            return loss, gap, it, STALLED
        last_loss = loss
        if it % PERIOD == 0:
            if hopeless(lowest, bound, period_loss, period_bound, psi, (max_iter - it) / PERIOD):
                return loss, gap, it, STALLED
            period_loss, period_bound = lowest, bound
        product(Q, ahead, gradient)
        if np.isinf(ratio):
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
            weight = (momentum - 1.0) / following
            momentum = following
        else:
            weight = (ratio - 1.0) / (ratio + 1.0)
        for i in range(n):
            moved = ahead[i] - 2.0 * (gradient[i] + c[i]) / smooth
            ahead[i] = moved + weight * (moved - x[i])
            x[i] = moved
    return loss, gap, max_iter, MAX_ITER


def agd(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Accelerated gradient descent (Nesterov, 1983) without the constraint, from ``x0`` or from 0.

    The gap comes from strong convexity: ``|grad|^2 / (2 mu)``, with ``mu`` the smallest eigenvalue of the Hessian
    ``2Q``. The solver stalls after 20 steps in a row that improve the loss by less than ``stop.progress``, as in
    Section 5 of arXiv:2207.01236.
    """
    x = np.zeros(c.size) if x0 is None else np.array(x0, dtype=np.float64)
    smooth, convex = 2.0 * float(np.linalg.eigvalsh(Q)[-1]), float(strong_convexity(Q))
    if smooth <= 0.0:  # Q = 0, so c = 0 as well, and every x is optimal
        status = Status.VANISHING if r <= stop.psi else Status.IMPOSSIBLE
        return Solution(x, r, 0.0, 0, status)
    loss, gap, n_iter, status_ = _agd(Q, c, r, smooth, convex, *stop, x)
    return Solution(x, loss, gap, n_iter, Status(status_))
