"""Values of polynomials, divided by widths, as columns that lie one after the other in memory."""

from __future__ import annotations

from typing import NamedTuple

from .._compiled import compiled
from .._typing import Bool1D, Float1D, Float2D, Int1D

__all__ = ["Places", "write_columnwise"]


class Places(NamedTuple):
    """Where values go: row ``row[k]`` gets polynomial ``source[k]``, or its ``absolute`` value, over ``width[k]``.

    The columns are the rows of an array ``(n_columns, n_rows)``.
    """

    source: Int1D
    row: Int1D
    width: Float1D
    absolute: Bool1D


@compiled
def write_columnwise(
    values: Float2D,
    source: Int1D,
    row: Int1D,
    width: Float1D,
    absolute: Bool1D,
    n_rows: int,
    start: int,
    out: Float2D,
) -> None:
    """Write the values of polynomials on ``n_rows`` rows, ``(n_polynomials, >= n_rows)``, to ``out`` from a row on."""
    for k in range(source.size):
        own, size, column = values[source[k]], width[k], out[row[k]]
        if absolute[k]:
            for i in range(n_rows):
                column[start + i] = abs(own[i] / size)
        else:
            for i in range(n_rows):
                column[start + i] = own[i] / size
