"""The first pass of a fit: the number of rows, the range of every column, and the Gram of the columns.

Where reading takes longer than computing, the pass also sums the Gram of all terms of degree 2. Rows that are to be
scaled to the unit cube are surveyed in the scaling of a few first rows, and the result is converted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple, cast

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from .._typing import Float1D, Float2D
from ..polynomials.terms import Program, count_terms, terms_up_to
from ..rows.arrays import ArrayRows
from ..rows.disk import ScaledOnDisk
from ..rows.protocol import Rows
from ..rows.reading import require_finite
from .gram import border_gram, mean_of_parts, sum_parts

_NO_ROWS = "There are no rows to fit to."
_LOOKAHEAD_TERMS = 100  # the first pass sums the Gram of the terms of degree up to 2 if there are at most this many


class Survey(NamedTuple):
    """The result of the first pass: the Gram of all terms up to a degree, the range of every column, and row counts.

    The ``degree`` of ``known`` is 1, or 2 if the pass looked ahead, or that of moments if they take the place of a
    pass. ``total_weight`` is the sum of the sample weights, or the number of rows without weights. ``raw_range`` is the
    range of the columns before scaling, if the caller asked for it.
    """

    known: Float2D
    low: Float1D
    high: Float1D
    n_samples: int
    total_weight: float
    degree: int = 1
    raw_range: tuple[Float1D, Float1D] | None = None

    @property
    def gram(self) -> Float2D:
        """The Gram of ``[1, x_1, ..., x_n]``."""
        return self.known[: self.low.size + 1, : self.low.size + 1]

    @classmethod
    def of_parts(cls, parts: Sequence[Survey]) -> Survey:
        """The survey of all rows, from the surveys of their parts."""
        if len(parts) == 1:
            return parts[0]
        weights = [part.total_weight for part in parts]
        return cls(
            mean_of_parts([part.known for part in parts], weights),
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
            sum(part.n_samples for part in parts),
            sum(weights),
            parts[0].degree,
            _whole_range([part.raw_range for part in parts if part.raw_range is not None]),
        )

    def scaled(self, scale: Float1D, offset: Float1D) -> Survey:
        """The survey of ``scale * x + offset``, for positive scales."""
        terms = terms_up_to(self.degree, scale.size)
        change = np.zeros((len(terms), len(terms)))
        place = {term: k for k, term in enumerate(terms)}
        for k, term in enumerate(terms):
            # Each factor x_v becomes scale_v x_v + offset_v; a product of two factors becomes four terms.
            for chosen in product((True, False), repeat=len(term)):
                factors = [scale[v] if c else offset[v] for v, c in zip(term, chosen, strict=True)]
                change[k, place[tuple(v for v, c in zip(term, chosen, strict=True) if c)]] += np.prod(factors)
        known = border_gram(np.empty((0, 0)), change @ self.known @ change.T)  # symmetric to the last bit
        return self._replace(known=known, low=scale * self.low + offset, high=scale * self.high + offset)


def survey(rows: Rows) -> Survey:
    """Gram of the constant and the columns, and the columns' ranges, in one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.rows.arrays import as_rows
    >>> two_rows = survey(as_rows(np.array([[0.0], [2.0]])))
    >>> two_rows.gram
    array([[1., 1.],
           [1., 2.]])
    >>> two_rows.high, two_rows.n_samples
    (array([2.]), 2)
    """
    return surveys([rows])[0]


def surveys(parts: Sequence[Rows], *, ahead: bool = False) -> list[Survey]:
    """As :func:`surveys_if_any`; parts without rows raise ValueError."""
    results = surveys_if_any(parts, ahead=ahead)
    if None in results:
        raise ValueError(_NO_ROWS)
    return cast("list[Survey]", results)


def surveys_if_any(parts: Sequence[Rows], *, raw: Sequence[Rows] = (), ahead: bool = False) -> list[Survey | None]:
    """As :func:`survey`, for each of several sources, None for one without rows; parts of one source share the pass.

    With ``raw``, the same parts before scaling, the pass also computes the ranges of their columns. With ``ahead``, it
    also sums the Gram of degree 2 of sources that take long to read, unless that Gram is large.
    """
    n = parts[0].n_features
    degree = 2 if ahead and parts[0].reading_dominates and count_terms(2, n) <= _LOOKAHEAD_TERMS else 1
    sums = sum_parts(parts, Program.of(terms_up_to(degree, n)), ranged=True, raw=raw)
    raw_ranges = sums[len(parts) :] or [None] * len(parts)
    found: list[Survey | None] = []
    for total, raw_range in zip(sums[: len(parts)], raw_ranges, strict=True):
        if total is None:
            found.append(None)
            continue
        with np.errstate(invalid="ignore", divide="ignore"):  # a total weight of 0 raises an error later
            known = border_gram(np.ones((1, 1)), total.products / total.total_weight)
        before = None if raw_range is None else (raw_range[0], raw_range[1])
        found.append(Survey(known, total.range[0], total.range[1], total.n_samples, total.total_weight, degree, before))
    return found


def _whole_range(ranges: Sequence[tuple[Float1D, Float1D]]) -> tuple[Float1D, Float1D] | None:
    if not ranges:
        return None
    lows, highs = zip(*ranges, strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


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
    """A split into one part."""
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
    return FirstPass(rows, parts, require_finite_survey(surveys_if_any(parts, ahead=ahead), rows, names))


def scale_and_survey_parts(
    rows: Rows, names: Sequence[str], split: Split = one_part, *, ahead: bool = False
) -> FirstPass:
    """Scale all rows to [0, 1], and survey the parts of the scaled rows.

    For sources outside memory this takes one pass: it surveys the rows in the scaling of a few first rows, and the
    result is converted. The conversion loses no accuracy if the range of these rows lies within that of all. Only rows
    of weight 0 can lie outside; then a second pass surveys the rows in the right scaling.
    """
    if isinstance(rows, ArrayRows):
        (whole,) = require_finite_survey(surveys_if_any([rows]), rows, names)
        scaler = scaler_of_range(whole.low, whole.high, whole.n_samples)
        return survey_parts(scaled_rows(rows, scaler), names, split, ahead=ahead)._replace(scaler=scaler)
    if isinstance(rows, ScaledOnDisk) and rows.scaler is None:
        return _to_unit_range(survey_parts(rows, names, split, ahead=ahead), split)
    units = first_units(rows)
    in_first_units = scaled_rows(rows, units)
    part_surveys = surveys_if_any(split(in_first_units), raw=split(rows), ahead=ahead)
    first = FirstPass(in_first_units, [], require_finite_survey(part_surveys, rows, names))
    low, high = first.whole.raw_range or (first.whole.low, first.whole.high)
    scaler = scaler_of_range(low, high, first.whole.n_samples)
    scaled = scaled_rows(rows, scaler)
    if (units.data_min_ < low).any() or (units.data_max_ > high).any():  # a first row of weight 0 lies outside
        return survey_parts(scaled, names, split, ahead=ahead)._replace(scaler=scaler)
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


def require_finite_survey(parts: Sequence[Survey | None], rows: Rows, names: Sequence[str]) -> list[Survey]:
    """Return the surveys of the parts; raise ValueError for NaN, infinity, and parts without rows or weights."""
    for part in parts:
        if part is None:
            raise ValueError(_NO_ROWS)
        if part.total_weight == 0.0:
            which = "All rows" if len(parts) == 1 else "All rows of a class"
            raise ValueError(f"{which} have sample_weight 0: leave them out, or give some of them a weight.")
        if not np.isfinite(part.gram).all():
            require_finite(rows, names)
            raise ValueError(
                "Squares of values in X overflow; scale the columns to [0, 1] first, for instance with MinMaxScaler."
            )
    return cast("list[Survey]", parts)
