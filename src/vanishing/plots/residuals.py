"""How far rows are from equations: residuals, distances, and a column as a law predicts it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Float1D, Float2D
from .style import (
    ALARM,
    BAND,
    GRID,
    LINE,
    MUTED,
    POINT,
    columns_of,
    finish,
    new_axes,
    shorten,
    table_of,
    tame,
    thin,
    values_of,
)


def plot_residuals(
    equation: Any, X: Any, *, against: str | None = None, deviation: float | None = None, ax: Any = None
) -> Any:
    """Draw the values of an equation on the rows, in units of its deviation, with a band of three deviations.

    Parameters
    ----------
    equation : Polynomial or Law
    X : array-like of shape (n_samples, n_columns)
        Rows with NaN are left out.
    against : str, optional
        A column; the number of the row by default.
    deviation : float, optional
        The root mean square over the rows by default.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> from vanishing.plots import plot_residuals
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> X = np.column_stack([x, x[:, 0] * x[:, 1]]) + 0.01 * np.random.default_rng(1).normal(size=(300, 3))
    >>> ax = plot_residuals(discover(X, names=["a", "b", "c"])[0], X, against="a")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('a', 'deviations')
    """
    table = table_of(equation, X)
    complete = ~np.isnan(table).any(axis=1)
    values = values_of(equation, table[complete])[:, 0]
    deviation = float(np.sqrt(np.mean(values**2))) if deviation is None else deviation
    values = values / (deviation if deviation > 0.0 else 1.0)
    names = columns_of(equation)
    if against is not None and against not in names:
        raise ValueError(f"There is no column {against!r}: choose one of {', '.join(names)}.")
    at = (np.arange(len(table)) if against is None else table[:, names.index(against)])[complete]
    ax = new_axes(ax, (7.5, 2.8))
    beyond = np.abs(values) > BAND
    ax.axhspan(-BAND, BAND, color=GRID, alpha=0.45, linewidth=0, zorder=0)
    ax.axhline(0.0, color=MUTED, linewidth=0.8)
    ax.plot(at[~beyond], values[~beyond], ".", color=LINE, markersize=3, alpha=0.6, rasterized=True)
    ax.plot(at[beyond], values[beyond], ".", color=ALARM, markersize=5, rasterized=True)
    tame(ax, values, BAND)
    text = equation.equation if hasattr(equation, "equation") else f"{equation.to_text(3)} = 0"
    return finish(ax, title=shorten(text, 80), x=against or "row", y="deviations", grid=None)


def plot_distances(law: Any, X: Any = None, *, ax: Any = None) -> Any:
    """Draw a histogram of the signed distances of rows from a law, with the density of the noise that was fitted.

    Parameters
    ----------
    law : Law
    X : array-like of shape (n_samples, n_columns), optional
        Without rows the noise alone is drawn.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes(ax)
    level, of_values = max(law.level, 1e-12), "multiplicative" in law.noise_kind
    if X is not None and not law.conserved:
        rows = table_of(law, X)
        distance = _share_of_values(law, rows) if of_values else law.distance(rows)
        signed = 100.0 * np.sign(law.evaluate(rows)) * distance
        reach = max(2.0 * BAND * 100.0 * level, 1e-9) if law.level > 0.0 else max(float(np.abs(signed).max()), 1e-9)
        signed = np.clip(signed, -reach, reach)
        ax.hist(signed, bins=np.linspace(-reach, reach, 62), density=True, color=POINT, label="rows")
    if law.level > 0.0:
        t = np.linspace(-500.0 * level, 500.0 * level, 300)
        density = np.exp(-0.5 * (t / (100.0 * level)) ** 2) / (100.0 * level * np.sqrt(2.0 * np.pi))
        ax.plot(t, density, color=LINE, linewidth=2.0, label="noise of the fit")
    title = f"Distances from the law; normal noise of {level:.2%}" if law.level > 0.0 else "Distances from the law"
    unit = "values" if of_values else "columns' deviations"
    return finish(ax, title=title, x=f"distance, in percent of the {unit}", y="density", grid="y")


def _share_of_values(law: Any, rows: Float2D) -> Float1D:
    """Distances to first order as shares of the values, ``|g| / |x grad g|``: multiplicative noise is one, too."""
    steepness = np.sqrt(((law.gradient(rows) * rows) ** 2).sum(axis=1))
    return np.asarray(np.abs(law.evaluate(rows)) / np.maximum(steepness, 1e-12 * steepness.max(initial=1e-300)))


def plot_prediction(law: Any, X: Any, *, column: str | None = None, ax: Any = None) -> Any:
    """Draw a column as a law gives it from the others, against its values in the table.

    Parameters
    ----------
    law : Law
        An equation; not a conserved quantity, which has another value in each group.
    X : array-like of shape (n_samples, n_columns)
    column : str, optional
        By default one of the lowest degree in the law.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes(ax, (4.8, 4.8))
    rows = thin(table_of(law, X))
    if column is None:
        column = min(law.variables, key=lambda name: law.exponents[:, law.columns.index(name)].max())
    own = rows[:, law.columns.index(column)]
    ends = [own.min(), own.max()]
    ax.plot(own, law.predict(column, rows), ".", color=POINT, markersize=3, alpha=0.7, rasterized=True)
    ax.plot(ends, ends, color=LINE, linewidth=1.5)
    ax.set_aspect("equal")
    return finish(
        ax, title=f"{column}, predicted from the others", x=f"{column} in the table", y=f"{column} by the law"
    )
