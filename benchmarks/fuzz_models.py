"""Change files of models at random and load them: each is refused with a ModelFileError, or its model computes.

python benchmarks/fuzz_models.py --files 100000
"""

import argparse
import resource
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from file_mutations import mutated

from vanishing import (
    ABM,
    AVI,
    L1SVC,
    OAVI,
    VCA,
    ModelFileError,
    PerClass,
    TableEncoder,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
    discover,
    load,
    save,
)
from vanishing.detection import Rules


def models(rng):
    """Small fitted models of every kind, each with rows for it."""
    X = rng.random((150, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    y = np.array(["no", "perhaps", "yes"])[np.digitize(X[:, 0], [0.3, 0.6])]
    search = VanishingIdealClassifierCV(psis=[0.05, 0.01], Cs=[1.0], cv=2)
    classifiers = [search, VanishingIdealClassifier(), L1SVC(), PerClass(OAVI(0.01))]
    ideals = [OAVI(0.01), ABM(0.01), AVI(0.01), VCA(0.01), make_pipeline(MinMaxScaler(), StandardScaler(), OAVI(0.01))]
    plain = [model.fit(X, y) for model in [*classifiers, *ideals, VanishingIdealDetector()]]
    table = _table(X, rng)
    encoded = [TableEncoder().fit(table), make_pipeline(TableEncoder(), VanishingIdealClassifier()).fit(table, y)]
    return [(model, X) for model in [*plain, discover(X), Rules.learn(X)]] + [(model, table) for model in encoded]


def _table(X, rng):
    """The rows with texts and gaps beside them."""
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(color=rng.choice(["red", "green", "blue"], len(X)))
    return table.mask(rng.random(table.shape) < 0.1)


def compute(model, X):
    """What the model is for, on some rows."""
    if hasattr(model, "check"):
        model.check(X)
    elif hasattr(model, "dense"):
        _ = [law.distance(X) for law in model]
    else:  # a search with refit=False has none of these
        name = next((name for name in ("predict", "transform", "evaluate") if hasattr(model, name)), None)
        _ = name and getattr(model, name)(X)


def fuzz(whole_files, n_files, path, rng):
    """How many changed files were refused, and how many held a model that computes."""
    refused = 0
    for k in range(n_files):
        whole, X = whole_files[k % len(whole_files)]
        path.write_bytes(mutated(whole, rng))
        try:
            model = load(path)
        except ModelFileError:
            refused += 1
            continue
        with suppress(ValueError):  # a sentence about other columns than those of the rows, or an odd parameter
            compute(model, X)
    return refused, n_files - refused


def saved(path, rng):
    """Files of models with rows for them; each is loaded and used, so that all is compiled."""
    files = []
    for model, X in models(rng):
        save(model, path)
        compute(load(path), X)
        files.append((path.read_bytes(), X))
    return files


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        path = Path(folder) / "changed.vi"
        whole_files = saved(path, rng)
        before, start = peak_megabytes(), time.process_time()
        refused, valid = fuzz(whole_files, arguments.files, path, rng)
    print(f"{arguments.files:,} files: {refused:,} refused, {valid:,} still models, nothing else")
    print(f"{time.process_time() - start:.0f} s of CPU, {peak_megabytes() - before:.0f} MB more than before")


if __name__ == "__main__":
    main()
