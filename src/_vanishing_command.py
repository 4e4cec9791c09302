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

    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End at once: no exception, which an import under way might catch or turn into another one."""
    os.write(2, b"\nvanishing: interrupted; nothing was written.\n")
    os._exit(130)
