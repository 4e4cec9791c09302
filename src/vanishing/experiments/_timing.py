"""Figures 1 to 3: training times on growing numbers of rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .._typing import Array, Float1D, Float2D, Int1D
from ..ideals.ideal import VanishingIdeal
from ..rows.reading import read_input
from ._figures import draw_times
from ._protocols import ideal_of, limits_accepted, tuned_psi
from ._report import Report, Table
from ._request import Request, dataset, origin, permuted
from ._runner import Key, Task
from ._store import RunRecord

TUNING_ROWS = 10_000  # as in the paper
N_SIZES = 7  # points of a curve
N_QUICK_SIZES = 4  # points of a curve with `quick`: two of them show the growth
QUICK_ROWS = 100_000  # rows with `quick`, which promises minutes
SMALLEST_SIZE = 100  # rows; smaller fits measure the overhead of calls
REPEATS = 3  # fits per point: the median ignores one that another process disturbed


def settings(request: Request) -> dict[str, Any]:
    """Further settings that the records depend on."""
    return {"psi": request.psi, "sizes": N_QUICK_SIZES if request.quick else N_SIZES}


def tasks(request: Request) -> list[Task]:
    """One task for each run, data set and algorithm; algorithms alternate, so that all meet the same machine state."""
    planned = []
    for run in range(request.runs):
        for data in request.data:
            sizes = _sizes(len(dataset(data, request.data_dir)[1]), quick=request.quick)
            rows = origin(data, request.data_dir)
            for name in request.algorithms:
                arguments = (data, name, run, request.protocol, request.data_dir, sizes, request.psi)
                planned.append(Task((data, name, str(run)), one_run, arguments, float(sizes[-1]), rows))
    return planned


def _sizes(n_rows: int, *, quick: bool) -> list[int]:
    """Numbers of rows, evenly spaced on a logarithmic axis."""
    most = min(n_rows, QUICK_ROWS) if quick else n_rows
    fewest = min(max(SMALLEST_SIZE, most // 100), most)
    return [int(size) for size in np.unique(np.geomspace(fewest, most, N_QUICK_SIZES if quick else N_SIZES).round())]


def one_run(
    data: str, name: str, run: int, protocol: str, data_dir: str | None, sizes: list[int], psi: float | None
) -> RunRecord:
    """Times of one algorithm on the first rows of one permutation; tunes psi first if it is None."""
    X, y = permuted(data, run, data_dir)
    with limits_accepted():
        if psi is None:
            psi = tuned_psi(name, protocol, X[:TUNING_ROWS], y[:TUNING_ROWS], None)
        ideal = ideal_of(name, protocol, psi)
        _fit_classes(ideal, X[: sizes[0]], y[: sizes[0]])  # compiles
        points = [_point(ideal, X[:size], y[:size]) for size in sizes]
    return {"psi": psi, "sizes": sizes, **{key: [point[key] for point in points] for key in points[0]}}


def _point(ideal: VanishingIdeal, X: Float2D, y: Array) -> dict[str, Any]:
    """Median times of a few fits of all classes, and the size of the model."""
    fits = [_fit_classes(ideal, X, y) for _ in range(REPEATS)]
    *_, n_iter, models = fits[0]
    return {
        "seconds": float(np.median([fit[0] for fit in fits])),
        "deciding": float(np.median([fit[1] for fit in fits])),
        "iterations": n_iter,
        "n_generators": sum(len(model.generators_) for model in models),
        "size": sum(len(model.generators_) + model.n_basis_ for model in models),
    }


def _fit_classes(ideal: VanishingIdeal, X: Float2D, y: Array) -> tuple[float, float, int, list[VanishingIdeal]]:
    """Seconds to fit every class, seconds of decisions among them, solver iterations, and the fitted estimators."""
    classes = [np.ascontiguousarray(X[y == label]) for label in np.unique(y)]
    models, deciding, n_iter = [clone(ideal) for _ in classes], 0.0, 0
    begin = time.perf_counter()
    for model, rows in zip(models, classes, strict=True):
        fit = model._fit_rows(*model._survey(read_input(model, rows)))
        deciding, n_iter = deciding + fit.seconds, n_iter + fit.n_iter
    return time.perf_counter() - begin, deciding, n_iter, models


def report(request: Request, records: Mapping[Key, RunRecord]) -> Report:
    """Times for all rows of each data set, and the paper's findings."""
    rows, lines = [], []
    for data in request.data:
        for name in request.algorithms:
            runs = _runs(request, records, data, name)
            rows.append([data, runs[0]["sizes"][-1], name, *_summary(runs)])
            for k, run in enumerate(runs):
                for i, size in enumerate(run["sizes"]):
                    lines.append([data, name, k, run["psi"], size, *(run[key][i] for key in _MEASURED)])
    header = ("data", "rows", "algorithm", "psi", "training ms", "deciding ms", "iterations", "G+O", "growth")
    columns = ("data", "algorithm", "run", "psi", "rows", *_MEASURED)
    details = {request.experiment: Table("All runs", columns, lines)}
    tables = [Table("Most rows: training, and what of it is not a pass over the rows", header, rows)]
    return Report(request.title, tables, _findings(request, records), details)


_MEASURED = ("seconds", "deciding", "iterations", "n_generators", "size")


def _summary(runs: Sequence[RunRecord]) -> list[str]:
    """The psi, times in milliseconds, iterations and size at the largest number of rows, and the growth of the time."""
    training, deciding, iterations, _, size = ([run[key][-1] for run in runs] for key in _MEASURED)
    psis = sorted({run["psi"] for run in runs})
    return [
        f"{psis[0]:g}" if len(psis) == 1 else f"{psis[0]:g} to {psis[-1]:g}",
        f"{1e3 * np.mean(training):.3g} ± {1e3 * np.std(training):.2g}",
        f"{1e3 * np.mean(deciding):.3g} ± {1e3 * np.std(deciding):.2g}",
        f"{np.mean(iterations):.0f}",
        f"{np.mean(size):.1f}",
        f"{growth(runs):.2f}",
    ]


def _runs(request: Request, records: Mapping[Key, RunRecord], data: str, name: str) -> list[RunRecord]:
    return [records[data, name, str(run)] for run in range(request.runs)]


def growth(runs: Sequence[RunRecord]) -> float:
    """The exponent a of ``seconds ~ rows^a`` over the larger half of the sizes; 1 is linear."""
    half = len(runs[0]["sizes"]) // 2
    sizes: Int1D = np.array(runs[0]["sizes"][half:])
    seconds: Float1D = np.mean([run["seconds"][half:] for run in runs], axis=0)
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _findings(request: Request, records: Mapping[Key, RunRecord]) -> list[str]:
    """The paper's statements about the figure, with the measured ratios of times."""

    def ratio(data: str, slow: str, fast: str, key: str) -> float:
        ends = [np.mean([run[key][-1] for run in _runs(request, records, data, name)]) for name in (slow, fast)]
        return float(ends[0] / ends[1])

    findings = []
    for claim, slow, fast in _CLAIMS[request.experiment]:
        if {slow, fast} <= set(request.algorithms):
            shown = ", ".join(
                f"{data} {ratio(data, slow, fast, 'seconds'):.2f} ({ratio(data, slow, fast, 'deciding'):.2f})"
                for data in request.data
            )
            findings.append(f"Published: {claim}. Time of {slow} over {fast} here (deciding alone): {shown}.")
    return findings


# The paper's claims about each figure: the claim, the slower algorithm, the faster one.
_CLAIMS = {
    "fig1": [("BPCGAVI is faster than PCGAVI on all data sets except skin", "PCGAVI", "BPCGAVI")],
    "fig2": [
        ("BPCGAVI-WIHB is faster than BPCGAVI", "BPCGAVI", "BPCGAVI-WIHB"),
        ("CGAVI-IHB is faster than BPCGAVI-WIHB", "BPCGAVI-WIHB", "CGAVI-IHB"),
    ],
    "fig3": [
        ("ABM is faster than OAVI on small data sets and slower on synthetic", "ABM", "CGAVI-IHB"),
        ("VCA is faster than OAVI on small data sets and slower on synthetic", "VCA", "CGAVI-IHB"),
        ("AGDAVI-IHB is slower than CGAVI-IHB", "AGDAVI-IHB", "CGAVI-IHB"),
    ],
}


def figure(request: Request, records: Mapping[Key, RunRecord], path: Path) -> list[Path]:
    """Draw the training times, and below them the times of decisions; return the files."""
    series = {data: {name: _runs(request, records, data, name) for name in request.algorithms} for data in request.data}
    return draw_times(series, path)
