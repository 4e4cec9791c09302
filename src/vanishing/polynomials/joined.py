"""Single polynomials as a list over shared terms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from .forms import MonomialForm
from .polynomial import Polynomial, Polynomials
from .terms import Program, Term

__all__ = ["join_polynomials"]


def join_polynomials(polynomials: Sequence[Polynomial]) -> Polynomials:
    """The list of polynomials in the same variables, as models have it.

    All terms and their divisors stand in the basis; the leading terms of the form have the coefficient 0.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> x = np.linspace(0, 1, 50)
    >>> G = OAVI(psi=1e-6, max_degree=2).fit(np.column_stack([x, x**2])).generators_
    >>> X = np.array([[0.5, 0.5]])
    >>> bool(np.allclose(join_polynomials(list(G)).evaluate(X), G.evaluate(X)))
    True
    """
    if not polynomials:
        raise ValueError("There are no polynomials.")
    rows = [[_term(row) for row in polynomial.exponents.tolist()] for polynomial in polynomials]
    closed = {divisor for terms in rows for term in terms for divisor in _divisors(term)} | {()}
    basis = sorted(closed, key=lambda term: (len(term), term))
    place = {term: k for k, term in enumerate(basis)}
    coef = np.zeros((len(rows), len(basis)))
    for g, (terms, polynomial) in enumerate(zip(rows, polynomials, strict=True)):
        np.add.at(coef[g], [place[term] for term in terms], polynomial.coef)
    nothing = np.zeros(len(rows), dtype=np.int64)
    return Polynomials(
        MonomialForm(Program.of(basis), coef, Program(nothing, nothing), np.zeros(len(rows))),
        polynomials[0].feature_names,
        mse=np.array([polynomial.mse for polynomial in polynomials]),
        gap=np.array([polynomial.gap for polynomial in polynomials]),
        n_iter=np.array([polynomial.n_iter for polynomial in polynomials]),
        status=np.array([polynomial.status for polynomial in polynomials], dtype=object),
    )


def _term(exponents: Sequence[int]) -> Term:
    return tuple(j for j, power in enumerate(exponents) for _ in range(power))


def _divisors(term: Term) -> set[Term]:
    return {divisor for size in range(len(term) + 1) for divisor in combinations(term, size)}
