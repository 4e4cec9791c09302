"""Readers of files: the interface of a format, .npy, and the formats of ``pyarrow.dataset``."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from .arrays import as_block
from .dialects import Dialect, choose_dialect
from .protocol import Block

__all__ = ["ArrowReader", "NpyReader", "Piece", "Reader"]

_BATCH = 131_072  # rows to read at a time
_BLOCK = 65_536  # rows of the blocks that a whole row group is cut into
_GROUP = 2_000_000  # most rows of a row group that is read as a whole
_SMALL = 32_768  # batches with fewer rows are joined with the next ones of the file


class Piece(NamedTuple):
    """Rows of a file as read, not yet converted to a block."""

    part: int
    start: int
    n_rows: int
    content: Any


class Reader(ABC):
    """The rows of files of one format."""

    n_samples: int | None
    names: list[str]
    named: bool
    label: Any
    weight: Any
    single_precision: bool

    def __init__(self, files: list[str]):
        self.files = files
        self._stamps = [_stamp(file) for file in files]  # taken before anything is read

    def require_unchanged(self) -> None:
        """Raise ValueError if a file has changed since it was opened: passes must not mix two versions."""
        for file, stamp in zip(self.files, self._stamps, strict=True):
            if _stamp(file) != stamp:
                raise ValueError(f"{file} has changed since it was opened: open the files again.")

    @abstractmethod
    def pieces(self, block_rows: int, *, only_labels: bool = False) -> Iterator[Piece]:
        """All rows, in order, in pieces of about ``block_rows``."""

    @abstractmethod
    def block(self, piece: Piece, *, only_labels: bool = False) -> Block:
        """Convert a piece to a block; runs in the worker threads."""

    def groups(self, threads: int) -> Iterator[Piece] | None:
        """All rows in groups that threads can read independently; None if there are too few for ``threads``."""
        return None

    def group_blocks(self, group: Piece, only_labels: bool) -> Iterator[Block]:
        """The blocks of a group."""
        raise NotImplementedError

    def check_weights(self, weights: Array, piece: Piece) -> None:
        """Raise ValueError unless the weights are finite and not negative."""
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            raise ValueError(
                f"A weight is negative or not finite in rows {piece.start} to {piece.start + piece.n_rows - 1} of "
                f"{self.files[piece.part]}, column {self.weight!r}."
            )

    def name_of(self, part: int) -> str:
        """Name of the file with number ``part``."""
        return self.files[part]


def _stamp(file: str) -> tuple[int, ...]:
    """Size, times and inode of a file, which change when it is written to or replaced."""
    stat = os.stat(file)
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev


class NpyReader(Reader):
    """Arrays saved by NumPy, one below the other."""

    named = False

    def __init__(self, files: list[str], columns: Sequence[Any] | None, label: Any, weight: Any):
        super().__init__(files)
        self.headers = [_npy_header(file) for file in files]
        widths = {header.shape[1] for header in self.headers}
        if len(widths) > 1:
            odd = next(k for k, header in enumerate(self.headers) if header.shape[1] != self.headers[0].shape[1])
            raise ValueError(
                f"{files[odd]} has {self.headers[odd].shape[1]} columns, but {files[0]} has "
                f"{self.headers[0].shape[1]}: all files must have the same columns."
            )
        width = widths.pop()
        self.label, self.weight = (
            _npy_column(name, value, width) for name, value in (("label", label), ("weight", weight))
        )
        chosen = range(width) if columns is None else [_npy_column("columns", column, width) for column in columns]
        self.columns = [j for j in chosen if columns is not None or j not in (self.label, self.weight)]
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise ValueError(f"columns must name at least one column, and none twice; got {self.columns}.")
        self.names = [f"x{j}" for j in self.columns]
        self.n_samples = sum(header.shape[0] for header in self.headers)
        self.single_precision = any(h.dtype.kind == "f" and h.dtype.itemsize < 8 for h in self.headers)
        self._all = self.columns == list(range(width))
        self._local = threading.local()

    def pieces(self, block_rows: int, *, only_labels: bool = False) -> Iterator[Piece]:
        """All rows, in order, in pieces of at most ``block_rows``."""
        for part, header in enumerate(self.headers):
            for start in range(0, header.shape[0], block_rows):
                yield Piece(part, start, min(block_rows, header.shape[0] - start), None)

    def block(self, piece: Piece, *, only_labels: bool = False) -> Block:
        """Convert a piece to a block; runs in the worker threads."""
        rows = self._read(piece)
        labels = None if self.label is None else rows[:, self.label]
        weights = None if self.weight is None else np.array(rows[:, self.weight], dtype=np.float64)
        if weights is not None:
            self.check_weights(weights, piece)
        X = rows if self._all else rows[:, [] if only_labels else self.columns]
        if labels is not None:
            labels = labels.copy()
        return Block(as_block(X), weights, labels, piece.part, piece.start)

    def _read(self, piece: Piece) -> Array:
        """Read the rows into this thread's buffer, which the next call overwrites."""
        file, header = self.files[piece.part], self.headers[piece.part]
        n, width = header.shape
        buffer = self._buffer(piece.n_rows * width * header.dtype.itemsize)
        with open(file, "rb", buffering=0) as stream:
            if not header.fortran:
                _fill(stream, header.offset + piece.start * width * header.dtype.itemsize, buffer, file)
                return buffer.view(header.dtype).reshape(piece.n_rows, width)
            length = piece.n_rows * header.dtype.itemsize
            for j in range(width):
                position = header.offset + (j * n + piece.start) * header.dtype.itemsize
                _fill(stream, position, buffer[j * length : (j + 1) * length], file)
            return buffer.view(header.dtype).reshape(width, piece.n_rows).T

    def _buffer(self, n_bytes: int) -> Array:
        if not hasattr(self._local, "buffer") or self._local.buffer.size < n_bytes:
            self._local.buffer = np.empty(n_bytes, dtype=np.uint8)
        buffer: Array = self._local.buffer[:n_bytes]
        return buffer


class _NpyHeader(NamedTuple):
    shape: tuple[int, int]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int


def _npy_header(file: str) -> _NpyHeader:
    try:
        with open(file, "rb") as stream:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(stream)
            offset = stream.tell()
            size = os.fstat(stream.fileno()).st_size - offset
    except ValueError as error:
        raise ValueError(f"{file} is not a .npy file: {error}") from error
    if len(shape) != 2 or dtype.kind not in "biuf" or shape[1] == 0:
        raise ValueError(f"{file} has an array of shape {shape} and type {dtype}; save a table of numbers instead.")
    if size < shape[0] * shape[1] * dtype.itemsize:
        raise ValueError(
            f"{file} is truncated: it has {size} bytes of data instead of {shape[0] * shape[1] * dtype.itemsize}."
        )
    return _NpyHeader((shape[0], shape[1]), fortran, dtype, offset)


def _npy_column(what: str, column: Any, width: int) -> Any:
    if column is None:
        return None
    if isinstance(column, bool) or not isinstance(column, (int, np.integer)) or not -width <= column < width:
        raise ValueError(f"{what} must be the number of a column, 0 to {width - 1}, for .npy files; got {column!r}.")
    return int(column) % width


def _fill(stream: Any, position: int, buffer: Array, file: str) -> None:
    """Fill ``buffer`` with the bytes from ``position`` on."""
    stream.seek(position)
    view, done = buffer.data, 0
    while done < len(view):
        n = stream.readinto(view[done:])
        if not n:
            raise ValueError(f"{file} ends before its last row: it is truncated.")
        done += n


class ArrowReader(Reader):
    """Tables in the formats that ``pyarrow.dataset`` reads."""

    named = True

    def __init__(
        self,
        files: list[str],
        kind: str,
        columns: Sequence[Any] | None,
        label: Any,
        weight: Any,
        dialect: Mapping[str, str] | None = None,
    ):
        try:
            import pyarrow.dataset as dataset
        except ImportError as error:
            raise ImportError(f"Reading {kind} files needs pyarrow: pip install 'vanishing[parquet]'.") from error
        super().__init__(files)
        self.kind = kind
        self.label, self.weight = label, weight
        self.dialect = choose_dialect(files[0], dialect) if kind == "csv" else None
        with _naming(files[0], kind):
            whole = dataset.dataset(files, format=kind if self.dialect is None else self.dialect.csv_format())
        self.fragments = list(whole.get_fragments())
        schemas = []
        for fragment, file in zip(self.fragments, files, strict=True):
            with _naming(file, kind):
                schemas.append(fragment.physical_schema)
        self.names = self._choose(schemas[0], columns)
        self._check(schemas)
        if self.dialect is not None:
            self._read_numbers(self.dialect)
        self.n_samples = None if kind == "csv" else sum(self._count(k) for k in range(len(files)))
        types = [schema.field(name).type for schema in schemas for name in self.names]
        self.single_precision = any(str(kind) in ("float", "halffloat") for kind in types)

    def _read_numbers(self, dialect: Dialect) -> None:
        """Read the columns of CSV files as float64, even if their first values are integers."""
        import pyarrow
        import pyarrow.dataset as dataset

        numbers = dict.fromkeys([*self.names, *([] if self.weight is None else [self.weight])], pyarrow.float64())
        self.fragments = list(dataset.dataset(self.files, format=dialect.csv_format(numbers)).get_fragments())

    def _choose(self, schema: Any, columns: Sequence[Any] | None) -> list[str]:
        extra = [name for name in (self.label, self.weight) if name is not None]
        chosen = [name for name in schema.names if name not in extra] if columns is None else list(columns)
        missing = [name for name in (*chosen, *extra) if name not in schema.names]
        if missing:
            raise ValueError(f"{self.files[0]} has no column {missing[0]!r}; it has {', '.join(schema.names)}.")
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"columns must name at least one column, and none twice; got {chosen}.")
        return chosen

    def _check(self, schemas: Sequence[Any]) -> None:
        """Raise ValueError if a file lacks a column, or a column has values other than numbers."""
        import pyarrow.types as types

        required = [name for name in (*self.names, self.label, self.weight) if name is not None]
        for file, schema in zip(self.files, schemas, strict=True):
            missing = [name for name in required if name not in schema.names]
            if missing:
                raise ValueError(
                    f"{file} has no column {missing[0]!r}, but {self.files[0]} has: all files must have the same "
                    "columns."
                )
            for name in (*self.names, *([self.weight] if self.weight is not None else [])):
                kind = schema.field(name).type
                number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
                if not (number or types.is_decimal(kind) or types.is_null(kind)):
                    raise ValueError(
                        f"Column {name!r} of {file} has values of type {kind}, not numbers: convert it, or choose "
                        "others with columns=[...]."
                    )

    def _count(self, part: int) -> int:
        with _naming(self.files[part], self.kind):
            return int(self.fragments[part].count_rows())

    def pieces(self, block_rows: int, *, only_labels: bool = False) -> Iterator[Piece]:
        """All rows, in order, in pieces whose length suits reading; ``block_rows`` is ignored."""
        names = self._columns(only_labels=only_labels)
        for part, fragment in enumerate(self.fragments):
            start, waiting, n_waiting = 0, [], 0
            batches = self._batches(part, fragment, names)
            for batch in batches:
                waiting.append(batch)
                n_waiting += batch.num_rows
                if n_waiting >= _SMALL:
                    yield Piece(part, start, n_waiting, waiting)
                    start, waiting, n_waiting = start + n_waiting, [], 0
            if n_waiting:
                yield Piece(part, start, n_waiting, waiting)

    def groups(self, threads: int) -> Iterator[Piece] | None:
        """The row groups of Parquet files; None for other formats, or if there are too few for ``threads``."""
        if self.kind != "parquet" or sum(fragment.num_row_groups for fragment in self.fragments) < 4 * threads:
            return None
        return self._row_groups()

    def _row_groups(self) -> Iterator[Piece]:
        for part, fragment in enumerate(self.fragments):
            start = 0
            for group in fragment.row_groups:
                yield Piece(part, start, group.num_rows, group.id)
                start += group.num_rows

    def group_blocks(self, group: Piece, only_labels: bool) -> Iterator[Block]:
        """The blocks of a row group."""
        import pyarrow.parquet as parquet

        names = self._columns(only_labels=only_labels)
        with _naming(self.files[group.part], self.kind):
            file = parquet.ParquetFile(self.files[group.part], metadata=self.fragments[group.part].metadata)
            start = group.start
            tables = (
                [file.read_row_group(group.content, columns=names, use_threads=False)]
                if group.n_rows <= _GROUP
                else file.iter_batches(_BATCH, row_groups=[group.content], columns=names, use_threads=False)
            )
            for table in tables:
                for batch in table.to_batches(_BLOCK) if hasattr(table, "to_batches") else [table]:
                    piece = Piece(group.part, start, batch.num_rows, [batch])
                    yield self.block(piece, only_labels=only_labels)
                    start += batch.num_rows

    def _columns(self, *, only_labels: bool) -> list[str]:
        names = [self.label] if only_labels else [*self.names, self.label, self.weight]
        return list(dict.fromkeys(name for name in names if name is not None))

    def _batches(self, part: int, fragment: Any, names: list[str]) -> Iterator[Any]:
        import pyarrow.dataset as dataset

        options: dict[str, Any] = {"columns": names, "batch_size": _BATCH}
        if self.kind == "parquet":  # buffers that were read ahead are freed at the end of the file only
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(pre_buffer=False)
        with _naming(self.files[part], self.kind):
            yield from fragment.to_batches(**options)

    def block(self, piece: Piece, *, only_labels: bool = False) -> Block:
        """Convert a piece to a block; runs in the worker threads."""
        import pyarrow

        with _naming(self.files[piece.part], self.kind):
            table = pyarrow.Table.from_batches(piece.content)
            labels = None if self.label is None else self._labels(table.column(self.label), piece)
            if only_labels:
                return Block(np.empty((piece.n_rows, 0)), None, labels, piece.part, piece.start)
            X = np.empty((len(self.names), piece.n_rows))
            for name, values in zip(self.names, X, strict=True):
                _fill_column(table.column(name), values)
            weights = None
            if self.weight is not None:
                weights = np.empty(piece.n_rows)
                _fill_column(table.column(self.weight), weights)
                self.check_weights(weights, piece)
        return Block(X.T, weights, labels, piece.part, piece.start)

    def _labels(self, column: Any, piece: Piece) -> Array:
        import pyarrow.types as types

        if column.null_count:
            raise ValueError(
                f"A label is missing in rows {piece.start} to {piece.start + piece.n_rows - 1} of "
                f"{self.files[piece.part]}, column {self.label!r}: drop those rows."
            )
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        if types.is_string(kind) or types.is_large_string(kind):
            encoded = column.combine_chunks().dictionary_encode() if not types.is_dictionary(column.type) else column
            encoded = encoded.combine_chunks() if hasattr(encoded, "num_chunks") else encoded
            words = np.asarray(encoded.dictionary.to_pylist(), dtype=str)
            return np.asarray(words[encoded.indices.to_numpy(zero_copy_only=False)])
        return np.asarray(column.to_numpy())


def _fill_column(column: Any, values: Array) -> None:
    """Copy a column into ``values``, with NaN for missing numbers."""
    import pyarrow
    import pyarrow.types as types

    start = 0
    for chunk in column.chunks:
        if types.is_decimal(chunk.type) or types.is_null(chunk.type):
            chunk = chunk.cast(pyarrow.float64())
        values[start : start + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
        start += len(chunk)


class _naming:  # noqa: N801  (used like a function)
    """Turns errors of pyarrow into a ValueError that names the file."""

    def __init__(self, file: str, kind: str):
        self.file = file
        self.kind = kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        import pyarrow

        if isinstance(error, (pyarrow.ArrowException, OSError)) and not isinstance(error, FileNotFoundError):
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(
                f"{self.file} cannot be read as {self.kind}; is it truncated or damaged? ({first})"
            ) from error
