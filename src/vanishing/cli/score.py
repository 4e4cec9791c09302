"""``vanishing score``: how good a model is on rows that it has not seen."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..constants import TINY
from .inputs import add_format_arguments, progress_bars
from .outputs import print_json

if TYPE_CHECKING:
    from .._typing import Array, Float1D
    from ..rows.disk import DiskRows
    from ..rows.protocol import Block
    from .models import Loaded

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

    loaded = load_model(arguments.model, "score", "classifier", "detector", "laws", "ideal")
    target = arguments.target or loaded.notes.get("target")
    if loaded.kind == "classifier" and target is None:
        raise ValueError(f"{arguments.model} does not say which column has the classes: name it with --target.")
    rows = loaded.open(arguments, label=target)
    with progress_bars(shown=not arguments.quiet):
        if loaded.kind == "classifier":
            content = _of_classifier(loaded, rows)
        elif loaded.kind == "detector":
            content = _of_detector(loaded, rows, arguments.abnormal if target is not None else None)
        else:
            content = _of_equations(loaded, rows)
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


# --- scores, from sums over blocks ------------------------------------------------------------------------------------


def _of_classifier(loaded: Loaded, rows: DiskRows) -> dict[str, Any]:
    """Accuracy beside what uneven classes hide, and log loss where there are probabilities."""
    import numpy as np

    from ..classification.model.rates import Thresholds, counts_by_score

    classes = loaded.model.classes_

    def count(block: Block, inside: Any) -> tuple[Array, Array, float]:
        predicted = loaded.predictions(inside)
        truth = _codes(np.asarray(block.labels), classes)
        guess = _codes(predicted["label"], classes)
        table = np.zeros((len(classes) + 1, len(classes)), dtype=np.int64)  # the last row is for unknown labels
        np.add.at(table, (truth, guess), 1)
        shares = [values for name, values in predicted.items() if name.startswith("probability_")]
        known = truth < len(classes)
        scores = [predicted["score"]] if "score" in predicted else _log_odds(predicted, shares)
        first = len(classes) - len(scores)
        by_score = np.stack([counts_by_score(s[known], truth[known] == k) for k, s in enumerate(scores, first)])
        if not shares:
            return table, by_score, np.nan
        chosen = np.column_stack(shares)[known, truth[known]]
        return table, by_score, float(-np.log(np.maximum(chosen, TINY)).sum())

    tables, counted, losses = zip(*loaded.each_block(rows, count), strict=True)
    table, loss = sum(tables), float(np.sum(losses))
    areas = [Thresholds.of(own).area_under_roc for own in sum(counted) if own.sum(axis=1).all()]
    n_rows, n_known = int(table.sum()), int(table[:-1].sum())
    right, each = np.diag(table[:-1]), table[:-1].sum(axis=1)
    by_class = {str(name): float(right[k] / each[k]) for k, name in enumerate(classes) if each[k]}
    content: dict[str, Any] = {"rows": n_rows, "accuracy": float(right.sum() / n_rows)}
    if by_class:
        commonest = int(np.argmax(each))
        content |= {"share_of_commonest_class": {str(classes[commonest]): float(each[commonest] / n_known)}}
        content |= {"balanced_accuracy": float(np.mean(list(by_class.values())))}
    content |= {"area_under_roc": float(np.mean(areas))} if areas else {}
    content |= {"log_loss": loss / n_known} if np.isfinite(loss) and n_known else {}
    content |= {"unknown_labels": n_rows - n_known} if n_known < n_rows else {}
    return {**content, "recall": by_class}


def _log_odds(predicted: dict[str, Any], shares: list[Any]) -> list[Any]:
    """A score of each class against the rest: the log-odds of its probability, or its decision."""
    import numpy as np

    if not shares:
        return [values for name, values in predicted.items() if name.startswith("score_")]
    with np.errstate(divide="ignore"):
        return [np.log(share) - np.log1p(-share) for share in shares]


def _codes(labels: Array, classes: Array) -> Array:
    """The place of each label among the classes; one more for others."""
    import numpy as np

    if labels.dtype.kind != classes.dtype.kind and "U" in (labels.dtype.kind, classes.dtype.kind):
        labels, classes = labels.astype(str), classes.astype(str)
    order = np.argsort(classes)
    place = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.asarray(np.where(classes[place] == labels, place, len(classes)))


def _of_detector(loaded: Loaded, rows: DiskRows, abnormal: str | None) -> dict[str, Any]:
    """The share of alarms; and, if labels mark abnormal rows, the area under the ROC curve."""
    import numpy as np

    from ..classification.model.rates import area_under_roc

    model = loaded.model

    def score(block: Block, inside: Any) -> tuple[int, int, Float1D, Array]:
        scores = model.score_samples(inside)
        n_alarms = int((scores < model.offset_).sum())
        if abnormal is None:  # counts alone: memory does not grow with the rows
            return len(scores), n_alarms, np.empty(0), np.empty(0, dtype=bool)
        return len(scores), n_alarms, scores, _marked(block.labels, abnormal)

    n_rows, n_alarms, score_parts, label_parts = zip(*loaded.each_block(rows, score), strict=True)
    alarms = sum(n_alarms) / sum(n_rows)
    content = {"rows": sum(n_rows), "alarms": alarms, "false_alarms_promised": float(model.contamination)}
    if abnormal is None:
        return content
    scores, labels = np.concatenate(score_parts), np.concatenate(label_parts)
    if labels.all() or not labels.any():
        raise ValueError(
            f"No rows are abnormal, or all are: say with --abnormal which value marks them, not {abnormal!r}."
        )
    return {**content, "abnormal_rows": int(labels.sum()), "area_under_roc": area_under_roc(-scores, labels)}


def _marked(labels: Any, abnormal: str) -> Array:
    """Whether each label is the value that marks faults."""
    import numpy as np

    texts = [f"{label:.15g}" if isinstance(label, float) else str(label) for label in np.asarray(labels).tolist()]
    return np.array([text == abnormal for text in texts], dtype=bool)


def _of_equations(loaded: Loaded, rows: DiskRows) -> dict[str, Any]:
    """Root mean squares of equations, or of distances from laws."""
    import numpy as np

    def squares(_: Block, inside: Any) -> tuple[int, Float1D]:
        values = loaded.features(inside)
        return len(inside), np.array([float(column @ column) for column in values.values()])

    counts, sums = zip(*loaded.each_block(rows, squares), strict=True)
    rms = np.sqrt(np.sum(sums, axis=0) / sum(counts))
    listed = [
        {"equation": text, "rms": float(value)}
        for text, value in zip(loaded.equations().values(), np.atleast_1d(rms), strict=True)
    ]
    return {"rows": int(sum(counts)), "equations": listed}
