"""Completion of commands, options and files, in the shells themselves."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys

import pytest

from vanishing.cli.main import main

TYPED = {
    "vanishing pred": "predict",
    "vanishing export churn.vi --to mac": "macaulay2",
    "vanishing moments collect --deg": "--degree",
    "vanishing fit chu": "churn.csv",
    "vanishing completion z": "zsh",
}
ZSH = """unsetopt beep; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D
show() { print -r -- "<$BUFFER>"; BUFFER=; }; zle -N show; bindkey '^X' show; print -r READ""Y
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "churn.csv").write_text("a\n1\n")
    return tmp_path


def script(capsys, shell):
    pytest.importorskip("shtab", reason="needs shtab: pip install 'vanishing[completion]'")
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_bash_completes(folder, capsys):
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    (folder / "completion").write_text(script(capsys, "bash"))
    lines = ["source completion", "name=$(complete -p vanishing | sed 's/.*-F //; s/ .*//')"]
    lines += ['try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); $name; echo "${COMPREPLY[*]}"; }']
    commands = "\n".join([*lines, *(f"try {line}" for line in TYPED)])
    done = subprocess.run(["bash", "-c", commands], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(TYPED.values())


def test_completion_names_its_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'vanishing[completion]'" in capsys.readouterr().err


@pytest.mark.slow
def test_zsh_completes_from_the_first_tab_on(folder, capsys):
    if shutil.which("zsh") is None:
        pytest.skip("needs zsh: apt-get install zsh")
    pty = pytest.importorskip("pty", reason="needs a terminal, which Windows has not")
    (folder / "_vanishing").write_text(script(capsys, "zsh"))
    terminal, inside = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), inside)
    options = {**streams, "env": {**os.environ, "TERM": "dumb"}, "start_new_session": True}
    started = subprocess.Popen(["zsh", "-f", "-i"], **options)
    os.close(inside)
    try:
        os.write(terminal, ZSH.encode())
        read_until(terminal, rb"[\r\n]READY")
        for line, found in TYPED.items():
            os.write(terminal, line.encode() + b"\t\x18")
            buffer = read_until(terminal, rb"<([^\n]*)>\r?\n")[1].decode()
            assert buffer == f"{line[: line.rindex(' ')]} {found} "
    finally:
        started.kill()
        started.wait()
        os.close(terminal)


def read_until(terminal, pattern):
    seen = b""
    while not (match := re.search(pattern, seen)):
        assert select.select([terminal], [], [], 60)[0], f"zsh wrote only {seen!r}"
        seen += os.read(terminal, 65536)
    return match
