"""Classification by vanishing polynomials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._typing import Array, Bool1D, Float1D, Float2D
from ..checks import all_or_nothing, check_flag, input_names, no_generator, take_input_from, warn_outside_unit_cube
from ..engine.scaling import scale_and_survey_parts, scaled_rows, survey_parts
from ..ideals.default import DefaultIdeal
from ..polynomials.polynomial import Polynomial, Polynomials
from ..rows.arrays import ArrayRows, as_rows
from ..rows.labels import Labelled, as_vector, best_labels, read_labelled
from ..rows.protocol import Rows, with_names
from ..rows.reading import finite_blocks, is_source, read_finite
from ..svm import L1SVC
from .features import FeatureMap
from .per_class import PerClass

__all__ = ["ClassGenerator", "ClassGenerators", "VanishingIdealClassifier", "takes_no_weight"]

_SHOWN = 20  # generators that a printed list shows before it is cut


class ClassGenerator(NamedTuple):
    """A polynomial that vanishes on a class, and its weight in the decision.

    The weight is a number for two classes, one number per class for more, None if the last step is not linear.
    An ``exact`` polynomial vanishes, up to rounding, on the training rows of every class: it tells no classes apart,
    and its weight is 0.
    """

    label: Any
    polynomial: Polynomial
    weight: Any
    exact: bool


class ClassGenerators(Sequence[ClassGenerator]):
    """The generators of all classes with their weights in the decision, in the order of the feature columns.

    The polynomials are in the units of the data given to ``fit``; printed, the ones with the largest weights
    come first.
    """

    def __init__(self, labels: Array, lists: Sequence[Polynomials], weights: Float2D | None, exact: Bool1D):
        self.labels = labels
        self.lists = tuple(lists)
        self.weights = weights
        self.exact = exact
        self._places = [(k, g) for k, polynomials in enumerate(self.lists) for g in range(len(polynomials))]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[int(index)]
        k, g = self._places[i]
        weight: Any = None
        if self.weights is not None:
            weight = float(self.weights[0, i]) if len(self.weights) == 1 else self.weights[:, i]
        return ClassGenerator(self.labels[k], self.lists[k][g], weight, bool(self.exact[i]))

    def __iter__(self) -> Iterator[ClassGenerator]:
        return (self[i] for i in range(len(self)))

    def __str__(self) -> str:
        if self.weights is None:
            order = np.flatnonzero(~self.exact)
        else:
            order = np.argsort(-np.abs(self.weights).max(axis=0), kind="stable")
            order = order[np.abs(self.weights).max(axis=0)[order] > 0.0]
        lines = []
        if self.weights is not None:
            towards = self.labels[1:] if len(self.weights) == 1 else self.labels
            lines.append(f"weight towards class {', '.join(map(str, towards))}; polynomial; class that it vanishes on")
        for i in order[:_SHOWN]:
            label, polynomial, weight, _ = self[i]
            shown = "" if weight is None else " ".join(f"{w:+10.3g}" for w in np.atleast_1d(weight)) + "  "
            lines.append(f"{shown}|{polynomial}|  (class {label})")
        if len(order) > _SHOWN:
            lines.append(f"... and {len(order) - _SHOWN} more")
        if len(order) < len(self):
            lines.append(f"{len(self) - len(order)} generators have weight 0")
        if self.exact.any():
            lines.append(f"{self.exact.sum()} generators vanish exactly on every class, and tell none apart")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ClassGenerators: {len(self)} of {len(self.labels)} classes>"


def _final_has(name: str) -> Any:
    """Whether the last step, fitted or to be fitted, has the method."""

    def check(self: Any) -> bool:
        final = getattr(self, "final_estimator_", self.final_estimator)
        getattr(L1SVC() if final is None else final, name)
        return True

    return check


class VanishingIdealClassifier(DefaultIdeal, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One vanishing ideal per class, then a linear classifier on ``|g(x)|`` (Section 3.2 of the paper).

    Scales the columns to [0, 1], fits the generators g of each class, and separates the classes by a sparse
    linear SVM in the values ``|g(x)|`` and, with ``append_input``, in x itself. ``transform`` gives these columns, so
    that the classifier can also stand in the middle of a pipeline.

    Parameters
    ----------
    estimator : OAVI, ABM, AVI or VCA, default=None
        Finds the generators of a class; None stands for ``OAVI()``.
    final_estimator : classifier, default=None
        Any scikit-learn classifier for the last step; None stands for ``L1SVC(C)``. With one, ``C`` is not used.
    scale_input : bool, default=True
        Scale the columns to [0, 1] by the range of the training data; switch it off for data that are already so.
    append_input : bool, default=True
        Give the SVM the scaled input columns, too.
    scale_features : bool, default=True
        Divide the columns that the SVM sees by their standard deviation, so that the penalty treats them alike.
        With it or not, columns that are constant up to rounding on the training rows are left out (0 for every row).
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    C : float, default=1.0
        Weight of the SVM's loss against its penalty.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    generators_ : ClassGenerators
        Every generator with its class and its weight, in the units of the input: the decision function is
        ``sum_g weight_g |g(x)| + linear_coef_ @ x + intercept_``. Indexed in the order of the columns; printed,
        the largest weights first.
    linear_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the input columns, in their units; zero without ``append_input``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    scaler_ : MinMaxScaler or None
        The fitted scaling.
    ideals_ : PerClass
        The fitted ideals.
    final_estimator_ : classifier
        The fitted last step. If it is not linear, there is no ``linear_coef_`` and no ``intercept_``.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    VanishingIdealClassifierCV : tunes ``psi`` and ``C``.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, VanishingIdealClassifier
    >>> rng = np.random.default_rng(0)
    >>> angle, label = rng.uniform(0, 2 * np.pi, 400), np.repeat(["inner", "outer"], 200)
    >>> radius = np.where(label == "inner", 1.0, 2.0) + rng.normal(0, 0.05, 400)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> clf = VanishingIdealClassifier(OAVI(psi=0.001)).fit(X, label)
    >>> clf.score(X, label)
    1.0
    >>> clf.generators_[0].label, clf.generators_[0].polynomial.degree
    (np.str_('inner'), 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        final_estimator: Any = None,
        scale_input: bool = True,
        append_input: bool = True,
        scale_features: bool = True,
        n_jobs: int | None = None,
        C: float = 1.0,
    ):
        self.estimator = estimator
        self.final_estimator = final_estimator
        self.scale_input = scale_input
        self.append_input = append_input
        self.scale_features = scale_features
        self.n_jobs = n_jobs
        self.C = C

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit scaling, ideals and the last step.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in the ideals and in the loss.

        Returns
        -------
        self
        """
        for name in ("scale_features", "append_input", "scale_input"):
            check_flag(name, getattr(self, name))
        with all_or_nothing(self):
            self._fit_labelled(self, read_labelled(self, X, y, sample_weight).without_zero_weights())
        return self

    def _fit_labelled(self, source: Any, data: Labelled) -> None:
        """Fit to checked data, whose columns ``source`` knows."""
        take_input_from(source, self)
        names = input_names(self)
        first_pass = scale_and_survey_parts if self.scale_input else survey_parts
        first = first_pass(data.rows, names, data.parts, ahead=PerClass(self.estimator)._looks_ahead)
        rows, whole = first.rows, first.whole
        if not self.scale_input:
            warn_outside_unit_cube(whole.low, whole.high, names)
        data = data._replace(rows=rows)
        ideals = PerClass(self.estimator, n_jobs=self.n_jobs)
        take_input_from(source, ideals)
        ideals._fit_parts(data, first.parts, first.surveys)
        mapping = FeatureMap.of(ideals.estimators_, append_input=self.append_input)
        if mapping.n_generators == 0:
            raise ValueError(no_generator(ideals.estimators_[0].psi))
        reach = np.maximum(np.abs(whole.low), np.abs(whole.high))
        if isinstance(rows, ArrayRows):
            mapping, final = self._fit_final_in_memory(data, rows, mapping, reach)
        else:
            mapping, final = self._fit_final(data, mapping, reach)
        self._store(data.classes, first.scaler, ideals, mapping, final)
        self._read_weights(mapping.over(as_rows(rows.X[:100])) if isinstance(rows, ArrayRows) else None)

    def _fit_final(self, data: Labelled, mapping: FeatureMap, reach: Float1D) -> tuple[FeatureMap, Any]:
        """The fitted map, and the SVM, whose columns are computed anew in every pass."""
        if self.final_estimator is not None:
            raise ValueError(
                "final_estimator must be None for data outside of memory: only the built-in SVM fits them in passes."
            )
        mapping = mapping.fitted_on(data.rows, reach, scale=self.scale_features)
        svm = L1SVC(self.C, n_jobs=self.n_jobs)
        svm.n_features_in_ = mapping.n_columns
        svm._fit_from([self.C], data._replace(rows=mapping.columns_of(data.rows)), [svm])
        return mapping, svm

    def _fit_final_in_memory(
        self, data: Labelled, rows: ArrayRows, mapping: FeatureMap, reach: Float1D
    ) -> tuple[FeatureMap, Any]:
        """The fitted map and the last step, from columns that are kept."""
        columns, weights = mapping.over(rows), rows.sample_weight
        mapping = mapping.fitted_by(columns, weights, reach, scale=self.scale_features)
        final = L1SVC(self.C, n_jobs=self.n_jobs) if self.final_estimator is None else clone(self.final_estimator)
        y = data.classes[rows.labels]
        if weights is None:
            final.fit(columns, y)
        elif has_fit_parameter(final, "sample_weight"):
            final.fit(columns, y, sample_weight=weights)
        else:
            raise ValueError(takes_no_weight(final))
        return mapping, final

    def _store(
        self, classes: Array, scaler: MinMaxScaler | None, ideals: PerClass, mapping: FeatureMap, final: Any
    ) -> None:
        """Set what predictions need."""
        self.classes_, self.scaler_, self.ideals_, self.final_estimator_ = classes, scaler, ideals, final
        self._map = mapping

    def _read_weights(self, columns: Float2D | None) -> None:
        """Set ``generators_`` and, if the last step is linear on these columns, the weights, in the input's units."""
        n, mapping = self.n_features_in_, self._map
        scaler = self.scaler_
        scale, offset = (np.ones(n), np.zeros(n)) if scaler is None else (scaler.scale_, scaler.min_)
        lists = [polynomials.in_units((scale, offset)) for polynomials in mapping.lists]
        for name in ("linear_coef_", "intercept_"):
            if hasattr(self, name):  # of an earlier fit
                delattr(self, name)
        assert mapping.exact is not None
        if columns is not None and not _is_linear(self.final_estimator_, columns):
            self.generators_ = ClassGenerators(self.classes_, lists, None, mapping.exact)
            return
        coef = np.atleast_2d(self.final_estimator_.coef_) / mapping.width
        inputs = coef[:, mapping.n_generators :] if self.append_input else np.zeros((len(coef), n))
        self.generators_ = ClassGenerators(self.classes_, lists, coef[:, : mapping.n_generators], mapping.exact)
        self.linear_coef_ = inputs * scale
        self.intercept_ = np.atleast_1d(self.final_estimator_.intercept_) + inputs @ offset

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
        return as_vector(self._map.scores(self._scaled(X), svm.coef_, svm.intercept_))

    @available_if(_final_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float2D:
        """Probabilities of the classes, where the last step has them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self.final_estimator_.predict_proba(self._columns(X)))

    def transform(self, X: Any) -> Any:
        """The columns that the last step sees: ``|g(x)|`` for every generator and, with ``append_input``, the inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source

        Returns
        -------
        array of shape (n_samples, n_generators) or (n_samples, n_generators + n_features)
            Of the kind of ``X``: on the same device, lazy for Dask and for files.
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
        names = self.ideals_.get_feature_names_out(input_features)
        if not self.append_input:
            return names
        return np.append(names, input_names(self) if input_features is None else list(map(str, input_features)))

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
        data = read_labelled(clone(self), X, y, sample_weight, at_least=1)
        rows = finite_blocks(self, data.rows)
        rows = rows if self.scaler_ is None else scaled_rows(rows, self.scaler_)
        svm = self.final_estimator_
        return self._map.confusion(rows, svm.coef_, svm.intercept_, data.keys), data.classes

    def _scaled(self, X: Any) -> Rows:
        rows = read_finite(self, X)
        return rows if self.scaler_ is None else scaled_rows(rows, self.scaler_)


def takes_no_weight(final: Any) -> str:
    """What to tell users who weight the rows of a last step that cannot."""
    return f"{type(final).__name__} takes no sample_weight: leave it out, or choose another final_estimator."


def _is_linear(final: Any, columns: Float2D) -> bool:
    """Whether the decision function is ``coef_ @ x + intercept_``; SVC's, for one, is not for three classes."""
    if not all(hasattr(final, name) for name in ("coef_", "intercept_", "decision_function")):
        return False
    scores = final.decision_function(columns)
    linear = columns @ np.atleast_2d(final.coef_).T + np.atleast_1d(final.intercept_)
    return linear.size == scores.size and bool(np.allclose(linear.reshape(scores.shape), scores, rtol=1e-6, atol=1e-6))
