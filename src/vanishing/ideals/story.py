"""The report on an ideal: its equations, how they hold on the rows, and pictures of the best ones."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..constants import ROUNDING, WIDE
from ..plots import plot_projection, plot_residuals, plot_zero_set
from ..plots.style import LINE, MUTED, finish, used_columns
from ..plots.zero_sets import has_surfaces
from ..polynomials.affine import without_rounding
from ..polynomials.polynomial import Polynomials
from ..report.checks import Held, check_values, values_of_polynomials
from ..report.figures import figure
from ..report.markup import Html, join, paragraph, tag
from ..report.mathml import polynomial
from ..report.page import Section, Story, Tile
from ..report.reported import Subject
from ..report.tables import figures, table

_RELATED = ("relates columns", "may relate columns", "range of the columns")


class _Checked(NamedTuple):
    """Generators in the units of the rows, how they hold there, and their :attr:`Relations.rank`."""

    generators: Polynomials
    held: Held
    rank: Int1D | None
    size: Float1D | None  # largest absolute value of each column, if the equations were scaled

    @property
    def mean_square(self) -> Float1D:
        """Mean squares on the rows."""
        return np.asarray(self.held.mean_square * _unit(self.generators) ** 2)


def ideal_story(ideal: Any, subject: Subject) -> Story:
    """The story of an ideal."""
    relations = ideal.relations() if hasattr(ideal, "relations") and len(ideal.generators_) else None
    with subject.clock.part("checking equations"):
        checked = _check(ideal, subject, None if relations is None else relations.rank)
    n = len(checked.generators)
    title = f"{n:,} equation{'' if n == 1 else 's'} of {len(subject.names)} columns"
    kind = f"Approximate vanishing ideal, by {type(ideal).__name__}"
    if not n:
        text = "No polynomial up to this degree has a mean square of at most psi on the rows of the fit: raise psi."
        return Story(kind, title, _tiles(ideal, checked, None), [Section("Equations", paragraph(text))])
    said = None if relations is None else paragraph(str(relations))
    sections = [Section("Equations", join(said, _table(checked)))]
    with subject.clock.part("pictures"):
        sections.append(Section("Pictures", _pictures(checked, subject)))
    return Story(kind, title, _tiles(ideal, checked, relations), sections)


def _unit(generators: Polynomials) -> Float1D:
    """Root mean squares at the fit; for exact generators, the size of rounding errors."""
    return np.asarray(np.sqrt(np.maximum(generators.mse, ROUNDING)))


def _check(ideal: Any, subject: Subject, rank: Int1D | None) -> _Checked:
    scaler, generators, size = subject.given.scaler, ideal.generators_, None
    if scaler is not None:
        generators = generators.in_units(scaler)
        size = np.maximum(np.abs(scaler.data_min_), np.abs(scaler.data_max_))
    values = values_of_polynomials(generators, _unit(generators))
    return _Checked(generators, check_values(subject.rows, values, np.full(len(generators), WIDE)), rank, size)


def _tiles(ideal: Any, checked: _Checked, relations: Any) -> list[Tile]:
    generators = checked.generators
    tiles = [
        Tile(f"{len(generators):,}", "equations", f"of degree up to {generators.degree}"),
        Tile(f"{ideal.n_basis_:,}", "terms that do not vanish", "all found" if ideal.complete_ else "incomplete"),
        Tile(f"{ideal.psi:.3g}", "psi", "largest mean square of an equation"),
    ]
    if relations is not None:
        related = f"{relations.related.sum():,}"
        tiles.insert(1, Tile(related, "relate columns to each other", "better than on permuted columns"))
    if len(generators):
        ratio = f"{np.median(checked.held.mean_square):.3g}"
        tiles.append(Tile(ratio, "times the mean square at fit", "on these rows; median over the equations"))
    return tiles


def _table(checked: _Checked) -> Html:
    generators, held, rank = checked.generators, checked.held, checked.rank
    lines = [
        [
            _write(checked, g),
            figures(int(generators.degrees[g])),
            figures(generators.mse[g], 3),
            figures(checked.mean_square[g], 3),
            figures(held.beyond[g]),
            figures(held.row[g]),
            *([] if rank is None else [_RELATED[rank[g]]]),
        ]
        for g in _order(checked)
    ]
    heads = ["equation", "degree", "mean square at fit", "on these rows", "rows far off", "worst row"]
    note = f"A row is far off where an equation is more than {WIDE:.0f} times its root mean square at fit."
    return join(
        paragraph(note, class_="note"),
        table([*heads, *([] if rank is None else ["what it says"])], lines, name="equations", most=300),
    )


def _write(checked: _Checked, g: int) -> Html:
    """A generator as mathematics; in words where it is too long to be expanded."""
    try:
        return polynomial(without_rounding(checked.generators[g], checked.size), zero=True)
    except ValueError:
        return tag("span", f"polynomial {g}, too long to be written out", class_="note")


def _order(checked: _Checked) -> list[int]:
    """Relations between columns first, among those the lowest degrees, then the smallest mean squares."""
    generators = checked.generators
    ranks = np.zeros(len(generators)) if checked.rank is None else checked.rank
    return sorted(range(len(generators)), key=lambda g: (ranks[g], generators.degrees[g], generators.mse[g]))


def _pictures(checked: _Checked, subject: Subject) -> Html:
    caption = "Mean squares of the equations, on the rows of the fit and on the rows of this report."
    drawn = [figure(lambda ax: _compare(checked, ax), (4.6, 4.0), caption)]
    with suppress(ValueError):  # generators that are too long to be expanded
        drawn += _zero_sets(checked.generators, _order(checked), subject.seen.complete)
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
    deviation = float(np.sqrt(max(first.mse, ROUNDING)))
    return [
        figure(draw, (4.8, 4.4), caption, projection="3d" if n == 3 and has_surfaces() else None),
        figure(
            lambda ax: plot_residuals(first, rows, deviation=deviation, ax=ax),
            (5.6, 3.0),
            "The first equation on the rows, in units of its root mean square at fit.",
        ),
    ]


def _compare(checked: _Checked, ax: Any) -> Any:
    """Plot the mean squares on the rows against the mean squares at the fit."""
    fitted, here = (np.maximum(values, ROUNDING) for values in (checked.generators.mse, checked.mean_square))
    ends = [min(fitted.min(), here.min()) / 2.0, max(fitted.max(), here.max()) * 2.0]
    ax.plot(ends, ends, color=MUTED, linestyle="--", linewidth=1.2)
    ax.plot(fitted, here, "o", color=LINE, markersize=5, alpha=0.6)
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    return finish(ax, x="mean square at fit", y="mean square on these rows")
