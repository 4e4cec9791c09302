"""Tables of what is recovered, missing and false.

    python -m benchmarks.laws --suite varieties --seeds 3
    python -m benchmarks.laws --suite varieties --noise absolute multiplicative "one column" --levels 0.01
    python -m benchmarks.laws --suite feynman nla ode nulls
    python -m benchmarks.laws --suite calibration --levels 0.01 --trials 200 --first-seed 5000
    python -m benchmarks.laws --suite times --seeds 3
    python -m benchmarks.laws --suite varieties --method vanishing polyinv --seeds 1

``--details FILE`` writes a line for every failure. Seconds are CPU seconds; run with OMP_NUM_THREADS=1 to make them
those of one core. A first fit, not counted, compiles. The Feynman suite needs the folder VANISHING_DATA.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from vanishing.laws.exact import exact_laws

from ..stamp import heading
from . import calibration, nla, times
from .case import NOISES, Case, Noise, noisy
from .cases import CASES
from .feynman import feynman_cases, is_power_law
from .methods import METHODS, TimeoutReachedError, Told, exactly_by_vanishing, missing_package, time_limit
from .nulls import NULLS
from .ode import SYSTEMS
from .scoring import judge, written


@dataclass(frozen=True)
class Result:
    """One table: what the verdict was, and how long it took."""

    case: Case
    recovered: bool
    missing: bool
    false: bool
    dense: bool
    seconds: float


def summary(results: Sequence[Result]) -> str:
    """The cells of a line of a table."""
    n = len(results)
    count = {name: sum(getattr(r, name) for r in results) for name in ("recovered", "missing", "false", "dense")}
    times = [r.seconds for r in results]
    return (
        f"{count['recovered']} of {n} ({100.0 * count['recovered'] / n:.1f}%) | {count['missing']} | {count['false']} "
        f"| {count['dense']} | {np.median(times):.2f} | {np.max(times):.2f}"
    )


HEAD = "recovered | tables with a law missing | with a false one | with a dense one | median s | largest s |"


class Details:
    """Failures, one line each."""

    def __init__(self, path: str | None):
        self.path = path

    def add(self, text: str) -> None:
        if self.path:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(text + "\n")


def timed(work: Callable[[], Any], limit: int) -> tuple[Any, float, str]:
    """What a method returns (nothing when it fails), its CPU seconds, and why it failed."""
    start = time.process_time()
    try:
        with time_limit(limit):
            found = work()
        reason = ""
    except TimeoutReachedError:
        found, reason = [], f"no answer within {limit} s"
    except Exception as error:  # a crash of one method is a result of the comparison
        found, reason = [], f"{type(error).__name__}: {error} {traceback.format_exc(limit=-2)!r}"
    return found, time.process_time() - start, reason


def table_of(case: Case, options: argparse.Namespace, level: float, noise: Noise, seed: int) -> tuple[Any, Told]:
    """A noisy table of a case, and what may be known about it."""
    random = np.random.default_rng([seed, *case.name.encode()])
    exact = case.rows(random, options.rows)
    X = noisy(exact, level, noise, random)
    told = Told(
        case.columns,
        None if case.runs is None else case.runs(len(X)),
        case.degree or 4,
        float(np.sqrt(((X - exact) ** 2).mean())),
        len(case.laws),
        max((len(law) for law in case.truth), default=6),
        noise if options.tell_noise and noise != "one column" else None,
    )
    return X, told


def effective_level(X: Any, exact_level: float, noise: Noise) -> float:
    """The noise in deviations of the columns: for multiplicative noise it is larger by the size of the values."""
    if noise != "multiplicative":
        return exact_level
    return float(exact_level * np.sqrt((X**2).mean(axis=0) / X.var(axis=0)).max())


def run_case(
    case: Case, method: str, options: argparse.Namespace, level: float, noise: Noise, seed: int, details: Details
) -> Result:
    """Score a method on one noisy table of a case."""
    X, told = table_of(case, options, level, noise, seed)
    found, seconds, reason = timed(partial(METHODS[method], X, told), options.limit)
    verdict = judge([f for f in found if not f.dense], case, effective_level(X, level, noise))
    dense = [f for f in found if f.dense]
    if not verdict.recovered:
        also = [f"dense: {written(f.coefficients, case.columns)}" for f in dense]
        details.add(
            f"{method} | {case.name} | {noise} {level} | seed {seed} | {seconds:.2f} s | missing "
            f"{'; '.join(verdict.missing) or '-'} | false {'; '.join(verdict.false) or '-'} | "
            f"{'; '.join([*also, reason]) or '-'}"
        )
    return Result(case, verdict.recovered, bool(verdict.missing), bool(verdict.false), bool(dense), seconds)


def chosen(cases: Sequence[Any], names: Sequence[str] | None) -> list[Any]:
    return [case for case in cases if not names or case.name in names]


def noise_table(
    title: str, cases: Sequence[Case], groups: dict[str, Callable[[Case], bool]], options: argparse.Namespace
) -> None:
    """A line for each method, kind of noise, level and group of cases; every table is made once."""
    heading(title)
    print(f"| cases | method | noise | {HEAD}\n|---|---|---|---|---|---|---|---|---|")
    details = Details(options.details)
    for method, noise, level in product(options.method, options.noise, options.levels):
        results = [
            run_case(case, method, options, level, noise, seed, details)
            for case in cases
            for seed in range(options.first_seed, options.first_seed + options.seeds)
        ]
        for name, belongs in groups.items():
            members = [result for result in results if belongs(result.case)]
            if members:
                print(f"| {name} | {method} | {100 * level:g}% {noise} | {summary(members)} |", flush=True)


def varieties(options: argparse.Namespace) -> None:
    noise_table("Varieties and formulae", chosen(CASES, options.cases), {"all": lambda case: True}, options)


def feynman(options: argparse.Namespace) -> None:
    groups: dict[str, Callable[[Case], bool]] = {
        "degree <= 4": lambda case: case.degree <= 4,
        "power laws": is_power_law,
        "the others": lambda case: case.degree > 4 and not is_power_law(case),
    }
    cases = [
        case for case in chosen(feynman_cases(), options.cases) if not options.short or not groups["the others"](case)
    ]
    noise_table("Feynman equations", cases, groups, options)


def ode(options: argparse.Namespace) -> None:
    groups: dict[str, Callable[[Case], bool]] = {
        "with first integrals": lambda case: bool(case.laws),
        "without": lambda case: not case.laws,
    }
    noise_table("Runs of differential equations", chosen(SYSTEMS, options.cases), groups, options)


def run_programs(options: argparse.Namespace) -> None:
    """The NLA suite: integer traces, scored in exact arithmetic."""
    details = Details(options.details)
    heading("NLA programs")
    print("| program | columns, degree | method | laws | missing | false | s |")
    print("|---|---|---|---|---|---|---|")
    methods = {"exact_laws": lambda X, told: exact_laws(X, told.degree), "discover": exactly_by_vanishing}
    solved = dict.fromkeys(methods, 0)
    programs = chosen(nla.PROGRAMS, options.cases)
    for program in programs:
        X = program.traces(500, seed=0)
        told = Told(program.columns, degree=program.degree)
        for name, method in methods.items():
            found, seconds, reason = timed(partial(method, X, told), options.limit)
            missing, false = nla.judge(found, program, seed=1)
            solved[name] += not missing and not false
            if missing or false or reason:
                details.add(f"{name} | {program.name} | missing {missing} | false {false} | {reason}")
            shape = f"{len(program.columns)}, {program.degree}"
            print(
                f"| {program.name} | {shape} | {name} | {len(found)} | {'; '.join(missing) or '-'} | {len(false)} "
                f"| {seconds:.2f} |",
                flush=True,
            )
    print("\n" + "; ".join(f"{name}: {count} of {len(programs)}" for name, count in solved.items()))


def run_nulls(options: argparse.Namespace) -> None:
    """Tables without a law."""
    details = Details(options.details)
    heading("Tables without a law")
    print("| kind | method | rows | tables | with a law | with a dense one | s |")
    print("|---|---|---|---|---|---|---|")
    totals: dict[tuple[str, bool], list[int]] = {}
    for null in chosen(NULLS, options.cases):
        for method in options.method:
            for n_rows in options.sizes:
                tables, wrong, dense, spent = 0, 0, 0, 0.0
                for trial in range(options.first_seed, options.first_seed + options.trials):
                    random = np.random.default_rng([trial, n_rows, *null.name.encode()])
                    width = 2 + trial % 5
                    X = null.draw(random, n_rows, width)
                    told = Told([f"x{j}" for j in range(width)], degree=4)
                    found, seconds, reason = timed(partial(METHODS[method], X, told), options.limit)
                    laws = [f for f in found if not f.dense]
                    tables, spent = tables + 1, spent + seconds
                    wrong, dense = wrong + bool(laws), dense + (len(found) > len(laws))
                    if laws or reason:
                        texts = "; ".join(written(f.coefficients, told.columns) for f in laws)
                        details.add(f"{method} | null {null.name} | {n_rows} rows | trial {trial} | {texts} | {reason}")
                total = totals.setdefault((method, null.curve), [0, 0])
                total[0], total[1] = total[0] + wrong, total[1] + tables
                print(
                    f"| {null.name} | {method} | {n_rows} | {tables} | {wrong} | {dense} | {spent / tables:.2f} |",
                    flush=True,
                )
    print()
    for (method, curve), (wrong, tables) in totals.items():
        kind = "smooth curves" if curve else "other tables"
        print(f"{method}: a law in {wrong} of {tables} {kind} ({100 * wrong / tables:.2f}%).")


def run_calibration(options: argparse.Namespace) -> None:
    """Coverage of intervals and uniformity of p-values, at the first of the levels."""
    calibration.table(options.first_seed, options.trials, options.rows, options.levels[0], options.cases)


def run_times(options: argparse.Namespace) -> None:
    """Up to which size a search is a matter of a second."""
    heading("Time by size")
    times.table(options.first_seed, options.seeds)


SUITES = {
    "varieties": varieties,
    "feynman": feynman,
    "nla": run_programs,
    "ode": ode,
    "nulls": run_nulls,
    "calibration": run_calibration,
    "times": run_times,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", choices=SUITES, default=["varieties"])
    parser.add_argument("--cases", nargs="+", help="names of cases; default: all")
    parser.add_argument("--method", nargs="+", choices=METHODS, default=["vanishing"])
    parser.add_argument("--noise", nargs="+", choices=NOISES, default=["relative"])
    parser.add_argument("--levels", nargs="+", type=float, default=[0.0, 0.005, 0.01, 0.02, 0.05])
    parser.add_argument("--tell-noise", action="store_true", help="tell discover the kind of noise, not its level")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0, help="of the draws, or of the trials of nulls")
    parser.add_argument("--trials", type=int, default=60, help="tables of each kind and size in the suite nulls")
    parser.add_argument("--sizes", nargs="+", type=int, default=[200, 2000], help="rows of the tables of nulls")
    parser.add_argument("--short", action="store_true", help="only Feynman equations of degree <= 4 and power laws")
    parser.add_argument("--limit", type=int, default=120, help="seconds of wall time for one table")
    parser.add_argument("--details", help="file to which failures are added")
    options = parser.parse_args()
    for method in list(options.method):
        reason = missing_package(method)
        if reason:
            print(f"{method} is left out: {reason}.")
            options.method.remove(method)
    if "vanishing" in options.method:
        random = np.random.default_rng(0)
        METHODS["vanishing"](CASES[0].rows(random, 300) + 0.01 * random.normal(size=(300, 2)), Told(CASES[0].columns))
    for suite in options.suite:
        SUITES[suite](options)


if __name__ == "__main__":
    main()
