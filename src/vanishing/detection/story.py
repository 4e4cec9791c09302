"""The report about a detector: alarms among the rows, which ones and why, and how the equations hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..constants import IN_TEXT, WIDE
from ..display import moment
from ..plots import plot_contributions, plot_control_chart
from ..report.checks import check_values, values_of_polynomials
from ..report.figures import figure
from ..report.markup import Html, join, paragraph, tag
from ..report.mathml import polynomial
from ..report.page import Section, Story, Tile
from ..report.reported import Subject
from ..report.tables import Cell, figures, percent, table
from ..rows.array_api import to_host
from ..rows.arrays import ArrayRows
from ..rows.protocol import Block, Cost
from .explain import MOST_EXPLAINED, N_NAMED
from .monitoring import Monitoring
from .series import N_BLOCKS
from .sums import MOST_NUMBERS


class _Scored(NamedTuple):
    """The accumulator: counts of rows and alarms, and the worst rows with their scores and places."""

    n_rows: int
    alarms: int
    scores: Float1D
    numbers: Int1D
    X: Float2D


def detector_story(detector: Any, subject: Subject) -> Story:
    """What the page about a detector says; subject.rows are scored in one pass and checked in another."""
    with subject.clock.part("scoring rows"):
        scored = _score(detector, subject)
    with subject.clock.part("checking equations"):
        sections = [Section("Equations", _equations(detector, subject))]
        drift = _drift(detector, subject)
    with subject.clock.part("collecting evidence"):
        found = _monitored(detector, subject, scored.n_rows)
    with subject.clock.part("pictures"):
        sections.insert(0, Section("Control chart", _chart(detector, scored, subject, found)))
        if found is not None:
            sections.insert(1, Section("Alarm episodes", _episodes(found, subject)))
    with subject.clock.part("explaining rows"):
        sections.insert(1, Section("Worst rows", _worst(detector, scored, subject)))
    if drift:
        sections.append(Section("Drift", drift))
    share = scored.alarms / max(scored.n_rows, 1)
    n, k = len(subject.names), len(detector.generators_)
    tiles = [
        Tile(f"{scored.alarms:,}", "alarms", f"{share:.2%} of {scored.n_rows:,} rows"),
        Tile(f"{detector._rate:.2%}", "expected false alarms", "of normal rows"),
        Tile(f"{k:,}", "equations" if k != 1 else "equation", f"between {n} columns"),
        Tile(f"{detector.n_samples_seen_:,}", "rows of the fit"),
    ]
    title = f"{scored.alarms:,} alarm{'' if scored.alarms == 1 else 's'} in {scored.n_rows:,} rows"
    return Story("Detector of rows that violate equations", title, tiles, sections)


def _score(detector: Any, subject: Subject) -> _Scored:
    """Score all rows in one pass, and keep the worst."""
    limit = -detector.offset_

    def kernel(block: Block) -> _Scored:
        X = np.asarray(to_host(block.X), dtype=np.float64)
        scores = _scores(detector, X)
        worst = np.argsort(-scores, kind="stable")[:MOST_EXPLAINED]
        return _Scored(len(X), int((scores > limit).sum()), scores[worst], worst, X[worst])

    return subject.rows.reduce(kernel, _add_scored, Cost(detector.n_features_in_**2, 40 * detector.n_features_in_))


def _scores(detector: Any, X: Float2D) -> Float1D:
    rows = ArrayRows(X, n_jobs=1)
    rows.quiet = True
    return -np.asarray(detector.score_samples(rows))


def _add_scored(a: _Scored, b: _Scored) -> _Scored:
    scores = np.concatenate([a.scores, b.scores])
    worst = np.argsort(-scores, kind="stable")[:MOST_EXPLAINED]
    numbers = np.concatenate([a.numbers, a.n_rows + b.numbers])
    X = np.concatenate([a.X, b.X])
    return _Scored(a.n_rows + b.n_rows, a.alarms + b.alarms, scores[worst], numbers[worst], X[worst])


def _axis(subject: Subject, numbers: Any) -> Any:
    """Where rows lie on an axis of time: their times, if they have any that have an order, or their numbers."""
    times = subject.given.times
    return numbers if times is None or times.dtype.kind not in "iufM" else times[numbers]


def _at(subject: Subject, number: int) -> Cell:
    """The time of a row, or its number."""
    times = subject.given.times
    return figures(number) if times is None else Cell(moment(times[number]), float(number))


def _chart(detector: Any, scored: _Scored, subject: Subject, found: Monitoring | None) -> Html:
    seen = subject.seen
    numbers, first = np.unique(np.concatenate([seen.numbers, scored.numbers]), return_index=True)
    scores = np.concatenate([_scores(detector, seen.X), scored.scores])[first]
    tail = detector._current().tail
    limits = {rate: tail.threshold(rate) for rate in (detector._rate, detector._rate / 10.0)}
    episodes = [] if found is None else found.episodes
    firsts = np.searchsorted(numbers, [episode.first_row for episode in episodes])
    lasts = np.searchsorted(numbers, [episode.last_row for episode in episodes], side="right") - 1
    spans = [(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True) if first <= last]
    mark = np.searchsorted(numbers, scored.numbers[:N_NAMED])
    some = (
        "" if len(numbers) == seen.n_rows else f" {len(numbers):,} of {seen.n_rows:,} rows, the worst ones among them."
    )
    shaded = " Shaded: alarm episodes." if spans else ""
    caption = f"Scores over time, and the limits that these shares of normal rows exceed.{shaded}{some}"

    def draw(ax: Any) -> None:
        plot_control_chart(scores, limits, rows=_axis(subject, numbers), mark=mark, spans=spans, ax=ax)
        ax.set_title("", loc="left")
        ax.set_xlabel("row" if subject.given.times is None else "")

    places = [_at(subject, int(number)).shown for number in scored.numbers[:N_NAMED]]
    bars = [_bars(detector, row, place) for row, place in zip(scored.X, places, strict=False)]
    return join(
        tag("div", figure(draw, (9.0, 3.4), caption), class_="wide"), tag("div", *bars, class_="figures thirds")
    )


def _monitored(detector: Any, subject: Subject, n_rows: int) -> Monitoring | None:
    """The evidence over time; None for tables that are not held in memory."""
    if n_rows * len(subject.names) > MOST_NUMBERS or detector._current().sample is None:
        return None
    source = ArrayRows(np.asarray(subject.rows.to_numpy(), dtype=np.float64))
    source.quiet = True
    found: Monitoring = detector.monitor(source, subject.given.times)
    return found


def _episodes(found: Monitoring, subject: Subject) -> Html:
    """The evidence over time and the episodes."""
    lines = [
        [
            *(_at(subject, row) for row in (episode.first_row, episode.last_row, episode.worst_row)),
            figures(episode.evidence, 3),
            ", ".join(list(episode.columns)[:N_NAMED]),
            next(iter(episode.equations), ""),
        ]
        for episode in found.episodes
    ]
    caption = (
        "Exponentially weighted mean of the scores, its limit, and the episodes above it: about one is expected in "
        "1,000 normal rows."
    )
    at = _axis(subject, np.arange(len(found.scores)))
    picture = tag("div", figure(replace(found, times=at).plot, (9.0, 3.0), caption), class_="wide")
    if not lines:
        return join(picture, paragraph("No episode of alarm."))
    heads = ["start", "end", "worst", "evidence", "columns", "explains most"]
    return join(picture, table(heads, lines, name="episodes", most=300))


def _bars(detector: Any, row: Float1D, place: str) -> Html:
    caption = f"Row {place}: the share of its score that each column would remove with the value that fits the others."

    def draw(ax: Any) -> None:
        plot_contributions(detector._explained(row, "column"), n_terms=6, ax=ax)
        ax.set_xlabel("share of the score")

    return figure(draw, (3.8, 2.4), caption)


def _worst(detector: Any, scored: _Scored, subject: Subject) -> Html:
    tail = detector._current().tail
    lines = []
    for score, number, row in zip(scored.scores[:IN_TEXT], scored.numbers, scored.X, strict=False):
        columns = detector._explained(row, "column")
        name, observed, expected = (columns[key][0] for key in ("column", "observed", "expected"))
        equation = detector._explained(row, "equation")["equation"][0]
        lines.append(
            [
                _at(subject, int(number)),
                figures(score),
                figures(tail.p_values(np.array([score]))[0], 2),
                str(name),
                Cell(f"{observed:.4g}", float(observed)),
                Cell(f"{expected:.4g}", float(expected)),
                str(equation),
            ]
        )
    heads = [
        "row" if subject.given.times is None else "time",
        "score",
        "p-value",
        "column",
        "observed",
        "expected",
        "explains most of the score",
    ]
    text = "The column whose value fits the others least, with the value that would fit"
    text += "; rows count from 0." if subject.given.times is None else "."
    return join(paragraph(text), table(heads, lines, name="rows"))


def _equations(detector: Any, subject: Subject) -> Html:
    equations = detector._current().equations
    exact = [tag("li", text) for text in detector.exact_relations_]
    words = join(tag("h3", "Exact relations"), tag("ul", *exact)) if exact else None
    if not len(equations.polynomials):
        return join(paragraph("No equation holds closely enough to be written down; the scores do without."), words)
    values = values_of_polynomials(equations.polynomials, equations.deviation)
    held = check_values(subject.rows, values, np.full(len(equations.polynomials), WIDE))
    lines = [
        [
            polynomial(g, zero=True),
            figures(deviation, 3),
            figures(np.sqrt(square), 3),
            percent(share),
            Cell(f"{worst:.3g}", float(worst)),
            _at(subject, int(row)),
        ]
        for g, deviation, square, share, worst, row in zip(
            equations.polynomials,
            equations.deviation,
            held.mean_square,
            held.share_beyond,
            held.worst,
            held.row,
            strict=True,
        )
    ]
    heads = ["equation", "deviation at fit", "here, in deviations", f"beyond {WIDE:.0f}", "worst", "worst row"]
    note = "Root mean square of each equation on these rows, in units of its deviation at the fit: 1 is as expected."
    return join(paragraph(note), table(heads, lines, name="equations", most=300), words)


def _drift(detector: Any, subject: Subject) -> Html | None:
    """The test for drift on blocks of the sampled rows, in the order of time; None with too few rows."""
    rows = subject.seen.complete
    numbers = subject.seen.numbers[np.isfinite(subject.seen.X).all(axis=1)]
    if len(rows) < N_BLOCKS * N_BLOCKS:
        return None
    source = ArrayRows(rows)
    source.quiet = True
    blocks = detector.drift(source, block_rows=-(-len(rows) // N_BLOCKS))
    lines = [
        [
            _at(subject, int(numbers[int(start)])),
            figures(n),
            percent(alarms),
            figures(p_value, 2),
            figures(shift, 3),
            str(equation),
        ]
        for start, n, alarms, p_value, shift, equation in zip(
            *(blocks[key] for key in ("first_row", "n_rows", "alarms", "p_value", "shift", "equation")), strict=True
        )
    ]
    heads = ["first row", "rows", "alarms", "p-value", "shift, in deviations", "equation that shifted most"]
    text = (
        "Whether rows as a whole obey the equations: the chance that normal rows differ as much from those of the fit."
    )
    return join(paragraph(text), table(heads, lines, name="blocks"))
