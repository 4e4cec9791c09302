"""``vanishing score``: how good a model is on rows that it has not seen."""

from __future__ import annotations

import argparse
from typing import Any

from .inputs import add_format_arguments, progress_bars
from .outputs import print_json

__all__ = ["EXAMPLES", "add_arguments", "run"]

EXAMPLES = ("vanishing score churn.vi churn.csv", "vanishing score clicks.vi new.parquet --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a classifier, a detector, laws or equations")
    parser.add_argument("files", nargs="+", metavar="FILE", help="tables with the columns of the model, among others")
    parser.add_argument(
        "--target", metavar="COLUMN", help="column with the classes (default: the one that the model was fitted to)"
    )
    parser.add_argument(
        "--abnormal", metavar="VALUE", default="1", help="value of --target for faults, with a detector (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Score block by block."""
    from .models import load_model
    from .scoring import score_classifier, score_detector, score_equations

    loaded = load_model(arguments.model, "score", "classifier", "detector", "laws", "ideal")
    target = arguments.target or loaded.notes.get("target")
    if loaded.kind == "classifier" and target is None:
        raise ValueError(f"{arguments.model} does not say which column has the classes: name it with --target.")
    rows = loaded.open(arguments, label=target)
    with progress_bars(shown=not arguments.quiet):
        if loaded.kind == "classifier":
            content = score_classifier(loaded, rows)
        elif loaded.kind == "detector":
            content = score_detector(loaded, rows, arguments.abnormal if target is not None else None)
        else:
            content = score_equations(loaded, rows)
    if arguments.json:
        print_json(content)
    else:
        print("\n".join(_lines(content)))


def _lines(content: dict[str, Any]) -> list[str]:
    equations = content.pop("equations", [])
    lines = [f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in content.items()]
    return lines + [f"  {entry['rms']:.3g} root mean square of {entry['equation']}" for entry in equations]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(entry)}" for name, entry in value.items())
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
