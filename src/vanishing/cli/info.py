"""``vanishing info``: what is in a file; without one, what is installed."""

from __future__ import annotations

import argparse
import os
from typing import Any

from .inputs import add_format_arguments
from .outputs import print_json

EXAMPLES = ("vanishing info", "vanishing info churn.csv churn.vi clicks.npz")
_EXTRAS = {  # extras of the package, and a module that each installs
    "parquet": "pyarrow",
    "progress": "tqdm",
    "plots": "matplotlib",
    "sympy": "sympy",
    "units": "pint",
    "onnx": "onnx",
    "skops": "skops",
    "dask": "dask",
    "gpu": "array_api_compat",
    "pandera": "pandera",
    "spark": "pyspark",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="tables, models (.vi) or moments (.npz)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print a few lines about each file."""
    contents = {file: _about(file, arguments) for file in arguments.files} or {"": _installation()}
    if arguments.json:
        print_json(contents if arguments.files else contents[""])
        return
    for file, content in contents.items():
        lines = [f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in content.items()]
        print("\n  ".join([file, *lines]) if file else "\n".join(lines))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} ({kind})" for name, kind in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _about(file: str, arguments: argparse.Namespace) -> dict[str, Any]:
    size = {"bytes": os.stat(file).st_size} if os.path.isfile(file) else {}
    if file.lower().endswith(".vi"):
        return {**_model(file), **size}
    if file.lower().endswith(".npz"):
        from .inputs import read_moments
        from .moments import describe_moments

        return {**describe_moments(read_moments([file])), **size}
    return {**_table(file, arguments), **size}


def _model(file: str) -> dict[str, Any]:
    from ..files.container import read_container
    from .models import load_model

    loaded, (header, _) = load_model(file, "info"), read_container(file)
    content = {"kind": loaded.kind, "class": header["kind"], "format": header["version"]}
    content |= {"written_by": f"vanishing {header.get('written_by')}", "equations": len(loaded.equations())}
    columns = loaded.names if loaded.names is not None else loaded.model.n_features_in_
    return {**content, "columns": columns, **({"notes": loaded.notes} if loaded.notes else {})}


def _table(file: str, arguments: argparse.Namespace) -> dict[str, Any]:
    from ..rows.disk import find_files, format_of, open_rows
    from .columns import column_types
    from .inputs import dialect_of

    files = find_files([file])
    kind = format_of(files[0])
    if kind == "npy":
        rows = open_rows(files)
        return {"kind": kind, "files": len(files), "rows": rows.n_samples, "columns": rows.n_features}
    types, dialect = column_types(files[0], dialect_of(arguments))
    content: dict[str, Any] = {"kind": kind, "files": len(files), "columns": types}
    if dialect is not None:
        return {
            **content,
            "delimiter": repr(dialect.delimiter),
            "decimal": dialect.decimal,
            "encoding": dialect.encoding,
        }
    import pyarrow.dataset as dataset

    return {**content, "rows": dataset.dataset(files, format=kind).count_rows()}


def _installation() -> dict[str, Any]:
    import platform
    from importlib import metadata, util

    from .. import __version__

    packages = ("numpy", "scipy", "scikit-learn", "numba")
    installed = [name for name, module in _EXTRAS.items() if util.find_spec(module) is not None]
    return {
        "vanishing": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
        "cores": os.cpu_count() or 1,
        "extras": installed,
        "missing_extras": [name for name in _EXTRAS if name not in installed],
    }
