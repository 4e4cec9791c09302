"""What a search has found: pairs of psi and C with their scores, the pair to take, and its calibration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from .._typing import Array, Float1D
from .crossval import Study
from .probabilities import Calibration, calibrate
from .scoring import Scores, held_out_hits, held_out_likelihoods, mixed_if_better, paired_difference
from .transforms import InputTransform

__all__ = ["Pair", "Searched", "choose", "tabulate"]

_NO_GENERATOR = "No psi gives a generator for any class in every fold: raise psis or max_degree."

_MOST_LOST = 0.005  # accuracy that a sparser model may cost

Pair = tuple[int, int]  # the places of a psi and of a C in a search


class Searched(NamedTuple):
    """Pairs of psi and C with their scores, for one scaling of the columns.

    ``automatic`` says that the values of psi were proposed. ``counts`` says that a score is the share of the rows that
    are right. ``study`` is what was scored, where that was in memory.
    """

    scaling: Any
    transform: InputTransform | None
    psis: list[float]
    Cs: list[float]
    scores: Scores
    n_folds: int
    automatic: bool
    counts: bool = False
    study: Study | None = None

    @property
    def best(self) -> Pair:
        """The pair with the best mean score, whatever its size."""
        means = self.scores.choice.mean(axis=2)
        i, c = np.unravel_index(int(np.nanargmax(means)), means.shape)
        return int(i), int(c)

    def pairs(self) -> list[Pair]:
        """The pairs that may be taken: for proposed psi, those that were tried and are not too large."""
        tried = np.asarray(np.isfinite(self.scores.n_used).all(axis=2))
        left_out = self.scores.too_large.copy()
        if not self.automatic:
            tried[:], left_out[:] = True, False
        if left_out[tried.any(axis=1)].all():
            left_out[int(np.nanargmax(self.psis))] = False
        pairs = [(int(i), int(c)) for i, c in np.argwhere(tried) if not left_out[i]]
        if not pairs or np.isnan(self.scores.scores[_index(pairs)].mean(axis=1)).all():
            raise ValueError(_NO_GENERATOR)
        return pairs

    def standard_error(self, pair: Pair) -> float:
        """Of the mean score of a pair: for accuracy that of a share of the rows, else that of a mean over folds."""
        scores = self.scores.choice[pair]
        if self.counts and self.study is not None and not self.study.by_likelihood:
            mean = float(scores.mean())
            return float(np.sqrt(max(mean * (1.0 - mean), 0.0) / len(self.study.codes)))
        return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0

    def may_replace(self, pair: Pair, best: Pair) -> bool:
        """Whether the mean score of a pair is within one standard error of their difference of that of the best.

        Both are scored on the same rows, so the error of the difference is smaller than that of either: for the
        differences d_i of m rows (in hits, or where these choose in log-likelihoods) it is ``std(d) / sqrt(m)``.
        For other scores the differences are those of the folds. Of few rows that error is large; so no more than half
        a point of accuracy may be lost, where that is the score.
        """
        own, weights = self._values(pair)
        mean, error = paired_difference(self._values(best)[0], own, weights)
        lost = float((self.scores.scores[best] - self.scores.scores[pair]).mean()) if self.counts else 0.0
        return mean <= error and lost <= _MOST_LOST

    def _values(self, pair: Pair) -> tuple[Float1D, Float1D]:
        """What the mean score of a pair is the mean of: values of rows, over repetitions, or of folds; and weights."""
        study = self.study
        answers = self.scores.answers(pair) if pair in self.scores.held_out else None
        if study is None or answers is None or not (study.by_likelihood or self.counts):
            values = self.scores.choice[pair]
            return values, np.ones(values.size)
        of_rows = held_out_likelihoods if study.by_likelihood else held_out_hits
        rows = study.held_out(study.folds)
        return rows.by_row(of_rows(rows, answers))

    def best_by_psi(self, most: int) -> list[Pair]:
        """The best pair of each psi, the best of them first, at most ``most``."""
        means = self.scores.choice.mean(axis=2)
        chosen: dict[int, Pair] = {}
        for pair in sorted(self.pairs(), key=lambda pair: -np.nan_to_num(means[pair], nan=-np.inf)):
            if len(chosen) < most and not np.isnan(means[pair]):
                chosen.setdefault(pair[0], pair)
        return list(chosen.values())

    def calibration(self, pair: Pair) -> Calibration | None:
        """From the decisions of a pair on held-out rows, where these were kept; mixes all classes if it pays."""
        if self.study is None or pair not in self.scores.held_out:
            return None
        rows, decisions = self.study.held_out(self.study.folds), self.scores.held_out[pair]
        calibration = calibrate(*rows.together(decisions))
        return mixed_if_better(calibration, rows, decisions) if self.study.may_mix else calibration


def _index(pairs: list[Pair]) -> tuple[Array, ...]:
    return tuple(np.array(pairs).T)


def tabulate(searched: Searched, pairs: list[Pair]) -> dict[str, Any]:
    """``cv_results_`` of scikit-learn for some pairs."""
    index = _index(pairs)
    psis, Cs = [searched.psis[i] for i, _ in pairs], [searched.Cs[c] for _, c in pairs]
    scores, choice = searched.scores.scores[index], searched.scores.choice[index].mean(axis=1)
    return {
        "params": [{"psi": psi, "C": C} for psi, C in zip(psis, Cs, strict=True)],
        "param_psi": np.array(psis),
        "param_C": np.array(Cs),
        **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(np.where(np.isnan(choice), np.inf, -choice), method="min").astype(np.int32),
        "mean_n_generators": searched.scores.n_generators[index[0]].mean(axis=1),
        "mean_n_columns": searched.scores.n_used[index].mean(axis=1),
    }


def choose(searched: Searched, pairs: list[Pair], sparsity: str | None, max_columns: int | None) -> int:
    """The place of the pair to take: the best; of equals, the largest psi, then the smallest C.

    With ``max_columns``, the best of those with few enough columns; with ``sparsity``, the one with the fewest columns
    within one standard error of the difference to that.
    """
    index = _index(pairs)
    mean: Float1D = searched.scores.choice[index].mean(axis=1)
    size: Float1D = searched.scores.n_used[index].mean(axis=1)
    allowed = ~np.isnan(mean)
    if max_columns is not None and (allowed & (size <= max_columns)).any():
        allowed &= size <= max_columns
    psis, Cs = [searched.psis[i] for i, _ in pairs], [searched.Cs[c] for _, c in pairs]
    best = min(np.flatnonzero(allowed), key=lambda k: (-mean[k], -psis[k], Cs[k]))
    if sparsity is None:
        return int(best)
    near = [k for k in np.flatnonzero(allowed) if searched.may_replace(pairs[k], pairs[best])]
    return int(min(near, key=lambda k: (size[k], -mean[k])))
