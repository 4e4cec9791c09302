"""The decision as a formula: its terms in the units of the table, and what they contribute to one decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array, Float1D, Float2D, Int1D
from ...constants import IN_TEXT
from ...display import counted
from ...ideals.relations import GRID_POINTS
from ...polynomials.text import shown_names
from .features import FeatureMap
from .transforms import InputTransform, in_variables

_ORDERS = 8  # random orders of the columns, each also reversed, in which a row becomes another one


class Term(NamedTuple):
    """One term of a decision: its text, its weight for every score, and how much it spreads the decisions.

    ``spread`` is the deviation of ``weight * value`` over the training rows, if the columns were scaled.
    """

    text: str
    weight: Float1D
    spread: float


class Formula:
    """``decision(x) = intercept + sum of weight * term(x)``, the terms in variables u that are monotone in the inputs.

    Parameters
    ----------
    mapping : FeatureMap
        To the columns with a weight.
    coef, intercept : ndarray
        Weights of the columns of ``mapping``, ``(n_scores, n_columns)``, and intercepts.
    units : pair of ndarray
        Scale and offset from the variables u to the unit cube.
    names : sequence of str
        Names of the inputs.
    transform : InputTransform, optional
        From the inputs to u; without it they are the same.
    """

    def __init__(
        self,
        mapping: FeatureMap,
        coef: Float2D,
        intercept: Float1D,
        units: tuple[Float1D, Float1D],
        names: Sequence[str],
        transform: InputTransform | None = None,
    ):
        self._mapping, self._coef, self._units = mapping, coef, units
        self.names, self.transform = list(names), transform
        self.variables = self.names if transform is None else transform.variables(self.names)
        weights = coef / (1.0 if mapping.width is None else mapping.width)
        inputs, first = mapping.extras.inputs, mapping.absolute.size + mapping.signed.size
        linear = weights[:, first : first + inputs.size]
        self.intercept = intercept + linear @ units[1][inputs]
        self.terms = [
            Term(text, weights[:, j] * factor, float(np.abs(coef[:, j]).max()))
            for j, (text, factor) in enumerate(zip(self._texts(), self._factors(), strict=True))
        ]

    def _polynomials(self) -> list[Any]:
        lists = [in_variables(own.in_units(self._units), self.variables) for own in self._mapping.lists]
        return [polynomial for own in lists for polynomial in own]

    def _texts(self) -> list[str]:
        mapping, extras, names = self._mapping, self._mapping.extras, shown_names(tuple(self.variables))
        scale, offset = self._units
        zero = -offset / scale  # where an input is 0 in the unit cube
        polynomials = [str(polynomial) for polynomial in self._polynomials()]
        return [
            *(f"|{polynomials[g]}|" for g in mapping.absolute),
            *(f"({polynomials[g]})" for g in mapping.signed),
            *(names[j] for j in extras.inputs),
            *(
                f"max(0, {_difference(names[j], (knot - offset[j]) / scale[j])})"
                for j, knot in zip(extras.hinges, extras.knots, strict=True)
            ),
            *(
                f"({_difference(names[i], zero[i])})*({_difference(names[j], zero[j])})"
                for i, j in zip(extras.left, extras.right, strict=True)
            ),
        ]

    def _factors(self) -> list[float]:
        """What turns weights in the unit cube into weights in the variables."""
        mapping, extras, scale = self._mapping, self._mapping.extras, self._units[0]
        ones = [1.0] * (mapping.absolute.size + mapping.signed.size)
        products = [float(scale[i] * scale[j]) for i, j in zip(extras.left, extras.right, strict=True)]
        return [*ones, *(float(scale[j]) for j in (*extras.inputs, *extras.hinges)), *products]

    def contributions(self, columns: Float2D, variables: Float2D, scores: Int1D) -> Float2D:
        """What every term adds to one score of each row, ``(n_rows, n_terms)``; with its intercept, all of it.

        ``columns`` are the rows under the map, ``variables`` their values u.
        """
        extras, first = self._mapping.extras, self._mapping.absolute.size + self._mapping.signed.size
        parts = self._coef[scores] * columns
        for place, j in enumerate(extras.inputs, first):
            parts[:, place] = self.terms[place].weight[scores] * variables[:, j]
        return np.asarray(parts)

    def ordered(self) -> list[Term]:
        """The terms, largest spread of the decisions first."""
        return sorted(self.terms, key=lambda term: -term.spread)

    def to_text(self, scores: Sequence[str], n_shown: int | None = IN_TEXT) -> list[str]:
        """Lines: what the scores are, the intercepts, the terms with the largest contributions, and the variables."""
        shown = self.ordered()[:n_shown]
        lines = [f"{', '.join(scores)} =", f"{_numbers(self.intercept)}"]
        lines += [f"{_numbers(term.weight)} * {term.text}" for term in shown]
        if len(shown) < len(self.terms):
            lines.append(f"... and {counted(len(self.terms) - len(shown), 'smaller term')}")
        return lines + [f"where {line}" for line in self.meanings(shown)]

    def meanings(self, terms: Sequence[Term]) -> list[str]:
        """The variables in these terms that are not inputs, each with its definition."""
        if self.transform is None:
            return []
        text = " ".join(term.text for term in terms)
        defined = self.transform.spelled_out(self.names).items()
        return [f"{name} = {what}" for name, what in defined if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]

    def to_sympy(self) -> list[Any]:
        """One expression in the inputs for every score. Needs ``pip install 'vanishing[sympy]'``."""
        try:
            import sympy
        except ImportError as error:
            raise ImportError("to_sympy needs SymPy: pip install 'vanishing[sympy]'.") from error
        symbols = [sympy.Symbol(name) for name in self.names]
        own = symbols if self.transform is None else self.transform.to_sympy(symbols)
        replaced = {sympy.Symbol(name): u for name, u in zip(self.variables, own, strict=True)}
        mapping, extras, (scale, offset) = self._mapping, self._mapping.extras, self._units
        scaled = [float(a) * u + float(b) for a, u, b in zip(scale, own, offset, strict=True)]
        polynomials = [polynomial.to_sympy().subs(replaced) for polynomial in self._polynomials()]
        values = [
            *(sympy.Abs(polynomials[g]) for g in mapping.absolute),
            *(polynomials[g] for g in mapping.signed),
            *(own[j] for j in extras.inputs),
            *(
                sympy.Max(0, scaled[j] - float(knot)) / float(scale[j])
                for j, knot in zip(extras.hinges, extras.knots, strict=True)
            ),
            *(
                scaled[i] * scaled[j] / float(scale[i] * scale[j])
                for i, j in zip(extras.left, extras.right, strict=True)
            ),
        ]
        return [
            float(intercept)
            + sympy.Add(*(float(term.weight[k]) * value for term, value in zip(self.terms, values, strict=True)))
            for k, intercept in enumerate(self.intercept)
        ]


def _numbers(values: Float1D) -> str:
    return " ".join(f"{value:+10.4g}" for value in values)


def _difference(name: str, value: float) -> str:
    """``name - value`` with the sign that it needs."""
    if value == 0.0:
        return name
    return f"{name} {'-' if value > 0.0 else '+'} {abs(value):.4g}"


class Change(NamedTuple):
    """The smallest change of one input alone that changes the predicted label."""

    name: str
    value: float
    new_value: float
    new_label: Any


class Explanation(NamedTuple):
    """Why a row has its label: ``decision = intercept + sum of contributions``.

    Attributes
    ----------
    label : object
        The predicted label.
    towards : object
        The class that the decision speaks for where it is positive.
    decision, intercept : float
        By column, the intercept is the decision for the reference.
    contributions : list of (text, float)
        What each term or column adds, the largest first.
    changes : list of Change
        For each input that can do so alone within the training range, the smallest change that changes the label; the
        smallest in terms of that range first.
    """

    label: Any
    towards: Any
    decision: float
    intercept: float
    contributions: list[tuple[str, float]]
    changes: list[Change]

    def __str__(self) -> str:
        lines = [
            f"predicted {self.label}; decision towards {self.towards}: {self.decision:+.4g}",
            f"{self.intercept:+10.4g}  intercept",
        ]
        lines += [f"{value:+10.4g}  {text}" for text, value in self.contributions[:IN_TEXT]]
        rest = self.contributions[IN_TEXT:]
        if rest:
            lines.append(f"{sum(value for _, value in rest):+10.4g}  {counted(len(rest), 'smaller one')}")
        lines += [
            f"{change.new_label} if {change.name} were {change.new_value:.4g} instead of {change.value:.4g}"
            for change in self.changes[:3]
        ]
        return "\n".join(lines)


def changes_of_label(
    predict: Callable[[Float2D], Array], x: Float1D, low: Float1D, high: Float1D, names: Sequence[str]
) -> list[Change]:
    """The smallest changes of single inputs, from ``low`` to ``high``, that change the predicted label of a row."""
    label = predict(x[None, :])[0]
    changes = []
    for j in range(x.size):
        rows = np.repeat(x[None, :], GRID_POINTS, axis=0)
        rows[:, j] = np.linspace(low[j], high[j], GRID_POINTS)
        labels = predict(rows)
        others = np.flatnonzero(labels != label)
        if others.size == 0:
            continue
        nearest = others[np.argmin(np.abs(rows[others, j] - x[j]))]
        inside, outside, new = float(x[j]), float(rows[nearest, j]), labels[nearest]
        row = x[None, :].copy()
        while inside != (middle := 0.5 * (inside + outside)) != outside:
            row[0, j] = middle
            said = predict(row)[0]
            if said == label:
                inside = middle
            else:
                outside, new = middle, said
        changes.append((abs(outside - x[j]) / (high[j] - low[j]), Change(names[j], float(x[j]), outside, new)))
    return [change for _, change in sorted(changes, key=lambda pair: pair[0])]


def shares_of_columns(
    decide: Callable[[Float2D], Float2D], rows: Float2D, reference: Float1D, groups: Sequence[Sequence[int]]
) -> Array:
    """What each group of columns adds to the decision on the way from a reference to a row, by Shapley's rule.

    The columns take the values of the row one group after the other, and each adds what the decision then changes by.
    The mean over some orders, each also turned around, is Shapley's value for terms of one or two groups, and near it
    for others. The sums over the groups are exact: the decision for the row less that for the reference.

    Returns
    -------
    ndarray of shape (n_rows, n_groups, n_scores)

    Examples
    --------
    >>> product = lambda X: X[:, :1] * X[:, 1:]
    >>> shares_of_columns(product, np.array([[3.0, 4.0]]), np.array([1.0, 1.0]), [[0], [1]])[0, :, 0]
    array([5., 6.])
    """
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(len(groups)) for _ in range(_ORDERS if len(groups) > 2 else 1)]
    total: Any = 0.0
    for order in [turned for one in drawn for turned in (one, one[::-1])]:
        current = np.repeat(reference[None, :], len(rows), axis=0)
        before = decide(current)
        steps = np.empty((len(rows), len(groups), before.shape[1]))
        for k in order:
            current[:, list(groups[k])] = rows[:, list(groups[k])]
            after = decide(current)
            steps[:, k] = after - before
            before = after
        total = total + steps
    return np.asarray(total / (2 * len(drawn)))
