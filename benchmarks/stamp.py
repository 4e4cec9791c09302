"""The stamp of a table of numbers: which state of the package they are of, and when they were measured."""

import subprocess
from datetime import date
from pathlib import Path

from vanishing import __version__

SOURCE = Path(__file__).resolve().parents[1] / "src"


def stamp() -> str:
    """The last commit that changed the package, and today; the version, where there is no repository.

    "commit abc1234, 2026-11-18": later commits of pages or tests leave the numbers as they are.
    """
    try:
        commit, changes = _git("log", "-1", "--abbrev=7", "--format=%h", "."), _git("status", "--porcelain", ".")
    except (OSError, subprocess.CalledProcessError):
        return f"version {__version__}, {date.today()}"
    return f"commit {commit}{' with local changes' if changes else ''}, {date.today()}"


def heading(title: str) -> None:
    """Print the heading of a table, with its stamp below."""
    print(f"\n## {title}\n\nAt {stamp()}.\n", flush=True)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=SOURCE, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    print(stamp())
