"""``vanishing report``: a page about a model and rows, in one HTML file."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .columns import column_types
from .inputs import add_format_arguments, add_times_argument, dialect_of, progress_bars, time_column
from .outputs import add_output_arguments, check_output

if TYPE_CHECKING:
    from ..report import Given
    from ..rows.protocol import Block
    from .models import Loaded

EXAMPLES = (
    "vanishing report churn.vi churn.csv -o churn.html",
    "vanishing report pipes.vi pipes.csv -o pipes.html --title 'Pipes, this week'",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a .vi file")
    parser.add_argument("files", nargs="+", metavar="FILE", help="tables with the columns of the model, among others")
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="column with the classes, or with the runs of a conserved quantity (default: that of the fit, if present)",
    )
    add_times_argument(parser)
    parser.add_argument("--title", metavar="TEXT", help="heading of the page")
    add_output_arguments(parser, "an .html file, which needs nothing else to be shown", required=True)
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    from ..report import write_report
    from ..rows.disk import find_files
    from .models import load_model

    files = find_files(arguments.files)
    check_output(arguments.output, arguments.force, (".html", ".htm"), [arguments.model, *files])
    loaded = load_model(arguments.model, "report")
    if not hasattr(loaded.model, "report"):
        kind = type(loaded.model).__name__
        raise ValueError(f"{arguments.model} holds a {kind}, which has no report: give a whole model.")
    given = _given(arguments, loaded, files[0])
    with progress_bars(shown=not arguments.quiet):
        write_report(loaded.model, given, arguments.output, arguments.title)
    print(f"report written to {arguments.output}")


def _given(arguments: argparse.Namespace, loaded: Loaded, file: str) -> Given:
    """The rows as the model takes them; an ideal keeps them in the units of the files, with the scaler beside.

    Rows of a detector come with their times.
    """
    from ..rows.labels import all_labels

    over_time = loaded.kind == "detector"
    if arguments.times is not None and not over_time:
        raise ValueError(f"{arguments.model} holds no detector: only the rows of a detector have --times.")
    label = time_column(arguments, file) if over_time else arguments.target or _known_target(arguments, loaded, file)
    rows: Any = loaded.open(arguments, label=label)
    if loaded.before and loaded.kind != "ideal":
        rows = rows.changed(_Prepared(loaded), loaded.model.n_features_in_)
    given: Given = loaded.model._report_rows(rows, None)
    if over_time and label is not None:
        return given._replace(times=all_labels(rows))
    if loaded.before and loaded.kind == "ideal":
        return given._replace(names=tuple(rows.shown_names), scaler=loaded.scaler)
    return given


def _known_target(arguments: argparse.Namespace, loaded: Loaded, file: str) -> str | None:
    """The column of the model's classes or groups, from its notes, if the table has it."""
    target = next((loaded.notes[key] for key in ("target", "label", "groups") if key in loaded.notes), None)
    if target is None or file.lower().endswith(".npy"):
        return None
    return target if target in column_types(file, dialect_of(arguments))[0] else None


@dataclass(frozen=True)
class _Prepared:
    """Applies the transformers before a model to blocks."""

    loaded: Loaded

    def __call__(self, block: Block) -> Block:
        return block._replace(X=self.loaded.rows_of(block.X).X)
