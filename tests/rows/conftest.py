"""Fixtures of the tests of rows."""

from __future__ import annotations

import pytest
from sklearn.base import clone


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that use the cluster, before tests are chosen by their marks."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("cluster")


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


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'vanishing[dask]'")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """The current client, in this test only; with both workers up."""
    with cluster.get_client() as client:
        client.wait_for_workers(2, timeout=60)
        yield client
