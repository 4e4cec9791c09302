"""OAVI's split (Algorithm 1), with inverse Hessian boosting (IHB) and its weak form (Algorithm 3)."""

from __future__ import annotations

import numpy as np

from .._typing import Float1D, Float2D
from ..solvers import SOLVERS, Solution, Status, Stop, agd, cg
from ._sweeps import CholeskySweep, QRSweep
from ._types import EPS, Progress, Split


def split_oavi(
    gram: Float2D, n_basis: int, *, radius: float, solver: str, boost: str, stop: Stop, boosting: bool = True
) -> Split | None:
    """Decide which candidates lead a polynomial with leading coefficient 1 and mean square <= psi.

    With boosting, the mean square of the best polynomial with leading term u, ``p = u'u - u'O (O'O)^-1 O'u``, is the pivot of
    a Cholesky factorisation that skips the columns with ``p <= psi``. It settles every candidate whose unconstrained
    minimiser ``y0 = -(O'O)^-1 O'u`` lies in the l1 ball. At the first one with ``p <= psi`` and ``|y0|_1 > radius``, the paper's (INF), boosting
    ends and the solver decides from there on. Where ``p > psi``, (INF) cannot change the decision and is not looked at.
    """
    psi = stop.psi
    progress = Progress(gram, n_basis)
    sweep = None
    if boosting and boost != "none":
        try:
            sweep = CholeskySweep(gram, n_basis)
        except np.linalg.LinAlgError:
            return None
    largest = min(radius, 1e8) * progress.lengths.max()
    n_undecided = 0
    for j in range(progress.n_candidates):
        if sweep is not None:
            pivot, y0 = sweep.pivot(j), None
            if pivot <= psi + 8.0 * sweep.n * EPS * (largest + progress.lengths[n_basis + j]) ** 2:
                y0 = -sweep.solve(j)
                if abs(pivot - psi) <= progress.noise(j, y0):
                    return None
            if y0 is None or pivot > psi:
                sweep.append(j)
                progress.keep(j)
                continue
            if np.abs(y0).sum() <= radius:
                safe = stop._replace(psi=psi - progress.noise(j, y0))
                progress.generate(j, _boosted(progress, j, y0, radius, solver, boost, safe))
                continue
            sweep = None
        solution = SOLVERS[solver](*progress.problem(j), radius, stop, None)
        if abs(solution.loss - psi) <= progress.noise(j, solution.x):
            return None
        if solution.loss <= psi:
            progress.generate(j, solution)
        else:
            n_undecided += not solution.status.certified
            progress.keep(j)
    return progress.split(n_undecided, boosting=sweep is not None)


def _boosted(progress: Progress, j: int, y0: Float1D, radius: float, solver: str, boost: str, stop: Stop) -> Solution:
    """A generator, given that y0 is one: from the solver if it gets there (WIHB: sparse), else from y0 (dense)."""
    problem = progress.problem(j)
    if boost == "wihb":
        sparse = SOLVERS[solver](*problem, radius, stop, None)
        if sparse.status == Status.VANISHING:
            return sparse
    return (agd if solver == "agd" else cg)(*problem, radius, stop, y0)


def split_oavi_exact(
    factor: Float2D, n_basis: int, *, radius: float, solver: str, boost: str, stop: Stop, boosting: bool = True
) -> Split:
    """As :func:`split_oavi`, from the triangular factor of the Gram.

    Residuals are known to a relative 1e-16, so "vanishing" means: up to ``psi`` or to rounding, whichever is larger. The least-squares
    polynomial decides whatever the boost; the solvers, which work on the Gram, only supply sparse candidates, whose mean square is measured on the factor.
    """
    progress = Progress(factor.T @ factor, n_basis)
    sweep = QRSweep(factor, n_basis) if boosting else None
    n_undecided = 0
    for j in range(progress.n_candidates):
        if sweep is not None:
            y0 = -sweep.solve(j)
            if not _vanishes(sweep.pivot(j), progress, j, y0, stop.psi):
                sweep.append(j)
                progress.keep(j)
                continue
            if np.abs(y0).sum() <= radius:
                solution = _measured(factor, progress, j, Solution(y0, 0.0, 0.0, 0, Status.VANISHING))
                if boost != "ihb" and solver != "agd":
                    sparse = _measured(factor, progress, j, SOLVERS[solver](*progress.problem(j), radius, stop, None))
                    if _vanishes(sparse.loss, progress, j, sparse.x, stop.psi):
                        solution = sparse
                progress.generate(j, solution._replace(status=Status.VANISHING))
                continue
            sweep = None
        solution = _measured(factor, progress, j, SOLVERS[solver](*progress.problem(j), radius, stop, None))
        if _vanishes(solution.loss, progress, j, solution.x, stop.psi):
            progress.generate(j, solution._replace(status=Status.VANISHING))
        else:
            n_undecided += solution.loss - solution.gap <= stop.psi + progress.noise(j, solution.x)
            progress.keep(j)
    return progress.split(n_undecided, boosting=sweep is not None)


def _vanishes(mse: float, progress: Progress, j: int, x: Float1D, psi: float) -> bool:
    """Whether a mean square that was measured on the factor is psi, or zero, to rounding."""
    rounding = 8.0 * progress.gram.shape[0] * EPS * progress.size(j, x)
    return bool(np.sqrt(mse) <= np.sqrt(psi) + rounding)


def _measured(factor: Float2D, progress: Progress, j: int, solution: Solution) -> Solution:
    """The solution with its loss measured as the square of a residual, not as a difference of Gram entries."""
    residual = factor[:, progress.members] @ solution.x + factor[:, progress.n_basis + j]
    return solution._replace(loss=float(residual @ residual))
