import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run; HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def _data_folder() -> Path:
    given = os.environ.get("VANISHING_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def load_table():
    """A function that loads a data set by name: rows and labels, as the paper uses them."""
    loaded = {}

    def load(name):
        if name not in loaded:
            path = _data_folder() / f"{name}.csv.gz"
            if not path.exists():
                pytest.skip(f"{path.name} is not there; set VANISHING_DATA to the folder with the paper's data sets")
            table = np.loadtxt(path, delimiter=",", skiprows=1)
            first = 1 if name == "credit" else 0  # the paper uses 22 of the 23 features
            loaded[name] = table[:, first:-1], table[:, -1]
        return loaded[name]

    return load


@pytest.fixture(scope="session")
def load_classes(load_table):
    """A function that loads a data set by name: one array per class, min-max scaled as a whole."""

    def load(name):
        X, y = load_table(name)
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1.0)
        return [np.ascontiguousarray(X[y == label]) for label in np.unique(y)]

    return load


@pytest.fixture
def circle():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    return np.column_stack([0.5 + 0.5 * np.cos(angle), 0.5 + 0.5 * np.sin(angle)])
