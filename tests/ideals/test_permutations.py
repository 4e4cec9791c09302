"""The same model from the same rows in any order, by weights and by repetition, and beside rows of weight 0."""

from __future__ import annotations

import numpy as np
import pytest
from makers import WEIGHTED, name_of

from vanishing import ABM, AVI, OAVI, VCA, Moments, PerClass, open_rows

ESTIMATORS = {
    "omp": OAVI(),
    "ihb": OAVI(solver="cg", boost="ihb"),
    "abm": ABM(),
    "avi": AVI(),
}


def table(seed):
    """Rows in the unit cube: independent, near a quadric, or with a column of few values."""
    rng = np.random.default_rng(seed)
    X = rng.random((int(rng.integers(50, 400)), int(rng.integers(2, 5))))
    if seed % 2:
        X[:, -1] = X[:, 0] ** 2 * rng.random() + X[:, 1] * rng.random() * 0.3
    if seed % 5 == 0:
        X[:, -1] = np.round(X[:, -1] * 3) / 3
    return np.minimum(X, 1.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The border:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_order_of_rows_changes_no_support(name):
    for seed in range(40):
        X = table(seed)
        estimator = ESTIMATORS[name].set_params(psi=10.0 ** -(2 + seed % 6), max_degree=5, max_terms=200)
        one = estimator.fit(X).generators_.coef
        other = estimator.fit(X[np.random.default_rng(seed).permutation(len(X))]).generators_.coef
        np.testing.assert_array_equal(one != 0.0, other != 0.0)
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


# --- few rows: the same to the last bit, however the numbers are scaled -----------------------------------------------

SMALL = {
    **ESTIMATORS,
    "exact": OAVI(psi=0.0),
    "gradient": OAVI(normalization="gradient"),
    "vca": VCA(),
    "mean-square": VCA(normalization="mean-square", max_terms=300),
}


def few(seed):
    """At most 40 rows outside of the unit cube: fewer than terms, so that rounding decides about some of them."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(5, 41)), int(rng.integers(1, 5))
    X = rng.normal(size=(n_rows, n_columns)) * 10.0 ** rng.uniform(-1, 2, size=n_columns)
    if seed % 3 == 1:
        X = np.round(X)
    if seed % 3 == 2 and n_columns > 1:
        X[:, -1] = X[:, 0] ** 2
    return X


def model_of(estimator, X, weights=None):
    """All numbers of a model, in one array; the degree is limited for speed."""
    model = estimator.set_params(max_degree=5).fit(X, sample_weight=weights)
    return np.concatenate([[model.n_basis_, model.degree_, len(model.generators_)], model.generators_.coef.ravel()])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in SMALL if name not in ("ihb", "mean-square")])
class TestFewRows:
    def test_the_order_of_rows_changes_nothing(self, name):
        for seed in range(12):
            X = few(seed)
            expected = model_of(SMALL[name], X)
            for k in range(2):
                order = np.random.default_rng(k).permutation(len(X))
                np.testing.assert_array_equal(model_of(SMALL[name], X[order]), expected)

    def test_weights_are_repetitions_and_rows_of_weight_0_are_absent(self, name):
        for seed in range(12):
            X = few(seed)
            weights = np.random.default_rng(seed).integers(0, 3, len(X))
            weights[0] = 1
            expected = model_of(SMALL[name], np.repeat(X, weights, axis=0))
            np.testing.assert_array_equal(model_of(SMALL[name], X, weights), expected)
            used = weights > 0
            np.testing.assert_array_equal(model_of(SMALL[name], X[used], weights[used]), expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["ihb", "mean-square"])
@pytest.mark.parametrize("seed", [4, 9])
def test_the_order_of_few_rows_changes_nothing_for_slow_algorithms(name, seed):
    X = few(seed)[:, :2]
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model_of(SMALL[name], X[order]), model_of(SMALL[name], X))


# --- rows of weight 0 in every source ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [4, 9, 10, 13])
def test_few_rows_give_the_same_model_however_a_source_divides_them(seed, tmp_path):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4)) * 10.0 ** rng.uniform(-1, 2, size=4)
    names = ["a", "b", "c", "d"]
    expected = model_of(SMALL["omp"], X)
    dask = pytest.importorskip("dask.array")
    sources = [dask.from_array(X[::-1], chunks=(size, 4)) for size in (4, 30)]
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for k, part in enumerate(np.array_split(rng.permutation(X), 3)):
        pandas.DataFrame(part, columns=names).to_parquet(tmp_path / f"{k}.parquet", row_group_size=4)
    for source in (*sources, open_rows(tmp_path)):
        np.testing.assert_array_equal(model_of(SMALL["omp"], source), expected)


@pytest.mark.parametrize("make", WEIGHTED, ids=name_of)
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
def test_wild_rows_of_weight_0_change_nothing_in_any_source(make, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    wild = np.vstack([np.full((3, 3), 1e9), X, np.full((3, 3), -1e9)])
    weights = np.concatenate([np.zeros(3), rng.integers(1, 3, 60), np.zeros(3)])
    expected = OAVI(1e-4).fit(X, sample_weight=weights[3:-3])
    rows, given = make(wild, weights, tmp_path)
    found = OAVI(1e-4).fit(rows, sample_weight=given)
    assert list(found.order_ideal_.exponents.tolist()) == list(expected.order_ideal_.exponents.tolist())
    np.testing.assert_allclose(found.generators_.coef, expected.generators_.coef, rtol=1e-6, atol=1e-8)
    assert found._margins.n_rows == 60
    np.testing.assert_array_equal(found._margins.high, X.max(axis=0))


def test_rows_of_weight_0_may_have_gaps():
    X = np.random.default_rng(0).random((30, 2))
    weights = np.ones(30)
    expected = OAVI().fit(X[1:])
    X[0], weights[0] = np.nan, 0.0
    np.testing.assert_array_equal(OAVI().fit(X, sample_weight=weights).generators_.coef, expected.generators_.coef)


@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
def test_moments_and_ideals_of_classes_leave_out_rows_of_weight_0():
    rng = np.random.default_rng(1)
    X, y = rng.random((80, 2)), np.arange(80) % 2
    weights = np.where(np.arange(80) < 20, 0.0, 1.0)
    X[:20] = 1e6
    one, other = Moments(2, 2).update(X, weights), Moments(2, 2).update(X[20:])
    np.testing.assert_array_equal(one.gram, other.gram)
    assert one.n_samples == other.n_samples == 60
    found = PerClass().fit(X, y, sample_weight=weights).transform(X[20:])
    np.testing.assert_array_equal(found, PerClass().fit(X[20:], y[20:]).transform(X[20:]))
