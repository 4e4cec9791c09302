"""Pages of the site that are made from other files: benchmarks, the changelog, the options of the command line."""

import argparse
import re
from pathlib import Path
from unittest import mock

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
    parser = the_parser()
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    summaries = {action.dest: action.help for action in commands._choices_actions}
    parts = ["# Options of every command", "Made from the parsers: what `--help` prints."]
    for name, command in commands.choices.items():
        parts += [f"## vanishing {name}", f"{summaries[name]}.", f"```text\n{command.format_help().strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def the_parser():
    """The parser of the command line, which ``main`` builds: caught when it is asked to parse."""
    from vanishing.cli import main

    class Caught(BaseException):
        pass

    def catch(parser, *_, **__):
        raise Caught(parser)

    with mock.patch.object(argparse.ArgumentParser, "parse_args", catch):
        try:
            main([])
        except Caught as caught:
            return caught.args[0]
    raise RuntimeError("vanishing.cli.main no longer calls parse_args: update tools/website/pages.py.")
