"""Classifiers for pairs of psi and C: fitted to all rows, put together from the pieces of a fold, or averaged."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from .._typing import Array, Float1D
from ..rows.labels import Labelled
from ..rows.reading import take_input_from
from ..rows.sampling import Sample
from .classifier import VanishingIdealClassifier
from .crossval import FoldModel
from .extras import ColumnOptions
from .per_class import PerClass
from .probabilities import Calibration, calibrate
from .results import Pair, Searched
from .transforms import InputTransform

__all__ = ["fold_classifier", "members", "refit_pair"]

_SAMPLED_TOL = 1e-3  # relative duality gap of the SVM after a search on a sample: on a part of the rows, if these do
_MEMBER_PSIS = 3  # whose models are averaged, at most, for each scaling


def _classifier(search: Any, scaling: Any, columns: ColumnOptions, psi: float, C: float) -> VanishingIdealClassifier:
    """The classifier to be fitted, with the options of a search."""
    final = search.final_estimator
    return VanishingIdealClassifier(
        clone(search._template()).set_params(psi=psi),
        final_estimator=None if final is None else clone(final).set_params(C=C),
        scale_input=scaling,
        features=columns.features,
        append_input=columns.append_input,
        hinges=columns.hinges,
        monomials=columns.monomials,
        halves=columns.halves,
        scale_features=columns.scale,
        class_weight=search.class_weight,
        n_jobs=search.n_jobs,
        C=C,
    )


def fold_classifier(
    fitted: FoldModel, search: Any, scaling: Any, classes: Array, transform: InputTransform | None
) -> VanishingIdealClassifier:
    """The classifier that consists of the pieces of a fold."""
    model = _classifier(search, scaling, ColumnOptions.of(search, auto=True), fitted.ideals[0][0].psi, fitted.final.C)
    per_class = PerClass(model.estimator, halves=model.halves)
    per_class._store(classes, fitted.ideals)
    for part in (per_class, model):
        take_input_from(search, part)
    scaler = fitted.fold.scaler if transform is None else transform
    model._store(classes, scaler, per_class, fitted.mapping, fitted.final)
    return model


def refit_pair(
    search: Any, data: Labelled, searched: Searched, pair: Pair, sample: Sample | None
) -> VanishingIdealClassifier:
    """The classifier of a pair fitted to all rows, its decisions calibrated if they can be.

    ``sample`` holds the rows that were searched, if these are not all.
    """
    study = searched.study
    columns, screen = (ColumnOptions.of(search, auto=True), None) if study is None else (study.columns, study.screen)
    model = _classifier(search, searched.scaling, columns, searched.psis[pair[0]], searched.Cs[pair[1]])
    tol = 1e-6 if sample is None else _SAMPLED_TOL
    model._fit_labelled(search, data, sample, tol, search.max_columns, screen)
    _calibrate([model], search, searched, pair)
    return model


def _calibrate(models: list[VanishingIdealClassifier], search: Any, searched: Searched, pair: Pair) -> None:
    calibration = searched.calibration(pair) if search.probability else None
    if calibration is not None:
        for model in models:
            model._calibrate(calibration)


def members(
    search: Any, data: Labelled, searches: list[Searched], sample: Sample | None, known: dict[Pair, Any]
) -> tuple[list[VanishingIdealClassifier], Float1D]:
    """The models to average and their weights: of three psi at most for each scaling that is good enough.

    A scaling counts if its best score is within one standard error of that of the first. The models of the folds,
    which know fewer rows, weigh as much together as those fitted to all rows; ``known`` holds some of these.
    """
    first = searches[0]
    enough = _best_score(first) - first.standard_error(first.best)
    near = [first, *(other for other in searches[1:] if _best_score(other) >= enough)]
    pairs = [(searched, pair) for searched in near for pair in searched.best_by_psi(_MEMBER_PSIS)]
    again = _recalibration(pairs) if search.probability else None
    models, weights = [], []
    for searched, pair in pairs:
        pieces = searched.scores.models[pair]
        own = [fold_classifier(each, search, searched.scaling, data.classes, searched.transform) for each in pieces]
        _calibrate(own, search, searched, pair)
        whole = known.get(pair) if searched is first else None
        own.append(refit_pair(search, data, searched, pair, sample) if whole is None else copy(whole))
        for model in own:
            if again is not None and model._calibration is not None:
                model._calibrate(model._calibration.followed_by(again))
        models += own
        weights += [0.5 / len(pieces)] * len(pieces) + [0.5]
    return models, np.array(weights) / len(pairs)


def _recalibration(pairs: list[tuple[Searched, Pair]]) -> Calibration | None:
    """The calibration of the mean of the log-odds of these pairs, which errs less than each, on held-out rows."""
    study = pairs[0][0].study
    log_odds = []
    for searched, pair in pairs:
        calibration = searched.calibration(pair)
        if calibration is None:
            return None
        log_odds.append([calibration.limited(calibration(own)) for own in searched.scores.held_out[pair]])
    assert study is not None
    means = [np.mean(own, axis=0) for own in zip(*log_odds, strict=True)]
    return calibrate(*study.held_out(study.folds).together(means), reach=np.inf)


def _best_score(searched: Searched) -> float:
    return float(searched.scores.choice[searched.best].mean())
