"""The small problem of a Newton step, against all faces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import quadratic_l1_descent, quadratic_l1_minimum, quadratic_l1_objective, quadratic_l1_violation

from vanishing.svm.newton import _factor, minimise, violation

QUADRATICS = ("well-conditioned", "bad scaling", "duplicate", "opposite", "low rank", "nearly equal", "zero optimum")


def make_quadratic(kind, n, seed):
    """H, r, penalty and a start; half of the problems have a free coordinate, and some of the starts are far away."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((int(rng.integers(n, 3 * n + 2)), n))
    if kind == "bad scaling":
        A *= 10.0 ** rng.uniform(-3, 3, n)
    elif kind == "duplicate":
        A[:, rng.integers(0, n, n // 2)] = A[:, [0]]
    elif kind == "opposite":
        A[:, n // 2 :] = -2.0 * A[:, [0]]
    elif kind == "low rank":
        rank = max(1, n // 3)
        A = A[:, :rank] @ rng.standard_normal((rank, n))
    elif kind == "nearly equal":
        A[:, n // 2 :] = A[:, [0]] + 1e-6 * A[:, n // 2 :]
    H = A.T @ A
    H[np.diag_indices(n)] *= 1.1 if kind == "well-conditioned" else 1.0 + 1e-10
    r = 3.0 * A.T @ rng.standard_normal(A.shape[0])
    penalty = np.full(n, 10.0 ** rng.uniform(-1.0, 1.5))
    if kind == "zero optimum":
        penalty[:] = 1.5 * np.abs(r).max()
    elif rng.random() < 0.5:
        penalty[-1] = 0.0
    start = rng.standard_normal(n) * (rng.random(n) < 0.5) * 10.0 ** rng.choice([-np.inf, 0.0, 5.0])
    return H, r, penalty, start


def solved(H, r, penalty, start, tol=1e-9):
    x = start.copy()
    minimise(H, r, penalty, x, tol)
    return x


small_quadratics = st.builds(make_quadratic, st.sampled_from(QUADRATICS), st.integers(1, 5), st.integers(0, 2**32 - 1))
large_quadratics = st.builds(make_quadratic, st.sampled_from(QUADRATICS), st.integers(2, 60), st.integers(0, 2**32 - 1))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(problem=small_quadratics)
def test_small_problem_reaches_the_best_of_all_faces(problem):
    H, r, penalty, _ = problem
    x, best = solved(*problem), quadratic_l1_minimum(H, r, penalty)
    excess = quadratic_l1_objective(H, r, penalty, x) - quadratic_l1_objective(H, r, penalty, best)
    size = np.abs(x) @ np.abs(H) @ np.abs(x) + np.abs(r) @ np.abs(x)
    assert excess <= 1e-9 * np.abs(x - best).sum() + 1e-12 * size  # by convexity


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(n=st.integers(10, 40), seed=st.integers(0, 2**32 - 1))
def test_small_problem_agrees_with_coordinate_descent(n, seed):
    H, r, penalty, start = make_quadratic("well-conditioned", n, seed)
    expected = quadratic_l1_descent(H, r, penalty)
    np.testing.assert_allclose(solved(H, r, penalty, start), expected, atol=1e-6 * np.abs(expected).max() + 1e-9)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problem=large_quadratics)
def test_small_problem_leaves_a_violation_within_the_tolerance(problem):
    H, r, penalty, _ = problem
    x = solved(*problem)
    rounding = (np.abs(H) @ np.abs(x) + np.abs(r) + penalty).max()
    assert quadratic_l1_violation(H, r, penalty, x) <= 1e-9 + 1e-11 * rounding


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problem=large_quadratics, tol=st.sampled_from([1e-9, 1e-2, 10.0, np.inf]))
def test_small_problem_never_ends_above_its_start(problem, tol):
    H, r, penalty, start = problem
    x = solved(H, r, penalty, start, tol)
    before, after = (quadratic_l1_objective(H, r, penalty, point) for point in (start, x))
    size = np.abs(start) @ np.abs(H) @ np.abs(start) + np.abs(r) @ np.abs(start)
    assert after <= before + 1e-13 * size


def test_a_start_far_away_leaves_no_rounding_of_its_size():
    H, r, penalty, start = make_quadratic("bad scaling", 2, 90904)
    x = solved(H, r, penalty, start)
    rounding = (np.abs(H) @ np.abs(x) + np.abs(r) + penalty).max()
    assert quadratic_l1_violation(H, r, penalty, x) <= 1e-9 + 1e-14 * rounding


def test_small_problem_of_one_variable_is_a_soft_threshold():
    for r, penalty, expected in [
        (-5.0, 1.0, 2.0),
        (5.0, 1.0, -2.0),
        (0.9, 1.0, 0.0),
        (-1.0, 1.0, 0.0),
        (4.0, 0.0, -2.0),
    ]:
        for start in (0.0, 7.0, -1e8):
            x = solved(np.array([[2.0]]), np.array([r]), np.array([penalty]), np.array([start]))
            assert x[0] == pytest.approx(expected, abs=1e-12)


def test_small_problem_with_a_heavy_penalty_ends_at_exactly_zero_from_afar():
    H, r, penalty, _ = make_quadratic("zero optimum", 30, 0)
    np.testing.assert_array_equal(solved(H, r, penalty, np.full(30, -1e6)), 0.0)


def test_small_problem_with_only_free_coordinates_is_a_linear_system():
    H, r, _, start = make_quadratic("well-conditioned", 12, 1)
    np.testing.assert_allclose(solved(H, r, np.zeros(12), start), np.linalg.solve(H, -r), rtol=1e-9)


def test_small_problem_stays_at_an_optimum_and_leaves_its_matrix_alone():
    H, r, penalty, start = make_quadratic("well-conditioned", 20, 2)
    once = solved(H, r, penalty, start)
    kept = H.copy(), r.copy(), penalty.copy()
    np.testing.assert_allclose(solved(H, r, penalty, once), once, rtol=1e-9, atol=1e-13)
    for now, before in zip((H, r, penalty), kept, strict=True):
        np.testing.assert_array_equal(now, before)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problem=large_quadratics)
def test_violation_is_the_distance_of_zero_from_the_subgradients(problem):
    H, r, penalty, start = problem
    for x in (start, np.zeros_like(start), solved(*problem)):
        found = violation(H @ x + r, penalty, x)
        rounding = 1e-13 * (np.abs(H) @ np.abs(x) + np.abs(r) + penalty).max()
        assert found == pytest.approx(quadratic_l1_violation(H, r, penalty, x), rel=1e-10, abs=rounding)


@pytest.mark.parametrize("seed", range(20))
def test_columns_that_repeat_or_combine_others_are_no_obstacle(seed):
    """H is singular: the minimiser of a face is not unique, and the violation has to vanish all the same."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    A = rng.standard_normal((int(rng.integers(1, n + 1)), n))
    A[:, rng.integers(0, n, n // 2)] = A[:, rng.integers(0, n, n // 2)] * rng.choice([1.0, -1.0, 2.0], n // 2)
    H, r, penalty = A.T @ A, 3.0 * A.T @ rng.standard_normal(len(A)), np.append(np.ones(n - 1), 0.0)
    x = np.zeros(n)
    minimise(H, r, penalty, x, 1e-8)
    assert violation(H @ x + r, penalty, x) <= 1e-6


@pytest.mark.parametrize("spoiled", [-1e-17, -1.0, 0.0, np.nan])
def test_a_matrix_that_rounding_made_indefinite_is_factored_or_left(spoiled):
    H = np.diag([2.0, 1.0, spoiled])
    found = _factor(H)
    assert found.shape == H.shape
    if spoiled == -1e-17:
        lower = np.tril(found)
        np.testing.assert_allclose(lower @ lower.T, H, atol=1e-14)
