"""The models of a cross-validation from shared Gram matrices, and their scores along C.

Each class is cut into the parts that the training sets are made of: with three folds, three parts, and a
training set is two of them. Every pass over the parts serves all psi and all folds.
"""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler

from ._typing import Array, Float1D, Int1D
from .features import FeatureMap
from .ideal import VanishingIdeal
from .path import fit_together, take_input_from
from .progress import Progress
from .rows import Rows, as_rows
from .svm import L1SVC, svm_path
from .threads import n_threads, one_blas_thread

__all__ = ["Fold", "Scores", "Study", "folds_by_scaling", "score_folds"]


class Fold(NamedTuple):
    """Rows to train and to test on, and the scaling that the training rows define."""

    number: int
    train: Int1D
    test: Int1D
    scaler: MinMaxScaler | None


class Scores(NamedTuple):
    """Scores ``(n_psis, n_Cs, n_folds)`` and numbers of generators ``(n_psis, n_folds)``.

    Scores are NaN where no class has a generator. ``too_large`` says for which psi some ideal was not finished,
    because it went beyond the terms allowed.
    """

    scores: Array
    n_generators: Array
    too_large: Array


@dataclass(frozen=True)
class Study:
    """What a cross-validation is about: labelled rows, an algorithm, values of C, a score, and the options."""

    X: Array
    y: Array
    codes: Int1D
    template: VanishingIdeal
    Cs: Sequence[float]
    scorer: Callable[[Any, Any, Any], float]
    scale_features: bool
    append_input: bool
    n_jobs: int | None


def folds_by_scaling(X: Array, splits: Sequence[tuple[Int1D, Int1D]], *, scale_input: bool) -> list[list[Fold]]:
    """The folds, those whose training rows have the same ranges together: only these have Grams in common."""
    groups: dict[bytes, list[Fold]] = {}
    for number, (train, test) in enumerate(splits):
        scaler = MinMaxScaler().fit(X[train]) if scale_input else None
        key = b"" if scaler is None else scaler.scale_.tobytes() + scaler.min_.tobytes()
        groups.setdefault(key, []).append(Fold(number, train, test, scaler))
    return list(groups.values())


def score_folds(study: Study, psis: Sequence[float], groups: Sequence[list[Fold]], progress: Progress) -> Scores:
    """Train and score every pair of psi and C on every fold."""
    n_folds = sum(len(group) for group in groups)
    result = Scores(
        np.full((len(psis), len(study.Cs), n_folds), np.nan),
        np.zeros((len(psis), n_folds), dtype=np.int64),
        np.zeros(len(psis), dtype=bool),
    )
    for group in groups:
        scaler = group[0].scaler
        X = study.X if scaler is None else scaler.transform(study.X)
        maps = _feature_maps(study, X, psis, group, result.too_large)
        _score_group(study, X, group, maps, result, progress)
    return result


def _feature_maps(
    study: Study, X: Array, psis: Sequence[float], folds: Sequence[Fold], too_large: Array
) -> list[list[FeatureMap]]:
    """For each psi and fold the generators of all classes; marks the psi that are too large."""
    models: list[list[VanishingIdeal]] = []  # of each class, fold by fold for every psi
    for code in range(int(study.codes.max()) + 1):
        chosen = np.flatnonzero(study.codes == code)
        parts, members = _parts(chosen, folds)
        fits = [clone(study.template).set_params(psi=psi, n_jobs=study.n_jobs) for psi in psis for _ in folds]
        for fit in fits:
            take_input_from(study.template, fit)
        rows: list[Rows] = [as_rows(X[part], n_jobs=study.n_jobs) for part in parts]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
            fit_together(fits, rows, members * len(psis))
        for k, fit in enumerate(fits):
            too_large[k // len(folds)] |= not fit.complete_ and fit.degree_ < fit.max_degree
        models.append(fits)
    by_fit = [
        FeatureMap(tuple(fit.generators_ for fit in fits), study.append_input) for fits in zip(*models, strict=True)
    ]
    return [by_fit[i : i + len(folds)] for i in range(0, len(by_fit), len(folds))]


def _parts(chosen: Int1D, folds: Sequence[Fold]) -> tuple[list[Int1D], list[tuple[int, ...]]]:
    """Rows cut into the parts that training sets have in common, and the parts of each training set."""
    inside = np.array([np.isin(chosen, fold.train) for fold in folds])
    patterns, part_of = np.unique(inside, axis=1, return_inverse=True)
    if patterns.shape[1] > 2 * len(folds):  # training sets drawn at random have little in common
        return [chosen[rows] for rows in inside], [(k,) for k in range(len(folds))]
    used = np.flatnonzero(patterns.any(axis=0))
    parts = [chosen[part_of.ravel() == k] for k in used]
    return parts, [tuple(np.flatnonzero(pattern[used]).tolist()) for pattern in patterns]


def _score_group(
    study: Study,
    X: Array,
    folds: Sequence[Fold],
    maps: Sequence[Sequence[FeatureMap]],
    result: Scores,
    progress: Progress,
) -> None:
    """Fill in the scores of the folds of a group, on several threads."""
    trains = [X[fold.train] for fold in folds]
    tests = [X[fold.test] for fold in folds]
    largest = max(map(len, trains + tests)) * max(mapping.n_columns for by_fold in maps for mapping in by_fold)
    memory = threading.local()
    known: dict[tuple[int, bytes], list[int]] = {}  # neighbouring psi often give the same generators
    for i, k in product(range(len(maps)), range(len(folds))):
        known.setdefault((k, pickle.dumps([polynomials.form for polynomials in maps[i][k].lists])), []).append(i)

    def work(k: int, same: list[int]) -> None:
        mapping, fold = maps[same[0]][k], folds[k]
        if mapping.n_generators:
            both = _used_memory(memory, largest)
            scores = _scores(study, mapping, (trains[k], study.y[fold.train]), (tests[k], study.y[fold.test]), both)
            result.scores[same, :, fold.number] = scores
        result.n_generators[same, fold.number] = mapping.n_generators
        progress.advance(len(same))

    with one_blas_thread(), ThreadPoolExecutor(n_threads(study.n_jobs)) as pool:
        largest_first = sorted(known.items(), key=lambda item: -maps[item[1][0]][item[0][0]].n_generators)
        for done in [pool.submit(work, k, same) for (k, _), same in largest_first]:
            done.result()


def _used_memory(thread: threading.local, n_entries: int) -> Float1D:
    """Room for so many numbers that this thread has used before: fresh memory is slow to come by."""
    if not hasattr(thread, "memory"):
        thread.memory = np.empty(n_entries)
    room: Float1D = thread.memory
    return room


def _scores(
    study: Study, mapping: FeatureMap, train: tuple[Array, Array], test: tuple[Array, Array], room: Float1D
) -> Float1D:
    """Scores for every C; ``room`` is memory for the columns of both sets."""
    n_train, n_test, n = len(train[0]), len(test[0]), mapping.n_columns
    columns = mapping.over(as_rows(train[0], n_jobs=1), room[: n_train * n].reshape(n_train, n))
    if study.scale_features:
        mapping = mapping.scaled_by(columns, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models: list[L1SVC] = svm_path(columns, train[1], study.Cs, n_jobs=1)
    held_out = mapping.over(as_rows(test[0], n_jobs=1), room[: n_test * n].reshape(n_test, n))
    return np.array([study.scorer(model, held_out, test[1]) for model in models])
