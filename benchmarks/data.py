"""The paper's data sets as the benchmarks use them."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from vanishing.datasets import load, make_synthetic
from vanishing.experiments import published_split

FOLDER = Path(os.environ.get("VANISHING_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels as they are; raises FileNotFoundError when the data set is not there."""
    return load(name, data_dir=FOLDER, return_X_y=True)


@cache
def classes(name: str, n_rows: int) -> list[np.ndarray]:
    """One array per class, min-max scaled as a whole."""
    X, y = make_synthetic(n_rows, random_state=0) if name == "synthetic" else table(name)
    low, high = X.min(axis=0), X.max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1.0)
    return [np.ascontiguousarray(X[y == label]) for label in np.unique(y)]


def keel(path: Path, fewest: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """A table of the KEEL repository: texts become 0/1 columns; rows with gaps and of rare classes are left out."""
    import pandas

    table = pandas.read_csv(path, header=None, comment="@", skipinitialspace=True, na_values=["?", "<null>"]).dropna()
    labels = table.iloc[:, -1].astype(str).str.strip().to_numpy()
    names, counts = np.unique(labels, return_counts=True)
    common = np.isin(labels, names[counts >= fewest])
    columns = pandas.get_dummies(table.iloc[:, :-1], dtype=float)
    return columns.to_numpy(dtype=np.float64)[common], labels[common]


def published_splits(name: str, n_splits: int = 10) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """The ten splits behind the paper's Table 3: rows and labels to train on (60%), and to test on."""
    X, y = table(name)
    for run in range(n_splits):
        train, test = published_split(len(y), run)
        yield X[train], y[train], X[test], y[test]
