"""Where the data are: rows that can be reduced and mapped block by block.

A source of data is a small class with the two abstract methods of :class:`Rows`. It knows nothing about
polynomials; algorithms know nothing about where the rows come from. Whatever changes rows on their way (scaling,
the choice of a class, computed columns) is a :class:`View`, a function from block to block.
"""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._typing import Array, Bool1D, Float1D, Float2D
from .array_api import empty_like, namespace_of, on_device_of, to_host

__all__ = [
    "Block",
    "Computed",
    "InFolds",
    "JoinedRows",
    "Reduction",
    "Rows",
    "View",
    "merge",
    "reduce_together",
    "with_names",
]

T = TypeVar("T")


class Block(NamedTuple):
    """Some consecutive rows: ``X`` is a float64 array ``(n_rows, n_features)`` in C or Fortran order.

    (A source on a device hands out that device's arrays instead, of any floating type.) ``weights`` and ``labels``
    belong to the rows, if there are any. The rows are those from ``start`` on of part number ``part`` of the source,
    which is a file, or whatever the source consists of; rows that a view has left out are not counted there.
    """

    X: Any
    weights: Any = None
    labels: Any = None
    part: int = 0
    start: int = 0


Kernel = Callable[[Any, Any], T]


Change = Callable[[Block], Block]


class Rows(ABC):
    """A source of rows.

    Attributes
    ----------
    n_features : int
        Number of columns.
    n_samples : int or None
        Number of rows, where that is known before they are read.
    feature_names : tuple of str or None
        Names of the columns, if they have any.
    labelled : bool
        Whether rows come with labels.
    reading_dominates : bool
        Whether getting at the rows takes longer than computing with them.
    single_precision : bool
        Whether the numbers were rounded to float32 or less.
    """

    n_features: int
    n_samples: int | None = None
    feature_names: tuple[str, ...] | None = None
    labelled: bool = False
    reading_dominates: bool = False
    single_precision: bool = False

    def reduce(self, kernel: Kernel[T], combine: Callable[[T, T], T], *, block_rows: int, width: int) -> T:
        """Combine ``kernel(X, weights)`` over all blocks, in the order of the rows.

        ``combine`` must not change its arguments: a cluster that has lost a sum adds up the same results again.
        ``block_rows`` keep one core busy for about a millisecond; a row takes ``width`` numbers of working memory.
        """

        def on_block(block: Block) -> T | None:
            return kernel(block.X, block.weights) if block.X.shape[0] else None

        return self.reduce_blocks(on_block, combine, block_rows=block_rows, width=width)

    def map(
        self, kernel: Callable[[Any, Any], None], n_columns: int, *, block_rows: int, width: int, out: Any = None
    ) -> Any:
        """The columns that ``kernel(X, out)`` computes, in the container of the source; written to ``out`` if given."""
        return self.map_blocks(
            lambda block, out: kernel(block.X, out), n_columns, block_rows=block_rows, width=width, out=out
        )

    @abstractmethod
    def reduce_blocks(
        self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], *, block_rows: int, width: int
    ) -> T:
        """Combine ``kernel(block)``, where it is not None, over all blocks in the order of the rows.

        ``combine`` must not change its arguments.
        """

    @abstractmethod
    def map_blocks(
        self, kernel: Callable[[Block, Any], None], n_columns: int, *, block_rows: int, width: int, out: Any = None
    ) -> Any:
        """The columns ``(n_samples, n_columns)`` that ``kernel(block, out)`` computes."""

    def place(self, part: int, row: int) -> str:
        """Where row ``row`` of part ``part`` is, in words."""
        return f"in row {row}"

    def head(self) -> Float2D:
        """A few of the rows, in NumPy."""
        raise NotImplementedError

    def to_numpy(self) -> Float2D:
        """All rows in one array in memory."""
        blocks: list[Float2D] = self.reduce_blocks(
            lambda block: [np.array(to_host(block.X))], operator.add, block_rows=65_536, width=self.n_features
        )
        return np.concatenate(blocks)

    def label_rows(self) -> Rows:
        """A source of the same labels, whose rows need not have the columns."""
        return self

    # How rows change on their way. Where they are in memory, the changed ones are kept, too.

    def changed(self, change: Change, n_features: int | None = None) -> Rows:
        """The same source with its blocks changed, to ``n_features`` columns where their number changes."""
        return View(self, change, n_features)

    def scaled(self, scale: Float1D, offset: Float1D) -> Rows:
        """Rows ``scale * x + offset``."""
        return self.changed(_Scaled(scale, offset))

    def where_label(self, label: Any) -> Rows:
        """The rows with this label."""
        return self.changed(_WhereLabel(label))

    def signed_by(self, label: Any) -> Rows:
        """The same rows, their weights negative where the label is not this one."""
        return self.changed(SignedBy(label))

    def computed(self, kernel: Callable[[Any, Any], None], n_columns: int, *, block_rows: int, width: int) -> Rows:
        """Rows of the columns that ``kernel(X, out)`` computes; from scratch in every pass."""
        return self.changed(Computed(lambda block, out: kernel(block.X, out), n_columns), n_columns)


def merge(combine: Callable[[T, T], T], a: T | None, b: T | None) -> T | None:
    """``combine(a, b)``, where neither is None."""
    if a is None:
        return b
    return a if b is None else combine(a, b)


class View(Rows):
    """A source whose blocks are changed on their way."""

    def __init__(self, source: Rows, change: Change, n_features: int | None = None):
        self.source = source
        self.change = change
        self.n_features = source.n_features if n_features is None else n_features
        self.n_samples = None if isinstance(change, (_WhereLabel, InFolds)) else source.n_samples
        self.feature_names = source.feature_names if n_features is None else None
        self.labelled = source.labelled
        self.reading_dominates = source.reading_dominates
        self.single_precision = source.single_precision

    def reduce_blocks(
        self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], *, block_rows: int, width: int
    ) -> T:
        """Combine ``kernel(block)``, where it is not None, over all blocks in the order of the rows."""
        result: T = reduce_together([Reduction(self, kernel, combine, block_rows, width)])[0]
        return result

    def map_blocks(
        self, kernel: Callable[[Block, Any], None], n_columns: int, *, block_rows: int, width: int, out: Any = None
    ) -> Any:
        """The columns ``(n_samples, n_columns)`` that ``kernel(block, out)`` computes."""
        change = self.change
        return self.source.map_blocks(
            lambda block, out: kernel(change(block), out),
            n_columns,
            block_rows=block_rows,
            width=width + self.n_features,
            out=out,
        )

    def head(self) -> Float2D:
        """A few of the rows, in NumPy."""
        return np.asarray(self.change(Block(self.source.head())).X)

    def label_rows(self) -> Rows:
        """A source of the same labels, whose rows need not have the columns."""
        return self.source.label_rows()

    def place(self, part: int, row: int) -> str:
        """Where row ``row`` of part ``part`` is, in words."""
        return self.source.place(part, row)


@dataclass(frozen=True)
class _Scaled:
    """Rows ``scale * x + offset``."""

    scale: Float1D
    offset: Float1D

    def __call__(self, block: Block) -> Block:
        scale, offset = (on_device_of(block.X, values) for values in (self.scale, self.offset))
        return block._replace(X=block.X * scale + offset)


@dataclass(frozen=True)
class _WhereLabel:
    """The rows with a label."""

    label: Any

    def __call__(self, block: Block) -> Block:
        return _chosen(block, block.labels == self.label)


@dataclass(frozen=True)
class SignedBy:
    """Weights that are negative where the label is another one."""

    label: Any

    def __call__(self, block: Block) -> Block:
        positive, negative = (on_device_of(block.X, np.float64(value)) for value in (1.0, -1.0))
        signed = namespace_of(block.X).where(block.labels == self.label, positive, negative)
        return block._replace(weights=signed if block.weights is None else signed * block.weights)


@dataclass(frozen=True)
class InFolds:
    """The rows of some folds of a cross-validation; a row's fold is a hash of its place.

    To be applied to a source itself, whose blocks know the places of their rows.
    """

    folds: tuple[int, ...]
    n_folds: int

    def __call__(self, block: Block) -> Block:
        """The rows that are in the folds."""
        chosen = np.isin(self.fold_of(block.part, block.start, block.X.shape[0]), self.folds)
        return _chosen(block, on_device_of(block.X, chosen))

    def fold_of(self, part: int, start: int, n_rows: int) -> Array:
        """The fold of each of these rows: splitmix64 (Steele, Lea and Flood 2014) of the place, modulo the number."""
        place = np.arange(start, start + n_rows, dtype=np.uint64) + (np.uint64(part) << np.uint64(40))
        mixed = (place + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (mixed ^ (mixed >> np.uint64(31))) % np.uint64(self.n_folds)


@dataclass(frozen=True)
class Computed:
    """Rows of the columns that ``kernel(block, out)`` computes."""

    kernel: Callable[[Block, Any], None]
    n_columns: int

    def __call__(self, block: Block) -> Block:
        """The computed rows."""
        out = empty_like(block.X, self.n_columns)
        if block.X.shape[0]:
            self.kernel(block, out)
        return block._replace(X=out)


def _chosen(block: Block, chosen: Bool1D) -> Block:
    X = block.X[chosen] if not isinstance(block.X, np.ndarray) or block.X.flags.c_contiguous else block.X.T[:, chosen].T
    weights, labels = (None if values is None else values[chosen] for values in (block.weights, block.labels))
    return block._replace(X=X, weights=weights, labels=labels)


class JoinedRows(Rows):
    """The rows of several sources, one source after the other, for reductions; nothing is copied."""

    def __init__(self, sources: Sequence[Rows]):
        self.sources = tuple(sources)
        self.n_features = self.sources[0].n_features
        self.single_precision = any(source.single_precision for source in self.sources)

    def reduce_blocks(
        self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], *, block_rows: int, width: int
    ) -> T:
        """Combine ``kernel(block)``, where it is not None, over all blocks in the order of the rows."""
        requests = [Reduction(source, kernel, combine, block_rows, width) for source in self.sources]
        total: T = functools.reduce(combine, reduce_together(requests))
        return total

    def map_blocks(
        self, kernel: Callable[[Block, Any], None], n_columns: int, *, block_rows: int, width: int, out: Any = None
    ) -> Any:
        """Not for joined rows."""
        raise NotImplementedError


class Reduction(NamedTuple):
    """A pending reduction over rows: what to sum, how to combine, and what a row costs."""

    rows: Rows
    kernel: Callable[[Block], Any]
    combine: Callable[[Any, Any], Any]
    block_rows: int
    width: int


def reduce_together(requests: Sequence[Reduction]) -> list[Any]:
    """The results of several reductions: those over views of the same source share one pass."""
    results: list[Any] = [None] * len(requests)
    groups: dict[int, list[tuple[tuple[Change, ...], int]]] = {}
    roots: dict[int, Rows] = {}
    for i, request in enumerate(requests):
        root, changes = _way(request.rows)
        roots[id(root)] = root
        groups.setdefault(id(root), []).append((changes, i))
    for key, group in groups.items():
        group.sort(key=lambda entry: [id(change) for change in entry[0]])  # equal ways beside each other
        members = [requests[i] for _, i in group]
        found: list[Any] = roots[key].reduce_blocks(
            _Joint([(changes, request.kernel) for (changes, _), request in zip(group, members, strict=True)]),
            _JointCombine([request.combine for request in members]),
            block_rows=min(request.block_rows for request in members),
            width=max(request.width for request in members),
        )
        for (_, i), result in zip(group, found, strict=True):
            results[i] = result
    return results


def _way(rows: Rows) -> tuple[Rows, tuple[Change, ...]]:
    """The source behind views, and the changes on the way from there."""
    changes: list[Change] = []
    while isinstance(rows, View):
        changes.insert(0, rows.change)
        rows = rows.source
    return rows, tuple(changes)


@dataclass(frozen=True)
class _Joint:
    """Several kernels on differently changed versions of a block; what two neighbours share is changed once."""

    members: list[tuple[tuple[Change, ...], Callable[[Block], Any]]]

    def __call__(self, block: Block) -> list[Any]:
        return self.run([(None, block)])

    def run(self, stack: list[tuple[Change | None, Block]]) -> list[Any]:
        """The results on the block at the bottom of ``stack``, above which are the latest changes of it."""
        results = []
        for changes, kernel in self.members:
            if isinstance(kernel, _Joint) and not changes:
                results.append(kernel.run(stack))
                continue
            same = 0
            while same < min(len(changes), len(stack) - 1) and changes[same] is stack[same + 1][0]:
                same += 1
            del stack[same + 1 :]
            for change in changes[same:]:
                stack.append((change, change(stack[-1][1])))
            results.append(kernel(stack[-1][1]))
        return results


@dataclass(frozen=True)
class _JointCombine:
    """The results of several kernels, combined one by one."""

    combines: list[Callable[[Any, Any], Any]]

    def __call__(self, a: list[Any], b: list[Any]) -> list[Any]:
        return [merge(combine, x, y) for combine, x, y in zip(self.combines, a, b, strict=True)]


def with_names(values: Any, names: Callable[[], Any]) -> Any:
    """Computed rows that know the names of their columns; anything else as it is."""
    if isinstance(values, Rows):
        values.feature_names = tuple(str(name) for name in names())
    return values
