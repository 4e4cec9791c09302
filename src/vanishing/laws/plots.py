"""Pictures of laws: where they hold, what they leave, why this degree, how well the constants are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Float1D, Float2D
from .equation import coordinate_names, monomial
from .gmm import critical_value
from .law import Law

__all__ = ["plot_attempts", "plot_coefficients", "plot_distances", "plot_laws", "plot_zero_set"]

_POINT, _LINE, _BAD = "0.55", "#1f5fa8", "#b3402a"
_MOST_POINTS = 3000


def plot_laws(laws: Any, X: Any = None, *, law: int = 0) -> Any:
    """Four pictures of one law: zero set over the rows, distances, J by degree, coefficients.

    Parameters
    ----------
    laws : Laws
    X : array-like of shape (n_samples, n_columns), optional
        Rows to show.
    law : int, default=0
        Number of the law; dense ones count after the others.

    Returns
    -------
    matplotlib Figure
    """
    plt = _pyplot()
    every = (*laws, *laws.dense)
    if not every:
        raise ValueError("There is no law to draw: print(laws) says what was tried.")
    chosen = every[law]
    figure = plt.figure(figsize=(10, 8), layout="constrained")
    n_used = len(chosen.variables)
    first = figure.add_subplot(2, 2, 1, projection="3d" if n_used == 3 and X is not None else None)
    if X is not None and (n_used in (2, 3)) and not chosen.conserved:
        plot_zero_set(chosen, X, ax=first)
    else:
        plot_prediction(chosen, X, ax=first)
    plot_distances(chosen, X, ax=figure.add_subplot(2, 2, 2))
    plot_attempts(laws, ax=figure.add_subplot(2, 2, 3))
    plot_coefficients(chosen, ax=figure.add_subplot(2, 2, 4))
    figure.suptitle(_title(chosen), fontsize=11)
    return figure


def plot_zero_set(law: Law, X: Any, *, ax: Any = None, resolution: int = 200) -> Any:
    """The curve (of two columns) or surface (of three) of a law, over the rows.

    Parameters
    ----------
    law : Law
    X : array-like of shape (n_samples, n_columns)
    ax : matplotlib Axes, optional
    resolution : int, default=200
        Grid points along each axis.

    Returns
    -------
    matplotlib Axes
    """
    plt = _pyplot()
    rows = np.asarray(X, dtype=np.float64)
    used = [law.columns.index(name) for name in law.variables]
    if len(used) not in (2, 3):
        raise ValueError(f"A zero set can be drawn for 2 or 3 columns; this law has {len(used)}.")
    shown = rows[:: max(len(rows) // _MOST_POINTS, 1)]
    if ax is None:
        ax = plt.figure(figsize=(5, 5), layout="constrained").add_subplot(projection="3d" if len(used) == 3 else None)
    if len(used) == 2:
        i, j = used
        ax.plot(shown[:, i], shown[:, j], ".", color=_POINT, markersize=2, zorder=0)
        axes = [_axis(rows[:, k], resolution) for k in used]
        grid = np.tile(np.median(rows, axis=0), (resolution**2, 1))
        grid[:, used] = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        values = law.evaluate(grid).reshape(resolution, resolution)
        ax.contour(*axes, values, levels=[0.0], colors=[_LINE], linewidths=1.5)
        ax.set(xlabel=law.columns[i], ylabel=law.columns[j])
    else:
        i, j, k = used
        distance = law.distance(shown)
        ax.scatter(shown[:, i], shown[:, j], shown[:, k], c=distance, cmap="viridis", s=2)
        _surface(law, rows, used, ax)
        ax.set(xlabel=law.columns[i], ylabel=law.columns[j], zlabel=law.columns[k])
    ax.set_title("zero set", fontsize=10)
    return ax


def _surface(law: Law, rows: Float2D, used: list[int], ax: Any) -> None:
    """The sheets of a surface, as the solutions for that column whose degree is lowest."""
    degrees = law.exponents[:, used].max(axis=0)
    order = [used[k] for k in np.argsort(-degrees, kind="stable")]
    i, j, k = order
    x, y = (_axis(rows[:, c], 40, margin=0.0) for c in (i, j))
    grid = np.tile(np.median(rows, axis=0), (1600, 1))
    grid[:, [i, j]] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    low, high = rows[:, k].min(), rows[:, k].max()
    for near in (low, high) if degrees.min() > 1 else (low,):
        grid[:, k] = near
        values = law.predict(law.columns[k], grid)
        values[(values < low) | (values > high)] = np.nan
        corners = {i: grid[:, i], j: grid[:, j], k: values}
        if np.isfinite(values).any():
            ax.plot_wireframe(*(corners[c].reshape(40, 40) for c in used), color=_LINE, alpha=0.35, linewidth=0.5)


def plot_prediction(law: Law, X: Any, *, ax: Any = None) -> Any:
    """A column as the law gives it from the others, against its values; or the terms of a conserved quantity."""
    plt = _pyplot()
    ax = plt.figure(figsize=(5, 5), layout="constrained").add_subplot() if ax is None else ax
    if X is None or law.conserved:
        values = np.empty(0) if X is None else law.evaluate(np.asarray(X, dtype=np.float64))
        ax.plot(values, ".", color=_POINT, markersize=2)
        ax.set(xlabel="row", ylabel="left side minus right side")
        ax.set_title("values of the polynomial", fontsize=10)
        return ax
    rows = np.asarray(X, dtype=np.float64)
    rows = rows[:: max(len(rows) // _MOST_POINTS, 1)]
    column = min(law.variables, key=lambda name: law.exponents[:, law.columns.index(name)].max())
    own = rows[:, law.columns.index(column)]
    ax.plot(own, law.predict(column, rows), ".", color=_POINT, markersize=2)
    ax.plot([own.min(), own.max()], [own.min(), own.max()], color=_LINE, linewidth=1)
    ax.set(xlabel=f"{column} in the table", ylabel=f"{column} by the law")
    ax.set_title("prediction", fontsize=10)
    return ax


def plot_distances(law: Law, X: Any = None, *, ax: Any = None) -> Any:
    """Histogram of the signed distances of the rows from a law, with the noise that was fitted.

    Parameters
    ----------
    law : Law
    X : array-like of shape (n_samples, n_columns), optional
        Without, the fitted noise alone is drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    plt = _pyplot()
    ax = plt.figure(figsize=(5, 4), layout="constrained").add_subplot() if ax is None else ax
    level = max(law.level, 1e-12)
    if X is not None and not law.conserved:
        rows = np.asarray(X, dtype=np.float64)
        signed = np.sign(law.evaluate(rows)) * law.distance(rows)
        ax.hist(np.clip(signed, -6 * level, 6 * level), bins=61, density=True, color=_POINT)
    t = np.linspace(-5 * level, 5 * level, 300)
    ax.plot(t, np.exp(-0.5 * (t / level) ** 2) / (level * np.sqrt(2.0 * np.pi)), color=_LINE)
    ax.set(xlabel="distance, in deviations of the columns", ylabel="density")
    ax.set_title(f"distances, and normal noise of {level:.2%}", fontsize=10)
    return ax


def plot_attempts(laws: Any, *, ax: Any = None) -> Any:
    """J over its critical value by degree: what is above 1 is rejected.

    Parameters
    ----------
    laws : Laws
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    plt = _pyplot()
    ax = plt.figure(figsize=(5, 4), layout="constrained").add_subplot() if ax is None else ax
    tested = [a for a in laws.attempts if a.dof > 0 and np.isfinite(a.J)]
    untested = [a for a in laws.attempts if a.dof <= 0 and np.isfinite(a.noise)]
    for attempt in tested:
        colour = _LINE if attempt.reason == "law" else _BAD
        ax.plot(attempt.degree, max(attempt.J / critical_value(1e-4, attempt.dof), 1e-3), "o", color=colour)
    for attempt in untested:
        text = f"needs noise\nof {attempt.noise:.0%}"
        ax.annotate(text, (attempt.degree, 1.0), ha="center", va="bottom", fontsize=8, color=_BAD)
    ax.axhline(1.0, color=_POINT, linewidth=1)
    ax.set_yscale("log")
    ax.set_ylim(min(ax.get_ylim()[0], 0.1), max(ax.get_ylim()[1], 10.0))
    degrees = sorted({attempt.degree for attempt in laws.attempts}) or [1]
    ax.set(xlabel="degree", ylabel="J / critical J", xticks=degrees, xlim=(degrees[0] - 0.6, degrees[-1] + 0.6))
    ax.set_title("why this degree (blue: law)", fontsize=10)
    return ax


def plot_coefficients(law: Law, *, ax: Any = None) -> Any:
    """The coefficients as the rows give them, with their standard errors; rational ones as rings.

    Parameters
    ----------
    law : Law
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    plt = _pyplot()
    ax = plt.figure(figsize=(5, 4), layout="constrained").add_subplot() if ax is None else ax
    at = np.arange(len(law.coef))
    names = coordinate_names(law.columns, law.origin)
    ax.vlines(at, 0.0, law.free_coef, color=_POINT)
    ax.errorbar(at, law.free_coef, yerr=law.free_stderr, fmt=".", color=_LINE, capsize=3)
    snapped = [k for k, exact in enumerate(law.rational) if exact is not None]
    ax.plot(at[snapped], law.coef[snapped], "o", color=_BAD, fillstyle="none", markersize=9)
    ax.axhline(0.0, color="0.8", linewidth=1)
    ax.set_xticks(at, [monomial(row, names) or "1" for row in law.exponents], rotation=30, ha="right")
    ax.set_ylabel("coefficient")
    ax.set_title("coefficients, standard errors (red: rational)", fontsize=10)
    return ax


def _axis(values: Float1D, resolution: int, margin: float = 0.1) -> Float1D:
    low, high = values.min(), values.max()
    room = margin * (high - low)
    return np.linspace(low - room, high + room, resolution)


def _title(law: Law) -> str:
    text = law.equation
    return text if len(text) < 90 else f"{text[:87]}..."


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures of laws need Matplotlib: pip install 'vanishing[plots]'.") from error
    return plt
