"""Dirty training rows: concentration steps leave out the rows that fit worst, so that they do not hide themselves.

Each step fits G and E of degree 1 to the rows kept so far, scores all rows, and keeps the four fifths with the lowest
scores (as for least trimmed squares: Rousseeuw and Van Driessen, 2006). Polynomials of a higher degree would bend
towards clusters of anomalies. The model is that of the rows kept in the end, with their regimes. Its limit comes from
all rows within the outer fence of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import Bool1D
from ..rows.array_api import namespace_of
from ..rows.arrays import ArrayRows
from ..rows.protocol import Block, where
from .calibration import weighted_quantiles
from .christoffel import Christoffel, Monomials
from .columns import exact_relations, survey_columns
from .model import Model, Score
from .sums import Sample, sum_rows

TRIMMED = 0.2  # share of the rows left out: more than are anomalies in nearly all tables
STEPS = 3  # fits before the last one: each moves the model away from the anomalies, the next ones hardly


@dataclass(frozen=True)
class Inside:
    """A change of blocks that keeps the rows with scores up to a limit."""

    leaves_out_rows: ClassVar = True
    score: Score
    limit: float

    def __call__(self, block: Block) -> Block:
        """The rows within the limit."""
        namespace = namespace_of(block.X)
        gaps = namespace.any(namespace.isnan(block.X), axis=1)
        return where(block, gaps | (self.score.of_rows(block.X) <= self.limit))


def concentrate(sample: Sample, degree: int, names: Sequence[str]) -> tuple[Score, float, Bool1D]:
    """The score after the concentration steps, its limit, and which rows of a sample are kept."""
    kept = np.ones(len(sample.X), dtype=bool)
    limit = np.inf
    for _ in range(STEPS):
        model = _fit(sample, kept, degree, names)
        scores = model.score.of_rows(sample.X)
        limit = float(weighted_quantiles(scores, sample.weights, [1.0 - TRIMMED])[0])
        kept = scores <= limit
    return model.score, limit, kept


def _fit(sample: Sample, kept: Bool1D, degree: int, names: Sequence[str]) -> Model:
    rows = ArrayRows(sample.X[kept], sample.weights[kept])
    survey = survey_columns(rows, names)
    monomials = Monomials.of_columns(survey, exact_relations(survey), degree)
    sums = sum_rows(rows, monomials)
    christoffel = Christoffel.of_gram(monomials, sums.gram / sums.total_weight)
    return Model.of_sums(sums, christoffel, names, regimes=False)
