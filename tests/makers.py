"""The same rows in every source: in memory, in files, in Dask collections and on devices."""

from __future__ import annotations

import numpy as np
import pytest

from vanishing import ABM, AVI, OAVI, VCA, open_rows
from vanishing.rows.protocol import Rows

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
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({**{name: X[:, j] for j, name in enumerate(names)}, **more})


def write_parquet(folder, X, *, n_files=1, name="part", row_group_size=None, **more):
    """Parquet files with the rows; ``more`` are columns beside them."""
    parquet = pytest.importorskip("pyarrow.parquet")
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


def arrow_table(X, folder):
    return table_of(X)


def lazy_frame(X, folder):
    return polars_frame(X, folder).lazy()


def duckdb_relation(X, folder):
    return pytest.importorskip("duckdb").from_arrow(table_of(X))


def arrow_dataset(X, folder):
    return pytest.importorskip("pyarrow.dataset").dataset(table_of(X))


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
    return open_rows(write_parquet(folder, X, n_files=2, row_group_size=50))


def parquet_float32(X, folder):
    return open_rows(write_parquet(folder, X.astype(np.float32), n_files=2))


def arrow_file(X, folder):
    feather = pytest.importorskip("pyarrow.feather")
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
    c_order, fortran_order, every_second_row, float32, lists, memory_map, pandas_frame, nullable_frame, polars_frame,
    arrow_table,
]  # fmt: skip
ON_DISK = [
    npy_file, npy_fortran, npy_float32, npy_big_endian, npy_files, parquet_file, parquet_folder, parquet_pattern,
    parquet_tiny_groups, parquet_float32, arrow_file, csv_file, one_thread, lazy_frame, duckdb_relation, arrow_dataset,
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


def assert_same_generators(found, expected, *, supports=True):
    assert len(found) == len(expected) > 0
    np.testing.assert_array_equal(found.exponents, expected.exponents)
    if supports:
        np.testing.assert_array_equal(found.coef != 0.0, expected.coef != 0.0)
    size = np.abs(expected.coef).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found.coef / size, expected.coef / size, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.mse, expected.mse, rtol=1e-8, atol=1e-15)


BITS = np.random.default_rng(0).integers(0, 2, (N_ROWS, 2))
BITS = np.column_stack([BITS, BITS[:, 0] ^ BITS[:, 1]])


# --- weights ----------------------------------------------------------------------------------------------------------


def weighted_npy(X, weights, folder):
    np.save(folder / "rows.npy", np.column_stack([X, weights]))
    return open_rows(folder / "rows.npy", weight=-1), None


def weighted_parquet(X, weights, folder):
    return open_rows(write_parquet(folder, X, n_files=2, w=weights), weight="w"), None


def weighted_lazy_frame(X, weights, folder):
    frame = polars_frame(X, folder).lazy().with_columns(w=weights)
    return open_rows(frame, columns=NAMES, weight="w"), None


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
    weighted_dask, weighted_dask_by_numpy, weighted_frame, weighted_lazy_frame,
]  # fmt: skip


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
    return open_rows(write_parquet(folder, X, row_group_size=100, y=y), label="y"), None


def labelled_csv(X, y, folder):
    table = np.column_stack([X, y])
    np.savetxt(folder / "rows.csv", table, delimiter=",", header="a,b,c,y", comments="", fmt=["%.17g"] * 3 + ["%d"])
    return open_rows(folder / "rows.csv", label="y"), None


def labelled_relation(X, y, folder):
    return open_rows(pytest.importorskip("duckdb").from_arrow(table_of(X, y=y)), label="y"), None


def labelled_table(X, y, folder):
    return table_of(X), y


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
    labelled_dask_by_numpy, labelled_relation, labelled_table,
]  # fmt: skip
THREE = three_classes()


# --- comparisons ------------------------------------------------------------------------------------------------------


def assert_not_fitted(model):
    """Nothing but what is known about the columns was set."""
    left = [name for name in vars(model) if name.endswith("_") and name not in ("n_features_in_", "feature_names_in_")]
    assert left == []
