"""Equations that most rows of a table obey, by concentration steps.

Each step scores all rows by the inverse Christoffel function of the rows kept so far, and keeps all but the tenth with
the largest scores (as for least trimmed squares: Rousseeuw and Van Driessen, "Computing LTS regression for large data
sets", 2006). The equations are those of the rows kept in the end.

A rule may be exact, so that an error of a cent in sums of thousands counts: M has no ridge here but its own rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._typing import Array, Float2D
from ..constants import TINY
from ..detection.christoffel import Christoffel, Monomials, choose_degree
from ..detection.columns import exact_relations, require_squares, survey_columns
from ..detection.equations import find_equations
from ..detection.model import in_chunks
from ..detection.sums import add_samples, sample_array, sample_block, sum_rows
from ..polynomials.polynomial import Polynomial
from ..rows.arrays import ArrayRows, as_rows
from ..rows.protocol import Cost, Rows

_TRIMMED = 0.1  # share of the rows left out
_STEPS = 4  # most steps of concentration


def equations_of_most(table: Float2D, names: Sequence[str], degree: int) -> list[Polynomial]:
    """The tight equations that most rows of a table obey."""
    if not np.ptp(table, axis=0).any():
        raise ValueError(f"All rows are equal (n_samples = {len(table)}): rules need rows that differ.")
    kept = _concentrated(table, names, degree)
    christoffel, total_weight = _christoffel(table[kept], names, degree)
    equations = find_equations(christoffel, total_weight, names, (table[kept], np.ones(len(kept))))
    return [polynomial for polynomial, tight in zip(equations.polynomials, equations.tight, strict=True) if tight]


def sample_table(rows: Rows) -> Float2D:
    """At most 10,000 of the rows."""
    if isinstance(rows, ArrayRows):
        return sample_array(rows).X
    return np.asarray(rows.reduce(sample_block, add_samples, Cost(rows.n_features, rows.n_features)).X)


def _christoffel(table: Float2D, names: Sequence[str], degree: int) -> tuple[Christoffel, float]:
    rows = as_rows(table)
    survey = survey_columns(rows, names)
    require_squares(survey, names)
    if not (survey.high > survey.low).any():
        raise ValueError("All but a few of the rows are equal: rules need rows that differ.")
    monomials = Monomials.of_columns(
        survey, exact_relations(survey), min(degree, choose_degree(survey.mean.size, len(table)))
    )
    sums = sum_rows(rows, monomials)
    return Christoffel.of_gram(monomials, sums.gram / sums.total_weight), sums.total_weight


def _up_to_rounding(christoffel: Christoffel) -> Christoffel:
    """The same with ``M = U diag(l) U'`` in place of ``M + ridge I``, each l raised to the rounding of the largest."""
    scale = christoffel.scale
    values, vectors = np.linalg.eigh(christoffel.gram * np.outer(scale, scale))
    values = np.maximum(values, len(values) * np.finfo(np.float64).eps * values[-1])
    return replace(christoffel, whitening=np.ascontiguousarray((vectors / np.sqrt(values)).T * scale))


def _concentrated(table: Float2D, names: Sequence[str], degree: int) -> Array:
    """The rows that concentration steps keep, from those nearest to the medians of the columns."""
    low, middle, high = np.percentile(table, [25.0, 50.0, 75.0], axis=0)
    spread = np.where(high > low, high - low, np.maximum(np.ptp(table, axis=0), TINY))
    distance = np.max(np.abs(table - middle) / spread, axis=1)
    n_kept = max(int((1.0 - _TRIMMED) * len(table)), 1)
    kept = np.sort(np.argsort(distance, kind="stable")[:n_kept])  # extreme values would stretch the units
    for _ in range(_STEPS):
        christoffel, _ = _christoffel(table[kept], names, degree)
        q = in_chunks(_up_to_rounding(christoffel).of_rows, table)
        nearest = np.sort(np.argsort(q, kind="stable")[:n_kept])
        if np.array_equal(nearest, kept):
            break
        kept = nearest
    return kept
