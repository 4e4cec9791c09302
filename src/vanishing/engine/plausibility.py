"""Checks whether a matrix can be a sum of products of terms, for files of unknown origin."""

from __future__ import annotations

import numpy as np

from .._typing import Float1D, Float2D
from ..constants import ROOT_EPS
from ..polynomials.terms import Term, multiply


def _evaluate(terms: list[Term], point: Float1D) -> Float1D:
    """Values of the terms at a point."""
    return np.array([np.prod(point[list(term)]) for term in terms])


def can_be_sums(total: Float2D, terms: list[Term], largest: Float1D, weight: float) -> bool:
    """Whether ``total`` can be the sum of products of terms over rows of this weight.

    ``largest`` bounds the absolute values of the columns.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _can_be_sums(total, terms, _evaluate(terms, largest) * np.sqrt(weight))


def _can_be_sums(total: Float2D, terms: list[Term], largest: Float1D) -> bool:
    """The same, if ``largest`` bounds the norms of the terms."""
    bound = np.outer(largest, largest)
    bound[np.isnan(bound)] = np.inf  # the product of a column of zeros and one that overflows
    if (np.abs(total) > bound * (1.0 + ROOT_EPS)).any() or abs(total[0, 0] - bound[0, 0]) > ROOT_EPS * bound[0, 0]:
        return False
    if (np.abs(total - total.T) > ROOT_EPS * bound).any() or not _products_agree(total, terms, bound):
        return False
    scaled = np.divide(total, bound, out=np.zeros_like(total), where=bound > 0.0)
    scaled[np.diag_indices_from(scaled)] += ROOT_EPS
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return False
    return True


def _products_agree(total: Float2D, terms: list[Term], bound: Float2D) -> bool:
    """Whether ``t u`` and ``t' u'`` have the same sum wherever they are the same product."""
    place = {term: k for k, term in enumerate(terms)}
    lower = [term for term in terms if len(term) < len(terms[-1])]
    for v in sorted({v for term in terms for v in term}):
        times_v = [place[multiply(term, (v,))] for term in lower]  # compare (t v) u with t (v u)
        without = [place[term] for term in lower]
        moved = np.abs(total[np.ix_(times_v, without)] - total[np.ix_(without, times_v)])
        if (moved > ROOT_EPS * bound[np.ix_(times_v, without)]).any():
            return False
    return True
