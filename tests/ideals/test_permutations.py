"""The same model from the same rows in any order: equal supports, coefficients equal to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from vanishing import ABM, AVI, OAVI

ESTIMATORS = {
    "omp": OAVI(),
    "ihb": OAVI(solver="cg", boost="ihb"),
    "abm": ABM(),
    "avi": AVI(),
}


def table(seed):
    """Rows in the unit cube: independent, near a quadric, or with a column of few values."""
    rng = np.random.default_rng(seed)
    X = rng.random((int(rng.integers(50, 400)), int(rng.integers(2, 5))))
    if seed % 2:
        X[:, -1] = X[:, 0] ** 2 * rng.random() + X[:, 1] * rng.random() * 0.3
    if seed % 5 == 0:
        X[:, -1] = np.round(X[:, -1] * 3) / 3
    return np.minimum(X, 1.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The border:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_order_of_rows_changes_no_support(name):
    for seed in range(40):
        X = table(seed)
        estimator = ESTIMATORS[name].set_params(psi=10.0 ** -(2 + seed % 6), max_degree=5, max_terms=200)
        one = estimator.fit(X).generators_.coef
        other = estimator.fit(X[np.random.default_rng(seed).permutation(len(X))]).generators_.coef
        np.testing.assert_array_equal(one != 0.0, other != 0.0)
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
