"""Random problems at awkward scales, and whether a solver's certificate agrees with the exact minimum."""

from __future__ import annotations

from collections import Counter

import numpy as np
from reference import rational_loss, rational_minimum

from vanishing.solvers import SOLVERS, Status, Stop, homotopy

EVERY = {"homotopy": homotopy, **{name: solver for name, solver in SOLVERS.items() if name != "agd"}}


def awkward_problem(seed):
    """Q, c, r, a radius and when to stop: scales 1e-6 to 1e6, few coefficients, sometimes of deficient rank."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    m = n + int(rng.integers(1, 5))
    A = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-6, 6, size=n)
    if n > 1 and rng.random() < 0.3:
        A[:, -1] = A[:, 0] * float(2.0 ** rng.integers(-3, 4))
    b = rng.normal(size=m) * 10.0 ** rng.uniform(-6, 6)
    Q, c, r = A.T @ A / m, A.T @ b / m, float(b @ b / m)
    radius = float(10.0 ** rng.uniform(-3, 3))
    return Q, c, r, radius, float(rng.choice([0.5, 0.9, 0.999, 1.001, 1.1, 2.0])), int(rng.choice([50, 2000]))


def rounding_of_certificate(Q, c, r, x, radius):
    """How wrong loss and gap at x may be in float64: a few units in the last place of the largest summand."""
    eps, half = np.finfo(float).eps, (np.abs(Q) @ np.abs(x) + np.abs(c)).max()
    return 16 * eps * (len(c) + 1) * (r + (np.abs(x).sum() + radius) * half)


def is_violated(problem, solution, minimum, psi):
    """Whether what the solver says contradicts the exact minimum."""
    Q, c, r, radius, _, _ = problem
    slack = rounding_of_certificate(Q, c, r, solution.x, radius)
    exact_loss = float(rational_loss(Q, c, r, {i: float(v) for i, v in enumerate(solution.x) if v != 0.0}))
    return (
        abs(solution.loss - exact_loss) > slack
        or solution.loss - solution.gap > minimum + slack
        or (solution.status is Status.VANISHING and exact_loss > psi + slack)
        or (solution.status is Status.IMPOSSIBLE and minimum <= psi - slack)
        or np.abs(solution.x).sum() > radius * (1.0 + 1e-12)
    )


def count_violations(seeds, statuses=None):
    """Violations of every solver over the problems with these seeds."""
    violations = Counter(dict.fromkeys(EVERY, 0))
    statuses = {} if statuses is None else statuses
    for seed in seeds:
        problem = awkward_problem(seed)
        Q, c, r, radius, factor, max_iter = problem
        minimum = float(rational_minimum(Q, c, r, radius))
        psi = factor * max(minimum, 1e-12 * r)
        for name, solver in EVERY.items():
            solution = solver(Q, c, r, radius, Stop(psi, 0.01 * psi, 0.0, max_iter))
            violations[name] += is_violated(problem, solution, minimum, psi)
            statuses.setdefault(name, Counter())[solution.status.name] += 1
    return violations
