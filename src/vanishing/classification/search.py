"""Tuning psi and C by cross-validation at the price of a few fits."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._typing import Array, Float1D, Float2D
from ..checks import all_or_nothing, check_flag, check_folds, check_n_jobs, check_numbers, input_names, take_input_from
from ..engine.scaling import survey_parts
from ..ideals.abm import ABM
from ..ideals.avi import AVI
from ..ideals.default import DefaultIdeal
from ..ideals.ideal import VanishingIdeal
from ..progress import search_progress
from ..rows.arrays import ArrayRows
from ..rows.disk import ScaledOnDisk
from ..rows.labels import Labelled, read_labelled
from ..rows.reading import is_source
from ..svm import L1SVC
from .classifier import ClassGenerators, VanishingIdealClassifier, takes_no_weight
from .crossval import Scores, Study, folds_by_scaling, score_folds, takes_weights
from .crossval_source import Options, score_source, survey_folds, tabulated_score

__all__ = ["VanishingIdealClassifierCV"]

_PER_DECADE = 2  # psis of an automatic grid
_DECADES = 5
_TERMS = 100  # terms and generators of a class that an automatic grid may always reach ...
_MANY_TERMS = 300  # ... and those that it may, if they are the terms of degree 2


def _refitted(self: Any) -> bool:
    if not self.refit:
        raise AttributeError("refit=False: there is no fitted model; set refit=True.")
    return True


def _largest_variance(rows: ArrayRows, *, scale: bool) -> float:
    """Of a column within a class, in scaled units."""
    rows = rows.without_zero_weights()
    assert rows.labels is not None
    span = np.ptp(rows.X.astype(np.float64), axis=0) if scale else np.ones(rows.X.shape[1])
    span = np.where(span > 0.0, span, 1.0)
    return max(_variance(rows.where_label(code), span) for code in np.unique(rows.labels))


def _variance(rows: ArrayRows, span: Float1D) -> float:
    X = rows.X / span
    mean = np.average(X, axis=0, weights=rows.sample_weight)
    return float(np.average((X - mean) ** 2, axis=0, weights=rows.sample_weight).max())


def _scorer_of_predictions(scoring: Any) -> Any:
    """The scorer, if it needs no more than how often each class was taken for each."""
    if scoring is not None and not isinstance(scoring, str):
        raise ValueError("scoring must be the name of a score, such as 'accuracy' or 'f1', for data outside of memory.")
    scorer = check_scoring(L1SVC(), "accuracy" if scoring is None else scoring)
    if getattr(scorer, "_response_method", "predict") != "predict" or not takes_weights(scorer):
        raise ValueError(
            f"scoring={scoring!r} needs the scores of single rows, or takes no weights; for data outside of memory use "
            "one of predictions, such as 'accuracy', 'balanced_accuracy' or 'f1'."
        )
    return scorer


class VanishingIdealClassifierCV(DefaultIdeal, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """:class:`VanishingIdealClassifier` with ``psi`` and ``C`` chosen by cross-validation.

    Gram matrices add over rows, so those of the training folds are sums of those of the parts, and one pass per
    degree serves every psi and every fold; the SVMs are warm-started along C. Scores are those of
    ``GridSearchCV`` over :class:`VanishingIdealClassifier`, up to rounding.

    Parameters
    ----------
    estimator : OAVI, ABM, AVI or VCA, default=None
        Finds the generators of a class; None stands for ``OAVI()``. Its ``psi`` is not used.
    final_estimator : classifier, default=None
        Any scikit-learn classifier with a parameter ``C`` for the last step, such as
        ``LinearSVC(penalty="l1")``, which is fitted for one pair after the other; None stands for ``L1SVC``, which goes
        along C at the price of little more than one, for several pairs at a time.
    scale_input, append_input, scale_features :
        As for :class:`VanishingIdealClassifier`. The scaling of a fold uses its training rows only; folds share
        passes where their columns have the same ranges, and always with ``scale_input=False``.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    psis : "auto" or array-like, default="auto"
        Values of psi. "auto": two per decade, from the largest variance of a column within a class (above which
        every column leads a generator) down over five decades, or as far as each ideal stays small: 100 terms and
        generators, or up to 300 if these are of degree 2, or three times the number of columns.
    Cs : array-like, default=(0.1, 1.0, 10.0)
        Values of C.
    cv : int, splitter or iterable of (train, test), default=3
        As in scikit-learn; a number means stratified folds.
    scoring : str or callable, default=None
        As in scikit-learn; None stands for accuracy.
    refit : bool, default=True
        Fit the best pair to all rows. Without it there is no ``predict``.

    Attributes
    ----------
    best_params_ : dict
        The pair with the best mean score; of equals, the largest psi, then the smallest C.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        As in scikit-learn: ``params``, ``param_psi``, ``param_C``, ``split0_test_score``, ...,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, and ``mean_n_generators``.
    best_estimator_ : VanishingIdealClassifier
        Fitted to all rows.
    generators_ : ClassGenerators
        Its generators: class, equation, weight.
    linear_coef_, intercept_ : ndarray
        Its other weights, where the last step is linear.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_splits_ : int
        Number of folds.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdealClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> angle, label = rng.uniform(0, 2 * np.pi, 400), np.repeat([0, 1], 200)
    >>> radius = 1.0 + label + rng.normal(0, 0.05, 400)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> clf = VanishingIdealClassifierCV(psis=[0.1, 0.001]).fit(X, label)
    >>> clf.best_params_
    {'psi': 0.1, 'C': 10.0}
    >>> clf.score(X, label)
    1.0
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
        psis: Any = "auto",
        Cs: Any = (0.1, 1.0, 10.0),
        cv: Any = 3,
        scoring: Any = None,
        refit: bool = True,
    ):
        self.estimator = estimator
        self.final_estimator = final_estimator
        self.scale_input = scale_input
        self.append_input = append_input
        self.scale_features = scale_features
        self.n_jobs = n_jobs
        self.psis = psis
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Score every pair of psi and C on every fold, then fit the best pair to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows: in the ideals, in the loss, and in the score if it takes weights. Rows with weight 0
            are left out.

        Returns
        -------
        self
        """
        for name in ("refit", "scale_features", "append_input", "scale_input"):
            check_flag(name, getattr(self, name))
        check_n_jobs(self.n_jobs)
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be None, a name or a function; got {self.scoring!r}.")
        Cs = check_numbers("Cs", self.Cs, above=0.0)
        final = self.final_estimator
        if final is not None and (isinstance(final, type) or not hasattr(final, "C")):
            raise ValueError(f"final_estimator must be None or a classifier with a parameter C; got {final!r}.")
        with all_or_nothing(self):
            data = read_labelled(self, X, y, sample_weight)
            data.require_weights()
            if sample_weight is not None and not (final is None or has_fit_parameter(final, "sample_weight")):
                raise ValueError(takes_no_weight(final))
            template = clone(self._template())
            take_input_from(self, template)
            score = self._score_in_memory if isinstance(data.rows, ArrayRows) else self._score_in_passes
            psis, n_folds, found, automatic = score(data, template, Cs)
            self.classes_ = data.classes
            self.n_splits_ = n_folds
            self._choose(psis, Cs, found, found.too_large if automatic else np.zeros(len(psis), dtype=bool))
            if hasattr(self, "best_estimator_"):  # of an earlier fit
                del self.best_estimator_
            if self.refit:
                self._refit(data.without_zero_weights())
        return self

    def _score_in_memory(
        self, data: Labelled, template: VanishingIdeal, Cs: list[float]
    ) -> tuple[list[float], int, Scores, bool]:
        """The values of psi, the number of folds, the scores, and whether the psi were proposed."""
        rows = data.rows
        assert isinstance(rows, ArrayRows)
        assert rows.labels is not None
        X, codes, classes = rows.X, rows.labels, data.classes
        y = classes[codes]
        splits = check_folds(check_cv(self.cv, y, classifier=True), X, y, classes, codes, rows.sample_weight)
        psis, automatic = self._grid(lambda: _largest_variance(rows, scale=self.scale_input), template)
        study = Study(
            X,
            y,
            classes,
            codes,
            rows.sample_weight,
            template,
            Cs,
            check_scoring(L1SVC() if self.final_estimator is None else self.final_estimator, self.scoring),
            whole_model=not (self.scoring is None or isinstance(self.scoring, str)),
            scale_features=self.scale_features,
            append_input=self.append_input,
            n_jobs=self.n_jobs,
            final_estimator=self.final_estimator,
        )
        with search_progress(len(psis) * len(splits), passes=False) as progress:
            groups = folds_by_scaling(X, splits, scale_input=self.scale_input)
            return psis, len(splits), score_folds(study, psis, groups, progress), automatic

    def _score_in_passes(
        self, data: Labelled, template: VanishingIdeal, Cs: list[float]
    ) -> tuple[list[float], int, Scores, bool]:
        """The same for rows that are not in memory."""
        if self.final_estimator is not None:
            raise ValueError(
                "final_estimator must be None for data outside of memory: only the built-in SVM fits them in passes."
            )
        if isinstance(self.cv, bool) or not isinstance(self.cv, Integral) or self.cv < 2:
            raise ValueError(f"cv must be a number of folds, at least 2, for data outside of memory; got {self.cv!r}.")
        n_folds, names = int(self.cv), input_names(self)
        scorer = _scorer_of_predictions(self.scoring)
        if isinstance(data.rows, ScaledOnDisk) and data.rows.scaler is None:
            survey_parts(data.rows, names)  # finds the scaling
        folds = survey_folds(data, n_folds, names, scale_input=self.scale_input, ahead=template._looks_ahead)
        psis, automatic = self._grid(folds.largest_variance, template)
        options = Options(template, Cs, scorer, self.scale_features, self.append_input, self.n_jobs)
        with search_progress(len(psis) * n_folds, passes=True) as progress:
            return psis, n_folds, score_source(folds, options, psis, progress), automatic

    def _grid(self, variance: Callable[[], float], template: VanishingIdeal) -> tuple[list[float], bool]:
        """The values of psi, and whether they were proposed; then ``template`` is kept small, too."""
        if not isinstance(self.psis, str):
            return check_numbers("psis", self.psis, low=0.0), False
        if self.psis != "auto":
            raise ValueError(f"psis must be 'auto' or a list of numbers, got {self.psis!r}.")
        largest = variance() or 0.1
        if isinstance(template, (ABM, AVI)):  # of which psi has to be below 1
            largest = min(largest, 0.5)
        n = self.n_features_in_
        enough = max(_TERMS, min((n + 1) * (n + 2) // 2 + n, _MANY_TERMS), 3 * (n + 1))
        template.set_params(max_terms=min(template.max_terms, enough))
        steps = np.arange(_DECADES * _PER_DECADE + 1) / _PER_DECADE
        return [float(psi) for psi in largest * 10.0**-steps], True

    def _choose(self, psis: list[float], Cs: list[float], found: Scores, left_out: Array) -> None:
        """Set ``cv_results_`` and the best pair."""
        if left_out.all():
            left_out[int(np.argmax(psis))] = False
        kept = np.flatnonzero(~left_out)
        pairs = [(psis[i], C) for i in kept for C in Cs]
        scores = found.scores[kept].reshape(len(pairs), -1)
        mean = scores.mean(axis=1)
        if np.isnan(mean).all():
            raise ValueError("No psi gives a generator for any class in every fold: raise psis or max_degree.")
        self.cv_results_: dict[str, Any] = {
            "params": [{"psi": psi, "C": C} for psi, C in pairs],
            "param_psi": np.array([psi for psi, _ in pairs]),
            "param_C": np.array([C for _, C in pairs]),
            **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int32),
            "mean_n_generators": np.repeat(found.n_generators[kept].mean(axis=1), len(Cs)),
        }
        ranks = self.cv_results_["rank_test_score"]
        self.best_index_ = min(range(len(pairs)), key=lambda k: (ranks[k], -pairs[k][0], pairs[k][1]))
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(mean[self.best_index_])

    def _refit(self, data: Labelled) -> None:
        psi, C = self.best_params_["psi"], self.best_params_["C"]
        best = VanishingIdealClassifier(
            clone(self._template()).set_params(psi=psi),
            final_estimator=None if self.final_estimator is None else clone(self.final_estimator).set_params(C=C),
            scale_input=self.scale_input,
            append_input=self.append_input,
            scale_features=self.scale_features,
            n_jobs=self.n_jobs,
            C=C,
        )
        best._fit_labelled(self, data)
        self.best_estimator_ = best

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The score ``scoring`` of the best model; for None, the share of the rows whose label it predicts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
        y : array-like of shape (n_samples,)
            Labels; rows on disk come with their own.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for scores that take them.

        Returns
        -------
        float
        """
        check_is_fitted(self, "best_estimator_")
        best = self.best_estimator_
        if self.scoring is None:
            return float(best.score(X, y, sample_weight))
        if is_source(X) and self.final_estimator is None:
            scorer = _scorer_of_predictions(self.scoring)
            return tabulated_score(scorer, *best._confusion(X, y, sample_weight), best.classes_)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(check_scoring(best, self.scoring)(best, X, y, **options))

    @property
    def generators_(self) -> ClassGenerators:
        """The generators of the best model: class, equation, weight."""
        check_is_fitted(self, "best_estimator_")
        generators: ClassGenerators = self.best_estimator_.generators_
        return generators

    @property
    def linear_coef_(self) -> Float2D:
        """Weights of the input columns in the best model's decision, in their units."""
        check_is_fitted(self, "best_estimator_")
        coef: Float2D = self.best_estimator_.linear_coef_
        return coef

    @property
    def intercept_(self) -> Float1D:
        """Intercepts of the best model."""
        check_is_fitted(self, "best_estimator_")
        intercept: Float1D = self.best_estimator_.intercept_
        return intercept

    @available_if(_refitted)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Labels of the rows, by the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_refitted)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Signed scores of the best model: one column per class, or one value per row for two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def transform(self, X: Any) -> Any:
        """The columns that the last step of the best model sees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source

        Returns
        -------
        array of shape (n_samples, n_generators) or (n_samples, n_generators + n_features)
        """
        _refitted(self)  # not by available_if: the wrapper for set_output would undo it
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

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
        _refitted(self)
        check_is_fitted(self)
        names: Array = self.best_estimator_.get_feature_names_out(input_features)
        return names
