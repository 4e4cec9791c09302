"""From rows to the monomials of a detector and the sums over them: in memory, or in one pass over a source."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import comb
from typing import TypeAlias

import numpy as np

from ..checks import warn_few_rows
from ..rows.arrays import ArrayRows
from ..rows.protocol import Rows
from .christoffel import MOST_TERMS, Monomials, choose_degree, n_terms_needed
from .columns import ColumnSurvey, exact_relations, require_squares, survey_columns
from .completeness import Complete, complete_array, require_some
from .onepass import OnePass, collect
from .sums import SAMPLE, Sums, sum_rows

#: The monomials, the sums of their products over the rows, which count the incomplete ones, and their degree.
Trained: TypeAlias = tuple[Monomials, Sums, int]


def _is_wide(n_features: int) -> bool:
    """Whether the monomials depend on the principal directions of the columns, which need a pass of their own."""
    return comb(n_features + 2, 2) > MOST_TERMS


def _first_wide() -> int:
    return next(n for n in count(1) if _is_wide(n))


def train(rows: Rows, names: Sequence[str], degree: int | None, *, skip: bool, run: int = 1) -> Trained:
    """The monomials and sums of rows; ``skip`` leaves out rows with missing values, ``run`` is that of the sample.

    Up to 10,000 rows are read into memory, whatever the source. More rows take one pass; two passes are needed for wide
    tables, for sources that do not know that their number of rows allows a degree above 2, and where the first rows
    are unlike the others (:mod:`.onepass`).
    """
    if isinstance(rows, ArrayRows) and len(rows) <= SAMPLE:
        complete, n_missing = complete_array(rows, names, skip=skip)
        return _train_in_memory(complete, names, degree, n_missing, run)
    if rows.read_once and _is_wide(rows.n_features):
        raise ValueError(
            f"The rows can be read only once, but a detector of {rows.n_features} columns takes two passes: give the "
            f"table or the dataset that the reader reads, or fewer than {_first_wide()} columns."
        )
    first = collect(rows, _degree_ahead(rows, degree), names, run)
    seen = first.seen
    if seen.n_samples == seen.n_missing == 0:
        raise ValueError("All rows have sample_weight 0: leave them out, or give some of them a weight.")
    require_some(seen.n_samples == 0)
    if seen.n_samples <= SAMPLE:
        weights = None if (seen.sample.weights == 1.0).all() else seen.sample.weights
        return _train_in_memory(ArrayRows(seen.sample.X, weights), names, degree, seen.n_missing, run)
    return _train_in_passes(rows, first, names, degree, run)


def _degree_ahead(rows: Rows, degree: int | None) -> int:
    """The degree of the first pass: that of the detector, if that is known by then."""
    n, n_samples = rows.n_features, rows.n_samples
    if (n_samples is not None and n_samples <= SAMPLE) or _is_wide(n):
        return 1
    return degree or (2 if n_samples is None else choose_degree(n, n_samples))


def _train_in_memory(rows: ArrayRows, names: Sequence[str], degree: int | None, n_missing: int, run: int) -> Trained:
    survey = survey_columns(rows, names)
    monomials, degree = _monomials(survey, names, degree)
    sums = sum_rows(rows, monomials, run=run, clipped=survey.has_far_values)
    return monomials, sums._replace(n_missing=n_missing), degree


def _train_in_passes(rows: Rows, first: OnePass, names: Sequence[str], degree: int | None, run: int) -> Trained:
    complete = rows.changed(Complete(rows.place, tuple(names)))
    survey = first.survey()
    if not first.is_exact(survey):
        survey = survey_columns(complete, names)
    if degree is None and rows.read_once:
        degree = min(choose_degree(survey.mean.size, survey.n_samples), first.degree)
    monomials, degree = _monomials(survey, names, degree)
    sums = first.sums(survey, monomials)
    if sums is None:
        sums = sum_rows(complete, monomials, run=run, clipped=survey.has_far_values)
    return monomials, sums._replace(n_missing=first.seen.n_missing), degree


def _monomials(survey: ColumnSurvey, names: Sequence[str], degree: int | None) -> tuple[Monomials, int]:
    """The monomials of surveyed columns, and their degree."""
    require_squares(survey, names)
    if not np.any(survey.high > survey.low):
        raise ValueError(
            f"All rows are equal (n_samples = {survey.n_samples}): a detector learns from normal rows that differ."
        )
    chosen = degree or choose_degree(survey.mean.size, survey.n_samples)
    if chosen == 1 and degree is None:
        warn_few_rows(survey.n_samples, n_terms_needed(survey.mean.size))
    return Monomials.of_columns(survey, exact_relations(survey), chosen), chosen
