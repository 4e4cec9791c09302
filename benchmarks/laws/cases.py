"""Varieties and formulae in two to six columns, of degree one to four, with one law or several."""

from __future__ import annotations

import numpy as np

from .case import Case


def _angle(random: np.random.Generator, n: int):
    return random.uniform(0.0, 2.0 * np.pi, n)


def _between(random: np.random.Generator, n: int, *ranges: tuple[float, float]):
    """One uniform column for each range."""
    return [random.uniform(low, high, n) for low, high in ranges]


def _line(random, n):
    (x,) = _between(random, n, (-2, 3))
    return x, 2 * x + 1


def _parabola(random, n):
    (x,) = _between(random, n, (-1.5, 2))
    return x, x**2 - 0.5 * x


def _circle(random, n):
    t = _angle(random, n)
    return np.cos(t), np.sin(t)


def _circle_off_centre(random, n):
    t = _angle(random, n)
    return 3 + 2 * np.cos(t), -2 + 2 * np.sin(t)


def _ellipse(random, n):
    t = _angle(random, n)
    return 3 * np.cos(t), 2 * np.sin(t)


def _rotated_ellipse(random, n):
    t = _angle(random, n)
    return 2 * np.cos(t) - np.sin(t), 2 * np.cos(t) + np.sin(t)


def _boyle(random, n):
    (p,) = _between(random, n, (0.5, 4))
    return p, 2 / p


def _unit_hyperbola(random, n):
    (t,) = _between(random, n, (-1.5, 1.5))
    return np.cosh(t) * random.choice([-1, 1], n), np.sinh(t)


def _cusp(random, n):
    (t,) = _between(random, n, (-1.3, 1.3))
    return t**2, t**3


def _nodal_cubic(random, n):
    (t,) = _between(random, n, (-1.5, 1.5))
    return t**2 - 1, t * (t**2 - 1)


def _elliptic_curve(random, n):
    (x,) = _between(random, n, (-1.7, 2.5))
    return x, np.sqrt(np.maximum(x**3 - 2 * x + 2, 0)) * random.choice([-1, 1], n)


def _folium(random, n):
    t = np.tan(random.uniform(-0.6, np.pi / 2 + 0.6, n))
    return 3 * t / (1 + t**3), 3 * t**2 / (1 + t**3)


def _lemniscate(random, n):
    t = _angle(random, n)
    x = np.cos(t) / (1 + np.sin(t) ** 2)
    return x, x * np.sin(t)


def _cardioid(random, n):
    t = _angle(random, n)
    return (1 - np.cos(t)) * np.cos(t), (1 - np.cos(t)) * np.sin(t)


def _trifolium(random, n):
    t = _angle(random, n)
    return np.cos(3 * t) * np.cos(t), np.cos(3 * t) * np.sin(t)


def _two_lines(random, n):
    (x,) = _between(random, n, (-2, 2))
    return x, np.where(random.random(n) < 0.5, x, 1 - x)


def _cubic_graph(random, n):
    (x,) = _between(random, n, (-1.6, 1.6))
    return x, x**3 - x


def _agnesi(random, n):
    (x,) = _between(random, n, (-5, 5))
    return x, 8 / (x**2 + 4)


def _chebyshev(random, n):
    (x,) = _between(random, n, (-1, 1))
    return x, 8 * x**4 - 8 * x**2 + 1


def _superellipse(random, n):
    t = _angle(random, n)
    c, s = np.cos(t), np.sin(t)
    return np.sign(c) * np.sqrt(abs(c)), np.sign(s) * np.sqrt(abs(s))


def _michaelis_menten(random, n):
    (s,) = _between(random, n, (0.1, 10))
    return s, 3 * s / (2 + s)


def _kepler(random, n):
    (a,) = _between(random, n, (0.4, 5))
    return a, a**1.5


def _plane(random, n):
    x, y = _between(random, n, (-1, 2), (0, 3))
    return x, y, 2 * x - 3 * y + 4


def _sphere(random, n):
    X = random.normal(size=(3, n))
    return tuple(X / np.linalg.norm(X, axis=0))


def _ellipsoid(random, n):
    x, y, z = _sphere(random, n)
    return 2 * x, y, 3 * z


def _cylinder(random, n):
    return (*_circle(random, n), *_between(random, n, (-1, 2)))


def _cone(random, n):
    z, t = random.uniform(-2, 2, n), _angle(random, n)
    return z * np.cos(t), z * np.sin(t), z


def _saddle(random, n):
    x, y = _between(random, n, (-1, 2), (-2, 1))
    return x, y, x * y


def _paraboloid(random, n):
    x, y = _between(random, n, (-1, 2), (-2, 1))
    return x, y, x**2 + 2 * y**2 - 1


def _torus(random, n):
    t, s = _angle(random, n), _angle(random, n)
    return (2 + np.cos(s)) * np.cos(t), (2 + np.cos(s)) * np.sin(t), np.sin(s)


def _whitney_umbrella(random, n):
    u, v = _between(random, n, (-1.5, 1.5), (-1.5, 1.5))
    return u * v, u, v**2


def _twisted_cubic(random, n):
    (t,) = _between(random, n, (-1.5, 1.5))
    return t, t**2, t**3


def _viviani(random, n):
    t = _angle(random, n) * 2
    return 1 + np.cos(t), np.sin(t), 2 * np.sin(t / 2)


def _circle_in_space(random, n):
    t = _angle(random, n)
    return np.cos(t), np.sin(t), np.cos(t) + np.sin(t) + 1


def _roman_surface(random, n):
    x, y, z = _sphere(random, n)
    return x * y, y * z, z * x


def _cayley_cubic(random, n):
    a, b = _angle(random, n), _angle(random, n)
    return np.cos(a), np.cos(b), np.cos(a + b)


def _monkey_saddle(random, n):
    x, y = _between(random, n, (-1.5, 1.5), (-1.5, 1.5))
    return x, y, x**3 - 3 * x * y**2


def _hardy_weinberg(random, n):
    (a,) = _between(random, n, (0.05, 0.95))
    return a**2, 2 * a * (1 - a), (1 - a) ** 2


def _ohm(random, n):
    current, resistance = _between(random, n, (0.1, 3), (1, 20))
    return current * resistance, current, resistance


def _kinetic_energy(random, n):
    m, v = _between(random, n, (0.5, 5), (-4, 6))
    return 0.5 * m * v**2, m, v


def _thin_lens(random, n):
    a, b = _between(random, n, (1, 5), (1, 5))
    return a * b / (a + b), a, b


def _free_fall(random, n):
    v, t = _between(random, n, (-5, 5), (0.1, 2))
    return v * t - 4.905 * t**2, v, t


def _mass_shell(random, n):
    m, p = _between(random, n, (0.5, 2), (-2, 2))
    return np.sqrt(m**2 + p**2), p, m


def _bernoulli(random, n):
    rho, v = _between(random, n, (0.5, 2), (0.2, 3))
    return 10 - 0.5 * rho * v**2, rho, v


def _van_der_waals(random, n):
    V, T = _between(random, n, (0.7, 3), (0.8, 2))
    return 8 * T / (3 * V - 1) - 3 / V**2, V, T


def _mass_balance(random, n):
    (b,) = _between(random, n, (0, 3))
    return 1 + 2 * b, b, 9 - 3 * b


def _ideal_gas(random, n):
    V, amount, T = _between(random, n, (1, 5), (0.5, 2), (250, 400))
    return 8.31446 * amount * T / V, V, amount, T


def _heron(random, n):
    a, b, t = *_between(random, n, (1, 3), (1, 3)), random.uniform(0.3, 2.8, n)
    return a, b, np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(t)), 0.5 * a * b * np.sin(t)


def _cosine_rule(random, n):
    a, b, t = *_between(random, n, (1, 3), (1, 3)), random.uniform(0.3, 2.8, n)
    return a, b, np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(t)), np.cos(t)


def _rigid_pendulum(random, n):
    t, w = _angle(random, n), random.uniform(-2, 2, n)
    return np.sin(t), -np.cos(t), w * np.cos(t), w * np.sin(t)


def _rotation(random, n):
    t = _angle(random, n)
    return np.cos(t), -np.sin(t), np.sin(t), np.cos(t)


def _rank_one(random, n):
    p, q, r, s = _between(random, n, (-1, 2), (-2, 1), (-1, 2), (-1, 1))
    return p * r, p * s, q * r, q * s


def _collision(random, n):
    u, v = _between(random, n, (-2, 3), (-3, 2))
    mean = (u + 2 * v) / 3
    return u, v, 2 * mean - u, 2 * mean - v


def _coulomb(random, n):
    p, q, r = _between(random, n, (0.5, 3), (0.5, 3), (1, 3))
    return 8.99 * p * q / r**2, p, q, r


def _magnification(random, n):
    f, a = _between(random, n, (0.5, 1.5), (2, 5))
    b = a * f / (a - f)
    return f, a, b, b / a


def _complex_square(random, n):
    x, y = _between(random, n, (-1, 2), (-2, 1))
    return x, y, x**2 - y**2, 2 * x * y


def _sphere_in_four_dimensions(random, n):
    X = random.normal(size=(4, n))
    return tuple(X / np.linalg.norm(X, axis=0))


def _determinant(random, n):
    a, b, c, d = _between(random, n, (-1, 2), (-2, 1), (-1, 2), (-1, 1))
    return a * d - b * c, a, b, c, d


def _dot_product(random, n):
    a, b, c, d = _between(random, n, (-1, 2), (-2, 1), (-1, 2), (-1, 1))
    return a * c + b * d, a, b, c, d


def _heat(random, n):
    m, c, low, high = _between(random, n, (1, 3), (0.5, 4), (10, 20), (20, 60))
    return m * c * (high - low), m, c, low, high


def _pluecker(random, n):
    p, q = random.normal(size=(4, n)), random.normal(size=(4, n))
    return tuple(p[i] * q[j] - p[j] * q[i] for i, j in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)))


def _complex_product(random, n):
    a, b, c, d = _between(random, n, (-1, 2), (-2, 1), (-1, 2), (-2, 2))
    return a, b, c, d, a * c - b * d, a * d + b * c


def _two_springs(random, n):
    k, m, x, y, v = _between(random, n, (1, 3), (1, 3), (-1, 1), (-1, 1), (-1, 1))
    return k, m, x, y, v, 0.5 * k * (x - y) ** 2 + 0.5 * m * v**2


CASES = (
    Case("line", "x y", ("2*x - y + 1",), _line),
    Case("parabola", "x y", ("x**2 - x/2 - y",), _parabola),
    Case("circle", "x y", ("x**2 + y**2 - 1",), _circle),
    Case("circle off centre", "x y", ("(x - 3)**2 + (y + 2)**2 - 4",), _circle_off_centre),
    Case("ellipse", "x y", ("x**2/9 + y**2/4 - 1",), _ellipse),
    Case("rotated ellipse", "x y", ("(x + y)**2/16 + (y - x)**2/4 - 1",), _rotated_ellipse),
    Case("Boyle", "p V", ("p*V - 2",), _boyle),
    Case("unit hyperbola", "x y", ("x**2 - y**2 - 1",), _unit_hyperbola),
    Case("cusp", "x y", ("x**3 - y**2",), _cusp),
    Case("nodal cubic", "x y", ("y**2 - x**3 - x**2",), _nodal_cubic),
    Case("elliptic curve", "x y", ("y**2 - x**3 + 2*x - 2",), _elliptic_curve),
    Case("folium", "x y", ("x**3 + y**3 - 3*x*y",), _folium),
    Case("lemniscate", "x y", ("(x**2 + y**2)**2 - x**2 + y**2",), _lemniscate),
    Case("cardioid", "x y", ("(x**2 + y**2 + x)**2 - x**2 - y**2",), _cardioid),
    Case("trifolium", "x y", ("(x**2 + y**2)**2 - x**3 + 3*x*y**2",), _trifolium),
    Case("two lines", "x y", ("(y - x)*(y + x - 1)",), _two_lines),
    Case("cubic graph", "x y", ("x**3 - x - y",), _cubic_graph),
    Case("witch of Agnesi", "x y", ("y*(x**2 + 4) - 8",), _agnesi),
    Case("Chebyshev", "x y", ("8*x**4 - 8*x**2 + 1 - y",), _chebyshev),
    Case("superellipse", "x y", ("x**4 + y**4 - 1",), _superellipse),
    Case("Michaelis-Menten", "s v", ("v*(2 + s) - 3*s",), _michaelis_menten),
    Case("Kepler", "a T", ("T**2 - a**3",), _kepler),
    Case("plane", "x y z", ("2*x - 3*y - z + 4",), _plane),
    Case("sphere", "x y z", ("x**2 + y**2 + z**2 - 1",), _sphere),
    Case("ellipsoid", "x y z", ("x**2/4 + y**2 + z**2/9 - 1",), _ellipsoid),
    Case("cylinder", "x y z", ("x**2 + y**2 - 1",), _cylinder),
    Case("cone", "x y z", ("x**2 + y**2 - z**2",), _cone),
    Case("saddle", "x y z", ("x*y - z",), _saddle),
    Case("paraboloid", "x y z", ("x**2 + 2*y**2 - 1 - z",), _paraboloid),
    Case("torus", "x y z", ("(x**2 + y**2 + z**2 + 3)**2 - 16*(x**2 + y**2)",), _torus),
    Case("Whitney umbrella", "x y z", ("x**2 - y**2*z",), _whitney_umbrella),
    Case("twisted cubic", "x y z", ("x**2 - y", "x*y - z"), _twisted_cubic),
    Case("Viviani", "x y z", ("x**2 + y**2 + z**2 - 4", "x**2 + y**2 - 2*x"), _viviani),
    Case("circle in space", "x y z", ("x + y + 1 - z", "x**2 + y**2 - 1"), _circle_in_space),
    Case("Roman surface", "x y z", ("x**2*y**2 + y**2*z**2 + z**2*x**2 - x*y*z",), _roman_surface),
    Case("Cayley cubic", "x y z", ("x**2 + y**2 + z**2 - 2*x*y*z - 1",), _cayley_cubic),
    Case("monkey saddle", "x y z", ("x**3 - 3*x*y**2 - z",), _monkey_saddle),
    Case("Hardy-Weinberg", "p q r", ("p + q + r - 1", "q**2 - 4*p*r"), _hardy_weinberg),
    Case("Ohm", "U I R", ("U - I*R",), _ohm),
    Case("kinetic energy", "E m v", ("E - m*v**2/2",), _kinetic_energy),
    Case("thin lens", "f a b", ("f*a + f*b - a*b",), _thin_lens),
    Case("free fall", "s v t", ("s - v*t + 4.905*t**2",), _free_fall),
    Case("mass shell", "E p m", ("E**2 - p**2 - m**2",), _mass_shell),
    Case("Bernoulli", "p rho v", ("p + rho*v**2/2 - 10",), _bernoulli),
    Case("van der Waals", "p V T", ("(p*V**2 + 3)*(3*V - 1) - 8*T*V**2",), _van_der_waals),
    Case("mass balance", "a b c", ("a - 2*b - 1", "3*b + c - 9"), _mass_balance),
    Case("ideal gas", "p V n T", ("p*V - 8.31446*n*T",), _ideal_gas),
    Case("Heron", "a b c A", ("16*A**2 - 4*a**2*b**2 + (a**2 + b**2 - c**2)**2",), _heron),
    Case("cosine rule", "a b c C", ("a**2 + b**2 - c**2 - 2*a*b*C",), _cosine_rule),
    Case("rigid pendulum", "x y u v", ("x**2 + y**2 - 1", "x*u + y*v"), _rigid_pendulum),
    Case("rotation", "a b c d", ("a - d", "b + c", "a**2 + b**2 - 1"), _rotation),
    Case("rank one", "a b c d", ("a*d - b*c",), _rank_one),
    Case("elastic collision", "u v s t", ("u - v + s - t", "u + 2*v - s - 2*t"), _collision),
    Case("Coulomb", "F p q r", ("F*r**2 - 8.99*p*q",), _coulomb),
    Case("magnification", "f a b M", ("M*a - b", "M*a - f*M - f"), _magnification),
    Case("complex square", "x y u v", ("x**2 - y**2 - u", "2*x*y - v"), _complex_square),
    Case("sphere in four dimensions", "w x y z", ("w**2 + x**2 + y**2 + z**2 - 1",), _sphere_in_four_dimensions),
    Case("determinant", "D a b c d", ("D - a*d + b*c",), _determinant),
    Case("dot product", "s a b c d", ("s - a*c - b*d",), _dot_product),
    Case("heat", "Q m c T U", ("Q - m*c*(U - T)",), _heat),
    Case("Pluecker", "p q r s t u", ("p*u - q*t + r*s",), _pluecker),
    Case("complex product", "a b c d e f", ("a*c - b*d - e", "a*d + b*c - f"), _complex_product),
    Case("two springs", "k m x y v E", ("k*(x - y)**2 + m*v**2 - 2*E",), _two_springs),
)
