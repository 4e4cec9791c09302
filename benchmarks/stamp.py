"""The stamp of a table of numbers: which state of the package they are of, and when they were measured."""

import subprocess
from datetime import date
from pathlib import Path

from vanishing import __version__

SOURCE = Path(__file__).resolve().parents[1] / "src"


def stamp() -> str:
    """The commit and the day, as in "commit abc1234, 2026-11-18"; the version, where there is no repository."""
    try:
        commit, changes = _git("rev-parse", "--short=7", "HEAD"), _git("status", "--porcelain", ".")
    except (OSError, subprocess.CalledProcessError):
        return f"version {__version__}, {date.today()}"
    return f"commit {commit}{' with local changes' if changes else ''}, {date.today()}"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=SOURCE, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    print(stamp())
