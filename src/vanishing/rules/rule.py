"""One rule: an equation with a tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import comb
from typing import Protocol

import numpy as np

from .._typing import Float1D, Float2D, Int2D
from ..constants import ROOT_EPS, WIDE
from ..detection.calibration import NORMAL_RANGE, weighted_quantiles
from ..polynomials.polynomial import Polynomial
from ..polynomials.terms import Term
from ..solvers import Status

_MOST_DECIMALS = 12  # coefficients with more are left as they are


class LawLike(Protocol):
    """A law that a rule can be made of: ``sum_k coef[k] * prod_j (x_j - origin_j)^exponents[k, j]`` is about zero.

    ``origin`` may be absent. An attribute ``polynomial``, if there is one, takes the place of all others.
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


def polynomial_of_law(law: Polynomial | LawLike) -> Polynomial:
    """The polynomial of a law, expanded around zero."""
    given = getattr(law, "polynomial", law)
    if isinstance(given, Polynomial):
        return given
    if not all(hasattr(given, name) for name in ("columns", "exponents", "coef")):
        raise ValueError(f"A law is a Polynomial, or has columns, exponents and coef; got {type(law).__name__}.")
    origin = np.asarray(getattr(given, "origin", np.zeros(len(given.columns))), dtype=np.float64)
    total: dict[Term, float] = {}
    for c, exponents in zip(given.coef, np.asarray(given.exponents), strict=True):
        for powers in product(*(range(int(e) + 1) for e in exponents)):
            chosen = zip(exponents, powers, origin, strict=True)
            factors = [comb(int(e), k) * (-o) ** (int(e) - k) for e, k, o in chosen]
            total[powers] = total.get(powers, 0.0) + float(c) * float(np.prod(factors))
    terms = sorted((powers for powers, c in total.items() if c != 0.0), key=lambda powers: (-sum(powers), powers))
    mse = float(getattr(given, "mse", np.nan))
    return Polynomial(
        np.array(terms),
        np.array([total[term] for term in terms]),
        tuple(given.columns),
        mse,
        np.nan,
        0,
        Status.VANISHING,
    )


def rule_with_tolerance(polynomial: Polynomial, table: Float2D, width: float = WIDE) -> Rule:
    """The rule with a tolerance of ``width`` deviations, estimated by the inter-quartile range of the residuals."""
    values = polynomial.evaluate(table)
    size = np.abs(polynomial.coef) @ np.array([np.abs(np.prod(table**e, axis=1)).mean() for e in polynomial.exponents])
    low, high = weighted_quantiles(values, np.ones(len(values)), [0.25, 0.75])
    return Rule(polynomial, float(width * (high - low) / NORMAL_RANGE + ROOT_EPS * size))


def plain_rule(polynomial: Polynomial, table: Float2D) -> Rule:
    """The rule of a polynomial whose coefficients have as few decimals as the rows allow.

    Where columns depend on each other, a fit leaves coefficients of 1.00001 that the rows cannot tell from 1. A rule
    with shorter ones takes its place if no more rows miss it, and if it is no wider by more than the standard error of
    a width that n rows estimate, ``1 / sqrt(n)`` of it.

    Examples
    --------
    >>> net = np.arange(1.0, 101.0)
    >>> exponents = np.array([[1, 0], [0, 1], [0, 0]])
    >>> fitted = Polynomial(exponents, np.array([1.0, -1.190000001, 3e-9]), ("gross", "net"), 0, 0, 0, Status.VANISHING)
    >>> print(plain_rule(fitted, np.column_stack([1.19 * net, net])).polynomial)
    gross - 1.19*net
    """
    fitted = rule_with_tolerance(polynomial, table)
    widest, most = fitted.tolerance * (1.0 + len(table) ** -0.5), _missing(fitted, table)
    for decimals in range(_MOST_DECIMALS):
        coef = np.round(polynomial.coef, decimals)
        kept = coef != 0.0
        if kept.sum() > 1:
            shorter = replace(polynomial, exponents=polynomial.exponents[kept], coef=coef[kept])
            rule = rule_with_tolerance(shorter, table)
            if rule.tolerance <= widest and _missing(rule, table) <= most:
                return rule
    return fitted


def _missing(rule: Rule, table: Float2D) -> int:
    """Rows of a table that miss a rule."""
    return int((absolute_values([rule], table) > rule.tolerance).sum())


def absolute_values(rules: Sequence[Rule], X: Float2D) -> Float2D:
    """``|polynomial|`` for every row and rule, ``(n_rows, n_rules)``."""
    if not len(X):
        return np.empty((0, len(rules)))
    return np.abs(np.column_stack([rule.polynomial.evaluate(X) for rule in rules]))
