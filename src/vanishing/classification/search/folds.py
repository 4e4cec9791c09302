"""The folds of a cross-validation in memory, and the ideals of their training rows.

Each class is cut into the parts that training sets share: with three folds, three parts, and a training set is two of
them. Grams add over rows, so one pass over the parts serves every psi and every fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, check_cv

from ..._typing import Array, Bool1D, Float1D, Int1D
from ...checks import quoted
from ...engine.survey import survey
from ...ideals.ideal import VanishingIdeal
from ...ideals.path import fit_together
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled
from ...rows.reading import take_input_from
from ...rows.sampling import FEWEST_IN_HALF
from ..model.per_class import Cut
from .strategies import Budget


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


Ideals = tuple[tuple[VanishingIdeal, ...], ...]  # for each class the ideal of all its rows, then those of its halves


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

    Each is that of the whole class, followed by those of its halves where these are asked for.
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


def _halves(X: Array, weights: Float1D | None, rows: Int1D) -> list[Int1D]:
    """The rows of a class on either side of its cut; none where one side has too few."""
    whole = ArrayRows(X[rows], None if weights is None else weights[rows], n_jobs=1)
    above = Cut.of(survey(whole).gram).above(whole.X)
    halves = [rows[~above], rows[above]]
    return halves if min(map(len, halves)) >= FEWEST_IN_HALF else []


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
