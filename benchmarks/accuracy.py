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

from vanishing import OAVI, Columns, VanishingIdealClassifierCV, __version__
from vanishing.experiments import joint_sparsity

DENSE = {"solver": "cg", "boost": "ihb"}
CONFIGURATIONS = {
    "paper's pipeline, CGAVI-IHB": lambda: VanishingIdealClassifierCV.paper(OAVI(order="degcolex", **DENSE)),
    "paper's pipeline, BPCGAVI-WIHB": lambda: VanishingIdealClassifierCV.paper(OAVI(solver="bpcg", order="degcolex")),
    "`VanishingIdealClassifierCV()`": VanishingIdealClassifierCV,
    "`VanishingIdealClassifierCV(refit='average')`": lambda: VanishingIdealClassifierCV(refit="average"),
}
OPTIONS = {
    f"scale_features={scale}, append_input={append}": lambda scale=scale, append=append: (
        VanishingIdealClassifierCV.paper(
            columns=Columns("absolute", append_input=append, scale_features=scale), Cs=(0.1, 1.0, 10.0, 100.0)
        )
    )
    for scale in (False, True)
    for append in (False, True)
}
# Best of the paper's Table 3, and its BPCGAVI-WIHB's sparsity.
PUBLISHED = {"credit": (17.98, 0.67), "htru": (2.05, 0.52), "skin": (0.22, 0.03), "spam": (6.67, 0.71)}


def run(name: str, make, n_splits: int) -> str:
    errors, seconds, psis, Cs, used, spar = [], [], [], [], [], []
    for X, y, X_test, y_test in published_splits(name, n_splits):
        begin = time.process_time()
        search = make().fit(X, y)
        seconds.append(time.process_time() - begin)
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
    parser.add_argument("--only", default="", help="the configurations with this text in their name")
    arguments = parser.parse_args()
    print(f"# {'What the options are worth' if arguments.options else 'Accuracy'}\n")
    print(
        f"`python benchmarks/accuracy.py{' --options' if arguments.options else ''}`, vanishing {__version__}, "
        f"Python {platform.python_version()}. {arguments.splits} published splits; psi and C tuned by threefold "
        "cross-validation on the training rows. psi, C: medians of the chosen ones; used: features with a weight.\n"
    )
    for name in arguments.data:
        error, spar = PUBLISHED[name]
        print(f"## {name} (published: {error}, SPAR {spar})\n")
        print("| configuration | test error % | std | psi | C | used | SPAR | CPU s per search |")
        print("|---|---|---|---|---|---|---|---|")
        chosen = OPTIONS if arguments.options else CONFIGURATIONS
        for text, make in chosen.items():
            if not arguments.only or arguments.only in text:
                print(f"| {text} {run(name, make, arguments.splits)}", flush=True)
        if not (arguments.options or arguments.only):
            print(boosting(name, arguments.splits), flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
