"""Counts over rows that an encoder learns from: gaps, texts, and a sample for medians. They add up over blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Float1D, Int1D
from ..constants import N_HASHES
from ..rows.folds import fold_numbers
from ..rows.sampling import Lowest, lowest_of, merge
from .columns import Column, Texts

__all__ = ["Tally", "add_tallies", "tally_columns"]

_MOST_TEXTS = 10_000  # distinct texts that are counted; a column with more has no categories
_MOST_NUMBERS = 4_000_000  # of the sample for medians: 32 MB


class Tally(NamedTuple):
    """Counts over rows.

    ``gaps`` has the number of missing values of each column, ``texts`` how often each text occurs (None for columns of
    numbers, empty for columns with too many different texts), ``drawn`` a sample of the columns of numbers.
    """

    n_rows: int
    gaps: Int1D
    texts: list[Counter[str] | None]
    drawn: Lowest

    @property
    def medians(self) -> Float1D:
        """Medians of the sampled columns of numbers; 0 for columns without values."""
        known = [column[np.isfinite(column)] for column in self.drawn.Z.T]
        return np.array([np.median(column) if column.size else 0.0 for column in known])


def tally_columns(columns: Sequence[Column], part: int = 0, start: int = 0) -> Tally:
    """Count the rows of a block."""
    n_rows = len(columns[0].codes if isinstance(columns[0], Texts) else columns[0])
    numbers = [column for column in columns if not isinstance(column, Texts)]
    Z = np.column_stack(numbers) if numbers else np.empty((n_rows, 0))
    places = fold_numbers(Z, part, start, n_rows, N_HASHES) / N_HASHES
    drawn = lowest_of(Z, np.ones(n_rows), places, 1.0, _most_rows(Z.shape[1]))
    gaps = [np.count_nonzero(c.codes < 0 if isinstance(c, Texts) else np.isnan(c)) for c in columns]
    texts = [_count(column) if isinstance(column, Texts) else None for column in columns]
    return Tally(n_rows, np.array(gaps, dtype=np.int64), texts, drawn)


def _most_rows(n_columns: int) -> int:
    return _MOST_NUMBERS // max(n_columns, 1)


def _count(column: Texts) -> Counter[str]:
    times = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    return _limited(Counter({value: int(n) for value, n in zip(column.values, times, strict=True) if n}))


def _limited(counts: Counter[str]) -> Counter[str]:
    """The counts; none if there are too many different texts."""
    return counts if len(counts) <= _MOST_TEXTS else Counter()


def add_tallies(a: Tally, b: Tally) -> Tally:
    """The counts of two blocks together."""
    texts = [None if x is None or y is None else _add(x, y) for x, y in zip(a.texts, b.texts, strict=True)]
    drawn = merge(a.drawn, b.drawn, _most_rows(a.drawn.Z.shape[1]))
    return Tally(a.n_rows + b.n_rows, a.gaps + b.gaps, texts, drawn)


def _add(a: Counter[str], b: Counter[str]) -> Counter[str]:
    return _limited(a + b)
