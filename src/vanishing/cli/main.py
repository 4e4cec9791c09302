"""The command line: ``vanishing demo``, ``vanishing laws``, ``vanishing fit`` and ``vanishing reproduce``."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .. import __version__
from . import fit, laws, reproduce

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Examples
    --------
    >>> main(["demo", "--rows", "7"])
    2
    """
    parser = argparse.ArgumentParser(prog="vanishing", description="Approximate vanishing ideals at scale.")
    parser.add_argument("--version", action="version", version=f"vanishing {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="the law of a noisy table, an ellipsoid in two million points, two classes")
    demo.add_argument("--rows", type=int, default=2_000_000, help="rows of each data set (default: 2,000,000)")
    demo.add_argument("--seed", type=int, default=0, help="seed of the random numbers (default: 0)")
    laws.add_arguments(commands.add_parser("laws", help="find the laws of a noisy table, with uncertainties, or none"))
    fit.add_arguments(commands.add_parser("fit", help="find the equations of tables in files, of any size"))
    paper = commands.add_parser("reproduce", help="run the paper's experiments, beside the published results")
    reproduce.add_arguments(paper)
    arguments = parser.parse_args(argv)
    try:
        with _termination_unwinds(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            if arguments.command == "fit":
                fit.run(arguments)
            elif arguments.command == "laws":
                laws.run(arguments)
            elif arguments.command == "reproduce":
                reproduce.run(arguments)
            else:
                _demo(arguments)
    except KeyboardInterrupt:
        kept = "the finished runs are kept, and the same command goes on from there"
        what = kept if arguments.command == "reproduce" else "nothing was written"
        print(f"\nvanishing: interrupted; {what}.", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError) as error:
        print(f"vanishing: {error}", file=sys.stderr)
        return 2
    return 0


@contextmanager
def _termination_unwinds() -> Iterator[None]:
    """Let SIGTERM end a command like an interrupt, so that unfinished files are removed."""
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
    print(f"vanishing: {message}", file=sys.stderr)


def _demo(arguments: argparse.Namespace) -> None:
    if arguments.rows < 100 or arguments.rows % 2:
        raise ValueError(f"--rows must be an even number of at least 100, got {arguments.rows}.")
    from .demo import run  # imported here, so that --version and --help answer at once

    run(arguments.rows, arguments.seed)
