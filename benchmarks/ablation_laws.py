"""Which rules of the search for laws are worth having: each is switched off, and made and null tables are searched.

    python -m benchmarks.ablation_laws                    # all switches, as a table
    python -m benchmarks.ablation_laws "other origins"    # one of them
    python -m benchmarks.ablation_laws --moments          # without cores

A rule stays if without it a law is lost, or a false one is reported.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from vanishing import discover
from vanishing.laws import criteria, finder, routes
from vanishing.laws.candidates import audits, one_law, origin

from .laws.__main__ import Details, run_case
from .laws.cases import CASES
from .laws.nulls import NULLS
from .real_laws import tails, walks
from .stamp import heading

LEVELS = (0.0, 0.01, 0.03, 0.05)


def _no_widths(relation: Any) -> float:
    return 0.0


SWITCHES: dict[str, list[tuple[Any, str, Any]]] = {
    "nothing": [],
    "dense": [(audits, "is_dense", lambda *_: False), (origin, "is_dense", lambda *_: False)],
    "sets of terms": [(one_law.OneLaw, "_few_terms", lambda self, variances: None)],
    "power laws": [(routes, "find_power_law", lambda *_: None)],
    "other origins": [(routes, "recentre_all", lambda laws, X, settings: laws)],
    "criterion: bits": [(criteria, "information", lambda p, q: 100.0)],
    "criterion: width between rows": [(criteria, "_width_between_rows", _no_widths)],
    "criterion: new bits": [(criteria, "_may_follow", lambda *_: False)],
    "cores": [(finder.LawFinder, "_allows_cores", lambda self, table: False)],
}


@contextmanager
def off(name: str) -> Iterator[None]:
    """The search without a rule."""
    with ExitStack() as stack:
        for module, attribute, instead in SWITCHES[name]:
            stack.enter_context(patch.object(module, attribute, instead))
        yield


def _formula(random: np.random.Generator, n_rows: int, share: float) -> Any:
    """A product, a sum or a percentage with wrong rows."""
    a, b, w = random.lognormal(0.0, 0.6, (3, n_rows))
    z = [a * b, a + 2.0 * b, 100.0 * a / (a + b)][int(random.integers(3))] * (1.0 + 0.002 * random.normal(size=n_rows))
    wrong = random.random(n_rows) < share
    z = np.where(wrong, random.permutation(z) * random.choice([1.0, 10.0], n_rows), z)
    return np.column_stack([a, b, z, w])


def _few(random: np.random.Generator, n_rows: int) -> Any:
    """A power law or a linear law of a few rows."""
    a, b = random.uniform(1.0, 5.0, (2, n_rows))
    z = [a**1.5, a * b, 3.0 * a - 2.0 * b + 1.0][int(random.integers(3))]
    return np.column_stack([a, b, z * (1.0 + 0.003 * random.normal(size=n_rows))])


def _has_law(X: Any) -> bool:
    return any(len(law.variables) > 1 for law in discover(X))


def measure(name: str, *, moments: bool = False) -> list[str]:
    """The cells of a line: what is recovered, and where a law is false; with ``moments``, without cores."""
    options = argparse.Namespace(rows=600, tell_noise=False, limit=60)
    start, cells = time.process_time(), []
    with off(name), off("cores" if moments else "nothing"):
        for level in LEVELS:
            results = [run_case(case, "vanishing", options, level, "relative", 1, Details(None)) for case in CASES]
            cells.append(f"{sum(r.recovered for r in results)} ({sum(r.false for r in results)})")
        for curve in (True, False):
            kinds = [null for null in NULLS if null.curve is curve]
            draws = [(null, np.random.default_rng([k, *null.name.encode()]), k) for null in kinds for k in range(3)]
            cells.append(str(sum(_has_law(null.draw(random, 300, 2 + k)) for null, random, k in draws)))
        if not moments:
            cells.append(str(sum(_has_law(_formula(np.random.default_rng([k, 1]), 300, 0.15)) for k in range(20))))
            cells.append(str(sum(_has_law(_few(np.random.default_rng([k, 2]), 12 + k)) for k in range(20))))
            cells += [str(sum(_has_law(make(seed)[0]) for seed in range(1000, 1030))) for make in (walks, tails)]
    return [*cells, f"{time.process_time() - start:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("switches", nargs="*", default=list(SWITCHES))
    parser.add_argument("--moments", action="store_true", help="without cores, which find much of what moments miss")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    heading("Rules of the search for laws")
    heads = ["without", *(f"varieties at {100 * level:g}% (false)" for level in LEVELS), "smooth curves", "other nulls"]
    if not options.moments:
        heads += ["dirty of 20", "few rows of 20", "walks of 30", "heavy tails of 30"]
    heads.append("CPU s")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name in options.switches:
        print("| " + " | ".join([name, *measure(name, moments=options.moments)]) + " |", flush=True)


if __name__ == "__main__":
    main()
