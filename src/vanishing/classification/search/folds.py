"""The folds of a cross-validation in memory."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, check_cv

from ..._typing import Array, Int1D
from ...checks import quoted
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled
from .budget import Budget

__all__ = ["Fold", "split"]


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
        return RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=budget.n_repeats, random_state=0)
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
