"""The Gram matrices of a fit: entries that are known, and the passes that compute the others.

The loop over degrees asks for the Gram of a basis and its candidates. Entries come from the first pass (the columns,
and all terms of degree 2 where reading takes longer than computing), from moments, from an earlier pass that also
summed the candidates of the next degree, or from a new pass; the loop does not know which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._typing import Float2D
from ..polynomials.forms import term_values
from ..polynomials.products import Candidates, product_values
from ..polynomials.terms import ORDERS, Program, Term, border
from ..rows.array_api import namespace_of
from ..rows.protocol import JoinedRows, Rows
from .basis import MonomialBasis, ProductBasis
from .gram import border_gram, mean_grams, mean_of_parts, triangular_factor, value_gram
from .survey import Survey

__all__ = ["Grams", "MonomialGrams", "Part", "ProductGrams"]

_LOOKAHEAD_WORK = 100  # multiplications per row; a pass that stays below also sums the candidates of the next degree


class Part(NamedTuple):
    """A part of the data: its rows (None for moments), and what the first pass found in them."""

    rows: Rows | None
    survey: Survey

    def require_rows(self) -> Rows:
        """The rows, for a pass; raise ValueError for moments."""
        if self.rows is None:
            raise ValueError(
                "Moments, which are sums in float64, cannot resolve a psi this small: raise psi, or fit to rows."
            )
        return self.rows


class Grams(Protocol):
    """Gram matrices as the loop over degrees uses them; ``parts`` and ``basis`` are those of a fit."""

    n_samples: int

    def union(self, borders: Sequence[Any]) -> Any:
        """The candidates of all fits."""

    def extend(self, block: Any) -> None:
        """Get the Gram entries of these candidates, in at most one pass."""

    def intersection(self, block: Any, border: Any) -> Any:
        """The candidates of the block that belong to the border of a fit."""

    def of(self, parts: tuple[int, ...], basis: Any, new: Any) -> Float2D:
        """The Gram of a basis and its candidates."""

    def slopes(self, parts: tuple[int, ...], basis: Any, new: Any, gram: Float2D) -> Float2D:
        """Gram of the gradients of a basis and candidates, whose own Gram is ``gram``."""

    def factor(self, parts: tuple[int, ...], basis: Any, new: Any) -> Float2D:
        """The triangular factor of that Gram, from one pass that does not form the Gram."""

    def restrict(self, bases: Sequence[Any]) -> None:
        """Drop the Gram entries of polynomials that none of these bases contains."""


class MonomialGrams:
    """Gram matrices over the terms that any fit keeps, one for each part of the data.

    A fit sees one or more of the parts; its Gram is the weighted mean of theirs. Terms are those of the fits, products
    of variables in the order of the features.
    """

    def __init__(self, parts: Sequence[Part], basis: MonomialBasis):
        known, variable = [part.survey.known for part in parts], np.argsort(basis.feature_order).tolist()
        terms = [tuple(sorted(map(variable.__getitem__, term))) for term in known[0].terms]
        self._parts = parts
        self._basis = basis
        self._terms = basis.terms  # those that a fit keeps, and after them the candidates of this degree
        self._row_of = dict(zip(terms, range(len(terms)), strict=True))  # more terms than these, where they are known
        self._grams = [gram for _, gram in known]
        self._means: dict[tuple[int, ...], Float2D] = {}
        self.n_samples = sum([part.survey.n_samples for part in parts if part.rows is not None])

    def union(self, borders: Sequence[list[Term]]) -> list[Term]:
        """The candidates of all fits, in the order of terms."""
        if len(borders) == 1:
            return borders[0]
        return sorted(set().union(*borders), key=ORDERS[self._basis.order])

    def intersection(self, block: list[Term], border: list[Term]) -> list[Term]:
        """The candidates of the block that belong to the border of a fit."""
        if block is border:
            return border
        members = set(border)
        return [term for term in block if term in members]

    def extend(self, block: list[Term]) -> None:
        """Get the Gram entries of these candidates, in at most one pass."""
        kept, self._terms = self._terms, (*self._terms, *block)
        if not self._row_of.keys() >= set(block):
            self._make_pass(kept)

    def _make_pass(self, kept: tuple[Term, ...]) -> None:
        """Sum the Gram entries of the candidates; where reading dominates, also those of the next degree, if few."""
        rows = [part.require_rows() for part in self._parts]
        terms = _with_next_degree(self._terms, len(kept)) if rows[0].reading_dominates else self._terms
        entries = mean_grams(rows, Program.of(terms, self._basis.feature_order), len(kept))
        index = [self._row_of[term] for term in kept]
        self._grams = [
            border_gram(gram[np.ix_(index, index)], more) for gram, more in zip(self._grams, entries, strict=True)
        ]
        self._row_of = dict(zip(terms, range(len(terms)), strict=True))
        self._means = {}

    def of(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term]) -> Float2D:
        """The Gram of a basis and its candidates, over the rows of some parts."""
        if parts not in self._means:
            weights = [self._parts[k].survey.total_weight for k in parts]
            self._means[parts] = mean_of_parts([self._grams[k] for k in parts], weights)
        index, gram = [self._row_of[term] for term in (*basis.terms, *new)], self._means[parts]
        return gram if index == list(range(len(gram))) else np.asarray(gram[np.ix_(index, index)])

    def slopes(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term], gram: Float2D) -> Float2D:
        """Gram of the gradients of a basis and candidates: no pass, as derivatives of terms are terms."""
        return basis.slopes(new, gram)

    def factor(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term]) -> Float2D:
        """The triangular factor of that Gram, from one pass that does not form the Gram."""
        program = Program.of((*basis.terms, *new), basis.feature_order)
        rows = JoinedRows([self._parts[k].require_rows() for k in parts])
        return triangular_factor(rows, lambda block: term_values(block, program), program.size)

    def restrict(self, bases: Sequence[MonomialBasis]) -> None:
        """Leave out terms that none of these bases contains; the next pass drops their Gram entries."""
        kept = set().union(*(basis.terms for basis in bases))
        self._terms = tuple(filter(kept.__contains__, self._terms))


def _with_next_degree(terms: tuple[Term, ...], n_basis: int) -> tuple[Term, ...]:
    """The terms and, unless that costs much, the candidates of the next degree in case all candidates are kept."""
    ahead = border(terms[n_basis:], "deglex", _LOOKAHEAD_WORK)
    both = (*terms, *(ahead or ()))
    return both if (len(both) - n_basis) * len(both) <= _LOOKAHEAD_WORK else terms


class ProductGrams:
    """Gram matrices of orthogonal polynomials and their products (VCA), for one fit to one part of the data."""

    def __init__(self, parts: Sequence[Part], basis: ProductBasis):
        (self._part,) = parts
        self.n_samples = self._part.survey.n_samples

    def union(self, borders: Sequence[Candidates]) -> Candidates:
        """The candidates of the fit."""
        return borders[0]

    def intersection(self, block: Candidates, border: Candidates) -> Candidates:
        """The candidates of the fit."""
        return border

    def extend(self, block: Candidates) -> None:
        """Do nothing: no other fit shares the Gram."""

    def of(self, parts: tuple[int, ...], basis: ProductBasis, new: Candidates) -> Float2D:
        """The Gram of [F|new]; takes one pass over the data from degree 2 on."""
        if not basis.layers:
            return basis.start(self._part.survey.gram)
        # The pass sums the block of F again: its members are divided by the root of their eigenvalue, so the entries
        # from lower degrees have an error of rounding / psi.
        values = _product_values(basis, new)
        total = value_gram(self._part.require_rows(), values, 0, basis.size + len(new))
        return np.asarray((total + total.T) / 2.0)

    def slopes(self, parts: tuple[int, ...], basis: ProductBasis, new: Candidates, gram: Float2D) -> Float2D:
        """Gram of the gradients of [F|new]: one pass, over as many values for a row as there are columns."""
        n_terms = basis.size + len(new)
        total = value_gram(self._part.require_rows(), lambda X: basis.form().gradients(X, new), 0, n_terms)
        return np.asarray((total + total.T) / 2.0)

    def factor(self, parts: tuple[int, ...], basis: ProductBasis, new: Candidates) -> Float2D:
        """The triangular factor of the Gram of [F|new], from one pass over the data."""
        return triangular_factor(self._part.require_rows(), _product_values(basis, new), basis.size + len(new))

    def restrict(self, bases: Sequence[ProductBasis]) -> None:
        """Do nothing: no entries are stored between degrees."""


def _product_values(basis: ProductBasis, new: Candidates) -> Callable[[Any], Any]:
    """A function that evaluates the members of F and the products ``new`` on a block, one per row."""

    def values(X: Any) -> Any:
        table, _ = basis.form().basis_values(X)
        return namespace_of(X).concat([table, product_values(table, X.T, new)])

    return values
