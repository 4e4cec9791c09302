"""Laws of integers and fractions without noise, found modulo a prime and proven in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, gcd, inf, lcm, prod
from typing import Any, TypeAlias

import numpy as np

from ..._typing import Array, Bool1D, Float2D, Int1D, Int2D
from ...checks import check_count
from ...polynomials.terms import Term, exponents_of
from ...polynomials.text import monomial_text
from .modular import combine, null_space, primes, rational, reduced_echelon, residues

__all__ = [
    "SPARE_ROWS",
    "ExactLaw",
    "ExactLaws",
    "binary_denominator",
    "exact_laws",
    "few_points",
    "groebner",
    "rescaled",
]

#: Exponents of the terms, shape ``(n_terms, n_columns)``, and their integer coefficients.
ExactLaw: TypeAlias = tuple[Int2D, list[int]]

SPARE_ROWS = 5  # a law must hold on at least this many distinct rows beyond those that determine it
_SHUFFLES = 24  # random orders of the terms in which sparse laws are looked for


class ExactLaws(list[ExactLaw]):
    """Laws in exact arithmetic, by degree.

    Attributes
    ----------
    why : str
        Why there are no more of them: what was looked at, and what stopped the search.
    """

    why = ""

    def __repr__(self) -> str:
        return super().__repr__() if self else f"[]  # {self.why}"

    def __str__(self) -> str:
        return "\n".join(map(_equation, self)) or repr(self)


def _equation(law: ExactLaw) -> str:
    """A law in ``x0``, ``x1``, ..., with integer coefficients of any size."""
    exponents, coefficients = law
    names, text = tuple(f"x{j}" for j in range(exponents.shape[1])), ""
    for row, c in zip(exponents, coefficients, strict=True):
        term = monomial_text(row, names)
        size = term if abs(c) == 1 and term else "*".join(filter(None, (str(abs(c)), term)))
        text += f" {'-' if c < 0 else '+'} {size}"
    return f"{text.removeprefix(' + ')} = 0"  # the leading coefficient is positive


def few_points(n_points: int, degree: int) -> str:
    """A sentence about points that are too few for laws of a degree.

    Examples
    --------
    >>> few_points(8, 2)
    '8 points are too few to tell laws of degree 2 from interpolation: ABM(psi=0) gives the ideal of the points.'
    """
    count = "1 point is" if n_points == 1 else f"{n_points:,} points are"
    too_few = f"{count} too few to tell laws of degree {degree} from interpolation"
    return f"{too_few}: ABM(psi=0) gives the ideal of the points."


def exact_laws(rows: Any, max_degree: int, max_terms: int = 500, max_bits: float = inf) -> ExactLaws:
    """All polynomial laws of integer or rational rows up to a degree, as sparse minimal generators with proof.

    Let ``N_d`` be the polynomials of degree at most ``d`` that vanish on every row, and ``M_d = N_(d-1) + sum_j x_j
    N_(d-1)`` the part that follows from lower degrees without exceeding ``d``. The laws of degree ``d`` are a basis of
    ``N_d / M_d``, each written with as few terms as a search over orders of the terms finds, coefficients coprime.

    Parameters
    ----------
    rows : array, shape (n_rows, n_columns)
        Integers of any size, or fractions (dtype object); floating-point numbers are refused.
    max_degree : int
    max_terms : int, default=500
        Degrees with more candidate terms than this are left out.
    max_bits : float, default=inf
        Laws whose coefficients take more bits than this are left out: the rows cannot save as many.

    Returns
    -------
    ExactLaws
        A list of (exponents, coefficients), by degree; leading term first, with a positive coefficient. Degrees at
        which fewer than five distinct rows are left to confirm a law are not looked at: enough terms fit any rows. Its
        attribute ``why`` says what ended the search; an empty list prints it.

    Notes
    -----
    *Each law is proven.* ``N_d`` is computed on some of the rows modulo a prime, and lifted to the integers with more
    primes. Each law ``g`` is then checked on all rows: ``|g(x)| <= B = sum_a |c_a| max |x^a|``, and a number that is
    divisible by primes with a product above ``B`` is zero or larger than ``B``. So ``g(x) = 0`` modulo enough primes is
    ``g(x) = 0``. Rows where that fails join the rows of the computation.

    *The list is complete* up to the last degree looked at. Fewer rows and arithmetic modulo a prime can only enlarge
    the null space, so its dimension is a bound from above for ``N_d``; the proven laws and their multiples reach it.

    The elimination is that of Buchberger and Möller (1982), modulo primes as in Abbott, Bigatti, Kreuzer and Robbiano
    (2000).

    Examples
    --------
    The sums 1 + 2 + ... + y:

    >>> rows = [[y * (y + 1) // 2, y] for y in range(20)]
    >>> laws = exact_laws(rows, max_degree=3)
    >>> laws
    [(array([[0, 2],
           [1, 0],
           [0, 1]]), [1, -2, 1])]
    >>> print(laws)
    x1^2 - 2*x0 + x1 = 0
    """
    check_count("max_degree", max_degree)
    check_count("max_terms", max_terms)
    points, denominators = _points_of(rows)
    for prime in primes():
        try:
            laws = _laws_modulo(points, max_degree, max_terms, max_bits, prime)
        except _UnluckyPrimeError:
            continue
        laws[:] = [(exponents, rescaled(exponents, c, denominators)) for exponents, c in laws]
        return laws
    raise AssertionError("all primes divide a minor of the monomial matrix")


def rescaled(exponents: Int2D, coefficients: Sequence[int], denominators: Sequence[int]) -> list[int]:
    """Coprime coefficients of a polynomial in ``x``, from those of the same one in the integers ``denominators * x``.

    Examples
    --------
    >>> rescaled(np.array([[2], [0]]), [1, -9], [6])  # 36 x^2 = 9
    [4, -1]
    """
    units = [prod(q**e for q, e in zip(denominators, row, strict=True)) for row in exponents.tolist()]
    scaled = [c * unit for c, unit in zip(coefficients, units, strict=True)]
    divisor = gcd(*scaled)
    return [c // divisor for c in scaled]


def groebner(laws: Sequence[tuple[Int2D, Sequence[Any]]], names: Sequence[str], order: str = "grevlex") -> list[Any]:
    """Reduced Groebner basis of the ideal of the laws, as SymPy expressions. Needs ``pip install 'vanishing[sympy]'``.

    Parameters
    ----------
    laws : list of (exponents, coefficients)
        From `exact_laws`, or with other rational coefficients.
    names : sequence of str
        Names of the columns.
    order : {"grevlex", "grlex", "lex"}, default="grevlex"
        The order of the terms, as SymPy names it; the columns come in descending order.

    Examples
    --------
    >>> rows = [[t, t**2, t**3] for t in range(-10, 10)]
    >>> groebner(exact_laws(rows, 2), ["x", "y", "z"], "lex")
    [x**2 - y, x*y - z, x*z - y**2, y**3 - z**2]
    """
    try:
        import sympy
    except ImportError as error:
        raise ImportError("groebner needs SymPy: pip install 'vanishing[sympy]'.") from error
    if not laws:
        return []
    symbols = [sympy.Symbol(name) for name in names]
    polynomials = [
        sympy.Poly(dict(zip(map(tuple, exponents.tolist()), coefficients, strict=True)), symbols, domain="QQ")
        for exponents, coefficients in laws
    ]
    basis = sympy.groebner(polynomials, *symbols, order=order)
    return [sympy.Poly(polynomial, symbols).clear_denoms()[1].as_expr() for polynomial in basis.exprs]


def binary_denominator(X: Float2D) -> int | None:
    """The smallest power of 2, up to 64, whose product with all numbers is an integer; None if there is none.

    Examples
    --------
    >>> binary_denominator(np.array([[0.75, 2.0]])), binary_denominator(np.array([[0.1]]))
    (4, None)
    """
    for denominator in (1, 2, 4, 8, 16, 32, 64):
        scaled = X * denominator
        if (np.abs(scaled) < 2.0**53).all() and np.array_equal(scaled, np.round(scaled)):
            return denominator
    return None


@dataclass(frozen=True)
class _Points:
    """Rows of integers of any size."""

    X: Array

    def at(self, rows: Int1D) -> _Points:
        return _Points(self.X[rows])

    def values(self, terms: Sequence[Term], prime: int) -> Int2D:
        """All terms on all rows modulo a prime."""
        X = residues(self.X, prime)
        columns: dict[Term, Int1D] = {(): np.ones(len(X), dtype=np.int64)}
        return np.column_stack([_product(columns, term, X, prime) for term in terms])

    def violating(self, terms: Sequence[Term], coefficients: Sequence[int]) -> Bool1D:
        """Rows on which the polynomial is not zero: decided modulo primes whose product exceeds its bound."""
        largest = [max(abs(int(column.min())), abs(int(column.max()))) for column in self.X.T]
        sizes = [prod(largest[j] for j in term) for term in terms]
        bound, product = sum(abs(c) * size for c, size in zip(coefficients, sizes, strict=True)), 1
        violating = np.zeros(len(self.X), dtype=bool)
        for prime in primes():
            scaled = self.values(terms, prime) * np.array([c % prime for c in coefficients], dtype=np.int64) % prime
            violating |= scaled.sum(axis=1) % prime != 0
            product *= prime
            if product > bound:
                return violating
        raise AssertionError("the product of all primes below 2^31 is smaller than a value")

    def distinct(self) -> Int1D:
        """Positions of distinct rows, in random order; compared by 62 bits of a random linear function."""
        random = np.random.default_rng(0)
        keys = np.zeros(len(self.X), dtype=np.int64)
        for _, prime in zip(range(2), primes(), strict=False):
            key = np.zeros_like(keys)
            for column in self.X.T:
                key = (key + residues(column, prime) * random.integers(1, prime)) % prime
            keys = (keys << 31) | key
        return random.permutation(np.unique(keys, return_index=True)[1])


def _product(columns: dict[Term, Int1D], term: Term, X: Int2D, prime: int) -> Int1D:
    """Values of a term modulo a prime, from those of its divisors, which are kept in ``columns``."""
    if term not in columns:
        columns[term] = _product(columns, term[:-1], X, prime) * X[:, term[-1]] % prime
    return columns[term]


class _UnluckyPrimeError(Exception):
    """The prime divides a minor: the null space modulo the prime is larger than the one over the rationals."""


def _points_of(rows: Any) -> tuple[_Points, list[int]]:
    """Rows as integers over a denominator for each column."""
    table = np.asarray(rows)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"rows must have the shape (n_rows, n_columns), at least (1, 1); got {table.shape}.")
    if table.dtype.kind in "bi" or (table.dtype.kind == "u" and table.max() < 2**63):
        return _Points(table.astype(np.int64)), [1] * table.shape[1]
    try:
        if table.dtype.kind not in "uO" or any(isinstance(value, float) for value in table.flat):
            raise TypeError
        fractions = [[Fraction(value) for value in column] for column in table.T.tolist()]
    except (TypeError, ValueError):
        raise ValueError(
            f"Exact laws need integers or fractions, got {table.dtype}: convert the rows with fractions.Fraction."
        ) from None
    denominators = [lcm(*(value.denominator for value in column)) for column in fractions]
    scaled = [[int(q * value) for value in column] for q, column in zip(denominators, fractions, strict=True)]
    return _Points(np.array(scaled, dtype=object).T), denominators


def _laws_modulo(points: _Points, max_degree: int, max_terms: int, max_bits: float, prime: int) -> ExactLaws:
    """Laws with a null space from one prime; raises `_UnluckyPrimeError` when it does not lift."""
    n_columns = points.X.shape[1]
    distinct = points.distinct()
    laws = ExactLaws()
    kernel = np.zeros((0, 1), dtype=np.int64)
    terms: list[Term] = [()]
    for degree in range(1, max_degree + 1):
        n_terms = comb(n_columns + degree, degree)
        if n_terms > max_terms:
            laws.why = f"Degree {degree} has {n_terms:,} terms, more than max_terms={max_terms}."
            return laws
        lower, terms = terms, terms + list(combinations_with_replacement(range(n_columns), degree))
        multiples, _ = reduced_echelon(_multiples(kernel, lower, terms, n_columns), prime)
        sample = distinct[: 2 * len(terms) + 50]
        while True:
            here = points.at(sample)
            R, pivots = reduced_echelon(here.values(terms, prime), prime)
            if len(pivots) > len(distinct) - SPARE_ROWS:
                laws.why = few_points(len(distinct), degree)
                return laws
            kernel = null_space(R, pivots, prime)
            supports = _sparse_supports(R, multiples, len(kernel) - len(multiples), terms, prime)
            found = [[terms[k] for k in support] for support in supports]
            lifted = [_lifted(here, own, max_bits) for own in found]
            new = [(own, coefficients) for own, coefficients in zip(found, lifted, strict=True) if coefficients]
            wrong = np.zeros(len(points.X), dtype=bool)
            for law in new:
                wrong |= points.violating(*law)
            for own, coefficients in zip(found, lifted, strict=True):
                if not coefficients:  # too long to be lifted, but its multiples are left out at the next degree
                    wrong[_missed(points, distinct, here, own, prime)] = True
            if not wrong.any():
                break
            sample = np.concatenate([sample, np.flatnonzero(wrong)[: len(terms)]])
        laws += [_sorted(*law, n_columns) for law in new]
    laws.why = f"All degrees up to {max_degree} were looked at."
    return laws


def _missed(points: _Points, distinct: Int1D, here: _Points, terms: list[Term], prime: int) -> Int1D:
    """The distinct rows that do not satisfy a relation of terms, which holds on the points ``here``, modulo a prime."""
    relation = null_space(*reduced_echelon(here.values(terms, prime), prime), prime)[0]
    total = np.zeros(len(distinct), dtype=np.int64)
    for coefficient, values in zip(relation, points.at(distinct).values(terms, prime).T, strict=True):
        total = (total + coefficient * values) % prime
    missed: Int1D = distinct[total != 0]
    return missed


def _multiples(kernel: Int2D, lower: list[Term], terms: list[Term], n_columns: int) -> Int2D:
    """Polynomials of the lower degree, and those times each variable, as rows over the present terms."""
    position = {term: k for k, term in enumerate(terms)}
    spread = np.zeros(((n_columns + 1) * len(kernel), len(terms)), dtype=np.int64)
    spread[: len(kernel), : len(lower)] = kernel
    for variable in range(n_columns):
        moved = [position[tuple(sorted((*term, variable)))] for term in lower]
        spread[(variable + 1) * len(kernel) : (variable + 2) * len(kernel), moved] = kernel
    return spread


def _sparse_supports(R: Int2D, multiples: Int2D, n_wanted: int, terms: list[Term], prime: int) -> list[Int1D]:
    """Supports of ``n_wanted`` laws that are independent modulo the multiples, those with the fewest terms first.

    For each order of the terms, the reduced echelon form writes every dependent term by the independent ones that come
    first: these are laws of minimal support. Taking the shortest of all orders that is independent of those before it
    is the greedy algorithm, which is optimal among the laws seen.
    """
    if n_wanted == 0:
        return []
    seen: dict[bytes, Int1D] = {}
    for order in _orders(terms):
        E, pivots = reduced_echelon(R[:, order], prime)
        basis = null_space(E, pivots, prime)
        vectors = np.zeros_like(basis)
        vectors[:, order] = basis
        for vector in vectors:
            seen.setdefault(np.flatnonzero(vector).tobytes(), vector)
    degrees = np.array([len(term) for term in terms])
    vectors = np.array(list(seen.values()))
    size = [(int((v != 0).sum()), int(degrees[v != 0].sum()), tuple(np.flatnonzero(v))) for v in vectors]
    chosen: list[Int1D] = []
    span = _Span(multiples, prime)
    for k in sorted(range(len(vectors)), key=size.__getitem__):
        if span.add(vectors[k]):
            chosen.append(np.flatnonzero(vectors[k]))
            if len(chosen) == n_wanted:
                return chosen
    raise AssertionError("the null space is spanned by the laws of any one order")


class _Span:
    """A space of vectors modulo a prime that grows; its basis is reduced: each pivot column has a single 1."""

    def __init__(self, R: Int2D, prime: int):
        self.basis = R
        self.pivots = (R != 0).argmax(axis=1)
        self.prime = prime

    def add(self, vector: Int1D) -> bool:
        """Enlarge the space by a vector; False when the vector is in it already."""
        factors = vector[self.pivots]
        used = np.flatnonzero(factors)
        rest = (vector - (factors[used, None] * self.basis[used] % self.prime).sum(axis=0)) % self.prime
        if not rest.any():
            return False
        pivot = int((rest != 0).argmax())
        rest = rest * pow(int(rest[pivot]), -1, self.prime) % self.prime
        reduced = (self.basis - self.basis[:, pivot, None] * rest) % self.prime
        self.basis = np.vstack([reduced, rest])
        self.pivots = np.append(self.pivots, pivot)
        return True


def _orders(terms: list[Term]) -> Iterator[Int1D]:
    """Orders of the terms: by degree, by random weights of the variables, and at random."""
    exponents = exponents_of(terms, max((term[-1] for term in terms if term), default=0) + 1)
    degree = exponents.sum(axis=1)
    yield np.arange(len(terms))
    for variable in range(exponents.shape[1]):
        yield np.lexsort((exponents[:, variable], degree))
        yield np.lexsort((-exponents[:, variable], degree))
        yield np.lexsort((degree, exponents[:, variable]))
    random = np.random.default_rng(0)
    for _ in range(_SHUFFLES):
        yield np.argsort(exponents @ random.exponential(size=exponents.shape[1]))
        yield random.permutation(len(terms))


def _lifted(points: _Points, terms: list[Term], max_bits: float) -> list[int]:
    """The integer relation of terms whose values on the points span a space of one dimension less.

    Empty if its coefficients take more than ``max_bits``. A ratio of two of them is unique below the square root of
    the modulus; a fraction that is found there is the ratio itself, or has fewer bits than the ratio.
    """
    lifted: list[int] | None = None
    modulus = 1
    for prime in primes():
        basis = null_space(*reduced_echelon(points.values(terms, prime), prime), prime)
        if len(basis) == 0:
            raise _UnluckyPrimeError
        if len(basis) > 1 or not basis.all():
            continue  # this prime is unlucky
        vector = [int(value) for value in basis[0]]
        lifted = [combine(a, modulus, b, prime) for a, b in zip(lifted or [0] * len(terms), vector, strict=True)]
        modulus *= prime
        ratios = [rational(value, modulus) for value in lifted]
        if sum(max(abs(r.numerator), r.denominator).bit_length() - 1 for r in ratios if r is not None) > max_bits:
            return []
        coefficients = _integers(ratios)
        if coefficients is not None and not points.violating(terms, coefficients).any():
            return coefficients
    raise AssertionError("the coefficients are bounded by Hadamard's inequality")


def _integers(fractions: Sequence[Fraction | None]) -> list[int] | None:
    """Coprime integers in the same ratio; None when a fraction is missing."""
    known = [value for value in fractions if value is not None]
    if len(known) < len(fractions):
        return None
    scale = lcm(*(value.denominator for value in known))
    integers = [int(value * scale) for value in known]
    divisor = gcd(*integers)
    return [value // divisor for value in integers]


def _sorted(terms: list[Term], coefficients: list[int], n_columns: int) -> ExactLaw:
    """Leading term first, in the order by degree and then by the first variables, with a positive coefficient."""
    order = sorted(range(len(terms)), key=lambda k: (-len(terms[k]), terms[k]))
    sign = 1 if coefficients[order[0]] > 0 else -1
    return exponents_of([terms[k] for k in order], n_columns), [sign * coefficients[k] for k in order]
