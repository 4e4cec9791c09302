"""Compiled functions that the solvers share: the loss, its lower bounds, and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, auto
from typing import Any, NamedTuple

import numpy as np

from .._compiled import compiled
from .._typing import Float1D, Float2D
from ..constants import EPS


class Status(IntEnum):
    """Why a solver stopped; the codes count from 0."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[Any]) -> int:
        return count

    VANISHING = auto()  #: loss <= psi: the polynomial is a generator
    IMPOSSIBLE = auto()  #: loss - gap > psi: no generator with this leading term exists in the ball
    OPTIMAL = auto()  #: gap <= tol * psi: optimal to the requested accuracy, and the loss is above psi
    STALLED = auto()  #: a step improved the loss by less than ``progress``, or progress is too slow for max_iter
    MAX_ITER = auto()  #: the iteration limit was reached

    @property
    def certified(self) -> bool:
        """Whether the decision "generator or not" is proved, up to the requested accuracy."""
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


Solver = Callable[[Float2D, Float1D, float, float, Stop, "Float1D | None"], Solution]


# Status values as plain integers, for the compiled code.
VANISHING, IMPOSSIBLE, OPTIMAL, STALLED, MAX_ITER = (int(s) for s in Status)

PERIOD = 4096  # iterations between checks of the pace, after which products updated in place are computed anew
TIE = 1e-9  # slopes with a smaller relative difference count as equal


@compiled
def loss_and_gaps(
    Qx: Float1D, c: Float1D, r: float, x: Float1D, radius: float, convex: float
) -> tuple[float, float, float, int]:
    """Loss, the smaller of two gaps, the Frank-Wolfe gap ``max_v <grad, x - v>`` and the vertex that attains it.

    The second gap holds if f is ``convex``-strongly convex: ``f(x) - min f <= |grad|^2 / (2 convex)``. Close to the
    unconstrained optimum it is far smaller: it is quadratic in the gradient, the Frank-Wolfe gap linear.
    """
    loss, slope, square, steepest, chosen, best = r, 0.0, 0.0, 0.0, -1.0, 0
    for i in range(x.size):
        half = Qx[i] + c[i]
        loss += x[i] * (half + c[i])
        slope += x[i] * half
        square += half * half
        steepest = max(steepest, abs(half))
        if abs(half) > (1.0 + TIE) * chosen:  # in a tie the first one, independent of rounding
            chosen = abs(half)
            best = 2 * i if half < 0 else 2 * i + 1
    frank_wolfe = 2.0 * (slope + radius * steepest)
    if convex > 0.0 and 2.0 * square < convex * frank_wolfe:
        return loss, 2.0 * square / convex, frank_wolfe, best
    return loss, frank_wolfe, frank_wolfe, best


@compiled
def strong_convexity(Q: Float2D) -> float:
    """Smallest eigenvalue of the Hessian 2Q, rounded down; 0 if rounding cannot distinguish it from 0."""
    eigenvalues = np.linalg.eigvalsh(Q)
    smallest: float = 2.0 * (eigenvalues[0] - Q.shape[0] * EPS * eigenvalues[-1])
    return max(smallest, 0.0)


@compiled
def first_check(n: int) -> int:
    """Iteration at which a solver first computes the gap of strong convexity, at the cost of all iterations so far."""
    return max(512, n * n // 4)


@compiled
def hopeless(loss: float, bound: float, last_loss: float, last_bound: float, psi: float, periods_left: float) -> bool:
    """Whether neither the loss nor its lower bound will reach psi, even at the pace of the last period.

    Both slow down as they converge, so the pace is an optimistic estimate.
    """
    falls_short = loss - psi > (last_loss - loss) * periods_left
    return falls_short and psi - bound > (bound - last_bound) * periods_left


@compiled
def verdict(loss: float, gap: float, last_loss: float, psi: float, gap_tol: float, progress: float) -> int:
    """The status that loss and gap justify, or -1 to continue."""
    if loss <= psi:
        return VANISHING
    if loss - gap > psi:
        return IMPOSSIBLE
    if gap <= gap_tol:
        return OPTIMAL
    if progress > 0.0 and loss + progress > last_loss:
        return STALLED
    return -1


@compiled
def from_weights(weights: Float1D, radius: float, x: Float1D) -> None:
    """Set x to the sum of weights times vertices; coordinates without active vertices are exact zeros."""
    for i in range(x.size):
        x[i] = radius * (weights[2 * i] - weights[2 * i + 1])


@compiled
def product(Q: Float2D, x: Float1D, Qx: Float1D) -> None:
    """Set Qx to Q x, skipping the zeros of x (Q is symmetric: its rows are its columns)."""
    Qx[:] = 0.0
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                Qx[i] += x[j] * Q[j, i]


@compiled
def exact_step(slope: float, curvature: float, longest: float) -> float:
    """Minimiser of ``slope * s + curvature * s^2 / 2`` over [0, longest], for slope < 0."""
    if slope >= 0.0:
        return 0.0
    if curvature * longest <= -slope:
        return longest
    return -slope / curvature


@compiled
def frank_wolfe_step(Q: Float2D, Qx: Float1D, x: Float1D, vertex: int, radius: float, forward: float) -> float:
    """Move x and Qx towards a vertex by exact line search; return the step. ``forward`` is ``<grad, x - vertex>``."""
    k, t = vertex >> 1, radius if vertex % 2 == 0 else -radius
    curvature = t * (t * Q[k, k] - 2.0 * Qx[k])
    for i in range(x.size):
        curvature += x[i] * Qx[i]
    step = exact_step(-forward, 2.0 * curvature, 1.0)
    if step > 0.0:
        for i in range(x.size):
            x[i] *= 1.0 - step
            Qx[i] += step * (t * Q[k, i] - Qx[i])
        x[k] += step * t
    return step


def loss_and_gap(Q: Float2D, c: Float1D, r: float, x: Float1D, radius: float) -> tuple[float, float]:
    """f(x), and the Frank-Wolfe gap ``max_v <grad f(x), x - v>``, an upper bound on ``f(x) - min f`` over the ball.

    The gap is infinite for an infinite radius.
    """
    half = Q @ x + c
    loss = float(x @ (half + c) + r)
    if np.isinf(radius):
        return loss, np.inf
    return loss, 2.0 * float(x @ half + radius * np.abs(half).max(initial=0.0))
