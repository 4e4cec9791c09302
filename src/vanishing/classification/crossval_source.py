"""Cross-validation in passes over the data, for rows that are not in memory.

A row's fold is a hash of its place. The first pass surveys every class of every fold; from then on all psi, folds and
classes go through the data together: first their ideals, degree by degree, then their SVMs, step by step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler

from .._typing import Array, Float1D
from ..checks import quoted
from ..engine.survey import Survey, first_units, require_finite_survey, scaled_rows, scaler_of_range, surveys_if_any
from ..ideals.ideal import VanishingIdeal
from ..ideals.path import fit_together
from ..progress import Progress
from ..rows.folds import InFolds, NumberFolds
from ..rows.labels import Labelled
from ..rows.protocol import Rows
from ..rows.reading import take_input_from
from ..rows.together import together
from ..svm import L1SVC
from ..threads import one_blas_thread
from .extras import ColumnOptions, Extras
from .features import FeatureMap
from .scoring import Scores, equal_models, tabulated_score

__all__ = ["Folds", "Options", "score_source", "survey_folds"]


class Folds(NamedTuple):
    """The folds of a source: for each the scaling that its training rows define (None: none).

    ``surveys[j][k]`` holds, in the units of fold j, the surveys of class k in each fold.
    """

    data: Labelled
    scalers: list[MinMaxScaler | None]
    surveys: list[list[list[Survey]]]

    @property
    def number(self) -> int:
        """How many folds there are."""
        return len(self.scalers)

    def rows(self, source: Rows, j: int, folds: tuple[int, ...]) -> Rows:
        """The rows of some folds in the units of fold j."""
        scaler = self.scalers[j]
        inside = source.changed(InFolds(folds))
        return inside if scaler is None else inside.scaled(scaler.scale_, scaler.min_)

    def others(self, j: int) -> tuple[int, ...]:
        """The folds that fold j is trained on."""
        return tuple(i for i in range(self.number) if i != j)

    def reach(self, j: int) -> Float1D:
        """The largest absolute value of every column on the rows that fold j is trained on, in its units."""
        parts = [by_fold[i] for by_fold in self.surveys[j] for i in self.others(j)]
        return np.asarray(np.max([np.maximum(np.abs(part.low), np.abs(part.high)) for part in parts], axis=0))

    def largest_variance(self) -> float:
        """Of a column within a class, in the units of the folds."""
        variances = []
        for classes in self.surveys:
            for parts in classes:
                gram = Survey.of_parts(parts).gram
                variances.append(np.diag(gram)[1:] - gram[0, 1:] ** 2)
        return float(np.max(variances))


class Options(NamedTuple):
    """What a search has to know besides the data."""

    template: VanishingIdeal
    Cs: Sequence[float]
    scorer: Callable[..., float]
    columns: ColumnOptions
    extras: Extras
    n_jobs: int | None


def survey_folds(data: Labelled, n_folds: int, names: Sequence[str], *, scale_input: bool, ahead: bool) -> Folds:
    """The first pass: ranges and Grams of every class in every fold, in the units of every fold."""
    data = data._replace(rows=data.rows.changed(NumberFolds(n_folds)))
    rows = scaled_rows(data.rows, first_units(data.rows)) if scale_input else data.rows
    parts = [rows.changed(InFolds((i,))).where_label(key) for key in data.keys for i in range(n_folds)]
    raw = [data.rows.changed(InFolds((i,))).where_label(key) for key in data.keys for i in range(n_folds)]
    flat = surveys_if_any(parts, raw=raw if scale_input else (), ahead=ahead)
    for number, survey in enumerate(flat):
        if survey is None or survey.total_weight == 0.0:
            label = quoted(data.classes[number // n_folds])
            raise ValueError(f"Class {label} has no rows in fold {number % n_folds}: lower cv, or leave out the class.")
    whole = [survey for survey in flat if survey is not None]
    require_finite_survey(whole, data.rows, names)
    by_class = [whole[k : k + n_folds] for k in range(0, len(whole), n_folds)]
    if not scale_input:
        return Folds(data, [None] * n_folds, [by_class] * n_folds)
    scalers, converted = [], []
    for j in range(n_folds):
        train = Survey.of_parts([parts[i] for parts in by_class for i in range(n_folds) if i != j])
        again = scaler_of_range(train.low, train.high, train.n_samples)
        assert train.raw_range is not None
        scalers.append(scaler_of_range(*train.raw_range, train.n_samples))
        converted.append([[part.scaled(again.scale_, again.min_) for part in parts] for parts in by_class])
    return Folds(data, scalers, converted)


def score_source(folds: Folds, options: Options, psis: Sequence[float], progress: Progress) -> Scores:
    """Train and score every pair of psi and C on every fold."""
    result = Scores.empty(len(psis), len(options.Cs), folds.number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
        ideals = _ideals(folds, options, psis, result.too_large)
        _score(folds, options, ideals, result, progress)
    result.choice = result.scores
    return result


def _ideals(
    folds: Folds, options: Options, psis: Sequence[float], too_large: Array
) -> dict[tuple[int, int], list[list[VanishingIdeal]]]:
    """For each psi and fold the fitted estimators of all classes, from shared passes; marks the psi too large."""
    data = folds.data
    models: dict[tuple[int, int], list[list[VanishingIdeal]]] = {
        (i, j): [[clone(options.template).set_params(psi=psi, n_jobs=options.n_jobs)] for _ in data.keys]
        for i, psi in enumerate(psis)
        for j in range(folds.number)
    }

    def fit(source: Rows, j: int, k: int) -> None:
        own = [models[i, j][k][0] for i in range(len(psis))]
        for model in own:
            take_input_from(options.template, model)
        parts = [folds.rows(source, j, (i,)).where_label(data.keys[k]) for i in folds.others(j)]
        surveys = [folds.surveys[j][k][i] for i in folds.others(j)]
        fit_together(own, parts, [tuple(range(len(parts)))] * len(own), surveys)

    tasks = [partial(fit, j=j, k=k) for j in range(folds.number) for k in range(len(data.keys))]
    together(data.rows, tasks)
    for (i, _), fitted in models.items():
        too_large[i] |= any(not model.complete_ and model.degree_ < model.max_degree for (model,) in fitted)
    return models


def _score(
    folds: Folds,
    options: Options,
    ideals: dict[tuple[int, int], list[list[VanishingIdeal]]],
    result: Scores,
    progress: Progress,
) -> None:
    """Fill in the scores; neighbouring psi often give the same generators and share them."""

    def score(source: Rows, j: int, same: list[int]) -> None:
        mapping = FeatureMap.of(ideals[same[0], j], options.extras, options.columns.features)
        if mapping.n_generators:
            result.scores[same, :, j], result.n_used[same, :, j] = _fold_scores(folds, options, mapping, source, j)
        result.n_generators[same, j] = mapping.n_generators
        progress.advance(len(same))

    tasks = [partial(score, j=j, same=same) for j, same in equal_models((i, j, own) for (i, j), own in ideals.items())]
    with one_blas_thread:
        together(folds.data.rows, tasks)


def _fold_scores(folds: Folds, options: Options, mapping: FeatureMap, source: Rows, j: int) -> tuple[Float1D, Float1D]:
    """Scores and numbers of columns with a weight, for every C."""
    data, Cs = folds.data, sorted(options.Cs)
    train, test = folds.rows(source, j, folds.others(j)), folds.rows(source, j, (j,))
    mapping = mapping.fitted_on(train, folds.reach(j), scale=options.columns.scale)
    svms = [L1SVC(C, n_jobs=options.n_jobs) for C in Cs]
    svms[0]._fit_from(Cs, data._replace(rows=mapping.columns_of(train)), svms)
    scores, n_used = {}, {}
    for svm in svms:
        table = mapping.confusion(test, svm.coef_, svm.intercept_, data.keys)
        scores[svm.C] = tabulated_score(options.scorer, table, data.classes, data.classes)
        n_used[svm.C] = float((svm.coef_ != 0.0).any(axis=0).sum())
    return np.array([scores[C] for C in options.Cs]), np.array([n_used[C] for C in options.Cs])
