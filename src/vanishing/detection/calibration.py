"""From scores to p-values and false-alarm rates.

The scores of training rows that were left out of the model are exchangeable with those of fresh normal rows. So

    p(s) = (1 + number of left-out scores >= s) / (1 + number of left-out scores)

is at most alpha for a share alpha of fresh normal rows, whatever their distribution (Vovk, "Cross-conformal
predictors", 2015, with every row its own fold).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from .._typing import Bool1D, Float1D

USUAL_RATE = 0.01  # share of false alarms, unless another one is asked for
FENCE = 3.0  # inter-quartile ranges beyond the third quartile (Tukey's outer fence): 4.7 deviations of normal scores

#: The inter-quartile range of a normal distribution, in deviations.
NORMAL_RANGE = float(stats.norm.isf(0.25) - stats.norm.isf(0.75))


def weighted_quantiles(values: Float1D, weights: Float1D, shares: Sequence[float]) -> Float1D:
    """Values with a share of the weight below them; a weight counts like repeated values.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), [0.25, 0.5])
    array([1.5, 2. ])
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) / np.sum(weights)
    quantiles = np.empty(len(shares))
    for k, share in enumerate(shares):
        first = min(int(np.searchsorted(below, share - 1e-12)), len(values) - 1)
        last = min(int(np.searchsorted(below, share + 1e-12)), len(values) - 1)
        quantiles[k] = (values[order[first]] + values[order[last]]) / 2.0
    return quantiles


def within_fence(scores: Float1D, weights: Float1D) -> Bool1D:
    """Which scores are not beyond the outer fence.

    Examples
    --------
    >>> import numpy as np
    >>> within_fence(np.array([1.0, 2.0, 3.0, 4.0, 20.0]), np.ones(5))
    array([ True,  True,  True,  True, False])
    """
    low, high = weighted_quantiles(scores, weights, [0.25, 0.75])
    return np.asarray(scores <= high + FENCE * (high - low))


@dataclass(frozen=True)
class Typical:
    """The units of a part of the score: its median over normal rows, and a spread by which all parts have one limit."""

    centre: float
    spread: float

    @classmethod
    def of_tail(cls, scores: Float1D, weights: Float1D) -> Typical:
        """The spread puts the score that a share ``USUAL_RATE`` exceeds where a normal distribution has it."""
        middle, high = weighted_quantiles(scores, weights, [0.5, 1.0 - USUAL_RATE])
        spread = float(high - middle) / float(stats.norm.isf(USUAL_RATE))
        return cls(float(middle), spread if spread > 1e-9 * (1.0 + abs(middle)) else 1.0)

    def standard(self, scores: Any) -> Any:
        """Scores in units of the spread."""
        return (scores - self.centre) / self.spread


@dataclass(frozen=True)
class Left:
    """The empirical tail: scores of training rows, each left out of the model, and the weight from each score on.

    ``scores`` are ascending; ``weight_from[k]`` is the weight of ``scores[k:]``. Scores are compared after they have
    been moved towards ``centre`` by the factor ``stretch``, which is above 1 where fewer independent rows than scores
    stand behind the tail. Files know the class by its name.
    """

    scores: Float1D
    weight_from: Float1D
    centre: float
    stretch: float

    @classmethod
    def of_scores(cls, scores: Float1D, weights: Float1D, centre: float = 0.0, stretch: float = 1.0) -> Left:
        """The tail of the scores of rows with weights.

        Examples
        --------
        >>> import numpy as np
        >>> tail = Left.of_scores(np.array([1.0, 2.0, 3.0]), np.ones(3))
        >>> tail.p_values(np.array([2.5, 0.0])), tail.threshold(0.5)
        (array([0.5, 1. ]), 1.999999997)
        """
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], np.append(np.cumsum(weights[order][::-1])[::-1], 0.0), centre, stretch)

    @classmethod
    def of_dependent(cls, scores: Float1D, weights: Float1D, n_effective: float, rate: float) -> Left:
        """The tail of scores behind which ``n_effective`` independent rows stand, for a rate of false alarms.

        A further normal score exceeds the mean of n independent ones by more than ``c`` of their deviations with
        probability ``rate``, where ``c = t_{n-1}(1 - rate) sqrt(1 + 1/n)``. The tail is stretched away from the mean by
        c over the quantile of the normal distribution, which is c for many rows.

        Examples
        --------
        >>> import numpy as np
        >>> scores = np.random.default_rng(0).normal(size=1000)
        >>> few, many = (Left.of_dependent(scores, np.ones(1000), n, 0.01).threshold(0.01) for n in (10, 1000))
        >>> bool(few > many > 2.2)
        True
        """
        c = float(stats.t.isf(rate, n_effective - 1.0) * np.sqrt(1.0 + 1.0 / n_effective))
        usual = float(stats.norm.isf(rate))
        stretch = c / usual if usual > 0.0 else 1.0  # a rate of a half has its limit at the centre
        return cls.of_scores(scores, weights, float(np.average(scores, weights=weights)), max(stretch, 1.0))

    def _shrunk(self, scores: Any) -> Any:
        return self.centre + (np.asarray(scores) - self.centre) / self.stretch

    def _stretched(self, scores: Any) -> Any:
        return self.centre + (scores - self.centre) * self.stretch

    def p_values(self, scores: Any) -> Float1D:
        """``(1 + weight of the scores >= s) / (1 + weight of all)``."""
        above = self.weight_from[np.searchsorted(self.scores, self._shrunk(scores), side="left")]
        return np.asarray((1.0 + above) / (1.0 + self.weight_from[0]))

    def threshold(self, rate: float) -> float:
        """Just below the smallest left-out score beyond which p-values are at most ``rate``, or below the largest one.

        A share of about ``rate`` of the left-out scores themselves is above it, too.
        """
        enough = self.weight_from[1:] + 1.0 <= rate * (1.0 + self.weight_from[0]) + 1e-9
        score = float(self.scores[int(np.argmax(enough)) if enough.any() else -1])
        return float(self._stretched(score - 1e-9 * (1.0 + abs(score))))

    def score_of(self, p_values: Float1D) -> Float1D:
        """Scores with these p-values."""
        wanted = p_values * (1.0 + self.weight_from[0]) - 1.0
        place = np.searchsorted(-self.weight_from[:-1], -wanted - 1e-9, side="left")
        return np.asarray(self._stretched(self.scores[np.minimum(place, len(self.scores) - 1)]))


@dataclass(frozen=True)
class GammaTail:
    """A fitted tail for models without rows: q has a gamma distribution of this shape and scale, and G is its log."""

    shape: float
    scale: float
    typical: Typical

    @classmethod
    def of_moments(cls, mean: float, variance: float) -> GammaTail:
        """The gamma distribution of q with this mean and variance.

        Examples
        --------
        >>> tail = GammaTail.of_moments(4.0, 8.0)
        >>> round(tail.threshold(0.05), 3), tail.p_values(tail.threshold(0.05)).round(6)
        (1.758, np.float64(0.05))
        """
        shape, scale = mean**2 / variance, variance / mean
        middle, high = np.log(stats.gamma(shape, scale=scale).isf([0.5, USUAL_RATE]))
        return cls(shape, scale, Typical(float(middle), float((high - middle) / stats.norm.isf(USUAL_RATE))))

    def p_values(self, scores: Any) -> Float1D:
        """Probability of a score at least as large."""
        q = np.exp(self.typical.centre + self.typical.spread * np.asarray(scores))
        return np.asarray(stats.gamma(self.shape, scale=self.scale).sf(q))

    def threshold(self, rate: float) -> float:
        """The score that a normal row exceeds with probability ``rate``."""
        return float(self.typical.standard(np.log(stats.gamma(self.shape, scale=self.scale).isf(rate))))


#: The distribution of the scores of normal rows, above all of large ones.
Tail: TypeAlias = Left | GammaTail
