"""Weights of classes, as ``class_weight`` gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import Array, Float1D
from ...checks import quoted
from ...rows.array_api import on_device_of, to_host
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled
from ...rows.protocol import Block

__all__ = ["class_factors", "class_weighted"]


def class_factors(class_weight: Any, classes: Array, n_rows: Float1D) -> Float1D | None:
    """What ``class_weight`` multiplies the weights of the rows of each class by; None for None.

    Examples
    --------
    >>> import numpy as np
    >>> class_factors("balanced", np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([0.66666667, 2.        ])
    >>> class_factors({"a": 3.0}, np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([3., 1.])
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(n_rows.sum() / (len(classes) * n_rows))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict of labels; got {class_weight!r}.")
    known = {label.item() if isinstance(label, np.generic) else label: k for k, label in enumerate(classes)}
    factors = np.ones(len(classes))
    for label, weight in class_weight.items():
        label = label.item() if isinstance(label, np.generic) else label
        if label not in known:
            raise ValueError(f"class_weight names the class {quoted(label)}, but the classes are {list(known)}.")
        if isinstance(weight, bool) or not np.isreal(weight) or not 0.0 < float(weight) < np.inf:
            raise ValueError(f"class_weight of {quoted(label)} must be a positive number, got {weight!r}.")
        factors[known[label]] = float(weight)
    return factors


def class_weighted(data: Labelled, factors: Float1D | None) -> Labelled:
    """The rows with their weights times the factor of their class."""
    if factors is None:
        return data
    if isinstance(data.rows, ArrayRows):
        rows, own = data.rows, factors[data.rows.labels]
        weights = own if rows.sample_weight is None else own * rows.sample_weight
        return data._replace(rows=ArrayRows(rows.X, weights, rows.labels, rows.n_jobs))
    return data._replace(rows=data.rows.changed(_ClassWeighted(tuple(data.keys), factors)))


@dataclass(frozen=True)
class _ClassWeighted:
    """Weights times the factor of the row's class."""

    keys: tuple[Any, ...]
    factors: Float1D

    def __call__(self, block: Block) -> Block:
        own = np.ones(block.X.shape[0])
        for key, factor in zip(self.keys, self.factors, strict=True):
            own[to_host(block.labels == key)] = factor
        weights = on_device_of(block.X, own)
        return block._replace(weights=weights if block.weights is None else weights * block.weights)
