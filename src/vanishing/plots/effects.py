"""The effects of columns on a decision: curves over the range of the data, and maps of two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..constants import IN_REPR, IN_TEXT
from .style import (
    BAND,
    CYCLE,
    DIVERGING,
    INK,
    LABEL,
    MUTED,
    PANEL,
    POINT,
    TITLE,
    add_legend,
    escape,
    finish,
    new_axes,
    shorten,
)

_HISTOGRAM_SHARE = 0.22  # share of a panel's height for the histogram below its curves, and for a legend above them


def plot_effects(effects: Any, *, n_shown: int = 6, ax: Any = None) -> Any:
    """Draw how columns move a decision: curves with the distribution of the data below, maps for two columns.

    Parameters
    ----------
    effects : Effects, Effect or Interaction
        ``clf.effects(X)``, or one of it: ``effects["age"]`` or ``effects.pairs[0]``.
    n_shown : int, default=6
        Panels for the effects and maps that move the decision most; the maps come last.
    ax : matplotlib Axes, optional
        For one effect; that of a new figure by default.

    Returns
    -------
    matplotlib Axes
        A list of them for all effects.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, VanishingIdealClassifier
    >>> from vanishing.plots import plot_effects
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    >>> clf = VanishingIdealClassifier(OAVI(0.01), monomials=2).fit(X, X[:, 0] + X[:, 1] * X[:, 2] > 0)
    >>> axes = plot_effects(clf.effects(X, pairs=1), n_shown=2)
    >>> [ax.get_title(loc="left") for ax in axes]
    ['x0', 'x1 & x2']
    """
    if not hasattr(effects, "pairs"):
        return _panel(effects, new_axes(ax, (5.0, 3.6)))
    if ax is not None:
        raise ValueError("ax is for one effect: leave it out, or give effects[0] or effects.pairs[0].")
    both = sorted([*effects, *effects.pairs], key=lambda one: -one.importance)[:n_shown]
    shown = sorted((one for one in both if one.importance > 0.0), key=lambda one: hasattr(one, "grids"))
    across = min(max(len(shown), 1), 3)
    down = max(-(-len(shown) // across), 1)
    figure = new_axes(None, (PANEL[0] * across, PANEL[1] * down)).figure
    figure.clear()
    return [_panel(one, figure.add_subplot(down, across, k + 1)) for k, one in enumerate(shown)]


def _panel(effect: Any, ax: Any) -> Any:
    return _map(effect, ax) if hasattr(effect, "grids") else _curve(effect, ax)


def _curve(effect: Any, ax: Any) -> Any:
    """The curve of a column, one for each class if there are several, above the distribution of its values."""
    few = len(effect.grid) <= IN_TEXT
    lines = effect.values[:, None] if effect.values.ndim == 1 else effect.values
    largest = np.sort(np.argsort(-np.ptp(lines, axis=0), kind="stable")[: len(CYCLE)])
    for colour, k in zip(CYCLE, largest, strict=False):
        label = escape(shorten(str(effect.labels[k]), LABEL))
        ax.plot(effect.grid, lines[:, k], "o-" if few else "-", color=colour, linewidth=1.8, markersize=5, label=label)
    ax.axhline(0.0, color=MUTED, linewidth=0.8, linestyle=":")
    low, high = ax.get_ylim()
    ax.set_ylim(
        low - _HISTOGRAM_SHARE * (high - low), high + (_HISTOGRAM_SHARE if len(largest) > 1 else 0.0) * (high - low)
    )
    _distribution(effect, ax, few)
    if few:
        ax.set_xticks(effect.grid)
    if len(largest) > 1:
        add_legend(ax, loc="upper left", ncols=2)
    towards = f"towards {shorten(str(effect.labels[0]), LABEL)}" if len(effect.labels) == 1 else "on each class"
    return finish(ax, title=shorten(effect.name, TITLE), y=f"effect {towards}", grid="y")


def _distribution(effect: Any, ax: Any, few: bool) -> None:
    """The histogram of a column at the foot of its panel."""
    height = 0.8 * _HISTOGRAM_SHARE * effect.counts / max(effect.counts.max(), 1)
    at, width = effect.edges, 0.35 * np.diff(effect.edges).min(initial=np.inf)
    if len(effect.edges) > len(effect.counts):
        at, width = 0.5 * (effect.edges[1:] + effect.edges[:-1]), np.diff(effect.edges)
    elif not few or not np.isfinite(width):
        width = np.ptp(effect.edges) / 40.0 or 0.5
    ax.bar(at, height, width, color=POINT, alpha=0.5, linewidth=0, transform=ax.get_xaxis_transform(), zorder=0)


def _map(pair: Any, ax: Any) -> Any:
    """The interaction of two columns; of several classes, for the one that it moves most."""
    values, towards = pair.values, pair.labels[0]
    if values.ndim == 3:
        k = int(np.argmax(values.std(axis=(0, 1))))
        values, towards = values[:, :, k], pair.labels[k]
    reach = min(float(np.abs(values).max()), BAND * pair.importance) or 1.0  # corners without rows can be far out
    clipped = "both" if np.abs(values).max() > reach else "neither"
    colours = {"cmap": DIVERGING, "vmin": -reach, "vmax": reach, "rasterized": True}
    shading = "gouraud" if min(values.shape) > 2 else "nearest"
    mesh = ax.pcolormesh(*pair.grids, values.T, shading=shading, **colours)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02, extend=clipped)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=8)
    bar.set_label(escape(f"beyond both, towards {shorten(str(towards), LABEL)}"), color=INK, fontsize=8.5)
    for axis, grid in zip((ax.xaxis, ax.yaxis), pair.grids, strict=True):
        if len(grid) <= IN_REPR:
            axis.set_ticks(grid)
    x, y = (shorten(name, 24) for name in pair.names)
    return finish(ax, title=shorten(pair.name, TITLE), x=x, y=y, grid=None)
