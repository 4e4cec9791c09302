"""Models from shared passes are those of separate fits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from watched import Watched

from vanishing import ABM, AVI, OAVI, VCA, RangeWarning, ideal_path
from vanishing.ideals.path import fit_together
from vanishing.rows.arrays import as_rows

DENSE = {"solver": "cg", "boost": "ihb"}
SOLVERS = {
    "cg": DENSE,
    "agd": {"solver": "agd", "boost": "ihb"},
    "bpcg": {"solver": "bpcg", "boost": "wihb"},
}
PSIS = [0.1, 0.01, 1e-3, 1e-4]


def surface(n_samples, seed=0):
    """Points near a surface of degree 2 in three dimensions."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_samples, 3))
    X[:, 2] = 0.5 * X[:, 0] * X[:, 1] + 0.3 * X[:, 0] + 0.01 * rng.random(n_samples)
    return X


@pytest.fixture(name="X")
def surface_data():
    return surface(200)


def assert_same_model(found, wanted, X, *, values=True):
    assert len(found.generators_) == len(wanted.generators_)
    assert (found.n_basis_, found.degree_, found.complete_) == (wanted.n_basis_, wanted.degree_, wanted.complete_)
    if hasattr(wanted, "order_ideal_"):
        assert list(found.order_ideal_) == list(wanted.order_ideal_)
        assert found.n_undecided_ == wanted.n_undecided_
    if values:
        # Absolute values: an eigenvector has no sign.
        np.testing.assert_allclose(found.transform(X), wanted.transform(X), rtol=0.0, atol=1e-7)


def assert_path_is_separate_fits(X, psis, sample_weight=None, *, values=True, **parameters):
    path = ideal_path(OAVI(**parameters), X, psis, sample_weight)
    assert [model.psi for model in path] == list(psis)
    for model in path:
        assert_same_model(model, OAVI(model.psi, **parameters).fit(X, sample_weight=sample_weight), X, values=values)
        shares = np.ones(len(X)) if sample_weight is None else sample_weight
        mean_square = shares @ model.generators_.evaluate(X) ** 2 / shares.sum()
        rounding = 1e-30 * np.abs(model.generators_.coef).sum(axis=1) ** 2 * len(X)
        assert (mean_square <= model.psi * (1 + 1e-8) + rounding).all()
    return path


# --- ideal_path ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", ["deglex", "degcolex"])
@pytest.mark.parametrize("feature_order", [None, "pearson", [2, 0, 1]], ids=str)
def test_a_path_is_a_list_of_separate_fits(X, solver, order, feature_order):
    path = assert_path_is_separate_fits(
        X, PSIS, values=solver != "bpcg", order=order, feature_order=feature_order, **SOLVERS[solver]
    )
    assert len({model.n_basis_ for model in path}) == len(PSIS)


@pytest.mark.parametrize("parameters", [{"boost": "none", "max_degree": 3}, {"tau": 3.0}, {"polish": False}], ids=str)
def test_other_parameters_mean_what_they_do_in_a_separate_fit(X, parameters):
    assert_path_is_separate_fits(X, PSIS, values=False, **parameters)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whole", [True, False])
def test_sample_weights(X, solver, whole):
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, len(X)).astype(float) if whole else rng.random(len(X))
    assert_path_is_separate_fits(X, PSIS, weights, values=solver != "bpcg", **SOLVERS[solver])
    if whole:
        repeated = ideal_path(OAVI(**DENSE), np.repeat(X, weights.astype(int), axis=0), PSIS)
        for model, other in zip(ideal_path(OAVI(**DENSE), X, PSIS, weights), repeated, strict=True):
            assert_same_model(model, other, X)


def test_psis_may_be_unsorted_and_repeated(X):
    path = assert_path_is_separate_fits(X, [1e-4, 0.1, 1e-3, 1e-3, 0.1], **DENSE)
    np.testing.assert_array_equal(path[1].transform(X), path[4].transform(X))
    np.testing.assert_array_equal(path[2].transform(X), path[3].transform(X))
    assert path[2].generators_ is not path[3].generators_


def test_one_psi_may_be_given_as_a_number(X):
    (model,) = ideal_path(OAVI(**DENSE), X, 0.01)
    assert_same_model(model, OAVI(0.01, **DENSE).fit(X), X)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["agd", "bpcg"])
def test_psi_below_the_rounding_of_a_gram_is_decided_on_triangular_factors(X, solver):
    psis = [0.0, 1e-8, 1e-12, 1e-16, 1e-20, 1e-3]
    assert_path_is_separate_fits(X, psis, values=solver != "bpcg", max_degree=4, **SOLVERS[solver])
    rows = Watched(as_rows(X))
    path = ideal_path(OAVI(max_degree=4, **SOLVERS[solver]), rows, psis)
    assert rows.n_passes > max(model.degree_ for model in path)  # a factor takes a pass of its own


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-8, 1e-6])
def test_tiny_psis_near_a_curve(noise):
    rng = np.random.default_rng(2)
    x = 0.9 * rng.random(100)
    curve = np.column_stack([x, x**2, x**3]) + noise * rng.random((100, 3))
    psis = [0.0, 1e-10, 1e-13, 1e-15, 1e-18, 1e-30]
    path = assert_path_is_separate_fits(curve, psis, solver="agd", boost="ihb", max_degree=5)
    if noise == 0.0:
        for model in path:  # all find x0^2 - x1, x0 x1 - x2 and x1^2 - x0 x2
            assert sum(model.generators_.degrees == 2) == 3


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["cg", "bpcg"])
def test_wide_borders_are_examined_in_blocks(solver):
    """Columns of different widths, so that the borders of different psi differ, and their blocks do, too."""
    from vanishing.engine.construction import BLOCK

    X = np.random.default_rng(3).random((300, 40)) * np.linspace(0.4, 1.0, 40)
    path = assert_path_is_separate_fits(
        X, [0.06, 0.03, 0.02, 0.013], values=solver != "bpcg", max_degree=2, **SOLVERS[solver]
    )
    widths = [model.n_basis_ + len(model.generators_) - 41 for model in path]
    assert len(set(widths)) == len(widths)
    assert widths[0] < BLOCK < widths[-1]


@pytest.mark.slow
def test_blocks_of_a_later_degree_build_on_what_was_kept():
    from vanishing.engine.construction import BLOCK

    X = np.random.default_rng(11).random((900, 15))
    path = assert_path_is_separate_fits(X, [1e-3, 5e-3, 2e-3], max_degree=3, **DENSE)
    cubic = [sum(model.order_ideal_.exponents.sum(axis=1) == 3) + sum(model.generators_.degrees == 3) for model in path]
    assert max(cubic) > BLOCK
    assert len(set(cubic)) > 1


def test_only_the_psis_that_overflow_warn_and_the_others_are_complete(X):
    psis = [1e-9, 0.1, 1e-10, 1e-2]
    with pytest.warns(ConvergenceWarning, match="max_terms=40") as caught:
        path = ideal_path(OAVI(max_terms=40, **DENSE), X, psis)
    assert ["1e-09" in str(warning.message) for warning in caught] == [True, False]
    assert ["1e-10" in str(warning.message) for warning in caught] == [False, True]
    assert [model.complete_ for model in path] == [False, True, False, True]
    for psi, model in zip(psis, path, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            wanted = OAVI(psi, max_terms=40, **DENSE).fit(X)
        assert_same_model(model, wanted, X)
        assert model.n_basis_ + len(model.generators_) <= 40


def test_max_degree_cuts_off_what_is_not_complete(X):
    path = assert_path_is_separate_fits(X, [1e-9, 0.1, 1e-3], max_degree=2, **DENSE)
    assert [model.complete_ for model in path] == [False, True, False]
    assert max(model.generators_.degree for model in path) == 2


def test_max_degree_may_be_exactly_enough():
    x = np.linspace(0.0, 1.0, 50)
    path = assert_path_is_separate_fits(np.column_stack([x, x**2]), [0.2, 1e-6], max_degree=3, **DENSE)
    assert [model.complete_ for model in path] == [True, True]


def test_one_row(X):
    path = assert_path_is_separate_fits(X[:1], [0.1, 1e-9, 0.0], **DENSE)
    assert [(len(model.generators_), model.n_basis_) for model in path] == [(3, 1)] * 3


def test_fewer_rows_than_columns():
    X = np.random.default_rng(4).random((6, 12))
    path = assert_path_is_separate_fits(X, [1e-12, 0.0], solver="agd", boost="ihb")
    assert [model.n_basis_ for model in path] == [6, 6]


@pytest.mark.parametrize("order", ["deglex", "degcolex"])
def test_constant_and_repeated_columns(X, order):
    data = np.column_stack([np.full(200, 0.5), X[:, :2], np.zeros(200), X[:, 0]])
    path = assert_path_is_separate_fits(data, [0.01, 1e-5, 0.0], max_degree=3, order=order, **SOLVERS["agd"])
    for model in path:
        assert sum(model.generators_.degrees == 1) == 3


@pytest.mark.slow
def test_names_of_columns_are_kept(X):
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    for model in ideal_path(OAVI(**DENSE), frame, PSIS):
        assert list(model.feature_names_in_) == ["width", "height", "depth"]
        assert model.n_features_in_ == 3
        wanted = OAVI(model.psi, **DENSE).fit(frame)
        assert list(model.get_feature_names_out()) == list(wanted.get_feature_names_out())
        assert list(model.order_ideal_) == list(wanted.order_ideal_)
        assert_same_model(model, wanted, frame)
        with pytest.raises(ValueError, match="feature names"):
            model.transform(frame.rename(columns={"width": "length"}))


def test_the_number_of_threads_does_not_change_a_bit_of_a_path():
    X = surface(100_000)
    one, two = (ideal_path(OAVI(n_jobs=n, **DENSE), X, PSIS) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.generators_.coef, b.generators_.coef)
        np.testing.assert_array_equal(a.generators_.exponents, b.generators_.exponents)


def test_each_pass_over_the_rows_serves_all_psis(X):
    rows = Watched(as_rows(X))
    path = ideal_path(OAVI(**DENSE), rows, PSIS)
    assert rows.n_passes == max(model.degree_ for model in path)


def test_a_path_refuses_what_a_fit_refuses(X):
    bad = X.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*column 1.*row 7"):
        ideal_path(OAVI(), bad, PSIS)
    with pytest.raises(ValueError, match="max_terms=3"):
        ideal_path(OAVI(max_terms=3), X, PSIS)
    with pytest.raises(ValueError, match="solver"):
        ideal_path(OAVI(solver="newton"), X, PSIS)
    with pytest.raises(ValueError, match="sample_weight"):
        ideal_path(OAVI(), X, PSIS, np.ones(3))
    with pytest.warns(RangeWarning, match="'x0'") as caught:
        ideal_path(OAVI(**DENSE), 2.0 * X, [1.0, 0.5])
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("psis", "message"),
    [
        ([], "psis must be a list"),
        ([[0.1]], "psis must be a list"),
        ([0.1, -1.0], "at least 0"),
        ([0.1, np.nan], "psis must be a number"),
        ([np.inf], "finite"),
        (["0.1"], "psis must be a number"),
        (None, "psis must be a number"),
        ([True], "psis must be a number"),
    ],
    ids=str,
)
def test_wrong_psis_are_refused(X, psis, message):
    with pytest.raises(ValueError, match=message):
        ideal_path(OAVI(), X, psis)


@pytest.mark.parametrize("algorithm", [ABM(max_degree=4), AVI(max_degree=4, pivot_tol=0.01)], ids=repr)
def test_a_path_of_every_algorithm_that_visits_monomials_is_separate_fits(X, algorithm):
    weights = np.random.default_rng(1).random(len(X))
    path = ideal_path(algorithm, X, PSIS, weights)
    assert [model.psi for model in path] == PSIS
    for model in path:
        assert type(model) is type(algorithm)
        assert_same_model(model, clone(algorithm).set_params(psi=model.psi).fit(X, sample_weight=weights), X)
    assert not hasattr(algorithm, "generators_")


def test_a_path_refuses_what_shares_no_passes_before_it_reads_a_row(X):
    with pytest.raises(ValueError, match=r"VCA shares no passes between psis.*fit it once for every psi"):
        ideal_path(VCA(), X, PSIS)
    with pytest.raises(ValueError, match="an object, not a class"):
        ideal_path(OAVI, X, PSIS)
    with pytest.raises(ValueError, match="below 1"):
        ideal_path(ABM(), "no rows", [0.1, 1.0])


# --- fit_together -------------------------------------------------------------------------------------------------

SIZES = (2, 40, 700)
MEMBERS = [(0, 1, 2), (2,), (1, 2), (0, 1), (1,), (0, 2)]
ALGORITHMS = {
    "OAVI-cg": OAVI(**DENSE),
    "OAVI-agd-degcolex": OAVI(solver="agd", boost="ihb", order="degcolex"),
    "OAVI-permuted": OAVI(feature_order=[2, 0, 1], **DENSE),
    "ABM": ABM(),
    "AVI": AVI(max_degree=3),
    "VCA": VCA(max_degree=2),
    "VCA-mean-square": VCA(max_degree=2, normalization="mean-square"),
}


def fitted_together(template, X, weights, psis):
    """Models for every psi and every member, with the rows of each member."""
    pieces = np.split(np.arange(len(X)), np.cumsum(SIZES)[:-1])
    parts = [as_rows(X[p], None if weights is None else weights[p]) for p in pieces]
    cases = [(psi, member) for psi in psis for member in MEMBERS]
    models = []
    for psi, _ in cases:
        model = type(template)(**{**template.get_params(), "psi": psi})
        model.n_features_in_ = X.shape[1]
        models.append(model)
    fit_together(models, parts, [member for _, member in cases])
    return [(model, np.concatenate([pieces[k] for k in m])) for model, (_, m) in zip(models, cases, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_fits_to_parts_are_fits_to_their_rows_together(name, weighted):
    template = ALGORITHMS[name]
    X = surface(sum(SIZES), seed=5)
    weights = np.random.default_rng(6).random(len(X)) if weighted else None
    fits = fitted_together(template, X, weights, [0.02, 1e-3, 2e-4])
    for model, rows in fits:
        wanted = type(template)(**model.get_params())
        wanted.fit(X[rows], sample_weight=None if weights is None else weights[rows])
        assert_same_model(model, wanted, X)
    assert len({len(model.generators_) for model, _ in fits}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["OAVI-agd-degcolex", "ABM", "AVI"])
def test_parts_at_psis_below_the_rounding_of_a_gram(name):
    rng = np.random.default_rng(7)
    x = rng.random(sum(SIZES))
    X = np.column_stack([x, x**2])
    template = ALGORITHMS[name]
    for model, rows in fitted_together(template, X, None, [1e-18, 0.0]):
        wanted = type(template)(**model.get_params()).fit(X[rows])
        assert [str(p) for p in model.generators_.monic()][:1] == [str(p) for p in wanted.generators_.monic()][:1]
        assert str(model.generators_.monic()[0]).replace("1*", "") in {"x0^2 - x1", "x1 - x0^2"}
        np.testing.assert_allclose(model.transform(X[rows]), 0.0, atol=1e-8)


@pytest.mark.slow
def test_parts_may_be_so_different_that_their_columns_are_visited_in_different_orders():
    rng = np.random.default_rng(8)
    X = surface(sum(SIZES), seed=8)
    X[:42, 0] = X[:42, 1] + 0.1 * rng.random(42)  # in the first two parts other columns are correlated
    X = np.clip(X, 0.0, 1.0)
    template = OAVI(feature_order="pearson", **DENSE)
    orders = set()
    for model, rows in fitted_together(template, X, None, [0.02, 1e-3]):
        wanted = OAVI(model.psi, feature_order="pearson", **DENSE).fit(X[rows])
        assert_same_model(model, wanted, X)
        orders.add(tuple(list(wanted.order_ideal_)[1:4]))
    assert len(orders) > 1


def test_a_part_of_large_weight_counts_for_more():
    X = surface(sum(SIZES), seed=9)
    X[:2] = [[0.9, 0.1, 1.0], [0.1, 0.9, 1.0]]  # far from the surface
    weights = np.r_[1e3, 1e3, np.ones(len(X) - 2)]

    def largest_mean_square(model):
        return (weights @ model.generators_.evaluate(X) ** 2 / weights.sum()).max()

    psi = 1e-3
    light = dict(zip(MEMBERS, fitted_together(OAVI(**DENSE), X, np.ones(len(X)), [psi]), strict=True))
    heavy = dict(zip(MEMBERS, fitted_together(OAVI(**DENSE), X, weights, [psi]), strict=True))
    assert_same_model(heavy[2,][0], light[2,][0], X)
    assert largest_mean_square(heavy[0, 1, 2][0]) <= psi * (1 + 1e-8)
    assert largest_mean_square(light[0, 1, 2][0]) > 2 * psi


def test_each_member_warns_for_itself_when_its_ideal_overflows():
    X = surface(sum(SIZES), seed=10)
    template = OAVI(max_terms=20, **DENSE)
    with pytest.warns(ConvergenceWarning, match="max_terms=20") as caught:
        fits = fitted_together(template, X, None, [0.1, 1e-6])
    assert all(model.complete_ for model, _ in fits[: len(MEMBERS)])
    assert len(caught) == sum(not model.complete_ for model, _ in fits) > 0
    for model, rows in fits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert_same_model(model, OAVI(model.psi, max_terms=20, **DENSE).fit(X[rows]), X)


@pytest.mark.parametrize("algorithm", [OAVI, ABM, AVI, VCA])
def test_wrong_parameters_are_refused_before_anything_is_fitted(algorithm, X):
    models = [algorithm(psi=0.01), algorithm(psi=-1.0)]
    for model in models:
        model.n_features_in_ = 3
    with pytest.raises(ValueError, match="psi"):
        fit_together(models[::-1], [as_rows(X)], [(0,), (0,)])
    assert not hasattr(models[0], "generators_")
