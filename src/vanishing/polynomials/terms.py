"""Terms, their orders, and the border.

A term is the sorted tuple of its variables: ``x0^2 x2`` is ``(0, 0, 2)``, the constant is ``()``. Dividing by
a variable drops an entry, and both orders of this module are orders of tuples. Variables are counted in the
order in which a fit visits them; see ``feature_order`` of the estimators for how that maps to columns of the
data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from .._typing import Int2D

__all__ = ["ORDERS", "Term", "border", "exponents_of"]

Term: TypeAlias = tuple[int, ...]


def _backwards(term: Term) -> Term:
    return term[::-1]


def _as_it_is(term: Term) -> Term:
    return term


#: Sort keys for terms of one degree. ``deglex``: ``x0^2 < x0x1 < x0x2 < x1^2 < ...``, the paper's order;
#: ``degcolex``: ``x0^2 < x0x1 < x1^2 < x0x2 < ...``, the order in which the authors' code visits them.
ORDERS: dict[str, Callable[[Term], Term]] = {"deglex": _as_it_is, "degcolex": _backwards}


def border(kept: Sequence[Term], order: str, limit: int) -> list[Term] | None:
    """Degree-d border of an order ideal whose terms of degree d-1 are ``kept`` (d >= 2).

    A term belongs to it when all its proper divisors are in the order ideal (Definition 2.5 of the paper). An
    order ideal is closed under division, so it is enough to look at the divisors of degree d-1.

    Parameters
    ----------
    kept : sequence of terms of degree d-1
    order : {"deglex", "degcolex"}
    limit : int
        Give up once the border has more terms than this.

    Returns
    -------
    list of terms in ascending order, or None when there are more than ``limit``

    Examples
    --------
    >>> border([(0, 0), (0, 1), (1, 1)], "deglex", limit=10)
    [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)]
    >>> border([(0, 0), (1, 1)], "deglex", limit=10)
    [(0, 0, 0), (1, 1, 1)]
    """
    members = set(kept)
    variables = sorted({variable for term in kept for variable in term})
    found: list[Term] = []
    for term in kept:
        for variable in variables:
            if variable < term[-1]:
                continue
            candidate = (*term, variable)
            # Leaving out the last variable gives `term` back, so that divisor need not be looked up.
            if all(candidate[:i] + candidate[i + 1 :] in members for i in range(len(term))):
                found.append(candidate)
        if len(found) > limit:
            return None
    return sorted(found, key=ORDERS[order])


def exponents_of(terms: Sequence[Term], n_features: int) -> Int2D:
    """Exponents of the terms, shape ``(n_terms, n_features)``.

    Examples
    --------
    >>> exponents_of([(), (0, 0, 2)], 3)
    array([[0, 0, 0],
           [2, 0, 1]])
    """
    exponents = np.zeros((len(terms), n_features), dtype=np.int64)
    for row, term in enumerate(terms):
        for variable in term:
            exponents[row, variable] += 1
    return exponents
