"""Reports of experiments: tables in Markdown and CSV, findings, and files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ._store import Store


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header; None is an empty cell."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def markdown(self) -> str:
        """The table in Markdown, aligned for terminals."""
        cells = [list(self.header), *([_text(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        numeric = [all(_is_number(row[i]) for row in self.rows) for i in range(len(widths))]
        lines = [
            "| "
            + " | ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(line, widths, numeric, strict=True)
            )
            + " |"
            for line in cells
        ]
        rule = "|" + "|".join("-" * (w + 1) + (":" if right else "-") for w, right in zip(widths, numeric, strict=True))
        return "\n".join([f"### {self.title}", "", lines[0], rule + "|", *lines[1:]])

    def csv(self) -> str:
        """The table as comma-separated values, with a header."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([self.header, *self.rows])
        return text.getvalue()


@dataclass(frozen=True)
class Report:
    """The result of an experiment: tables, findings, and the files with them.

    ``details`` are tables that go to files only, because they are too long to show.
    """

    title: str
    tables: list[Table]
    findings: list[str]
    details: dict[str, Table] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)

    def __str__(self) -> str:
        return self.markdown()

    def markdown(self) -> str:
        """The tables and findings in Markdown."""
        findings = "\n".join(f"- {finding}" for finding in self.findings)
        return "\n\n".join([f"## {self.title}", *(table.markdown() for table in self.tables), findings]).rstrip() + "\n"

    def write(self, store: Store, name: str) -> None:
        """Write Markdown and CSV files to the folder of the results."""
        made = " | ".join(f"{key} {value}" for key, value in store.environment.items())
        self.files.append(store.write(f"{name}.md", f"{self.markdown()}\n{made}\n"))
        self.files.extend(store.write(f"{stem}.csv", table.csv()) for stem, table in self.details.items())


def mean_of(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are not None; None without any."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def spread(values: Sequence[float], digits: int) -> str:
    """Mean and population standard deviation, as in the paper."""
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def _is_number(cell: Any) -> bool:
    return (
        cell is None
        or isinstance(cell, (int, float))
        or (isinstance(cell, str) and cell.removeprefix("-")[:1].isdigit())
    )


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
