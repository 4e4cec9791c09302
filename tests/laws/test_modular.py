"""Linear algebra modulo primes, against SymPy and arithmetic with fractions."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from vanishing.laws.exact.modular import combine, null_space, primes, rational, reduced_echelon, residues

PRIME = next(primes())


def test_the_primes_are_those_of_sympy():
    sympy = pytest.importorskip("sympy", reason="SymPy is not installed")
    expected = [2**31]
    for _ in range(20):
        expected.append(sympy.prevprime(expected[-1]))
    assert list(islice(primes(), 20)) == expected[1:]


@pytest.mark.parametrize(("shape", "rank"), [((6, 4), 4), ((4, 6), 3), ((8, 8), 5), ((3, 5), 0)])
def test_reduced_echelon_form_and_null_space(shape, rank):
    random = np.random.default_rng(0)
    A = random.integers(0, 50, (shape[0], rank)) @ random.integers(0, 50, (rank, shape[1]))
    R, pivots = reduced_echelon(A, PRIME)
    assert R.shape == (rank, shape[1])
    np.testing.assert_array_equal(R[:, pivots], np.eye(rank))
    assert (np.diff(pivots) > 0).all()
    assert all(not R[i, :column].any() for i, column in enumerate(pivots))
    basis = null_space(R, pivots, PRIME)
    assert len(basis) == shape[1] - rank
    products = [[sum(int(a) * int(b) for a, b in zip(row, v, strict=True)) % PRIME for v in basis] for row in A]
    assert not np.array(products).any()


def test_residues_of_negative_and_long_integers():
    np.testing.assert_array_equal(residues(np.array([-1, PRIME, 5]), PRIME), [PRIME - 1, 0, 5])
    np.testing.assert_array_equal(residues(np.array([10**40, -(10**40)], dtype=object), PRIME).sum(), PRIME)


def test_fractions_come_back_from_their_residues():
    modulus = PRIME * 2147483629
    for value in (Fraction(0), Fraction(1), Fraction(-22, 7), Fraction(10**9 + 7, 999_999_937)):
        assert rational(value.numerator * pow(value.denominator, -1, modulus), modulus) == value
    assert rational(5, 12) is None  # 2/-2 has the residue 5 as well, but is not in lowest terms


def test_two_residues_determine_a_number():
    number = 123_456_789_012_345
    assert combine(number % PRIME, PRIME, number % 2147483629, 2147483629) == number
