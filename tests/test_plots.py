import sys

import numpy as np
import pytest

from vanishing import OAVI
from vanishing.plots import zero_sets


@pytest.fixture
def fitted(circle):
    import matplotlib as mpl

    mpl.use("Agg")
    return OAVI(1e-8, max_degree=2).fit(circle).generators_


def test_the_drawn_curve_is_where_the_polynomial_vanishes(fitted, circle):
    import matplotlib.pyplot as plt

    ax = zero_sets(fitted, circle)
    curve = np.vstack([path.vertices for path in ax.collections[0].get_paths()])
    assert len(curve) > 100
    assert np.linalg.norm(curve - 0.5, axis=1) == pytest.approx(0.5, abs=1e-3)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    plt.close("all")


def test_only_two_variables_can_be_drawn():
    G = OAVI(0.01).fit(np.random.default_rng(0).uniform(size=(50, 3))).generators_
    with pytest.raises(ValueError, match="2 variables, got 3"):
        zero_sets(G)


def test_missing_matplotlib_names_the_extra(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"vanishing\[plots\]"):
        zero_sets(fitted)
