"""``vanishing reproduce``: runs the paper's experiments, beside the published results."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLES = ("vanishing reproduce table3 --quick", "vanishing reproduce all --results results")
# The names of vanishing.experiments, whose import takes seconds; a test compares them.
EXPERIMENTS = {
    "table3": "errors, times, sizes and sparsity of all algorithms",
    "fig1": "training times of PCG and BPCG",
    "fig2": "training times with and without boosting",
    "fig3": "training times beside ABM and VCA",
    "bound": "the bound on |G|+|O|, and |G|+|O|",
}
ALGORITHMS = ("CGAVI-IHB", "AGDAVI-IHB", "BPCGAVI-WIHB", "BPCGAVI", "PCGAVI", "ABM", "VCA", "AVI", "SVM")
PROTOCOLS = ("correct", "published")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    shown = "; ".join(f"{name}: {what}" for name, what in EXPERIMENTS.items())
    parser.add_argument("experiment", choices=[*EXPERIMENTS, "all"], help=f"{shown}; all: one after the other")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="data sets (default: those of the paper)")
    parser.add_argument(
        "--algorithms",
        nargs="+",
        metavar="NAME",
        help=f"from {', '.join(ALGORITHMS)} (default: those of the paper, except the SVM)",
    )
    parser.add_argument("--runs", type=int, help="random splits or subsets (default: 10)")
    parser.add_argument(
        "--protocol",
        choices=PROTOCOLS,
        default="correct",
        help="the paper's method, or what the authors' code does (default: correct)",
    )
    parser.add_argument(
        "--psi", type=float, help="psi of the figures (default: 0.005 for fig1 and fig2, tuned for fig3)"
    )
    parser.add_argument("--quick", action="store_true", help="one run, small data: a minute or two")
    parser.add_argument(
        "--data-dir", metavar="DIR", help="folder of the data sets (default: VANISHING_DATA, or a cache)"
    )
    parser.add_argument(
        "--results",
        metavar="DIR",
        default="vanishing-results",
        help="folder of finished runs (default: vanishing-results)",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes, for table3 and bound (default: 1)")
    parser.add_argument("--restart", action="store_true", help="delete the runs in the folder first")
    parser.add_argument("--quiet", action="store_true", help="hide the progress")


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment, or all of them; print the tables and the names of the files."""
    options: dict[str, Any] = {key: value for key, value in vars(arguments).items() if key != "command"}
    chosen = options.pop("experiment")
    if chosen != "all":
        _show(chosen, options)
        return
    for name in ("data", "algorithms", "psi"):
        if options[name] is not None:
            raise ValueError(f"--{name} is for one experiment: name that one, or leave it out.")
    from .. import experiments

    for name, experiment in experiments.EXPERIMENTS.items():
        _show(name, {**options, "jobs": 1 if experiment.timed else options["jobs"]})


def _show(name: str, options: dict[str, Any]) -> None:
    from ..experiments import reproduce

    report = reproduce(name, **options)
    print(report)
    print("written: " + ", ".join(map(str, report.files)) + "\n")
