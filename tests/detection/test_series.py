"""Rows that follow each other: recognised, calibrated by blocks, and the same from every source."""

import warnings

import numpy as np
import pandas as pd
import pytest
from makers import dask_array, npy_file
from plant import series_plant
from scipy.signal import lfilter

from vanishing import VanishingIdealDetector, load, save
from vanishing.detection.calibration import Left
from vanishing.detection.christoffel import Christoffel
from vanishing.detection.model import join
from vanishing.detection.monitoring import find_episodes, weighted_mean
from vanishing.detection.series import BlockSums, Neighbours, block_edges, effective_rows, without_block
from vanishing.detection.sums import RUN, SAMPLE, Sample, sample_array, sample_block
from vanishing.rows.arrays import as_rows
from vanishing.rows.protocol import Block

pytestmark = pytest.mark.filterwarnings("ignore:Only about", "ignore:The level of")


def quiet(**options):
    return VanishingIdealDetector(**options)


@pytest.fixture(scope="module")
def week():
    """3,000 rows to learn from and 3,000 later ones."""
    rows = series_plant(6000, 0)
    return rows[:3000], rows[3000:]


@pytest.fixture(scope="module")
def watched(week):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return VanishingIdealDetector().fit(week[0])


def test_rows_in_time_are_recognised_and_shuffled_ones_are_not(week, watched):
    shuffled = VanishingIdealDetector().fit(np.random.default_rng(0).permutation(week[0]))
    assert "rows follow each other (lag-1 correlation 0.9" in watched.calibration_
    assert "calibrated by 10 blocks of 300" in watched.calibration_
    assert shuffled.calibration_ == "rows are independent: calibrated by 3,000 rows, each left out by itself"


def test_repeated_rows_are_no_series():
    X = np.random.default_rng(0).normal(size=(200, 3))
    repeated = np.repeat(X, 5, axis=0)
    assert Neighbours.of_sample(Sample(np.zeros(1000), repeated, np.ones(1000)), whole=True).correlation < 0.3


def test_later_normal_rows_raise_few_alarms(week, watched):
    careless = VanishingIdealDetector(series=False).fit(week[0])
    assert np.mean(careless.predict(week[1]) == -1) > 0.03
    assert np.mean(watched.predict(week[1]) == -1) < 0.03
    np.testing.assert_array_equal(watched.predict(week[1]) == -1, watched.p_values(week[1]) <= 0.01)


@pytest.mark.slow
def test_independent_rows_may_be_forced_into_blocks():
    rng = np.random.default_rng(0)
    found = [np.mean(quiet(series=True).fit(rng.normal(size=(1500, 4))).predict(rng.normal(size=(3000, 4))) == -1)
             for _ in range(4)]  # fmt: skip
    assert np.mean(found) == pytest.approx(0.01, abs=0.005)


def test_scores_out_of_a_block_are_those_of_a_model_without_it(week):
    detector = quiet(regimes=False, degree=2).fit(week[0][:400])
    sample, whole = detector._sums.sample, detector._christoffel()
    found, _ = BlockSums(whole, sample).log_q(whole)
    edges = block_edges(400)
    start, stop = without_block(edges[3], 400)
    assert (start, stop) == (100, 180)
    V = whole.monomials.values(np.delete(sample.X, np.s_[start:stop], axis=0))
    without = Christoffel.of_gram(whole.monomials, V @ V.T / V.shape[1])
    expected = np.log(without.of_rows(sample.X[slice(*edges[3])]))
    np.testing.assert_allclose(found[slice(*edges[3])], expected, rtol=1e-6)


def test_a_column_that_wanders_alone_leaves_the_score_with_a_warning(week):
    walk = np.cumsum(np.random.default_rng(1).normal(size=1000))
    X = np.column_stack([week[0][:1000], walk])
    with pytest.warns(UserWarning, match="The level of x12 drifts"):
        detector = VanishingIdealDetector().fit(X)
    assert detector._current().series.left_out == (12,)
    shifted = X[:5].copy() + 1e-6
    expected = detector.score_samples(shifted)
    shifted[:, 12] += 100.0
    np.testing.assert_allclose(detector.score_samples(shifted), expected)
    assert "drifting columns are left out: x12" in detector.calibration_
    explained = detector.explain(shifted[0], by="column").set_index("column").loc["x12"]
    assert explained["expected"] == explained["observed"]
    assert explained["contribution"] == 0.0


def test_columns_that_wander_do_not_cover_for_each_other():
    rng = np.random.default_rng(2)
    first = np.cumsum(rng.normal(size=600))
    steady = lfilter([1.0], [1.0, -0.7], rng.normal(size=(600, 3)), axis=0)
    X = np.column_stack([steady[:, 0], first, first + 0.3 * np.cumsum(rng.normal(size=600)), steady[:, 1:]])
    detector = quiet(regimes=False, degree=1).fit(X)
    assert detector._current().series.left_out == (1, 2)
    shifted = X[:3] + [0.0, 50.0, -50.0, 0.0, 0.0] + 1e-6
    np.testing.assert_allclose(detector.score_samples(shifted), detector.score_samples(X[:3] + 1e-6))


@pytest.mark.parametrize("seed", range(4))
def test_drifting_columns_are_those_of_regressions_without_the_block(seed):
    """The worst column leaves first; each is judged by least squares on the rows outside of the block."""
    rng = np.random.default_rng(seed)
    memory = 1.0 - 10.0 ** rng.uniform(-3.0, -0.3, 6)
    X = np.column_stack([lfilter([1.0], [1.0, -rho], rng.normal(size=500)) for rho in memory])
    X = X @ (np.eye(6) + 0.3 * rng.normal(size=(6, 6)))
    expected, left = [], list(range(6))
    while left:
        shares = []
        for j in left:
            residual = np.empty(500)
            A = np.column_stack([np.ones(500), X[:, [k for k in left if k != j]]])
            for edge in block_edges(500):
                start, stop = without_block(edge, 500)
                rest = np.r_[0:start, stop:500]
                coef = np.linalg.lstsq(A[rest], X[rest, j], rcond=None)[0]
                residual[slice(*edge)] = X[slice(*edge), j] - A[slice(*edge)] @ coef
            shares.append(np.var([residual[a:b].mean() for a, b in block_edges(500)]) / residual.var())
        if max(shares) <= 0.5:
            break
        expected.append(left.pop(int(np.argmax(shares))))
    detector = quiet(series=True, regimes=False, degree=1).fit(X)
    assert list(detector._current().series.left_out) == (sorted(expected) if left else [])


def test_few_independent_rows_are_said():
    slow = np.repeat(np.random.default_rng(0).normal(size=(8, 3)), 40, axis=0)
    noisy = slow + 0.3 * np.random.default_rng(1).normal(size=slow.shape)
    with pytest.warns(UserWarning, match="independent rows stand behind the limit|drifts"):
        VanishingIdealDetector(series=True).fit(noisy)


def test_the_limit_grows_as_independent_rows_become_fewer():
    scores = np.random.default_rng(0).normal(size=2000)
    limits = [Left.of_dependent(scores, np.ones(2000), n, 0.01).threshold(0.01) for n in (5, 20, 2000)]
    assert limits[0] > limits[1] > limits[2]
    tail = Left.of_dependent(scores, np.ones(2000), 20, 0.01)
    assert tail.p_values(limits[1] + 1e-6) <= 0.01 < tail.p_values(limits[1] - 0.1)
    np.testing.assert_allclose(tail.score_of(tail.p_values(np.array([3.0]))), 3.0, atol=0.3)


def test_effective_rows_of_an_autoregression_are_those_of_theory():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        x = np.zeros(3000)
        for t in range(1, 3000):
            x[t] = 0.9 * x[t - 1] + rng.normal()
        found.append(effective_rows(x))
    assert np.median(found) == pytest.approx(3000 * 0.1 / 1.9, rel=0.35)


def test_samples_keep_runs_whatever_the_blocks():
    X = np.arange(40_000.0)[:, None]
    whole = sample_array(as_rows(X), run=RUN)
    assert 0.9 * SAMPLE <= len(whole.X) <= SAMPLE
    starts = whole.X[:, 0][np.append(True, np.diff(whole.X[:, 0]) != 1.0)]
    assert (starts % RUN == 0).all()
    assert (np.diff(whole.X[:, 0]) > 0).all()
    pieces = [sample_block(Block(X[a : a + 777], start=a), run=RUN) for a in range(0, 40_000, 777)]
    keys = np.concatenate([piece.keys for piece in pieces])
    np.testing.assert_array_equal(np.concatenate([p.X for p in pieces])[keys <= whole.keys.max()], whole.X)


@pytest.mark.slow
def test_files_dask_and_streams_give_the_series_of_the_array(tmp_path):
    X = series_plant(12_500, 3)
    expected = quiet().fit(X)
    found = quiet().fit(npy_file(X, tmp_path))
    assert found._current().series.degree == expected._current().series.degree
    np.testing.assert_allclose(found.score_samples(X[:300]), expected.score_samples(X[:300]), rtol=1e-5, atol=1e-5)
    stream = quiet().fit(X[:3000]).partial_fit(X[3000:6000]).partial_fit(X[6000:])
    for other in (quiet().fit(dask_array(X, tmp_path)), stream):
        assert other.n_samples_seen_ == 12_500
        assert other._current().series.correlation == pytest.approx(expected._current().series.correlation, abs=0.01)
        assert np.mean(other.predict(X[6000:]) == -1) < 0.03


@pytest.mark.slow
def test_subspaces_are_found_where_the_quick_decomposition_does_not_converge():
    assert len(quiet(regimes=False).fit(series_plant(6000, 11)[:3000]).generators_) > 0


def test_a_saved_series_goes_on(week, watched, tmp_path):
    save(watched, tmp_path / "week.vi")
    found = load(tmp_path / "week.vi")
    np.testing.assert_array_equal(found.score_samples(week[1]), watched.score_samples(week[1]))
    assert found.calibration_ == watched.calibration_
    assert found.offset_ == watched.offset_
    assert found._current().tail.threshold(0.01) == pytest.approx(-found.offset_)
    found.partial_fit(week[1][:500])
    assert found.n_samples_seen_ == 3500


def test_gaps_in_new_rows_are_scored_by_the_other_columns(week, watched):
    rows = week[1][:600].copy()
    rows[:, 4] = np.nan
    assert np.mean(watched.predict(rows) == -1) < 0.05


def test_the_strongest_part_counts():
    strong, weak = np.array([4.0, 0.0]), np.zeros(2)
    np.testing.assert_allclose(join([strong, weak]), np.log(np.exp(strong) + 1.0))
    np.testing.assert_allclose(join([strong, weak, weak]), np.log(np.exp(strong) + 2.0))


# --- evidence over time -----------------------------------------------------------------------------------------------


def test_the_evidence_is_an_exponentially_weighted_mean():
    scores = np.random.default_rng(0).normal(size=50)
    expected, e = [], 0.5
    for s in scores:
        e += 0.1 * (s - e)
        expected.append(e)
    np.testing.assert_allclose(weighted_mean(scores, 0.5), expected)


def test_episodes_close_to_each_other_are_one():
    above = np.zeros(100, dtype=bool)
    above[[10, 11, 15, 40, 99]] = True
    assert find_episodes(above) == [(10, 15), (40, 40), (99, 99)]
    assert find_episodes(np.zeros(5, dtype=bool)) == []


def test_a_small_fault_that_lasts_is_one_episode_with_its_column(week, watched):
    rows = week[1][:1500].copy()
    rows[700:900, 6] += 0.6
    found = watched.monitor(rows)
    episode = next(each for each in found.episodes if each.last_row >= 700)
    assert 700 <= episode.first_row < 780
    assert "x6" in list(episode.columns)[:3]
    assert str(found).startswith(f"{len(found.episodes)} alarm episode")
    assert list(found.to_table()["first_row"]) == [each.first_row for each in found.episodes]


def test_episodes_have_the_times_of_the_rows(week, watched):
    times = np.datetime64("2024-01-01T00:00") + np.arange(600) * np.timedelta64(1, "m")
    rows = week[1][:600].copy()
    rows[300:400, 6] += 2.0
    by_times = watched.monitor(rows, times)
    frame = pd.DataFrame(rows, index=pd.DatetimeIndex(times))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_index = watched.monitor(frame)
    assert [e.start for e in by_times.episodes] == [e.start for e in by_index.episodes]
    assert by_times.episodes[-1].start == times[by_times.episodes[-1].first_row]
    with pytest.raises(ValueError, match="give one time per row"):
        watched.monitor(rows, times[:5])


def test_more_episodes_are_accepted_where_they_are_asked_for(week, watched):
    limits = [watched.monitor(week[1], episodes_per_1000=n).limit for n in (0.2, 1.0, 5.0)]
    assert limits[0] > limits[1] > limits[2]
    with pytest.raises(ValueError, match="episodes_per_1000 must be"):
        watched.monitor(week[1], episodes_per_1000=0.0)


def test_gaps_are_monitored_and_counted(week, watched):
    rows = week[1][:400].copy()
    rows[5, 3] = np.nan
    found = watched.monitor(rows)
    assert found.n_missing == 1
    assert "1 row with gaps" in str(found)


def test_evidence_is_drawn(week, watched):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    rows = week[1][:400].copy()
    rows[100:200, 6] += 2.0
    found = watched.monitor(rows)
    ax = found.plot()
    assert len(ax.patches) == len(found.episodes) >= 1
    np.testing.assert_allclose(ax.lines[0].get_ydata(), found.evidence)
    import matplotlib.pyplot as plt

    plt.close("all")
