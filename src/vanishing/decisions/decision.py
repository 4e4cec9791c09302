"""The types of decisions."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._typing import Array, Float1D, Float2D, Int1D


class Decision(NamedTuple):
    """Decision about monomial candidates.

    Generator g is ``lead_coef[g] * u + sum_j coef[g, j] * t_j``, with ``u`` candidate ``generators[g]`` and
    ``t`` the terms of the basis followed by the kept candidates. Its first ``n_free[g]`` coefficients were
    free; the others are structural zeros. ``n_undecided`` counts the candidates that were kept without a
    certificate that they lead no generator, ``total_iter`` the solver iterations for all candidates. ``state``
    is the initial state of the fit's next decision.
    """

    kept: Int1D
    generators: Int1D
    coef: Float2D
    lead_coef: Float1D
    n_free: Int1D
    mse: Float1D
    gap: Float1D
    n_iter: Int1D
    status: Array
    n_undecided: int = 0
    state: Any = None
    total_iter: int = 0


class Combinations(NamedTuple):
    """Decision about products: the combinations of basis and candidates that are kept or vanish, one per row."""

    kept: Float2D
    vanishing: Float2D
    mse: Float1D
    state: None = None
    total_iter: int = 0
