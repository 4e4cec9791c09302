"""Many fits to parts of the same rows, degree by degree together: Gram matrices add over rows.

Fits that differ in ``psi``, or in which parts of the data they see (the training sets of a cross-validation),
examine nearly the same candidates. Here each degree makes one pass over each part, for the union of all
candidates; the Gram of a training set is the sum of those of its parts, and each fit picks its rows and
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._typing import Float2D
from ..checks import WarningRelay
from ..polynomials.terms import ORDERS, Term
from ..rows.protocol import JoinedRows, Rows
from ..threads import one_blas_thread
from .basis import MonomialBasis
from .construction import BLOCK, Construction, Rule, decide
from .gram import mean_of_parts
from .survey import Survey

__all__ = ["Fit", "construct_together"]


@dataclass
class Fit:
    """A fit under way: the basis so far, the algorithm, and the parts of the data that it sees."""

    basis: MonomialBasis
    rule: Rule
    parts: tuple[int, ...]
    ended: Construction | None = None

    def enter(self, degree: int, max_terms: int) -> list[Term]:
        """The candidates of a degree; none if the fit has ended, as it does when there are none or too many."""
        if self.ended is None:
            new = self.basis.border(degree, max_terms - self.basis.size - self.basis.n_generators)
            if new:
                return new
            self.end(degree - 1, complete=new is not None, overflow=new is None)
        return []

    def end(self, degree: int, *, complete: bool, overflow: bool = False) -> None:
        """The fit ends after this degree."""
        self.ended = Construction(self.basis, degree, complete, overflow)


class _SharedGram:
    """The Gram matrices of every part of the data, over the terms that some fit has kept."""

    def __init__(self, parts: Sequence[Rows], basis: MonomialBasis, surveyed: Sequence[Survey]):
        self.parts = parts
        self.basis = basis
        self._weights = [found.total_weight for found in surveyed]
        self._known = [basis.start(found.gram) for found in surveyed]
        self._grams = [gram[:1, :1] for gram in self._known]
        self._row_of: dict[Term, int] = {}

    def extend(self, new: list[Term], degree: int) -> None:
        """Take in candidates: one pass over each part."""
        if degree > 1:
            self._grams = self.basis.extend_grams(self._grams, self.parts, new)
        else:
            self._grams = self._known
        self.basis = replace(self.basis, terms=(*self.basis.terms, *new))
        self._row_of = {term: row for row, term in enumerate(self.basis.terms)}

    def of(self, parts: tuple[int, ...]) -> Float2D:
        """The Gram over the rows of these parts together."""
        return mean_of_parts([self._grams[k] for k in parts], [self._weights[k] for k in parts])

    def rows_of(self, terms: Sequence[Term]) -> list[int]:
        """Where the terms are in the matrices."""
        return [self._row_of[term] for term in terms]

    def restrict(self, kept: set[Term]) -> None:
        """Forget all terms but these."""
        terms = tuple(term for term in self.basis.terms if term in kept)
        index = np.ix_(self.rows_of(terms), self.rows_of(terms))
        self._grams = [np.asarray(gram[index]) for gram in self._grams]
        self.basis = replace(self.basis, terms=terms)


def construct_together(
    parts: Sequence[Rows],
    fits: Sequence[Fit],
    surveyed: Sequence[Survey],
    *,
    max_degree: int,
    max_terms: int,
    n_threads: int,
) -> list[Construction]:
    """What :func:`~vanishing.engine.construction.construct` gives for each fit on its parts, from shared passes.

    Parameters
    ----------
    parts : sequence of Rows
    fits : sequence of Fit
        With bases that hold the constant alone, and share the order of terms and of features.
    surveyed : sequence of Survey
        Of the parts.
    max_degree, max_terms : int
        As for ``construct``.
    n_threads : int
        Threads that share the decisions.
    """
    shared = _SharedGram(parts, fits[0].basis, surveyed)
    for degree in range(1, max_degree + 1):
        borders = [fit.enter(degree, max_terms) for fit in fits]
        union = sorted(set().union(*borders), key=ORDERS[shared.basis.order])
        if not union:
            break
        sizes = [fit.basis.size for fit in fits]
        width = len(union) if degree == 1 or any(fit.rule.whole for fit in fits) else BLOCK
        for start in range(0, len(union), width):
            block = union[start : start + width]
            shared.extend(block, degree)
            _decide_together(shared, fits, borders, block, n_threads)
            shared.restrict({term for fit in fits if fit.ended is None for term in fit.basis.terms})
        for fit, size in zip(fits, sizes, strict=True):
            if fit.ended is None and (fit.basis.size == size or fit.basis.exhausted):
                fit.end(degree, complete=not fit.basis.exhausted)
    for fit in fits:
        if fit.ended is None:
            left = fit.basis.border(max_degree + 1, max_terms - fit.basis.size - fit.basis.n_generators)
            fit.end(max_degree, complete=left == [])
    return [fit.ended for fit in fits if fit.ended is not None]


def _decide_together(
    shared: _SharedGram, fits: Sequence[Fit], borders: Sequence[list[Term]], block: list[Term], n_threads: int
) -> None:
    """Let every fit decide about its own candidates in the block."""
    live = [(fit, set(border)) for fit, border in zip(fits, borders, strict=True) if border]
    grams = {parts: shared.of(parts) for parts in {fit.parts for fit, _ in live}}

    def advance(task: tuple[Fit, set[Term]]) -> None:
        fit, border = task
        new = [term for term in block if term in border]
        if new:
            index = shared.rows_of((*fit.basis.terms, *new))
            rows = JoinedRows([shared.parts[k] for k in fit.parts])
            split, gram = decide(rows, fit.basis, fit.rule, grams[fit.parts][np.ix_(index, index)], new)
            fit.basis = fit.basis.extend(new, split, gram)

    with WarningRelay() as relay, one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda task: task(), [relay.task(partial(advance, task)) for task in live]))
