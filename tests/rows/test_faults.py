"""Faults while something is under way: what comes out is right, or a clear error, and no half of a file stays."""

from __future__ import annotations

import os
import platform
import runpy
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vanishing import OAVI, Moments, cli, open_rows
from vanishing.datasets import _tables
from vanishing.experiments._store import Store
from vanishing.rows.arrays import in_order
from vanishing.rows.writing import complete_file

pytestmark = pytest.mark.chaos
posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and limits of POSIX")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


# --- workers of a Dask cluster ----------------------------------------------------------------------------------------


@pytest.mark.cluster
@pytest.mark.parametrize("shown", [True, False], ids=["progress shown", "progress not shown"])
@pytest.mark.parametrize(("name", "level"), [("gram", 0), ("ideal", 1)])
def test_a_worker_killed_after_sums_were_made_changes_no_bit(name, level, shown):
    pytest.importorskip("distributed", reason="needs distributed: pip install 'vanishing[dask]'")
    pytest.importorskip("tqdm", reason="needs tqdm: pip install 'vanishing[progress]'")
    chaos = runpy.run_path(str(BENCHMARKS / "chaos.py"))
    work = chaos["WORK"][name]
    expected = work(chaos["slow_blocks"](128, 0.0))
    found, n_killed = chaos["disturbed"](work, chaos["slow_blocks"](128, 0.02), level, 0.1, shown=shown)
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


@pytest.mark.slow
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


# --- files that are written ---------------------------------------------------------------------------------------


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def no_room(n_bytes):
    """Files cannot grow beyond so many bytes."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def write_features(path):
    rows = path.with_name("rows.npy")
    OAVI(0.1).fit(open_rows(rows)).transform(open_rows(rows)).write(path)


def write_record(path):
    Store._write(path, {"values": list(range(50_000))})


WRITERS = {
    "features.npy": write_features,
    "features.parquet": write_features,
    "moments.npz": lambda path: Moments(12, 3).update(np.random.default_rng(0).random((300, 12))).save(path),
    "table.csv.gz": lambda path: _tables._write(path, np.random.default_rng(0).random((8_000, 2)), ("a",)),
    "record.json": write_record,
}


@posix
@pytest.mark.filterwarnings(  # NumPy 2.0 leaves its archive open after an error
    "ignore:Exception ignored in.*ZipFile.__del__:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(("name", "write"), WRITERS.items(), ids=WRITERS)
def test_where_there_is_no_room_nothing_is_half_written(name, write, existing, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).random((40_000, 2)))
    path = tmp_path / name
    if existing:
        path.write_text("old")
    with (
        no_room(100_000),
        pytest.raises(OSError, match=rf"no room to write .*{name} \(.*nothing of it was written: free"),
    ):
        write(path)
    assert names_in(tmp_path) == sorted({"rows.npy", *([name] if existing else [])})
    assert not existing or path.read_text() == "old"
    write(path)
    assert path.stat().st_size > 100_000


SLOW_WRITER = """
import sys, time
from vanishing.rows import writing
from vanishing.cli.main import main
def slowly(self, values, original=writing._Npy.write):
    original(self, values)
    time.sleep(60.0)
writing._Npy.write = slowly
sys.exit(main())
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_while_it_writes_leaves_no_file(how, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).random((400_000, 2)))
    target = tmp_path / "features.npy"
    command = [sys.executable, "-c", SLOW_WRITER, "fit", str(tmp_path / "rows.npy"), "--psi", "0.1", "--quiet"]
    with subprocess.Popen([*command, "--features", str(target)], stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 120
            while not list(tmp_path.glob(".features*")) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(how)
            _, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == (143 if how == signal.SIGTERM else -how)
    assert err == ""
    left = names_in(tmp_path)
    assert left == ["rows.npy"] if how == signal.SIGTERM else len(left) == 2  # nothing can be done about a kill at once
    write_features(target)
    assert names_in(tmp_path) == ["features.npy", "rows.npy"]


@posix
def test_only_what_processes_that_are_gone_have_left_is_removed(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    here, other = f".m.npz.{platform.node()}", ".m.npz.elsewhere"
    kept = [f"{here}.{os.getppid()}.1.incomplete", f"{other}.{gone.pid}.1.incomplete", f"{here}.x.incomplete", ".m.npz"]
    for name in (*kept, f"{here}.{gone.pid}.1.incomplete"):
        (tmp_path / name).touch()
    Moments(2, 2).save(tmp_path / "m.npz")
    assert names_in(tmp_path) == sorted([*kept, "m.npz"])


@posix
def test_what_cannot_be_removed_does_not_keep_a_file_from_being_written(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / f".m.npz.{platform.node()}.{gone.pid}.1.incomplete"
    left.mkdir()  # which unlink refuses, as it does with files of other users
    Moments(2, 2).save(tmp_path / "m.npz")
    assert names_in(tmp_path) == [left.name, "m.npz"]


def test_threads_that_write_the_same_file_do_not_mix(tmp_path):
    both = threading.Barrier(2)

    def write(text):
        with complete_file(tmp_path / "note.txt") as unfinished:
            both.wait(60)
            unfinished.write_text(text)
            both.wait(60)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ["a" * 1000, "b" * 1000]))
    assert len(set((tmp_path / "note.txt").read_text())) == 1
    assert names_in(tmp_path) == ["note.txt"]


@posix
def test_a_command_leaves_the_handling_of_signals_as_it_was(tmp_path, capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert cli.main(["fit", str(tmp_path / "nothing.npy")]) == 2
    assert signal.getsignal(signal.SIGTERM) is before
    with ThreadPoolExecutor(1) as pool:  # where signals cannot be handled
        assert pool.submit(cli.main, ["fit", str(tmp_path / "nothing.npy")]).result() == 2
    assert "No data files" in capsys.readouterr().err


def test_a_pass_that_is_given_up_joins_no_thread():
    """The garbage collector may give it up, in a thread that is starting: before Python 3.13, joining hangs there."""
    go_on, ended = threading.Event(), []

    def work(task):
        if task > 0:
            go_on.wait(60)
            ended.append(task)
        return task

    results = in_order(work, range(9), 2, None, lambda task: 1)
    assert next(results) == 0
    results.close()
    assert ended == []
    go_on.set()
