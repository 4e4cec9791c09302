"""Pictures of equations and laws: what is drawn where. How they look is judged by eye, in the gallery."""

import sys

import numpy as np
import pytest

from vanishing import OAVI, discover, ideal_path
from vanishing.plots import (
    plot_attempts,
    plot_coefficients,
    plot_distances,
    plot_prediction,
    plot_projection,
    plot_psi_path,
    plot_residuals,
    plot_zero_set,
)
from vanishing.plots.zero_sets import _marching_cubes

R = 8.314


def noisy(X, rng, level=0.01):
    return X + level * X.std(axis=0) * rng.normal(size=X.shape)


@pytest.fixture(scope="module")
def gas():
    rng = np.random.default_rng(0)
    V, n, T = rng.uniform(1, 3, 1000), rng.uniform(0.5, 2, 1000), rng.uniform(250, 400, 1000)
    X = noisy(np.column_stack([R * n * T / V, V, n, T]), rng)
    return discover(X, names=["p", "V", "n", "T"], max_degree=2), X


@pytest.fixture(scope="module")
def ring():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.0, 2.0 * np.pi, 500)
    X = noisy(2.0 * np.column_stack([np.cos(angle), np.sin(angle)]), rng)
    return discover(X, names=["x", "US$"]), X


def curves(ax):
    return np.vstack([path.vertices for collection in ax.collections for path in collection.get_paths()])


def test_a_curve_is_where_the_polynomial_vanishes(circle):
    ax = plot_zero_set(OAVI(1e-8, max_degree=2).fit(circle).generators_, circle)
    assert np.linalg.norm(curves(ax) - 0.5, axis=1) == pytest.approx(0.5, abs=1e-3)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("x0", "x1", 1.0)


def test_the_axis_that_is_given_is_drawn_on_and_names_are_no_formulas(ring):
    import matplotlib.pyplot as plt

    laws, X = ring
    _, ax = plt.subplots()
    assert plot_zero_set(laws[0], X, ax=ax) is ax
    assert np.linalg.norm(curves(ax), axis=1) == pytest.approx(2.0, abs=0.05)
    assert ax.yaxis.label.get_text() == r"US\$"
    ax.figure.canvas.draw()


def test_a_surface_is_where_the_law_holds():
    pytest.importorskip("skimage", reason="needs scikit-image: pip install 'vanishing[surfaces]'")
    x = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    X = np.column_stack([x, x[:, 0] * x[:, 1]])
    ax = plot_zero_set(discover(X, names=["x", "y", "z"])[0], X)
    assert (ax.name, len(ax.collections)) == ("3d", 2)  # the surface and the rows
    axes = [np.linspace(low, low + 4.0, 40) for low in (-2.0, -1.0, 0.0)]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    corners, triangles = _marching_cubes((x - 0.5) ** 2 + (y - 1.0) ** 2 + (z - 2.0) ** 2 - 1.0, axes)
    assert np.linalg.norm(corners - [0.5, 1.0, 2.0], axis=1) == pytest.approx(1.0, abs=0.01)
    assert triangles.max() < len(corners)


def test_more_columns_have_a_plane_with_the_rows_on_the_curve(gas):
    (law, *_), X = gas
    with pytest.raises(ValueError, match="plot_projection draws a plane"):
        plot_zero_set(law, X)
    ax = plot_projection(law, X, columns=("V", "p"))
    V, p = (np.asarray(values, dtype=float) for values in ax.lines[0].get_data())
    there = np.isfinite(p)
    fixed = np.median(X, axis=0)
    assert there.mean() > 0.95
    assert p[there] * V[there] == pytest.approx(R * fixed[2] * fixed[3], rel=0.15)
    with pytest.raises(ValueError, match="no column 'q': choose two of p, V, n, T"):
        plot_projection(law, X, columns=("q", "p"))


def test_residuals_and_distances_are_those_of_the_law(gas):
    (law, *_), X = gas
    ax = plot_residuals(law, X, against="T", deviation=2.0)
    inside, outside = (line.get_xydata() for line in ax.lines[1:3])
    both = np.vstack([inside, outside])
    order = np.argsort(X[:, 3])
    np.testing.assert_allclose(both[np.argsort(both[:, 0])], np.column_stack([X[:, 3], law.evaluate(X) / 2.0])[order])
    ax = plot_distances(law, X)
    drawn = sum(bar.get_width() * bar.get_height() for bar in ax.patches)
    assert drawn == pytest.approx(1.0)
    ax = plot_prediction(law, X, column="p")
    own, by_law = ax.lines[0].get_data()
    assert np.corrcoef(own, by_law)[0, 1] > 0.999


def test_coefficients_have_their_errors_and_attempts_their_degrees(gas, ring):
    (law, *_), _ = gas
    ax = plot_coefficients(law)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["p V", "n T"]
    bars = ax.collections[1].get_segments()
    assert bars[1][1][0] - bars[1][0][0] == pytest.approx(2.0 * law.free_stderr[1])
    ax = plot_attempts(ring[0])
    assert {int(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o"} == {2}
    assert max(line.get_ydata()[0] for line in ax.lines if line.get_marker() == "o") < 1.0


@pytest.fixture(scope="module", name="ohm")
def law_with_multiplicative_noise():
    rng = np.random.default_rng(0)
    R, I = rng.uniform(1.0, 5.0, (2, 300))  # noqa: E741
    table = np.column_stack([R * I, R, I]) * (1.0 + 0.02 * rng.normal(size=(300, 3)))
    return discover(table, names=["U [V]", "R", "I"]), table


def test_distances_and_the_noise_beside_them_have_one_unit(ohm):
    laws, table = ohm
    assert "multiplicative" in laws[0].noise_kind
    ax = plot_distances(laws[0], table)
    assert ax.get_xlabel() == "distance, in percent of the values"
    middle = np.array([bar.get_x() + 0.5 * bar.get_width() for bar in ax.patches])
    share = np.array([bar.get_height() * bar.get_width() for bar in ax.patches])
    assert np.sqrt(share @ middle**2) == pytest.approx(100.0 * laws[0].level, rel=0.1)


def test_odd_names_stand_in_backticks_beside_coefficients(ohm):
    labels = [label.get_text() for label in plot_coefficients(ohm[0][0]).get_yticklabels()]
    assert labels == ["R I", "`U [V]`"]


def test_each_degree_has_one_remark_about_noise(ohm):
    ax = plot_attempts(ohm[0])
    tested = {attempt.degree for attempt in ohm[0].attempts if attempt.dof > 0}
    remarks = [text.xy[0] for text in ax.texts if text.get_text() == "not tested" or "noise" in text.get_text()]
    assert sorted(remarks) == sorted({attempt.degree for attempt in ohm[0].attempts if attempt.degree} - tested)
    assert ax.get_xticks().min() == 1


def test_rows_are_drawn_above_the_curve(circle):
    ax = plot_zero_set(OAVI(0.001, max_degree=2).fit(circle).generators_, circle)
    (rows,) = (line for line in ax.lines if line.get_marker() == ".")
    assert all(rows.get_zorder() > curve.get_zorder() for curve in ax.collections)


def test_a_psi_path_shows_every_generator_below_the_bound(circle):
    models = ideal_path(OAVI(max_degree=3), circle, [0.1, 0.01, 0.001])
    ax = plot_psi_path(models)
    psi, square = ax.lines[0].get_data()
    assert len(psi) == sum(len(model.generators_) for model in models)
    assert (square <= psi).all()
    counts = ax.figure.axes[1].lines[0].get_ydata()
    assert list(counts) == [len(model.generators_) for model in models[::-1]]


def test_four_pictures_of_a_law(gas, ring):
    laws, X = gas
    titles = [ax.get_title(loc="left") for ax in laws.plot(X).axes]
    assert titles[0] == laws[0].equation
    assert [title.split()[0] for title in titles[1:]] == ["Distances", "Test", "Coefficients"]
    assert len(ring[0].plot().axes) == 2
    with pytest.raises(ValueError, match="no law to draw"):
        discover(np.random.default_rng(0).normal(size=(200, 2)), max_degree=2).plot()


def test_missing_packages_name_their_extras(ring, monkeypatch):
    laws, X = ring
    monkeypatch.setitem(sys.modules, "skimage.measure", None)
    generators = OAVI(0.01).fit(np.random.default_rng(0).uniform(size=(50, 3))).generators_
    with pytest.raises(ImportError, match=r"vanishing\[surfaces\]"):
        plot_zero_set(generators)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"vanishing\[plots\]"):
        laws.plot(X)
