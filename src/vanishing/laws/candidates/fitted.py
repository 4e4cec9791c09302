"""Laws of a search: polynomials with rational numbers and audits, also on the moments of other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from ..._typing import Float1D, Int2D
from ..estimate.gmm import FLOOR, Conditions, System, is_noise, largest_passing
from ..estimate.moments import ADDITIVE
from ..estimate.noise import effective_level, noise_level, refined_variances, reweighted
from ..estimate.settings import Settings
from . import audits
from .snapping import J_PER_BIT, SnappedLaw, real_bits, snap

__all__ = [
    "MOST_TERMS",
    "FittedLaw",
    "FittedPolynomial",
    "as_law",
    "description_bits",
    "fit_terms",
    "refit",
]

MOST_TERMS = 12  # a law of T terms takes T^4 operations to read, and keeps real coefficients if it has more


class FittedPolynomial(NamedTuple):
    """A polynomial with weights and noise of its own: its terms, noise variances, system and coefficients."""

    support: list[int]
    variances: Float1D
    system: System
    c: Float1D

    @property
    def statistic(self) -> float:
        """The test statistic J."""
        return self.system.statistic(self.c)

    @property
    def dof(self) -> int:
        """Its degrees of freedom."""
        return self.system.dof(len(self.support))


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """A law of a search.

    Attributes
    ----------
    conditions : Conditions
        Of its degree, on the rows of the sample or with moments of all rows.
    support : list of int
        Places of its terms.
    c, free : ndarray of shape (n_terms,)
        Coefficients of all terms: with rational numbers where ``snapped``, and as the rows give them.
    variances : ndarray of shape (n_columns,)
        Noise variances of the standardised columns.
    nuisance : str
        What was free in the noise: "level", "columns" or "none".
    system : System
        Whitened conditions with the weights of the law.
    J, dof : float, int
        Test.
    snapped : SnappedLaw or None
        Coefficients read as rational numbers.
    level : float
        Noise, as a share of the columns' deviations.
    exact, dense : bool
        Whether it holds up to rounding; whether it may be the approximation of a smooth curve.
    """

    conditions: Conditions
    support: list[int]
    c: Float1D
    free: Float1D
    variances: Float1D
    nuisance: str
    system: System
    J: float
    dof: int
    snapped: SnappedLaw | None
    level: float
    exact: bool
    dense: bool

    @property
    def p_value(self) -> float:
        """Chance of a larger J at a true law."""
        return float(chdtrc(max(self.dof, 1), self.J))


def as_law(conditions: Conditions, settings: Settings, polynomial: FittedPolynomial, nuisance: str) -> FittedLaw:
    """The polynomial as a law, with rational numbers, and whether it is exact or may be a smooth curve."""
    support, variances, system, free = polynomial
    c, J, dof = free, polynomial.statistic, max(polynomial.dof, 0)
    snapped = _snapped_law(conditions, settings, system, support, J)
    if snapped is not None:
        c, J, dof = snapped.c, snapped.J, dof + len(snapped.rational) - 1
    level, exact = effective_level(conditions, c, variances), _is_exact(conditions, support, variances)
    dense = not exact and audits.is_dense(conditions, support, snapped, system, level)
    return FittedLaw(conditions, support, c, free, variances, nuisance, system, J, dof, snapped, level, exact, dense)


def _is_exact(conditions: Conditions, support: list[int], variances: Float1D) -> bool:
    """Whether the rows satisfy a polynomial with these terms up to rounding."""
    return conditions.sample.has_rows and not is_noise(variances) and audits.is_exact(conditions, support)


def _snapped_law(
    conditions: Conditions, settings: Settings, system: System, support: list[int], J: float
) -> SnappedLaw | None:
    """The law with coefficients read as rational numbers, unless that makes it much worse."""
    if not settings.snap or len(support) > MOST_TERMS:
        return None
    comparable, exponents = settings.comparable, conditions.terms.exponents
    pure = None if comparable is None else (lambda term: comparable(exponents, term))
    law = snap(system, support, conditions.unit, pure)
    if law is None or J + largest_passing(len(support), conditions.n_rows) <= law.J:
        return None
    return law


def fit_terms(
    conditions: Conditions,
    settings: Settings,
    exponents: Int2D,
    nuisance: str = "level",
    variances: Float1D | None = None,
    profile: Float1D | None = None,
) -> FittedLaw:
    """The polynomial with these terms, with coefficients and noise of its own, as a law that no test accepted.

    Parameters
    ----------
    conditions : Conditions
    settings : Settings
    exponents : ndarray of shape (n_terms, n_columns)
    nuisance : {"level", "columns", "none"}
        What is free in the noise.
    variances : ndarray of shape (n_columns,), optional
        Noise variances to start from; by default all columns share one level.
    profile : ndarray of shape (n_columns,), optional
        Noise variances over the squared level; 1 by default.
    """
    support = sorted(int(place) for place in conditions.terms.places(exponents))
    profile = np.ones(conditions.sample.n_columns) if profile is None else profile
    if nuisance == "level" or variances is None:
        variances = max(noise_level(conditions, support, profile), FLOOR) ** 2 * profile
    _, c = conditions.first_system(variances).minimise(support)
    for _ in range(3):
        if nuisance == "columns" and is_noise(variances):
            variances = refined_variances(conditions, c, variances)
        system, _, c = reweighted(conditions, support, variances, c, nuisance, 1)
    return as_law(conditions, settings, FittedPolynomial(support, variances, system, c), nuisance)


def refit(law: FittedLaw, conditions: Conditions, settings: Settings, exponents: Int2D) -> FittedLaw:
    """The same law with moments of more rows or of shifted columns, where its terms have these exponents."""
    profile = _profile(law, conditions, settings)
    return fit_terms(conditions, settings, exponents, law.nuisance, law.variances, profile)


def _profile(law: FittedLaw, conditions: Conditions, settings: Settings) -> Float1D:
    """The noise variances of the columns over the squared level, in deviations over all rows.

    The deviations of the selected rows differ from these by chance, and a test on many rows would notice.
    """
    profile = law.variances / law.variances.mean()
    relative = law.conditions.sample.model == ADDITIVE and not settings.absolute and settings.sigma is None
    return np.asarray(profile * conditions.moments.column_variances) if relative else profile


def description_bits(law: FittedLaw) -> float:
    """Description length of a law: of its test, its terms and its coefficients."""
    if law.snapped is not None:
        return law.snapped.bits
    values = np.abs(law.free[law.support])
    errors = np.sqrt(1.0 / np.maximum(np.diag(law.system.information(law.free, law.support)), 1e-300))
    bits = [real_bits(value, error) for value, error in zip(values, errors, strict=True)]
    numbers = sum(bits) - max(bits)
    return float(law.J / J_PER_BIT + len(law.support) * np.log2(len(law.conditions.terms)) + numbers)
