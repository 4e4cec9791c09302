"""The fit in products of polynomials (VCA): its basis and vanishing polynomials, and their Gram matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from .._typing import Float2D
from ..decisions import Combinations
from ..polynomials.products import Candidates, Layer, ProductForm, product_values
from ..rows.array_api import namespace_of
from ..rows.protocol import Rows
from .gram import triangular_factor, value_gram
from .survey import Survey


@dataclass(frozen=True)
class ProductBasis:
    """Orthogonal polynomials F, each a combination of products of lower-degree ones, and the vanishing ones (VCA)."""

    n_features: int
    constant: float
    unique: bool
    layers: tuple[Layer, ...] = ()
    decisions: tuple[Combinations, ...] = ()

    @property
    def size(self) -> int:
        """Number of polynomials in F."""
        return 1 + sum(int(layer.kept.shape[0]) for layer in self.layers)

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

    def extend(self, new: Candidates, decision: Combinations, gram: Float2D) -> ProductBasis:
        """The basis after a decision about the candidates ``new``, from the Gram of basis and candidates."""
        layer = Layer(new, decision.kept, decision.vanishing)
        return replace(self, layers=(*self.layers, layer), decisions=(*self.decisions, decision))

    def form(self, *, kept: bool = False) -> ProductForm:
        """The vanishing polynomials in a form for evaluation; with ``kept``, the polynomials of F but the constant."""
        layers = tuple(layer._replace(vanishing=layer.kept) for layer in self.layers) if kept else self.layers
        n = sum(int(layer.vanishing.shape[0]) for layer in layers)
        return ProductForm(
            self.constant, layers, np.arange(n), np.ones(n), np.ones(self.n_features), np.zeros(self.n_features)
        )


class ProductGrams:
    """Gram matrices of orthogonal polynomials and their products (VCA), for one fit to one part of the data."""

    def __init__(self, parts: Sequence[Rows], surveys: Sequence[Survey], basis: ProductBasis):
        (self._rows,), (self._survey,) = parts, surveys
        self.n_samples = self._survey.n_samples

    def union(self, borders: Sequence[Candidates]) -> Candidates:
        """The candidates of the fit."""
        return borders[0]

    def intersection(self, block: Candidates, border: Candidates) -> Candidates:
        """The candidates of the fit."""
        return border

    def extend(self, bases: Sequence[ProductBasis], block: Candidates) -> None:
        """Do nothing: no other fit shares the Gram."""

    def of(self, parts: tuple[int, ...], basis: ProductBasis, new: Candidates) -> Float2D:
        """The Gram of [F|new]; takes one pass over the data from degree 2 on."""
        if not basis.layers:
            return basis.start(self._survey.gram)
        # The pass sums the block of F again: its members are divided by the root of their eigenvalue, so the entries
        # from lower degrees have an error of rounding / psi.
        values = _product_values(basis, new)
        total = value_gram(self._rows, values, 0, basis.size + len(new))
        return np.asarray((total + total.T) / 2.0)

    def slopes(self, parts: tuple[int, ...], basis: ProductBasis, new: Candidates, gram: Float2D) -> Float2D:
        """Gram of the gradients of [F|new]: one pass, over as many values for a row as there are columns."""
        n_terms = basis.size + len(new)
        total = value_gram(self._rows, lambda X: basis.form().gradients(X, new), 0, n_terms)
        return np.asarray((total + total.T) / 2.0)

    def factor(self, parts: tuple[int, ...], basis: ProductBasis, new: Candidates) -> Float2D:
        """The triangular factor of the Gram of [F|new], from one pass over the data."""
        return triangular_factor(self._rows, _product_values(basis, new), basis.size + len(new))


def _product_values(basis: ProductBasis, new: Candidates) -> Callable[[Any], Any]:
    """A function that evaluates the members of F and the products ``new`` on a block, one per row."""

    def values(X: Any) -> Any:
        table, _ = basis.form().basis_values(X)
        return namespace_of(X).concat([table, product_values(table, X.T, new)])

    return values
