"""``vanishing check``: whether laws, rules or a detector still hold on new rows."""

from __future__ import annotations

import argparse

from .inputs import add_format_arguments
from .outputs import TABLES, add_output_arguments

__all__ = ["EXAMPLES", "add_arguments", "run"]

EXAMPLES = (
    "vanishing check pipes.vi pipes.csv",
    "vanishing check normal.vi new.csv -o offending.csv || echo 'look at offending.csv'",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="laws, rules or a detector")
    parser.add_argument("files", nargs="+", metavar="FILE", help="tables with the columns of the model, among others")
    parser.add_argument(
        "--width",
        type=float,
        default=5.0,
        help="standard deviations of its noise by which a row may miss a law (default: 5)",
    )
    parser.add_argument(
        "--allow",
        type=float,
        metavar="SHARE",
        help="share of rows that may offend (default: none for laws; for rules and detectors, what they had before)",
    )
    parser.add_argument("--groups", metavar="COLUMN", help="column with runs, for quantities conserved along each")
    add_output_arguments(parser, "write all offending rows to a .csv, .parquet or .json file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check block by block; 1 if something is wrong."""
    from .checking import check_rows
    from .models import load_model
    from .outputs import check_output

    if not arguments.width > 0.0 or (arguments.allow is not None and not 0.0 <= arguments.allow <= 1.0):
        raise ValueError("--width must be above 0, and --allow between 0 and 1.")
    check_output(arguments.output, arguments.force, TABLES, [arguments.model])
    loaded = load_model(arguments.model, "check", "laws", "rules", "detector")
    return int(not check_rows(arguments, loaded))
