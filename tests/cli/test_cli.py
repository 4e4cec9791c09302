import io
import re
import subprocess
import sys

import pytest

import vanishing
from vanishing.cli.demo import tell
from vanishing.cli.main import main


@pytest.mark.slow
def test_demo_finds_the_ellipsoid_and_beats_raw_inputs():
    out = io.StringIO()
    tell(20_000, random_state=1, out=out)
    text = out.getvalue()
    assert float(re.search(r"relative to the largest: (\S+)", text)[1]) < 1e-3
    raw, mapped = (float(x) for x in re.findall(r": (\d+\.\d+)%$", text, flags=re.MULTILINE))
    assert mapped < raw


@pytest.mark.slow
def test_demo_runs_from_the_shell():
    command = [sys.executable, "-W", "error", "-m", "vanishing", "demo", "--rows", "2000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Where to go next" in done.stdout


@pytest.mark.parametrize("rows", ["7", "99", "-2"])
def test_odd_row_counts_are_refused(rows, capsys):
    assert main(["demo", "--rows", rows]) == 2
    assert "even number" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert vanishing.__version__ in capsys.readouterr().out


def test_without_a_command_the_commands_are_listed(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().err
    assert "usage: vanishing" in shown
    assert "find the laws of a noisy table" in shown
