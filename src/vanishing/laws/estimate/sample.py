"""The rows that a search looks at: standardised, with the monomials on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from ..._typing import Float1D, Float2D, Int1D
from ...rows.arrays import ArrayRows
from .moments import ADDITIVE, MomentTable, collect_moments, group_means
from .monomials import Monomials, monomials

__all__ = ["Sample", "WorkIsDoneError", "make_sample"]

_MOST_WORK = 4e10  # work budget: multiplications in the covariances of tests, two seconds of one core


class WorkIsDoneError(Exception):
    """A search has cost as much as it may."""


@dataclass(eq=False)
class Work:
    """Multiplications that the tests of a search may cost: a limit that does not depend on the machine."""

    left: float = _MOST_WORK
    limited: bool = False

    def spend(self, multiplications: float) -> None:
        """Count multiplications; raises :class:`WorkIsDoneError` once there are too many, where these are limited."""
        self.left -= multiplications
        if self.limited and self.left < 0.0:
            raise WorkIsDoneError

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Limit the work of a search; what is known about its laws is computed in any case."""
        self.limited = True
        try:
            yield
        finally:
            self.limited = False


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows ``X`` in the users' coordinates, and ``Z = (X - centre) / scale`` in standardised ones.

    The users' coordinates are counted from ``origin``: the table has the columns ``X + origin``. ``size`` is their root
    mean square. For multiplicative noise, a share of the value, the centre is 0 and the scale is ``size``.
    """

    X: Float2D
    origin: Float1D
    centre: Float1D
    scale: Float1D
    size: Float1D
    Z: Float2D
    model: str = ADDITIVE
    groups: Int1D | None = None
    work: Work = field(default_factory=Work)
    _values: dict[int, Float2D] = field(default_factory=dict)
    _moments: dict[int, MomentTable] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def has_rows(self) -> bool:
        """Whether there are rows, not only sums over them."""
        return len(self.X) > 0

    @property
    def deviation(self) -> Float1D:
        """Standard deviations of the columns."""
        return np.asarray(self.X.std(axis=0))

    def values(self, degree: int) -> Float2D:
        """The monomials up to a degree on the rows, computed once."""
        known = max(self._values, default=-1)
        if known < degree:
            self._values.clear()
            self._values[degree] = monomials(self.n_columns, degree).values(self.Z)
            known = degree
        return self._values[known][: len(monomials(self.n_columns, degree))]

    def moments(self, degree: int, test_degree: int) -> MomentTable:
        """Means of the monomials up to a degree; with groups, of those up to ``test_degree`` within each group."""
        if degree not in self._moments:
            rows = ArrayRows(self.Z, n_jobs=1)
            rows.quiet = True
            table = collect_moments(rows, degree, self.n_rows, self.model)
            if self.groups is not None:
                table = self._with_groups(table, monomials(self.n_columns, test_degree))
            self._moments[degree] = table
        return self._moments[degree]

    def _with_groups(self, table: MomentTable, terms: Monomials) -> MomentTable:
        assert self.groups is not None
        means = group_means(self.values(terms.degree), self.groups)
        return MomentTable(table.terms, table.means, table.n_rows, table.model, np.bincount(self.groups), terms, means)

    def thinned(self, most: int) -> Sample:
        """Evenly chosen rows, ``most`` at most, in the same coordinates; all of them with groups."""
        if self.groups is not None or self.n_rows <= most:
            return self
        chosen = np.linspace(0, self.n_rows - 1, most).astype(np.int64)
        return replace(self, X=self.X[chosen], Z=self.Z[chosen], _values={}, _moments={})

    def without_group_means(self, values: Float2D) -> Float2D:
        """Values (one row per polynomial) minus their mean within each group; unchanged without groups."""
        if self.groups is None:
            return values
        return np.asarray(values - group_means(np.atleast_2d(values), self.groups)[self.groups].T.reshape(values.shape))

    def variances_on_rows(self, variances: Float1D) -> Float2D:
        """Noise variance of the standardised columns on the rows: ``(n_columns, n_rows)``, or ``(n_columns, 1)``."""
        if self.model == ADDITIVE:
            return variances[:, None]
        return np.asarray(variances[:, None] * self.Z.T**2)


def make_sample(
    X: Float2D, groups: Int1D | None = None, model: str = ADDITIVE, origin: Float1D | None = None
) -> Sample:
    """Standardise the rows of a table, none of whose columns is constant.

    Examples
    --------
    >>> make_sample(np.array([[1.0], [3.0]])).Z.tolist()
    [[-1.0], [1.0]]
    """
    origin = np.zeros(X.shape[1]) if origin is None else origin
    X = X - origin
    size = np.sqrt((X**2).mean(axis=0))
    if model == ADDITIVE:
        centre, scale = X.mean(axis=0), X.std(axis=0)
    else:
        centre, scale = np.zeros(X.shape[1]), size
    return Sample(X, origin, centre, scale, size, (X - centre) / scale, model, groups)
