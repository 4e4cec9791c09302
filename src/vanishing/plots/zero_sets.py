"""Where equations hold: curves, surfaces, and planes through the space of more columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Float1D, Float2D
from .style import (
    ALARM,
    BAND,
    CYCLE,
    GRID,
    INK,
    LINE,
    MOST_NODES,
    POINT,
    add_legend,
    columns_of,
    escape,
    finish,
    new_axes,
    shorten,
    table_of,
    thin,
    used_columns,
    values_of,
)

_ONE_SCALE = 2.0  # ratio of the ranges of two columns, up to which they share a scale
_SOME_POINTS = 200  # rows, up to which points are drawn larger


def plot_zero_set(equations: Any, X: Any = None, *, ax: Any = None, resolution: int | None = None) -> Any:
    """Draw the curves (two columns) or surfaces (three) on which equations hold, over the rows of ``X``.

    Parameters
    ----------
    equations : Polynomials, Polynomial or Law
        In two or three columns; :func:`plot_projection` draws those in more.
    X : array-like of shape (n_samples, n_columns), optional
        Rows to show; they also set the range of the axes, which is [0, 1] otherwise.
    ax : matplotlib Axes, optional
        With ``projection="3d"`` for three columns. That of a new figure by default.
    resolution : int, optional
        Grid points along each axis; 253 for curves and 40 for surfaces by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> from vanishing.plots import plot_zero_set
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> saddle = np.column_stack([x, x[:, 0] ** 2 - x[:, 1] ** 2])
    >>> plot_zero_set(discover(saddle, names=["x", "y", "z"])[0], saddle).get_zlabel()
    'z'
    """
    names, used = columns_of(equations), used_columns(equations)
    if len(names) == 2:
        used = [0, 1]
    if len(used) not in (2, 3):
        raise ValueError(f"A zero set has 2 or 3 columns, got {len(used)}: plot_projection draws a plane of more.")
    table = np.array([[0.0] * len(names), [1.0] * len(names)]) if X is None else table_of(equations, X)
    rows = table[:0] if X is None else thin(table)
    resolution = resolution or round(MOST_NODES ** (1.0 / len(used)))
    if len(used) == 3:
        return _plot_surfaces(equations, table, rows, used, new_axes(ax, (6.0, 5.2), projection="3d"), resolution)
    return _plot_curves(equations, table, rows, used, new_axes(ax, (5.0, 5.0)), resolution)


def _plot_curves(equations: Any, table: Float2D, rows: Float2D, used: Sequence[int], ax: Any, resolution: int) -> Any:
    names = columns_of(equations)
    axes = [_axis(table[:, j], resolution) for j in used]
    values = values_of(equations, _plane(np.median(table, axis=0), used, axes))
    i, j = used
    size = 4 if len(rows) > _SOME_POINTS else 7
    ax.plot(rows[:, i], rows[:, j], ".", color=POINT, markersize=size, alpha=0.8, zorder=3, rasterized=True)
    for k, column in enumerate(values.T):
        surface = column.reshape(resolution, resolution)
        ax.contour(*axes, surface, levels=[0.0], colors=[CYCLE[k % len(CYCLE)]], linewidths=2.0, zorder=2)
    spans = [axis[-1] - axis[0] for axis in axes]
    if max(spans) <= _ONE_SCALE * min(spans):
        ax.set_aspect("equal")
    finish(ax, title=_title(equations), x=names[i], y=names[j])
    _name_equations(equations, ax)
    return ax


def _plot_surfaces(equations: Any, table: Float2D, rows: Float2D, used: Sequence[int], ax: Any, resolution: int) -> Any:
    names = columns_of(equations)
    axes = [_axis(table[:, j], resolution, margin=0.02) for j in used]
    grid = np.tile(np.median(table, axis=0), (resolution**3, 1))
    grid[:, used] = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    shape = (resolution,) * 3
    for k, column in enumerate(values_of(equations, grid).T):
        colour = CYCLE[k % len(CYCLE)]
        corners, triangles = _marching_cubes(column.reshape(shape), axes)
        if len(triangles):
            ax.plot_trisurf(
                *corners.T, triangles=triangles, color=colour, alpha=0.45, linewidth=0, shade=True, rasterized=True
            )
    shown = rows
    ax.scatter(*(shown[:, j] for j in used), color=INK, s=3, linewidths=0, depthshade=False, rasterized=True)
    finish(ax, title=_title(equations), x=names[used[0]], y=names[used[1]])
    ax.set_zlabel(escape(names[used[2]]), color=INK)
    ax.set_box_aspect(None, zoom=0.9)
    _name_equations(equations, ax)
    return ax


def has_surfaces() -> bool:
    """Whether scikit-image is installed, which draws surfaces."""
    try:
        import skimage.measure  # noqa: F401
    except ImportError:
        return False
    return True


def _marching_cubes(values: Any, axes: Sequence[Float1D]) -> tuple[Float2D, Any]:
    """Corners and triangles of the surface where values on a grid are zero; none if all have one sign."""
    try:
        from skimage.measure import marching_cubes
    except ImportError as error:
        raise ImportError("Surfaces need scikit-image: pip install 'vanishing[surfaces]'.") from error
    if not values.min() < 0.0 < values.max():
        return np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    corners, triangles, *_ = marching_cubes(values, 0.0, spacing=tuple(axis[1] - axis[0] for axis in axes))
    return corners + np.array([axis[0] for axis in axes]), triangles


def plot_projection(
    equation: Any,
    X: Any,
    *,
    row: Any = None,
    columns: Any = None,
    deviation: float | None = None,
    ax: Any = None,
    resolution: int = 250,
) -> Any:
    """Draw an equation in any number of columns in the plane of two of them.

    The curve is where the equation holds while the other columns have fixed values; the band is where its value is
    within three deviations. As rows have other values in the other columns, each keeps its first coordinate and moves
    along the second to where the equation has the same value as for the row: its distance from the curve is then its
    distance from the law.

    Parameters
    ----------
    equation : Polynomial or Law
    X : array-like of shape (n_samples, n_columns)
        Rows to show.
    row : array-like of shape (n_columns,), optional
        A row to mark, which sets the values of the other columns; the medians of ``X`` by default.
    columns : pair of int or of str, optional
        The plane; by default the two columns that move the value most, upwards the one of lower degree.
    deviation : float, optional
        Of the equation's values; the root mean square over the rows by default.
    ax : matplotlib Axes, optional
        That of a new figure by default.
    resolution : int, default=250
        Grid points along each axis.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> from vanishing.plots import plot_projection
    >>> V, n, T = np.random.default_rng(0).uniform(1, 3, (3, 500))
    >>> gas = np.column_stack([8.314 * n * T / V, V, n, T])
    >>> ax = plot_projection(discover(gas, names=["p", "V", "n", "T"])[0], gas, columns=("V", "p"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('V', 'p')
    """
    table, names = table_of(equation, X), columns_of(equation)
    i, j = _main_columns(equation, table) if columns is None else (_number(column, names) for column in columns)
    at = np.median(table, axis=0) if row is None else np.asarray(row, dtype=np.float64)
    ax = new_axes(ax, (5.5, 4.8))
    ends = table if row is None else np.vstack([table, at])
    axes = [_axis(ends[:, k], resolution, margin=0.06) for k in (i, j)]
    shown = thin(table)
    if deviation is None:
        deviation = float(np.sqrt(np.mean(values_of(equation, table) ** 2)))
    unit = deviation if deviation > 0.0 else 1.0
    values = values_of(equation, _plane(at, (i, j), axes)).reshape(resolution, resolution) / unit
    if deviation > 0.0:
        ax.contourf(*axes, values, levels=[-BAND, BAND], colors=[GRID], alpha=0.6)
    ax.contour(*axes, values, levels=[0.0], colors=[LINE], linewidths=2.0)
    moved = _on_the_plane(values, (axes[0], axes[1]), shown[:, i], values_of(equation, shown)[:, 0] / unit)
    ax.plot(shown[:, i], moved, ".", color=POINT, markersize=3, label="rows, moved to this plane", rasterized=True)
    if row is not None:
        ax.plot(at[i], at[j], "o", color=ALARM, markersize=8, label="this row")
    heights = moved[np.isfinite(moved)] if row is None else np.append(moved[np.isfinite(moved)], at[j])
    if heights.size:
        ax.set_ylim(*_axis(heights, 2, margin=0.15))
    finish(ax, title=_title(equation), x=names[i], y=names[j])
    add_legend(ax, markerscale=2.5 if row is None else 1.0, ncols=2)
    return ax


def _main_columns(equation: Any, table: Float2D) -> tuple[int, int]:
    """The two columns whose spread moves the equation's value most; the second is the one of lower degree."""
    rows, used = thin(table, 500), used_columns(equation)
    if len(used) < 2:
        raise ValueError("A plane needs an equation in at least two columns: choose columns=(i, j).")
    effect = {}
    for k in used:
        up, down = rows.copy(), rows.copy()
        step = 0.5 * rows[:, k].std()
        up[:, k] += step
        down[:, k] -= step
        effect[k] = float(np.mean((values_of(equation, up) - values_of(equation, down)) ** 2))
    first, second = sorted(used, key=lambda k: -effect[k])[:2]
    degree = equation.exponents.max(axis=0)
    return (first, second) if degree[second] < degree[first] else (second, first)


def _number(column: Any, names: Sequence[str]) -> int:
    if not isinstance(column, str):
        return int(column)
    if column not in names:
        raise ValueError(f"There is no column {column!r}: choose two of {', '.join(names)}.")
    return names.index(column)


def _on_the_plane(values: Float2D, axes: tuple[Float1D, Float1D], at: Float1D, wanted: Float1D) -> Float1D:
    """The second coordinates at which ``values`` on the grid equal the ``wanted`` ones; NaN where they never do."""
    (x, y), heights = axes, np.full(len(at), np.nan)
    for k, (column, value) in enumerate(zip(np.searchsorted(x, at).clip(0, x.size - 1), wanted, strict=True)):
        above = values[:, column] - value
        crossings = np.flatnonzero(above[:-1] * above[1:] <= 0.0)
        if crossings.size:
            c = crossings[0]
            step = above[c + 1] - above[c]
            heights[k] = y[c] - (above[c] / step if step else 0.0) * (y[c + 1] - y[c])
    return heights


def _plane(at: Float1D, columns: Sequence[int], axes: Sequence[Float1D]) -> Float2D:
    """Grid points over two columns, the others fixed."""
    points = np.tile(at, (axes[0].size * axes[1].size, 1))
    points[:, list(columns)] = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    return points


def _axis(values: Float1D, resolution: int, margin: float = 0.08) -> Float1D:
    low, high = values.min(), values.max()
    room = margin * (high - low) if high > low else 0.5
    return np.linspace(low - room, high + room, resolution)


def _texts(equations: Any) -> list[str]:
    if hasattr(equations, "equation"):
        return [equations.equation]
    listed = [equations] if hasattr(equations, "to_text") else list(equations)
    return [f"{polynomial.to_text(3)} = 0" for polynomial in listed]


def _title(equations: Any) -> str:
    texts = _texts(equations)
    return shorten(texts[0], 60) if len(texts) == 1 else ""


def _name_equations(equations: Any, ax: Any) -> None:
    from matplotlib.lines import Line2D

    texts = _texts(equations)
    if 1 < len(texts) <= len(CYCLE):
        place = {"loc": "upper left"} if ax.name == "3d" else {}
        lines = [Line2D([], [], color=CYCLE[k], linewidth=2.0) for k in range(len(texts))]
        add_legend(ax, handles=lines, labels=[escape(shorten(text, 55)) for text in texts], fontsize=8.5, **place)
