"""Moments that the executors of Spark sum."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from makers import assert_same_generators, some_weights, surface
from sklearn.preprocessing import MinMaxScaler

from vanishing import OAVI, Moments, open_rows
from vanishing.engine.spark_sums import SparkColumns, _SumPartition, add_partitions

pa = pytest.importorskip("pyarrow")
NAMES = ["p [Pa]", "a.b", "c`d"]


def exact_gram(X, degree):
    """The moments of the scaled rows, by direct evaluation."""
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    terms = np.column_stack([np.prod(scaled[:, list(t)], axis=1) for t in Moments(X.shape[1], degree).terms])
    return terms.T @ terms / len(X)


# --- without Spark ----------------------------------------------------------------------------------------------------


def partition_of(X):
    """The partition of a made-up DataFrame: a function that maps batches is applied to those of X."""
    batches = [pa.RecordBatch.from_arrays(list(part.T), names=["c0", "c1", "c2"]) for part in X]

    def map_in_arrow(task, schema):
        assert schema == "sums binary"
        rows = [tuple(row.values()) for batch in task(iter(batches)) for row in batch.to_pylist()]
        return SimpleNamespace(collect=lambda: rows)

    return SimpleNamespace(mapInArrow=map_in_arrow)


@pytest.mark.parametrize("sizes", [[70], [30, 40], [0, 70, 0]])
def test_a_partition_gives_the_sums_over_its_batches(sizes):
    X = surface(70)
    scaler = MinMaxScaler(feature_range=(-1.0, 1.0)).fit(2.0 * X)
    found, expected = (Moments(3, 2, scaler=scaler) for _ in range(2))
    expected.update(X)
    parts = np.split(X, np.cumsum(sizes)[:-1])
    add_partitions(found, SparkColumns(partition_of(parts), ["a", "b", "c"], 70, X.min(axis=0), X.max(axis=0)))
    np.testing.assert_allclose(found.gram, expected.gram, atol=1e-13)
    assert (found.n_samples, found.total_weight) == (70, 70.0)
    np.testing.assert_allclose([found._low, found._high], [expected._low, expected._high], atol=1e-15)


def test_an_empty_partition_gives_nothing():
    assert list(_SumPartition(Moments, 2, MinMaxScaler().fit(np.eye(3)))(iter([]))) == []


def test_other_frames_than_those_of_spark_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.sql", ModuleType("pyspark.sql"))
    sys.modules["pyspark.sql"].functions = None
    with pytest.raises(ValueError, match=r"df must be a DataFrame of Spark, got pandas\..*DataFrame"):
        Moments.from_spark(pd.DataFrame({"a": [1.0, 2.0]}))


def test_executors_without_vanishing_are_named():
    def refuse(task, schema):
        raise RuntimeError("PythonException: ... ModuleNotFoundError: No module named 'vanishing'")

    columns = SparkColumns(SimpleNamespace(mapInArrow=refuse), ["a"], 1, np.zeros(1), np.ones(1))
    with pytest.raises(ImportError, match="The executors of Spark cannot import vanishing: install it"):
        add_partitions(Moments(1, 1, scaler=MinMaxScaler().fit([[0.0], [1.0]])), columns)


# --- with Spark -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark():
    """A session with two cores, in which a task may fail three times."""
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark: pip install 'vanishing[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and this machine has none")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    logging.getLogger("py4j").setLevel(logging.ERROR)
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "3000",
    }
    builder = sql.SparkSession.builder.master("local[2,4]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def read(spark, tmp_path):
    """Makes a DataFrame of a table, by way of a file."""

    def make(columns, n_partitions=4):
        path = tmp_path / f"rows{len(list(tmp_path.iterdir()))}.parquet"
        pd.DataFrame(columns).to_parquet(path, index=False)
        return spark.read.parquet(str(path)).repartition(n_partitions)

    return make


def named(X):
    return dict(zip(NAMES, X.T, strict=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of pyspark
class TestSpark:
    def test_moments_of_two_million_rows_are_those_of_the_rows(self, read):
        X = surface(2_000_000) * [1e-3, 5.0, 1.0] + [
            1e9,
            -1e3,
            0.0,
        ]  # a variance of 1e-24 of the mean square would cancel
        moments = Moments.from_spark(read(named(X)), degree=2)
        np.testing.assert_allclose(moments.gram, exact_gram(X, 2), rtol=1e-12)
        assert (moments.n_samples, moments.total_weight, moments.feature_names) == (2_000_000, 2e6, tuple(NAMES))
        np.testing.assert_array_equal(moments.scaler.data_min_, X.min(axis=0))

    def test_models_are_those_of_the_rows(self, read):
        X = surface(300)
        moments = Moments.from_spark(read(named(X)), degree=3)
        expected = OAVI(1e-3, max_degree=3).fit(MinMaxScaler().fit_transform(X))
        assert_same_generators(OAVI(1e-3, max_degree=3).fit(moments).generators_, expected.generators_)

    def test_weights_columns_and_scaling_are_those_that_were_asked_for(self, read):
        X, weights = surface(300), some_weights(300)
        weights[:5] = 0.0
        scaler = MinMaxScaler().fit(2.0 * X[:, :2])
        frame = read({**named(X), "w": weights, "day": "Monday"})
        moments = Moments.from_spark(frame, NAMES[:2], 2, weight="w", scaler=scaler)
        expected = Moments(2, 2, scaler=scaler).update(X[:, :2], weights)
        np.testing.assert_allclose(moments.gram, expected.gram, rtol=1e-12)
        assert moments.n_samples == expected.n_samples
        assert moments.merge(expected).total_weight == pytest.approx(2 * weights.sum(), rel=1e-12)

    def test_other_numbers_and_empty_partitions_are_summed(self, read):
        X = np.column_stack([np.arange(5.0), np.arange(5.0) ** 2, np.arange(5) % 2])
        columns = dict(zip("abc", X.T, strict=True))
        frame = read(columns, 9).selectExpr("cast(a as decimal(5, 2)) a", "cast(b as int) b", "c > 0 as c")
        np.testing.assert_allclose(Moments.from_spark(frame, degree=2).gram, exact_gram(X, 2), rtol=1e-12)

    def test_a_killed_task_changes_nothing(self, read, tmp_path):
        frame = read(dict(zip("abc", surface(20_000).T, strict=True)))
        marks = tmp_path / "marks"
        marks.mkdir()

        def killed(batches):
            """The same batches; the process dies when the second partition is read by the second job."""
            from pyspark import TaskContext

            if TaskContext.get().partitionId() == 1:
                n = len(list(marks.iterdir()))
                (marks / str(n)).touch()
                if n == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
            yield from batches

        expected = Moments.from_spark(frame.mapInArrow(lambda batches: batches, frame.schema), degree=3)
        found = Moments.from_spark(frame.mapInArrow(killed, frame.schema), degree=3)
        assert len(list(marks.iterdir())) == 3  # the first job, the attempt that died, and the one that did not
        np.testing.assert_array_equal(found.gram, expected.gram)
        assert found.n_samples == 20_000

    def test_what_cannot_be_summed_is_named(self, read):
        X = surface(20)
        table = pd.DataFrame(X, columns=list("abc")).assign(day="Monday", w=-1.0)
        table.loc[3, "b"] = np.nan
        table.loc[4, "c"] = np.inf
        frame = read(table)
        refused = {
            r"Values are missing \(1 in 'b'\): leave such rows out with df.dropna\(subset=\['a', 'b'\]\)": ["a", "b"],
            "Column 'c' has infinite values": ["a", "c"],
            "Column 'day' holds values of type string, no numbers": ["a", "day"],
            "The DataFrame has no column 'z': it has 'a', 'b', 'c', 'day', 'w'": ["a", "z"],
        }
        for message, columns in refused.items():
            with pytest.raises(ValueError, match=message):
                Moments.from_spark(frame, columns)
        with pytest.raises(ValueError, match="A weight is negative in column 'w'"):
            Moments.from_spark(frame, ["a"], weight="w")
        with pytest.raises(ValueError, match="The DataFrame has no rows"):
            Moments.from_spark(frame.where("a > 1e9"), ["a"])
        with pytest.raises(ValueError, match="Two columns of the DataFrame have the same name"):
            Moments.from_spark(frame.select("a", "a"), ["a"])
        complete = frame.dropna(subset=["a", "b"])
        assert Moments.from_spark(complete, ["a", "b"], 1).n_samples == 19

    def test_rows_that_change_between_the_jobs_are_refused(self, read, tmp_path):
        def changing(batches):
            """The batches, as long as there is no file that says that they were read."""
            for batch in batches:
                if not (tmp_path / "read").exists():
                    yield batch
            (tmp_path / "read").touch()

        frame = read(dict(zip("abc", surface(2000).T, strict=True)), 1)
        with pytest.raises(
            ValueError, match=r"2,000 rows in the first job and 0 in the second: keep it with df\.persist"
        ):
            Moments.from_spark(frame.mapInArrow(changing, frame.schema), degree=1)

    def test_files_that_executors_have_written_are_opened(self, read, tmp_path):
        X = surface(1000)
        columns = dict(zip("abc", X.T, strict=True))
        read(columns).write.parquet(str(tmp_path / "written"))
        rows = open_rows(tmp_path / "written")
        assert rows.feature_names == ("a", "b", "c")
        np.testing.assert_allclose(Moments(3, 2).update(rows).gram, Moments(3, 2).update(X).gram, rtol=1e-12)

    def test_the_driver_reads_a_frame_as_a_stream(self, read):
        X = surface(1000)
        frame = read(dict(zip("abc", X.T, strict=True)))
        if not hasattr(frame, "__arrow_c_stream__"):
            pytest.skip("this version of pyspark gives no Arrow streams")
        np.testing.assert_allclose(Moments(3, 2).update(frame).gram, Moments(3, 2).update(X).gram, rtol=1e-12)
