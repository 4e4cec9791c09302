"""Classification by vanishing polynomials."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import MinMaxScaler

from ..._typing import Array, Float2D
from ...checks import check_number, no_generator
from ...files.fields import Either, Labels, MayBeMissing, Number, Numbers, Optional, Scaler, TupleOf, require
from ...files.saved import Object, SavedEstimator
from ...ideals.oavi import DefaultIdeal
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled, read_labelled_input
from ...rows.reading import dense, input_names, take_input_from
from ...svm import L1SVC
from ...threads import fitting
from .columns import Columns
from .features import FEATURE_MAP, FeatureMap
from .fitting import Conditions, fit_pieces
from .per_class import PerClass
from .predictions import Predicts
from .probabilities import CALIBRATION, Calibration
from .rates import REHEARSAL, rehearse
from .transforms import INPUT_TRANSFORM, InputTransform, check_scaling


class VanishingIdealClassifier(Predicts, SavedEstimator, DefaultIdeal, BaseEstimator):  # type: ignore[misc]
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
    scale_input : bool or {"minmax", "arcsinh", "rank"}, default=True
        True: scale the columns to [0, 1] by the range of the training data; switch it off for data that are already so.
        The others clip new values to a quarter of the range beyond it, and count outliers in a warning; "minmax" is
        otherwise the same, "arcsinh" takes ``arcsinh((x - median) / IQR)`` first where a column has heavy tails
        (inter-quartile range below 15% of the range), "rank" takes the rank among the training values. Outside of
        memory the quantiles are those of a sample of 10,000 rows.
    features : {"absolute", "signed", "both"}, default="absolute"
        Give the last step ``|g(x)|``, as in the paper, ``g(x)``, or both. Beside the inputs, ``g`` of degree 1 says
        nothing new and is left out.
    append_input : bool, default=True
        Give the SVM the scaled input columns, too.
    hinges : int, default=0
        How many columns ``max(0, x_j - knot)`` to add for every input, with knots at quantiles from 10 to 90%.
    monomials : {1, 2}, default=1
        2 adds all products of two inputs.
    halves : bool, default=False
        Fit the ideals of the two halves of each class, too, see :class:`PerClass`.
    scale_features : bool, default=True
        Divide the columns that the SVM sees by their standard deviation, so that the penalty treats them alike.
        With it or not, columns that are constant up to rounding on the training rows are left out (0 for every row).
    monotone : dict, default=None
        For columns, by name or number, 1 or -1: the decision for the second of two classes may only rise, or only fall,
        with the column, see :class:`Columns` and ``monotone_``.
    class_weight : dict or "balanced", default=None
        Factors of the weights of the rows of every class, as in scikit-learn.
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

    _fields: ClassVar = {
        "classes_": Labels(),
        "scaler_": Optional(Either([(MinMaxScaler, Scaler()), (InputTransform, INPUT_TRANSFORM)])),
        "ideals_": Object("PerClass"),
        "final_estimator_": Object("L1SVC"),
        "_map": FEATURE_MAP,
        "_calibration": Optional(CALIBRATION),
        "_centre": MayBeMissing(Numbers("f8", (None,))),  # files of older versions lack it, and the next two
        "_rehearsal": MayBeMissing(Optional(REHEARSAL)),
        "_accuracies": MayBeMissing(Optional(TupleOf(Number()))),  # in files of older versions only
    }

    def _check_saved(self) -> None:
        n = getattr(self, "n_features_in_", -1)
        svm, scaler = self.final_estimator_, self.scaler_
        widths = {n, self.ideals_.n_features_in_, *(len(each.feature_names) for each in self._map.lists)}
        if scaler is not None:
            widths.add(scaler.n_features if isinstance(scaler, InputTransform) else scaler.n_features_in_)
        require(widths == {n}, "its parts have different columns")
        require(svm.n_features_in_ == self._map.n_columns, "numbers of weights and columns differ")
        require(svm.classes_.tolist() == self.classes_.tolist(), "its parts have different classes")
        calibrated = self._calibration is None or self._calibration.offset.size == len(svm.coef_)
        require(calibrated, "a class is not calibrated")
        noted = self._rehearsal
        require(noted is None or noted.counts.size == len(self.classes_), "a class has no recall")
        require(getattr(self, "_centre", np.empty(n)).size == n, "the mean row has other columns")
        self._set_planes()

    def save(self, path: Any) -> None:
        """Write this model to a file, which :func:`~vanishing.load` reads.

        Parameters
        ----------
        path : str or path
            By custom, it ends in ``.vi``.
        """
        if not isinstance(getattr(self, "final_estimator_", L1SVC()), L1SVC):
            raise ValueError(
                f"final_estimator={self.final_estimator_!r} cannot be saved: use the built-in SVM (None), or pickle."
            )
        super().save(path)

    def __init__(
        self,
        estimator: Any = None,
        *,
        final_estimator: Any = None,
        scale_input: Any = True,
        features: str = "absolute",
        append_input: bool = True,
        hinges: int = 0,
        monomials: int = 1,
        halves: bool = False,
        scale_features: bool = True,
        monotone: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        C: float = 1.0,
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
        self.monotone = monotone
        self.class_weight = class_weight
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
        with fitting(self):
            self._check_options()
            data = read_labelled_input(self, dense(X), y, sample_weight).without_zero_weights()
            Columns.of(self).require_monotone(input_names(self), data.classes, self.final_estimator)
            self._fit_labelled(self, data, Conditions())
            if self._map.n_generators == 0:
                raise ValueError(no_generator(self.ideals_.estimators_[0].psi))
        return self

    def _check_options(self) -> None:
        check_scaling(self.scale_input)
        Columns.of(self)
        if self.final_estimator is None:
            check_number("C", self.C, above=0.0)

    def _fit_labelled(self, source: Any, data: Labelled, how: Conditions) -> None:
        """Fit to checked data, whose columns ``source`` knows."""
        take_input_from(source, self)
        pieces = fit_pieces(self, data, how)
        self._store(data.classes, *pieces[:4])
        if how.calibration_of is not None:
            self._calibrate(how.calibration_of(self))
        known = pieces.known
        if known is None:
            return
        self._centre = np.average(known.X, axis=0, weights=known.sample_weight)
        if isinstance(pieces.final, L1SVC):
            self._rehearsal = rehearse(self, known)
        else:
            self._linear = _is_linear(pieces.final, self._map.over(ArrayRows(known.X[:100])))

    def _store(
        self,
        classes: Array,
        scaler: Any,
        ideals: PerClass,
        mapping: FeatureMap,
        final: Any,
    ) -> None:
        """Set what predictions need."""
        self.classes_, self.scaler_, self.ideals_, self.final_estimator_ = classes, scaler, ideals, final
        self._map, self._calibration = mapping, None
        for name in ("_centre", "_rehearsal", "_accuracies"):  # left by an earlier fit
            self.__dict__.pop(name, None)
        self._set_planes()

    def _set_planes(self) -> None:
        """Set the map to the columns that have a weight, and the weights: all that the SVM's decisions need."""
        self._generators = None  # the cached ones have other weights
        svm = self.final_estimator_
        self._linear = isinstance(svm, L1SVC)
        if not self._linear:
            return
        used = (svm.coef_ != 0.0).any(axis=0)
        coef, intercept = svm.coef_[:, used], svm.intercept_
        if self._calibration is not None:
            coef, intercept = self._calibration.of_planes(coef, intercept)
        self._used_map, self._planes = self._map.select(used), (np.ascontiguousarray(coef), intercept)

    @property
    def n_columns_(self) -> int:
        """Number of columns that have a weight in the decision; all of them where the last step is not linear."""
        coef = getattr(self.final_estimator_, "coef_", None)
        return self._map.n_columns if coef is None else int((np.atleast_2d(coef) != 0.0).any(axis=0).sum())

    def _calibrate(self, calibration: Calibration) -> None:
        """Turn decisions into log-odds."""
        self._calibration = calibration
        self._set_planes()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_linear(final: Any, columns: Float2D) -> bool:
    """Whether the decision function is ``coef_ @ x + intercept_``; SVC's, for one, is not for three classes."""
    if not all(hasattr(final, name) for name in ("coef_", "intercept_", "decision_function")):
        return False
    scores = final.decision_function(columns)
    linear = columns @ np.atleast_2d(final.coef_).T + np.atleast_1d(final.intercept_)
    return linear.size == scores.size and bool(np.allclose(linear.reshape(scores.shape), scores, rtol=1e-6, atol=1e-6))
