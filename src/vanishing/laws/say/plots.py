"""Four pictures of a law on one page."""

from __future__ import annotations

from typing import Any

from ...plots import (
    plot_attempts,
    plot_coefficients,
    plot_distances,
    plot_prediction,
    plot_projection,
    plot_residuals,
    plot_zero_set,
)
from ...plots.style import escape, new_axes, shorten
from ...plots.zero_sets import has_surfaces
from .law import Law

__all__ = ["plot_law", "plot_laws", "projection_of"]


def plot_laws(laws: Any, X: Any = None, *, law: int = 0) -> Any:
    """Four pictures of one law: where it holds, distances, J by degree, coefficients.

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
    every = (*laws, *laws.dense)
    if not every:
        raise ValueError("There is no law to draw: print(laws) says what was tried.")
    chosen = every[law]
    figure = new_axes(None, (10.5, 8.0)).figure
    figure.clear()
    if X is None:
        plot_attempts(laws, ax=figure.add_subplot(1, 2, 1))
        plot_coefficients(chosen, ax=figure.add_subplot(1, 2, 2))
    else:
        plot_law(chosen, X, figure.add_subplot(2, 2, 1, projection=projection_of(chosen)))
        plot_distances(chosen, X, ax=figure.add_subplot(2, 2, 2))
        plot_attempts(laws, ax=figure.add_subplot(2, 2, 3))
        plot_coefficients(chosen, ax=figure.add_subplot(2, 2, 4))
    figure.suptitle(escape(shorten(chosen.equation)), fontsize=12)
    return figure


def projection_of(law: Law) -> str | None:
    """The projection of the axis that :func:`plot_law` needs: "3d" for surfaces, None otherwise."""
    return "3d" if len(law.variables) == 3 and not law.conserved and has_surfaces() else None


def plot_law(law: Law, X: Any, ax: Any) -> Any:
    """Where a law holds: its zero set where that can be drawn, else a plane of it; a conserved quantity over rows.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> from vanishing.plots.style import new_axes
    >>> X = np.random.default_rng(0).uniform(1, 2, (200, 2))
    >>> table = np.column_stack([X, X.sum(axis=1), X.prod(axis=1)])
    >>> plot_law(discover(table, names=["a", "b", "sum", "area"])[0], table, new_axes(None, projection="3d")).name
    '3d'
    """
    if law.conserved:
        return plot_residuals(law, X, ax=ax)
    if len(law.variables) == 2 or projection_of(law) == "3d":
        return plot_zero_set(law, X, ax=ax)
    return plot_projection(law, X, ax=ax) if len(law.variables) > 1 else plot_prediction(law, X, ax=ax)
