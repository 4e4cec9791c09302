"""The classifier on tables that it was not made for: errors, log loss, calibration, size, CPU time, and its rivals.

    OMP_NUM_THREADS=1 python benchmarks/tables.py    an hour of CPU, most of it for EBM
    python benchmarks/tables.py --models default boosting --tables pima glass
    python benchmarks/tables.py --store runs    keeps finished runs in a folder, and goes on from there
    python benchmarks/tables.py --tables keel/*.dat    files of the KEEL repository (sci2s.ugr.es/keel)
    python benchmarks/tables.py --models default boosting --tables winequality --distinct    one of equal rows alone

Stratified 60/40 splits, seeds 0 to 2; everything is tuned on the training rows. The tables are looked for in the folder
VANISHING_DATA: its tables/*.npz (X, y), and the paper's six; three come with scikit-learn. Tables of more than 10,000
rows are sampled. EBM is that of the package interpret-core, and is left out where that is not installed.
"""

import argparse
import importlib.util
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from data import FOLDER, keel, table
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from stamp import stamp

from vanishing import Columns, VanishingIdealClassifierCV

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


def ebm():
    """InterpretML's explainable boosting machine, as it comes: a sum of curves of columns, and of maps of pairs."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=0)


MODELS = {
    "default": lambda: VanishingIdealClassifierCV(n_jobs=1),
    "average": lambda: VanishingIdealClassifierCV(refit="average", n_jobs=1),
    "1se": lambda: VanishingIdealClassifierCV(refit="1se", n_jobs=1),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "EBM": ebm,
    "RBF SVM": kernel_svm,
    "logistic": lambda: logistic(1),
    "logistic, degree 2": lambda: logistic(2),
    "no ideals": without_ideals,
}


def size_of(model) -> dict[str, Any]:
    """What a reader of a model has to take in: its terms, and the numbers behind them.

    Ours are columns with a weight, and the weights, coefficients and scalings of these; those of EBM are curves and
    maps, and their entries; boosting has leaves.
    """
    if hasattr(model, "term_scores_"):
        return {"terms": len(model.term_scores_), "numbers": sum(scores.size for scores in model.term_scores_)}
    if hasattr(model, "_predictors"):
        return {"numbers": sum(tree.get_n_leaf_nodes() for trees in model._predictors for tree in trees)}
    best = getattr(model, "best_estimator_", None)
    if not hasattr(best, "n_columns_") or model.refit == "average":  # a mean of models is no single formula
        return {}
    used = [g.polynomial for g in best.generators_ if np.any(g.weight) or np.any(g.signed_weight)]
    planes = len(np.atleast_2d(best.final_estimator_.coef_))
    coefficients = sum(np.count_nonzero(polynomial.coef) for polynomial in used)
    return {
        "terms": best.n_columns_,
        "numbers": best.n_columns_ * planes + coefficients + 2 * best.n_features_in_ + planes,
    }


def calibration_error(probabilities: np.ndarray, right: np.ndarray, n_bins: int = 10) -> float:
    """Expected calibration error of the predicted class: mean difference of confidence and share of right answers."""
    confidence = probabilities.max(axis=1)
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    return float(sum(abs((confidence[bins == b] - right[bins == b]).sum()) for b in range(n_bins)) / len(right))


def measure(make, X, y, seed: int) -> dict[str, Any]:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    begin = time.process_time()
    model = make().fit(X_train, y_train)
    seconds = time.process_time() - begin
    run = {"error": 100.0 * (1.0 - np.mean(model.predict(X_test) == y_test)), "s": seconds}
    run |= {key: float(value) for key, value in size_of(model).items()} | {"stamp": stamp()}
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X_test)
        codes = np.searchsorted(model.classes_, y_test)
        run["log loss"] = float(-np.log(np.maximum(probabilities[np.arange(len(codes)), codes], 1e-15)).mean())
        run["ECE"] = calibration_error(probabilities, probabilities.argmax(axis=1) == codes)
    return run


def measure_once(store: Path | None, table: str, model: str, X, y, seed: int) -> dict[str, Any]:
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
    models = [name for name in arguments.models if name != "EBM" or importlib.util.find_spec("interpret")]
    results: dict[str, dict[str, dict[str, float]]] = {}
    shapes, stamps = {}, set()
    for name in arguments.tables:
        X, y = distinct(*load(name)) if arguments.distinct else load(name)
        warm_up(X, y)
        results[name], shapes[name] = {}, f"{X.shape[0]:,} x {X.shape[1]}"
        for model in models:
            runs = [measure_once(arguments.store, name, model, X, y, seed) for seed in range(arguments.seeds)]
            stamps |= {run.pop("stamp") for run in runs}
            results[name][model] = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    print(f"At {'; '.join(sorted(stamps))}. Splits: {arguments.seeds}.")
    for title, key, digits in (("Test errors in percent", "error", 2), ("Log loss", "log loss", 3), ("CPU s", "s", 1)):
        print(f"\n{title}:\n\n| table | rows x columns | {' | '.join(models)} |\n|---|---{'|---' * len(models)}|")
        for name, found in results.items():
            cells = [f"{found[model][key]:.{digits}f}" if key in found[model] else "" for model in models]
            print(f"| {Path(name).stem} | {shapes[name]} | {' | '.join(cells)} |")
    summary(results, models)


def warm_up(X, y) -> None:
    """Load compiled code."""
    VanishingIdealClassifierCV(psis=[0.1, 0.01], Cs=[1.0], cv=2, n_jobs=1).fit(X[:400], np.arange(len(X[:400])) % 3)


def summary(results, models) -> None:
    print("\nOver the tables (medians of terms and numbers, means of the rest):\n")
    print("| | " + " | ".join(models) + " |\n|---|" + "---|" * len(models))
    for key in ("error", "log loss", "ECE", "s", "terms", "numbers"):
        cells = [[found[model].get(key, np.nan) for found in results.values()] for model in models]
        middle = np.median if key in ("terms", "numbers") else np.mean
        print(
            f"| {key} | " + " | ".join("" if np.isnan(cell).all() else f"{middle(cell):.3g}" for cell in cells) + " |"
        )
    for rival in [name for name in ("boosting", "EBM") if name in models]:
        print(f"\nDifference of errors to {rival}, in points:\n")
        print("| | mean | standard error | better on | worst |\n|---|---|---|---|---|")
        for model in [name for name in models if name != rival]:
            gaps = np.array([found[model]["error"] - found[rival]["error"] for found in results.values()])
            worst = max(results, key=lambda name: results[name][model]["error"] - results[name][rival]["error"])
            print(
                f"| {model} | {gaps.mean():+.2f} | {gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0:.2f} "
                f"| {(gaps < 0).sum()} of {len(gaps)} | {Path(worst).stem} {gaps.max():+.2f} |"
            )


if __name__ == "__main__":
    main()
