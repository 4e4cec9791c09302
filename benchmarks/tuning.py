"""Tuning on the paper's grid against the authors' code, and the l1 SVM against liblinear.

Run on an idle machine:  python benchmarks/tuning.py > benchmarks/tuning.md
The data sets are looked for in the folder VANISHING_DATA.
"""

import platform
import statistics
import time
import warnings

import numpy as np
from data import published_splits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from speed import gemm_rate

from vanishing import OAVI, PerClass, VanishingIdealClassifierCV, __version__, svm_path

PSIS = (0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001)
CS = (0.1, 1.0, 10.0)

# Seconds of the authors' code for the same search on two cores, one of the published splits, NumPy in place of CuPy.
AUTHORS = {
    ("bank", "CGAVI-IHB"): 0.43,
    ("seeds", "CGAVI-IHB"): 0.65,
    ("htru", "CGAVI-IHB"): 11.6,
    ("htru", "BPCGAVI-WIHB"): 43.0,
    ("skin", "CGAVI-IHB"): 126.0,
    ("credit", "CGAVI-IHB"): 158.0,
    ("spam", "CGAVI-IHB"): 85.0,
}
IDEALS = {
    "CGAVI-IHB": OAVI(solver="cg", boost="ihb", order="degcolex"),
    "BPCGAVI-WIHB": OAVI(solver="bpcg", order="degcolex"),
}


def search_times() -> None:
    print("## The whole search: 7 psi x 3 C x 3 folds, then the refit\n")
    print("Folds, scaling, features and grid as in the paper; median of three runs after one to warm up.\n")
    print("| data | rows | algorithm | theirs s | ours s | ratio | test error % |")
    print("|---|---|---|---|---|---|---|")
    for (name, algorithm), theirs in AUTHORS.items():
        X, y, X_test, y_test = next(published_splits(name))
        scaler = MinMaxScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
        search = VanishingIdealClassifierCV.paper(IDEALS[algorithm], psis=PSIS, Cs=CS, scale_input=False)
        times = [timed(lambda search=search, X=X, y=y: search.fit(X, y)) for _ in range(4)][1:]
        ours = statistics.median(times)
        error = 100.0 * (1.0 - search.score(X_test, y_test))
        print(
            f"| {name} | {len(y):,} | {algorithm} | {theirs:.3g} | {ours:.2f} | **{theirs / ours:.0f}x** "
            f"| {error:.3f} |",
            flush=True,
        )


def svm_times() -> None:
    print("\n## The SVM: C = 0.1, 1, 10\n")
    print(
        "Features |g| of CGAVI-IHB. The objective is ours (free intercept), evaluated at both solutions; `lower` says"
    )
    print("by which share of it ours is lower, `gap` is our certificate, both for the C where it is worst for us.\n")
    print("| data | psi | rows x columns | liblinear s | ours s | ratio | lower by | gap |")
    print("|---|---|---|---|---|---|---|---|")
    for name, psi in (
        ("htru", 1e-4),
        ("skin", 5e-3),
        ("skin", 1e-4),
        ("credit", 5e-3),
        ("credit", 5e-4),
        ("spam", 5e-3),
    ):
        X, y, *_ = next(published_splits(name))
        X = MinMaxScaler().fit_transform(X)
        Z = PerClass(IDEALS["CGAVI-IHB"].set_params(psi=psi)).fit(X, y).transform(X)
        svm_path(Z[::10], y[::10], CS)
        begin = time.perf_counter()
        ours = svm_path(Z, y, CS)
        our_time = time.perf_counter() - begin
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = [LinearSVC(C=C, penalty="l1", dual=False, random_state=0, max_iter=10_000).fit(Z, y) for C in CS]
        their_time = time.perf_counter() - begin
        pairs = [(objective(a, Z, y), objective(b, Z, y)) for a, b in zip(ours, theirs, strict=True)]
        lower = min((b - a) / b for a, b in pairs)
        gap = max(model.gap_[0] / model.objective_[0] for model in ours)
        print(
            f"| {name} | {psi:g} | {Z.shape[0]:,} x {Z.shape[1]} | {their_time:.2f} | {our_time:.3f} "
            f"| **{their_time / our_time:.0f}x** | {lower:.1e} | {gap:.0e} |",
            flush=True,
        )


def objective(model, Z: np.ndarray, y: np.ndarray) -> float:
    margin = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(Z)
    return float(np.abs(model.coef_).sum() + model.C * (np.maximum(0.0, 1.0 - margin) ** 2).sum())


def timed(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    print("# Tuning\n")
    print(
        f"`python benchmarks/tuning.py`, vanishing {__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}; {gemm_rate():.0f} GFLOP/s per core.\n"
    )
    search_times()
    svm_times()


if __name__ == "__main__":
    main()
