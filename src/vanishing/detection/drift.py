"""Whether rows as a whole still obey the equations: a test for blocks of rows.

A shift of a hundredth of a deviation is invisible in one row and plain in the mean of ten thousand. For a block of n
rows, against a model of W rows, the mean of an equation is compared with ``deviation sqrt(1 / n + 1 / W)``, and the
mean of the normal scores of the p-values with ``sqrt(1 / n + 1 / m)``, m the number of calibration scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from .._typing import Float1D, Float2D
from .model import Model

__all__ = ["drift_of_blocks"]


def drift_of_blocks(
    model: Model, p_values: Float1D, deviations: Float2D, edges: Sequence[int], rate: float
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
    """
    n_scores = len(model.left[0]) if model.left else np.inf
    names = [polynomial.to_text() for polynomial in model.equations.polynomials]
    table: dict[str, list[Any]] = {
        "first_row": [], "n_rows": [], "alarms": [], "p_value": [], "equation": [], "shift": []
    }  # fmt: skip
    for start, stop in pairwise(edges):
        n = stop - start
        p = np.clip(p_values[start:stop], 1e-12, 1.0 - 1e-12)
        unusual = float(np.mean(stats.norm.isf(p))) / np.sqrt(1.0 / n + 1.0 / n_scores)
        found = [float(stats.norm.sf(unusual))]
        shifts = deviations[start:stop].mean(axis=0)
        found += (2.0 * stats.norm.sf(np.abs(shifts) / np.sqrt(1.0 / n + 1.0 / model.total_weight))).tolist()
        worst = int(np.argmax(np.abs(shifts))) if len(shifts) else None
        table["first_row"].append(start)
        table["n_rows"].append(n)
        table["alarms"].append(float(np.mean(p_values[start:stop] <= rate)))
        table["p_value"].append(min(1.0, len(found) * min(found)))  # Bonferroni
        table["equation"].append("" if worst is None else names[worst])
        table["shift"].append(np.nan if worst is None else float(shifts[worst]))
    return table
