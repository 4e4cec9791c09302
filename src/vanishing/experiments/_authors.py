"""The algorithms as in the authors' code, where it differs from ours."""

from __future__ import annotations

from ..ideals.oavi import OAVI
from ..ideals.vca import VCA

__all__ = ["PublishedOAVI", "PublishedVCA"]


class PublishedOAVI(OAVI):
    """:class:`~vanishing.OAVI` whose solvers start at the constant term, and give up after a step that gains little.

    For small psi, it decides wrongly about many terms.

    Examples
    --------
    >>> oracle = PublishedOAVI(psi=0.5, solver="bpcg")._rule().from_gram.keywords["oracle"]
    >>> oracle.from_constant, oracle.stop.progress
    (True, 5e-05)
    """

    _from_constant = True
    _least_gain = 1e-4


class PublishedVCA(VCA):
    """:class:`~vanishing.VCA` with ``f_i f_j`` and ``f_j f_i`` of degree 2 as two products.

    Their difference is an exact, and useless, generator.
    """

    _unique_products = False
