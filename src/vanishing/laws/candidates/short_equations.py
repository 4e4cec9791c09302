"""The short equations that are compared: exponents of power laws, and sets of three and four terms."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, gcd

import numpy as np

from ..._typing import Array, Bool1D, Int2D
from ..estimate.monomials import monomials

__all__ = ["exponent_vectors", "term_sets"]

_CANDIDATES = 25_000  # equations of one kind that are compared; degrees and exponents are as large as that allows
_LARGEST_EXPONENT, _LARGEST_DEGREE = 5, 3  # power laws; equations of three and four terms


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
