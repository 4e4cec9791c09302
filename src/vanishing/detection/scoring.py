"""Scores of rows by a fitted detector, and labels, p-values and violated equations."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..polynomials.forms import values_over
from ..rows.array_api import is_device_array, namespace_of, on_device_of, to_host
from ..rows.labels import as_vector
from ..rows.protocol import Cost, Rows
from ..rows.reading import input_names, is_dask, read_finite, read_input
from .missing import Incomplete, score_block
from .model import Model


class RowScores:
    """The methods of a detector that score rows."""

    missing: str
    offset_: float

    @abstractmethod
    def _current(self) -> Model:
        """The model of all rows so far."""

    def score_samples(self, X: Any) -> Any:
        """Minus the score: the lower, the more abnormal; about 0 for typical rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X)

    def _scores(self, X: Any, *, alarms_only: bool = False) -> Any:
        """Minus the score; with ``alarms_only``, exact for outliers, and some value from ``offset_`` on for others."""
        check_is_fitted(self)
        rows, model = self._rows(X), self._current()
        incomplete = None if is_dask(X) else Incomplete(model)
        kernel = partial(
            score_block,
            score=model.score.lean,
            incomplete=incomplete,
            place=rows.place,
            names=input_names(self),
            above=-self.offset_ if alarms_only else None,
        )
        width = model.score.width
        fewest = 1024 if alarms_only else 256  # bounds on scores are quick, so blocks need more rows to pay off
        return as_vector(rows.map(kernel, 1, Cost(width * width, width, fewest=fewest)))

    def decision_function(self, X: Any) -> Any:
        """``score_samples(X) - offset_``: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.score_samples(X)
        return scores - self.offset_

    def predict(self, X: Any) -> Any:
        """1 for normal rows, -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._scores(X, alarms_only=True) - self.offset_
        if is_dask(scores):
            return scores.map_blocks(lambda block: np.where(block < 0.0, -1, 1), dtype=np.int64)
        namespace = namespace_of(scores)
        outlier, normal = (namespace.full_like(scores, value, dtype=namespace.int64) for value in (-1, 1))
        return namespace.where(scores < 0.0, outlier, normal)

    def p_values(self, X: Any) -> Any:
        """The probability that a normal row looks this bad, or worse.

        A new row is compared with the training rows, each scored as if it had been left out. At most a share of about
        alpha of fresh normal rows has a p-value up to alpha, whatever their distribution.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.score_samples(X)
        tail = self._current().tail
        if is_dask(scores):
            return scores.map_blocks(lambda block: tail.p_values(-block), dtype=np.float64)
        shares = tail.p_values(-to_host(scores))
        return on_device_of(scores, shares) if is_device_array(scores) else shares

    def violations(self, X: Any) -> Any:
        """How much each equation is violated, in units of its root mean square over the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_generators)
            ``|g(x)|`` over the deviation of g, in the order of ``generators_``.
        """
        check_is_fitted(self)
        equations = self._current().equations
        return values_over(equations.standard_form, read_finite(self, X), absolute=True)

    def _rows(self, X: Any) -> Rows:
        return read_finite(self, X) if self.missing == "error" else read_input(self, X, reset=False)
