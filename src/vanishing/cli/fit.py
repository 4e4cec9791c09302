"""``vanishing fit``: computes the equations of a table in files."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Float1D
from ..classification.per_class import PerClass
from ..ideals.abm import ABM
from ..ideals.avi import AVI
from ..ideals.ideal import MonomialIdeal
from ..ideals.oavi import OAVI
from ..ideals.vca import VCA
from ..polynomials.polynomial import Polynomial, Polynomials
from ..progress import show_progress
from ..rows.disk import find_files, open_rows
from ..rows.writing import check_target

__all__ = ["add_arguments", "column_ids", "names_in", "progress_bars", "run"]

_ALGORITHMS: dict[str, Any] = {"oavi": OAVI, "abm": ABM, "avi": AVI, "vca": VCA}
_SHOWN = 30  # equations to print
_NEGLIGIBLE = 1e-7  # terms below this share of the largest one are not printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("files", nargs="+", help="files, patterns or folders: .parquet, .arrow, .feather, .csv or .npy")
    parser.add_argument("--psi", type=float, default=0.005, help="largest mean square of an equation (default: 0.005)")
    parser.add_argument("--algorithm", choices=sorted(_ALGORITHMS), default="oavi", help="(default: oavi)")
    parser.add_argument("--max-degree", type=int, default=10, help="largest degree of an equation (default: 10)")
    parser.add_argument("--columns", help="columns to use, separated by commas (default: all but label and weight)")
    parser.add_argument("--label", help="column with classes: equations for each of them")
    parser.add_argument("--weight", help="column with sample weights")
    parser.add_argument("--no-scale", action="store_true", help="the columns are in [0, 1] already")
    parser.add_argument("--features", metavar="FILE", help="write |g(x)| of all rows to a .parquet or .npy file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(arguments: argparse.Namespace) -> None:
    """Fit a model, write its features if a file is given, and print the equations."""
    columns, label, weight = (
        column_ids(value, arguments.files)
        for value in (arguments.columns and names_in(arguments.columns), arguments.label, arguments.weight)
    )
    if arguments.features:
        check_target(arguments.features)
    rows: Any = open_rows(arguments.files, columns=columns, label=label, weight=weight, scale=not arguments.no_scale)
    algorithm = _ALGORITHMS[arguments.algorithm](arguments.psi, max_degree=arguments.max_degree)
    model = algorithm if label is None else PerClass(algorithm)
    start = time.perf_counter()
    with progress_bars(shown=not arguments.quiet):
        model.fit(rows)
        took = time.perf_counter() - start
        if arguments.features:
            model.transform(rows).write(arguments.features)
    scaler = None if arguments.no_scale else rows.scaler
    if label is None:
        _show(f"{arguments.algorithm.upper()}, psi = {arguments.psi:g}, {took:.1f} s", model, scaler)
    else:
        for name, ideal in zip(model.classes_, model.estimators_, strict=True):
            _show(f"class {name}", ideal, scaler)
    if arguments.features:
        print(f"features written to {arguments.features}")


def names_in(text: str) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",")]


def column_ids(value: Any, files: list[str]) -> Any:
    """Columns as numbers for .npy files, as names for all others."""
    if value is None or not find_files(files)[0].lower().endswith(".npy"):
        return value
    try:
        return [int(entry) for entry in value] if isinstance(value, list) else int(value)
    except ValueError:
        raise ValueError(f"Columns of .npy files are given by their numbers, from 0 on; got {value!r}.") from None


@contextmanager
def progress_bars(*, shown: bool) -> Iterator[None]:
    """Show bars for passes, if ``shown`` and tqdm is installed."""
    if not shown:
        yield
        return
    try:
        bars = show_progress()
        bars.__enter__()
    except ImportError as error:
        print(f"vanishing: no progress is shown. {error}", file=sys.stderr)
        yield
        return
    try:
        yield
    finally:
        bars.__exit__(None, None, None)


def _show(title: str, ideal: Any, scaler: Any) -> None:
    """Print the equations in the units of the files, relations between columns first, and a sentence about these."""
    generators: Polynomials = ideal.generators_
    print(f"{title}: {len(generators)} equations" + (", in the units of the files" if scaler is not None else ""))
    shown = generators if scaler is None else generators.in_units(scaler)
    size = np.ones(len(generators.feature_names))
    if scaler is not None:
        size = np.maximum(np.abs(scaler.data_min_), np.abs(scaler.data_max_))
    relations = ideal.relations() if isinstance(ideal, MonomialIdeal) and len(generators) else None
    rank = np.zeros(len(generators)) if relations is None else relations.rank
    order = sorted(range(len(generators)), key=lambda g: (rank[g], shown[g].degree, generators.mse[g]))
    for g in order[:_SHOWN]:
        print(
            f"  {_tidy(shown[g], size)} = 0    (root mean square {generators.mse[g] ** 0.5:.2g} for columns in [0, 1])"
        )
    if len(order) > _SHOWN:
        print(f"  ... and {len(order) - _SHOWN} more")
    if relations is not None:
        print(relations)


def _tidy(polynomial: Polynomial, size: Float1D) -> Polynomial:
    """Without terms that are rounding errors of the scaling, for columns of this size; the first coefficient is 1."""
    share = np.abs(polynomial.coef) * np.prod(size**polynomial.exponents, axis=1)
    kept = share > _NEGLIGIBLE * share.max()
    coef = polynomial.coef[kept]
    return replace(polynomial, exponents=polynomial.exponents[kept], coef=coef / coef[0])
