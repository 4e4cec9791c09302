"""The reader of tables of other libraries: Arrow streams and polars' lazy frames, read again in every pass.

A DuckDB relation and a LazyFrame are queries, which every pass runs again; a ``RecordBatchReader`` is gone after one
pass. Columns that are not asked for are not computed where the library can leave them out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from ..constants import FEWEST_ROWS, LONGEST_BLOCK
from .protocol import Block
from .readers import BatchReader, Piece, naming
from .sql import quote_name


def is_stream(X: Any) -> bool:
    """Whether ``X`` is a table of another library that is read in batches; frames and tables in memory are not."""
    library = type(X).__module__.split(".")[0]
    if library == "polars":
        return type(X).__name__ == "LazyFrame"
    if library == "pyarrow":
        return (hasattr(X, "to_batches") and hasattr(X, "count_rows")) or type(X).__name__ == "RecordBatchReader"
    return library not in ("pandas", "builtins", "dask") and hasattr(type(X), "__arrow_c_stream__")


class StreamReader(BatchReader):
    """The batches of a table of another library."""

    kind = "a stream of Arrow batches"

    def __init__(self, X: Any, columns: Sequence[Any] | None, label: Any, weight: Any):
        try:
            import pyarrow  # noqa: F401  (all conversions need it)
        except ImportError as error:
            raise ImportError(f"Reading {_name_of(X)} needs pyarrow: pip install 'vanishing[parquet]'.") from error
        super().__init__([])
        self.name = _name_of(X)
        self.label, self.weight = label, weight
        self.n_samples = None
        self._table = _table_of(X)
        self.read_once = self._table.read_once
        schema = self._table.first(0).schema
        self.names = self.choose_columns(schema, columns)
        self.require_numbers(schema, self.name)
        self.single_precision = self.has_single(schema)

    def name_of(self, part: int) -> str:
        return self.name

    @property
    def origin(self) -> str:
        return f"of {self.name}"

    def pieces(self, block_rows: int, *, only_labels: bool = False) -> Iterator[Piece]:
        """All rows, in order, in pieces whose length suits reading; ``block_rows`` is ignored."""
        n_rows = 0
        for piece in self.join_batches(self._short_batches(self.read_columns(only_labels=only_labels)), 0):
            n_rows += piece.n_rows
            yield piece
        if self.n_samples not in (None, n_rows):
            raise ValueError(
                f"{self.name} gave {self.n_samples} rows in the first pass and {n_rows} in this one: copy it to a "
                "Parquet file and open that, so that every pass reads the same rows."
            )
        self.n_samples = n_rows

    def _short_batches(self, names: list[str]) -> Iterator[Any]:
        with naming(self.name, self.kind):
            for batch in self._table.batches(names):
                for start in range(0, batch.num_rows, LONGEST_BLOCK):
                    yield batch.select(names).slice(start, LONGEST_BLOCK)

    def first_block(self) -> Block | None:
        batches = self._table.first(FEWEST_ROWS).select(self.read_columns(only_labels=False)).to_batches()
        return next((self.block(piece) for piece in self.join_batches(iter(batches), 0)), None)


class _Table(ABC):
    """A table that gives batches of rows, from its start in each pass."""

    read_once = False

    def __init__(self, X: Any):
        self.X = X

    @abstractmethod
    def first(self, n_rows: int) -> Any:
        """The first rows, in an Arrow table; with 0, only its columns matter."""

    @abstractmethod
    def batches(self, names: list[str]) -> Iterator[Any]:
        """All rows in record batches with at least these columns."""


class _LazyFrame(_Table):
    """A query of polars."""

    def first(self, n_rows: int) -> Any:
        return self.X.head(n_rows).collect().to_arrow()

    def batches(self, names: list[str]) -> Iterator[Any]:
        query = self.X.select(names)
        if not hasattr(query, "collect_batches"):
            raise ValueError("Reading a LazyFrame in batches needs polars 1.34: update polars, or call X.collect().")
        for frame in query.collect_batches(chunk_size=LONGEST_BLOCK):
            yield from frame.to_arrow().to_batches()


class _Dataset(_Table):
    """A dataset of pyarrow."""

    def first(self, n_rows: int) -> Any:
        return self.X.schema.empty_table() if n_rows == 0 else self.X.head(n_rows)

    def batches(self, names: list[str]) -> Iterator[Any]:
        import pyarrow.dataset as dataset

        options: dict[str, Any] = {"batch_readahead": 4, "fragment_readahead": 1}
        if isinstance(getattr(self.X, "format", None), dataset.ParquetFileFormat):
            # Otherwise pyarrow reads whole files ahead.
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(pre_buffer=False)
        yield from self.X.to_batches(columns=names, batch_size=LONGEST_BLOCK, **options)


class _Relation(_Table):
    """A query of DuckDB."""

    def first(self, n_rows: int) -> Any:
        import pyarrow

        return pyarrow.table(self.X.limit(n_rows))

    def batches(self, names: list[str]) -> Iterator[Any]:
        import pyarrow

        yield from pyarrow.RecordBatchReader.from_stream(self.X.project(", ".join(map(quote_name, names))))


class _Stream(_Table):
    """Anything else with ``__arrow_c_stream__``; the stream that is opened to learn the columns serves the first pass.

    A stream that cannot be opened twice is thus still good for one pass.
    """

    def __init__(self, X: Any):
        super().__init__(X)
        self.read_once = type(X).__name__ == "RecordBatchReader"
        self._stream: Any = None  # open, with rows that no pass has read yet
        self._ahead: list[Any] = []  # its first batch, if it was read to look at it
        self._used = False

    def first(self, n_rows: int) -> Any:
        import pyarrow

        stream = self._open()
        if n_rows and not self._ahead:
            self._ahead = [batch for batch in [next(iter(stream), None)] if batch is not None]
        return pyarrow.Table.from_batches(self._ahead, stream.schema)[:n_rows]

    def batches(self, names: list[str]) -> Iterator[Any]:
        stream, ahead = self._open(), self._ahead
        self._stream, self._ahead, self._used = None, [], True
        yield from ahead
        yield from stream

    def _open(self) -> Any:
        import pyarrow

        if self._used and self.read_once:
            raise ValueError(
                f"{_name_of(self.X)} can be read only once and its rows are gone: give the table or the dataset that "
                "it reads, or X.read_all() if the rows fit into memory."
            )
        if self._stream is None:
            scanner = hasattr(self.X, "to_reader")
            self._stream = self.X.to_reader() if scanner else pyarrow.RecordBatchReader.from_stream(self.X)
        return self._stream


def _table_of(X: Any) -> _Table:
    """The way to read a table of another library."""
    library = type(X).__module__.split(".")[0]
    if library == "polars":
        return _LazyFrame(X)
    if library == "pyarrow" and hasattr(X, "get_fragments"):
        return _Dataset(X)
    return _Relation(X) if type(X).__name__ == "DuckDBPyRelation" else _Stream(X)


def _name_of(X: Any) -> str:
    """The name of a table in messages."""
    return "the DuckDB relation" if type(X).__name__ == "DuckDBPyRelation" else f"the {type(X).__name__}"
