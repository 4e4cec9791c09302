"""Solvers for one small quadratic over the l1 ball.

Every solver minimises, for a symmetric positive semidefinite ``Q`` of shape ``(n, n)``,

    f(x) = x'Qx + 2 c'x + r      subject to  |x|_1 <= radius,

which for ``Q = A'A/m``, ``c = A'b/m`` and ``r = b'b/m`` is the mean square ``|A x + b|^2 / m`` of a polynomial with
leading term ``b`` (Line 7 of Algorithm 1 in arXiv:2207.01236). All share the signature ``solver(Q, c, r, radius,
stop, x0)`` and return a :class:`Solution`. ``agd`` ignores the radius (tau = infinity).

``omp`` looks for few non-zero coefficients and falls back on ``homotopy``, which computes the exact minimum; ``cg``,
``pcg``, ``bpcg`` and ``agd`` are the paper's first-order methods.

The vertices of the ball are ``+-radius * e_i``. A step along one or two of them changes ``Qx`` by one or two
columns of ``Q``, so an iteration of ``cg``, ``pcg`` and ``bpcg`` costs O(n). An integer ``v`` encodes a vertex:
index ``v >> 1``, sign + for even and - for odd ``v``.

The kernels are plain functions compiled by Numba; ``NUMBA_DISABLE_JIT=1`` runs them as Python.
"""

from .accelerated import agd
from .conditional_gradients import bpcg, cg, pcg
from .homotopy import homotopy
from .matching_pursuit import matching_pursuit, omp
from .quadratic import Solution, Solver, Status, Stop, loss_and_gap

__all__ = [
    "SOLVERS",
    "Solution",
    "Solver",
    "Status",
    "Stop",
    "agd",
    "bpcg",
    "cg",
    "homotopy",
    "loss_and_gap",
    "matching_pursuit",
    "omp",
    "pcg",
]

SOLVERS: dict[str, Solver] = {"omp": omp, "cg": cg, "pcg": pcg, "bpcg": bpcg, "agd": agd}
