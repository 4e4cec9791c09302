"""What a fit notes about its own rows: rates, how few terms keep them, and a shorter formula that nearly does."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._typing import Array, Bool1D, Float2D, Int1D
from ...constants import IN_HTML, IN_REPR, IN_TEXT
from ...files.fields import Integer, Number, Numbers, Record, require
from ...rows.arrays import ArrayRows
from ...rows.labels import as_vector, best_labels
from ...svm import L1SVC
from .fitting import CHOOSING_TOL, SAMPLE_ROWS
from .rates import Rates, rates_of

__all__ = ["REHEARSAL", "Rehearsal", "rehearse"]

_SHORTER = (IN_REPR, IN_TEXT, IN_HTML)  # terms of a formula that is offered
_POINT = 0.01  # of its score, which it may lose


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
            points = f"{100.0 * self.lost:.1f} points{measure} less" if self.lost >= 0.0005 else "as good"
            lines.append(f"{self.n_shorter} terms, fitted again: {points}: max_columns={self.n_shorter}")
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
    rates, hits = rates_of(decisions, codes), _hits(decisions, codes)
    order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
    mean = columns.mean(axis=0)
    n_terms, n_kept = len(order), len(order)
    shares = {}
    for k in _ladder(n_terms):
        alone = _hits(intercept + mean @ coef.T + (columns - mean)[:, order[:k]] @ coef[:, order[:k]].T, codes)
        shares[k] = float(alone.mean())
        lost = hits.astype(np.float64) - alone
        if lost.mean() <= np.sqrt((lost**2).mean() / len(lost)):
            n_kept = k
            break
    n_printed = n_kept if n_kept <= 3 * IN_TEXT else IN_TEXT
    printed = shares.get(n_printed, rates.accuracy)
    weights = None if rows.sample_weight is None else rows.sample_weight[thin]
    offer = _shorter(model, columns[:, order], codes, weights, min(n_kept, n_terms - 1))
    return Rehearsal(*rates, n_kept, n_printed, printed, *offer)


def _hits(decisions: Float2D, codes: Int1D) -> Bool1D:
    return np.asarray(best_labels(as_vector(decisions), np.arange(max(decisions.shape[1], 2))) == codes)


def _ladder(n_terms: int) -> list[int]:
    """Numbers of terms to try, in steps of a quarter."""
    steps = [IN_TEXT]
    while steps[-1] < n_terms:
        steps.append(steps[-1] * 5 // 4)
    return steps[:-1]


def _shorter(model: Any, columns: Float2D, codes: Int1D, weights: Any, most: int) -> tuple[int, float]:
    """The number of terms of the shortest formula that loses less than a point, fitted to the first columns again."""
    svm = model.final_estimator_
    full = svm.coef_[:, (svm.coef_ != 0.0).any(axis=0)]
    order = np.argsort(-np.abs(model._planes[0]).max(axis=0), kind="stable")
    before = _score(columns @ full[:, order].T + svm.intercept_, codes)
    for k in _SHORTER:
        if k > most:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            again = L1SVC(model.C, tol=CHOOSING_TOL, n_jobs=model.n_jobs).fit(columns[:, :k], codes, weights)
        lost = before - _score(columns[:, :k] @ again.coef_.T + again.intercept_, codes)
        if lost < _POINT:
            return k, float(max(lost, 0.0))
    return 0, 0.0


def _score(decisions: Float2D, codes: Int1D) -> float:
    rates = rates_of(decisions, codes)
    return rates.area_under_roc if rates.uneven else rates.accuracy
