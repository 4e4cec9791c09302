"""Sparsity and test error of BPCGAVI-WIHB at the psi and C of the published runs, split by split.

    python benchmarks/sparsity.py > benchmarks/sparsity.md

The data sets are looked for in the folder VANISHING_DATA.
"""

import platform

import numpy as np
from data import published_splits

from vanishing import OAVI, VanishingIdealClassifier, __version__
from vanishing.experiments import joint_sparsity

# Of the ten runs behind Table 3 of Wirth, Kera and Pokutta (2023): psi, C, mean sparsity, mean test error in percent.
PUBLISHED = {
    "credit": (
        (0.05, 0.005, 0.1, 0.1, 0.005, 0.005, 0.005, 0.05, 0.001, 0.05),
        (0.1, 0.1, 1.0, 1.0, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0),
        (0.673, 17.977),
    ),
    "htru": ((0.1, 0.001, 0.0005, 0.0005, 0.001, 0.01, 0.001, 0.001, 0.0005, 0.001), (10.0,) * 10, (0.515, 2.052)),
    "skin": ((0.0001,) * 10, (10.0,) * 10, (0.027, 0.218)),
    "spam": ((0.1, 0.005, 0.0005, 0.01, 0.1, 0.0005, 0.0005, 0.01, 0.01, 0.01), (10.0,) * 10, (0.706, 6.714)),
}


def main() -> None:
    print("# Sparse generators\n")
    print(
        f"`python benchmarks/sparsity.py`, vanishing {__version__}, Python {platform.python_version()}. The paper's "
        "pipeline with `OAVI(solver='bpcg', order='degcolex')`, that is BPCGAVI-WIHB, at the published psi and C of "
        "each of the ten splits. SPAR: share of zeros among the coefficients below the leading term.\n"
    )
    print("| data | published SPAR | ours | dense (CGAVI-IHB) | published error % | ours | dense |")
    print("|---|---|---|---|---|---|---|")
    for name, (psis, Cs, published) in PUBLISHED.items():
        found = {"sparse": [], "dense": []}
        for psi, C, (X, y, X_test, y_test) in zip(psis, Cs, published_splits(name), strict=True):
            for kind, options in (("sparse", {"solver": "bpcg"}), ("dense", {"solver": "cg", "boost": "ihb"})):
                model = VanishingIdealClassifier(
                    OAVI(psi, order="degcolex", **options),
                    C=C,
                    scale_features=False,
                    append_input=False,
                ).fit(X, y)
                lists = [ideal.generators_ for ideal in model.ideals_.estimators_]
                found[kind].append((joint_sparsity(lists), 100.0 * (1.0 - model.score(X_test, y_test))))
        (spar, error), (dense_spar, dense_error) = (np.mean(found[kind], axis=0) for kind in ("sparse", "dense"))
        print(
            f"| {name} | {published[0]:.2f} | **{spar:.2f}** | {dense_spar:.2f} | {published[1]:.3f} | {error:.3f} "
            f"| {dense_error:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
