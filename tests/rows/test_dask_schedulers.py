"""Rows in Dask collections without a cluster: the same model, and no rows are sent with the tasks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from dask_makers import MODELS, arc, assert_lazy, assert_same_classifier, assert_same_ideal, circles, in_blocks, unit
from sklearn.base import clone

from vanishing import L1SVC, OAVI, PerClass, VanishingIdealClassifier, VanishingIdealDetector

dask = pytest.importorskip("dask", reason="needs dask: pip install 'vanishing[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")
cloudpickle = pytest.importorskip("cloudpickle", reason="comes with dask")

from vanishing.rows import dask as dask_source  # noqa: E402  (imports dask)

# --- schedulers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_scheduler_without_a_cluster_gives_the_same_model(scheduler, model):
    X = arc()
    with dask.config.set(scheduler=scheduler):
        found = clone(model).fit(in_blocks(X))
        assert_same_ideal(found, clone(model).fit(X), X)
        np.testing.assert_allclose(found.transform(in_blocks(X)).compute(), found.transform(X), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_scheduler_without_a_cluster_gives_the_same_classifier(scheduler, n_classes):
    X, y = circles(n_classes=n_classes)
    with dask.config.set(scheduler=scheduler):
        found = VanishingIdealClassifier(OAVI(1e-3)).fit(in_blocks(X), in_blocks(y))
        expected = VanishingIdealClassifier(OAVI(1e-3)).fit(X, y)
        assert_same_classifier(found, expected)
        assert_lazy(found.predict(in_blocks(X)), expected.predict(X))
        assert found.score(in_blocks(X), in_blocks(y)) == expected.score(X, y)


# --- what is sent -----------------------------------------------------------------------------------------------------


LARGE = 20_000  # rows: half a megabyte


@pytest.fixture
def sent(monkeypatch):
    """Sizes of the pickled functions of tasks, as they are made."""
    sizes = []
    original = dask_source.delayed

    def recording(function, *args, **options):
        sizes.append(len(cloudpickle.dumps(function)))
        pickle.loads(cloudpickle.dumps(function))
        return original(function, *args, **options)

    monkeypatch.setattr(dask_source, "delayed", recording)
    return sizes


def two_classes():
    X, y = circles(LARGE, n_classes=2)
    return in_blocks(X, 5000), in_blocks(y, 5000)


@pytest.mark.slow
@pytest.mark.parametrize("model", [*MODELS, VanishingIdealDetector()], ids=repr)
def test_passes_of_an_ideal_send_small_matrices_only(sent, model):
    X = arc(LARGE)
    clone(model).fit(in_blocks(X, 5000), sample_weight=in_blocks(np.ones(LARGE), 5000))
    assert len(sent) >= 2
    assert max(sent) < 100_000


def test_the_pass_over_labels_sends_no_data(sent):
    X, y = two_classes()
    PerClass(OAVI(1e-3)).fit(da.clip(X / 10 + 0.3, 0, 1), y)
    assert max(sent) < 100_000


@pytest.mark.slow
@pytest.mark.parametrize("model", [L1SVC(), VanishingIdealClassifier(OAVI(1e-3))], ids=repr)
def test_passes_of_a_classifier_send_small_matrices_only(sent, model):
    clone(model).fit(*two_classes())
    assert len(sent) >= 2
    assert max(sent) < 100_000


@pytest.mark.slow
def test_predictions_send_small_matrices_only(sent):
    X, y = two_classes()
    few, labels = X[:2000].compute(), y[:2000].compute()
    classifier = VanishingIdealClassifier(OAVI(1e-3)).fit(few, labels)
    for lazy in (
        OAVI(0.1).fit(unit(few)).transform(X),
        L1SVC().fit(few, labels).predict(X),
        classifier.predict(X),
        classifier.transform(X),
        VanishingIdealDetector().fit(few).predict(X),
    ):
        assert isinstance(lazy, da.Array)
    assert len(sent) >= 5
    assert max(sent) < 150_000  # 640 quadratics of the detector's regimes
