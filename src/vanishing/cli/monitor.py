"""``vanishing monitor``: alarm episodes of rows over time."""

from __future__ import annotations

import argparse
from typing import Any

from .inputs import add_format_arguments, add_times_argument, progress_bars, time_column
from .outputs import TABLES, add_output_arguments, check_output, print_json, table_writer

EXAMPLES = (
    "vanishing monitor normal.vi new.csv --times ts || echo 'look at the plant'",
    "vanishing monitor normal.vi new.csv --episodes 0.2 -o episodes.csv --plot evidence.png --force",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a detector, from 'detect'")
    parser.add_argument("files", nargs="+", metavar="FILE", help="tables with the columns of the model, in time order")
    add_times_argument(parser)
    parser.add_argument(
        "--episodes",
        type=float,
        default=1.0,
        metavar="NUMBER",
        help="alarm episodes that 1,000 normal rows may have (default: 1)",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the evidence over time to a .png, .svg or .pdf file")
    add_output_arguments(parser, "write the episodes to a .csv, .parquet or .json file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Find the episodes; 1 if there are any."""
    from ..rows.disk import find_files
    from .models import load_model

    if not arguments.episodes > 0.0:
        raise ValueError(f"--episodes must be above 0, got {arguments.episodes}.")
    files = find_files(arguments.files)
    check_output(arguments.output, arguments.force, TABLES, [arguments.model, *files])
    check_output(arguments.plot, arguments.force, (".png", ".svg", ".pdf"), [arguments.model, *files])
    loaded = load_model(arguments.model, "monitor", "detector")
    X, at = _read(arguments, loaded, time_column(arguments, files[0]))
    found = loaded.model.monitor(X, at, episodes_per_1000=arguments.episodes)
    _write(arguments, found)
    return int(bool(found.episodes))


def _read(arguments: argparse.Namespace, loaded: Any, times: str | None) -> tuple[Any, Any]:
    """The rows as the detector takes them, and their times, if they have any."""
    import numpy as np

    from ..rows.arrays import ArrayRows

    def work(block: Any, rows: Any) -> tuple[Any, Any]:
        return rows.X, None if block.labels is None else np.array(block.labels)

    with progress_bars(shown=not arguments.quiet):
        parts = list(loaded.each_block(loaded.open(arguments, label=times), work))
    at = None if times is None else np.concatenate([labels for _, labels in parts])
    rows = ArrayRows(np.concatenate([X for X, _ in parts]))
    rows.quiet = True
    return rows, at


def _write(arguments: argparse.Namespace, found: Any) -> None:
    import numpy as np

    table = found.to_table()
    columns = {name: np.asarray(list(table[name])) for name in (table.keys() if isinstance(table, dict) else table)}
    if arguments.output is not None:
        columns |= {name: columns[name].astype(str) for name in ("start", "end", "worst")}
        with table_writer(arguments.output, {}) as writer:
            writer.write(columns)
    if arguments.plot is not None:
        figure = found.plot().figure
        figure.savefig(arguments.plot, dpi=150)
    if arguments.json:
        print_json(
            {
                "rows": len(found.scores),
                "rows_with_gaps": found.n_missing,
                "rows_in_alarm": int(found.alarms.sum()),
                "limit": found.limit,
                "episodes": [
                    {
                        "start": str(episode.start),
                        "end": str(episode.end),
                        "worst": str(episode.worst),
                        "first_row": episode.first_row,
                        "last_row": episode.last_row,
                        "worst_row": episode.worst_row,
                        "columns": episode.columns,
                        "equations": episode.equations,
                    }
                    for episode in found.episodes
                ],
            }
        )
        return
    print(found)
    if arguments.output is not None:
        print(f"episodes written to {arguments.output}")
