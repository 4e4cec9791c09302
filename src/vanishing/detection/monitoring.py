"""Evidence over time: an exponentially weighted mean of the scores, its limit, and episodes of alarm.

    e_t = e_{t-1} + (s_t - e_{t-1}) / 10

A small fault that lasts shows in e long before it shows in a row. An episode is a run of rows with e above the limit;
episodes less than ten rows apart are one. For a limit that normal rows exceed with probability alpha, in episodes of l
such rows each, there are ``1000 alpha / l`` episodes in 1,000 rows. The length l is counted at the highest level with
ten episodes among the rows of the fit; the excursions of a Gaussian process above u become shorter like 1 / u (Rice
1945).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.signal import lfilter

from .._typing import Array, Bool1D, Float1D, Float2D
from ..display import as_table, counted, moment
from .calibration import Left
from .explain import MOST_EXPLAINED, N_NAMED, blamed_columns, explain_equations
from .model import Model
from .series import N_BLOCKS, effective_rows

MEMORY = 10  # rows: the weight of a row in the evidence is a tenth, and halves every seven rows


def weighted_mean(scores: Float1D, start: float) -> Float1D:
    """The exponentially weighted mean of scores up to each row.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_mean(np.array([10.0, 10.0]), 0.0)
    array([1. , 1.9])
    """
    weight = 1.0 / MEMORY
    filtered, _ = lfilter([weight], [1.0, weight - 1.0], scores, zi=[(1.0 - weight) * start])
    return np.asarray(filtered)


def find_episodes(above: Bool1D) -> list[tuple[int, int]]:
    """First and last row of each episode.

    Examples
    --------
    >>> import numpy as np
    >>> find_episodes(np.isin(np.arange(60), [3, 4, 8, 40]))
    [(3, 8), (40, 40)]
    """
    rows = np.flatnonzero(above)
    if not rows.size:
        return []
    breaks = np.flatnonzero(np.diff(rows) > MEMORY)
    first, last = np.append(0, breaks + 1), np.append(breaks, rows.size - 1)
    return [(int(rows[a]), int(rows[b])) for a, b in zip(first, last, strict=True)]


def evidence_limit(model: Model, episodes: float) -> tuple[float, float]:
    """Where the evidence starts, the median of normal scores, and its limit for a number of episodes per 1,000 rows."""
    if model.sample is None:
        raise ValueError("A detector that was fitted to moments has no rows in time to set a limit: fit it to rows.")
    scores, keys = model.scores_left_out, model.sample.keys
    if model.near is not None:
        scores, keys = scores[model.near], keys[model.near]
    start = float(np.median(scores))
    whole = model.sample.weights.sum() >= model.total_weight * (1.0 - 1e-9)
    evidence = weighted_mean(scores, start) if whole else _evidence_in_runs(scores, keys, start)
    rate = _rate_of_rows(evidence, episodes)
    tail = Left.of_dependent(evidence, np.ones(len(evidence)), effective_rows(evidence), rate)
    return start, tail.threshold(rate)


def _evidence_in_runs(scores: Float1D, keys: Float1D, start: float) -> Float1D:
    """The evidence of rows of a sample within each run, which has one key, after twice the memory."""
    evidence = weighted_mean(scores, start)
    edges = np.append(0, np.flatnonzero(np.diff(keys)) + 1)
    place = np.arange(len(scores)) - np.repeat(edges, np.diff(np.append(edges, len(scores))))
    later = evidence[place >= 2 * MEMORY]
    return later if len(later) > len(scores) // 2 else evidence  # runs of single rows: rows in another order


def _rate_of_rows(evidence: Float1D, episodes: float) -> float:
    """The share of normal rows in alarm, for a number of episodes per 1,000 of them."""
    share, length = 0.2, 1.0
    while True:
        above = evidence > np.quantile(evidence, 1.0 - share / 2.0)
        n_episodes = len(find_episodes(above))
        if n_episodes < N_BLOCKS and share < 0.2:
            break
        share, length = share / 2.0, float(above.sum()) / max(n_episodes, 1)
    counted = float(stats.norm.isf(share))
    rate = 0.01
    for _ in range(20):  # a fixed point: shorter episodes at a higher limit
        rate = float(np.clip(episodes / 1000.0 * length * counted / max(stats.norm.isf(rate), 0.5), 1e-6, 0.4))
    return rate


@dataclass(frozen=True)
class Episode:
    """Rows in alarm: first and last row, the worst row, and the columns and equations behind it.

    ``start``, ``end`` and ``worst`` are times where the rows have them, and numbers of rows otherwise. ``columns`` and
    ``equations`` have the shares of the first rows of the episode.
    """

    start: Any
    end: Any
    worst: Any
    first_row: int
    last_row: int
    worst_row: int
    evidence: float
    columns: dict[str, float]
    equations: dict[str, float]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.last_row - self.first_row + 1

    def __str__(self) -> str:
        if self.last_row > self.first_row:
            rows = f"{self.n_rows:,} rows, worst {moment(self.worst)}"
            span = f"{moment(self.start)} to {moment(self.end)}: {rows}"
        else:
            span = f"{moment(self.start)}: 1 row"
        named = ", ".join(list(self.columns)[:N_NAMED])
        return span + (f"; {named}" if named else "")


@dataclass(frozen=True)
class Monitoring:
    """Rows over time: scores, evidence and its limit, and the episodes of alarm.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        Higher is worse.
    evidence : ndarray of shape (n_rows,)
        Their exponentially weighted mean.
    limit : float
        Of the evidence.
    alarms : ndarray of bool, shape (n_rows,)
        Whether the evidence is above it.
    episodes : list of Episode
    times : ndarray of shape (n_rows,)
        Times, or numbers of rows.
    n_missing : int
        Rows with missing values, which were scored by their other columns.
    """

    scores: Float1D
    evidence: Float1D
    limit: float
    episodes: list[Episode]
    times: Array
    n_missing: int

    @property
    def alarms(self) -> Bool1D:
        """Whether the evidence is above its limit, row by row."""
        return np.asarray(self.evidence > self.limit)

    def to_table(self) -> Any:
        """One line for each episode: a DataFrame, or a dict of lists where pandas is not installed."""
        fields = ("start", "end", "worst", "first_row", "last_row", "worst_row", "n_rows", "evidence")
        table = {name: [getattr(episode, name) for episode in self.episodes] for name in fields}
        table["columns"] = [", ".join(list(episode.columns)[:N_NAMED]) for episode in self.episodes]
        table["equations"] = [next(iter(episode.equations), "") for episode in self.episodes]
        return as_table(table)

    def plot(self, ax: Any = None) -> Any:
        """Draw the evidence over time, with its limit and the episodes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            That of a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from ..plots import plot_episodes  # needs Matplotlib

        spans = [(episode.first_row, episode.last_row) for episode in self.episodes]
        return plot_episodes(self.evidence, self.limit, spans, times=self.times, ax=ax)

    def __str__(self) -> str:
        scored = "was scored by its" if self.n_missing == 1 else "were scored by their"
        gaps = f"; {counted(self.n_missing, 'row')} with gaps {scored} other columns" if self.n_missing else ""
        head = f"{counted(len(self.episodes), 'alarm episode')} in {counted(len(self.scores), 'row')}{gaps}"
        return "\n".join([head, *(f"  {episode}" for episode in self.episodes)])


def alarm_spans(model: Model, scores: Float1D, episodes: float = 1.0) -> tuple[Float1D, float, list[tuple[int, int]]]:
    """The evidence of rows with scores, its limit, and the first and last row of each episode."""
    start, limit = evidence_limit(model, episodes)
    evidence = weighted_mean(scores, start)
    return evidence, limit, find_episodes(evidence > limit)


def monitor_rows(
    model: Model, X: Float2D, scores: Float1D, times: Array, names: Sequence[str], episodes: float
) -> Monitoring:
    """The episodes of rows with scores."""
    evidence, limit, spans = alarm_spans(model, scores, episodes)
    peaks = [first + int(np.argmax(evidence[first : last + 1])) for first, last in spans]
    worst = set(np.argsort([-evidence[peak] for peak in peaks], kind="stable")[:MOST_EXPLAINED].tolist())
    found = []
    for k, ((first, last), peak) in enumerate(zip(spans, peaks, strict=True)):
        columns, equations = _reasons(model, X[first : first + MEMORY], names) if k in worst else ({}, {})
        row = first + int(np.argmax(scores[first : last + 1]))
        span = times[first], times[last], times[row]
        found.append(Episode(*span, first, last, row, float(evidence[peak]), columns, equations))
    n_missing = int(np.isnan(X).any(axis=1).sum())
    return Monitoring(scores, evidence, limit, found, times, n_missing)


def _reasons(model: Model, X: Float2D, names: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Columns and equations behind the first rows of an episode, with their shares."""
    rows = X[~np.isnan(X).any(axis=1)]
    if not len(rows):
        return {}, {}
    explained = explain_equations(model, rows[-1], names)
    equations = dict(zip(explained["equation"], explained["share"], strict=True))
    return blamed_columns(model, rows, names), equations
