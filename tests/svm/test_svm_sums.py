"""The sums over rows that the SVM is fitted from, against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from reference import svm_gradient, svm_objective, svm_shortfall

from vanishing.rows.arrays import as_rows
from vanishing.rows.protocol import JoinedRows, View
from vanishing.svm import SquaredHinge

SHAPES = {  # (rows, columns): what is more than one
    "one row": (1, 1),
    "one chunk": (40, 3),
    "chunks": (5_000, 5),
    "blocks for the sums": (280_000, 2),
    "blocks for the Hessian": (20_000, 60),
    "wide": (50, 3_000),
    "integers": (300, 4),
}
by_shape = pytest.mark.parametrize("shape", SHAPES)


def make_sums(shape):
    """Rows, signed weights with zeros among them, and two points between which some rows change sides."""
    n, p = SHAPES[shape]
    rng = np.random.default_rng(3)
    if shape == "integers":  # many rows lie exactly on the margin
        Z = rng.integers(-1, 2, (n, p)).astype(float)
        x, y = rng.integers(-1, 2, (2, p + 1)).astype(float)
    else:
        Z = rng.standard_normal((n, p))
        x, y = rng.standard_normal((2, p + 1)) / np.sqrt(p)
    signed = rng.choice([-2.5, -1.0, 0.0, 0.3, 1.0], n)
    signed[0] = -1.0
    return Z, signed, x, y


def full_hessian(Z, signed, x, columns):
    short = (svm_shortfall(Z, signed, x) > 0.0) & (signed != 0.0)
    A = np.column_stack([Z[short][:, columns], np.ones(short.sum())])
    return 2.0 * (A.T * np.abs(signed[short])) @ A


@by_shape
def test_sums_are_those_of_the_formulas_for_each_label(shape):
    Z, signed, x, _ = make_sums(shape)
    sums = SquaredHinge(as_rows(Z, signed)).sums(x)
    xi = svm_shortfall(Z, signed, x)
    for label, rows in enumerate((signed < 0.0, signed > 0.0)):
        weighted = np.abs(signed[rows]) * xi[rows]
        assert sums.squares[label] == pytest.approx(weighted @ xi[rows], rel=1e-10)
        assert sums.shortfall[label] == pytest.approx(weighted.sum(), rel=1e-10)
        np.testing.assert_allclose(sums.moments[label], Z[rows].T @ weighted, atol=1e-10 * np.abs(signed).sum())


@by_shape
def test_loss_and_slope_are_value_and_gradient(shape):
    Z, signed, x, _ = make_sums(shape)
    sums = SquaredHinge(as_rows(Z, signed)).sums(x)
    assert sums.loss == pytest.approx(svm_objective(Z, signed, 1.0, x) - np.abs(x[:-1]).sum(), rel=1e-9)
    np.testing.assert_allclose(sums.slope, svm_gradient(Z, signed, 1.0, x), atol=1e-10 * np.abs(signed).sum())


def test_slope_is_the_difference_quotient_of_the_loss():
    Z, signed, x, _ = make_sums("one chunk")
    data = SquaredHinge(as_rows(Z, signed))
    step = 1e-6
    quotients = [
        (data.sums(x + step * unit).loss - data.sums(x - step * unit).loss) / (2.0 * step) for unit in np.eye(x.size)
    ]
    np.testing.assert_allclose(data.sums(x).slope, quotients, atol=1e-5)


@pytest.mark.parametrize("shape", ["wide", "blocks for the Hessian"])
def test_points_with_few_weights_have_the_same_sums(shape):
    Z, signed, x, _ = make_sums(shape)
    x[:-1] = np.where(np.arange(x.size - 1) % 30 == 7, x[:-1], 0.0)
    sums = SquaredHinge(as_rows(Z, signed)).sums(x)
    assert sums.loss == pytest.approx(svm_objective(Z, signed, 1.0, x) - np.abs(x[:-1]).sum(), rel=1e-9)
    np.testing.assert_allclose(sums.slope, svm_gradient(Z, signed, 1.0, x), atol=1e-10 * np.abs(signed).sum())


def test_points_may_be_visited_in_any_order():
    Z, signed, *points = make_sums("chunks")
    data = SquaredHinge(as_rows(Z, signed))
    for k in (0, 1, 0, 0, 1, 1):
        point = points[k].copy()
        assert data.sums(points[k]).loss == SquaredHinge(as_rows(Z, signed)).sums(point).loss
        np.testing.assert_array_equal(
            data.hessian(points[1 - k], np.arange(5)),
            SquaredHinge(as_rows(Z, signed)).hessian(points[1 - k].copy(), np.arange(5)),
        )


@by_shape
def test_losses_along_a_line_are_the_loss_at_each_point(shape):
    Z, signed, x, direction = make_sums(shape)
    steps = np.array([0.0, 0.25, 1.0, -3.0])
    losses = SquaredHinge(as_rows(Z, signed)).losses(x, direction, steps)
    expected = [np.abs(signed) @ svm_shortfall(Z, signed, x + t * direction) ** 2 for t in steps]
    np.testing.assert_allclose(losses, expected, rtol=1e-10)


@by_shape
def test_hessian_counts_the_short_rows_in_the_chosen_columns(shape):
    Z, signed, x, _ = make_sums(shape)
    p = min(Z.shape[1], 100)
    data = SquaredHinge(as_rows(Z, signed))
    for columns in (np.arange(p), np.arange(p)[::-2].copy(), np.empty(0, dtype=np.int64)):
        expected = full_hessian(Z, signed, x, columns)
        np.testing.assert_allclose(data.hessian(x, columns), expected, atol=1e-10 * np.abs(signed).sum())


@by_shape
def test_hessian_from_another_point_is_that_from_scratch(shape):
    Z, signed, x, y = make_sums(shape)
    columns = np.arange(Z.shape[1])[-50:]
    data = SquaredHinge(as_rows(Z, signed))
    there = full_hessian(Z, signed, y, columns)
    given_start = there.copy()
    found = data.hessian(x, columns, (y, given_start))
    np.testing.assert_allclose(found, full_hessian(Z, signed, x, columns), atol=1e-10 * np.abs(signed).sum())
    np.testing.assert_array_equal(given_start, there)


@by_shape
def test_hessian_grows_by_columns_before_those_that_are_known(shape):
    Z, signed, x, y = make_sums(shape)
    columns = np.arange(Z.shape[1])[-50:]
    known = columns[columns.size // 3 :]
    found = SquaredHinge(as_rows(Z, signed)).hessian(x, columns, (y, full_hessian(Z, signed, y, known)))
    np.testing.assert_allclose(found, full_hessian(Z, signed, x, columns), atol=1e-10 * np.abs(signed).sum())


def test_hessian_from_the_same_point_changes_nothing():
    Z, signed, x, _ = make_sums("chunks")
    known = full_hessian(Z, signed, x, np.arange(5))
    found = SquaredHinge(as_rows(Z, signed)).hessian(x, np.arange(5), (x, known))
    np.testing.assert_array_equal(found, known)


@by_shape
def test_diagonal_is_that_of_the_hessian_with_every_row_counted(shape):
    Z, signed, _, _ = make_sums(shape)
    data = SquaredHinge(as_rows(Z, signed))
    ones = np.column_stack([Z, np.ones(len(Z))])
    np.testing.assert_allclose(data.diagonal, 2.0 * (np.abs(signed) @ ones**2), rtol=1e-8)
    assert data.total_weight == pytest.approx(np.abs(signed).sum())


def test_joined_sources_give_the_sums_of_one_array():
    Z, signed, x, y = make_sums("chunks")
    parts = [slice(0, 10), slice(10, 3_000), slice(3_000, None)]
    joined = SquaredHinge(JoinedRows([as_rows(Z[rows], signed[rows]) for rows in parts]))
    whole = SquaredHinge(as_rows(Z, signed))
    for part, one in zip(joined.sums(x), whole.sums(x), strict=True):
        np.testing.assert_allclose(part, one, rtol=1e-10)
    np.testing.assert_allclose(joined.losses(x, y, np.ones(1)), whole.losses(x, y, np.ones(1)), rtol=1e-10)
    np.testing.assert_allclose(joined.hessian(x, np.arange(5)), whole.hessian(x, np.arange(5)), rtol=1e-10)


@by_shape
def test_sums_are_the_same_for_computed_columns_that_lie_one_after_the_other(shape):
    Z, signed, x, _ = make_sums(shape)
    by_row = SquaredHinge(as_rows(Z, signed)).sums(x)
    by_column = SquaredHinge(View(as_rows(Z, signed), in_fortran_order, Z.shape[1])).sums(x)
    for one, other in zip(by_row, by_column, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10 * np.abs(signed).sum())


def in_fortran_order(block):
    return block._replace(X=np.asfortranarray(block.X))
