"""Moments that a database computes."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from makers import assert_same_generators, some_weights, surface
from sklearn.preprocessing import MinMaxScaler

from vanishing import OAVI, Moments

duckdb = pytest.importorskip("duckdb")

NAMES = ['the "b" column', "select", "c"]
QUERY = 'select * from "my rows"'


@pytest.fixture
def sqlite():
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


@pytest.fixture(params=["duckdb", "sqlite"])
def empty(request):
    """A connection to an empty database."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite")
    else:
        with duckdb.connect() as connection:
            yield connection


def database(connection, X, names=NAMES):
    """The connection, to a database with the rows."""
    columns = ", ".join('"' + name.replace('"', '""') + '" double' for name in names)
    connection.execute(f'create table "my rows" ({columns})')
    marks = ", ".join("?" * len(names))
    connection.executemany(f'insert into "my rows" values ({marks})', X.tolist())
    return connection


def exact_gram(X, degree):
    """The moments of the scaled rows, by direct evaluation."""
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    terms = np.column_stack([np.prod(scaled[:, list(t)], axis=1) for t in Moments(X.shape[1], degree).terms])
    return terms.T @ terms / len(X)


def test_moments_of_a_query_are_those_of_its_rows(empty):
    X = surface(400) * [1e-3, 5.0, 1.0] + [1e9, -1e3, 0.0]  # a variance of 1e-24 of the mean square would cancel
    moments = Moments.from_sql(database(empty, X), QUERY, NAMES, degree=3)
    np.testing.assert_allclose(moments.gram, exact_gram(X, 3), rtol=1e-12)
    assert (moments.n_samples, moments.total_weight, moments.feature_names) == (400, 400.0, tuple(NAMES))
    np.testing.assert_array_equal(moments.scaler.data_min_, X.min(axis=0))


def test_models_of_a_query_are_those_of_its_rows(empty):
    X = surface(300)
    moments = Moments.from_sql(database(empty, X), QUERY + ";", degree=3)
    expected = OAVI(1e-3, max_degree=3).fit(MinMaxScaler().fit_transform(X))
    assert_same_generators(OAVI(1e-3, max_degree=3).fit(moments).generators_, expected.generators_)


def test_weights_columns_and_scaling_are_those_that_were_asked_for(empty):
    X, weights = surface(300), some_weights(300)
    scaler = MinMaxScaler().fit(2.0 * X[:, :2])
    connection = database(empty, np.column_stack([X, weights]), [*NAMES, "w"])
    moments = Moments.from_sql(connection, QUERY, NAMES[:2], 2, weight="w", scaler=scaler)
    expected = Moments(2, 2, scaler=scaler).update(X[:, :2], weights)
    np.testing.assert_allclose(moments.gram, expected.gram, rtol=1e-12)
    assert moments.total_weight == pytest.approx(weights.sum(), rel=1e-12)
    assert moments.merge(expected).total_weight == pytest.approx(2 * weights.sum(), rel=1e-12)
    assert Moments.from_sql(connection, QUERY, degree=1, weight="w").feature_names == tuple(NAMES)


def test_what_cannot_be_summed_is_named(empty):
    X = surface(20)
    connection = database(empty, X)
    with pytest.raises(ValueError, match="no rows"):
        Moments.from_sql(connection, QUERY + " where c > 10")
    with pytest.raises(ValueError, match="A weight is negative in column 'w'"):
        Moments.from_sql(connection, 'select c, -1.0 as w from "my rows"', weight="w")
    with pytest.raises(ValueError, match=r"8,008 products of terms.*lower degree"):
        Moments.from_sql(connection, QUERY, [f"x{j}" for j in range(10)], degree=3)
    with pytest.raises(
        ValueError, match=r'2 rows have missing values \(2 in .c.\): add WHERE "c" IS NOT NULL to the query'
    ):
        Moments.from_sql(connection, 'select c from "my rows" union all select null union all select null')
    constant = Moments.from_sql(connection, 'select c, 3 as k from "my rows"', degree=1)
    np.testing.assert_array_equal(constant.gram[2], 0.0)


def test_columns_with_gaps_are_named(empty):
    values = "(1.0, 2.0, 0.5), (null, 4.0, 0.0), (null, 3.0, 1.0), (5.0, 6.0, null), (7.0, 8.0, 2.0)"
    empty.execute("create table gaps (a double precision, b double precision, w double precision)")
    empty.execute(f"insert into gaps values {values}")
    where = r"2 rows have missing values \(1 in 'a', 1 in 'w'\): add WHERE \"a\" IS NOT NULL AND \"w\" IS NOT NULL"
    with pytest.raises(ValueError, match=where):
        Moments.from_sql(empty, "select * from gaps", degree=1, weight="w")  # the row of weight 0 does not count
    with pytest.raises(ValueError, match=r"2 rows have missing values \(2 in 'a'\)"):
        Moments.from_sql(empty, "select * from gaps", ["a", "b"], degree=1)
    with pytest.raises(ValueError, match="Column 'b' has a value that is NaN or infinite: leave such rows out"):
        Moments.from_sql(empty, "select 1.0 as a, 9e999 as b union all select 2.0, 1.0", degree=1)


def test_text_in_a_column_of_numbers_is_refused(sqlite):
    with pytest.raises(ValueError, match="Column 'x' has text, 'two' for one"):
        Moments.from_sql(sqlite, "select 1 as x union all select 'two'")


@pytest.mark.parametrize("columns", [None, ["c"]])
def test_the_connection_is_free_afterwards(empty, columns):
    connection = database(empty, surface(20))
    Moments.from_sql(connection, QUERY, columns, degree=1)
    if hasattr(connection, "sql"):  # DuckDB 2 refuses while a result has not been fetched
        assert connection.sql("select 1 as one").fetchall() == [(1,)]
    assert connection.execute('select count(*) from "my rows"').fetchall() == [(20,)]


@pytest.mark.parametrize("end", [" -- note", "; -- note", " /* note */ ;;", ";\n-- one\n-- two\n"])
def test_a_query_may_end_in_comments(empty, end):
    connection = database(empty, surface(20))
    expected = Moments.from_sql(connection, QUERY, degree=1)
    np.testing.assert_array_equal(Moments.from_sql(connection, QUERY + end, degree=1).gram, expected.gram)
    quoted = f"select c from \"my rows\" where '{end}' <> ';'"
    assert Moments.from_sql(connection, quoted, degree=1).n_samples == 20


@pytest.mark.parametrize("text", ["$$ -- ' $$", r"e'\' -- '"])
def test_a_query_may_have_texts_that_its_database_alone_can_read(text):
    with duckdb.connect() as connection:
        found = Moments.from_sql(connection, f"select 1.0 as a, length({text}) as n from range(7)", degree=1)
        assert found.n_samples == 7


def test_columns_may_have_the_names_of_the_statement(empty):
    X = surface(50)
    plain = Moments.from_sql(database(empty, X), QUERY, degree=2)
    empty.execute('create table odd as select "c" as x1, "select" as x0, "the ""b"" column" as min0 from "my rows"')
    odd = Moments.from_sql(empty, "select * from odd", ["min0", "x0", "x1"], degree=2)
    np.testing.assert_array_equal(odd.gram, plain.gram)


@pytest.mark.parametrize("names", [{"columns": ["c", "d"]}, {"weight": "d"}])
def test_unknown_columns_are_named_with_those_that_there_are(empty, names):
    connection = database(empty, surface(20))
    with pytest.raises(ValueError, match=r"The query has no column 'd': it has .*, 'select', 'c'"):
        Moments.from_sql(connection, QUERY, degree=1, **names)
    assert Moments.from_sql(connection, QUERY, ["C"], degree=1).n_samples == 20  # as databases compare names


@pytest.mark.parametrize("value", ["date '2024-05-01'", "timestamp '2024-05-01 10:00:00'", "'text'", "[1, 2]"])
@pytest.mark.parametrize("role", ["column", "weight"])
def test_columns_without_numbers_are_named(value, role):
    with duckdb.connect() as connection:
        query = f"select 1.0 as a, {value} as day"
        with pytest.raises(
            ValueError, match=r"Column 'day' has dates, texts or other values .*convert it in the query"
        ):
            Moments.from_sql(connection, query, degree=1, weight="day" if role == "weight" else None)
        assert connection.sql("select 1").fetchall() == [(1,)]


def test_a_column_of_weights_in_other_case_is_not_summed(empty):
    database(empty, np.array([[0.0, 1.0], [1.0, 1.0]]), ["x", "w"])
    assert Moments.from_sql(empty, 'select * from "my rows"', degree=1, weight="W").feature_names == ("x",)


@pytest.mark.parametrize("connection", [None, "file.db"])
def test_what_is_no_connection_is_refused(connection):
    with pytest.raises(ValueError, match="connection must be an open connection to a database"):
        Moments.from_sql(connection, "select 1")


@pytest.mark.parametrize(
    ("query", "said"), [("selec 1", "The database refuses the query"), ("-- note", "no statement")]
)
def test_texts_that_are_not_queries_get_one_sentence(empty, query, said):
    with pytest.raises(ValueError, match=said) as error:
        Moments.from_sql(empty, query)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="query must be a text"):
        Moments.from_sql(empty, 1)
