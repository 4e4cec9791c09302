"""Wrong input gives a clear error, unwise input one warning with the fix in it, hostile input a valid model."""

from __future__ import annotations

import pickle
import re
import signal
import threading
import warnings
from contextlib import contextmanager

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer
from threadpoolctl import threadpool_info

from vanishing import (
    ABM,
    AVI,
    L1SVC,
    OAVI,
    VCA,
    LawFinder,
    PerClass,
    RangeWarning,
    TableEncoder,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
    discover,
)
from vanishing.detection import Rules
from vanishing.rows.arrays import ArrayRows

ALL = pytest.mark.parametrize("algorithm", [OAVI, ABM, AVI, VCA])
MONOMIAL = pytest.mark.parametrize("algorithm", [OAVI, ABM, AVI])
PAIRS = {"none": ("cg", "pcg", "bpcg", "agd"), "ihb": ("cg", "agd"), "wihb": ("omp", "cg", "pcg", "bpcg")}
OUTSIDE = "ignore::vanishing.RangeWarning"
UNDECIDED = "ignore::sklearn.exceptions.ConvergenceWarning"


@pytest.fixture(name="X")
def unit_data() -> np.ndarray:
    return np.random.default_rng(0).random((60, 3))


@contextmanager
def at_most(seconds: float):
    """Fail, rather than hang, when the body takes longer (the compiled loops return every few seconds)."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        pytest.skip("needs SIGALRM")

    def give_up(*_):
        raise TimeoutError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def assert_valid(model, X, psi) -> None:
    """The generators vanish (psi or rounding) and all numbers are finite."""
    values = model.generators_.evaluate(X)
    assert values.shape == (len(X), len(model.generators_))
    assert np.all(np.mean(values**2, axis=0) <= psi * (1 + 1e-8) + 1e-24)
    assert np.isfinite(model.generators_.coef).all()


# --- NaN, infinity, shapes, types -------------------------------------------------------------------------------


@pytest.mark.slow
@ALL
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_non_finite_input_names_the_column_and_row(algorithm, value, word, X):
    bad = X.copy()
    bad[7, 1] = value
    with pytest.raises(ValueError, match=rf"{word}.*column 1.*row 7"):
        algorithm().fit(bad)
    with pytest.raises(ValueError, match=rf"{word}.*column 1.*row 7"):
        algorithm().fit(X).transform(bad)
    with pytest.raises(ValueError, match=rf"{word}.*'height'"):
        algorithm().fit(pd.DataFrame(bad, columns=["width", "height", "depth"]))
    with pytest.raises(ValueError, match=word):
        algorithm().fit(X).generators_.evaluate(bad)


@ALL
def test_infinities_of_both_signs_give_the_error_and_no_other_warning(algorithm, X):
    bad = X.copy()
    bad[[3, 4], 1] = np.inf, -np.inf
    model = algorithm().fit(X)
    for call in (algorithm().fit, model.transform):
        with pytest.raises(ValueError, match="column 1"):
            call(bad)


@ALL
def test_missing_values_of_data_frames_name_the_column(algorithm):
    with pytest.raises(ValueError, match="'b'"):
        algorithm().fit(pd.DataFrame({"a": [0.1, 0.2], "b": pd.array([1, None], dtype="Int64")}))
    with pytest.raises(ValueError, match="'a'"):
        algorithm().fit(pl.DataFrame({"a": [0.1, None], "b": [0.3, 0.4]}))


@ALL
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([0.1, 0.2], "Expected 2D array"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        ([["a", "b"]], "numeric"),
        (np.zeros((3, 2), dtype=complex), "Complex"),
    ],
)
def test_data_of_wrong_shape_or_type_are_refused(algorithm, data, message):
    with pytest.raises(ValueError, match=message):
        algorithm().fit(data)


@ALL
def test_other_columns_than_fitted_are_refused(algorithm, X):
    model = algorithm(psi=1e-3).fit(X)
    for wrong in (X[:, :2], X[:, :1], np.hstack([X, X])):
        with pytest.raises(ValueError, match="3 features"):
            model.transform(wrong)
        with pytest.raises(ValueError, match="3 variables"):
            model.generators_.evaluate(wrong)
        with pytest.raises(ValueError, match=r"3|columns|variables"):
            model.generators_[0].evaluate(wrong)
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["a"])


@ALL
def test_an_unfitted_estimator_says_so(algorithm, X):
    with pytest.raises(NotFittedError):
        algorithm().transform(X)
    with pytest.raises(NotFittedError):
        algorithm().get_feature_names_out()


@ALL
@pytest.mark.filterwarnings(OUTSIDE)
@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u1", "i8", "?", "O"])
def test_every_real_dtype_gives_the_model_of_its_float64_values(algorithm, dtype, X):
    data = np.round(4 * X).astype(dtype) if dtype != "f4" else X.astype("f4")
    model, wanted = (
        algorithm(psi=1e-3, max_degree=3).fit(data),
        algorithm(psi=1e-3, max_degree=3).fit(data.astype("f8")),
    )
    np.testing.assert_array_equal(model.transform(data), wanted.transform(data.astype("f8")))


@ALL
def test_memory_layout_does_not_matter_and_the_input_is_not_written_to(algorithm, X, tmp_path):
    wanted = algorithm(psi=1e-3).fit(X).transform(X)
    fortran = np.asfortranarray(X)
    fortran.flags.writeable = False
    strided = np.repeat(X, 2, axis=0)[::2]
    np.save(tmp_path / "x.npy", X)
    for same in (fortran, strided, np.load(tmp_path / "x.npy", mmap_mode="r"), X.tolist()):
        np.testing.assert_array_equal(algorithm(psi=1e-3).fit(same).transform(same), wanted)


@ALL
def test_mixed_data_frames_work(algorithm, X):
    frame = pd.DataFrame({"a": X[:, 0] > 0.5, "b": X[:, 1].astype("f4"), "c": pd.array([0, 1] * 30, dtype="Int64")})
    out = algorithm().set_output(transform="pandas").fit_transform(frame)
    assert list(out.index) == list(frame.index)
    assert len(set(out.columns)) == out.shape[1] > 0
    np.testing.assert_array_equal(out.to_numpy(), algorithm().fit_transform(frame.astype(float).to_numpy()))


# --- Parameters -------------------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("psi", [-1e-9, -1, np.nan, np.inf, "0.1", None, True, 1j, np.array([0.1])])
def test_psi_must_be_a_number_that_is_not_negative(algorithm, psi, X):
    with pytest.raises(ValueError, match="psi must be"):
        algorithm(psi=psi).fit(X)


@pytest.mark.parametrize("algorithm", [ABM, AVI])
@pytest.mark.parametrize("psi", [1, 10.0, 1e6])
def test_psi_for_which_the_constant_vanishes_is_refused(algorithm, psi, X):
    with pytest.raises(ValueError, match="below 1"):
        algorithm(psi=psi).fit(X)


@pytest.mark.parametrize("algorithm", [OAVI, VCA])
@pytest.mark.parametrize("psi", [1, 10.0, 1e6])
def test_a_huge_psi_makes_every_column_vanish(algorithm, psi, X):
    model = algorithm(psi=psi).fit(X)
    assert (len(model.generators_), model.n_basis_, model.complete_) == (3, 1, True)
    assert_valid(model, X, psi)


@pytest.mark.parametrize("tau", [np.nextafter(2.0, 0.0), 1.0, -5, np.nan, "many"])
def test_tau_must_be_at_least_2(tau, X):
    with pytest.raises(ValueError, match="tau must be"):
        OAVI(tau=tau).fit(X)


@pytest.mark.parametrize("solver", ["cg", "pcg", "bpcg"])
def test_conditional_gradients_need_a_ball(solver, X):
    with pytest.raises(ValueError, match=r"tau must be finite for solver='.*tau=inf works with solver='omp' or 'agd'"):
        OAVI(solver=solver, tau=np.inf).fit(X)


def test_accelerated_gradients_take_an_infinite_tau(X):
    assert len(OAVI(solver="agd", boost="ihb", tau=np.inf).fit(X).generators_) > 0


@pytest.mark.parametrize("solver", ["cg", "pcg", "bpcg"])
def test_an_absurd_tau_is_survived_or_refused(solver, X):
    try:
        model = OAVI(1e-3, solver=solver, boost="none", tau=1e300, max_iter=1000).fit(X)
    except ValueError as error:
        assert "tau" in str(error)  # noqa: PT017
    else:
        assert_valid(model, X, 1e-3)


@pytest.mark.parametrize("boost", PAIRS)
@pytest.mark.parametrize("solver", PAIRS["none"])
def test_every_solver_and_boost_works_or_says_with_whom_it_would(solver, boost, X):
    model = OAVI(1e-4, solver=solver, boost=boost)
    if solver in PAIRS[boost]:
        model.fit(X)
        assert (len(model.generators_), model.n_basis_, model.n_undecided_) == (15, 20, 0)
        assert_valid(model, X, 1e-4)
    else:
        with pytest.raises(ValueError, match=f"'{boost}' works with solver '{PAIRS[boost][0]}'.*not with '{solver}'"):
            model.fit(X)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("solver", "newton"),
        ("boost", None),
        ("order", "lex"),
        ("feature_order", "random"),
        ("feature_order", [0, 0, 1]),
        ("feature_order", [0, 1]),
        ("feature_order", [0, 1, 3]),
        ("feature_order", 5),
        ("max_degree", 0),
        ("max_degree", 2.0),
        ("max_degree", True),
        ("max_terms", 0),
        ("max_iter", 0),
        ("max_iter", 10.5),
        ("tol", -0.1),
        ("tol", np.nan),
        ("tol", 1.0),
        ("n_jobs", 0),
        ("n_jobs", "two"),
    ],
)
def test_wrong_parameters_are_named(parameter, value, X):
    with pytest.raises(ValueError, match=parameter):
        OAVI(**{parameter: value}).fit(X)


def test_wrong_parameters_of_vca_are_named(X):
    with pytest.raises(ValueError, match="normalization must be one of"):
        VCA(normalization="no").fit(X)


@pytest.mark.parametrize("pivot_tol", [0.0, 1e-16, 2.0])
def test_extreme_pivot_tolerances_of_avi_give_a_valid_model(pivot_tol, X):
    model = AVI(1e-3, pivot_tol=pivot_tol, max_degree=4).fit(X)
    assert_valid(model, X, 1e-3)


def test_a_solver_that_gives_up_warns_once_with_the_fix(X):
    with pytest.warns(ConvergenceWarning, match="without proof.*wihb.*max_iter") as caught:
        model = OAVI(1e-4, solver="cg", boost="none", max_iter=1, max_degree=3).fit(X)
    assert len(caught) == 1
    assert model.n_undecided_ > 0
    assert_valid(model, X, 1e-4)
    assert OAVI(1e-4, max_degree=3).fit(X).n_undecided_ == 0  # the cure that the warning names


def test_the_solver_limit_does_not_touch_boosted_decisions(X):
    for solver in ("cg", "pcg", "bpcg"):
        model = OAVI(1e-4, solver=solver, max_iter=1).fit(X)
        assert (len(model.generators_), model.n_undecided_) == (15, 0)
        assert_valid(model, X, 1e-4)


# --- Sample weights ---------------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize(
    "weights",
    [
        np.zeros(60),
        np.r_[-1.0, np.ones(59)],
        np.full(60, np.nan),
        np.full(60, np.inf),
        np.ones(59),
        np.ones((60, 1)),
        2.0,
    ],
    ids=["zeros", "negative", "nan", "inf", "short", "column", "scalar"],
)
def test_impossible_weights_are_refused(algorithm, weights, X):
    with pytest.raises(ValueError, match="sample_weight must"):
        algorithm().fit(X, sample_weight=weights)


@ALL
def test_rows_of_weight_0_do_not_count(algorithm, X):
    weights = np.r_[np.ones(20), np.zeros(40)]
    wanted = algorithm(psi=1e-3).fit(X[:20])
    model = algorithm(psi=1e-3).fit(X, sample_weight=weights)
    assert (model.n_basis_, len(model.generators_)) == (wanted.n_basis_, len(wanted.generators_))
    assert_valid(model, X[:20], 1e-3)


@ALL
@pytest.mark.parametrize("size", [1e307, 1e-200, 1e-310])
def test_weights_of_extreme_size_work_or_are_named(algorithm, size, X):
    try:
        model = algorithm(psi=1e-3, max_degree=2).fit(X, sample_weight=np.full(60, size))
    except ValueError as error:
        assert "weight" in str(error)  # noqa: PT017
    else:
        assert_valid(model, X, 1e-3)


# --- Degenerate data --------------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("psi", [0.005, 1e-9, 0.0])
def test_one_row_gives_one_generator_per_column(algorithm, psi, X):
    model = algorithm(psi=psi).fit(X[:1])
    assert (len(model.generators_), model.n_basis_, model.complete_) == (3, 1, True)
    assert_valid(model, X[:1], psi)
    assert model.transform(X[:1]).shape == (1, 3)


@ALL
def test_one_feature_gives_the_polynomial_with_the_points_as_roots(algorithm):
    points = np.array([[0.0], [0.25], [0.5], [1.0]])
    model = algorithm(psi=0).fit(points)
    assert (len(model.generators_), model.n_basis_) == (1, 4)
    coef = [model.generators_.monic().coef[0][model.generators_.exponents[:, 0] == d][0] for d in range(4, -1, -1)]
    np.testing.assert_allclose(coef, np.poly(points[:, 0]), atol=1e-12)


@ALL
@pytest.mark.parametrize("psi", [1e-3, 1e-8, 0.0])
def test_constant_duplicate_and_zero_columns_lead_linear_generators(algorithm, psi, X):
    data = np.column_stack([X[:, :2], X[:, 0], np.full(60, 0.5), np.zeros(60)])
    model = algorithm(psi=psi, max_degree=2).fit(data)
    assert np.sum(model.generators_.degrees == 1) == 3
    assert_valid(model, data, psi)
    linear = model.generators_[np.flatnonzero(model.generators_.degrees == 1)]
    # The three laws hold at new points of the same kind, and no other linear one does.
    fresh = np.array([[0.3, 0.9, 0.3, 0.5, 0.0], [0.8, 0.1, 0.8, 0.5, 0.0]])
    np.testing.assert_allclose(linear.evaluate(fresh), 0.0, atol=1e-10)


@ALL
@pytest.mark.parametrize("psi", [1e-3, 0.0])
def test_all_zero_data(algorithm, psi):
    model = algorithm(psi=psi).fit(np.zeros((5, 2)))
    assert model.n_basis_ == 1
    assert sorted(map(str, model.generators_.monic())) == ["x0", "x1"]


@ALL
@pytest.mark.parametrize("psi", [0.0, 1e-30, 5e-324])
def test_fewer_rows_than_features_is_the_ideal_of_the_points(algorithm, psi):
    data = np.random.default_rng(1).random((6, 12))
    with at_most(120):
        model = algorithm(psi=psi).fit(data)
    assert (model.n_basis_, model.complete_) == (6, True)
    assert_valid(model, data, psi)


@ALL
def test_no_generator_is_a_model_too(algorithm, X):
    model = algorithm(psi=1e-9, max_degree=1).fit(X)
    assert len(model.generators_) == 0
    assert model.transform(X).shape == (60, 0)
    assert model.get_feature_names_out().shape == (0,)
    assert model.generators_.in_units(MinMaxScaler().fit(X)).monic().evaluate(X).shape == (60, 0)
    assert model.generators_.to_sympy() == []
    assert (model.generators_.degree, model.generators_.sparsity, str(model.generators_)) == (0, 0.0, "no polynomials")
    assert model.set_output(transform="pandas").transform(X).shape == (60, 0)
    without_columns = pl.DataFrame(np.empty((60, 0)), schema=[], orient="row")  # with no rows either, in old Polars
    assert model.set_output(transform="polars").transform(X).shape == without_columns.shape


# --- Scale ------------------------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("scale", [2.0, -1.0, 1e6])
def test_data_outside_the_unit_cube_warn_once_and_work(algorithm, scale, X):
    with pytest.warns(RangeWarning, match=r"'x0'.*bounds.*MinMaxScaler") as caught:
        model = algorithm(psi=1e-3, max_degree=2).fit(scale * X)
    assert len(caught) == 1
    assert_valid(model, scale * X, 1e-3)


@ALL
def test_rounding_of_a_scaler_does_not_warn(algorithm, X):
    with warnings.catch_warnings(record=True) as caught:
        algorithm(max_degree=1).fit(X / X.max(axis=0) * (1 + 1e-15) - 1e-16)
    assert caught == []


@ALL
@pytest.mark.filterwarnings(OUTSIDE)
@pytest.mark.parametrize("psi", [0.005, 1e-13, 0.0])
@pytest.mark.parametrize("scale", [1e80, 1e100, 1e150, 1e200])
def test_overflow_is_an_error_or_a_valid_model_never_a_wrong_one(algorithm, psi, scale, X):
    try:
        model = algorithm(psi=psi, max_degree=3).fit(scale * X)
    except ValueError as error:
        assert "MinMaxScaler" in str(error)  # noqa: PT017
    else:
        # 60 points in general position: no polynomial of degree 2 vanishes on them at this scale but for a small one.
        with np.errstate(over="ignore", invalid="ignore"):
            values = model.generators_.evaluate(scale * X)
        assert np.isfinite(values).all()
        assert algorithm is VCA or len(model.generators_) == 0


@ALL
@pytest.mark.parametrize("psi", [1e-3, 1e-20, 0.0])
def test_tiny_data_give_a_valid_model(algorithm, psi, X):
    model = algorithm(psi=psi, max_degree=3).fit(1e-6 * X)
    assert_valid(model, 1e-6 * X, psi)


# --- Small psi, wide borders --------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("psi", [1e-6, 0.0])
def test_a_border_that_explodes_stops_with_a_warning(algorithm, psi):
    data = np.random.default_rng(0).random((300, 200))
    with at_most(120), pytest.warns(ConvergenceWarning, match="border of degree 2.*max_terms=.*Raise psi") as caught:
        model = algorithm(psi=psi).fit(data)
    assert len(caught) == 1
    assert not model.complete_
    assert model.degree_ == 1
    assert len(model.generators_) + model.n_basis_ <= model.max_terms
    assert_valid(model, data, psi)


@ALL
def test_max_terms_bounds_the_model_and_too_few_for_the_columns_is_refused(algorithm, X):
    with pytest.raises(ValueError, match="max_terms=3"):
        algorithm(max_terms=3).fit(X)
    with pytest.warns(ConvergenceWarning, match="max_terms=12"):
        model = algorithm(psi=1e-9, max_terms=12).fit(X)
    assert len(model.generators_) + model.n_basis_ <= 12


@ALL
def test_a_large_max_degree_ends_when_the_border_does(algorithm, X):
    model = algorithm(psi=1e-3, max_degree=10**9).fit(X)
    assert model.complete_
    assert model.degree_ < 12


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (OAVI(psi=0), (100, 8)),
        (OAVI(psi=1e-6), (300, 10)),
        (OAVI(psi=1e-9, boost="none", max_iter=20_000), (60, 3)),
        (ABM(psi=0), (300, 10)),
        (AVI(psi=0), (300, 10)),
        (VCA(psi=0), (120, 6)),
    ],
    ids=["OAVI-psi0", "OAVI-wide", "OAVI-unboosted", "ABM-psi0", "AVI-psi0", "VCA-psi0"],
)
@pytest.mark.slow
@pytest.mark.filterwarnings(UNDECIDED)
def test_small_problems_with_a_small_psi_do_not_take_minutes(model, shape):
    data = np.random.default_rng(0).random(shape)
    with at_most(120):
        model.fit(data)
    assert_valid(model, data, model.psi)


# --- scikit-learn machinery, threads, interrupts -------------------------------------------------------------------


@ALL
def test_pickle_joblib_and_clone(algorithm, X, tmp_path):
    model = algorithm(psi=1e-3).fit(X)
    wanted = model.transform(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), wanted)
    joblib.dump(model, tmp_path / "model")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model").transform(X), wanted)
    np.testing.assert_array_equal(clone(model).fit(X).transform(X), wanted)


@ALL
def test_a_refit_forgets_the_first_fit_and_a_failed_one_changes_nothing(algorithm, X):
    model = algorithm(psi=1e-3).fit(pd.DataFrame(X[:, :2], columns=["a", "b"]))
    before = model.generators_
    with pytest.raises(ValueError, match="psi"):
        model.set_params(psi=-1).fit(X)
    assert model.generators_ is before
    model.set_params(psi=1e-3).fit(X)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.transform(X), algorithm(psi=1e-3).fit(X).transform(X))


@pytest.mark.slow
@ALL
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_grid_search_over_a_pipeline_in_processes(algorithm, X):
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    pipeline = make_pipeline(MinMaxScaler(), algorithm(), LogisticRegression())
    grid = {f"{algorithm.__name__.lower()}__psi": [0.01, 1e-3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@ALL
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_frames_have_distinct_names(algorithm, library, X):
    frame = (pd if library == "pandas" else pl).DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = algorithm(psi=1e-4).set_output(transform=library).fit(frame)
    out = model.transform(frame)
    assert list(out.columns) == list(model.get_feature_names_out())
    assert len(set(out.columns)) == len(model.generators_) > 0


def test_names_of_vca_need_no_expansion_into_monomials():
    rng = np.random.default_rng(0)
    data = rng.random((60, 10)) @ rng.dirichlet(np.ones(10), 100).T  # 100 columns of rank 10
    model = VCA(psi=1e-12, max_degree=3).fit(data)
    assert model.degree_ == 3
    names = model.get_feature_names_out()
    assert len(set(names)) == len(model.generators_)
    assert names[0].startswith("vca_degree1")


@pytest.mark.slow
@ALL
def test_results_do_not_depend_on_the_number_of_threads(algorithm):
    data = np.random.default_rng(0).random((50_000, 3))
    wanted = algorithm(psi=1e-3, n_jobs=1).fit(data)
    for n_jobs in (2, 5, -1, None):
        model = algorithm(psi=1e-3, n_jobs=n_jobs).fit(data)
        np.testing.assert_array_equal(model.generators_.coef, wanted.generators_.coef)
        np.testing.assert_array_equal(model.transform(data), wanted.transform(data))


@ALL
def test_fits_in_parallel_threads_do_not_disturb_each_other(algorithm):
    data = np.random.default_rng(0).random((20_000, 3))
    wanted = algorithm(psi=1e-3).fit(data).transform(data)
    found = joblib.Parallel(n_jobs=3, backend="threading")(
        joblib.delayed(lambda: algorithm(psi=1e-3).fit(data).transform(data))() for _ in range(6)
    )
    for one in found:
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.usefixtures("two_blas_threads")
def test_an_interrupt_leaves_the_estimator_and_the_blas_threads_as_they_were():
    data = np.random.default_rng(0).random((300_000, 4))
    model = OAVI(psi=1e-4).fit(data[:1000])
    before, threads = model.generators_, [pool["num_threads"] for pool in threadpool_info()]

    class Interrupted:
        shape, dtype, n_reads = data.shape, data.dtype, 0

        def __getitem__(self, rows):
            self.n_reads += 1
            if self.n_reads == 3:
                raise KeyboardInterrupt
            return data[rows]

    with pytest.raises(KeyboardInterrupt):
        model.fit(ArrayRows(Interrupted(), n_jobs=2))
    assert model.generators_ is before
    assert [pool["num_threads"] for pool in threadpool_info()] == threads


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


FITS = [
    OAVI(psi=1e-3),
    L1SVC(),
    VanishingIdealClassifier(),
    VanishingIdealClassifierCV(),
    LawFinder(),
    VanishingIdealDetector(),
]


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("model", FITS, ids=lambda model: type(model).__name__)
def test_a_fit_leaves_blas_one_thread_and_gives_the_others_back(model):
    seen = []

    class Watched:
        def __array__(self, dtype=None, copy=None):
            seen.append(blas_threads())
            return np.random.default_rng(0).random((60, 2))

    before = blas_threads()
    clone(model).fit(Watched(), np.arange(60) % 2)
    assert seen[0] == {1} != before
    assert blas_threads() == before


# --- Polynomials --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transformer", [PCA(3), PCA(3, whiten=True), Normalizer()], ids=repr)
def test_in_units_refuses_what_does_not_scale_column_by_column(transformer, X):
    generators = OAVI(psi=1e-3).fit(X).generators_
    with pytest.raises(TypeError, match="in_units needs"):
        generators.in_units(transformer.fit(X))
    with pytest.raises(ValueError, match="clip=True"):
        generators.in_units(MinMaxScaler(clip=True).fit(X))


def test_in_units_refuses_an_unfitted_scaler_and_one_of_other_columns(X):
    generators = OAVI(psi=1e-3).fit(X).generators_
    with pytest.raises(NotFittedError, match="not fitted"):
        generators.in_units(MinMaxScaler())
    with pytest.raises(ValueError, match="columns"):
        generators.in_units(MinMaxScaler().fit(X[:, :2]))


@pytest.mark.slow
@ALL
def test_strange_feature_names_are_survived(algorithm, X):
    names = ["mean radius (cm) + 1", "x^2", r"50%_{a}\b"]
    model = algorithm(psi=1e-3).fit(pd.DataFrame(X, columns=names))
    polynomial = model.generators_[0]
    assert {str(s) for s in polynomial.to_sympy().free_symbols} <= set(names)
    assert len(set(model.get_feature_names_out())) == len(model.generators_)
    latex = polynomial.to_latex()
    assert latex.count("{") - latex.count(r"\{") == latex.count("}") - latex.count(r"\}")
    assert r"\b" not in latex.replace(r"\backslash", "").replace(r"\textbackslash", "")


@ALL
def test_sympy_expression_has_the_same_values(algorithm, X):
    polynomial = algorithm(psi=1e-3).fit(X).generators_[-1]
    expression = polynomial.to_sympy()
    values = [float(expression.subs(dict(zip(["x0", "x1", "x2"], row, strict=True)))) for row in X[:3]]
    np.testing.assert_allclose(values, polynomial.evaluate(X[:3]), rtol=1e-9, atol=1e-12)


FRAME_FITS = {
    "OAVI": lambda X: OAVI().fit(X),
    "VCA": lambda X: VCA().fit(X),
    "PerClass": lambda X: PerClass().fit(X, np.arange(len(X)) % 2),
    "L1SVC": lambda X: L1SVC().fit(X, np.arange(len(X)) % 2),
    "classifier": lambda X: VanishingIdealClassifier().fit(X, np.arange(len(X)) % 2),
    "search": lambda X: VanishingIdealClassifierCV().fit(X, np.arange(len(X)) % 2),
    "detector": lambda X: VanishingIdealDetector().fit(X),
    "discover": discover,
    "rules": Rules.learn,
    "encoder": lambda X: TableEncoder().fit(X),
}


@pytest.mark.parametrize("fit", FRAME_FITS.values(), ids=FRAME_FITS)
def test_frames_without_columns_or_with_equal_names_are_refused_in_our_words(fit):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"^X has no columns: give it at least one.$"):
        fit(pandas.DataFrame(index=range(30)))
    twice = pandas.DataFrame(np.random.default_rng(0).uniform(size=(30, 3)), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match=r"^X has several columns called 'a': rename them, or drop all but one.$"):
        fit(twice)


@pytest.mark.parametrize("name", ["OAVI", "detector", "encoder"])
def test_arrow_tables_with_equal_names_are_refused(name):
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array(np.linspace(0.0, 1.0, 30))
    with pytest.raises(ValueError, match="several columns called 'a'"):
        FRAME_FITS[name](pyarrow.table([column, column], names=["a", "a"]))


def test_weights_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="sample_weight must be numbers, one per row"):
        OAVI().fit(np.zeros((2, 1)), sample_weight=[object(), "x"])


def odd_columns(n=60):
    rng = np.random.default_rng(0)
    return {
        "1e-300": 1e-300 * rng.normal(size=n),
        "1e-200": 1e-200 * rng.normal(size=n),
        "denormal": 5e-324 * rng.integers(0, 5, n),
        "tiny and binary": 1e-300 * rng.integers(0, 2, n),
        "constant": np.full(n, 3.0),
        "tiny constant": np.full(n, 1e-300),
        "near 2^62": 2.0**62 + 1024.0 * rng.integers(0, 9, n),
        "constant 2^62": np.full(n, 2.0**62),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("beside", ["normal", "constant", "near 2^62"])
@pytest.mark.parametrize("kind", odd_columns())
def test_finite_columns_of_every_size_are_fitted_or_refused_with_the_reason(kind, beside):
    columns = odd_columns() | {"normal": np.random.default_rng(1).normal(size=60)}
    X = np.column_stack([columns[kind], columns[beside]])
    searches = [VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2, scale_input=s) for s in ("rank", "arcsinh")]
    for model in (*searches, VanishingIdealClassifier(), VanishingIdealDetector(), OAVI(), VCA()):
        try:
            model.fit(X, np.arange(60) % 2)
        except ValueError as error:
            assert re.search("(over|under)flow|All rows are equal", str(error)), error  # noqa: PT017


def test_columns_whose_squares_underflow_are_named_with_a_factor():
    X = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 1e-300]
    for fit in (VanishingIdealDetector().fit, Rules.learn):
        with pytest.raises(ValueError, match=r"column 'x1' underflow, as its range is \S+e-300: multiply it by 1e300"):
            fit(X)
        fit(X * [1.0, 1e300])  # the advice
