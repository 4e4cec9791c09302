"""Tables that readers can sort and search, and that become cards on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..constants import IN_REPR
from .markup import EMPTY, Html, tag

MOST_ROWS = 500  # longest table on a page


class Cell(NamedTuple):
    """The text of a cell, and the number that it is sorted by."""

    shown: str
    key: float


def figures(value: Any, digits: int = 4) -> Cell:
    """A number to some significant digits.

    Examples
    --------
    >>> figures(1234567), figures(0.00012346)
    (Cell(shown='1,234,567', key=1234567.0), Cell(shown='0.0001235', key=0.00012346))
    >>> figures(float("nan")).shown
    ''
    """
    number = float(value)
    if np.isnan(number):
        return Cell("", number)
    if isinstance(value, (int, np.integer)) or (number.is_integer() and 1e4 <= abs(number) < 1e12):
        return Cell(f"{int(value):,}", number)
    return Cell(f"{number:.{digits}g}", number)


def percent(share: Any) -> Cell:
    """A share in percent.

    Examples
    --------
    >>> percent(0.98765).shown
    '98.77%'
    """
    return Cell(f"{float(share):.2%}", float(share))


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, name: str, most: int = MOST_ROWS) -> Html:
    """A table with a heading for each column, whose buttons sort it; longer ones have a field to search in.

    Parameters
    ----------
    columns : sequence of str
    rows : sequence of sequences
        Of text, markup, or :class:`Cell`.
    name : str
        What the rows are, in the plural.
    most : int, default=500
        Rows that are shown.
    """
    heads = [column.replace("-", "\N{NON-BREAKING HYPHEN}") for column in columns]
    head = tag("tr", *(tag("th", tag("button", column, type="button"), scope="col") for column in heads))
    body = [tag("tr", *map(_cell, columns, row)) for row in rows[:most]]
    parts = [tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroll")]
    if len(rows) > most:
        parts.append(tag("p", f"The first {most:,} of {len(rows):,} {name}.", class_="note"))
    if len(rows) > IN_REPR:
        label = f"Search {name}"
        field = tag("input", type="search", placeholder=f"{label} ...", aria_label=label)
        parts.insert(0, tag("div", field, tag("output", f"{min(len(rows), most):,} {name}"), class_="find"))
    return tag("div", *parts, class_="table", data_name=name)


def _cell(column: str, entry: Any) -> Html:
    if isinstance(entry, Cell):
        return tag("td", entry.shown, class_="n", data_v=f"{entry.key!r}", data_label=column)
    return tag("td", entry if isinstance(entry, Html) else str(entry), data_label=column)


def facts(entries: Sequence[tuple[str, Any]]) -> Html:
    """A list of names and values; values that are None are left out.

    Examples
    --------
    >>> facts([("rows", "5"), ("noise", None)])
    '<dl class="facts"><dt>rows</dt><dd>5</dd></dl>'
    """
    parts = [
        tag(kind, part if isinstance(part, Html) else str(part))
        for name, value in entries
        if value is not None
        for kind, part in (("dt", name), ("dd", value.shown if isinstance(value, Cell) else value))
    ]
    return tag("dl", *parts, class_="facts") if parts else EMPTY
