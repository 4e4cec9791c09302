"""Sums of products of terms: how they add up, what is fitted from them, their files, and the kernel for GPUs."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import re
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import vanishing.engine.moments
from vanishing import ABM, AVI, OAVI, VCA, Moments, RangeWarning, open_rows
from vanishing.engine import cuda
from vanishing.engine.gram import Foreseen, _monomials, mean_gram
from vanishing.engine.survey import early_terms, foreseen, surveys
from vanishing.rows.arrays import as_rows
from vanishing.rows.protocol import Rows

NAMES = ["a", "b", "c"]
N_ROWS = 900


def surface(m=N_ROWS, seed=0):
    """Points in the unit cube near ``c = a b / 2 + 1/4``."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(m, 3))
    X[:, 2] = 0.5 * X[:, 0] * X[:, 1] + 0.25 + rng.normal(0, 0.01, m)
    return X


def some_weights(m=N_ROWS, seed=1):
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, m)
    weights[::7] = 0.0
    return weights


def all_terms(n_features, degree):
    return [t for d in range(degree + 1) for t in itertools.combinations_with_replacement(range(n_features), d)]


def program(terms):
    """``left`` and ``right`` of the terms: each is an earlier one times a column."""
    place = {term: k for k, term in enumerate(terms)}
    return np.array([place[t[:-1]] for t in terms]), np.array([t[-1] if t else 0 for t in terms])


def direct_gram(X, terms, weights=None):
    """Weighted mean of the products of the terms, in extended precision."""
    X = np.asarray(X).astype(np.longdouble)
    table = np.column_stack([np.prod(X[:, list(t)], axis=1) for t in terms])
    weights = np.ones(len(X)) if weights is None else weights
    return np.asarray((table * weights[:, None]).T @ table / weights.sum(), dtype=np.float64)


def name_of(make):
    return make.__name__


def state(moments):
    """Everything that moments consist of, with nothing rounded."""
    scaling = None if moments.scaler is None else (moments.scaler.scale_.tobytes(), moments.scaler.min_.tobytes())
    arrays = [array.tobytes() for array in (moments._sum, moments._low, moments._high)]
    shape = moments.n_features, moments.degree, moments.n_samples, moments.total_weight
    return *arrays, *shape, moments.feature_names, scaling


def assert_same_moments(found, expected, rtol=1e-12):
    assert found.terms == expected.terms
    assert found.n_samples == expected.n_samples
    assert found.total_weight == pytest.approx(expected.total_weight, rel=1e-12)
    np.testing.assert_allclose(found.gram, expected.gram, rtol=rtol, atol=1e-15)
    np.testing.assert_array_equal(found.survey().low, expected.survey().low)
    np.testing.assert_array_equal(found.survey().high, expected.survey().high)


def assert_same_model(found, expected):
    assert len(found.generators_) == len(expected.generators_) > 0
    np.testing.assert_array_equal(found.generators_.exponents, expected.generators_.exponents)
    np.testing.assert_array_equal(found.generators_.coef != 0.0, expected.generators_.coef != 0.0)
    size = np.abs(expected.generators_.coef).max(axis=1, keepdims=True)
    np.testing.assert_allclose(
        found.generators_.coef / size, expected.generators_.coef / size, rtol=1e-9, atol=1e-9
    )  # relative to the largest coefficient of each generator
    np.testing.assert_allclose(found.generators_.mse, expected.generators_.mse, rtol=1e-8, atol=1e-15)
    assert list(found.order_ideal_) == list(expected.order_ideal_)
    assert (found.degree_, found.complete_, found.n_basis_) == (expected.degree_, expected.complete_, expected.n_basis_)


# --- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_features", "degree"), [(1, 1), (1, 6), (2, 4), (3, 3), (5, 2), (12, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gram_is_the_mean_of_the_products_of_all_terms(n_features, degree, weighted):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (500, n_features))
    weights = some_weights(500) if weighted else None
    moments = Moments(n_features, degree).update(X, weights)
    assert moments.terms == all_terms(n_features, degree)
    np.testing.assert_allclose(moments.gram, direct_gram(X, moments.terms, weights), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(moments.gram, moments.gram.T)
    assert moments.gram[0, 0] == 1.0
    assert moments.n_samples == 500
    assert moments.total_weight == pytest.approx(500 if weights is None else weights.sum(), rel=1e-12)


@pytest.mark.parametrize("edges", [(450,), (2, 3, 4), (0,), (300, 600), tuple(range(100, 900, 100))])
@pytest.mark.parametrize("weighted", [False, True])
def test_updates_in_pieces_are_one_update(edges, weighted):
    X, weights = surface(), some_weights() if weighted else None
    pieces = Moments(3, 3)
    for part in np.split(np.arange(N_ROWS), edges):
        if len(part):
            assert pieces.update(X[part], None if weights is None else weights[part]) is pieces
    assert_same_moments(pieces, Moments(3, 3).update(X, weights))


def test_sums_over_several_blocks_are_the_same_for_every_number_of_threads():
    X = np.random.default_rng(0).random((70_000, 3))
    one, two = (Moments(3, 3, n_jobs=n_jobs).update(X) for n_jobs in (1, 2))
    assert state(one) == state(two)
    np.testing.assert_allclose(one.gram, direct_gram(X, one.terms), rtol=1e-12)


def test_whole_weights_repeat_rows():
    X, repeats = surface(300), np.arange(300) % 3
    weighted, repeated = Moments(3, 2).update(X, repeats), Moments(3, 2).update(np.repeat(X, repeats, axis=0))
    np.testing.assert_allclose(weighted.gram, repeated.gram, rtol=1e-12)
    assert weighted.total_weight == repeated.total_weight


def test_rows_without_weight_do_not_widen_the_range():
    X = np.vstack([surface(), [[9.0, -9.0, 9.0]]])
    found = Moments(3, 2).update(X, np.append(np.ones(N_ROWS), 0.0)).survey()
    np.testing.assert_array_equal(found.low, surface().min(axis=0))
    np.testing.assert_array_equal(found.high, surface().max(axis=0))


@settings(max_examples=40)
@given(
    m=st.integers(1, 300),
    n=st.integers(1, 4),
    degree=st.integers(1, 3),
    cut=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
)
def test_moments_of_random_shapes_are_plain_sums_however_they_are_collected(m, n, degree, cut, seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (m, n))
    weights = rng.random(m) + 0.1 if weighted else None
    first = int(cut * m)
    parts = [Moments(n, degree), Moments(n, degree)]
    for moments, rows in zip(parts, (slice(0, first), slice(first, m)), strict=True):
        if len(X[rows]):
            moments.update(X[rows], None if weights is None else weights[rows])
    whole = parts[0].merge(parts[1])
    assert whole.n_samples == m
    np.testing.assert_allclose(whole.gram, direct_gram(X, whole.terms, weights), rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(whole.survey().low, X.min(axis=0))
    np.testing.assert_array_equal(whole.survey().high, X.max(axis=0))
    assert np.linalg.eigvalsh(whole.gram).min() > -1e-13


# --- models -----------------------------------------------------------------------------------------------------------

ALGORITHMS = [
    OAVI(1e-3, max_degree=3),
    OAVI(1e-3, solver="cg", boost="ihb", max_degree=3),
    OAVI(1e-4, max_degree=3),
    OAVI(1e-3, order="degcolex", feature_order=[2, 0, 1], max_degree=3),
    OAVI(1e-3, feature_order="pearson", max_degree=3),
    ABM(1e-3, max_degree=3),
    AVI(1e-3, max_degree=3),
    AVI(1e-4, max_degree=2),
]


@pytest.mark.parametrize("model", ALGORITHMS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_to_moments_is_the_fit_to_the_rows(model, weighted):
    X, weights = surface(), some_weights() if weighted else None
    moments = Moments(3, 3)
    for part in np.array_split(np.arange(N_ROWS), 4):
        moments.update(X[part], None if weights is None else weights[part])
    before = state(moments)
    assert_same_model(clone(model).fit(moments), clone(model).fit(X, sample_weight=weights))
    assert state(moments) == before


@pytest.mark.parametrize("model", [OAVI(1e-3), ABM(1e-3), AVI(1e-3)], ids=repr)
def test_a_fit_that_ends_by_itself_below_the_degree_does_not_warn(model):
    X = surface()
    found = clone(model).fit(Moments(3, 4).update(X))
    assert found.complete_
    assert_same_model(found, clone(model).fit(X))


@pytest.mark.parametrize("model", [OAVI(2e-5), ABM(2e-5), AVI(2e-5)], ids=repr)
def test_a_fit_that_needs_a_higher_degree_warns(model):
    X = surface()
    with pytest.warns(ConvergenceWarning, match=r"up to degree 2.*degree=3, or set max_degree=2"):
        found = clone(model).fit(Moments(3, 2).update(X))
    assert_same_model(found, clone(model).set_params(max_degree=2).fit(X))
    assert not found.complete_
    assert clone(model).set_params(max_degree=2).fit(Moments(3, 2).update(X)).degree_ == 2


def test_the_warning_of_a_higher_degree_names_the_line_of_the_user():
    with pytest.warns(ConvergenceWarning) as seen:
        OAVI(2e-5).fit(Moments(3, 2).update(surface()))
    assert seen[0].filename == __file__


def test_a_fitted_model_transforms_rows():
    X = surface()
    found, expected = OAVI(1e-3).fit(Moments(3, 3).update(X)), OAVI(1e-3).fit(X)
    np.testing.assert_allclose(found.transform(X), expected.transform(X), rtol=1e-9, atol=1e-9)
    assert found.n_features_in_ == 3
    assert not hasattr(found, "feature_names_in_")


@pytest.mark.parametrize("psi", [0.0, 1e-20, 1e-16])
@pytest.mark.parametrize("kind", [OAVI, ABM, AVI])
def test_a_psi_that_sums_cannot_resolve_is_refused(kind, psi):
    x = np.random.default_rng(0).random(N_ROWS)
    model = kind(psi, max_degree=2)
    with pytest.raises(ValueError, match=r"psi this small.*raise psi, or fit to rows"):
        model.fit(Moments(2, 2).update(np.column_stack([x, x**2])))
    assert [name for name in vars(model) if name.endswith("_")] == []


def test_vca_needs_the_rows():
    with pytest.raises(ValueError, match="VCA needs the rows: fit OAVI, ABM or AVI to moments"):
        VCA().fit(Moments(3, 2).update(surface()))


def test_weights_beside_moments_are_refused():
    with pytest.raises(ValueError, match="give it to their update"):
        OAVI().fit(Moments(3, 2).update(surface()), sample_weight=np.ones(N_ROWS))


def test_columns_outside_the_unit_cube_are_warned_of():
    with pytest.warns(RangeWarning, match=r"'x0' \(range"):
        OAVI(1e-2, max_degree=1).fit(Moments(3, 1).update(3.0 * surface()))


def test_a_fit_to_other_moments_replaces_the_names_of_the_columns():
    pandas = pytest.importorskip("pandas")
    model = OAVI(1e-2, max_degree=1).fit(Moments(3, 1).update(pandas.DataFrame(surface(), columns=NAMES)))
    assert list(model.feature_names_in_) == NAMES
    model.fit(Moments(3, 1).update(surface()))
    assert not hasattr(model, "feature_names_in_")


# --- merge and subtract -----------------------------------------------------------------------------------------------


def parts_of(X, n_parts, degree=2, weights=None):
    pieces = np.array_split(np.arange(len(X)), n_parts)
    return [Moments(X.shape[1], degree).update(X[p], None if weights is None else weights[p]) for p in pieces]


def copy_of(moments):
    return pickle.loads(pickle.dumps(moments))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_order_of_merging_does_not_matter(order, weighted):
    X, weights = surface(), some_weights() if weighted else None
    parts = parts_of(X, 3, weights=weights)
    whole = Moments(3, 2)
    for k in order:
        assert whole.merge(parts[k]) is whole
    assert_same_moments(whole, Moments(3, 2).update(X, weights))


def test_merging_is_associative():
    a, b, c = parts_of(surface(), 3)
    left = copy_of(a).merge(b).merge(c)
    right = copy_of(a).merge(copy_of(b).merge(c))
    assert_same_moments(left, right)
    assert_same_model(OAVI(1e-3, max_degree=2).fit(left), OAVI(1e-3, max_degree=2).fit(right))


def test_merging_leaves_the_other_moments_as_they_were():
    a, b = parts_of(surface(), 2)
    before = state(b)
    a.merge(b).merge(b)
    a._sum += 1.0
    assert state(b) == before


def test_moments_merged_with_themselves_count_twice():
    moments = Moments(3, 2).update(surface())
    gram = moments.gram
    moments.merge(moments)
    assert moments.n_samples == 2 * N_ROWS
    np.testing.assert_allclose(moments.gram, gram, rtol=1e-15)


@pytest.mark.parametrize(
    "model", [OAVI(1e-3, max_degree=3), ABM(1e-3, max_degree=3), AVI(1e-3, max_degree=3)], ids=repr
)
@pytest.mark.parametrize("weighted", [False, True])
def test_subtracting_gives_the_model_of_the_remaining_rows(model, weighted):
    X, weights = surface(), some_weights() if weighted else None
    parts = parts_of(X, 3, 3, weights)
    window = Moments(3, 3).update(X, weights)
    assert window.subtract(parts[0]) is window
    rest = slice(300, N_ROWS)
    np.testing.assert_allclose(window.gram, copy_of(parts[1]).merge(parts[2]).gram, rtol=1e-11)
    assert window.n_samples == 600
    expected = clone(model).fit(X[rest], sample_weight=None if weights is None else weights[rest])
    assert_same_model(clone(model).fit(window), expected)


def test_a_sliding_window_stays_accurate():
    days = parts_of(surface(9000), 30)
    window = Moments(3, 2).merge(days[0]).merge(days[1])
    for k in range(2, 30):
        window.merge(days[k]).subtract(days[k - 2])
    np.testing.assert_allclose(window.gram, copy_of(days[28]).merge(days[29]).gram, rtol=1e-11)


def test_nothing_is_left_when_everything_is_subtracted():
    moments = Moments(3, 2).update(surface(), some_weights())
    moments.subtract(copy_of(moments))
    assert (moments.n_samples, moments.total_weight) == (0, 0.0)
    with pytest.raises(ValueError, match="no rows in these moments: update them first"):
        OAVI().fit(moments)
    np.testing.assert_allclose(moments.update(surface()).gram, Moments(3, 2).update(surface()).gram, rtol=1e-15)


def test_the_range_is_forgotten_when_everything_is_subtracted():
    far = Moments(3, 2).update(5.0 * surface())
    moments = Moments(3, 2).update(5.0 * surface()).subtract(far).update(surface())
    np.testing.assert_array_equal(moments.survey().high, surface().max(axis=0))


def test_more_rows_than_there_are_cannot_be_subtracted():
    moments = Moments(3, 2).update(surface(100))
    before = state(moments)
    with pytest.raises(ValueError, match="100 rows in these moments, so 200 cannot be taken away"):
        moments.subtract(Moments(3, 2).update(surface(200)))
    assert state(moments) == before


def test_more_weight_than_there_is_cannot_be_subtracted():
    moments = Moments(3, 2).update(surface(200))
    before = state(moments)
    with pytest.raises(ValueError, match="weight"):
        moments.subtract(Moments(3, 2).update(surface(100), np.full(100, 50.0)))
    assert state(moments) == before


SCALER = MinMaxScaler().fit([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Moments(3, 3), "3 columns up to degree 3 do not fit to those of 3 up to degree 2"),
        (Moments(2, 2), "2 columns up to degree 2 do not fit to those of 3"),
        (Moments(3, 2, scaler=SCALER), "scaled differently: give both the same scaler"),
        (None, "Expected Moments, got NoneType"),
        (np.eye(3), "Expected Moments, got ndarray"),
    ],
    ids=["degree", "columns", "scaler", "None", "array"],
)
@pytest.mark.parametrize("action", ["merge", "subtract"])
def test_moments_of_another_kind_are_refused(action, other, message):
    moments = Moments(3, 2).update(surface())
    before = state(moments)
    with pytest.raises(ValueError, match=message):
        getattr(moments, action)(other)
    assert state(moments) == before


def test_scalers_that_scale_alike_are_the_same():
    again = MinMaxScaler().fit([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])
    a, b = (Moments(3, 2, scaler=scaler).update(2.0 * surface()) for scaler in (SCALER, again))
    assert a.merge(b).n_samples == 2 * N_ROWS
    with pytest.raises(ValueError, match="scaled differently"):
        a.merge(Moments(3, 2, scaler=MinMaxScaler().fit(surface())))


# --- scaling on the way in --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_scaler_scales_the_rows_on_their_way_in(weighted):
    X, weights = 10.0 - 3.0 * surface(), some_weights() if weighted else None
    scaler = MinMaxScaler().fit(X)
    found = Moments(3, 3, scaler=scaler).update(X[:500], None if weights is None else weights[:500])
    found.update(X[500:], None if weights is None else weights[500:])
    assert_same_moments(found, Moments(3, 3).update(scaler.transform(X), weights), rtol=1e-11)
    model, expected = OAVI(1e-3).fit(found), OAVI(1e-3).fit(scaler.transform(X), sample_weight=weights)
    assert_same_model(model, expected)
    mse = np.average(model.generators_.in_units(scaler).evaluate(X) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(mse, model.generators_.mse, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("kind", ["npy", "torch", "dask"])
def test_a_scaler_scales_the_rows_of_every_source(kind, tmp_path):
    X = 10.0 - 3.0 * surface()
    scaler = MinMaxScaler().fit(X)
    source = {"npy": npy_file, "torch": torch_tensor, "dask": dask_array}[kind](X, tmp_path)
    found = Moments(3, 2, scaler=scaler).update(source)
    np.testing.assert_allclose(found.gram, Moments(3, 2).update(scaler.transform(X)).gram, rtol=1e-11)


@pytest.mark.parametrize(
    "scaler",
    [
        MinMaxScaler(),
        StandardScaler().fit(surface()),
        MinMaxScaler().fit(surface()[:, :1]),
        MinMaxScaler().fit(surface()[:, :2]),
        MinMaxScaler(clip=True).fit(surface(10)),
        "yes",
    ],
    ids=["unfitted", "other kind", "one column", "two columns", "clip", "text"],
)
def test_a_scaler_that_cannot_be_used_is_refused(scaler):
    with pytest.raises(ValueError, match=r"(?i)scaler"):
        Moments(3, 2, scaler=scaler).update(surface())


# --- sources ----------------------------------------------------------------------------------------------------------


def array(X, folder):
    return X


def fortran_order(X, folder):
    return np.asfortranarray(X)


def float32(X, folder):
    return X.astype(np.float32)


def lists(X, folder):
    return X.tolist()


def pandas_frame(X, folder):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


def polars_frame(X, folder):
    return pytest.importorskip("polars").DataFrame(X, schema=NAMES)


def npy_file(X, folder):
    np.save(folder / "rows.npy", X)
    return open_rows(folder / "rows.npy")


def parquet_file(X, folder):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({name: X[:, j] for j, name in enumerate(NAMES)})
    pytest.importorskip("pyarrow.parquet").write_table(table, folder / "rows.parquet", row_group_size=100)
    return open_rows(folder / "rows.parquet")


def dask_array(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(250, 2))


def dask_with_empty_blocks(X, folder):
    dask = pytest.importorskip("dask.array")
    return dask.concatenate(
        [dask.from_array(X[:0], chunks=-1), dask_array(X, folder), dask.from_array(X[:0], chunks=-1)]
    )


def dask_frame(X, folder):
    return pytest.importorskip("dask.dataframe").from_pandas(pandas_frame(X, folder), npartitions=3)


def torch_tensor(X, folder):
    return pytest.importorskip("torch").asarray(X)


def torch_float32(X, folder):
    return pytest.importorskip("torch").asarray(X.astype(np.float32))


def strict_array(X, folder):
    return pytest.importorskip("array_api_strict").asarray(X)


EVERYWHERE = [
    array, fortran_order, float32, lists, pandas_frame, polars_frame, npy_file, parquet_file, dask_array,
    dask_with_empty_blocks, dask_frame, torch_tensor, torch_float32, strict_array,
]  # fmt: skip
WITH_NAMES = [pandas_frame, polars_frame, parquet_file, dask_frame]


def as_given(X, make):
    return X.astype(np.float32).astype(np.float64) if "float32" in make.__name__ else X


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_every_source_adds_the_same(make, tmp_path):
    X = surface()
    found = Moments(3, 3).update(make(X, tmp_path))
    assert_same_moments(found, Moments(3, 3).update(as_given(X, make)))
    assert found.feature_names == (tuple(NAMES) if make in WITH_NAMES else None)


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_a_missing_value_is_refused_and_nothing_is_added(make, tmp_path):
    X = surface()
    moments = Moments(3, 2).update(make(X, tmp_path))
    before = state(moments)
    X[613, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in column 1"):
        moments.update(make(X, tmp_path))
    X[613, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity \(inf\) in column 1"):
        moments.update(make(X, tmp_path))
    assert state(moments) == before


def test_a_missing_value_is_named_in_the_units_of_the_file(tmp_path):
    X = surface()
    X[613, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"NaN in column 1 \('b'\): 1 such values, the first in row 613 of .*\.parquet"
    ):
        Moments(3, 2, scaler=SCALER).update(parquet_file(X, tmp_path))


def weighted_npy(X, weights, folder):
    np.save(folder / "rows.npy", np.column_stack([X, weights]))
    return open_rows(folder / "rows.npy", weight=3), None


def weighted_dask(X, weights, folder):
    return dask_array(X, folder), pytest.importorskip("dask.array").from_array(weights, chunks=(250,))


def weighted_torch(X, weights, folder):
    return torch_tensor(X, folder), torch_tensor(weights, folder)


def weighted_strict(X, weights, folder):
    return strict_array(X, folder), strict_array(weights, folder)


def weighted_frame(X, weights, folder):
    return pandas_frame(X, folder), weights.tolist()


@pytest.mark.parametrize(
    "make",
    [
        weighted_npy,
        weighted_dask,
        weighted_torch,
        pytest.param(weighted_strict),
        weighted_frame,
    ],
    ids=name_of,
)
def test_weights_count_the_same_in_every_source(make, tmp_path):
    X, weights = surface(), some_weights()
    source, given_weights = make(X, weights, tmp_path)
    found = Moments(3, 2).update(source, given_weights)
    assert_same_moments(found, Moments(3, 2).update(X, weights))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_bad_weight_is_refused_and_nothing_is_added(bad):
    moments = Moments(3, 2).update(surface())
    before = state(moments)
    weights = some_weights()
    weights[5] = bad
    with pytest.raises(ValueError, match="sample_weight must be finite, not negative"):
        moments.update(surface(), weights)
    with pytest.raises(ValueError, match=r"shape \(900,\)"):
        moments.update(surface(), weights[1:])
    assert state(moments) == before


def test_weights_beside_rows_on_disk_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"open_rows\(weight="):
        Moments(3, 2).update(npy_file(surface(), tmp_path), np.ones(N_ROWS))


def test_rows_on_disk_of_which_the_scaling_is_not_known_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", 5.0 * surface())
    rows = open_rows(tmp_path, scale=True)
    moments = Moments(3, 2)
    with pytest.raises(ValueError, match="scaling of these rows is not known"):
        moments.update(rows)
    assert moments.n_samples == 0
    OAVI(1e-2, max_degree=1).fit(rows)
    expected = Moments(3, 2).update(MinMaxScaler().fit_transform(5.0 * surface()))
    np.testing.assert_allclose(moments.update(rows).gram, expected.gram, rtol=1e-12)


def test_values_whose_products_overflow_are_refused():
    moments = Moments(3, 2).update(surface())
    before = state(moments)
    with pytest.raises(ValueError, match=r"overflow.*scale them to \[0, 1\]"):
        moments.update(1e100 * surface())
    assert state(moments) == before


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_another_number_of_columns_is_refused(columns):
    moments = Moments(3, 2)
    with pytest.raises(ValueError, match=f"X has {columns} columns, but these are moments of 3"):
        moments.update(np.ones((5, columns)))
    assert moments.n_samples == 0


@pytest.mark.parametrize("X", [np.empty((0, 3)), [], np.ones(3), "text", None])
def test_what_is_no_table_with_rows_is_refused(X):
    moments = Moments(3, 2)
    with pytest.raises((ValueError, TypeError)):
        moments.update(X)
    assert moments.n_samples == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "n_features must be an integer of at least 1, got 0"),
        ((2.5,), "n_features"),
        ((True,), "n_features"),
        ((3, 0), "degree must be an integer of at least 1, got 0"),
        ((3, "2"), "degree"),
        ((100, 3), "176,851 terms.*more than 5,000: lower degree, or select columns"),
    ],
)
def test_wrong_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Moments(*arguments)


def test_empty_moments_say_so():
    moments = Moments(3, 2)
    assert repr(moments) == "<Moments of 0 rows x 3 columns up to degree 2>"
    for use in (lambda: moments.gram, moments.survey, lambda: OAVI().fit(moments)):
        with pytest.raises(ValueError, match="no rows in these moments: update them first"):
            use()
    assert_same_moments(moments.merge(Moments(3, 2).update(surface())), Moments(3, 2).update(surface()))
    assert moments.merge(Moments(3, 2)).subtract(Moments(3, 2)).n_samples == N_ROWS


# --- names of columns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", WITH_NAMES, ids=name_of)
def test_names_of_columns_reach_the_model(make, tmp_path):
    moments = Moments(3, 2).update(surface()).update(make(surface(), tmp_path))
    assert moments.feature_names == tuple(NAMES)
    model = OAVI(1e-2, max_degree=2).fit(moments.update(surface()))
    assert list(model.feature_names_in_) == NAMES
    assert str(model.generators_[0]) == str(OAVI(1e-2, max_degree=2).fit(make(surface(), tmp_path)).generators_[0])


@pytest.mark.parametrize("make", WITH_NAMES, ids=name_of)
def test_other_names_of_columns_are_refused(make, tmp_path):
    pandas = pytest.importorskip("pandas")
    moments = Moments(3, 2).update(pandas.DataFrame(surface(), columns=["a", "c", "b"]))
    before = state(moments)
    with pytest.raises(ValueError, match="The columns are a, b, c, but those of these moments are a, c, b"):
        moments.update(make(surface(), tmp_path))
    for action in (moments.merge, moments.subtract):
        with pytest.raises(ValueError, match="The columns are a, b, c"):
            action(Moments(3, 2).update(make(surface(), tmp_path)))
    assert state(moments) == before


def test_merging_learns_names():
    pandas = pytest.importorskip("pandas")
    named = Moments(3, 2).update(pandas.DataFrame(surface(), columns=NAMES))
    assert Moments(3, 2).update(surface()).merge(named).feature_names == tuple(NAMES)
    assert named.merge(Moments(3, 2).update(surface())).feature_names == tuple(NAMES)


def test_refused_rows_do_not_leave_names():
    frame = pytest.importorskip("pandas").DataFrame(surface(), columns=NAMES)
    frame.loc[3, "b"] = np.nan
    moments = Moments(3, 2)
    with pytest.raises(ValueError, match=r"column 1 \('b'\)"):
        moments.update(frame)
    assert moments.feature_names is None


# --- files ------------------------------------------------------------------------------------------------------------


def saved(path, moments=None):
    (Moments(3, 3).update(surface(), some_weights()) if moments is None else moments).save(path)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".moments", ""])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_file_gives_back_every_bit(suffix, as_text, tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(surface() * 3.0, columns=["ä b", "", "β"])
    path = tmp_path / f"week{suffix}"
    moments = Moments(3, 3, scaler=SCALER).update(frame, some_weights())
    moments.save(str(path) if as_text else path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    found = Moments.load(str(path) if as_text else path)
    assert state(found) == state(moments)
    assert found.terms == moments.terms
    found.save(tmp_path / "again")
    assert state(Moments.load(tmp_path / "again")) == state(moments)


@pytest.mark.parametrize("moments", [Moments(2, 4), Moments(1, 1).update([[0.5]]), Moments(3, 2, scaler=SCALER)])
def test_small_and_empty_moments_can_be_saved(moments, tmp_path):
    found = Moments.load(saved(tmp_path / "m.npz", moments))
    assert state(found) == state(moments)


def test_loaded_moments_go_on(tmp_path):
    X = surface()
    found = Moments.load(saved(tmp_path / "m.npz", Moments(3, 3).update(X[:400])))
    found.update(X[400:700]).merge(Moments(3, 3).update(X[700:]))
    assert_same_moments(found, Moments(3, 3).update(X))
    assert_same_model(OAVI(1e-3).fit(found), OAVI(1e-3).fit(X))


def test_a_loaded_scaling_is_the_saved_one_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.normal(0.0, 10.0, (5, 3))
        moments = Moments(3, 1, scaler=MinMaxScaler().fit(X)).update(X)
        found = Moments.load(saved(tmp_path / "m.npz", moments))
        np.testing.assert_array_equal(found.scaler.scale_, moments.scaler.scale_)
        np.testing.assert_array_equal(found.scaler.min_, moments.scaler.min_)
        found.merge(moments)  # of another site, with the same scaler


def test_a_loaded_scaling_scales_as_the_saved_one(tmp_path):
    X = np.column_stack([10.0 - 3.0 * surface()[:, :2], np.full(N_ROWS, 7.0)])  # one column is constant
    scaler = MinMaxScaler(feature_range=(0.25, 0.75)).fit(X)
    found = Moments.load(saved(tmp_path / "m.npz", Moments(3, 2, scaler=scaler).update(X[:400]))).update(X[400:])
    np.testing.assert_allclose(found.gram, Moments(3, 2, scaler=scaler).update(X).gram, rtol=1e-12)


def test_saving_replaces_an_old_file(tmp_path):
    saved(tmp_path / "m.npz", Moments(2, 2))
    saved(tmp_path / "m.npz")
    assert Moments.load(tmp_path / "m.npz").n_samples == N_ROWS
    assert [file.name for file in tmp_path.iterdir()] == ["m.npz"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("where", ["savez", "replace"])
def test_an_interrupted_save_leaves_nothing_and_an_old_file_as_it_was(error, existing, where, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    if existing:
        saved(path)
    before = path.read_bytes() if existing else None

    def half(stream, **arrays):
        stream.write(b"PK half of it")
        raise error

    def failing(*arguments):
        raise error

    if where == "savez":
        monkeypatch.setattr(vanishing.engine.moments.np, "savez_compressed", half)
    else:
        monkeypatch.setattr(vanishing.rows.writing.os, "replace", failing)
    with pytest.raises(error):
        saved(path, Moments(3, 3).update(surface(100)))
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == (["m.npz"] if existing else [])
    assert not existing or path.read_bytes() == before


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Moments(3, 2).save(tmp_path / "nothing" / "m.npz")
    with pytest.raises(FileNotFoundError):
        Moments.load(tmp_path / "nothing.npz")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see the next test but one
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_file_is_refused(share, tmp_path):
    path = saved(tmp_path / "m.npz")
    os.truncate(path, int(share * path.stat().st_size))
    with pytest.raises(ValueError, match=r"m\.npz is no file of moments, or it is damaged"):
        Moments.load(path)
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_damaged_file_is_refused_or_gives_back_every_bit(tmp_path):
    path = saved(tmp_path / "m.npz", Moments(2, 1).update(surface()[:, :2]))
    content = path.read_bytes()
    expected = state(Moments.load(path))
    for k in range(0, len(content), 3):
        path.write_bytes(content[:k] + bytes([content[k] ^ 0xFF]) + content[k + 1 :])
        try:
            found = Moments.load(path)
        except (ValueError, OSError):
            pass
        else:
            assert state(found) == expected  # a part of the zip directory that nobody reads
    gc.collect()


def test_a_refused_file_is_closed(tmp_path):
    path = saved(tmp_path / "m.npz")
    os.truncate(path, path.stat().st_size // 2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="damaged"):
            Moments.load(path)
        gc.collect()
    assert [str(warning.message) for warning in seen] == []


def foreign_npz(path):
    np.savez(path, X=np.eye(3))


def foreign_npy(path):
    with open(path, "wb") as stream:
        np.save(stream, np.eye(3))


def foreign_text(path):
    path.write_text("a,b\n1,2\n")


def foreign_pickle(path):
    path.write_bytes(pickle.dumps({"sum": np.eye(3)}))


def foreign_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("hello.txt", "hello")


def of_another_version(path):
    rewritten(path, format=np.int64(2))


def without_a_part(path):
    rewritten(path, range=None)


def of_another_shape(path):
    rewritten(path, sum=np.eye(7))


def with_too_few_numbers(path):
    rewritten(path, shape=np.array([3, 3]))


def rewritten(path, **changes):
    with np.load(saved(path)) as file:
        parts = {name: file[name] for name in file.files} | changes
    with open(path, "wb") as stream:
        np.savez(stream, **{name: part for name, part in parts.items() if part is not None})


@pytest.mark.parametrize(
    "make",
    [
        foreign_npz,
        pytest.param(foreign_npy),
        foreign_text,
        foreign_pickle,
        foreign_zip,
        of_another_version,
        without_a_part,
        pytest.param(of_another_shape),
        pytest.param(with_too_few_numbers),
    ],
    ids=name_of,
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_foreign_file_is_refused_by_its_name(make, tmp_path):
    path = tmp_path / "foreign.npz"
    make(path)
    with pytest.raises(ValueError, match=r"foreign\.npz (is no file of moments|was saved by another version)"):
        Moments.load(path)
    gc.collect()


class Harmful:
    """Something whose unpickling would be noticed."""

    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


@pytest.mark.parametrize("member", ["names", "sum", "format", "extra"])
def test_pickled_content_is_refused(member, tmp_path):
    path = tmp_path / "m.npz"
    rewritten(path, **{member: np.array([Harmful()], dtype=object)})
    with pytest.raises(ValueError, match="no file of moments"):
        Moments.load(path)


# --- what is known of rows that are gone ------------------------------------------------------------------------------


class NoRows(Rows):
    """Rows that must not be read."""

    def __init__(self, n_features):
        self.n_features = n_features

    def reduce_blocks(self, kernel, combine, *, block_rows, width):
        raise AssertionError("a pass")

    def map_blocks(self, kernel, n_columns, *, block_rows, width, out=None):
        raise AssertionError("a pass")


def test_what_is_foreseen_needs_no_pass():
    X, terms = surface(), all_terms(3, 3)
    whole = direct_gram(X, terms)
    known = Foreseen(NoRows(3), terms, whole)
    chosen = [(), (0,), (1,), (0, 0), (0, 1), (0, 0, 1)]
    assert known.knows(chosen, 3)
    found = mean_gram(known, *program(chosen), 3)
    np.testing.assert_allclose(np.tril(found, 3), np.tril(direct_gram(X, chosen)[3:], 3), rtol=1e-12)


def test_what_is_not_foreseen_needs_a_pass():
    known = Foreseen(NoRows(3), all_terms(3, 2), np.eye(10))
    assert not known.knows(all_terms(3, 3), 10)
    with pytest.raises(AssertionError, match="a pass"):
        mean_gram(known, *program(all_terms(3, 3)), 10)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_a_pass_takes_along_the_next_degree(n_features):
    X = np.random.default_rng(0).random((500, n_features))
    rows = as_rows(X)
    (found,) = surveys([rows], ahead=True)
    assert found.ahead is None  # rows in memory are quick to come by
    rows.reading_dominates = True
    (found,) = surveys([rows], ahead=True)
    np.testing.assert_allclose(found.ahead, direct_gram(X, early_terms(n_features)), rtol=1e-12)
    scale, offset = np.arange(1.0, 1.0 + n_features), np.linspace(-1.0, 0.0, n_features)
    converted = found.scaled(scale, offset).ahead
    np.testing.assert_allclose(converted, direct_gram(X * scale + offset, early_terms(n_features)), rtol=1e-10)
    ahead = foreseen(rows, found)
    first, second = all_terms(n_features, 2), all_terms(n_features, 3)
    mean_gram(ahead, *program(first), 1 + n_features)
    n_basis = len(first)
    found = mean_gram(ahead, *program(second), n_basis)
    expected = direct_gram(X, second)[n_basis:]
    np.testing.assert_allclose(np.tril(found, n_basis), np.tril(expected, n_basis), rtol=1e-12)


# --- the kernel for GPUs, without one ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "terms", [[], [()], [(2,)], [(0, 0, 1)], [(0, 1), (1, 1, 2), (0, 1)], all_terms(3, 4)], ids=lambda t: str(len(t))
)
def test_closed_terms_are_built_by_one_multiplication_each(terms):
    found = cuda.closed(terms)
    assert set(terms) <= set(found)
    assert len(set(found)) == len(found)
    for k, term in enumerate(found):
        assert not term or term[:-1] in found[:k]
    needed = {term[:k] for term in terms for k in range(len(term) + 1)}
    assert set(found) == needed
    assert cuda.closed(found) == found


_LOOP = re.compile(
    r"    for \(; i (?:\+ (\d+) \* step )?< n_rows; i \+= (?:(\d+) \* )?step\) \{\n(.*?)\n    \}\n", re.DOTALL
)
_ASSIGNMENT = re.compile(r"const (?:float|double) (\w+) = (.+);")
_SUM = re.compile(r"(s\d+) \+= (m\d+);")
_RANGE = re.compile(
    r"(?:if \((w\d+) > 0\.0\) )?\{ (low\d+) = (\w+) < \2 \? \3 : \2; (high\d+) = \3 > \4 \? \3 : \4; \}"
)


def as_python(body):
    """The body of a loop of the kernel, statement by statement; anything unknown fails."""
    lines = []
    for line in filter(None, map(str.strip, body.splitlines())):
        if line in "{}":
            continue
        if found := _ASSIGNMENT.fullmatch(line):
            value = re.sub(r"\(double\)(\w+)", r"float(\1)", found[2])
            lines.append(f"{found[1]} = {value}")
        elif found := _SUM.fullmatch(line):
            lines.append(f"{found[1]} += {found[2]}")
        elif found := _RANGE.fullmatch(line):
            weight, low, x, high = found.groups()
            condition = "True" if weight is None else f"{weight} > 0.0"
            lines.append(f"{low}, {high} = (min({x}, {low}), max({x}, {high})) if {condition} else ({low}, {high})")
        else:
            raise AssertionError(f"not understood: {line}")
    return "\n".join(lines)


def run_kernel(X, weights, terms):
    """What one block of one thread writes, by interpreting the source that a GPU would compile."""
    number = "float" if X.dtype == np.float32 else "double"
    source = cuda.kernel_source(terms, X.shape[1], number, weighted=weights is not None)
    assert f"const {number}* __restrict__ X" in source
    values = {"X": X.ravel(), "weights": weights, "step": 1, "row_stride": X.shape[1], "column_stride": 1}
    for name in re.findall(r"double (s\d+) = 0\.0;", source):
        values[name] = 0.0
    for low, high in re.findall(rf"{number} (low\d+) = 1\.0 / 0\.0, (high\d+) = -1\.0 / 0\.0;", source):
        values[low], values[high] = np.inf, -np.inf
    loops = _LOOP.findall(source)
    assert [more for more, _, _ in loops] == ["3", ""]
    i = 0
    for more, many, body in loops:
        code = compile(as_python(body), "kernel", "exec")
        while i + int(more or 0) < len(X):
            values["i"] = i
            exec(code, values)
            i += int(many or 1)
    written = re.findall(
        r"double a = (?:\(double\))?(\w+);.*?out\[blockIdx\.x \* (\d+) \+ (\d+)\] = a;", source, re.DOTALL
    )
    out = np.full(int(written[0][1]), np.nan)
    for name, _, place in written:
        out[int(place)] = values[name]
    assert np.isfinite(out).all()
    return out


@pytest.mark.parametrize(("n_features", "degree"), [(1, 4), (2, 2), (3, 2), (4, 1)])
@pytest.mark.parametrize("m", [1, 3, 4, 5, 30])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_sums_monomials_and_finds_ranges(n_features, degree, m, weighted, dtype):
    rng = np.random.default_rng(0)
    X = rng.random((m, n_features)).astype(dtype)
    weights = rng.integers(0, 3, m).astype(float) if weighted else None
    if weighted:
        weights[-1] = 1.0
    terms = cuda.closed(all_terms(n_features, 2 * degree))
    out = run_kernel(X, weights, terms)
    used = np.ones(m) if weights is None else weights
    wide = X.astype(np.float64)
    sums = [used @ np.prod(wide[:, list(term)], axis=1) for term in terms]
    np.testing.assert_allclose(out[: len(terms)], sums, rtol=1e-12)
    np.testing.assert_array_equal(out[len(terms) : -n_features], wide[used > 0.0].min(axis=0))
    np.testing.assert_array_equal(out[-n_features:], wide[used > 0.0].max(axis=0))


@pytest.mark.parametrize(("n_features", "degree", "n_basis"), [(1, 3, 1), (2, 3, 1), (2, 3, 6), (3, 2, 4), (4, 2, 1)])
def test_the_gram_is_made_of_sums_of_distinct_monomials(n_features, degree, n_basis):
    X = np.random.default_rng(0).random((200, n_features))
    terms = all_terms(n_features, degree)
    monomials = _monomials(*program(terms), n_basis)
    assert len(monomials.closed) <= min(cuda.MOST_MONOMIALS, (len(terms) - n_basis) * len(terms) + n_features + 1)
    assert monomials.places.shape == (len(terms) - n_basis, len(terms))
    means = np.array([np.prod(X[:, list(term)], axis=1).mean() for term in monomials.closed])
    np.testing.assert_allclose(means[monomials.places], direct_gram(X, terms)[n_basis:], rtol=1e-12)


def test_many_monomials_are_left_to_matrix_products():
    assert _monomials(*program(all_terms(8, 2)), 9) is None
    assert _monomials(*program(all_terms(600, 1)), 1) is None


@pytest.fixture
def emulated_gpu(monkeypatch):
    """Tensors count as being on a GPU, whose kernel is interpreted; a list of the calls."""
    calls = []

    def sum_monomials(X, weights, terms):
        calls.append(len(terms))
        out = run_kernel(np.ascontiguousarray(X), None if weights is None else np.asarray(weights), terms)
        n = X.shape[1]
        return out[: len(terms)], np.array([out[len(terms) : -n], out[-n:]])

    monkeypatch.setattr(cuda, "has_kernels", lambda X: type(X).__module__ == "torch")
    monkeypatch.setattr(cuda, "sum_monomials", sum_monomials)
    return calls


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [torch_tensor, torch_float32], ids=name_of)
def test_moments_and_models_from_the_kernel_are_those_from_the_rows(make, weighted, emulated_gpu, tmp_path):
    X, weights = surface(200), some_weights(200) if weighted else None
    found = Moments(3, 2).update(make(X, tmp_path), weights)
    assert_same_moments(found, Moments(3, 2).update(as_given(X, make), weights))
    model = OAVI(1e-3).fit(make(X, tmp_path), sample_weight=weights)
    assert_same_model(model, OAVI(1e-3).fit(as_given(X, make), sample_weight=weights))
    assert len(emulated_gpu) >= 2
