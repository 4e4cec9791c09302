"""Sums of products of terms, computed by a database in one query, so that no row leaves it.

The query subtracts the smallest value of a column and divides by its range before it multiplies: all products lie in
[0, 1], and their sums lose nothing to cancellation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D
from ..polynomials.terms import MOST_TERMS, Term, count_terms, multiply, terms_up_to
from ..rows.sql import bare_query, columns_of_query, fetch_row, quote_name

_NAME = "vanishing_"  # prefix of the query's parts, which keeps them apart from the user's tables


class SqlSums(NamedTuple):
    """Sums over the rows of a query: of all products of two terms in scaled columns, of the weights, and the ranges."""

    names: list[str]
    gram: Float2D
    low: Float1D
    high: Float1D
    n_samples: int
    total_weight: float


def sum_in_sql(
    connection: Any, query: str, columns: Sequence[str] | None, degree: int, weight: str | None, scaler: Any
) -> SqlSums:
    """Sums over the rows of ``query``, in the scaling of ``scaler``, or of the columns' own ranges with None."""
    query = bare_query(query)
    given = columns_of_query(connection, query)
    others = [name for name in given if weight is None or name.casefold() != weight.casefold()]
    names = others if columns is None else [str(name) for name in columns]
    if not names:
        raise ValueError("The query has no columns to sum: name at least one in columns.")
    _require_affordable(degree, len(names))
    used = [*names, *([] if weight is None else [weight])]
    _require_columns(used, given)
    try:
        row = fetch_row(connection, _statement(query, names, degree, weight, scaler))
    except ValueError:
        _require_numbers(connection, query, used)
        raise
    n = len(names)
    n_samples, n_missing = int(row[0]), int(row[1] or 0)
    if n_samples == 0:
        raise ValueError("The query has no rows: there is nothing to sum.")
    low, high = (np.array(_numbers(row[start : start + n], names)) for start in (3, 3 + n))
    if n_missing:
        counts = fetch_row(connection, _counts(query, used, weight))
        gaps = {name: n_samples - int(n) for name, n in zip(used, counts, strict=True) if int(n) < n_samples}
        where = " AND ".join(f"{quote_name(name)} IS NOT NULL" for name in gaps)
        listed = ", ".join(f"{n} in {name!r}" for name, n in gaps.items())
        raise ValueError(f"{n_missing} rows have missing values ({listed}): add WHERE {where} to the query.")
    if weight is not None and float(row[2]) < 0.0:
        raise ValueError(f"A weight is negative in column {weight!r}: weights must be 0 or more.")
    sums = np.array([np.nan if value is None else float(value) for value in row[3 + 2 * n :]])
    if not np.isfinite([*sums, *low, *high]).all():
        odd = [repr(name) for name, finite in zip(names, np.isfinite(low + high), strict=True) if not finite]
        what = f"Column {odd[0]} has a value that is NaN or infinite" if odd else "A weight is NaN, or sums overflow"
        raise ValueError(f"{what}: leave such rows out of the query.")
    return SqlSums(names, _gram_of(sums, degree, n), low, high, n_samples, float(sums[0]))


def _counts(query: str, names: Sequence[str], weight: str | None) -> str:
    """The statement that counts the values of each column, in rows that count."""
    some = "" if weight is None else f" WHERE {_column(weight)} IS NULL OR {_column(weight)} <> 0"
    return f"SELECT {_list(f'count({_column(name)})' for name in names)} FROM (\n{query}\n) AS {_NAME}query{some}"


def _require_columns(names: Sequence[str], given: Sequence[str]) -> None:
    known = {name.casefold() for name in given}
    for name in names:
        if name.casefold() not in known:
            raise ValueError(f"The query has no column {name!r}: it has {', '.join(map(repr, given))}.")


def _require_numbers(connection: Any, query: str, names: Sequence[str]) -> None:
    """Raise ValueError for a column that the database cannot convert to numbers."""
    fetch_row(connection, "SELECT 1")  # a connection that refuses everything says nothing about columns
    for name in names:
        try:
            fetch_row(connection, f"SELECT max({_real(_column(name))}) FROM (\n{query}\n) AS {_NAME}query")
        except ValueError as error:
            raise ValueError(
                f"Column {name!r} has dates, texts or other values that are not numbers: convert it in the query, as "
                "with extract(epoch from ...) for dates, or choose other columns."
            ) from error


def _require_affordable(degree: int, n_features: int) -> None:
    n_sums = count_terms(2 * degree, n_features)
    if n_sums > MOST_TERMS:
        raise ValueError(
            f"There are {n_sums:,} products of terms of degree up to {degree} in {n_features} columns, more than "
            f"{MOST_TERMS:,}: lower degree, or choose fewer columns."
        )


def _numbers(values: Sequence[Any], names: list[str]) -> list[float]:
    for value, name in zip(values, names, strict=True):
        if isinstance(value, (str, bytes)):
            raise ValueError(f"Column {name!r} has text, {value!r} for one: convert it, or choose other columns.")
        if not (value is None or hasattr(value, "__float__")):
            raise ValueError(f"Column {name!r} has {value!r}, not numbers: convert it, or choose other columns.")
    return [np.nan if value is None else float(value) for value in values]


def _gram_of(sums: Float1D, degree: int, n_features: int) -> Float2D:
    """The Gram of all terms up to ``degree``, from the sums of all terms up to twice that degree."""
    terms = terms_up_to(degree, n_features)
    place = {term: k for k, term in enumerate(terms_up_to(2 * degree, n_features))}
    return np.array([[sums[place[multiply(a, b)]] for b in terms] for a in terms])


def _statement(query: str, names: list[str], degree: int, weight: str | None, scaler: Any) -> str:
    """The statement whose one row has counts, the smallest weight, the columns' ranges, and the sums of all terms."""
    n = len(names)
    values = [f"{_real(_column(name))} AS x{j}" for j, name in enumerate(names)]
    raw = [f"{_column(name)} AS r{j}" for j, name in enumerate(names)]
    used = "1.0" if weight is None else _real(_column(weight))
    missing = " OR ".join(f"x{j} IS NULL" for j in range(n)) + ("" if weight is None else " OR w IS NULL")
    lows, highs = ([f"{end}(r{j}) AS {end}{j}" for j in range(n)] for end in ("min", "max"))
    ends = [f"{end}{j}" for end in ("min", "max") for j in range(n)]
    terms = terms_up_to(degree, n)[1:]
    products = [_product(term, degree) for term in terms_up_to(2 * degree, n)]
    parts = {
        "rows": f"SELECT {_list([*values, *raw])}, {used} AS w FROM (\n{query}\n) AS {_NAME}query",
        "range": f"SELECT count(*) AS n, sum(CASE WHEN {missing} THEN 1 ELSE 0 END) AS missing, min(w) AS least, "
        f"{_list([*lows, *highs])} FROM {_NAME}rows WHERE w IS NULL OR w <> 0",
        "scaled": f"SELECT {_list(_scaled(n, scaler))}, w FROM {_NAME}rows, {_NAME}range WHERE w <> 0",
        "terms": f"SELECT {_list(f'{_factors(term)} AS {_alias(term)}' for term in terms)}, w FROM {_NAME}scaled",
        "sums": f"SELECT {_list(f'sum({product}) AS s{k}' for k, product in enumerate(products))} FROM {_NAME}terms",
    }
    listed = ",\n".join(f"{_NAME}{name} AS ({part})" for name, part in parts.items())
    sums = _list(f"s{k}" for k in range(len(products)))
    return f"WITH {listed}\nSELECT n, missing, least, {_list(ends)}, {sums} FROM {_NAME}range, {_NAME}sums"


def _scaled(n_features: int, scaler: Any) -> list[str]:
    """The columns in the units of the scaler, or of their ranges; a constant column becomes 0."""
    if scaler is None:
        return [
            f"CASE WHEN max{j} > min{j} THEN (x{j} - {_real(f'min{j}')}) / ({_real(f'max{j}')} - {_real(f'min{j}')}) "
            f"ELSE 0.0 END AS x{j}"
            for j in range(n_features)
        ]
    pairs = zip(scaler.scale_, scaler.min_, strict=True)
    return [f"x{j} * {_literal(scale)} + {_literal(offset)} AS x{j}" for j, (scale, offset) in enumerate(pairs)]


def _column(name: str) -> str:
    """A qualified column of the query: SQLite would take an unknown quoted name for a text."""
    return f"{_NAME}query.{quote_name(name)}"


def _real(expression: str) -> str:
    return f"CAST({expression} AS DOUBLE PRECISION)"


def _literal(value: float) -> str:
    """A number that databases read as a double, not as a decimal of few digits."""
    return _real(f"{float(value)!r}" if "e" in repr(float(value)) else f"{float(value)!r}e0")


def _list(items: Any) -> str:
    return ", ".join(items)


def _alias(term: Term) -> str:
    return "t" + "_".join(map(str, term))


def _factors(term: Term) -> str:
    return "*".join(f"x{v}" for v in term)


def _product(term: Term, degree: int) -> str:
    """A term of up to twice the degree as a product of two terms, times the weight."""
    return "*".join([*(_alias(part) for part in (term[:degree], term[degree:]) if part), "w"])
