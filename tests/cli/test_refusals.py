"""Bad input: one sentence on standard error, status 2, nothing written or overwritten."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import vanishing.rows.writing
from vanishing.cli.main import main

pytest.importorskip("pyarrow")

REFUSED = {
    # tables
    "no such file": ("fit nothing.csv", r"No data files at 'nothing.csv'"),
    "not a table": ("fit picture.parquet", "cannot be read as parquet: it is no such table"),
    "an empty file": ("laws empty.csv", "empty.csv is empty: give a table with names of columns"),
    "a ragged line": ("laws ragged.csv", "has 2 columns in its first line and 3 in line 3: mend that line"),
    "no names of columns": ("fit bare.csv --target y", "it has 0.5, yes. Its first line has to name the columns."),
    "numbers with signs": (
        "fit shares.csv --target y",
        "numbers or dates in 'share' (such as '1%'): leave it out with",
    ),
    "numbers as classes": ("fit pipes.csv --target flow", "The column of --target holds numbers, not classes"),
    "a missing class": ("fit unknown.csv --target y", "A label is missing in row 1 of unknown.csv"),
    "Excel": ("fit sheet.xlsx", "save the sheet as .csv"),
    "a model as a table": ("fit churn.csv churn.vi -o new.vi", "churn.vi holds no table: give files of rows"),
    "no numeric columns": ("detect words.csv", "words.csv has no columns of numbers to use; it has name, town"),
    "text columns": ("fit churn.csv", "and text in 'churned': leave them out with --exclude id,ts,churned."),
    "a word among numbers": ("laws spoiled.csv", "has the value 'oops' in the column 'b'"),
    "two columns of one name": ("laws twice.csv", "has two columns 'a': rename one of them"),
    "no rows": ("laws header.csv", "header.csv"),
    # columns
    "missing target": ("fit churn.csv --target gone", "has no column 'gone'; it has id, age, calls, ts, churned"),
    "unknown exclude": ("fit churn.csv --exclude gone", "has no column 'gone'"),
    "wrong columns at predict": (
        "predict churn.vi pipes.csv",
        "pipes.csv lacks the columns 'age', 'calls' that the model was fitted to; it has speed, area, flow.",
    ),
    "text at predict": (
        "predict churn.vi renamed.csv",
        "has text in 'age', which the model cannot take: convert it first",
    ),
    "missing values at predict": ("predict churn.vi gap.csv", r"the first in row 1 of gap.csv"),
    "no column of labels": ("score clicks.vi gone.csv", "No data files"),
    "unknown id": ("predict churn.vi new.parquet --id gone", "has no column 'gone'"),
    "groups are needed": ("check runs2.vi runs.parquet", "name their column with --groups"),
    "units of a missing column": ("laws pipes.csv --units q=m", "--units names a column that the data lack: 'q'"),
    # models
    "no such model": ("show nothing.vi", "nothing.vi: no such file or directory"),
    "a table as a model": ("predict churn.csv new.parquet", "churn.csv holds no model, or is damaged"),
    "a damaged model": ("show damaged.vi", "damaged.vi holds no model, or is damaged"),
    "laws cannot predict": (
        "predict pipes.vi pipes.csv",
        "pipes.vi holds laws, but 'vanishing predict' needs a classifier or a detector.",
    ),
    "classifiers cannot be checked": ("check churn.vi churn.csv", "check' needs laws, rules or a detector."),
    "a classifier is no ideal": ("export churn.vi --to sage", "export it to onnx, torch, numpy or sql"),
    "moments as a table": ("predict churn.vi north.npz", "north.npz holds no table"),
    "groups of moments": (
        "laws north.npz --groups a --drop-missing --columns b",
        "sums over rows that are gone: leave out --columns, --groups, --drop-missing, or give a table.",
    ),
    "weights of moments": ("detect north.npz --weight a", "are gone: leave out --weight, or give a table."),
    "rules of moments": ("rules north.npz", "rules need rows, to count those that miss a rule: give a table, or look"),
    "gaps in laws": ("laws holes.csv", "Column 'b' has missing values: at least 1, one in row 1 of holes.csv. Fill"),
    "gaps in rules": (
        "rules holes.csv",
        "in row 1 of holes.csv. Fill them, or leave such rows out with --drop-missing.",
    ),
    "gaps in a check": (
        "check pipes.vi flow.csv",
        "Column 'area' has missing values: at least 1, one in row 2 of flow.csv",
    ),
    "nothing but gaps": (
        "check pipes.vi void.csv --drop-missing",
        "Every row has a missing value, so none can be checked: 2 of 2",
    ),
    "a column that a law needs": ("check pipes.vi new.csv", "new.csv lacks the columns 'speed', 'area', 'flow' that"),
    "moments that differ": ("moments merge north.npz clicks3.npz -o all.npz", "clicks3.npz cannot be added to north"),
    # outputs
    "an existing output": ("fit churn.csv --target churned -o churn.vi", "churn.vi exists: add --force"),
    "an existing table": ("predict churn.vi new.parquet -o gas.csv", "gas.csv exists: add --force"),
    "the input as output": ("predict churn.vi new.csv -o new.csv --force", "new.csv is one of the input files"),
    "no such folder": ("laws pipes.csv -o no/laws.vi", "There is no folder no: make it first."),
    "a folder as output": ("laws pipes.csv -o folder.vi", "folder.vi is a folder"),
    "another suffix": ("laws pipes.csv -o laws.txt", "has to end in .vi or .json"),
    "onnx on the screen": ("export churn.vi --to onnx", "name it with -o"),
    # numbers
    "psi": ("fit clicks --psi -1", "--psi must be at least 0"),
    "degree": ("laws pipes.csv --max-degree 0", "--max-degree must be"),
    "false alarms": ("detect normal.csv --false-alarms 2", "--false-alarms must be above 0"),
    "width": ("check pipes.vi pipes.csv --width 0", "--width must be above 0"),
    "encoding": ("laws pipes.csv --encoding klingon", "encoding 'klingon' is unknown"),
    "delimiter": ("laws pipes.csv --delimiter ab", "one character each"),
    "target and label": ("fit churn.csv --target churned --label churned", "choose one of them"),
}


@pytest.fixture(scope="module")
def spoiled_story(fitted_story, tmp_path_factory):
    """The story with files that are not what they seem; commands that are refused leave it as it is."""
    story = tmp_path_factory.mktemp("spoiled") / "story"
    shutil.copytree(fitted_story, story)
    (story / "picture.parquet").write_bytes(b"\x89PNG\r\n" + bytes(200))
    (story / "empty.csv").write_text("")
    (story / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    (story / "bare.csv").write_text("0.5,yes\n0.6,no\n")
    (story / "shares.csv").write_text("share,y\n" + "".join(f"{k % 9 + 1}%,{'ny'[k % 2]}\n" for k in range(40)))
    (story / "unknown.csv").write_text("a,y\n1,yes\n2,\n3,no\n")
    (story / "sheet.xlsx").write_bytes(bytes(100))
    (story / "words.csv").write_text("name,town\nx,y\n")
    (story / "spoiled.csv").write_text("a,b\n" + "1,2\n" * 300_000 + "3,oops\n")
    (story / "twice.csv").write_text("a,a\n1,2\n")
    (story / "header.csv").write_text("a,b\n")
    (story / "renamed.csv").write_text("age,calls\nold,3\n")
    (story / "gap.csv").write_text("age,calls\n30,1\n,2\n")
    (story / "holes.csv").write_text("a,b\n" + "1,2\n3,\n" + "".join(f"{k},{k * k}\n" for k in range(9)))
    (story / "flow.csv").write_text("area,speed,flow\n1,2,2\n1,3,3\n,1,1\n")
    (story / "void.csv").write_text("area,speed,flow\n,2,2\n1,,3\n")
    (story / "damaged.vi").write_bytes((story / "churn.vi").read_bytes()[:1000])
    (story / "folder.vi").mkdir()
    vanishing.Moments(3).save(story / "clicks3.npz")
    laws = vanishing.load(story / "runs.vi")
    laws.save(story / "runs2.vi")  # without the note of its groups
    return story


@pytest.fixture
def spoiled(spoiled_story, monkeypatch):
    monkeypatch.chdir(spoiled_story)
    return spoiled_story


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_sentence(name, spoiled, capsys):
    command, message = REFUSED[name]
    quiet = [] if command.split()[0] in ("show", "export", "moments") else ["--quiet"]
    before = contents(spoiled)
    assert main([*command.split(), *quiet]) == 2
    seen = capsys.readouterr()
    assert seen.err.startswith("vanishing: ")
    assert seen.err.count("\n") == 1
    assert message in seen.err
    assert seen.out == ""
    assert contents(spoiled) == before


@pytest.mark.parametrize(
    "command",
    [
        "fit clicks -o full.vi",
        "laws pipes.csv -o full.vi",
        "predict churn.vi new.parquet -o full.csv",
        "transform clicks.vi new.parquet -o full.parquet",
        "export clicks.vi --to sql -o full.sql",
    ],
)
def test_a_full_disk_leaves_nothing(command, story, capsys, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(vanishing.rows.writing.os, "replace", refuse)
    before = set(story.iterdir())
    assert main([*command.split(), *([] if command.startswith("export") else ["--quiet"])]) == 2
    assert "There is no room to write full" in capsys.readouterr().err
    assert set(story.iterdir()) == before


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(story, capsys, monkeypatch):
    monkeypatch.setattr("vanishing.cli.outputs.os.access", lambda *_: False)
    assert main(["laws", "pipes.csv", "-o", "laws.vi", "--quiet"]) == 2
    assert "cannot be written to: choose another one" in capsys.readouterr().err


def test_force_replaces_the_output(story, capsys):
    before = (story / "pipes.vi").read_bytes()
    assert main(["laws", "gas.csv", "-o", "pipes.vi", "--force", "--quiet"]) == 0
    assert (story / "pipes.vi").read_bytes() != before


@pytest.mark.parametrize(
    ("between", "encoding", "options"),
    [(";", "latin-1", ["--decimal", ","]), (";", "utf-8-sig", []), ("\t", "utf-16", ["--delimiter", "tab"])],
)
def test_csv_files_of_other_places_are_read(between, encoding, options, story, capsys):
    rows = np.random.default_rng(0).uniform(1.0, 3.0, (300, 2))
    lines = [between.join(f"{v:.15f}".replace(".", ",") for v in (a, b, a * b)) for a, b in rows]
    text = "\n".join([between.join(["länge", "breite", "fläche"]), *lines, ""])
    (story / "other.csv").write_bytes(text.encode(encoding))
    assert main(["laws", "other.csv", "--quiet", *options]) == 0
    assert "länge*breite = fläche" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:The level of ts drifts")
def test_row_numbers_are_pointed_out(story, capsys):
    assert main(["detect", "normal.csv", "--quiet"]) == 0
    assert "Column 'ts' only numbers the rows: leave it out with --exclude ts." in capsys.readouterr().err


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(story):
    script = f"{sys.executable} -m vanishing predict churn.vi churn.csv --quiet | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "0"
    assert done.stderr == ""


def test_a_name_in_capitals_stays_in_capitals(tmp_path, capsys):
    pd.DataFrame({"T": np.arange(60.0), "L": np.random.default_rng(0).normal(size=60)}).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert main(["laws", str(tmp_path / "t.csv"), "--quiet"]) == 0
    assert "Column 'T' only numbers the rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "example"), [(["2,5", "n.d.", "0,5"], " (such as 'n.d.')"), (["one", "two", "three"], "")]
)
def test_a_stray_text_among_numbers_is_shown(values, example, tmp_path, capsys):
    lines = [f"{k},5;{value}" for k, value in enumerate(values)]
    (tmp_path / "strays.csv").write_text("\n".join(["a;b", *lines, ""]))
    assert main(["laws", str(tmp_path / "strays.csv"), "--quiet"]) == 2
    assert f"has text in 'b'{example}: leave it out with --exclude b." in capsys.readouterr().err
