"""The ``vanishing`` command, beside the package: importing that takes seconds, in which Ctrl-C should work as well."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> int:
    """Run the command line; returns the exit status."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:  # not where a shell has told the process to ignore it
        signal.signal(signal.SIGINT, _leave)
    from vanishing.cli.main import main as run

    if not interruptible:
        return run()
    try:
        return run(loaded=_interrupt_as_usual)
    finally:
        _interrupt_as_usual()


def _interrupt_as_usual() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End at once: no exception, which an import under way might catch or turn into another one."""
    os.write(2, b"\nvanishing: interrupted; nothing was written.\n")
    os._exit(130)
