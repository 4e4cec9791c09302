"""Sums of products of terms, which add up over time, places and machines; models are fitted to them without rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._typing import Float1D, Float2D
from ..checks import check_count, check_scaler
from ..display import counted
from ..files.container import MOST_HEADER
from ..polynomials.terms import MOST_TERMS, Program, count_terms, terms_up_to
from ..rows.archive import DAMAGED, Archive
from ..rows.protocol import Rows
from ..rows.reading import finite_blocks, read_rows, require_finite
from ..rows.writing import complete_file
from .construction import BLOCK
from .gram import border_gram, sum_parts
from .plausibility import can_be_sums
from .sql_sums import sum_in_sql
from .survey import Survey, scaler_of_range

_FILE_VERSION = 1  # version of the files
# The arrays of a file.
_ARRAYS = ["format", "names", "range", "scaling", "shape", "single_precision", "sum", "total_weight"]


class Moments:
    """The Gram matrix of all terms up to a degree, summed over rows: all that OAVI, ABM and AVI need of the data.

    Sums grow as rows arrive (streams), merge over sites that do not share their rows (federated learning), and can be
    subtracted again (windows). ``OAVI().fit(moments)`` gives the model that a fit to the rows would give.

    Parameters
    ----------
    n_features : int
        Number of columns.
    degree : int, default=3
        Largest degree of the generators that can be computed from the moments. The matrix has one row for each term
        up to it: ``(n_features + degree)! / (n_features! degree!)``.
    scaler : fitted MinMaxScaler, optional
        Scales the rows to [0, 1] before they are summed.
    n_jobs : int, optional
        Threads for passes over rows in memory; all cores by default.

    Attributes
    ----------
    gram : ndarray of shape (n_terms, n_terms)
        Mean over the rows of the products of ``terms``.
    terms : list of tuple of int
        Each is the tuple of columns whose product it is.
    n_samples : int
        Number of rows in the sums; rows of weight 0 do not count.
    total_weight : float
        Sum of their weights.
    feature_names : tuple of str or None
        Names of the columns, if the rows had any.
    single_precision : bool
        Whether some rows were rounded to float32.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, Moments
    >>> rng = np.random.default_rng(0)
    >>> moments = Moments(n_features=2, degree=2)
    >>> for _ in range(10):
    ...     x = rng.uniform(size=1000)
    ...     moments = moments.update(np.column_stack([x, x**2]))
    >>> print(OAVI(psi=1e-6, max_degree=2).fit(moments).generators_[0])
    x0^2 - x1
    """

    _holds_no_rows = True

    def __init__(self, n_features: int, degree: int = 3, *, scaler: Any = None, n_jobs: int | None = None):
        check_count("n_features", n_features)
        check_count("degree", degree)
        n_terms = count_terms(degree, n_features)
        if n_terms > MOST_TERMS:
            raise ValueError(
                f"There are {n_terms:,} terms of degree up to {degree} in {n_features} columns, more than "
                f"{MOST_TERMS:,}: lower degree, or select columns."
            )
        self.n_features = int(n_features)
        self.degree = int(degree)
        self.scaler = None if scaler is None else check_scaler("scaler", scaler, n_features)
        self.n_jobs = n_jobs
        self.terms = terms_up_to(self.degree, self.n_features)
        self.feature_names: tuple[str, ...] | None = None
        self.n_samples = 0
        self.total_weight = 0.0
        self.single_precision = False
        self._sum = np.zeros((n_terms, n_terms))
        self._low = np.full(self.n_features, np.inf)
        self._high = np.full(self.n_features, -np.inf)

    @property
    def gram(self) -> Float2D:
        """Mean over the rows of the products of the terms."""
        self._require_rows()
        return self._sum / self.total_weight

    def update(self, X: Any, sample_weight: Any = None) -> Self:
        """Add rows to the sums; invalid rows raise an error and leave the sums unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
        """
        rows = read_rows(X, sample_weight, n_jobs=self.n_jobs, passes=1)
        if rows.n_features != self.n_features:
            raise ValueError(f"X has {rows.n_features} columns, but these are moments of {self.n_features}.")
        self._check_names(rows.feature_names)
        if rows.read_once:
            rows = finite_blocks(rows, rows.shown_names)  # no second pass can look for NaN
        source = rows if self.scaler is None else rows.scaled(self.scaler.scale_, self.scaler.min_)
        (total,) = sum_parts([source], Program.of(self.terms), ranged=True)
        if not np.isfinite(total.products).all():
            require_finite(rows, rows.shown_names)
            raise ValueError("Products of columns overflow on these rows; scale them to [0, 1] first.")
        gram = border_gram(np.array([[total.total_weight]]), total.products)
        self._add(gram, total.range[0], total.range[1], total.n_samples, total.total_weight)
        self.feature_names = self.feature_names or rows.feature_names
        self.single_precision |= rows.single_precision
        return self

    @classmethod
    def from_sql(
        cls,
        connection: Any,
        query: str,
        columns: Sequence[str] | None = None,
        degree: int = 3,
        *,
        weight: str | None = None,
        scaler: Any = None,
    ) -> Moments:
        """The moments of the rows of a query, which the database computes: no row leaves it.

        One statement scales the columns to [0, 1] and sums all products of terms, so that nothing cancels; the scaling
        is ``scaler`` of the moments, and ``model.generators_.in_units(moments.scaler)`` are equations of the columns.

        Parameters
        ----------
        connection : connection of DuckDB or sqlite3, or another one with ``execute`` or ``cursor`` (DB-API 2)
        query : str
            A SELECT statement.
        columns : sequence of str, optional
            The columns to use; all but ``weight`` by default.
        degree : int, default=3
            Largest degree of generators. The statement has one sum for each term up to twice the degree.
        weight : str, optional
            The column with the weights of the rows.
        scaler : fitted MinMaxScaler, optional
            The scaling to use instead of the columns' ranges, for moments that will be merged with others.

        Examples
        --------
        >>> import sqlite3
        >>> from vanishing import OAVI, Moments
        >>> connection = sqlite3.connect(":memory:")
        >>> _ = connection.execute("create table parabola (x, y)")
        >>> _ = connection.executemany("insert into parabola values (?, ?)", [(k, k * k) for k in range(11)])
        >>> moments = Moments.from_sql(connection, "select * from parabola", ["x", "y"], degree=2)
        >>> connection.close()
        >>> print(OAVI(psi=1e-6, max_degree=2).fit(moments).generators_.in_units(moments.scaler).monic()[0])
        x^2 - y
        """
        check_count("degree", degree)
        scaler = None if scaler is None else check_scaler("scaler", scaler, len(columns or scaler.scale_))
        total = sum_in_sql(connection, query, columns, degree, weight, scaler)
        scaler = scaler_of_range(total.low, total.high, total.n_samples) if scaler is None else scaler
        moments = cls(len(total.names), degree, scaler=scaler)
        low, high = (end * scaler.scale_ + scaler.min_ for end in (total.low, total.high))
        moments._add(total.gram, low, high, total.n_samples, total.total_weight)
        moments.feature_names = tuple(total.names)
        moments._require_rows()
        return moments

    @classmethod
    def from_spark(
        cls,
        df: Any,
        columns: Sequence[str] | None = None,
        degree: int = 3,
        *,
        weight: str | None = None,
        scaler: Any = None,
    ) -> Moments:
        """The moments of the rows of a Spark DataFrame, which its executors sum: no row comes to the driver.

        The columns are scaled to [0, 1] as by :meth:`from_sql`, by a job of its own. Each partition sends one row of
        sums; a task that is run again changes nothing. The executors need vanishing and pyarrow.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
        columns, degree, weight, scaler :
            As for :meth:`from_sql`.

        Examples
        --------
        >>> def equations_of(spark, path):
        ...     moments = Moments.from_spark(spark.read.parquet(path), ["p", "V", "T"], degree=3)
        ...     return OAVI(max_degree=3).fit(moments).generators_.in_units(moments.scaler)
        """
        from .spark_sums import add_partitions, survey_frame  # needs pyspark

        found = survey_frame(df, columns, weight)
        scaler = scaler_of_range(found.low, found.high, found.n_samples) if scaler is None else scaler
        moments = cls(len(found.names), degree, scaler=scaler)
        add_partitions(moments, found)
        moments.feature_names = tuple(found.names)
        return moments

    def merge(self, other: Moments) -> Self:
        """Add the rows of other moments.

        Parameters
        ----------
        other : Moments
            With the same columns, degree and scaling.

        Returns
        -------
        self
        """
        self._check_alike(other)
        self._add(other._sum, other._low, other._high, other.n_samples, other.total_weight)
        self.feature_names = self.feature_names or other.feature_names
        self.single_precision |= other.single_precision
        return self

    def subtract(self, other: Moments) -> Self:
        """Subtract other moments, whose rows must be part of these.

        Rounding errors remain: after sums over ten thousand times as many rows, about 1e-12 of the mean.

        Parameters
        ----------
        other : Moments
            With the same columns, degree and scaling.

        Returns
        -------
        self
        """
        self._check_alike(other)
        if other.n_samples > self.n_samples:
            raise ValueError(
                f"There are {self.n_samples} rows in these moments, so {other.n_samples} cannot be subtracted: "
                "subtract only moments that were merged before."
            )
        if other.total_weight > self.total_weight * (1.0 + 1e-9):
            raise ValueError(
                f"These moments have weight {self.total_weight:g}, so {other.total_weight:g} cannot be subtracted: "
                "subtract only moments that were merged before."
            )
        same_range = np.full(self.n_features, np.nan)
        self._add(-other._sum, same_range, same_range, -other.n_samples, -other.total_weight)
        if self.n_samples == 0 or self.total_weight <= 1e-12 * other.total_weight:  # only rounding is left
            self._sum[:], self.total_weight = 0.0, 0.0
            self._low[:], self._high[:] = np.inf, -np.inf
        return self

    def save(self, path: Any) -> None:
        """Write the moments to a file of numbers and names, which appears only when it is complete.

        Parameters
        ----------
        path : str or path
        """
        scaling = [] if self.scaler is None else [self.scaler.scale_, self.scaler.min_]
        with complete_file(path) as unfinished, open(unfinished, "wb") as stream:
            np.savez_compressed(
                stream,
                format=np.int64(_FILE_VERSION),
                shape=np.array([self.n_features, self.degree, self.n_samples]),
                total_weight=np.float64(self.total_weight),
                sum=self._sum,
                range=np.array([self._low, self._high]),
                scaling=np.array(scaling),
                names=np.array(self.feature_names or [], dtype=str),
                single_precision=np.bool_(self.single_precision),
            )

    @classmethod
    def load(cls, path: Any) -> Moments:
        """Read moments that were saved.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        Moments
        """
        try:
            with open(path, "rb") as stream:
                archive = Archive(stream)
                version = int(archive.read("format", "i", [()]))
                if version == _FILE_VERSION:
                    return cls._from(archive)
        except FileNotFoundError:
            raise
        except DAMAGED as error:
            raise ValueError(f"{path} is not a file of moments, or it is damaged ({error}).") from error
        raise ValueError(f"{path} was saved by another version (format {version}).")

    @classmethod
    def _from(cls, archive: Archive) -> Moments:
        """The moments in an archive; raise ValueError if no rows can have them."""
        if archive.names != _ARRAYS:
            raise ValueError(f"it has the arrays {', '.join(archive.names)}")
        n, degree, n_samples = (int(number) for number in archive.read("shape", "i", [(3,)]))
        if max(n, degree) > MOST_TERMS or n_samples < 0:
            raise ValueError(f"it has shape {n}, {degree}, {n_samples}")
        moments = cls(n, degree, scaler=_scaler(archive.read("scaling", "f8", [(0,), (2, n)])))
        n_terms = len(moments.terms)
        names = archive.read("names", "U", [(0,), (n,)], MOST_HEADER)
        moments.n_samples = n_samples
        moments.total_weight = float(archive.read("total_weight", "f8", [()]))
        moments.single_precision = bool(archive.read("single_precision", "b1", [()]))
        moments.feature_names = tuple(_printable(name) for name in names.tolist()) or None
        moments._low[:], moments._high[:] = archive.read("range", "f8", [(2, n)])
        moments._sum = archive.read("sum", "f8", [(n_terms, n_terms)])
        moments._require_possible()
        return moments

    def _survey(self) -> Survey:
        """The survey that the first pass of a fit would compute."""
        return Survey(self.gram, self._low, self._high, self.n_samples, self.total_weight, self.degree)

    def __repr__(self) -> str:
        rows, columns = counted(self.n_samples, "row"), counted(self.n_features, "column")
        return f"<Moments of {rows} x {columns} up to degree {self.degree}>"

    def _add(self, total: Float2D, low: Float1D, high: Float1D, n_samples: int, weight: float) -> None:
        self._sum += total
        self._low, self._high = np.fmin(self._low, low), np.fmax(self._high, high)
        self.n_samples += n_samples
        self.total_weight += weight

    def _check_names(self, names: tuple[str, ...] | None) -> None:
        if names is not None and self.feature_names is not None and names != self.feature_names:
            raise ValueError(
                f"The columns are {', '.join(names)}, but those of these moments are {', '.join(self.feature_names)}: "
                "use the same columns in the same order."
            )

    def _check_alike(self, other: Moments) -> None:
        if not isinstance(other, Moments):
            raise ValueError(f"Expected Moments, got {type(other).__name__}.")
        if (self.n_features, self.degree) != (other.n_features, other.degree):
            raise ValueError(
                f"Moments of {other.n_features} columns up to degree {other.degree} do not match those of "
                f"{self.n_features} up to degree {self.degree}: give both the same n_features and degree."
            )
        scalings = [None if m.scaler is None else (*m.scaler.scale_, *m.scaler.min_) for m in (self, other)]
        if scalings[0] != scalings[1]:
            raise ValueError("The moments were scaled differently: give both the same scaler.")
        self._check_names(other.feature_names)

    def _require_possible(self) -> None:
        """Raise ValueError for sums that no rows can have, up to rounding."""
        weight, ends = self.total_weight, np.array([self._low, self._high])
        if not (np.isfinite(self._sum).all() and np.isfinite(weight) and weight >= 0.0):
            raise ValueError("sums or weights are negative or not finite")
        if weight == 0.0 or self.n_samples == 0:
            if weight or self._sum.any() or not (ends == [[np.inf], [-np.inf]]).all():
                raise ValueError("there are sums without rows")
            return
        if not np.isfinite(ends).all() or (self._low > self._high).any():
            raise ValueError("the range of a column is not a range")
        if not can_be_sums(self._sum, self.terms, np.abs(ends).max(axis=0), weight):
            raise ValueError("the sums are not those of products of terms over rows")

    def _require_rows(self) -> None:
        if not self.n_samples or self.total_weight <= 0.0:
            raise ValueError("There are no rows in these moments: update them first.")


class GoneRows(Rows):
    """The rows behind moments: a pass over them raises ValueError."""

    n_samples = 0

    def __init__(self, n_features: int):
        self.n_features = n_features

    def reduce(self, kernel: Any, combine: Any, cost: Any) -> Any:
        """Raise ValueError."""
        raise ValueError(
            "Moments, which are sums in float64, cannot resolve a psi this small: raise psi, or fit to rows."
        )

    def map(self, kernel: Any, n_columns: int, cost: Any, out: Any = None) -> Any:
        """Raise NotImplementedError: a fit makes reductions only."""
        raise NotImplementedError


def moments_in_one_pass(rows: Rows, max_degree: int, n_jobs: int | None) -> Moments:
    """The moments of rows that can be read only once, up to the largest degree that one pass affords."""
    n = rows.n_features
    degree = max([1, *(d for d in range(1, max_degree + 1) if count_terms(d, n) <= BLOCK)])
    return Moments(n, degree, n_jobs=n_jobs).update(rows)


def _scaler(scaling: Float2D) -> Any:
    """The scaler with exactly this scale and offset; None for an empty array."""
    if scaling.size == 0:
        return None
    scale, offset = scaling
    with np.errstate(all="ignore"):
        low, high = -offset / scale, (1.0 - offset) / scale
        if not np.isfinite([*scale, *low, *high, *(high - low)]).all() or (scale <= 0.0).any():
            raise ValueError("the scaling is not finite and positive")
        scaler = scaler_of_range(low, high, 0)
    scaler.scale_, scaler.min_ = scale, offset
    return scaler


def _printable(name: str) -> str:
    name.encode()  # ValueError for lone surrogates
    return name
