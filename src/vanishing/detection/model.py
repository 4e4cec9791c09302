"""The model of a detector: a score from up to three parts, each in units of its spread over normal rows, and its tail.

    score(x) = standard(G(x)) + standard(E(x)) + tempered(standard(C(x)))

G is the logarithm of the inverse Christoffel function (:mod:`.christoffel`), C that of the regimes (:mod:`.regimes`),
and E, where there are tight equations g_1, ..., g_k of deviations s_1, ..., s_k, is ``log(1 + mean of (g_i / s_i)^2)``:
q is a sum over hundreds of polynomials, E only over the few that matter. Centre and spread are the median and the
inter-quartile range over training rows, each scored as if it had been left out. C grows with the square of a distance,
where G and E grow with a logarithm: ``tempered(s) = 2 arsinh(s / 2)`` keeps its tail from setting the threshold alone.

For rows that follow each other, the spread is that of the upper tail, so that every part has its limit at the same
value, and the parts are joined by ``log(sum of exp)``, a smooth maximum: a fault that one part sees is not lost in the
noise of the others.
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
from .calibration import Left, Tail, Typical, within_fence
from .christoffel import Christoffel, left_out
from .columns import RIDGE
from .equations import Equations, equations_of, find_equations, search_equations
from .hashes import row_keys
from .regimes import Regimes, fit_regimes, fit_regimes_of_series
from .series import OVERFIT, BlockSums, Series, effective_rows
from .sums import ROWS_AT_ONCE, Sample, Sums

Form: TypeAlias = MonomialForm | ProductForm


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
    """The score of rows, higher for worse ones; small enough to be sent to where the rows are."""

    christoffel: Christoffel
    typical: Typical
    equations: Form | None = None
    equations_typical: Typical | None = None
    regimes: Regimes | None = None
    regimes_typical: Typical | None = None
    strongest: bool = False
    known: Known | None = None

    def parts(self, X: Any) -> list[Any]:
        """The standardised parts on rows in the units of the table; :func:`join` makes the score of them."""
        namespace = namespace_of(X)
        parts = [self.typical.standard(namespace.log(self.christoffel.of_rows(X)))]
        if self.equations is not None and self.equations_typical is not None:
            parts.append(self.equations_typical.standard(_violation(self.equations, X)))
        if self.regimes is not None and self.regimes_typical is not None:
            parts.append(self._regimes(self.regimes.of_rows(X)))
        return parts

    def _regimes(self, C: Any) -> Any:
        """The part of C in units of its spread."""
        assert self.regimes_typical is not None
        standard = self.regimes_typical.standard(C)
        return standard if self.strongest else _tempered(standard)

    def of_rows(self, X: Any, above: float | None = None) -> Any:
        """The score of rows in the units of the table, one value per row.

        With ``above``, scores above it are exact, and others may be too large, but not larger than ``above``.
        """
        if not isinstance(X, np.ndarray) or len(X) <= ROWS_AT_ONCE:
            bounded = isinstance(X, np.ndarray) and self.regimes is not None
            scores = (
                self._above(X, above)
                if bounded and above is not None
                else join(self.parts(X), strongest=self.strongest)
            )
            return scores if self.known is None else self.known.replace_in(scores, X)
        return np.concatenate(
            [self.of_rows(X[start : start + ROWS_AT_ONCE], above) for start in range(0, len(X), ROWS_AT_ONCE)]
        )

    def _above(self, X: Float2D, above: float) -> Float1D:
        """The scores above a limit, and upper bounds below the limit in place of the others."""
        assert self.regimes is not None
        rest = join(replace(self, regimes=None).parts(X), strongest=self.strongest)
        bound = self._regimes(self.regimes.bound(X))
        scores: Float1D = join([rest, bound], strongest=self.strongest)
        left = np.flatnonzero(~(scores <= above))
        if left.size:
            exact = self._regimes(self.regimes.of_rows(X[left]))
            scores[left] = join([rest[left], exact], strongest=self.strongest)
        return scores

    @property
    def width(self) -> int:
        """About how many numbers of working memory a row takes."""
        regimes = sum(sum(coef.shape) for coef in self.regimes.coef) if self.regimes is not None else 0
        return 3 * self.christoffel.n_terms + regimes


def join(parts: Sequence[Any], *, strongest: bool) -> Any:
    """The score of standardised parts: their sum, or ``log(sum of exp)``, a smooth maximum.

    Examples
    --------
    >>> import numpy as np
    >>> parts = [np.array([0.0, 5.0]), np.array([0.0, 0.0])]
    >>> join(parts, strongest=False), join(parts, strongest=True).round(2)
    (array([0., 5.]), array([0.69, 5.01]))
    """
    if not strongest or len(parts) == 1:
        return sum(parts[1:], parts[0])
    namespace = namespace_of(parts[0])
    together = parts[0]
    for part in parts[1:]:
        largest = namespace.maximum(together, part)
        together = largest + namespace.log1p(namespace.exp(-namespace.abs(together - part)))
    return together


def _tempered(scores: Any) -> Any:
    return 2.0 * namespace_of(scores).asinh(scores / 2.0)


def _violation(form: Form, X: Any) -> Any:
    """``log(1 + mean of squares)`` of equations in units of their deviations, one value per row."""
    values = empty_like(X, form.n_polynomials)
    form.fill(X, values, absolute=False)
    return _log_mean_square(values)


def _log_mean_square(values: Any) -> Any:
    namespace = namespace_of(values)
    values = namespace.clip(values, -1.0 / RIDGE, 1.0 / RIDGE)  # what the ridge leaves of an exact relation
    return namespace.log1p(namespace.mean(values**2, axis=1))


@dataclass(frozen=True)
class Model:
    """Score, tail and equations of the rows behind sums.

    ``left`` are the standardised parts of the score for the rows of the sample, each left out; models of moments have
    no sample, and no such parts. ``series`` says what was decided about rows that follow each other, if they do.
    """

    score: Score
    tail: Tail
    left: tuple[Float1D, ...]
    equations: Equations
    total_weight: float
    sample: Sample | None
    series: Series | None = None

    @classmethod
    def of_sums(
        cls,
        sums: Sums,
        christoffel: Christoffel,
        names: Sequence[str],
        *,
        regimes: bool,
        core: tuple[Sample, Bool1D] | None = None,
    ) -> Model:
        """The model of the rows behind sums, each left out by itself.

        A ``core`` has a sample with other rows besides, and says which ones are behind the sums. The others are scored
        as new ones, and the limit comes from all rows within the outer fence of the scores.
        """
        sample, kept = core or (sums.sample, np.ones(len(sums.sample.X), dtype=bool))
        X, weights = sample.X, sample.weights
        equations = find_equations(christoffel, sums.total_weight, names, (X[kept], weights[kept]))
        form = _scored(equations, equations.tight)
        q = in_chunks(christoffel.of_rows, X)
        log_q = np.log(np.where(kept, left_out(q, weights, sums.total_weight), q))
        mixtures, C = None, None
        if regimes:
            C = np.empty(len(X))
            mixtures, C[kept] = fit_regimes(X[kept], weights[kept])
            if not kept.all():
                C[~kept] = in_chunks(mixtures.of_rows, X[~kept])
        parts = christoffel, form, mixtures
        raw = _present(log_q, None if form is None else _violation(form, X), C)
        score, total, standard = _calibrated(parts, raw, sample)
        if core is not None:
            near = within_fence(total, weights)
            sample = sample.among(near)
            score, total, standard = _calibrated(parts, [part[near] for part in raw], sample)
        tail = Left.of_scores(total, sample.weights)
        return cls(score, tail, standard, equations, sums.total_weight, sample)

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
        X, weights = sums.sample.X, sums.sample.weights
        blocks = BlockSums(christoffel, sums.sample)
        found = search_equations(christoffel, sums.total_weight, (X, weights))
        equations = equations_of(found, christoffel, names)
        drifting = blocks.drifting()
        steady, log_q, degree = blocks.largest_degree(christoffel.without(drifting) or christoffel, degree)
        local = fit_regimes_of_series(X, weights, blocks.both, drifting, OVERFIT) if regimes else None
        mixtures, scores = local or (None, None)
        violation = None
        form = _scored(equations, equations.tight)
        if form is not None:
            violation = _log_mean_square(blocks.violations(found, equations.tight))
        raw = _present(log_q, violation, scores)
        score, total, standard = _calibrated((steady, form, mixtures), raw, sums.sample, rate)
        series = Series(correlation, tuple(drifting), degree, effective_rows(total), blocks.n_levels(), rate)
        equations = equations.among(np.arange(len(equations.polynomials)), steady)
        tail = _tail(total, weights, series)
        return cls(score, tail, standard, equations, sums.total_weight, sums.sample, series)

    @classmethod
    def of_parts(
        cls,
        score: Score,
        tail: Tail | None,
        left: tuple[Float1D, ...],
        equations: Equations,
        total_weight: float,
        sample: Sample | None,
        series: Series | None = None,
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
            total = join(left, strongest=score.strongest)
            score, tail = replace(score, known=Known.of_rows(sample.X, total)), _tail(total, sample.weights, series)
        return cls(score, tail, left, equations, total_weight, sample, series)

    def updated(self, sums: Sums, christoffel: Christoffel) -> Model:
        """The same regimes, equations and calibration, with the inverse Christoffel function of further rows."""
        if self.series is not None:
            christoffel = christoffel.without(self.series.left_out, self.series.degree) or christoffel
        return replace(self, score=replace(self.score, christoffel=christoffel), total_weight=sums.total_weight)

    def without(self, missing: Sequence[int]) -> Model | None:
        """The model of the other columns, from the same rows; None without rows or monomials of other columns."""
        christoffel = self.score.christoffel.without(missing)
        if self.sample is None or christoffel is None:
            return None
        kept = np.array([not columns & set(missing) for columns in self.equations.columns], dtype=bool)
        form = _scored(self.equations, self.equations.tight & kept)
        regimes = None if self.score.regimes is None else self.score.regimes.without(missing)
        now = _raw(Score(christoffel, self.score.typical, form, regimes=regimes), self.sample.X)
        raw = [None if part is None else part + more for part, more in zip(now, self._optimism, strict=True)]
        rate = self.series.rate if self.series is not None else None
        score, total, left = _calibrated((christoffel, form, regimes), _present(*raw), self.sample, rate)
        return replace(self, score=score, tail=_tail(total, self.sample.weights, self.series), left=left)

    @cached_property
    def _optimism(self) -> tuple[Float1D, Float1D, Float1D]:
        """The parts of each row of the sample by a model without it, less those by the model of all rows."""
        assert self.sample is not None
        score, remaining, tempered = self.score, list(self.left), not self.score.strongest
        now = _raw(score, self.sample.X)
        typical = (score.typical, score.equations_typical, score.regimes_typical)
        found = []
        for k, (part, scale) in enumerate(zip(now, typical, strict=True)):
            if part is None or scale is None:
                found.append(np.zeros(len(self.sample.X)))
                continue
            standard = remaining.pop(0)
            out = scale.centre + scale.spread * (2.0 * np.sinh(standard / 2.0) if tempered and k == 2 else standard)
            found.append(np.asarray(out - part))
        return found[0], found[1], found[2]


def _raw(score: Score, X: Float2D) -> tuple[Float1D, Float1D | None, Float1D | None]:
    """The parts of a score on rows in memory, as they are before they are standardised."""
    form, regimes = score.equations, score.regimes
    return (
        np.log(in_chunks(score.christoffel.of_rows, X)),
        None if form is None else in_chunks(lambda rows: _violation(form, rows), X),
        None if regimes is None else in_chunks(regimes.of_rows, X),
    )


def _present(*parts: Float1D | None) -> list[Float1D]:
    return [part for part in parts if part is not None]


def _tail(total: Float1D, weights: Float1D, series: Series | None) -> Left:
    """The tail of the scores of rows left out."""
    if series is None:
        return Left.of_scores(total, weights)
    return Left.of_dependent(total, weights, series.n_effective, series.rate)


def _scored(equations: Equations, chosen: Bool1D) -> Form | None:
    """The chosen equations in units of their deviations; None if there are none."""
    if not chosen.any():
        return None
    return equations.standard_form.select(np.flatnonzero(chosen))


def _calibrated(
    parts: tuple[Christoffel, Form | None, Regimes | None],
    raw: Sequence[Float1D],
    sample: Sample,
    rate: float | None = None,
) -> tuple[Score, Float1D, tuple[Float1D, ...]]:
    """The score made of the parts, its values for rows left out, and these part by part, from ``raw`` ones.

    With a ``rate``, the strongest part counts, in units of the tail that this share of rows exceeds.
    """
    christoffel, form, regimes = parts
    weights = sample.weights
    typical = [Typical.of_scores(p, weights) if rate is None else Typical.of_tail(p, weights, rate) for p in raw]
    score = Score(
        christoffel,
        typical[0],
        form,
        None if form is None else typical[1],
        regimes,
        None if regimes is None else typical[-1],
        rate is not None,
    )
    left = [each.standard(part) for each, part in zip(typical, raw, strict=True)]
    if regimes is not None and rate is None:
        left[-1] = _tempered(left[-1])
    total = join(left, strongest=rate is not None)
    return replace(score, known=Known.of_rows(sample.X, total)), total, tuple(left)


def in_chunks(function: Any, X: Float2D) -> Float1D:
    """``function`` on rows in memory, a chunk at a time."""
    return np.concatenate([function(X[start : start + ROWS_AT_ONCE]) for start in range(0, len(X), ROWS_AT_ONCE)])
