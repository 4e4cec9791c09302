"""The models of a cross-validation from shared Gram matrices, and their scores along C.

Each class is cut into the parts that the training sets are made of: with three folds, three parts, and a
training set is two of them. Every pass over the parts serves all psi and all folds.
"""

from __future__ import annotations

import inspect
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

from .._typing import Array, Bool1D, Float1D, Int1D
from ..checks import WarningRelay, take_input_from
from ..ideals.ideal import VanishingIdeal
from ..ideals.path import fit_together
from ..progress import Progress
from ..rows.arrays import as_rows
from ..rows.protocol import Rows
from ..svm import svm_path
from ..threads import n_threads, one_blas_thread
from .classifier import VanishingIdealClassifier
from .features import FeatureMap
from .per_class import PerClass

__all__ = ["Fold", "Scores", "Study", "folds_by_scaling", "score_folds", "takes_weights"]


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
    """What a cross-validation is about: labelled rows, an algorithm, values of C, a score, and the options.

    ``final_estimator`` is the last step, of which C is set; None stands for :class:`~vanishing.L1SVC`.
    """

    X: Array
    y: Array
    classes: Array
    codes: Int1D
    weights: Float1D | None
    template: VanishingIdeal
    Cs: Sequence[float]
    scorer: Callable[..., float]
    whole_model: bool  # whether the score wants the classifier and the rows, not the SVM and its columns
    scale_features: bool
    append_input: bool
    n_jobs: int | None
    final_estimator: Any = None

    def weights_of(self, rows: Int1D) -> Float1D | None:
        """Weights of some rows."""
        return None if self.weights is None else self.weights[rows]

    def finals(self, columns: Array, train: Int1D) -> list[Any]:
        """The last step for every C, fitted."""
        y, weights = self.y[train], self.weights_of(train)
        if self.final_estimator is None:
            return list(svm_path(columns, y, self.Cs, weights, n_jobs=1))
        options = {} if weights is None else {"sample_weight": weights}
        return [clone(self.final_estimator).set_params(C=C).fit(columns, y, **options) for C in self.Cs]

    def score(self, model: Any, X: Array, test: Int1D) -> float:
        """The score of a model on rows, weighted if it can be."""
        weights = self.weights_of(test) if takes_weights(self.scorer) else None
        options = {} if weights is None else {"sample_weight": weights}
        return float(self.scorer(model, X, self.y[test], **options))


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn, or a function, takes ``sample_weight``."""
    if hasattr(scorer, "_score_func"):
        scorer = scorer._score_func
    elif hasattr(scorer, "_estimator"):  # that of the estimator's own score
        scorer = scorer._estimator.score
    return "sample_weight" in inspect.signature(scorer).parameters


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit repeats what matters
        for group in groups:
            scaler = group[0].scaler
            X = study.X if scaler is None else scaler.transform(study.X)
            ideals = _ideals(study, X, psis, group, result.too_large)
            _score_group(study, X, group, ideals, result, progress)
    return result


def _ideals(
    study: Study, X: Array, psis: Sequence[float], folds: Sequence[Fold], too_large: Array
) -> list[list[tuple[VanishingIdeal, ...]]]:
    """For each psi and fold the fitted estimators of all classes; marks the psi that are too large."""
    models: list[list[VanishingIdeal]] = []  # of each class, fold by fold for every psi
    for code in range(int(study.codes.max()) + 1):
        parts, members = _parts(study.codes == code, folds)
        fits = [clone(study.template).set_params(psi=psi, n_jobs=study.n_jobs) for psi in psis for _ in folds]
        for fit in fits:
            take_input_from(study.template, fit)
        rows: list[Rows] = [as_rows(X[part], study.weights_of(part), n_jobs=study.n_jobs) for part in parts]
        fit_together(fits, rows, members * len(psis))
        for k, fit in enumerate(fits):
            too_large[k // len(folds)] |= not fit.complete_ and fit.degree_ < fit.max_degree
        models.append(fits)
    by_fit = list(zip(*models, strict=True))
    return [by_fit[i : i + len(folds)] for i in range(0, len(by_fit), len(folds))]


def _parts(chosen: Bool1D, folds: Sequence[Fold]) -> tuple[list[Int1D], list[tuple[int, ...]]]:
    """The chosen rows cut into parts that training sets have in common, and the parts of each training set."""
    rows = np.flatnonzero(chosen)
    times = np.array([np.bincount(fold.train, minlength=chosen.size)[rows] for fold in folds])
    patterns, part_of = np.unique(times, axis=1, return_inverse=True)
    if patterns.shape[1] > 2 * len(folds) or patterns.max() > 1:  # drawn at random, with little in common
        return [fold.train[chosen[fold.train]] for fold in folds], [(k,) for k in range(len(folds))]
    used = np.flatnonzero(patterns.any(axis=0))
    parts = [rows[part_of.ravel() == k] for k in used]
    return parts, [tuple(np.flatnonzero(pattern[used]).tolist()) for pattern in patterns]


def _score_group(
    study: Study,
    X: Array,
    folds: Sequence[Fold],
    ideals: Sequence[Sequence[tuple[VanishingIdeal, ...]]],
    result: Scores,
    progress: Progress,
) -> None:
    """Fill in the scores of the folds of a group, on several threads."""
    trains = [X[fold.train] for fold in folds]
    tests = [X[fold.test] for fold in folds]
    known: dict[tuple[int, bytes], list[int]] = {}  # neighbouring psi often give the same generators
    for i, k in product(range(len(ideals)), range(len(folds))):
        known.setdefault((k, pickle.dumps([ideal.generators_.form for ideal in ideals[i][k]])), []).append(i)
    tasks = [
        (FeatureMap.of(ideals[same[0]][k], append_input=study.append_input), k, same) for (k, _), same in known.items()
    ]
    tasks.sort(key=lambda task: -task[0].n_columns)  # the longest first
    largest = max(map(len, trains + tests)) * tasks[0][0].n_columns
    memory = threading.local()

    def work(mapping: FeatureMap, k: int, same: list[int]) -> None:
        fold, models = folds[k], ideals[same[0]][k]
        if mapping.n_generators:
            room = _used_memory(memory, largest) if study.final_estimator is None else None
            result.scores[same, :, fold.number] = _scores(study, fold, models, mapping, trains[k], tests[k], room)
        result.n_generators[same, fold.number] = mapping.n_generators
        progress.advance(len(same))

    # Fits of another last step may share state: liblinear's draw from the same random numbers.
    threads = n_threads(study.n_jobs) if study.final_estimator is None else 1
    with WarningRelay() as relay, one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        try:
            for done in [pool.submit(relay.task(work), *task) for task in tasks]:
                done.result()
        except BaseException:  # an interrupt, too: the other tasks are not needed
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _used_memory(thread: threading.local, n_entries: int) -> Float1D:
    """Memory for ``n_entries`` numbers that this thread has used before: fresh memory is slow."""
    if not hasattr(thread, "memory"):
        thread.memory = np.empty(n_entries)
    room: Float1D = thread.memory
    return room


def _scores(
    study: Study,
    fold: Fold,
    ideals: tuple[VanishingIdeal, ...],
    mapping: FeatureMap,
    train: Array,
    test: Array,
    room: Float1D | None,
) -> Float1D:
    """Scores for every C; ``room`` is memory for the columns of either set of rows, if they may share it."""

    def columns_of(rows: Array) -> Array:
        shape = (len(rows), mapping.n_columns)
        out = None if room is None else room[: shape[0] * shape[1]].reshape(shape)
        return np.asarray(mapping.over(as_rows(rows, n_jobs=1), out))

    columns = columns_of(train)
    reach = np.abs(train).max(axis=0)
    mapping = mapping.fitted_by(columns, study.weights_of(fold.train), reach, scale=study.scale_features)
    finals = study.finals(columns, fold.train)
    if study.whole_model:
        models = [_classifier(study, fold, ideals, mapping, final) for final in finals]
        return np.array([study.score(model, study.X[fold.test], fold.test) for model in models])
    held_out = columns_of(test)
    return np.array([study.score(final, held_out, fold.test) for final in finals])


def _classifier(
    study: Study, fold: Fold, ideals: tuple[VanishingIdeal, ...], mapping: FeatureMap, final: Any
) -> VanishingIdealClassifier:
    """The classifier that consists of these pieces."""
    per_class = PerClass(study.template)
    per_class.classes_, per_class.estimators_ = study.classes, list(ideals)
    model = VanishingIdealClassifier(
        study.template,
        C=final.C,
        scale_features=study.scale_features,
        append_input=study.append_input,
        final_estimator=study.final_estimator,
        scale_input=fold.scaler is not None,
    )
    for part in (per_class, model):
        take_input_from(study.template, part)
    model._store(study.classes, fold.scaler, per_class, mapping, final)
    return model
