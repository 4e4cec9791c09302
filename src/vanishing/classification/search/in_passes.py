"""Scores of trials by cross-validation in passes over the data, for rows that are not in memory.

A row's fold is a hash of its place. The first pass surveys every class of every fold; from then on all psi, folds and
classes go through the data together: first their ideals, degree by degree, then their SVMs, step by step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

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
        """The largest variance of a column within a class, in the units of the folds."""
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
        n_folds = self.folds.number
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
            ideals = self._ideals(psis)
            tasks = [
                partial(self._fit_fold, Cs=Cs, j=j, ideals=own, columns=trials[0].columns)
                for by_fold in ideals
                for j, own in enumerate(by_fold)
            ]
            fits = together(self.folds.data.rows, tasks)
        by_psi = {psi: (ideals[k], fits[k * n_folds : (k + 1) * n_folds]) for k, psi in enumerate(psis)}
        return [self._judge(*by_psi[trial.psi], Cs.index(trial.C)) for trial in trials]

    def _judge(self, ideals: list[Ideals], paths: list[list[tuple[float, float]]], k: int) -> TrialScore:
        """The score of the models of all folds for the C number ``k``; NaN where some fold has no generator."""
        scores, n_used = np.array([path[k] if path else (np.nan, np.nan) for path in paths]).T
        n_generators = float(np.mean([sum(len(ideal.generators_) for (ideal,) in own) for own in ideals]))
        return replace(Criterion.judge_folds(scores), n_columns=float(n_used.mean()), n_generators=n_generators)

    def _ideals(self, psis: Sequence[float]) -> list[list[Ideals]]:
        """The ideals of all classes, for each psi fold by fold, from shared passes."""
        folds, data = self.folds, self.folds.data

        def fit(source: Rows, j: int, k: int) -> list[VanishingIdeal]:
            models = [clone(self.template).set_params(psi=psi, n_jobs=self.n_jobs) for psi in psis]
            for model in models:
                take_input_from(self.template, model)
            parts = [folds.rows(source, j, (i,)).where_label(data.keys[k]) for i in folds.others(j)]
            surveys = [folds.surveys[j][k][i] for i in folds.others(j)]
            fit_together(models, parts, [tuple(range(len(parts)))] * len(models), surveys)
            return models

        n_classes = len(data.keys)
        found = together(data.rows, [partial(fit, j=j, k=k) for j in range(folds.number) for k in range(n_classes)])
        by_fold = [found[j * n_classes : (j + 1) * n_classes] for j in range(folds.number)]
        return [[tuple((models[i],) for models in by_class) for by_class in by_fold] for i in range(len(psis))]

    def _fit_fold(
        self, source: Rows, Cs: list[float], j: int, ideals: Ideals, columns: Columns
    ) -> list[tuple[float, float]]:
        """Score and number of columns with a weight on a fold, for ascending Cs; none without a generator."""
        folds, data = self.folds, self.folds.data
        scaler, train, test = folds.scalers[j], folds.rows(source, j, folds.others(j)), folds.rows(source, j, (j,))
        head = self.head if self.head is None or scaler is None else scaler.transform(self.head)
        mapping, found = FeatureMap.of(ideals, columns, head), []
        if mapping.n_generators:
            mapping = mapping.fitted_on(train, folds.reach(j), scale=columns.scale_features)
            svms = [L1SVC(C, n_jobs=self.n_jobs) for C in Cs]
            signs = mapping.signs(columns.monotone)
            svms[0]._fit_from(Cs, data._replace(rows=mapping.columns_of(train)), svms, signs)
            for svm in svms:
                table = mapping.confusion(test, svm.coef_, svm.intercept_, data.keys)
                n_used = float((svm.coef_ != 0.0).any(axis=0).sum())
                found.append((tabulated_score(self.scorer, table, data.classes, data.classes), n_used))
        self._progress.advance(1)
        return found
