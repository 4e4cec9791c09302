"""The data at a glance: ranges and moments of all rows, and a sample of rows for pictures, in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import Array, Float1D, Float2D, Int1D
from ..display import counted
from ..plots.style import MOST_POINTS
from ..rows.array_api import to_host
from ..rows.protocol import Block, Cost, Rows
from ..rows.sampling import lowest_places, random_keys
from .figures import histogram
from .markup import Html, join, paragraph
from .tables import figures, percent, table

BINS = 32  # bars of a histogram, and points of a curve


class Glance(NamedTuple):
    """The summary of the rows: of every column, and a sample of up to 5,000 rows with the smallest hashes."""

    n_rows: int
    present: Float1D  # number of values that are not missing
    low: Float1D
    high: Float1D
    mean: Float1D
    square: Float1D  # sum of squares about the mean
    X: Float2D  # the sampled rows, in their order
    numbers: Int1D  # their places among all rows
    labels: Array | None
    hashes: Float1D

    @property
    def deviation(self) -> Float1D:
        """Standard deviation of every column; NaN where all values are missing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt(self.square / self.present))

    @property
    def complete(self) -> Float2D:
        """The sampled rows without missing values."""
        return np.asarray(self.X[np.isfinite(self.X).all(axis=1)])


def look_at(rows: Rows) -> Glance:
    """Summarise all rows in one pass.

    Examples
    --------
    >>> from vanishing.rows.arrays import as_rows
    >>> seen = look_at(as_rows(np.array([[1.0, 5.0], [3.0, np.nan]])))
    >>> seen.n_rows, seen.mean, seen.present
    (2, array([2., 5.]), array([2., 1.]))
    """
    return rows.reduce(_glance, _add_glances, Cost(8 * rows.n_features, 6 * rows.n_features))


def _glance(block: Block) -> Glance:
    X = np.asarray(to_host(block.X), dtype=np.float64)
    known = ~np.isnan(X)
    present = known.sum(axis=0).astype(np.float64)
    whole = bool(known.all())
    filled = X if whole else np.where(known, X, 0.0)
    mean = filled.sum(axis=0) / np.maximum(present, 1.0)
    square = ((filled - mean) ** 2 if whole else np.where(known, (filled - mean) ** 2, 0.0)).sum(axis=0)
    low = (X if whole else np.where(known, X, np.inf)).min(axis=0)
    high = (X if whole else np.where(known, X, -np.inf)).max(axis=0)
    hashes = random_keys(block)
    chosen = lowest_places(hashes, MOST_POINTS)
    labels = None if block.labels is None else np.asarray(to_host(block.labels))[chosen]
    return Glance(len(X), present, low, high, mean, square, X[chosen], chosen, labels, hashes[chosen])


def _add_glances(a: Glance, b: Glance) -> Glance:
    present = a.present + b.present
    share = b.present / np.maximum(present, 1.0)
    step = np.where(a.present > 0.0, b.mean - a.mean, 0.0)
    start = np.where(a.present > 0.0, a.mean, b.mean)
    hashes = np.concatenate([a.hashes, b.hashes])
    chosen = lowest_places(hashes, MOST_POINTS)
    labels = None if a.labels is None or b.labels is None else np.concatenate([a.labels, b.labels])[chosen]
    return Glance(
        a.n_rows + b.n_rows,
        present,
        np.minimum(a.low, b.low),
        np.maximum(a.high, b.high),
        start + share * step,
        a.square + b.square + step**2 * a.present * share,
        np.concatenate([a.X, b.X])[chosen],
        np.concatenate([a.numbers, a.n_rows + b.numbers])[chosen],
        labels,
        hashes[chosen],
    )


def describe_columns(seen: Glance, names: Any) -> Html:
    """A table with a line for each column: range, mean, deviation, missing values, and a small histogram."""
    lines = [
        [
            name,
            histogram(_counts(seen.X[:, j], seen.low[j], seen.high[j]), f"histogram of {name}"),
            *(figures(values[j]) for values in (seen.low, seen.mean, seen.high, seen.deviation)),
            percent(1.0 - seen.present[j] / seen.n_rows),
        ]
        for j, name in enumerate(names)
    ]
    heads = ["column", "distribution", "smallest", "mean", "largest", "deviation", "missing"]
    size = f"{counted(seen.n_rows, 'row')}, {counted(len(names), 'column')}"
    note = f"{size}. Ranges, means and deviations are those of all rows"
    some = "" if len(seen.X) == seen.n_rows else f"; histograms and pictures show {len(seen.X):,} of them"
    return join(paragraph(f"{note}{some}."), table(heads, lines, name="columns"))


def _counts(values: Float1D, low: float, high: float) -> list[int]:
    finite = values[np.isfinite(values)]
    if not (np.isfinite(low) and np.isfinite(high)) or not finite.size:
        return []
    ends = (low, high) if high > low else (low - 0.5, low + 0.5)
    counts: list[int] = np.histogram(finite, bins=BINS, range=ends)[0].tolist()
    return counts
