"""Columns beside the generators: inputs, hinges and products, and the options that say which there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..checks import check_choice, check_count, check_flag
from ..files.fields import Numbers, Record
from ..rows.array_api import namespace_of, on_device_of

__all__ = ["EXTRAS", "ColumnOptions", "Extras", "hinge_knots", "take_columns"]

_HINGES, _MONOMIALS = 5, 2  # that a search with "auto" tries at its best psi


@dataclass(frozen=True)
class Extras:
    """Columns beside the generators: inputs t, hinges ``max(0, t_j - knot)``, and products ``t_i t_j``."""

    inputs: Int1D
    hinges: Int1D
    knots: Float1D
    left: Int1D
    right: Int1D

    @classmethod
    def of(
        cls, n_features: int, *, append_input: bool = False, knots: Float2D | None = None, products: bool = False
    ) -> Extras:
        """All inputs, hinges at ``knots`` (one column for each feature; NaN: none), and all products of degree 2."""
        none = np.empty(0, dtype=np.int64)
        inputs = np.arange(n_features) if append_input else none
        left, right = np.triu_indices(n_features) if products else (none, none)
        if knots is None:
            return cls(inputs, none, np.empty(0), left, right)
        columns, rows = np.nonzero(~np.isnan(knots.T))
        return cls(inputs, columns, knots[rows, columns], left, right)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.inputs.size + self.hinges.size + self.left.size)

    def fill(self, X: Any, out: Any) -> None:
        """Write the columns to ``out``."""
        start, stop = self.inputs.size, self.inputs.size + self.hinges.size
        if start:
            out[:, :start] = X if start == X.shape[1] else take_columns(X, self.inputs)
        if stop > start:
            beyond = take_columns(X, self.hinges) - on_device_of(X, self.knots)
            out[:, start:stop] = namespace_of(X).clip(beyond, 0.0, None)
        if self.left.size:
            out[:, stop:] = take_columns(X, self.left) * take_columns(X, self.right)

    def select(self, chosen: Bool1D) -> Extras:
        """Some of the columns."""
        inputs, hinges, products = np.split(chosen, [self.inputs.size, self.inputs.size + self.hinges.size])
        return Extras(
            self.inputs[inputs], self.hinges[hinges], self.knots[hinges], self.left[products], self.right[products]
        )


def take_columns(X: Any, index: Int1D) -> Any:
    """Some columns, in any order."""
    return namespace_of(X).take(X, on_device_of(X, index), axis=1)


def hinge_knots(X: Float2D, n_knots: int) -> Float2D | None:
    """Inner quantiles of every column, ``(n_knots, n_features)``; NaN where one repeats another or the largest value.

    Examples
    --------
    >>> import numpy as np
    >>> hinge_knots(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), 1)
    array([[ 1., nan]])
    """
    if n_knots == 0:
        return None
    levels = np.linspace(0.1, 0.9, n_knots) if n_knots > 1 else np.array([0.5])
    knots: Float2D = np.quantile(X, levels, axis=0)
    repeated = np.vstack([np.zeros((1, X.shape[1]), dtype=bool), np.diff(knots, axis=0) == 0.0])
    knots[repeated | (knots >= X.max(axis=0))] = np.nan
    return knots


class ColumnOptions(NamedTuple):
    """Which columns the last step sees: the parameters of a classifier that say so."""

    features: str = "absolute"
    append_input: bool = True
    scale: bool = True
    hinges: int = 0
    monomials: int = 1
    halves: bool = False

    @classmethod
    def of(cls, estimator: Any, *, auto: bool = False) -> ColumnOptions:
        """Those of an estimator, checked; those that a search starts with, if ``auto`` may stand for none."""
        hinges, monomials, halves = estimator.hinges, estimator.monomials, estimator.halves
        if auto:
            hinges, monomials = _unless_auto("hinges", hinges, 0), _unless_auto("monomials", monomials, 1)
            halves = _unless_auto("halves", halves, False)
        check_flag("halves", halves)
        check_choice("features", estimator.features, ("both", "absolute", "signed"))
        for name in ("append_input", "scale_features"):
            check_flag(name, getattr(estimator, name))
        if hinges != 0:
            check_count("hinges", hinges)
        if monomials not in (1, 2) or isinstance(monomials, bool):
            raise ValueError(f"monomials must be 1 or 2, the largest degree of products; got {monomials!r}.")
        scale = bool(estimator.scale_features)
        return cls(estimator.features, bool(estimator.append_input), scale, int(hinges), int(monomials), bool(halves))

    def richer(self, search: Any) -> list[ColumnOptions]:
        """What a search with "auto" tries beside these: hinges, with them products, and generators of halves."""
        halves = self._replace(halves=True) if search.halves == "auto" else self
        hinges = self._replace(hinges=_HINGES) if search.hinges == "auto" else self
        products = hinges._replace(monomials=_MONOMIALS) if search.monomials == "auto" else hinges
        return [each for each in dict.fromkeys((hinges, products, halves)) if each != self]

    def extras(self, X: Float2D) -> Extras:
        """The columns beside the generators, for rows in the unit cube like those of ``X``."""
        return Extras.of(
            X.shape[1],
            append_input=self.append_input,
            knots=hinge_knots(X, self.hinges),
            products=self.monomials > 1,
        )


def _unless_auto(name: str, value: Any, first: int) -> Any:
    """The value; the ``first`` that a search tries, for "auto"."""
    if not isinstance(value, str):
        return value
    if value != "auto":
        others = "'auto', True or False;" if isinstance(first, bool) else "'auto' or a number,"
        raise ValueError(f"{name} must be {others} got {value!r}.")
    return first


_INDICES = Numbers("i8", (None,), low=0)
EXTRAS = Record(
    Extras,
    {"inputs": _INDICES, "hinges": _INDICES, "knots": Numbers("f8", (None,)), "left": _INDICES, "right": _INDICES},
)
