"""Hashes of the values of rows: choices that depend neither on the order of the rows nor on that of the columns."""

from __future__ import annotations

import numpy as np

from .._typing import Array, Float1D, Float2D

_MIX = np.uint64(0xBF58476D1CE4E5B9)  # multiplier of splitmix64 (Steele, Lea and Flood 2014)
_SHIFT = np.uint64(29)  # bits, so that the upper half of a product changes the lower


def _mixed(X: Float2D) -> Array:
    """64 well-mixed bits of each value."""
    bits = (np.ascontiguousarray(X, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    mixed = (bits ^ (bits >> _SHIFT)) * _MIX
    return np.asarray((mixed ^ (mixed >> _SHIFT)) * _MIX)


def row_keys(X: Float2D) -> Array:
    """A hash of each row that depends on the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(keys[0] == keys[2] != keys[1])
    True
    """
    odd = 2 * np.arange(X.shape[1], dtype=np.uint64) + np.uint64(1)
    return np.asarray((_mixed(X) * odd).sum(axis=1))


def symmetric_keys(X: Float2D, seed: int = 0) -> Array:
    """A hash of each row that does not depend on the order of the columns; another one for each seed.

    Examples
    --------
    >>> import numpy as np
    >>> keys = symmetric_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 3.0]]))
    >>> bool(keys[0] == keys[1] != keys[2])
    True
    """
    total = _mixed(X).sum(axis=1) + np.uint64(seed)
    mixed = (total ^ (total >> _SHIFT)) * _MIX
    return np.asarray(mixed ^ (mixed >> _SHIFT))


def distinct_rows(X: Float2D, weights: Float1D, most: int) -> tuple[Float2D, Float1D]:
    """At most ``most`` different rows with the total weight of each: those with the lowest hashes.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_rows(np.array([[1.0], [2.0], [1.0]]), np.ones(3), 5)[1].sum()
    np.float64(3.0)
    """
    _, first, which = np.unique(symmetric_keys(X), return_index=True, return_inverse=True)
    total = np.bincount(np.asarray(which).ravel(), weights=weights, minlength=len(first))
    return X[first[:most]], np.asarray(total[:most], dtype=np.float64)
