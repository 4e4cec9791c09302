"""Tables with texts, booleans and gaps, from the command line to other systems."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vanishing import load
from vanishing.cli.main import main

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def customers():
    rng = np.random.default_rng(0)
    m = 320
    frame = pd.DataFrame(
        {
            "id": [f"c{k}" for k in range(m)],
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(m), "D"),
            "age": rng.uniform(18, 80, m).round(1),
            "town": rng.choice(["Ulm", "Bonn", "Köln, Süd"], m).astype(object),
            "paid": rng.choice([True, False], m),
        }
    )
    frame["left"] = np.where((frame["age"] > 50) ^ (frame["town"] == "Ulm"), "yes", "no")
    frame.loc[rng.uniform(size=m) < 0.05, "age"] = np.nan
    frame.loc[rng.uniform(size=m) < 0.05, "town"] = None
    return frame


@pytest.mark.slow
def test_a_table_with_texts_and_gaps_needs_no_preparation(customers, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    customers[:240].to_csv("left.csv", index=False)
    customers[240:].to_parquet("new.parquet", index=False)
    assert main(["fit", "left.csv", "--target", "left", "--exclude", "id,since", "-o", "left.vi", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "town=Ulm" in told
    assert "town: categories 'Bonn', 'Köln, Süd', 'Ulm'\n" in told
    assert f"age: a missing value counts as {customers[:240]['age'].median():.6g}, the median" in told
    assert main(["predict", "left.vi", "new.parquet", "--id", "id", "-o", "out.csv", "--quiet"]) == 0
    model, new = load("left.vi"), customers[240:]
    labels = model.predict(new[list(model.feature_names_in_)])
    assert pd.read_csv("out.csv")["label"].tolist() == labels.tolist()
    assert main(["score", "left.vi", "new.parquet", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["accuracy"] == np.mean(labels == new["left"]) > 0.85
    new.assign(age="old").to_csv("old.csv", index=False)
    assert main(["predict", "left.vi", "old.csv", "--quiet"]) == 2
    assert "old.csv has text in 'age', which the model cannot take: convert it first." in capsys.readouterr().err
    assert main(["show", "left.vi", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["age", "town", "paid"]
    assert main(["report", "left.vi", "new.parquet", "-o", "left.html", "--quiet"]) == 0
    assert "town=Ulm" in (tmp_path / "left.html").read_text()
    assert main(["export", "left.vi", "--to", "sql", "--table", "new", "-o", "left.sql"]) == 0
    found = pytest.importorskip("duckdb").sql((tmp_path / "left.sql").read_text()).df()["label"]
    assert found.tolist() == labels.tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_all_unusable_columns_are_named_at_once_with_the_flag(suffix, customers, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = customers.assign(no=np.arange(len(customers)), share=np.resize(["1%", "2%", "3%", "5%", "8%"], 320))
    odd = {"tags": [[1, 2]], "blob": [b"x"]} if suffix != "csv" else {}
    table = table.assign(**{name: value * 320 for name, value in odd.items()}).drop(columns="paid")
    {"csv": table.to_csv, "parquet": table.to_parquet, "arrow": lambda path, **_: table.to_feather(path)}[suffix](
        f"left.{suffix}", index=False
    )
    unusable = ["since", "no", "share", *odd]
    assert main(["fit", f"left.{suffix}", "--target", "left", "--exclude", "age", "-o", "left.vi", "--quiet"]) == 2
    told = capsys.readouterr().err
    assert "has text that hardly repeats, like ids, in 'id' (such as 'c0'), dates or times in 'since', " in told
    assert "text that is numbers or dates in 'share' (such as '1%')" in told
    assert "row numbers or ids in 'no'" in told
    assert f"leave them out with --exclude age,id,{','.join(unusable)} or write numbers without signs" in told
    for command in ("fit", "laws", "detect", "rules"):
        assert main([command, f"left.{suffix}", "-o", "left.vi", "--quiet"]) == 2
        told = capsys.readouterr().err
        assert "text in 'id', 'town', 'left', 'share'" in told
        assert f"leave them out with --exclude id,since,town,left,{','.join(unusable[1:])}.\n" in told
    assert not (tmp_path / "left.vi").exists()


@pytest.mark.slow
def test_a_classifier_is_chosen_by_what_the_flags_ask_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    rare = np.where(x[:, 0] + 0.5 * rng.normal(size=600) > 1.5, "yes", "no")
    pd.DataFrame(x, columns=list("abc")).assign(fault=rare).to_csv("rows.csv", index=False)
    fit = ["fit", "rows.csv", "--target", "fault", "--quiet"]
    assert main([*fit, "-o", "model.vi"]) == 0
    shown = capsys.readouterr().out
    assert f"{np.mean(rare == 'no'):.1%} of the rows are 'no'; AUC 0." in shown
    assert "recall" in shown
    flags = ["--scoring", "roc_auc", "--max-columns", "3", "--class-weight", "no=1,yes=4", "--sparsity"]
    assert main([*fit, *flags, "-o", "few.vi", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    model, plain = load("few.vi"), load("model.vi")
    assert (model.scoring, model.refit, model.max_columns) == ("roc_auc", "1se", 3)
    assert model.class_weight == {"no": 1.0, "yes": 4.0}
    assert model.best_estimator_.n_columns_ <= 3
    assert content["roc_auc"] == pytest.approx(model.best_score_)
    said = model.predict(pd.DataFrame(x, columns=list("abc")))
    assert content["on_training_rows"]["recall"]["yes"] == pytest.approx(np.mean(said[rare == "yes"] == "yes"))
    assert np.sum(said == "yes") > np.sum(plain.predict(pd.DataFrame(x, columns=list("abc"))) == "yes")


def test_directions_of_columns_reach_the_formula(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(300, 2))
    wavy = x + 0.2 * np.sin(9.0 * x)
    rises = np.where(wavy[:, 0] - wavy[:, 1] + 0.1 * rng.normal(size=300) > 0.0, "yes", "no")
    pd.DataFrame(x, columns=["late", "age"]).assign(fault=rises).to_csv("rows.csv", index=False)
    assert main(["fit", "rows.csv", "--target", "fault", "--quiet", "--monotone", "late=1,age=-1", "-o", "m.vi"]) == 0
    for name, sign in (("late", 1.0), ("age", -1.0)):
        grid = pd.DataFrame({"late": 0.5, "age": 0.5} | {name: np.linspace(0.0, 1.0, 101)})
        changes = np.diff(load("m.vi").decision_function(grid))
        assert (sign * changes >= 0.0).all()
        assert changes.any()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--target", "fault", "--scoring", "beauty"], "--scoring must be a score of scikit-learn"),
        (["--target", "fault", "--class-weight", "maybe=2"], "the names are no, yes"),
        (["--target", "fault", "--class-weight", "yes=much"], "--class-weight must be 'balanced' or name=number"),
        (["--target", "fault", "--monotone", "b=1"], "--monotone must be name=number, such as 'a=1'; the names are a;"),
        (["--target", "fault", "--monotone", "a=2"], "monotone of 'a' must be 1 (rises) or -1 (falls)"),
        (["--target", "fault", "--max-columns", "0"], "--max-columns must be an integer of at least 1"),
        (["--columns", "a", "--sparsity"], "--sparsity is for classifiers"),
    ],
)
def test_flags_of_the_search_are_refused_in_the_words_of_the_shell(flags, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    a = np.arange(60.0)
    pd.DataFrame({"a": a, "fault": np.where(a > 30, "yes", "no")}).to_csv("rows.csv", index=False)
    assert main(["fit", "rows.csv", "--quiet", *flags]) == 2
    assert message in capsys.readouterr().err
