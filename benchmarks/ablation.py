"""What each number and each step of the default search brings: errors, log loss and CPU time without it.

    OMP_NUM_THREADS=1 python benchmarks/ablation.py                        the tables at hand
    OMP_NUM_THREADS=1 python benchmarks/ablation.py --keel keel/*.dat      with files of the KEEL repository
    python benchmarks/ablation.py --variants "patience 2" "no ranks" --seeds 2

Each table is cut to 4,000 rows, so that a variant takes a minute; 60% of them train. A variant changes one field of the
budget, or one option. Differences are those to the default on the same split, in points of error; a mean over tables
has the standard error of these differences. A rule goes if its absence costs less than 0.05 points plus the standard
error, and less than 20% of the median time.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from data import keel
from sklearn.model_selection import train_test_split
from tables import load, tables, warm_up

from vanishing import Columns, VanishingIdealClassifierCV

MOST = 4000
BUDGET = VanishingIdealClassifierCV._budget
AUTO = [Columns(), Columns(hinges=5), Columns(hinges=5, monomials=2), Columns(halves=True)]


def budget(**changes) -> Callable[[], VanishingIdealClassifierCV]:
    """The default search with another budget."""

    class Changed(VanishingIdealClassifierCV):
        _budget = replace(BUDGET, **changes)

    return lambda: Changed(n_jobs=1)


def options(**changes) -> Callable[[], VanishingIdealClassifierCV]:
    """The default search with other options."""
    return lambda: VanishingIdealClassifierCV(n_jobs=1, **changes)


VARIANTS = {
    "default": options(),
    "decades of psi, patience 2": budget(psis_per_decade=1, patience=2),
    "quarter-decades of psi, patience 6": budget(psis_per_decade=4, patience=6),
    "patience 2": budget(patience=2),
    "patience 8": budget(patience=8),
    "C in decades": budget(Cs=(0.01, 0.1, 1.0, 10.0)),
    "C up to 1": budget(Cs=(0.01, 0.03, 0.1, 0.3, 1.0)),
    "five folds": budget(n_folds=5),
    "one draw of the folds": budget(rows_of_one_draw=0),
    "one draw from 500 rows on": budget(rows_of_one_draw=500),
    "one draw from 2,000 rows on": budget(rows_of_one_draw=2000),
    "half of the terms": budget(terms_per_root_row=6.0),
    "twice the terms": budget(terms_per_root_row=24.0),
    "at least 20 terms": budget(fewest_terms=20),
    "at least 80 terms": budget(fewest_terms=80),
    "half of the work": budget(step_work=3e9),
    "twice the work": budget(step_work=1.2e10),
    "no bound on the work": budget(step_work=1e15),
    "no ranks": options(scale_input="arcsinh"),
    "no hinges, products, halves": options(columns=Columns()),
    "no hinges and products": options(columns=[AUTO[0], AUTO[3]]),
    "no products": options(columns=[AUTO[0], AUTO[1], AUTO[3]]),
    "no halves": options(columns=AUTO[:3]),
    "ten hinges": budget(hinges=10),
    "three hinges": budget(hinges=3),
    "gap 0.01": budget(svm_tol=1e-2),
    "gap 0.0025": budget(svm_tol=2.5e-3),
    "ranked by accuracy": options(scoring="accuracy"),
    "ranked by log loss": options(scoring="neg_log_loss"),
    "|g| alone": options(columns=[replace(each, features="absolute") for each in AUTO]),
    "no inputs": options(columns=[replace(each, append_input=False) for each in AUTO]),
}


def cut(name: str) -> tuple[np.ndarray, np.ndarray]:
    """At most 4,000 rows of a table."""
    X, y = keel(Path(name)) if name.endswith(".dat") else load(name)
    chosen = np.random.default_rng(1).permutation(len(y))[:MOST]
    return X[chosen], y[chosen]


def measure(make, X, y, seed: int) -> tuple[float, float, float]:
    """Error in percent, log loss, CPU seconds."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    begin = time.process_time()
    model = make().fit(X_train, y_train)
    seconds = time.process_time() - begin
    codes = np.searchsorted(model.classes_, y_test)
    given = model.predict_proba(X_test)[np.arange(len(codes)), codes]
    error = 100.0 * float(np.mean(model.predict(X_test) != y_test))
    return error, float(-np.log(np.maximum(given, 1e-15)).mean()), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keel", nargs="*", default=[], help="files of the KEEL repository")
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [cut(name) for name in [*tables(), *arguments.keel]]
    warm_up(*rows[0])
    runs = [(X, y, seed) for X, y in rows for seed in range(arguments.seeds)]
    base = np.array([measure(VARIANTS["default"], *run) for run in runs])
    print(
        f"{len(rows)} tables, {arguments.seeds} splits: error {base[:, 0].mean():.2f}, log loss {base[:, 1].mean():.4f}"
    )
    print("\n| variant | error, points | log loss | median time | longest |\n|---|---|---|---|---|")
    for name in arguments.variants:
        if name == "default":
            continue
        found = np.array([measure(VARIANTS[name], *run) for run in runs])
        change, ratio = found - base, found[:, 2] / base[:, 2]
        error = change.std(axis=0, ddof=1) / np.sqrt(len(runs))
        print(
            f"| {name} | {change[:, 0].mean():+.2f} +- {error[0]:.2f} | {change[:, 1].mean():+.4f} +- {error[1]:.4f} | "
            f"{np.median(ratio):.2f} | {ratio.max():.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
