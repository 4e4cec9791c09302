"""What a search tries, what cross-validation says about it, and which trial is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from ..._typing import Bool1D, Float1D, Float2D
from ..model.columns import Columns
from ..model.probabilities import Calibration

__all__ = ["History", "Trial", "TrialScore", "best_trial", "choose", "is_ahead", "tabulate"]

_NO_GENERATOR = "No psi gives a generator for any class in every fold: raise psis or max_degree."


class Trial(NamedTuple):
    """A model that may be fitted: how the inputs are scaled, psi, C, and which columns the SVM sees."""

    scaling: Any
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
        ``value`` is the mean of ``row_values`` with these weights: those of the held-out rows, over repetitions, or of
        the folds where the score does not tell rows apart.
    n_columns, n_generators : float
        Columns with a weight, and generators, in the mean over the folds.
    decisions : tuple of ndarray or None
        Decisions of the SVM about the held-out rows of each fold.
    calibration : Calibration or None
        What turns these decisions into log-odds.
    """

    scores: Float1D
    value: float
    row_values: Float1D
    row_weights: Float1D
    n_columns: float
    n_generators: float
    decisions: tuple[Float2D, ...] | None = None
    calibration: Calibration | None = None


History = Mapping[Trial, TrialScore]


def is_ahead(one: TrialScore, other: TrialScore) -> bool:
    """Whether a trial is better by more than one standard error of the difference.

    Both are scored on the same m rows, so that the error is that of the mean of their differences d,
    ``std(d) / sqrt(m)``.
    """
    lead, error = _paired_difference(one, other)
    return lead > error


def _paired_difference(one: TrialScore, other: TrialScore) -> tuple[float, float]:
    difference, weights = one.row_values - other.row_values, one.row_weights
    mean = float(np.average(difference, weights=weights))
    return mean, float(np.sqrt(weights**2 @ (difference - mean) ** 2) / weights.sum())


def best_trial(history: History) -> Trial | None:
    """The best trial so far; other columns than the first ones have to be ahead by a standard error.

    Trials with the same scaling and columns compete by their value; of equals, the largest psi wins, then the smallest
    C. The columns come in the order in which they were tried, and each group needs a clear lead over the best before.
    None, if no trial has a value.
    """
    best = None
    for group in _groups(history):
        own = min(group, key=lambda trial: _order(trial, history[trial]))
        if np.isnan(history[own].value):
            continue
        if best is None or is_ahead(history[own], history[best]):
            best = own
    return best


def _order(trial: Trial, score: TrialScore) -> tuple[Any, ...]:
    return np.isnan(score.value), -score.value, -trial.psi, trial.C


def _groups(history: History) -> Iterable[list[Trial]]:
    """The trials with the same scaling and columns, in the order in which they were first tried."""
    groups: dict[Any, list[Trial]] = {}
    for trial in history:
        groups.setdefault((trial.scaling, trial.columns), []).append(trial)
    return groups.values()


def choose(history: History, *, sparse: bool, max_columns: int | None) -> Trial:
    """The trial to take: the best; where asked for, one with few columns.

    ``max_columns`` leaves out trials with more columns, if any are left. ``sparse`` takes the trial with the fewest
    columns among those that the best one is not ahead of, by the one-standard-error rule.
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
    key[order] = np.cumsum(np.append(0, _differs(np.column_stack([others, value])[order])))
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


def _differs(rows: Float2D) -> Bool1D:
    """Which rows differ from the one before; NaN counts as equal to NaN."""
    same = (rows[1:] == rows[:-1]) | (np.isnan(rows[1:]) & np.isnan(rows[:-1]))
    return np.asarray(~same.all(axis=1))
