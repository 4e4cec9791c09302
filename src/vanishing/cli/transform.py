"""``vanishing transform``: the values of a model's equations on new rows."""

from __future__ import annotations

import argparse

from .inputs import add_format_arguments
from .outputs import TABLES, add_output_arguments

EXAMPLES = (
    "vanishing transform clicks.vi new.parquet -o features.parquet",
    "vanishing transform pipes.vi pipes.csv -o distances.csv --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="equations, a classifier, a detector or laws")
    parser.add_argument("files", nargs="+", metavar="FILE", help="tables with the columns of the model, among others")
    parser.add_argument("--id", metavar="COLUMN", help="column to write beside the features")
    add_output_arguments(
        parser,
        "a .csv, .parquet or .json file (default: CSV on the standard output); columns are g0, g1, ..., and the "
        "equations stand in the metadata of Parquet files and in what --json prints",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object about the columns")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compute the features block by block."""
    from .models import load_model
    from .predict import write_columns

    loaded = load_model(arguments.model, "transform", "ideal", "classifier", "detector", "laws")
    if not loaded.equations():
        raise ValueError(f"{arguments.model} has no equations, so there are no features to write.")
    write_columns(arguments, loaded, loaded.features, TABLES)
