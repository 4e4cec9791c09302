"""The report about rules: whether they still hold, how many rows miss each, and which rows."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..constants import IN_REPR, TINY
from ..plots.style import ALARM, GRID, LINE, MUTED, finish, shorten, tame
from ..report.figures import figure
from ..report.markup import Html, join, paragraph, tag
from ..report.mathml import polynomial
from ..report.page import Section, Story, Tile
from ..report.reported import Subject
from ..report.tables import MOST_ROWS, Cell, figures, percent, table
from ..rows.array_api import to_host
from ..rows.gaps import Gaps
from ..rows.protocol import Block, Cost
from .report import Comparison, Report
from .rule import Rule, absolute_values


class _Missed(NamedTuple):
    """The accumulator: counts of rows, and the worst rows that miss a rule.

    ``held`` counts the rows that obey each rule, ``n_missed`` those that miss any. Of the worst, ``times`` is the
    residual in tolerances of the ``rule`` that the row misses most, ``numbers`` its place from the first row on.
    """

    n_rows: int
    held: Int1D
    n_missed: int
    times: Float1D
    rule: Int1D
    numbers: Int1D
    X: Float2D


def rules_story(rules: Any, subject: Subject) -> Story:
    """What the page about rules says; one pass over subject.rows."""
    with subject.clock.part("checking rules"):
        missed = _compare(list(rules), subject)
        gaps = Gaps(missed.n_rows, 0, np.zeros(len(subject.names), dtype=np.int64))
        report = Report(rules, Comparison(gaps, missed.held, ((),) * len(rules)))
    with subject.clock.part("pictures"):
        sections = [
            Section("Rules", _rules(list(rules), missed, report)),
            Section("Rows on the rules", _pictures(list(rules), missed, subject)),
        ]
    sections.insert(1, Section("Rows that miss a rule", _rows(list(rules), missed, subject)))
    tiles = [
        Tile("passed" if report.passed else "failed", "compared with the rows of the fit", "Fisher's exact test, 1%"),
        Tile(f"{missed.n_missed:,}", "rows miss a rule", f"{missed.n_missed / missed.n_rows:.2%} of {missed.n_rows:,}"),
        Tile(f"{len(rules):,}", "rule" if len(rules) == 1 else "rules", f"between {len(subject.names)} columns"),
    ]
    n = missed.n_missed
    title = f"{n:,} of {missed.n_rows:,} rows miss{'es' if n == 1 else ''} a rule"
    return Story("Rules of a table", title, tiles, sections)


def _times(rules: list[Rule], X: Float2D) -> Float2D:
    """Residuals of rows and rules, in tolerances."""
    return np.asarray(absolute_values(rules, X) / np.maximum([rule.tolerance for rule in rules], TINY))


def _compare(rules: list[Rule], subject: Subject) -> _Missed:
    """Compare all rows with the rules, in one pass."""

    def kernel(block: Block) -> _Missed:
        X = np.asarray(to_host(block.X), dtype=np.float64)
        times = _times(rules, X)
        worst = times.max(axis=1)
        places = np.argsort(-worst, kind="stable")[: min(MOST_ROWS, int((worst > 1.0).sum()))]
        rule = np.argmax(times[places], axis=1) if places.size else np.empty(0, dtype=np.int64)
        held = (times <= 1.0).sum(axis=0)
        return _Missed(len(X), held, int((worst > 1.0).sum()), worst[places], rule, places, X[places])

    width = 4 * subject.rows.n_features * len(rules)
    return subject.rows.reduce(kernel, _add_missed, Cost(width, width))


def _add_missed(a: _Missed, b: _Missed) -> _Missed:
    times = np.concatenate([a.times, b.times])
    worst = np.argsort(-times, kind="stable")[:MOST_ROWS]
    numbers = np.concatenate([a.numbers, a.n_rows + b.numbers])
    rule, X = np.concatenate([a.rule, b.rule]), np.concatenate([a.X, b.X])
    counts = a.n_rows + b.n_rows, a.held + b.held, a.n_missed + b.n_missed
    return _Missed(*counts, times[worst], rule[worst], numbers[worst], X[worst])


def _rules(rules: list[Rule], missed: _Missed, report: Report) -> Html:
    lines = [
        [
            polynomial(rule.polynomial, zero=True),
            figures(rule.tolerance),
            figures(int(missed.n_rows - held)),
            percent(share),
            percent(1.0 - rule.exceptions / rule.n_rows) if rule.n_rows else Cell("", float("nan")),
            figures(p_value, 2),
        ]
        for rule, held, share, p_value in zip(rules, missed.held, report.share, report.p_values, strict=True)
    ]
    heads = ["rule", "tolerance", "rows that miss it", "rows that obey it", "at the fit", "p-value"]
    text = (
        "A row obeys a rule where the left-hand side is within the tolerance. The p-value is the chance of as many "
        "exceptions, or more, if they are as frequent as at the fit."
    )
    return join(paragraph(text), table(heads, lines, name="rules", most=300))


def _rows(rules: list[Rule], missed: _Missed, subject: Subject) -> Html:
    if not missed.numbers.size:
        return paragraph("All rows obey all rules.")
    lines = []
    for number, times, k, row in zip(missed.numbers, missed.times, missed.rule, missed.X, strict=True):
        rule = rules[int(k)]
        values = [f"{name} = {row[subject.names.index(name)]:.6g}" for name in rule.columns]
        lines.append([figures(int(number)), figures(times, 3), shorten(str(rule), 80), ", ".join(values)])
    heads = ["row", "times the tolerance", "rule that it misses most", "values"]
    more = missed.n_missed - len(lines)
    note = f" {more:,} more are not shown." if more else ""
    return join(paragraph(f"The worst rows first; rows count from 0.{note}"), table(heads, lines, name="rows"))


def _pictures(rules: list[Rule], missed: _Missed, subject: Subject) -> Html:
    """The rules with most exceptions, on the rows of the sample and the worst ones."""
    seen = subject.seen
    numbers, first = np.unique(np.concatenate([seen.numbers, missed.numbers]), return_index=True)
    X = np.concatenate([seen.X, missed.X])[first]
    order = np.argsort(missed.held, kind="stable")[:IN_REPR]
    some = "" if len(numbers) == missed.n_rows else f" {len(numbers):,} of the rows, the worst ones among them."
    caption = f"How far rows are off, in tolerances.{some}"
    drawn = [figure(partial(_draw, rules[int(k)], X, numbers), (5.8, 2.8), caption) for k in order]
    return tag("div", *drawn, class_="figures")


def _draw(rule: Rule, X: Float2D, numbers: Int1D, ax: Any) -> Any:
    values = rule.polynomial.evaluate(X) / max(rule.tolerance, TINY)
    beyond = np.abs(values) > 1.0
    ax.axhspan(-1.0, 1.0, color=GRID, alpha=0.45, linewidth=0, zorder=0)
    ax.axhline(0.0, color=MUTED, linewidth=0.8)
    ax.plot(numbers[~beyond], values[~beyond], ".", color=LINE, markersize=3, alpha=0.6, rasterized=True)
    ax.plot(numbers[beyond], values[beyond], ".", color=ALARM, markersize=6, rasterized=True)
    tame(ax, values, 1.0)
    return finish(ax, title=shorten(rule.polynomial.to_text(4) + " = 0", 60), x="row", y="tolerances", grid=None)
