"""The methods of a detector that explain: equations and columns of one row, and shifts of blocks of rows.

``explain`` and ``drift`` compute what these report.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Float1D
from ..checks import check_choice, check_count, check_number
from ..display import as_table
from ..polynomials.forms import values_over
from ..rows.array_api import to_host
from ..rows.arrays import ArrayRows
from ..rows.protocol import Cost, Rows
from ..rows.reading import input_names, is_dask, read_input, require_finite
from ..threads import one_blas_thread
from .completeness import mark_incomplete
from .drift import drift_of_blocks
from .equations import columns_of
from .explain import explain_columns, explain_equations
from .missing import Incomplete
from .monitoring import Monitoring, monitor_rows
from .scoring import RowScores


class RowExplanations(RowScores):
    """The methods of a detector that explain its scores."""

    n_features_in_: int
    n_jobs: int | None
    missing: str

    def explain(self, x: Any, *, by: str = "equation") -> Any:
        """Why a row is abnormal.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            One row.
        by : {"equation", "column"}, default="equation"
            Equations with the row's value, that value in deviations, and the share of the inverse Christoffel function
            that the equation and its multiples account for; the shares sum to 1. Or columns: observed value, the value
            that would fit the other columns best (what the sensor should have shown), and by how much the inverse
            Christoffel function would be smaller with it.

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

    def drift(self, X: Any, *, block_rows: int | None = None, missing: str | None = None) -> Any:
        """Test whether rows as a whole obey the equations, block by block: shifts that no single row shows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, in the order of time.
        block_rows : int, optional
            Rows of a block; by default all rows are one.
        missing : {"skip", "drop", "error"}, optional
            What happens to rows with missing values: they count among the alarms, but not in the equations; they do
            not count at all; or they are refused. By default as in the constructor.

        Returns
        -------
        DataFrame, or a dict of lists where pandas is not installed
            For each block its first row, the number of rows that count, how many rows have gaps, the share of alarms,
            the probability that normal rows differ as much from the training rows, the equation that has shifted most,
            and its shift in deviations.

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
        missing = self.missing if missing is None else missing
        check_choice("missing", missing, ("skip", "drop", "error"))
        rows, model = self._rows(X), self._current()
        if missing == "error":
            require_finite(rows, input_names(self), may_drop=True)
        p_values = np.asarray(to_host(_computed(self.p_values(X))))
        left_out = np.zeros(len(p_values), dtype=bool)
        if missing == "drop":
            marks = rows.map(mark_incomplete, 1, Cost(rows.n_features, rows.n_features))
            left_out = to_host(_computed(marks))[:, 0] > 0.0
        form = model.equations.standard_form
        deviations = np.zeros((len(p_values), 0))
        if form.n_polynomials:
            deviations = np.asarray(to_host(_computed(values_over(form, rows))))
        edges = [*range(0, len(p_values), block_rows or len(p_values)), len(p_values)]
        return as_table(drift_of_blocks(model, p_values, deviations, edges, self._rate, left_out))

    def monitor(self, X: Any, times: Any = None, *, episodes_per_1000: float = 1.0) -> Monitoring:
        """Collect evidence over time: alarm episodes with their columns and equations in place of single rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
            New rows, in the order of time; missing values are allowed.
        times : array-like of shape (n_samples,), optional
            Times of the rows; by default the index of a DataFrame of times, or numbers of rows.
        episodes_per_1000 : float, default=1.0
            Alarm episodes among 1,000 normal rows, which sets the limit.

        Returns
        -------
        Monitoring
            With ``scores``, ``evidence``, ``limit``, ``alarms`` and ``episodes``; ``print`` lists the episodes,
            ``to_table`` makes a table of them, and ``plot`` draws them.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import VanishingIdealDetector
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(size=3000)
        >>> X = np.column_stack([x, 2 * x + rng.normal(0, 0.01, 3000)])
        >>> detector = VanishingIdealDetector().fit(X[:2000])
        >>> X[2500:2600, 1] += 0.05
        >>> found = detector.monitor(X[2000:])
        >>> [(500 <= episode.first_row < 510, list(episode.columns)) for episode in found.episodes]
        [(True, ['x0', 'x1'])]
        """
        check_is_fitted(self)
        check_number("episodes_per_1000", episodes_per_1000, above=0.0)
        table = self._table(X)
        if times is None:
            times = times_of(X)
        times = np.arange(len(table)) if times is None else np.asarray(times)
        if times.shape != (len(table),):
            raise ValueError(f"There are {len(table)} rows and times of shape {times.shape}: give one time per row.")
        scores = self._scores_of_table(table)
        with one_blas_thread:
            return monitor_rows(self._current(), table, scores, times, input_names(self), float(episodes_per_1000))

    @property
    @abstractmethod
    def _rate(self) -> float:
        """Share of false alarms among fresh normal rows."""

    def _scores_of_table(self, table: Array) -> Float1D:
        """Scores of rows in memory, higher for worse ones."""
        rows = ArrayRows(table, n_jobs=self.n_jobs)
        rows.quiet = True
        return -np.asarray(self._scores(rows))

    def _table(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(read_input(self, X, reset=False).to_numpy(), dtype=np.float64)

    def _one_row(self, x: Any) -> Float1D:
        """The values of one row, or of a table of one row."""
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
            used = columns_of(model.equations.polynomials)
            kept = np.flatnonzero([not columns & set(absent) for columns in used])
            model = replace(reduced, equations=model.equations.among(kept, reduced.score.christoffel))
        explained = explain_equations if by == "equation" else explain_columns
        with one_blas_thread:
            return explained(model, np.where(np.isnan(row), 0.0, row), names)


def times_of(X: Any) -> Array | None:
    """The times of rows: the index of a DataFrame, if it holds times."""
    index = getattr(X, "index", None)
    return np.asarray(index) if getattr(getattr(index, "dtype", None), "kind", "") == "M" else None


def _computed(values: Any) -> Any:
    if isinstance(values, Rows):
        return values.to_numpy()
    return values.compute() if is_dask(values) else values
