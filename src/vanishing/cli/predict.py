"""``vanishing predict``: labels, scores and probabilities of new rows, by a classifier or detector."""

from __future__ import annotations

import argparse

from .inputs import add_format_arguments
from .outputs import TABLES, add_output_arguments

__all__ = ["EXAMPLES", "add_arguments", "run"]

EXAMPLES = (
    "vanishing predict churn.vi new.parquet -o churned.parquet",
    "vanishing predict normal.vi new.csv --id ts -o alarms.csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a classifier or detector, from 'fit --target' or 'detect'")
    parser.add_argument("files", nargs="+", metavar="FILE", help="tables with the columns of the model, among others")
    parser.add_argument("--id", metavar="COLUMN", help="column to write beside the predictions")
    add_output_arguments(parser, "a .csv, .parquet or .json file (default: CSV on the standard output)")
    parser.add_argument("--json", action="store_true", help="print one JSON object about the rows")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Predict block by block."""
    from .evaluation import write_columns
    from .models import load_model

    loaded = load_model(arguments.model, "predict", "classifier", "detector")
    write_columns(arguments, loaded, loaded.predictions, TABLES)
