"""Detection: 18 tables of ADBench, a plant, false alarms, and speed. ``python benchmarks/detection.py [part ...]``.

Parts: adbench, unsupervised, plant, alarms, binary, large, stream. The tables come from ``VANISHING_DATA``/adbench.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from vanishing import VanishingIdealDetector
from vanishing.engine.gram import mean_gram
from vanishing.polynomials.terms import Program, terms_up_to
from vanishing.rows.arrays import as_rows

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "detection"))
from plant import FAULTS, NAMES, plant

FOLDER = Path(os.environ.get("VANISHING_DATA", "data")) / "adbench"


# --- the other detectors, with their defaults; higher scores are worse ------------------------------------------------


def ours(train, test):
    return -VanishingIdealDetector().fit(train).score_samples(test)


def forest(train, test):
    return -IsolationForest(random_state=0).fit(train).score_samples(test)


def lof(train, test):
    model = make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True)).fit(train)
    return -model.score_samples(test)


def pca(train, test):
    """Sum of the squared principal scores over their variances, as Shyu et al. (2003)."""
    model = make_pipeline(StandardScaler(), PCA(whiten=True)).fit(train)
    kept = model[-1].explained_variance_ > 1e-9
    return (model.transform(test)[:, kept] ** 2).sum(axis=1)


def ecod(train, test):
    """Empirical tails of the columns (Li et al., "ECOD", 2022): the largest of left, right and skew-chosen sums."""
    ordered = np.sort(train, axis=0)
    left, right = np.empty(test.shape), np.empty(test.shape)
    for j in range(test.shape[1]):
        left[:, j] = np.searchsorted(ordered[:, j], test[:, j], side="right")
        right[:, j] = len(train) - np.searchsorted(ordered[:, j], test[:, j], side="left")
    left, right = (-np.log((tail + 1.0) / (len(train) + 1.0)) for tail in (left, right))
    centred = train - train.mean(axis=0)
    skew = (centred**3).mean(axis=0)
    chosen = np.where(skew < 0.0, left, right)
    return np.max([left.sum(axis=1), right.sum(axis=1), chosen.sum(axis=1)], axis=0)


def svm(train, test):
    return -make_pipeline(StandardScaler(), OneClassSVM()).fit(train).score_samples(test)


DETECTORS = {"ours": ours, "isolation forest": forest, "LOF": lof, "PCA": pca, "ECOD": ecod, "one-class SVM": svm}


# --- ADBench ----------------------------------------------------------------------------------------------------------


def tables(*, all_rows):
    """Name, training rows, test rows and their labels, by the protocol of the tables' README."""
    for path in sorted(FOLDER.glob("*.npz"), key=lambda path: int(path.name.split("_")[0])):
        with np.load(path) as file:
            X, y = file["X"].astype(float), file["y"].ravel().astype(int)
        X = X[:, X.min(axis=0) < X.max(axis=0)]
        rng = np.random.default_rng(0)
        chosen = rng.permutation(len(X))[:6000]
        X, y = X[chosen], y[chosen]
        normal = rng.permutation(np.flatnonzero(y == 0))
        train = normal[: int(0.6 * len(normal))]
        test = np.setdiff1d(np.arange(len(y)), train)
        yield (path.stem, X, X, y) if all_rows else (path.stem, X[train], X[test], y[test])


def adbench(*, all_rows=False):
    print("| table | rows x columns | " + " | ".join(DETECTORS) + " | CPU s |")
    print("|---" * (len(DETECTORS) + 3) + "|")
    found = []
    for name, train, test, y in tables(all_rows=all_rows):
        row = []
        for label, detector in DETECTORS.items():
            start = time.process_time()
            row.append(roc_auc_score(y, detector(train, test)))
            if label == "ours":
                seconds = time.process_time() - start
        found.append(row)
        print(f"| {name} | {train.shape[0]} x {train.shape[1]} | " + " | ".join(f"{a:.3f}" for a in row), end="")
        print(f" | {seconds:.1f} |", flush=True)
    ranks = np.mean([[1 + sum(b > a for b in row) + 0.5 * (row.count(a) - 1) for a in row] for row in found], axis=0)
    print("| **mean** | | " + " | ".join(f"**{a:.3f}**" for a in np.mean(found, axis=0)) + " | |")
    print("| mean rank | | " + " | ".join(f"{rank:.2f}" for rank in ranks) + " | |\n")


# --- the plant --------------------------------------------------------------------------------------------------------


def explained(detector, row, sensor):
    """Whether the first equation has the sensor in it, and whether it is among the first two columns."""
    first = detector.explain(row)["equation"][0]
    columns = list(detector.explain(row, by="column")["column"])[:2]
    return f"x{NAMES.index(sensor)}" in first.replace("*", " ").split(), f"x{NAMES.index(sensor)}" in columns


def faults(n_draws=5):
    print("| fault | AUROC, ours | LOF | alarms at 1% | violated law first | sensor among the first two columns |")
    print("|---" * 6 + "|")
    models = []
    for draw in range(n_draws):
        rows = plant(2000, 100 + draw)
        models.append(
            (
                VanishingIdealDetector().fit(rows),
                make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True)).fit(rows),
            )
        )
    for fault, sensor in FAULTS.items():
        figures = []
        for draw, (detector, other) in enumerate(models):
            normal, faulty = plant(1000, 200 + draw), plant(1000, 300 + draw, fault)
            both, y = np.vstack([normal, faulty]), np.repeat([0, 1], 1000)
            alarming = faulty[detector.predict(faulty) == -1]
            shown = [explained(detector, row, sensor) for row in alarming[:: max(len(alarming) // 40, 1)]]
            figures.append(
                [
                    roc_auc_score(y, -detector.score_samples(both)),
                    roc_auc_score(y, -other.score_samples(both)),
                    np.mean(detector.predict(faulty) == -1),
                    *np.mean(shown, axis=0),
                ]
            )
        a, b, alarms, law, column = np.mean(figures, axis=0)
        print(f"| {fault} ({sensor}) | {a:.3f} | {b:.3f} | {alarms:.0%} | {law:.0%} | {column:.0%} |", flush=True)
    print()


# --- false alarms -----------------------------------------------------------------------------------------------------


def mixture(m, rng):
    centre = rng.integers(0, 3, m)[:, None] * np.array([4.0, -3.0, 2.0, 1.0, 0.0, 0.0])
    return centre + rng.normal(size=(m, 6)) @ np.array(np.tri(6))


def heavy(m, rng):
    return np.exp(rng.normal(size=(m, 5)))


def alarms(n_draws=50):
    print("| rows | false alarms at 1%, mean of 50 draws | at 5% |")
    print("|---|---|---|")
    for name, draw in {
        "plant, 10 columns": lambda m, rng: plant(m, rng),
        "mixture of 3, 6 columns": mixture,
        "lognormal, 5 columns": heavy,
    }.items():
        found = []
        for k in range(n_draws):
            rng = np.random.default_rng(k)
            p = VanishingIdealDetector().fit(draw(2000, rng)).p_values(draw(2000, rng))
            found.append([np.mean(p <= 0.01), np.mean(p <= 0.05)])
        one, five = np.mean(found, axis=0)
        print(f"| {name} | {one:.2%} | {five:.2%} |", flush=True)
    print()


# --- speed ------------------------------------------------------------------------------------------------------------


def cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def binary():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(3500, 5)) @ rng.normal(size=(5, 39))
    X = (hidden + rng.normal(size=hidden.shape) > 0.5).astype(float)
    VanishingIdealDetector().fit(X)
    print(f"3,500 rows of 39 binary columns: fit {cpu(lambda: VanishingIdealDetector().fit(X)):.2f} s of CPU\n")


def large(m=10_000_000):
    X = np.random.default_rng(0).standard_normal((m, 10))
    program = Program.of(terms_up_to(2, 10))
    mean_gram(as_rows(X[:10_000]), program, 0)
    one_pass = min(cpu(lambda: mean_gram(as_rows(X), program, 0)) for _ in range(2))
    for regimes in (False, True):
        detector = VanishingIdealDetector(regimes=regimes)
        fit = min(cpu(partial(detector.fit, X)) for _ in range(2))
        print(f"{m:,} x 10, regimes={regimes}: {fit:.2f} s of CPU, {fit / one_pass:.2f} passes of degree 2", flush=True)
    print()


def stream():
    rng = np.random.default_rng(0)
    for degree in (2, None):
        detector = VanishingIdealDetector(degree=degree).fit(rng.standard_normal((20_000, 10)))
        more = rng.standard_normal((1000, 10))
        detector.partial_fit(more)
        each = 1e3 * np.sort([cpu(partial(detector.partial_fit, more)) for _ in range(300)])
        print(f"partial_fit of 1,000 x 10 rows, degree {detector.degree_}: median {each[150]:.1f} ms of CPU", end=", ")
        print(f"fastest {each[0]:.1f}, 90% below {each[270]:.1f}", flush=True)
    print()


PARTS = {
    "adbench": adbench,
    "unsupervised": lambda: adbench(all_rows=True),
    "plant": faults,
    "alarms": alarms,
    "binary": binary,
    "large": large,
    "stream": stream,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        print(f"## {part}\n", flush=True)
        PARTS[part]()
