"""Rows in files (.npy, Parquet, Arrow, CSV) and in tables of other libraries, read block by block in every pass."""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .._typing import Float2D
from ..checks import check_scaler
from ..constants import FEWEST_ROWS
from ..display import counted
from ..progress import row_progress
from ..threads import n_threads, one_blas_thread
from .arrays import block_rows, in_order
from .npy import NpyReader
from .protocol import Block, Computed, Cost, Rows, View, merge
from .readers import ArrowReader, Piece, Reader
from .streams import StreamReader, is_stream
from .writing import feature_writer

T = TypeVar("T")

_FORMATS = {
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".csv": "csv",
}


def open_rows(
    path: Any,
    *,
    columns: Sequence[Any] | None = None,
    label: Any = None,
    weight: Any = None,
    scale: Any = False,
    dialect: Mapping[str, str] | None = None,
    n_jobs: int | None = None,
) -> Rows:
    """Rows in files, or of a table of another library, for data larger than memory: every pass reads them again.

    Estimators accept them in place of an array, and need memory that does not depend on the number of rows:
    ``OAVI().fit(open_rows("clicks/*.parquet", label="y", scale=True))``.

    Parameters
    ----------
    path : str, path, or list of them; or a table of another library
        Files, patterns like ``"clicks/*.parquet"``, or folders; all of one format: .npy, .parquet, .arrow or
        .feather (Arrow IPC), .csv. Or a DuckDB relation, a polars LazyFrame, a dataset of pyarrow, or anything else
        with ``__arrow_c_stream__``, which is read in batches. All but .npy need ``pip install 'vanishing[parquet]'``.
    columns : list, optional
        Names of the columns to use (numbers for .npy); all but ``label`` and ``weight`` by default.
    label : str or int, optional
        The column with the labels, of any type, for classifiers.
    weight : str or int, optional
        The column with the sample weights.
    scale : bool or fitted MinMaxScaler, default=False
        True: scale the columns to [0, 1] by their ranges, which the first pass computes and stores in ``scaler``.
        A scaler: use it, for instance for new data.
    dialect : mapping, optional
        How CSV files are written, for instance ``{"delimiter": ";", "decimal": ",", "encoding": "latin-1"}``; what it
        does not say is found from the first lines.
    n_jobs : int, optional
        Threads that compute; all cores by default. The result does not depend on it.

    Returns
    -------
    Rows
        With ``n_samples`` (None for CSV), ``n_features``, ``feature_names``, ``head()``.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from vanishing import OAVI, open_rows
    >>> file = os.path.join(tempfile.mkdtemp(), "parabola.npy")
    >>> x = np.linspace(0, 3, 1000)
    >>> np.save(file, np.column_stack([x, x**2]))
    >>> rows = open_rows(file, scale=True)
    >>> model = OAVI(psi=1e-6).fit(rows)
    >>> print(model.generators_.in_units(rows.scaler)[0])
    0.1111*x0^2 - 0.1111*x1
    """
    rows = DiskRows(_reader_of(path, columns, label, weight, dialect), n_jobs)
    if scale is False:
        return rows
    return ScaledOnDisk(rows, None if scale is True else check_scaler("scale", scale, rows.n_features))


def _reader_of(
    path: Any, columns: Sequence[Any] | None, label: Any, weight: Any, dialect: Mapping[str, str] | None
) -> Reader:
    """The reader of a table, or of files of one format."""
    if is_stream(path):
        return StreamReader(path, columns, label, weight)
    files = find_files(path)
    suffixes = {format_of(file) for file in files}
    if len(suffixes) > 1:
        raise ValueError(f"Files of different formats: {', '.join(sorted(suffixes))}; open one format at a time.")
    kind = suffixes.pop()
    if kind == "npy":
        return NpyReader(files, columns, label, weight)
    return ArrowReader(files, kind, columns, label, weight, dialect)


def find_files(path: Any) -> list[str]:
    """The files that paths, patterns and folders name, sorted within each pattern or folder."""
    if isinstance(path, (str, os.PathLike)):
        path = [path]
    files: list[str] = []
    for entry in map(os.fspath, path):
        if os.path.isdir(entry):
            inside = sorted(str(file) for file in Path(entry).rglob("*") if file.suffix.lower() in _FORMATS)
            matches = [file for file in inside if not Path(file).name.startswith((".", "_"))]
        elif os.path.exists(entry):
            matches = [entry]
        else:
            matches = sorted(glob.glob(entry, recursive=True))
        if not matches:
            raise FileNotFoundError(f"No data files at {entry!r}: give a file, a folder or a pattern like '*.parquet'.")
        files += matches
    if not files:
        raise FileNotFoundError("No data files: the list of paths is empty.")
    return files


def format_of(file: str) -> str:
    """The format of a file, as its name says."""
    suffix = Path(file).suffix.lower()
    if suffix not in _FORMATS:
        raise ValueError(f"{file}: files have to end in {', '.join(_FORMATS)}.")
    return _FORMATS[suffix]


class DiskRows(Rows):
    """Rows that a reader reads again in every pass: from files, or from a table of another library."""

    reading_dominates = True

    def __init__(self, reader: Reader, n_jobs: int | None = None, *, only_labels: bool = False):
        self.reader = reader
        self.n_jobs = n_jobs
        self.only_labels = only_labels
        self.n_samples = reader.n_samples
        self.n_features = 0 if only_labels else len(reader.names)
        self.feature_names = tuple(reader.names) if reader.named else None
        self.labelled = reader.label is not None
        self.single_precision = reader.single_precision
        self.read_once = reader.read_once

    @property
    def files(self) -> list[str]:
        """The files, in the order in which they are read."""
        return self.reader.files

    def reduce(self, kernel: Callable[[Block], T | None], combine: Callable[[T, T], T], cost: Cost) -> T:
        add = functools.partial(merge, combine)
        threads = n_threads(self.n_jobs)
        groups = self.reader.groups(threads)
        if groups is None:
            results = self.each_block(kernel, block_rows(cost))
        else:
            # Read, convert and compute in one thread, while the rows are in its cache.
            results = self._in_order(
                lambda group: functools.reduce(
                    add, map(kernel, self.reader.group_blocks(group, self.only_labels)), None
                ),
                groups,
            )
        total: T | None = functools.reduce(add, results, None)
        if total is None:
            raise ValueError(f"There are no rows in {self.reader.name_of(0)}.")
        return total

    def map(self, kernel: Callable[[Block, Any], None], n_columns: int, cost: Cost, out: Any = None) -> Rows:
        """The columns that ``kernel(block, out)`` computes, lazily: in every pass, or when they are written."""
        return ComputedOnDisk(self, Computed(kernel, n_columns), block_rows(cost))

    def each_block(self, kernel: Callable[[Block], T], block_rows: int) -> Iterator[T]:
        """``kernel(block)`` for all blocks, in order; threads read ahead."""
        return self._in_order(
            lambda piece: kernel(self.reader.block(piece, only_labels=self.only_labels)),
            self.reader.pieces(block_rows, only_labels=self.only_labels),
        )

    def _in_order(self, work: Callable[[Piece], T], pieces: Iterator[Piece]) -> Iterator[T]:
        self.reader.require_unchanged()
        try:
            with one_blas_thread, row_progress(self.n_samples) as progress:
                yield from in_order(work, pieces, n_threads(self.n_jobs), progress, lambda piece: piece.n_rows)
        except (ValueError, OSError):
            self.reader.require_unchanged()  # a replaced file is the likelier cause, and gets its own message
            raise
        self.reader.require_unchanged()

    def head(self) -> Float2D:
        self.reader.require_unchanged()
        block = self.reader.first_block()
        if block is None:
            raise ValueError(f"There are no rows in {self.reader.name_of(0)}.")
        return np.array(block.X[:FEWEST_ROWS])

    def label_rows(self) -> DiskRows:
        return DiskRows(self.reader, self.n_jobs, only_labels=True)

    def place(self, part: int, row: int) -> str:
        return f"in row {row} of {self.reader.name_of(part)}"

    def __repr__(self) -> str:
        rows = "? rows" if self.n_samples is None else counted(self.n_samples, "row")
        return f"<DiskRows: {rows} x {counted(self.n_features, 'column')} {self.reader.origin}>"


class ScaledOnDisk(View):
    """Rows on disk, scaled to [0, 1] by the given scaler, or by ranges that the first pass computes."""

    def __init__(self, source: DiskRows, scaler: Any):
        super().__init__(source, self._scaled)
        self.scaler = scaler

    def _scaled(self, block: Block) -> Block:
        if self.scaler is None:
            raise ValueError(
                "The scaling of these rows is not known: open them with scale=rows.scaler, where rows are the ones "
                "that the model was fitted to."
            )
        return block._replace(X=block.X * self.scaler.scale_ + self.scaler.min_)

    def head(self) -> Float2D:
        """A few of the rows, in NumPy; unscaled until the first pass has computed the scaling."""
        rows = self.source.head()
        return rows if self.scaler is None else np.asarray(self.scaler.transform(rows))

    def label_rows(self) -> Rows:
        return self.source.label_rows()

    def __repr__(self) -> str:
        return f"<Scaled {self.source!r}>"


class ComputedOnDisk(View):
    """Columns computed from rows on disk, in every pass over them or when they are written."""

    source: DiskRows

    def __init__(self, source: DiskRows, change: Computed, block_rows: int):
        super().__init__(source, change, change.n_columns)
        self.block_rows = block_rows

    def write(self, path: Any, names: Sequence[str] | None = None) -> None:
        """Write the columns to a .npy or .parquet file, block by block.

        The file appears under its name only when it is complete, so a killed run leaves no partial file there.

        Parameters
        ----------
        path : str or path
        names : sequence of str, optional
            Names of the columns in a Parquet file; those of the features by default.
        """
        names = names or self.feature_names or [f"g{i}" for i in range(self.n_features)]
        if self.n_features == 0:
            raise ValueError("There are no columns to write: no polynomial vanishes on the data; raise psi.")
        if os.path.realpath(path) in map(os.path.realpath, self.source.files):
            raise ValueError(f"{path} is one of the input files: choose another name.")
        if len(names) != self.n_features:
            raise ValueError(f"names has {len(names)} entries for {self.n_features} columns: give one name per column.")
        with feature_writer(os.fspath(path), list(names)) as writer:
            for values in self.source.each_block(lambda block: self.change(block).X, self.block_rows):
                writer.write(values)

    def __repr__(self) -> str:
        return f"<{self.n_features} columns computed from {self.source!r}>"
