"""``vanishing laws``: the equations that hold between the columns of a noisy table, or none."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .inputs import add_missing_argument, add_table_arguments, is_moments, open_rows_or_moments, progress_bars
from .language import in_flags
from .outputs import add_output_arguments, check_output, write_text

EXAMPLES = (
    "vanishing laws pipes.csv -o pipes.vi",
    "vanishing laws gas.csv --units p=Pa,V=m^3,n=mol,T=K --summary",
    "vanishing laws runs.parquet --groups run --json",
    "vanishing laws north.npz south.npz",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_table_arguments(parser)
    add_missing_argument(parser)
    parser.add_argument("--max-degree", type=int, help="largest degree of an equation (default: 4)")
    parser.add_argument(
        "--noise",
        choices=("relative", "absolute", "multiplicative"),
        help="the same share of every column's deviation, the same deviation in every column, or a share of each "
        "value (default: the first that the rows allow)",
    )
    parser.add_argument(
        "--max-noise", type=float, default=0.08, help="largest noise, as a share of the deviations (default: 0.08)"
    )
    parser.add_argument("--units", help="unit of each column, for instance p=Pa,V=m^3,n=mol,T=K")
    parser.add_argument("--groups", metavar="COLUMN", help="column that numbers the runs: find what each run conserves")
    parser.add_argument(
        "--robust",
        action="store_true",
        help="look only for laws that some rows do not obey",
    )
    parser.add_argument("--no-snap", action="store_true", help="keep estimates, do not round to rational numbers")
    parser.add_argument("--expect-laws", action="store_true", help="exit status 1 if there is no law")
    parser.add_argument("--summary", action="store_true", help="print coefficients, tests and audits")
    add_output_arguments(parser, "write the laws to a .vi file, for check, show and export, or to a .json file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", metavar="FILE", help="draw the first law to a .png, .pdf or .svg file")


def run(arguments: argparse.Namespace) -> int:
    """Find, write and print the laws."""
    from ..laws import discover
    from ..rows.disk import find_files

    inputs = find_files(arguments.files)
    check_output(arguments.output, arguments.force, (".vi", ".json"), inputs)
    check_output(arguments.plot, arguments.force, (".png", ".pdf", ".svg"), inputs)
    units = None if arguments.units is None else _units_in(arguments.units)
    need_rows = ("--groups", "--robust", "--plot", "--drop-missing")
    table = open_rows_or_moments(arguments, label=arguments.groups, need_rows=need_rows)
    options: dict[str, Any] = {
        "noise": arguments.noise,
        "max_noise": arguments.max_noise,
        "robust": arguments.robust or "auto",
        "snap": not arguments.no_snap,
        "units": units,
        "groups": arguments.groups,
        "missing": "drop" if arguments.drop_missing else "error",
    }
    if arguments.max_degree is not None:
        options["max_degree"] = arguments.max_degree
    with progress_bars(shown=not arguments.quiet):
        laws = discover(table, **options)
    if arguments.output is not None:
        _write(laws, arguments)
    if arguments.plot is not None and (len(laws) or laws.dense):
        laws.plot(_complete(table)).savefig(arguments.plot, dpi=150)
    _print(laws, arguments)
    return int(arguments.expect_laws and not len(laws))


def _complete(table: Any) -> Any:
    """The rows without missing values."""
    import numpy as np

    rows = table.to_numpy()
    return rows[~np.isnan(rows).any(axis=1)]


def _write(laws: Any, arguments: argparse.Namespace) -> None:
    if arguments.output.lower().endswith(".json"):
        write_text(arguments.output, laws.to_json())
        return
    from ..files import save

    save(laws, arguments.output, notes={} if arguments.groups is None else {"groups": arguments.groups})


def _print(laws: Any, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(json.loads(laws.to_json()), ensure_ascii=False))
        return
    text = laws.summary() if arguments.summary else str(laws)
    print(in_flags(text) if is_moments(arguments.files) else text)
    if arguments.output is not None:
        print(f"laws written to {arguments.output}")
    if arguments.plot is not None:
        drawn = len(laws) or laws.dense
        print(f"picture written to {arguments.plot}" if drawn else "there is no law to draw")


def _units_in(text: str) -> dict[str, str]:
    """Units that are written as ``p=Pa,V=m^3``.

    Examples
    --------
    >>> _units_in("p=Pa, V=m^3")
    {'p': 'Pa', 'V': 'm^3'}
    """
    units = {}
    for entry in text.split(","):
        name, equals, unit = entry.partition("=")
        if not equals:
            raise ValueError(f"--units needs entries such as p=Pa, separated by commas; got {entry.strip()!r}.")
        units[name.strip()] = unit.strip()
    return units
