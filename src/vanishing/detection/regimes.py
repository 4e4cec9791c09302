"""Local quadratics for rows of several regimes: a mixture of Gaussian shapes around k-means centres.

With centres c of weights pi_c and covariances S_c, shrunk to the pooled one,

    C(x) = mean over seeds of  -log sum_c pi_c |S_c|^(-1/2) exp(-q_c(x) / 2),    q_c(x) = (x - c)' S_c^-1 (x - c):

minus the logarithm of a density, a sum of exponentials of quadratic polynomials, which are evaluated like all other
polynomials. Anomalies among the rows of the fit may have centres of their own, but rarely a high density.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import count
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from .._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ..polynomials.forms import term_values
from ..polynomials.terms import Program, terms_up_to
from ..rows.array_api import in_float64, namespace_of, on_device_of
from .calibration import NORMAL_RANGE, weighted_quantiles
from .christoffel import MOST_TERMS
from .columns import CLIP, RIDGE, TIGHT, principal_directions
from .hashes import symmetric_keys

_SEEDS = 5  # mixtures whose C is averaged
MOST_CENTRES = 128  # centres of a mixture: five mixtures of 66 terms take ten microseconds for a row
NARROW = 0.15  # inter-quartile range over range, below which a column has heavy tails: about 0.2 for 300 normal rows


@dataclass(frozen=True)
class Shape:
    """The units of regimes: columns robustly scaled, those with heavy tails by arcsinh, and then standardised."""

    kept: Int1D
    centre: Float1D
    scale: Float1D
    heavy: Float1D
    mean: Float1D
    deviation: Float1D
    directions: Float2D | None = None

    @classmethod
    def of_rows(cls, X: Float2D, weights: Float1D, without: Sequence[int] = ()) -> Shape:
        """The scaling of the columns of ``X`` that are not constant, but for those in ``without``."""
        kept = np.setdiff1d(np.flatnonzero(X.min(axis=0) < X.max(axis=0)), np.asarray(without, dtype=np.int64))
        X = X[:, kept]
        low, centre, high = np.array([weighted_quantiles(x, weights, [0.25, 0.5, 0.75]) for x in X.T]).T
        spread = np.sqrt(np.average((X - np.average(X, axis=0, weights=weights)) ** 2, axis=0, weights=weights))
        scale = np.where(high > low, (high - low) / NORMAL_RANGE, spread)
        heavy = (high - low < NARROW * np.ptp(X, axis=0)).astype(np.float64)
        first = cls(np.arange(len(kept)), centre, scale, heavy, np.zeros(len(kept)), np.ones(len(kept)))
        Z = first.units(X)
        mean = np.average(Z, axis=0, weights=weights)
        deviation = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=weights))
        shape = replace(first, kept=kept, mean=mean, deviation=np.where(deviation > 0.0, deviation, 1.0))
        if len(kept) <= _most_columns():
            return shape
        Z = (Z - mean) / shape.deviation
        return replace(shape, directions=principal_directions((Z * weights[:, None]).T @ Z, _most_columns())[1])

    def units(self, X: Any) -> Any:
        """Rows in these units."""
        namespace = namespace_of(X)
        X = in_float64(namespace.take(X, on_device_of(X, self.kept), axis=1))
        centre, scale, heavy, mean, deviation = (
            on_device_of(X, part) for part in (self.centre, self.scale, self.heavy, self.mean, self.deviation)
        )
        Z = (X - centre) / scale
        Z = (namespace.where(heavy > 0.0, namespace.asinh(Z), Z) - mean) / deviation
        Z = namespace.clip(Z, -2.0 * CLIP, 2.0 * CLIP)
        return Z if self.directions is None else Z @ on_device_of(Z, self.directions)


class Mixture(NamedTuple):
    """One k-means solution: for every centre its weight, place and covariance."""

    sizes: Float1D
    centres: Float2D
    covariances: Float2D

    def log_heights(self) -> Float1D:
        """``log pi_c - log |S_c| / 2``: the logarithm of the density at each centre, up to a constant."""
        return np.asarray(np.log(self.sizes / self.sizes.sum()) - 0.5 * np.linalg.slogdet(self.covariances)[1])

    def quadratics(self) -> Float2D:
        """Coefficients of ``log_heights - q_c / 2`` on all terms of degree up to 2, ``(n_centres, n_terms)``."""
        n = self.centres.shape[1]
        precision = np.linalg.inv(self.covariances)
        pulls = np.einsum("cij,cj->ci", precision, self.centres)
        rows, columns = np.triu_indices(n)
        twice = np.where(rows == columns, 1.0, 2.0)
        constant = self.log_heights() - 0.5 * np.einsum("ci,ci->c", pulls, self.centres)
        return np.hstack([constant[:, None], pulls, -0.5 * twice * precision[:, rows, columns]])


class Ceiling(NamedTuple):
    """An upper bound on C, from one quadratic for each centre of the first mixture.

    A sum of exponentials is at least each of its terms, so ``C(x)`` is at most the mean over seeds of
    ``q_c(x) / 2`` less the height of c, with one centre c of each mixture. These are the centre of the first mixture
    nearest to x, and the most likely centres of the others at that place.
    """

    centres: Float2D
    squares: Float1D
    coef: Float2D

    @classmethod
    def of_mixtures(cls, mixtures: Sequence[Mixture], quadratics: Sequence[Float2D]) -> Ceiling:
        """The bound on the C of these mixtures with these quadratics."""
        centres = mixtures[0].centres
        table = term_values(centres, _quadratic_program(centres.shape[1]))
        chosen = [coef[np.argmax(coef @ table, axis=0)] for coef in quadratics]
        return cls(np.ascontiguousarray(centres.T), (centres**2).sum(axis=1), -np.mean(chosen, axis=0))

    def of_units(self, Z: Float2D) -> Float1D:
        """The bound on rows in the units of the regimes."""
        nearest = np.argmin(self.squares - 2.0 * (Z @ self.centres), axis=1)
        table = term_values(Z, _quadratic_program(Z.shape[1]))
        return np.asarray(np.einsum("it,ti->i", self.coef[nearest], table))


@dataclass(frozen=True)
class Regimes:
    """C, from mixtures of several seeds."""

    shape: Shape
    mixtures: tuple[Mixture, ...]
    coef: tuple[Float2D, ...]
    ceiling: Ceiling

    @classmethod
    def of_mixtures(cls, shape: Shape, mixtures: Sequence[Mixture]) -> Regimes:
        """The regimes of these mixtures."""
        quadratics = tuple(mixture.quadratics() for mixture in mixtures)
        return cls(shape, tuple(mixtures), quadratics, Ceiling.of_mixtures(mixtures, quadratics))

    def bound(self, X: Float2D) -> Float1D:
        """An upper bound on C for rows in memory, at a fifth of its cost."""
        return self.ceiling.of_units(self.shape.units(X))

    def surprise(self, X: Any) -> Any:
        """C on rows in the units of the table, one value per row."""
        Z = self.shape.units(X)
        table = term_values(Z, _quadratic_program(Z.shape[1]))
        scores = [-_log_sum(on_device_of(X, coef) @ table, namespace_of(X)) for coef in self.coef]
        return sum(scores[1:], scores[0]) / len(scores)

    @property
    def lean(self) -> Regimes:
        """What values of C need."""
        return replace(self, mixtures=())

    @property
    def width(self) -> int:
        """About how many numbers of working memory a row takes."""
        return sum(sum(coef.shape) for coef in self.coef)

    def without(self, missing: Sequence[int]) -> Regimes | None:
        """The regimes of the other columns, the marginal distributions; None without any, or if directions mix them."""
        k = np.flatnonzero(~np.isin(self.shape.kept, np.asarray(missing, dtype=np.int64)))
        if k.size == 0 or self.shape.directions is not None:
            return None
        shape = Shape(*(getattr(self.shape, field.name)[k] for field in fields(Shape) if field.name != "directions"))
        marginal = [
            Mixture(mixture.sizes, mixture.centres[:, k], mixture.covariances[:, k[:, None], k])
            for mixture in self.mixtures
        ]
        return Regimes.of_mixtures(shape, marginal)


@lru_cache(maxsize=1)
def _most_columns() -> int:
    """The most columns whose quadratics have no more terms than q; more are replaced by principal directions."""
    return next(n for n in count(1) if comb(n + 3, 2) > MOST_TERMS)


@lru_cache(maxsize=8)
def _quadratic_program(n: int) -> Program:
    return Program.of(terms_up_to(2, n))


def _log_sum(values: Any, namespace: Any) -> Any:
    """``log sum exp`` over the first axis; overwrites values on the host, which saves the time of new memory."""
    largest = namespace.max(values, axis=0)
    if isinstance(values, np.ndarray):
        values -= largest
        return largest + np.log(np.exp(values, out=values).sum(axis=0))
    return largest + namespace.log(namespace.sum(namespace.exp(values - largest), axis=0))


def fit_regimes(X: Float2D, weights: Float1D, chosen: Bool1D | None = None) -> tuple[Regimes, Float1D]:
    """The regimes of rows, or of the ``chosen`` ones, and C of every row by the regimes without it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.vstack([np.random.default_rng(0).normal(c, 0.1, (50, 2)) for c in (0.0, 5.0)])
    >>> regimes, left_out = fit_regimes(X, np.ones(100))
    >>> between, within = regimes.surprise(np.array([[2.5, 2.5], [5.0, 5.0]]))
    >>> bool(between > left_out.max() > within)
    True
    """
    chosen = np.ones(len(X), dtype=bool) if chosen is None else chosen
    shape = Shape.of_rows(X[chosen], weights[chosen])
    Z, weights = shape.units(X), weights[chosen]
    table = term_values(Z, _quadratic_program(Z.shape[1]))
    mixtures, scores = [], np.empty((_SEEDS, len(X)))
    for seed in range(_SEEDS):
        labels = _k_means(Z[chosen], weights, MOST_CENTRES, symmetric_keys(X[chosen], seed))
        mixture, strength = _mixture(Z[chosen], weights, labels)
        mixtures.append(mixture)
        values = mixture.quadratics() @ table
        scores[seed, chosen] = _left_out(mixture, strength, values[:, chosen], labels, weights)
        scores[seed, ~chosen] = -_log_sum(values[:, ~chosen], np)
    return Regimes.of_mixtures(shape, mixtures), scores.mean(axis=0)


def fit_regimes_of_series(
    X: Float2D, weights: Float1D, blocks: Sequence[tuple[tuple[int, int], tuple[int, int]]], without: Sequence[int]
) -> tuple[Regimes, Float1D]:
    """The regimes of rows that follow each other, and C of every row by the regimes without its block.

    The number of centres grows, 1, 2, 4, ..., as long as the median of C out of block falls. Rows are assigned to
    centres once; weights, centres and covariances without a block are those of the other rows, so a centre that only
    the block has is gone. Of each block, ``blocks`` has the rows, and the rows to leave out with it.
    """
    shape = Shape.of_rows(X, weights, without)
    Z = shape.units(X)
    table = term_values(Z, _quadratic_program(Z.shape[1]))

    def fit(n_centres: int, seed: int) -> tuple[Mixture, Float1D]:
        labels = _k_means(Z, weights, n_centres, symmetric_keys(X, seed))
        return _mixture(Z, weights, labels)[0], _out_of_block(Z, weights, labels, blocks, table)

    best, least = 1, np.inf
    for n_centres in (2**k for k in range(int(np.log2(MOST_CENTRES)) + 1)):
        middle = float(weighted_quantiles(fit(n_centres, 0)[1], weights, [0.5])[0])
        if middle >= least:
            break
        best, least = n_centres, middle
    mixtures, scores = zip(*(fit(best, seed) for seed in range(_SEEDS)), strict=True)
    return Regimes.of_mixtures(shape, mixtures), np.mean(scores, axis=0)


def _out_of_block(
    Z: Float2D,
    weights: Float1D,
    labels: Int1D,
    blocks: Sequence[tuple[tuple[int, int], tuple[int, int]]],
    table: Float2D,
) -> Float1D:
    """C of the rows of each block by the mixture of the rows that are not left out with it."""
    scores = np.empty(len(Z))
    for (start, stop), (first, last) in blocks:
        rest = np.r_[0:first, last : len(Z)]
        others = np.unique(labels[rest], return_inverse=True)[1]
        coef = _mixture(Z[rest], weights[rest], others)[0].quadratics()
        scores[start:stop] = -_log_sum(coef @ table[:, start:stop], np)
    return scores


def _k_means(Z: Float2D, weights: Float1D, n_centres: int, keys: Array) -> Int1D:
    """Labels 0, 1, ... by Lloyd's iterations from the rows with the lowest keys."""
    distinct = np.unique(keys, return_index=True)[1]
    centres = Z[distinct[: min(n_centres, max(len(distinct) // 2, 1))]]
    labels = np.full(len(Z), -1)
    for _ in range(len(Z)):  # the labels settle long before
        before, labels = labels, np.argmin((centres**2).sum(axis=1) - 2.0 * (Z @ centres.T), axis=1)
        if np.array_equal(labels, before):
            break
        members = csr_array((weights, (labels, np.arange(len(Z)))), shape=(len(centres), len(Z)))
        size = members.sum(axis=1)
        centres = np.where(size[:, None] > 0.0, members @ Z / np.maximum(size, 1e-300)[:, None], centres)
    return np.unique(labels, return_inverse=True)[1]


def _mixture(Z: Float2D, weights: Float1D, labels: Int1D) -> tuple[Mixture, float]:
    """The mixture of labelled rows, and the strength of the shrinkage, its pull over the degrees of freedom.

    Covariances are shrunk as if each regime had n more rows of the pooled covariance: a pull of n.
    """
    n, total = Z.shape[1], float(weights.sum())
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    sizes = np.array([weights[part].sum() for part in parts])
    centres = np.array([weights[part] @ Z[part] for part in parts]) / sizes[:, None]
    deviations = (Z - centres[labels]) * np.sqrt(weights)[:, None]
    scatters = np.array([deviations[part].T @ deviations[part] for part in parts])
    freedom = max(total - len(parts), 1.0)
    pooled = scatters.sum(axis=0) / freedom
    pooled[np.diag_indices(n)] += TIGHT * max(np.trace(pooled) / n, RIDGE)  # tighter directions are equations
    pull = float(n)
    covariances = (scatters + pull * pooled) / (sizes + pull)[:, None, None]
    return Mixture(sizes, centres, covariances), pull / freedom


def _left_out(mixture: Mixture, strength: float, values: Float2D, labels: Int1D, weights: Float1D) -> Float1D:
    """C of the rows, each left out of its own regime.

    Leaving out a row is a change of rank 1 of the regime's covariance: with ``t = q / (size + pull)``, the distance
    becomes ``(size' + pull) (size / size')^2 t / (1 - a t)``, where ``size' = size - u`` and
    ``a = u size / size' (1 + pull / freedom)``, and the determinant ``((size + pull) / (size' + pull))^n (1 - a t)``
    times as large. A row alone in its regime is measured from the others.
    """
    rows = np.arange(len(labels))
    total, pull = float(mixture.sizes.sum()), float(mixture.centres.shape[1])
    u = np.minimum(weights, 1.0)
    size = mixture.sizes[labels]
    rest = size - u
    alone = rest <= 1e-9 * size
    rest = np.where(alone, 1.0, rest)
    heights = mixture.log_heights()[labels]
    distance = np.maximum(2.0 * (heights - values[labels, rows]), 0.0)
    t = distance / (size + pull)
    shrinkage = np.maximum(1.0 - u * size / rest * (1.0 + strength) * t, 1e-3)
    distance = (rest + pull) * (size / rest) ** 2 * t / shrinkage
    values = values + np.log(total / np.maximum(total - u, 1e-300))
    log_determinant = pull * np.log((size + pull) / (rest + pull)) + np.log(shrinkage)  # without the row, less with it
    heights = heights + np.log(rest / size * total / np.maximum(total - u, 1e-300)) - log_determinant / 2.0
    values[labels, rows] = np.where(alone, -np.inf, heights - distance / 2.0)
    if len(mixture.sizes) == 1 and alone.any():
        return np.zeros(len(labels))
    return np.asarray(-logsumexp(values, axis=0))
