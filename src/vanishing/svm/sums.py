"""What the SVM needs from the data: sums over rows of small matrices.

Rows carry a *signed* weight ``s``: its sign is the label y, its size the sample weight. With the margin's
shortfall ``xi = max(0, 1 - y (w'z + b))``, everything below is a sum over rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._compiled import compiled
from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..constants import CACHE_ENTRIES, CACHE_LINE
from ..engine.gram import BATCH
from ..rows.array_api import in_float64, namespace_of, on_device_of, to_host
from ..rows.arrays import ArrayRows, as_block, block_rows
from ..rows.protocol import Block, Cost, Rows
from ..rows.sampling import Lowest, lowest_of, lowest_of_both

_ROWS_OF_PART = 600  # rows of each label for each column, to start from: they know the Hessian to some 5%

T = TypeVar("T")


class Sums(NamedTuple):
    """For the negative and the positive rows: sums of |s| xi^2, of |s| xi, and of |s| xi z."""

    squares: Float1D
    shortfall: Float1D
    moments: Float2D

    @property
    def loss(self) -> float:
        """Sum of |s| xi^2 over all rows."""
        return float(self.squares[0] + self.squares[1])

    @property
    def slope(self) -> Float1D:
        """Gradient of the loss in (w, b)."""
        slope = np.empty(self.moments.shape[1] + 1)
        slope[:-1], slope[-1] = self.moments[0] - self.moments[1], self.shortfall[0] - self.shortfall[1]
        slope *= 2.0
        return slope


@compiled
def _add_sums(Z: Float2D, signed: Float1D, score: Float1D, total: Float2D) -> None:
    """Add the three sums to a row per label, ``(2, 2 + n_columns)``."""
    n_columns = Z.shape[1]
    for i in range(Z.shape[0]):
        s = signed[i]
        xi = 1.0 - (score[i] if s > 0.0 else -score[i])
        if xi > 0.0:
            row, shortfall = total[1 if s > 0.0 else 0], abs(s) * xi
            row[0] += shortfall * xi
            row[1] += shortfall
            for j in range(n_columns):
                row[2 + j] += shortfall * Z[i, j]


def _short_rows(signed: Float1D, score: Float1D) -> Bool1D:
    """The rows with xi > 0 and a weight."""
    return np.asarray(((score < 1.0) & (signed > 0.0)) | ((score > -1.0) & (signed < 0.0)))


@compiled
def _gather(Z: Float2D, signed: Float1D, index: Int1D, columns: Int1D, out: Float2D) -> None:
    """Copy ``sqrt|s| (z, 1)`` for some rows and columns."""
    for a in range(index.size):
        i = index[a]
        root = np.sqrt(abs(signed[i]))
        for k in range(columns.size):
            out[a, k] = root * Z[i, columns[k]]
        out[a, columns.size] = root


@compiled
def _add_products(Z: Float2D, columns: Int1D, weights: Float1D, out: Float1D) -> None:
    """Add ``sum_k Z[:, columns[k]] weights[k]``."""
    for i in range(Z.shape[0]):
        total = 0.0
        for k in range(columns.size):
            total += Z[i, columns[k]] * weights[k]
        out[i] += total


class SquaredHinge:
    """The squared hinge loss of a linear model over rows with signed weights.

    Parameters
    ----------
    rows : Rows
        Features, with ``y * sample_weight`` for weights.
    signs : ndarray of shape (n_columns,), optional
        The sign that the weight of each column may have, 1 or -1; 0 where it is free.
    """

    def __init__(self, rows: Rows, signs: Float1D | None = None):
        self.rows = rows
        self.n_columns = rows.n_features
        self.signs = np.zeros(self.n_columns + 1) if signs is None else np.append(signs, 0.0)  # the intercept is free
        self._known: tuple[Float1D, list[Lowest]] | None = None
        self._last: tuple[Float1D, Sums] | None = None
        self._scores = _RememberedScores(rows.n_samples) if type(rows) is ArrayRows else scores_of

    def _look(self) -> tuple[Float1D, list[Lowest]]:
        """Sums of ``|s| (z^2, 1)``, and a sample of the rows of either label, by one pass the first time."""
        if self._known is not None:
            return self._known
        most = _ROWS_OF_PART * (self.n_columns + 1)
        few = self.rows.n_samples is not None and self.rows.n_samples <= 2 * most
        labels = [] if few else [False, True]

        def kernel(Z: Any, signed: Any) -> tuple[Float1D, list[Lowest]]:
            weights, squares = abs(signed), np.zeros(Z.shape[1])
            chunk = CACHE_ENTRIES // Z.shape[1] + 1 if isinstance(Z, np.ndarray) else max(Z.shape[0], 1)
            with np.errstate(over="ignore", invalid="ignore"):
                for start in range(0, Z.shape[0], chunk):  # squares that stay in the cache
                    part = Z[start : start + chunk, :]
                    squares = squares + to_host(weights[start : start + chunk] @ (part * part))
            drawn = [_drawn(Z, signed, positive=sign, most=most) for sign in labels]
            return np.append(squares, float(namespace_of(Z).sum(weights))), drawn

        def combine(a: Any, b: Any) -> tuple[Float1D, list[Lowest]]:
            return a[0] + b[0], [lowest_of_both(x, y, most) for x, y in zip(a[1], b[1], strict=True)]

        squares, samples = self._reduce(kernel, combine, 2 * self.n_columns)
        self._known = _require_finite(squares), samples
        return self._known

    @property
    def diagonal(self) -> Float1D:
        """Diagonal of the Hessian with every row counted."""
        return 2.0 * self._look()[0]

    @property
    def total_weight(self) -> float:
        """Sum of |s|."""
        return float(self._look()[0][-1])

    def part(self) -> SquaredHinge | None:
        """The loss over some rows of either label in memory, weighted like all; None where that would be all rows.

        The part is handed out once, so that nothing holds its rows any longer.
        """
        squares, drawn = self._look()
        self._known = squares, []
        if all(own.limit == 1.0 for own in drawn):
            return None
        # Rows are drawn uniformly, so the limit of a label's numbers is the share of its rows that was drawn.
        signed = np.concatenate([own.signed / own.limit for own in drawn])
        rows = ArrayRows(np.concatenate([own.Z for own in drawn]), signed, n_jobs=1)
        rows.quiet = True
        return SquaredHinge(rows, self.signs[:-1])

    def sums(self, x: Float1D) -> Sums:
        """The sums at ``x = (w, b)``: loss, gradient and what a certificate needs, in one pass; known at the last x."""
        if self._last is not None and self._last[0] is x:
            return self._last[1]
        scores_at = self._scores

        def kernel(Z: Any, signed: Any) -> Float2D:
            score = scores_at(Z, x)
            if not isinstance(Z, np.ndarray):
                return _sum_on_device(Z, signed, score)
            total = np.zeros((2, 2 + Z.shape[1]))
            _add_sums(Z, signed, score, total)
            return total

        total = _require_finite(self._reduce(kernel, operator.add, 4 * self.n_columns))
        self._last = x, Sums(total[:, 0], total[:, 1], total[:, 2:])
        return self._last[1]

    def losses(self, x: Float1D, direction: Float1D, steps: Float1D) -> Float1D:
        """The loss at ``x + t * direction`` for several t, in one pass."""
        scores_at = self._scores

        def kernel(Z: Any, signed: Any) -> Float1D:
            score, change = scores_at(Z, x), scores_of(Z, direction)
            shortfalls = (_shortfall(signed, score + step * change) for step in steps.tolist())
            return np.array([float(namespace_of(Z).sum(abs(signed) * xi * xi)) for xi in shortfalls])

        return self._reduce(kernel, operator.add, 4 * self.n_columns)

    def hessian(self, x: Float1D, columns: Int1D, start: tuple[Float1D, Float2D] | None = None) -> Float2D:
        """Generalised Hessian of the loss in the chosen columns of w, and in b: ``2 sum of |s| (z, 1)(z, 1)'``, xi > 0.

        Shape ``(n_chosen + 1, n_chosen + 1)``, in one pass. Where it is known at another point, given with its Hessian
        as ``start``, for all columns or the last of them, only the rows count there that became short, or no longer
        are; all short rows count for the columns before these.
        """
        size = columns.size + 1
        n_new = size if start is None else size - start[1].shape[0]
        chunk, scores_at = min(max(CACHE_ENTRIES // size, 64), 2048), self._scores

        def kernel(Z: Any, signed: Any) -> Float2D:
            here, there = scores_at(Z, x), None if start is None else scores_at(Z, start[0])
            if not isinstance(Z, np.ndarray):
                return _hessian_on_device(Z, signed, here, there, columns, n_new)
            total = np.zeros((size, size))
            short = _short_rows(signed, here)
            before = np.zeros_like(short) if there is None else _short_rows(signed, there)
            known = total[n_new:, n_new:]
            for chosen, block, add in (
                (short, total[:n_new], np.add),
                (short & ~before, known, np.add),
                (before & ~short, known, np.subtract),
            ):
                index = np.flatnonzero(chosen) if block.size else np.empty(0, dtype=np.int64)
                used = columns[size - block.shape[1] :]
                for first in range(0, index.size, chunk):
                    part = index[first : first + chunk]
                    rows = np.empty((part.size, block.shape[1]))
                    _gather(Z, signed, part, used, rows)
                    add(block, rows[:, : block.shape[0]].T @ rows, out=block)
            total *= 2.0
            return total

        work = size * size // (1 if n_new else 8) + 4 * self.n_columns
        total: Float2D = self._reduce(kernel, operator.add, work)
        total[n_new:, :n_new] = total[:n_new, n_new:].T
        if start is not None:
            total[n_new:, n_new:] += start[1]
        return total

    def _reduce(self, kernel: Callable[[Any, Any], T], combine: Callable[[T, T], T], work: int) -> T:
        """Combine ``kernel(Z, signed weights)`` over blocks; ``work`` operations a row.

        Blocks are brought into C order, so that the order of an array in memory changes no bit of the result.
        """

        def contiguous(block: Block) -> T:
            Z = np.ascontiguousarray(block.X) if isinstance(block.X, np.ndarray) else in_float64(block.X)
            return kernel(Z, block.weights)

        cost, rows = Cost(2 * work, 3 * self.n_columns + 8, fewest=BATCH), self.rows
        if type(rows) is ArrayRows and (rows.n_samples <= BATCH or rows.n_samples <= block_rows(cost)):
            # All rows are one block, and there is no bar for a step.
            return contiguous(Block(as_block(rows.X), rows.sample_weight))
        return rows.reduce(contiguous, combine, cost)


def _drawn(Z: Any, signed: Any, *, positive: bool, most: int) -> Lowest:
    """Rows of one label in a block, drawn at random."""
    weights = to_host(signed)
    numbers = np.random.default_rng(weights.size).random(weights.size)
    return lowest_of(Z, signed, np.where(weights > 0.0 if positive else weights < 0.0, numbers, np.inf), 1.0, most)


def scores_of(Z: Any, x: Float1D) -> Any:
    """``w'z + b`` for every row, at x = (w, b); columns of no weight are not read where that spares cache lines."""
    used = np.flatnonzero(x[:-1])
    if isinstance(Z, np.ndarray) and used.size * CACHE_LINE < Z.shape[1]:
        scores = np.full(Z.shape[0], x[-1])
        _add_products(Z, used, x[used], scores)
        return scores
    return Z @ on_device_of(Z, np.ascontiguousarray(x[:-1])) + float(x[-1])


class _RememberedScores:
    """Scores of rows in memory: those at the last two points are remembered where all rows are one block."""

    def __init__(self, n_rows: int):
        self.n_rows = n_rows
        self._known: list[tuple[Float1D, Any]] = []

    def __call__(self, Z: Any, x: Float1D) -> Any:
        """``w'z + b`` for every row."""
        for point, scores in self._known:
            if point is x and Z.shape[0] == self.n_rows:
                return scores
        scores = scores_of(Z, x)
        if Z.shape[0] == self.n_rows:
            self._known = [(x, scores), *self._known[:1]]
        return scores


def _shortfall(signed: Any, score: Any) -> Any:
    """xi for every row."""
    namespace = namespace_of(score)
    return namespace.clip(1.0 - namespace.sign(signed) * score, 0.0, None)


# The same sums on a device, in the operations of the array API.


def _sum_on_device(Z: Any, signed: Any, score: Any) -> Float2D:
    namespace = namespace_of(Z)
    xi = _shortfall(signed, score)
    short = namespace.abs(signed) * xi
    rows = []
    for of_label in (signed < 0.0, signed > 0.0):
        chosen = namespace.where(of_label, short, namespace.zeros_like(short))
        rows.append(
            np.concatenate([[float(namespace.sum(chosen * xi)), float(namespace.sum(chosen))], to_host(chosen @ Z)])
        )
    return np.array(rows)


def _hessian_on_device(Z: Any, signed: Any, score: Any, before: Any, columns: Int1D, n_new: int) -> Float2D:
    namespace = namespace_of(Z)
    short = namespace.astype(_shortfall(signed, score) > 0.0, namespace.float64)
    chosen = namespace.take(Z, on_device_of(Z, columns), axis=1)
    ones = namespace.ones((Z.shape[0], 1), dtype=namespace.float64, device=Z.device)
    wide = namespace.concat([chosen, ones], axis=1)
    size, weight = columns.size + 1, namespace.abs(signed)
    total = np.zeros((size, size))
    if n_new:
        total[:n_new] = to_host((wide[:, :n_new] * (short * weight)[:, None]).T @ wide)
    if n_new < size:
        change = short - namespace.astype(_shortfall(signed, before) > 0.0, namespace.float64)
        known = wide[:, n_new:]
        total[n_new:, n_new:] = to_host((known * (change * weight)[:, None]).T @ known)
    return 2.0 * total


def _require_finite(total: Float2D) -> Float2D:
    if not np.isfinite(total).all():
        raise ValueError("Squares of values in X overflow; scale the columns first, for instance to [0, 1].")
    return total
