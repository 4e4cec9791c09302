"""The search for one law at one degree under one noise model: noise, test, terms; ``fitted`` audits what passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, log2

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Float1D, Float2D
from ..estimate.gmm import FLOOR, Conditions, System, critical_value, is_rejected, smallest_ratio
from ..estimate.moments import ADDITIVE
from ..estimate.noise import column_variances, deviation_level, noise_level, refined_variances, reweighted
from ..estimate.settings import DENSE, LAW, Attempt, Settings
from ..rows.relation import SEED, Relation, information
from . import audits
from .fitted import (
    MOST_TERMS,
    SMALL_LEVEL,
    WIDEST_COLUMN,
    FittedLaw,
    FittedPolynomial,
    audited,
    description_bits,
    is_plain,
)
from .independence import follows
from .snapping import snap
from .subsets import MOST_SETS, best_subsets
from .support import DROP_SHARE, eliminate, smallest_support

__all__ = ["FOLLOWS", "OneLaw", "noise_cap", "noise_limit"]

FOLLOWS = "it follows from the laws of lower degree"
_LINEAR_NOISE = 0.075  # of a linear law: with more, no test tells it from a correlation
_NOISE_BY_DEGREE = 0.4  # noise times degree: a polynomial of high degree comes near to all rows
_MORE_NOISE, _LEAST_CAP = 2.0, 0.02  # of further laws: times that of the known ones; no cap is below the second
_HOPELESS = 10.0  # times the critical J, with weights that are roughly right: no law, and none with fewer terms
_ESTIMATES = 3  # of each column's noise, by regression and by Gauss-Newton steps each
_FEW_TERMS, _MORE_TERMS = 4, 6  # sets of up to 4 terms are all compared; up to 6 if not too many
_TESTED = 4  # sets of each size that are tested


def noise_limit(settings: Settings, degree: int) -> float:
    """The noise that a law of a degree may have, as a share of the columns' deviations."""
    return min(settings.max_noise, _LINEAR_NOISE if degree == 1 else _NOISE_BY_DEGREE / degree)


def noise_cap(laws: Sequence[FittedLaw]) -> float:
    """The noise that further laws may have beside known ones, which tell roughly how much the columns have."""
    return max(_MORE_NOISE * max(law.level for law in laws), _LEAST_CAP)


class OneLaw:
    """The search for one law at one degree under one noise model.

    Parameters
    ----------
    settings : Settings
    conditions : Conditions
        Of the degree and the noise model.
    trial : list of int
        Candidate terms.
    nuisance : {"level", "columns", "none"}
        What is free in the noise, where that is not known.
    laws : sequence of FittedLaw
        Known laws; what follows from them is none.
    max_noise : float
        Largest noise of the law.
    short_only : bool, default=False
        Whether to leave out polynomials of many terms: once a dense one is known, another says nothing new.
    """

    def __init__(
        self,
        settings: Settings,
        conditions: Conditions,
        trial: list[int],
        nuisance: str,
        laws: Sequence[FittedLaw],
        max_noise: float,
        *,
        short_only: bool = False,
    ):
        self.settings, self.conditions, self.trial, self.laws = settings, conditions, trial, laws
        self.nuisance = "none" if settings.sigma is not None else nuisance
        self.n_rows = conditions.sample.n_rows
        self.max_noise, self.short_only = max_noise, short_only
        self.column_cap = WIDEST_COLUMN if conditions.degree <= 3 else max_noise
        self.level, self.J, self.dof = 0.0, float("nan"), 0

    def run(self) -> tuple[FittedLaw | None, Attempt]:
        """The law, if there is one, and how the attempt ended."""
        law: FittedLaw | str
        try:
            law = self._law()
        except LinAlgError:  # a few rows outweigh all others by more than float64 can tell
            law = "a few rows outweigh all others in the moments of this degree"
        reason = law if isinstance(law, str) else DENSE if law.dense else LAW
        attempt = Attempt(self.conditions.degree, len(self.trial), self.level, reason, self.J, self.dof)
        return None if isinstance(law, str) else law, attempt

    def _law(self) -> FittedLaw | str:
        variances = self._first_variances()
        if variances is None:
            return f"a law would need noise of {self.level:.1%}, more than the {self.max_noise:.1%} that it may have"
        testable = len(self.conditions.tests) >= len(self.trial) + audits.least_dof(len(self.trial))
        full = self._full(variances) if testable and self.level > SMALL_LEVEL else None
        if full is not None and self._is_hopeless(full.system):
            return self._rejection()
        law = self._few_terms(variances)
        if law is not None:
            return law
        if not testable:
            return self._untested()
        full = full or self._full(variances)
        if self._is_hopeless(full.system):
            return self._rejection()
        rejected = is_rejected(self.J, self.dof, self.n_rows)
        known = follows(self.conditions, full.c, self.laws)
        if known and self.conditions.degree > max(law.conditions.degree for law in self.laws):
            return FOLLOWS
        sparse = self._sparse(full, small_only=rejected or known)
        if sparse is None:
            return self._rejection()
        if is_rejected(sparse.statistic, sparse.dof, self.n_rows):
            n_terms = len(sparse.support)
            return f"rejected with {n_terms} terms: J = {sparse.statistic:.4g} with {sparse.dof} degrees of freedom"
        if self._is_too_noisy(sparse):
            return f"the noise of the law is above {self.max_noise:.1%}"
        return self._audited(sparse)

    def _rejection(self) -> str:
        if self.dof <= 0:
            return self._untested()
        return f"rejected: J = {self.J:.4g} with {self.dof} degrees of freedom"

    def _untested(self) -> str:
        return f"no few terms are a law, and {self.n_rows:,} rows cannot test all {len(self.trial)} together"

    def _is_hopeless(self, system: System) -> bool:
        """Whether the test of all terms together excludes a law among them, however few terms it may have."""
        self.J, self.dof = system.minimise(self.trial)[0], system.dof(len(self.trial))
        far = _HOPELESS * critical_value(1e-4, self.dof) < self.J
        return far and is_rejected(self.J, self.dof, self.n_rows)

    def _few_terms(self, variances: Float1D) -> FittedLaw | None:
        """A law of a few terms, found by the noise at which its polynomial vanishes.

        That noise needs no weights, so all small sets of terms can be compared by it; the best ones are tested with
        weights and noise of their own. With more than four terms, all coefficients have to be small rational numbers.
        """
        G, D = self.conditions.noise_pencil(self._profile())
        for size in range(1, _MORE_TERMS + 1):
            if size > _FEW_TERMS and comb(len(self.trial), size) > MOST_SETS:
                break
            promising: list[tuple[float, list[int], Float1D]] = []
            for support in self._screened(G, D, size):
                level, c = _vanishing_level(G, D, support)
                if self.settings.sigma is None:
                    variances = max(level, FLOOR) ** 2 * self._profile()
                if level > self.max_noise or self.has_factor(support, c):
                    continue
                J = self._reduced_statistic(support, variances, c)
                if np.isfinite(J):
                    promising.append((J, support, variances))
            promising.sort(key=lambda entry: entry[0])
            plain = size > _FEW_TERMS
            laws = [self.law_of(support, variances, plain=plain) for _, support, variances in promising[:_TESTED]]
            passed = [law for law in laws if law is not None]
            if passed:
                best = min(passed, key=description_bits)
                self.J, self.dof, self.level = best.J, best.dof, best.level
                return best
        return None

    def _screened(self, G: Float2D, D: Float2D, size: int) -> list[list[int]]:
        """The sets of terms that vanish with the least noise, with a term of the highest degree each; computed once."""
        key = tuple(self.trial), size
        if key not in self.conditions.screened:
            last = int(np.argmax(self.conditions.terms.total == self.conditions.degree))
            self.conditions.screened[key] = best_subsets(G, D, self.trial, size, _TESTED, last=last)
        return self.conditions.screened[key]

    def law_of(self, support: list[int], variances: Float1D, *, plain: bool = False) -> FittedLaw | None:
        """The law with these terms, if it passes its test and the audits; with ``plain``, if its numbers are plain."""
        _, c = self.conditions.first_system(variances).minimise(support)
        if follows(self.conditions, c, self.laws):
            return None
        system, J, c = reweighted(self.conditions, support, variances, c, self.nuisance, 1)
        if _HOPELESS * self._passing(system.dof(len(support))) < J:
            return None
        if plain and not is_plain(snap(system, support, self.conditions.unit)):
            return None
        own = self._own(support, variances, c)
        rejected = self._passing(own.dof) < own.statistic
        if rejected or follows(self.conditions, own.c, self.laws) or self._is_too_noisy(own):
            return None
        law = self._audited(own, plain=plain, special=True)
        return None if isinstance(law, str) or law.dense else law

    def _is_too_noisy(self, polynomial: FittedPolynomial) -> bool:
        """Whether a polynomial has more noise than a law may have; known noise is never too much."""
        if self.settings.sigma is not None:
            return False
        return deviation_level(self.conditions, polynomial.c, polynomial.variances) > self.max_noise

    def _audited(self, polynomial: FittedPolynomial, *, plain: bool = False, special: bool = False) -> FittedLaw | str:
        return audited(
            self.conditions, self.settings, polynomial, trial=self.trial, nuisance=self.nuisance,
            plain=plain, special=special,
        )  # fmt: skip

    def has_factor(self, support: list[int], c: Float1D) -> bool:
        """Whether a column divides all terms and could be left out: what remains is of lower degree, and says more.

        ``x*(y - 2) = 0`` is ``y = 2`` in disguise, unless it says something about x: that it is zero where y is not 2.
        So draws of x from its own values have to break it, and more rows to obey it than ``y = 2``.
        The square of a column says no more than the column, and ``x^2 = x`` that it has two values.
        """
        sample, exponents = self.conditions.sample, self.conditions.terms.exponents[support]
        shared = exponents.min(axis=0)
        if len(support) == 1 or not shared.any() or sample.groups is not None:
            return False
        if shared.max() > 1 or not sample.has_rows or exponents.any(axis=0).sum() == 1:
            return bool(shared.max() > 1 or exponents.any(axis=0).sum() > 1)
        coef, origin = c[support] / self.conditions.unit[support], np.zeros(len(shared))
        product = Relation(sample.X, exponents, coef, origin)
        quotient = Relation(sample.X, exponents - shared, coef, origin)
        reach, random = product.tolerance(), np.random.default_rng(SEED)
        bits = [product.pins(int(column), random) for column in np.flatnonzero(shared)]
        bits.append(information(product.share(reach), quotient.share(reach)))
        return min(bits) * self.n_rows <= log2(len(self.conditions.terms))

    def _passing(self, dof: int) -> float:
        """The largest ``J`` of a law: beyond chance, by less than a term is worth."""
        return critical_value(1e-3, dof) + DROP_SHARE * self.n_rows

    def _reduced_statistic(self, support: list[int], variances: Float1D, c: Float1D) -> float:
        """``J`` of a law with these terms by tests of low degree, with weights of its own; infinity if it fails."""
        J = 0.0
        for reduced in self.conditions.reduced:
            for _ in range(2):
                system, J, c = reweighted(reduced, support, variances, c, self.nuisance, 1)
                dof = system.dof(len(support))
                if dof > 0 and _HOPELESS * self._passing(dof) < J:
                    return np.inf
        return J

    def _profile(self) -> Float1D:
        """Noise variances of the standardised columns over the squared common level."""
        scale = self.conditions.sample.scale
        if not self.settings.absolute:
            return np.ones(len(scale))
        return np.asarray(scale**-2.0 / np.exp(np.mean(np.log(scale**-2.0))))

    def _first_variances(self) -> Float1D | None:
        if self.settings.sigma is not None:
            scale = self.conditions.sample.scale if self.conditions.sample.model == ADDITIVE else 1.0
            known = np.asarray((self.settings.sigma / scale) ** 2 + FLOOR**2)
            self.level = float(np.sqrt(known.mean()))
            return known
        self.level = noise_level(self.conditions, self.trial, self._profile())
        if self.level > self.max_noise:
            return None
        return max(self.level, FLOOR) ** 2 * self._profile()

    def _full(self, variances: Float1D) -> FittedPolynomial:
        """The polynomial with all candidate terms, with weights and noise of its own."""
        _, c = self.conditions.first_system(variances).minimise(self.trial)
        system, _, c = reweighted(self.conditions, self.trial, variances, c, self.nuisance, 3)
        if self.nuisance == "columns" and self.level > SMALL_LEVEL:
            for step in range(2 * _ESTIMATES):
                estimate = column_variances if step < _ESTIMATES else refined_variances
                variances = estimate(self.conditions, c, variances, self.column_cap)
                system, J, c = reweighted(self.conditions, self.trial, variances, c, self.nuisance, 1)
                limit = _HOPELESS * critical_value(1e-4, system.dof(len(self.trial)))
                if step == _ESTIMATES - 1 and limit < J:
                    break
        return FittedPolynomial(self.trial, variances, system, c)

    def _sparse(self, polynomial: FittedPolynomial, *, small_only: bool) -> FittedPolynomial | None:
        """The terms that are needed, with weights and noise of their own; None if ``small_only`` and many are needed.

        A small law can pass with its own weights where all terms together do not pass with theirs.
        """
        for _ in range(2):
            system = polynomial.system
            J_full, _ = system.minimise(self.trial)
            if small_only:
                J_full = min(J_full, critical_value(1e-3, self.dof))
            small = smallest_support(
                system, self.trial, J_full, self._rescorer(polynomial.variances), families=self._families(),
            )  # fmt: skip
            if small is None and small_only:
                return None
            support = eliminate(system, self.trial) if small is None else small
            if self.short_only and len(support) > MOST_TERMS:
                return None
            _, c = system.minimise(support)
            polynomial = self._own(support, polynomial.variances, c)
            if small is not None and critical_value(1e-3, polynomial.dof) > polynomial.statistic:
                break
        return polynomial

    def _rescorer(self, variances: Float1D) -> Callable[[list[int], Float1D], tuple[float, int]]:
        """A function that gives ``J`` of a support with weights of its own, and its degrees of freedom."""

        def rescore(support: list[int], c: Float1D) -> tuple[float, int]:
            own_variances = self._level_variances(support, variances)
            if self.has_factor(support, c) or np.isinf(self._reduced_statistic(support, own_variances, c)):
                return np.inf, 1
            own, J, c = reweighted(self.conditions, support, own_variances, c, self.nuisance, 1)
            if _HOPELESS * self._passing(own.dof(len(support))) > J:
                own, J, _ = reweighted(self.conditions, support, own_variances, c, self.nuisance, 1)
            return J, own.dof(len(support))

        return rescore

    def _families(self) -> list[list[int]]:
        """Candidates among which larger supports can all be tried: even powers only, and the highest degree only."""
        terms = self.conditions.terms
        even = [term for term in self.trial if not (terms.exponents[term] % 2).any()]
        return [even, [term for term in self.trial if terms.total[term] == terms.degree]]

    def _own(self, support: list[int], variances: Float1D, c: Float1D) -> FittedPolynomial:
        """The polynomial with these terms, with weights and noise of its own."""
        variances = self._level_variances(support, variances)
        for _ in range(2):
            if self.nuisance == "columns" and self.level > SMALL_LEVEL:
                variances = refined_variances(self.conditions, c, variances, self.column_cap)
            system, _, c = reweighted(self.conditions, support, variances, c, self.nuisance, 1)
        return FittedPolynomial(support, variances, system, c)

    def _level_variances(self, support: list[int], variances: Float1D) -> Float1D:
        """The noise variances at which a polynomial with these terms vanishes, if all columns share one level."""
        if self.nuisance != "level":
            return variances
        return max(noise_level(self.conditions, support, self._profile()), FLOOR) ** 2 * self._profile()


def _vanishing_level(G: Float2D, D: Float2D, support: list[int]) -> tuple[float, Float1D]:
    """The noise at which the best polynomial with these terms vanishes, to first order, and that polynomial."""
    at = np.ix_(support, support)
    least = 1e-14 * max(np.trace(G[at]), 1.0)  # a term may be zero on all rows
    ratio, v = smallest_ratio(-D[at], G[at] + least * np.eye(len(support)))
    c = np.zeros(len(G))
    c[support] = v
    return float(1.0 / np.sqrt(max(-ratio, 1e-300))), c
