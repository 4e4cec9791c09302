"""The experiments, and the function that runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ..checks import check_choice, check_count, check_flag, check_number
from ..datasets import TABLES
from . import _bound, _table3, _timing
from ._figures import require_matplotlib
from ._protocols import ALGORITHMS, OAVIS, PROTOCOLS, algorithm_named
from ._report import Report
from ._request import SYNTHETIC, Request, dataset, settings
from ._runner import run_all
from ._store import Store

N_RUNS = 10  # the published splits


class Experiment(NamedTuple):
    """An experiment of the paper: its module, and its default data sets and algorithms."""

    stage: ModuleType  # the module with its tasks, report and figure
    data: tuple[str, ...]
    algorithms: tuple[str, ...]
    quick_data: tuple[str, ...]
    possible_data: tuple[str, ...]
    possible_algorithms: tuple[str, ...]
    repeated: bool = True  # whether it is repeated over random runs
    timed: bool = False  # whether it measures times, so that nothing may run in parallel
    psi: float | None = None  # None if it is tuned, or all are used


_IDEALS = tuple(name for name in ALGORITHMS if name != "SVM")
_TIMED = ("bank", "htru", "skin", SYNTHETIC)


def _figure(algorithms: tuple[str, ...], psi: float | None) -> Experiment:
    return Experiment(_timing, _TIMED, algorithms, _TIMED, (*TABLES, SYNTHETIC), _IDEALS, timed=True, psi=psi)


EXPERIMENTS: dict[str, Experiment] = {
    "table3": Experiment(
        _table3,
        TABLES,
        ("CGAVI-IHB", "AGDAVI-IHB", "BPCGAVI-WIHB", "ABM", "VCA"),
        ("bank", "htru", "seeds"),
        TABLES,
        ALGORITHMS,
    ),
    "fig1": _figure(("PCGAVI", "BPCGAVI"), 0.005),
    "fig2": _figure(("BPCGAVI", "BPCGAVI-WIHB", "CGAVI-IHB"), 0.005),
    "fig3": _figure(("CGAVI-IHB", "AGDAVI-IHB", "ABM", "VCA"), None),
    "bound": Experiment(
        _bound,
        TABLES,
        ("CGAVI-IHB",),
        ("bank", "htru", "seeds"),
        (*TABLES, SYNTHETIC),
        OAVIS,
        repeated=False,
    ),
}


def reproduce(
    experiment: str,
    *,
    data: Sequence[str] | None = None,
    algorithms: Sequence[str] | None = None,
    runs: int | None = None,
    protocol: str = "correct",
    psi: float | None = None,
    quick: bool = False,
    data_dir: str | Path | None = None,
    results: str | Path = "vanishing-results",
    jobs: int = 1,
    restart: bool = False,
    quiet: bool = True,
) -> Report:
    """Run an experiment of the paper, and compare the results with the published ones.

    Every finished run is stored in the folder of results at once; a later call skips the runs that are there.

    Parameters
    ----------
    experiment : {"table3", "fig1", "fig2", "fig3", "bound"}
    data : sequence of str, optional
        Data sets; by default, the data sets of the paper.
    algorithms : sequence of str, optional
        Their published names, see ``ALGORITHMS``; by default, all of the paper but the polynomial-kernel SVM of
        Table 3, which is slow on skin and credit.
    runs : int, default=10
        Random splits or subsets; 1 if ``quick``.
    protocol : {"correct", "published"}, default="correct"
        The paper's method, or what the authors' code does: see ``docs/reproduction.md``.
    psi : float, optional
        For the figures only; 0.005 by default in the first two, and tuned on 10,000 rows in the third, as in the paper.
    quick : bool, default=False
        One run, on small data sets or on few rows.
    data_dir : path, optional
        Folder of the data sets, see :func:`vanishing.datasets.load`.
    results : path, default="vanishing-results"
        Folder; each experiment and protocol has its own folder in it.
    jobs : int, default=1
        Processes; a script needs ``if __name__ == "__main__":`` for more than one. Times are measured one at a time, so
        the figures take 1.
    restart : bool, default=False
        First delete the runs of this experiment and protocol in the folder.
    quiet : bool, default=True
        Print no progress on standard error.

    Returns
    -------
    Report
        With ``tables``, ``findings`` and the ``files`` written.

    Examples
    --------
    >>> from vanishing.experiments import reproduce
    >>> reproduce("table3", quick=True)  # doctest: +SKIP
    """
    check_choice("experiment", experiment, tuple(EXPERIMENTS))
    for flag, value in (("quick", quick), ("restart", restart), ("quiet", quiet)):
        check_flag(flag, value)
    chosen = EXPERIMENTS[experiment]
    request = _request(experiment, chosen, data, algorithms, runs, protocol, psi, quick, data_dir, jobs)
    require_matplotlib()
    for name in request.data:  # load all before any work, so that a missing data set is reported at once
        dataset(name, request.data_dir)
    stage: Any = chosen.stage
    folder = Path(results) / request.name
    store = Store(folder, {**settings(request), **stage.settings(request)}, restart=restart)
    records = run_all(stage.tasks(request), store, jobs=request.jobs, quiet=quiet)
    report: Report = stage.report(request, records)
    report.write(store, experiment)
    report.files.extend(stage.figure(request, records, folder / experiment))
    return report


def _request(
    experiment: str,
    chosen: Experiment,
    data: Sequence[str] | None,
    algorithms: Sequence[str] | None,
    runs: int | None,
    protocol: str,
    psi: float | None,
    quick: bool,
    data_dir: str | Path | None,
    jobs: int,
) -> Request:
    check_choice("protocol", protocol, PROTOCOLS)
    check_count("jobs", jobs)
    if chosen.timed and jobs > 1:
        raise ValueError(f"{experiment} measures times, one at a time: leave out jobs.")
    if psi is not None:
        if not chosen.timed:
            raise ValueError(f"{experiment} goes over several psi: leave out psi.")
        check_number("psi", psi, above=0.0, below=1.0)
    if runs is not None and not chosen.repeated:
        raise ValueError(f"{experiment} makes one run, on all rows: leave out runs.")
    runs = (1 if quick else N_RUNS) if runs is None else runs
    check_count("runs", runs)
    if experiment == "table3" and runs > N_RUNS:
        raise ValueError(f"runs must be at most {N_RUNS}, the number of published splits; got {runs}.")
    names = chosen.algorithms if algorithms is None else [algorithm_named(name) for name in _listed(algorithms)]
    tables = (chosen.quick_data if quick else chosen.data) if data is None else _listed(data)
    return Request(
        experiment,
        _known("data set", tables, chosen.possible_data, experiment),
        _known("algorithm", names, chosen.possible_algorithms, experiment),
        runs if chosen.repeated else 0,
        protocol,
        bool(quick),
        None if data_dir is None else str(data_dir),
        jobs,
        chosen.psi if psi is None else float(psi),
    )


def _listed(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _known(what: str, names: Sequence[str], possible: Sequence[str], experiment: str) -> tuple[str, ...]:
    """The names without repetitions; raise ValueError if one of them is not possible."""
    if not names:
        raise ValueError(f"{experiment} needs at least one {what}: choose from {', '.join(possible)}.")
    for name in names:
        if name not in possible:
            raise ValueError(f"{experiment} has no {what} {name!r}; choose from {', '.join(possible)}.")
    return tuple(dict.fromkeys(names))
