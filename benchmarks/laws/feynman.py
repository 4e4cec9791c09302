"""The Feynman equations (Udrescu and Tegmark 2020) that become one polynomial when denominators and roots are cleared.

The list is read from ``feynman/FeynmanEquations.csv`` in the folder VANISHING_DATA. Rows are uniform in the ranges of
the list, as in AI Feynman; the output is the first column.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import sympy

from .case import Case

_PI = sympy.Symbol("pi_number", positive=True)  # a symbol while roots are cleared


@cache
def feynman_cases() -> tuple[Case, ...]:
    """A case for every equation with polynomial form; `is_power_law` tells those of two terms."""
    return tuple(case for row in _table() if (case := _case(row)) is not None)


def is_power_law(case: Case) -> bool:
    """Whether the law has two terms."""
    return len(case.truth[0]) == 2


def _table() -> Iterator[dict[str, str]]:
    folder = os.environ.get("VANISHING_DATA")
    path = Path(folder or ".") / "feynman" / "FeynmanEquations.csv"
    if not path.exists():
        raise FileNotFoundError(
            "The Feynman suite reads feynman/FeynmanEquations.csv in the folder VANISHING_DATA: set that variable."
        )
    with path.open(encoding="utf-8-sig") as stream:
        yield from (row for row in csv.DictReader(stream) if row["Filename"])


def _case(row: dict[str, str]) -> Case | None:
    """The case of one line of the list; None when the equation has no polynomial form."""
    n = int(row["# variables"])
    inputs = [row[f"v{k}_name"] for k in range(1, n + 1)]
    ranges = [(float(row[f"v{k}_low"]), float(row[f"v{k}_high"])) for k in range(1, n + 1)]
    columns = [row["Output"], *inputs]
    symbols = {name: sympy.Symbol(name, positive=True) for name in columns}
    formula = sympy.sympify(row["Formula"], locals={**symbols, "arcsin": sympy.asin, "ln": sympy.log, "pi": _PI})
    law = _cleared(symbols[row["Output"]], formula)
    if law is None:
        return None
    law = law.subs(_PI, sympy.pi)
    function = sympy.lambdify([symbols[name] for name in inputs], formula.subs(_PI, sympy.pi), "numpy")

    def draw(random: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
        X = [np.empty(0)] * n
        y = np.empty(0)
        while len(y) < count:  # some ranges reach beyond the domain of a root
            new = [random.uniform(low, high, count) for low, high in ranges]
            with np.errstate(invalid="ignore", divide="ignore"):
                value = function(*new) * np.ones(count)
            inside = np.isfinite(value) & (abs(value) < 1e6)
            X = [np.append(old, column[inside]) for old, column in zip(X, new, strict=True)]
            y = np.append(y, value[inside])
        return tuple(column[:count] for column in (y, *X))

    plain = [sympy.Symbol(name) for name in columns]
    text = law.subs({symbols[name]: symbol for name, symbol in zip(columns, plain, strict=True)})
    return Case(row["Filename"], " ".join(columns), (str(sympy.expand(text)),), draw)


def _cleared(output: sympy.Symbol, formula: sympy.Expr) -> sympy.Expr | None:
    """The irreducible polynomial of ``output = formula``; None for sines, exponentials and the like."""
    if formula.atoms(sympy.Function):
        return None
    definitions: dict[sympy.Symbol, sympy.Expr] = {}

    def stand_in(base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
        root = sympy.Symbol(f"root{len(definitions)}", positive=True)
        definitions[root] = root**exponent.q - base
        return root**exponent.p

    equation = (output - formula).replace(
        lambda part: part.is_Pow and part.exp.is_Rational and not part.exp.is_Integer,
        lambda part: stand_in(part.base, abs(part.exp)) ** sympy.sign(part.exp),
    )
    numerator = sympy.fraction(sympy.together(equation))[0]
    for root, definition in definitions.items():
        numerator = sympy.resultant(sympy.expand(numerator), sympy.fraction(sympy.together(definition))[0], root)
    factors = [factor for factor, _ in sympy.factor_list(sympy.expand(numerator))[1] if factor.has(output)]
    return next((factor for factor in factors if _vanishes(factor, output, formula)), None)


def _vanishes(factor: sympy.Expr, output: sympy.Symbol, formula: sympy.Expr) -> bool:
    """Whether a factor is zero where the output is what the formula says, at random arguments."""
    random = np.random.default_rng(0)
    inputs = sorted(formula.free_symbols, key=str)
    for _ in range(20):
        point = {symbol: sympy.Rational(int(random.integers(100, 300)), 100) for symbol in inputs}
        value = formula.subs(point)
        if value.is_real and value.is_finite:
            left = factor.subs({**point, output: value})
            return bool(abs(sympy.N(left, 30)) < 1e-15)
    return False
