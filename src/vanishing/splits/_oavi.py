"""OAVI's split (Algorithm 1), with inverse Hessian boosting (IHB) and its weak form (Algorithm 3)."""

from __future__ import annotations

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..solvers import SOLVERS, Solution, Status, Stop, agd, cg, frank_wolfe_gap
from ._sweeps import CholeskySweep, QRSweep
from ._types import EPS, Progress, Split

_FIRST_ITER = 1000  # iterations before the first look at the support, four times as many before every further one
_SPARSE_WORK = 3_000_000  # iterations times terms that a sparse generator may cost where a dense one is known


def split_oavi(
    gram: Float2D,
    n_basis: int,
    *,
    radius: float,
    solver: str,
    boost: str,
    polish: bool,
    stop: Stop,
    boosting: bool = True,
) -> Split | None:
    """Decide which candidates lead a polynomial with leading coefficient 1 and mean square <= psi.

    With boosting, the mean square of the best polynomial with leading term u,
    ``p = u'u - u'O (O'O)^-1 O'u``, is the pivot of a Cholesky factorisation that skips the columns with
    ``p <= psi``. It settles every candidate whose unconstrained minimiser ``y0 = -(O'O)^-1 O'u`` lies in the
    l1 ball. At the first one with ``p <= psi`` and ``|y0|_1 > radius``, the paper's (INF), boosting ends and
    the solver decides from there on. Where ``p > psi``, (INF) cannot change the decision and is not looked at.
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
                progress.generate(j, _boosted(progress, j, y0, radius, solver, boost, polish, stop))
                continue
            sweep, boosting = None, False
        solution = _attempt(progress, j, radius, solver, polish, stop)
        if abs(solution.loss - psi) <= progress.noise(j, solution.x):
            return None
        if solution.loss <= psi:
            progress.generate(j, solution)
        else:
            n_undecided += not solution.status.certified
            progress.keep(j)
    return progress.split(n_undecided, boosting)


def _boosted(
    progress: Progress, j: int, y0: Float1D, radius: float, solver: str, boost: str, polish: bool, stop: Stop
) -> Solution:
    """A generator, given that y0 is one: from the solver if it gets there (WIHB: sparse), else from y0 (dense)."""
    if boost == "wihb":
        sparse = _attempt(progress, j, radius, solver, polish, _within_budget(stop, y0.size) if polish else stop)
        if sparse.loss + progress.noise(j, sparse.x) <= stop.psi:
            return sparse
    return (agd if solver == "agd" else cg)(*progress.problem(j), radius, stop, y0)


def _within_budget(stop: Stop, n_terms: int) -> Stop:
    """A sparse generator is worth having where a dense one is known, but not at any price."""
    return stop._replace(max_iter=min(stop.max_iter, max(_FIRST_ITER, _SPARSE_WORK // n_terms)))


def _attempt(progress: Progress, j: int, radius: float, solver: str, polish: bool, stop: Stop) -> Solution:
    """The solver's answer; to be polished, it is asked for early: a support is found long before psi is reached."""
    max_iter = min(_FIRST_ITER, stop.max_iter) if polish else stop.max_iter
    while True:
        solution = SOLVERS[solver](*progress.problem(j), radius, stop._replace(max_iter=max_iter), None)
        if polish:
            polished = _polished(progress, j, solution, radius)
            if polished.loss + progress.noise(j, polished.x) <= stop.psi:
                return polished._replace(status=Status.VANISHING)
        if solution.status.certified or max_iter == stop.max_iter:
            return solution
        max_iter = min(4 * max_iter, stop.max_iter)


def _polished(progress: Progress, j: int, solution: Solution, radius: float) -> Solution:
    """The least-squares solution on the support of a solution, if that is inside the ball and better.

    A solver stops as soon as the mean square is below psi, with coefficients somewhere on the way.
    """
    Q, c, r = progress.problem(j)
    support = np.flatnonzero(solution.x)
    x = np.zeros_like(solution.x)
    try:
        inverse = np.linalg.inv(Q[np.ix_(support, support)])
    except np.linalg.LinAlgError:
        return solution
    x[support] = -inverse @ c[support]
    # A coefficient that is smaller than its own rounding error, |inverse| times that of c, is zero.
    lengths = progress.lengths[progress.members][support]
    error = 8.0 * len(progress.members) * EPS * progress.size(j, x) * (np.abs(inverse) @ lengths)
    clean = x.copy()
    clean[support[np.abs(x[support]) <= error]] = 0.0
    for candidate in (clean, x):
        loss = float(candidate @ (Q @ candidate + 2.0 * c) + r)
        if loss < solution.loss and np.abs(candidate).sum() <= radius:
            gap = min(solution.gap, frank_wolfe_gap(Q, c, candidate, radius))
            return solution._replace(x=candidate, loss=loss, gap=gap)
    return solution


def split_oavi_exact(
    factor: Float2D,
    n_basis: int,
    *,
    radius: float,
    solver: str,
    boost: str,
    polish: bool,
    stop: Stop,
    boosting: bool = True,
) -> Split:
    """As :func:`split_oavi`, from the triangular factor of the Gram.

    Residuals are known to a relative 1e-16, so "vanishing" means: up to ``psi`` or to rounding, whichever is
    larger. The least-squares polynomial decides, whatever the boost. The solvers work on the Gram and get no
    further than its rounding; they supply a sparse support, on which the least-squares problem is solved anew.
    """
    psi = stop.psi
    progress = Progress(factor.T @ factor, n_basis)
    sweep = QRSweep(factor, n_basis) if boosting else None
    n_undecided = 0
    for j in range(progress.n_candidates):
        if sweep is not None:
            y0 = -sweep.solve(j)
            if not _vanishes(sweep.pivot(j), progress, j, y0, psi):
                sweep.append(j)
                progress.keep(j)
                continue
            if np.abs(y0).sum() <= radius:
                supports = [np.arange(y0.size)]
                if boost != "ihb" and solver != "agd":
                    reachable = _within_budget(stop._replace(psi=max(psi, progress.noise(j, y0))), y0.size)
                    sparse = SOLVERS[solver](*progress.problem(j), radius, reachable, None)
                    supports.insert(0, np.flatnonzero(sparse.x))
                solutions = (_least_squares(factor, progress, j, support) for support in supports)
                good = (
                    s for s in solutions if _vanishes(s.loss, progress, j, s.x, psi) and np.abs(s.x).sum() <= radius
                )
                dense = Solution(y0, sweep.pivot(j), 0.0, 0, Status.VANISHING)
                progress.generate(j, next(good, dense))
                continue
            sweep = None
        solution = _measured(factor, progress, j, SOLVERS[solver](*progress.problem(j), radius, stop, None))
        if _vanishes(solution.loss, progress, j, solution.x, psi):
            progress.generate(j, solution._replace(status=Status.VANISHING))
        else:
            n_undecided += solution.loss - solution.gap <= psi + progress.noise(j, solution.x)
            progress.keep(j)
    return progress.split(n_undecided, boosting=sweep is not None)


def _least_squares(factor: Float2D, progress: Progress, j: int, support: Int1D) -> Solution:
    """The best polynomial with terms in ``support``; coefficients that are zero to rounding are exact zeros."""
    columns = factor[:, np.array(progress.members)[support]]
    target = factor[:, progress.n_basis + j]
    x = np.zeros(len(progress.members))
    x[support] = np.linalg.lstsq(columns, -target, rcond=None)[0]
    solution = Solution(progress.without_dust(j, x), 0.0, 0.0, 0, Status.VANISHING)
    return _measured(factor, progress, j, solution)


def _rounding(progress: Progress, j: int, x: Float1D) -> float:
    """Root mean square that a polynomial may be off by when it is measured on the factor."""
    return float(8.0 * progress.gram.shape[0] * EPS * progress.size(j, x))


def _vanishes(mse: float, progress: Progress, j: int, x: Float1D, psi: float) -> bool:
    """Whether a mean square that was measured on the factor is at most psi, or zero to rounding."""
    return bool(mse <= max(psi, _rounding(progress, j, x) ** 2))


def _measured(factor: Float2D, progress: Progress, j: int, solution: Solution) -> Solution:
    """The solution with its loss measured as the square of a residual, not as a difference of Gram entries."""
    residual = factor[:, progress.members] @ solution.x + factor[:, progress.n_basis + j]
    return solution._replace(loss=float(residual @ residual))
