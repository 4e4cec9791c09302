"""Table 3: errors, times, sizes and sparsity on ten splits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._figures import draw_errors
from ._protocols import published_split, tune
from ._published import SPARSITY, PublishedRun, published_runs
from ._report import Report, Table, mean_of, spread
from ._request import Request, dataset, origin
from ._runner import Key, Task
from ._store import RunRecord

# The parameters that a run chooses, and the results that depend on them.
_CHOICES = ("psi", "C", "svm_degree")
_RESULTS = ("size", "n_generators", "error", "seconds")


def settings(request: Request) -> dict[str, Any]:
    """Further settings that the records depend on: none."""
    return {}


def tasks(request: Request) -> list[Task]:
    """One task for each run, algorithm and data set, ordered by run."""
    return [
        Task(
            (data, algorithm, str(run)),
            one_run,
            (data, algorithm, run, request.protocol, request.data_dir, request.n_threads),
            _cost(data),
            origin(data, request.data_dir),
        )
        for run in range(request.runs)
        for data in request.data
        for algorithm in request.algorithms
    ]


def one_run(
    data: str, algorithm: str, run: int, protocol: str, data_dir: str | None, n_threads: int | None
) -> RunRecord:
    """Tune, fit and test on one split."""
    X, y = dataset(data, data_dir)
    train, test = published_split(len(y), run, algorithm, protocol)
    return tune(algorithm, protocol, (X[train], y[train], X[test], y[test]), n_threads)


def _cost(data: str) -> float:
    return float(np.mean([run.seconds for run in published_runs()[data, "CGAVI-IHB"]]))


def report(request: Request, records: Mapping[Key, RunRecord]) -> Report:
    """A table for each data set, with the published numbers; and a file of all runs."""
    tables: list[Table] = []
    lines: list[list[Any]] = []
    for data in request.data:
        rows = []
        for algorithm in request.algorithms:
            ours = [records[data, algorithm, str(run)] for run in range(request.runs)]
            theirs = published_runs().get((data, algorithm), [])[: request.runs]
            rows.append(_summary(data, algorithm, ours, theirs))
            lines.extend(_line(data, algorithm, run, ours, theirs) for run in range(request.runs))
        header = ("algorithm", "error %", "pub.", "time s", "pub.", "G+O", "pub.", "SPAR", "pub.", "same choice")
        tables.append(Table(data, header, rows))
    columns = ["data", "algorithm", "run"]
    for name in (*_CHOICES, *_RESULTS):
        columns += [name, f"published_{name}"]
    columns += ["error_difference", "sparsity", "mean_degree", "score", "seconds_fit"]
    details = {"table3_runs": Table("All runs", columns, lines)}
    return Report(request.title, tables, [_agreement(lines)], details)


def _summary(data: str, algorithm: str, ours: list[RunRecord], theirs: list[PublishedRun]) -> list[Any]:
    """Means over the runs, and the number of runs with the published choice of parameters."""
    sparsity = mean_of([run.get("sparsity") for run in ours])
    name = algorithm if algorithm == "SVM" else f"{algorithm}*"
    error = spread([run["error"] for run in ours], 2)
    seconds = f"{np.mean([run['seconds'] for run in ours]):.2g}"
    size, published_size = mean_of([run.get("size") for run in ours]), mean_of([run.size for run in theirs])
    cells = [name, error, None, seconds, None, _decimal(size), None, None if sparsity is None else f"{sparsity:.2f}"]
    if not theirs:
        return [*cells, None, None]
    cells[2] = spread([run.error for run in theirs], 2)
    cells[4] = f"{np.mean([run.seconds for run in theirs]):.2g}"
    cells[6] = _decimal(published_size)
    same = sum(_same_choice(a, b) for a, b in zip(ours, theirs, strict=True))
    published_sparsity = None if algorithm == "SVM" else SPARSITY[data] if algorithm == "BPCGAVI-WIHB" else "0.00"
    return [*cells, published_sparsity, f"{same}/{len(ours)}"]


def _decimal(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def _same_choice(ours: RunRecord, theirs: PublishedRun) -> bool:
    return all(ours.get(name) == getattr(theirs, name) for name in _CHOICES)


def _line(data: str, algorithm: str, run: int, ours: list[RunRecord], theirs: list[PublishedRun]) -> list[Any]:
    """One run: ours and theirs side by side."""
    line: list[Any] = [data, algorithm, run]
    for name in (*_CHOICES, *_RESULTS):
        line += [ours[run].get(name), getattr(theirs[run], name) if theirs else None]
    difference = round(ours[run]["error"] - theirs[run].error, 4) if theirs else None
    return [*line, difference, *(ours[run].get(name) for name in ("sparsity", "mean_degree", "score", "seconds_fit"))]


def _agreement(lines: list[list[Any]]) -> str:
    """The number of runs that agree with the published ones in parameters, size and error."""
    with_published = [line for line in lines if line[-5] is not None]
    same = [line for line in with_published if all(line[i] == line[i + 1] for i in (3, 5, 7))]
    size = [line for line in same if line[9] == line[10]]
    error = [line for line in size if abs(line[-5]) < 1e-3]
    return (
        f"Runs with a published counterpart: {len(with_published)}. The same parameters are chosen in {len(same)} of "
        f"them, with the same |G|+|O| in {len(size)}, and with the same test error as well in {len(error)}."
    )


def figure(request: Request, records: Mapping[Key, RunRecord], path: Path) -> list[Path]:
    """Draw the errors beside the published ones; return the files."""
    errors = {
        data: {
            name: (
                [records[data, name, str(run)]["error"] for run in range(request.runs)],
                [run.error for run in published_runs().get((data, name), [])[: request.runs]],
            )
            for name in request.algorithms
        }
        for data in request.data
    }
    return draw_errors(errors, path)
