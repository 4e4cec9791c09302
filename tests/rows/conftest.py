"""Fixtures of the tests of rows."""

from __future__ import annotations

import pytest
from sklearn.base import clone


@pytest.fixture(scope="module")
def reference_fit():
    """A function that fits an estimator to an array once."""
    known = {}

    def fit(model, X):
        key = repr(model), X.tobytes()
        if key not in known:
            known[key] = clone(model).fit(X)
        return known[key]

    return fit
