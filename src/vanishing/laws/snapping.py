"""Coefficients that are small rational numbers, chosen by description length.

A law costs ``J / (2 log 2)`` bits for its misfit, the logarithm of the number of candidates for every term, and the
bits of its coefficients: those of a rational number ``p/q``, or those of a real number up to its standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2
from typing import Any

import numpy as np

from .._typing import Bool1D, Float1D, Float2D
from .gmm import System

__all__ = ["SnappedLaw", "nearest_rationals", "polish", "rational_bits", "real_bits", "snap"]

_BITS = 2.0 * np.log(2.0)  # of J for one bit
_Q = np.repeat([1.0, 2.0, 3.0, 4.0], 3)  # denominators
_NEAR = np.tile([0.0, 1.0, -1.0], 4)  # numerators, from the nearest on
_LARGEST = 40.0
_FAR = 14.0  # squared standard errors beyond which a number is another one: a law has several, and all have to be near
_STRONG = 5.0  # bits that a snapped coefficient saves which is hardly chance
_GAIN, _GAIN_OF_MORE = 0.5, 6.0  # bits that a change of terms has to save: fewer terms, and more
_MOST_CHANGES, _MOST_ADDED = 4, 5
_MANY = 4  # rational numbers


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


def real_bits(values: Float1D, errors: Float1D) -> Float1D:
    """The bits of real numbers that are known up to errors.

    Examples
    --------
    >>> real_bits(np.array([1.0]), np.array([0.25]))
    array([5.])
    """
    return np.asarray(np.log2(np.maximum(np.abs(values) / errors, 1.0)) + 3.0)


def rational_bits(p: Any, q: Any) -> Any:
    """The bits of rational numbers ``p/q``: ``log2(1 + |p|) + 2 log2 q``, and one for the sign.

    Examples
    --------
    >>> float(rational_bits(3, 2))
    5.0
    """
    return np.log2(1.0 + np.abs(p)) + 2.0 * np.log2(q) + 1.0


def nearest_rationals(values: Float1D, errors: Float1D) -> tuple[Float1D, Float2D, Float1D]:
    """Rational numbers of fewest bits near values: bits with misfit (infinity for none), p and q, squared distances.

    Examples
    --------
    >>> bits, numbers, far = nearest_rationals(np.array([0.5001]), np.array([0.001]))
    >>> numbers
    array([[1., 2.]])
    """
    p = np.round(values[:, None] * _Q) + _NEAR
    far = ((values[:, None] - p / _Q) / errors[:, None]) ** 2
    bits = rational_bits(p, _Q) + far / _BITS
    bits[(p == 0.0) | (np.abs(p) > _LARGEST) | (np.gcd(p.astype(np.int64), _Q.astype(np.int64)) > 1)] = np.inf
    bits[far >= _FAR] = np.inf
    best = np.argmin(bits, axis=1)
    at = np.arange(len(values)), best
    return bits[at], np.column_stack([p[at], _Q[best]]), far[at]


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
        snapped = _snap_to(system, support, c, unit, r, pure)
        if snapped is None or (required is not None and required not in snapped.rational):
            continue
        if best is None or snapped.bits < best.bits:
            best = snapped
    return best


def _snap_to(system: System, support: list[int], c: Float1D, unit: Float1D, r: int, pure: Bool1D) -> SnappedLaw | None:
    """Greedily the coefficient whose snapping saves most bits; the others follow by their covariance."""
    units = unit[support]
    ratio = c[support] / units
    scale = ratio[r]
    values = ratio / scale
    information = system.information(c / scale, support) * np.outer(units, units)
    fixed: dict[int, Fraction] = {r: Fraction(1)}
    free = [i for i in range(len(support)) if i != r]
    bits, n_strong, total_saved = 1.0, 0, 0.0
    while free:
        covariance = _inverse(information[np.ix_(free, free)])
        if covariance is None:
            return None
        errors = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        real = real_bits(values[free], errors)
        cost, numbers, far = nearest_rationals(values[free], errors)
        saved = np.where(pure[np.array(support)[free]], real - cost, -np.inf)
        k = int(np.argmax(saved))
        if saved[k] <= 0.0:
            bits += real.sum()
            break
        number = Fraction(int(numbers[k, 0]), int(numbers[k, 1]))
        i = free[k]
        values[free] += covariance[:, k] / covariance[k, k] * (float(number) - values[i])
        values[i] = float(number)
        fixed[i] = number
        n_strong += bool(saved[k] > _STRONG)
        total_saved += float(saved[k])
        bits += cost[k] - far[k] / _BITS
        free.remove(i)
    snapped = np.zeros_like(c)
    snapped[support] = values * units
    J = system.statistic(snapped)
    bits += J / _BITS + len(support) * log2(len(unit))
    rational = {support[i]: number for i, number in fixed.items()}
    return SnappedLaw(bits, support, snapped, rational, J, support[r], n_strong, total_saved)


def _inverse(matrix: Float2D) -> Float2D | None:
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
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
        better = [law for law in tried if law is not None and law.bits < current.bits - _least_gain(law, current)]
        if not better:
            break
        current = min(better, key=lambda law: law.bits)
    return current


def _least_gain(law: SnappedLaw, current: SnappedLaw) -> float:
    """Many terms are tried, and rational numbers are everywhere: one more term has to save more.

    Not if it explains away the only real number beside many rational ones, so that all coefficients are rational; a
    real constant beside one or two rational ones is nothing unusual.
    """
    odd = len(current.rational) == len(current.support) - 1 >= _MANY
    explained = odd and len(law.rational) == len(law.support)
    return _GAIN if explained or len(law.support) <= len(current.support) else _GAIN_OF_MORE
