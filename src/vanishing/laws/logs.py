"""Power laws of any rational exponents: linear relations between the logarithms of positive columns.

``prod_j x_j^a_j = K`` is ``sum_j a_j log x_j = log K``. Noise ``e`` of a value ``x`` is noise ``e / x`` of its
logarithm, so every row has a variance of its own: ``w = sum_j a_j^2 v_j`` with ``v_j = sigma_j^2 / y_j^2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from .._typing import Float1D, Float2D, Int1D
from .gmm import critical_value, smallest_ratio, whitener
from .monomials import monomials

__all__ = ["PowerLaw", "find_power_law"]

_STEPS = 8
_LARGEST = 8  # exponent, after all were multiplied to integers
_CLOSE = 3.5  # standard errors that an exponent may be away from an integer
_CHANCE = 0.2
_SMALL = 0.15  # deviations of a column
_LEAST_ROWS, _ROWS_PER_COLUMN = 0.3, 10  # that are needed: a share of them, and for each column
_SMALLEST_ERROR = 1e-9
_ALONE = 25.0  # times its own noise, the next relation between logarithms has


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
    alone: bool
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

    Logarithms are those of absolute values. Rows with a value that is small beside its column's deviation are left out
    where some of these are not positive: the noise may have changed their sign.

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
    positive = (X > 0.0).all(axis=0) | (X < 0.0).all(axis=0)
    rows = (np.abs(X[:, ~positive]) > _SMALL * X[:, ~positive].std(axis=0)).all(axis=1)
    if rows.mean() < _LEAST_ROWS or rows.sum() < _ROWS_PER_COLUMN * X.shape[1]:
        return None
    X = X[rows]
    size, L = np.abs(X), np.log(np.abs(X))
    best: PowerLaw | None = None
    for multiplicative in models:
        found = _fit(size, L, multiplicative, max_noise)
        if found is not None and (best is None or found.p_value > best.p_value):
            best = found
        if best is not None and best.p_value > 1e-2:
            break
    if best is None:
        return None
    signs = np.prod(np.sign(X) ** (best.exponents % 2), axis=1)
    if abs(signs.mean()) < 0.999:  # no constant has both signs
        return None
    return replace(best, constant=float(np.copysign(best.constant, signs.mean())))


def _fit(X: Float2D, L: Float2D, multiplicative: bool, max_noise: float) -> PowerLaw | None:
    n_rows, spread = len(X), X.std(axis=0)
    unit = np.ones_like(X) if multiplicative else (spread / X) ** 2  # variance of the logarithms, for s = 1
    weights = 1.0 / unit.sum(axis=1)
    for _ in range(_STEPS):
        share = weights / weights.sum()
        centred = L - share @ L
        gram = (centred * share[:, None]).T @ centred
        D = np.diag(share @ unit)
        ratio, a = smallest_ratio(gram, D)
        if not multiplicative:  # at the values that the law gives: noise must not weigh itself
            moved = unit * a * ((centred @ a) / (unit @ a**2))[:, None]
            unit = np.clip((spread / X * np.exp(np.clip(moved, -1.0, 1.0))) ** 2, 0.0, 1e12)
        weights = 1.0 / (unit @ a**2)
    s2 = max(ratio, 0.0)
    values = np.linalg.eigvalsh(gram / np.sqrt(np.outer(np.diag(D), np.diag(D))))
    exponents = _integers(a, _errors(gram, D, a, s2, n_rows))
    if exponents is None:
        return None
    return _tested(
        X, L, exponents, unit, multiplicative, max_noise, alone=bool(values[1] > _ALONE * max(values[0], 0.0))
    )


def _errors(gram: Float2D, D: Float2D, a: Float1D, s2: float, n_rows: int) -> Float2D:
    """Covariance of the exponents at a fixed length: ``s^2 / N`` times the pseudo-inverse of what the rows say."""
    information = gram - s2 * D
    projector = np.eye(len(a)) - np.outer(a, a) / (a @ a)
    inner = projector @ information @ projector
    return np.asarray(np.linalg.pinv(inner, rcond=1e-10, hermitian=True) * (s2 * (a @ D @ a)) / n_rows)


def _integers(a: Float1D, covariance: Float2D) -> Int1D | None:
    """The exponents as small integers without a common factor, if they can be."""
    r = int(np.argmax(np.abs(a)))
    ratio = a / a[r]
    jacobian = (np.eye(len(a)) - np.outer(ratio, np.eye(len(a))[r])) / a[r]
    errors = np.sqrt(np.maximum(np.diag(jacobian @ covariance @ jacobian.T), 0.0)) + _SMALLEST_ERROR
    others, chance = np.arange(len(a)) != r, 0.0
    for factor in range(1, _LARGEST + 1):
        scaled, wide = ratio * factor, errors * factor
        near = np.round(scaled)
        chance += float(np.prod(np.minimum(2.0 * _CLOSE * wide[others], 1.0)))  # that any numbers are near integers
        if chance > _CHANCE:
            return None
        if (np.abs(scaled - near) < np.maximum(_CLOSE * wide, 1e-6)).all():
            found = near.astype(np.int64)
            if found[np.flatnonzero(found)[0]] < 0:
                found = -found
            return np.asarray(found // max(int(np.gcd.reduce(found)), 1))
    return None


def _tested(
    X: Float2D, L: Float2D, exponents: Int1D, unit: Float2D, multiplicative: bool, max_noise: float, *, alone: bool
) -> PowerLaw | None:
    """The power law with its constant, noise and test, unless these speak against it."""
    a = exponents.astype(np.float64)
    used = np.flatnonzero(exponents)
    if used.size < 2:
        return None
    n_rows = len(X)
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
    if 1.15 * critical_value(1e-4, dof) < J and 0.01 * n_rows < J:
        return None
    constant = float(np.exp(middle))
    error = constant * float(np.sqrt(s2 / (1.0 / shape).sum()))
    sigma = np.sqrt(s2) * (np.ones(len(a)) if multiplicative else X.std(axis=0))
    return PowerLaw(exponents, constant, error, sigma, multiplicative, level, J, dof, alone, n_rows)


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
