"""Monotone transforms of the input columns: to [0, 1], with heavy tails drawn in."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._typing import Bool1D, Float1D, Float2D
from ...constants import TINY
from ...engine.survey import scaled_rows
from ...files.fields import Numbers, Optional, Record, TupleOf, require
from ...polynomials.polynomial import Polynomials
from ...polynomials.text import shown_names
from ...rows.array_api import in_float64, namespace_of, on_device_of
from ...rows.arrays import ArrayRows
from ...rows.protocol import Block, Cost, Rows
from ...rows.sampling import Sample

TRANSFORMS = ("minmax", "arcsinh", "rank")
Scaling = bool | str  # by the range of the training rows or not at all, or one of the transforms

_HEAVY = 0.15  # inter-quartile range over range, below which a column has heavy tails
_EXTREME = 1.0  # how far outside of [0, 1] it has to lie to be called an outlier
_N_KNOTS = 200  # knots of the piecewise linear rank


@dataclass(frozen=True)
class InputTransform:
    """``x -> clip((u(x) - low) / (high - low), -0.25, 1.25)``, column by column, with a monotone curve u.

    The curve is ``u = x``, ``u = arcsinh((x - centre) / spread)`` where ``curved``, or, with ``knots``, the rank of x
    among the training values where ``curved``: piecewise linear from 0 to 1 through quantiles. ``low`` and ``high`` are
    the range of u on the training rows, which therefore lie in the unit cube.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [1000.0]])
    >>> transform = InputTransform.fitted("arcsinh", X)
    >>> transform(X)[:, 0].round(2)
    array([0.  , 0.05, 0.11, 0.17, 1.  ])
    >>> transform.spelled_out(["x0"])
    {'u_x0': 'arcsinh((x0 - 2) / 2)'}
    """

    centre: Float1D
    spread: Float1D
    curved: Bool1D
    low: Float1D
    high: Float1D
    knots: tuple[tuple[Float1D, Float1D], ...] | None = None
    limits: ClassVar = (-0.25, 1.25)  # where values are clipped: polynomials grow fast outside of the training range

    @classmethod
    def fitted(cls, kind: str, X: Float2D, low: Float1D | None = None, high: Float1D | None = None) -> InputTransform:
        """The transform of rows that ``X`` is a sample of, and whose range is ``low`` to ``high`` (that of ``X``).

        "minmax" has no curves, "rank" one in every column, "arcsinh" in those with heavy tails: where the
        inter-quartile range is less than 15% of the range. A column of two values has none: a curve through two points
        would not move them in the unit cube.
        """
        X = np.asarray(X, dtype=np.float64)
        low = X.min(axis=0) if low is None else np.asarray(low, dtype=np.float64)
        high = X.max(axis=0) if high is None else np.asarray(high, dtype=np.float64)
        n = X.shape[1]
        plain = cls(np.zeros(n), np.ones(n), np.zeros(n, dtype=bool), low, high)
        if kind == "minmax":
            return plain
        several = np.asarray(((low < X) & (high > X)).any(axis=0))
        if kind == "rank":
            levels = np.linspace(0.0, 1.0, min(_N_KNOTS, len(X)) if len(X) > 1 else 2)
            quantiles = np.quantile(X, levels, axis=0)
            quantiles[0], quantiles[-1] = low, high
            knots = tuple(
                _distinct_knots(quantiles[:, j], levels) if several[j] else _as_they_are(low[j], high[j])
                for j in range(n)
            )
            start, stop = np.where(several, 0.0, low), np.where(several, 1.0, high)
            return cls(plain.centre, plain.spread, several, start, stop, knots)
        first, centre, third = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
        with np.errstate(over="ignore"):
            heavy = third - first < _HEAVY * (high - low)
            deviation = X.std(axis=0)
        spread = np.where(third > first, third - first, np.where(deviation > 0.0, deviation, 1.0))
        curved = several & np.isfinite(spread) & heavy
        centre, spread = np.where(curved, centre, 0.0), np.where(curved, spread, 1.0)
        start, stop = (np.where(curved, np.arcsinh((end - centre) / spread), end) for end in (low, high))
        return cls(centre, spread, curved, start, stop)

    @classmethod
    def of(cls, kind: str, rows: Rows, sample: Sample | None) -> InputTransform:
        """The transform of finite rows in memory, or by the quantiles of a sample and the range of all rows.

        So psi means the same for the sample and for all rows.
        """
        if sample is not None:
            return cls.fitted(kind, sample.rows.X, sample.low, sample.high)
        assert isinstance(rows, ArrayRows)
        return cls.fitted(kind, rows.X)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.low.size

    @property
    def affine(self) -> tuple[Float1D, Float1D]:
        """Scale and offset of the last step, ``scale * u + offset``, for columns that are not constant."""
        width = self.high - self.low
        scale = 1.0 / np.where(width >= TINY, width, 1.0)
        return scale, -self.low * scale

    @property
    def input_range(self) -> tuple[Float1D, Float1D]:
        """The range of the inputs on the training rows."""
        if self.knots is not None:
            return np.array([knots[0] for knots, _ in self.knots]), np.array([knots[-1] for knots, _ in self.knots])
        low, high = (
            np.where(self.curved, self.centre + self.spread * np.sinh(np.where(self.curved, end, 0.0)), end)
            for end in (self.low, self.high)
        )
        return low, high

    def curve(self, X: Any) -> Any:
        """The values u(x)."""
        namespace = namespace_of(X)
        if self.knots is not None:
            pairs = enumerate(zip(self.knots, self.curved, strict=True))
            return namespace.stack(
                [_interpolate(X[:, j], *knots) if bent else X[:, j] for j, (knots, bent) in pairs], axis=1
            )
        if not self.curved.any():
            return X
        centred = (X - on_device_of(X, self.centre)) / on_device_of(X, self.spread)
        return namespace.where(on_device_of(X, self.curved), namespace.asinh(centred), X)

    def __call__(self, X: Any) -> Any:
        """The transformed rows."""
        scale, offset = (on_device_of(X, part) for part in self.affine)
        return namespace_of(X).clip(self.curve(X) * scale + offset, *self.limits)

    def fill(self, block: Block, out: Any) -> None:
        """Write the transformed rows to ``out``."""
        out[:, :] = self(in_float64(block.X))

    def over(self, rows: Rows) -> Rows:
        """The transformed rows of a source: kept in memory if the rows are, else computed in every pass."""
        return rows.computed(self.fill, rows.n_features, Cost(50 * rows.n_features, 4 * rows.n_features))

    def n_outliers(self, X: Float2D) -> tuple[int, int]:
        """How many rows have a value more than a whole range outside of the training range, and the column where."""
        scale, offset = self.affine
        with np.errstate(over="ignore", invalid="ignore"):
            unclipped = self.curve(np.asarray(X, dtype=np.float64)) * scale + offset
        outside = (unclipped < -_EXTREME) | (unclipped > 1.0 + _EXTREME)
        return int(outside.any(axis=1).sum()), int(outside.sum(axis=0).argmax())

    def variables(self, names: Sequence[str]) -> list[str]:
        """Names of the variables u."""
        return [f"u_{name}" if bent else name for name, bent in zip(names, self.curved, strict=True)]

    def spelled_out(self, names: Sequence[str]) -> dict[str, str]:
        """The meaning of each variable that is not an input itself, by the name that formulas print."""
        inputs, variables = (shown_names(tuple(each)) for each in (names, self.variables(names)))
        if self.knots is not None:
            return {
                variables[j]: f"rank of {inputs[j]}, piecewise linear from 0 at {knots[0]:.4g} to 1 at {knots[-1]:.4g}"
                for j, (knots, _) in enumerate(self.knots)
                if self.curved[j]
            }
        return {
            variables[j]: f"arcsinh(({inputs[j]} {'+' if self.centre[j] < 0.0 else '-'} {abs(self.centre[j]):.4g}) / "
            f"{self.spread[j]:.4g})"
            for j in map(int, np.flatnonzero(self.curved))
        }

    def to_sympy(self, symbols: Sequence[Any]) -> list[Any]:
        """The variables u as SymPy expressions in the inputs."""
        import sympy

        if self.knots is not None:
            return [
                _piecewise(symbol, *knots) if bent else symbol
                for symbol, knots, bent in zip(symbols, self.knots, self.curved, strict=True)
            ]
        return [
            sympy.asinh((symbol - float(centre)) / float(spread)) if bent else symbol
            for symbol, centre, spread, bent in zip(symbols, self.centre, self.spread, self.curved, strict=True)
        ]


def _check_transform(transform: InputTransform) -> None:
    parts = (transform.centre, transform.spread, transform.curved, transform.low, transform.high)
    require({part.size for part in parts} == {transform.n_features}, "the parts of a transform differ in length")
    require(bool((transform.spread > 0.0).all()), "a column has no spread")
    for knots, levels in transform.knots or ():
        rising = knots.size == levels.size > 0 and bool((np.diff(knots) > 0.0).all())
        require(rising, "the knots of a transform do not rise")
    require(transform.knots is None or len(transform.knots) == transform.n_features, "a column has no knots")


_VECTOR = Numbers("f8", (None,))
INPUT_TRANSFORM = Record(
    InputTransform,
    {"centre": _VECTOR, "spread": _VECTOR, "curved": Numbers("b1", (None,)), "low": _VECTOR, "high": _VECTOR}
    | {"knots": Optional(TupleOf(TupleOf(_VECTOR)))},
    _check_transform,
)


def _distinct_knots(values: Float1D, levels: Float1D) -> tuple[Float1D, Float1D]:
    """The distinct quantiles, each with the mean of its levels; the ends keep 0 and 1."""
    knots, place = np.unique(values, return_inverse=True)
    mean = np.bincount(place, levels) / np.bincount(place)
    if knots.size > 1:
        mean[0], mean[-1] = 0.0, 1.0
    return knots, mean


def _as_they_are(low: float, high: float) -> tuple[Float1D, Float1D]:
    """Knots at both ends of a column that is left alone."""
    ends = np.unique([low, high])
    return ends, ends


def _interpolate(x: Any, knots: Float1D, levels: Float1D) -> Any:
    """Piecewise linear interpolation, constant outside of the knots."""
    if isinstance(x, np.ndarray):
        return np.interp(x, knots, levels)
    namespace = namespace_of(x)
    x = namespace.clip(x, float(knots[0]), float(knots[-1]))
    index = namespace.searchsorted(on_device_of(x, knots[1:-1]), x, side="right")
    slopes = np.diff(levels) / np.diff(knots)
    start, low, slope = (namespace.take(on_device_of(x, part), index) for part in (knots[:-1], levels[:-1], slopes))
    return low + slope * (x - start)


def _piecewise(symbol: Any, knots: Float1D, levels: Float1D) -> Any:
    import sympy

    pieces = [(sympy.Float(0.0), symbol < float(knots[0]))]
    for k in range(len(knots) - 1):
        slope = float((levels[k + 1] - levels[k]) / (knots[k + 1] - knots[k]))
        pieces.append((float(levels[k]) + slope * (symbol - float(knots[k])), symbol < float(knots[k + 1])))
    return sympy.Piecewise(*pieces, (sympy.Float(1.0), True))


def check_scaling(scale_input: Any, choices: Sequence[str] = TRANSFORMS) -> None:
    """Raise ValueError for an unknown way to scale the input."""
    known = isinstance(scale_input, str) and scale_input in choices
    if not known and not isinstance(scale_input, (bool, np.bool_)):
        choices = ", ".join(map(repr, choices))
        raise ValueError(f"scale_input must be True, False or one of {choices}; got {scale_input!r}.")


def in_unit_cube(rows: Rows, scaler: Any) -> Rows:
    """The rows under a fitted scaling: a transform, a ``MinMaxScaler``, or None."""
    if isinstance(scaler, InputTransform):
        return scaler.over(rows)
    return rows if scaler is None else scaled_rows(rows, scaler)


def cube_rows(X: Float2D, scaler: Any) -> Float2D:
    """An array of rows under a fitted scaling."""
    rows = in_unit_cube(ArrayRows(X), scaler)
    assert isinstance(rows, ArrayRows)
    return np.asarray(rows.X, dtype=np.float64)


def in_variables(polynomials: Polynomials, names: Sequence[str]) -> Polynomials:
    """The polynomials with other names for their variables."""
    renamed = copy(polynomials)
    renamed.feature_names = tuple(names)
    return renamed
