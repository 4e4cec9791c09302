"""Two audits of a polynomial that passes its test: whether it is exact, and whether it is a curve."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, log2

import numpy as np
from scipy.linalg import svdvals

from ..estimate.gmm import Conditions, System
from ..rows.relation import LEFT_BY_ROUNDING, REACH, ROUNDED
from .snapping import STRONG, SnappedLaw

__all__ = [
    "bits_of_choice",
    "is_dense",
    "is_exact",
    "least_dof",
]

_SPARSE = 0.5  # largest share of all terms that a sparse law has
_MISSED = 0.2  # deviations: where the second-best polynomial comes nearer to the rows, a curve does as well as a law


def least_dof(n_terms: int) -> float:
    """The fewest degrees of freedom of a test that says something about a polynomial with this many terms."""
    return max(3.0, 0.3 * n_terms)


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
    alone = len(singular) == 1 or singular[-2] > LEFT_BY_ROUNDING * singular[0]
    return bool(alone and singular[-1] < ROUNDED * singular[0])


def bits_of_choice(n_candidates: int, n_terms: int) -> float:
    """The bits that the rational coefficients of a special law have to save: chance explains fewer.

    A search chooses the terms, and the one whose coefficient is 1: among ``C(n, k) * k`` equations. Numbers that save
    ``b`` bits are found by chance with a probability of ``C(n, k) * k / 2^b``.

    Examples
    --------
    >>> round(bits_of_choice(10, 3), 2)
    13.49
    """
    return log2(comb(n_candidates, n_terms) * n_terms) + STRONG


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
    than :func:`bits_of_choice`. Or no other polynomial in its columns up to its degree nearly vanishes on
    the rows: the second-best one misses them by about ``sqrt(J / N)`` times the noise, 0.2 deviations at least.

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
    if n_terms < 4 and n_real <= 1:
        return False
    if snapped is not None and n_terms <= _SPARSE * len(dictionary):
        n_numbers = _count_real(conditions, snapped, system) + n_shifts
        chance = bits_of_choice(len(dictionary), n_terms)
        if n_numbers <= max(1, n_strong // 2) and snapped.saved > chance:
            return False
    missed = np.sqrt(float(system.spectrum(dictionary.tolist())[1]) / system.n_rows) * level
    return bool(missed < _MISSED)


def _count_real(conditions: Conditions, snapped: SnappedLaw, system: System) -> int:
    """How many different real numbers a law has besides its rational ones: ``8.98 x^2 + 8.98 y^2`` has one."""
    real = [term for term in snapped.support if term not in snapped.rational]
    if len(real) < 2:
        return len(real)
    information = system.information(snapped.c, real)
    errors = np.sqrt(np.maximum(np.diag(np.linalg.pinv(information, hermitian=True)), 0.0)) / conditions.unit[real]
    values = np.abs(snapped.c[real] / conditions.unit[real])
    order = np.argsort(values)
    gaps = np.diff(values[order]) > REACH * np.hypot(errors[order][1:], errors[order][:-1])
    return 1 + int(gaps.sum())
