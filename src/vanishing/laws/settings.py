"""What a search is asked for, and what it notes about each attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Bool1D, Float1D, Int1D, Int2D
from .moments import ADDITIVE

__all__ = ["Attempt", "Settings", "known_noise"]


@dataclass(frozen=True)
class Settings:
    """What is asked for.

    ``models`` are pairs of the kind of noise and of what is free in it: "level", "columns" or "none", each tried where
    the one before is rejected; ``sigma`` is the noise of the columns in their units, where it is known. ``profile``
    gives the shares of the columns in the common level. ``allowed(exponents)`` says which terms may occur, and
    ``comparable(exponents, k)`` which have the dimension of term k; ``classes(exponents)`` gives the terms of each
    dimension, among which laws are looked for first.
    """

    max_degree: int
    max_noise: float = 0.12
    models: tuple[tuple[str, str], ...] = ((ADDITIVE, "level"), (ADDITIVE, "columns"))
    sigma: Float1D | None = None
    absolute: bool = False
    snap: bool = True
    allowed: Callable[[Int2D], Bool1D] | None = None
    comparable: Callable[[Int2D, int], Bool1D] | None = None
    classes: Callable[[Int2D], list[Int1D]] | None = None


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
        Test of the best polynomial with all terms; NaN and 0 where it did not come to that.
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
