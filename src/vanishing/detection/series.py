"""Rows that follow each other in time: how they are recognised, and how a model is judged on blocks left out.

A row's neighbours in time are nearly equal to it. A model without the row, but with its neighbours, still knows it, so
scores of rows left out one by one promise too much. In a series, whole blocks of consecutive rows are left out, with a
gap on either side. Everything without a block is a difference of sums: the Gram, the equations refitted to it, and the
local quadratics of the regimes.

The blocks also say how much the rows know. With s the scores of rows out of their blocks,

    n_eff = n_blocks var(s) / var(block means of s)

is the number of independent rows behind them: block means of independent rows would vary by ``var(s) / rows of a
block``. It is the smallest for blocks of half, the same and twice their number, as rows may depend on each other over
any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import stats

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..constants import WIDE
from .calibration import weighted_quantiles
from .christoffel import Christoffel
from .columns import RIDGE, TIGHT, principal_directions
from .equations import Sparse, log_mean_square
from .sums import Sample

N_BLOCKS = 10  # blocks of consecutive rows: five vary too much in number, twenty take longer and change little
GAP = 0.5  # share of a block that is left out on either side of it: rows there are neighbours in time
OVERFIT = 0.25  # median of log q out of block less in sample, at most: five effective rows per term


class Series(NamedTuple):
    """What was decided about rows that follow each other.

    ``correlation`` is the largest lag-1 correlation of a column, ``left_out`` the drifting columns that G and C do
    without, ``degree`` that of G, ``n_effective`` the number of independent rows behind the limit, ``n_levels`` that of
    independent levels of the leading principal component, and ``rate`` the share of false alarms for which the limit is
    computed.
    """

    correlation: float
    left_out: tuple[int, ...]
    degree: int
    n_effective: float
    n_levels: float
    rate: float


def n_levels_needed() -> float:
    """Independent rows or levels below which a rate of false alarms cannot be promised.

    With fewer, blocks differ from each other by more than the rows of a block.
    """
    return 2.0 * N_BLOCKS


class Neighbours(NamedTuple):
    """Whether rows follow each other: the largest lag-1 correlation of a column, and the number of pairs behind it."""

    correlation: float
    n_pairs: int

    @classmethod
    def of_sample(cls, sample: Sample, *, whole: bool) -> Neighbours:
        """The correlation of the ranks of consecutive rows that differ.

        Rows of a sample follow each other within a run, which has one key, or everywhere if the sample is the ``whole``
        table. Repeated rows count once, as a weight would; ranks keep two outliers side by side from deciding.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.cumsum(np.random.default_rng(0).normal(size=(500, 2)), axis=0)
        >>> found = Neighbours.of_sample(Sample(np.zeros(500), X, np.ones(500)), whole=True)
        >>> round(found.correlation, 2), found.are_dependent
        (0.98, True)
        """
        differ = np.append(True, (sample.X[1:] != sample.X[:-1]).any(axis=1))
        keys, ranks = sample.keys[differ], stats.rankdata(sample.X[differ], axis=0)
        deviation = ranks.std(axis=0)
        Z = (ranks - ranks.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
        together = np.full(len(Z) - 1, True) if whole else keys[1:] == keys[:-1]
        if not together.any():
            return cls(0.0, 0)
        return cls(float(np.mean((Z[1:] * Z[:-1])[together], axis=0).max()), int(together.sum()))

    @property
    def are_dependent(self) -> bool:
        """Whether the correlation is beyond chance; that of independent rows has the standard error 1 / sqrt(pairs)."""
        return bool(self.correlation * np.sqrt(self.n_pairs) > WIDE)


def block_edges(n_rows: int, n_blocks: int | None = None) -> list[tuple[int, int]]:
    """First and last rows of the blocks."""
    edges = np.linspace(0, n_rows, min(n_blocks or N_BLOCKS, n_rows) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def without_block(edges: tuple[int, int], n_rows: int) -> tuple[int, int]:
    """First and last row to leave out with a block: the block and the gap on either side."""
    gap = int(GAP * n_rows / N_BLOCKS)
    return max(edges[0] - gap, 0), min(edges[1] + gap, n_rows)


def effective_rows(scores: Float1D) -> float:
    """The number of independent rows behind scores, from 3 to their number.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> effective_rows(np.repeat(rng.normal(size=20), 50)) < 50 < effective_rows(rng.normal(size=1000))
    True
    """
    found = float(len(scores))
    for n_blocks in (N_BLOCKS // 2, N_BLOCKS, 2 * N_BLOCKS):
        means = np.array([scores[a:b].mean() for a, b in block_edges(len(scores), n_blocks)])
        between = float(np.var(means, ddof=1)) / max(float(np.var(scores)), 1e-300)
        found = min(found, len(means) / max(between, 1e-300))
    return max(found, 3.0)


class BlockSums:
    """Sums of products of monomials over the rows of a sample, block by block, and what they say.

    Parameters
    ----------
    christoffel : Christoffel
        Of all monomials; its Gram is not used.
    sample : Sample
        Rows in the order of time.
    """

    def __init__(self, christoffel: Christoffel, sample: Sample):
        self.monomials, self.sample = christoffel.monomials, sample
        self.edges = block_edges(len(sample.X))
        self.values = self.monomials.values(sample.X)
        self.ranges = [without_block(edge, len(sample.X)) for edge in self.edges]
        self._total, self._weight = self._sum(0, len(sample.X))
        self._parts = [self._sum(a, b) for a, b in self.ranges]

    @property
    def both(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """First and last row of each block, and of the rows to leave out with it."""
        return list(zip(self.edges, self.ranges, strict=True))

    def _sum(self, start: int, stop: int) -> tuple[Float2D, float]:
        V, weights = self.values[:, start:stop], self.sample.weights[start:stop]
        return (V * weights) @ V.T, float(weights.sum())

    def without(self, index: Int1D | slice) -> Iterator[tuple[slice, Float2D]]:
        """For each block its rows and the Gram of some monomials over the rows outside of it."""
        total = self._total[index][:, index]
        for (start, stop), (part, weight) in zip(self.edges, self._parts, strict=True):
            rest = max(self._weight - weight, 1e-12 * self._weight)
            yield slice(start, stop), (total - part[index][:, index]) / rest

    def log_q(self, christoffel: Christoffel) -> tuple[Float1D, float]:
        """G of every row out of its block, and the median of what it is more than in the sample."""
        place = {term: k for k, term in enumerate(self.monomials.terms)}
        index = np.array([place[term] for term in christoffel.monomials.terms])
        penalty = christoffel.monomials.penalty(self.sample.X)
        out = np.empty(len(self.sample.X))
        for rows, gram in self.without(index):
            whitening = Christoffel.of_gram(christoffel.monomials, gram).whitening
            out[rows] = ((whitening @ self.values[index, rows]) ** 2).sum(axis=0)
        inside = Christoffel.of_gram(christoffel.monomials, self._total[np.ix_(index, index)] / self._weight)
        q = ((inside.whitening @ self.values[index]) ** 2).sum(axis=0)
        out, q = np.log(out + penalty), np.log(q + penalty)
        return out, float(weighted_quantiles(out - q, self.sample.weights, [0.5])[0])

    def largest_degree(self, christoffel: Christoffel, given: int | None) -> tuple[Christoffel, Float1D, int]:
        """q of the largest degree that holds out of block, or of a given one, its logarithm there, and the degree."""
        most = len(christoffel.monomials.terms[-1])
        if given is not None:
            return christoffel, self.log_q(christoffel)[0], most
        chosen: tuple[Christoffel, Float1D, int] | None = None
        for degree in range(1, most + 1):
            lower = christoffel.without((), degree)
            assert lower is not None
            out, overfit = self.log_q(lower)
            if chosen is not None and overfit > OVERFIT:
                break
            chosen = lower, out, degree
        assert chosen is not None
        return chosen

    def violation(self, found: Sparse, tight: Bool1D) -> Float1D:
        """E of every row, with the tight equations refitted without its block."""
        out = np.empty(len(self.sample.X))
        for rows, gram in self.without(slice(None)):
            coef, mse = found.refitted(gram)
            scale = np.sqrt(np.maximum(mse[tight], 1e-300))
            out[rows] = log_mean_square((coef[tight] @ self.values[found.places, rows]).T / scale)
        return out

    def drifting(self) -> list[int]:
        """Columns whose level wanders by itself.

        The part of such a column that the others do not explain, out of block, has most of its variance between the
        blocks. The worst column leaves, and the others are judged without it: two levels that wander explain each other
        by chance. Columns that a tight equation gives stay. With P the inverse Gram of the columns, the residual of
        column j is ``(P v)_j / P_jj``; P without the column is ``P - p p' / P_jj``, with p its column j.
        """
        V = self.values[self._columns]
        blocks = []
        for rows, gram in self.without(self._columns):
            P = np.linalg.inv(gram + RIDGE * np.eye(len(V)))
            blocks.append((rows, P, P @ V[:, rows]))
        left = list(range(1, len(V)))  # without the constant
        residual = np.empty((len(V), V.shape[1]))
        while left:
            for rows, P, products in blocks:
                residual[left, rows] = products[left] / np.diag(P)[left, None]
            between = np.var([residual[left, a:b].mean(axis=1) for a, b in self.edges], axis=0)
            spread = residual[left].var(axis=1)
            share = np.where(spread > TIGHT * V[left].var(axis=1), between / np.maximum(spread, 1e-300), 0.0)
            worst = left[int(np.argmax(share))]
            if 2.0 * share.max() <= 1.0:
                kept = self.monomials.columns[np.array(left) - 1]
                return [int(j) for j in self.monomials.columns if j not in kept]
            left.remove(worst)
            for _, P, products in blocks:
                row = P[worst] / P[worst, worst]
                products -= np.outer(row, products[worst])
                P -= np.outer(row, P[worst])
        return []  # a table where all columns drift

    def n_levels(self) -> float:
        """Independent values of the leading principal component of the columns: how often the level has changed."""
        V = self.values[self._columns[1:]]
        Z = (V - V.mean(axis=1, keepdims=True)) / np.maximum(V.std(axis=1, keepdims=True), 1e-150)
        return effective_rows(principal_directions(Z @ Z.T, 1)[1][:, 0] @ Z)

    @property
    def _columns(self) -> Int1D:
        """Places of the constant and of the columns among the monomials."""
        linear = [k for k, term in enumerate(self.monomials.terms) if len(term) < 2]
        return np.array(linear[: 1 + self.monomials.n_columns])
