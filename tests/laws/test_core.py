"""Short equations that at least half of the rows obey, whatever the others do."""

import re

import numpy as np
import pandas as pd
import pytest

from vanishing import discover
from vanishing.laws.candidates.core import find_cores, peak, shortest_halves
from vanishing.laws.candidates.least_medians import least_medians, null_vector
from vanishing.laws.candidates.short_equations import exponent_vectors, nearest_exponents, term_sets


def dirty(name, share, n_rows=400, noise=0.0, seed=0):
    """A table of a formula with wrong rows: ten times the value, zero, or that of another row."""
    random = np.random.default_rng(seed)
    a, b, c = random.lognormal(0.0, 0.6, (3, n_rows))
    z = {"product": a * b, "ratio": a / b, "sum": a + 2 * b, "share": 100 * a / (a + b), "energy": a * b**2 / 2}[name]
    z = z * (1.0 + noise * random.normal(size=n_rows))
    wrong = np.flatnonzero(random.random(n_rows) < share)
    kind = random.integers(0, 3, len(wrong))
    z[wrong] = np.where(kind == 0, 10.0 * z[wrong], np.where(kind == 1, 0.0, random.permutation(z)[: len(wrong)]))
    return np.column_stack([a, b, z, c]), wrong


TRUTH = {
    "product": "a*b = z",
    "ratio": "b*z = a",
    "sum": "a + 2*b = z",
    "share": "a*z + b*z = 100*a",
    "energy": "a*b^2 = 2*z",
}


@pytest.mark.parametrize("share", [0.02, 0.25])
@pytest.mark.parametrize("name", list(TRUTH))
def test_laws_of_dirty_tables_are_found_with_their_exceptions(name, share):
    X, wrong = dirty(name, share)
    laws = discover(X, names=list("abzc"))
    assert [law.equation for law in laws] == [TRUTH[name]]
    assert set(wrong) >= set(laws[0].exceptions().tolist())
    assert laws[0].share == pytest.approx(1.0 - len(laws[0].exceptions()) / len(X))
    assert f"holds on {laws[0].share:.0%} of the rows" in str(laws)


@pytest.mark.parametrize(
    "deviation", [lambda rho, T: 5e-4 * np.sin(3 * rho), lambda rho, T: -8e-4 * rho**0.5 * 300 / T]
)
def test_a_simple_law_that_nearly_holds_is_named_with_its_precision(deviation):
    rho, T = np.random.default_rng(0).uniform([[1.0], [280.0]], [[2.0], [400.0]], (2, 400))
    p = 0.2968 * rho * T * (1.0 + deviation(rho, T))
    text = str(discover(np.column_stack([rho, T, p]), names=["rho", "T", "p"]))
    assert text.startswith("No law")
    assert re.search(
        r"rho\*T = 3\.37\d*\*p holds to 0\.0[1-5]% of the value.*, but the rest is smooth, not noise", text
    )


def test_a_made_twin_of_the_exoplanets_obeys_keplers_law():
    random = np.random.default_rng(1)
    a, M = random.lognormal(-2.0, 1.2, 1500), random.lognormal(0.0, 0.3, 1500)
    P = np.sqrt(133_410.0 * a**3 / M) * (1.0 + 0.004 * random.normal(size=1500))
    dirty_rows = random.random(1500) < 0.35
    P[dirty_rows] *= random.lognormal(0.0, 0.15, dirty_rows.sum())
    law = discover(np.column_stack([P, a, M]), names=["P", "a", "M"])[0]
    assert law.equation.startswith("P^2*M = 133")
    assert law.equation.endswith("*a^3")
    assert 0.5 < law.share < 0.85
    value, error = next(iter(law.constants().values()))
    assert abs(abs(value) - 133_410.0) < 5.0 * error


@pytest.mark.parametrize("seed", range(6))
def test_independent_columns_have_no_core_that_is_a_law(seed):
    random = np.random.default_rng(seed)
    tables = [random.normal(size=(300, 4)), random.lognormal(size=(100, 3)), random.integers(1, 30, (200, 3)) * 1.0]
    assert not [law for X in tables for law in discover(X) if len(law.variables) > 1]


def test_without_robust_search_all_rows_are_noisy():
    X, _ = dirty("product", 0.1)
    assert len(discover(X, robust=False)) == 0
    assert len(discover(X, robust=True)) == 1
    with pytest.raises(ValueError, match="robust must be"):
        discover(X, robust="perhaps")


def test_the_core_does_not_depend_on_units():
    X, _ = dirty("share", 0.1)
    plain, scaled = find_cores(X)[0], find_cores(X * [1e4, 1e4, 1.0, 1e-3])[0]
    assert plain.exponents.tolist() == scaled.exponents.tolist()
    np.testing.assert_array_equal(plain.obeys, scaled.obeys)


def test_exponents_have_no_common_factor_and_supports_no_common_column():
    vectors = exponent_vectors(3)
    assert (np.gcd.reduce(vectors, axis=1) == 1).all()
    assert len(np.unique(vectors, axis=0)) == len(vectors)
    terms, supports = term_sets(3, 3)
    assert (terms[supports].min(axis=1) == 0).all()


def test_the_shortest_half_is_that_of_a_search_by_hand():
    logs = np.random.default_rng(0).normal(size=(21, 2))
    widths, middles = shortest_halves(logs, np.array([[1, -1]]), np.array([1.0, 1.0]))
    values = np.sort(logs[:, 0] - logs[:, 1])
    lengths = values[10:] - values[:11]
    k = int(np.argmin(lengths))
    assert widths[0] == pytest.approx(lengths[k] / 2 / 0.67449 / np.sqrt(2), rel=1e-4)
    assert middles[0] == pytest.approx((values[k] + values[k + 10]) / 2)


def test_null_vectors_vanish_on_the_rows_above():
    rows = np.random.default_rng(0).normal(size=(3, 4))
    work = np.vstack([rows, np.zeros(4)])
    assert null_vector(work, 4)
    np.testing.assert_allclose(rows @ work[3], 0.0, atol=1e-12)


def test_the_least_median_is_that_of_a_search_by_hand():
    random = np.random.default_rng(3)
    Z = random.uniform(1.0, 2.0, (21, 2))
    Z[:13, 1] = 2.0 * Z[:13, 0] - 0.5 + 0.01 * random.normal(size=13)
    values = np.column_stack([np.ones(21), Z])  # a line: its slopes are the same on all rows
    slopes = np.zeros((21, 3, 2))
    slopes[:, 1, 0] = slopes[:, 2, 1] = 1.0
    through = np.array([random.choice(21, 2, replace=False) for _ in range(30)])
    widths, coef = np.array([9.0]), np.zeros((1, 3))
    least_medians(values, slopes, np.array([[0, 1, 2]]), through, widths, coef, np.empty(21), np.empty((3, 3)))
    medians = []
    for a, b in through:
        line = np.cross(values[a], values[b])
        medians.append(np.median(np.abs(values @ line) / np.hypot(*line[1:])))
    assert widths[0] == pytest.approx(min(medians))
    assert np.median(np.abs(values @ coef[0]) / np.hypot(*coef[0, 1:])) == pytest.approx(widths[0])


def test_the_direction_of_most_logarithms_proposes_exponents():
    random = np.random.default_rng(4)
    logs = random.normal(size=(300, 4))
    logs[:, 3] = (3.0 * logs[:, 0] - logs[:, 1]) / 2.0 + 0.01 * random.normal(size=300)
    logs[:60, 3] = random.normal(size=60)
    assert [3, -1, 0, -2] in nearest_exponents(logs).tolist()


def test_the_peak_is_that_of_the_rows_that_obey():
    random = np.random.default_rng(0)
    distance = np.abs(np.r_[0.01 * random.normal(size=700), random.normal(size=300)])
    assert peak(distance) == pytest.approx(0.01, rel=0.1)


def test_a_lacking_column_joins_the_law():
    # a is nearly zero on 55% of the rows, where b = 10/7 z holds alone.
    random = np.random.default_rng(8)
    a = np.where(random.random(300) < 0.55, 1e-5 * random.random(300), random.uniform(1.0, 30.0, 300))
    b = random.uniform(2.0, 20.0, 300)
    X = np.column_stack([a, b, (0.3 * a + 0.7 * b).round(4)])
    X[::50, 2] = 0.0
    (law,) = discover(X, names=list("abz"))
    assert set(law.variables) == {"a", "b", "z"}
    assert law.share > 0.8
    assert set(law.exceptions().tolist()) >= set(range(0, 300, 50))


def test_an_equation_may_have_to_contain_a_column():
    X, _ = dirty("product", 0.1)
    assert find_cores(X, needed=[2])[0].columns == [0, 1, 2]
    assert all(3 in core.columns for core in find_cores(X, needed=[3]))


@pytest.mark.slow
def test_of_equations_that_rows_do_not_tell_apart_the_one_with_plain_numbers_is_a_law():
    # A mean of lengths that hardly differ is geometric as well as arithmetic: depth^2*x*y = 10,000*z^2 within 0.01%.
    random = np.random.default_rng(0)
    x = random.uniform(4.0, 8.0, 3000)
    y, depth = x * random.normal(1.0, 0.007, 3000), random.normal(62.0, 1.5, 3000)
    table = pd.DataFrame({"depth": depth, "x": x, "y": y, "z": depth * (x + y) / 200.0}).round(2)
    table.loc[:60, "z"] *= 1.1
    law = discover(table)[0]
    assert law.equation == "depth*x + depth*y = 200*z"
