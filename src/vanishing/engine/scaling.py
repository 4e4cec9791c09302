"""Scaling to the unit cube, as part of the first pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from .._typing import Float1D
from ..rows.arrays import ArrayRows
from ..rows.disk import ScaledOnDisk
from ..rows.protocol import Rows
from ..rows.reading import require_finite
from .survey import Survey, surveys

__all__ = ["require_finite_survey", "scaled_rows", "scaler_of_range", "survey_scaled"]


def scaler_of_range(low: Float1D, high: Float1D, n_samples: int) -> MinMaxScaler:
    """The scaling of data with this range.

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
    """The rows as a scaling makes them, in float64."""
    return rows.scaled(scaler.scale_, scaler.min_)


def survey_scaled(
    rows: Rows,
    split: Callable[[Rows], Sequence[Rows]],
    names: Sequence[str],
    *,
    scale: bool,
    ahead: bool = False,
) -> tuple[MinMaxScaler | None, Rows, list[Rows], list[Survey]]:
    """The scaling of all rows to [0, 1] (None without ``scale``), the scaled rows, and the parts of them with surveys.

    Elsewhere than in memory this takes one pass: the survey is made in units that a few rows suggest, and then
    converted. As these rows have no larger range than all have, nothing is lost in rounding. With ``ahead``, it takes
    along the terms of degree 2, as :func:`~vanishing.engine.survey.surveys` does.
    """
    if isinstance(rows, ScaledOnDisk) and rows.scaler is None:
        rows.scaler, _, _, found = survey_scaled(rows.source, split, names, scale=True, ahead=ahead)
        return _scaled_again(rows, split, found, scale=scale)
    if not scale or isinstance(rows, ArrayRows):
        scaler = None
        if scale:
            (whole,) = require_finite_survey(surveys([rows]), rows, names)
            scaler = scaler_of_range(whole.low, whole.high, whole.n_samples)
            rows = scaled_rows(rows, scaler)
        parts = list(split(rows))
        return scaler, rows, parts, require_finite_survey(surveys(parts, ahead=ahead), rows, names)
    first = first_units(rows)
    raw = split(rows)
    found = require_finite_survey(surveys(split(scaled_rows(rows, first)), raw=raw, ahead=ahead), rows, names)
    whole = Survey.of_parts(found)
    assert whole.raw_range is not None
    scaler = scaler_of_range(*whole.raw_range, whole.n_samples)
    again = scaler_of_range(whole.low, whole.high, whole.n_samples)  # from the first units to the last
    rows = scaled_rows(rows, scaler)
    return scaler, rows, list(split(rows)), [part.scaled(again.scale_, again.min_) for part in found]


def first_units(rows: Rows) -> MinMaxScaler:
    """The scaling that a few rows suggest."""
    head = rows.head()
    head = head[np.isfinite(head).all(axis=1)]
    if len(head) == 0:
        head = np.zeros((1, rows.n_features))
    return scaler_of_range(head.min(axis=0), head.max(axis=0), len(head))


def _scaled_again(
    rows: Rows, split: Callable[[Rows], Sequence[Rows]], found: list[Survey], *, scale: bool
) -> tuple[MinMaxScaler | None, Rows, list[Rows], list[Survey]]:
    """The same for rows that have just been scaled and surveyed: another scaling changes nothing, up to rounding."""
    if not scale:
        return None, rows, list(split(rows)), found
    whole = Survey.of_parts(found)
    scaler = scaler_of_range(whole.low, whole.high, whole.n_samples)
    rows = rows.scaled(scaler.scale_, scaler.min_)
    return scaler, rows, list(split(rows)), [part.scaled(scaler.scale_, scaler.min_) for part in found]


def require_finite_survey(found: list[Survey], rows: Rows, names: Sequence[str]) -> list[Survey]:
    """Refuse NaN, infinity, and classes without weight."""
    if any(part.total_weight == 0.0 for part in found):
        which = "All rows" if len(found) == 1 else "All rows of a class"
        raise ValueError(f"{which} have sample_weight 0: leave them out, or give some of them a weight.")
    if not all(np.isfinite(part.gram).all() for part in found):
        require_finite(rows, names)
        raise ValueError(
            "Squares of values in X overflow; scale the columns to [0, 1] first, for instance with MinMaxScaler."
        )
    return found
