"""``vanishing completion``: completion of commands, options and files for shells, from the parsers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

__all__ = ["EXAMPLES", "add_arguments", "run"]

EXAMPLES = (
    "vanishing completion bash > vanishing.bash   # then: source vanishing.bash",
    "vanishing completion zsh > _vanishing        # in a folder of $fpath",
)
# Both shells set $command, $before and $word; this part, which chooses what may follow, is the same in both.
_CHOICE = """    case "$command $before" in
{choices}
    esac
    if [[ -z $found ]]; then
        case "$command" in
{options}
        esac
        found=$values
        [[ $word == -* ]] && found=$options
    fi"""
_BASH = """# completion of the command vanishing
_vanishing() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
    local found= options= values=
    [[ $command == moments && $COMP_CWORD -gt 2 ]] && command="moments ${{COMP_WORDS[2]}}"
    [[ $COMP_CWORD -eq 1 ]] && command=
{choice}
    COMPREPLY=($(compgen -W "$found" -- "$word"))
    [[ ${{#COMPREPLY[@]}} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _vanishing vanishing
"""
_ZSH = """#compdef vanishing
# completion of the command vanishing
_vanishing() {{
    local word=$PREFIX before=${{words[CURRENT-1]}} command=${{words[2]}}
    local found= options= values=
    [[ $command == moments && $CURRENT -gt 3 ]] && command="moments ${{words[3]}}"
    [[ $CURRENT -eq 2 ]] && command=
{choice}
    compadd -- ${{=found}} || _files
}}
# A file of $fpath is the function itself at its first call; one that is sourced has to be registered.
if [[ $funcstack[1] == _vanishing ]]; then _vanishing "$@"; else compdef _vanishing vanishing; fi
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("shell", choices=("bash", "zsh"), help="the shell")


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    from .main import build_parser

    template = _BASH if arguments.shell == "bash" else _ZSH
    print(template.format(choice=_choices(build_parser(every=True))), end="")


def _choices(parser: argparse.ArgumentParser) -> str:
    """What may follow each command and option."""
    options, choices = [], []
    for name, command in _commands("", parser):
        flags = [option for action in command._actions for option in action.option_strings if option.startswith("--")]
        values = [word for action in command._actions if not action.option_strings for word in action.choices or ()]
        words = f"options={shlex.quote(' '.join(flags))} values={shlex.quote(' '.join(values))}"
        options.append(f"            {shlex.quote(name)}) {words} ;;")
        for action in command._actions:
            if action.option_strings and action.choices is not None:
                cases = "|".join(shlex.quote(f"{name} {option}") for option in action.option_strings)
                choices.append(f"        {cases}) found={shlex.quote(' '.join(map(str, action.choices)))} ;;")
    return _CHOICE.format(options="\n".join(options), choices="\n".join(choices))


def _commands(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """All commands with their parsers, the program itself under the empty name."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner, sub in action.choices.items():
                yield from _commands(f"{name} {inner}".strip(), sub)
