"""The command ``vanishing report``."""

import json
import re

import pytest

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


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("report pipes.vi pipes.csv -o page.pdf", "has to end in .html"),
        ("report pipes.vi churn.csv -o page.html", "lacks the columns"),
    ],
)
def test_refusals_write_nothing(story, capsys, command, message):
    assert main([*command.split(), "--quiet"]) == 2
    assert message in capsys.readouterr().err
    assert not list(story.glob("page*"))
