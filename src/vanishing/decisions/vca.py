"""VCA's decision: vanishing component analysis.

Reference: Livni, Lehavi, Schein, Nachliely, Shalev-Shwartz and Globerson, "Vanishing Component Analysis", ICML 2013,
https://proceedings.mlr.press/v28/livni13.html.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from .._typing import Bool1D, Float1D, Float2D
from ..constants import ROUNDING
from .border import Combinations


def decide_vca(gram: Float2D, n_basis: int, *, psi: float, length: float) -> Combinations | None:
    """Decide which combinations of the projected products vanish.

    With ``S = G_CC - G_CF G_FF^-1 G_FC``, the Gram of the products' residuals on F, an eigenvector v of S
    with eigenvalue t is a combination of residuals with unit coefficient vector and mean square t. It
    vanishes if ``t <= psi``; otherwise it joins F, scaled to root mean square ``length``.
    """
    try:
        L = np.linalg.cholesky(gram[:n_basis, :n_basis])
    except np.linalg.LinAlgError:
        return None
    W = solve_triangular(L, gram[:n_basis, n_basis:], lower=True)
    corner = gram[n_basis:, n_basis:]
    values, vectors = np.linalg.eigh(corner - W.T @ W)
    noise = gram.shape[0] * ROUNDING * np.diag(corner).max()
    if np.any(np.abs(values - psi) <= noise):
        return None
    vectors[:, values <= noise] = _canonical_basis(vectors[:, values <= noise])
    projection = -solve_triangular(L, W, lower=True, trans="T")
    return _combinations(projection, values, vectors, values <= psi, length)


def decide_vca_exact(factor: Float2D, n_basis: int, *, psi: float, length: float) -> Combinations:
    """As :func:`decide_vca`, from the triangular factor, whose corner factorises S: t <= psi or 0 up to rounding."""
    _, singular, right = np.linalg.svd(factor[n_basis:, n_basis:])
    rounding = factor.shape[0] * ROUNDING * float(np.linalg.norm(factor[:, n_basis:], axis=0).max())
    projection = -solve_triangular(factor[:n_basis, :n_basis], factor[:n_basis, n_basis:])
    vanishing = singular <= max(np.sqrt(psi), rounding)
    right[singular <= rounding] = _canonical_basis(right[singular <= rounding].T).T
    return _combinations(projection, singular[::-1] ** 2, right[::-1].T, vanishing[::-1], length)


def _canonical_basis(vectors: Float2D) -> Float2D:
    """An orthonormal basis of the span of orthonormal columns that depends on the span only.

    If products are linearly dependent on the data, the exactly vanishing combinations form a space, and an
    eigendecomposition returns an arbitrary basis of it. The canonical basis is the same, up to rounding, for the same
    data.
    """
    if vectors.shape[1] == 0:
        return vectors
    # Pivot on the longest column of the projector; in a tie, for instance if all vanish, on the earlier product.
    earlier_first = 1.0 - 1e-6 * np.arange(vectors.shape[0]) / vectors.shape[0]
    basis, _, _ = qr(vectors @ vectors.T * earlier_first, pivoting=True)
    return np.asarray(basis[:, : vectors.shape[1]])


def _combinations(
    projection: Float2D, values: Float1D, vectors: Float2D, vanishing: Bool1D, length: float
) -> Combinations:
    """Coefficients on [F|C] of the combinations ``vectors`` of residuals; ``projection`` maps the products to F."""
    rows = np.hstack([(projection @ vectors).T, vectors.T])
    scale = length / np.sqrt(values[~vanishing])
    return Combinations(rows[~vanishing] * scale[:, None], rows[vanishing], np.maximum(values[vanishing], 0.0))
