"""Do standard errors and p-values mean what they say: coverage of 95% intervals, and uniformity at true laws."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import kstest

from vanishing import discover
from vanishing.laws.say.law import Law

from ..stamp import heading
from .case import Case, Poly, noisy
from .cases import CASES

#: Laws with real constants, of two, three and four columns.
LAWS = ("ellipse", "free fall", "ideal gas")


@dataclass
class Calibration:
    """What draws of one law have shown."""

    draws: int = 0
    missed: int = 0
    intervals: int = 0
    covered: int = 0
    errors: list[float] = field(default_factory=list)
    p_values: list[float] = field(default_factory=list)


def calibrate(case: Case, first_seed: int, draws: int, rows: int, level: float) -> Calibration:
    """Coefficients and p-values of one law in many tables; tables in which it was not found are counted apart."""
    result = Calibration()
    for seed in range(first_seed, first_seed + draws):
        random = np.random.default_rng([seed, *case.name.encode()])
        X = noisy(case.rows(random, rows), level, "relative", random)
        laws = discover(X, names=case.columns, max_degree=case.degree)
        result.draws += 1
        if len(laws) != 1 or laws[0].origin.any() or not _same_terms(laws[0], case.truth[0]):
            result.missed += 1
            continue
        standard = _standardised_errors(laws[0], case.truth[0])
        result.intervals += len(standard)
        result.covered += int((np.abs(standard) < 1.96).sum())
        result.errors += standard.tolist()
        result.p_values.append(laws[0].p_value)
    return result


def _same_terms(law: Law, truth: Poly) -> bool:
    return set(map(tuple, law.exponents.tolist())) == set(truth)


def _standardised_errors(law: Law, truth: Poly) -> np.ndarray:
    """Coefficients, none read as a rational number, minus the true ones, in standard errors."""
    true = np.array([truth[tuple(row)] for row in law.exponents.tolist()])
    fixed = int(np.argmin(law.free_stderr))
    true *= law.free_coef[fixed] / true[fixed]
    known = law.free_stderr > 0.0
    return (law.free_coef[known] - true[known]) / law.free_stderr[known]


def table(first_seed: int, draws: int, rows: int, level: float, names: list[str] | None) -> None:
    """A line for each law, and one for all."""
    heading("Calibration")
    print("| law | tables | not found | 95% intervals that cover | rms error, in errors | KS |")
    print("|---|---|---|---|---|---|", flush=True)
    covered = intervals = 0
    for case in CASES:
        if case.name not in (names or LAWS):
            continue
        found = calibrate(case, first_seed, draws, rows, level)
        covered, intervals = covered + found.covered, intervals + found.intervals
        rms, uniform = np.sqrt(np.mean(np.square(found.errors))), kstest(found.p_values, "uniform")
        print(
            f"| {case.name} | {found.draws} | {found.missed} | {found.covered} of {found.intervals} "
            f"({100 * found.covered / found.intervals:.1f}%) | {rms:.3f} | p = {uniform.pvalue:.2g} |",
            flush=True,
        )
    print(f"| all | | | {covered} of {intervals} ({100 * covered / intervals:.1f}%) | | |")
