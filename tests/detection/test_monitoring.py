"""Evidence over time: its limit, its episodes, and what they say."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.signal import lfilter

from vanishing import VanishingIdealDetector
from vanishing.detection.explain import MOST_EXPLAINED
from vanishing.detection.monitoring import MEMORY, Episode, Monitoring, find_episodes, weighted_mean
from vanishing.detection.series import block_edges, effective_rows, without_block

pytestmark = pytest.mark.filterwarnings("ignore:Only about")


def walk(m, seed, rho=0.8):
    """Three sensors that remember, the third the sum of the others but for noise."""
    rng = np.random.default_rng(seed)
    x = lfilter([np.sqrt(1 - rho**2)], [1, -rho], rng.normal(size=(m, 2)), axis=0)
    return np.column_stack([x, x.sum(axis=1) + 0.1 * rng.normal(size=m)])


@pytest.fixture(scope="module")
def watched():
    return VanishingIdealDetector().fit(walk(3000, 0))


def test_a_constant_score_is_its_own_evidence_and_a_jump_is_forgotten():
    np.testing.assert_allclose(weighted_mean(np.full(50, 3.0), 3.0), 3.0)
    jump = weighted_mean(np.append(10.0, np.zeros(100)), 0.0)
    assert jump[0] == 1.0
    half = int(np.argmax(jump < 0.5))
    assert half == int(np.ceil(np.log(0.5) / np.log(1.0 - 1.0 / MEMORY)))


def test_episodes_are_those_of_a_loop_over_rows():
    rng = np.random.default_rng(0)
    for _ in range(20):
        above = rng.random(300) < 0.03
        expected, last = [], -10 * MEMORY
        for row in np.flatnonzero(above):
            if row - last > MEMORY:
                expected.append([row, row])
            expected[-1][1] = last = row
        assert find_episodes(above) == [tuple(e) for e in expected]


@pytest.mark.slow
def test_normal_rows_have_no_more_episodes_than_asked_for_and_not_far_fewer():
    counts = {1.0: [], 5.0: []}
    for seed in range(3):
        rows = walk(14_000, 50 + seed)
        model = VanishingIdealDetector(regimes=False).fit(rows[:4000])
        for asked, found in counts.items():
            found.append(len(model.monitor(rows[4000:], episodes_per_1000=asked).episodes) / 10.0)
    for asked, found in counts.items():
        assert asked / 5.0 < np.mean(found) < 1.5 * asked


def test_alarms_are_the_rows_of_episodes_above_the_limit(watched):
    rows = walk(2000, 7)
    rows[900:1000, 2] += 1.0
    found = watched.monitor(rows)
    inside = np.zeros(2000, dtype=bool)
    for episode in found.episodes:
        inside[episode.first_row : episode.last_row + 1] = True
        assert found.evidence[episode.first_row] > found.limit
        assert found.evidence[episode.last_row] > found.limit
        assert episode.evidence == found.evidence[episode.first_row : episode.last_row + 1].max()
        assert found.scores[episode.worst_row] == found.scores[episode.first_row : episode.last_row + 1].max()
    assert not (found.alarms & ~inside).any()
    assert inside[905:1000].all()


def test_shares_of_an_episode_sum_to_one(watched):
    rows = walk(500, 8)
    rows[200:300, 2] += 1.0
    episode = next(each for each in watched.monitor(rows).episodes if each.last_row >= 200)
    assert sum(episode.columns.values()) == pytest.approx(1.0)
    assert sum(episode.equations.values()) == pytest.approx(1.0)
    assert set(episode.columns) == {"x0", "x1", "x2"}
    assert str(episode).startswith(f"{episode.first_row} to {episode.last_row}: {episode.n_rows} rows, worst ")


def test_an_episode_of_one_row_is_singular_and_its_time_is_short():
    noon = np.datetime64("2026-03-09T12:00:00.000000")
    assert str(Episode(noon, noon, noon, 7, 7, 7, 3.0, {"F1": 1.0}, {})) == "2026-03-09 12:00: 1 row; F1"
    one = Monitoring(np.zeros(1), np.zeros(1), 1.0, [Episode(0, 0, 0, 0, 0, 0, 3.0, {}, {})], np.arange(1), 1)
    head = "1 alarm episode in 1 row; 1 row with gaps was scored by its other columns"
    assert str(one).splitlines() == [head, "  0: 1 row"]


def test_only_the_worst_of_many_episodes_have_reasons(watched):
    rows = walk(8000, 9)
    for k, start in enumerate(range(50, 7950, 60)):
        rows[start : start + 8, 2] += 2.0 + 0.01 * k
    episodes = watched.monitor(rows).episodes
    explained = [bool(episode.columns) for episode in episodes]
    assert len(episodes) > MOST_EXPLAINED
    assert sum(explained) == MOST_EXPLAINED
    worst = sorted((episode.evidence for episode in episodes), reverse=True)[MOST_EXPLAINED - 1]
    assert all(named == (episode.evidence >= worst) for named, episode in zip(explained, episodes, strict=True))


def test_rows_without_an_alarm_say_so():
    quiet = Monitoring(np.zeros(5), np.zeros(5), 1.0, [], np.arange(5), 0)
    assert str(quiet) == "0 alarm episodes in 5 rows"
    assert not quiet.alarms.any()
    assert list(quiet.to_table()["start"]) == []


# --- blocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [7, 50, 503])
def test_blocks_cover_all_rows_once_and_the_gaps_only_their_neighbours(n_rows):
    edges = block_edges(n_rows)
    assert edges[0][0] == 0
    assert edges[-1][1] == n_rows
    assert all(b == c for (_, b), (c, _) in pairwise(edges))
    for a, b in edges:
        start, stop = without_block((a, b), n_rows)
        assert 0 <= start <= a < b <= stop <= n_rows
        assert (a - start) <= n_rows / 20
        assert (stop - b) <= n_rows / 20


def test_constant_and_trending_scores_have_few_effective_rows():
    rng = np.random.default_rng(0)
    assert effective_rows(np.linspace(0.0, 1.0, 1000)) < 12
    assert effective_rows(rng.normal(size=1000)) > 200
