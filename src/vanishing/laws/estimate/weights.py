"""The weights of moment conditions: the noise variance of a law on the rows, and the covariance of the conditions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._compiled import compiled
from ..._typing import Float1D, Float2D, Int2D
from ...constants import CACHE_ENTRIES
from .monomials import Monomials

__all__ = ["RowNoise", "covariance_of_tests", "row_noise"]


class RowNoise(NamedTuple):
    """A polynomial on the rows: its values, its derivatives ``(n_columns, n_rows)``, and its variance by the noise."""

    values: Float1D
    slopes: Float2D
    variance: Float1D


def row_noise(terms: Monomials, table: Float2D, coef: Float1D, variances: Float2D) -> RowNoise:
    """Values, derivatives and noise variance of ``g = sum_a coef_a z^a`` on rows.

    ``var g = sum_j v_j g_j^2 + 1/2 sum_jk v_j v_k g_jk^2``, with ``v_j`` the noise variance of column j.

    Parameters
    ----------
    terms : Monomials
    table : ndarray of shape (>= n_terms, n_rows)
        Their values.
    coef : ndarray of shape (n_terms,)
    variances : ndarray of shape (n_columns, n_rows) or (n_columns, 1)

    Examples
    --------
    >>> from vanishing.laws.estimate.monomials import monomials
    >>> terms = monomials(1, 2)
    >>> table = terms.values(np.array([[3.0]]))
    >>> row_noise(terms, table, np.array([0.0, 0.0, 1.0]), np.array([[0.1]])).variance  # 0.1 * 6^2 + 0.01 * 2^2 / 2
    array([3.62])
    """
    first, second = terms.gradient(coef), terms.hessian(coef)
    slopes = first @ table[: first.shape[1]]
    variance = np.zeros(slopes.shape[1])
    _add_variance(slopes, second @ table[: second.shape[1]], np.ascontiguousarray(variances), variance)
    return RowNoise(coef @ table[: len(terms)], slopes, variance)


@compiled
def _add_variance(slopes: Float2D, curves: Float2D, variances: Float2D, out: Float1D) -> None:
    """``sum_j v_j slope_j^2``, kept from zero (all slopes vanish on a double line), and the part of the curvature."""
    n, n_rows, step = slopes.shape[0], slopes.shape[1], min(variances.shape[1] - 1, 1)
    mean = 0.0
    for j in range(n):
        for i in range(n_rows):
            out[i] += variances[j, step * i] * slopes[j, i] ** 2
    for i in range(n_rows):
        mean += out[i] / n_rows
    for i in range(n_rows):
        out[i] = max(out[i], 1e-12 * mean + 1e-300)
    pair = 0
    for j in range(n):
        for k in range(j, n):
            factor = 0.5 if j == k else 1.0
            for i in range(n_rows):
                out[i] += factor * variances[j, step * i] * variances[k, step * i] * curves[pair, i] ** 2
            pair += 1


def covariance_of_tests(
    tests: Monomials, table: Float2D, noise: RowNoise, variances: Float2D, centred: Float2D
) -> Float2D:
    """The sum over rows of ``t t' w + q q'``: the covariance of the conditions, times the number of rows squared.

    ``w = var g`` and ``q = sum_j v_j d_j t d_j g``.

    Parameters
    ----------
    tests : Monomials
    table : ndarray of shape (n_tests, n_rows)
        Their values.
    noise : RowNoise
        Of the law.
    variances : ndarray of shape (n_columns, n_rows) or (n_columns, 1)
    centred : ndarray of shape (n_tests, n_rows)
        The tests of the conditions: their values, minus group means if there are groups.
    """
    places, powers = tests.derivatives
    factors, root = np.ascontiguousarray(variances * noise.slopes), np.sqrt(noise.variance)
    total = np.zeros((len(table), len(table)))
    block = max(CACHE_ENTRIES // len(table), 64)
    for first in range(0, len(root), block):
        part = np.empty((len(table), 2 * min(block, len(root) - first)))
        _fill_block(table, centred, places, powers, factors, root, first, part)
        total += part @ part.T
    return total


@compiled
def _fill_block(
    table: Float2D,
    centred: Float2D,
    places: Int2D,
    powers: Float2D,
    factors: Float2D,
    root: Float1D,
    first: int,
    out: Float2D,
) -> None:
    """``t root``, then ``sum_j factors_j d_j t``, for every test t, on as many rows as half of ``out`` has columns."""
    n_rows = out.shape[1] // 2
    for t in range(out.shape[0]):
        for i in range(n_rows):
            out[t, i] = centred[t, first + i] * root[first + i]
            out[t, n_rows + i] = 0.0
        for j in range(places.shape[1]):
            power, place = powers[t, j], places[t, j]
            if power > 0.0:
                for i in range(n_rows):
                    out[t, n_rows + i] += power * table[place, first + i] * factors[j, first + i]
