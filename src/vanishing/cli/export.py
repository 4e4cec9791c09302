"""``vanishing export``: a model for other systems."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from .outputs import add_output_arguments, check_output, write_text

EXAMPLES = (
    "vanishing export churn.vi --to onnx -o churn.onnx",
    "vanishing export pipes.vi --to latex",
    "vanishing export clicks.vi --to sql --table clicks -o clicks.sql",
)
_SUFFIXES = {
    "onnx": (".onnx",),
    "torch": (".pt2",),
    "numpy": (".py",),
    "sql": (".sql",),
    "latex": (".tex",),
    "sympy": (".py",),
    "macaulay2": (".m2",),
    "singular": (".sing", ".lib"),
    "sage": (".sage", ".py"),
}
_BINARY = ("onnx", "torch")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a .vi file")
    parser.add_argument("--to", choices=tuple(_SUFFIXES), required=True, help="the system to write for")
    add_output_arguments(parser, "write to this file (default: standard output; onnx and torch need a file)")
    parser.add_argument("--table", default="rows", help="name of the table in SQL (default: rows)")
    parser.add_argument(
        "--tol", type=float, help="write coefficients as fractions within this relative distance, for computer algebra"
    )
    parser.add_argument("--float64", action="store_true", help="double precision in ONNX (default: single)")


def run(arguments: argparse.Namespace) -> None:
    """Write the model for the other system."""
    check_output(arguments.output, arguments.force, _SUFFIXES[arguments.to], [arguments.model])
    if arguments.to in _BINARY and arguments.output is None:
        raise ValueError(f"--to {arguments.to} writes a file: name it with -o, ending in {_SUFFIXES[arguments.to][0]}.")
    from .models import load_model

    loaded = load_model(arguments.model, "export")
    if arguments.to in _BINARY:
        _write_bytes(arguments.output, (_onnx if arguments.to == "onnx" else _torch)(loaded, arguments))
    else:
        write_text(arguments.output, _TEXTS[arguments.to](loaded, arguments))
    if arguments.output is not None:
        print(f"{arguments.to} written to {arguments.output}")


def _write_bytes(path: str, content: bytes) -> None:
    from ..rows.writing import complete_file

    with complete_file(path) as unfinished:
        unfinished.write_bytes(content)


# --- programs ---------------------------------------------------------------------------------------------------------


def _program(loaded: Any) -> Any:
    """The model to export: with its encoder and transformers before it, or the polynomials of laws and rules."""
    from sklearn.pipeline import Pipeline

    if loaded.kind in ("laws", "rules"):
        from ..polynomials.polynomial import join_polynomials

        return join_polynomials(_polynomials(loaded))
    before = [step for step in (loaded.encoder, *loaded.before) if step is not None]
    steps = [(f"step{k}", step) for k, step in enumerate((*before, loaded.model))]
    return Pipeline(steps) if before else loaded.model


def _onnx(loaded: Any, arguments: argparse.Namespace) -> bytes:
    import numpy as np

    from ..exports import to_onnx

    graph = to_onnx(_program(loaded), np.float64 if arguments.float64 else np.float32)
    content: bytes = graph.SerializeToString()
    return content


def _torch(loaded: Any, arguments: argparse.Namespace) -> bytes:
    import io
    import warnings

    from ..exports import to_torch
    from ..exports.outputs import n_inputs

    model = _program(loaded)
    module = to_torch(model)
    import torch

    example = torch.zeros((2, n_inputs(model)), dtype=torch.float64)
    batch = torch.export.Dim("rows", min=1)
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about its own internals
        torch.export.save(torch.export.export(module, (example,), dynamic_shapes={"X": {0: batch}}), stream)
    return stream.getvalue()


def _numpy(loaded: Any, arguments: argparse.Namespace) -> str:
    from ..exports import to_numpy_source

    return to_numpy_source(_program(loaded))


def _sql(loaded: Any, arguments: argparse.Namespace) -> str:
    from ..exports import to_sql

    if loaded.kind == "rules":
        checks: str = loaded.model.to_sql_check(arguments.table)
        return checks
    return to_sql(_program(loaded), arguments.table)


# --- formulae ---------------------------------------------------------------------------------------------------------


def _polynomials(loaded: Any) -> list[Any]:
    """The equations in the units of the files."""
    from ..polynomials.polynomial import Polynomials
    from ..rules.rule import polynomial_of_law
    from .models import polynomials_in_units

    model = loaded.model
    if loaded.kind == "laws":
        return [polynomial_of_law(law) for law in model]
    if loaded.kind == "rules":
        return [rule.polynomial for rule in model]
    if loaded.kind == "classifier":
        raise ValueError(
            f"{loaded.path} holds a classifier, which is no ideal: export it to onnx, torch, numpy or sql."
        )
    lists = [part.generators_ for _, part in getattr(model, "_named", [])] or [
        model if isinstance(model, Polynomials) else model.generators_
    ]
    return [polynomial for each in lists for polynomial in polynomials_in_units(each, loaded.scaler)]


def _latex(loaded: Any, arguments: argparse.Namespace) -> str:
    if loaded.kind == "laws":
        text: str = loaded.model.to_latex()
        return text
    if loaded.kind == "classifier":
        import sympy

        return "\n".join(sympy.latex(expression) for expression in _expressions(loaded))
    lines = [f"{polynomial.to_latex()} &\\approx 0" for polynomial in _polynomials(loaded)]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _sympy(loaded: Any, arguments: argparse.Namespace) -> str:
    expressions = _expressions(loaded)
    import sympy

    listed = ",\n    ".join(sympy.srepr(expression) for expression in expressions)
    return f"from sympy import *\n\nexpressions = [\n    {listed},\n]\n"


def _expressions(loaded: Any) -> list[Any]:
    if loaded.kind == "classifier":
        if not hasattr(loaded.model, "to_sympy"):
            raise ValueError(f"{loaded.path} holds an SVM without a formula: export it to onnx, torch, numpy or sql.")
        formula = loaded.model.to_sympy()
        if isinstance(formula, dict):
            return list(formula.values())
        return formula if isinstance(formula, list) else [formula]
    equations = loaded.model if loaded.kind == "laws" else _polynomials(loaded)
    return [equation.to_sympy() for equation in equations]


def _algebra(system: str) -> Callable[[Any, argparse.Namespace], str]:
    def write(loaded: Any, arguments: argparse.Namespace) -> str:
        from ..polynomials import systems

        text: str = getattr(systems, f"to_{system}")(_polynomials(loaded), arguments.tol)
        return text

    return write


_TEXTS: dict[str, Callable[[Any, argparse.Namespace], str]] = {
    "numpy": _numpy,
    "sql": _sql,
    "latex": _latex,
    "sympy": _sympy,
    **{system: _algebra(system) for system in ("macaulay2", "singular", "sage")},
}
