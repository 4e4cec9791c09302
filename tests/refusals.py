"""How much memory a file takes that is refused, measured in a process of its own.

In the process of the tests, threads that other tests left behind allocate too, and would be counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_CODE = """
import json
import sys
import tracemalloc
from pathlib import Path

from vanishing import Moments, datasets, load

readers = {
    "model": load,
    "moments": Moments.load,
    "table": lambda path: datasets.load(Path(path).name.split(".")[0], data_dir=Path(path).parent),
}
for line in sys.stdin:
    kind, path = json.loads(line)
    for _ in range(2):  # the first time imports what a refusal needs
        error, message = None, None
        tracemalloc.start()
        try:
            readers[kind](path)
        except Exception as caught:
            error, message = type(caught).__name__, str(caught)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    print(json.dumps([error, message, peak]), flush=True)
"""


class Refusals:
    """A process that reads one file after the other and reports error, message and peak of its memory in bytes."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", _CODE], stdin=pipe, stdout=pipe, text=True)

    def __call__(self, kind: str, path: Any) -> tuple[str | None, str | None, int]:
        self._process.stdin.write(json.dumps([kind, str(path)]) + "\n")
        self._process.stdin.flush()
        error, message, peak = json.loads(self._process.stdout.readline())
        return error, message, peak

    def close(self) -> None:
        self._process.communicate()
