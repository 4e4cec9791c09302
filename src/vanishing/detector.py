"""Novelty detection: rows that violate the equations of normal data."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from ._typing import Array, Float1D, Float2D
from .checks import check_flag, check_ideal, check_n_jobs, check_weights, input_names, require_finite, take_input_from
from .estimators import OAVI
from .evaluation import Evaluator
from .gram import survey, value_gram
from .ideal import VanishingIdeal
from .polynomials import Polynomials
from .rows import ArrayRows, as_rows

__all__ = ["VanishingIdealDetector"]

_TYPICAL = 3.0  # times the score of a typical normal row make an outlier
_EXACT = 1e-6  # no equation is asked to hold better than this, in scaled units


class VanishingIdealDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Rows are normal as long as they obey the equations of the data that the detector was fitted to.

    The generators g of the vanishing ideal of the (scaled) training data are nearly zero on normal rows. With
    their matrix of second moments over the training data, ``S = mean of g(x) g(x)'``, a row violates them by
    ``sqrt(g(x)' S^-1 g(x) / n_generators)``, which has root mean square 1 over the training data. (To S, 1e-12 is
    added on the diagonal: no equation is asked to hold better than 1e-6 in scaled units.)

    Parameters
    ----------
    estimator : OAVI, ABM, AVI or VCA, default=None
        Finds the generators; None stands for ``OAVI()``.
    contamination : "auto" or float in (0, 0.5], default="auto"
        Share of outliers among the training rows, which sets the threshold; with "auto", rows that violate the
        equations more than three times as much as a typical training row are outliers.
    whiten : bool, default=True
        Take into account that equations are violated together. Without, S is replaced by its diagonal: each
        equation counts by itself.
    scale_input : bool, default=True
        Scale the columns to [0, 1] by the range of the training data; switch it off for data that are already so.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Attributes
    ----------
    generators_ : Polynomials
        The equations, in the units of the input; ``mse`` is their mean square over the training data.
    offset_ : float
        Threshold: rows with ``score_samples`` below it are outliers.
    ideal_ : OAVI, ABM, AVI or VCA
        The fitted estimator, in scaled variables.
    scaler_ : MinMaxScaler or None
        The fitted scaling.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, VanishingIdealDetector
    >>> angle = np.linspace(0, 2 * np.pi, 200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) + np.random.default_rng(0).normal(0, 0.01, (200, 2))
    >>> detector = VanishingIdealDetector(OAVI(psi=0.001)).fit(X)
    >>> detector.predict([[0.6, 0.8], [0.5, 0.5]])
    array([ 1, -1])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        contamination: Any = "auto",
        whiten: bool = True,
        scale_input: bool = True,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.contamination = contamination
        self.whiten = whiten
        self.scale_input = scale_input
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the equations of normal data, and how much normal rows violate them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; not all zero.

        Returns
        -------
        self
        """
        check_flag("whiten", self.whiten)
        check_flag("scale_input", self.scale_input)
        check_n_jobs(self.n_jobs)
        share = _check_contamination(self.contamination)
        X = validate_data(self, X, dtype="numeric", ensure_all_finite=False)
        require_finite(X, input_names(self))
        weights = check_weights(sample_weight, X.shape[0])
        if weights is not None and not weights.all():
            X, weights = X[weights > 0.0], weights[weights > 0.0]
        ideal: VanishingIdeal = clone(check_ideal(OAVI() if self.estimator is None else self.estimator, VanishingIdeal))
        scaler = MinMaxScaler().fit(X) if self.scale_input else None
        rows = as_rows(X if scaler is None else scaler.transform(X), weights, self.n_jobs)
        take_input_from(self, ideal)
        ideal._fit_rows(rows, survey(rows))
        generators: Polynomials = ideal.generators_
        if len(generators) == 0:
            raise ValueError(f"No polynomial has mean square at most psi={ideal.psi:g}: raise psi or max_degree.")
        self.ideal_, self.scaler_ = ideal, scaler
        self.generators_ = generators if scaler is None else generators.in_units(scaler)
        self._whitening = _whitening(generators, rows, whiten=self.whiten)
        self.offset_ = -_TYPICAL if share is None else float(_quantile(self._scores(rows), share, weights))
        return self

    def score_samples(self, X: Any) -> Float1D:
        """Minus the violation of the equations: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(self._rows(X))

    def decision_function(self, X: Any) -> Float1D:
        """``score_samples(X) - offset_``: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Array:
        """1 for normal rows, -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def violations(self, X: Any) -> Float2D:
        """How much each equation is violated, relative to a typical training row: says which law a row breaks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_generators)
            ``|g(x)|`` over the root mean square of g on the training data.
        """
        rows = self._rows(X)
        values: Float2D = self.ideal_.generators_.over(rows, absolute=True)
        return np.asarray(values / np.sqrt(self.ideal_.generators_.mse + _EXACT**2))

    def _rows(self, X: Any) -> ArrayRows:
        check_is_fitted(self)
        X = validate_data(self, X, dtype="numeric", ensure_all_finite=False, reset=False)
        require_finite(X, input_names(self))
        return as_rows(X if self.scaler_ is None else self.scaler_.transform(X), n_jobs=self.n_jobs)

    def _scores(self, rows: ArrayRows) -> Float1D:
        evaluator = Evaluator([self.ideal_.generators_.form], absolute=False)

        def kernel(block: Float2D, out: Float2D) -> None:
            values = np.empty((block.shape[0], evaluator.n_columns))
            evaluator.fill(block, values)
            out[:, 0] = -np.sqrt(((values @ self._whitening) ** 2).sum(axis=1))

        return rows.map(kernel, 1, min(evaluator.block_rows, 8192))[:, 0]


def _check_contamination(contamination: Any) -> float | None:
    """The share of outliers; None for "auto"."""
    if isinstance(contamination, str) and contamination == "auto":
        return None
    if isinstance(contamination, Real) and not isinstance(contamination, bool) and 0.0 < float(contamination) <= 0.5:
        return float(contamination)
    raise ValueError(f"contamination must be 'auto' or a number above 0 and at most 0.5, got {contamination!r}.")


def _whitening(generators: Polynomials, rows: ArrayRows, *, whiten: bool) -> Float2D:
    """W with ``|g'W|^2 = g' R g / tr(S R)`` and ``R = (S + d I)^-1``, S the second moments of g, or their diagonal."""
    evaluator = Evaluator([generators.form], absolute=False)

    def values(block: Float2D) -> Float2D:
        out = np.empty((block.shape[0], evaluator.n_columns))
        evaluator.fill(block, out)
        return np.ascontiguousarray(out.T)

    moments = value_gram(rows, values, 0, evaluator.n_columns)
    if not whiten:
        moments = np.diag(np.diag(moments))
    strength, directions = np.linalg.eigh((moments + moments.T) / 2.0)
    strength = np.maximum(strength, 0.0)
    rank = float((strength / (strength + _EXACT**2)).sum())
    return np.asarray(directions / np.sqrt((strength + _EXACT**2) * max(rank, 1e-300)))


def _quantile(scores: Float1D, share: float, weights: Float1D | None) -> float:
    """The score below which a share of the rows, counted with their weights, lies; between two where that is exact."""
    order = np.argsort(scores)
    below = np.cumsum(np.ones(len(scores)) if weights is None else weights[order])
    exact = np.isclose(below, share * below[-1], rtol=1e-12, atol=0.0)
    k = int(np.argmax(exact)) if exact.any() else int(np.searchsorted(below, share * below[-1]))
    last = min(k + 1, len(scores) - 1) if exact.any() else k
    return float((scores[order[k]] + scores[order[last]]) / 2.0)
