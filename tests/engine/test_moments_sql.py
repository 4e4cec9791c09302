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
    with pytest.raises(ValueError, match=r'2 rows have missing values.*add WHERE "c" IS NOT NULL to the query'):
        Moments.from_sql(connection, 'select c from "my rows" union all select null union all select null')
    constant = Moments.from_sql(connection, 'select c, 3 as k from "my rows"', degree=1)
    np.testing.assert_array_equal(constant.gram[2], 0.0)


def test_text_in_a_column_of_numbers_is_refused(sqlite):
    with pytest.raises(ValueError, match="Column 'x' has text, 'two' for one"):
        Moments.from_sql(sqlite, "select 1 as x union all select 'two'")
