"""Folds of a cross-validation for rows that are read in passes: a row's fold is a hash of its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import Array
from .array_api import on_device_of
from .protocol import Block, where

__all__ = ["InFolds"]


@dataclass(frozen=True)
class InFolds:
    """The rows of some folds of a cross-validation; a row's fold is a hash of its place.

    To be applied to a source itself, whose blocks know the places of their rows.
    """

    leaves_out_rows: ClassVar = True
    folds: tuple[int, ...]
    n_folds: int

    def __call__(self, block: Block) -> Block:
        """The rows that are in the folds."""
        chosen = np.isin(self.fold_of(block.part, block.start, block.X.shape[0]), self.folds)
        return where(block, on_device_of(block.X, chosen))

    def fold_of(self, part: int, start: int, n_rows: int) -> Array:
        """The fold of each of these rows: splitmix64 (Steele, Lea and Flood 2014) of the place, modulo the number."""
        place = np.arange(start, start + n_rows, dtype=np.uint64) + (np.uint64(part) << np.uint64(40))
        mixed = (place + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (mixed ^ (mixed >> np.uint64(31))) % np.uint64(self.n_folds)
