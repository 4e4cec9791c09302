"""Gaps in tables: does a column that says where values were missing pay?

    OMP_NUM_THREADS=1 python benchmarks/tables_gaps.py

A fifth of the values of a table is taken away: at random, or, where gaps say something, the largest and the smallest
tenth of every column, half of each. The median fills the gaps, alone or with a column of 0 and 1 for each column with
gaps, as ``TableEncoder`` makes them. Of pima, zeros that cannot be measurements are gaps, too ("its own").
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from tables import load

from vanishing import TableEncoder, VanishingIdealClassifierCV

ENCODERS = {"median": lambda: SimpleImputer(strategy="median"), "with indicators": TableEncoder}


def with_gaps(X: np.ndarray, kind: str, rng: np.random.Generator) -> pd.DataFrame:
    X = X.astype(float)
    if kind == "its own":
        X[:, 1:6] = np.where(X[:, 1:6] == 0.0, np.nan, X[:, 1:6])
    elif kind == "at random":
        X[rng.random(X.shape) < 0.2] = np.nan
    else:
        low, high = np.quantile(X, [0.1, 0.9], axis=0)
        X[((low >= X) | (high <= X)) & (rng.random(X.shape) < 0.5)] = np.nan
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="*", default=["pima", "phoneme", "rice", "winequality", "electricity"])
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | gaps | " + " | ".join(ENCODERS) + " |\n|---|---|" + "---|" * len(ENCODERS))
    for name in arguments.tables:
        X, y = load(name)
        for kind in ("at random", "extremes", *(["its own"] if name == "pima" else [])):
            errors = np.mean([errors_of(X, y, kind, seed) for seed in range(arguments.seeds)], axis=0)
            print(f"| {name} | {kind} | " + " | ".join(f"{error:.2f}" for error in errors) + " |", flush=True)


def errors_of(X: np.ndarray, y: np.ndarray, kind: str, seed: int) -> list[float]:
    """Test errors in percent of every encoder."""
    table = with_gaps(X, kind, np.random.default_rng(seed))
    train, test, y_train, y_test = train_test_split(table, y, test_size=0.4, stratify=y, random_state=seed)
    models = [make_pipeline(encode(), VanishingIdealClassifierCV(n_jobs=1)) for encode in ENCODERS.values()]
    return [100.0 * float(np.mean(model.fit(train, y_train).predict(test) != y_test)) for model in models]


if __name__ == "__main__":
    main()
