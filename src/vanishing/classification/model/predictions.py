"""What a fitted classifier says about rows: labels, decisions, probabilities, columns, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._typing import Array, Float1D, Float2D
from ...checks import warn_clipped
from ...rows.arrays import ArrayRows
from ...rows.labels import as_vector, best_labels, read_labelled
from ...rows.protocol import Rows
from ...rows.reading import dense, finite_blocks, input_names, is_source, learn_columns, read_finite, with_names
from ...svm import L1SVC
from .features import FeatureMap, column_names
from .per_class import PerClass
from .probabilities import probabilities
from .readable import ReadableClassifier
from .transforms import InputTransform, in_unit_cube


def _has_probabilities(self: Any) -> bool:
    return getattr(self, "_calibration", None) is not None or bool(_final_has("predict_proba")(self))


def _final_has(name: str) -> Any:
    """Whether the last step, fitted or to be fitted, has the method."""

    def check(self: Any) -> bool:
        final = getattr(self, "final_estimator_", self.final_estimator)
        getattr(L1SVC() if final is None else final, name)
        return True

    return check


class Predicts(ReadableClassifier, TransformerMixin):  # type: ignore[misc]
    """The methods of a classifier that a fit has given its pieces."""

    ideals_: PerClass
    _map: FeatureMap

    def predict(self, X: Any) -> Any:
        """Labels of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if not isinstance(self.final_estimator_, L1SVC):
            return np.asarray(self.final_estimator_.predict(self._columns(X)))
        return best_labels(self.decision_function(X), self.classes_)

    @available_if(_final_has("decision_function"))  # type: ignore[untyped-decorator]
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
        svm = self.final_estimator_
        if not isinstance(svm, L1SVC):
            return np.asarray(svm.decision_function(self._columns(X)))
        return as_vector(self._used_map.scores(self._scaled(X), *self._planes))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, where the last step has them, or where a search has calibrated the decisions.

        Calibrated ones are the softmax of the decisions; for two classes the logistic function, which levels off where
        the SVM's own decision is 1.5 times its margin.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if self._calibration is None:
            return np.asarray(self.final_estimator_.predict_proba(self._columns(X)))
        return self._decisions_and_probabilities(X)[1]

    def _decisions_and_probabilities(self, X: Any) -> tuple[Any, Any]:
        """Decisions, and probabilities or None; from one evaluation if decisions are log-odds."""
        decisions = self.decision_function(X)
        if self._calibration is not None:
            return decisions, probabilities(self._calibration.limited(decisions))
        return decisions, self.predict_proba(X) if hasattr(self, "predict_proba") else None

    def _limited_log_odds(self, X: Any) -> Any:
        """The decisions; where they are log-odds, as far as probabilities follow them."""
        decisions = self.decision_function(X)
        return decisions if self._calibration is None else self._calibration.limited(decisions)

    def transform(self, X: Any) -> Any:
        """The columns that the last step sees: ``|g(x)|`` for every generator and, with ``append_input``, the inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source

        Returns
        -------
        array of shape (n_samples, n_generators) or (n_samples, n_generators + n_features)
            An array like ``X``: on the same device, lazy for Dask and for files.
        """
        check_is_fitted(self)
        return with_names(self._columns(X), self.get_feature_names_out)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of ``transform``: the class and the polynomial in scaled variables, then the inputs.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns; those seen in fit by default.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        names = self.ideals_.get_feature_names_out(input_features) if self._map.n_generators == self._n_found else None
        inputs = input_names(self) if input_features is None else list(map(str, input_features))
        return column_names(self._map, [whose for whose, _ in self.ideals_._named], inputs, names)

    @property
    def _n_found(self) -> int:
        return sum(len(ideal.generators_) for _, ideal in self.ideals_._named)

    def _columns(self, X: Any) -> Any:
        """What ``transform`` gives, whatever container ``set_output`` asks for."""
        return self._map.over(self._scaled(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the rows whose label is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
        y : array-like of shape (n_samples,)
            Labels; rows on disk come with their own.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if not is_source(X) or not isinstance(self.final_estimator_, L1SVC):
            return float(super().score(X, y, sample_weight))
        table, true = self._confusion(X, y, sample_weight)
        known = np.searchsorted(self.classes_, true)
        right = sum(table[k, j] for k, j in enumerate(known) if j < len(self.classes_) and self.classes_[j] == true[k])
        return float(right / table.sum())

    def _confusion(self, X: Any, y: Any, sample_weight: Any) -> tuple[Float2D, Array]:
        """Weight of the rows of each label in a source for which the SVM predicts each class, and those labels."""
        data = read_labelled(X, y, sample_weight, at_least=1, n_jobs=self.n_jobs)
        learn_columns(self, data.rows, reset=False)
        rows = in_unit_cube(finite_blocks(data.rows, input_names(self)), self.scaler_)
        return self._used_map.confusion(rows, *self._planes, data.keys), data.classes

    def _decisions_and_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[Float2D, Array, Float1D | None]:
        """The decisions about all rows of a source, ``(n_samples, n_scores)``, their labels and weights, in memory."""
        data = read_labelled(X, y, sample_weight, at_least=1, n_jobs=self.n_jobs)
        learn_columns(self, data.rows, reset=False)
        rows = in_unit_cube(finite_blocks(data.rows, input_names(self)), self.scaler_)
        decisions, keys, weights = self._used_map.scores_and_labels(rows, *self._planes)
        places = {key: k for k, key in enumerate(data.keys)}
        return decisions, data.classes[[places[key] for key in keys.tolist()]], weights

    def _scaled(self, X: Any) -> Rows:
        rows = read_finite(self, dense(X))
        if isinstance(self.scaler_, InputTransform) and isinstance(rows, ArrayRows):
            n_clipped, worst = self.scaler_.n_outliers(rows.X)
            if n_clipped:
                warn_clipped(n_clipped, len(rows), input_names(self)[worst])
        return in_unit_cube(rows, self.scaler_)
