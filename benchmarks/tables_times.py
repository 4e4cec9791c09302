"""CPU seconds of the default search on large made tables, one thread, and its test error beside that of boosting.

OMP_NUM_THREADS=1 python benchmarks/tables_times.py
OMP_NUM_THREADS=1 python benchmarks/tables_times.py --tables "1,000,000 x 5, ring" "1,000,000 x 5, linear" --jobs 2
"""

import argparse
import time
import warnings

import numpy as np
from data import table
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from vanishing import VanishingIdealClassifierCV

N_TEST, N_MANY, N_SKIN = 10_000, 200_000, 245_057  # rows to test on, of a million and more, and of all skin
MILLION = 1_000_000 + N_MANY


def quadratic(m: int, n: int, flipped: float = 0.1):
    """Uniform columns, a quadratic of five of them, and some labels flipped."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(m, n))
    value = ((X[:, :3] - 0.5) ** 2).sum(axis=1) + 0.3 * X[:, 3] * X[:, 4]
    y = value > np.median(value)
    return X, y ^ (rng.random(m) < flipped)


def clusters(m: int, n: int, n_classes: int = 2):
    """Two normal clusters a class, 5% of the labels drawn anew."""
    return make_classification(
        m,
        n,
        n_informative=min(n // 2 + 1, 8),
        n_redundant=min(4, n // 5),
        n_classes=n_classes,
        flip_y=0.05,
        random_state=0,
    )


def normal(m: int, n: int):
    """Normal and log-normal columns, a logit with a product and a sine."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    X[:, ::3] = np.exp(X[:, ::3])
    logit = X[:, 0] - X[:, 1] * X[:, 2] + np.sin(2.0 * X[:, 4]) + 0.5 * X[:, 3]
    return X, logit + 0.5 * rng.logistic(size=m) > np.median(logit)


def linear(m: int, n: int):
    """Normal columns, a linear logit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, :4] @ [1.0, -0.7, 0.5, 0.3] + 0.5 * rng.logistic(size=m) > 0.0


def exclusive(m: int, n: int):
    """Uniform columns, the sign of the product of two of them, 2% of the labels flipped."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(m, n))
    return X, (X[:, 0] * X[:, 1] > 0.0) ^ (rng.random(m) < 0.02)


def ring(m: int, n: int):
    """Normal columns, a ring in two of them with hardly any noise: between two circles, of degree 4."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    radius = np.hypot(X[:, 0], X[:, 1])
    return X + 0.005 * rng.standard_normal((m, n)), (radius > 0.8) & (radius < 1.6)


TABLES = {
    "1,000 x 10, quadratic": lambda: quadratic(1_000 + N_TEST, 10),
    "1,000 x 10, clusters": lambda: clusters(1_000 + N_TEST, 10),
    "10,000 x 16, clusters of seven classes": lambda: clusters(10_000 + N_TEST, 16, 7),
    "10,000 x 16, clusters of thirty classes": lambda: clusters(10_000 + N_TEST, 16, 30),
    "100,000 x 20, quadratic": lambda: quadratic(100_000 + N_TEST, 20),
    "100,000 x 20, clusters": lambda: clusters(100_000 + N_TEST, 20),
    "100,000 x 20, normal": lambda: normal(100_000 + N_TEST, 20),
    "skin, 60% of 245,057 x 3": lambda: table("skin"),
    "1,000,000 x 5, linear": lambda: linear(MILLION, 5),
    "1,000,000 x 5, quadratic": lambda: quadratic(MILLION, 5),
    "1,000,000 x 5, quadratic, 2% of the labels flipped": lambda: quadratic(MILLION, 5, 0.02),
    "1,000,000 x 5, quadratic, no label flipped": lambda: quadratic(MILLION, 5, 0.0),
    "1,000,000 x 5, exclusive or": lambda: exclusive(MILLION, 5),
    "1,000,000 x 5, ring": lambda: ring(MILLION, 5),
    "1,000,000 x 5, normal": lambda: normal(MILLION, 5),
    "1,000,000 x 5, clusters": lambda: clusters(MILLION, 5),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = clusters(1_000, 5, 3)
    VanishingIdealClassifierCV(psis=[0.1, 0.01], Cs=[1.0], cv=2).fit(X, y)  # loads compiled code
    print("| table | CPU s | s | error | columns | boosting |\n|---|---|---|---|---|---|")
    for name in arguments.tables:
        print(f"| {name} | " + " | ".join(measured(*TABLES[name](), arguments.jobs)) + " |", flush=True)


def measured(X, y, n_jobs: int) -> list[str]:
    n_test = {N_SKIN: 0.4, MILLION: N_MANY}.get(len(y), N_TEST)
    X, X_test, y, y_test = train_test_split(X, y, test_size=n_test, stratify=y, random_state=0)
    cpu, wall = time.process_time(), time.perf_counter()
    model = VanishingIdealClassifierCV(n_jobs=n_jobs).fit(X, y)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    boosting = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    errors = [100.0 * np.mean(each.predict(X_test) != y_test) for each in (model, boosting)]
    columns = model.best_estimator_.n_columns_
    return [f"{cpu:.1f}", f"{wall:.1f}", f"{errors[0]:.2f}", f"{columns}", f"{errors[1]:.2f}"]


if __name__ == "__main__":
    main()
