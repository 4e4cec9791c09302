"""Tables with known laws, for the tests of laws."""

import numpy as np


def with_noise(X, level, rng):
    """Noise that is a share of each column's deviation."""
    return X + level * X.std(axis=0) * rng.normal(size=X.shape)


def circle(rng, n_rows=1000, radius=1.0, centre=(0.0, 0.0)):
    angle = rng.uniform(0.0, 2.0 * np.pi, n_rows)
    return np.column_stack([centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle)])


def gas(rng, n_rows=2000):
    """p, V, n, T with p V = 8.314 n T."""
    V, n, T = rng.uniform(1, 3, n_rows), rng.uniform(0.5, 2, n_rows), rng.uniform(250, 400, n_rows)
    return np.column_stack([8.314 * n * T / V, V, n, T])


def lemniscate(rng, n_rows=2000):
    angle = rng.uniform(0.0, 2.0 * np.pi, n_rows)
    size = 1.0 + np.sin(angle) ** 2
    return np.column_stack([np.cos(angle) / size, np.sin(angle) * np.cos(angle) / size])


def twisted_cubic(rng, n_rows=1000):
    t = rng.uniform(-1.2, 1.2, n_rows)
    return np.column_stack([t, t**2, t**3])


def saddle(rng, n_rows=1000):
    """z = x^2 - y^2 + 3."""
    x, y = rng.uniform(-2.0, 2.0, (2, n_rows))
    return np.column_stack([x, y, x**2 - y**2 + 3.0])


def oscillators(rng, n_runs=10, n_rows=100):
    """x and v of runs with 4 x^2 + v^2 constant; and the number of the run."""
    energy = rng.uniform(0.5, 3.0, n_runs)
    t = rng.uniform(0.0, 2.0 * np.pi, (n_runs, n_rows))
    size = np.sqrt(energy)[:, None]
    return np.column_stack([(size * np.cos(t) / 2).ravel(), (size * np.sin(t)).ravel()]), np.repeat(
        np.arange(n_runs), n_rows
    )
