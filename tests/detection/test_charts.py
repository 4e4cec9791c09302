"""Charts of detectors: what is drawn where. How they look is judged by eye, in the gallery."""

import sys

import numpy as np
import pandas as pd
import pytest
from plant import NAMES, plant

from vanishing import VanishingIdealDetector

matplotlib = pytest.importorskip("matplotlib", reason="needs Matplotlib: pip install 'vanishing[plots]'")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def watched():
    return VanishingIdealDetector(regimes=False, degree=2).fit(pd.DataFrame(plant(800, 0), columns=NAMES))


@pytest.fixture(scope="module")
def day():
    rows = plant(200, 1)
    rows[150] = plant(200, 1, "bias")[150]
    return pd.DataFrame(rows, columns=NAMES)


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.slow
def test_a_control_chart_shows_every_row_the_limits_and_the_worst_rows(watched, day):
    figure = watched.plot_chart(day, n_worst=2)
    chart, *bars = figure.axes
    points = np.concatenate([line.get_ydata() for line in chart.lines[:2]])
    np.testing.assert_allclose(np.sort(points), np.sort(-watched.score_samples(day)))
    limits = [line.get_ydata()[0] for line in chart.lines[2:]]
    assert limits[0] == -watched.offset_
    assert limits[1] >= limits[0]
    assert bars[0].get_title(loc="left") == "row 150"
    assert bars[0].get_yticklabels()[0].get_text() == "F1"
    figure.canvas.draw()


def test_residuals_have_a_panel_for_each_equation(watched, day):
    figure = watched.plot_residuals(day)
    assert len(figure.axes) == len(watched.generators_) == 3
    values = np.concatenate([line.get_ydata() for line in figure.axes[0].lines[1:]])
    np.testing.assert_allclose(np.sort(np.abs(values)), np.sort(watched.violations(day)[:, 0]))


def test_a_relation_is_drawn_where_the_row_is_and_normal_rows_lie_on_its_curve(watched, day):
    row = day.iloc[150]
    axes = watched.plot_relation(row, day, equation=0, columns=(0, 1))
    normal, this = axes.lines
    assert (this.get_xdata()[0], this.get_ydata()[0]) == (row["F1"], row["F2"])
    x, y = np.asarray(normal.get_xdata(), dtype=float), np.asarray(normal.get_ydata(), dtype=float)
    there = np.isfinite(y)
    assert there.sum() > 20
    planes = np.repeat(row.to_numpy()[None, :], there.sum(), axis=0)
    planes[:, 0], planes[:, 1] = x[there], y[there]
    values = watched.generators_[0].evaluate(planes) / np.sqrt(watched.generators_.mse[0])
    assert np.median(np.abs(values)) < 3.0
    assert abs(watched.generators_[0].evaluate(row.to_frame().T)[0]) / np.sqrt(watched.generators_.mse[0]) > 6.0


def test_rows_with_gaps_are_left_out_of_the_equations_over_time(watched, day):
    gaps = day.copy()
    gaps.iloc[[3, 40], 0] = np.nan
    drawn = [line.get_xdata() for line in watched.plot_residuals(gaps).axes[0].lines[1:3]]
    np.testing.assert_array_equal(np.sort(np.concatenate(drawn)), np.delete(np.arange(len(day)), [3, 40]))


def test_without_equations_there_is_nothing_to_draw():
    detector = VanishingIdealDetector(regimes=False).fit(np.random.default_rng(0).normal(size=(300, 2)))
    with pytest.raises(ValueError, match="No equation holds closely enough"):
        detector.plot_residuals(np.zeros((1, 2)))


def test_missing_matplotlib_names_the_extra(watched, day, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"vanishing\[plots\]"):
        watched.plot_residuals(day)


def test_the_chart_of_rows_with_times_has_a_time_axis_and_its_episodes(watched):
    rows = plant(300, 1)
    rows[100:160] = plant(60, 2, "bias")
    times = pd.date_range("2026-02-01", periods=300, freq="3min")
    frame = pd.DataFrame(rows, columns=NAMES, index=times)
    figure = watched.plot_chart(frame, n_worst=1)
    chart, bars = figure.axes
    spans = [(episode.first_row, episode.last_row) for episode in watched.monitor(frame).episodes]
    assert spans[0][0] in range(99, 110)
    drawn = [patch.get_x() for patch in chart.patches]
    np.testing.assert_allclose(drawn, matplotlib.dates.date2num(times[[first for first, _ in spans]]))
    worst = int(np.argmin(watched.score_samples(frame)))
    assert bars.get_title(loc="left") == f"{times[worst]:%Y-%m-%d %H:%M}"
    assert chart.texts[-1].get_text() == bars.get_title(loc="left")


def test_a_report_of_rows_with_times_names_them(watched):
    rows = plant(300, 1)
    rows[100:160] = plant(60, 2, "bias")
    frame = pd.DataFrame(rows, columns=NAMES, index=pd.date_range("2026-02-01", periods=300, freq="3min"))
    page = watched.report(frame).html
    assert str(frame.index[watched.monitor(frame).episodes[0].first_row])[:16] in page
