"""Short equations that at least half of the rows obey closely, whatever the other rows do.

No noise model is assumed. The only statistic is the half-sample scale: with ``d = g / |u grad g|`` the first-order
distance of a row, in deviations ``u`` of the columns, ``s = median |d| / 0.6745`` over all rows. It is a share of the
columns' deviations, so that equations of any form and degree can be compared. Candidates are power laws, whose
constant is the middle of the shortest half of ``a . log x``, and equations of three and four terms, through random
rows (Rousseeuw's least median of squares, 1984) and then by concentration steps. The shortest of those that are about
as narrow as the narrowest is the core; ``criteria`` decides whether it is a law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import comb, log2

import numpy as np
from scipy.linalg import LinAlgError, eigh

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D, Int2D
from ..rows.relation import HALF_OF_NORMAL, MIDDLE, NEIGHBOURS, ROUNDED, SEED, information, middle_spread, predictable
from ..rows.rounding import rounding_steps
from .audits import bits_of_choice
from .least_medians import least_medians
from .short_equations import exponent_vectors, term_sets
from .snapping import DENOMINATORS, rational_bits

__all__ = ["Core", "find_core", "without_lumps", "without_term"]

_FEW_ROWS, _SOME_ROWS, _MANY_ROWS = 64, 240, 2000  # rows of the first round, of the second round, and of the fits
_STARTS = 24  # equations through random rows, for every set of terms
_SEMIFINALISTS, _FINALISTS = 500, 20  # candidates of each kind that are compared again, and fitted
_ABOUT_AS_NARROW = 1.25  # width over the smallest one, of equations among which the shortest is chosen
_LEAST_ROWS = 6  # half of fewer are on an equation through three of them
_LUMP = 0.4  # share of the searched rows that one value of a column may have: less than half of them
_LEAST_SIZE = 0.01  # smaller values, over the typical one of a column, count as this one in relative deviations
_REFITS = 2  # fits to all rows that obey: the second has the weights of the first
_STEPS, _MOST_STEPS = 8, 50  # concentration steps, and steps towards the width of the core


_Comparable = Callable[[Int2D, int], Bool1D]


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
    smooth : float
        Share of the variance of their distances that neighbouring rows predict.
    rational : tuple of Fraction or None
        Coefficients that are rational multiples of the first rational one, which is 1.
    special : bool
        Whether a smooth curve hardly has such an equation.
    """

    exponents: Int2D
    coef: Float1D
    width: float
    obeys: Bool1D
    within: float
    smooth: float
    rational: tuple[Fraction | None, ...] = ()
    special: bool = True

    @property
    def degree(self) -> int:
        """Largest total degree of a term."""
        return int(self.exponents.sum(axis=1).max())

    @property
    def columns(self) -> list[int]:
        """The columns that occur."""
        return [int(j) for j in np.flatnonzero(self.exponents.any(axis=0))]


@dataclass(eq=False)
class _Candidate:
    """Terms, coefficients in scaled columns, and the width on some rows.

    ``sizes`` has the typical sizes of the terms, in deviations; ``rational`` the coefficients, in the units of the
    table, that are rational multiples of the first of them.
    """

    exponents: Int2D
    coef: Float1D
    width: float
    sizes: Float1D = field(default_factory=lambda: np.zeros(0))
    rational: tuple[Fraction | None, ...] = ()

    def bits(self, n_rows: int) -> float:
        """Bits to write it down: its terms among all of its columns up to its degree, and its coefficients.

        Half of the rows know the coefficient of a term to ``width / sqrt(n_rows / 2)`` over the size of the term. One
        coefficient is free.
        """
        n_columns, degree = int(self.exponents.any(axis=0).sum()), int(self.exponents.sum(axis=1).max())
        terms = log2(comb(comb(n_columns + degree, degree), len(self.coef)))
        error = (self.width + ROUNDED) / np.sqrt(n_rows / 2.0)
        real = 1.0 + np.log2(np.maximum(self.sizes / error, 1.0))
        exact = [rational_bits(abs(r.numerator), r.denominator) for r in self.rational if r is not None]
        left = [bits for k, bits in enumerate(real) if not self.rational or self.rational[k] is None]
        return terms + sum(exact) + float(sum(left)) - (0.0 if exact else float(max(left)))

    @property
    def has_idle_term(self) -> bool:
        """Whether a term is smaller than the width."""
        return bool(self.sizes.min() <= self.width + ROUNDED)

    def is_special(self, n_rows: int) -> bool:
        """Whether a smooth curve hardly has such an equation: it is linear, a power law, or its numbers are plain."""
        n_columns, degree = int(self.exponents.any(axis=0).sum()), int(self.exponents.sum(axis=1).max())
        plain = [k for k, number in enumerate(self.rational) if number is not None]
        if degree == 1 or len(self.coef) == 2:
            return True
        saved = replace(self, rational=()).bits(n_rows) - self.bits(n_rows)
        n_candidates, k = comb(n_columns + degree, degree), len(self.coef)
        return len(plain) >= k - 1 and saved > bits_of_choice(n_candidates, k)

    def score(self, n_rows: int) -> float:
        """Bits that the nearer half of the rows take, a row: ``log2 width``, and the share of writing it down."""
        return log2(self.width + ROUNDED) + 2.0 * self.bits(n_rows) / n_rows


class _Columns:
    """Columns over their typical sizes, and what a deviation is in each entry.

    That is a share of the value in columns that are nearly all positive: the robust deviation of their logarithms.
    """

    def __init__(self, X: Float2D):
        self.size = np.nanmedian(np.where(X == 0.0, np.nan, np.abs(X)), axis=0)
        self.positive = (X > 0.0).mean(axis=0) > 0.9
        self.spread = np.maximum(middle_spread(X / self.size), 1e-12)
        logs = self.logs(X)
        self.log_spread = np.array([_spread(column[np.isfinite(column)]) for column in logs.T])

    def logs(self, X: Float2D) -> Float2D:
        """Logarithms of the scaled sizes of values; minus infinity for zeros."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.abs(X / self.size)))

    def scaled(self, X: Float2D) -> tuple[Float2D, Float2D]:
        """Scaled values and deviations of rows."""
        Z = X / self.size
        shares = np.maximum(np.abs(Z), _LEAST_SIZE) * self.log_spread
        return Z, np.where(self.positive, shares, self.spread)

    def some(self, chosen: Bool1D) -> _Columns:
        """Some of the columns."""
        part = copy(self)
        for name, values in vars(self).items():
            setattr(part, name, values[chosen])
        return part

    def place(self, X: Float2D) -> Float2D:
        """Rows in coordinates in which all deviations are 1."""
        return np.asarray(np.where(self.positive, self.logs(X) / self.log_spread, X / self.size / self.spread))


def _spread(column: Float1D) -> float:
    return max(float(middle_spread(column[:, None])[0]), 1e-12) if len(column) else 1e-12


def find_core(
    X: Float2D,
    every: Float2D | None = None,
    comparable: _Comparable | None = None,
    *,
    widest: float = 0.03,
    needed: Sequence[int] = (),
    power_laws: bool = False,
) -> Core | None:
    """The shortest of the narrowest equations of a table; None if no short equation is narrow.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows to search in; no column is constant.
    every : ndarray of shape (n_all, n_columns), optional
        Rows that may obey, or not; ``X`` by default.
    comparable : callable, optional
        ``comparable(exponents, k)`` says which terms may have rational multiples of the coefficient of term k.
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
    >>> core = find_core(X)
    >>> core.exponents.tolist(), int(core.obeys.sum())
    ([[1, 0, 0], [0, 2, 1]], 150)
    """
    every = X if every is None else every
    search = _Search.on(X)
    if search is None:
        return None
    columns, X, random, many = search.columns, search.X, search.random, search.scaled
    n_rows = len(X)
    sums: Iterable[_Candidate] = () if power_laws else _sums(search, 4.0 * widest, needed)
    found = [*_power_laws(columns, X, 2.0 * widest, needed), *sums]
    found = [search.concentrated(c) for c in found]
    found = [c for c in found if c.width <= 2.0 * widest and not c.has_idle_term]
    found = [c for c in found if _is_one_sheet(*many, c)]
    if not found:
        return None
    bits = np.array([search.bits_a_row(c, _MANY_ROWS).max() for c in found])
    found = [c for c, own in zip(found, bits, strict=True) if 2.0 * own >= bits.max()]  # products with zeros say less
    limit = min(c.score(n_rows) for c in found) + log2(_ABOUT_AS_NARROW)
    close = [_with_plain_ratios(columns, many, c, comparable) for c in found if c.score(n_rows) <= limit]
    needs_all = [c for c in close if not c.has_idle_term]  # plain numbers may make one idle
    return _described(columns, min(needs_all or close, key=lambda c: (c.bits(n_rows), c.width)), every, random)


def without_term(
    core: Core, term: int, X: Float2D, every: Float2D, comparable: _Comparable | None = None
) -> Core | None:
    """The core with one term less, fitted again; None if nothing of it is left between columns."""
    left = np.delete(np.arange(len(core.coef)), term)
    exponents = core.exponents[left] - core.exponents[left].min(axis=0)
    search = _Search.on(X)
    if search is None or len(left) < 2 or exponents.any(axis=0).sum() < 2:
        return None
    with np.errstate(over="ignore", under="ignore"):
        coef = core.coef[left] * np.prod(search.columns.size**exponents, axis=1)
    shorter = search.concentrated(_Candidate(exponents, coef / np.abs(coef).max(), np.inf))
    shorter = _with_plain_ratios(search.columns, search.scaled, shorter, comparable)
    return _described(search.columns, shorter, every, search.random)


@dataclass(eq=False)
class _Search:
    """The rows of a search in random order, without repeated ones and lumps, and their columns."""

    columns: _Columns
    X: Float2D
    scaled: tuple[Float2D, Float2D]
    random: np.random.Generator

    @classmethod
    def on(cls, X: Float2D) -> _Search | None:
        """The search on some rows; None if these are too few."""
        random = np.random.default_rng(SEED)
        X = random.permutation(np.unique(X, axis=0))  # repeated rows are no evidence
        if len(X) < _LEAST_ROWS:
            return None
        columns = _Columns(X)
        return cls(columns, X, columns.scaled(X[:_MANY_ROWS]), random)

    def concentrated(self, candidate: _Candidate) -> _Candidate:
        """The candidate after concentration steps."""
        values, slopes = _tables(*self.scaled, candidate.exponents)
        coef, width = _concentrated(values, slopes, candidate.coef)
        return replace(candidate, coef=coef, width=width, sizes=_sizes(values, slopes, coef))

    @cached_property
    def drawn(self) -> tuple[Float2D, Float2D]:
        """Rows, again and again where they are few, and the same rows with every column drawn anew."""
        tiled = np.tile(self.X[:_MANY_ROWS], (-(-_MANY_ROWS // len(self.X)), 1))
        return tiled, self.random.permuted(tiled, axis=0)

    def bits_a_row(self, candidate: _Candidate, n_rows: int) -> Float1D:
        """Bits that an equation says about each of its columns, by some draws, as in the judge.

        The product of a law with a column that is zero on the other rows is as narrow as the law, and says less.
        """
        X, drawn = (rows[:n_rows] for rows in self.drawn)
        reach = 3.0 * candidate.width + ROUNDED
        share, bits = _share_within(self.columns, X, candidate, reach), []
        for j in np.flatnonzero(candidate.exponents.any(axis=0)):
            changed = X.copy()
            changed[:, j] = drawn[:, j]
            chance = _share_within(self.columns, changed, candidate, reach)
            bits.append(information(share, max(chance, 0.5 / len(X))))
        return np.array(bits)

    def saves_bits(self, candidate: _Candidate) -> bool:
        """Whether a candidate needs all of its terms, and saves more bits than it takes to write it down."""
        values, slopes = _tables(self.scaled[0][:_SOME_ROWS], self.scaled[1][:_SOME_ROWS], candidate.exponents)
        candidate.sizes = _sizes(values, slopes, candidate.coef)
        if candidate.has_idle_term:
            return False
        saved = float(self.bits_a_row(candidate, _SOME_ROWS).min())
        return saved * len(self.X) > candidate.bits(len(self.X))


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


def _with_plain_ratios(
    columns: _Columns, rows: tuple[Float2D, Float2D], candidate: _Candidate, comparable: _Comparable | None
) -> _Candidate:
    """The equation with rational ratios of its coefficients, in the units of the table, where these save bits.

    All rows within four widths count, as coefficients that are fitted to the nearer half alone bend to it.
    """
    k = len(candidate.coef)
    values, slopes = _tables(*rows, candidate.exponents)
    with np.errstate(over="ignore", under="ignore"):
        unit = np.prod(columns.size**candidate.exponents, axis=1)
    if not (np.isfinite(unit).all() and unit.all()):
        return candidate
    near = _distances(values, slopes, candidate.coef) <= 4.0 * candidate.width + ROUNDED
    some, n_near = (values[near], slopes[near]), int(near.sum())
    best = plain = _fitted(*some, candidate, np.eye(k), candidate.coef)
    for reference in range(k):
        allowed = np.ones(k, dtype=bool) if comparable is None else comparable(candidate.exponents, reference)
        current = replace(plain, rational=tuple(Fraction(1) if t == reference else None for t in range(k)))
        for term in [t for t in range(k) if t != reference and allowed[t]]:
            own = current.coef / unit
            value = own[term] / own[reference]
            denominators = range(1, DENOMINATORS + 1) if abs(value) < 1.0 / ROUNDED else ()
            ratios = {Fraction(round(value * q), q) for q in denominators} - {0}
            tried = [_with_ratio(*some, unit, current, term, ratio) for ratio in sorted(ratios)]
            current = min([current, *tried], key=lambda c: c.score(2 * n_near))
        best = min(best, current, key=lambda c: c.score(2 * n_near))
    if best is plain:
        return candidate
    return replace(best, width=_half_scale(_distances(values, slopes, best.coef)))


def _with_ratio(
    values: Float2D, slopes: Array, unit: Float1D, candidate: _Candidate, term: int, ratio: Fraction
) -> _Candidate:
    """The equation with one more rational coefficient; the others are fitted again."""
    rational = tuple(ratio if t == term else own for t, own in enumerate(candidate.rational))
    fixed = np.array([0.0 if own is None else float(own) for own in rational]) * unit
    free = [t for t, own in enumerate(rational) if own is None]
    mixing = np.column_stack([fixed, *(np.eye(len(fixed))[t] for t in free)])
    reference = next(t for t, own in enumerate(candidate.rational) if own is not None)
    start = np.r_[candidate.coef[reference] / fixed[reference], candidate.coef[free]]
    return _fitted(values, slopes, replace(candidate, rational=rational), mixing, start)


def _fitted(values: Float2D, slopes: Array, candidate: _Candidate, mixing: Float2D, start: Float1D) -> _Candidate:
    """The candidate with the coefficients ``mixing @ c`` that all rows give; its width is their root mean square."""
    mixed, mixed_slopes = values @ mixing, np.einsum("ikj,km->imj", slopes, mixing)
    for _ in range(_REFITS):
        start = _narrowest(mixed, mixed_slopes, start)
    coef = mixing @ start
    width = float(np.sqrt(np.mean(_distances(values, slopes, coef) ** 2)))
    return replace(candidate, coef=coef, width=width, sizes=_sizes(values, slopes, coef))


def _distances(values: Float2D, slopes: Array, coef: Float1D) -> Float1D:
    """First-order distances of rows from an equation."""
    return np.abs(_ratio(values @ coef, np.linalg.norm(np.einsum("ikj,k->ij", slopes, coef), axis=1)))


def _sizes(values: Float2D, slopes: Array, coef: Float1D) -> Float1D:
    """Sizes of the terms of an equation on the rows where they are large, in deviations of the columns."""
    steepness = np.maximum(np.linalg.norm(np.einsum("ikj,k->ij", slopes, coef), axis=1), 1e-300)
    return np.asarray(np.quantile(np.abs(values * coef) / steepness[:, None], MIDDLE[1], axis=0))


def _share_within(columns: _Columns, X: Float2D, candidate: _Candidate, reach: float) -> float:
    values, slopes = _on_rows(*columns.scaled(X), candidate.exponents, candidate.coef)
    return float(np.mean(np.abs(_ratio(values, np.linalg.norm(slopes, axis=1))) <= reach))


def _described(columns: _Columns, best: _Candidate, X: Float2D, random: np.random.Generator) -> Core:
    """The core on all rows: which obey, how closely, and whether what is left is smooth."""
    Z, unit = columns.scaled(X)
    values, slopes = _on_rows(Z, unit, best.exponents, best.coef)
    steepness = np.linalg.norm(slopes, axis=1)
    distance = _ratio(values, steepness)
    width = _peak(np.abs(distance))
    obeys = np.abs(distance) <= 4.0 * width + ROUNDED
    terms = np.abs(_monomials(Z, best.exponents) * best.coef).max(axis=1)
    within = float(np.quantile(np.abs(values[obeys]) / np.maximum(terms[obeys], 1e-300), 0.68))
    smooth = _smoothness(columns, best, X[obeys], width, random) if width > ROUNDED else 0.0
    with np.errstate(over="ignore", under="ignore"):
        coef = best.coef / np.prod(columns.size**best.exponents, axis=1)
    return Core(
        best.exponents, coef / np.abs(coef).max(), width, obeys, within, smooth, best.rational, best.is_special(len(X))
    )


def _peak(distance: Float1D) -> float:
    """The deviation of the rows around the peak at zero, half of that of the nearer half of all rows at least.

    Rows within four deviations have a median of 0.6745 deviations, again and again, until none leaves.
    """
    width = _half_scale(distance)
    least = 0.5 * width
    for _ in range(_MOST_STEPS):
        narrower = max(_half_scale(distance[distance <= 4.0 * width]), least)
        if narrower >= 0.999 * width:
            break
        width = narrower
    return width


def _half_scale(distance: Float1D) -> float:
    return float(np.partition(distance, len(distance) // 2)[len(distance) // 2]) / HALF_OF_NORMAL


def _ratio(values: Float1D, steepness: Float1D) -> Float1D:
    with np.errstate(all="ignore"):
        distance = np.where(values == 0.0, 0.0, values / np.maximum(steepness, 1e-300))
    return np.where(np.isfinite(distance), distance, np.inf)


# Power laws


def _power_laws(columns: _Columns, X: Float2D, widest: float, needed: Sequence[int]) -> list[_Candidate]:
    """The power laws of fewest deviations, by the shortest half of ``a . log x``."""
    vectors = exponent_vectors(X.shape[1])
    vectors = vectors[vectors[:, list(needed)].all(axis=1)]
    logs = columns.logs(X[:_MANY_ROWS])
    logs = np.where(np.isfinite(logs), logs, 1e6)  # a zero is far from every law
    for number, n_rows in ((_SEMIFINALISTS, _FEW_ROWS), (_FINALISTS, _MANY_ROWS)):
        widths, middles = _shortest_halves(logs[:n_rows], vectors, columns.log_spread)
        best = np.argsort(widths, kind="stable")[:number]
        vectors, widths, middles = vectors[best], widths[best], middles[best]
    found = []
    for a, width, middle in zip(vectors, widths, middles, strict=True):
        if width <= widest:
            sides = np.array([np.maximum(a, 0), np.maximum(-a, 0)])
            found.append(_Candidate(sides, np.array([1.0, -np.exp(middle)]), float(width)))
    return found


def _shortest_halves(logs: Float2D, vectors: Int2D, spread: Float1D) -> tuple[Float1D, Float1D]:
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


# Equations of three and four terms


def _sums(search: _Search, widest: float, needed: Sequence[int]) -> Iterator[_Candidate]:
    """The equations of three and four terms with the least median distance that save bits."""
    columns, X, random = search.columns, search.X, search.random
    for n_terms in (3, 4):
        terms, supports = term_sets(X.shape[1], n_terms)
        occurs: Array = terms[supports].max(axis=1) > 0
        supports = supports[occurs[:, list(needed)].all(axis=1)]
        for n_rows, starts in ((_FEW_ROWS, _STARTS // 2), (_SOME_ROWS, _STARTS)):
            rows = X[:n_rows]
            values, slopes = _tables(*columns.scaled(rows), terms)
            through = np.array([random.choice(len(rows), n_terms - 1, replace=False) for _ in range(starts)])
            widths, coef = np.full(len(supports), widest), np.zeros((len(supports), n_terms))
            distance, work = np.empty(len(rows)), np.empty((n_terms, n_terms))
            least_medians(values, slopes, supports, through, widths, coef, distance, work)
            best = [k for k in np.argsort(widths, kind="stable")[:_SEMIFINALISTS] if coef[k].any()]
            supports, widths, coef = supports[best], widths[best], coef[best]
        candidates = map(_Candidate, terms[supports], coef, widths.tolist())
        yield from islice(filter(search.saves_bits, candidates), _FINALISTS)


def _monomials(Z: Float2D, exponents: Int2D) -> Float2D:
    values = np.ones((len(Z), len(exponents)))
    for j in range(Z.shape[1]):
        for e in range(1, int(exponents[:, j].max(initial=0)) + 1):
            values[:, exponents[:, j] >= e] *= Z[:, j : j + 1]
    return values


def _tables(Z: Float2D, unit: Float2D, exponents: Int2D) -> tuple[Float2D, Array]:
    """Monomials on rows, and their derivatives by the columns in deviations, ``(n_rows, n_terms, n_columns)``."""
    n = Z.shape[1]
    slopes = [
        _monomials(Z, np.maximum(exponents - np.eye(n, dtype=np.int64)[j], 0)) * exponents[:, j] * unit[:, j : j + 1]
        for j in range(n)
    ]
    return _monomials(Z, exponents), np.stack(slopes, axis=2)


def _on_rows(Z: Float2D, unit: Float2D, exponents: Int2D, coef: Float1D) -> tuple[Float1D, Float2D]:
    """The polynomial on rows, and its derivatives in deviations of the columns."""
    values, slopes = _tables(Z, unit, exponents)
    return values @ coef, np.einsum("ikj,k->ij", slopes, coef)


# The best candidates


def _concentrated(values: Float2D, slopes: Array, coef: Float1D) -> tuple[Float1D, float]:
    """Coefficients that are the narrowest on the nearest half of the rows, again and again, and their width."""
    best, width = coef, np.inf
    for _ in range(_STEPS):
        distance = _distances(values, slopes, coef)
        own = _half_scale(distance)
        if not own < width:
            break
        best, width = coef, own
        half = np.argpartition(distance, len(values) // 2)[: len(values) // 2 + 1]
        half = half[np.isfinite(distance[half])]
        coef = _narrowest(values[half], slopes[half], coef)
    return best, width


def _narrowest(values: Float2D, slopes: Array, coef: Float1D) -> Float1D:
    """Coefficients that minimise ``sum g^2 / w`` over ``sum |u grad g|^2 / w``, with the weights of given ones."""
    weights = 1.0 / np.maximum(np.linalg.norm(np.einsum("ikj,k->ij", slopes, coef), axis=1), 1e-100) ** 2
    size = np.maximum(np.sqrt((values**2 * weights[:, None]).sum(axis=0)), 1e-100)
    A = (values * weights[:, None]).T @ values / np.outer(size, size)
    B = np.einsum("ikj,ilj,i->kl", slopes, slopes, weights) / np.outer(size, size)
    try:
        _, vectors = eigh(B, A + 1e-13 * np.eye(len(A)))
    except (LinAlgError, ValueError):
        return coef
    found: Float1D = vectors[:, -1] / size
    return found if np.isfinite(found).all() else coef


def _is_one_sheet(Z: Float2D, unit: Float2D, candidate: _Candidate, reach: float = 4.0) -> bool:
    """Whether ``g`` is linear across the core: it is not near a double root, or between sheets that share the noise.

    Distances to these come out two or three times too small. Points of the core are moved onto the zero set, and four
    widths to either side, where ``g`` has to be what its slope says, up to a factor of two, for most of them.
    """
    if candidate.width < ROUNDED or len(candidate.coef) == 2:
        return True
    values, slopes = _on_rows(Z, unit, candidate.exponents, candidate.coef)
    near = np.abs(_ratio(values, np.linalg.norm(slopes, axis=1))) < 2.0 * candidate.width
    Z, unit = Z[near], unit[near]
    for _ in range(2):
        values, slopes = _on_rows(Z, unit, candidate.exponents, candidate.coef)
        steepness = np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)
        Z = Z - np.clip(values / steepness, -0.3, 0.3)[:, None] * slopes / steepness[:, None] * unit
    _, slopes = _on_rows(Z, unit, candidate.exponents, candidate.coef)
    steepness = np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)
    linear = np.ones(len(Z), dtype=bool)
    for step in (reach * candidate.width, -reach * candidate.width):
        there, _ = _on_rows(Z + step * slopes / steepness[:, None] * unit, unit, candidate.exponents, candidate.coef)
        linear &= np.abs(np.log2(np.maximum(there / (step * steepness), 1e-300))) < 1.0
    return bool(linear.mean() > 0.7)


def _smoothness(
    columns: _Columns, candidate: _Candidate, X: Float2D, width: float, random: np.random.Generator
) -> float:
    """Share of the distances' variance that neighbours, after projection onto the equation, predict.

    Nothing for noise, all of it for a smooth function that the equation approximates. Places are blurred by the width,
    within which the projection itself would sort the rows.
    """
    used: Bool1D = np.asarray(candidate.exponents.any(axis=0))
    exponents, columns = candidate.exponents[:, used], columns.some(used)
    X = np.unique(X[:, used], axis=0)  # repeated rows have the same distance
    X = X[random.permutation(len(X))[:_MANY_ROWS]]
    X = X[np.isfinite(columns.logs(X)).all(axis=1)]
    number = min(NEIGHBOURS, len(X) // 4)
    if not number:
        return 1.0
    Z, unit = columns.scaled(X)
    values, slopes = _on_rows(Z, unit, exponents, candidate.coef)
    steepness = np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)
    distance = _ratio(values, steepness)
    by_rounding = ((slopes * rounding_steps(X) / columns.size / unit) ** 2).sum(axis=1) / steepness**2 / 12.0
    place = columns.place(X) - (distance / steepness)[:, None] * slopes
    place = place + 2.0 * width * random.normal(size=place.shape)
    from scipy.spatial import cKDTree  # here, so that importing the package stays quick

    neighbours = cKDTree(place).query(place, number + 1)[1][:, 1:]
    return predictable(distance, neighbours, float(np.mean(by_rounding)))
