"""What talking to a database takes: quoted names, and the one row that a query gives."""

from __future__ import annotations

from typing import Any

__all__ = ["columns_of_query", "fetch_row", "quote_name"]


def quote_name(name: str) -> str:
    """A name of a column or table as standard SQL quotes it.

    Examples
    --------
    >>> print(quote_name('the "b" column'))
    "the ""b"" column"
    """
    return '"' + name.replace('"', '""') + '"'


def fetch_row(connection: Any, query: str) -> tuple[Any, ...]:
    """The first row of a query."""
    return tuple(_execute(connection, query).fetchone())


def columns_of_query(connection: Any, query: str) -> list[str]:
    """The names of the columns of a query, without its rows."""
    described = _execute(connection, f"SELECT * FROM ({query}) AS vanishing_rows LIMIT 0").description
    return [str(column[0]) for column in described]


def _execute(connection: Any, query: str) -> Any:
    # Cursors of DuckDB are connections of their own, which see neither its registered frames nor its transaction.
    if hasattr(connection, "execute"):
        return connection.execute(query)
    cursor = connection.cursor()
    cursor.execute(query)
    return cursor
