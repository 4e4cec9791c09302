"""The generators of a classifier as users see them: class, polynomial in the units of the table, weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array, Bool1D, Float2D, Int1D
from ...constants import IN_HTML
from ...display import counted, first_lines, lines_html
from ...polynomials.polynomial import Polynomial, Polynomials
from .per_class import owner_name

__all__ = ["ClassGenerator", "ClassGenerators"]


class ClassGenerator(NamedTuple):
    """A polynomial g that vanishes on a class, with the weights of ``|g|`` and of ``g`` in the decision.

    A weight is a number for two classes, one number per class for more, None if the last step is not linear.
    An ``exact`` polynomial vanishes, up to rounding, on the training rows of every class: it tells no classes apart,
    and its weights are 0. With ``halves``, some vanish on one half of their class alone: ``half`` is 1 or 2 for these.
    """

    label: Any
    polynomial: Polynomial
    weight: Any
    exact: bool
    signed_weight: Any = 0.0
    half: int = 0


class ClassGenerators(Sequence[ClassGenerator]):
    """The generators of all classes with their weights in the decision.

    The polynomials are in the units of the data given to ``fit``; printed, the ones with the largest weights
    come first. ``owners`` holds the number of the class of each list: one list a class, or three where its halves have
    one each.
    """

    def __init__(
        self,
        labels: Array,
        lists: Sequence[Polynomials],
        weights: Float2D | None,
        signed_weights: Float2D | None,
        exact: Bool1D,
        owners: Int1D | None = None,
    ):
        self.labels = labels
        self.lists = tuple(lists)
        self.weights = weights
        self.signed_weights = signed_weights
        self.exact = exact
        self.owners = np.arange(len(self.lists)) if owners is None else owners
        self._places = [(k, g) for k, polynomials in enumerate(self.lists) for g in range(len(polynomials))]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[int(index)]
        k, g = self._places[i]
        weights = [_weight_of(weights, i) for weights in (self.weights, self.signed_weights)]
        owner = int(self.owners[k])
        half = k - int(np.searchsorted(self.owners, owner))
        return ClassGenerator(self.labels[owner], self.lists[k][g], weights[0], bool(self.exact[i]), weights[1], half)

    def __iter__(self) -> Iterator[ClassGenerator]:
        return (self[i] for i in range(len(self)))

    def __str__(self) -> str:
        lines = []
        if self.weights is None or self.signed_weights is None:
            shown: list[tuple[int, Any, str]] = [(int(i), None, "|") for i in np.flatnonzero(~self.exact)]
        else:
            towards = self.labels[1:] if len(self.weights) == 1 else self.labels
            lines.append(f"weight towards class {', '.join(map(str, towards))}; polynomial; class that it vanishes on")
            both = np.hstack([self.weights, self.signed_weights])
            order = np.argsort(-np.abs(both).max(axis=0), kind="stable")
            order = order[np.abs(both).max(axis=0)[order] > 0.0]
            shown = [(int(i) % len(self), both[:, i], "|" if i < len(self) else "") for i in order]
        for i, weight, bar in shown[:IN_HTML]:
            label, polynomial, *_, half = self[i]
            numbers = "" if weight is None else " ".join(f"{w:+10.3g}" for w in weight) + "  "
            lines.append(f"{numbers}{bar}{polynomial}{bar}  (class {owner_name(label, half)})")
        if len(shown) > IN_HTML:
            lines.append(f"... and {len(shown) - IN_HTML} more")
        n_used = len({i for i, *_ in shown})
        if n_used < len(self):
            n_left = len(self) - n_used
            lines.append(f"{counted(n_left, 'generator')} {'has' if n_left == 1 else 'have'} weight 0")
        if self.exact.any():
            n_exact = int(self.exact.sum())
            vanish, tell = ("vanishes", "tells") if n_exact == 1 else ("vanish", "tell")
            lines.append(f"{counted(n_exact, 'generator')} {vanish} exactly on every class, and {tell} none apart")
        return "\n".join(lines)

    def __repr__(self) -> str:
        lines = first_lines(str(self).splitlines())
        return "\n  ".join([f"<ClassGenerators: {len(self)} of {len(self.labels)} classes", *lines]) + ">"

    def _repr_html_(self) -> str:
        return lines_html(str(self).splitlines())


def _weight_of(weights: Float2D | None, i: int) -> Any:
    """The weight of column i: a number for two classes."""
    if weights is None:
        return None
    return float(weights[0, i]) if len(weights) == 1 else weights[:, i]
