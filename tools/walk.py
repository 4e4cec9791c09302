"""The walk through the house: which files and functions of the package a call passes through.

python tools/walk.py            # counts
python tools/walk.py --files    # and the files in the order in which the data meet them
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

import vanishing
from vanishing import OAVI, VanishingIdealClassifierCV

SOURCE = Path(vanishing.__file__).parent


def walk(call: Callable[[], object]) -> tuple[list[str], int]:
    """Files of the package, in the order in which they are entered, and the number of distinct functions."""
    files: dict[str, None] = {}
    functions: set[tuple[str, str]] = set()

    def watch(frame, kind, _):
        code = frame.f_code
        if kind == "call" and code.co_filename.startswith(str(SOURCE)):
            file = str(Path(code.co_filename).relative_to(SOURCE))
            files.setdefault(file)
            functions.add((file, code.co_qualname))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(files), len(functions)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="list the files, too")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.random((1000, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    y = X[:, 0] > X[:, 1] ** 2
    model = OAVI().fit(X)
    search = VanishingIdealClassifierCV(psis=[0.01, 0.001])
    search.fit(X, y)
    calls = {
        "OAVI().fit": lambda: OAVI().fit(X),
        "transform": lambda: model.transform(X),
        "VanishingIdealClassifierCV().fit": lambda: search.fit(X, y),
    }
    for name, call in calls.items():
        files, n_functions = walk(call)
        print(f"{name}: {len(files)} files, {n_functions} functions")
        if arguments.files:
            print("    " + ", ".join(files))


if __name__ == "__main__":
    main()
