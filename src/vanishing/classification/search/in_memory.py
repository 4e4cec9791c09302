"""Scores of trials by cross-validation in memory."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler

from ..._typing import Array, Float1D, Float2D, Int1D
from ...ideals.ideal import VanishingIdeal
from ...progress import Progress
from ...rows.arrays import ArrayRows
from ...rows.sampling import Sample
from ...svm import svms_along
from ...threads import in_threads, n_threads, one_blas_thread
from ..model.features import FeatureMap
from ..model.fitting import relevant_columns
from ..model.transforms import InputTransform
from .folds import Fold, Ideals, class_ideals
from .scoring import Criterion, HeldOut, takes_weights
from .strategies import Trial, TrialScore


@dataclass(frozen=True)
class Problem:
    """What is to be learned: labelled rows, the algorithm, the last step, and how models are judged.

    ``rows`` holds the numbers of the classes as labels, and the weights that count in the score; ``fit_weights`` count
    in the fit. Where the rows are a ``sample``, it knows the range of all. ``final`` is the last step of a user, whose
    C is set; None stands for :class:`~vanishing.L1SVC` with ``svm_limits``, which sees at most ``max_columns`` columns.
    Where a score needs a whole classifier, ``whole_model`` makes it from the pieces of a fold.
    """

    rows: ArrayRows
    classes: Array
    fit_weights: Float1D | None
    sample: Sample | None
    template: VanishingIdeal
    criterion: Criterion
    svm_limits: dict[str, Any]
    max_columns: int | None
    n_jobs: int | None
    final: Any = None
    whole_model: Callable[[Trial, FoldModel], Any] | None = None

    @property
    def codes(self) -> Int1D:
        """The number of the class of every row."""
        assert self.rows.labels is not None
        return self.rows.labels

    def fit_weights_of(self, places: Int1D) -> Float1D | None:
        """Weights of some rows in the fit."""
        return None if self.fit_weights is None else self.fit_weights[places]

    def finals(self, columns: Array, train: Int1D, Cs: Sequence[float], n_jobs: int) -> Iterator[Any]:
        """The last step for every C, ascending, fitted when it is asked for."""
        y, weights = self.codes[train], self.fit_weights_of(train)
        if self.final is None:
            yield from svms_along(columns, y, self.classes, Cs, weights, n_jobs=n_jobs, **self.svm_limits)
            return
        options = {} if weights is None else {"sample_weight": weights}
        for C in Cs:
            yield clone(self.final).set_params(C=C).fit(columns, self.classes[y], **options)


class Inputs(NamedTuple):
    """The rows of a search in one scaling: transformed once for all, or scaled by the training rows of each fold."""

    X: Array
    transform: InputTransform | None
    scalers: list[MinMaxScaler | None]

    @classmethod
    def of(cls, problem: Problem, folds: Sequence[Fold], scaling: Any) -> Inputs:
        """The rows of a problem, by one of the options of ``scale_input``."""
        rows = problem.rows
        if isinstance(scaling, str):
            transform = InputTransform.of(scaling, rows.without_zero_weights(), problem.sample)
            X = np.asarray(transform(np.asarray(rows.X, dtype=np.float64)))
            return cls(X, transform, [None] * len(folds))
        return cls(rows.X, None, [MinMaxScaler().fit(rows.X[fold.train]) if scaling else None for fold in folds])

    def rows(self, places: Int1D, fold: Fold) -> Array:
        """Some rows in the units of a fold."""
        scaler = self.scalers[fold.number]
        return self.X[places] if scaler is None else scaler.transform(self.X[places])

    def groups(self, folds: Sequence[Fold]) -> Iterable[list[Fold]]:
        """The folds in the same units together: only these have Grams in common."""
        groups: dict[bytes, list[Fold]] = {}
        for fold in folds:
            scaler = self.scalers[fold.number]
            key = b"" if scaler is None else scaler.scale_.tobytes() + scaler.min_.tobytes()
            groups.setdefault(key, []).append(fold)
        return groups.values()


class FoldModel(NamedTuple):
    """What was fitted to the training rows of a fold for one trial."""

    scaler: MinMaxScaler | InputTransform | None
    ideals: Ideals
    mapping: FeatureMap
    final: Any

    @property
    def n_used(self) -> float:
        """Number of columns with a weight; NaN where the last step is not linear."""
        coef = getattr(self.final, "coef_", None)
        return float("nan") if coef is None else float((np.atleast_2d(coef) != 0.0).any(axis=0).sum())


class _Task(NamedTuple):
    """The models of a fold that share ideals and columns: those of one trial and of others with larger C."""

    trial: Trial
    Cs: tuple[float, ...]
    fold: Fold
    inputs: Inputs
    ideals: Ideals
    key: bytes  # equal for equal models: a hash of generators, columns, fold and Cs

    @classmethod
    def of(cls, trial: Trial, Cs: tuple[float, ...], fold: Fold, inputs: Inputs, ideals: Ideals) -> _Task:
        """The task, with its key."""
        forms = [ideal.generators_.form for own in ideals for ideal in own]
        same = pickle.dumps((forms, trial.scaling, trial.columns, fold.number, Cs))
        return cls(trial, Cs, fold, inputs, ideals, sha256(same).digest())


class _Fit(NamedTuple):
    """One trial on one fold: its decisions about the held-out rows, or its score if that needs the whole model."""

    decisions: Float2D | None
    score: float
    n_used: float


class InMemory:
    """Cross-validation of trials on folds of rows in memory.

    Trials that are asked for together share what they have in common: ideals of the same halves their passes over the
    rows, models of the same ideals and columns the path of the SVM along C. Neighbouring psi often give the same
    generators: then the models before are theirs, too.
    """

    def __init__(self, problem: Problem, folds: list[Fold], progress: Progress):
        self.problem, self.folds, self._progress = problem, folds, progress
        self.held_out = HeldOut.of(problem.rows, problem.classes, problem.fit_weights, [fold.test for fold in folds])
        self._inputs: dict[Any, Inputs] = {}
        self._fits: dict[bytes, list[_Fit]] = {}

    def inputs(self, scaling: Any) -> Inputs:
        """The rows in one scaling."""
        if scaling not in self._inputs:
            self._inputs[scaling] = Inputs.of(self.problem, self.folds, scaling)
        return self._inputs[scaling]

    def largest_variance(self, scaling: Any) -> float:
        """The largest variance of a column within a class, in scaled units."""
        rows, codes = self.problem.rows, self.problem.codes
        X = np.asarray(self.inputs(scaling).X, dtype=np.float64)
        weights = np.ones(len(X)) if rows.sample_weight is None else rows.sample_weight
        counts = weights > 0.0
        span = np.ptp(X[counts], axis=0) if scaling is True else np.ones(X.shape[1])
        span = np.where(span > 0.0, span, 1.0)
        classes = [counts & (codes == code) for code in np.unique(codes)]
        largest = 0.0
        for own in classes:
            part, shares = X[own] / span, weights[own]
            deviations = part - np.average(part, axis=0, weights=shares)
            largest = max(largest, float(np.average(deviations**2, axis=0, weights=shares).max()))
        return largest

    def evaluate(self, trials: Sequence[Trial]) -> list[TrialScore]:
        """The scores of trials, in their order."""
        tasks = self._tasks(trials)
        new = {task.key: task for own in tasks.values() for task in own if task.key not in self._fits}
        self._fits.update(self._fit_all(new))
        return [self._judge(trial, tasks[_any_c(trial)]) for trial in trials]

    def models(self, trial: Trial) -> list[FoldModel]:
        """The models of a trial on the training rows of every fold."""
        (tasks,) = self._tasks([trial]).values()
        with warnings.catch_warnings(), one_blas_thread:
            warnings.simplefilter("ignore", ConvergenceWarning)
            return [next(_models_along(self.problem, task, n_jobs=1)[1]) for task in tasks]

    def _tasks(self, trials: Sequence[Trial]) -> dict[Trial, list[_Task]]:
        """The tasks of every fold, for trials that differ in C alone together."""
        Cs: dict[Trial, list[float]] = {}
        for trial in sorted(trials, key=lambda trial: trial.C):
            Cs.setdefault(_any_c(trial), []).append(trial.C)
        ideals = self._ideals(Cs)
        return {
            trial: [
                _Task.of(trial, tuple(own), fold, self.inputs(trial.scaling), ideals[_without_columns(trial)][k])
                for k, fold in enumerate(self.folds)
            ]
            for trial, own in Cs.items()
        }

    def _ideals(self, trials: Iterable[Trial]) -> dict[Any, list[Ideals]]:
        """The ideals of all classes, fold by fold, for each scaling, psi and choice of halves."""
        psis: dict[tuple[Any, bool], list[float]] = {}
        for scaling, psi, halves in dict.fromkeys(map(_without_columns, trials)):
            psis.setdefault((scaling, halves), []).append(psi)
        found: dict[Any, list[Ideals]] = {}
        problem = self.problem
        for (scaling, halves), own in psis.items():
            inputs = self.inputs(scaling)
            for group in inputs.groups(self.folds):
                scaler = inputs.scalers[group[0].number]
                X = inputs.X if scaler is None else scaler.transform(inputs.X)
                classes = [problem.codes == code for code in range(len(problem.classes))]
                fit = partial(class_ideals, problem.template, own, X, problem.fit_weights, folds=group, halves=halves)
                by_class = [fit(chosen) for chosen in classes]
                for k, psi in enumerate(own):
                    by_fold = found.setdefault((scaling, psi, halves), [()] * len(self.folds))
                    for j, fold in enumerate(group):
                        by_fold[fold.number] = tuple(each[k][j] for each in by_class)
        return found

    def _fit_all(self, tasks: dict[bytes, _Task]) -> dict[bytes, list[_Fit]]:
        """The fits of tasks, for each of their Cs, on several threads."""
        # Fits of a user's last step may share state: liblinear's draw from the same random numbers.
        threads = n_threads(self.problem.n_jobs) if self.problem.final is None else 1
        fit = partial(_fit_fold, self.problem, max(threads // max(len(tasks), 1), 1))
        with warnings.catch_warnings(), one_blas_thread:
            warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
            done = partial(self._progress.advance, 1)
            fits = in_threads([partial(fit, task) for task in tasks.values()], threads, done)
        return dict(zip(tasks, fits, strict=True))

    def _judge(self, trial: Trial, tasks: list[_Task]) -> TrialScore:
        paths, n_columns = [self._fits[task.key] for task in tasks], float("nan")
        if all(paths):
            fits = [path[tasks[0].Cs.index(trial.C)] for path in paths]
            decisions = [fit.decisions for fit in fits if fit.decisions is not None]
            if decisions:
                judged = self.problem.criterion.judge(self.held_out, decisions)
            else:
                judged = Criterion.judge_folds(np.array([fit.score for fit in fits]))
            n_columns = float(np.mean([fit.n_used for fit in fits]))
        else:  # no generators
            judged = Criterion.judge_folds(np.full(len(tasks), np.nan))
        n_generators = float(np.mean([sum(len(i.generators_) for own in task.ideals for i in own) for task in tasks]))
        return replace(judged, n_columns=n_columns, n_generators=n_generators)


def _any_c(trial: Trial) -> Trial:
    """What trials that differ in C alone have in common."""
    return trial._replace(C=np.inf)


def _without_columns(trial: Trial) -> tuple[Any, float, bool]:
    """What the ideals of a trial depend on."""
    return trial.scaling, trial.psi, trial.columns.halves


def _models_along(problem: Problem, task: _Task, n_jobs: int) -> tuple[FeatureMap, Iterator[FoldModel]]:
    """The columns of a task, and its models for ascending Cs, fitted when they are asked for."""
    fold, columns = task.fold, task.trial.columns
    train, weights = task.inputs.rows(fold.train, fold), problem.fit_weights_of(fold.train)
    extras = columns.extras(train)
    mapping = FeatureMap.of(task.ideals, extras, columns.features)
    if mapping.n_generators == 0:
        return mapping, iter(())
    values = np.asarray(mapping.over(ArrayRows(train, n_jobs=n_jobs)))
    if problem.max_columns is not None and mapping.n_columns > problem.max_columns:
        chosen = relevant_columns(mapping, values, problem.codes[fold.train], weights, problem.max_columns)
        mapping, values = mapping.select(chosen), np.ascontiguousarray(values[:, chosen])
    mapping = mapping.fitted_by(values, weights, np.abs(train).max(axis=0), scale=columns.scale_features)
    finals = problem.finals(values, fold.train, task.Cs, n_jobs)
    scaler = task.inputs.transform or task.inputs.scalers[fold.number]
    return mapping, (FoldModel(scaler, task.ideals, mapping, final) for final in finals)


def _fit_fold(problem: Problem, n_jobs: int, task: _Task) -> list[_Fit]:
    """The fits of a task for its Cs; none without generators."""
    mapping, models = _models_along(problem, task, n_jobs)
    test = task.fold.test
    if mapping.n_generators == 0:
        return []
    if problem.whole_model is not None:
        score = partial(_score_whole_model, problem, task)
        return [_Fit(None, score(model), model.n_used) for model in models]
    held_out = np.asarray(mapping.over(ArrayRows(task.inputs.rows(test, task.fold), n_jobs=n_jobs)))
    return [_Fit(held_out @ m.final.coef_.T + m.final.intercept_, np.nan, m.n_used) for m in models]


def _score_whole_model(problem: Problem, task: _Task, model: FoldModel) -> float:
    """The score of the classifier that consists of the pieces of a fold, weighted if it can be."""
    scorer, test, weights = problem.criterion.scorer, task.fold.test, problem.rows.sample_weight
    assert scorer is not None
    assert problem.whole_model is not None
    options = {} if weights is None or not takes_weights(scorer) else {"sample_weight": weights[test]}
    classifier = problem.whole_model(task.trial._replace(C=model.final.C), model)
    return float(scorer(classifier, problem.rows.X[test], problem.classes[problem.codes[test]], **options))
