"""Rows in Dask collections: the models of the same rows in memory, whatever the blocks, schedulers and faults."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

from vanishing import ABM, AVI, L1SVC, OAVI, VCA, PerClass, VanishingIdealClassifier, VanishingIdealDetector

dask = pytest.importorskip("dask", reason="needs dask: pip install 'vanishing[dask]'")
distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'vanishing[dask]'")
pd = pytest.importorskip("pandas", reason="dask.dataframe needs pandas")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'vanishing[dask]'")
cloudpickle = pytest.importorskip("cloudpickle", reason="comes with dask")
bag = pytest.importorskip("dask.bag", reason="needs dask: pip install 'vanishing[dask]'")

from vanishing.rows import dask as dask_source  # noqa: E402  (imports dask)

pytestmark = pytest.mark.cluster

MODELS = [OAVI(1e-3), OAVI(1e-3, solver="cg", boost="ihb"), ABM(1e-3), AVI(1e-3), VCA(1e-6)]


# --- data, clusters and comparisons -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """The current client, in this test only; with both workers up."""
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def passes(monkeypatch):
    """A list that grows with every pass over a Dask collection."""
    made = []
    original = dask_source.DaskRows.reduce_blocks

    def counted(self, *args, **options):
        made.append(self)
        return original(self, *args, **options)

    monkeypatch.setattr(dask_source.DaskRows, "reduce_blocks", counted)
    return made


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


# --- the ideals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_dask_array_gives_the_model_of_the_array(client, model):
    X = arc()
    expected, found = clone(model).fit(X), clone(model).fit(in_blocks(X))
    assert len(expected.generators_) > 1
    assert_same_ideal(found, expected, X)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_dask_frame_gives_the_model_of_the_frame(client, model):
    X = arc()
    frame = pd.DataFrame(X, columns=["c0", "c1", "c2"])
    expected, found = clone(model).fit(frame), clone(model).fit(in_frames(X))
    assert_same_ideal(found, expected, frame)
    assert list(found.feature_names_in_) == ["c0", "c1", "c2"]
    assert list(found.get_feature_names_out()) == list(expected.get_feature_names_out())


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_transform_is_lazy_and_its_values_are_those_in_memory(client, passes, model):
    X = arc()
    expected = clone(model).fit(X)
    for D, known in ((in_blocks(X), True), (in_frames(X), False)):
        values = expected.transform(D) if known else clone(model).fit(D).transform(D)
        passes.clear()
        assert isinstance(values, da.Array)
        assert values.dtype == np.float64
        assert values.chunks[1] == (len(expected.generators_),)
        assert (values.chunks[0] == (200,) * 6) if known else np.isnan(values.chunks[0]).all()
        np.testing.assert_allclose(values.compute(), expected.transform(X), rtol=1e-9, atol=1e-12)
        assert passes == []


def test_a_model_of_exact_equations_needs_triangular_factors_of_blocks_shorter_than_wide(client):
    x = np.random.default_rng(0).random(60)
    X = np.column_stack([x, x**2])
    found, expected = ABM(1e-24, max_degree=3).fit(in_blocks(X, 3)), ABM(1e-24, max_degree=3).fit(X)
    assert str(found.generators_.monic()[0]) == str(expected.generators_.monic()[0]) == "x0^2 - x1"
    assert list(found.order_ideal_) == list(expected.order_ideal_)


def test_many_blocks_are_added_up_in_a_tree_of_several_levels(client):
    X = arc(700)
    assert_same_ideal(OAVI(1e-3).fit(in_blocks(X, 7)), OAVI(1e-3).fit(X), X)


def test_large_grams_come_back_from_other_processes_and_are_added_up(client):
    X = np.random.default_rng(0).random((2000, 14))  # 120 terms of degree up to 2: 115 kB a Gram
    expected = OAVI(1e-6, max_degree=2).fit(X)
    assert_same_ideal(OAVI(1e-6, max_degree=2).fit(in_blocks(X, 100)), expected, X)


def given_as(kind, values, n_blocks=6):
    """Values of 1200 rows as users have them."""
    return {
        "numpy": lambda: values,
        "list": lambda: list(values),
        "pandas": lambda: pd.Series(values),
        "array": lambda: da.from_array(values, chunks=len(values) // n_blocks),
        "other chunks": lambda: da.from_array(values, chunks=(500, 700)) if len(values) == 1200 else None,
        "series": lambda: dd.from_pandas(pd.Series(values), npartitions=n_blocks, sort=False),
        "other series": lambda: dd.from_pandas(pd.Series(values), npartitions=2, sort=False),
    }[kind]()


@pytest.mark.parametrize("kind", ["numpy", "list", "pandas", "array", "other chunks", "series", "other series"])
def test_weights_beside_an_array_may_be_of_every_kind(client, kind):
    X, weights = arc(), np.random.default_rng(1).integers(0, 4, 1200)
    found = OAVI(1e-3).fit(in_blocks(X), sample_weight=given_as(kind, weights))
    assert_same_ideal(found, OAVI(1e-3).fit(X, sample_weight=weights), X)


@pytest.mark.parametrize("kind", ["array", "series"])
def test_weights_beside_a_frame_may_be_of_every_kind_with_blocks(client, kind):
    X, weights = arc(), np.random.default_rng(1).random(1200)
    found = VCA(1e-6).fit(in_frames(X, 6).repartition(npartitions=6), sample_weight=given_as(kind, weights))
    assert_same_ideal(found, VCA(1e-6).fit(pd.DataFrame(X, columns=["c0", "c1", "c2"]), None, weights), in_frames(X))


@pytest.mark.filterwarnings("ignore:Dask currently has limited support for converting pandas extension dtypes")
@pytest.mark.parametrize("kind", ["numpy", "list", "pandas", "array", "other chunks", "series", "other series"])
@pytest.mark.parametrize("text", [True, False])
def test_labels_beside_an_array_may_be_of_every_kind(client, kind, text):
    X, y = circles()
    X, y = unit(X), y if text else np.unique(y, return_inverse=True)[1]
    found = PerClass(OAVI(1e-3)).fit(in_blocks(X), given_as(kind, y))
    expected = PerClass(OAVI(1e-3)).fit(X, y)
    assert list(found.classes_) == list(expected.classes_)
    for ours, theirs in zip(found.estimators_, expected.estimators_, strict=True):
        assert_same_ideal(ours, theirs, X)


def block_moves(client, keys):
    """How often a worker got one of these blocks from another one."""

    def received(dask_worker):
        return [key for transfer in dask_worker.transfer_incoming_log for key in transfer["keys"]]

    return sum(key in keys for log in client.run(received).values() for key in log)


@pytest.mark.parametrize("model", [OAVI(1e-3), VCA(1e-6)], ids=repr)
def test_persisted_blocks_stay_where_they_are_and_as_they_are(client, model):
    X = arc(40_000)
    D = in_blocks(X, 2500).persist()
    distributed.wait(D)
    blocks, before = set(D.__dask_graph__()), client.who_has(D)
    assert len({worker for workers in before.values() for worker in workers}) == 2
    n_moves = block_moves(client, blocks)
    found = clone(model).fit(D)
    assert client.who_has(D) == before
    assert block_moves(client, blocks) == n_moves
    np.testing.assert_array_equal(D.compute(), X)
    assert_same_ideal(found, clone(model).fit(X), X)


def test_a_fit_leaves_nothing_on_the_cluster(client):
    D = in_blocks(arc())
    model = OAVI(1e-3).fit(D)
    deadline = time.monotonic() + 10
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0
    assert len(pickle.dumps(model)) < 20_000  # and the model knows nothing of the data


# --- classes, classifiers, detectors ----------------------------------------------------------------------------------


def test_one_ideal_per_class_of_an_array_and_of_a_frame(client):
    X, y = circles()
    X = unit(X)
    expected = PerClass(ABM(1e-3)).fit(X, y)
    for D, labels in ((in_blocks(X), in_blocks(y)), (in_frames(X), dd.from_pandas(pd.Series(y), npartitions=5))):
        found = PerClass(ABM(1e-3)).fit(D, labels)
        assert found.classes_.tolist() == ["inner", "middle", "outer"]
        values = found.transform(D)
        assert isinstance(values, da.Array)
        np.testing.assert_allclose(values.compute(), expected.transform(X), rtol=1e-8, atol=1e-11)


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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("as_frame", [False, True])
def test_the_classifier_gives_the_model_in_memory_and_predicts_lazily(client, n_classes, as_frame):
    X, y = circles(n_classes=n_classes)
    expected = VanishingIdealClassifier(OAVI(1e-3)).fit(X, y)
    D = in_frames(X, 6) if as_frame else in_blocks(X)
    labels = dd.from_pandas(pd.Series(y), npartitions=6, sort=False) if as_frame else in_blocks(y)
    found = VanishingIdealClassifier(OAVI(1e-3)).fit(D, labels)
    assert_same_classifier(found, expected)
    assert_lazy(found.decision_function(D), expected.decision_function(X), length=not as_frame)
    assert_lazy(found.predict(D), expected.predict(X), length=not as_frame)
    assert_lazy(found.transform(D), expected.transform(X), length=not as_frame)
    assert found.score(D, labels) == expected.score(X, y)
    weights = np.random.default_rng(0).random(len(y))
    in_series = dd.from_pandas(pd.Series(weights), npartitions=6, sort=False) if as_frame else weights
    assert found.score(D, labels, in_series) == pytest.approx(expected.score(X, y, weights), rel=1e-12)


def test_the_classifier_takes_weights_and_forgets_rows_without(client):
    X, y = circles(n_classes=2)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    X[weights == 0.0] *= 5.0  # outside of the range of the others
    found = VanishingIdealClassifier(OAVI(1e-3)).fit(in_blocks(X), in_blocks(y), in_blocks(weights))
    assert_same_classifier(found, VanishingIdealClassifier(OAVI(1e-3)).fit(X, y, weights))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_svm_gives_the_model_in_memory_and_predicts_lazily(client, n_classes):
    X, y = circles(n_classes=n_classes)
    expected, D = L1SVC().fit(X, y), in_blocks(X)
    found = L1SVC().fit(D, in_blocks(y, 300))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6, atol=1e-6)
    assert_lazy(found.decision_function(D), expected.decision_function(X))
    assert_lazy(found.predict(D), expected.predict(X))


@pytest.mark.parametrize("text", [True, False])
def test_the_svm_has_a_score_on_dask_collections(client, text):
    X, y = circles(n_classes=2)
    y = y if text else (y == "inner").astype(int)
    found = L1SVC().fit(in_blocks(X), in_blocks(y))
    assert found.score(in_blocks(X), in_blocks(y)) == L1SVC().fit(X, y).score(X, y)


def test_the_detector_gives_the_model_in_memory_and_predicts_lazily(client):
    X = 10.0 * arc() - 3.0
    strange = np.vstack([X[:50], X[:50] + 3.0])
    expected = VanishingIdealDetector(OAVI(1e-3)).fit(X)
    for D, S in ((in_blocks(X), in_blocks(strange, 30)), (in_frames(X), in_frames(strange, 3))):
        found = VanishingIdealDetector(OAVI(1e-3)).fit(D)
        assert_same_polynomials(found.ideal_.generators_, expected.ideal_.generators_, rtol=1e-7)
        known = isinstance(S, da.Array)
        assert_lazy(found.score_samples(S), expected.score_samples(strange), length=known)
        assert_lazy(found.decision_function(S), expected.decision_function(strange), length=known)
        assert_lazy(found.predict(S), expected.predict(strange), length=known)
        assert -1 in expected.predict(strange)


def test_the_violations_of_equations_are_lazy_too():
    X = arc()
    found = VanishingIdealDetector(OAVI(1e-3)).fit(X)
    assert isinstance(found.violations(in_blocks(X)), da.Array)


def test_a_share_of_outliers_is_refused_before_anything_is_computed(passes):
    model = VanishingIdealDetector(contamination=0.1)
    with pytest.raises(ValueError, match="contamination"):
        model.fit(in_blocks(arc()))
    assert passes == []
    assert_not_fitted(model)


def test_another_last_step_is_refused_on_dask_collections():
    X, y = circles(n_classes=2)
    with pytest.raises(ValueError, match="final_estimator must be None"):
        VanishingIdealClassifier(final_estimator=L1SVC()).fit(in_blocks(X), in_blocks(y))


def n_passes(passes, work):
    passes.clear()
    work()
    return len(passes)


@pytest.mark.parametrize("model", [OAVI(1e-3), ABM(1e-4), VCA(1e-7)], ids=repr)
def test_several_classes_take_no_more_passes_than_the_slowest_and_one_for_the_labels(passes, model):
    X, y = circles()
    X = unit(X)
    X[y == "inner", 2] = 0.0  # an easier class
    alone = [n_passes(passes, lambda k=k: clone(model).fit(in_blocks(X[y == k]))) for k in np.unique(y)]
    assert n_passes(passes, lambda: PerClass(model).fit(in_blocks(X), in_blocks(y))) <= max(alone) + 1


def test_hyperplanes_of_several_classes_take_no_more_passes_than_the_slowest(passes):
    X, y = circles()
    alone = [n_passes(passes, lambda k=k: L1SVC().fit(in_blocks(X), in_blocks(y == k))) for k in np.unique(y)]
    assert n_passes(passes, lambda: L1SVC().fit(in_blocks(X), in_blocks(y))) <= max(alone)


def test_the_svm_of_three_classes_ends():
    code = (
        "import numpy as np, dask.array as da; from vanishing import L1SVC; "
        "X = np.random.default_rng(0).random((90, 2)); "
        "print(L1SVC().fit(da.from_array(X, chunks=(30, 2)), np.arange(90) % 3).classes_.tolist())"
    )
    assert printed_by(code, 15) == "[0, 1, 2]\n"


# --- odd collections --------------------------------------------------------------------------------------------------


def test_blocks_of_unknown_lengths(client):
    X = arc()
    D, chosen = in_blocks(X), X[:, 0] > 0.5
    filtered = D[D[:, 0] > 0.5]
    found, expected = OAVI(1e-3).fit(filtered), OAVI(1e-3).fit(X[chosen])
    assert_same_ideal(found, expected, X)
    values = found.transform(filtered)
    assert np.isnan(values.shape[0])
    np.testing.assert_allclose(values.compute(), expected.transform(X[chosen]), rtol=1e-8, atol=1e-11)


def test_a_frame_turned_into_an_array_of_unknown_lengths(client):
    X = arc()
    D = in_frames(X).to_dask_array()
    assert np.isnan(D.shape[0])
    assert_same_ideal(OAVI(1e-3).fit(D), OAVI(1e-3).fit(X), X)


def test_weights_and_labels_of_unknown_lengths(client):
    X, y = circles(n_classes=2)
    weights = np.random.default_rng(0).random(len(y))
    D, chosen = in_blocks(X), X[:, 0] > 3.0
    few = D[:, 0] > 3.0
    found = VanishingIdealClassifier(OAVI(1e-3)).fit(D[few], in_blocks(y)[few], in_blocks(weights)[few])
    expected = VanishingIdealClassifier(OAVI(1e-3)).fit(X[chosen], y[chosen], weights[chosen])
    assert_same_classifier(found, expected)
    assert found.score(D[few], in_blocks(y)[few]) == expected.score(X[chosen], y[chosen])


def test_what_rows_and_labels_share_is_defined_once():
    D, y = in_blocks(arc()), in_blocks(np.arange(1200) % 2)
    few = D[:, 0] > 0.5
    for X_block, _, y_block in dask_source.dask_rows(D[few], labels=y[few])._blocks:
        ours, theirs = dict(X_block.dask), dict(y_block.dask)
        assert {key: repr(ours[key]) for key in ours if key in theirs} == {
            key: repr(theirs[key]) for key in theirs if key in ours
        }


@pytest.mark.parametrize("known", [True, False])
def test_chunks_across_the_columns_are_put_together(client, known):
    X = arc()
    D = da.from_array(X, chunks=(300, 2))
    chosen = X[:, 0] > (-1.0 if known else 0.5)
    D = D if known else D[D[:, 0] > 0.5]
    assert D.numblocks[1] == 2
    found, expected = OAVI(1e-3).fit(D), OAVI(1e-3).fit(X[chosen])
    assert_same_ideal(found, expected, X)
    np.testing.assert_allclose(found.transform(D).compute(), expected.transform(X[chosen]), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("model", [OAVI(1e-3), VCA(1e-6)], ids=repr)
def test_empty_blocks_at_the_start_in_the_middle_and_at_the_end(client, model):
    X = arc()
    D = with_empty_blocks(X)
    assert D.chunks[0] == (0, 500, 0, 0, 700, 0)
    found, expected = clone(model).fit(D), clone(model).fit(X)
    assert_same_ideal(found, expected, X)
    values = found.transform(D)
    assert values.shape == (1200, len(expected.generators_))
    np.testing.assert_allclose(values.compute(), expected.transform(X), rtol=1e-8, atol=1e-11)


def test_empty_blocks_do_not_disturb_classes_scaling_and_predictions(client):
    X, y = circles(n_classes=2)
    D, labels = with_empty_blocks(X), with_empty_blocks(y)
    found, expected = (
        VanishingIdealClassifier(OAVI(1e-3)).fit(D, labels),
        VanishingIdealClassifier(OAVI(1e-3)).fit(X, y),
    )
    assert_same_classifier(found, expected)
    assert_lazy(found.predict(D), expected.predict(X))
    assert found.score(D, labels) == expected.score(X, y)
    detected = VanishingIdealDetector(OAVI(1e-2)).fit(X).predict(X)
    assert_lazy(VanishingIdealDetector(OAVI(1e-2)).fit(D).predict(D), detected)


def test_filters_that_leave_some_frames_empty(client):
    X = arc()
    X = X[np.argsort(X[:, 0])]
    frame = in_frames(X, 6)
    found = OAVI(1e-3).fit(frame[(frame["c0"] < 0.2) | (frame["c0"] > 0.8)])
    expected = OAVI(1e-3).fit(pd.DataFrame(X[(X[:, 0] < 0.2) | (X[:, 0] > 0.8)], columns=["c0", "c1", "c2"]))
    assert_same_polynomials(found.generators_, expected.generators_)


@pytest.mark.parametrize("model", [OAVI(1e-3), VCA(1e-6), VanishingIdealDetector(OAVI(1e-3))], ids=repr)
def test_a_single_block(client, model):
    X = arc()
    found, expected = clone(model).fit(in_blocks(X, -1)), clone(model).fit(X)
    assert_same_polynomials(found.generators_.monic(), expected.generators_.monic(), rtol=1e-7)


def test_blocks_of_one_row(client):
    X = arc(40)
    assert_same_ideal(OAVI(1e-2).fit(in_blocks(X, 1)), OAVI(1e-2).fit(X), X)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("as_frame", [False, True])
def test_numbers_of_other_types(dtype, as_frame):
    X = (arc(600) if "float" in dtype else arc(600).round()).astype(dtype)
    D = in_frames(X) if as_frame else in_blocks(X)
    assert_same_polynomials(OAVI(1e-2).fit(D).generators_, OAVI(1e-2).fit(D.compute()).generators_)


def test_float32_is_said_to_be_too_coarse_for_a_tiny_psi():
    X = arc(300).astype(np.float32)
    for D in (in_blocks(X), in_frames(X)):
        with pytest.warns(UserWarning, match="float32"):
            OAVI(1e-16, max_degree=1).fit(D)


def test_missing_values_of_nullable_columns_are_found():
    frame = pd.DataFrame({"a": pd.array([1, 0, None, 1], dtype="Int64"), "b": [0.1, 0.2, 0.3, 0.4]})
    with pytest.raises(ValueError, match=r"NaN in column 0 \('a'\): 1 such values, the first in row 0 of block 1"):
        OAVI().fit(dd.from_pandas(frame, npartitions=2))


@pytest.mark.parametrize("kind", ["object", "string", "category", "dates"])
def test_columns_that_are_no_numbers_are_named(kind):
    column = {
        "object": pd.Series([{}, {}, {}, {}], dtype=object),
        "string": pd.Series(list("abcd")),
        "category": pd.Series(list("abab"), dtype="category"),
        "dates": pd.Series(pd.date_range("2020", periods=4)),
    }[kind]
    with dask.config.set({"dataframe.convert-string": False}):
        D = dd.from_pandas(pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "odd": column}), npartitions=2)
    with pytest.raises(ValueError, match=r"Column 'odd' has values of type .* not numbers: convert it, or choose"):
        OAVI().fit(D)


@pytest.mark.parametrize("values", [np.array([["a"], ["b"]]), np.array([[1j], [2j]]), np.array([[{}], [{}]])])
def test_arrays_of_no_numbers_are_refused(values):
    with pytest.raises(ValueError, match=r"values of type .* convert its columns to numbers"):
        OAVI().fit(da.from_array(values, chunks=1))


@pytest.mark.parametrize("shape", [(6,), (6, 2, 2), ()])
def test_arrays_that_are_no_tables_are_refused(shape):
    with pytest.raises(ValueError, match=r"Expected 2D array, got .D array instead: reshape"):
        OAVI().fit(da.zeros(shape))


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="0 columns"):
        OAVI().fit(da.zeros((6, 0)))


def test_a_bag_is_refused():
    with pytest.raises(ValueError, match=r"Expected a dask.array or a dask.dataframe, got Bag"):
        OAVI().fit(bag.from_sequence([(0.0, 1.0), (1.0, 0.0)]))


def test_a_delayed_object_is_refused():
    with pytest.raises(ValueError, match=r"Expected a dask.array or a dask.dataframe, got Delayed"):
        OAVI().fit(dask.delayed(arc)())


def test_a_series_is_refused_as_one_dimensional():
    with pytest.raises(ValueError, match=r"1D|one dimension|dask.dataframe"):
        OAVI().fit(in_frames(arc())["c0"])


def test_an_unknown_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="columns"):
        OAVI().fit(da.from_delayed(dask.delayed(arc)(), shape=(np.nan, np.nan), dtype=float))


def test_other_columns_than_those_of_the_fit_are_refused():
    X = arc()
    model = OAVI(1e-3).fit(in_frames(X))
    with pytest.raises(ValueError, match="in the same order: c0, c1, c2; got c2, c1, c0"):
        model.transform(in_frames(X)[["c2", "c1", "c0"]])
    with pytest.raises(ValueError, match="X has 2 features, but OAVI is expecting 3"):
        model.transform(in_blocks(X[:, :2]))


@pytest.mark.parametrize("as_array", [True, False])
@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_values_for_another_number_of_rows_are_refused(as_array, name):
    X, y = arc(), np.arange(1199) % 2
    values = {"y": np.arange(1200) % 2, name: in_blocks(y) if as_array else y}
    with pytest.raises(ValueError, match=f"{name} has 1199 values for 1200 rows: give one for each row"):
        L1SVC().fit(in_blocks(X), **values)


def test_labels_in_another_number_of_blocks_of_unknown_length_are_refused():
    D, y = in_blocks(arc()), in_blocks(np.arange(1200) % 2, 300)
    with pytest.raises(ValueError, match="y has 4 blocks, X has 6: rechunk y like the rows of X"):
        L1SVC().fit(D[D[:, 0] > 0.5], y)


def test_labels_in_blocks_of_other_lengths_are_refused_where_lengths_are_unknown():
    D, y = in_blocks(arc()), in_blocks(np.arange(1200) % 2)
    with pytest.raises(ValueError, match=r"y has 200 values in a block of \d+ rows: rechunk it like X"):
        PerClass().fit(D[D[:, 0] > 0.5], y)


@pytest.mark.parametrize("as_frame", [True, False])
def test_labels_in_memory_are_refused_where_lengths_are_unknown(as_frame):
    X, y = arc(), np.arange(1200) % 2
    D = in_frames(X) if as_frame else in_blocks(X)[in_blocks(X)[:, 0] > -1.0]
    with pytest.raises(
        ValueError, match=r"y is an array in memory, .*compute_chunk_sizes.*to_dask_array\(lengths=True"
    ):
        PerClass().fit(D, y)
    lengths_known = D.to_dask_array(lengths=True) if as_frame else D.compute_chunk_sizes()  # the advice
    assert list(PerClass(OAVI(1e-3)).fit(lengths_known, y).classes_) == [0, 1]


def test_labels_with_two_dimensions_are_refused():
    with pytest.raises(ValueError, match="y must have one dimension, one value per row; got 2"):
        L1SVC().fit(in_blocks(arc()), da.zeros((1200, 1), chunks=(200, 1)))


def test_labels_in_a_frame_are_refused():
    frame = in_frames(arc())
    with pytest.raises(ValueError, match="one dimension"):
        L1SVC().fit(frame[["c0", "c1"]], (frame[["c2"]] > 0.5).astype(int))


def test_labels_are_required():
    with pytest.raises(ValueError, match="L1SVC requires y to be passed"):
        L1SVC().fit(in_blocks(arc()))


def test_one_class_is_not_enough():
    with pytest.raises(ValueError, match="class"):
        L1SVC().fit(in_blocks(arc()), np.zeros(1200))


def test_a_missing_number_among_labels_is_found_in_its_block():
    y = np.arange(1200) % 2 + 0.0
    y[700] = np.nan
    with pytest.raises(ValueError, match=r"A label is missing in row 0 of block 3 or later: drop those rows"):
        PerClass().fit(in_blocks(arc()), y)


@pytest.mark.parametrize("dtype", ["str", object])
def test_a_missing_text_among_labels_is_found_in_its_block(dtype):
    y = pd.Series(["a", "b"] * 600, dtype=dtype)
    y[700] = None
    with pytest.raises(ValueError, match="A label is missing"):
        PerClass().fit(in_frames(arc()), dd.from_pandas(y, npartitions=5))


def test_labels_of_mixed_types_are_refused():
    y = np.array([0, *["a"] * 1199], dtype=object)
    with pytest.raises(ValueError, match=r"[Ll]abel"):
        PerClass().fit(in_blocks(arc()), y)


def test_categories_are_labels_too(client):
    X, y = circles()
    labels = dd.from_pandas(pd.Series(y, dtype="category"), npartitions=5)
    assert PerClass(OAVI(1e-3)).fit(in_frames(unit(X)), labels).classes_.tolist() == ["inner", "middle", "outer"]


def with_bad_value(value, row):
    X = arc()
    X[row, 1] = value
    return X


@pytest.mark.parametrize("model", [*MODELS, VanishingIdealDetector()], ids=repr)
def test_nan_is_found_in_its_column_and_block(client, model):
    X = with_bad_value(np.nan, 700)
    model = clone(model)
    with pytest.raises(ValueError, match=r"NaN in column 1: 1 such values, the first in row 100 of block 3"):
        model.fit(in_blocks(X))
    assert_not_fitted(model)
    with pytest.raises(ValueError, match=r"NaN in column 1 \('c1'\): 1 such values, the first in row .* of block 3"):
        model.fit(in_frames(X, 6))


def test_nan_is_found_for_classes(client):
    X, y = with_bad_value(np.nan, 700), np.arange(1200) % 2
    for model in (PerClass(), VanishingIdealClassifier()):
        with pytest.raises(ValueError, match=r"NaN in column 1: 1 such values, the first in row 100 of block 3"):
            model.fit(in_blocks(X), y)


def test_nan_is_found_for_the_svm():
    with pytest.raises(ValueError, match=r"NaN in column 1: 1 such values, the first in row 100 of block 3"):
        L1SVC().fit(in_blocks(with_bad_value(np.nan, 700)), np.arange(1200) % 2)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_that_are_not_finite_are_found_in_the_first_rows_too(value, name):
    with pytest.raises(ValueError, match=rf"{name}.* in column 1: 1 such values, the first in row 7 of block 0"):
        VanishingIdealDetector().fit(in_blocks(with_bad_value(value, 7)))


def test_nan_in_rows_to_transform_is_found_when_they_are_computed(client):
    X, y = with_bad_value(np.nan, 700), np.arange(1200) % 2
    model = OAVI(1e-3).fit(in_blocks(arc()))
    for lazy in (model.transform(in_blocks(X)), L1SVC().fit(arc(), y).predict(in_blocks(X))):
        with pytest.raises(ValueError, match=r"NaN in column 1: 1 such values, the first in row 100 of block 3"):
            lazy.compute()


@pytest.mark.parametrize("model", [*MODELS, VanishingIdealDetector()], ids=repr)
def test_no_rows_at_all_are_refused(model):
    X = arc()
    frame = in_frames(X)
    for D in (in_blocks(X)[in_blocks(X)[:, 0] > 5.0], frame[frame["c0"] > 5.0], da.zeros((0, 3))):
        with pytest.raises(ValueError, match="There are no rows in X"):
            clone(model).fit(D)


def test_no_rows_with_labels_are_refused_and_none_are_predicted():
    X, y = circles(n_classes=2)
    D = in_blocks(X)
    none = D[:, 0] > 50.0
    for model in (PerClass(), L1SVC(), VanishingIdealClassifier()):
        with pytest.raises(ValueError, match="There are no rows in X"):
            model.fit(D[none], in_blocks(y)[none])
    found = VanishingIdealClassifier(OAVI(1e-3)).fit(X, y)
    assert found.predict(D[none]).compute().shape == (0,)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_weights_that_are_none_are_refused_wherever_they_are(client, value):
    weights = np.ones(1200)
    weights[700] = value
    with pytest.raises(ValueError, match="sample_weight must be finite, not negative"):
        OAVI().fit(in_blocks(arc()), sample_weight=weights)


@pytest.mark.parametrize("model", [OAVI(), VanishingIdealDetector()], ids=repr)
def test_weights_that_are_all_zero_are_refused(model):
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(in_blocks(arc()), sample_weight=np.zeros(1200))


def test_a_class_without_weight_is_refused():
    y = np.arange(1200) % 2
    with pytest.raises(ValueError, match=r"All rows of .*class.* have sample_weight 0"):
        PerClass().fit(in_blocks(arc()), y, sample_weight=1.0 * y)


@pytest.mark.parametrize("weights", [1.0, np.array(["a"] * 1200)], ids=["scalar", "text"])
def test_weights_of_the_wrong_kind_are_refused(weights):
    with pytest.raises(ValueError, match="sample_weight"):
        OAVI().fit(in_blocks(arc()), sample_weight=weights)


# --- faults -----------------------------------------------------------------------------------------------------------


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
    assert printed_by(FIT_IN_A_TASK, 9) == "1\n"


@contextlib.contextmanager
def little_cluster():
    """A cluster of its own in this process, which may be closed at any time."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


@pytest.mark.parametrize("model", [OAVI(1e-3), PerClass(OAVI(1e-3))], ids=repr)
def test_a_cluster_closed_in_a_pass_is_a_clear_error(passes, model):
    X = arc()
    D, y = in_blocks(X).map_blocks(slowly, 0.2, dtype=float), in_blocks(np.arange(1200) % 2)
    with little_cluster() as (cluster, _):
        closer = threading.Timer(0.5, cluster.close)
        closer.start()
        fresh = clone(model)
        error = outcome(lambda: fresh.fit(D, y), 60)
        closer.join()
    assert isinstance(error, ConnectionError), repr(error)
    assert "scheduler was lost" in str(error)
    assert_not_fitted(fresh)


def test_a_cluster_closed_between_passes_is_a_clear_error(monkeypatch):
    original, n_passes = dask_source.DaskRows.reduce_blocks, []

    with little_cluster() as (cluster, _):

        def closing(self, *args, **options):
            n_passes.append(1)
            if len(n_passes) == 2:
                cluster.close()
            return original(self, *args, **options)

        monkeypatch.setattr(dask_source.DaskRows, "reduce_blocks", closing)
        error = outcome(lambda: OAVI(1e-4).fit(in_blocks(arc())), 60)
    assert len(n_passes) >= 2
    assert isinstance(error, ConnectionError), repr(error)


def test_a_cluster_closed_while_the_first_rows_are_read_is_a_clear_error():
    D = in_blocks(arc()).map_blocks(slowly, 2.0, dtype=float)
    with little_cluster() as (cluster, _):
        closer = threading.Timer(0.5, cluster.close)
        closer.start()
        error = outcome(lambda: VanishingIdealDetector(OAVI(1e-3)).fit(D), 60)
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
        deadline = time.monotonic() + 30
        while not os.path.exists(file) and time.monotonic() < deadline:
            time.sleep(0.05)
        model, D = OAVI(1e-3), in_blocks(arc()).map_blocks(slowly, 0.3, dtype=float)
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            client = distributed.Client(scheduler_file=file, timeout=30)
            stack.callback(client.close, timeout=1)
            client.wait_for_workers(2, timeout=30)

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


# --- schedulers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_scheduler_without_a_cluster_gives_the_same_model(scheduler, model):
    X = arc()
    with dask.config.set(scheduler=scheduler):
        found = clone(model).fit(in_blocks(X))
        assert_same_ideal(found, clone(model).fit(X), X)
        np.testing.assert_allclose(found.transform(in_blocks(X)).compute(), found.transform(X), rtol=1e-9, atol=1e-12)


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


def test_the_model_is_the_same_to_the_last_bit_on_every_scheduler(cluster):
    D = in_blocks(arc())
    models = []
    for scheduler in ("threads", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            models.append(OAVI(1e-3).fit(D))
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        models.append(outcome(lambda: OAVI(1e-3).fit(D), 60))
    for model in models[1:]:
        np.testing.assert_array_equal(model.generators_.coef, models[0].generators_.coef)


def test_a_scheduler_that_was_chosen_is_used_even_if_there_is_a_client(client):
    def process(block):
        return np.full((len(block), 1), float(os.getpid()))

    D = in_blocks(arc()).map_blocks(process, chunks=(200, 1), dtype=float, meta=np.empty((0, 0)))
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.warns(UserWarning, match=re.escape(f"range {os.getpid():.4g} to")),
    ):
        OAVI(0.1, max_degree=1).fit(D)


def test_progress_may_be_shown_for_passes_on_a_cluster(client, capsys):
    pytest.importorskip("tqdm", reason="progress bars need tqdm")
    from vanishing import show_progress

    X = arc()
    with show_progress():
        found = OAVI(1e-3).fit(in_blocks(X))
    assert_same_ideal(found, OAVI(1e-3).fit(X), X)
    assert "pass 1: 100%" in capsys.readouterr().err


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


@pytest.mark.parametrize("model", [*MODELS, VanishingIdealDetector(OAVI(1e-3))], ids=repr)
def test_passes_of_an_ideal_send_small_matrices_only(sent, model):
    X = arc(LARGE)
    clone(model).fit(in_blocks(X, 5000), sample_weight=in_blocks(np.ones(LARGE), 5000))
    assert len(sent) >= 2
    assert max(sent) < 100_000


def test_the_pass_over_labels_sends_no_data(sent):
    X, y = two_classes()
    PerClass(OAVI(1e-3)).fit(da.clip(X / 10 + 0.3, 0, 1), y)
    assert max(sent) < 100_000


@pytest.mark.parametrize("model", [L1SVC(), VanishingIdealClassifier(OAVI(1e-3))], ids=repr)
def test_passes_of_a_classifier_send_small_matrices_only(sent, monkeypatch, model):
    monkeypatch.setattr("vanishing.rows.labels._classes_of", lambda rows: np.array(["inner", "middle"]))
    clone(model).fit(*two_classes())
    assert len(sent) >= 2
    assert max(sent) < 100_000


def test_predictions_send_small_matrices_only(sent):
    X, y = two_classes()
    few, labels = X[:2000].compute(), y[:2000].compute()
    classifier = VanishingIdealClassifier(OAVI(1e-3)).fit(few, labels)
    for lazy in (
        OAVI(0.1).fit(unit(few)).transform(X),
        L1SVC().fit(few, labels).predict(X),
        classifier.predict(X),
        classifier.transform(X),
        VanishingIdealDetector(OAVI(1e-3)).fit(few).predict(X),
    ):
        assert isinstance(lazy, da.Array)
    assert len(sent) >= 5
    assert max(sent) < 100_000
