"""``vanishing laws``: the equations that hold between the columns of a noisy table, or none."""

from __future__ import annotations

import argparse
from typing import Any

from ..laws import Laws, discover
from ..rows.disk import open_rows
from .fit import column_ids, names_in, progress_bars

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("files", nargs="+", help="files, patterns or folders: .parquet, .arrow, .feather, .csv or .npy")
    parser.add_argument("--columns", help="columns to use, separated by commas (default: all but groups)")
    parser.add_argument("--max-degree", type=int, help="largest degree of an equation (default: 4)")
    parser.add_argument(
        "--noise", choices=("relative", "absolute", "multiplicative"), help="kind of noise (default: found)"
    )
    parser.add_argument("--max-noise", type=float, default=0.12, help="noise of a law, in deviations (default: 0.12)")
    parser.add_argument("--units", help="unit of each column, for instance p=Pa,V=m^3,n=mol,T=K")
    parser.add_argument("--groups", metavar="COLUMN", help="column with runs: quantities conserved along each of them")
    parser.add_argument("--robust", action="store_true", help="some rows may follow no law")
    parser.add_argument("--no-snap", action="store_true", help="read no coefficient as a rational number")
    parser.add_argument("--summary", action="store_true", help="print coefficients, tests and audits")
    parser.add_argument("--json", metavar="FILE", help="write the laws to a file; - for the standard output")
    parser.add_argument("--plot", metavar="FILE", help="draw the first law to a .png, .pdf or .svg file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(arguments: argparse.Namespace) -> None:
    """Find and print."""
    columns, groups = (
        column_ids(value, arguments.files)
        for value in (arguments.columns and names_in(arguments.columns), arguments.groups)
    )
    rows = open_rows(arguments.files, columns=columns, label=groups)
    options: dict[str, Any] = {
        "noise": arguments.noise,
        "max_noise": arguments.max_noise,
        "robust": arguments.robust,
        "snap": not arguments.no_snap,
        "units": arguments.units and units_in(arguments.units),
        "groups": None if groups is None else str(groups),
    }
    if arguments.max_degree is not None:
        options["max_degree"] = arguments.max_degree
    with progress_bars(shown=not arguments.quiet):
        laws = discover(rows, **options)
    if arguments.json == "-":
        print(laws.to_json())
    else:
        print(laws.summary() if arguments.summary else laws)
    if arguments.json and arguments.json != "-":
        laws.save(arguments.json)
        print(f"laws written to {arguments.json}")
    if arguments.plot:
        _plot(laws, rows, arguments.plot)


def units_in(text: str) -> dict[str, str]:
    """Units that are written as ``p=Pa,V=m^3``.

    Examples
    --------
    >>> units_in("p=Pa, V=m^3")
    {'p': 'Pa', 'V': 'm^3'}
    """
    found = {}
    for entry in text.split(","):
        name, equals, unit = entry.partition("=")
        if not equals:
            raise ValueError(f"--units needs entries such as p=Pa, separated by commas; got {entry.strip()!r}.")
        found[name.strip()] = unit.strip()
    return found


def _plot(laws: Laws, rows: Any, path: str) -> None:
    if not len(laws) and not laws.dense:
        print("there is no law to draw")
        return
    laws.plot(rows.to_numpy()).savefig(path, dpi=150)
    print(f"picture written to {path}")
