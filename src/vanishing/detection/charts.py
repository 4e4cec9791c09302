"""Pictures for people who watch a process. They need ``pip install 'vanishing[plots]'``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..polynomials.polynomial import Polynomial

__all__ = ["control_chart", "relation", "residuals"]

_NORMAL, _ALARM, _LIMIT = "#4c72b0", "#c44e52", "0.35"
_MOST_PANELS = 8
_MOST_POINTS = 1000


def _figure(**options: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Charts need Matplotlib: pip install 'vanishing[plots]'.") from error
    return plt.figure(layout="constrained", **options)


def control_chart(
    scores: Float1D, limits: Mapping[float, float], worst: Int1D, bars: Sequence[Mapping[str, Any]]
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
        For each of them ``column`` and ``contribution``, as ``explain(x, by="column")`` gives them.

    Returns
    -------
    matplotlib Figure
    """
    figure = _figure(figsize=(9, 6 if bars else 3.5))
    grid = figure.add_gridspec(2 if bars else 1, max(len(bars), 1), height_ratios=[3, 2] if bars else None)
    chart = figure.add_subplot(grid[0, :])
    rows = np.arange(len(scores))
    alarm = scores > min(limits.values(), default=np.inf)
    chart.plot(rows[~alarm], scores[~alarm], ".", color=_NORMAL, markersize=3, label="normal")
    chart.plot(rows[alarm], scores[alarm], ".", color=_ALARM, markersize=4, label="alarm")
    for rate, limit in limits.items():
        chart.axhline(limit, color=_LIMIT, linewidth=0.9, linestyle="--" if rate == max(limits) else ":")
        chart.annotate(
            f"{rate:.3g}", (1.0, limit), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
            va="center", fontsize=8, color=_LIMIT,
        )  # fmt: skip
    if len(scores) and scores.max() > 20.0 * max(*limits.values(), 1.0):
        chart.set_yscale("symlog", linthresh=max(*limits.values(), 1.0))
    for i in worst:
        chart.annotate(str(i), (i, scores[i]), xytext=(0, 5), textcoords="offset points", ha="center", fontsize=8)
    chart.margins(y=0.12)
    chart.set(xlabel="row", ylabel="score", title="Scores; lines: the share of normal rows above them")
    chart.legend(loc="upper left", fontsize=8, frameon=False)
    for k, (i, table) in enumerate(zip(worst, bars, strict=True)):
        axes = figure.add_subplot(grid[1, k])
        columns, values = list(table["column"])[:6], np.asarray(list(table["share"])[:6])
        axes.barh(np.arange(len(columns)), values, color=_ALARM)
        axes.set_yticks(np.arange(len(columns)), columns, fontsize=8)
        axes.invert_yaxis()
        axes.set(xlabel="share of the score that its\nexpected value would remove", title=f"row {i}", xlim=(0.0, 1.0))
        axes.xaxis.label.set_size(8)
    return figure


def residuals(values: Float2D, equations: Sequence[str]) -> Any:
    """The values of equations over time, in units of their deviations, with limits at three of them.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_equations)
    equations : sequence of str

    Returns
    -------
    matplotlib Figure
    """
    shown = np.sort(np.argsort(-np.abs(values).max(axis=0), kind="stable")[:_MOST_PANELS])
    figure = _figure(figsize=(9, 0.8 + 1.6 * len(shown)))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axes, k in zip(panels, shown, strict=True):
        beyond = np.abs(values[:, k]) > 3.0
        rows = np.arange(len(values))
        axes.axhspan(-3.0, 3.0, color="0.93", zorder=0)
        axes.axhline(0.0, color=_LIMIT, linewidth=0.7)
        axes.plot(rows[~beyond], values[~beyond, k], ".", color=_NORMAL, markersize=2)
        axes.plot(rows[beyond], values[beyond, k], ".", color=_ALARM, markersize=3)
        if np.abs(values[:, k]).max() > 60.0:
            axes.set_yscale("symlog", linthresh=6.0)
        axes.set_title(_shortened(f"{equations[k]} = 0"), fontsize=9, loc="left")
        axes.set_ylabel("deviations", fontsize=8)
    panels[-1].set_xlabel("row")
    return figure


def relation(
    equation: Polynomial, deviation: float, row: Float1D, table: Float2D, columns: tuple[int, int], names: Sequence[str]
) -> Any:
    """A row in the plane of two columns, with the curve on which the equation holds, the others being as in the row.

    Other rows have other values in the remaining columns. Each is shown at its first coordinate, where the equation
    has the value that it has for that row: their distance from the curve is what normal rows have.

    Returns
    -------
    matplotlib Axes
    """
    axes = _figure(figsize=(5.5, 5)).add_subplot()
    i, j = columns
    low, high = (np.array([f(table[:, k]) for k in columns]) for f in (np.min, np.max))
    low, high = np.minimum(low, row[[i, j]]), np.maximum(high, row[[i, j]])
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(a, b, 250) for a, b in zip(low - margin, high + margin, strict=True))
    points = np.repeat(row[None, :], x.size * y.size, axis=0)
    points[:, i], points[:, j] = (grid.ravel() for grid in np.meshgrid(x, y))
    values = equation.evaluate(points).reshape(y.size, x.size) / deviation
    axes.contourf(x, y, values, levels=[-3.0, 3.0], colors=["0.88"])
    axes.contour(x, y, values, levels=[0.0], colors=[_NORMAL], linewidths=1.5)
    shown = table[:: max(len(table) // _MOST_POINTS, 1)]
    moved = _on_the_plane(values, x, y, shown[:, i], equation.evaluate(shown) / deviation)
    axes.plot(shown[:, i], moved, ".", color="0.45", markersize=2, zorder=2, label="normal rows, moved to this plane")
    axes.plot(row[i], row[j], "o", color=_ALARM, markersize=7, label="this row")
    axes.set(xlabel=names[i], ylabel=names[j])
    axes.set_title(
        _shortened(f"{equation.to_text(3)} = 0") + "\ncurve and band of 3 deviations for the other columns of this row",
        fontsize=9,
    )
    axes.legend(loc="best", fontsize=8)
    return axes


def _on_the_plane(values: Float2D, x: Float1D, y: Float1D, at: Float1D, wanted: Float1D) -> Float1D:
    """For each first coordinate the second one at which ``values`` on the grid are as wanted; NaN if there is none."""
    found = np.full(len(at), np.nan)
    for k, (column, value) in enumerate(zip(np.searchsorted(x, at).clip(0, x.size - 1), wanted, strict=True)):
        above = values[:, column] - value
        crossings = np.flatnonzero(above[:-1] * above[1:] <= 0.0)
        if crossings.size:
            c = crossings[0]
            step = above[c + 1] - above[c]
            found[k] = y[c] - (above[c] / step if step else 0.0) * (y[c + 1] - y[c])
    return found


def _shortened(text: str, length: int = 95) -> str:
    return text if len(text) <= length else f"{text[: length - 6]} ... = 0"
