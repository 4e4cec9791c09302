"""OAVI's split (Algorithm 1), with inverse Hessian boosting (IHB) and its weak form (Algorithm 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..solvers import SOLVERS, Solution, Status, Stop, agd, cg, loss_and_gap, matching_pursuit
from .decision import EPS, Progress, Split
from .sweeps import CholeskySweep, QRSweep

_FIRST_ITER = 1000  # iterations before the first look at the support, four times as many before every further one
_SPARSE_WORK = 3_000_000  # iterations times terms that a sparse generator may cost where a dense one is known


class Stage(NamedTuple):
    """How far the decisions of a fit have come.

    ``boosting`` is on until (INF) holds for the first time; ``work`` is the number of multiplications that exact
    answers may still take.
    """

    boosting: bool = True
    work: float = np.inf

    @property
    def spent(self) -> bool:
        """Whether no exact answer can be had any more."""
        return self.work <= 0.0


class Search(NamedTuple):
    """How coefficients are looked for: ``radius`` of the l1 ball, solver, boost, whether to polish, when to stop.

    With ``from_constant`` a solver starts at the vertex of the constant term, the first one of every basis.
    """

    radius: float
    solver: str
    boost: str
    polish: bool
    stop: Stop
    from_constant: bool = False

    @property
    def exact(self) -> bool:
        """Whether the solver finds the exact minimum over the ball, as the homotopy behind ``omp`` does."""
        return self.solver == "omp"

    def solve(self, progress: Progress, j: int, stop: Stop) -> Solution:
        """The solver's answer for candidate j."""
        Q, c, r = progress.problem(j)
        x0 = None
        if self.from_constant:
            x0 = np.zeros(c.size)
            x0[0] = self.radius
        return SOLVERS[self.solver](Q, c, r, self.radius, stop, x0)

    def inside(self, x: Float1D) -> bool:
        """Whether x lies in the ball."""
        return bool(np.abs(x).sum() <= self.radius)


def split_oavi(gram: Float2D, n_basis: int, *, search: Search, stage: Stage | None = None) -> Split | None:
    """Decide which candidates lead a polynomial with leading coefficient 1 and mean square <= psi.

    With boosting, the mean square of the best polynomial with leading term u,
    ``p = u'u - u'O (O'O)^-1 O'u``, is the pivot of a Cholesky factorisation that skips the columns with
    ``p <= psi``. It settles every candidate with ``p > psi``, and every one whose unconstrained minimiser
    ``y0 = -(O'O)^-1 O'u`` lies in the l1 ball. The case left is the paper's (INF), ``p <= psi`` and ``|y0|_1 >
    radius``: there the solver decides. The paper's solvers go on without boosting from then on. With ``omp``, whose
    answer is exact, the factorisation goes on; it leaves out columns that depend on others, as then may happen.
    ``stage`` is how far the decisions before have come.
    """
    psi = search.stop.psi
    boosting, work = stage or Stage()
    progress = Progress(gram, n_basis)
    sweep = None
    if search.boost != "none" and (boosting or search.exact):
        try:
            sweep = CholeskySweep(gram, n_basis, skip=not boosting)
        except np.linalg.LinAlgError:
            return None
    largest = min(search.radius, 1e8) * progress.lengths.max()
    n_undecided = 0
    for j in range(progress.n_candidates):
        if sweep is not None:
            pivot, y0, inside, noise = sweep.pivot(j), None, False, 0.0
            if pivot <= psi + 8.0 * sweep.n * EPS * (largest + progress.lengths[n_basis + j]) ** 2:
                y0 = sweep.minimiser(j)
                inside, noise = search.inside(y0), progress.noise(j, y0)
                if abs(pivot - psi) <= noise and (inside or not search.exact):
                    return None
            if y0 is None or pivot > psi + noise:
                sweep.append(j)
                progress.keep(j)
                continue
            if inside:
                progress.generate(j, *_sparse_or_dense(progress, j, y0, pivot, search))
                continue
            boosting = False
            sweep = sweep if search.exact else None
        solution, work = _decide(progress, j, search, work)
        if abs(solution.loss - psi) <= progress.noise(j, solution.x):
            return None
        if solution.loss <= psi:
            progress.generate(j, solution)
            continue
        n_undecided += not solution.status.certified
        progress.keep(j, solution.n_iter)
        if sweep is not None:
            sweep.append_or_skip(j)
    if sweep is not None and search.polish and sweep.n == sweep.n_members:
        progress.clean(sweep.inverse(), psi)
    return progress.split(n_undecided, Stage(boosting, work))


def _decide(progress: Progress, j: int, search: Search, work: float) -> tuple[Solution, float]:
    """The solver's answer, polished if wanted, and the work left: n_iter events of a homotopy cost ``2 n n_iter^2``."""
    if not search.exact:
        return _attempt(progress, j, search, search.stop), work
    n_terms = len(progress.members)
    max_iter = int(min(search.stop.max_iter, np.sqrt(max(work, 0.0) / (2.0 * n_terms))))
    if max_iter == 0:
        return Solution(np.zeros(n_terms), np.inf, np.inf, 0, Status.MAX_ITER), 0.0
    solution = _attempt(progress, j, search, search.stop._replace(max_iter=max_iter))
    return solution, work - 2.0 * n_terms * solution.n_iter**2


def _sparse_or_dense(progress: Progress, j: int, y0: Float1D, lowest: float, search: Search) -> tuple[Solution, bool]:
    """A generator, given that y0 is one, and whether it is dense.

    Sparse if the solver gets there (WIHB), else with the coefficients y0, whose mean square ``lowest`` is the least.
    """
    n_iter = 0
    if search.boost == "wihb":
        sparse = _short(progress, j, lowest, search) if search.exact else _searched(progress, j, search)
        if sparse.loss + progress.noise(j, sparse.x) <= search.stop.psi:
            return sparse, False
        n_iter = sparse.n_iter
    if search.exact:
        loss, _ = loss_and_gap(*progress.problem(j), y0, search.radius)
        return Solution(y0, loss, max(loss - lowest, 0.0), n_iter, Status.VANISHING), True
    dense = (agd if search.solver == "agd" else cg)(*progress.problem(j), search.radius, search.stop, y0)
    return dense._replace(n_iter=n_iter + dense.n_iter), True


def _short(progress: Progress, j: int, lowest: float, search: Search) -> Solution:
    """A short polynomial by matching pursuit; its gap is the distance from the lowest mean square, which is known."""
    target = search.stop
    for _ in range(2):
        short = matching_pursuit(*progress.problem(j), search.radius, target)
        noise = progress.noise(j, short.x)
        if short.status is not Status.VANISHING or short.loss + noise <= search.stop.psi:
            break
        target = target._replace(psi=max(search.stop.psi - 2.0 * noise, 0.0))
    loss = short.loss if short.status is Status.VANISHING else np.inf
    return short._replace(loss=loss, gap=max(loss - lowest, 0.0))


def _searched(progress: Progress, j: int, search: Search) -> Solution:
    """A sparse generator by the solver, within a budget if it will be polished."""
    n_terms = len(progress.members)
    return _attempt(progress, j, search, _within_budget(search.stop, n_terms) if search.polish else search.stop)


def _within_budget(stop: Stop, n_terms: int) -> Stop:
    """A sparse generator is worth having where a dense one is known, but not at any price."""
    return stop._replace(max_iter=min(stop.max_iter, max(_FIRST_ITER, _SPARSE_WORK // n_terms)))


def _attempt(progress: Progress, j: int, search: Search, stop: Stop) -> Solution:
    """The solver's answer; to be polished, it is asked for early: a support is found long before psi is reached."""
    early = search.polish and not search.exact
    max_iter = min(_FIRST_ITER, stop.max_iter) if early else stop.max_iter
    n_iter = 0
    while True:
        solution = search.solve(progress, j, stop._replace(max_iter=max_iter))
        n_iter += solution.n_iter
        if search.polish:
            polished = _polished(progress, j, solution, search)
            if polished.loss + progress.noise(j, polished.x) <= stop.psi:
                return polished._replace(n_iter=n_iter, status=Status.VANISHING)
        if solution.status.certified or max_iter == stop.max_iter:
            return solution._replace(n_iter=n_iter)
        max_iter = min(4 * max_iter, stop.max_iter)


def _polished(progress: Progress, j: int, solution: Solution, search: Search) -> Solution:
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
        if loss < solution.loss and search.inside(candidate):
            # What the solver could still have gained, less what was gained since.
            gap = max(solution.gap - (solution.loss - loss), 0.0)
            gap = min(gap, loss_and_gap(Q, c, r, candidate, search.radius)[1])
            return solution._replace(x=candidate, loss=loss, gap=gap)
    return solution


def split_oavi_exact(factor: Float2D, n_basis: int, *, search: Search, stage: Stage | None = None) -> Split:
    """As :func:`split_oavi`, from the triangular factor of the Gram.

    Residuals are known to a relative 1e-16, so "vanishing" means: up to ``psi`` or to rounding, whichever is
    larger. The least-squares polynomial decides, whatever the boost. The solvers work on the Gram and get no
    further than its rounding; they supply a sparse support, on which the least-squares problem is solved anew.
    """
    psi = search.stop.psi
    boosting, work = stage or Stage()
    progress = Progress(factor.T @ factor, n_basis)
    sweep = QRSweep(factor, n_basis, skip=not boosting) if boosting or search.exact else None
    n_undecided = 0
    for j in range(progress.n_candidates):
        if sweep is not None:
            pivot, y0 = sweep.pivot(j), sweep.minimiser(j)
            if not _vanishes(pivot, progress, j, y0, psi):
                sweep.append(j)
                progress.keep(j)
                continue
            if search.inside(y0):
                dense = Solution(y0, pivot, 0.0, 0, Status.VANISHING)
                progress.generate(j, _sparse_or_dense_exact(factor, progress, j, dense, search))
                continue
            boosting = False
            sweep = sweep if search.exact else None
        solution, work = _decide(progress, j, search._replace(polish=False), work)
        solution = _measured(factor, progress, j, solution)
        if _vanishes(solution.loss, progress, j, solution.x, psi):
            progress.generate(j, solution._replace(status=Status.VANISHING))
            continue
        n_undecided += solution.loss - solution.gap <= psi + progress.noise(j, solution.x)
        progress.keep(j, solution.n_iter)
        if sweep is not None:
            sweep.append_or_skip(j)
    return progress.split(n_undecided, Stage(boosting, work))


def _sparse_or_dense_exact(factor: Float2D, progress: Progress, j: int, dense: Solution, search: Search) -> Solution:
    """A generator, given a dense one: on the solver's support if that is enough, else on all terms, without dust."""
    psi = search.stop.psi
    support, n_iter = _support(progress, j, dense.x, search)
    clean = _measured(factor, progress, j, dense._replace(x=progress.without_dust(j, dense.x)))
    sparse = [] if support is None else [_least_squares(factor, progress, j, support)]
    for solution in (*sparse, clean):
        if _vanishes(solution.loss, progress, j, solution.x, psi) and search.inside(solution.x):
            return solution._replace(gap=max(solution.loss - dense.loss, 0.0), n_iter=n_iter)
    return dense._replace(n_iter=n_iter)


def _support(progress: Progress, j: int, y0: Float1D, search: Search) -> tuple[Int1D | None, int]:
    """Terms on which the Gram, as far as it can tell, has a vanishing polynomial, given that y0 is one; iterations."""
    if search.boost == "ihb" or search.solver == "agd":
        return None, 0
    stop = search.stop._replace(psi=max(search.stop.psi, progress.noise(j, y0)))
    if search.exact:
        short = matching_pursuit(*progress.problem(j), search.radius, stop)
        return np.flatnonzero(short.x) if short.status is Status.VANISHING else None, short.n_iter
    sparse = search.solve(progress, j, _within_budget(stop, y0.size))
    return np.flatnonzero(sparse.x), sparse.n_iter


def _least_squares(factor: Float2D, progress: Progress, j: int, support: Int1D) -> Solution:
    """The best polynomial with terms in ``support``; coefficients that are zero to rounding are exact zeros."""
    columns = factor[:, np.array(progress.members)[support]]
    x = np.zeros(len(progress.members))
    x[support] = np.linalg.lstsq(columns, -factor[:, progress.n_basis + j], rcond=None)[0]
    solution = Solution(progress.without_dust(j, x), np.inf, 0.0, 0, Status.VANISHING)
    return _measured(factor, progress, j, solution)


def _vanishes(mse: float, progress: Progress, j: int, x: Float1D, psi: float) -> bool:
    """Whether a mean square that was measured on the factor is at most psi, or zero to rounding."""
    rounding = 8.0 * progress.gram.shape[0] * EPS * progress.size(j, x)
    return bool(mse <= max(psi, rounding * rounding))


def _measured(factor: Float2D, progress: Progress, j: int, solution: Solution) -> Solution:
    """The solution with its loss measured as the square of a residual, not as a difference of Gram entries."""
    residual = factor[:, progress.members] @ solution.x + factor[:, progress.n_basis + j]
    loss = float(residual @ residual)
    return solution._replace(loss=loss, gap=solution.gap + max(loss - solution.loss, 0.0))
