"""Experiments that take a second or a few: tables, settings, and what stands in place of tuning."""

import gzip
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from vanishing.datasets import _tables

FOLDER = Path(os.environ.get("VANISHING_DATA", "no-folder-is-named"))
FEW_PSIS = (0.05, 0.005)
SMALL = {  # experiments that take a second or a few
    "table3": {"algorithms": ["VCA", "SVM", "AVI"], "runs": 2},
    "fig1": {"quick": True},
    "fig2": {"quick": True, "runs": 2},
    "fig3": {"quick": True, "algorithms": ["CGAVI-IHB", "VCA"]},
    "bound": {"algorithms": ["CGAVI-IHB", "BPCGAVI"]},
}
posix = pytest.mark.skipif(os.name != "posix", reason="the signals are those of POSIX")


def labels(name):
    counts = _tables._KNOWN[name].counts
    return np.repeat(list(counts), list(counts.values()))


def write_table(folder, name, X, y):
    """A table that passes for the data set of that name, but for its numbers."""
    with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
        file.write(",".join([*_tables._KNOWN[name].features, "label"]) + "\n")
        file.writelines(",".join(map(repr, row)) + "\n" for row in np.column_stack([X, y]).tolist())


class Tuning(list):
    """In place of tuning: algorithm and protocol of every call, and numbers that depend on the split alone."""

    fails = None  # number of a call, and what it raises

    def __call__(self, name, protocol, split, n_jobs):
        self.append((name, protocol))
        if self.fails is not None and len(self) == self.fails[0]:
            raise self.fails[1]
        y_test = split[3]
        found = {"psi": 0.01, "C": 1.0, "score": 0.5, "n_generators": 3, "mean_degree": 1.5, "sparsity": 0.25}
        times = {"seconds": time.perf_counter(), "seconds_fit": time.perf_counter()}
        return {**found, **times, "size": 5 + int(y_test[0]), "error": 100.0 * float(np.mean(y_test[:40] == 1))}


def needs(name):
    if not (FOLDER / f"{name}.csv.gz").exists():
        pytest.skip(f"{name}.csv.gz is not there; set VANISHING_DATA to the folder with the paper's data sets")


def records_in(folder):
    """The records of a folder of results by key."""
    runs = folder / "runs"
    return {p.relative_to(runs).with_suffix("").parts: json.loads(p.read_text()) for p in runs.rglob("*.json")}


def without_times(report):
    """What a table-3 report says, but for the times."""
    details = report.details["table3_runs"]
    tables = [(list(table.header), table.rows) for table in (*report.tables, details)]
    kept = [
        [i for i, name in enumerate(header) if name not in ("time s", "seconds", "seconds_fit")] for header, _ in tables
    ]
    rows = [[[row[i] for i in where] for row in rows] for where, (_, rows) in zip(kept, tables, strict=True)]
    return report.title, rows, report.findings
