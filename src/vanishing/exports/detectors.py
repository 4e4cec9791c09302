"""How a detector computes its score: the inverse Christoffel function, the tight equations and the regimes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..detection import VanishingIdealDetector
from ..detection.calibration import Typical
from ..detection.christoffel import Christoffel, Monomials
from ..detection.columns import CLIP, RIDGE, Exact
from ..detection.equations import Violation
from ..detection.model import Part, Score
from ..detection.regimes import Regimes, Shape
from ..polynomials.forms import MonomialForm
from ..polynomials.products import ProductForm
from ..polynomials.terms import Program, terms_up_to
from .evaluation import form_values, term_table
from .operations import Ops

_MOST_COEFFICIENTS = 20_000  # in a text of about 0.7 MB, which DuckDB takes six seconds to plan


def detector_outputs(ops: Ops, x: Any, detector: VanishingIdealDetector) -> dict[str, Any]:
    """``score_samples``, and whether a row is normal; training rows are scored like new ones, not as left out."""
    score = detector._current().score
    if ops.is_text:
        _require_few_numbers(score)
    parts = [
        _standard(ops, _surprise(ops, x, part), typical)
        for part, typical in zip(score.parts, score.typical, strict=True)
    ]
    joined, minus = ops.log_sum_exp(ops.concat(parts)), -np.ones((1, 1))
    scores = ops.keep(ops.linear(joined, minus, np.zeros(1)), "score")
    above = ops.affine(scores, np.ones(1), np.array([-detector.offset_]))
    return {"scores": scores, "label": ops.best(above)}


def _require_few_numbers(score: Score) -> None:
    """Raise ValueError for a score that would be a very long text."""
    n_numbers = 0
    for part in score.parts:
        matrices = [part.whitening] if isinstance(part, Christoffel) else part.coef if isinstance(part, Regimes) else []
        n_numbers += sum(int(np.count_nonzero(matrix)) for matrix in matrices)
    if n_numbers > _MOST_COEFFICIENTS:
        raise ValueError(
            f"The detector has {n_numbers:,} coefficients, and text has room for {_MOST_COEFFICIENTS:,}: export it to "
            "onnx or torch, or fit it with regimes=False and a smaller degree."
        )


def _surprise(ops: Ops, x: Any, part: Part) -> Any:
    """A part of the score before it is in units of its tail."""
    if isinstance(part, Christoffel):
        return ops.log(_christoffel(ops, x, part))
    return _violation(ops, x, part.form) if isinstance(part, Violation) else _regimes(ops, x, part)


def _standard(ops: Ops, part: Any, typical: Typical) -> Any:
    return ops.affine(part, np.array([1.0 / typical.spread]), np.array([-typical.centre / typical.spread]))


def _christoffel(ops: Ops, x: Any, christoffel: Christoffel) -> Any:
    """``|whitening v(x)|^2`` plus the penalty of violated exact relations."""
    monomials = christoffel.monomials
    units = ops.keep(_standard_units(ops, x, monomials), "unit")
    table, row_of = term_table(ops, units, monomials.program)
    order = np.argsort(row_of[1:], kind="stable") + 1
    table = ops.keep(table, "term")
    whitened = ops.keep(ops.linear(table, christoffel.whitening[:, order], christoffel.whitening[:, 0]), "white")
    parts = [ops.squares(whitened, 1.0, len(christoffel.whitening))]
    if monomials.exact:
        residuals = ops.clip(ops.concat([_residual(ops, x, relation) for relation in monomials.exact]), -CLIP, CLIP)
        parts.append(ops.squares(ops.keep(residuals, "exact"), RIDGE**-2, len(monomials.exact)))
    return ops.linear(ops.concat(parts), np.ones((1, len(parts))), np.zeros(1))


def _standard_units(ops: Ops, x: Any, monomials: Monomials) -> Any:
    units = monomials.units
    z = ops.affine(ops.take(x, monomials.columns), 1.0 / units.scale, -units.centre / units.scale)
    z = ops.keep(ops.clip(z, -CLIP, CLIP), "z")
    if units.directions is None:
        return z
    return ops.concat([z, ops.linear(z, units.directions.T, np.zeros(units.directions.shape[1]))])


def _residual(ops: Ops, x: Any, relation: Exact) -> Any:
    """The residual of an exact relation, as one column."""
    low, width = np.array(relation.low), np.array(relation.width)
    u = ops.affine(ops.take(x, np.array(relation.columns)), 1.0 / width, -low / width)
    if relation.kind == "binary":
        return ops.multiply(u, ops.affine(u, np.array([-4.0]), np.array([4.0])))
    n = len(relation.columns)
    return ops.linear(u, np.ones((1, n)), np.array([0.0 if relation.kind == "constant" else -1.0]))


def _violation(ops: Ops, x: Any, form: MonomialForm | ProductForm) -> Any:
    """``log(1 + mean of squares)`` of the tight equations."""
    values = ops.keep(ops.clip(form_values(ops, x, form), -1.0 / RIDGE, 1.0 / RIDGE), "violation")
    n = form.n_polynomials
    return ops.log(ops.affine(ops.squares(values, 1.0 / n, n), np.ones(1), np.ones(1)))


def _regimes(ops: Ops, x: Any, regimes: Regimes) -> Any:
    """Minus the mean over the mixtures of the logarithm of a sum of exponentials of quadratics."""
    z = _shaped(ops, x, regimes.shape)
    n = regimes.shape.kept.size if regimes.shape.directions is None else regimes.shape.directions.shape[1]
    table, row_of = term_table(ops, z, Program.of(terms_up_to(2, n)))
    order = np.argsort(row_of[1:], kind="stable") + 1
    table = ops.keep(table, "square")
    sums = [ops.log_sum_exp(ops.linear(table, coef[:, order], coef[:, 0])) for coef in regimes.coef]
    return ops.linear(ops.concat(sums), np.full((1, len(sums)), -1.0 / len(sums)), np.zeros(1))


def _shaped(ops: Ops, x: Any, shape: Shape) -> Any:
    """The rows in the units of the regimes."""
    z = ops.affine(ops.take(x, shape.kept), 1.0 / shape.scale, -shape.centre / shape.scale)
    heavy, light = np.flatnonzero(shape.heavy > 0.0), np.flatnonzero(shape.heavy <= 0.0)
    parts = ([ops.asinh(ops.take(z, heavy))] if heavy.size else []) + ([ops.take(z, light)] if light.size else [])
    z = ops.take(ops.concat(parts), np.argsort(np.concatenate([heavy, light])))
    z = ops.clip(ops.affine(z, 1.0 / shape.deviation, -shape.mean / shape.deviation), -2.0 * CLIP, 2.0 * CLIP)
    z = ops.keep(z, "shape")
    if shape.directions is None:
        return z
    return ops.keep(ops.linear(z, shape.directions.T, np.zeros(shape.directions.shape[1])), "direction")
