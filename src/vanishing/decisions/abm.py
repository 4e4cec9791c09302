"""ABM's decision: the approximate Buchberger-Moeller algorithm.

Reference: Limbeck, "Computation of Approximate Border Bases and Applications", PhD thesis, Universitaet Passau, 2013.
The decision from the Gram instead of the evaluated terms follows arXiv:2207.01236.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from .._compiled import compiled
from .._typing import Float1D, Float2D
from ..constants import EPS, ROUNDING
from ..solvers import Solution, Status
from .border import Border, CholeskySweep, Decision, QRSweep


def decide_abm(gram: Float2D, n_basis: int, *, psi: float) -> Decision | None:
    """Decide which candidates lead a polynomial with unit coefficient vector and mean square <= psi.

    The smallest mean square of such a polynomial with terms ``[O, u]`` is the smallest eigenvalue of their Gram
    ``H``, which is at most psi exactly if ``H - psi I`` is not positive definite. As O has no such polynomial,
    ``G_O - psi I`` is positive definite, and the sign of the next Cholesky pivot decides: ABM is the
    column-skipping factorisation of ``G - psi I``.
    """
    border = Border(gram, n_basis)
    try:
        sweep = CholeskySweep(gram - psi * np.eye(gram.shape[0]), n_basis)
    except np.linalg.LinAlgError:
        return None
    spectrum = None
    for j in range(border.n_candidates):
        pivot, y = sweep.pivot(j), sweep.minimiser(j)
        if abs(pivot) <= border.noise(j, y):
            return None
        if pivot > 0.0:
            sweep.append(j)
            border.keep(j)
            spectrum = None
            continue
        Q, c, r = border.problem(j)
        if spectrum is None:
            spectrum = np.linalg.eigh(Q)
        vector = _bordered_eigenvector(*spectrum, c, r, psi)
        loss = border.mean_square(j, vector[:-1], vector[-1])
        border.generate(j, Solution(vector[:-1], loss, 0.0, 0, Status.VANISHING), True, float(vector[-1]))
    if border.dense:
        border.clean(sweep.inverse(), psi, unit=True)
    return border.decision()


def decide_abm_exact(factor: Float2D, n_basis: int, *, psi: float) -> Decision:
    """As :func:`decide_abm`, from singular values of the triangular factor: mean square <= psi, or 0 up to rounding."""
    border = Border(factor.T @ factor, n_basis)
    sweep = QRSweep(factor, n_basis)
    for j in range(border.n_candidates):
        vector = _smallest_singular_vector(sweep.bordered(j), np.append(sweep.minimiser(j), 1.0))
        columns = [*border.members, n_basis + j]
        residual = factor[:, columns] @ vector
        loss = float(residual @ residual)
        rounding = factor.shape[0] * ROUNDING * float(np.abs(vector) @ border.lengths[columns])
        if loss <= max(psi, rounding**2):
            vector = vector * np.copysign(1.0, vector[-1])
            x = border.without_negligible(j, vector[:-1], vector[-1])
            x, lead = (part / np.hypot(np.linalg.norm(x), vector[-1]) for part in (x, vector[-1]))
            border.generate(j, Solution(x, loss, 0.0, 0, Status.VANISHING), lead_coef=float(lead))
        else:
            sweep.append(j)
            border.keep(j)
    return border.decision()


def _smallest_singular_vector(R: Float2D, vector: Float1D) -> Float1D:
    """Unit right singular vector for the smallest singular value of a triangular matrix, from a first guess.

    Inverse iteration: a step solves with R' and R, and converges at the squared ratio of the two smallest singular
    values.
    """
    vector = vector / np.linalg.norm(vector)
    diagonal, tiny = np.diag(R), np.maximum(EPS * np.linalg.norm(R, axis=0), 1e-70)
    safe = R.copy()
    np.fill_diagonal(safe, np.where(np.abs(diagonal) < tiny, tiny, diagonal))
    for _ in range(30):
        following = solve_triangular(
            safe, solve_triangular(safe, vector, trans="T", check_finite=False), check_finite=False
        )
        following /= np.linalg.norm(following)
        change = 1.0 - abs(float(following @ vector))
        vector = following
        if change < EPS:
            return vector
    # The two smallest singular values are almost equal, and the iteration is slow: decompose R instead.
    return np.asarray(np.linalg.svd(R)[2][-1])


@compiled
def _smallest_root(values: Float1D, z: Float1D, corner: float, start: float) -> float:
    """Smallest eigenvalue, which must be <= start < values[0], of the arrowhead ``[diag(values), z; z', corner]``.

    It is the root of ``f(t) = corner - t - sum z_i^2 / (values_i - t)``, which is concave and decreasing left of
    values[0]: Newton's method from the right of the root converges to it monotonically.
    """
    t = start
    for _ in range(100):
        f, slope = corner - t, -1.0
        for i in range(values.size):
            ratio = z[i] / (values[i] - t)
            f -= z[i] * ratio
            slope -= ratio * ratio
        following = t - f / slope
        if not following < t:
            break
        t = following
    return t


def _bordered_eigenvector(values: Float1D, vectors: Float2D, c: Float1D, r: float, psi: float) -> Float1D:
    """Unit eigenvector for the smallest eigenvalue of ``[Q, c; c', r]``, from the eigen-decomposition of Q."""
    z = vectors.T @ c
    t = _smallest_root(values, z, r, psi)
    vector = np.append(-vectors @ (z / (values - t)), 1.0)
    return np.asarray(vector / np.linalg.norm(vector))
