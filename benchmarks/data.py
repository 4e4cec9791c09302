"""The paper's data sets as the benchmarks use them: min-max scaled as a whole, one array per class."""

import os
from functools import cache
from pathlib import Path

import numpy as np

from vanishing.datasets import make_synthetic

FOLDER = Path(os.environ.get("VANISHING_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@cache
def classes(name: str, n_rows: int) -> list[np.ndarray]:
    """One array per class; raises FileNotFoundError when the data set is not there."""
    if name == "synthetic":
        X, y = make_synthetic(n_rows, random_state=0)
    else:
        table = np.loadtxt(FOLDER / f"{name}.csv.gz", delimiter=",", skiprows=1)
        X, y = table[:, 1 if name == "credit" else 0 : -1], table[:, -1]  # the paper leaves out credit's first column
    low, high = X.min(axis=0), X.max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1.0)
    return [np.ascontiguousarray(X[y == label]) for label in np.unique(y)]
