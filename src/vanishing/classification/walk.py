"""The default search: down the values of psi as long as the scores improve, with a window of values of C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..progress import Progress
from .crossval import Fold, Study, score_folds
from .scoring import Scores

__all__ = ["Walk", "most_columns", "most_terms", "psi_grid"]

_PER_DECADE = 2  # values of psi
_DECADES = 6.5
_CHEAP = 6  # values of psi that are tried to compare transforms
_STRIDE = 3  # values of psi that share passes before the walk looks at the scores
_PATIENCE = 4  # values of psi in a row without a better score that end the walk ...
_LESS_PATIENCE = 3  # ... and one that goes on from the best of another
_CLEARLY = 3.0  # standard errors of an accuracy, by which a score counts as two without a better one
_BELOW, _ABOVE = 1, 1  # values of C in the window beside the last best one
_TERMS = 12.0  # terms of a class over the root of the number of rows, for one class in K: divided by K
_FEW_TERMS, _MANY_TERMS = 40, 600
_COLUMN_SHARE, _COLUMNS = 0.3, 750  # most columns: a share of the training rows, or this many
_WORK = 6e9  # multiplications of the Hessians of a Newton step, one for each plane


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
    by_rows = int(np.clip(_TERMS * np.sqrt(n_rows) / n_classes, _FEW_TERMS, _MANY_TERMS))
    return max(by_rows, 2 * n_features + 2)


def most_columns(n_rows: int, n_classes: int) -> int:
    """Columns that an SVM of the search may see, for ``n_rows`` training rows."""
    n_planes = 1 if n_classes == 2 else n_classes
    by_work = int(np.sqrt(_WORK / (n_planes * n_rows)))
    return min(max(int(_COLUMN_SHARE * n_rows), _COLUMNS), by_work)


class Walk:
    """A search down the values of psi, a few at a time, on the folds of a study.

    Ends after four values without a better score, where clearly worse ones count twice, or where the ideals or the
    columns become too many; between the last value before that and the first beyond, one more is tried. With
    ``window``, later values of psi see only the Cs around the best of the one before. A walk onwards from the best psi
    of another, and from the place of its C, ends after three values already.

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
        groups: Sequence[list[Fold]],
        progress: Progress,
        *,
        window: bool,
        onwards_from: int | None = None,
    ):
        self.study, self.groups = study, groups
        self.psis, self.Cs = [*psis, np.nan], list(Cs)
        self.scores = Scores.empty(len(self.psis), len(Cs), sum(len(group) for group in groups))
        self.best = -np.inf
        self._progress = progress
        self._patience, self._stride = (_PATIENCE, _STRIDE) if onwards_from is None else (_LESS_PATIENCE, 1)
        self._window = window and len(Cs) > 4
        self._low, self._high = (1, len(Cs) - 1) if self._window else (0, len(Cs))
        if self._window and onwards_from is not None:
            self._centre(onwards_from)
        self._next, self._stale, self._beyond = 0, 0, False

    @property
    def _ended(self) -> bool:
        return self._beyond or self._stale >= self._patience or self._next >= len(self.psis) - 1

    def explore(self) -> None:
        """Try the largest values of psi, which are cheap."""
        while not self._ended and self._next < _CHEAP:
            self._advance()

    def finish(self) -> None:
        """Walk to the end."""
        while not self._ended:
            self._advance()
        last, beyond = self._next - 1, self._next
        if self._beyond and self._stale == 0 and last >= 0 and not self.scores.too_large[last]:
            self.psis[-1] = float(np.sqrt(self.psis[last] * self.psis[beyond]))
            self._score([len(self.psis) - 1])

    def _advance(self) -> None:
        """Try the next few values of psi: no more than could end the walk, since small values cost most."""
        n_new = min(self._stride, max(self._patience - self._stale, 1))
        batch = list(range(self._next, min(self._next + n_new, len(self.psis) - 1)))
        self._score(batch)
        for i in batch:
            self._look_at(i)
            if self._beyond:
                return

    def _score(self, batch: list[int]) -> None:
        chosen = list(range(self._low, self._high))
        psis, Cs = [self.psis[i] for i in batch], [self.Cs[c] for c in chosen]
        scores = score_folds(self.study, psis, Cs, self.groups, self._progress, at_least=int(batch[0] == 0))
        self.scores.put(batch, chosen, scores)

    def _look_at(self, i: int) -> None:
        """Move on from a value of psi, by its scores."""
        means = self.scores.choice[i].mean(axis=1)
        if np.isnan(means).all():
            self._beyond = bool(self.scores.too_large[i])  # else no class has a generator yet
            self._next += not self._beyond
            return
        self._next = i + 1
        score = float(np.nanmax(means))
        self._stale = 0 if score > self.best + 1e-9 else self._stale + (2 if self._is_clearly_worse(score) else 1)
        self.best = max(self.best, score)
        self._beyond = bool(self.scores.too_large[i])  # the first one, which counts whatever its size
        if self._window:
            self._centre(int(np.nanargmax(means)))

    def _is_clearly_worse(self, score: float) -> bool:
        """Whether an accuracy is worse than the best by more than chance; other scores have no known error."""
        if self.study.scorer is not None or self.study.by_likelihood:
            return False
        error = np.sqrt(self.best * (1.0 - self.best) / len(self.study.codes))
        return bool(score < self.best - _CLEARLY * error)

    def _centre(self, c: int) -> None:
        """Move the window to a C and its neighbours."""
        self._low, self._high = max(0, c - _BELOW), min(len(self.Cs), c + _ABOVE + 1)
