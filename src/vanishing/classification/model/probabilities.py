"""From decisions to probabilities: a logistic model of held-out decisions, which levels off beyond the margin."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from ..._typing import Float1D, Float2D, Int1D
from ...files.container import ArrayReader, ArrayWriter
from ...files.fields import Field, Numbers, Record, require
from ...rows.array_api import namespace_of, on_device_of
from ...rows.reading import is_dask

__all__ = ["CALIBRATION", "ROUGHLY", "Calibration", "calibrate", "mix_decisions", "probabilities"]

ROUGHLY = 1e-5  # of the log-likelihood, to which decisions are calibrated where models are compared
_UNCERTAIN = 1e-3  # probability that a label is wrong
_LEAST_SCALE = 1e-3  # of decisions of mean square 1: none is turned around
_RIDGE = 1e-9  # added to a Hessian that a common offset leaves singular
_MOST_STEPS = 100
_MOST_MIXING = 200  # steps of L-BFGS
_ROUNDING = 1e-14  # of the likelihood, in which its changes are lost
_REACH = 1.5  # decisions of two classes beyond which rows are no more certain; the SVM asks for 1
_NO_TIE = 1e-3  # log-odds that probabilities reach at least on either side, so that they agree with the labels


class Calibration(NamedTuple):
    """Decisions ``d`` become log-odds ``scale * d + offset``, one pair of numbers for each column of decisions.

    The log-odds of three or more classes may mix the decisions of all: then ``scale`` is a matrix, and they are
    ``scale @ d + offset``.

    For more than two classes the probabilities are the softmax of the log-odds. For two classes the probability of the
    second is the logistic function of the log-odds, which are kept to those of ``|d| <= 1.5``: the SVM asks for a
    margin of 1, and how far a row lies beyond it says little, but can be very far where polynomials grow.
    """

    scale: Float1D
    offset: Float1D

    def __call__(self, decisions: Any) -> Any:
        """The log-odds, of the shape of the decisions ``(n_rows, n_scores)``."""
        scale, offset = on_device_of(decisions, self.scale), on_device_of(decisions, self.offset)
        return decisions * scale + offset if scale.ndim == 1 else decisions @ scale.T + offset

    def of_planes(self, coef: Float2D, intercept: Float1D) -> tuple[Float2D, Float1D]:
        """The weights and intercepts of the log-odds, from those of the decisions."""
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
        return min(centre - reach, -_NO_TIE), max(centre + reach, _NO_TIE)

    def limited(self, log_odds: Any) -> Any:
        """The log-odds that the probabilities are made of."""
        return log_odds if self.offset.size > 1 else _clip(log_odds, *self.limits)


def _clip(values: Any, low: float, high: float) -> Any:
    if isinstance(values, np.ndarray) or is_dask(values):
        return values.clip(low, high)
    return namespace_of(values).clip(values, low, high)


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
    decisions: Float2D,
    codes: Int1D,
    weights: Float1D | None = None,
    *,
    reach: float = _REACH,
    tol: float = _ROUNDING,
) -> Calibration:
    """The calibration of held-out decisions ``(n_rows, n_scores)`` with the largest likelihood of the labels.

    Newton steps end where the next one promises less than ``tol`` of the log-likelihood.

    As Platt (1999) does, the labels count as slightly uncertain, here by 0.001, so that the scale stays finite where
    the decisions separate the classes. Decisions for two classes count as ``reach`` at most: the few rows far beyond
    the margin would move the threshold.
    """
    n_scores = decisions.shape[1]
    decisions = decisions if n_scores > 1 else np.clip(decisions, -reach, reach)
    weights = np.ones(len(codes)) if weights is None else weights
    weights = weights / weights.sum()
    size = np.maximum(np.sqrt(weights @ decisions**2), 1e-300)
    units = decisions / size
    point = np.concatenate([np.ones(n_scores), np.zeros(n_scores)])  # scales, then offsets
    value, slope, curvature = _likelihood(point, units, codes, weights)
    lowest = np.concatenate([np.full(n_scores, _LEAST_SCALE), np.full(n_scores, -np.inf)])
    for _ in range(_MOST_STEPS):
        free = np.flatnonzero((point > lowest) | (slope < 0.0))  # the others stay at their bound
        step = np.zeros(point.size)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)] + _RIDGE * np.eye(free.size), -slope[free])
        if -float(slope @ step) <= tol * value:  # the likelihood cannot tell
            break
        length = 1.0
        while True:
            moved = np.maximum(point + length * step, lowest)
            there = _likelihood(moved, units, codes, weights)
            if there[0] <= value or length < 1e-6:
                break
            length *= 0.5
        done = np.abs(moved - point).max() <= 1e-12 * np.abs(moved).max() or there[0] > value
        if there[0] <= value:
            point, (value, slope, curvature) = moved, there
        if done:
            break
    offset = point[n_scores:]
    return Calibration(point[:n_scores] / size, offset - offset.mean() if n_scores > 1 else offset)


def mix_decisions(
    calibration: Calibration, decisions: Float2D, codes: Int1D, weights: Float1D | None = None, *, n_rows: int
) -> Calibration:
    """The calibration of three or more classes with the largest likelihood whose log-odds mix all decisions.

    A plane against the rest cannot cut out a class that lies between two others; a combination of the planes of these
    can. With decisions in units of their root mean square, it minimises

        mean of -log p(label) + |M - diag(scale)|^2 / (2 n_rows)

    over the matrix M and the offsets, from a ``calibration`` with a ``scale`` for each class: what the rows do not tell
    stays as it is. ``n_rows`` are those that differ: folds that repeat know no more.
    """
    n_scores = decisions.shape[1]
    weights = np.ones(len(codes)) if weights is None else weights
    weights = weights / weights.sum()
    size = np.maximum(np.sqrt(weights @ decisions**2), 1e-300)
    units = np.column_stack([decisions / size, np.ones(len(codes))])
    target = _uncertain_labels(codes, n_scores)
    start = np.column_stack([np.diag(calibration.scale * size), calibration.offset])

    def loss(flat: Float1D) -> tuple[float, Float1D]:
        matrix = flat.reshape(start.shape)
        change = matrix - start
        change[:, -1] = 0.0
        logs = log_softmax(units @ matrix.T, axis=1)
        residual = weights[:, None] * (np.exp(logs) - target)
        value = -float(weights @ (target * logs).sum(axis=1)) + 0.5 * float((change**2).sum()) / n_rows
        return value, (residual.T @ units + change / n_rows).ravel()

    mixed = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _MOST_MIXING})
    matrix = mixed.x.reshape(start.shape)
    offset = matrix[:, -1]
    return Calibration(np.ascontiguousarray(matrix[:, :-1] / size), offset - offset.mean())


def _uncertain_labels(codes: Int1D, n_classes: int) -> Float2D:
    target = np.full((len(codes), n_classes), _UNCERTAIN / (n_classes - 1))
    target[np.arange(len(codes)), codes] = 1.0 - _UNCERTAIN
    return target


def _likelihood(point: Float1D, units: Float2D, codes: Int1D, weights: Float1D) -> tuple[float, Float1D, Float2D]:
    """The mean negative log-likelihood of uncertain labels, its gradient and its Hessian, in scales and offsets."""
    n_scores = units.shape[1]
    if n_scores == 1:
        return _likelihood_of_two(point, units[:, 0], codes, weights)
    log_odds = units * point[:n_scores] + point[n_scores:]
    target = _uncertain_labels(codes, n_scores)
    logs = log_softmax(log_odds, axis=1)
    given = np.exp(logs)
    residual = weights[:, None] * (given - target)
    slope = np.concatenate([(residual * units).sum(axis=0), residual.sum(axis=0)])
    both = np.concatenate([given * units, given], axis=1)
    weighted = weights[:, None] * both
    curvature = -weighted.T @ both
    of_scales, of_offsets = np.arange(n_scores), np.arange(n_scores, 2 * n_scores)
    mixed = weighted[:, :n_scores].sum(axis=0)
    curvature[of_scales, of_scales] += (weighted[:, :n_scores] * units).sum(axis=0)
    curvature[of_offsets, of_offsets] += weighted[:, n_scores:].sum(axis=0)
    curvature[of_scales, of_offsets] += mixed
    curvature[of_offsets, of_scales] += mixed
    value = -float(weights @ (target * logs).sum(axis=1))
    return value, slope, curvature


def _likelihood_of_two(
    point: Float1D, units: Float1D, codes: Int1D, weights: Float1D
) -> tuple[float, Float1D, Float2D]:
    """The same for two classes, of which the second alone has parameters."""
    log_odds = units * point[0] + point[1]
    target = np.where(codes == 1, 1.0 - _UNCERTAIN, _UNCERTAIN)
    given = expit(log_odds)
    residual, spread = weights * (given - target), weights * given * (1.0 - given)
    mixed = float(spread @ units)
    curvature = np.array([[float(spread @ units**2), mixed], [mixed, float(spread.sum())]])
    value = float(weights @ (np.logaddexp(0.0, log_odds) - target * log_odds))
    return value, np.array([float(residual @ units), float(residual.sum())]), curvature
