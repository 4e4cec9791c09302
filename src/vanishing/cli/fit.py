"""``vanishing fit``: a tuned classifier, or the equations that hold approximately on tables of any size."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable
from typing import Any

from .columns import note_row_numbers
from .inputs import add_table_arguments, is_moments, learn_encoding, progress_bars, rows_of_files
from .outputs import add_output_arguments, check_output, print_json, table_writer

EXAMPLES = (
    "vanishing fit churn.csv --target churned --exclude id,ts -o churn.vi",
    "vanishing fit 'clicks/*.parquet' --psi 1e-3 -o clicks.vi",
    "vanishing fit clicks.npz --max-degree 2",
)
_ALGORITHMS = ("abm", "avi", "oavi", "vca")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_table_arguments(parser)
    parser.add_argument(
        "--target", metavar="COLUMN", help="column with the classes: train a classifier, tuned by cross-validation"
    )
    parser.add_argument("--label", metavar="COLUMN", help="column with the classes: find the equations of each class")
    parser.add_argument("--weight", metavar="COLUMN", help="column with sample weights")
    _add_search_arguments(parser)
    parser.add_argument(
        "--psi", type=float, help="largest mean square of an equation (default: 0.005; tuned with --target)"
    )
    parser.add_argument("--algorithm", choices=_ALGORITHMS, default="oavi", help="(default: oavi)")
    parser.add_argument("--max-degree", type=int, default=10, help="largest degree of an equation (default: 10)")
    parser.add_argument("--no-scale", action="store_true", help="do not scale: the columns are in [0, 1] already")
    parser.add_argument(
        "--features", metavar="FILE", help="write |g(x)| of all rows to a .parquet, .csv, .json or .npy file"
    )
    add_output_arguments(parser, "write the model to a .vi file, for predict, score, show, export and transform")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_search_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the goals of a classifier, and limits on its formula."""
    parser.add_argument(
        "--scoring", metavar="NAME", help="with --target: choose by this score of scikit-learn, for instance roc_auc"
    )
    parser.add_argument("--max-columns", type=int, metavar="N", help="with --target: at most N terms in the formula")
    parser.add_argument(
        "--sparsity", action="store_true", help="with --target: the shortest formula within one standard error"
    )
    parser.add_argument(
        "--class-weight", metavar="WEIGHTS", help="with --target: 'balanced', or weights such as 'yes=5,no=1'"
    )
    parser.add_argument(
        "--monotone",
        metavar="SIGNS",
        help="with --target: directions of columns: with 'late=1,age=-1' the second class gets likelier or less likely",
    )


def run(arguments: argparse.Namespace) -> None:
    """Fit a model, write the files that flags name, and print the model."""
    from ..rows.disk import find_files

    inputs = find_files(arguments.files)
    check_output(arguments.output, arguments.force, (".vi",), inputs)
    check_output(arguments.features, arguments.force, (".parquet", ".csv", ".json", ".npy"), inputs)
    if arguments.target is not None and arguments.label is not None:
        raise ValueError("--target gives a classifier and --label equations for each class: choose one of them.")
    if arguments.target is not None:
        _fit_classifier(arguments)
        return
    given = [
        flag for flag in ("scoring", "max_columns", "sparsity", "class_weight", "monotone") if getattr(arguments, flag)
    ]
    if given:
        raise ValueError(
            f"--{given[0].replace('_', '-')} is for classifiers: name the column of the classes by --target."
        )
    _fit_ideal(arguments)


def _algorithm(arguments: argparse.Namespace) -> Any:
    from .. import ideals

    kind = getattr(ideals, arguments.algorithm.upper())
    given = {} if arguments.psi is None else {"psi": arguments.psi}
    return kind(max_degree=arguments.max_degree, **given)


# --- classifiers ------------------------------------------------------------------------------------------------------


def _fit_classifier(arguments: argparse.Namespace) -> None:
    from ..classification import Columns, VanishingIdealClassifierCV

    if is_moments(arguments.files):
        raise ValueError("A classifier needs rows, which moments no longer have: give a table.")
    if arguments.features:
        raise ValueError("--features is for equations without --target: use 'vanishing transform' with the model.")
    columns = {"label": arguments.target, "weight": arguments.weight}
    with progress_bars(shown=not arguments.quiet):
        encoder = learn_encoding(arguments, **columns)
    rows = rows_of_files(arguments, **columns, encoder=encoder)
    note_row_numbers(rows)
    options: dict[str, Any] = {"estimator": _algorithm(arguments), "scoring": _scoring(arguments.scoring)}
    options["max_columns"] = arguments.max_columns
    if arguments.sparsity:
        options["refit"] = "1se"
    if arguments.class_weight is not None:
        options["class_weight"] = _class_weight(arguments.class_weight, rows)
    if arguments.monotone is not None:
        options["columns"] = Columns(monotone=_numbers("--monotone", arguments.monotone, rows.shown_names)).richer()
    if arguments.psi is not None:
        options["psis"] = [arguments.psi]
    if arguments.no_scale:
        options["scale_input"] = False
    start = time.perf_counter()
    with progress_bars(shown=not arguments.quiet):
        model = VanishingIdealClassifierCV(**options).fit(rows)
    _save(_with_encoder(model, encoder), arguments, {"target": arguments.target})
    _print_classifier(model, encoder, arguments, time.perf_counter() - start)


def _scoring(name: str | None) -> str | None:
    from sklearn.metrics import get_scorer_names

    if name is not None and name not in get_scorer_names():
        known = "accuracy, balanced_accuracy, roc_auc, average_precision, neg_log_loss or f1_macro"
        raise ValueError(f"--scoring must be a score of scikit-learn, for instance {known}; got {name!r}.")
    return name


def _class_weight(text: str, rows: Any) -> Any:
    """``balanced``, or the weights of labels as they are in the table."""
    if text == "balanced":
        return text
    from ..rows.labels import read_labelled

    labels = {str(label): label for label in read_labelled(rows, None).classes.tolist()}
    return {labels[name]: weight for name, weight in _numbers("--class-weight", text, labels, "'balanced' or ").items()}


def _numbers(flag: str, text: str, known: Iterable[str], otherwise: str = "") -> dict[str, float]:
    """The numbers of some of the ``known`` names, from a text such as ``late=1,age=-1``."""
    known, numbers = list(known), {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            numbers[known[known.index(name.strip())]] = float(number)
        except ValueError:
            raise ValueError(
                f"{flag} must be {otherwise}name=number, such as '{known[0]}=1'; the names are {', '.join(known)}; got "
                f"{part!r}."
            ) from None
    return numbers


def _print_classifier(model: Any, encoder: Any, arguments: argparse.Namespace, seconds: float) -> None:
    encoded = [] if encoder is None else encoder.describe()
    score, noted = float(model.best_score_), model.best_estimator_._rehearsal
    measure = arguments.scoring or "accuracy"
    if arguments.json:
        content = {"kind": "classifier", "classes": model.classes_, "target": arguments.target, measure: score}
        if noted is not None:
            content["on_training_rows"] = {"accuracy": noted.accuracy, **noted.rates.details(model.classes_)}
        content |= {"parameters": model.best_params_, "formula": str(model), "encoded": encoded}
        print_json({**content, "output": arguments.output})
        return
    shown = f"{score:.2%}" if measure == "accuracy" else f"{score:.4g}"
    print(f"classifier of {arguments.target}, {measure} {shown} in cross-validation, {seconds:.1f} s")
    print(re.sub(r": max_columns=(\d+)$", r": --max-columns \1", str(model), flags=re.MULTILINE))
    print("\n".join(encoded), end="\n" if encoded else "")
    _say_written(arguments.output)


def _with_encoder(model: Any, encoder: Any) -> Any:
    """The model behind its encoder, so that it takes the columns of the files."""
    if encoder is None:
        return model
    from sklearn.pipeline import Pipeline

    return Pipeline([("columns", encoder), ("model", model)])


# --- equations --------------------------------------------------------------------------------------------------------


def _fit_ideal(arguments: argparse.Namespace) -> None:
    from ..classification import PerClass
    from .models import equation_lines, listed_equations

    data, scaler = _data(arguments)
    algorithm = _algorithm(arguments)
    model = algorithm if arguments.label is None else PerClass(algorithm)
    start = time.perf_counter()
    with progress_bars(shown=not arguments.quiet):
        model.fit(data)
        took = time.perf_counter() - start
        scaler = getattr(data, "scaler", scaler) if not arguments.no_scale else None
        if arguments.features:
            _write_features(model, data, arguments)
    _save(_with_scaler(model, scaler), arguments, {} if arguments.label is None else {"label": arguments.label})
    parts = [(f"{arguments.algorithm.upper()}, psi = {algorithm.psi:g}, {took:.1f} s", model)]
    if arguments.label is not None:
        parts = [(f"class {name}", ideal) for name, ideal in model._named]
    if arguments.json:
        listed = [{"title": title, "equations": listed_equations(ideal, scaler)} for title, ideal in parts]
        print_json({"kind": "ideal", "parts": listed, "output": arguments.output, "features": arguments.features})
        return
    for title, ideal in parts:
        print("\n".join(equation_lines(title, ideal, scaler)))
    if arguments.features:
        print(f"features written to {arguments.features}")
    _say_written(arguments.output)


def _data(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Rows, scaled unless ``--no-scale``, or moments with their scaler."""
    if is_moments(arguments.files):
        from .inputs import read_moments

        if arguments.label is not None or arguments.features:
            raise ValueError("Moments have neither labels nor rows: --label and --features need a table.")
        moments = read_moments(arguments.files)
        return moments, moments.scaler
    from ..rows.disk import ScaledOnDisk

    rows = rows_of_files(arguments, label=arguments.label, weight=arguments.weight)
    note_row_numbers(rows)
    return (rows if arguments.no_scale else ScaledOnDisk(rows, None)), None


def _with_scaler(model: Any, scaler: Any) -> Any:
    """The model behind its scaling, so that it takes the columns of the files."""
    if scaler is None:
        return model
    from copy import copy

    from sklearn.pipeline import Pipeline

    if hasattr(model, "feature_names_in_"):
        scaler.feature_names_in_ = model.feature_names_in_
        model = copy(model)
        del model.feature_names_in_  # scikit-learn would warn that the scaler's arrays have no names
    return Pipeline([("scale", scaler), ("model", model)])


def _write_features(model: Any, rows: Any, arguments: argparse.Namespace) -> None:
    """Write ``|g|`` of all rows, block by block, under short names."""
    values = model.transform(rows)
    if values.n_features == 0:
        raise ValueError("There are no columns to write: no polynomial vanishes on the data; raise psi.")
    names = [f"g{k}" for k in range(values.n_features)]
    if arguments.features.lower().endswith(".npy"):
        values.write(arguments.features, names)
        return
    equations = dict(zip(names, map(str, model.get_feature_names_out()), strict=True))
    with table_writer(arguments.features, {"kind": "ideal", "equations": equations}) as writer:
        for part in values.source.each_block(lambda block: values.change(block).X, values.block_rows):
            writer.write({name: part[:, k] for k, name in enumerate(names)})


def _save(model: Any, arguments: argparse.Namespace, notes: dict[str, str]) -> None:
    if arguments.output is not None:
        from ..files import save

        save(model, arguments.output, notes=notes)


def _say_written(path: str | None) -> None:
    if path is not None:
        print(f"model written to {path}")
