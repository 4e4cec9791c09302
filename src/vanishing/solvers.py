"""Solvers for one small quadratic over the l1 ball.

Every solver minimises, for a symmetric positive semidefinite ``Q`` of shape ``(n, n)``,

    f(x) = x'Qx + 2 c'x + r      subject to  |x|_1 <= radius,

which is the mean square ``|A x + b|^2 / m`` of a polynomial with leading term ``b`` when ``Q = A'A/m``, ``c =
A'b/m`` and ``r = b'b/m`` (Line 7 of Algorithm 1 in the paper). All share the signature ``solver(Q, c, r,
radius, stop, x0)`` and return a :class:`Solution`. ``agd`` ignores the radius (tau = infinity).

The vertices of the ball are ``+-radius * e_i``. A step along one or two of them changes ``Qx`` by one or two
columns of ``Q``, so an iteration of ``cg``, ``pcg`` and ``bpcg`` costs O(n). A vertex is its number ``v``:
index ``v >> 1``, sign + for even and - for odd ``v``.

The kernels are plain functions compiled by Numba; ``NUMBA_DISABLE_JIT=1`` runs them as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numba import njit

from ._typing import Float1D, Float2D

__all__ = ["SOLVERS", "Solution", "Status", "Stop", "agd", "bpcg", "cg", "frank_wolfe_gap", "pcg"]


class Status(IntEnum):
    """Why a solver stopped."""

    VANISHING = 0  #: loss <= psi: the polynomial is a generator
    IMPOSSIBLE = 1  #: loss - gap > psi: no generator with this leading term exists in the ball
    OPTIMAL = 2  #: gap <= eps * psi: optimal to the requested accuracy, and the loss is above psi
    STALLED = 3  #: a step made less progress than tol * psi, or progress is too slow to decide within max_iter
    MAX_ITER = 4  #: the iteration limit was reached

    @property
    def certified(self) -> bool:
        """Whether the decision "generator or not" is proved."""
        return self <= Status.OPTIMAL


class Stop(NamedTuple):
    """When to stop: on a decision about ``psi``, a small ``gap``, small ``progress`` (0: never), or ``max_iter``."""

    psi: float
    gap: float
    progress: float
    max_iter: int


class Solution(NamedTuple):
    """A solver's answer; ``gap`` certifies ``loss - optimum <= gap``."""

    x: Float1D
    loss: float
    gap: float
    n_iter: int
    status: Status


# Status values as plain integers, for the compiled code.
_VANISHING, _IMPOSSIBLE, _OPTIMAL, _STALLED, _MAX_ITER = (int(s) for s in Status)

# Qx is updated in place; it is recomputed from the iterate this often, so that round-off cannot build up.
_REFRESH = 4096
_AGD_PERIOD = 512  # iterations between looks at the pace; they cost O(n^2) each
_EPS = float(np.finfo(np.float64).eps)


@njit(cache=True, nogil=True)
def _loss_and_gaps(
    Qx: Float1D, c: Float1D, r: float, x: Float1D, radius: float, convex: float
) -> tuple[float, float, float, int]:
    """Loss, the best gap known, the Frank-Wolfe gap ``max_v <grad, x - v>`` and the vertex that attains it.

    If f is ``convex``-strongly convex then also ``f(x) - min f <= |grad|^2 / (2 convex)``. Close to the
    optimum that is the better bound by far: it is quadratic in the gradient, and the other one is ``radius``
    times the gradient.
    """
    loss, slope, square, steepest, best = r, 0.0, 0.0, -1.0, 0
    for i in range(x.size):
        half = Qx[i] + c[i]
        loss += x[i] * (half + c[i])
        slope += x[i] * half
        square += half * half
        if abs(half) > steepest:
            steepest = abs(half)
            best = 2 * i if half < 0 else 2 * i + 1
    frank_wolfe = 2.0 * (slope + radius * steepest)
    if convex > 0.0 and 2.0 * square < convex * frank_wolfe:
        return loss, 2.0 * square / convex, frank_wolfe, best
    return loss, frank_wolfe, frank_wolfe, best


@njit(cache=True, nogil=True)
def _strong_convexity(Q: Float2D) -> float:
    """Smallest eigenvalue of the Hessian 2Q, rounded down; 0 if it cannot be told from 0."""
    eigenvalues = np.linalg.eigvalsh(Q)
    smallest: float = 2.0 * (eigenvalues[0] - Q.shape[0] * _EPS * eigenvalues[-1])
    return max(smallest, 0.0)


@njit(cache=True, nogil=True)
def _patience(n: int) -> int:
    """Iterations that cost about as much as the eigenvalue for the sharper gap, which only lasting problems need."""
    return max(512, n * n // 4)


@njit(cache=True, nogil=True)
def _hopeless(loss: float, bound: float, last_loss: float, last_bound: float, psi: float, periods_left: float) -> bool:
    """Whether neither the loss nor its lower bound will get to psi, even at the pace of the last period.

    Both slow down as they converge, so that the pace is an optimistic guess.
    """
    falls_short = loss - psi > (last_loss - loss) * periods_left
    return falls_short and psi - bound > (bound - last_bound) * periods_left


@njit(cache=True, nogil=True)
def _verdict(loss: float, gap: float, last_loss: float, psi: float, gap_tol: float, progress: float) -> int:
    """The status that the present loss and gap justify, or -1 to go on."""
    if loss <= psi:
        return _VANISHING
    if loss - gap > psi:
        return _IMPOSSIBLE
    if gap <= gap_tol:
        return _OPTIMAL
    if progress > 0.0 and loss + progress > last_loss:
        return _STALLED
    return -1


@njit(cache=True, nogil=True)
def _from_weights(weights: Float1D, radius: float, x: Float1D) -> None:
    """x = sum of weight times vertex: a coordinate without active vertices is an exact zero."""
    for i in range(x.size):
        x[i] = radius * (weights[2 * i] - weights[2 * i + 1])


@njit(cache=True, nogil=True)
def _product(Q: Float2D, x: Float1D, Qx: Float1D) -> None:
    """Qx = Q x, skipping the zeros of x (Q is symmetric, so its rows are its columns)."""
    Qx[:] = 0.0
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                Qx[i] += x[j] * Q[j, i]


@njit(cache=True, nogil=True)
def _exact_step(slope: float, curvature: float, longest: float) -> float:
    """Minimiser of ``slope * s + curvature * s^2 / 2`` over [0, longest], for slope < 0."""
    if slope >= 0.0:
        return 0.0
    if curvature * longest <= -slope:
        return longest
    return -slope / curvature


@njit(cache=True, nogil=True)
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
    _product(Q, x, Qx)
    last_loss, convex = np.inf, 0.0
    bound, period_loss, period_bound = -np.inf, np.inf, -np.inf
    for it in range(max_iter + 1):
        if it % _REFRESH == 0:
            _product(Q, x, Qx)
        if it == _patience(n):
            convex = _strong_convexity(Q)
        loss, gap, slope, v = _loss_and_gaps(Qx, c, r, x, radius, convex)
        bound = max(bound, loss - gap)
        status = _verdict(loss, gap, last_loss, psi, gap_tol, progress)
        if status >= 0:
            return loss, gap, it, status
        if it == max_iter:
            break
        last_loss = loss
        if it % _REFRESH == 0:
            if _hopeless(loss, bound, period_loss, period_bound, psi, (max_iter - it) / _REFRESH):
                return loss, gap, it, _STALLED
            period_loss, period_bound = loss, bound
        k, t = v >> 1, radius if v % 2 == 0 else -radius
        curvature = t * (t * Q[k, k] - 2.0 * Qx[k])
        for i in range(n):
            curvature += x[i] * Qx[i]
        step = _exact_step(-slope, 2.0 * curvature, 1.0)
        if step <= 0.0:
            return loss, gap, it, _STALLED
        for i in range(n):
            x[i] *= 1.0 - step
            Qx[i] += step * (t * Q[k, i] - Qx[i])
        x[k] += step * t
    return loss, gap, max_iter, _MAX_ITER


@njit(cache=True, nogil=True)
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
    """PCG (``blended=False``) and BPCG from the vertices that carry ``weights``."""
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
        if it % _REFRESH == 0:
            _from_weights(weights, radius, x)
            _product(Q, x, Qx)
        if it == _patience(n):
            convex = _strong_convexity(Q)
        loss, gap, forward, best = _loss_and_gaps(Qx, c, r, x, radius, convex)
        bound = max(bound, loss - gap)
        if _verdict(loss, gap, last_loss, psi, gap_tol, progress) >= 0 or it == max_iter or stuck:
            # The answer is what the weights say; the running x may differ from it in the last digits.
            _from_weights(weights, radius, x)
            _product(Q, x, Qx)
            loss, gap, forward, best = _loss_and_gaps(Qx, c, r, x, radius, convex)
            status = _verdict(loss, gap, last_loss, psi, gap_tol, progress)
            if status >= 0 or it == max_iter or stuck:
                return loss, gap, it, status if status >= 0 else (_STALLED if stuck else _MAX_ITER)
        last_loss = loss
        if it % _REFRESH == 0:
            stuck = _hopeless(loss, bound, period_loss, period_bound, psi, (max_iter - it) / _REFRESH)
            period_loss, period_bound = loss, bound

        away, local, away_at = active[0], active[0], 0
        highest, lowest = -np.inf, np.inf
        for a in range(n_active):
            v = active[a]
            k = v >> 1
            slope = Qx[k] + c[k]
            if v % 2 == 1:
                slope = -slope
            if slope > highest:
                highest, away, away_at = slope, v, a
            if slope < lowest:
                lowest, local = slope, v

        if (
            blended and 2.0 * radius * (highest - lowest) < forward
        ):  # a Frank-Wolfe step promises more than a pairwise one
            k, t = best >> 1, radius if best % 2 == 0 else -radius
            curvature = t * (t * Q[k, k] - 2.0 * Qx[k])
            for i in range(n):
                curvature += x[i] * Qx[i]
            step = _exact_step(-forward, 2.0 * curvature, 1.0)
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
            for i in range(n):
                x[i] *= 1.0 - step
                Qx[i] += step * (t * Q[k, i] - Qx[i])
            x[k] += step * t
            continue

        to = local if blended else best
        k, kt = to >> 1, radius if to % 2 == 0 else -radius
        a, at = away >> 1, radius if away % 2 == 0 else -radius
        slope = 2.0 * (kt * (Qx[k] + c[k]) - at * (Qx[a] + c[a]))
        curvature = kt * kt * Q[k, k] + at * at * Q[a, a] - 2.0 * kt * at * Q[k, a]
        longest = weights[away]
        step = _exact_step(slope, 2.0 * curvature, longest)
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
    return loss, gap, max_iter, _MAX_ITER


@njit(cache=True, nogil=True)
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
        _product(Q, x, Qx)
        loss, norm = r, 0.0
        for i in range(n):
            loss += x[i] * (Qx[i] + 2.0 * c[i])
            norm += 4.0 * (Qx[i] + c[i]) ** 2
        gap = norm / (2.0 * convex) if convex > 0.0 else np.inf
        if norm == 0.0:
            gap = 0.0
        lowest, bound = min(lowest, loss), max(bound, loss - gap)
        status = _verdict(loss, gap, np.inf, psi, gap_tol, 0.0)
        if status >= 0:
            return loss, gap, it, status
        if it == max_iter:
            break
        slow = slow + 1 if progress > 0.0 and loss + progress > last_loss else 0
        if slow >= 20:
            return loss, gap, it, _STALLED
        last_loss = loss
        if it % _AGD_PERIOD == 0:
            if _hopeless(lowest, bound, period_loss, period_bound, psi, (max_iter - it) / _AGD_PERIOD):
                return loss, gap, it, _STALLED
            period_loss, period_bound = lowest, bound
        _product(Q, ahead, gradient)
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
    return loss, gap, max_iter, _MAX_ITER


def _vertex_weights(c: Float1D) -> Float1D:
    """All weight on the vertex that a Frank-Wolfe step from 0 would choose."""
    weights = np.zeros(2 * c.size)
    i = int(np.argmax(np.abs(c)))
    weights[2 * i + (c[i] > 0.0)] = 1.0
    return weights


def frank_wolfe_gap(Q: Float2D, c: Float1D, x: Float1D, radius: float) -> float:
    """Upper bound ``max_v <grad f(x), x - v>`` over the ball on ``f(x) - min f``; infinite for an infinite radius."""
    if np.isinf(radius):
        return np.inf
    half = Q @ x + c
    return 2.0 * float(x @ half + radius * np.abs(half).max(initial=0.0))


def cg(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Conditional gradients (Frank-Wolfe) with exact line search, from ``x0`` or from a vertex.

    Examples
    --------
    >>> import numpy as np
    >>> stop = Stop(psi=0.3, gap=1e-9, progress=0.0, max_iter=1000)
    >>> cg(np.eye(1), np.array([-0.5]), 0.5, 1.0, stop).x
    array([0.5])
    """
    x = np.empty(c.size)
    if x0 is None:
        _from_weights(_vertex_weights(c), radius, x)
    else:
        x[:] = x0
    loss, gap, n_iter, status = _cg(Q, c, r, radius, *stop, x)
    return Solution(x, loss, gap, n_iter, Status(status))


def pcg(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Pairwise conditional gradients (Lacoste-Julien and Jaggi, 2015), from a vertex; ``x0`` is not used."""
    x, weights = np.empty(c.size), _vertex_weights(c)
    loss, gap, n_iter, status = _pairwise(Q, c, r, radius, *stop, x, weights, False)
    return Solution(x, loss, gap, n_iter, Status(status))


def bpcg(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Blended pairwise conditional gradients (Algorithm 2; Tsuji et al., 2022), from a vertex; ``x0`` is not used.

    Examples
    --------
    >>> import numpy as np
    >>> stop = Stop(psi=0.0, gap=1e-9, progress=0.0, max_iter=1000)
    >>> solution = bpcg(np.eye(2), np.array([-1.0, 0.1]), 1.01, 0.5, stop)
    >>> solution.x, solution.status.name
    (array([0.5, 0. ]), 'IMPOSSIBLE')
    """
    x, weights = np.empty(c.size), _vertex_weights(c)
    loss, gap, n_iter, status = _pairwise(Q, c, r, radius, *stop, x, weights, True)
    return Solution(x, loss, gap, n_iter, Status(status))


def agd(Q: Float2D, c: Float1D, r: float, radius: float, stop: Stop, x0: Float1D | None = None) -> Solution:
    """Accelerated gradient descent (Nesterov, 1983) without the constraint, from ``x0`` or from 0.

    The gap is that of strong convexity, ``|grad|^2 / (2 mu)`` with ``mu`` the smallest eigenvalue of the
    Hessian ``2Q``. ``stop.progress`` has to be missed 20 times in a row, as in the paper's Section 5.
    """
    x = np.zeros(c.size) if x0 is None else np.array(x0, dtype=np.float64)
    smooth, convex = 2.0 * float(np.linalg.eigvalsh(Q)[-1]), float(_strong_convexity(Q))
    if smooth <= 0.0:  # Q = 0, so c = 0 as well and every x is optimal
        status = Status.VANISHING if r <= stop.psi else Status.IMPOSSIBLE
        return Solution(x, r, 0.0, 0, status)
    loss, gap, n_iter, status_ = _agd(Q, c, r, smooth, convex, *stop, x)
    return Solution(x, loss, gap, n_iter, Status(status_))


Solver = Callable[[Float2D, Float1D, float, float, Stop, "Float1D | None"], Solution]

SOLVERS: dict[str, Solver] = {"cg": cg, "pcg": pcg, "bpcg": bpcg, "agd": agd}
