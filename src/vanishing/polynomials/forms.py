"""Forms of polynomials: evaluate terms and generators on a block of rows.

A monomial costs one multiplication: an earlier row of the table times a column of the data. The values of terms
exist for one chunk of rows at a time, which is small enough to stay in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm, dgemv

from .._compiled import compiled
from .._typing import Array, Float1D, Float2D, Int1D
from ..files.fields import Number, Numbers, Record, TupleOf, require
from ..rows.array_api import namespace_of, on_device_of
from ..rows.protocol import Cost, Rows
from .terms import Program, multiply

__all__ = [
    "MONOMIAL_FORM",
    "PRODUCT_FORM",
    "PROGRAM",
    "Candidates",
    "Evaluator",
    "Layer",
    "MonomialForm",
    "ProductForm",
    "batched_terms",
    "fill_terms",
    "padded_length",
    "product_values",
    "term_values",
]

_FEW = 32  # rows for which plain NumPy is quick, so that nothing has to be compiled or loaded for them
_CACHE_ENTRIES = 65_536  # float64 values of one chunk: half a megabyte, within a core's second-level cache


class Candidates(NamedTuple):
    """Products to examine: candidate k is basis polynomial ``left[k]`` times factor ``right[k]``.

    The factor is a column of the data at degree 1, otherwise a basis polynomial of degree 1.
    """

    left: Int1D
    right: Int1D

    def __len__(self) -> int:
        return self.left.size


def padded_length(n_rows: int) -> int:
    """The length of a chunk for ``n_rows`` rows: a multiple of 8 but not of 64.

    Columns whose addresses differ by a multiple of a large power of two compete for the same few cache lines.

    Examples
    --------
    >>> padded_length(1000), padded_length(1024)
    (1000, 1032)
    """
    length = -(-n_rows // 8) * 8
    return length + 8 if length % 64 == 0 else length


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
    for i in range(n_rows):
        table[0, i] = 1.0
    for k in range(1, left.size):
        parent, factor, row = table[left[k]], columns[right[k]], table[k]
        for i in range(n_rows):
            row[i] = parent[i] * factor[i]


def _fill_terms_of_few(X: Array, program: Program, table: Float2D) -> None:
    """What ``fill_terms`` does, in NumPy."""
    table[0] = 1.0
    for k, (parent, factor) in enumerate(zip(program.left.tolist(), program.right.tolist(), strict=True)):
        if k:
            table[k] = table[parent] * X[:, factor]


def batched_terms(X: Any, program: Program) -> Any:
    """Values of terms on a device, ``(n_batches, n_terms, length)``, for rows ``(n_batches, length, n_features)``."""
    namespace = namespace_of(X)
    columns = namespace.permute_dims(X, (0, 2, 1))
    table = namespace.empty((X.shape[0], program.size, X.shape[1]), dtype=namespace.float64, device=X.device)
    table[:, 0, :] = 1.0
    for k in range(1, program.size):
        parent, factor = int(program.left[k]), columns[:, int(program.right[k]), :]
        table[:, k, :] = factor if parent == 0 else table[:, parent, :] * factor
    return table


def term_values(X: Any, program: Program) -> Any:
    """Values of the terms on the rows of ``X``, shape ``(n_terms, n_rows)``, on the device of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> term_values(np.array([[2.0, 3.0]]), Program.of([(), (0,), (0, 1)]))
    array([[1.],
           [2.],
           [6.]])
    """
    if not isinstance(X, np.ndarray):
        return batched_terms(X[None, :, :], program)[0, :, :]
    table = np.empty((program.size, X.shape[0]))
    if len(X) <= _FEW:
        _fill_terms_of_few(X, program, table)
        return table
    fill_terms(X, program.left, program.right, np.empty(X.shape[::-1]), table)
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
    columns: Float2D,
    table: Float2D,
    values: Float2D,
    out: Float2D,
) -> None:
    n_rows, chunk = X.shape[0], table.shape[1]
    n_generators = lead_coef.size
    for start in range(0, n_rows, chunk):
        stop = start + chunk if start + chunk < n_rows else n_rows
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
    def work(self) -> int:
        """Multiplications per row, roughly."""
        return int(self.coef.size)

    @property
    def width(self) -> int:
        """Values computed per row, roughly."""
        return sum(self.coef.shape)

    def fill(self, block: Any, out: Any, *, absolute: bool) -> None:
        """Write the values on a block of rows to ``out``, ``(n_rows, n_polynomials)``."""
        if not isinstance(block, np.ndarray):
            self._fill_on_device(block, out, absolute=absolute)
            return
        chunk = padded_length(int(np.clip(_CACHE_ENTRIES // sum(self.coef.shape), 32, 1024)))
        if len(block) <= _FEW:
            self._fill_few(block, out, absolute=absolute, chunk=chunk)
            return
        columns, values = np.empty((block.shape[1], chunk)), np.empty((self.n_polynomials, chunk))
        table = np.zeros((self.basis.size, chunk))  # a short last chunk needs finite values behind it for the product
        program = self.basis.left, self.basis.right, self.coef, self.leads.left, self.leads.right, self.lead_coef
        _fill_generators(block, *program, absolute, columns, table, values, out)

    def _fill_few(self, X: Array, out: Float2D, *, absolute: bool, chunk: int) -> None:
        """As the compiled kernel does it, by the same BLAS on a chunk of the same length: the bits are the same."""
        n_rows, leads = len(X), self.leads
        table = np.zeros((self.basis.size, chunk))
        _fill_terms_of_few(X, self.basis, table[:, :n_rows])
        # np.dot of compiled code is gemm, and gemv for one row.
        one = self.n_polynomials == 1
        product = dgemv(1.0, table.T, self.coef[0])[:, None] if one else dgemm(1.0, table.T, self.coef.T)
        values = product[:n_rows]
        values += self.lead_coef * table[leads.left, :n_rows].T * X[:, leads.right]
        out[:, :] = np.abs(values) if absolute else values

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
        return np.array([len(term) for term in self.basis.products(self.leads)], dtype=np.int64)

    def select(self, index: Int1D) -> MonomialForm:
        """The form of some of the generators."""
        coef = np.ascontiguousarray(self.coef[index])
        return replace(self, coef=coef, leads=self.leads[index], lead_coef=self.lead_coef[index])

    def scaled(self, factor: Float1D) -> MonomialForm:
        """Each generator times its factor."""
        return replace(self, coef=self.coef * factor[:, None], lead_coef=self.lead_coef * factor)

    def compose(self, scale: Float1D, offset: Float1D) -> MonomialForm:
        """The generators as polynomials of z, where x = scale * z + offset.

        ``t * x_v`` becomes ``t(z) * (scale_v z_v + offset_v)``. Only divisors of ``t * x_v`` appear, and all of
        these are in the order ideal, except a leading term itself: the result has the same terms.
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


class Layer(NamedTuple):
    """One degree of a basis of products: the products, and the combinations of them that were kept or vanish.

    ``kept`` and ``vanishing`` have shape ``(n_polynomials, n_before + n_products)``: coefficients on the
    basis polynomials of lower degree, then on the products.
    """

    products: Candidates
    kept: Float2D
    vanishing: Float2D


@dataclass(frozen=True)
class ProductForm:
    """Polynomials built layer by layer as linear combinations of products (VCA), in x = scale * z + offset.

    ``constant`` is the value of basis polynomial 0. The form consists of the vanishing polynomials with indices
    ``chosen``, each times its ``factor``.
    """

    constant: float
    layers: tuple[Layer, ...]
    chosen: Int1D
    factor: Float1D
    scale: Float1D
    offset: Float1D

    def basis_values(self, X: Any) -> tuple[Any, list[Any]]:
        """Values of the basis polynomials, and of each layer's products, on the rows of ``X``, one per row."""
        namespace = namespace_of(X)
        columns = X.T * on_device_of(X, self.scale[:, None]) + on_device_of(X, self.offset[:, None])
        table = namespace.ones_like(columns[:1, :]) * self.constant
        products = []
        for layer in self.layers:
            products.append(product_values(table, columns, layer.products))
            wide = namespace.concat([table, products[-1]])
            table = namespace.concat([table, on_device_of(X, layer.kept) @ wide])
        return table, products

    def gradients(self, X: Any, new: Candidates) -> Any:
        """Derivatives of the basis polynomials and of further products, ``(n_polynomials, n_features * n_rows)``.

        In the columns of ``X`` as they are: those of x = scale * z + offset by z.
        """
        namespace = namespace_of(X)
        table, _ = self.basis_values(X)
        columns = X.T * on_device_of(X, self.scale[:, None]) + on_device_of(X, self.offset[:, None])
        derivatives = []
        for j in range(X.shape[1]):
            slopes = namespace.zeros_like(columns)
            slopes[j, :] = float(self.scale[j])
            derivative = namespace.zeros_like(table[:1, :])
            for layer in self.layers:
                further = _product_slopes(table, derivative, slopes, layer.products)
                wide = namespace.concat([derivative, further])
                derivative = namespace.concat([derivative, on_device_of(X, layer.kept) @ wide])
            derivatives.append(namespace.concat([derivative, _product_slopes(table, derivative, slopes, new)]))
        return namespace.concat(derivatives, axis=1)

    @property
    def n_polynomials(self) -> int:
        """Number of vanishing polynomials in the form."""
        return int(self.chosen.size)

    @property
    def work(self) -> int:
        """Multiplications per row, roughly."""
        return self._widest * self._widest

    @property
    def width(self) -> int:
        """Values computed per row, roughly."""
        return 2 * self._widest

    @property
    def _widest(self) -> int:
        return max(int(layer.kept.shape[1] + layer.vanishing.shape[0]) for layer in self.layers)

    def fill(self, block: Any, out: Any, *, absolute: bool) -> None:
        """Write the values on a block of rows to ``out``, ``(n_rows, n_polynomials)``."""
        namespace, chunk = np, int(np.clip(4 * _CACHE_ENTRIES // self._widest, 64, 8192))
        if not isinstance(block, np.ndarray):
            namespace, chunk = namespace_of(block), block.shape[0]
        chosen, factor = on_device_of(block, self.chosen), on_device_of(block, self.factor[:, None])
        vanishing = [on_device_of(block, layer.vanishing) for layer in self.layers]
        for start in range(0, block.shape[0], chunk):
            table, products = self.basis_values(block[start : start + chunk, :])
            values = [
                matrix @ namespace.concat([table[: layer.kept.shape[1] - len(layer.products), :], product])
                for matrix, layer, product in zip(vanishing, self.layers, products, strict=True)
            ]
            generators = namespace.take(namespace.concat(values), chosen, axis=0) * factor
            out[start : start + chunk, :] = namespace.abs(generators).T if absolute else generators.T

    @property
    def degrees(self) -> Int1D:
        """Degree of every generator: the number of its layer, counted from 1."""
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


def product_values(table: Any, columns: Any, products: Candidates) -> Any:
    """Values of the products, one per row; at degree 1, where ``table`` has only the constant, values of columns."""
    namespace = namespace_of(table)
    left, right = (on_device_of(table, index) for index in products)
    if table.shape[0] == 1:
        return namespace.take(columns, right, axis=0)
    return namespace.take(table, left, axis=0) * namespace.take(table, right, axis=0)


def _product_slopes(table: Any, derivative: Any, slopes: Any, products: Candidates) -> Any:
    """Derivatives of products from values and derivatives of the factors; at degree 1 those of the columns."""
    namespace = namespace_of(table)
    left, right = (on_device_of(table, index) for index in products)
    if derivative.shape[0] == 1:
        return namespace.take(slopes, right, axis=0)
    first, second = (namespace.take(table, index, axis=0) for index in (left, right))
    return namespace.take(derivative, left, axis=0) * second + first * namespace.take(derivative, right, axis=0)


class Evaluator:
    """Evaluates several lists of polynomials side by side, in one pass."""

    def __init__(self, forms: Sequence[MonomialForm | ProductForm], *, absolute: bool):
        self.forms = [form for form in forms if form.n_polynomials]
        self.absolute = absolute
        self.n_columns = sum(form.n_polynomials for form in self.forms)

    def fill(self, block: Any, out: Any) -> None:
        """Write the values on a block of rows to ``out``, ``(n_rows, n_columns)``."""
        start = 0
        for form in self.forms:
            form.fill(block, out[:, start : start + form.n_polynomials], absolute=self.absolute)
            start += form.n_polynomials

    @property
    def cost(self) -> Cost:
        """Cost of one row."""
        return Cost(sum(form.work for form in self.forms), 2 * sum(form.width for form in self.forms) + self.n_columns)

    def over(self, rows: Rows) -> Any:
        """Values on all rows, ``(n_samples, n_columns)``."""
        return rows.map(lambda block, out: self.fill(block.X, out), self.n_columns, self.cost)


# What forms consist of in files.


def _check_program(program: Program) -> None:
    require(program.left.size == program.right.size > 0, "a program has no terms, or factors without terms")
    require(bool((program.left[1:] < np.arange(1, program.size)).all()), "a term is made of a later one")


def _check_monomial_form(form: MonomialForm) -> None:
    n_generators = form.lead_coef.size
    require(form.coef.shape == (n_generators, form.basis.size), "there are other coefficients than terms")
    require(form.leads.left.size == form.leads.right.size == n_generators, "a generator has no leading term")
    require(bool((form.leads.left < form.basis.size).all()), "a leading term is made of a missing one")


def _check_product_form(form: ProductForm) -> None:
    size, n_vanishing = 1, 0
    for number, layer in enumerate(form.layers):
        products = layer.products
        width = size + len(products)
        require(products.left.size == products.right.size, "a product has one factor only")
        require(layer.kept.shape[1] == layer.vanishing.shape[1] == width, "there are other coefficients than products")
        last = form.scale.size if number == 0 else size
        require(bool((products.left < size).all() and (products.right < last).all()), "a product has a missing factor")
        size, n_vanishing = size + layer.kept.shape[0], n_vanishing + layer.vanishing.shape[0]
    require(form.chosen.size == form.factor.size, "there are other factors than polynomials")
    require(bool((form.chosen < n_vanishing).all()), "there are fewer polynomials than chosen ones")
    require(form.scale.size == form.offset.size, "a column has a scale without an offset")


_INDICES = Numbers("i8", (None,), low=0)
_VECTOR, _MATRIX = Numbers("f8", (None,)), Numbers("f8", (None, None))
_FACTORS = {"left": _INDICES, "right": _INDICES}
_LAYER = Record(Layer, {"products": Record(Candidates, _FACTORS), "kept": _MATRIX, "vanishing": _MATRIX})

PROGRAM = Record(Program, _FACTORS, _check_program)
MONOMIAL_FORM = Record(
    MonomialForm,
    {"basis": PROGRAM, "coef": _MATRIX, "leads": Record(Program, _FACTORS), "lead_coef": _VECTOR},
    _check_monomial_form,
)
PRODUCT_FORM = Record(
    ProductForm,
    {"constant": Number(), "layers": TupleOf(_LAYER), "chosen": _INDICES, "factor": _VECTOR}
    | {"scale": _VECTOR, "offset": _VECTOR},
    _check_product_form,
)
