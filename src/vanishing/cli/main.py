"""The parser of the command line, and what happens to errors, warnings and interrupts."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from .. import __version__
from .language import in_flags

#: The commands and what they do. Each has a module with ``EXAMPLES``, ``add_arguments(parser)`` and ``run(arguments)``,
#: which returns the exit status where that is not 0.
COMMANDS = {
    "laws": "find the laws of a noisy table with their uncertainties, or say that there are none",
    "fit": "train a classifier and tune it (--target), or find the equations between the columns",
    "detect": "learn what normal rows have in common, to detect rows that differ",
    "monitor": "list alarm episodes over time, with their columns and equations; exit status 1 if there are any",
    "rules": "learn the rules between columns that nearly all rows obey, and list the rows that do not",
    "predict": "write labels and probabilities of new rows; p-values and violations for a detector",
    "transform": "write the values of a model's equations on new rows, as features",
    "score": "measure how good a model is on rows that it has not seen",
    "check": "check new rows against laws, rules or a detector; exit status 1 and the worst rows if they fail",
    "show": "print the equations in a file",
    "report": "write one HTML page about a model and rows: equations, checks, pictures, data",
    "export": "write a model for other systems: ONNX, PyTorch, NumPy, SQL, LaTeX, computer algebra",
    "moments": "collect and merge sums over rows; models can be fitted to the sums alone",
    "info": "say what is in a table, a model or moments; without a file, what is installed",
    "demo": "find a law, an ellipsoid in two million points, and a classifier, in half a minute",
    "reproduce": "run the paper's experiments, and print them beside the published results",
    "completion": "print the completion of commands, options and files for bash, zsh or tcsh",
}
_STATUS = """exit status:
  0    done
  1    a check failed, there were alarm episodes, or --expect-laws found no law
  2    bad input: one sentence on standard error, nothing was written
  130  interrupted: nothing was written"""


def build_parser(chosen: str | None = None, *, every: bool = False) -> argparse.ArgumentParser:
    """The parser, with the arguments of the chosen command, or of ``every`` command.

    The other commands have a name and a line of help only, which keeps ``--help`` quick.

    Examples
    --------
    >>> build_parser("show").parse_args(["show", "model.vi"]).model
    'model.vi'
    """
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="vanishing",
        description="Learn the equations between the columns of a table: laws, rules, classifiers, detectors.",
        epilog=f"'vanishing COMMAND --help' explains a command and shows examples.\n\n{_STATUS}",
        formatter_class=plain,
    )
    parser.add_argument("--version", action="version", version=f"vanishing {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.formatter_class = plain
        if every or name == chosen:
            module = _module(name)
            command.epilog = "\n  ".join(["examples:", *module.EXAMPLES])
            module.add_arguments(command)
    return parser


def main(argv: Sequence[str] | None = None, *, loaded: Callable[[], None] | None = None) -> int:
    """Run the command line and return the exit status.

    ``argv`` are the arguments without the program's name. ``loaded`` is called when the slow imports are done: until
    then an interrupt may become another error.

    Examples
    --------
    >>> main(["demo", "--rows", "7"])
    2
    """
    given = list(sys.argv[1:] if argv is None else argv)
    if not given:
        build_parser().print_help(sys.stderr)
        return 2
    chosen = next((word for word in given if not word.startswith("-")), None)
    arguments, unknown = build_parser(chosen).parse_known_args(given)
    if unknown:
        command = f"vanishing {arguments.command}"
        print(f"vanishing: '{command}' does not take {unknown[0]!r}: see '{command} --help'.", file=sys.stderr)
        raise SystemExit(2)
    try:
        if loaded is not None:
            if arguments.command != "completion":
                import_module("..ideals", __package__)  # Numba, SciPy and scikit-learn
            loaded()
        with _termination_unwinds(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return int(_module(arguments.command).run(arguments) or 0)
    except KeyboardInterrupt:
        kept = "the finished runs are kept, and the same command goes on from there"
        what = kept if arguments.command == "reproduce" else "nothing was written"
        print(f"\nvanishing: interrupted; {what}.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (ValueError, OSError, ImportError, MemoryError) as error:
        print(f"vanishing: {in_flags(error)}", file=sys.stderr)
        return 2


def _module(command: str) -> ModuleType:
    return import_module(f".{command}", __package__)


@contextmanager
def _termination_unwinds() -> Iterator[None]:
    """Let SIGTERM raise SystemExit, so that commands remove unfinished files."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set signal handlers
        yield
        return

    def end(*_: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"vanishing: {in_flags(message)}", file=sys.stderr)
