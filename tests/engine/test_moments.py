"""Sums of products of terms: how they add up, and what is fitted from them."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makers import N_ROWS, NAMES, dask_array, npy_file, some_weights, surface, torch_tensor
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sums import SCALER, all_terms, assert_same_model, assert_same_moments, direct_gram, state

from vanishing import ABM, AVI, OAVI, VCA, Moments, RangeWarning

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
    assert moments.n_samples == (500 if weights is None else np.count_nonzero(weights))
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


@pytest.mark.slow
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
    found = Moments(3, 2).update(X, np.append(np.ones(N_ROWS), 0.0))._survey()
    np.testing.assert_array_equal(found.low, surface().min(axis=0))
    np.testing.assert_array_equal(found.high, surface().max(axis=0))


@pytest.mark.slow
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
    np.testing.assert_array_equal(whole._survey().low, X.min(axis=0))
    np.testing.assert_array_equal(whole._survey().high, X.max(axis=0))
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
    assert window.n_samples == (600 if weights is None else np.count_nonzero(weights[rest]))
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
    np.testing.assert_array_equal(moments._survey().high, surface().max(axis=0))


def test_more_rows_than_there_are_cannot_be_subtracted():
    moments = Moments(3, 2).update(surface(100))
    before = state(moments)
    with pytest.raises(ValueError, match="100 rows in these moments, so 200 cannot be subtracted"):
        moments.subtract(Moments(3, 2).update(surface(200)))
    assert state(moments) == before


def test_more_weight_than_there_is_cannot_be_subtracted():
    moments = Moments(3, 2).update(surface(200))
    before = state(moments)
    with pytest.raises(ValueError, match="weight"):
        moments.subtract(Moments(3, 2).update(surface(100), np.full(100, 50.0)))
    assert state(moments) == before


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Moments(3, 3), "3 columns up to degree 3 do not match those of 3 up to degree 2"),
        (Moments(2, 2), "2 columns up to degree 2 do not match those of 3"),
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


@pytest.mark.slow
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
