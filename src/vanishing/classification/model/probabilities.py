"""From decisions to probabilities: a logistic model of held-out decisions, which levels off beyond the margin."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from ..._typing import Float1D, Float2D, Int1D
from ...constants import TINY
from ...files.container import ArrayReader, ArrayWriter
from ...files.fields import Field, Numbers, Record, require
from ...rows.array_api import namespace_of, on_device_of
from ...rows.reading import is_dask

_UNCERTAIN = 1e-3  # probability that a label is wrong: scales stay finite where decisions separate the classes
_REACH = 1.5  # decisions of two classes beyond which rows are no more certain; the SVM asks for 1
_LEAST = float(np.sqrt(np.finfo(np.float32).eps))  # log-odds beside a tie: labels and probabilities agree in float32


class Calibration(NamedTuple):
    """Decisions ``d`` become log-odds ``scale * d + offset``, one pair of numbers for each column of decisions.

    The log-odds of three or more classes may mix the decisions of all: then ``scale`` is a matrix, and they are
    ``scale @ d + offset``.

    For more than two classes the probabilities are the softmax of the log-odds. For two classes the probability of the
    second is the logistic function of the log-odds, clipped to the range that ``|d| <= 1.5`` gives: the SVM asks for a
    margin of 1. How far a row lies beyond it says little, and can be very far where polynomials grow.
    """

    scale: Float1D
    offset: Float1D

    def __call__(self, decisions: Any) -> Any:
        """The log-odds, of the shape of the decisions ``(n_rows, n_scores)``."""
        scale, offset = on_device_of(decisions, self.scale), on_device_of(decisions, self.offset)
        return decisions * scale + offset if scale.ndim == 1 else decisions @ scale.T + offset

    def of_planes(self, coef: Float2D, intercept: Float1D) -> tuple[Float2D, Float1D]:
        """The weights and intercepts of the log-odds, from the weights and intercepts of the decisions."""
        return coef * self.scale[:, None] if self.scale.ndim == 1 else self.scale @ coef, self(intercept)

    def followed_by(self, other: Calibration) -> Calibration:
        """The calibration that applies another one to the log-odds of this one."""
        if self.scale.ndim == other.scale.ndim == 1:
            return Calibration(self.scale * other.scale, other(self.offset))
        return Calibration(*other.of_planes(np.diag(self.scale) if self.scale.ndim == 1 else self.scale, self.offset))

    @property
    def limits(self) -> tuple[float, float]:
        """The log-odds at which the probabilities of two classes level off.

        Examples
        --------
        >>> Calibration(np.array([2.0]), np.array([0.5])).limits
        (-2.5, 3.5)
        """
        if self.offset.size > 1:
            return -np.inf, np.inf
        centre, reach = float(self.offset[0]), _REACH * float(self.scale[0])
        return min(centre - reach, -_LEAST), max(centre + reach, _LEAST)

    def limited(self, log_odds: Any) -> Any:
        """The log-odds that the probabilities are made of."""
        if self.offset.size > 1:
            return log_odds
        if isinstance(log_odds, np.ndarray) or is_dask(log_odds):
            return log_odds.clip(*self.limits)
        return namespace_of(log_odds).clip(log_odds, *self.limits)


class _Scale(Field):
    """A vector of scales that are not negative, or a square matrix."""

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        """The value as JSON, for the header."""
        return arrays.add(value)

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        """The value."""
        scale = arrays.read(data, "f8")
        agrees = scale.ndim == 1 or (scale.ndim == 2 and scale.shape[0] == scale.shape[1])
        require(agrees, f"an array has the shape {scale.shape}")
        require(bool(np.isfinite(scale).all()), "an array has values that are not finite")
        require(scale.ndim == 2 or not (scale < 0.0).any(), "an array has values out of range")
        return scale


def _check_calibration(calibration: Calibration) -> None:
    require(len(calibration.scale) == calibration.offset.size, "a scale has no offset")


CALIBRATION = Record(Calibration, {"scale": _Scale(), "offset": Numbers("f8", (None,))}, _check_calibration)


def probabilities(log_odds: Any) -> Any:
    """Probabilities of the classes, ``(n_rows, n_classes)``, from log-odds ``(n_rows,)`` or ``(n_rows, n_classes)``.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities(np.array([0.0, np.log(3.0)]))
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    if isinstance(log_odds, np.ndarray):
        return softmax(log_odds, axis=1) if log_odds.ndim == 2 else np.column_stack([expit(-log_odds), expit(log_odds)])
    if is_dask(log_odds):
        if log_odds.ndim == 2:
            return log_odds.map_blocks(probabilities, dtype=np.float64)
        return log_odds.map_blocks(
            probabilities, dtype=np.float64, new_axis=1, chunks=(log_odds.chunks[0], (2,)), meta=np.empty((0, 2))
        )
    namespace = namespace_of(log_odds)
    if log_odds.ndim == 1:
        log_odds = namespace.stack([-0.5 * log_odds, 0.5 * log_odds], axis=1)
    powers = namespace.exp(log_odds - namespace.max(log_odds, axis=1, keepdims=True))
    return powers / namespace.sum(powers, axis=1, keepdims=True)


def calibrate(
    decisions: Float2D, codes: Int1D, weights: Float1D | None = None, *, reach: float = _REACH
) -> Calibration:
    """The calibration of held-out decisions ``(n_rows, n_scores)`` with the largest likelihood of the labels.

    As Platt (1999) does, the labels count as slightly uncertain, here by 0.001. Decisions for two classes count as
    ``reach`` at most: the few rows far beyond the margin would move the threshold.
    """
    return calibrate_to(_uncertain_labels(codes, decisions.shape[1]), decisions, weights, reach=reach)


def calibrate_to(
    target: Float2D, decisions: Float2D, weights: Float1D | None = None, *, reach: float = _REACH
) -> Calibration:
    """Calibrate decisions to given probabilities by the smallest cross-entropy.

    ``target`` has the probability of the second class, or one column for each of three or more classes.

    Examples
    --------
    >>> decisions = np.linspace(-1.0, 1.0, 9)[:, None]
    >>> known = Calibration(np.array([2.0]), np.array([0.5]))
    >>> found = calibrate_to(expit(known(decisions)), 10.0 * decisions, reach=10.0)
    >>> [float(number.round(4)[0]) for number in found]
    [0.2, 0.5]
    """
    k = decisions.shape[1]
    decisions = decisions if k > 1 else np.clip(decisions, -reach, reach)
    units, size, weights = _in_units(decisions, weights)

    def loss(point: Float1D) -> tuple[float, Float1D]:
        value, residual = _log_loss(units * point[:k] + point[k:], target, weights)
        return value, np.append((residual * units).sum(axis=0), residual.sum(axis=0))

    start = np.append(np.ones(k), np.zeros(k))
    bounds = [(_LEAST, None)] * k + [(None, None)] * k  # no decision is turned around
    point = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(point[:k] / size, point[k:] - point[k:].mean() if k > 1 else point[k:])


def mix_decisions(
    calibration: Calibration, decisions: Float2D, codes: Int1D, weights: Float1D | None = None, *, n_rows: int
) -> Calibration:
    """The calibration of three or more classes with the largest likelihood whose log-odds mix all decisions.

    A plane against the rest cannot cut out a class that lies between two others; the planes of the two together can.
    With decisions in units of their root mean square, it minimises

        mean of -log p(label) + |M - diag(scale)|^2 / (2 n_rows)

    over the matrix M and the offsets, from a ``calibration`` with a ``scale`` for each class: what the rows do not tell
    stays as it is. ``n_rows`` counts different rows: folds that repeat know no more.
    """
    units, size, weights = _in_units(decisions, weights)
    units = np.column_stack([units, np.ones(len(codes))])
    target = _uncertain_labels(codes, decisions.shape[1])
    start = np.column_stack([np.diag(calibration.scale * size), calibration.offset])

    def loss(flat: Float1D) -> tuple[float, Float1D]:
        change = flat.reshape(start.shape) - start
        change[:, -1] = 0.0
        value, residual = _log_loss(units @ flat.reshape(start.shape).T, target, weights)
        return value + 0.5 * float((change**2).sum()) / n_rows, (residual.T @ units + change / n_rows).ravel()

    matrix = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B").x.reshape(start.shape)
    return Calibration(np.ascontiguousarray(matrix[:, :-1] / size), matrix[:, -1] - matrix[:, -1].mean())


def _in_units(decisions: Float2D, weights: Float1D | None) -> tuple[Float2D, Float1D, Float1D]:
    """Decisions in units of their root mean square, these units, and weights with the sum 1."""
    weights = np.ones(len(decisions)) if weights is None else weights
    weights = weights / weights.sum()
    size = np.maximum(np.sqrt(weights @ decisions**2), TINY)
    return decisions / size, size, weights


def _uncertain_labels(codes: Int1D, n_scores: int) -> Float2D:
    """The probability of the class of each score for every row; for a single score, that of the second class."""
    if n_scores == 1:
        return np.where(codes == 1, 1.0 - _UNCERTAIN, _UNCERTAIN)[:, None]
    target = np.full((len(codes), n_scores), _UNCERTAIN / (n_scores - 1))
    target[np.arange(len(codes)), codes] = 1.0 - _UNCERTAIN
    return target


def _log_loss(log_odds: Float2D, target: Float2D, weights: Float1D) -> tuple[float, Float2D]:
    """The mean negative log-likelihood of uncertain labels, and its gradient in the log-odds of every row."""
    if log_odds.shape[1] == 1:
        losses = np.logaddexp(0.0, log_odds) - target * log_odds
        return float(weights @ losses[:, 0]), weights[:, None] * (expit(log_odds) - target)
    logs = log_softmax(log_odds, axis=1)
    return -float(weights @ (target * logs).sum(axis=1)), weights[:, None] * (np.exp(logs) - target)
