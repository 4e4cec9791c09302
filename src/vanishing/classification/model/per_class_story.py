"""What a report says about one ideal per class: which class's equations fit each row best, and how they separate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._typing import Float1D, Float2D
from ...constants import ROUNDING
from ...display import counted
from ...plots import plot_confusion
from ...polynomials.affine import without_rounding
from ...polynomials.polynomial import Polynomial, Polynomials
from ...report.checks import values_of_polynomials
from ...report.figures import figure
from ...report.markup import Html, join, paragraph, tag
from ...report.mathml import polynomial
from ...report.page import Section, Story, Tile
from ...report.reported import Subject
from ...report.tables import MOST_ROWS, figures, table
from ...rows.array_api import to_host
from ...rows.protocol import Block, Cost
from .story import MOST_CLASSES, codes_of, square_of


class _Fits(NamedTuple):
    """Sums over the rows with each label: squares of the generators in their units, and rows by their nearest class."""

    squares: Float2D
    nearest: Float2D


def per_class_story(model: Any, subject: Subject) -> Story:
    """The story of one ideal per class."""
    lists = _in_units(model, subject.given.scaler)
    with subject.clock.part("checking equations"):
        fits = _compare(lists, subject)
    total, classes = sum(map(len, lists)), [str(label) for label in model.classes_]
    with subject.clock.part("formulas and pictures"):
        sections = [Section("The class that fits best", _nearest(model, fits, subject))] if total else []
        sections.append(Section("Equations of each class", _equations(model, lists, fits, subject)))
    shown = ", ".join(classes[:4]) + (" ..." if len(classes) > 4 else "")
    tiles = [
        *_right_tile(model, fits, subject),
        Tile(f"{len(classes)}", "classes", shown),
        Tile(
            f"{total:,}",
            "equation" if total == 1 else "equations",
            f"of degree up to {max(each.degree for each in lists)}",
        ),
        Tile(f"{model.estimators_[0].psi:.3g}", "psi", "largest mean square of an equation on its class"),
    ]
    kind = f"Vanishing ideals of classes, by {type(model.estimators_[0]).__name__}"
    return Story(kind, f"{counted(total, 'equation')} of {counted(len(classes), 'class')}", tiles, sections)


def _in_units(model: Any, scaler: Any) -> list[Polynomials]:
    lists = [ideal.generators_ for ideal in model.estimators_]
    return lists if scaler is None else [each.in_units(scaler) for each in lists]


def _compare(lists: list[Polynomials], subject: Subject) -> _Fits:
    """Evaluate all generators on all rows, in one pass."""
    keys = list(subject.given.keys)
    units = [np.sqrt(np.maximum(each.mse, ROUNDING)) for each in lists]
    evaluated = [
        values_of_polynomials(each, unit) if len(each) else None for each, unit in zip(lists, units, strict=True)
    ]

    def look(block: Block) -> _Fits:
        X = np.ascontiguousarray(to_host(block.X), dtype=np.float64)
        parts = [np.empty((len(X), 0)) if values is None else values(X) ** 2 for values in evaluated]
        means = np.column_stack([part.mean(axis=1) if part.shape[1] else np.full(len(X), np.inf) for part in parts])
        codes = np.broadcast_to(codes_of(block.labels, keys), len(X))
        chosen = np.eye(max(len(keys), 1))[codes]
        return _Fits(chosen.T @ np.hstack(parts), chosen.T @ np.eye(len(lists))[np.argmin(means, axis=1)])

    n, total = subject.rows.n_features, sum(map(len, lists))
    return subject.rows.reduce(look, _add_fits, Cost(40 * (n + total), 4 * (n + total)))


def _add_fits(a: _Fits, b: _Fits) -> _Fits:
    return _Fits(a.squares + b.squares, a.nearest + b.nearest)


def _own_rows(model: Any, subject: Subject) -> list[int]:
    """For each class the place of its label in the report; -1 for a class without rows."""
    given = [] if subject.given.classes is None else subject.given.classes.tolist()
    return [given.index(label) if label in given else -1 for label in model.classes_.tolist()]


def _right_tile(model: Any, fits: _Fits, subject: Subject) -> list[Tile]:
    if subject.given.classes is None:
        return []
    right, total = float(np.trace(square_of(model.classes_, fits.nearest, subject))), float(fits.nearest.sum())
    return [Tile(f"{right / total:.2%}", "of these rows fit their class best", f"{right:,.0f} of {total:,.0f}")]


def _nearest(model: Any, fits: _Fits, subject: Subject) -> Html:
    text = (
        "A row fits the class whose equations have the smallest mean square on it, each in units of its mean square at "
        "the fit. This is a look at the equations, not a classifier: VanishingIdealClassifierCV weighs them."
    )
    labels = [str(label) for label in model.classes_]
    if subject.given.classes is None:
        lines = [[label, figures(int(n))] for label, n in zip(labels, fits.nearest[0], strict=True)]
        return join(paragraph(text), table(["class", "rows that fit it best"], lines, name="classes"))
    if len(labels) > MOST_CLASSES:
        return paragraph(text)
    square, side = square_of(model.classes_, fits.nearest, subject), min(2.6 + 0.55 * len(labels), 8.0)

    def draw(ax: Any) -> None:
        plot_confusion(square, labels, ax=ax)
        ax.set_xlabel("fits best")

    return join(paragraph(text), tag("div", figure(draw, (side + 0.6, side), "Rows, and shares of the true class.")))


def _equations(model: Any, lists: list[Polynomials], fits: _Fits, subject: Subject) -> Html:
    if not sum(map(len, lists)):
        return paragraph("No polynomial up to this degree vanishes on a class: raise psi.")
    own, others = _ratios(model, lists, fits, subject)
    scaler = subject.given.scaler
    size = None if scaler is None else np.maximum(np.abs(scaler.data_min_), np.abs(scaler.data_max_))
    labels = [str(label) for label, each in zip(model.classes_, lists, strict=True) for _ in each]
    generators = [g for each in lists for g in each]
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.nan_to_num(others / np.maximum(own, 1.0)), kind="stable")[:MOST_ROWS]
    lines = [
        [_write(generators[g], size), labels[g], *(figures(v, 3) for v in (generators[g].mse, own[g], others[g]))]
        for g in order
    ]
    heads = [
        "vanishes on the class",
        "class",
        "mean square at fit",
        "times that on its class",
        "times that on others",
    ]
    text = (
        "Mean squares on these rows, in units of the mean square at the fit: about 1 on the class itself if the "
        "equation holds there, and large on others if it tells them apart. Those that separate most come first."
    )
    if subject.given.classes is None:
        lines = [line[:4] for line in lines]
        heads, text = [*heads[:3], "times that on these rows"], "These rows came without labels."
    more = len(generators) - len(lines)
    note = paragraph(f"{more:,} more {'is' if more == 1 else 'are'} not shown.", class_="note") if more else None
    n_halves = sum(len(half.generators_) for own in model.halves_ for half in own)
    text_of_halves = f"Not shown: {counted(n_halves, 'equation')} of halves of classes."
    halves = paragraph(text_of_halves, class_="note") if n_halves else None
    return join(paragraph(text), table(heads, lines, name="equations"), note, halves)


def _ratios(model: Any, lists: list[Polynomials], fits: _Fits, subject: Subject) -> tuple[Float1D, Float1D]:
    """Mean squares of each generator over that at the fit: on the rows of its class, and on all others."""
    counts = fits.nearest.sum(axis=1)
    place = np.repeat(_own_rows(model, subject), [len(each) for each in lists])
    columns = np.arange(len(place))
    if subject.given.classes is None:
        return fits.squares[0] / max(counts[0], 1.0), np.full(len(place), np.nan)
    own_sum = np.where(place >= 0, fits.squares[place, columns], 0.0)
    own_count = np.where(place >= 0, counts[place], 0.0)
    with np.errstate(invalid="ignore"):
        return own_sum / own_count, (fits.squares.sum(axis=0) - own_sum) / (counts.sum() - own_count)


def _write(g: Polynomial, size: Float1D | None) -> Html:
    """A generator as mathematics; in words where it is too long to be expanded."""
    try:
        return polynomial(without_rounding(g, size), zero=True)
    except ValueError:
        return tag("span", "a polynomial too long to be written out", class_="note")
