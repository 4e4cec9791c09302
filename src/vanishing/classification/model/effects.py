"""How each column moves a decision: its partial dependence, which a formula gives exactly as sums over its terms.

A decision is a sum of monomials, of absolute values of polynomials, and of hinges. Where a column has a value v, a
monomial is a power of v times what the other columns make of it, so its mean over rows is that power times a mean. A
polynomial within bars becomes a polynomial in v with coefficients of its own for every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D, Int2D
from ...checks import quoted
from ...display import counted
from ...report.glance import BINS
from ...rows.arrays import as_rows
from .features import FeatureMap
from .transforms import cube_rows


@dataclass(frozen=True)
class Effect:
    """How one column moves the decision.

    Attributes
    ----------
    name : str
        The column.
    grid : ndarray of shape (n_points,)
        Values of the column: all of them if they are few, else quantiles and evenly spaced ones.
    values : ndarray of shape (n_points,) or (n_points, n_classes)
        The mean decision over the rows if all of them had this value, less the mean decision.
    counts, edges : ndarray
        Histogram of the column over the rows; of a column with few values, how many rows have each, and the values.
    importance : float
        Deviation of the effect over the rows; the largest one of the classes.
    labels : tuple
        Classes that the values speak for: the second one of two, or all.
    """

    name: str
    grid: Float1D
    values: Array
    counts: Int1D
    edges: Float1D
    importance: float
    labels: tuple[Any, ...]

    def __str__(self) -> str:
        low, high = float(self.values.min()), float(self.values.max())
        return f"{self.importance:10.3g}  {low:+10.3g} to {high:+.3g}  {self.name}"


@dataclass(frozen=True)
class Interaction:
    """How two columns move the decision together, beyond the effects of both.

    Attributes
    ----------
    names : tuple of str
        The two columns.
    grids : tuple of ndarray
        Values of each.
    values : ndarray of shape (n_first, n_second) or (n_first, n_second, n_classes)
        The mean decision over the rows if all of them had these two values, less both effects and the mean decision.
    importance : float
        Deviation over the rows; the largest one of the classes.
    labels : tuple
        Classes that the values speak for.
    """

    names: tuple[str, str]
    grids: tuple[Float1D, Float1D]
    values: Array
    importance: float
    labels: tuple[Any, ...]

    @property
    def name(self) -> str:
        """Both columns."""
        return " & ".join(self.names)

    def __str__(self) -> str:
        return f"{self.importance:10.3g}  {self.values.min():+10.3g} to {self.values.max():+.3g}  {self.name}"


class Effects(Sequence[Effect]):
    """The effects of all columns, the largest first, and the strongest interactions of two.

    Attributes
    ----------
    pairs : tuple of Interaction
    mean : float or ndarray of shape (n_classes,)
        The mean decision over the rows: a curve plus this is scikit-learn's partial dependence.
    explained : tuple of float
        Share of the variance of the decision over the rows that the curves account for, and that with the maps.
    n_rows : int
        Rows that the means are taken over.
    """

    def __init__(
        self,
        effects: Sequence[Effect],
        pairs: Sequence[Interaction],
        mean: Any,
        explained: tuple[float, float],
        n_rows: int,
    ):
        self._effects, self.pairs = tuple(effects), tuple(pairs)
        self.mean, self.explained, self.n_rows = mean, explained, n_rows

    def __len__(self) -> int:
        return len(self._effects)

    def __getitem__(self, key: Any) -> Any:
        """The effect of a place or a column; the interaction of two columns by their names."""
        if isinstance(key, str):
            for effect in self._effects:
                if effect.name == key:
                    return effect
            raise KeyError(f"There is no column {key!r}; there are {', '.join(e.name for e in self._effects)}.")
        if isinstance(key, tuple):
            for pair in self.pairs:
                if set(pair.names) == set(key):
                    return pair
            raise KeyError(f"There is no map of {' and '.join(map(repr, key))}: ask effects(X, pairs=[{key!r}]).")
        return self._effects[key]

    def __iter__(self) -> Iterator[Effect]:
        return iter(self._effects)

    def __str__(self) -> str:
        curves, maps = (f"{share:.1%}" for share in self.explained)
        moving = [effect for effect in self._effects if effect.importance > 0.0]
        lines = [f"{'deviation':>10}  effect on the decision, lowest to highest", *map(str, moving)]
        if len(moving) < len(self):
            lines.append(f"{counted(len(self) - len(moving), 'column')} without an effect")
        if self.pairs:
            lines += ["two columns together, beyond their own effects", *map(str, self.pairs)]
        also = f", with the maps {maps}" if self.pairs else ""
        lines.append(f"the curves account for {curves} of the variance over {counted(self.n_rows, 'row')}{also}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Effects of {counted(len(self), 'column')} and {counted(len(self.pairs), 'pair')}>"


class _Sum:
    """A decision in the unit cube, term by term; its means over rows where some columns are set to given values."""

    def __init__(self, mapping: FeatureMap, coef: Float2D, rows: Float2D):
        weights = (coef if mapping.width is None else coef / mapping.width).T
        extras, n, identity = mapping.extras, rows.shape[1], np.eye(rows.shape[1], dtype=np.int64)
        parts = [each.exponents for each in mapping.lists]
        parts += [identity[extras.inputs], identity[extras.left] + identity[extras.right]]
        exponents, places = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        *own, inputs, products = np.split(places.ravel(), np.cumsum([len(part) for part in parts])[:-1])
        polynomials = np.zeros((len(exponents), mapping.n_generators))
        start = 0
        for each, place in zip(mapping.lists, own, strict=True):
            np.add.at(polynomials, (place[:, None], np.arange(start, start + len(each))), each.coef.T)
            start += len(each)
        ends = np.cumsum([mapping.absolute.size, mapping.signed.size, extras.inputs.size, extras.hinges.size])
        bars, signed, linear, self.bent, products_of = np.split(weights, ends)
        self.exponents, self.rows = exponents, rows
        self.plain = polynomials[:, mapping.signed] @ signed
        np.add.at(self.plain, inputs, linear)
        np.add.at(self.plain, products, products_of)
        self.inner, self.outer = polynomials[:, mapping.absolute], bars
        self.hinges, self.knots = extras.hinges, extras.knots
        present = self.exponents > 0
        self.in_inner = (self.inner != 0.0).T.astype(np.int64) @ present > 0  # (n_absolute, n_columns)
        self.n_columns, self.n_scores = n, weights.shape[1]

    def has(self, columns: Sequence[int]) -> tuple[Bool1D, Bool1D]:
        """The monomials, and the polynomials within bars, that have all of these columns."""
        chosen = list(columns)
        plain, bars = (self.exponents[:, chosen] > 0).all(axis=1), self.in_inner[:, chosen].all(axis=1)
        return np.asarray(plain), np.asarray(bars)

    def change(self, columns: tuple[int, ...], points: Float2D) -> Float2D:
        """The mean of the terms with all of these columns, less that with fewer of them set; ``(n_points, n_scores)``.

        One column: less the mean over the rows. Two: less both effects of one, of the same terms.
        """
        has = self.has(columns)
        total = np.zeros((len(points), self.n_scores))
        for n_set in range(len(columns) + 1):
            for some in combinations(range(len(columns)), n_set):
                sign = (-1.0) ** (len(columns) - n_set)
                distinct, back = np.unique(points[:, list(some)], axis=0, return_inverse=True)
                total += sign * self._mean([columns[k] for k in some], distinct, *has)[back.ravel()]
        if len(columns) == 1:
            for j, knot, weight in zip(self.hinges, self.knots, self.bent, strict=True):
                if j == columns[0]:
                    beyond = np.maximum(points[:, 0] - knot, 0.0)
                    total += (beyond - np.maximum(self.rows[:, j] - knot, 0.0).mean())[:, None] * weight
        return total

    def _mean(self, columns: Sequence[int], points: Float2D, plain: Bool1D, bars: Bool1D) -> Float2D:
        """The mean of some terms over the rows with some columns at each of the points."""
        powers, group = np.unique(self.exponents[:, list(columns)], axis=0, return_inverse=True)
        group, rest = group.ravel(), self.exponents.copy()
        rest[:, list(columns)] = 0
        used = plain | (self.inner[:, bars] != 0.0).any(axis=1)
        group, others = group[used], _monomials(self.rows, rest[used])
        raised = np.prod(points[:, None, :] ** powers, axis=2)  # (n_points, n_powers)
        weights = np.where(plain[used, None], self.plain[used], 0.0)
        means = others.mean(axis=1)[:, None] * weights
        sums = np.zeros((len(powers), self.n_scores))
        np.add.at(sums, group, means)
        total = raised @ sums
        inner = self.inner[np.ix_(used, bars)]
        coefficients = np.stack([inner[group == p].T @ others[group == p] for p in range(len(powers))], axis=1)
        for own, weight in zip(coefficients, self.outer[bars], strict=True):  # (n_powers, n_rows)
            values = raised @ own
            total += np.abs(values, out=values).mean(axis=1)[:, None] * weight
        return np.asarray(total)


def _monomials(rows: Float2D, exponents: Int2D) -> Float2D:
    """Values of monomials, ``(n_terms, n_rows)``."""
    values = np.ones((len(exponents), len(rows)))
    for k, j in zip(*np.nonzero(exponents), strict=True):
        values[k] *= rows[:, j] if exponents[k, j] == 1 else rows[:, j] ** exponents[k, j]
    return values


def effects_of(model: Any, rows: Float2D, names: Sequence[str], pairs: Any) -> Effects:
    """The effects of a classifier with the built-in SVM, over rows in the units of the table."""
    inside, (coef, intercept) = cube_rows(rows, model.scaler_), model._planes
    decisions = np.asarray(model._used_map.scores(as_rows(inside), coef, intercept))
    terms, mean = _Sum(model._used_map, coef, inside), decisions.mean(axis=0)
    left, single = decisions - mean, len(intercept) == 1
    labels = tuple((model.classes_[1:] if single else model.classes_).tolist())
    effects = []
    for j, name in enumerate(names):
        grid = _grid(rows[:, j], BINS)
        values = terms.change((j,), _points(model, rows, [j], grid[:, None]))
        at_rows = np.column_stack([np.interp(rows[:, j], grid, column) for column in values.T])
        left = left - at_rows
        few = np.array_equal(np.unique(rows[:, j]), grid)
        counts, edges = (np.unique(rows[:, j], return_counts=True)[1], grid) if few else np.histogram(rows[:, j], BINS)
        shown = values[:, 0] if single else values
        effects.append(Effect(name, grid, shown, counts, edges, float(at_rows.std(axis=0).max()), labels))
    total = float(((decisions - mean) ** 2).sum())
    by_curves = _share(left, total)
    maps = []
    for i, j in _chosen_pairs(terms, inside, left, names, pairs):
        grids = _grid(rows[:, i], BINS // 3), _grid(rows[:, j], BINS // 3)
        corners = np.stack(np.meshgrid(*grids, indexing="ij"), axis=2).reshape(-1, 2)
        shape = (grids[0].size, grids[1].size, -1)
        values = terms.change((i, j), _points(model, rows, [i, j], corners)).reshape(shape)
        at_rows = _interpolated(grids, values, rows[:, [i, j]])
        left = left - at_rows
        shown = values[:, :, 0] if single else values
        maps.append(Interaction((names[i], names[j]), grids, shown, float(at_rows.std(axis=0).max()), labels))
    effects.sort(key=lambda effect: -effect.importance)
    maps.sort(key=lambda pair: -pair.importance)
    explained = by_curves, _share(left, total)
    return Effects(effects, maps, float(mean[0]) if single else mean, explained, len(rows))


def _share(left: Float2D, total: float) -> float:
    """The share of a variance that is accounted for, where ``left`` is not."""
    return 1.0 - float(((left - left.mean(axis=0)) ** 2).sum()) / total if total > 0.0 else 1.0


def _grid(values: Float1D, n_points: int) -> Float1D:
    """The values of a column if they are few, else quantiles among them and evenly spaced ones."""
    distinct = np.unique(values)
    if distinct.size <= n_points:
        return distinct
    levels = np.linspace(0.0, 1.0, n_points // 2)
    quantiles = np.quantile(values, levels, method="inverted_cdf")
    return np.unique(np.concatenate([quantiles, np.linspace(distinct[0], distinct[-1], n_points // 2)]))


def _points(model: Any, rows: Float2D, columns: list[int], points: Float2D) -> Float2D:
    """Values of some columns in the unit cube."""
    filled = np.repeat(rows[:1], len(points), axis=0)
    filled[:, columns] = points
    return cube_rows(filled, model.scaler_)[:, columns]


def _interpolated(grids: tuple[Float1D, Float1D], values: Array, rows: Float2D) -> Float2D:
    """The values of a map at rows; a column of one value alone has no interaction."""
    if min(map(len, grids)) < 2:
        return np.zeros((len(rows), values.shape[2]))
    return np.asarray(RegularGridInterpolator(grids, values)(rows))


def _chosen_pairs(
    terms: _Sum, inside: Float2D, left: Float2D, names: Sequence[str], pairs: Any
) -> list[tuple[int, int]]:
    """The pairs of columns that a user names, or the pairs whose product correlates most with what the curves leave."""
    if not isinstance(pairs, (int, np.integer)):
        return [_places(names, pair) for pair in pairs]
    deviation = inside.std(axis=0)
    scaled = (inside - inside.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    size = sum(np.abs(scaled.T @ (column[:, None] * scaled)) for column in left.T) + np.zeros((terms.n_columns,) * 2)
    there = [pair for pair in combinations(range(terms.n_columns), 2) if any(part.any() for part in terms.has(pair))]
    return sorted(there, key=lambda pair: -float(size[pair]))[: int(pairs)]


def _places(names: Sequence[str], pair: Any) -> tuple[int, int]:
    """The places of two columns."""
    known = list(names)
    two = tuple(known.index(name) if name in known else -1 for name in pair)
    if len(two) != 2 or -1 in two or two[0] == two[1]:
        raise ValueError(f"pairs must hold two different columns each, of {quoted(known[0])}, ...; got {pair!r}.")
    return two
