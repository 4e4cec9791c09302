"""The sums that a detector needs, from one pass over the rows of a source.

The units of the columns, their means and deviations, are known only after the pass. So it sums the products of the
monomials in the units of a few first rows. Standard units are an affine function of these, z = a z' + b, and a monomial
of z is a combination E of the monomials of z' that divide it: the Gram in standard units is ``E G' E'``, exactly.

Only the clipping at ten deviations is not affine. The pass therefore sets rows aside that have a value more than six
provisional deviations from the provisional centre, and adds them, clipped, once the units are known. That is right as
long as the six lie within the ten. Otherwise, or if the rows set aside exceed 128 MB, or if the first rows are so
unlike the others that the conversion would lose digits, :meth:`OnePass.sums` gives None: a second pass is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import Float1D, Float2D
from ..constants import WIDE
from ..engine.gram import border_gram, range_of, sum_of_products, weight_of
from ..polynomials.terms import Program, terms_up_to
from ..rows.array_api import namespace_of, to_host
from ..rows.arrays import ArrayRows
from ..rows.protocol import Block, Cost, Rows, where
from .christoffel import Monomials, expansion, keeps_digits
from .columns import CLIP, ColumnSurvey, Standardised
from .completeness import Place, complete_block
from .sums import MOST_NUMBERS, ROWS_AT_ONCE, Sums, add_sums, sample_block, sample_complete, sampling_rate


class Far(NamedTuple):
    """Rows set aside, in the units of the table, and their weights."""

    X: Float2D
    weights: Float1D


class Collected(NamedTuple):
    """The accumulator of the pass: sums over the rows near the provisional centre, and the rows far from it.

    ``sums`` are those of all terms over the near rows, but for ``n_samples`` and the samples, which are of all complete
    rows, as is their ``range`` in the units of the table. ``far`` are the rows set aside, block by block, and ``n_far``
    the count of their values; beyond a limit the rows are dropped, and the count remains.
    """

    sums: Sums
    range: Float2D
    far: tuple[Far, ...]
    n_far: int


def add_collected(a: Collected, b: Collected) -> Collected:
    """The accumulator of the rows of both; the arguments stay unchanged."""
    return Collected(
        add_sums(a.sums, b.sums),
        np.stack([np.fmin(a.range[0], b.range[0]), np.fmax(a.range[1], b.range[1])]),
        (*a.far, *b.far) if a.n_far + b.n_far <= MOST_NUMBERS else (),
        a.n_far + b.n_far,
    )


@dataclass(frozen=True)
class _Collect:
    """The kernel of the pass; with a ``rate`` of 0 it takes no sample."""

    units: Standardised
    program: Program
    rate: float
    run: int
    place: Place
    names: tuple[str, ...]

    def __call__(self, block: Block) -> Collected:
        block = block if block.weights is None else where(block, block.weights > 0.0)
        n_rows = int(block.X.shape[0])
        products, ends = self._sum(block), self._range(block)
        near, far = block, Far(np.empty((0, len(self.names))), np.empty(0))
        if n_rows and (not np.isfinite(products).all() or self._reach(ends) > WIDE):
            block = complete_block(block, self.place, self.names)
            near, far = self._separate(block)
            products, ends = self._sum(near), self._range(block)
        n_complete = int(block.X.shape[0])
        gram = border_gram(np.array([[weight_of(near)]]), products)
        samples = (sample_block(block, 0, self.run, self.rate),) if self.rate else ()
        sums = Sums(gram, weight_of(near), n_complete, samples, n_rows - n_complete)
        return Collected(sums, ends, (far,) if far.X.size else (), far.X.size)

    def _sum(self, block: Block) -> Float2D:
        if not block.X.shape[0]:
            return np.zeros((self.program.size - 1, self.program.size))
        return sum_of_products(self.units.units(block.X), block.weights, self.program, 1)

    def _range(self, block: Block) -> Float2D:
        if not block.X.shape[0]:
            return np.array([[np.inf], [-np.inf]]) * np.ones(len(self.names))
        return range_of(block.X, block.weights)

    def _reach(self, ends: Float2D) -> float:
        """How many provisional deviations the farthest value is from the provisional centre."""
        return float(np.abs((ends - self.units.centre) / self.units.scale).max())

    def _separate(self, block: Block) -> tuple[Block, Far]:
        """The rows near the provisional centre, and the others with their weights."""
        namespace = namespace_of(block.X)
        is_far = namespace.any(namespace.abs(self.units.units(block.X)) > WIDE, axis=1)
        others = where(block, is_far)
        X = np.asarray(to_host(others.X), dtype=np.float64)
        weights = np.ones(len(X)) if others.weights is None else np.asarray(to_host(others.weights), dtype=np.float64)
        return where(block, ~is_far), Far(X, weights)


@dataclass(frozen=True)
class OnePass:
    """The result of the pass: the accumulator, and its provisional units and terms."""

    units: Standardised
    program: Program
    collected: Collected

    @property
    def seen(self) -> Sums:
        """Sums over the rows near the provisional centre; sample and number are those of all complete rows."""
        return self.collected.sums

    @property
    def degree(self) -> int:
        """The degree of the monomials that were summed."""
        return len(self.program.terms[-1])

    def survey(self) -> ColumnSurvey:
        """Range, means and covariances of the columns; rows set aside count unclipped."""
        n = self.units.centre.size
        first, weight = self.seen.gram[: n + 1, : n + 1], self.seen.total_weight
        for far in self.collected.far:
            V = np.column_stack([np.ones(len(far.X)), self.units.units(far.X)])
            first, weight = first + (V.T * far.weights) @ V, weight + float(far.weights.sum())
        mean = first[0, 1:] / weight
        covariance = (first[1:, 1:] / weight - np.outer(mean, mean)) * np.outer(self.units.scale, self.units.scale)
        low, high = self.collected.range
        centre = self.units.centre + self.units.scale * mean
        return ColumnSurvey(low, high, centre, covariance, self.seen.n_samples, weight)

    def is_exact(self, survey: ColumnSurvey) -> bool:
        """Whether the means and deviations of the columns have kept their digits and contain all rows."""
        precise = keeps_digits(survey.distance_from(self.units.centre), max(self.degree, 2)).all()
        return bool(precise) and self.collected.n_far <= MOST_NUMBERS

    def sums(self, survey: ColumnSurvey, monomials: Monomials) -> Sums | None:
        """The sums in standard units; None if only another pass can give them."""
        degree = len(monomials.terms[-1])
        if degree > self.degree or not self.is_exact(survey) or not self._clips_only_far_rows(survey):
            return None
        place = {term: k for k, term in enumerate(self.program.terms)}
        index = [place[tuple(int(monomials.columns[v]) for v in term)] for term in monomials.terms]
        kept, units = monomials.columns, monomials.units
        scale, centre = self.units.scale[kept], self.units.centre[kept]
        change = expansion(monomials.terms, scale / units.scale, (centre - units.centre) / units.scale)
        gram = change @ self.seen.gram[np.ix_(index, index)] @ change.T
        for far in self.collected.far:
            V = monomials.values(far.X)
            gram += (V * far.weights) @ V.T
        return self.seen._replace(gram=gram, total_weight=survey.total_weight)

    def _clips_only_far_rows(self, survey: ColumnSurvey) -> bool:
        """Whether all values beyond the clip are in rows set aside."""
        reach, deviation = WIDE * self.units.scale, survey.deviation
        above = (survey.high > survey.mean + CLIP * deviation) & (survey.high > survey.low)
        below = (survey.low < survey.mean - CLIP * deviation) & (survey.high > survey.low)
        beyond_above = self.units.centre + reach > survey.mean + CLIP * deviation
        beyond_below = self.units.centre - reach < survey.mean - CLIP * deviation
        return not ((above & beyond_above) | (below & beyond_below)).any()


def collect(rows: Rows, degree: int, names: Sequence[str], run: int = 1) -> OnePass:
    """Make the pass, for monomials up to a degree and a sample of runs of rows."""
    head = rows.X[:: max(len(rows) // ROWS_AT_ONCE, 1)] if isinstance(rows, ArrayRows) else rows.head()
    units = _provisional(np.asarray(head, dtype=np.float64))
    program = Program.of(terms_up_to(degree, rows.n_features))
    kernel = _Collect(
        units, program, 0.0 if isinstance(rows, ArrayRows) else sampling_rate(rows), run, rows.place, tuple(names)
    )
    collected = rows.reduce(kernel, add_collected, Cost(program.size**2, 2 * program.size, ROWS_AT_ONCE))
    if isinstance(rows, ArrayRows):
        sums = collected.sums._replace(samples=(sample_complete(rows, run),))
    else:
        sums = collected.sums.joined()
    return OnePass(units, program, collected._replace(sums=sums))


def _provisional(head: Float2D) -> Standardised:
    """Standard units of a few rows; columns that are constant there keep the units of the table."""
    head = head[np.isfinite(head).all(axis=1)]
    if not len(head):
        head = np.zeros((1, head.shape[1]))
    varies = head.min(axis=0) < head.max(axis=0)
    return Standardised(head.mean(axis=0), np.where(varies, head.std(axis=0), 1.0), clip=np.inf)
