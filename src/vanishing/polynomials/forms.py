"""Sums of monomials: generators evaluated on a block of rows, and products written as such sums.

The values of terms exist for one chunk of rows at a time, which is small enough to stay in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm, dgemv

from .._compiled import compiled
from .._typing import Array, Float1D, Float2D, Int1D, Int2D
from ..constants import CACHE_ENTRIES
from ..files.fields import Numbers, Record, require
from ..rows.array_api import namespace_of, on_device_of
from ..rows.protocol import Cost, Rows
from .products import Layer, ProductForm
from .terms import Program, count_terms, evaluate_terms, exponents_of, fill_terms, multiply, padded_length, terms_up_to
from .terms import term_values as term_values


@compiled
def _fill_chunk_by_generator(
    X: Float2D,
    left: Int1D,
    right: Int1D,
    coef: Float2D,
    lead_left: Int1D,
    lead_right: Int1D,
    lead_coef: Float1D,
    columns: Float2D,
    table: Float2D,
    values: Float2D,
) -> None:
    """Write the generators on a chunk of rows to ``values``, ``(n_generators, >= n_rows)``."""
    fill_terms(X, left, right, columns, table)
    np.dot(coef, table, values)
    for g in range(lead_coef.size):
        parent, factor, row, scale = table[lead_left[g]], columns[lead_right[g]], values[g], lead_coef[g]
        for i in range(X.shape[0]):
            row[i] += scale * parent[i] * factor[i]


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
    columns: Float2D,
    table: Float2D,
    values: Float2D,
    out: Float2D,
) -> None:
    n_rows, chunk = X.shape[0], table.shape[1]
    n_generators = lead_coef.size
    for start in range(0, n_rows, chunk):
        stop = start + chunk if start + chunk < n_rows else n_rows
        _fill_chunk_by_generator(
            X[start:stop], left, right, coef, lead_left, lead_right, lead_coef, columns, table, values
        )
        for i in range(stop - start):
            for g in range(n_generators):
                out[start + i, g] = abs(values[g, i]) if absolute else values[g, i]


@dataclass(frozen=True)
class MonomialForm:
    """Generators ``sum_j coef[g, j] t_j + lead_coef[g] u_g`` over the terms ``t_j`` of an order ideal.

    ``basis`` is the program of the ``n_basis`` terms ``t_j``; ``leads`` multiplies some of them by a column each, to
    the leading terms ``u_g``; ``coef`` has shape ``(n_generators, n_basis)``.
    """

    basis: Program
    coef: Float2D
    leads: Program
    lead_coef: Float1D

    @property
    def n_polynomials(self) -> int:
        """Number of generators."""
        return int(self.coef.shape[0])

    @property
    def width(self) -> int:
        """About how many values are computed for each row."""
        return sum(self.coef.shape)

    @property
    def cost(self) -> Cost:
        """Cost of one row."""
        n_polynomials, n_basis = self.coef.shape
        return Cost(n_polynomials * n_basis, 3 * n_polynomials + 2 * n_basis)

    def fill(self, block: Any, out: Any, *, absolute: bool) -> None:
        """Write the values on a block of rows to ``out``, ``(n_rows, n_polynomials)``."""
        if self.n_polynomials == 0:
            return
        if not isinstance(block, np.ndarray):
            self._fill_on_device(block, out, absolute=absolute)
            return
        chunk = self._chunk
        if len(block) <= chunk:
            self._fill_chunk(block, out, absolute=absolute, chunk=chunk)
            return
        _fill_generators(block, *self._program, absolute, *self._memory(block.shape[1]), out)

    @property
    def _chunk(self) -> int:
        """Rows that are computed together on the host."""
        return padded_length(int(np.clip(CACHE_ENTRIES // self.width, 32, 1024)))

    @property
    def _program(self) -> tuple[Int1D, Int1D, Float2D, Int1D, Int1D, Float1D]:
        return self.basis.left, self.basis.right, self.coef, self.leads.left, self.leads.right, self.lead_coef

    def _memory(self, n_features: int) -> tuple[Float2D, Float2D, Float2D]:
        """Buffers for the columns, terms and generators of a chunk; zeros, as a short chunk leaves a part unchanged."""
        n_polynomials, n_basis = self.coef.shape
        sizes = n_features, n_basis, n_polynomials
        columns, table, values = (np.zeros((size, self._chunk)) for size in sizes)
        return columns, table, values

    @np.errstate(over="ignore", invalid="ignore")  # as in compiled code
    def _fill_chunk(self, X: Array, out: Float2D, *, absolute: bool, chunk: int) -> None:
        """As the compiled kernel, to the last bit: by the same BLAS, on a chunk of the same length."""
        n_rows, leads = len(X), self.leads
        table = np.zeros((self.coef.shape[1], chunk))
        evaluate_terms(X, self.basis, table)
        # np.dot of compiled code is gemm, and gemv for one row.
        one = self.n_polynomials == 1
        product = dgemv(1.0, table.T, self.coef[0])[:, None] if one else dgemm(1.0, table.T, self.coef.T)
        values = product[:n_rows]
        values += self.lead_coef * table[leads.left, :n_rows].T * X[:, leads.right]
        np.abs(values, out=out) if absolute else np.copyto(out, values)

    def _fill_on_device(self, X: Any, out: Any, *, absolute: bool) -> None:
        table = term_values(X, self.basis)
        values = on_device_of(X, self.coef) @ table
        for g in range(self.n_polynomials):
            lead = table[int(self.leads.left[g]), :] * X[:, int(self.leads.right[g])]
            values[g, :] += float(self.lead_coef[g]) * lead
        out[:, :] = namespace_of(X).abs(values).T if absolute else values.T

    @property
    def degrees(self) -> Int1D:
        """Degree of every generator."""
        return np.asarray(self.basis.degrees[self.leads.left] + 1)

    def select(self, index: Int1D) -> MonomialForm:
        """The form of some of the generators."""
        coef = np.ascontiguousarray(self.coef[index])
        return replace(self, coef=coef, leads=self.leads[index], lead_coef=self.lead_coef[index])

    def scaled(self, factor: Float1D) -> MonomialForm:
        """Each generator times its factor."""
        return replace(self, coef=self.coef * factor[:, None], lead_coef=self.lead_coef * factor)

    @property
    def is_closed(self) -> bool:
        """Whether the basis has all divisors of its terms, and all proper divisors of the leading terms."""
        terms = self.basis.terms
        known = set(terms)
        every = [*terms, *self.basis.products(self.leads)]
        return all(term[:k] + term[k + 1 :] in known for term in every for k in range(len(term)))

    def compose(self, scale: Float1D, offset: Float1D) -> MonomialForm:
        """The generators as polynomials of z, where x = scale * z + offset.

        ``t * x_v`` becomes ``t(z) * (scale_v z_v + offset_v)``. Only divisors of ``t * x_v`` appear, and all of
        these are in the basis (`is_closed`), except a leading term itself: the result has the same terms.
        """
        n_basis = self.basis.size
        row_of = {term: k for k, term in enumerate(self.basis.terms)}
        shift = np.full((n_basis, int(self.basis.right.max(initial=0)) + 1), -1)
        for term, k in row_of.items():
            for v in range(shift.shape[1]):
                shift[k, v] = row_of.get(multiply(term, (v,)), -1)
        expansion = np.zeros((n_basis, n_basis))
        expansion[0, 0] = 1.0
        for k in range(1, n_basis):
            parent, v = self.basis.left[k], self.basis.right[k]
            _multiply_into(expansion[parent], v, scale, offset, shift, expansion[k])
        coef = self.coef @ expansion
        lead_coef = np.empty_like(self.lead_coef)
        for g, (parent, v) in enumerate(zip(self.leads.left, self.leads.right, strict=True)):
            lower = np.zeros(n_basis)
            _multiply_into(expansion[parent], v, scale, offset, shift, lower, top=parent)
            coef[g] += self.lead_coef[g] * lower
            lead_coef[g] = self.lead_coef[g] * expansion[parent, parent] * scale[v]
        return replace(self, coef=coef, lead_coef=lead_coef)


def _multiply_into(
    parent: Float1D, v: int, scale: Float1D, offset: Float1D, shift: Int1D, out: Float1D, top: int = -1
) -> None:
    """Add ``parent * (scale_v z_v + offset_v)`` to ``out``, without the term ``scale_v z_v`` times term ``top``."""
    out += offset[v] * parent
    for k in np.flatnonzero(parent):
        if k != top:
            out[shift[k, v]] += scale[v] * parent[k]


def values_over(form: MonomialForm | ProductForm, rows: Rows, *, absolute: bool = False) -> Any:
    """Values (or absolute values) of the polynomials on a checked data source, ``(n_samples, n_polynomials)``."""
    return rows.map(lambda block, out: form.fill(block.X, out, absolute=absolute), form.n_polynomials, form.cost)


# Forms in files.


def _check_program(program: Program) -> None:
    require(program.left.size == program.right.size > 0, "a program has no terms, or factors without terms")
    require(bool((program.left[1:] < np.arange(1, program.size)).all()), "a term is made of a later one")


def _check_monomial_form(form: MonomialForm) -> None:
    n_generators = form.lead_coef.size
    require(form.coef.shape == (n_generators, form.basis.size), "there are other coefficients than terms")
    require(form.leads.left.size == form.leads.right.size == n_generators, "a generator has no leading term")
    require(bool((form.leads.left < form.basis.size).all()), "a leading term is made of a missing one")


_FACTORS = {"left": Numbers("i8", (None,), low=0), "right": Numbers("i8", (None,), low=0)}

PROGRAM = Record(Program, _FACTORS, _check_program)
MONOMIAL_FORM = Record(
    MonomialForm,
    {"basis": PROGRAM, "coef": Numbers("f8", (None, None)), "leads": Record(Program, _FACTORS)}
    | {"lead_coef": Numbers("f8", (None,))},
    _check_monomial_form,
)


_MOST_ENTRIES = 50_000_000  # coefficients of an expansion: 400 MB


def monomials_of(form: MonomialForm | ProductForm, n_features: int) -> tuple[Int2D, Float2D, Int1D]:
    """Exponents ``(n_terms, n_features)``, coefficients ``(n_polynomials, n_terms)`` and the leading terms' indices."""
    return _monomial_terms(form, n_features) if isinstance(form, MonomialForm) else _expand(form, n_features)


def _monomial_terms(form: MonomialForm, n_features: int) -> tuple[Int2D, Float2D, Int1D]:
    """The expansion over the terms of the order ideal, followed by the leading terms."""
    n_generators, n_basis = form.coef.shape
    terms = [*form.basis.terms, *form.basis.products(form.leads)]
    coef = np.hstack([form.coef, np.diag(form.lead_coef)])
    return exponents_of(terms, n_features), coef, n_basis + np.arange(n_generators)


def _expand(form: ProductForm, n_features: int) -> tuple[Int2D, Float2D, Int1D]:
    """The expansion over all monomials up to the degree, ascending in DegLex.

    The product of a polynomial and a linear one is a sum over the terms of the linear one; multiplication by a
    variable moves each coefficient to another monomial.
    """
    degree = len(form.layers)
    widest = max((len(layer.products) for layer in form.layers), default=1)
    if count_terms(degree, n_features) * widest > _MOST_ENTRIES:
        raise ValueError(
            f"{widest} products of degree {degree} in {n_features} variables are too many to write out as monomials; "
            "use evaluate() instead."
        )
    terms = terms_up_to(degree, n_features)
    index = {term: i for i, term in enumerate(terms)}
    lower = count_terms(degree - 1, n_features) if degree else 1
    moved = np.array([[index[multiply(t, (v,))] for t in terms[:lower]] for v in range(n_features)], dtype=np.int64)
    coef = _coefficients(form, moved, len(terms))
    # Coefficients cancel up to rounding only: set these to zero, so that none of them becomes a leading one.
    coef[np.abs(coef) <= 1e-13 * _coefficients(_absolute(form), moved, len(terms))] = 0.0
    leads = len(terms) - 1 - np.argmax(coef[:, ::-1] != 0.0, axis=1)
    return exponents_of(terms, n_features), coef, leads


def _coefficients(form: ProductForm, moved: Int2D, n_terms: int) -> Float2D:
    """Coefficients of the form's polynomials; ``moved[v, t]`` is the index of term t times variable v."""
    lower = moved.shape[1]
    table = np.zeros((1, n_terms))
    table[0, 0] = form.constant
    vanishing = [np.empty((0, n_terms))]
    for d, layer in enumerate(form.layers):
        products = np.zeros((len(layer.products), n_terms))
        if d == 0:
            products[:, 0] = form.offset[layer.products.right]
            products[np.arange(len(products)), 1 + layer.products.right] = form.scale[layer.products.right]
        else:
            parents, linear = table[layer.products.left], table[layer.products.right]
            products += linear[:, :1] * parents
            for v in range(moved.shape[0]):
                products[:, moved[v]] += linear[:, 1 + v : 2 + v] * parents[:, :lower]
        stacked = np.vstack([table, products])
        vanishing.append(layer.vanishing @ stacked)
        table = np.vstack([table, layer.kept @ stacked])
    return np.asarray(np.vstack(vanishing)[form.chosen] * form.factor[:, None])


def _absolute(form: ProductForm) -> ProductForm:
    """The form with absolute values everywhere; its coefficients bound the summands that cancel in the original."""
    layers = tuple(Layer(p, np.abs(kept), np.abs(vanishing)) for p, kept, vanishing in form.layers)
    return replace(
        form, layers=layers, factor=np.abs(form.factor), scale=np.abs(form.scale), offset=np.abs(form.offset)
    )
