"""Points on curves and surfaces with known equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from .._typing import Float1D
from ..checks import check_choice, check_count, check_number


@dataclass(frozen=True)
class _Variety:
    """A variety: a description, its equations, and a function that draws the columns of its points."""

    about: str
    features: str
    equations: tuple[str, ...]
    draw: Callable[[np.random.RandomState, int], tuple[Float1D, ...]]


_GAS_CONSTANT = 8.31446261815324  # J / (mol K)
_PROTON_MASS = 0.938272  # GeV
_TWICE_GRAVITY = 19.62  # m / s^2


def _circle(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    t = _angle(random, n)
    return np.cos(t), np.sin(t)


def _sphere(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    X = random.normal(size=(3, n))
    return tuple(X / np.linalg.norm(X, axis=0))


def _torus(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    t, s = _angle(random, n), _angle(random, n)
    return (2.0 + np.cos(s)) * np.cos(t), (2.0 + np.cos(s)) * np.sin(t), np.sin(s)


def _cassini_oval(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    t = _angle(random, n)
    radius = np.sqrt(np.cos(2.0 * t) + np.sqrt(2.0 - np.sin(2.0 * t) ** 2))
    return radius * np.cos(t), radius * np.sin(t)


def _lemniscate(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    t = _angle(random, n)
    x = np.cos(t) / (1.0 + np.sin(t) ** 2)
    return x, x * np.sin(t)


def _cusp(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    t = random.uniform(-1.0, 1.0, n)
    return t**2, t**3


def _twisted_cubic(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    t = random.uniform(-1.0, 1.0, n)
    return t, t**2, t**3


def _whitney_umbrella(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    s, t = random.uniform(-1.0, 1.0, (2, n))
    return s * t, s, t**2


def _ideal_gas(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    volume, amount, temperature = (random.uniform(*ends, n) for ends in ((10.0, 50.0), (0.5, 2.0), (250.0, 400.0)))
    return amount * _GAS_CONSTANT * temperature / volume, volume, amount, temperature


def _kepler(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    axis, mass = random.uniform(0.3, 5.0, n), random.uniform(0.5, 2.0, n)
    return np.sqrt(axis**3 / mass), axis, mass


def _pendulum(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    t = random.uniform(-0.5 * np.pi, 0.5 * np.pi, n)
    return np.sin(t), -np.cos(t), random.choice([-1.0, 1.0], n) * np.sqrt(_TWICE_GRAVITY * np.cos(t))


def _mass_shell(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    momentum = random.normal(size=(3, n))
    return np.sqrt((momentum**2).sum(axis=0) + _PROTON_MASS**2), *momentum


def _thin_lens(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    focal, distance = random.uniform(5.0, 15.0, n), random.uniform(20.0, 60.0, n)
    return focal, distance, focal * distance / (distance - focal)


def _hardy_weinberg(random: np.random.RandomState, n: int) -> tuple[Float1D, ...]:
    p = random.uniform(size=n)
    return p**2, 2.0 * p * (1.0 - p), (1.0 - p) ** 2


def _angle(random: np.random.RandomState, n: int) -> Float1D:
    return random.uniform(0.0, 2.0 * np.pi, n)


_KNOWN = {
    "circle": _Variety("The unit circle.", "x y", ("x**2 + y**2 - 1",), _circle),
    "sphere": _Variety("The unit sphere.", "x y z", ("x**2 + y**2 + z**2 - 1",), _sphere),
    "torus": _Variety(
        "A tube of radius 1 around a circle of radius 2.",
        "x y z",
        ("(x**2 + y**2 + z**2 + 3)**2 - 16*(x**2 + y**2)",),
        _torus,
    ),
    "cassini_oval": _Variety(
        "Points in the plane whose distances from (-1, 0) and (1, 0) have the product sqrt(2).",
        "x y",
        ("(x**2 + y**2)**2 - 2*(x**2 - y**2) - 1",),
        _cassini_oval,
    ),
    "lemniscate": _Variety(
        "Bernoulli's figure eight, which crosses itself at the origin.",
        "x y",
        ("(x**2 + y**2)**2 - x**2 + y**2",),
        _lemniscate,
    ),
    "cusp": _Variety("The semicubical parabola, with a cusp at the origin.", "x y", ("y**2 - x**3",), _cusp),
    "twisted_cubic": _Variety(
        "The curve (t, t^2, t^3), which needs three equations.",
        "x y z",
        ("x**2 - y", "x*y - z", "y**2 - x*z"),
        _twisted_cubic,
    ),
    "whitney_umbrella": _Variety(
        "A surface that crosses itself along half a line.", "x y z", ("x**2 - y**2*z",), _whitney_umbrella
    ),
    "ideal_gas": _Variety(
        "Pressure (kPa), volume (l), amount (mol) and temperature (K) of an ideal gas: p V = n R T.",
        "pressure volume amount temperature",
        (f"pressure*volume - {_GAS_CONSTANT!r}*amount*temperature",),
        _ideal_gas,
    ),
    "kepler": _Variety(
        "Kepler's third law: period (years) and semi-major axis (au) of a planet, and mass of its star (suns).",
        "period axis mass",
        ("mass*period**2 - axis**3",),
        _kepler,
    ),
    "pendulum": _Variety(
        "Position (m) and speed (m/s) of a pendulum of length 1 m that swings up to the height of its pivot: its "
        "length and its energy stay the same.",
        "x y speed",
        ("x**2 + y**2 - 1", f"speed**2 + {_TWICE_GRAVITY!r}*y"),
        _pendulum,
    ),
    "mass_shell": _Variety(
        "Energy and momentum of protons (GeV, c = 1): E^2 = p^2 + m^2.",
        "energy px py pz",
        (f"energy**2 - px**2 - py**2 - pz**2 - {_PROTON_MASS**2!r}",),
        _mass_shell,
    ),
    "thin_lens": _Variety(
        "Focal length of a thin lens, and distances of an object and of its image (cm): 1/f = 1/a + 1/b.",
        "focal_length object_distance image_distance",
        ("focal_length*(object_distance + image_distance) - object_distance*image_distance",),
        _thin_lens,
    ),
    "hardy_weinberg": _Variety(
        "Shares of the genotypes AA, Aa and aa in a population in Hardy-Weinberg equilibrium.",
        "AA Aa aa",
        ("AA + Aa + aa - 1", "Aa**2 - 4*AA*aa"),
        _hardy_weinberg,
    ),
}

#: Names of the point sets that :func:`make_variety` knows.
VARIETIES = tuple(_KNOWN)


def make_variety(
    name: str,
    n_samples: int = 1000,
    *,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Draw points on a curve or surface with known equations.

    Parameters
    ----------
    name : str
        One of :data:`VARIETIES`: circle, sphere, torus, cassini_oval, lemniscate, cusp, twisted_cubic and
        whitney_umbrella from geometry; ideal_gas, kepler, pendulum, mass_shell, thin_lens and hardy_weinberg from the
        sciences.
    n_samples : int, default=1000
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on a column, relative to the range (largest minus smallest value) of
        that column; so it is the standard deviation after scaling to [0, 1].
    random_state : int, RandomState or None
        The same seed gives the same points for every noise.

    Returns
    -------
    variety : Bunch
        With ``data`` of shape (n_samples, n_features), ``feature_names``, ``equations`` (polynomials in these names,
        in SymPy's syntax, which vanish on the points without noise and generate their ideal), ``name`` and ``DESCR``.

    Examples
    --------
    >>> gas = make_variety("ideal_gas", 5, random_state=0)
    >>> gas.feature_names
    ['pressure', 'volume', 'amount', 'temperature']
    >>> gas.equations
    ('pressure*volume - 8.31446261815324*amount*temperature',)
    >>> p, V, n, T = gas.data.T
    >>> abs(p * V - 8.31446261815324 * n * T).max() < 1e-9
    np.True_
    """
    check_choice("name", name, VARIETIES)
    check_count("n_samples", n_samples)
    check_number("noise", noise, low=0.0)
    known = _KNOWN[name]
    random = check_random_state(random_state)
    X = np.column_stack(known.draw(random, n_samples))
    X += noise * np.ptp(X, axis=0) * random.normal(size=X.shape)
    return Bunch(
        data=X,
        feature_names=known.features.split(),
        equations=known.equations,
        name=name,
        DESCR=known.about,
    )
