"""Which terms a law has: all small supports where that is possible, backward elimination where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb

import numpy as np

from ..._typing import Float1D
from ..estimate.gmm import System, critical_value
from .subsets import MOST_SETS, best_subsets

__all__ = ["DROP_SHARE", "eliminate", "smallest_support"]

_LARGEST = 8  # terms of a support that is compared with all others of its size
_RESCORED = 4  # supports of a size that are tested with weights of their own
_FOREIGN = 10.0  # J with the weights of another law over the limit for its own weights, at most
_DROP, DROP_SHARE = 12.0, 0.004  # what a term is worth in J, at least: absolute, and per row
_AT_ONCE = 8  # of more terms than these, an eighth may leave at once


def _worth(n_rows: int) -> float:
    """The increase of ``J`` below which a term is not worth having."""
    return max(_DROP, DROP_SHARE * n_rows)


def smallest_support(
    system: System,
    trial: Sequence[int],
    J_full: float,
    rescore: Callable[[list[int], Float1D], tuple[float, int]],
    *,
    families: Sequence[Sequence[int]] = (),
    largest: int = _LARGEST,
) -> list[int] | None:
    """The best support of the smallest size whose ``J`` is acceptable; None if no small one is.

    Parameters
    ----------
    system : System
    trial : sequence of int
        The candidates.
    J_full : float
        Of all candidates together.
    rescore : callable
        ``rescore(support, c)`` gives ``J`` with weights of the support's own law, and its degrees of freedom.
    families : sequence of sequences of int
        Some of the candidates each, whose supports are compared where those of all candidates are too many.
    largest : int, default=8
        Terms, at most.
    """
    trial, n_rows = list(trial), system.n_rows
    for size in range(1, min(largest + 1, len(trial))):
        pools = _comparable(trial, families, size)
        supports = sorted(entry for terms in pools for entry in _best_supports(system, terms, size))
        limit = J_full + max(critical_value(1e-4, len(trial) - size), _worth(n_rows))
        best: tuple[float, list[int]] | None = None
        for J, support in supports[:_RESCORED]:
            if _FOREIGN * limit < J:
                break
            _, c = system.minimise(support)
            own, dof = rescore(support, c)
            if own <= min(limit, critical_value(1e-3, dof) + DROP_SHARE * n_rows) and (best is None or own < best[0]):
                best = own, support
        if best is not None:
            return best[1]
    return None


def _comparable(trial: list[int], families: Sequence[Sequence[int]], size: int) -> list[Sequence[int]]:
    """Candidates whose supports of a size can all be compared: all candidates, or else families of them."""
    if comb(len(trial), size) <= MOST_SETS:
        return [trial]
    return [terms for terms in families if size < len(terms) and comb(len(terms), size) <= MOST_SETS]


def _best_supports(system: System, trial: Sequence[int], size: int) -> list[tuple[float, list[int]]]:
    """The supports of a size with the smallest ``J``, ascending."""
    subsets = best_subsets(system.normal, system.D, trial, size, 3 * _RESCORED)
    return sorted((system.minimise(support)[0], support) for support in subsets if any(support))[:_RESCORED]


def eliminate(system: System, trial: Sequence[int]) -> list[int]:
    """Backward elimination: terms leave one by one as long as ``J`` rises little."""
    support = list(trial)
    J, c = system.minimise(support)
    J_full, n_full = J, len(support)
    least = _worth(system.n_rows)
    while len(support) > 1:
        order = np.argsort(_wald(system, support, c))
        if len(support) > _AT_ONCE:
            several = max(len(support) // _AT_ONCE, 1)
            trials = ([support[i] for i in sorted(order[number:])] for number in dict.fromkeys((several, 1)))
            left = next((fit for fit in _fits(system, trials) if fit[0] - J < least), None)
            if left is not None:
                J, support, c = left
                continue
        tries = [support[:i] + support[i + 1 :] for i in order[:8]]
        J_best, fewer, c_best = min(_fits(system, tries), key=lambda fit: fit[0])
        allowed = least + critical_value(1e-4, n_full - len(fewer))
        if J_best - J >= least or J_best - J_full >= allowed:
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
