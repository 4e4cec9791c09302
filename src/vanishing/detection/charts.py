"""Figures of several axes for people who watch a process: control charts, and equations over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..constants import IN_TEXT
from ..display import moment
from ..plots import plot_contributions, plot_control_chart, plot_residuals
from ..plots.style import new_axes
from ..polynomials.polynomial import Polynomials


def control_chart(
    scores: Float1D,
    limits: Mapping[float, float],
    worst: Int1D,
    bars: Sequence[Mapping[str, Any]],
    *,
    times: Any = None,
    spans: Sequence[tuple[int, int]] = (),
) -> Any:
    """Scores over time with their limits; below, the contributions of the columns for the worst rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Higher is worse.
    limits : dict
        The score that a share of normal rows exceeds, for several shares.
    worst : ndarray of int
        Rows to explain.
    bars : sequence of tables
        For each of them ``column`` and ``share``, as ``explain(x, by="column")`` gives them.
    times : ndarray of shape (n_rows,), optional
        Times of the rows.
    spans : sequence of pairs of int
        First and last row of each alarm episode.

    Returns
    -------
    matplotlib Figure
    """
    figure = _figure((10.0, 6.2 if bars else 3.6))
    grid = figure.add_gridspec(2 if bars else 1, max(len(bars), 1), height_ratios=[3, 2] if bars else None)
    plot_control_chart(scores, limits, rows=times, mark=worst, spans=spans, ax=figure.add_subplot(grid[0, :]))
    for k, (i, table) in enumerate(zip(worst, bars, strict=True)):
        axes = plot_contributions(table, n_terms=5, ax=figure.add_subplot(grid[1, k]))
        axes.set_title(f"row {i}" if times is None else moment(times[i]), loc="left", fontsize=10.5)
        axes.set_xlabel("share of the score that its\nexpected value would remove", fontsize=9)
    return figure


def residuals(polynomials: Polynomials, deviation: Float1D, table: Float2D) -> Any:
    """The values of equations over time, in units of their deviations, with a band of three of them; the worst ten.

    Parameters
    ----------
    polynomials : Polynomials
    deviation : ndarray of shape (n_equations,)
    table : ndarray of shape (n_rows, n_columns)
        Rows with NaN are left out.

    Returns
    -------
    matplotlib Figure
    """
    complete = table[~np.isnan(table).any(axis=1)]
    worst = np.abs(polynomials.evaluate(complete) / deviation).max(axis=0)
    shown = np.sort(np.argsort(-worst, kind="stable")[:IN_TEXT])
    figure = _figure((9.5, 0.8 + 1.7 * len(shown)))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axes, k in zip(panels, shown, strict=True):
        plot_residuals(polynomials[int(k)], table, deviation=float(deviation[k]), ax=axes)
        if axes is not panels[-1]:
            axes.set_xlabel("")
    return figure


def _figure(size: tuple[float, float]) -> Any:
    figure = new_axes(None, size).figure
    figure.clear()
    return figure
