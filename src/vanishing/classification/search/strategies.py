"""What a search may try, what a score says, which trial is taken, and the strategies that ask for the next ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.stats import rankdata

from ..._typing import Bool1D, Float1D, Float2D
from ...constants import ROOT_EPS
from ..model.columns import Columns
from ..model.fitting import CHOOSING_TOL
from ..model.probabilities import Calibration
from ..model.transforms import Scaling

_NO_GENERATOR = "No psi gives a generator for any class in every fold: raise psis or max_degree."


class Trial(NamedTuple):
    """A model that may be fitted: how the inputs are scaled, psi, C, and which columns the SVM sees."""

    scaling: Scaling
    psi: float
    C: float
    columns: Columns


@dataclass(frozen=True)
class TrialScore:
    """What cross-validation says about a trial.

    Parameters
    ----------
    scores : ndarray of shape (n_folds,)
        The score that users read, fold by fold: accuracy, unless they ask for another.
    value : float
        What trials are ranked by, larger is better; NaN where some fold has no generator.
    row_values, row_weights : ndarray
        ``value`` is the mean of ``row_values`` with these weights. There is one for each held-out row, the mean over
        repetitions, or one for each fold where the score does not tell rows apart.
    n_columns, n_generators : float
        Columns with a weight, and generators, in the mean over the folds.
    decisions : tuple of ndarray or None
        Decisions of the SVM about the held-out rows of each fold.
    calibration : Calibration or None
        What turns the decisions into log-odds.
    """

    scores: Float1D
    value: float
    row_values: Float1D
    row_weights: Float1D
    n_columns: float = float("nan")
    n_generators: float = float("nan")
    decisions: tuple[Float2D, ...] | None = None
    calibration: Calibration | None = None


History = Mapping[Trial, TrialScore]


def is_ahead(one: TrialScore, other: TrialScore) -> bool:
    """Whether a trial is better by more than one standard error of the difference.

    Both are scored on the same m rows, so that the error is that of the mean of their differences d,
    ``std(d) / sqrt(m)``.
    """
    difference, weights = one.row_values - other.row_values, one.row_weights
    mean = float(np.average(difference, weights=weights))
    return mean > float(np.sqrt(weights**2 @ (difference - mean) ** 2) / weights.sum())


def best_trial(history: History) -> Trial | None:
    """The best trial so far; other columns than the first ones have to be ahead by a standard error.

    Trials with the same scaling and columns compete by their value; of equals, the largest psi wins, then the smallest
    C. The columns come in the order in which they were tried, and each group needs a clear lead over the best before.
    None, if no trial has a value.
    """
    groups: dict[tuple[Scaling, Columns], Trial] = {}

    def rank(trial: Trial) -> tuple[float, float, float]:
        return float(np.nan_to_num(-history[trial].value, nan=np.inf)), -trial.psi, trial.C

    for trial in history:
        group = trial.scaling, trial.columns
        groups[group] = min(groups.get(group, trial), trial, key=rank)
    best = None
    for own in groups.values():
        if not np.isnan(history[own].value) and (best is None or is_ahead(history[own], history[best])):
            best = own
    return best


def choose(history: History, *, sparse: bool, max_columns: int | None) -> Trial:
    """The trial to take: the best; where asked for, one with few columns.

    ``max_columns`` leaves out trials with more columns, if any are left. ``sparse`` takes the trial with the fewest
    columns that the best one is not ahead of, by the one-standard-error rule.
    """
    small = {trial: score for trial, score in history.items() if score.n_columns <= (max_columns or np.inf)}
    allowed = history if best_trial(small) is None else small
    best = best_trial(allowed)
    if best is None:
        raise ValueError(_NO_GENERATOR)
    if not sparse:
        return best
    near = [t for t, s in allowed.items() if not np.isnan(s.value) and not is_ahead(allowed[best], s)]
    return min([best, *near], key=lambda trial: (allowed[trial].n_columns, -allowed[trial].value))


def tabulate(history: History, best: Trial) -> tuple[dict[str, Any], int]:
    """``cv_results_`` of scikit-learn, and the place of the best trial in it.

    Trials with the columns of the best one rank before all others, whose values did not make up for their columns.
    """
    trials = list(history)
    found = list(history.values())
    scores = np.array([score.scores for score in found])
    value = np.array([score.value for score in found])
    others: Bool1D = np.array([(trial.scaling, trial.columns) != (best.scaling, best.columns) for trial in trials])
    order = np.lexsort([np.where(np.isnan(value), np.inf, -value), others])
    key = np.empty(len(trials))
    ranked = np.column_stack([others, np.nan_to_num(value, nan=-np.inf)])[order]
    key[order] = np.cumsum(np.append(0, (ranked[1:] != ranked[:-1]).any(axis=1)))
    return {
        "params": [{"psi": trial.psi, "C": trial.C} for trial in trials],
        "param_psi": np.array([trial.psi for trial in trials]),
        "param_C": np.array([trial.C for trial in trials]),
        "param_scale_input": [trial.scaling for trial in trials],
        "param_columns": [trial.columns for trial in trials],
        **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(key, method="min").astype(np.int32),
        "mean_n_generators": np.array([score.n_generators for score in found]),
        "mean_n_columns": np.array([score.n_columns for score in found]),
    }, trials.index(best)


@dataclass(frozen=True)
class Budget:
    """What the default search may spend.

    Parameters
    ----------
    psis_per_decade : int
        Values of psi in a power of ten.
    patience : int
        The walk ends after this many values of psi without a better one. After its first ones, as many, it goes on
        with the better scaling of the inputs.
    Cs : tuple of float
        Weights of the SVM's loss: the largest psi is tried with all of them, later ones with the last best one and its
        neighbours.
    n_folds : int
        Folds of the cross-validation, and how often they are drawn for fewer rows than ``rows_of_one_draw``.
    rows_of_one_draw : int
        Rows from which on one draw of the folds says enough.
    terms_per_root_row : float
        The ideal of one of K classes of m rows may have ``terms_per_root_row * sqrt(m) / K`` terms.
    fewest_terms : int
        Terms that the ideal of a class may have however few rows there are.
    step_work : float
        Multiplications of the Hessians of one Newton step; they bound the columns that the SVMs see.
    few_errors : int
        Held-out rows with a wrong label, below which a sample of the rows cannot tell values of psi apart.
    larger : int
        How many times the rows of the sample are searched on then.
    svm_tol : float
        Relative duality gap of an SVM that only helps to choose.
    """

    psis_per_decade: int = 2
    patience: int = 3
    Cs: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)
    n_folds: int = 3
    rows_of_one_draw: int = 1000
    terms_per_root_row: float = 12.0
    fewest_terms: int = 40
    step_work: float = 6e9
    few_errors: int = 100
    larger: int = 4
    svm_tol: float = CHOOSING_TOL

    def psis(self, largest: float) -> list[float]:
        """Values of psi from the largest down to the root of the machine epsilon, below which Grams are rounding.

        Examples
        --------
        >>> [float(f"{psi:.2g}") for psi in Budget().psis(0.1)[:3]]
        [0.1, 0.032, 0.01]
        """
        smallest = ROOT_EPS
        n_steps = int(self.psis_per_decade * np.log10(max(largest / smallest, 1.0)))
        return [max(largest, smallest) * 10.0 ** (-step / self.psis_per_decade) for step in range(n_steps + 1)]

    def max_terms(self, n_rows: int, n_features: int, n_classes: int) -> int:
        """Terms and generators that the ideal of a class may have; always enough for degree 1.

        Examples
        --------
        >>> Budget().max_terms(100, 4, 2), Budget().max_terms(10_000, 4, 2), Budget().max_terms(10_000, 500, 2)
        (60, 600, 1002)
        """
        by_rows = int(self.terms_per_root_row * np.sqrt(n_rows) / n_classes)
        return max(by_rows, self.fewest_terms, 2 * n_features + 2)

    def max_columns(self, n_rows: int, n_classes: int) -> int:
        """Columns that the SVMs may see, ``sqrt(step_work / (planes * rows))``.

        Examples
        --------
        >>> Budget().max_columns(6000, 2), Budget().max_columns(6000, 10)
        (1000, 316)
        """
        n_planes = 1 if n_classes == 2 else n_classes
        return int(np.sqrt(self.step_work / (n_planes * n_rows)))


class Strategy(Protocol):
    """Proposes trials."""

    def ask(self, history: History) -> list[Trial]:
        """The trials to score next, of one scaling and one set of columns; none, if the strategy has ended."""


@dataclass(frozen=True)
class Grid:
    """Every pair of psi and C, at once."""

    scaling: Scaling
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

    scaling: Scaling
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


def neighbours(values: Sequence[float], centre: float) -> list[float]:
    """The value nearest to the centre, and its neighbours.

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
    """Goes on with the walk of the scaling that is best so far.

    Scalings after the first have to be clearly ahead, see :func:`best_trial`.
    """

    walks: Sequence[WalkDown]

    def ask(self, history: History) -> list[Trial]:
        """The trials of the next psi of that walk."""
        best = best_trial(history)
        return [] if best is None else next(walk for walk in self.walks if walk.scaling == best.scaling).ask(history)


@dataclass(frozen=True)
class RicherColumns:
    """The best model so far with other columns, one change after the other; a change that is clearly ahead stays.

    What ``others`` change is where they differ from the columns of the first trial. The history starts with the trials
    of a walk; the changes that follow it are replayed, so that none is asked for twice.
    """

    others: Sequence[Columns]
    Cs: Sequence[float]

    def ask(self, history: History) -> list[Trial]:
        """The next change of the best trial, with its C and its neighbours."""
        first = next(iter(history)).columns
        known = {trial: score for trial, score in history.items() if trial.columns == first}
        for other in self.others:
            best = best_trial(known)
            if best is None:
                return []
            changed = best._replace(columns=best.columns.with_changes(first, other))
            trials = [changed._replace(C=C) for C in neighbours(self.Cs, best.C)]
            if trials[0] not in history:
                return trials
            known.update({trial: history[trial] for trial in trials if trial in history})
        return []
