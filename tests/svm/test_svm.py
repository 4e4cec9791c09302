"""The l1 SVM: the solution against its dual and others, for every C, weight, label and kind of rows."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import (
    hard_margin,
    svm_dual_objective,
    svm_dual_point,
    svm_gradient,
    svm_minimum,
    svm_objective,
    svm_shortfall,
)
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from vanishing import L1SVC, svm_path
from vanishing.rows.arrays import as_rows
from vanishing.svm import SquaredHinge, duality_gap, hyperplanes, svms_along

TABLES = (
    "normal",
    "unit cube",
    "integers",
    "separable",
    "constant column",
    "zero column",
    "duplicate columns",
    "more columns than rows",
    "weights",
    "one positive row",
)


def solution(model, k=0):
    """x = (w, b) of class k."""
    return np.append(model.coef_[k], model.intercept_[k])


def fit_signed(Z, signed, C, **parameters):
    return L1SVC(C, **parameters).fit(Z, signed > 0.0, np.abs(signed))


def make_table(kind, seed):
    """Rows and signed weights: a small problem of a family, with both labels."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, 40)), int(rng.integers(1, 6))
    if kind == "more columns than rows":
        n, p = 6, 9
    Z = rng.standard_normal((n, p))
    if kind == "unit cube":
        Z = rng.random((n, p))
    elif kind == "integers":
        Z = rng.integers(-2, 3, (n, p)).astype(float)
    elif kind == "constant column":
        Z[:, -1] = 3.0
    elif kind == "zero column":
        Z[:, 0] = 0.0
    elif kind == "duplicate columns":
        Z = np.column_stack([Z, Z[:, 0], -Z[:, -1]])
    noise = 0.0 if kind == "separable" else 1.0
    signed = np.where(Z @ rng.standard_normal(Z.shape[1]) + noise * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    if kind == "one positive row":
        signed[:] = -1.0
    signed[:2] = -1.0, 1.0
    if kind == "weights":
        signed[2:] *= rng.choice([0.0, 0.1, 1.0, 5.0], n - 2)
    return Z, signed


tables = st.builds(make_table, st.sampled_from(TABLES), st.integers(0, 2**32 - 1))
moderate = st.floats(-2.0, 2.0).map(lambda exponent: 10.0**exponent)


# --- the solution and its certificate ---------------------------------------------------------------------------------


def assert_dual_feasible(Z, signed, a):
    assert (a >= 0.0).all()
    assert abs(a @ np.sign(signed)) <= 1e-10 * a.sum()
    assert (np.abs(Z.T @ (a * np.sign(signed))) <= 1.0 + 1e-13 * (np.abs(Z).T @ a)).all()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(table=tables, C=moderate, seed=st.integers(0, 99), size=st.sampled_from([0.0, 0.1, 1.0, 10.0]))
def test_duality_gap_is_the_distance_to_an_explicit_dual_point_wherever_it_is_taken(table, C, seed, size):
    Z, signed = table
    x = size * np.random.default_rng(seed).standard_normal(Z.shape[1] + 1)
    a = svm_dual_point(Z, signed, C, x)
    assert_dual_feasible(Z, signed, a)
    value = svm_objective(Z, signed, C, x)
    gap = duality_gap(x, C, SquaredHinge(as_rows(Z, signed)).sums(x))
    assert gap == pytest.approx(value - svm_dual_objective(signed, C, a), rel=1e-8, abs=1e-9 * value)
    assert value - gap <= svm_objective(Z, signed, C, svm_minimum(Z, signed, C)) * (1.0 + 1e-9)


def test_duality_gap_is_the_objective_where_no_row_of_some_label_is_short():
    Z = np.array([[-1.0], [1.0], [2.0]])
    signed = np.array([-1.0, 1.0, 1.0])
    data = SquaredHinge(as_rows(Z, signed))
    for x in (np.array([2.0, 0.0]), np.array([0.0, 3.0]), np.array([0.0, -3.0])):  # neither, negative, positive rows
        assert duality_gap(x, 2.0, data.sums(x)) == pytest.approx(svm_objective(Z, signed, 2.0, x))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(table=tables, C=moderate)
def test_objective_and_gap_are_those_of_the_coefficients(table, C):
    Z, signed = table
    model = fit_signed(Z, signed, C)
    x = solution(model)
    value = svm_objective(Z, signed, C, x)
    assert model.objective_[0] == pytest.approx(value, rel=1e-10)
    a = svm_dual_point(Z, signed, C, x)
    assert_dual_feasible(Z, signed, a)
    assert 0.0 <= model.gap_[0] <= 1e-6 * value
    assert model.gap_[0] == pytest.approx(value - svm_dual_objective(signed, C, a), rel=1e-6, abs=1e-10 * value)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(table=tables, C=moderate)
def test_optimum_agrees_with_quasi_newton_on_split_variables(table, C):
    Z, signed = table
    model = fit_signed(Z, signed, C)
    other = svm_objective(Z, signed, C, svm_minimum(Z, signed, C))
    assert model.objective_[0] <= other + model.gap_[0] + 1e-12 * other
    assert other <= model.objective_[0] * (1.0 + 1e-5)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(table=tables, C=moderate)
def test_solution_satisfies_the_optimality_conditions(table, C):
    Z, signed = table
    x = solution(fit_signed(Z, signed, C, tol=1e-9))
    gradient = svm_gradient(Z, signed, C, x)
    size = 2.0 * C * np.abs(signed) @ np.column_stack([np.abs(Z), np.ones(len(Z))])
    slack = 1e-3 * np.minimum(1.0, size)
    used = x[:-1] != 0.0
    assert (np.abs(gradient[:-1]) <= 1.0 + slack[:-1]).all()
    assert (np.abs(gradient[:-1] + np.sign(x[:-1]))[used] <= slack[:-1][used]).all()
    assert abs(gradient[-1]) <= slack[-1]


@pytest.mark.parametrize("C", [0.03, 1.0, 30.0])
def test_optimum_is_never_above_that_of_liblinear_and_near_it(noisy, C):
    X, y = noisy
    model = L1SVC(C).fit(X, y)
    theirs = LinearSVC(
        penalty="l1", loss="squared_hinge", dual=False, C=C, intercept_scaling=100.0, tol=1e-7, max_iter=100_000
    ).fit(X, y)
    value = svm_objective(X, y, C, np.append(theirs.coef_[0], theirs.intercept_[0]))
    assert model.objective_[0] <= value * (1.0 + 1e-9)
    assert value <= model.objective_[0] * 1.001
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=0.01 * np.abs(theirs.coef_).max())


def test_tolerance_bounds_the_relative_gap(noisy):
    X, y = noisy
    for tol in (1e-2, 1e-5, 1e-8):
        model = L1SVC(3.0, tol=tol).fit(X, y)
        assert model.gap_[0] <= tol * model.objective_[0]


def test_one_column_by_a_fine_grid():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    y = np.array([-1.0, -1.0, 1.0, -1.0, 1.0])
    model = L1SVC(0.5).fit(X, y)
    w, b = np.meshgrid(np.linspace(0.0, 2.0, 401), np.linspace(-3.0, 1.0, 401))
    xi = np.maximum(0.0, 1.0 - y[:, None, None] * (w * X[:, :, None] + b))
    on_the_grid = (np.abs(w) + 0.5 * (xi**2).sum(axis=0)).min()
    assert on_the_grid - 1e-3 <= model.objective_[0] <= on_the_grid + 1e-6


# --- small and large C ------------------------------------------------------------------------------------------------


def threshold_of(Z, signed):
    """The best constant, and the C up to which it is the optimum: its gradient grows with C until some entry is 1."""
    constant = signed.sum() / np.abs(signed).sum()
    largest = np.abs(svm_gradient(Z, signed, 1.0, np.append(np.zeros(Z.shape[1]), constant))[:-1]).max()
    return constant, 1.0 / max(largest, 1e-300)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(table=tables)
def test_small_c_gives_zero_weights_and_the_best_constant_up_to_the_threshold(table):
    Z, signed = table
    constant, threshold = threshold_of(Z, signed)
    assume(threshold < 1e6)  # no column is of any use
    for factor in (1e-6, 0.99):
        model = fit_signed(Z, signed, factor * threshold)
        np.testing.assert_array_equal(model.coef_, 0.0)
        assert model.intercept_[0] == pytest.approx(constant, rel=1e-6, abs=1e-6)
    assert fit_signed(Z, signed, 1.05 * threshold).coef_.any()


def test_large_c_reaches_the_least_loss(noisy):
    X, y = noisy
    model = L1SVC(1e6).fit(X, y)
    least = minimize(
        lambda x: svm_shortfall(X, y, x) @ svm_shortfall(X, y, x),
        np.zeros(7),
        jac=lambda x: svm_gradient(X, y, 1.0, x),
        method="BFGS",
        options={"gtol": 1e-6},
    )
    loss = (svm_shortfall(X, y, solution(model)) ** 2).sum()
    assert loss == pytest.approx(least.fun, rel=1e-6)
    np.testing.assert_allclose(solution(model), least.x, atol=1e-3)


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_separable_rows_approach_the_hard_margin_from_below(C):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 4))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.1, 1.0, -1.0)
    model = L1SVC(C).fit(X, y)
    least, multipliers = hard_margin(X, y)
    assert least - multipliers @ multipliers / (4.0 * C) <= model.objective_[0] * (1.0 + 1e-9)  # a dual point
    assert model.objective_[0] <= least * (1.0 + 1e-6)
    assert C == 1.0 or (model.predict(X) == (y > 0.0) * 2.0 - 1.0).all()


# --- paths ------------------------------------------------------------------------------------------------------------


def test_path_from_model_to_model_equals_separate_fits(noisy):
    X, y = noisy
    Cs = [0.003, 0.01, 0.1, 1.0, 100.0]
    for C, model in zip(Cs, svm_path(X, y, Cs, tol=1e-10), strict=True):
        alone = L1SVC(C, tol=1e-10).fit(X, y)
        assert model.C == C
        assert model.objective_[0] == pytest.approx(alone.objective_[0], rel=1e-9)
        np.testing.assert_allclose(solution(model), solution(alone), atol=1e-5)


def test_path_does_not_depend_on_the_order_of_its_cs(noisy):
    X, y = noisy
    Cs = np.array([0.01, 0.1, 1.0, 10.0])
    straight = svm_path(X, y, Cs)
    for order in ([3, 2, 1, 0], [2, 0, 3, 1]):
        for place, model in zip(order, svm_path(X, y, Cs[order]), strict=True):
            assert Cs[place] == model.C
            np.testing.assert_array_equal(solution(model), solution(straight[place]))


def test_path_with_one_c_is_a_fit_and_equal_cs_give_equal_models(noisy):
    X, y = noisy
    (single,) = svm_path(X, y, 0.5)
    np.testing.assert_array_equal(solution(single), solution(L1SVC(0.5).fit(X, y)))
    first, _, last = svm_path(X, y, [0.5, 0.1, 0.5])
    np.testing.assert_array_equal(solution(first), solution(last))


def test_optimum_rises_with_c_and_the_norm_does_too(noisy):
    X, y = noisy
    models = svm_path(X, y, np.logspace(-3, 3, 9))
    objectives = [model.objective_[0] for model in models]
    norms = [np.abs(model.coef_).sum() for model in models]
    assert (np.diff(objectives) > 0.0).all()
    assert (np.diff(norms) >= -1e-3).all()
    assert norms[-1] > norms[0]


def test_path_models_know_columns_and_parameters(noisy):
    X, y = noisy
    table = pd.DataFrame(X, columns=list("abcdef"))
    for model in svm_path(table, y, [10.0, 0.1], tol=1e-4, n_jobs=1):
        assert (model.tol, model.n_jobs, model.n_features_in_) == (1e-4, 1, 6)
        assert list(model.feature_names_in_) == list("abcdef")
        assert model.predict(table).shape == (200,)


def test_hyperplanes_are_warm_from_one_c_to_the_next_and_near_the_optimum_each(noisy):
    X, y = noisy
    data = SquaredHinge(as_rows(X, y))
    planes = list(hyperplanes(data, [0.1, 1.0, 1.0], tol=1e-8, max_iter=100))
    for C, plane in zip([0.1, 1.0, 1.0], planes, strict=True):
        assert plane.objective == pytest.approx(svm_objective(X, y, C, svm_minimum(X, y, C)), rel=1e-5)
        assert plane.gap <= 1e-8 * plane.objective
    assert planes[2].n_iter == 0
    np.testing.assert_array_equal(planes[2].x, planes[1].x)


# --- weights ----------------------------------------------------------------------------------------------------------


def test_weights_count_like_repeated_rows(noisy):
    X, y = noisy
    counts = np.random.default_rng(0).integers(0, 4, y.size)
    weighted = L1SVC(0.7, tol=1e-10).fit(X, y, counts)
    repeated = L1SVC(0.7, tol=1e-10).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.objective_[0] == pytest.approx(repeated.objective_[0], rel=1e-9)
    np.testing.assert_allclose(solution(weighted), solution(repeated), atol=1e-5)


def test_rows_of_no_weight_might_as_well_be_away(noisy):
    X, y = noisy
    X = X.copy()
    weights = (np.arange(y.size) % 3 > 0).astype(float)
    X[weights == 0.0] *= 1e3
    kept = weights > 0.0
    found = L1SVC(2.0, tol=1e-10).fit(X, y, weights)
    alone = L1SVC(2.0, tol=1e-10).fit(X[kept], y[kept])
    assert found.objective_[0] == pytest.approx(alone.objective_[0], rel=1e-9)
    np.testing.assert_allclose(solution(found), solution(alone), atol=1e-5)


def test_weights_and_c_trade_off(noisy):
    X, y = noisy
    weights = np.random.default_rng(1).random(y.size)
    heavy = L1SVC(0.2, tol=1e-10).fit(X, y, 5.0 * weights)
    light = L1SVC(1.0, tol=1e-10).fit(X, y, weights)
    np.testing.assert_allclose(solution(heavy), solution(light), atol=1e-5)
    assert np.abs(solution(light) - solution(L1SVC(1.0).fit(X, y))).max() > 1e-3


def test_path_hands_the_weights_on(noisy):
    X, y = noisy
    weights = np.random.default_rng(1).random(y.size)
    (model,) = svm_path(X, y, [0.3], weights)
    np.testing.assert_array_equal(solution(model), solution(L1SVC(0.3).fit(X, y, weights)))


# --- labels and classes -----------------------------------------------------------------------------------------------


def test_every_class_is_fitted_against_the_rest(noisy):
    X, _ = noisy
    names = np.array(["ant", "bee", "cat", "dog"])
    y = names[np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])]
    for model in svm_path(X, y, [3.0, 0.05]):
        assert model.coef_.shape == (4, 6)
        assert model.intercept_.shape == model.objective_.shape == model.gap_.shape == model.n_iter_.shape == (4,)
        scores = model.decision_function(X)
        for k, name in enumerate(names):
            alone = svm_path(X, y == name, [0.05, 3.0])[0 if model.C == 0.05 else 1]
            np.testing.assert_array_equal(solution(model, k), solution(alone))
            np.testing.assert_allclose(scores[:, k], alone.decision_function(X), atol=1e-12)
        np.testing.assert_array_equal(model.predict(X), names[scores.argmax(axis=1)])


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-1, 1), (3, 7), (0.0, 2.0)], ids=str)
def test_two_labels_of_any_kind_give_one_hyperplane_towards_the_second(noisy, labels):
    X, y = noisy
    named = np.array(labels)[(y > 0.0).astype(int)]
    model = L1SVC(1.0).fit(X, named)
    np.testing.assert_array_equal(solution(model), solution(L1SVC(1.0).fit(X, y)))
    assert list(model.classes_) == list(labels)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ model.coef_[0] + model.intercept_[0], atol=1e-12)
    predicted = model.predict(X)
    assert predicted.dtype == named.dtype
    np.testing.assert_array_equal(predicted == labels[1], scores > 0.0)
    assert model.score(X, named) > 0.75


def test_exchanged_labels_turn_the_hyperplane_around(noisy):
    X, y = noisy
    there, back = (L1SVC(1.0, tol=1e-10).fit(X, label) for label in (y, -y))
    np.testing.assert_allclose(solution(there), -solution(back), atol=1e-6)


# --- rows and columns that are hard -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_number_of_threads_does_not_change_a_bit():
    rng = np.random.default_rng(5)
    for n, p in ((280_000, 2), (20_000, 60)):  # several blocks for the sums; for the Hessian
        X = rng.random((n, p))
        y = X[:, 0] + X[:, -1] + 0.3 * rng.standard_normal(n) > 1.0
        one, two, three = (L1SVC(1.0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3))
        for other in (two, three):
            np.testing.assert_array_equal(solution(one), solution(other))
            np.testing.assert_array_equal(one.gap_, other.gap_)
        assert one.gap_[0] <= 1e-6 * one.objective_[0]


def test_useless_columns_get_no_weight_and_change_nothing(noisy):
    X, y = noisy
    n = len(X)
    more = np.column_stack([np.zeros(n), X, np.ones(n), np.full(n, -40.0)])
    for C in (0.1, 10.0):
        plain, padded = L1SVC(C, tol=1e-9).fit(X, y), L1SVC(C, tol=1e-9).fit(more, y)
        np.testing.assert_array_equal(padded.coef_[0, [0, -2, -1]], 0.0)
        assert padded.objective_[0] == pytest.approx(plain.objective_[0], rel=2e-9)


def test_repeated_and_reversed_columns_share_one_weight(noisy):
    X, y = noisy
    for C in (0.1, 10.0, 1e4):
        once, thrice = L1SVC(C).fit(X, y), L1SVC(C).fit(np.column_stack([X, X, -X]), y)
        assert thrice.objective_[0] == pytest.approx(once.objective_[0], rel=2e-6)
        together = thrice.coef_[0, :6] + thrice.coef_[0, 6:12] - thrice.coef_[0, 12:]
        np.testing.assert_allclose(together, once.coef_[0], atol=0.01)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_columns_of_any_scale_are_solved_to_the_same_gap(noisy, C):
    X, y = noisy
    X = X * 10.0 ** np.array([-6, 6, 0, 6, -6, 3])
    model = L1SVC(C).fit(X, y)
    x = solution(model)
    value = svm_objective(X, y, C, x)
    a = svm_dual_point(X, y, C, x)
    assert_dual_feasible(X, y, a)
    assert value - svm_dual_objective(y, C, a) <= 1.01e-6 * value


@pytest.mark.parametrize("n_columns", [300, 1_023, 1_500])
def test_more_columns_than_rows(n_columns):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, n_columns))
    y = np.where(X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(60) > 0.0, 1.0, -1.0)
    for C, model in zip([0.02, 0.1, 5.0], svm_path(X, y, [0.02, 0.1, 5.0]), strict=True):
        x = solution(model)
        value = svm_objective(X, y, C, x)
        a = svm_dual_point(X, y, C, x)
        assert_dual_feasible(X, y, a)
        assert model.objective_[0] == pytest.approx(value, rel=1e-10)
        assert value - svm_dual_objective(y, C, a) <= 1.01e-6 * value
        used = np.flatnonzero(model.coef_[0])
        assert 0 < used.size <= 60
        assert L1SVC(C).fit(X[:, used], y).objective_[0] == pytest.approx(value, rel=2e-6)


def test_many_rows_and_more_than_1024_columns():
    rng = np.random.default_rng(8)
    X = rng.random((2_000, 1_100))
    y = np.where(X[:, 5] - X[:, 700] + 0.2 * rng.standard_normal(2_000) > 0.0, 1.0, -1.0)
    C = 0.02
    model = L1SVC(C).fit(X, y)
    a = svm_dual_point(X, y, C, solution(model))
    assert_dual_feasible(X, y, a)
    assert model.objective_[0] - svm_dual_objective(y, C, a) <= 1.01e-6 * model.objective_[0]
    assert {5, 700} <= set(np.flatnonzero(model.coef_[0]))


def test_rows_that_contradict_each_other_get_the_constant():
    X = np.ones((10, 2))
    model = L1SVC(10.0).fit(X, [0, 1] * 5)
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_[0] == pytest.approx(0.0, abs=1e-9)
    assert model.objective_[0] == pytest.approx(100.0)


def test_two_rows_are_enough():
    model = L1SVC(100.0).fit([[0.0, 0.0], [1.0, 4.0]], ["a", "b"])  # 2 = w * 4 is cheapest
    np.testing.assert_allclose(model.coef_, [[0.0, 0.5]], atol=0.01)
    assert list(model.predict([[0.0, 0.0], [1.0, 4.0]])) == ["a", "b"]


@pytest.mark.parametrize("convert", [np.asfortranarray, np.float32, lambda X: X[::-1][::-1], np.ndarray.tolist])
def test_layout_and_type_of_the_rows_do_not_matter(noisy, convert):
    X, y = noisy
    X = np.round(X * 64.0) / 64.0  # exact in single precision
    before = X.copy()
    np.testing.assert_array_equal(solution(L1SVC(1.0).fit(convert(X), y)), solution(L1SVC(1.0).fit(X, y)))
    np.testing.assert_array_equal(X, before)


# --- too few steps ----------------------------------------------------------------------------------------------------


def test_too_few_steps_are_a_warning_that_states_the_gap(noisy):
    X, y = noisy
    with pytest.warns(ConvergenceWarning, match="max_iter=1 or tol") as caught:
        model = L1SVC(1.0, max_iter=1).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    stated = re.search(r"gap of (\S+) times the objective", str(caught[0].message))
    assert float(stated[1]) == pytest.approx(model.gap_[0] / model.objective_[0], rel=0.05)
    assert model.n_iter_[0] == 1
    x = solution(model)
    dual = svm_dual_objective(y, 1.0, svm_dual_point(X, y, 1.0, x))
    assert model.gap_[0] == pytest.approx(svm_objective(X, y, 1.0, x) - dual, rel=1e-9)
    assert model.gap_[0] > 1e-6 * model.objective_[0]


def test_too_few_steps_in_a_path_name_each_c(noisy):
    X, y = noisy
    with pytest.warns(ConvergenceWarning) as caught:
        svm_path(X, y, [30.0, 2.0], max_iter=1)
    assert sorted(re.search(r"lower C=(\d+)", str(warning.message))[1] for warning in caught) == ["2", "30"]
    assert {warning.filename for warning in caught} == {__file__}


# --- hard cases -------------------------------------------------------------------------------------------------------


def test_steps_that_are_just_enough_are_no_warning(noisy):
    X, y = noisy
    steps = int(L1SVC(1.0).fit(X, y).n_iter_[0])
    model = L1SVC(1.0, max_iter=steps).fit(X, y)
    assert model.gap_[0] <= 1e-6 * model.objective_[0]


@pytest.mark.parametrize(("C", "tol"), [(1e9, 1e-6), (100.0, 1e-13)])
def test_a_gap_that_is_not_reached_is_a_warning(C, tol):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = L1SVC(C, tol=tol).fit(X, X[:, 0] + 0.5 * X[:, 1] > 0.0)
    assert caught or model.gap_[0] <= tol * model.objective_[0]


def test_columns_of_any_scale_are_solved_for_large_c(noisy):
    X, y = noisy
    model = L1SVC(1e4).fit(X * 10.0 ** np.array([0, 3, -6, 6, 6, -6]), y)
    assert model.gap_[0] <= 1e-6 * model.objective_[0]


def test_weights_for_one_class_only_give_its_constant(noisy):
    X, y = noisy
    model = L1SVC(1.0).fit(X, y, (y > 0.0).astype(float))
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_[0] == pytest.approx(1.0)


@pytest.mark.parametrize("offset", [1e3, 1e4, 3e4])
def test_columns_far_from_zero_are_solved(noisy, offset):
    X, y = noisy
    model = L1SVC(1.0).fit(X + offset, y)
    assert model.gap_[0] <= 1e-6 * model.objective_[0]
    assert model.objective_[0] == pytest.approx(L1SVC(1.0).fit(X, y).objective_[0], rel=1e-5)


@pytest.mark.parametrize(("degree", "C"), [(5, 1e3), (10, 1e5)])
def test_powers_of_one_variable_are_solved(degree, C):
    rng = np.random.default_rng(0)
    u = rng.random(400)
    X = u[:, None] ** np.arange(1, degree + 1)
    model = L1SVC(C).fit(X, np.sin(9.0 * u) + 0.3 * rng.standard_normal(400) > 0.0)
    assert model.gap_[0] <= 1e-6 * model.objective_[0]


@pytest.mark.parametrize("C", [1e3, 1e6])
def test_wide_separable_rows_are_solved_for_large_c(C):
    rng = np.random.default_rng(0)
    model = L1SVC(C).fit(rng.standard_normal((60, 500)), rng.random(60) > 0.5)
    assert model.gap_[0] <= 1e-6 * model.objective_[0]


def test_infinite_c_is_refused_in_words_that_help(noisy):
    with pytest.raises(ValueError, match="C must be") as caught:
        L1SVC(np.inf).fit(*noisy)
    assert "-inf" not in str(caught.value)


def test_values_whose_squares_overflow_are_refused_or_solved(noisy):
    X, y = noisy
    try:
        model = L1SVC(1.0).fit(1e160 * X, y)
        outcome = "solved" if model.gap_[0] <= 1e-6 * model.objective_[0] else "not solved"
    except ValueError as error:
        outcome = str(error)
    assert outcome == "solved" or "scale" in outcome


def test_what_cannot_be_solved_in_double_precision_is_a_warning(noisy):
    X, y = noisy
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        L1SVC(1.0).fit(X + 1e8, y)


def test_a_fit_of_many_classes_that_takes_long_says_how_far_it_is(noisy, monkeypatch, caplog):
    X, _ = noisy
    classes, codes = np.arange(4), np.arange(len(X)) % 4
    list(svms_along(X, codes, classes, [0.1], None))
    assert not caplog.messages
    monkeypatch.setattr("vanishing.svm.estimator.PATIENCE", 0.0)
    models = list(svms_along(X, codes, classes, [0.1], None))
    assert [model.coef_.shape for model in models] == [(4, X.shape[1])]
    columns = f"in {X.shape[1]} columns"
    assert [f"1 of 4 classes against the rest {columns}" in message for message in caplog.messages] == [True]
