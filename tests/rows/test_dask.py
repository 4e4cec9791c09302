"""Rows in Dask collections: the models of the same rows in memory, whatever the blocks."""

from __future__ import annotations

import os
import pickle
import re
import time

import numpy as np
import pytest
from dask_makers import (
    MODELS,
    arc,
    assert_lazy,
    assert_not_fitted,
    assert_same_classifier,
    assert_same_ideal,
    assert_same_polynomials,
    circles,
    in_blocks,
    in_frames,
    outcome,
    printed_by,
    unit,
    with_bad_value,
    with_empty_blocks,
)
from sklearn.base import clone

from vanishing import ABM, L1SVC, OAVI, VCA, PerClass, VanishingIdealClassifier, VanishingIdealDetector

dask = pytest.importorskip("dask", reason="needs dask: pip install 'vanishing[dask]'")
distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'vanishing[dask]'")
pd = pytest.importorskip("pandas", reason="dask.dataframe needs pandas")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'vanishing[dask]'")

from vanishing.rows import dask as dask_source  # noqa: E402  (imports dask)

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
    deadline = time.monotonic() + 60
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
    expected = VanishingIdealDetector().fit(X)
    for D, S in ((in_blocks(X), in_blocks(strange, 30)), (in_frames(X), in_frames(strange, 3))):
        found = VanishingIdealDetector().fit(D)
        assert_same_polynomials(found.generators_, expected.generators_, rtol=1e-7)
        known = isinstance(S, da.Array)
        assert_lazy(found.score_samples(S), expected.score_samples(strange), length=known)
        assert_lazy(found.decision_function(S), expected.decision_function(strange), length=known)
        assert_lazy(found.predict(S), expected.predict(strange), length=known)
        assert_lazy(found.p_values(S), expected.p_values(strange), length=known)
        assert -1 in expected.predict(strange)


@pytest.mark.slow
def test_the_violations_of_equations_are_lazy_too():
    X = arc()
    found = VanishingIdealDetector().fit(X)
    assert isinstance(found.violations(in_blocks(X)), da.Array)


def test_another_last_step_is_refused_on_dask_collections():
    X, y = circles(n_classes=2)
    with pytest.raises(ValueError, match="final_estimator must be None"):
        VanishingIdealClassifier(final_estimator=L1SVC()).fit(in_blocks(X), in_blocks(y))


def n_passes(passes, work):
    passes.clear()
    work()
    return len(passes)


@pytest.mark.slow
@pytest.mark.parametrize("model", [OAVI(1e-3), ABM(1e-4), VCA(1e-7)], ids=repr)
def test_several_classes_take_no_more_passes_than_the_slowest_and_one_for_the_labels(passes, model):
    X, y = circles()
    X = unit(X)
    X[y == "inner", 2] = 0.0  # an easier class
    alone = [n_passes(passes, lambda k=k: clone(model).fit(in_blocks(X[y == k]))) for k in np.unique(y)]
    assert n_passes(passes, lambda: PerClass(model).fit(in_blocks(X), in_blocks(y))) <= max(alone) + 1


@pytest.mark.slow
def test_hyperplanes_of_several_classes_take_no_more_passes_than_the_slowest(passes):
    X, y = circles()
    alone = [n_passes(passes, lambda k=k: L1SVC().fit(in_blocks(X), in_blocks(y == k))) for k in np.unique(y)]
    assert n_passes(passes, lambda: L1SVC().fit(in_blocks(X), in_blocks(y))) <= max(alone)


@pytest.mark.slow
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


@pytest.mark.slow
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
    detected = VanishingIdealDetector().fit(X).predict(X)
    assert_lazy(VanishingIdealDetector().fit(D).predict(D), detected)


def test_filters_that_leave_some_frames_empty(client):
    X = arc()
    X = X[np.argsort(X[:, 0])]
    frame = in_frames(X, 6)
    found = OAVI(1e-3).fit(frame[(frame["c0"] < 0.2) | (frame["c0"] > 0.8)])
    expected = OAVI(1e-3).fit(pd.DataFrame(X[(X[:, 0] < 0.2) | (X[:, 0] > 0.8)], columns=["c0", "c1", "c2"]))
    assert_same_polynomials(found.generators_, expected.generators_)


@pytest.mark.parametrize("model", [OAVI(1e-3), VCA(1e-6), VanishingIdealDetector()], ids=repr)
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


def test_categories_are_labels_too(client):
    X, y = circles()
    labels = dd.from_pandas(pd.Series(y, dtype="category"), npartitions=5)
    assert PerClass(OAVI(1e-3)).fit(in_frames(unit(X)), labels).classes_.tolist() == ["inner", "middle", "outer"]


@pytest.mark.parametrize("model", [*MODELS, VanishingIdealDetector(missing="error")], ids=repr)
def test_nan_is_found_in_its_column_and_block(client, model):
    X = with_bad_value(np.nan, 700)
    model = clone(model)
    one = "at least 1 such value, one" if isinstance(model, VanishingIdealDetector) else "1 such value, the first"
    with pytest.raises(ValueError, match=rf"NaN in column 1: {one} in row 100 of block 3"):
        model.fit(in_blocks(X))
    assert_not_fitted(model)
    with pytest.raises(ValueError, match=rf"NaN in column 1 \('c1'\): {one} in row .* of block 3"):
        model.fit(in_frames(X, 6))


def test_nan_is_found_for_classes(client):
    X, y = with_bad_value(np.nan, 700), np.arange(1200) % 2
    for model in (PerClass(), VanishingIdealClassifier()):
        with pytest.raises(ValueError, match=r"NaN in column 1: 1 such value, the first in row 100 of block 3"):
            model.fit(in_blocks(X), y)


def test_nan_in_rows_to_transform_is_found_when_they_are_computed(client):
    X, y = with_bad_value(np.nan, 700), np.arange(1200) % 2
    model = OAVI(1e-3).fit(in_blocks(arc()))
    for lazy in (model.transform(in_blocks(X)), L1SVC().fit(arc(), y).predict(in_blocks(X))):
        with pytest.raises(ValueError, match=r"NaN in column 1: at least 1 such value, one in row 100 of block 3"):
            lazy.compute()


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_weights_that_are_none_are_refused_wherever_they_are(client, value):
    weights = np.ones(1200)
    weights[700] = value
    with pytest.raises(ValueError, match="sample_weight must be finite, not negative"):
        OAVI().fit(in_blocks(arc()), sample_weight=weights)


# --- schedulers -------------------------------------------------------------------------------------------------------


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
