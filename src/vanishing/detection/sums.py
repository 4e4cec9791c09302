"""What a detector keeps of the rows: the Gram of the monomials, and a sample of at most 10,000 rows.

Both add up, over blocks, over batches of a stream and over sites.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array, Float1D, Float2D, Int1D
from ..engine.gram import block_rows, border_gram, products_and_range
from ..rows.array_api import namespace_of, on_device_of, to_host
from ..rows.protocol import Block, InFolds, Rows
from .christoffel import Monomials

__all__ = ["SAMPLE", "Sample", "Sums", "add_samples", "add_sums", "sample_block", "sum_rows"]

SAMPLE = 10_000  # rows from which regimes are found and scores are calibrated

_PLACES = InFolds((0,), 2**62)  # as a hash of the places of rows


class Sample(NamedTuple):
    """Rows in the units of the table; of more than 10,000 those whose places have the smallest hashes."""

    keys: Array
    X: Float2D
    weights: Float1D

    def plus(self, other: Sample) -> Sample:
        """The sample of the rows of both."""
        if len(self.keys) == SAMPLE:
            other = other._among(np.flatnonzero(other.keys < self.keys.max()))
        if not len(other.keys):
            return self
        both = Sample(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))
        return both if len(both.keys) <= SAMPLE else both._among(np.sort(np.argpartition(both.keys, SAMPLE)[:SAMPLE]))

    def _among(self, chosen: Int1D) -> Sample:
        return Sample(self.keys[chosen], self.X[chosen], self.weights[chosen])


class Sums(NamedTuple):
    """Sum of the products of the monomials over rows, the rows' total weight and number, and a sample of them."""

    gram: Float2D
    total_weight: float
    n_samples: int
    sample: Sample

    def plus(self, other: Sums) -> Sums:
        """The sums over the rows of both."""
        return Sums(
            self.gram + other.gram,
            self.total_weight + other.total_weight,
            self.n_samples + other.n_samples,
            self.sample.plus(other.sample),
        )


def add_samples(a: Sample, b: Sample) -> Sample:
    """The sample of the rows of both; the arguments stay what they are."""
    return a.plus(b)


def add_sums(a: Sums, b: Sums) -> Sums:
    """The sums over the rows of both; the arguments stay what they are."""
    return a.plus(b)


def sum_rows(rows: Rows, monomials: Monomials, batch: int = 0) -> Sums:
    """The sums over all rows, in one pass; ``batch`` numbers the batches of a stream."""
    left, right, units = monomials.left, monomials.right, monomials.units

    def kernel(block: Block) -> Sums | None:
        if block.X.shape[0] == 0:
            return None
        total, _ = products_and_range(units.units(block.X), block.weights, left, right)
        weight = float(block.X.shape[0] if block.weights is None else namespace_of(block.X).sum(block.weights))
        return Sums(border_gram(np.array([[weight]]), total), weight, int(block.X.shape[0]), sample_block(block, batch))

    length = block_rows(left.size**2, left.size)
    return rows.reduce_blocks(kernel, add_sums, block_rows=length, width=2 * left.size)


def sample_block(block: Block, batch: int = 0) -> Sample:
    """The sample of one block: without rows of weight 0."""
    part = (block.part + 4096 * batch) % 2**23
    keys = _PLACES.fold_of(part, block.start, block.X.shape[0])
    weights = np.ones(len(keys)) if block.weights is None else np.asarray(to_host(block.weights), dtype=np.float64)
    chosen = np.flatnonzero(weights > 0.0)
    if chosen.size > SAMPLE:
        chosen = np.sort(chosen[np.argpartition(keys[chosen], SAMPLE)[:SAMPLE]])
    X = (
        block.X
        if chosen.size == len(keys)
        else namespace_of(block.X).take(block.X, on_device_of(block.X, chosen), axis=0)
    )
    return Sample(keys[chosen], np.array(to_host(X), dtype=np.float64), weights[chosen])
