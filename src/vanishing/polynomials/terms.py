"""Terms: all up to a degree, their products, their orders, the border, and the program that evaluates them.

A monomial costs one multiplication: an earlier row of the table of values times a column of the data.

A term is the sorted tuple of its variables: ``x0^2 x2`` is ``(0, 0, 2)``, the constant is ``()``. Dividing by
a variable drops an entry, and both orders of this module are orders of tuples. Variables are numbered in the
order in which a fit visits them; ``feature_order`` of the estimators maps them to columns of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, combinations_with_replacement
from math import comb
from typing import Any, TypeAlias

import numpy as np

from .._compiled import compiled
from .._typing import Array, Float1D, Float2D, Int1D, Int2D
from ..rows.array_api import namespace_of

_ROWS_WITHOUT_KERNELS = 32  # rows up to which plain NumPy is as quick, and no kernel has to be compiled or loaded
MOST_TERMS = 5000  # terms whose Gram takes 200 MB: the default of max_terms, and the most sums of a database query

Term: TypeAlias = tuple[int, ...]


def terms_up_to(degree: int, n_features: int) -> list[Term]:
    """All terms up to a degree, degree by degree in DegLex.

    Examples
    --------
    >>> terms_up_to(2, 2)
    [(), (0,), (1,), (0, 0), (0, 1), (1, 1)]
    """
    terms: list[Term] = []
    for d in range(degree + 1):
        terms.extend(combinations_with_replacement(range(n_features), d))
    return terms


def count_terms(degree: int, n_features: int) -> int:
    """Number of terms up to a degree: ``binomial(n_features + degree, degree)``.

    Examples
    --------
    >>> count_terms(2, 2)
    6
    """
    return comb(n_features + degree, degree)


def multiply(*terms: Term) -> Term:
    """The product of terms.

    Examples
    --------
    >>> multiply((0, 2), (1,))
    (0, 1, 2)
    """
    return tuple(sorted(chain(*terms)))


def derivatives(terms: Sequence[Term]) -> list[tuple[Int1D, Float1D, Int1D]]:
    """For each variable the terms that contain it, its powers there, and the places of these terms divided by it.

    The terms must contain all quotients.

    Examples
    --------
    >>> derivatives([(), (0,), (0, 0)])
    [(array([1, 2]), array([1., 2.]), array([0, 1]))]
    """
    place = {term: k for k, term in enumerate(terms)}
    found = []
    for v in sorted({v for term in terms for v in term}):
        index = [k for k, term in enumerate(terms) if v in term]
        quotients = [place[_without_one(terms[k], v)] for k in index]
        found.append((np.array(index), np.array([float(terms[k].count(v)) for k in index]), np.array(quotients)))
    return found


def gram_of_gradients(terms: Sequence[Term], gram: Float2D) -> Float2D:
    """The Gram of the gradients of terms from their own: ``D_st = sum_j e_j(s) e_j(t) mean(s/x_j t/x_j)``.

    ``e_j(t)`` is the exponent of x_j in t.
    """
    total = np.zeros_like(gram)
    for index, powers, quotients in derivatives(terms):
        total[np.ix_(index, index)] += np.outer(powers, powers) * gram[np.ix_(quotients, quotients)]
    return total


def _without_one(term: Term, variable: int) -> Term:
    """The term divided by one of its variables."""
    place = term.index(variable)
    return term[:place] + term[place + 1 :]


@dataclass(frozen=True, eq=False)
class Program:
    """Terms, each as one multiplication: term k is term ``left[k]`` times column ``right[k]``.

    Term 0 is the constant; its entries are not used.

    Examples
    --------
    >>> program = Program.of([(), (0,), (0, 1)])
    >>> program.left, program.right
    (array([0, 0, 1]), array([0, 0, 1]))
    >>> program.terms
    [(), (0,), (0, 1)]
    """

    left: Int1D
    right: Int1D

    @classmethod
    def of(cls, terms: Sequence[Term], columns: Int1D | None = None) -> Program:
        """The program of ``terms``, which must contain each term without its last variable; v is ``columns[v]``."""
        row_of = dict(zip(terms, range(len(terms)), strict=True))
        left, right = np.zeros((2, len(terms)), dtype=np.int64)
        for row, term in enumerate(terms):
            if term:
                left[row], right[row] = row_of[term[:-1]], term[-1]
        return cls(left, right if columns is None else columns[right])

    @property
    def size(self) -> int:
        """Number of terms."""
        return int(self.left.size)

    @property
    def terms(self) -> list[Term]:
        """The terms, as tuples of columns of the data."""
        terms: list[Term] = [()] * min(self.size, 1)
        for parent, column in zip(self.left[1:].tolist(), self.right[1:].tolist(), strict=True):
            terms.append(multiply(terms[parent], (column,)))
        return terms

    @property
    def degrees(self) -> Int1D:
        """Degrees of the terms."""
        degrees = np.zeros(self.size, dtype=np.int64)
        for k in range(1, self.size):
            degrees[k] = degrees[self.left[k]] + 1
        return degrees

    def products(self, factors: Program) -> list[Term]:
        """The terms of ``factors``, whose ``left`` are terms of this program."""
        terms = self.terms
        pairs = zip(factors.left.tolist(), factors.right.tolist(), strict=True)
        return [multiply(terms[parent], (column,)) for parent, column in pairs]

    def __getitem__(self, rows: slice | Int1D) -> Program:
        return Program(self.left[rows], self.right[rows])


def padded_length(n_rows: int) -> int:
    """The length of a table that a program fills for ``n_rows`` rows: a multiple of 8 but not of 64.

    Columns whose addresses differ by a multiple of a large power of two compete for the same few cache lines.

    Examples
    --------
    >>> padded_length(1000), padded_length(1024)
    (1000, 1032)
    """
    length = -(-n_rows // 8) * 8
    return length + 8 if length % 64 == 0 else length


def _reversed(term: Term) -> Term:
    return term[::-1]


#: Sort keys for terms of one degree. ``deglex``: ``x0^2 < x0x1 < x0x2 < x1^2 < ...``, the paper's order;
#: ``degcolex``: ``x0^2 < x0x1 < x1^2 < x0x2 < ...``, the order in which the authors' code visits them.
ORDERS: dict[str, Callable[[Term], Term]] = {"deglex": tuple, "degcolex": _reversed}


def border(kept: Sequence[Term], order: str, limit: int) -> list[Term] | None:
    """Degree-d border of an order ideal whose terms of degree d-1 are ``kept`` (d >= 2).

    A term belongs to it if all its proper divisors are in the order ideal (Definition 2.5 of arXiv:2207.01236). An
    order ideal is closed under division, so it is enough to check the divisors of degree d-1. The terms are in
    ascending order; the border is None if it has more than ``limit`` terms.

    Examples
    --------
    >>> border([(0, 0), (0, 1), (1, 1)], "deglex", limit=10)
    [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)]
    >>> border([(0, 0), (1, 1)], "deglex", limit=10)
    [(0, 0, 0), (1, 1, 1)]
    """
    members = set(kept)
    variables = sorted(set().union(*kept))
    candidates: list[Term] = []
    for term in kept:
        for variable in variables:
            if variable < term[-1]:
                continue
            candidate = (*term, variable)
            if members.issuperset(combinations(candidate, len(term))):
                candidates.append(candidate)
        if len(candidates) > limit:
            return None
    return sorted(candidates, key=ORDERS[order])


def exponents_of(terms: Sequence[Term], n_features: int) -> Int2D:
    """Exponents of the terms, shape ``(n_terms, n_features)``.

    Examples
    --------
    >>> exponents_of([(), (0, 0, 2)], 3)
    array([[0, 0, 0],
           [2, 0, 1]])
    """
    exponents = np.zeros((len(terms), n_features), dtype=np.int64)
    for row, term in enumerate(terms):
        for variable in term:
            exponents[row, variable] += 1
    return exponents


# The values of terms on rows.


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


def evaluate_terms(X: Array, program: Program, table: Float2D) -> None:
    """Write the values of the terms on the rows of ``X`` into ``table``, ``(n_terms, >= n_rows)``."""
    n_rows = len(X)
    if n_rows > _ROWS_WITHOUT_KERNELS:
        fill_terms(X, program.left, program.right, np.empty(X.shape[::-1]), table)
        return
    table[0, :n_rows] = 1.0
    for k, (parent, factor) in enumerate(zip(program.left.tolist(), program.right.tolist(), strict=True)):
        if k:
            table[k, :n_rows] = table[parent, :n_rows] * X[:, factor]


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
    evaluate_terms(X, program, table)
    return table
