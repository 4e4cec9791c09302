"""The first pass of a fit: a survey of the rows, and their scaling to the unit cube."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from .._typing import Float1D
from ..rows.arrays import ArrayRows
from ..rows.disk import ScaledOnDisk
from ..rows.protocol import Rows
from ..rows.reading import require_finite
from .survey import Survey, surveys

__all__ = [
    "FirstPass",
    "first_units",
    "require_finite_survey",
    "scale_and_survey_parts",
    "scaled_rows",
    "scaler_of_range",
    "survey_parts",
]


def scaler_of_range(low: Float1D, high: Float1D, n_samples: int) -> MinMaxScaler:
    """The scaler that maps this range to [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> scaler_of_range(np.array([1.0]), np.array([3.0]), 10).transform([[2.0]])
    array([[0.5]])
    """
    scaler = MinMaxScaler().fit(np.array([low, high]))
    scaler.n_samples_seen_ = n_samples
    return scaler


def scaled_rows(rows: Rows, scaler: MinMaxScaler) -> Rows:
    """The scaled rows, in float64."""
    return rows.scaled(scaler.scale_, scaler.min_)


class FirstPass(NamedTuple):
    """The rows to fit to, their parts, a survey of each part, and the scaling to [0, 1], if any."""

    rows: Rows
    parts: list[Rows]
    surveys: list[Survey]
    scaler: MinMaxScaler | None = None

    @property
    def whole(self) -> Survey:
        """The survey of all rows."""
        return Survey.of_parts(self.surveys)


Split = Callable[[Rows], Sequence[Rows]]


def one_part(rows: Rows) -> Sequence[Rows]:
    """All rows."""
    return [rows]


def survey_parts(rows: Rows, names: Sequence[str], split: Split = one_part, *, ahead: bool = False) -> FirstPass:
    """Survey the parts of rows that need no further scaling.

    With ``ahead``, the pass also sums the terms of degree 2, as :func:`~vanishing.engine.survey.surveys` does. For rows
    on disk that were opened with ``scale=True``, the same pass computes the scaling.
    """
    if isinstance(rows, ScaledOnDisk) and rows.scaler is None:
        first = scale_and_survey_parts(rows.source, names, split, ahead=ahead)
        rows.scaler = first.scaler
        return FirstPass(rows, list(split(rows)), first.surveys)
    parts = list(split(rows))
    return FirstPass(rows, parts, require_finite_survey(surveys(parts, ahead=ahead), rows, names))


def scale_and_survey_parts(
    rows: Rows, names: Sequence[str], split: Split = one_part, *, ahead: bool = False
) -> FirstPass:
    """Scale all rows to [0, 1], and survey the parts of the scaled rows.

    For sources outside memory this takes one pass: it surveys the rows in the scaling of a few first rows, and the
    result is converted. The conversion loses no accuracy, because the range of these rows lies within that of all.
    """
    if isinstance(rows, ArrayRows):
        (whole,) = require_finite_survey(surveys([rows]), rows, names)
        scaler = scaler_of_range(whole.low, whole.high, whole.n_samples)
        return survey_parts(scaled_rows(rows, scaler), names, split, ahead=ahead)._replace(scaler=scaler)
    if isinstance(rows, ScaledOnDisk) and rows.scaler is None:
        return _to_unit_range(survey_parts(rows, names, split, ahead=ahead), split)
    in_first_units = scaled_rows(rows, first_units(rows))
    part_surveys = surveys(split(in_first_units), raw=split(rows), ahead=ahead)
    first = FirstPass(in_first_units, [], require_finite_survey(part_surveys, rows, names))
    low, high = first.whole.raw_range or (first.whole.low, first.whole.high)
    scaler = scaler_of_range(low, high, first.whole.n_samples)
    scaled = scaled_rows(rows, scaler)
    return FirstPass(scaled, list(split(scaled)), _to_unit_range(first, split).surveys, scaler)


def _to_unit_range(first: FirstPass, split: Split) -> FirstPass:
    """Scale rows and surveys to [0, 1], without another pass."""
    whole = first.whole
    scaler = scaler_of_range(whole.low, whole.high, whole.n_samples)
    rows = scaled_rows(first.rows, scaler)
    return FirstPass(
        rows, list(split(rows)), [part.scaled(scaler.scale_, scaler.min_) for part in first.surveys], scaler
    )


def first_units(rows: Rows) -> MinMaxScaler:
    """The scaler of the first few rows that are finite."""
    head = rows.head()
    head = head[np.isfinite(head).all(axis=1)]
    if len(head) == 0:
        head = np.zeros((1, rows.n_features))
    return scaler_of_range(head.min(axis=0), head.max(axis=0), len(head))


def require_finite_survey(parts: list[Survey], rows: Rows, names: Sequence[str]) -> list[Survey]:
    """Return the surveys of the parts; raise ValueError for NaN, infinity, and parts of total weight 0."""
    for part in parts:
        if part.total_weight == 0.0:
            which = "All rows" if len(parts) == 1 else "All rows of a class"
            raise ValueError(f"{which} have sample_weight 0: leave them out, or give some of them a weight.")
        if not np.isfinite(part.gram).all():
            require_finite(rows, names)
            raise ValueError(
                "Squares of values in X overflow; scale the columns to [0, 1] first, for instance with MinMaxScaler."
            )
    return parts
