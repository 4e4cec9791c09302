"""Laws of a search as users read them: in the columns of the table, with standard errors, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array, Float1D, Float2D, Int1D, Int2D
from ..candidates.fitted import FittedLaw
from ..candidates.power_laws import PowerLaw
from ..candidates.snapping import least_saving, nearest_rational, real_bits
from ..estimate.moments import MULTIPLICATIVE
from ..rows import units as dimensions
from ..rows.dependencies import Dependency
from ..rows.relation import LEFT_BY_ROUNDING, ROUNDED
from ..rows.table import Table
from .equation import common_denominator
from .law import Law, degrees_of_freedom, sorted_terms

__all__ = ["dependency_law", "describe", "exact_law", "power_law", "with_rational", "with_units"]


class _Numbers(NamedTuple):
    """Coefficients of terms with their errors: some read as rational numbers, and all as the rows give them."""

    coef: Float1D
    stderr: Float1D
    rational: list[Fraction | None]
    free: Float1D
    free_stderr: Float1D


def describe(law: FittedLaw, columns: Sequence[str], kept: Sequence[int]) -> Law:
    """The law in all columns of the table; the search has seen the columns ``kept``."""
    conditions, support = law.conditions, np.array(law.support)
    exponents = np.zeros((len(support), len(columns)), dtype=np.int64)
    exponents[:, list(kept)] = conditions.terms.exponents[support]
    order = list(sorted_terms(exponents))
    numbers = _numbers(law, order[0])
    sample = conditions.sample
    spread, origin = np.zeros(len(columns)), np.zeros(len(columns))
    spread[list(kept)] = sample.deviation
    used = conditions.terms.exponents[support].any(axis=0)
    origin[list(kept)] = np.where(used, sample.origin, 0.0)
    return Law(
        columns=tuple(columns),
        exponents=exponents[order],
        coef=numbers.coef[order],
        stderr=numbers.stderr[order],
        rational=tuple(numbers.rational[k] for k in order),
        free_coef=numbers.free[order],
        free_stderr=numbers.free_stderr[order],
        origin=origin,
        noise=_noise(law, kept, len(columns)),
        noise_kind=_noise_kind(law),
        level=0.0 if law.exact else law.level,
        typical_distance=_typical_distance(law),
        J=law.J,
        dof=law.dof,
        p_value=1.0 if law.exact else law.p_value,
        audits=_audits(law),
        n_rows=conditions.n_rows,
        kind="exact" if law.exact else "dense" if law.dense else "law",
        why=_why(law),
        scale=spread,
        conserved=sample.groups is not None,
    )


def _numbers(law: FittedLaw, lead: int) -> _Numbers:
    """The coefficients as multiples of the reference term's, times -1 where that makes number ``lead`` positive.

    Where all of more than two are rational, they become integers.
    """
    unit, support = law.conditions.unit, np.array(law.support)
    reference, rational = _rationals(law)
    r = law.support.index(reference)
    coef, free = (c[support] / unit[support] for c in (law.c, law.free))
    coef, free = coef / coef[r], free / free[r]
    scale = unit[support] * (law.free[reference] / unit[reference])
    information = law.system.information(law.free, law.support) * np.outer(scale, scale)
    real = [k for k, number in enumerate(rational) if number is None and k != r]
    stderr = _errors(information, np.array(real, dtype=np.int64))
    free_stderr = _errors(information, np.delete(np.arange(len(support)), r))
    if law.exact:
        stderr, free_stderr = np.zeros_like(stderr), np.zeros_like(free_stderr)
    known = [number for number in rational if number is not None]
    factor = common_denominator(known) if len(known) == len(rational) > 2 else 1
    sign = -1 if coef[lead] < 0.0 else 1
    rational = [None if number is None else number * sign * factor for number in rational]
    return _Numbers(coef * sign * factor, stderr * factor, rational, free * sign * factor, free_stderr * factor)


def with_rational(law: Law, rational: Mapping[tuple[int, ...], Fraction | None]) -> Law:
    """The law with some coefficients as rational multiples of each other, given by the exponents of their terms.

    The others are multiples of the first of these terms, as the rows give them. Where all of more than two are
    rational, they become integers.
    """
    numbers = [rational[tuple(row)] for row in law.exponents.tolist()]
    fixed = [k for k, number in enumerate(numbers) if number is not None]
    share = np.array([float(numbers[k] or 0) / law.free_coef[k] for k in fixed]).mean()
    known = [number for number in numbers if number is not None]
    factor = common_denominator(known) if len(known) == len(numbers) > 2 else 1
    lead = float(numbers[0]) if numbers[0] is not None else law.free_coef[0] * share
    factor = -factor if lead < 0.0 else factor
    free = law.free_coef * share * factor
    coef = np.array([free[k] if number is None else float(number) * factor for k, number in enumerate(numbers)])
    free_stderr = law.free_stderr * abs(share * factor)
    stderr = np.where([number is None for number in numbers], free_stderr, 0.0)
    rational_coef = tuple(None if number is None else number * factor for number in numbers)
    return replace(law, coef=coef, stderr=stderr, rational=rational_coef, free_coef=free, free_stderr=free_stderr)


def power_law(law: PowerLaw, table: Table, kept: Sequence[int], *, snap: bool = True) -> Law:
    """A power law as a polynomial: factors with negative exponents on the other side.

    With ``snap``, its constant may be a rational number.
    """
    n = len(table.names)
    exponents = np.zeros((2, n), dtype=np.int64)
    exponents[0, list(kept)] = np.maximum(law.exponents, 0)
    exponents[1, list(kept)] = np.maximum(-law.exponents, 0)
    value, error = law.constant, law.error
    if exponents[1].sum() > exponents[0].sum():
        exponents, value, error = exponents[::-1], 1.0 / value, error / value**2
    known_to = max(error, ROUNDED * abs(value))
    bits, p, q, _ = nearest_rational(value, known_to)
    snapped = Fraction(int(p), int(q)) if snap and real_bits(value, known_to) - bits > least_saving(1) else None
    noise = np.full(n, np.nan)
    noise[list(kept)] = np.where(law.exponents != 0, law.sigma, np.nan)
    exact = law.level <= LEFT_BY_ROUNDING
    how = "multiplicative, one level for all columns" if law.multiplicative else "one level for all columns"
    return Law(
        columns=table.names,
        exponents=exponents,
        coef=np.array([1.0, -(value if snapped is None else float(snapped))]),
        stderr=np.array([0.0, 0.0 if snapped is not None or exact else error]),
        rational=(Fraction(1), None if snapped is None else -snapped),
        free_coef=np.array([1.0, -value]),
        free_stderr=np.array([0.0, 0.0 if exact else error]),
        origin=np.zeros(n),
        noise=noise,
        noise_kind="none: the rows satisfy the law up to rounding" if exact else how,
        level=0.0 if exact else float(np.nanmean(noise / (1.0 if law.multiplicative else table.X.std(axis=0)))),
        typical_distance=law.level,
        J=law.J,
        dof=law.dof,
        p_value=1.0 if exact else law.p_value,
        audits=(f"J of the logarithms has {degrees_of_freedom(law.dof)}",),
        n_rows=law.n_rows,
        kind="exact" if exact else "law",
        why=f"It is a power law; noise of {law.level:.2%} of the logarithms' deviations, p-value {law.p_value:.2g}.",
        scale=table.X.std(axis=0),
    )


def exact_law(table: Table, exponents: Int2D, coef: Float1D, rational: Sequence[Fraction | None], why: str) -> Law:
    """A law that the rows satisfy up to rounding, or exactly."""
    zeros = np.zeros(len(coef))
    return Law(
        columns=table.names,
        exponents=exponents,
        coef=coef,
        stderr=zeros,
        rational=tuple(rational),
        free_coef=coef,
        free_stderr=zeros,
        origin=np.zeros(len(table.names)),
        noise=np.where(exponents.any(axis=0), 0.0, np.nan),
        noise_kind="none: the rows satisfy the law",
        level=0.0,
        typical_distance=0.0,
        J=0.0,
        dof=0,
        p_value=1.0,
        audits=(why,),
        n_rows=table.n_rows,
        kind="exact",
        why=why,
        scale=table.X.std(axis=0),
    )


def dependency_law(dependency: Dependency, table: Table) -> Law:
    """The law of a column that is constant, or an affine function of others."""
    n = len(table.names)
    used = np.flatnonzero(dependency.coef)
    exponents = np.zeros((1 + len(used), n), dtype=np.int64)
    exponents[0, dependency.column] = 1
    exponents[np.arange(1, 1 + len(used)), used] = 1
    coef = np.r_[1.0, -dependency.coef[used]]
    if dependency.constant or not used.size:
        exponents, coef = np.vstack([exponents, np.zeros(n, dtype=np.int64)]), np.r_[coef, -dependency.constant]
    what = "constant" if not used.size else "an affine function of others"
    why = f"The column {table.names[dependency.column]!r} is {what}, up to rounding."
    return exact_law(table, exponents, coef, (None,) * len(coef), why)


def with_units(law: Law, units: Sequence[Any], dims: Array) -> Law:
    """The law with units of its coefficients: that of the first term over that of the coefficient's own term."""
    missing = [law.exponents[0] - row for row in law.exponents]
    labels = ["" if not (powers @ dims).any() else dimensions.label(powers.tolist(), units) for powers in missing]
    return replace(law, units=tuple(labels))


def _rationals(law: FittedLaw) -> tuple[int, list[Fraction | None]]:
    """The term whose coefficient is fixed, and for each term the rational multiple of it, if there is one."""
    if law.snapped is None or len(law.snapped.rational) == 1:
        leading = law.support[sorted_terms(law.conditions.terms.exponents[law.support])[0]]
        return leading, [Fraction(1) if term == leading else None for term in law.support]
    return law.snapped.reference, [law.snapped.rational.get(term) for term in law.support]


def _errors(information: Float2D, real: Int1D) -> Float1D:
    """Standard errors of the coefficients in ``real``, the others being fixed."""
    errors = np.zeros(len(information))
    if real.size:
        inner = information[np.ix_(real, real)]
        size = np.sqrt(np.maximum(np.diag(inner), 1e-300))
        covariance = np.linalg.pinv(inner / np.outer(size, size), hermitian=True) / np.outer(size, size)
        errors[real] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return errors


def _noise(law: FittedLaw, kept: Sequence[int], n_columns: int) -> Float1D:
    sample, terms = law.conditions.sample, law.conditions.terms
    noise = np.full(n_columns, np.nan)
    scale = 1.0 if sample.model == MULTIPLICATIVE else sample.scale
    sigma = np.sqrt(law.variances) * scale * (0.0 if law.exact else 1.0)
    used = terms.exponents[law.support].any(axis=0)
    noise[list(kept)] = np.where(used, sigma, np.nan)
    return noise


def _noise_kind(law: FittedLaw) -> str:
    if law.exact:
        return "none: the rows satisfy the law up to rounding"
    if law.nuisance == "none":
        return "known beforehand"
    kind = "multiplicative, " if law.conditions.sample.model == MULTIPLICATIVE else ""
    if law.nuisance == "columns":
        return f"{kind}estimated for each column"
    unknown = "; a linear law does not say which column the noise is in" if law.conditions.degree == 1 else ""
    return f"{kind}one level for all columns{unknown}"


def _typical_distance(law: FittedLaw) -> float:
    """Root mean square of ``g`` over that of its gradient, on the rows, in deviations of the columns."""
    sample = law.conditions.sample
    if not sample.has_rows:
        G, D = law.conditions.noise_pencil(np.ones(sample.n_columns))
        return float(np.sqrt(np.maximum(law.c @ G @ law.c, 0.0) / (law.c @ D @ law.c)))
    noise = law.conditions.noise_of(law.c, law.variances)
    slopes = noise.slopes * (sample.deviation / sample.scale)[:, None]
    residual = law.conditions.residuals(noise)
    return float(np.sqrt((residual**2).mean() / (slopes**2).sum(axis=0).mean()))


def _audits(law: FittedLaw) -> tuple[str, ...]:
    if law.exact:
        return ("the rows satisfy it up to rounding",)
    return (f"J has {degrees_of_freedom(law.dof)}",)


def _why(law: FittedLaw) -> str:
    if law.exact:
        return f"All {law.conditions.sample.n_rows:,} rows satisfy it up to rounding."
    test = f"with noise of {law.level:.2%} the test does not reject it (p-value {law.p_value:.2g})"
    if law.dense:
        return (
            f"It holds within the noise: {test}; but its coefficients are nothing special, so a smooth curve that is "
            "no polynomial cannot be excluded."
        )
    return f"It is a law: {test}, and smaller equations are much worse."
