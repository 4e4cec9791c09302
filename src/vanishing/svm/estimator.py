"""The SVM as a scikit-learn classifier."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Float1D, Float2D, Int1D
from ..checks import check_count, check_n_jobs, check_number, check_numbers, warn_gap
from ..engine.survey import survey_parts
from ..files.fields import Labels, Numbers, require
from ..files.saved import SavedEstimator
from ..rows.array_api import in_float64, on_device_of
from ..rows.arrays import ArrayRows
from ..rows.labels import Labelled, as_vector, best_labels, read_labelled_input
from ..rows.protocol import Block, Cost, Rows
from ..rows.reading import input_names, read_finite, take_input_from
from ..rows.together import together
from ..threads import fitting, one_blas_thread
from .newton import Hyperplane, hyperplanes
from .sums import SquaredHinge

PATIENCE = 10.0  # seconds without a word: a user then asks whether a call hangs

_logger = logging.getLogger("vanishing")


class L1SVC(SavedEstimator, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear support vector classifier with an l1 penalty and the squared hinge loss, for many rows and few columns.

    Minimises ``|w|_1 + C * sum_i s_i max(0, 1 - y_i (w'x_i + b))^2`` with a free intercept b, for every class
    against the rest. A proximal Newton method needs from the data only sums over rows (loss, gradient and a
    small Hessian), a dozen times or so, and ends with a duality gap that proves how close to the optimum it is.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty, positive.
    tol : float, default=1e-6
        Largest duality gap, relative to the objective.
    max_iter : int, default=200
        Most Newton steps for one class.
    n_jobs : int, optional
        Threads for passes over the rows; all cores by default. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the columns, many of them exactly 0; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    objective_, gap_ : ndarray of shape (1,) or (n_classes,)
        Objective, and how far it is above the optimum at most.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
        Newton steps.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    sklearn.svm.LinearSVC : with ``penalty="l1"``, the same problem except that the intercept is penalised, too.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import L1SVC
    >>> X = np.random.default_rng(0).uniform(size=(1000, 5))
    >>> svm = L1SVC(C=0.03).fit(X, X[:, 2] > 0.5)
    >>> np.flatnonzero(svm.coef_)
    array([2])
    >>> bool(svm.gap_[0] <= 1e-6 * svm.objective_[0])
    True
    """

    _fields: ClassVar = {
        "classes_": Labels(),
        "coef_": Numbers("f8", (None, None)),
        "intercept_": Numbers("f8", (None,)),
        "objective_": Numbers("f8", (None,)),
        "gap_": Numbers("f8", (None,)),
        "n_iter_": Numbers("i8", (None,), low=0),
    }

    def _check_saved(self) -> None:
        n_scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        shape = n_scores, getattr(self, "n_features_in_", -1)
        require(self.coef_.shape == shape, "numbers of weights and columns differ")
        lengths = {values.size for values in (self.intercept_, self.objective_, self.gap_, self.n_iter_)}
        require(lengths == {n_scores}, "numbers of intercepts and classes differ")

    def __init__(self, C: float = 1.0, *, tol: float = 1e-6, max_iter: int = 200, n_jobs: int | None = None):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the hyperplanes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows' losses; not all zero.

        Returns
        -------
        self
        """
        with fitting(self):
            self._fit_from([self.C], _surveyed(self, read_labelled_input(self, X, y, sample_weight)), [self])
        return self

    def decision_function(self, X: Any) -> Any:
        """Signed scores: one column per class, or one value per row for two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        rows = read_finite(self, X)

        def kernel(block: Block, out: Any) -> None:
            X = in_float64(block.X)
            out[:, :] = X @ on_device_of(X, self.coef_.T) + on_device_of(X, self.intercept_)

        n_scores = len(self.coef_)
        return as_vector(rows.map(kernel, n_scores, Cost(rows.n_features * n_scores, rows.n_features + n_scores)))

    def predict(self, X: Any) -> Any:
        """Labels of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return best_labels(self.decision_function(X), self.classes_)

    def _fit_from(
        self, Cs: Sequence[float], data: Labelled, models: Sequence[L1SVC], signs: Float1D | None = None
    ) -> None:
        """Fit ``models``, one for each of the ascending ``Cs``, each from the one before.

        The weights of two classes may have ``signs``: 1 or -1 for each column, 0 where it is free.
        """
        for C in Cs:
            check_number("C", C, above=0.0)
        self._check_parameters()

        def path(rows: Rows, key: Any) -> list[Hyperplane]:
            return list(self._planes(rows, key, Cs, signs))

        with one_blas_thread:
            paths = together(data.rows, [partial(path, key=key) for key in _positive(data)])
        for k, model in enumerate(models):
            model._store(data.classes, [path[k] for path in paths])

    def _check_parameters(self) -> None:
        check_number("tol", self.tol, low=0.0)
        check_count("max_iter", self.max_iter)
        check_n_jobs(self.n_jobs)

    def _planes(self, rows: Rows, key: Any, Cs: Sequence[float], signs: Float1D | None) -> Iterator[Hyperplane]:
        """Those between one class and the rest."""
        data = SquaredHinge(rows.signed_by(key), signs)
        return hyperplanes(data, Cs, tol=self.tol, max_iter=self.max_iter)

    def _store(self, classes: Array, planes: list[Hyperplane]) -> None:
        self.classes_ = classes
        self.coef_ = np.array([plane.x[:-1] for plane in planes])
        self.intercept_ = np.array([plane.x[-1] for plane in planes])
        self.objective_ = np.array([plane.objective for plane in planes])
        self.gap_ = np.array([plane.gap for plane in planes])
        self.n_iter_ = np.array([plane.n_iter for plane in planes])
        if not all(plane.converged for plane in planes):
            warn_gap(self)


def _positive(data: Labelled) -> Sequence[Any]:
    """The classes that have a plane against the rest: all, or the second of two."""
    return data.keys if len(data.keys) > 2 else data.keys[1:]


def _surveyed(estimator: Any, data: Labelled) -> Labelled:
    """The data, after a pass over rows outside of memory that checks them and finds a scaling they are opened with."""
    if isinstance(data.rows, ArrayRows):
        return data
    rows = survey_parts(data.rows, input_names(estimator)).rows
    return data._replace(rows=rows)


def svm_path(X: Any, y: Any, Cs: Any, sample_weight: Any = None, **parameters: Any) -> list[L1SVC]:
    """Fitted :class:`L1SVC` models for several C, each started from the one with the next smaller C.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of at least two classes.
    Cs : array-like of shape (n_Cs,)
        Weights of the loss, positive.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows' losses; not all zero.
    **parameters :
        Parameters of :class:`L1SVC` other than ``C``.

    Returns
    -------
    list of L1SVC
        One for each C, in the order given.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import svm_path
    >>> X = np.random.default_rng(0).uniform(size=(1000, 5))
    >>> [int((model.coef_ != 0).sum()) for model in svm_path(X, X[:, 2] > X[:, 3], Cs=[0.001, 0.1, 10])]
    [0, 2, 5]
    """
    models = [L1SVC(C, **parameters) for C in check_numbers("Cs", Cs, above=0.0)]
    first = models[0]
    data = _surveyed(first, read_labelled_input(first, X, y, sample_weight))
    for model in models[1:]:
        take_input_from(first, model)
    ascending = sorted(models, key=lambda model: model.C)
    first._fit_from([model.C for model in ascending], data, ascending)
    return models


def svms_along(
    X: Float2D,
    codes: Int1D,
    classes: Array,
    Cs: Sequence[float],
    weights: Float1D | None,
    *,
    signs: Float1D | None = None,
    n_jobs: int | None = 1,
    **limits: Any,
) -> Iterator[L1SVC]:
    """The models of :func:`svm_path` for ascending ``Cs``, each fitted when it is asked for.

    The weights of two classes may have ``signs``: 1 or -1 for each column, 0 where it is free.

    Nothing is checked, which would take a good part of the time of many short paths. Rows of class ``classes[k]`` have
    the code k, and every class has rows.
    """
    models = [L1SVC(C, n_jobs=1, **limits) for C in Cs]
    data = Labelled(ArrayRows(X, weights, codes, n_jobs), classes, list(range(len(classes))))
    paths = [models[0]._planes(data.rows, key, Cs, signs) for key in _positive(data)]
    for model in models:
        model.n_features_in_ = X.shape[1]
        model._store(classes, _announced(paths, X.shape[1]))
        yield model


def _announced(paths: Sequence[Iterator[Hyperplane]], n_columns: int) -> list[Hyperplane]:
    """The next plane of every path; a message says how far they are when ``PATIENCE`` is over."""
    planes: list[Hyperplane] = []
    said_at = time.monotonic() + PATIENCE
    for path in paths:
        planes.append(next(path))
        if time.monotonic() > said_at and len(planes) < len(paths):
            done = f"{len(planes)} of {len(paths)} classes against the rest"
            _logger.warning("The SVM has separated %s in %d columns; a larger psi gives fewer.", done, n_columns)
            said_at = np.inf
    return planes
