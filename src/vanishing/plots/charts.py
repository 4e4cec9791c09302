"""Scores of a detector over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._typing import Float1D, Int1D
from ..display import moment
from .style import ALARM, INK, LINE, MUTED, add_legend, finish, new_axes, tame, thin

_MARK_SPACING = 0.03  # share of an axis that separates two numbers of rows


def plot_control_chart(
    scores: Any,
    limits: Mapping[float, float],
    *,
    rows: Any = None,
    mark: Sequence[int] | Int1D = (),
    spans: Sequence[tuple[int, int]] = (),
    ax: Any = None,
) -> Any:
    """Draw scores over time, with the limits that shares of normal rows exceed.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Higher is worse, as ``-detector.score_samples(X)``.
    limits : mapping from float to float
        The limit for each share of false alarms, as ``{detector.contamination: -detector.offset_}``; the lowest one
        separates alarms.
    rows : array-like of shape (n_rows,), optional
        Numbers of the rows, or times; 0, 1, 2, ... by default.
    mark : sequence of int, optional
        Places in ``scores`` to be marked with the number or the time of their row.
    spans : sequence of pairs of int, optional
        First and last place of each alarm episode, which is shaded.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from vanishing.plots import plot_control_chart
    >>> ax = plot_control_chart([0.1, 0.4, 9.0, 0.2], {0.01: 3.0}, mark=[2])
    >>> [line.get_ydata().tolist() for line in ax.lines[:2]]
    [[0.1, 0.4, 0.2], [9.0]]
    """
    values = np.asarray(scores, dtype=np.float64)
    at = np.arange(len(values)) if rows is None else np.asarray(rows)
    ax = new_axes(ax, (9.0, 3.4))
    _shade(ax, at, spans)
    alarm = values > min(limits.values(), default=np.inf)
    quiet = thin(np.flatnonzero(~alarm))
    ax.plot(at[quiet], values[quiet], ".", color=LINE, markersize=3, alpha=0.6, label="normal", rasterized=True)
    ax.plot(at[alarm], values[alarm], "D", color=ALARM, markersize=4, label="alarm", rasterized=True)
    _draw_limits(ax, limits)
    tame(ax, values, max(*limits.values(), 1.0) if limits else np.inf)
    _mark_rows(ax, at, values, np.asarray(mark, dtype=np.int64))
    ax.margins(x=0.02, y=0.12)
    shaded = "; shaded: alarm episodes" if spans else ""
    title = f"Scores; dashed: limits that these shares of normal rows exceed{shaded}"
    finish(ax, title=title, x="row" if rows is None else "", y="score", grid=None)
    add_legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0, ncols=2)
    return ax


def _shade(ax: Any, at: Any, spans: Sequence[tuple[int, int]]) -> None:
    for first, last in spans:
        ax.axvspan(at[first], at[last], color=ALARM, alpha=0.18, linewidth=0, zorder=0)


def _draw_limits(ax: Any, limits: Mapping[float, float]) -> None:
    for rate, limit in limits.items():
        ax.axhline(limit, color=MUTED, linewidth=1.1, linestyle="--" if rate == max(limits) else ":")
        ax.annotate(
            f"{100.0 * rate:.3g}%", (1.0, limit), xycoords=("axes fraction", "data"), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8.5, color=INK,
        )  # fmt: skip


def _mark_rows(ax: Any, at: Any, values: Float1D, mark: Int1D) -> None:
    taken: list[Any] = []  # if two marks would overlap, the first one stays
    place = at.astype(np.float64) if at.dtype.kind in "iufM" else np.arange(len(at))
    room = _MARK_SPACING * float(np.ptp(place)) if at.size else 0.0
    for k in mark:
        text = moment(at[k])
        if any(abs(place[k] - other) < room * max(len(text) / 4.0, 1.0) for other in taken):
            continue
        taken.append(place[k])
        ax.annotate(
            text, (at[k], values[k]), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8.5,
            color=INK,
        )  # fmt: skip


def plot_episodes(
    evidence: Any, limit: float, spans: Sequence[tuple[int, int]], *, times: Any = None, ax: Any = None
) -> Any:
    """Draw evidence over time, with its limit and the episodes above it.

    Parameters
    ----------
    evidence : array-like of shape (n_rows,)
    limit : float
    spans : sequence of pairs of int
        First and last row of each episode.
    times : array-like of shape (n_rows,), optional
        Times of the rows; 0, 1, 2, ... by default.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from vanishing.plots import plot_episodes
    >>> ax = plot_episodes([0.1, 0.4, 3.0, 2.5, 0.3], 2.0, [(2, 3)])
    >>> len(ax.patches)
    1
    """
    values = np.asarray(evidence, dtype=np.float64)
    at = np.arange(len(values)) if times is None else np.asarray(times)
    ax = new_axes(ax, (9.0, 3.4))
    _shade(ax, at, spans)
    starts = thin(np.arange(len(values)))  # the largest of every few rows: no peak is lost
    ax.plot(at[starts], np.maximum.reduceat(values, starts), color=LINE, linewidth=1.0, rasterized=True)
    ax.axhline(limit, color=MUTED, linewidth=1.1, linestyle="--")
    tame(ax, values, max(limit, 1.0))
    ax.set_ylim(bottom=min(0.0, float(values.min(initial=0.0))))
    return finish(ax, title="Evidence; dashed: limit; shaded: alarm episodes", x="row" if times is None else "",
                  y="evidence", grid=None)  # fmt: skip
