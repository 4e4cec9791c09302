import logging
import shutil

import pytest
from command_story import write_story

from vanishing.cli.main import main


@pytest.fixture(autouse=True)
def no_note_about_compiling(monkeypatch):
    """Standard error holds what commands say, whether kernels are compiled or cached."""
    monkeypatch.setattr(logging.getLogger("vanishing"), "disabled", True)


@pytest.fixture(scope="session")
def fitted_story(tmp_path_factory):
    """A folder with the files of the examples, and a model of each kind."""
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("story")
    write_story(folder)
    for command in (
        "fit churn.csv --target churned --exclude id,ts -o churn.vi --quiet",
        "fit clicks --psi 1e-3 -o clicks.vi --quiet",
        "laws pipes.csv -o pipes.vi --quiet",
        "laws runs.parquet --groups run -o runs.vi --quiet",
        "detect normal.parquet --exclude ts -o normal.vi --quiet",
        "rules invoices.csv -o invoices.vi --quiet",
    ):
        words = [str(folder / word) if "." in word or word == "clicks" else word for word in command.split()]
        words = ["1e-3" if word.endswith("/1e-3") else word for word in words]
        assert main(words) == 0, command
    return folder


@pytest.fixture
def story(fitted_story, tmp_path, monkeypatch):
    """A copy of that folder, as the working folder."""
    folder = tmp_path / "story"
    shutil.copytree(fitted_story, folder)
    monkeypatch.chdir(folder)
    return folder
