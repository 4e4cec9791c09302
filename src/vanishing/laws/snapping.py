"""Coefficients that are small rational numbers, chosen by description length.

A law costs ``J / (2 log 2)`` bits for its misfit, the logarithm of the number of candidates for every term, and the
bits of its coefficients: those of a rational number ``p/q``, or those of a real number up to its standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, log2

import numpy as np

from .._typing import Bool1D, Float1D, Float2D
from .gmm import System

__all__ = ["SnappedLaw", "polish", "snap"]

_BITS = 2.0 * np.log(2.0)  # of J for one bit
_DENOMINATORS, _LARGEST = (1, 2, 3, 4), 40
_FAR = 9.0  # squared standard errors beyond which a number is another one
_STRONG = 5.0  # bits that a snapped coefficient saves which is hardly chance
_GAIN = 0.5  # bits that a change of terms has to save
_MOST_CHANGES, _MOST_ADDED = 4, 5


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
        How many of them are hardly chance.
    """

    bits: float
    support: list[int]
    c: Float1D
    rational: dict[int, Fraction]
    J: float
    reference: int
    n_strong: int


def real_bits(value: float, error: float) -> float:
    """The bits of a real number that is known up to an error.

    Examples
    --------
    >>> real_bits(1.0, 0.25)
    5.0
    """
    return log2(max(abs(value) / error, 1.0)) + 3.0


def nearest_rational(value: float, error: float) -> tuple[float, Fraction, float] | None:
    """The rational number of fewest bits near a value: bits with misfit, the number, and the squared distance.

    Examples
    --------
    >>> nearest_rational(0.5001, 0.001)[1]
    Fraction(1, 2)
    """
    best: tuple[float, Fraction, float] | None = None
    for q in _DENOMINATORS:
        middle = round(value * q)
        for p in (middle, middle + 1, middle - 1):
            if p == 0 or abs(p) > _LARGEST or gcd(p, q) > 1:
                continue
            far = ((value - p / q) / error) ** 2
            bits = log2(1 + abs(p)) + 2.0 * log2(q) + 1.0 + far / _BITS
            if far < _FAR and (best is None or bits < best[0]):
                best = bits, Fraction(p, q), far
    return best


def snap(
    system: System,
    support: Sequence[int],
    unit: Float1D,
    *,
    reference: int | None = None,
    required: int | None = None,
    comparable: Callable[[int], Bool1D] | None = None,
) -> SnappedLaw | None:
    """The shortest description of the law with these terms; None if it has none.

    Parameters
    ----------
    system : System
    support : sequence of int
    unit : ndarray
        A coefficient divided by it is the users'.
    reference : int, optional
        Term that others are multiples of; every term is tried by default.
    required : int, optional
        Term whose coefficient has to be rational.
    comparable : callable, optional
        ``comparable(reference)`` says which terms have the reference's dimension; a ratio of others is no pure number.
    """
    support = list(support)
    _, c = system.minimise(support)
    if not np.isfinite(c).all() or not c[support].all():
        return None
    best: SnappedLaw | None = None
    for r in [support.index(reference)] if reference in support else range(len(support)):
        pure = np.ones(len(unit), dtype=bool) if comparable is None else comparable(support[r])
        found = _snap_to(system, support, c, unit, r, pure)
        if found is None or (required is not None and required not in found.rational):
            continue
        if best is None or found.bits < best.bits:
            best = found
    return best


def _snap_to(
    system: System, support: list[int], c: Float1D, unit: Float1D, r: int, pure: Bool1D
) -> SnappedLaw | None:
    """Greedily the coefficient whose snapping saves most bits; the others follow by their covariance."""
    units = unit[support]
    ratio = c[support] / units
    scale = ratio[r]
    values = ratio / scale
    information = system.information(c / scale, support) * np.outer(units, units)
    fixed: dict[int, Fraction] = {r: Fraction(1)}
    free = [i for i in range(len(support)) if i != r]
    bits, n_strong = 1.0, 0
    while free:
        covariance = _inverse(information[np.ix_(free, free)])
        if covariance is None:
            return None
        errors = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        real = [real_bits(values[i], errors[k]) for k, i in enumerate(free)]
        options = []
        for k, i in enumerate(free):
            found = nearest_rational(values[i], errors[k]) if pure[support[i]] else None
            if found is not None and found[0] < real[k]:
                options.append((found[0] - real[k], k, found))
        if not options:
            bits += sum(real)
            break
        saved, k, (cost, number, far) = min(options, key=lambda option: option[0])
        i = free[k]
        values[free] += covariance[:, k] / covariance[k, k] * (float(number) - values[i])
        values[i] = float(number)
        fixed[i] = number
        n_strong += saved < -_STRONG
        bits += cost - far / _BITS
        free.remove(i)
    snapped = np.zeros_like(c)
    snapped[support] = values * units
    J = system.statistic(snapped)
    bits += J / _BITS + len(support) * log2(len(unit))
    rational = {support[i]: number for i, number in fixed.items()}
    return SnappedLaw(bits, support, snapped, rational, J, support[r], int(n_strong))


def _inverse(matrix: Float2D) -> Float2D | None:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None


def polish(
    system: System,
    support: Sequence[int],
    trial: Sequence[int],
    unit: Float1D,
    comparable: Callable[[int], Bool1D] | None = None,
) -> SnappedLaw | None:
    """Local search around a support by description length: a term leaves, or one with a rational coefficient joins."""
    current = snap(system, support, unit, comparable=comparable)
    if current is None:
        return None
    for _ in range(_MOST_CHANGES):
        support = current.support
        others = [term for term in trial if term not in support]
        gains = sorted((system.minimise(sorted([*support, term]))[0], term) for term in others)
        changes: list[tuple[list[int], int | None]] = [
            (sorted([*support, term]), term) for _, term in gains[:_MOST_ADDED]
        ]
        if len(support) > 2:
            changes += [([term for term in support if term != left], None) for left in support]
        tried = [
            snap(system, terms, unit, reference=current.reference, required=required, comparable=comparable)
            for terms, required in changes
            if any(terms)
        ]
        better = [law for law in tried if law is not None and law.bits < current.bits - _GAIN]
        if not better:
            break
        current = min(better, key=lambda law: law.bits)
    return current
