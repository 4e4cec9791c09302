"""Tables of other libraries: DuckDB relations, lazy frames, datasets and other Arrow streams."""

from __future__ import annotations

import numpy as np
import pytest
from makers import NAMES, THREE, arrow_dataset, assert_same_generators, duckdb_relation, lazy_frame, surface, table_of

from vanishing import ABM, AVI, L1SVC, OAVI, VCA, Moments, VanishingIdealClassifier, open_rows
from vanishing.constants import LONGEST_BLOCK
from vanishing.rows.disk import DiskRows
from vanishing.rows.streams import StreamReader

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

LONG = surface(2000, seed=3)


class Foreign:
    """A table of a library that nobody knows, which counts how often it is read."""

    def __init__(self, table):
        self.table = table
        self.n_reads = 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.n_reads += 1
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("make", [lazy_frame, duckdb_relation, arrow_dataset, lambda X, _: Foreign(table_of(X))])
def test_tables_of_several_batches_give_the_model_of_the_array(make, passes, tmp_path):
    X = surface(2 * LONGEST_BLOCK + 1)
    expected = OAVI(1e-3, max_degree=4).fit(X)
    found = OAVI(1e-3, max_degree=4).fit(make(X, tmp_path))
    assert_same_generators(found.generators_, expected.generators_)
    assert list(found.feature_names_in_) == NAMES
    assert 1 <= len(passes) <= expected.degree_ - 1
    assert len(list(open_rows(make(X, tmp_path)).reader.pieces(0))) >= 2


def test_every_pass_opens_an_unknown_stream_once(passes):
    table = Foreign(table_of(LONG))
    OAVI(2e-4, max_degree=4).fit(table)
    assert table.n_reads == len(passes) > 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_few_batches_are_in_memory_at_a_time(n_jobs):
    waiting, most = set(), []

    class Watched(StreamReader):
        def pieces(self, *arguments, **options):
            for piece in super().pieces(*arguments, **options):
                waiting.add(piece.start)
                most.append(len(waiting))
                yield piece

        def block(self, piece, **options):
            waiting.discard(piece.start)
            return super().block(piece, **options)

    table = pa.table({"a": np.zeros(6 * LONGEST_BLOCK + 1)})
    assert len(DiskRows(Watched(Foreign(table), None, None, None), n_jobs).to_numpy()) == len(table)
    assert len(most) == 7
    assert max(most) <= 2 + n_jobs


def test_only_the_chosen_columns_are_computed():
    relation = duckdb.sql("select random() as a, random() as b, error('not asked for')::double as c from range(50)")
    assert open_rows(relation, columns=["b", "a"]).to_numpy().shape == (50, 2)
    with pytest.raises(duckdb.Error, match="not asked for"):
        open_rows(relation, columns=["a", "c"]).to_numpy()


def test_columns_of_every_numeric_type_and_missing_values_are_read():
    relation = duckdb.sql("""
        select * from (values (1::tinyint, 2.5::decimal(9, 2), true, 4::float), (null, null, null, null)) t(a, b, c, d)
    """)
    rows = open_rows(relation)
    np.testing.assert_array_equal(rows.to_numpy(), [[1.0, 2.5, 1.0, 4.0], [np.nan] * 4])
    assert rows.single_precision
    with pytest.raises(ValueError, match=r"NaN in column 0 \('a'\).*in row 1 of the DuckDB relation"):
        OAVI().fit(relation)


def test_labels_may_be_text(tmp_path):
    X, y = THREE
    words = np.array(["low", "mid", "high"])[y]
    expected = VanishingIdealClassifier(OAVI(max_degree=2)).fit(X, words)
    for table in (pl.DataFrame(X, schema=NAMES).with_columns(y=words).lazy(), Foreign(table_of(X, y=pa.array(words)))):
        rows = open_rows(table, label="y")
        found = VanishingIdealClassifier(OAVI(max_degree=2)).fit(rows)
        assert list(found.classes_) == ["high", "low", "mid"]
        np.testing.assert_allclose(
            found.decision_function(table_of(X)), expected.decision_function(X), rtol=1e-5, atol=1e-5
        )
        assert found.score(rows) == pytest.approx(expected.score(X, words), abs=1e-3)


def test_a_table_that_changes_between_passes_is_refused():
    connection = duckdb.connect()
    connection.register("source", table_of(LONG))
    connection.sql("create table grows as select * from source")
    rows = open_rows(connection.table("grows"))
    assert len(rows.to_numpy()) == 2000
    connection.sql("insert into grows select * from source limit 5")
    with pytest.raises(
        ValueError, match=r"gave 2000 rows in the first pass and 2005 in this one: copy it to a Parquet"
    ):
        rows.to_numpy()


# --- readers that can be read only once -------------------------------------------------------------------------------


def reader(X=LONG, **more):
    return table_of(X, **more).to_reader(max_chunksize=300)


@pytest.mark.parametrize(
    "model", [OAVI(1e-3, max_degree=3), ABM(1e-3, max_degree=3), AVI(1e-3, max_degree=3)], ids=repr
)
def test_a_reader_is_collected_into_moments(model, passes):
    expected = model.fit(LONG).generators_
    passes.clear()
    model.fit(reader())
    assert_same_generators(model.generators_, expected)
    assert len(passes) == 1
    np.testing.assert_allclose(
        model.transform(reader()).to_numpy(), model.transform(table_of(LONG)), rtol=1e-12, atol=1e-12
    )


def test_moments_of_a_reader_with_weights_are_those_of_its_rows():
    weights = np.arange(2000) % 3 + 0.5
    once = open_rows(reader(w=weights), weight="w")
    np.testing.assert_allclose(Moments(3, 2).update(once).gram, Moments(3, 2).update(LONG, weights).gram, rtol=1e-12)


def test_a_reader_is_refused_where_one_pass_is_not_enough():
    with pytest.raises(ValueError, match=r"can be read only once, but this fit makes several passes: give the table"):
        VCA().fit(reader())
    with pytest.raises(ValueError, match=r"can be read only once, but this fit makes several passes"):
        L1SVC().fit(open_rows(reader(y=np.arange(2000) % 2), label="y"))
    once = open_rows(reader())
    once.to_numpy()
    with pytest.raises(ValueError, match=r"its rows are gone: give the table or the dataset.*X\.read_all\(\)"):
        once.to_numpy()


def test_missing_values_of_a_reader_are_named_in_its_only_pass():
    X = LONG.copy()
    X[700, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 1 \('b'\).*in row 700 of the RecordBatchReader"):
        OAVI().fit(reader(X))
