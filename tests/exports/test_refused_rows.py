"""Rows that a model refuses have no result in its exports: NULL in databases, an error in NumPy, NaN elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from vanishing import (
    L1SVC,
    OAVI,
    PerClass,
    TableEncoder,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
)
from vanishing.exports import to_numpy_source, to_onnx, to_sql, to_torch

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["a", "b", "c"]).assign(b=lambda table: np.exp(2 * table["b"]))
SCORES = TABLE["a"] ** 2 + TABLE["c"] + 0.3 * np.log(TABLE["b"])
TWO, THREE = np.where(SCORES > 0.8, "yes", "no"), np.digitize(SCORES, [0.0, 1.0])
ODD = {"nothing": None, "NaN": np.nan, "infinity": np.inf, "minus infinity": -np.inf}


def search(scaling, refit=True):
    settings = {"psis": [0.01, 0.005], "Cs": [1.0], "cv": 2}
    return VanishingIdealClassifierCV(OAVI(max_degree=2), **settings, scale_input=scaling, refit=refit)


MODELS = {
    "plain": lambda: VanishingIdealClassifier().fit(TABLE, TWO),
    "search": lambda: search("arcsinh").fit(TABLE, TWO),
    "ranks": lambda: search("rank").fit(TABLE, TWO),
    "average of three classes": lambda: search("arcsinh", "average").fit(TABLE, THREE),
    "svm": lambda: L1SVC().fit(TABLE, THREE),
    "detector": lambda: VanishingIdealDetector(degree=2).fit(TABLE),
    "features": lambda: PerClass(OAVI(0.05, max_degree=2)).fit(TABLE.rank(pct=True), TWO),
}


@pytest.fixture(scope="module", name="model_of")
def fitted_models():
    known = {}

    def model_of(kind):
        return known.setdefault(kind, known.get(kind) or MODELS[kind]())

    return model_of


def in_duckdb(query, table, is_null):
    """The result for some rows, with NULL where ``is_null`` is true of the first column."""
    connection = pytest.importorskip("duckdb").connect()
    connection.register("given_rows", table.assign(is_null=is_null))
    columns = [f'"{name}"' for name in table][1:]
    connection.execute(
        f"CREATE TABLE tab AS SELECT CASE WHEN NOT is_null THEN a END AS a, {', '.join(columns)} FROM given_rows"
    )
    return connection.execute(query).df()


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", MODELS)
def test_rows_without_a_value_have_none_in_sql(kind, odd, model_of):
    query = to_sql(model_of(kind), "tab")
    rows = TABLE.head(6)
    expected = in_duckdb(query, rows, False)
    assert not expected.isna().any(axis=None)
    at = 2
    changed = rows.assign(a=rows["a"].mask(rows.index == at, np.nan if ODD[odd] is None else ODD[odd]))
    found = in_duckdb(query, changed, (rows.index == at) & (ODD[odd] is None))
    assert found.loc[at].isna().all()
    pd.testing.assert_frame_equal(found.drop(at), expected.drop(at), check_dtype=False)


@pytest.mark.parametrize("odd", ["NaN", "infinity", "minus infinity"])
@pytest.mark.parametrize("kind", MODELS)
def test_numpy_source_refuses_rows_without_a_value(kind, odd, model_of):
    scope = {}
    exec(to_numpy_source(model_of(kind)), scope)
    rows = TABLE.to_numpy()[:6].copy()
    rows[2, 0] = ODD[odd]
    with pytest.raises(ValueError, match="X has values that are NaN or infinite"):
        scope["predict"](rows)


def gappy():
    rng = np.random.default_rng(1)
    table = TABLE.assign(color=rng.choice(["red", "blue"], len(TABLE)))
    return table.mask(rng.random(table.shape) < 0.1)


def test_gaps_of_an_encoder_are_null_and_nan():
    table = gappy()
    model = make_pipeline(TableEncoder(), search("arcsinh")).fit(table, TWO)
    query = to_sql(model, "tab")
    expected = model.decision_function(table)
    for is_null in (False, table["a"].isna()):  # NaN of a frame, and NULL
        np.testing.assert_allclose(in_duckdb(query, table, is_null)["score"], expected, atol=1e-8)
    scope = {}
    exec(to_numpy_source(model), scope)
    np.testing.assert_allclose(scope["predict"](table.to_numpy(object))["scores"][:, 0], expected, atol=1e-8)

    infinite = table.assign(a=table["a"].mask(table.index < 2, -np.inf))
    found = in_duckdb(query, infinite, False)
    assert found.head(2).isna().all(axis=None)
    np.testing.assert_allclose(found["score"][2:], expected[2:], atol=1e-8)
    with pytest.raises(ValueError, match="X has values that are infinite"):
        scope["predict"](infinite.to_numpy(object))
    with pytest.raises(ValueError, match="contains infinity"):
        model.predict(infinite)


@pytest.mark.parametrize("kind", ["plain", "search", "ranks", "detector"])
def test_graphs_and_modules_give_nan_for_nan(kind, model_of):
    rows = TABLE.to_numpy()[:6].copy()
    rows[2, 0] = np.nan
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    graph = to_onnx(model_of(kind), np.float64)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {session.get_inputs()[0].name: rows})
    assert np.flatnonzero(np.isnan(scores).any(axis=1)).tolist() == [2]
    torch = pytest.importorskip("torch")
    scores = to_torch(model_of(kind))(torch.tensor(rows))["scores"]
    assert np.flatnonzero(np.isnan(scores.detach().numpy()).any(axis=1)).tolist() == [2]
