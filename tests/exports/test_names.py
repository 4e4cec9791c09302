"""Columns that are called like the names inside of an export: what is computed stays the same."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from vanishing import (
    OAVI,
    TableEncoder,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
)
from vanishing.detection import Rules
from vanishing.exports import to_numpy_source, to_onnx, to_sql

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 2))
Y = (X[:, 0] ** 2 + X[:, 1] > 0.8).astype(int)
REGIMES = RNG.choice([0.0, 9.0], 300) + RNG.normal(size=300)
LAW = np.column_stack([REGIMES, REGIMES**2 + 0.01 * RNG.normal(size=300)])


def encoded(names):
    from sklearn.pipeline import make_pipeline

    table = texts(names)
    return make_pipeline(TableEncoder(), VanishingIdealClassifier(OAVI(0.01, max_degree=2))).fit(table, Y)


def texts(names):
    return pd.DataFrame({names[0]: np.where(X[:, 0] > 0.5, "high", "low"), names[1]: X[:, 1]})


def numbers(names):
    return pd.DataFrame(X, columns=names)


def average(names):
    return VanishingIdealClassifierCV(OAVI(max_degree=2), psis=[0.01, 0.005], Cs=[0.1, 1.0], cv=2, refit="average").fit(
        numbers(names), Y
    )


MODELS = {
    "polynomials": (lambda names: OAVI(0.005).fit(numbers(names)).generators_, numbers),
    "classifier": (lambda names: VanishingIdealClassifier().fit(numbers(names), Y), numbers),
    "average": (average, numbers),
    "encoder": (encoded, texts),
    "detector": (
        lambda names: VanishingIdealDetector(degree=2).fit(pd.DataFrame(LAW, columns=names)),
        lambda names: pd.DataFrame(LAW, columns=names),
    ),
}


@pytest.fixture(scope="module", name="model_of")
def fitted_models():
    known = {}

    def model_of(kind, names):
        key = (kind, tuple(names))
        if key not in known:
            known[key] = MODELS[kind][0](list(names))
        return known[key]

    return model_of


def in_duckdb(query, table):
    connection = pytest.importorskip("duckdb").connect()
    connection.register("tab", table)
    return connection.execute(query).df()


def in_sqlite(query, table):
    connection = sqlite3.connect(":memory:")
    for name, function in (("GREATEST", max), ("LEAST", min)):
        connection.create_function(name, -1, function, deterministic=True)
    for name, function in (("LN", np.log), ("EXP", np.exp), ("ASINH", np.arcsinh)):
        connection.create_function(name, 1, lambda x, function=function: float(function(x)), deterministic=True)
    table.to_sql("tab", connection, index=False)
    return pd.read_sql_query(query, connection)


DATABASES = {"duckdb": in_duckdb, "sqlite": in_sqlite}


def inner_names(query):
    """Every name that a query gives to something."""
    return sorted(set(re.findall(r'\bAS "?(\w+)"?', query)))


def assert_same(found, expected):
    assert list(found.columns) == list(expected.columns)
    np.testing.assert_allclose(found.to_numpy(float), expected.to_numpy(float), rtol=1e-9, atol=1e-9)


CASES = [(kind, "duckdb") for kind in MODELS]
CASES += [(kind, "sqlite") for kind in ("polynomials", "classifier", "encoder")]  # the others are too deep for SQLite


@pytest.mark.parametrize("change", [str.lower, str.upper])
@pytest.mark.parametrize(("kind", "database"), CASES)
def test_sql_takes_no_notice_of_unused_columns(kind, database, change, model_of):
    query = to_sql(model_of(kind, ("a", "b")), "tab")
    table = MODELS[kind][1](["a", "b"])
    expected = DATABASES[database](query, table)
    names = [change(name) for name in inner_names(query)]
    assert len(names) > 3
    more = pd.DataFrame(np.full((len(table), len(names)), -5.0), columns=names)
    assert_same(DATABASES[database](query, pd.concat([table, more], axis=1)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("change", [str.lower, str.upper])
@pytest.mark.parametrize("kind", ["polynomials", "classifier", "encoder"])
def test_sql_of_models_of_columns_with_inner_names(kind, change, model_of):
    query = to_sql(model_of(kind, ("a", "b")), "tab")
    expected = in_duckdb(query, MODELS[kind][1](["a", "b"]))
    stems = {re.sub(r"_\d+$", "", name): name for name in inner_names(query)}  # one name of each sort
    for name in stems.values():
        # The second column has a name that the query gives to the first one.
        names = [change(name), "input_0" if name.lower() != "input_0" else "label"]
        assert_same(in_duckdb(to_sql(model_of(kind, tuple(names)), "tab"), MODELS[kind][1](names)), expected)


def test_names_that_differ_in_case_alone_are_refused_for_databases():
    table = pd.DataFrame(X, columns=["a", "A"])
    with pytest.raises(ValueError, match="Databases take the columns 'a' and 'A' for one: rename one of them"):
        to_sql(VanishingIdealClassifier().fit(table, Y), "tab")
    rules = Rules.learn(table.assign(product=table["a"] * table["A"]))
    for export in (rules.to_sql_check, rules.to_great_expectations):
        with pytest.raises(ValueError, match="Databases take the columns"):
            export()


def test_an_empty_name_is_refused_for_databases():
    with pytest.raises(ValueError, match="A column has an empty name, which databases refuse"):
        to_sql(OAVI(0.005).fit(numbers(["a", ""])), "tab")


def test_rules_are_checked_in_double_precision_in_columns_of_every_kind():
    rng = np.random.default_rng(0)
    price, rate = rng.integers(1, 10**6, 300) / 100, rng.integers(1, 99, 300) / 100
    count = rng.integers(1, 10**4, 300)
    table = pd.DataFrame({"price": price, "count": count, "total": price * count, "rate": rate})
    table["tax"] = table["total"] * rate
    rules = Rules.learn(table)
    assert len(rules) == 2
    connection = pytest.importorskip("duckdb").connect()
    connection.register("given_rows", table)
    kinds = dict.fromkeys(table, "decimal(18, 6)") | {"count": "bigint"}
    columns = ", ".join(f'"{name}"::{kind} as "{name}"' for name, kind in kinds.items())
    connection.execute(f"create table tab as select {columns} from given_rows")
    for expectation in json.loads(rules.to_great_expectations())["expectations"]:
        query = expectation["kwargs"]["unexpected_rows_query"].format(batch="tab")
        assert connection.execute(query).fetchall() == []


@pytest.mark.parametrize("kind", ["integer", "decimal(12, 2)", "float"])
def test_sql_computes_in_double_precision_from_columns_of_every_kind(kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(1, 99, (300, 3)).astype(float), columns=["a", "b", "c"])
    model = VanishingIdealClassifier(OAVI(0.01, max_degree=3)).fit(table, table["a"] * table["b"] > 25 * table["c"])
    connection = pytest.importorskip("duckdb").connect()
    connection.register("given_rows", table)
    connection.execute(f"create table tab as select {', '.join(f'{c}::{kind} as {c}' for c in table)} from given_rows")
    found = connection.execute(to_sql(model, "tab")).df()
    np.testing.assert_allclose(found["score"], model.decision_function(table), rtol=1e-9, atol=1e-9)


def test_sql_reads_the_columns_that_are_used():
    model = OAVI(1e-8, max_degree=2).fit(pd.DataFrame({"a": X[:, 0], "b": X[:, 0] ** 2, "c": X[:, 1]}))
    chosen = [g for g in model.generators_ if "c" not in str(g)]
    query = to_sql(model.generators_[[list(model.generators_).index(g) for g in chosen]], "tab")
    found = in_duckdb(query, pd.DataFrame({"a": X[:, 0], "b": X[:, 0] ** 2}))
    assert np.abs(found.to_numpy()).max() < 1e-6


def test_a_column_that_the_table_lacks_is_an_error_in_sqlite():
    query = to_sql(OAVI(0.005).fit(numbers(["a", "b"])), "tab")
    with pytest.raises(Exception, match="no such column"):
        in_sqlite(query, pd.DataFrame({"a": X[:, 0], "c": X[:, 1]}))


@pytest.mark.parametrize("kind", MODELS)
def test_numpy_source_with_names_of_its_own_variables(kind, model_of):
    plain = to_numpy_source(model_of(kind, ("a", "b")))
    names = ["X", "np"]
    odd = to_numpy_source(model_of(kind, tuple(names)))
    results = []
    for source in (plain, odd):
        scope = {}
        exec(source, scope)
        results.append(scope["predict"](MODELS[kind][1](["a", "b"]).to_numpy()))
    for key, values in results[0].items():
        np.testing.assert_array_equal(values, results[1][key])


@pytest.mark.parametrize("name", ["np", "gap", "two words", "class", "", "f(X):\n    pass\ndef g"])
def test_numpy_source_refuses_names_that_are_not_free(name):
    with pytest.raises(ValueError, match="name must be a free name of a Python function"):
        to_numpy_source(OAVI(0.005).fit(X), name)


def test_onnx_inputs_with_inner_names():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    scores = []
    for names in (["a", "b"], ["v1", "v2"]):
        graph = to_onnx(encoded(names), np.float64)
        session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        table = texts(names)
        feed = {names[0]: table[names[0]].to_numpy(object)[:, None], names[1]: table[[names[1]]].to_numpy()}
        scores.append(session.run(["scores"], feed)[0])
    np.testing.assert_array_equal(*scores)
    with pytest.raises(ValueError, match="column 'label' has the name of an output of the graph: rename it"):
        to_onnx(encoded(["label", "b"]))


def test_great_expectations_reads_braces_in_names():
    table = pd.DataFrame({"a{b}": X[:, 0], "{batch}": 2.0 * X[:, 0]})
    rules = Rules.learn(table)
    assert len(rules)
    for expectation in json.loads(rules.to_great_expectations())["expectations"]:
        query = expectation["kwargs"]["unexpected_rows_query"].format(batch="tab")
        assert len(in_duckdb(query, table)) == 0
        assert len(in_duckdb(query, table.assign(**{"a{b}": 7.0}))) == len(table)


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "a\rb", 'a"""b', "a\\", "\u2028", "\ud800"])
def test_numpy_source_of_any_name_is_python(name):
    model = OAVI(0.005).fit(X).generators_
    model = replace(model, feature_names=(name, "b"))
    scope = {}
    exec(to_numpy_source(model), scope)
    np.testing.assert_allclose(scope["predict"](X)["values"], model.evaluate(X), atol=1e-12)
