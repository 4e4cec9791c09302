"""Columns that are constant or affine functions of others, up to rounding: laws that need no search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._typing import Float1D, Float2D
from .relation import ROUNDED

__all__ = ["Dependency", "affine_dependencies"]


@dataclass(frozen=True, eq=False)
class Dependency:
    """Column ``column`` is ``constant + sum_j coef[j] x_j``."""

    column: int
    coef: Float1D
    constant: float


def affine_dependencies(X: Float2D, columns: Sequence[int]) -> tuple[list[Dependency], list[int]]:
    """Those of some columns that are exact affine functions of earlier ones, and those that are left.

    A copy that stayed in the table would share its original's noise, and every test takes noise as independent.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> dependencies, kept = affine_dependencies(np.column_stack([x, np.full(5, 7.0), 3.0 * x + 1.0]), range(3))
    >>> [(d.column, d.coef.tolist(), round(d.constant, 6)) for d in dependencies], kept
    ([(1, [0.0, 0.0, 0.0], 7.0), (2, [3.0, 0.0, 0.0], 1.0)], [0])
    """
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    dependencies: list[Dependency] = []
    kept: list[int] = []
    for j in columns:
        if deviation[j] <= ROUNDED * max(np.abs(X[:, j]).max(), 1e-300):
            dependencies.append(Dependency(j, np.zeros(X.shape[1]), float(X[0, j])))
            continue
        dependency = _affine(X, j, kept, mean, deviation) if kept else None
        if dependency is None:
            kept.append(j)
        else:
            dependencies.append(dependency)
    return dependencies, kept


def _affine(X: Float2D, j: int, kept: Sequence[int], mean: Float1D, deviation: Float1D) -> Dependency | None:
    others = (X[:, kept] - mean[kept]) / deviation[kept]
    target = (X[:, j] - mean[j]) / deviation[j]
    solution, *_ = np.linalg.lstsq(others, target, rcond=None)
    if len(kept) + 1 >= len(X) or np.sqrt(np.mean((others @ solution - target) ** 2)) >= ROUNDED:
        return None
    solution[np.abs(solution) < ROUNDED] = 0.0
    coef = np.zeros(X.shape[1])
    coef[kept] = _tidy(solution / deviation[kept] * deviation[j])
    constant = float(mean[j] - coef @ mean)
    if abs(constant) <= ROUNDED * max(deviation[j], abs(mean[j])):
        constant = 0.0
    return Dependency(j, coef, float(_tidy(np.array([constant]))[0]))


def _tidy(values: Float1D) -> Float1D:
    """Numbers without the dust of rounding: those of at most six digits, up to a billionth, are cut to ten."""
    return np.array(
        [
            float(f"{value:.10g}") if abs(value - float(f"{value:.6g}")) < ROUNDED * abs(value) else value
            for value in values
        ]
    )
