"""The model of a detector: a score from parts, each in units of its tail over normal rows, and the tail of the score.

The parts are G, the logarithm of the inverse Christoffel function (:mod:`.christoffel`), C, minus the logarithm of the
density of the regimes (:mod:`.regimes`), and, where there are tight equations, E, the logarithm of their violations: G
is a sum over hundreds of polynomials, E only over the few that matter. Where training rows may be dirty, G and C of the
rows that fit best come beside them (:mod:`.trimming`). Every part is centred at its median over training rows, each
scored as if it had been left out, and scaled so that all parts have their limit at the same value. The score is
``log(sum of exp)`` of the parts, a smooth maximum: a fault that one part sees is not lost in the noise of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from .._typing import Array, Bool1D, Float1D, Float2D
from ..rows.array_api import namespace_of, on_device_of, to_host
from .calibration import GammaTail, Left, Tail, Typical
from .christoffel import Christoffel, left_out
from .equations import Equations, Violation, equations_of, find_equations, search_equations
from .hashes import row_keys
from .regimes import Regimes, fit_regimes, fit_regimes_of_series
from .series import BlockSums, Series, effective_rows
from .sums import ROWS_AT_ONCE, Sample, Sums
from .trimming import concentrate, refitted

#: A part of the score: ``surprise(X)`` is its value on rows, ``without(missing)`` the part of the other columns.
Part: TypeAlias = Christoffel | Violation | Regimes


@dataclass(frozen=True)
class Known:
    """The scores of training rows, each left out, by a key of their values: no training row is scored by itself."""

    keys: Array
    scores: Float1D

    @classmethod
    def of_rows(cls, X: Float2D, scores: Float1D) -> Known:
        """The keys of rows with these scores."""
        keys, first = np.unique(row_keys(X), return_index=True)
        return cls(keys, scores[first])

    def replace_in(self, scores: Any, X: Any) -> Any:
        """The scores of rows, with those of training rows replaced."""
        keys = row_keys(np.asarray(to_host(X), dtype=np.float64))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[place] == keys
        if not known.any():
            return scores
        return on_device_of(X, np.where(known, self.scores[place], to_host(scores)))


@dataclass(frozen=True)
class Score:
    """The score of rows, higher for worse ones; small enough to be sent to where the rows are.

    The first of the parts is G; ``typical`` has the units of each.
    """

    parts: tuple[Part, ...]
    typical: tuple[Typical, ...]
    known: Known | None = None

    @property
    def christoffel(self) -> Christoffel:
        """The inverse Christoffel function behind G."""
        first = self.parts[0]
        assert isinstance(first, Christoffel)
        return first

    def of_rows(self, X: Any, above: float | None = None) -> Any:
        """The score of rows in the units of the table, one value per row.

        With ``above``, scores above it are exact, and others may be too large, but not larger than ``above``.
        """
        if not isinstance(X, np.ndarray) or len(X) <= ROWS_AT_ONCE:
            if above is not None and isinstance(X, np.ndarray):
                scores = self._above(X, above)
            else:
                scores = join(self.standard([part.surprise(X) for part in self.parts]))
            return scores if self.known is None else self.known.replace_in(scores, X)
        return np.concatenate(
            [self.of_rows(X[start : start + ROWS_AT_ONCE], above) for start in range(0, len(X), ROWS_AT_ONCE)]
        )

    def standard(self, values: Sequence[Any]) -> list[Any]:
        """Values of the parts in units of their tails; :func:`join` makes the score of them."""
        return [typical.standard(value) for typical, value in zip(self.typical, values, strict=True)]

    def _above(self, X: Float2D, above: float) -> Float1D:
        """The scores above a limit, and upper bounds below the limit in place of the others."""
        values = [part.bound(X) if isinstance(part, Regimes) else part.surprise(X) for part in self.parts]
        scores: Float1D = join(self.standard(values))
        left = np.flatnonzero(~(scores <= above))
        if left.size:
            pairs = zip(self.parts, values, strict=True)
            exact = [part.surprise(X[left]) if isinstance(part, Regimes) else value[left] for part, value in pairs]
            scores[left] = join(self.standard(exact))
        return scores

    @property
    def lean(self) -> Score:
        """The score without what only explanations need."""
        return replace(self, parts=tuple(part.lean for part in self.parts))

    @property
    def width(self) -> int:
        """About how many numbers of working memory a row takes."""
        return sum(part.width for part in self.parts)


def join(parts: Sequence[Any]) -> Any:
    """The score of parts in units of their tails: ``log(sum of exp)``, a smooth maximum.

    Examples
    --------
    >>> import numpy as np
    >>> join([np.array([0.0, 5.0]), np.array([0.0, 0.0])]).round(2)
    array([0.69, 5.01])
    """
    namespace, together = namespace_of(parts[0]), parts[0]
    for part in parts[1:]:
        largest = namespace.maximum(together, part)
        together = largest + namespace.log1p(namespace.exp(-namespace.abs(together - part)))
    return together


@dataclass(frozen=True)
class Model:
    """Score, tail and equations of the rows behind sums.

    ``left`` are the parts of the score for the rows of the sample, each left out; models of moments have no sample, and
    no such parts. ``series`` says what was decided about rows that follow each other, if they do. Of rows that may hold
    anomalies, ``near`` are those that units and limit come from.
    """

    score: Score
    tail: Tail
    left: tuple[Float1D, ...]
    equations: Equations
    total_weight: float
    sample: Sample | None
    series: Series | None = None
    near: Bool1D | None = None

    @classmethod
    def of_sums(
        cls, sums: Sums, christoffel: Christoffel, names: Sequence[str], *, regimes: bool, dirty: bool = False
    ) -> Model:
        """The model of the rows behind sums, each left out by itself; ``dirty`` rows may hold anomalies."""
        X, weights = sums.sample.X, sums.sample.weights
        equations = find_equations(christoffel, sums.total_weight, names, (X, weights))
        q = left_out(in_chunks(christoffel.of_rows, X), weights, sums.total_weight)
        parts: list[tuple[Part, Float1D]] = [(christoffel, np.log(q))]
        if equations.violation is not None:
            parts.append((equations.violation, in_chunks(equations.violation.surprise, X)))
        if regimes:
            parts.append(fit_regimes(X, weights))
        near = None
        if dirty:
            best, near = concentrate(christoffel, sums.sample)
            robust, q = refitted(christoffel, sums.sample, best)
            parts.append((robust, np.log(q)))
            if regimes and (X[best] != X[best][0]).any():
                parts.append(fit_regimes(X, weights, best))
        functions, left = zip(*parts, strict=True)
        return cls.of_left(functions, left, equations, sums.total_weight, sums.sample, near=near)

    @classmethod
    def of_series(
        cls,
        sums: Sums,
        christoffel: Christoffel,
        names: Sequence[str],
        *,
        regimes: bool,
        degree: int | None,
        correlation: float,
        rate: float,
    ) -> Model:
        """The model of rows that follow each other, left out block by block; ``degree`` is that of G if it is given."""
        sample = sums.sample
        blocks = BlockSums(christoffel, sample)
        found = search_equations(christoffel, sums.total_weight, (sample.X, sample.weights))
        equations = equations_of(found, christoffel, names)
        drifting = blocks.drifting()
        steady, log_q, degree = blocks.largest_degree(christoffel.without(drifting) or christoffel, degree)
        parts: list[tuple[Part, Float1D]] = [(steady, log_q)]
        if equations.violation is not None:
            parts.append((equations.violation, blocks.violation(found, equations.tight)))
        if regimes:
            parts.append(fit_regimes_of_series(sample.X, sample.weights, blocks.both, drifting))
        functions, left = zip(*parts, strict=True)
        total = join([Typical.of_tail(values, sample.weights).standard(values) for values in left])
        series = Series(correlation, tuple(drifting), degree, effective_rows(total), blocks.n_levels(), rate)
        equations = equations.among(np.arange(len(equations.polynomials)), steady)
        return cls.of_left(functions, left, equations, sums.total_weight, sample, series)

    @classmethod
    def of_left(
        cls,
        parts: tuple[Part, ...],
        left: tuple[Float1D, ...],
        equations: Equations,
        total_weight: float,
        sample: Sample,
        series: Series | None = None,
        near: Bool1D | None = None,
    ) -> Model:
        """The model of parts, from their values on the rows of a sample, each left out."""
        counted = np.ones(len(sample.X), dtype=bool) if near is None else near
        weights = sample.weights[counted]
        score = Score(parts, tuple(Typical.of_tail(values[counted], weights) for values in left))
        total = join(score.standard(left))
        score = replace(score, known=Known.of_rows(sample.X, total))
        if series is None:
            tail = Left.of_scores(total[counted], weights)
        else:
            tail = Left.of_dependent(total[counted], weights, series.n_effective, series.rate)
        return cls(score, tail, left, equations, total_weight, sample, series, near)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the score."""
        return self.score.parts

    @property
    def gamma(self) -> GammaTail | None:
        """The fitted tail of a model of moments."""
        return self.tail if isinstance(self.tail, GammaTail) else None

    @property
    def scores_left_out(self) -> Float1D:
        """The scores of the rows of the sample, each left out."""
        return np.asarray(join(self.score.standard(self.left)))

    @cached_property
    def loose(self) -> tuple[Christoffel, float]:
        """q without the directions of the equations, and its mean over the rows of the fit."""
        christoffel, spans = self.score.christoffel, self.equations.spans
        monomials = replace(christoffel.monomials, exact=())
        whitening = christoffel.whitening - spans @ (spans.T @ christoffel.whitening)
        loose = replace(christoffel, monomials=monomials, whitening=whitening)
        return loose, float(np.sum((whitening @ christoffel.gram) * whitening))

    def updated(self, sums: Sums, christoffel: Christoffel) -> Model:
        """The same regimes, equations and calibration, with the inverse Christoffel function of further rows."""
        if self.series is not None:
            christoffel = christoffel.without(self.series.left_out, self.series.degree) or christoffel
        score = replace(self.score, parts=(christoffel, *self.score.parts[1:]))
        return replace(self, score=score, total_weight=sums.total_weight)

    def without(self, missing: Sequence[int]) -> Model | None:
        """The model of the other columns, from the same rows; None without rows or monomials of other columns."""
        if self.sample is None or self.score.christoffel.without(missing) is None:
            return None
        X = self.sample.X
        reduced = [(part.without(missing), more) for part, more in zip(self.score.parts, self._optimism, strict=True)]
        kept = [(part, in_chunks(part.surprise, X) + more) for part, more in reduced if part is not None]
        parts, left = zip(*kept, strict=True)
        return Model.of_left(parts, left, self.equations, self.total_weight, self.sample, self.series, self.near)

    @cached_property
    def _optimism(self) -> list[Float1D]:
        """The parts of each row of the sample by a model without it, less those by the model of all rows."""
        assert self.sample is not None
        X, pairs = self.sample.X, zip(self.score.parts, self.left, strict=True)
        return [left - in_chunks(part.surprise, X) for part, left in pairs]


def in_chunks(function: Any, X: Float2D) -> Float1D:
    """``function`` on rows in memory, a chunk at a time."""
    return np.concatenate([function(X[start : start + ROWS_AT_ONCE]) for start in range(0, len(X), ROWS_AT_ONCE)])
