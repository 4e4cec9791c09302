"""The test for drift on rows with missing values."""

import numpy as np
import pytest
from plant import series_plant
from scipy.stats import norm

from vanishing import VanishingIdealDetector


@pytest.fixture(scope="module")
def detector_and_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=3000)
    X = np.column_stack([x, 2 * x + rng.normal(0, 0.01, 3000)])
    return VanishingIdealDetector(series=False).fit(X[:2000]), X[2000:]


def test_rows_with_gaps_are_left_out_block_by_block(detector_and_rows):
    detector, rows = detector_and_rows
    gaps = np.array([0, 1, 499, 700])
    holed = rows.copy()
    holed[gaps, [0, 1, 1, 0]] = np.nan
    assert detector.drift(holed, block_rows=500)["n_rows"].tolist() == [500, 500]
    found = detector.drift(holed, block_rows=500, missing="drop")
    assert found["n_gaps"].tolist() == [3, 1]
    assert found["n_rows"].tolist() == [497, 499]
    for k, (start, stop) in enumerate([(0, 500), (500, 1000)]):
        inside = gaps[(gaps >= start) & (gaps < stop)] - start
        expected = detector.drift(np.delete(rows[start:stop], inside, axis=0))
        for column in ("alarms", "p_value", "shift"):
            assert found[column][k] == pytest.approx(expected[column][0], rel=1e-9)


def test_gaps_are_refused_with_the_name_of_their_column(detector_and_rows):
    detector, rows = detector_and_rows
    holed = rows.copy()
    holed[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 1: 1 such value, the first in row 7.*missing='drop'"):
        detector.drift(holed, missing="error")
    with pytest.raises(ValueError, match="missing must be"):
        detector.drift(holed, missing="no")


def test_a_block_of_gaps_says_nothing(detector_and_rows):
    detector, rows = detector_and_rows
    holed = rows.copy()
    holed[:100, 1] = np.nan
    found = detector.drift(holed, block_rows=100, missing="drop")
    assert (found["n_rows"][0], found["n_gaps"][0], found["p_value"][0], found["equation"][0]) == (0, 100, 1.0, "")
    assert np.isnan(found["alarms"][0])
    assert found["n_gaps"][1:].sum() == 0


def test_the_shift_of_independent_rows_is_tested_as_a_mean(detector_and_rows):
    """Against the normal distribution of a difference of means, for one equation and the share of alarms."""
    detector, rows = detector_and_rows
    shifted = np.column_stack([rows[:, 0], rows[:, 1] + 0.002])
    found = detector.drift(shifted)
    assert len(detector.generators_) == 1
    z = abs(found["shift"][0]) / np.sqrt(1 / 1000 + 1 / 2000)
    alarms = np.mean(detector.predict(shifted) == -1)
    of_alarms = (alarms - 0.01) / np.sqrt(0.01 * 0.99 * (1 / 1000 + 1 / 2000))
    assert found["alarms"][0] == pytest.approx(alarms)
    assert found["p_value"][0] == pytest.approx(2.0 * min(2.0 * norm.sf(z), norm.sf(of_alarms)), rel=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Only about", "ignore:The level of")
def test_normal_rows_that_follow_each_other_do_not_drift():
    found = []
    for seed in range(5):
        rows = series_plant(3000, 70 + seed)
        found += list(
            VanishingIdealDetector(regimes=False).fit(rows[:2000]).drift(rows[2000:], block_rows=250)["p_value"]
        )
    assert np.mean(np.array(found) < 0.01) < 0.1
