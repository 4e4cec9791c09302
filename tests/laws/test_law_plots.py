"""Pictures of laws."""

import sys

import numpy as np
import pytest
from tables import circle, gas, oscillators, saddle, with_noise

from vanishing import discover

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize(("make", "first"), [(circle, "zero set"), (saddle, "zero set"), (gas, "prediction")])
def test_four_pictures_of_a_law(make, first, rng, tmp_path):
    X = with_noise(make(rng, 500), 0.01, rng)
    figure = discover(X, max_degree=2).plot(X)
    assert len(figure.axes) == 4
    assert figure.axes[0].get_title() == first
    figure.savefig(tmp_path / "law.png")
    assert (tmp_path / "law.png").stat().st_size > 10_000


def test_the_curve_goes_through_the_rows(rng):
    X = with_noise(circle(rng, 500), 0.01, rng)
    axes = discover(X).plot(X).axes[0]
    points = np.concatenate([path.vertices for path in axes.collections[0].get_paths()])
    assert np.abs(np.hypot(*points.T) - 1.0).max() < 0.05


def test_conserved_quantities_have_pictures(rng):
    X, runs = oscillators(rng)
    laws = discover(with_noise(X, 0.01, rng), groups=runs, max_degree=2)
    assert laws.plot(X).axes[0].get_title() == "values of the polynomial"


def test_there_is_no_picture_of_no_law(rng):
    with pytest.raises(ValueError, match="no law to draw"):
        discover(rng.normal(size=(200, 2)), max_degree=2).plot()


def test_missing_matplotlib_names_the_extra(monkeypatch, rng):
    laws = discover(with_noise(circle(rng, 300), 0.01, rng))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"vanishing\[plots\]"):
        laws.plot()
