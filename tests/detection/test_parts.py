"""The parts of a score: columns, the inverse Christoffel function, equations, regimes, calibration."""

import sys
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pytest
from plant import NAMES, plant
from scipy import stats

from vanishing import VanishingIdealDetector
from vanishing.detection.calibration import Left, Typical, weighted_quantiles
from vanishing.detection.christoffel import Christoffel, Monomials, choose_degree, expansion, left_out
from vanishing.detection.columns import Standardised, exact_relations, survey_columns
from vanishing.detection.equations import find_equations
from vanishing.detection.explain import nearest_values
from vanishing.detection.model import in_chunks
from vanishing.detection.products import Products, gram_of_values
from vanishing.detection.regimes import fit_regimes
from vanishing.detection.sums import SAMPLE, add_sums, sum_rows
from vanishing.display import as_table
from vanishing.polynomials.terms import Program, term_values
from vanishing.rows.arrays import as_rows


def christoffel_of(X, degree, names=None):
    rows = as_rows(X)
    found = survey_columns(rows, names or [f"x{j}" for j in range(X.shape[1])])
    monomials = Monomials.of_columns(found, exact_relations(found), degree)
    sums = sum_rows(rows, monomials)
    return Christoffel.of_gram(monomials, sums.gram / sums.total_weight), sums


# --- columns ----------------------------------------------------------------------------------------------------------


def test_means_and_deviations_keep_their_digits_far_from_zero():
    x = np.random.default_rng(0).normal(size=(500, 2))
    far = np.array([1e8, -3e7])
    found = survey_columns(as_rows(x + far), "ab")
    np.testing.assert_allclose(found.deviation, x.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.mean, x.mean(axis=0) + far, rtol=1e-14)


def test_values_beyond_ten_deviations_are_clipped():
    units = Standardised(np.array([1.0]), np.array([2.0]))
    np.testing.assert_array_equal(units.units(np.array([[3.0], [1e9], [-1e9]])), [[1.0], [10.0], [-10.0]])


def test_integers_are_not_binary_and_opposites_are_no_group():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 200), rng.integers(0, 2, 200), rng.integers(0, 2, 200)]).astype(float)
    relations = exact_relations(survey_columns(as_rows(X), "abc"))
    assert [relation.to_text("abc") for relation in relations] == ["b is 0 or 1", "c is 0 or 1"]


def test_redundant_monomials_of_binary_and_one_hot_columns_are_left_out():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.eye(3)[rng.integers(0, 3, 200)], rng.integers(0, 2, 200), rng.normal(size=200)])
    christoffel, _ = christoffel_of(X, 2)
    assert christoffel.monomials.n_columns == 4  # the last column of the group follows from the others
    assert (0, 0) not in christoffel.monomials.terms
    assert (0, 1) not in christoffel.monomials.terms
    assert (3, 3) in christoffel.monomials.terms
    assert np.linalg.cond(christoffel.factor) < 1e3


# --- the inverse Christoffel function ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "m", "degree"),
    [(3, 1000, 4), (10, 3000, 3), (20, 3000, 2), (10, 10**7, 2), (6, 2 * 10**7, 3), (60, 5000, 2), (60, 500, 1)],
)
def test_the_degree_follows_from_columns_and_rows(n, m, degree):
    assert choose_degree(n, m) == degree


def test_q_without_a_row_is_that_of_the_gram_without_it():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(40, 5))
    A = V.T @ V + 1e-3 * np.eye(5)
    q = 40.0 * np.einsum("ij,jk,ik->i", V, np.linalg.inv(A), V)
    for i in (0, 17):
        without = 39.0 * V[i] @ np.linalg.inv(A - np.outer(V[i], V[i])) @ V[i]
        assert left_out(q, np.ones(40), 40.0)[i] == pytest.approx(without)


def test_an_expansion_gives_the_terms_of_the_changed_columns():
    terms = [(), (0,), (1,), (0, 0), (0, 1), (1, 1), (0, 0, 1)]
    rng = np.random.default_rng(0)
    scale, offset, z = rng.uniform(1, 2, 2), rng.normal(size=2), rng.normal(size=2)
    x = scale * z + offset
    values = np.array([np.prod(z[list(term)]) for term in terms])
    np.testing.assert_allclose(expansion(terms, scale, offset) @ values, [np.prod(x[list(term)]) for term in terms])


def test_samples_of_batches_stay_small_and_are_not_all_of_one_batch():
    X = np.random.default_rng(0).normal(size=(8000, 2))
    found = survey_columns(as_rows(X), "ab")
    monomials = Monomials.of_columns(found, [], 1)
    batches = [sum_rows(as_rows(X + k), monomials, k) for k in range(3)]
    early = add_sums(add_sums(batches[0], batches[1]).joined(), batches[2]).joined()
    waiting = add_sums(add_sums(batches[0], batches[1]), batches[2])
    sample = waiting.sample
    for late, soon in zip(sample, early.sample, strict=True):
        np.testing.assert_array_equal(late, soon)
    assert len(sample.X) == SAMPLE
    shares = np.mean(np.rint(sample.X.mean(axis=1) - X.mean()) >= 1)
    assert 0.4 < shares < 0.9


def test_a_gram_of_each_product_once_is_the_gram_of_all_pairs():
    rng = np.random.default_rng(0)
    terms = tuple(term for d in range(5) for term in combinations_with_replacement(range(3), d))
    values, weights = term_values(rng.normal(size=(50, 3)), Program.of(terms)), rng.uniform(size=50)
    products = Products.of_terms(terms)
    assert sum(len(s) * (len(terms) - t) for s, t in zip(products.last, products.first, strict=True)) < comb(11, 3)
    for w in (None, weights):
        direct = (values if w is None else values * w) @ values.T
        np.testing.assert_allclose(products.gram(values, w), direct, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(gram_of_values(values[:-1], w, terms[:-1]), direct[:-1, :-1], rtol=1e-12)
    assert Products.of_terms(terms[:-1]) is None


# --- equations --------------------------------------------------------------------------------------------------------


def test_contributions_sum_to_q_with_a_rest_that_is_not_negative():
    X = plant(800, 0)
    christoffel, sums = christoffel_of(X, 2)
    equations = find_equations(christoffel, sums.total_weight, NAMES, (X, np.ones(len(X))))
    new = np.vstack([plant(20, 1), plant(20, 1, "leak")])
    whitened = christoffel.whitening @ christoffel.monomials.values(new)
    np.testing.assert_allclose((whitened**2).sum(axis=0), christoffel.of_rows(new), rtol=1e-9)
    parts = equations.contributions(whitened)
    assert (parts >= 0.0).all()
    assert (christoffel.of_rows(new) - parts.sum(axis=0) > -1e-6).all()
    np.testing.assert_allclose(equations.spans.T @ equations.spans, np.eye(equations.spans.shape[1]), atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 5.0, 300.0, 1e5])
def test_an_equation_is_found_wherever_the_columns_lie(offset):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 1, 600), rng.uniform(0, 1, 600)
    X = np.column_stack([a, b, a * b]) + 0.002 * rng.normal(size=(600, 3)) + offset
    christoffel, sums = christoffel_of(X, 2)
    equations = find_equations(christoffel, sums.total_weight, "abc", (X, np.ones(len(X))))
    assert len(equations.polynomials) == 1
    residual = X[:, 2] - offset - (X[:, 0] - offset) * (X[:, 1] - offset)
    values = equations.polynomials.evaluate(X)[:, 0]
    lead = equations.polynomials.coef[0]
    assert lead.size
    assert abs(np.corrcoef(values, residual)[0, 1]) > 0.97


def test_equations_are_not_listed_twice():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    X = np.column_stack([x, x.sum(axis=1), x[:, 0] - x[:, 1]]) + 1e-3 * rng.normal(size=(600, 4))
    christoffel, sums = christoffel_of(X, 3)
    equations = find_equations(christoffel, sums.total_weight, "abcd", (X, np.ones(len(X))))
    assert [polynomial.degree for polynomial in equations.polynomials] == [1, 1]


@pytest.mark.parametrize("draw", [lambda rng: rng.normal(size=(600, 4)), lambda rng: np.exp(rng.normal(size=(600, 4)))])
def test_noise_has_no_equation(draw):
    X = draw(np.random.default_rng(0))
    christoffel, sums = christoffel_of(X, 3)
    assert len(find_equations(christoffel, sums.total_weight, "abcd", (X, np.ones(len(X)))).polynomials) == 0


def test_the_nearest_value_has_the_least_q():
    X = plant(800, 0)
    christoffel, _ = christoffel_of(X, 2)
    row = plant(5, 1)[2]
    row[4] += 10.0
    expected, least, q = nearest_values(christoffel, row)
    assert least[4] < 0.2 * q
    trial = np.repeat(row[None, :], 201, axis=0)
    trial[:, 4] = expected[4] + np.linspace(-3.0, 3.0, 201)
    assert christoffel.of_rows(trial).min() >= least[4] - 1e-3 * abs(least[4])


# --- regimes and calibration ------------------------------------------------------------------------------------------


def test_rows_between_regimes_are_unlike_both():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.2, (150, 3)) for c in (-2.0, 2.0)])
    regimes, alone = fit_regimes(X, np.ones(300))
    fresh = np.vstack([rng.normal(c, 0.2, (150, 3)) for c in (-2.0, 2.0)])
    assert regimes.surprise(np.zeros((1, 3)))[0] > alone.max()
    assert np.mean(regimes.surprise(fresh) > np.quantile(alone, 0.9)) == pytest.approx(0.1, abs=0.06)
    assert np.mean(regimes.surprise(X)) < np.mean(alone)


def test_scores_above_a_limit_are_exact_and_most_others_are_not_computed():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(centre, 1.0, (500, 3)) for centre in (0.0, 6.0)])
    score = VanishingIdealDetector(series=False).fit(X)._current().score
    new = np.vstack([rng.normal(3.0, 3.0, (3000, 3)), X[:50]])
    regimes = score.parts[-1]
    exact, C = score.of_rows(new), regimes.surprise(new)
    assert (regimes.bound(new) >= C - 1e-9).all()
    for limit in np.quantile(exact, [0.1, 0.9]):
        found = score.of_rows(new, limit)
        np.testing.assert_array_equal(found > limit, exact > limit)
        np.testing.assert_allclose(found[exact > limit], exact[exact > limit], rtol=1e-12)
    assert np.mean(found[:3000] != exact[:3000]) > 0.5  # most were not computed


def test_regimes_without_a_column_are_the_marginal_mixture():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    regimes, _ = fit_regimes(X, np.ones(200))
    reduced = regimes.without([1])
    mixture = regimes.mixtures[0]
    Z = regimes.shape.units(X)
    chosen = [0, 2]
    densities = [
        share
        / np.sqrt(np.linalg.det(S[np.ix_(chosen, chosen)]))
        * np.exp(
            -0.5
            * np.sum(
                (Z[:, chosen] - c[chosen]) @ np.linalg.inv(S[np.ix_(chosen, chosen)]) * (Z[:, chosen] - c[chosen]),
                axis=1,
            )
        )
        for share, c, S in zip(mixture.sizes / mixture.sizes.sum(), mixture.centres, mixture.covariances, strict=True)
    ]
    alone = type(reduced).of_mixtures(reduced.shape, reduced.mixtures[:1])
    np.testing.assert_allclose(alone.surprise(X), -np.log(np.sum(densities, axis=0)), rtol=1e-8)
    assert regimes.without([0, 1, 2]) is None


def test_many_columns_are_seen_along_their_principal_directions():
    X = np.random.default_rng(0).normal(size=(120, 50))
    regimes, alone = fit_regimes(X, np.ones(120))
    assert regimes.mixtures[0].centres.shape[1] == 40
    assert np.isfinite(in_chunks(regimes.surprise, X)).all()
    assert np.isfinite(alone).all()


def test_p_values_count_scores_and_thresholds_keep_their_rate():
    scores = np.arange(1.0, 100.0)
    tail = Left.of_scores(scores, np.ones(99))
    np.testing.assert_allclose(tail.p_values([0.0, 99.5, 98.5, 50.0]), [1.0, 0.01, 0.02, 0.51])
    for rate in (0.01, 0.05, 0.3):
        limit = tail.threshold(rate)
        assert np.sum(scores > limit) == round(rate * 100)
        assert tail.p_values(limit + 1e-3) <= rate + 0.01
    np.testing.assert_allclose(tail.score_of(tail.p_values(scores)), scores)


def test_weights_of_scores_count_like_repeated_scores():
    rng = np.random.default_rng(0)
    scores, counts = rng.normal(size=50), rng.integers(1, 4, 50)
    repeated = np.repeat(scores, counts)
    shares = [0.1, 0.25, 0.5, 0.75]
    np.testing.assert_allclose(
        weighted_quantiles(scores, 1.0 * counts, shares), weighted_quantiles(repeated, np.ones(len(repeated)), shares)
    )
    one, two = Left.of_scores(scores, 1.0 * counts), Left.of_scores(repeated, np.ones(len(repeated)))
    new = rng.normal(size=20)
    np.testing.assert_allclose(one.p_values(new), two.p_values(new))
    assert one.threshold(0.1) == two.threshold(0.1)


def test_a_score_without_spread_is_centred_only():
    typical = Typical.of_tail(np.full(10, 3.0), np.ones(10))
    assert typical.standard(4.0) == 1.0


def test_p_values_of_normal_scores_are_uniform():
    rng = np.random.default_rng(0)
    tail = Left.of_scores(rng.normal(size=5000), np.ones(5000))
    assert stats.kstest(tail.p_values(rng.normal(size=2000)), "uniform").pvalue > 0.001


def test_tables_are_plain_where_pandas_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert as_table({"a": [1]}) == {"a": [1]}
