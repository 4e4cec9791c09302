"""Files, a Dask array, an array on a device (here the CPU), and sums that were collected before."""

from pathlib import Path

import dask.array
import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import torch

from vanishing import Moments


def rows_of(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(size=(2, 1000))
    return np.column_stack([a, b, np.clip(a * b + rng.normal(0, 0.001, 1000), 0, 1)])


def write(name, seed, **more):
    columns = dict(zip("abc", rows_of(seed).T, strict=True)) | more
    pyarrow.parquet.write_table(pyarrow.table(columns), name)


Path("clicks").mkdir()
for part in range(2):
    write(f"clicks/{part}.parquet", part, y=np.arange(1000) % 2, w=np.ones(1000))
write("new.parquet", 5)
dask_array = dask.array.from_array(rows_of(0), chunks=(250, 3))
cupy_array = torch.tensor(rows_of(0))
days = [rows_of(seed) for seed in range(7)]
last_monday = Moments(n_features=3, degree=3).update(days[0])
moments = Moments(n_features=3, degree=3).update(days[1])
other_site = Moments(n_features=3, degree=3).update(rows_of(9))
other_site.save("other_site.npz")
duckdb.sql("create or replace table clicks as select * from 'clicks/*.parquet'")
with duckdb.connect("plant.db") as plant:
    plant.sql("create table sensors as select a as p, b as T, c as flow, true as ok from 'clicks/*.parquet'")
