"""Faults while something is under way: what comes out is right, or a clear error, and no half of a file stays."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vanishing import OAVI, Moments, open_rows

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


# --- workers of a Dask cluster ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "level"), [("gram", 0), ("gram", 1), ("ideal", 1)])
def test_a_worker_killed_after_sums_were_made_changes_no_bit_while_progress_is_shown(name, level):
    pytest.importorskip("distributed", reason="needs distributed: pip install 'vanishing[dask]'")
    pytest.importorskip("tqdm", reason="needs tqdm: pip install 'vanishing[progress]'")
    chaos = runpy.run_path(str(BENCHMARKS / "chaos.py"))
    work = chaos["WORK"][name]
    expected = work(chaos["slow_blocks"](128, 0.0))
    found, n_killed = chaos["disturbed"](work, chaos["slow_blocks"](128, 0.02), level, 0.1)
    assert n_killed == 1
    np.testing.assert_array_equal(found, expected)


# --- files that are replaced during a pass ----------------------------------------------------------------------------


def write_table(path, values):
    frame = pd.DataFrame(values, columns=["a", "b"])
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".csv":
        frame.round(6).to_csv(path, index=False, float_format="%.6f")  # as long as every other such file
    else:
        frame.to_parquet(path, row_group_size=10_000 if path.stem.startswith("groups") else None)


def replace_on_first_read(rows, replace):
    """Let ``replace()`` happen after the first block of the next pass has been read."""
    original, done = rows.reader.block, []

    def block(piece, **options):
        found = original(piece, **options)
        if not done:
            done.append(1)
            replace()
        return found

    rows.reader.block = block


@pytest.mark.parametrize("name", ["rows.npy", "rows.parquet", "groups.parquet", "rows.csv"])
@pytest.mark.parametrize("how", ["rename", "in place"])
def test_a_file_that_is_replaced_during_a_pass_is_refused(name, how, tmp_path):
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'vanishing[parquet]'")
    rng = np.random.default_rng(0)
    path, other = tmp_path / name, tmp_path / f"groups-other{Path(name).suffix}"
    write_table(path, rng.random((200_000, 2)))
    write_table(other, rng.random((200_000, 2)))
    rows = open_rows(path, n_jobs=2)
    replace_on_first_read(
        rows, lambda: os.replace(other, path) if how == "rename" else path.write_bytes(other.read_bytes())
    )
    model = OAVI(0.01)
    with pytest.raises(ValueError, match=f"{name} has changed since it was opened: open the files again"):
        model.fit(rows)
    assert not hasattr(model, "generators_")


def test_moments_take_no_rows_from_a_file_that_is_replaced_during_the_pass(tmp_path):
    path = tmp_path / "rows.npy"
    write_table(path, np.random.default_rng(0).random((200_000, 2)))
    rows, moments = open_rows(path), Moments(2, 2)
    stat = path.stat()
    replace_on_first_read(rows, lambda: (path.touch(), os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))))
    with pytest.raises(ValueError, match="has changed since it was opened"):
        moments.update(rows)
    assert moments.n_samples == 0


def test_labels_are_not_read_from_another_file_than_the_rows(tmp_path):
    path = tmp_path / "rows.npy"
    write_table(path, np.random.default_rng(0).random((100, 2)))
    rows = open_rows(path, label=1)
    write_table(path, np.random.default_rng(1).random((50, 2)))
    with pytest.raises(ValueError, match="has changed since it was opened"):
        rows.label_rows().to_numpy()
