"""Proximal Newton method for the l1-penalised squared hinge, with a duality gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from .kept import Near
from .subproblem import minimise, violation
from .sums import SquaredHinge, Sums

_FEW = 64  # columns whose Hessian is always computed as a whole
_MANY = 1024  # columns whose Hessian is computed as a whole, if these are at most ...
_FEW_TIMES = 2  # ... as many times those of the working set; and beyond ...
_MANY_TIMES = 3  # ... as many it is not kept up to date
_STEPS = 0.5 ** np.arange(1.0, 13.0)  # tried when a full step does not lower the objective enough
_ENOUGH = 1e-3  # of the decrease foreseen
_ROUNDING = 1e-13  # of the objective, in which its changes are lost
_IDLE = 4  # steps in a row that change nothing but rounding, after which none is left
_RIDGE = 1e-12  # of the Hessian's diagonal over all rows, added to it: columns may repeat each other
_DAMPING = 1e-6  # added instead after a step that had to be cut; then four times as much, or a third
_RECOUNT_AFTER = 5  # steps on all rows before those near the margin are counted again
_ROUGH = 0.01  # relative duality gap to which a sample of the rows is fitted
_PRECISE = 1e-3  # of the gap that was asked for: over the rows in memory, whose steps cost no pass
_INEXACT = 0.01  # a step's problem is solved to this share of the present violation
_SHORT_ROWS = 10  # rows of a part that a Hessian knows for every column, at least, if it is to serve for all rows
_OF_CHANCE = 0.5  # of the relative standard error of a sum over rows: a decrease foreseen below that ends these steps
_LITTLE_CHANCE = 1e-3  # the same where columns are few, and one more step costs little
_BY_PART = 8  # steps on all rows by the Hessian of a part, at most


class Hyperplane(NamedTuple):
    """A minimiser ``x = (w, b)``: its objective is at most ``gap`` above the optimum, after ``n_iter`` steps.

    ``converged`` says whether that is as little as was asked for.
    """

    x: Float1D
    objective: float
    gap: float
    n_iter: int
    converged: bool


def hyperplanes(
    data: SquaredHinge, Cs: Sequence[float], *, tol: float, max_iter: int, proven: bool = True
) -> Iterator[Hyperplane]:
    """Minimisers of ``|w|_1 + C * sum of |s| max(0, 1 - y (w'z + b))^2`` for each C, each from the one before.

    Ends with a duality gap of at most ``tol`` times the objective (or 1e-15 of that at zero, if it is larger); if that
    need not be ``proven``, after a whole step already from which no larger decrease was foreseen.
    """
    x = np.zeros(data.n_columns + 1)
    curvature = None
    for C in _approach(data, x, float(Cs[0])):
        plane, curvature = _minimise(data, C, x, curvature, 0.1, max_iter)
        x = plane.x
    if data.room == 0:  # all rows, which are few, in every step
        for C in Cs:
            plane, curvature = _minimise(data, float(C), x, curvature, tol, max_iter, proven=proven)
            x = plane.x
            yield plane
        return
    for C, move in zip(Cs, _foreseen_moves(data, Cs, max_iter), strict=True):
        plane, curvature = _minimise_in_turns(data, float(C), x + move, curvature, tol, max_iter, proven=proven)
        x = plane.x
        yield plane


def hyperplane_from(
    part: SquaredHinge, data: SquaredHinge, C: float, *, tol: float, part_tol: float, max_iter: int
) -> Hyperplane:
    """The minimiser over many rows from that over a part of them, whose weights make it stand for all.

    The part's Hessian serves for steps on all rows, so that each takes one pass, for the gradient. They end where the
    decrease foreseen is no more than ``0.5 / sqrt(m)`` of the loss: other m rows would change that by more; for few
    columns, where a pass costs little, 0.001 stands for 0.5. The gap, which needs a gradient that vanishes to a
    penalty of 1 beside a loss that grows with m, may be much larger then.
    Where a part says too little, as of classes that are almost separable, the steps are those of :func:`hyperplanes`.
    """
    plane, curvature = _minimise(part, C, np.zeros(data.n_columns + 1), None, part_tol, max_iter)
    refined = _refine(data, part, C, plane, curvature, max_iter)
    if refined.converged or refined.n_iter >= max_iter:
        return refined
    last, _ = _minimise_in_turns(data, C, refined.x, None, tol, max_iter - refined.n_iter)
    return last._replace(n_iter=refined.n_iter + last.n_iter)


def _refine(
    data: SquaredHinge, part: SquaredHinge, C: float, plane: Hyperplane, curvature: _Curvature | None, max_iter: int
) -> Hyperplane:
    """Steps on all rows by the Hessian of a part, corrected by how the gradient over all rows has changed so far.

    Ends unconverged where the part knows too few rows, or where too many steps have not been enough.
    """
    n_iter, x, sums, moves = plane.n_iter, plane.x, part.sums(plane.x), list[tuple[Float1D, Float1D]]()
    curvature = _curvature(part, x, _working_set(x, C * sums.slope), curvature)
    if n_iter < max_iter and not _knows_enough(part, curvature):
        return plane._replace(converged=False)
    sums, step, converged = data.sums(x), 1.0, False
    share = _OF_CHANCE if data.n_columns > _FEW else _LITTLE_CHANCE
    enough = share / np.sqrt(max(data.rows.n_samples or 0, part.n_rows))
    while step > 0.0 and len(moves) <= _BY_PART and n_iter < max_iter:
        slope = C * sums.slope
        working = _working_set(x, slope)
        curvature = _curvature(part, x, working, curvature)
        direction = _direction(part, C, x, slope, working, _corrected(curvature, moves), _RIDGE)
        foreseen = _foreseen_change(x, slope, direction)
        converged = -foreseen <= enough * C * sums.loss
        if converged:
            break
        before, n_iter = sums.slope, n_iter + 1
        step, x, sums = _search(data, C, x, sums, foreseen, direction)
        moves.append((step * direction, sums.slope - before))
    return Hyperplane(x, _objective(x, C, sums.loss), duality_gap(x, C, sums), n_iter, converged)


def _corrected(curvature: _Curvature, moves: Sequence[tuple[Float1D, Float1D]]) -> _Curvature:
    """A Hessian that agrees with the last of some moves and the change of the gradient there (BFGS)."""
    H, chosen = curvature.hessian.copy(), np.append(curvature.columns, -1)
    for move, change in moves:
        d, y = move[chosen], change[chosen]
        Hd = H @ d
        if min(float(d @ Hd), float(d @ y)) > 0.0:
            H += np.outer(y, y / float(d @ y)) - np.outer(Hd, Hd / float(d @ Hd))
    return curvature._replace(hessian=H)


def _knows_enough(part: SquaredHinge, curvature: _Curvature) -> bool:
    """Whether the short rows of a part are many times its columns."""
    n_short = 0.5 * float(curvature.hessian[-1, -1]) / part.total_weight * part.n_rows
    return n_short >= _SHORT_ROWS * part.n_columns


def _minimise_in_turns(
    data: SquaredHinge,
    C: float,
    x: Float1D,
    curvature: _Curvature | None,
    tol: float,
    max_iter: int,
    *,
    proven: bool = True,
) -> tuple[Hyperplane, _Curvature | None]:
    """By the rows near the margin alone, where memory holds them; else by a few steps on all rows, until it does."""
    n_iter = 0
    for n_steps_at_most in (_RECOUNT_AFTER, _RECOUNT_AFTER, max_iter):
        x, sums, n_steps = _reduce_to_near(data, C, x, tol, max_iter - n_iter)
        n_iter += n_steps
        most = min(n_steps_at_most if data.room else max_iter, max_iter - n_iter)
        plane, curvature = _minimise(data, C, x, curvature, tol, most, sums, proven=proven)
        x, n_iter = plane.x, n_iter + plane.n_iter
        if plane.converged or plane.n_iter < most or n_iter >= max_iter:
            break
    return plane._replace(n_iter=n_iter), curvature


def _foreseen_moves(data: SquaredHinge, Cs: Sequence[float], max_iter: int) -> list[Float1D]:
    """How the minimiser over a sample moves from zero to the first C, and on to the next."""
    sample, x, moves = data.sample(), np.zeros(data.n_columns + 1), []
    for C in Cs:
        plane, _ = _minimise(sample, float(C), x, None, _ROUGH, max_iter)
        moves.append(plane.x - x)
        x = plane.x
    return moves


def _reduce_to_near(
    data: SquaredHinge, C: float, x: Float1D, tol: float, max_iter: int
) -> tuple[Float1D, Sums | None, int]:
    """Minimise over the rows near the margin alone, and over more until no others are short; ends with the best point.

    The rows beyond the margin have no part in the minimum. Where the classes are (almost) separable, these are nearly
    all: a Newton step there knows few rows, and it takes many steps until the margin is narrow. Among the rows near the
    margin these steps need no pass. Where too many are near, or rounding is all that is left, it gives up.
    """
    if data.room == 0:
        return x, None, 0
    n_iter, known = 0, 0
    sums, near = data.sums_and_near(x, Near.nowhere(data.n_columns))
    best = _objective(x, C, sums.loss), x, sums
    while near is not None and near.signed.size > known and n_iter < max_iter:
        if duality_gap(best[1], C, best[2]) <= tol * best[0]:
            break
        known = near.signed.size
        alone = SquaredHinge.in_memory(near.Z, near.signed)
        plane, _ = _minimise(alone, C, best[1], None, _PRECISE * tol, max_iter - n_iter)
        n_iter += plane.n_iter
        sums, near = data.sums_and_near(plane.x, near)
        best = min(best, (_objective(plane.x, C, sums.loss), plane.x, sums), key=lambda point: point[0])
    return best[1], best[2], n_iter


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
    sums: Sums | None = None,
    *,
    proven: bool = True,
) -> tuple[Hyperplane, _Curvature | None]:
    """Newton steps on all rows from x, where the sums may be known, and the Hessian anywhere."""
    sums = data.sums(x) if sums is None else sums
    value, gap = _objective(x, C, sums.loss), duality_gap(x, C, sums)
    floor = 1e-15 * C * data.total_weight
    n_iter, damping, n_idle, least, at_end = 0, _RIDGE, 0, gap, False
    while gap > tol * max(value, floor) and n_iter < max_iter and n_idle < _IDLE and not at_end:
        n_iter += 1
        before = value
        slope = C * sums.slope
        working = _working_set(x, slope)
        curvature = _curvature(data, x, working, curvature)
        direction = _direction(data, C, x, slope, working, curvature, damping)
        foreseen = _foreseen_change(x, slope, direction)
        little_foreseen = -foreseen <= tol * value
        step, x, sums = _search(data, C, x, sums, foreseen, direction)
        at_end = not proven and step == 1.0 and little_foreseen
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
    return Hyperplane(x, value, gap, n_iter, converged=at_end or gap <= tol * max(value, floor)), curvature


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
    """The Hessian at x over the working set, and over all columns where these are few, or few more.

    From one known elsewhere it takes over its columns, which may be needed again, unless these are too many by now.
    """
    if x.size <= max(_FEW, min(_MANY, _FEW_TIMES * columns.size)):
        columns = np.arange(x.size - 1)
    if known is None or known.columns.size > _MANY_TIMES * columns.size:
        return _Curvature(x, columns, data.hessian(x, columns))
    is_new = np.zeros(x.size, dtype=bool)
    is_new[columns] = True
    is_new[known.columns] = False
    columns = np.append(np.flatnonzero(is_new), known.columns)
    return _Curvature(x, columns, data.hessian(x, columns, (known.x, known.hessian)))


def _working_set(x: Float1D, slope: Float1D) -> Int1D:
    """Columns in use, and those that want to be, the most eager first: up to a third as many, or a few."""
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
