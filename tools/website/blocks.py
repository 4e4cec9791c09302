"""Runs the code blocks of pages, and compares what they print with what the pages show.

``python`` blocks of a page run one after the other in one namespace. A ``text`` block right after one of them is what
that prints; ``...`` stands for anything, and ``text varies`` marks results that may differ with the versions of other
libraries. In ``console`` blocks, lines that begin with ``$ vanishing`` run, and the others are what they print. Tables
that a page speaks about but does not make are made in a comment ``<!-- setup ... -->`` of the page, or in
``tests/docs/setups``, in a file of the page's name.

python tools/website/blocks.py docs/start.md README.md     # write what is printed into the pages
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(
    r"^(?:```(?P<kind>python|console|text(?: varies)?)|<!-- (?P<setup>setup))\n(?P<body>.*?)^(?:```|-->)$", re.M | re.S
)
SETUPS = Path(__file__).resolve().parents[2] / "tests" / "docs" / "setups"
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block of a page: its kind, what is in it and where; where its output is shown, and whether that may differ."""

    kind: str
    body: str
    span: tuple[int, int]
    shown: tuple[int, int] | None
    varies: bool


def find_blocks(text):
    """The blocks of a page that can be run."""
    matches = list(_BLOCK.finditer(text))
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        kind = match["kind"] or match["setup"]
        if kind.startswith("text"):
            continue
        shown, varies = None, False
        if kind == "python" and following and (following["kind"] or "").startswith("text"):
            shown = None if text[match.end() : following.start()].strip() else following.span("body")
            varies = following["kind"] == "text varies"
        yield Block(kind, match["body"], match.span("body"), shown, varies)


def run_page(path, folder):
    """Run the blocks of a page in a folder; yields each with an output, what is shown and what was printed."""
    text, names = Path(path).read_text(), {"__name__": "__main__"}
    setup = SETUPS / f"{Path(path).stem}.py"
    with contextlib.chdir(folder):
        if setup.exists():
            exec(compile(setup.read_text(), str(setup), "exec"), names)
        for block in find_blocks(text):
            if block.kind == "console":
                yield block, block.body, _run_commands(block.body)
                continue
            line = text[: block.span[0]].count("\n")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * line + block.body, str(path), "exec"), names)
            if block.shown:
                yield block, text[slice(*block.shown)], _without_trailing_spaces(out.getvalue())


def agrees(shown, printed):
    """Whether an output is as shown."""
    return doctest.OutputChecker().check_output(shown, printed, _FLAGS)


def _run_commands(body):
    """The block with what its commands print."""
    lines = []
    for command in re.findall(r"^\$ (.*(?:\\\n.*)*)", body, re.M):
        lines.append(f"$ {command}")
        if command.startswith("vanishing "):
            ours = f"{sys.executable} -m {command}"
            environment = {**os.environ, "MPLBACKEND": "Agg"}
            done = subprocess.run(["bash", "-c", ours], capture_output=True, text=True, env=environment)
            if done.returncode:
                raise RuntimeError(f"{command}\n{done.stderr}")
            lines += done.stdout.splitlines()
    return "".join(f"{line}\n" for line in lines)


def _without_trailing_spaces(text):
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def write_outputs(path):
    """Write into a page what its blocks print."""
    with tempfile.TemporaryDirectory() as folder:
        results = list(run_page(path.resolve(), folder))
    text = path.read_text()
    for block, shown, printed in reversed(results):
        if not agrees(shown, printed):
            start, end = block.shown or block.span
            print(f"{path}: {printed}")
            text = text[:start] + printed + text[end:]
    path.write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(Path(name))
