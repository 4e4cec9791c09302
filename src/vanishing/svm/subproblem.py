"""The small problem of a Newton step: a quadratic with an l1 penalty, by an active-set method.

Among the points with given zeros and signs (a face), the minimiser solves a linear system. The way to it goes as
far as the signs last, and drops what reaches zero; from the minimiser of a face, coordinates whose gradient
exceeds their penalty join. Every step lowers the objective, so no face comes twice. A Cholesky factor of the
face's matrix follows all that at a quadratic price per change, whatever the conditioning.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .._compiled import compiled
from .._typing import Float1D, Float2D, Int1D
from ..cholesky import append_column, delete_column, solve_factored

_LEAST = 1e-14  # relative pivot that a column of the face has at least
_SWEEPS = 3  # of coordinate descent first: cheap, and near the right face where columns are not alike


def minimise(H: Float2D, r: Float1D, penalty: Float1D, x: Float1D, tol: float) -> None:
    """Minimise ``x'Hx/2 + r'x + sum_j penalty[j] |x_j|`` in place, from the given x.

    Ends when no entry of the shortest subgradient is larger than ``tol``.
    """
    n = x.size
    _change_faces(H, r, penalty, x, tol, np.empty(n), np.zeros(n), np.empty(n, np.int64), np.empty((n, n)), np.empty(n))


@compiled
def _change_faces(
    H: Float2D,
    r: Float1D,
    penalty: Float1D,
    x: Float1D,
    tol: float,
    gradient: Float1D,
    sign: Float1D,
    face: Int1D,
    L: Float2D,
    target: Float1D,
) -> None:
    """:func:`minimise` in arrays of the caller, all without content, but for ``sign``, which is zero."""
    n = x.size
    _fill_gradient(H, r, x, gradient)
    for _ in range(_SWEEPS):
        _descend(H, penalty, x, gradient)
    size = int(np.int64(0))  # a literal would make Numba compile everything twice
    for j in range(n):
        if x[j] != 0.0 or penalty[j] == 0.0:
            sign[j] = 1.0 if x[j] > 0.0 else (-1.0 if x[j] < 0.0 else 0.0)
            append_column(H, L, face, size, j, _LEAST)
            size += 1
    for _ in range(10 * n):
        size = _to_the_minimiser_of_the_face(r, penalty, x, sign, L, face, size, target)
        _fill_gradient(H, r, x, gradient)
        largest = 0.0
        for j in range(n):
            if sign[j] == 0.0 and abs(gradient[j]) - penalty[j] > largest:
                largest = abs(gradient[j]) - penalty[j]
        if largest <= tol:
            return
        for j in range(n):
            if sign[j] == 0.0 and penalty[j] > 0.0 and abs(gradient[j]) - penalty[j] > 0.5 * largest:
                sign[j] = 1.0 if gradient[j] < 0.0 else -1.0
                append_column(H, L, face, size, j, _LEAST)
                size += 1


@partial(compiled, inner=True)
def _fill_gradient(H: Float2D, r: Float1D, x: Float1D, gradient: Float1D) -> None:
    """``Hx + r``, by the rows of the symmetric H where x is not zero."""
    for i in range(x.size):
        gradient[i] = 0.0
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                gradient[i] += x[j] * H[j, i]
    for i in range(x.size):
        gradient[i] += r[i]


def violation(gradient: Float1D, penalty: Float1D, x: Float1D) -> float:
    """Largest entry of the shortest subgradient."""
    sizes = np.where(x == 0.0, np.abs(gradient) - penalty, np.abs(gradient + np.sign(x) * penalty))
    return float(sizes.max(initial=0.0))


@partial(compiled, inner=True)
def _descend(H: Float2D, penalty: Float1D, x: Float1D, gradient: Float1D) -> None:
    """One sweep of coordinate descent."""
    for j in range(x.size):
        target = x[j] - gradient[j] / H[j, j]
        shrink = penalty[j] / H[j, j]
        if abs(target) <= shrink:
            target = 0.0
        else:
            target += -shrink if target > 0.0 else shrink
        change = target - x[j]
        if change != 0.0:
            x[j] = target
            for i in range(x.size):
                gradient[i] += change * H[j, i]


@partial(compiled, inner=True)
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
            x[j] += step * (target[a] - x[j])
            if penalty[j] > 0.0 and target[a] * sign[j] <= 0.0 and x[j] * sign[j] <= 1e-14 * abs(target[a]):
                x[j] = 0.0
                sign[j] = 0.0
                delete_column(L, face, a, size)
                size -= 1
        if step == 1.0:
            return size
