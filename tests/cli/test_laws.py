"""The command ``vanishing laws``."""

import json
import re

import numpy as np
import pytest

from vanishing.cli import main


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    energy = rng.uniform(0.5, 3.0, 10)
    t = rng.uniform(0.0, 2.0 * np.pi, (10, 60))
    x, v = np.sqrt(energy)[:, None] * np.cos(t) / 2, np.sqrt(energy)[:, None] * np.sin(t)
    rows = np.column_stack([x.ravel(), v.ravel(), np.repeat(energy, 60), np.repeat(np.arange(10), 60)])
    rows[:, :3] += 0.01 * rows[:, :3].std(axis=0) * rng.normal(size=(600, 3))
    path = tmp_path_factory.mktemp("laws") / "runs.csv"
    np.savetxt(path, rows, delimiter=",", header="x,v,E,run", comments="")
    return str(path)


def test_a_law_is_printed(table, capsys):
    assert main(["laws", table, "--columns", "x,v,E", "--quiet", "--max-degree", "2"]) == 0
    assert capsys.readouterr().out.startswith("4*x^2 + v^2 = E   noise 1.0% of a deviation   p-value")


@pytest.mark.slow
def test_groups_units_json_and_picture(table, capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    target, picture = tmp_path / "laws.json", tmp_path / "laws.png"
    options = ["--groups", "run", "--columns", "x,v", "-o", str(target), "--plot", str(picture), "--quiet"]
    assert main(["laws", table, *options]) == 0
    assert re.match(r"x\^2 \+ 0.25\d+\*v\^2 = const", capsys.readouterr().out)  # a real number: 1/4 is two errors away
    assert json.loads(target.read_text())["laws"][0]["conserved"]
    assert picture.stat().st_size > 10_000


def test_no_law_is_an_answer(tmp_path, capsys):
    path = tmp_path / "noise.csv"
    np.savetxt(path, np.random.default_rng(1).normal(size=(200, 2)), delimiter=",", header="a,b", comments="")
    assert main(["laws", str(path), "--quiet"]) == 0
    assert "No law up to degree" in capsys.readouterr().out
    assert main(["laws", str(path), "--quiet", "--expect-laws", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["laws"] == []


def test_units_are_read_or_refused(table, capsys):
    assert main(["laws", table, "--units", "x", "--quiet"]) == 2
    assert "--units needs entries such as p=Pa" in capsys.readouterr().err
