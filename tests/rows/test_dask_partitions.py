"""Columns and labels of one Dask collection are the same rows, however the collection was made."""

from __future__ import annotations

import numpy as np
import pytest

from vanishing import OAVI, VanishingIdealClassifier, VanishingIdealClassifierCV

dask = pytest.importorskip("dask", reason="needs dask: pip install 'vanishing[dask]'")
pd = pytest.importorskip("pandas", reason="dask.dataframe needs pandas")
dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'vanishing[dask]'")
pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
pytestmark = pytest.mark.slow

COLUMNS = ["a", "b", "c"]
N_PARTITIONS = 12
OTHERS = 6  # columns that are not read: with these, Dask's optimiser joins partitions of Parquet files


def table(n=1200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(n, 3)), columns=COLUMNS)
    frame["state"] = np.where(frame["a"] ** 2 + frame["b"] > 0.8, "up", "down")
    frame["weight"] = rng.uniform(1.0, 2.0, n)
    return frame.assign(**{f"other{k}": rng.normal(size=n) for k in range(OTHERS)})


TABLE = table()
PARTS = [TABLE.iloc[k : k + 100] for k in range(0, len(TABLE), 100)]


def in_partitions():
    return dd.from_pandas(TABLE, npartitions=N_PARTITIONS)


def of_parquet(folder, **options):
    (folder / "parts").mkdir()
    for k, part in enumerate(PARTS):
        part.to_parquet(folder / "parts" / f"part{k:02}.parquet", row_group_size=50)
    return dd.read_parquet(folder / "parts", **options)


def of_csv(folder):
    for k, part in enumerate(PARTS):
        part.to_csv(folder / f"part_{k:02}.csv", index=False)
    return dd.read_csv(folder / "part_*.csv")


def of_csv_in_blocks(folder):
    TABLE.to_csv(folder / "all.csv", index=False)
    return dd.read_csv(folder / "all.csv", blocksize=20_000)


MAKERS = {
    "from_pandas": lambda folder: in_partitions(),
    "read_parquet": of_parquet,
    "read_parquet, Arrow's file system": lambda folder: of_parquet(folder, filesystem="arrow"),
    "read_parquet of several row groups": lambda folder: of_parquet(folder, split_row_groups=True),
    "read_csv": of_csv,
    "read_csv in blocks": of_csv_in_blocks,
    "from_delayed": lambda folder: dd.from_delayed([dask.delayed(part) for part in PARTS]),
    "from_map": lambda folder: dd.from_map(lambda k: PARTS[k], range(len(PARTS))),
    "repartitioned": lambda folder: of_parquet(folder).repartition(npartitions=5),
    "persisted": lambda folder: of_parquet(folder).persist(),
    "optimised": lambda folder: of_parquet(folder).optimize(),
}


def frames(d):
    return d[COLUMNS], d["state"], d["weight"]


def arrays(d):
    return tuple(part.to_dask_array() for part in frames(d.assign(state=d["state"].astype(object))))


def arrays_of_known_lengths(d):
    n = [len(part) for part in dask.compute(*d.to_delayed())]
    return tuple(
        dask.array.from_array(part.to_numpy(), chunks=(tuple(n), -1)[: part.ndim]) for part in frames(d.compute())
    )


def frame_beside_arrays(d):
    return d[COLUMNS], *arrays(d)[1:]


def array_beside_series(d):
    return arrays(d)[0], d["state"], d["weight"]


SHAPES = [frames, arrays, arrays_of_known_lengths, frame_beside_arrays, array_beside_series]


@pytest.fixture(scope="module", name="expected")
def fitted_in_memory():
    return VanishingIdealClassifier(OAVI(0.005)).fit(TABLE[COLUMNS], TABLE["state"], TABLE["weight"])


def assert_same_scores(found, expected):
    rows = TABLE[COLUMNS].to_numpy()
    np.testing.assert_allclose(
        found.decision_function(rows if not hasattr(found, "feature_names_in_") else TABLE[COLUMNS]),
        expected.decision_function(TABLE[COLUMNS]),
        rtol=1e-6,
        atol=1e-6,
    )


@pytest.mark.filterwarnings("ignore:Dask currently has limited support for converting pandas extension dtypes")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("maker", MAKERS)
def test_columns_labels_and_weights_of_one_collection(maker, shape, expected, tmp_path):
    X, y, weights = shape(MAKERS[maker](tmp_path))
    found = VanishingIdealClassifier(OAVI(0.005)).fit(X, y, weights)
    assert_same_scores(found, expected)
    assert len(found.predict(X).compute()) == len(TABLE)


def test_labels_and_weights_in_memory_belong_to_the_rows_of_files(expected, tmp_path):
    X = of_parquet(tmp_path)[COLUMNS]
    assert_same_scores(VanishingIdealClassifier(OAVI(0.005)).fit(X, TABLE["state"], TABLE["weight"]), expected)


@pytest.mark.parametrize("maker", ["read_parquet", "read_parquet, Arrow's file system", "read_csv", "from_delayed"])
def test_columns_and_labels_of_one_collection_on_a_cluster(maker, expected, tmp_path, client):
    X, y, weights = frames(MAKERS[maker](tmp_path))
    assert_same_scores(VanishingIdealClassifier(OAVI(0.005)).fit(X, y, weights), expected)


def test_the_search_takes_columns_and_labels_of_parquet_files(tmp_path):
    d = of_parquet(tmp_path)
    few = d[d["a"] > 0.2]  # other rows in each partition, and joined ones where the optimiser may
    chosen = TABLE[TABLE["a"] > 0.2]
    settings = {"psis": [0.01], "Cs": [1.0], "cv": 2}
    found = VanishingIdealClassifierCV(OAVI(max_degree=2), **settings).fit(few[COLUMNS], few["state"])
    expected = VanishingIdealClassifierCV(OAVI(max_degree=2), **settings).fit(chosen[COLUMNS], chosen["state"])
    assert found.score(few[COLUMNS], few["state"]) == pytest.approx(expected.score(chosen[COLUMNS], chosen["state"]))


def test_files_are_read_with_no_more_columns_than_are_asked_for(tmp_path):
    from vanishing.rows.dask import dask_rows

    d = of_parquet(tmp_path)
    pieces = dask_rows(d[COLUMNS], labels=d["state"])._blocks
    assert len(pieces) == d.npartitions
    functions = [getattr(task, "func", None) for task in dict(pieces[0][0].dask).values()]
    assert {tuple(function.columns) for function in functions if hasattr(function, "columns")} == {(*COLUMNS, "state")}


SHUFFLES = {
    "set_index with ties": lambda d: d.assign(tenth=lambda part: part["a"] * 10 // 1).set_index("tenth"),
    "shuffle": lambda d: d.shuffle("other0"),
    "sort_values": lambda d: d.sort_values("state"),
}


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_columns_and_labels_share_a_shuffle(shuffle, expected, tmp_path):
    """Two computations of a shuffle put rows with the same index in two orders, which nothing tells apart."""
    X, y, weights = frames(SHUFFLES[shuffle](of_parquet(tmp_path)))
    assert_same_scores(VanishingIdealClassifier(OAVI(0.005)).fit(X, y, weights), expected)


@pytest.mark.parametrize("role", ["y", "sample_weight"])
def test_rows_that_a_shuffle_puts_in_two_orders_are_refused(role, expected):
    """Dask computes a shuffle once for the columns and once for the labels, each time in another order of the rows."""
    whole, mixed = (dd.from_delayed([dask.delayed(p) for p in parts]) for parts in (PARTS, [p[::-1] for p in PARTS]))
    X, y, weights = frames(whole)
    others = {"y": (mixed["state"], weights), "sample_weight": (y, mixed["weight"])}
    with pytest.raises(ValueError, match=rf"{role} has the rows of a block in another order than X.*: persist\(\)"):
        VanishingIdealClassifier(OAVI(0.005)).fit(X, *others[role])
    shuffled = whole.shuffle("state").persist()
    assert_same_scores(VanishingIdealClassifier(OAVI(0.005)).fit(*frames(shuffled)), expected)


def test_labels_with_an_index_of_their_own_go_by_place(expected):
    numbered = TABLE["state"].set_axis(np.arange(5000, 5000 + len(TABLE)))
    y = dd.from_pandas(numbered, npartitions=N_PARTITIONS)
    found = VanishingIdealClassifier(OAVI(0.005)).fit(in_partitions()[COLUMNS], y, in_partitions()["weight"])
    assert_same_scores(found, expected)


def in_memory(d):
    columns, labels, weights = frames(d)
    return columns, *dask.compute(labels, weights)


@pytest.mark.filterwarnings("ignore:Dask currently has limited support for converting pandas extension dtypes")
@pytest.mark.parametrize("shape", [arrays, frame_beside_arrays, array_beside_series, in_memory])
def test_a_shuffle_that_is_not_shared_is_refused(shape, expected):
    """Arrays have no index: where each comes from a shuffle of its own, nothing else tells that rows are confused."""
    shuffled = in_partitions().shuffle("state")
    with pytest.raises(ValueError, match=r"do not share a shuffle.*: persist\(\) the shuffled collection"):
        VanishingIdealClassifier(OAVI(0.005)).fit(*shape(shuffled))
    assert_same_scores(VanishingIdealClassifier(OAVI(0.005)).fit(*shape(shuffled.persist())), expected)
