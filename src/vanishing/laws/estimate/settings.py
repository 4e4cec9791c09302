"""Settings of a search for laws, and notes about its attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._typing import Bool1D, Float1D, Int1D, Int2D
from ..rows.table import in_table
from .moments import ADDITIVE

__all__ = ["DENSE", "LAW", "LIKELY", "Attempt", "Settings", "known_noise"]

LAW = "law"  # how an attempt ends that finds one
DENSE = "it holds within the noise, but a smooth curve that is no polynomial may look the same"
LIKELY = 0.01  # p-value above which the noise model stands, and no other is tried


@dataclass(frozen=True)
class Settings:
    """Limits of a search.

    Attributes
    ----------
    max_degree : int
    max_noise : float
        Largest noise of a law, as a share of the columns' deviations.
    models : tuple of (str, str)
        Kinds of noise, each with what is free in it ("level", "columns" or "none"); the search tries one after another
        until a test does not reject it.
    sigma : ndarray of shape (n_columns,), optional
        Noise of the columns in their units, where it is known.
    absolute : bool
        Whether all columns have the same noise in their units, instead of the same share of their deviations.
    snap : bool
        Whether to read coefficients as rational numbers.
    allowed : callable, optional
        ``allowed(exponents)`` says which terms may occur.
    comparable : callable, optional
        ``comparable(exponents, k)`` says which terms have the dimension of term k.
    classes : callable, optional
        ``classes(exponents)`` gives the terms of each dimension; the search looks among those of one dimension first.
    """

    max_degree: int
    max_noise: float = 0.08
    models: tuple[tuple[str, str], ...] = ((ADDITIVE, "level"), (ADDITIVE, "columns"))
    sigma: Float1D | None = None
    absolute: bool = False
    snap: bool = True
    allowed: Callable[[Int2D], Bool1D] | None = None
    comparable: Callable[[Int2D, int], Bool1D] | None = None
    classes: Callable[[Int2D], list[Int1D]] | None = None

    def of_columns(self, chosen: Sequence[int], n_columns: int) -> Settings:
        """The settings of a search in some of the columns only."""
        comparable = self.comparable
        if comparable is None:
            return self

        def among(exponents: Int2D, k: int) -> Bool1D:
            return comparable(in_table(exponents, chosen, n_columns), k)

        return replace(self, comparable=among, classes=None, allowed=None)

    def snaps(self, exponents: Int1D) -> bool:
        """Whether the constant of a power law with these exponents may be a rational number: it has no unit."""
        sides = np.array([np.maximum(exponents, 0), np.maximum(-exponents, 0)])
        return self.snap and (self.comparable is None or bool(self.comparable(sides, 0)[1]))


@dataclass(frozen=True)
class Attempt:
    """One search at one degree, and how it ended.

    Attributes
    ----------
    degree : int
    n_terms : int
        Candidates.
    noise : float
        Level at which a polynomial of this degree would vanish, as a share of the columns' deviations.
    J, dof : float, int
        Test of the best polynomial with all terms; NaN and 0 without a test.
    reason : str
        Why there is no law, or "law".
    """

    degree: int
    n_terms: int
    noise: float
    reason: str
    J: float = float("nan")
    dof: int = 0


def known_noise(noise: Any, names: Sequence[str]) -> Float1D:
    """The noise of every column, from one number, a list or a mapping."""
    if isinstance(noise, Mapping):
        missing = [name for name in names if name not in noise]
        if missing:
            raise ValueError(f"noise says nothing about column {missing[0]!r}: give its standard deviation.")
        noise = [noise[name] for name in names]
    try:
        values = np.broadcast_to(np.asarray(noise, dtype=np.float64), (len(names),)).copy()
    except (TypeError, ValueError):
        raise ValueError(
            f"noise must be None, 'relative', 'absolute', 'multiplicative', a number, or one for each of the "
            f"{len(names)} columns; got {noise!r}."
        ) from None
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError(f"noise must be finite and not negative; got {noise!r}.")
    return values
