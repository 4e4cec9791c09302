"""One ideal per class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..checks import all_or_nothing, check_n_jobs, warn_no_generator, warn_outside_unit_cube, warn_single_precision
from ..display import first_lines
from ..engine.survey import Survey, survey_parts
from ..files.fields import Labels, ListOf, require
from ..files.saved import Object, SavedEstimator
from ..ideals.default import DefaultIdeal
from ..ideals.ideal import VanishingIdeal
from ..rows.arrays import ArrayRows
from ..rows.labels import Labelled, read_labelled
from ..rows.protocol import Rows
from ..rows.reading import input_names, read_finite, take_input_from, with_names
from ..rows.together import together
from ..threads import n_threads
from .features import FeatureMap
from .reported import ReportedPerClass

__all__ = ["PerClass"]


class PerClass(SavedEstimator, DefaultIdeal, ReportedPerClass, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Vanishing polynomials of every class, side by side: the paper's feature map (Section 3.2).

    A clone of ``estimator`` is fitted to the rows of each class. A row x becomes ``|g(x)|`` for all generators g of
    all classes: those of its own class are small, those of others need not be.

    Parameters
    ----------
    estimator : OAVI, ABM, AVI or VCA, default=None
        The algorithm; None stands for ``OAVI()``.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    estimators_ : list
        The fitted clones, in the order of ``classes_``.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, PerClass
    >>> x = np.linspace(0, 1, 100)
    >>> X = np.vstack([np.column_stack([x, x**2]), np.column_stack([x, 1 - x])])
    >>> features = PerClass(OAVI(psi=1e-6)).fit(X, np.repeat(["parabola", "line"], 100))
    >>> features.get_feature_names_out()[0]
    'line: x1 + x0 - 1'
    >>> features.transform([[0.5, 0.5], [0.5, 0.25]])[:, 0].round(6)
    array([0.  , 0.25])
    """

    _fields: ClassVar = {"classes_": Labels(), "estimators_": ListOf(Object("OAVI", "ABM", "AVI", "VCA"))}

    def _check_saved(self) -> None:
        require(len(self.classes_) == len(self.estimators_), "there are other classes than estimators")
        widths = {model.n_features_in_ for model in self.estimators_}
        require(widths == {getattr(self, "n_features_in_", -1)}, "the estimators have other columns")

    def __init__(self, estimator: Any = None, *, n_jobs: int | None = None):
        self.estimator = estimator
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit one clone of the estimator per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled to [0, 1] for the theory to hold, for instance by ``MinMaxScaler``.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; not all zero in any class.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            data = read_labelled(self, X, y, sample_weight, at_least=1)
            data.require_weights()
            names = input_names(self)
            first = survey_parts(data.rows, names, data.parts, ahead=self._template()._looks_ahead)
            warn_outside_unit_cube(first.whole.low, first.whole.high, names)
            self._fit_parts(data._replace(rows=first.rows), first.parts, first.surveys)
        if not any(len(model.generators_) for model in self.estimators_):
            warn_no_generator(self.estimators_[0].psi)
        return self

    def _fit_parts(self, data: Labelled, parts: Sequence[Rows], surveys: Sequence[Survey]) -> None:
        """Fit the clones to the parts of the data, one for each class, that have been surveyed."""
        check_n_jobs(self.n_jobs)
        template = self._template()
        models: list[VanishingIdeal] = [clone(template) for _ in data.classes]
        if data.rows.single_precision:
            warn_single_precision(template.psi)

        def fit(rows: Rows, k: int) -> None:
            take_input_from(self, models[k])
            own = parts[k] if isinstance(rows, ArrayRows) else rows.where_label(data.keys[k])
            models[k]._fit_rows(own, surveys[k])

        tasks = [partial(fit, k=k) for k in range(len(models))]
        together(data.rows, tasks, threads=n_threads(self.n_jobs))
        self.classes_ = data.classes
        self.estimators_ = models

    def transform(self, X: Any) -> Any:
        """Absolute values of the generators of all classes, ``|g(x)|``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_generators)
        """
        check_is_fitted(self)
        values = FeatureMap.of(self.estimators_).over(read_finite(self, X))
        return with_names(values, lambda: self.get_feature_names_out())

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the output columns: the class and the polynomial, shortened where it is long.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns; those seen in fit by default.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        names = [
            f"{label}: {name}"
            for label, model in zip(self.classes_, self.estimators_, strict=True)
            for name in model.get_feature_names_out(input_features)
        ]
        return np.array(names, dtype=object)

    def _first_equations(self, n_shown: int) -> list[str]:
        return first_lines([str(name) for name in self.get_feature_names_out()], n_shown)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
