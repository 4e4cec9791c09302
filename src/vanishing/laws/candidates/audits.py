"""Audits of a polynomial that passes its test: whether it is exact, and whether it is special."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, log2

import numpy as np
from scipy.linalg import svdvals

from ..._typing import Float1D, Int1D
from ..estimate.gmm import FLOOR, Conditions, System
from .snapping import SnappedLaw

__all__ = [
    "is_dense",
    "is_exact",
    "is_noisy",
    "is_surprising",
    "least_dof",
    "sample_rows",
]

_EXACT = 1e-9  # singular value, relative to the largest, below which rows satisfy a law up to rounding
_GAP = 1e-4  # over the next singular value
_SEED = 7_043_166_121_809  # large, so that no table was made with the same random numbers
_MOST_REAL = 7  # real coefficients of a law
_SURPRISE = 3.0  # bits that numbers save beyond the choice of terms; twice this for plane curves, which few terms fit
_PER_REAL = 10.0  # bits more for each real number of a curve in the plane with many terms
_SPARSE = 0.5  # share of all terms, at most, of a sparse law
_SAME = 3.0  # errors that two real coefficients may differ by and be one number
_FEW = 4  # terms of a curve in the plane that may be known to a coarse resolution
_SAVED = 4.0  # bits that the rational numbers of a law save, on average
_SAVED_BY_ONE = 7.0  # bits that a rational number must save where there are hardly others
_FINE, _COARSE = 0.002, 0.0017  # resolution, in deviations: of three terms, and of a plane curve with many
_MISSED = 0.2  # deviations by which the second-best polynomial misses the rows, beside a law


def least_dof(n_terms: int) -> float:
    """The fewest degrees of freedom of a test that says something about a polynomial with this many terms."""
    return max(3.0, 0.3 * n_terms)


def is_noisy(variances: Float1D) -> bool:
    """Whether the noise is more than rounding.

    Examples
    --------
    >>> bool(is_noisy(np.array([1e-12]))), bool(is_noisy(np.array([1e-4])))
    (False, True)
    """
    return bool(variances.max() > 16 * FLOOR**2)


def is_exact(conditions: Conditions, support: Sequence[int]) -> bool:
    """Whether the rows satisfy a polynomial with these terms up to rounding.

    The Gram has half the digits only, so laws without noise are judged by the singular values of the terms on the
    rows: the smallest one is rounding, the next one is not. (All of them are small for terms that approximate a smooth
    curve.)
    """
    sample = conditions.sample
    scaled = (sample.X / sample.size) ** conditions.terms.exponents[list(support), None, :]
    values = sample.without_group_means(np.prod(scaled, axis=2))
    size = np.sqrt((values**2).mean(axis=1, keepdims=True))
    if not size.all():  # a term that is zero on all rows is a law without the others
        return len(support) == 1
    singular = svdvals((values / size).T)
    alone = len(singular) == 1 or singular[-1] < _GAP * singular[-2]
    return bool(alone and singular[-1] < _EXACT * singular[0])


def sample_rows(n_rows: int, most: int) -> Int1D:
    """All rows, or some at random, always the same ones."""
    return np.arange(n_rows) if n_rows <= most else np.random.default_rng(_SEED).choice(n_rows, most, replace=False)


def is_surprising(saved: float, n_candidates: int, n_terms: int, n_columns: int) -> bool:
    """Whether rational coefficients save more bits than the choice of terms, and of the one that is 1, takes.

    Examples
    --------
    >>> is_surprising(20.0, 10, 3, 2), is_surprising(10.0, 10, 3, 2)
    (True, False)
    """
    return saved > log2(comb(n_candidates, n_terms) * n_terms) + _SURPRISE * (2 if n_columns == 2 else 1)


def is_dense(
    conditions: Conditions,
    support: Sequence[int],
    snapped: SnappedLaw | None,
    system: System,
    level: float,
    n_shifts: int = 0,
) -> bool:
    """Whether a polynomial may be the approximation of a smooth curve.

    A law is special. Either it is sparse, nearly all of its coefficients are rational numbers, and these save more bits
    than it takes to say which terms it has. Or no other polynomial in its columns up to its degree nearly vanishes on
    the rows: the second-best one misses them by about ``sqrt(J / N)`` times the noise, 0.2 deviations at least; half of
    that is enough for three terms that are known to a fine resolution, ``noise / sqrt(N)``.

    Parameters
    ----------
    conditions : Conditions
    support : sequence of int
    snapped : SnappedLaw or None
        The rational coefficients.
    system : System
        With the weights of the law.
    level : float
        Its noise.
    n_shifts : int, default=0
        Columns whose origin was fitted to the rows.
    """
    n_terms, n_strong = len(support), 0 if snapped is None else snapped.n_strong
    n_real = n_terms - 1 - n_strong + n_shifts
    exponents = conditions.terms.exponents
    idle = ~exponents[list(support)].any(axis=0)
    dictionary = np.flatnonzero(~exponents[:, idle].any(axis=1))
    if conditions.degree == 1:
        return False
    if n_terms < 4 and n_real <= 1 and (n_terms < 3 or (snapped is not None and snapped.saved > _SAVED_BY_ONE)):
        return False
    sparse, plane = n_terms <= _SPARSE * len(dictionary), (~idle).sum() == 2
    coarse = plane and n_terms > _FEW and level > _COARSE * np.sqrt(system.n_rows)
    if sparse and snapped is not None and not coarse:  # five terms fit a coarse plane curve by chance
        n_numbers = _count_real(conditions, snapped, system) + n_shifts
        chosen = np.log2(comb(len(dictionary), n_terms) * n_terms) + _SURPRISE * (2 if plane else 1)
        if plane and n_terms > _FEW:
            chosen += _PER_REAL * n_numbers
        few_real = n_numbers <= max(1, n_strong // 2)
        if few_real and snapped.saved > max(chosen, _SAVED * (len(snapped.rational) - 1)):
            return False
    if n_real - n_shifts > max(3, min(0.45 * (len(dictionary) - 1), _MOST_REAL)):
        return True
    missed = np.sqrt(float(system.spectrum(dictionary.tolist())[1]) / system.n_rows) * level
    few = n_terms <= 3 and n_shifts == 0 and level < _FINE * np.sqrt(system.n_rows)
    return bool(missed < (_MISSED / 2.0 if few else _MISSED))


def _count_real(conditions: Conditions, snapped: SnappedLaw, system: System) -> int:
    """How many different real numbers a law has besides its rational ones: ``8.98 x^2 + 8.98 y^2`` has one."""
    real = [term for term in snapped.support if term not in snapped.rational]
    if len(real) < 2:
        return len(real)
    information = system.information(snapped.c, real)
    errors = np.sqrt(np.maximum(np.diag(np.linalg.pinv(information, hermitian=True)), 0.0)) / conditions.unit[real]
    values = np.abs(snapped.c[real] / conditions.unit[real])
    order = np.argsort(values)
    gaps = np.diff(values[order]) > _SAME * np.hypot(errors[order][1:], errors[order][:-1])
    return 1 + int(gaps.sum())
