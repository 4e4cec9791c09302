"""A small table, and runs of experiments on it."""

import multiprocessing
import time

import numpy as np
import pytest
from small_experiments import FEW_PSIS, SMALL, Tuning, labels, write_table

from vanishing.experiments import _protocols, _request, _table3, reproduce


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    """A folder with a table in place of seeds: three bent planes in seven dimensions, quickly told apart."""
    folder, rng, y = tmp_path_factory.mktemp("data"), np.random.default_rng(0), labels("seeds")
    place = rng.uniform(size=(y.size, 2))
    X = place @ rng.normal(size=(2, 7)) + 0.3 * np.outer(y * place[:, 0], rng.normal(size=7))
    X += rng.normal(0.0, 0.01, X.shape)
    order = rng.permutation(y.size)
    write_table(folder, "seeds", X[order], y[order])
    with pytest.warns(UserWarning, match="the published splits are not exactly reproduced"):
        _request.dataset("seeds", str(folder))  # and not again, as it is kept
    return str(folder)


@pytest.fixture
def run(data_dir, tmp_path):
    """A function that runs an experiment on that table, with results in tmp_path unless told otherwise."""

    def go(experiment="table3", **how):
        usual = {"data": ["seeds"], "algorithms": ["BPCGAVI"], "data_dir": data_dir, "results": tmp_path}
        return reproduce(experiment, **{**usual, **how})

    return go


@pytest.fixture(scope="session")
def finished(data_dir, tmp_path_factory):
    """A function that gives the report of a small experiment, and its folder."""
    done = {}

    def get(name):
        if name not in done:
            results = tmp_path_factory.mktemp(name)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_protocols, "PSIS", FEW_PSIS)
                report = reproduce(name, data=["seeds"], data_dir=data_dir, results=results, **SMALL[name])
            done[name] = report, next(results.iterdir())
        return done[name]

    return get


@pytest.fixture
def few_psis(monkeypatch):
    """A grid of two psi in place of the paper's."""
    monkeypatch.setattr(_protocols, "PSIS", FEW_PSIS)


@pytest.fixture
def tuning(monkeypatch):
    calls = Tuning()
    monkeypatch.setattr(_table3, "tune", calls)
    monkeypatch.setattr(_table3, "figure", lambda *_: [])
    return calls


@pytest.fixture
def all_processes_end():
    """A function that says whether no process that the test has started is left; a killed one takes a moment."""
    before = set(multiprocessing.active_children())

    def check():
        end = time.monotonic() + 60.0
        while set(multiprocessing.active_children()) - before and time.monotonic() < end:
            time.sleep(0.02)
        return not set(multiprocessing.active_children()) - before

    return check
