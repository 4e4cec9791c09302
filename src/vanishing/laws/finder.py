"""The estimator of laws, and the function that most people call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Float1D, Float2D, Int1D
from ..checks import all_or_nothing, check_choice, check_count, check_flag, check_n_jobs, check_number, input_names
from ..rows.protocol import Rows
from ..rows.reading import read_finite, read_rows, require_finite
from .dependencies import Dependency, affine_dependencies
from .describe import describe
from .law import Law
from .laws import Laws
from .moments import ADDITIVE, MULTIPLICATIVE
from .sample import make_sample
from .search import Settings, find_laws

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
        names: Sequence[str] | None = None,
        n_jobs: int | None = None,
    ):
        self.max_degree = max_degree
        self.noise = noise
        self.max_noise = max_noise
        self.groups = groups
        self.snap = snap
        self.names = names
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the laws of a table."""
        with all_or_nothing(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        rows = read_rows(self, X)
        names = input_names(self) if self.names is None else list(self.names)
        require_finite(rows, names)
        table = rows.to_numpy()
        settings = self._settings(names)
        dependencies, kept = affine_dependencies(table) if self.groups is None else ([], list(range(len(names))))
        found, attempts = [], []
        if len(kept) > 1:
            if settings.sigma is not None:
                settings = replace(settings, sigma=settings.sigma[kept])
            codes = None if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
            found, attempts = find_laws(make_sample(table[:, kept], codes), settings)
        laws = [describe(law, names, kept) for law in found]
        first = [dependency_law(d, names, table) for d in dependencies]
        self.laws_ = Laws(
            [*first, *(law for law in laws if law.kind != "dense")],
            names,
            len(table),
            dense=[law for law in laws if law.kind == "dense"],
            attempts=attempts,
        )

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


def dependency_law(dependency: Dependency, names: Sequence[str], table: Float2D) -> Law:
    """The law of a column that is constant, or an affine function of others."""
    n = len(names)
    used = np.flatnonzero(dependency.coef)
    exponents = np.zeros((1 + len(used), n), dtype=np.int64)
    exponents[0, dependency.column] = 1
    exponents[np.arange(1, 1 + len(used)), used] = 1
    coef = np.r_[1.0, -dependency.coef[used]]
    if dependency.constant:
        exponents, coef = np.vstack([exponents, np.zeros(n, dtype=np.int64)]), np.r_[coef, -dependency.constant]
    nothing = np.zeros(len(coef))
    what = "constant" if not used.size else "an affine function of others"
    return Law(
        columns=tuple(names), exponents=exponents, coef=coef, stderr=nothing, rational=(None,) * len(coef),
        free_coef=coef, free_stderr=nothing, origin=np.zeros(n), noise=np.where(exponents.any(axis=0), 0.0, np.nan),
        noise_kind="none: the rows satisfy the law up to rounding", level=0.0, typical_distance=0.0, J=0.0, dof=0,
        p_value=1.0, held_out=1.0, audits=("the rows satisfy it up to rounding",), n_rows=len(table), kind="exact",
        why=f"The column {names[dependency.column]!r} is {what}, up to rounding.", scale=table.std(axis=0),
    )  # fmt: skip


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
    b*c = 3.500*a
    """
    return LawFinder(**options).fit(table).laws_  # type: ignore[no-any-return]
