"""Processes forked while threads of the parent fit and compile: every child has to fit, too, and to end.

    python benchmarks/forks.py --count 200

A child inherits every lock as it is at that moment, and the thread that would open it does not exist there.
"""

import argparse
import os
import signal
import sys
import threading
import time
import warnings

import numba
import numpy as np

from vanishing import OAVI

LIMIT = 30.0  # seconds until a child counts as stuck


def fork_while_fitting(count: int, *, limit: float = LIMIT) -> list[str]:
    """What went wrong in which child: a line for each that did not fit, or did not end in time."""
    X = np.random.default_rng(0).uniform(size=(200, 3))
    fit(X)
    over = threading.Event()
    threads = [threading.Thread(target=repeat, args=(work, over)) for work in (lambda: fit(X), compile_anew)]
    for thread in threads:
        thread.start()
    try:
        ends = [run_child(X, limit) for _ in range(count)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return [f"child {number}: {end}" for number, end in enumerate(ends) if end]


def repeat(work, over: threading.Event) -> None:
    while not over.is_set():
        work()


def fit(X: np.ndarray) -> None:
    assert np.isfinite(OAVI(psi=0.01).fit(X).generators_.coef).all()


def compile_anew() -> None:
    assert numba.njit(lambda x: x + 1)(1) == 2
    time.sleep(0.05)


def run_child(X: np.ndarray, limit: float) -> str:
    """Fork a child that fits and compiles; what went wrong in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which are the point here
        child = os.fork()
    if child == 0:
        try:
            fit(X)
            compile_anew()
            os._exit(0)
        finally:
            os._exit(1)
    return wait_for(child, limit)


def wait_for(child: int, limit: float) -> str:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "" if status == 0 else f"ended with {os.waitstatus_to_exitcode(status)}"
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"did not end within {limit:g} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="children (default: 200)")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    failures = fork_while_fitting(arguments.count)
    print(*failures, sep="\n", end="\n" if failures else "")
    took = time.perf_counter() - begin
    print(f"{arguments.count - len(failures)} of {arguments.count} children fitted and ended, in {took:.1f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
