"""Scores of a cross-validation: from decisions, from tables of predictions, and what a search knows of its pairs."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from .._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ..ideals.ideal import VanishingIdeal
from ..rows.labels import as_vector, best_labels
from ..svm import L1SVC
from .probabilities import ROUGHLY, Calibration, calibrate, mix_decisions, probabilities

__all__ = [
    "HeldOut",
    "Scores",
    "Speaks",
    "answered_score",
    "equal_models",
    "held_out_hits",
    "held_out_likelihoods",
    "held_out_log_likelihoods",
    "held_out_scores",
    "mixed_if_better",
    "needs_single_rows",
    "paired_difference",
    "scorer_of_predictions",
    "tabulated_score",
    "takes_weights",
]

_CLEARLY = 2.0  # standard errors by which labels are likelier where decisions are mixed


@dataclass
class Scores:
    """What a search knows: psi by psi, C by C, fold by fold.

    ``scores``, ``choice``, which pairs are chosen by (the scores, if nothing else), and ``n_used``, the number of
    columns with a weight, are ``(n_psis, n_Cs, n_folds)``, NaN where nothing
    was fitted; ``n_generators`` is ``(n_psis, n_folds)``. ``too_large`` says for which psi some ideal was not finished,
    because it went beyond the terms allowed, or has too many columns for the rows. ``held_out[i, c]`` are the decisions
    of a pair on the held-out rows of every fold, where they are kept; ``calibrations[i, c]`` what makes log-odds of
    them, where the labels depend on that; ``models[i, c]`` the fitted pieces of every fold.
    """

    scores: Array
    choice: Array
    n_used: Array
    n_generators: Array
    too_large: Bool1D
    held_out: dict[tuple[int, int], list[Float2D]] = field(default_factory=dict)
    calibrations: dict[tuple[int, int], Calibration] = field(default_factory=dict)
    models: dict[tuple[int, int], list[Any]] = field(default_factory=dict)

    @classmethod
    def empty(cls, n_psis: int, n_Cs: int, n_folds: int) -> Scores:
        """Nothing fitted yet."""
        nothing = np.full((n_psis, n_Cs, n_folds), np.nan)
        return cls(
            nothing,
            nothing.copy(),
            nothing.copy(),
            np.zeros((n_psis, n_folds), dtype=np.int64),
            np.zeros(n_psis, dtype=bool),
        )

    def answers(self, pair: tuple[int, int]) -> list[Float2D]:
        """The decisions of a pair on the held-out rows of every fold, as its model would give them."""
        decisions, calibration = self.held_out[pair], self.calibrations.get(pair)
        return decisions if calibration is None else [calibration(own) for own in decisions]

    @property
    def _by_pair(self) -> tuple[dict[tuple[int, int], Any], ...]:
        return self.held_out, self.calibrations, self.models

    def put(self, psis: Sequence[int], Cs: Sequence[int], other: Scores) -> None:
        """Take over the results for some psis and Cs."""
        places = np.ix_(psis, Cs)
        self.scores[places], self.choice[places] = other.scores, other.choice
        self.n_used[places] = other.n_used
        self.n_generators[psis], self.too_large[psis] = other.n_generators, other.too_large
        for mine, theirs in zip(self._by_pair, other._by_pair, strict=True):
            mine.update({(psis[i], Cs[c]): value for (i, c), value in theirs.items()})

    def keep(self, psis: Sequence[int], c: int, fold: int, fit: Any, *, models: bool) -> None:
        """Take over what was fitted on a fold for one C, and for psis that have it in common."""
        n_folds = self.scores.shape[2]
        self.scores[psis, c, fold], self.n_used[psis, c, fold] = fit.score, fit.model.n_used
        for i in psis:
            if fit.decisions is not None:
                self.held_out.setdefault((i, c), [None] * n_folds)[fold] = fit.decisions  # type: ignore[list-item]
            if models:
                self.models.setdefault((i, c), [None] * n_folds)[fold] = fit.model

    def followed_by(self, other: Scores) -> Scores:
        """These, and behind them the psis of other ones for the same Cs and folds."""
        n_psis, n_Cs, n_folds = self.scores.shape
        both = Scores.empty(n_psis + len(other.scores), n_Cs, n_folds)
        both.put(range(n_psis), range(n_Cs), self)
        both.put(range(n_psis, len(both.scores)), range(n_Cs), other)
        return both

    def repeat(self, i: int, j: int) -> None:
        """Give psi i the results of psi j."""
        for values in (self.scores, self.choice, self.n_used, self.n_generators, self.too_large):
            values[i] = values[j]
        for known in self._by_pair:
            known.update({(i, c): value for (k, c), value in list(known.items()) if k == j})


def equal_models(ideals: Iterable[tuple[int, int, Sequence[Sequence[VanishingIdeal]]]]) -> list[tuple[int, list[int]]]:
    """Folds, each with the psis that give the same generators in it, from (psi, fold, estimators of each class)."""
    known: dict[tuple[int, bytes], list[int]] = {}
    for psi, fold, fitted in ideals:
        forms = pickle.dumps([ideal.generators_.form for own in fitted for ideal in own])
        known.setdefault((fold, forms), []).append(psi)
    return [(fold, psis) for (fold, _), psis in known.items()]


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn, or a function, takes ``sample_weight``."""
    if hasattr(scorer, "_score_func"):
        scorer = scorer._score_func
    elif hasattr(scorer, "_estimator"):  # that of the estimator's own score
        scorer = scorer._estimator.score
    return "sample_weight" in inspect.signature(scorer).parameters


class Speaks(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with all that a score may ask for; to look up the scorer of a name."""

    def fit(self, X: Any, y: Any) -> Speaks:
        """Nothing."""
        return self

    def predict(self, X: Any) -> Array:
        """Labels."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """Decisions."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Float2D:
        """Probabilities."""
        raise NotImplementedError


class _Answers(Speaks):
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


@dataclass(frozen=True)
class HeldOut:
    """The test rows of every fold: places, classes, numbers of these, weights for the score and for the fit, if any."""

    classes: Array
    places: list[Int1D]
    codes: list[Int1D]
    weights: list[Float1D | None]
    fit_weights: list[Float1D] | None

    def together(self, decisions: Sequence[Float2D]) -> tuple[Float2D, Int1D, Float1D | None]:
        """Decisions, numbers of classes and weights in the fit of all folds."""
        weights = None if self.fit_weights is None else np.concatenate(self.fit_weights)
        return np.concatenate(decisions), np.concatenate(self.codes), weights

    def by_row(self, values: Sequence[Float1D]) -> tuple[Float1D, Float1D]:
        """The value of every row that was held out, over repetitions, from those of the folds; and its weight."""
        places = np.concatenate(self.places)
        times, sums = np.bincount(places), np.bincount(places, np.concatenate(values))
        weights = [np.ones(len(own)) if w is None else w for own, w in zip(values, self.weights, strict=True)]
        used = np.flatnonzero(times)
        return sums[used] / times[used], np.bincount(places, np.concatenate(weights))[used] / times[used]


def held_out_scores(scorer: Callable[..., float] | None, rows: HeldOut, decisions: Sequence[Float2D]) -> Float1D:
    """The score of every fold from its decisions; None stands for accuracy.

    A score of probabilities sees those that a calibration on the decisions of all folds gives.
    """
    if scorer is None:
        return _means(rows, held_out_hits(rows, decisions))
    needs = np.atleast_1d(getattr(scorer, "_response_method", ()))
    calibration = calibrate(*rows.together(decisions)) if "predict_proba" in needs else None
    scores = []
    for own, codes, weights in zip(decisions, rows.codes, rows.weights, strict=True):
        said = best_labels(as_vector(own), np.arange(len(rows.classes)))
        log_odds = None if calibration is None else calibration.limited(calibration(own))
        answers = _Answers(rows.classes, rows.classes[said], own, log_odds)
        options = {} if weights is None or not takes_weights(scorer) else {"sample_weight": weights}
        scores.append(float(scorer(answers, np.arange(len(codes))[:, None], rows.classes[codes], **options)))
    return np.array(scores)


def _means(rows: HeldOut, values: Sequence[Float1D]) -> Float1D:
    """The weighted mean over the rows of every fold."""
    return np.array([float(np.average(own, weights=w)) for own, w in zip(values, rows.weights, strict=True)])


def held_out_hits(rows: HeldOut, decisions: Sequence[Float2D]) -> list[Float1D]:
    """1 for the rows of every fold whose label the decisions give, 0 for the others."""
    numbers = np.arange(len(rows.classes))
    pairs = zip(decisions, rows.codes, strict=True)
    return [(best_labels(as_vector(own), numbers) == codes).astype(np.float64) for own, codes in pairs]


def held_out_likelihoods(rows: HeldOut, decisions: Sequence[Float2D]) -> list[Float1D]:
    """The log-likelihood of the labels of the rows of every fold, after a calibration on the decisions of all folds."""
    calibration = calibrate(*rows.together(decisions))
    return [_log_likelihoods(calibration, own, codes) for own, codes in zip(decisions, rows.codes, strict=True)]


def mixed_if_better(calibration: Calibration, rows: HeldOut, decisions: Sequence[Float2D]) -> Calibration:
    """A calibration of three or more classes that mixes their decisions, if that pays; else the given one.

    Each half of the rows is calibrated by the other half: the labels must be likelier by more than two standard errors.
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
        plain = calibrate(all_decisions[there], codes[there], own, tol=ROUGHLY)
        mixed = mix_decisions(plain, all_decisions[there], codes[there], own, n_rows=np.unique(places[there]).size)
        gain[here] = _log_likelihoods(mixed, all_decisions[here], codes[here])
        gain[here] -= _log_likelihoods(plain, all_decisions[here], codes[here])
    values, row_weights = rows.by_row(np.split(gain, np.cumsum([len(own) for own in rows.places])[:-1]))
    lead, error = paired_difference(values, np.zeros(values.size), row_weights)
    if not lead > _CLEARLY * error:
        return calibration
    return mix_decisions(calibration, all_decisions, codes, weights, n_rows=np.unique(places).size)


def _log_likelihoods(calibration: Calibration, decisions: Float2D, codes: Int1D) -> Float1D:
    given = probabilities(as_vector(calibration.limited(calibration(decisions))))[np.arange(len(codes)), codes]
    return np.asarray(np.log(np.maximum(given, 1e-300)))


def paired_difference(own: Float1D, other: Float1D, weights: Float1D) -> tuple[float, float]:
    """The mean of the differences ``d = own - other`` of m rows, and its standard error, ``std(d) / sqrt(m)``."""
    difference = own - other
    mean = float(np.average(difference, weights=weights))
    return mean, float(np.sqrt(weights**2 @ (difference - mean) ** 2) / weights.sum())


def held_out_log_likelihoods(rows: HeldOut, decisions: Sequence[Float2D]) -> Float1D:
    """The mean log-likelihood of the labels of every fold."""
    return _means(rows, held_out_likelihoods(rows, decisions))


def tabulated_score(scorer: Callable[..., float], table: Float2D, labels: Array, classes: Array) -> float:
    """A score of predictions, from how much weight of the rows of each label was taken for each class."""
    true, said = np.nonzero(table)
    answers = _Answers(classes, classes[said])
    return float(scorer(answers, np.arange(len(true))[:, None], labels[true], sample_weight=table[true, said]))


def needs_single_rows(scoring: Any) -> bool:
    """Whether the score of a name needs decisions about rows, or probabilities, or takes no weights."""
    if not isinstance(scoring, str):
        return False
    scorer = check_scoring(Speaks(), scoring)
    return getattr(scorer, "_response_method", "predict") != "predict" or not takes_weights(scorer)


def answered_score(
    scoring: str,
    classes: Array,
    calibration: Calibration | None,
    decisions: Float2D,
    labels: Array,
    weights: Float1D | None,
) -> float:
    """A score from decisions that were computed before, which are log-odds if there is a ``calibration``."""
    scorer = check_scoring(Speaks(), scoring)
    log_odds = None if calibration is None else calibration.limited(decisions)
    answers = _Answers(classes, best_labels(as_vector(decisions), classes), decisions, log_odds)
    options = {} if weights is None or not takes_weights(scorer) else {"sample_weight": weights}
    return float(scorer(answers, np.arange(len(labels))[:, None], labels, **options))


def scorer_of_predictions(scoring: Any) -> Any:
    """The scorer, if it needs no more than how often each class was taken for each."""
    if scoring is not None and not isinstance(scoring, str):
        raise ValueError("scoring must be the name of a score, such as 'accuracy' or 'f1', for data outside of memory.")
    scorer = check_scoring(L1SVC(), "accuracy" if scoring is None else scoring)
    if getattr(scorer, "_response_method", "predict") != "predict" or not takes_weights(scorer):
        raise ValueError(
            f"scoring={scoring!r} needs the scores of single rows, or takes no weights; for data outside of memory use "
            "one of predictions, such as 'accuracy', 'balanced_accuracy' or 'f1', or set search_rows, so that the "
            "search runs on a sample in memory."
        )
    return scorer
