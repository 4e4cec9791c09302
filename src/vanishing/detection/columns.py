"""The columns of a table: constant, binary, one-hot or numeric, and their standard units.

Everything here follows from the first pass: range, means and second moments of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sys import float_info
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from .._typing import Float1D, Float2D, Int1D
from ..constants import SINGULAR
from ..engine.survey import Survey, require_finite_survey, scale_and_survey_parts, surveys
from ..polynomials.text import quoted_name
from ..rows.array_api import in_float64, namespace_of, on_device_of
from ..rows.arrays import ArrayRows
from ..rows.protocol import Block, Rows

CLIP = 10.0  # deviations from the mean at which values are clipped
_NARROWEST = float(np.sqrt(np.finfo(np.float64).tiny))  # range of a column whose squares have all digits
TIGHT = 1e-3  # mean square of an equation over that of its gradient in standard units, at most
RIDGE = 1e-6  # mean square, in standard units, below which a relation holds exactly


class ColumnSurvey(NamedTuple):
    """Range, means and covariances of the columns."""

    low: Float1D
    high: Float1D
    mean: Float1D
    covariance: Float2D
    n_samples: int
    total_weight: float

    @property
    def deviation(self) -> Float1D:
        """Standard deviations; 0 for constant columns."""
        spread = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return np.where(self.high > self.low, spread, 0.0)

    @property
    def has_far_values(self) -> bool:
        """Whether some values are far enough from the mean to be clipped."""
        reach = np.maximum(self.high - self.mean, self.mean - self.low)
        return bool((reach > CLIP * self.deviation)[self.high > self.low].any())

    def distance_from(self, point: Float1D) -> Float1D:
        """How many deviations the means are from a point; 0 for constant columns."""
        spread = np.where(self.deviation > 0.0, self.deviation, 1.0)
        return np.where(self.deviation > 0.0, np.abs(self.mean - point) / spread, 0.0)


def require_squares(survey: ColumnSurvey, names: Sequence[str]) -> None:
    """Raise ValueError if the squares of a column's differences underflow, which variances and equations consist of."""
    width = survey.high - survey.low
    tiny = np.flatnonzero((width > 0.0) & (width < _NARROWEST))
    if tiny.size:
        j = int(tiny[0])
        power = min(-int(np.floor(np.log10(width[j]))), float_info.max_10_exp)
        raise ValueError(
            f"Squares of values in column {names[j]!r} underflow, as its range is {width[j]:.2g}: multiply it by "
            f"1e{power}, which is a change of its unit."
        )


def survey_columns(rows: Rows, names: Sequence[str]) -> ColumnSurvey:
    """The first pass: range, means and covariances of the columns, in their own units.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.rows.arrays import as_rows
    >>> survey = survey_columns(as_rows(np.array([[1.0, 5.0], [3.0, 5.0]])), ["a", "b"])
    >>> survey.mean, survey.deviation
    (array([2., 5.]), array([1., 0.]))
    """
    if not isinstance(rows, ArrayRows):
        _, _, (survey,), scaler = scale_and_survey_parts(rows, names)
        assert scaler is not None
        return _in_units(survey, np.asarray(scaler.data_min_), np.asarray(scaler.data_max_))
    (survey,) = require_finite_survey(surveys([rows]), rows, names)
    low, high = survey.low, survey.high
    squares = np.diag(survey.gram)[1:]
    precise = np.diag(survey.gram)[1:] - survey.gram[0, 1:] ** 2 > RIDGE * squares
    if precise[high > low].all():
        covariance = survey.gram[1:, 1:] - np.outer(survey.gram[0, 1:], survey.gram[0, 1:])
        return ColumnSurvey(low, high, survey.gram[0, 1:], covariance, survey.n_samples, survey.total_weight)
    (survey,) = surveys([rows.changed(Standardised(low, _width(low, high), clip=np.inf))])
    return _in_units(survey, low, high)


def _in_units(survey: Survey, low: Float1D, high: Float1D) -> ColumnSurvey:
    """The survey of columns that were scaled to [0, 1], in their own units."""
    width = _width(low, high)
    mean = survey.gram[0, 1:]
    covariance = (survey.gram[1:, 1:] - np.outer(mean, mean)) * np.outer(width, width)
    return ColumnSurvey(low, high, low + width * mean, covariance, survey.n_samples, survey.total_weight)


def _width(low: Float1D, high: Float1D) -> Float1D:
    return np.where(high > low, high - low, 1.0)


@dataclass(frozen=True)
class Standardised:
    """Rows in standard units, ``clip((x - centre) / scale)``, of the columns ``kept`` (all if None).

    With ``directions`` ``(n_kept, p)``, the coordinates along these follow the columns.
    """

    centre: Float1D
    scale: Float1D
    kept: Int1D | None = None
    directions: Float2D | None = None
    clip: float = CLIP

    def __call__(self, block: Block) -> Block:
        """The block in standard units."""
        return block._replace(X=self.units(block.X))

    def units(self, X: Any) -> Any:
        """The rows of an array in standard units."""
        namespace = namespace_of(X)
        if self.kept is not None:
            X = namespace.take(X, on_device_of(X, self.kept), axis=1)
        X = in_float64(X)
        if isinstance(X, np.ndarray):
            Z = X - self.centre
            Z /= self.scale
            if np.isfinite(self.clip):
                np.clip(Z, -self.clip, self.clip, out=Z)
        else:
            Z = namespace.clip((X - on_device_of(X, self.centre)) / on_device_of(X, self.scale), -self.clip, self.clip)
        if self.directions is None:
            return Z
        return namespace.concat([Z, Z @ on_device_of(Z, self.directions)], axis=1)


def leading_directions(survey: ColumnSurvey, kept: Int1D, n_directions: int) -> Float2D:
    """Principal directions of the standardised columns, each scaled to unit variance, ``(n_kept, n_directions)``."""
    deviation = survey.deviation[kept]
    correlation = survey.covariance[np.ix_(kept, kept)] / np.outer(deviation, deviation)
    strength, directions = principal_directions(correlation, n_directions)
    return directions / np.sqrt(np.maximum(strength, RIDGE))


def principal_directions(matrix: Float2D, n_directions: int) -> tuple[Float1D, Float2D]:
    """The largest eigenvalues of a symmetric matrix, and eigenvectors whose largest entry is positive, in C order.

    Products with them are rounded as with those of a file, which are in that order.
    """
    n = len(matrix)
    strength, directions = eigh(matrix, subset_by_index=[n - n_directions, n - 1])
    strength, directions = strength[::-1], directions[:, ::-1]
    largest = np.argmax(np.abs(directions), axis=0)
    return strength, np.ascontiguousarray(directions * np.sign(directions[largest, np.arange(n_directions)]))


@dataclass(frozen=True)
class Exact:
    """A relation that holds exactly on every row: a column is constant or binary, or a group of columns is one-hot.

    Its residual is the distance from the constant, ``4 u (1 - u)`` for a binary column scaled to u in {0, 1}, and
    ``sum of u - 1`` for a group.
    """

    kind: str
    columns: tuple[int, ...]
    low: tuple[float, ...]
    width: tuple[float, ...]

    def residual(self, X: Any) -> Any:
        """The residual of the rows, one value per row; 0 where the relation holds."""
        u = [(in_float64(X[:, j]) - a) / w for j, a, w in zip(self.columns, self.low, self.width, strict=True)]
        if self.kind == "constant":
            return u[0]
        if self.kind == "binary":
            return 4.0 * u[0] * (1.0 - u[0])
        return sum(u[1:], u[0]) - 1.0

    def to_text(self, names: Sequence[str]) -> str:
        """The relation in words, for instance ``x3 is 0 or 1``."""
        shown = [quoted_name(names[j]) for j in self.columns]
        if self.kind == "constant":
            return f"{shown[0]} = {self.low[0]:.6g}"
        if self.kind == "binary":
            return f"{shown[0]} is {self.low[0]:.6g} or {self.low[0] + self.width[0]:.6g}"
        return f"{' + '.join(shown)} = 1 (one-hot)"


def exact_relations(survey: ColumnSurvey) -> list[Exact]:
    """The constant columns, the binary ones and the one-hot groups among these.

    A column scaled to [0, 1] is binary if and only if the mean of ``u (1 - u)``, which is never negative, is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.rows.arrays import as_rows
    >>> X = np.array([[0.0, 1.0, 7.0, 0.1], [1.0, 0.0, 7.0, 0.2], [1.0, 0.0, 7.0, 0.4]])
    >>> survey = survey_columns(as_rows(X), "abcd")
    >>> [relation.to_text("abcd") for relation in exact_relations(survey)]
    ['c = 7', 'a is 0 or 1', 'b is 0 or 1', 'a + b = 1 (one-hot)']
    """
    low, width = survey.low, _width(survey.low, survey.high)
    constant = np.flatnonzero(survey.high <= survey.low)
    mean = (survey.mean - low) / width
    products = survey.covariance / np.outer(width, width) + np.outer(mean, mean)
    binary = np.flatnonzero((mean - np.diag(products) <= SINGULAR) & (survey.high > survey.low))
    relations = [Exact("constant", (int(j),), (float(low[j]),), (max(abs(float(low[j])), 1.0),)) for j in constant]
    relations += [_exact("binary", [int(j)], low, width) for j in binary]
    # Groups are indicators of categories; two complementary columns of other values are a linear relation.
    indicators = [int(j) for j in binary if low[j] == 0.0 and width[j] == 1.0]
    relations += [_exact("one-hot", group, low, width) for group in _one_hot(indicators, mean, products)]
    return relations


def _exact(kind: str, columns: list[int], low: Float1D, width: Float1D) -> Exact:
    return Exact(kind, tuple(columns), tuple(low[columns].tolist()), tuple(width[columns].tolist()))


def _one_hot(indicators: list[int], mean: Float1D, products: Float2D) -> list[list[int]]:
    """Groups of 0/1 columns with exactly one 1 in every row; each column is in one group at most."""
    groups: list[list[int]] = []
    free = list(indicators)
    while free:
        group = [free.pop(0)]
        for j in list(free):
            if all(products[j, i] <= SINGULAR for i in group) and mean[[*group, j]].sum() <= 1.0 + SINGULAR:
                group.append(j)
        if len(group) > 1 and abs(mean[group].sum() - 1.0) <= SINGULAR:
            groups.append(group)
            free = [j for j in free if j not in group]
    return groups
