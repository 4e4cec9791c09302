"""Pages of the site that are made from other files: benchmarks, the changelog, the options of the command line."""

import argparse
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MADE = ROOT / "docs" / "made"  # ignored by git


def setup(app):
    app.connect("builder-inited", lambda app: make_pages())
    app.connect("source-read", point_into_the_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def make_pages():
    """Write all pages, each only if it has changed, so that a second build is short."""
    pages = {f"benchmarks/{path.name}": path.read_text() for path in sorted((ROOT / "benchmarks").glob("*.md"))}
    pages["changelog.md"] = (ROOT / "CHANGELOG.md").read_text()
    pages["contributing.md"] = (ROOT / "CONTRIBUTING.md").read_text()
    pages["commands.md"] = describe_commands()
    for path in MADE.rglob("*.md"):
        if str(path.relative_to(MADE)) not in pages:
            path.unlink()
    for name, text in pages.items():
        target = MADE / name
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def point_into_the_site(app, docname, source):
    """Let links that work in the repository work in the site."""
    here = "../" * docname.count("/")
    text = re.sub(r"\]\((?:\.\./)*benchmarks/(\w+\.md)", rf"]({here}made/benchmarks/\1", source[0])
    text = re.sub(r"\]\((?:\.\./)*CHANGELOG\.md", rf"]({here}made/changelog.md", text)
    source[0] = re.sub(r"\]\((?:\.\./)*CONTRIBUTING\.md", rf"]({here}made/contributing.md", text)


def describe_commands():
    """All commands with their options, from the parsers."""
    from vanishing.cli.main import COMMANDS, build_parser

    os.environ["COLUMNS"] = "100"  # which argparse asks for the width of a line
    parts = ["# Options of every command", "Made from the parsers: what `--help` prints."]
    commands = subcommands(build_parser(every=True))
    for name, text in COMMANDS.items():
        parts += [f"## {name}", f"{text[0].upper()}{text[1:]}."]
        parts += [
            f"```text\n{parser.format_help().strip()}\n```"
            for parser in [commands[name], *subcommands(commands[name]).values()]
        ]
    return "\n\n".join(parts) + "\n"


def subcommands(parser):
    """The parsers of the commands of a parser, by name."""
    found = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return found[0] if found else {}
