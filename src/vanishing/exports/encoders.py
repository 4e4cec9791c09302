"""How an encoder computes columns of numbers from texts and gaps."""

from __future__ import annotations

from typing import Any

from ..tables import TableEncoder
from .operations import Ops

__all__ = ["encoded_columns"]


def encoded_columns(ops: Ops, x: Any, encoder: TableEncoder) -> Any:
    """The encoder's columns of numbers, from a table with texts and gaps."""
    parts = []
    for j, column in enumerate(encoder.columns_):
        is_text = column.categories is not None
        if not is_text:
            parts.append(ops.fill(x, j, column.median))
        elif column.shown:
            parts.append(ops.one_hot(x, j, column.shown))
        if column.has_gaps:
            parts.append(ops.missing(x, j, is_text))
    return ops.concat(parts)
