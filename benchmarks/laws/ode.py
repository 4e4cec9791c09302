"""Runs of differential equations, with polynomial first integrals or without.

Each case has several runs from random initial values; the true laws are constant along each run. Equations as in the
textbooks (Strogatz 2015; Goldstein 2002; Murray 2002); many are also in ODEBench (d'Ascoli et al. 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import solve_ivp

from vanishing._typing import Float1D

from .case import Case

RUNS = 20


def _runs(n: int) -> np.ndarray:
    """Labels of the runs for ``n`` rows."""
    return np.repeat(np.arange(RUNS), n // RUNS)


def _system(
    name: str,
    names: str,
    laws: tuple[str, ...],
    right: Callable[[Float1D], Sequence[float]],
    start: Callable[[np.random.Generator], Sequence[float]],
    time: float,
) -> Case:
    def draw(random: np.random.Generator, n: int) -> tuple[Float1D, ...]:
        parts = []
        for _ in range(RUNS):
            t = np.sort(random.uniform(0.0, time, n // RUNS))
            solved = solve_ivp(
                lambda _, y: right(y), (0.0, time), start(random), method="DOP853", t_eval=t, rtol=1e-11, atol=1e-12
            )
            parts.append(solved.y)
        return tuple(np.concatenate(parts, axis=1))

    return Case(name, names, laws, draw, _runs)


def _oscillator(y):
    return y[1], -4 * y[0]


def _duffing(y):
    return y[1], y[0] - y[0] ** 3


def _rigid_body(y):
    """Moments of inertia 1, 2, 3."""
    return -y[1] * y[2], y[0] * y[2], -y[0] * y[1] / 3


def _kepler(y):
    r = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return y[2], y[3], -y[0] / r, -y[1] / r


def _kepler_start(random):
    angle, speed = random.uniform(0, 2 * np.pi), random.uniform(0.8, 1.2)
    return np.cos(angle), np.sin(angle), -speed * np.sin(angle), speed * np.cos(angle)


def _henon_heiles(y):
    return y[2], y[3], -y[0] - 2 * y[0] * y[1], -y[1] - y[0] ** 2 + y[1] ** 2


def _lotka_volterra(y):
    return y[0] * (1 - y[1]), y[1] * (y[0] - 1)


def _sir(y):
    return -0.5 * y[0] * y[1], 0.5 * y[0] * y[1] - y[1], y[1]


def _enzyme(y):
    """Substrate, enzyme, complex, product."""
    s, e, c, _ = y
    return c - 2 * s * e, 1.5 * c - 2 * s * e, 2 * s * e - 1.5 * c, 0.5 * c


def _van_der_pol(y):
    return y[1], (1 - y[0] ** 2) * y[1] - y[0]


def _lorenz(y):
    return 10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]


def _roessler(y):
    return -y[1] - y[2], y[0] + 0.2 * y[1], 0.2 + y[2] * (y[0] - 5.7)


def _pendulum(y):
    return y[1], -np.sin(y[0])


def _damped(y):
    return y[1], -y[0] - 0.4 * y[1]


def _fitzhugh_nagumo(y):
    return y[0] - y[0] ** 3 / 3 - y[1] + 0.5, 0.08 * (y[0] + 0.7 - 0.8 * y[1])


def _coupled(y):
    """Two equal springs between walls, coupled by a third."""
    return y[2], y[3], -2 * y[0] + y[1], y[0] - 2 * y[1]


def _uniform(*ranges: tuple[float, float]) -> Callable[[np.random.Generator], Sequence[float]]:
    return lambda random: [random.uniform(low, high) for low, high in ranges]


SYSTEMS = (
    _system("oscillator", "x v", ("4*x**2 + v**2",), _oscillator, _uniform((-2, 2), (-2, 2)), 6.0),
    _system("Duffing", "x v", ("2*v**2 - 2*x**2 + x**4",), _duffing, _uniform((-1.5, 1.5), (-1, 1)), 8.0),
    _system(
        "rigid body",
        "a b c",
        ("a**2 + 2*b**2 + 3*c**2", "a**2 + 4*b**2 + 9*c**2"),
        _rigid_body,
        _uniform((-2, 2), (-2, 2), (-2, 2)),
        10.0,
    ),
    _system("Kepler", "x y u v", ("x*v - y*u",), _kepler, _kepler_start, 6.0),
    _system(
        "Henon-Heiles",
        "x y u v",
        ("u**2 + v**2 + x**2 + y**2 + 2*x**2*y - 2*y**3/3",),
        _henon_heiles,
        _uniform((-0.3, 0.3), (-0.3, 0.3), (-0.3, 0.3), (-0.3, 0.3)),
        20.0,
    ),
    _system("SIR", "S I R", ("S + I + R",), _sir, _uniform((4, 9), (0.1, 1), (0, 1)), 6.0),
    _system("enzyme", "s e c p", ("e + c", "s + c + p"), _enzyme, _uniform((1, 4), (0.5, 1.5), (0, 0.5), (0, 1)), 6.0),
    _system(
        "coupled springs",
        "x y u v",
        ("(u + v)**2 + (x + y)**2", "(u - v)**2 + 3*(x - y)**2"),
        _coupled,
        _uniform((-1, 1), (-1, 1), (-1, 1), (-1, 1)),
        10.0,
    ),
    _system("Lotka-Volterra", "x y", (), _lotka_volterra, _uniform((0.4, 2), (0.4, 2)), 8.0),
    _system("van der Pol", "x v", (), _van_der_pol, _uniform((-2.5, 2.5), (-2.5, 2.5)), 8.0),
    _system("Lorenz", "x y z", (), _lorenz, _uniform((-10, 10), (-10, 10), (15, 35)), 4.0),
    _system("Roessler", "x y z", (), _roessler, _uniform((-5, 5), (-5, 5), (0, 1)), 15.0),
    _system("pendulum", "theta omega", (), _pendulum, _uniform((-2.5, 2.5), (-1, 1)), 8.0),
    _system("damped oscillator", "x v", (), _damped, _uniform((-2, 2), (-2, 2)), 8.0),
    _system("FitzHugh-Nagumo", "v w", (), _fitzhugh_nagumo, _uniform((-2, 2), (-1, 1.5)), 40.0),
)
