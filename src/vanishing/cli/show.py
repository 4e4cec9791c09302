"""``vanishing show``: the equations in a file."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .outputs import print_json

EXAMPLES = ("vanishing show churn.vi", "vanishing show pipes.vi --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a .vi file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Print the equations or the formula of a model."""
    from .models import load_model

    loaded = load_model(arguments.model, "show")
    if arguments.json:
        encoded = {} if loaded.encoder is None else {"encoded": loaded.encoder.describe()}
        print_json({**_described(loaded), "columns": loaded.names, **encoded, "notes": loaded.notes})
    else:
        print("\n".join([*_lines(loaded), *(loaded.encoder.describe() if loaded.encoder is not None else [])]))


def _described(loaded: Any) -> dict[str, Any]:
    from .detect import describe_detector
    from .models import listed_equations

    model = loaded.model
    if loaded.kind == "laws":
        return {"kind": "laws", **json.loads(model.to_json())}
    if loaded.kind == "rules":
        return {"kind": "rules", "rules": [str(rule) for rule in model]}
    if loaded.kind == "detector":
        return describe_detector(model)
    if loaded.kind == "classifier":
        return {"kind": "classifier", "classes": model.classes_, "formula": str(model)}
    parts = [{"title": title, "equations": listed_equations(ideal, scaler)} for title, ideal, scaler in _parts(loaded)]
    return {"kind": "ideal", "parts": parts}


def _lines(loaded: Any) -> list[str]:
    from .detect import detector_lines
    from .models import equation_lines

    if loaded.kind == "laws":
        return [loaded.model.summary()]
    if loaded.kind == "detector":
        return detector_lines(loaded.model)
    if loaded.kind == "ideal":
        return [line for part in _parts(loaded) for line in equation_lines(*part)]
    return [str(loaded.model)]


def _parts(loaded: Any) -> list[tuple[str, Any, Any]]:
    """Title, ideal and scaling of each list of equations."""
    if hasattr(loaded.model, "estimators_"):
        return [(f"class {name}", ideal, loaded.scaler) for name, ideal in loaded.model._named]
    return [(type(loaded.model).__name__, loaded.model, loaded.scaler)]
