"""Fits larger than memory: time per source, peak memory, and one Dask worker against two.

    python benchmarks/scale.py                 # 100,000,000 rows: makes 5 GB of files in a temporary folder
    python benchmarks/scale.py --rows 1e7 --folder somewhere

Each source is fitted in a process of its own, twice; times are those of the second fit, when the files are in the
system's cache, and peak memory is the resident set of the process. "pyarrow alone" reads the same columns and does
nothing with them.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

N_FILES = 10
PSI = 0.005
SOURCES = ("memory", "memory, Fortran order", "memory, float32", ".npy", "Parquet", "pyarrow alone")


def surface(rng, n_rows):
    X = np.empty((n_rows, 3))
    X[:, :2] = rng.random((n_rows, 2))
    X[:, 2] = np.clip(X[:, 0] * X[:, 1] + 0.02 * rng.standard_normal(n_rows), 0.0, 1.0)
    return X


def make_files(folder, n_rows):
    """The same rows in one .npy file and in several Parquet files, with row groups of a million rows."""
    import pyarrow
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    whole = np.lib.format.open_memmap(folder / "rows.npy", mode="w+", dtype=np.float64, shape=(n_rows, 3))
    per_file = n_rows // N_FILES
    for k in range(N_FILES):
        writer = None
        for start in range(0, per_file, 1_000_000):
            X = surface(rng, min(1_000_000, per_file - start))
            whole[k * per_file + start : k * per_file + start + len(X)] = X
            table = pyarrow.table({name: column.copy() for name, column in zip("abc", X.T, strict=True)})
            writer = writer or parquet.ParquetWriter(folder / f"part-{k}.parquet", table.schema)
            writer.write_table(table)
        writer.close()
    whole.flush()


def read_alone(folder):
    """What pyarrow needs to read the columns once."""
    import pyarrow.dataset as dataset

    files = sorted(map(str, folder.glob("*.parquet")))
    return sum(batch.num_rows for batch in dataset.dataset(files).to_batches(columns=list("abc")))


def measure(source, folder):
    """Seconds of the first and the second fit, passes, and peak memory in MB; runs in a process of its own."""
    from vanishing import OAVI, RangeWarning, open_rows
    from vanishing.engine import monomials

    warnings.simplefilter("ignore", RangeWarning)
    if source == "pyarrow alone":
        work, passes = (lambda: read_alone(folder)), []
    else:
        for order in "CF":  # compiled code is loaded before the clock runs
            OAVI(PSI).fit(np.asarray(surface(np.random.default_rng(1), 1000), order=order))
        rows = {
            "memory": lambda: np.load(folder / "rows.npy"),
            "memory, Fortran order": lambda: np.asfortranarray(np.load(folder / "rows.npy")),
            "memory, float32": lambda: np.load(folder / "rows.npy").astype(np.float32),
            ".npy": lambda: open_rows(folder / "rows.npy"),
            "Parquet": lambda: open_rows(folder / "*.parquet"),
        }[source]()
        passes, original = [], monomials.sum_parts
        monomials.sum_parts = lambda *arguments: passes.append(1) or original(*arguments)
        work = lambda: OAVI(PSI).fit(rows)  # noqa: E731
    times = []
    for _ in range(3):
        passes.clear()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    print(json.dumps([times, len(passes), peak_memory()]))


def peak_memory():
    """Largest resident set of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # the other figure may be that of the process which started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_memory(n_rows):
    """What a fit with many terms takes more than one with few rows, against the formula of the guide, in MB."""
    from vanishing import OAVI, open_rows
    from vanishing.constants import FEWEST_ROWS
    from vanishing.rows.arrays import block_rows
    from vanishing.rows.protocol import Cost
    from vanishing.threads import n_threads

    n = 8
    rng = np.random.default_rng(0)
    OAVI(1e-4, max_degree=3, solver="cg", boost="ihb").fit(rng.random((3000, n)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        whole = np.lib.format.open_memmap(file, mode="w+", dtype=np.float64, shape=(n_rows, n))
        for start in range(0, n_rows, 100_000):
            whole[start : start + 100_000] = rng.random((len(whole[start : start + 100_000]), n))
        whole.flush()
        del whole
        before = resident()
        model = OAVI(1e-4, max_degree=3, solver="cg", boost="ihb").fit(open_rows(file))
        after = peak_memory()
    n_terms = model.n_basis_ + len(model.generators_)
    n_candidates = n_terms - 1 - n - n * (n + 1) // 2  # of degree 3, the last pass
    work = n_terms * n_candidates
    rows = block_rows(Cost(work, 2 * n_terms))
    threads = n_threads(None)
    block, table, gram = 2 * rows * n * 8, min(rows, FEWEST_ROWS) * n_terms * 8, work * 8
    bound = threads * (block + table + gram) + 3 * gram + 3 * n_terms * n_terms * 8
    print(json.dumps([n_rows, n_terms, after - before, bound / 2**20]))


def resident():
    """Resident set of this process now, in MB; the largest one starts from here again."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def measure_dask(n_workers, n_rows):
    """Seconds of a fit to rows that the workers hold, on so many worker processes of one thread."""
    import dask.array
    from distributed import Client, LocalCluster

    from vanishing import OAVI

    def block(block_id):
        return surface(np.random.default_rng(block_id[0]), n_rows // 100)

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        chunks = ((n_rows // 100,) * 100, (3,))
        X = dask.array.map_blocks(block, chunks=chunks, dtype=np.float64).persist()
        client.gather(client.map(lambda _: OAVI(PSI).fit(surface(np.random.default_rng(0), 1000)) and None, range(8)))
        OAVI(PSI).fit(X)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            model = OAVI(PSI).fit(X)
            times.append(time.perf_counter() - start)
    print(json.dumps([times, model.generators_.coef.tolist()]))


def in_own_process(*arguments):
    done = subprocess.run([sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def report(folder, n_rows):
    print(f"## {n_rows:,} rows x 3, float64, OAVI, psi = {PSI}\n")
    print("| source | first fit, s | later fit, s | passes | ns per row and pass | peak memory, MB |")
    print("|---|---|---|---|---|---|")
    for source in SOURCES:
        (first, *later), passes, peak = in_own_process("--measure", source, "--folder", folder)
        best, passes = min(later), passes or 1
        rate = 1e9 * best / n_rows / passes
        print(f"| {source} | {first:.2f} | {best:.2f} | {passes} | {rate:.1f} | {peak:.0f} |", flush=True)
    print("\n## Memory of a fit to 8 columns with terms up to degree 3, from .npy\n")
    print("| rows | terms | measured, MB | formula, MB |\n|---|---|---|---|")
    for n in (200_000, 2_000_000):
        print("| {:,} | {} | {:.0f} | {:.0f} |".format(*in_own_process("--memory", n)), flush=True)
    print(f"\n## Dask, {n_rows:,} rows x 3 held by the workers in 100 blocks\n")
    print("| workers | s |\n|---|---|")
    found = {}
    for n_workers in (1, 2):
        times, coef = in_own_process("--dask", n_workers, "--rows", n_rows)
        found[n_workers] = min(times), np.array(coef)
        print(f"| {n_workers} | {min(times):.2f} |", flush=True)
    (one, a), (two, b) = found[1], found[2]
    same = bool(np.array_equal(a != 0.0, b != 0.0))
    print(f"\nTwice as many workers: {one / two:.2f} times as fast; supports identical: {same}, largest relative")
    print(f"difference of coefficients {np.abs(a - b).max() / np.abs(a).max():.1e}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--measure", choices=SOURCES, help=argparse.SUPPRESS)
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--dask", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.folder)
    elif arguments.memory:
        measure_memory(arguments.memory)
    elif arguments.dask:
        measure_dask(arguments.dask, int(arguments.rows))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = arguments.folder or Path(temporary)
            if not (folder / "rows.npy").exists():
                make_files(folder, int(arguments.rows))
            report(folder, int(arguments.rows))


if __name__ == "__main__":
    main()
