"""Complete rows: a detector learns from those without missing values, and refuses infinite ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..rows.array_api import namespace_of, to_host
from ..rows.arrays import ArrayRows
from ..rows.protocol import Block, Cost, where
from ..rows.reading import require_finite

#: ``place(part, row)`` names a row of a source in words.
Place: TypeAlias = Callable[[int, int], str]


def sum_is_finite(X: Any) -> bool:
    """Whether the sum of all values is finite: quicker than a test of each value."""
    namespace = namespace_of(X)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(namespace.isfinite(namespace.sum(X)))


def refuse_infinity(block: Block, place: Place, names: Sequence[str]) -> None:
    """Refuse infinite values, naming the first one."""
    infinite = np.isinf(to_host(block.X))
    if infinite.any():
        i, j = (int(index[0]) for index in np.nonzero(infinite))
        where_in = "" if names[j] == f"x{j}" else f" ({names[j]!r})"
        raise ValueError(
            f"Input X contains infinity (inf) in column {j}{where_in}, the first {place(block.part, block.start + i)}: "
            "correct it, or write NaN if the value is missing."
        )


def complete_block(block: Block, place: Place, names: Sequence[str]) -> Block:
    """The rows of a block without missing values; infinite ones are refused."""
    if sum_is_finite(block.X):
        return block
    refuse_infinity(block, place, names)
    namespace = namespace_of(block.X)
    return where(block, ~namespace.any(namespace.isnan(block.X), axis=1))


@dataclass(frozen=True)
class Complete:
    """A change of blocks that leaves out rows with missing values."""

    leaves_out_rows: ClassVar = True
    place: Place
    names: tuple[str, ...]

    def __call__(self, block: Block) -> Block:
        """The rows without missing values."""
        return complete_block(block, self.place, self.names)


def complete_array(rows: ArrayRows, names: Sequence[str], *, skip: bool) -> tuple[ArrayRows, int]:
    """The rows in memory with positive weights, and the number of incomplete ones, which ``skip`` leaves out."""
    rows = rows.without_zero_weights()
    n_missing = 0
    if rows.X.dtype.kind != "f" or sum_is_finite(rows.X[:]):
        return rows, n_missing
    if skip:
        missing = rows.map(mark_incomplete, 1, Cost(rows.n_features, rows.n_features))[:, 0] > 0.0
        require_some(bool(missing.all()))
        n_missing = int(missing.sum())
        weights = None if rows.sample_weight is None else rows.sample_weight[~missing]
        rows = ArrayRows(rows.X[~missing], weights, None, rows.n_jobs)
    require_finite(rows, names)
    return rows, n_missing


def require_some(all_missing: bool) -> None:
    """Raise ValueError if every row has a missing value."""
    if all_missing:
        raise ValueError("Every row has a missing value: impute them, for instance with SimpleImputer.")


def mark_incomplete(block: Block, out: Any) -> None:
    """Write to ``out`` ``(n_rows, 1)`` True for rows with missing values."""
    namespace = namespace_of(block.X)
    out[:, 0] = namespace.any(namespace.isnan(block.X), axis=1)
