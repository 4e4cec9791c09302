"""Laws of a search as users read them: in the columns of the table, with standard errors, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..._typing import Array, Float1D, Float2D, Int2D
from ..candidates.fitted import FittedLaw
from ..candidates.power_laws import PowerLaw
from ..candidates.snapping import least_saving, nearest_rational, real_bits
from ..estimate.moments import MULTIPLICATIVE
from ..rows import units as dimensions
from ..rows.dependencies import Dependency
from ..rows.relation import LEFT_BY_ROUNDING, ROUNDED
from ..rows.table import Table, in_table
from .equation import common_denominator
from .law import Law, degrees_of_freedom, sorted_terms

__all__ = ["dependency_law", "describe", "exact_law", "power_law", "with_units"]


def exact_law(
    columns: Sequence[str],
    scale: Float1D,
    n_rows: int,
    exponents: Int2D,
    coef: Float1D,
    rational: Sequence[Fraction | None],
    why: str,
) -> Law:
    """A law that the rows satisfy up to rounding, or exactly; other laws replace what is different about them."""
    zeros = np.zeros(len(coef))
    return Law(
        columns=tuple(columns),
        exponents=exponents,
        coef=coef,
        stderr=zeros,
        rational=tuple(rational),
        free_coef=coef,
        free_stderr=zeros,
        origin=np.zeros(len(columns)),
        noise=np.where(exponents.any(axis=0), 0.0, np.nan),
        noise_kind="none: the rows satisfy the law",
        level=0.0,
        typical_distance=0.0,
        J=0.0,
        dof=0,
        p_value=1.0,
        audits=(why,),
        n_rows=n_rows,
        kind="exact",
        why=why,
        scale=scale,
    )


def describe(law: FittedLaw, columns: Sequence[str], kept: Sequence[int]) -> Law:
    """The law in all columns of the table; the search has seen the columns ``kept``."""
    conditions, sample = law.conditions, law.conditions.sample
    exponents = in_table(conditions.terms.exponents[law.support], kept, len(columns))
    order = list(sorted_terms(exponents))
    coef, stderr, rational, free, free_stderr = _numbers(law, order)
    scale, origin = (in_table(values, kept, len(columns)) for values in (sample.deviation, sample.origin))
    why = f"All {sample.n_rows:,} rows satisfy it up to rounding."
    found = exact_law(columns, scale, conditions.n_rows, exponents[order], coef, rational, why)
    found = replace(found, free_coef=free, conserved=sample.groups is not None)
    found = replace(found, origin=np.where(exponents.any(axis=0), origin, 0.0))
    if law.exact:
        return found
    sigma = np.sqrt(law.variances) * (1.0 if sample.model == MULTIPLICATIVE else sample.scale)
    return replace(
        found,
        stderr=stderr,
        free_stderr=free_stderr,
        noise=in_table(sigma, kept, len(columns)) + found.noise,
        noise_kind=_noise_kind(law),
        level=law.level,
        typical_distance=_typical_distance(law),
        J=law.J,
        dof=law.dof,
        p_value=law.p_value,
        audits=(f"J has {degrees_of_freedom(law.dof)}",),
        kind="dense" if law.dense else "law",
        why=_why(law),
    )


def _numbers(law: FittedLaw, order: list[int]) -> tuple[Float1D, Float1D, list[Fraction | None], Float1D, Float1D]:
    """Coefficients with errors: some read as rational numbers, and as the rows give them, in an order of the terms.

    They are multiples of the reference term's, times -1 where that makes the first one positive. Where all of more
    than two are rational, they become integers.
    """
    support = np.array(law.support)[order]
    unit = law.conditions.unit[support]
    reference, rational = _rationals(law, support.tolist())
    r = support.tolist().index(reference)
    coef, free = (c[support] / unit for c in (law.c, law.free))
    scale = unit * free[r]
    coef, free = coef / coef[r], free / free[r]
    information = law.system.information(law.free, support.tolist()) * np.outer(scale, scale)
    real = [k for k, number in enumerate(rational) if number is None and k != r]
    stderr = _errors(information, real)
    free_stderr = _errors(information, [k for k in range(len(support)) if k != r])
    known = [number for number in rational if number is not None]
    factor = common_denominator(known) if len(known) == len(rational) > 2 else 1
    signed = -factor if coef[0] < 0.0 else factor
    rational = [None if number is None else number * signed for number in rational]
    return coef * signed, stderr * factor, rational, free * signed, free_stderr * factor


def power_law(law: PowerLaw, columns: Sequence[str], X: Float2D, kept: Sequence[int], *, snap: bool = True) -> Law:
    """A power law of the columns ``kept``, with the rows ``X``, as a polynomial: negative exponents go to one side.

    With ``snap``, its constant may be a rational number.
    """
    sides = np.array([np.maximum(law.exponents, 0), np.maximum(-law.exponents, 0)])
    value, error = law.constant, law.error
    if sides[1].sum() > sides[0].sum():
        sides, value, error = sides[::-1], 1.0 / value, error / value**2
    known_to = max(error, ROUNDED * abs(value))
    bits, p, q, _ = nearest_rational(value, known_to)
    snapped = Fraction(int(p), int(q)) if snap and real_bits(value, known_to) - bits > least_saving(1) else None
    coef = np.array([1.0, -(value if snapped is None else float(snapped))])
    rational = Fraction(1), None if snapped is None else -snapped
    exponents, scale = (in_table(values, kept, len(columns)) for values in (sides, X.std(axis=0)))
    why = f"All {law.n_rows:,} rows satisfy it up to rounding."
    found = exact_law(columns, scale, law.n_rows, exponents, coef, rational, why)
    found = replace(found, free_coef=np.array([1.0, -value]))
    if law.level <= LEFT_BY_ROUNDING:
        return found
    noise = in_table(law.sigma, kept, len(columns)) + found.noise
    return replace(
        found,
        stderr=np.array([0.0, error if snapped is None else 0.0]),
        free_stderr=np.array([0.0, error]),
        noise=noise,
        noise_kind=f"{'multiplicative, ' if law.multiplicative else ''}one level for all columns",
        level=float(np.nanmean(noise / (1.0 if law.multiplicative else scale))),
        typical_distance=law.level,
        J=law.J,
        dof=law.dof,
        p_value=law.p_value,
        audits=(f"J of the logarithms has {degrees_of_freedom(law.dof)}",),
        kind="law",
        why=f"It is a power law; noise of {law.level:.2%} of the logarithms' deviations, p-value {law.p_value:.2g}.",
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
    return exact_law(table.names, table.X.std(axis=0), table.n_rows, exponents, coef, (None,) * len(coef), why)


def with_units(law: Law, units: Sequence[Any], dims: Array) -> Law:
    """The law with units of its coefficients: that of the first term over that of the coefficient's own term."""
    missing = [law.exponents[0] - row for row in law.exponents]
    labels = ["" if not (powers @ dims).any() else dimensions.label(powers.tolist(), units) for powers in missing]
    return replace(law, units=tuple(labels))


def _rationals(law: FittedLaw, support: list[int]) -> tuple[int, list[Fraction | None]]:
    """The term whose coefficient is fixed, and for each term the rational multiple of it, if there is one."""
    if law.snapped is None or len(law.snapped.rational) == 1:
        return support[0], [Fraction(1), *[None] * (len(support) - 1)]
    return law.snapped.reference, [law.snapped.rational.get(term) for term in support]


def _errors(information: Float2D, real: list[int]) -> Float1D:
    """Standard errors of the coefficients in ``real``, the others being fixed."""
    errors = np.zeros(len(information))
    if real:
        inner = information[np.ix_(real, real)]
        size = np.sqrt(np.maximum(np.diag(inner), 1e-300))
        covariance = np.linalg.pinv(inner / np.outer(size, size), hermitian=True) / np.outer(size, size)
        errors[real] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return errors


def _noise_kind(law: FittedLaw) -> str:
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


def _why(law: FittedLaw) -> str:
    test = f"with noise of {law.level:.2%} the test does not reject it (p-value {law.p_value:.2g})"
    if law.dense:
        return (
            f"It holds within the noise: {test}; but its coefficients are nothing special, so a smooth curve that is "
            "no polynomial cannot be excluded."
        )
    return f"It is a law: {test}, and smaller equations are much worse."
