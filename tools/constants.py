"""The named numbers of the package, folder by folder, each with the reason that stands beside it.

python tools/constants.py                  # counts by folder
python tools/constants.py --list svm       # the numbers of some folders, with their reasons

A named number is an assignment of a number, or of a tuple of numbers, to a name in capitals, in a module or a class, or
the default of a field of a dataclass. Its reason is the comment behind it; for a field, its entry in the docstring.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src" / "vanishing"
CAPITALS = re.compile(r"_?[A-Z][A-Z0-9_]*$")


class Constant(NamedTuple):
    """A named number."""

    folder: str
    place: str
    name: str
    value: str
    reason: str


def is_number(node: ast.expr | None) -> bool:
    """Whether an expression is made of numbers alone: literals, their sums and products, tuples and calls of them."""
    if node is None:
        return False
    numbers = any(isinstance(each, ast.Constant) and type(each.value) in (int, float) for each in ast.walk(node))
    texts = any(isinstance(each, ast.Constant) and isinstance(each.value, (str, bytes)) for each in ast.walk(node))
    return numbers and not texts and not isinstance(node, (ast.Dict, ast.Lambda, ast.ListComp, ast.DictComp))


def constants(path: Path) -> Iterator[Constant]:
    """The named numbers of a module."""
    text = path.read_text()
    lines = text.splitlines()
    folder = path.parent.relative_to(SOURCE).as_posix()
    for owner in ast.walk(ast.parse(text)):
        if not isinstance(owner, (ast.Module, ast.ClassDef)):
            continue
        is_dataclass = isinstance(owner, ast.ClassDef) and any(
            "dataclass" in ast.unparse(each) for each in owner.decorator_list
        )
        entries = (ast.get_docstring(owner) or "") if is_dataclass else ""
        for node in owner.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [
                each.id for target in targets for each in ast.walk(target or ast.Pass()) if isinstance(each, ast.Name)
            ]
            value = getattr(node, "value", None)
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not is_number(value):
                continue
            for name in names:
                if not (CAPITALS.match(name) or is_dataclass):
                    continue
                line = lines[node.lineno - 1]
                entry = re.search(rf"^{name} : .*\n((?:    .*\n?)+)", entries, re.MULTILINE)
                reason = line.split("#", 1)[1].strip() if "#" in line else entry.group(1).strip() if entry else ""
                yield Constant(folder, f"{path.name}:{node.lineno}", name, ast.unparse(value), reason)


def main() -> None:
    """Print counts, or the numbers of some folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--list", nargs="*", metavar="FOLDER", help="list the numbers of these folders; of all, if none"
    )
    arguments = parser.parse_args()
    found = [each for path in sorted(SOURCE.rglob("*.py")) for each in constants(path)]
    if arguments.list is not None:
        for each in found:
            if not arguments.list or any(each.folder.startswith(folder) for folder in arguments.list):
                print(f"{each.folder}/{each.place} {each.name} = {each.value}: {each.reason or 'NO REASON GIVEN'}")
        return
    folders = sorted({each.folder for each in found})
    for folder in folders:
        own = [each for each in found if each.folder == folder]
        print(f"{len(own):4} {folder} ({sum(not each.reason for each in own)} without a reason)")
    print(f"{len(found):4} in all")


if __name__ == "__main__":
    main()
