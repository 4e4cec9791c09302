"""What a report says about an ideal: its equations, how they hold on the rows, and pictures of the best ones."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..plots import plot_projection, plot_residuals, plot_zero_set
from ..plots.style import LINE, MUTED, finish, used_columns
from ..plots.zero_sets import has_surfaces
from ..polynomials.polynomial import Polynomials
from ..report.checks import Held, check_values, values_of_polynomials
from ..report.figures import figure
from ..report.markup import Html, join, paragraph, tag
from ..report.mathml import polynomial
from ..report.page import Section, Story, Tile
from ..report.reported import Subject
from ..report.tables import figures, table

__all__ = ["ideal_story"]

_FAR = 4.0  # deviations from which on a row misses an equation
_RELATED = ("relates columns", "may relate columns", "range of the columns")


def ideal_story(ideal: Any, subject: Subject) -> Story:
    """The story of an ideal."""
    scaler, generators = subject.given.scaler, ideal.generators_
    generators = generators if scaler is None else generators.in_units(scaler)
    kind = f"Approximate vanishing ideal, by {type(ideal).__name__}"
    n = len(generators)
    title = f"{n:,} equation{'' if n == 1 else 's'} of {len(subject.names)} columns"
    with subject.clock.part("checking equations"):
        deviation = np.sqrt(np.maximum(generators.mse, 1e-30))
        held = check_values(subject.rows, values_of_polynomials(generators, deviation), np.full(len(generators), _FAR))
    relations = ideal.relations() if hasattr(ideal, "relations") and len(generators) else None
    rank = None if relations is None else relations.rank
    tiles = [
        Tile(f"{len(generators):,}", "equations", f"of degree up to {generators.degree}"),
        Tile(f"{ideal.n_basis_:,}", "terms that do not vanish", "all found" if ideal.complete_ else "incomplete"),
        Tile(f"{ideal.psi:.3g}", "psi", "largest mean square of an equation"),
        *_held_tile(held, generators),
    ]
    if relations is not None:
        related = int(relations.related.sum())
        note = "better than on permuted columns"
        tiles.insert(1, Tile(f"{related:,}", "relate columns to each other", note))
    if not len(generators):
        text = "No polynomial up to this degree has a mean square of at most psi on the rows of the fit: raise psi."
        return Story(kind, title, tiles, [Section("Equations", paragraph(text))])
    sections = [
        Section(
            "Equations", join(None if relations is None else paragraph(str(relations)), _table(generators, held, rank))
        )
    ]
    with subject.clock.part("pictures"):
        sections.append(Section("Pictures", _pictures(generators, held, rank, subject)))
    return Story(kind, title, tiles, sections)


def _held_tile(held: Held, generators: Polynomials) -> list[Tile]:
    if not len(generators):
        return []
    ratio = float(np.median(held.mean_square))
    return [Tile(f"{ratio:.3g}", "times the mean square at fit", "on these rows; median over the equations")]


def _table(generators: Polynomials, held: Held, rank: Int1D | None) -> Html:
    order = _order(generators, rank)
    lines = [
        [
            write_polynomial(generators, g),
            figures(int(generators.degrees[g])),
            figures(generators.mse[g], 3),
            figures(held.mean_square[g] * max(generators.mse[g], 1e-30), 3),
            figures(held.beyond[g]),
            figures(held.row[g]),
            *([] if rank is None else [_RELATED[rank[g]]]),
        ]
        for g in order
    ]
    heads = ["equation", "degree", "mean square at fit", "on these rows", "rows far off", "worst row"]
    note = f"A row is far off where an equation is more than {_FAR:.0f} times its root mean square at fit."
    return join(
        paragraph(note, class_="note"),
        table([*heads, *([] if rank is None else ["what it says"])], lines, name="equations", most=300),
    )


def write_polynomial(generators: Polynomials, g: int) -> Html:
    """A generator as mathematics; in words where it is too long to be expanded."""
    try:
        return polynomial(generators[g], zero=True)
    except ValueError:
        return tag("span", f"polynomial {g}, too long to be written out", class_="note")


def _order(generators: Polynomials, rank: Int1D | None) -> list[int]:
    """Relations between columns first, of those the lowest degrees, then the smallest mean squares."""
    ranks = np.zeros(len(generators)) if rank is None else rank
    return sorted(range(len(generators)), key=lambda g: (ranks[g], generators.degrees[g], generators.mse[g]))


def _pictures(generators: Polynomials, held: Held, rank: Int1D | None, subject: Subject) -> Html:
    caption = "Mean squares of the equations: on the rows of the fit, and on these."
    drawn = [figure(lambda ax: _compare(generators.mse, held, ax), (4.6, 4.0), caption)]
    with suppress(ValueError):  # generators that are too long to be expanded
        drawn += _zero_sets(generators, _order(generators, rank), subject.seen.complete)
    return tag("div", *drawn, class_="figures")


def _zero_sets(generators: Polynomials, best: list[int], rows: Float2D) -> list[Html]:
    related = [g for g in best if len(used_columns(generators[g])) > 1]
    if not related or not len(rows):
        return []
    n, first = len(generators.feature_names), generators[related[0]]
    draw: Callable[[Any], Any]
    if n == 2 or (n == 3 and has_surfaces()):
        draw, caption = (
            lambda ax: plot_zero_set(generators[related[:2]], rows, ax=ax),
            "Where the first equations hold.",
        )
    else:
        draw, caption = (
            lambda ax: plot_projection(first, rows, ax=ax),
            "The first equation in the plane of two columns.",
        )
    deviation = float(np.sqrt(max(first.mse, 1e-30)))
    return [
        figure(draw, (4.8, 4.4), caption, projection="3d" if n == 3 and has_surfaces() else None),
        figure(
            lambda ax: plot_residuals(first, rows, deviation=deviation, ax=ax),
            (5.6, 3.0),
            "The first equation on the rows, in units of its root mean square at fit.",
        ),
    ]


def _compare(fitted: Float1D, held: Held, ax: Any) -> Any:
    """Mean squares at the fit against those on these rows."""
    base = np.maximum(fitted, 1e-30)
    here = np.maximum(held.mean_square * base, 1e-30)
    ends = [min(base.min(), here.min()) / 2.0, max(base.max(), here.max()) * 2.0]
    ax.plot(ends, ends, color=MUTED, linestyle="--", linewidth=1.2)
    ax.plot(base, here, "o", color=LINE, markersize=5, alpha=0.6)
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    return finish(ax, x="mean square at fit", y="mean square on these rows")
