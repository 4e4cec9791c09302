"""The fit loop that all algorithms share: one pass over the data per degree, then one decision on small matrices."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._typing import Float2D
from ..checks import warn_long
from ..rows.protocol import Rows
from ..threads import one_blas_thread
from .basis import Basis

__all__ = ["BLOCK", "Construction", "Rule", "construct", "decide"]

_logger = logging.getLogger("vanishing")

#: Candidates examined in one pass. Of a wider border, the Gram entries between candidates that both lead
#: generators are needed by nobody; blocks leave out most of them, and bound the memory, at the price of a pass each.
BLOCK = 512


class Rule(NamedTuple):
    """An algorithm: how it decides from a Gram (None: lost in rounding), and how from a triangular factor.

    ``whole`` says that all candidates of a degree have to be decided together.
    """

    from_gram: Callable[[Float2D, int], Any]
    from_factor: Callable[[Float2D, int], Any]
    whole: bool = False


class Construction(NamedTuple):
    """A finished basis, the last degree examined, and how the loop ended.

    ``complete``: no candidate was left. ``overflow``: the next border would have gone beyond ``max_terms``.
    """

    basis: Any
    degree: int
    complete: bool
    overflow: bool


def construct(rows: Rows, basis: Basis, rule: Rule, gram: Float2D, *, max_degree: int, max_terms: int) -> Construction:
    """Build a basis degree by degree until no candidate is left.

    Parameters
    ----------
    rows : Rows
    basis : MonomialBasis or ProductBasis
        Holding the constant alone.
    rule : Rule
    gram : ndarray of shape (1 + n_features, 1 + n_features)
        Gram of the constant and the columns, from the survey of the data.
    max_degree, max_terms : int
        A degree above ``max_degree``, or a border that could take ``|G| + |O|`` above ``max_terms``, is not
        entered.
    """
    known = basis.start(gram)
    gram = known[:1, :1]
    for degree in range(1, max_degree + 1):
        new = basis.border(degree, max_terms - basis.size - basis.n_generators)
        if new is None:
            return Construction(basis, degree - 1, complete=False, overflow=True)
        if len(new) == 0:
            return Construction(basis, degree - 1, complete=True, overflow=False)
        size = basis.size
        block = len(new) if rule.whole or degree == 1 else BLOCK
        warn_long(degree, (rows.n_samples or 0) * len(new) * (size + min(block, len(new))))
        for start in range(0, len(new), block):
            part = new if block == len(new) else new[start : start + block]
            with one_blas_thread():
                basis, gram = _advance(rows, basis, rule, gram, part, known if degree == 1 else None)
        _logger.info(
            "degree %d: %d candidates, %d kept, %d generators so far",
            degree,
            len(new),
            basis.size - size,
            basis.n_generators,
        )
        if basis.size == size or basis.exhausted:
            return Construction(basis, degree, complete=not basis.exhausted, overflow=False)
    left = basis.border(max_degree + 1, max_terms - basis.size - basis.n_generators)
    return Construction(basis, max_degree, complete=left is not None and len(left) == 0, overflow=False)


def _advance(
    rows: Rows, basis: Basis, rule: Rule, gram: Float2D, new: Any, known: Float2D | None
) -> tuple[Basis, Float2D]:
    """The basis and its Gram after a decision about the candidates ``new``; ``known`` is the Gram of both, if known."""
    split, wide = decide(rows, basis, rule, basis.extend_gram(gram, rows, new) if known is None else known, new)
    return basis.extend(new, split, wide), basis.restrict(wide, split)


def decide(rows: Rows, basis: Basis, rule: Rule, gram: Float2D, new: Any) -> tuple[Any, Float2D]:
    """The decision about the candidates ``new``, and the Gram of the basis and them on which it was made.

    That is the given one, unless the decision would be lost in its rounding.
    """
    _require_finite(gram)
    split = rule.from_gram(gram, basis.size)
    if split is None:
        factor = basis.factor(rows, new)
        with np.errstate(over="ignore", invalid="ignore"):
            gram = factor.T @ factor
        _require_finite(gram)
        split = rule.from_factor(factor, basis.size)
    return split, gram


def _require_finite(matrix: Float2D) -> None:
    if not np.isfinite(matrix).all():
        raise ValueError(
            "Products of columns overflow on these data; scale them to [0, 1] first, for instance with MinMaxScaler."
        )
