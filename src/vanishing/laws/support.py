"""Which terms a law has: all small supports where that is possible, backward elimination where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb

import numpy as np

from .._typing import Float1D
from .gmm import System, critical_value
from .subsets import best_subsets

__all__ = ["eliminate", "smallest_support"]

_MOST_SUPPORTS = 400_000  # of one size, in the weights of another law
_LARGEST = 8  # terms of the supports that are all tried
_RESCORED, _MOST_RESCORED, _RESCORING = 2, 12, 10_000  # supports of each size that get weights of their own, by cost
_FOREIGN = 30.0  # times as large as it may be, J can be with the weights of another law
_RIVAL = 5.0  # times the smallest J of a size, in such weights, a support may have to be looked at
_DROP, DROP_SHARE = 12.0, 0.004  # what a term is worth in J, at least: absolute, and per row

_MANY, _AT_ONCE = 12, 8  # terms, beyond which one of eight may leave at once


def worth(n_rows: int) -> float:
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
    n_tests: int = 1,
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
        Candidates that are tried where there are too many supports of all of them.
    largest : int, default=8
        Terms, at most.
    n_tests : int, default=1
        Conditions behind the system: what it costs to rescore a support.
    """
    trial, n_rows = list(trial), system.n_rows
    for size in range(1, min(largest + 1, len(trial))):
        tried = [
            terms for terms in (trial, *families) if size < len(terms) and comb(len(terms), size) <= _MOST_SUPPORTS
        ]
        limit = J_full + max(critical_value(1e-4, len(trial) - size), worth(n_rows))
        best: tuple[float, list[int]] | None = None
        if tried and tried[0] is trial:  # which has the families' supports, too
            tried = tried[:1]
        number = min(max(_RESCORED, _RESCORING // (system.rank * n_tests)), _MOST_RESCORED)
        supports = sorted(entry for terms in tried for entry in _best_supports(system, terms, size, number))
        for J, support in supports[:number]:
            if min(_FOREIGN * limit, _RIVAL * supports[0][0] + limit) < J:
                break
            _, c = system.minimise(support)
            own, dof = rescore(support, c)
            if own <= min(limit, critical_value(1e-3, dof) + DROP_SHARE * n_rows) and (best is None or own < best[0]):
                best = own, support
        if best is not None:
            return best[1]
    return None


def _best_supports(system: System, trial: Sequence[int], size: int, number: int) -> list[tuple[float, list[int]]]:
    """The supports of a size with the smallest ``J``, ascending."""
    subsets = best_subsets(system.normal, system.D, trial, size, 3 * number)
    return sorted((system.minimise(support)[0], support) for support in subsets if any(support))[:number]


def eliminate(system: System, trial: Sequence[int]) -> list[int]:
    """Terms leave one by one as long as ``J`` rises little."""
    support = list(trial)
    J, c = system.minimise(support)
    J_full, n_full = J, len(support)
    least = worth(system.n_rows)
    while len(support) > 1:
        order = np.argsort(_wald(system, support, c))
        if len(support) > _MANY:
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
