"""Tables that commands read: their files and columns, and the dialect of CSV files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from .columns import (
    EMPTY,
    NUMBERS,
    TEXTS,
    TIMES,
    asked_columns,
    column_types,
    names_in,
    note_row_numbers,
    numbering_columns,
    refuse_columns,
    stray_texts,
)

if TYPE_CHECKING:
    from ..engine.moments import Moments
    from ..rows.disk import DiskRows
    from ..tables import TableEncoder
    from ..tables.encoder import NoCategoriesError

_FILES = "files, patterns or folders: .parquet, .arrow, .feather, .csv or .npy"
_IDS, _DISGUISED = "text that hardly repeats, like ids,", "text that is numbers or dates"

BAR_DELAY = 0.5  # seconds after which a pass shows its bar


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, and which of their columns to use."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=_FILES)
    parser.add_argument("--columns", metavar="NAMES", help="columns to use, separated by commas (default: all)")
    parser.add_argument("--exclude", metavar="NAMES", help="columns to leave out, separated by commas")
    add_format_arguments(parser)


def add_format_arguments(parser: argparse.ArgumentParser) -> None:
    """How CSV files are written, and whether progress is shown."""
    default = "(default: found from the first lines)"
    parser.add_argument(
        "--delimiter", metavar="CHAR", help=f"separator of the columns in CSV files; tab for tabs {default}"
    )
    parser.add_argument("--decimal", metavar="CHAR", help=f"decimal point in CSV files {default}")
    parser.add_argument("--encoding", metavar="NAME", help=f"encoding of CSV files, such as latin-1 {default}")
    parser.add_argument("--quiet", action="store_true", help="hide the progress")


def add_times_argument(parser: argparse.ArgumentParser) -> None:
    """Which column has the times of the rows."""
    parser.add_argument(
        "--times", metavar="COLUMN", help="column with the times of the rows (default: the first of dates or times)"
    )


def time_column(arguments: argparse.Namespace, file: str) -> str | None:
    """The column with the times of the rows: the one asked for, or the first of dates or times, if there is one."""
    if arguments.times is not None or file.lower().endswith(".npy"):
        return None if arguments.times is None else str(arguments.times)
    kinds, _ = column_types(file, dialect_of(arguments))
    return next((name for name, kind in kinds.items() if kind == TIMES), None)


def add_missing_argument(parser: argparse.ArgumentParser) -> None:
    """Whether rows with missing values are left out."""
    parser.add_argument(
        "--drop-missing", action="store_true", help="leave out rows with missing values, and count them"
    )


def is_moments(files: Sequence[str]) -> bool:
    """Whether a file of moments is given in place of rows."""
    return any(file.lower().endswith(".npz") for file in files)


def rows_of_files(
    arguments: argparse.Namespace,
    *,
    label: str | None = None,
    weight: str | None = None,
    names: Sequence[str] | None = None,
    encoder: TableEncoder | None = None,
) -> DiskRows:
    """The rows of the files, with columns of labels and weights.

    ``names`` are the columns that a model was fitted to, if there is one, and ``encoder`` turns texts and gaps into
    numbers.
    """
    from ..rows.disk import open_rows

    files = _table_files(arguments)
    dialect = dialect_of(arguments)
    label_and_weight = [name for name in (label, weight) if name is not None]
    if encoder is not None:
        from ..tables.files import open_encoded

        if files[0].lower().endswith(".npy"):
            raise ValueError(
                f"{files[0]} has no names of columns, which the model needs: give a .csv or .parquet file."
            )
        _require_encodable(arguments, files[0], dialect, label_and_weight, encoder)
        return open_encoded(files, encoder, label=label, weight=weight, dialect=dialect)
    if files[0].lower().endswith(".npy"):
        columns: Any = _numbered(arguments, files[0], label_and_weight)
    else:
        columns = _columns_of_numbers(arguments, files, dialect, label_and_weight, names)
    label_id, weight_id = (_column_id(name, files[0]) for name in (label, weight))
    return open_rows(files, columns=columns, label=label_id, weight=weight_id, dialect=dialect)  # type: ignore[return-value]


def read_moments(files: Sequence[str]) -> Moments:
    """The sum of the moments in files."""
    from ..engine.moments import Moments
    from ..rows.disk import find_files

    first, *others = find_files(files)
    total = Moments.load(first)
    for file in others:
        try:
            total.merge(Moments.load(file))
        except ValueError as error:
            raise ValueError(f"{file} cannot be added to {first}: {error}") from error
    return total


def open_rows_or_moments(
    arguments: argparse.Namespace, *, label: str | None = None, weight: str | None = None, need_rows: Sequence[str] = ()
) -> DiskRows | Moments:
    """The rows of the files, or the sum of the moments in them; the flags ``need_rows`` are refused with moments."""
    if not is_moments(arguments.files):
        rows = rows_of_files(arguments, label=label, weight=weight)
        note_row_numbers(rows)
        return rows
    given = [flag for flag in ("--columns", "--exclude", *need_rows) if getattr(arguments, flag[2:].replace("-", "_"))]
    if given:
        raise ValueError(
            f"{arguments.files[0]} holds sums over rows that are gone: leave out {', '.join(given)}, or give a table."
        )
    return read_moments(arguments.files)


def _table_files(arguments: argparse.Namespace) -> list[str]:
    """The files; refuses models and moments."""
    from ..rows.disk import find_files

    files = find_files(arguments.files)
    for file in files:
        if file.lower().endswith((".vi", ".npz")):
            raise ValueError(f"{file} holds no table: give files of rows.")
    return files


def learn_encoding(arguments: argparse.Namespace, *, label: str, weight: str | None) -> TableEncoder | None:
    """An encoder of texts and gaps, by one pass over the rows; None if there are neither."""
    files = _table_files(arguments)
    if files[0].lower().endswith(".npy"):
        return None
    from ..tables.encoder import NoCategoriesError
    from ..tables.files import learn_encoder

    dialect = dialect_of(arguments)
    kinds = column_types(files[0], dialect)[0]
    asked = asked_columns(arguments, files[0], kinds, [name for name in (label, weight) if name is not None])
    usable = [name for name in asked if kinds[name] in (*NUMBERS, *TEXTS, EMPTY)]
    if not usable:
        raise ValueError(f"{files[0]} has no columns of numbers or texts to use; it has {', '.join(kinds)}.")
    refused = len(usable) < len(asked)
    learnt = [name for name in usable if kinds[name] in TEXTS] if refused else usable  # the refusal names ids, too
    no_categories = None
    try:
        encoder = learn_encoder(files, learnt, dialect) if learnt else None
    except NoCategoriesError as error:
        refused, no_categories = True, error
    if refused:
        raise _refuse_with_texts(arguments, files, dialect, {name: kinds[name] for name in asked}, no_categories)
    return None if encoder is None or encoder.changes_nothing else encoder


def _refuse_with_texts(
    arguments: argparse.Namespace,
    files: Sequence[str],
    dialect: dict[str, str],
    kinds: Mapping[str, str],
    no_categories: NoCategoriesError | None,
) -> ValueError:
    """An error about columns that no encoder can take: neither numbers nor texts, texts without categories, ids."""
    rare, disguised = ({}, {}) if no_categories is None else (no_categories.rare, no_categories.disguised)
    unusable = {name: kind for name, kind in kinds.items() if kind not in (*NUMBERS, *TEXTS, EMPTY)}
    unusable |= dict.fromkeys(rare, _IDS) | dict.fromkeys(disguised, _DISGUISED)
    unusable |= _row_numbers(files, [name for name in kinds if name not in unusable], kinds, dialect)
    way_out = " or write numbers without signs and gaps as empty cells" if disguised else ""
    in_order = {name: unusable[name] for name in kinds if name in unusable}
    return refuse_columns(files[0], in_order, arguments, examples=rare | disguised, way_out=way_out)


def _columns_of_numbers(
    arguments: argparse.Namespace,
    files: Sequence[str],
    dialect: dict[str, str],
    label_and_weight: Sequence[str],
    needed: Sequence[str] | None,
) -> list[str]:
    """The columns to use; refuses those without numbers, and names columns that only number the rows with them."""
    kinds, written = column_types(files[0], dialect)
    asked = asked_columns(arguments, files[0], kinds, label_and_weight, needed)
    numbers = [name for name in asked if kinds[name] in NUMBERS]
    empty = [name for name in asked if kinds[name] == EMPTY]
    unusable = {name: kinds[name] for name in asked if name not in numbers}
    if needed is not None or len(empty) == len(asked):  # a model takes empty columns; without rows all are empty
        unusable = {name: kind for name, kind in unusable.items() if kind != EMPTY}
    if unusable and len(unusable) == len(asked):
        raise ValueError(f"{files[0]} has no columns of numbers to use; it has {', '.join(kinds)}.")
    if unusable and needed is None:
        unusable |= _row_numbers(files, numbers, kinds, dialect)
    if unusable:
        in_order = {name: unusable[name] for name in asked if name in unusable}
        strays = stray_texts(files[0], [name for name, kind in in_order.items() if kind in TEXTS], written)
        raise refuse_columns(files[0], in_order, arguments, needed=needed is not None, examples=strays)
    return asked


def _row_numbers(
    files: Sequence[str], names: Sequence[str], kinds: Mapping[str, str], dialect: dict[str, str]
) -> dict[str, str]:
    """The columns that only number the rows, with what they hold, as for columns that cannot be used."""
    from ..rows.disk import open_rows

    numbers = [name for name in names if kinds[name] in NUMBERS]
    with suppress(ValueError):  # other faults of the table are reported once these columns are left out
        rows: Any = open_rows(files[0], columns=numbers, dialect=dialect)
        numbered = numbering_columns(rows)
        return dict.fromkeys(numbered if len(numbered) < len(names) else [], "row numbers or ids")
    return {}


def _require_encodable(
    arguments: argparse.Namespace,
    file: str,
    dialect: dict[str, str],
    label_and_weight: Sequence[str],
    encoder: TableEncoder,
) -> None:
    """Refuse a table that lacks columns of the encoder, or whose columns the encoder cannot take."""
    kinds = column_types(file, dialect)[0]
    asked_columns(arguments, file, kinds, label_and_weight, list(encoder.feature_names_in_))
    texts = [column.name for column in encoder.columns_ if column.categories is not None]
    plain = (*NUMBERS, EMPTY)
    unusable = {
        name: kinds[name]
        for name in map(str, encoder.feature_names_in_)
        if kinds[name] not in plain and not (kinds[name] in TEXTS and name in texts)
    }
    if unusable:
        raise refuse_columns(file, unusable, arguments, needed=True)


def dialect_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The dialect of CSV files, as far as flags give it."""
    given = {name: getattr(arguments, name) for name in ("delimiter", "decimal", "encoding")}
    if given["delimiter"] == "tab":
        given["delimiter"] = "\t"
    return {name: value for name, value in given.items() if value is not None}


def _column_id(name: str | None, file: str) -> Any:
    """A column as a number for .npy files, as a name for all others."""
    if name is None or not file.lower().endswith(".npy"):
        return name
    try:
        return int(name)
    except ValueError:
        raise ValueError(f"Columns of .npy files are given by their numbers, from 0 on; got {name!r}.") from None


def _numbered(arguments: argparse.Namespace, file: str, label_and_weight: Sequence[str]) -> list[int] | None:
    """The columns of an array to use; None for all."""
    columns, exclude = (names_in(getattr(arguments, name, None)) for name in ("columns", "exclude"))
    if columns is not None:
        return [_column_id(name, file) for name in columns if name not in (exclude or ())]
    if exclude is None:
        return None
    from ..rows.npy import NpyReader

    left_out = [_column_id(name, file) for name in (*exclude, *label_and_weight)]
    width = NpyReader([file], None, None, None).headers[0].shape[1]
    return [j for j in range(width) if j not in left_out]


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
