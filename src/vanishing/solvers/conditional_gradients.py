"""Conditional gradients: plain (CG), pairwise (PCG), and blended pairwise (BPCG).

References: Frank and Wolfe, 1956, doi:10.1002/nav.3800030109 (CG); Lacoste-Julien and Jaggi, 2015, arXiv:1511.05932
(PCG); Tsuji, Tanaka and Pokutta, 2022, arXiv:2110.12650 (BPCG; Algorithm 2 of arXiv:2207.01236).
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled
from .._typing import Float1D, Float2D, Int1D
from .quadratic import (
    MAX_ITER,
    PERIOD,
    STALLED,
    TIE,
    Solution,
    Status,
    Stop,
    exact_step,
    first_check,
    frank_wolfe_step,
    from_weights,
    hopeless,
    loss_and_gaps,
    product,
    strong_convexity,
    verdict,
)


@compiled
def _cg(
    Q: Float2D,
    c: Float1D,
    r: float,
    radius: float,
    psi: float,
    gap_tol: float,
    progress: float,
    max_iter: int,
    x: Float1D,
) -> tuple[float, float, int, int]:
    n = x.size
    Qx = np.empty(n)
    product(Q, x, Qx)
    last_loss, convex = np.inf, 0.0
    bound, period_loss, period_bound = -np.inf, np.inf, -np.inf
    stuck = False
    for it in range(max_iter + 1):
        if it % PERIOD == 0:
            product(Q, x, Qx)
        if it == first_check(n):
            convex = strong_convexity(Q)
        loss, gap, forward, best = loss_and_gaps(Qx, c, r, x, radius, convex)
        bound = max(bound, loss - gap)
        if verdict(loss, gap, last_loss, psi, gap_tol, progress) >= 0 or it == max_iter or stuck:
            # The updated Qx contains the rounding errors of all iterates: the certificate needs that of x only.
            product(Q, x, Qx)
            loss, gap, forward, best = loss_and_gaps(Qx, c, r, x, radius, convex)
            status = verdict(loss, gap, last_loss, psi, gap_tol, progress)
            if status >= 0 or it == max_iter or stuck:
                return loss, gap, it, status if status >= 0 else (STALLED if stuck else MAX_ITER)
        last_loss = loss
        if it % PERIOD == 0:
            stuck = hopeless(loss, bound, period_loss, period_bound, psi, (max_iter - it) / PERIOD)
            period_loss, period_bound = loss, bound
        stuck = frank_wolfe_step(Q, Qx, x, best, radius, forward) <= 0.0 or stuck
    return loss, gap, max_iter, MAX_ITER


@compiled
def _extremes(active: Int1D, Qx: Float1D, c: Float1D) -> tuple[int, float, int, float]:
    """Position and slope of the active vertex with the largest slope; vertex and slope of that with the smallest.

    An exact pairwise step leaves two vertices with the same slope, up to rounding. A tie goes to the first one, so
    that rounding does not determine the path.
    """
    highest, lowest = -np.inf, np.inf
    for vertex in active:
        slope = Qx[vertex >> 1] + c[vertex >> 1] if vertex % 2 == 0 else -(Qx[vertex >> 1] + c[vertex >> 1])
        highest, lowest = max(highest, slope), min(lowest, slope)
    tie = TIE * (highest - lowest)
    away_at, local = -1, -1
    for a in range(active.size):
        k = active[a] >> 1
        slope = Qx[k] + c[k] if active[a] % 2 == 0 else -(Qx[k] + c[k])
        if away_at < 0 and slope >= highest - tie:
            away_at = a
        if local < 0 and slope <= lowest + tie:
            local = active[a]
        if away_at >= 0 and local >= 0:
            break
    return away_at, highest, local, lowest


@compiled
def _pairwise(
    Q: Float2D,
    c: Float1D,
    r: float,
    radius: float,
    psi: float,
    gap_tol: float,
    progress: float,
    max_iter: int,
    x: Float1D,
    weights: Float1D,
    blended: bool,
) -> tuple[float, float, int, int]:
    """PCG (``blended=False``) and BPCG, from the convex combination of vertices that ``weights`` gives."""
    n = x.size
    Qx = np.empty(n)
    last_loss, convex = np.inf, 0.0
    bound, period_loss, period_bound, stuck = -np.inf, np.inf, -np.inf, False
    active = np.empty(2 * n, np.int64)
    n_active = 0
    for v in range(2 * n):
        if weights[v] > 0.0:
            active[n_active] = v
            n_active += 1
    for it in range(max_iter + 1):
        if it % PERIOD == 0:
            from_weights(weights, radius, x)
            product(Q, x, Qx)
        if it == first_check(n):
            convex = strong_convexity(Q)
        loss, gap, forward, best = loss_and_gaps(Qx, c, r, x, radius, convex)
        bound = max(bound, loss - gap)
        if verdict(loss, gap, last_loss, psi, gap_tol, progress) >= 0 or it == max_iter or stuck:
            # The weights define the answer; the updated x may differ from it by rounding.
            from_weights(weights, radius, x)
            product(Q, x, Qx)
            loss, gap, forward, best = loss_and_gaps(Qx, c, r, x, radius, convex)
            status = verdict(loss, gap, last_loss, psi, gap_tol, progress)
            if status >= 0 or it == max_iter or stuck:
                return loss, gap, it, status if status >= 0 else (STALLED if stuck else MAX_ITER)
        last_loss = loss
        if it % PERIOD == 0:
            stuck = hopeless(loss, bound, period_loss, period_bound, psi, (max_iter - it) / PERIOD)
            period_loss, period_bound = loss, bound

        away_at, highest, local, lowest = _extremes(active[:n_active], Qx, c)
        away = active[away_at]
        # Make a Frank-Wolfe step if its gap is larger than that of a pairwise step.
        if blended and 2.0 * radius * (highest - lowest) < forward:
            step = frank_wolfe_step(Q, Qx, x, best, radius, forward)
            if step <= 0.0:
                stuck = True
                continue
            if step == 1.0:
                weights[:] = 0.0
                n_active = 0
            else:
                for a in range(n_active):
                    weights[active[a]] *= 1.0 - step
            if weights[best] == 0.0:
                active[n_active] = best
                n_active += 1
            weights[best] += step
            continue

        to = local if blended else best
        k, kt = to >> 1, radius if to % 2 == 0 else -radius
        a, at = away >> 1, radius if away % 2 == 0 else -radius
        slope = 2.0 * (kt * (Qx[k] + c[k]) - at * (Qx[a] + c[a]))
        curvature = kt * kt * Q[k, k] + at * at * Q[a, a] - 2.0 * kt * at * Q[k, a]
        longest = weights[away]
        step = exact_step(slope, 2.0 * curvature, longest)
        if step <= 0.0 or to == away:
            stuck = True
            continue
        if weights[to] == 0.0:
            active[n_active] = to
            n_active += 1
        weights[to] += step
        weights[away] -= step
        if step == longest:  # a drop step
            weights[away] = 0.0
            n_active -= 1
            active[away_at] = active[n_active]
        x[k] += step * kt
        x[a] -= step * at
        for i in range(n):
            Qx[i] += step * (kt * Q[k, i] - at * Q[a, i])
    return loss, gap, max_iter, MAX_ITER


def _vertex_weights(c: Float1D, x0: Float1D | None = None) -> Float1D:
    """All weight on the vertex x0; by default, on the vertex of a Frank-Wolfe step from 0."""
    weights = np.zeros(2 * c.size)
    towards = -c if x0 is None else x0
    i = int(np.argmax(np.abs(towards)))
    weights[2 * i + (towards[i] < 0.0)] = 1.0
    return weights


def cg(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Conditional gradients (Frank and Wolfe, 1956) with exact line search, from ``x0`` or from a vertex.

    Reference: doi:10.1002/nav.3800030109.

    Examples
    --------
    >>> import numpy as np
    >>> stop = Stop(psi=0.3, gap=1e-9, progress=0.0, max_iter=1000)
    >>> cg(np.eye(1), np.array([-0.5]), 0.5, 1.0, stop).x
    array([0.5])
    """
    x = np.empty(c.size)
    if x0 is None:
        from_weights(_vertex_weights(c), radius, x)
    else:
        x[:] = x0
    loss, gap, n_iter, status = _cg(Q, c, r, radius, *stop, x)
    return Solution(x, loss, gap, n_iter, Status(status))


def pcg(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Pairwise conditional gradients (Lacoste-Julien and Jaggi, 2015), from the vertex ``x0`` or the steepest one.

    Reference: arXiv:1511.05932.
    """
    x, weights = np.empty(c.size), _vertex_weights(c, x0)
    loss, gap, n_iter, status = _pairwise(Q, c, r, radius, *stop, x, weights, False)
    return Solution(x, loss, gap, n_iter, Status(status))


def bpcg(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Blended pairwise conditional gradients (Tsuji et al., 2022), from the vertex ``x0`` or the steepest one.

    References: arXiv:2110.12650; Algorithm 2 of arXiv:2207.01236.

    Examples
    --------
    >>> import numpy as np
    >>> stop = Stop(psi=0.0, gap=1e-9, progress=0.0, max_iter=1000)
    >>> solution = bpcg(np.eye(2), np.array([-1.0, 0.1]), 1.01, 0.5, stop)
    >>> solution.x, solution.status.name
    (array([0.5, 0. ]), 'IMPOSSIBLE')
    """
    x, weights = np.empty(c.size), _vertex_weights(c, x0)
    loss, gap, n_iter, status = _pairwise(Q, c, r, radius, *stop, x, weights, True)
    return Solution(x, loss, gap, n_iter, Status(status))
