"""Rules between the columns of a table: equations with tolerances, learnt from rows that mostly obey them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .._typing import Array, Float1D, Int2D
from ..checks import check_choice, check_count, check_number
from ..constants import WIDE
from ..engine.moments import Moments
from ..files.fields import Integer, MayBeMissing, Number, Numbers, Record, Text, TupleOf, require
from ..files.saved import Saved
from ..polynomials.polynomial import Polynomial
from ..report import Given, Reported
from ..rows.gaps import MISSING, complete_part, complete_rows
from ..rows.protocol import Block, Cost, Rows
from ..rows.reading import choose_columns, read_rows, require_finite
from ..solvers import Status
from ..threads import one_blas_thread
from .exports import expectation_suite, pandera_schema, sql_checks
from .learning import equations_of_most, sample_table
from .report import Report, report_on
from .rule import LawLike, Rule, absolute_values, plain_rule, polynomial_of_law, rule_with_tolerance


def _polynomial(
    exponents: Int2D, coef: Float1D, feature_names: tuple[str, ...], mse: float, gap: float, n_iter: int, status: int
) -> Polynomial:
    require(exponents.shape == (coef.size, len(feature_names)), "a polynomial has other coefficients than terms")
    return Polynomial(exponents, coef, feature_names, mse, gap, n_iter, Status(status))


_RULE = Record(
    Rule,
    {
        "polynomial": Record(
            _polynomial,
            {
                "exponents": Numbers("i8", (None, None), low=0, high=1000),
                "coef": Numbers("f8", (None,)),
                "feature_names": TupleOf(Text()),
                "mse": Number(finite=False),
                "gap": Number(finite=False),
                "n_iter": Integer(low=0),
                "status": Integer(),
            },
        ),
        "tolerance": Number(),
        "exceptions": Integer(low=0),
        "n_rows": Integer(low=0),
    },
)


class Rules(Saved, Reported, Sequence[Rule]):
    """Rules between the columns of a table.

    Parameters
    ----------
    rules : sequence of Rule
        About the same columns.
    exceptions : ndarray of int, optional
        Rows that miss a rule, of the table that the rules were learnt from.
    n_missing : int, default=0
        Rows with missing values, which the rules were not learnt from.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.rules import Rules
    >>> rng = np.random.default_rng(0)
    >>> net, tax = rng.uniform(1, 100, 1000).round(2), rng.uniform(0, 20, 1000).round(2)
    >>> table = np.column_stack([net, tax, net + tax])
    >>> table[7, 2] += 50.0
    >>> rules = Rules.learn(table)
    >>> print(rules[0].polynomial)
    x2 - x1 - x0
    >>> rules.exceptions
    array([7])
    >>> float(rules.check(table).share[0])
    0.999
    """

    _fields: ClassVar = {
        "_rules": TupleOf(_RULE),
        "exceptions": Numbers("i8", (None,), low=0),
        "n_missing": MayBeMissing(Integer(low=0)),
    }
    n_missing = 0  # in files of earlier versions

    def _check_saved(self) -> None:
        names = {rule.polynomial.feature_names for rule in self._rules}
        require(len(names) <= 1, "the rules are about different columns")

    def __init__(self, rules: Sequence[Rule], exceptions: Any = (), *, n_missing: int = 0):
        self._rules = tuple(rules)
        self.exceptions = np.asarray(exceptions, dtype=np.int64)
        self.n_missing = n_missing
        if len({rule.polynomial.feature_names for rule in self._rules}) > 1:
            raise ValueError("The rules are about tables with different columns: make one Rules for each table.")

    @classmethod
    def learn(cls, X: Any, *, degree: int = 2, missing: str = "error", n_jobs: int | None = None) -> Self:
        """Find the rules that nearly all rows obey, and list the rows that do not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
            From more than 10,000 rows, the rules are learnt from a sample.
        degree : int, default=2
            Largest degree of a rule.
        missing : {"error", "drop"}, default="error"
            Whether rows with missing values are refused, or left out; ``n_missing`` then says how many.
        n_jobs : int, optional
            Threads; all cores by default.

        Returns
        -------
        Rules
        """
        check_count("degree", degree)
        check_choice("missing", missing, MISSING)
        if isinstance(X, Moments):
            raise ValueError(
                "Moments are sums, but rules need rows, to count those that miss a rule: give a table, or look for "
                "the laws of the sums with discover(moments)."
            )
        rows = read_rows(X, n_jobs=n_jobs)
        names = rows.shown_names
        complete, n_missing = rows, 0
        if missing == "drop":
            complete, gaps, _ = complete_rows(rows, names)
            n_missing = gaps.n_missing
        else:
            require_finite(rows, names, may_drop=True)
        table = sample_table(complete)
        with one_blas_thread:
            rules = [plain_rule(polynomial, table) for polynomial in equations_of_most(table, names, degree)]
        if not rules:
            return cls(rules, n_missing=n_missing)
        width = 4 * rows.n_features * len(rules)
        find = _FindMissed(tuple(rules), tuple(names), rows.place)
        missed = rows.reduce(find, _add_missed, Cost(width, width))
        counted = [
            Rule(rule.polynomial, rule.tolerance, int(n), missed.n_rows - n_missing)
            for rule, n in zip(rules, missed.counts, strict=True)
        ]
        return cls(counted, missed.places, n_missing=n_missing)

    @classmethod
    def from_laws(cls, laws: Sequence[Polynomial | LawLike], X: Any = None, *, width: float = WIDE) -> Self:
        """Rules from known equations, with tolerances from rows that mostly obey them.

        Parameters
        ----------
        laws : sequence
            Polynomials, or laws that were discovered: objects with ``columns``, ``exponents``, ``coef`` and ``origin``.
        X : array-like of shape (n_samples, n_features), optional
            Rows that set the tolerances: ``width`` deviations, estimated by the inter-quartile range of the residuals.
            Without rows, the mean squares ``mse`` of the polynomials set them.
        width : float, default=5.0

        Returns
        -------
        Rules
        """
        check_number("width", width, above=0.0)
        if any(getattr(law, "conserved", False) for law in laws):
            raise ValueError(
                "A conserved quantity has another value in each group, so it is no rule about rows: leave it out, or "
                "check it within groups with 'vanishing check'."
            )
        polynomials = [polynomial_of_law(law) for law in laws]
        if X is not None:
            rows = read_rows(X)
            require_finite(rows, rows.shown_names)
            table = np.asarray(rows.to_numpy(), dtype=np.float64)
            return cls([rule_with_tolerance(polynomial, table, width) for polynomial in polynomials])
        if not all(np.isfinite(polynomial.mse) for polynomial in polynomials):
            raise ValueError("The laws do not say how well they hold: give rows that obey them as X.")
        return cls([Rule(polynomial, float(width * np.sqrt(polynomial.mse))) for polynomial in polynomials])

    def check(self, X: Any, *, missing: str = "error", n_jobs: int | None = None) -> Report:
        """Compare a table with the rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
            With the columns that the rules use, among others; arrays without names have those of the fit.
        missing : {"error", "drop"}, default="error"
            Whether rows with missing values in these columns are refused, or left out; ``n_missing`` of the report
            says how many.
        n_jobs : int, optional
            Threads; all cores by default.

        Returns
        -------
        Report
        """
        check_choice("missing", missing, MISSING)
        in_use, rows = self._in_use(), self._rows_of(X, n_jobs)
        if missing == "error":
            require_finite(rows, in_use._names, may_drop=True)
        return report_on(in_use, rows, in_use._names)

    @property
    def _names(self) -> tuple[str, ...]:
        """The columns of the table that the rules are about."""
        if not self._rules:
            raise ValueError("There are no rules to check: learn some from rows that obey equations.")
        return self._rules[0].polynomial.feature_names

    def _used(self) -> list[int]:
        """Places of the columns that occur in a rule."""
        here = [rule.polynomial.exponents[rule.polynomial.coef != 0.0].any(axis=0) for rule in self._rules]
        return [int(j) for j in np.flatnonzero(np.any(here, axis=0))] or list(range(len(self._names)))

    def _in_use(self) -> Rules:
        """The same rules, about a table of the columns that they use."""
        names = tuple(self._names[j] for j in self._used())
        polynomials = (
            replace(rule.polynomial, exponents=rule.polynomial.exponents[:, self._used()], feature_names=names)
            for rule in self._rules
        )
        rules = [replace(rule, polynomial=own) for rule, own in zip(self._rules, polynomials, strict=True)]
        return Rules(rules, self.exceptions, n_missing=self.n_missing)

    def _rows_of(self, X: Any, n_jobs: int | None = None) -> Rows:
        """The rows of a table with the columns that the rules use."""
        names, used = self._names, self._used()
        chosen = choose_columns(X, [names[j] for j in used])
        rows = read_rows(chosen, n_jobs=n_jobs)
        if chosen is not X:
            return rows
        if rows.n_features != len(names):
            raise ValueError(
                f"The table should have the columns of the rules, in the same order: {', '.join(names)}; got "
                f"{rows.n_features} columns without names."
            )
        return rows.select(used)

    def _report_rows(self, X: Any, y: Any) -> Given:
        rows, names = self._rows_of(X), self._in_use()._names
        require_finite(rows, names)
        return Given(rows, names)

    def _report_story(self, subject: Any) -> Any:
        from .story import rules_story  # only reports need it

        return rules_story(self._in_use(), subject)

    def to_sql_check(self, table: str = "data") -> str:
        """``ALTER TABLE`` statements with one CHECK constraint for each rule.

        Parameters
        ----------
        table : str, default="data"
            Name of the table.

        Returns
        -------
        str
        """
        return sql_checks(self, table)

    def to_great_expectations(self) -> str:
        """An expectation suite as JSON: one UnexpectedRowsExpectation for each rule (Great Expectations 1.0 or newer).

        Returns
        -------
        str
        """
        return expectation_suite(self)

    def to_pandera(self) -> Any:
        """A pandera DataFrameSchema with one check for each rule. Needs ``pip install 'vanishing[pandera]'``.

        Returns
        -------
        pandera.DataFrameSchema
        """
        return pandera_schema(self)

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, index: Any) -> Any:
        return Rules(self._rules[index], n_missing=self.n_missing) if isinstance(index, slice) else self._rules[index]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in self._rules) or "no rules"


class _Missed(NamedTuple):
    """Number of rows, how many of them miss each rule, and the places of the rows that miss any, from the first row."""

    n_rows: int
    counts: Array
    places: Array


@dataclass(frozen=True)
class _FindMissed:
    """The kernel that finds the rows of a block that miss rules."""

    rules: tuple[Rule, ...]
    names: tuple[str, ...]
    place: Callable[[int, int], str]

    def __call__(self, block: Block) -> _Missed:
        gaps, rows, X = complete_part(block, self.names, self.place)
        missed = np.zeros((gaps.n_rows, len(self.rules)), dtype=bool)
        missed[rows] = absolute_values(self.rules, X) > np.array([rule.tolerance for rule in self.rules])
        return _Missed(gaps.n_rows, missed.sum(axis=0), np.flatnonzero(missed.any(axis=1)))


def _add_missed(a: _Missed, b: _Missed) -> _Missed:
    return _Missed(a.n_rows + b.n_rows, a.counts + b.counts, np.concatenate([a.places, a.n_rows + b.places]))
