"""Proximal Newton method for the l1-penalised squared hinge, with a duality gap.

A step minimises a quadratic model of the loss plus the penalty over a working set of columns, by an active-set method.
Among the points with given zeros and signs (a face), the minimiser solves a linear system. The way to it goes as far as
the signs last, and drops what reaches zero; from the minimiser of a face, coordinates whose gradient exceeds their
penalty join. Every step lowers the model, so no face comes twice. A Cholesky factor of the face's matrix follows at a
quadratic price per change.

A coordinate may depend on the face: H is singular where columns repeat each other. The model is then linear along the
null direction of H that contains it, so it goes down that way until a coordinate of the face reaches zero, whose place
it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from .._compiled import compiled
from .._typing import Float1D, Float2D, Int1D
from ..cholesky import append_column, delete_column, solve_factored
from ..constants import EPS, ROOT_EPS, SINGULAR, TINY
from .sums import SquaredHinge, Sums

_ROUGH = 0.01  # relative accuracy of what only starts a step or a path: a part of the rows errs by as much
_ROWS_FOR_NEWTON = 4  # rows for each column; with fewer, Newton steps start at smaller C
_NEW_COLUMNS = 64  # columns that may enter the working set in one step: 3 times the time for many classes without
_WIDEST = 3  # times the columns of the working set, up to which a Hessian is kept up to date in more of them
_STEPS = 0.5 ** np.arange(1.0, 13.0)  # lengths that one pass tries when a full step does not lower the objective


class Hyperplane(NamedTuple):
    """A minimiser ``x = (w, b)``: its objective is at most ``gap`` above the optimum, after ``n_iter`` steps.

    ``converged`` says whether the gap is as small as it had to be.
    """

    x: Float1D
    objective: float
    gap: float
    n_iter: int
    converged: bool


class _Curvature(NamedTuple):
    """The Hessian of the loss in some columns of w and in b, and the point where it was taken."""

    x: Float1D
    columns: Int1D
    hessian: Float2D


def hyperplanes(data: SquaredHinge, Cs: Sequence[float], *, tol: float, max_iter: int) -> Iterator[Hyperplane]:
    """Minimisers of ``|w|_1 + C * sum of |s| max(0, 1 - y (w'z + b))^2`` for each C, each from the one before.

    The weights have the signs that ``data`` asks for. Ends with a duality gap of at most ``tol`` times the objective.
    Where there are many rows, a part of them that fits into memory is minimised first, and the move of its minimiser
    from one C to the next predicts that of all rows: steps on the part need no pass over the rows.
    """
    x = np.zeros(data.n_columns + 1)
    part, predicted, curvature = data.part(), x, None
    for C in _approach(data, x, float(Cs[0])):
        plane, curvature = _minimise(data, C, x, curvature, _ROUGH, max_iter)
        x = plane.x
    for C in Cs:
        start = x
        if part is not None:
            plane, _ = _minimise(part, float(C), predicted, None, _ROUGH, max_iter)
            start, predicted = allowed(x + (plane.x - predicted), data.signs), plane.x
        plane, curvature = _minimise(data, float(C), start, curvature, tol, max_iter)
        x = plane.x
        yield plane


def _approach(data: SquaredHinge, x: Float1D, C: float) -> list[float]:
    """The smaller powers of ten of C, ascending, from the first with a weight on; none where there are many rows."""
    if (data.rows.n_samples or np.inf) > _ROWS_FOR_NEWTON * data.n_columns:
        return []
    steepest = float(pull(data.sums(x).slope, data.signs).max())
    return [C * 10.0**-k for k in range(int(np.log10(max(C * steepest, 1.0))), 0, -1)]


def _minimise(
    data: SquaredHinge, C: float, x: Float1D, curvature: _Curvature | None, tol: float, max_iter: int
) -> tuple[Hyperplane, _Curvature | None]:
    """Newton steps from x, where the Hessian may be known at another point.

    Ends at a gap of ``tol`` times the objective, or at a step that lowers neither objective nor gap: then rounding is
    all that is left.
    """
    sums = data.sums(x)
    value, gap = _objective(x, C, sums.loss), duality_gap(x, C, sums, data.signs)
    floor = EPS * C * data.total_weight
    n_iter, damping = 0, 0.0
    while gap > tol * max(value, floor) and n_iter < max_iter:
        n_iter += 1
        slope = C * sums.slope
        columns = _working_set(x, pull(slope, data.signs))
        curvature = _curvature(data, x, columns, curvature)
        direction = _direction(data, C, x, slope, columns, curvature, damping)
        step, x, sums = _search(data, C, x, sums, direction)
        before, value = value, _objective(x, C, sums.loss)
        least, gap = gap, duality_gap(x, C, sums, data.signs)
        if damping >= 1.0 if step == 0.0 else value >= before and gap >= least:
            break
        if step == 1.0:
            damping /= 3.0
        elif step < 0.5:
            damping = max(4.0 * damping, ROOT_EPS)  # share of the diagonal
    return Hyperplane(x, value, gap, n_iter, converged=gap <= tol * max(value, floor)), curvature


def allowed(x: Float1D, signs: Float1D) -> Float1D:
    """The nearest point whose coordinates have these signs."""
    return np.where(signs * x < 0.0, 0.0, x)


def pull(gradient: Float1D, signs: Float1D) -> Float1D:
    """How fast the loss falls at most when a coordinate leaves zero; not positive where it may only go the other way.

    Examples
    --------
    >>> import numpy as np
    >>> pull(np.array([-2.0, -2.0, -2.0]), np.array([0.0, 1.0, -1.0]))
    array([ 2.,  2., -2.])
    """
    return np.where(signs == 0.0, np.abs(gradient), -signs * gradient)


def duality_gap(x: Float1D, C: float, sums: Sums, signs: Float1D | None = None) -> float:
    """How far the objective at x is above the optimum, at most.

    The dual is ``max sum_i a_i - a_i^2 / (4 C |s_i|)`` over ``a >= 0`` with ``sum_i a_i y_i = 0`` and
    ``|sum_i a_i y_i z_i| <= 1`` in every column. The point ``a_i = 2 C |s_i| xi_i`` becomes feasible when each label's
    share is scaled to the same total, and both together to fit the columns' bounds; the sums tell all of that. A
    weight that may only have one sign bounds its sum on that side alone.
    """
    negative, positive = sums.shortfall.tolist()
    if min(negative, positive) == 0.0:
        return _objective(x, C, sums.loss)
    most = max(negative, positive)
    shares, squares = (positive / most, negative / most), sums.squares.tolist()
    slope = shares[0] * sums.moments[0] - shares[1] * sums.moments[1]
    steepest = np.abs(slope) if signs is None else pull(slope, signs[:-1])
    moment = 2.0 * C * float(steepest.max(initial=0.0))
    linear = shares[0] * negative + shares[1] * positive
    square = shares[0] ** 2 * squares[0] + shares[1] ** 2 * squares[1]
    if square == 0.0:  # rounded
        return _objective(x, C, sums.loss)
    scale = min(linear / square, 1.0 / moment if moment > 0.0 else np.inf)
    dual = C * scale * (2.0 * linear - scale * square)
    return float(max(_objective(x, C, sums.loss) - dual, 0.0))


def _objective(x: Float1D, C: float, loss: float) -> float:
    return float(np.abs(x[:-1]).sum()) + C * loss


def _working_set(x: Float1D, pulls: Float1D) -> Int1D:
    """Columns in use, and the violating ones, largest violation first: a third as many as are used, or some."""
    used = x[:-1] != 0.0
    excess = np.where(used, 0.0, pulls[:-1])
    most = max(int(np.count_nonzero(used)) // 3, _NEW_COLUMNS)
    if np.count_nonzero(excess > 1.0) <= most:
        return np.flatnonzero(used | (excess > 1.0))
    return np.sort(np.append(np.flatnonzero(used), np.argsort(-excess, kind="stable")[:most]))


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


def _direction(
    data: SquaredHinge, C: float, x: Float1D, slope: Float1D, columns: Int1D, curvature: _Curvature, damping: float
) -> Float1D:
    """From x to the minimiser of the second-order model over the working set.

    The model counts the rows with xi > 0 only. Where these are few, it knows nothing of the rows that a step would
    bring in; damping, by a share of the diagonal over all rows, keeps the step short then.
    """
    chosen, place = np.append(columns, x.size - 1), np.empty(x.size, dtype=np.int64)
    place[curvature.columns], place[-1] = np.arange(curvature.columns.size), curvature.columns.size
    places = place[chosen]
    penalty = np.ones(chosen.size)
    penalty[-1] = 0.0
    H = C * curvature.hessian[places[:, None], places]
    H.ravel()[:: chosen.size + 1] += damping * C * data.diagonal[chosen] + TINY
    start, slope, signs = x[chosen], slope[chosen], data.signs[chosen]
    target = start.copy()
    minimise(H, slope - H @ start, penalty, target, _ROUGH * violation(slope, penalty, start, signs), signs)
    direction = np.zeros(x.size)
    direction[chosen] = allowed(target, signs) - start
    return direction


def _search(data: SquaredHinge, C: float, x: Float1D, sums: Sums, direction: Float1D) -> tuple[float, Float1D, Sums]:
    """A step along the direction that lowers the objective; 0 if no length does.

    Near the optimum the objective changes by less than its rounding; there a step counts that lowers the gap.
    """
    value, whole = _objective(x, C, sums.loss), x + direction
    there = data.sums(whole)
    change = _objective(whole, C, there.loss) - value
    if change < 0.0 or (
        change <= EPS * value and duality_gap(whole, C, there, data.signs) < duality_gap(x, C, sums, data.signs)
    ):
        return 1.0, whole, there
    lengths = np.abs(x[:-1] + _STEPS[:, None] * direction[:-1]).sum(axis=1)
    values = C * data.losses(x, direction, _STEPS) + lengths
    best = int(np.argmin(values))
    if not values[best] < value:
        return 0.0, x, sums
    moved = x + float(_STEPS[best]) * direction
    return float(_STEPS[best]), moved, data.sums(moved)


# The problem of a step: a quadratic with an l1 penalty.


def minimise(H: Float2D, r: Float1D, penalty: Float1D, x: Float1D, tol: float, signs: Float1D | None = None) -> None:
    """Minimise ``x'Hx/2 + r'x + sum_j penalty[j] |x_j|`` in place, from the given x, where x may have these signs.

    Ends when no entry of the shortest subgradient is larger than ``tol``.
    """
    signs = np.zeros(x.size) if signs is None else signs
    n, start = x.size, np.flatnonzero((x != 0.0) | (penalty == 0.0))
    face, L, sign, gradient = np.empty(n, np.int64), np.empty((n, n)), np.sign(x), np.empty(n)
    size = start.size
    face[:size], L[:size, :size] = start, _factor(H[start[:, None], start])
    for _ in range(10 * n):
        size = _to_the_minimiser_of_the_face(r, penalty, x, sign, L, face, size, gradient)
        _write_gradient(H, r, x, face, size, gradient)
        excess = np.where(sign == 0.0, pull(gradient, signs) - penalty, 0.0)
        largest = float(excess.max(initial=0.0))
        if largest <= tol:
            return
        for j in np.flatnonzero((sign == 0.0) & (excess > 0.5 * largest) & (penalty > 0.0)).tolist():
            size = _join(H, r, penalty, x, sign, L, face, size, j, -np.sign(gradient[j]))


def _join(
    H: Float2D,
    r: Float1D,
    penalty: Float1D,
    x: Float1D,
    sign: Float1D,
    L: Float2D,
    face: Int1D,
    size: int,
    j: int,
    direction: float,
) -> int:
    """Let coordinate j, which is zero, join the face in a direction; returns the face's size.

    Where j depends on the face, ``H v = 0`` for v with ``v_j = direction`` and
    ``H[face, face] v_face = -H[face, j] v_j``. Along v the objective changes by ``r'v + sum of penalty_a sign_a v_a``
    per length. If it falls, the step ends where the first coordinate of the face reaches zero, and j takes its place.
    """
    if append_column(H, L, face, size, j, SINGULAR) <= SINGULAR:
        chosen = face[:size].copy()
        v = -direction * cho_solve((L[:size, :size], True), H[chosen, j], check_finite=False)
        slope = float(r[chosen] @ v + penalty[chosen] * sign[chosen] @ v) + direction * r[j] + penalty[j]
        ends = (penalty[chosen] > 0.0) & (v * sign[chosen] < 0.0)
        if slope >= 0.0 or not ends.any():  # j has nothing to gain
            return size
        lengths = np.where(ends, np.abs(x[chosen]) / np.where(ends, np.abs(v), 1.0), np.inf)
        k = int(np.argmin(lengths))
        x[chosen] += lengths[k] * v
        x[j] = lengths[k] * direction
        x[chosen[k]] = sign[chosen[k]] = 0.0
        rest = np.delete(chosen, k)
        size = rest.size
        face[:size], L[:size, :size] = rest, _factor(H[rest[:, None], rest])
        append_column(H, L, face, size, j, SINGULAR)
    sign[j] = direction
    return size + 1


def _factor(H: Float2D) -> Float2D:
    """The Cholesky factor of H, below the diagonal; where rounding has made H indefinite, of one slightly larger."""
    factor, failed = dpotrf(H, lower=1, clean=0)
    ridge = EPS * float(np.abs(H).max(initial=0.0))
    while failed and np.isfinite(ridge):
        factor, failed = dpotrf(H + ridge * np.eye(len(H)), lower=1, clean=0)
        ridge *= 10.0
    return np.asarray(factor)


def violation(gradient: Float1D, penalty: Float1D, x: Float1D, signs: Float1D | None = None) -> float:
    """Largest entry of the shortest subgradient."""
    pulls = np.abs(gradient) if signs is None else pull(gradient, signs)
    sizes = np.where(x == 0.0, pulls - penalty, np.abs(gradient + np.sign(x) * penalty))
    return float(sizes.max(initial=0.0))


@compiled
def _write_gradient(H: Float2D, r: Float1D, x: Float1D, face: Int1D, size: int, gradient: Float1D) -> None:
    """Write ``gradient = Hx + r`` for x that is zero outside of a face."""
    for j in range(x.size):
        gradient[j] = r[j]
    for a in range(size):
        value = x[face[a]]
        for j in range(x.size):
            gradient[j] += value * H[face[a], j]


@compiled
def _to_the_minimiser_of_the_face(
    r: Float1D, penalty: Float1D, x: Float1D, sign: Float1D, L: Float2D, face: Int1D, size: int, target: Float1D
) -> int:
    """Go to the minimiser of a face, dropping coordinates that reach zero on the way; returns the face's size."""
    while True:
        for a in range(size):
            j = face[a]
            target[a] = -r[j] - sign[j] * penalty[j]
        solve_factored(L, target, size)
        step = 1.0
        for a in range(size):
            j = face[a]
            if penalty[j] > 0.0 and target[a] * sign[j] <= 0.0:
                length = x[j] / (x[j] - target[a]) if x[j] != 0.0 else 0.0
                if length < step:
                    step = length
        for a in range(size - 1, -1, -1):
            j = face[a]
            x[j] = target[a] if step == 1.0 else x[j] + step * (target[a] - x[j])  # not rounded like a far start
            if penalty[j] > 0.0 and target[a] * sign[j] <= 0.0 and x[j] * sign[j] <= 1e-14 * abs(target[a]):
                x[j] = 0.0
                sign[j] = 0.0
                delete_column(L, face, a, size)
                size -= 1
        if step == 1.0:
            return size
