"""Every command on the files of its examples: what it prints and writes."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from command_story import write_story
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score

from vanishing import Moments, load
from vanishing.classification.model.features import FeatureMap
from vanishing.cli.main import COMMANDS, build_parser, main
from vanishing.constants import LONGEST_BLOCK
from vanishing.rules import Rule, Rules

parquet = pytest.importorskip("pyarrow.parquet")
EXAMPLES = [example for name in COMMANDS for example in import_module(f"vanishing.cli.{name}").EXAMPLES]
LONG = ("demo", "reproduce")  # minutes: tested elsewhere


def words_of(example):
    """The arguments in an example, without what the shell does."""
    words = shlex.split(example, comments=True)[1:]
    ends = [words.index(word) for word in ("||", ">") if word in words]
    return words[: min(ends, default=None)]


def run(capsys, *words, status=0):
    """What a command prints."""
    assert main([*words, *([] if words[0] in ("show", "export") else ["--quiet"])]) == status
    seen = capsys.readouterr()
    assert seen.err == ""
    return seen.out


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_shown_and_can_be_parsed(example, capsys):
    words = words_of(example)
    assert build_parser(words[0]).parse_args(words).command == words[0]
    with pytest.raises(SystemExit):
        main([words[0], "--help"])
    assert example in capsys.readouterr().out


@pytest.mark.slow
def test_all_examples_run(tmp_path, monkeypatch, capsys):
    write_story(tmp_path)
    monkeypatch.chdir(tmp_path)
    waiting = [words for words in map(words_of, EXAMPLES) if words[0] not in LONG]
    while waiting:  # some need the files that others write
        status = {tuple(words): main(words) for words in waiting}
        done = [words for words in waiting if status[tuple(words)] == 0 or words[0] in ("check", "monitor")]
        assert done, capsys.readouterr().err
        done = [words for words in done if status[tuple(words)] in (0, 1)]
        waiting = [words for words in waiting if words not in done]


# --- predictions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_predictions_are_those_of_the_model(suffix, story, capsys):
    out = run(capsys, "predict", "churn.vi", "new.parquet", "--id", "id", "-o", f"out.{suffix}", "--json")
    frame = parquet.read_table("new.parquet").to_pandas()
    model = load("churn.vi")
    X = frame[["age", "calls"]]
    pandas = pytest.importorskip("pandas")
    reader = {"csv": pandas.read_csv, "parquet": pandas.read_parquet, "json": pandas.read_json}[suffix]
    written = reader(f"out.{suffix}")
    assert list(written) == ["id", "label", "score", "probability_no", "probability_yes"]
    assert written["id"].tolist() == frame["id"].tolist()
    assert written["label"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(written["probability_yes"], model.predict_proba(X)[:, 1], rtol=1e-9)
    content = json.loads(out)
    assert content["rows"] == 30
    assert sum(content["counts"].values()) == 30


def test_labels_scores_and_probabilities_are_computed_together(story, capsys, monkeypatch):
    evaluated = []
    scores = FeatureMap.scores
    monkeypatch.setattr(FeatureMap, "scores", lambda *parts: evaluated.append(len(parts[1])) or scores(*parts))
    run(capsys, "predict", "churn.vi", "new.parquet", "-o", "out.csv")
    assert evaluated == [30]


@pytest.mark.parametrize("model", ["churn.vi", "normal.vi"])
def test_a_pass_over_the_files_has_one_bar_and_its_blocks_none(model, story, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr("vanishing.cli.inputs.BAR_DELAY", 0.0)
    assert main(["predict", model, "new.parquet" if model == "churn.vi" else "new.csv", "-o", "out.csv"]) == 0
    bars = capsys.readouterr().err
    assert "pass 1" in bars
    assert "pass 2" not in bars


def test_a_check_knows_that_the_limit_of_alarms_comes_from_a_sample(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("normal.npy", rng.normal(size=(200_000, 2)))
    run(capsys, "detect", "normal.npy", "--no-regimes", "--degree", "2", "-o", "normal.vi")
    limit = load("normal.vi").offset_
    new = rng.normal(size=(200_000, 2))
    scores = load("normal.vi").score_samples(new)
    alarming, others = new[scores < limit], new[scores >= limit]
    np.save("new.npy", np.vstack([alarming[:448], others[:39_552]]))  # 1.12%, which 10,000 rows cannot tell from 1%
    assert json.loads(run(capsys, "check", "normal.vi", "new.npy", "--json"))["checks"][0]["p_value"] > 0.1


def test_a_detector_predicts_p_values_and_violations_also_with_gaps(story, capsys):
    lines = (story / "new.csv").read_text().splitlines()
    (story / "gaps.csv").write_text("\n".join([lines[0], re.sub(r"^(\d+),[^,]+", r"\1,", lines[1]), *lines[2:]]))
    run(capsys, "predict", "normal.vi", "gaps.csv", "-o", "out.parquet")
    table = parquet.read_table("out.parquet")
    assert table.column_names == ["outlier", "score", "p_value", "g0"]
    assert table["outlier"].to_pylist()[1:20] == [1] * 19
    assert table["g0"].to_pylist()[0] is None
    assert min(table["g0"].to_pylist()[1:20]) > 50
    notes = json.loads(table.schema.metadata[b"vanishing"])
    assert notes["equations"]["g0"].startswith("volts*amperes - ")


def test_predictions_go_to_the_standard_output(story, capsys):
    out = run(capsys, "predict", "churn.vi", "new.parquet")
    assert out.splitlines()[0] == "label,score,probability_no,probability_yes"
    assert len(out.splitlines()) == 31


def test_features_need_only_the_file(story, capsys):
    run(capsys, "transform", "clicks.vi", "new.parquet", "-o", "features.csv")
    written = np.loadtxt("features.csv", delimiter=",", skiprows=1)
    frame = parquet.read_table("new.parquet").to_pandas()
    np.testing.assert_allclose(written, load("clicks.vi").transform(frame[["a", "b"]]), atol=1e-12)
    assert written[:, 0].max() < 1e-9


def test_rows_are_read_and_written_in_batches(story, capsys):
    x = np.linspace(0.0, 1.0, 2 * LONGEST_BLOCK + 1)
    np.save("rows.npy", np.column_stack([x, x**2]))
    run(capsys, "fit", "rows.npy", "--psi", "1e-6", "-o", "rows.vi")
    run(capsys, "transform", "rows.vi", "rows.npy", "-o", "out.parquet")
    assert parquet.ParquetFile("out.parquet").num_row_groups == 3
    expected = load("rows.vi").transform(np.load("rows.npy"))
    table = parquet.read_table("out.parquet").to_pandas().to_numpy()
    np.testing.assert_allclose(table, expected, atol=1e-12)


# --- scores and checks ------------------------------------------------------------------------------------------------


def test_a_classifier_is_scored_on_the_column_that_it_was_fitted_to(story, capsys):
    content = json.loads(run(capsys, "score", "churn.vi", "churn.csv", "--json"))
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv("churn.csv")
    model = load("churn.vi")
    true, said = frame["churned"], model.predict(frame[["age", "calls"]])
    assert content["accuracy"] == pytest.approx((true == said).mean())
    assert content["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(true, said))
    decisions = model.decision_function(frame[["age", "calls"]])
    assert content["area_under_roc"] == pytest.approx(roc_auc_score(true == "yes", decisions), abs=1e-4)
    assert content["share_of_commonest_class"] == {"yes": pytest.approx((true == "yes").mean())}
    assert content["recall"] == pytest.approx(
        dict(zip(model.classes_, recall_score(true, said, average=None), strict=True))
    )


def test_a_monitor_lists_episodes_with_their_times_columns_and_equations(story, capsys):
    out = run(capsys, "monitor", "normal.vi", "new.csv", "--times", "ts", "-o", "episodes.csv", status=1)
    assert out.startswith("1 alarm episode in 60 rows")
    found = json.loads(run(capsys, "monitor", "normal.vi", "new.csv", "--times", "ts", "--json", status=1))
    (episode,) = found["episodes"]
    assert int(episode["start"]) == 400 + episode["first_row"]
    assert episode["first_row"] < 5
    assert set(episode["columns"]) == {"volts", "amperes", "power"}
    written = (story / "episodes.csv").read_text().splitlines()
    assert len(written) == 2
    assert written[0].startswith("start,end,worst,first_row")
    assert run(capsys, "monitor", "normal.vi", "normal.parquet", "--episodes", "0.01").startswith("0 alarm episodes")


def test_detectors_laws_and_equations_are_scored(story, capsys):
    lines = (story / "new.csv").read_text().splitlines()
    marked = [f"{line},{int(k < 20)}" for k, line in enumerate(lines[1:])]
    (story / "marked.csv").write_text("\n".join([f"{lines[0]},fault", *marked]))
    content = json.loads(run(capsys, "score", "normal.vi", "marked.csv", "--target", "fault", "--json"))
    assert content["area_under_roc"] == 1.0
    assert content["alarms"] == pytest.approx(1 / 3, abs=0.05)
    (law,) = json.loads(run(capsys, "score", "pipes.vi", "pipes.csv", "--json"))["equations"]
    assert 0.003 < law["rms"] < 0.03
    equations = json.loads(run(capsys, "score", "clicks.vi", "new.parquet", "--json"))["equations"]
    assert equations[0]["rms"] < 1e-9


@pytest.mark.parametrize("model", ["pipes.vi pipes.csv", "runs.vi runs.parquet", "invoices.vi invoices.csv"])
def test_what_holds_passes(model, story, capsys):
    content = json.loads(run(capsys, "check", *model.split(), "--json"))
    assert content["passed"]
    assert content["offending"] == []


def test_rows_that_break_a_law_are_named(story, capsys):
    lines = (story / "pipes.csv").read_text().splitlines()
    speed, area, flow = map(float, lines[8].split(","))
    lines[8] = f"{speed},{area},{flow + 0.5}"
    (story / "broken.csv").write_text("\n".join(lines))
    out = run(capsys, "check", "pipes.vi", "broken.csv", "-o", "offending.csv", status=1)
    assert "FAILED" in out
    assert "row 7 of broken.csv" in out
    assert "1 row offends" in out
    header, line = (story / "offending.csv").read_text().splitlines()
    assert header == "file,row,equation,times_limit"
    assert line.startswith("broken.csv,7,speed*area = flow,")
    assert run(capsys, "check", "pipes.vi", "broken.csv", "--allow", "0.01").startswith("300 rows: passed")


@pytest.mark.parametrize("model", ["pipes.vi", "invoices.vi", "normal.vi", "runs.vi"])
def test_rows_with_gaps_are_left_out_of_a_check_and_counted(model, story, capsys):
    tables = {"pipes.vi": "pipes.csv", "invoices.vi": "invoices.csv", "normal.vi": "new.csv", "runs.vi": "runs.parquet"}
    path = story / tables[model]
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path).astype(float)
    complete, first = table.drop(index=[5, 30]), next(name for name in table.columns if name not in ("ts", "run"))
    complete.to_csv("complete.csv", index=False)
    table.loc[[5, 30], first] = np.nan
    table.assign(remark="none").iloc[:, ::-1].to_csv("gaps.csv", index=False)
    if model != "normal.vi":  # a detector scores rows with gaps
        assert main(["check", model, "gaps.csv", "--quiet"]) == 2
        message = f"Column '{first}' has missing values: at least 2, one in row 5 of gaps.csv"
        assert message in capsys.readouterr().err
    status = int(model == "normal.vi")
    expected = json.loads(run(capsys, "check", model, "complete.csv", "--json", status=status))
    found = json.loads(run(capsys, "check", model, "gaps.csv", "--drop-missing", "--json", status=status))
    assert (found["rows"], found["missing"], expected["missing"]) == (len(complete), 2, 0)
    assert [check["offending"] for check in found["checks"]] == [check["offending"] for check in expected["checks"]]
    moved = [
        row["row"] + sum(row["row"] + k >= place for k, place in enumerate((5, 30))) for row in expected["offending"]
    ]
    assert [row["row"] for row in found["offending"]] == moved
    text = run(capsys, "check", model, "gaps.csv", "--drop-missing", status=status)
    assert f"have missing values and were left out (2 in '{first}')." in text


def test_a_check_needs_the_columns_that_its_equations_use_and_no_others(story, capsys):
    table = pd.read_csv("pipes.csv")
    table.assign(noise=np.random.default_rng(0).normal(size=len(table))).to_csv("wide.csv", index=False)
    for command in ("laws", "rules"):
        run(capsys, command, "wide.csv", "-o", f"{command}.vi")
        assert run(capsys, "check", f"{command}.vi", "pipes.csv").startswith("300 rows: passed")


@pytest.mark.slow
def test_laws_and_rules_leave_out_rows_with_gaps(story, capsys):
    for name, command in (("pipes.csv", "laws"), ("invoices.csv", "rules")):
        table = pd.read_csv(name)
        table.iloc[7, 1] = np.nan
        table.to_csv("gap.csv", index=False)
        found = run(capsys, command, "gap.csv", "--drop-missing")
        assert (
            "rows left out, as values are missing: 1" if command == "rules" else "1 of 300 rows has missing"
        ) in found
    content = json.loads(run(capsys, "rules", "gap.csv", "--drop-missing", "--json"))
    assert content["missing"] == 1
    pytest.importorskip("matplotlib").use("Agg")
    pd.read_csv("pipes.csv").mask(lambda table: table < 1.01).to_csv("gap.csv", index=False)
    run(capsys, "laws", "gap.csv", "--drop-missing", "--plot", "laws.png")
    assert (story / "laws.png").stat().st_size > 10_000


def test_moments_leave_out_rows_with_gaps(story, capsys):
    table = pd.read_csv("pipes.csv")
    table.drop(index=7).to_csv("complete.csv", index=False)
    table.iloc[7, 1] = np.nan
    table.to_csv("gap.csv", index=False)
    assert main(["moments", "collect", "gap.csv", "--drop-missing", "-o", "gap.npz", "--quiet"]) == 0
    assert "1 of 300 rows has missing values and was left out (1 in 'area')." in capsys.readouterr().err
    run(capsys, "moments", "collect", "complete.csv", "-o", "complete.npz")
    found, expected = Moments.load("gap.npz"), Moments.load("complete.npz")
    assert found.n_samples == expected.n_samples == 299
    np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-12)


def test_laws_of_moments_are_those_of_their_rows(story, capsys):
    found = run(capsys, "laws", "north.npz", "south.npz")
    assert found.startswith("x0^2 = x1")
    assert "need moments of --degree 5 or more" in found


@pytest.mark.slow
def test_the_table_of_a_law_passes_although_noise_makes_some_rows_offend(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    speed, area = rng.uniform(1.0, 2.0, (2, 20_000))
    table = np.column_stack([speed, area, speed * area]) + rng.normal(0.0, 0.01, (20_000, 3))
    np.savetxt("pipes.csv", table, delimiter=",", header="speed,area,flow", comments="")
    run(capsys, "laws", "pipes.csv", "-o", "pipes.vi")
    content = json.loads(run(capsys, "check", "pipes.vi", "pipes.csv", "--width", "3", "--json"))
    (found,) = content["checks"]
    # Normal noise beyond three deviations, which were estimated from 20,000 rows: Student's t.
    assert found["expected"] == pytest.approx(20_000 * 2 * stats.t.sf(3.0, 19_998), rel=1e-4)
    assert 30 < found["offending"] < 80
    variance = stats.gamma(19_998 / 2, scale=2 / 19_998)
    by_level = variance.expect(
        lambda v: stats.binom.sf(found["offending"] - 1, 20_000, 2 * stats.norm.sf(3.0 * v**0.5)), lb=0.9, ub=1.1
    )
    assert found["p_value"] == pytest.approx(by_level, rel=1e-2)
    assert content["passed"]
    # Twice the noise is another matter.
    wider = table + np.sqrt(3.0) * rng.normal(0.0, 0.01, table.shape)
    np.savetxt("worse.csv", wider, delimiter=",", header="speed,area,flow", comments="")
    out = run(capsys, "check", "pipes.vi", "worse.csv", "--width", "3", status=1)
    assert "20,000 rows: FAILED" in out
    assert re.search(r"[\d,]+ rows offend, 54 expected, p = ", out)
    assert re.search(
        r"[\d,]+ rows offend, 910 expected", run(capsys, "check", "pipes.vi", "worse.csv", "--width", "2", status=1)
    )


@pytest.mark.parametrize(("offences", "p_value"), [(0, 1.0), (16, 0.12), (30, 4e-6)])
def test_the_p_value_of_a_law_is_that_of_the_number_of_offenders(offences, p_value):
    from vanishing.cli.check import Standard

    # 11.5 of 20,000,000 rows are expected beyond five deviations.
    standard = Standard(["law"], lambda block, inside: None, chance=2.0 * stats.norm.sf(5.0))
    assert standard.expected(0, 20_000_000, None) == pytest.approx(11.5, rel=0.01)
    assert standard.p_value(0, offences, 20_000_000, None) == pytest.approx(p_value, rel=0.3)
    assert standard.p_value(0, offences, 20_000_000, 0.0) == float(offences == 0)


def test_a_run_that_loses_energy_is_named(story, capsys):
    frame = parquet.read_table("runs.parquet").to_pandas()
    frame.loc[frame.index[10], "v"] *= 1.5
    frame.to_parquet("broken.parquet")
    content = json.loads(run(capsys, "check", "runs.vi", "broken.parquet", "--json", status=1))
    assert 10 in [entry["row"] for entry in content["offending"]]


def test_faults_and_missed_rules_fail(story, capsys):
    assert not json.loads(run(capsys, "check", "normal.vi", "new.csv", "--json", status=1))["passed"]
    text = (story / "invoices.csv").read_text().splitlines()
    text[5] = "10,2,13"
    (story / "wrong.csv").write_text("\n".join(text))
    out = run(capsys, "check", "invoices.vi", "wrong.csv", "--allow", "0", "--json", status=1)
    assert json.loads(out)["checks"][0]["offending"] == 1


def test_rules_written_by_hand_may_allow_nothing(story, capsys):
    learnt = load("invoices.vi")[0].polynomial
    Rules([Rule(replace(learnt, coef=learnt.coef.round()), 0.0)]).save("strict.vi")
    (story / "sums.csv").write_text("net,tax,gross\n1,1,2\n1e9,1,3\n")
    run(capsys, "check", "strict.vi", "sums.csv", "-o", "offending.json", status=1)
    (offence,) = json.loads((story / "offending.json").read_text())
    assert (offence["row"], offence["times_limit"]) == (1, None)


# --- models elsewhere -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["churn.vi", "clicks.vi", "pipes.vi", "normal.vi", "invoices.vi", "runs.vi"])
def test_every_model_is_shown(model, story, capsys):
    text, content = run(capsys, "show", model), json.loads(run(capsys, "show", model, "--json"))
    equation = {"churn.vi": "log-odds of yes", "clicks.vi": "a^2 - b", "pipes.vi": "speed*area = flow"}
    assert equation.get(model, {"normal.vi": "volts*amperes", "runs.vi": "const"}.get(model, "gross")) in text
    assert content["kind"] in ("classifier", "ideal", "laws", "detector", "rules")
    assert content["columns"]


@pytest.mark.parametrize("model", ["clicks.vi", "pipes.vi", "invoices.vi", "normal.vi"])
@pytest.mark.parametrize("system", ["latex", "sympy", "macaulay2", "singular", "sage"])
def test_equations_are_exported_to_algebra(model, system, story, capsys):
    out = run(capsys, "export", model, "--to", system)
    for name in {"clicks.vi": "ab", "pipes.vi": ("speed", "flow"), "normal.vi": ("volts",)}.get(model, ("gross",)):
        assert name in out


def test_programs_compute_what_the_model_computes(story, capsys):
    frame = parquet.read_table("new.parquet").to_pandas()[["a", "b"]]
    expected = load("clicks.vi").transform(frame)
    scope = {}
    exec(run(capsys, "export", "clicks.vi", "--to", "numpy"), scope)
    np.testing.assert_allclose(scope["predict"](frame.to_numpy())["features"], expected, atol=1e-12)
    duckdb = pytest.importorskip("duckdb")
    query = run(capsys, "export", "clicks.vi", "--to", "sql", "--table", "frame")
    np.testing.assert_allclose(duckdb.sql(query).df().to_numpy(), expected, atol=1e-12)
    runtime = pytest.importorskip("onnxruntime")
    run(capsys, "export", "clicks.vi", "--to", "onnx", "--float64", "-o", "clicks.onnx")
    (found,) = runtime.InferenceSession("clicks.onnx").run(None, {"X": frame.to_numpy()})
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.slow
def test_torch_reads_its_export(story, capsys):
    torch = pytest.importorskip("torch")
    run(capsys, "export", "clicks.vi", "--to", "torch", "-o", "clicks.pt2")
    frame = parquet.read_table("new.parquet").to_pandas()[["a", "b"]]
    found = torch.export.load("clicks.pt2").module()(torch.tensor(frame.to_numpy()))
    np.testing.assert_allclose(found, load("clicks.vi").transform(frame), atol=1e-12)


# --- moments, information ---------------------------------------------------------------------------------------------


def test_moments_are_collected_merged_and_fitted(story, capsys):
    assert main(["moments", "merge", "north.npz", "south.npz", "-o", "all.npz"]) == 0
    assert Moments.load("all.npz").n_samples == 300
    options = ["--degree", "4", "--ranges", "a=1:3,b=1:9", "-o", "clicks.npz", "--quiet"]
    assert main(["moments", "collect", "clicks", *options]) == 0
    capsys.readouterr()
    out = run(capsys, "fit", "clicks.npz", "--psi", "1e-6", "--max-degree", "2", "-o", "from-moments.vi")
    assert "a^2 - b = 0" in out
    assert "a^2 - b" in run(capsys, "show", "from-moments.vi")


def test_information_about_files_and_the_installation(story, capsys):
    content = json.loads(run(capsys, "info", "churn.csv", "churn.vi", "invoices.vi", "north.npz", "clicks", "--json"))
    assert content["churn.csv"]["columns"]["ts"] == "dates or times"
    assert content["churn.vi"]["notes"] == {"target": "churned"}
    assert content["invoices.vi"]["equations"] == len(load("invoices.vi"))
    assert content["north.npz"]["rows"] == 200
    assert content["clicks"]["rows"] == 300
    assert "numba" in run(capsys, "info")
