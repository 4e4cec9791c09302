"""The walk through the house: which files and functions of the package a call passes through, with default parameters.

python tools/walk.py                # counts
python tools/walk.py --files        # and the files in the order in which the data meet them
python tools/walk.py --functions    # and the functions of each file in that order

A comprehension or lambda counts as a function of its own, which it is before Python 3.12; the second number leaves them
out, as a reader sees them inside of the function that contains them.
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


def walk(call: Callable[[], object]) -> dict[str, list[str]]:
    """The distinct functions of each file of the package, in the order in which the call enters them."""
    functions: dict[str, dict[str, None]] = {}

    def watch(frame, kind, _):
        code = frame.f_code
        if kind == "call" and code.co_filename.startswith(str(SOURCE)):
            file = str(Path(code.co_filename).relative_to(SOURCE))
            functions.setdefault(file, {}).setdefault(code.co_qualname)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {file: list(names) for file, names in functions.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="list the files, too")
    parser.add_argument("--functions", action="store_true", help="list the functions of each file, too")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.random((1000, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    y = X[:, 0] > X[:, 1] ** 2
    model = OAVI().fit(X)
    calls = {
        "OAVI().fit": lambda: OAVI().fit(X),
        "transform": lambda: model.transform(X),
        "VanishingIdealClassifierCV().fit": lambda: VanishingIdealClassifierCV().fit(X, y),
    }
    for name, call in calls.items():
        call()  # compiles what is not compiled yet
        functions = walk(call)
        names = [function for inside in functions.values() for function in inside]
        n_named = sum(not function.endswith(">") for function in names)
        print(f"{name}: {len(functions)} files, {len(names)} functions ({n_named} without comprehensions and lambdas)")
        if arguments.files and not arguments.functions:
            print("    " + ", ".join(functions))
        if arguments.functions:
            print("\n".join(f"    {file}: {', '.join(inside)}" for file, inside in functions.items()))


if __name__ == "__main__":
    main()
