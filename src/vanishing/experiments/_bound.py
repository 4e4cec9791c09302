"""Compares ``|G| + |O|`` with the bound that does not depend on the number of rows (Theorem 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..bounds import degree_bound, size_bound
from ._figures import draw_bound
from ._protocols import PSIS, ideal_of, limits_accepted
from ._published import published_runs
from ._report import Report, Table
from ._request import Request, dataset, origin, permuted
from ._runner import Key, Task
from ._store import RunRecord


def settings(request: Request) -> dict[str, Any]:
    """Further settings that the records depend on."""
    return {"psis": PSIS}


def tasks(request: Request) -> list[Task]:
    """One task for each data set, algorithm and psi."""
    return [
        Task(
            (data, name, f"{psi:g}"),
            one_size,
            (data, name, psi, request.protocol, request.data_dir, request.n_threads),
            float(dataset(data, request.data_dir)[0].size),
            origin(data, request.data_dir),
        )
        for data in request.data
        for name in request.algorithms
        for psi in PSIS
    ]


def one_size(data: str, name: str, psi: float, protocol: str, data_dir: str | None, n_threads: int | None) -> RunRecord:
    """Sizes and degrees of the ideals of all classes, from all rows."""
    X, y = permuted(data, 0, data_dir)
    with limits_accepted():
        models = [ideal_of(name, protocol, psi, n_threads).fit(X[y == label]) for label in np.unique(y)]
    return {
        "n_features": X.shape[1],
        "n_generators": [len(model.generators_) for model in models],
        "n_basis": [model.n_basis_ for model in models],
        "degree": max(model.generators_.degree for model in models),
    }


def report(request: Request, records: Mapping[Key, RunRecord]) -> Report:
    """A table of bound and sizes for every psi."""
    rows = []
    for data, name, psi in ((data, name, psi) for data in request.data for name in request.algorithms for psi in PSIS):
        record = records[data, name, f"{psi:g}"]
        sizes = [g + o for g, o in zip(record["n_generators"], record["n_basis"], strict=True)]
        theirs = [run.size for run in published_runs().get((data, name), []) if run.psi == psi and run.size is not None]
        pairs = zip(record["n_generators"], record["n_basis"], strict=True)
        rows.append(
            [
                data,
                name,
                psi,
                degree_bound(psi),
                record["degree"],
                size_bound(psi, record["n_features"]),
                max(sizes),
                " / ".join(f"{g}+{o}" for g, o in pairs),
                sum(sizes),
                f"{np.mean(theirs):.1f} (of {len(theirs)})" if theirs else None,
            ]
        )
    kept = sum(row[6] <= row[5] and row[4] <= row[3] for row in rows)
    closest = max(rows, key=lambda row: row[6] / row[5])
    findings = [
        f"The bound on degree and size holds in {kept} of {len(rows)} cases, and is closest for {closest[0]} at psi = "
        f"{closest[2]:g}: {closest[6]} of {closest[5]}."
    ]
    header = (
        *("data", "algorithm", "psi", "degree, bound", "degree", "G+O of a class, bound", "largest"),
        *("G+O by class", "all classes", "published (of runs), 60% of the rows"),
    )
    table = Table("Theory and practice, all rows", header, rows)
    return Report(request.title, [table], findings, {"bound": table})


def figure(request: Request, records: Mapping[Key, RunRecord], path: Path) -> list[Path]:
    """Draw bound and sizes over psi; return the files."""
    sizes = {
        (data, name): [
            max(g + o for g, o in zip(record["n_generators"], record["n_basis"], strict=True))
            for record in (records[data, name, f"{psi:g}"] for psi in PSIS)
        ]
        for data in request.data
        for name in request.algorithms
    }
    width = {data: records[data, request.algorithms[0], f"{PSIS[0]:g}"]["n_features"] for data in request.data}
    bounds = {data: [size_bound(psi, n) for psi in PSIS] for data, n in width.items()}
    return draw_bound(PSIS, bounds, sizes, path)
