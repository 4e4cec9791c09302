"""How far rows are from a law, in standard deviations of what its noise explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._typing import Float1D, Float2D, Int1D, Int2D
from ..rows.relation import ROUNDED

if TYPE_CHECKING:  # laws ask for their own deviations
    from .law import Law

__all__ = ["differentiated", "standard_deviations", "values_of"]


def standard_deviations(law: Law, X: Float2D) -> tuple[Float1D, Float1D]:
    """The residuals of rows, without their bias, and the standard deviations that noise gives them.

    For rows ``y = x + e`` with independent normal noise of deviations ``s_j`` and ``g(x) = 0``, to second order,

        E g(y) = 1/2 sum_j g_jj s_j^2,    Var g(y) = sum_j (g_j s_j)^2 + 1/2 sum_jk (g_jk s_j s_k)^2,

    with the derivatives at y. The variances of the coefficients times the squared terms, and rounding, are added.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(1, 2, 1000)
    >>> law = discover(np.column_stack([x, 2 * x]) + rng.normal(0, 0.01, (1000, 2)))[0]
    >>> residual, deviation = standard_deviations(law, np.array([[1.5, 3.0], [1.5, 3.5]]))
    >>> np.abs(residual / deviation) > 5
    array([False,  True])
    """
    rows = X - law.origin
    size = np.abs(X) if "multiplicative" in law.noise_kind else np.ones_like(X)
    sigma = np.where(np.isnan(law.noise), 0.0, law.noise) * size
    terms = np.column_stack([np.prod(rows**exponents, axis=1) for exponents in law.exponents])
    used = np.flatnonzero(law.exponents.any(axis=0)).tolist()
    bias = np.zeros(len(rows))
    variance = (terms**2) @ law.stderr**2 + (ROUNDED * (np.abs(terms) @ np.abs(law.coef))) ** 2
    for a, j in enumerate(used):
        slopes, lower = differentiated(law.coef, law.exponents, j)
        variance += (values_of(slopes, lower, rows) * sigma[:, j]) ** 2
        for k in used[a:]:
            curvature = values_of(*differentiated(slopes, lower, k), rows) * sigma[:, j] * sigma[:, k]
            variance += curvature**2 * (0.5 if j == k else 1.0)
            bias += 0.5 * curvature if j == k else 0.0
    return terms @ law.coef - bias, np.sqrt(variance)


def differentiated(coef: Float1D, exponents: Int2D, j: int) -> tuple[Float1D, Int2D]:
    """Coefficients and exponents of the derivative by column ``j``."""
    kept: Int1D = np.flatnonzero(exponents[:, j])
    lower = exponents[kept].copy()
    lower[:, j] -= 1
    return coef[kept] * exponents[kept, j], lower


def values_of(coef: Float1D, exponents: Int2D, rows: Float2D) -> Float1D:
    """A polynomial on rows."""
    terms = (c * np.prod(rows**e, axis=1) for c, e in zip(coef, exponents, strict=True))
    return np.asarray(sum(terms, np.zeros(len(rows))))
