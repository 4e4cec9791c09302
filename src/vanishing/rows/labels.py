"""Rows with labels: reads them, finds their classes, and turns scores into labels."""

from __future__ import annotations

import operator
from collections.abc import Collection
from datetime import date
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from .._typing import Array, Int1D
from ..checks import check_n_jobs, check_weights, quoted, require_unmasked
from .array_api import is_device_array, namespace_of, on_device_of, to_host
from .arrays import ArrayRows
from .protocol import Block, Cost, Rows
from .reading import (
    frame_names,
    is_dask,
    is_source,
    learn_columns,
    open_table,
    read_rows,
    require_finite,
    require_numbers,
)

_MOST_CLASSES = 1000  # a label column with more distinct values is taken for a mistake


class Labelled(NamedTuple):
    """Rows with labels; their blocks label class ``classes[k]`` with ``keys[k]``."""

    rows: Rows
    classes: Array
    keys: list[Any]

    def require_weights(self) -> None:
        """Raise ValueError if all rows of a class have weight 0; checked for rows in memory only."""
        if not isinstance(self.rows, ArrayRows) or self.rows.sample_weight is None:
            return
        assert self.rows.labels is not None
        weightless = np.flatnonzero(np.bincount(self.rows.labels, self.rows.sample_weight) == 0.0)
        if weightless.size:
            label = quoted(self.classes[weightless[0]])
            raise ValueError(f"All rows of class {label} have sample_weight 0: leave out the class.")

    def without_zero_weights(self) -> Labelled:
        """The same without rows of weight 0, for rows in memory; other sources stay as they are."""
        if not isinstance(self.rows, ArrayRows):
            return self
        self.require_weights()
        return self._replace(rows=self.rows.without_zero_weights())

    def parts(self, rows: Rows) -> list[Rows]:
        """The rows of each class, from ``rows``: these rows or a view of them."""
        return [rows.where_label(key) for key in self.keys]


def read_labelled(
    X: Any, y: Any, sample_weight: Any = None, *, at_least: int = 2, n_jobs: int | None = None
) -> Labelled:
    """Check rows and labels, of at least ``at_least`` classes.

    :class:`Rows` bring their own labels; for any other ``X`` the labels are ``y``.
    """
    check_n_jobs(n_jobs)
    if type(X) is not np.ndarray:
        X = open_table(X)
        if is_source(X):
            return _read_source(X, y, sample_weight, at_least)
        require_numbers(X)
    require_unmasked(X=X, y=y, sample_weight=sample_weight)
    table, y = check_X_y(X, _plain_labels(y), dtype="numeric", ensure_all_finite=False, estimator="Classification")
    classes, codes = check_labels(y, at_least)
    rows = ArrayRows(table, check_weights(sample_weight, table.shape[0]), codes, n_jobs)
    rows.feature_names = frame_names(X)
    require_finite(rows, rows.shown_names)
    return Labelled(rows, classes, list(range(len(classes))))


def read_labelled_input(estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, at_least: int = 2) -> Labelled:
    """As :func:`read_labelled`, for the fit of an estimator, which learns the columns."""
    X = X if type(X) is np.ndarray else open_table(X)
    data = read_labelled(X, y, sample_weight, at_least=at_least, n_jobs=getattr(estimator, "n_jobs", None))
    learn_columns(estimator, data.rows, given=X)
    return data


def _read_source(X: Any, y: Any, sample_weight: Any, at_least: int) -> Labelled:
    """As :func:`read_labelled`, for anything but arrays, frames and lists in memory."""
    if isinstance(X, Rows) and (y is not None or not X.labelled):
        raise ValueError(
            "Labels of rows on disk and streams are one of their columns: name it in open_rows(label=...), without y."
        )
    require_unmasked(X=X, y=y, sample_weight=sample_weight)
    if is_device_array(X):
        classes, codes = _device_classes(X, y)
        rows = read_rows(X, sample_weight, labels=codes)
        return Labelled(rows, _require_enough(classes, at_least), list(range(len(classes))))
    if y is None and not isinstance(X, Rows):
        raise ValueError("Classification requires y to be passed, but the target y is None.")
    rows = read_rows(X, sample_weight, labels=y)
    classes = _require_enough(_classes_of(rows), at_least)
    return Labelled(rows, classes, [label.item() if isinstance(label, np.generic) else label for label in classes])


def check_labels(y: Any, at_least: int = 2) -> tuple[Array, Int1D]:
    """Return the classes, at least ``at_least`` of them, and for each row the index of its class."""
    check_classification_targets(y)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) < at_least:
        raise ValueError(
            f"Classification needs rows of at least 2 classes, but y contains one class only: {quoted(classes[0])}."
        )
    return classes, codes.astype(np.int64)


def _require_enough(classes: Array, at_least: int) -> Array:
    return check_labels(np.tile(classes, 3), at_least)[0]  # repeated, so that they pass as labels of rows


def _device_classes(X: Any, y: Any) -> tuple[Array, Any]:
    """The classes, and for each row the index of its class, on the device of ``X``."""
    if y is None or tuple(np.shape(y)) != (X.shape[0],):
        raise ValueError(f"y must have shape ({X.shape[0]},), one label per row; got {np.shape(y)}.")
    if not is_device_array(y):
        classes, codes = np.unique(np.asarray(_plain_labels(y)), return_inverse=True)
        return classes, on_device_of(X, codes.astype(np.int64))
    namespace = namespace_of(y)
    classes = namespace.unique_values(y)
    return to_host(classes), namespace.searchsorted(classes, y)


def _classes_of(rows: Rows) -> Array:
    """The distinct labels, in one pass over them."""
    place = rows.place  # kernels must not hold the rows
    too_many = ValueError(f"There are more than {_MOST_CLASSES} different labels: is the label the right column?")

    def kernel(block: Block) -> frozenset[Any]:
        plain = block.labels.dtype != object
        labels = frozenset((np.unique(block.labels) if plain else block.labels).tolist())
        if any(map(_is_no_label, labels)):
            row = next(i for i, label in enumerate(block.labels.tolist()) if _is_no_label(label))
            raise ValueError(f"A label is missing {place(block.part, block.start + row)}: drop those rows.")
        if len(labels) > _MOST_CLASSES:
            raise too_many
        return labels

    def combine(a: frozenset[Any], b: frozenset[Any]) -> frozenset[Any]:
        if len(a | b) > _MOST_CLASSES:
            raise too_many
        return a | b

    labels = rows.label_rows().reduce(kernel, combine, Cost(work=1, width=1))
    _require_one_kind(labels)
    return np.array(sorted(labels))


def all_labels(rows: Rows) -> Array:
    """The labels of all rows, in one pass over them."""

    def kernel(block: Block) -> tuple[Array, ...]:
        return (np.array(block.labels),)  # the reader reuses its memory

    return np.concatenate(rows.label_rows().reduce(kernel, operator.add, Cost(work=1, width=1)))


def _plain_labels(y: Any) -> Any:
    """The labels, with objects that are numbers as an array of numbers; raise ValueError if one is missing."""
    if y is None:
        return None
    values = np.asarray(y) if hasattr(y, "__array__") else np.asarray(y, dtype=object)
    if values.ndim != 1 or values.dtype.kind not in "OfmM":
        return y
    missing = [is_missing(label) for label in values] if values.dtype == object else values != values
    if np.any(missing):
        raise ValueError(f"A label is missing in row {int(np.argmax(missing))}: drop those rows.")
    if values.dtype != object:
        return y
    labels = values.tolist()
    _require_one_kind(labels)
    return y if not labels or isinstance(labels[0], str) else np.array(labels)


def _require_one_kind(labels: Collection[Any]) -> None:
    """Raise ValueError for labels that cannot be sorted."""
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("Some labels are text and some are not: convert them to one type.")
    for label in labels:
        if not isinstance(label, (str, Real, np.generic, date)):
            raise ValueError(f"Labels have to be text or numbers, but one is {label!r}: convert them.")


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or pandas' NA or NaT."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label != label


def _is_no_label(label: Any) -> bool:
    """Whether a label is missing; an empty cell of a CSV file counts as missing."""
    return is_missing(label) or label == ""


def as_vector(scores: Any) -> Any:
    """Scores in scikit-learn's shape: a vector if there is one column."""
    if isinstance(scores, Rows):
        scores = scores.to_numpy()
    return scores[:, 0] if scores.shape[1] == 1 else scores


def best_labels(scores: Any, classes: Array) -> Any:
    """The label with the largest score in each row; for two classes with one score, by its sign."""
    if is_dask(scores):
        return scores.map_blocks(best_labels, classes, dtype=classes.dtype, drop_axis=1 if scores.ndim == 2 else None)
    namespace = namespace_of(scores)
    two = scores.ndim == 1
    chosen = namespace.astype(scores > 0.0, namespace.int64) if two else namespace.argmax(scores, axis=1)
    if isinstance(scores, np.ndarray) or classes.dtype.kind not in "biuf":
        return np.asarray(classes[to_host(chosen)])  # text stays on the host
    return namespace.take(on_device_of(scores, classes), chosen)
