"""Tables without a law: independent and dependent columns, and smooth curves that are not algebraic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vanishing._typing import Float1D, Float2D


@dataclass(frozen=True)
class Null:
    """A table without a law; ``curve``: on a smooth curve, which may be reported as dense, never as a law."""

    name: str
    draw: Callable[[np.random.Generator, int, int], Float2D]
    curve: bool = False


def _uniform(random, n, columns):
    return random.uniform(size=(n, columns))


def _normal(random, n, columns):
    return random.normal(size=(n, columns)) + random.normal(size=columns)


def _correlated(random, n, columns):
    """Correlations of 0.5 to 0.95 with the first column."""
    X = random.normal(size=(n, columns))
    rho = random.uniform(0.5, 0.95, columns)
    rho[0] = 0.0
    return rho * X[:, :1] + np.sqrt(1 - rho**2) * X


def _autoregressive(random, n, columns):
    """Neighbouring columns are correlated."""
    X = random.normal(size=(n, columns))
    for j in range(1, columns):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def _lognormal(random, n, columns):
    return np.exp(random.normal(size=(n, columns)) * random.uniform(0.2, 1.0, columns))


def _heavy_tailed(random, n, columns):
    return random.standard_t(4, size=(n, columns))


def _mixture(random, n, columns):
    centres = random.normal(size=(3, columns)) * 3
    return centres[random.integers(0, 3, n)] + random.normal(size=(n, columns))


def _heteroscedastic(random, n, columns):
    """The spread of every column but the first grows with the first one."""
    X = random.normal(size=(n, columns))
    X[:, 0] = random.uniform(0, 3, n)
    X[:, 1:] *= 0.2 + X[:, :1]
    return X


def _regression(random, n, columns):
    """The last column is a linear function of the others with residuals of half its size."""
    X = random.normal(size=(n, columns))
    X[:, -1] += X[:, :-1] @ random.uniform(0.5, 1.5, columns - 1)
    return X


def _with_noise(random, columns: list[Float1D], width: int) -> Float2D:
    """Columns with noise of 0 to 3% of their deviations, and independent columns up to the width."""
    n = len(columns[0])
    X = np.column_stack([*columns, *random.normal(size=(width - len(columns), n))])
    return X + random.choice([0.0, 0.005, 0.01, 0.03]) * X.std(axis=0) * random.normal(size=X.shape)


def _sine(random, n, columns):
    x = random.uniform(-3, 3, n)
    return _with_noise(random, [x, np.sin(2 * x)], columns)


def _exponential(random, n, columns):
    x = random.uniform(-1, 3, n)
    return _with_noise(random, [x, np.exp(x)], columns)


def _sigmoid(random, n, columns):
    x = random.uniform(-4, 4, n)
    return _with_noise(random, [x, np.tanh(x)], columns)


def _logarithm(random, n, columns):
    x = random.uniform(0.05, 5, n)
    return _with_noise(random, [x, np.log(x)], columns)


def _bell(random, n, columns):
    x = random.uniform(-3, 3, n)
    return _with_noise(random, [x, np.exp(-(x**2))], columns)


def _spiral(random, n, columns):
    t = random.uniform(0, 4 * np.pi, n)
    return _with_noise(random, [t * np.cos(t), t * np.sin(t)], columns)


def _cycloid(random, n, columns):
    t = random.uniform(0, 4 * np.pi, n)
    return _with_noise(random, [t - np.sin(t), 1 - np.cos(t)], columns)


def _beats(random, n, columns):
    t = random.uniform(0, 12, n)
    return _with_noise(random, [np.sin(t), np.sin(np.sqrt(2) * t)], columns)


NULLS = (
    Null("uniform", _uniform),
    Null("normal", _normal),
    Null("correlated", _correlated),
    Null("autoregressive", _autoregressive),
    Null("lognormal", _lognormal),
    Null("heavy-tailed", _heavy_tailed),
    Null("mixture", _mixture),
    Null("heteroscedastic", _heteroscedastic),
    Null("regression", _regression),
    Null("sine", _sine, curve=True),
    Null("exponential", _exponential, curve=True),
    Null("sigmoid", _sigmoid, curve=True),
    Null("logarithm", _logarithm, curve=True),
    Null("bell", _bell, curve=True),
    Null("spiral", _spiral, curve=True),
    Null("cycloid", _cycloid, curve=True),
    Null("beats", _beats, curve=True),
)
