"""Turns a user's input into a checked data source, and tells the estimator its columns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from .._typing import Array, Float2D, Int1D
from ..checks import check_weights, require_unmasked
from ..display import counted
from .array_api import is_device_array, namespace_of, to_host
from .arrays import ArrayRows
from .disk import open_rows
from .protocol import Block, Cost, Rows
from .streams import is_stream


def is_source(X: Any) -> bool:
    """Whether ``X`` is anything other than an array, a frame or a list in the memory of this process."""
    return isinstance(X, Rows) or is_dask(X) or is_device_array(X) or is_stream(X)


def dense(X: Any) -> Any:
    """A sparse matrix, such as a one-hot encoder gives, as an array; anything else as it is."""
    return X.toarray() if issparse(X) else X


def is_dask(X: Any) -> bool:
    """Whether ``X`` is a Dask collection."""
    return type(X).__module__.split(".")[0] == "dask"


def read_rows(
    X: Any, sample_weight: Any = None, *, labels: Any = None, n_jobs: int | None = None, passes: int | None = None
) -> Rows:
    """The data source for a user's table: an array, a frame, a Dask collection, an array of a device, or Rows.

    ``sample_weight`` and ``labels`` have shape (n_samples,); Rows and tables of other libraries bring their own. The
    caller says how many ``passes`` it makes, if it knows: rows that can be read only once allow one.
    """
    frame = names = None
    if type(X) is not np.ndarray:  # masked, or something that has to be opened
        X = open_table(X)
        source = _find_source(X, sample_weight, labels)
        if source is not None:
            if passes != 1:
                _require_further_passes(source)
            return source
        require_columns(X)
        frame, names = input_frame(X), frame_names(X)
        if frame is None:
            require_numbers(X)
    table = check_array(X, dtype="numeric", ensure_all_finite=False, input_name="X") if frame is None else frame
    if table.dtype.kind not in "biuf":
        raise ValueError(f"Input X has values of type {table.dtype}; convert its columns to numbers.")
    weights = None if sample_weight is None else check_weights(sample_weight, table.shape[0])
    rows = ArrayRows(table, weights, labels, n_jobs)
    rows.feature_names = names
    if frame is not None:
        rows.single_precision = _has_single(X)
    return rows


def read_input(
    estimator: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    labels: Any = None,
    reset: bool = True,
    passes: int | None = None,
) -> Rows:
    """The data source for the input of an estimator, which learns its columns, or compares them with ``reset=False``.

    As :func:`read_rows`, except that new rows (``reset=False``) may be rows that can be read only once.
    """
    X = X if type(X) is np.ndarray else open_table(X)
    n_jobs = getattr(estimator, "n_jobs", None)
    rows = read_rows(X, sample_weight, labels=labels, n_jobs=n_jobs, passes=passes if reset else 1)
    learn_columns(estimator, rows, reset=reset, given=X)
    return rows


def frame_names(X: Any) -> tuple[str, ...] | None:
    """The names of the columns of a frame or table in memory; None where they are not all texts."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return tuple(names) if names is not None and all(isinstance(name, str) for name in names) else None


def _require_further_passes(rows: Rows) -> None:
    if rows.read_once:
        raise ValueError(
            "The rows can be read only once, but this fit makes several passes: give the table or the dataset that the "
            "reader reads, X.read_all() if the rows fit into memory, or Moments of them."
        )


def _find_source(X: Any, sample_weight: Any, labels: Any) -> Rows | None:
    """The source for a table outside of the memory of this process; None for arrays, frames and lists in it."""
    if getattr(type(X), "_holds_no_rows", False):
        raise ValueError("Moments have no rows: only OAVI, ABM and AVI can be fitted to them.")
    require_unmasked(X=X, sample_weight=sample_weight)
    if isinstance(X, Rows):
        if X.n_features == 0:
            raise ValueError("The rows have no columns while at least one is required.")
        if sample_weight is not None:
            raise ValueError(
                "sample_weight cannot be given for rows on disk and streams: name its column in open_rows(weight=...)."
            )
        return X
    if is_dask(X):
        from .dask import dask_rows

        return dask_rows(X, sample_weight, labels)
    if is_device_array(X):
        from .device import DeviceRows

        return DeviceRows(X, sample_weight, labels)
    return None


def open_table(X: Any) -> Any:
    """Rows for a table of another library, anything else as it is; raise ValueError for the name of a file."""
    if isinstance(X, (str, os.PathLike)):
        raise ValueError(f"X is a path, not a table: open the file with open_rows({os.fspath(X)!r}).")
    if type(X).__name__ == "RecordBatch" and hasattr(X, "__arrow_c_stream__"):
        import pyarrow

        return pyarrow.table(X)
    return open_rows(X) if is_stream(X) else X


def choose_columns(X: Any, names: Sequence[str]) -> Any:
    """Some columns of a table, by their names; a table without names as it is."""
    if is_stream(X):
        return open_rows(X, columns=list(names))
    given = X.feature_names if isinstance(X, Rows) else getattr(X, "column_names", getattr(X, "columns", None))
    if given is None or not all(isinstance(name, str) for name in given):
        return X
    lacking = [name for name in names if name not in given]
    if lacking:
        columns, them = ("column", "it") if len(lacking) == 1 else ("columns", "them")
        names_of = ", ".join(map(repr, lacking))
        raise ValueError(
            f"The table lacks the {columns} {names_of}: add {them}, or rename others; it has {', '.join(given)}."
        )
    if isinstance(X, Rows):
        return X.select([list(given).index(name) for name in names])
    return X.select(list(names)) if hasattr(X, "column_names") else X[list(names)]


def require_columns(X: Any) -> None:
    """Raise ValueError for a frame or table in memory without columns, or with several of one name."""
    if type(X).__module__.split(".")[0] not in ("pandas", "polars", "pyarrow") or not hasattr(X, "columns"):
        return
    names = list(getattr(X, "column_names", X.columns))
    if not names:
        raise ValueError("X has no columns: give it at least one.")
    several = [name for name, n in Counter(names).items() if n > 1]
    if several:
        raise ValueError(f"X has several columns called {several[0]!r}: rename them, or drop all but one.")


def require_numbers(X: Any, fix: str = "encode {}, for instance with OneHotEncoder, or drop {}") -> None:
    """Raise ValueError for columns of a frame that hold no numbers; ``fix`` has ``{}`` for it, or them."""
    require_columns(X)
    kind = type(X).__module__.split(".")[0]
    if kind == "pandas" and hasattr(X, "dtypes") and hasattr(X, "columns"):
        bad = [str(name) for name, dtype in X.dtypes.items() if not _holds_numbers(dtype, X[name])]
    elif kind == "polars" and hasattr(X, "schema"):
        bad = [name for name, dtype in X.schema.items() if not (dtype.is_numeric() or str(dtype) == "Boolean")]
    else:
        bad = [name for name in getattr(X, "column_names", ()) if not _holds_numbers(None, X[name])]
    if bad:
        one = len(bad) == 1
        raise ValueError(
            f"{'Column' if one else 'Columns'} {', '.join(map(repr, bad))} {'holds' if one else 'hold'} text or dates, "
            f"no numbers: {fix.replace('{}', 'it' if one else 'them')}."
        )


def _holds_numbers(dtype: Any, column: Any) -> bool:
    if getattr(dtype, "kind", "O") != "O":
        return getattr(dtype, "kind", "O") in "biuf"
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def read_finite(estimator: Any, X: Any) -> Rows:
    """The data source for ``X`` with the columns of the fit; NaN and infinity raise ValueError."""
    rows = read_input(estimator, X, reset=False)
    if not isinstance(rows, ArrayRows):
        return finite_blocks(rows, input_names(estimator))
    if rows.X.dtype.kind == "f":
        require_finite(rows, input_names(estimator))
    return rows


def finite_blocks(rows: Rows, names: Sequence[str], *, may_drop: bool = False) -> Rows:
    """The rows; reading a block with NaN or infinity raises ValueError, which names the column."""
    return rows.changed(_Finite(list(names), rows.place, may_drop))


def learn_columns(estimator: Any, rows: Any, *, reset: bool = True, given: Any = None) -> None:
    """Store the columns of rows or moments on the estimator, or compare them with those of the fit.

    The names in the array or frame that was ``given`` are compared by scikit-learn, with its warnings.
    """
    without_names = type(given) is np.ndarray and (reset or "feature_names_in_" not in vars(estimator))
    if isinstance(rows, ArrayRows) and not (given is None or without_names or isinstance(given, Rows)):
        validate_data(estimator, given, skip_check_array=True, reset=reset)
        return
    names = rows.feature_names
    if reset:
        estimator.n_features_in_ = rows.n_features
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        else:
            vars(estimator).pop("feature_names_in_", None)
        return
    if rows.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    known = vars(estimator).get("feature_names_in_")
    if names is not None and known is not None and list(known) != list(names):
        raise ValueError(
            f"The columns should be those of the fit, in the same order: {', '.join(map(str, known))}; "
            f"got {', '.join(names)}."
        )


def input_names(estimator: Any) -> list[str]:
    """Return the names of the columns that an estimator was fitted to; x0, x1, ... if they had none."""
    names = vars(estimator).get("feature_names_in_")
    return list(map("x{}".format, range(estimator.n_features_in_))) if names is None else list(map(str, names))


def take_input_from(source: Any, estimator: Any) -> None:
    """Copy number and names of the columns that ``source`` was fitted to onto ``estimator``."""
    estimator.n_features_in_ = source.n_features_in_
    if "feature_names_in_" in vars(source):
        estimator.feature_names_in_ = source.feature_names_in_


def with_names(values: Any, names: Callable[[], Any]) -> Any:
    """Set the column names of computed rows; return anything else unchanged."""
    if isinstance(values, Rows):
        values.feature_names = tuple(str(name) for name in names())
    return values


class _FrameColumns:
    """The columns of a frame behind an array interface that copies only the rows asked for."""

    def __init__(self, columns: Sequence[Array]):
        self.columns = columns
        self.dtype = np.dtype(np.float64)
        self.shape = (len(columns[0]), len(columns))

    def __getitem__(self, rows: Any) -> Float2D:
        parts = [column[rows] for column in self.columns]
        table = np.empty((len(parts), len(parts[0])))
        for part, values in zip(parts, table, strict=True):
            values[:] = part
        return table.T

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:].astype(np.float64 if dtype is None else dtype, copy=False)


def input_frame(X: Any) -> Any:
    """A frame of pandas or polars, or an Arrow table, as an array that is never copied as a whole; else None."""
    kind = type(X).__module__.split(".")[0]
    if kind not in ("pandas", "polars", "pyarrow") or not hasattr(X, "columns") or 0 in X.shape:
        return None
    if kind == "pandas":
        numeric = all(getattr(dtype, "kind", "O") in "biuf" for dtype in X.dtypes)
        if not numeric or X.columns.duplicated().any():
            return None
        columns = [
            X.iloc[:, j].to_numpy()
            if isinstance(dtype, np.dtype)
            else X.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
            for j, dtype in enumerate(X.dtypes)
        ]
    elif kind == "pyarrow":
        columns = [column.to_numpy() for column in X.columns]
    else:
        if not all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in X.dtypes):
            return None
        columns = [X[:, j].to_numpy() for j in range(X.shape[1])]
    return _FrameColumns(columns) if all(column.dtype.kind in "biuf" for column in columns) else None


def _has_single(frame: Any) -> bool:
    """Whether a column has float32 or float16 values."""
    kinds = frame.dtypes if hasattr(frame, "dtypes") else frame.schema.types
    return any(str(kind).lower() in ("float32", "float16", "float", "halffloat") for kind in kinds)


class _NonFinite(NamedTuple):
    """Number of values that are not finite in each column; by column the first one: part, row, whether it is NaN."""

    counts: Int1D
    first: dict[int, tuple[int, int, bool]]


def _count_non_finite(block: Block) -> _NonFinite:
    """Count the values of a block that are not finite, and locate the first one in each column."""
    namespace = np if isinstance(block.X, np.ndarray) else namespace_of(block.X)
    first: dict[int, tuple[int, int, bool]] = {}
    with np.errstate(over="ignore", invalid="ignore"):
        if namespace.isfinite(namespace.sum(block.X)):
            return _NonFinite(np.zeros(block.X.shape[1], dtype=np.int64), first)
    bad = to_host(~namespace.isfinite(block.X))
    for j in np.flatnonzero(bad.any(axis=0)).tolist():
        i = int(np.argmax(bad[:, j]))
        first[j] = block.part, block.start + i, bool(np.isnan(float(block.X[i, j])))
    return _NonFinite(bad.sum(axis=0), first)


def _add_non_finite(a: _NonFinite, b: _NonFinite) -> _NonFinite:
    return _NonFinite(a.counts + b.counts, b.first | a.first)


def require_finite(rows: Rows, names: Sequence[str], *, may_drop: bool = False, whole: bool = True) -> None:
    """Raise ValueError for NaN and infinity, naming the first column that has one.

    With ``may_drop``, the message names the parameter ``missing`` of the caller; if the rows are not the ``whole``
    table, it counts "at least" what it has seen.
    """
    n = rows.n_features
    non_finite = rows.reduce(_count_non_finite, _add_non_finite, Cost(n, 2 * n))
    if non_finite.counts.any():
        raise ValueError(_non_finite_message(non_finite, names, rows, may_drop, whole))


def _non_finite_message(
    non_finite: _NonFinite, names: Sequence[str], rows: Rows | _Finite, may_drop: bool, whole: bool
) -> str:
    """The error about the first column with a value that is not finite."""
    j = int(np.flatnonzero(non_finite.counts)[0])
    part, row, is_nan = non_finite.first[j]
    where = "" if names[j] == f"x{j}" else f" ({names[j]!r})"
    some, first = ("", "the first") if whole else ("at least ", "one")
    way_out = "or drop those rows, as missing='drop' does" if may_drop and is_nan else "or drop those rows"
    return (
        f"Input X contains {'NaN' if is_nan else 'infinity (inf)'} in column {j}{where}: {some}"
        f"{counted(int(non_finite.counts[j]), 'such value')}, {first} {rows.place(part, row)}. Impute them {way_out}."
    )


@dataclass(frozen=True)
class _Finite:
    """Passes blocks through; raises ValueError for values that are not finite, and has seen one block of them then."""

    names: list[str]
    place: Any
    may_drop: bool

    def __call__(self, block: Block) -> Block:
        non_finite = _count_non_finite(block)
        if non_finite.counts.any():
            raise ValueError(_non_finite_message(non_finite, self.names, self, self.may_drop, whole=False))
        return block
