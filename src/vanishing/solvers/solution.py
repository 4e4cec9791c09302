"""The input and output types of a solver: when to stop, and the solution with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, auto
from typing import Any, NamedTuple

from .._typing import Float1D, Float2D


class Status(IntEnum):
    """Why a solver stopped; the codes count from 0."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[Any]) -> int:
        return count

    VANISHING = auto()  #: loss <= psi: the polynomial is a generator
    IMPOSSIBLE = auto()  #: loss - gap > psi: no generator with this leading term exists in the ball
    OPTIMAL = auto()  #: gap <= tol * psi: optimal to the requested accuracy, and the loss is above psi
    STALLED = auto()  #: a step improved the loss by less than ``progress``, or progress is too slow for max_iter
    MAX_ITER = auto()  #: the iteration limit was reached

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
