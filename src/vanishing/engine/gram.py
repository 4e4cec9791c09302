"""The passes of a fit: Gram matrices of polynomials, summed over chunks of rows.

With the basis O (l polynomials) and the candidates C (c polynomials) of a degree, the algorithms need
``G = [O|C]'[O|C] / m`` and nothing else. Its block ``O'O / m`` is known from lower degrees, so a pass sums
``C'[O|C]``. Where a float64 Gram cannot resolve ``psi``, a second kind of pass computes the triangular factor R
of ``[O|C] = sqrt(m) Q R`` instead, from QR factors merged over blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int2D
from ..constants import CACHE_ENTRIES, FEWEST_ROWS
from ..polynomials.terms import Program, Term, batched_terms, evaluate_terms, multiply
from ..rows.array_api import namespace_of, on_device_of, to_host
from ..rows.arrays import ArrayRows
from ..rows.protocol import Block, Cost, Reduction, Rows, merge, reduce_together, where
from . import cuda

_PANEL = 96  # candidates multiplied at a time; panels of C'C above the diagonal are skipped
BATCH = 8192  # rows of one of the small products of a device: fewer would not repay its fixed cost


def mean_of_parts(grams: Sequence[Float2D], weights: Sequence[float]) -> Float2D:
    """The Gram of all rows, from the Grams of their parts and the total weight of each part.

    Examples
    --------
    >>> import numpy as np
    >>> mean_of_parts([np.array([[1.0]]), np.array([[4.0]])], [2.0, 1.0])
    array([[2.]])
    """
    if len(grams) == 1:
        return grams[0]
    shares = np.asarray(weights) / np.sum(weights)
    total = shares[0] * grams[0]
    for share, gram in zip(shares[1:], grams[1:], strict=True):
        total += share * gram
    return np.asarray(total)


def mean_gram(rows: Rows, program: Program, n_basis: int) -> Float2D:
    """Mean over the rows of ``C[O|C]'``, shape ``(n_candidates, n_terms)``.

    The first ``n_basis`` terms are O, the others C. Entries of ``C C'`` above the diagonal are not meaningful.
    """
    (total,) = sum_parts([rows], program, n_basis)
    return np.asarray(total.products / total.total_weight)


class RowSums(NamedTuple):
    """Sums over rows: of the products of terms, of the weights, and of the rows; and the range of the columns.

    ``products`` is the sum of ``w * C[O|C]'``, shape ``(n_candidates, n_terms)``; ``range`` is ``(2, n_features)``, or
    ``(2, 0)`` after a pass that did not look for it, as only the first one of a fit does.
    """

    products: Float2D
    total_weight: float
    n_samples: int
    range: Float2D = np.empty((2, 0))


def sum_parts(
    parts: Sequence[Rows], program: Program, n_basis: int = 1, *, ranged: bool = False, raw: Sequence[Rows] = ()
) -> list[Any]:
    """The sums over the rows of each part, None for a part without rows; parts of the same source share the pass.

    With ``ranged``, they include the range of the columns. After them follow the ranges of the columns of the parts
    ``raw``, for which the pass sums nothing.
    """
    kernel = partial(sum_block, program=program, n_basis=n_basis, ranged=ranged)
    n_candidates = program.size - n_basis + ranged  # the range of the columns costs about as much as one more
    cost = Cost(n_candidates * program.size, 2 * program.size)
    sums = [Reduction(rows, kernel, add_sums, cost) for rows in parts]
    return _reduce([*sums, *(Reduction(rows, _range_block, _wider, cost) for rows in raw)])


def _reduce(requests: Sequence[Reduction]) -> list[Any]:
    """The results of reductions, which up to 1,024 rows enter as one block, however a source divides them."""
    if isinstance(requests[0].rows, ArrayRows):  # all are; few rows of an array are one block anyway
        return [rows.reduce(kernel, combine, cost) for rows, kernel, combine, cost in requests]
    kernels = [request.kernel for request in requests]
    found = reduce_together(
        [r._replace(kernel=_RowsOrResult(r.kernel), combine=_RowsOrResults(r.kernel, r.combine)) for r in requests]
    )
    return [kernel(own) if isinstance(own, Block) else own for kernel, own in zip(kernels, found, strict=True)]


@dataclass(frozen=True)
class _RowsOrResult:
    """A kernel that puts off its work on few rows: it returns a copy of them instead of their result."""

    kernel: Callable[[Block], Any]

    def __call__(self, block: Block) -> Any:
        if not isinstance(block.X, np.ndarray) or len(block.X) > FEWEST_ROWS:
            return self.kernel(block)
        return Block(block.X.copy(), None if block.weights is None else block.weights.copy())


@dataclass(frozen=True)
class _RowsOrResults:
    """Combines results and few rows, which stay rows as long as they are few."""

    kernel: Callable[[Block], Any]
    combine: Callable[[Any, Any], Any]

    def __call__(self, a: Any, b: Any) -> Any:
        if isinstance(a, Block) and isinstance(b, Block) and len(a.X) + len(b.X) <= FEWEST_ROWS:
            weights = None if a.weights is None else np.concatenate([a.weights, b.weights])
            return Block(np.concatenate([a.X, b.X]), weights)
        results = [self.kernel(part) if isinstance(part, Block) else part for part in (a, b)]
        return merge(self.combine, *results)


def sum_block(block: Block, program: Program, n_basis: int = 1, *, ranged: bool = False) -> RowSums:
    """The sums over the rows of a block that count; with ``ranged``, also the range of its columns."""
    n_samples, block = rows_that_count(block)
    if n_samples == 0:
        nothing = np.zeros((program.size - n_basis, program.size))
        return RowSums(nothing, 0.0, 0, np.outer([np.inf, -np.inf], np.ones(block.X.shape[1] if ranged else 0)))
    X, weights = block.X, block.weights
    on_gpu = ranged and not isinstance(X, np.ndarray) and cuda.has_kernels(X)
    monomials = _distinct_products(tuple(program.terms), n_basis) if on_gpu else None
    if monomials is not None:  # one kernel finds both
        sums, ends = cuda.sum_monomials(X, weights, monomials.closed)
        products = np.asarray(sums[monomials.positions])
    else:
        products = sum_of_products(X, weights, program, n_basis)
        ends = range_of(X, weights) if ranged else np.empty((2, 0))
    return RowSums(products, weight_of(block), n_samples, ends)


def rows_that_count(block: Block) -> tuple[int, Block]:
    """The number of rows of a block that count in a sum, and these rows in an order that makes sums round alike.

    Rows of weight 0, labels and folds are left out. Where rows are fewer than terms, many polynomials vanish on them up
    to rounding, which then decides what is kept. So up to 1,024 rows are sorted, and equal ones become one row with the
    sum of their weights: a row of weight 2 and two equal rows give the same sums.

    Examples
    --------
    >>> import numpy as np
    >>> n, few = rows_that_count(Block(np.array([[2.0], [1.0], [3.0], [2.0]]), np.array([1.0, 1.0, 0.0, 1.0])))
    >>> n, few.X.T, few.weights
    (3, array([[1., 2.]]), array([1., 2.]))
    """
    X, weights = block.X, block.weights
    if weights is not None and not namespace_of(X).all(weights != 0.0):
        kept = where(Block(X, weights), weights != 0.0)
        X, weights = kept.X, kept.weights
    n_rows = int(X.shape[0])
    if isinstance(X, np.ndarray) and 1 < n_rows <= FEWEST_ROWS:
        X, weights = _sorted_and_merged(X, weights)
    return n_rows, block._replace(X=X, weights=weights, labels=None, folds=None)


def _sorted_and_merged(X: Float2D, weights: Float1D | None) -> tuple[Float2D, Float1D | None]:
    """The distinct rows in ascending order, and how much each of them weighs; None if all weigh 1."""
    order = np.argsort(X[:, 0])
    if (np.diff(X[order, 0]) > 0.0).all():  # the first column tells all rows apart
        return X[order], None if weights is None or (weights == 1.0).all() else weights[order]
    order = np.lexsort([*([] if weights is None else [weights]), *X.T[::-1]])
    X = X[order]
    first = np.ones(len(X), dtype=np.bool_)
    np.any(X[1:] != X[:-1], axis=1, out=first[1:])
    if weights is None and first.all():
        return X, None
    places = np.flatnonzero(first)
    total = np.add.reduceat(np.ones(len(X)) if weights is None else weights[order], places)
    return X[places], None if (total == 1.0).all() else total


def weight_of(block: Block) -> float:
    """Sum of the weights of a block, or the number of its rows without weights."""
    return float(block.X.shape[0] if block.weights is None else namespace_of(block.X).sum(block.weights))


def add_sums(a: RowSums, b: RowSums) -> RowSums:
    """The sums over the rows of both."""
    with np.errstate(invalid="ignore"):  # infinities raise an error later
        products = a.products + b.products
    return RowSums(products, a.total_weight + b.total_weight, a.n_samples + b.n_samples, _wider(a.range, b.range))


def _range_block(block: Block) -> Float2D | None:
    n_rows, block = rows_that_count(block)
    return range_of(block.X, block.weights) if n_rows else None


def _wider(a: Float2D, b: Float2D) -> Float2D:
    """The range of the rows of both, from the ranges ``(2, n_features)`` of two parts."""
    return np.stack([np.fmin(a[0], b[0]), np.fmax(a[1], b[1])])


def value_gram(rows: Rows, values: Callable[[Any], Any], n_basis: int, n_terms: int) -> Float2D:
    """As :func:`mean_gram`, for polynomials that ``values(X)`` evaluates, one per row.

    ``values`` may return several values for each row, such as derivatives by each column: the first of all rows, then
    the second of all rows, and so on.
    """
    work = (n_terms - n_basis) * n_terms

    def kernel(block: Block) -> RowSums:
        n_samples, block = rows_that_count(block)
        X, weights = block.X, block.weights
        total = np.zeros((n_terms - n_basis, n_terms))
        chunk = CACHE_ENTRIES // n_terms + 1 if isinstance(X, np.ndarray) else max(n_samples, 1)
        for start in range(0, X.shape[0], chunk):
            table = values(X[start : start + chunk, :])
            candidates = table[n_basis:, :]
            if weights is not None:
                n_values = table.shape[1] // X[start : start + chunk, :].shape[0]
                candidates = candidates * namespace_of(X).concat([weights[start : start + chunk]] * n_values)
            total += to_host(candidates @ table.T)
        return RowSums(total, weight_of(block), n_samples)

    (sums,) = _reduce([Reduction(rows, kernel, add_sums, Cost(work, 4 * n_terms))])
    return np.asarray(sums.products / sums.total_weight)


@np.errstate(over="ignore", invalid="ignore")  # callers check the sums
def sum_of_products(X: Any, weights: Any, program: Program, n_basis: int) -> Float2D:
    """Sum over the rows of w * C[O|C]', shape ``(n_candidates, n_terms)``; panels of C C' above the diagonal stay 0."""
    if not isinstance(X, np.ndarray):
        return _sum_on_device(X, weights, program, n_basis)
    chunk = max(CACHE_ENTRIES // program.size, FEWEST_ROWS)  # few rows stay together, however many terms there are
    table = np.empty((program.size, min(chunk, len(X))))
    total = np.zeros((program.size - n_basis, program.size))
    for start in range(0, len(X), chunk):
        rows = slice(start, start + chunk)
        terms = table[:, : len(X[rows])]
        evaluate_terms(X[rows], program, terms)
        candidates = terms[n_basis:] if weights is None else terms[n_basis:] * weights[rows]
        for first in range(0, len(total), _PANEL):
            panel = candidates[first : first + _PANEL]
            last = n_basis + first + len(panel)
            total[first : first + _PANEL, :last] += panel @ terms[:last].T
    return total


def _sum_on_device(X: Any, weights: Any, program: Program, n_basis: int) -> Float2D:
    """As :func:`sum_of_products`, on the device of ``X``."""
    monomials = _distinct_products(tuple(program.terms), n_basis) if cuda.has_kernels(X) else None
    if monomials is not None:
        sums, _ = cuda.sum_monomials(X, weights, monomials.closed)
        return np.asarray(sums[monomials.positions])
    grams = [_batched_gram(*batch, program, n_basis) for batch in _batches(X, weights)]
    return np.asarray(np.sum(grams, axis=0))


class _DistinctProducts(NamedTuple):
    """Distinct products of candidates and terms, closed; ``closed[positions[c, t]]`` is candidate c times term t."""

    closed: list[Term]
    positions: Int2D


@lru_cache(maxsize=64)
def _distinct_products(terms: tuple[Term, ...], n_basis: int) -> _DistinctProducts | None:
    """The products of candidates and terms; None if there are too many for a GPU kernel."""
    if len(terms) > 4 * cuda.MOST_MONOMIALS:
        return None
    products = [[multiply(u, t) for t in terms] for u in terms[n_basis:]]
    closed = cuda.closed([product for row in products for product in row])
    if len(closed) > cuda.MOST_MONOMIALS:
        return None
    place = {term: k for k, term in enumerate(closed)}
    return _DistinctProducts(closed, np.array([[place[product] for product in row] for row in products]))


def _batches(X: Any, weights: Any) -> list[tuple[Any, Any]]:
    """Rows of a device in batches of equal length ``(n_batches, length, n_features)``, and one shorter batch."""
    whole = X.shape[0] // BATCH * BATCH
    parts = [(slice(0, whole), BATCH), (slice(whole, X.shape[0]), X.shape[0] - whole)]
    namespace = namespace_of(X)
    return [
        (
            namespace.reshape(X[rows, :], (-1, length, X.shape[1])),
            None if weights is None else namespace.reshape(weights[rows], (-1, 1, length)),
        )
        for rows, length in parts
        if rows.stop > rows.start
    ]


def _batched_gram(X: Any, weights: Any, program: Program, n_basis: int) -> Float2D:
    """Sum over the rows of w * C[O|C]', from one small product per batch: a device computes many in parallel."""
    namespace = namespace_of(X)
    table = batched_terms(X, program)
    candidates = table[:, n_basis:, :] if weights is None else table[:, n_basis:, :] * weights
    products = namespace.matmul(candidates, namespace.permute_dims(table, (0, 2, 1)))
    return np.array(to_host(namespace.sum(products, axis=0)))


def range_of(X: Any, weights: Any) -> Float2D:
    """Smallest and largest value of every column, ``(2, n_features)``, for blocks on the host or a device."""
    if not isinstance(X, np.ndarray):
        return _device_range(X, weights)
    columns = (X if weights is None else X[weights != 0.0]).T
    return np.array([[each.min(initial=np.inf) for each in columns], [each.max(initial=-np.inf) for each in columns]])


def _device_range(X: Any, weights: Any) -> Float2D:
    namespace = namespace_of(X)
    low = high = X
    if weights is not None:
        used = (weights > 0.0)[:, None]
        low, high = (namespace.where(used, X, on_device_of(X, np.float64(end))) for end in (np.inf, -np.inf))
    ends = [namespace.min(low, axis=0), namespace.max(high, axis=0)]
    return np.array([to_host(end) for end in ends], dtype=np.float64)


def border_gram(gram: Float2D, new: Float2D) -> Float2D:
    """The symmetric Gram of [O|C], from the Gram of O and the rows of C, read up to the diagonal only."""
    n_basis, n_terms = gram.shape[0], new.shape[1]
    full = np.empty((n_terms, n_terms))
    full[:n_basis, :n_basis] = gram
    full[n_basis:] = new
    full[:n_basis, n_basis:] = new[:, :n_basis].T
    lower = np.tril(new[:, n_basis:])
    full[n_basis:, n_basis:] = lower + np.tril(lower, -1).T
    return full


def triangular_factor(rows: Rows, values: Callable[[Any], Any], n_terms: int) -> Float2D:
    """Triangular R such that ``R'R`` is the Gram of the polynomials, shape ``(n_terms, n_terms)``.

    R comes from QR factors of blocks; ``values(X)`` evaluates the polynomials, one per row. R resolves residuals
    whose squares, below 1e-16, are lost in the rounding of the Gram.
    """

    def kernel(block: Block) -> tuple[float, Float2D] | None:
        n_rows, block = rows_that_count(block)
        if n_rows == 0:
            return None
        namespace, table = namespace_of(block.X), values(block.X)
        table = table if block.weights is None else table * namespace.sqrt(block.weights)
        if isinstance(block.X, np.ndarray):
            return weight_of(block), _upper(table.T)
        return weight_of(block), to_host(namespace.linalg.qr(table.T, mode="reduced")[1])

    def combine(a: tuple[float, Float2D], b: tuple[float, Float2D]) -> tuple[float, Float2D]:
        return a[0] + b[0], _upper(np.vstack([a[1], b[1]]))

    cost = Cost(n_terms * n_terms, 4 * n_terms, fewest=max(FEWEST_ROWS, 4 * n_terms))
    ((weight, factor),) = _reduce([Reduction(rows, kernel, combine, cost)])
    square = np.zeros((n_terms, n_terms))
    square[: factor.shape[0]] = factor  # with fewer rows than terms, the rest of R is zero
    return np.asarray(square / np.sqrt(weight))


def _upper(matrix: Float2D) -> Float2D:
    return np.asarray(np.linalg.qr(matrix, mode="r"))
