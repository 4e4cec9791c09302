"""The methods that are compared, each as a function from a table to polynomials."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from vanishing._typing import Array, Float2D, Int1D

from .case import Poly, polynomial
from .scoring import Found


@dataclass(frozen=True)
class Told:
    """What a method may be told. Ours uses the names, the runs, the kind of noise if ``noise`` is not None, and in the
    exact suite the degree.
    """

    columns: list[str]
    runs: Int1D | None = None
    degree: int | None = None
    sigma: float = 0.0
    n_laws: int = 1
    n_terms: int = 6
    noise: str | None = None


def by_vanishing(X: Float2D, told: Told) -> list[Found]:
    """``discover(X)``: noise, degree and number of laws are unknown to it."""
    from vanishing import discover

    options: dict[str, Any] = {} if told.runs is None else {"groups": told.runs}
    if told.noise is not None:
        options["noise"] = told.noise
    laws = discover(X, names=told.columns, **options)
    return [_found(law, dense=dense) for group, dense in ((laws, False), (laws.dense, True)) for law in group]


def exactly_by_vanishing(X: Array, told: Told) -> list[tuple[Array, list[int]]]:
    """``discover(X, max_degree=...)`` of integers or dyadic fractions in float64, as integer polynomials."""
    from vanishing import discover

    found = []
    for law in discover(X.astype(np.float64), names=told.columns, max_degree=told.degree):
        terms = _found(law, dense=False).coefficients
        fractions = [Fraction(c).limit_denominator(10**6) for c in terms.values()]
        scale = int(np.lcm.reduce([f.denominator for f in fractions]))
        found.append((np.array(list(terms)), [int(f * scale) for f in fractions]))
    return found


def by_polyinv(X: Float2D, told: Told) -> list[Found]:
    """polyinv, told the noise, the degree, the number of terms, and whether there are several laws."""
    import polyinv

    names = [f"v{k}" for k in range(len(told.columns))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = polyinv.discover(
            X,
            var_names=names,
            noise_sigma=told.sigma or None,
            max_degree=told.degree,
            k_max=max(told.n_terms, 2),
            full_nullspace=told.n_laws > 1,
        )
    return [Found(polynomial(expression.as_expr(), names)) for expression in result.basis or []]


METHODS: dict[str, Callable[[Float2D, Told], list[Found]]] = {"vanishing": by_vanishing, "polyinv": by_polyinv}


def missing_package(method: str) -> str | None:
    """Why a method cannot run, or None."""
    if method == "polyinv":
        try:
            import polyinv  # noqa: F401
        except ImportError:
            return "polyinv is not installed (pip install polyinv)"
    return None


class TimeoutReachedError(Exception):
    """A method took too long."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Interrupt what takes longer than some seconds of wall time."""

    def stop(*_: Any) -> None:
        raise TimeoutReachedError

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def _found(law: Any, *, dense: bool) -> Found:
    """A law in the coordinates of the table, with standard errors where they refer to those."""
    if np.any(law.origin):
        names = [f"v{k}" for k in range(len(law.columns))]
        expression = law.to_sympy()
        return Found(polynomial(expression.subs(dict(zip(law.columns, names, strict=True))), names), dense=dense)
    terms = [tuple(term) for term in law.exponents.tolist()]
    coefficients: Poly = dict(zip(terms, law.coef.tolist(), strict=True))
    errors: Poly = dict(zip(terms, law.free_stderr.tolist(), strict=True))
    return Found(coefficients, errors, dense)
