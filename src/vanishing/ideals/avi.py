"""Approximate vanishing ideals (Heldt, Kreuzer, Pokutta and Poulisse 2009, doi:10.1016/j.jsc.2008.11.010)."""

from __future__ import annotations

from typing import Any

from ..checks import check_number
from ..decisions import (
    decide_avi,
    decide_avi_exact,
)
from ..engine.construction import Algorithm
from .ideal import MonomialIdeal, check_unit_psi


class AVI(MonomialIdeal):
    """Approximate vanishing ideal algorithm (Heldt, Kreuzer, Pokutta and Poulisse, 2009), on mean squares.

    AVI decides about all terms of a degree together: the polynomials with coefficients of Euclidean norm 1 and mean
    square at most ``psi`` span an approximate kernel, and a stabilised echelon form of it gives the leading
    terms.

    Parameters
    ----------
    psi : float in [0, 1), default=0.005
        Largest mean square of a generator over the data, for a unit coefficient vector.
    pivot_tol : float, default=0.001
        A term does not lead a generator if its coefficients in the kernel are closer than this, or than the root of
        ``psi``, to the span of those of larger terms (the authors' tau).
    max_terms : int, default=2000
        As for :class:`OAVI`; smaller, because a whole border is decomposed at once.
    order, feature_order, max_degree, n_jobs :
        As for :class:`OAVI`.

    Attributes
    ----------
    generators_, order_ideal_, n_basis_, degree_, complete_, n_undecided_, n_features_in_, feature_names_in_ :
        As for :class:`OAVI`; ``n_undecided_`` is always 0.

    References
    ----------
    Heldt, Kreuzer, Pokutta and Poulisse, "Approximate computation of zero-dimensional polynomial ideals", Journal of
    Symbolic Computation 44, 2009, doi:10.1016/j.jsc.2008.11.010.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import AVI
    >>> x = np.linspace(0, 1, 50)
    >>> print(AVI(psi=1e-8).fit(np.column_stack([x, 0.5 * x])).generators_.monic()[0])
    x1 - 0.5*x0
    """

    def __init__(
        self,
        psi: float = 0.005,
        *,
        pivot_tol: float = 0.001,
        order: str = "deglex",
        feature_order: Any = None,
        max_degree: int = 10,
        max_terms: int = 2000,
        n_jobs: int | None = None,
    ):
        self.psi = psi
        self.pivot_tol = pivot_tol
        self.order = order
        self.feature_order = feature_order
        self.max_degree = max_degree
        self.max_terms = max_terms
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_unit_psi(self.psi)
        check_number("pivot_tol", self.pivot_tol, low=0.0)

    def _algorithm(self) -> Algorithm:
        options = {"psi": float(self.psi), "pivot_tol": float(self.pivot_tol)}
        return Algorithm(
            lambda gram, n_basis, _: decide_avi(gram, n_basis, **options),
            lambda factor, n_basis, _: decide_avi_exact(factor, n_basis, **options),
            whole=True,
        )
