"""The routes from a table to its laws that all rows obey: exact arithmetic, and moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np

from .candidates.confirm import confirm
from .candidates.fitted import FittedLaw
from .candidates.origin import far_origin, recentre_all
from .candidates.power_laws import find_power_law
from .candidates.search import find_laws
from .criteria import most_saved
from .estimate.moments import ADDITIVE, MULTIPLICATIVE
from .estimate.sample import make_sample
from .estimate.settings import DENSE, LAW, Attempt, Settings
from .exact import SPARE_ROWS, binary_denominator, exact_laws, few_points, rescaled
from .rows.table import Table
from .say.describe import describe, exact_law, power_law
from .say.law import Law

__all__ = ["in_given_rows", "laws_by_moments", "notes_about", "proven_laws"]

_EXACT_DEGREE = 6  # largest degree of the search in exact arithmetic


def proven_laws(table: Table, max_degree: int | None) -> list[Law]:
    """Laws of integers and binary fractions, proven in exact arithmetic; empty for other numbers, or with noise."""
    denominator = binary_denominator(table.X) if table.groups is None and table.whole else None
    if denominator is None:
        return []
    why = f"All {table.n_rows:,} rows satisfy it, in exact arithmetic."
    integers, degree = (table.X * denominator).astype(np.int64), max_degree or _EXACT_DEGREE
    basis = exact_laws(integers, degree, max_bits=most_saved(len(np.unique(integers, axis=0))))
    laws = []
    for exponents, numbers in basis:
        coef = [Fraction(c) for c in rescaled(exponents, numbers, [denominator] * len(table.names))]
        real = np.array(coef, dtype=np.float64)
        laws.append(exact_law(table.names, table.X.std(axis=0), table.n_rows, exponents, real, coef, why))
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


def laws_by_moments(
    table: Table, kept: Sequence[int], settings: Settings, *, origin: bool
) -> tuple[list[Law], list[Attempt]]:
    """The laws of the columns ``kept`` by moments, and all attempts; above 10,000 rows, all rows confirm them.

    With ``origin``, columns may be counted from another point than zero. Multiplicative noise knows where zero is.
    """
    X = table.X[:, list(kept)]
    shifted = origin and table.groups is None and settings.models[0][0] == ADDITIVE
    fitted, attempts = find_laws(make_sample(X, table.groups, origin=far_origin(X) if shifted else None), settings)
    if shifted:
        fitted = recentre_all(fitted, X, settings)
    if fitted and not table.whole and table.groups is None:
        fitted, rejected = confirm(fitted, table.rows, table.n_rows, kept, settings)
        attempts = [*attempts, *rejected]
    power = _power_law(table, kept, settings) if all(law.dense for law in fitted) else []
    return power or [describe(law, table.names, kept) for law in fitted], _settled(attempts, fitted)


def _power_law(table: Table, kept: Sequence[int], settings: Settings) -> list[Law]:
    """A power law of any degree, if there is one and nothing is said about terms or the size of the noise.

    Above 10,000 rows it has the numbers of the selected ones.
    """
    known = settings.sigma is not None or settings.absolute or settings.allowed is not None
    if known or table.groups is not None:
        return []
    X, models = table.X[:, list(kept)], [model == MULTIPLICATIVE for model in dict(settings.models)]
    found = find_power_law(X, settings.max_noise, models)
    return [] if found is None else [power_law(found, table.names, X, kept, snap=settings.snaps(found.exponents))]


def _settled(attempts: Sequence[Attempt], laws: Sequence[FittedLaw]) -> list[Attempt]:
    """The attempts; what looked like a curve's approximation may be a law with another origin, or on all rows."""
    degrees = {law.conditions.degree for law in laws if not law.dense}
    return [replace(a, reason=LAW) if a.reason == DENSE and a.degree in degrees else a for a in attempts]
