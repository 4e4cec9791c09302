"""Tables whose numbers are hard on float64: no error, no warning, and laws all the same where there are some."""

import numpy as np
import pytest

from vanishing import discover


def product(n_rows=300, seed=0):
    x = np.random.default_rng(seed).lognormal(0.0, 0.6, (n_rows, 2))
    return np.column_stack([x, x.prod(axis=1)])


@pytest.mark.parametrize("wild", [1e30, 1e160, 1e300])
def test_a_wild_value_hides_no_law(wild):
    X = product()
    X[17, 2] = wild
    (law,) = discover(X, names=list("abz"))
    assert law.equation == "a*b = z"
    assert law.exceptions().tolist() == [17]


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_a_column_beyond_float64_is_left_out_by_name(size):
    X = np.column_stack([product(), size * np.arange(1.0, 301.0)])
    laws = discover(X, names=[*"abz", "far"])
    assert [law.equation for law in laws] == ["a*b = z"]
    assert "'far' is left out" in str(laws)


def test_a_table_of_such_columns_has_no_law():
    laws = discover(product() * 1e200, names=list("abz"))
    assert len(laws) == 0
    assert str(laws).count("is left out") == 3


def odd(kind, random):
    n_rows, n = int(random.choice([6, 12, 50, 120])), int(random.integers(2, 5))
    X = random.lognormal(0.0, 1.0, (n_rows, n))
    if kind == "few values":
        return random.integers(0, 3, (n_rows, n)).astype(float)
    if kind == "copies":
        X[:, 1] = X[:, 0]
    elif kind == "repeated rows":
        X = np.repeat(X[: n_rows // 3], 3, axis=0)
    elif kind == "nearly constant":
        X[1:, 0] = 1.0
    elif kind == "zeros":
        X[random.random(X.shape) < 0.8] = 0.0
    elif kind == "offset":
        X = X + 1e12
    elif kind == "denormal":
        X[:, 0] = 5e-324 * random.integers(0, 9, n_rows)
    elif kind == "range":
        X = np.exp(random.normal(0.0, 60.0, X.shape))
    elif kind == "halves":
        X[: n_rows // 2, 0], X[n_rows // 2 :, 1] = 4.0, 0.0
    elif kind == "extremes":
        X = random.choice([0.0, -0.0, 1e-320, 1.0, 1e308], X.shape)
    elif kind == "counts":
        X = random.integers(-(10**9), 10**9, X.shape).astype(float)
    return X


KINDS = [
    "few values",
    "copies",
    "repeated rows",
    "nearly constant",
    "zeros",
    "offset",
    "denormal",
    "range",
    "halves",
    "extremes",
    "counts",
]


@pytest.mark.parametrize("kind", KINDS)
def test_odd_tables_raise_nothing(kind):
    for seed in range(4):
        X = odd(kind, np.random.default_rng([seed, KINDS.index(kind)]))
        for robust in ("auto", True):
            laws = discover(X, robust=robust)
            assert str(laws)
            assert all(np.isfinite(law.coef).all() for law in laws)


def test_a_column_that_is_zero_where_another_is_constant_raises_nothing():
    # The product b*w of a law's columns is then proportional to w: no equation says which of the two it is.
    random = np.random.default_rng(3)
    a, b = random.normal(97.0, 8.0, (2, 120)).round(1)
    w = np.zeros(120)
    w[:4], b[:4] = 5.0, 94.9
    laws = discover(np.column_stack([a, b, 0.3 * a + 0.7 * b, w]), names=list("abzw"))
    assert [set(law.variables) for law in laws] == [{"a", "b", "z"}, {"w"}]


def test_a_column_that_is_rounded_to_zero_on_most_rows_raises_nothing():
    random = np.random.default_rng(5)
    a, b = random.lognormal(0.0, 1.0, 120).round(2), random.lognormal(0.0, 5.0, 120).round(1)
    z = a * b**2 / 2.0
    unit = 10.0 ** np.floor(np.log10(z.max()) - 4.0)
    laws = discover(np.column_stack([a, b, np.round(z / unit) * unit]), names=list("abz"))
    assert all(set(law.variables) == {"a", "b", "z"} for law in laws)
