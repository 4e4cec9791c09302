"""AVI's split: the approximate vanishing ideal algorithm (Heldt, Kreuzer, Pokutta and Poulisse, 2009)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import Float1D, Float2D, Int1D
from ..solvers import Status
from ._types import EPS, Split


def split_avi(gram: Float2D, n_basis: int, *, psi: float, pivot_tol: float) -> Split | None:
    """Decide which candidates lead a row of the stabilised echelon form of the approximate kernel.

    The approximate kernel is spanned by the eigenvectors of the Gram with eigenvalue <= psi: every
    combination of them with a unit coefficient vector has mean square <= psi. The echelon form takes the
    candidates from the largest term down and passes over those that stick out of the span of the earlier ones
    by less than ``pivot_tol``.
    """
    values, vectors = np.linalg.eigh(gram)
    if np.any(np.abs(values - psi) <= 8.0 * gram.shape[0] * EPS * values[-1]):
        return None
    return _echelon_split(gram, vectors[:, values <= psi], n_basis, psi, pivot_tol)


def split_avi_exact(factor: Float2D, n_basis: int, *, psi: float, pivot_tol: float) -> Split:
    """As :func:`split_avi`, from singular values of the triangular factor: vanishing up to psi or to rounding."""
    _, singular, right = np.linalg.svd(factor)
    rounding = 8.0 * factor.shape[0] * EPS * singular[0]
    small = singular <= np.sqrt(psi) + rounding
    return _echelon_split(factor, right[small].T, n_basis, (np.sqrt(psi) + rounding) ** 2, pivot_tol, exact=True)


def _echelon_split(
    matrix: Float2D, kernel: Float2D, n_basis: int, psi: float, pivot_tol: float, exact: bool = False
) -> Split:
    """Split by the rows of the echelon form that are still psi-vanishing once their negligible entries are dropped."""
    pivots, rows = _stabilised_echelon_form(kernel, n_basis, pivot_tol)
    rows[np.abs(rows) <= 8.0 * rows.shape[1] * EPS] = 0.0  # coefficients that are zero to rounding
    mse = _mean_squares(matrix, rows, exact)
    accepted = mse <= psi
    # In ascending order of their leading terms, like the generators of the other algorithms.
    order = [i for i in np.argsort(pivots) if accepted[i]]
    generators = pivots[order] - n_basis
    kept = np.setdiff1d(np.arange(matrix.shape[1] - n_basis), generators)
    columns = np.concatenate([np.arange(n_basis), n_basis + kept])
    n_generators = generators.size
    return Split(
        kept=kept,
        generators=generators,
        coef=rows[np.ix_(order, columns)],
        lead_coef=rows[order, pivots[order]],
        n_free=n_basis + np.searchsorted(kept, generators),
        mse=mse[order],
        gap=np.zeros(n_generators),
        n_iter=np.zeros(n_generators, dtype=np.int64),
        status=np.full(n_generators, int(Status.VANISHING)),
    )


def _mean_squares(matrix: Float2D, rows: Float2D, exact: bool) -> Float1D:
    """Mean squares of the polynomials with these coefficients, from the Gram or, if ``exact``, from its factor."""
    if exact:
        return np.asarray(((rows @ matrix.T) ** 2).sum(axis=1))
    return np.asarray(((rows @ matrix) * rows).sum(axis=1))


def _stabilised_echelon_form(kernel: Float2D, n_basis: int, pivot_tol: float) -> tuple[Int1D, Float2D]:
    """Leading columns, and unit rows that span the part of the kernel which those columns carry.

    ``kernel`` has orthonormal columns ``(n_terms, n_kernel)``. A row has no entry in another row's leading
    column, nor in a candidate larger than its own leading one.
    """
    directions = np.empty((kernel.shape[1], 0))
    pivots: list[int] = []
    for column in range(kernel.shape[0] - 1, n_basis - 1, -1):
        residual = kernel[column]
        for _ in range(2):
            residual = residual - directions @ (directions.T @ residual)
        length = float(np.linalg.norm(residual))
        if length >= pivot_tol:
            directions = np.column_stack([directions, residual / length])
            pivots.append(column)
            if len(pivots) == kernel.shape[1]:
                break
    rows = directions.T @ kernel.T
    if pivots:
        rows = solve_triangular(rows[:, pivots], rows)
    for i, pivot in enumerate(pivots):
        rows[i, pivot + 1 :] = 0.0
        rows[i, [p for p in pivots if p != pivot]] = 0.0
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.array(pivots, dtype=np.int64), rows
