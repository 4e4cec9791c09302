"""How polynomials are computed: terms as products of earlier terms, then linear maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Int1D
from ..polynomials.forms import MonomialForm
from ..polynomials.polynomial import Polynomials
from ..polynomials.products import ProductForm
from ..polynomials.terms import Program
from .operations import Ops


def polynomial_values(ops: Ops, x: Any, polynomials: Polynomials) -> Any:
    """The signed values of polynomials."""
    return form_values(ops, x, polynomials.form)


def form_values(ops: Ops, x: Any, form: MonomialForm | ProductForm) -> Any:
    """The signed values of the polynomials of a form."""
    return _monomial_values(ops, x, form) if isinstance(form, MonomialForm) else _product_values(ops, x, form)


def term_table(ops: Ops, x: Any, program: Program) -> tuple[Any, Int1D]:
    """All terms of a program but the constant, degree by degree, and the place of each in this table.

    Each term is an earlier one times a column. The table is None if there is only the constant.
    """
    degrees = np.array([len(term) for term in program.terms])
    row_of = np.full(program.size, -1)
    table, size = None, 0
    for degree in range(1, int(degrees.max(initial=0)) + 1):
        rows = np.flatnonzero(degrees == degree)
        new = ops.take(x, program.right[rows])
        if degree > 1:
            new = ops.multiply(ops.take(table, row_of[program.left[rows]]), new)
        table = new if table is None else ops.concat([table, new])
        row_of[rows] = size + np.arange(rows.size)
        size += rows.size
    return table, row_of


def _monomial_values(ops: Ops, x: Any, form: MonomialForm) -> Any:
    """The terms, and one linear map."""
    table, row_of = term_table(ops, x, form.basis)
    simple = np.flatnonzero(form.leads.left == 0)
    further = np.flatnonzero(form.leads.left != 0)
    parts = [] if table is None else [table]
    if simple.size:
        parts.append(ops.take(x, form.leads.right[simple]))
    if further.size:
        factors = ops.take(x, form.leads.right[further])
        parts.append(ops.multiply(ops.take(table, row_of[form.leads.left[further]]), factors))
    order = np.argsort(row_of[1:], kind="stable") + 1
    leads = np.diag(form.lead_coef)[:, np.concatenate([simple, further])]
    return ops.linear(ops.concat(parts), np.hstack([form.coef[:, order], leads]), form.coef[:, 0])


def _product_values(ops: Ops, x: Any, form: ProductForm) -> Any:
    """Layer by layer: products of earlier polynomials, and linear combinations of both."""
    columns = ops.affine(x, form.scale, form.offset)
    table, values = None, []
    for layer in form.layers:
        if table is None:
            wide = ops.take(columns, layer.products.right)
        else:
            # Products of degree 2 and more have no constant factor, which would be number 0.
            products = ops.products(table, layer.products.left - 1, layer.products.right - 1)
            wide = ops.concat([table, products])
        # Column 0 of the coefficients belongs to the constant, which the table leaves out.
        for matrix, keep in ((layer.vanishing, False), (layer.kept, True)):
            if matrix.shape[0] == 0:
                continue
            result = ops.linear(wide, matrix[:, 1:], matrix[:, 0] * form.constant)
            if keep:
                table = result if table is None else ops.concat([table, result])
            else:
                values.append(result)
    chosen = ops.take(ops.concat(values), form.chosen)
    return ops.affine(chosen, form.factor, np.zeros(form.factor.size))
