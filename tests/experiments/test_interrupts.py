"""Experiments that are interrupted or killed: finished runs are kept, and no process is left."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from small_experiments import labels, posix, records_in, without_times, write_table

from vanishing.cli.main import main
from vanishing.experiments import _table3
from vanishing.experiments._runner import Task, run_all
from vanishing.experiments._store import Store

pytestmark = pytest.mark.chaos


@pytest.mark.slow
def test_an_interrupt_loses_only_the_run_that_it_hits(run, data_dir, tuning, tmp_path, capsys):
    tuning.fails = 3, KeyboardInterrupt()
    command = ["reproduce", "table3", "--data", "seeds", "--algorithms", "ABM", "--runs", "5", "--data-dir", data_dir]
    assert main([*command, "--results", str(tmp_path), "--quiet"]) == 130
    assert "the finished runs are kept" in capsys.readouterr().err
    assert records_in(tmp_path / "table3-correct").keys() == {("seeds", "ABM", "0"), ("seeds", "ABM", "1")}
    tuning.fails = None
    resumed = run(algorithms=["ABM"], runs=5)
    assert len(tuning) == 3 + 3
    uninterrupted = run(algorithms=["ABM"], runs=5, results=tmp_path / "other")
    assert without_times(resumed) == without_times(uninterrupted)


def wait_for(found, process):
    end = time.monotonic() + 300.0
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


# Whoever runs the tests in the background has them ignore interrupts, and their children, too.
INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from vanishing.cli.main import main
sys.exit(main())
"""


@pytest.mark.slow
@posix
def test_ctrl_c_ends_all_processes_at_once_and_keeps_what_is_finished(run, data_dir, tuning, tmp_path):
    """Seeds takes a second, spam minutes: had they to be waited for, nobody would."""
    tables, results = tmp_path / "tables", tmp_path / "results"
    tables.mkdir()
    shutil.copy(Path(data_dir) / "seeds.csv.gz", tables)
    write_table(tables, "spam", np.random.default_rng(0).integers(0, 99, size=(4601, 57)), labels("spam"))
    command = [sys.executable, "-c", INTERRUPTIBLE, "reproduce", "table3", "--data", "seeds", "spam", "--jobs", "2"]
    options = ["--algorithms", "ABM", "--data-dir", str(tables), "--results", str(results)]
    pipe = subprocess.PIPE
    process = subprocess.Popen([*command, *options], stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        wait_for(lambda: len(list(results.rglob("ABM/*.json"))) >= 2, process)  # by then, both are at work
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate(timeout=120)  # which is over when no process is left to write
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert process.returncode == 130
    assert "the finished runs are kept, and the same command goes on from there" in err
    assert "Traceback" not in err
    kept = records_in(results / "table3-correct")
    assert ("seeds", "ABM", "0") in kept
    run(algorithms=["ABM"], runs=10, results=results)
    assert len(tuning) == 10 - sum(data == "seeds" for data, _, _ in kept)


@pytest.mark.slow
@posix
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_processes_do_not_outlive_the_one_that_started_them(data_dir, tmp_path, how):
    command = [sys.executable, "-m", "vanishing", "reproduce", "table3", "--data", "seeds", "--jobs", "2"]
    options = ["--algorithms", "AVI", "--data-dir", data_dir, "--results", str(tmp_path)]
    pipe = subprocess.PIPE
    process = subprocess.Popen([*command, *options], stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        wait_for(lambda: list(tmp_path.rglob("AVI/*.json")), process)
        os.kill(process.pid, how)
        process.communicate(timeout=120)  # which is over when no process is left to write
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert process.returncode == (143 if how == signal.SIGTERM else -how)


def die_after(path):
    """In a process of its own: wait for a file, and be killed."""
    while not Path(path).exists():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@posix
def test_a_process_that_is_killed_is_reported_and_finished_runs_are_kept(
    data_dir, tmp_path, monkeypatch, capfd, all_processes_end
):
    first, tasks = tmp_path / "table3-correct" / "runs" / "seeds" / "ABM" / "0.json", _table3.tasks
    monkeypatch.setattr(_table3, "tasks", lambda request: [*tasks(request), Task(("x",), die_after, (first,), 1.0)])
    command = ["reproduce", "table3", "--data", "seeds", "--algorithms", "ABM", "--runs", "1", "--jobs", "2", "--quiet"]
    assert main([*command, "--data-dir", data_dir, "--results", str(tmp_path)]) == 2
    err = capfd.readouterr().err
    assert "vanishing: A process died, perhaps for want of memory" in err
    assert "The finished runs are kept" in err
    assert "Traceback" not in err
    assert json.loads(first.read_text())["error"] < 5.0
    assert all_processes_end()


@pytest.mark.slow
def test_an_error_in_one_process_ends_the_others(tmp_path, all_processes_end):
    late = tmp_path / "late"
    tasks = [Task(("naps", str(k)), time.sleep, (0.5,), 1.0) for k in range(120)]
    tasks = [Task(("wrong", "0"), int, ("ten",), 1.0), *tasks, Task(("late", "0"), late.touch, (), 1.0)]
    with pytest.raises(ValueError, match="'ten'"):
        run_all(tasks, Store(tmp_path / "results", {}), jobs=2)
    assert not late.exists()
    assert all_processes_end()
