"""The short equations that are compared: exponents of power laws, and sets of three and four terms."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, product
from math import comb, gcd

import numpy as np

from ..._typing import Array, Bool1D, Float2D, Int2D
from ..estimate.monomials import monomials
from ..rows.relation import LEFT_BY_ROUNDING, middle_spread

__all__ = ["exponent_vectors", "nearest_exponents", "term_sets"]

_CANDIDATES = 25_000  # equations of one kind that are compared; degrees and exponents are as large as that allows
_LARGEST_EXPONENT = 6  # of a column in the power laws that are searched
_LARGEST_DEGREE = 3  # of an equation with three or four terms
_LARGEST_NEAREST = 8  # exponent that logarithms propose: these are few, so they may be larger than those of a search


@lru_cache(maxsize=16)
def exponent_vectors(n: int) -> Int2D:
    """Small integer exponents without a common factor, the first positive, of two and more columns."""
    found = [np.zeros((0, n), dtype=np.int64)]
    for k in range(2, n + 1):
        kinds: list[tuple[int, ...]] = []
        for largest in range(1, _LARGEST_EXPONENT + 1):
            if comb(n, k) * (2 * largest) ** k > 2 * _CANDIDATES:  # half have another sign
                break
            powers = [e for e in range(-largest, largest + 1) if e]
            kinds = [v for v in product(powers, repeat=k) if v[0] > 0 and gcd(*v) == 1]
        for chosen in combinations(range(n), k) if kinds else ():
            vectors = np.zeros((len(kinds), n), dtype=np.int64)
            vectors[:, chosen] = kinds
            found.append(vectors)
    return np.concatenate(found)


def nearest_exponents(logs: Float2D) -> Int2D:
    """Exponents of power laws, rounded from the direction in which the logarithms vary least; small exponents first.

    Concentration on the nearest half of the rows improves the direction. Its multiples with small largest exponents
    are rounded.
    """
    unit = np.maximum(middle_spread(logs), LEFT_BY_ROUNDING)
    Z, near, width, narrower = logs / unit, np.ones(len(logs), dtype=bool), np.inf, True
    while narrower:
        middle = Z[near].mean(axis=0)
        a = np.linalg.svd(Z[near] - middle, full_matrices=False)[2][-1]
        distance = np.abs((Z - middle) @ a)
        half = float(np.median(distance))
        narrower, width, near = half < width, half, distance <= half
    a = a / unit
    scaled = np.round(a / np.abs(a).max() * np.arange(1, _LARGEST_NEAREST + 1)[:, None]).astype(np.int64)
    vectors = scaled // np.gcd.reduce(scaled, axis=1)[:, None]
    vectors = vectors[(vectors != 0).sum(axis=1) > 1]
    first = np.take_along_axis(vectors, (vectors != 0).argmax(axis=1)[:, None], axis=1)
    vectors = np.unique(vectors * np.sign(first), axis=0)
    return np.asarray(vectors[np.argsort(np.abs(vectors).max(axis=1), kind="stable")])


@lru_cache(maxsize=16)
def term_sets(n: int, n_terms: int) -> tuple[Int2D, Int2D]:
    """Monomials, and sets of them without a common factor that are no polynomial in one product.

    Exponents on a line make such a polynomial, ``u`` takes one of a few values; its sheets would share the noise.
    """
    for degree in range(_LARGEST_DEGREE, 0, -1):
        if comb(comb(n + degree, degree), n_terms) > 3 * _CANDIDATES:
            continue
        terms = monomials(n, degree).exponents
        supports = np.array(list(combinations(range(len(terms)), n_terms)), dtype=np.int64)
        exponents = terms[supports]
        keep = (exponents.min(axis=1) == 0).all(axis=1) & ((exponents.max(axis=1) > 0).sum(axis=1) > 1)
        keep[keep] = _spans_a_plane(exponents[keep][:, 1:] - exponents[keep][:, :1])
        if keep.sum() <= _CANDIDATES:
            return terms, supports[keep]
    return np.zeros((1, n), dtype=np.int64), np.zeros((0, n_terms), dtype=np.int64)


def _spans_a_plane(vectors: Array) -> Bool1D:
    """Whether two of the integer vectors are not parallel: ``(a . b)^2 < |a|^2 |b|^2``, for every set of vectors."""
    gram = np.einsum("tij,tkj->tik", vectors, vectors)
    squares = np.einsum("tii->ti", gram)
    return np.asarray((gram**2 < squares[:, :, None] * squares[:, None, :]).any(axis=(1, 2)))
