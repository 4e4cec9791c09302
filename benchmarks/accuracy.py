"""Test errors on the paper's ten splits, tuned on the training rows only.

    python benchmarks/accuracy.py > benchmarks/accuracy.md            about half an hour on two cores
    python benchmarks/accuracy.py --options > benchmarks/options.md   what scaling and appending are worth

The data sets are looked for in the folder VANISHING_DATA.
"""

import argparse
import platform
import time

import numpy as np
from data import published_splits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import KFold

from vanishing import OAVI, VanishingIdealClassifierCV, __version__
from vanishing.experiments import joint_sparsity

PAPER = {
    "psis": (0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001),
    "cv": KFold(3),
    "scale_features": False,
    "append_input": False,
}
HAND = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
DENSE = {"solver": "cg", "boost": "ihb"}
CONFIGURATIONS = {
    "paper's pipeline, CGAVI-IHB": (OAVI(order="degcolex", **DENSE), PAPER),
    "paper's pipeline, BPCGAVI-WIHB": (OAVI(solver="bpcg", order="degcolex"), PAPER),
    "`VanishingIdealClassifierCV(OAVI(solver='cg', boost='ihb'))`": (OAVI(**DENSE), {}),
    "`VanishingIdealClassifierCV()`": (OAVI(), {}),
    "`VanishingIdealClassifierCV(psis=HAND)`": (OAVI(), {"psis": HAND}),
}
OPTIONS = {
    f"scale_features={scale}, append_input={append}": (
        OAVI(**DENSE),
        {"scale_features": scale, "append_input": append, "Cs": (0.1, 1.0, 10.0, 100.0)},
    )
    for scale in (False, True)
    for append in (False, True)
}
# Best of the paper's Table 3, and its BPCGAVI-WIHB's sparsity.
PUBLISHED = {"credit": (17.98, 0.67), "htru": (2.05, 0.52), "skin": (0.22, 0.03), "spam": (6.67, 0.71)}


def run(name: str, ideal: OAVI, options: dict, n_splits: int) -> str:
    errors, seconds, psis, Cs, used, spar = [], [], [], [], [], []
    for X, y, X_test, y_test in published_splits(name, n_splits):
        begin = time.perf_counter()
        search = VanishingIdealClassifierCV(ideal, **options).fit(X, y)
        seconds.append(time.perf_counter() - begin)
        errors.append(100.0 * (1.0 - search.score(X_test, y_test)))
        psis.append(search.best_params_["psi"])
        Cs.append(search.best_params_["C"])
        used.append((np.abs(search.best_estimator_.final_estimator_.coef_) > 0.0).any(axis=0).sum())
        spar.append(joint_sparsity([model.generators_ for model in search.best_estimator_.ideals_.estimators_]))
    return (
        f"| {np.mean(errors):.3f} | {np.std(errors):.3f} | {np.median(psis):.2g} | {np.median(Cs):g} "
        f"| {np.mean(used):.0f} | {np.mean(spar):.2f} | {np.mean(seconds):.1f} |"
    )


def boosting(name: str, n_splits: int) -> str:
    """Gradient boosting with scikit-learn's default settings, for comparison."""
    errors = [
        100.0 * (1.0 - HistGradientBoostingClassifier(random_state=0).fit(X, y).score(X_test, y_test))
        for X, y, X_test, y_test in published_splits(name, n_splits)
    ]
    return f"| gradient boosting, for comparison | {np.mean(errors):.3f} | {np.std(errors):.3f} | | | | | |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", nargs="*", default=list(PUBLISHED))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--options", action="store_true")
    arguments = parser.parse_args()
    print(f"# {'What the options are worth' if arguments.options else 'Accuracy'}\n")
    print(
        f"`python benchmarks/accuracy.py{' --options' if arguments.options else ''}`, vanishing {__version__}, "
        f"Python {platform.python_version()}. {arguments.splits} published splits; psi and C tuned by threefold "
        "cross-validation on the training rows. psi, C: medians of the chosen ones; used: features with a weight. "
        f"HAND = {HAND}.\n"
    )
    for name in arguments.data:
        error, spar = PUBLISHED[name]
        print(f"## {name} (published: {error}, SPAR {spar})\n")
        print("| configuration | test error % | std | psi | C | used | SPAR | s per search |")
        print("|---|---|---|---|---|---|---|---|")
        for text, (ideal, options) in (OPTIONS if arguments.options else CONFIGURATIONS).items():
            if name == "spam" and options.get("psis") == HAND:
                continue  # thousands of generators of 57 columns, nearly as many as rows
            print(f"| {text} {run(name, ideal, options, arguments.splits)}", flush=True)
        if not arguments.options:
            print(boosting(name, arguments.splits), flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
