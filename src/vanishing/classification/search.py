"""Tuning psi and C by cross-validation at the price of a few fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, StratifiedKFold, check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._typing import Array, Float1D, Float2D
from ..checks import (
    all_or_nothing,
    check_choice,
    check_count,
    check_flag,
    check_folds,
    check_n_jobs,
    check_numbers,
    input_names,
    quoted,
    take_input_from,
)
from ..engine.scaling import survey_parts
from ..files.fields import Integer, Labels, ListOf, MayBeMissing, Number, Numbers, Optional, require
from ..files.saved import Object, Parameters, Results, SavedEstimator
from ..ideals.abm import ABM
from ..ideals.avi import AVI
from ..ideals.default import DefaultIdeal
from ..ideals.ideal import VanishingIdeal
from ..ideals.oavi import OAVI
from ..progress import search_progress
from ..rows.arrays import ArrayRows
from ..rows.disk import ScaledOnDisk
from ..rows.labels import Labelled, best_labels, read_labelled
from ..rows.reading import is_source
from .classifier import SAMPLE_ROWS, SEARCH_TOL, ClassGenerators, VanishingIdealClassifier, dense, takes_no_weight
from .crossval import Fold, FoldModel, Study, folds_by_scaling, score_folds
from .crossval_source import Options, score_source, survey_folds
from .explain import Explanation
from .features import ColumnOptions
from .per_class import PerClass
from .probabilities import Calibration, calibrate, probabilities
from .sampling import Sample, class_factors, class_weighted, stratified_sample
from .scoring import Scores, Speaks, scorer_of_predictions, tabulated_score
from .transforms import INPUT_TRANSFORM, TRANSFORMS, InputTransform, check_scaling, transform_of
from .walk import Walk, most_columns, most_terms, psi_grid

__all__ = ["VanishingIdealClassifierCV"]

_CS = (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)
_FEW_ROWS = 1000  # below which folds are repeated, and accuracy says too little to choose by
_MANY_ROWS = 2000  # from which on ranks are tried
_RIVALS = ("arcsinh", "rank")  # ways of scaling that "auto" compares
_SEARCH_STEPS = 50  # Newton steps of an SVM in an automatic search
_SAMPLED_TOL = 1e-3  # relative duality gap of the SVM on all rows after a search on a sample
_FEW_ERRORS = 100  # of the best pair on held-out rows, with which psi cannot be told apart to a tenth of the error
_LARGER = 4  # times as many rows are sampled then, as long as ...
_LARGEST = 16  # ... they are at most this many times search_rows
_MEMBER_PSIS = 3  # whose models are averaged, at most
_ONLY_OURS = "final_estimator must be None for data outside of memory: only the built-in SVM fits them in passes."
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


def _has_probabilities(self: Any) -> bool:
    if not hasattr(self, "best_estimator_"):
        if self.final_estimator is None and not self.probability:
            raise AttributeError("probability=False: there are no probabilities; set probability=True.")
        return _refitted(self) and (self.final_estimator is None or hasattr(self.final_estimator, "predict_proba"))
    return hasattr(self.best_estimator_, "predict_proba")


class _Prepared(NamedTuple):
    """A study with its folds and values of psi, for one way of scaling the columns."""

    scaling: Any
    transform: InputTransform | None
    study: Study
    groups: list[list[Fold]]
    psis: list[float]
    automatic: bool


class _Searched(NamedTuple):
    """Pairs of psi and C with their scores, and the study that they come from, if it was in memory."""

    psis: list[float]
    Cs: list[float]
    scores: Scores
    n_folds: int
    automatic: bool
    study: Study | None = None
    folds: list[Fold] | None = None


class VanishingIdealClassifierCV(SavedEstimator, DefaultIdeal, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """:class:`VanishingIdealClassifier` with ``psi``, ``C`` and the scaling of the columns chosen by cross-validation.

    The default search walks down psi, in half-decades from the largest variance of a column within a class, until four
    values in a row bring no better score, or until the ideals or the columns become too many for the rows. Each step
    tries a window of values of C. Gram matrices add over rows, so those of the training folds are sums of those of the
    parts, and one pass per degree serves several psi and every fold; the SVMs are warm-started along C. With explicit
    ``psis`` and ``Cs``, every pair is scored, and scores are those of ``GridSearchCV`` over
    :class:`VanishingIdealClassifier`, up to rounding.

    Decisions are log-odds: a logistic model of the decisions on held-out rows scales the best model's (Platt 1999), so
    ``predict_proba`` is their softmax; for two classes the logistic function, which levels off beyond the margin.

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
        and "arcsinh" for fewer than 2,000 rows. True scales each fold by its own training rows; the others transform
        the columns once, by all rows to be searched on.
    features : {"both", "absolute", "signed"}, default="both"
        Give the last step ``g(x)`` and ``|g(x)|``, or one of them.
    append_input, hinges, monomials, scale_features, class_weight :
        As for :class:`VanishingIdealClassifier`.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    psis : "auto" or array-like, default="auto"
        Values of psi; "auto" is the walk. There, the ideal of a class may have ``12 sqrt(m) / K`` terms and generators
        for m rows of K classes, but at least 40, at most 600, and ``2 n + 2`` for n columns.
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
        With more rows, or rows that are not in memory, search on a stratified sample of this many, and fit the best
        pair to all rows, in the columns that the sample needs. None searches on all rows, in passes where they are not
        in memory.
    probability : bool, default=True
        Turn decisions into log-odds. Without it they are those of the SVM.
    average : bool, default=False
        Predict by the mean of the decisions of models fitted to all rows and, as a second half, of those of all folds,
        for up to three psi within one standard error of the best. More accurate, but no single formula.
    sparsity : {"1se"} or None, default=None
        "1se" takes the pair with the fewest columns among those within one standard error of the best.
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
        Its mean score.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        As in scikit-learn, for the pairs that were tried: ``params``, ``param_psi``, ``param_C``,
        ``split0_test_score``, ..., ``mean_test_score``, ``std_test_score``, ``rank_test_score``, and
        ``mean_n_generators``, ``mean_n_columns`` (those with a weight).
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
        "n_splits_": Integer(low=2),
        "best_scaling_": Parameters(),
        "_transform": Optional(INPUT_TRANSFORM),
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
        for model in [*best, *getattr(self, "estimators_", [])]:
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
        hinges: int = 0,
        monomials: int = 1,
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
            template = clone(self._template())
            take_input_from(self, template)
            sample = self._sample(data)
            if sample is not None:
                searched = self._search_in_memory(data._replace(rows=sample.rows), template, sample)
                searched, sample = self._search_onwards(data, template, searched, sample)
            elif isinstance(data.rows, ArrayRows):
                searched = self._search_in_memory(data, template, None)
            else:
                searched = self._search_in_passes(data, template)
            self.classes_ = data.classes
            self.n_splits_ = searched.n_folds
            pairs = self._choose(searched)
            for name in ("best_estimator_", "estimators_", "weights_"):  # of an earlier fit
                if hasattr(self, name):
                    delattr(self, name)
            if self.refit:
                self._refit(data.without_zero_weights(), searched, pairs, sample)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_options(self) -> None:
        ColumnOptions.of(self)
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

    def _sample(self, data: Labelled) -> Sample | None:
        """The rows to search on, where these are not all rows in memory."""
        if self.search_rows is None:
            return None
        if isinstance(data.rows, ArrayRows) and len(data.rows) <= self.search_rows:
            return None
        if self.final_estimator is not None and not isinstance(data.rows, ArrayRows):
            raise ValueError(_ONLY_OURS)
        self._find_scaling(data)
        return stratified_sample(data, int(self.search_rows), input_names(self))

    def _find_scaling(self, data: Labelled) -> None:
        """By a pass over a file that was opened to be scaled."""
        if isinstance(data.rows, ScaledOnDisk) and data.rows.scaler is None:
            survey_parts(data.rows, input_names(self))

    def _search_onwards(
        self, data: Labelled, template: VanishingIdeal, searched: _Searched, sample: Sample
    ) -> tuple[_Searched, Sample]:
        """The walk again on more rows, from its best psi on, while too few errors are made to compare values of psi.

        Few rows of an almost exact law cannot tell it from a coarser one, so a small sample prefers a large psi.
        """
        n_rows, most = int(sample.n_rows.sum()), _LARGEST * int(self.search_rows or 0)
        while searched.automatic and self.scoring is None and len(sample.rows) < min(n_rows, most):
            best = self._best_pair(searched)
            if (1.0 - float(searched.scores.scores[best].mean())) * len(sample.rows) >= _FEW_ERRORS:
                break
            psis = [psi for psi in searched.psis if psi <= searched.psis[max(best[0] - 1, 0)]]
            sample = stratified_sample(data, min(_LARGER * len(sample.rows), most), input_names(self))
            searched = self._search_in_memory(data._replace(rows=sample.rows), template, sample, psis)
        return searched, sample

    @staticmethod
    def _best_pair(searched: _Searched) -> tuple[int, int]:
        means = searched.scores.choice.mean(axis=2)
        i, c = np.unravel_index(int(np.nanargmax(means)), means.shape)
        return int(i), int(c)

    def _search_in_memory(
        self, data: Labelled, template: VanishingIdeal, sample: Sample | None, onwards: Sequence[float] = ()
    ) -> _Searched:
        """Score pairs on folds of rows in memory, with the transform of the columns that does best.

        ``onwards`` are the values of psi of a walk to be continued on other rows, with the transform found there.
        """
        rows = data.rows
        assert isinstance(rows, ArrayRows)
        assert rows.labels is not None
        codes, classes = rows.labels, data.classes
        splits = check_folds(self._splitter(codes, classes), rows.X, classes[codes], classes, codes, rows.sample_weight)
        kinds = _RIVALS if self.scale_input == "auto" and len(codes) >= _MANY_ROWS else (self._plain_scaling,)
        if onwards:
            kinds = (self.best_scaling_,)
        searches = [self._prepared(data, template, sample, splits, kind) for kind in kinds]
        if onwards:
            searches = [search._replace(psis=list(onwards)) for search in searches]
        Cs, windowed = self._c_grid(), isinstance(self.Cs, str) and self.sparsity is None and self.max_columns is None
        with search_progress(len(kinds) * len(searches[0].psis) * len(splits), passes=False) as progress:
            if not searches[0].automatic:
                tried = [score_folds(search.study, search.psis, Cs, search.groups, progress) for search in searches]
                scores, chosen = max(
                    zip(tried, searches, strict=True),
                    key=lambda pair: np.nanmax(pair[0].scores.mean(axis=2), initial=-np.inf),
                )
                psis = chosen.psis
            else:
                walks = [
                    Walk(search.study, search.psis, Cs, search.groups, progress, window=windowed, onwards=bool(onwards))
                    for search in searches
                ]
                for walk in walks if len(walks) > 1 else []:
                    walk.explore()
                walk = max(walks, key=lambda walk: walk.best)  # of equals, the first
                walk.finish()
                psis, scores, chosen = walk.psis, walk.scores, searches[walks.index(walk)]
        self.best_scaling_, self._transform = chosen.scaling, chosen.transform
        folds = sorted((fold for group in chosen.groups for fold in group), key=lambda fold: fold.number)
        return _Searched(psis, Cs, scores, len(splits), chosen.automatic, chosen.study, folds)

    @property
    def _plain_scaling(self) -> Any:
        """The scaling where none is chosen by scores."""
        return "arcsinh" if self.scale_input == "auto" else self.scale_input

    def _prepared(
        self, data: Labelled, template: VanishingIdeal, sample: Sample | None, splits: Any, scaling: Any
    ) -> _Prepared:
        """The study of rows in memory with one way of scaling."""
        rows = data.rows
        assert isinstance(rows, ArrayRows)
        assert rows.labels is not None
        raw, codes, classes, transform = rows.X, rows.labels, data.classes, None
        if isinstance(scaling, str):
            transform = transform_of(scaling, rows.without_zero_weights(), sample, input_names(self))
            X = np.asarray(transform(np.asarray(raw, dtype=np.float64)))
            rows = ArrayRows(X, rows.sample_weight, codes, rows.n_jobs)
        scale = transform is None and bool(scaling)
        template = clone(template)
        take_input_from(self, template)
        psis, automatic = self._grid(lambda: _largest_variance(rows, scale=scale), template, len(codes), len(classes))
        by_answers = self.scoring is None or isinstance(self.scoring, str) or hasattr(self.scoring, "_response_method")
        scorer = None
        if self.scoring is not None or self.final_estimator is not None:
            scorer = check_scoring(Speaks() if self.final_estimator is None else self.final_estimator, self.scoring)
        counts = np.bincount(codes, minlength=len(classes)).astype(np.float64)
        weighted = class_weighted(data._replace(rows=rows), class_factors(self.class_weight, classes, counts)).rows
        assert isinstance(weighted, ArrayRows)
        n_train = min(len(train) for train, _ in splits)
        study = Study(
            rows.X,
            classes,
            codes,
            weighted.sample_weight,
            rows.sample_weight,
            template,
            ColumnOptions.of(self),
            scorer,
            self.n_jobs,
            final_estimator=self.final_estimator,
            whole_model=None if by_answers else partial(self._fold_classifier, classes=classes, transform=transform),
            whole_rows=raw,
            tol=SEARCH_TOL if automatic else 1e-6,
            max_iter=_SEARCH_STEPS if automatic else 200,
            most_columns=most_columns(n_train, len(classes)) if automatic else None,
            by_likelihood=automatic and scorer is None and len(codes) < _FEW_ROWS,
            keep_models=self.average,
        )
        return _Prepared(scaling, transform, study, folds_by_scaling(rows.X, splits, scale=scale), psis, automatic)

    def _splitter(self, codes: Array, classes: Array) -> Any:
        """The folds: for "auto" three, shuffled, three times over for less than 1,000 rows, two where rows are few."""
        if isinstance(self.cv, str):
            if self.cv != "auto":
                raise ValueError(f"cv must be 'auto', a number, a splitter or a list of folds; got {self.cv!r}.")
            fewest = int(np.argmin(np.bincount(codes)))
            n_splits = min(int(np.bincount(codes)[fewest]), 3)
            if n_splits < 2:
                raise ValueError(
                    f"Class {quoted(classes[fewest])} has one row, but a search needs two: leave out the class, or fit "
                    "VanishingIdealClassifier with a psi and a C of your own."
                )
            if len(codes) < _FEW_ROWS:
                return RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=3, random_state=0)
            return StratifiedKFold(n_splits, shuffle=True, random_state=0)
        return check_cv(self.cv, codes, classifier=True)

    def _search_in_passes(self, data: Labelled, template: VanishingIdeal) -> _Searched:
        """The same for all rows of a source that is not in memory."""
        if self.final_estimator is not None:
            raise ValueError(_ONLY_OURS)
        cv = 3 if isinstance(self.cv, str) and self.cv == "auto" else self.cv
        if isinstance(cv, bool) or not isinstance(cv, Integral) or cv < 2:
            raise ValueError(f"cv must be a number of folds, at least 2, for data outside of memory; got {self.cv!r}.")
        if self.average:
            raise ValueError("average=True needs a search in memory: set search_rows, for instance to 10_000.")
        n_folds, names = int(cv), input_names(self)
        scorer = scorer_of_predictions(self.scoring)
        self._find_scaling(data)
        columns, sample = ColumnOptions.of(self), None
        if isinstance(self.scale_input, str) or columns.hinges or self.class_weight is not None:
            sample = stratified_sample(data, SAMPLE_ROWS, names)
            data = class_weighted(data, class_factors(self.class_weight, data.classes, sample.n_rows))
        head = np.empty((0, self.n_features_in_)) if sample is None else sample.rows.X
        scale = self.best_scaling_ = self._plain_scaling
        if isinstance(scale, str):
            transform = transform_of(scale, data.rows, sample, names)
            data, head, scale = data._replace(rows=transform.over(data.rows)), transform(head), False
        folds = survey_folds(data, n_folds, names, scale_input=bool(scale), ahead=template._looks_ahead)
        n_rows = sum(part.n_samples for parts in folds.surveys[0] for part in parts)
        psis, automatic = self._grid(folds.largest_variance, template, n_rows, len(data.classes))
        Cs = self._c_grid()
        options = Options(template, Cs, scorer, columns, columns.extras(head), self.n_jobs)
        with search_progress(len(psis) * n_folds, passes=True) as progress:
            return _Searched(psis, Cs, score_source(folds, options, psis, progress), n_folds, automatic)

    def _grid(
        self, variance: Callable[[], float], template: VanishingIdeal, n_rows: int, n_classes: int
    ) -> tuple[list[float], bool]:
        """The values of psi, and whether they were proposed; then ``template`` is kept small, too."""
        if not isinstance(self.psis, str):
            return check_numbers("psis", self.psis, low=0.0), False
        if self.psis != "auto":
            raise ValueError(f"psis must be 'auto' or a list of numbers, got {self.psis!r}.")
        largest = variance() or 0.1
        if isinstance(template, (ABM, AVI)):  # whose psi has to be below 1
            largest = min(largest, 0.5)
        enough = most_terms(n_rows, self.n_features_in_, n_classes)
        template.set_params(max_terms=min(template.max_terms, enough))
        return psi_grid(largest), True

    def _c_grid(self) -> list[float]:
        return list(_CS) if isinstance(self.Cs, str) else check_numbers("Cs", self.Cs, above=0.0)

    def _choose(self, searched: _Searched) -> list[tuple[int, int]]:
        """Set ``cv_results_`` and the best pair; gives the places of all pairs in the scores, in the same order."""
        psis, Cs, results = searched.psis, searched.Cs, searched.scores
        left_out = results.too_large.copy() if searched.automatic else np.zeros(len(psis), dtype=bool)
        tried = np.asarray(~np.isnan(results.n_used).all(axis=2))
        if not searched.automatic:
            tried[:] = True
        if left_out[tried.any(axis=1)].all():
            left_out[int(np.nanargmax(psis))] = False
        places = [(i, c) for i in range(len(psis)) for c in range(len(Cs)) if tried[i, c] and not left_out[i]]
        if not places:
            raise ValueError("No psi gives a generator for any class in every fold: raise psis or max_degree.")
        pairs = [(psis[i], Cs[c]) for i, c in places]
        index = tuple(np.array(places).T)
        scores, used, choice = results.scores[index], results.n_used[index], results.choice[index]
        mean, by = scores.mean(axis=1), choice.mean(axis=1)
        if np.isnan(mean).all():
            raise ValueError("No psi gives a generator for any class in every fold: raise psis or max_degree.")
        self.cv_results_: dict[str, Any] = {
            "params": [{"psi": psi, "C": C} for psi, C in pairs],
            "param_psi": np.array([psi for psi, _ in pairs]),
            "param_C": np.array([C for _, C in pairs]),
            **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rankdata(np.where(np.isnan(by), np.inf, -by), method="min").astype(np.int32),
            "mean_n_generators": results.n_generators[index[0]].mean(axis=1),
            "mean_n_columns": used.mean(axis=1),
        }
        ranks = self.cv_results_["rank_test_score"]
        best = min(range(len(pairs)), key=lambda k: (ranks[k], -pairs[k][0], pairs[k][1]))
        self.best_index_ = self._smallest_near(best, by, choice, used.mean(axis=1), searched)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        return places

    def _smallest_near(self, best: int, mean: Float1D, scores: Float2D, size: Float1D, searched: _Searched) -> int:
        """The best pair, or with ``sparsity`` or ``max_columns`` the pair to take instead of it."""
        allowed = ~np.isnan(mean)
        if self.max_columns is not None and (allowed & (size <= self.max_columns)).any():
            allowed &= size <= self.max_columns
            best = int(np.flatnonzero(allowed)[np.argmax(mean[allowed])])
        if self.sparsity is None:
            return best
        allowed &= mean >= mean[best] - self._standard_error(mean[best], scores[best], searched)
        return int(min(np.flatnonzero(allowed), key=lambda k: (size[k], -mean[k])))

    def _standard_error(self, mean: float, scores: Float1D, searched: _Searched) -> float:
        """Of a mean score: for accuracy that of a share of the rows, else that of a mean over folds."""
        study = searched.study
        if self.scoring in (None, "accuracy") and study is not None and not study.by_likelihood:
            return float(np.sqrt(max(mean * (1.0 - mean), 0.0) / len(study.codes)))
        return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0

    def _refit(self, data: Labelled, searched: _Searched, places: list[tuple[int, int]], sample: Sample | None) -> None:
        best = places[self.best_index_]
        self.best_estimator_ = self._refitted_pair(data, searched, best, sample)
        if self.average:
            self.estimators_, self.weights_ = self._members(data, searched, places, sample)

    def _refitted_pair(
        self, data: Labelled, searched: _Searched, pair: tuple[int, int], sample: Sample | None
    ) -> VanishingIdealClassifier:
        """The classifier with a pair of psi and C, fitted to all rows; its decisions are calibrated, if they can be."""
        psi, C = searched.psis[pair[0]], searched.Cs[pair[1]]
        model = self._classifier(psi, C)
        tol = 1e-6 if sample is None else _SAMPLED_TOL
        model._fit_labelled(self, data, sample, tol, self.max_columns)
        calibration = self._calibration_of(searched, pair)
        if calibration is not None:
            model._calibrate(calibration)
        return model

    def _calibration_of(self, searched: _Searched, pair: tuple[int, int]) -> Calibration | None:
        if not self.probability or searched.study is None or pair not in searched.scores.held_out:
            return None
        assert searched.folds is not None
        rows = searched.study.held_out(searched.folds)
        return calibrate(*rows.together(searched.scores.held_out[pair]))

    def _members(
        self, data: Labelled, searched: _Searched, places: list[tuple[int, int]], sample: Sample | None
    ) -> tuple[list[VanishingIdealClassifier], Float1D]:
        """The models to average, of up to three psi within a standard error of the best, and their weights.

        The models of the folds, which know fewer rows, weigh as much together as those fitted to all rows.
        """
        scores = searched.scores.choice[tuple(np.array(places).T)]
        mean = scores.mean(axis=1)
        best = int(np.nanargmax(mean))
        near = mean >= mean[best] - self._standard_error(mean[best], scores[best], searched)
        chosen: dict[int, tuple[int, int]] = {}
        for k in sorted(np.flatnonzero(near), key=lambda k: -mean[k]):
            if len(chosen) < _MEMBER_PSIS:
                chosen.setdefault(places[k][0], places[k])
        members, weights = [], []
        for pair in chosen.values():
            calibration = self._calibration_of(searched, pair)
            for fold_model in searched.scores.models[pair]:
                member = self._fold_classifier(fold_model, data.classes, self._transform)
                if calibration is not None:
                    member._calibrate(calibration)
                members.append(member)
                weights.append(0.5 / (searched.n_folds * len(chosen)))
            weights.append(0.5 / len(chosen))
            is_best = pair == places[self.best_index_]
            members.append(self.best_estimator_ if is_best else self._refitted_pair(data, searched, pair, sample))
        return members, np.array(weights)

    def _classifier(self, psi: float, C: float) -> VanishingIdealClassifier:
        final = self.final_estimator
        return VanishingIdealClassifier(
            clone(self._template()).set_params(psi=psi),
            final_estimator=None if final is None else clone(final).set_params(C=C),
            scale_input=getattr(self, "best_scaling_", self._plain_scaling),
            features=self.features,
            append_input=self.append_input,
            hinges=self.hinges,
            monomials=self.monomials,
            scale_features=self.scale_features,
            class_weight=self.class_weight,
            n_jobs=self.n_jobs,
            C=C,
        )

    def _fold_classifier(
        self, fitted: FoldModel, classes: Array, transform: InputTransform | None
    ) -> VanishingIdealClassifier:
        """The classifier that consists of the pieces of a fold."""
        model = self._classifier(fitted.ideals[0].psi, fitted.final.C)
        per_class = PerClass(model.estimator)
        per_class.classes_, per_class.estimators_ = classes, list(fitted.ideals)
        for part in (per_class, model):
            take_input_from(self, part)
        scaler = fitted.fold.scaler if transform is None else transform
        model._store(classes, scaler, per_class, fitted.mapping, fitted.final)
        return model

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
        if not self.average:
            return self.best_estimator_.predict(X)
        return best_labels(self.decision_function(X), self.classes_)

    @available_if(_refitted)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Decisions of the best model, or of the average: one column per class, or one value per row for two classes.

        With ``probability`` these are log-odds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        if not self.average:
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
        return probabilities(self.decision_function(X)) if self.average else self.best_estimator_.predict_proba(X)

    def _single(self) -> VanishingIdealClassifier:
        """The best model, where it is what predicts."""
        _refitted(self)
        check_is_fitted(self, "best_estimator_")
        if self.average:
            raise ValueError(
                "An average has no single formula: ask best_estimator_ or one of estimators_, or set average=False."
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

    def explain(self, x: Any, towards: Any = None) -> Explanation:
        """What each term contributes to the decision for one row, and which input to change to change its label.

        Parameters
        ----------
        x : array-like of shape (n_features,)
        towards : label, optional
            The class whose decision to explain, among more than two; the predicted one by default.

        Returns
        -------
        Explanation
            Printed, the largest contributions come first.
        """
        return self._single().explain(x, towards)

    def __str__(self) -> str:
        best = getattr(self, "best_estimator_", None)
        if best is None or self.final_estimator is not None:
            return repr(self)
        mean = ["the mean of the decisions of several models, one of them:"] if self.average else []
        score = f"cross-validated score {self.best_score_:.4g}"
        return "\n".join([repr(self), *mean, *best._formula_lines(), score])

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
