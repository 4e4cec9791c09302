"""AVI's decision: the approximate vanishing ideal algorithm (Heldt, Kreuzer, Pokutta and Poulisse, 2009)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..solvers import Status
from .decision import EPS, Decision


def decide_avi(gram: Float2D, n_basis: int, *, psi: float, pivot_tol: float) -> Decision | None:
    """Decide which candidates lead a row of the stabilised echelon form of the approximate kernel.

    The approximate kernel is spanned by the eigenvectors of the Gram with eigenvalue <= psi: every
    combination of them with a unit coefficient vector has mean square <= psi. The echelon form takes the
    candidates from the largest term down and passes over those that stick out of the span of the earlier ones
    by less than ``pivot_tol``.
    """
    values, vectors = np.linalg.eigh(gram)
    if np.any(np.abs(values - psi) <= 8.0 * gram.shape[0] * EPS * values[-1]):
        return None
    small = values <= psi
    return _echelon_split(gram, vectors[:, small], n_basis, psi, pivot_tol, _dust(values, small))


def decide_avi_exact(factor: Float2D, n_basis: int, *, psi: float, pivot_tol: float) -> Decision:
    """As :func:`decide_avi`, from singular values of the triangular factor: vanishing up to psi or to rounding."""
    _, singular, right = np.linalg.svd(factor)
    rounding = 8.0 * factor.shape[0] * EPS * singular[0]
    small = singular <= max(np.sqrt(psi), rounding)
    bound, dust = max(psi, float(rounding) ** 2), _dust(singular, small)
    return _echelon_split(factor, right[small].T, n_basis, bound, pivot_tol, dust, exact=True)


def _echelon_split(
    matrix: Float2D, kernel: Float2D, n_basis: int, psi: float, pivot_tol: float, dust: float, exact: bool = False
) -> Decision:
    """Decide by the rows of the echelon form that still vanish once their negligible entries are dropped."""
    pivots, rows = _stabilised_echelon_form(kernel, n_basis, max(pivot_tol, dust))
    rows[np.abs(rows) <= dust] = 0.0
    mse = _mean_squares(matrix, rows, exact)
    accepted = (mse <= psi) & (rows[np.arange(pivots.size), pivots] > 0.0)
    # In ascending order of their leading terms, like the generators of the other algorithms.
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
        status=np.full(n_generators, int(Status.VANISHING)),
    )


def _dust(spectrum: Float1D, small: Bool1D) -> float:
    """Size of coefficients that are zero to rounding: the kernel turns by rounding over its distance from the rest."""
    if small.all() or not small.any():
        return 0.0
    distance = spectrum[~small].min() - spectrum[small].max()
    return float(min(8.0 * spectrum.size * EPS * spectrum.max() / distance, 1e-7))


def _mean_squares(matrix: Float2D, rows: Float2D, exact: bool) -> Float1D:
    """Mean squares of the polynomials with these coefficients, from the Gram or, if ``exact``, from its factor."""
    if exact:
        return np.asarray(((rows @ matrix.T) ** 2).sum(axis=1))
    return np.asarray(np.maximum(((rows @ matrix) * rows).sum(axis=1), 0.0))


def _stabilised_echelon_form(kernel: Float2D, n_basis: int, pivot_tol: float) -> tuple[Int1D, Float2D]:
    """Leading columns, and unit rows that span the part of the kernel which those columns carry.

    ``kernel`` has orthonormal columns ``(n_terms, n_kernel)``. A row has no entry in another row's leading
    column, nor in a candidate larger than its own leading one.
    """
    n_kernel = kernel.shape[1]
    basis = np.empty((n_kernel, n_kernel))
    shortest = max(pivot_tol, 8.0 * kernel.shape[0] * EPS)
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
