"""Moments of rows in every source, the names of their columns, and rows and weights that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from makers import (
    N_ROWS,
    NAMES,
    as_fitted,
    dask_frame,
    float32,
    fortran_order,
    lists,
    name_of,
    pandas_frame,
    polars_frame,
    some_weights,
    strict_array,
    surface,
    torch_float32,
    torch_tensor,
    weighted_strict,
    weighted_torch,
)
from sklearn.preprocessing import MinMaxScaler
from sums import SCALER, assert_same_moments, state

from vanishing import OAVI, Moments, open_rows

# --- sources ----------------------------------------------------------------------------------------------------------


def array(X, folder):
    return X


def npy_file(X, folder):
    np.save(folder / "rows.npy", X)
    return open_rows(folder / "rows.npy")


def parquet_file(X, folder):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({name: X[:, j] for j, name in enumerate(NAMES)})
    pytest.importorskip("pyarrow.parquet").write_table(table, folder / "rows.parquet", row_group_size=100)
    return open_rows(folder / "rows.parquet")


def dask_array(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(250, 2))


def dask_with_empty_blocks(X, folder):
    dask = pytest.importorskip("dask.array")
    return dask.concatenate(
        [dask.from_array(X[:0], chunks=-1), dask_array(X, folder), dask.from_array(X[:0], chunks=-1)]
    )


EVERYWHERE = [
    array, fortran_order, float32, lists, pandas_frame, polars_frame, npy_file, parquet_file, dask_array,
    dask_with_empty_blocks, dask_frame, torch_tensor, torch_float32, strict_array,
]  # fmt: skip
WITH_NAMES = [pandas_frame, polars_frame, parquet_file, dask_frame]


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_every_source_adds_the_same(make, tmp_path):
    X = surface()
    found = Moments(3, 3).update(make(X, tmp_path))
    assert_same_moments(found, Moments(3, 3).update(as_fitted(X, make)))
    assert found.feature_names == (tuple(NAMES) if make in WITH_NAMES else None)


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_a_missing_value_is_refused_and_nothing_is_added(make, tmp_path):
    X = surface()
    moments = Moments(3, 2).update(make(X, tmp_path))
    before = state(moments)
    X[613, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in column 1"):
        moments.update(make(X, tmp_path))
    X[613, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity \(inf\) in column 1"):
        moments.update(make(X, tmp_path))
    assert state(moments) == before


def test_a_missing_value_is_named_in_the_units_of_the_file(tmp_path):
    X = surface()
    X[613, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 1 \('b'\): 1 such value, the first in row 613 of .*\.parquet"):
        Moments(3, 2, scaler=SCALER).update(parquet_file(X, tmp_path))


def weighted_npy(X, weights, folder):
    np.save(folder / "rows.npy", np.column_stack([X, weights]))
    return open_rows(folder / "rows.npy", weight=3), None


def weighted_dask(X, weights, folder):
    return dask_array(X, folder), pytest.importorskip("dask.array").from_array(weights, chunks=(250,))


def weighted_frame(X, weights, folder):
    return pandas_frame(X, folder), weights.tolist()


@pytest.mark.parametrize(
    "make",
    [
        weighted_npy,
        weighted_dask,
        weighted_torch,
        pytest.param(weighted_strict),
        weighted_frame,
    ],
    ids=name_of,
)
def test_weights_count_the_same_in_every_source(make, tmp_path):
    X, weights = surface(), some_weights()
    source, given_weights = make(X, weights, tmp_path)
    found = Moments(3, 2).update(source, given_weights)
    assert_same_moments(found, Moments(3, 2).update(X, weights))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_bad_weight_is_refused_and_nothing_is_added(bad):
    moments = Moments(3, 2).update(surface())
    before = state(moments)
    weights = some_weights()
    weights[5] = bad
    with pytest.raises(ValueError, match="sample_weight must be finite, not negative"):
        moments.update(surface(), weights)
    with pytest.raises(ValueError, match=r"shape \(900,\)"):
        moments.update(surface(), weights[1:])
    assert state(moments) == before


def test_weights_beside_rows_on_disk_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"open_rows\(weight="):
        Moments(3, 2).update(npy_file(surface(), tmp_path), np.ones(N_ROWS))


def test_rows_on_disk_of_which_the_scaling_is_not_known_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", 5.0 * surface())
    rows = open_rows(tmp_path, scale=True)
    moments = Moments(3, 2)
    with pytest.raises(ValueError, match="scaling of these rows is not known"):
        moments.update(rows)
    assert moments.n_samples == 0
    OAVI(1e-2, max_degree=1).fit(rows)
    expected = Moments(3, 2).update(MinMaxScaler().fit_transform(5.0 * surface()))
    np.testing.assert_allclose(moments.update(rows).gram, expected.gram, rtol=1e-12)


def test_values_whose_products_overflow_are_refused():
    moments = Moments(3, 2).update(surface())
    before = state(moments)
    with pytest.raises(ValueError, match=r"overflow.*scale them to \[0, 1\]"):
        moments.update(1e100 * surface())
    assert state(moments) == before


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_another_number_of_columns_is_refused(columns):
    moments = Moments(3, 2)
    with pytest.raises(ValueError, match=f"X has {columns} columns, but these are moments of 3"):
        moments.update(np.ones((5, columns)))
    assert moments.n_samples == 0


@pytest.mark.parametrize("X", [np.empty((0, 3)), [], np.ones(3), "text", None])
def test_what_is_no_table_with_rows_is_refused(X):
    moments = Moments(3, 2)
    with pytest.raises((ValueError, TypeError)):
        moments.update(X)
    assert moments.n_samples == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "n_features must be an integer of at least 1, got 0"),
        ((2.5,), "n_features"),
        ((True,), "n_features"),
        ((3, 0), "degree must be an integer of at least 1, got 0"),
        ((3, "2"), "degree"),
        ((100, 3), "176,851 terms.*more than 5,000: lower degree, or select columns"),
    ],
)
def test_wrong_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Moments(*arguments)


def test_empty_moments_say_so():
    moments = Moments(3, 2)
    assert repr(moments) == "<Moments of 0 rows x 3 columns up to degree 2>"
    for use in (lambda: moments.gram, moments._survey, lambda: OAVI().fit(moments)):
        with pytest.raises(ValueError, match="no rows in these moments: update them first"):
            use()
    assert_same_moments(moments.merge(Moments(3, 2).update(surface())), Moments(3, 2).update(surface()))
    assert moments.merge(Moments(3, 2)).subtract(Moments(3, 2)).n_samples == N_ROWS


# --- names of columns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", WITH_NAMES, ids=name_of)
def test_names_of_columns_reach_the_model(make, tmp_path):
    moments = Moments(3, 2).update(surface()).update(make(surface(), tmp_path))
    assert moments.feature_names == tuple(NAMES)
    model = OAVI(1e-2, max_degree=2).fit(moments.update(surface()))
    assert list(model.feature_names_in_) == NAMES
    assert str(model.generators_[0]) == str(OAVI(1e-2, max_degree=2).fit(make(surface(), tmp_path)).generators_[0])


@pytest.mark.parametrize("make", WITH_NAMES, ids=name_of)
def test_other_names_of_columns_are_refused(make, tmp_path):
    pandas = pytest.importorskip("pandas")
    moments = Moments(3, 2).update(pandas.DataFrame(surface(), columns=["a", "c", "b"]))
    before = state(moments)
    with pytest.raises(ValueError, match="The columns are a, b, c, but those of these moments are a, c, b"):
        moments.update(make(surface(), tmp_path))
    for action in (moments.merge, moments.subtract):
        with pytest.raises(ValueError, match="The columns are a, b, c"):
            action(Moments(3, 2).update(make(surface(), tmp_path)))
    assert state(moments) == before


def test_merging_learns_names():
    pandas = pytest.importorskip("pandas")
    named = Moments(3, 2).update(pandas.DataFrame(surface(), columns=NAMES))
    assert Moments(3, 2).update(surface()).merge(named).feature_names == tuple(NAMES)
    assert named.merge(Moments(3, 2).update(surface())).feature_names == tuple(NAMES)


def test_refused_rows_do_not_leave_names():
    frame = pytest.importorskip("pandas").DataFrame(surface(), columns=NAMES)
    frame.loc[3, "b"] = np.nan
    moments = Moments(3, 2)
    with pytest.raises(ValueError, match=r"column 1 \('b'\)"):
        moments.update(frame)
    assert moments.feature_names is None
