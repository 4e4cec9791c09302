"""What every model promises, on random and hostile data, for all four algorithms."""

from __future__ import annotations

import pickle
from fractions import Fraction
from math import prod

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from vanishing import ABM, AVI, OAVI, VCA
from vanishing.experiments._protocols import PublishedVCA
from vanishing.solvers import Status

pytestmark = [
    pytest.mark.filterwarnings("ignore::vanishing.RangeWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

PAIRS = [
    *(("none", solver) for solver in ("cg", "pcg", "bpcg", "agd")),
    *(("ihb", solver) for solver in ("cg", "agd")),
    *(("wihb", solver) for solver in ("cg", "pcg", "bpcg")),
]
MONOMIAL = [
    *(pytest.param(OAVI, {"boost": b, "solver": s, "max_iter": 5000}, id=f"OAVI-{b}-{s}") for b, s in PAIRS),
    pytest.param(OAVI, {"polish": False, "max_iter": 5000}, id="OAVI-unpolished"),
    pytest.param(OAVI, {"tau": 2.0, "max_iter": 5000}, id="OAVI-tau2"),
    pytest.param(OAVI, {"order": "degcolex", "feature_order": "pearson"}, id="OAVI-degcolex-pearson"),
    pytest.param(ABM, {}, id="ABM"),
    pytest.param(ABM, {"order": "degcolex", "feature_order": "rev-pearson"}, id="ABM-degcolex-rev-pearson"),
    pytest.param(AVI, {}, id="AVI"),
]
ALL = [
    *MONOMIAL,
    pytest.param(VCA, {}, id="VCA"),
    pytest.param(VCA, {"normalization": "mean-square", "max_terms": 200}, id="VCA-mean-square"),
    pytest.param(PublishedVCA, {}, id="VCA-all"),
]
FEW = settings(max_examples=12, deadline=None, derandomize=True)
KINDS = ("uniform", "law", "twins", "grid", "wide", "constants")


def make_data(kind: str, n_samples: int, n_features: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.random((n_samples, n_features))
    noise = rng.normal(size=n_samples) * 10.0 ** rng.uniform(-8, -1)
    if kind == "law":
        X[:, -1] = X[:, 0] ** 2 + noise
    elif kind == "twins":
        X[:, -1] = X[:, 0] + noise
    elif kind == "grid":
        X = np.round(3 * X) / 3
    elif kind == "wide":
        X = 10 * X - 5
    elif kind == "constants":
        X[:, 0], X[:, -1] = 0.5, 0.0
    return X


DATA = st.builds(
    make_data, st.sampled_from(KINDS), st.sampled_from([1, 2, 5, 30, 200]), st.integers(1, 4), st.integers(0, 2**32 - 1)
)
PSI = st.floats(-9, -0.3).map(lambda e: 10.0**e)
DEGREE = st.integers(1, 4)


def monomials(X: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    return np.stack([np.prod(X**row, axis=1) for row in exponents], axis=1)


def mean_squares(model, X: np.ndarray) -> np.ndarray:
    return np.mean(model.generators_.evaluate(X) ** 2, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "options"), ALL)
@FEW
@given(X=DATA, psi=PSI, max_degree=DEGREE)
def test_generators_vanish_on_the_data_and_say_how_well(algorithm, options, X, psi, max_degree):
    model = algorithm(psi, max_degree=max_degree, **options).fit(X)
    found = mean_squares(model, X)
    assert np.all(found <= psi * (1 + 1e-8))
    # Reported mean squares come from a Gram of terms that are up to `size` large: right to rounding of size^2.
    size = (np.abs(model.generators_.coef) * np.abs(monomials(X, model.generators_.exponents)).max(axis=0)).sum(axis=1)
    if not issubclass(algorithm, VCA):
        np.testing.assert_array_less(np.abs(found - model.generators_.mse), 1e-12 * (1 + size**2))
    else:
        np.testing.assert_array_less(np.abs(found - model.generators_.mse), 1e-6 * psi + 1e-12 * (1 + size**2))


@pytest.mark.parametrize(("algorithm", "options"), MONOMIAL)
@FEW
@given(X=DATA, psi=PSI, max_degree=DEGREE)
def test_terms_form_an_order_ideal_with_the_leading_terms_on_its_border(algorithm, options, X, psi, max_degree):
    model = algorithm(psi, max_degree=max_degree, **options).fit(X)
    ideal = {tuple(row) for row in model.order_ideal_.exponents}
    leads = [tuple(row) for row in model.generators_.leading_terms]
    assert len(ideal) == len(model.order_ideal_) == model.n_basis_
    assert len(set(leads)) == len(leads)
    assert not ideal & set(leads)
    for term in [*ideal, *leads]:
        for j, power in enumerate(term):
            if power:
                assert (*term[:j], power - 1, *term[j + 1 :]) in ideal
    if model.complete_:  # then every term outside O is a multiple of a leading one
        for term in ideal:
            for j in range(len(term)):
                above = (*term[:j], term[j] + 1, *term[j + 1 :])
                assert above in ideal or any(all(a >= b for a, b in zip(above, lead, strict=True)) for lead in leads)


@pytest.mark.parametrize(("algorithm", "options"), MONOMIAL)
@FEW
@given(X=DATA, psi=PSI, max_degree=DEGREE)
def test_coefficients_are_normalised_as_stated(algorithm, options, X, psi, max_degree):
    model = algorithm(psi, max_degree=max_degree, **options).fit(X)
    generators = model.generators_
    if algorithm is OAVI:
        np.testing.assert_array_equal(generators.leading_coef, 1.0)
        if model.solver != "agd":
            assert np.all(np.abs(generators.coef).sum(axis=1) <= model.tau * (1 + 1e-12))
    else:
        np.testing.assert_allclose(np.linalg.norm(generators.coef, axis=1), 1.0, rtol=1e-12)
        assert np.all(generators.leading_coef > 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "options"), ALL)
@FEW
@given(X=DATA, psi=PSI, max_degree=DEGREE, seed=st.integers(0, 2**32 - 1))
def test_values_are_those_of_the_written_polynomials(algorithm, options, X, psi, max_degree, seed):
    model = algorithm(psi, max_degree=max_degree, **options).fit(X)
    Z = np.random.default_rng(seed).uniform(-1, 2, (40, X.shape[1]))
    values = model.generators_.evaluate(Z)
    np.testing.assert_array_equal(model.transform(Z), np.abs(values))
    exponents, coef = model.generators_.exponents, model.generators_.coef
    size = np.abs(monomials(Z, exponents)) @ np.abs(coef).T
    if issubclass(algorithm, VCA):  # large components cancel in the products, whichever way they are evaluated
        size += 1e3
    np.testing.assert_array_less(np.abs(monomials(Z, exponents) @ coef.T - values), 1e-9 * size + 1e-12)
    for g, polynomial in enumerate(model.generators_[:3]):
        np.testing.assert_array_less(np.abs(polynomial.evaluate(Z) - values[:, g]), 1e-9 * size[:, g] + 1e-12)
    # A row's values do not depend on the rows around it: to the last bit for monomials.
    for n_rows in (1, 7, 33):
        if issubclass(algorithm, VCA):
            np.testing.assert_allclose(model.transform(Z[:n_rows]), np.abs(values[:n_rows]), rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(model.transform(Z[:n_rows]), np.abs(values[:n_rows]))


@pytest.mark.parametrize(
    "scaler",
    [
        MinMaxScaler(),
        MinMaxScaler(feature_range=(-1, 3)),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False),
        RobustScaler(with_scaling=False),
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        StandardScaler(with_mean=False, with_std=False),
    ],
    ids=repr,
)
@pytest.mark.parametrize("algorithm", [OAVI, ABM, AVI, VCA])
def test_in_units_is_composition_with_the_scaler(algorithm, scaler):
    X = np.random.default_rng(0).normal(3.0, 2.0, (60, 3))
    X[:, 2] = X[:, 0] * X[:, 1] - X[:, 0] + 1  # in any units a polynomial of degree 2
    inside = scaler.fit_transform(X)
    model = algorithm(psi=1e-6, max_degree=3).fit(inside)
    assert len(model.generators_) > 0
    raw = model.generators_.in_units(scaler)
    np.testing.assert_allclose(raw.evaluate(X), model.generators_.evaluate(inside), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(monomials(X, raw.exponents) @ raw.coef.T, raw.evaluate(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(raw.mse, model.generators_.mse)


@pytest.mark.parametrize(("algorithm", "options"), ALL)
def test_monic_divides_by_the_leading_coefficient(algorithm, options):
    X = np.random.default_rng(1).random((40, 2))
    model = algorithm(psi=1e-3, max_degree=4, **options).fit(X)
    monic = model.generators_.monic()
    lead = model.generators_.leading_coef
    np.testing.assert_allclose(monic.leading_coef, lead != 0.0, rtol=1e-12)  # VCA's f_i f_j - f_j f_i is zero
    np.testing.assert_allclose((monic.evaluate(X) * lead)[:, lead != 0], model.generators_.evaluate(X)[:, lead != 0])


@FEW
@given(X=DATA, psi=PSI, max_degree=st.integers(1, 6), normalization=st.sampled_from(["unit", "mean-square"]))
def test_vca_components_are_orthonormal_and_no_more_than_the_points(X, psi, max_degree, normalization):
    model = VCA(psi, max_degree=max_degree, max_terms=300, normalization=normalization).fit(X)
    assert model.n_basis_ <= len(np.unique(X, axis=0))
    F = model.components_.evaluate(X) * (1.0 if normalization == "unit" else len(X) ** -0.5)
    np.testing.assert_allclose(F.T @ F, np.eye(F.shape[1]), atol=1e-6)
    np.testing.assert_allclose(F.sum(axis=0), 0.0, atol=1e-5)


@pytest.mark.parametrize("normalization", ["unit", "mean-square"])
@pytest.mark.parametrize("seed", range(10))
def test_vca_stays_exact_when_a_kept_component_is_barely_above_psi(normalization, seed):
    # Components are divided by their root mean square, here about 1e-5, which magnifies rounding in the Gram of F.
    rng = np.random.default_rng(seed)
    X = rng.random((5, 2))
    X[:, 1] = X[:, 0] + rng.normal(size=5) * 10.0 ** rng.uniform(-6, -4)
    psi = 10.0 ** rng.uniform(-11.9, -10)
    model = VCA(psi, normalization=normalization, max_degree=6).fit(X)
    assert model.n_basis_ <= 5
    assert np.all(mean_squares(model, X) <= psi * (1 + 1e-6))


@pytest.mark.parametrize(("algorithm", "options"), ALL)
@pytest.mark.parametrize("below", [3e-8, pytest.param(1e-6, marks=pytest.mark.slow), 1e-3])
def test_a_psi_just_below_a_mean_square_excludes_it(algorithm, options, below):
    X = make_data("law", 100, 2, seed=5)
    first = algorithm(1e-5, max_degree=3, **options).fit(X)
    for psi in first.generators_.mse[first.generators_.mse > 1e-9] * (1 - below):
        model = algorithm(psi, max_degree=3, **options).fit(X)
        assert np.all(mean_squares(model, X) <= psi * (1 + 1e-8))


@pytest.mark.parametrize("algorithm", [OAVI, ABM])
def test_a_mean_square_just_above_a_small_psi_is_not_rounded_away(algorithm):
    X = np.random.default_rng(0).random((500, 2))
    mse = algorithm(1e-11).fit(X).generators_.mse
    psi = float(mse[mse > 1e-12].max()) * (1 - 1e-7)
    assert np.all(mean_squares(algorithm(psi).fit(X), X) <= psi * (1 + 1e-8))


POINTS = st.builds(
    lambda n_points, n_features, steps, seed: (
        np.random.default_rng(seed).integers(0, steps + 1, (n_points, n_features)) / steps
    ),
    st.integers(1, 9),
    st.integers(1, 3),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 2**32 - 1),
)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [OAVI, ABM, AVI, VCA])
@FEW
@given(points=POINTS)
def test_finite_points_have_as_many_basis_polynomials_as_points(algorithm, points):
    model = algorithm(psi=0, max_degree=20).fit(points)
    assert model.complete_
    assert model.n_basis_ == len(np.unique(points, axis=0))
    size = np.abs(model.generators_.coef).sum(axis=1)
    assert np.all(np.abs(model.generators_.evaluate(points)).max(axis=0, initial=0.0) <= 1e-12 * (1 + size))
    # Away from the points some generator does not vanish.
    outside = np.full((1, points.shape[1]), 1.37)
    assert model.transform(outside).max() > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("order", "sympy_order"), [("deglex", "grevlex"), ("degcolex", "grlex")])
@FEW
@given(points=POINTS)
def test_oavi_at_psi_0_gives_the_reduced_groebner_basis(order, sympy_order, points):
    model = OAVI(psi=0, max_degree=20, order=order, boost="ihb", solver="cg", tau=1e8).fit(points)
    symbols = sympy.symbols(f"x:{points.shape[1]}")
    exact = []
    for polynomial in model.generators_:
        coef = [Fraction(float(c)).limit_denominator(10**6) for c in polynomial.coef]
        np.testing.assert_allclose([float(c) for c in coef], polynomial.coef, atol=1e-7)
        for point in points:
            values = [
                prod(Fraction(x) ** int(e) for x, e in zip(point, row, strict=True)) for row in polynomial.exponents
            ]
            assert sum(c * v for c, v in zip(coef, values, strict=True)) == 0
        exact.append(
            sum(
                sympy.Rational(c.numerator, c.denominator)
                * sympy.Mul(*(s ** int(e) for s, e in zip(symbols, row, strict=True)))
                for c, row in zip(coef, polynomial.exponents, strict=True)
            )
        )
    # The first variable is the smallest here, and the largest for SymPy.
    basis = sympy.groebner(exact, *symbols[::-1], order=sympy_order)
    assert {sympy.expand(g) for g in exact} == {
        sympy.expand(g / sympy.LC(g, *symbols[::-1], order=sympy_order)) for g in basis.exprs
    }


def _circle(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(u), np.sin(u)])


def _sphere(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)])


def _torus(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.column_stack([(2 + np.cos(u)) * np.cos(v), (2 + np.cos(u)) * np.sin(v), np.sin(u)])


def _twisted_cubic(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(u), np.cos(u) ** 2, np.cos(u) ** 3])


@pytest.mark.parametrize("psi", [1e-10, 1e-12, 1e-16, 1e-20, 0.0])
@pytest.mark.parametrize(
    ("variety", "degrees"), [(_circle, [2]), (_sphere, [2]), (_torus, [4]), (_twisted_cubic, [2, 2, 2])]
)
@pytest.mark.parametrize("algorithm", [OAVI, ABM, AVI])
def test_known_varieties_give_their_ideal_however_small_psi(algorithm, variety, degrees, psi):
    rng = np.random.default_rng(0)
    X = variety(*rng.uniform(0, 2 * np.pi, (2, 400)))
    model = algorithm(psi, max_degree=4).fit(X)
    assert sorted(model.generators_.degrees) == degrees
    fresh = variety(*rng.uniform(0, 2 * np.pi, (2, 50)))
    np.testing.assert_allclose(model.generators_.monic().evaluate(fresh), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("algorithm", "options"), [(OAVI, {"boost": "ihb", "solver": "cg"}), (ABM, {}), (AVI, {}), (VCA, {})]
)
def test_integer_weights_are_repeated_rows(algorithm, options):
    rng = np.random.default_rng(3)
    X, weight = rng.random((60, 3)), rng.integers(0, 4, 60)
    weighted = algorithm(1e-3, **options).fit(X, sample_weight=weight)
    repeated = algorithm(1e-3, **options).fit(np.repeat(X, weight, axis=0))
    assert weighted.n_basis_ == repeated.n_basis_
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-6)


def test_n_iter_counts_the_iterations_of_solvers_and_nothing_else():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    model = OAVI(1e-3, solver="bpcg", boost="none").fit(X)
    assert model.n_iter_ > model.generators_.n_iter.sum() > model.degree_  # terms that joined O cost iterations, too
    assert OAVI(1e-3, solver="cg", boost="ihb").fit(X).n_iter_ == 1
    for other in (ABM(1e-3), AVI(1e-3, max_degree=4), VCA(1e-3, max_degree=3)):
        assert not hasattr(other.fit(X), "n_iter_")


@pytest.mark.parametrize("model", [OAVI(1e-3), ABM(1e-3), AVI(1e-3, max_degree=4), VCA(1e-3)], ids=repr)
def test_status_is_the_same_for_one_polynomial_and_for_all(model):
    G = model.fit(np.random.default_rng(0).uniform(size=(200, 2))).generators_
    assert len(G) > 0
    for polynomials in (G, G[::-1], G.monic(), pickle.loads(pickle.dumps(G))):
        assert [polynomial.status for polynomial in polynomials] == list(polynomials.status)
        assert {type(status) for status in polynomials.status} == {Status}
    assert (G.status == Status.VANISHING).all()


@pytest.mark.parametrize("seed", [43, 4167605634])
def test_abm_coefficients_have_norm_1_after_negligible_ones_are_dropped(seed):
    model = ABM(1e-9, max_degree=3, order="degcolex", feature_order="rev-pearson").fit(make_data("law", 30, 4, seed))
    np.testing.assert_allclose(np.linalg.norm(model.generators_.coef, axis=1), 1.0, rtol=1e-14)
