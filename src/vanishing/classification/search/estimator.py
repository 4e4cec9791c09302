"""The search for psi, C and the columns of a classifier, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

from ..._typing import Array
from ...checks import check_choice, check_count, check_flag, check_n_jobs, check_numbers
from ...files.fields import Integer, Labels, ListOf, MayBeMissing, Number, Numbers, require
from ...files.saved import Object, Parameters, Results, SavedEstimator
from ...ideals.oavi import OAVI, DefaultIdeal
from ...rows.labels import Labelled, read_labelled_input
from ...rows.reading import dense, input_names
from ...svm import L1SVC
from ...threads import fitting
from ..model.columns import Columns
from ..model.transforms import TRANSFORMS, check_scaling
from .answers import AnswersByTheBest
from .searching import Maker, Options, Outcome, average_models, refit, search
from .strategies import Budget, Trial, choose, tabulate

PAPER = {
    "scale_input": True,
    "columns": Columns("absolute", append_input=False, scale_features=False),
    "psis": (0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001),
    "Cs": (0.1, 1.0, 10.0),
    "cv": KFold(3),
    "search_rows": None,
}


class VanishingIdealClassifierCV(AnswersByTheBest, SavedEstimator, DefaultIdeal, BaseEstimator):  # type: ignore[misc]
    """:class:`VanishingIdealClassifier` with ``psi``, ``C`` and the columns chosen by cross-validation.

    The default search walks down psi, in half-decades from the largest variance of a column within a class, and tries
    each with the C that was best before and its neighbours, until three values in a row are not better. At the best psi
    it then tries other columns, one change after the other: hinges, products, the ideals of halves of each class. A
    change stays if the probabilities of held-out rows become better by more than one standard error. Gram matrices add
    over rows, so training folds have the sums of the Grams of their parts; the SVMs are warm-started along C. With
    explicit ``psis`` and ``Cs``, every pair is scored.

    Decisions are log-odds: a logistic model of the decisions on held-out rows scales the best model's (Platt 1999), so
    ``predict_proba`` is their softmax; for two classes the logistic function, which levels off beyond the margin. The
    log-odds of three or more classes mix the decisions of all where that makes held-out labels likelier by more than
    one standard error: no plane against the rest finds a class that lies between two others.

    Parameters
    ----------
    estimator : OAVI, ABM, AVI or VCA, default=None
        Finds the generators of a class; None stands for ``OAVI()``. Its ``psi`` is not used.
    final_estimator : classifier, default=None
        None stands for :class:`L1SVC` with calibrated decisions, which goes along C at the price of little more than
        one fit. ``L1SVC()`` is the same SVM with its decisions as they are: scores are then those of ``GridSearchCV``
        over :class:`VanishingIdealClassifier`, up to rounding. Any other scikit-learn classifier with a parameter
        ``C``, such as ``LinearSVC(penalty="l1")``, is fitted for one pair after the other.
    scale_input : bool or {"auto", "minmax", "arcsinh", "rank"}, default="auto"
        As for :class:`VanishingIdealClassifier`; "auto" compares "arcsinh" and "rank" on the first three psi, from
        1,000 rows on, and takes "arcsinh" for fewer. True scales each fold by its own training rows; the others
        transform the columns once, by all rows to be searched on.
    columns : "auto", Columns or list of Columns, default="auto"
        Which columns the last step sees. The walk uses the first of a list, and tries the others at its best psi; a
        grid is scored with all of them; an average and a search in passes use the first. "auto" stands for
        ``Columns()``, then five hinges for every input, these with products, and halves; for ``Columns()`` alone with
        explicit ``psis``, with ``max_columns``, and with ``refit`` "1se" or "average". Directions of columns stand
        here: ``Columns(monotone={"late_payments": 1}).richer()`` tries the same with them.
    class_weight : dict or "balanced", default=None
        As for :class:`VanishingIdealClassifier`.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    psis : "auto" or array-like, default="auto"
        Values of psi; "auto" is the walk. There, the ideal of a class may have ``12 sqrt(m) / K`` terms and generators
        for m rows of K classes, but at least 40, and ``2 n + 2`` for n columns.
    Cs : "auto" or array-like, default="auto"
        Values of C; "auto" chooses among 0.01, 0.03, 0.1, 0.3, 1 and 10.
    cv : "auto", int, splitter or iterable of (train, test), default="auto"
        As in scikit-learn; a number means stratified folds. "auto": three shuffled stratified folds (two where
        a class has two rows), drawn three times for fewer than 1,000 rows.
    scoring : str or callable, default=None
        As in scikit-learn. With None the walk takes the model whose probabilities are closest to the held-out labels
        (Brier score), and reports its accuracy; a grid takes the most accurate one.
    refit : bool or {"1se", "average"}, default=True
        Which model to fit to all rows. True: the best one. "1se": the one with the fewest columns among those that the
        best one is not ahead of by more than a standard error of the difference. "average": predict by the mean of the
        decisions of models fitted to all rows and, as a second half, of those of all folds, for up to three psi and
        both scalings; more accurate, but no single formula. False: none, and there is no ``predict``.
    search_rows : int or None, default=10_000
        With more rows, or rows that are not in memory, search on a stratified sample of this many, and fit the best
        model to all rows, in the columns that the sample needs. Where the sample has fewer than 100 errors, the walk
        goes on with four times its rows. None searches on all rows, in passes where they are not in memory.
    max_columns : int or None, default=None
        Most columns that may have a weight: trials with fewer are preferred, and if the model on all rows has more,
        it is fitted again to those with the largest weights.

    Attributes
    ----------
    best_params_ : dict
        ``psi`` and ``C`` of the model that was taken; of equals, the largest psi, then the smallest C.
    best_columns_ : Columns
        The columns that were chosen.
    best_scaling_ : bool or str
        The way of scaling that was chosen.
    best_score_ : float
        Its mean score over the folds. Labels are those of calibrated decisions, as in ``predict``, but not mixed; the
        calibration knows the rows that are scored.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        As in scikit-learn, for what was tried: ``params``, ``param_psi``, ``param_C``, ``param_scale_input``,
        ``param_columns``, ``split0_test_score``, ..., ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        and ``mean_n_generators``, ``mean_n_columns`` (those with a weight). Models with the columns that were chosen
        rank first.
    best_estimator_ : VanishingIdealClassifier
        Fitted to all rows.
    estimators_ : list of VanishingIdealClassifier
        The models that are averaged, with ``refit="average"``.
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

    _budget: ClassVar[Budget] = Budget()
    _fields: ClassVar = {
        "classes_": Labels(),
        "n_splits_": Integer(low=1),
        "best_scaling_": Parameters(),
        "best_columns_": MayBeMissing(Object("Columns")),  # not in files of older versions
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
        require(bool(members) or not self._averages, "the models of the average are missing")
        require(len(members) == len(getattr(self, "weights_", [])), "numbers of weights and models differ")
        for model in [*best, *members]:
            require(model.n_features_in_ == getattr(self, "n_features_in_", -1), "its models have other columns")
            require(model.classes_.tolist() == self.classes_.tolist(), "its models have other classes")

    def __init__(
        self,
        estimator: Any = None,
        *,
        final_estimator: Any = None,
        scale_input: Any = "auto",
        columns: Any = "auto",
        class_weight: Any = None,
        n_jobs: int | None = None,
        psis: Any = "auto",
        Cs: Any = "auto",
        cv: Any = "auto",
        scoring: Any = None,
        refit: bool | str = True,
        search_rows: int | None = 10_000,
        max_columns: int | None = None,
    ):
        self.estimator = estimator
        self.final_estimator = final_estimator
        self.scale_input = scale_input
        self.columns = columns
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.psis = psis
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.search_rows = search_rows
        self.max_columns = max_columns

    @classmethod
    def _from_older(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Parameters of files that older versions wrote."""
        names = ("features", "append_input", "hinges", "monomials", "halves", "scale_features")
        old = {name: parameters.pop(name) for name in names if name in parameters}
        if old:
            first = {"hinges": 0, "monomials": 1, "halves": False}
            given: dict[str, Any] = {name: first[name] if value == "auto" else value for name, value in old.items()}
            given["features"] = old.get("features", "both")
            is_default = Columns(**given) == Columns() and "auto" in old.values()
            parameters["columns"] = "auto" if is_default else Columns(**given)
        average, sparsity = parameters.pop("average", False), parameters.pop("sparsity", None)
        if parameters.get("refit", True) and (average or sparsity is not None):
            parameters["refit"] = "average" if average else "1se"
        if not parameters.pop("probability", True):
            parameters["final_estimator"] = L1SVC()
        return parameters

    @classmethod
    def paper(cls, estimator: Any = None, **options: Any) -> Self:
        """The search of the paper's experiments: |g| alone, contiguous folds, 7 psi and 3 C, all rows.

        Parameters
        ----------
        estimator : OAVI, ABM, AVI or VCA, default=None
            None stands for ``OAVI(solver="cg", boost="ihb")``, the paper's CGAVI-IHB.
        **options :
            Overrides of these parameters.

        Returns
        -------
        VanishingIdealClassifierCV

        Examples
        --------
        >>> from vanishing import VanishingIdealClassifierCV
        >>> VanishingIdealClassifierCV.paper().columns.features
        'absolute'
        """
        estimator = OAVI(solver="cg", boost="ihb") if estimator is None else estimator
        return cls(estimator, **{"final_estimator": L1SVC(), **PAPER, **options})

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
        with fitting(self):
            self._check_options()
            data = read_labelled_input(self, dense(X), y, sample_weight)
            data.require_weights()
            # None stands for our own SVM.
            final = None if isinstance(self.final_estimator, L1SVC) else self.final_estimator
            if isinstance(self.columns, (Columns, list, tuple)):
                first, *_ = self._columns_to_try(few_rows=True)
                first.require_monotone(input_names(self), data.classes, final)
            maker = Maker(self, self._template(), final, self.class_weight, self.n_jobs, self.max_columns)
            outcome = search(self._options(data, maker), data)
            best = choose(outcome.history, sparse=self.refit == "1se", max_columns=self.max_columns)
            self._keep_results(outcome, best, data.classes)
            if self.refit:
                data, may_mix = data.without_zero_weights(), self.refit != "1se" and self.max_columns is None
                self.best_estimator_ = refit(outcome, data, best, may_mix=may_mix)
            if self.refit == "average":
                self.estimators_, self.weights_ = average_models(outcome, data, best, self.best_estimator_)
        return self

    def _options(self, data: Labelled, maker: Maker) -> Options:
        few_rows = (data.rows.n_samples or np.inf) < self._budget.rows_of_one_draw
        scalings = ("arcsinh",) if few_rows and self.refit != "average" else ("arcsinh", "rank")
        return Options(
            maker,
            scalings if self.scale_input == "auto" else (self.scale_input,),
            self._columns_to_try(few_rows=few_rows),
            None if isinstance(self.psis, str) else check_numbers("psis", self.psis, low=0.0),
            None if isinstance(self.Cs, str) else check_numbers("Cs", self.Cs, above=0.0),
            self.cv,
            self.scoring,
            self.search_rows,
            self.final_estimator is None,
            self.refit == "average",
            self._budget,
        )

    def _columns_to_try(self, *, few_rows: bool) -> list[Columns]:
        """The columns that a user asks for, or those of the default search.

        A grid, a small model or an average has the first ones alone, and so have few rows, which cannot tell more.
        """
        if not isinstance(self.columns, str):
            return [self.columns] if isinstance(self.columns, Columns) else list(self.columns)
        plain = (
            few_rows or isinstance(self.refit, str) or self.max_columns is not None or not isinstance(self.psis, str)
        )
        return [Columns()] if plain else Columns().richer()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _keep_results(self, outcome: Outcome, best: Trial, classes: Array) -> None:
        """Set the results of the search."""
        history = outcome.history
        self.classes_, self.n_splits_ = classes, len(history[best].scores)
        self.best_scaling_, self.best_columns_ = best.scaling, best.columns
        self.cv_results_, self.best_index_ = tabulate(history, best)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        for name in ("best_estimator_", "estimators_", "weights_"):  # left by an earlier fit
            self.__dict__.pop(name, None)

    def _check_options(self) -> None:
        asked = self.columns if isinstance(self.columns, (list, tuple)) and self.columns else [self.columns]
        if self.columns != "auto" and not all(isinstance(each, Columns) for each in asked):
            raise ValueError(f"columns must be 'auto', Columns(...) or a list of them; got {self.columns!r}.")
        if any(each.monotone != asked[0].monotone for each in asked[1:]):
            raise ValueError("All Columns of a list must have the same monotone, as in Columns(monotone=...).richer().")
        check_scaling(self.scale_input, ("auto", *TRANSFORMS))
        if isinstance(self.refit, str):
            check_choice("refit", self.refit, ("1se", "average"))
        else:
            check_flag("refit", self.refit)
        check_n_jobs(self.n_jobs)
        for name in ("search_rows", "max_columns"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be None, a name or a function; got {self.scoring!r}.")
        for name in ("psis", "Cs"):
            if isinstance(value := getattr(self, name), str) and value != "auto":
                raise ValueError(f"{name} must be 'auto' or a list of numbers; got {value!r}.")
        final = self.final_estimator
        if final is not None and (isinstance(final, type) or not hasattr(final, "C")):
            raise ValueError(f"final_estimator must be None or a classifier with a parameter C; got {final!r}.")
