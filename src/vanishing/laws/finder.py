"""The estimator of laws, and the function that most people call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Float1D, Float2D, Int1D
from ..checks import all_or_nothing, check_choice, check_count, check_flag, check_n_jobs, check_number
from ..rows.reading import read_finite
from .confirm import confirm
from .dependencies import Dependency, affine_dependencies
from .describe import describe, exact_law
from .law import Law
from .laws import Laws
from .origin import far_origin, recentre_all
from .moments import ADDITIVE, MULTIPLICATIVE
from .sample import make_sample
from .search import Attempt, Found, Settings, find_laws
from .table import Table, read_table

__all__ = ["LawFinder", "discover"]

_DEGREE = 4  # that "auto" goes up to
_MODELS: dict[str, tuple[tuple[str, str], ...]] = {
    "auto": ((ADDITIVE, "level"), (ADDITIVE, "columns")),
    "relative": ((ADDITIVE, "level"),),
    "absolute": ((ADDITIVE, "level"),),
    "multiplicative": ((MULTIPLICATIVE, "level"), (MULTIPLICATIVE, "columns")),
}


class LawFinder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the polynomial equations that hold between the columns of a noisy table.

    Parameters
    ----------
    max_degree : int or "auto", default="auto"
    noise : None, {"relative", "absolute", "multiplicative"}, or noise per column, default=None
    max_noise : float, default=0.12
    snap : bool, default=True
    names : sequence of str, optional
    n_jobs : int, optional

    Attributes
    ----------
    laws_ : Laws
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
    """

    def __init__(
        self,
        max_degree: Any = "auto",
        *,
        noise: Any = None,
        max_noise: float = 0.12,
        groups: Any = None,
        snap: bool = True,
        origin: Any = "auto",
        names: Sequence[str] | None = None,
        n_jobs: int | None = None,
    ):
        self.max_degree = max_degree
        self.noise = noise
        self.max_noise = max_noise
        self.groups = groups
        self.snap = snap
        self.origin = origin
        self.names = names
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the laws of a table."""
        with all_or_nothing(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        table = read_table(self, X, self.names, self.groups)
        settings = self._settings(table.names)
        n = len(table.names)
        dependencies, kept = affine_dependencies(table.X) if table.groups is None else ([], list(range(n)))
        found: list[Found] = []
        attempts: list[Attempt] = []
        if len(kept) > 1:
            if settings.sigma is not None:
                settings = replace(settings, sigma=settings.sigma[kept])
            found, attempts = self._search(table.X[:, kept], table.groups, settings)
        if found and not table.whole and table.groups is None:
            found, rejected = confirm(found, table.rows, table.n_rows, kept, settings)
            attempts = [*attempts, *rejected]
        laws = [dependency_law(dependency, table) for dependency in dependencies]
        laws += [describe(law, table.names, kept) for law in found]
        self.laws_ = Laws(
            [law for law in laws if law.kind != "dense"],
            table.names,
            table.n_rows,
            dense=[law for law in laws if law.kind == "dense"],
            attempts=attempts,
        )

    def _search(self, X: Float2D, groups: Int1D | None, settings: Settings) -> tuple[list[Found], list[Attempt]]:
        shifted = self.origin == "auto" and groups is None
        found, attempts = find_laws(make_sample(X, groups, origin=far_origin(X) if shifted else None), settings)
        return (recentre_all(found, X, settings) if shifted else found), attempts

    def _settings(self, names: Sequence[str]) -> Settings:
        check_number("max_noise", self.max_noise, above=0.0)
        check_flag("snap", self.snap)
        check_n_jobs(self.n_jobs)
        degree = _DEGREE
        if self.max_degree != "auto":
            check_count("max_degree", self.max_degree)
            degree = int(self.max_degree)
        settings = Settings(degree, float(self.max_noise), snap=bool(self.snap))
        if self.noise is None or isinstance(self.noise, str):
            kind = "auto" if self.noise is None else self.noise
            check_choice("noise", kind, tuple(_MODELS))
            return replace(settings, models=_MODELS[kind], absolute=kind == "absolute")
        return replace(settings, models=((ADDITIVE, "none"),), sigma=_sigma(self.noise, names))

    def transform(self, X: Any) -> Float2D:
        """Distances of rows from the laws, one column per law, in deviations of the columns."""
        check_is_fitted(self)
        rows = read_finite(self, X).to_numpy()
        return np.column_stack([law.distance(rows) for law in self.laws_]) if len(self.laws_) else np.empty((len(rows), 0))


def _sigma(noise: Any, names: Sequence[str]) -> Float1D:
    if isinstance(noise, Mapping):
        noise = [noise[name] for name in names]
    return np.broadcast_to(np.asarray(noise, dtype=np.float64), (len(names),)).copy()


def dependency_law(dependency: Dependency, table: Table) -> Law:
    """The law of a column that is constant, or an affine function of others."""
    n = len(table.names)
    used = np.flatnonzero(dependency.coef)
    exponents = np.zeros((1 + len(used), n), dtype=np.int64)
    exponents[0, dependency.column] = 1
    exponents[np.arange(1, 1 + len(used)), used] = 1
    coef = np.r_[1.0, -dependency.coef[used]]
    if dependency.constant or not used.size:
        exponents, coef = np.vstack([exponents, np.zeros(n, dtype=np.int64)]), np.r_[coef, -dependency.constant]
    what = "constant" if not used.size else "an affine function of others"
    why = f"The column {table.names[dependency.column]!r} is {what}, up to rounding."
    return exact_law(table, exponents, coef, (None,) * len(coef), why)


def discover(table: Any, **options: Any) -> Laws:
    """The laws of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(1, 2, (2000, 3))
    >>> table = np.column_stack([x[:, 0], x[:, 1], 3.5 * x[:, 0] / x[:, 1]]) + rng.normal(0, 0.005, (2000, 3))
    >>> print(discover(table, names=["a", "b", "c"])[0].equation)
    b*c = 3.5*a
    """
    return LawFinder(**options).fit(table).laws_  # type: ignore[no-any-return]
