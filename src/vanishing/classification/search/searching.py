"""The way of a search: from the options of a user to scored trials, and from a trial to a fitted classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..._typing import Array, Float1D
from ...engine.survey import survey_parts
from ...ideals.abm import ABM
from ...ideals.avi import AVI
from ...ideals.ideal import VanishingIdeal
from ...progress import search_progress
from ...rows.arrays import ArrayRows
from ...rows.disk import ScaledOnDisk
from ...rows.labels import Labelled, as_vector
from ...rows.reading import input_names, take_input_from
from ...rows.sampling import Sample, stratified_sample
from ..model.classifier import VanishingIdealClassifier
from ..model.columns import Columns
from ..model.fitting import SAMPLE_ROWS, Conditions, class_weighted
from ..model.per_class import PerClass
from ..model.probabilities import Calibration, calibrate, calibrate_to, probabilities
from ..model.transforms import InputTransform, Scaling, in_unit_cube
from .in_memory import FoldModel, InMemory, Problem, split
from .in_passes import InPasses, survey_folds
from .scoring import Criterion, HeldOut, find_scorer, mixed_if_better, scorer_of_predictions
from .strategies import (
    BetterScaling,
    Budget,
    Grid,
    History,
    RicherColumns,
    Strategy,
    Trial,
    TrialScore,
    WalkDown,
    best_trial,
    is_ahead,
)


class Maker(NamedTuple):
    """Makes classifiers: what all trials of a search have in common.

    ``columns_of`` is the estimator that knows the names and the number of the input columns, ``template`` the algorithm
    of the ideals. Where the search ``bounds`` their terms, it has compared ideals that are bounded like the final ones.
    """

    columns_of: Any
    template: VanishingIdeal
    final: Any
    class_weight: Any
    n_jobs: int | None
    max_columns: int | None
    bounds: bool = False

    def bounded(self, max_terms: int) -> Maker:
        """The maker of a search whose ideals have at most this many terms."""
        most = min(self.template.max_terms, max_terms)
        return self._replace(template=clone(self.template).set_params(max_terms=most), bounds=True)

    @property
    def for_folds(self) -> VanishingIdeal:
        """The algorithm for the ideals of folds, which knows the input columns."""
        template: VanishingIdeal = clone(self.template).set_params(n_jobs=self.n_jobs)
        take_input_from(self.columns_of, template)
        return template

    def new(self, trial: Trial) -> VanishingIdealClassifier:
        """The classifier of a trial, to be fitted."""
        return VanishingIdealClassifier(
            clone(self.template).set_params(psi=trial.psi),
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

    def fitted(self, data: Labelled, trial: Trial, how: Conditions) -> VanishingIdealClassifier:
        """The classifier of a trial fitted to all rows."""
        model = self.new(trial)
        with warnings.catch_warnings():
            if self.bounds:
                warnings.filterwarnings("ignore", ".*max_terms", ConvergenceWarning)
            model._fit_labelled(self.columns_of, data, how._replace(max_columns=self.max_columns))
        return model


@dataclass(frozen=True)
class Options:
    """What a user asks a search for, checked.

    ``psis`` and ``Cs`` are None where the search proposes them. The walk uses the first entry of ``scalings`` and of
    ``columns``, and tries the others at its best psi. The decisions of our SVM are ``calibrated`` or not. A search for
    an ``average`` walks down psi with every scaling and the first columns.
    """

    maker: Maker
    scalings: Sequence[Scaling]
    columns: Sequence[Columns]
    psis: Sequence[float] | None
    Cs: Sequence[float] | None
    cv: Any
    scoring: Any
    search_rows: int | None
    calibrated: bool
    average: bool
    budget: Budget


class Outcome(NamedTuple):
    """The trials of a search with their scores, who scored them, the maker, and the sample that it ran on, if any."""

    history: History
    evaluator: InMemory | InPasses
    maker: Maker
    sample: Sample | None = None


def search(options: Options, data: Labelled) -> Outcome:
    """Score trials on folds of the rows: in memory, on a sample of the rows, or in passes."""
    rows, most = data.rows, options.search_rows
    if isinstance(rows, ArrayRows) and (most is None or rows.n_samples <= most):
        return _search_in_memory(options, data, None)
    if options.maker.final is not None and not isinstance(rows, ArrayRows):
        raise ValueError(
            "final_estimator must be None for data outside of memory: only the built-in SVM fits them in passes."
        )
    if isinstance(rows, ScaledOnDisk) and rows.scaler is None:
        survey_parts(rows, input_names(options.maker.columns_of))  # a pass that finds the scaling of the file
    return _search_in_passes(options, data) if most is None else _search_sample(options, data, most)


def _search_sample(options: Options, data: Labelled, n_rows: int) -> Outcome:
    """The search on a sample of the rows; on a larger one from its best psi on, if errors become too few to compare.

    Few rows of an almost exact law cannot tell it from a coarser one: a small sample prefers a large psi.
    """
    sample = stratified_sample(data, n_rows, input_names(options.maker.columns_of))
    outcome = _search_in_memory(options, data._replace(rows=sample.rows), sample)
    best, more = best_trial(outcome.history), min(int(sample.n_rows.sum()), options.budget.larger * n_rows)
    if best is None or options.psis is not None or len(sample.rows) >= more:
        return outcome
    n_errors = (1.0 - outcome.history[best].scores.mean()) * len(sample.rows)
    if options.scoring not in (None, "accuracy") or n_errors >= options.budget.few_errors:
        return outcome
    sample = stratified_sample(data, more, input_names(options.maker.columns_of))
    onwards = replace(options, scalings=[best.scaling], columns=[best.columns])
    return _search_in_memory(onwards, data._replace(rows=sample.rows), sample, from_psi=best.psi)


def _search_in_memory(
    options: Options, data: Labelled, sample: Sample | None, from_psi: float | None = None
) -> Outcome:
    """The search on rows in memory; from a psi on, where another search has come down to it."""
    rows, budget, maker, walks = data.rows, options.budget, options.maker, options.psis is None
    assert isinstance(rows, ArrayRows)
    assert rows.labels is not None
    folds = split(options.cv, data, budget)
    n_classes, n_train = len(data.classes), min(len(fold.train) for fold in folds)
    if walks:
        maker = maker.bounded(budget.max_terms(len(rows), rows.n_features, n_classes))
    weighted = class_weighted(data, maker.class_weight).rows
    assert isinstance(weighted, ArrayRows)
    # Whether the score asks the classifier itself about rows, and not only for its decisions.
    asks_model = callable(options.scoring) and not hasattr(options.scoring, "_response_method")
    if maker.final is None and options.scoring is None:
        criterion = Criterion(None, options.calibrated, by_probabilities=walks and options.calibrated)
    else:
        criterion = Criterion(find_scorer(options.scoring), options.calibrated)
    problem = Problem(
        rows,
        rows.labels,
        data.classes,
        weighted.sample_weight,
        sample,
        maker.for_folds,
        criterion,
        {"tol": budget.svm_tol} if walks else {},
        budget.max_columns(n_train, n_classes) if walks else None,
        maker.n_jobs,
        maker.final,
        partial(maker.from_fold, data.classes) if maker.final is not None or asks_model else None,
    )
    with search_progress(_n_steps(options, len(folds)), passes=False) as progress:
        evaluator = InMemory(problem, folds, progress)
        return Outcome(_run(evaluator, _strategies(options, evaluator, from_psi)), evaluator, maker, sample)


def _run(evaluator: InMemory | InPasses, strategies: Sequence[Strategy]) -> History:
    """Ask each strategy for trials and tell it their scores, until it asks for none."""
    history: dict[Trial, TrialScore] = {}
    for strategy in strategies:
        while trials := strategy.ask(history):
            history.update(zip(trials, evaluator.evaluate(trials), strict=True))
    return history


def _strategies(options: Options, evaluator: InMemory, from_psi: float | None) -> list[Strategy]:
    """A grid where the values of psi are given; else a walk down psi, then other columns at its best psi."""
    budget, columns = options.budget, options.columns[0]
    Cs = options.Cs or budget.Cs
    if options.psis is not None:
        return [Grid(other, options.psis, Cs, own) for own in options.columns for other in options.scalings]
    largest = [from_psi or _largest_psi(options, evaluator.largest_variance(other)) for other in options.scalings]
    walks = [
        WalkDown(scaling, budget.psis(psi), Cs, columns, budget.patience)
        for scaling, psi in zip(options.scalings, largest, strict=True)
    ]
    if options.average:
        return [*walks]
    begun = [replace(walk, psis=walk.psis[: budget.patience]) for walk in walks]
    n_features, most = evaluator.problem.rows.n_features, evaluator.problem.max_columns or np.inf
    others = [other for other in options.columns[1:] if other.n_extras(n_features) <= most]
    return [*begun, BetterScaling(walks), RicherColumns(others, Cs)]


def _largest_psi(options: Options, variance: float) -> float:
    """The psi to start from: for the largest variance of a column within a class every column is a generator."""
    below_one = isinstance(options.maker.template, (ABM, AVI))
    return min(variance, float(np.nextafter(1.0, 0.0))) if below_one else variance


def _n_steps(options: Options, n_folds: int) -> int:
    """How many models a search fits at most; models along C count once."""
    budget, n_scalings, n_columns = options.budget, len(options.scalings), len(options.columns)
    if options.psis is not None:
        return len(options.psis) * n_scalings * n_columns * n_folds
    n_psis = len(budget.psis(1.0))
    n_compared = n_psis if options.average else budget.patience
    return (n_psis + n_compared * (n_scalings - 1) + n_columns - 1) * n_folds


def _search_in_passes(options: Options, data: Labelled) -> Outcome:
    """Every pair of psi and C, on all rows of a source that is not in memory."""
    n_folds, scaling, columns = _number_of_folds(options.cv, options.budget), options.scalings[0], options.columns[0]
    if columns.halves:
        raise ValueError("halves=True needs a search in memory: set search_rows, for instance to 10_000.")
    if options.average:
        raise ValueError("refit='average' needs a search in memory: set search_rows, for instance to 10_000.")
    scorer = scorer_of_predictions(options.scoring)
    sample = transform = None
    if isinstance(scaling, str) or columns.hinges or options.maker.class_weight is not None:
        sample = stratified_sample(data, SAMPLE_ROWS, input_names(options.maker.columns_of))
        data = class_weighted(data, options.maker.class_weight, sample)
    head = None if sample is None else sample.rows.X
    if isinstance(scaling, str):
        transform = InputTransform.of(scaling, data.rows, sample)
        data, head = data._replace(rows=transform.over(data.rows)), transform(head)
    scale = transform is None and bool(scaling)
    folds = survey_folds(
        data,
        n_folds,
        input_names(options.maker.columns_of),
        scale_input=scale,
        ahead=options.maker.template._looks_ahead,
    )
    maker, psis, Cs = options.maker, options.psis, options.Cs or options.budget.Cs
    if psis is None:
        n_rows = sum(part.n_samples for parts in folds.surveys[0] for part in parts)
        maker = maker.bounded(options.budget.max_terms(n_rows, data.rows.n_features, len(data.classes)))
        psis = options.budget.psis(_largest_psi(options, folds.largest_variance()))
    with search_progress(len(psis) * n_folds, passes=True) as progress:
        evaluator = InPasses(folds, maker.for_folds, scorer, head, maker.n_jobs, progress)
        return Outcome(_run(evaluator, [Grid(scaling, psis, Cs, columns)]), evaluator, maker)


def _number_of_folds(cv: Any, budget: Budget) -> int:
    n_folds = budget.n_folds if isinstance(cv, str) and cv == "auto" else cv
    if isinstance(n_folds, bool) or not isinstance(n_folds, Integral) or int(n_folds) < 2:
        raise ValueError(f"cv must be a number of folds, at least 2, for data outside of memory; got {cv!r}.")
    return int(n_folds)


def refit(outcome: Outcome, data: Labelled, trial: Trial, *, may_mix: bool) -> VanishingIdealClassifier:
    """The classifier of a trial fitted to all rows, its decisions calibrated on the held-out rows of the search."""
    history, evaluator, maker, sample = outcome
    if not isinstance(evaluator, InMemory):
        return maker.fitted(data, trial, Conditions(sample))
    score = history[trial]
    calibration, calibration_of = _calibration(score, evaluator, may_mix=may_mix), None
    if calibration is not None:
        same_rows = sample is None or len(sample.rows) == sample.n_rows.sum()
        calibration_of = partial(_calibration_of, calibration, score, evaluator, same_rows=same_rows)
    return maker.fitted(data, trial, Conditions(sample, evaluator.problem.max_columns, calibration_of=calibration_of))


def _calibration_of(
    calibration: Calibration,
    score: TrialScore,
    evaluator: InMemory,
    model: VanishingIdealClassifier,
    *,
    same_rows: bool,
) -> Calibration:
    """The calibration of a model, from that of the folds.

    The l1 penalty shrinks the weights of a fold more than those of a model of many more rows. So where the search had a
    part of the rows, the decisions of the model about it are calibrated to the probabilities from held-out decisions.
    """
    if same_rows:
        return calibration
    assert score.decisions is not None
    assert score.calibration is not None
    held_out, _, weights = evaluator.held_out.together(score.decisions)
    rows = ArrayRows(evaluator.problem.rows.X[np.concatenate(evaluator.held_out.places)], n_jobs=model.n_jobs)
    own = model._used_map.scores(in_unit_cube(rows, model.scaler_), *model._planes)
    plain = score.calibration  # a mixing one comes behind it
    target = probabilities(as_vector(plain.limited(plain(held_out))))[:, -held_out.shape[1] :]
    moved = calibrate_to(target, own.reshape(held_out.shape), weights)
    return Calibration(moved.scale / plain.scale, (moved.offset - plain.offset) / plain.scale).followed_by(calibration)


def _calibration(score: TrialScore, evaluator: InMemory, *, may_mix: bool) -> Calibration | None:
    """The calibration by the decisions about held-out rows; it mixes three or more classes if that pays."""
    if score.calibration is None or score.decisions is None:
        return None
    if not may_mix or len(evaluator.problem.classes) == 2:
        return score.calibration
    return mixed_if_better(score.calibration, evaluator.held_out, score.decisions)


def average_models(
    outcome: Outcome, data: Labelled, best: Trial, known: VanishingIdealClassifier
) -> tuple[list[VanishingIdealClassifier], Float1D]:
    """The models to average, of up to three psi for each scaling that is good enough, and their weights.

    A scaling counts if the best trial is not ahead of all of its trials. The models of the folds, which know fewer
    rows, weigh as much together as the models of all rows; ``known`` is the model of the best trial. The mean of
    several log-odds errs less than each, so all are calibrated once more, together.
    """
    history, evaluator, maker, sample = outcome
    assert isinstance(evaluator, InMemory)
    trials = _trials_to_average(history, best)
    calibrations = {trial: _calibration(history[trial], evaluator, may_mix=True) for trial in trials}
    again = _recalibration(history, calibrations, evaluator.held_out)
    models, weights = [], []
    for trial in trials:
        pieces = evaluator.models(trial)
        own = [maker.from_fold(data.classes, trial, each) for each in pieces]
        how = Conditions(sample, evaluator.problem.max_columns)
        own.append(copy(known) if trial == best else maker.fitted(data, trial, how))
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
            chosen += list(own.values())[: Budget.patience]
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
