"""The state of a fit: its basis of polynomials that do not vanish, and the generators that do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from typing import Any, Protocol

import numpy as np

from .._typing import Float2D, Int1D
from ..decisions import Decision, Mixture
from ..polynomials.forms import MonomialForm
from ..polynomials.products import Candidates, Layer, ProductForm
from ..polynomials.terms import Program, Term, border, gram_of_gradients

__all__ = ["Basis", "MonomialBasis", "ProductBasis"]


class Basis(Protocol):
    """A basis as the loop over degrees uses it; each kind has its own candidates and decisions."""

    @property
    def size(self) -> int:
        """Number of polynomials that do not vanish."""

    @property
    def n_generators(self) -> int:
        """Number of polynomials that vanish."""

    def border(self, degree: int, limit: int) -> Any:
        """The candidates of this degree, or None if there are more than ``limit``."""

    def extend(self, new: Any, decision: Any, gram: Float2D) -> Basis:
        """The basis after a decision about the candidates ``new``, from the Gram of basis and candidates."""


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

    @property
    def n_generators(self) -> int:
        """Number of generators."""
        return len(self.leads)

    def border(self, degree: int, limit: int) -> list[Term] | None:
        """The terms to examine at this degree, or None if there are more than ``limit``."""
        if degree == 1:
            return [(i,) for i in range(self.feature_order.size)] if self.feature_order.size <= limit else None
        return border([term for term in self.terms if len(term) == degree - 1], self.order, limit)

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

    def slopes(self, new: list[Term], gram: Float2D) -> Float2D:
        """Gram of the gradients of [O|new] from their own Gram; the quotients of the terms are in O."""
        return gram_of_gradients([*self.terms, *new], gram)

    def form(self) -> MonomialForm:
        """The generators in a form for evaluation."""
        program = Program.of((*self.terms, *self.leads), self.feature_order)
        coef, lead_coef = np.zeros((self.n_generators, self.size)), np.empty(self.n_generators)
        first = 0
        for decision in self.decisions:
            rows = slice(first, first + decision.generators.size)
            coef[rows, : decision.coef.shape[1]], lead_coef[rows] = decision.coef, decision.lead_coef
            first = rows.stop
        return MonomialForm(program[: self.size], coef, program[self.size :], lead_coef)


@dataclass(frozen=True)
class ProductBasis:
    """Orthogonal polynomials F, each a combination of products of lower-degree ones, and the vanishing ones (VCA)."""

    n_features: int
    constant: float
    unique: bool
    layers: tuple[Layer, ...] = ()
    decisions: tuple[Mixture, ...] = ()

    @property
    def size(self) -> int:
        """Number of polynomials in F."""
        return 1 + sum(int(layer.kept.shape[0]) for layer in self.layers)

    @property
    def n_generators(self) -> int:
        """Number of vanishing polynomials."""
        return sum(int(layer.vanishing.shape[0]) for layer in self.layers)

    def border(self, degree: int, limit: int) -> Candidates | None:
        """The products to examine at this degree, or None if there are more than ``limit``."""
        if degree == 1:
            pairs = [(0, j) for j in range(self.n_features)]
        else:
            linear = range(1, 1 + self.layers[0].kept.shape[0])
            newest = range(self.size - self.layers[-1].kept.shape[0], self.size)
            if len(linear) * len(newest) > 2 * limit:
                return None
            pairs = list(
                combinations_with_replacement(linear, 2) if degree == 2 and self.unique else product(newest, linear)
            )
        if len(pairs) > limit:
            return None
        left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return Candidates(left, right)

    def start(self, gram: Float2D) -> Float2D:
        """The Gram of degree 1, from the Gram of the constant 1 and the columns."""
        weights = np.concatenate([[self.constant], np.ones(self.n_features)])
        return gram * np.outer(weights, weights)

    def extend(self, new: Candidates, decision: Mixture, gram: Float2D) -> ProductBasis:
        """The basis after a decision about the candidates ``new``, from the Gram of basis and candidates."""
        layer = Layer(new, decision.kept, decision.vanishing)
        return replace(self, layers=(*self.layers, layer), decisions=(*self.decisions, decision))

    def form(self, *, kept: bool = False) -> ProductForm:
        """The vanishing polynomials in a form for evaluation; with ``kept``, those of F without the constant."""
        layers = tuple(layer._replace(vanishing=layer.kept) for layer in self.layers) if kept else self.layers
        n = self.size - 1 if kept else self.n_generators
        return ProductForm(
            self.constant, layers, np.arange(n), np.ones(n), np.ones(self.n_features), np.zeros(self.n_features)
        )
