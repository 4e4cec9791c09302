"""From decisions to probabilities: a logistic model of held-out decisions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from .._typing import Float1D, Float2D, Int1D
from ..files.fields import Numbers, Record
from ..rows.array_api import namespace_of, on_device_of

__all__ = ["CALIBRATION", "Calibration", "calibrate", "probabilities"]


class Calibration(NamedTuple):
    """Decisions ``d`` become log-odds ``scale * d + offset``, one pair of numbers for each column of decisions.

    For two classes the probability of the second is the logistic function of the log-odds, for more classes the
    probabilities are the softmax of the log-odds.
    """

    scale: Float1D
    offset: Float1D

    def __call__(self, decisions: Any) -> Any:
        """The log-odds, of the shape of the decisions ``(n_rows, n_scores)``."""
        return decisions * on_device_of(decisions, self.scale) + on_device_of(decisions, self.offset)


CALIBRATION = Record(Calibration, {"scale": Numbers("f8", (None,), low=0.0), "offset": Numbers("f8", (None,))})


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
    namespace = namespace_of(log_odds)
    if log_odds.ndim == 1:
        log_odds = namespace.stack([-0.5 * log_odds, 0.5 * log_odds], axis=1)
    powers = namespace.exp(log_odds - namespace.max(log_odds, axis=1, keepdims=True))
    return powers / namespace.sum(powers, axis=1, keepdims=True)


def calibrate(decisions: Float2D, codes: Int1D, weights: Float1D | None = None) -> Calibration:
    """The calibration of held-out decisions ``(n_rows, n_scores)`` with the largest likelihood of the labels.

    As Platt (1999) does, the labels count as slightly uncertain, ``(n + 1) / (n + K)`` for a class of n rows among K,
    so that the scale stays finite where the decisions separate the classes.
    """
    n_scores = decisions.shape[1]
    n_classes = max(n_scores, 2)
    weights = np.ones(len(codes)) if weights is None else weights
    count = np.bincount(codes, minlength=n_classes).astype(np.float64)
    target = np.repeat((1.0 / (count + n_classes))[codes][:, None], n_classes, axis=1)
    target[np.arange(len(codes)), codes] = ((count + 1.0) / (count + n_classes))[codes]
    size = np.maximum(np.sqrt(np.mean(decisions**2, axis=0)), 1e-300)
    unit = decisions / size
    total = weights.sum()

    def loss(parameters: Float1D) -> tuple[float, Float1D]:
        scale, offset = np.exp(parameters[:n_scores]), parameters[n_scores:]
        log_odds = unit * scale + offset
        both = np.hstack([-0.5 * log_odds, 0.5 * log_odds]) if n_scores == 1 else log_odds
        logs = log_softmax(both, axis=1)
        slope = weights[:, None] * (np.exp(logs) - target)
        if n_scores == 1:
            slope = 0.5 * (slope[:, 1:] - slope[:, :1])
        value = -float(weights @ (target * logs).sum(axis=1)) / total
        gradient = np.concatenate([(slope * unit).sum(axis=0) * scale, slope.sum(axis=0)]) / total
        return value, gradient

    start = np.zeros(2 * n_scores)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(-8.0, 8.0)] * n_scores + [(-50.0, 50.0)] * n_scores
    )
    scale = np.exp(found.x[:n_scores]) / size
    offset = found.x[n_scores:]
    return Calibration(scale, offset - offset.mean() if n_scores > 1 else offset)
