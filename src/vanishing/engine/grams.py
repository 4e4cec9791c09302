"""The Gram matrices of a fit: entries that are known, and the passes that compute the others.

The loop over degrees asks for the Gram of a basis and its candidates. Entries come from the first pass (the columns,
and all terms of degree 2 where reading takes longer than computing), from moments, from an earlier pass that also
summed the candidates of the next degree, or from a new pass; the loop does not know which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._typing import Float2D
from ..polynomials.forms import Candidates, product_values, term_values
from ..polynomials.terms import ORDERS, Program, Term, border
from ..rows.array_api import namespace_of
from ..rows.protocol import JoinedRows, Rows
from .basis import MonomialBasis, ProductBasis
from .gram import border_gram, mean_grams, mean_of_parts, triangular_factor, value_gram
from .survey import Survey

__all__ = ["Grams", "Known", "MonomialGrams", "Part", "ProductGrams"]

_LOOKAHEAD_WORK = 100  # multiplications per row; a pass that stays below also sums the candidates of the next degree


class Known:
    """Known Gram entries: the rows from ``first`` on, up to the diagonal, of the Gram of ``terms``.

    Terms are sorted tuples of columns.

    Examples
    --------
    >>> import numpy as np
    >>> known = Known([(), (0,), (1,)], np.array([[1.0, 0.5, 0.2], [0.5, 0.4, 0.1], [0.2, 0.1, 0.3]]))
    >>> known.has([(), (1,)], 1), known.has([(), (0, 1)], 1)
    (True, False)
    >>> known.of([(), (1,)], 1)
    array([[0.2, 0.3]])
    """

    def __init__(self, terms: Sequence[Term], gram: Float2D, first: int = 0):
        self._place = {term: k for k, term in enumerate(terms)}
        self._first = first
        self._gram = border_gram(np.full((first, first), np.nan), gram)

    def has(self, terms: Sequence[Term], n_basis: int) -> bool:
        """Whether ``C[O|C]'`` is known; the first ``n_basis`` of ``terms`` are O, the others C."""
        return all(term in self._place for term in terms) and all(
            self._place[term] >= self._first for term in terms[n_basis:]
        )

    def of(self, terms: Sequence[Term], n_basis: int) -> Float2D:
        """``C[O|C]'``, shape ``(n_candidates, n_terms)``."""
        index = [self._place[term] for term in terms]
        return np.asarray(self._gram[np.ix_(index[n_basis:], index)])


class Part(NamedTuple):
    """A part of the data: its rows (None for moments), its known Gram entries, and its total weight."""

    rows: Rows | None
    known: Known
    weight: float

    @classmethod
    def surveyed(cls, rows: Rows, survey: Survey) -> Part:
        """Rows with the Gram entries that the first pass summed."""
        return cls(rows, Known(*survey.known), survey.total_weight)

    def require_rows(self) -> Rows:
        """The rows, for a pass; raise ValueError for moments."""
        if self.rows is None:
            raise ValueError(
                "Moments, which are sums in float64, cannot resolve a psi this small: raise psi, or fit to rows."
            )
        return self.rows


class Grams(Protocol):
    """Gram matrices as the loop over degrees uses them; ``parts`` and ``basis`` are those of a fit."""

    n_samples: int | None

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

    A fit sees one or more of the parts; its Gram is the weighted mean of theirs.
    """

    def __init__(self, parts: Sequence[Part], basis: MonomialBasis):
        self._parts = parts
        self._known = [part.known for part in parts]
        self._basis = basis
        self._row_of: dict[Term, int] = {(): 0}
        self._grams = [known.of([()], 0) for known in self._known]
        self._means: dict[tuple[int, ...], Float2D] = {}
        counts = [None if part.rows is None else part.rows.n_samples for part in parts]
        self.n_samples = None if None in counts else sum(count or 0 for count in counts)

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
        terms = (*self._basis.terms, *block)
        entries = self._entries(Program.of(terms, self._basis.feature_order), self._basis.size)
        self._grams = [border_gram(gram, more) for gram, more in zip(self._grams, entries, strict=True)]
        self._use(replace(self._basis, terms=terms))

    def _entries(self, program: Program, n_basis: int) -> list[Float2D]:
        """``C[O|C]'`` of every part."""
        terms = program.terms
        if all(known.has(terms, n_basis) for known in self._known):
            return [known.of(terms, n_basis) for known in self._known]
        rows = [part.require_rows() for part in self._parts]
        if not rows[0].reading_dominates:
            return mean_grams(rows, program, n_basis)
        terms_ahead = _with_next_degree(terms, n_basis)
        grams = mean_grams(rows, Program.of(terms_ahead), n_basis)
        self._known = [Known(terms_ahead, gram, n_basis) for gram in grams]
        return [known.of(terms, n_basis) for known in self._known]

    def of(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term]) -> Float2D:
        """The Gram of a basis and its candidates, over the rows of some parts."""
        if parts not in self._means:
            weights = [self._parts[k].weight for k in parts]
            self._means[parts] = mean_of_parts([self._grams[k] for k in parts], weights)
        return _principal(self._means[parts], [self._row_of[term] for term in (*basis.terms, *new)])

    def slopes(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term], gram: Float2D) -> Float2D:
        """Gram of the gradients of a basis and candidates: no pass, as derivatives of terms are terms."""
        return basis.slopes(new, gram)

    def factor(self, parts: tuple[int, ...], basis: MonomialBasis, new: list[Term]) -> Float2D:
        """The triangular factor of that Gram, from one pass that does not form the Gram."""
        program = Program.of((*basis.terms, *new), basis.feature_order)
        rows = JoinedRows([self._parts[k].require_rows() for k in parts])
        return triangular_factor(rows, lambda block: term_values(block, program), program.size)

    def restrict(self, bases: Sequence[MonomialBasis]) -> None:
        """Drop the Gram entries of terms that none of these bases contains."""
        kept = {term for basis in bases for term in basis.terms}
        terms = tuple(term for term in self._basis.terms if term in kept)
        index = [self._row_of[term] for term in terms]
        self._grams = [_principal(gram, index) for gram in self._grams]
        self._use(replace(self._basis, terms=terms))

    def _use(self, basis: MonomialBasis) -> None:
        self._basis = basis
        self._row_of = {term: row for row, term in enumerate(basis.terms)}
        self._means = {}


def _principal(gram: Float2D, index: list[int]) -> Float2D:
    """The principal submatrix of these rows and columns, without a copy if they are all rows in order."""
    return gram if index == list(range(len(gram))) else np.asarray(gram[np.ix_(index, index)])


def _with_next_degree(terms: list[Term], n_basis: int) -> list[Term]:
    """The terms and, unless that costs much, the candidates of the next degree in case all candidates are kept."""
    ahead = border(terms[n_basis:], "deglex", _LOOKAHEAD_WORK)
    both = [*terms, *(ahead or [])]
    return both if (len(both) - n_basis) * len(both) <= _LOOKAHEAD_WORK else terms


class ProductGrams:
    """Gram matrices of orthogonal polynomials and their products (VCA), for one fit to one part of the data."""

    def __init__(self, part: Part, n_features: int):
        self._part = part
        self._columns = [(), *((j,) for j in range(n_features))]
        self.n_samples = None if part.rows is None else part.rows.n_samples

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
            return basis.start(self._part.known.of(self._columns, 0))
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
