"""How models were found: laws degree by degree, ideals along psi, classifiers over psi and C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtri

from .style import ALARM, DARK, INK, LINE, MAP, MOST_CELLS, MUTED, POINT, add_legend, finish, new_axes

_CHANCE = 1e-4  # p-value of the critical J


def plot_attempts(laws: Any, *, ax: Any = None) -> Any:
    """Draw the test statistic J of the best polynomial of each degree, over its critical value.

    Parameters
    ----------
    laws : Laws
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes(ax)
    tested = [a for a in laws.attempts if a.dof > 0 and np.isfinite(a.J)]
    for attempt in tested:
        law = attempt.reason == "law"
        height = max(attempt.J / float(chdtri(attempt.dof, _CHANCE)), 1e-3)
        ax.plot(attempt.degree, height, "o" if law else "X", color=LINE if law else ALARM, markersize=9)
    attempts = [a for a in laws.attempts if a.degree > 0]  # 0: a search that knows no degree
    for degree in {a.degree for a in attempts} - {a.degree for a in tested}:
        noises = [a.noise for a in attempts if a.degree == degree and "would need noise" in a.reason]
        text = f"would need\n{min(noises):.0%} noise" if noises else "not tested"
        ax.annotate(text, (degree, 1.25), ha="center", va="bottom", fontsize=8.5, color=ALARM)
    ax.axhline(1.0, color=MUTED, linewidth=1.2, linestyle="--")
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, 0.1), max(high, 10.0))
    degrees = sorted({attempt.degree for attempt in attempts}) or [1]
    ax.set(xticks=degrees, xlim=(degrees[0] - 0.6, degrees[-1] + 0.6))
    ax.annotate(
        "rejected\nabove", (1.0, 1.0), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
        va="center", fontsize=8.5, color=INK,
    )  # fmt: skip
    title = "Test by degree; circles: laws, crosses: no laws"
    return finish(ax, title=title, x="degree", y="J / critical J", grid="y")


def plot_psi_path(models: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw the mean squares of generators along psi, and their number on a second scale.

    Parameters
    ----------
    models : sequence of fitted OAVI, ABM, AVI or VCA
        For several psi, as :func:`~vanishing.ideal_path` gives them.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes
        With the mean squares.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, ideal_path
    >>> from vanishing.plots import plot_psi_path
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> X[:, 1] = 0.99 * X[:, 0] ** 2 + 0.01 * X[:, 1]
    >>> plot_psi_path(ideal_path(OAVI(), X, [0.1, 0.01, 0.001])).get_xscale()
    'log'
    """
    ax = new_axes(ax, (6.5, 4.2))
    models = sorted(models, key=lambda model: model.psi)
    psis = np.array([float(model.psi) for model in models])
    at = np.concatenate([np.full(len(model.generators_), model.psi) for model in models])
    squares = np.concatenate([model.generators_.mse for model in models])
    floor = max(float(psis[psis > 0.0].min(initial=1.0)) * 1e-4, 1e-16)
    ax.plot(at, np.maximum(squares, floor), "o", color=LINE, markersize=5, alpha=0.55, label="mean squares")
    ax.plot(psis, np.maximum(psis, floor), color=MUTED, linestyle="--", linewidth=1.2, label="the bound psi")
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, title="Generators along psi", x="psi", y="mean square of a generator")
    counts = ax.twinx()
    counts.plot(
        psis, [len(model.generators_) for model in models], color=ALARM, marker="s", markersize=4, linewidth=1.5,
        label="number of generators",
    )  # fmt: skip
    counts.set_ylim(0.0, None)
    counts.yaxis.get_major_locator().set_params(integer=True)
    counts.set_ylabel("number of generators", color=ALARM)
    counts.tick_params(colors=ALARM, labelsize=9)
    for side in ("top", "left", "bottom"):
        counts.spines[side].set_visible(False)
    counts.spines["right"].set_color(ALARM)
    handles = [*ax.get_legend_handles_labels()[0], *counts.get_legend_handles_labels()[0]]
    add_legend(ax, handles=handles, loc="lower right")
    return ax


def plot_tuning(search: Any, *, ax: Any = None) -> Any:
    """Draw the cross-validated scores of a search over psi and C; a ring marks the chosen pair.

    Where a pair was tried with several columns or scalings, its best score is shown.

    Parameters
    ----------
    search : VanishingIdealClassifierCV
        Fitted.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    results = search.cv_results_
    psis, Cs = (np.unique(np.asarray(results[f"param_{name}"], dtype=np.float64)) for name in ("psi", "C"))
    scores = np.full((psis.size, Cs.size), np.nan)
    i, j = np.searchsorted(psis, results["param_psi"]), np.searchsorted(Cs, results["param_C"])
    np.fmax.at(scores, (i, j), results["mean_test_score"])
    ax = new_axes(ax, (max(1.9 + 0.75 * Cs.size, 4.2), max(1.6 + 0.42 * psis.size, 2.4)))
    image = ax.imshow(np.ma.masked_invalid(scores), cmap=MAP, origin="lower", aspect="auto")
    best = search.best_params_
    row, column = int(np.searchsorted(psis, best["psi"])), int(np.searchsorted(Cs, best["C"]))
    ax.plot(column, row, "o", color=ALARM, fillstyle="none", markersize=26, markeredgewidth=2.2)
    if scores.size <= MOST_CELLS:
        middle = 0.5 * (np.nanmin(scores) + np.nanmax(scores))
        for (k, m), score in np.ndenumerate(scores):
            if np.isfinite(score):
                colour = "white" if score <= middle else DARK
                ax.text(m, k, f"{score:.3f}", ha="center", va="center", fontsize=8, color=colour)
    ax.set_xticks(np.arange(Cs.size), [f"{C:.3g}" for C in Cs])
    ax.set_yticks(np.arange(psis.size), [f"{psi:.2g}" for psi in psis])
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=POINT, labelcolor=INK, labelsize=8)
    return finish(ax, title="Cross-validated score; ring: chosen", x="C", y="psi", grid=None)
