"""The report about laws: constants, test and noise of each, and how far the rows are from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._typing import Float2D
from ...constants import WIDE
from ...plots import plot_attempts, plot_coefficients, plot_distances, plot_residuals
from ...plots.style import raised
from ...report.checks import Held, check_values
from ...report.figures import figure
from ...report.markup import EMPTY, Html, join, paragraph, tag
from ...report.mathml import Summand, equation, monomial, number, shifted_variable
from ...report.page import Section, Story, Tile
from ...report.reported import Subject
from ...report.tables import Cell, facts, figures, percent, table
from ...rows.protocol import Rows
from ...rows.reading import read_rows
from ..rows.relation import LEFT_BY_ROUNDING
from .equation import number as digits_of
from .equation import with_error
from .law import Law, degrees_of_freedom
from .plots import plot_law, projection_of

__all__ = ["laws_story", "rows_of_laws"]

_MOST_PICTURES = 3  # laws with pictures


def laws_story(laws: Any, subject: Subject) -> Story:
    """What the page about laws says; subject.rows are checked in one pass."""
    every: tuple[Law, ...] = (*laws, *laws.dense)
    measured = [law for law in every if not law.conserved]
    with subject.clock.part("checking laws"):
        held = _check(measured, subject)
    sections = []
    with subject.clock.part("pictures"):
        for k, law in enumerate(every):
            place = measured.index(law) if law in measured else None
            sections.append(Section(_heading(law, k), _one_law(law, held, place, subject, pictures=k < _MOST_PICTURES)))
        tried = _tried(laws)
    if not every:
        sections.append(Section("No law", tag("pre", str(laws))))
    n = len(laws)
    title = "No law" if not n else f"{n} law{'s' if n > 1 else ''} of {len(laws.columns)} columns"
    return Story("Laws of a noisy table", title, _tiles(laws, held), [*sections, *tried])


def rows_of_laws(laws: Any, X: Any, y: Any) -> Rows:
    """The columns of the laws in a table or another source, with the groups ``y``."""
    if hasattr(X, "columns") and all(name in X.columns for name in laws.columns):
        X = X[list(laws.columns)]
    rows = read_rows(X, labels=None if y is None else np.asarray(y), passes=1)
    if rows.n_features != len(laws.columns) or rows.feature_names not in (None, tuple(laws.columns)):
        shown = ", ".join(rows.shown_names)
        raise ValueError(f"The columns should be those of the laws: {', '.join(laws.columns)}; got {shown}.")
    return rows


def _check(laws: Sequence[Law], subject: Subject) -> Held | None:
    """Distances of all rows from the laws."""
    if not laws:
        return None
    limits = np.array([max(WIDE * law.level, LEFT_BY_ROUNDING) for law in laws])
    return check_values(subject.rows, lambda X: np.column_stack([law.distance(X) for law in laws]), limits)


def _tiles(laws: Any, held: Held | None) -> list[Tile]:
    noise = max((law.level for law in laws), default=0.0)
    tiles = [
        Tile(f"{len(laws)}", "laws" if len(laws) != 1 else "law", f"in {len(laws.columns)} columns"),
        Tile(f"{laws.n_rows:,}", "rows of the fit"),
        Tile(f"{noise:.2%}" if noise > 0.0 else "none", "noise", "of the columns' deviations"),
    ]
    if len(laws):
        tiles.append(Tile(f"{min(law.p_value for law in laws):.2g}", "smallest p-value", "of the tests of these laws"))
    if held is not None and len(laws):
        tiles.append(
            Tile(f"{held.share_beyond.max():.2%}", "of these rows are far off", f"beyond {WIDE:.0f} noise levels")
        )
    return tiles


def _heading(law: Law, k: int) -> str:
    name = "Conserved quantity" if law.conserved else "Law"
    return f"{name} {k + 1}" if law.kind != "dense" else f"{name} {k + 1}, perhaps an approximation only"


def write_law(law: Law) -> Html:
    """The equation as mathematics, terms on the side where they are positive; a conserved one equals a constant."""
    variables = [shifted_variable(name, float(shift)) for name, shift in zip(law.columns, law.origin, strict=True)]
    sides: tuple[list[Summand], list[Summand]] = ([], [])
    for k, exponents in enumerate(law.exponents):
        product = monomial(exponents, variables)
        exact = law.rational[k]
        text = str(abs(exact)) if exact is not None else digits_of(abs(law.coef[k]), law.stderr[k])
        unit = law.units[k] if law.units is not None else ""
        value = EMPTY if product and text == "1" and not unit else number(text)
        if unit:
            value = join(value, tag("mspace", width="0.2em"), tag("mtext", _pretty(unit)))
        negative = bool(law.coef[k] < 0.0)
        sides[0 if law.conserved else int(negative)].append(Summand(negative and law.conserved, value, product))
    if law.conserved:
        return equation(sides[0], [Summand(False, EMPTY, tag("mtext", "const"))], law.equation)
    return equation(sides[0] or [Summand(False, number("0"), EMPTY)], sides[1], law.equation)


def _pretty(unit: str) -> str:
    """A unit with dots and raised exponents.

    Examples
    --------
    >>> _pretty("Pa*m^3/(mol*K)")
    'Pa·m³/(mol·K)'
    """
    return re.sub(r"\^(-?\d+)", lambda power: raised(power[1]), unit).replace("*", "·")


def _one_law(law: Law, held: Held | None, place: int | None, subject: Subject, *, pictures: bool) -> Html:
    parts = [
        tag("div", write_law(law), class_="law dense" if law.kind == "dense" else "law"),
        paragraph(law.why),
        _facts(law, held, place, subject),
        tag("h3", "Coefficients"),
        _coefficients(law),
        tag("h3", "Noise"),
        _noise(law),
    ]
    if pictures and len(subject.seen.complete):
        parts.append(tag("div", *_pictures(law, subject.seen.complete), class_="figures"))
    return join(*parts)


def _facts(law: Law, held: Held | None, place: int | None, subject: Subject) -> Html:
    entries: list[tuple[str, Any]] = []
    if law.kind != "exact":
        test = f"J = {law.J:.4g} with {degrees_of_freedom(law.dof)}, p-value {law.p_value:.3g}"
        entries.append(("test at the fit", f"{test}, {law.n_rows:,} rows"))
    entries.append(("audits", "; ".join(law.audits) or None))
    if held is not None and place is not None:
        distance = float(np.sqrt(held.mean_square[place]))
        at_fit = f" ({law.typical_distance:.2%} at the fit)" if law.typical_distance > 0.0 else ""
        beyond = int(held.beyond[place])
        worst = f"row {held.row[place]:,}, at {held.worst[place]:.3g} deviations"
        entries += [
            ("distance of these rows", f"{distance:.2%} of the columns' deviations, root mean square{at_fit}"),
            ("rows far off", f"{beyond:,} of {held.n_rows:,} ({held.share_beyond[place]:.2%})"),
            ("worst row", worst if held.worst[place] > 0.0 else None),
        ]
    if law.conserved and subject.seen.labels is not None:
        entries.append(("within groups", f"it varies by {_variation(law, subject):.2%} of its variation over all rows"))
    return facts(entries)


def _variation(law: Law, subject: Subject) -> float:
    """Deviation of a conserved quantity from the means of its groups, over that from the mean of all."""
    values, (_, groups) = law.evaluate(subject.seen.X), np.unique(np.asarray(subject.seen.labels), return_inverse=True)
    means = np.bincount(groups, values) / np.bincount(groups)
    return float((values - means[groups]).std() / max(values.std(), 1e-300))


def _coefficients(law: Law) -> Html:
    variables = [shifted_variable(name, float(shift)) for name, shift in zip(law.columns, law.origin, strict=True)]
    lines = []
    for k, exponents in enumerate(law.exponents):
        exact, free, error = law.rational[k], law.free_coef[k], law.free_stderr[k]
        own = with_error(free, error) if error > 0.0 else f"{free:.6g}"
        lines.append(
            [
                tag("math", monomial(exponents, variables) or number("1")),
                Cell(str(exact) if exact is not None else digits_of(law.coef[k], law.stderr[k]), float(law.coef[k])),
                Cell(own.replace("+-", "±"), float(free)),
                "rational" if exact is not None else "",
                *([] if law.units is None else [_pretty(law.units[k])]),
            ]
        )
    heads = ["term", "coefficient", "as the rows give it", "read as", *([] if law.units is None else ["unit"])]
    return table(heads, lines, name="coefficients")


def _noise(law: Law) -> Html:
    known = [(name, s) for name, s in zip(law.columns, law.noise, strict=True) if s == s]
    lines = [[name, figures(s, 3)] for name, s in known]
    return join(
        paragraph(f"{law.noise_kind[:1].upper()}{law.noise_kind[1:]}."),
        table(["column", "deviation of its noise"], lines, name="columns"),
    )


def _pictures(law: Law, rows: Float2D) -> list[Html]:
    where = "Where the law holds, over the rows." if not law.conserved else "The quantity over the rows."
    drawn = [figure(lambda ax: plot_law(law, rows, ax), (4.8, 4.4), where, projection=projection_of(law))]
    if not law.conserved:
        drawn.append(figure(lambda ax: plot_distances(law, rows, ax=ax), (4.8, 3.8), "Distances of the rows."))
        drawn.append(figure(lambda ax: plot_residuals(law, rows, ax=ax), (5.2, 3.0), "Left side minus right side."))
    size = (4.8, min(1.4 + 0.45 * len(law.coef), 8.0))
    drawn.append(figure(lambda ax: plot_coefficients(law, ax=ax), size, "Coefficients, as the rows give them."))
    return drawn


def _tried(laws: Any) -> list[Section]:
    if not laws.attempts:
        return []
    lines = [
        [
            figures(a.degree),
            figures(a.n_terms),
            percent(a.noise) if np.isfinite(a.noise) else "",
            figures(a.J),
            a.reason,
        ]
        for a in laws.attempts
    ]
    heads = ["degree", "terms", "noise it would need", "J", "outcome"]
    caption = "The test at every degree."
    picture = tag("div", figure(lambda ax: plot_attempts(laws, ax=ax), (4.8, 3.6), caption), class_="figures")
    notes = [paragraph(note, class_="note") for note in laws.notes]
    return [Section("What was tried", join(table(heads, lines, name="attempts"), *notes, picture))]
