"""Pipelines with scikit-learn's own steps in files, and models in skops' own files."""

from __future__ import annotations

import json
import sys
import zipfile

import numpy as np
import pytest
from file_mutations import file_of, parts_of
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

from vanishing import OAVI, LawFinder, ModelFileError, VanishingIdealClassifier, VanishingIdealDetector, load, save
from vanishing.files import notes_of

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")


def table(m=120):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"size": rng.uniform(1, 9, m), "age": rng.uniform(0, 90, m), "town": ["A", "B", "C"] * 40})
    frame.loc[5, "age"] = np.nan
    return frame, np.where(frame["size"] + (frame["town"] == "B") > 5, "yes", "no")


FOREIGN = FunctionTransformer(np.sqrt, inverse_func=table, check_inverse=False)


def test_a_pipeline_of_scalers_encoders_and_imputers_comes_back(tmp_path):
    pytest.importorskip("skops")
    pytest.importorskip("sklearn", "1.7", reason="older ColumnTransformers hold a class that skops does not trust")
    X, y = table()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("n", numbers, ["size", "age"]), ("t", OneHotEncoder(), ["town"])])
    model = Pipeline([("columns", columns), ("none", None), ("model", VanishingIdealClassifier(OAVI(0.01)))]).fit(X, y)
    save(model, tmp_path / "model.vi", notes={"target": "bought"})
    again = load(tmp_path / "model.vi")
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert notes_of(tmp_path / "model.vi") == {"target": "bought"}


def test_a_scaling_to_the_unit_cube_needs_no_further_package(tmp_path, monkeypatch):
    X, _ = table()
    X = X[["size"]].assign(square=X["size"] ** 2)
    model = make_pipeline(MinMaxScaler(), OAVI(1e-6)).fit(X)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    save(model, tmp_path / "model.vi")
    again = load(tmp_path / "model.vi")
    assert again.transform(X).tobytes() == model.transform(X).tobytes()
    assert list(again.feature_names_in_) == ["size", "square"]
    with pytest.raises(ImportError, match=r"vanishing\[skops\]"):
        save(make_pipeline(StandardScaler(), OAVI()).fit(X), tmp_path / "other.vi")
    assert not (tmp_path / "other.vi").exists()


def test_what_cannot_be_checked_is_not_saved(tmp_path):
    pytest.importorskip("skops")
    X, _ = table()
    X = X[["size"]]
    with pytest.raises(ValueError, match=r"step 'functiontransformer' .* cannot be saved: use transformers of scikit"):
        save(make_pipeline(FOREIGN, OAVI()).fit(X), tmp_path / "model.vi")
    with pytest.raises(ValueError, match="not fitted yet"):
        save(make_pipeline(MinMaxScaler(), OAVI()), tmp_path / "model.vi")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda steps: steps[0].update(kind="pickle"), "kind 'pickle'"),
        (lambda steps: steps[1]["step"].update(estimator="Popen"), "unknown estimator"),
        (lambda steps: steps[1].update(name=steps[0]["name"]), "same name"),
        (lambda steps: steps[0].update(kind="model"), "an estimator is missing or of another type"),
        (lambda steps: steps[0]["step"].update(shape=[10]), "damaged"),
    ],
)
def test_hostile_steps_are_refused(change, message, tmp_path):
    pytest.importorskip("skops")
    save(make_pipeline(StandardScaler(), OAVI()).fit(table()[0][["size"]]), tmp_path / "model.vi")
    header, arrays = parts_of((tmp_path / "model.vi").read_bytes())
    change(header["model"])
    (tmp_path / "model.vi").write_bytes(file_of(json.dumps(header), arrays))
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model.vi")


def test_a_step_that_names_another_class_is_refused(tmp_path):
    skops = pytest.importorskip("skops.io")
    hostile = tmp_path / "hostile.zip"
    skops.dump(FOREIGN, hostile, compression=zipfile.ZIP_STORED)
    save(make_pipeline(StandardScaler(), OAVI()).fit(table()[0][["size"]]), tmp_path / "model.vi")
    header, arrays = parts_of((tmp_path / "model.vi").read_bytes())
    data = hostile.read_bytes()
    header["model"][0]["step"] = {"dtype": "u1", "shape": [len(data)], "at": len(arrays)}
    (tmp_path / "model.vi").write_bytes(file_of(json.dumps(header), arrays + data))
    with pytest.raises(ModelFileError, match="not a transformer of scikit-learn"):
        load(tmp_path / "model.vi")


@pytest.mark.parametrize("make", [VanishingIdealClassifier, VanishingIdealDetector, LawFinder])
def test_skops_finds_no_foreign_class_in_our_models(make):
    skops = pytest.importorskip("skops.io")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X = np.column_stack([X, 2.0 * X[:, 0] + X[:, 1] + rng.normal(0, 0.01, 300)])
    model = make().fit(X, X[:, 0] > 0)
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    assert {name.split(".")[0] for name in types} == {"vanishing"}
    again = skops.loads(data, trusted=types)
    method = "predict" if hasattr(model, "predict") else "transform"
    assert getattr(again, method)(X).tobytes() == getattr(model, method)(X).tobytes()
