"""What a report says about thresholds: ROC and precision-recall curves, and what each threshold costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._typing import Array
from ...plots.style import CYCLE, MUTED, add_legend, escape, finish, shorten
from ...report.figures import figure
from ...report.markup import Html, join, paragraph, tag
from ...report.tables import figures, percent, table
from .rates import Thresholds

__all__ = ["areas", "threshold_section"]

_COSTS = (1, 2, 5, 10, 20, 50, 100)  # false alarms that a miss costs as much as


def areas(by_score: Array) -> list[float]:
    """The area under the ROC curve of each class that has rows beside others."""
    return [Thresholds.of(counts).area_under_roc for counts in by_score if counts.sum(axis=1).all()]


def threshold_section(by_score: Array, classes: Sequence[Any], *, log_odds: bool) -> Html | None:
    """The curves of each class, or of the rarer one of two; with log-odds, its costs at their best thresholds.

    ``by_score`` counts the rows of each class, and those of the others, by their scores for it.
    """
    names = [str(label) for label in (classes[1:] if len(by_score) == 1 else classes)]
    two = len(by_score) == 1
    if two and by_score[0, 1].sum() > by_score[0, 0].sum():
        by_score, names = by_score[:, ::-1, ::-1], [str(classes[0])]
    pairs = zip(names, by_score, strict=True)
    known = [(name, Thresholds.of(counts)) for name, counts in pairs if counts.sum(axis=1).all()]
    if not known:
        return None
    shown = sorted(known, key=lambda pair: pair[1].area_under_roc)[: len(CYCLE)]
    which = (
        f"Those of {names[0]}, the rarer class." if two else f"Each class against the rest, up to {len(CYCLE)} of them."
    )
    size = (4.6, 3.9)
    drawn = tag(
        "div",
        figure(lambda ax: _roc(shown, ax), size, f"ROC curves; in brackets the areas below them. {which}"),
        figure(lambda ax: _precision(shown, ax), size, f"Precision and recall; in brackets mean precisions. {which}"),
        class_="figures",
    )
    return join(drawn, _costs(*known[0]) if two and log_odds else None)


def _roc(shown: Sequence[tuple[str, Thresholds]], ax: Any) -> None:
    for colour, (name, curve) in zip(CYCLE, shown, strict=False):
        label = escape(f"{shorten(name, 18)} ({curve.area_under_roc:.3f})")
        ax.plot(curve.false / curve.false[-1], curve.true / curve.true[-1], color=colour, linewidth=1.6, label=label)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.8, linestyle=":")
    add_legend(ax, loc="lower right")
    finish(ax, x="false alarms, of the others", y="found, of the class")


def _precision(shown: Sequence[tuple[str, Thresholds]], ax: Any) -> None:
    for colour, (name, curve) in zip(CYCLE, shown, strict=False):
        label = escape(f"{shorten(name, 18)} ({curve.average_precision:.3f})")
        some = curve.true + curve.false > 0.0
        precision = curve.true[some] / (curve.true[some] + curve.false[some])
        ax.step(curve.true[some] / curve.true[-1], precision, color=colour, linewidth=1.6, label=label, where="pre")
        share = curve.true[-1] / (curve.true[-1] + curve.false[-1])
        ax.axhline(share, color=colour, linewidth=0.8, linestyle=":")
    ax.set(xlim=(-0.02, 1.02), ylim=(0.0, 1.04))
    add_legend(ax, loc="lower left")
    finish(ax, x="found, of the class (recall)", y="right, if predicted (precision)")


def _costs(name: str, curve: Thresholds) -> Html:
    """A line for each ratio of costs, with the threshold that calibrated probabilities make the best one."""
    n, n_true = curve.true[-1] + curve.false[-1], curve.true[-1]
    lines = []
    for cost in _COSTS:
        false, true = curve.above(-np.log(cost))
        half_false, half_true = curve.above(0.0)
        spent, at_half = (1000.0 * (cost * (n_true - t) + f) / n for f, t in ((false, true), (half_false, half_true)))
        right = percent(true / (true + false)) if true + false else ""
        alarms = [figures(int(true + false)), percent(true / n_true), right]
        lines.append(
            [figures(cost), percent(1.0 / (1.0 + cost)), *alarms, figures(round(spent)), figures(round(at_half))]
        )
    text = (
        f"Each line assumes that to miss a row of {name} costs as much as this number of false alarms. To predict "
        f"{name} from the threshold on is then cheapest, if probabilities are calibrated. Costs are in false "
        "alarms per 1,000 of these rows."
    )
    heads = ["false alarms per miss", "threshold", "predicted", "found", "right if predicted", "cost", "cost at 50%"]
    return join(tag("h3", "Thresholds and what they cost"), paragraph(text), table(heads, lines, name="thresholds"))
