"""Scores of models on tables, from sums over blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array, Float1D
from ..rows.disk import DiskRows
from ..rows.protocol import Block
from .models import Loaded, each_block

__all__ = ["score_classifier", "score_detector", "score_equations"]


def score_classifier(loaded: Loaded, rows: DiskRows) -> dict[str, Any]:
    """Accuracy, also for each class, and log loss where there are probabilities."""
    classes = loaded.model.classes_

    def count(block: Block, inside: Any) -> tuple[Array, float]:
        predicted = loaded.predictions(inside)
        truth = _codes(np.asarray(block.labels), classes)
        guess = _codes(predicted["label"], classes)
        table = np.zeros((len(classes) + 1, len(classes)), dtype=np.int64)  # the last row is for unknown labels
        np.add.at(table, (truth, guess), 1)
        shares = [values for name, values in predicted.items() if name.startswith("probability_")]
        if not shares:
            return table, np.nan
        known = truth < len(classes)
        chosen = np.column_stack(shares)[known, truth[known]]
        return table, float(-np.log(np.maximum(chosen, 1e-300)).sum())

    counted, losses = zip(*each_block(rows, loaded, count), strict=True)
    table, loss = sum(counted), float(np.sum(losses))
    n_rows, n_known = int(table.sum()), int(table[:-1].sum())
    right, each = np.diag(table[:-1]), table[:-1].sum(axis=1)
    by_class = {str(name): float(right[k] / each[k]) for k, name in enumerate(classes) if each[k]}
    content: dict[str, Any] = {"rows": n_rows, "accuracy": float(right.sum() / n_rows)}
    content |= {"balanced_accuracy": float(np.mean(list(by_class.values()))) if by_class else np.nan}
    content |= {"log_loss": loss / n_known} if np.isfinite(loss) and n_known else {}
    content |= {"unknown_labels": n_rows - n_known} if n_known < n_rows else {}
    return {**content, "accuracy_of_class": by_class}


def _codes(labels: Array, classes: Array) -> Array:
    """The place of each label among the classes; one more for others."""
    if labels.dtype.kind != classes.dtype.kind and "U" in (labels.dtype.kind, classes.dtype.kind):
        labels, classes = labels.astype(str), classes.astype(str)
    order = np.argsort(classes)
    place = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.asarray(np.where(classes[place] == labels, place, len(classes)))


def score_detector(loaded: Loaded, rows: DiskRows, abnormal: str | None) -> dict[str, Any]:
    """The share of alarms; and, if labels mark abnormal rows, the area under the ROC curve."""
    model = loaded.model

    def score(block: Block, inside: Any) -> tuple[int, int, Float1D, Array]:
        scores = model.score_samples(inside)
        n_alarms = int((scores < model.offset_).sum())
        if abnormal is None:  # counts alone: memory does not grow with the rows
            return len(scores), n_alarms, np.empty(0), np.empty(0, dtype=bool)
        return len(scores), n_alarms, scores, _marked(block.labels, abnormal)

    n_rows, n_alarms, score_parts, label_parts = zip(*each_block(rows, loaded, score), strict=True)
    alarms = sum(n_alarms) / sum(n_rows)
    content = {"rows": sum(n_rows), "alarms": alarms, "false_alarms_promised": float(model.contamination)}
    if abnormal is None:
        return content
    scores, labels = np.concatenate(score_parts), np.concatenate(label_parts)
    if labels.all() or not labels.any():
        raise ValueError(
            f"No rows are abnormal, or all are: say with --abnormal which value marks them, not {abnormal!r}."
        )
    from scipy.stats import rankdata

    ranks, n = rankdata(-scores), int(labels.sum())
    area = (ranks[labels].sum() - n * (n + 1) / 2) / (n * (len(labels) - n))
    return {**content, "abnormal_rows": n, "area_under_roc": float(area)}


def _marked(labels: Any, abnormal: str) -> Array:
    texts = [f"{label:.15g}" if isinstance(label, float) else str(label) for label in np.asarray(labels).tolist()]
    return np.array([text == abnormal for text in texts], dtype=bool)


def score_equations(loaded: Loaded, rows: DiskRows) -> dict[str, Any]:
    """Root mean squares of equations, or of distances from laws."""

    def squares(_: Block, inside: Any) -> tuple[int, Float1D]:
        values = loaded.features(inside)
        return len(inside), np.array([float(column @ column) for column in values.values()])

    counts, sums = zip(*each_block(rows, loaded, squares), strict=True)
    rms = np.sqrt(np.sum(sums, axis=0) / sum(counts))
    listed = [
        {"equation": text, "rms": float(value)}
        for text, value in zip(loaded.equations().values(), np.atleast_1d(rms), strict=True)
    ]
    return {"rows": int(sum(counts)), "equations": listed}
