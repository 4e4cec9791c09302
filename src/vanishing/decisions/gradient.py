"""Decisions with gradient-weighted normalisation: ``mean g^2 <= psi * mean |grad g|^2`` (Kera and Hasegawa, 2020).

To first order, ``|g(x)| / |grad g(x)|`` is the distance of a point x from the zero set of g, so psi is a squared
distance in the units of the data. Neither the leading coefficient nor the norm of the coefficients plays a role, and
so neither does the order of the columns, nor a common scale of all of them.

References: Kera and Hasegawa, "Gradient boosts the approximate vanishing ideal", AAAI 2020, arXiv:1911.04174, for VCA;
Kera and Kehrein, "Gradient-weighted, data-driven normalization for approximate border bases", 2025, arXiv:2506.09529,
for border bases, with a semi-norm that adds up the gradients of the terms instead.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, solve_triangular

from .._typing import Float1D, Float2D, Int1D
from ..constants import ROUNDING, TINY
from ..solvers import Solution, Status, Stop, homotopy, matching_pursuit
from .border import Border, CholeskySweep, Combinations, Decision
from .oavi import Oracle, Stage


def decide_gradient(
    gram: Float2D,
    slopes: Float2D,
    n_basis: int,
    stage: Stage | None = None,
    *,
    psi: float,
    oracle: Oracle | None = None,
) -> Decision:
    """Decide which candidates lead a polynomial with ``mean g^2 <= psi * mean |grad g|^2``.

    With the Gram G of [O|C] and the Gram D of their gradients (``slopes``), such a polynomial with terms ``[O, u]``
    exists exactly if ``H - psi D_H`` is not positive definite. As O has none, the sign of the next pivot of the
    column-skipping Cholesky factorisation of ``G - psi D`` decides, up to the rounding of the Gram; the coefficients
    that belong to the pivot minimise ``mean g^2 - psi * mean |grad g|^2``.

    Without an ``oracle`` they are the generator, scaled to a mean square of 1 of its gradient (ABM). With one, the
    leading coefficient is 1, the others are sparse, and their l1 norm is at most the radius (OAVI).
    """
    work, columns = (stage.work, stage.columns) if stage else (np.inf, None)
    border, form = Border(gram, n_basis), gram - psi * slopes
    try:
        sweep = CholeskySweep(form, n_basis, columns)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"psi={psi:g} cannot be told from the rounding of these data: raise psi, or scale the columns to [0, 1]."
        ) from error
    n_undecided = 0
    for j in range(border.n_candidates):
        pivot, y0 = sweep.pivot(j), sweep.minimiser(j)
        if pivot > border.noise(j, y0):
            sweep.append(j)
            border.keep(j)
            continue
        if oracle is None:
            y0 = border.without_negligible(j, y0)
            vector = border.coefficients(j, y0)
            length = np.sqrt(max(float(vector @ slopes @ vector), 0.0)) or 1.0
            border.generate(j, _solution(border, j, y0 / length, 1.0 / length), lead_coef=1.0 / length)
            continue
        solution = _sparse(form, border, j, y0, oracle)
        if solution.status is Status.VANISHING:
            border.generate(j, solution)
            continue
        n_undecided += not solution.status.certified
        border.keep(j, solution.n_iter)
        sweep.append_or_skip(j)
    skipped = sweep.n < sweep.n_members
    return border.decision(n_undecided, Stage(not skipped, work, np.array(sweep.columns) if skipped else None))


def _sparse(form: Float2D, border: Border, j: int, y0: Float1D, oracle: Oracle) -> Solution:
    """A short polynomial, else ``y0``, else one on the boundary of the l1 ball, where VANISHING if there is one."""
    members, u = border.members, border.n_basis + j
    problem = np.ascontiguousarray(form[np.ix_(members, members)]), form[u, members], float(form[u, u])
    margin = -border.noise(j, y0)
    stop = Stop(min(margin, 0.0), 0.0, 0.0, oracle.stop.max_iter)
    short = matching_pursuit(*problem, oracle.radius, stop)
    if short.status is Status.VANISHING:
        return _solution(border, j, short.x)._replace(n_iter=short.n_iter)
    if oracle.inside(y0):
        return _solution(border, j, border.without_negligible(j, y0))._replace(n_iter=short.n_iter)
    bounded = homotopy(*problem, oracle.radius, stop._replace(psi=0.0))
    if bounded.loss <= 0.0:
        return _solution(border, j, bounded.x)._replace(n_iter=bounded.n_iter)
    return bounded


def _solution(border: Border, j: int, x: Float1D, lead_coef: float = 1.0) -> Solution:
    """The coefficients x with their mean square."""
    return Solution(x, border.mean_square(j, x, lead_coef), np.nan, 0, Status.VANISHING)


def decide_vca_gradient(gram: Float2D, slopes: Float2D, n_basis: int, *, psi: float, length: float) -> Combinations:
    """VCA's decision, with ``mean g^2 <= psi * mean |grad g|^2``.

    The residuals of the products on F are ``[P'|I]`` of [F|C], with Gram S and Gram of gradients T. A generalised
    eigenvector v, ``S v = t T v`` with ``v'T v = 1``, is a combination with a gradient of mean square 1 and mean square
    t. It vanishes if ``t <= psi``; otherwise it joins F, scaled to root mean square ``length``.
    """
    L = np.linalg.cholesky(gram[:n_basis, :n_basis])
    W = solve_triangular(L, gram[:n_basis, n_basis:], lower=True)
    projection = -solve_triangular(L, W, lower=True, trans="T")
    corner = gram[n_basis:, n_basis:]
    residual = corner - W.T @ W
    rows = np.hstack([projection.T, np.eye(len(corner))])
    metric = rows @ slopes @ rows.T
    # A product whose gradient is 0 on all rows must not vanish by division: rounding bounds the metric from below.
    metric[np.diag_indices_from(metric)] += gram.shape[0] * ROUNDING * max(float(np.trace(metric)), TINY)
    values, vectors = eigh(residual, (metric + metric.T) / 2.0)
    vanishing = values <= psi + gram.shape[0] * ROUNDING * float(np.diag(corner).max()) * (vectors**2).sum(axis=0)
    coef = vectors.T @ rows
    kept: Int1D = np.flatnonzero(~vanishing)
    return Combinations(
        coef[kept] * (length / np.sqrt(values[kept]))[:, None], coef[vanishing], np.maximum(values[vanishing], 0.0)
    )
