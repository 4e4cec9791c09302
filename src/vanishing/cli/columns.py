"""Columns of tables that commands read: what they hold, which to use, and why others cannot be used."""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..rows.dialects import Dialect
    from ..rows.disk import DiskRows


NUMBERS, TEXTS, EMPTY = ("integers", "numbers", "true or false"), ("text", "categories"), "nothing"
TIMES = "dates or times"
_HEAD = 10_000  # rows of a table in which texts among numbers are looked for
_ID = re.compile(r"(?i:(.*[_ .-])?(id|index|uuid|rownum|row))|.*[a-z](Id|ID)")  # names of columns with ids


def names_in(text: str | None) -> list[str] | None:
    """Names that are separated by commas.

    Examples
    --------
    >>> names_in("a, b")
    ['a', 'b']
    >>> names_in('"width, mm",b')
    ['width, mm', 'b']
    """
    if text is None:
        return None
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [""])]


def _as_flag(names: Sequence[str]) -> str:
    """Names quoted for the shell and for :func:`names_in`."""
    quoted = ['"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name for name in names]
    return shlex.quote(",".join(quoted))


# --- columns of a table -----------------------------------------------------------------------------------------------


def column_types(file: str, given: dict[str, str]) -> tuple[dict[str, str], Dialect | None]:
    """The kind of each column of a table in words, and the dialect of a CSV file."""
    from ..rows.dialects import choose_dialect
    from ..rows.disk import format_of

    kind = format_of(file)
    try:
        import pyarrow
        import pyarrow.dataset as dataset
    except ImportError as error:
        raise ImportError(f"Reading {kind} files needs pyarrow: pip install 'vanishing[parquet]'.") from error
    try:
        dialect = choose_dialect(file, given) if kind == "csv" else None
        schema = dataset.dataset(file, format=kind if dialect is None else dialect.csv_format()).schema
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        if match := re.search(r"multiple columns named (.+)", str(error)):
            raise ValueError(f"{file} has two columns {match[1]!r}: rename one of them.") from error
        raise ValueError(_unreadable(file, kind, str(error).splitlines()[0])) from error
    if len(set(schema.names)) < len(schema.names):
        twice = next(name for name in schema.names if schema.names.count(name) > 1)
        raise ValueError(f"{file} has two columns {twice!r}: rename one of them.")
    return {field.name: _word(field.type) for field in schema}, dialect


def stray_texts(file: str, names: Sequence[str], dialect: Dialect | None) -> dict[str, str]:
    """The first text in each column that mixes numbers and texts, from the head of a CSV file."""
    if dialect is None or not names:
        return {}
    import pyarrow.dataset as dataset

    from ..polynomials.text import is_number

    head = dataset.dataset(file, format=dialect.csv_format()).head(_HEAD, columns=list(names))
    found = {}
    for name in names:
        texts = [text for text in map(str, head[name].drop_null().to_pylist()) if text]
        strays = [text for text in texts if not is_number(text.replace(dialect.decimal, "."))]
        if 0 < len(strays) < len(texts):
            found[name] = strays[0]
    return found


def _word(kind: Any) -> str:
    """The kind of columns of an Arrow type, in words."""
    from pyarrow import types

    from ..tables.columns import holds_texts

    tests: dict[str, Callable[[Any], bool]] = {
        "integers": types.is_integer,
        "numbers": lambda kind: types.is_floating(kind) or types.is_decimal(kind),
        "true or false": types.is_boolean,
        EMPTY: types.is_null,
        TIMES: types.is_temporal,
        "categories": types.is_dictionary,
        "text": holds_texts,
    }
    return next((word for word, test in tests.items() if test(kind)), f"values of type {str(kind).partition('<')[0]}")


def _unreadable(file: str, kind: str, error: str) -> str:
    """The message about a file that pyarrow cannot read."""
    with open(file, "rb") as stream:
        is_blank = not stream.read(4096).strip()
    if is_blank:
        return f"{file} is empty: give a table with names of columns in its first line and rows below."
    if match := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error):
        line, expected, got = match.groups()
        return (
            f"{file} has {expected} columns in its first line and {got} in line {line}: mend that line, or name the "
            "character between columns with --delimiter."
        )
    return (
        f"{file} cannot be read as {kind}: it is no such table, truncated or damaged ({error.split('Invalid: ')[-1]})."
    )


# --- columns to use ---------------------------------------------------------------------------------------------------


def asked_columns(
    arguments: argparse.Namespace,
    file: str,
    kinds: Mapping[str, str],
    label_and_weight: Sequence[str],
    needed: Sequence[str] | None = None,
) -> list[str]:
    """The columns that flags choose or a model needs; raises ValueError for names that the table lacks."""
    columns, exclude = (names_in(getattr(arguments, name, None)) for name in ("columns", "exclude"))
    if needed is not None:
        missing = [name for name in needed if name not in kinds]
        if missing:
            has = ", ".join(kinds)
            raise ValueError(f"{file} lacks {_listed(missing)} that the model was fitted to; it has {has}.")
        columns = list(needed)
    spelled = {name.strip(): name for name in kinds}  # flags have no spaces around names
    columns, exclude = ([spelled.get(name, name) for name in names] if names else names for names in (columns, exclude))
    unknown = [name for name in (*(columns or ()), *(exclude or ()), *label_and_weight) if name not in kinds]
    if unknown:
        from ..polynomials.text import is_number

        first_line = " Its first line has to name the columns." if any(map(is_number, kinds)) else ""
        raise ValueError(f"{file} has no column {unknown[0]!r}; it has {', '.join(kinds)}.{first_line}")
    left_out = {*(exclude or ()), *(label_and_weight if columns is None else ())}
    return [name for name in (kinds if columns is None else columns) if name not in left_out]


def _listed(names: Sequence[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


# --- columns that cannot be used --------------------------------------------------------------------------------------


def refuse_columns(
    file: str,
    unusable: Mapping[str, str],
    arguments: argparse.Namespace,
    *,
    needed: bool = False,
    examples: Mapping[str, str] | None = None,
    way_out: str = "",
) -> ValueError:
    """An error that names the unusable columns with what they hold, and the flag that leaves them out.

    Columns that a model needs have to be converted instead. ``examples`` has a value of some of the columns, and
    ``way_out`` another remedy, after the flag.
    """
    groups: dict[str, list[str]] = {}
    for name, what in unusable.items():
        example = (examples or {}).get(name)
        groups.setdefault(what, []).append(f"{name!r} (such as {example!r})" if example else repr(name))
    parts = [f"{what} in {', '.join(names)}" for what, names in groups.items()]
    holds = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    them = "them" if len(unusable) > 1 else "it"
    if needed:
        return ValueError(f"{file} has {holds}, which the model cannot take: convert {them} first.")
    excluded = [*(names_in(arguments.exclude) or []), *unusable]
    return ValueError(f"{file} has {holds}: leave {them} out with --exclude {_as_flag(excluded)}{way_out}.")


def numbering_columns(rows: DiskRows) -> list[str]:
    """The columns that only number the rows, judged by the first rows."""
    import numpy as np

    if rows.feature_names is None:
        return []
    head = rows.head()
    steps = np.diff(head, axis=0)
    numbered = []
    for j, name in enumerate(rows.feature_names):
        whole = len(head) > 1 and bool((head[:, j] == np.round(head[:, j])).all())
        counts = whole and bool((steps[:, j] == 1.0).all())
        if counts or (whole and _ID.fullmatch(name) and len(np.unique(head[:, j])) == len(head)):
            numbered.append(name)
    return numbered


def note_row_numbers(rows: DiskRows) -> None:
    """Print a note about columns that only number the rows, with the flag that leaves them out."""
    numbered = numbering_columns(rows)
    if 0 < len(numbered) < rows.n_features:
        number, them = ("numbers", "it") if len(numbered) == 1 else ("number", "them")
        columns = _listed(numbered).removeprefix("the c")
        print(
            f"vanishing: C{columns} only {number} the rows: leave {them} out with --exclude {_as_flag(numbered)}.",
            file=sys.stderr,
        )
