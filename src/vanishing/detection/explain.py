"""Why rows are abnormal: which equations they violate, and which columns would have to change.

Along one column q is a polynomial of twice the degree of the monomials. Its values at as many points of Chebyshev give
it exactly, and with it the value of the column that fits the others best. The contribution of a column is what q loses
with that value (reconstruction-based contributions: Alcala and Qin, 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from .._typing import Float1D, Float2D
from ..constants import IN_TEXT
from ..polynomials.text import quoted_name
from .christoffel import Christoffel
from .columns import CLIP, RIDGE
from .model import Model, in_chunks

N_NAMED = 3  # columns in a line, pictures of rows
MOST_EXPLAINED = 100  # rows or episodes with reasons, the worst ones: each costs some hundred scores


def explain_equations(model: Model, x: Float1D, names: Sequence[str], digits: int = 4) -> dict[str, list[Any]]:
    """What makes q large at a row: equations, exact relations and single columns; the shares sum to 1.

    Equations come with the part of q that they and their multiples account for. What remains of q is made smaller one
    column after the other, each time by the column and the value that help most, until it is as in normal rows: each
    step is a line, which names the value that the other columns let expect.
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
        part = min(abs(residual), CLIP) ** 2 / RIDGE**2
        if part > RIDGE * (rest + parts.sum()):
            lines.append((relation.to_text(names), residual, residual / RIDGE, part))
    lines += _single_columns(model, x, names)
    lines.sort(key=lambda line: -line[3])
    total = max(sum(line[3] for line in lines), 1e-300)
    text, value, deviations, contribution = zip(*lines, strict=True)
    return {
        "equation": list(text),
        "value": list(value),
        "deviations": list(deviations),
        "share": [part / total for part in contribution],
    }


def _single_columns(model: Model, x: Float1D, names: Sequence[str]) -> list[tuple[str, float, float, float]]:
    """What q has beyond the equations, column by column."""
    loose, usual = model.loose
    row, lines = x.copy(), []
    for step in range(min(IN_TEXT, loose.monomials.n_columns)):
        expected, least, q = nearest_values(loose, row)
        if q <= usual and step:
            break
        j = int(np.argmin(least))
        drop = q - float(least[j])
        deviations = float(np.sign(x[j] - expected[j]) * np.sqrt(max(drop, 0.0)))
        lines.append(
            (f"{quoted_name(names[j])} = {expected[j]:.4g} by the others", float(x[j] - expected[j]), deviations, drop)
        )
        row[j] = expected[j]
    return lines


def blamed_columns(model: Model, X: Float2D, names: Sequence[str]) -> dict[str, float]:
    """Columns and their shares of the contributions, summed over rows, the largest first."""
    total = np.zeros(X.shape[1])
    for row in X:
        _, least, q = nearest_values(model.score.christoffel, row)
        total += np.maximum(q - least, 0.0)
    order = np.argsort(-total, kind="stable")
    return {names[j]: float(total[j] / max(total.sum(), 1e-300)) for j in order}


def explain_columns(model: Model, x: Float1D, names: Sequence[str]) -> dict[str, list[Any]]:
    """For each column the value that would fit the others best, and by how much q would be smaller with it.

    If q is a parabola along the column, the contribution ``q(x) - q(x with the expected value)`` is half the gradient
    times the distance from the expected value.
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
    used = {v for term in monomials.terms for v in term}  # without columns that were left out
    mixed = monomials.units.directions is not None
    free = [k for k, j in enumerate(monomials.columns) if int(j) not in fixed and (mixed or k in used)]
    if free:
        places = [int(j) for j in monomials.columns[free]]
        centre, reach = monomials.units.centre[free], CLIP * monomials.units.scale[free]
        best = _lowest_points(christoffel, x, places, centre, reach)
        _try(christoffel, x, places, (centre + reach * best)[:, None], expected, least)
    return expected, least, q


def _lowest_points(
    christoffel: Christoffel, x: Float1D, places: Sequence[int], centre: Float1D, reach: Float1D
) -> Float1D:
    """For each column the point of [-1, 1], in units of the reach, with the least q given the other columns."""
    degree = 2 * len(christoffel.monomials.terms[-1])
    nodes = chebyshev.chebpts1(degree + 1)
    trial = np.repeat(x[None, :], len(places) * nodes.size, axis=0)
    values = centre[:, None] + reach[:, None] * nodes
    trial[np.arange(len(trial)), np.repeat(places, nodes.size)] = values.ravel()
    q = in_chunks(christoffel.of_rows, trial).reshape(values.shape)
    curves = chebyshev.chebfit(nodes, q.T, degree)
    best = np.empty(len(places))
    for k, curve in enumerate(curves.T):
        turning = chebyshev.chebroots(chebyshev.chebder(curve)) if np.any(curve[1:]) else np.empty(0)
        real = turning.real[(np.abs(turning.imag) < 1e-6) & (np.abs(turning.real) < 1.0)]
        points = np.concatenate([[-1.0, 1.0], real])
        best[k] = points[np.argmin(chebyshev.chebval(points, curve))]
    return best


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
