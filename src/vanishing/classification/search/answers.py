"""What a search answers, through the best model or the average that it has fitted."""

from __future__ import annotations

from typing import Any

from sklearn.base import TransformerMixin
from sklearn.metrics import check_scoring
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._typing import Array, Float1D, Float2D
from ...rows.labels import best_labels
from ...rows.reading import is_source
from ...svm import L1SVC
from ..model.classifier import VanishingIdealClassifier
from ..model.explained import ReportedClassifier
from ..model.probabilities import probabilities
from ..model.readable import ClassGenerators
from .scoring import answered_score, find_scorer, needs_single_rows, scorer_of_predictions, tabulated_score


def _refitted(self: Any) -> bool:
    if not self.refit:
        raise AttributeError("refit=False: there is no fitted model; set refit=True.")
    return True


def _has_probabilities(self: Any) -> bool:
    if not hasattr(self, "best_estimator_"):
        if isinstance(self.final_estimator, L1SVC):
            raise AttributeError(
                "L1SVC has no probabilities: set final_estimator=None, which calibrates its decisions."
            )
        return _refitted(self) and (self.final_estimator is None or hasattr(self.final_estimator, "predict_proba"))
    return hasattr(self.best_estimator_, "predict_proba")


class AnswersByTheBest(ReportedClassifier, TransformerMixin):  # type: ignore[misc]
    """A search whose ``best_estimator_`` answers for it; with an average, its weighted ``estimators_`` do."""

    best_estimator_: VanishingIdealClassifier
    estimators_: list[VanishingIdealClassifier]

    @property
    def _averages(self) -> bool:
        """Whether several models answer together."""
        return isinstance(self.refit, str) and self.refit == "average"

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
        if is_source(X) and (self.final_estimator is None or isinstance(self.final_estimator, L1SVC)):
            single_rows = isinstance(self.scoring, str) and needs_single_rows(find_scorer(self.scoring))
            if single_rows and hasattr(best, "predict_proba"):
                rows = best._decisions_and_labels(X, y, sample_weight)
                return answered_score(find_scorer(self.scoring), best.classes_, best._calibration, *rows)
            scorer = scorer_of_predictions(self.scoring)
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
        if not self._averages:
            return self.best_estimator_.predict(X)
        return best_labels(self.decision_function(X), self.classes_)

    @available_if(_refitted)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Decisions of the best model, or of the average: one column per class, or one value per row for two classes.

        They are log-odds, unless there is a ``final_estimator``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        if not self._averages:
            return self.best_estimator_.decision_function(X)
        pairs = zip(self.weights_, self.estimators_, strict=True)
        return sum(float(weight) * member._limited_log_odds(X) for weight, member in pairs)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes: the softmax of the decisions; for two classes the logistic function.

        For two classes they level off where the SVM's own decision is 1.5 times its margin.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return probabilities(self.decision_function(X)) if self._averages else self.best_estimator_.predict_proba(X)

    def _decisions_and_probabilities(self, X: Any) -> tuple[Any, Any]:
        """Decisions, and probabilities or None; from one evaluation if decisions are log-odds."""
        if not self._averages:
            return self.best_estimator_._decisions_and_probabilities(X)
        decisions = self.decision_function(X)
        return decisions, probabilities(decisions) if _has_probabilities(self) else None

    def _single(self) -> VanishingIdealClassifier:
        """The best model, where it is what predicts."""
        _refitted(self)
        check_is_fitted(self, "best_estimator_")
        if self._averages:
            raise ValueError(
                "An average has no single formula: ask best_estimator_ or one of estimators_, or set refit=True."
            )
        best: VanishingIdealClassifier = self.best_estimator_
        return best

    def to_sympy(self) -> Any:
        """The decision of the best model in SymPy, see :meth:`VanishingIdealClassifier.to_sympy`.

        Returns
        -------
        sympy expression, or list of them
        """
        return self._single().to_sympy()

    def __str__(self) -> str:
        best = getattr(self, "best_estimator_", None)
        if best is None or not isinstance(best.final_estimator_, L1SVC):
            return repr(self)
        mean = ["the mean of the decisions of several models, one of them:"] if self._averages else []
        score = f"cross-validated score {self.best_score_:.4g}"
        return "\n".join([self._constructor(), *mean, *best._formula_lines(), score])

    def _first_equations(self, n_shown: int) -> list[str]:
        return self.best_estimator_._first_equations(n_shown) if hasattr(self, "best_estimator_") else []

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
