"""From rows to the columns that a linear classifier sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ._typing import Float1D, Float2D
from .evaluation import Evaluator
from .ideal import VanishingIdeal
from .polynomials import Polynomials
from .rows import ArrayRows, Rows

__all__ = ["FeatureMap"]


@dataclass(frozen=True)
class FeatureMap:
    """``x -> (|g_1(x)|, ..., |g_k(x)|, x_1, ..., x_n) / width``, the last n only with ``append_input``.

    ``lists`` holds the polynomials of each class; without a ``width`` the columns are not divided.
    """

    lists: tuple[Polynomials, ...]
    append_input: bool = False
    width: Float1D | None = None
    _evaluator: Evaluator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        evaluator = Evaluator([polynomials.form for polynomials in self.lists], absolute=True)
        object.__setattr__(self, "_evaluator", evaluator)

    @classmethod
    def of(cls, ideals: Sequence[VanishingIdeal], *, append_input: bool) -> FeatureMap:
        """The map for fitted estimators, one per class."""
        return cls(tuple(ideal.generators_ for ideal in ideals), append_input)

    @property
    def n_generators(self) -> int:
        """Number of polynomials."""
        return self._evaluator.n_columns

    @property
    def n_columns(self) -> int:
        """Number of output columns."""
        return self.n_generators + (len(self.lists[0].feature_names) if self.append_input else 0)

    def over(self, rows: ArrayRows, out: Float2D | None = None) -> Float2D:
        """The columns for all rows, ``(n_samples, n_columns)``, in one pass; written to ``out`` if given."""
        return rows.map(self._fill, self.n_columns, self._evaluator.block_rows, out)

    def scores(self, rows: Rows, coef: Float2D, intercept: Float1D) -> Float2D:
        """``columns @ coef.T + intercept``, ``(n_samples, n_scores)``, without keeping the columns."""

        def kernel(block: Float2D, out: Float2D) -> None:
            columns = np.empty((block.shape[0], self.n_columns))
            self._fill(block, columns)
            out[:] = columns @ coef.T + intercept

        return rows.map(kernel, coef.shape[0], min(self._evaluator.block_rows, 8192))

    def scaled_by(self, columns: Float2D, sample_weight: Float1D | None) -> FeatureMap:
        """The same map with columns divided by their standard deviation; ``columns``, its output so far, are, too."""
        width = _deviation(columns, sample_weight)
        columns /= width
        return replace(self, width=width)

    def _fill(self, block: Float2D, out: Float2D) -> None:
        self._evaluator.fill(block, out[:, : self.n_generators])
        if self.append_input:
            out[:, self.n_generators :] = block
        if self.width is not None:
            out /= self.width


def _deviation(columns: Float2D, sample_weight: Float1D | None) -> Float1D:
    """Standard deviation of every column; 1 for those that are constant up to rounding."""
    mean = np.average(columns, axis=0, weights=sample_weight)
    square = np.zeros(columns.shape[1])
    total = 0.0
    for start in range(0, len(columns), 8192):
        part = slice(start, start + 8192)
        weights = np.ones(len(columns[part])) if sample_weight is None else sample_weight[part]
        square += weights @ (columns[part] - mean) ** 2
        total += weights.sum()
    deviation = np.sqrt(square / total)
    return np.where(deviation > 1e-12 * (np.abs(mean) + deviation), deviation, 1.0)
