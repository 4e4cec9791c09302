"""Laws of a few rows: power laws and linear laws, by tests that are exact for small samples.

Moments of 6 to 50 rows say little about noise, so the search has few candidates, each with few numbers: linear
relations between two to four columns, or between their logarithms. With noise ``s`` in deviations of the columns, m
rows and k columns, ``(m - k) s^2`` is chi^2 with m - k degrees of freedom, times the noise variance. A relation counts
if one that is loose (noise of 0.2) would hardly look as precise by chance, whichever row is left out; if a quadratic
or cubic does not fit better (an F-test); and if the exponents of a power law are small integers within t-errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from scipy.special import chdtr, chdtrc, chdtri, fdtrc, stdtrit

from ..._typing import Float1D, Float2D, Int1D
from ..estimate.gmm import smallest_ratio
from .power_laws import PowerLaw, fixed_length_inverse, integer_exponents, over_one

__all__ = ["FEWEST_ROWS", "FEW_ROWS", "LinearLaw", "find_in_few_rows", "largest_noise"]

FEWEST_ROWS, FEW_ROWS = 6, 50  # tables with fewer rows than the second are searched here first
_MOST_COLUMNS = 4  # of a law
_LEAST_DOF = 4  # rows beyond the columns of a law
_LOOSE = 0.2  # noise of a relation that is no law, in deviations: a correlation of 0.96
_NOISE = 0.05  # of a law, at most
_BY_CHANCE = 1e-4  # chance that a loose relation, any of those tried, looks as precise
_CURVED, _MOST_CURVED = 0.01, 1e-4  # p-value below which a relation is curved: if curves explain much; in any case
_MUCH = 2 / 3  # share of the residual
_CLOSE = 0.002  # chance that a true exponent is further away than what counts as near
_LARGEST = 4  # exponent
_ZERO = 0.05  # p-value above which a constant is left out
_STEPS = 4  # of coefficients and weights in turn
_ROUNDING = 1e-7  # noise level below which a relation is exact


@dataclass(frozen=True, eq=False)
class LinearLaw:
    """``sum_j coef[j] x_j + constant = 0`` with standard errors; a coefficient is 1, and that of an idle column 0."""

    coef: Float1D
    errors: Float1D
    constant: float
    constant_error: float
    sigma: Float1D
    level: float
    J: float
    dof: int
    n_rows: int

    @property
    def p_value(self) -> float:
        """Chance that curves fit better by as much at a linear law."""
        return float(chdtrc(self.dof, self.J))


@dataclass(frozen=True, eq=False)
class _Relation:
    """A linear relation ``a'z = middle`` of coordinates z with noise variances ``s2 unit``."""

    Z: Float2D
    unit: Float2D
    a: Float1D
    middle: float
    s2: float
    covariance: Float2D
    level: float

    @property
    def dof(self) -> int:
        return len(self.Z) - len(self.a)

    @property
    def weights(self) -> Float1D:
        return np.asarray(1.0 / (self.unit @ self.a**2))


def find_in_few_rows(X: Float2D, max_noise: float = _NOISE, *, logs: bool = True) -> list[PowerLaw | LinearLaw]:
    """The power laws and linear laws of a short table, those of two columns before those of three and four.

    Examples
    --------
    >>> a = np.array([0.387, 0.723, 1.0, 1.524, 5.203, 9.58, 19.2, 30.05])
    >>> T = np.array([0.241, 0.615, 1.0, 1.881, 11.86, 29.45, 84.02, 164.8])
    >>> [law.exponents.tolist() for law in find_in_few_rows(np.column_stack([a, T]))]
    [[3, -2]]
    """
    candidates = [columns for size in _sizes(*X.shape) for columns in combinations(range(X.shape[1]), size)]
    laws: list[PowerLaw | LinearLaw] = []
    used: set[int] = set()
    most = _MOST_COLUMNS
    for columns in candidates:
        if laws and (len(columns) > most or set(columns) <= used):  # it has more terms, or follows
            continue
        law = _law_of(X, list(columns), 3 * len(candidates), min(max_noise, _NOISE), logs=logs)
        if law is not None:
            laws.append(law)
            used |= set(columns)
            most = len(columns)
    return laws


def largest_noise(n_rows: int, n_columns: int) -> float:
    """The noise that a law of two columns may have in a table of this size, in deviations of the columns.

    Examples
    --------
    >>> round(largest_noise(8, 2), 3), round(largest_noise(20, 4), 3)
    (0.021, 0.05)
    """
    dof = n_rows - 3
    chance = _BY_CHANCE / (3 * sum(comb(n_columns, size) for size in _sizes(n_rows, n_columns)))
    return min(float(_LOOSE * np.sqrt(chdtri(dof, 1.0 - chance) / dof)), _NOISE)


def _sizes(n_rows: int, n_columns: int) -> range:
    return range(2, min(n_columns, _MOST_COLUMNS, n_rows - _LEAST_DOF) + 1)


def _law_of(X: Float2D, columns: list[int], n_tried: int, most: float, *, logs: bool) -> PowerLaw | LinearLaw | None:
    """The power law of some columns, or else their linear law, if one passes."""
    in_logs = _in_logarithms(X[:, columns]) if logs else ()
    relations = [entry for entry in in_logs if _is_precise(entry[0], n_tried, most)]
    tested = [_power_law(X, columns, relation, multiplicative) for relation, multiplicative in relations]
    power_laws = [law for law in tested if law is not None]
    if power_laws:
        return max(power_laws, key=lambda law: law.p_value)
    Z = X[:, columns] / X[:, columns].std(axis=0, ddof=1)
    relation = _relation(Z, np.ones_like(Z))
    return _linear_law(X, columns, relation) if _is_precise(relation, n_tried, most) else None


def _in_logarithms(X: Float2D) -> Iterator[tuple[_Relation, bool]]:
    """Relations of the logarithms under noise that is a share of the values (True), or of the deviations (False)."""
    if not ((X > 0.0).all(axis=0) | (X < 0.0).all(axis=0)).all():
        return
    L = np.log(np.abs(X))
    yield _relation(L, np.ones_like(L)), True
    yield _relation(L, (X.std(axis=0, ddof=1) / X) ** 2), False


def _relation(Z: Float2D, unit: Float2D) -> _Relation:
    """The relation with the least noise: ``a`` minimises ``a'Ga / a'Da``, with weights of its own."""
    m, k = Z.shape
    weights = 1.0 / unit.sum(axis=1)
    for _ in range(_STEPS):
        share = weights / weights.sum()
        centred = Z - share @ Z
        gram, D = (centred * share[:, None]).T @ centred, np.diag(share @ unit)
        ratio, a = smallest_ratio(gram, D)
        weights = 1.0 / (unit @ a**2)
    s2 = max(ratio, 0.0) * m / (m - k)
    noise = s2 * float(a @ D @ a)
    level = float(np.sqrt(noise / max(float(a**2 @ Z.var(axis=0, ddof=1)), 1e-300)))
    covariance = _covariance(gram, a, noise / float(a @ a), m)
    return _Relation(Z, unit, a, float(share @ Z @ a), s2, covariance, level)


def _is_precise(relation: _Relation, n_tried: int, most: float) -> bool:
    """Whether a relation is straight, and loose ones hardly look as precise by chance, whichever row is left out."""
    if relation.level > most or not relation.a.all():
        return False
    rows = np.arange(len(relation.Z))
    others = [_relation(relation.Z[rows != i], relation.unit[rows != i]) for i in rows]
    worst = max(other.level for other in others)
    chance = n_tried * chdtr(relation.dof - 1, (relation.dof - 1) * (worst / _LOOSE) ** 2)
    if chance >= _BY_CHANCE:
        return False
    p_value, _, explained = _straightness(relation)
    return p_value > (_CURVED if explained > _MUCH else _MOST_CURVED)


def _straightness(relation: _Relation) -> tuple[float, int, float]:
    """p-value of the F-test against curves, the number of curves, and the share of the residual that they explain.

    Curves are quadratic functions of the place in the plane of the relation, and a cubic one for two columns.
    """
    if relation.level <= _ROUNDING:
        return 1.0, 1, 0.0
    root = np.sqrt(relation.weights)
    centred = relation.Z - relation.Z.mean(axis=0)
    _, _, directions = np.linalg.svd(centred - np.outer(centred @ relation.a, relation.a) / (relation.a @ relation.a))
    place = centred @ directions[: len(relation.a) - 1].T
    place = place / place.std(axis=0)
    straight = np.column_stack([np.ones(len(place)), place])
    curves = [place[:, i] * place[:, j] for i in range(place.shape[1]) for j in range(i, place.shape[1])]
    if place.shape[1] == 1:
        curves.append(place[:, 0] ** 3)
    n_curves = min(len(curves), relation.dof - 3)
    residual = relation.Z @ relation.a - relation.middle
    before = _residual_squares(straight * root[:, None], residual * root)
    after = _residual_squares(np.column_stack([straight, *curves[:n_curves]]) * root[:, None], residual * root)
    left = relation.dof - n_curves
    F = (before - after) / n_curves / max(after / left, 1e-300)
    return float(fdtrc(n_curves, left, max(F, 0.0))), n_curves, 1.0 - after / max(before, 1e-300)


def _residual_squares(design: Float2D, values: Float1D) -> float:
    return float(((values - design @ np.linalg.lstsq(design, values, rcond=None)[0]) ** 2).sum())


def _power_law(X: Float2D, columns: Sequence[int], relation: _Relation, multiplicative: bool) -> PowerLaw | None:
    """The relation of logarithms with integer exponents; None if its exponents are no integers."""
    close = float(stdtrit(relation.dof, 1.0 - _CLOSE / 2.0))
    integers = integer_exponents(relation.a, relation.covariance, close, _LARGEST)
    if integers is None or not integers.all():
        return None
    a = integers.astype(np.float64)
    variance = relation.unit @ a**2
    share = (1.0 / variance) / (1.0 / variance).sum()
    middle = float(share @ relation.Z @ a)
    residual = relation.Z @ a - middle
    s2 = float((residual**2 / variance).sum() / (len(X) - 1))
    signs = np.sign(X[0, list(columns)])
    constant = float(np.exp(middle) * np.prod(signs**a))
    error = float(np.exp(middle) * np.sqrt(s2 / (1.0 / variance).sum()))
    sigma = np.sqrt(s2) * (np.ones(X.shape[1]) if multiplicative else X.std(axis=0, ddof=1))
    p_value, n_curves, _ = _straightness(relation)
    exponents: Int1D = np.zeros(X.shape[1], dtype=np.int64)
    exponents[list(columns)] = integers
    J = float(chdtri(n_curves, p_value))
    return PowerLaw(exponents, constant, error, sigma, multiplicative, relation.level, J, n_curves, True, len(X))


def _linear_law(X: Float2D, columns: Sequence[int], relation: _Relation) -> LinearLaw:
    """The relation of standardised columns in their units; without a constant if that may be 0."""
    lead = int(np.argmax(np.abs(relation.a) > 0.5 * np.abs(relation.a).max()))
    a, covariance = over_one(relation.a, relation.covariance, lead)
    mean = relation.Z.mean(axis=0)
    constant, variance = -float(mean @ a), float(relation.s2 * (a @ a) / len(X) + mean @ covariance @ mean)
    if abs(constant) < float(stdtrit(relation.dof, 1.0 - _ZERO / 2.0)) * np.sqrt(variance):
        _, c = smallest_ratio(relation.Z.T @ relation.Z, np.eye(len(a)))
        a, covariance = over_one(c, _covariance(relation.Z.T @ relation.Z / len(X), c, relation.s2, len(X)), lead)
        constant, variance = 0.0, 0.0
    p_value, n_curves, _ = _straightness(relation)
    spread = X.std(axis=0, ddof=1)
    own = spread[list(columns)]
    unit = own[lead]
    coef, errors = np.zeros(len(spread)), np.zeros(len(spread))
    coef[list(columns)] = a * unit / own
    errors[list(columns)] = np.sqrt(np.maximum(np.diag(covariance), 0.0)) * unit / own
    return LinearLaw(
        coef, errors, constant * unit, float(np.sqrt(variance) * unit), np.sqrt(relation.s2) * spread, relation.level,
        float(chdtri(n_curves, p_value)), n_curves, len(X),
    )  # fmt: skip


def _covariance(gram: Float2D, a: Float1D, noise: float, n_rows: int) -> Float2D:
    """Covariance of a direction at fixed length, by the noise variance of ``a'z`` over ``|a|^2``."""
    return np.asarray(fixed_length_inverse(gram, a) * (noise * (a @ a) / n_rows))
