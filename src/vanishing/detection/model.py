"""The model of a detector: a score from up to three parts, each in units of its spread over normal rows, and its tail.

    score(x) = standard(G(x)) + standard(E(x)) + tempered(standard(C(x)))

G is the logarithm of the inverse Christoffel function (:mod:`.christoffel`), C that of the regimes (:mod:`.regimes`),
and E, where there are tight equations g_1, ..., g_k of deviations s_1, ..., s_k, is ``log(1 + mean of (g_i / s_i)^2)``:
q is a sum over hundreds of polynomials, E only over the few that matter. Centre and spread are the median and the
inter-quartile range over training rows, each scored as if it had been left out. C grows with the square of a distance,
where G and E grow with a logarithm: ``tempered(s) = 2 arsinh(s / 2)`` keeps its tail from setting the threshold alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from .._typing import Array, Bool1D, Float1D, Float2D
from ..files.fields import require
from ..polynomials.forms import MonomialForm
from ..polynomials.products import ProductForm
from ..rows.array_api import empty_like, namespace_of, on_device_of, to_host
from .calibration import Left, Tail, Typical
from .christoffel import Christoffel, left_out
from .equations import Equations, find_equations
from .regimes import Regimes, fit_regimes
from .sums import Sample, Sums

__all__ = ["MOST_DEVIATIONS", "Form", "Model", "Score", "in_chunks"]

Form: TypeAlias = MonomialForm | ProductForm

MOST_DEVIATIONS = 1e6  # of an equation; clipping keeps squares finite
_CHUNK = 1024  # rows scored at a time on the host


@dataclass(frozen=True)
class Known:
    """The scores of training rows, each left out, by a key of their values: no training row is scored by itself."""

    keys: Array
    scores: Float1D

    @classmethod
    def of_rows(cls, X: Float2D, scores: Float1D) -> Known:
        """The keys of rows with these scores."""
        keys, first = np.unique(_keys(X), return_index=True)
        return cls(keys, scores[first])

    def replace_in(self, scores: Any, X: Any) -> Any:
        """The scores of rows, with those of training rows replaced."""
        keys = _keys(np.asarray(to_host(X), dtype=np.float64))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[place] == keys
        if not known.any():
            return scores
        return on_device_of(X, np.where(known, self.scores[place], to_host(scores)))


def _keys(X: Float2D) -> Array:
    """A 64-bit hash of each row."""
    bits = (np.ascontiguousarray(X) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    odd = (2 * np.arange(X.shape[1], dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (bits ^ (bits >> np.uint64(29))) * odd
    return np.asarray((mixed ^ (mixed >> np.uint64(32))).sum(axis=1))


@dataclass(frozen=True)
class Score:
    """The score of rows, higher for worse ones; small enough to be sent to where the rows are."""

    christoffel: Christoffel
    typical: Typical
    equations: Form | None = None
    equations_typical: Typical | None = None
    regimes: Regimes | None = None
    regimes_typical: Typical | None = None
    known: Known | None = None

    def parts(self, X: Any) -> list[Any]:
        """The standardised parts on rows in the units of the table; their sum is the score."""
        namespace = namespace_of(X)
        parts = [self.typical.standard(namespace.log(self.christoffel.of_rows(X)))]
        if self.equations is not None and self.equations_typical is not None:
            parts.append(self.equations_typical.standard(_violation(self.equations, X)))
        if self.regimes is not None and self.regimes_typical is not None:
            parts.append(_tempered(self.regimes_typical.standard(self.regimes.of_rows(X))))
        return parts

    def of_rows(self, X: Any, above: float | None = None) -> Any:
        """The score of rows in the units of the table, one value per row.

        With ``above``, scores above it are exact, and others may be too large, but not larger than ``above``.
        """
        if not isinstance(X, np.ndarray) or len(X) <= _CHUNK:
            bounded = isinstance(X, np.ndarray) and self.regimes is not None
            scores = self._above(X, above) if bounded and above is not None else _sum(self.parts(X))
            return scores if self.known is None else self.known.replace_in(scores, X)
        return np.concatenate([self.of_rows(X[start : start + _CHUNK], above) for start in range(0, len(X), _CHUNK)])

    def _above(self, X: Float2D, above: float) -> Float1D:
        """The scores above a limit, and upper bounds below the limit in place of the others."""
        assert self.regimes is not None
        assert self.regimes_typical is not None
        rest = _sum(replace(self, regimes=None).parts(X))
        scores: Float1D = rest + _tempered(self.regimes_typical.standard(self.regimes.bound(X)))
        left = np.flatnonzero(~(scores <= above))
        if left.size:
            scores[left] = rest[left] + _tempered(self.regimes_typical.standard(self.regimes.of_rows(X[left])))
        return scores

    @property
    def width(self) -> int:
        """About how many numbers of working memory a row takes."""
        regimes = sum(sum(coef.shape) for coef in self.regimes.coef) if self.regimes is not None else 0
        return 3 * self.christoffel.n_terms + regimes


def _sum(parts: Sequence[Any]) -> Any:
    return sum(parts[1:], parts[0])


def _tempered(scores: Any) -> Any:
    return 2.0 * namespace_of(scores).asinh(scores / 2.0)


def _violation(form: Form, X: Any) -> Any:
    """``log(1 + mean of squares)`` of equations in units of their deviations, one value per row."""
    namespace = namespace_of(X)
    values = empty_like(X, form.n_polynomials)
    form.fill(X, values, absolute=False)
    values = namespace.clip(values, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    return namespace.log1p(namespace.mean(values**2, axis=1))


@dataclass(frozen=True)
class Model:
    """Score, tail and equations of the rows behind sums.

    ``left`` are the standardised parts of the score for the rows of the sample, each left out; models of moments have
    no sample, and no such parts.
    """

    score: Score
    tail: Tail
    left: tuple[Float1D, ...]
    equations: Equations
    total_weight: float
    sample: Sample | None

    @classmethod
    def of_sums(cls, sums: Sums, christoffel: Christoffel, names: Sequence[str], *, regimes: bool) -> Model:
        """The model of the rows behind sums."""
        X, weights = sums.sample.X, sums.sample.weights
        equations = find_equations(christoffel, sums.total_weight, names, X)
        mixtures, scores = fit_regimes(X, weights) if regimes else (None, None)
        parts = (christoffel, _scored(equations, equations.tight), mixtures)
        score, tail, left = _calibrated(parts, scores, sums.sample, sums.total_weight)
        return cls(score, tail, left, equations, sums.total_weight, sums.sample)

    @classmethod
    def of_parts(
        cls,
        score: Score,
        tail: Tail | None,
        left: tuple[Float1D, ...],
        equations: Equations,
        total_weight: float,
        sample: Sample | None,
    ) -> Model:
        """The model from the parts in a file; it adds scored equations, known rows and the tail of their scores."""
        scored = equations.tight if score.equations_typical is not None else np.zeros(len(equations.tight), dtype=bool)
        score = replace(score, equations=_scored(equations, scored))
        pairs = [(score.equations, score.equations_typical), (score.regimes, score.regimes_typical)]
        require(all((part is None) == (typical is None) for part, typical in pairs), "a part of the score has no scale")
        if tail is None:
            n_parts = 1 + sum(part is not None for part, _ in pairs)
            lengths = {len(part) for part in left}
            agrees = sample is not None and len(left) == n_parts and lengths == {len(sample.X)}
            require(agrees, "there are other scores than rows")
            assert sample is not None
            total = np.sum(left, axis=0)
            score, tail = replace(score, known=Known.of_rows(sample.X, total)), Left.of_scores(total, sample.weights)
        return cls(score, tail, left, equations, total_weight, sample)

    def updated(self, sums: Sums, christoffel: Christoffel) -> Model:
        """The same regimes, equations and calibration, with the inverse Christoffel function of further rows."""
        return replace(self, score=replace(self.score, christoffel=christoffel), total_weight=sums.total_weight)

    def without(self, missing: Sequence[int]) -> Model | None:
        """The model of the other columns, from the same rows; None without rows or monomials of other columns."""
        christoffel = self.score.christoffel.without(missing)
        if self.sample is None or christoffel is None:
            return None
        kept = np.array([not columns & set(missing) for columns in self.equations.columns], dtype=bool)
        regimes, scores = None, None
        whole = self.score.regimes
        if whole is not None:
            regimes = whole.without(missing)
            if regimes is not None:
                scores = in_chunks(regimes.of_rows, self.sample.X) + self._optimism
        parts = (christoffel, _scored(self.equations, self.equations.tight & kept), regimes)
        score, tail, left = _calibrated(parts, scores, self.sample, self.total_weight)
        return replace(self, score=score, tail=tail, left=left)

    @cached_property
    def _optimism(self) -> Float1D:
        """C of each row of the sample by the regimes without it, less C by the regimes of all rows."""
        regimes, typical = self.score.regimes, self.score.regimes_typical
        assert self.sample is not None
        assert regimes is not None
        assert typical is not None
        left_out = typical.centre + typical.spread * 2.0 * np.sinh(self.left[-1] / 2.0)
        return np.asarray(left_out - in_chunks(regimes.of_rows, self.sample.X))


def _scored(equations: Equations, chosen: Bool1D) -> Form | None:
    """The chosen equations in units of their deviations; None if there are none."""
    if not chosen.any():
        return None
    return equations.standard_form.select(np.flatnonzero(chosen))


def _calibrated(
    parts: tuple[Christoffel, Form | None, Regimes | None],
    regimes_left: Float1D | None,
    sample: Sample,
    total_weight: float,
) -> tuple[Score, Left, tuple[Float1D, ...]]:
    """The score made of the parts, the tail of its values for rows left out, and these values part by part."""
    christoffel, form, regimes = parts
    X, weights = sample.X, sample.weights
    raw = [np.log(left_out(in_chunks(christoffel.of_rows, X), weights, total_weight))]
    raw += [] if form is None else [_violation(form, X)]
    raw += [] if regimes_left is None else [regimes_left]
    typical = [Typical.of_scores(part, weights) for part in raw]
    score = Score(
        christoffel,
        typical[0],
        form,
        None if form is None else typical[1],
        regimes,
        None if regimes is None else typical[-1],
    )
    left = [each.standard(part) for each, part in zip(typical, raw, strict=True)]
    if regimes is not None:
        left[-1] = _tempered(left[-1])
    total = np.sum(left, axis=0)
    return replace(score, known=Known.of_rows(X, total)), Left.of_scores(total, weights), tuple(left)


def in_chunks(function: Any, X: Float2D) -> Float1D:
    """``function`` on rows in memory, a chunk at a time."""
    return np.concatenate([function(X[start : start + _CHUNK]) for start in range(0, len(X), _CHUNK)])
