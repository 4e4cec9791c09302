"""Rational points of curves and surfaces, and whether a model with psi = 0 has the vanishing ideal of the points.

The reference is the order ideal in rational arithmetic. The models see the points scaled to [0, 1] and rounded to
float64. An affine map of each column leaves the leading terms alone: it changes a term by multiples of its divisors,
which are smaller.
"""

from __future__ import annotations

import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
from reference import rational_order_ideal

from vanishing import ABM, AVI, OAVI, VCA


def _circle(t):
    """The rational point of the unit circle with parameter t."""
    return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


def _sphere(s, t):
    """The stereographic projection of (s, t) to the unit sphere."""
    d = 1 + s * s + t * t
    return 2 * s / d, 2 * t / d, (d - 2) / d


CURVES = {
    "twisted cubic": lambda t: (t, t**2, t**3),
    "parabola": lambda t: (t, t**2),
    "cubic": lambda t: (t, t**3 - 4 * t),
    "quartic": lambda t: (t, t**4),
    "cusp": lambda t: (t**2, t**3),
    "node": lambda t: (t**2 - 4, t**3 - 4 * t),
    "circle": lambda t: _circle(t / 4),
    "circle on a cylinder": lambda t: (*_circle(t / 4), t),
    "hyperbola": lambda t: (t + Fraction(1, 2), 1 / (t + Fraction(1, 2))),
    "line": lambda t: (t, 2 * t + 1, 3 - t),
    "space quartic": lambda t: (t, t**3, t**4),
}
SURFACES = {
    "sphere": lambda s, t: _sphere(s / 3, t / 3),
    "saddle": lambda s, t: (s, t, s * t),
    "cylinder": lambda s, t: (*_circle(s / 3), t),
    "cone": lambda s, t: (s * s - t * t, 2 * s * t, s * s + t * t),
    "paraboloid": lambda s, t: (s, t, s * s + t * t),
    "Whitney umbrella": lambda s, t: (s * t, s, t * t),
    "two lines": lambda s, t: (s, 0) if s > t else (0, t),
    "three lines": lambda s, t: [(s, 0, 0), (0, s, 0), (0, 0, s)][int(t) % 3],
    "parallel planes": lambda s, t: (s, t, t % 2),
    "grid": lambda s, t: (s % 4, t % 4),
    "scattered": lambda s, t: (s, t),
}
FAMILIES = [*CURVES, *SURFACES]
_PARAMETERS = range(-9, 10)
_MOST_POINTS = 12
_LARGEST_VALUE = 1e-7  # of a generator on a point: rounding errors times coefficients of up to 1e8

_ENOUGH = {"max_degree": _MOST_POINTS + 1}  # the degree at which the ideal of points on a line is complete

ESTIMATORS = {
    "OAVI": OAVI(0.0, tau=1e12, **_ENOUGH),
    "OAVI ihb": OAVI(0.0, tau=1e12, solver="cg", boost="ihb", **_ENOUGH),
    "OAVI wihb": OAVI(0.0, tau=1e12, solver="bpcg", **_ENOUGH),
    "OAVI agd": OAVI(0.0, solver="agd", boost="ihb", **_ENOUGH),
    "OAVI degcolex": OAVI(0.0, tau=1e12, order="degcolex", **_ENOUGH),
    "ABM": ABM(0.0, **_ENOUGH),
    "AVI": AVI(0.0, **_ENOUGH),
    "AVI degcolex": AVI(0.0, order="degcolex", **_ENOUGH),
    "VCA": VCA(0.0, **_ENOUGH),
    "VCA mean-square": VCA(0.0, normalization="mean-square", **_ENOUGH),
}


def point_set(seed):
    """The family of a random set, and its points as tuples of Fractions, distinct and in no order."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    n_points = int(rng.integers(3, _MOST_POINTS + 1))
    if family in CURVES:
        parameters = rng.choice(_PARAMETERS, n_points, replace=False)
        points = [CURVES[family](Fraction(int(t))) for t in parameters]
    else:
        parameters = rng.choice(_PARAMETERS, (n_points, 2))
        points = [SURFACES[family](Fraction(int(s)), Fraction(int(t))) for s, t in parameters]
    return family, list(dict.fromkeys(tuple(map(Fraction, point)) for point in points))


def scaled_points(points):
    """The points with every column scaled to [0, 1] exactly, then rounded; a constant column is 0."""
    columns = [
        [(x - min(column)) / ((max(column) - min(column)) or 1) for x in column] for column in zip(*points, strict=True)
    ]
    return np.array([[float(x) for x in column] for column in columns]).T


def fault(estimator, points, order_ideal):
    """What the model of an estimator gets wrong about the points, in words; an empty string if nothing."""
    X = scaled_points(points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator.fit(X)
    if not model.complete_:
        return "incomplete"
    if model.n_basis_ != len(points):
        return f"{model.n_basis_} terms do not vanish on {len(points)} points"
    if isinstance(estimator, VCA):
        found = {0: 1, **Counter(model.components_.degrees.tolist())}
        return "" if found == Counter(map(sum, order_ideal)) else f"components of degrees {found}"
    if {tuple(e) for e in model.order_ideal_.exponents.tolist()} != set(order_ideal):
        return f"order ideal {', '.join(model.order_ideal_)}"
    largest = np.abs(model.generators_.evaluate(X)).max()
    return "" if largest < _LARGEST_VALUE else f"a generator has the value {largest:g}"


def count_faults(seeds, estimators=None, tell=print):
    """Faults of every estimator over the sets with these seeds; ``tell`` is called with each of them."""
    estimators = ESTIMATORS if estimators is None else estimators
    faults = Counter(dict.fromkeys(estimators, 0))
    for seed in seeds:
        family, points = point_set(seed)
        ideals = {}
        for name, estimator in estimators.items():
            order = getattr(estimator, "order", "deglex")
            if order not in ideals:
                ideals[order] = rational_order_ideal(points, order)
            wrong = fault(estimator, points, ideals[order])
            faults[name] += bool(wrong)
            if wrong:
                tell(f"{name}, seed {seed}, {len(points)} points of family {family!r}: {wrong}")
    return faults
