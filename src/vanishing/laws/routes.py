"""The routes from a table to its laws: exact arithmetic, small samples, logarithms, moments.

``finder`` decides which routes are open; each route is in a module of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, gcd

import numpy as np

from .._typing import Float2D, Int1D
from .candidates.confirm import confirm, confirm_power_law
from .candidates.few_rows import FEW_ROWS, FEWEST_ROWS, LinearLaw, find_in_few_rows
from .candidates.fitted import FittedLaw
from .candidates.origin import far_origin, recentre_all
from .candidates.power_laws import PowerLaw, find_power_law
from .candidates.search import find_laws, skipped
from .criteria import most_saved
from .estimate.moments import ADDITIVE
from .estimate.sample import Sample, make_sample
from .estimate.settings import DENSE, LAW, LIKELY, Attempt, Settings
from .exact import SPARE_ROWS, binary_denominator, exact_laws, few_points
from .rows.rounding import explains_linear, rounding_steps
from .rows.table import Table
from .say.describe import describe, exact_law, few_rows_law, power_law
from .say.law import Law

__all__ = ["Routes", "in_given_rows", "notes_about", "proven_laws"]

_EXACT_DEGREE, _EXACT_TERMS = 6, 500  # largest degree, and most terms, of the search in exact arithmetic
_BESIDES = 2  # degree up to which laws are looked for beside a power law that explains all columns


def proven_laws(table: Table, max_degree: int | None) -> list[Law]:
    """Laws of integers and binary fractions, proven in exact arithmetic; empty for other numbers, or with noise."""
    denominator = binary_denominator(table.X) if table.groups is None and table.whole else None
    if denominator is None:
        return []
    why = f"All {table.n_rows:,} rows satisfy it, in exact arithmetic."
    integers, degree = (table.X * denominator).astype(np.int64), max_degree or _EXACT_DEGREE
    basis = exact_laws(integers, degree, _EXACT_TERMS, most_saved(len(np.unique(integers, axis=0))))
    lowest = min((int(exponents.sum(axis=1).max()) for exponents, _ in basis), default=0)
    if lowest > 2 and explains_linear(table.X, rounding_steps(table.X)):
        return []  # a product of parallel planes: one for each value of the rounding error
    laws = []
    for exponents, numbers in basis:
        scaled = [c * denominator**power for c, power in zip(numbers, exponents.sum(axis=1).tolist(), strict=True)]
        coef = [Fraction(c, gcd(*scaled)) for c in scaled]
        laws.append(exact_law(table, exponents, np.array(coef, dtype=np.float64), coef, why))
    return laws


def notes_about(table: Table, n_laws: int) -> list[str]:
    """Sentences about rows that were left out, and about exact points that are too few for one law."""
    gaps, n_points = table.gaps, table.n_rows - SPARE_ROWS if table.whole else table.n_rows
    notes = [gaps.to_text(table.names)] if gaps is not None and gaps.n_missing else []
    if n_laws or comb(len(table.names) + 2, 2) <= n_points or binary_denominator(table.X) is None:
        return notes
    return [*notes, few_points(table.n_rows, 2)]


def in_given_rows(table: Table, laws: Sequence[Law]) -> list[Law]:
    """The laws with the places of their exceptions among all rows, those with missing values included."""
    if table.places is None or not table.whole:
        return list(laws)
    return [replace(law, off=tuple(table.places[list(law.off)].tolist())) for law in laws]


@dataclass(frozen=True)
class Routes:
    """The routes of a search that its settings leave open.

    Attributes
    ----------
    settings : Settings
        Of the search by moments.
    log_models : tuple of bool
        Noise models of the search for power laws, True for multiplicative noise; empty: no such search.
    short : bool
        Whether tables with few rows have tests of their own.
    origin : bool
        Whether columns may be counted from another point than zero.
    """

    settings: Settings
    log_models: tuple[bool, ...]
    short: bool
    origin: bool

    def laws_of(self, table: Table, kept: Sequence[int]) -> tuple[list[Law], list[Attempt]]:
        """Laws of a noisy table by tests for few rows, where these apply, or else by those for many."""
        if not (self.short and table.groups is None and FEWEST_ROWS <= table.n_rows < FEW_ROWS):
            return self._many_rows(table, kept)
        laws, attempts = self._few_rows(table, kept)
        if laws:
            return laws, attempts
        laws, by_moments = self._many_rows(table, kept)
        higher = [attempt for attempt in by_moments if attempt.degree > 1]
        if not higher and self.settings.max_degree > 1:
            higher = [skipped(2, table.n_rows, len(kept))]
        return laws, [*attempts, *higher]

    def _few_rows(self, table: Table, kept: Sequence[int]) -> tuple[list[Law], list[Attempt]]:
        """Power laws and linear laws of a short table."""
        n, n_rows, max_noise = len(kept), table.n_rows, self.settings.max_noise
        short = find_in_few_rows(table.X[:, list(kept)], max_noise, logs=bool(self.log_models))
        if short:
            notes = [Attempt(1, n + 1, law.level, LAW, law.J, law.dof) for law in short]
            return [few_rows_law(law, table, kept, snap=self._snaps(law)) for law in short], notes
        return [], [
            Attempt(1, n + 1, float("nan"), f"no power law or linear law with as little noise as {n_rows} rows need")
        ]

    def _many_rows(self, table: Table, kept: Sequence[int]) -> tuple[list[Law], list[Attempt]]:
        """A power law, if it explains all columns; otherwise laws by moments, which all rows confirm."""
        X, settings = table.X[:, list(kept)], self.settings
        power = self._power_law(X, table.groups)
        if power is not None and not table.whole:  # up to the degree of the moments, these are more exact
            reached = power.degree <= settings.max_degree
            power = None if reached else confirm_power_law(power, table.rows, kept)
        if power is not None and power.exponents.all() and power.p_value >= LIKELY:
            lower = replace(settings, max_degree=min(settings.max_degree, _BESIDES))
            fitted, attempts = find_laws(self._sample(X, None, lower), lower)
            if all(law.dense for law in fitted) or (len(fitted) == 1 and _is_power_law(fitted[0], power)):
                note = Attempt(power.degree, len(kept) + 1, power.level, LAW, power.J, power.dof)
                return [power_law(power, table, kept, snap=settings.snaps(power.exponents))], [*attempts, note]
        fitted, attempts = self._search(X, table.groups, settings)
        if fitted and not table.whole and table.groups is None:
            fitted, rejected = confirm(fitted, table.rows, table.n_rows, kept, settings)
            attempts = [*attempts, *rejected]
        if power is not None and all(law.dense for law in fitted):
            return [power_law(power, table, kept, snap=settings.snaps(power.exponents))], attempts
        return [describe(law, table.names, kept) for law in fitted], _settled(attempts, fitted)

    def _snaps(self, law: PowerLaw | LinearLaw) -> bool:
        return isinstance(law, PowerLaw) and self.settings.snaps(law.exponents)

    def _power_law(self, X: Float2D, groups: Int1D | None) -> PowerLaw | None:
        return (
            find_power_law(X, self.settings.max_noise, self.log_models) if self.log_models and groups is None else None
        )

    def _search(self, X: Float2D, groups: Int1D | None, settings: Settings) -> tuple[list[FittedLaw], list[Attempt]]:
        fitted, attempts = find_laws(self._sample(X, groups, settings), settings)
        return (recentre_all(fitted, X, settings) if self._shifted(groups, settings) else fitted), attempts

    def _sample(self, X: Float2D, groups: Int1D | None, settings: Settings) -> Sample:
        return make_sample(X, groups, origin=far_origin(X) if self._shifted(groups, settings) else None)

    def _shifted(self, groups: Int1D | None, settings: Settings) -> bool:
        """Whether columns may be counted from another point than zero: multiplicative noise knows where zero is."""
        return self.origin and groups is None and settings.models[0][0] == ADDITIVE


def _settled(attempts: Sequence[Attempt], laws: Sequence[FittedLaw]) -> list[Attempt]:
    """The attempts; what looked like a curve's approximation may be a law with another origin, or on all rows."""
    degrees = {law.conditions.degree for law in laws if not law.dense}
    return [replace(a, reason=LAW) if a.reason == DENSE and a.degree in degrees else a for a in attempts]


def _is_power_law(law: FittedLaw, power: PowerLaw) -> bool:
    """Whether a law by moments is the power law."""
    sides = law.conditions.terms.exponents[law.support]
    same = [sides[0] - sides[1], sides[1] - sides[0]] if len(sides) == 2 else []
    return any(np.array_equal(difference, power.exponents) for difference in same)
