"""``vanishing completion``: completion of commands, options and files for shells, by shtab from the parsers."""

from __future__ import annotations

import argparse

EXAMPLES = (
    "vanishing completion bash > vanishing.bash   # then: source vanishing.bash",
    "vanishing completion zsh > _vanishing        # in a folder of $fpath",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    from .main import build_parser

    try:
        import shtab
    except ImportError as error:
        raise ImportError("Completion needs shtab: pip install 'vanishing[completion]'.") from error
    parser = build_parser(every=True)
    _complete_files(parser, shtab.FILE)
    print(shtab.complete(parser, shell=arguments.shell), end="")


def _complete_files(parser: argparse.ArgumentParser, files: dict[str, str]) -> None:
    """Let arguments that name a file complete names of files, for all commands of the parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)
        elif action.metavar in ("FILE", "MODEL"):
            action.complete = files  # type: ignore[attr-defined]
