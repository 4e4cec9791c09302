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
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from file_mutations import mutated

from vanishing import (
    ABM,
    OAVI,
    VCA,
    ModelFileError,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
    discover,
    load,
    save,
)
from vanishing.detection import Rules


def models(rng):
    """Small fitted models of several kinds, with rows for them."""
    X = rng.random((150, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    y = np.array(["no", "perhaps", "yes"])[np.digitize(X[:, 0], [0.3, 0.6])]
    search = VanishingIdealClassifierCV(psis=[0.05, 0.01], Cs=[1.0], cv=2)
    ideals = [OAVI(0.01).fit(X), ABM(0.01).fit(X), VCA(0.01).fit(X)]
    pipeline = make_pipeline(MinMaxScaler(), StandardScaler(), OAVI(0.01)).fit(X)
    return X, [*ideals, search.fit(X, y), VanishingIdealDetector().fit(X), discover(X), Rules.learn(X), pipeline]


def compute(model, X):
    """What the model is for, on some rows."""
    if hasattr(model, "check"):
        model.check(X)
    elif hasattr(model, "dense"):
        _ = [law.distance(X) for law in model]
    else:
        (getattr(model, "predict", None) or getattr(model, "transform", None) or model.evaluate)(X)


def fuzz(folder, n_files, seed):
    """How many changed files were refused, and how many held a model that computes."""
    rng = np.random.default_rng(seed)
    X, fitted = models(rng)
    path, refused, valid = folder / "changed.vi", 0, 0
    wholes = []
    for model in fitted:
        save(model, path)
        wholes.append(path.read_bytes())
    for k in range(n_files):
        path.write_bytes(mutated(wholes[k % len(wholes)], rng))
        try:
            model = load(path)
        except ModelFileError:
            refused += 1
            continue
        with suppress(ValueError, TypeError, NotFittedError, AttributeError):  # other columns, not fitted, odd steps
            compute(model, X)
        valid += 1
    return refused, valid


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        refused, valid = fuzz(Path(folder), arguments.files, arguments.seed)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{arguments.files:,} files: {refused:,} refused, {valid:,} still models, nothing else")
    print(
        f"{time.process_time() - start:.0f} s of CPU, {grown:.0f} MB more than before, training and compiling included"
    )


if __name__ == "__main__":
    main()
