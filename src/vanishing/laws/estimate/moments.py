"""Moments of standardised columns, and unbiased estimates of the moments without noise.

Rows are ``y = x + e`` with independent noise. A monomial of ``y`` has an expectation that is a combination of
monomials of ``x``; inverting that is linear in the moments, so sums over rows that were collected once give unbiased
moments of ``x`` for every noise level.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import comb, factorial
from typing import Any

import numpy as np

from ..._typing import Array, Float1D, Float2D, Int1D
from ...engine.gram import border_gram, mean_gram
from ...rows.protocol import Rows
from .monomials import Monomials, monomials

__all__ = ["ADDITIVE", "MULTIPLICATIVE", "MomentTable", "collect_moments", "debias", "group_means", "slope"]

ADDITIVE, MULTIPLICATIVE = "additive", "multiplicative"


def debias(moments: Any, terms: Monomials, variances: Float1D, model: str = ADDITIVE) -> Array:
    """Unbiased moments of ``x`` from those of ``y``; moments along the last axis.

    Additive noise, ``y = x + e``: ``x^k = E H_k(y)`` with the Hermite polynomial ``H_k(y) = sum_i (-s^2)^i
    k! / (i! 2^i (k - 2i)!) y^(k - 2i)``. Multiplicative noise, ``y = x (1 + e)``: ``E y^k = x^k E (1 + e)^k``, a
    rescaling.

    Examples
    --------
    >>> terms = monomials(1, 2)
    >>> debias(np.array([1.0, 0.0, 1.25]), terms, np.array([0.25]))  # E y^2 = x^2 + s^2
    array([1., 0., 1.])
    """
    if model == MULTIPLICATIVE:
        return np.asarray(moments / _growth(terms, variances))
    return np.asarray(_graded(np.asarray(moments, dtype=np.float64), terms, variances).sum(axis=0))


def _graded(moments: Array, terms: Monomials, profile: Float1D) -> Array:
    """The unbiased moments for additive noise of variances ``v profile``, as coefficients of 1, v, v^2, ..."""
    powers = np.zeros((terms.degree // 2 + 1, *moments.shape))
    powers[0] = moments
    for j in np.flatnonzero(profile > 0.0).tolist():
        before = powers.copy()
        for i in range(1, len(powers)):
            rows, places, _ = terms.divided(j, 2 * i)
            factor = _hermite_factors(terms.degree, i)[terms.exponents[rows, j]] * (-profile[j]) ** i
            powers[i:, ..., rows] += factor * before[: len(powers) - i, ..., places]
    return powers


def slope(debiased: Array, terms: Monomials, variances: Float1D, j: int, model: str = ADDITIVE) -> Array:
    """Derivative of the debiased moments with respect to ``log s_j^2``.

    Additive: ``d H_k / d s^2 = -k (k - 1) / 2 H_(k-2)``. Multiplicative: the growth is a polynomial in ``s_j^2``.

    Examples
    --------
    >>> terms = monomials(1, 2)
    >>> slope(np.array([1.0, 0.0, 1.0]), terms, np.array([0.25]), 0)
    array([ 0.  ,  0.  , -0.25])
    """
    if model == MULTIPLICATIVE:
        powers = _normal_moments(terms.degree) * variances[j] ** np.arange(terms.degree // 2 + 1)
        rates = powers @ np.arange(powers.shape[1]) / powers.sum(axis=1)
        return np.asarray(-debiased * rates[terms.exponents[:, j]])
    result = np.zeros_like(debiased)
    rows, places, power = terms.divided(j, 2)
    result[..., rows] = -0.5 * variances[j] * power * (power - 1.0) * debiased[..., places]
    return result


@lru_cache(maxsize=256)
def _hermite_factors(degree: int, i: int) -> Float1D:
    """``k! / (i! 2^i (k - 2i)!)`` for k = 0, ..., degree."""
    return np.array(
        [0.0 if k < 2 * i else factorial(k) / (factorial(i) * 2**i * factorial(k - 2 * i)) for k in range(degree + 1)]
    )


def _growth(terms: Monomials, variances: Float1D) -> Float1D:
    """``E y^a / x^a`` under multiplicative noise."""
    total = np.ones(len(terms))
    for j, variance in enumerate(variances):
        total *= _growth_table(terms.degree, variance)[terms.exponents[:, j]]
    return total


def _growth_table(degree: int, variance: float) -> Float1D:
    """``E (1 + e)^k = sum_i C(k, 2i) s^(2i) (2i - 1)!!`` for k = 0, ..., degree."""
    return np.asarray(_normal_moments(degree) @ variance ** np.arange(degree // 2 + 1))


@lru_cache(maxsize=64)
def _normal_moments(degree: int) -> Float2D:
    """``C(k, 2i) (2i - 1)!!`` for k = 0, ..., degree and i = 0, ..., degree // 2."""
    return np.array(
        [
            [comb(k, 2 * i) * factorial(2 * i) / (2**i * factorial(i)) for i in range(degree // 2 + 1)]
            for k in range(degree + 1)
        ]
    )


@dataclass(frozen=True, eq=False)
class MomentTable:
    """Means of all monomials up to a degree over the rows, and over each group of rows if there are groups.

    With groups, products are those of deviations from each group's mean: a polynomial whose deviations vanish is
    constant along every group.
    """

    terms: Monomials
    means: Float1D
    n_rows: int
    model: str = ADDITIVE
    sizes: Int1D | None = None
    group_terms: Monomials | None = None
    by_group: Float2D | None = None
    _debiased: dict[bytes, Array] = field(default_factory=dict)  # for the variances asked for last
    _pencils: dict[tuple[bytes, int], tuple[Array, Float2D]] = field(default_factory=dict)

    def debiased(self, variances: Float1D) -> Array:
        """Unbiased moments of ``x``; kept until other variances are asked for."""
        key = variances.tobytes()
        if key not in self._debiased:
            self._debiased.clear()
            self._debiased[key] = debias(self.means, self.terms, variances, self.model)
        return self._debiased[key]

    @property
    def column_variances(self) -> Float1D:
        """Variances of the columns, ``E z_j^2 - (E z_j)^2``."""
        columns = np.arange(1, self.terms.n_columns + 1)
        squares = self.terms.places(2 * self.terms.exponents[columns])
        return np.asarray(self.means[squares] - self.means[columns] ** 2)

    def products(self, variances: Float1D, left: Monomials, right: Monomials) -> Float2D:
        """Unbiased ``E[x^a x^b]`` for ``a`` of ``left`` and ``b`` of ``right``."""
        total = self.debiased(variances)[self.terms.products(left, right)]
        if self.group_terms is None:
            return np.asarray(total)
        means = debias(self.by_group, self.group_terms, variances, self.model)
        a, b = slice(len(left)), slice(len(right))
        return self._within_groups(total, means[:, a], means[:, b])

    def product_slopes(self, variances: Float1D, left: Monomials, right: Monomials) -> list[Float2D]:
        """Derivatives of :meth:`products` with respect to ``log s_j^2``, for every column j."""
        at = self.terms.products(left, right)
        columns = range(self.terms.n_columns)
        slopes = [slope(self.debiased(variances), self.terms, variances, j, self.model)[at] for j in columns]
        if self.group_terms is None:
            return slopes
        means = debias(self.by_group, self.group_terms, variances, self.model)
        a, b = slice(len(left)), slice(len(right))
        for j in columns:
            change = slope(means, self.group_terms, variances, j, self.model)
            slopes[j] = self._within_groups(slopes[j], change[:, a], means[:, b], means[:, a], change[:, b])
        return slopes

    def level_pencil(self, profile: Float1D, terms: Monomials) -> tuple[Array, Float2D]:
        """The ``A_k`` of ``sum_k v^k A_k``, :meth:`products` under additive noise of variances ``v profile``.

        And :meth:`gradient_products` with the profile as weights; both are computed once.
        """
        key = profile.tobytes(), terms.degree
        if key not in self._pencils:
            used = monomials(terms.n_columns, 2 * terms.degree)
            powers = _graded(self.means[: len(used)], used, profile)
            self._pencils[key] = powers[:, used.products(terms, terms)], self.gradient_products(profile, terms)
        return self._pencils[key]

    def gradient_products(self, weights: Float1D, terms: Monomials, model: str | None = None) -> Float2D:
        """``sum_j w_j E[d_j y^a d_j y^b]`` over the noisy rows, where it is positive semi-definite.

        For multiplicative noise ``d_j`` stands for ``y_j d_j``, unless ``model`` says otherwise.
        """
        total = np.zeros((len(terms), len(terms)))
        gram = self.means[self.terms.products(terms, terms)]
        for weight, (used, lower, power) in zip(weights, terms.lowered, strict=True):
            at = lower if (model or self.model) == ADDITIVE else used
            total[np.ix_(used, used)] += weight * np.outer(power, power) * gram[np.ix_(at, at)]
        return total

    def _within_groups(self, total: Float2D, *means: Float2D) -> Float2D:
        assert self.sizes is not None
        shares = (self.sizes / self.n_rows)[:, None]
        for a, b in zip(means[::2], means[1::2], strict=True):
            total = total - (a * shares).T @ b
        return np.asarray(total * self.n_rows / (self.n_rows - len(self.sizes)))


def group_means(values: Float2D, codes: Int1D) -> Float2D:
    """Means of the columns of ``values`` (one row per monomial) within each group, ``(n_groups, n_monomials)``.

    Examples
    --------
    >>> group_means(np.array([[1.0, 3.0, 5.0]]), np.array([0, 0, 1]))
    array([[2.],
           [5.]])
    """
    sizes = np.bincount(codes)
    return np.array([np.bincount(codes, weights=row) for row in values]).T / sizes[:, None]


def collect_moments(rows: Rows, degree: int, n_rows: int, model: str = ADDITIVE) -> MomentTable:
    """Means of all monomials up to ``degree`` in one pass: they are the Gram of those up to half the degree.

    Examples
    --------
    >>> from vanishing.rows.arrays import as_rows
    >>> table = collect_moments(as_rows(np.array([[1.0], [3.0]])), 2, 2)
    >>> table.means
    array([1., 2., 5.])
    """
    half = monomials(rows.n_features, -(-degree // 2))
    gram = border_gram(np.ones((1, 1)), mean_gram(rows, half.program, 1))
    whole = monomials(rows.n_features, 2 * half.degree)
    means = np.empty(len(whole))
    means[whole.products(half, half)] = gram
    return MomentTable(whole, means, n_rows, model)
