"""The models of a cross-validation in memory from shared Gram matrices, and their scores along C.

Each class is cut into the parts that the training sets are made of: with three folds, three parts, and a
training set is two of them. Every pass over the parts serves all psi and all folds.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler

from .._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ..checks import WarningRelay
from ..engine.survey import survey
from ..ideals.ideal import VanishingIdeal
from ..ideals.path import fit_together
from ..progress import Progress
from ..rows.arrays import ArrayRows
from ..rows.reading import take_input_from
from ..svm import svms_along
from ..threads import n_threads, one_blas_thread
from .extras import ColumnOptions, Extras
from .features import FeatureMap
from .halves import FEWEST_IN_HALF, Cut
from .probabilities import ROUGHLY, calibrate
from .scoring import (
    HeldOut,
    Scores,
    equal_models,
    held_out_hits,
    held_out_log_likelihoods,
    held_out_scores,
    paired_difference,
    takes_weights,
)
from .screening import Screen

__all__ = ["Fold", "FoldIdeals", "FoldModel", "Study", "fit_ideals", "score_ideals"]

_MOST_SHARED = 62  # folds whose training sets are compared: one bit each
_MANY_ROWS = 5000  # to train on, from which on an automatic search asks the SVMs for no proof: it costs a third of them
_UNPROVEN = 0.4  # of the gap, which these only foresee: the whole of it left open 0.05 points of their scores
_MANY_COLUMNS = 150  # above which no larger C is tried than the first that is worse than a smaller one ...
_CLEARLY = 1.5  # ... by more than that many standard errors of the difference


class Fold(NamedTuple):
    """Rows to train and to test on, and the scaling that the training rows define."""

    number: int
    train: Int1D
    test: Int1D
    scaler: MinMaxScaler | None


Ideals = tuple[tuple[VanishingIdeal, ...], ...]  # for each class that of all its rows, and those of its halves


class FoldIdeals(NamedTuple):
    """The fitted estimators of all classes for one psi, fold by fold; too large, if one of them is not finished."""

    fitted: dict[int, Ideals]
    too_large: bool

    @property
    def most_generators(self) -> int:
        """The number of generators in the fold with the most of them."""
        return max(sum(len(ideal.generators_) for own in ideals for ideal in own) for ideals in self.fitted.values())


class FoldModel(NamedTuple):
    """What was fitted to the training rows of a fold for one pair of psi and C."""

    fold: Fold
    ideals: Ideals
    mapping: FeatureMap
    final: Any

    @property
    def n_used(self) -> float:
        """Number of columns with a weight; NaN where the last step is not linear."""
        coef = getattr(self.final, "coef_", None)
        return float("nan") if coef is None else float((np.atleast_2d(coef) != 0.0).any(axis=0).sum())


class FoldFit(NamedTuple):
    """One pair on one fold: the decisions on the test rows, or where these do not do, the score."""

    decisions: Float2D | None
    score: float
    model: FoldModel


@dataclass(frozen=True)
class Study:
    """What a cross-validation is about: labelled rows, an algorithm, a score, and the options.

    ``X`` are the rows as they are, or transformed once for all folds. ``weights`` count in the fit, ``score_weights``
    in the score. ``scorer`` is None for accuracy. ``final_estimator`` is the last step, whose C is set; None stands
    for :class:`~vanishing.L1SVC`.
    """

    folds: list[Fold]
    X: Array
    classes: Array
    codes: Int1D
    weights: Float1D | None
    score_weights: Float1D | None
    template: VanishingIdeal
    columns: ColumnOptions
    scorer: Callable[..., float] | None
    n_jobs: int | None
    final_estimator: Any = None
    whole_model: Callable[[FoldModel], Any] | None = None  # makes the classifier for a score that wants it and the rows
    tol: float = 1e-6  # of the SVM
    max_iter: int = 200  # Newton steps of the SVM
    screen: Screen | None = None  # of the columns, beyond which a psi of two classes is not scored
    calibrated: bool = False  # whether labels are those of calibrated decisions: matters for three classes or more
    may_mix: bool = False  # whether log-odds may mix the decisions of all classes, which makes each formula longer
    by_likelihood: bool = False  # whether pairs are chosen by the likelihood of the labels
    ascending: bool = False  # whether the Cs of many columns end, in each fold, where they become clearly worse
    keep_models: bool = False
    whole_rows: Array | None = None  # the rows as they are, for such a score

    @property
    def groups(self) -> list[list[Fold]]:
        """The folds, those whose training rows have the same ranges together: only these have Grams in common."""
        groups: dict[bytes, list[Fold]] = {}
        for fold in self.folds:
            scaler = fold.scaler
            key = b"" if scaler is None else scaler.scale_.tobytes() + scaler.min_.tobytes()
            groups.setdefault(key, []).append(fold)
        return list(groups.values())

    def rows(self, places: Int1D, fold: Fold) -> Array:
        """Some rows in the units of a fold."""
        return self.X[places] if fold.scaler is None else fold.scaler.transform(self.X[places])

    def extras(self, fold: Fold) -> Extras:
        """The columns beside the generators; hinges have their knots at quantiles of the training rows."""
        return self.columns.extras(self.rows(fold.train, fold) if self.columns.hinges else self.X)

    def weights_of(self, rows: Int1D) -> Float1D | None:
        """Weights of some rows in the fit."""
        return None if self.weights is None else self.weights[rows]

    @property
    def planes(self) -> Array:
        """The classes that have a plane against the rest."""
        return self.classes if len(self.classes) > 2 else self.classes[1:]

    def held_out(self, folds: Sequence[Fold]) -> HeldOut:
        """The rows that the folds are tested on."""
        own = self.score_weights
        return HeldOut(
            self.classes,
            [fold.test for fold in folds],
            [self.codes[fold.test] for fold in folds],
            [None if own is None else own[fold.test] for fold in folds],
            None if self.weights is None else [self.weights[fold.test] for fold in folds],
        )

    def finals(self, columns: Array, train: Int1D, Cs: Sequence[float], n_jobs: int) -> Iterator[Any]:
        """The last step for every C, ascending, fitted when it is asked for; the SVM on ``n_jobs`` threads."""
        y, weights = self.codes[train], self.weights_of(train)
        if self.final_estimator is None:
            proven = self.screen is None or len(train) < _MANY_ROWS
            limits = {"tol": self.tol * (1.0 if proven else _UNPROVEN), "max_iter": self.max_iter}
            yield from svms_along(columns, y, self.classes, Cs, weights, proven=proven, n_jobs=n_jobs, **limits)
            return
        y, options = self.classes[y], {} if weights is None else {"sample_weight": weights}
        for C in Cs:
            yield clone(self.final_estimator).set_params(C=C).fit(columns, y, **options)

    def score(self, model: Any, X: Array, test: Int1D) -> float:
        """The score of a model on rows, weighted if it can be."""
        own = self.score_weights if takes_weights(self.scorer) else None
        options = {} if own is None else {"sample_weight": own[test]}
        assert self.scorer is not None
        return float(self.scorer(model, X, self.classes[self.codes[test]], **options))


def fit_ideals(study: Study, psis: Sequence[float]) -> list[FoldIdeals]:
    """The ideals of all classes and folds for every psi, in shared passes."""
    fitted: list[dict[int, Ideals]] = [{} for _ in psis]
    for group in study.groups:
        scaler = group[0].scaler
        X = study.X if scaler is None else scaler.transform(study.X)
        models = zip(*(_ideals_of(study, X, code, psis, group) for code in range(study.codes.max() + 1)), strict=True)
        for k, ideals in enumerate(models):
            fitted[k // len(group)][group[k % len(group)].number] = ideals
    return [FoldIdeals(own, any(map(_is_unfinished, own.values()))) for own in fitted]


def _is_unfinished(ideals: Ideals) -> bool:
    return any(not ideal.complete_ and ideal.degree_ < ideal.max_degree for own in ideals for ideal in own)


def _ideals_of(
    study: Study, X: Array, code: int, psis: Sequence[float], folds: Sequence[Fold]
) -> list[tuple[VanishingIdeal, ...]]:
    """The fitted estimators of a class, and of its halves if these are asked for, fold by fold for every psi."""
    parts, members = _parts(study.codes == code, folds)
    by_fold = [[own] for own in members]
    if study.columns.halves:
        for own in by_fold:
            halves = _halves(study, X, np.concatenate([parts[k] for k in own[0]]))
            own += [(len(parts) + k,) for k in range(len(halves))]
            parts += halves
    seen = [own for fold in by_fold for own in fold]
    fits = [clone(study.template).set_params(psi=psi, n_jobs=study.n_jobs) for psi in psis for _ in seen]
    for fit in fits:
        take_input_from(study.template, fit)
    rows = [ArrayRows(X[part], study.weights_of(part), n_jobs=study.n_jobs) for part in parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the walk knows what is too large
        fit_together(fits, rows, seen * len(psis))
    fitted = iter(fits)
    return [tuple(next(fitted) for _ in own) for own in by_fold * len(psis)]


def _halves(study: Study, X: Array, rows: Int1D) -> list[Int1D]:
    """The rows of a class on either side of its cut; none where one side has too few."""
    whole = ArrayRows(X[rows], study.weights_of(rows), n_jobs=study.n_jobs)
    above = Cut.of(survey(whole).gram).above(whole.X)
    halves = [rows[~above], rows[above]]
    return halves if min(map(len, halves)) >= FEWEST_IN_HALF else []


def _parts(chosen: Bool1D, folds: Sequence[Fold]) -> tuple[list[Int1D], list[tuple[int, ...]]]:
    """The chosen rows cut into parts that training sets have in common, and the parts of each training set."""
    rows = np.flatnonzero(chosen)
    times = np.array([np.bincount(fold.train, minlength=chosen.size)[rows] for fold in folds])
    if times.max() > 1 or len(folds) > _MOST_SHARED:
        return _apart(chosen, folds)
    bits = np.arange(len(folds))[::-1]
    codes = times.T @ (1 << bits)  # the folds of a row as the bits of a number
    found, part_of = np.unique(codes, return_inverse=True)
    if found.size > 2 * len(folds):  # drawn at random, with little in common
        return _apart(chosen, folds)
    used = np.flatnonzero(found)
    members = [tuple(np.flatnonzero(found[used] >> k & 1).tolist()) for k in bits]
    return [rows[part_of == k] for k in used], members


def _apart(chosen: Bool1D, folds: Sequence[Fold]) -> tuple[list[Int1D], list[tuple[int, ...]]]:
    """The chosen rows of each training set as a part of its own."""
    return [fold.train[chosen[fold.train]] for fold in folds], [(k,) for k in range(len(folds))]


class _Task(NamedTuple):
    """The models of a fold for psis that give the same generators in it."""

    fold: Fold
    psis: list[int]
    ideals: Ideals
    mapping: FeatureMap

    @property
    def n_entries(self) -> int:
        """Numbers in the columns of all rows."""
        return (len(self.fold.train) + len(self.fold.test)) * self.mapping.n_columns


def score_ideals(
    study: Study, ideals: Sequence[FoldIdeals], Cs: Sequence[float], progress: Progress, *, at_least: int = 0
) -> Scores:
    """Train and score every pair of psi and C on every fold, from the ideals of every psi.

    Where the study bounds the columns, pairs beyond are left out, but for the first ``at_least`` psis.
    """
    result = Scores.empty(len(ideals), len(Cs), len(study.folds))
    tasks = _tasks(study, ideals, result.too_large, at_least)
    order = np.argsort(Cs, kind="stable").tolist()
    # Fits of another last step may share state: liblinear's draw from the same random numbers.
    threads = n_threads(study.n_jobs) if study.final_estimator is None else 1
    fit = partial(
        _fit_fold,
        study,
        [Cs[c] for c in order],
        _UsedMemory(max((task.n_entries for task in tasks), default=0)),
        max(threads // max(len(tasks), 1), 1),  # for few tasks of many rows
    )
    with warnings.catch_warnings(), WarningRelay() as relay, one_blas_thread, ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
        try:
            for task, done in [(task, pool.submit(relay.task(fit), task)) for task in tasks]:
                for c, found in zip(order, done.result(), strict=False):  # larger Cs may be left out
                    result.keep(task.psis, c, task.fold.number, found, models=study.keep_models)
                result.n_generators[task.psis, task.fold.number] = task.mapping.n_generators
                progress.advance(len(task.psis))
        except BaseException:  # an interrupt, too: the other tasks are not needed
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if study.final_estimator is None and study.whole_model is None:  # decisions are all that the score needs
        _score_decisions(study, result)
    if not study.by_likelihood:
        result.choice = result.scores
    return result


def _tasks(study: Study, ideals: Sequence[FoldIdeals], too_large: Bool1D, at_least: int) -> list[_Task]:
    """What has to be fitted, the longest first; marks the psis that are too large."""
    too_large[:] = [own.too_large for own in ideals]
    extras = [study.extras(fold) for fold in study.folds]
    tasks, screen, n_classes = [], study.screen, len(study.classes)
    by_fold = ((i, fold.number, own.fitted[fold.number]) for i, own in enumerate(ideals) for fold in study.folds)
    for k, same in equal_models(by_fold):
        fitted = ideals[same[0]].fitted[k]
        mapping = FeatureMap.of(fitted, extras[k], study.columns.features)
        if screen is not None and mapping.n_columns > screen.beyond and not screen.needed(mapping, n_classes):
            too_large[same] = True
        tasks.append(_Task(study.folds[k], same, fitted, mapping))
    if screen is not None:  # an automatic walk needs no pairs that it will not take
        tasks = [task for task in tasks if not too_large[task.psis].all() or task.psis[0] < at_least]
    return sorted(tasks, key=lambda task: -task.mapping.n_columns)


def _score_decisions(study: Study, result: Scores) -> None:
    """Score the pairs whose decisions on the held-out rows of every fold are known."""
    rows = study.held_out(study.folds)
    for pair, decisions in result.held_out.items():
        if any(own is None for own in decisions):
            continue
        if study.calibrated:
            result.calibrations[pair] = calibrate(*rows.together(decisions), tol=ROUGHLY)
        answers = result.answers(pair)
        result.scores[pair] = held_out_scores(study.scorer, rows, answers)
        if study.by_likelihood:
            result.choice[pair] = held_out_log_likelihoods(rows, answers)


class _UsedMemory(threading.local):
    """Memory for ``n_entries`` numbers that this thread has used before: fresh memory is slow."""

    def __init__(self, n_entries: int):
        self._n_entries, self._entries = n_entries, np.empty(0)

    @property
    def entries(self) -> Float1D:
        """The memory, allocated when this thread first asks for it."""
        if self._entries.size < self._n_entries:
            self._entries = np.empty(self._n_entries)
        return self._entries


def _fit_fold(study: Study, Cs: Sequence[float], memory: _UsedMemory, n_jobs: int, task: _Task) -> list[FoldFit]:
    """The fits of a task for ascending Cs; none without generators."""
    fold, mapping = task.fold, task.mapping
    if mapping.n_generators == 0:
        return []
    room = memory.entries if study.final_estimator is None else None  # other last steps may keep their columns
    train, weights = study.rows(fold.train, fold), study.weights_of(fold.train)
    cut = len(train) * mapping.n_columns
    columns = _columns_of(mapping, train, None if room is None else room[:cut], n_jobs)
    if study.screen is not None and study.screen.needed(mapping, len(study.classes)):
        chosen = study.screen.chosen(mapping, columns, study.codes[fold.train], weights)
        mapping, columns = mapping.select(chosen), np.ascontiguousarray(columns[:, chosen])
    mapping = mapping.fitted_by(columns, weights, np.abs(train).max(axis=0), scale=study.columns.scale)
    models = (FoldModel(fold, task.ideals, mapping, final) for final in study.finals(columns, fold.train, Cs, n_jobs))
    if study.whole_model is not None:
        assert study.whole_rows is not None
        held_out = study.whole_rows[fold.test]
        return [FoldFit(None, study.score(study.whole_model(model), held_out, fold.test), model) for model in models]
    held_out = _columns_of(mapping, study.rows(fold.test, fold), None if room is None else room[cut:], n_jobs)
    if study.final_estimator is not None:
        return [FoldFit(None, study.score(model.final, held_out, fold.test), model) for model in models]
    return _fits_along(study, fold, models, held_out)


def _columns_of(mapping: FeatureMap, rows: Array, room: Float1D | None, n_jobs: int) -> Array:
    shape = (len(rows), mapping.n_columns)
    out = None if room is None else room[: shape[0] * shape[1]].reshape(shape)
    return np.asarray(mapping.over(ArrayRows(rows, n_jobs=n_jobs), out))


def _fits_along(study: Study, fold: Fold, models: Iterator[FoldModel], held_out: Array) -> list[FoldFit]:
    """The fits of models with ascending C; where columns are many, up to the first that is clearly worse."""
    rows, fits, best = study.held_out([fold]), [], None
    race = study.ascending and held_out.shape[1] > _MANY_COLUMNS
    for model in models:
        decisions = held_out @ model.final.coef_.T + model.final.intercept_
        fits.append(FoldFit(decisions, np.nan, model))
        if race:
            hits, weights = rows.by_row(held_out_hits(rows, [decisions]))
            lead, error = (-1.0, 0.0) if best is None else paired_difference(best, hits, weights)
            if lead > _CLEARLY * error:
                break
            best = hits if lead < 0.0 else best
    return fits
