"""The loop over degrees that all algorithms share: at most one pass for Gram entries, then decisions on small matrices.

Fits that differ in ``psi``, or in the parts of the data that they see (the training sets of a cross-validation),
examine nearly the same candidates: they go through the degrees together, and a pass serves the union of their
candidates. A single fit is a group of one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._typing import Float2D
from ..checks import warn_long
from ..threads import in_threads, one_blas_thread

_logger = logging.getLogger("vanishing")
_PROGRESS = "degree %d: %d candidates, %d kept so far, %d generators so far"

#: Candidates examined in one pass. A wider border is cut into blocks, one pass each, which skips most Gram entries
#: between two candidates that both lead generators: no decision uses them.
BLOCK = 512  # bounds the memory of a pass: 2 MB beside the entries with the basis


class Basis(Protocol):
    """A basis as the loop over degrees uses it; each kind has its own candidates and decisions."""

    @property
    def size(self) -> int:
        """Number of polynomials that do not vanish."""

    def border(self, degree: int, limit: int) -> Any:
        """The candidates of this degree, or None if there are more than ``limit``."""

    def extend(self, new: Any, decision: Any, gram: Float2D) -> Basis:
        """The basis after a decision about the candidates ``new``, from the Gram of basis and candidates."""


class Grams(Protocol):
    """Gram matrices as the loop over degrees uses them; a fit passes its own ``parts`` and ``basis``."""

    n_samples: int  # rows that a pass reads; 0 for moments

    def union(self, borders: Sequence[Any]) -> Any:
        """The candidates of all fits."""

    def extend(self, bases: Sequence[Any], block: Any) -> None:
        """Get the Gram entries of the candidates in a block with each other and with the bases, in at most one pass."""

    def intersection(self, block: Any, border: Any) -> Any:
        """The candidates of the block that belong to the border of a fit."""

    def of(self, parts: tuple[int, ...], basis: Any, new: Any) -> Float2D:
        """The Gram of a basis and its candidates."""

    def slopes(self, parts: tuple[int, ...], basis: Any, new: Any, gram: Float2D) -> Float2D:
        """Gram of the gradients of a basis and candidates, whose own Gram is ``gram``."""

    def factor(self, parts: tuple[int, ...], basis: Any, new: Any) -> Float2D:
        """The triangular factor of that Gram, from one pass that does not form the Gram."""


class Algorithm(NamedTuple):
    """An algorithm: its decision from a Gram (None if rounding would decide), and from a triangular factor.

    Both take the matrix, the size of the basis and the state of the fit, which a decision may change; ``state`` is its
    value at the start. ``whole`` says that all candidates of a degree must be decided together. With ``gradients``, a
    decision from a Gram also takes the Gram of the gradients, after the first matrix, and never needs a factor.
    """

    from_gram: Callable[..., Any]
    from_factor: Callable[[Float2D, int, Any], Any] | None = None
    whole: bool = False
    state: Any = None
    gradients: bool = False


class Fit:
    """A fit: the basis so far, the algorithm and its state, and the parts of the data that it sees.

    ``degree`` is the last degree examined. A fit has ``ended`` if it is ``complete``, as no candidate was left, if the
    next border would have exceeded ``max_terms`` (``overflow``), or if its decisions have spent their budget.
    ``n_generators``, ``n_iter``, the iterations of all solvers, and ``seconds``, without the passes over rows, count
    its decisions so far.
    """

    def __init__(self, basis: Any, algorithm: Algorithm, parts: tuple[int, ...] = (0,)):
        self.basis = basis
        self.algorithm = algorithm
        self.parts = parts
        self.state: Any = None  # after the last decision
        self.n_generators = self.n_iter = self.degree = 0
        self.seconds = 0.0
        self.ended = self.complete = self.overflow = False

    def enter(self, degree: int, max_terms: int) -> Any:
        """The candidates of a degree. The fit ends if there are none or too many; after that it has no candidates."""
        if self.ended:
            return []
        new = self.basis.border(degree, max_terms - self.basis.size - self.n_generators)
        self.overflow, self.complete = new is None, new is not None and len(new) == 0
        self.ended = self.overflow or self.complete
        return [] if self.ended else new

    def decide(self, grams: Grams, new: Any) -> None:
        """Decide about the candidates ``new`` from the Gram, or from its triangular factor if rounding would decide."""
        gram = _require_finite(grams.of(self.parts, self.basis, new))
        slopes = [grams.slopes(self.parts, self.basis, new, gram)] if self.algorithm.gradients else []
        size, state = self.basis.size, self.state or self.algorithm.state
        begin = time.perf_counter()
        decision = self.algorithm.from_gram(gram, *slopes, size, state)
        self.seconds += time.perf_counter() - begin
        if decision is None:
            assert self.algorithm.from_factor is not None
            factor = grams.factor(self.parts, self.basis, new)
            with np.errstate(over="ignore", invalid="ignore"):
                gram = _require_finite(factor.T @ factor)
            begin = time.perf_counter()
            decision = self.algorithm.from_factor(factor, size, state)
            self.seconds += time.perf_counter() - begin
        self.basis, self.state = self.basis.extend(new, decision, gram), decision.state
        self.n_generators += len(decision.mse)
        self.n_iter += decision.total_iter

    def leave(self, degree: int, size: int) -> None:
        """End the fit after a degree that kept no term, or if its decisions have spent their budget."""
        if not self.ended:
            spent = self.state is not None and self.state.spent
            self.degree, self.complete = degree, self.basis.size == size and not spent
            self.ended = self.complete or spent


def construct(grams: Grams, fits: Sequence[Fit], *, max_degree: int, max_terms: int, n_threads: int = 1) -> None:
    """Build the bases of all fits degree by degree until no candidate is left.

    The bases hold the constant only, and share the order of terms and of features. The loop stops before a degree above
    ``max_degree``, and a fit before a border that could take ``|G| + |O|`` above ``max_terms``. Decisions run on
    ``n_threads`` threads.
    """
    for degree in range(1, max_degree + 1):
        borders = [fit.enter(degree, max_terms) for fit in fits]
        union = borders[0] if len(fits) == 1 else grams.union(borders)
        if len(union) == 0:
            break
        sizes = [fit.basis.size for fit in fits]
        whole = degree == 1 or len(union) <= BLOCK or any(fit.algorithm.whole for fit in fits)
        width = len(union) if whole else BLOCK
        warn_long(degree, grams.n_samples * len(union) * (max(sizes) + width))
        for block in [union] if whole else [union[k : k + width] for k in range(0, len(union), width)]:
            with one_blas_thread:
                grams.extend([fit.basis for fit in fits if not fit.ended], block)
                if len(fits) == 1:
                    fits[0].decide(grams, block)
                else:
                    shares = [(fit, grams.intersection(block, own)) for fit, own in zip(fits, borders, strict=True)]
                    in_threads([partial(fit.decide, grams, new) for fit, new in shares if len(new)], n_threads)
        for fit, size in zip(fits, sizes, strict=True):
            fit.leave(degree, size)
        basis: Basis = fits[0].basis
        _logger.info(_PROGRESS, degree, len(union), basis.size, fits[0].n_generators)
    for fit in fits:
        if not fit.ended:
            fit.enter(max_degree + 1, max_terms)  # complete if there is nothing to enter
            fit.overflow = False  # beyond max_degree, which the user has set


def _require_finite(matrix: Float2D) -> Float2D:
    if not np.isfinite(matrix).all():
        raise ValueError(
            "Products of columns overflow on these data; scale them to [0, 1] first, for instance with MinMaxScaler."
        )
    return matrix
