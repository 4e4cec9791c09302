"""Tables that commands read: which files, which columns, and how CSV files are written."""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..rows.dialects import Dialect
    from ..rows.disk import DiskRows
    from ..tables import TableEncoder

__all__ = [
    "add_format_arguments",
    "add_table_arguments",
    "column_id",
    "column_types",
    "dialect_of",
    "is_moments",
    "learn_columns",
    "names_in",
    "note_row_numbers",
    "open_table",
    "progress_bars",
]

_FILES = "files, patterns or folders: .parquet, .arrow, .feather, .csv or .npy"
_NUMBERS = ("integers", "numbers", "true or false", "nothing")
_ID = re.compile(r"(?i)(.*_)?(id|index|uuid|rownum|row)")

BAR_DELAY = 0.5  # seconds after which a pass shows its bar


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, and which of their columns to use."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=_FILES)
    parser.add_argument("--columns", metavar="NAMES", help="columns to use, separated by commas (default: all)")
    parser.add_argument("--exclude", metavar="NAMES", help="columns to leave out, separated by commas")
    add_format_arguments(parser)


def add_format_arguments(parser: argparse.ArgumentParser) -> None:
    """How CSV files are written, and whether progress is shown."""
    found = "(default: found from the first lines)"
    parser.add_argument("--delimiter", metavar="CHAR", help=f"between the columns of CSV files; tab for tabs {found}")
    parser.add_argument("--decimal", metavar="CHAR", help=f"decimal point of CSV files {found}")
    parser.add_argument("--encoding", metavar="NAME", help=f"of CSV files, for instance latin-1 {found}")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


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
    """Names as the shell and :func:`names_in` take them."""
    quoted = ['"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name for name in names]
    return shlex.quote(",".join(quoted))


def is_moments(files: Sequence[str]) -> bool:
    """Whether a file of moments is given in place of rows."""
    return any(file.lower().endswith(".npz") for file in files)


def open_table(
    arguments: argparse.Namespace,
    *,
    label: str | None = None,
    weight: str | None = None,
    names: Sequence[str] | None = None,
    encoder: TableEncoder | None = None,
) -> DiskRows:
    """The rows of the files.

    Parameters
    ----------
    arguments : Namespace
        With those of :func:`add_table_arguments`, or at least of :func:`add_format_arguments`.
    label, weight : str, optional
        Columns with labels of any type, and with weights.
    names : sequence of str, optional
        Columns that a model was fitted to; others are ignored.
    encoder : TableEncoder, optional
        Turns texts and gaps into numbers.
    """
    from ..rows.disk import open_rows

    files = _table_files(arguments)
    dialect = dialect_of(arguments)
    apart = [name for name in (label, weight) if name is not None]
    if encoder is not None:
        from ..tables.files import open_encoded

        if files[0].lower().endswith(".npy"):
            raise ValueError(
                f"{files[0]} has no names of columns, which the model needs: give a .csv or .parquet file."
            )
        texts = [column.name for column in encoder.columns_ if column.categories is not None]
        _chosen(arguments, files[0], dialect, apart, list(encoder.feature_names_in_), texts.__contains__)
        return open_encoded(files, encoder, label=label, weight=weight, dialect=dialect)
    if files[0].lower().endswith(".npy"):
        columns: Any = _numbered(arguments, files[0], apart)
    else:
        columns = _chosen(arguments, files[0], dialect, apart, names)
    label_id, weight_id = (column_id(name, files[0]) for name in (label, weight))
    return open_rows(files, columns=columns, label=label_id, weight=weight_id, dialect=dialect)  # type: ignore[return-value]


def _table_files(arguments: argparse.Namespace) -> list[str]:
    """The files; refuses models and moments."""
    from ..rows.disk import find_files

    files = find_files(arguments.files)
    if any(file.lower().endswith((".vi", ".npz")) for file in files):
        raise ValueError(f"{files[0]} holds no table: give files of rows.")
    return files


def learn_columns(arguments: argparse.Namespace, *, label: str, weight: str | None) -> TableEncoder | None:
    """An encoder of texts and gaps, by one pass over the rows; None if there are neither."""
    files = _table_files(arguments)
    if files[0].lower().endswith(".npy"):
        return None
    from ..tables.encoder import NoCategoriesError
    from ..tables.files import learn_encoder

    dialect = dialect_of(arguments)
    apart = [name for name in (label, weight) if name is not None]
    columns = _chosen(arguments, files[0], dialect, apart, None, lambda name: True)
    try:
        encoder = learn_encoder(files, columns, dialect)
    except NoCategoriesError as error:
        plain = ", or write numbers without signs and gaps as empty cells" if error.disguised else ""
        fix = _leave_out(error.columns, arguments).removesuffix(".")
        raise ValueError(f"{files[0]} has {error.says()}. {fix}{plain}.") from error
    return None if encoder.changes_nothing else encoder


def _leave_out(names: Sequence[str], arguments: argparse.Namespace) -> str:
    """What to do about columns, beside those that are excluded already."""
    both = [*(names_in(arguments.exclude) or []), *names]
    return f"Leave out with --exclude {_as_flag(both)}."


def dialect_of(arguments: argparse.Namespace) -> dict[str, str]:
    """How CSV files are written, as far as the flags say."""
    given = {name: getattr(arguments, name) for name in ("delimiter", "decimal", "encoding")}
    if given["delimiter"] == "tab":
        given["delimiter"] = "\t"
    return {name: value for name, value in given.items() if value is not None}


def column_id(name: str | None, file: str) -> Any:
    """A column as a number for .npy files, as a name for all others."""
    if name is None or not file.lower().endswith(".npy"):
        return name
    try:
        return int(name)
    except ValueError:
        raise ValueError(f"Columns of .npy files are given by their numbers, from 0 on; got {name!r}.") from None


def _numbered(arguments: argparse.Namespace, file: str, apart: Sequence[str]) -> list[int] | None:
    """The columns of an array to use; None for all."""
    columns, exclude = (names_in(getattr(arguments, name, None)) for name in ("columns", "exclude"))
    if columns is not None:
        return [column_id(name, file) for name in columns if name not in (exclude or ())]
    if exclude is None:
        return None
    from ..rows.npy import NpyReader

    left_out = [column_id(name, file) for name in (*exclude, *apart)]
    width = NpyReader([file], None, None, None).headers[0].shape[1]
    return [j for j in range(width) if j not in left_out]


def _chosen(
    arguments: argparse.Namespace,
    file: str,
    dialect: dict[str, str],
    apart: Sequence[str],
    needed: Sequence[str] | None,
    may_be_text: Callable[[str], bool] | None = None,
) -> list[str]:
    """The columns of a table to use: numbers, and texts where they may be; refuses others, with the flag that helps."""
    takes_text = may_be_text or (lambda name: False)
    kinds = column_types(file, dialect)[0]
    types = {name: kind in _NUMBERS or (kind == "text" and takes_text(name)) for name, kind in kinds.items()}
    columns, exclude = (names_in(getattr(arguments, name, None)) for name in ("columns", "exclude"))
    if needed is not None:
        missing = [name for name in needed if name not in types]
        if missing:
            raise ValueError(
                f"{file} lacks {_listed(missing)} that the model was fitted to; it has {', '.join(types)}."
            )
        columns = list(needed)
    spelled = {name.strip(): name for name in types}  # flags have no spaces around names
    columns, exclude = ([spelled.get(name, name) for name in names] if names else names for names in (columns, exclude))
    unknown = [name for name in (*(columns or ()), *(exclude or ()), *apart) if name not in types]
    if unknown:
        first_line = " Its first line has to name the columns." if any(map(_is_number, types)) else ""
        raise ValueError(f"{file} has no column {unknown[0]!r}; it has {', '.join(types)}.{first_line}")
    left_out = {*(exclude or ()), *(apart if columns is None else ())}
    chosen = [name for name in (types if columns is None else columns) if name not in left_out]
    words = [name for name in chosen if not types[name]]
    if len(words) == len(chosen):
        raise ValueError(f"{file} has no columns of numbers to use; it has {', '.join(types)}.")
    if words:
        can_exclude = needed is None and hasattr(arguments, "exclude")
        fix = _leave_out(words, arguments) if can_exclude else "Convert or remove them first."
        lacking = "neither numbers nor texts" if may_be_text and needed is None else "no numbers"
        raise ValueError(f"{file} has {lacking} in {_listed(words)}. {fix}")
    return chosen


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


def column_types(file: str, given: dict[str, str]) -> tuple[dict[str, str], Dialect | None]:
    """What the columns of a table hold, in a word each, and how it is written if it is a CSV file."""
    from ..rows.dialects import choose_dialect
    from ..rows.disk import format_of

    kind = format_of(file)
    try:
        import pyarrow
        import pyarrow.dataset as dataset
        from pyarrow import types
    except ImportError as error:
        raise ImportError(f"Reading {kind} files needs pyarrow: pip install 'vanishing[parquet]'.") from error
    try:
        dialect = choose_dialect(file, given) if kind == "csv" else None
        schema = dataset.dataset(file, format=kind if dialect is None else dialect.csv_format()).schema
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        if found := re.search(r"multiple columns named (.+)", str(error)):
            raise ValueError(f"{file} has two columns {found[1]!r}: rename one of them.") from error
        raise ValueError(_unreadable(file, kind, str(error).splitlines()[0])) from error
    if len(set(schema.names)) < len(schema.names):
        twice = next(name for name in schema.names if schema.names.count(name) > 1)
        raise ValueError(f"{file} has two columns {twice!r}: rename one of them.")
    tests = {
        "integers": types.is_integer,
        "numbers": lambda kind: types.is_floating(kind) or types.is_decimal(kind),
        "true or false": types.is_boolean,
        "nothing": types.is_null,
        "times": types.is_temporal,
        "text": lambda kind: True,
    }
    words = {field.name: next(word for word, test in tests.items() if test(field.type)) for field in schema}
    return words, dialect


def _unreadable(file: str, kind: str, error: str) -> str:
    """What is wrong with a file that pyarrow cannot read."""
    with open(file, "rb") as stream:
        is_blank = not stream.read(4096).strip()
    if is_blank:
        return f"{file} is empty: give a table with names of columns in its first line and rows below."
    if found := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error):
        line, expected, got = found.groups()
        return (
            f"{file} has {expected} columns in its first line and {got} in line {line}: mend that line, or name the "
            "character between columns with --delimiter."
        )
    return (
        f"{file} cannot be read as {kind}: it is no such table, truncated or damaged ({error.split('Invalid: ')[-1]})."
    )


def note_row_numbers(rows: DiskRows) -> None:
    """Say which columns only number the rows, and how to leave them out."""
    import numpy as np

    if rows.feature_names is None:
        return
    head = rows.head()
    steps = np.diff(head, axis=0)
    numbered = []
    for j, name in enumerate(rows.feature_names):
        whole = len(head) > 1 and bool((head[:, j] == np.round(head[:, j])).all())
        counts = whole and bool((steps[:, j] == 1.0).all())
        if counts or (whole and _ID.fullmatch(name) and len(np.unique(head[:, j])) == len(head)):
            numbered.append(name)
    if numbered and len(numbered) < len(rows.feature_names):
        print(
            f"vanishing: {_listed(numbered)[4:].capitalize()} only number{'s' if len(numbered) == 1 else ''} the rows: "
            f"leave out with --exclude {_as_flag(numbered)}.",
            file=sys.stderr,
        )


@contextmanager
def progress_bars(*, shown: bool) -> Iterator[None]:
    """Show bars for passes, if ``shown`` and tqdm is installed."""
    from ..progress import show_progress

    if not shown:
        yield
        return
    try:
        bars = show_progress(BAR_DELAY)
        bars.__enter__()
    except ImportError as error:
        print(f"vanishing: no progress is shown. {error}", file=sys.stderr)
        yield
        return
    try:
        yield
    finally:
        bars.__exit__(None, None, None)
