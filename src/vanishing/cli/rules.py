"""``vanishing rules``: equations with tolerances that nearly all rows of a table obey."""

from __future__ import annotations

import argparse

from ..constants import IN_HTML
from .columns import note_row_numbers
from .inputs import add_missing_argument, add_table_arguments, is_moments, progress_bars, rows_of_files
from .outputs import add_output_arguments, check_output, print_json

EXAMPLES = ("vanishing rules invoices.csv --columns net,tax,gross -o invoices.vi",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_table_arguments(parser)
    add_missing_argument(parser)
    parser.add_argument("--max-degree", type=int, default=2, help="largest degree of a rule (default: 2)")
    add_output_arguments(parser, "write the rules to a .vi file, for check, show and export")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Learn the rules, and print them with their exceptions."""
    from ..rows.disk import find_files
    from ..rules import Rules

    check_output(arguments.output, arguments.force, (".vi",), find_files(arguments.files))
    if arguments.max_degree < 1:
        raise ValueError(f"--max-degree must be an integer of at least 1, got {arguments.max_degree}.")
    if is_moments(arguments.files):
        raise ValueError(
            f"{arguments.files[0]} holds sums, but rules need rows, to count those that miss a rule: give a table, or "
            "look for laws of the sums with 'vanishing laws'."
        )
    rows = rows_of_files(arguments)
    note_row_numbers(rows)
    with progress_bars(shown=not arguments.quiet):
        rules = Rules.learn(rows, degree=arguments.max_degree, missing="drop" if arguments.drop_missing else "error")
    if arguments.output is not None:
        rules.save(arguments.output)
    exceptions = rules.exceptions.tolist()
    if arguments.json:
        listed = [{"rule": str(rule), "exceptions": rule.exceptions, "rows": rule.n_rows} for rule in rules]
        found = {"kind": "rules", "rules": listed, "exceptions": exceptions, "missing": rules.n_missing}
        print_json({**found, "output": arguments.output})
        return
    print(rules)
    if exceptions:
        shown = ", ".join(map(str, exceptions[:IN_HTML])) + (", ..." if len(exceptions) > IN_HTML else "")
        print(f"{len(exceptions):,} row{' misses' if len(exceptions) == 1 else 's miss'} a rule: {shown}")
    if rules.n_missing:
        print(f"rows left out, as values are missing: {rules.n_missing:,}")
    if arguments.output is not None:
        print(f"rules written to {arguments.output}")
