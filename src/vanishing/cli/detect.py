"""``vanishing detect``: a detector, fitted to normal rows."""

from __future__ import annotations

import argparse
from typing import Any

from .inputs import add_table_arguments, open_rows_or_moments, progress_bars
from .outputs import add_output_arguments, check_output, print_json

EXAMPLES = (
    "vanishing detect normal.parquet --exclude ts -o normal.vi",
    "vanishing detect normal.csv --columns power,volts,amperes --false-alarms 0.001",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_table_arguments(parser)
    parser.add_argument("--weight", metavar="COLUMN", help="column with sample weights")
    parser.add_argument(
        "--false-alarms", type=float, default=0.01, help="share of alarms among normal rows (default: 0.01)"
    )
    parser.add_argument(
        "--degree", type=int, help="largest degree of products of columns (default: by the size of the table)"
    )
    parser.add_argument("--no-regimes", action="store_true", help="equations only: do not look for several regimes")
    parser.add_argument(
        "--series",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether rows follow each other in time (default: auto, by the correlation of consecutive rows)",
    )
    add_output_arguments(parser, "write the detector to a .vi file, for predict, check and show")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Fit a detector and print its equations."""
    from ..detection import VanishingIdealDetector
    from ..files import save
    from ..rows.disk import find_files

    check_output(arguments.output, arguments.force, (".vi",), find_files(arguments.files))
    if not 0.0 < arguments.false_alarms <= 0.5:
        raise ValueError(f"--false-alarms must be above 0 and at most 0.5, got {arguments.false_alarms}.")
    data = open_rows_or_moments(arguments, weight=arguments.weight, need_rows=("--weight",))
    detector = VanishingIdealDetector(
        degree=arguments.degree,
        contamination=arguments.false_alarms,
        regimes=not arguments.no_regimes,
        series="auto" if arguments.series == "auto" else arguments.series == "yes",
    )
    with progress_bars(shown=not arguments.quiet):
        detector.fit(data)
    if arguments.output is not None:
        save(detector, arguments.output)
    if arguments.json:
        print_json({**describe_detector(detector), "output": arguments.output})
        return
    print("\n".join(detector_lines(detector)))
    if arguments.output is not None:
        print(f"detector written to {arguments.output}")


def describe_detector(detector: Any) -> dict[str, Any]:
    """A detector as JSON: its size, and its equations."""
    return {
        "kind": "detector",
        "rows": detector.n_samples_seen_,
        "degree": detector.degree_,
        "false_alarms": detector._rate,
        "calibration": detector.calibration_,
        "equations": [str(polynomial) for polynomial in detector.generators_],
        "exact_relations": detector.exact_relations_,
    }


def detector_lines(detector: Any) -> list[str]:
    """A detector in words, one line for each equation."""
    from ..display import counted

    generators = detector.generators_
    n = counted(len(generators), "equation")
    title = f"detector of {counted(detector.n_samples_seen_, 'row')}, degree {detector.degree_}, {n}"
    equations = [f"  {g} = 0    (root mean square {g.mse**0.5:.2g})" for g in generators]
    return [
        title,
        f"  {detector.calibration_}",
        *equations,
        *(f"  {relation}" for relation in detector.exact_relations_),
    ]
