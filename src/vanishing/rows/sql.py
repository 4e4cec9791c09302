"""Queries to a database: quoted names, and results of one row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


def quote_name(name: str) -> str:
    """A name of a column or table as standard SQL quotes it.

    Examples
    --------
    >>> print(quote_name('the "b" column'))
    "the ""b"" column"
    """
    return '"' + name.replace('"', '""') + '"'


def require_distinct_names(names: Iterable[str]) -> None:
    """Raise ValueError for names that a database takes for one, and for an empty one.

    Examples
    --------
    >>> require_distinct_names(["t", "T"])
    Traceback (most recent call last):
    ...
    ValueError: Databases take the columns 't' and 'T' for one: rename one of them before the fit.
    """
    known: dict[str, str] = {}
    for name in names:
        if name == "":
            raise ValueError("A column has an empty name, which databases refuse: rename it before the fit.")
        if (other := known.setdefault(name.casefold(), name)) is not name:
            raise ValueError(
                f"Databases take the columns {other!r} and {name!r} for one: rename one of them before the fit."
            )


def bare_query(query: str) -> str:
    """A query without semicolons at its end and what follows them, so that its lines can stand between brackets.

    Where there are none, the query stays as it is: each database has texts that only its own parser can read.

    Examples
    --------
    >>> bare_query("select '; --' as a from t; -- the rows")
    "select '; --' as a from t"
    >>> bare_query("select $$ -- ' $$ as a from t -- the rows")
    "select $$ -- ' $$ as a from t -- the rows"
    """
    if not isinstance(query, str):
        raise ValueError(f"query must be a text, a SELECT statement, got {type(query).__name__}.")
    end = 0
    for token in _TOKEN.finditer(query):
        if token.lastgroup is None:
            end = token.end()
    if end == 0:
        raise ValueError("query has no statement: give a SELECT.")
    return query[:end] if ";" in query[end:] else query


# Texts and quoted names, which may contain anything; what may be left out at the end of a query; any other character.
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<idle>--[^\n]*|/\*.*?\*/|[\s;])|.""", re.DOTALL)


def fetch_row(connection: Any, query: str) -> tuple[Any, ...]:
    """The only row of a query; nothing of its result is left in the connection."""
    (row,) = _execute(connection, query).fetchall()
    return tuple(row)


def columns_of_query(connection: Any, query: str) -> list[str]:
    """The names of the columns of a query, without its rows."""
    result = _execute(connection, f"SELECT * FROM (\n{query}\n) AS vanishing_rows LIMIT 0")
    names = [str(column[0]) for column in result.description]
    result.fetchall()
    return names


def _execute(connection: Any, query: str) -> Any:
    """The result of a query; ValueError, with the first line of what the database says, if it refuses the query."""
    if not (hasattr(connection, "execute") or hasattr(connection, "cursor")):
        raise ValueError(
            f"connection must be an open connection to a database, as duckdb.connect() gives, got "
            f"{type(connection).__name__}."
        )
    try:
        # Cursors of DuckDB are connections of their own, which see neither its registered frames nor its transaction.
        if hasattr(connection, "execute"):
            return connection.execute(query)
        cursor = connection.cursor()
        cursor.execute(query)
        return cursor
    except Exception as error:  # each driver has errors of its own
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(f"The database refuses the query ({said}): try the query alone first.") from error
