"""``vanishing moments``: sums over rows, collected where the rows are and merged elsewhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .columns import note_row_numbers
from .inputs import add_missing_argument, add_table_arguments, progress_bars, read_moments, rows_of_files
from .outputs import add_output_arguments, check_output, print_json

if TYPE_CHECKING:
    from ..engine.moments import Moments

EXAMPLES = (
    "vanishing moments collect 'clicks/*.parquet' --degree 4 -o clicks.npz",
    "vanishing moments merge north.npz south.npz -o all.npz",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    collect = actions.add_parser("collect", help="sum over the rows of tables, in one pass")
    add_table_arguments(collect)
    add_missing_argument(collect)
    collect.add_argument("--weight", metavar="COLUMN", help="column with sample weights")
    collect.add_argument("--degree", type=int, default=3, help="largest degree of a term (default: 3)")
    collect.add_argument(
        "--ranges",
        metavar="NAME=LOW:HIGH,...",
        help="ranges of all columns; sums that are to be merged need the same ones (default: those of these rows, "
        "found by one more pass)",
    )
    merge = actions.add_parser("merge", help="add up the sums of several files")
    merge.add_argument("files", nargs="+", metavar="FILE", help="files of moments (.npz)")
    for action in (collect, merge):
        add_output_arguments(action, "write the sums to a .npz file, for laws, fit and detect", required=True)
        action.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Collect or merge, and write the sums."""
    check_output(arguments.output, arguments.force, (".npz",))
    moments = _collect(arguments) if arguments.action == "collect" else read_moments(arguments.files)
    from ..display import counted

    moments.save(arguments.output)
    if arguments.json:
        print_json({**describe_moments(moments), "output": arguments.output})
    else:
        print(f"moments of {counted(moments.n_samples, 'row')}, degree {moments.degree}, written to {arguments.output}")


def describe_moments(moments: Any) -> dict[str, Any]:
    """Moments as JSON: rows, degree and columns."""
    names = moments.feature_names
    return {
        "kind": "moments",
        "rows": moments.n_samples,
        "degree": moments.degree,
        "columns": moments.n_features if names is None else list(names),
    }


def _collect(arguments: argparse.Namespace) -> Moments:
    from ..engine.moments import Moments
    from ..rows.gaps import complete_rows

    rows: Any = rows_of_files(arguments, weight=arguments.weight)
    note_row_numbers(rows)
    names = rows.shown_names
    with progress_bars(shown=not arguments.quiet):
        if arguments.drop_missing:
            rows, gaps, _ = complete_rows(rows, names)
            if gaps.n_missing:
                print(gaps.to_text(names), file=sys.stderr)
        scaler = _scaler(rows, names, arguments.ranges)
        return Moments(rows.n_features, arguments.degree, scaler=scaler).update(rows)


def _scaler(rows: Any, names: Sequence[str], ranges: str | None) -> Any:
    """The scaling to [0, 1], in which sums of high powers keep their digits, by ``--ranges`` or by a pass."""
    import numpy as np
    from sklearn.preprocessing import MinMaxScaler

    from ..engine.survey import scale_and_survey_parts

    if ranges is None:
        return scale_and_survey_parts(rows, list(names)).scaler
    known = dict(_range(entry) for entry in ranges.split(","))
    missing = [name for name in rows.feature_names or () if name not in known]
    if missing:
        raise ValueError(f"--ranges says nothing about column {missing[0]!r}: add {missing[0]}=LOW:HIGH.")
    return MinMaxScaler().fit(np.array([known[name] for name in rows.feature_names or known]).T)


def _range(entry: str) -> tuple[str, tuple[float, float]]:
    name, _, ends = entry.partition("=")
    try:
        low, high = map(float, ends.split(":"))
    except ValueError:
        raise ValueError(f"--ranges needs entries such as p=0:10, separated by commas; got {entry!r}.") from None
    return name.strip(), (low, high)
