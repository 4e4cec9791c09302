"""Rows that several tests of the SVM share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(name="noisy", scope="module")
def noisy_table():
    """200 rows, 6 columns of which 2 matter; labels -1 and 1."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((200, 6))
    return X, np.where(X[:, 0] - 0.5 * X[:, 3] + 0.7 * rng.standard_normal(200) > 0.2, 1.0, -1.0)
