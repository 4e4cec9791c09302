"""Transforms of columns: monotone, into the unit cube, clipped outside, and exact in words."""

import numpy as np
import pytest
import sympy
from sklearn.preprocessing import QuantileTransformer

from vanishing.classification.model.transforms import TRANSFORMS, InputTransform
from vanishing.rows.arrays import as_rows
from vanishing.rows.sampling import Sample


@pytest.fixture(scope="module")
def table():
    """A uniform column, one with heavy tails, one of few values, and a constant."""
    rng = np.random.default_rng(0)
    return np.column_stack(
        [rng.uniform(-3, 5, 400), rng.standard_cauchy(400), rng.integers(0, 3, 400).astype(float), np.full(400, 7.0)]
    )


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_training_rows_fill_the_unit_cube_in_their_order(kind, table):
    transformed = InputTransform.fitted(kind, table)(table)
    np.testing.assert_allclose(transformed[:, :3].min(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(transformed[:, :3].max(axis=0), 1.0, atol=1e-12)
    assert np.ptp(transformed[:, 3]) == 0.0
    for j in range(3):
        order = np.argsort(table[:, j], kind="stable")
        assert (np.diff(transformed[order, j]) >= 0.0).all()


def test_only_heavy_tails_are_drawn_in(table):
    transform = InputTransform.fitted("arcsinh", table)
    np.testing.assert_array_equal(transform.curved, [False, True, False, False])
    first, median, third = np.quantile(table[:, 1], [0.25, 0.5, 0.75])
    curve = np.arcsinh((table[:, 1] - median) / (third - first))
    np.testing.assert_allclose(transform(table)[:, 1], (curve - curve.min()) / np.ptp(curve), atol=1e-12)
    np.testing.assert_allclose(transform(table)[:, 0], (table[:, 0] - table[:, 0].min()) / np.ptp(table[:, 0]))


@pytest.mark.parametrize("kind", ["arcsinh", "rank"])
@pytest.mark.parametrize("values", [(0.0, 1.0), (-3.0, 8.5)])
def test_columns_of_two_values_stay_as_they_are(kind, values, table):
    rare = np.where(np.arange(400) % 40 == 0, *values[::-1])  # whose inter-quartile range is 0
    transform = InputTransform.fitted(kind, np.column_stack([rare, table[:, 1]]))
    assert transform.variables(["rare", "tail"]) == ["rare", "u_tail"]
    X = np.column_stack([[*values, 0.5 * sum(values)], np.zeros(3)])
    np.testing.assert_array_equal(transform.curve(X)[:, 0], X[:, 0])
    np.testing.assert_allclose(transform(X)[:, 0], [0.0, 1.0, 0.5], atol=1e-15)
    assert transform.to_sympy(sympy.symbols("rare tail"))[0] == sympy.Symbol("rare")


def test_ranks_are_those_of_scikit_learn(table):
    expected = QuantileTransformer(n_quantiles=200, subsample=None).fit_transform(table[:, :2])
    np.testing.assert_allclose(InputTransform.fitted("rank", table[:, :2])(table[:, :2]), expected, atol=1e-10)


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_values_beyond_are_clipped_and_far_ones_counted(kind, table):
    transform = InputTransform.fitted(kind, table[:, :2])
    far = np.array([[1e6, 0.0], [0.0, 0.0], [-1e6, 1e300]])
    assert transform(far).min() >= -0.25
    assert transform(far).max() <= 1.25
    if kind != "rank":  # whose curve ends at 0 and 1 by itself
        assert transform.n_outliers(far) == (2, 0)
    assert transform.n_outliers(table[:, :2]) == (0, 0)


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_the_input_range_is_that_of_the_training_rows(kind, table):
    low, high = InputTransform.fitted(kind, table).input_range
    np.testing.assert_allclose(low, table.min(axis=0), rtol=1e-9)
    np.testing.assert_allclose(high, table.max(axis=0), rtol=1e-9)


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_sympy_has_the_same_curves(kind, table):
    transform = InputTransform.fitted(kind, table[:50])
    symbols = sympy.symbols("a b c d")
    row = table[3]
    expressions = transform.to_sympy(symbols)
    expected = transform.curve(row[None, :])[0]
    values = [float(u.subs(dict(zip(symbols, row, strict=True)))) for u in expressions]
    np.testing.assert_allclose(values[:3], expected[:3], rtol=1e-12)
    names = list(map(str, symbols))
    assert list(transform.spelled_out(names)) == [name for name in transform.variables(names) if name.startswith("u_")]


def test_a_sample_with_the_range_of_all_rows_does_for_them(table):
    whole = InputTransform.fitted("arcsinh", table)
    part = InputTransform.fitted("arcsinh", table[::2], table.min(axis=0), table.max(axis=0))
    np.testing.assert_allclose(part(table), whole(table), atol=0.05)
    assert part(table).min() >= 0.0
    assert part(table).max() <= 1.0 + 1e-12


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_a_sample_in_memory_is_scaled_by_the_range_of_all_rows(kind, table):
    part, low, high = table[np.abs(table[:, 1]) < 5.0], table.min(axis=0), table.max(axis=0)
    transform = InputTransform.of(kind, as_rows(part), Sample(as_rows(part), np.array([400.0]), low, high))
    np.testing.assert_allclose(transform.input_range[0][:3], low[:3])
    np.testing.assert_allclose(transform.input_range[1][:3], high[:3])
    assert 0.0 < transform(part)[:, 1].min() < transform(part)[:, 1].max() < 1.0


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_ranks_on_a_device_are_those_on_the_host(library):
    namespace = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), rng.integers(0, 4, 500), np.full(500, 7.0)]).astype(np.float64)
    transform = InputTransform.fitted("rank", X)
    far = np.vstack([X, X - 10.0, X + 10.0, np.nextafter(X, np.inf)])
    found = transform(namespace.asarray(far))
    np.testing.assert_allclose(np.asarray(found), transform(far), rtol=0.0, atol=1e-15)
