"""Data with known equations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Float2D, Int1D


def make_synthetic(
    n_samples: int = 2_000_000, *, noise: float = 0.05, random_state: int | np.random.RandomState | None = None
) -> tuple[Float2D, Int1D]:
    """Draw the paper's synthetic data set (arXiv:2207.01236, Appendix D): two classes near two cylinders.

    Class 0 satisfies ``x0^2 + 0.01 x1 + x2^2 = 1`` and class 1 ``x0^2 + x2^2 = 1.3``, in the part with positive
    coordinates, before Gaussian noise is added to every coordinate. The points are drawn as in the authors' code.

    Parameters
    ----------
    n_samples : int, default=2_000_000
        Rows in total, half of them in each class.
    noise : float, default=0.05
        Standard deviation of the noise.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
    y : ndarray of shape (n_samples,)
        0 for the first half of the rows, 1 for the second.

    Examples
    --------
    >>> X, y = make_synthetic(10, noise=0.0, random_state=0)
    >>> abs(X[y == 1, 0] ** 2 + X[y == 1, 2] ** 2 - 1.3).max() < 1e-12
    np.True_
    """
    if n_samples < 2 or n_samples % 2:
        raise ValueError(f"n_samples must be even and at least 2, got {n_samples!r}.")
    random = check_random_state(random_state)
    half = n_samples // 2
    X = np.empty((n_samples, 3))
    for rows, width in ((slice(None, half), 0.99), (slice(half, None), 1.0)):
        X[rows, 0] = width * random.uniform(size=half)
        X[rows, 1] = random.uniform(size=half)
    X[:half, 2] = np.sqrt(1.0 - X[:half, 0] ** 2 - 0.01 * X[:half, 1])
    X[half:, 2] = np.sqrt(1.3 - X[half:, 0] ** 2)
    X += random.normal(0.0, noise, size=X.shape)
    return X, np.repeat([0, 1], half)


def make_ellipsoid(
    n_samples: int = 1000,
    *,
    axes: Sequence[float] = (3.0, 2.0, 1.0),
    centre: Sequence[float] = (10.0, -4.0, 2.0),
    noise: float = 0.001,
    random_state: int | np.random.RandomState | None = None,
) -> Float2D:
    """Draw points on the ellipsoid ``sum_j ((x_j - centre_j) / axes_j)^2 = 1``, in any number of dimensions.

    Parameters
    ----------
    n_samples : int, default=1000
    axes, centre : sequences of the same length
        Semi-axes and centre.
    noise : float, default=0.001
        Standard deviation of the Gaussian noise on a coordinate, relative to its semi-axis.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> X = make_ellipsoid(5, axes=[2.0, 1.0], centre=[0.0, 0.0], noise=0.0, random_state=0)
    >>> abs(X[:, 0] ** 2 / 4 + X[:, 1] ** 2 - 1).max() < 1e-12
    np.True_
    """
    random = check_random_state(random_state)
    X: Float2D = random.normal(size=(n_samples, len(axes)))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X += random.normal(0.0, noise, size=X.shape)
    X *= np.asarray(axes, dtype=np.float64)
    X += np.asarray(centre, dtype=np.float64)
    return X
