"""The noise of the columns: one level for all of them, or one for each.

Noise variances are shares of the standardised columns: ``sigma_j^2 / scale_j^2``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._typing import Float1D, Float2D
from ..rows.relation import LEFT_BY_ROUNDING
from .gmm import FLOOR, Conditions, System, smallest_ratio, whitener
from .moments import ADDITIVE

__all__ = ["deviation_level", "effective_level", "noise_level", "refined_variances", "reweighted"]


def noise_level(conditions: Conditions, support: Sequence[int], profile: Float1D) -> float:
    """The noise ``s`` at which a polynomial with these terms vanishes on the rows behind the noise.

    With ``variances = s^2 profile``, G(s) the debiased Gram of the terms and D the Gram of their gradients, weighted by
    the profile, it is the fixed point of ``s^2 <- s^2 + min over c of c'G(s)c / c'Dc`` from 0 on.

    Examples
    --------
    >>> from vanishing.laws.estimate.sample import make_sample
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=20_000)
    >>> sample = make_sample(np.column_stack([x, 2.0 * x]) + rng.normal(size=(20_000, 2)) * [0.1, 0.2])
    >>> conditions = Conditions(sample, 1)
    >>> round(noise_level(conditions, [0, 1, 2], np.ones(2)), 2)
    0.1
    """
    frame = _frame(conditions, support)
    gram, D = _pencil(conditions, profile, frame)
    level, done = 0.0, False
    while not done:
        raised = max(level + smallest_ratio(_schur(gram(level)), D[1:, 1:])[0], 0.0)
        done = raised < 1.001 * level + 1e-15 or raised > 1.0  # a column has no more noise than deviation
        level = raised
    return float(np.sqrt(level))


def _frame(conditions: Conditions, support: Sequence[int]) -> Float2D:
    """An orthonormal basis of the span of the terms and the constant; the constant is its first column."""
    used = conditions.basis[:, sorted(support)]  # the constant is the first term
    q, _ = np.linalg.qr(used / np.linalg.norm(used, axis=0))
    return q if 0 in support else np.hstack([np.zeros((len(used), 1)), q])


def _pencil(conditions: Conditions, profile: Float1D, frame: Float2D) -> tuple[Callable[[float], Float2D], Float2D]:
    """The debiased Gram of some functions, as a function of the squared noise level, and the Gram of their gradients.

    ``frame`` has the coefficients of the functions, one function per column.
    """
    moments, terms = conditions.moments, conditions.terms
    if moments.model == ADDITIVE and moments.group_terms is None:
        powers, D = moments.level_pencil(profile, terms)
        parts = frame.T @ powers @ frame
        return lambda level: np.asarray(np.tensordot(level ** np.arange(len(parts)), parts, 1)), frame.T @ D @ frame

    def gram(level: float) -> Float2D:
        return np.asarray(frame.T @ moments.products(level * profile, terms, terms) @ frame)

    return gram, frame.T @ moments.gradient_products(profile, terms) @ frame


def _schur(gram: Float2D) -> Float2D:
    """The Gram of the other functions after a projection that takes out the first."""
    if gram[0, 0] <= 1e-9:  # with groups the constant is gone already
        return gram[1:, 1:]
    return np.asarray(gram[1:, 1:] - np.outer(gram[0, 1:], gram[0, 1:]) / gram[0, 0])


def refined_variances(conditions: Conditions, c: Float1D, variances: Float1D) -> Float1D:
    """One Gauss-Newton step of the log noise variances in the metric of the moment conditions.

    A column has no more noise than deviation.
    """
    W = whitener(conditions.covariance(c, variances)[0])
    residual = W.T @ (conditions.means(variances) @ c)
    step = -np.linalg.lstsq(W.T @ conditions.noise_slopes(variances, c), residual, LEFT_BY_ROUNDING)[0]
    return np.asarray(np.clip(variances * np.exp(np.clip(step, -1.0, 1.0)), FLOOR**2, 1.0))


def effective_level(conditions: Conditions, c: Float1D, variances: Float1D) -> float:
    """The common level that would give the law as much noise: the root of ``sum_j s_j^2 E g_j^2 / sum_j E g_j^2``."""
    ones = np.ones(len(variances))
    return float(np.sqrt((c @ conditions.spread(variances) @ c) / (c @ conditions.spread(ones) @ c)))


def deviation_level(conditions: Conditions, c: Float1D, variances: Float1D) -> float:
    """The noise of a law in deviations of the columns: the root of ``E var g / sum_j var x_j E g_j^2``.

    For multiplicative noise this is more than its share of the values, where these are far from zero.
    """
    sample, terms = conditions.sample, conditions.terms
    spread = (sample.deviation / sample.scale) ** 2
    plain = conditions.basis.T @ conditions.moments.gradient_products(spread, terms, ADDITIVE) @ conditions.basis
    return float(np.sqrt((c @ conditions.spread(variances) @ c) / (c @ plain @ c)))


def reweighted(
    conditions: Conditions, support: Sequence[int], variances: Float1D, c: Float1D, nuisance: str, steps: int
) -> tuple[System, float, Float1D]:
    """Coefficients and weights in turn: the system, ``J`` and the law after ``steps`` steps, at least one."""
    assert steps > 0
    for _ in range(steps):
        system = conditions.system(variances, c, nuisance)
        J, c = system.minimise(support)
    return system, J, c
