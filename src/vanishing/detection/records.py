"""Detectors in files: the fields of their parts, and checks that the parts agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Bool1D, Float1D, Float2D
from ..files.fields import (
    Either,
    Field,
    Integer,
    Number,
    Numbers,
    Optional,
    Record,
    Text,
    TupleOf,
    require,
)
from ..files.saved import Object
from ..polynomials.forms import PROGRAM
from ..polynomials.terms import Program
from .calibration import GammaTail, Typical
from .christoffel import Christoffel, Monomials
from .columns import Exact, Standardised
from .equations import Equations, Violation
from .model import Model, Part, Score
from .regimes import MOST_CENTRES, Mixture, Regimes, Shape
from .series import Series
from .sums import Sample, Sums

_MOST_FACTORS = 500_000  # in the terms of a file: a limit on the memory that it can ask for
_VECTOR, _MATRIX, _INDICES = Numbers("f8", (None,)), Numbers("f8", (None, None)), Numbers("i8", (None,), low=0)


def _check_exact(relation: Exact) -> None:
    require(relation.kind in ("constant", "binary", "one-hot"), f"there is a relation {relation.kind!r}")
    lengths = {len(part) for part in (relation.columns, relation.low, relation.width)}
    require(len(lengths) == 1 and lengths != {0}, "a relation has other numbers than columns")
    require(all(width > 0.0 for width in relation.width), "a column of a relation has no width")


def _check_units(units: Standardised) -> None:
    lengths = {units.centre.size, units.scale.size}
    lengths |= set() if units.kept is None else {units.kept.size}
    lengths |= set() if units.directions is None else {units.directions.shape[0]}
    require(len(lengths) == 1 and bool((units.scale > 0.0).all()), "the columns have no proper units")


def _monomials(units: Standardised, exact: tuple[Exact, ...], program: Program) -> Monomials:
    degree = [0] * program.size
    for k, parent in enumerate(program.left[1:].tolist(), start=1):
        degree[k] = degree[parent] + 1
    require(sum(degree) <= _MOST_FACTORS, "there are too many factors in the monomials")
    width = units.centre.size + (0 if units.directions is None else units.directions.shape[1])
    require(int(program.right.max(initial=0)) < max(width, 1), "a monomial has a missing factor")
    return Monomials(units, tuple(program.terms), exact, program)


def _christoffel(monomials: Monomials, gram: Float2D, whitening: Float2D) -> Christoffel:
    n = len(monomials.terms)
    require(gram.shape == whitening.shape == (n, n), "there are other products than monomials")
    return replace(Christoffel.of_gram(monomials, gram), whitening=whitening)


def _check_equations(equations: Equations) -> None:
    n, edges = len(equations.polynomials), np.array(equations.edges)
    lengths = {equations.deviation.size, equations.mean.size, equations.tight.size, edges.size - 1}
    require(lengths == {n}, "there are other deviations than equations")
    ascending = edges[0] == 0 and bool((np.diff(edges) >= 0).all()) and edges[-1] == equations.spans.shape[1]
    require(ascending, "there are other directions than equations")
    require(bool((equations.deviation > 0.0).all()), "an equation has no deviation")


def _check_violation(violation: Violation) -> None:
    require(violation.deviation.size == len(violation.polynomials) > 0, "there are other deviations than equations")
    require(bool((violation.deviation > 0.0).all()), "an equation has no deviation")


def _check_shape(shape: Shape) -> None:
    vectors = (shape.kept, shape.centre, shape.scale, shape.heavy, shape.mean, shape.deviation)
    lengths = {part.size for part in vectors} | (set() if shape.directions is None else {shape.directions.shape[0]})
    positive = bool((shape.scale > 0.0).all() and (shape.deviation > 0.0).all())
    require(len(lengths) == 1 and lengths != {0} and positive, "the regimes have no proper units")


def _check_mixture(mixture: Mixture) -> None:
    k, n = mixture.centres.shape
    require(mixture.sizes.size == k > 0 and mixture.covariances.shape == (k, n, n), "a regime has no centre")
    require(bool((mixture.sizes > 0.0).all()), "a regime is empty")
    require(k <= MOST_CENTRES, "there are too many regimes")


def _check_regimes(regimes: Regimes) -> None:
    shape = regimes.shape
    n = shape.kept.size if shape.directions is None else shape.directions.shape[1]
    require({mixture.centres.shape[1] for mixture in regimes.mixtures} == {n}, "the regimes have other columns")
    require(all(bool(np.isfinite(coef).all()) for coef in regimes.coef), "a regime is flat")


def _check_typical(typical: Typical) -> None:
    require(typical.spread > 0.0, "a score has no spread")


def _check_tail(tail: GammaTail) -> None:
    require(tail.shape > 0.0 and tail.scale > 0.0, "the tail is no distribution")


def _check_sample(sample: Sample) -> None:
    lengths = {sample.keys.size, sample.weights.size, len(sample.X)}
    require(len(lengths) == 1 and lengths != {0}, "the sample has other weights than rows")
    require(bool((sample.weights > 0.0).all()), "a row of the sample has no weight")


def _check_series(series: Series) -> None:
    require(
        min(series.n_effective, series.n_levels) > 1.0 and 0.0 < series.rate < 1.0,
        "the limit of the series is no limit",
    )


def _check_sums(sums: Sums) -> None:
    require(sums.gram.shape[0] == sums.gram.shape[1], "the sums are no products")
    require(sums.total_weight > 0.0, "the rows have no weight")


def require_columns(model: Model, whole: Monomials, sums: Sums | None, n_features: int) -> None:
    """Refuse a model with parts about other columns than those of the fit."""
    every = [whole, *(part.monomials for part in model.parts if isinstance(part, Christoffel))]
    shapes = [part.shape for part in model.parts if isinstance(part, Regimes)]
    used = [monomials.columns for monomials in every] + [shape.kept for shape in shapes]
    used += [np.array(relation.columns) for monomials in every for relation in monomials.exact]
    require(all(int(columns.max(initial=0)) < n_features for columns in used), "a part is about a missing column")
    samples = [sample for sample in (model.sample, None if sums is None else sums.sample) if sample is not None]
    polynomials = [model.equations.polynomials]
    polynomials += [part.polynomials for part in model.parts if isinstance(part, Violation)]
    widths = {len(each.feature_names) for each in polynomials} | {sample.X.shape[1] for sample in samples}
    whole_width = all(m.units.kept is not None or m.n_columns == n_features for m in every)
    require(widths == {n_features} and whole_width, "the parts have different columns")
    left_out = () if model.series is None else model.series.left_out
    require(all(j < n_features for j in left_out), "a column that was left out is missing")
    require(
        set(model.score.christoffel.monomials.terms) <= set(whole.terms),
        "a monomial of the score is not among those of the sums",
    )
    require(sums is None or len(sums.gram) == len(whole.terms), "there are other sums than monomials")


def _model(
    parts: tuple[Part, ...],
    left: tuple[Float1D, ...],
    gamma: GammaTail | None,
    equations: Equations,
    total_weight: float,
    sample: Sample | None,
    series: Series | None,
    near: Bool1D | None,
) -> Model:
    first = parts[0] if parts else None
    if not isinstance(first, Christoffel):
        raise ValueError("the score has no first part")
    require(equations.spans.shape[0] == first.n_terms, "a direction has other terms")
    require(total_weight > 0.0, "the rows have no weight")
    if gamma is not None:
        require(len(parts) == 1 and sample is None, "there are rows beside a fitted tail")
        return Model(Score(parts, (gamma.typical,)), gamma, (), equations, total_weight, None)
    agrees = sample is not None and len(left) == len(parts) and {len(part) for part in left} == {len(sample.X)}
    require(agrees, "there are other scores than rows")
    assert sample is not None
    require(near is None or (len(near) == len(sample.X) and bool(near.any())), "no rows are near")
    return Model.of_left(parts, left, equations, total_weight, sample, series, near)


_TYPICAL = Record(Typical, {"centre": Number(), "spread": Number()}, _check_typical)
_GAMMA = Record(GammaTail, {"shape": Number(), "scale": Number(), "typical": _TYPICAL}, _check_tail)
_EXACT = Record(
    Exact,
    {"kind": Text(), "columns": TupleOf(Integer(low=0)), "low": TupleOf(Number()), "width": TupleOf(Number())},
    _check_exact,
)
_UNITS = Record(
    Standardised,
    {"centre": _VECTOR, "scale": _VECTOR, "kept": Optional(_INDICES), "directions": Optional(_MATRIX)}
    | {"clip": Number(finite=False)},
    _check_units,
)
MONOMIALS = Record(_monomials, {"units": _UNITS, "exact": TupleOf(_EXACT), "program": PROGRAM})
_CHRISTOFFEL = Record(
    _christoffel,
    {
        "monomials": MONOMIALS,
        "gram": _MATRIX,
        "whitening": _MATRIX,
    },
)
_EQUATIONS = Record(
    Equations,
    {
        "polynomials": Object("Polynomials"),
        "deviation": _VECTOR,
        "mean": _VECTOR,
        "tight": Numbers("b1", (None,)),
        "spans": _MATRIX,
        "edges": TupleOf(Integer(low=0)),
    },
    _check_equations,
)
_SHAPE = Record(
    Shape,
    {"kept": _INDICES, **dict.fromkeys(("centre", "scale", "heavy", "mean", "deviation"), _VECTOR)}
    | {"directions": Optional(_MATRIX)},
    _check_shape,
)
_MIXTURE = Record(
    Mixture,
    {"sizes": _VECTOR, "centres": _MATRIX, "covariances": Numbers("f8", (None, None, None))},
    _check_mixture,
)
_REGIMES = Record(Regimes.of_mixtures, {"shape": _SHAPE, "mixtures": TupleOf(_MIXTURE)}, _check_regimes)
_VIOLATION = Record(Violation, {"polynomials": Object("Polynomials"), "deviation": _VECTOR}, _check_violation)
_PARTS = TupleOf(Either([(Christoffel, _CHRISTOFFEL), (Violation, _VIOLATION), (Regimes, _REGIMES)]))
_SAMPLE: Field = Record(Sample, {"keys": _VECTOR, "X": _MATRIX, "weights": _VECTOR}, _check_sample)

SUMS = Record(
    lambda sample, **sums: Sums(**sums, samples=(sample,)),
    {"gram": _MATRIX, "total_weight": Number(), "n_samples": Integer(low=1), "sample": _SAMPLE},
    _check_sums,
)
_SERIES = Record(
    Series,
    {"correlation": Number(), "left_out": TupleOf(Integer(low=0)), "degree": Integer(low=1)}
    | {"n_effective": Number(), "n_levels": Number(), "rate": Number()},
    _check_series,
)
MODEL = Record(
    _model,
    {
        "parts": _PARTS,
        "left": TupleOf(_VECTOR),
        "gamma": Optional(_GAMMA),
        "equations": _EQUATIONS,
        "total_weight": Number(),
        "sample": Optional(_SAMPLE),
        "series": Optional(_SERIES),
        "near": Optional(Numbers("b1", (None,))),
    },
)
