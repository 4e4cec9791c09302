"""Short equations that at least half of the rows obey closely, whatever the other rows do.

No noise model is assumed. The only statistic is the half-sample scale: with ``d = g / |u grad g|`` the first-order
distance of a row, in deviations ``u`` of the columns, ``s = median |d| / 0.6745`` over all rows. It is a share of the
columns' deviations, so that equations of any form and degree can be compared. Candidates are power laws, whose
constant is the middle of the shortest half of ``a . log x``, and equations of three and four terms, through random
rows (Rousseeuw's least median of squares, 1984) and then by concentration steps. The shortest of those that are about
as narrow as the narrowest is the core; ``criteria`` decides whether it is a law.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, log2, sqrt

import numpy as np
from scipy.linalg import LinAlgError, eigh

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D, Int2D
from ..rows.relation import (
    HALF_OF_NORMAL,
    MANY_ROWS,
    MIDDLE,
    ROUNDED,
    SEED,
    SOME_ROWS,
    information,
    middle_spread,
)
from .least_medians import least_medians
from .short_equations import exponent_vectors, nearest_exponents, term_sets

__all__ = ["FEWEST_VALUES", "Core", "find_cores", "without_lumps", "without_term"]

FEWEST_VALUES = 6  # different values of a column, and rows: half of fewer are on an equation through three of them
_STARTS = 24  # equations through random rows, for every set of terms
_FINALISTS = 50  # equations of each kind that are compared again on more rows
_ABOUT_AS_NARROW = 1.25  # width over the smallest one, of equations among which the shortest is chosen
_LUMP = 0.4  # share of the searched rows that one value of a column may have: less than half of them
_LEAST_SIZE = 0.01  # smaller values, over the typical one of a column, count as this one in relative deviations


@dataclass(frozen=True, eq=False)
class Core:
    """A short equation and the rows that obey it.

    Attributes
    ----------
    exponents : ndarray of shape (n_terms, n_columns)
    coef : ndarray of shape (n_terms,)
        In the units of the columns.
    width : float
        Deviation of the rows that obey, in deviations of the columns.
    obeys : ndarray of bool, shape (n_rows,)
    within : float
        Relative error of the equation on the rows that obey: two of three are nearer.
    """

    exponents: Int2D
    coef: Float1D
    width: float
    obeys: Bool1D
    within: float

    @property
    def columns(self) -> list[int]:
        """The columns that occur."""
        return [int(j) for j in np.flatnonzero(self.exponents.any(axis=0))]


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Terms with coefficients in scaled columns; on some rows, the width, and sizes of the terms in deviations."""

    exponents: Int2D
    coef: Float1D
    width: float
    sizes: Float1D

    def bits(self, n_rows: int) -> float:
        """Bits to write it down: its terms among all of its columns up to its degree, and its coefficients.

        Half of the rows know the coefficient of a term to ``width / sqrt(n_rows / 2)`` over the size of the term. One
        coefficient is free.
        """
        n_columns, degree = int(self.exponents.any(axis=0).sum()), int(self.exponents.sum(axis=1).max())
        terms = log2(comb(comb(n_columns + degree, degree), len(self.coef)))
        error = (self.width + ROUNDED) / sqrt(n_rows / 2.0)
        numbers = 1.0 + np.log2(np.maximum(self.sizes / error, 1.0))
        return terms + float(numbers.sum() - numbers.max())

    @property
    def has_idle_term(self) -> bool:
        """Whether a term is smaller than the width."""
        return bool(self.sizes.min() <= self.width + ROUNDED)

    def score(self, n_rows: int) -> float:
        """Bits that the nearer half of the rows take, a row: ``log2 width``, and the share of writing it down."""
        return log2(self.width + ROUNDED) + 2.0 * self.bits(n_rows) / n_rows


def find_cores(
    X: Float2D,
    every: Float2D | None = None,
    *,
    widest: float = 0.03,
    needed: Sequence[int] = (),
    power_laws: bool = False,
) -> list[Core]:
    """The equations of a table that are about as narrow as the narrowest, the shortest first.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows to search in; no column is constant.
    every : ndarray of shape (n_all, n_columns), optional
        Rows that may obey, or not; ``X`` by default.
    widest : float, default=0.03
        Width of a core, at most, in deviations of the columns; twice as wide ones are compared.
    needed : sequence of int, optional
        Columns that have to occur.
    power_laws : bool, default=False
        Whether only power laws are candidates.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(1.0, 3.0, (200, 3))
    >>> X[:, 2] = X[:, 0] / X[:, 1] ** 2
    >>> X[:50, 2] = 7.0
    >>> core = find_cores(X)[0]
    >>> core.exponents.tolist(), int(core.obeys.sum())
    ([[1, 0, 0], [0, 2, 1]], 150)
    """
    search = _Search(X)
    if search.n_rows < FEWEST_VALUES:
        return []
    sums = () if power_laws else search.sums(4.0 * widest, needed)
    found = [search.concentrated(*each) for each in (*search.power_laws(2.0 * widest, needed), *sums)]
    found = [c for c in found if c.width <= 2.0 * widest and not c.has_idle_term]
    if not found:
        return []
    bits = np.array([search.bits_a_row(c, MANY_ROWS).max() for c in found])
    found = [c for c, own in zip(found, bits, strict=True) if 2.0 * own >= bits.max()]  # products with zeros say less
    limit = min(c.score(search.n_rows) for c in found) + log2(_ABOUT_AS_NARROW)
    close = [c for c in found if c.score(search.n_rows) <= limit]
    close.sort(key=lambda c: (c.bits(search.n_rows), c.width))
    return [search.described(c, X if every is None else every) for c in close]


def without_term(core: Core, term: int, X: Float2D, every: Float2D) -> Core | None:
    """The core with one term less, fitted again; None if nothing of it is left between columns."""
    left = np.delete(np.arange(len(core.coef)), term)
    exponents = core.exponents[left] - core.exponents[left].min(axis=0)
    search = _Search(X)
    if search.n_rows < FEWEST_VALUES or len(left) < 2 or exponents.any(axis=0).sum() < 2:
        return None
    coef = core.coef[left] * search.unit(exponents)
    return search.described(search.concentrated(exponents, coef / np.abs(coef).max()), every)


class _Search:
    """The rows of a search in random order, without repeated ones, and what a deviation is in each entry.

    That is a share of the value in columns that are nearly all positive: the robust deviation of their logarithms.
    """

    def __init__(self, X: Float2D):
        self.random = np.random.default_rng(SEED)
        self.X = self.random.permutation(np.unique(X, axis=0))  # repeated rows are no evidence
        self.n_rows = len(self.X)
        self.size = np.nanmedian(np.where(self.X == 0.0, np.nan, np.abs(self.X)), axis=0)
        self.positive = (self.X > 0.0).mean(axis=0) > 0.9
        self.spread = np.maximum(middle_spread(self.X / self.size), ROUNDED)
        logs = [column[np.isfinite(column)] for column in self.logs(self.X).T]
        self.log_spread = np.array([max(float(middle_spread(column[:, None])[0]), ROUNDED) for column in logs])
        self.many = self.scaled(self.X[:MANY_ROWS])

    def logs(self, X: Float2D) -> Float2D:
        """Logarithms of the scaled sizes of values; minus infinity for zeros."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.abs(X / self.size)))

    def scaled(self, X: Float2D) -> tuple[Float2D, Float2D]:
        """Rows over the typical sizes of the columns, and what a deviation is in each entry."""
        Z = X / self.size
        shares = np.maximum(np.abs(Z), _LEAST_SIZE) * self.log_spread
        return Z, np.where(self.positive, shares, self.spread)

    def unit(self, exponents: Int2D) -> Float1D:
        """The typical sizes of terms."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.prod(self.size**exponents, axis=1))

    def power_laws(self, widest: float, needed: Sequence[int]) -> Iterator[tuple[Int2D, Float1D]]:
        """The power laws of fewest deviations, by the shortest half of ``a . log x``."""
        logs = self.logs(self.X[:MANY_ROWS])
        vectors, finite = exponent_vectors(self.X.shape[1]), np.isfinite(logs).all(axis=1)
        vectors = np.vstack([vectors, nearest_exponents(logs[finite])]) if finite.any() else vectors
        vectors = vectors[vectors[:, list(needed)].all(axis=1)]
        logs = np.where(np.isfinite(logs), logs, 1e6)  # a zero is far from every law
        for n_rows in (SOME_ROWS // 4, MANY_ROWS):
            widths, middles = shortest_halves(logs[:n_rows], vectors, self.log_spread)
            best = np.argsort(widths, kind="stable")[:_FINALISTS]
            vectors, widths, middles = vectors[best], widths[best], middles[best]
        for a, middle in zip(vectors[widths <= widest], middles[widths <= widest], strict=True):
            yield np.array([np.maximum(a, 0), np.maximum(-a, 0)]), np.array([1.0, -np.exp(middle)])

    def sums(self, widest: float, needed: Sequence[int]) -> Iterator[tuple[Int2D, Float1D]]:
        """The equations of three and four terms with the least median distance that save bits."""
        for n_terms in (3, 4):
            terms, supports = term_sets(self.X.shape[1], n_terms)
            occurs: Array = terms[supports].max(axis=1) > 0
            supports = supports[occurs[:, list(needed)].all(axis=1)]
            for n_rows, starts in ((SOME_ROWS // 4, _STARTS // 2), (SOME_ROWS, _STARTS)):
                values, slopes = _tables(self.many[0][:n_rows], self.many[1][:n_rows], terms)
                n_rows = len(values)
                through = np.array([self.random.choice(n_rows, n_terms - 1, replace=False) for _ in range(starts)])
                widths, coef = np.full(len(supports), widest), np.zeros((len(supports), n_terms))
                work = np.empty((n_terms, n_terms))
                least_medians(values, slopes, supports, through, widths, coef, np.empty(n_rows), work)
                best = [k for k in np.argsort(widths, kind="stable")[:_FINALISTS] if coef[k].any()]
                supports, widths, coef = supports[best], widths[best], coef[best]
            for exponents, own, width in zip(terms[supports], coef, widths.tolist(), strict=True):
                if self.saves_bits(exponents, own, width):
                    yield exponents, own

    def saves_bits(self, exponents: Int2D, coef: Float1D, width: float) -> bool:
        """Whether an equation needs all of its terms, and saves more bits than it takes to write it down."""
        values, slopes = _tables(self.many[0][:SOME_ROWS], self.many[1][:SOME_ROWS], exponents)
        candidate = _Candidate(exponents, coef, width, _sizes(values, slopes, coef))
        bits = 0.0 if candidate.has_idle_term else float(self.bits_a_row(candidate, SOME_ROWS).min())
        return bits * self.n_rows > candidate.bits(self.n_rows)

    @cached_property
    def drawn(self) -> tuple[Float2D, Float2D]:
        """Rows, again and again where they are few, and the same rows with every column drawn anew."""
        tiled = np.tile(self.X[:MANY_ROWS], (-(-MANY_ROWS // self.n_rows), 1))
        return tiled, self.random.permuted(tiled, axis=0)

    def bits_a_row(self, candidate: _Candidate, n_rows: int) -> Float1D:
        """Bits that an equation says about each of its columns, by some draws, as in the judge.

        The product of a law with a column that is zero on the other rows is as narrow as the law, and says less.
        """
        X, drawn = (rows[:n_rows] for rows in self.drawn)
        reach = 3.0 * candidate.width + ROUNDED
        share, bits = self.share_within(X, candidate, reach), []
        for j in np.flatnonzero(candidate.exponents.any(axis=0)):
            changed = X.copy()
            changed[:, j] = drawn[:, j]
            chance = self.share_within(changed, candidate, reach)
            bits.append(information(share, max(chance, 0.5 / len(X))))
        return np.array(bits)

    def share_within(self, X: Float2D, candidate: _Candidate, reach: float) -> float:
        """The share of rows within a distance of an equation."""
        return float(np.mean(_distances(*_tables(*self.scaled(X), candidate.exponents), candidate.coef) <= reach))

    def concentrated(self, exponents: Int2D, coef: Float1D) -> _Candidate:
        """The equation with coefficients that are the narrowest on the nearest half of the rows, again and again."""
        values, slopes = _tables(*self.many, exponents)
        best, width, half = coef, np.inf, len(values) // 2 + 1
        while (own := half_scale(distance := _distances(values, slopes, coef))) < width:
            best, width = coef, own
            near = np.argpartition(distance, half - 1)[:half]
            near = near[np.isfinite(distance[near])]
            coef = _narrowest(values[near], slopes[near], coef)
        return _Candidate(exponents, best, width, _sizes(values, slopes, best))

    def described(self, best: _Candidate, X: Float2D) -> Core:
        """The core on all rows: which obey, and how closely. Coefficients of the nearer half alone would bend to it."""
        values, slopes = _tables(*self.scaled(X), best.exponents)
        distance = _distances(values, slopes, best.coef)
        near = distance <= _reach(peak(distance))
        coef = _narrowest(values[near], slopes[near], best.coef)
        distance = _distances(values, slopes, coef)
        width = peak(distance)
        obeys = distance <= _reach(width)
        terms = values[obeys] * coef
        errors = np.abs(terms.sum(axis=1)) / np.maximum(np.abs(terms).max(axis=1), 1e-300)
        within = float(np.quantile(errors, MIDDLE[1] - MIDDLE[0]))
        coef = coef / self.unit(best.exponents)
        return Core(best.exponents, coef / np.abs(coef).max(), width, obeys, within)


def _reach(width: float) -> float:
    """The distance within which rows obey an equation: one normal row in 16,000 is farther off."""
    return 4.0 * width + ROUNDED


def without_lumps(X: Float2D) -> Int1D:
    """The places of the rows without some of those that have the most common value of a column.

    Any equation about a value that half of the rows have is near to half of the rows. So rows with the most common
    value of a column, of share f, stay with probability ``(1 - f) / f * s / (1 - s)``, which leaves a share s of them.

    Examples
    --------
    >>> column = np.r_[np.zeros(900), np.arange(1.0, 101.0)]
    >>> left = without_lumps(column[:, None])
    >>> int((column[left] > 0.0).sum()), bool(50 < (column[left] == 0.0).sum() < 90)
    (100, True)
    """
    random, stays = np.random.default_rng(SEED), np.ones(len(X))
    for column in X.T:
        values, places, counts = np.unique(column, return_inverse=True, return_counts=True)
        share = counts.max() / len(X)
        if share > _LUMP and len(values) > 1:
            stays[places == counts.argmax()] *= (1.0 - share) / share * _LUMP / (1.0 - _LUMP)
    return np.flatnonzero(random.random(len(X)) < stays)


def shortest_halves(logs: Float2D, vectors: Int2D, spread: Float1D) -> tuple[Float1D, Float1D]:
    """Half the length of the shortest interval with half of the values of ``a . log x``, in deviations; its middle."""
    n_rows, half = len(logs), len(logs) // 2 + 1
    widths, middles = np.empty(len(vectors)), np.empty(len(vectors))
    for start in range(0, len(vectors), 4096):
        values = np.sort(vectors[start : start + 4096] @ logs.T, axis=1)
        lengths = values[:, half - 1 :] - values[:, : n_rows - half + 1]
        first = np.argmin(lengths, axis=1)
        at = np.arange(len(values))
        widths[start : start + 4096] = lengths[at, first] / 2.0 / HALF_OF_NORMAL
        middles[start : start + 4096] = (values[at, first] + values[at, first + half - 1]) / 2.0
    return widths / np.sqrt(vectors**2 @ spread**2), middles


def _tables(Z: Float2D, unit: Float2D, exponents: Int2D) -> tuple[Float2D, Array]:
    """Monomials on rows, and their derivatives by the columns in deviations, ``(n_rows, n_terms, n_columns)``."""
    n = Z.shape[1]
    powers = [np.ones_like(Z)]
    for _ in range(int(exponents.max(initial=0))):
        powers.append(powers[-1] * Z)
    factors = [np.stack([powers[e][:, j] for e in exponents[:, j]], axis=1) for j in range(n)]
    slopes = np.zeros((len(Z), len(exponents), n))
    for j in np.flatnonzero(exponents.any(axis=0)):
        lower = np.stack([e * powers[max(e - 1, 0)][:, j] for e in exponents[:, j]], axis=1)
        others = np.prod([factor for k, factor in enumerate(factors) if k != j], axis=0)
        slopes[:, :, j] = lower * others * unit[:, j : j + 1]
    return np.prod(factors, axis=0), slopes


def _steepness(slopes: Array, coef: Float1D) -> Float1D:
    return np.asarray(np.maximum(np.linalg.norm(np.einsum("ikj,k->ij", slopes, coef), axis=1), 1e-300))


def _distances(values: Float2D, slopes: Array, coef: Float1D) -> Float1D:
    """First-order distances of rows from an equation."""
    with np.errstate(all="ignore"):
        g = np.abs(values @ coef)
        distance = np.where(g == 0.0, 0.0, g / _steepness(slopes, coef))
    return np.where(np.isfinite(distance), distance, np.inf)


def _sizes(values: Float2D, slopes: Array, coef: Float1D) -> Float1D:
    """Sizes of the terms of an equation on the rows where they are large, in deviations of the columns."""
    return np.asarray(np.quantile(np.abs(values * coef) / _steepness(slopes, coef)[:, None], MIDDLE[1], axis=0))


def _narrowest(values: Float2D, slopes: Array, coef: Float1D) -> Float1D:
    """Coefficients that minimise ``sum g^2 / w`` over ``sum |u grad g|^2 / w``, with the weights of given ones."""
    weights = 1.0 / np.maximum(_steepness(slopes, coef), 1e-100) ** 2
    size = np.maximum(np.sqrt((values**2 * weights[:, None]).sum(axis=0)), 1e-100)
    A = (values * weights[:, None]).T @ values / np.outer(size, size)
    B = np.einsum("ikj,ilj,i->kl", slopes, slopes, weights) / np.outer(size, size)
    try:
        _, vectors = eigh(B, A + 1e-13 * np.eye(len(A)))
    except (LinAlgError, ValueError):
        return coef
    found: Float1D = vectors[:, -1] / size
    return found if np.isfinite(found).all() else coef


def peak(distance: Float1D) -> float:
    """The deviation of the rows around the peak at zero, half of that of the nearer half of all rows at least.

    Rows within four deviations have a median of 0.6745 deviations, again and again, until none leaves.
    """
    width, narrower = np.inf, half_scale(distance)
    least = 0.5 * narrower
    while narrower < width:
        width, narrower = narrower, max(half_scale(distance[distance <= 4.0 * narrower]), least)
    return width


def half_scale(distance: Float1D) -> float:
    """The deviation of normal distances of which half are as near as those given."""
    return float(np.partition(distance, len(distance) // 2)[len(distance) // 2]) / HALF_OF_NORMAL
