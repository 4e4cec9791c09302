"""Which terms a law has, where sets of terms are too many to compare: backward elimination."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..._typing import Float1D
from ..estimate.gmm import System, largest_passing

__all__ = ["eliminate"]


def eliminate(system: System, trial: Sequence[int]) -> list[int]:
    """Backward elimination: terms leave one by one as long as ``J`` rises little."""
    support = list(trial)
    J, c = system.minimise(support)
    J_full, n_full = J, len(support)
    least = largest_passing(1, system.n_rows)
    while len(support) > 1:
        order = np.argsort(_wald(system, support, c))
        tries = [support[:i] + support[i + 1 :] for i in order[:8]]
        J_best, fewer, c_best = min(_fits(system, tries), key=lambda fit: fit[0])
        if J_best - J >= least or J_best - J_full >= largest_passing(n_full - len(fewer), system.n_rows):
            break
        support, J, c = fewer, J_best, c_best
    return support


def _fits(system: System, supports: Iterable[list[int]]) -> Iterator[tuple[float, list[int], Float1D]]:
    """``J``, support and coefficients of the best polynomials with these terms."""
    for support in supports:
        J, c = system.minimise(support)
        yield J, support, c


def _wald(system: System, support: list[int], c: Float1D) -> Float1D:
    """About how much ``J`` rises when each term leaves."""
    P = system.normal[np.ix_(support, support)]
    inverse = np.linalg.inv(P + 1e-13 * np.trace(P) / len(support) * np.eye(len(support)))
    return np.asarray(c[support] ** 2 / np.maximum(np.diag(inverse), 1e-300))
