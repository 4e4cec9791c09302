"""The estimator: novelty detection by violated equations."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ..checks import (
    check_choice,
    check_count,
    check_flag,
    check_n_jobs,
    check_number,
    warn_fitted_tail,
    warn_incomplete,
)
from ..engine.moments import Moments
from ..files.container import ArrayWriter
from ..files.fields import Integer, MayBeMissing, Number, require
from ..files.saved import SavedEstimator
from ..plots import plot_projection
from ..polynomials.polynomial import Polynomials
from ..report import Given, Reported
from ..rows.arrays import ArrayRows
from ..rows.disk import ScaledOnDisk
from ..rows.protocol import Rows
from ..rows.reading import finite_blocks, input_names, learn_columns, read_input
from ..threads import fitting, one_blas_thread
from . import charts
from .calibration import USUAL_RATE
from .christoffel import Christoffel, Monomials
from .columns import survey_columns
from .completeness import Complete, complete_array, require_some
from .explanations import RowExplanations, times_of
from .model import Model
from .monitoring import alarm_spans
from .records import MODEL, MONOMIALS, SUMS, require_columns
from .series import Neighbours
from .summaries import model_of_moments, survey_of_moments
from .sums import RUN, Sums, add_sums, sum_rows
from .training import train
from .words import describe_calibration, warn_about_series

_GROWTH = 1.5  # growth of the number of rows after which a stream's equations, regimes and calibration are fitted again


class VanishingIdealDetector(SavedEstimator, RowExplanations, Reported, OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Novelty detection: rows are normal as long as they obey the equations of the rows of the fit.

    The score is the smooth maximum of three parts, each in units of its tail over normal rows: the logarithm of the
    inverse Christoffel function ``v(x)' (M + 1e-6 I)^-1 v(x)``, with v the monomials up to a degree and M their Gram,
    which weighs a polynomial the more the more closely it vanishes on the rows; the deviations from tight equations, if
    there are any; and minus the logarithm of the density of the regimes, local quadratics around k-means centres. There
    is nothing to tune. The regimes and the p-values come from a sample of at most 10,000 rows, all else from one Gram,
    a sum over rows.

    Parameters
    ----------
    contamination : float in (0, 0.5] or "auto", default=0.01
        Share of false alarms among fresh normal rows, which sets ``offset_``. "auto": 0.01, and the rows of the fit may
        hold anomalies: further parts of the score come from the four fifths of the rows that fit best. Rows that follow
        each other have no such parts.
    regimes : bool, default=True
        Look for several regimes. Without, the score is a function of one Gram.
    degree : int, default=None
        Degree of the monomials. By default the largest from 2 to 4 with at most 900 of them; 2 where a higher one would
        take long on these rows; 1 where the rows are fewer than the terms of degree 2.
    series : {"auto", True, False}, default="auto"
        Whether rows follow each other in time. Then they are left out in blocks, the degree is the largest that holds
        out of block, columns that drift by themselves leave the score, and the limit counts independent rows. "auto":
        if the lag-1 correlation of a column is more than five standard errors above 0.
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
    calibration_ : str
        How the limit was found, in a sentence.
    generators_ : Polynomials
        The equations, sparse and in the units of the input, tightest first; ``mse`` is their mean square.
    exact_relations_ : list of str
        Constant and binary columns and one-hot groups, in words.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Notes
    -----
    A row that equals a training row is scored as if that had been left out. So scores of training rows compare with
    those of new rows, and a share ``contamination`` of the training rows are outliers, too.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdealDetector
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.01, (200, 2))
    >>> detector = VanishingIdealDetector().fit(X)
    >>> detector.predict([[0.6, 0.8], [0.5, 0.5]])
    array([ 1, -1])
    >>> detector.p_values([[0.5, 0.5]]).round(3)
    array([0.005])
    """

    _monomials: Monomials
    _sums: Sums
    _n_batches: int

    _fields: ClassVar = {
        "offset_": Number(),
        "degree_": Integer(low=1),
        "n_samples_seen_": Integer(low=1),
        "_model": MODEL,
        "_monomials": MayBeMissing(MONOMIALS),
        "_calibrated_rows": Integer(low=1),
        "_sums": MayBeMissing(SUMS),
        "_n_batches": MayBeMissing(Integer(low=1)),
    }

    def _pack(self, arrays: ArrayWriter) -> dict[str, Any]:
        if hasattr(self, "offset_"):
            self._current()  # with all rows so far
        return super()._pack(arrays)

    def _check_saved(self) -> None:
        sums = getattr(self, "_sums", None)
        require(sums is None or hasattr(self, "_n_batches"), "there are sums of no batches")
        if not hasattr(self, "_monomials"):  # older files have those of the score alone
            self._monomials = self._model.score.christoffel.monomials
        require_columns(self._model, self._monomials, sums, getattr(self, "n_features_in_", -1))
        self._check_parameters()
        self._stale = False

    def __init__(
        self,
        *,
        contamination: float | str = 0.01,
        regimes: bool = True,
        degree: int | None = None,
        series: bool | str = "auto",
        missing: str = "skip",
        n_jobs: int | None = None,
    ):
        self.contamination = contamination
        self.series = series
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
        with fitting(self):
            if isinstance(X, Moments):
                self._fit_moments(X, sample_weight)
            else:
                self._fit_rows(read_input(self, X, sample_weight, passes=1))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the sums; the first call is a fit, which fixes the units of the columns and the degree.

        The inverse Christoffel function is that of all rows. Equations, regimes and calibration are fitted again
        whenever the number of rows has grown by a half. A call that raises an error adds nothing.

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
        with fitting(self):
            batch = self._sums_of(read_input(self, X, sample_weight, reset=False))
            if batch.n_missing:
                warn_incomplete(batch.n_missing)
            self._sums = add_sums(self._sums, batch)
            self._n_batches += 1
            self.n_samples_seen_ = self._sums.n_samples
            self._stale = True
        return self

    def plot_chart(self, X: Any, *, n_worst: int = 3) -> Any:
        """Control chart of the scores of rows over time, with alarm episodes and the contributions of the worst rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A DataFrame with times as its index gives the axis of time.
        n_worst : int, default=3
            Rows whose columns are shown below.

        Returns
        -------
        matplotlib Figure
        """
        table = self._table(X)
        scores, model = self._scores_of_table(table), self._current()
        limits = {rate: model.tail.threshold(rate) for rate in (self._rate, self._rate / 10.0)}
        worst = np.argsort(-scores)[: min(n_worst, len(table))]
        bars = [self._explained(table[i], "column") for i in worst]
        spans = [] if model.sample is None else alarm_spans(model, scores)[2]
        return charts.control_chart(scores, limits, worst, bars, times=times_of(X), spans=spans)

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
            Normal rows. Each is drawn as far from the curve as it is from the equation, whatever its other columns.
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
        return Given(self._rows(X), tuple(input_names(self)), times=times_of(X))

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

    def _first_equations(self, n_shown: int) -> list[str]:
        return self.generators_.first_lines(n_shown)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "skip"
        return tags

    def _check_parameters(self) -> None:
        if self.contamination != "auto":
            check_number("contamination", self.contamination, above=0.0)
            if not 0.0 < float(self.contamination) <= 0.5:
                raise ValueError(
                    f"contamination must be 'auto', or above 0 and at most 0.5, got {self.contamination!r}."
                )
        check_flag("regimes", self.regimes)
        if self.series != "auto":
            check_flag("series", self.series)
        if self.degree is not None:
            check_count("degree", self.degree)
        check_choice("missing", self.missing, ("skip", "error"))
        check_n_jobs(self.n_jobs)

    def _fit_rows(self, rows: Rows) -> None:
        skip = self.missing == "skip"
        if isinstance(rows, ScaledOnDisk) and rows.scaler is None:
            survey_columns(rows, input_names(self))  # its pass stores the scaling in the source
        if not skip and not isinstance(rows, ArrayRows):
            rows = finite_blocks(rows, input_names(self))
        self._monomials, self._sums, self.degree_ = train(
            rows, input_names(self), self.degree, skip=skip, run=self._run
        )
        if self._sums.n_missing:
            warn_incomplete(self._sums.n_missing)
        self._n_batches, self._stale, self.n_samples_seen_ = 1, False, self._sums.n_samples
        self._fit_sums()

    @property
    def _rate(self) -> float:
        """Share of false alarms among fresh normal rows."""
        return USUAL_RATE if self.contamination == "auto" else float(self.contamination)

    def _fit_moments(self, moments: Moments, sample_weight: Any) -> None:
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be given for moments: give it to their update.")
        learn_columns(self, moments, reset=True)
        survey = survey_of_moments(moments)
        model = model_of_moments(moments, survey, input_names(self))
        self._monomials, self._stale = model.score.christoffel.monomials, False
        if hasattr(self, "_sums"):
            del self._sums
        self.degree_, self.n_samples_seen_ = max(moments.degree // 2, 1), survey.n_samples
        warn_fitted_tail(self.degree_)
        self._settle(model)

    def _fit_sums(self) -> None:
        """Fit equations, regimes and calibration to the sums."""
        names, sums = input_names(self), self._sums
        with one_blas_thread:
            found = Neighbours.of_sample(sums.sample, whole=sums.n_samples == len(sums.sample.X))
            if self.series is True or (self.series and found.are_dependent):
                model = Model.of_series(
                    sums, self._christoffel(), names, regimes=self.regimes, degree=self.degree,
                    correlation=found.correlation, rate=self._rate,
                )  # fmt: skip
            else:
                dirty = self.contamination == "auto"
                model = Model.of_sums(sums, self._christoffel(), names, regimes=self.regimes, dirty=dirty)
        if model.series is not None:
            self.degree_ = model.series.degree
            warn_about_series(model.series, names)
        self._settle(model)

    @property
    def _run(self) -> int:
        """Consecutive rows that the sample keeps together."""
        return RUN if self.series else 1

    @property
    def calibration_(self) -> str:
        """How the limit was found, in a sentence."""
        check_is_fitted(self)
        return describe_calibration(self._current(), input_names(self))

    def _settle(self, model: Model) -> None:
        self._model, self._calibrated_rows = model, self.n_samples_seen_
        self.offset_ = -model.tail.threshold(self._rate)

    def _current(self) -> Model:
        """The model of all rows so far."""
        if self._stale:
            sums = self._sums = self._sums.joined()
            if sums.n_samples >= _GROWTH * self._calibrated_rows:
                self._fit_sums()
            else:
                self._model = self._model.updated(sums, self._christoffel())
            self._stale = False
        model: Model = self._model
        return model

    def _christoffel(self) -> Christoffel:
        return Christoffel.of_gram(self._monomials, self._sums.gram / self._sums.total_weight)

    def _sums_of(self, rows: Rows) -> Sums:
        """The sums over a batch; rows with missing values are left out or refused."""
        names, skip = input_names(self), self.missing == "skip"
        if isinstance(rows, ArrayRows):
            complete, n_missing = complete_array(rows, names, skip=skip)
            return sum_rows(complete, self._monomials, self._n_batches, run=self._run)._replace(n_missing=n_missing)
        if not skip:
            return sum_rows(finite_blocks(rows, names), self._monomials, self._n_batches, run=self._run)
        chosen = Complete(rows.place, tuple(names))
        sums = sum_rows(rows, self._monomials, self._n_batches, run=self._run, complete=chosen)
        require_some(sums.n_samples == 0)
        return sums

    def _require_equations(self) -> Any:
        equations = self._current().equations
        if not len(equations.polynomials):
            raise ValueError("No equation holds closely enough on these data to be drawn; plot_chart shows the scores.")
        return equations
