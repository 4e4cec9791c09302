"""Up to which size is ``discover`` a matter of a second? Tables with a law of three columns, and without one."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from vanishing import discover

SIZES = (500, 2_000, 10_000, 100_000, 1_000_000)
COLUMNS = (3, 4, 6, 10)
NOISE = 0.01


def draw(random: np.random.Generator, n_rows: int, n_columns: int, *, law: bool) -> np.ndarray:
    """Uniform columns with noise in each; with a law, the last one is the product of the first two."""
    X = random.uniform(1.0, 3.0, (n_rows, n_columns))
    if law:
        X[:, -1] = X[:, 0] * X[:, 1]
    return X + NOISE * X.std(axis=0) * random.normal(size=X.shape)


def seconds(n_rows: int, n_columns: int, seeds: Sequence[int], *, law: bool) -> tuple[list[float], int]:
    """CPU seconds of each draw, sorted, and how many draws had the right number of laws."""
    spent, right = [], 0
    for seed in seeds:
        X = draw(np.random.default_rng([seed, n_rows, n_columns]), n_rows, n_columns, law=law)
        start = time.process_time()
        found = discover(X)
        spent.append(time.process_time() - start)
        right += len(found) == int(law)
    return sorted(spent), right


def table(first_seed: int, draws: int) -> None:
    """Print a line for each number of rows, with the median and the largest time for each number of columns."""
    seeds = range(first_seed, first_seed + draws)
    for n_columns in COLUMNS:  # compiles
        seconds(300, n_columns, [0], law=True)
    for law in (True, False):
        print(f"\nCPU s {'with the law' if law else 'without a law'}, median and largest of {draws} draws:\n")
        print("| rows | " + " | ".join(f"{n} columns" for n in COLUMNS) + " |\n|---" + "|---" * len(COLUMNS) + "|")
        right = 0
        for n_rows in SIZES:
            cells = []
            for n_columns in COLUMNS:
                spent, n_right = seconds(n_rows, n_columns, seeds, law=law)
                cells.append(f"{spent[len(spent) // 2]:.2f}, {spent[-1]:.2f}")
                right += n_right
            print(f"| {n_rows:,} | " + " | ".join(cells) + " |", flush=True)
        print(f"\nRight answers: {right} of {len(SIZES) * len(COLUMNS) * draws}.")
