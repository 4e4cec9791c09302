"""The report of a check: how many rows of a table obey each rule, and which do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from .._typing import Array
from ..constants import IN_TEXT
from ..display import as_table, counted
from ..rows.gaps import Gaps, add_gaps, complete_part
from ..rows.protocol import Block, Cost, Rows
from .rule import Rule, absolute_values

SIGNIFICANT = 0.01  # chance of a failed check although nothing has changed


def report_on(rules: Sequence[Rule], rows: Rows, names: Sequence[str]) -> Report:
    """Compare rows with rules, in one pass; rows with missing values are left out."""
    width = 4 * rows.n_features * max(len(rules), 1)
    compare = _Compare(tuple(rules), tuple(names), rows.place)
    return Report(rules, rows.reduce(compare, _add_comparisons, Cost(width, width)), names)


class Comparison(NamedTuple):
    """The accumulator of a check: the gaps in the rows, how many obey each rule, and the worst rows of each rule.

    A worst row is its residual, the part of the source and the number within the part.
    """

    gaps: Gaps
    held: Array
    worst: tuple[tuple[tuple[float, int, int], ...], ...]


@dataclass(frozen=True)
class _Compare:
    """The kernel of a check."""

    rules: tuple[Rule, ...]
    names: tuple[str, ...]
    place: Callable[[int, int], str]

    def __call__(self, block: Block) -> Comparison:
        gaps, rows, X = complete_part(block, self.names, self.place)
        residuals = absolute_values(self.rules, X)
        tolerance = np.array([rule.tolerance for rule in self.rules])
        worst = []
        for values in residuals.T:
            order = np.argsort(-values, kind="stable")[:IN_TEXT]
            worst.append(tuple((float(values[i]), block.part, block.start + int(rows[i])) for i in order))
        return Comparison(gaps, (residuals <= tolerance).sum(axis=0), tuple(worst))


def _add_comparisons(a: Comparison, b: Comparison) -> Comparison:
    worst = tuple(tuple(sorted((*x, *y), reverse=True)[:IN_TEXT]) for x, y in zip(a.worst, b.worst, strict=True))
    return Comparison(add_gaps(a.gaps, b.gaps), a.held + b.held, worst)


class Report:
    """How a table compares with rules.

    Attributes
    ----------
    n_rows : int
        Rows without missing values, which are compared with the rules.
    n_missing : int
        Rows with missing values, which were left out.
    share : ndarray of shape (n_rules,)
        Rows that obey each rule.
    p_values : ndarray of shape (n_rules,)
        Probability of at least as many exceptions if they are as frequent as when the rule was learnt (Fisher's exact
        test; for rules written by hand, 1 if all rows obey them and 0 if not).
    worst_rows : list of ndarray
        For each rule the rows that miss it, the worst first, at most ten; rows are counted within their file.
    """

    def __init__(self, rules: Sequence[Rule], comparison: Comparison, names: Sequence[str] = ()):
        gaps, held = comparison.gaps, comparison.held
        n_rows = gaps.n_rows - gaps.n_missing
        if not n_rows:
            raise ValueError("Every row has a missing value, so no row can be compared with the rules: impute some.")
        self.rules = rules
        self.n_rows, self.n_missing = n_rows, gaps.n_missing
        self._left_out = gaps.to_text(names) if gaps.n_missing else None
        self.share = held / n_rows
        self.p_values = np.array([_p_value(rule, int(n_rows - n), n_rows) for rule, n in zip(rules, held, strict=True)])
        self.worst_rows = [
            np.array([row for value, _, row in worst if value > rule.tolerance], dtype=np.int64)
            for rule, worst in zip(rules, comparison.worst, strict=True)
        ]

    @property
    def passed(self) -> bool:
        """Whether no rule has significantly more exceptions than before (p-values of at least 1% after Bonferroni)."""
        return bool((self.p_values * len(self.rules) >= SIGNIFICANT).all())

    def to_table(self) -> Any:
        """One line for each rule: a DataFrame, or a dict of lists where pandas is not installed."""
        return as_table(
            {
                "rule": [str(rule) for rule in self.rules],
                "share": self.share.tolist(),
                "p_value": self.p_values.tolist(),
                "worst_rows": [rows.tolist() for rows in self.worst_rows],
            }
        )

    def __str__(self) -> str:
        lines = [
            f"{share:8.2%}  p = {p:.2g}  {rule}" + (f"  rows {', '.join(map(str, rows))}" if rows.size else "")
            for rule, share, p, rows in zip(self.rules, self.share, self.p_values, self.worst_rows, strict=True)
        ]
        left_out = [] if self._left_out is None else [self._left_out]
        return "\n".join([f"{counted(self.n_rows, 'row')}: {'passed' if self.passed else 'FAILED'}", *lines, *left_out])


def _p_value(rule: Rule, missed: int, n_rows: int) -> float:
    """The chance of at least as many exceptions if nothing has changed since the rule was learnt."""
    if not rule.n_rows:
        return float(missed == 0)
    table = [[missed, n_rows - missed], [rule.exceptions, rule.n_rows - rule.exceptions]]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)
