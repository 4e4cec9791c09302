"""The input and output types of a solver: when to stop, and the solution with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from .._typing import Float1D, Float2D


class Status(IntEnum):
    """Why a solver stopped."""

    VANISHING = 0  #: loss <= psi: the polynomial is a generator
    IMPOSSIBLE = 1  #: loss - gap > psi: no generator with this leading term exists in the ball
    OPTIMAL = 2  #: gap <= tol * psi: optimal to the requested accuracy, and the loss is above psi
    STALLED = 3  #: a step improved the loss by less than ``progress``, or progress is too slow for max_iter
    MAX_ITER = 4  #: the iteration limit was reached

    @property
    def certified(self) -> bool:
        """Whether the decision "generator or not" is proved, up to the requested accuracy."""
        return self <= Status.OPTIMAL


class Stop(NamedTuple):
    """When to stop: on a decision about ``psi``, a small ``gap``, small ``progress`` (0: never), or ``max_iter``."""

    psi: float
    gap: float
    progress: float
    max_iter: int


class Solution(NamedTuple):
    """A solver's answer; ``gap`` certifies ``loss - optimum <= gap``."""

    x: Float1D
    loss: float
    gap: float
    n_iter: int
    status: Status


Solver = Callable[[Float2D, Float1D, float, float, Stop, "Float1D | None"], Solution]
