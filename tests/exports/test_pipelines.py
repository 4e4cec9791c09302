"""Pipelines of scikit-learn with our steps, converted by skl2onnx and run in onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from vanishing import ABM, L1SVC, OAVI, VCA, PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV
from vanishing.exports import register_converters, to_onnx

skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")

rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(300, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0], 3)
RADIUS = X[:, 0] ** 2 + (X[:, 2] * 10.0) ** 2
Y = np.digitize(RADIUS, np.quantile(RADIUS, [0.4, 0.7]))
NEW = np.round(rng.normal(size=(100, 3)) * [0.8, 8.0, 0.08] + [0.0, 5.0, 0.0], 3)


def answers(graph, new):
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {session.get_inputs()[0].name: new}), strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("y", [Y > 0, Y, np.array(["a", "b", "c"])[Y]], ids=["two", "three", "text"])
def test_a_classifier_behind_a_scaler(y, dtype):
    search = VanishingIdealClassifierCV(OAVI(max_degree=2), psis=[0.01], Cs=[1.0], cv=2)
    pipeline = make_pipeline(StandardScaler(), search).fit(X, y)
    found = answers(to_onnx(pipeline, dtype), NEW.astype(dtype))
    expected = pipeline.predict_proba(NEW)
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found["probabilities"], expected, atol=tolerance)
    sure = np.abs(np.diff(np.sort(expected, axis=1)[:, -2:], axis=1)[:, 0]) > 10 * tolerance
    np.testing.assert_array_equal(found["label"][sure], pipeline.predict(NEW)[sure])
    assert sure.mean() > 0.9


@pytest.mark.parametrize("step", [OAVI(), ABM(), VCA(max_degree=2), PerClass()], ids=lambda step: type(step).__name__)
def test_features_before_another_classifier(step):
    pipeline = make_pipeline(MinMaxScaler(), step, LogisticRegression()).fit(X, Y)
    found = answers(to_onnx(pipeline, np.float64), NEW)
    np.testing.assert_allclose(found["probabilities"], pipeline.predict_proba(NEW), atol=1e-5)  # LogisticRegression's
    features = pipeline[:-1]
    np.testing.assert_allclose(
        answers(to_onnx(features, np.float64), NEW)["variable"], features.transform(NEW), rtol=1e-9, atol=1e-9
    )


def test_scores_stand_in_for_probabilities_that_were_not_calibrated():
    for last in (L1SVC(), VanishingIdealClassifier(OAVI(max_degree=2))):
        pipeline = make_pipeline(MinMaxScaler(), last).fit(X, Y > 0)
        scores = answers(to_onnx(pipeline, np.float64), NEW)["probabilities"]
        np.testing.assert_allclose(scores[:, 1], pipeline.decision_function(NEW), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(scores[:, 0], -scores[:, 1])


def test_columns_of_several_kinds_by_skl2onnx_itself():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "kind": np.where(Y > 1, "x", "y")})
    columns = ColumnTransformer([("s", StandardScaler(), ["a", "b", "c"]), ("o", OneHotEncoder(), ["kind"])])
    pipeline = make_pipeline(columns, VanishingIdealClassifier(OAVI(max_degree=2))).fit(table, Y > 0)
    register_converters()
    types = skl2onnx.common.data_types
    inputs = [(name, types.FloatTensorType([None, 1])) for name in "abc"] + [
        ("kind", types.StringTensorType([None, 1]))
    ]
    graph = skl2onnx.convert_sklearn(pipeline, initial_types=inputs)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    new = {name: table[[name]].to_numpy(dtype=object if name == "kind" else np.float32) for name in table}
    labels, scores = session.run(None, new)
    np.testing.assert_array_equal(labels.astype(bool), pipeline.predict(table))
    np.testing.assert_allclose([row[True] for row in scores], pipeline.decision_function(table), atol=1e-4)


def test_missing_skl2onnx_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"vanishing\[onnx\]"):
        register_converters()
