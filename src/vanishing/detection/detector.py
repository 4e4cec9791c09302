"""The estimator: novelty detection by violated equations."""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Float1D, Float2D
from ..checks import (
    all_or_nothing,
    check_choice,
    check_count,
    check_flag,
    check_n_jobs,
    check_number,
    input_names,
    warn_few_rows,
    warn_fitted_tail,
    warn_incomplete,
)
from ..engine.moments import Moments
from ..plots import plot_projection
from ..polynomials.forms import Evaluator
from ..polynomials.polynomial import Polynomials
from ..report import Given, Reported
from ..rows.array_api import is_device_array, namespace_of, on_device_of, to_host
from ..rows.arrays import ArrayRows
from ..rows.labels import as_vector
from ..rows.protocol import Block, Cost, Rows
from ..rows.reading import is_dask, read_finite, read_rows, require_finite
from ..threads import one_blas_thread
from . import charts
from .christoffel import Christoffel, Monomials, choose_degree, n_terms_needed
from .columns import exact_relations, survey_columns
from .drift import drift_of_blocks
from .explain import as_table, explain_columns, explain_equations
from .missing import Incomplete, score_block
from .model import Model
from .summaries import model_of_moments, survey_of_moments
from .sums import Sums, sum_rows

__all__ = ["VanishingIdealDetector"]

_GROWTH = 1.5  # of the number of rows, after which a stream's regimes and calibration are found anew


class VanishingIdealDetector(Reported, OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Rows are normal as long as they obey the equations of the data that the detector was fitted to.

    The score has three parts, each in units of its spread over normal rows: the logarithm of the inverse Christoffel
    function ``v(x)' (M + 1e-6 I)^-1 v(x)``, with v the monomials up to a degree and M their Gram, which weighs a
    polynomial the more the more closely it vanishes on the rows; the deviations from tight equations, where there are
    any; and the distance from the regimes of the data, local quadratics around k-means centres. There is nothing to
    tune. Everything but the regimes follows from one Gram, a sum over rows; the regimes, and the p-values, from a
    sample of at most 10,000 rows.

    Parameters
    ----------
    contamination : float in (0, 0.5], default=0.01
        Share of false alarms among fresh normal rows, which sets ``offset_``.
    regimes : bool, default=True
        Look for several regimes. Without, the score is a function of one Gram.
    degree : int, default=None
        Degree of the monomials. By default the largest from 2 to 4 with at most 900 of them; 2 where a higher one would
        take long on these rows; 1 where the rows are fewer than the terms of degree 2.
    missing : {"skip", "error"}, default="skip"
        Score rows with NaN by the equations that do not involve the missing columns, or refuse them.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Attributes
    ----------
    offset_ : float
        Threshold: rows with ``score_samples`` below it are outliers.
    degree_ : int
        Degree of the monomials.
    n_samples_seen_ : int
        Number of rows so far.
    generators_ : Polynomials
        The equations, sparse and in the units of the input, tightest first; ``mse`` is their mean square.
    exact_relations_ : list of str
        Constant and binary columns and one-hot groups, in words.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Notes
    -----
    A row that is equal to a training row is scored as if that had been left out. So scores of training rows compare
    with those of new rows, and a share ``contamination`` of the training rows are outliers, too.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdealDetector
    >>> angle = np.linspace(0, 2 * np.pi, 200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) + np.random.default_rng(0).normal(0, 0.01, (200, 2))
    >>> detector = VanishingIdealDetector().fit(X)
    >>> detector.predict([[0.6, 0.8], [0.5, 0.5]])
    array([ 1, -1])
    >>> detector.p_values([[0.5, 0.5]]).round(3)
    array([0.005])
    """

    _sums: Sums
    _n_batches: int

    def __init__(
        self,
        *,
        contamination: float = 0.01,
        regimes: bool = True,
        degree: int | None = None,
        missing: str = "skip",
        n_jobs: int | None = None,
    ):
        self.contamination = contamination
        self.regimes = regimes
        self.degree = degree
        self.missing = missing
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn what normal rows have in common.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), another data source, or Moments
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, which count like repeated rows; not all zero.

        Returns
        -------
        self
        """
        self._check_parameters()
        with all_or_nothing(self):
            if isinstance(X, Moments):
                self._fit_moments(X, sample_weight)
            else:
                self._fit_rows(self._used(read_rows(self, X, sample_weight)))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the sums; the first call is a fit, which settles the units of the columns and the degree.

        The inverse Christoffel function is that of all rows. Equations, regimes and calibration are found anew
        whenever the number of rows has grown by a half. If the rows are refused, nothing has been added.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
        """
        if not hasattr(self, "_sums"):
            if hasattr(self, "offset_"):
                raise ValueError("The detector was fitted to moments, which hold no rows: update these, and fit anew.")
            return self.fit(X, sample_weight=sample_weight)
        self._check_parameters()
        with one_blas_thread():
            rows = self._used(read_rows(self, X, sample_weight, reset=False))
            if not isinstance(rows, ArrayRows):
                require_finite(rows, input_names(self))
            more = sum_rows(rows, self._monomials, self._n_batches)
        with all_or_nothing(self):
            self._sums = self._sums.plus(more)
            self._n_batches += 1
            self.n_samples_seen_ = self._sums.n_samples
            self._stale = True
        return self

    def score_samples(self, X: Any) -> Any:
        """Minus the score: the lower, the more abnormal; about 0 for typical rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows, model = self._rows(X), self._current()
        incomplete = None if is_dask(X) else Incomplete(model)
        kernel = partial(
            score_block, score=_lean(model), incomplete=incomplete, place=rows.place, names=input_names(self)
        )
        width = model.score.width
        return as_vector(rows.map(kernel, 1, Cost(width * width, width, fewest=256)))

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
        scores = self.decision_function(X)
        if is_dask(scores):
            return scores.map_blocks(lambda block: np.where(block < 0.0, -1, 1), dtype=np.int64)
        namespace = namespace_of(scores)
        outlier, normal = (namespace.full_like(scores, value, dtype=namespace.int64) for value in (-1, 1))
        return namespace.where(scores < 0.0, outlier, normal)

    def p_values(self, X: Any) -> Any:
        """The probability that a normal row looks this bad, or worse.

        The training rows, each scored as if it had been left out, are what a new row is compared with: of fresh normal
        rows a share of at most about alpha has a p-value up to alpha, whatever their distribution.

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
        found = tail.p_values(-to_host(scores))
        return on_device_of(scores, found) if is_device_array(scores) else found

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
        return Evaluator([equations.standard_form], absolute=True).over(read_finite(self, X))

    def explain(self, x: Any, *, by: str = "equation") -> Any:
        """Why a row is abnormal.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            One row.
        by : {"equation", "column"}, default="equation"
            Equations with the row's value, how many deviations that is, and the share of the inverse Christoffel
            function that the equation and its multiples account for; the shares sum to 1. Or columns: observed value,
            the value that would fit the other columns best (what the sensor should have shown), and by how much the
            inverse Christoffel function would be smaller with it.

        Returns
        -------
        DataFrame, or a dict of lists where pandas is not installed

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import VanishingIdealDetector
        >>> rng = np.random.default_rng(0)
        >>> volts, amperes = rng.uniform(10, 20, 500), rng.uniform(1, 5, 500)
        >>> X = np.column_stack([volts, amperes, volts * amperes + rng.normal(0, 0.1, 500)])
        >>> detector = VanishingIdealDetector().fit(X)
        >>> table = detector.explain([15.0, 2.0, 40.0], by="column")
        >>> observed, expected = (dict(zip(table["column"], table[key])) for key in ("observed", "expected"))
        >>> observed["x2"], round(expected["x2"])
        (40.0, 30)
        """
        check_is_fitted(self)
        check_choice("by", by, ("equation", "column"))
        return as_table(self._explained(self._one_row(x), by))

    def drift(self, X: Any, *, block_rows: int | None = None) -> Any:
        """Whether rows as a whole obey the equations, block by block: shifts that no single row shows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, in the order of time.
        block_rows : int, optional
            Rows of a block; by default all rows are one.

        Returns
        -------
        DataFrame, or a dict of lists where pandas is not installed
            For each block its first row, the number of rows, the share of alarms, the probability that normal rows
            differ as much from the training rows, and the equation that has shifted most, by how many of its
            deviations.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import VanishingIdealDetector
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(size=3000)
        >>> X = np.column_stack([x, 2 * x + rng.normal(0, 0.01, 3000)])
        >>> detector = VanishingIdealDetector().fit(X[:2000])
        >>> normal, shifted = detector.drift(X[2000:])["p_value"], detector.drift(X[2000:] + [0, 0.005])["p_value"]
        >>> bool(normal[0] > 0.01 > shifted[0])
        True
        """
        check_is_fitted(self)
        if block_rows is not None:
            check_count("block_rows", block_rows)
        model = self._current()
        p_values = np.asarray(to_host(_computed(self.p_values(X))))
        form = model.equations.standard_form
        deviations = np.zeros((len(p_values), 0))
        if form.n_polynomials:
            deviations = np.asarray(to_host(_computed(Evaluator([form], absolute=False).over(read_finite(self, X)))))
        edges = [*range(0, len(p_values), block_rows or len(p_values)), len(p_values)]
        return as_table(drift_of_blocks(model, p_values, deviations, edges, self.contamination))

    def plot_chart(self, X: Any, *, n_worst: int = 3) -> Any:
        """Control chart of the scores of rows in the order of time, with the contributions of the worst ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_worst : int, default=3
            Rows whose columns are shown below.

        Returns
        -------
        matplotlib Figure
        """
        table = self._table(X)
        scores, tail = Incomplete(self._current()).of_rows(table), self._current().tail
        limits = [self.contamination, self.contamination / 10.0]
        worst = np.argsort(-scores)[: min(n_worst, len(table))]
        bars = [self._explained(table[i], "column") for i in worst]
        return charts.control_chart(scores, {rate: tail.threshold(rate) for rate in limits}, worst, bars)

    def plot_residuals(self, X: Any) -> Any:
        """The equations over time: values in units of their deviations, one panel each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        matplotlib Figure
        """
        table, equations = self._table(X), self._require_equations()
        return charts.residuals(equations.polynomials, equations.deviation, table)

    def plot_relation(self, x: Any, X: Any, *, equation: int | None = None, columns: Any = None) -> Any:
        """A row among others in the plane of two columns, with the equation that it violates.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The row.
        X : array-like of shape (n_samples, n_features)
            Normal rows. As they differ in the other columns, too, each is shown as far from the curve as it is.
        equation : int, optional
            Its place in ``generators_``; the one that the row violates most by default.
        columns : pair of int, optional
            Columns to show; by default the two of the equation that contribute most.

        Returns
        -------
        matplotlib Axes
        """
        row, table, equations = self._one_row(x), self._table(X), self._require_equations()
        deviations = equations.polynomials.evaluate(row[None, :])[0] / equations.deviation
        k = int(np.argmax(np.abs(deviations))) if equation is None else int(equation)
        names = input_names(self)
        if columns is None:
            ranked = [names.index(name) for name in self._explained(row, "column")["column"]]
            columns = [j for j in ranked if j in equations.columns[k]][:2]
        if len(columns) != 2:
            raise ValueError(f"A plane needs two columns of the equation, got {len(columns)}: choose columns=(i, j).")
        return plot_projection(
            equations.polynomials[k], table, row=row, columns=columns, deviation=float(equations.deviation[k])
        )

    def _report_rows(self, X: Any, y: Any) -> Given:
        check_is_fitted(self)
        return Given(self._rows(X), tuple(input_names(self)))

    def _report_story(self, subject: Any) -> Any:
        from .story import detector_story  # only reports need it

        return detector_story(self, subject)

    @property
    def generators_(self) -> Polynomials:
        """The equations, sparse and in the units of the input, tightest first."""
        check_is_fitted(self)
        return self._current().equations.polynomials

    @property
    def exact_relations_(self) -> list[str]:
        """Constant and binary columns and one-hot groups, in words."""
        check_is_fitted(self)
        return [relation.to_text(input_names(self)) for relation in self._monomials.exact]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "skip"
        return tags

    def _check_parameters(self) -> None:
        check_number("contamination", self.contamination, above=0.0)
        if self.contamination > 0.5:
            raise ValueError(f"contamination must be above 0 and at most 0.5, got {self.contamination!r}.")
        check_flag("regimes", self.regimes)
        if self.degree is not None:
            check_count("degree", self.degree)
        check_choice("missing", self.missing, ("skip", "error"))
        check_n_jobs(self.n_jobs)

    def _fit_rows(self, rows: Rows) -> None:
        names = input_names(self)
        found = survey_columns(rows, names)
        if not (found.high > found.low).any():
            raise ValueError(
                f"All rows are equal (n_samples = {found.n_samples}): a detector learns from normal rows that differ."
            )
        degree = self.degree or choose_degree(found.mean.size, found.n_samples)
        if degree == 1 and self.degree is None:
            warn_few_rows(found.n_samples, n_terms_needed(found.mean.size))
        self._monomials = Monomials.of_columns(found, exact_relations(found), degree)
        self._sums = sum_rows(rows, self._monomials, clipped=found.has_far_values)
        self._n_batches, self._stale = 1, False
        self.degree_, self.n_samples_seen_ = degree, self._sums.n_samples
        self._learn()

    def _fit_moments(self, moments: Moments, sample_weight: Any) -> None:
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be given for moments: give it to their update.")
        self.n_features_in_ = moments.n_features
        if moments.feature_names is not None:
            self.feature_names_in_ = np.array(moments.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        found = survey_of_moments(moments)
        model = model_of_moments(moments, found, input_names(self))
        self._monomials, self._stale = model.score.christoffel.monomials, False
        if hasattr(self, "_sums"):
            del self._sums
        self.degree_, self.n_samples_seen_ = max(moments.degree // 2, 1), found.n_samples
        warn_fitted_tail(self.degree_)
        self._settle(model)

    def _learn(self) -> None:
        """Find everything anew from the sums."""
        with one_blas_thread():
            self._settle(Model.of_sums(self._sums, self._christoffel(), input_names(self), regimes=self.regimes))

    def _settle(self, model: Model) -> None:
        self._model, self._calibrated_rows = model, self.n_samples_seen_
        self.offset_ = -model.tail.threshold(self.contamination)

    def _current(self) -> Model:
        """The model of all rows so far."""
        if self._stale:
            sums: Sums = self._sums
            if sums.n_samples >= _GROWTH * self._calibrated_rows:
                self._learn()
            else:
                self._model = self._model.updated(sums, self._christoffel())
            self._stale = False
        model: Model = self._model
        return model

    def _christoffel(self) -> Christoffel:
        return Christoffel.of_gram(self._monomials, self._sums.gram / self._sums.total_weight)

    def _rows(self, X: Any) -> Rows:
        return read_finite(self, X) if self.missing == "error" else read_rows(self, X, reset=False)

    def _used(self, rows: Rows) -> Rows:
        """The rows to learn from: of those in memory, the ones with a weight and without missing values; all finite."""
        if not isinstance(rows, ArrayRows):
            return rows
        rows = rows.without_zero_weights()
        if rows.X.dtype.kind != "f" or _sum_is_finite(rows):
            return rows
        if self.missing == "skip":
            missing = rows.map(_count_missing, 1, Cost(rows.n_features, rows.n_features))[:, 0] > 0.0
            if missing.all():
                raise ValueError("Every row has a missing value: impute them, for instance with SimpleImputer.")
            if missing.any():
                warn_incomplete(int(missing.sum()))
            weights = None if rows.sample_weight is None else rows.sample_weight[~missing]
            rows = ArrayRows(rows.X[~missing], weights, None, rows.n_jobs)
        require_finite(rows, input_names(self))
        return rows

    def _table(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(read_rows(self, X, reset=False).to_numpy(), dtype=np.float64)

    def _one_row(self, x: Any) -> Float1D:
        """One row, given as such or as a table of one row."""
        if np.ndim(x) != 1:
            table = self._table(x)
            if len(table) != 1:
                raise ValueError(f"Expected one row, got {len(table)}: choose one of them.")
            return np.asarray(table[0])
        names = [str(name) for name in x.index] if hasattr(x, "iloc") else input_names(self)
        if hasattr(self, "feature_names_in_") and names != input_names(self):
            raise ValueError(f"The row should have the columns of the fit: {', '.join(input_names(self))}.")
        row = np.asarray(x, dtype=np.float64)
        if row.size != self.n_features_in_:
            raise ValueError(
                f"The row has {row.size} values, but the detector was fitted to {self.n_features_in_} columns."
            )
        if np.isinf(row).any():
            raise ValueError(
                f"The row contains infinity in column {names[int(np.argmax(np.isinf(row)))]!r}: correct it."
            )
        return row

    def _explained(self, row: Float1D, by: str) -> dict[str, list[Any]]:
        names, model = input_names(self), self._current()
        absent = np.flatnonzero(np.isnan(row)).tolist()
        if absent:
            reduced = Incomplete(model).reduced(absent)
            if reduced is None:
                raise ValueError("There is nothing to explain: every column that matters is missing in this row.")
            model = replace(reduced, equations=model.equations.without(absent, reduced.score.christoffel))
        explained = explain_equations if by == "equation" else explain_columns
        with one_blas_thread():
            return explained(model, np.where(np.isnan(row), 0.0, row), names)

    def _require_equations(self) -> Any:
        equations = self._current().equations
        if not len(equations.polynomials):
            raise ValueError("No equation holds closely enough on these data to be drawn; plot_chart shows the scores.")
        return equations


def _sum_is_finite(rows: Rows) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(rows.reduce(_sum_of_values, operator.add, Cost(rows.n_features, rows.n_features))))


def _sum_of_values(block: Block) -> float:
    return float(np.sum(block.X))


def _count_missing(block: Block, out: Float2D) -> None:
    out[:, 0] = np.isnan(block.X).sum(axis=1)


def _lean(model: Model) -> Any:
    """The score without what only explanations need: it is sent to where the rows are."""
    christoffel = model.score.christoffel
    nothing: Float1D = np.empty((0, 0))
    regimes = model.score.regimes
    return replace(
        model.score,
        christoffel=replace(christoffel, gram=nothing, factor=nothing),
        regimes=None if regimes is None else replace(regimes, mixtures=()),
    )


def _computed(values: Any) -> Any:
    if isinstance(values, Rows):
        return values.to_numpy()
    return values.compute() if is_dask(values) else values
