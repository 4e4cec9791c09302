"""Two checkouts of the library against each other, call by call, in one run.

    python benchmarks/compare.py ../other-checkout [--only fit,evaluate,search,file] [--repeats 15]

A process per checkout makes the same call in turn, so that a machine whose speed changes slows down both; the ratio is
that of the fastest calls. Calls: each row of speed.py (fit, evaluation), the searches of tuning.py on the paper's
grid, and fits of 5,000,000 rows in memory and in files as in scale.py. Rows whose models have other sizes are marked.
The data sets are looked for in the folder VANISHING_DATA.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve()
FILES = ("memory", ".npy", "Parquet")
FILE_ROWS = 5_000_000
SEARCHES = (("bank", "CGAVI-IHB"), ("seeds", "CGAVI-IHB"), ("htru", "CGAVI-IHB"), ("htru", "BPCGAVI-WIHB"))
SEARCHES += (("skin", "CGAVI-IHB"), ("credit", "CGAVI-IHB"), ("spam", "CGAVI-IHB"))


def jobs() -> Iterator[list[str]]:
    """What to call, as lists of words."""
    with (HERE.parent / "authors.csv").open() as file:
        rows = list(csv.DictReader(file))
    for what in ("fit", "evaluate"):
        yield from ([what, row["data"], row["rows"], row["psi"], row["algorithm"]] for row in rows)
    yield ["fit", "small", "1000", "0.005", "CGAVI-IHB"]
    yield from (["search", *search] for search in SEARCHES)
    yield from (["file", source] for source in FILES)


# --- one checkout -----------------------------------------------------------------------------------------------------


def parts_of(data: str, rows: str) -> list[np.ndarray]:
    from data import classes

    if data == "small":
        return [np.random.default_rng(0).random((int(rows), 3))]
    return classes(data, int(rows) if data == "synthetic" else 0)


def surface(n_rows: int) -> np.ndarray:
    """Rows with x2 = x0 * x1."""
    X = np.random.default_rng(0).random((n_rows, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    return X


@cache
def source_of(kind: str) -> object:
    X = surface(FILE_ROWS)
    if kind == "memory":
        return X
    from vanishing import open_rows

    path = Path(tempfile.mkdtemp(dir=os.environ["COMPARE_FOLDER"])) / ("rows.npy" if kind == ".npy" else "rows.parquet")
    if kind == ".npy":
        np.save(path, X)
    else:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table({f"x{j}": X[:, j] for j in range(3)}), path)
    return open_rows(path)


def prepare(job: list[str]) -> tuple[Callable[[], object], str]:
    """The call, and the sizes of the models that it makes or uses."""
    import speed
    import tuning
    from sklearn.model_selection import KFold
    from sklearn.preprocessing import MinMaxScaler

    from vanishing import OAVI, VanishingIdealClassifierCV

    what, *which = job
    if what == "file":
        source = source_of(*which)
        return lambda: OAVI().fit(source), ""
    if what == "search":
        X, y, *_ = next(tuning.published_splits(which[0]))
        options = {"psis": tuning.PSIS, "Cs": tuning.CS, "cv": KFold(3), "scale_input": False}
        paper = getattr(VanishingIdealClassifierCV, "paper", None)
        if paper is None:  # a version whose search was the paper's
            paper, options = VanishingIdealClassifierCV, options | {"scale_features": False, "append_input": False}
        X, search = MinMaxScaler().fit_transform(X), paper(tuning.IDEALS[which[1]], **options)
        search.fit(X, y)
        return lambda: search.fit(X, y), f"{search.best_params_}"
    data, rows, psi, algorithm = which
    parts, make = parts_of(data, rows), speed.ALGORITHMS[algorithm]
    models = [make(float(psi)).fit(X) for X in parts]
    sizes = "/".join(f"{len(model.generators_)}+{model.n_basis_}" for model in models)
    if what == "fit":
        return lambda: [make(float(psi)).fit(X) for X in parts], sizes
    X = np.vstack(parts)
    return lambda: [model.generators_.evaluate(X) for model in models], sizes


def work() -> None:
    """Answer each job on standard input: its sizes, then the seconds of a call for each further line."""
    call: Callable[[], object] = lambda: None  # noqa: E731
    for line in sys.stdin:
        if line.strip():
            call, sizes = prepare(json.loads(line))
            print(json.dumps(sizes), flush=True)
        else:
            begin = time.perf_counter()
            call()
            print(time.perf_counter() - begin, flush=True)


# --- both -------------------------------------------------------------------------------------------------------------


class Checkout:
    """A process that imports the library from one checkout."""

    def __init__(self, folder: Path):
        path = os.pathsep.join(str(folder / part) for part in ("src", "benchmarks"))
        command = [sys.executable, "-W", "ignore", str(HERE), "--work"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        # The folder of a script comes before PYTHONPATH, so -P keeps the other checkout's speed.py apart from this one.
        command.insert(1, "-P")
        self.process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, **pipes)

    def ask(self, line: str = "") -> object:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args} ended with {self.process.wait()} at {line}.")
        return json.loads(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?", help="the checkout to compare with")
    parser.add_argument("--only", default="fit,evaluate,search,file", help="kinds of calls, separated by commas")
    parser.add_argument("--repeats", type=int, default=15, help="most calls of either checkout")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work()
        return
    if arguments.other is None or not (arguments.other / "src" / "vanishing").is_dir():
        parser.error("name a folder with another checkout, for instance one of `git worktree add`.")
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COMPARE_FOLDER"] = folder
        checkouts = [Checkout(arguments.other.resolve()), Checkout(HERE.parents[1])]
        print("| call | other ms | this ms | ratio | models |\n|---|---|---|---|---|")
        for job in jobs():
            if job[0] not in arguments.only.split(","):
                continue
            sizes = [checkout.ask(json.dumps(job)) for checkout in checkouts]
            times: list[list[float]] = [[], []]
            begin = time.perf_counter()
            while len(times[0]) < 3 or (len(times[0]) < arguments.repeats and time.perf_counter() - begin < 3.0):
                for mine, checkout in zip(times, checkouts, strict=True):
                    mine.append(checkout.ask())
            other, this = (1e3 * min(mine) for mine in times)
            same = "" if sizes[0] == sizes[1] else f"{sizes[0]}, now {sizes[1]}"
            print(f"| {' '.join(job)} | {other:.3g} | {this:.3g} | {this / other:.2f} | {same} |", flush=True)
            if not same:
                ratios.setdefault(job[0], []).append(this / other)
    print()
    for what, values in ratios.items():
        slower = sum(value > 1.05 for value in values)
        print(f"- {what}: median ratio {statistics.median(values):.2f}, {slower} of {len(values)} over 1.05.")


if __name__ == "__main__":
    main()
