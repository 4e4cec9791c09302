"""Kill Dask workers while sums are being added up, and compare what comes out with an undisturbed run.

python benchmarks/chaos.py --kills 20
"""

import argparse
import contextlib
import io
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from vanishing import OAVI, show_progress
from vanishing.engine.gram import mean_gram
from vanishing.polynomials.terms import Program
from vanishing.rows.dask import dask_rows

ROWS, COLUMNS = 400, 3


def slow_blocks(n_blocks: int, seconds: float):
    def slowly(block):
        time.sleep(seconds)
        return block

    X = np.random.default_rng(0).random((ROWS * n_blocks, COLUMNS))
    return da.from_array(X, chunks=(ROWS, -1)).map_blocks(slowly, dtype=float)


def gram(D):
    return mean_gram(dask_rows(D), Program.of([(), (0,), (1,), (2,), (0, 0), (1, 1), (2, 2)]), 1)


def ideal(D):
    return OAVI(5e-3).fit(D).generators_.coef


WORK = {"gram": gram, "ideal": ideal}


def holders(dask_scheduler) -> list[list[str]]:
    """The workers that hold sums of blocks, and sums of such sums; one entry for each sum."""
    added = {key: ts for key, ts in dask_scheduler.tasks.items() if "_add_up" in str(key)}
    levels: list[list[str]] = [[], []]
    for ts in added.values():
        higher = any(other.key in added for other in ts.dependencies)
        levels[higher] += [worker.address for worker in ts.who_has or ()]
    return levels


def kill_when(client, workers, level: int, wait: float, over: threading.Event, killed: list[str]) -> None:
    """Kill a worker that holds a sum of this level, some time after the first one is there."""
    begin = None
    while not over.wait(0.01):
        held = client.run_on_scheduler(holders)[level]
        begin = begin or (time.monotonic() if held else None)
        if begin and held and time.monotonic() - begin >= wait:
            workers[client.run(os.getpid)[held[-1]]].kill()
            killed.append(held[-1])
            return


@contextlib.contextmanager
def two_workers():
    """A client of a cluster with two workers, and these processes by number."""
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50))
        start = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        options = ["--no-nanny", "--no-dashboard", "--nthreads", "1", "--death-timeout", "10"]
        workers = [subprocess.Popen([*start, *options], stderr=subprocess.DEVNULL) for _ in range(2)]
        for worker in workers:
            stack.callback(worker.wait)
            stack.callback(worker.kill)
        client = stack.enter_context(Client(cluster))
        client.wait_for_workers(2, timeout=60)
        yield client, {worker.pid: worker for worker in workers}


def disturbed(work, D, level: int, wait: float, *, shown: bool):
    """The result of ``work(D)``, with its progress shown or not, and how many workers were killed on the way.

    Either way has a cluster of its own. Progress that is shown watches each block; without it Dask alone does.
    """
    over, killed = threading.Event(), []
    with two_workers() as (client, workers):
        killer = threading.Thread(target=kill_when, args=[client, workers, level, wait, over, killed])
        killer.start()
        try:
            with contextlib.redirect_stderr(io.StringIO()), show_progress() if shown else contextlib.nullcontext():
                return work(D), len(killed)
        finally:
            over.set()
            killer.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=192)
    parser.add_argument("--seconds", type=float, default=0.02, help="that a block takes")
    parser.add_argument("--work", choices=WORK, nargs="+", default=list(WORK))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    rng = random.Random(arguments.seed)
    D = slow_blocks(arguments.blocks, arguments.seconds)
    expected = {name: WORK[name](slow_blocks(arguments.blocks, 0.0)) for name in arguments.work}
    longest = arguments.blocks * arguments.seconds  # of two passes with two workers
    ways = [(name, shown) for shown in (True, False) for name in arguments.work]
    while counts["kills"] < arguments.kills:
        name, shown = ways[counts["runs"] % len(ways)]
        way = f"{name}, progress {'shown' if shown else 'not shown'}"
        counts["runs"] += 1
        try:
            found, n_killed = disturbed(WORK[name], D, rng.randrange(2), rng.uniform(0, longest), shown=shown)
        except Exception as error:
            counts[f"{way}: {type(error).__name__}"] += 1
            continue
        counts["kills"] += n_killed
        same = np.shape(found) == np.shape(expected[name]) and np.array_equal(found, expected[name])
        counts[f"{way}: {'same to the last bit' if same else 'WRONG'}"] += 1
        print(dict(counts), flush=True)
    for what, count in sorted(counts.items()):
        print(f"{what:48} {count}")


if __name__ == "__main__":
    main()
