"""Coefficients that are small rational numbers, chosen by description length.

A law costs ``J / (2 log 2)`` bits for its misfit, the logarithm of the number of candidates for every term, and the
bits of its coefficients. A coefficient is a rational number ``p/q``, or a real number up to its standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2

import numpy as np

from ..._compiled import compiled
from ..._typing import Bool1D, Float1D, Float2D
from ...constants import WIDE
from ..estimate.gmm import System

__all__ = [
    "DENOMINATORS",
    "J_PER_BIT",
    "STRONG",
    "SnappedLaw",
    "least_saving",
    "nearest_rational",
    "rational_bits",
    "real_bits",
    "snap",
]

J_PER_BIT = 2.0 * np.log(2.0)  # conversion: J is twice a log-likelihood, in nats
DENOMINATORS = 4  # largest denominator of a ratio of coefficients
STRONG = 5.0  # bits saved beyond what a search chooses from: a chance of 3%


@dataclass(frozen=True, eq=False)
class SnappedLaw:
    """A law some of whose coefficients are rational multiples of that of a reference term.

    Attributes
    ----------
    bits : float
        Description length.
    support : list of int
    c : ndarray
        Coefficients of all terms.
    rational : dict
        Multiples of the reference term's coefficient, in the users' coordinates; the reference's own is 1.
    J : float
        With these coefficients.
    reference : int
    n_strong : int
        How many of them save more than five bits each.
    saved : float
        Bits that they save, compared with real numbers.
    """

    bits: float
    support: list[int]
    c: Float1D
    rational: dict[int, Fraction]
    J: float
    reference: int
    n_strong: int
    saved: float


@compiled
def real_bits(value: float, error: float) -> float:
    """The bits of a real number that is known up to an error.

    Examples
    --------
    >>> real_bits(1.0, 0.25)
    5.0
    """
    return log2(max(abs(value) / error, 1.0)) + 3.0


@compiled
def rational_bits(p: float, q: float) -> float:
    """The bits of a rational number ``p/q``: ``log2(1 + |p|) + 2 log2 q``, and one for the sign.

    Examples
    --------
    >>> rational_bits(3.0, 2.0)
    5.0
    """
    return log2(1.0 + abs(p)) + 2.0 * log2(q) + 1.0


def least_saving(n_numbers: int) -> float:
    """The bits that the rational numbers of a law save together at least, lest chance explains them.

    One bit for each number says whether it is rational, ``log2(n + 1)`` say which coefficient is 1, and five more bits
    are a chance of 3%. ``T^2 = 4.02(2) L`` may be ``4 L``, and may be ``4 pi^2 / 9.81 L``.

    Examples
    --------
    >>> least_saving(1)
    7.0
    """
    return log2(n_numbers + 1) + n_numbers + STRONG


@compiled
def nearest_rational(value: float, error: float) -> tuple[float, float, float, float]:
    """The rational number of fewest bits near a value: bits with misfit (infinity for none), p, q, squared distance.

    Examples
    --------
    >>> nearest_rational(0.5001, 0.001)[1:3], nearest_rational(6.6667, 0.0001)[1:3]
    ((1.0, 2.0), (20.0, 3.0))
    >>> nearest_rational(6.1, 0.003)[0]
    inf
    """
    best, best_p, best_q, best_far = np.inf, 0.0, 1.0, np.inf
    for q in range(1, DENOMINATORS + 1):
        for step in (0.0, 1.0, -1.0):
            p = np.rint(value * q) + step
            far = ((value - p / q) / error) ** 2
            reducible = q > 1 and (p % q == 0.0 or (q == 4 and p % 2.0 == 0.0))
            if p == 0.0 or reducible or far >= WIDE * WIDE:
                continue
            bits = rational_bits(p, float(q)) + far / J_PER_BIT
            if bits < best:
                best, best_p, best_q, best_far = bits, p, float(q), far
    return best, best_p, best_q, best_far


def snap(
    system: System,
    support: Sequence[int],
    unit: Float1D,
    comparable: Callable[[int], Bool1D] | None = None,
) -> SnappedLaw | None:
    """The shortest description of the law with these terms; None if a coefficient vanishes or is unknown.

    Parameters
    ----------
    system : System
    support : sequence of int
    unit : ndarray
        A coefficient divided by it is the users'.
    comparable : callable, optional
        ``comparable(reference)`` says which terms have the reference's dimension; ratios to others have a unit.
    """
    support = list(support)
    _, c = system.minimise(support)
    if not np.isfinite(c).all() or not c[support].all():
        return None
    best: SnappedLaw | None = None
    for r in range(len(support)):
        pure = np.ones(len(unit), dtype=bool) if comparable is None else comparable(support[r])
        snapped = _snap_to(system, support, c, unit, r, pure)
        if snapped is not None and (best is None or snapped.bits < best.bits):
            best = snapped
    return best


def _snap_to(system: System, support: list[int], c: Float1D, unit: Float1D, r: int, pure: Bool1D) -> SnappedLaw | None:
    """The law with multiples of term ``support[r]`` as coefficients, read greedily by :func:`_fix_greedily`."""
    units = unit[support]
    ratio = c[support] / units
    values = ratio / ratio[r]
    with np.errstate(over="ignore", invalid="ignore"):  # float64 does not hold the squares of some units
        relative = units / units[r]
        information = system.information(c, support) * c[support[r]] ** 2 * np.outer(relative, relative)
    others = [i for i in range(len(support)) if i != r]
    covariance = _inverse(information[np.ix_(others, others)])
    if covariance is None:
        return None
    left, numbers, totals = values[others], np.zeros((len(others), 2)), np.zeros(3)
    free, inverse = left.copy(), covariance.copy()
    _fix_greedily(left, covariance, pure[np.array(support)[others]], numbers, totals)
    if totals[2] <= least_saving(len(others)):
        left, numbers, totals = free, np.zeros_like(numbers), np.zeros(3)
        _fix_greedily(left, inverse, np.zeros(len(others), dtype=np.bool_), numbers, totals)
    values[others] = left
    snapped = np.zeros_like(c)
    snapped[support] = values * units
    J = system.statistic(snapped)
    bits = 1.0 + totals[0] + J / J_PER_BIT + len(support) * log2(len(unit))
    fixed = [(support[i], Fraction(int(p), int(q))) for i, (p, q) in zip(others, numbers, strict=True) if q]
    return SnappedLaw(
        bits, support, snapped, {support[r]: Fraction(1), **dict(fixed)}, J, support[r], int(totals[1]), totals[2]
    )


@compiled
def _fix_greedily(values: Float1D, covariance: Float2D, pure: Bool1D, numbers: Float2D, totals: Float1D) -> None:
    """Values become rational one by one, the one that saves most bits first, as long as one does.

    The others move as normal variables do when one of them is fixed: ``v += C_k / C_kk (number - v_k)``, and
    ``C -= C_k C_k' / C_kk``. ``numbers`` becomes p and q (0 for real values); ``totals`` the bits of all numbers, how
    many rational ones save more than five bits each, and the bits that all rational ones save.
    """
    n = len(values)
    for _ in range(n + 1):
        k, most, real_total = -1, 1.0, 0.0
        p_k, q_k, cost_k = 0.0, 0.0, 0.0
        for i in range(n):
            if numbers[i, 1] > 0.0:
                continue
            error = np.sqrt(max(covariance[i, i], 1e-300))
            real = real_bits(values[i], error)
            real_total += real
            if pure[i]:
                bits, p, q, far = nearest_rational(values[i], error)
                if real - bits > most:
                    k, most, p_k, q_k, cost_k = i, real - bits, p, q, bits - far / J_PER_BIT
        if k < 0:
            totals[0] += real_total
            return
        totals[0] += cost_k
        totals[1] += 1.0 if most > STRONG else 0.0
        totals[2] += most
        numbers[k, 0], numbers[k, 1] = p_k, q_k
        moved, variance = p_k / q_k - values[k], max(covariance[k, k], 1e-300)
        for i in range(n):
            along = covariance[i, k] / variance
            if numbers[i, 1] == 0.0:
                values[i] += along * moved
                for j in range(n):
                    if j != k:
                        covariance[i, j] -= along * covariance[k, j]
        values[k] = p_k / q_k


def _inverse(matrix: Float2D) -> Float2D | None:
    """The inverse of an information matrix; None where rounding leaves no positive variances."""
    try:
        inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return inverse if np.isfinite(inverse).all() and (np.diag(inverse) > 0.0).all() else None
