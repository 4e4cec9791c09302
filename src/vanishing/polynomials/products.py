"""Polynomials made of products, layer by layer (VCA): evaluated, differentiated, composed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..constants import CACHE_ENTRIES
from ..files.fields import Number, Numbers, Record, TupleOf, require
from ..rows.array_api import namespace_of, on_device_of
from ..rows.protocol import Cost


class Candidates(NamedTuple):
    """Products to examine: candidate k is basis polynomial ``left[k]`` times factor ``right[k]``.

    The factor is a column of the data at degree 1, otherwise a basis polynomial of degree 1.
    """

    left: Int1D
    right: Int1D

    def __len__(self) -> int:
        return self.left.size


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

        The derivatives are by the columns of ``X``, which are z in x = scale * z + offset.
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
    def width(self) -> int:
        """About how many values are computed for each row."""
        return 2 * self._widest

    @property
    def cost(self) -> Cost:
        """Cost of one row."""
        return Cost(self._widest**2, 4 * self._widest + self.n_polynomials)

    @property
    def _widest(self) -> int:
        return max([int(layer.kept.shape[1] + layer.vanishing.shape[0]) for layer in self.layers], default=0)

    def fill(self, block: Any, out: Any, *, absolute: bool) -> None:
        """Write the values on a block of rows to ``out``, ``(n_rows, n_polynomials)``."""
        if self.n_polynomials == 0:
            return
        namespace, chunk = np, CACHE_ENTRIES // self._widest + 1
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
    """Derivatives of products from values and derivatives of the factors; at degree 1, derivatives of columns."""
    namespace = namespace_of(table)
    left, right = (on_device_of(table, index) for index in products)
    if derivative.shape[0] == 1:
        return namespace.take(slopes, right, axis=0)
    first, second = (namespace.take(table, index, axis=0) for index in (left, right))
    return namespace.take(derivative, left, axis=0) * second + first * namespace.take(derivative, right, axis=0)


# Forms in files.


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
_PRODUCTS = Record(Candidates, {"left": _INDICES, "right": _INDICES})
_LAYER = Record(Layer, {"products": _PRODUCTS, "kept": _MATRIX, "vanishing": _MATRIX})

PRODUCT_FORM = Record(
    ProductForm,
    {"constant": Number(), "layers": TupleOf(_LAYER), "chosen": _INDICES, "factor": _VECTOR}
    | {"scale": _VECTOR, "offset": _VECTOR},
    _check_product_form,
)
