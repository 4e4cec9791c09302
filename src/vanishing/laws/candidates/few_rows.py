"""Candidates in a few rows: power laws and linear laws, with errors that are exact for small samples.

Moments of 6 to 50 rows say little about noise, so the search has few candidates, each with few numbers: linear
relations between two to four columns, or between their logarithms. With noise ``s`` in deviations of the columns, m
rows and k columns, ``(m - k) s^2`` is chi^2 with m - k degrees of freedom, times the noise variance. The exponents of
a power law are integers within t-errors, and the p-value of a relation is that of an F-test against curves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc, stdtrit

from ..._typing import Float1D, Float2D, Int1D
from ..estimate.gmm import smallest_ratio
from ..estimate.settings import LIKELY
from ..rows.relation import LEFT_BY_ROUNDING
from .power_laws import STEPS, PowerLaw, fixed_length_inverse, integer_exponents, over_one, t_over_normal

__all__ = ["FEWEST_ROWS", "FEW_ROWS", "LinearLaw", "find_in_few_rows"]

FEWEST_ROWS, FEW_ROWS = 6, 50  # tables with fewer rows than the second are searched here first
_MOST_COLUMNS = 4  # of a law
_LEAST_DOF = 4  # rows beyond the columns of a law
_NOISE = 0.05  # of a law, at most


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
        law = _law_of(X, list(columns), min(max_noise, _NOISE), logs=logs)
        if law is not None:
            laws.append(law)
            used |= set(columns)
            most = len(columns)
    return laws


def _sizes(n_rows: int, n_columns: int) -> range:
    return range(2, min(n_columns, _MOST_COLUMNS, n_rows - _LEAST_DOF) + 1)


def _law_of(X: Float2D, columns: list[int], most: float, *, logs: bool) -> PowerLaw | LinearLaw | None:
    """The power law of some columns, or else their linear law, if one passes."""
    in_logs = _in_logarithms(X[:, columns]) if logs else ()
    relations = [entry for entry in in_logs if _is_precise(entry[0], most)]
    tested = [_power_law(X, columns, relation, multiplicative) for relation, multiplicative in relations]
    power_laws = [law for law in tested if law is not None]
    if power_laws:
        return max(power_laws, key=lambda law: law.p_value)
    Z = X[:, columns] / X[:, columns].std(axis=0, ddof=1)
    relation = _relation(Z, np.ones_like(Z))
    return _linear_law(X, columns, relation) if _is_precise(relation, most) else None


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
    for _ in range(STEPS):
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


def _is_precise(relation: _Relation, most: float) -> bool:
    """Whether a relation has little noise, and all of its columns."""
    return bool(relation.level <= most and relation.a.all())


def _straightness(relation: _Relation) -> tuple[float, int]:
    """p-value of the F-test against curves, and the number of curves.

    Curves are quadratic functions of the place in the plane of the relation, and a cubic one for two columns.
    """
    if relation.level <= LEFT_BY_ROUNDING:
        return 1.0, 1
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
    return float(fdtrc(n_curves, left, max(F, 0.0))), n_curves


def _residual_squares(design: Float2D, values: Float1D) -> float:
    return float(((values - design @ np.linalg.lstsq(design, values, rcond=None)[0]) ** 2).sum())


def _power_law(X: Float2D, columns: Sequence[int], relation: _Relation, multiplicative: bool) -> PowerLaw | None:
    """The relation of logarithms with integer exponents; None if its exponents are no integers."""
    integers = integer_exponents(relation.a, relation.covariance, relation.dof)
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
    error = float(np.exp(middle) * np.sqrt(s2 / (1.0 / variance).sum())) * t_over_normal(len(X) - 1)
    sigma = np.sqrt(s2) * (np.ones(X.shape[1]) if multiplicative else X.std(axis=0, ddof=1))
    p_value, n_curves = _straightness(relation)
    exponents: Int1D = np.zeros(X.shape[1], dtype=np.int64)
    exponents[list(columns)] = integers
    J = float(chdtri(n_curves, p_value))
    return PowerLaw(exponents, constant, error, sigma, multiplicative, relation.level, J, n_curves, len(X))


def _linear_law(X: Float2D, columns: Sequence[int], relation: _Relation) -> LinearLaw:
    """The relation of standardised columns in their units; without a constant if that may be 0."""
    lead = int(np.argmax(np.abs(relation.a) > 0.5 * np.abs(relation.a).max()))
    a, covariance = over_one(relation.a, relation.covariance, lead)
    mean = relation.Z.mean(axis=0)
    constant, variance = -float(mean @ a), float(relation.s2 * (a @ a) / len(X) + mean @ covariance @ mean)
    if abs(constant) < float(stdtrit(relation.dof, 1.0 - LIKELY / 2.0)) * np.sqrt(variance):
        _, c = smallest_ratio(relation.Z.T @ relation.Z, np.eye(len(a)))
        a, covariance = over_one(c, _covariance(relation.Z.T @ relation.Z / len(X), c, relation.s2, len(X)), lead)
        constant, variance = 0.0, 0.0
    p_value, n_curves = _straightness(relation)
    spread = X.std(axis=0, ddof=1)
    own = spread[list(columns)]
    unit = own[lead]
    coef, errors = np.zeros(len(spread)), np.zeros(len(spread))
    coef[list(columns)] = a * unit / own
    wider = t_over_normal(relation.dof)
    errors[list(columns)] = np.sqrt(np.maximum(np.diag(covariance), 0.0)) * unit / own * wider
    return LinearLaw(
        coef, errors, constant * unit, float(np.sqrt(variance) * unit * wider), np.sqrt(relation.s2) * spread,
        relation.level, float(chdtri(n_curves, p_value)), n_curves, len(X),
    )  # fmt: skip


def _covariance(gram: Float2D, a: Float1D, noise: float, n_rows: int) -> Float2D:
    """Covariance of a direction at fixed length, by the noise variance of ``a'z`` over ``|a|^2``."""
    return np.asarray(fixed_length_inverse(gram, a) * (noise * (a @ a) / n_rows))
