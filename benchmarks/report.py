"""Seconds and bytes of HTML reports: OMP_NUM_THREADS=1 python benchmarks/report.py [rows] [columns]

Each kind of model is fitted to 5,000 rows, and reports on all of them. Matplotlib is imported beforehand.
"""

import sys
import time

import matplotlib.figure  # noqa: F401
import numpy as np
import pandas as pd
from sklearn.preprocessing import MinMaxScaler

from vanishing import OAVI, VanishingIdealClassifierCV, VanishingIdealDetector, discover


def make_table(n_rows, n_columns, seed=0):
    """Columns of which each third is a product, with noise, of the two before it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 1.5, (n_rows, n_columns))
    for j in range(2, n_columns, 3):
        X[:, j] = X[:, j - 1] * X[:, j - 2] + rng.normal(0.0, 0.005, n_rows)
    return pd.DataFrame(X, columns=[f"sensor{j}" for j in range(n_columns)])


def main(n_rows=100_000, n_columns=20):
    X = make_table(n_rows, n_columns)
    y = np.where(X.iloc[:, 2] > 1.0 + 0.2 * X.iloc[:, 0], "high", "low")
    scaled = pd.DataFrame(MinMaxScaler().fit_transform(X), columns=X.columns)
    few = slice(0, 5000)
    subjects = {
        "ideal": (OAVI(psi=1e-4, max_degree=2).fit(scaled[few]), (scaled,)),
        "laws": (discover(X[few], max_degree=2), (X,)),
        "detector": (VanishingIdealDetector().fit(X[few]), (X,)),
        "classifier": (VanishingIdealClassifierCV().fit(X[few], y[few]), (X, y)),
    }
    print(f"| report on {n_rows:,} x {n_columns} | wall s | CPU s | KB |\n|---|---|---|---|")
    for kind, (model, rows) in subjects.items():
        wall, cpu = time.perf_counter(), time.process_time()
        page = model.report(*rows)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"| {kind} | {wall:.1f} | {cpu:.1f} | {len(page.html.encode()) / 1e3:,.0f} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
