"""The interface of a reader, and the readers of Arrow batches and of the files that ``pyarrow.dataset`` reads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ..constants import FEWEST_ROWS, LONGEST_BLOCK
from .dialects import Dialect, choose_dialect
from .protocol import Block


class Piece(NamedTuple):
    """Rows of a file as read, not yet converted to a block."""

    part: int
    start: int
    n_rows: int
    content: Any


class Reader(ABC):
    """The rows of files of one format, or of another source that is read from its start in each pass."""

    read_once = False  # whether the rows are gone after one pass
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

    def first_block(self) -> Block | None:
        """A few of the rows, at most 1,024 or the first piece; None without rows."""
        return next((self.block(piece) for piece in self.pieces(FEWEST_ROWS)), None)

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
                f"{self.name_of(piece.part)}, column {self.weight!r}."
            )

    def name_of(self, part: int) -> str:
        """Name of the file with number ``part``."""
        return self.files[part]

    @property
    def origin(self) -> str:
        """Where the rows come from, for messages."""
        return f"in {len(self.files)} file{'s' if len(self.files) > 1 else ''}"


def _stamp(file: str) -> tuple[int, ...]:
    """Size, times and inode of a file, which change when it is written to or replaced."""
    stat = os.stat(file)
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev


class BatchReader(Reader):
    """Chosen columns of Arrow record batches, converted to blocks."""

    named = True
    kind: str

    def choose_columns(self, schema: Any, columns: Sequence[Any] | None) -> list[str]:
        """The names of the columns to read, by default all but labels and weights."""
        extra = [name for name in (self.label, self.weight) if name is not None]
        chosen = [name for name in schema.names if name not in extra] if columns is None else list(columns)
        missing = [name for name in (*chosen, *extra) if name not in schema.names]
        if missing:
            raise ValueError(f"{self.name_of(0)} has no column {missing[0]!r}; it has {', '.join(schema.names)}.")
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"columns must name at least one column, and none twice; got {chosen}.")
        return chosen

    def require_numbers(self, schema: Any, origin: str) -> None:
        """Raise ValueError if a chosen column of ``origin`` has values other than numbers."""
        import pyarrow.types as types

        for name in (*self.names, *([self.weight] if self.weight is not None else [])):
            kind = schema.field(name).type
            number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
            if not (number or types.is_decimal(kind) or types.is_null(kind)):
                raise ValueError(
                    f"Column {name!r} of {origin} has values of type {kind}, not numbers: convert it, or choose "
                    "others with columns=[...]."
                )

    def has_single(self, schema: Any) -> bool:
        """Whether a chosen column has float32 or float16 values."""
        return any(str(schema.field(name).type) in ("float", "halffloat") for name in self.names)

    def read_columns(self, *, only_labels: bool) -> list[str]:
        """The columns that a pass reads: features, labels and weights, or the labels alone."""
        names = [self.label] if only_labels else [*self.names, self.label, self.weight]
        return list(dict.fromkeys(name for name in names if name is not None))

    def join_batches(self, batches: Iterator[Any], part: int) -> Iterator[Piece]:
        """Pieces of one or more batches, so that none but the last is small."""
        start, waiting, n_waiting = 0, [], 0
        for batch in batches:
            waiting.append(batch)
            n_waiting += batch.num_rows
            if n_waiting >= LONGEST_BLOCK:
                yield Piece(part, start, n_waiting, waiting)
                start, waiting, n_waiting = start + n_waiting, [], 0
        if n_waiting:
            yield Piece(part, start, n_waiting, waiting)

    def block(self, piece: Piece, *, only_labels: bool = False) -> Block:
        import pyarrow

        with naming(self.name_of(piece.part), self.kind):
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
        import pyarrow
        import pyarrow.types as types

        if column.null_count:
            row = piece.start + int(np.argmax(column.is_null().to_numpy()))
            raise ValueError(
                f"A label is missing in row {row} of {self.name_of(piece.part)}, column {self.label!r}: drop such rows."
            )
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            column = column if types.is_dictionary(column.type) else column.cast(pyarrow.large_string())
            encoded = column.combine_chunks().dictionary_encode() if not types.is_dictionary(column.type) else column
            encoded = encoded.combine_chunks() if hasattr(encoded, "num_chunks") else encoded
            words = np.asarray(encoded.dictionary.to_pylist(), dtype=str)
            return np.asarray(words[encoded.indices.to_numpy(zero_copy_only=False)])
        return np.asarray(column.to_numpy())


class ArrowReader(BatchReader):
    """Tables in the formats that ``pyarrow.dataset`` reads."""

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
        with naming(files[0], kind):
            whole = dataset.dataset(files, format=kind if self.dialect is None else self.dialect.csv_format())
        self.fragments = list(whole.get_fragments())
        schemas = []
        for fragment, file in zip(self.fragments, files, strict=True):
            with naming(file, kind):
                schemas.append(fragment.physical_schema)
        self.names = self.choose_columns(schemas[0], columns)
        self._check(schemas)
        if self.dialect is not None:
            self._read_numbers(self.dialect, schemas[0])
        self.n_samples = None if kind == "csv" else sum(self._count(k) for k in range(len(files)))
        self.single_precision = any(self.has_single(schema) for schema in schemas)

    def _read_numbers(self, dialect: Dialect, schema: Any) -> None:
        """Read the columns of CSV files as float64, even if their first values are integers; true and false as such."""
        import pyarrow
        import pyarrow.dataset as dataset
        import pyarrow.types as types

        names = [*self.names, *([] if self.weight is None else [self.weight])]
        numbers = {name: pyarrow.float64() for name in names if not types.is_boolean(schema.field(name).type)}
        self.fragments = list(dataset.dataset(self.files, format=dialect.csv_format(numbers)).get_fragments())

    def _check(self, schemas: Sequence[Any]) -> None:
        """Raise ValueError if a file lacks a column, or a column has values other than numbers."""
        required = [name for name in (*self.names, self.label, self.weight) if name is not None]
        for file, schema in zip(self.files, schemas, strict=True):
            missing = [name for name in required if name not in schema.names]
            if missing:
                raise ValueError(
                    f"{file} has no column {missing[0]!r}, but {self.files[0]} has: all files must have the same "
                    "columns."
                )
            self.require_numbers(schema, file)

    def _count(self, part: int) -> int:
        with naming(self.files[part], self.kind):
            return int(self.fragments[part].count_rows())

    def pieces(self, block_rows: int, *, only_labels: bool = False) -> Iterator[Piece]:
        """All rows, in order, in pieces whose length suits reading; ``block_rows`` is ignored."""
        names = self.read_columns(only_labels=only_labels)
        for part, fragment in enumerate(self.fragments):
            yield from self.join_batches(self._batches(part, fragment, names), part)

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
        import pyarrow.parquet as parquet

        names = self.read_columns(only_labels=only_labels)
        with naming(self.files[group.part], self.kind):
            file = parquet.ParquetFile(self.files[group.part], metadata=self.fragments[group.part].metadata)
            start = group.start
            batches = file.iter_batches(LONGEST_BLOCK, row_groups=[group.content], columns=names, use_threads=False)
            for batch in batches:
                yield self.block(Piece(group.part, start, batch.num_rows, [batch]), only_labels=only_labels)
                start += batch.num_rows

    def _batches(self, part: int, fragment: Any, names: list[str]) -> Iterator[Any]:
        import pyarrow.dataset as dataset

        options: dict[str, Any] = {"columns": names, "batch_size": LONGEST_BLOCK}
        if self.kind == "parquet":  # buffers that were read ahead are freed at the end of the file only
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(pre_buffer=False)
        with naming(self.files[part], self.kind):
            yield from fragment.to_batches(**options)


def _fill_column(column: Any, values: Array) -> None:
    """Copy a column into ``values``, with NaN for missing numbers."""
    import pyarrow
    import pyarrow.types as types

    start = 0
    for chunk in column.chunks:
        if types.is_decimal(chunk.type) or types.is_null(chunk.type):
            chunk = chunk.cast(pyarrow.float64())
        elif types.is_boolean(chunk.type):
            chunk = chunk.cast(pyarrow.uint8())  # a missing boolean would become None
        values[start : start + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
        start += len(chunk)


class naming:  # noqa: N801  (used like a function)
    """Turns errors of pyarrow into a ValueError that names the file or table."""

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
