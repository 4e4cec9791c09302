"""The operations on tables of columns that every target has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Float1D, Float2D, Int1D


class Ops(ABC):
    """Operations on tables; each target has its own type for a table of ``(n_rows, n_columns)`` numbers."""

    is_text = False  # whether the target writes out every coefficient

    @abstractmethod
    def take(self, table: Any, columns: Int1D) -> Any:
        """Some columns, in this order."""

    @abstractmethod
    def concat(self, tables: Sequence[Any]) -> Any:
        """The columns of several tables side by side."""

    @abstractmethod
    def multiply(self, left: Any, right: Any) -> Any:
        """Products of columns, pair by pair."""

    @abstractmethod
    def linear(self, table: Any, weights: Float2D, offset: Float1D) -> Any:
        """``table @ weights.T + offset``."""

    @abstractmethod
    def affine(self, table: Any, scale: Float1D, offset: Float1D) -> Any:
        """``scale * x + offset``, column by column."""

    @abstractmethod
    def clip(self, table: Any, low: float, high: float) -> Any:
        """Values between ``low`` and ``high``; either may be infinite."""

    @abstractmethod
    def absolute(self, table: Any) -> Any:
        """Absolute values."""

    @abstractmethod
    def asinh(self, table: Any) -> Any:
        """Inverse hyperbolic sines."""

    @abstractmethod
    def interpolate(self, table: Any, knots: Sequence[tuple[Float1D, Float1D]]) -> Any:
        """Column by column, piecewise linear through knots and levels, constant outside of them."""

    @abstractmethod
    def softmax(self, table: Any) -> Any:
        """Exponentials of the columns over their sum."""

    @abstractmethod
    def best(self, scores: Any) -> Any:
        """The number of the largest column; of a single column whether it is positive, as 0 or 1."""

    def fill(self, table: Any, column: int, value: float) -> Any:
        """A column of numbers as one column, with a value in place of missing ones."""
        raise _refuse_raw()

    def missing(self, table: Any, column: int, is_text: bool) -> Any:
        """1 where a value is missing, as one column."""
        raise _refuse_raw()

    def one_hot(self, table: Any, column: int, texts: Sequence[str]) -> Any:
        """1 where a column has a text: one column for each text."""
        raise _refuse_raw()

    @abstractmethod
    def log(self, table: Any) -> Any:
        """Natural logarithms."""

    @abstractmethod
    def log_sum_exp(self, table: Any) -> Any:
        """The logarithm of the sum of the exponentials of all columns, as one column."""

    def squares(self, table: Any, weight: float, n_columns: int) -> Any:
        """The sum of the squares of all columns times a weight, as one column."""
        return self.linear(self.multiply(table, table), np.full((1, n_columns), weight), np.zeros(1))

    def keep(self, table: Any, name: str) -> Any:
        """The table under a name, for targets that write out expressions."""
        return table

    def products(self, table: Any, left: Int1D, right: Int1D) -> Any:
        """Products ``table[left] * table[right]``."""
        return self.multiply(self.take(table, left), self.take(table, right))


def _refuse_raw() -> ValueError:
    return ValueError("Tensors cannot hold texts: export this model to onnx, numpy or sql.")
