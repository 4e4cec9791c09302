"""Random numbers of rows, hashes of their places: folds of a cross-validation in passes, and samples in one pass.

The number of a row depends neither on blocks nor on threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..checks import quoted
from ..constants import N_HASHES
from .array_api import namespace_of, on_device_of, to_host
from .arrays import ArrayRows
from .labels import Labelled
from .protocol import Block, Cost, where
from .reading import require_finite

_SPLITMIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)  # as published
FEWEST_IN_HALF = 20  # rows of half of a class: a sample has twice as many, and a class with fewer is not cut


@dataclass(frozen=True)
class NumberFolds:
    """Blocks with the fold of each of their rows, computed where the rows are.

    To be applied to a source itself, whose blocks know the places of their rows. Views of the same numbered rows
    compute the numbers once in a pass.
    """

    n_folds: int

    def __call__(self, block: Block) -> Block:
        """The block with its folds."""
        return block._replace(folds=fold_numbers(block.X, block.part, block.start, block.X.shape[0], self.n_folds))


@dataclass(frozen=True)
class InFolds:
    """The rows of some folds, of rows whose folds are numbered."""

    leaves_out_rows: ClassVar = True
    folds: tuple[int, ...]

    def __call__(self, block: Block) -> Block:
        """The rows that are in the folds."""
        chosen = block.folds == self.folds[0]
        for fold in self.folds[1:]:
            chosen = chosen | (block.folds == fold)
        return where(block, chosen)


def fold_numbers(X: Any, part: int, start: int, n_rows: int, n_folds: int) -> Any:
    """Folds of the rows from ``start`` on of a part of a source, on the device of ``X``.

    splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195) of the place, modulo the number of folds. The
    arithmetic of unsigned integers is done on signed ones, which all array libraries have: products wrap alike.

    Examples
    --------
    >>> import numpy as np
    >>> fold_numbers(np.empty((6, 1)), 0, 0, 6, 3)
    array([1, 0, 1, 1, 1, 0])
    """
    namespace = namespace_of(X)
    first = start + (part << 40) + 1
    place = namespace.arange(first, first + n_rows, dtype=namespace.int64, device=X.device)
    step, *factors = _SPLITMIX.view(np.int64).tolist()
    mixed = _mix(place * step, 30) * factors[0]
    mixed = _mix(_mix(mixed, 27) * factors[1], 31)
    negative = namespace.astype(mixed < 0, namespace.int64)  # 2^64 too small
    return (mixed % n_folds + negative * (2**64 % n_folds)) % n_folds


def _mix(values: Any, shift: int) -> Any:
    """``values ^ (values >> shift)``, with zeros shifted in."""
    return values ^ ((values >> shift) & ((1 << (64 - shift)) - 1))


def random_keys(block: Block) -> Float1D:
    """Random numbers in [0, 1) for the rows of a block, hashes of their places in the source.

    Examples
    --------
    >>> import numpy as np
    >>> random_keys(Block(np.zeros((3, 1)), start=5)).round(3)
    array([0.726, 0.163, 0.255])
    """
    hashes = to_host(fold_numbers(block.X, block.part, block.start, block.X.shape[0], N_HASHES))
    return np.asarray(hashes / N_HASHES)


def lowest_places(numbers: Float1D, most: int) -> Int1D:
    """Places of the lowest numbers, at most ``most`` of them, in order.

    Examples
    --------
    >>> import numpy as np
    >>> lowest_places(np.array([0.3, 0.9, 0.1]), 2)
    array([0, 2])
    """
    if len(numbers) <= most:
        return np.arange(len(numbers))
    return np.sort(np.argpartition(numbers, most)[:most])


class Lowest(NamedTuple):
    """The rows with the lowest numbers: all whose number is below ``limit``, with their signed weights."""

    limit: float
    numbers: Float1D
    Z: Float2D
    signed: Float1D

    def thinned(self, most: int) -> Lowest:
        """At most ``most`` of the rows, below a lower limit."""
        limit, places = _lowest(self.numbers, self.limit, most)
        return Lowest(limit, self.numbers[places], self.Z[places], self.signed[places])


def _lowest(numbers: Float1D, limit: float, most: int) -> tuple[float, Int1D]:
    """The limit below which at most ``most`` numbers lie, no higher than the given one, and their places."""
    if np.count_nonzero(numbers < limit) > most:
        limit = min(limit, float(np.partition(numbers, most)[most]))
    return limit, np.flatnonzero(numbers < limit)


def lowest_of(Z: Any, signed: Any, numbers: Float1D, limit: float, most: int) -> Lowest:
    """At most ``most`` rows of a block, those with the lowest numbers below the limit."""
    limit, places = _lowest(numbers, limit, most)
    if isinstance(Z, np.ndarray):
        return Lowest(limit, numbers[places], Z[places], signed[places])
    taken = to_host(namespace_of(Z).take(Z, on_device_of(Z, places), axis=0))
    return Lowest(limit, numbers[places], taken, to_host(signed)[places])


def lowest_of_both(a: Lowest, b: Lowest, most: int) -> Lowest:
    """At most ``most`` rows, those with the lowest numbers of both."""
    numbers, Z, signed = (np.concatenate(pair) for pair in zip(a[1:], b[1:], strict=True))
    return Lowest(min(a.limit, b.limit), numbers, Z, signed).thinned(most)


class Sample(NamedTuple):
    """Rows drawn from every class, labelled by the number of the class, and facts about all rows."""

    rows: ArrayRows
    n_rows: Float1D  # rows with a weight in each class
    low: Float1D
    high: Float1D


class _Tally(NamedTuple):
    """Facts about the rows of a block with a weight: their number by class, their range, and some drawn by class."""

    n_rows: Float1D
    low: Float1D
    high: Float1D
    drawn: tuple[Lowest, ...]


def stratified_sample(data: Labelled, most: int, names: Sequence[str]) -> Sample:
    """Draw about ``most`` rows in one pass, in the proportions of the classes, but at least 40 of each class."""
    keys = data.keys

    def kernel(block: Block) -> _Tally:
        return _tally(block, keys, most)

    def combine(a: _Tally, b: _Tally) -> _Tally:
        both = a.n_rows.any() and b.n_rows.any()  # the range of a block without rows is NaN
        return _Tally(
            a.n_rows + b.n_rows,
            np.minimum(a.low, b.low) if both else np.fmin(a.low, b.low),
            np.maximum(a.high, b.high) if both else np.fmax(a.high, b.high),
            tuple(lowest_of_both(x, y, most) for x, y in zip(a.drawn, b.drawn, strict=True)),
        )

    facts = data.rows.reduce(kernel, combine, Cost(8 * data.rows.n_features, 3 * data.rows.n_features))
    if not (np.isfinite(facts.low).all() and np.isfinite(facts.high).all()):
        require_finite(data.rows, names)
    empty = np.flatnonzero(facts.n_rows == 0.0)
    if empty.size:
        raise ValueError(f"All rows of class {quoted(data.classes[empty[0]])} have sample_weight 0: leave it out.")
    low, high = (np.asarray(values, dtype=np.float64) for values in (facts.low, facts.high))
    return Sample(_drawn_rows(facts, most, getattr(data.rows, "n_jobs", None)), facts.n_rows, low, high)


def _tally(block: Block, keys: Sequence[Any], most: int) -> _Tally:
    n_rows, n_features = block.X.shape
    weights = np.ones(n_rows) if block.weights is None else to_host(block.weights)
    if not weights.any():
        none = np.full(n_features, np.nan)
        empty = Lowest(1.0, np.empty(0), np.empty((0, n_features)), np.empty(0))
        return _Tally(np.zeros(len(keys)), none, none, (empty,) * len(keys))
    namespace = namespace_of(block.X)
    numbers = random_keys(block)
    used = block.X if weights.all() else block.X[on_device_of(block.X, weights > 0.0), :]
    own: list[Bool1D] = [to_host(block.labels == key) & (weights > 0.0) for key in keys]
    signed = weights if isinstance(block.X, np.ndarray) else on_device_of(block.X, weights)
    return _Tally(
        np.array([float(chosen.sum()) for chosen in own]),
        to_host(namespace.min(used, axis=0)),
        to_host(namespace.max(used, axis=0)),
        tuple(lowest_of(block.X, signed, np.where(chosen, numbers, np.inf), 1.0, most) for chosen in own),
    )


def _drawn_rows(facts: _Tally, most: int, n_jobs: int | None) -> ArrayRows:
    """The drawn rows, cut to the share of each class, and labelled by the number of the class."""
    shares = np.ceil(facts.n_rows * (most / max(facts.n_rows.sum(), most)))
    wanted = np.maximum(shares, 2 * FEWEST_IN_HALF).astype(np.int64)
    chosen = [lowest.thinned(int(n)) for lowest, n in zip(facts.drawn, wanted, strict=True)]
    codes = np.repeat(np.arange(len(chosen)), [len(lowest.numbers) for lowest in chosen])
    weights = np.concatenate([lowest.signed for lowest in chosen])
    X = np.concatenate([np.asarray(lowest.Z, dtype=np.float64) for lowest in chosen])
    return ArrayRows(X, None if (weights == 1.0).all() else weights, codes, n_jobs)
