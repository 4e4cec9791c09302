"""Texts and gaps as numbers: in memory, in files, saved, and as programs of other systems."""

from __future__ import annotations

import datetime
import json
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from file_mutations import file_of, parts_of
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from vanishing import OAVI, ModelFileError, TableEncoder, VanishingIdealClassifier, load, save
from vanishing.exports import to_numpy_source, to_onnx, to_sql, to_torch
from vanishing.tables.encoder import add_tallies, tally_columns
from vanishing.tables.files import learn_encoder, open_encoded


def table(m=300, seed=0):
    """Numbers with gaps, booleans, texts with a quote and a gap, two texts, and a text that occurs once."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, m).round(1),
            "town": rng.choice(["Ulm", "L'Aquila", "Köln, Süd"], m).astype(object),
            "paid": rng.choice([True, False], m),
            "smoker": rng.choice(["no", "yes"], m).astype(object),
        }
    )
    frame.loc[rng.uniform(size=m) < 0.1, "age"] = np.nan
    frame.loc[rng.uniform(size=m) < 0.1, "town"] = None
    frame.loc[m // 2, "town"] = "Nowhere"
    return frame


def by_hand(frame, median):
    """The columns that the encoder should give, in plain pandas."""
    towns = {f"town={name}": frame["town"] == name for name in ("Köln, Süd", "L'Aquila", "Ulm")}
    columns = {"age": frame["age"].fillna(median), "age is missing": frame["age"].isna(), **towns}
    columns |= {"town is missing": frame["town"].isna(), "paid": frame["paid"], "smoker=yes": frame["smoker"] == "yes"}
    return pd.DataFrame(columns).astype(float)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_columns_are_those_that_one_would_write_by_hand():
    frame, new = table(), table(80, seed=1).assign(town="elsewhere")
    encoder = TableEncoder().fit(frame)
    median = frame["age"].median()
    pd.testing.assert_frame_equal(encoder.transform(frame), by_hand(frame, median))
    pd.testing.assert_frame_equal(encoder.transform(new), by_hand(new, median))
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    np.testing.assert_array_equal(encoder.transform(polars.from_pandas(frame)).to_numpy(), by_hand(frame, median))
    np.testing.assert_array_equal(encoder.transform(pyarrow.Table.from_pandas(frame)), by_hand(frame, median))
    categories = frame.astype({"town": "category", "smoker": "string", "paid": "boolean"})
    pd.testing.assert_frame_equal(encoder.transform(categories), by_hand(frame, median))


def test_ids_free_text_and_dates_are_refused_by_name():
    frame = table().assign(id=[f"c{k}" for k in range(300)], note=[f"call {k} back" for k in range(300)])
    with pytest.raises(ValueError, match=r"text that hardly repeats, like ids in 'id' .such as .*: drop 'id', 'note'"):
        TableEncoder().fit(frame)
    shares = frame.assign(note="").assign(id=np.resize(["5%", "10%", "15%", "20%", "25%", "n.d."], len(frame)))
    with pytest.raises(ValueError, match=r"text that is numbers or dates in 'id' .such as '5%'.: drop 'id'"):
        TableEncoder().fit(shares)
    codes = TableEncoder().fit(table().assign(code=np.resize(["10", "20", "30", "40", "50"], 300)))
    assert codes.columns_[-1].categories == ["10", "20", "30", "40", "50"]
    with pytest.raises(ValueError, match="'when' holds dates or times"):
        TableEncoder().fit(table().assign(when=pd.Timestamp("2024-01-01")))
    encoder = TableEncoder().fit(table())
    with pytest.raises(ValueError, match="'age' holds texts, but numbers in the fit"):
        encoder.transform(table().assign(age="old"))


def test_codes_that_were_texts_in_the_fit_may_come_as_numbers():
    codes = pd.DataFrame({"code": np.resize(["1234567", "1234568", "0.5", "none"], 40)})
    encoder = TableEncoder().fit(codes)
    numbers = pd.DataFrame({"code": [1234567.0, 1234568.0, 0.5, np.nan]})
    expected = encoder.transform(pd.DataFrame({"code": ["1234567", "1234568", "0.5", None]}))
    pd.testing.assert_frame_equal(encoder.transform(numbers), expected)


def test_the_most_frequent_of_many_categories_are_kept():
    names = np.repeat([f"n{k}" for k in range(40)], np.r_[np.full(10, 30), np.full(30, 2)])
    encoder = TableEncoder(max_categories=10).fit(pd.DataFrame({"name": names}))
    assert encoder.columns_[0].categories == [f"n{k}" for k in range(10)]
    assert encoder.describe() == [f"name: categories {', '.join(repr(f'n{k}') for k in range(10))}, and others"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_encoded_in_passes_like_frames(suffix, tmp_path):
    pytest.importorskip("pyarrow")
    parts = table(), table(200, seed=1)
    for k, part in enumerate(parts):
        path = tmp_path / f"part{k}.{suffix}"
        part.to_csv(path, index=False) if suffix == "csv" else part.to_parquet(path)
    whole = pd.concat(parts, ignore_index=True)
    encoder, expected = learn_encoder(str(tmp_path), list(whole)), TableEncoder().fit(whole)
    assert encoder.columns_ == expected.columns_
    rows = open_encoded(str(tmp_path), encoder)
    assert list(rows.feature_names) == list(expected.get_feature_names_out())
    np.testing.assert_array_equal(
        np.vstack(list(rows.each_block(lambda block: block.X, 100))), expected.transform(whole)
    )


def test_medians_of_many_rows_depend_on_no_blocks():
    column = np.random.default_rng(0).normal(size=50_000)
    columns = [column] * 100  # together more numbers than are sampled
    parts = [
        tally_columns([each[rows] for each in columns], 0, rows.start) for rows in (slice(0, 400), slice(400, 50_000))
    ]
    whole, both = tally_columns(columns), add_tallies(*parts)
    np.testing.assert_array_equal(whole.medians, both.medians)
    assert len(both.drawn.Z) == 40_000
    assert abs(both.medians[0] - np.median(column)) < 0.02  # more than three standard errors


@pytest.mark.parametrize("values", [[-1.7e308, 1.7e308], [1.6e308, 1.7e308], [1e-300, 3e-300]])
def test_medians_of_huge_and_tiny_numbers(values):
    encoder = TableEncoder().fit(pd.DataFrame({"a": values, "b": [1.0, 2.0]}))
    assert encoder.columns_[0].median == pytest.approx(0.5 * values[0] + 0.5 * values[1], rel=1e-15)


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="There are no rows in X"):
        TableEncoder().fit(pd.DataFrame({"a": [], "b": []}))


def test_files_of_several_types(tmp_path):
    pytest.importorskip("pyarrow")
    words, digits = pd.DataFrame({"a": ["x", "1"] * 9}), pd.DataFrame({"a": [1, 2] * 9})
    for k, part in enumerate((digits, words)):
        part.to_csv(tmp_path / f"part{k}.csv", index=False)
        part.to_parquet(tmp_path / f"part{k}.parquet")
    assert learn_encoder(str(tmp_path / "*.csv"), ["a"]).columns_[0].categories == ["1", "2", "x"]
    with pytest.raises(ValueError, match=r"'a' holds texts in .* or in .*, not in both: convert it"):
        learn_encoder(str(tmp_path / "*.parquet"), ["a"])
    assert TableEncoder().fit(digits.astype("category")).columns_[0].categories == ["1", "2"]


@pytest.fixture(scope="module")
def program():
    """A classifier behind an encoder, new rows, and its scores."""
    frame, new = table(), table(60, seed=2)
    y = np.where((frame["age"].fillna(40) > 40) ^ (frame["town"] == "Ulm"), "yes", "no")
    model = make_pipeline(TableEncoder(), VanishingIdealClassifier(OAVI(0.01))).fit(frame, y)
    return model, new, model.decision_function(new)


def test_a_pipeline_with_an_encoder_is_saved_without_skops(program, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    model, new, scores = program
    save(model, tmp_path / "model.vi")
    assert load(tmp_path / "model.vi").decision_function(new).tobytes() == scores.tobytes()
    header, arrays = parts_of((tmp_path / "model.vi").read_bytes())
    header["model"][0]["step"]["saved"]["fitted"]["columns_"].pop()
    (tmp_path / "model.vi").write_bytes(file_of(json.dumps(header), arrays))
    with pytest.raises(ModelFileError, match="encodes other columns than it has"):
        load(tmp_path / "model.vi")


def test_exports_take_texts_and_gaps(program):
    model, new, scores = program
    scope = {}
    exec(to_numpy_source(model), scope)
    np.testing.assert_allclose(scope["predict"](new)["scores"][:, 0], scores, rtol=1e-9, atol=1e-9)
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(to_sql(model, "new")).df()
    np.testing.assert_allclose(found["score"], scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [int, float])
def test_categories_that_are_numbers_are_the_same_in_every_type(kind):
    numbers = np.resize([1, 2, 3], 60)
    frame = pd.DataFrame({"code": pd.Categorical(numbers.astype(kind)), "x": np.linspace(0, 1, 60)})
    model = make_pipeline(TableEncoder(), VanishingIdealClassifier(OAVI(0.01))).fit(frame, numbers == 2)
    scores = model.decision_function(frame)
    plain = pd.DataFrame({"code": numbers, "x": frame["x"]})
    scope = {}
    exec(to_numpy_source(model), scope)
    for other in (plain, plain.astype(float), plain.astype(object)):
        np.testing.assert_array_equal(model.decision_function(other), scores)
        np.testing.assert_allclose(scope["predict"](other)["scores"][:, 0], scores, rtol=1e-9, atol=1e-9)


def test_the_text_nan_is_no_gap_in_numpy_source():
    frame = pd.DataFrame({"code": np.resize(np.array(["nan", "ok", "late", None], dtype=object), 200)})
    y = frame["code"].isin(["nan", "late"])
    model = make_pipeline(TableEncoder(), VanishingIdealClassifier(OAVI(0.01))).fit(frame, y)
    scope = {}
    exec(to_numpy_source(model), scope)
    np.testing.assert_allclose(scope["predict"](frame)["scores"][:, 0], model.decision_function(frame), atol=1e-9)


@pytest.mark.slow
def test_torch_fills_gaps_and_refuses_texts(program):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="Tensors cannot hold texts: export this model to onnx, numpy or sql"):
        to_torch(program[0])
    frame = table()[["age", "paid"]].astype(float)
    model = make_pipeline(TableEncoder(), VanishingIdealClassifier(OAVI(0.01))).fit(frame, frame["age"] > 40)
    found = to_torch(model)(torch.tensor(frame.to_numpy()))["scores"][:, 0].numpy()
    np.testing.assert_allclose(found, model.decision_function(frame), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_onnx_takes_a_column_of_texts_as_an_input(program):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model, new, scores = program
    session = runtime.InferenceSession(
        to_onnx(model, np.float64).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    texts = {"town": new["town"].fillna(""), "smoker": new["smoker"]}
    inputs = {name: values.to_numpy(dtype=object)[:, None] for name, values in texts.items()}
    inputs |= {name: new[name].to_numpy(dtype=np.float64)[:, None] for name in ("age", "paid")}
    found, labels = session.run(["scores", "label"], inputs)
    np.testing.assert_allclose(found[:, 0], scores, rtol=1e-9, atol=1e-9)
    assert labels.tolist() == model.predict(new).tolist()


@pytest.mark.parametrize(
    "values",
    [
        pd.period_range("2020-01", periods=3, freq="M"),
        [datetime.date(2020, 1, 1)] * 3,
        [datetime.timedelta(1)] * 3,
        pd.date_range("2020", periods=3, tz="UTC"),
    ],
    ids=["periods", "dates", "durations", "time zone"],
)
def test_all_kinds_of_times_are_refused(values):
    with pytest.raises(ValueError, match="Column 'p' holds dates or times: drop it, or compute numbers from it"):
        TableEncoder().fit(pd.DataFrame({"p": values}))


@pytest.mark.parametrize("value", [[1], (1, 2), {"a": 1}, 1j, np.arange(2)])
def test_values_that_are_neither_numbers_nor_texts_are_refused(value):
    with pytest.raises(ValueError, match=r"Column 'p' holds .*, neither numbers nor texts: drop it"):
        TableEncoder().fit(pd.DataFrame({"p": pd.Series([value] * 3, dtype=object)}))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (10**400, "Column 'p' has integers of more than 308 digits: drop it"),
        ("\ud800", "Column 'p' has a text that is not valid Unicode"),
    ],
)
def test_values_that_do_not_fit_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(pd.DataFrame({"p": pd.Series([value] * 3, dtype=object)}))


def test_decimals_are_numbers():
    table = pd.DataFrame({"p": [Decimal("1.5"), None, Decimal("NaN"), Decimal("2.5")]})
    np.testing.assert_array_equal(TableEncoder().fit_transform(table), [[1.5, 0], [2.0, 1], [2.0, 1], [2.5, 0]])
