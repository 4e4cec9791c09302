"""Rows in Dask collections while workers, schedulers and clusters are lost: the same model, or a clear error."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from dask_makers import (
    arc,
    assert_not_fitted,
    assert_same_ideal,
    in_blocks,
    little_cluster,
    outcome,
    printed_by,
    slowly,
)
from sklearn.base import clone
from watched import Watched

from vanishing import OAVI, VCA, PerClass, VanishingIdealDetector

dask = pytest.importorskip("dask", reason="needs dask: pip install 'vanishing[dask]'")
distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'vanishing[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")

from vanishing.rows import dask as dask_source  # noqa: E402  (imports dask)

pytestmark = [pytest.mark.cluster, pytest.mark.chaos]


@pytest.mark.parametrize(("model", "persisted"), [(OAVI(1e-3), False), (VCA(1e-6), True)], ids=repr)
def test_a_worker_killed_in_a_pass_changes_nothing(client, passes, model, persisted):
    X = arc()
    D = in_blocks(X, 100)
    D = D.persist() if persisted else D
    distributed.wait(D)
    slow = D.map_blocks(slowly, dtype=float)
    expected = clone(model).fit(D)
    passes.clear()
    pids = client.run(os.getpid)
    done = threading.Event()

    def kill():
        while not passes and not done.wait(0.01):
            pass
        time.sleep(0.25)  # of at least 0.6 seconds that a pass takes
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = outcome(lambda: clone(model).fit(slow), 60)
    done.set()
    killer.join()
    client.wait_for_workers(2, timeout=60)
    assert client.run(os.getpid).values() != pids.values()
    assert isinstance(found, type(model)), repr(found)
    np.testing.assert_array_equal(found.generators_.mse, expected.generators_.mse)
    np.testing.assert_array_equal(found.generators_.coef, expected.generators_.coef)
    assert_same_ideal(found, clone(model).fit(X), X)


def test_an_error_in_a_task_is_raised_as_it_is(client):
    def broken(block):
        raise ZeroDivisionError("the user's own error")

    D = in_blocks(arc()).map_blocks(broken, dtype=float, meta=np.empty((0, 0)))
    model = OAVI()
    with pytest.raises(ZeroDivisionError, match="the user's own error"):
        model.fit(D)
    assert_not_fitted(model)


def test_a_pass_that_is_cancelled_by_somebody_is_not_called_the_loss_of_the_scheduler():
    def cancel(client, data):
        while not (mine := client.futures.keys() - data):
            time.sleep(0.01)
        client.cancel([distributed.Future(key, client) for key in mine])

    with little_cluster() as (_, client):
        D = in_blocks(arc()).persist()
        distributed.wait(D)
        slow = D.map_blocks(slowly, dtype=float)
        somebody = threading.Thread(target=cancel, args=[client, set(client.futures)], daemon=True)
        somebody.start()
        error = outcome(lambda: OAVI(1e-3).fit(slow), 60)
        somebody.join(60)
        assert client.status == "running"
    assert isinstance(error, ConnectionError), repr(error)
    assert "Blocks of X were cancelled" in str(error)


FIT_IN_A_TASK = """
import numpy as np, os
from distributed import Client, LocalCluster

def fit():
    import dask.array as da
    from vanishing import OAVI
    return len(OAVI(0.1).fit(da.from_array(np.random.default_rng(0).random((90, 2)), chunks=(30, 2))).order_ideal_)

cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
print(Client(cluster).submit(fit).result(), flush=True)
os._exit(0)
"""


def test_a_fit_in_a_task_does_not_wait_for_its_own_thread():
    assert printed_by(FIT_IN_A_TASK, 60) == "1\n"


@pytest.mark.parametrize("model", [OAVI(1e-3), PerClass(OAVI(1e-3))], ids=repr)
def test_a_cluster_closed_in_a_pass_is_a_clear_error(passes, model):
    X = arc()
    D, y = in_blocks(X).map_blocks(slowly, 0.2, dtype=float), in_blocks(np.arange(1200) % 2)
    with little_cluster() as (cluster, _):

        def close():
            while not passes:
                time.sleep(0.01)
            time.sleep(0.4)  # of at least 1.2 seconds that a pass takes
            cluster.close()

        closer = threading.Thread(target=close, daemon=True)
        closer.start()
        fresh = clone(model)
        error = outcome(lambda: fresh.fit(D, y), 60)
        closer.join()
    assert isinstance(error, ConnectionError), repr(error)
    assert "scheduler was lost" in str(error)
    assert_not_fitted(fresh)


def test_a_cluster_closed_between_passes_is_a_clear_error():
    with little_cluster() as (cluster, _):
        rows = Watched(dask_source.dask_rows(in_blocks(arc())), lambda number: number == 2 and cluster.close())
        error = outcome(lambda: OAVI(1e-4).fit(rows), 60)
    assert rows.n_passes >= 2
    assert isinstance(error, ConnectionError), repr(error)


def test_a_cluster_closed_while_the_first_rows_are_read_is_a_clear_error():
    D = in_blocks(arc()).map_blocks(slowly, 2.0, dtype=float)
    with little_cluster() as (cluster, _):
        closer = threading.Timer(0.5, cluster.close)
        closer.start()
        error = outcome(lambda: VanishingIdealDetector().fit(D), 60)
        closer.join()
    assert isinstance(error, ConnectionError), repr(error)


def test_a_scheduler_killed_in_a_pass_is_a_clear_error(tmp_path, passes):
    file = str(tmp_path / "scheduler.json")

    def start(name, *options):
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.{name}",
            "--scheduler-file",
            file,
            "--no-dashboard",
            *options,
        ]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(start("dask_scheduler", "--port", "0"))
        stack.callback(scheduler.kill)
        for _ in range(2):
            worker = stack.enter_context(start("dask_worker", "--no-nanny", "--nthreads", "1"))
            stack.callback(worker.kill)
        deadline = time.monotonic() + 120
        while not os.path.exists(file) and time.monotonic() < deadline:
            time.sleep(0.05)
        model, D = OAVI(1e-3), in_blocks(arc()).map_blocks(slowly, 0.3, dtype=float)
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            client = distributed.Client(scheduler_file=file, timeout=120)
            stack.callback(client.close, timeout=1)
            client.wait_for_workers(2, timeout=120)

            def kill():
                while not passes:
                    time.sleep(0.01)
                time.sleep(0.4)
                scheduler.kill()

            threading.Thread(target=kill, daemon=True).start()
            error = outcome(lambda: model.fit(D), 60)
    assert isinstance(error, ConnectionError), repr(error)
    assert "scheduler was lost" in str(error)
    assert_not_fitted(model)
