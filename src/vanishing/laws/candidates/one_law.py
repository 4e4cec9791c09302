"""The search for one law at one degree under one noise model: its noise, its test, its terms."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Float1D, Float2D
from ..estimate.gmm import FLOOR, Conditions, System, is_noise, is_rejected, largest_passing, smallest_ratio
from ..estimate.moments import ADDITIVE
from ..estimate.noise import deviation_level, noise_level, refined_variances, reweighted
from ..estimate.settings import DENSE, LAW, Attempt, Settings
from . import audits
from .fitted import (
    MOST_TERMS,
    FittedLaw,
    FittedPolynomial,
    as_law,
    description_bits,
)
from .independence import follows
from .subsets import MOST_SETS, best_subsets
from .support import eliminate

__all__ = ["ANY_NUMBERS", "FOLLOWS", "OneLaw"]

FOLLOWS = "it follows from the laws of lower degree"
_HOPELESS = 10.0  # times the largest passing J: neither better weights nor fewer terms make up for more
ANY_NUMBERS, _FEW_TERMS = 4, 8  # most terms of a set with real coefficients, and with rational ones
_TESTED = 4  # best sets of each size, which are tested; the rank by noise is not exact


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
        *,
        short_only: bool = False,
    ):
        self.settings, self.conditions, self.trial, self.laws = settings, conditions, trial, laws
        self.nuisance = "none" if settings.sigma is not None else nuisance
        self.n_rows = conditions.sample.n_rows
        self.max_noise, self.short_only = settings.max_noise, short_only
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
        full = self._full(variances) if testable and is_noise(variances) else None
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
        if follows(self.conditions, full.c, self.laws):
            return FOLLOWS if self._is_higher else self._rejection()
        sparse = None if is_rejected(self.J, self.dof, self.n_rows) else self._sparse(full)
        if sparse is None:
            return self._rejection()
        if is_rejected(sparse.statistic, sparse.dof, self.n_rows):
            n_terms = len(sparse.support)
            return f"rejected with {n_terms} terms: J = {sparse.statistic:.4g} with {sparse.dof} degrees of freedom"
        if self._is_too_noisy(sparse):
            return f"the noise of the law is above {self.max_noise:.1%}"
        return as_law(self.conditions, self.settings, sparse, self.nuisance)

    @property
    def _is_higher(self) -> bool:
        """Whether the degree is above those of all known laws: another equation of a degree may be a generator."""
        return all(law.conditions.degree < self.conditions.degree for law in self.laws)

    def _rejection(self) -> str:
        if self.dof <= 0:
            return self._untested()
        return f"rejected: J = {self.J:.4g} with {self.dof} degrees of freedom"

    def _untested(self) -> str:
        return f"no few terms are a law, and {self.n_rows:,} rows cannot test all {len(self.trial)} together"

    def _is_hopeless(self, system: System) -> bool:
        """Whether the test of all terms together excludes a law among them, however few terms it may have."""
        self.J, self.dof = system.minimise(self.trial)[0], system.dof(len(self.trial))
        return self.dof > 0 and _HOPELESS * self._largest(self.dof) < self.J

    def _few_terms(self, variances: Float1D) -> FittedLaw | None:
        """A law of a few terms, found by the noise at which its polynomial vanishes.

        That noise needs no weights, so all small sets of terms can be compared by it; the best ones are tested with
        weights and noise of their own. A polynomial with more than four real coefficients may be a law times a factor
        that vanishes at the rows which do not obey.
        """
        G, D = self.conditions.noise_pencil(self._profile())
        for size in range(1, _FEW_TERMS + 1):
            passed = []
            for support in self._screened(G, D, size):
                level, c = _vanishing_level(G, D, support)
                if self.settings.sigma is None:
                    variances = max(level, FLOOR) ** 2 * self._profile()
                if level > self.max_noise or self._fails_reduced(support, variances, c):
                    continue
                law = self.law_of(support, variances)
                if law is not None:
                    passed.append(law)
            if passed:
                best = min(passed, key=description_bits)
                self.J, self.dof, self.level = best.J, best.dof, best.level
                return best
        return None

    def _screened(self, G: Float2D, D: Float2D, size: int) -> list[list[int]]:
        """The sets of terms that vanish with the least noise, with a term of the highest degree each; computed once.

        Where there are too many, only those of even powers are compared.
        """
        key = tuple(self.trial), size
        if key not in self.conditions.screened:
            terms = self.conditions.terms
            last, candidates = int(np.argmax(terms.total == terms.degree)), self.trial
            if comb(len(candidates), size) > MOST_SETS:
                candidates = [term for term in candidates if not (terms.exponents[term] % 2).any()]
            self.conditions.screened[key] = best_subsets(G, D, candidates, size, _TESTED, last=last)
        return self.conditions.screened[key]

    def law_of(self, support: list[int], variances: Float1D) -> FittedLaw | None:
        """The law with these terms, if it passes its test and the audits."""
        _, c = self.conditions.first_system(variances).minimise(support)
        if self._is_higher and follows(self.conditions, c, self.laws):
            return None
        system, J, c = reweighted(self.conditions, support, variances, c, self.nuisance, 1)
        if _HOPELESS * self._largest(system.dof(len(support))) < J:
            return None
        own = self._own(support, variances, c)
        rejected = self._largest(own.dof) < own.statistic
        if rejected or (self._is_higher and follows(self.conditions, own.c, self.laws)) or self._is_too_noisy(own):
            return None
        law = as_law(self.conditions, self.settings, own, self.nuisance)
        n_rational = 0 if law.snapped is None else len(law.snapped.rational)
        return None if law.dense or n_rational < len(support) > ANY_NUMBERS else law

    def _is_too_noisy(self, polynomial: FittedPolynomial) -> bool:
        """Whether a polynomial has more noise than a law may have; known noise is never too much."""
        if self.settings.sigma is not None:
            return False
        return deviation_level(self.conditions, polynomial.c, polynomial.variances) > self.max_noise

    def _largest(self, dof: int) -> float:
        return largest_passing(dof, self.n_rows)

    def _fails_reduced(self, support: list[int], variances: Float1D, c: Float1D) -> bool:
        """Whether tests of low degree, with weights of its own, exclude a law with these terms."""
        for reduced in self.conditions.reduced:
            for _ in range(2):
                system, J, c = reweighted(reduced, support, variances, c, self.nuisance, 1)
                dof = system.dof(len(support))
                if dof > 0 and _HOPELESS * self._largest(dof) < J:
                    return True
        return False

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
        return FittedPolynomial(self.trial, variances, system, c)

    def _sparse(self, polynomial: FittedPolynomial) -> FittedPolynomial | None:
        """The terms that are needed, with weights and noise of their own; None if ``short_only`` and these are many."""
        for _ in range(2):
            support = eliminate(polynomial.system, self.trial)
            if self.short_only and len(support) > MOST_TERMS:
                return None
            _, c = polynomial.system.minimise(support)
            polynomial = self._own(support, polynomial.variances, c)
        return polynomial

    def _own(self, support: list[int], variances: Float1D, c: Float1D) -> FittedPolynomial:
        """The polynomial with these terms, with weights and noise of its own."""
        variances = self._level_variances(support, variances)
        for _ in range(2):
            if self.nuisance == "columns" and is_noise(variances):
                variances = refined_variances(self.conditions, c, variances)
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
