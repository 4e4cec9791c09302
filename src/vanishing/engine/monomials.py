"""The fit in monomials (OAVI, ABM, AVI): its basis and generators, and the Gram matrices of its terms.

The loop over degrees asks for the Gram of a basis and its candidates. Entries come from the first pass (the columns,
and all terms of degree 2 where reading takes longer than computing), from moments, or from a new pass; the loop does
not know which.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._typing import Float2D, Int1D
from ..decisions import Decision
from ..polynomials.forms import MonomialForm
from ..polynomials.terms import ORDERS, Program, Term, border, gram_of_gradients, term_values, terms_up_to
from ..rows.protocol import JoinedRows, Rows
from .gram import border_gram, mean_of_parts, sum_parts, triangular_factor
from .survey import Survey


@dataclass(frozen=True)
class MonomialBasis:
    """An order ideal O and the generators over it (OAVI, ABM, AVI).

    ``terms`` are in the order in which they joined O, as tuples of variables; variable v is column
    ``feature_order[v]`` of the data. ``leads`` are the leading terms of the generators, ``decisions`` the decisions
    about all degrees so far. ``moments[j]`` are the means of the powers ``0, 1, ...`` of column j, up to twice the
    largest power that was a candidate.
    """

    feature_order: Int1D
    order: str
    terms: tuple[Term, ...] = ((),)
    leads: tuple[Term, ...] = ()
    decisions: tuple[Decision, ...] = ()
    moments: tuple[tuple[float, ...], ...] = ()

    @property
    def size(self) -> int:
        """Number of terms in O."""
        return len(self.terms)

    def border(self, degree: int, limit: int) -> list[Term] | None:
        """The terms to examine at this degree, or None if there are more than ``limit``."""
        n_features = self.feature_order.size
        if degree == 1:
            return terms_up_to(1, n_features)[1:] if n_features <= limit else None
        first = bisect_left(self.terms, degree - 1, key=len)  # degrees ascend: the last one is at the end
        return border(self.terms[first:], self.order, limit)

    def extend(self, new: list[Term], decision: Decision, gram: Float2D) -> MonomialBasis:
        """The basis after a decision about the candidates ``new``, from the Gram of basis and candidates."""
        return replace(
            self,
            terms=(*self.terms, *map(new.__getitem__, decision.kept)),
            leads=(*self.leads, *map(new.__getitem__, decision.generators)),
            decisions=(*self.decisions, decision),
            moments=self._more_moments(new, gram),
        )

    def _more_moments(self, new: list[Term], gram: Float2D) -> tuple[tuple[float, ...], ...]:
        """The moments, extended by those of order 2k - 1 and 2k from the Gram of [O|new], where x^k is a candidate."""
        moments = list(self.moments or ((1.0,),) * self.feature_order.size)
        for row, term in enumerate(new, self.size):
            if term[0] == term[-1]:
                before, column = self.terms.index(term[:-1]), self.feature_order[term[0]]
                moments[column] = (*moments[column], float(gram[row, before]), float(gram[row, row]))
        return tuple(moments)

    def form(self) -> MonomialForm:
        """The generators in a form for evaluation."""
        program = Program.of((*self.terms, *self.leads), self.feature_order)
        coef, lead_coef = np.zeros((len(self.leads), self.size)), np.empty(len(self.leads))
        first = 0
        for decision in self.decisions:
            rows = slice(first, first + decision.generators.size)
            coef[rows, : decision.coef.shape[1]], lead_coef[rows] = decision.coef, decision.lead_coef
            first = rows.stop
        return MonomialForm(program[: self.size], coef, program[self.size :], lead_coef)


class MonomialGrams:
    """Gram matrices over the terms that any fit keeps, one for each part of the data.

    A fit sees one or more of the parts; its Gram is the weighted mean of their Grams. Terms are products of variables,
    which the order of the features numbers.
    """

    def __init__(self, parts: Sequence[Rows], surveys: Sequence[Survey], basis: MonomialBasis):
        self._parts = parts
        self._basis = basis
        variable = np.argsort(basis.feature_order).tolist()
        self._row_of: dict[Term, int] = {}
        for row, columns in enumerate(terms_up_to(surveys[0].degree, len(variable))):
            self._row_of[tuple(sorted(map(variable.__getitem__, columns)))] = row
        self._grams: list[Float2D] = []
        self._weights: list[float] = []
        self._means: dict[tuple[int, ...], Float2D] = {}  # Grams of several parts together
        self.n_samples = 0
        for rows, survey in zip(parts, surveys, strict=True):
            self._grams.append(survey.known)
            self._weights.append(survey.total_weight)
            self.n_samples += 0 if rows.n_samples == 0 else survey.n_samples

    def union(self, borders: Sequence[list[Term]]) -> list[Term]:
        """The candidates of all fits, in the order of terms."""
        return sorted(set().union(*borders), key=ORDERS[self._basis.order])

    def intersection(self, block: list[Term], border: list[Term]) -> list[Term]:
        """The candidates of the block that belong to the border of a fit."""
        members = set(border)
        return [term for term in block if term in members]

    def extend(self, bases: Sequence[MonomialBasis], block: list[Term]) -> None:
        """Get the Gram entries of these candidates, in at most one pass, which drops terms that no basis contains."""
        if self._row_of.keys() >= set(block):
            return
        kept: dict[Term, None] = {}
        for basis in bases:
            kept.update(dict.fromkeys(basis.terms))
        terms = (*kept, *block)
        index = list(map(self._row_of.__getitem__, kept))
        for k, total in enumerate(sum_parts(self._parts, Program.of(terms, self._basis.feature_order), len(kept))):
            known = self._grams[k][np.ix_(index, index)]
            self._grams[k] = border_gram(known, total.products / total.total_weight)
        self._row_of = dict(zip(terms, range(len(terms)), strict=True))
        self._means = {}

    def of(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term]) -> Float2D:
        """The Gram of a basis and its candidates, over the rows of some parts."""
        gram = self._grams[parts[0]] if len(parts) == 1 else self._mean(parts)
        index = list(map(self._row_of.__getitem__, (*basis.terms, *new)))
        return gram if index == list(range(len(gram))) else np.asarray(gram[np.ix_(index, index)])

    def _mean(self, parts: tuple[int, ...]) -> Float2D:
        """The Gram over the rows of several parts, which many fits ask for."""
        if parts not in self._means:
            weights = [self._weights[k] for k in parts]
            self._means[parts] = mean_of_parts([self._grams[k] for k in parts], weights)
        return self._means[parts]

    def slopes(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term], gram: Float2D) -> Float2D:
        """Gram of the gradients of a basis and candidates: no pass, as derivatives of terms are terms of the basis."""
        return gram_of_gradients([*basis.terms, *new], gram)

    def factor(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term]) -> Float2D:
        """The triangular factor of that Gram, from one pass that does not form the Gram."""
        program = Program.of((*basis.terms, *new), basis.feature_order)
        rows = JoinedRows([self._parts[k] for k in parts])
        return triangular_factor(rows, lambda block: term_values(block, program), program.size)
