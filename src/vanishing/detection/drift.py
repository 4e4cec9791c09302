"""Drift: a test whether blocks of rows, as a whole, still obey the equations.

A shift of a tenth of a deviation is invisible in one row and plain in the mean of ten thousand. For a block of n rows,
against a model of W rows, the mean of an equation less its mean in the fit has the deviation ``deviation sqrt(1 / n +
1 / W)``; the share of alarms is compared with the nominal one. Of rows that follow each other, as many count as are
independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from .._typing import Bool1D, Float1D, Float2D
from .model import Model


def drift_of_blocks(
    model: Model, p_values: Float1D, deviations: Float2D, edges: Sequence[int], rate: float, left_out: Bool1D
) -> dict[str, list[Any]]:
    """One line for every block of rows: its p-value, and the equation whose mean has shifted most.

    Parameters
    ----------
    model : Model
    p_values : ndarray of shape (n_rows,)
    deviations : ndarray of shape (n_rows, n_equations)
        Values of the equations in units of their deviations.
    edges : sequence of int
        Where blocks start; the last one is the number of rows.
    rate : float
        Nominal share of alarms.
    left_out : ndarray of shape (n_rows,)
        Rows that do not count, as values are missing.
    """
    n_scores = len(model.left[0]) if model.left else np.inf
    independent = 1.0 if model.series is None else model.series.n_effective / n_scores  # share of the rows
    names = [polynomial.to_text() for polynomial in model.equations.polynomials]
    table: dict[str, list[Any]] = {
        "first_row": [], "n_rows": [], "n_gaps": [], "alarms": [], "p_value": [], "equation": [], "shift": []
    }  # fmt: skip
    for start, stop in pairwise(edges):
        counted = start + np.flatnonzero(~left_out[start:stop])
        n = counted.size
        alarms = float(np.mean(p_values[counted] <= rate)) if n else np.nan
        spread = np.sqrt(rate * (1.0 - rate) * (1.0 / max(n, 1) + 1.0 / n_scores) / independent)
        p_of_tests = [float(stats.norm.sf((alarms - rate) / spread))] if n else [1.0]
        complete = deviations[counted][np.isfinite(deviations[counted]).all(axis=1)]
        shifts = complete.mean(axis=0) - model.equations.mean if len(complete) else np.empty(0)
        spread = np.sqrt((1.0 / max(len(complete), 1) + 1.0 / model.total_weight) / independent)
        p_of_tests += (2.0 * stats.norm.sf(np.abs(shifts) / spread)).tolist()
        worst = int(np.argmax(np.abs(shifts))) if len(shifts) else None
        table["first_row"].append(start)
        table["n_rows"].append(n)
        table["n_gaps"].append(stop - start - len(complete))
        table["alarms"].append(alarms)
        table["p_value"].append(min(1.0, len(p_of_tests) * min(p_of_tests)))  # Bonferroni
        table["equation"].append("" if worst is None else names[worst])
        table["shift"].append(np.nan if worst is None else float(shifts[worst]))
    return table
