"""Rules between the columns of a table: equations with tolerances, learnt from rows that mostly obey them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import Array
from ..checks import check_count, check_number
from ..files.fields import Numbers, TupleOf, require
from ..files.saved import Saved
from ..polynomials.polynomial import Polynomial
from ..report import Given, Reported
from ..rows.array_api import to_host
from ..rows.protocol import Block, Cost, Rows
from ..rows.reading import input_names, read_rows, require_finite
from .exports import expectation_suite, pandera_schema, sql_checks
from .learning import equations_of_most, sample_table
from .records import RULE
from .report import Report, report_on
from .rule import WIDE, LawLike, Rule, absolute_values, polynomial_of_law, rule_with_tolerance

__all__ = ["Rules"]


class Rules(Saved, Reported, Sequence[Rule]):
    """Rules between the columns of a table.

    Parameters
    ----------
    rules : sequence of Rule
        About the same columns.
    exceptions : ndarray of int, optional
        Rows that miss a rule, of the table that the rules were learnt from.

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

    _fields: ClassVar = {"_rules": TupleOf(RULE), "exceptions": Numbers("i8", (None,), low=0)}

    def _check_saved(self) -> None:
        names = {rule.polynomial.feature_names for rule in self._rules}
        require(len(names) <= 1, "the rules are about different columns")

    def __init__(self, rules: Sequence[Rule], exceptions: Any = ()):
        self._rules = tuple(rules)
        self.exceptions = np.asarray(exceptions, dtype=np.int64)
        if len({rule.polynomial.feature_names for rule in self._rules}) > 1:
            raise ValueError("The rules are about tables with different columns: make one Rules for each table.")

    @classmethod
    def learn(cls, X: Any, *, degree: int = 2, n_jobs: int | None = None) -> Self:
        """Find the rules that nearly all rows obey, and list the rows that do not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
            From more than 10,000 rows, the rules are learnt from a sample.
        degree : int, default=2
            Largest degree of a rule.
        n_jobs : int, optional
            Threads; all cores by default.

        Returns
        -------
        Rules
        """
        check_count("degree", degree)
        columns = _Columns(n_jobs)
        rows = read_rows(columns, X)
        names = input_names(columns)
        require_finite(rows, names)
        table = sample_table(rows)
        rules = [rule_with_tolerance(polynomial, table) for polynomial in equations_of_most(table, names, degree)]
        if not rules:
            return cls(rules)
        width = 4 * rows.n_features * len(rules)
        missed = rows.reduce(_FindMissed(tuple(rules)), _add_missed, Cost(width, width))
        counted = [
            Rule(rule.polynomial, rule.tolerance, int(n), missed.n_rows)
            for rule, n in zip(rules, missed.counts, strict=True)
        ]
        return cls(counted, missed.places)

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
            table = np.asarray(read_rows(_Columns(None), X).to_numpy(), dtype=np.float64)
            return cls([rule_with_tolerance(polynomial, table, width) for polynomial in polynomials])
        if not all(np.isfinite(polynomial.mse) for polynomial in polynomials):
            raise ValueError("The laws do not say how well they hold: give rows that obey them as X.")
        return cls([Rule(polynomial, float(width * np.sqrt(polynomial.mse))) for polynomial in polynomials])

    def check(self, X: Any, *, n_jobs: int | None = None) -> Report:
        """Compare a table with the rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
            With the columns that the rules are about.
        n_jobs : int, optional
            Threads; all cores by default.

        Returns
        -------
        Report
        """
        return report_on(self, self._rows_of(X, n_jobs))

    def _rows_of(self, X: Any, n_jobs: int | None = None) -> Rows:
        """The rows of a table with the columns of the rules, without gaps."""
        columns = _Columns(n_jobs)
        rows = read_rows(columns, X)
        self._require_columns(rows, columns)
        require_finite(rows, input_names(columns))
        return rows

    def _report_rows(self, X: Any, y: Any) -> Given:
        return Given(self._rows_of(X), self._rules[0].polynomial.feature_names)

    def _report_story(self, subject: Any) -> Any:
        from .story import rules_story  # only reports need it

        return rules_story(self, subject)

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
        return Rules(self._rules[index]) if isinstance(index, slice) else self._rules[index]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in self._rules) or "no rules"

    def _require_columns(self, rows: Rows, columns: Any) -> None:
        if not self._rules:
            raise ValueError("There are no rules to check: learn some from rows that obey equations.")
        names = self._rules[0].polynomial.feature_names
        given = rows.feature_names or (tuple(input_names(columns)) if hasattr(columns, "feature_names_in_") else None)
        if rows.n_features != len(names) or (given is not None and tuple(given) != tuple(names)):
            raise ValueError(
                f"The table should have the columns of the rules, in the same order: {', '.join(names)}; got "
                f"{', '.join(given) if given else f'{rows.n_features} columns'}."
            )


class _Missed(NamedTuple):
    """Number of rows, how many of them miss each rule, and the places of those that miss any, from the first row."""

    n_rows: int
    counts: Array
    places: Array


@dataclass(frozen=True)
class _FindMissed:
    """The kernel that finds the rows of a block that miss rules."""

    rules: tuple[Rule, ...]

    def __call__(self, block: Block) -> _Missed:
        values = absolute_values(self.rules, np.asarray(to_host(block.X), dtype=np.float64))
        missed = values > np.array([rule.tolerance for rule in self.rules])
        return _Missed(len(missed), missed.sum(axis=0), np.flatnonzero(missed.any(axis=1)))


def _add_missed(a: _Missed, b: _Missed) -> _Missed:
    return _Missed(a.n_rows + b.n_rows, a.counts + b.counts, np.concatenate([a.places, a.n_rows + b.places]))


class _Columns(BaseEstimator):  # type: ignore[misc]
    """Stands in for an estimator when rows are read."""

    def __init__(self, n_jobs: int | None):
        self.n_jobs = n_jobs
