"""Sums of the products of monomials over rows in memory, each different product once.

The Gram of all monomials up to degree d has fewer different entries than places: ``x y * z = x * y z``. A product of
more than d factors is s t with t its last d factors in the order of the columns. So all s whose last column is v meet
the t whose columns are v and later ones: one product of matrices for each column, with one entry for each product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from .._typing import Array, Float1D, Float2D, Int1D
from ..polynomials.terms import Term

_LEAST_DEGREE = 3  # below it, several small products of matrices take longer than one large product


@dataclass(frozen=True)
class Products:
    """The different products of all monomials up to a degree.

    For each column, ``last`` are the monomials that end with it, and ``first`` is the first monomial of the highest
    degree in this column and later ones only. The list of different products has those of ``last`` and of the monomials
    from ``first`` on, column by column, and then the monomials themselves; ``place`` gives the place of each pair's
    product in it.
    """

    last: tuple[Int1D, ...]
    first: tuple[int, ...]
    place: Array

    @classmethod
    def of_terms(cls, terms: Sequence[Term]) -> Products | None:
        """The products of all terms up to a degree of 3 or more; None for other terms, or in another order."""
        degree, n = len(terms[-1]), 1 + max((v for term in terms for v in term), default=-1)
        base = 2 * degree + 1
        every = (term for d in range(degree + 1) for term in combinations_with_replacement(range(n), d))
        if degree < _LEAST_DEGREE or base**n >= 2**62 or list(every) != list(terms):
            return None
        highest = [k for k, term in enumerate(terms) if len(term) == degree]
        last = tuple(np.array([k for k, term in enumerate(terms) if term and term[-1] == v]) for v in range(n))
        first = tuple(next(k for k in highest if terms[k][0] >= v) for v in range(n))
        codes = np.array([sum(base**v for v in term) for term in terms])  # a product has the sum of codes
        pairs = [np.add.outer(codes[s], codes[t:]).ravel() for s, t in zip(last, first, strict=True)]
        listed = np.concatenate([*pairs, codes])
        order = np.argsort(listed)
        place = order[np.searchsorted(listed, np.add.outer(codes, codes), sorter=order)]
        return cls(last, first, place.astype(np.int32))

    def gram(self, values: Float2D, weights: Float1D | None) -> Float2D:
        """Sum of the products of all pairs of monomials, of their values ``(n_terms, n_rows)``."""
        weighted = values if weights is None else values * weights
        sums = [(values[s] @ weighted[t:].T).ravel() for s, t in zip(self.last, self.first, strict=True)]
        return np.concatenate([*sums, weighted.sum(axis=1)]).take(self.place)


_products_of = lru_cache(maxsize=4)(Products.of_terms)


def gram_of_values(values: Float2D, weights: Float1D | None, terms: tuple[Term, ...]) -> Float2D:
    """Sum of the products of all pairs of monomials over rows.

    Parameters
    ----------
    values : array of shape (n_terms, n_rows)
    weights : array of shape (n_rows,), optional
    terms : tuple of terms

    Examples
    --------
    >>> import numpy as np
    >>> gram_of_values(np.array([[1.0, 1.0], [2.0, 3.0]]), None, ((), (0,)))
    array([[ 2.,  5.],
           [ 5., 13.]])
    """
    products = _products_of(terms)
    if products is not None:
        return products.gram(values, weights)
    return np.asarray((values if weights is None else values * weights) @ values.T)
