"""Results of experiments that are kept: resumed, refused, damaged, and made again."""

import json
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from small_experiments import labels, records_in, write_table

from vanishing.experiments._store import Store
from vanishing.rows import writing

KEY = ("seeds", "ABM", "0")


@pytest.mark.parametrize("broken", ["write_text", "replace"])
def test_a_record_is_there_whole_or_not_at_all(tmp_path, monkeypatch, broken):
    store, write = Store(tmp_path / "new", {"a": 1}), Path.write_text

    def crash(path, text, *_):
        if broken == "write_text":
            write(path, text[: len(text) // 2])
        raise KeyboardInterrupt

    def put_and_crash(record):
        target = (Path, broken) if broken == "write_text" else (writing.os, broken)
        with monkeypatch.context() as patch:
            patch.setattr(*target, crash)
            with pytest.raises(KeyboardInterrupt):
                store.put(KEY, record)

    put_and_crash({"error": 1.0})
    assert store.get(KEY) is None  # without a warning
    store.put(KEY, {"error": 2.0})
    put_and_crash({"error": 3.0})
    assert Store(tmp_path / "new", {"a": 1}).get(KEY) == {"error": 2.0, "origin": ""}


def test_finished_runs_are_not_made_again(run, tuning):
    run(runs=2, algorithms=["ABM"])
    run(runs=3, algorithms=["ABM", "VCA"])
    run(runs=2, algorithms=["VCA"])
    assert [name for name, _ in tuning] == ["ABM", "ABM", "VCA", "VCA", "ABM", "VCA"]


def test_progress_says_what_is_there_and_what_is_left(run, tuning, capsys):
    run(runs=1, quiet=False)
    run(runs=3, quiet=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "1 of 3 runs are there already"
    assert re.fullmatch(r"3/3 seeds BPCGAVI 2: \d+\.\d s; about 0 s left", lines[-1])


@pytest.mark.parametrize(
    ("name", "found", "wanted"),
    [
        ("vanishing", "0.0.1", ""),
        ("protocol", "published", "correct"),
        ("experiment", "fig1", "table3"),
        ("x", 1, None),
    ],
)
def test_other_results_are_refused_in_words(run, tuning, tmp_path, name, found, wanted):
    run(runs=1)
    notes = tmp_path / "table3-correct" / "results.json"
    content = json.loads(notes.read_text())
    content["settings"][name] = found
    notes.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=rf"holds other results \({name} {found!r}, not .*{wanted}.*--restart"):
        run(runs=1)
    assert len(tuning) == 1
    assert json.loads(notes.read_text()) == content


@pytest.mark.slow
def test_a_psi_that_rounds_to_the_same_name_is_another_one(run):
    run("fig1", quick=True)
    with pytest.raises(ValueError, match=r"psi 0\.005, not 0\.00500000001"):
        run("fig1", quick=True, psi=0.00500000001)


def test_results_from_another_machine_are_continued_with_a_warning(run, tuning, tmp_path):
    run(runs=1)
    notes = tmp_path / "table3-correct" / "results.json"
    content = json.loads(notes.read_text())
    content["environment"].update(machine="abacus", date="1642-01-01")
    notes.write_text(json.dumps(content))
    with pytest.warns(UserWarning, match="begun with other machine: times"):
        run(runs=2)
    assert len(tuning) == 2


def test_restart_deletes_the_runs_and_nothing_else(run, tuning, tmp_path):
    run(runs=2)
    run(runs=1, protocol="published")
    mine = tmp_path / "table3-correct" / "notes.txt"
    mine.write_text("mine")
    run(runs=1, restart=True)
    assert mine.read_text() == "mine"
    assert [protocol for _, protocol in tuning] == ["correct", "correct", "published", "correct"]
    assert records_in(tmp_path / "table3-correct").keys() == {("seeds", "BPCGAVI", "0")}
    assert records_in(tmp_path / "table3-published").keys() == {("seeds", "BPCGAVI", "0")}


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("content", [None, '{"mine": 1}'], ids=["no notes", "another program's notes"])
def test_a_folder_of_something_else_is_refused_and_left_alone(run, tuning, tmp_path, restart, content):
    folder = tmp_path / "table3-correct"
    (folder / "runs").mkdir(parents=True)
    (folder / "runs" / "thesis.tex").write_text("mine")
    if content:
        (folder / "results.json").write_text(content)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="--results"):
        run(runs=1, restart=restart)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_runs_about_other_rows_are_not_mixed_in(run, data_dir, tuning, tmp_path):
    run(runs=1)
    tables, rng = tmp_path / "tables", np.random.default_rng(1)
    tables.mkdir()
    write_table(tables, "seeds", rng.uniform(size=(210, 7)), labels("seeds"))
    with (
        pytest.warns(UserWarning, match="published splits"),
        pytest.raises(ValueError, match="is about other rows of seeds: choose another folder with --res"),
    ):
        run(runs=1, data_dir=str(tables))
    assert len(tuning) == 1


def test_a_folder_that_was_begun_but_not_noted_is_used(run, tuning, tmp_path):
    (tmp_path / "table3-correct").mkdir()
    (tmp_path / "table3-correct" / ".results.json.123.tmp").write_text("{")
    run(runs=1)
    assert len(tuning) == 1


def test_names_may_come_alone_or_from_a_generator(run, tuning):
    run(runs=1, data="seeds", algorithms="abm*")
    run(runs=1, data=(name for name in ["seeds"]), algorithms=(name for name in ["VCA"]), quick=np.False_)
    assert tuning == [("ABM", "correct"), ("VCA", "correct")]


def test_restart_uses_no_run_of_a_folder_that_has_lost_its_notes(run, tuning, tmp_path):
    run(runs=1)
    (tmp_path / "table3-correct" / "results.json").unlink()
    with suppress(ValueError):  # refusing it would be as good
        run(runs=1, restart=True)
        assert len(tuning) == 2


@pytest.mark.parametrize("damage", ["", '{"error": 1.', "\0", "[]", "1.5", "null"])
def test_a_damaged_record_is_made_again(run, tuning, tmp_path, damage):
    run(runs=2)
    path = tmp_path / "table3-correct" / "runs" / "seeds" / "BPCGAVI" / "1.json"
    whole = json.loads(path.read_text())
    path.write_text(damage)
    with pytest.warns(UserWarning, match=rf"{re.escape(str(path))} .*that run is repeated"):
        report = run(runs=2)
    assert len(tuning) == 3
    assert json.loads(path.read_text()).keys() == whole.keys()
    assert len(report.details["table3_runs"].rows) == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", "\0", '{"settings": [], "environment": {}}'])
def test_notes_that_cannot_be_read_are_an_error_that_says_so(run, tuning, tmp_path, damage):
    run(runs=1)
    (tmp_path / "table3-correct" / "results.json").write_text(damage)
    with pytest.raises(ValueError, match=r"results\.json cannot be read: choose another folder with --results"):
        run(runs=1)
    assert len(tuning) == 1


def test_restart_makes_up_for_damaged_notes(run, tuning, tmp_path):
    run(runs=1)
    (tmp_path / "table3-correct" / "results.json").write_text('{"settings": {')
    run(runs=1, restart=True)
    assert len(tuning) == 2
