"""Models in files: the same model comes back, and nothing else than a model is accepted."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from file_mutations import file_of, mutated, parts_of
from sklearn.linear_model import LogisticRegression

from vanishing import (
    ABM,
    AVI,
    L1SVC,
    OAVI,
    VCA,
    Columns,
    ModelFileError,
    PerClass,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    load,
    save,
)
from vanishing.files.container import VERSION, ArrayReader
from vanishing.polynomials import forms, terms

MODELS = [
    OAVI(),
    OAVI(1e-4, solver="bpcg", max_degree=3),
    OAVI(0.01, solver="cg", boost="ihb", feature_order=[2, 0, 1]),
    OAVI(0.01, solver="agd", boost="none", tau=np.inf),
    OAVI(1e-30, max_degree=2),
    ABM(),
    AVI(),
    VCA(),
    VCA(normalization="mean-square"),
]
ids = [f"{type(model).__name__}-{k}" for k, model in enumerate(MODELS)]


@pytest.fixture(scope="module", name="X")
def surface():
    X = np.random.default_rng(0).random((200, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    return X


@pytest.fixture(scope="module", name="fitted")
def fitted_models(X):
    return [model.fit(X) for model in MODELS]


@pytest.fixture(scope="module", name="whole")
def bytes_of_a_model(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "model.vi"
    OAVI(0.01).fit(X).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module", name="new_search")
def bytes_of_a_search(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "search.vi"
    columns = [Columns(), Columns(hinges=2)]
    VanishingIdealClassifierCV(psis=[0.1], Cs=[1.0], cv=2, columns=columns).fit(X, X[:, 0] > X[:, 1]).save(path)
    return path.read_bytes()


def loaded(data, folder):
    path = Path(folder) / "changed.vi"
    path.write_bytes(data)
    return load(path)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(len(MODELS)), ids=ids)
def test_a_model_comes_back_to_the_last_bit(k, fitted, X, tmp_path):
    model, path = fitted[k], tmp_path / "model.vi"
    model.save(path)
    again = load(path)
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    assert again.transform(X).tobytes() == model.transform(X).tobytes()
    assert str(again) == str(model)
    assert set(vars(again)) == set(vars(model))
    again.save(tmp_path / "again.vi")
    assert (tmp_path / "again.vi").read_bytes() == path.read_bytes()


def test_names_of_columns_come_back(X, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["größe", "a b", "x$"])
    model = OAVI(0.001).fit(table)
    model.save(tmp_path / "model.vi")
    again = load(tmp_path / "model.vi")
    assert list(again.feature_names_in_) == list(table.columns)
    assert again.transform(table).tobytes() == model.transform(table).tobytes()
    with pytest.raises(ValueError, match="feature names"):
        again.transform(table.rename(columns={"a b": "c"}))


def test_relations_and_generators_are_usable(fitted, tmp_path):
    save(fitted[0], tmp_path / "model.vi")
    again = load(tmp_path / "model.vi")
    assert str(again.relations()) == str(fitted[0].relations())
    again.generators_.save(tmp_path / "generators.vi")
    assert str(load(tmp_path / "generators.vi")) == str(fitted[0].generators_)
    assert pickle.loads(pickle.dumps(again)).degree_ == fitted[0].degree_


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match=r"not fitted yet: fit it before"):
        OAVI().save(tmp_path / "model.vi")
    with pytest.raises(ValueError, match="dict cannot be saved"):
        save({}, tmp_path / "model.vi")
    assert os.listdir(tmp_path) == []


def test_a_model_without_generators_is_saved(tmp_path):
    model = OAVI(1e-9, max_degree=1).fit(np.random.default_rng(0).random((50, 2)))
    assert len(model.generators_) == 0
    model.save(tmp_path / "model.vi")
    assert load(tmp_path / "model.vi").transform([[0.1, 0.2]]).shape == (1, 0)


@pytest.mark.slow
def test_files_are_small(X, tmp_path):
    model = OAVI(1e-5).fit(np.random.default_rng(0).random((3000, 8)))
    model.save(tmp_path / "model.vi")
    assert (tmp_path / "model.vi").stat().st_size < 2 * model.generators_.form.coef.nbytes


def test_a_file_of_the_first_version_is_read():
    model = load(Path(__file__).parent / "version1.vi")
    assert str(model.generators_[0]) == "x0^2 - x1"
    np.testing.assert_allclose(model.transform([[0.5, 0.5]])[0, 0], 0.25, atol=1e-12)


def test_files_of_detectors_laws_rules_and_pipelines_of_the_first_version_are_read():
    detector, laws, rules, pipeline = (
        load(Path(__file__).parent / f"version1-{kind}.vi") for kind in ("detector", "laws", "rules", "pipeline")
    )
    assert detector.predict([[1.5, 3.0], [1.5, 3.5]]).tolist() == [1, -1]
    assert laws[0].equation == "a*b = area"
    assert str(rules[0].polynomial) == "x0*x1 - x2"
    np.testing.assert_allclose(pipeline.transform([[1.5, 1.2, 1.8], [1.5, 1.2, 0.0]])[:, 0] > 1e-6, [False, True])


# --- files that are refused -------------------------------------------------------------------------------------------


OLDER_SEARCHES = {  # present parameters, and decisions that the older version computed about three rows
    "default": ({}, [-5.702618953616772, 5.583457461028242, 1.871118756899846]),
    "average": (
        {"refit": "average", "columns": Columns("absolute", hinges=2)},
        [-4.361690992773504, 4.837278324554578, -0.07724500914135746],
    ),
    "sparse": (
        {"refit": "1se", "columns": Columns(halves=True)},
        [-4.759739269303079, 9.221674477249978, 1.9752587284797016],
    ),
    "plain": (
        {"scale_input": True, "columns": Columns("signed", append_input=False, scale_features=False)},
        [-0.8220077157571231, 1.7513540239845484, 0.24262042035080267],
    ),
}


@pytest.mark.parametrize("kind", OLDER_SEARCHES)
def test_searches_with_parameters_of_older_versions_are_read(kind, tmp_path):
    options, decisions = OLDER_SEARCHES[kind]
    model = load(Path(__file__).parent / f"version1-search-{kind}.vi")
    found, expected = model.get_params(deep=False), VanishingIdealClassifierCV(**options).get_params(deep=False)
    changed = ("psis", "Cs", "cv", "n_jobs", "final_estimator")
    assert {name: found[name] for name in found if name not in changed} == {
        name: expected[name] for name in expected if name not in changed
    }
    assert isinstance(model.final_estimator, L1SVC) == (kind == "plain") == (not hasattr(model, "predict_proba"))
    new = np.array([[1.0, 0.0], [0.3, -1.9], [1.1, 0.9]])
    np.testing.assert_allclose(model.decision_function(new), decisions, rtol=1e-12)
    model.save(tmp_path / "again.vi")
    np.testing.assert_array_equal(load(tmp_path / "again.vi").predict(new), model.predict(new))
    assert str(model) == str(load(tmp_path / "again.vi"))


@pytest.mark.parametrize(
    ("old", "refit"),
    [
        ({"average": True, "sparsity": "1se"}, "average"),
        ({"sparsity": "1se", "refit": False}, False),
        ({"average": True, "refit": False}, False),
    ],
    ids=str,
)
def test_older_parameters_keep_what_predicts(old, refit, tmp_path):
    header, arrays = parts_of((Path(__file__).parent / "version1-search-average.vi").read_bytes())
    header["model"]["parameters"].update(old)
    assert loaded(file_of(header, arrays), tmp_path).refit == refit


@pytest.mark.parametrize("junk", [None, "junk", -1, [1, 2], {"mapping": {}}, {"float": "nan"}, 7.5], ids=str)
@pytest.mark.parametrize("name", [field.name for field in fields(Columns) if field.name != "monotone"])
def test_damaged_columns_are_refused_in_older_files_and_in_new_ones(name, junk, new_search, tmp_path):
    header, arrays = parts_of((Path(__file__).parent / "version1-search-plain.vi").read_bytes())
    header["model"]["parameters"][name] = junk
    with pytest.raises(ModelFileError):
        loaded(file_of(header, arrays), tmp_path)
    for place in (
        lambda model: model["parameters"]["columns"][1]["object"],
        lambda model: model["fitted"]["best_columns_"],
    ):
        header, arrays = parts_of(new_search)
        place(header["model"])["model"][name] = junk
        with pytest.raises(ModelFileError):
            loaded(file_of(header, arrays), tmp_path)


@pytest.mark.parametrize(
    "junk",
    ["junk", -1, [1, 2], {"float": "nan"}, {"mapping": {"a": 2}}, {"mapping": {"a": None}}]
    + [{"pairs": pairs} for pairs in (None, 7, [1], [[1]], [[1, 1, 1]], [[[1], 1]], [[{"mapping": {}}, 1]], [[0, 3]])],
    ids=str,
)
def test_damaged_directions_of_columns_are_refused(junk, new_search, tmp_path):
    header, arrays = parts_of(new_search)
    header["model"]["fitted"]["best_columns_"]["model"]["monotone"] = junk
    with pytest.raises(ModelFileError):
        loaded(file_of(header, arrays), tmp_path)


def test_a_newer_version_names_both(whole, tmp_path):
    header, arrays = parts_of(whole)
    with pytest.raises(ModelFileError, match=rf"format {VERSION + 1}, but .* up to {VERSION}: install a newer one"):
        loaded(file_of({**header, "version": VERSION + 1}, arrays), tmp_path)


def test_another_kind_is_named(whole, tmp_path):
    header, arrays = parts_of(whole)
    with pytest.raises(ModelFileError, match=r"unknown kind \('Popen'\)"):
        loaded(file_of({**header, "kind": "Popen"}, arrays), tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"x" * 100, b"PK\x05\x06" + b"\0" * 18, b"\x80\x04K\x01.", b"{}"], ids=range(6)
)
def test_what_is_no_archive_is_refused(data, tmp_path):
    with pytest.raises(ModelFileError, match="holds no model, or is damaged"):
        loaded(data, tmp_path)


@pytest.mark.slow
def test_compressed_doubled_and_further_members_are_refused(whole, tmp_path):
    header, arrays = parts_of(whole)
    bomb = file_of(header, bytes(10**8), compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 200_000
    wrong = [
        (bomb, "compressed"),
        (file_of(header, arrays, extra=[("../../evil", b"")]), "other parts"),
        (file_of(json.dumps(header).replace('"version"', '"version": 1, "version"', 1), arrays), "twice"),
        (file_of(json.dumps(header).replace('"version": 1', '"version": NaN'), arrays), "NaN"),
        (file_of("[" * 100_000, arrays), "damaged"),
    ]
    for data, match in wrong:
        with pytest.raises(ModelFileError, match=match):
            loaded(data, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda form: form["coef"].update(shape=[10**6, 10**6]),
        lambda form: form["coef"].update(shape=[-1, 4]),
        lambda form: form["coef"].update(at=-8),
        lambda form: form["coef"].update(dtype="O"),
        lambda form: form["lead_coef"].update(shape=[1]),
        lambda form: form["basis"]["left"].update(at=form["coef"]["at"]),
        lambda form: form.pop("leads"),
    ],
)
def test_arrays_that_cannot_be_are_refused_in_little_memory(change, whole, refusal, tmp_path):
    header, arrays = parts_of(whole)
    change(header["model"]["fitted"]["generators_"]["model"]["form"]["value"])
    (tmp_path / "changed.vi").write_bytes(file_of(header, arrays))
    error, message, peak = refusal("model", tmp_path / "changed.vi")
    assert error == "ModelFileError"
    assert "damaged" in message
    assert peak < 10_000_000


def test_one_array_cannot_be_handed_out_many_times():
    reader, reference = ArrayReader(bytes(8000)), {"dtype": "f8", "shape": [1000], "at": 0}
    for _ in range(8):
        reader.read(reference, "f8")
    with pytest.raises(ValueError, match="more values than there are"):
        reader.read(reference, "f8")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_coefficients_have_to_be_finite(value, whole, tmp_path):
    header, arrays = parts_of(whole)
    at = header["model"]["fitted"]["generators_"]["model"]["form"]["value"]["coef"]["at"]
    changed = arrays[:at] + np.float64(value).tobytes() + arrays[at + 8 :]
    with pytest.raises(ModelFileError, match="not finite"):
        loaded(file_of(header, changed), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_are_refused_or_hold_a_model(seed, whole, X, tmp_path):
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(100):
        try:
            model = loaded(mutated(whole, rng), tmp_path)
        except ModelFileError:
            refused += 1
            continue
        with np.errstate(all="ignore"):
            str(model)
        if hasattr(model, "transform") and hasattr(model, "generators_"):
            with suppress(ValueError):  # of a model with another number of columns
                model.transform(X)
    assert refused > 50


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fitted: fitted["_margins"]["moments"][0].pop(), "fewer moments than its powers need"),
        (lambda fitted: fitted["_margins"]["moments"].__setitem__(0, []), "fewer moments than its powers need"),
        (lambda fitted: fitted["_margins"]["moments"].pop(), "a column is missing"),
        (lambda fitted: fitted["generators_"]["model"].__setitem__("_n_free", None), "which terms they could have"),
        (lambda fitted: fitted["_margins"]["moments"][1].__setitem__(2, -1.0), "a mean of squares is negative"),
        (lambda fitted: fitted["order_ideal_"]["model"]["exponents"].__setitem__("shape", [0, 3]), "other terms than"),
    ],
)
def test_margins_and_terms_that_do_not_fit_the_generators_are_refused(change, message, whole, tmp_path):
    header, arrays = parts_of(whole)
    change(header["model"]["fitted"])
    with pytest.raises(ModelFileError, match=message):
        loaded(file_of(header, arrays), tmp_path)


def test_what_cannot_be_saved_leaves_the_old_file(X, tmp_path):
    model, path = OAVI(0.01).fit(X), tmp_path / "model.vi"
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "nowhere" / "model.vi")
    model.save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"The parameter <object .* cannot be saved: use numbers"):
        model.set_params(psi=object()).save(path)
    model.set_params(psi=0.01)
    with pytest.raises(ValueError, match=r"A text of 200,000 characters cannot be saved: cut it to 100,000"):
        save(model, path, notes={"story": 200_000 * "a"})
    with pytest.raises(ValueError, match=r"The model has 9,\d+,\d+ bytes of texts .* shorten its notes"):
        save(model, path, notes={str(k): 90_000 * "a" for k in range(100)})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.vi"]


# --- classifiers ------------------------------------------------------------------------------------------------------


def labelled(n_classes=2, kind=int):
    rng = np.random.default_rng(0)
    X = rng.random((150, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, np.arange(1, n_classes) * 1.6 / n_classes)
    return X, {int: y, str: np.array(["low", "middle", "high"])[y], float: 2.0 * y, bool: y > 0}[kind]


ONE_SPLIT = [[list(range(100)), list(range(100, 150))]]
CLASSIFIERS = {
    "SVM": (lambda: L1SVC(), int),
    "PerClass": (lambda: PerClass(OAVI(0.01)), str),
    "PerClass of VCA": (lambda: PerClass(VCA(0.01)), bool),
    "classifier": (lambda: VanishingIdealClassifier(OAVI(0.01)), str),
    "classifier of ABM": (lambda: VanishingIdealClassifier(ABM(0.01), C=3.0, scale_input=False), float),
    "search": (lambda: VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2), str),
    "average": (lambda: VanishingIdealClassifierCV(psis=[0.01], Cs=[0.1, 1.0], cv=2, refit="average"), str),
    "one split": (lambda: VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=ONE_SPLIT), int),
    "ranks": (
        lambda: VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2, scale_input="rank", columns=Columns(hinges=2)),
        int,
    ),
    "arcsinh": (lambda: VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2, scale_input="arcsinh"), float),
}


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [(name, n) for name, (_, kind) in CLASSIFIERS.items() for n in ((2,) if kind is bool else (2, 3))],
)
def test_classifiers_come_back_to_the_last_bit(name, n_classes, tmp_path):
    make, kind = CLASSIFIERS[name]
    X, y = labelled(n_classes, kind)
    model, path = make().fit(X, y), tmp_path / "model.vi"
    model.save(path)
    again = load(path)
    assert type(again) is type(model)
    assert again.classes_.dtype == model.classes_.dtype
    for method in ("decision_function", "predict_proba", "transform", "predict"):
        assert hasattr(again, method) == hasattr(model, method)
        if hasattr(model, method):
            assert getattr(again, method)(X).tobytes() == getattr(model, method)(X).tobytes()
    assert str(again) == str(model)
    assert set(vars(again)) == set(vars(model))
    if hasattr(model, "cv_results_"):
        assert list(again.cv_results_) == list(model.cv_results_)
        np.testing.assert_array_equal(again.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
        assert again.best_params_ == model.best_params_
    again.save(tmp_path / "again.vi")
    assert (tmp_path / "again.vi").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("name", "left_out"), [("search", "best_estimator_"), ("average", "estimators_"), ("average", "weights_")]
)
def test_a_search_without_its_models_is_refused(name, left_out, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    path = tmp_path / "model.vi"
    CLASSIFIERS[name][0]().fit(X, X[:, 0] > 0.5).save(path)
    header, arrays = parts_of(path.read_bytes())
    del header["model"]["fitted"][left_out]
    path.write_bytes(file_of(header, arrays))
    with pytest.raises(ModelFileError):
        load(path)


def test_other_last_steps_are_not_saved(tmp_path):
    X, y = labelled()
    model = VanishingIdealClassifier(OAVI(0.01), final_estimator=LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match=r"cannot be saved: use the built-in SVM \(None\), or pickle"):
        model.save(tmp_path / "model.vi")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_mutated_classifiers_are_refused_or_predict(seed, tmp_path):
    X, y = labelled(3, str)
    VanishingIdealClassifierCV(psis=[0.05], Cs=[1.0], cv=2).fit(X, y).save(tmp_path / "model.vi")
    whole, rng = (tmp_path / "model.vi").read_bytes(), np.random.default_rng(seed)
    refused = 0
    for _ in range(100):
        try:
            model = loaded(mutated(whole, rng), tmp_path)
        except ModelFileError:
            refused += 1
            continue
        with np.errstate(all="ignore"):
            str(model)
            with suppress(ValueError, AttributeError):  # other columns; no best estimator
                model.predict(X)
    assert refused > 50


@pytest.mark.parametrize("name", ["classifier", "search", "average", "PerClass of VCA"])
def test_one_row_needs_no_compiled_code_and_has_the_same_values(name, tmp_path, monkeypatch):
    make, kind = CLASSIFIERS[name]
    X, y = labelled(2, kind)
    make().fit(X, y).save(tmp_path / "model.vi")
    model = load(tmp_path / "model.vi")
    method = "decision_function" if hasattr(model, "decision_function") else "transform"
    whole = getattr(model, method)(X)
    for module, kernel in ((terms, "fill_terms"), (forms, "_fill_generators")):
        monkeypatch.setattr(module, kernel, None)
    np.testing.assert_allclose(getattr(model, method)(X[:1]), whole[:1], rtol=1e-9, atol=1e-12)
