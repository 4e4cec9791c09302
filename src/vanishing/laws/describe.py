"""From what a search has found to a law that users read: in their coordinates, with standard errors, in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .._typing import Float1D, Float2D, Int1D, Int2D
from .equation import common_denominator
from .fitted import FittedLaw
from .law import Law, sorted_terms
from .logs import PowerLaw
from .moments import MULTIPLICATIVE
from .snapping import nearest_rationals, real_bits
from .table import Table

__all__ = ["describe", "exact_law", "power_law"]


def describe(found: FittedLaw, columns: Sequence[str], kept: Sequence[int]) -> Law:
    """The law in the columns of the table, of which the search has seen those in ``kept``.

    Coefficients are multiples of the reference term's; where all of them are rational, they become integers.
    """
    conditions, support = found.conditions, np.array(found.support)
    reference, rational = _rationals(found)
    r = found.support.index(reference)
    coef, free = (c[support] / conditions.unit[support] for c in (found.c, found.free))
    coef, free = coef / coef[r], free / free[r]
    units = conditions.unit[support] * (found.free[reference] / conditions.unit[reference])
    information = found.system.information(found.free, found.support) * np.outer(units, units)
    real = np.array([number is None for number in rational])
    real[r] = False
    stderr = _errors(information, np.flatnonzero(real))
    free_stderr = _errors(information, np.delete(np.arange(len(support)), r))
    factor = 1.0
    numbers = [number for number in rational if number is not None]
    if len(numbers) == len(rational) > 2:
        factor = float(common_denominator(numbers))
    exponents = np.zeros((len(support), len(columns)), dtype=np.int64)
    exponents[:, list(kept)] = conditions.terms.exponents[support]
    order = list(sorted_terms(exponents))
    if coef[order[0]] < 0.0:
        factor = -factor
    rational = [None if number is None else number * Fraction(int(factor)) for number in rational]
    if found.exact:
        stderr, free_stderr = np.zeros_like(stderr), np.zeros_like(free_stderr)
    sample = conditions.sample
    spread, origin = np.zeros(len(columns)), np.zeros(len(columns))
    spread[list(kept)] = sample.deviation
    used = conditions.terms.exponents[support].any(axis=0)
    origin[list(kept)] = np.where(used, sample.origin, 0.0)
    return Law(
        columns=tuple(columns),
        exponents=exponents[order],
        coef=(coef * factor)[order],
        stderr=(stderr * abs(factor))[order],
        rational=tuple(rational[k] for k in order),
        free_coef=(free * factor)[order],
        free_stderr=(free_stderr * abs(factor))[order],
        origin=origin,
        noise=_noise(found, kept, len(columns)),
        noise_kind=_noise_kind(found),
        level=0.0 if found.exact else found.level,
        typical_distance=_typical_distance(found),
        J=found.J,
        dof=found.dof,
        p_value=1.0 if found.exact else found.p_value,
        held_out=found.held_out,
        audits=_audits(found),
        n_rows=conditions.n_rows,
        kind="exact" if found.exact else "dense" if found.dense else "law",
        why=_why(found),
        scale=spread,
        conserved=sample.groups is not None,
    )


def power_law(found: PowerLaw, table: Table, kept: Sequence[int]) -> Law:
    """A power law as a polynomial: factors with negative exponents on the other side."""
    n = len(table.names)
    exponents = np.zeros((2, n), dtype=np.int64)
    exponents[0, list(kept)] = np.maximum(found.exponents, 0)
    exponents[1, list(kept)] = np.maximum(-found.exponents, 0)
    value, error = found.constant, found.error
    if exponents[1].sum() > exponents[0].sum():
        exponents, value, error = exponents[::-1], 1.0 / value, error / value**2
    bits, numbers, _ = nearest_rationals(np.array([value]), np.array([max(error, 1e-12 * abs(value))]))
    real = real_bits(np.array([value]), np.array([max(error, 1e-12 * abs(value))]))
    snapped = Fraction(int(numbers[0, 0]), int(numbers[0, 1])) if bits[0] < real[0] else None
    noise = np.full(n, np.nan)
    noise[list(kept)] = np.where(found.exponents != 0, found.sigma, np.nan)
    exact = found.level <= 1e-7
    how = "multiplicative, one level for all columns" if found.multiplicative else "one level for all columns"
    test = f"with noise of {found.level:.2%} of the logarithms' deviations the test does not reject it"
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
        level=0.0 if exact else float(np.nanmean(noise / (1.0 if found.multiplicative else table.X.std(axis=0)))),
        typical_distance=found.level,
        J=found.J,
        dof=found.dof,
        p_value=1.0 if exact else found.p_value,
        held_out=1.0,
        audits=(f"J of the logarithms has {found.dof} degrees of freedom", "the exponents are integers within errors"),
        n_rows=found.n_rows,
        kind="exact" if exact else "law",
        why=f"It is a power law: its exponents are rational, and {test} (p-value {found.p_value:.2g}).",
        scale=table.X.std(axis=0),
    )


def exact_law(table: Table, exponents: Int2D, coef: Float1D, rational: Sequence[Fraction | None], why: str) -> Law:
    """A law that the rows satisfy up to rounding, or exactly."""
    n = len(table.names)
    nothing = np.zeros(len(coef))
    return Law(
        columns=table.names,
        exponents=exponents,
        coef=coef,
        stderr=nothing,
        rational=tuple(rational),
        free_coef=coef,
        free_stderr=nothing,
        origin=np.zeros(n),
        noise=np.where(exponents.any(axis=0), 0.0, np.nan),
        noise_kind="none: the rows satisfy the law",
        level=0.0,
        typical_distance=0.0,
        J=0.0,
        dof=0,
        p_value=1.0,
        held_out=1.0,
        audits=(why,),
        n_rows=table.n_rows,
        kind="exact",
        why=why,
        scale=table.X.std(axis=0),
    )


def _rationals(found: FittedLaw) -> tuple[int, list[Fraction | None]]:
    """The term whose coefficient is fixed, and for each term the rational multiple of it, if there is one."""
    if found.snapped is None or len(found.snapped.rational) == 1:
        leading = found.support[sorted_terms(found.conditions.terms.exponents[found.support])[0]]
        return leading, [Fraction(1) if term == leading else None for term in found.support]
    return found.snapped.reference, [found.snapped.rational.get(term) for term in found.support]


def _errors(information: Float2D, real: Int1D) -> Float1D:
    """Standard errors of the coefficients in ``real``, the others being fixed."""
    errors = np.zeros(len(information))
    if real.size:
        inner = information[np.ix_(real, real)]
        size = np.sqrt(np.maximum(np.diag(inner), 1e-300))
        covariance = np.linalg.pinv(inner / np.outer(size, size), hermitian=True) / np.outer(size, size)
        errors[real] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return errors


def _noise(found: FittedLaw, kept: Sequence[int], n_columns: int) -> Float1D:
    sample, terms = found.conditions.sample, found.conditions.terms
    noise = np.full(n_columns, np.nan)
    scale = 1.0 if sample.model == MULTIPLICATIVE else sample.scale
    sigma = np.sqrt(found.variances) * scale * (0.0 if found.exact else 1.0)
    used = terms.exponents[found.support].any(axis=0)
    noise[list(kept)] = np.where(used, sigma, np.nan)
    return noise


def _noise_kind(found: FittedLaw) -> str:
    if found.exact:
        return "none: the rows satisfy the law up to rounding"
    if found.nuisance == "none":
        return "known beforehand"
    what = "multiplicative, " if found.conditions.sample.model == MULTIPLICATIVE else ""
    if found.nuisance == "columns":
        return f"{what}estimated for each column"
    linear = found.conditions.degree == 1
    return f"{what}one level for all columns" + (
        "; a linear law does not say which column the noise is in" if linear else ""
    )


def _typical_distance(found: FittedLaw) -> float:
    """Root mean square of ``g`` over that of its gradient, on the rows, in deviations of the columns."""
    sample = found.conditions.sample
    if not sample.has_rows:
        G, D = found.conditions.noise_pencil(np.ones(sample.n_columns))
        return float(np.sqrt((found.c @ G @ found.c) / (found.c @ D @ found.c)))
    noise = found.conditions.noise_of(found.c, found.variances)
    slopes = noise.slopes * (sample.deviation / sample.scale)[:, None]
    residual = found.conditions.residuals(noise)
    return float(np.sqrt((residual**2).mean() / (slopes**2).sum(axis=0).mean()))


def _audits(found: FittedLaw) -> tuple[str, ...]:
    if found.exact:
        return ("the rows satisfy it up to rounding",)
    passed = [f"J has {found.dof} degrees of freedom"]
    if not found.conditions.sample.has_rows:
        return (*passed, "not audited: rows held out, and neighbouring rows, as there are sums only")
    if found.held_out != 1.0:
        passed.append(f"held-out rows are {found.held_out:.2f} times as far away")
    passed.append(f"distances of neighbours correlate by {found.correlation:.2f}")
    return tuple(passed)


def _why(found: FittedLaw) -> str:
    if found.exact:
        return f"All {found.conditions.sample.n_rows:,} rows satisfy it up to rounding."
    test = f"with noise of {found.level:.2%} the test does not reject it (p-value {found.p_value:.2g})"
    if found.dense:
        return (
            f"It holds within the noise: {test}; but its coefficients are nothing special, so a smooth curve that is "
            "no polynomial cannot be excluded."
        )
    return f"It is a law: {test}, and smaller equations are much worse."
