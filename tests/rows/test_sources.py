"""Rows in memory, in files, in Dask collections and on devices: the same answers, passes, faults and progress."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

import vanishing.rows.readers
import vanishing.rows.writing
from vanishing import (
    ABM,
    AVI,
    L1SVC,
    OAVI,
    VCA,
    PerClass,
    RangeWarning,
    VanishingIdealClassifier,
    VanishingIdealDetector,
    ideal_path,
    open_rows,
    show_progress,
)
from vanishing.rows.arrays import ArrayRows
from vanishing.rows.disk import DiskRows
from vanishing.rows.protocol import InFolds, Rows
from vanishing.rows.together import together

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

NAMES = ["a", "b", "c"]
N_ROWS = 900


def surface(m=N_ROWS, seed=0):
    """Points in the unit cube near ``c = a b / 2 + 1/4``."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(m, 3))
    X[:, 2] = 0.5 * X[:, 0] * X[:, 1] + 0.25 + rng.normal(0, 0.01, m)
    return X


def three_classes(m=N_ROWS, seed=0):
    """Points on three surfaces, and their labels."""
    X, y = surface(m, seed), np.arange(m) % 3
    X[y == 1, 2] = np.clip(0.9 * X[y == 1, 0] ** 2 + 0.05 + 0.1 * (X[y == 1, 2] - 0.5), 0, 1)
    X[y == 2, 2] = np.clip(0.95 - 0.9 * X[y == 2, 0] + 0.1 * (X[y == 2, 2] - 0.5), 0, 1)
    return X, y


def some_weights(m=N_ROWS, seed=1):
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, m)
    weights[::7] = 0.0
    return weights


def table_of(X, names=NAMES, **more):
    return pyarrow.table({**{name: X[:, j] for j, name in enumerate(names)}, **more})


def write_parquet(folder, X, *, n_files=1, name="part", row_group_size=None, **more):
    """Parquet files with the rows; ``more`` are columns beside them."""
    for k, index in enumerate(np.array_split(np.arange(len(X)), n_files)):
        extra = {key: values.take(index) for key, values in more.items()}
        parquet.write_table(table_of(X[index], **extra), folder / f"{name}{k}.parquet", row_group_size=row_group_size)
    return folder


def write_npy(folder, X, *, n_files=1, order="C"):
    for k, index in enumerate(np.array_split(np.arange(len(X)), n_files)):
        np.save(folder / f"part{k}.npy", np.asarray(X[index], order=order))
    return folder


def name_of(make):
    return make.__name__


def numbers(values):
    """Whatever a source gives, as a NumPy array."""
    if isinstance(values, Rows):
        return values.to_numpy()
    return np.asarray(values.compute() if hasattr(values, "compute") else values)


# --- the same data in every source ------------------------------------------------------------------------------------


def c_order(X, folder):
    return np.ascontiguousarray(X)


def fortran_order(X, folder):
    return np.asfortranarray(X)


def every_second_row(X, folder):
    return np.repeat(X, 2, axis=0)[::2]


def float32(X, folder):
    return X.astype(np.float32)


def lists(X, folder):
    return X.tolist()


def memory_map(X, folder):
    np.save(folder / "mapped.npy", X)
    return np.load(folder / "mapped.npy", mmap_mode="r")


def pandas_frame(X, folder):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


def nullable_frame(X, folder):
    return pandas_frame(X, folder).astype("Float64")


def polars_frame(X, folder):
    return pytest.importorskip("polars").DataFrame(X, schema=NAMES)


def npy_file(X, folder):
    return open_rows(write_npy(folder, X))


def npy_fortran(X, folder):
    return open_rows(write_npy(folder, X, n_files=2, order="F"))


def npy_float32(X, folder):
    return open_rows(write_npy(folder, X.astype(np.float32), n_files=2))


def npy_big_endian(X, folder):
    return open_rows(write_npy(folder, X.astype(">f8")))


def npy_files(X, folder):
    write_npy(folder, X, n_files=4)
    return open_rows([folder / f"part{k}.npy" for k in range(4)])


def parquet_file(X, folder):
    return open_rows(write_parquet(folder, X) / "part0.parquet")


def parquet_folder(X, folder):
    return open_rows(write_parquet(folder, X, n_files=3))


def parquet_pattern(X, folder):
    return open_rows(str(write_parquet(folder, X, n_files=3) / "part*.parquet"))


def parquet_tiny_groups(X, folder):
    return open_rows(write_parquet(folder, X, n_files=2, row_group_size=13))


def parquet_float32(X, folder):
    return open_rows(write_parquet(folder, X.astype(np.float32), n_files=2))


def arrow_file(X, folder):
    feather.write_feather(table_of(X), folder / "rows.feather", chunksize=100)
    return open_rows(folder / "rows.feather")


def csv_file(X, folder):
    with open(folder / "rows.csv", "w") as stream:
        stream.write("a,b,c\n")
        stream.writelines(",".join(map(repr, row)) + "\n" for row in X.tolist())
    return open_rows(folder / "rows.csv")


def one_thread(X, folder):
    return open_rows(write_npy(folder, X, n_files=3), n_jobs=1)


def torch_tensor(X, folder):
    return pytest.importorskip("torch").asarray(X)


def torch_float32(X, folder):
    return pytest.importorskip("torch").asarray(X.astype(np.float32))


def strict_array(X, folder):
    return pytest.importorskip("array_api_strict").asarray(X)


def dask_array(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(250, 3))


def dask_column_chunks(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(400, 2))


def dask_frame(X, folder):
    return pytest.importorskip("dask.dataframe").from_pandas(pandas_frame(X, folder), npartitions=3)


IN_MEMORY = [
    c_order, fortran_order, every_second_row, float32, lists, memory_map, pandas_frame, nullable_frame, polars_frame
]  # fmt: skip
ON_DISK = [
    npy_file, npy_fortran, npy_float32, npy_big_endian, npy_files, parquet_file, parquet_folder, parquet_pattern,
    parquet_tiny_groups, parquet_float32, arrow_file, csv_file, one_thread,
]  # fmt: skip
ON_DEVICES = [torch_tensor, torch_float32, strict_array]
IN_DASK = [dask_array, dask_column_chunks, dask_frame]
EVERYWHERE = [*IN_MEMORY, *ON_DISK, *ON_DEVICES, *IN_DASK]

ALGORITHMS = [
    OAVI(1e-3, max_degree=4),
    OAVI(1e-3, solver="cg", boost="ihb", max_degree=4),
    ABM(1e-3, max_degree=3),
    AVI(1e-3, max_degree=3),
    VCA(1e-3),
]


def as_fitted(X, make):
    """The numbers that a source of ``X`` has: some round to float32."""
    return X.astype(np.float32).astype(np.float64) if "float32" in make.__name__ else X


@pytest.fixture(scope="module")
def reference_fit():
    """A function that fits an estimator to an array once."""
    known = {}

    def fit(model, X):
        key = repr(model), X.tobytes()
        if key not in known:
            known[key] = clone(model).fit(X)
        return known[key]

    return fit


def assert_same_generators(found, expected, *, supports=True):
    assert len(found) == len(expected) > 0
    np.testing.assert_array_equal(found.exponents, expected.exponents)
    if supports:
        np.testing.assert_array_equal(found.coef != 0.0, expected.coef != 0.0)
    size = np.abs(expected.coef).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found.coef / size, expected.coef / size, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.mse, expected.mse, rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
@pytest.mark.parametrize("model", ALGORITHMS, ids=["OAVI", "CGAVI-IHB", "ABM", "AVI", "VCA"])
def test_every_source_gives_the_generators_of_the_array(model, make, tmp_path, reference_fit):
    X = surface()
    expected = reference_fit(model, as_fitted(X, make))
    source = make(X, tmp_path)
    found = clone(model).fit(source)
    assert_same_generators(found.generators_, expected.generators_, supports=not isinstance(model, VCA))
    assert found.n_features_in_ == 3
    assert found.degree_ == expected.degree_
    assert found.complete_ == expected.complete_
    if not isinstance(model, VCA):
        np.testing.assert_array_equal(list(found.order_ideal_.exponents), list(expected.order_ideal_.exponents))
    values = numbers(found.transform(source))
    wanted = expected.transform(as_fitted(X, make))
    assert values.shape == wanted.shape
    np.testing.assert_allclose(values, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_transformed_rows_are_of_the_kind_of_the_source(make, tmp_path):
    source = make(surface(), tmp_path)
    values = OAVI(1e-3, max_degree=2).fit(source).transform(source)
    if make in IN_MEMORY:
        assert isinstance(values, np.ndarray)
    elif make in ON_DISK:
        assert isinstance(values, Rows)
        assert values.n_samples in (N_ROWS, None)
    else:
        library = "dask" if make in IN_DASK else type(source).__module__.split(".")[0]
        assert type(values).__module__.split(".")[0] == library


@pytest.mark.parametrize("make", [npy_file, npy_files, parquet_folder, parquet_tiny_groups, arrow_file, csv_file])
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_transformed_rows_on_disk_are_written_as_they_are_computed(make, suffix, tmp_path, reference_fit):
    X = surface()
    model = reference_fit(OAVI(1e-3, max_degree=2), X)
    (tmp_path / "in").mkdir()
    target = tmp_path / f"features{suffix}"
    model.transform(make(X, tmp_path / "in")).write(target)
    if suffix == ".npy":
        written = np.load(target)
    else:
        table = parquet.read_table(target)
        assert table.column_names == list(model.get_feature_names_out())
        written = np.column_stack([column.to_numpy() for column in table.columns])
    np.testing.assert_allclose(written, model.transform(X), rtol=1e-12, atol=1e-14)
    assert sorted(file.name for file in tmp_path.iterdir()) == [target.name, "in"]


def test_written_features_can_be_opened_again(tmp_path):
    X, y = three_classes()
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    rows = open_rows(tmp_path / "rows.npy", label=3)
    features = PerClass(OAVI(1e-3, max_degree=2)).fit(rows)
    features.transform(rows).write(
        tmp_path / "features.parquet", names=[f"f{k}" for k in range(len(features.get_feature_names_out()))]
    )
    again = open_rows(tmp_path / "features.parquet")
    assert again.n_samples == N_ROWS
    np.testing.assert_allclose(again.to_numpy(), features.transform(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_a_wrong_number_of_names_is_refused_when_features_are_written(suffix, tmp_path, reference_fit):
    X = surface()
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(npy_file(X, tmp_path))
    with pytest.raises(ValueError, match="names"):
        values.write(tmp_path / f"features{suffix}", names=["only one"])
    assert not (tmp_path / f"features{suffix}").exists()


def test_a_fit_to_computed_rows_on_disk_is_that_to_computed_rows_in_memory(tmp_path):
    X, y = three_classes()
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    ideal = OAVI(1e-2, max_degree=3).fit(X)
    found = L1SVC().fit(ideal.transform(open_rows(tmp_path / "rows.npy", label=3)))
    expected = L1SVC().fit(ideal.transform(X), y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        npy_file,
        pytest.param(npy_files),
        pytest.param(npy_fortran),
        npy_float32,
        parquet_folder,
        parquet_tiny_groups,
        arrow_file,
    ],
)
def test_rows_on_disk_come_into_memory_as_they_were(make, tmp_path):
    X = as_fitted(surface(), make)
    rows = open_rows(make(X, tmp_path).files, n_jobs=1)
    np.testing.assert_array_equal(rows.to_numpy(), X)
    head = rows.head()
    before = head.copy()
    OAVI(1e-2, max_degree=2).fit(rows)
    np.testing.assert_array_equal(head, before)
    np.testing.assert_array_equal(head, X[: len(head)])


BITS = np.random.default_rng(0).integers(0, 2, (N_ROWS, 2))
BITS = np.column_stack([BITS, BITS[:, 0] ^ BITS[:, 1]])


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.bool_, np.float16])
@pytest.mark.parametrize(
    "make",
    [c_order, memory_map, pandas_frame, polars_frame, npy_file, parquet_folder, torch_tensor, strict_array, dask_array],
)
def test_integers_and_flags_are_numbers(dtype, make, tmp_path, reference_fit):
    if make is strict_array and dtype == np.float16:
        pytest.skip("not in the array API")
    found = OAVI(1e-6).fit(make(BITS.astype(dtype), tmp_path))
    assert_same_generators(found.generators_, reference_fit(OAVI(1e-6), BITS.astype(float)).generators_)


def test_frames_of_mixed_types_are_tables_of_numbers(reference_fit):
    pandas = pytest.importorskip("pandas")
    X = np.column_stack([surface()[:, 0].astype(np.float32), BITS[:, :2]])
    frame = pandas.DataFrame({"a": X[:, 0].astype(np.float32), "b": X[:, 1].astype(np.int8), "c": X[:, 2] > 0.5})
    nullable = frame.astype({"a": "Float32", "b": "Int64", "c": "boolean"})
    for table in (frame, nullable, pytest.importorskip("polars").from_pandas(frame)):
        found = OAVI(1e-3).fit(table)
        assert list(found.feature_names_in_) == NAMES
        assert_same_generators(found.generators_, reference_fit(OAVI(1e-3), X).generators_)


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, parquet_folder, arrow_file, csv_file, dask_frame])
def test_columns_with_names_keep_them(make, tmp_path):
    model = OAVI(1e-2, max_degree=1).fit(make(surface(), tmp_path))
    assert list(model.feature_names_in_) == NAMES


def test_columns_in_another_order_are_refused_in_transform(tmp_path):
    X = surface()
    write_parquet(tmp_path, X)
    model = OAVI(1e-2, max_degree=2).fit(open_rows(tmp_path))
    with pytest.raises(ValueError, match="same order"):
        model.transform(open_rows(tmp_path, columns=["b", "a", "c"]))
    with pytest.raises(ValueError, match="2 features"):
        model.transform(open_rows(tmp_path, columns=["a", "b"]))


@pytest.mark.parametrize("batch", [1, 7, 64, 10_000])
def test_the_sizes_of_blocks_do_not_matter(batch, tmp_path, monkeypatch, reference_fit):
    for name in ("_BATCH", "_BLOCK", "_SMALL", "_GROUP"):
        monkeypatch.setattr(vanishing.rows.readers, name, batch)
    X = surface(200)
    expected = reference_fit(OAVI(1e-3, max_degree=3), X)
    for row_group_size in (1, 50, 200):
        write_parquet(tmp_path, X, n_files=2, row_group_size=row_group_size)
        found = OAVI(1e-3, max_degree=3).fit(open_rows(tmp_path))
        assert_same_generators(found.generators_, expected.generators_)
        values = found.transform(open_rows(tmp_path)).to_numpy()
        np.testing.assert_allclose(values, expected.transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [npy_files, parquet_folder, parquet_tiny_groups, arrow_file])
def test_the_number_of_threads_does_not_change_a_bit(make, tmp_path):
    make(surface(), tmp_path)
    models = [OAVI(1e-3, max_degree=3).fit(open_rows(tmp_path, n_jobs=n_jobs)) for n_jobs in (1, 2, 4)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.generators_.coef, models[0].generators_.coef)


# --- weights ----------------------------------------------------------------------------------------------------------


def weighted_npy(X, weights, folder):
    np.save(folder / "rows.npy", np.column_stack([X, weights]))
    return open_rows(folder / "rows.npy", weight=-1), None


def weighted_parquet(X, weights, folder):
    return open_rows(write_parquet(folder, X, n_files=2, w=weights), weight="w"), None


def weighted_csv(X, weights, folder):
    table = np.column_stack([X, weights])
    np.savetxt(folder / "rows.csv", table, delimiter=",", header="a,b,c,w", comments="", fmt="%.17g")
    return open_rows(folder / "rows.csv", weight="w"), None


def weighted_torch(X, weights, folder):
    return torch_tensor(X, folder), torch_tensor(weights, folder)


def weighted_torch_by_numpy(X, weights, folder):
    return torch_tensor(X, folder), weights


def weighted_strict(X, weights, folder):
    return strict_array(X, folder), strict_array(weights, folder)


def weighted_dask(X, weights, folder):
    dask = pytest.importorskip("dask.array")
    return dask.from_array(X, chunks=(250, 3)), dask.from_array(weights, chunks=(250,))


def weighted_dask_by_numpy(X, weights, folder):
    return dask_array(X, folder), weights


def weighted_frame(X, weights, folder):
    return polars_frame(X, folder), weights


WEIGHTED = [
    weighted_npy, weighted_parquet, weighted_csv, weighted_torch, weighted_torch_by_numpy, weighted_strict,
    weighted_dask, weighted_dask_by_numpy, weighted_frame,
]  # fmt: skip


@pytest.mark.parametrize("make", WEIGHTED, ids=name_of)
@pytest.mark.parametrize(
    "model", [OAVI(1e-3, max_degree=3), ABM(1e-3, max_degree=2), VCA(1e-3)], ids=["OAVI", "ABM", "VCA"]
)
def test_weights_count_the_same_in_every_source(model, make, tmp_path):
    X, weights = surface(), some_weights()
    expected = clone(model).fit(X, sample_weight=weights)
    source, given = make(X, weights, tmp_path)
    found = clone(model).fit(source, sample_weight=given)
    assert_same_generators(found.generators_, expected.generators_, supports=not isinstance(model, VCA))


def test_whole_weights_repeat_rows_on_disk(tmp_path):
    X, weights = surface(300), np.arange(300) % 3
    np.save(tmp_path / "rows.npy", np.column_stack([X, weights]))
    found = OAVI(1e-3, max_degree=3).fit(open_rows(tmp_path / "rows.npy", weight=3))
    expected = OAVI(1e-3, max_degree=3).fit(np.repeat(X, weights, axis=0))
    assert_same_generators(found.generators_, expected.generators_)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(weighted_npy),
        weighted_parquet,
        weighted_torch,
        weighted_dask,
        weighted_frame,
    ],
)
def test_a_bad_weight_is_refused(make, value, tmp_path):
    weights = some_weights()
    weights[123] = value
    with pytest.raises(ValueError, match="weight"):  # noqa: PT012
        source, given = make(surface(), weights, tmp_path)
        OAVI().fit(source, sample_weight=given)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(weighted_npy),
        pytest.param(weighted_parquet),
        weighted_torch,
        pytest.param(weighted_dask),
        weighted_frame,
    ],
)
def test_weights_that_are_all_zero_are_refused(make, tmp_path):
    with pytest.raises(ValueError, match=r"weight|zero"):  # noqa: PT012
        source, given = make(surface(), np.zeros(N_ROWS), tmp_path)
        OAVI().fit(source, sample_weight=given)


def test_a_class_without_weight_is_refused_on_disk(tmp_path):
    X, y = three_classes()
    write_parquet(tmp_path, X, y=y, w=(y != 1).astype(float))
    with pytest.raises(ValueError, match="weight 0"):
        PerClass().fit(open_rows(tmp_path, label="y", weight="w"))


def test_weights_beside_rows_on_disk_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"open_rows\(weight="):
        OAVI().fit(npy_file(surface(), tmp_path), sample_weight=np.ones(N_ROWS))


# --- labels -----------------------------------------------------------------------------------------------------------


def labelled_array(X, y, folder):
    return X, y


def labelled_fortran(X, y, folder):
    return np.asfortranarray(X), y


def labelled_frame(X, y, folder):
    return pandas_frame(X, folder), y


def labelled_polars(X, y, folder):
    return polars_frame(X, folder), y


def labelled_npy(X, y, folder):
    write_npy(folder, np.column_stack([X, y]), n_files=3)
    return open_rows(folder, label=3), None


def labelled_parquet(X, y, folder):
    return open_rows(write_parquet(folder, X, n_files=2, y=y), label="y"), None


def labelled_tiny_groups(X, y, folder):
    return open_rows(write_parquet(folder, X, row_group_size=40, y=y), label="y"), None


def labelled_csv(X, y, folder):
    table = np.column_stack([X, y])
    np.savetxt(folder / "rows.csv", table, delimiter=",", header="a,b,c,y", comments="", fmt=["%.17g"] * 3 + ["%d"])
    return open_rows(folder / "rows.csv", label="y"), None


def labelled_torch(X, y, folder):
    return torch_tensor(X, folder), torch_tensor(y, folder)


def labelled_torch_by_numpy(X, y, folder):
    return torch_tensor(X, folder), y


def labelled_strict(X, y, folder):
    return strict_array(X, folder), strict_array(y, folder)


def labelled_dask(X, y, folder):
    return dask_array(X, folder), pytest.importorskip("dask.array").from_array(y, chunks=(250,))


def labelled_dask_by_numpy(X, y, folder):
    return dask_array(X, folder), y


LABELLED = [
    labelled_array, labelled_fortran, labelled_frame, labelled_polars, labelled_npy, labelled_parquet,
    labelled_tiny_groups, labelled_csv, labelled_torch, labelled_torch_by_numpy, labelled_strict, labelled_dask,
    labelled_dask_by_numpy,
]  # fmt: skip
THREE = three_classes()


@pytest.fixture(scope="module")
def reference_classifier():
    return VanishingIdealClassifier(OAVI(1e-3, max_degree=2)).fit(*THREE)


@pytest.mark.parametrize("make", LABELLED, ids=name_of)
def test_one_ideal_per_class_is_the_same_in_every_source(make, tmp_path):
    expected = PerClass(OAVI(1e-3, max_degree=2)).fit(*THREE)
    source, y = make(*THREE, tmp_path)
    found = PerClass(OAVI(1e-3, max_degree=2)).fit(source, y)
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    for model, wanted in zip(found.estimators_, expected.estimators_, strict=True):
        assert_same_generators(model.generators_, wanted.generators_)
    values = numbers(found.transform(source))
    np.testing.assert_allclose(values, expected.transform(THREE[0]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", LABELLED, ids=name_of)
def test_the_classifier_is_the_same_in_every_source(make, tmp_path, reference_classifier):
    source, y = make(*THREE, tmp_path)
    found = VanishingIdealClassifier(OAVI(1e-3, max_degree=2)).fit(source, y)
    expected = reference_classifier
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_allclose(found.scaler_.scale_, expected.scaler_.scale_, rtol=1e-12)
    scores = expected.decision_function(THREE[0])
    size = np.abs(scores).max()
    np.testing.assert_allclose(numbers(found.decision_function(source)) / size, scores / size, atol=1e-6)
    clear = np.ptp(np.sort(scores, axis=1)[:, -2:], axis=1) > 1e-4 * size
    np.testing.assert_array_equal(numbers(found.predict(source))[clear], expected.predict(THREE[0])[clear])
    assert found.score(source, y) == pytest.approx(expected.score(*THREE), abs=2e-3)


@pytest.mark.parametrize("make", LABELLED, ids=name_of)
def test_the_linear_classifier_is_the_same_in_every_source(make, tmp_path):
    expected = L1SVC(tol=1e-10).fit(*THREE)
    source, y = make(*THREE, tmp_path)
    found = L1SVC(tol=1e-10).fit(source, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-9)
    scores = numbers(found.decision_function(source))
    np.testing.assert_allclose(scores, expected.decision_function(THREE[0]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_the_detector_is_the_same_in_every_source(make, tmp_path, reference_fit):
    X = 3.0 + 2.0 * surface()
    expected = reference_fit(VanishingIdealDetector(OAVI(1e-3, max_degree=2)), as_fitted(X, make))
    source = make(X, tmp_path)
    found = VanishingIdealDetector(OAVI(1e-3, max_degree=2)).fit(source)
    np.testing.assert_allclose(found.scaler_.scale_, expected.scaler_.scale_, rtol=1e-12)
    assert_same_generators(found.ideal_.generators_, expected.ideal_.generators_)
    scores = numbers(found.score_samples(source))
    np.testing.assert_allclose(scores, expected.score_samples(as_fitted(X, make)), rtol=1e-6, atol=1e-6)
    assert set(numbers(found.predict(source))) <= {-1, 1}


@pytest.mark.parametrize(
    "make",
    [c_order, polars_frame, npy_file, parquet_folder, torch_tensor, strict_array, dask_array],
    ids=name_of,
)
def test_every_source_says_which_law_a_row_breaks(make, tmp_path):
    X = surface()
    source = make(X, tmp_path)
    detector = VanishingIdealDetector(OAVI(1e-3, max_degree=2), scale_input=False)
    expected = clone(detector).fit(X).violations(X)
    found = numbers(detector.fit(source).violations(source))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_models_along_psi_are_the_same_in_every_source(make, tmp_path):
    X, psis = surface(), [1e-2, 1e-3, 2e-4]
    expected = ideal_path(OAVI(max_degree=3), as_fitted(X, make), psis)
    found = ideal_path(OAVI(max_degree=3), make(X, tmp_path), psis)
    for model, wanted in zip(found, expected, strict=True):
        assert_same_generators(model.generators_, wanted.generators_)


def label_columns(y):
    words = np.array(["one", "two", "three"])[y].tolist()
    return {
        "integers": (pyarrow.array(y), [0, 1, 2]),
        "small integers": (pyarrow.array(y, pyarrow.int8()), [0, 1, 2]),
        "floats": (pyarrow.array(y.astype(float)), [0.0, 1.0, 2.0]),
        "flags": (pyarrow.array(y == 1), [False, True]),
        "strings": (pyarrow.array(words), ["one", "three", "two"]),
        "large strings": (pyarrow.array(words, pyarrow.large_string()), ["one", "three", "two"]),
        "string views": (pyarrow.array(words, pyarrow.string_view()), ["one", "three", "two"]),
        "dictionary": (pyarrow.array(words).dictionary_encode(), ["one", "three", "two"]),
        "dictionary of integers": (pyarrow.array(y).dictionary_encode(), [0, 1, 2]),
    }


@pytest.mark.parametrize("kind", list(label_columns(np.arange(3))))
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_labels_of_every_type_are_read(kind, suffix, tmp_path):
    X, y = THREE
    column, classes = label_columns(y)[kind]
    table = table_of(X).append_column("y", column)
    if suffix == ".parquet":
        parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    else:
        feather.write_feather(table, tmp_path / "rows.feather", chunksize=100)
    rows = open_rows(tmp_path, label="y")
    found = VanishingIdealClassifier(OAVI(1e-3, max_degree=2)).fit(rows)
    assert found.classes_.tolist() == classes
    expected = VanishingIdealClassifier(OAVI(1e-3, max_degree=2)).fit(X, np.asarray(column.to_pylist()))
    assert found.score(rows) == pytest.approx(expected.score(X, np.asarray(column.to_pylist())), abs=2e-3)
    assert found.predict(rows).dtype.kind == expected.predict(X).dtype.kind


def test_dictionaries_that_differ_between_files_mean_the_same_words(tmp_path):
    X, y = THREE
    words = np.array(["one", "two", "three"])[y]
    for k, start in enumerate(range(0, N_ROWS, 301)):
        part = slice(start, start + 301)
        column = pyarrow.array(words[part].tolist()).dictionary_encode()
        parquet.write_table(table_of(X[part]).append_column("y", column), tmp_path / f"{k}.parquet", row_group_size=50)
    found = PerClass(OAVI(1e-3, max_degree=2)).fit(open_rows(tmp_path, label="y"))
    expected = PerClass(OAVI(1e-3, max_degree=2)).fit(X, words)
    assert found.classes_.tolist() == expected.classes_.tolist()
    for model, wanted in zip(found.estimators_, expected.estimators_, strict=True):
        assert_same_generators(model.generators_, wanted.generators_)


def test_labels_of_rows_on_disk_are_one_of_their_columns(tmp_path):
    X, y = THREE
    write_parquet(tmp_path, X, y=y)
    with pytest.raises(ValueError, match=r"open_rows\(label="):
        PerClass().fit(open_rows(tmp_path, columns=NAMES), y)
    with pytest.raises(ValueError, match=r"open_rows\(label="):
        PerClass().fit(open_rows(tmp_path, columns=NAMES))
    with pytest.raises(ValueError, match=r"open_rows\(label="):
        PerClass().fit(open_rows(tmp_path, label="y"), y)


# --- what is opened ---------------------------------------------------------------------------------------------------


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


# --- scaling ----------------------------------------------------------------------------------------------------------


def raw_data(kind):
    """Data in units of their own, of which the first rows may tell little."""
    X = surface(3000)
    return {
        "moderate": 10.0 - 3.0 * X,
        "large offset": 1e6 + 1e-3 * X,
        "constant column": np.column_stack([X[:, :2], np.full(3000, 7.0)]),
        "constant first rows": np.vstack([np.tile(X[:1], (10_000, 1)), X]),
        "constant first rows, large offset": 1e6 + np.vstack([np.tile(X[:1], (10_000, 1)), X]),
        "narrow first rows": np.vstack([np.tile(X[:1], (10_000, 1)) + 1e-9 * np.tile(X, (4, 1))[:10_000], X]),
        "far first rows": np.vstack([X[:1] + 1e-6 * np.tile(X, (2, 1)), 1e4 * X]),
    }[kind]


KINDS = [
    "moderate", "large offset", "constant column", "constant first rows", "constant first rows, large offset",
    "narrow first rows", "far first rows",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_the_scaling_that_a_fit_finds_is_that_of_all_rows(kind, suffix, tmp_path):
    X = raw_data(kind)
    write_npy(tmp_path, X) if suffix == ".npy" else write_parquet(tmp_path, X, n_files=2)
    rows = open_rows(tmp_path, scale=True)
    found = OAVI(1e-3, max_degree=3).fit(rows)
    scaler = MinMaxScaler().fit(X)
    np.testing.assert_allclose(rows.scaler.transform(X), scaler.transform(X), rtol=0, atol=1e-12)
    assert rows.scaler.n_samples_seen_ == len(X)
    expected = OAVI(1e-3, max_degree=3).fit(scaler.transform(X))
    assert len(found.generators_) == len(expected.generators_)
    np.testing.assert_array_equal(found.generators_.leading_terms, expected.generators_.leading_terms)
    mse = np.mean(found.generators_.evaluate(scaler.transform(X)) ** 2, axis=0)
    rounding = 1e-6 if kind == "large offset" else 1e-12  # scale * x + offset is 1e9 - 1e9 there
    np.testing.assert_allclose(mse, found.generators_.mse, rtol=1e-6, atol=rounding)
    values = found.transform(rows).to_numpy()
    np.testing.assert_allclose(values, np.abs(found.generators_.evaluate(scaler.transform(X))), rtol=1e-9, atol=1e-9)


def test_the_scaling_is_exact_to_the_last_bit_where_a_bit_matters(tmp_path):
    for seed in range(10):
        X = 1e6 + 1e-3 * np.random.default_rng(seed).random((9000, 2))
        X[:4500] = X[0] + 1e-11 * np.arange(4500)[:, None]  # few bits apart
        write_npy(tmp_path, X)
        rows = open_rows(tmp_path, scale=True)
        OAVI(1e-2, max_degree=1).fit(rows)
        scaler = MinMaxScaler().fit(X)
        np.testing.assert_array_equal(rows.scaler.data_min_, scaler.data_min_)
        np.testing.assert_array_equal(rows.scaler.data_max_, scaler.data_max_)


@pytest.mark.parametrize("kind", ["moderate", "constant first rows", "narrow first rows"])
def test_generators_vanish_on_the_raw_data_in_their_units(kind, tmp_path):
    X = raw_data(kind)
    write_parquet(tmp_path, X, n_files=3)
    rows = open_rows(tmp_path, scale=True)
    generators = OAVI(1e-3, max_degree=3).fit(rows).generators_
    mse = np.mean(generators.in_units(rows.scaler).evaluate(X) ** 2, axis=0)
    np.testing.assert_allclose(mse, generators.mse, rtol=1e-6, atol=1e-12)


def test_a_scaling_is_used_for_new_rows(tmp_path):
    X, new = raw_data("moderate"), 10.0 - 3.0 * surface(500, seed=5)
    np.save(tmp_path / "train.npy", X)
    np.save(tmp_path / "test.npy", new)
    train = open_rows(tmp_path / "train.npy", scale=True)
    model = OAVI(1e-3, max_degree=2).fit(train)
    test = open_rows(tmp_path / "test.npy", scale=train.scaler)
    expected = model.transform(train.scaler.transform(new))
    np.testing.assert_allclose(model.transform(test).to_numpy(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(test.head(), train.scaler.transform(new), rtol=1e-12)


@pytest.mark.parametrize("make", [labelled_npy, labelled_parquet, labelled_tiny_groups], ids=name_of)
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(PerClass(OAVI(1e-3, max_degree=2)), id="PerClass"),
        pytest.param(VanishingIdealClassifier(OAVI(1e-3, max_degree=2)), id="VanishingIdealClassifier"),
        pytest.param(L1SVC(tol=1e-9), id="L1SVC"),
    ],
)
def test_classifiers_fit_rows_that_are_scaled_on_the_way(model, make, tmp_path):
    X, y = THREE
    make(5.0 + 3.0 * X, y, tmp_path)
    rows = open_rows(tmp_path, label=3 if make is labelled_npy else "y", scale=True)
    found = clone(model).fit(rows)
    scaled = MinMaxScaler().fit_transform(X)
    expected = clone(model).fit(scaled, y)
    if isinstance(model, PerClass):
        np.testing.assert_allclose(numbers(found.transform(rows)), expected.transform(scaled), rtol=1e-7, atol=1e-9)
    else:
        scores = expected.decision_function(scaled)
        np.testing.assert_allclose(found.decision_function(rows), scores, rtol=1e-4, atol=1e-4 * np.abs(scores).max())


@pytest.mark.parametrize(
    "scale",
    [MinMaxScaler(), MinMaxScaler().fit(np.eye(2)), "yes", 1],
    ids=["unfitted", "other width", "text", "number"],
)
def test_a_scaling_that_cannot_be_used_is_refused_when_rows_are_opened(scale, tmp_path):
    write_npy(tmp_path, surface())
    with pytest.raises((ValueError, TypeError, NotFittedError), match=r"scale|fitted"):
        open_rows(tmp_path, scale=scale)


# --- passes -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def passes(monkeypatch):
    """A list that gets an entry for every pass over rows on disk."""
    made = []
    original = DiskRows._in_order

    def counting(self, *arguments):
        made.append(self)
        return original(self, *arguments)

    monkeypatch.setattr(DiskRows, "_in_order", counting)
    return made


@pytest.mark.parametrize("model", [OAVI(2e-4), OAVI(1e-3), ABM(1e-4), AVI(1e-4)], ids=repr)
@pytest.mark.parametrize("scale", [False, True])
def test_a_fit_on_disk_makes_a_pass_fewer_than_it_has_degrees(model, scale, passes, tmp_path):
    rows = open_rows(write_parquet(tmp_path, surface(), n_files=2), scale=scale)
    found = clone(model).fit(rows)
    assert found.degree_ >= 3
    assert 1 <= len(passes) <= found.degree_ - 1


def test_opening_and_transforming_make_no_pass(passes, tmp_path, reference_fit):
    X = surface()
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(npy_file(X, tmp_path))
    assert passes == []
    values.to_numpy()
    assert len(passes) == 1
    values.write(tmp_path / "features.npy")
    assert len(passes) == 2


def test_several_psi_need_the_passes_of_the_smallest(passes, tmp_path):
    rows = npy_file(surface(), tmp_path)
    OAVI(2e-4).fit(rows)
    alone = len(passes)
    passes.clear()
    ideal_path(OAVI(), rows, [1e-2, 1e-3, 2e-4])
    assert len(passes) <= alone


def test_three_classes_need_no_more_passes_than_the_slowest_of_them(passes, tmp_path):
    X, y = THREE
    alone = []
    for k in range(3):
        (tmp_path / str(k)).mkdir()
        PerClass(OAVI(5e-4)).fit(open_rows(write_parquet(tmp_path / str(k), X[y == k], y=y[y == k]), label="y"))
        alone.append(len(passes))
        passes.clear()
    (tmp_path / "all").mkdir()
    PerClass(OAVI(5e-4)).fit(open_rows(write_parquet(tmp_path / "all", X, y=y), label="y"))
    assert len(passes) <= max(alone)
    assert max(alone) < sum(alone)


# --- faults -----------------------------------------------------------------------------------------------------------


def assert_not_fitted(model):
    """Nothing but what is known about the columns was set."""
    left = [name for name in vars(model) if name.endswith("_") and name not in ("n_features_in_", "feature_names_in_")]
    assert left == []


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize(
    "model",
    [OAVI(), VCA(), AVI(), VanishingIdealDetector(), PerClass(), VanishingIdealClassifier()],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("groups", [None, 10])
def test_a_missing_value_is_named_with_its_file_row_and_column(value, word, model, scale, groups, tmp_path):
    X, y = THREE[0].copy(), THREE[1]
    X[613, 1] = X[850, 1] = value
    write_parquet(tmp_path, X, n_files=3, y=y, row_group_size=groups)
    model = clone(model)
    needs_labels = isinstance(model, (PerClass, VanishingIdealClassifier))
    rows = open_rows(tmp_path, columns=NAMES, label="y" if needs_labels else None, scale=scale)
    with pytest.raises(
        ValueError, match=rf"{word}.*column 1 \('b'\): 2 such values, the first in row 13 of .*part2\.parquet"
    ):
        model.fit(rows)
    assert_not_fitted(model)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_missing_value_in_an_array_is_named_with_its_file_row_and_column(order, tmp_path):
    X = surface()
    X[613, 1] = np.nan
    write_npy(tmp_path, X, n_files=3, order=order)
    with pytest.raises(ValueError, match=r"NaN in column 1: 1 such values, the first in row 13 of .*part2\.npy"):
        OAVI().fit(open_rows(tmp_path))


@pytest.mark.parametrize("make", [*IN_MEMORY, *ON_DEVICES, *IN_DASK], ids=name_of)
def test_a_missing_value_is_refused_in_every_source(make, tmp_path):
    X = surface()
    fitted = OAVI(1e-3, max_degree=2).fit(make(X, tmp_path))
    X[613, 1] = np.nan
    model = OAVI()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(make(X, tmp_path))
    assert_not_fitted(model)
    with pytest.raises(ValueError, match="NaN"):
        numbers(fitted.transform(make(X, tmp_path)))


@pytest.mark.parametrize(
    "make", [c_order, pandas_frame, npy_file, parquet_folder, torch_tensor, strict_array, dask_array]
)
@pytest.mark.parametrize("model", [OAVI(), VCA(), VanishingIdealDetector()], ids=lambda model: type(model).__name__)
def test_after_a_fit_that_failed_an_estimator_is_not_fitted(model, make, tmp_path):
    X = surface()
    X[613, 1] = np.nan
    model = clone(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(make(X, tmp_path))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("model", [OAVI(), VanishingIdealDetector()], ids=lambda model: type(model).__name__)
def test_a_missing_value_among_the_first_rows_is_named_with_its_place(value, model, tmp_path):
    X = surface()
    X[13, 1] = value
    rows = open_rows(write_npy(tmp_path, X, n_files=3), scale=isinstance(model, OAVI))
    with pytest.raises(ValueError, match=r"column 1: 1 such values, the first in row 13 of .*part0\.npy"):
        clone(model).fit(rows)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_a_missing_value_in_new_rows_is_named_when_they_are_read(suffix, tmp_path, reference_fit):
    X = surface()
    model = reference_fit(OAVI(1e-3, max_degree=2), X)
    X[613, 1] = np.nan
    (tmp_path / "in").mkdir()
    write_npy(tmp_path / "in", X, n_files=3)
    values = model.transform(open_rows(tmp_path / "in"))
    with pytest.raises(ValueError, match=r"row 13 of .*part2\.npy"):
        values.to_numpy()
    with pytest.raises(ValueError, match=r"row 13 of .*part2\.npy"):
        values.write(tmp_path / f"features{suffix}")
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


def truncated_npy(folder):
    np.save(folder / "broken.npy", surface())
    os.truncate(folder / "broken.npy", 10_000)


def npy_without_data(folder):
    (folder / "broken.npy").write_bytes(b"")


def npy_of_noise(folder):
    (folder / "broken.npy").write_bytes(bytes(range(256)))


def npy_vector(folder):
    np.save(folder / "broken.npy", np.arange(5.0))


def npy_of_text(folder):
    np.save(folder / "broken.npy", np.array([["a", "b"]]))


def npy_of_complex_numbers(folder):
    np.save(folder / "broken.npy", np.ones((3, 2), dtype=complex))


def parquet_without_footer(folder):
    write_parquet(folder, surface(), name="broken")
    os.truncate(folder / "broken0.parquet", 5_000)


def parquet_of_noise(folder):
    (folder / "broken.parquet").write_bytes(bytes(range(256)))


def arrow_of_noise(folder):
    (folder / "broken.arrow").write_bytes(bytes(range(256)))


def parquet_damaged(folder):
    """The footer is all right, but not a page."""
    write_parquet(folder, surface(), name="whole")
    write_parquet(folder, surface(), name="broken", row_group_size=300)
    file = folder / "broken0.parquet"
    group = parquet.ParquetFile(file).metadata.row_group(1).column(1)
    content = bytearray(file.read_bytes())
    start = group.dictionary_page_offset or group.data_page_offset
    content[start : start + 40] = b"\xff" * 40
    file.write_bytes(bytes(content))


def csv_with_a_short_line(folder):
    (folder / "broken.csv").write_text("a,b\n0.5,0.5\n0.25\n")


def column_of_text(folder):
    parquet.write_table(
        table_of(surface()).append_column("d", pyarrow.array(["x"] * N_ROWS)), folder / "broken.parquet"
    )


def column_of_dates(folder):
    days = pyarrow.array(np.arange(N_ROWS), pyarrow.timestamp("s"))
    parquet.write_table(table_of(surface()).append_column("d", days), folder / "broken.parquet")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (truncated_npy, "truncated"),
        (npy_without_data, r"no \.npy file"),
        (npy_of_noise, r"no \.npy file"),
        (npy_vector, "table of numbers"),
        (npy_of_text, "table of numbers"),
        (npy_of_complex_numbers, "table of numbers"),
        (parquet_without_footer, "cannot be read as parquet"),
        (parquet_of_noise, "cannot be read as parquet"),
        (parquet_damaged, "cannot be read as parquet"),
        (arrow_of_noise, "cannot be read as ipc"),
        (csv_with_a_short_line, "cannot be read as csv"),
        (column_of_text, "'d'.*type.*string"),
        (column_of_dates, "'d'.*type.*timestamp"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(make, message, tmp_path):
    make(tmp_path)
    model = OAVI()
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(open_rows(tmp_path))
    assert "broken" in str(caught.value)
    assert_not_fitted(model)


def test_a_damaged_file_does_not_leave_a_file_of_features(tmp_path):
    (tmp_path / "in").mkdir()
    parquet_damaged(tmp_path / "in")
    rows = open_rows(tmp_path / "in")
    model = OAVI(1e-3, max_degree=2).fit(pandas_frame(surface(), tmp_path))
    with pytest.raises(ValueError, match="broken0"):
        model.transform(rows).write(tmp_path / "features.npy")
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


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


@pytest.mark.parametrize("value", [None, float("nan")])
@pytest.mark.parametrize(
    "model", [PerClass(), VanishingIdealClassifier(), L1SVC()], ids=lambda model: type(model).__name__
)
def test_a_missing_label_is_named_with_its_file(value, model, tmp_path):
    X, y = THREE
    labels = [*y[:500].tolist(), value, *y[501:].tolist()]
    if value is not None:
        labels = np.array(labels, dtype=float)
    for k in range(3):
        part = slice(300 * k, 300 * k + 300)
        parquet.write_table(
            table_of(X[part]).append_column("y", pyarrow.array(labels[part])), tmp_path / f"{k}.parquet"
        )
    model = clone(model)
    with pytest.raises(ValueError, match=r"label is missing.*1\.parquet"):
        model.fit(open_rows(tmp_path, label="y"))
    assert_not_fitted(model)


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


@pytest.mark.parametrize("make", [npy_files, parquet_folder, parquet_tiny_groups, arrow_file])
def test_a_file_that_has_changed_is_named(make, tmp_path):
    rows = make(surface(), tmp_path)
    file = Path(rows.files[-1])
    content = file.read_bytes()
    file.write_bytes(content + b"more")
    model = OAVI()
    with pytest.raises(ValueError, match=f"{file.name} has changed since it was opened"):
        model.fit(rows)
    assert_not_fitted(model)


@pytest.mark.parametrize("make", [npy_files, parquet_folder, arrow_file, csv_file])
def test_a_file_that_has_been_deleted_is_named(make, tmp_path):
    rows = make(surface(), tmp_path)
    os.unlink(rows.files[-1])
    model = OAVI()
    with pytest.raises(FileNotFoundError, match=Path(rows.files[-1]).name):
        model.fit(rows)
    assert_not_fitted(model)


def test_a_file_that_changes_between_two_passes_is_named(tmp_path, monkeypatch):
    rows = npy_files(surface(), tmp_path)
    original = DiskRows.reduce_blocks

    def meddling(self, *arguments, **options):
        result = original(self, *arguments, **options)
        os.utime(rows.files[1], (0, 0))
        return result

    monkeypatch.setattr(DiskRows, "reduce_blocks", meddling)
    model = OAVI(2e-4)
    with pytest.raises(ValueError, match=r"part1\.npy has changed"):
        model.fit(rows)
    assert_not_fitted(model)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("existing", [False, True])
def test_an_interrupted_write_leaves_nothing_and_an_old_file_as_it_was(
    suffix, error, existing, tmp_path, monkeypatch, reference_fit
):
    (tmp_path / "in").mkdir()
    X = surface()
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(npy_files(X, tmp_path / "in"))
    target = tmp_path / f"features{suffix}"
    if existing:
        values.write(target)
    before = target.read_bytes() if existing else None
    kind = vanishing.rows.writing._Npy if suffix == ".npy" else vanishing.rows.writing._Parquet
    original, calls = kind.write, []

    def write(self, block):
        calls.append(block)
        if len(calls) == 3:
            raise error
        original(self, block)

    monkeypatch.setattr(kind, "write", write)
    with pytest.raises(error):
        values.write(target)
    assert sorted(file.name for file in tmp_path.iterdir()) == ([target.name] if existing else []) + ["in"]
    assert not existing or target.read_bytes() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_while_a_block_is_computed_ends_a_write(n_jobs, tmp_path, monkeypatch, reference_fit):
    (tmp_path / "in").mkdir()
    X = surface()
    npy_files(X, tmp_path / "in")
    rows = open_rows(tmp_path / "in", n_jobs=n_jobs)
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(rows)
    original = type(rows.reader).block

    def block(self, piece, **options):
        if piece.part == 2:
            raise KeyboardInterrupt
        return original(self, piece, **options)

    monkeypatch.setattr(type(rows.reader), "block", block)
    with pytest.raises(KeyboardInterrupt):
        values.write(tmp_path / "features.npy")
    model = OAVI()
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert_not_fitted(model)
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


def test_features_are_written_to_known_formats_and_folders_only(tmp_path, reference_fit):
    X = surface()
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(npy_file(X, tmp_path))
    with pytest.raises(ValueError, match=r"\.npy and \.parquet"):
        values.write(tmp_path / "features.csv")
    with pytest.raises(FileNotFoundError, match="no folder"):
        values.write(tmp_path / "nowhere" / "features.npy")


# --- single precision -------------------------------------------------------------------------------------------------


SINGLE = [float32, npy_float32, parquet_float32, torch_float32]


def warned(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [warning.category for warning in caught]


def dask_float32(X, folder):
    return dask_array(X.astype(np.float32), folder)


def polars_float32(X, folder):
    return polars_frame(X.astype(np.float32), folder)


def nullable_float32(X, folder):
    return pandas_frame(X, folder).astype("Float32")


def one_column_float32(X, folder):
    return pandas_frame(X, folder).astype({"b": np.float32})


def later_file_float32(X, folder):
    parquet.write_table(table_of(X[:400]), folder / "0.parquet")
    parquet.write_table(table_of(X[400:].astype(np.float32)), folder / "1.parquet")
    return open_rows(folder)


@pytest.mark.parametrize(
    "make",
    [*SINGLE, dask_float32, polars_float32, nullable_float32, one_column_float32, later_file_float32],
    ids=name_of,
)
def test_psi_below_the_rounding_of_single_precision_is_warned_of(make, tmp_path):
    source = make(surface(), tmp_path)
    assert warned(lambda: OAVI(1e-15, max_degree=1).fit(source)) == [RangeWarning]
    assert warned(lambda: OAVI(1e-13, max_degree=1).fit(source)) == []


@pytest.mark.parametrize("make", [c_order, pandas_frame, npy_file, parquet_file, csv_file, torch_tensor, dask_array])
def test_double_precision_is_not_warned_of(make, tmp_path):
    assert warned(lambda: OAVI(1e-15, max_degree=1).fit(make(surface(), tmp_path))) == []


def test_the_smallest_of_several_psi_is_compared_with_single_precision():
    X = surface().astype(np.float32)
    assert warned(lambda: ideal_path(OAVI(max_degree=1), X, [1e-3, 1e-15])) == [RangeWarning]


# --- together ---------------------------------------------------------------------------------------------------------


class Counted(Rows):
    """Rows outside of memory, as far as anybody can tell, that count passes over them."""

    reading_dominates = True

    def __init__(self, X, fail_in=None, error=None):
        self.inside = ArrayRows(X, n_jobs=1)
        self.n_samples, self.n_features = X.shape
        self.n_passes = 0
        self.fail_in = fail_in
        self.error = error

    def reduce_blocks(self, kernel, combine, *, block_rows, width):
        self.n_passes += 1
        if self.n_passes == self.fail_in:
            raise self.error
        return self.inside.reduce_blocks(kernel, combine, block_rows=block_rows, width=width)

    def map_blocks(self, kernel, n_columns, *, block_rows, width, out=None):
        return self.inside.map_blocks(kernel, n_columns, block_rows=block_rows, width=width, out=out)


def total(rows, power=1):
    return rows.reduce(lambda X, _: float((X**power).sum()), lambda a, b: a + b, block_rows=100, width=1)


def in_passes(n_passes):
    """A task that makes so many passes, the k-th for the sum of k-th powers."""
    return lambda rows: [total(rows, k + 1) for k in range(n_passes)]


def within(seconds, work):
    """The result of ``work()``, or the exception that it raised; fails if that takes too long."""
    ended = []

    def run():
        try:
            ended.append(work())
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert ended, "it hangs"
    return ended[0]


@pytest.mark.parametrize("lengths", [[1], [3], [2, 2], [1, 4, 2], [0, 3, 0, 1], [1] * 20])
def test_tasks_together_make_as_many_passes_as_the_longest(lengths):
    X = surface(300)
    rows = Counted(X)
    found = within(60, lambda: together(rows, [in_passes(n) for n in lengths]))
    assert rows.n_passes == max(lengths)
    for values, n in zip(found, lengths, strict=True):
        np.testing.assert_allclose(values, [(X ** (k + 1)).sum() for k in range(n)], rtol=1e-12)


def test_tasks_together_see_the_views_that_they_are_given():
    X, _ = THREE
    rows = Counted(X)
    scaled = rows.scaled(np.array([2.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    expected = (X * [2.0, 1.0, 1.0] + [0.0, 1.0, 0.0]).sum()
    found = within(60, lambda: together(scaled, [total, total]))
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-12)
    assert rows.n_passes == 1


@pytest.mark.parametrize("when", [0, 1, 3])
def test_a_task_that_fails_ends_the_others(when):
    def failing(rows):
        in_passes(when)(rows)
        raise ZeroDivisionError("mine")

    rows = Counted(surface(300))
    error = within(60, lambda: together(rows, [in_passes(50), failing, in_passes(2)]))
    assert isinstance(error, ZeroDivisionError)
    assert rows.n_passes <= when + 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, ValueError, MemoryError])
@pytest.mark.parametrize("fail_in", [1, 2])
def test_an_error_in_a_pass_ends_everything(kind, fail_in):
    rows = Counted(surface(300), fail_in, kind("in a pass"))
    error = within(60, lambda: together(rows, [in_passes(5), in_passes(3), in_passes(1)]))
    assert isinstance(error, kind)
    assert rows.n_passes == fail_in


def test_a_kernel_that_fails_for_one_task_ends_everything():
    def failing(rows):
        return rows.reduce(lambda X, _: 1 / 0, lambda a, b: a + b, block_rows=100, width=1)

    error = within(60, lambda: together(Counted(surface(300)), [in_passes(5), failing]))
    assert isinstance(error, ZeroDivisionError)


def test_a_task_that_survives_an_error_of_a_pass_does_not_hang():
    def stubborn(rows):
        for _ in range(3):
            with contextlib.suppress(BaseException):
                total(rows)
        return "done"

    rows = Counted(surface(300), 1, KeyboardInterrupt())
    assert isinstance(within(60, lambda: together(rows, [stubborn, in_passes(2)])), KeyboardInterrupt)


def test_an_interrupt_in_a_fit_of_several_classes_ends_it(tmp_path, monkeypatch):
    X, y = THREE
    rows = open_rows(write_parquet(tmp_path, X, y=y), label="y")
    original, calls = DiskRows.reduce_blocks, []

    def interrupted(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 3:  # labels, survey, then the first pass together
            raise KeyboardInterrupt
        return original(self, *arguments, **options)

    monkeypatch.setattr(DiskRows, "reduce_blocks", interrupted)
    model = PerClass(OAVI(2e-4))
    assert isinstance(within(60, lambda: model.fit(rows)), KeyboardInterrupt)
    assert_not_fitted(model)
    assert len(calls) == 3


def test_tasks_in_memory_make_their_own_passes():
    X = surface(300)
    rows = ArrayRows(X, n_jobs=1)
    for threads in (1, 3):
        found = within(60, lambda threads=threads: together(rows, [in_passes(2), in_passes(1)], threads=threads))
        np.testing.assert_allclose(found[1], [X.sum()])


# --- folds ------------------------------------------------------------------------------------------------------------


def test_every_row_is_in_one_fold_whatever_the_blocks():
    folds = InFolds((0,), 5)
    whole = folds.fold_of(2, 0, 10_000)
    for size in (1, 7, 1000, 9999):
        parts = [folds.fold_of(2, start, min(size, 10_000 - start)) for start in range(0, 10_000, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert set(whole.tolist()) == set(range(5))
    assert (folds.fold_of(3, 0, 10_000) != whole).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
@pytest.mark.parametrize("part", [0, 1, 1000])
def test_folds_are_balanced(n_folds, part):
    m = 200_000
    counts = np.bincount(InFolds((0,), n_folds).fold_of(part, 12_345, m).astype(int), minlength=n_folds)
    assert counts.sum() == m
    share = 1.0 / n_folds
    assert np.abs(counts - m * share).max() < 5.0 * np.sqrt(m * share * (1.0 - share))


@pytest.mark.parametrize("batch", [10, 64, 100_000])
def test_folds_of_rows_on_disk_do_not_depend_on_how_they_are_read(batch, tmp_path, monkeypatch):
    X = surface()
    write_parquet(tmp_path, X, n_files=3, row_group_size=29)
    for name in ("_BATCH", "_BLOCK", "_SMALL", "_GROUP"):
        monkeypatch.setattr(vanishing.rows.readers, name, batch)
    rows = open_rows(tmp_path)
    expected = np.concatenate([InFolds((0,), 4).fold_of(part, 0, 300) for part in range(3)])
    seen = 0
    for k in range(4):
        inside = rows.changed(InFolds((k,), 4)).to_numpy()
        np.testing.assert_array_equal(inside, X[expected == k])
        seen += len(inside)
    assert seen == N_ROWS
    others = rows.changed(InFolds((0, 1, 3), 4)).to_numpy()
    np.testing.assert_array_equal(others, X[expected != 2])


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [c_order, pandas_frame, npy_files, parquet_folder, parquet_tiny_groups, torch_tensor, dask_array]
)
def test_nothing_is_shown_unless_it_is_wanted(make, tmp_path, capfd):
    source = make(surface(), tmp_path)
    numbers(OAVI(1e-3, max_degree=3).fit(source).transform(source))
    shown = capfd.readouterr()
    assert shown.out == shown.err == ""


@pytest.mark.parametrize(
    "make",
    [c_order, pandas_frame, npy_files, parquet_folder, parquet_tiny_groups, torch_tensor, dask_array],
    ids=name_of,
)
def test_every_pass_shows_a_bar_that_counts_rows(make, tmp_path, capsys):
    pytest.importorskip("tqdm")
    source = make(surface(), tmp_path)
    with show_progress():
        model = OAVI(2e-4, max_degree=4).fit(source)
    shown = capsys.readouterr().err
    assert model.degree_ == 4
    for k in range(1, model.degree_ - (0 if make in IN_MEMORY else 1)):
        assert f"pass {k}:" in shown
    assert "900/900" in shown
    assert " rows" in shown
    OAVI(1e-3, max_degree=2).fit(source)
    assert capsys.readouterr().err == ""


def test_a_bar_counts_rows_where_their_number_is_not_known(tmp_path, capsys):
    pytest.importorskip("tqdm")
    with show_progress():
        OAVI(1e-3, max_degree=2).fit(csv_file(surface(), tmp_path))
    assert "900 rows" in capsys.readouterr().err


def test_bars_are_numbered_anew_in_every_context_and_survive_errors(capsys):
    pytest.importorskip("tqdm")
    X = surface()
    for _ in range(2):
        with show_progress():
            OAVI(1e-2, max_degree=1).fit(X)
        shown = capsys.readouterr().err
        assert "pass 1:" in shown
        assert "pass 2:" not in shown
    with pytest.raises(ValueError, match="NaN"), show_progress(), show_progress():
        OAVI().fit(np.full((5, 2), np.nan))
    capsys.readouterr()
    OAVI(1e-2, max_degree=1).fit(X)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["npy", "torch", "strict", "dask"])
def test_rows_of_some_classes_only_can_be_scored(kind, tmp_path):
    X, y = three_classes()
    model = VanishingIdealClassifier(OAVI(1e-2, max_degree=3)).fit(X, y)
    some = y != np.unique(y)[-1]
    X, y = X[some], y[some]
    X[:20] = X[-20:]  # so that some predictions are wrong
    expected = model.score(X, y)
    if kind == "npy":
        np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
        found = model.score(open_rows(tmp_path / "rows.npy", label=X.shape[1]))
    elif kind == "dask":
        da = pytest.importorskip("dask.array")
        found = model.score(da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100))
    else:
        library = pytest.importorskip("torch" if kind == "torch" else "array_api_strict")
        found = model.score(library.asarray(X), library.asarray(y))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["torch", "array_api_strict"])
@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf, 0.0])
def test_weights_on_a_device_are_checked_there(kind, bad):
    library = pytest.importorskip(kind)
    X, weights = surface(), np.full(len(surface()), 0.0 if bad == 0.0 else 1.0)
    weights[7] = bad
    with pytest.raises(ValueError, match="sample_weight"):
        OAVI(1e-2).fit(library.asarray(X), sample_weight=library.asarray(weights))
    with pytest.raises(ValueError, match=r"sample_weight must have shape"):
        OAVI(1e-2).fit(library.asarray(X), sample_weight=library.asarray(weights[:5]))


def test_rows_that_do_not_fit_the_model_are_not_scored(tmp_path):
    X, y = three_classes()
    model = VanishingIdealClassifier(OAVI(1e-2, max_degree=3)).fit(X, y)
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    with pytest.raises(ValueError, match="X has 2 features, but VanishingIdealClassifier is expecting 3"):
        model.score(open_rows(tmp_path / "rows.npy", columns=[0, 1], label=3))
    X[5, 1] = np.nan
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    with pytest.raises(ValueError, match="NaN in column 1: 1 such values, the first in row 5 of"):
        model.score(open_rows(tmp_path / "rows.npy", label=3))
