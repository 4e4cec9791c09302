"""Power laws of any rational exponents: linear relations between the logarithms of positive columns.

``prod_j x_j^a_j = K`` is ``sum_j a_j log x_j = log K``. Noise ``e`` of a value ``x`` is noise ``e / x`` of its
logarithm, so every row has a variance of its own: ``w = sum_j a_j^2 v_j`` with ``v_j = sigma_j^2 / y_j^2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtri, stdtrit

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ..estimate.gmm import is_rejected, smallest_ratio, whitener
from ..estimate.monomials import monomials
from ..estimate.settings import LIKELY
from ..rows.relation import ROUNDED

__all__ = [
    "STEPS",
    "PowerLaw",
    "far_from_zero",
    "find_power_law",
    "fixed_length_inverse",
    "integer_exponents",
    "over_one",
    "power_law_of",
    "t_over_normal",
]

STEPS = 4  # of coefficients and weights in turn
_LARGEST = 8  # exponent, after multiplying all of them to integers
_FAR_BY_CHANCE = 0.0005  # that an exponent is further from its integer than what counts as near
_CHANCE = 0.2  # that real exponents are as close to integers, at most
_SMALL = 0.15  # deviations of a column, below which a value is near zero: the first choice of rows
_FAR = 8.0  # deviations of the noise: closer to zero, a logarithm is no linear function of it
_LARGEST_VARIANCE = 1e12  # of a logarithm's noise, beside which that row counts for nothing
_CHOICES = 2  # of rows, each by the law of the one before
_ROWS_PER_COLUMN = 20  # rows far from zero, at least


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
    def degree(self) -> int:
        """Of the law as a polynomial, with all exponents positive."""
        return int(max(np.maximum(self.exponents, 0).sum(), np.maximum(-self.exponents, 0).sum()))

    @property
    def p_value(self) -> float:
        """Chance of a larger J at a true law."""
        return float(chdtrc(max(self.dof, 1), self.J))


def find_power_law(X: Float2D, max_noise: float, models: Sequence[bool] = (False, True)) -> PowerLaw | None:
    """The power law of the columns, if there is one and a test does not reject it.

    Logarithms are those of absolute values. Rows in which a value is small beside its noise are left out; see
    :func:`far_from_zero`.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    max_noise : float
        Noise that a law may have, as a share of the deviations of the logarithms.
    models : sequence of bool
        Whether the noise is multiplicative; the first that is not rejected counts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.uniform(1.0, 3.0, 500)
    >>> X = np.column_stack([a**1.5, a]) * (1.0 + 0.01 * rng.normal(size=(500, 2)))
    >>> find_power_law(X, 0.1).exponents
    array([ 2, -3])
    """
    best: PowerLaw | None = None
    for multiplicative in models:
        law = _find(X, multiplicative, max_noise)
        if law is not None and (best is None or law.p_value > best.p_value):
            best = law
        if best is not None and best.p_value > LIKELY:
            break
    return best


def _find(X: Float2D, multiplicative: bool, max_noise: float) -> PowerLaw | None:
    """The power law under one noise model; rows near zero are left out, at first by their own values."""
    spread = X.std(axis=0)
    rows = (np.abs(X) > np.where(_has_one_sign(X), 0.0, _SMALL * spread)).all(axis=1)
    fit: _Fit | None = None
    for _ in range(1 if multiplicative else _CHOICES):
        if fit is not None:
            rows = far_from_zero(X, fit.exponents, fit.middle, np.sqrt(fit.s2) * spread)
        if rows.sum() < _ROWS_PER_COLUMN * X.shape[1]:
            return None
        fit = _fit(np.abs(X[rows]), spread, multiplicative)
    assert fit is not None
    exponents = integer_exponents(fit.exponents, fit.covariance, len(fit.unit) - len(fit.exponents))
    if exponents is None:
        return None
    signs = np.prod(np.sign(X[rows]) ** (exponents % 2), axis=1)
    law = _tested(np.abs(X[rows]), spread, exponents, fit, multiplicative, max_noise)
    if law is None or abs(signs.mean()) < 0.999:  # no constant has both signs
        return None
    return replace(law, constant=float(np.copysign(law.constant, signs.mean())))


def _has_one_sign(X: Float2D) -> Bool1D:
    return np.asarray((X > 0.0).all(axis=0) | (X < 0.0).all(axis=0))


def far_from_zero(X: Float2D, exponents: Array, middle: float, sigma: Float1D) -> Bool1D:
    """The rows in which every value, predicted by the law from the others, is far from zero beside its noise.

    A choice by the values themselves would depend on their noise: small values with a large ``e`` would stay. The
    noise of the prediction ``log x_k = (middle - sum over j != k of a_j log y_j) / a_k`` is independent of theirs.

    Examples
    --------
    >>> far_from_zero(np.array([[0.4, 1.0], [0.4, 0.01]]), np.array([1, -1]), 0.0, np.array([0.1, 0.0]))
    array([ True, False])
    """
    size = np.maximum(np.abs(X), np.maximum(sigma, 1e-300))
    L = np.log(size)
    far = (np.abs(X) > np.maximum(sigma, 1e-300)).all(axis=1)
    for k in np.flatnonzero((exponents != 0) & (np.abs(X).min(axis=0) < _FAR * sigma)):
        value = (middle - L @ exponents + exponents[k] * L[:, k]) / exponents[k]
        far &= value > np.log(_FAR * sigma[k])
    return np.asarray(far)


class _Fit(NamedTuple):
    """Real exponents with their covariance, ``middle = log K``, and noise variances ``s2 unit`` of the logarithms."""

    exponents: Float1D
    covariance: Float2D
    middle: float
    s2: float
    unit: Float2D


def _fit(X: Float2D, spread: Float1D, multiplicative: bool) -> _Fit:
    L = np.log(X)
    unit = np.ones_like(X) if multiplicative else np.minimum((spread / X) ** 2, _LARGEST_VARIANCE)
    weights = 1.0 / unit.sum(axis=1)
    for _ in range(STEPS):
        share = weights / weights.sum()
        centred = L - share @ L
        gram = (centred * share[:, None]).T @ centred
        D = np.diag(share @ unit)
        ratio, a = smallest_ratio(gram, D)
        if not multiplicative:  # at the values that the law gives: noise must not weigh itself
            moved = unit * a * ((centred @ a) / (unit @ a**2))[:, None]
            unit = np.clip((spread / X * np.exp(np.clip(moved, -1.0, 1.0))) ** 2, 0.0, _LARGEST_VARIANCE)
        weights = 1.0 / (unit @ a**2)
    s2 = max(ratio, 0.0)
    return _Fit(a, _errors(gram, D, a, s2, len(X)), float(share @ L @ a), s2, unit)


def _errors(gram: Float2D, D: Float2D, a: Float1D, s2: float, n_rows: int) -> Float2D:
    """Covariance of the exponents at a fixed length: ``s^2 a'Da / N`` times the inverse of ``G - s^2 D``."""
    return np.asarray(fixed_length_inverse(gram - s2 * D, a) * (s2 * (a @ D @ a)) / n_rows)


def fixed_length_inverse(information: Float2D, a: Float1D) -> Float2D:
    """Pseudo-inverse of an information matrix on the directions orthogonal to ``a``, in which its length is fixed.

    Examples
    --------
    >>> fixed_length_inverse(np.diag([2.0, 4.0]), np.array([1.0, 0.0]))
    array([[0.  , 0.  ],
           [0.  , 0.25]])
    """
    projector = np.eye(len(a)) - np.outer(a, a) / (a @ a)
    return np.asarray(np.linalg.pinv(projector @ information @ projector, rcond=1e-10, hermitian=True))


def over_one(a: Float1D, covariance: Float2D, k: int) -> tuple[Float1D, Float2D]:
    """Coefficients ``a / a_k``, and their covariance to first order.

    Examples
    --------
    >>> ratio, covariance = over_one(np.array([2.0, 4.0]), np.diag([0.0, 0.04]), 0)
    >>> ratio, covariance
    (array([1., 2.]), array([[0.  , 0.  ],
           [0.  , 0.01]]))
    """
    ratio = a / a[k]
    jacobian = (np.eye(len(a)) - np.outer(ratio, np.eye(len(a))[k])) / a[k]
    return ratio, jacobian @ covariance @ jacobian.T


def t_over_normal(dof: float) -> float:
    """The 95% quantile of Student's t over the normal one: errors times this cover 95% in few rows, too.

    Examples
    --------
    >>> round(t_over_normal(7), 2), round(t_over_normal(1000), 2)
    (1.21, 1.0)
    """
    return float(stdtrit(dof, 0.975) / ndtri(0.975))


def integer_exponents(a: Float1D, covariance: Float2D, dof: float) -> Int1D | None:
    """The exponents as small integers without a common factor; None if they are not.

    All have to be near integers within t-errors with ``dof`` degrees of freedom, which hardly happens by chance.

    Examples
    --------
    >>> integer_exponents(np.array([0.8321, -0.5547]), 1e-8 * np.eye(2), 10)
    array([ 3, -2])
    """
    close, r = float(stdtrit(dof, 1.0 - _FAR_BY_CHANCE / 2.0)), int(np.argmax(np.abs(a)))
    ratio, covariance = over_one(a, covariance, r)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0)) + ROUNDED
    others, chance = np.arange(len(a)) != r, 0.0
    for factor in range(1, _LARGEST + 1):
        scaled, wide = ratio * factor, errors * factor
        near = np.round(scaled)
        chance += float(np.prod(np.minimum(2.0 * close * wide[others], 1.0)))  # that other numbers are near integers
        if chance > _CHANCE:
            return None
        if (np.abs(scaled - near) < np.maximum(close * wide, 1e-6)).all():
            integers = near.astype(np.int64)
            if integers[np.flatnonzero(integers)[0]] < 0:
                integers = -integers
            return np.asarray(integers // max(int(np.gcd.reduce(integers)), 1))
    return None


def _tested(
    X: Float2D, spread: Float1D, exponents: Int1D, fit: _Fit, multiplicative: bool, max_noise: float
) -> PowerLaw | None:
    """The power law with its constant, noise and test; None if it has too much noise, or a test rejects it."""
    a = exponents.astype(np.float64)
    used = np.flatnonzero(exponents)
    if used.size < 2:
        return None
    n_rows, L, unit = len(X), np.log(X), fit.unit
    shape = unit @ a**2
    s2 = 0.0
    for _ in range(3):  # to second order, E log y = log x - v / 2
        residual = (L + 0.5 * s2 * unit) @ a
        share = (1.0 / shape) / (1.0 / shape).sum()
        middle = float(share @ residual)
        residual = residual - middle
        s2 = float(np.mean(residual**2 / shape)) * n_rows / (n_rows - 1)
    level = float(np.sqrt(s2 * shape.mean() / (a**2 @ L.var(axis=0))))
    if level > max_noise:
        return None
    J, dof = _test(L[:, used], residual, a[used], s2 * unit[:, used]) if level > 1e-7 else (0.0, 1)
    if is_rejected(J, max(dof, 1), n_rows):
        return None
    constant = float(np.exp(middle))
    error = constant * float(np.sqrt(s2 / (1.0 / shape).sum()))
    sigma = np.sqrt(s2) * (np.ones(len(a)) if multiplicative else spread)
    return PowerLaw(exponents, constant, error, sigma, multiplicative, level, J, dof, n_rows)


def power_law_of(X: Float2D, exponents: Int1D) -> PowerLaw:
    """The power law with these exponents: its constant from the mean of the logarithms, and its test.

    Examples
    --------
    >>> law = power_law_of(np.array([[1.0, 3.0], [2.0, 6.0], [4.0, 12.1], [5.0, 15.0]]), np.array([-1, 1]))
    >>> round(law.constant, 2), round(law.error, 3)
    (3.01, 0.006)
    """
    a, used, n_rows = exponents.astype(np.float64), np.flatnonzero(exponents), len(X)
    L = np.log(np.abs(X[:, used]))
    residual = L @ a[used]
    middle = float(residual.mean())
    residual = residual - middle
    variance = float(residual.var(ddof=1))
    unit = np.full(L.shape, variance / float(a @ a))
    level = float(np.sqrt(variance / max(float(a[used] ** 2 @ L.var(axis=0)), 1e-300)))
    J, dof = _test(L, residual, a[used], unit) if level > 1e-7 else (0.0, 1)
    sign = float(np.sign(np.median(np.prod(np.sign(X[:, used]) ** (exponents[used] % 2), axis=1))))
    constant = float(np.exp(middle))
    error = constant * float(np.sqrt(variance / n_rows)) * t_over_normal(n_rows - 1)
    sigma = np.full(X.shape[1], np.sqrt(variance / float(a @ a)))
    return PowerLaw(exponents, sign * constant, error, sigma, True, level, J, max(dof, 1), n_rows)


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
    # The constant and the level were fitted: their directions are no evidence.
    nuisance, _ = np.linalg.qr(W.T @ np.column_stack([table.mean(axis=1), mixed.mean(axis=1)]))
    white = W.T @ means
    white = white - nuisance @ (nuisance.T @ white)
    return float(n_rows * white @ white), W.shape[1] - 2
