"""The ideals of all classes on the training rows of all folds, from shared Gram matrices.

Each class is cut into the parts that the training sets are made of: with three folds, three parts, and a training set
is two of them. Grams add over rows, so one pass over the parts serves every psi and every fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..._typing import Array, Bool1D, Float1D, Int1D
from ...engine.survey import survey
from ...ideals.ideal import VanishingIdeal
from ...ideals.path import fit_together
from ...rows.arrays import ArrayRows
from ...rows.reading import take_input_from
from ..model.halves import FEWEST_IN_HALF, Cut
from .folds import Fold

__all__ = ["Ideals", "class_ideals"]

_BITS = 62  # of the number that says which training sets a row is in

Ideals = tuple[tuple[VanishingIdeal, ...], ...]  # for each class that of all its rows, and those of its halves


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
    if times.max() > 1 or len(folds) > _BITS:
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
