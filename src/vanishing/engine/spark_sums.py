"""Sums of products of terms over a Spark DataFrame: each of its tasks sends one row of sums, and no rows of the data.

A first job finds gaps and the ranges of the columns; a second one sums over the columns scaled to [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from .._typing import Float1D

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "decimal")  # Spark's types


class SparkColumns(NamedTuple):
    """The columns to sum as numbers, the weights last if there are any; their names, the number of rows, the ranges."""

    frame: Any
    names: list[str]
    n_samples: int
    low: Float1D
    high: Float1D


def survey_frame(df: Any, columns: Sequence[str] | None, weight: str | None) -> SparkColumns:
    """Check the columns of a DataFrame, and find their ranges in one job; gaps raise ValueError."""
    from pyspark.sql import functions

    if not hasattr(df, "mapInArrow"):
        raise ValueError(f"df must be a DataFrame of Spark, got {type(df).__module__}.{type(df).__name__}.")
    names = [name for name in df.columns if name != weight] if columns is None else [str(name) for name in columns]
    used = [*names, *([] if weight is None else [weight])]
    _require_numbers(dict(df.dtypes), used, df.columns)
    frame = df.select([functions.col(_quoted(name)).cast("double").alias(f"c{k}") for k, name in enumerate(used)])
    gaps = [
        functions.sum((functions.col(name).isNull() | functions.isnan(name)).cast("bigint")) for name in frame.columns
    ]
    extremes = [end(name) for name in frame.columns for end in (functions.min, functions.max)]
    # Moments do not count rows of weight 0.
    counting = functions.lit(1) if weight is None else functions.when(functions.col(frame.columns[-1]) != 0.0, 1)
    n_rows, *counts_and_ends = frame.agg(functions.count(counting), *gaps, *extremes).first()
    if not n_rows:
        raise ValueError("The DataFrame has no rows: there is nothing to sum.")
    counts, ends = counts_and_ends[: len(used)], np.array(counts_and_ends[len(used) :], dtype=np.float64)
    if any(counts):
        missing = ", ".join(f"{n:,} in {name!r}" for n, name in zip(counts, used, strict=True) if n)
        raise ValueError(f"Values are missing ({missing}): leave such rows out with df.dropna(subset={used!r}).")
    low, high = ends.reshape(-1, 2).T
    infinite = [name for name, finite in zip(used, np.isfinite(low + high), strict=True) if not finite]
    if infinite:
        raise ValueError(f"Column {infinite[0]!r} has infinite values: leave such rows out with df.where(...).")
    if weight is not None and low[-1] < 0.0:
        raise ValueError(f"A weight is negative in column {weight!r}: weights must be 0 or more.")
    return SparkColumns(frame, names, int(n_rows), low[: len(names)], high[: len(names)])


def _require_numbers(types: dict[str, str], used: Sequence[str], given: Sequence[str]) -> None:
    if len(types) < len(given):
        raise ValueError("Two columns of the DataFrame have the same name: rename one of them.")
    for name in used:
        if name not in types:
            raise ValueError(f"The DataFrame has no column {name!r}: it has {', '.join(map(repr, given))}.")
        if types[name].partition("(")[0] not in _NUMBERS:
            raise ValueError(
                f"Column {name!r} holds values of type {types[name]}, no numbers: convert it, or choose other columns."
            )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def add_partitions(moments: Any, columns: SparkColumns) -> None:
    """Add the sums over the partitions, in their order, to moments with a scaler."""
    task = _SumPartition(type(moments), moments.degree, moments.scaler)
    try:
        rows = columns.frame.mapInArrow(task, "sums binary").collect()
    except Exception as error:
        if "No module named 'vanishing'" in str(error):
            raise ImportError(
                "The executors of Spark cannot import vanishing: install it in their Python, or send it with the job."
            ) from None
        raise
    lower = np.tril_indices(len(moments.terms))
    for row in rows:
        sums, numbers = np.zeros((len(moments.terms),) * 2), np.frombuffer(row[0])
        (n_samples, weight), low, high, sums[lower] = np.split(numbers, 2 + np.array([0, 1, 2]) * len(columns.names))
        moments._add(sums + np.tril(sums, -1).T, low, high, int(n_samples), float(weight))
    if moments.n_samples != columns.n_samples:
        raise ValueError(
            f"The DataFrame had {columns.n_samples:,} rows in the first job and {moments.n_samples:,} in the second: "
            "keep it with df.persist(), or write it to files, so that both read the same rows."
        )


@dataclass(frozen=True)
class _SumPartition:
    """The work of a task: it sums over the batches of its partition, and returns one row, the bytes of the sums.

    The bytes are those of a vector: number of rows, weight, smallest and largest values of the scaled columns, and the
    lower triangle of the sums.
    """

    kind: type
    degree: int
    scaler: MinMaxScaler

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        n = len(self.scaler.scale_)
        moments = self.kind(n, self.degree, n_jobs=1)
        for batch in batches:
            if batch.num_rows:
                X = np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
                # The difference first: the products do not cancel.
                scaled = (X[:, :n] - self.scaler.data_min_) * self.scaler.scale_
                moments.update(scaled + self.scaler.feature_range[0], X[:, n] if X.shape[1] > n else None)
        if moments.n_samples:
            counts, ends = [moments.n_samples, moments.total_weight], [moments._low, moments._high]
            numbers = np.concatenate([counts, *ends, moments._sum[np.tril_indices(len(moments.terms))]])
            yield pyarrow.RecordBatch.from_pydict({"sums": [numbers.tobytes()]})
