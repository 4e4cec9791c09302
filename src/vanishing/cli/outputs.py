"""Files that commands write: checked before the work starts, and complete or absent after it."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .._typing import Array

TABLES = (".csv", ".parquet", ".json")


def add_output_arguments(parser: argparse.ArgumentParser, what: str, *, required: bool = False) -> None:
    """Add the file to write, and whether to replace an old one."""
    parser.add_argument("-o", "--output", metavar="FILE", required=required, help=what)
    parser.add_argument("--force", action="store_true", help="replace the output file if there is one")


def check_output(path: str | None, force: bool, suffixes: Sequence[str], inputs: Sequence[str] = ()) -> None:
    """Refuse an output that could not be written, before the work starts; None is the standard output.

    An existing file is replaced by ``force`` only, and the ``inputs`` of the command never.
    """
    if path is None:
        return
    if Path(path).suffix.lower() not in suffixes:
        raise ValueError(f"{path}: the name of this output has to end in {' or '.join(suffixes)}.")
    folder = Path(path).parent
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}: make it first.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"The folder {folder} cannot be written to: choose another one.")
    if os.path.realpath(path) in map(os.path.realpath, inputs):
        raise ValueError(f"{path} is one of the input files: choose another name.")
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder: give the name of a file.")
    if os.path.exists(path) and not force:
        raise ValueError(f"{path} exists: add --force to replace it, or choose another name.")


def print_json(content: Any) -> None:
    """Print one JSON object; numbers that are not finite are null."""
    print(json.dumps(plain(content), ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """The value in types of JSON; numbers that are not finite are None."""
    import numpy as np

    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def write_text(path: str | None, text: str) -> None:
    """Write a text to a file, which appears when it is complete, or to the standard output."""
    from ..rows.writing import complete_file

    if path is None:
        print(text.rstrip("\n"))
        return
    with complete_file(path) as unfinished:
        unfinished.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")


class Writer(Protocol):
    """Writes a table part by part."""

    def write(self, columns: Mapping[str, Array]) -> None:
        """Append rows."""


@contextmanager
def table_writer(path: str | None, notes: Mapping[str, Any]) -> Iterator[Writer]:
    """Write a table part by part: a .csv, .parquet or .json file that appears when it is complete, or CSV on stdout.

    Parquet files keep the notes about the columns in their metadata, under the key ``vanishing``, as JSON.
    """
    from ..rows.writing import complete_file

    if path is None:
        yield _Csv(sys.stdout)
        return
    kind = Path(path).suffix.lower()
    with ExitStack() as stack:
        unfinished = stack.enter_context(complete_file(path))
        if kind == ".parquet":
            yield stack.enter_context(closing(_Parquet(unfinished, notes)))
            return
        stream = stack.enter_context(open(unfinished, "w", newline="", encoding="utf-8"))
        yield _Csv(stream) if kind == ".csv" else stack.enter_context(closing(_Json(stream)))


def _cells(values: Array) -> list[Any]:
    """Values of a column, None for NaN."""
    cells = values.tolist()
    return [None if cell != cell else cell for cell in cells] if values.dtype.kind == "f" else cells


class _Csv:
    """Writes CSV; missing numbers are empty."""

    def __init__(self, stream: Any):
        self._writer = csv.writer(stream, lineterminator="\n")
        self._begun = False

    def write(self, columns: Mapping[str, Array]) -> None:
        if not self._begun:
            self._writer.writerow(columns)
            self._begun = True
        self._writer.writerows(zip(*(_cells(values) for values in columns.values()), strict=True))


class _Json:
    """Writes a JSON array with one object a row; numbers that are not finite are null."""

    def __init__(self, stream: Any):
        self._stream, self._before = stream, "[\n"

    def write(self, columns: Mapping[str, Array]) -> None:
        names = list(columns)
        for row in zip(*(_cells(values) for values in columns.values()), strict=True):
            record = json.dumps(plain(dict(zip(names, row, strict=True))), ensure_ascii=False, allow_nan=False)
            self._stream.write(self._before + record)
            self._before = ",\n"

    def close(self) -> None:
        self._stream.write("[]\n" if self._before == "[\n" else "\n]\n")


class _Parquet:
    """Writes a Parquet file; the types are those of the first rows."""

    def __init__(self, path: Path, notes: Mapping[str, Any]):
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise ImportError("Writing Parquet files needs pyarrow: pip install 'vanishing[parquet]'.") from error
        self._parquet, self._path = pyarrow.parquet, path
        self._writer: Any = None
        self._notes = {b"vanishing": json.dumps(plain(notes), ensure_ascii=False).encode()}

    def write(self, columns: Mapping[str, Array]) -> None:
        import pyarrow

        arrays = [pyarrow.array(values, from_pandas=True) for values in columns.values()]
        table = pyarrow.Table.from_arrays(arrays, names=list(columns)).replace_schema_metadata(self._notes)
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
