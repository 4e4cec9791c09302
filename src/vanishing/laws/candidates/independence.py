"""Independence of laws: which terms known laws leave for further ones, and whether a law says something new."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import qr

from ..._typing import Float1D, Float2D
from ..estimate.gmm import Conditions
from ..estimate.monomials import Monomials, monomials
from ..estimate.sample import Sample
from ..estimate.settings import LIKELY, Settings
from ..rows.relation import LEFT_BY_ROUNDING, PARALLEL, ROUNDED, SOME_ROWS
from .fitted import FittedLaw

__all__ = ["candidate_terms", "follows", "is_new", "jacobian_rank", "pivot_term"]


def candidate_terms(terms: Monomials, laws: Sequence[FittedLaw], sample: Sample, settings: Settings) -> list[int]:
    """The terms up to a degree, without one for each independent consequence of the known laws.

    Consequences are multiples of the laws; with groups, the laws and their products, as polynomials in conserved
    quantities are conserved.
    """
    trial = np.ones(len(terms), dtype=bool)
    if settings.allowed is not None:
        trial &= settings.allowed(terms.exponents)
    if sample.groups is not None:
        trial &= sample.without_group_means(terms.values(sample.X / sample.size)).std(axis=1) > ROUNDED
    known = _consequences(terms, laws, grouped=sample.groups is not None)
    if known:
        rows = np.array(known)
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        _, R, pivots = qr(rows, mode="economic", pivoting=True)
        rank = int((np.abs(np.diag(R)) > LEFT_BY_ROUNDING * abs(R[0, 0])).sum())
        trial[pivots[:rank]] = False
    return [int(term) for term in np.flatnonzero(trial)]


def _consequences(terms: Monomials, laws: Sequence[FittedLaw], *, grouped: bool) -> list[Float1D]:
    """Coefficients of the consequences of laws up to a degree, in terms of root mean square about 1."""
    polynomials = [
        (law.conditions.terms, _scaled_coefficients(law)) for law in laws if law.conditions.degree <= terms.degree
    ]
    if not grouped:
        return [
            terms.product(own, c, factors, np.eye(len(factors))[k])
            for own, c in polynomials
            for factors in [monomials(terms.n_columns, terms.degree - own.degree)]
            for k in range(len(factors))
        ]
    same = [terms.product(own, c, monomials(terms.n_columns, 0), np.ones(1)) for own, c in polynomials]
    pairs = [(a, b) for i, a in enumerate(polynomials) for b in polynomials[i:]]
    return same + [terms.product(*a, *b) for a, b in pairs if a[0].degree + b[0].degree <= terms.degree]


def _scaled_coefficients(law: FittedLaw) -> Float1D:
    """Coefficients of a law in monomials of the columns over their root mean squares."""
    conditions = law.conditions
    sizes = np.prod(conditions.sample.size**conditions.terms.exponents, axis=1)
    return np.asarray(law.c / conditions.unit * sizes)


def pivot_term(law: FittedLaw) -> int:
    """The largest of the law's terms of highest degree."""
    top = law.conditions.terms.total
    return max(law.support, key=lambda term: (top[term], abs(law.c[term])))


def is_new(law: FittedLaw, laws: Sequence[FittedLaw]) -> bool:
    """Whether a law says something new: another direction at the rows, or the same in few terms of no higher degree."""
    if not laws or not law.conditions.sample.has_rows or jacobian_rank([*laws, law]) > jacobian_rank(laws):
        return True
    same = law.conditions.degree <= max(known.conditions.degree for known in laws)
    short = len(law.support) <= max(3, min(len(known.support) for known in laws))
    return same and short and law.p_value >= LIKELY


def follows(conditions: Conditions, c: Float1D, laws: Sequence[FittedLaw]) -> bool:
    """Whether the gradients of the polynomial ``c`` are combinations of those of the laws."""
    if not laws or not conditions.sample.has_rows:
        return False
    gradients = [_gradients(law.conditions, law.c) for law in laws]
    return _rank([*gradients, _gradients(conditions, c)]) <= _rank(gradients)


def jacobian_rank(laws: Sequence[FittedLaw]) -> int:
    """The rank of the laws' gradients at a typical row; without rows, the number of laws."""
    if not laws or not laws[0].conditions.sample.has_rows:
        return len(laws)
    return _rank([_gradients(law.conditions, law.c) for law in laws])


def _gradients(conditions: Conditions, c: Float1D) -> Float2D:
    """Gradients at some rows, ``(n_columns, n_rows)``, of typical length 1 where columns have deviation 1."""
    sample, terms = conditions.sample, conditions.terms
    rows = np.linspace(0, sample.n_rows - 1, min(sample.n_rows, SOME_ROWS)).astype(np.int64)
    z = conditions.basis @ c
    slopes = np.array([terms.derivative(z, j) for j in range(sample.n_columns)]) @ conditions.table[: len(terms), rows]
    slopes *= (sample.deviation / sample.scale)[:, None]
    return np.asarray(slopes / np.sqrt(np.median((slopes**2).sum(axis=0))))


def _rank(gradients: Sequence[Float2D]) -> int:
    """The median rank over the rows."""
    return int(np.median(np.linalg.matrix_rank(np.array(gradients).transpose(2, 0, 1), tol=PARALLEL)))
