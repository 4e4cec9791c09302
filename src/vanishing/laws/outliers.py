"""Rows that follow no law: concentration steps find them before they spoil the moments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh

from .._typing import Bool1D, Float1D, Float2D
from ..polynomials.terms import count_terms
from .gmm import Conditions
from .monomials import monomials
from .sample import make_sample

__all__ = ["concentrated_rows"]

_KEPT = 0.75  # share of the rows in a concentration step
_FAR_COLUMN = 3.5  # robust deviations in one column beyond which a row is unusual
_FAR = 3.8  # robust deviations from the polynomial beyond which a row is an outlier
_STARTS, _STEPS, _LAST_STEPS = 15, 3, 10  # random starts, steps from each, and steps from the best
_AS_GOOD, _MOST_POLYNOMIALS = 6.0, 6  # polynomials that count: ratio over the smallest, and number, at most
_REACH = 1.5  # leverage over that of 99% of the usual rows, at most
_SEED = 5_077_913_330_201  # large, so that no table was made with the same random numbers


def concentrated_rows(X: Float2D, degree: int) -> Bool1D:
    """The rows near the polynomial of a degree that fits most of them best.

    Concentration steps (Rousseeuw and Van Driessen 1999): the polynomial with the smallest ``mean g^2 / mean |grad
    g|^2`` on some rows (Taubin 1991), then the three quarters of all rows that are nearest to it, and so on; from
    the rows that are unusual in no column, and from random sets of as few rows as determine a polynomial. The best of
    these goes on, in the end with the rows within 3.8 robust deviations and within reach of the others.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 100)
    >>> X = np.column_stack([x, 2.0 * x + 1e-3 * np.sin(50 * x)])
    >>> X[7, 1] += 1.0
    >>> np.flatnonzero(~concentrated_rows(X, 1)).tolist()
    [7]
    """
    rows, _ = min((_concentrate(X, start, degree) for start in _starts(X, degree)), key=lambda entry: entry[1])
    for _ in range(_LAST_STEPS):
        distance = _distances(X, rows, degree)
        near = np.quantile(distance, _KEPT)
        deviation = np.median(distance[distance <= near]) / 0.4888  # the 3/8 quantile of |e| for normal e
        chosen = distance <= _FAR * deviation
        if np.array_equal(chosen, rows):
            break
        rows = chosen
    return np.asarray(rows & _within_reach(X, rows))


def _starts(X: Float2D, degree: int) -> Iterator[Bool1D]:
    """Rows to start from: those that are unusual in no column, and random sets."""
    yield _is_usual(X)
    random = np.random.default_rng(_SEED)
    few = min(count_terms(degree, X.shape[1]) + 2 + X.shape[1], len(X))
    for _ in range(_STARTS):
        chosen = np.zeros(len(X), dtype=bool)
        chosen[random.choice(len(X), few, replace=False)] = True
        yield chosen


def _concentrate(X: Float2D, rows: Bool1D, degree: int) -> tuple[Bool1D, float]:
    """A few steps: the rows, and how near they are to their polynomial."""
    for _ in range(_STEPS):
        distance = _distances(X, rows, degree)
        rows = distance <= np.quantile(distance, _KEPT)
    return rows, float(np.sqrt(np.mean(distance[rows] ** 2)) / _size(X, rows))


def _size(X: Float2D, rows: Bool1D) -> float:
    """The extent of some rows, over that of all: a few rows are near to many polynomials."""
    return float(np.exp(np.mean(np.log((X[rows].std(axis=0) + 1e-300) / (X.std(axis=0) + 1e-300)))))


def _distances(X: Float2D, rows: Bool1D, degree: int) -> Float1D:
    """Distances of all rows from the polynomials that nearly vanish on the chosen ones.

    These are the one with the smallest ``mean g^2 / mean |grad g|^2``, and others that are about as good: on a curve
    in space, rows that satisfy one equation by chance are far from another.
    """
    conditions = Conditions(make_sample(X[rows]), degree, 0)
    gram, spread = conditions.noise_pencil(np.ones(X.shape[1]))
    size = np.sqrt(np.diag(gram))
    values, vectors = eigh(spread / np.outer(size, size), gram / np.outer(size, size) + 1e-13 * np.eye(len(gram)))
    sample, terms = conditions.sample, conditions.terms
    table = terms.values((X - sample.centre) / sample.scale)
    total = np.zeros(len(X))
    for k in np.flatnonzero(values * _AS_GOOD >= values[-1])[::-1][:_MOST_POLYNOMIALS]:
        z = conditions.basis @ (vectors[:, k] / size)
        steepness = np.sum([(terms.derivative(z, j) @ table) ** 2 for j in range(X.shape[1])], axis=0)
        total += (z @ table) ** 2 / (steepness + 1e-3 * np.mean(steepness[rows]))
    return np.asarray(np.sqrt(total))


def _within_reach(X: Float2D, rows: Bool1D) -> Bool1D:
    """Rows that are no further out than the chosen ones: far away, a single row outweighs all others in high moments.

    Rows are judged by ``t' (mean t t')^-1 t`` with t the quadratic monomials and the mean over the chosen rows that are
    unusual in no column (the inverse of the Christoffel function).
    """
    usual = rows & _is_usual(X)
    sample = make_sample(X[usual])
    table = monomials(X.shape[1], 2).values((X - sample.centre) / sample.scale)
    gram = table[:, usual] @ table[:, usual].T / usual.sum()
    leverage = np.einsum("ki,ki->i", table, np.linalg.pinv(gram, hermitian=True) @ table)
    return np.asarray(leverage <= _REACH * np.quantile(leverage[usual], 0.99))


def _is_usual(X: Float2D) -> Bool1D:
    """Rows that are unusual in no column."""
    middle = np.median(X, axis=0)
    spread = 1.4826 * np.median(np.abs(X - middle), axis=0) + 1e-300
    return np.asarray((np.abs(X - middle) / spread < _FAR_COLUMN).all(axis=1))
