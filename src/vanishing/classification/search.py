"""Tuning psi and C by cross-validation at the price of a few fits."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.utils.validation import has_fit_parameter

from .._typing import Array
from ..checks import (
    all_or_nothing,
    check_choice,
    check_count,
    check_flag,
    check_n_jobs,
    check_numbers,
)
from ..files.fields import Integer, Labels, ListOf, MayBeMissing, Number, Numbers, require
from ..files.saved import Object, Parameters, Results, SavedEstimator
from ..ideals.default import DefaultIdeal
from ..ideals.oavi import OAVI
from ..rows.labels import read_labelled
from ..rows.reading import dense
from .answers import AnswersByTheBest
from .extras import ColumnOptions
from .fitting import takes_no_weight
from .refitting import members, refit_pair
from .results import Pair, Searched, choose, tabulate
from .transforms import TRANSFORMS, check_scaling
from .tuning import run_search

__all__ = ["VanishingIdealClassifierCV"]

_PAPER = {
    "scale_input": True,
    "features": "absolute",
    "append_input": False,
    "scale_features": False,
    "psis": (0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001),
    "Cs": (0.1, 1.0, 10.0),
    "cv": KFold(3),
    "search_rows": None,
    "probability": False,
}


class VanishingIdealClassifierCV(AnswersByTheBest, SavedEstimator, DefaultIdeal, BaseEstimator):  # type: ignore[misc]
    """:class:`VanishingIdealClassifier` with ``psi``, ``C`` and the scaling of the columns chosen by cross-validation.

    The default search walks down psi, in half-decades from the largest variance of a column within a class, until four
    values in a row bring no better score, or until the ideals or the columns become too many for the rows. Each step
    tries a window of values of C. Gram matrices add over rows, so those of the training folds are sums of those of the
    parts, and one pass per degree serves several psi and every fold; the SVMs are warm-started along C. With explicit
    ``psis`` and ``Cs``, every pair is scored, and scores are those of ``GridSearchCV`` over
    :class:`VanishingIdealClassifier`, up to rounding.

    Decisions are log-odds: a logistic model of the decisions on held-out rows scales the best model's (Platt 1999), so
    ``predict_proba`` is their softmax; for two classes the logistic function, which levels off beyond the margin. The
    log-odds of three or more classes mix the decisions of all where that makes held-out labels likelier by more than
    two standard errors, with neither ``sparsity`` nor ``max_columns``: no plane against the rest finds a class that
    lies between two others.

    Parameters
    ----------
    estimator : OAVI, ABM, AVI or VCA, default=None
        Finds the generators of a class; None stands for ``OAVI()``. Its ``psi`` is not used.
    final_estimator : classifier, default=None
        Any scikit-learn classifier with a parameter ``C`` for the last step, such as
        ``LinearSVC(penalty="l1")``, which is fitted for one pair after the other; None stands for ``L1SVC``, which goes
        along C at the price of little more than one, for several pairs at a time.
    scale_input : bool or {"auto", "minmax", "arcsinh", "rank"}, default="auto"
        As for :class:`VanishingIdealClassifier`; "auto" takes the better of "arcsinh" and "rank" at the largest psi,
        and "arcsinh" for fewer than 2,000 rows and where ranks hardly differ from it. True scales each fold by its own
        training rows; the others transform the columns once, by all rows to be searched on.
    features : {"both", "absolute", "signed"}, default="both"
        Give the last step ``g(x)`` and ``|g(x)|``, or one of them.
    append_input, scale_features, class_weight :
        As for :class:`VanishingIdealClassifier`.
    hinges, monomials : int or "auto", default="auto"
        As for :class:`VanishingIdealClassifier`; "auto" tries 5 hinges for every input, and with them the products of
        two inputs, at the best psi of the walk, from 1,000 rows on. They stay if the accuracy is better by more than
        one standard error of the difference, or else the likelihood of the held-out labels, with an accuracy that is
        not worse by as much; then ``rank_test_score`` has them first, and ``best_estimator_`` says so. Not with
        ``average``, ``sparsity`` or ``max_columns``, nor where they would be too many columns.
    halves : bool or "auto", default="auto"
        Fit the ideals of the two halves of each class, too, see :class:`PerClass`; "auto" tries them as it tries
        hinges, and takes the best of what may stay.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    psis : "auto" or array-like, default="auto"
        Values of psi; "auto" is the walk. There, the ideal of a class may have ``12 sqrt(m) / K`` terms and generators
        for m rows of K classes (of more than seven K = 7, or an eighth of them), but at least 40, at most 600, and
        ``2 n + 2`` for n columns.
    Cs : "auto" or array-like, default="auto"
        Values of C; "auto" is a window of 0.01, 0.03, 0.1, 0.3, 1 and 10.
    cv : "auto", int, splitter or iterable of (train, test), default="auto"
        As in scikit-learn; a number means stratified folds. "auto": three shuffled stratified folds, three times over
        for fewer than 1,000 rows.
    scoring : str or callable, default=None
        As in scikit-learn; None stands for accuracy. Scores of probabilities see calibrated ones. For fewer than 1,000
        rows, where a row more or less is chance, the walk with None chooses by the likelihood of the held-out labels
        instead, and ``rank_test_score`` is by that.
    refit : bool, default=True
        Fit the best pair to all rows. Without it there is no ``predict``.
    search_rows : int or None, default=10_000
        With more rows, or rows that are not in memory, search on a stratified sample of this many (of twice as many
        or more on a third more, in two folds), and fit the best pair to all rows, in the columns that the sample needs.
        None searches on all rows, in passes where they are not in memory.
    probability : bool, default=True
        Turn decisions into log-odds. Without it they are those of the SVM.
    average : bool, default=False
        Predict by the mean of the decisions of models fitted to all rows and, as a second half, of those of all folds,
        for up to three psi within one standard error of the best; calibrated once more, since a mean errs less than its
        members. More accurate, but no single formula.
    sparsity : {"1se"} or None, default=None
        "1se" takes the pair with the fewest columns among those whose score is within one standard error of the best:
        that of the difference, since both are scored on the same rows. Accuracy may fall by half a point at most.
    max_columns : int or None, default=None
        Most columns that may have a weight: pairs with fewer are preferred, and if the model on all rows has more,
        it is fitted again to those with the largest weights.

    Attributes
    ----------
    best_params_ : dict
        The pair with the best mean score; of equals, the largest psi, then the smallest C.
    best_scaling_ : bool or str
        The way of scaling that was chosen.
    best_score_ : float
        Its mean score. Labels of three or more classes are those of calibrated decisions, as in ``predict``, where
        ``probability`` is set, but not mixed; the calibration knows the rows that are scored.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        As in scikit-learn, for the pairs that were tried: ``params``, ``param_psi``, ``param_C``,
        ``split0_test_score``, ..., ``mean_test_score``, ``std_test_score``, ``rank_test_score``, and
        ``mean_n_generators``, ``mean_n_columns`` (those with a weight). Pairs with the hinges and products that were
        taken come last.
    best_estimator_ : VanishingIdealClassifier
        Fitted to all rows.
    estimators_ : list of VanishingIdealClassifier
        The models that are averaged, with ``average``.
    weights_ : ndarray
        Their weights in the average.
    generators_ : ClassGenerators
        Generators of the best model: class, equation, weights.
    linear_coef_, intercept_ : ndarray
        Its other weights, where the last step is linear.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_splits_ : int
        Number of folds.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdealClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> angle, label = rng.uniform(0, 2 * np.pi, 400), np.repeat([0, 1], 200)
    >>> radius = 1.0 + label + rng.normal(0, 0.05, 400)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> clf = VanishingIdealClassifierCV().fit(X, label)
    >>> clf.predict_proba(X[:1]).round(2)
    array([[1., 0.]])
    >>> clf.score(X, label)
    1.0
    """

    _fields: ClassVar = {
        "classes_": Labels(),
        "n_splits_": Integer(low=1),
        "best_scaling_": Parameters(),
        "cv_results_": Results(),
        "best_index_": Integer(low=0),
        "best_params_": Results(),
        "best_score_": Number(finite=False),
        "best_estimator_": MayBeMissing(Object("VanishingIdealClassifier")),
        "estimators_": MayBeMissing(ListOf(Object("VanishingIdealClassifier"))),
        "weights_": MayBeMissing(Numbers("f8", (None,), low=0.0)),
    }

    def _check_saved(self) -> None:
        best = [self.best_estimator_] if hasattr(self, "best_estimator_") else []
        members = getattr(self, "estimators_", [])
        require(bool(best) or not self.refit, "the best model is missing")
        require(bool(members) or not (self.refit and self.average), "the models of the average are missing")
        require(len(members) == len(getattr(self, "weights_", [])), "it has other weights than models")
        for model in [*best, *members]:
            require(model.n_features_in_ == getattr(self, "n_features_in_", -1), "its models have other columns")
            require(model.classes_.tolist() == self.classes_.tolist(), "its models have other classes")

    def __init__(
        self,
        estimator: Any = None,
        *,
        final_estimator: Any = None,
        scale_input: Any = "auto",
        features: str = "both",
        append_input: bool = True,
        hinges: int | str = "auto",
        monomials: int | str = "auto",
        halves: bool | str = "auto",
        scale_features: bool = True,
        class_weight: Any = None,
        n_jobs: int | None = None,
        psis: Any = "auto",
        Cs: Any = "auto",
        cv: Any = "auto",
        scoring: Any = None,
        refit: bool = True,
        search_rows: int | None = 10_000,
        probability: bool = True,
        average: bool = False,
        sparsity: str | None = None,
        max_columns: int | None = None,
    ):
        self.estimator = estimator
        self.final_estimator = final_estimator
        self.scale_input = scale_input
        self.features = features
        self.append_input = append_input
        self.hinges = hinges
        self.monomials = monomials
        self.halves = halves
        self.scale_features = scale_features
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.psis = psis
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.search_rows = search_rows
        self.probability = probability
        self.average = average
        self.sparsity = sparsity
        self.max_columns = max_columns

    @classmethod
    def paper(cls, estimator: Any = None, **options: Any) -> Self:
        """The search of the paper's experiments: |g| alone, contiguous folds, 7 psi and 3 C, all rows.

        Parameters
        ----------
        estimator : OAVI, ABM, AVI or VCA, default=None
            None stands for ``OAVI(solver="cg", boost="ihb")``, the paper's CGAVI-IHB.
        **options :
            Parameters that are to be otherwise.

        Returns
        -------
        VanishingIdealClassifierCV

        Examples
        --------
        >>> from vanishing import VanishingIdealClassifierCV
        >>> VanishingIdealClassifierCV.paper().features
        'absolute'
        """
        estimator = OAVI(solver="cg", boost="ihb") if estimator is None else estimator
        return cls(estimator, **{**_PAPER, **options})

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
        self._check_options()
        with all_or_nothing(self):
            data = read_labelled(self, dense(X), y, sample_weight)
            data.require_weights()
            final = self.final_estimator
            if sample_weight is not None and not (final is None or has_fit_parameter(final, "sample_weight")):
                raise ValueError(takes_no_weight(final))
            searches, sample = run_search(self, data)
            best = self._keep_results(searches[0], data.classes)
            if self.refit:
                data = data.without_zero_weights()
                self.best_estimator_ = refit_pair(self, data, searches[0], best, sample)
                if self.average:
                    known = {best: self.best_estimator_}
                    self.estimators_, self.weights_ = members(self, data, searches, sample, known)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _keep_results(self, searched: Searched, classes: Array) -> Pair:
        """Set the results of the search; gives the pair to take."""
        pairs = searched.pairs()
        self.classes_, self.n_splits_, self.best_scaling_ = classes, searched.n_folds, searched.scaling
        self.cv_results_ = tabulate(searched, pairs)
        self.best_index_ = choose(searched, pairs, self.sparsity, self.max_columns)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        for name in ("best_estimator_", "estimators_", "weights_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return pairs[self.best_index_]

    def _check_options(self) -> None:
        ColumnOptions.of(self, auto=True)
        check_scaling(self.scale_input, ("auto", *TRANSFORMS))
        for name in ("refit", "probability", "average"):
            check_flag(name, getattr(self, name))
        check_n_jobs(self.n_jobs)
        if self.search_rows is not None:
            check_count("search_rows", self.search_rows)
        if self.max_columns is not None:
            check_count("max_columns", self.max_columns)
        if self.sparsity is not None:
            check_choice("sparsity", self.sparsity, ("1se",))
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be None, a name or a function; got {self.scoring!r}.")
        if not isinstance(self.Cs, str):
            check_numbers("Cs", self.Cs, above=0.0)
        elif self.Cs != "auto":
            raise ValueError(f"Cs must be 'auto' or a list of numbers, got {self.Cs!r}.")
        final = self.final_estimator
        if final is not None and (isinstance(final, type) or not hasattr(final, "C")):
            raise ValueError(f"final_estimator must be None or a classifier with a parameter C; got {final!r}.")
