"""How good decisions are, class by class: accuracy beside what uneven classes hide, and curves over all thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...constants import EPS, IN_REPR
from ...rows.labels import as_vector, best_labels

__all__ = ["Rates", "Thresholds", "area_under_roc", "counts_by_score", "rates_of"]

_STEPS = 7200  # of a histogram of scores: a hundredth of log-odds each
_REACH = -math.log(EPS)  # log-odds that it covers: a probability beyond is 1 to the last bit


class Rates(NamedTuple):
    """Shares of rows that are predicted right, and the area under the ROC curve.

    Attributes
    ----------
    accuracy : float
    balanced_accuracy : float
        Mean of the recalls.
    area_under_roc : float
        Of two classes; of more, the mean of each against the rest.
    recalls, counts : ndarray of shape (n_classes,)
        Share of the rows of each class that are found, NaN without rows; and the number of its rows.
    """

    accuracy: float
    balanced_accuracy: float
    area_under_roc: float
    recalls: Float1D
    counts: Float1D

    @property
    def uneven(self) -> bool:
        """Whether a class has twice the rows of another one, so that accuracy says little about it."""
        return bool(self.counts.max() >= 2.0 * self.counts.min())

    def details(self, classes: Any) -> dict[str, Any]:
        """What to show beside the accuracy, by its name."""
        commonest = int(np.argmax(self.counts))
        shown = {"area_under_roc": self.area_under_roc, "balanced_accuracy": self.balanced_accuracy}
        shown["share_of_commonest_class"] = float(self.counts[commonest] / self.counts.sum())
        return shown | {"recall": {str(c): float(r) for c, r in zip(classes, self.recalls, strict=True) if r == r}}

    def to_text(self, classes: Any) -> str:
        """One line beside the accuracy, the classes with the least recall first.

        Examples
        --------
        >>> rates = Rates(0.95, 0.55, 0.801, np.array([0.99, 0.11]), np.array([950.0, 50.0]))
        >>> rates.to_text(["no", "yes"])
        "95.0% of the rows are 'no'; AUC 0.801, balanced accuracy 55.0%, recall 11.0% of 'yes', 99.0% of 'no'"
        """
        commonest = int(np.argmax(self.counts))
        order = np.argsort(self.recalls, kind="stable")[: IN_REPR + 1]
        order = order[~np.isnan(self.recalls[order])]
        found = [f"{self.recalls[k]:.1%} of {str(classes[k])!r}" for k in order[:IN_REPR]]
        more = " ..." if len(order) > IN_REPR else ""
        return (
            f"{self.counts[commonest] / self.counts.sum():.1%} of the rows are {str(classes[commonest])!r}; "
            f"AUC {self.area_under_roc:.3f}, balanced accuracy {self.balanced_accuracy:.1%}, "
            f"recall {', '.join(found)}{more}"
        )


def rates_of(decisions: Float2D, codes: Int1D) -> Rates:
    """The rates of decisions ``(n_rows, n_scores)`` about rows of known classes.

    Examples
    --------
    >>> rates_of(np.array([[-1.0], [2.0], [-3.0], [-0.5]]), np.array([0, 1, 0, 1]))
    Rates(accuracy=0.75, balanced_accuracy=0.75, area_under_roc=1.0, recalls=array([1. , 0.5]), counts=array([2., 2.]))
    """
    n_classes = max(decisions.shape[1], 2)
    right = best_labels(as_vector(decisions), np.arange(n_classes)) == codes
    counts = np.bincount(codes, minlength=n_classes).astype(np.float64)
    with np.errstate(invalid="ignore"):
        recalls = np.bincount(codes, right, n_classes) / counts
    scores = decisions.T if decisions.shape[1] > 1 else [-decisions[:, 0], decisions[:, 0]]
    areas = [area_under_roc(score, codes == k) for k, score in enumerate(scores) if 0 < counts[k] < len(codes)]
    area = float(np.mean(areas)) if areas else float("nan")
    return Rates(float(right.mean()), float(np.nanmean(recalls)), area, recalls, counts)


def area_under_roc(scores: Float1D, positive: Bool1D) -> float:
    """The probability that a positive row has a higher score than a negative one; ties count half."""
    n = int(positive.sum())
    return float((rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n)))


def counts_by_score(log_odds: Float1D, positive: Bool1D) -> Array:
    """How many negative and positive rows there are by their log-odds, in steps of a hundredth; they can be added."""
    place = np.clip((log_odds + _REACH) * (_STEPS / (2.0 * _REACH)), -1.0, _STEPS).astype(np.int64) + 1
    return np.stack([np.bincount(place[positive == side], minlength=_STEPS + 2) for side in (False, True)])


@dataclass(frozen=True)
class Thresholds:
    """What each threshold on the log-odds gives: rows above it, of both sides, from the highest to the lowest."""

    log_odds: Float1D
    false: Float1D
    true: Float1D

    @classmethod
    def of(cls, counts: Array) -> Thresholds:
        """From :func:`counts_by_score`."""
        edges = np.linspace(-_REACH, _REACH, _STEPS + 1)
        false, true = np.cumsum(counts[:, ::-1], axis=1)
        used = np.ones(len(false), dtype=bool)
        used[1:] = counts.sum(axis=0)[::-1][1:] > 0
        start = np.zeros(1)
        return cls(
            np.concatenate([[np.inf], edges[::-1], [-np.inf]])[np.concatenate([[True], used])],
            np.concatenate([start, false[used]]),
            np.concatenate([start, true[used]]),
        )

    def above(self, log_odds: float) -> tuple[float, float]:
        """How many negative and positive rows lie above a threshold."""
        last = int(np.searchsorted(-self.log_odds, -log_odds, side="right")) - 1
        return float(self.false[last]), float(self.true[last])

    @property
    def area_under_roc(self) -> float:
        """The area under the curve of the shares of positive and of negative rows."""
        rates = self.true / max(self.true[-1], 1.0), self.false / max(self.false[-1], 1.0)
        return float(np.trapezoid(*rates))

    @property
    def average_precision(self) -> float:
        """The mean of the precision over the positive rows."""
        precision = self.true[1:] / np.maximum(self.true[1:] + self.false[1:], 1.0)
        return float(np.diff(self.true) @ precision / max(self.true[-1], 1.0))
