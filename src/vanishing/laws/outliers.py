"""Rows that follow no law: found by concentration steps, before the moments are taken that they would spoil."""

from __future__ import annotations

import numpy as np

from .._typing import Bool1D, Float1D, Float2D
from .gmm import Conditions, smallest_ratio
from .sample import make_sample

__all__ = ["concentrated_rows"]

_KEPT = 0.9  # of the rows, in the first steps
_FAR_COLUMN = 3.5  # robust deviations in one column, for the start
_FAR = 3.8  # robust deviations from the polynomial
_STEPS, _FIRST_STEPS = 15, 6


def concentrated_rows(X: Float2D, degree: int) -> Bool1D:
    """The rows near the polynomial of a degree that fits most of them best.

    Starts with rows that are unusual in no column; then, in turn, the polynomial with the smallest ``mean g^2 / mean
    |grad g|^2`` on the chosen rows (Taubin 1991), and the rows that are nearest to it (concentration steps, Rousseeuw
    and Van Driessen 1999): nine in ten at first, then those within 3.8 robust deviations.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 100)
    >>> X = np.column_stack([x, 2.0 * x + 1e-3 * np.sin(50 * x)])
    >>> X[7, 1] += 1.0
    >>> np.flatnonzero(~concentrated_rows(X, 1)).tolist()
    [7]
    """
    middle = np.median(X, axis=0)
    spread = 1.4826 * np.median(np.abs(X - middle), axis=0) + 1e-300
    rows = np.asarray((np.abs(X - middle) / spread < _FAR_COLUMN).all(axis=1))
    for step in range(_STEPS):
        distance = _distances(X, rows, degree)
        near = np.quantile(distance, _KEPT)
        if step >= _FIRST_STEPS:
            near = _FAR * np.median(distance[distance <= near]) / 0.6745 * 1.08
        chosen = distance <= near
        if step >= _FIRST_STEPS and np.array_equal(chosen, rows):
            break
        rows = chosen
    return rows


def _distances(X: Float2D, rows: Bool1D, degree: int) -> Float1D:
    """Distances of all rows from the polynomial that fits the chosen ones best."""
    conditions = Conditions(make_sample(X[rows]), degree, 0)
    ones = np.ones(X.shape[1])
    exponents = conditions.terms.exponents
    gram = conditions.basis.T @ conditions.moments.products(0.0 * ones, exponents, exponents) @ conditions.basis
    spread = conditions.spread(ones)
    inner = gram[1:, 1:] - np.outer(gram[0, 1:], gram[0, 1:]) / gram[0, 0]
    _, v = smallest_ratio(inner, spread[1:, 1:])
    c = np.r_[-gram[0, 1:] @ v / gram[0, 0], v]
    sample = conditions.sample
    table = conditions.terms.values((X - sample.centre) / sample.scale)
    z = conditions.basis @ c
    steepness = np.sum([(conditions.terms.derivative(z, j) @ table) ** 2 for j in range(X.shape[1])], axis=0)
    return np.asarray(np.abs(z @ table) / np.sqrt(steepness + 1e-3 * np.mean(steepness[rows])))
