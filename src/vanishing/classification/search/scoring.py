"""Scores of trials from decisions about held-out rows, and of models from tables of predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...constants import TINY
from ...rows.arrays import ArrayRows
from ...rows.labels import as_vector, best_labels
from ...svm import L1SVC
from ..model.probabilities import Calibration, calibrate, mix_decisions, probabilities
from ..model.rates import hits
from .strategies import TrialScore


@dataclass(frozen=True)
class HeldOut:
    """The test rows of every fold: places, numbers of the classes, and weights in the score and in the fit, if any."""

    classes: Array
    places: list[Int1D]
    codes: list[Int1D]
    weights: list[Float1D | None]
    fit_weights: list[Float1D] | None

    @classmethod
    def of(cls, rows: ArrayRows, classes: Array, fit_weights: Float1D | None, places: list[Int1D]) -> HeldOut:
        """The rows at some places, fold by fold; their labels are the numbers of the classes."""
        codes, weights = rows.labels, rows.sample_weight
        assert codes is not None
        return cls(
            classes,
            places,
            [codes[own] for own in places],
            [None if weights is None else weights[own] for own in places],
            None if fit_weights is None else [fit_weights[own] for own in places],
        )

    def together(self, decisions: Sequence[Float2D]) -> tuple[Float2D, Int1D, Float1D | None]:
        """Decisions, numbers of classes and weights in the fit of all folds."""
        weights = None if self.fit_weights is None else np.concatenate(self.fit_weights)
        return np.concatenate(decisions), np.concatenate(self.codes), weights

    def by_row(self, values: Sequence[Float1D | Bool1D]) -> tuple[Float1D, Float1D]:
        """The mean value of every row over the folds that held it out, and its weight."""
        places = np.concatenate(self.places)
        times, sums = np.bincount(places), np.bincount(places, np.concatenate(values))
        weights = [np.ones(len(own)) if w is None else w for own, w in zip(values, self.weights, strict=True)]
        used = np.flatnonzero(times)
        return sums[used] / times[used], np.bincount(places, np.concatenate(weights))[used] / times[used]


@dataclass(frozen=True)
class Criterion:
    """How trials are scored, and what they are ranked by.

    Parameters
    ----------
    scorer : callable or None
        A scorer of scikit-learn; None stands for accuracy.
    calibrated : bool
        Whether decisions become log-odds before they are scored.
    by_probabilities : bool
        Rank by the Brier score, the mean squared error of the probabilities of the held-out rows, in place of the
        score: it also tells models apart that give the same labels, and no single row can decide.
    """

    scorer: Callable[..., float] | None = None
    calibrated: bool = True
    by_probabilities: bool = False

    def judge(self, rows: HeldOut, decisions: Sequence[Float2D]) -> TrialScore:
        """The scores of the folds and the values of the rows, from the decisions of each fold."""
        calibration = calibrate(*rows.together(decisions)) if self.calibrated else None
        answers = decisions if calibration is None else [calibration(own) for own in decisions]
        right = [hits(own, codes) for own, codes in zip(answers, rows.codes, strict=True)]
        if self.scorer is None:
            found = [float(np.average(own, weights=each)) for own, each in zip(right, rows.weights, strict=True)]
        else:
            by_fold = zip(answers, rows.codes, rows.weights, strict=True)
            found = [
                answered_score(self.scorer, rows.classes, calibration, own, rows.classes[codes], weights)
                for own, codes, weights in by_fold
            ]
        scores = np.array(found, dtype=np.float64)
        value = float(scores.mean())
        if self.by_probabilities:
            assert calibration is not None
            pairs = zip(decisions, rows.codes, strict=True)
            values, weights = rows.by_row([_closeness(calibration, own, codes) for own, codes in pairs])
            value = float(np.average(values, weights=weights))
        elif self.scorer is None:
            values, weights = rows.by_row(right)
        else:
            values, weights = scores, np.ones(len(scores))
        return TrialScore(scores, value, values, weights, decisions=tuple(decisions), calibration=calibration)

    @staticmethod
    def judge_folds(scores: Float1D) -> TrialScore:
        """The judgement of a score that does not tell rows apart."""
        return TrialScore(scores, float(scores.mean()), scores, np.ones(len(scores)))


def _closeness(calibration: Calibration, decisions: Float2D, codes: Int1D) -> Float1D:
    """Minus the squared distance of the probabilities of every row from its label, ``-sum_k (p_k - [k = label])^2``."""
    given = probabilities(as_vector(calibration.limited(calibration(decisions))))
    return np.asarray(2.0 * given[np.arange(len(codes)), codes] - 1.0 - (given**2).sum(axis=1))


def _log_likelihoods(calibration: Calibration, decisions: Float2D, codes: Int1D) -> Float1D:
    given = probabilities(as_vector(calibration.limited(calibration(decisions))))[np.arange(len(codes)), codes]
    return np.asarray(np.log(np.maximum(given, TINY)))


def mixed_if_better(calibration: Calibration, rows: HeldOut, decisions: Sequence[Float2D]) -> Calibration:
    """A calibration of three or more classes that mixes their decisions, if that pays; else the given one.

    Each half of the rows is calibrated by the other half: the labels must be likelier by more than one standard error
    of the mean difference.
    """
    places = np.concatenate(rows.places)
    half = np.random.default_rng(0).permutation(int(places.max()) + 1)[places] % 2
    all_decisions, codes, weights = rows.together(decisions)
    gain = np.empty(len(codes))
    for other in (0, 1):
        there, here = half == other, half != other
        own = None if weights is None else weights[there]
        if np.unique(codes[there]).size < len(rows.classes):
            return calibration
        plain = calibrate(all_decisions[there], codes[there], own)
        mixed = mix_decisions(plain, all_decisions[there], codes[there], own, n_rows=np.unique(places[there]).size)
        gain[here] = _log_likelihoods(mixed, all_decisions[here], codes[here])
        gain[here] -= _log_likelihoods(plain, all_decisions[here], codes[here])
    values, row_weights = rows.by_row(np.split(gain, np.cumsum([len(own) for own in rows.places])[:-1]))
    lead = np.average(values, weights=row_weights)
    error = np.sqrt(row_weights**2 @ (values - lead) ** 2) / row_weights.sum()
    if not lead > error:
        return calibration
    return mix_decisions(calibration, all_decisions, codes, weights, n_rows=np.unique(places).size)


class _Answers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that has answered already; its rows are the numbers of answers."""

    def __init__(self, classes: Array, predictions: Array, decisions: Float2D | None = None, log_odds: Any = None):
        self.classes_ = classes
        self.predictions = predictions
        self.decisions = decisions
        self.log_odds = log_odds

    def predict(self, X: Any) -> Array:
        """Labels."""
        return np.asarray(self.predictions[np.asarray(X)[:, 0]])

    def decision_function(self, X: Any) -> Array:
        """Decisions."""
        assert self.decisions is not None
        return np.asarray(as_vector(self.decisions[np.asarray(X)[:, 0]]))

    def predict_proba(self, X: Any) -> Float2D:
        """Probabilities."""
        return np.asarray(probabilities(as_vector(self.log_odds[np.asarray(X)[:, 0]])))


def answered_score(
    scorer: Any,
    classes: Array,
    calibration: Calibration | None,
    decisions: Float2D,
    labels: Array,
    weights: Float1D | None,
) -> float:
    """A score from decisions that were computed before, which are log-odds if there is a ``calibration``."""
    log_odds = None if calibration is None else calibration.limited(decisions)
    answers = _Answers(classes, best_labels(as_vector(decisions), classes), decisions, log_odds)
    options = {} if weights is None or not takes_weights(scorer) else {"sample_weight": weights}
    return float(scorer(answers, np.arange(len(labels))[:, None], labels, **options))


def find_scorer(scoring: Any) -> Any:
    """The scorer of a name, or of a function."""
    return check_scoring(L1SVC(), scoring)


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn, or a function, takes ``sample_weight``."""
    if hasattr(scorer, "_score_func"):
        scorer = scorer._score_func
    elif hasattr(scorer, "_estimator"):  # the estimator's own score
        scorer = scorer._estimator.score
    return "sample_weight" in inspect.signature(scorer).parameters


def tabulated_score(scorer: Callable[..., float], table: Float2D, labels: Array, classes: Array) -> float:
    """A score of predictions, from how much weight of the rows of each label was taken for each class."""
    true, said = np.nonzero(table)
    answers = _Answers(classes, classes[said])
    return float(scorer(answers, np.arange(len(true))[:, None], labels[true], sample_weight=table[true, said]))


def needs_single_rows(scorer: Any) -> bool:
    """Whether a scorer needs decisions about rows, or probabilities, or takes no weights."""
    return getattr(scorer, "_response_method", "predict") != "predict" or not takes_weights(scorer)


def scorer_of_predictions(scoring: Any) -> Any:
    """The scorer, if it needs no more than how often each class was taken for each."""
    if scoring is not None and not isinstance(scoring, str):
        raise ValueError("scoring must be the name of a score, such as 'accuracy' or 'f1', for data outside of memory.")
    scorer = find_scorer("accuracy" if scoring is None else scoring)
    if needs_single_rows(scorer):
        raise ValueError(
            f"scoring={scoring!r} needs the scores of single rows, or takes no weights; for data outside of memory use "
            "one of predictions, such as 'accuracy', 'balanced_accuracy' or 'f1', or set search_rows, so that the "
            "search runs on a sample in memory."
        )
    return scorer
