"""Exported detectors score new rows as the detector does."""

from __future__ import annotations

import numpy as np
import pytest

from vanishing import VanishingIdealDetector
from vanishing.exports import to_numpy_source, to_onnx, to_sql, to_torch


def mixed(n, seed):
    """Two numbers and a law, a heavy tail, a binary column, a one-hot group and a constant."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    law = x[:, 0] * x[:, 1] + 0.01 * rng.normal(size=n)
    return np.column_stack(
        [
            x,
            law,
            np.exp(2 * rng.normal(size=n)),
            rng.integers(0, 2, n),
            np.eye(3)[rng.integers(0, 3, n)],
            np.full(n, 7.0),
        ]
    )


def wide(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) @ np.random.default_rng(9).normal(size=(4, 50)) + 0.1 * rng.normal(size=(n, 50))


CASES = {
    "regimes and equations": (mixed, {}),
    "one Gram": (mixed, {"regimes": False, "degree": 2}),
    "principal directions": (wide, {"degree": 2}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    make, options = CASES[request.param]
    new = make(200, 1)
    new[::5, 0] += 3.0  # far away
    if make is mixed:
        new[3, 4], new[4, 8] = 0.5, 7.5  # neither binary nor constant
    return VanishingIdealDetector(**options).fit(make(700, 0)), new


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_onnx_scores_are_those_of_the_detector(case, dtype):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    detector, new = case
    graph = to_onnx(detector, dtype)
    onnx.checker.check_model(graph)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    scores, label = session.run(["scores", "label"], {"X": new.astype(dtype)})
    rounded = new.astype(dtype).astype(np.float64)
    tolerance = 1e-5 if dtype == np.float32 else 1e-6  # the runtime's optimised exponentials; 1e-10 without them
    np.testing.assert_allclose(scores[:, 0], detector.score_samples(rounded), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(label, detector.predict(rounded))
    assert {-1, 1} == set(label)


def test_torch_scores_are_those_of_the_detector(case):
    torch = pytest.importorskip("torch")
    detector, new = case
    found = to_torch(detector)(torch.tensor(new))
    np.testing.assert_allclose(found["scores"][:, 0].numpy(), detector.score_samples(new), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(2 * found["label"].numpy() - 1, detector.predict(new))


@pytest.fixture(scope="module", params=[{"regimes": False, "degree": 2}, {"degree": 2}], ids=["one Gram", "regimes"])
def short(request):
    make = mixed if "regimes" in request.param else two
    new = make(200, 1)
    new[::5, 0] += 3.0
    return VanishingIdealDetector(**request.param).fit(make(600, 0)), new


def two(n, seed):
    """Two regimes with a law."""
    rng = np.random.default_rng(seed)
    x = rng.normal(rng.choice([0.0, 9.0], n))
    return np.column_stack([x, x**2 + 0.01 * rng.normal(size=n)])


@pytest.mark.slow
def test_numpy_source_and_sql_score_like_the_detector(short):
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    detector, new = short
    scope = {}
    exec(to_numpy_source(detector), scope)
    found = scope["predict"](new)
    scores, labels = detector.score_samples(new), (detector.predict(new) + 1) // 2
    np.testing.assert_allclose(found["scores"][:, 0], scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found["label"], labels)
    connection = duckdb.connect()
    connection.register("new", pandas.DataFrame(new, columns=[f"x{j}" for j in range(new.shape[1])]))
    selected = connection.sql(to_sql(detector, "new")).df()
    np.testing.assert_allclose(selected["score"], scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(selected["outlier"], 1 - labels)
    assert set(labels) == {0, 1}


@pytest.mark.parametrize("case", ["regimes and equations"], indirect=True)
def test_text_of_a_large_detector_is_refused_with_the_numbers(case):
    detector, _ = case
    with pytest.raises(ValueError, match=r"has [\d,]+ coefficients, and text has room for 20,000: export it to onnx"):
        to_sql(detector)
