"""Why a row is abnormal: which equations it violates, and which columns would have to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._typing import Float1D, Float2D
from .christoffel import ROUNDING, Christoffel
from .columns import CLIP
from .model import Model, in_chunks

__all__ = ["REST", "as_table", "explain_columns", "explain_equations", "nearest_values"]

REST = "ranges of the columns, looser relations"
_GRID, _ROUNDS = 17, 8  # values of a column that are compared; rounds of this, each closer to the best value
_VISIBLE = 1e-6  # share of q from which on a violated exact relation is listed


def as_table(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A pandas DataFrame; a dict of the columns where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return dict(columns)
    return pd.DataFrame(dict(columns))


def explain_equations(model: Model, x: Float1D, names: Sequence[str], digits: int = 4) -> dict[str, list[Any]]:
    """The value of each equation at a row, and its share of q; the shares sum to 1.

    Equations are in the order of their shares, with violated exact relations among them. The last line is the rest of
    q.
    """
    christoffel, equations = model.score.christoffel, model.equations
    X = x[None, :]
    whitened = christoffel.whitening @ christoffel.monomials.values(X)
    parts = equations.contributions(whitened)[:, 0]
    values = equations.polynomials.evaluate(X)[0]
    lines = [
        (f"{polynomial.to_text(digits)} = 0", float(value), float(value / deviation), float(part))
        for polynomial, value, deviation, part in zip(
            equations.polynomials, values, equations.deviation, parts, strict=True
        )
    ]
    rest = float(np.sum(whitened**2) - parts.sum())
    for relation in christoffel.monomials.exact:
        residual = float(relation.residual(X)[0])
        part = min(abs(residual), CLIP) ** 2 / ROUNDING**2
        if part > _VISIBLE * (rest + parts.sum()):
            lines.append((relation.to_text(names), residual, residual / ROUNDING, part))
    lines.sort(key=lambda line: -line[3])
    lines.append((REST, np.nan, np.nan, max(rest, 0.0)))
    total = sum(line[3] for line in lines)
    text, value, deviations, contribution = zip(*lines, strict=True)
    return {
        "equation": list(text),
        "value": list(value),
        "deviations": list(deviations),
        "share": [part / total for part in contribution],
    }


def explain_columns(model: Model, x: Float1D, names: Sequence[str]) -> dict[str, list[Any]]:
    """For each column the value that would fit the others best, and by how much q would be smaller with it.

    Along one column q is a polynomial. If that is a parabola, the contribution ``q(x) - q(x with the expected value)``
    is half the gradient times the distance from the expected value.
    """
    expected, least, q = nearest_values(model.score.christoffel, x)
    contribution = np.maximum(q - least, 0.0)
    order = np.argsort(-contribution, kind="stable")
    return {
        "column": [names[j] for j in order],
        "observed": x[order].tolist(),
        "expected": expected[order].tolist(),
        "contribution": contribution[order].tolist(),
        "share": (contribution[order] / q).tolist(),
    }


def nearest_values(christoffel: Christoffel, x: Float1D) -> tuple[Float1D, Float1D, float]:
    """For every column the value with the least q given the other columns, that q, and q itself.

    Constant columns have one value, binary ones two; others are searched within ten deviations of the mean.
    """
    monomials = christoffel.monomials
    q = float(christoffel.of_rows(x[None, :])[0])
    expected, least = x.copy(), np.full(x.size, q)
    fixed = {relation.columns[0]: relation for relation in monomials.exact if relation.kind != "one-hot"}
    for j, relation in fixed.items():
        other = [relation.low[0] + relation.width[0]] if relation.kind == "binary" else []
        _try(christoffel, x, [j], np.array([[relation.low[0], *other]]), expected, least)
    free = [k for k, j in enumerate(monomials.columns) if int(j) not in fixed]
    if free:
        places = [int(j) for j in monomials.columns[free]]
        centre, reach = monomials.units.centre[free], CLIP * monomials.units.scale[free]
        grid = np.linspace(-1.0, 1.0, _GRID)
        for _ in range(_ROUNDS):
            _try(christoffel, x, places, centre[:, None] + reach[:, None] * grid, expected, least)
            centre, reach = expected[places], 2.0 * reach / (_GRID - 1)
    return expected, least, q


def _try(
    christoffel: Christoffel, x: Float1D, places: Sequence[int], candidates: Float2D, expected: Float1D, least: Float1D
) -> None:
    """Replace the expected values of columns, and the q with them, by the best candidates where these are better."""
    trial = np.repeat(x[None, :], candidates.size, axis=0)
    trial[np.arange(candidates.size), np.repeat(places, candidates.shape[1])] = candidates.ravel()
    values = in_chunks(christoffel.of_rows, trial).reshape(candidates.shape)
    best = np.argmin(values, axis=1)
    for j, k, row, options in zip(places, best, values, candidates, strict=True):
        if row[k] < least[j]:
            expected[j], least[j] = options[k], row[k]
