"""``vanishing predict``: labels, scores and probabilities of new rows, by a classifier or detector."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .inputs import add_format_arguments, progress_bars
from .outputs import TABLES, add_output_arguments, check_output, print_json, table_writer

if TYPE_CHECKING:
    from .._typing import Array
    from .models import Loaded

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
    from .models import load_model

    loaded = load_model(arguments.model, "predict", "classifier", "detector")
    write_columns(arguments, loaded, loaded.predictions, TABLES)


def write_columns(
    arguments: argparse.Namespace, loaded: Loaded, compute: Callable[[Any], dict[str, Array]], suffixes: tuple[str, ...]
) -> None:
    """Write the columns of ``compute(rows)`` to a file and print its name, or write them to the standard output."""
    import numpy as np

    from ..display import counted as count_of
    from ..rows.disk import find_files

    files = find_files(arguments.files)
    check_output(arguments.output, arguments.force, suffixes, [*files, loaded.path])
    rows = loaded.open(arguments, label=arguments.id)
    counted: Counter[str] = Counter()
    names: list[str] = []
    total = 0
    with progress_bars(shown=not arguments.quiet), table_writer(_target(arguments), loaded.about()) as writer:
        for columns in loaded.each_block(rows, lambda block, inside: _with_id(arguments.id, block, compute(inside))):
            writer.write(columns)
            names, total = list(columns), total + len(next(iter(columns.values())))
            for name in ("label", "outlier"):
                if name in columns:
                    values, counts = np.unique(columns[name], return_counts=True)
                    counted.update(dict(zip(map(str, values), counts.tolist(), strict=True)))
    if arguments.json:
        content = {**loaded.about(), "rows": total, "columns": names, "output": arguments.output}
        print_json({**content, "counts": dict(counted)} if counted else content)
    elif arguments.output is not None:
        shown = ", ".join(f"{name}: {n:,}" for name, n in sorted(counted.items())[:10])
        print(f"{count_of(total, 'row')} written to {arguments.output}" + (f" ({shown})" if shown else ""))


def _target(arguments: argparse.Namespace) -> str | None:
    if arguments.json and arguments.output is None:
        raise ValueError("--json needs a file for the rows: name it with -o.")
    target: str | None = arguments.output
    return target


def _with_id(name: str | None, block: Any, columns: dict[str, Array]) -> dict[str, Array]:
    if name is None:
        return columns
    import numpy as np

    if name in columns:
        raise ValueError(f"The predictions have a column {name!r} of their own: rename the one that --id names.")
    return {name: np.asarray(block.labels), **columns}
