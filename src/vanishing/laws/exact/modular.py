"""Linear algebra modulo primes below 2^31, where a product of two residues fits into 64 bits, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import gcd, isqrt

import numpy as np

from ..._typing import Array, Int1D, Int2D

__all__ = ["combine", "null_space", "primes", "rational", "reduced_echelon", "residues"]


def primes() -> Iterator[int]:
    """The primes below 2^31, largest first.

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(primes(), 3))
    [2147483647, 2147483629, 2147483587]
    """
    return (number for number in range(2**31 - 1, 10**9, -2) if _is_prime(number))


@cache
def _is_prime(number: int) -> bool:
    """Whether no smaller odd number divides an odd number: a millisecond for primes below 2^31."""
    return all(number % divisor for divisor in range(3, isqrt(number) + 1, 2))


def residues(values: Array, prime: int) -> Int2D:
    """Integers of any size modulo a prime, between 0 and ``prime - 1``."""
    return (values % prime).astype(np.int64)


def reduced_echelon(A: Int2D, prime: int) -> tuple[Int2D, Int1D]:
    """Reduced row echelon form without its zero rows, and its pivot columns: the first ones that are independent.

    Parameters
    ----------
    A : array of int, shape (n_rows, n_columns)
        Residues modulo ``prime``.
    prime : int

    Returns
    -------
    R : array of int, shape (rank, n_columns)
    pivots : array of int, shape (rank,)

    Examples
    --------
    >>> R, pivots = reduced_echelon(np.array([[1, 2, 0], [2, 4, 1]]), 7)
    >>> R
    array([[1, 2, 0],
           [0, 0, 1]])
    >>> pivots
    array([0, 2])
    """
    R = A.copy()
    pivots: list[int] = []
    for column in range(R.shape[1]):
        rank = len(pivots)
        below = np.flatnonzero(R[rank:, column])
        if below.size == 0:
            continue
        row = rank + int(below[0])
        pivot = R[row] * pow(int(R[row, column]), -1, prime) % prime
        R[row] = R[rank]
        R[rank] = 0
        others = np.flatnonzero(R[:, column])
        R[others] = (R[others] - R[others, column, None] * pivot) % prime
        R[rank] = pivot
        pivots.append(column)
        if len(pivots) == R.shape[0]:
            break
    return R[: len(pivots)], np.array(pivots, dtype=np.int64)


def null_space(R: Int2D, pivots: Int1D, prime: int) -> Int2D:
    """Basis of ``{v : R v = 0}`` for a reduced echelon form, one row for each column without a pivot.

    Column ``t`` without a pivot is the combination ``R[:, t]`` of the pivot columns, so ``e_t - sum_i R[i, t]
    e_pivots[i]`` is in the null space.

    Examples
    --------
    >>> null_space(*reduced_echelon(np.array([[1, 2, 0], [2, 4, 1]]), 7), 7)
    array([[5, 1, 0]])
    """
    free = np.setdiff1d(np.arange(R.shape[1]), pivots)
    basis = np.zeros((len(free), R.shape[1]), dtype=np.int64)
    basis[np.arange(len(free)), free] = 1
    basis[:, pivots] = -R[:, free].T % prime
    return basis


def rational(residue: int, modulus: int) -> Fraction | None:
    """The fraction ``a/b`` in lowest terms with ``a = residue b`` modulo ``modulus`` and ``2 a^2, 2 b^2 <= modulus``.

    There is at most one; Euclid's algorithm finds it (Wang, Guy and Davenport 1982). None when there is none.

    Examples
    --------
    >>> rational(5 * pow(3, -1, 10007), 10007)
    Fraction(5, 3)
    """
    bound = isqrt(modulus // 2)
    upper, lower, before, now = modulus, residue % modulus, 0, 1
    while lower > bound:
        quotient = upper // lower
        upper, lower = lower, upper - quotient * lower
        before, now = now, before - quotient * now
    return Fraction(lower, now) if abs(now) <= bound and gcd(lower, now) == 1 else None


def combine(first: int, modulus: int, second: int, prime: int) -> int:
    """The number below ``modulus * prime`` with both residues (Chinese remainder theorem).

    Examples
    --------
    >>> combine(2, 5, 3, 7)
    17
    """
    return first + modulus * ((second - first) * pow(modulus, -1, prime) % prime)
