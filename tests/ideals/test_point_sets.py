"""At psi = 0 every algorithm finds the vanishing ideal of rational points on curves and surfaces."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from point_sets import ESTIMATORS, FAMILIES, count_faults, fault, point_set
from reference import rational_order_ideal

from vanishing import AVI, OAVI

FIRST_ORDER_METHODS = ("OAVI ihb", "OAVI wihb", "OAVI agd")  # thousands of iterations for a set


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in FIRST_ORDER_METHODS])
def test_order_ideals_of_points_are_those_of_rational_arithmetic(name):
    wrong = []
    count_faults(range(100), {name: ESTIMATORS[name]}, wrong.append)
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST_ORDER_METHODS)
def test_first_order_methods_find_the_order_ideals_of_points(name):
    wrong = []
    count_faults(range(len(FAMILIES)), {name: ESTIMATORS[name]}, wrong.append)
    assert wrong == []


@pytest.mark.parametrize("t", [(-9, -5, -3, -1, 0, 1, 2, 6, 9), (-9, -8, -5, -4, 1, 3, 6, 8)])
def test_avi_keeps_no_more_terms_than_there_are_points_of_a_twisted_cubic(t):
    points = [tuple(Fraction(s) ** k for k in (1, 2, 3)) for s in t]
    assert fault(AVI(0.0), points, rational_order_ideal(points)) == ""


@pytest.mark.parametrize("normalization", ["leading", "gradient"])
def test_no_bound_on_the_coefficients_is_as_good_as_a_large_one(normalization):
    for seed in range(len(FAMILIES)):
        _, points = point_set(seed)
        X = np.array(points, dtype=np.float64)
        unit = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-300)
        parameters = {"psi": 1e-6, "normalization": normalization, "max_degree": 4}
        bounded, free = (OAVI(tau=tau, **parameters).fit(unit) for tau in (1e7, np.inf))
        assert list(free.order_ideal_) == list(bounded.order_ideal_)
        assert all(g.mse <= 1e-6 for g in free.generators_) or normalization == "gradient"
        np.testing.assert_array_equal(free.transform(unit), bounded.transform(unit))


def test_the_pivot_tolerance_drops_no_coefficient_at_psi_zero():
    """x1 - 1e-4 x0 vanishes; its leading coefficient counts however small it is beside that of the other term."""
    x = np.random.default_rng(0).random(30)
    model = AVI(0.0, pivot_tol=1e-3, max_degree=1).fit(np.column_stack([1e-4 * x, x]))
    assert list(model.order_ideal_) == ["1", "x0"]
    np.testing.assert_allclose(model.generators_.monic().coef, [[0.0, -1e4, 1.0]], atol=1e-9)


def test_the_reference_agrees_with_ranks():
    for seed in range(len(FAMILIES)):
        _, points = point_set(seed)
        assert len(rational_order_ideal(points)) == len(set(points))
