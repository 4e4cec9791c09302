"""The algorithms by their published names, the splits, and the tuning of parameters.

There are two protocols. "correct": the paper's grid, threefold cross-validation and pipeline, with every training
fold complete and scaled by itself, the paper's term order, certified decisions, and the SVM solved to optimality.
"published": what the authors' code does instead. Its second fold of three is trained on the first fold only (the third
is dropped), rows are scaled once before the split into folds, terms of one degree come in another order, solvers start
at the constant term and stop after a step that gains less than ``1e-4 psi``, VCA keeps products twice, the SVM is
liblinear's, which penalises the intercept, and the kernel SVM has other splits. Two things are not copied: the exact
path of BPCG and PCG, where rounding chooses between equally steep vertices, and an error in the authors' drop of a
vertex. So sparse generators, and decisions at psi = 0.0001, differ a little.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC

from .._typing import Array, Float2D, Int1D
from ..classification.model.classifier import VanishingIdealClassifier
from ..classification.search import VanishingIdealClassifierCV
from ..classification.search.estimator import PAPER
from ..ideals.abm import ABM
from ..ideals.avi import AVI
from ..ideals.ideal import VanishingIdeal
from ..ideals.oavi import OAVI
from ..ideals.vca import VCA
from ..polynomials.polynomial import Polynomials

PROTOCOLS = ("correct", "published")
PSIS, CS, N_FOLDS = PAPER["psis"], PAPER["Cs"], PAPER["cv"].n_splits
DEGREES = (1, 2, 3, 4)  # the paper's grid for the polynomial kernel

_SOLVERS = {
    "CGAVI-IHB": ("cg", "ihb"),
    "AGDAVI-IHB": ("agd", "ihb"),
    "BPCGAVI-WIHB": ("bpcg", "wihb"),
    "BPCGAVI": ("bpcg", "none"),
    "PCGAVI": ("pcg", "none"),
}
OAVIS = tuple(_SOLVERS)
ALGORITHMS = (*OAVIS, "ABM", "VCA", "AVI", "SVM")


class PublishedOAVI(OAVI):
    """:class:`~vanishing.OAVI` whose solvers start at the constant term, and give up after a step that gains little.

    For small psi, it decides wrongly about many terms.

    Examples
    --------
    >>> oracle = PublishedOAVI(psi=0.5, solver="bpcg")._algorithm().from_gram.keywords["oracle"]
    >>> oracle.from_constant, oracle.stop.progress
    (True, 5e-05)
    """

    _from_constant = True
    _least_gain = 1e-4


class PublishedVCA(VCA):
    """:class:`~vanishing.VCA` with ``f_i f_j`` and ``f_j f_i`` of degree 2 as two products.

    Their difference is an exact, and useless, generator.
    """

    _unique_products = False


def algorithm_named(name: str) -> str:
    """The published name of an algorithm, from any spelling in upper or lower case, with or without a star.

    Examples
    --------
    >>> algorithm_named("cgavi-ihb*")
    'CGAVI-IHB'
    """
    known = {known.lower(): known for known in ALGORITHMS}
    try:
        return known[str(name).lower().removesuffix("*")]
    except KeyError:
        raise ValueError(f"There is no algorithm {name!r}; choose from {', '.join(ALGORITHMS)}.") from None


def ideal_of(name: str, protocol: str, psi: float = 0.005, n_jobs: int | None = None) -> VanishingIdeal:
    """The estimator for the published name of an algorithm.

    Examples
    --------
    >>> ideal_of("ABM", "correct").order, ideal_of("ABM", "published").order
    ('deglex', 'degcolex')
    """
    published = protocol == "published"
    shared: dict[str, Any] = {"psi": psi, "max_terms": sys.maxsize, "n_jobs": n_jobs}
    if name == "VCA":
        return (PublishedVCA if published else VCA)(**shared)
    shared["order"] = "degcolex" if published else "deglex"
    if name in ("ABM", "AVI"):
        return (ABM if name == "ABM" else AVI)(**shared)
    solver, boost = _SOLVERS[name]
    if published:
        return PublishedOAVI(solver=solver, boost=boost, max_iter=10_000, polish=False, **shared)
    return OAVI(solver=solver, boost=boost, **shared)


def published_split(n_samples: int, run: int, name: str = "", protocol: str = "correct") -> tuple[Int1D, Int1D]:
    """Training and test rows: the first 60% and the rest of the run-th permutation drawn after the seed 3.

    In the authors' code, every fit of scikit-learn's SVC draws a number from the stream of the permutations. So, from
    the second run on, the kernel SVM has other published splits than the other algorithms.

    Examples
    --------
    >>> published_split(5, 1)
    (array([2, 1, 3]), array([4, 0]))
    >>> published_split(5, 1, "SVM", "published")
    (array([3, 1, 4]), array([0, 2]))
    """
    n_drawn = len(CS) * len(DEGREES) * N_FOLDS + 1 if (name, protocol) == ("SVM", "published") else 0
    random = np.random.RandomState(3)
    for _ in range(run):
        random.permutation(n_samples)
        random.randint(np.iinfo(np.int32).max, size=n_drawn)
    train, test = np.split(random.permutation(n_samples), [int(0.6 * n_samples)])
    return train, test


@contextmanager
def limits_accepted() -> Iterator[None]:
    """Silence convergence warnings: the kernel SVM, liblinear and solvers stop at their limits, as published."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def tune(name: str, protocol: str, split: tuple[Float2D, Array, Float2D, Array], n_jobs: int | None) -> dict[str, Any]:
    """One run of Table 3: tune on the training rows, fit to them, count errors on the test rows."""
    X, y, X_test, y_test = split
    if protocol == "published":
        scaler = MinMaxScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    with limits_accepted():
        tuned = _tune_kernel_svm if name == "SVM" else _tune_ideals
        model, record = tuned(name, protocol, X, y, n_jobs)
        record["error"] = 100.0 * float(np.mean(model.predict(X_test) != y_test))
    return record


def tuned_psi(name: str, protocol: str, X: Float2D, y: Array, n_jobs: int | None) -> float:
    """The psi that cross-validation chooses for rows in [0, 1]."""
    with limits_accepted():
        search = _search(name, protocol, y, n_jobs).set_params(scale_input=False).fit(X, y)
    return float(search.best_params_["psi"])


def _search(name: str, protocol: str, y: Array, n_jobs: int | None) -> VanishingIdealClassifierCV:
    published = protocol == "published"
    last_step = {"final_estimator": _liblinear()} if published else {}
    return VanishingIdealClassifierCV.paper(
        ideal_of(name, protocol),
        psis=PSIS,
        Cs=CS,
        cv=list(_folds(len(y), protocol)),
        refit=False,
        scale_input=not published,
        n_jobs=n_jobs,
        **last_step,
    )


def _tune_ideals(name: str, protocol: str, X: Float2D, y: Array, n_jobs: int | None) -> tuple[Any, dict[str, Any]]:
    begin = time.perf_counter()
    search = _search(name, protocol, y, n_jobs).fit(X, y)
    tuned = time.perf_counter()
    psi, C = search.best_params_["psi"], search.best_params_["C"]
    model = VanishingIdealClassifier(
        ideal_of(name, protocol, psi),
        C=C,
        scale_features=False,
        append_input=False,
        scale_input=search.scale_input,
        final_estimator=search.final_estimator.set_params(C=C) if protocol == "published" else None,
        n_jobs=n_jobs,
    ).fit(X, y)
    fitted = time.perf_counter()
    ideals = model.ideals_.estimators_
    lists = [ideal.generators_ for ideal in ideals]
    degrees = np.concatenate([polynomials.degrees for polynomials in lists])
    return model, {
        "psi": psi,
        "C": C,
        "score": search.best_score_,
        "n_generators": len(degrees),
        "size": len(degrees) + sum(ideal.n_basis_ for ideal in ideals),
        "mean_degree": float(degrees.mean()),
        "sparsity": joint_sparsity(lists),
        "seconds": tuned - begin,
        "seconds_fit": fitted - tuned,
    }


def _tune_kernel_svm(name: str, protocol: str, X: Float2D, y: Array, n_jobs: int | None) -> tuple[Any, dict[str, Any]]:
    """Tune the polynomial-kernel SVM; scikit-learn's grid varies the degree faster than C, as the authors' does."""
    begin = time.perf_counter()
    scaling = "passthrough" if protocol == "published" else MinMaxScaler()
    search = GridSearchCV(
        Pipeline([("scale", scaling), ("svm", SVC(kernel="poly", max_iter=10_000, cache_size=1000))]),
        {"svm__C": CS, "svm__degree": DEGREES},
        cv=list(_folds(len(y), protocol)),
        refit=False,
        n_jobs=n_jobs,
    ).fit(X, y)
    tuned = time.perf_counter()
    model = clone(search.estimator).set_params(**search.best_params_).fit(X, y)
    return model, {
        "C": search.best_params_["svm__C"],
        "svm_degree": search.best_params_["svm__degree"],
        "score": float(search.best_score_),
        "seconds": tuned - begin,
        "seconds_fit": time.perf_counter() - tuned,
    }


def _liblinear() -> LinearSVC:
    return LinearSVC(penalty="l1", loss="squared_hinge", dual=False, random_state=0, max_iter=10_000)


def _folds(n_samples: int, protocol: str) -> Iterator[tuple[Int1D, Int1D]]:
    """Contiguous folds; in the published protocol, a middle fold is trained on the rows before it only."""
    for k, (train, test) in enumerate(KFold(N_FOLDS).split(np.empty(n_samples))):
        broken = protocol == "published" and 0 < k < N_FOLDS - 1
        yield (train[train < test[0]] if broken else train), test


def joint_sparsity(lists: list[Polynomials]) -> float | None:
    """The paper's SPAR over the generators of all classes; None for VCA: its generators have no list of terms."""
    zeros = total = 0.0
    for polynomials in lists:
        if polynomials._n_free is None:
            return None
        n_free = float(polynomials._n_free.sum())
        zeros, total = zeros + polynomials.sparsity * n_free, total + n_free
    return zeros / total if total else 0.0
