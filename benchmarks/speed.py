"""Fit and evaluation times against the authors' code (authors.csv), on every row of their table.

Run on an idle machine:  python benchmarks/speed.py > benchmarks/speed.md
The data sets are looked for in the folder VANISHING_DATA; rows whose data set is missing are left out.
"""

import argparse
import csv
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from data import classes
from threadpoolctl import threadpool_limits

from vanishing import ABM, OAVI, VCA, __version__

# Their names, our estimators. Term order as in their code; VCA's products without duplicates, as is our default.
ALGORITHMS = {
    "CGAVI-IHB": lambda psi: OAVI(psi, solver="cg", boost="ihb", order="degcolex"),
    "AGDAVI-IHB": lambda psi: OAVI(psi, solver="agd", boost="ihb", order="degcolex"),
    "BPCGAVI-WIHB": lambda psi: OAVI(psi, solver="bpcg", order="degcolex"),
    "BPCGAVI": lambda psi: OAVI(psi, solver="bpcg", boost="none", order="degcolex"),
    "PCGAVI": lambda psi: OAVI(psi, solver="pcg", boost="none", order="degcolex"),
    "ABM": lambda psi: ABM(psi, order="degcolex"),
    "VCA": lambda psi: VCA(psi),
}


COLUMNS = ("theirs", "ours", "ratio")


def seconds(work, repeats: int) -> float:
    """Median time of a call after one call to warm up; fewer repeats for slow work."""
    begin = time.perf_counter()
    work()
    repeats = max(3, min(repeats, int(1.0 / (time.perf_counter() - begin + 1e-9))))
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def gemm_rate() -> float:
    """GFLOP/s of one core in a 2000 x 2000 matrix product: the authors' times come from a machine with about 50."""
    A = np.random.default_rng(0).random((2000, 2000))
    with threadpool_limits(1):
        return 16.0 / seconds(lambda: A @ A, 3)


def compare(row: dict[str, str], repeats: int) -> list[str]:
    parts = classes(row["data"], int(row["rows"]) if row["data"] == "synthetic" else 0)
    make = ALGORITHMS[row["algorithm"]]
    models = [make(float(row["psi"])).fit(X) for X in parts]
    fit = seconds(lambda: [make(float(row["psi"])).fit(X) for X in parts], repeats)
    X = np.vstack(parts)
    evaluate = seconds(lambda: [model.generators_.evaluate(X) for model in models], repeats)
    n_free = [np.sum(model.generators_._n_free) if row["algorithm"] != "VCA" else 0 for model in models]
    sparsity = [model.generators_.sparsity for model in models] if any(n_free) else []
    sizes = "/".join(f"{len(model.generators_)}+{model.n_basis_}" for model in models)
    return [
        row["data"],
        f"{int(row['rows']):,}",
        row["psi"],
        row["algorithm"],
        f"{1e3 * float(row['fit_s']):.3g}",
        f"{1e3 * fit:.3g}",
        f"**{float(row['fit_s']) / fit:.1f}x**",
        f"{1e3 * float(row['evaluate_s']):.3g}",
        f"{1e3 * evaluate:.3g}",
        f"{float(row['evaluate_s']) / evaluate:.1f}x",
        sizes if sizes == row["sizes"] else f"{sizes} (theirs {row['sizes']})",
        f"{np.average(sparsity, weights=n_free):.2f} ({row['spar']})" if sparsity else "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="data sets to run, separated by commas")
    parser.add_argument("--repeats", type=int, default=15, help="most repeats of a measurement")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else None
    print("# Speed against the authors' code\n")
    versions = f"vanishing {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    print(f"{versions}, {gemm_rate():.0f} GFLOP/s per core in a matrix product (the authors' machine: about 50).")
    print("`python benchmarks/speed.py`\n")
    print("Milliseconds, summed over the classes; sizes are |G|+|O| per class; SPAR ours (theirs).\n")
    header = [
        "data",
        "rows",
        "psi",
        "algorithm",
        *(f"{what}: {who}" for what in ("fit", "evaluate") for who in COLUMNS),
    ]
    header += ["sizes", "SPAR"]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    with (Path(__file__).parent / "authors.csv").open() as file:
        for row in csv.DictReader(file):
            if wanted and row["data"] not in wanted:
                continue
            try:
                print(f"| {' | '.join(compare(row, arguments.repeats))} |", flush=True)
            except FileNotFoundError as missing:
                print(f"{missing.filename} is missing: row left out.", file=sys.stderr)


if __name__ == "__main__":
    main()
