"""An equation on rows: values, slopes and first-order distances, in units that make columns comparable."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import log2
from typing import Any

import numpy as np

from ..._typing import Bool1D, Float1D, Float2D, Int1D, Int2D
from ...constants import ROUNDING

__all__ = [
    "HALF_OF_NORMAL",
    "LEFT_BY_ROUNDING",
    "MANY_ROWS",
    "MIDDLE",
    "PARALLEL",
    "REACH",
    "ROUNDED",
    "SEED",
    "SOME_ROWS",
    "Relation",
    "information",
    "middle_spread",
    "moved_onto",
    "predictable",
    "share_within",
]

SEED = 8_411_936_027_113  # all draws; large, so that no table was made with the same random numbers
ROUNDED = 1e-9  # share of a size that float64 may leave of zero on a row
REACH = 3.0  # deviations of its noise within which a row obeys a relation
LEFT_BY_ROUNDING = 1e-7  # deviations that float64 may leave in moments, and in relations fitted to them
MIDDLE = (0.16, 0.84)  # quantiles between which a normal column has its middle: two standard deviations
SOME_ROWS, MANY_ROWS = 200, 2000  # rows at which gradients and many equations are compared; rows of better ones
PARALLEL = 0.15  # singular value of unit gradients, in deviations, below which these count as dependent
HALF_OF_NORMAL = 0.6744897501960817  # standard normal deviations that half of all values are within
_NEWTON_STEPS = 6  # onto other relations
_NEIGHBOURS = 12  # rows beside a row whose mean distance predicts its own


def middle_spread(X: Float2D) -> Float1D:
    """Half of the range of the middle 68% of each column, but no more than its standard deviation.

    A normal column has its standard deviation; wild rows do not count. A column most of whose values are the same has
    its standard deviation, too.

    Examples
    --------
    >>> middle_spread(np.r_[np.arange(101.0), 1e9][:, None]).round(1)
    array([34.3])
    """
    low, high = np.quantile(X, MIDDLE, axis=0)
    half, whole = (high - low) / 2.0, X.std(axis=0)
    return np.asarray(np.where(half > 0.0, np.minimum(half, whole), whole))


class Relation:
    """The zero set of ``g(x) = sum_k coef_k prod_j (x_j - origin_j)^e_kj``, near the rows of a table.

    The first-order distance of a row is ``|g| / sqrt(sum_j (u_j dg/dx_j)^2)``, with ``u_j`` the robust deviation of
    column j, or the value itself where noise is a share of the values. It has no unit, and is comparable between
    equations of any form and degree.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The table.
    exponents : ndarray of shape (n_terms, n_columns)
    coef : ndarray of shape (n_terms,)
    origin : ndarray of shape (n_columns,)
    multiplicative : bool, default=False
        Whether noise is a share of each value.
    groups : ndarray of shape (n_rows,), optional
        Numbers of the rows' groups: ``g`` is then constant within each, not zero.

    Attributes
    ----------
    columns : list of int
        The columns that occur.
    Z : ndarray of shape (n_rows, len(columns))
        These columns from the origin, over their typical sizes.

    Examples
    --------
    >>> line = Relation(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.5]]), np.eye(2, dtype=int), [1.0, -1.0], [0.0, 0.0])
    >>> line.distance(line.Z).round(2)
    array([0.  , 0.  , 0.46])
    """

    def __init__(
        self,
        X: Float2D,
        exponents: Int2D,
        coef: Any,
        origin: Any,
        *,
        multiplicative: bool = False,
        groups: Any = None,
    ):
        exponents = np.asarray(exponents)
        self.columns = [int(j) for j in np.flatnonzero(exponents.any(axis=0))]
        self.exponents = exponents[:, self.columns]
        self.origin = np.asarray(origin, dtype=np.float64)[self.columns]
        Z = X[:, self.columns] - self.origin
        size = np.median(np.abs(Z), axis=0)
        self.size = np.where(size > 0.0, size, np.maximum(np.abs(Z).max(axis=0), 1e-300))
        self.Z = Z / self.size
        logs = np.log(self.size) @ self.exponents.T  # large powers may overflow: scale in logarithms
        coef = np.asarray(coef, dtype=np.float64)
        with np.errstate(divide="ignore"):
            logs = logs + np.log(np.abs(coef))
        self.coef = np.sign(coef) * np.exp(logs - logs.max())
        self.multiplicative = multiplicative
        spread = middle_spread(self.Z)
        self.spread = np.where(spread > 0.0, spread, 1.0)
        self.level: Any = 0.0
        self.shares: Any = 1.0  # deviation of multiplicative noise, as a share of each value
        if groups is not None:
            values, _ = self.values_and_slopes(self.Z)
            self.level = (np.bincount(groups, values) / np.bincount(groups))[groups]

    @property
    def degree(self) -> int:
        """Largest total degree of a term."""
        return int(self.exponents.sum(axis=1).max())

    def terms(self) -> set[tuple[tuple[int, int], ...]]:
        """The terms, each as pairs of a column and its exponent."""
        return {
            tuple((j, int(e)) for j, e in zip(self.columns, row, strict=True) if e) for row in self.exponents.tolist()
        }

    def at(self, rows: Bool1D | Int1D) -> Relation:
        """The same relation with some of the rows."""
        part = copy(self)
        part.Z = self.Z[rows]
        part.level = self.level if np.isscalar(self.level) else self.level[rows]
        return part

    def scaled(self, X: Float2D) -> Float2D:
        """Rows of the table in the coordinates of :attr:`Z`."""
        return np.asarray((X[:, self.columns] - self.origin) / self.size)

    def units(self, Z: Float2D) -> Float2D:
        """What a deviation is in each column of each row."""
        return np.abs(Z) * self.shares if self.multiplicative else np.broadcast_to(self.spread, Z.shape)

    def values_and_slopes(self, Z: Float2D) -> tuple[Float1D, Float2D]:
        """``g`` and its derivatives; values within the rounding of their terms are 0."""
        n_rows, n = Z.shape
        powers = [_powers(Z[:, j], int(self.exponents[:, j].max())) for j in range(n)]
        factors = np.array([powers[j][self.exponents[:, j]] for j in range(n)])  # columns, terms, rows
        terms = self.coef[:, None] * np.prod(factors, axis=0)
        values = terms.sum(axis=0)
        values[np.abs(values) <= ROUNDING * np.abs(terms).sum(axis=0)] = 0.0
        slopes = np.zeros((n_rows, n))
        for j in range(n):
            used = np.flatnonzero(self.exponents[:, j])
            others = np.prod(np.delete(factors[:, used], j, axis=0), axis=0)
            e = self.exponents[used, j]
            slopes[:, j] = ((self.coef[used] * e)[:, None] * others * powers[j][e - 1]).sum(axis=0)
        return values, slopes

    def signed_distance(self, Z: Float2D, level: Any = None) -> Float1D:
        """First-order distances with the sign of ``g``; ``level`` is the value of ``g`` on the relation."""
        with np.errstate(all="ignore"):
            values, slopes = self.values_and_slopes(Z)
            values = values - (self.level if level is None else level)
            steepness = np.sqrt(((slopes * self.units(Z)) ** 2).sum(axis=1))
            distance = np.where(values == 0.0, 0.0, values / np.maximum(steepness, 1e-300))
        return np.where(np.isfinite(distance), distance, np.inf)

    def distance(self, Z: Float2D, level: Any = None) -> Float1D:
        """First-order distances of rows in the coordinates of :attr:`Z`."""
        return np.abs(self.signed_distance(Z, level))

    def variance_of_rounding(self, steps: Float1D) -> float:
        """Variance of distances that the grids of the columns explain: ``step^2 / 12`` each, to first order."""
        _, slopes = self.values_and_slopes(self.Z)
        steepness = np.maximum(((slopes * self.units(self.Z)) ** 2).sum(axis=1), 1e-300)
        return float(np.mean(((slopes * steps / self.size) ** 2).sum(axis=1) / steepness) / 12.0)

    def noise_in_deviations(self) -> float:
        """Noise by the mean distance, in deviations of the columns: of their logarithms, for a share of the values."""
        scaled = copy(self)
        if self.multiplicative:
            scaled.shares = middle_spread(np.log(np.maximum(np.abs(self.Z), 1e-300)))
        return float(np.mean(scaled.distance(self.Z)) * np.sqrt(np.pi / 2.0))

    def tolerance(self, *, exact: bool = False) -> float:
        """The distance within which rows obey: three deviations, by the nearer half of them (four fifths if exact)."""
        distance = self.distance(self.Z)
        deviation = np.median(distance) / HALF_OF_NORMAL
        if exact:
            deviation = max(deviation, np.quantile(distance, 0.8) / 1.2816)
        return REACH * float(deviation) + LEFT_BY_ROUNDING

    def share(self, reach: float) -> float:
        """The share of rows within a distance."""
        return share_within(self.distance(self.Z), reach)


def _powers(column: Float1D, highest: int) -> Float2D:
    powers = np.ones((highest + 1, len(column)))
    for e in range(1, highest + 1):
        powers[e] = powers[e - 1] * column
    return powers


def moved_onto(relations: Sequence[Relation], X: Float2D) -> tuple[Float2D, list[Float1D]]:
    """Rows of a table moved onto all relations by Newton steps, and how far each relation is from them then.

    ``x <- x - U^2 J' (J U^2 J')^+ g`` with ``J`` the derivatives of the relations and ``U`` the deviations of the
    columns: the nearest way in these units, to first order.
    """
    rows = np.array(X)
    columns = sorted({j for relation in relations for j in relation.columns})
    place = {j: k for k, j in enumerate(columns)}
    units = middle_spread(X[:, columns])
    units = np.where(units > 0.0, units, 1.0)
    with np.errstate(all="ignore"):
        for _ in range(_NEWTON_STEPS):
            jacobian = np.zeros((len(rows), len(relations), len(columns)))
            values = np.zeros((len(rows), len(relations)))
            for k, relation in enumerate(relations):
                g, slopes = relation.values_and_slopes(relation.scaled(rows))
                at = [place[j] for j in relation.columns]
                jacobian[:, k, at] = slopes / relation.size * units[at]
                values[:, k] = g
            length = np.maximum(np.linalg.norm(jacobian, axis=2), 1e-300)
            jacobian, values = jacobian / length[:, :, None], values / length
            bad = ~(np.isfinite(jacobian).all(axis=(1, 2)) & np.isfinite(values).all(axis=1))
            jacobian[bad], values[bad] = 0.0, 0.0
            step = np.einsum("njk,nk->nj", np.linalg.pinv(jacobian, rcond=1e-6), values)
            rows[:, columns] -= units * step
        return rows, [relation.distance(relation.scaled(rows), 0.0) for relation in relations]


def predictable(distance: Float1D, explained: float = 0.0) -> float:
    """Share of the distances' variance that the mean of neighbouring rows predicts, ``E[r mean(r of neighbours)]``.

    What rounding explains does not count, and neither do three standard errors ``sqrt(2 / (n_rows n_neighbours))``.
    Neighbours are the rows before and after.

    Examples
    --------
    >>> place = np.linspace(0.0, 9.0, 500)
    >>> noise = np.random.default_rng(0).normal(size=500)
    >>> round(predictable(np.sin(place)), 1), predictable(noise)
    (0.9, 0.0)
    """
    residual = distance - distance.mean()
    variance = float(np.mean(residual**2))
    half = min(_NEIGHBOURS, len(residual) // 4) // 2
    if not (variance > 0.0 and half):
        return 0.0
    sums, place = np.cumsum(np.r_[0.0, residual]), np.arange(len(residual))
    first, last = np.maximum(place - half, 0), np.minimum(place + half + 1, len(residual))
    means = (sums[last] - sums[first] - residual) / np.maximum(last - first - 1, 1)
    chance = REACH / float(np.sqrt(len(residual) * half))
    return max((float(np.mean(residual * means)) - explained) / variance - chance, 0.0)


def share_within(distance: Float1D, reach: float) -> float:
    """The share of rows within a distance, by the estimate of Krichevsky and Trofimov, which is never 0."""
    return float(min(((distance <= reach).sum() + 0.5) / (len(distance) + 1.0), 1.0))


def information(p: float, q: float) -> float:
    """``KL(p || q)`` in bits, 0 where chance obeys as often."""
    if p <= q:
        return 0.0
    return p * log2(p / q) + ((1.0 - p) * log2((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)
