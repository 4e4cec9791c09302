"""AVI's decision: the approximate vanishing ideal algorithm.

Reference: Heldt, Kreuzer, Pokutta and Poulisse, "Approximate computation of zero-dimensional polynomial ideals",
Journal of Symbolic Computation 44, 2009, doi:10.1016/j.jsc.2008.11.010.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..constants import ROUNDING
from ..solvers import Status
from .border import Decision


def decide_avi(gram: Float2D, n_basis: int, *, psi: float, pivot_tol: float) -> Decision | None:
    """Decide which candidates lead a row of the stabilised echelon form of the approximate kernel.

    The approximate kernel is spanned by the eigenvectors of the Gram with eigenvalue <= psi: every
    combination of them with a unit coefficient vector has mean square <= psi. The echelon form takes the
    candidates from the largest term down and skips a candidate whose row of the kernel is closer than
    ``min(pivot_tol, sqrt(psi))`` to the span of the rows before it. A polynomial loses its coefficient at a candidate
    that was skipped, so this coefficient may not exceed the root mean square that a generator may have; at ``psi = 0``
    it is zero up to rounding.
    """
    values, vectors = np.linalg.eigh(gram)
    if np.any(np.abs(values - psi) <= gram.shape[0] * ROUNDING * values[-1]):
        return None
    small = values <= psi
    return _decide_by_echelon_form(gram, vectors[:, small], n_basis, psi, pivot_tol, _negligible(values, small))


def decide_avi_exact(factor: Float2D, n_basis: int, *, psi: float, pivot_tol: float) -> Decision:
    """As :func:`decide_avi`, from singular values of the triangular factor: mean square <= psi, or 0 up to rounding."""
    _, singular, right = np.linalg.svd(factor)
    rounding = factor.shape[0] * ROUNDING * singular[0]
    small = singular <= max(np.sqrt(psi), rounding)
    bound, negligible = max(psi, float(rounding) ** 2), _negligible(singular, small)
    return _decide_by_echelon_form(factor, right[small].T, n_basis, bound, pivot_tol, negligible, exact=True)


def _decide_by_echelon_form(
    matrix: Float2D,
    kernel: Float2D,
    n_basis: int,
    psi: float,
    pivot_tol: float,
    negligible: float,
    exact: bool = False,
) -> Decision:
    """The rows of the echelon form that vanish are the generators.

    The echelon form sets coefficients to zero that are small, but not small enough for ``psi = 0``: rounding turns the
    kernel by ``rounding / spectral gap``, far more than the rounding that a residual may have. A row that does not
    vanish any more gets the least-squares coefficients on its terms. Negligible coefficients become exact zeros where
    the row vanishes without them.
    """
    pivots, rows = _stabilised_echelon_form(kernel, n_basis, max(min(pivot_tol, np.sqrt(psi)), negligible))
    for i in np.flatnonzero(_mean_squares(matrix, rows, exact) > psi):
        rows[i] = _least_squares(matrix, pivots, int(pivots[i]), exact)
    clean = np.where(np.abs(rows) > negligible, rows, 0.0)
    clean[np.arange(pivots.size), pivots] = rows[np.arange(pivots.size), pivots]
    rows = np.where((_mean_squares(matrix, clean, exact) <= psi)[:, None], clean, rows)
    mse = _mean_squares(matrix, rows, exact)
    accepted = mse <= psi
    # Sort by ascending leading terms, like the generators of the other algorithms.
    order = [i for i in np.argsort(pivots) if accepted[i]]
    generators = pivots[order] - n_basis
    kept = np.setdiff1d(np.arange(matrix.shape[1] - n_basis), generators)
    columns = np.concatenate([np.arange(n_basis), n_basis + kept])
    n_generators = generators.size
    return Decision(
        kept=kept,
        generators=generators,
        coef=rows[np.ix_(order, columns)],
        lead_coef=rows[order, pivots[order]],
        n_free=n_basis + np.searchsorted(kept, generators),
        mse=mse[order],
        gap=np.full(n_generators, np.nan),
        n_iter=np.zeros(n_generators, dtype=np.int64),
        status=np.array([Status.VANISHING] * n_generators, dtype=object),
    )


def _least_squares(matrix: Float2D, pivots: Int1D, lead: int, exact: bool) -> Float1D:
    """Unit coefficients of the polynomial with this leading term, over all smaller terms that lead no other one."""
    terms = np.setdiff1d(np.arange(lead), pivots)
    equations = matrix if exact else matrix[terms]  # the terms on the rows of the factor, or the normal equations
    row = np.zeros(matrix.shape[1])
    row[terms] = np.linalg.lstsq(equations[:, terms], -equations[:, lead], rcond=None)[0]
    row[lead] = 1.0
    return np.asarray(row / np.linalg.norm(row))


def _negligible(spectrum: Float1D, small: Bool1D) -> float:
    """Bound on coefficients that are zero up to rounding, which rotates the kernel by ``rounding / spectral gap``."""
    if small.all() or not small.any():
        return 0.0
    spectral_gap = spectrum[~small].min() - spectrum[small].max()
    return float(min(spectrum.size * ROUNDING * spectrum.max() / spectral_gap, 1e-7))


def _mean_squares(matrix: Float2D, rows: Float2D, exact: bool) -> Float1D:
    """Mean squares of the polynomials with these coefficients, from the Gram or, if ``exact``, from its factor."""
    if exact:
        return np.asarray(((rows @ matrix.T) ** 2).sum(axis=1))
    return np.asarray(np.maximum(((rows @ matrix) * rows).sum(axis=1), 0.0))


def _stabilised_echelon_form(kernel: Float2D, n_basis: int, pivot_tol: float) -> tuple[Int1D, Float2D]:
    """Indices of the leading terms, and one polynomial per row with a unit coefficient vector.

    ``kernel`` has orthonormal columns ``(n_terms, n_kernel)``. A row is zero at the leading terms of the other rows,
    and at candidates larger than its own leading term.
    """
    n_kernel = kernel.shape[1]
    basis = np.empty((n_kernel, n_kernel))
    shortest = max(pivot_tol, kernel.shape[0] * ROUNDING)
    pivots: list[int] = []
    for column in range(kernel.shape[0] - 1, n_basis - 1, -1):
        directions, residual = basis[:, : len(pivots)], kernel[column]
        for _ in range(2):
            residual = residual - directions @ (directions.T @ residual)
        length = float(np.linalg.norm(residual))
        if length >= shortest:
            basis[:, len(pivots)] = residual / length
            pivots.append(column)
            if len(pivots) == n_kernel:
                break
    rows = basis[:, : len(pivots)].T @ kernel.T
    if pivots:
        rows = solve_triangular(rows[:, pivots], rows)
    for i, pivot in enumerate(pivots):
        rows[i, pivot + 1 :] = 0.0
        rows[i, [p for p in pivots if p != pivot]] = 0.0
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.array(pivots, dtype=np.int64), rows
