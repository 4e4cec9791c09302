"""A detector of a source: one pass where that is enough, the same model as in memory."""

import numpy as np
import pytest
from makers import arrow_dataset, dask_array, lazy_frame, npy_file, parquet_folder, table_of, torch_tensor, write_npy

from vanishing import VanishingIdealDetector, open_rows
from vanishing.detection import onepass
from vanishing.detection.christoffel import Monomials
from vanishing.detection.columns import exact_relations, survey_columns
from vanishing.detection.sums import sum_rows
from vanishing.rows.arrays import as_rows

pa = pytest.importorskip("pyarrow")
rng = np.random.default_rng(0)
X = rng.normal(size=(12_000, 3)) @ np.array([[1.0, 0.2, 0.0], [0.0, 3.0, 0.5], [0.0, 0.0, 0.1]]) + [5.0, -20.0, 100.0]
X[:, 2] += 0.1 * X[:, 0] * X[:, 1]
NEW = X[:200] + np.linspace(0.0, 2.0, 200)[:, None]
HEAVY = np.exp(1.5 * rng.normal(size=(12_000, 3)))  # hundreds of rows are clipped


def direct(X, degree):
    """The sums in two passes over an array: the columns, then the monomials."""
    found = survey_columns(as_rows(X), ["a", "b", "c"])
    monomials = Monomials.of_columns(found, exact_relations(found), degree)
    return monomials, sum_rows(as_rows(X), monomials)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("rows", [X, HEAVY, np.round(np.abs(X) % 2.0)], ids=["near", "heavy", "categories"])
def test_sums_of_one_pass_are_those_of_two(rows, degree):
    monomials, expected = direct(rows, degree)
    first = onepass.collect(as_rows(rows), degree, ["a", "b", "c"])
    found = first.survey()
    np.testing.assert_allclose(found.mean, monomials.units.centre if monomials.units.kept is None else found.mean)
    assert first.sums(found, monomials).gram == pytest.approx(expected.gram, rel=1e-9, abs=1e-7 * len(rows))


def test_values_are_clipped_though_their_limits_were_not_known():
    first = onepass.collect(as_rows(HEAVY), 2, ["a", "b", "c"])
    n_clipped = (np.abs(HEAVY - HEAVY.mean(axis=0)) > 10.0 * HEAVY.std(axis=0)).sum()
    assert 10 < n_clipped < first.collected.n_far < 3000


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        npy_file,
        parquet_folder,
        dask_array,
        lazy_frame,
        arrow_dataset,
        torch_tensor,
        lambda X, _: table_of(X).to_reader(),
    ],
)
def test_one_pass_over_any_source_gives_the_scores_of_the_array(make, passes, tmp_path):
    expected = VanishingIdealDetector(regimes=False, degree=2).fit(X)
    found = VanishingIdealDetector(regimes=False, degree=2).fit(make(X, tmp_path))
    assert len(passes) == (0 if make is torch_tensor else 1)
    assert found.n_samples_seen_ == 12_000
    names = NEW if not hasattr(found, "feature_names_in_") else table_of(NEW)
    typical = [model._current().score.typical for model in (expected, found)]
    assert typical[0][0].centre == pytest.approx(typical[1][0].centre, abs=0.1)  # samples of other rows
    q = [model._current().score.christoffel.of_rows(NEW) for model in (expected, found)]
    np.testing.assert_allclose(q[0], q[1], rtol=1e-6)
    assert np.mean(found.predict(names) == expected.predict(NEW)) > 0.9


def test_few_rows_give_the_same_model_to_the_last_bit(passes, tmp_path):
    expected = VanishingIdealDetector().fit(X[:900])
    for make in (parquet_folder, lazy_frame):
        found = VanishingIdealDetector().fit(make(X[:900], tmp_path))
        np.testing.assert_array_equal(found.score_samples(table_of(NEW)), expected.score_samples(NEW))
    assert len(passes) == 2


@pytest.mark.parametrize("most", [1000, 2**22])
def test_first_rows_unlike_the_others_cost_memory_or_a_second_pass(most, passes, tmp_path, monkeypatch):
    monkeypatch.setattr(onepass, "MOST_NUMBERS", most)
    shifted = X.copy()
    shifted[:5000] = 0.001 * X[:5000]
    expected = VanishingIdealDetector(regimes=False, degree=2).fit(rng.permutation(shifted))
    found = VanishingIdealDetector(regimes=False, degree=2, series=False).fit(npy_file(shifted, tmp_path))
    assert (len(passes) > 1) == (most == 1000)
    q = [model._current().score.christoffel.of_rows(NEW) for model in (expected, found)]
    np.testing.assert_allclose(q[0], q[1], rtol=1e-6)


@pytest.mark.parametrize("make", [npy_file, dask_array])
@pytest.mark.parametrize("n_rows", [900, 12_000])
def test_incomplete_rows_of_a_source_are_left_out_and_counted(make, n_rows, tmp_path):
    rows = X[:n_rows].copy()
    rows[::10, 1] = np.nan
    complete = rows[~np.isnan(rows).any(axis=1)]
    with pytest.warns(UserWarning, match=f"{n_rows // 10:,} rows with NaN were left out of the fit"):
        found = VanishingIdealDetector(regimes=False, degree=2).fit(make(rows, tmp_path))
    expected = VanishingIdealDetector(regimes=False, degree=2).fit(complete)
    q = [model._current().score.christoffel.of_rows(NEW) for model in (expected, found)]
    np.testing.assert_allclose(q[0], q[1], rtol=1e-6)
    more = rows[:50].copy()
    more[20:30] = np.nan  # a whole block of Dask
    with pytest.warns(UserWarning, match=r"^14 rows with NaN were left out of the fit"):
        found.partial_fit(make(more, tmp_path))
    assert found.n_samples_seen_ == len(complete) + 36
    with pytest.raises(ValueError, match="Every row has a missing value"):
        found.partial_fit(make(np.full((50, rows.shape[1]), np.nan), tmp_path))
    assert found.n_samples_seen_ == len(complete) + 36


def test_wrong_values_of_a_source_are_named(tmp_path):
    rows = X.copy()
    rows[700, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity \(inf\) in column 1, the first in row 700 of .*npy"):
        VanishingIdealDetector().fit(npy_file(rows, tmp_path))
    rows[700:, 1] = np.nan  # in several blocks, one of which has been seen
    write_npy(tmp_path, rows)
    with pytest.raises(ValueError, match=r"NaN in column 1: at least \d+ such values, one in row"):
        VanishingIdealDetector(missing="error").fit(open_rows(tmp_path))
    with pytest.raises(ValueError, match="Every row has a missing value"):
        VanishingIdealDetector().fit(open_rows(write_npy(tmp_path, np.full((50, 2), np.nan))))
    wide = pa.table({f"x{j}": rng.normal(size=100) for j in range(50)})
    with pytest.raises(ValueError, match="detector of 50 columns takes two passes"):
        VanishingIdealDetector().fit(wide.to_reader())
