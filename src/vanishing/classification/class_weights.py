"""A stratified sample of the rows of any source, and what one pass tells beside it; weights of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array, Float1D
from ..checks import quoted
from ..rows.array_api import namespace_of, on_device_of, to_host
from ..rows.arrays import ArrayRows
from ..rows.folds import fold_numbers
from ..rows.labels import Labelled
from ..rows.protocol import Block, Cost
from ..rows.reading import require_finite
from ..svm.kept import Lowest, lowest_of, merge

__all__ = ["Sample", "class_factors", "class_weighted", "stratified_sample"]

_N_NUMBERS = 2**52  # random numbers of rows are multiples of its inverse
_FEWEST = 30  # rows of a class in a sample, if it has that many


class Sample(NamedTuple):
    """Some rows of every class in memory, labelled by the numbers of the classes; and the facts about all rows."""

    rows: ArrayRows
    n_rows: Float1D  # of every class, those without a weight left out
    low: Float1D
    high: Float1D


class _Found(NamedTuple):
    n_rows: Float1D
    low: Float1D
    high: Float1D
    lowest: tuple[Lowest, ...]


def stratified_sample(data: Labelled, most: int, names: Sequence[str]) -> Sample:
    """About ``most`` rows with the shares of the classes kept, but at least 30 of each, in one pass.

    A row has a random number, a hash of its place; the rows of a class with the lowest numbers are in the sample, which
    therefore depends neither on blocks nor on threads.
    """
    keys = data.keys

    def kernel(block: Block) -> _Found:
        n_rows, n_features = block.X.shape
        if n_rows == 0:
            none = np.full(n_features, np.nan)
            empty = Lowest(1.0, np.empty(0), np.empty((0, n_features)), np.empty(0))
            return _Found(np.zeros(len(keys)), none, none, (empty,) * len(keys))
        namespace = namespace_of(block.X)
        numbers = to_host(fold_numbers(block.X, block.part, block.start, n_rows, _N_NUMBERS)) / _N_NUMBERS
        weights = np.ones(n_rows) if block.weights is None else to_host(block.weights)
        own = [to_host(block.labels == key) & (weights > 0.0) for key in keys]
        signed = weights if isinstance(block.X, np.ndarray) else on_device_of(block.X, weights)
        return _Found(
            np.array([float(chosen.sum()) for chosen in own]),
            to_host(namespace.min(block.X, axis=0)),
            to_host(namespace.max(block.X, axis=0)),
            tuple(lowest_of(block.X, signed, np.where(chosen, numbers, np.inf), 1.0, most) for chosen in own),
        )

    def combine(a: _Found, b: _Found) -> _Found:
        return _Found(
            a.n_rows + b.n_rows,
            np.fmin(a.low, b.low) if not (a.n_rows.any() and b.n_rows.any()) else np.minimum(a.low, b.low),
            np.fmax(a.high, b.high) if not (a.n_rows.any() and b.n_rows.any()) else np.maximum(a.high, b.high),
            tuple(merge(x, y, most) for x, y in zip(a.lowest, b.lowest, strict=True)),
        )

    facts = data.rows.reduce(kernel, combine, Cost(8 * data.rows.n_features, 3 * data.rows.n_features))
    if not (np.isfinite(facts.low).all() and np.isfinite(facts.high).all()):
        require_finite(data.rows, names)
    empty = np.flatnonzero(facts.n_rows == 0.0)
    if empty.size:
        raise ValueError(f"All rows of class {quoted(data.classes[empty[0]])} have sample_weight 0: leave it out.")
    wanted = np.maximum(np.ceil(facts.n_rows * (most / max(facts.n_rows.sum(), most))), _FEWEST).astype(np.int64)
    chosen = [lowest.thinned(int(n)) for lowest, n in zip(facts.lowest, wanted, strict=True)]
    codes = np.repeat(np.arange(len(chosen)), [len(lowest.numbers) for lowest in chosen])
    weights = np.concatenate([lowest.signed for lowest in chosen])
    X = np.concatenate([np.asarray(lowest.Z, dtype=np.float64) for lowest in chosen])
    n_jobs = getattr(data.rows, "n_jobs", None)
    rows = ArrayRows(X, None if (weights == 1.0).all() else weights, codes, n_jobs)
    return Sample(rows, facts.n_rows, np.asarray(facts.low, dtype=np.float64), np.asarray(facts.high, dtype=np.float64))


def class_factors(class_weight: Any, classes: Array, n_rows: Float1D) -> Float1D | None:
    """What ``class_weight`` multiplies the weights of the rows of each class by; None for None.

    Examples
    --------
    >>> import numpy as np
    >>> class_factors("balanced", np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([0.66666667, 2.        ])
    >>> class_factors({"a": 3.0}, np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([3., 1.])
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(n_rows.sum() / (len(classes) * n_rows))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict of labels; got {class_weight!r}.")
    known = {label.item() if isinstance(label, np.generic) else label: k for k, label in enumerate(classes)}
    factors = np.ones(len(classes))
    for label, weight in class_weight.items():
        label = label.item() if isinstance(label, np.generic) else label
        if label not in known:
            raise ValueError(f"class_weight names the class {quoted(label)}, but the classes are {list(known)}.")
        if isinstance(weight, bool) or not np.isreal(weight) or not 0.0 < float(weight) < np.inf:
            raise ValueError(f"class_weight of {quoted(label)} must be a positive number, got {weight!r}.")
        factors[known[label]] = float(weight)
    return factors


def class_weighted(data: Labelled, factors: Float1D | None) -> Labelled:
    """The rows with their weights times the factor of their class."""
    if factors is None:
        return data
    if isinstance(data.rows, ArrayRows):
        rows, own = data.rows, factors[data.rows.labels]
        weights = own if rows.sample_weight is None else own * rows.sample_weight
        return data._replace(rows=ArrayRows(rows.X, weights, rows.labels, rows.n_jobs))
    return data._replace(rows=data.rows.changed(_ClassWeighted(tuple(data.keys), factors)))


@dataclass(frozen=True)
class _ClassWeighted:
    """Weights times the factor of the row's class."""

    keys: tuple[Any, ...]
    factors: Float1D

    def __call__(self, block: Block) -> Block:
        own = np.ones(block.X.shape[0])
        for key, factor in zip(self.keys, self.factors, strict=True):
            own[to_host(block.labels == key)] = factor
        weights = on_device_of(block.X, own)
        return block._replace(weights=weights if block.weights is None else weights * block.weights)
