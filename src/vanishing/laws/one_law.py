"""The way to one law: noise, test, terms, rational numbers and audits, at one degree and under one noise model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import comb

import numpy as np

from .._typing import Float1D, Float2D
from . import audits
from .fitted import MOST_TERMS, WIDEST_COLUMN, FittedLaw, description_bits, snapped_law
from .gmm import FLOOR, Conditions, System, critical_value, is_rejected, smallest_ratio
from .independence import follows
from .moments import ADDITIVE
from .noise import column_variances, deviation_level, effective_level, noise_level, refined_variances, reweighted
from .settings import DENSE, LAW, Attempt, Settings
from .snapping import J_PER_BIT, SnappedLaw, rational_bits, snap
from .subsets import best_subsets
from .support import DROP_SHARE, eliminate, smallest_support

__all__ = ["FOLLOWS", "OneLaw", "noise_cap", "noise_limit"]

FOLLOWS = "it follows from the laws of lower degree"
_LINEAR_NOISE = 0.075  # of a linear law: with more, no test tells it from a correlation
_NOISE_BY_DEGREE = 0.4  # noise times degree: a polynomial of high degree comes near to all rows
_MORE_NOISE, _LEAST_CAP = 2.0, 0.02  # of further laws: times that of the known ones; no cap is below the second
_SMALL = 4 * FLOOR  # levels up to this are rounding
_NEARLY = 4.0  # times the critical J, beyond which further weights do not help
_HOPELESS = 10.0  # times the critical J, with weights that are roughly right: no law, and none with fewer terms
_PLAIN_BITS = 3.5  # of a rational coefficient, on average, in a law of more than a few terms
_ROUGHLY = 0.5  # bits more, with weights that are not yet the law's own
_FEW_TERMS, _MORE_TERMS, _FEW_SETS = 4, 6, 400_000  # sets of up to 4 terms are all compared; up to 6 if not too many
_SCREENED, _MOST_TESTED = 8, 3  # sets of each size that go through reduced tests, and through all
_FEW = 4  # terms of a law of higher degree that may replace one of lower degree
_SHORTER = 5.0  # bits that a law of higher degree must save to replace one of lower degree


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
        self.shadow = False  # whether a relation with more noise than a law may have explains the rows

    def run(self) -> tuple[FittedLaw | None, Attempt]:
        """The law, if there is one, and how the attempt ended."""
        law = self._law()
        reason = law if isinstance(law, str) else DENSE if law.dense else LAW
        attempt = Attempt(self.conditions.degree, len(self.trial), self.level, reason, self.J, self.dof)
        return None if isinstance(law, str) else law, attempt

    def _law(self) -> FittedLaw | str:
        variances = self._first_variances()
        if variances is None:
            return f"a law would need noise of {self.level:.1%}, more than the {self.max_noise:.1%} that it may have"
        testable = len(self.conditions.tests) >= len(self.trial) + audits.least_dof(len(self.trial))
        full = self._full(variances) if testable and self.level > _SMALL else None
        if full is not None and self._is_hopeless(full[1]):
            return self._rejection()
        law = self._few_terms(variances)
        if law is not None:
            return law
        if not testable:
            return f"no few terms are a law, and {self.n_rows} rows cannot test all {len(self.trial)} together"
        variances, system, c = full or self._full(variances)
        if self._is_hopeless(system):
            return self._rejection()
        rejected = is_rejected(self.J, self.dof, self.n_rows)
        known = follows(self.conditions, c, self.laws)
        if known and self.conditions.degree > max(law.conditions.degree for law in self.laws):
            return FOLLOWS
        sparse = self._sparse(variances, system, c, small_only=rejected or known)
        if sparse is None:
            return self._rejection()
        support, variances, system, c = sparse
        J, dof = system.statistic(c), system.dof(len(support))
        if is_rejected(J, dof, self.n_rows):
            return f"rejected with {len(support)} terms: J = {J:.4g} with {dof} degrees of freedom"
        if self._is_too_noisy(c, variances):
            return f"the noise of the law is above {self.max_noise:.1%}"
        return self._audited(support, variances, system, c)

    def _rejection(self) -> str:
        return f"rejected: J = {self.J:.4g} with {self.dof} degrees of freedom"

    def _is_hopeless(self, system: System) -> bool:
        """Whether the test of all terms together excludes a law among them, however few terms it may have."""
        self.J, self.dof = system.minimise(self.trial)[0], system.dof(len(self.trial))
        far = _HOPELESS * critical_value(1e-4, self.dof) < self.J
        return far and is_rejected(self.J, self.dof, self.n_rows)

    def _few_terms(
        self, variances: Float1D, sizes: Iterable[int] = range(1, _MORE_TERMS + 1), *, plain: bool = False
    ) -> FittedLaw | None:
        """A law of a few terms, found by the noise at which its polynomial vanishes.

        That noise needs no weights, so all small sets of terms can be compared by it; the best ones are tested with
        weights and noise of their own. With ``plain``, or with more than four terms, all coefficients have to be small
        rational numbers.
        """
        G, D = self.conditions.noise_pencil(self._profile())
        for size in sizes:
            if size > _FEW_TERMS and comb(len(self.trial), size) > _FEW_SETS:
                break
            promising: list[tuple[float, list[int], Float1D]] = []
            for support in self._screened(G, D, size):
                level, c = _vanishing_level(G, D, support)
                if self.settings.sigma is None:
                    variances = max(level, FLOOR) ** 2 * self._profile()
                if level > self.max_noise or self.has_factor(support, variances):
                    continue
                J = self._reduced_statistic(support, variances, c)
                if np.isfinite(J):
                    promising.append((J, support, variances))
            promising.sort(key=lambda entry: entry[0])
            only = plain or size > _FEW_TERMS
            laws = [self.law_of(support, variances, plain=only) for _, support, variances in promising[:_MOST_TESTED]]
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
            self.conditions.screened[key] = best_subsets(G, D, self.trial, size, _SCREENED, last=last)
        return self.conditions.screened[key]

    def law_of(self, support: list[int], variances: Float1D, *, plain: bool = False) -> FittedLaw | None:
        """The law with these terms, if it passes its test and the audits; with ``plain``, if its numbers are plain."""
        _, c = self.conditions.first_system(variances).minimise(support)
        if follows(self.conditions, c, self.laws):
            return None
        system, J, c = reweighted(self.conditions, support, variances, c, self.nuisance, 1)
        if _HOPELESS * self._passing(system.dof(len(support))) < J:
            return None
        if plain and not _is_plain(snap(system, support, self.conditions.unit), _ROUGHLY):
            return None
        variances, system, c = self._own(support, variances, c)
        J, dof = system.statistic(c), system.dof(len(support))
        if self._passing(dof) < J or follows(self.conditions, c, self.laws) or self._is_too_noisy(c, variances):
            return None
        law = self._audited(support, variances, system, c, plain=plain, special=True)
        return None if isinstance(law, str) or law.dense else law

    def _is_too_noisy(self, c: Float1D, variances: Float1D) -> bool:
        """Whether a law has more noise than it may have; known noise is never too much."""
        return self.settings.sigma is None and deviation_level(self.conditions, c, variances) > self.max_noise

    def has_factor(self, support: list[int], variances: Float1D) -> bool:
        """Whether a column divides all terms and could be left out: what remains is of lower degree, and says more.

        ``x*(y - 2) = 0`` is a law of its own if x is zero on many rows, and ``y = 2`` in disguise if it is not. The
        square of a column says no more than the column; without rows, only laws of one column (``x^2 = x``) count.
        """
        sample, exponents = self.conditions.sample, self.conditions.terms.exponents[support]
        shared = exponents.min(axis=0)
        if len(support) == 1 or not shared.any() or sample.groups is not None:
            return False
        if shared.max() > 1 or not sample.has_rows:
            return bool(shared.max() > 1 or exponents.any(axis=0).sum() > 1)
        return not all(audits.is_often_zero(self.conditions, j, variances) for j in np.flatnonzero(shared).tolist())

    def _passing(self, dof: int) -> float:
        """The largest ``J`` of a law: beyond chance, by less than a term is worth."""
        return critical_value(1e-3, dof) + DROP_SHARE * self.n_rows

    def _reduced_statistic(self, support: list[int], variances: Float1D, c: Float1D) -> float:
        """``J`` of a law with these terms by tests of low degree, with weights of its own; infinity if it fails."""
        J = 0.0
        for reduced in self.conditions.reduced:
            for limit in (_HOPELESS, _NEARLY):
                system, J, c = reweighted(reduced, support, variances, c, self.nuisance, 1)
                dof = system.dof(len(support))
                if dof > 0 and limit * self._passing(dof) < J:
                    return np.inf
        return J

    def _profile(self) -> Float1D:
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
            self._note_shadow()
            return None
        return max(self.level, FLOOR) ** 2 * self._profile()

    def _note_shadow(self) -> None:
        """Note whether a relation with more noise than a law may have explains the rows.

        Its multiples come near to all rows at higher degrees, where laws may have less noise then.
        """
        if self.level >= min(0.5, 2.5 * self.max_noise):
            return
        variances = self.level**2 * self._profile()
        _, c = self.conditions.first_system(variances).minimise(self.trial)
        system, J, c = reweighted(self.conditions, self.trial, variances, c, self.nuisance, 2)
        dof = system.dof(len(self.trial))
        if dof > 0 and max(1.3 * critical_value(1e-4, dof), 0.01 * self.n_rows) > J:
            self.shadow = True

    def _full(self, variances: Float1D) -> tuple[Float1D, System, Float1D]:
        """The law with all candidate terms, and the noise that belongs to it."""
        _, c = self.conditions.first_system(variances).minimise(self.trial)
        system, _, c = reweighted(self.conditions, self.trial, variances, c, self.nuisance, 3)
        if self.nuisance == "columns" and self.level > _SMALL:
            for step in range(7):
                if step < 4:
                    variances = column_variances(self.conditions, c, variances, self.column_cap)
                else:
                    variances = refined_variances(self.conditions, c, variances, self.column_cap)
                system, J, c = reweighted(self.conditions, self.trial, variances, c, self.nuisance, 1)
                if step == 3 and 3.0 * _HOPELESS * critical_value(1e-4, system.dof(len(self.trial))) < J:
                    break
        return variances, system, c

    def _sparse(
        self, variances: Float1D, system: System, c: Float1D, *, small_only: bool
    ) -> tuple[list[int], Float1D, System, Float1D] | None:
        """The terms that are needed, with weights and noise of their own; None if ``small_only`` and many are needed.

        A small law can pass with its own weights where all terms together do not pass with theirs.
        """
        for _ in range(2):
            J_full, _ = system.minimise(self.trial)
            if small_only:
                J_full = min(J_full, critical_value(1e-3, self.dof))
            small = smallest_support(
                system, self.trial, J_full, self._rescorer(variances), families=self._families(),
                n_tests=len(self.conditions.tests),
            )  # fmt: skip
            if small is None and small_only:
                return None
            support = eliminate(system, self.trial) if small is None else small
            if self.short_only and len(support) > MOST_TERMS:
                return None
            _, c = system.minimise(support)
            variances, system, c = self._own(support, variances, c)
            if small is not None and critical_value(1e-3, system.dof(len(support))) > system.statistic(c):
                break
        return support, variances, system, c

    def _rescorer(self, variances: Float1D) -> Callable[[list[int], Float1D], tuple[float, int]]:
        def rescore(support: list[int], c: Float1D) -> tuple[float, int]:
            own_variances = self._level_variances(support, variances)
            if self.has_factor(support, own_variances) or np.isinf(self._reduced_statistic(support, own_variances, c)):
                return np.inf, 1
            own, J, c = reweighted(self.conditions, support, own_variances, c, self.nuisance, 1)
            if _NEARLY * self._passing(own.dof(len(support))) > J:
                own, J, _ = reweighted(self.conditions, support, own_variances, c, self.nuisance, 1)
            return J, own.dof(len(support))

        return rescore

    def _families(self) -> list[list[int]]:
        """Candidates among which larger supports can all be tried: even powers only, and the highest degree only."""
        terms = self.conditions.terms
        even = [term for term in self.trial if not (terms.exponents[term] % 2).any()]
        return [even, [term for term in self.trial if terms.total[term] == terms.degree]]

    def _own(self, support: list[int], variances: Float1D, c: Float1D) -> tuple[Float1D, System, Float1D]:
        """Noise and weights of the law with these terms."""
        variances = self._level_variances(support, variances)
        for _ in range(2):
            if self.nuisance == "columns" and self.level > _SMALL:
                variances = refined_variances(self.conditions, c, variances, self.column_cap)
            system, _, c = reweighted(self.conditions, support, variances, c, self.nuisance, 1)
        return variances, system, c

    def _level_variances(self, support: list[int], variances: Float1D) -> Float1D:
        """The noise variances at which a polynomial with these terms vanishes, if all columns share one level."""
        if self.nuisance != "level":
            return variances
        return max(noise_level(self.conditions, support, self._profile()), FLOOR) ** 2 * self._profile()

    def simpler(self, law: FittedLaw) -> FittedLaw | None:
        """A law of higher degree than ``law`` among these candidates, with a shorter description.

        It has fewer terms; or three like ``law``, and plain numbers: ``a*b*(1 + c) = d``, not ``a*b + 0.8*c*d = d``.
        """
        self.level = law.level
        if len(law.support) == _FEW - 1:
            simple, unfair = self._few_terms(law.variances, (2, 3), plain=True), 0.0
            if simple is not None:  # it has more conditions, and J grows with their number
                unfair = (simple.dof - law.dof) / J_PER_BIT
        else:
            simple, unfair = self._fewer_terms(law), 0.0
        return simple if simple and description_bits(simple) - unfair < description_bits(law) - _SHORTER else None

    def _fewer_terms(self, law: FittedLaw) -> FittedLaw | None:
        """A law of fewer terms than ``law``, from the system in whose weights that one is best."""
        c = np.zeros(len(self.conditions.terms))
        at = self.conditions.terms.places(law.conditions.terms.exponents[law.support])
        c[at] = law.c[law.support] / law.conditions.unit[law.support] * self.conditions.unit[at]
        system = self.conditions.system(law.variances, c, self.nuisance)
        self.J, self.dof = law.J, law.dof
        support = smallest_support(
            system, self.trial, law.J, self._rescorer(law.variances), largest=min(len(law.support) - 1, _FEW),
            n_tests=len(self.conditions.tests),
        )  # fmt: skip
        if support is None:
            return None
        _, c = system.minimise(support)
        simple = self._audited(support, *self._own(support, law.variances, c))
        return None if isinstance(simple, str) or simple.dense else simple

    def _audited(
        self,
        support: list[int],
        variances: Float1D,
        system: System,
        free: Float1D,
        *,
        plain: bool = False,
        special: bool = False,
    ) -> FittedLaw | str:
        """The law with rational numbers and audits, or why it is none; the slow audits, on rows, come last.

        With ``plain``, all coefficients must be small rational numbers; with ``special``, a dense polynomial is none.
        """
        conditions, c = self.conditions, free
        J, dof = system.statistic(c), system.dof(len(support))
        snapped = snapped_law(conditions, self.settings, system, support, self.trial, J)
        if snapped is not None:
            support, c, J = snapped.support, snapped.c, snapped.J
            _, free = system.minimise(support)
            dof = system.dof(len(support)) + len(snapped.rational) - 1
        if plain and not _is_plain(snapped):
            return "its coefficients are no small rational numbers"
        noisy = bool(np.sqrt(variances.mean()) > _SMALL)
        if noisy and self.settings.sigma is None:
            weak = audits.weakness(J, dof, len(support))
            if weak is not None:
                return weak
        level = effective_level(conditions, c, variances)
        dense = audits.is_dense(conditions, support, snapped, system, level)
        if dense and special and noisy:  # without noise it may be exact
            return DENSE
        exact, held_out, correlation = False, float("nan"), float("nan")
        if conditions.sample.has_rows:
            audit = self._audit_rows(support, c, variances, noisy=noisy)
            if isinstance(audit, str):
                return audit
            exact, held_out, correlation = audit
        return FittedLaw(
            conditions, support, c, free, variances, self.nuisance, system, J, dof, snapped, level, exact,
            dense and not exact, held_out, correlation,
        )  # fmt: skip

    def _audit_rows(
        self, support: list[int], c: Float1D, variances: Float1D, *, noisy: bool
    ) -> tuple[bool, float, float] | str:
        """Whether the law is exact, its held-out ratio and the correlation of neighbours; or why it is no law."""
        conditions, exact, residual, correlation = self.conditions, False, None, 0.0
        if not audits.is_noisy(variances):
            exact, residual = audits.exactness(conditions, support)
        if not exact:
            correlation = audits.neighbour_correlation(conditions, c, variances, self.column_cap, residual)
        if correlation > audits.correlation_limit(self.n_rows):
            return (
                f"the residual is a smooth function of the place (neighbours correlate by {correlation:.2f}): an "
                "approximation, not a law"
            )
        held_out = audits.held_out_ratio(conditions, support, c, variances) if noisy else 1.0
        if held_out > audits.held_out_limit(self.n_rows):
            return f"rows that were held out are {held_out:.2f} times as far away"
        return exact, held_out, correlation


def _is_plain(snapped: SnappedLaw | None, slack: float = 0.0) -> bool:
    """Whether all coefficients are small rational numbers: more terms have more numbers that fit by chance."""
    if snapped is None or len(snapped.rational) < len(snapped.support):
        return False
    bits = [rational_bits(float(number.numerator), float(number.denominator)) for number in snapped.rational.values()]
    return float(np.mean(bits)) <= _PLAIN_BITS + slack


def _vanishing_level(G: Float2D, D: Float2D, support: list[int]) -> tuple[float, Float1D]:
    """The noise at which the best polynomial with these terms vanishes, to first order, and that polynomial."""
    at = np.ix_(support, support)
    least = 1e-14 * max(np.trace(G[at]), 1.0)  # a term may be zero on all rows
    ratio, v = smallest_ratio(-D[at], G[at] + least * np.eye(len(support)))
    c = np.zeros(len(G))
    c[support] = v
    return float(1.0 / np.sqrt(max(-ratio, 1e-300))), c
