"""Novelty detection: rows that violate the equations of normal data."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._typing import Float1D, Float2D
from ..checks import all_or_nothing, check_flag, check_n_jobs, input_names, take_input_from
from ..engine.gram import value_gram
from ..engine.scaling import scale_and_survey_parts, scaled_rows, survey_parts
from ..ideals.default import DefaultIdeal
from ..ideals.ideal import VanishingIdeal
from ..polynomials.forms import Evaluator
from ..polynomials.polynomial import Polynomials
from ..rows.array_api import empty_like, namespace_of, on_device_of
from ..rows.arrays import ArrayRows
from ..rows.labels import as_vector
from ..rows.protocol import Block, Rows
from ..rows.reading import is_dask, read_finite, read_rows, require_finite

__all__ = ["VanishingIdealDetector"]

_TYPICAL = 3.0  # times the score of a typical normal row make an outlier
_EXACT = 1e-6  # no equation is asked to hold better than this, in scaled units


class VanishingIdealDetector(DefaultIdeal, OutlierMixin, BaseEstimator):  # type: ignore[misc]
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
        with all_or_nothing(self):
            self._fit(X, sample_weight, share)
        return self

    def _fit(self, X: Any, sample_weight: Any, share: float | None) -> None:
        rows = read_rows(self, X, sample_weight)
        if share is not None and not isinstance(rows, ArrayRows):
            raise ValueError("contamination must be 'auto' for data outside of memory.")
        if isinstance(rows, ArrayRows):
            require_finite(rows, input_names(self))
            rows = rows.without_zero_weights()
        ideal: VanishingIdeal = clone(self._template())
        first_pass = scale_and_survey_parts if self.scale_input else survey_parts
        rows, _, (found,), scaler = first_pass(rows, input_names(self), ahead=ideal._looks_ahead)
        take_input_from(self, ideal)
        ideal._fit_rows(rows, found)
        generators: Polynomials = ideal.generators_
        if len(generators) == 0:
            raise ValueError(f"No polynomial has mean square at most psi={ideal.psi:g}: raise psi or max_degree.")
        self.ideal_, self.scaler_ = ideal, scaler
        self.generators_ = generators if scaler is None else generators.in_units(scaler)
        self._whitening = _whitening(generators, rows, whiten=self.whiten)
        self.offset_ = -_TYPICAL if share is None else self._threshold(rows, share)

    def _threshold(self, rows: Rows, share: float) -> float:
        assert isinstance(rows, ArrayRows)
        return _quantile(self._scores(rows), share, rows.sample_weight)

    def score_samples(self, X: Any) -> Any:
        """Minus the violation of the equations: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(self._rows(X))

    def decision_function(self, X: Any) -> Any:
        """``score_samples(X) - offset_``: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """1 for normal rows, -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        if is_dask(scores):
            return scores.map_blocks(lambda block: np.where(block < 0.0, -1, 1), dtype=np.int64)
        namespace = namespace_of(scores)
        outlier, normal = (namespace.full_like(scores, value, dtype=namespace.int64) for value in (-1, 1))
        return namespace.where(scores < 0.0, outlier, normal)

    def violations(self, X: Any) -> Any:
        """How much each equation is violated, relative to a typical training row: says which law a row breaks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_generators)
            ``|g(x)|`` over the root mean square of g on the training data.
        """
        typical = np.sqrt(self.ideal_.generators_.mse + _EXACT**2)
        return Evaluator([self.ideal_.generators_.form.scaled(1.0 / typical)], absolute=True).over(self._rows(X))

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        rows = read_finite(self, X)
        return rows if self.scaler_ is None else scaled_rows(rows, self.scaler_)

    def _scores(self, rows: Rows) -> Any:
        evaluator = Evaluator([self.ideal_.generators_.form], absolute=False)

        def kernel(block: Block, out: Any) -> None:
            X = block.X
            values = empty_like(X, evaluator.n_columns)
            evaluator.fill(X, values)
            squares = (values @ on_device_of(X, self._whitening)) ** 2
            out[:, 0] = -(namespace_of(X).sum(squares, axis=1) ** 0.5)

        return as_vector(rows.map(kernel, 1, evaluator.cost))


def _check_contamination(contamination: Any) -> float | None:
    """The share of outliers; None for "auto"."""
    if isinstance(contamination, str) and contamination == "auto":
        return None
    share: Any = contamination if isinstance(contamination, Real) and not isinstance(contamination, bool) else 0.0
    if 0.0 < share <= 0.5:
        return float(share)
    raise ValueError(f"contamination must be 'auto' or a number above 0 and at most 0.5, got {contamination!r}.")


def _whitening(generators: Polynomials, rows: Rows, *, whiten: bool) -> Float2D:
    """W with ``|g'W|^2 = g' R g / tr(S R)`` and ``R = (S + d I)^-1``, S the second moments of g, or their diagonal."""
    evaluator = Evaluator([generators.form], absolute=False)

    def values(X: Any) -> Any:
        out = empty_like(X, evaluator.n_columns)
        evaluator.fill(X, out)
        return np.ascontiguousarray(out.T) if isinstance(out, np.ndarray) else out.T

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
