"""One law after another: the lowest degree whose test passes, its support, its audits; then further laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import qr
from scipy.special import chdtrc

from .._typing import Bool1D, Float1D, Float2D, Int1D, Int2D
from . import audits
from .gmm import FLOOR, Conditions, System, critical_value
from .moments import ADDITIVE
from .monomials import Monomials, count_monomials, monomials
from .noise import column_variances, effective_level, noise_level, refined_variances, reweighted
from .sample import Sample, make_sample
from .snapping import SnappedLaw, polish, real_bits
from .support import DROP_SHARE, eliminate, smallest_support

__all__ = ["Attempt", "Found", "Settings", "find_law", "find_laws", "is_rejected", "refit"]

_SMALL = 4 * FLOOR  # levels up to this are rounding
_KNOWN = "it follows from the laws of lower degree"
_LINEAR_NOISE = 0.075  # of a linear law: correlated columns have one with more, and no test can tell
_NEARLY = 4.0  # times the critical J, beyond which further weights do not help
_HOPELESS = 10.0  # times the critical J of all terms: no few of them are a law
_MANY = 12  # terms beyond which no polynomial is read as a law
_FEW = 4  # terms of a law of higher degree that may replace one of lower degree
_SHORTER = 5.0  # bits that such a law's description is shorter, at least
_WIDEST_COLUMN = 0.25  # noise of one column, at most


@dataclass(frozen=True)
class Settings:
    """What is asked for.

    ``models`` are pairs of the kind of noise and of what is free in it: "level", "columns" or "none", each tried where
    the one before is rejected; ``sigma`` is the noise of the columns in their units, where it is known. ``profile``
    gives the shares of the columns in the common level. ``allowed(exponents)`` says which terms may occur, and
    ``comparable(exponents, k)`` which have the dimension of term k; ``classes(exponents)`` gives the terms of each
    dimension, among which laws are looked for first.
    """

    max_degree: int
    max_noise: float = 0.12
    models: tuple[tuple[str, str], ...] = ((ADDITIVE, "level"), (ADDITIVE, "columns"))
    sigma: Float1D | None = None
    absolute: bool = False
    snap: bool = True
    allowed: Callable[[Int2D], Bool1D] | None = None
    comparable: Callable[[Int2D, int], Bool1D] | None = None
    classes: Callable[[Int2D], list[Int1D]] | None = None


@dataclass(frozen=True)
class Attempt:
    """One search at one degree, and how it ended.

    Attributes
    ----------
    degree : int
    n_terms : int
        Candidates.
    noise : float
        Level at which a polynomial of this degree would vanish, as a share of the columns' deviations.
    J, dof : float, int
        Test of the best polynomial with all terms; NaN and 0 where it did not come to that.
    reason : str
        Why there is no law, or "law".
    """

    degree: int
    n_terms: int
    noise: float
    reason: str
    J: float = float("nan")
    dof: int = 0


@dataclass(frozen=True, eq=False)
class Found:
    """A law that was found: its conditions, terms, coefficients and noise variances, test and audits."""

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
    held_out: float
    correlation: float

    @property
    def p_value(self) -> float:
        """Chance of a larger J at a true law."""
        return float(chdtrc(max(self.dof, 1), self.J))


@dataclass(eq=False)
class _Search:
    """The search in one sample, with the conditions of every degree and noise model."""

    sample: Sample
    settings: Settings
    attempts: list[Attempt] = field(default_factory=list)
    cap: float = np.inf  # of the noise of later laws, as that of the columns is roughly known by then
    _conditions: dict[tuple[str, int], Conditions] = field(default_factory=dict)
    _samples: dict[str, Sample] = field(default_factory=dict)

    def conditions(self, degree: int, model: str) -> Conditions:
        """The conditions of a degree."""
        if model not in self._samples:
            same = model == self.sample.model
            table = self.sample.X + self.sample.origin  # multiplicative noise knows where zero is
            self._samples[model] = self.sample if same else make_sample(table, self.sample.groups, model)
        if (model, degree) not in self._conditions:
            self._conditions[model, degree] = Conditions(self._samples[model], degree)
        return self._conditions[model, degree]

    def find(self, degree: int, trial: list[int], laws: Sequence[Found]) -> Found | None:
        """One law of these candidate terms besides those known, under the first noise model that is not rejected."""
        best: Found | None = None
        for k, (model, nuisance) in enumerate(self.settings.models):
            if k and degree == 1 and nuisance == "columns":  # a linear law does not say which column the noise is in
                continue
            if k and best is not None and best.p_value >= 0.01:
                break
            if k and (self.attempts[-1].dof == 0 or self.attempts[-1].reason == _KNOWN):  # as under every noise model
                break
            law = _OneLaw(self, self.conditions(degree, model), trial, nuisance, laws).run()
            if law is not None and (best is None or law.p_value > best.p_value):
                best = law
        return best

    def homogeneous(self, degree: int, trial: list[int], laws: Sequence[Found]) -> Found | None:
        """A law all of whose terms have the same dimension, where the columns have units."""
        if self.settings.classes is None:
            return None
        terms = monomials(self.sample.n_columns, degree)
        for members in self.settings.classes(terms.exponents):
            inside = [term for term in members.tolist() if term in trial]
            if len(inside) > 1 and max(terms.total[inside]) == degree and len(inside) < len(trial):
                law = self.find(degree, inside, laws)
                if law is not None and not law.dense and _adds(law, laws):
                    return law
        return None

    def simpler(self, law: Found, laws: Sequence[Found]) -> Found | None:
        """A law of higher degree with fewer terms that says the same as ``law`` in fewer bits, if there is one."""
        degree, sample = law.conditions.degree, self.sample
        if degree == 1 or law.exact or (len(law.support) < _FEW and not law.dense):
            return None
        for higher in range(degree + 1, min(degree + 2, self.settings.max_degree) + 1):
            if not _affordable(sample, higher):
                break
            trial = _candidates(monomials(sample.n_columns, higher), laws, sample, self.settings)
            one = _OneLaw(self, self.conditions(higher, law.conditions.sample.model), trial, law.nuisance, laws)
            found = one.simpler(law)
            if found is not None:
                return found
        return None

    def max_noise(self, degree: int) -> float:
        """The noise that a law may have."""
        return min(self.settings.max_noise, _LINEAR_NOISE if degree == 1 else 0.4 / degree, self.cap)


def is_rejected(J: float, dof: int, n_rows: int) -> bool:
    """Whether a test rejects a law; J of many rows finds departures that are too small to matter."""
    return dof > 0 and 1.15 * critical_value(1e-4, dof) < J and 0.01 * n_rows < J


class _OneLaw:
    """The way to one law at one degree under one noise model."""

    def __init__(self, search: _Search, conditions: Conditions, trial: list[int], nuisance: str, laws: Sequence[Found]):
        self.search, self.conditions, self.trial, self.laws = search, conditions, trial, laws
        self.settings = search.settings
        self.nuisance = "none" if self.settings.sigma is not None else nuisance
        self.n_rows = conditions.sample.n_rows
        self.max_noise = search.max_noise(conditions.degree)
        self.column_cap = _WIDEST_COLUMN if conditions.degree <= 3 else self.max_noise
        self.level, self.J, self.dof = 0.0, float("nan"), 0

    def run(self) -> Found | None:
        """The law, if there is one; either way the attempt is noted."""
        law = self._law()
        reason = law if isinstance(law, str) else "law"
        self.search.attempts.append(
            Attempt(self.conditions.degree, len(self.trial), self.level, reason, self.J, self.dof)
        )
        return None if isinstance(law, str) else law

    def _law(self) -> Found | str:
        variances = self._first_variances()
        if variances is None:
            return f"a law would need noise of {self.level:.1%}, more than the {self.max_noise:.1%} that it may have"
        variances, system, c = self._full(variances)
        self.J, self.dof = system.minimise(self.trial)[0], system.dof(len(self.trial))
        rejected = is_rejected(self.J, self.dof, self.n_rows)
        if rejected and _HOPELESS * critical_value(1e-4, self.dof) < self.J:
            return f"rejected: J = {self.J:.4g} with {self.dof} degrees of freedom"
        known = self._is_known(c)
        if known and self.conditions.degree > max(law.conditions.degree for law in self.laws):
            return _KNOWN
        found = self._sparse(variances, system, c, small_only=rejected or known)
        if found is None:
            return f"rejected: J = {self.J:.4g} with {self.dof} degrees of freedom"
        support, variances, system, c = found
        J, dof = system.statistic(c), system.dof(len(support))
        if is_rejected(J, dof, self.n_rows):
            return f"rejected with {len(support)} terms: J = {J:.4g} with {dof} degrees of freedom"
        if self.settings.sigma is None and effective_level(self.conditions, c, variances) > self.max_noise:
            return f"the noise of the law is above {self.max_noise:.1%}"
        return self._audited(support, variances, system, c)

    def _is_known(self, c: Float1D) -> bool:
        """Whether the gradients of a polynomial are combinations of those of the laws that are known."""
        if not self.laws:
            return False
        gradients = [_gradients(law.conditions, law.c) for law in self.laws]
        return _rank([*gradients, _gradients(self.conditions, c)]) <= _rank(gradients)

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
        """A relation with more noise than a law may have casts shadows at higher degrees: ask for less there."""
        if self.level >= min(0.5, 2.5 * self.max_noise):
            return
        variances = self.level**2 * self._profile()
        _, c = self.conditions.first_system(variances).minimise(self.trial)
        system, J, c = reweighted(self.conditions, self.trial, variances, c, self.nuisance, 2)
        dof = system.dof(len(self.trial))
        if dof > 0 and max(1.3 * critical_value(1e-4, dof), 0.01 * self.n_rows) > J:
            self.search.cap = min(self.search.cap, 0.4 * self.level)

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
                system, _, c = reweighted(self.conditions, self.trial, variances, c, self.nuisance, 1)
        return variances, system, c

    def _sparse(
        self, variances: Float1D, system: System, c: Float1D, *, small_only: bool
    ) -> tuple[list[int], Float1D, System, Float1D] | None:
        """The terms that are needed, with weights and noise of their own; with ``small_only`` a few, or None.

        With the weights of its own, a small law can pass where all terms together, in theirs, do not.
        """
        for _ in range(2):
            J_full, _ = system.minimise(self.trial)
            if small_only:
                J_full = min(J_full, critical_value(1e-3, self.dof))
            small = smallest_support(system, self.trial, J_full, self._rescorer(variances), families=self._families())
            if small is None and small_only:
                return None
            support = eliminate(system, self.trial) if small is None else small
            _, c = system.minimise(support)
            variances, system, c = self._own(support, variances, system, c)
            if small is not None and critical_value(1e-3, system.dof(len(support))) > system.statistic(c):
                break
        return support, variances, system, c

    def _rescorer(self, variances: Float1D) -> Callable[[list[int], Float1D], tuple[float, int]]:
        def rescore(support: list[int], c: Float1D) -> tuple[float, int]:
            own_variances = self._level_variances(support, variances)
            own, J, c = reweighted(self.conditions, support, own_variances, c, self.nuisance, 1)
            if _NEARLY * critical_value(1e-3, own.dof(len(support))) + DROP_SHARE * self.n_rows > J:
                own, J, _ = reweighted(self.conditions, support, own_variances, c, self.nuisance, 1)
            return J, own.dof(len(support))

        return rescore

    def _families(self) -> list[list[int]]:
        """Candidates among which larger supports can all be tried: even powers only, and the highest degree only."""
        terms = self.conditions.terms
        even = [term for term in self.trial if not (terms.exponents[term] % 2).any()]
        return [even, [term for term in self.trial if terms.total[term] == terms.degree]]

    def _own(
        self, support: list[int], variances: Float1D, system: System, c: Float1D
    ) -> tuple[Float1D, System, Float1D]:
        """Noise and weights of the law with these terms."""
        variances = self._level_variances(support, variances)
        for _ in range(2):
            if self.nuisance == "columns" and self.level > _SMALL:
                variances = refined_variances(self.conditions, c, variances, self.column_cap)
            system, _, c = reweighted(self.conditions, support, variances, c, self.nuisance, 1)
        return variances, system, c

    def _level_variances(self, support: list[int], variances: Float1D) -> Float1D:
        """The noise variances at which a polynomial with these terms vanishes, where there is one level for all."""
        if self.nuisance != "level":
            return variances
        return max(noise_level(self.conditions, support, self._profile()), FLOOR) ** 2 * self._profile()

    def simpler(self, law: Found) -> Found | None:
        """A law of fewer terms and shorter description among these candidates, of higher degree than ``law``."""
        self.level = law.level
        c = np.zeros(len(self.conditions.terms))
        at = self.conditions.terms.places(law.conditions.terms.exponents[law.support])
        c[at] = law.c[law.support] / law.conditions.unit[law.support] * self.conditions.unit[at]
        system = self.conditions.system(law.variances, c, self.nuisance)
        self.J, self.dof = law.J, law.dof
        support = smallest_support(
            system, self.trial, law.J, self._rescorer(law.variances), largest=min(len(law.support) - 1, _FEW)
        )
        if support is None:
            return None
        _, c = system.minimise(support)
        found = self._audited(support, *self._own(support, law.variances, system, c))
        shorter = isinstance(found, Found) and not found.dense and _bits(found) < _bits(law) - _SHORTER
        return found if shorter and isinstance(found, Found) else None

    def _audited(self, support: list[int], variances: Float1D, system: System, free: Float1D) -> Found | str:
        conditions, c = self.conditions, free
        J, dof = system.statistic(c), system.dof(len(support))
        snapped = self._snapped(support, system, J)
        if snapped is not None:
            support, c, J = snapped.support, snapped.c, snapped.J
            _, free = system.minimise(support)
            dof = system.dof(len(support)) + len(snapped.rational) - 1
        noisy = np.sqrt(variances.mean()) > _SMALL
        if noisy and self.settings.sigma is None:
            weak = audits.test_power(J, dof, len(support))
            if weak is not None:
                return weak
        exact, residual = False, None
        if not audits.is_noisy(variances):
            exact, residual = audits.exactness(conditions, support)
        correlation = 0.0
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
        level = effective_level(conditions, c, variances)
        dense = not exact and audits.is_dense(conditions, support, snapped, system, level)
        return Found(
            conditions, support, c, free, variances, self.nuisance, system, J, dof, snapped, level, exact, dense,
            held_out, correlation,
        )  # fmt: skip

    def _snapped(self, support: list[int], system: System, J: float) -> SnappedLaw | None:
        return _snapped(self.conditions, self.settings, system, support, self.trial, J)


def _snapped(
    conditions: Conditions, settings: Settings, system: System, support: list[int], trial: Sequence[int], J: float
) -> SnappedLaw | None:
    """The law with coefficients read as rational numbers, unless that makes it much worse."""
    if not settings.snap or len(support) > _MANY:
        return None
    comparable, exponents = settings.comparable, conditions.terms.exponents
    pure = None if comparable is None else (lambda term: comparable(exponents, term))
    law = polish(system, support, trial, conditions.unit, pure)
    if law is None or J + max(critical_value(1e-3, len(support)), DROP_SHARE * conditions.n_rows) <= law.J:
        return None
    return law


def refit(found: Found, conditions: Conditions, settings: Settings, exponents: Int2D, n_fixed: int = 0) -> Found:
    """The same law with other moments, of more rows or of shifted columns: coefficients, noise and test anew.

    Parameters
    ----------
    found : Found
    conditions : Conditions
        Of the other moments.
    settings : Settings
    exponents : ndarray of shape (n_terms, n_columns)
        The terms of the law there.
    n_fixed : int, default=0
        Numbers besides the coefficients that were fitted to the rows.
    """
    support = sorted(int(place) for place in conditions.terms.places(exponents))
    variances = found.variances
    _, c = conditions.first_system(variances).minimise(support)
    for _ in range(3):
        if found.nuisance == "level":
            profile = found.variances / found.variances.mean()
            variances = max(noise_level(conditions, support, profile), FLOOR) ** 2 * profile
        elif found.nuisance == "columns" and not found.exact:
            variances = refined_variances(conditions, c, variances, _WIDEST_COLUMN)
        system, J, c = reweighted(conditions, support, variances, c, found.nuisance, 1)
    snapped = _snapped(conditions, settings, system, support, support, J)
    free, dof = c, system.dof(len(support)) - n_fixed
    if snapped is not None and len(snapped.support) == len(support):
        c, J, dof = snapped.c, snapped.J, dof + len(snapped.rational) - 1
    else:
        snapped = None
    level = effective_level(conditions, c, variances)
    return replace(
        found, conditions=conditions, support=support, c=c, free=free, variances=variances, system=system, J=J, dof=dof,
        snapped=snapped, level=level,
        dense=not found.exact and audits.is_dense(conditions, support, snapped, system, level),
    )  # fmt: skip


def find_laws(sample: Sample, settings: Settings) -> tuple[list[Found], list[Attempt]]:
    """The laws of a sample, degree by degree, and what was tried.

    A dense polynomial is no law yet: one of higher degree with few terms may explain the same rows.
    """
    search = _Search(sample, settings)
    laws: list[Found] = []
    dense: list[Found] = []
    for degree in range(1, settings.max_degree + 1):
        terms = monomials(sample.n_columns, degree) if _affordable(sample, degree) else None
        if terms is None:
            n_terms = count_monomials(sample.n_columns, degree)
            reason = f"skipped: {n_terms} terms are too many for {sample.n_rows} rows"
            search.attempts.append(Attempt(degree, n_terms, float("nan"), reason))
            break
        trial = _candidates(terms, laws, sample, settings)
        if not any(terms.total[trial] == degree):
            continue
        while len(trial) > 1:
            law = search.homogeneous(degree, trial, laws) or search.find(degree, trial, laws)
            if law is None or not _adds(law, laws):
                break
            law = search.simpler(law, laws) or law
            if law.dense:
                dense.append(law)
                break
            laws.append(law)
            search.cap = max(2.0 * max(law.level for law in laws), 0.02)
            if law.conditions.degree > degree:
                break
            trial = [term for term in trial if term != _pivot(law)]
        if jacobian_rank([*laws, *dense]) >= sample.n_columns - 1:
            break
    return laws + [law for law in dense[:1] if _adds(law, laws)], search.attempts


def find_law(sample: Sample, settings: Settings, degree: int) -> Found | None:
    """One law of a degree, if there is one."""
    terms = monomials(sample.n_columns, degree)
    return _Search(sample, settings).find(degree, _candidates(terms, [], sample, settings), [])


def _affordable(sample: Sample, degree: int) -> bool:
    return count_monomials(sample.n_columns, degree) <= sample.n_rows / (4 if degree == 1 else 8)


def _candidates(terms: Monomials, laws: Sequence[Found], sample: Sample, settings: Settings) -> list[int]:
    """The terms of a degree, less one for each independent multiple of a law that is known.

    With groups these are the laws themselves and their products: polynomials in conserved quantities are conserved.
    """
    trial = np.ones(len(terms), dtype=bool)
    if settings.allowed is not None:
        trial &= settings.allowed(terms.exponents)
    if sample.groups is not None:
        trial &= sample.without_group_means(terms.values(sample.X / sample.size)).std(axis=1) > 1e-9
    known = _consequences(terms, laws, grouped=sample.groups is not None)
    if known:
        rows = np.array(known)
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        _, R, pivots = qr(rows * (1.0 + 0.2 * terms.total), mode="economic", pivoting=True)
        rank = int((np.abs(np.diag(R)) > 1e-6 * abs(R[0, 0])).sum())
        trial[pivots[:rank]] = False
    return [int(term) for term in np.flatnonzero(trial)]


def _consequences(terms: Monomials, laws: Sequence[Found], *, grouped: bool) -> list[Float1D]:
    """Coefficients of what follows from laws up to a degree, in terms of root mean square about 1."""
    polynomials = [
        (law.conditions.terms, scaled_coefficients(law)) for law in laws if law.conditions.degree <= terms.degree
    ]
    lower = [(own, c) for own, c in polynomials if own.degree < terms.degree]
    if not grouped:
        return [
            _product(terms, (own, c), (factors, np.eye(len(factors))[k]))
            for own, c in lower
            for factors in [monomials(terms.n_columns, terms.degree - own.degree)]
            for k in range(len(factors))
        ]
    one = monomials(terms.n_columns, 0), np.ones(1)
    found = [_product(terms, law, one) for law in lower]
    pairs = [(a, b) for i, a in enumerate(polynomials) for b in polynomials[i:]]
    return found + [_product(terms, a, b) for a, b in pairs if a[0].degree + b[0].degree <= terms.degree]


def scaled_coefficients(law: Found) -> Float1D:
    """Coefficients of a law in monomials of the columns over their root mean squares."""
    conditions = law.conditions
    sizes = np.prod(conditions.sample.size**conditions.terms.exponents, axis=1)
    return np.asarray(law.c / conditions.unit * sizes)


def _product(terms: Monomials, a: tuple[Monomials, Float1D], b: tuple[Monomials, Float1D]) -> Float1D:
    """Coefficients of the product of two polynomials."""
    total = np.zeros(len(terms))
    np.add.at(total, terms.products(a[0].exponents, b[0].exponents), np.outer(a[1], b[1]))
    return total


def _pivot(law: Found) -> int:
    """The largest of the law's terms of highest degree."""
    top = law.conditions.terms.total
    return max(law.support, key=lambda term: (top[term], abs(law.c[term])))


def _adds(law: Found, laws: Sequence[Found]) -> bool:
    """Whether a law says something new: another direction at the rows, or it is short, good and of the same degree."""
    if not laws or jacobian_rank([*laws, law]) > jacobian_rank(laws):
        return True
    same = law.conditions.degree <= max(known.conditions.degree for known in laws)
    short = len(law.support) <= max(3, min(len(known.support) for known in laws))
    return same and short and law.p_value >= 1e-3


def _bits(law: Found) -> float:
    """Description length of a law: of its test, its terms and its coefficients."""
    if law.snapped is not None:
        return law.snapped.bits
    values = np.abs(law.free[law.support])
    errors = np.sqrt(1.0 / np.maximum(np.diag(law.system.information(law.free, law.support)), 1e-300))
    numbers = real_bits(values, errors).sum() - real_bits(values, errors).max()
    return float(law.J / (2.0 * np.log(2.0)) + len(law.support) * np.log2(len(law.conditions.terms)) + numbers)


def jacobian_rank(laws: Sequence[Found]) -> int:
    """The rank of the laws' gradients at a typical row."""
    if not laws:
        return 0
    return _rank([_gradients(law.conditions, law.c) for law in laws])


def _gradients(conditions: Conditions, c: Float1D) -> Float2D:
    """Gradients at some rows, ``(n_columns, n_rows)``, of typical length 1 where columns have deviation 1."""
    sample, terms = conditions.sample, conditions.terms
    rows = audits.sample_rows(sample.n_rows, 200)
    z = conditions.basis @ c
    slopes = np.array([terms.derivative(z, j) for j in range(sample.n_columns)]) @ conditions.table[: len(terms), rows]
    slopes *= (sample.X.std(axis=0) / sample.scale)[:, None]
    return np.asarray(slopes / np.sqrt(np.median((slopes**2).sum(axis=0))))


def _rank(gradients: Sequence[Float2D]) -> int:
    return int(np.median(np.linalg.matrix_rank(np.array(gradients).transpose(2, 0, 1), tol=0.15)))
