"""The solvers: what they return is recomputed from x alone, and compared with the exact optimum."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import constrained_minimum, frank_wolfe_gap_of, loss_of, rounding_of

from vanishing.solvers import SOLVERS, Status, Stop, agd, bpcg, cg, homotopy, loss_and_gap, omp, pcg
from vanishing.solvers.conditional_gradients import _pairwise, _vertex_weights

FIRST_ORDER = {"cg": cg, "pcg": pcg, "bpcg": bpcg}
CONSTRAINED = {"omp": omp, "homotopy": homotopy, **FIRST_ORDER}
KINDS = ("random", "rank-deficient", "duplicate columns", "zero column", "one column", "vertex", "bad scaling", "exact")
EPS = np.finfo(float).eps
TO_THE_END = Stop(psi=0.0, gap=0.0, progress=0.0, max_iter=20_000)

EVERY = {"homotopy": homotopy, **SOLVERS}

by_name = pytest.mark.parametrize("solver", EVERY.values(), ids=EVERY.keys())
by_first_order_name = pytest.mark.parametrize("solver", FIRST_ORDER.values(), ids=FIRST_ORDER.keys())
by_constrained_name = pytest.mark.parametrize("solver", CONSTRAINED.values(), ids=CONSTRAINED.keys())
by_pairwise_name = pytest.mark.parametrize("solver", [pcg, bpcg])


def quadratic(A, b):
    """Q, c, r with f(x) the mean square of A x + b."""
    m = b.size
    return A.T @ A / m, A.T @ b / m, float(b @ b / m)


def make_problem(kind, seed):
    """Q, c, r and a radius: one problem of a family."""
    rng = np.random.default_rng(seed)
    n = {"one column": 1, "bad scaling": int(rng.integers(1, 5))}.get(kind, int(rng.integers(2, 8)))
    m = n + int(rng.integers(3, 30))
    A = rng.random((m, n)) if seed % 2 else rng.standard_normal((m, n))
    b = rng.standard_normal(m)
    radius = float(10.0 ** rng.uniform(-1, 1.5))
    if kind == "rank-deficient":
        rank = max(1, n // 2)
        A = A[:, :rank] @ rng.standard_normal((rank, n))
    elif kind == "duplicate columns":
        A[:, -1] = A[:, 0]
    elif kind == "zero column":
        A[:, 0] = 0.0
    elif kind == "bad scaling":
        A = A * 10.0 ** rng.integers(-2, 3, n)
    elif kind == "vertex":
        radius = 0.05
        b = b - 10.0 * A[:, 0]
    elif kind == "exact":
        x = rng.standard_normal(n) * (rng.random(n) < 0.5)
        b = -A @ x
        radius = float(np.abs(x).sum() * rng.choice([1.0, 1.5])) + 0.1
    return *quadratic(A, b), radius


problems = st.builds(make_problem, st.sampled_from(KINDS), st.integers(0, 2**32 - 1))
psi_factors = st.sampled_from([0.0, 0.5, 0.99, 1.01, 2.0])


def unconstrained_optimum(Q, c, r):
    x = np.linalg.lstsq(Q, -c, rcond=None)[0]
    return x, loss_of(Q, c, r, x)


def optimum_for(solver, Q, c, r, radius):
    """The loss of the exact solution of what this solver minimises."""
    return unconstrained_optimum(Q, c, r)[1] if solver is agd else constrained_minimum(Q, c, r, radius).loss


def strong_convexity(Q):
    """Smallest eigenvalue of the Hessian, and the largest error it may have."""
    values = np.linalg.eigvalsh(Q)
    return 2.0 * values[0], 2.0 * Q.shape[0] * EPS * values[-1]


def rounding_at(solver, Q, r, x, radius):
    """Rounding of the loss at x, and of the gap there, both computed anew from the answer."""
    largest = np.abs(Q).max() * np.abs(x).sum() + np.sqrt(np.abs(Q).max() * r)
    loss = rounding_of(Q, r, x) + 8 * EPS * largest * np.abs(x).sum()
    return loss, loss if solver is agd else 32 * EPS * largest * radius


# --- the reference itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_reference_minimum_has_a_negligible_gap(kind):
    for seed in range(10):
        Q, c, r, radius = make_problem(kind, seed)
        best = constrained_minimum(Q, c, r, radius)
        assert np.abs(best.x).sum() <= radius * (1.0 + 1e-12)
        assert best.gap <= 1e-7 * r


# --- returned numbers -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@by_name
@settings(max_examples=60, deadline=None)
@given(problem=problems, factor=psi_factors, max_iter=st.sampled_from([0, 1, 7, 600, 3000]))
def test_loss_is_that_of_x(solver, problem, factor, max_iter):
    Q, c, r, radius = problem
    stop = Stop(factor * optimum_for(solver, *problem), 1e-9 * r, 0.0, max_iter)
    solution = solver(Q, c, r, radius, stop)
    noise, _ = rounding_at(solver, Q, r, solution.x, radius)
    assert abs(solution.loss - loss_of(Q, c, r, solution.x)) <= noise


@pytest.mark.slow
@by_constrained_name
@settings(max_examples=60, deadline=None)
@given(problem=problems, factor=psi_factors, max_iter=st.sampled_from([0, 1, 7, 600, 3000]))
def test_gap_is_the_smaller_of_frank_wolfe_gap_and_strong_convexity_bound(solver, problem, factor, max_iter):
    Q, c, r, radius = problem
    stop = Stop(factor * optimum_for(solver, *problem), 1e-9 * r, 0.0, max_iter)
    solution = solver(Q, c, r, radius, stop)
    _, slack = rounding_at(solver, Q, r, solution.x, radius)
    frank_wolfe = frank_wolfe_gap_of(Q, c, solution.x, radius)
    smallest, error = strong_convexity(Q)
    if solution.n_iter < 512 or smallest < 100.0 * error:  # not asked for yet, or not known well enough to be compared
        assert solution.gap <= frank_wolfe + slack
        if solution.n_iter < 512:
            assert solution.gap >= frank_wolfe - slack
    else:
        gradient = 2.0 * (Q @ solution.x + c)
        expected = min(frank_wolfe, gradient @ gradient / (2.0 * (smallest - error)))
        assert solution.gap == pytest.approx(expected, rel=0.05, abs=slack)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problem=problems, factor=psi_factors, max_iter=st.sampled_from([0, 1, 7, 600]))
def test_gap_of_agd_is_the_strong_convexity_bound(problem, factor, max_iter):
    Q, c, r, radius = problem
    stop = Stop(factor * unconstrained_optimum(Q, c, r)[1], 1e-9 * r, 0.0, max_iter)
    solution = agd(Q, c, r, radius, stop)
    smallest, error = strong_convexity(Q)
    gradient = 2.0 * (Q @ solution.x + c)
    if smallest > 100.0 * error:
        bound = gradient @ gradient / (2.0 * (smallest - error))
        slack = (1e-14 * (np.abs(Q) @ np.abs(solution.x) + np.abs(c)).max()) ** 2 / smallest
        assert solution.gap == pytest.approx(bound, rel=0.05, abs=slack)
    elif np.linalg.norm(gradient) > 1e-6 * np.linalg.norm(c):
        assert solution.gap >= solution.loss - stop.psi  # nothing can be proved far from the optimum of a flat function


@pytest.mark.slow
@by_name
@settings(max_examples=100, deadline=None)
@given(problem=problems, factor=psi_factors, max_iter=st.sampled_from([0, 1, 7, 600, 3000]))
def test_gap_bounds_the_distance_to_the_exact_optimum(solver, problem, factor, max_iter):
    Q, c, r, radius = problem
    optimum = optimum_for(solver, *problem)
    solution = solver(Q, c, r, radius, Stop(factor * optimum, 1e-9 * r, 0.0, max_iter))
    noise = sum(rounding_at(solver, Q, r, solution.x, radius))
    assert solution.gap >= -noise
    assert solution.loss - solution.gap <= optimum + noise


@pytest.mark.slow
@by_constrained_name
@settings(max_examples=60, deadline=None)
@given(problem=problems, factor=psi_factors, max_iter=st.sampled_from([0, 1, 7, 600, 3000]))
def test_x_stays_in_the_ball(solver, problem, factor, max_iter):
    Q, c, r, radius = problem
    stop = Stop(factor * optimum_for(solver, *problem), 0.0, 0.0, max_iter)
    assert np.abs(solver(Q, c, r, radius, stop).x).sum() <= radius * (1.0 + 1e-12)


def test_frank_wolfe_gap_is_the_maximum_over_the_vertices():
    for seed in range(20):
        Q, c, _, radius = make_problem("random", seed)
        x = np.random.default_rng(seed).standard_normal(c.size)
        loss, gap = loss_and_gap(Q, c, 1.0, x, radius)
        assert gap == pytest.approx(frank_wolfe_gap_of(Q, c, x, radius), rel=1e-12)
        assert loss == pytest.approx(loss_of(Q, c, 1.0, x), rel=1e-12)


def test_frank_wolfe_gap_of_an_infinite_ball_is_infinite():
    assert loss_and_gap(np.eye(2), np.ones(2), 1.0, np.zeros(2), np.inf)[1] == np.inf
    assert loss_and_gap(np.eye(2), np.ones(2), 1.0, -np.ones(2), np.inf)[1] == np.inf  # where the gradient is zero, too


# --- decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@by_name
@settings(max_examples=150, deadline=None)
@given(problem=problems, factor=psi_factors, shift=st.sampled_from([0.0, 1e-3]))
def test_decisions_agree_with_the_exact_optimum(solver, problem, factor, shift):
    Q, c, r, radius = problem
    optimum = optimum_for(solver, *problem)
    psi = factor * optimum + shift * r
    stop = Stop(psi, 1e-9 * r, 0.0, 3000)
    solution = solver(Q, c, r, radius, stop)
    noise = sum(rounding_at(solver, Q, r, solution.x, radius))
    if solution.status == Status.VANISHING:
        assert solution.loss <= psi
        assert loss_of(Q, c, r, solution.x) <= psi + noise
    else:
        assert solution.loss > psi
    if solution.status == Status.IMPOSSIBLE:
        assert solution.loss - solution.gap > psi
        assert optimum > psi - noise
    if solution.status == Status.OPTIMAL:
        assert solution.gap <= stop.gap
        assert solution.loss - optimum <= stop.gap + noise
    if solution.status == Status.MAX_ITER:
        assert solution.n_iter == stop.max_iter
    assert solution.n_iter <= stop.max_iter


@pytest.mark.parametrize("factor", [0.9, 0.999, 1.001, 1.1])
@pytest.mark.parametrize("radius", [0.2, 3.0, 100.0])
@by_pairwise_name
def test_pairwise_solvers_decide_close_to_the_optimum(solver, radius, factor):
    for seed in range(10):
        Q, c, r, _ = make_problem("random", seed)
        optimum = constrained_minimum(Q, c, r, radius).loss
        solution = solver(Q, c, r, radius, Stop(factor * optimum, 0.0, 0.0, 100_000))
        assert solution.status == (Status.VANISHING if factor > 1.0 else Status.IMPOSSIBLE)


@pytest.mark.parametrize(("factor", "status"), [(0.5, Status.IMPOSSIBLE), (1.5, Status.VANISHING)])
@by_name
def test_every_solver_decides_a_clear_case(solver, factor, status):
    for seed in range(10):
        Q, c, r, radius = make_problem("random", seed)
        optimum = optimum_for(solver, Q, c, r, radius)
        assert solver(Q, c, r, radius, Stop(factor * optimum, 0.0, 0.0, 100_000)).status == status


@by_pairwise_name
def test_pairwise_solvers_reach_the_optimum(solver):
    for kind in ("random", "vertex", "one column", "zero column", "duplicate columns"):
        for seed in range(5):
            Q, c, r, radius = make_problem(kind, seed)
            optimum = constrained_minimum(Q, c, r, radius).loss
            solution = solver(Q, c, r, radius, Stop(0.999999 * optimum, 1e-10 * r, 0.0, 100_000))
            assert solution.loss == pytest.approx(optimum, rel=1e-5)


@by_constrained_name
def test_optimum_at_a_vertex_is_found_at_once(solver):
    Q, c, r, radius = make_problem("vertex", 3)
    solution = solver(Q, c, r, radius, Stop(0.0, 0.0, 0.0, 100))
    assert solution.status == Status.IMPOSSIBLE
    best = constrained_minimum(Q, c, r, radius)
    assert np.count_nonzero(best.x) == 1
    np.testing.assert_allclose(solution.x, best.x, atol=1e-12)


@by_name
def test_zero_quadratic_is_decided_by_its_constant(solver):
    Q, c = np.zeros((2, 2)), np.zeros(2)
    assert solver(Q, c, 0.5, 1.0, Stop(0.6, 0.0, 0.0, 10)).status == Status.VANISHING
    rejected = solver(Q, c, 0.5, 1.0, Stop(0.4, 0.0, 0.0, 10))
    assert rejected.status == Status.IMPOSSIBLE
    assert (rejected.loss, rejected.gap) == (0.5, 0.0)


@by_name
def test_loss_equal_to_psi_is_vanishing(solver):
    assert solver(np.zeros((1, 1)), np.zeros(1), 0.25, 1.0, Stop(0.25, 0.0, 0.0, 10)).status == Status.VANISHING


def test_no_term_at_all_is_no_error_of_lapack(capfd):
    solution = omp(np.eye(2), np.zeros(2), 0.25, 1.0, Stop(0.5, 0.0, 0.0, 10))
    assert not solution.x.any()
    assert capfd.readouterr() == ("", "")


def test_agd_ignores_the_radius():
    Q, c, r, _ = make_problem("random", 1)
    x, optimum = unconstrained_optimum(Q, c, r)
    stop = Stop(0.9 * optimum, 1e-9, 0.0, 5000)
    np.testing.assert_array_equal(agd(Q, c, r, 1e-3, stop).x, agd(Q, c, r, np.inf, stop).x)
    stop = Stop((1.0 + 1e-9) * optimum, 0.0, 0.0, 5000)
    assert np.abs(x).sum() > 1e-3
    assert agd(Q, c, r, 1e-3, stop).loss == pytest.approx(optimum, rel=1e-6)


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@by_first_order_name
@settings(max_examples=30, deadline=None)
@given(problem=problems)
def test_loss_never_rises(solver, problem):
    Q, c, r, radius = problem
    psi = 0.999 * constrained_minimum(Q, c, r, radius).loss
    losses, xs = [], []
    for max_iter in [*range(12), 20, 50, 100, 511, 512, 513]:
        solution = solver(Q, c, r, radius, Stop(psi, 0.0, 0.0, max_iter))
        losses.append(solution.loss)
        xs.append(solution.x)
    for before, after, x in zip(losses, losses[1:], xs, strict=False):
        assert after <= before + rounding_of(Q, r, x) + EPS * losses[0]


def test_homotopy_stops_at_the_iteration_limit_and_knows_that_it_proved_nothing():
    Q, c, r, _ = make_problem("random", 3)
    psi = 1.0001 * unconstrained_optimum(Q, c, r)[1]
    whole = homotopy(Q, c, r, 100.0, Stop(psi, 0.0, 0.0, 1000))
    assert whole.status is Status.VANISHING
    cut = homotopy(Q, c, r, 100.0, Stop(psi, 0.0, 0.0, whole.n_iter - 1))
    assert (cut.status, cut.n_iter) == (Status.MAX_ITER, whole.n_iter - 1)


@pytest.mark.parametrize("solver", [cg, pcg, bpcg, agd])
def test_iteration_limit_is_kept_and_reported(solver):
    Q, c, r, radius = make_problem("random", 3)
    for max_iter in (0, 1, 3):
        optimum = optimum_for(solver, Q, c, r, radius)
        solution = solver(Q, c, r, radius, Stop(optimum, 0.0, 0.0, max_iter))
        assert (solution.status, solution.n_iter) == (Status.MAX_ITER, max_iter)
        assert not solution.status.certified


@by_first_order_name
def test_small_progress_stops_a_conditional_gradient(solver):
    Q, c, r, radius = make_problem("random", 3)
    psi = optimum_for(solver, Q, c, r, radius)
    first, second = (solver(Q, c, r, radius, Stop(psi, 0.0, 0.0, k)).loss for k in (0, 1))
    more, less = (
        solver(Q, c, r, radius, Stop(psi, 0.0, progress, 1000))
        for progress in (1.01 * (first - second), 0.99 * (first - second))
    )
    assert (more.status, more.n_iter) == (Status.STALLED, 1)
    assert not more.status.certified
    assert less.n_iter > 1


def test_small_progress_stops_agd_after_twenty_misses():
    Q = np.diag([1.0, 1e-3, 1e-6])
    c = -np.diag(Q)  # the optimum is x = 1
    solution = agd(Q, c, 1.0 - c.sum(), 10.0, Stop(1.0, 0.0, 10.0, 1000))
    assert (solution.status, solution.n_iter) == (Status.STALLED, 20)


def test_decisions_are_certified_and_surrenders_are_not():
    assert [status.certified for status in Status] == [True, True, True, False, False]


# --- start ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [cg, agd])
def test_start_at_the_optimum_ends_at_once(solver):
    Q, c, r, _ = make_problem("random", 5)
    x, optimum = unconstrained_optimum(Q, c, r)
    given_x = x.copy()
    solution = solver(Q, c, r, 2.0 * np.abs(x).sum(), Stop(optimum * (1.0 + 1e-9), 0.0, 0.0, 100), given_x)
    assert (solution.status, solution.n_iter) == (Status.VANISHING, 0)
    np.testing.assert_array_equal(solution.x, x)


@pytest.mark.parametrize("solver", [cg, agd])
def test_start_is_used_and_not_changed(solver):
    Q, c, r, radius = make_problem("random", 5)
    x0 = np.zeros(c.size)
    x0[-1] = 0.3 * radius
    before = x0.copy()
    optimum = optimum_for(solver, Q, c, r, radius)
    start = solver(Q, c, r, radius, Stop(optimum, 0.0, 0.0, 0), x0)
    np.testing.assert_array_equal(start.x, x0)
    assert solver(Q, c, r, radius, Stop(optimum, 0.0, 0.0, 5), x0).loss < start.loss
    np.testing.assert_array_equal(x0, before)


@by_pairwise_name
@pytest.mark.parametrize("vertex", [None, (0, 1.0), (3, -1.0)])
def test_pairwise_solvers_start_at_the_vertex_given_or_at_the_steepest(solver, vertex):
    Q, c, r, radius = make_problem("random", 5)
    i, sign = vertex or (np.argmax(np.abs(c)), -np.sign(c[np.argmax(np.abs(c))]))
    expected = np.zeros(c.size)
    expected[i] = sign * radius
    optimum = optimum_for(solver, Q, c, r, radius)
    start = solver(Q, c, r, radius, Stop(optimum, 0.0, 0.0, 0), None if vertex is None else expected).x
    np.testing.assert_array_equal(start, expected)


@by_name
def test_inputs_are_not_changed(solver):
    Q, c, r, radius = make_problem("random", 6)
    kept = Q.copy(), c.copy()
    solver(Q, c, r, radius, Stop(0.0, 1e-6, 0.0, 100))
    np.testing.assert_array_equal(Q, kept[0])
    np.testing.assert_array_equal(c, kept[1])


# --- active set -------------------------------------------------------------------------------------------------------


def run_pairwise(Q, c, r, radius, stop, blended):
    """x, weights and status of a run; the weights are what the public functions keep to themselves."""
    x, weights = np.empty(c.size), _vertex_weights(c)
    _, _, _, status = _pairwise(Q, c, r, radius, *stop, x, weights, blended)
    return x, weights, Status(status)


@pytest.mark.slow
@pytest.mark.parametrize("blended", [False, True])
@settings(max_examples=80, deadline=None)
@given(problem=problems, factor=psi_factors, max_iter=st.sampled_from([0, 1, 7, 600, 5000]))
def test_x_is_the_convex_combination_of_the_active_vertices(blended, problem, factor, max_iter):
    Q, c, r, radius = problem
    psi = factor * constrained_minimum(Q, c, r, radius).loss
    x, weights, _ = run_pairwise(Q, c, r, radius, Stop(psi, 0.0, 0.0, max_iter), blended)
    assert np.all(weights >= 0.0)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(x, radius * (weights[::2] - weights[1::2]), rtol=0.0, atol=1e-13 * radius)


@pytest.mark.slow
@pytest.mark.parametrize("blended", [False, True])
@settings(max_examples=80, deadline=None)
@given(problem=problems, factor=st.sampled_from([0.0, 0.99, 1.0]), max_iter=st.sampled_from([7, 600, 20_000]))
def test_coordinates_without_active_vertex_are_exact_zeros(blended, problem, factor, max_iter):
    Q, c, r, radius = problem
    psi = factor * constrained_minimum(Q, c, r, radius).loss
    x, weights, _ = run_pairwise(Q, c, r, radius, Stop(psi, 0.0, 0.0, max_iter), blended)
    idle = (weights[::2] == 0.0) & (weights[1::2] == 0.0)
    np.testing.assert_array_equal(x[idle], 0.0)


@by_pairwise_name
def test_a_dropped_first_vertex_leaves_an_exact_zero(solver):
    # The first column is the best single one, but the last two together explain b without it.
    rng = np.random.default_rng(0)
    two = rng.standard_normal((200, 2))
    A = np.column_stack([two.sum(axis=1) + 0.3 * rng.standard_normal(200), two])
    Q, c, r = quadratic(A, -two.sum(axis=1) + 0.01 * rng.standard_normal(200))
    assert np.argmax(np.abs(c)) == 0
    best = constrained_minimum(Q, c, r, 1.9)
    solution = solver(Q, c, r, 1.9, Stop(1.0001 * best.loss, 0.0, 0.0, 10_000))
    assert solution.status == Status.VANISHING
    assert solution.n_iter > 1
    np.testing.assert_array_equal(solution.x == 0.0, best.x == 0.0)


def test_cg_leaves_untouched_coordinates_at_exact_zero():
    Q, c, r = np.eye(6), np.array([-1.0, -0.5, 0.0, 0.0, 0.0, 0.0]), 1.25
    solution = cg(Q, c, r, 2.0, Stop(1e-3, 0.0, 0.0, 10_000))
    assert solution.status == Status.VANISHING
    np.testing.assert_array_equal(solution.x[2:], 0.0)


# --- compiled and not -------------------------------------------------------------------------------------------------

_SCRIPT = """
import json, sys
import numpy as np
from vanishing.solvers import SOLVERS, Stop

answers = []
for problem in json.load(sys.stdin):
    Q, c = np.array(problem["Q"]), np.array(problem["c"])
    stop = Stop(*problem["stop"])
    for solver in SOLVERS.values():
        x, *rest = solver(Q, c, problem["r"], problem["radius"], stop, None)
        answers.append([x.tolist(), *map(float, rest)])
print(json.dumps(answers))
"""


@pytest.mark.slow
def test_without_compilation_the_numbers_are_the_same():
    cases, expected = [], []
    for kind in KINDS:
        Q, c, r, radius = make_problem(kind, 11)
        stop = Stop(0.99 * constrained_minimum(Q, c, r, radius).loss, 1e-8 * r, 0.0, 700)
        cases.append({"Q": Q.tolist(), "c": c.tolist(), "r": r, "radius": radius, "stop": list(stop)})
        for solver in SOLVERS.values():
            x, *rest = solver(Q, c, r, radius, stop, None)
            expected.append([x.tolist(), *map(float, rest)])
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        input=json.dumps(cases),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    answers = json.loads(run.stdout)
    assert len(answers) == len(expected)
    for answer, (x, loss, gap, n_iter, status) in zip(answers, expected, strict=True):
        np.testing.assert_allclose(answer[0], x, rtol=1e-9, atol=1e-12)
        assert answer[1] == pytest.approx(loss, rel=1e-9, abs=1e-12)
        assert answer[2] == pytest.approx(gap, rel=1e-6, abs=1e-12)
        assert answer[3:] == [n_iter, status]
