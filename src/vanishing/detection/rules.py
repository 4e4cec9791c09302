"""Rules between the columns of a table: equations with tolerances, learnt from rows of which most obey them.

Learning is robust. Rows are scored by the inverse Christoffel function of all rows, the tenth with the largest scores
is set aside, and the Gram of the others gives the next scores (concentration steps, as for least trimmed squares:
Rousseeuw and Van Driessen, "Computing LTS regression for large data sets", 2006). The equations of the rows that remain
are the rules. A row is an exception where it misses one by more than the tolerance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator

from .._typing import Array, Float1D, Float2D, Int2D
from ..checks import check_count, check_number, input_names
from ..polynomials.polynomial import Polynomial
from ..polynomials.terms import Term
from ..rows.array_api import to_host
from ..rows.arrays import ArrayRows, as_rows
from ..rows.protocol import Block, Rows
from ..rows.reading import read_rows, require_finite
from ..solvers import Status
from .calibration import weighted_quantiles
from .christoffel import Christoffel, Monomials, choose_degree
from .columns import exact_relations, survey_columns
from .equations import find_equations
from .explain import as_table
from .model import in_chunks
from .sums import add_samples, sample_array, sample_block, sum_rows

__all__ = ["LawLike", "Report", "Rule", "Rules"]

_TRIMMED = 0.1  # share of the rows that is set aside
_STEPS = 4  # of concentration
_WIDE = 5.0  # deviations of normal residuals that a tolerance allows
_WORST = 10  # rows that a report names
_FLOOR = 1e-9  # of the size of its terms: the rounding that every rule forgives


class LawLike(Protocol):
    """What a rule can be made of: ``sum_k coef[k] * prod_j (x_j - origin_j)^exponents[k, j]`` is about zero.

    ``origin`` may be absent. Objects with an attribute ``polynomial`` are taken for that, too.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns of the table."""

    @property
    def exponents(self) -> Int2D:
        """One row per term, ``(n_terms, n_columns)``."""

    @property
    def coef(self) -> Float1D:
        """One coefficient per term."""


@dataclass(frozen=True)
class Rule:
    """An equation that rows obey to within a tolerance: ``|polynomial(row)| <= tolerance``.

    Attributes
    ----------
    polynomial : Polynomial
        In the units of the table.
    tolerance : float
    exceptions : int
        Rows that missed it when the rule was learnt.
    n_rows : int
        Rows that it was learnt from; 0 if it was written by hand.
    """

    polynomial: Polynomial
    tolerance: float
    exceptions: int = 0
    n_rows: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in the rule."""
        used = self.polynomial.exponents[self.polynomial.coef != 0.0].any(axis=0)
        return tuple(name for name, here in zip(self.polynomial.feature_names, used, strict=True) if here)

    def __str__(self) -> str:
        return f"|{self.polynomial.to_text(6)}| <= {self.tolerance:.4g}"


class Rules(Sequence[Rule]):
    """Rules between the columns of a table.

    Parameters
    ----------
    rules : sequence of Rule
        About the same columns.
    exceptions : ndarray of int, optional
        Rows of the table they were learnt from that miss a rule.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.detection import Rules
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
            Of more than 10,000 rows, the rules are learnt from a sample.
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
        table = sample_array(rows).X if isinstance(rows, ArrayRows) else _sample(rows)
        if not np.ptp(table, axis=0).any():
            raise ValueError(f"All rows are equal (n_samples = {len(table)}): rules need rows that differ.")
        kept = _concentrated(table, names, degree)
        found = _equations(table[kept], names, degree)
        rules = [_rule(polynomial, table) for polynomial in found]
        learnt = cls(rules)
        if not rules:
            return learnt
        missed = _computed(learnt._values(rows)) > np.array([rule.tolerance for rule in rules])
        counted = [
            Rule(rule.polynomial, rule.tolerance, int(n), len(missed))
            for rule, n in zip(rules, missed.sum(axis=0), strict=True)
        ]
        return cls(counted, np.flatnonzero(missed.any(axis=1)))

    @classmethod
    def from_laws(cls, laws: Sequence[Polynomial | LawLike], X: Any = None, *, width: float = _WIDE) -> Self:
        """Rules from equations that are known, with tolerances from rows of which most obey them.

        Parameters
        ----------
        laws : sequence
            Polynomials, or laws that were discovered: objects with ``columns``, ``exponents``, ``coef`` and ``origin``.
        X : array-like of shape (n_samples, n_features), optional
            Rows that set the tolerances: ``width`` deviations, as the inter-quartile range of the residuals says.
            Without, polynomials have to know their mean square, ``mse``.
        width : float, default=5.0

        Returns
        -------
        Rules
        """
        check_number("width", width, above=0.0)
        polynomials = [_polynomial(law) for law in laws]
        if X is not None:
            table = np.asarray(read_rows(_Columns(None), X).to_numpy(), dtype=np.float64)
            return cls([_rule(polynomial, table, width) for polynomial in polynomials])
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
        columns = _Columns(n_jobs)
        rows = read_rows(columns, X)
        self._require_columns(rows, columns)
        require_finite(rows, input_names(columns))
        summary = rows.reduce_blocks(
            _Look(self._rules), _add_looks, block_rows=16_384, width=4 * rows.n_features * max(len(self), 1)
        )
        return Report(self, summary)

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
        lines = [
            f"ALTER TABLE {_quoted(table)} ADD CONSTRAINT rule_{k} CHECK ({_sql(rule)});"
            for k, rule in enumerate(self._rules)
        ]
        return "\n".join(lines)

    def to_great_expectations(self) -> str:
        """An expectation suite as JSON: one UnexpectedRowsExpectation for each rule (Great Expectations 1.0 or newer).

        Returns
        -------
        str
        """
        expectations = [
            {
                "type": "unexpected_rows_expectation",
                "kwargs": {"unexpected_rows_query": f"SELECT * FROM {{batch}} WHERE NOT ({_sql(rule)})"},
                "meta": {"rule": str(rule)},
            }
            for rule in self._rules
        ]
        return json.dumps({"name": "vanishing", "expectations": expectations}, indent=2)

    def to_pandera(self) -> Any:
        """A pandera DataFrameSchema with one check for each rule. Needs ``pip install 'vanishing[pandera]'``.

        Returns
        -------
        pandera.DataFrameSchema
        """
        try:
            import pandera.pandas as pa
        except ImportError as error:
            raise ImportError("to_pandera needs pandera: pip install 'vanishing[pandera]'.") from error
        names = sorted({name for rule in self._rules for name in rule.columns})
        checks = [
            pa.Check(_PanderaCheck(rule), name=f"rule_{k}", error=str(rule)) for k, rule in enumerate(self._rules)
        ]
        return pa.DataFrameSchema({name: pa.Column(nullable=False, coerce=False) for name in names}, checks=checks)

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
            raise ValueError("There are no rules to check: learn some from rows that obey any.")
        names = self._rules[0].polynomial.feature_names
        given = rows.feature_names or (tuple(input_names(columns)) if hasattr(columns, "feature_names_in_") else None)
        if rows.n_features != len(names) or (given is not None and tuple(given) != tuple(names)):
            raise ValueError(
                f"The table should have the columns of the rules, in the same order: {', '.join(names)}; got "
                f"{', '.join(given) if given else f'{rows.n_features} columns'}."
            )

    def _values(self, rows: Rows) -> Any:
        """``|polynomial|`` for every row and rule."""
        rules = self._rules

        def kernel(X: Any, out: Any) -> None:
            out[:, :] = _absolute(rules, np.asarray(to_host(X), dtype=np.float64))

        return rows.map(kernel, len(rules), block_rows=16_384, width=4 * rows.n_features)


class Look(NamedTuple):
    """What a pass finds of rows and rules: how many rows, how many obey each rule, and the worst rows."""

    n_rows: int
    held: Array
    worst: tuple[tuple[tuple[float, int, int], ...], ...]


@dataclass(frozen=True)
class _Look:
    """The kernel of a check."""

    rules: tuple[Rule, ...]

    def __call__(self, block: Block) -> Look | None:
        X = np.asarray(to_host(block.X), dtype=np.float64)
        if not len(X):
            return None
        missing = _absolute(self.rules, X)
        tolerance = np.array([rule.tolerance for rule in self.rules])
        worst = []
        for values in missing.T:
            order = np.argsort(-values, kind="stable")[:_WORST]
            worst.append(tuple((float(values[i]), block.part, block.start + int(i)) for i in order))
        return Look(len(X), (missing <= tolerance).sum(axis=0), tuple(worst))


def _add_looks(a: Look, b: Look) -> Look:
    worst = tuple(tuple(sorted((*x, *y), reverse=True)[:_WORST]) for x, y in zip(a.worst, b.worst, strict=True))
    return Look(a.n_rows + b.n_rows, a.held + b.held, worst)


class Report:
    """How a table compares with rules.

    Attributes
    ----------
    n_rows : int
    share : ndarray of shape (n_rules,)
        Rows that obey each rule.
    p_values : ndarray of shape (n_rules,)
        Probability of so many exceptions, or more, if they are as frequent as when the rule was learnt (Fisher's exact
        test; for rules written by hand, 1 if all rows obey them and 0 if not).
    worst_rows : list of ndarray
        For each rule the rows that miss it, the worst first, at most ten; rows are counted within their file.
    """

    def __init__(self, rules: Rules, look: Look):
        self.rules = rules
        self.n_rows = look.n_rows
        self.share = look.held / look.n_rows
        self.p_values = np.array(
            [_change(rule, int(look.n_rows - held), look.n_rows) for rule, held in zip(rules, look.held, strict=True)]
        )
        self.worst_rows = [
            np.array([row for value, _, row in worst if value > rule.tolerance], dtype=np.int64)
            for rule, worst in zip(rules, look.worst, strict=True)
        ]

    @property
    def passed(self) -> bool:
        """Whether no rule has significantly more exceptions than before (p-values of at least 1% after Bonferroni)."""
        return bool((self.p_values * len(self.rules) >= 0.01).all())

    def to_table(self) -> Any:
        """One line for each rule: a DataFrame, or a dict of lists where pandas is not installed."""
        return as_table(
            {
                "rule": [str(rule) for rule in self.rules],
                "share": self.share.tolist(),
                "p_value": self.p_values.tolist(),
                "worst_rows": [rows.tolist() for rows in self.worst_rows],
            }
        )

    def __str__(self) -> str:
        lines = [
            f"{share:8.2%}  p = {p:.2g}  {rule}" + (f"  rows {', '.join(map(str, rows))}" if rows.size else "")
            for rule, share, p, rows in zip(self.rules, self.share, self.p_values, self.worst_rows, strict=True)
        ]
        return "\n".join([f"{self.n_rows:,} rows: {'passed' if self.passed else 'FAILED'}", *lines])


def _change(rule: Rule, missed: int, n_rows: int) -> float:
    if not rule.n_rows:
        return float(missed == 0)
    table = [[missed, n_rows - missed], [rule.exceptions, rule.n_rows - rule.exceptions]]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


class _Columns(BaseEstimator):  # type: ignore[misc]
    """Stands in for an estimator when rows are read."""

    def __init__(self, n_jobs: int | None):
        self.n_jobs = n_jobs


def _sample(rows: Rows) -> Float2D:
    """At most 10,000 of the rows."""
    found = rows.reduce_blocks(
        lambda block: sample_block(block) if block.X.shape[0] else None,
        add_samples,
        block_rows=65_536,
        width=rows.n_features,
    )
    return np.asarray(found.X)


def _monomials_and_gram(table: Float2D, names: Sequence[str], degree: int) -> tuple[Christoffel, float]:
    rows = as_rows(table)
    found = survey_columns(rows, names)
    if not (found.high > found.low).any():
        raise ValueError(f"{len(table)} rows, all but a few, are equal: rules need rows that differ.")
    monomials = Monomials.of_columns(
        found, exact_relations(found), min(degree, choose_degree(found.mean.size, len(table)))
    )
    sums = sum_rows(rows, monomials)
    return Christoffel.of_gram(monomials, sums.gram / sums.total_weight), sums.total_weight


def _concentrated(table: Float2D, names: Sequence[str], degree: int) -> Array:
    """The rows that remain when those with the largest scores have been set aside, again and again."""
    low, middle, high = np.percentile(table, [25.0, 50.0, 75.0], axis=0)
    spread = np.where(high > low, high - low, np.maximum(np.ptp(table, axis=0), 1e-300))
    distance = np.max(np.abs(table - middle) / spread, axis=1)
    n_kept = max(int((1.0 - _TRIMMED) * len(table)), 1)
    kept = np.sort(np.argsort(distance, kind="stable")[:n_kept])  # without values that would stretch the units
    for _ in range(_STEPS):
        christoffel, _ = _monomials_and_gram(table[kept], names, degree)
        q = in_chunks(christoffel.of_rows, table)
        again = np.sort(np.argsort(q, kind="stable")[:n_kept])
        if np.array_equal(again, kept):
            break
        kept = again
    return kept


def _equations(table: Float2D, names: Sequence[str], degree: int) -> list[Polynomial]:
    christoffel, total_weight = _monomials_and_gram(table, names, degree)
    found = find_equations(christoffel, total_weight, names, table)
    return [polynomial for polynomial, tight in zip(found.polynomials, found.tight, strict=True) if tight]


def _polynomial(law: Polynomial | LawLike) -> Polynomial:
    """The polynomial of a law, expanded around zero."""
    found = getattr(law, "polynomial", law)
    if isinstance(found, Polynomial):
        return found
    if not all(hasattr(found, name) for name in ("columns", "exponents", "coef")):
        raise ValueError(f"A law is a Polynomial, or has columns, exponents and coef; got {type(law).__name__}.")
    origin = np.asarray(getattr(found, "origin", np.zeros(len(found.columns))), dtype=np.float64)
    total: dict[Term, float] = {}
    for c, exponents in zip(found.coef, np.asarray(found.exponents), strict=True):
        for powers in product(*(range(int(e) + 1) for e in exponents)):
            chosen = zip(exponents, powers, origin, strict=True)
            factors = [comb(int(e), k) * (-o) ** (int(e) - k) for e, k, o in chosen]
            total[powers] = total.get(powers, 0.0) + float(c) * float(np.prod(factors))
    terms = sorted((powers for powers, c in total.items() if c != 0.0), key=lambda powers: (-sum(powers), powers))
    mse = float(getattr(found, "mse", np.nan))
    return Polynomial(
        np.array(terms),
        np.array([total[term] for term in terms]),
        tuple(found.columns),
        mse,
        np.nan,
        0,
        Status.VANISHING,
    )


def _rule(polynomial: Polynomial, table: Float2D, width: float = _WIDE) -> Rule:
    """The rule with a tolerance of some deviations, as the inter-quartile range of the residuals says."""
    values = polynomial.evaluate(table)
    size = np.abs(polynomial.coef) @ np.array([np.abs(np.prod(table**e, axis=1)).mean() for e in polynomial.exponents])
    low, high = weighted_quantiles(values, np.ones(len(values)), [0.25, 0.75])
    return Rule(polynomial, float(width * (high - low) / 1.349 + _FLOOR * size))


def _absolute(rules: Sequence[Rule], X: Float2D) -> Float2D:
    return np.abs(np.column_stack([rule.polynomial.evaluate(X) for rule in rules]))


def _computed(values: Any) -> Float2D:
    if isinstance(values, Rows):
        return values.to_numpy()
    return np.asarray(to_host(values.compute() if hasattr(values, "compute") else values))


@dataclass(frozen=True)
class _PanderaCheck:
    """Whether the rows of a frame obey a rule."""

    rule: Rule

    def __call__(self, frame: Any) -> Any:
        names = self.rule.polynomial.feature_names
        X = np.zeros((len(frame), len(names)))
        for j, name in enumerate(names):
            if name in self.rule.columns:
                X[:, j] = frame[name]
        held = np.abs(self.rule.polynomial.evaluate(X)) <= self.rule.tolerance
        return type(frame[self.rule.columns[0]])(held, index=frame.index)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql(rule: Rule) -> str:
    """The rule as a condition in standard SQL."""
    names = rule.polynomial.feature_names
    terms = []
    for c, exponents in zip(rule.polynomial.coef, rule.polynomial.exponents, strict=True):
        factors = [_quoted(names[j]) for j in np.flatnonzero(exponents) for _ in range(exponents[j])]
        terms.append(" * ".join([f"({float(c)!r})", *factors]))
    return f"ABS({' + '.join(terms)}) <= {rule.tolerance!r}"
