"""Cross-validation in passes over the data, for rows that are not in memory.

A row's fold is a hash of its place. The first pass surveys every class of every fold; from then on all psi, folds and
classes go through the data together: first their ideals, degree by degree, then their SVMs, step by step.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler

from .._typing import Array, Float1D, Float2D
from ..checks import quoted, take_input_from
from ..engine.scaling import first_units, require_finite_survey, scaled_rows, scaler_of_range
from ..engine.survey import Survey, surveys_if_any
from ..ideals.ideal import VanishingIdeal
from ..ideals.path import fit_together
from ..progress import Progress
from ..rows.folds import InFolds, NumberFolds
from ..rows.labels import Labelled
from ..rows.protocol import Rows
from ..rows.together import together
from ..svm import L1SVC
from ..threads import one_blas_thread
from .crossval import Scores
from .features import FeatureMap

__all__ = ["Folds", "Options", "score_source", "survey_folds", "tabulated_score"]


class Folds(NamedTuple):
    """The folds of a source: for each the scaling that its training rows define (None: none).

    ``found[j][k]`` holds, in the units of fold j, the surveys of class k in each fold.
    """

    data: Labelled
    scalers: list[MinMaxScaler | None]
    found: list[list[list[Survey]]]

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
        found = [parts[i] for parts in self.found[j] for i in self.others(j)]
        return np.asarray(np.max([np.maximum(np.abs(part.low), np.abs(part.high)) for part in found], axis=0))

    def largest_variance(self) -> float:
        """Of a column within a class, in the units of the folds."""
        variances = []
        for classes in self.found:
            for parts in classes:
                gram = Survey.of_parts(parts).gram
                variances.append(np.diag(gram)[1:] - gram[0, 1:] ** 2)
        return float(np.max(variances))


class Options(NamedTuple):
    """What a search has to know besides the data."""

    template: VanishingIdeal
    Cs: Sequence[float]
    scorer: Callable[..., float]
    scale_features: bool
    append_input: bool
    n_jobs: int | None


def survey_folds(data: Labelled, n_folds: int, names: Sequence[str], *, scale_input: bool, ahead: bool) -> Folds:
    """The first pass: ranges and Grams of every class in every fold, in the units of every fold."""
    data = data._replace(rows=data.rows.changed(NumberFolds(n_folds)))
    rows = scaled_rows(data.rows, first_units(data.rows)) if scale_input else data.rows
    parts = [rows.changed(InFolds((i,))).where_label(key) for key in data.keys for i in range(n_folds)]
    raw = [data.rows.changed(InFolds((i,))).where_label(key) for key in data.keys for i in range(n_folds)]
    flat = surveys_if_any(parts, raw=raw if scale_input else (), ahead=ahead)
    for number, found in enumerate(flat):
        if found is None or found.total_weight == 0.0:
            label = quoted(data.classes[number // n_folds])
            raise ValueError(f"Class {label} has no rows in fold {number % n_folds}: lower cv, or leave out the class.")
    whole = [found for found in flat if found is not None]
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
    result = Scores(
        np.full((len(psis), len(options.Cs), folds.number), np.nan),
        np.zeros((len(psis), folds.number), dtype=np.int64),
        np.zeros(len(psis), dtype=bool),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
        ideals = _ideals(folds, options, psis, result.too_large)
        _score(folds, options, ideals, result, progress)
    return result


def _ideals(
    folds: Folds, options: Options, psis: Sequence[float], too_large: Array
) -> dict[tuple[int, int], list[VanishingIdeal]]:
    """For each psi and fold the fitted estimators of all classes, from shared passes; marks the psi too large."""
    data = folds.data
    models: dict[tuple[int, int], list[VanishingIdeal]] = {
        (i, j): [clone(options.template).set_params(psi=psi, n_jobs=options.n_jobs) for _ in data.keys]
        for i, psi in enumerate(psis)
        for j in range(folds.number)
    }

    def fit(source: Rows, j: int, k: int) -> None:
        own = [models[i, j][k] for i in range(len(psis))]
        for model in own:
            take_input_from(options.template, model)
        parts = [folds.rows(source, j, (i,)).where_label(data.keys[k]) for i in folds.others(j)]
        found = [folds.found[j][k][i] for i in folds.others(j)]
        fit_together(own, parts, [tuple(range(len(parts)))] * len(own), found)

    tasks = [partial(fit, j=j, k=k) for j in range(folds.number) for k in range(len(data.keys))]
    together(data.rows, tasks)
    for (i, _), fitted in models.items():
        too_large[i] |= any(not model.complete_ and model.degree_ < model.max_degree for model in fitted)
    return models


def _score(
    folds: Folds,
    options: Options,
    ideals: dict[tuple[int, int], list[VanishingIdeal]],
    result: Scores,
    progress: Progress,
) -> None:
    """Fill in the scores; neighbouring psi often give the same generators and share them."""
    known: dict[tuple[int, bytes], list[int]] = {}
    for (i, j), fitted in ideals.items():
        forms = pickle.dumps([ideal.generators_.form for ideal in fitted])
        known.setdefault((j, forms), []).append(i)

    def score(source: Rows, j: int, same: list[int]) -> None:
        mapping = FeatureMap.of(ideals[same[0], j], append_input=options.append_input)
        if mapping.n_generators:
            result.scores[same, :, j] = _fold_scores(folds, options, mapping, source, j)
        result.n_generators[same, j] = mapping.n_generators
        progress.advance(len(same))

    tasks = [partial(score, j=j, same=same) for (j, _), same in known.items()]
    with one_blas_thread():
        together(folds.data.rows, tasks)


def _fold_scores(folds: Folds, options: Options, mapping: FeatureMap, source: Rows, j: int) -> Float1D:
    """Scores for every C."""
    data, Cs = folds.data, sorted(options.Cs)
    train, test = folds.rows(source, j, folds.others(j)), folds.rows(source, j, (j,))
    mapping = mapping.fitted_on(train, folds.reach(j), scale=options.scale_features)
    svms = [L1SVC(C, n_jobs=options.n_jobs) for C in Cs]
    svms[0]._fit_from(Cs, data._replace(rows=mapping.columns_of(train)), svms)
    scores = {
        svm.C: tabulated_score(
            options.scorer, mapping.confusion(test, svm.coef_, svm.intercept_, data.keys), data.classes, data.classes
        )
        for svm in svms
    }
    return np.array([scores[C] for C in options.Cs])


class _Tabulated(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that knows what it said."""

    def __init__(self, classes: Array, said: Array):
        self.classes_ = classes
        self.said = said

    def predict(self, X: Any) -> Array:
        """What it said of the rows whose numbers are given."""
        return np.asarray(self.said[np.asarray(X)[:, 0]])


def tabulated_score(scorer: Callable[..., float], table: Float2D, labels: Array, classes: Array) -> float:
    """A score of predictions, from how much weight of the rows of each label was taken for each class."""
    true, said = np.nonzero(table)
    numbers = np.arange(len(true))[:, None]
    model = _Tabulated(classes, classes[said])
    return float(scorer(model, numbers, labels[true], sample_weight=table[true, said]))
