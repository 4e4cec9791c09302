"""Exported models compute what the models compute: NumPy source, SQL in DuckDB, ONNX in its runtime, PyTorch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from vanishing import (
    ABM,
    AVI,
    L1SVC,
    OAVI,
    VCA,
    Columns,
    PerClass,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    discover,
)
from vanishing.cli.main import main
from vanishing.exports import to_numpy_source, to_onnx, to_sql, to_torch


def rows(n=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0]
    X[:, 1] += np.exp(rng.normal(size=n) * 2.0)  # a heavy tail
    radius = X[:, 0] ** 2 + (X[:, 2] * 10.0) ** 2
    return X, np.digitize(radius, np.quantile(radius, np.arange(1, n_classes) / n_classes))


X, Y = rows()
UNIT = (X - X.min(axis=0)) / np.ptp(X, axis=0)
TEXT = np.array(["no", "yes"])[Y]


def classifier(y=Y, **options):
    options = {"psis": [0.01, 0.001], "cv": 2, "Cs": [1.0]} | options
    return VanishingIdealClassifierCV(OAVI(max_degree=2), **options).fit(X, y)


MODELS = {
    "OAVI": lambda: OAVI(0.005).fit(UNIT),
    "OAVI of degree 1": lambda: OAVI(0.2, max_degree=1).fit(UNIT),
    "ABM": lambda: ABM(0.005).fit(UNIT),
    "AVI": lambda: AVI(0.005).fit(UNIT),
    "VCA": lambda: VCA(0.005, normalization="mean-square", max_degree=3).fit(UNIT),
    "PerClass": lambda: PerClass(OAVI(0.005)).fit(UNIT, Y),
    "L1SVC": lambda: L1SVC().fit(UNIT, Y),
    "L1SVC of three classes": lambda: L1SVC().fit(UNIT, rows(n_classes=3)[1]),
    "classifier": lambda: VanishingIdealClassifier(OAVI(0.001)).fit(X, TEXT),
    "classifier of VCA": lambda: VanishingIdealClassifier(VCA(0.001)).fit(X, Y),
    "search": lambda: classifier(),
    "search of three classes": lambda: classifier(rows(n_classes=3)[1]),
    "ranks": lambda: classifier(scale_input="rank"),
    "average": lambda: classifier(refit="average", psis=[0.01, 0.005], Cs=[0.1, 1.0]),
    "hinges and products": lambda: classifier(TEXT, columns=Columns(hinges=3, monomials=2)),
}


@pytest.fixture(scope="module", name="model_of")
def fitted_models():
    known = {}

    def model_of(name):
        if name not in known:
            known[name] = MODELS[name]()
        return known[name]

    return model_of


def inputs_of(model):
    new = rows(100, seed=1)[0]
    lifted = model.scaler_ is not None if isinstance(model, VanishingIdealClassifier) else True
    raw = isinstance(model, (VanishingIdealClassifier, VanishingIdealClassifierCV)) and lifted
    return new if raw else (new - X.min(axis=0)) / np.ptp(X, axis=0)


def expected_of(model, new):
    if not hasattr(model, "decision_function"):
        return {"features": model.transform(new)}
    scores = model.decision_function(new)
    expected = {"scores": scores.reshape(len(new), -1), "label": np.searchsorted(model.classes_, model.predict(new))}
    if hasattr(model, "predict_proba"):
        expected["probabilities"] = model.predict_proba(new)
    return expected


def assert_agree(found, expected, rtol):
    assert set(found) == set(expected)
    for key, values in expected.items():
        size = max(np.abs(values).max(initial=0.0), 1.0)
        if key == "label" and rtol > 1e-9:  # ties may go either way
            assert (found[key] == values).mean() > 0.98
        else:
            np.testing.assert_allclose(
                np.asarray(found[key]).reshape(values.shape), values, rtol=rtol, atol=rtol * size
            )


@pytest.mark.parametrize("name", MODELS)
def test_numpy_source_agrees(name, model_of):
    model = model_of(name)
    new = inputs_of(model)
    scope = {}
    exec(to_numpy_source(model, "answer"), scope)
    assert_agree(scope["answer"](new), expected_of(model, new), 1e-9)


@pytest.mark.slow
def test_numpy_source_needs_nothing_else(model_of, tmp_path):
    file = tmp_path / "model.py"
    file.write_text(to_numpy_source(model_of("search")))
    code = "import sys; from model import predict; predict([[0.0, 1.0, 2.0]]); print('vanishing' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_sql_agrees_in_duckdb(name, model_of):
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    model = model_of(name)
    new = inputs_of(model)
    connection = duckdb.connect()
    connection.register("rows", pandas.DataFrame(new, columns=["x0", "x1", "x2"]))
    table = connection.execute(to_sql(model)).df()
    found = {}
    for column in table.columns:
        found.setdefault(column.split("_")[0], []).append(table[column].to_numpy())
    found = {key: columns[0] if key == "label" else np.column_stack(columns) for key, columns in found.items()}
    expected = expected_of(model, new)
    if "label" in expected:
        found = {"label": found["label"], "scores": found["score"]} | (
            {"probabilities": found["probability"]} if "probability" in found else {}
        )
        assert found["label"].tolist() == model.predict(new).tolist()
        found["label"] = np.searchsorted(model.classes_, found["label"])
    assert_agree(found, expected, 1e-9)


LABELS = {
    "texts": np.array(["it's", "Über 9", "no"]),
    "numbers": np.array([7, -1, 30]),
    "flags": np.array([True, False]),
    "floats": np.array([0.0, 2.0]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_sql_onnx_and_the_shell_give_the_labels_and_names_of_predict(kind, tmp_path, monkeypatch, capsys):
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    labels = LABELS[kind]
    y = rows(n_classes=len(labels))[1]
    model = classifier(labels[y])
    table = pandas.DataFrame(rows(100, seed=1)[0], columns=["x0", "x1", "x2"])
    model.feature_names_in_ = np.array(list(table), dtype=object)
    model.best_estimator_.feature_names_in_ = model.feature_names_in_
    monkeypatch.chdir(tmp_path)
    table.to_parquet("new.parquet")
    model.save("model.vi")
    assert main(["predict", "model.vi", "new.parquet", "-o", "said.parquet", "--quiet"]) == 0
    said = pandas.read_parquet("said.parquet")
    expected = model.predict(table).tolist()
    assert said["label"].tolist() == expected
    connection = duckdb.connect()
    connection.register("rows", table)
    selected = connection.execute(to_sql(model)).df()
    assert list(selected) == list(said)
    assert selected["label"].tolist() == expected
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model, np.float64).SerializeToString())
    assert session.run(["label"], {"X": table.to_numpy()})[0].tolist() == expected
    named = session.get_modelmeta().custom_metadata_map
    assert ["label", *named["scores"].split(","), *named["probabilities"].split(",")] == list(said)


def test_sql_quotes_names():
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(UNIT, columns=['a "b"', "select", "größe; drop table rows"])
    model = OAVI(0.005).fit(table)
    connection = duckdb.connect()
    connection.register("my rows", table)
    found = connection.execute(to_sql(model, "my rows")).df().to_numpy()
    np.testing.assert_allclose(found, model.transform(table), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MODELS)
def test_onnx_agrees_in_its_runtime(name, dtype, model_of):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = model_of(name)
    new = inputs_of(model).astype(dtype)
    graph = to_onnx(model, dtype)
    onnx.checker.check_model(graph)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": new}), strict=True))
    if "label" in found:
        found["label"] = np.searchsorted(model.classes_, found["label"].astype(model.classes_.dtype))
    assert_agree(found, expected_of(model, new.astype(np.float64)), 2e-4 if dtype == np.float32 else 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_torch_agrees(name, model_of):
    torch = pytest.importorskip("torch")
    model = model_of(name)
    new = inputs_of(model)
    module = to_torch(model)
    found = module(torch.tensor(new))
    expected = expected_of(model, new)
    found = found if isinstance(found, dict) else {next(iter(expected)): found}
    assert_agree({key: value.detach().numpy() for key, value in found.items()}, expected, 1e-9)


@pytest.mark.slow
def test_torch_modules_can_be_trained_saved_and_exported(model_of):
    torch = pytest.importorskip("torch")
    model = model_of("OAVI")
    frozen, layer = to_torch(model), to_torch(model, trainable=True)
    assert list(frozen.parameters()) == []
    x = torch.tensor(UNIT[:10])
    loss = layer(x).sum()
    loss.backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in layer.parameters())
    other = to_torch(model, trainable=True)
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(other(x), layer(x))
    exported = torch.export.export(frozen, (x,), dynamic_shapes=({0: torch.export.Dim("n")},))
    torch.testing.assert_close(exported.module()(torch.tensor(UNIT)), frozen(torch.tensor(UNIT)))


def test_what_cannot_be_exported_says_so():
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(NotFittedError):
        to_sql(OAVI())
    with pytest.raises(ValueError, match="cannot be exported: give a fitted model of vanishing"):
        to_numpy_source(LogisticRegression().fit(UNIT, Y))
    with pytest.raises(ValueError, match="Laws cannot be exported: give a fitted model of vanishing"):
        to_sql(discover(UNIT, max_degree=1))
    final = VanishingIdealClassifier(OAVI(0.001), final_estimator=LogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match=r"use the built-in SVM \(None\)"):
        to_numpy_source(final)
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        to_onnx(OAVI(0.005).fit(UNIT), np.int32)
