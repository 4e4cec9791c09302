"""The protocol of data sources: rows that are reduced and mapped block by block.

A source is a small class with the two abstract methods of :class:`Rows`. It knows nothing about polynomials;
algorithms know nothing about where the rows come from. Scaling, the choice of a class and computed columns are
functions from block to block, which a :class:`View` applies to the blocks of a source.
"""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from .._typing import Bool1D, Float1D, Float2D
from ..constants import FEWEST_ROWS
from .array_api import empty_like, namespace_of, on_device_of, to_host

T = TypeVar("T")


class Block(NamedTuple):
    """Consecutive rows: ``X`` is a float64 array ``(n_rows, n_features)`` in C or Fortran order.

    (A source on a device hands out that device's arrays instead, of any floating type.) ``weights``, ``labels`` and
    ``folds`` are those of the rows, or None. The rows start at row ``start`` of part ``part`` of the source, for
    instance of a file; ``start`` does not count rows that a view leaves out.
    """

    X: Any
    weights: Any = None
    labels: Any = None
    part: int = 0
    start: int = 0
    folds: Any = None


Change = Callable[[Block], Block]


class Cost(NamedTuple):
    """Cost of a kernel per row, from which a source chooses the length of its blocks.

    A row takes ``work`` multiplications and ``width`` numbers of working memory. A kernel with a fixed cost per block,
    such as a matrix factorisation, sets ``fewest``, the number of rows from which on that cost is small.
    """

    work: int
    width: int
    fewest: int = FEWEST_ROWS

    def both(self, other: Cost) -> Cost:
        """The cost of two kernels on the same block."""
        return Cost(max(self.work, other.work), max(self.width, other.width), max(self.fewest, other.fewest))


class Rows(ABC):
    """A source of rows."""

    n_features: int
    n_samples: int | None = None  # None if it is unknown before a pass
    feature_names: tuple[str, ...] | None = None  # None if the columns have no names
    labelled: bool = False  # whether rows come with labels
    reading_dominates: bool = False  # whether reading the rows takes longer than computing with them
    single_precision: bool = False  # whether the numbers were rounded to float32 or less
    read_once: bool = False  # whether the rows are gone after one pass

    @abstractmethod
    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        """Combine ``kernel(block)``, where it is not None, over all blocks in the order of the rows.

        The kernel is never called with an empty block. ``combine`` must not change its arguments: a cluster that loses
        a sum combines the same results again.
        """

    @abstractmethod
    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Any:
        """The columns ``(n_samples, n_columns)`` that ``kernel(block, out)`` computes, in the container of the source.

        If ``out`` is given, the columns are written to it.
        """

    @property
    def shown_names(self) -> list[str]:
        """Names of the columns; x0, x1, ... if they have none."""
        return [f"x{j}" for j in range(self.n_features)] if self.feature_names is None else list(self.feature_names)

    def place(self, part: int, row: int) -> str:
        """Describe the position of row ``row`` of part ``part``, for messages."""
        return f"in row {row}"

    def head(self) -> Float2D:
        """A few of the rows, in NumPy."""
        raise NotImplementedError

    def to_numpy(self) -> Float2D:
        """All rows in one array in memory."""
        cost = Cost(self.n_features, self.n_features)
        blocks: list[Float2D] = self.reduce(lambda block: [np.array(to_host(block.X))], operator.add, cost)
        return np.concatenate(blocks)

    def label_rows(self) -> Rows:
        """A source of the same labels, which may leave out the columns."""
        return self

    # Views. Sources in memory override these to store the changed rows.

    def changed(self, change: Change, n_features: int | None = None) -> Rows:
        """A view that applies ``change`` to every block; ``n_features`` is its number of columns, if that changes."""
        return View(self, change, n_features)

    def select(self, chosen: Sequence[int]) -> Rows:
        """The rows with these columns only; all of them if they are the same."""
        if list(chosen) == list(range(self.n_features)):
            return self
        return self.changed(_Selected(tuple(chosen)), len(chosen))

    def scaled(self, scale: Float1D, offset: Float1D) -> Rows:
        """Rows ``scale * x + offset``."""
        return self.changed(_Scaled(scale, offset))

    def where_label(self, label: Any) -> Rows:
        """The rows with this label."""
        return self.changed(_WhereLabel(label))

    def signed_by(self, label: Any) -> Rows:
        """The same rows, with negative weights where the label differs from this one."""
        return self.changed(_SignedBy(label))

    def computed(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost) -> Rows:
        """Rows of the columns that ``kernel(block, out)`` computes, again in every pass."""
        return self.changed(Computed(kernel, n_columns), n_columns)


def merge(combine: Callable[[T, T], T], a: T | None, b: T | None) -> T | None:
    """``combine(a, b)``, where None stands for an empty accumulator."""
    if a is None:
        return b
    return a if b is None else combine(a, b)


class View(Rows):
    """The rows of ``source`` with ``change`` applied to every block."""

    def __init__(self, source: Rows, change: Change, n_features: int | None = None):
        self.source = source
        self.change = change
        self.n_features = source.n_features if n_features is None else n_features
        self.n_samples = None if getattr(change, "leaves_out_rows", False) else source.n_samples
        self.feature_names = source.feature_names if n_features is None else None
        self.labelled = source.labelled
        self.reading_dominates = source.reading_dominates
        self.single_precision = source.single_precision
        self.read_once = source.read_once
        self.place = source.place  # type: ignore[method-assign]  # kernels may hold it, and must not hold the rows

    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        result: T = reduce_together([Reduction(self, kernel, combine, cost)])[0]
        return result

    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Any:
        change = self.change
        cost = cost._replace(width=cost.width + self.n_features)
        return self.source.map(lambda block, out: kernel(change(block), out), n_columns, cost, out)

    def head(self) -> Float2D:
        return np.asarray(self.change(Block(self.source.head())).X)

    def label_rows(self) -> Rows:
        return self.source.label_rows()


@dataclass(frozen=True)
class _Selected:
    """Rows with some of the columns."""

    chosen: tuple[int, ...]

    def __call__(self, block: Block) -> Block:
        index = on_device_of(block.X, np.array(self.chosen))
        return block._replace(X=namespace_of(block.X).take(block.X, index, axis=1))


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

    leaves_out_rows: ClassVar = True
    label: Any

    def __call__(self, block: Block) -> Block:
        return where(block, block.labels == self.label)


@dataclass(frozen=True)
class _SignedBy:
    """Weights that are negative where the label differs from ``label``."""

    label: Any

    def __call__(self, block: Block) -> Block:
        positive, negative = (on_device_of(block.X, np.float64(value)) for value in (1.0, -1.0))
        signed = namespace_of(block.X).where(block.labels == self.label, positive, negative)
        return block._replace(weights=signed if block.weights is None else signed * block.weights)


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


def where(block: Block, chosen: Bool1D) -> Block:
    """The chosen rows of a block, in the same memory order."""
    X = block.X[chosen] if not isinstance(block.X, np.ndarray) or block.X.flags.c_contiguous else block.X.T[:, chosen].T
    weights, labels, folds = (
        None if values is None else values[chosen] for values in (block.weights, block.labels, block.folds)
    )
    return block._replace(X=X, weights=weights, labels=labels, folds=folds)


class JoinedRows(Rows):
    """The rows of several sources, one after the other, for reductions only; nothing is copied."""

    def __init__(self, sources: Sequence[Rows]):
        self.sources = tuple(sources)
        self.n_features = self.sources[0].n_features
        self.single_precision = any(source.single_precision for source in self.sources)

    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        requests = [Reduction(source, kernel, combine, cost) for source in self.sources]
        total: T = functools.reduce(combine, reduce_together(requests))
        return total

    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Any:
        """Raise NotImplementedError: joined rows serve reductions only."""
        raise NotImplementedError


class Reduction(NamedTuple):
    """A pending reduction: rows, the kernel for a block, how to combine its results, and what a row costs.

    The kernel is never called with an empty block.
    """

    rows: Rows
    kernel: Callable[[Block], Any]
    combine: Callable[[Any, Any], Any]
    cost: Cost


def reduce_together(requests: Sequence[Reduction]) -> list[Any]:
    """Results of several reductions; those over views of the same source share one pass."""
    results: list[Any] = [None] * len(requests)
    groups: dict[int, list[tuple[tuple[Change, ...], Rows, int]]] = {}
    for i, request in enumerate(requests):
        source: Rows = request.rows
        changes: tuple[Change, ...] = ()
        while isinstance(source, View):
            changes = (source.change, *changes)
            source = source.source
        groups.setdefault(id(source), []).append((changes, source, i))
    for group in groups.values():
        changes, source, i = group[0]
        if len(group) == 1 and not changes:
            _, kernel, combine, cost = requests[i]
            results[i] = source.reduce(kernel, combine, cost)
            continue
        group.sort(key=lambda entry: [id(change) for change in entry[0]])  # equal changes next to each other
        members = [requests[i] for *_, i in group]
        totals: list[Any] = source.reduce(
            _Joint([(changes, request.kernel) for (changes, *_), request in zip(group, members, strict=True)]),
            _JointCombine([request.combine for request in members]),
            functools.reduce(Cost.both, [request.cost for request in members]),
        )
        for (*_, i), result in zip(group, totals, strict=True):
            results[i] = result
    return results


@dataclass(frozen=True)
class _Joint:
    """Runs several kernels on one block, each after its own changes; neighbours apply the changes they share once."""

    members: list[tuple[tuple[Change, ...], Callable[[Block], Any]]]

    def __call__(self, block: Block) -> list[Any]:
        return self.run([(None, block)])

    def run(self, stack: list[tuple[Change | None, Block]]) -> list[Any]:
        """Results for the block at the bottom of ``stack``; above it lie the versions that the last member made."""
        results: list[Any] = []
        for changes, kernel in self.members:
            if isinstance(kernel, _Joint) and not changes:
                results.append(kernel.run(stack))
                continue
            shared = 0
            while shared < min(len(changes), len(stack) - 1) and changes[shared] is stack[shared + 1][0]:
                shared += 1
            del stack[shared + 1 :]
            for change in changes[shared:]:
                stack.append((change, change(stack[-1][1])))
            changed = stack[-1][1]
            results.append(kernel(changed) if changed.X.shape[0] else None)
        return results


@dataclass(frozen=True)
class _JointCombine:
    """Combines the results of several kernels, each with its own ``combine``."""

    combines: list[Callable[[Any, Any], Any]]

    def __call__(self, a: list[Any], b: list[Any]) -> list[Any]:
        return [merge(combine, x, y) for combine, x, y in zip(self.combines, a, b, strict=True)]
