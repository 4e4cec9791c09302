"""OAVI's decision (Algorithm 1), with inverse Hessian boosting (IHB) and its weak form (WIHB, Algorithm 3).

References: Wirth and Pokutta, "Conditional Gradients for the Approximately Vanishing Ideal", 2022, arXiv:2202.03349;
Wirth, Kera and Pokutta, "Approximate Vanishing Ideal Computations at Scale", 2023, arXiv:2207.01236, which numbers the
algorithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..constants import ROUNDING
from ..solvers import SOLVERS, Solution, Status, Stop, agd, cg, loss_and_gap, matching_pursuit
from .border import Border, CholeskySweep, Decision, QRSweep

_FIRST_ITER = 1000  # iterations before the support is polished for the first time; each attempt takes four times more
_SPARSE_WORK = 3_000_000  # iterations times terms that a sparse generator may cost if a dense one is known


class Stage(NamedTuple):
    """The state of a fit between decisions.

    ``boosting`` is on until (INF) holds for the first time; ``work`` is the number of multiplications left for exact
    minima over the l1 ball; ``columns`` are linearly independent terms of the basis, None for all of them.
    """

    boosting: bool = True
    work: float = np.inf
    columns: Int1D | None = None

    @property
    def spent(self) -> bool:
        """Whether no multiplications are left."""
        return self.work <= 0.0


class Oracle(NamedTuple):
    """How to compute coefficients: ``radius`` of the l1 ball, solver, boost, whether to polish, when to stop.

    With ``from_constant`` a solver starts at the vertex of the constant term, the first term of every basis.
    """

    radius: float
    solver: str
    boost: str
    polish: bool
    stop: Stop
    from_constant: bool = False

    @property
    def exact(self) -> bool:
        """Whether the solver computes the exact minimum over the ball, as ``omp`` does by homotopy."""
        return self.solver == "omp"

    def solve(self, border: Border, j: int, stop: Stop) -> Solution:
        """Run the solver for candidate j."""
        Q, c, r = border.problem(j)
        x0 = None
        if self.from_constant:
            x0 = np.zeros(c.size)
            x0[0] = self.radius
        return SOLVERS[self.solver](Q, c, r, self.radius, stop, x0)

    def inside(self, x: Float1D) -> bool:
        """Whether x lies in the ball."""
        return bool(np.abs(x).sum() <= self.radius)


def decide_oavi(gram: Float2D, n_basis: int, stage: Stage | None = None, *, oracle: Oracle) -> Decision | None:
    """Decide which candidates lead a polynomial with leading coefficient 1 and mean square <= psi.

    With boosting, the smallest mean square of a polynomial with leading term u,
    ``p = u'u - u'O (O'O)^-1 O'u``, is the pivot of a Cholesky factorisation that skips the columns with
    ``p <= psi``. It decides about every candidate with ``p > psi``, and every one whose unconstrained minimiser
    ``y0 = -(O'O)^-1 O'u`` lies in the l1 ball. In the remaining case, the paper's (INF), ``p <= psi`` and ``|y0|_1 >
    radius``, the solver decides. From then on the paper's solvers work without boosting. With ``omp``, which is exact,
    the factorisation continues, and skips columns that depend on others. ``stage`` is the state that the last decision
    of the fit returned.
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
            if pivot <= psi + sweep.n * ROUNDING * (largest + border.lengths[n_basis + j]) ** 2:
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
        solution, work = _solve_within_work(border, j, oracle, work)
        if abs(solution.loss - psi) <= border.noise(j, solution.x):
            return None
        if solution.loss <= psi:
            border.generate(j, solution)
            continue
        n_undecided += not solution.status.certified
        border.keep(j, solution.n_iter)
        if sweep is not None:
            sweep.append_or_skip(j)
    if border.dense and sweep is not None and oracle.polish and sweep.n == sweep.n_members:
        border.clean(sweep.inverse(), psi)
    return border.decision(n_undecided, _next_stage(boosting, work, sweep))


def _next_stage(boosting: bool, work: float, sweep: CholeskySweep | QRSweep | None) -> Stage:
    return Stage(boosting, work, None if boosting or sweep is None else np.array(sweep.columns))


def _solve_within_work(border: Border, j: int, oracle: Oracle, work: float) -> tuple[Solution, float]:
    """Solve for candidate j; return the work left as well: n_iter events of a homotopy cost ``2 n n_iter^2``."""
    if not oracle.exact:
        return _solve_and_polish(border, j, oracle, oracle.stop), work
    n_terms = len(border.members)
    max_iter = int(min(oracle.stop.max_iter, np.sqrt(max(work, 0.0) / (2.0 * n_terms))))
    if max_iter == 0:
        return Solution(np.zeros(n_terms), np.inf, np.inf, 0, Status.MAX_ITER), 0.0
    solution = _solve_and_polish(border, j, oracle, oracle.stop._replace(max_iter=max_iter))
    return solution, work - 2.0 * n_terms * solution.n_iter**2


def _sparse_or_dense(border: Border, j: int, y0: Float1D, lowest: float, oracle: Oracle) -> tuple[Solution, bool]:
    """A generator, and whether it is dense, if the minimiser y0 is one.

    With WIHB the solver looks for a sparse generator. If it fails, the generator has the coefficients y0, with the
    smallest mean square, ``lowest``.
    """
    n_iter = 0
    if oracle.boost == "wihb":
        sparse = _pursue(border, j, lowest, oracle) if oracle.exact else _solve_sparse(border, j, oracle)
        if sparse.loss <= oracle.stop.psi:
            return sparse, False
        n_iter = sparse.n_iter
    if oracle.exact:
        loss, _ = loss_and_gap(*border.problem(j), y0, oracle.radius)
        return Solution(y0, loss, max(loss - lowest, 0.0), n_iter, Status.VANISHING), True
    dense = (agd if oracle.solver == "agd" else cg)(*border.problem(j), oracle.radius, oracle.stop, y0)
    return dense._replace(n_iter=n_iter + dense.n_iter), True


def _pursue(border: Border, j: int, lowest: float, oracle: Oracle) -> Solution:
    """A short polynomial by matching pursuit; its loss is infinite unless it is below psi by more than rounding.

    Its gap is the distance to ``lowest``, the smallest mean square.
    """
    target, psi = oracle.stop, oracle.stop.psi
    for _ in range(2):
        short = matching_pursuit(*border.problem(j), oracle.radius, target)
        if short.status is not Status.VANISHING:
            break
        noise = border.noise(j, short.x)
        if short.loss + noise <= psi:
            return short._replace(gap=max(short.loss - lowest, 0.0))
        target = target._replace(psi=max(psi - 2.0 * noise, 0.0))
    return short._replace(loss=np.inf)


def _solve_sparse(border: Border, j: int, oracle: Oracle) -> Solution:
    """A sparse generator by the solver; its loss is infinite unless it is below psi by more than rounding.

    The solver has a budget of iterations if its solution will be polished.
    """
    stop = _within_budget(oracle.stop, len(border.members)) if oracle.polish else oracle.stop
    sparse = _solve_and_polish(border, j, oracle, stop)
    return sparse if sparse.loss + border.noise(j, sparse.x) <= stop.psi else sparse._replace(loss=np.inf)


def _within_budget(stop: Stop, n_terms: int) -> Stop:
    """Limit the iterations for a sparse generator if a dense one is known."""
    return stop._replace(max_iter=min(stop.max_iter, max(_FIRST_ITER, _SPARSE_WORK // n_terms)))


def _solve_and_polish(border: Border, j: int, oracle: Oracle, stop: Stop) -> Solution:
    """Solve for candidate j, and polish if the oracle says so.

    A solver has the right support long before its loss reaches psi, so it is interrupted early to be polished.
    """
    early = oracle.polish and not oracle.exact
    max_iter = min(_FIRST_ITER, stop.max_iter) if early else stop.max_iter
    n_iter = 0
    while True:
        solution = oracle.solve(border, j, stop._replace(max_iter=max_iter))
        n_iter += solution.n_iter
        if oracle.polish:
            polished = _polish(border, j, solution, oracle)
            if polished.loss + border.noise(j, polished.x) <= stop.psi:
                return polished._replace(n_iter=n_iter, status=Status.VANISHING)
        if solution.status.certified or max_iter == stop.max_iter:
            return solution._replace(n_iter=n_iter)
        max_iter = min(4 * max_iter, stop.max_iter)


def _polish(border: Border, j: int, solution: Solution, oracle: Oracle) -> Solution:
    """The least-squares solution on the support of a solution, if it is in the ball and better.

    A solver stops as soon as its loss is below psi, before its coefficients have converged.
    """
    Q, c, r = border.problem(j)
    support = np.flatnonzero(solution.x)
    x = np.zeros_like(solution.x)
    try:
        inverse = np.linalg.inv(Q[np.ix_(support, support)])
    except np.linalg.LinAlgError:
        return solution
    x[support] = -inverse @ c[support]
    # Coefficients smaller than their rounding error, |inverse| times the error of c, are zero.
    lengths = border.lengths[border.members][support]
    error = len(border.members) * ROUNDING * border.size(j, x) * (np.abs(inverse) @ lengths)
    clean = x.copy()
    clean[support[np.abs(x[support]) <= error]] = 0.0
    for candidate in (clean, x):
        loss = float(candidate @ (Q @ candidate + 2.0 * c) + r)
        if loss < solution.loss and oracle.inside(candidate):
            # The solver's gap bounds the decrease that was possible; subtract the decrease since then.
            gap = max(solution.gap - (solution.loss - loss), 0.0)
            gap = min(gap, loss_and_gap(Q, c, r, candidate, oracle.radius)[1])
            return solution._replace(x=candidate, loss=loss, gap=gap)
    return solution


def decide_oavi_exact(factor: Float2D, n_basis: int, stage: Stage | None = None, *, oracle: Oracle) -> Decision:
    """As :func:`decide_oavi`, from the triangular factor of the Gram.

    Residuals have a relative accuracy of 1e-16, so a polynomial vanishes if its mean square is at most ``psi`` or
    zero up to rounding. The least-squares polynomial decides for every boost. The solvers work on the Gram, whose
    rounding limits them; they choose a sparse support, on which the factor gives the least-squares solution.
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
        solution, work = _solve_within_work(border, j, oracle._replace(polish=False), work)
        solution = _measure_loss(factor, border, j, solution)
        if _vanishes(solution.loss, border, j, solution.x, psi):
            border.generate(j, solution._replace(status=Status.VANISHING))
            continue
        n_undecided += solution.loss - solution.gap <= psi + border.noise(j, solution.x)
        border.keep(j, solution.n_iter)
        if sweep is not None:
            sweep.append_or_skip(j)
    return border.decision(n_undecided, _next_stage(boosting, work, sweep))


def _sparse_or_dense_exact(factor: Float2D, border: Border, j: int, dense: Solution, oracle: Oracle) -> Solution:
    """A generator on a sparse support if that is enough, else the dense one without negligible coefficients."""
    psi = oracle.stop.psi
    support, n_iter = _sparse_support(border, j, dense.x, oracle)
    clean = _measure_loss(factor, border, j, dense._replace(x=border.without_negligible(j, dense.x)))
    sparse = [] if support is None else [_least_squares(factor, border, j, support)]
    for solution in (*sparse, clean):
        if _vanishes(solution.loss, border, j, solution.x, psi) and oracle.inside(solution.x):
            return solution._replace(gap=max(solution.loss - dense.loss, 0.0), n_iter=n_iter)
    return dense._replace(n_iter=n_iter)


def _sparse_support(border: Border, j: int, y0: Float1D, oracle: Oracle) -> tuple[Int1D | None, int]:
    """Terms on which a polynomial vanishes, judged by the Gram, if y0 does; and the number of solver iterations."""
    if oracle.boost == "ihb" or oracle.solver == "agd":
        return None, 0
    stop = oracle.stop._replace(psi=max(oracle.stop.psi, border.noise(j, y0)))
    if oracle.exact:
        short = matching_pursuit(*border.problem(j), oracle.radius, stop)
        return np.flatnonzero(short.x) if short.status is Status.VANISHING else None, short.n_iter
    sparse = oracle.solve(border, j, _within_budget(stop, y0.size))
    return np.flatnonzero(sparse.x), sparse.n_iter


def _least_squares(factor: Float2D, border: Border, j: int, support: Int1D) -> Solution:
    """The least-squares polynomial with terms in ``support``; negligible coefficients become exact zeros."""
    columns = factor[:, border.members[support]]
    x = np.zeros(len(border.members))
    x[support] = np.linalg.lstsq(columns, -factor[:, border.n_basis + j], rcond=None)[0]
    solution = Solution(border.without_negligible(j, x), np.inf, 0.0, 0, Status.VANISHING)
    return _measure_loss(factor, border, j, solution)


def _vanishes(mse: float, border: Border, j: int, x: Float1D, psi: float) -> bool:
    """Whether a mean square from the factor is at most psi, or zero up to rounding."""
    rounding = border.gram.shape[0] * ROUNDING * border.size(j, x)
    return bool(mse <= max(psi, rounding * rounding))


def _measure_loss(factor: Float2D, border: Border, j: int, solution: Solution) -> Solution:
    """The solution with its loss computed as a squared residual, not as a difference of Gram entries."""
    residual = factor @ border.coefficients(j, solution.x)
    loss = float(residual @ residual)
    return solution._replace(loss=loss, gap=solution.gap + max(loss - solution.loss, 0.0))
