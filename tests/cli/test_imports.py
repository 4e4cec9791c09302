"""The command's entry point, which imports the rest."""

import signal
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import vanishing

SOURCE = Path(vanishing.__file__).resolve().parents[1]
PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

# Shells start background processes with interrupts ignored, and so may the tests have been started.
RUN = "signal.signal(signal.SIGINT, signal.{handler}); import _vanishing_command; sys.exit(_vanishing_command.main())"

SLOW_IMPORT = """
import time
print("importing", flush=True)
try:
    time.sleep(60)
except BaseException:
    pass
raise ImportError("another error, as extension modules make of an interrupt")
"""


def start(code, *path):
    setup = f"import signal, sys; sys.path[:0] = {list(map(str, path))}; sys.argv = ['vanishing', '--version']; "
    return subprocess.Popen(
        [sys.executable, "-c", setup + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_ctrl_c_during_imports_is_one_line(tmp_path):
    (tmp_path / "vanishing").mkdir()
    (tmp_path / "vanishing" / "__init__.py").write_text(SLOW_IMPORT)
    with start(RUN.format(handler="default_int_handler"), tmp_path, SOURCE) as command:
        assert command.stdout.readline() == "importing\n"
        command.send_signal(signal.SIGINT)
        _, errors = command.communicate(timeout=120)
    assert command.returncode == 130
    assert errors == "\nvanishing: interrupted; nothing was written.\n"


@pytest.mark.slow
@pytest.mark.parametrize("handler", ["default_int_handler", "SIG_IGN"])
def test_the_command_runs_and_leaves_interrupts_as_they_were(handler):
    run = RUN.format(handler=handler).replace("sys.exit(", "import atexit; atexit.register(check); sys.exit(")
    check = f"check = lambda: print(signal.getsignal(signal.SIGINT) is signal.{handler}); "
    with start(check + run, SOURCE) as command:
        output, errors = command.communicate(timeout=120)
    assert (command.returncode, errors) == (0, "")
    assert output.splitlines() == [f"vanishing {vanishing.__version__}", "True"]


def test_the_script_is_the_entry_point():
    module, function = tomllib.loads(PROJECT.read_text())["project"]["scripts"]["vanishing"].split(":")
    assert callable(getattr(import_module(module), function))


@pytest.mark.slow
def test_ctrl_c_during_the_imports_of_a_command_is_one_line(tmp_path):
    (tmp_path / "numba.py").write_text(SLOW_IMPORT)
    chosen = "sys.argv = ['vanishing', 'info']; import _van"
    run = RUN.format(handler="default_int_handler").replace("import _van", chosen)
    with start(run, tmp_path, SOURCE) as command:
        assert command.stdout.readline() == "importing\n"
        command.send_signal(signal.SIGINT)
        _, errors = command.communicate(timeout=120)
    assert command.returncode == 130
    assert errors == "\nvanishing: interrupted; nothing was written.\n"


def test_all_parsers_are_built_without_slow_imports():
    code = "from vanishing.cli.main import build_parser, sys; build_parser(every=True); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_names_of_experiments_are_those_that_exist():
    from vanishing import experiments
    from vanishing.cli import reproduce

    assert tuple(reproduce.EXPERIMENTS) == tuple(experiments.EXPERIMENTS)
    assert (reproduce.ALGORITHMS, reproduce.PROTOCOLS) == (experiments.ALGORITHMS, experiments.PROTOCOLS)
