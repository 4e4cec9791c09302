"""Rows in a Dask collection: one task per block, on the worker that holds the block, and a tree of sums."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._typing import Array, Float2D
from ..checks import check_weights, require_unmasked
from ..constants import FEWEST_ROWS
from ..progress import Progress, row_progress
from .arrays import ArrayRows
from .protocol import Block, Cost, Rows, merge

if TYPE_CHECKING:
    delayed: Any
else:
    from dask import delayed

T = TypeVar("T")

_SUMS_PER_TASK = 8  # results that one task of the tree combines


def dask_rows(X: Any, sample_weight: Any = None, labels: Any = None) -> DaskRows:
    """The data source for a ``dask.array`` or ``dask.dataframe``; aligns the blocks of weights and labels with it."""
    import dask.array

    names = None
    if isinstance(X, dask.array.Array):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: reshape X to (n_samples, n_features).")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"Input X has values of type {X.dtype}; convert its columns to numbers.")
        if not X.shape[1] > 0:
            raise ValueError(
                f"Found array with {X.shape[1]} columns while at least one is required, and a known number."
            )
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})  # every row must lie in one block
    elif _is_frame(X):
        names = tuple(str(name) for name in X.columns)
        _require_numbers(X)
    else:
        raise ValueError(f"Expected a dask.array or a dask.dataframe, got {type(X).__name__}.")
    return DaskRows(X, names, _align(X, sample_weight, "sample_weight"), _align(X, labels, "y"))


def _is_frame(X: Any) -> bool:
    """Whether ``X`` is a Dask data frame; by name, because a Delayed has every attribute."""
    return type(X).__name__ == "DataFrame" and type(X).__module__.startswith("dask")


def _require_numbers(frame: Any) -> None:
    for name, dtype in frame.dtypes.items():
        if getattr(dtype, "kind", "O") not in "biuf":
            raise ValueError(
                f"Column {name!r} has values of type {dtype}, not numbers: convert it, or choose others with X[[...]]."
            )


def _align(X: Any, values: Any, what: str) -> Any:
    """Weights or labels in blocks like those of ``X``."""
    if values is None:
        return None
    import dask.array

    if np.ndim(values) != 1:
        raise ValueError(f"{what} must have one dimension, one value per row; got {np.ndim(values)}.")
    lengths = _known_lengths(X)
    if not _is_collection(values):
        lengths = _count_lengths(X) if lengths is None else lengths
        values = dask.array.from_array(np.asarray(values), chunks=(lengths,) if len(values) == sum(lengths) else -1)
    if what == "sample_weight" and values.dtype.kind not in "biuf":
        raise ValueError(f"sample_weight has values of type {values.dtype}; convert them to numbers.")
    if (lengths is None or _known_lengths(values) is None) and _may_have_same_blocks(X, values):
        return values  # each task compares the lengths of its block
    if lengths is None:
        lengths = _count_lengths(X)
    if _known_lengths(values) is None:
        values = _with_known_lengths(values)
    if values.shape[0] != sum(lengths):
        raise ValueError(f"{what} has {values.shape[0]} values for {sum(lengths)} rows: give one for each row.")
    return values.rechunk((lengths,))


def _is_collection(values: Any) -> bool:
    """Whether values lie in a Dask array or series."""
    import dask

    return bool(dask.is_dask_collection(values)) and (hasattr(values, "numblocks") or hasattr(values, "npartitions"))


def _may_have_same_blocks(X: Any, values: Any) -> bool:
    """Whether two collections have as many blocks, and both are arrays, or both keep the partitions of a frame.

    An array that was made of a frame has the blocks that Dask's optimiser made of the partitions.
    """
    if _is_frame(X) != hasattr(values, "to_dask_array"):
        return False
    return bool(values.npartitions == (X.npartitions if _is_frame(X) else X.numblocks[0]))


def _known_lengths(values: Any) -> tuple[int, ...] | None:
    """The numbers of rows of the blocks, if the collection knows them."""
    lengths = getattr(values, "chunks", ((np.nan,),))[0]
    return None if np.isnan(lengths).any() else tuple(int(length) for length in lengths)


def _count_lengths(values: Any) -> tuple[int, ...]:
    """The numbers of rows of the blocks, by a pass over the collection."""
    import dask

    return tuple(dask.compute(*(delayed(len)(piece) for (piece,) in _pieces(values))))


def _with_known_lengths(values: Any) -> Any:
    """A collection in one dimension as an array whose blocks have known lengths, by a pass over it."""
    import dask.array

    make = delayed(np.asarray)
    dtype = values.dtype if isinstance(values.dtype, np.dtype) else np.dtype(object)
    blocks = [
        dask.array.from_delayed(make(piece), shape=(length,), dtype=dtype)
        for (piece,), length in zip(_pieces(values), _count_lengths(values), strict=True)
    ]
    return dask.array.concatenate(blocks)


class DaskRows(Rows):
    """Rows of a Dask collection, on the scheduler that is current when they are read.

    A pass makes one task per block, which the scheduler runs on the worker that holds the block, and combines the
    results in a tree; only the total comes back. Persisted blocks do not move; others are computed again in every pass.
    """

    def __init__(self, X: Any, names: tuple[str, ...] | None, sample_weight: Any, labels: Any):
        self.X = X
        self.feature_names = names
        self.sample_weight = sample_weight
        self.labels = labels
        self.labelled = labels is not None
        self.n_features = int(X.shape[1]) if names is None else len(names)
        self.reading_dominates = True
        kinds = X.dtypes.tolist() if names is not None else [X.dtype]
        self.single_precision = any(kind.kind == "f" and kind.itemsize < 8 for kind in kinds)
        lengths = (np.nan,) if names is not None else X.chunks[0]
        self.n_samples = None if np.isnan(lengths).any() else int(sum(lengths))
        self._cluster = _Cluster()

    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        task = functools.partial(_reduce_block, kernel, combine, cost)
        run = delayed(task, pure=False, traverse=False)
        leaves = [run(k, *parts) for k, parts in enumerate(self._blocks)]
        add = delayed(functools.partial(_add_up, combine), pure=False)
        level = leaves
        while len(level) > 1:
            level = [add(level[i : i + _SUMS_PER_TASK]) for i in range(0, len(level), _SUMS_PER_TASK)]
        n_rows, total = self._cluster.compute(level[0], leaves, self.n_samples)
        if total is None:
            raise ValueError("There are no rows in X.")
        self.n_samples = n_rows
        result: T = total
        return result

    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Any:
        """A lazy Dask array with the columns ``(n_samples, n_columns)`` that ``kernel(block, out)`` computes."""
        import dask.array

        lengths = (np.nan,) * len(self._blocks) if self.feature_names is not None else self.X.chunks[0]
        run = delayed(functools.partial(_map_block, kernel, n_columns, cost), pure=False, traverse=False)
        blocks = [
            dask.array.from_delayed(run(k, *parts), shape=(length, n_columns), dtype=np.float64)
            for (k, parts), length in zip(enumerate(self._blocks), lengths, strict=True)
        ]
        return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)

    def head(self) -> Float2D:
        """A few rows of the first block that is not empty, in NumPy."""
        for parts in self._blocks:
            rows = self._cluster.compute(delayed(_head)(parts[0]))
            if len(rows):
                return np.asarray(rows)
        raise ValueError("There are no rows in X.")

    def label_rows(self) -> Rows:
        return _DaskLabels(self)

    @staticmethod
    def place(part: int, row: int) -> str:
        return f"in row {row} of block {part}"

    @functools.cached_property
    def _blocks(self) -> list[tuple[Any, Any, Any]]:
        """The delayed pieces of every block: rows, weights, labels."""
        return _pieces(self.X, self.sample_weight, self.labels)


def _pieces(*collections: Any) -> list[tuple[Any, ...]]:
    """For each block, the delayed pieces of all collections, from one graph, as they may share tasks.

    Frames and series are simplified together: a pass reads only their columns, and a shuffle that they share happens
    once, as two shuffles would give two orders of the rows. They keep their partitions: the optimiser would join
    partitions of Parquet files where few columns are read, and join more for a series than for a frame.
    """
    import dask
    import dask.array

    arrays = [values for values in collections if isinstance(values, dask.array.Array)]
    frames = [values for values in collections if values is not None and not isinstance(values, dask.array.Array)]
    parts_of_frames = _pieces_of_frames(frames)
    _require_one_shuffle([*arrays, *(pieces[0] for pieces in parts_of_frames)])  # the optimiser would hide it
    of_arrays, of_frames = iter(dask.optimize(*arrays)), iter(parts_of_frames)
    lists: list[list[Any] | None] = []
    for values in collections:
        if values is None:
            lists.append(None)
        elif isinstance(values, dask.array.Array):
            lists.append(list(next(of_arrays).to_delayed(optimize_graph=False).ravel()))
        else:
            lists.append(next(of_frames))
    n_blocks = max(len(pieces) for pieces in lists if pieces is not None)
    return list(zip(*([None] * n_blocks if pieces is None else pieces for pieces in lists), strict=True))


def _pieces_of_frames(frames: list[Any]) -> list[list[Any]]:
    """The delayed partitions of each frame or series; all have the same number of them."""
    import dask.dataframe

    if len(frames) < 2:
        return [frame.simplify().to_delayed(optimize_graph=False) for frame in frames]
    rows = dask.dataframe.map_partitions(
        _listed, *frames, align_dataframes=False, meta=frames[0]._meta, enforce_metadata=False
    )
    blocks = rows.simplify().to_delayed(optimize_graph=False)
    return [[delayed(itemgetter(k), pure=True)(block) for block in blocks] for k in range(len(frames))]


def _listed(*partitions: Any) -> list[Any]:
    return list(partitions)


def _require_one_shuffle(collections: list[Any]) -> None:
    """Raise ValueError for collections of which one waits for a shuffle that another one does not share.

    A shuffle in which the parts of all partitions arrive as they are ready has a task with this name that waits for
    them. It puts the rows of a partition in another order each time it runs.
    """
    barriers = {frozenset(str(key) for key in dict(each.dask) if "barrier" in str(key)) for each in collections}
    if len(barriers) > 1:
        raise ValueError(
            "X, y and sample_weight do not share a shuffle, which puts the rows in another order each time it runs: "
            "persist() the shuffled collection before you take them from it."
        )


class _DaskLabels(DaskRows):
    """The labels of a Dask source, without columns."""

    def __init__(self, rows: DaskRows):
        self.labels = rows.labels
        self.labelled = True
        self.n_features = 0
        self.n_samples = rows.n_samples
        self._cluster = rows._cluster

    @functools.cached_property
    def _blocks(self) -> list[tuple[Any, Any, Any]]:
        return _pieces(None, None, self.labels)


class _Cluster:
    """The scheduler that runs the passes: the one that was current when the rows were read."""

    def __init__(self) -> None:
        self.client = _client()

    def compute(self, root: Any, leaves: Sequence[Any] = (), n_rows: int | None = None) -> Any:
        """Compute the root; with a progress bar, count the rows of finished leaves."""
        if self.client is None:
            with row_progress(n_rows, quiet=not leaves) as progress:
                return _watched_here(root, leaves, progress)
        try:
            self._require_scheduler()
            with row_progress(n_rows, quiet=not leaves) as progress:
                return _watched(self.client, root, leaves, progress) if progress.shown else root.compute()
        except Exception as error:
            self._require_scheduler(error)
            if type(error).__name__ in ("FutureCancelledError", "CancelledError", "LostRun", "KilledWorker"):
                raise ConnectionError(
                    f"Blocks of X were cancelled or lost during a pass ({error}); nothing was fitted. Make the "
                    "collection again, and fit again."
                ) from error
            raise

    def _require_scheduler(self, error: Exception | None = None) -> None:
        if self.client.status != "running" or type(error).__name__ == "CommClosedError":
            raise ConnectionError(
                "The Dask scheduler was lost during a fit; nothing was fitted. Start a cluster, make a Client for it, "
                "and fit again."
            ) from error


def _watched(client: Any, root: Any, leaves: Sequence[Any], progress: Progress) -> Any:
    from distributed import as_completed

    total, *parts = client.compute([root, *leaves])
    for future in as_completed(parts):
        if future.status == "finished":
            progress.advance(future.result()[0])
    return total.result()


def _watched_here(root: Any, leaves: Sequence[Any], progress: Progress) -> Any:
    """Compute the root on a scheduler in this process."""
    from dask.callbacks import Callback

    keys = {leaf.key for leaf in leaves}

    def done(key: Any, result: Any, *_: Any) -> None:
        if key in keys:
            progress.advance(result[0])

    with Callback(posttask=done) if progress.shown else nullcontext():
        return root.compute()


def _client() -> Any:
    """The client of a distributed cluster; None without one, or if Dask is configured for another scheduler."""
    import dask

    if dask.config.get("scheduler", None) not in (None, "dask.distributed", "distributed"):
        return None
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


# The functions below run in tasks.


def _as_rows(X: Any, weights: Any, labels: Any) -> ArrayRows:
    """The rows of one block, on one thread, because the scheduler runs a thread per task."""
    if X is None:
        X = np.empty((len(labels), 0))
    require_unmasked(X=X, sample_weight=weights, y=labels)
    values = X.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(X, "to_numpy") else np.asarray(X)
    for name, given in (("sample_weight", weights), ("y", labels)):
        if given is not None and len(given) != len(values):
            raise ValueError(
                f"{name} has {len(given)} values in a block of {len(values)} rows: rechunk it like X, with known "
                "lengths (compute_chunk_sizes(), to_dask_array(lengths=True))."
            )
        _require_same_order(X, given, name)
    if weights is not None and len(values):
        weights = check_weights(np.asarray(weights) + 0.0, len(values), all_zero=True)
    rows = ArrayRows(values, weights if len(values) else None, _plain(labels), n_jobs=1)
    rows.quiet = True
    return rows


def _require_same_order(X: Any, given: Any, name: str) -> None:
    """Raise ValueError for a part of a frame and of a series with the same index in different orders."""
    if not hasattr(getattr(X, "index", None), "equals") or not hasattr(getattr(given, "index", None), "equals"):
        return  # arrays have no index, and lists have a method of this name
    if not X.index.equals(given.index) and X.index.sort_values().equals(given.index.sort_values()):
        raise ValueError(
            f"{name} has the rows of a block in another order than X, as Dask shuffles each of them anew: persist() "
            f"the collection before you take X and {name} from it."
        )


def _plain(labels: Any) -> Array | None:
    """Labels in a type that NumPy compares quickly."""
    if labels is None:
        return None
    values = np.asarray(labels)
    return values.astype(str) if values.dtype == object and all(isinstance(v, str) for v in values) else values


class _InPart:
    """Runs a kernel on blocks that carry the number of their part of the source."""

    def __init__(self, kernel: Callable[..., Any], part: int):
        self.kernel = kernel
        self.part = part

    def __call__(self, block: Block, *out: Any) -> Any:
        return self.kernel(block._replace(part=self.part), *out)


def _reduce_block(
    kernel: Callable[[Block], Any], combine: Any, cost: Cost, part: int, X: Any, weights: Any, labels: Any
) -> tuple[int, Any]:
    """Number of rows of a block, and the reduction of the kernel over them."""
    rows = _as_rows(X, weights, labels)
    if len(rows) == 0:
        return 0, None
    return len(rows), rows.reduce(_InPart(kernel, part), combine, cost)


def _map_block(
    kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, part: int, X: Any, weights: Any, labels: Any
) -> Float2D:
    rows = _as_rows(X, weights, labels)
    if len(rows) == 0:
        return np.empty((0, n_columns))
    return rows.map(_InPart(kernel, part), n_columns, cost)


def _add_up(combine: Any, results: list[tuple[int, Any]]) -> tuple[int, Any]:
    return sum(n for n, _ in results), functools.reduce(functools.partial(merge, combine), [r for _, r in results])


def _head(X: Any) -> Float2D:
    return np.asarray(_as_rows(X[:FEWEST_ROWS], None, None).X, dtype=np.float64)
