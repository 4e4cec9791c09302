"""Polynomials as programs: how terms and generators are evaluated on a block of rows.

A monomial costs one multiplication: an earlier row of the table times a column of the data. Nothing evaluated
outlives its chunk of rows, which is small enough to stay in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ._compiled import compiled
from ._typing import Float1D, Float2D, Int1D
from .rows import Rows

__all__ = [
    "Candidates",
    "Evaluator",
    "Layer",
    "MonomialForm",
    "ProductForm",
    "fill_terms",
    "product_values",
    "program_term",
    "term_values",
]

_CACHE_ENTRIES = 65_536  # float64 values of one chunk: half a megabyte, within a core's second-level cache


class Candidates(NamedTuple):
    """Products to examine: candidate k is basis polynomial ``left[k]`` times factor ``right[k]``.

    The factor is a column of the data at degree 1, otherwise a basis polynomial of degree 1.
    """

    left: Int1D
    right: Int1D

    def __len__(self) -> int:
        return self.left.size


@compiled
def fill_terms(X: Float2D, left: Int1D, right: Int1D, columns: Float2D, table: Float2D) -> None:
    """Evaluate terms on the rows of ``X``: ``table[0] = 1`` and ``table[k] = table[left[k]] * x[right[k]]`` for k >= 1.

    ``columns`` ``(n_features, >= n_rows)`` receives the transposed block; ``table`` is ``(n_terms, >=
    n_rows)``.
    """
    n_rows, n_features = X.shape
    for i in range(n_rows):
        for j in range(n_features):
            columns[j, i] = X[i, j]
    table[0, :n_rows] = 1.0
    for k in range(1, left.size):
        parent, factor, row = table[left[k]], columns[right[k]], table[k]
        for i in range(n_rows):
            row[i] = parent[i] * factor[i]


def term_values(X: Float2D, left: Int1D, right: Int1D) -> Float2D:
    """Values of the terms on the rows of ``X``, shape ``(n_terms, n_rows)``.

    Examples
    --------
    >>> import numpy as np
    >>> term_values(np.array([[2.0, 3.0]]), np.array([0, 0, 1]), np.array([0, 0, 1]))  # 1, x0, x0*x1
    array([[1.],
           [2.],
           [6.]])
    """
    table = np.empty((left.size, X.shape[0]))
    fill_terms(X, left, right, np.empty(X.shape[::-1]), table)
    return table


@compiled
def _fill_generators(
    X: Float2D,
    left: Int1D,
    right: Int1D,
    coef: Float2D,
    lead_left: Int1D,
    lead_right: Int1D,
    lead_coef: Float1D,
    absolute: bool,
    chunk: int,
    out: Float2D,
) -> None:
    n_rows, n_features = X.shape
    n_generators = lead_coef.size
    table = np.empty((left.size, chunk))
    columns = np.empty((n_features, chunk))
    values = np.empty((n_generators, chunk))
    table[:] = 0.0  # the last chunk may be short; what lies behind it must be finite
    for start in range(0, n_rows, chunk):
        stop = min(start + chunk, n_rows)
        fill_terms(X[start:stop], left, right, columns, table)
        np.dot(coef, table, values)
        for g in range(n_generators):
            parent, factor, row, scale = table[lead_left[g]], columns[lead_right[g]], values[g], lead_coef[g]
            for i in range(stop - start):
                row[i] += scale * parent[i] * factor[i]
        for i in range(stop - start):
            for g in range(n_generators):
                out[start + i, g] = abs(values[g, i]) if absolute else values[g, i]


@dataclass(frozen=True)
class MonomialForm:
    """Generators ``sum_j coef[g, j] t_j + lead_coef[g] u_g`` over the terms ``t_j`` of an order ideal.

    ``left``/``right`` are the program of the ``n_basis`` terms (entry 0 is the constant),
    ``lead_left``/``lead_right`` that of the leading terms; ``coef`` has shape ``(n_generators, n_basis)``.
    """

    left: Int1D
    right: Int1D
    coef: Float2D
    lead_left: Int1D
    lead_right: Int1D
    lead_coef: Float1D

    @property
    def n_polynomials(self) -> int:
        """Number of generators."""
        return int(self.coef.shape[0])

    @property
    def work(self) -> int:
        """Multiplications for one row, about."""
        return int(self.coef.size)

    def fill(self, block: Float2D, out: Float2D, *, absolute: bool) -> None:
        """Write the values on a block of rows to ``out``, ``(n_rows, n_polynomials)``."""
        chunk = int(np.clip(_CACHE_ENTRIES // sum(self.coef.shape), 32, 1024))
        program = (self.left, self.right, self.coef, self.lead_left, self.lead_right, self.lead_coef)
        _fill_generators(block, *program, absolute, chunk, out)

    @property
    def degrees(self) -> Int1D:
        """Degree of every generator."""
        return np.array([1 + len(program_term(self.left, self.right, k)) for k in self.lead_left], dtype=np.int64)

    def select(self, index: Int1D) -> MonomialForm:
        """The form of some of the generators."""
        return replace(
            self,
            coef=np.ascontiguousarray(self.coef[index]),
            lead_left=self.lead_left[index],
            lead_right=self.lead_right[index],
            lead_coef=self.lead_coef[index],
        )

    def scaled(self, factor: Float1D) -> MonomialForm:
        """Each generator times its factor."""
        return replace(self, coef=self.coef * factor[:, None], lead_coef=self.lead_coef * factor)

    def compose(self, scale: Float1D, offset: Float1D) -> MonomialForm:
        """The generators as polynomials of z, where x = scale * z + offset.

        ``t * x_v`` becomes ``t(z) * (scale_v z_v + offset_v)``. Only divisors of ``t * x_v`` appear, and
        those are all in the order ideal (except the term itself, when it is a leading one): the same terms
        carry the result.
        """
        n_basis = self.left.size
        row_of = {program_term(self.left, self.right, k): k for k in range(n_basis)}
        shift = np.full((n_basis, int(self.right.max(initial=0)) + 1), -1)
        for term, k in row_of.items():
            for v in range(shift.shape[1]):
                shift[k, v] = row_of.get(tuple(sorted((*term, v))), -1)
        expansion = np.zeros((n_basis, n_basis))
        expansion[0, 0] = 1.0
        for k in range(1, n_basis):
            _multiply_into(expansion[self.left[k]], self.right[k], scale, offset, shift, expansion[k])
        coef = self.coef @ expansion
        lead_coef = np.empty_like(self.lead_coef)
        for g, (parent, v) in enumerate(zip(self.lead_left, self.lead_right, strict=True)):
            lower = np.zeros(n_basis)
            _multiply_into(expansion[parent], v, scale, offset, shift, lower, top=parent)
            coef[g] += self.lead_coef[g] * lower
            lead_coef[g] = self.lead_coef[g] * expansion[parent, parent] * scale[v]
        return replace(self, coef=coef, lead_coef=lead_coef)


def program_term(left: Int1D, right: Int1D, k: int) -> tuple[int, ...]:
    """Term k of a program as the sorted tuple of its columns."""
    columns = []
    while k > 0:
        columns.append(int(right[k]))
        k = left[k]
    return tuple(sorted(columns))


def _multiply_into(
    parent: Float1D, v: int, scale: Float1D, offset: Float1D, shift: Int1D, out: Float1D, top: int = -1
) -> None:
    """out = parent * (scale_v z_v + offset_v), without the product of term ``top``."""
    out += offset[v] * parent
    for k in np.flatnonzero(parent):
        if k != top:
            out[shift[k, v]] += scale[v] * parent[k]


class Layer(NamedTuple):
    """One degree of a basis of products: which products, and the combinations of them that were kept or vanish.

    ``kept`` and ``vanishing`` have shape ``(n_polynomials, n_before + n_products)``: coefficients on the
    basis polynomials of lower degree, then on the products.
    """

    products: Candidates
    kept: Float2D
    vanishing: Float2D


@dataclass(frozen=True)
class ProductForm:
    """Polynomials built layer by layer as linear combinations of products (VCA), in x = scale * z + offset.

    ``constant`` is the value of basis polynomial 0; ``chosen`` says which of the vanishing polynomials the
    form stands for, each times its ``factor``.
    """

    constant: float
    layers: tuple[Layer, ...]
    chosen: Int1D
    factor: Float1D
    scale: Float1D
    offset: Float1D

    def basis_values(self, X: Float2D) -> tuple[Float2D, list[Float2D]]:
        """Values of the basis polynomials, and of each layer's products, on the rows of ``X``, one per row."""
        columns = np.ascontiguousarray(X.T) * self.scale[:, None] + self.offset[:, None]
        table = np.full((1, X.shape[0]), self.constant)
        products = []
        for layer in self.layers:
            products.append(product_values(table, columns, layer.products))
            table = np.vstack([table, layer.kept @ np.vstack([table, products[-1]])])
        return table, products

    @property
    def n_polynomials(self) -> int:
        """Number of vanishing polynomials that the form stands for."""
        return int(self.chosen.size)

    @property
    def work(self) -> int:
        """Multiplications for one row, about."""
        return self._widest * self._widest

    @property
    def _widest(self) -> int:
        return max(int(layer.kept.shape[1] + layer.vanishing.shape[0]) for layer in self.layers)

    def fill(self, block: Float2D, out: Float2D, *, absolute: bool) -> None:
        """Write the values on a block of rows to ``out``, ``(n_rows, n_polynomials)``."""
        chunk = int(np.clip(4 * _CACHE_ENTRIES // self._widest, 64, 8192))
        for start in range(0, block.shape[0], chunk):
            table, products = self.basis_values(block[start : start + chunk])
            values = [
                layer.vanishing @ np.vstack([table[: layer.kept.shape[1] - len(layer.products)], product])
                for layer, product in zip(self.layers, products, strict=True)
            ]
            chosen = np.vstack(values)[self.chosen] * self.factor[:, None]
            out[start : start + chunk] = np.abs(chosen.T) if absolute else chosen.T

    @property
    def degrees(self) -> Int1D:
        """Number of the layer that every generator comes from."""
        counts = [layer.vanishing.shape[0] for layer in self.layers]
        return np.repeat(np.arange(1, len(counts) + 1), counts)[self.chosen]

    def select(self, index: Int1D) -> ProductForm:
        """The form of some of the generators."""
        return replace(self, chosen=self.chosen[index], factor=self.factor[index])

    def scaled(self, factor: Float1D) -> ProductForm:
        """Each generator times its factor."""
        return replace(self, factor=self.factor * factor)

    def compose(self, scale: Float1D, offset: Float1D) -> ProductForm:
        """The generators as polynomials of z, where x = scale * z + offset."""
        return replace(self, scale=self.scale * scale, offset=self.scale * offset + self.offset)


def product_values(table: Float2D, columns: Float2D, products: Candidates) -> Float2D:
    """Values of the products, one per row; at degree 1, where ``table`` is the constant alone, those of columns."""
    if table.shape[0] == 1:
        return columns[products.right]
    return table[products.left] * table[products.right]


class Evaluator:
    """Several lists of polynomials, evaluated side by side in one pass."""

    def __init__(self, forms: Sequence[MonomialForm | ProductForm], *, absolute: bool):
        self.forms = [form for form in forms if form.n_polynomials]
        self.absolute = absolute
        self.n_columns = sum(form.n_polynomials for form in self.forms)
        self.block_rows = int(np.clip(20_000_000 // (sum(form.work for form in self.forms) + 100), 1024, 65_536))

    def fill(self, block: Float2D, out: Float2D) -> None:
        """Write the values on a block of rows to ``out``, ``(n_rows, n_columns)``."""
        start = 0
        for form in self.forms:
            form.fill(block, out[:, start : start + form.n_polynomials], absolute=self.absolute)
            start += form.n_polynomials

    def over(self, rows: Rows) -> Float2D:
        """Values on all rows, ``(n_samples, n_columns)``."""
        return rows.map(self.fill, self.n_columns, self.block_rows)
