"""The candidates of a degree, decided one by one: a border records the decisions, a sweep factorises the Gram.

A sweep visits the candidates C in order and knows, for each, its residual on the basis and on the candidates
appended so far: the pivot ``p = |u - projection of u|^2`` and the coefficients of the projection. Appending a
column costs O(l) a candidate: this is the paper's update of (A'A)^-1 (Theorem B.1) done on a triangular
factor, A'A = LL', which needs no inverse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import Array, Float1D, Float2D, Int1D
from ..constants import ROUNDING
from ..solvers import Solution


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


class _Generator(NamedTuple):
    """A generator that candidate ``j`` leads."""

    j: int
    solution: Solution
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
        self.dense: list[int] = []  # generators that have rounding errors in place of zero coefficients
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
        return len(self.members) * ROUNDING * size * size

    def without_negligible(self, j: int, x: Float1D, lead_coef: float = 1.0) -> Float1D:
        """x with exact zeros for coefficients whose terms contribute no more than rounding."""
        share = np.abs(x) * self.lengths[self.members]
        return np.where(share <= self.gram.shape[0] * ROUNDING * self.size(j, x, lead_coef), 0.0, x)

    def keep(self, j: int, n_iter: int = 0) -> None:
        """Add candidate j to the basis, after ``n_iter`` solver iterations."""
        n_members = len(self.members)
        self._order[n_members] = self.n_basis + j
        self.members = self._order[: n_members + 1]
        self._Q = None
        self._iter_of_kept += n_iter

    def generate(self, j: int, solution: Solution, dense: bool = False, lead_coef: float = 1.0) -> None:
        """Record that candidate j leads a generator with the coefficients of the solution."""
        if dense:
            self.dense.append(len(self._generators))
        self._generators.append(_Generator(j, solution, lead_coef))

    def clean(self, inverse: Float2D, psi: float, *, unit: bool = False) -> None:
        """Set coefficients of dense generators that are smaller than their rounding error to exact zeros.

        With ``unit``, the others are scaled to Euclidean norm 1 again.

        ``inverse`` is L^-1 for a Cholesky factor L of the basis' Gram Q (for ABM, of ``Q - psi I``). An error of
        ``n ROUNDING size |t_k|`` in the inner product of term k with the polynomial changes coefficient i by
        ``|Q^-1|_ik`` times that, and ``|Q^-1| <= |L^-1|' |L^-1|``. A leading block of L^-1 belongs to the same leading
        block of Q.
        """
        inverse = np.abs(inverse)
        lengths = self.lengths[self.members]
        spread = inverse @ lengths
        for g in self.dense:
            j, solution, lead = self._generators[g]
            n = solution.x.size
            error = self.gram.shape[0] * ROUNDING * self.size(j, solution.x, lead) * (inverse[:n, :n].T @ spread[:n])
            x = np.where(np.abs(solution.x) <= error, 0.0, solution.x)
            if unit:
                length = float(np.hypot(np.linalg.norm(x), lead))
                x, lead = x / length, lead / length
            loss = solution.loss if (x == solution.x).all() else self.mean_square(j, x, lead)
            if loss <= psi:
                gap = solution.gap + max(loss - solution.loss, 0.0)
                self._generators[g] = _Generator(j, solution._replace(x=x, loss=loss, gap=gap), lead)

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
            status=np.array([s.status for s in solutions], dtype=object),
            n_undecided=n_undecided,
            state=state,
            total_iter=self._iter_of_kept + int(n_iter.sum()),
        )


class _Sweep(ABC):
    """L L' = Gram of the ``n`` columns so far; ``W[:n]`` = L^-1 times their inner products with the candidates.

    ``columns`` are their places among the members of the basis: all of them, unless some depend on others. Projections
    of consecutive candidates are solved together, in growing groups, until one is appended.
    """

    L: Float2D
    W: Float2D
    n: int
    n_members: int
    columns: list[int]
    _solved: Float2D  # projections of the candidates from ``_first_solved`` on
    _first_solved: int

    @abstractmethod
    def pivot(self, j: int) -> float:
        """Mean square of the residual of candidate j."""

    @abstractmethod
    def append(self, j: int) -> None:
        """Candidate j joins the columns that the others are projected on."""

    @abstractmethod
    def _rounding(self, j: int) -> float:
        """A pivot up to this is zero to rounding."""

    def minimiser(self, j: int) -> Float1D:
        """Coefficients on all members of the basis of the polynomial with leading term u_j and least mean square.

        They are ``-(A'A)^-1 A'u`` on the columns A, and zero on members that depend on them.
        """
        place = j - self._first_solved
        if not 0 <= place < self._solved.shape[1]:
            n_together = 2 * self._solved.shape[1] + 1
            self._first_solved, place = j, 0
            self._solved = solve_triangular(
                self.L[: self.n, : self.n],
                self.W[: self.n, j : j + n_together],
                lower=True,
                trans="T",
                check_finite=False,
            )
        y0 = np.zeros(self.n_members)
        y0[self.columns] = -self._solved[:, place]
        return y0

    def append_or_skip(self, j: int) -> None:
        """Candidate j joins the basis, and the columns if it does not depend on them."""
        if self.pivot(j) > self._rounding(j):
            self.append(j)
        else:
            self.n_members += 1

    def bordered(self, j: int) -> Float2D:
        """Upper triangular factor of the Gram of the columns so far and candidate j."""
        factor = np.zeros((self.n + 1, self.n + 1))
        factor[: self.n, : self.n] = self.L[: self.n, : self.n].T
        factor[: self.n, self.n] = self.W[: self.n, j]
        factor[self.n, self.n] = np.sqrt(max(self.pivot(j), 0.0))
        return factor

    def inverse(self) -> Float2D:
        """The inverse of L; its leading block is the inverse of the leading block of L."""
        eye = np.eye(self.n)
        return np.asarray(solve_triangular(self.L[: self.n, : self.n], eye, lower=True, check_finite=False))

    def _reserve(self, L: Float2D, W: Float2D, columns: list[int], n_basis: int) -> None:
        self.n, n_candidates = W.shape
        self.columns, self.n_members = columns, n_basis
        size = self.n + n_candidates
        self.L = np.zeros((size, size))
        self.L[: self.n, : self.n] = L
        self.W = np.empty((size, n_candidates))
        self.W[: self.n] = W
        self._first_solved, self._solved = 0, np.empty((self.n, 0))

    def _grow(self, j: int, row: Float1D, diagonal: float) -> None:
        self.L[self.n, : self.n] = self.W[: self.n, j]
        self.L[self.n, self.n] = diagonal
        self.W[self.n] = row
        self.n += 1
        self._solved = np.empty((self.n, 0))
        self.columns.append(self.n_members)
        self.n_members += 1


class CholeskySweep(_Sweep):
    """The sweep of a Gram; pivots are differences of squares, right to about 1e-16 times the columns' own squares.

    Raises ``numpy.linalg.LinAlgError`` if the basis is numerically dependent.

    Examples
    --------
    >>> import numpy as np
    >>> sweep = CholeskySweep(np.array([[1.0, 0.5], [0.5, 1.0]]), 1)
    >>> sweep.pivot(0), sweep.minimiser(0)
    (0.75, array([-0.5]))
    """

    def __init__(self, gram: Float2D, n_basis: int, columns: Int1D | None = None):
        columns = np.arange(n_basis) if columns is None else columns
        L: Float2D = np.asarray(np.linalg.cholesky(gram[np.ix_(columns, columns)]), dtype=np.float64)
        W = solve_triangular(L, gram[columns, n_basis:], lower=True, check_finite=False)
        self._cross = gram[n_basis:, n_basis:]
        self._pivots = np.diag(self._cross) - (W * W).sum(axis=0)
        self._reserve(L, W, columns.tolist(), n_basis)

    def pivot(self, j: int) -> float:
        """Mean square of the residual of candidate j."""
        return float(self._pivots[j])

    def _rounding(self, j: int) -> float:
        return float(self.n_members * ROUNDING * self._cross[j, j])

    def append(self, j: int) -> None:
        """Candidate j joins the columns that the others are projected on."""
        diagonal = float(np.sqrt(self._pivots[j]))
        row = (self._cross[j] - self.W[: self.n, j] @ self.W[: self.n]) / diagonal
        self._pivots -= row * row
        self._grow(j, row, diagonal)


class QRSweep(_Sweep):
    """The sweep of a triangular factor; pivots are squares of residuals that are right to about 1e-16.

    Examples
    --------
    >>> import numpy as np
    >>> sweep = QRSweep(np.array([[1.0, 0.5], [0.0, 1e-12]]), 1)
    >>> sweep.pivot(0), sweep.minimiser(0)
    (1e-24, array([-0.5]))
    """

    def __init__(self, factor: Float2D, n_basis: int, columns: Int1D | None = None):
        lengths = np.linalg.norm(factor, axis=0)
        self._lengths = lengths[n_basis:]
        if columns is None:
            columns = np.arange(n_basis)
        else:  # independent as far as the Gram can tell; the factor knows better
            columns = columns[np.abs(np.diag(factor)[columns]) > factor.shape[0] * ROUNDING * lengths[columns]]
            chosen = np.concatenate([columns, np.arange(n_basis, factor.shape[1])])
            factor = np.asarray(np.linalg.qr(factor[:, chosen], mode="r"))
        n = columns.size
        self._residuals = factor[n:, n:].copy()
        self._reserve(factor[:n, :n].T, factor[:n, n:], columns.tolist(), n_basis)

    def pivot(self, j: int) -> float:
        """Mean square of the residual of candidate j."""
        return float(self._residuals[:, j] @ self._residuals[:, j])

    def _rounding(self, j: int) -> float:
        return float((self.n_members * ROUNDING * self._lengths[j]) ** 2)

    def append(self, j: int) -> None:
        """Candidate j joins the columns that the others are projected on."""
        diagonal = float(np.sqrt(self.pivot(j)))
        direction = self._residuals[:, j] / diagonal
        row = np.zeros(self._residuals.shape[1])
        for _ in range(2):  # twice is enough for orthogonality to working precision
            part = direction @ self._residuals
            self._residuals -= np.outer(direction, part)
            row += part
        self._grow(j, row, diagonal)
