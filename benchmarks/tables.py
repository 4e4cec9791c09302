"""The classifier on tables that it was not made for: errors, log loss, calibration, columns, CPU time, and its rivals.

    OMP_NUM_THREADS=1 python benchmarks/tables.py > benchmarks/tables.md    about half an hour of CPU
    python benchmarks/tables.py --models default boosting --tables pima glass
    python benchmarks/tables.py --store runs    keeps finished runs in a folder, and goes on from there
    python benchmarks/tables.py --tables keel/*.dat    files of the KEEL repository (sci2s.ugr.es/keel)
    python benchmarks/tables.py --models default boosting --tables winequality --distinct    one of equal rows alone

Stratified 60/40 splits, seeds 0 to 2; everything is tuned on the training rows. The tables are looked for in the folder
VANISHING_DATA: its tables/*.npz (X, y), and the paper's six; three come with scikit-learn. Tables of more than 10,000
rows are sampled.
"""

import argparse
import json
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from data import FOLDER, keel, table
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from vanishing import Columns, VanishingIdealClassifierCV, __version__

SKLEARN = {"breast_cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
PAPER = ("bank", "credit", "htru", "seeds", "skin", "spam")
MOST = 10_000


def tables() -> list[str]:
    return [*sorted(path.stem for path in (FOLDER / "tables").glob("*.npz")), *SKLEARN, *PAPER]


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in SKLEARN:
        return SKLEARN[name](return_X_y=True)
    if name in PAPER or name.endswith(".dat"):
        X, y = table(name) if name in PAPER else keel(Path(name))
        chosen = np.random.default_rng(0).permutation(len(y))[:MOST]
        return X[chosen], y[chosen]
    with np.load(FOLDER / "tables" / f"{name}.npz") as file:
        return file["X"], file["y"]


def distinct(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of every group of rows with equal columns: the others would be known when they are tested."""
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    return X[first], y[first]


def logistic(degree: int):
    steps = [StandardScaler()]
    if degree > 1:
        steps += [PolynomialFeatures(degree, include_bias=False), StandardScaler()]
    return make_pipeline(*steps, LogisticRegressionCV(Cs=(0.01, 0.1, 1.0, 10.0), cv=3, max_iter=2000))


def kernel_svm():
    grid = {"svc__C": (1.0, 10.0, 100.0), "svc__gamma": ("scale", 0.01, 0.1)}
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=3)


def without_ideals():
    """The same columns and the same SVM, with inputs, hinges and products, but hardly a generator."""
    return VanishingIdealClassifierCV(psis=[1e3], columns=Columns("absolute", hinges=5, monomials=2), n_jobs=1)


MODELS = {
    "default": lambda: VanishingIdealClassifierCV(n_jobs=1),
    "average": lambda: VanishingIdealClassifierCV(refit="average", n_jobs=1),
    "1se": lambda: VanishingIdealClassifierCV(refit="1se", n_jobs=1),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "RBF SVM": kernel_svm,
    "logistic": lambda: logistic(1),
    "logistic, degree 2": lambda: logistic(2),
    "no ideals": without_ideals,
}


def calibration_error(probabilities: np.ndarray, right: np.ndarray, n_bins: int = 10) -> float:
    """Expected calibration error of the predicted class: mean difference of confidence and share of right answers."""
    confidence = probabilities.max(axis=1)
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    return float(sum(abs((confidence[bins == b] - right[bins == b]).sum()) for b in range(n_bins)) / len(right))


def measure(make, X, y, seed: int) -> dict[str, float]:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    begin = time.process_time()
    model = make().fit(X_train, y_train)
    seconds = time.process_time() - begin
    run = {"error": 100.0 * (1.0 - np.mean(model.predict(X_test) == y_test)), "s": seconds}
    run["columns"] = getattr(getattr(model, "best_estimator_", None), "n_columns_", np.nan)
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X_test)
        codes = np.searchsorted(model.classes_, y_test)
        run["log loss"] = float(-np.log(np.maximum(probabilities[np.arange(len(codes)), codes], 1e-15)).mean())
        run["ECE"] = calibration_error(probabilities, probabilities.argmax(axis=1) == codes)
    return run


def measure_once(store: Path | None, table: str, model: str, X, y, seed: int) -> dict[str, float]:
    """One run, or what is stored of it."""
    file = None if store is None else store / f"{Path(table).stem}-{model}-{seed}.json".replace(" ", "_")
    if file is not None and file.exists():
        return json.loads(file.read_text())
    run = measure(MODELS[model], X, y, seed)
    if file is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(run))
    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", type=Path, help="a folder for finished runs")
    parser.add_argument("--tables", nargs="*", default=tables())
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--distinct", action="store_true", help="keep one of equal rows; use another --store")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("# Tables\n")
    print(f"`python benchmarks/tables.py`, vanishing {__version__}, Python {platform.python_version()}.\n")
    results: dict[str, dict[str, dict[str, float]]] = {}
    print("| table | rows x columns | " + " | ".join(arguments.models) + " |")
    print("|---|---|" + "---|" * len(arguments.models))
    for name in arguments.tables:
        X, y = distinct(*load(name)) if arguments.distinct else load(name)
        warm_up(X, y)
        results[name] = {}
        for model in arguments.models:
            runs = [measure_once(arguments.store, name, model, X, y, seed) for seed in range(arguments.seeds)]
            results[name][model] = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        cells = [f"{found['error']:.2f} ({found['s']:.1f} s)" for found in results[name].values()]
        print(f"| {Path(name).stem} | {X.shape[0]:,} x {X.shape[1]} | " + " | ".join(cells) + " |", flush=True)
    summary(results, arguments.models)


def warm_up(X, y) -> None:
    """Load compiled code."""
    VanishingIdealClassifierCV(psis=[0.1, 0.01], Cs=[1.0], cv=2, n_jobs=1).fit(X[:400], np.arange(len(X[:400])) % 3)


def summary(results, models) -> None:
    print("\n## Means over the tables\n")
    print("| | " + " | ".join(models) + " |\n|---|" + "---|" * len(models))
    for key in ("error", "log loss", "ECE", "columns", "s"):
        cells = [[found[model].get(key, np.nan) for found in results.values()] for model in models]
        middle = np.median if key == "columns" else np.mean
        print(f"| {key} | " + " | ".join(f"{middle(cell):.3g}" for cell in cells) + " |")
    if "boosting" in models:
        rest = [model for model in models if model != "boosting"]
        print("\n## Against boosting: difference of errors in points\n")
        print("| | mean | standard error | better on | worst |\n|---|---|---|---|---|")
        for model in rest:
            gaps = np.array([found[model]["error"] - found["boosting"]["error"] for found in results.values()])
            worst = max(results, key=lambda name: results[name][model]["error"] - results[name]["boosting"]["error"])
            print(
                f"| {model} | {gaps.mean():+.2f} | {gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0:.2f} "
                f"| {(gaps < 0).sum()} of {len(gaps)} | {Path(worst).stem} {gaps.max():+.2f} |"
            )


if __name__ == "__main__":
    main()
