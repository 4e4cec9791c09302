"""The estimator of laws, and the function that most people call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Float2D, Int1D
from ..checks import all_or_nothing, check_choice, check_count, check_flag, check_n_jobs, check_number
from ..display import first_lines
from ..engine.moments import Moments
from ..files.fields import require
from ..files.saved import Object, SavedEstimator
from ..report import Given, Reported
from ..rows.reading import read_finite
from . import units as dimensions
from .candidates import allowed_terms, comparable_terms, dimension_classes
from .confirm import confirm, confirm_power_law
from .dependencies import affine_dependencies
from .describe import dependency_law, describe, exact_law, few_rows_law, power_law, with_units
from .exact import binary_denominator, exact_laws
from .few_rows import FEW_ROWS, FEWEST_ROWS, find_in_few_rows, largest_noise
from .fitted import FittedLaw
from .law import Law
from .laws import Laws
from .logs import PowerLaw, find_power_law
from .moments import ADDITIVE, MULTIPLICATIVE
from .origin import far_origin, recentre_all
from .outliers import concentrated_rows
from .rounding import dithered, explains_linear, rounding_steps
from .sample import make_sample
from .search import find_laws, skipped
from .settings import Attempt, Settings, known_noise
from .sums import NOT_AUDITED, find_laws_of_sums
from .table import Table, column_names, read_table

__all__ = ["LawFinder", "discover"]

_DEGREE = 4  # that "auto" goes up to
_EXACT_DEGREE, _EXACT_TERMS = 6, 500  # of integers, where arithmetic is exact
_FEWEST_INLIERS = 0.7
_LIKELY = 1e-3  # p-value of a power law after which no other of its degree is looked for
_BESIDES = 2  # degree of the laws that are looked for besides
_LOG_NOISE = 0.2  # of a power law, in deviations of the logarithms
_MODELS: dict[str, tuple[tuple[str, str], ...]] = {
    "auto": ((ADDITIVE, "level"), (ADDITIVE, "columns"), (MULTIPLICATIVE, "level")),
    "relative": ((ADDITIVE, "level"),),
    "absolute": ((ADDITIVE, "level"),),
    "multiplicative": ((MULTIPLICATIVE, "level"), (MULTIPLICATIVE, "columns")),
}


class LawFinder(SavedEstimator, Reported, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the equations that hold between the columns of a noisy table, or none.

    Rows are taken as ``y = x + e`` with ``x`` on the zero set of a polynomial and noise ``e`` in every column. A
    polynomial is a law if a test of that model does not reject it and much smaller ones are not as good; see
    ``docs/laws.md``.

    Parameters
    ----------
    max_degree : int or "auto", default="auto"
        Largest degree of a polynomial that is looked for; "auto" goes up to 4, and up to 6 for integers. Power laws
        may have any degree.
    noise : None, {"relative", "absolute", "multiplicative"}, or numbers, default=None
        None: a share of each column's deviation, the same for all columns; where that is rejected, one for each
        column; where that is, too, a share of each value. "relative" and "multiplicative": the first and the last of
        these only. "absolute": the same noise in the units of all columns. Numbers (one, a list, or a mapping from
        names): the standard deviation of each column's noise, where it is known.
    max_noise : float, default=0.12
        Noise that a law may have, as a share of the columns' deviations; laws of higher degree may have less.
    groups : str or array-like of shape (n_samples,), optional
        Which run each row is from: a column of the table, or the groups themselves. Laws are then quantities that are
        conserved along each run.
    units : mapping, optional
        Unit of every column, for instance ``{"p": "Pa", "V": "m^3"}``. Coefficients of terms of other dimensions
        are constants with units then, never rational numbers; terms of one dimension are looked at first.
    logs : {"auto", True, False}, default="auto"
        Whether to look for power laws of any rational exponents, through logarithms.
    robust : bool, default=False
        Whether some rows may follow no law at all.
    snap : bool, default=True
        Whether coefficients are read as rational numbers where these describe them in fewer bits.
    allowed, forbidden : sequence of str or of tuples of int, optional
        Terms that may, or may not, occur: ``"x^2*y"``, or exponents.
    origin : {"auto", None}, default="auto"
        Whether columns may be counted from another point than zero: ``(x - 20)^2 + (y + 15)^2 = 9``.
    names : sequence of str, optional
        Names of the columns, for arrays.
    n_jobs : int, optional
        Threads for passes over rows; all cores by default.

    Attributes
    ----------
    laws_ : Laws
        The laws, what was rejected and why.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import LawFinder
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> finder = LawFinder(names=["a", "b", "c"]).fit(np.column_stack([x, x[:, 0] ** 2 + x[:, 1]]))
    >>> print(finder.laws_)
    a^2 + b = c   exact
    >>> finder.transform([[1.0, 1.0, 2.0]]).round(6)
    array([[0.]])
    """

    _fields: ClassVar = {"laws_": Object("Laws")}

    def _check_saved(self) -> None:
        require(len(self.laws_.columns) == getattr(self, "n_features_in_", -1), "the laws are about other columns")

    def __init__(
        self,
        max_degree: Any = "auto",
        *,
        noise: Any = None,
        max_noise: float = 0.12,
        groups: Any = None,
        units: Any = None,
        logs: Any = "auto",
        robust: bool = False,
        snap: bool = True,
        allowed: Any = None,
        forbidden: Any = None,
        origin: Any = "auto",
        names: Sequence[str] | None = None,
        n_jobs: int | None = None,
    ):
        self.max_degree = max_degree
        self.noise = noise
        self.max_noise = max_noise
        self.groups = groups
        self.units = units
        self.logs = logs
        self.robust = robust
        self.snap = snap
        self.allowed = allowed
        self.forbidden = forbidden
        self.origin = origin
        self.names = names
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the laws of a table.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), frame, another data source, or Moments
            Of more than 10,000 rows, some are searched and all confirm what was found. :class:`.Moments` are sums
            without rows: laws are tested, but not audited on single rows.
        y : ignored

        Returns
        -------
        self
        """
        self._check()
        with all_or_nothing(self):
            self._fit(X)
        return self

    def _check(self) -> None:
        if self.max_degree != "auto":
            check_count("max_degree", self.max_degree)
        check_number("max_noise", self.max_noise, above=0.0)
        check_flag("robust", self.robust)
        check_flag("snap", self.snap)
        check_n_jobs(self.n_jobs)
        if self.logs not in ("auto", True, False):
            raise ValueError(f"logs must be 'auto', True or False; got {self.logs!r}.")
        if self.origin is not None:
            check_choice("origin", self.origin, ("auto",))
        if isinstance(self.noise, str):
            check_choice("noise", self.noise, tuple(_MODELS)[1:])

    def _fit(self, X: Any) -> None:
        if isinstance(X, Moments):
            self._fit_sums(X)
            return
        table = read_table(self, X, self.names, self.groups)
        n = len(table.names)
        if n < 2:
            raise ValueError("A law relates columns to each other: this table has 1 feature(s) only; add columns.")
        dims = None if self.units is None else dimensions.parse(self.units, table.names)
        laws = self._exact(table)
        attempts: list[Attempt] = []
        if not laws:
            dependencies, kept = affine_dependencies(table.X) if table.groups is None else ([], list(range(n)))
            laws = [dependency_law(dependency, table) for dependency in dependencies]
            if len(kept) > 1:
                more, attempts = self._noisy_or_rounded(table, kept, self._settings(table.names, kept, dims))
                laws += _independent(more, table, [d.column for d in dependencies])
        if dims is not None:
            laws = [with_units(law, [self.units[name] for name in table.names], dims) for law in laws]
        self.laws_ = Laws(
            [law for law in laws if law.kind != "dense"],
            table.names,
            table.n_rows,
            dense=[law for law in laws if law.kind == "dense"],
            attempts=attempts,
            notes=_notes(attempts),
        )

    def _fit_sums(self, moments: Moments) -> None:
        """Laws of sums over rows, which several sites may have collected."""
        if self.groups is not None or self.robust or self.noise == "multiplicative":
            raise ValueError("Moments hold no rows: groups, robust=True and multiplicative noise need the rows.")
        if moments.total_weight != moments.n_samples:
            raise ValueError("Moments with weights do not say how much noise their means have: collect them without.")
        self.n_features_in_ = moments.n_features
        if moments.feature_names is not None:
            self.feature_names_in_ = np.array(moments.feature_names, dtype=object)
        names = tuple(column_names(self, self.names))
        dims = None if self.units is None else dimensions.parse(self.units, names)
        fitted, attempts = find_laws_of_sums(moments, self._settings(names, range(len(names)), dims))
        laws = [describe(law, names, range(len(names))) for law in fitted]
        if dims is not None:
            laws = [with_units(law, [self.units[name] for name in names], dims) for law in laws]
        notes = [NOT_AUDITED, *_notes(attempts)]
        self.laws_ = Laws(laws, names, moments.n_samples, attempts=attempts, notes=notes)

    def _exact(self, table: Table) -> list[Law]:
        """Laws of integers and binary fractions, proven in exact arithmetic; none of other numbers, or with noise."""
        free = self.noise is None and self.allowed is None and self.forbidden is None and not self.robust
        denominator = binary_denominator(table.X) if free and table.groups is None and table.whole else None
        if denominator is None:
            return []
        degree = _EXACT_DEGREE if self.max_degree == "auto" else int(self.max_degree)
        why = f"All {table.n_rows:,} rows satisfy it, in exact arithmetic."
        basis = exact_laws((table.X * denominator).astype(np.int64), degree, _EXACT_TERMS)
        lowest = min((int(exponents.sum(axis=1).max()) for exponents, _ in basis), default=0)
        if lowest > 2 and explains_linear(table.X, rounding_steps(table.X)):
            return []  # a product of parallel planes: one for each value of the rounding error
        laws = []
        for exponents, integers in basis:
            scaled = [c * denominator**power for c, power in zip(integers, exponents.sum(axis=1).tolist(), strict=True)]
            coef = [Fraction(c, gcd(*scaled)) for c in scaled]
            laws.append(exact_law(table, exponents, np.array(coef, dtype=np.float64), coef, why))
        return laws

    def _noisy_or_rounded(
        self, table: Table, kept: Sequence[int], settings: Settings
    ) -> tuple[list[Law], list[Attempt]]:
        """Laws of a noisy table; where there is none and columns are rounded, laws of the dithered columns."""
        laws, attempts = self._noisy(table, kept, settings)
        steps = rounding_steps(table.X)
        if table.groups is not None or not steps[list(kept)].any() or any(law.kind != "dense" for law in laws):
            return laws, attempts
        rounded, more = self._noisy(dithered(table, steps), kept, settings)
        if all(law.kind == "dense" for law in rounded):
            return laws, attempts
        said = ", ".join(f"{table.names[j]} to {steps[j]:g}" for j in kept if steps[j])
        return [replace(law, why=f"{law.why} Rounding ({said}) counts as noise.") for law in rounded], more

    def _noisy(self, table: Table, kept: Sequence[int], settings: Settings) -> tuple[list[Law], list[Attempt]]:
        if FEWEST_ROWS <= table.n_rows < FEW_ROWS and self._may_have_logs(table.groups):
            laws, tried = self._few_rows(table, kept)
            if laws:
                return laws, tried
            laws, more = self._many_rows(table, kept, settings)
            higher = [attempt for attempt in more if attempt.degree > 1] or [skipped(2, table.n_rows, len(kept))]
            return laws, [*tried, *higher]
        return self._many_rows(table, kept, settings)

    def _few_rows(self, table: Table, kept: Sequence[int]) -> tuple[list[Law], list[Attempt]]:
        """Power laws and linear laws of a short table."""
        n, n_rows = len(kept), table.n_rows
        short = find_in_few_rows(table.X[:, list(kept)])
        if short:
            notes = [Attempt(1, n + 1, law.level, "law", law.J, law.dof) for law in short]
            return [few_rows_law(law, table, kept) for law in short], notes
        limit = largest_noise(n_rows, n)
        reason = f"no power law or linear law with noise below {limit:.1%}, which {n_rows} rows can tell from chance"
        return [], [Attempt(1, n + 1, float("nan"), reason)]

    def _many_rows(self, table: Table, kept: Sequence[int], settings: Settings) -> tuple[list[Law], list[Attempt]]:
        X = table.X[:, list(kept)]
        power = self._power_law(X, table.groups)
        if power is not None and not table.whole:  # where moments reach, they are more exact than logarithms
            reached = power.degree <= settings.max_degree
            power = None if reached else confirm_power_law(power, table.rows, kept)
        if power is not None and power.alone and power.exponents.all() and power.p_value >= _LIKELY:
            lower = replace(settings, max_degree=min(settings.max_degree, _BESIDES))
            fitted, attempts = self._search(X, None, lower)
            if not fitted or (len(fitted) == 1 and _is_power_law(fitted[0], power)):
                note = Attempt(power.degree, len(kept) + 1, power.level, "law", power.J, power.dof)
                return [power_law(power, table, kept)], [*attempts, note]
        fitted, attempts = self._robust(X, settings) if self.robust else self._search(X, table.groups, settings)
        if fitted and not table.whole and table.groups is None and not self.robust:
            fitted, rejected = confirm(fitted, table.rows, table.n_rows, kept, settings)
            attempts = [*attempts, *rejected]
        if power is not None and all(law.dense for law in fitted):
            return [power_law(power, table, kept)], attempts
        return [describe(law, table.names, kept) for law in fitted], attempts

    def _power_law(self, X: Float2D, groups: Int1D | None) -> PowerLaw | None:
        if not self._may_have_logs(groups):
            return None
        models = {None: (False, True), "relative": (False,), "multiplicative": (True,)}[self.noise]
        return find_power_law(X, _LOG_NOISE, models)

    def _may_have_logs(self, groups: Int1D | None) -> bool:
        """Whether what is asked for allows power laws through logarithms."""
        limited = self.allowed is not None or self.forbidden is not None
        known = isinstance(self.noise, str | None) and self.noise != "absolute"
        return self.logs is not False and groups is None and not self.robust and not limited and known

    def _search(self, X: Float2D, groups: Int1D | None, settings: Settings) -> tuple[list[FittedLaw], list[Attempt]]:
        shifted = self.origin == "auto" and groups is None and settings.models[0][0] == ADDITIVE
        fitted, attempts = find_laws(make_sample(X, groups, origin=far_origin(X) if shifted else None), settings)
        return (recentre_all(fitted, X, settings) if shifted else fitted), attempts

    def _robust(self, X: Float2D, settings: Settings) -> tuple[list[FittedLaw], list[Attempt]]:
        """Laws of the rows near a polynomial, degree by degree."""
        attempts: list[Attempt] = []
        for degree in range(1, settings.max_degree + 1):
            rows = concentrated_rows(X, degree)
            if rows.mean() < _FEWEST_INLIERS:
                reason = f"only {rows.mean():.0%} of the rows are near a polynomial of this degree"
                attempts.append(Attempt(degree, 0, float("nan"), reason))
                continue
            fitted, tried = self._search(X[rows], None, replace(settings, max_degree=degree))
            attempts += [attempt for attempt in tried if attempt.degree == degree]
            if any(not law.dense for law in fitted):
                return fitted, attempts
        return [], attempts

    def _settings(self, names: Sequence[str], kept: Sequence[int], dims: Array | None) -> Settings:
        degree = _DEGREE if self.max_degree == "auto" else int(self.max_degree)
        settings = Settings(degree, float(self.max_noise), snap=bool(self.snap))
        settings = replace(settings, allowed=allowed_terms(self.allowed, self.forbidden, names, kept))
        if dims is not None:
            own = dims[list(kept)]
            settings = replace(settings, comparable=comparable_terms(own), classes=dimension_classes(own))
        if self.noise is None or isinstance(self.noise, str):
            kind = "auto" if self.noise is None else self.noise
            return replace(settings, models=_MODELS[kind], absolute=kind == "absolute")
        sigma = known_noise(self.noise, names)[list(kept)]
        return replace(settings, models=((ADDITIVE, "none"),), sigma=sigma)

    def _first_equations(self, n_shown: int) -> list[str]:
        return first_lines(str(self.laws_).splitlines(), n_shown)

    def transform(self, X: Any) -> Float2D:
        """Distances of rows from the laws, in deviations of the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source

        Returns
        -------
        ndarray of shape (n_samples, n_laws)
        """
        check_is_fitted(self)
        rows = read_finite(self, X).to_numpy()
        distances = [law.distance(rows) for law in self.laws_]
        return np.column_stack(distances) if distances else np.empty((len(rows), 0))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the root mean square distance of rows from the laws: the larger, the better; 0 without laws."""
        distances = self.transform(X)
        return -float(np.sqrt((distances**2).mean())) if distances.size else 0.0

    def _report_rows(self, X: Any, y: Any) -> Given:
        check_is_fitted(self)
        return self.laws_._report_rows(X, y)

    def _report_story(self, subject: Any) -> Any:
        return self.laws_._report_story(subject)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of :meth:`transform`: law0, law1, ..."""
        check_is_fitted(self)
        return np.array([f"law{k}" for k in range(len(self.laws_))], dtype=object)


def _is_power_law(law: FittedLaw, power: PowerLaw) -> bool:
    """Whether a law that was found is the power law."""
    sides = law.conditions.terms.exponents[law.support]
    same = [sides[0] - sides[1], sides[1] - sides[0]] if len(sides) == 2 else []
    return any(np.array_equal(difference, power.exponents) for difference in same)


def _independent(laws: Sequence[Law], table: Table, removed: Sequence[int]) -> list[Law]:
    """The laws whose residuals do not follow a column that was set aside, as those of a relation with it would."""
    spread = table.X.std(axis=0)
    aside = [j for j in removed if spread[j] > 0.0]
    kept = []
    for law in laws:
        residual = law.residuals(table.X)
        limit = 5.0 / np.sqrt(len(table.X)) + 2.0 * law.level
        follows = [abs(np.corrcoef(residual, table.X[:, j])[0, 1]) > limit for j in aside] if law.level > 1e-5 else []
        if not any(follows):
            kept.append(law)
    return kept


def _notes(attempts: Sequence[Attempt]) -> list[str]:
    """What was left out."""
    return [
        f"Degree {attempt.degree} and above were {attempt.reason}: add rows, or leave out columns."
        for attempt in attempts
        if attempt.reason.startswith("skipped")
    ][:1]


def discover(table: Any, **options: Any) -> Laws:
    """The equations that hold between the columns of a noisy table, with their uncertainties; or none.

    Parameters
    ----------
    table : DataFrame, array-like of shape (n_samples, n_columns), or another data source
    **options :
        Parameters of :class:`LawFinder`: ``max_degree``, ``noise``, ``max_noise``, ``groups``, ``units``, ``logs``,
        ``robust``, ``snap``, ``allowed``, ``forbidden``, ``origin``, ``names``, ``n_jobs``.

    Returns
    -------
    Laws

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> rng = np.random.default_rng(0)
    >>> V, n, T = rng.uniform(1, 3, 2000), rng.uniform(0.5, 2, 2000), rng.uniform(250, 400, 2000)
    >>> gas = np.column_stack([8.314 * n * T / V, V, n, T])
    >>> gas += 0.01 * gas.std(axis=0) * rng.normal(size=gas.shape)
    >>> print(discover(gas, names=["p", "V", "n", "T"]))
    p*V = 8.314*n*T   noise 1.0% of each column   p-value 0.89   8.314 +- 0.001
    """
    return LawFinder(**options).fit(table).laws_
