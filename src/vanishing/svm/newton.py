"""Proximal Newton method for the l1-penalised squared hinge, with a duality gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from .subproblem import minimise, violation
from .sums import SquaredHinge, Sums

_PART_TOL = 1e-2  # relative duality gap to which a part of the rows is fitted, to start from
_WIDEST = 3  # times the columns of the working set, up to which a Hessian is kept up to date in more of them
_STEPS = 0.5 ** np.arange(1.0, 13.0)  # lengths that are tried when a full step does not lower the objective enough
_ENOUGH = 1e-3  # share of the decrease foreseen that a step has to reach
_ROUNDING = 1e-13  # relative changes of the objective below this one are rounding
_IDLE = 4  # steps in a row without any change but rounding, after which the method ends
_RIDGE = 1e-12  # share of the Hessian's diagonal over all rows that is always added to it
_DAMPING = 1e-6  # share that is added after a step that had to be cut; then four times as much, or a third
_INEXACT = 0.01  # a step's problem is solved to this share of the present violation


class Hyperplane(NamedTuple):
    """A minimiser ``x = (w, b)``: its objective is at most ``gap`` above the optimum, after ``n_iter`` steps.

    ``converged`` says whether that is as little as was asked for.
    """

    x: Float1D
    objective: float
    gap: float
    n_iter: int
    converged: bool


def hyperplanes(data: SquaredHinge, Cs: Sequence[float], *, tol: float, max_iter: int) -> Iterator[Hyperplane]:
    """Minimisers of ``|w|_1 + C * sum of |s| max(0, 1 - y (w'z + b))^2`` for each C, each from the one before.

    Ends with a duality gap of at most ``tol`` times the objective (or 1e-15 of that at zero, if it is larger). Where
    there are many rows, a part of them that fits into memory is minimised first, and the move of its minimiser from
    one C to the next foresees that of all rows: steps on the part need no pass over the rows.
    """
    x = np.zeros(data.n_columns + 1)
    part, foreseen, curvature = data.part(), x, None
    for C in _approach(data, x, float(Cs[0])):
        plane, curvature = _minimise(data, C, x, curvature, 0.1, max_iter)
        x = plane.x
    for C in Cs:
        start = x
        if part is not None:
            plane, _ = _minimise(part, float(C), foreseen, None, _PART_TOL, max_iter)
            start, foreseen = x + (plane.x - foreseen), plane.x
        plane, curvature = _minimise(data, float(C), start, curvature, tol, max_iter)
        x = plane.x
        yield plane


def _approach(data: SquaredHinge, x: Float1D, C: float) -> list[float]:
    """Smaller values of C to come from, where rows are so few that a Newton step from zero knows too little."""
    if 4 * data.n_columns < data.n_rows:
        return []
    steepest = float(np.abs(data.sums(x).slope).max())
    n_decades = int(np.clip(np.log10(max(C * steepest, 1.0)), 0, 30))
    return [C * 10.0**-k for k in range(n_decades, 0, -1)]


class _Curvature(NamedTuple):
    """The Hessian of the loss in some columns, and the point where it was taken."""

    x: Float1D
    columns: Int1D
    hessian: Float2D


def _minimise(
    data: SquaredHinge,
    C: float,
    x: Float1D,
    curvature: _Curvature | None,
    tol: float,
    max_iter: int,
) -> tuple[Hyperplane, _Curvature | None]:
    """Newton steps from x, where the Hessian may be known at another point."""
    sums = data.sums(x)
    value, gap = _objective(x, C, sums.loss), duality_gap(x, C, sums)
    floor = 1e-15 * C * data.total_weight
    n_iter, damping, n_idle, least = 0, _RIDGE, 0, gap
    while gap > tol * max(value, floor) and n_iter < max_iter and n_idle < _IDLE:
        n_iter += 1
        before = value
        slope = C * sums.slope
        working = _working_set(x, slope)
        curvature = _curvature(data, x, working, curvature)
        direction = _direction(data, C, x, slope, working, curvature, damping)
        foreseen = _foreseen_change(x, slope, direction)
        step, x, sums = _search(data, C, x, sums, foreseen, direction)
        if step == 0.0 and damping >= 1.0:  # rounding is all that is left
            break
        value, gap = _objective(x, C, sums.loss), duality_gap(x, C, sums)
        if step > 0.0:  # else more damping may help
            n_idle = n_idle + 1 if gap >= least and abs(value - before) <= _ROUNDING * value else 0
        least = min(least, gap)
        if step == 1.0:
            damping = max(damping / 3.0, _RIDGE)
        elif step < 0.5:
            damping = max(4.0 * damping, _DAMPING)
    return Hyperplane(x, value, gap, n_iter, converged=gap <= tol * max(value, floor)), curvature


def duality_gap(x: Float1D, C: float, sums: Sums) -> float:
    """How far the objective at x is above the optimum, at most.

    The dual is ``max sum_i a_i - a_i^2 / (4 C |s_i|)`` over ``a >= 0`` with ``sum_i a_i y_i = 0`` and
    ``|sum_i a_i y_i z_i| <= 1`` in every column. The point ``a_i = 2 C |s_i| xi_i`` becomes feasible when each label's
    share is scaled to the same total, and both together to fit the columns' bounds; all that is known from the sums.
    """
    negative, positive = sums.shortfall.tolist()
    if min(negative, positive) == 0.0:
        return _objective(x, C, sums.loss)
    most = max(negative, positive)
    shares, squares = (positive / most, negative / most), sums.squares.tolist()
    moment = 2.0 * C * float(np.abs(shares[1] * sums.moments[1] - shares[0] * sums.moments[0]).max(initial=0.0))
    linear = shares[0] * negative + shares[1] * positive
    square = shares[0] ** 2 * squares[0] + shares[1] ** 2 * squares[1]
    if square == 0.0:  # rounded
        return _objective(x, C, sums.loss)
    scale = min(linear / square, 1.0 / moment if moment > 0.0 else np.inf)
    dual = C * scale * (2.0 * linear - scale * square)
    return float(max(_objective(x, C, sums.loss) - dual, 0.0))


def _objective(x: Float1D, C: float, loss: float) -> float:
    return _length(x) + C * loss


def _curvature(data: SquaredHinge, x: Float1D, columns: Int1D, known: _Curvature | None) -> _Curvature:
    """The Hessian at x over the working set, and over the columns of one known elsewhere, which may be needed again.

    A known Hessian of far more columns is left behind: it would cost more to bring up to date than a new one.
    """
    if known is None or known.columns.size > _WIDEST * columns.size:
        return _Curvature(x, columns, data.hessian(x, columns))
    is_new = np.zeros(x.size, dtype=bool)
    is_new[columns] = True
    is_new[known.columns] = False
    columns = np.append(np.flatnonzero(is_new), known.columns)
    return _Curvature(x, columns, data.hessian(x, columns, (known.x, known.hessian)))


def _working_set(x: Float1D, slope: Float1D) -> Int1D:
    """Columns in use, and the violating ones, largest violation first: up to a third as many as are used, or 64."""
    used = x[:-1] != 0.0
    eager = np.where(used, 0.0, np.abs(slope[:-1]))
    wanted = eager > 1.0
    most = max(int(np.count_nonzero(used)) // 3, 64)
    if np.count_nonzero(wanted) <= most:
        return np.flatnonzero(used | wanted)
    return np.sort(np.concatenate([np.flatnonzero(used), np.argsort(-eager, kind="stable")[:most]]))


def _direction(
    data: SquaredHinge, C: float, x: Float1D, slope: Float1D, columns: Int1D, curvature: _Curvature, damping: float
) -> Float1D:
    """From x to the minimiser of the second-order model over the working set.

    The model counts the rows with xi > 0 only. Where these are few, it knows nothing of the rows that a step would
    bring in; damping, by a share of the diagonal over all rows, keeps the step short then.
    """
    place = np.empty(x.size, dtype=np.int64)
    place[curvature.columns], place[-1] = np.arange(curvature.columns.size), curvature.columns.size
    chosen = np.append(columns, x.size - 1)
    places, penalty = place[chosen], np.ones(chosen.size)
    penalty[-1] = 0.0
    H = curvature.hessian[places[:, None], places]
    H *= C
    H.ravel()[:: chosen.size + 1] += damping * C * data.diagonal[chosen] + 1e-300
    start, slope = x[chosen], slope[chosen]
    target, tol = start.copy(), max(_INEXACT * violation(slope, penalty, start), 1e-9)
    minimise(H, slope - H @ start, penalty, target, tol)
    direction = np.zeros(x.size)
    direction[chosen] = target - start
    return direction


def _search(
    data: SquaredHinge, C: float, x: Float1D, sums: Sums, foreseen: float, direction: Float1D
) -> tuple[float, Float1D, Sums]:
    """A step along the direction that lowers the objective enough; 0 if there is none.

    Near the optimum the objective changes by less than its rounding; there a step counts that lowers the gap.
    """
    w, dw, value = x[:-1], direction[:-1], _objective(x, C, sums.loss)
    whole = x + direction
    there = data.sums(whole)
    change = _objective(whole, C, there.loss) - value
    if change <= _ENOUGH * foreseen:
        return 1.0, whole, there
    if abs(change) <= _ROUNDING * value and duality_gap(whole, C, there) < duality_gap(x, C, sums):
        return 1.0, whole, there
    values = C * data.losses(x, direction, _STEPS) + np.abs(w + _STEPS[:, None] * dw).sum(axis=1)
    good = np.flatnonzero(values <= value + _ENOUGH * _STEPS * foreseen)
    if foreseen >= 0.0 or good.size == 0:
        return 0.0, x, sums
    step = float(_STEPS[good[np.argmin(values[good])]])
    moved = x + step * direction
    return step, moved, data.sums(moved)


def _foreseen_change(x: Float1D, slope: Float1D, direction: Float1D) -> float:
    """Of the objective along the direction, to first order in the loss."""
    return float(slope @ direction) + _length(x + direction) - _length(x)


def _length(x: Float1D) -> float:
    """The sum of the absolute weights."""
    return float(np.abs(x[:-1]).sum())
