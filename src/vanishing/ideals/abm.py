"""The approximate Buchberger-Moeller algorithm (Limbeck 2013, PhD thesis, Universitaet Passau)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from ..decisions import decide_abm, decide_abm_exact, decide_gradient
from ..engine.construction import Algorithm
from .ideal import MonomialIdeal, check_unit_psi


class ABM(MonomialIdeal):
    """Approximate Buchberger-Moeller algorithm (Limbeck, 2013).

    As :class:`OAVI`, but a term leads a generator if some polynomial over O and the term with coefficients of
    *Euclidean norm 1* has mean square at most ``psi``; the smallest such mean square is the smallest eigenvalue of the
    Gram matrix of O and the term.

    Parameters
    ----------
    psi : float in [0, 1), default=0.005
        Largest mean square of a generator over the data, for a unit coefficient vector.
    normalization : {"unit", "gradient"}, default="unit"
        How a polynomial is scaled before its mean square is compared with ``psi``: to a unit coefficient vector,
        or by its gradient, ``mean g^2 <= psi * mean |grad g|^2``. Then psi is, to first order, a squared distance from
        the zero set in the units of the columns, and neither their order nor a common scale decides what vanishes.
    order, feature_order, max_degree, max_terms, n_jobs :
        As for :class:`OAVI`.

    Attributes
    ----------
    generators_, order_ideal_, n_basis_, degree_, complete_, n_undecided_, n_features_in_, feature_names_in_ :
        As for :class:`OAVI`; ``n_undecided_`` is always 0.

    References
    ----------
    Limbeck, "Computation of Approximate Border Bases and Applications", PhD thesis, Universitaet Passau, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import ABM
    >>> x = np.linspace(0, 1, 50)
    >>> print(ABM(psi=1e-6).fit(np.column_stack([x, x**2])).generators_.monic()[0])
    x0^2 - x1
    """

    _choices: ClassVar = {**MonomialIdeal._choices, "normalization": ("unit", "gradient")}

    def __init__(
        self,
        psi: float = 0.005,
        *,
        normalization: str = "unit",
        order: str = "deglex",
        feature_order: Any = None,
        max_degree: int = 10,
        max_terms: int = 5000,
        n_jobs: int | None = None,
    ):
        self.psi = psi
        self.normalization = normalization
        self.order = order
        self.feature_order = feature_order
        self.max_degree = max_degree
        self.max_terms = max_terms
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.normalization == "unit":
            check_unit_psi(self.psi)

    def _algorithm(self) -> Algorithm:
        psi = float(self.psi)
        if self.normalization == "gradient":
            return Algorithm(partial(decide_gradient, psi=psi), gradients=True)
        return Algorithm(
            lambda gram, n_basis, _: decide_abm(gram, n_basis, psi=psi),
            lambda factor, n_basis, _: decide_abm_exact(factor, n_basis, psi=psi),
        )
