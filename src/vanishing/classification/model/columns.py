"""Which columns a classifier sees: the options, and the columns beside the generators (inputs, hinges, products)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...checks import check_choice, check_count, check_flag, quoted
from ...files.fields import Flag, Integer, MayBeMissing, Numbers, Record, Text
from ...files.saved import Parameters, Saved
from ...rows.array_api import namespace_of, on_device_of


@dataclass(frozen=True)
class Extras:
    """Columns beside the generators: inputs t, hinges ``max(0, t_j - knot)``, and products ``t_i t_j``."""

    inputs: Int1D
    hinges: Int1D
    knots: Float1D
    left: Int1D
    right: Int1D

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.inputs.size + self.hinges.size + self.left.size)

    def fill(self, X: Any, out: Any) -> None:
        """Write the columns to ``out``."""
        start, stop = self.inputs.size, self.inputs.size + self.hinges.size
        if start:
            out[:, :start] = X if start == X.shape[1] else take_columns(X, self.inputs)
        if stop > start:
            beyond = take_columns(X, self.hinges) - on_device_of(X, self.knots)
            out[:, start:stop] = namespace_of(X).clip(beyond, 0.0, None)
        if self.left.size:
            out[:, stop:] = take_columns(X, self.left) * take_columns(X, self.right)

    def without_products_of(self, inputs: Bool1D) -> Extras:
        """The columns without products that have one of these inputs as a factor."""
        kept = ~(inputs[self.left] | inputs[self.right])
        return replace(self, left=self.left[kept], right=self.right[kept])

    def select(self, chosen: Bool1D) -> Extras:
        """Some of the columns."""
        inputs, hinges, products = np.split(chosen, [self.inputs.size, self.inputs.size + self.hinges.size])
        return Extras(
            self.inputs[inputs], self.hinges[hinges], self.knots[hinges], self.left[products], self.right[products]
        )


def take_columns(X: Any, index: Int1D) -> Any:
    """Some columns, in any order."""
    return namespace_of(X).take(X, on_device_of(X, index), axis=1)


def hinge_knots(X: Float2D, n_knots: int) -> Float2D:
    """Inner quantiles of every column, ``(n_knots, n_features)``; NaN where one repeats another or the largest value.

    Examples
    --------
    >>> import numpy as np
    >>> hinge_knots(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), 1)
    array([[ 1., nan]])
    """
    if n_knots == 0:
        return np.empty((0, X.shape[1]))
    levels = np.linspace(0.1, 0.9, n_knots) if n_knots > 1 else np.array([0.5])
    knots: Float2D = np.quantile(X, levels, axis=0)
    repeated = np.vstack([np.zeros((1, X.shape[1]), dtype=bool), np.diff(knots, axis=0) == 0.0])
    knots[repeated | (knots >= X.max(axis=0))] = np.nan
    return knots


@dataclass(frozen=True)
class Columns(Saved):
    """Which columns the linear last step of a classifier sees.

    A search takes one of these, or a list: it walks down psi with the first, and tries the others at its best psi.

    Parameters
    ----------
    features : {"both", "absolute", "signed"}, default="both"
        ``g(x)`` and ``|g(x)|`` of every generator g, or one of them. Beside the inputs, ``g`` of degree 1 says nothing
        new and is left out.
    append_input : bool, default=True
        The scaled input columns.
    hinges : int, default=0
        How many columns ``max(0, x_j - knot)`` each input has, with knots at quantiles from 10 to 90%.
    monomials : {1, 2}, default=1
        2 adds all products of two inputs.
    halves : bool, default=False
        The generators of the two halves of each class, see :class:`PerClass`.
    scale_features : bool, default=True
        Divide the columns by their standard deviation, so that the penalty treats them alike.
    monotone : dict, default=None
        For columns of the table, by name or number, 1 or -1: the decision for the second of two classes may only rise,
        or only fall, with the column. Generators and products that contain it are left out, and the weights of the
        column and of its hinges have this sign: the larger the scaled column, the steeper its curve. All ``Columns`` of
        a list have the same directions.

    Examples
    --------
    >>> from vanishing import Columns
    >>> Columns(hinges=5, monotone={"late_payments": 1}).richer()[2].monomials
    2
    >>> Columns(features="absolute", monomials=2).n_extras(10)
    65
    """

    features: str = "both"
    append_input: bool = True
    hinges: int = 0
    monomials: int = 1
    halves: bool = False
    scale_features: bool = True
    monotone: Mapping[Any, float] | None = field(default=None, hash=False)

    _fields: ClassVar = {
        "features": Text(),
        "append_input": Flag(),
        "hinges": Integer(low=0),
        "monomials": Integer(low=1),
        "halves": Flag(),
        "scale_features": Flag(),
        "monotone": MayBeMissing(Parameters()),  # not in files of older versions
    }

    def __post_init__(self) -> None:
        check_choice("features", self.features, ("both", "absolute", "signed"))
        for name in ("append_input", "halves", "scale_features"):
            check_flag(name, getattr(self, name))
        if self.hinges != 0:
            check_count("hinges", self.hinges)
        if self.monomials not in (1, 2) or isinstance(self.monomials, bool):
            raise ValueError(f"monomials must be 1 or 2, the largest degree of products; got {self.monomials!r}.")
        if self.monotone is not None and not isinstance(self.monotone, Mapping):
            raise ValueError(f"monotone must be None or a dict such as {{'age': 1}}; got {self.monotone!r}.")
        for key, sign in (self.monotone or {}).items():
            if isinstance(sign, bool) or not isinstance(sign, Real) or abs(sign) != 1:
                raise ValueError(f"monotone of {quoted(key)} must be 1 (rises) or -1 (falls); got {sign!r}.")

    def _check_saved(self) -> None:
        self.__post_init__()

    @classmethod
    def of(cls, classifier: Any) -> Columns:
        """The columns that the parameters of a classifier ask for."""
        return cls(**{each.name: getattr(classifier, each.name) for each in fields(cls)})

    def with_changes(self, first: Columns, other: Columns) -> Columns:
        """These columns with the fields of ``other`` that differ from those of ``first``.

        Examples
        --------
        >>> Columns(hinges=5).with_changes(Columns(), Columns(halves=True)) == Columns(hinges=5, halves=True)
        True
        """
        changed = {each.name: getattr(other, each.name) for each in fields(self)}
        return replace(self, **{name: value for name, value in changed.items() if value != getattr(first, name)})

    def richer(self, hinges: int = 5) -> list[Columns]:
        """These columns, then what the default search tries at its best psi: hinges, these with products, halves.

        Parameters
        ----------
        hinges : int, default=5
            How many for every input.

        Returns
        -------
        list of Columns

        Examples
        --------
        >>> [columns.hinges for columns in Columns().richer(3)]
        [0, 3, 3, 0]
        """
        bent = replace(self, hinges=hinges)
        return [self, bent, replace(bent, monomials=2), replace(self, halves=True)]

    def directions(self, names: Sequence[str]) -> Float1D:
        """For every input 1 or -1, if the decision may only rise or fall with it, else 0.

        Examples
        --------
        >>> Columns(monotone={"age": -1, 0: 1}).directions(["income", "debt", "age"])
        array([ 1.,  0., -1.])
        """
        found, known = np.zeros(len(names)), list(names)
        for key, sign in (self.monotone or {}).items():
            is_place = isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(known)
            if not is_place and key not in known:
                raise ValueError(f"monotone names the column {quoted(key)}, but the columns are {known}.")
            place = int(key) if is_place else known.index(key)
            if found[place] == -sign:
                raise ValueError(f"monotone says of {quoted(known[place])} that it rises and that it falls.")
            found[place] = sign
        return found

    def require_monotone(self, names: Sequence[str], classes: Array, final: Any) -> None:
        """Raise ValueError where columns cannot be monotone: names that are not there, many classes, another SVM."""
        if self.directions(names).any() and len(classes) != 2:
            raise ValueError(f"monotone needs two classes, of which the second rises or falls; got {len(classes)}.")
        if self.monotone and final is not None:
            raise ValueError(f"monotone needs the built-in SVM, final_estimator=None; got {final!r}.")

    def n_extras(self, n_features: int) -> int:
        """How many columns there are beside the generators, at most.

        Examples
        --------
        >>> Columns(hinges=5, monomials=2).n_extras(10)
        115
        """
        products = n_features * (n_features + 1) // 2 if self.monomials > 1 else 0
        return n_features * (self.append_input + self.hinges) + products

    def extras(self, X: Float2D) -> Extras:
        """The columns beside the generators, for rows in the unit cube like those of ``X``."""
        n, none = X.shape[1], np.empty(0, dtype=np.int64)
        left, right = np.triu_indices(n) if self.monomials > 1 else (none, none)
        knots = hinge_knots(X, self.hinges)
        hinges, rows = np.nonzero(~np.isnan(knots.T))
        return Extras(np.arange(n) if self.append_input else none, hinges, knots[rows, hinges], left, right)


_INDICES = Numbers("i8", (None,), low=0)
EXTRAS = Record(
    Extras,
    {"inputs": _INDICES, "hinges": _INDICES, "knots": Numbers("f8", (None,)), "left": _INDICES, "right": _INDICES},
)
