"""Rules for other tools: SQL, Great Expectations, pandera."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rows.sql import quote_name, require_distinct_names
from .rule import Rule


def sql_checks(rules: Sequence[Rule], table: str) -> str:
    """``ALTER TABLE`` statements with one CHECK constraint for each rule."""
    require_distinct_names({name: None for rule in rules for name in rule.columns})
    lines = [
        f"ALTER TABLE {quote_name(table)} ADD CONSTRAINT rule_{k} CHECK ({_sql(rule)});" for k, rule in enumerate(rules)
    ]
    return "\n".join(lines)


def expectation_suite(rules: Sequence[Rule]) -> str:
    """A suite of Great Expectations as JSON."""
    require_distinct_names({name: None for rule in rules for name in rule.columns})
    expectations = [
        {
            "type": "unexpected_rows_expectation",
            "kwargs": {"unexpected_rows_query": f"SELECT * FROM {{batch}} WHERE NOT ({_in_format(_sql(rule))})"},
            "meta": {"rule": str(rule)},
        }
        for rule in rules
    ]
    return json.dumps({"name": "vanishing", "expectations": expectations}, indent=2)


def _in_format(text: str) -> str:
    """A text that ``str.format``, which puts in the name of the batch, leaves as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def pandera_schema(rules: Sequence[Rule]) -> Any:
    """A DataFrameSchema of pandera."""
    try:
        import pandera.pandas as pa
    except ImportError as error:
        raise ImportError("to_pandera needs pandera: pip install 'vanishing[pandera]'.") from error
    names = sorted({name for rule in rules for name in rule.columns})
    checks = [pa.Check(_PanderaCheck(rule), name=f"rule_{k}", error=str(rule)) for k, rule in enumerate(rules)]
    return pa.DataFrameSchema({name: pa.Column(nullable=False, coerce=False) for name in names}, checks=checks)


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


def _in_doubles(name: str) -> str:
    """A column in double precision: products of whole and decimal numbers are rounded, or have too many digits."""
    return f"CAST({quote_name(name)} AS DOUBLE PRECISION)"


def _sql(rule: Rule) -> str:
    """The rule as a condition in standard SQL."""
    names = rule.polynomial.feature_names
    terms = []
    for c, exponents in zip(rule.polynomial.coef, rule.polynomial.exponents, strict=True):
        factors = [_in_doubles(names[j]) for j in np.flatnonzero(exponents) for _ in range(exponents[j])]
        terms.append(" * ".join([f"({float(c)!r})", *factors]))
    return f"ABS({' + '.join(terms)}) <= {rule.tolerance!r}"
