"""Files, folders and columns that are opened as rows, and those that are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from makers import (
    BITS,
    N_ROWS,
    arrow_table,
    assert_same_generators,
    npy_files,
    pandas_frame,
    polars_frame,
    surface,
    table_of,
    write_npy,
    write_parquet,
)
from sklearn.preprocessing import MinMaxScaler

from vanishing import OAVI, PerClass, open_rows
from vanishing.rows.reading import read_input, read_rows

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_table])
def test_rows_know_the_columns_of_a_frame_and_an_estimator_learns_them_when_it_is_fitted(make, tmp_path):
    frame = make(surface(), tmp_path)
    rows = read_rows(frame)
    assert rows.feature_names == tuple(rows.shown_names) == ("a", "b", "c")
    model = OAVI()
    assert read_input(model, frame).feature_names == tuple(model.feature_names_in_) == ("a", "b", "c")
    with pytest.raises(ValueError, match="feature names should match"):
        read_input(model, pd.DataFrame(surface(), columns=["c", "b", "a"]), reset=False)


def test_columns_without_names_are_numbered():
    rows = read_rows(surface())
    assert rows.feature_names is None
    assert rows.shown_names == ["x0", "x1", "x2"]


def test_columns_are_chosen_by_name_and_in_order(tmp_path):
    X = surface()
    write_parquet(tmp_path, X, y=np.arange(N_ROWS) % 2, w=np.ones(N_ROWS))
    assert open_rows(tmp_path).n_features == 5
    assert open_rows(tmp_path, label="y", weight="w").feature_names == ("a", "b", "c")
    chosen = open_rows(tmp_path, columns=["c", "a"])
    assert chosen.feature_names == ("c", "a")
    np.testing.assert_array_equal(chosen.to_numpy(), X[:, [2, 0]])


def test_columns_are_chosen_by_number_in_arrays(tmp_path):
    X = surface()
    np.save(tmp_path / "rows.npy", X)
    np.testing.assert_array_equal(open_rows(tmp_path, columns=[2, 0]).to_numpy(), X[:, [2, 0]])
    np.testing.assert_array_equal(open_rows(tmp_path, columns=[-1]).to_numpy(), X[:, [2]])
    np.testing.assert_array_equal(open_rows(tmp_path, label=0, weight=1).to_numpy(), X[:, [2]])


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_folders_are_searched_and_files_sorted(kind, tmp_path):
    X = surface(30)
    for k in (2, 0, 1):
        folder = tmp_path / f"year={k}"
        folder.mkdir()
        if kind == "npy":
            np.save(folder / "part.npy", X[10 * k : 10 * k + 10])
        else:
            parquet.write_table(table_of(X[10 * k : 10 * k + 10]), folder / "part.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.npy").write_bytes(b"nothing")
    (tmp_path / "notes.txt").write_text("nothing")
    rows = open_rows(tmp_path)
    assert len(rows.files) == 3
    assert rows.n_samples == 30
    np.testing.assert_array_equal(OAVI(1e-2, max_degree=1).fit(rows).generators_.coef.shape[1], 4)
    np.testing.assert_array_equal(rows.changed(lambda block: block._replace(X=block.X + 0.0)).to_numpy(), X)


@pytest.mark.parametrize("kind", ["npy", "parquet", "row groups", "feather"])
def test_empty_files_and_row_groups_are_skipped(kind, tmp_path):
    X = surface()
    pieces = [X[:0], X[:400], X[:0], X[400:], X[:0]]
    if kind == "row groups":
        with parquet.ParquetWriter(tmp_path / "rows.parquet", table_of(X).schema) as writer:
            for piece in pieces * 8:
                writer.write_table(table_of(piece))
        X = np.tile(X, (8, 1))
    for k, piece in enumerate(pieces):
        if kind == "npy":
            np.save(tmp_path / f"{k}.npy", piece)
        elif kind == "parquet":
            parquet.write_table(table_of(piece), tmp_path / f"{k}.parquet")
        elif kind == "feather":
            feather.write_feather(table_of(piece), tmp_path / f"{k}.feather")
    rows = open_rows(tmp_path, scale=True)
    found = OAVI(1e-3, max_degree=2).fit(rows)
    expected = OAVI(1e-3, max_degree=2).fit(MinMaxScaler().fit_transform(X))
    assert_same_generators(found.generators_, expected.generators_)
    assert found.transform(rows).to_numpy().shape == expected.transform(X).shape


def test_files_without_any_row_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.empty((0, 3)))
    with pytest.raises(ValueError, match="no rows"):
        OAVI().fit(open_rows(tmp_path))


def test_rows_on_disk_describe_themselves(tmp_path):
    rows = npy_files(surface(), tmp_path)
    assert repr(rows) == "<DiskRows: 900 rows x 3 columns in 4 files>"
    assert "Scaled" in repr(open_rows(tmp_path, scale=True))
    assert "computed from" in repr(OAVI(1e-2).fit(rows).transform(rows))


def test_other_columns_in_a_later_file_are_refused(tmp_path):
    X = surface()
    write_parquet(tmp_path, X)
    parquet.write_table(table_of(X, ["a", "b", "z"]), tmp_path / "part9.parquet")
    with pytest.raises(ValueError, match=r"part9\.parquet has no column 'c', but .*part0\.parquet has"):
        open_rows(tmp_path)


def test_columns_may_come_in_another_order_in_a_later_file(tmp_path):
    X = surface()
    write_parquet(tmp_path, X[:400])
    parquet.write_table(table_of(X[400:]).select(["c", "a", "b"]), tmp_path / "part9.parquet")
    np.testing.assert_array_equal(open_rows(tmp_path).to_numpy(), X)


def test_types_may_differ_between_files(tmp_path, reference_fit):
    X = np.column_stack([surface()[:, 0], BITS[:, :2]])
    parquet.write_table(table_of(X[:400]), tmp_path / "0.parquet")
    mixed = {"a": X[400:, 0], "b": X[400:, 1].astype(np.int8), "c": X[400:, 2] > 0.5}
    parquet.write_table(pyarrow.table(mixed), tmp_path / "1.parquet")
    found = OAVI(1e-3).fit(open_rows(tmp_path))
    assert_same_generators(found.generators_, reference_fit(OAVI(1e-3), X).generators_)


def test_arrays_of_another_width_are_refused(tmp_path):
    np.save(tmp_path / "0.npy", surface())
    np.save(tmp_path / "1.npy", surface()[:, :2])
    with pytest.raises(ValueError, match=r"1\.npy has 2 columns, but .*0\.npy has 3"):
        open_rows(tmp_path)


def test_a_label_with_too_many_values_is_refused(tmp_path):
    write_parquet(tmp_path, surface(3000), n_files=4, y=np.arange(3000))
    with pytest.raises(ValueError, match="more than 1000 different labels"):
        PerClass().fit(open_rows(tmp_path, label="y"))


@pytest.mark.parametrize("options", [{"columns": ["a", "z"]}, {"label": "z"}, {"weight": "z"}])
def test_an_unknown_column_is_named_beside_those_that_there_are(options, tmp_path):
    write_parquet(tmp_path, surface())
    with pytest.raises(ValueError, match="no column 'z'; it has a, b, c"):
        open_rows(tmp_path, **options)


@pytest.mark.parametrize("columns", [[], ["a", "a"]])
def test_no_column_or_the_same_twice_is_refused(columns, tmp_path):
    write_parquet(tmp_path, surface())
    with pytest.raises(ValueError, match="at least one column, and none twice"):
        open_rows(tmp_path, columns=columns)


@pytest.mark.parametrize(
    "columns",
    [
        [],
        pytest.param([0, 0]),
        [3],
        [-4],
        ["a"],
        [True],
        [0.0],
    ],
)
def test_columns_of_arrays_are_different_numbers(columns, tmp_path):
    write_npy(tmp_path, surface())
    with pytest.raises(ValueError, match=r"(?i)columns"):
        open_rows(tmp_path, columns=columns)


def test_nothing_to_open_is_said(tmp_path):
    for path in (tmp_path, tmp_path / "nothing.npy", tmp_path / "*.parquet"):
        with pytest.raises(FileNotFoundError, match="No data files at"):
            open_rows(path)
    with pytest.raises(FileNotFoundError, match="empty"):
        open_rows([])


def test_formats_that_are_unknown_or_mixed_are_refused(tmp_path):
    (tmp_path / "rows.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"rows\.xlsx: files have to end in \.npy"):
        open_rows(tmp_path / "rows.xlsx")
    write_npy(tmp_path, surface())
    write_parquet(tmp_path, surface())
    with pytest.raises(ValueError, match="different formats: npy, parquet"):
        open_rows(tmp_path)


def test_true_and_false_in_csv_files_are_numbers(tmp_path):
    (tmp_path / "flags.csv").write_text("a,on\n1,true\n2,False\n3,\n")
    np.testing.assert_array_equal(open_rows(tmp_path / "flags.csv").head(), [[1, 1], [2, 0], [3, np.nan]])
