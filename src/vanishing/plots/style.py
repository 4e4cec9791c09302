"""The style of all pictures: colours, axes, names of terms, and how many rows they show.

The colours are those of Okabe and Ito, "Color Universal Design" (2008), which people with any common colour vision can
tell apart; maps are cividis and PuOr for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from .._typing import Float2D, Int1D, Int2D

LINE, ALARM = "#0072b2", "#d55e00"  # blue, vermilion
CYCLE = (LINE, ALARM, "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
INK, MUTED, GRID, POINT = "#23272e", "#69707a", "#d8dbe0", "#8b939d"
MAP, DIVERGING = "cividis", "PuOr"
DARK = "#111111"  # text on light cells, whatever is around them

# Sizes.

MOST_POINTS = 5000  # rows in a picture; they are drawn as an image
MOST_NODES = 64_000  # points of the grid of a curve or a surface: 250 x 250, or 40 x 40 x 40
MOST_CELLS = 144  # cells of a table that have room for a number
LABEL, TITLE = 16, 42  # characters beside an axis, and of a title or a term
_CHARACTERS_PER_INCH = 13.5  # titles are set in 10.5 points
BAND = 3.0  # deviations within which normal rows lie
LOGARITHMIC = 20.0  # times the usual size, beyond which a scale is logarithmic
PANEL = 3.6, 2.8  # inches of one of several pictures

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def new_axes(ax: Any, size: tuple[float, float] = (5.5, 4.2), *, projection: str | None = None) -> Any:
    """The given axis, or that of a new figure; raises ImportError where Matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need Matplotlib: pip install 'vanishing[plots]'.") from error
    if ax is not None:
        return ax
    return plt.figure(figsize=size, layout="constrained").add_subplot(projection=projection)


def finish(ax: Any, *, title: str = "", x: str = "", y: str = "", grid: str | None = "both") -> Any:
    """Add labels and a light grid behind the data, and remove the box; names are text, never formulas."""
    room = int(_CHARACTERS_PER_INCH * ax.get_position().width * ax.figure.get_figwidth())
    lines = wrap(title, max(room, TITLE), break_long_words=False)
    ax.set_title(escape("\n".join(lines)), loc="left", fontsize=10.5, color=INK)
    ax.set_xlabel(escape(x), color=INK)
    ax.set_ylabel(escape(y), color=INK)
    ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=9)
    if ax.name != "3d":
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            ax.spines[side].set_color(MUTED)
        ax.set_axisbelow(True)
        ax.grid(visible=False)
        if grid:
            ax.grid(axis=grid, color=GRID, linewidth=0.7)
    return ax


def tame(ax: Any, values: Any, usual: float, axis: str = "y") -> None:
    """Make the scale logarithmic beyond the usual size, where some values are far beyond it."""
    if np.abs(values).max(initial=0.0) > LOGARITHMIC * usual > 0.0:
        getattr(ax, f"set_{axis}scale")("symlog", linthresh=usual)


def add_legend(ax: Any, **options: Any) -> None:
    """Add a legend without a frame, below the axis unless ``loc`` says where: Matplotlib's "best" takes seconds."""
    below = {} if "loc" in options else {"loc": "upper left", "bbox_to_anchor": (0.0, -0.14), "borderaxespad": 0.0}
    ax.legend(**{"frameon": False, "fontsize": 9, "labelcolor": INK, **below, **options})


def escape(text: str) -> str:
    r"""Text in which a dollar sign stays a dollar sign.

    Examples
    --------
    >>> print(escape("US$"))
    US\$
    """
    return text.replace("$", r"\$")


def shorten(text: str, length: int = 70) -> str:
    """The beginning of a long text.

    Examples
    --------
    >>> shorten("x0^2 + x1^2 - 1", 9)
    'x0^2 ...'
    """
    return text if len(text) <= length else f"{text[: length - 4].rstrip()} ..."


def distinct_labels(texts: Sequence[str], length: int) -> list[str]:
    """Beginnings of texts; texts that begin alike keep their end, too, and get a number if that is not enough.

    Examples
    --------
    >>> distinct_labels(["x0 + x1 + x2 + x3", "x0 + x1 + x2 + x4", "x5", "x5"], 16)
    ['x0 + ... + x3', 'x0 + ... + x4', 'x5', 'x5 (2)']
    """
    labels = [shorten(text, length) for text in texts]
    half = (length - 5) // 2
    for k in [k for k, label in enumerate(labels) if labels.count(label) > 1]:
        if len(texts[k]) > length:
            labels[k] = f"{texts[k][:half].rstrip()} ... {texts[k][-half:].lstrip()}"
    before = [labels[:k].count(label) for k, label in enumerate(labels)]
    return [f"{label} ({n + 1})" if n else label for label, n in zip(labels, before, strict=True)]


def raised(exponent: str) -> str:
    """An integer in raised digits.

    Examples
    --------
    >>> raised("-12")
    '⁻¹²'
    """
    return exponent.translate(_RAISED)


def monomial_label(exponents: Sequence[int] | Int1D, names: Sequence[str]) -> str:
    """A product of powers for people; 1 for the constant.

    Examples
    --------
    >>> monomial_label([2, 1], ["x", "y"])
    'x² y'
    """
    powers = [(name, int(e)) for name, e in zip(names, exponents, strict=True) if e]
    return " ".join(name if e == 1 else f"{name}{raised(str(e))}" for name, e in powers) or "1"


def columns_of(equations: Any) -> tuple[str, ...]:
    """Names of the columns of polynomials, or of a law."""
    names: tuple[str, ...] = equations.columns if hasattr(equations, "columns") else equations.feature_names
    return names


def used_columns(equations: Any) -> list[int]:
    """The columns that occur in polynomials, or in a law."""
    exponents: Int2D = equations.exponents
    used = np.atleast_2d(equations.coef != 0.0).any(axis=0)
    return [int(j) for j in np.flatnonzero(exponents[used].any(axis=0))]


def values_of(equations: Any, X: Float2D) -> Float2D:
    """Values of polynomials, or of a law, on rows; one column for each."""
    values = np.asarray(equations.evaluate(X))
    return values[:, None] if values.ndim == 1 else values


def table_of(equations: Any, X: Any) -> Float2D:
    """The rows as an array with the columns of the equations."""
    names = columns_of(equations)
    if hasattr(X, "columns") and all(name in X.columns for name in names):
        X = X[list(names)]
    table = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ValueError(f"X must have the {len(names)} columns {', '.join(names)}; got shape {table.shape}.")
    return table


def thin(rows: Any, most: int = MOST_POINTS) -> Any:
    """At most ``most`` of the rows, evenly spaced.

    Examples
    --------
    >>> thin(np.arange(10.0)[:, None], 3)[:, 0]
    array([0., 4., 8.])
    """
    return rows[:: max(-(-len(rows) // most), 1)]
