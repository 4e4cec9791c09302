"""The small problem of a Newton step: a quadratic with an l1 penalty, by an active-set method.

Among the points with given zeros and signs (a face), the minimiser solves a linear system. The way to it goes as
far as the signs last, and drops what reaches zero; from the minimiser of a face, coordinates whose gradient
exceeds their penalty join. Every step lowers the objective, so no face comes twice. A Cholesky factor of the
face's matrix follows all that at a quadratic price per change.

A coordinate may depend on the face: H is singular where columns repeat each other. The objective is then linear along
the null direction of H that contains it, so it goes down that way until a coordinate of the face reaches zero, whose
place it takes.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from .._compiled import compiled
from .._typing import Float1D, Float2D, Int1D
from ..cholesky import append_column, delete_column, solve_factored

_DEPENDENT = 1e-10  # relative pivot up to which a column depends on the face: rounding alone reaches n eps cond(L)
_RIDGES = 10.0 ** np.arange(-14.0, 1.0)  # shares of the diagonal, added until a matrix can be factored


def minimise(H: Float2D, r: Float1D, penalty: Float1D, x: Float1D, tol: float) -> None:
    """Minimise ``x'Hx/2 + r'x + sum_j penalty[j] |x_j|`` in place, from the given x.

    Ends when no entry of the shortest subgradient is larger than ``tol``.
    """
    n, start = x.size, np.flatnonzero((x != 0.0) | (penalty == 0.0))
    face, L, sign, gradient = np.empty(n, np.int64), np.empty((n, n)), np.sign(x), np.empty(n)
    size = start.size
    face[:size], L[:size, :size] = start, _factor(H[start[:, None], start])
    for _ in range(10 * n):
        size = _to_the_minimiser_of_the_face(r, penalty, x, sign, L, face, size, gradient)
        largest = _largest_excess(H, r, penalty, x, sign, face, size, gradient)
        if largest <= tol:
            return
        excess = np.abs(gradient) - penalty
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
    if append_column(H, L, face, size, j, _DEPENDENT) <= _DEPENDENT:
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
        append_column(H, L, face, size, j, _DEPENDENT)
    sign[j] = direction
    return size + 1


def _factor(H: Float2D) -> Float2D:
    """The Cholesky factor of H, below the diagonal; where rounding has made H indefinite, of one slightly larger."""
    for ridge in (0.0, *_RIDGES):
        factor, failed = dpotrf(H + ridge * np.diag(H.diagonal()) if ridge else H, lower=1, clean=0)
        if not failed:
            break
    return np.asarray(factor)


def violation(gradient: Float1D, penalty: Float1D, x: Float1D) -> float:
    """Largest entry of the shortest subgradient."""
    sizes = np.where(x == 0.0, np.abs(gradient) - penalty, np.abs(gradient + np.sign(x) * penalty))
    return float(sizes.max(initial=0.0))


@compiled
def _largest_excess(
    H: Float2D, r: Float1D, penalty: Float1D, x: Float1D, sign: Float1D, face: Int1D, size: int, gradient: Float1D
) -> float:
    """Write ``gradient = Hx + r``, and return by how much it exceeds the penalty of a zero at most."""
    for j in range(x.size):
        gradient[j] = r[j]
    for a in range(size):
        value = x[face[a]]
        for j in range(x.size):
            gradient[j] += value * H[face[a], j]
    largest = 0.0
    for j in range(x.size):
        if sign[j] == 0.0 and abs(gradient[j]) - penalty[j] > largest:
            largest = abs(gradient[j]) - penalty[j]
    return largest


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
