"""The default search: down the values of psi as long as the scores improve, with a window of values of C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._typing import Float1D
from ..progress import Progress
from .crossval import FoldIdeals, Study, fit_ideals, score_ideals
from .extras import ColumnOptions
from .scoring import Scores, equal_models, held_out_hits, held_out_likelihoods, paired_difference
from .screening import Screen

__all__ = ["Walk", "explore_in_turns", "most_columns", "most_terms", "psi_grid", "screen_of"]

_PER_DECADE = 2  # values of psi
_DECADES = 6.5
_TURNS = 6  # values of psi that are tried to compare scalings at most ...
_FEW_TURNS = 3  # ... and at least, where one is clearly better ...
_COSTLY = 150  # ... or two, where they have more generators
_STRIDE = 3  # values of psi whose ideals share passes
_PATIENCE = 4  # values of psi in a row without a better score that end the walk ...
_LESS_PATIENCE = 3  # ... and one that goes on from the best of another ...
_LONG_STEP = 2  # ... in steps of as many values
_CLEARLY = 2.0  # standard errors of a difference, by which a score counts as two without a better one
_SLIGHTLY = 1.0  # standard errors of a difference, up to which a smaller C is as good
_MANY_TIMES = 3  # as many columns of generators as other columns, beyond which hinges and products are not tried
_AT_LEAST = 2  # a class and its halves have at least this many times the generators of the class
_FAR_BELOW = 2  # values of C that are tried with more columns below the best without them
_BELOW, _ABOVE = 1, 1  # values of C in the window beside the last good one ...
_GROWN = 1.5  # ... and one more below, if there are more generators than that many times those before ...
_ALL_CS = 75  # ... or all, for up to as many generators, times the number of planes: these cost little
_TERMS = 12.0  # terms of a class over the root of the number of rows, for one class in K: divided by K
_SEVERAL = 7  # classes that share the terms and the work of a search; more of them have more ...
_MORE_TIME = 8  # ... up to as many times
_FEW_TERMS, _MANY_TERMS = 40, 600
_COLUMN_SHARE, _COLUMNS = 0.3, 750  # most columns: a share of the training rows, or this many
_WORK = 6e9  # multiplications of the Hessians of a Newton step, one for each plane ...
_LESS_WORK = 1.5e9  # ... and with the columns that are chosen of too many
_WORK_OF_HALVES = 4.5e9  # ... and with the generators of halves on a sample: those of all rows take long, too
_MORE_WORK = 1.5e10  # ... and with hinges and products beside the generators of the best psi


def psi_grid(largest: float) -> list[float]:
    """Values of psi in half-decades from the largest variance of a column within a class, 6.5 decades down.

    Examples
    --------
    >>> [float(f"{psi:.2g}") for psi in psi_grid(0.1)[:3]]
    [0.1, 0.032, 0.01]
    """
    return [largest * 10.0 ** (-step / _PER_DECADE) for step in range(int(_DECADES * _PER_DECADE) + 1)]


def most_terms(n_rows: int, n_features: int, n_classes: int) -> int:
    """Terms and generators that the ideal of a class may have: more for more rows.

    Examples
    --------
    >>> most_terms(100, 4, 2), most_terms(10_000, 4, 2), most_terms(10_000, 500, 2)
    (60, 600, 1002)
    """
    by_rows = int(np.clip(_TERMS * np.sqrt(n_rows) / _sharing(n_classes), _FEW_TERMS, _MANY_TERMS))
    return max(by_rows, 2 * n_features + 2)


def most_columns(n_rows: int, n_classes: int) -> int:
    """Columns that an SVM of the search may see, for ``n_rows`` training rows."""
    n_planes = 1 if n_classes == 2 else _sharing(n_classes)
    by_work = int(np.sqrt(_WORK / (n_planes * n_rows)))
    return min(max(int(_COLUMN_SHARE * n_rows), _COLUMNS), by_work)


def screen_of(n_rows: int, n_classes: int) -> Screen:
    """The columns that an SVM of the search may see, and how many are chosen of more, for ``n_rows`` training rows."""
    return Screen(most_columns(n_rows, n_classes), int(np.sqrt(_LESS_WORK / (_sharing(n_classes) * n_rows))))


def _sharing(n_classes: int) -> float:
    """How many classes share the terms and the work of a search: all of several; of many, which need more, fewer."""
    return max(min(n_classes, _SEVERAL), n_classes / _MORE_TIME)


class Walk:
    """A search down the values of psi, a few at a time, on the folds of a study.

    Ends after four values without a better score, or where the ideals or the columns become too many; between the last
    value before that and the first beyond, one more is tried. Values with many generators, which cost, count twice if
    they are clearly worse, and once more on a sample of the rows (``sampled``). With ``window``, such values see only
    the Cs around a good one of the value before. A walk onwards from the best psi of another, and from the place of its
    C, takes every second value, ends after three of them already, and then tries the values beside the best one.

    Attributes
    ----------
    psis : list of float
        The values, in descending order, and one more at the end: that tried between two of them, or NaN.
    scores : Scores
        NaN for values that were not tried.
    best : float
        The best mean score so far.
    """

    def __init__(
        self,
        study: Study,
        psis: Sequence[float],
        Cs: Sequence[float],
        progress: Progress,
        *,
        window: bool,
        onwards_from: int | None = None,
        enough: float = np.inf,
        sampled: bool = False,
    ):
        self.study, self.psis, self.Cs = study, [*psis, np.nan], list(Cs)
        self.scores = Scores.empty(len(self.psis), len(Cs), len(study.folds))
        self.best, self._enough, self._sampled = -np.inf, enough, sampled
        self._progress = progress
        self._patience, self._stride = (_PATIENCE, _STRIDE) if onwards_from is None else (_LESS_PATIENCE, 1)
        self._step = 1 if onwards_from is None else _LONG_STEP
        self._first, self._window = onwards_from is None, window and len(Cs) > 4
        self._low, self._high = (1, len(Cs) - 1) if self._window else (0, len(Cs))
        if self._window and onwards_from is not None:
            self._centre(onwards_from)
        self._next, self._stale, self._beyond = 0, 0, False
        self._best_pair: tuple[int, int] | None = None
        self._ideals: dict[int, FoldIdeals] = {}
        self._best_ideals: FoldIdeals | None = None

    @property
    def _ended(self) -> bool:
        return self._beyond or self._stale >= self._patience or self._next >= len(self.psis) - 1

    def step(self) -> None:
        """Try one more value of psi, unless the walk has ended."""
        if not self._ended:
            self._advance()

    @property
    def is_costly(self) -> bool:
        """Whether the last value of psi has many generators."""
        last = self._ideals.get(self._next - 1)
        return last is not None and last.most_generators > _COSTLY

    def is_clearly_ahead_of(self, other: Walk) -> bool:
        """Whether its best accuracy is better by more than chance; other scores have no known error."""
        if self._best_pair is None or other._best_pair is None:
            return False
        return self._counts and _is_clear(self._hits(self._best_pair), other._hits(other._best_pair))

    def with_columns(self, columns: ColumnOptions) -> Walk | None:
        """The best psi alone with more columns: of halves, or beside the generators; None where that does not pay.

        Many more generators than hinges and products can do what these do.
        """
        if self._best_pair is None or self._best_ideals is None or not self._counts:
            return None
        if self.scores.too_large[self._best_pair[0]]:
            return None
        if columns.halves and not self.study.columns.halves:
            return self._with_halves(columns, self._best_ideals)
        n_generators, n_others = self._n_columns(columns, self._best_ideals)
        if n_generators > _MANY_TIMES * n_others:
            return None
        return self._at_the_best(columns, self._best_ideals, _MORE_WORK)

    def _with_halves(self, columns: ColumnOptions, without: FoldIdeals) -> Walk | None:
        """The best psi with the generators of halves, too, if a class is cut."""
        assert self._best_pair is not None
        most = _WORK_OF_HALVES if self._sampled else _MORE_WORK
        if self._work(_AT_LEAST * self._n_columns(columns, without)[0]) > most:
            return None
        (ideals,) = fit_ideals(replace(self.study, columns=columns), [self.psis[self._best_pair[0]]])
        if ideals.too_large or ideals.most_generators == without.most_generators:
            return None
        return self._at_the_best(columns, ideals, most)

    def _at_the_best(self, columns: ColumnOptions, ideals: FoldIdeals, most: float) -> Walk | None:
        """The best psi, with Cs from two below the best one on, which more columns want; None beyond some work."""
        if self._best_pair is None or self._work(sum(self._n_columns(columns, ideals))) > most:
            return None
        i, c = self._best_pair
        study = replace(self.study, columns=columns, screen=None)
        other = Walk(study, [self.psis[i]], self.Cs, self._progress, window=False)
        other._low, other._high = max(c - _FAR_BELOW, 0), c + 1
        other._ideals[0] = ideals
        other._advance()
        return other

    def _n_columns(self, columns: ColumnOptions, ideals: FoldIdeals) -> tuple[int, int]:
        """Columns of generators, and others."""
        n_each = 2 if columns.features == "both" else 1
        return n_each * ideals.most_generators, columns.extras(self.study.X).n_columns

    def _work(self, n_columns: int) -> float:
        """Multiplications of the Hessians of a Newton step, one for each plane."""
        n_rows = min(len(fold.train) for fold in self.study.folds)
        return float(len(self.study.planes) * n_rows * n_columns**2)

    def is_ahead_of(self, other: Walk) -> bool:
        """Whether its best accuracy is better by more than one standard error of the difference."""
        if self._best_pair is None or other._best_pair is None:
            return False
        return _is_clear(self._hits(self._best_pair), other._hits(other._best_pair), _SLIGHTLY)

    def is_likelier_than(self, other: Walk) -> bool:
        """Whether the held-out labels are likelier by more than one standard error, and it is not behind in accuracy.

        The likelihood tells models apart that are right about almost the same rows.
        """
        if self._best_pair is None or other._best_pair is None or other.is_ahead_of(self):
            return False
        return _is_clear(self._likelihoods(self._best_pair), other._likelihoods(other._best_pair), _SLIGHTLY)

    def followed_by(self, preferred: Walk) -> Scores:
        """Its scores, and behind them those of a walk that is preferred whatever its best score: choices are raised."""
        both = self.scores.followed_by(preferred.scores)
        both.choice[len(self.psis) :] += max(self.best - preferred.best, 0.0) + 1e-9
        return both

    @property
    def is_good_enough(self) -> bool:
        """Whether its best score is better than ``enough``."""
        return self.best > self._enough

    def finish(self) -> None:
        """Walk to the end, or until the score is good enough."""
        while not (self._ended or self.is_good_enough):
            self._advance()
        if self._step > 1:
            self._try_beside_the_best()
            return
        last, beyond = self._next - 1, self._next
        if self._beyond and self._stale == 0 and last >= 0 and not self.scores.too_large[last]:
            self.psis[-1] = float(np.sqrt(self.psis[last] * self.psis[beyond]))
            self._find_ideals([len(self.psis) - 1])
            self._score(len(self.psis) - 1)
            self._improve(len(self.psis) - 1)

    def _try_beside_the_best(self) -> None:
        """Try the values of psi beside the best one, which long steps have left out."""
        if self._best_pair is None:
            return
        i, c = self._best_pair
        if self._window:
            self._centre(c)
        for beside in (i - 1, i + 1):
            if 0 <= beside < len(self.psis) - 1:
                self._find_ideals([beside])
                self._score(beside)
                self._improve(beside)

    def _advance(self) -> None:
        """Try the next value of psi; look for the ideals of no more than could end the walk, since small ones cost."""
        i = self._next
        if i not in self._ideals:
            n_new = min(self._stride, max(self._patience - self._stale, 1))
            self._find_ideals(list(range(i, min(i + n_new, len(self.psis) - 1))))
        if i > 0 and self._repeats(i):
            self.scores.repeat(i, i - self._step)
        else:
            self._score(i)
        self._look_at(i)
        self._ideals.pop(i - self._step, None)

    def _find_ideals(self, places: list[int]) -> None:
        found = fit_ideals(self.study, [self.psis[i] for i in places])
        self._ideals.update(zip(places, found, strict=True))

    def _repeats(self, i: int) -> bool:
        """Whether a value of psi has the generators of the one before in every fold."""
        both = [(k, fold, own) for k in (i - self._step, i) for fold, own in self._ideals[k].fitted.items()]
        return 2 * len(equal_models(both)) == len(both)

    def _score(self, i: int) -> None:
        chosen = self._places_of_c(i)
        Cs = [self.Cs[c] for c in chosen]
        scores = score_ideals(self.study, [self._ideals[i]], Cs, self._progress, at_least=int(i == 0))
        self.scores.put([i], chosen, scores)

    def _places_of_c(self, i: int) -> list[int]:
        """The places of the Cs to try: the window, or more of them where there are few generators, or many more."""
        now = self._ideals[i].most_generators
        if self._first and self._window and self._counts and self._costs_little(i):
            return list(range(len(self.Cs)))
        last = self._ideals.get(i - self._step)
        before = now if last is None else last.most_generators
        low = self._low - 1 if self._window and now > _GROWN * before else self._low
        return list(range(max(low, 0), self._high))

    def _costs_little(self, i: int) -> bool:
        return self._ideals[i].most_generators * len(self.study.planes) <= _ALL_CS

    def _look_at(self, i: int) -> None:
        """Move on from a value of psi, by its scores."""
        means = self.scores.choice[i].mean(axis=1)
        if np.isnan(means).all():
            self._beyond = bool(self.scores.too_large[i])  # else no class has a generator yet
            self._next += 0 if self._beyond else self._step
            return
        self._next = i + self._step
        c = int(np.nanargmax(means))
        if self._improve(i):
            self._stale = 0
        else:
            costly = not self._costs_little(i)
            self._stale += 1 + (costly and self._sampled) + (costly and self._is_clearly_worse((i, c)))
        self._beyond = bool(self.scores.too_large[i])  # the first one, which counts whatever its size
        if self._window:
            self._centre(self._smallest_like((i, c)))

    def _improve(self, i: int) -> bool:
        """Note the best pair of a value of psi, if it is better than all before."""
        means = self.scores.choice[i].mean(axis=1)
        if not np.nanmax(means, initial=-np.inf) > self.best + 1e-9:
            return False
        c = int(np.nanargmax(means))
        self.best, self._best_pair, self._best_ideals = float(means[c]), (i, c), self._ideals[i]
        return True

    def _smallest_like(self, best: tuple[int, int]) -> int:
        """The smallest C that is as good as the best for its psi, up to chance: smaller psi want smaller ones."""
        i, last = best
        if not self._counts:
            return last
        tried = (c for c in range(last) if (i, c) in self.scores.held_out)
        alike = (c for c in tried if not _is_clear(self._hits(best), self._hits((i, c)), _SLIGHTLY))
        return min(alike, default=last)

    def _is_clearly_worse(self, pair: tuple[int, int]) -> bool:
        """Whether an accuracy is worse than the best by more than chance; other scores have no known error."""
        if not self._counts or self._best_pair is None:
            return False
        return _is_clear(self._hits(self._best_pair), self._hits(pair))

    def _hits(self, pair: tuple[int, int]) -> tuple[Float1D, Float1D]:
        """Which rows a pair is right about when they are held out, and their weights."""
        rows = self.study.held_out(self.study.folds)
        return rows.by_row(held_out_hits(rows, self.scores.answers(pair)))

    def _likelihoods(self, pair: tuple[int, int]) -> tuple[Float1D, Float1D]:
        """The log-likelihoods of the labels of rows for a pair when they are held out, and their weights."""
        rows = self.study.held_out(self.study.folds)
        return rows.by_row(held_out_likelihoods(rows, self.scores.answers(pair)))

    @property
    def _counts(self) -> bool:
        """Whether pairs are compared by the rows that they are right about."""
        return self.study.scorer is None and not self.study.by_likelihood

    def _centre(self, c: int) -> None:
        """Move the window to a C and its neighbours."""
        self._low, self._high = max(0, c - _BELOW), min(len(self.Cs), c + _ABOVE + 1)


def explore_in_turns(walks: Sequence[Walk]) -> None:
    """Try the largest values of psi for every scaling, until these tell which to go on with, or cost too much."""
    for n_tried in range(1, _TURNS + 1):
        for walk in walks:
            walk.step()
        if n_tried > 1 and any(walk.is_costly for walk in walks):
            return
        if n_tried >= _FEW_TURNS and any(a.is_clearly_ahead_of(b) for a in walks for b in walks if a is not b):
            return


def _is_clear(better: tuple[Float1D, Float1D], worse: tuple[Float1D, Float1D], n_errors: float = _CLEARLY) -> bool:
    lead, error = paired_difference(better[0], worse[0], better[1])
    return lead > n_errors * error
