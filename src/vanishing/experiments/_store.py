"""Finished pieces of work, one small file each, in a folder that knows what it holds."""

from __future__ import annotations

import json
import os
import platform
import shutil
import warnings
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from ..rows.writing import complete_file

__all__ = ["Record", "Store"]

Record = dict[str, Any]

_NOTES = "results.json"


class Store:
    """Records by key in a folder; what is put in is there at once, whole or not at all.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    settings : dict
        All that the records depend on. A folder with other settings, or of another version, is refused: results
        are never mixed.
    restart : bool, default=False
        Delete what the folder holds first.
    """

    def __init__(self, folder: str | Path, settings: dict[str, Any], *, restart: bool = False):
        self.folder = Path(folder).expanduser()
        notes = self.folder / _NOTES
        wanted = json.loads(json.dumps({"vanishing": version("vanishing"), **settings}))
        if notes.exists():
            found = self._read(notes, restart=restart)
            if restart:
                shutil.rmtree(self.folder / "runs", ignore_errors=True)
            else:
                self._compare(found, wanted)
        elif self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{self.folder} is a file: choose a folder with --results.")
        elif self.folder.exists() and any(not path.name.startswith(".") for path in self.folder.iterdir()):
            raise ValueError(
                f"{self.folder} holds files but no {_NOTES}, so it is no folder of results: choose another one with "
                "--results."
            )
        if restart or not notes.exists():
            self._write(notes, {"settings": wanted, "environment": environment()})
        self.environment: dict[str, str] = json.loads(notes.read_text())["environment"]

    def get(self, key: tuple[str, ...], origin: str = "") -> Record | None:
        """The record, if it is there; a file that cannot be read does not count, and is written anew.

        One that is about other data is an error.
        """
        path = self._path(key)
        try:
            record = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            record = None
        if not isinstance(record, dict) or "origin" not in record:
            warnings.warn(f"{path} cannot be read; that run is made again.", UserWarning, stacklevel=2)
            return None
        if record["origin"] != origin:
            raise ValueError(
                f"{path} is about other rows of {key[0]} than these: choose another folder with --results, or "
                "--restart to delete it."
            )
        return record

    def put(self, key: tuple[str, ...], record: Record, origin: str = "") -> None:
        """Keep the record, and which data it is about."""
        self._write(self._path(key), {**record, "origin": origin})

    def write(self, name: str, text: str) -> Path:
        """Write a file of the report beside the records."""
        path = self.folder / name
        with complete_file(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        return path

    def _path(self, key: tuple[str, ...]) -> Path:
        return self.folder.joinpath("runs", *key[:-1], f"{key[-1]}.json")

    @staticmethod
    def _write(path: Path, content: Record) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with complete_file(path) as unfinished:
            unfinished.write_text(json.dumps(content, indent=1) + "\n")

    @staticmethod
    def _read(notes: Path, *, restart: bool) -> dict[str, Any]:
        """What the folder says about itself; nothing, if that is damaged but is to be deleted anyway."""
        try:
            found = json.loads(notes.read_text())
        except ValueError as error:
            if restart:
                return {}
            raise ValueError(f"{notes} cannot be read: choose another folder with --results, or --restart.") from error
        parts = [found.get(name) for name in ("settings", "environment")] if isinstance(found, dict) else [None]
        if not all(isinstance(part, dict) for part in parts):
            raise ValueError(f"{notes} cannot be read: choose another folder with --results.")
        return dict(found)

    def _compare(self, found: dict[str, Any], wanted: dict[str, Any]) -> None:
        """Refuse other settings; warn of another environment."""
        settings, made_with = found["settings"], found["environment"]
        if settings != wanted:
            names = [name for name in {**settings, **wanted} if settings.get(name) != wanted.get(name)]
            differences = "; ".join(f"{name} {settings.get(name)!r}, not {wanted.get(name)!r}" for name in names)
            raise ValueError(
                f"{self.folder} holds other results ({differences}): choose another folder with --results, or "
                "--restart to delete them."
            )
        now = environment()
        others = [name for name in now if name != "date" and made_with.get(name) != now[name]]
        if others:
            warnings.warn(
                f"{self.folder} was begun with other {', '.join(others)}: times in it may not be comparable.",
                UserWarning,
                stacklevel=2,
            )


def environment() -> dict[str, str]:
    """Where and with what results are made."""
    return {
        "date": date.today().isoformat(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": str(os.cpu_count()),
        "machine": _processor(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
