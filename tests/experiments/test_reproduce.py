"""Experiments that are refused before any work, with the fix."""

import os
import sys
import urllib.error

import pytest
from small_experiments import posix

from vanishing.cli.main import main


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("table3 --data iris", "table3 has no data set 'iris'; choose from bank, credit, htru, skin, spam, seeds."),
        ("table3 --data synthetic", "table3 has no data set 'synthetic'; choose from"),
        ("table3 --algorithms OAVI", "no algorithm 'OAVI'; choose from CGAVI-IHB, AGDAVI-IHB"),
        ("fig1 --algorithms SVM", "fig1 has no algorithm 'SVM'; choose from"),
        ("bound --algorithms VCA", "bound has no algorithm 'VCA'; choose from CGAVI-IHB"),
        ("table3 --runs 0", "runs must be an integer of at least 1, got 0."),
        ("table3 --runs 11", "runs must be at most 10, the number of published splits; got 11."),
        ("table3 --jobs 0", "jobs must be an integer of at least 1, got 0."),
        ("fig1 --jobs 2", "fig1 measures times, one at a time: leave out jobs."),
        ("table3 --psi 0.1", "table3 goes over several psi: leave out psi."),
        ("bound --psi 0.1", "bound goes over several psi: leave out psi."),
        ("fig1 --psi -0.1", "psi must be above 0 and below 1, got -0.1."),
        ("fig1 --psi 0", "psi must be above 0 and below 1, got 0.0."),
        ("bound --runs 3", "bound makes one run, on all rows: leave out runs."),
        ("bound --algorithms AVI", "bound has no algorithm 'AVI'; choose from CGAVI-IHB"),
        ("fig2 --psi 1", "psi must be above 0 and below 1, got 1.0."),
        ("fig3 --psi nan", "psi must be a number, got nan."),
    ],
)
def test_wrong_options_are_refused_in_one_line_before_any_work(tmp_path, capsys, command, message):
    assert main(["reproduce", *command.split(), "--data-dir", "nowhere", "--results", str(tmp_path / "results")]) == 2
    err = capsys.readouterr().err
    assert err.startswith("vanishing: ")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("command", ["table2", "table3 --protocol exact", "table3 --runs many", "fig1 --data"])
def test_what_is_no_choice_at_all_shows_the_usage(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *command.split()])
    assert stop.value.code == 2
    assert "usage: vanishing reproduce" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"data": []}, "needs at least one data set: choose from"),
        ({"algorithms": [1]}, "There is no algorithm 1; choose from"),
        ({"algorithms": []}, "needs at least one algorithm: choose from"),
        ({"protocol": "exact"}, "protocol must be one of 'correct', 'published'; got 'exact'"),
        ({"experiment": "table4"}, "experiment must be one of 'table3', 'fig1'"),
        ({"runs": 2.5}, "runs must be an integer"),
        ({"jobs": True}, "jobs must be an integer"),
        ({"quick": "yes"}, "quick must be True or False"),
        ({"restart": "no"}, "restart must be True or False"),
        ({"experiment": "fig1", "psi": "small"}, "psi must be a number"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(run, tuning, tmp_path, how, message):
    with pytest.raises(ValueError, match=message):
        run(**how)
    assert not tuning
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", [True, False], ids=["in data_dir", "anywhere"])
def test_a_data_set_that_is_missing_is_named_with_the_folder_to_put_it_into(tmp_path, monkeypatch, capsys, given):
    def offline(**_):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    monkeypatch.delenv("VANISHING_DATA", raising=False)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "cache"))
    option = ["--data-dir", str(tmp_path / "tables")] if given else []
    assert main(["reproduce", "table3", "--data", "htru", "--results", str(tmp_path / "results"), *option]) == 2
    err = capsys.readouterr().err
    assert "htru.csv.gz" in err
    assert str(tmp_path / ("tables" if given else "cache/vanishing")) in err
    assert err.count("\n") == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_file_in_place_of_the_folder_of_results_is_an_error(data_dir, tuning, tmp_path, capsys, below):
    (tmp_path / "results").write_text("mine")
    command = ["reproduce", "table3", "--data", "seeds", "--data-dir", data_dir]
    assert main([*command, "--results", str(tmp_path / "results" / below)]) == 2
    err = capsys.readouterr().err
    assert str(tmp_path / "results") in err
    assert err.count("\n") == 1
    assert not tuning
    assert (tmp_path / "results").read_text() == "mine"


@posix
def test_a_folder_that_cannot_be_written_to_is_an_error_before_any_work(data_dir, tuning, tmp_path, capsys):
    tmp_path.chmod(0o555)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("this user may write everywhere")
    command = ["reproduce", "table3", "--data", "seeds", "--data-dir", data_dir]
    assert main([*command, "--results", str(tmp_path / "results")]) == 2
    assert str(tmp_path / "results") in capsys.readouterr().err
    assert not tuning


def test_without_matplotlib_the_extra_is_named_before_any_work(data_dir, tuning, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    command = ["reproduce", "table3", "--data", "seeds", "--data-dir", data_dir]
    assert main([*command, "--results", str(tmp_path / "results")]) == 2
    assert "pip install 'vanishing[plots]'" in capsys.readouterr().err
    assert not tuning
    assert not (tmp_path / "results").exists()
