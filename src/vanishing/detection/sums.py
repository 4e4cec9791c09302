"""The sums of a detector over rows: the Gram of the monomials, and a sample of at most 10,000 rows.

Both add up over blocks, over batches of a stream and over sites. The sample keeps runs of consecutive rows together and
in their order: rows that follow each other in time show how fast they change only if their neighbours are there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..engine.gram import border_gram, mean_gram, sum_of_products, weight_of
from ..polynomials.forms import term_values
from ..rows.array_api import namespace_of, on_device_of, to_host
from ..rows.arrays import ArrayRows
from ..rows.protocol import Block, Cost, Rows
from ..rows.sampling import random_keys
from .christoffel import Monomials
from .columns import Standardised
from .products import gram_of_values

SAMPLE = 10_000  # rows behind the regimes and the calibration
RUN = 100  # consecutive rows that a sample takes or leaves as a whole: ten times the memory of the evidence over time

_AMPLE = 2  # rows with a key over rows of a sample, where their number is known
ROWS_AT_ONCE = 2048  # rows whose monomials are evaluated together: more leave the cache, fewer cost calls
MOST_NUMBERS = (
    2**24
)  # numbers that are kept besides the sample: rows set aside, models of gaps, tables of reports; 128 MB


class Sample(NamedTuple):
    """Rows in the units of the table, in their order; of more than 10,000 those with the smallest keys.

    A key is a hash of the place of a run: the rows of a run have the same key.
    """

    keys: Float1D
    X: Float2D
    weights: Float1D

    def among(self, chosen: Int1D | Bool1D) -> Sample:
        """Some of the rows."""
        return Sample(self.keys[chosen], self.X[chosen], self.weights[chosen])


def add_samples(a: Sample, b: Sample) -> Sample:
    """The sample of the rows of both; the arguments stay unchanged."""
    return join_samples((a, b))


def join_samples(samples: Sequence[Sample]) -> Sample:
    """The sample of the rows of several samples."""
    whole = Sample(*(np.concatenate(parts) for parts in zip(*samples, strict=True)))
    if len(whole.keys) <= SAMPLE:
        return whole
    limit = np.partition(whole.keys, SAMPLE)[SAMPLE]  # a run is kept or dropped as a whole
    return whole.among(np.flatnonzero(whole.keys < limit))


class Sums(NamedTuple):
    """Sum of the products of the monomials over rows, the rows' total weight and number, and samples of them.

    ``n_missing`` rows with missing values were left out. The samples of blocks or batches wait to be joined, as each
    join copies them all.
    """

    gram: Float2D
    total_weight: float
    n_samples: int
    samples: tuple[Sample, ...]
    n_missing: int = 0

    @property
    def sample(self) -> Sample:
        """The sample of all rows."""
        return self.samples[0] if len(self.samples) == 1 else join_samples(self.samples)

    def joined(self) -> Sums:
        """The same sums, with no sample that waits."""
        return self._replace(samples=(self.sample,))


def add_sums(a: Sums, b: Sums) -> Sums:
    """The sums over the rows of both; the arguments stay unchanged."""
    both = Sums(
        a.gram + b.gram,
        a.total_weight + b.total_weight,
        a.n_samples + b.n_samples,
        (*a.samples, *b.samples),
        a.n_missing + b.n_missing,
    )
    return both.joined() if sum(len(sample.keys) for sample in both.samples) > 3 * SAMPLE else both


def sum_rows(
    rows: Rows,
    monomials: Monomials,
    batch: int = 0,
    *,
    run: int = 1,
    clipped: bool = True,
    complete: Callable[[Block], Block] | None = None,
) -> Sums:
    """The sums over all rows, in one pass; ``batch`` numbers the batches of a stream, ``run`` is that of the sample.

    ``clipped=False`` says that no value is far enough from the mean to be clipped. For sources outside of memory,
    ``complete`` chooses the rows of a block without missing values.
    """
    units = monomials.units if clipped else replace(monomials.units, clip=np.inf)
    if isinstance(rows, ArrayRows):
        weight = float(len(rows) if rows.sample_weight is None else rows.sample_weight.sum())
        sample = sample_array(rows, batch, run)
        return Sums(_gram_of_array(rows, units, monomials, weight), weight, len(rows), (sample,))
    rate, n_terms = sampling_rate(rows), monomials.program.size

    def kernel(block: Block) -> Sums:
        n_all = int(block.X.shape[0])
        block = block if complete is None else complete(block)
        n_rows, total = int(block.X.shape[0]), np.zeros((n_terms - 1, n_terms))
        if n_rows:
            total = sum_of_products(units.units(block.X), block.weights, monomials.program, 1)
        gram = border_gram(np.array([[weight_of(block)]]), total)
        return Sums(gram, weight_of(block), n_rows, (sample_block(block, batch, run, rate),), n_all - n_rows)

    return rows.reduce(kernel, add_sums, Cost(n_terms**2, 2 * n_terms)).joined()


def _gram_of_array(rows: ArrayRows, units: Standardised, monomials: Monomials, weight: float) -> Float2D:
    """Sum of the products of the monomials over rows in memory; at once for few rows."""
    if len(rows) > ROWS_AT_ONCE:
        return border_gram(np.array([[weight]]), weight * mean_gram(rows.changed(units), monomials.program, 1))
    values = term_values(units.units(np.asarray(rows.X[:])), monomials.program)
    return gram_of_values(values, rows.sample_weight, monomials.terms)


def sampling_rate(rows: Rows) -> float:
    """The share of the rows with a key: twice the sample, or all rows if their number is unknown."""
    return 1.0 if rows.n_samples is None else min(_AMPLE * SAMPLE / max(rows.n_samples, 1), 1.0)


def _keys_of_runs(part: int, start: int, n_rows: int, batch: int, run: int) -> tuple[Float1D, Int1D]:
    """Keys in [0, 1) of the runs that rows of a part belong to, and the first row of each run, counted from start."""
    first, last = start // run, (start + max(n_rows, 1) - 1) // run
    keys = random_keys(Block(np.empty((last - first + 1, 0)), part=part + batch, start=first))
    return keys, np.maximum(np.arange(first, last + 1) * run - start, 0)


def sample_array(rows: ArrayRows, batch: int = 0, run: int = 1) -> Sample:
    """The sample of rows in memory with positive weights."""
    sample = _drawn(rows, SAMPLE, batch, run)
    return sample if sample.weights.all() else sample.among(np.flatnonzero(sample.weights))


def sample_complete(rows: ArrayRows, run: int = 1) -> Sample:
    """The sample of rows in memory without those that have missing values or weight 0."""
    sample = _drawn(rows, _AMPLE * SAMPLE, 0, run)
    return join_samples([sample.among(np.isfinite(sample.X).all(axis=1) & (sample.weights > 0.0))])


def _drawn(rows: ArrayRows, most: int, batch: int, run: int) -> Sample:
    """At most ``most`` rows in memory: those of the runs with the lowest keys."""
    n_rows = len(rows)
    keys, begins = _keys_of_runs(0, 0, n_rows, batch, run)
    lengths = np.diff(np.append(begins, n_rows))
    chosen = np.arange(n_rows)
    if n_rows > most:
        n_runs = most // run
        kept = keys < np.partition(keys, n_runs)[n_runs]
        chosen = np.flatnonzero(np.repeat(kept, lengths))
    weights = np.ones(chosen.size) if rows.sample_weight is None else rows.sample_weight[chosen]
    X = np.array(rows.X[:] if chosen.size == n_rows else rows.X[chosen], dtype=np.float64)
    return Sample(np.repeat(keys, lengths)[chosen], X, weights)


def sample_block(block: Block, batch: int = 0, run: int = 1, rate: float = 1.0) -> Sample:
    """The rows of one block whose runs have keys below ``rate``, without those of weight 0."""
    n_rows = int(block.X.shape[0])
    keys, begins = _keys_of_runs(block.part, block.start, n_rows, batch, run)
    lengths = np.diff(np.append(begins, n_rows))
    chosen = np.flatnonzero(np.repeat(keys < rate, lengths))
    X = block.X
    if chosen.size < n_rows:
        X = namespace_of(X).take(X, on_device_of(X, chosen), axis=0)
    weights = np.ones(chosen.size)
    if block.weights is not None:
        weights = np.asarray(to_host(block.weights), dtype=np.float64)[chosen]
    sample = Sample(np.repeat(keys, lengths)[chosen], np.array(to_host(X), dtype=np.float64), weights)
    return sample if weights.all() else sample.among(np.flatnonzero(weights))
