"""A heating plant: two streams mix, and a heater warms the mixture. Ten sensors, three balance laws.

And a plant over time: inputs that remember, three regimes, twelve sensors.
"""

import numpy as np
from scipy.signal import lfilter

NAMES = ["F1", "F2", "F3", "T1", "T2", "T3", "T4", "Q", "p", "V"]
DEVIATIONS = np.array([1.155, 1.155, 1.63, 5.77, 11.5, 9.6, 20.8, 72.0, 0.6, 0.29])
# The sensor that is inconsistent with the others in each kind of fault.
FAULTS = {"bias": "F1", "stuck": "T3", "drift": "T4", "leak": "F3", "heater": "Q"}


def plant(m, seed, fault=None, noise=0.01):
    """Rows of ``F1 + F2 = F3``, ``F1 T1 + F2 T2 = F3 T3`` and ``F3 (T4 - T3) = Q``; p and V are free.

    The noise of each sensor is 1% of its deviation. Faults: F1 reads a fifth of a deviation too much; T3 is stuck; T4
    drifts by a third of a deviation over the rows; a leak before F3; the heater loses 15% of its power.
    """
    rng = np.random.default_rng(seed)
    F1, F2 = rng.uniform(2, 6, m), rng.uniform(1, 5, m)
    T1, T2 = rng.uniform(10, 30, m), rng.uniform(40, 80, m)
    Q, V = rng.uniform(50, 300, m), rng.uniform(0, 1, m)
    F3 = F1 + F2
    T3 = (F1 * T1 + F2 * T2) / F3
    T4 = T3 + (0.85 if fault == "heater" else 1.0) * Q / F3
    p = 1.5 + 0.02 * F3**2 + rng.normal(0, 0.3, m)
    X = np.column_stack([F1, F2, F3, T1, T2, T3, T4, Q, p, V]) + noise * DEVIATIONS * rng.normal(size=(m, 10))
    if fault == "bias":
        X[:, 0] += 0.2 * DEVIATIONS[0]
    if fault == "leak":
        X[:, 2] -= 0.2 * DEVIATIONS[2]
    if fault == "stuck":
        X[:, 5] = X[0, 5]
    if fault == "drift":
        X[:, 6] += np.linspace(0.0, 0.33, m) * DEVIATIONS[6]
    return X


def series_plant(m, seed, fault=None):
    """Rows over time: four AR(1) inputs (0.95), three regimes of 60 to 200 rows each, eight sensors that follow.

    Six sensors are linear in the inputs and two are products; noise of 5% of each sensor's deviation. With a ``fault``,
    sensor 6 reads 0.3 deviations too much.
    """
    rng, design = np.random.default_rng(seed), np.random.default_rng(1000 + seed)
    memory = lfilter([np.sqrt(1 - 0.95**2)], [1, -0.95], rng.normal(size=(m + 300, 4)), axis=0)[300:]
    regime = np.concatenate([np.full(rng.integers(60, 200), rng.integers(0, 3)) for _ in range(m // 60 + 5)])[:m]
    inputs = memory + 2.0 * design.normal(size=(3, 4))[regime]
    linear = inputs @ design.normal(size=(4, 6))
    X = np.column_stack([inputs, linear, inputs[:, 0] * inputs[:, 1], inputs[:, 2] * linear[:, 0]])
    X = X / X.std(axis=0) + 0.05 * rng.normal(size=X.shape)
    X[:, 6] += 0.3 if fault else 0.0
    return X
