import numpy as np
import pytest
import sympy
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from vanishing import ABM, AVI, OAVI, VCA
from vanishing.experiments._protocols import PublishedVCA
from vanishing.polynomials.affine import affine_map
from vanishing.polynomials.polynomial import Polynomial, join_polynomials
from vanishing.solvers import Status

ESTIMATORS = [OAVI(1e-3), ABM(1e-3), AVI(1e-3), VCA(1e-3, normalization="mean-square", max_degree=3)]


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def fitted(request):
    X = np.random.default_rng(0).uniform(size=(400, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    return request.param.fit(X), X


def direct(polynomials, X):
    monomials = np.prod(X[:, None, :] ** polynomials.exponents[None], axis=2)
    return monomials @ polynomials.coef.T


def test_evaluate_is_the_sum_of_coefficients_times_monomials(fitted):
    model, _ = fitted
    X = np.random.default_rng(1).uniform(-1, 2, size=(50, 3))
    np.testing.assert_allclose(model.generators_.evaluate(X), direct(model.generators_, X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("n_rows", [1, 32, 33, 700])
@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=lambda e: type(e).__name__)
def test_few_rows_have_the_values_of_many_to_the_bit(estimator, n_rows):
    """NumPy evaluates the rows of one chunk, compiled code those of more."""
    X = np.random.default_rng(2).uniform(size=(3000, 3))
    model = clone(estimator).fit(X[:400])
    np.testing.assert_array_equal(model.transform(X[:n_rows]), model.transform(X)[:n_rows])


def test_single_polynomials_agree_with_the_list(fitted):
    model, X = fitted
    values = model.generators_.evaluate(X)
    for g, polynomial in enumerate(model.generators_):
        np.testing.assert_allclose(polynomial.evaluate(X), values[:, g], atol=1e-9)


def test_transform_is_the_absolute_value(fitted):
    model, X = fitted
    np.testing.assert_array_equal(model.transform(X), np.abs(model.generators_.evaluate(X)))


@pytest.mark.parametrize("scaler", [MinMaxScaler(), StandardScaler(), MaxAbsScaler(), RobustScaler()])
def test_in_units_composes_exactly_with_a_scaler(fitted, scaler):
    model, X = fitted
    raw = X * [1e3, 1e-2, 5.0] + [250.0, -0.03, 1.0]
    scaler.fit(raw)
    G = model.generators_
    at_raw, at_scaled = G.in_units(scaler).evaluate(raw), G.evaluate(scaler.transform(raw))
    size = np.abs(at_scaled).max() + np.abs(G.coef).max()
    np.testing.assert_allclose(at_raw, at_scaled, atol=1e-9 * size)
    np.testing.assert_allclose(direct(G.in_units(scaler), raw), at_scaled, atol=1e-7 * size)


def test_in_units_of_the_identity_changes_nothing(fitted):
    G = fitted[0].generators_
    np.testing.assert_allclose(G.in_units((1.0, 0.0)).coef, G.coef, atol=1e-14)


def test_in_units_agrees_with_sympy_substitution():
    X = np.random.default_rng(0).uniform(size=(100, 2))
    X[:, 1] = X[:, 0] ** 3
    G = OAVI(1e-12, max_degree=3).fit(X).generators_
    scale, offset = np.array([2.0, 0.5]), np.array([-1.0, 3.0])
    x = sympy.symbols("x0 x1")
    for before, after in zip(G.to_sympy(), G.in_units((scale, offset)).to_sympy(), strict=True):
        substituted = before.subs({x[0]: 2 * x[0] - 1, x[1]: x[1] / 2 + 3}, simultaneous=True)
        difference = sympy.Poly(sympy.expand(substituted - after), *x)
        assert max(abs(float(c)) for c in difference.coeffs()) < 1e-12


def test_in_units_needs_a_scaler_it_knows():
    G = OAVI(1e-3).fit(np.random.default_rng(0).uniform(size=(20, 2))).generators_
    with pytest.raises(TypeError, match="MinMaxScaler"):
        G.in_units("metres")
    with pytest.raises(ValueError, match="number of columns"):
        G.in_units(MinMaxScaler().fit(np.ones((2, 3))))


def test_affine_map_of_scalers_without_centring():
    X = np.array([[1.0, 2.0], [3.0, 8.0]])
    for scaler in (StandardScaler(with_mean=False), StandardScaler(with_std=False), RobustScaler(with_centering=False)):
        scale, offset = affine_map(scaler.fit(X), 2)
        np.testing.assert_allclose(scale * X + offset, scaler.transform(X))


def test_monic_divides_by_the_leading_coefficient(fitted):
    model, X = fitted
    monic = model.generators_.monic()
    np.testing.assert_allclose(monic.leading_coef, 1.0)
    np.testing.assert_allclose(np.mean(monic.evaluate(X) ** 2, axis=0), monic.mse, rtol=1e-5, atol=1e-12)


@pytest.mark.slow
def test_text_latex_and_sympy_agree():
    X = np.random.default_rng(0).uniform(size=(100, 2))
    X[:, 1] = 0.5 * X[:, 0] ** 2 + 0.25
    polynomial = OAVI(1e-12, max_degree=2).fit(X).generators_[0]
    assert str(polynomial) == "x0^2 - 2*x1 + 0.5"
    assert polynomial.to_latex() == "x_{0}^{2} - 2 x_{1} + 0.5"
    x0, x1 = sympy.symbols("x0 x1")
    assert sympy.simplify(polynomial.to_sympy() - (x0**2 - 2 * x1 + 0.5)).is_zero or float(
        abs(polynomial.to_sympy().subs({x0: 0.3, x1: 0.7}) - (0.09 - 1.4 + 0.5))
    ) == pytest.approx(0.0, abs=1e-9)


def test_latex_escapes_names_and_powers_of_ten():
    X = np.random.default_rng(0).uniform(size=(100, 2))
    X[:, 1] = 1e-7 * X[:, 0]
    polynomial = OAVI(1e-20, max_degree=1, boost="ihb", solver="cg").fit(X).generators_[0].renamed(["a_b", "flux"])
    assert polynomial.to_latex() == r"\mathrm{flux} - 1 \cdot 10^{-7} \mathrm{a\_b}"


def test_indexing_slices_and_iteration(fitted):
    model, X = fitted
    G = model.generators_
    assert len(list(G)) == len(G) == len(G[:])
    assert G[-1].mse == G.mse[-1]
    np.testing.assert_array_equal(G[1:3].evaluate(X), G.evaluate(X)[:, 1:3])
    np.testing.assert_array_equal(G[[2, 0]].mse, G.mse[[2, 0]])
    with pytest.raises(IndexError):
        G[len(G)]


def test_printing_is_short_for_long_lists():
    G = VCA(0.01).fit(np.random.default_rng(0).uniform(size=(200, 8))).generators_
    assert len(G) > 20
    assert str(G).count("\n") == 20
    assert f"and {len(G) - 20} more" in str(G)


def test_sparsity_counts_exact_zeros_below_the_leading_term():
    X = np.random.default_rng(0).uniform(size=(100, 2))
    X[:, 1] = X[:, 0] ** 2
    model = OAVI(1e-10, max_degree=2).fit(X)
    # x0^2 - x1 over O = {1, x0, x1}; then x0*x1 and x1^2 stay in O.
    assert [str(g) for g in model.generators_] == ["x0^2 - x1"]
    assert model.generators_.sparsity == pytest.approx(2 / 3)


@pytest.mark.slow
def test_vca_refuses_to_write_out_a_huge_expansion():
    X = np.outer(np.random.default_rng(0).uniform(size=300), np.linspace(0.5, 1.0, 100))
    model = VCA(1e-12, max_degree=4).fit(X)
    assert len(model.generators_.form.layers) == 4
    assert model.generators_.evaluate(X).shape == (300, len(model.generators_))
    with pytest.raises(ValueError, match="evaluate"):
        _ = model.generators_.coef
    assert "too many to write out" in str(model.generators_)
    assert len(model.get_feature_names_out()) == len(model.generators_)


def test_useless_products_of_vca_are_written_as_zero():
    X = np.random.default_rng(0).uniform(size=(100, 2))
    G = PublishedVCA(0.01).fit(X).generators_
    zero = np.abs(G.coef).max(axis=1) == 0.0
    assert zero.sum() == 1
    assert str(G[int(np.flatnonzero(zero)[0])]) == "0"


def test_components_of_vca_are_orthonormal(fitted):
    X = fitted[1]
    for normalization, length in (("unit", len(X)), ("mean-square", 1.0)):
        F = VCA(1e-3, normalization=normalization, max_degree=2).fit(X).components_.evaluate(X)
        F = np.column_stack([np.full(len(X), 1 / np.sqrt(length)), F])
        np.testing.assert_allclose(F.T @ F / len(X) * length, np.eye(F.shape[1]), atol=1e-8)


def test_no_polynomials_have_empty_everything():
    model = OAVI(1e-6, max_degree=1).fit(np.random.default_rng(0).uniform(size=(100, 3)))
    G = model.generators_
    assert (len(G), G.degree, G.sparsity, str(G)) == (0, 0, 0.0, "no polynomials")
    assert model.transform(np.zeros((5, 3))).shape == (5, 0)
    assert G.coef.shape == (0, 4)
    assert list(model.get_feature_names_out()) == []


def test_joined_polynomials_can_be_written_in_other_units():
    X = np.random.default_rng(0).uniform(1.0, 2.0, size=(50, 3))
    scaler = MinMaxScaler().fit(X)
    exponents, coef = np.array([[1, 2, 0], [0, 0, 1]]), np.array([1.0, -1.0])  # x0*x1^2 - x2, without the divisors
    joined = join_polynomials([Polynomial(exponents, coef, ("x0", "x1", "x2"), 0.0, 0.0, 0, Status.VANISHING)])
    assert joined.form.is_closed
    expected = joined.evaluate(scaler.transform(X))
    np.testing.assert_allclose(joined.in_units(scaler).evaluate(X), expected, atol=1e-12)
