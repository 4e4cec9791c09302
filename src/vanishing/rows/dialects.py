"""How CSV files are written: delimiter, decimal point and encoding, found from their first lines."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

_LOOKED_AT = 262_144  # bytes
_DELIMITERS = ",;\t|"
_COMMA, _POINT = (re.compile(rf"[+-]?\d+{sign}\d+([eE][+-]?\d+)?") for sign in (",", r"\."))


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def csv_format(self, column_types: Mapping[str, Any] | None = None) -> Any:
        """The format for ``pyarrow.dataset``, which converts some columns to the given types."""
        import pyarrow.csv
        import pyarrow.dataset

        convert = pyarrow.csv.ConvertOptions(column_types=column_types, decimal_point=self.decimal)
        return pyarrow.dataset.CsvFileFormat(
            parse_options=pyarrow.csv.ParseOptions(delimiter=self.delimiter),
            convert_options=convert,
            read_options=pyarrow.csv.ReadOptions(encoding=self.encoding),
        )


def choose_dialect(file: str, given: Mapping[str, str] | None) -> Dialect:
    r"""The dialect of a file, with the entries ``delimiter``, ``decimal`` and ``encoding`` that are given.

    Examples
    --------
    >>> import os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "rows.csv")
    >>> with open(file, "w") as stream:
    ...     _ = stream.write("a;b\n1,5;2\n")
    >>> choose_dialect(file, {"encoding": "latin-1"})
    Dialect(delimiter=';', decimal=',', encoding='latin-1')
    """
    given = dict(given or {})
    names = [field.name for field in fields(Dialect)]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"dialect has an entry {unknown[0]!r}; it may have {', '.join(names)}.")
    if any(len(given.get(name, ",")) != 1 for name in ("delimiter", "decimal")):
        raise ValueError("The delimiter and the decimal point of a dialect are one character each.")
    try:
        codecs.lookup(given.get("encoding", "utf-8"))
    except LookupError:
        raise ValueError(f"The encoding {given['encoding']!r} is unknown: try 'utf-8' or 'latin-1'.") from None
    with open(file, "rb") as stream:
        return find_dialect(stream.read(_LOOKED_AT), **given)


def find_dialect(start: bytes, **known: str) -> Dialect:
    r"""The dialect of a file that starts with these bytes; what is known already is kept.

    Examples
    --------
    >>> find_dialect("länge;breite\n1,5;2,25\n".encode("latin-1"))
    Dialect(delimiter=';', decimal=',', encoding='latin-1')
    >>> find_dialect(b"a,b\n1.5,2\n")
    Dialect(delimiter=',', decimal='.', encoding='utf-8')
    """
    encoding = known.get("encoding") or _encoding(start)
    lines = codecs.getincrementaldecoder(encoding)(errors="replace").decode(start).lstrip("\ufeff").splitlines()[:100]
    delimiter = known.get("delimiter") or _delimiter(lines)
    decimal = known.get("decimal") or _decimal(lines[:-1] if len(lines) > 2 else lines, delimiter)
    return Dialect(delimiter, decimal, encoding)


def _encoding(start: bytes) -> str:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _delimiter(lines: list[str]) -> str:
    """The candidate that cuts the first line into most parts, and the second one into as many."""
    widths = {}
    for candidate in _DELIMITERS:
        rows = list(csv.reader(io.StringIO("\n".join(lines[:2])), delimiter=candidate))
        agree = len({len(row) for row in rows}) == 1
        widths[candidate] = len(rows[0]) if rows and agree else 1
    return max(_DELIMITERS, key=lambda candidate: widths[candidate])


def _decimal(lines: list[str], delimiter: str) -> str:
    """A comma, if some values are numbers with one and none has a point."""
    values = [value.strip() for row in csv.reader(lines[1:], delimiter=delimiter) for value in row]
    with_comma, with_point = (any(pattern.fullmatch(value) for value in values) for pattern in (_COMMA, _POINT))
    return "," if with_comma and not with_point else "."
