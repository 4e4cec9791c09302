"""Folds of a cross-validation in passes: hashes of the places of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .array_api import namespace_of
from .protocol import Block, where

__all__ = ["InFolds", "NumberFolds", "fold_numbers"]

_SPLITMIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)  # as published


@dataclass(frozen=True)
class NumberFolds:
    """Blocks with the fold of each of their rows, computed where the rows are.

    To be applied to a source itself, whose blocks know the places of their rows. Views of the same numbered rows
    compute the numbers once in a pass.
    """

    n_folds: int

    def __call__(self, block: Block) -> Block:
        """The block with its folds."""
        return block._replace(folds=fold_numbers(block.X, block.part, block.start, block.X.shape[0], self.n_folds))


@dataclass(frozen=True)
class InFolds:
    """The rows of some folds, of rows whose folds are numbered."""

    leaves_out_rows: ClassVar = True
    folds: tuple[int, ...]

    def __call__(self, block: Block) -> Block:
        """The rows that are in the folds."""
        chosen = block.folds == self.folds[0]
        for fold in self.folds[1:]:
            chosen = chosen | (block.folds == fold)
        return where(block, chosen)


def fold_numbers(X: Any, part: int, start: int, n_rows: int, n_folds: int) -> Any:
    """Folds of the rows from ``start`` on of a part of a source, on the device of ``X``.

    splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195) of the place, modulo the number of folds. The
    arithmetic of unsigned integers is done on signed ones, which all array libraries have: products wrap alike.

    Examples
    --------
    >>> import numpy as np
    >>> fold_numbers(np.empty((6, 1)), 0, 0, 6, 3)
    array([1, 0, 1, 1, 1, 0])
    """
    namespace = namespace_of(X)
    first = start + (part << 40) + 1
    place = namespace.arange(first, first + n_rows, dtype=namespace.int64, device=X.device)
    step, *factors = _SPLITMIX.view(np.int64).tolist()
    mixed = _mix(place * step, 30) * factors[0]
    mixed = _mix(_mix(mixed, 27) * factors[1], 31)
    negative = namespace.astype(mixed < 0, namespace.int64)  # 2^64 too small
    return (mixed % n_folds + negative * (2**64 % n_folds)) % n_folds


def _mix(values: Any, shift: int) -> Any:
    """``values ^ (values >> shift)``, with zeros shifted in."""
    return values ^ ((values >> shift) & ((1 << (64 - shift)) - 1))
