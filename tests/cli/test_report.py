"""The command ``vanishing report``."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vanishing import load
from vanishing.cli.main import main

pytest.importorskip("matplotlib", reason="needs Matplotlib: pip install 'vanishing[report]'")


@pytest.mark.slow
def test_a_classifier_is_reported_with_the_score_of_the_command_score(story, capsys):
    assert main(["score", "churn.vi", "churn.csv", "--json", "--quiet"]) == 0
    accuracy = json.loads(capsys.readouterr().out)["accuracy"]
    assert main(["report", "churn.vi", "churn.csv", "-o", "churn.html", "--title", "<b>", "--quiet"]) == 0
    page = (story / "churn.html").read_text("utf-8")
    assert f"<strong>{accuracy:.2%}</strong><span>of these rows are right</span>" in page
    assert "<h1>&lt;b&gt;</h1>" in page


@pytest.mark.slow
def test_an_ideal_is_reported_in_the_units_of_the_files(story):
    assert main(["report", "clicks.vi", "clicks", "-o", "clicks.html", "--quiet"]) == 0
    page = (story / "clicks.html").read_text("utf-8")
    ratio = float(re.search(r"<strong>([^<]*)</strong><span>times the mean square at fit", page)[1])
    assert ratio == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("report runs.vi runs.parquet -o runs.html --quiet", "within groups"),
        ("report normal.vi normal.parquet -o normal.html --quiet", "Control chart"),
        ("report invoices.vi invoices.csv -o invoices.html --quiet", "All rows obey all rules"),
    ],
)
def test_laws_rules_and_detectors_are_reported(story, command, said):
    assert main(command.split()) == 0
    assert said in (story / command.split()[4]).read_text("utf-8")


@pytest.mark.parametrize("options", ["", " --times ts"])
def test_a_report_about_a_detector_names_the_times_in_a_file(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    volts = rng.uniform(10, 20, 600)
    table = pd.DataFrame({"ts": pd.date_range("2026-02-01", periods=600, freq="7min"), "volts": volts})
    table["amperes"] = volts / 5 + rng.normal(0, 0.01, 600)
    table[:400].to_parquet("normal.parquet")
    table.loc[500:540, "amperes"] += 0.5
    table[400:].to_csv("new.csv", index=False)
    assert main(["detect", "normal.parquet", "--exclude", "ts", "-o", "normal.vi", "--quiet"]) == 0
    assert main(f"report normal.vi new.csv -o page.html --quiet{options}".split()) == 0
    page = Path("page.html").read_text("utf-8")
    found = load("normal.vi").monitor(table[400:][["volts", "amperes"]])
    (episode,) = found.episodes
    assert episode.first_row == pytest.approx(100, abs=3)
    rows, episodes = (page.split(f'data-name="{name}"')[1].split("</table>")[0] for name in ("rows", "episodes"))
    for row in (episode.first_row, episode.last_row):
        assert f"{table['ts'][400 + row]:%Y-%m-%d %H:%M}" in episodes
    assert f"{table['ts'][400 + int(np.argmax(found.scores))]:%Y-%m-%d %H:%M}" in rows


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("report pipes.vi pipes.csv -o page.html --times ts", "only the rows of a detector"),
        ("report pipes.vi pipes.csv -o page.pdf", "has to end in .html"),
        ("report pipes.vi churn.csv -o page.html", "lacks the columns"),
    ],
)
def test_refusals_write_nothing(story, capsys, command, message):
    assert main([*command.split(), "--quiet"]) == 2
    assert message in capsys.readouterr().err
    assert not list(story.glob("page*"))
