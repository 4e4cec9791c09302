"""The types of decisions, and the border: the candidates of a degree, decided one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from ..solvers import Solution

EPS = float(np.finfo(np.float64).eps)


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
    status: Int1D
    n_undecided: int = 0
    state: Any = None
    total_iter: int = 0


class Mixture(NamedTuple):
    """Decision about products: combinations of [basis|candidates], one per row, that are kept or vanish."""

    kept: Float2D
    vanishing: Float2D
    mse: Float1D
    state: None = None


class _Generator(NamedTuple):
    """A generator that candidate ``j`` leads; a ``dense`` one has rounding errors in place of zero coefficients."""

    j: int
    solution: Solution
    dense: bool
    lead_coef: float


class Border:
    """The candidates of a degree: one after the other joins the basis or leads a generator."""

    def __init__(self, gram: Float2D, n_basis: int):
        self.gram = gram
        self.n_basis = n_basis
        self.lengths = np.sqrt(np.diag(gram))
        self.n_candidates = int(gram.shape[0]) - n_basis
        self._order = np.arange(gram.shape[0])
        self.members: Int1D = self._order[:n_basis]  # rows of the Gram that belong to the basis so far
        self._Q: Float2D | None = None
        self._generators: list[_Generator] = []
        self._iter_of_kept = 0

    def problem(self, j: int) -> tuple[Float2D, Float1D, float]:
        """Q, c, r of the quadratic for candidate j; Q is the Gram of the basis so far."""
        if self._Q is None:
            self._Q = np.ascontiguousarray(self.gram[np.ix_(self.members, self.members)])
        u = self.n_basis + j
        return self._Q, self.gram[u, self.members], float(self.gram[u, u])

    def mean_square(self, j: int, x: Float1D, lead_coef: float = 1.0) -> float:
        """Mean square of ``lead_coef * u_j + sum_i x_i t_i``, over the first terms of the basis, from the Gram."""
        coef = self.coefficients(j, x, lead_coef)
        return float(coef @ self.gram @ coef)

    def coefficients(self, j: int, x: Float1D, lead_coef: float = 1.0) -> Float1D:
        """Coefficients of ``lead_coef * u_j + sum_i x_i t_i`` on all rows of the Gram."""
        coef = np.zeros(self.gram.shape[0])
        coef[self.members[: x.size]] = x
        coef[self.n_basis + j] = lead_coef
        return coef

    def size(self, j: int, x: Float1D, lead_coef: float = 1.0) -> float:
        """Bound ``|lead_coef u| + sum_i |x_i t_i|`` on the root mean square of every partial sum of the polynomial."""
        terms = np.abs(x) @ self.lengths[self.members[: x.size]]
        return float(terms + abs(lead_coef) * self.lengths[self.n_basis + j])

    def noise(self, j: int, x: Float1D) -> float:
        """Bound on the rounding error of the mean square of ``u_j + sum_i x_i t_i`` from a float64 Gram."""
        size = self.size(j, x)
        return 8.0 * len(self.members) * EPS * size * size

    def without_negligible(self, j: int, x: Float1D, lead_coef: float = 1.0) -> Float1D:
        """x with exact zeros for coefficients whose terms contribute no more than rounding."""
        share = np.abs(x) * self.lengths[self.members]
        return np.where(share <= 8.0 * self.gram.shape[0] * EPS * self.size(j, x, lead_coef), 0.0, x)

    def keep(self, j: int, n_iter: int = 0) -> None:
        """Add candidate j to the basis, after ``n_iter`` solver iterations."""
        n_members = len(self.members)
        self._order[n_members] = self.n_basis + j
        self.members = self._order[: n_members + 1]
        self._Q = None
        self._iter_of_kept += n_iter

    def generate(self, j: int, solution: Solution, dense: bool = False, lead_coef: float = 1.0) -> None:
        """Record that candidate j leads a generator with the coefficients of the solution."""
        self._generators.append(_Generator(j, solution, dense, lead_coef))

    def clean(self, inverse: Float2D, psi: float, *, unit: bool = False) -> None:
        """Set coefficients of dense generators that are smaller than their rounding error to exact zeros.

        With ``unit``, the others are scaled to Euclidean norm 1 again.

        ``inverse`` is L^-1 for a Cholesky factor L of the basis' Gram Q (for ABM, of ``Q - psi I``). An error of
        ``8 n EPS size |t_k|`` in the inner product of term k with the polynomial changes coefficient i by
        ``|Q^-1|_ik`` times that, and ``|Q^-1| <= |L^-1|' |L^-1|``. A leading block of L^-1 belongs to the same leading
        block of Q.
        """
        inverse = np.abs(inverse)
        lengths = self.lengths[self.members]
        spread = inverse @ lengths
        for g, (j, solution, dense, lead) in enumerate(self._generators):
            if not dense:
                continue
            n = solution.x.size
            error = 8.0 * self.gram.shape[0] * EPS * self.size(j, solution.x, lead) * (inverse[:n, :n].T @ spread[:n])
            x = np.where(np.abs(solution.x) <= error, 0.0, solution.x)
            if unit:
                length = float(np.hypot(np.linalg.norm(x), lead))
                x, lead = x / length, lead / length
            loss = solution.loss if (x == solution.x).all() else self.mean_square(j, x, lead)
            if loss <= psi:
                gap = solution.gap + max(loss - solution.loss, 0.0)
                self._generators[g] = _Generator(j, solution._replace(x=x, loss=loss, gap=gap), False, lead)

    def decision(self, n_undecided: int = 0, state: Any = None) -> Decision:
        """The decision, after all candidates."""
        solutions = [generator.solution for generator in self._generators]
        coef = np.zeros((len(solutions), len(self.members)))
        for g, solution in enumerate(solutions):
            coef[g, : solution.x.size] = solution.x
        n_iter = np.array([s.n_iter for s in solutions], dtype=np.int64)
        return Decision(
            kept=self.members[self.n_basis :] - self.n_basis,
            generators=np.array([generator.j for generator in self._generators], dtype=np.int64),
            coef=coef,
            lead_coef=np.array([generator.lead_coef for generator in self._generators], dtype=np.float64),
            n_free=np.array([s.x.size for s in solutions], dtype=np.int64),
            mse=np.maximum([s.loss for s in solutions], 0.0, dtype=np.float64),
            gap=np.array([s.gap for s in solutions], dtype=np.float64),
            n_iter=n_iter,
            status=np.array([s.status for s in solutions], dtype=np.int64),
            n_undecided=n_undecided,
            state=state,
            total_iter=self._iter_of_kept + int(n_iter.sum()),
        )
