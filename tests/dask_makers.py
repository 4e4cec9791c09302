"""Rows in Dask collections, little clusters, and comparisons with the models of the same rows in memory."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from vanishing import ABM, AVI, OAVI, VCA

distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'vanishing[dask]'")
pd = pytest.importorskip("pandas", reason="dask.dataframe needs pandas")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'vanishing[dask]'")


MODELS = [OAVI(1e-3), OAVI(1e-3, solver="cg", boost="ihb"), ABM(1e-3), AVI(1e-3), VCA(1e-6)]


def arc(m=1200, seed=0):
    """Points near a quarter of a circle, beside a column of noise; all in [0, 1]."""
    rng = np.random.default_rng(seed)
    angle, noise = rng.uniform(0, np.pi / 2, m), rng.normal(0, 0.01, (m, 2))
    return np.column_stack([np.clip(np.column_stack([np.cos(angle), np.sin(angle)]) + noise, 0, 1), rng.random(m)])


def circles(m=1200, n_classes=3, seed=0):
    """Rows in no order of circles with different radii, in no particular units, and the names of the circles."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=m)
    angle, radius = rng.uniform(0, 2 * np.pi, m), 1.0 + labels + rng.normal(0, 0.03, m)
    X = np.column_stack([3.0 + radius * np.cos(angle), radius * np.sin(angle), rng.uniform(-1, 1, m)])
    return X, np.array(["inner", "middle", "outer"])[labels]


def in_blocks(X, rows=200):
    return da.from_array(X, chunks=(rows, -1) if np.ndim(X) == 2 else rows)


def in_frames(X, n=5):
    return dd.from_pandas(pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]), npartitions=n, sort=False)


def with_empty_blocks(values):
    """1200 rows in blocks of which some are empty."""
    lengths = (0, 500, 0, 0, 700, 0)
    return da.from_array(values, chunks=(lengths, -1) if np.ndim(values) == 2 else (lengths,))


def unit(X):
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def assert_same_polynomials(found, expected, rtol=1e-9):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.exponents, theirs.exponents)
        np.testing.assert_allclose(ours.coef, theirs.coef, rtol=rtol, atol=rtol * np.abs(theirs.coef).max())


def assert_same_ideal(found, expected, X):
    """Supports are the same, coefficients nearly; of VCA, whose components have no sign, the values."""
    assert (found.n_basis_, found.degree_, found.complete_) == (expected.n_basis_, expected.degree_, expected.complete_)
    if isinstance(found, VCA):
        np.testing.assert_array_equal(found.generators_.degrees, expected.generators_.degrees)
        values = np.asarray(expected.transform(X))
        np.testing.assert_allclose(found.transform(X), values, rtol=1e-9, atol=1e-9 * values.max())
    else:
        assert list(found.order_ideal_) == list(expected.order_ideal_)
        assert_same_polynomials(found.generators_, expected.generators_)
    np.testing.assert_allclose(found.generators_.mse, expected.generators_.mse, rtol=1e-7, atol=1e-15)


def assert_same_classifier(found, expected, rtol=1e-6):
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    for ours, theirs in zip(found.ideals_.estimators_, expected.ideals_.estimators_, strict=True):
        assert_same_polynomials(ours.generators_, theirs.generators_, rtol=1e-7)
    for name in ("linear_coef_", "intercept_"):
        theirs = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), theirs, rtol=rtol, atol=rtol * np.abs(theirs).max())


def assert_not_fitted(model):
    assert not any(hasattr(model, name) for name in ("generators_", "ideal_", "estimators_", "classes_", "coef_"))


def outcome(work, timeout=60.0):
    """The result of ``work()`` or its error, from a thread; the test fails if it takes longer."""
    found = []

    def run():
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout)
    if not found:
        pytest.fail(f"hangs: no result after {timeout} seconds")
    return found[0]


def printed_by(code, timeout):
    """What a program of its own prints; it is killed if it takes longer."""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            return process.communicate(timeout=timeout)[0]
        finally:
            process.kill()


def slowly(block, seconds=0.1):
    time.sleep(seconds)
    return block


def assert_lazy(values, expected, length=True):
    assert isinstance(values, da.Array)
    assert values.ndim == expected.ndim
    if length:
        assert values.shape == expected.shape
    computed = values.compute()
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(computed, expected, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(computed, expected)


def with_bad_value(value, row):
    X = arc()
    X[row, 1] = value
    return X


@contextlib.contextmanager
def little_cluster():
    """A cluster of its own in this process, which may be closed at any time."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client
