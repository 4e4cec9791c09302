"""What to try next: each strategy sees the trials so far with their scores, and asks for more, or for none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..model.columns import Columns
from .trials import History, Trial, best_trial

__all__ = ["BetterScaling", "Grid", "RicherColumns", "Strategy", "WalkDown", "neighbours"]


class Strategy(Protocol):
    """Proposes trials."""

    def ask(self, history: History) -> list[Trial]:
        """The trials to score next; none, if the strategy has ended."""


@dataclass(frozen=True)
class Grid:
    """Every pair of psi and C, at once."""

    scaling: Any
    psis: Sequence[float]
    Cs: Sequence[float]
    columns: Columns

    def ask(self, history: History) -> list[Trial]:
        """All trials the first time, none afterwards."""
        trials = [Trial(self.scaling, psi, C, self.columns) for psi in self.psis for C in self.Cs]
        return [] if trials[0] in history else trials


@dataclass(frozen=True)
class WalkDown:
    """One value of psi after the other, the largest first.

    The first psi with a generator is tried with every C, each later one with the best C of the psi before and its
    neighbours. The walk ends after ``patience`` values of psi in a row without a better one.
    """

    scaling: Any
    psis: Sequence[float]
    Cs: Sequence[float]
    columns: Columns
    patience: int

    def ask(self, history: History) -> list[Trial]:
        """The trials of the next psi."""
        best, n_stale, Cs = -np.inf, 0, list(self.Cs)
        for psi in self.psis:
            trials = [Trial(self.scaling, psi, C, self.columns) for C in self.Cs]
            known = {trial: history[trial] for trial in trials if trial in history}
            if not known:
                return [trial for trial in trials if trial.C in Cs]
            own = max(known, key=lambda trial: np.nan_to_num(known[trial].value, nan=-np.inf))
            value = known[own].value
            if not np.isnan(value):
                n_stale = 0 if value > best else n_stale + 1
                best, Cs = max(best, value), neighbours(self.Cs, own.C)
            if n_stale >= self.patience:
                break
        return []

    def n_done(self, history: History) -> int:
        """How many values of psi were tried."""
        own = {trial.psi for trial in history if (trial.scaling, trial.columns) == (self.scaling, self.columns)}
        return len(own.intersection(self.psis))


def neighbours(values: Sequence[float], centre: float) -> list[float]:
    """The value nearest to the centre, and those beside it.

    Examples
    --------
    >>> neighbours([0.01, 0.1, 1.0, 10.0], 0.1), neighbours([0.01, 0.1, 1.0, 10.0], 10.0)
    ([0.01, 0.1, 1.0], [1.0, 10.0])
    """
    ordered = sorted(values)
    k = int(np.argmin(np.abs(np.log(np.array(ordered) / centre))))
    return ordered[max(k - 1, 0) : k + 2]


@dataclass(frozen=True)
class BetterScaling:
    """The first values of psi with every scaling of the inputs, the others with the scaling that is best by then.

    Scalings after the first have to be clearly ahead, see :func:`~.trials.best_trial`.
    """

    walks: Sequence[WalkDown]
    n_compared: int

    def ask(self, history: History) -> list[Trial]:
        """The trials of the next psi of a walk."""
        for walk in self.walks:
            if walk.n_done(history) < self.n_compared and (trials := walk.ask(history)):
                return trials
        best = best_trial(history)
        return [] if best is None else next(walk for walk in self.walks if walk.scaling == best.scaling).ask(history)


@dataclass(frozen=True)
class RicherColumns:
    """The best model so far with other columns, one change after the other; a change that is clearly ahead stays.

    ``changes`` are fields of :class:`~vanishing.Columns` with their values. The history starts with the trials of a
    walk; the changes that follow it are replayed, so that none is asked for twice.
    """

    changes: Sequence[Mapping[str, Any]]
    Cs: Sequence[float]

    def ask(self, history: History) -> list[Trial]:
        """The next change of the best trial, with its C and those beside it."""
        first = next(iter(history)).columns
        known = {trial: score for trial, score in history.items() if trial.columns == first}
        for change in self.changes:
            best = best_trial(known)
            if best is None:
                return []
            changed = best._replace(columns=replace(best.columns, **change))
            trials = [changed._replace(C=C) for C in neighbours(self.Cs, best.C)]
            if trials[0] not in history:
                return trials
            known.update({trial: history[trial] for trial in trials if trial in history})
        return []
