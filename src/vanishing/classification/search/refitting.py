"""Classifiers of trials: fitted to all rows, put together from the pieces of a fold, or averaged."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..._typing import Array, Float1D
from ...ideals.ideal import VanishingIdeal
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled
from ...rows.reading import take_input_from
from ...rows.sampling import Sample
from ..model.classifier import VanishingIdealClassifier
from ..model.per_class import PerClass
from ..model.probabilities import Calibration, calibrate
from .in_memory import FoldModel, InMemory
from .scoring import HeldOut, mixed_if_better
from .trials import History, Trial, TrialScore, is_ahead

__all__ = ["Maker", "average_models", "refit"]

_SAMPLED_TOL = 1e-3  # relative duality gap of the SVM after a search on a sample
_AVERAGED_TRIALS = 3  # models of the best values of psi that are averaged for each scaling


class Maker(NamedTuple):
    """Makes classifiers: what all trials of a search have in common.

    ``columns_of`` is the estimator that knows the names and the number of the input columns.
    """

    columns_of: Any
    template: VanishingIdeal
    final: Any
    class_weight: Any
    n_jobs: int | None
    max_columns: int | None
    max_terms: int | None = None  # of the ideal of a class, where the search bounds them

    def new(self, trial: Trial) -> VanishingIdealClassifier:
        """The classifier of a trial, to be fitted."""
        bound = {} if self.max_terms is None else {"max_terms": self.max_terms}
        return VanishingIdealClassifier(
            clone(self.template).set_params(psi=trial.psi, **bound),
            final_estimator=None if self.final is None else clone(self.final).set_params(C=trial.C),
            scale_input=trial.scaling,
            class_weight=self.class_weight,
            n_jobs=self.n_jobs,
            C=trial.C,
            **asdict(trial.columns),
        )

    def from_fold(self, classes: Array, trial: Trial, pieces: FoldModel) -> VanishingIdealClassifier:
        """The classifier that consists of the pieces of a fold."""
        model = self.new(trial)
        per_class = PerClass(model.estimator, halves=model.halves)
        per_class._store(classes, pieces.ideals)
        for part in (per_class, model):
            take_input_from(self.columns_of, part)
        model._store(classes, pieces.scaler, per_class, pieces.mapping, pieces.final)
        return model

    def fitted(
        self, data: Labelled, trial: Trial, sample: Sample | None, svm_columns: int | None
    ) -> VanishingIdealClassifier:
        """The classifier of a trial fitted to all rows; ``svm_columns`` bounds the columns that its SVM sees."""
        model = self.new(trial)
        tol = 1e-6 if sample is None else _SAMPLED_TOL
        with warnings.catch_warnings():
            if self.max_terms is not None:  # the search has compared ideals that are bounded like this one
                warnings.filterwarnings("ignore", ".*max_terms", ConvergenceWarning)
            model._fit_labelled(self.columns_of, data, sample, tol, self.max_columns, svm_columns)
        return model


def refit(
    maker: Maker,
    data: Labelled,
    trial: Trial,
    score: TrialScore,
    evaluator: Any,
    sample: Sample | None,
    *,
    may_mix: bool,
) -> VanishingIdealClassifier:
    """The classifier of a trial fitted to all rows, its decisions calibrated on the held-out rows of the search."""
    in_memory = isinstance(evaluator, InMemory)
    model = maker.fitted(data, trial, sample, evaluator.problem.max_columns if in_memory else None)
    calibration = _calibration(score, evaluator, may_mix=may_mix) if in_memory else None
    if calibration is not None:
        model._calibrate(calibration)
        known = data.rows if sample is None else sample.rows
        if isinstance(known, ArrayRows):  # calibrated decisions may give other labels
            model._rehearse(known)
    return model


def _calibration(score: TrialScore, evaluator: InMemory, *, may_mix: bool) -> Calibration | None:
    """From the decisions of a trial about held-out rows; mixes those of three or more classes where that pays."""
    if score.calibration is None or score.decisions is None:
        return None
    if not may_mix or len(evaluator.problem.classes) == 2:
        return score.calibration
    return mixed_if_better(score.calibration, _held_out(evaluator), score.decisions)


def _held_out(evaluator: InMemory) -> HeldOut:
    return evaluator.problem.held_out(evaluator.folds)


def average_models(
    maker: Maker,
    data: Labelled,
    history: History,
    best: Trial,
    evaluator: InMemory,
    sample: Sample | None,
    known: VanishingIdealClassifier,
) -> tuple[list[VanishingIdealClassifier], Float1D]:
    """The models to average and their weights: those of three psi at most for each scaling that is good enough.

    A scaling counts if the best trial is not ahead of all of its trials. The models of the folds, which know fewer
    rows, weigh as much together as those fitted to all rows; ``known`` is that of the best trial. The mean of several
    log-odds errs less than each, so all are calibrated once more, together.
    """
    trials = _trials_to_average(history, best)
    calibrations = {trial: _calibration(history[trial], evaluator, may_mix=True) for trial in trials}
    again = _recalibration(history, calibrations, _held_out(evaluator))
    models, weights = [], []
    for trial in trials:
        pieces = evaluator.models(trial)
        own = [maker.from_fold(data.classes, trial, each) for each in pieces]
        columns = evaluator.problem.max_columns
        own.append(copy(known) if trial == best else maker.fitted(data, trial, sample, columns))
        calibration = calibrations[trial]
        for model in own:
            if calibration is not None and again is not None:
                model._calibrate(calibration.followed_by(again))
        models += own
        weights += [0.5 / len(pieces)] * len(pieces) + [0.5]
    return models, np.array(weights) / len(trials)


def _trials_to_average(history: History, best: Trial) -> list[Trial]:
    """The best trials of different psi, for each scaling whose best is not behind the best of all."""
    scored = [trial for trial, score in history.items() if not np.isnan(score.value)]
    scored = sorted(scored, key=lambda trial: (trial != best, -history[trial].value))
    chosen: list[Trial] = []
    for scaling in dict.fromkeys(trial.scaling for trial in scored):
        own: dict[float, Trial] = {}
        for trial in scored:
            if trial.scaling == scaling:
                own.setdefault(trial.psi, trial)
        first = next(iter(own.values()))
        if not is_ahead(history[best], history[first]):
            chosen += list(own.values())[:_AVERAGED_TRIALS]
    return chosen


def _recalibration(
    history: History, calibrations: dict[Trial, Calibration | None], rows: HeldOut
) -> Calibration | None:
    """The calibration of the mean of the log-odds of these trials on held-out rows."""
    log_odds = []
    for trial, calibration in calibrations.items():
        decisions = history[trial].decisions
        if calibration is None or decisions is None:
            return None
        log_odds.append([calibration.limited(calibration(own)) for own in decisions])
    return calibrate(*rows.together([np.mean(own, axis=0) for own in zip(*log_odds, strict=True)]), reach=np.inf)
