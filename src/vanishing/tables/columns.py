"""Columns of tables: numbers with NaN for gaps, or texts as places in a list of distinct ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._typing import Float1D, Int1D


class Texts(NamedTuple):
    """A column of texts: row i has ``values[codes[i]]``, or a gap where the code is -1."""

    values: list[str]
    codes: Int1D


#: Numbers with NaN for gaps, or texts.
Column: TypeAlias = Float1D | Texts


def frame_columns(X: Any) -> list[Column]:
    """The columns of a frame of pandas or polars, of an Arrow table, or of an array."""
    kind = type(X).__module__.split(".")[0]
    if kind == "pyarrow":
        return [arrow_column(name, X.column(name)) for name in X.column_names]
    if kind == "pandas":
        return [_pandas_column(str(name), X.iloc[:, j]) for j, name in enumerate(X.columns)]
    if kind == "polars":
        return [arrow_column(name, X[name].to_arrow()) for name in X.columns]
    return [_column(f"x{j}", X[:, j]) for j in range(X.shape[1])]


def arrow_column(name: str, column: Any) -> Column:
    """A column of an Arrow table."""
    import pyarrow
    import pyarrow.types as types

    kind = column.type
    if holds_texts(kind):
        return _arrow_texts(column)
    if not (types.is_boolean(kind) or types.is_null(kind) or types.is_decimal(kind) or types.is_primitive(kind)):
        raise ValueError(f"Column {name!r} holds {kind}, neither numbers nor texts: drop it.")
    if types.is_temporal(kind):
        raise _refuse_times(name)
    return np.asarray(column.cast(pyarrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def holds_texts(kind: Any) -> bool:
    """Whether columns of an Arrow type hold texts, or categories of any kind."""
    import pyarrow.types as types

    texts = (types.is_dictionary, types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in texts)


def _arrow_texts(column: Any) -> Texts:
    import pyarrow

    whole = column.combine_chunks() if hasattr(column, "num_chunks") else column
    if not pyarrow.types.is_dictionary(whole.type):
        whole = whole.cast(pyarrow.large_string()).dictionary_encode()
    values = [text_of(value) for value in whole.dictionary.to_pylist()]
    return Texts(values, whole.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False))


def _pandas_column(name: str, column: Any) -> Column:
    if str(column.dtype) == "category":
        return _texts(name, (None if _is_missing(value) else value for value in column.tolist()))
    if getattr(column.dtype, "kind", "O") in "biuf" and not isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return _column(name, column.to_numpy())


def _column(name: str, values: Any) -> Column:
    """A column of an array; objects are numbers if all but the missing ones are."""
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)
    if values.dtype.kind in "mM":
        raise _refuse_times(name)
    listed = [None if _is_missing(value) else value for value in values.tolist()]
    if all(value is None or isinstance(value, (Real, Decimal)) for value in listed):
        try:
            return np.array(listed, dtype=np.float64)
        except OverflowError:
            raise ValueError(f"Column {name!r} has integers of more than 308 digits: drop it.") from None
    for value in listed:
        if isinstance(value, (date, time, timedelta)) or type(value).__name__ == "Period":
            raise _refuse_times(name)
        if isinstance(value, (complex, list, tuple, dict, set, np.ndarray)):
            raise ValueError(f"Column {name!r} holds {type(value).__name__}, neither numbers nor texts: drop it.")
    return _texts(name, listed)


def text_of(value: Any) -> str:
    """A category as text, the same for a whole number in every type.

    Examples
    --------
    >>> text_of(3.0), text_of(3), text_of("3.0")
    ('3', '3', '3.0')
    """
    return f"{value:.15g}" if isinstance(value, (float, np.floating)) else str(value)


def _texts(name: str, listed: Iterable[Any]) -> Texts:
    known: dict[str, int] = {}
    codes = [-1 if value is None else known.setdefault(text_of(value), len(known)) for value in listed]
    for text in known:
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError(f"Column {name!r} has a text that is not valid Unicode, {text!a}: correct it.")
    return Texts(list(known), np.array(codes, dtype=np.int64))


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT."""
    if isinstance(value, (Real, Decimal)):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _refuse_times(name: str) -> ValueError:
    """The error about a column of dates or times."""
    return ValueError(f"Column {name!r} holds dates or times: drop it, or compute numbers from it.")
