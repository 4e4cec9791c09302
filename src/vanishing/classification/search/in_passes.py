"""Scores of trials by cross-validation in passes over the data, for rows that are not in memory.

A row's fold is a hash of its place. The first pass surveys every class of every fold; from then on all psi, folds and
classes go through the data together: first their ideals, degree by degree, then their SVMs, step by step.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler

from ..._typing import Float1D, Float2D
from ...checks import quoted
from ...engine.survey import Survey, first_units, require_finite_survey, scaled_rows, scaler_of_range, surveys_if_any
from ...ideals.ideal import VanishingIdeal
from ...ideals.path import fit_together
from ...progress import Progress
from ...rows.labels import Labelled
from ...rows.protocol import Rows
from ...rows.reading import take_input_from
from ...rows.sampling import InFolds, NumberFolds
from ...rows.together import together
from ...svm import L1SVC
from ...threads import one_blas_thread
from ..model.columns import Columns
from ..model.features import FeatureMap
from .in_memory import Ideals
from .scoring import Criterion, tabulated_score
from .strategies import Trial, TrialScore


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


class InPasses:
    """Cross-validation of trials in passes over rows that are not in memory.

    All trials have one scaling and one set of columns, so that their models go through the data together. Hinges have
    their knots at quantiles of ``head``, some of the rows.
    """

    def __init__(
        self,
        folds: Folds,
        template: VanishingIdeal,
        scorer: Callable[..., float],
        head: Float2D | None,
        n_jobs: int | None,
        progress: Progress,
    ):
        self.folds, self.template, self.scorer, self.head = folds, template, scorer, head
        self.n_jobs, self._progress = n_jobs, progress

    def evaluate(self, trials: Sequence[Trial]) -> list[TrialScore]:
        """The scores of trials, in their order."""
        psis, Cs = list(dict.fromkeys(trial.psi for trial in trials)), sorted({trial.C for trial in trials})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
            ideals = self._ideals(psis)
            found = self._fit_all(ideals, Cs, trials[0].columns)
        return [self._judge(trial, psis.index(trial.psi), ideals, found) for trial in trials]

    def _judge(
        self, trial: Trial, i: int, ideals: dict[tuple[int, int], Ideals], found: dict[Any, tuple[float, float]]
    ) -> TrialScore:
        folds = range(self.folds.number)
        nothing = float("nan"), float("nan")
        scores, n_used = np.array([found.get((i, j, trial.C), nothing) for j in folds]).T
        n_generators = float(np.mean([sum(len(ideal.generators_) for (ideal,) in ideals[i, j]) for j in folds]))
        return replace(Criterion.judge_folds(scores), n_columns=float(n_used.mean()), n_generators=n_generators)

    def _ideals(self, psis: Sequence[float]) -> dict[tuple[int, int], Ideals]:
        """For each psi and fold the fitted estimators of all classes, from shared passes."""
        folds, data = self.folds, self.folds.data
        models: dict[tuple[int, int], Ideals] = {
            (i, j): tuple((clone(self.template).set_params(psi=psi, n_jobs=self.n_jobs),) for _ in data.keys)
            for i, psi in enumerate(psis)
            for j in range(folds.number)
        }

        def fit(source: Rows, j: int, k: int) -> None:
            own = [models[i, j][k][0] for i in range(len(psis))]
            for model in own:
                take_input_from(self.template, model)
            parts = [folds.rows(source, j, (i,)).where_label(data.keys[k]) for i in folds.others(j)]
            surveys = [folds.surveys[j][k][i] for i in folds.others(j)]
            fit_together(own, parts, [tuple(range(len(parts)))] * len(own), surveys)

        tasks = [partial(fit, j=j, k=k) for j in range(folds.number) for k in range(len(data.keys))]
        together(data.rows, tasks)
        return models

    def _fit_all(
        self, ideals: dict[tuple[int, int], Ideals], Cs: list[float], columns: Columns
    ) -> dict[tuple[int, int, float], tuple[float, float]]:
        """Score and number of columns with a weight, for each psi, fold and C; equal generators are fitted once."""
        same: dict[tuple[int, bytes], list[int]] = {}
        for (i, j), own in ideals.items():
            forms = pickle.dumps([ideal.generators_.form for (ideal,) in own])
            same.setdefault((j, forms), []).append(i)
        found: dict[tuple[int, int, float], tuple[float, float]] = {}

        def fit(source: Rows, j: int, psis: list[int]) -> None:
            scaler = self.folds.scalers[j]
            head = self.head if self.head is None or scaler is None else scaler.transform(self.head)
            mapping = FeatureMap.of(ideals[psis[0], j], columns, head)
            if mapping.n_generators:
                for C, result in self._fit_fold(mapping, source, j, Cs, scale=columns.scale_features).items():
                    found.update(dict.fromkeys([(i, j, C) for i in psis], result))
            self._progress.advance(len(psis))

        with one_blas_thread:
            together(self.folds.data.rows, [partial(fit, j=j, psis=psis) for (j, _), psis in same.items()])
        return found

    def _fit_fold(
        self, mapping: FeatureMap, source: Rows, j: int, Cs: list[float], *, scale: bool
    ) -> dict[float, tuple[float, float]]:
        """Score and number of columns with a weight on one fold, for every C."""
        folds, data = self.folds, self.folds.data
        train, test = folds.rows(source, j, folds.others(j)), folds.rows(source, j, (j,))
        mapping = mapping.fitted_on(train, folds.reach(j), scale=scale)
        svms = [L1SVC(C, n_jobs=self.n_jobs) for C in Cs]
        svms[0]._fit_from(Cs, data._replace(rows=mapping.columns_of(train)), svms)
        found = {}
        for svm in svms:
            table = mapping.confusion(test, svm.coef_, svm.intercept_, data.keys)
            n_used = float((svm.coef_ != 0.0).any(axis=0).sum())
            found[svm.C] = tabulated_score(self.scorer, table, data.classes, data.classes), n_used
        return found
