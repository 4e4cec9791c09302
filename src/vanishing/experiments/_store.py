"""A folder of records, one small file for each finished task, with the settings that they depend on."""

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

RunRecord = dict[str, Any]

_NOTES = "results.json"


class Store:
    """Records by key in a folder; each is written at once, and atomically.

    The records depend on the ``settings``. A folder with other settings, or of another version, raises ValueError:
    results are never mixed. With ``restart``, the records in the folder are deleted first.
    """

    def __init__(self, folder: str | Path, settings: dict[str, Any], *, restart: bool = False):
        self.folder = Path(folder).expanduser()
        notes = self.folder / _NOTES
        settings = json.loads(json.dumps({"vanishing": version("vanishing"), **settings}))
        if notes.exists():
            content = self._read(notes, restart=restart)
            if restart:
                shutil.rmtree(self.folder / "runs", ignore_errors=True)
            else:
                self._compare(content, settings)
        elif self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{self.folder} is a file: choose a folder with --results.")
        elif self.folder.exists() and any(not path.name.startswith(".") for path in self.folder.iterdir()):
            raise ValueError(
                f"{self.folder} holds files but no {_NOTES}, so it is not a folder of results: choose another one with "
                "--results."
            )
        if restart or not notes.exists():
            self._write(notes, {"settings": settings, "environment": environment()})
        self.environment: dict[str, str] = json.loads(notes.read_text())["environment"]

    def get(self, key: tuple[str, ...], origin: str = "") -> RunRecord | None:
        """The record; None without a file, and None with a warning if the file cannot be read.

        Raises ValueError if the record is about other data.
        """
        path = self._path(key)
        try:
            record = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            record = None
        if not isinstance(record, dict) or "origin" not in record:
            warnings.warn(f"{path} cannot be read; that run is repeated.", UserWarning, stacklevel=2)
            return None
        if record["origin"] != origin:
            raise ValueError(
                f"{path} is about other rows of {key[0]}: choose another folder with --results, or "
                "--restart to delete it."
            )
        return record

    def put(self, key: tuple[str, ...], record: RunRecord, origin: str = "") -> None:
        """Store the record, with the origin of its data."""
        self._write(self._path(key), {**record, "origin": origin})

    def write(self, name: str, text: str) -> Path:
        """Write a file of the report to the folder."""
        path = self.folder / name
        with complete_file(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        return path

    def _path(self, key: tuple[str, ...]) -> Path:
        return self.folder.joinpath("runs", *key[:-1], f"{key[-1]}.json")

    @staticmethod
    def _write(path: Path, content: RunRecord) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with complete_file(path) as unfinished:
            unfinished.write_text(json.dumps(content, indent=1) + "\n")

    @staticmethod
    def _read(notes: Path, *, restart: bool) -> dict[str, Any]:
        """The settings and environment of the folder; empty if they cannot be read and ``restart`` deletes them."""
        try:
            content = json.loads(notes.read_text())
        except ValueError as error:
            if restart:
                return {}
            raise ValueError(f"{notes} cannot be read: choose another folder with --results, or --restart.") from error
        parts = [content.get(name) for name in ("settings", "environment")] if isinstance(content, dict) else [None]
        if not all(isinstance(part, dict) for part in parts):
            raise ValueError(f"{notes} cannot be read: choose another folder with --results.")
        return dict(content)

    def _compare(self, content: dict[str, Any], settings: dict[str, Any]) -> None:
        """Raise ValueError if the folder has other settings; warn if it has another environment."""
        stored, made_with = content["settings"], content["environment"]
        if stored != settings:
            names = [name for name in {**stored, **settings} if stored.get(name) != settings.get(name)]
            differences = "; ".join(f"{name} {stored.get(name)!r}, not {settings.get(name)!r}" for name in names)
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
    """Date, versions and machine of a run."""
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
