"""The 27 programs of the NLA suite: loops whose variables satisfy polynomial equations.

The loops are textbook algorithms (Cohen, Dijkstra, Knuth, Manna, ...), collected by Rodríguez-Carbonell and Kapur
(2007) and Nguyen, Kapur, Weimer and Forrest (2012), written here from their descriptions. Each function yields the
variables at the head of its innermost loop, once per iteration. An invariant counts as found when it follows from what
was found, and a found law is false when it fails on fresh traces; both are decided in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, isqrt

import numpy as np
import sympy

from vanishing._typing import Array
from vanishing.laws.exact import ExactLaw
from vanishing.laws.exact.modular import primes, reduced_echelon
from vanishing.polynomials.terms import exponents_of

State = tuple[int | Fraction, ...]


def divbin(A, B):
    q, r, b = 0, A, B
    while r >= b:
        b *= 2
    while b != B:
        yield A, B, b, q, r
        q, b = 2 * q, b // 2
        if r >= b:
            q, r = q + 1, r - b
    yield A, B, b, q, r


def cohendiv(x, y):
    q, r, a, b = 0, x, 0, 0
    while r >= y:
        a, b = 1, y
        while r >= 2 * b:
            yield x, y, q, r, a, b
            a, b = 2 * a, 2 * b
        yield x, y, q, r, a, b
        q, r = q + a, r - b


def mannadiv(x1, x2):
    y1, y2, y3 = 0, 0, x1
    while y3 != 0:
        yield x1, x2, y1, y2, y3
        if y2 + 1 == x2:
            y1, y2, y3 = y1 + 1, 0, y3 - 1
        else:
            y2, y3 = y2 + 1, y3 - 1
    yield x1, x2, y1, y2, y3


def hard(A, B):
    r, d, p, q = A, B, 1, 0
    while r >= d:
        d, p = 2 * d, 2 * p
    while p != 1:
        yield A, B, d, p, q, r
        d, p = d // 2, p // 2
        if r >= d:
            r, q = r - d, q + p
    yield A, B, d, p, q, r


def sqrt1(n):
    a, s, t = 0, 1, 1
    while s <= n:
        yield a, n, s, t
        a, t = a + 1, t + 2
        s += t
    yield a, n, s, t


def dijkstra(n):
    p, q, r, h = 0, 1, n, 0
    while q <= n:
        q *= 4
    while q != 1:
        yield h, n, p, q, r
        q //= 4
        h, p = p + q, p // 2
        if r >= h:
            p, r = p + q, r - h
    yield h, n, p, q, r


def cohencube(a):
    n, x, y, z = 0, 0, 1, 6
    while n <= a:
        yield a, n, x, y, z
        n, x, y, z = n + 1, x + y, y + z, z + 6


def egcd(x, y):
    a, b, p, q, r, s = x, y, 1, 0, 0, 1
    while a != b:
        yield a, b, p, q, r, s, x, y
        if a > b:
            a, p, r = a - b, p - q, r - s
        else:
            b, q, s = b - a, q - p, s - r
    yield a, b, p, q, r, s, x, y


def egcd2(x, y):
    a, b, p, q, r, s = x, y, 1, 0, 0, 1
    while b != 0:
        c, k = a, 0
        while c >= b:
            yield a, b, c, k, p, q, r, s, x, y
            c, k = c - b, k + 1
        yield a, b, c, k, p, q, r, s, x, y
        a, b, p, q, r, s = b, c, q, p - q * k, s, r - s * k


def egcd3(x, y):
    a, b, p, q, r, s = x, y, 1, 0, 0, 1
    while b != 0:
        c, k = a, 0
        while c >= b:
            d, v = 1, b
            while c >= 2 * v:
                yield a, b, c, d, k, p, q, r, s, v, x, y
                d, v = 2 * d, 2 * v
            yield a, b, c, d, k, p, q, r, s, v, x, y
            c, k = c - v, k + d
        a, b, p, q, r, s = b, c, q, p - q * k, s, r - s * k


def prodbin(a, b):
    x, y, z = a, b, 0
    while y != 0:
        yield a, b, x, y, z
        if y % 2 == 1:
            z, y = z + x, y - 1
        x, y = 2 * x, y // 2
    yield a, b, x, y, z


def prod4br(x, y):
    a, b, p, q = x, y, 1, 0
    while a != 0 and b != 0:
        yield a, b, p, q, x, y
        if a % 2 == 0 and b % 2 == 0:
            a, b, p = a // 2, b // 2, 4 * p
        elif a % 2 == 1 and b % 2 == 0:
            a, q = a - 1, q + b * p
        elif a % 2 == 0 and b % 2 == 1:
            b, q = b - 1, q + a * p
        else:
            a, b = a - 1, b - 1
            q += (a + b + 1) * p
    yield a, b, p, q, x, y


def fermat1(A, R):
    u, v, r = 2 * R + 1, 1, R * R - A
    while r != 0:
        yield A, R, r, u, v
        while r > 0:
            r, v = r - v, v + 2
        while r < 0:
            r, u = r + u, u + 2
    yield A, R, r, u, v


def fermat2(A, R):
    u, v, r = 2 * R + 1, 1, R * R - A
    while r != 0:
        yield A, R, r, u, v
        if r > 0:
            r, v = r - v, v + 2
        else:
            r, u = r + u, u + 2
    yield A, R, r, u, v


def freire1(a):
    x, r = Fraction(a, 2), 0
    while x > r:
        yield a, x, r
        x, r = x - r, r + 1
    yield a, x, r


def freire2(a):
    x, r, s = Fraction(a), 1, Fraction(13, 4)
    while x > s:
        yield a, r, s, x
        x, s, r = x - s, s + 6 * r + 3, r + 1
    yield a, r, s, x


def knuth(a, n):
    d, r, k, t, s = a, n % a, n % (a - 2), 0, isqrt(n)
    q = 4 * (n // (d - 2) - n // d)
    while s >= d and r != 0:
        yield a, d, k, n, q, r, s, t
        rest, t = 2 * r - k + q, r
        k = r
        if rest < 0:
            r, q = rest + d + 2, q + 4
        elif rest < d + 2:
            r = rest
        elif rest < 2 * d + 4:
            r, q = rest - d - 2, q - 4
        else:
            r, q = rest - 2 * d - 4, q - 8
        d += 2
    yield a, d, k, n, q, r, s, t


def lcm1(a, b):
    x, y, u, v = a, b, b, 0
    while x != y:
        yield a, b, u, v, x, y
        while x > y:
            x, v = x - y, v + u
        while x < y:
            y, u = y - x, u + v
    yield a, b, u, v, x, y


def lcm2(a, b):
    x, y, u, v = a, b, b, a
    while x != y:
        yield a, b, u, v, x, y
        if x > y:
            x, v = x - y, v + u
        else:
            y, u = y - x, u + v
    yield a, b, u, v, x, y


def geo1(z, k):
    x, y = 1, z
    for _ in range(k):
        yield k, x, y, z
        x, y = x * z + 1, y * z


def geo2(z, k):
    x, y = 1, 1
    for _ in range(k):
        yield k, x, y, z
        x, y = x * z + 1, y * z


def geo3(a, z, k):
    x, y = a, 1
    for _ in range(k):
        yield a, k, x, y, z
        x, y = x * z + a, y * z


def _power_sum(power: int) -> Callable[[int], Iterator[State]]:
    def loop(k):
        x, y = 0, 0
        while y < k:
            yield k, x, y
            y += 1
            x += y**power
        yield k, x, y

    return loop


@dataclass(frozen=True)
class Program:
    """A loop, the ranges of its inputs, the variables that it yields, and its known invariants."""

    name: str
    loop: Callable[..., Iterator[State]]
    ranges: tuple[tuple[int, int], ...]
    names: str
    degree: int
    invariants: tuple[str, ...]
    admits: Callable[..., bool] = lambda *inputs: True

    @property
    def columns(self) -> list[str]:
        return self.names.split()

    def traces(self, n_rows: int, seed: int) -> Array:
        """Distinct integer or rational rows: of each run with random inputs the first, the last and three more."""
        random = np.random.default_rng(seed)
        rows: dict[State, None] = {}
        for _ in range(20 * n_rows):
            inputs = [int(random.integers(low, high)) for low, high in self.ranges]
            if self.admits(*inputs):
                states = list(self.loop(*inputs))
                between = random.permutation(np.arange(1, len(states) - 1))[:3]
                rows.update(dict.fromkeys(states[k] for k in (0, -1, *between) if states))
            if len(rows) >= n_rows:
                break
        table = np.empty((len(rows), len(self.columns)), dtype=object)
        table[:] = list(rows)
        return table[:n_rows]


_DIVISION = ((1, 2000), (1, 60))
_NUMBERS = ((1, 300), (1, 300))

PROGRAMS = (
    Program("divbin", divbin, _DIVISION, "A B b q r", 2, ("b*q - A + r",)),
    Program("cohendiv", cohendiv, _DIVISION, "x y q r a b", 2, ("q*y + r - x", "a*y - b")),
    Program("mannadiv", mannadiv, ((1, 80), (1, 20)), "x1 x2 y1 y2 y3", 2, ("x2*y1 - x1 + y2 + y3",)),
    Program("hard", hard, _DIVISION, "A B d p q r", 2, ("B*p - d", "B*q - A + r")),
    Program("sqrt1", sqrt1, ((1, 2000),), "a n s t", 2, ("2*a - t + 1", "t**2 - 4*s + 2*t + 1")),
    Program(
        "dijkstra",
        dijkstra,
        ((1, 20000),),
        "h n p q r",
        3,
        ("p**2 - n*q + q*r", "h**2*p - 4*h*n*q + 4*n*p*q - p*q**2 + 4*h*q*r - 4*p*q*r"),
    ),
    Program(
        "cohencube",
        cohencube,
        ((1, 60),),
        "a n x y z",
        3,
        ("6*n - z + 6", "z**2 - 12*y - 6*z + 12", "y*z - 18*x - 12*y + 2*z - 6"),
    ),
    Program("egcd", egcd, _NUMBERS, "a b p q r s x y", 2, ("p*x + r*y - a", "q*x + s*y - b", "q*r - p*s + 1")),
    Program("egcd2", egcd2, _NUMBERS, "a b c k p q r s x y", 2, ("b*k - a + c", "p*x + r*y - a", "q*x + s*y - b")),
    Program(
        "egcd3",
        egcd3,
        ((1, 3000), (1, 300)),
        "a b c d k p q r s v x y",
        2,
        ("b*k - a + c", "p*x + r*y - a", "q*x + s*y - b", "b*d - v"),
    ),
    Program("prodbin", prodbin, _NUMBERS, "a b x y z", 2, ("a*b - x*y - z",)),
    Program("prod4br", prod4br, _NUMBERS, "a b p q x y", 3, ("a*b*p - x*y + q",)),
    Program(
        "fermat1",
        fermat1,
        ((3, 2000), (2, 46)),
        "A R r u v",
        2,
        ("u**2 - v**2 - 4*A - 4*r - 2*u + 2*v",),
        lambda A, R: A % 2 == 1 and (R - 1) ** 2 < A <= R**2,
    ),
    Program(
        "fermat2",
        fermat2,
        ((3, 2000), (2, 46)),
        "A R r u v",
        2,
        ("u**2 - v**2 - 4*A - 4*r - 2*u + 2*v",),
        lambda A, R: A % 2 == 1 and (R - 1) ** 2 < A <= R**2,
    ),
    Program("freire1", freire1, ((1, 2000),), "a x r", 2, ("r**2 - r + 2*x - a",)),
    Program(
        "freire2", freire2, ((1, 20000),), "a r s x", 3, ("12*r**2 - 4*s + 1", "4*r**3 - 6*r**2 + 3*r + 4*x - 4*a - 1")
    ),
    Program(
        "knuth",
        knuth,
        ((3, 30), (20, 40000)),
        "a d k n q r s t",
        3,
        ("d**2*q + 4*d*k - 2*d*q - 4*d*r - 8*n + 8*r", "k*t - t**2"),
        lambda a, n: a % 2 == 1 and n % 2 == 1,
    ),
    Program("lcm1", lcm1, _NUMBERS, "a b u v x y", 2, ("a*b - u*x - v*y",)),
    Program("lcm2", lcm2, _NUMBERS, "a b u v x y", 2, ("2*a*b - u*x - v*y",)),
    Program("geo1", geo1, ((2, 30), (1, 8)), "k x y z", 2, ("x*z - x - y + 1",)),
    Program("geo2", geo2, ((2, 30), (1, 8)), "k x y z", 2, ("x*z - y*z - x + 1",)),
    Program("geo3", geo3, ((1, 30), (2, 30), (1, 8)), "a k x y z", 3, ("a*y*z - x*z - a + x",)),
    Program("ps2", _power_sum(1), ((1, 60),), "k x y", 2, ("y**2 - 2*x + y",)),
    Program("ps3", _power_sum(2), ((1, 60),), "k x y", 3, ("2*y**3 + 3*y**2 - 6*x + y",)),
    Program("ps4", _power_sum(3), ((1, 60),), "k x y", 4, ("y**4 + 2*y**3 + y**2 - 4*x",)),
    Program("ps5", _power_sum(4), ((1, 60),), "k x y", 5, ("6*y**5 + 15*y**4 + 10*y**3 - 30*x - y",)),
    Program("ps6", _power_sum(5), ((1, 60),), "k x y", 6, ("2*y**6 + 6*y**5 + 5*y**4 - y**2 - 12*x",)),
)


def judge(found: list[ExactLaw], program: Program, seed: int) -> tuple[list[str], list[str]]:
    """Known invariants that do not follow from what was found, and found laws that fail on fresh traces."""
    fresh = program.traces(500, seed)
    false = [str(law) for law in found if any(_value(law, row) != 0 for row in fresh)]
    ideal = [_as_dict(law) for law in found]
    symbols = sympy.symbols(program.columns)
    missing = []
    for text in program.invariants:
        target = sympy.Poly(sympy.sympify(text, locals=dict(zip(program.columns, symbols, strict=True))), symbols)
        if not follows({term: int(c) for term, c in target.as_dict().items()}, ideal):
            missing.append(text)
    return missing, false


def _value(law: ExactLaw, row: Array) -> int | Fraction:
    total: int | Fraction = 0
    for term, coefficient in zip(*law, strict=True):
        product: int | Fraction = coefficient
        for x, exponent in zip(row, term.tolist(), strict=True):
            product *= x**exponent
        total += product
    return total


def _as_dict(law: ExactLaw) -> dict[tuple[int, ...], int]:
    exponents, coefficients = law
    return dict(zip(map(tuple, exponents.tolist()), coefficients, strict=True))


def follows(target: dict[tuple[int, ...], int], ideal: list[dict[tuple[int, ...], int]]) -> bool:
    """Whether the target is a combination of multiples of the laws within its degree or one more, modulo a prime."""
    if not ideal:
        return False
    n = len(next(iter(target)))
    prime = next(primes())
    lowest = max(sum(term) for term in target)
    for degree in (lowest, lowest + 1):
        if comb(n + degree, n) > 2000:
            return False
        index = {tuple(t): k for k, t in enumerate(_exponents(n, degree).tolist())}
        multiples = []
        for law in ideal:
            room = degree - max(sum(term) for term in law)
            for shift in _exponents(n, room).tolist() if room >= 0 else []:
                row = np.zeros(len(index), dtype=np.int64)
                for term, c in law.items():
                    row[index[tuple(a + b for a, b in zip(term, shift, strict=True))]] = c % prime
                multiples.append(row)
        if not multiples:
            continue
        goal = np.zeros(len(index), dtype=np.int64)
        for term, c in target.items():
            goal[index[term]] = c % prime
        R, _ = reduced_echelon(np.array(multiples), prime)
        if len(reduced_echelon(np.vstack([R, goal]), prime)[0]) == len(R):
            return True
    return False


def _exponents(n: int, degree: int) -> Array:
    return exponents_of([t for d in range(degree + 1) for t in combinations_with_replacement(range(n), d)], n)
