"""Certificates against exact minima in rational arithmetic; ``benchmarks/certificates.py`` checks many more."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from certificates import EVERY, count_violations
from reference import constrained_minimum, rational_minimum

from vanishing.solvers import Status, Stop, cg, homotopy


def test_rational_minimum_is_that_of_a_known_problem():
    # (2x - 1)^2 + 1 over |x| <= 1/4 has its minimum at the boundary, over |x| <= 1 inside.
    Q, c = np.array([[4.0]]), np.array([-2.0])
    assert rational_minimum(Q, c, 2.0, 0.25) == Fraction(5, 4)
    assert rational_minimum(Q, c, 2.0, 1.0) == 1


@pytest.mark.slow
def test_rational_minimum_agrees_with_the_floating_reference():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, b = rng.normal(size=(6, 3)), rng.normal(size=6)
        Q, c, r, radius = A.T @ A / 6, A.T @ b / 6, float(b @ b / 6), float(rng.uniform(0.1, 3.0))
        assert float(rational_minimum(Q, c, r, radius)) == pytest.approx(constrained_minimum(Q, c, r, radius).loss)


@pytest.mark.slow
def test_no_certificate_contradicts_the_exact_minimum():
    statuses = {}
    violations = count_violations(range(300), statuses)
    assert violations == Counter(dict.fromkeys(EVERY, 0))
    for counts in statuses.values():  # the problems are of both kinds
        assert counts["VANISHING"] > 30
        assert counts["IMPOSSIBLE"] > 30


@pytest.mark.slow
def test_exact_solvers_decide_every_problem():
    statuses = {}
    count_violations(range(300), statuses)
    for name in ("homotopy", "omp"):
        assert statuses[name]["STALLED"] + statuses[name]["MAX_ITER"] <= 3


@pytest.mark.slow
def test_cg_does_not_take_the_rounding_on_its_way_for_a_proof():
    rng = np.random.default_rng(15862)
    a, b = rng.normal(size=3) * 1e6, rng.normal(size=3) * 1e-3
    Q, c, r = np.array([[a @ a / 3]]), np.array([a @ b / 3]), float(b @ b / 3)
    psi = 7.106e-10
    assert float(rational_minimum(Q, c, r, 999.0)) == pytest.approx(4.74e-10, rel=1e-2)
    solution = cg(Q, c, r, 999.0, Stop(psi, 7.1e-12, 0.0, 20_000))
    assert solution.status is not Status.IMPOSSIBLE
    assert homotopy(Q, c, r, 999.0, Stop(psi, 7.1e-12, 0.0, 20_000)).status is Status.VANISHING
