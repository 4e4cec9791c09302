"""Cross-validation in memory: its folds, the ideals of their training rows, and the scores of trials.

Each class is cut into the parts that training sets share: with three folds, three parts, and a training set is two of
them. Grams add over rows, so one pass over the parts serves every psi and every fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, check_cv
from sklearn.preprocessing import MinMaxScaler

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...checks import quoted
from ...engine.survey import survey
from ...ideals.ideal import VanishingIdeal
from ...ideals.path import fit_together
from ...progress import Progress
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled
from ...rows.reading import take_input_from
from ...rows.sampling import FEWEST_IN_HALF, Sample
from ...threads import in_threads, n_threads
from ..model.features import FeatureMap
from ..model.fitting import fitted_columns, last_steps
from ..model.per_class import Cut
from ..model.transforms import InputTransform, Scaling
from .scoring import Criterion, HeldOut, takes_weights
from .strategies import Budget, Trial, TrialScore


class Fold(NamedTuple):
    """The places of the rows to train on and to test on."""

    number: int
    train: Int1D
    test: Int1D


def split(cv: Any, data: Labelled, budget: Budget) -> list[Fold]:
    """The folds that ``cv`` gives, without rows of weight 0; each has some of every class to train on."""
    rows, classes = data.rows, data.classes
    assert isinstance(rows, ArrayRows)
    assert rows.labels is not None
    weighted = np.ones(len(rows), dtype=bool) if rows.sample_weight is None else rows.sample_weight > 0.0
    # Rows of weight 0 have no place in folds that we draw; a user's own folds count them.
    places = np.flatnonzero(weighted) if isinstance(cv, (str, Integral)) else np.arange(len(rows))
    codes = rows.labels[places]
    splitter = _splitter(cv, codes, classes, budget)
    X, y, counts = rows.X[places], classes[codes], np.bincount(codes)
    fewest, n_folds = int(np.argmin(counts)), splitter.get_n_splits(X, y)
    if isinstance(splitter, StratifiedKFold) and counts[fewest] < n_folds:
        raise ValueError(
            f"Class {quoted(classes[fewest])} has {counts[fewest]} rows, fewer than the {n_folds} folds: lower cv, or "
            "leave out the class."
        )
    folds = []
    for k, (train, test) in enumerate(splitter.split(X, y)):
        train, test = places[train], places[test]  # turns boolean masks and negative indices into plain ones
        folds.append(Fold(k, train[weighted[train]], test[weighted[test]]))
    _require_rows(folds, rows.labels, classes)
    return folds


def _splitter(cv: Any, codes: Int1D, classes: Array, budget: Budget) -> Any:
    if not isinstance(cv, str):
        return check_cv(cv, codes, classifier=True)
    if cv != "auto":
        raise ValueError(f"cv must be 'auto', a number, a splitter or a list of folds; got {cv!r}.")
    counts = np.bincount(codes)
    n_splits = min(int(counts.min()), budget.n_folds)
    if n_splits < 2:
        raise ValueError(
            f"Class {quoted(classes[int(np.argmin(counts))])} has one row, but a search needs two: leave out the "
            "class, or fit VanishingIdealClassifier with a psi and a C of your own."
        )
    if len(codes) < budget.rows_of_one_draw:
        return RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=budget.n_folds, random_state=0)
    return StratifiedKFold(n_splits, shuffle=True, random_state=0)


def _require_rows(folds: list[Fold], codes: Int1D, classes: Array) -> None:
    if not folds:
        raise ValueError("cv gives no fold at all; cv=3 gives three.")
    for fold in folds:
        if fold.test.size == 0:
            raise ValueError(
                f"There are no rows to test on in fold {fold.number} of cv; cv=3 gives three folds with some."
            )
        missing = np.setdiff1d(np.arange(len(classes)), codes[fold.train])
        if missing.size:
            raise ValueError(
                f"The training rows of fold {fold.number} have none of class {quoted(classes[missing[0]])}: use "
                "stratified folds (cv=3), or leave out the class."
            )


Ideals = tuple[tuple[VanishingIdeal, ...], ...]  # for each class the ideal of its rows, and of its halves


def class_ideals(
    template: VanishingIdeal,
    psis: Sequence[float],
    X: Array,
    weights: Float1D | None,
    chosen: Bool1D,
    folds: Sequence[Fold],
    *,
    halves: bool,
) -> list[list[tuple[VanishingIdeal, ...]]]:
    """The ideals of a class, the ``chosen`` rows: for each psi, fold by fold.

    A fold has the ideal of the whole class and, with ``halves``, the ideals of both halves.
    """
    parts, members = _parts(chosen, folds)
    by_fold = [[own] for own in members]
    if halves:
        for own in by_fold:
            cut = _halves(X, weights, np.concatenate([parts[k] for k in own[0]]))
            own += [(len(parts) + k,) for k in range(len(cut))]
            parts += cut
    seen = [own for fold in by_fold for own in fold]
    fits = [clone(template).set_params(psi=psi) for psi in psis for _ in seen]
    for fit in fits:
        take_input_from(template, fit)
    rows = [ArrayRows(X[part], None if weights is None else weights[part], n_jobs=template.n_jobs) for part in parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # terms are bounded on purpose
        fit_together(fits, rows, seen * len(psis))
    fitted = iter(fits)
    return [[tuple(next(fitted) for _ in own) for own in by_fold] for _ in psis]


def _parts(chosen: Bool1D, folds: Sequence[Fold]) -> tuple[list[Int1D], list[tuple[int, ...]]]:
    """The chosen rows cut into parts that training sets have in common, and the parts of each training set."""
    rows = np.flatnonzero(chosen)
    times = np.array([np.bincount(fold.train, minlength=chosen.size)[rows] for fold in folds])
    found, part_of = np.unique(times.T, axis=0, return_inverse=True)  # the folds that a row is trained on
    if times.max() > 1 or len(found) > 2 * len(folds):  # drawn at random, with little in common: each set is a part
        return [fold.train[chosen[fold.train]] for fold in folds], [(k,) for k in range(len(folds))]
    used = np.flatnonzero(found.any(axis=1))
    members = [tuple(np.flatnonzero(own).tolist()) for own in found[used].T]
    return [rows[part_of.ravel() == k] for k in used], members


def _halves(X: Array, weights: Float1D | None, rows: Int1D) -> list[Int1D]:
    """The rows of a class on either side of its cut; none where one side has too few."""
    whole = ArrayRows(X[rows], None if weights is None else weights[rows], n_jobs=1)
    above = Cut.of(survey(whole).gram).above(whole.X)
    halves = [rows[~above], rows[above]]
    return halves if min(map(len, halves)) >= FEWEST_IN_HALF else []


@dataclass(frozen=True)
class Problem:
    """What is to be learned: labelled rows, the algorithm, the last step, and how models are judged.

    ``rows`` holds the numbers of the classes as labels, and the weights that count in the score; ``fit_weights`` count
    in the fit. Where the rows are a ``sample``, it knows the range of all. ``final`` is the last step of a user, whose
    C is set; None stands for :class:`~vanishing.L1SVC` with ``svm_limits``, which sees at most ``max_columns`` columns.
    Where a score needs a whole classifier, ``whole_model`` makes it from the pieces of a fold.
    """

    rows: ArrayRows
    codes: Int1D
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


class Scaled(NamedTuple):
    """All rows in one scaling of the inputs, and what scales them."""

    X: Array
    scaler: InputTransform | MinMaxScaler | None


class FoldModel(NamedTuple):
    """What was fitted to the training rows of a fold for one trial."""

    scaler: InputTransform | MinMaxScaler | None
    ideals: Ideals
    mapping: FeatureMap
    final: Any


class _Fit(NamedTuple):
    """One trial on one fold: its decisions about the held-out rows, or its score if that needs the whole model.

    ``n_used`` is the number of columns with a weight; NaN where the last step is not linear.
    """

    decisions: Float2D | None
    score: float
    n_used: float


class InMemory:
    """Cross-validation of trials on folds of rows in memory.

    Trials that are asked for together have one scaling and one set of columns, and share the rest: ideals their passes
    over the rows, models of the same ideals the path of the SVM along C.
    """

    def __init__(self, problem: Problem, folds: list[Fold], progress: Progress):
        self.problem, self.folds, self._progress = problem, folds, progress
        self.held_out = HeldOut.of(problem.rows, problem.classes, problem.fit_weights, [fold.test for fold in folds])
        self._scaled: dict[Scaling, list[Scaled]] = {}

    def scaled(self, scaling: Scaling) -> list[Scaled]:
        """The rows as each fold sees them: transformed once for all folds, or scaled by the fold's training rows."""
        if scaling in self._scaled:
            return self._scaled[scaling]
        rows = self.problem.rows
        if isinstance(scaling, str):
            transform = InputTransform.of(scaling, rows.without_zero_weights(), self.problem.sample)
            own = [Scaled(np.asarray(transform(np.asarray(rows.X, dtype=np.float64))), transform)] * len(self.folds)
        elif not scaling:
            own = [Scaled(rows.X, None)] * len(self.folds)
        else:
            known: dict[bytes, Scaled] = {}  # folds in the same units have Grams in common
            own = []
            for fold in self.folds:
                scaler = MinMaxScaler().fit(rows.X[fold.train])
                units = scaler.scale_.tobytes() + scaler.min_.tobytes()
                own.append(known.setdefault(units, Scaled(scaler.transform(rows.X), scaler)))
        self._scaled[scaling] = own
        return own

    def largest_variance(self, scaling: Scaling) -> float:
        """The largest variance of a column within a class, in scaled units."""
        codes, weights = self.problem.codes, self.problem.rows.sample_weight
        largest = 0.0
        for X, _ in {id(each): each for each in self.scaled(scaling)}.values():
            for code in range(len(self.problem.classes)):
                own = codes == code if weights is None else (codes == code) & (weights > 0.0)
                part, shares = np.asarray(X[own], dtype=np.float64), None if weights is None else weights[own]
                deviations = part - np.average(part, axis=0, weights=shares)
                largest = max(largest, float(np.average(deviations**2, axis=0, weights=shares).max()))
        return largest

    def evaluate(self, trials: Sequence[Trial]) -> list[TrialScore]:
        """The scores of trials of one scaling and one set of columns, in their order."""
        assert len({(trial.scaling, trial.columns) for trial in trials}) == 1
        psis, Cs = list(dict.fromkeys(trial.psi for trial in trials)), sorted({trial.C for trial in trials})
        ideals = self._ideals(trials[0].scaling, psis, halves=trials[0].columns.halves)
        n_folds, n_tasks = len(self.folds), len(self.folds) * len(psis)
        # Fits of a user's last step may share state: liblinear's draw from the same random numbers.
        threads = n_threads(self.problem.n_jobs) if self.problem.final is None else 1
        tasks = [
            partial(self._fit_fold, trials[0]._replace(psi=psi), Cs, fold, own, max(threads // n_tasks, 1))
            for psi, by_fold in zip(psis, ideals, strict=True)
            for fold, own in zip(self.folds, by_fold, strict=True)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
            fits = in_threads(tasks, threads, partial(self._progress.advance, 1))
        by_psi = {psi: (ideals[k], fits[k * n_folds : (k + 1) * n_folds]) for k, psi in enumerate(psis)}
        return [self._judge(*by_psi[trial.psi], Cs.index(trial.C)) for trial in trials]

    def models(self, trial: Trial) -> list[FoldModel]:
        """The models of a trial on the training rows of every fold."""
        (ideals,) = self._ideals(trial.scaling, [trial.psi], halves=trial.columns.halves)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return [self._models(trial, [trial.C], *pair)[0] for pair in zip(self.folds, ideals, strict=True)]

    def _ideals(self, scaling: Scaling, psis: Sequence[float], *, halves: bool) -> list[list[Ideals]]:
        """The ideals of all classes, for each psi fold by fold."""
        problem, scaled = self.problem, self.scaled(scaling)
        found: list[list[Ideals]] = [[()] * len(self.folds) for _ in psis]
        for X, _ in {id(each): each for each in scaled}.values():
            group = [fold for fold in self.folds if scaled[fold.number].X is X]
            fit = partial(class_ideals, problem.template, psis, X, problem.fit_weights, folds=group, halves=halves)
            by_class = [fit(problem.codes == code) for code in range(len(problem.classes))]
            for k, by_fold in enumerate(found):
                for j, fold in enumerate(group):
                    by_fold[fold.number] = tuple(own[k][j] for own in by_class)
        return found

    def _models(
        self, trial: Trial, Cs: Sequence[float], fold: Fold, ideals: Ideals, n_jobs: int = 1
    ) -> list[FoldModel]:
        """The models of a trial on the training rows of a fold, for ascending Cs; none without a generator."""
        problem, (X, scaler) = self.problem, self.scaled(trial.scaling)[fold.number]
        weights = None if problem.fit_weights is None else problem.fit_weights[fold.train]
        train = ArrayRows(X[fold.train], weights, problem.codes[fold.train], n_jobs)
        found = fitted_columns(trial.columns, ideals, train, problem.max_columns)
        if found is None or found[0].n_generators == 0:
            return []
        mapping, columns = found
        signs = mapping.signs(trial.columns.monotone)
        finals = last_steps(problem.final, columns, train, problem.classes, Cs, signs, **problem.svm_limits)
        return [FoldModel(scaler, ideals, mapping, final) for final in finals]

    def _fit_fold(self, trial: Trial, Cs: Sequence[float], fold: Fold, ideals: Ideals, n_jobs: int) -> list[_Fit]:
        """What the models of a trial give on a fold, for ascending Cs; none without a generator."""
        models = self._models(trial, Cs, fold, ideals, n_jobs)
        coefs = [getattr(model.final, "coef_", None) for model in models]
        used = [np.nan if coef is None else float((np.atleast_2d(coef) != 0.0).any(axis=0).sum()) for coef in coefs]
        if self.problem.whole_model is not None:
            scores = [self._score_whole_model(trial, fold, model) for model in models]
            return [_Fit(None, *pair) for pair in zip(scores, used, strict=True)]
        test = ArrayRows(self.scaled(trial.scaling)[fold.number].X[fold.test], n_jobs=n_jobs)
        held_out = np.asarray(models[0].mapping.over(test)) if models else test.X
        return [
            _Fit(held_out @ model.final.coef_.T + model.final.intercept_, np.nan, n_used)
            for model, n_used in zip(models, used, strict=True)
        ]

    def _score_whole_model(self, trial: Trial, fold: Fold, model: FoldModel) -> float:
        """The score of the classifier that consists of the pieces of a fold, weighted if it can be."""
        problem, test = self.problem, fold.test
        scorer, weights = problem.criterion.scorer, problem.rows.sample_weight
        assert scorer is not None
        assert problem.whole_model is not None
        options = {} if weights is None or not takes_weights(scorer) else {"sample_weight": weights[test]}
        labels = problem.classes[problem.codes[test]]
        classifier = problem.whole_model(trial._replace(C=model.final.C), model)
        return float(scorer(classifier, problem.rows.X[test], labels, **options))

    def _judge(self, ideals: list[Ideals], paths: list[list[_Fit]], k: int) -> TrialScore:
        """The score of the models of all folds for the C number ``k``."""
        n_generators = [sum(len(ideal.generators_) for own in by_class for ideal in own) for by_class in ideals]
        if not all(paths):  # some fold has no generator
            judged, n_columns = Criterion.judge_folds(np.full(len(paths), np.nan)), float("nan")
        else:
            fits = [path[k] for path in paths]
            n_columns = float(np.mean([fit.n_used for fit in fits]))
            decisions = [fit.decisions for fit in fits if fit.decisions is not None]
            if decisions:
                judged = self.problem.criterion.judge(self.held_out, decisions)
            else:
                judged = Criterion.judge_folds(np.array([fit.score for fit in fits]))
        return replace(judged, n_columns=n_columns, n_generators=float(np.mean(n_generators)))
