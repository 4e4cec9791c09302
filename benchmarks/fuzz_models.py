"""Change files of models at random and load them: each is refused with a ModelFileError, or its model prints and
computes. Anything else is a fault, which is listed with the file that shows it; the exit status is then 1.

python benchmarks/fuzz_models.py --files 100000
"""

import argparse
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
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
from vanishing.rules import Rules


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


def describe(model):
    """What print and a notebook show, and the relations of an ideal: these have no reason to fail."""
    str(model), repr(model)
    for name in ("relations", "_repr_html_"):
        if hasattr(model, name):
            getattr(model, name)()


def fuzz(whole_files, n_files, path, rng):
    """How many changed files were refused, and the faults of the others: where each was raised, and how often."""
    refused, faults = 0, Counter()
    for k in range(n_files):
        whole, X = whole_files[k % len(whole_files)]
        path.write_bytes(mutated(whole, rng))
        try:
            model = load(path)
        except ModelFileError:
            refused += 1
            continue
        except Exception as error:
            faults[_place_of(error, path)] += 1
            continue
        try:
            describe(model)
            with suppress(ValueError):  # a sentence about other columns than those of the rows, or an odd parameter
                compute(model, X)
        except Exception as error:
            faults[_place_of(error, path)] += 1
    return refused, faults


def _place_of(error, path):
    """Where an error was raised; the file is kept under that name in the folder for temporary files."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
    kept = Path(tempfile.gettempdir()) / f"fault-{place.replace(' ', '-').replace(':', '-')}.vi"
    if not kept.exists():
        kept.write_bytes(path.read_bytes())
    return f"{place}: {error} ({kept})"


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
        refused, faults = fuzz(whole_files, arguments.files, path, rng)
    valid, wrong = (
        arguments.files - refused - faults.total(),
        f"{faults.total():,} faults" if faults else "nothing else",
    )
    print(f"{arguments.files:,} files: {refused:,} refused, {valid:,} still models, {wrong}")
    for place, count in faults.most_common():
        print(f"  {count:,} times {place}")
    print(f"{time.process_time() - start:.0f} s of CPU, {peak_megabytes() - before:.0f} MB more than before")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
