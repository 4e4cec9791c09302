"""What the engine itself does: share of the machine's GEMM rate, time per row, memory, first call, import.

Run on an idle machine:  python benchmarks/engine.py > benchmarks/engine.md
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from vanishing import OAVI, __version__
from vanishing.datasets import make_synthetic
from vanishing.engine.gram import _PANEL, mean_gram
from vanishing.polynomials.terms import Program, terms_up_to
from vanishing.rows.arrays import as_rows

MEMORY = """
import json, resource, sys, time
import numpy as np
from vanishing import OAVI
from vanishing.datasets import make_synthetic
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
X, y = make_synthetic({rows}, random_state=0)
X -= X.min(axis=0); X /= X.max(axis=0)
parts = [X[y == 0].copy(), X[y == 1].copy()]
OAVI({psi}).fit(parts[0][:1000]).transform(parts[0][:1000])
with open("/proc/self/clear_refs", "w") as file: file.write("5")   # forget the peak of making the data
before = int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1]) / 1024
models = [OAVI({psi}, solver="cg", boost="ihb").fit(part) for part in parts]
after = int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1024
print(json.dumps([before, after]))
"""
FIRST = """
import time; import numpy as np, vanishing
rng = np.random.default_rng(0)
X = rng.random(({rows}, {columns}))
y = X[:, 0] ** 2 + X[:, 1] > X[:, 2]
X[:, -1] = X[:, 0] * X[:, 1] * (1 + 0.01 * rng.normal(size=len(X)))
from vanishing import OAVI, VanishingIdealClassifierCV, VanishingIdealDetector, discover
begin = time.perf_counter()
{call}
print(time.perf_counter() - begin)
"""
FIRST_CALLS = {
    "`OAVI().fit(X).transform(X)`": "OAVI().fit(X).transform(X)",
    "`VanishingIdealDetector().fit(X)`": "VanishingIdealDetector().fit(X)",
    "`discover(X)`": "discover(X)",
    "`VanishingIdealClassifierCV().fit(X, y)`": "VanishingIdealClassifierCV().fit(X, y)",
}
IMPORT = """
import time; import sklearn.base, sklearn.utils.validation, numba; begin = time.perf_counter()
import vanishing; print(time.perf_counter() - begin)
"""


def best(work, repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout


def gram_rate() -> None:
    """C[O|C]' of a wide border, against a square matrix product of the same library on the same threads."""
    rng = np.random.default_rng(0)
    n, n_rows = 20, 200_000
    rows = as_rows(rng.random((n_rows, n)))
    program = Program.of(terms_up_to(2, n))
    n_terms, n_basis = program.size, n + 1
    mean_gram(rows, program, n_basis)
    gram = best(lambda: mean_gram(rows, program, n_basis), 5)
    A, B = rng.random((2000, 2000)), rng.random((2000, 2000))
    gemm = 16e9 / best(lambda: A @ B, 5)
    # Useful work: the Gram of the candidates is symmetric, so half of its entries count.
    c = n_terms - n_basis
    flops = 2.0 * n_rows * (c * n_basis + c * (c + 1) / 2)
    panels = [(first, min(first + _PANEL, c)) for first in range(0, c, _PANEL)]
    done = 2.0 * n_rows * sum((last - first) * (n_basis + last) for first, last in panels)
    full = 2.0 * n_rows * c * n_terms
    print("## Gram pass against GEMM\n")
    print(f"{n_rows:,} rows, {n_terms} terms ({c} candidates of degree 2 in {n} columns), all cores.\n")
    print("| | GFLOP/s | share of GEMM |\n|---|---|---|")
    print(f"| 2000 x 2000 matrix product | {gemm / 1e9:.0f} | |")
    print(f"| Gram pass, different entries only | {flops / gram / 1e9:.0f} | {flops / gram / gemm:.0%} |")
    print(f"| Gram pass, operations made | {done / gram / 1e9:.0f} | {done / gram / gemm:.0%} |")
    print(f"| Gram pass, as a full product C[O\\|C]' | {full / gram / 1e9:.0f} | {full / gram / gemm:.0%} |\n")


def time_per_row() -> None:
    print("## Time per row\n\n`OAVI(psi=0.005, solver='cg', boost='ihb')`, one class of the synthetic data set.\n")
    print("| rows | fit, ms | ns per row | transform, ms | ns per row |\n|---|---|---|---|---|")
    for n_rows in (10_000, 100_000, 1_000_000, 10_000_000):
        X, _ = make_synthetic(2 * n_rows, random_state=0)
        X -= X.min(axis=0)
        X /= X.max(axis=0)
        X = X[:n_rows].copy()
        model = OAVI(solver="cg", boost="ihb").fit(X)
        fit, transform = (
            best(lambda X=X: OAVI(solver="cg", boost="ihb").fit(X)),
            best(lambda X=X, m=model: m.transform(X), 4),
        )
        print(
            f"| {n_rows:,} | {1e3 * fit:.2f} | {1e9 * fit / n_rows:.1f} "
            f"| {1e3 * transform:.2f} | {1e9 * transform / n_rows:.1f} |",
            flush=True,
        )
    print()


def memory() -> None:
    print(
        "## Memory\n\nPeak resident memory of a fit above the loaded data: 2,000,000 synthetic rows in two classes.\n"
    )
    print("| psi | extra MB | authors' code |\n|---|---|---|")
    for psi, theirs in ((0.005, 908), (0.0001, 1993)):
        before, after = json.loads(python(MEMORY.format(rows=2_000_000, psi=psi)))
        print(f"| {psi} | {after - before:.0f} | {theirs} |", flush=True)
    print()


def first_and_later(code: str) -> tuple[float, float]:
    """Seconds that the code reports in a process with an empty cache, and in a second one."""
    with tempfile.TemporaryDirectory() as folder:
        return float(python(code, NUMBA_CACHE_DIR=folder)), float(python(code, NUMBA_CACHE_DIR=folder))


def first_call() -> None:
    print("## First call and import\n\nSeconds of the first call in a process, the median of five processes.\n")
    print("| rows | call | nothing compiled before | kernels on disk |\n|---|---|---|---|")
    for rows, columns in ((300, 4), (1000, 10)):
        for name, call in FIRST_CALLS.items():
            code = FIRST.format(rows=rows, columns=columns, call=call)
            compiling, cached = zip(*(first_and_later(code) for _ in range(5)), strict=True)
            later = statistics.median(cached)
            print(f"| {rows} x {columns} | {name} | {statistics.median(compiling):.1f} | {later:.2f} |", flush=True)
    print("\n| | seconds |\n|---|---|")
    added = statistics.median(float(python(IMPORT)) for _ in range(5))
    print(f"| `import vanishing`, on top of scikit-learn and numba | {added:.2f} |")


def main() -> None:
    print("# The engine\n")
    python_version = platform.python_version()
    print(f"vanishing {__version__}, Python {python_version}, {os.cpu_count()} cores. `python benchmarks/engine.py`\n")
    gram_rate()
    time_per_row()
    memory()
    first_call()


if __name__ == "__main__":
    main()
