import numpy as np
import pandas as pd
import pytest

from vanishing import OAVI, PerClass, VanishingIdealClassifierCV, VanishingIdealDetector, discover
from vanishing.rules import Rules

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="session", autouse=True)
def drawn_nowhere():
    pytest.importorskip("matplotlib", reason="needs Matplotlib: pip install 'vanishing[report]'").use("Agg")


def products(n, seed):
    """Rows with ``c = a b``; the names of the columns try to be markup."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.2, 1.0, (2, n))
    table = np.column_stack([a, b, a * b + rng.normal(0.0, 0.002, n)])
    return pd.DataFrame(table, columns=[HOSTILE, "US$ & 'x'", "c"])


def rings(n, seed):
    rng = np.random.default_rng(seed)
    inner = rng.random(n) < 0.5
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(inner, 1.0, 2.0) + rng.normal(0, 0.05, n)
    X = pd.DataFrame(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), columns=[HOSTILE, "y"])
    return X, np.where(inner, "<img src=x onerror=alert(1)>", "outer")


def unit_rings(n, seed):
    X, y = rings(n, seed)
    return (X + 2.3) / 4.6, y


@pytest.fixture(scope="session")
def subjects():
    """For each kind of model: the fitted model, and rows for its report."""
    train, test = products(600, 0), products(400, 1)
    test.iloc[7, 2] += 0.3
    return {
        "ideal": (OAVI(1e-4, max_degree=2).fit(train), (test,)),
        "laws": (discover(train, max_degree=2), (test,)),
        "detector": (VanishingIdealDetector(regimes=False, degree=2).fit(train), (test,)),
        "classifier": (
            VanishingIdealClassifierCV(psis=[1e-5, 1e-6], Cs=[1.0], cv=2).fit(*rings(300, 0)),
            rings(200, 1),
        ),
        "per class": (PerClass(OAVI(1e-3, max_degree=2)).fit(*unit_rings(300, 0)), unit_rings(200, 1)),
        "rules": (Rules.learn(train), (test,)),
    }


@pytest.fixture(scope="session")
def pages(subjects, tmp_path_factory):
    """For each kind of model the file with its report."""
    folder = tmp_path_factory.mktemp("reports")
    files = {}
    for kind, (model, rows) in subjects.items():
        files[kind] = folder / f"{kind}.html"
        model.report(*rows, path=files[kind])
    return files
