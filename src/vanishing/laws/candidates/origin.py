"""The origin of a law, where its columns are counted from: ``(x - 20)^2 + (y + 15)^2 = 9`` for a circle far away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..._typing import Float1D, Float2D
from ..estimate.gmm import Conditions
from ..estimate.moments import ADDITIVE
from ..estimate.monomials import binomial_matrix
from ..estimate.sample import make_sample
from ..estimate.settings import Settings
from ..rows.relation import REACH
from .audits import is_dense
from .fitted import FittedLaw, refit
from .independence import jacobian_rank
from .search import find_law

__all__ = ["centre_of", "far_origin", "recentre_all", "round_within"]

_FAR = 30.0  # deviations from zero: a column farther off has powers that correlate by more than 0.999


def far_origin(X: Float2D) -> Float1D:
    """An origin near the rows, in round numbers, for columns that are many deviations away from zero.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> far_origin(np.column_stack([rng.normal(1234.0, 3.0, 100), rng.normal(0.0, 1.0, 100)]))
    array([1230.,    0.])
    """
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    step = 10.0 ** np.ceil(np.log10(deviation))
    return np.where(np.abs(mean) > _FAR * deviation, np.round(mean / step) * step, 0.0)


def centre_of(law: FittedLaw) -> tuple[Float1D, Float1D]:
    """The shift that makes the law's terms of second highest degree smallest, and its standard errors.

    With ``g(x + t) = g_d(x) + [g_(d-1)(x) + sum_j t_j d_j g_d(x)] + ...`` by degrees, the least squares solution of
    ``g_(d-1) + sum_j t_j d_j g_d = 0``, in standardised columns.
    """
    conditions = law.conditions
    terms, sample = conditions.terms, conditions.sample
    coef, covariance = _coefficients(law)
    top, lower = terms.total == terms.degree, np.flatnonzero(terms.total == terms.degree - 1)
    highest = np.where(top, coef, 0.0)
    slopes = np.column_stack([terms.derivative(highest, j)[lower] for j in range(sample.n_columns)])
    inverse = np.linalg.pinv(slopes, rcond=1e-6)
    shift = -inverse @ coef[lower]
    errors = np.sqrt(np.maximum(np.diag(inverse @ covariance[np.ix_(lower, lower)] @ inverse.T), 0.0))
    return shift * sample.scale, errors * sample.scale


def _coefficients(law: FittedLaw) -> tuple[Float1D, Float2D]:
    """Coefficients of monomials of ``x / scale``, and their covariance with that of the leading term fixed."""
    terms, sample = law.conditions.terms, law.conditions.sample
    units = law.conditions.unit / np.prod(sample.scale**terms.exponents, axis=1)
    coef = law.free / units
    reference = int(np.argmax(np.where(terms.total == terms.degree, np.abs(coef), 0.0)))
    free = [term for term in law.support if term != reference]
    covariance = np.zeros((len(terms), len(terms)))
    information = law.system.information(law.free, free) * np.outer(units[free], units[free])
    covariance[np.ix_(free, free)] = np.linalg.pinv(information, hermitian=True)
    return coef, covariance


def _count_terms(law: FittedLaw, shift: Float1D) -> int:
    """About how many terms a law has with another origin: those whose coefficients are not zero within errors."""
    coef, covariance = _coefficients(law)
    terms, scale = law.conditions.terms, law.conditions.sample.scale
    B = binomial_matrix(terms, shift / scale, np.ones(len(scale)))
    moved, errors = B @ coef, np.sqrt(np.maximum(np.diag(B @ covariance @ B.T), 0.0))
    return int((np.abs(moved) > REACH * errors + 1e-6 * np.abs(moved).max()).sum())


def round_within(value: float, error: float) -> float:
    """The number of fewest digits within two errors; 0 within three.

    Examples
    --------
    >>> round_within(20.0013, 0.002), round_within(19.68, 0.1), round_within(0.1, 0.04)
    (20.0, 19.7, 0.0)
    """
    if abs(value) <= 3.0 * error or value == 0.0:
        return 0.0
    for digits in range(1, 15):
        rounded = float(f"{value:.{digits}g}")
        if abs(rounded - value) <= max(2.0 * error, 1e-12 * abs(value)):
            return rounded
    return value


def _recentred(law: FittedLaw, X: Float2D, settings: Settings) -> FittedLaw | None:
    """The law with another origin, if that has fewer terms; None if not.

    A shifted column counts as a term: it is a number that was fitted to the rows, too.
    """
    sample, degree = law.conditions.sample, law.conditions.degree
    if sample.groups is not None or sample.model != ADDITIVE:
        return None
    if degree == 1:
        return _linear_at_zero(law, X, settings) if sample.origin.any() else None
    shift, errors = centre_of(law)
    place = np.where(np.abs(sample.origin + shift) < 1e-9 * sample.scale, 0.0, sample.origin + shift)  # rounding
    origin = np.array([round_within(o, e) for o, e in zip(place, errors, strict=True)])
    terms = law.conditions.terms
    used, curved = (
        (terms.exponents[law.support] * (terms.total[law.support] > k)[:, None]).any(axis=0) for k in (0, 1)
    )
    origin = np.where(used, origin * curved, sample.origin)  # a linear column counts from zero: the constant changes
    if np.array_equal(origin, sample.origin):
        return None
    n_shifts, n_before = (int(np.count_nonzero(o[used])) for o in (origin, sample.origin))
    most = len(law.support) + max(n_before, int(law.dense)) - n_shifts
    if _count_terms(law, origin - sample.origin) > most:
        return None
    own = replace(settings, models=((sample.model, law.nuisance),))
    moved = find_law(make_sample(X, None, sample.model, origin), own, degree)
    if moved is None or len(moved.support) > most:
        return None
    dense = not moved.exact and is_dense(
        moved.conditions, moved.support, moved.snapped, moved.system, moved.level, n_shifts
    )
    if dense and not law.dense:
        return None
    return replace(moved, dof=moved.dof - n_shifts, dense=dense)


def _linear_at_zero(law: FittedLaw, X: Float2D, settings: Settings) -> FittedLaw:
    """A linear law counted from zero: only its constant changes."""
    conditions = Conditions(make_sample(X), 1)
    exponents = law.conditions.terms.exponents[sorted({0, *law.support})]
    return refit(law, conditions, settings, exponents)


def recentre_all(laws: Sequence[FittedLaw], X: Float2D, settings: Settings) -> list[FittedLaw]:
    """Each law with the origin at which it has fewest terms."""
    return [_recentred_beside(law, [other for other in laws if other is not law], X, settings) for law in laws]


def _recentred_beside(law: FittedLaw, others: Sequence[FittedLaw], X: Float2D, settings: Settings) -> FittedLaw:
    """The law with another origin, unless it follows from the others there."""
    moved = _recentred(law, X, settings) if law.support else None
    if moved is None or jacobian_rank([*others, moved]) < jacobian_rank([*others, law]):
        return law
    return moved
