"""The coefficients of an equation, with uncertainties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Float1D
from ..constants import IN_HTML
from ..polynomials.text import quoted_name
from .style import ALARM, INK, LINE, MUTED, columns_of, escape, finish, monomial_label, new_axes, shorten, tame


def plot_coefficients(equation: Any, *, ax: Any = None) -> Any:
    """Draw the coefficients of an equation as stems with their standard errors; rational ones have a ring.

    Parameters
    ----------
    equation : Law or Polynomial
        A law shows the coefficients as the rows give them, with the rational numbers they were read as; a polynomial
        has no standard errors.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> from vanishing.plots import plot_coefficients
    >>> angle = np.random.default_rng(0).uniform(0, 6.28, 500)
    >>> X = 2 * np.column_stack([np.cos(angle), np.sin(angle)]) + np.random.default_rng(1).normal(0, 0.02, (500, 2))
    >>> ax = plot_coefficients(discover(X, names=["x", "y"])[0])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x²', 'y²', '1']
    """
    coef = np.asarray(getattr(equation, "free_coef", equation.coef))
    errors = np.asarray(getattr(equation, "free_stderr", np.zeros(coef.size)))
    names = _shifted(columns_of(equation), getattr(equation, "origin", None))
    shown = np.sort(np.argsort(-np.abs(coef), kind="stable")[:IN_HTML])
    labels = [shorten(monomial_label(equation.exponents[k], names), 28) for k in shown]
    at = np.arange(shown.size)
    ax = new_axes(ax, (5.5, 1.4 + 0.42 * shown.size))
    ax.hlines(at, 0.0, coef[shown], color=LINE, linewidth=2.0)
    ax.errorbar(
        coef[shown], at, xerr=errors[shown], fmt="o", color=LINE, ecolor=INK, capsize=4, markersize=5, elinewidth=1.3
    )
    ax.axvline(0.0, color=MUTED, linewidth=0.9)
    rational = getattr(equation, "rational", (None,) * coef.size)
    exact = [place for place, k in enumerate(shown) if rational[k] is not None]
    ax.plot([equation.coef[shown[p]] for p in exact], at[exact], "o", color=ALARM, fillstyle="none", markersize=11)
    _write_values(ax, coef[shown], errors[shown])
    tame(ax, coef, float(np.median(np.abs(coef))), "x")
    ax.set_yticks(at, [escape(label) for label in labels])
    ax.set_ylim(shown.size - 0.5, -0.8)
    ax.margins(x=0.2)
    what = "Coefficients" if shown.size == coef.size else f"The {shown.size} largest of {coef.size} coefficients"
    how = " with errors" if errors.any() else ""
    return finish(ax, title=f"{what}{how}{'; rings: rational' if exact else ''}", x="coefficient", grid="x")


def _write_values(ax: Any, coef: Float1D, errors: Float1D) -> None:
    """Write each coefficient with its error above its mark."""
    for place, (value, error) in enumerate(zip(coef, errors, strict=True)):
        text = f"{value:.4g}" + (f" ± {error:.1g}" if error > 0.0 else "")
        ax.annotate(text, (value, place), xytext=(0, 8), textcoords="offset points", ha="center", fontsize=8, color=INK)


def _shifted(names: Sequence[str], origin: Float1D | None) -> list[str]:
    """The columns as an equation writes them: ``(x - 20)`` where the origin is shifted."""
    names = [quoted_name(name) for name in names]
    if origin is None:
        return names
    return [
        name if shift == 0.0 else f"({name} {'-' if shift > 0.0 else '+'} {abs(shift):.4g})"
        for name, shift in zip(names, origin, strict=True)
    ]
