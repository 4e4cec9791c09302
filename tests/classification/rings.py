"""Noisy circles that several tests classify, and the algorithms that they run."""

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler

from vanishing import ABM, AVI, OAVI, VCA

DENSE = OAVI(psi=0.003, solver="cg", boost="ihb")
ALGORITHMS = pytest.mark.parametrize(
    "estimator",
    [DENSE, OAVI(psi=0.003), ABM(psi=0.001), AVI(psi=0.001, max_degree=4), VCA(psi=0.001, max_degree=4)],
    ids=["OAVI-cg", "OAVI-bpcg", "ABM", "AVI", "VCA"],
)


def rings(n_classes=2, n=40, noise=0.1, seed=0):
    """Noisy circles in two columns, a third without meaning; every column in units of its own."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(n_classes), n))
    radius = 1.0 + 0.5 * y + rng.normal(0.0, noise, y.size)
    angle = rng.uniform(0.0, 2.0 * np.pi, y.size)
    return np.column_stack([3.0 * radius * np.cos(angle) + 1.0, radius * np.sin(angle), 10.0 * rng.random(y.size)]), y


def unit_rings(n_classes=2, n=40, noise=0.1, seed=0):
    X, y = rings(n_classes, n, noise, seed)
    return MinMaxScaler().fit_transform(X), y
