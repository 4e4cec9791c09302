"""How good decisions are on rows, class by class and over all thresholds; and what a fit notes about its own rows."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...constants import EPS, IN_HTML, IN_REPR, IN_TEXT
from ...files.fields import Integer, Number, Numbers, Record, require
from ...rows.arrays import ArrayRows
from ...rows.labels import as_vector, best_labels
from ...svm import L1SVC, svms_along
from .fitting import CHOOSING_TOL, SAMPLE_ROWS

_STEPS = 7200  # bins of a histogram of scores: a hundredth of log-odds each
_REACH = -math.log(EPS)  # log-odds that it covers: a probability beyond is 1 to the last bit


class Rates(NamedTuple):
    """Shares of rows that are predicted right, and the area under the ROC curve.

    Attributes
    ----------
    accuracy : float
    balanced_accuracy : float
        Mean of the recalls.
    area_under_roc : float
        For three and more classes, the mean over the classes of each against the rest.
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
    right = hits(decisions, codes)
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


_SHORTER = (IN_REPR, IN_TEXT, IN_HTML)  # terms of a formula that is offered
_POINT = 0.01  # share of its score that a shorter formula may lose


class Rehearsal(NamedTuple):
    """Facts about the rows of the fit, or about 10,000 of them.

    ``n_kept`` of the largest terms alone, the others at their means, are right as often as all, within one standard
    error; ``n_printed`` of them alone are right on ``printed``. A formula of ``n_shorter`` terms, fitted again, loses
    ``lost`` of the accuracy, or of the area under the ROC curve where classes are uneven; it is 0 where none is near.
    """

    accuracy: float
    balanced_accuracy: float
    area_under_roc: float
    recalls: Array
    counts: Array
    n_kept: int
    n_printed: int
    printed: float
    n_shorter: int
    lost: float

    @property
    def rates(self) -> Rates:
        """The rates of all terms."""
        return Rates(*self[:5])

    def lines(self, classes: Any, n_terms: int) -> list[str]:
        """What to say below a printed formula."""
        said = f"right on {self.accuracy:.1%} of the training rows"
        if self.n_printed < n_terms:
            said += f", with the {self.n_printed} printed terms alone on {self.printed:.1%}"
        if self.n_kept > self.n_printed:
            said += f"; the largest {self.n_kept} keep the score"
        lines = [said]
        if self.rates.uneven:
            lines.append(self.rates.to_text(classes))
        if self.n_shorter:
            measure = " of the AUC" if self.rates.uneven else ""
            points = f"lose {100.0 * self.lost:.1f} points{measure}" if self.lost >= 0.0005 else "are as good"
            lines.append(f"{self.n_shorter} terms, fitted again, {points}: max_columns={self.n_shorter}")
        return lines


_SHARE, _SHARES = Number(finite=False), Numbers("f8", (None,), low=0.0, finite=False)
REHEARSAL = Record(
    Rehearsal,
    {
        "accuracy": _SHARE,
        "balanced_accuracy": _SHARE,
        "area_under_roc": _SHARE,
        "recalls": _SHARES,
        "counts": Numbers("f8", (None,), low=0.0),
        "n_kept": Integer(low=0),
        "n_printed": Integer(low=0),
        "printed": _SHARE,
        "n_shorter": Integer(low=0),
        "lost": _SHARE,
    },
    lambda noted: require(noted.recalls.size == noted.counts.size > 0, "a class has no recall"),
)


def rehearse(model: Any, rows: ArrayRows) -> Rehearsal | None:
    """The facts about labelled rows in the unit cube, for a classifier with the built-in SVM."""
    if not isinstance(model.final_estimator_, L1SVC) or rows.labels is None:
        return None
    thin = slice(None, None, -(-len(rows) // SAMPLE_ROWS))
    codes = np.asarray(rows.labels[thin])
    coef, intercept = model._planes
    columns = model._used_map.over(ArrayRows(rows.X[thin], n_jobs=model.n_jobs))
    decisions = columns @ coef.T + intercept
    rates, right = rates_of(decisions, codes), hits(decisions, codes)
    order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
    mean = columns.mean(axis=0)
    n_terms, n_kept, k = len(order), len(order), IN_TEXT
    shares = {}
    while k < n_terms:  # in steps of a quarter
        alone = hits(intercept + mean @ coef.T + (columns - mean)[:, order[:k]] @ coef[:, order[:k]].T, codes)
        shares[k] = float(alone.mean())
        lost = right.astype(np.float64) - alone
        if lost.mean() <= np.sqrt((lost**2).mean() / len(lost)):
            n_kept = k
            break
        k = k * 5 // 4
    n_printed = n_kept if n_kept <= 3 * IN_TEXT else IN_TEXT
    printed = shares.get(n_printed, rates.accuracy)
    weights = None if rows.sample_weight is None else rows.sample_weight[thin]
    offer = _shorter(model, columns[:, order], codes, weights, min(n_kept, n_terms - 1))
    return Rehearsal(*rates, n_kept, n_printed, printed, *offer)


def hits(decisions: Float2D, codes: Int1D) -> Bool1D:
    """The rows whose class has the best decision."""
    return np.asarray(best_labels(as_vector(decisions), np.arange(max(decisions.shape[1], 2))) == codes)


def _shorter(model: Any, columns: Float2D, codes: Int1D, weights: Any, most: int) -> tuple[int, float]:
    """The number of terms of the shortest formula that loses less than a point, fitted to the first columns again."""
    svm = model.final_estimator_
    full = svm.coef_[:, (svm.coef_ != 0.0).any(axis=0)]
    order = np.argsort(-np.abs(model._planes[0]).max(axis=0), kind="stable")
    before = _score(columns @ full[:, order].T + svm.intercept_, codes)
    options, signs = {"tol": CHOOSING_TOL, "n_jobs": model.n_jobs}, model._used_map.signs(model.monotone)[order]
    for k in _SHORTER:
        if k > most:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            (again,) = svms_along(columns[:, :k], codes, model.classes_, [model.C], weights, signs=signs[:k], **options)
        lost = before - _score(columns[:, :k] @ again.coef_.T + again.intercept_, codes)
        if lost < _POINT:
            return k, float(max(lost, 0.0))
    return 0, 0.0


def _score(decisions: Float2D, codes: Int1D) -> float:
    rates = rates_of(decisions, codes)
    return rates.area_under_roc if rates.uneven else rates.accuracy
