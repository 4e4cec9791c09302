"""Power laws ``prod_j x_j^a_j = K`` of any degree: linear relations of logarithms.

Noise ``e`` of a value ``x`` is noise ``e / x`` of its logarithm, so every row has a variance of its own,
``w = sum_j a_j^2 v_j``: with ``v_j = s^2`` where noise is a share of each value, and ``v_j = s^2 spread_j^2 / x_j^2``
where it is a share of the column's deviation. The direction in which the logarithms vary least proposes exponents; the
test of the law with these exponents decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtri, stdtrit

from ..._typing import Bool1D, Float1D, Float2D, Int1D
from ...polynomials.terms import count_terms
from ..estimate.gmm import ROWS_PER_TEST, is_rejected, whitener
from ..estimate.monomials import monomials
from ..rows.relation import HALF_OF_NORMAL, LEFT_BY_ROUNDING
from .short_equations import nearest_exponents

__all__ = ["PowerLaw", "find_power_law", "power_law_of"]

_FAR = 8.0  # noise deviations from zero within which a logarithm bends, by a share v / 2 = 1/128 of the value


@dataclass(frozen=True, eq=False)
class PowerLaw:
    """``prod_j x_j^exponents[j] = constant``.

    ``level`` is the noise as a share of the deviations of the logarithms, ``sigma`` that of each column in its units
    (or as a share of the value, for multiplicative noise).
    """

    exponents: Int1D
    constant: float
    error: float
    sigma: Float1D
    multiplicative: bool
    level: float
    J: float
    dof: int
    n_rows: int

    @property
    def p_value(self) -> float:
        """Chance of a larger J at a true law."""
        return float(chdtrc(self.dof, self.J))


def find_power_law(X: Float2D, max_noise: float, models: Sequence[bool] = (True, False)) -> PowerLaw | None:
    """The power law of smallest exponents that a test does not reject, if there is one.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    max_noise : float
        Noise that a law may have, as a share of the deviations of the logarithms.
    models : sequence of bool
        Whether the noise is multiplicative.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.uniform(1.0, 3.0, 500)
    >>> X = np.column_stack([a**2.5, a]) * (1.0 + 0.01 * rng.normal(size=(500, 2)))
    >>> find_power_law(X, 0.1).exponents
    array([ 2, -5])
    """
    X_used = X[(X != 0.0).all(axis=1)]
    if len(X_used) <= X.shape[1]:
        return None
    for exponents in nearest_exponents(np.log(np.abs(X_used))):
        law = power_law_of(X_used, exponents, models)
        enough = law.n_rows >= ROWS_PER_TEST * count_terms(2, int(np.count_nonzero(exponents)))
        if enough and law.level <= max_noise and not is_rejected(law.J, law.dof, law.n_rows):
            return law
    return None


def power_law_of(X: Float2D, exponents: Int1D, models: Sequence[bool] = (True, False)) -> PowerLaw:
    """The power law with these exponents, under the noise model with the larger p-value.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows without zeros in the columns of the law.
    exponents : ndarray of shape (n_columns,)
    models : sequence of bool
        Whether the noise is multiplicative.

    Examples
    --------
    >>> X = np.array([[1.0, 3.0], [2.0, 6.0], [4.0, 12.1], [5.0, 15.0]])
    >>> law = power_law_of(X, np.array([-1, 1]), models=[True])
    >>> round(law.constant, 2), round(law.error, 3)
    (3.01, 0.01)
    """
    with np.errstate(all="ignore"):  # values near zero may outweigh all others by more than float64 can tell
        laws = [_fitted(X, exponents, model) for model in models]
    return max(laws, key=lambda law: np.nan_to_num(law.p_value))


def _fitted(X: Float2D, exponents: Int1D, multiplicative: bool) -> PowerLaw:
    """The law under one noise model, on the rows whose values are far from zero beside it.

    The first choice of rows goes by medians over all rows, the second by the law of the first.
    """
    spread = X.std(axis=0)
    if multiplicative:
        return _on_rows(X, exponents, spread, multiplicative)
    values = np.log(np.abs(X)) @ exponents
    middle = float(np.median(values))
    shape = (spread / X) ** 2 @ exponents**2
    sigma = np.median(np.abs(values - middle) / np.sqrt(shape)) / HALF_OF_NORMAL * spread
    for _ in range(2):
        far = _far_from_zero(X, exponents, middle, sigma)
        law = _on_rows(X[far] if far.sum() > np.count_nonzero(exponents) + 1 else X, exponents, spread, multiplicative)
        middle, sigma = float(np.log(abs(law.constant))), law.sigma
    return law


def _far_from_zero(X: Float2D, exponents: Int1D, middle: float, sigma: Float1D) -> Bool1D:
    """The rows in which every value, predicted by the law from the others, is far from zero beside its noise.

    A choice by the values themselves would depend on their noise: small values with a large ``e`` would stay. The
    noise of the prediction ``log x_k = (log K - sum over j != k of a_j log y_j) / a_k`` is independent of theirs.

    Examples
    --------
    >>> _far_from_zero(np.array([[0.4, 1.0], [0.4, 0.01]]), np.array([1, -1]), 0.0, np.array([0.1, 0.0]))
    array([ True, False])
    """
    L = np.log(np.maximum(np.abs(X), np.maximum(sigma, 1e-300)))
    far = (np.abs(X) >= sigma).all(axis=1)
    for k in np.flatnonzero(exponents):
        value = (middle - L @ exponents + exponents[k] * L[:, k]) / exponents[k]
        far &= value > np.log(max(_FAR * sigma[k], 1e-300))
    return np.asarray(far)


def _on_rows(X: Float2D, exponents: Int1D, spread: Float1D, multiplicative: bool) -> PowerLaw:
    """The weighted mean of the logarithms, its error and its test.

    Variances are taken at the values that the law gives, as noise must not weigh itself. To second order,
    ``E log y = log x - v / 2``.
    """
    used = np.flatnonzero(exponents)
    a, size, n_rows = exponents[used].astype(np.float64), np.abs(X[:, used]), len(X)
    L = np.log(size)
    unit = np.ones_like(L) if multiplicative else (spread[used] / size) ** 2
    residual, s2, moved = L @ a, 0.0, np.zeros_like(L)
    for _ in range(3):
        own = unit * np.exp(2.0 * np.clip(moved, -1.0, 1.0))
        shape = own @ a**2
        total = (L + 0.5 * s2 * own) @ a
        weights = (1.0 / shape) / (1.0 / shape).sum()
        middle = float(weights @ total)
        residual = total - middle
        s2 = float(np.mean(residual**2 / shape)) * n_rows / (n_rows - 1)
        if not multiplicative:
            moved = own * a * (residual / shape)[:, None]
    level = float(np.sqrt(s2 * shape.mean() / max(float(a**2 @ L.var(axis=0)), 1e-300)))
    J, dof = _test(L, residual, a, s2 * own) if level > LEFT_BY_ROUNDING else (0.0, 1)
    sign = float(np.sign(np.median(np.prod(np.sign(X[:, used]) ** (exponents[used] % 2), axis=1))))
    constant = sign * float(np.exp(middle))
    error = abs(constant) * float(np.sqrt(s2 / (1.0 / shape).sum())) * _t_over_normal(n_rows - 1)
    sigma = np.sqrt(s2) * (np.ones(len(spread)) if multiplicative else spread)
    return PowerLaw(exponents, constant, error, sigma, multiplicative, level, J, max(dof, 1), n_rows)


def _t_over_normal(dof: float) -> float:
    """The 95% quantile of Student's t over the normal one: errors times this cover 95% in a short table, too.

    Examples
    --------
    >>> round(_t_over_normal(7), 2), round(_t_over_normal(1000), 2)
    (1.21, 1.0)
    """
    return float(stdtrit(dof, 0.975) / ndtri(0.975))


def _test(L: Float2D, residual: Float1D, a: Float1D, variances: Float2D) -> tuple[float, int]:
    """``J`` of the conditions ``E[t r] = sum_j a_j E[v_j d_j t]``, with t the quadratic functions of the logarithms."""
    Z = (L - L.mean(axis=0)) / L.std(axis=0)
    tests = monomials(L.shape[1], 2)
    table = tests.values(Z)
    n_rows = len(L)
    mixed = np.zeros_like(table)
    for j, (rows, places, power) in enumerate(tests.lowered):
        mixed[rows] += power[:, None] * table[places] * (a[j] * variances[:, j] / L[:, j].std())
    w = variances @ a**2
    means = (table * residual - mixed).mean(axis=1)
    W = whitener((table * w) @ table.T / n_rows + mixed @ mixed.T / n_rows)
    # The constant and the level were fitted, so the test leaves their directions out.
    nuisance, _ = np.linalg.qr(W.T @ np.column_stack([table.mean(axis=1), mixed.mean(axis=1)]))
    white = W.T @ means
    white = white - nuisance @ (nuisance.T @ white)
    return float(n_rows * white @ white), W.shape[1] - 2
