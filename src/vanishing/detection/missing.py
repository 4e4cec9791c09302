"""Scores of rows with missing values, by the model of the other columns.

That model has its own distribution of scores, so a row gets the score that has the same p-value in the model of all
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Bool1D, Float1D, Float2D
from ..rows.array_api import on_device_of, to_host
from ..rows.protocol import Block
from .calibration import Left
from .completeness import refuse_infinity, sum_is_finite
from .model import Model, Score
from .sums import MOST_NUMBERS


@dataclass(frozen=True)
class Incomplete:
    """Scores rows that may have missing values, by a model for each pattern of missing columns."""

    model: Model
    models: dict[tuple[int, ...], Model | None] = field(default_factory=dict)

    def of_rows(self, X: Float2D) -> Float1D:
        """Scores of rows in the units of the table, one value per row."""
        missing = np.isnan(X)
        out = np.empty(len(X))
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        which = np.asarray(which).ravel()
        for k, pattern in enumerate(patterns):
            rows = which == k
            out[rows] = self._of_pattern(X[rows], pattern)
        return out

    def reduced(self, missing: Sequence[int]) -> Model | None:
        """The model of the other columns; the latest ones are kept."""
        key = tuple(int(j) for j in missing)
        try:
            return self.models[key]
        except KeyError:
            reduced = self.models[key] = self.model.without(key)
        for oldest in list(self.models)[: -self._most_models]:  # a copy, as threads share the models
            self.models.pop(oldest, None)
        return reduced

    @property
    def _most_models(self) -> int:
        """How many models fit into the memory for them: each has three matrices of its terms, and its regimes."""
        return max(MOST_NUMBERS // (5 * self.model.score.christoffel.n_terms**2), 1)

    def _of_pattern(self, X: Float2D, missing: Bool1D) -> Float1D:
        if not missing.any():
            return np.asarray(self.model.score.of_rows(X))
        tail = self.model.tail
        reduced = self.reduced(np.flatnonzero(missing).tolist())
        if not isinstance(tail, Left):
            raise ValueError("A detector that was fitted to moments cannot score rows with NaN: impute these values.")
        if reduced is None or not isinstance(reduced.tail, Left):
            return np.full(len(X), tail.scores[0])  # nothing is known against the row
        scores = np.asarray(reduced.score.of_rows(np.where(missing, 0.0, X)))
        beyond = np.maximum(scores - reduced.tail.scores[-1], 0.0)
        return np.asarray(tail.score_of(reduced.tail.p_values(scores)) + beyond)


def score_block(
    block: Block,
    out: Any,
    score: Score,
    incomplete: Incomplete | None,
    place: Any,
    names: Any,
    above: float | None = None,
) -> None:
    """Write the scores of a block, lower for worse rows, to ``out`` ``(n_rows, 1)``; see :meth:`Score.of_rows`."""
    X = block.X
    if sum_is_finite(X):
        out[:, 0] = -score.of_rows(X, above)
        return
    refuse_infinity(block, place, names)
    if incomplete is None:
        raise ValueError("Rows with NaN cannot be scored in a Dask collection: impute these values, or compute() it.")
    out[:, 0] = on_device_of(X, -incomplete.of_rows(np.asarray(to_host(X), dtype=np.float64)))
