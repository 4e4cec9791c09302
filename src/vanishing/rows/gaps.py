"""Rows with missing values: counted, and left out where a user says so with ``missing="drop"``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._typing import Bool1D, Float2D, Int1D
from .array_api import namespace_of, on_device_of, to_host
from .arrays import ArrayRows
from .protocol import Block, Cost, Rows, where

MISSING = ("error", "drop")  # what a user may ask for


class Gaps(NamedTuple):
    """Number of rows, of those with a missing value, and of missing values in each column."""

    n_rows: int
    n_missing: int
    by_column: Int1D

    def to_text(self, names: Sequence[str]) -> str:
        """A sentence about the rows that were left out.

        Examples
        --------
        >>> Gaps(500, 3, np.array([2, 0, 1])).to_text(["a", "b", "c"])
        "3 of 500 rows have missing values and were left out (2 in 'a', 1 in 'c')."
        """
        where_missing = ", ".join(f"{n} in {name!r}" for n, name in zip(self.by_column, names, strict=True) if n)
        have, were = ("has", "was") if self.n_missing == 1 else ("have", "were")
        rows = f"{self.n_missing:,} of {self.n_rows:,} rows"
        return f"{rows} {have} missing values and {were} left out ({where_missing})."


def add_gaps(a: Gaps, b: Gaps) -> Gaps:
    """The gaps in the rows of both."""
    return Gaps(a.n_rows + b.n_rows, a.n_missing + b.n_missing, a.by_column + b.by_column)


def gaps_in(block: Block, names: Sequence[str], place: Callable[[int, int], str]) -> tuple[Gaps, Bool1D | None]:
    """The gaps in a block, and which rows are complete, None if all are; infinite values raise ValueError."""
    X = block.X
    namespace = namespace_of(X)
    n_rows, n_columns = X.shape
    with np.errstate(over="ignore", invalid="ignore"):
        if namespace.isfinite(namespace.sum(X)):  # quicker than a test of each value
            return Gaps(n_rows, 0, np.zeros(n_columns, dtype=np.int64)), None
    infinite, absent = to_host(namespace.isinf(X)), to_host(namespace.isnan(X))
    if infinite.any():
        i, j = (int(index[0]) for index in np.nonzero(infinite))
        raise ValueError(
            f"Column {names[j]!r} has an infinite value {place(block.part, block.start + i)}: correct it, or write NaN "
            "if the value is missing."
        )
    incomplete = absent.any(axis=1)
    gaps = Gaps(n_rows, int(incomplete.sum()), absent.sum(axis=0))
    return gaps, np.asarray(~incomplete) if gaps.n_missing else None


def complete_part(block: Block, names: Sequence[str], place: Callable[[int, int], str]) -> tuple[Gaps, Int1D, Float2D]:
    """The gaps in a block, the places of its complete rows, and these rows in the memory of the host."""
    gaps, kept = gaps_in(block, names, place)
    X = np.asarray(to_host(block.X), dtype=np.float64)
    return (gaps, np.arange(gaps.n_rows), X) if kept is None else (gaps, np.flatnonzero(kept), X[kept])


def complete_rows(rows: Rows, names: Sequence[str]) -> tuple[Rows, Gaps, Bool1D | None]:
    """The rows without missing values, the gaps in all of them, and which rows of an array are complete.

    Infinite values raise ValueError, as does a source without a complete row.
    """
    kept = None
    change = _Complete(tuple(names), rows.place)
    if isinstance(rows, ArrayRows):
        gaps, kept = gaps_in(Block(rows.X[:]), names, rows.place)
    else:
        gaps = rows.reduce(change.gaps, add_gaps, Cost(rows.n_features, rows.n_features))
    if not gaps.n_missing:
        return rows, gaps, None
    if gaps.n_missing == gaps.n_rows:
        worst = int(np.argmax(gaps.by_column))
        raise ValueError(
            f"Every row has a missing value, {gaps.by_column[worst]:,} of them in column {names[worst]!r}: leave out "
            "such columns, or impute them."
        )
    if isinstance(rows, ArrayRows) and kept is not None:
        return rows.where(kept), gaps, kept
    return rows.changed(change), gaps, None


@dataclass(frozen=True)
class _Complete:
    """A change of blocks that leaves out rows with missing values."""

    leaves_out_rows: ClassVar = True
    names: tuple[str, ...]
    place: Callable[[int, int], str]

    def __call__(self, block: Block) -> Block:
        complete = gaps_in(block, self.names, self.place)[1]
        return block if complete is None else where(block, on_device_of(block.X, complete))

    def gaps(self, block: Block) -> Gaps:
        """The gaps in a block."""
        return gaps_in(block, self.names, self.place)[0]
