"""Decisions of classifiers: weights of terms, contributions to one decision, and confused classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..constants import TINY
from ..display import counted
from .style import (
    ALARM,
    DARK,
    DIVERGING,
    INK,
    LABEL,
    LINE,
    MOST_CELLS,
    MUTED,
    TITLE,
    distinct_labels,
    escape,
    finish,
    new_axes,
    shorten,
)


def plot_weights(classifier: Any, *, n_terms: int = 12, ax: Any = None) -> Any:
    """Draw how much each term of a classifier spreads its decisions: weight times deviation over the training rows.

    Bars point to either of two classes; with more classes, each has a column of coloured cells.

    Parameters
    ----------
    classifier : VanishingIdealClassifier or VanishingIdealClassifierCV
        Fitted, with the built-in SVM.
    n_terms : int, default=12
        Terms to show, the largest first.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    classifier = getattr(classifier, "best_estimator_", classifier)
    terms = classifier.formula_.ordered()[:n_terms]
    labels = [str(label) for label in classifier.classes_]
    size = np.array([term.weight * (term.spread / np.abs(term.weight).max()) for term in terms])
    ax = new_axes(ax, (7.5, 1.3 + 0.36 * len(terms)))
    if size.shape[1] == 1:
        ax.barh(np.arange(len(terms)), size[:, 0], color=[LINE if value > 0.0 else ALARM for value in size[:, 0]])
        ax.axvline(0.0, color=MUTED, linewidth=0.9)
        left, right = (shorten(label, LABEL) for label in labels)
        x = f"towards {left}   ←   spread of the decision   →   towards {right}"
    else:
        reach = float(np.abs(size).max())
        image = ax.imshow(size, cmap=DIVERGING, vmin=-reach, vmax=reach, aspect="auto")
        ax.set_xticks(np.arange(len(labels)), [escape(shorten(label, LABEL)) for label in labels])
        bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=8)
        x = "class whose decision the term speaks for"
    names = distinct_labels([term.text for term in terms], TITLE)
    ax.set_yticks(np.arange(len(terms)), [escape(name) for name in names], fontsize=8.5)
    ax.set_ylim(len(terms) - 0.4, -0.6)
    return finish(ax, title="Largest terms of the decision", x=x, grid="x" if size.shape[1] == 1 else None)


def plot_contributions(explanation: Any, *, n_terms: int = 8, ax: Any = None) -> Any:
    """Draw the contributions to one decision of a classifier, or to one alarm of a detector.

    Parameters
    ----------
    explanation : Explanation or table
        The result of ``explain`` of a classifier or of a detector, about one row.
    n_terms : int, default=8
        Lines to show, the largest first.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdealDetector
    >>> from vanishing.plots import plot_contributions
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> detector = VanishingIdealDetector().fit(np.column_stack([x, x.sum(axis=1)]))
    >>> ax = plot_contributions(detector.explain([0.0, 0.0, 1.0], by="column"))
    >>> float(ax.patches[0].get_width().round(2))
    1.0
    """
    if hasattr(explanation, "contributions"):
        return _plot_decision(explanation, n_terms, ax)
    if "share" not in explanation:
        return _plot_row(explanation, n_terms, ax)
    by = "column" if "column" in explanation else "equation"
    names, shares = list(explanation[by])[:n_terms], np.asarray(list(explanation["share"])[:n_terms], dtype=np.float64)
    ax = _bars(names, shares, new_axes(ax, (5.5, 1.2 + 0.32 * len(names))), [ALARM] * len(names))
    ax.set_xlim(0.0, 1.0)
    what = "its expected value would remove" if by == "column" else "it accounts for"
    return finish(ax, title="", x=f"share of the score that {what}", grid="x")


def _plot_row(table: Any, n_terms: int, ax: Any) -> Any:
    """The one row of a table with the contributions to the decisions of rows."""
    values = {name: np.atleast_1d(np.asarray(table[name], dtype=np.float64)) for name in table}
    n_rows = len(values["intercept"])
    if n_rows != 1:
        raise ValueError(f"plot_contributions draws one decision; this explanation is about {n_rows} rows: choose one.")
    intercept = float(values.pop("intercept")[0])
    terms = sorted(((name, float(value[0])) for name, value in values.items()), key=lambda term: -abs(term[1]))
    decision = intercept + sum(value for _, value in terms)
    return _draw_terms(terms, intercept, f"Decision: {decision:+.3g}", n_terms, ax)


def _plot_decision(explanation: Any, n_terms: int, ax: Any) -> Any:
    title = f"Predicted {explanation.label}; decision towards {explanation.towards}: {explanation.decision:+.3g}"
    return _draw_terms(explanation.contributions, explanation.intercept, title, n_terms, ax)


def _draw_terms(terms: Sequence[tuple[Any, float]], intercept: float, title: str, n_terms: int, ax: Any) -> Any:
    """Bars of the terms, the largest first, and of the intercept."""
    shown, rest = terms[:n_terms], terms[n_terms:]
    names, values = [text for text, _ in shown], [value for _, value in shown]
    if rest:
        names, values = [*names, counted(len(rest), "smaller one")], [*values, sum(value for _, value in rest)]
    names, values = [*names, "intercept"], [*values, intercept]
    colours = [LINE if value > 0.0 else ALARM for value in values]
    ax = _bars(names, np.array(values), new_axes(ax, (7.0, 1.3 + 0.34 * len(names))), colours)
    ax.axvline(0.0, color=MUTED, linewidth=0.9)
    return finish(ax, title=title, x="contribution to the decision", grid="x")


def _bars(names: Sequence[Any], values: Any, ax: Any, colours: Sequence[str]) -> Any:
    ax.barh(np.arange(len(names)), values, color=colours, height=0.7)
    labels = distinct_labels([str(name) for name in names], TITLE)
    ax.set_yticks(np.arange(len(names)), [escape(label) for label in labels], fontsize=8.5)
    ax.set_ylim(len(names) - 0.4, -0.6)
    return ax


def plot_confusion(counts: Any, labels: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw a confusion matrix: rows are true classes, shaded by the share of the class, cells say how many rows.

    Parameters
    ----------
    counts : array-like of shape (n_classes, n_classes)
        As ``sklearn.metrics.confusion_matrix(y, classifier.predict(X))`` gives them.
    labels : sequence
        Of the classes.
    ax : matplotlib Axes, optional
        That of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from vanishing.plots import plot_confusion
    >>> ax = plot_confusion([[40, 2], [1, 57]], ["calm", "storm"])
    >>> [text.get_text().split()[0] for text in ax.texts]
    ['40', '2', '1', '57']
    """
    table = np.asarray(counts, dtype=np.float64)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), TINY)
    n = len(labels)
    ax = new_axes(ax, (2.4 + 0.62 * n, 1.9 + 0.55 * n))
    ax.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
    if table.size <= MOST_CELLS:
        for (i, j), count in np.ndenumerate(table):
            colour = "white" if share[i, j] > 0.6 else DARK if count else "0.5"
            text = f"{count:,.0f}" if 4 * table.size > MOST_CELLS else f"{count:,.0f}\n{share[i, j]:.1%}"
            ax.text(j, i, text, ha="center", va="center", fontsize=9, color=colour)
    names = [escape(shorten(str(label), LABEL)) for label in labels]
    turned = max(map(len, names), default=0) > LABEL // 2
    ax.set_xticks(np.arange(n), names, rotation=35 if turned else 0, ha="right" if turned else "center")
    ax.set_yticks(np.arange(n), names)
    ax.tick_params(length=0)
    return finish(ax, title="", x="predicted", y="true", grid=None)
