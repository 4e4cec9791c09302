"""Pictures of polynomials. Needs ``pip install 'vanishing[plots]'``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .polynomials.polynomial import Polynomials

__all__ = ["zero_sets"]


def zero_sets(polynomials: Polynomials, X: Any = None, *, ax: Any = None, resolution: int = 300) -> Any:
    """Draw the curves on which polynomials in two variables vanish, over the points of ``X`` if given.

    Parameters
    ----------
    polynomials : Polynomials
        In two variables.
    X : array-like of shape (n_samples, 2), optional
        Points to show; they also set the range of the axes, which is the unit square otherwise.
    ax : matplotlib Axes, optional
        The axes of a new figure by default.
    resolution : int, default=300
        Grid points along each axis.

    Returns
    -------
    matplotlib Axes
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("zero_sets needs Matplotlib: pip install 'vanishing[plots]'.") from error
    if len(polynomials.feature_names) != 2:
        raise ValueError(f"zero_sets draws polynomials in 2 variables, got {len(polynomials.feature_names)}.")
    ax = plt.figure(figsize=(5, 5), layout="constrained").add_subplot() if ax is None else ax
    low, high = np.zeros(2), np.ones(2)
    if X is not None:
        X = np.asarray(X)
        low, high = X.min(axis=0), X.max(axis=0)
        ax.plot(X[:, 0], X[:, 1], ".", color="0.6", markersize=2, zorder=0)
    margin = 0.1 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(a, b, resolution) for a, b in zip(low - margin, high + margin, strict=True))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, max(len(polynomials), 1)))
    for values, colour in zip(polynomials.evaluate(grid).T, colours, strict=False):
        ax.contour(x, y, values.reshape(resolution, resolution), levels=[0.0], colors=[colour], linewidths=1.5)
    ax.set(xlabel=polynomials.feature_names[0], ylabel=polynomials.feature_names[1])
    return ax
