"""The estimator of laws, and the function that most people call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Float2D
from ..checks import check_choice, check_count, check_flag, check_n_jobs, check_number
from ..display import first_lines
from ..engine.moments import Moments
from ..files.fields import require
from ..files.saved import Object, SavedEstimator
from ..report import Given, Reported
from ..rows.gaps import MISSING
from ..rows.reading import read_finite
from ..threads import fitting
from .candidates.allowed import allowed_terms, comparable_terms, dimension_classes
from .candidates.snapping import STRONG
from .candidates.sums import NOT_AUDITED, find_laws_of_sums
from .criteria import Judgement, bits_of_equation, follows_from, is_narrower
from .estimate.moments import ADDITIVE, MULTIPLICATIVE
from .estimate.settings import LIKELY, Attempt, Settings, known_noise
from .obeyed import core_laws
from .routes import in_given_rows, laws_by_moments, notes_about, proven_laws
from .rows import units as dimensions
from .rows.dependencies import affine_dependencies
from .rows.table import Table, column_names, read_table
from .say.describe import dependency_law, describe, with_units
from .say.law import Law
from .say.laws import Laws

__all__ = ["LawFinder", "discover"]

_MORE_ROWS = ": add rows, or leave out columns"
_BEYOND = "Column {!r} is left out: float64 does not hold the powers of its values; change its unit."
_DEGREE = 4  # max_degree="auto"
_MOST = 2.0 / 3.0  # share of the rows that obey one factor of an equation, beside which the others are exceptions
_MODELS: dict[str, tuple[tuple[str, str], ...]] = {
    "auto": ((ADDITIVE, "level"), (MULTIPLICATIVE, "level"), (ADDITIVE, "columns")),
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
        None: a share of each column's deviation, the same for all columns; if a test rejects that, one for each column;
        if it rejects that, too, a share of each value. "relative" and "multiplicative": the first and the last of
        these only. "absolute": the same noise in the units of all columns. Numbers (one, a list, or a mapping from
        names): the standard deviation of each column's noise, where it is known.
    max_noise : float, default=0.08
        Noise that a law may have, as a share of the columns' deviations.
    groups : str or array-like of shape (n_samples,), optional
        Which run each row is from: a column of the table, or the groups themselves. Laws are then quantities that are
        conserved along each run.
    units : mapping, optional
        Unit of every column, for instance ``{"p": "Pa", "V": "m^3"}``. Laws among terms of one dimension come first;
        between dimensions, coefficients are constants with units, never rational numbers.
    robust : {"auto", True, False}, default="auto"
        Whether some rows may follow no law at all. "auto": all rows are taken as noisy first; where no such law is
        likely, short equations that at least half of the rows obey are looked for. True: only these. False: all rows
        are noisy.
    snap : bool, default=True
        Whether coefficients are read as rational numbers where these describe them in fewer bits.
    allowed, forbidden : sequence of str or of tuples of int, optional
        Terms that may, or may not, occur: ``"x^2*y"``, or exponents.
    origin : {"auto", None}, default="auto"
        Whether columns may be counted from another point than zero: ``(x - 20)^2 + (y + 15)^2 = 9``.
    names : sequence of str, optional
        Names of the columns, for arrays.
    missing : {"error", "drop"}, default="error"
        Whether rows with missing values are refused, or left out; then a note of ``laws_`` says how many.
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
        max_noise: float = 0.08,
        groups: Any = None,
        units: Any = None,
        robust: Any = "auto",
        snap: bool = True,
        allowed: Any = None,
        forbidden: Any = None,
        origin: Any = "auto",
        names: Sequence[str] | None = None,
        missing: str = "error",
        n_jobs: int | None = None,
    ):
        self.max_degree = max_degree
        self.noise = noise
        self.max_noise = max_noise
        self.groups = groups
        self.units = units
        self.robust = robust
        self.snap = snap
        self.allowed = allowed
        self.forbidden = forbidden
        self.origin = origin
        self.names = names
        self.missing = missing
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the laws of a table.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), frame, another data source, or Moments
            From more than 10,000 rows on, the search looks at some, and all rows confirm its laws. :class:`.Moments`
            are sums without rows: laws are tested, but not audited on single rows.
        y : ignored

        Returns
        -------
        self
        """
        self._check()
        with fitting(self):
            self._fit(X)
        return self

    def _check(self) -> None:
        if self.max_degree != "auto":
            check_count("max_degree", self.max_degree)
        check_number("max_noise", self.max_noise, above=0.0)
        if self.robust not in ("auto", True, False):
            raise ValueError(f"robust must be 'auto', True or False; got {self.robust!r}.")
        check_flag("snap", self.snap)
        check_n_jobs(self.n_jobs)
        if self.origin is not None:
            check_choice("origin", self.origin, ("auto",))
        check_choice("missing", self.missing, MISSING)
        if isinstance(self.noise, str):
            check_choice("noise", self.noise, tuple(_MODELS)[1:])

    def _fit(self, X: Any) -> None:
        if isinstance(X, Moments):
            self._fit_sums(X)
            return
        table = read_table(self, X, self.names, self.groups, drop_missing=self.missing == "drop")
        n = len(table.names)
        if n < 2:
            raise ValueError("A law relates columns to each other: this table has 1 feature(s) only; add columns.")
        dims = None if self.units is None else dimensions.parse(self.units, table.names)
        judgement, attempts = Judgement(table.X, table.groups), list[Attempt]()
        exact = self._exact(table)
        judgement.add(exact)
        if any(law.degree > 1 for law in judgement.between_columns):
            settings = self._settings(table.names, range(n), dims)
            judgement, attempts = self._with_cores(Judgement(table.X), table, range(n), settings, exact, proven=True)
        elif not judgement.between_columns:
            usable = [j for j in range(n) if j not in table.beyond]
            dependencies, kept = affine_dependencies(table.X, usable) if table.groups is None else ([], usable)
            judgement.add([dependency_law(dependency, table) for dependency in dependencies])
            if len(kept) > 1:
                settings = self._settings(table.names, kept, dims)
                by_moments: tuple[list[Law], list[Attempt]] = [], []
                if self.robust is not True:
                    by_moments = laws_by_moments(table, kept, settings, origin=self.origin == "auto")
                judgement, attempts = self._with_cores(judgement, table, kept, settings, *by_moments)
        attempts = [*attempts, *judgement.rejected]
        laws = in_given_rows(table, judgement.laws)
        beyond = [_BEYOND.format(table.names[j]) for j in table.beyond]
        notes = [*beyond, *notes_about(table, len(judgement.between_columns))]
        if not judgement.between_columns:
            notes += _notes(attempts)
        self.laws_ = self._gathered(laws, table.names, table.n_rows, dims, attempts, notes)

    def _with_cores(
        self,
        judgement: Judgement,
        table: Table,
        kept: Sequence[int],
        settings: Settings,
        whole: Sequence[Law],
        attempts: Sequence[Attempt] = (),
        *,
        proven: bool = False,
    ) -> tuple[Judgement, list[Attempt]]:
        """Laws that all rows obey, or laws that some rows do not obey, whichever are worth more bits."""
        of_all = judgement.copy()
        of_all.add(whole)
        if not self._allows_cores(table):
            return of_all, [*attempts]
        cores, tried = core_laws(table, kept, settings)
        by_core, n_known = judgement.copy(), len(judgement.between_columns)
        by_core.add(cores)
        likely = [law for law in of_all.between_columns[n_known:] if law.p_value >= LIKELY]
        attempts = [*attempts, *tried]
        if likely and not _wins(by_core, of_all, likely, n_known, proven=proven):
            return of_all, attempts
        by_core.add(whole)
        return by_core, attempts

    def _allows_cores(self, table: Table) -> bool:
        """Whether some rows may follow no law: nothing is said about noise and terms, and there are no groups."""
        limited = self.allowed is not None or self.forbidden is not None or self.noise is not None
        return self.robust is not False and not limited and table.groups is None

    def _fit_sums(self, moments: Moments) -> None:
        """Laws of sums over rows, which several sites may have collected."""
        if self.groups is not None or self.robust is True or self.noise == "multiplicative":
            raise ValueError("Moments hold no rows: groups, robust=True and multiplicative noise need the rows.")
        if moments.total_weight != moments.n_samples:
            raise ValueError("Moments with weights do not say how much noise their means have: collect them without.")
        self.n_features_in_ = moments.n_features
        if moments.feature_names is not None:
            self.feature_names_in_ = np.array(moments.feature_names, dtype=object)
        names = tuple(column_names(self, self.names))
        dims = None if self.units is None else dimensions.parse(self.units, names)
        fitted, attempts = find_laws_of_sums(moments, self._settings(names, range(len(names)), dims))
        laws = _without_multiples([describe(law, names, range(len(names))) for law in fitted])
        notes = [NOT_AUDITED, *_notes(attempts)]
        self.laws_ = self._gathered(laws, names, moments.n_samples, dims, attempts, notes)

    def _gathered(
        self,
        laws: Sequence[Law],
        names: Sequence[str],
        n_rows: int,
        dims: Array | None,
        attempts: Sequence[Attempt],
        notes: Sequence[str],
    ) -> Laws:
        """The laws and the dense polynomials, with units where the columns have some."""
        if dims is not None:
            laws = [with_units(law, [self.units[name] for name in names], dims) for law in laws]
        proper, dense = ([law for law in laws if (law.kind == "dense") is kind] for kind in (False, True))
        return Laws(proper, names, n_rows, dense=dense, attempts=attempts, notes=notes)

    def _exact(self, table: Table) -> list[Law]:
        """Laws proven in exact arithmetic; empty where noise or terms are given, or rows may be outliers."""
        free = self.noise is None and self.allowed is None and self.forbidden is None and self.robust is not True
        free = free and not table.beyond
        return proven_laws(table, None if self.max_degree == "auto" else int(self.max_degree)) if free else []

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


def _wins(by_core: Judgement, of_all: Judgement, likely: Sequence[Law], n_known: int, *, proven: bool) -> bool:
    """Whether laws with exceptions are better than laws of all rows: worth more bits, or a factor of one.

    The product of a law and the equation of its exceptions is obeyed by all rows, and says less about each. Where both
    are the same law, wrong rows must have made that of all rows much wider.
    """
    cores, X = by_core.between_columns[n_known:], by_core.X
    if not cores:
        return False
    for core in cores:
        if core.share > _MOST and any(_is_product(law, core, X, proven=proven) for law in likely):
            return True
    for law in likely:
        if _same_terms(cores[0], law) or (follows_from(law, cores[0], X) and follows_from(cores[0], law, X)):
            return is_narrower(cores[0], law, X)
    return by_core.net > of_all.net


def _is_product(law: Law, core: Law, X: Float2D, *, proven: bool) -> bool:
    """Whether a law of all rows should be replaced by its factor ``core``, with the other rows as exceptions.

    The law is then the product of the core and the equation of its exceptions. In measured data the core is preferred:
    a slip, such as a factor of ten, obeys an equation, too. A law that is ``proven`` on integers, such as the states of
    a program, stays if the values of the exceptions take more bits than the core saves, by ``STRONG`` at least.
    """
    if core.degree >= law.degree or not follows_from(law, core, X):
        return False
    n_values = min(len(np.unique(X[:, core.columns.index(name)])) for name in core.variables)
    given = (1.0 - core.share) * len(X) * log2(n_values)
    return not proven or given <= bits_of_equation(law, len(X)) - bits_of_equation(core, len(X)) + STRONG


def _same_terms(law: Law, other: Law) -> bool:
    return {*map(tuple, law.exponents)} == {*map(tuple, other.exponents)}


def _without_multiples(laws: Sequence[Law]) -> list[Law]:
    """The laws without dense polynomials of columns that a law relates: these may be its multiples."""
    known = [set(law.variables) for law in laws if law.kind != "dense"]
    return [law for law in laws if law.kind != "dense" or not any(own <= set(law.variables) for own in known)]


def _notes(attempts: Sequence[Attempt]) -> list[str]:
    """A sentence about the degrees that were left out, if some were."""
    return [
        f"Degree {attempt.degree} and above were {attempt.reason}{'' if 'Moments' in attempt.reason else _MORE_ROWS}."
        for attempt in attempts
        if attempt.reason.startswith("skipped")
    ][:1]


def discover(table: Any, **options: Any) -> Laws:
    """The equations that hold between the columns of a noisy table, with their uncertainties; or none.

    Parameters
    ----------
    table : DataFrame, array-like of shape (n_samples, n_columns), or another data source
    **options :
        Parameters of :class:`LawFinder`: ``max_degree``, ``noise``, ``max_noise``, ``groups``, ``units``, ``robust``,
        ``snap``, ``allowed``, ``forbidden``, ``origin``, ``names``, ``missing``, ``n_jobs``.

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
    p*V = 8.314*n*T   noise 1.0% of a deviation   p-value 0.37   8.314 +- 0.002
    """
    return LawFinder(**options).fit(table).laws_
