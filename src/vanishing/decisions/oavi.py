"""OAVI's decision (Algorithm 1), with inverse Hessian boosting (IHB) and its weak form (Algorithm 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..solvers import SOLVERS, Solution, Status, Stop, agd, cg, loss_and_gap, matching_pursuit
from .decision import EPS, Border, Decision
from .sweeps import CholeskySweep, QRSweep

_FIRST_ITER = 1000  # iterations before the first look at the support, four times as many before every further one
_SPARSE_WORK = 3_000_000  # iterations times terms that a sparse generator may cost where a dense one is known


class Stage(NamedTuple):
    """How far the decisions of a fit have come.

    ``boosting`` is on until (INF) holds for the first time; ``work`` is the number of multiplications that exact
    answers may still take; ``columns`` are terms of the basis that do not depend on each other, None for all of them.
    """

    boosting: bool = True
    work: float = np.inf
    columns: Int1D | None = None

    @property
    def spent(self) -> bool:
        """Whether no exact answer can be had any more."""
        return self.work <= 0.0


class Oracle(NamedTuple):
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

    def solve(self, border: Border, j: int, stop: Stop) -> Solution:
        """The solver's answer for candidate j."""
        Q, c, r = border.problem(j)
        x0 = None
        if self.from_constant:
            x0 = np.zeros(c.size)
            x0[0] = self.radius
        return SOLVERS[self.solver](Q, c, r, self.radius, stop, x0)

    def inside(self, x: Float1D) -> bool:
        """Whether x lies in the ball."""
        return bool(np.abs(x).sum() <= self.radius)


def decide_oavi(gram: Float2D, n_basis: int, *, oracle: Oracle, stage: Stage | None = None) -> Decision | None:
    """Decide which candidates lead a polynomial with leading coefficient 1 and mean square <= psi.

    With boosting, the mean square of the best polynomial with leading term u,
    ``p = u'u - u'O (O'O)^-1 O'u``, is the pivot of a Cholesky factorisation that skips the columns with
    ``p <= psi``. It settles every candidate with ``p > psi``, and every one whose unconstrained minimiser
    ``y0 = -(O'O)^-1 O'u`` lies in the l1 ball. The case left is the paper's (INF), ``p <= psi`` and ``|y0|_1 >
    radius``: there the solver decides. The paper's solvers go on without boosting from then on. With ``omp``, whose
    answer is exact, the factorisation goes on; it leaves out columns that depend on others, as then may happen.
    ``stage`` is how far the decisions before have come.
    """
    psi = oracle.stop.psi
    boosting, work, columns = stage or Stage()
    border = Border(gram, n_basis)
    sweep = None
    if oracle.boost != "none" and (boosting or oracle.exact):
        try:
            sweep = CholeskySweep(gram, n_basis, columns)
        except np.linalg.LinAlgError:
            return None
    largest = min(oracle.radius, 1e8) * border.lengths.max()
    n_undecided = 0
    for j in range(border.n_candidates):
        if sweep is not None:
            pivot, y0, inside, noise = sweep.pivot(j), None, False, 0.0
            if pivot <= psi + 8.0 * sweep.n * EPS * (largest + border.lengths[n_basis + j]) ** 2:
                y0 = sweep.minimiser(j)
                inside, noise = oracle.inside(y0), border.noise(j, y0)
                if abs(pivot - psi) <= noise and (inside or not oracle.exact):
                    return None
            if y0 is None or pivot > psi + noise:
                sweep.append(j)
                border.keep(j)
                continue
            if inside:
                border.generate(j, *_sparse_or_dense(border, j, y0, pivot, oracle))
                continue
            boosting = False
            sweep = sweep if oracle.exact else None
        solution, work = _decide(border, j, oracle, work)
        if abs(solution.loss - psi) <= border.noise(j, solution.x):
            return None
        if solution.loss <= psi:
            border.generate(j, solution)
            continue
        n_undecided += not solution.status.certified
        border.keep(j, solution.n_iter)
        if sweep is not None:
            sweep.append_or_skip(j)
    if sweep is not None and oracle.polish and sweep.n == sweep.n_members:
        border.clean(sweep.inverse(), psi)
    return border.decision(n_undecided, _next_stage(boosting, work, sweep))


def _next_stage(boosting: bool, work: float, sweep: CholeskySweep | QRSweep | None) -> Stage:
    return Stage(boosting, work, None if boosting or sweep is None else np.array(sweep.columns))


def _decide(border: Border, j: int, oracle: Oracle, work: float) -> tuple[Solution, float]:
    """The solver's answer, polished if wanted, and the work left: n_iter events of a homotopy cost ``2 n n_iter^2``."""
    if not oracle.exact:
        return _attempt(border, j, oracle, oracle.stop), work
    n_terms = len(border.members)
    max_iter = int(min(oracle.stop.max_iter, np.sqrt(max(work, 0.0) / (2.0 * n_terms))))
    if max_iter == 0:
        return Solution(np.zeros(n_terms), np.inf, np.inf, 0, Status.MAX_ITER), 0.0
    solution = _attempt(border, j, oracle, oracle.stop._replace(max_iter=max_iter))
    return solution, work - 2.0 * n_terms * solution.n_iter**2


def _sparse_or_dense(border: Border, j: int, y0: Float1D, lowest: float, oracle: Oracle) -> tuple[Solution, bool]:
    """A generator, given that y0 is one, and whether it is dense.

    Sparse if the solver gets there (WIHB), else with the coefficients y0, whose mean square ``lowest`` is the least.
    """
    n_iter = 0
    if oracle.boost == "wihb":
        sparse = _short(border, j, lowest, oracle) if oracle.exact else _searched(border, j, oracle)
        if sparse.loss + border.noise(j, sparse.x) <= oracle.stop.psi:
            return sparse, False
        n_iter = sparse.n_iter
    if oracle.exact:
        loss, _ = loss_and_gap(*border.problem(j), y0, oracle.radius)
        return Solution(y0, loss, max(loss - lowest, 0.0), n_iter, Status.VANISHING), True
    dense = (agd if oracle.solver == "agd" else cg)(*border.problem(j), oracle.radius, oracle.stop, y0)
    return dense._replace(n_iter=n_iter + dense.n_iter), True


def _short(border: Border, j: int, lowest: float, oracle: Oracle) -> Solution:
    """A short polynomial by matching pursuit; its gap is the distance from the lowest mean square, which is known."""
    target = oracle.stop
    for _ in range(2):
        short = matching_pursuit(*border.problem(j), oracle.radius, target)
        noise = border.noise(j, short.x)
        if short.status is not Status.VANISHING or short.loss + noise <= oracle.stop.psi:
            break
        target = target._replace(psi=max(oracle.stop.psi - 2.0 * noise, 0.0))
    loss = short.loss if short.status is Status.VANISHING else np.inf
    return short._replace(loss=loss, gap=max(loss - lowest, 0.0))


def _searched(border: Border, j: int, oracle: Oracle) -> Solution:
    """A sparse generator by the solver, within a budget if it will be polished."""
    n_terms = len(border.members)
    return _attempt(border, j, oracle, _within_budget(oracle.stop, n_terms) if oracle.polish else oracle.stop)


def _within_budget(stop: Stop, n_terms: int) -> Stop:
    """A sparse generator is worth having where a dense one is known, but not at any price."""
    return stop._replace(max_iter=min(stop.max_iter, max(_FIRST_ITER, _SPARSE_WORK // n_terms)))


def _attempt(border: Border, j: int, oracle: Oracle, stop: Stop) -> Solution:
    """The solver's answer; to be polished, it is asked for early: a support is found long before psi is reached."""
    early = oracle.polish and not oracle.exact
    max_iter = min(_FIRST_ITER, stop.max_iter) if early else stop.max_iter
    n_iter = 0
    while True:
        solution = oracle.solve(border, j, stop._replace(max_iter=max_iter))
        n_iter += solution.n_iter
        if oracle.polish:
            polished = _polished(border, j, solution, oracle)
            if polished.loss + border.noise(j, polished.x) <= stop.psi:
                return polished._replace(n_iter=n_iter, status=Status.VANISHING)
        if solution.status.certified or max_iter == stop.max_iter:
            return solution._replace(n_iter=n_iter)
        max_iter = min(4 * max_iter, stop.max_iter)


def _polished(border: Border, j: int, solution: Solution, oracle: Oracle) -> Solution:
    """The least-squares solution on the support of a solution, if that is inside the ball and better.

    A solver stops as soon as the mean square is below psi, with coefficients somewhere on the way.
    """
    Q, c, r = border.problem(j)
    support = np.flatnonzero(solution.x)
    x = np.zeros_like(solution.x)
    try:
        inverse = np.linalg.inv(Q[np.ix_(support, support)])
    except np.linalg.LinAlgError:
        return solution
    x[support] = -inverse @ c[support]
    # A coefficient that is smaller than its own rounding error, |inverse| times that of c, is zero.
    lengths = border.lengths[border.members][support]
    error = 8.0 * len(border.members) * EPS * border.size(j, x) * (np.abs(inverse) @ lengths)
    clean = x.copy()
    clean[support[np.abs(x[support]) <= error]] = 0.0
    for candidate in (clean, x):
        loss = float(candidate @ (Q @ candidate + 2.0 * c) + r)
        if loss < solution.loss and oracle.inside(candidate):
            # What the solver could still have gained, less what was gained since.
            gap = max(solution.gap - (solution.loss - loss), 0.0)
            gap = min(gap, loss_and_gap(Q, c, r, candidate, oracle.radius)[1])
            return solution._replace(x=candidate, loss=loss, gap=gap)
    return solution


def decide_oavi_exact(factor: Float2D, n_basis: int, *, oracle: Oracle, stage: Stage | None = None) -> Decision:
    """As :func:`decide_oavi`, from the triangular factor of the Gram.

    Residuals are known to a relative 1e-16, so "vanishing" means: up to ``psi`` or to rounding, whichever is
    larger. The least-squares polynomial decides, whatever the boost. The solvers work on the Gram and get no
    further than its rounding; they supply a sparse support, on which the least-squares problem is solved anew.
    """
    psi = oracle.stop.psi
    boosting, work, columns = stage or Stage()
    border = Border(factor.T @ factor, n_basis)
    sweep = QRSweep(factor, n_basis, columns) if boosting or oracle.exact else None
    n_undecided = 0
    for j in range(border.n_candidates):
        if sweep is not None:
            pivot, y0 = sweep.pivot(j), sweep.minimiser(j)
            if not _vanishes(pivot, border, j, y0, psi):
                sweep.append(j)
                border.keep(j)
                continue
            if oracle.inside(y0):
                dense = Solution(y0, pivot, 0.0, 0, Status.VANISHING)
                border.generate(j, _sparse_or_dense_exact(factor, border, j, dense, oracle))
                continue
            boosting = False
            sweep = sweep if oracle.exact else None
        solution, work = _decide(border, j, oracle._replace(polish=False), work)
        solution = _measured(factor, border, j, solution)
        if _vanishes(solution.loss, border, j, solution.x, psi):
            border.generate(j, solution._replace(status=Status.VANISHING))
            continue
        n_undecided += solution.loss - solution.gap <= psi + border.noise(j, solution.x)
        border.keep(j, solution.n_iter)
        if sweep is not None:
            sweep.append_or_skip(j)
    return border.decision(n_undecided, _next_stage(boosting, work, sweep))


def _sparse_or_dense_exact(factor: Float2D, border: Border, j: int, dense: Solution, oracle: Oracle) -> Solution:
    """A generator, given a dense one: on the solver's support if that is enough, else on all terms, without dust."""
    psi = oracle.stop.psi
    support, n_iter = _support(border, j, dense.x, oracle)
    clean = _measured(factor, border, j, dense._replace(x=border.without_dust(j, dense.x)))
    sparse = [] if support is None else [_least_squares(factor, border, j, support)]
    for solution in (*sparse, clean):
        if _vanishes(solution.loss, border, j, solution.x, psi) and oracle.inside(solution.x):
            return solution._replace(gap=max(solution.loss - dense.loss, 0.0), n_iter=n_iter)
    return dense._replace(n_iter=n_iter)


def _support(border: Border, j: int, y0: Float1D, oracle: Oracle) -> tuple[Int1D | None, int]:
    """Terms on which the Gram, as far as it can tell, has a vanishing polynomial, given that y0 is one; iterations."""
    if oracle.boost == "ihb" or oracle.solver == "agd":
        return None, 0
    stop = oracle.stop._replace(psi=max(oracle.stop.psi, border.noise(j, y0)))
    if oracle.exact:
        short = matching_pursuit(*border.problem(j), oracle.radius, stop)
        return np.flatnonzero(short.x) if short.status is Status.VANISHING else None, short.n_iter
    sparse = oracle.solve(border, j, _within_budget(stop, y0.size))
    return np.flatnonzero(sparse.x), sparse.n_iter


def _least_squares(factor: Float2D, border: Border, j: int, support: Int1D) -> Solution:
    """The best polynomial with terms in ``support``; coefficients that are zero to rounding are exact zeros."""
    columns = factor[:, border.members[support]]
    x = np.zeros(len(border.members))
    x[support] = np.linalg.lstsq(columns, -factor[:, border.n_basis + j], rcond=None)[0]
    solution = Solution(border.without_dust(j, x), np.inf, 0.0, 0, Status.VANISHING)
    return _measured(factor, border, j, solution)


def _vanishes(mse: float, border: Border, j: int, x: Float1D, psi: float) -> bool:
    """Whether a mean square that was measured on the factor is at most psi, or zero to rounding."""
    rounding = 8.0 * border.gram.shape[0] * EPS * border.size(j, x)
    return bool(mse <= max(psi, rounding * rounding))


def _measured(factor: Float2D, border: Border, j: int, solution: Solution) -> Solution:
    """The solution with its loss measured as the square of a residual, not as a difference of Gram entries."""
    residual = factor @ border.coefficients(j, solution.x)
    loss = float(residual @ residual)
    return solution._replace(loss=loss, gap=solution.gap + max(loss - solution.loss, 0.0))
