"""All monomials up to a degree: their places, products, derivatives and values, and changes of coordinates."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import comb

import numpy as np

from ..._typing import Array, Float1D, Float2D, Int1D, Int2D
from ...polynomials.terms import Program, exponents_of, terms_up_to

__all__ = ["Monomials", "binomial_matrix", "monomials"]


class Monomials:
    """All monomials ``z^a`` of ``n_columns`` variables up to a degree, ascending in degree.

    Attributes
    ----------
    exponents : ndarray of shape (n_monomials, n_columns)
        The multi-indices ``a``.
    program : Program
        Each monomial as another one times a column.
    total : ndarray of shape (n_monomials,)
        Their degrees.

    Examples
    --------
    >>> monomials(2, 2).exponents.tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """

    def __init__(self, n_columns: int, degree: int):
        self.n_columns, self.degree = n_columns, degree
        terms = terms_up_to(degree, n_columns)
        self.exponents, self.program = exponents_of(terms, n_columns), Program.of(terms)
        self.total = self.exponents.sum(axis=1)
        self._strides = (degree + 1) ** np.arange(n_columns, dtype=np.int64)
        codes = self.exponents @ self._strides
        self._sorted = np.argsort(codes)
        self._divided: dict[tuple[int, int], tuple[Int1D, Int1D, Float1D]] = {}
        self._products: dict[tuple[int, int], Int2D] = {}
        self._codes = codes[self._sorted]

    def __len__(self) -> int:
        return len(self.exponents)

    def places(self, exponents: Array) -> Int1D:
        """Where monomials are in the list; ``exponents`` has the columns along its last axis.

        Examples
        --------
        >>> monomials(2, 2).places(np.array([[1, 1], [0, 0]]))
        array([4, 0])
        """
        return np.asarray(self._sorted[np.searchsorted(self._codes, exponents @ self._strides)])

    def products(self, left: Monomials, right: Monomials) -> Int2D:
        """The places of all products ``z^a z^b``, a row for each ``a`` of ``left``; computed once."""
        key = left.degree, right.degree
        if key not in self._products:
            codes = np.add.outer(left.exponents @ self._strides, right.exponents @ self._strides)
            self._products[key] = self._sorted[np.searchsorted(self._codes, codes)]
        return self._products[key]

    def product(self, left: Monomials, a: Float1D, right: Monomials, b: Float1D) -> Float1D:
        """Coefficients of the product of two polynomials.

        Examples
        --------
        >>> line = monomials(1, 1)
        >>> monomials(1, 2).product(line, np.array([1.0, 1.0]), line, np.array([-1.0, 1.0]))  # (1 + x) (x - 1)
        array([-1.,  0.,  1.])
        """
        total = np.zeros(len(self))
        np.add.at(total, self.products(left, right), np.outer(a, b))
        return total

    @cached_property
    def lowered(self) -> list[tuple[Int1D, Int1D, Float1D]]:
        """For every column j: the monomials with ``a_j > 0``, the places of ``z^(a - e_j)``, and ``a_j``."""
        return [self.divided(j, 1) for j in range(self.n_columns)]

    @cached_property
    def derivatives(self) -> tuple[Int2D, Float2D]:
        """For every monomial and column j: the place of ``z^(a - e_j)``, and ``a_j``; 0 and 0 where ``a_j`` is 0."""
        places = np.zeros(self.exponents.shape, dtype=np.int64)
        for j, (rows, lower, _) in enumerate(self.lowered):
            places[rows, j] = lower
        return places, self.exponents.astype(np.float64)

    def divided(self, j: int, power: int) -> tuple[Int1D, Int1D, Float1D]:
        """The monomials with ``a_j >= power``, the places of ``z^(a - power e_j)``, and ``a_j``."""
        if (j, power) not in self._divided:
            rows = np.flatnonzero(self.exponents[:, j] >= power)
            lower = self.exponents[rows]
            lower[:, j] -= power
            self._divided[j, power] = rows, self.places(lower), self.exponents[rows, j].astype(np.float64)
        return self._divided[j, power]

    def derivative(self, coef: Float1D, j: int) -> Float1D:
        """Coefficients of the derivative with respect to column j.

        Examples
        --------
        >>> monomials(1, 2).derivative(np.array([1.0, 2.0, 5.0]), 0)
        array([ 2., 10.,  0.])
        """
        rows, places, power = self.lowered[j]
        slope = np.zeros(len(self))
        slope[places] = power * coef[rows]
        return slope

    def gradient(self, coef: Float1D) -> Float2D:
        """Coefficients of the derivatives with respect to every column, in the monomials of lower degree.

        Examples
        --------
        >>> monomials(2, 2).gradient(np.array([1.0, 0.0, 0.0, 5.0, 3.0, 0.0]))  # 1 + 5 x^2 + 3 x y
        array([[ 0., 10.,  3.],
               [ 0.,  3.,  0.]])
        """
        return np.array([self.derivative(coef, j)[self.total < self.degree] for j in range(self.n_columns)])

    def hessian(self, coef: Float1D) -> Float2D:
        """Coefficients of the second derivatives, a row for each pair of columns ``j <= k``."""
        slopes, n, lower = [self.derivative(coef, j) for j in range(self.n_columns)], self.n_columns, self.total
        curves = [self.derivative(slopes[j], k)[lower < self.degree - 1] for j in range(n) for k in range(j, n)]
        return np.array(curves)

    def values(self, Z: Float2D) -> Float2D:
        """The monomials on the rows of ``Z``, one monomial per row of the result."""
        table = np.empty((len(self), len(Z)))
        table[0] = 1.0
        columns = np.ascontiguousarray(Z.T)
        for k in range(1, len(self)):
            np.multiply(table[self.program.left[k]], columns[self.program.right[k]], out=table[k])
        return table


@lru_cache(maxsize=128)
def monomials(n_columns: int, degree: int) -> Monomials:
    """The monomials of ``n_columns`` variables up to a degree.

    Examples
    --------
    >>> len(monomials(3, 2))
    10
    """
    return Monomials(n_columns, degree)


def binomial_matrix(terms: Monomials, centre: Float1D, scale: Float1D) -> Float2D:
    """The monomials of ``centre + scale * z`` as combinations of those of ``z``, one per column.

    ``(c_j + s_j z_j)^k = sum_i C(k, i) c_j^(k-i) s_j^i z_j^i``, multiplied over the columns.

    Examples
    --------
    >>> binomial_matrix(monomials(1, 2), np.array([3.0]), np.array([1.0]))
    array([[1., 3., 9.],
           [0., 1., 6.],
           [0., 0., 1.]])
    """
    degree = terms.degree
    powers = np.arange(degree + 1)
    choose = np.array([[comb(int(k), int(i)) for k in powers] for i in powers], dtype=np.float64)
    gap = np.maximum(powers[None, :] - powers[:, None], 0)
    total = np.ones((len(terms), len(terms)))
    for j in range(terms.n_columns):
        table = choose * centre[j] ** gap * scale[j] ** powers[:, None]  # row i, column k
        a = terms.exponents[:, j]
        total *= table[np.ix_(a, a)]
    return total
