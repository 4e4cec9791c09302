"""The fit of a classifier, piece by piece: scaling, ideals, the columns, the last step."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from .._typing import Float1D
from ..checks import no_generator, warn_outside_unit_cube
from ..engine.survey import Survey, scale_and_survey_parts, survey_parts
from ..rows.arrays import ArrayRows
from ..rows.labels import Labelled
from ..rows.protocol import Rows
from ..rows.reading import input_names, take_input_from
from ..rows.sampling import Sample, stratified_sample
from ..svm import L1SVC, svms_along
from ..threads import one_blas_thread
from .class_weights import class_factors, class_weighted
from .extras import ColumnOptions
from .features import FeatureMap
from .per_class import PerClass
from .screening import Screen
from .transforms import in_unit_cube, transform_of

__all__ = ["SAMPLE_ROWS", "SEARCH_TOL", "Pieces", "fit_pieces", "rows_by_class", "takes_no_weight"]

SAMPLE_ROWS = 10_000  # whose quantiles are taken for those of all rows, outside of memory
SEARCH_TOL = 5e-3  # relative duality gap of an SVM that only helps to choose
_LITTLE_WORK = 2e9  # multiplications of a Newton step on all rows up to which no sample chooses the columns ...
_MUCH_WORK = 2e10  # ... and up to which it may choose ...
_WORK_OF_HALVES = 1e10  # ... of the columns of halves, which take longer to compute
_FEWEST_COLUMNS = 50  # that it may choose whatever they cost
_PART_ROWS = 20_000  # that the SVM of many more rows starts from, or ...
_ROWS_PER_COLUMN = 600  # ... as many for every column: their Hessian is that of all rows to some 5% ...
_ROWS_PER_CLASS = 1000  # ... and of a rare class at least these
_MANY_TIMES = 4  # as many rows are many more


class Pieces(NamedTuple):
    """What a fit has made, and the rows that the ideals saw: all of them, and those of a sample."""

    scaler: Any
    ideals: PerClass
    mapping: FeatureMap
    final: Any
    rows: Rows
    sampled: ArrayRows | None


def fit_pieces(
    model: Any, data: Labelled, sample: Sample | None, tol: float, most: int | None, screen: Screen | None = None
) -> Pieces:
    """The pieces of a classifier with the parameters of ``model``, which knows its columns.

    A ``sample`` of the rows, if given, chooses the columns that the SVM on all rows sees, after a ``screen``; ``most``
    bounds those with a weight.
    """
    screened = sample is not None
    if sample is None and not isinstance(data.rows, ArrayRows) and _needs_sample(model):
        sample = stratified_sample(data, SAMPLE_ROWS, input_names(model))
    factors = None
    if model.class_weight is not None:
        factors = class_factors(model.class_weight, data.classes, rows_by_class(data, sample))
        data = class_weighted(data, factors)
    data, scaler, ideals, whole = _fit_ideals(model, data, sample)
    sampled = None if sample is None else _sampled(data, sample, factors, scaler)
    known = sampled if sampled is not None else data.rows
    mapping = _columns(model, ideals, data.rows if isinstance(data.rows, ArrayRows) else known)
    reach = np.maximum(np.abs(whole.low), np.abs(whole.high))
    if screen is not None and screen.needed(mapping, len(data.classes)) and isinstance(known, ArrayRows):
        assert known.labels is not None
        mapping = mapping.select(screen.chosen(mapping, mapping.over(known), known.labels, known.sample_weight))
    if screened and sample is not None and sampled is not None and model.final_estimator is None:
        mapping = _screened(model, mapping, sampled, sample, reach)
    fit_final = partial(_fit_final_in_memory if isinstance(data.rows, ArrayRows) else _fit_final, model, data)
    if screened and model.final_estimator is None and isinstance(data.rows, ArrayRows):
        fit_final = partial(_fit_final_from_part, model, data)
    fitted, final = fit_final(mapping, reach, tol)
    if most is not None and isinstance(final, L1SVC) and np.count_nonzero(final.coef_.any(axis=0)) > most:
        fitted, final = fit_final(_largest_columns(fitted, final, most), reach, tol)
    return Pieces(scaler, ideals, fitted, final, data.rows, sampled)


def _needs_sample(model: Any) -> bool:
    """Whether rows outside of memory have to be sampled."""
    return isinstance(model.scale_input, str) or model.hinges > 0 or model.class_weight is not None


def rows_by_class(data: Labelled, sample: Sample | None = None) -> Float1D:
    """How many rows there are of each class, in memory or where a sample was drawn."""
    if sample is not None:
        return sample.n_rows
    assert isinstance(data.rows, ArrayRows)
    assert data.rows.labels is not None
    return np.bincount(data.rows.labels, minlength=len(data.classes)).astype(np.float64)


def _fit_ideals(model: Any, data: Labelled, sample: Sample | None) -> tuple[Labelled, Any, PerClass, Survey]:
    """The data in the unit cube, their scaling, the ideals of the classes, and the survey of all rows."""
    names, transform = input_names(model), None
    if isinstance(model.scale_input, str):
        transform = transform_of(model.scale_input, data.rows, sample)
        data = data._replace(rows=transform.over(data.rows))
    scale = transform is None and bool(model.scale_input)
    ideals = PerClass(model.estimator, halves=model.halves, n_jobs=model.n_jobs)
    take_input_from(model, ideals)
    first_pass = scale_and_survey_parts if scale else survey_parts
    first = first_pass(data.rows, names, data.parts, ahead=ideals._template()._looks_ahead)
    if transform is None and not scale:
        warn_outside_unit_cube(first.whole.low, first.whole.high, names)
    data = data._replace(rows=first.rows)
    ideals._fit_parts(data, first.parts, first.surveys)
    return data, first.scaler if transform is None else transform, ideals, first.whole


def _sampled(data: Labelled, sample: Sample, factors: Float1D | None, scaler: Any) -> ArrayRows:
    """The rows of a sample as the ideals see them, weighted like all."""
    numbered = data._replace(rows=sample.rows, keys=list(range(len(data.classes))))
    rows = in_unit_cube(class_weighted(numbered, factors).rows, scaler)
    assert isinstance(rows, ArrayRows)
    return rows


def _columns(model: Any, ideals: PerClass, known: Rows) -> FeatureMap:
    """The map to all columns; rows in memory tell the quantiles that hinges need."""
    options = ColumnOptions.of(model)
    seen = known.X if isinstance(known, ArrayRows) else np.empty((0, known.n_features))
    mapping = FeatureMap.of(ideals._by_class, options.extras(seen), options.features)
    if mapping.n_generators == 0:
        raise ValueError(no_generator(ideals.estimators_[0].psi))
    return mapping


def _screened(model: Any, mapping: FeatureMap, rows: ArrayRows, sample: Sample, reach: Float1D) -> FeatureMap:
    """The map to the columns that the SVM on a sample uses: all columns of many rows would be a burden.

    Where these are too many for the Hessians of all rows, those with the largest weights. Where all columns are few
    enough, all of them.
    """
    n_rows = float(sample.n_rows.sum())
    if n_rows * mapping.n_columns**2 <= _LITTLE_WORK:
        return mapping
    columns = mapping.over(rows)
    mapping.fitted_by(columns, rows.sample_weight, reach, scale=model.scale_features)
    svm = L1SVC(model.C, tol=SEARCH_TOL, n_jobs=model.n_jobs)
    size = np.abs(svm.fit(columns, rows.labels, rows.sample_weight).coef_).max(axis=0)
    work = _WORK_OF_HALVES if model.halves else _MUCH_WORK
    most = max(int(np.sqrt(work / n_rows)), _FEWEST_COLUMNS)
    used = (size > 0.0) & (size >= np.sort(size)[-min(most, size.size)])
    return mapping.select(used) if used[: mapping.absolute.size + mapping.signed.size].any() else mapping


def _largest_columns(mapping: FeatureMap, svm: L1SVC, most: int) -> FeatureMap:
    """The map to the ``most`` columns with the largest weights, not yet fitted."""
    chosen = np.zeros(mapping.n_columns, dtype=bool)
    chosen[np.argsort(-np.abs(svm.coef_).max(axis=0), kind="stable")[:most]] = True
    return replace(mapping.select(chosen), width=None)


def _fit_final(model: Any, data: Labelled, mapping: FeatureMap, reach: Float1D, tol: float) -> tuple[FeatureMap, Any]:
    """The fitted map, and the SVM, whose columns are computed anew in every pass."""
    if model.final_estimator is not None:
        raise ValueError(
            "final_estimator must be None for data outside of memory: only the built-in SVM fits them in passes."
        )
    mapping = mapping.fitted_on(data.rows, reach, scale=model.scale_features)
    svm = L1SVC(model.C, n_jobs=model.n_jobs, tol=tol)
    svm.n_features_in_ = mapping.n_columns
    svm._fit_from([model.C], data._replace(rows=mapping.columns_of(data.rows)), [svm])
    return mapping, svm


def _fit_final_in_memory(
    model: Any, data: Labelled, mapping: FeatureMap, reach: Float1D, tol: float
) -> tuple[FeatureMap, Any]:
    """The fitted map and the last step, from columns that are kept."""
    rows = data.rows
    assert isinstance(rows, ArrayRows)
    assert rows.labels is not None
    columns, weights = mapping.over(rows), rows.sample_weight
    mapping = mapping.fitted_by(columns, weights, reach, scale=model.scale_features)
    if model.final_estimator is None:
        with one_blas_thread:
            (svm,) = svms_along(columns, rows.labels, data.classes, [model.C], weights, n_jobs=model.n_jobs, tol=tol)
        return mapping, svm.set_params(n_jobs=model.n_jobs)
    final = clone(model.final_estimator)
    if weights is not None and not has_fit_parameter(final, "sample_weight"):
        raise ValueError(takes_no_weight(final))
    options = {} if weights is None else {"sample_weight": weights}
    final.fit(columns, data.classes[rows.labels], **options)
    return mapping, final


def _fit_final_from_part(
    model: Any, data: Labelled, mapping: FeatureMap, reach: Float1D, tol: float
) -> tuple[FeatureMap, Any]:
    """The fitted map, and the SVM of very many rows in memory from a part of them.

    The part tells the widths of the columns. Those of all rows would take longer to store than to compute.
    """
    rows = data.rows
    assert isinstance(rows, ArrayRows)
    n_part = max(_PART_ROWS, _ROWS_PER_COLUMN * mapping.n_columns)
    if _MANY_TIMES * n_part > len(rows):
        return _fit_final_in_memory(model, data, mapping, reach, tol)
    part = _part_of(rows, n_part)
    columns = mapping.over(part)
    mapping = mapping.fitted_by(columns, part.sample_weight, reach, scale=model.scale_features)
    if mapping.width is None or np.isinf(mapping.width).any():  # zero, or constant, on all rows or on these alone
        return _fit_final_in_memory(model, data, replace(mapping, width=None), reach, tol)
    svm = L1SVC(model.C, n_jobs=model.n_jobs, tol=tol)
    svm.n_features_in_ = mapping.n_columns
    few = ArrayRows(columns, part.sample_weight, part.labels, model.n_jobs)
    svm._fit_from_part(data._replace(rows=mapping.computed_over(rows)), few, tol)
    return mapping, svm


def _part_of(rows: ArrayRows, n_rows: int) -> ArrayRows:
    """About ``n_rows`` rows at random, and more of rare classes, weighted so that they stand for all."""
    assert rows.labels is not None
    counts = np.bincount(rows.labels)
    share = np.clip(_ROWS_PER_CLASS / np.maximum(counts, 1), n_rows / len(rows), 1.0)
    chosen = np.flatnonzero(np.random.default_rng(0).random(len(rows)) < share[rows.labels])
    labels = rows.labels[chosen]
    weights = 1.0 / share[labels]
    if rows.sample_weight is not None:
        weights *= rows.sample_weight[chosen]
    return ArrayRows(rows.X[chosen], weights, labels, rows.n_jobs)


def takes_no_weight(final: Any) -> str:
    """What to tell users who weight the rows of a last step that cannot."""
    return f"{type(final).__name__} takes no sample_weight: leave it out, or choose another final_estimator."
