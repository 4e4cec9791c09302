"""Expands forms into coefficients of monomials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Float2D, Int1D, Int2D
from .forms import MonomialForm
from .products import Layer, ProductForm
from .terms import count_terms, exponents_of, multiply, terms_up_to

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
