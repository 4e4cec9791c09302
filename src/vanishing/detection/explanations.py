"""The methods of a detector that explain: equations and columns of one row, and shifts of blocks of rows.

``explain`` and ``drift`` compute what these report.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Float1D
from ..checks import check_choice, check_count
from ..polynomials.forms import values_over
from ..rows.array_api import to_host
from ..rows.protocol import Rows
from ..rows.reading import input_names, is_dask, read_finite, read_rows
from ..threads import one_blas_thread
from .drift import drift_of_blocks
from .explain import as_table, explain_columns, explain_equations
from .missing import Incomplete
from .scoring import RowScores

__all__ = ["RowExplanations"]


class RowExplanations(RowScores):
    """The methods of a detector that explain its scores."""

    contamination: float
    n_features_in_: int

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

    def drift(self, X: Any, *, block_rows: int | None = None) -> Any:
        """Test whether rows as a whole obey the equations, block by block: shifts that no single row shows.

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
            differ as much from the training rows, the equation that has shifted most, and its shift in deviations.

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
            deviations = np.asarray(to_host(_computed(values_over(form, read_finite(self, X)))))
        edges = [*range(0, len(p_values), block_rows or len(p_values)), len(p_values)]
        return as_table(drift_of_blocks(model, p_values, deviations, edges, self.contamination))

    def _table(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(read_rows(self, X, reset=False).to_numpy(), dtype=np.float64)

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
            model = replace(reduced, equations=model.equations.without(absent, reduced.score.christoffel))
        explained = explain_equations if by == "equation" else explain_columns
        with one_blas_thread:
            return explained(model, np.where(np.isnan(row), 0.0, row), names)


def _computed(values: Any) -> Any:
    if isinstance(values, Rows):
        return values.to_numpy()
    return values.compute() if is_dask(values) else values
