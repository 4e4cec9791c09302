"""The fit of a classifier, piece by piece: scaling, ideals, the columns, the last step."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..._typing import Bool1D, Float1D
from ...checks import no_generator, warn_outside_unit_cube
from ...engine.survey import Survey, scale_and_survey_parts, survey_parts
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled
from ...rows.protocol import Rows
from ...rows.reading import input_names, take_input_from
from ...rows.sampling import Sample, stratified_sample
from ...svm import L1SVC, svms_along
from ...threads import one_blas_thread
from .class_weights import class_factors, class_weighted
from .columns import Columns
from .features import FeatureMap
from .per_class import PerClass
from .screening import relevant_columns
from .transforms import in_unit_cube, transform_of

__all__ = ["SAMPLE_ROWS", "Pieces", "fit_pieces", "rows_by_class", "takes_no_weight"]

SAMPLE_ROWS = 10_000  # rows whose quantiles stand for those of all rows, outside of memory
SCREENING_TOL = 5e-3  # relative duality gap of the SVM on a sample that chooses the columns


class Pieces(NamedTuple):
    """What a fit has made, and the rows that the ideals saw: all of them, and those of a sample."""

    scaler: Any
    ideals: PerClass
    mapping: FeatureMap
    final: Any
    rows: Rows
    sampled: ArrayRows | None


def fit_pieces(
    model: Any, data: Labelled, sample: Sample | None, tol: float, most: int | None, svm_columns: int | None = None
) -> Pieces:
    """The pieces of a classifier with the parameters of ``model``, which knows its columns.

    A ``sample`` of the rows, if given, chooses the columns that the SVM on all rows sees. ``svm_columns`` bounds the
    columns that an SVM sees, and ``most`` those with a weight.
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
    if svm_columns is not None and mapping.n_columns > svm_columns and isinstance(known, ArrayRows):
        assert known.labels is not None
        columns = mapping.over(known)
        mapping = mapping.select(relevant_columns(mapping, columns, known.labels, known.sample_weight, svm_columns))
    if screened and sampled is not None and model.final_estimator is None:
        mapping = _screened(model, mapping, sampled, reach)
    in_memory = isinstance(data.rows, ArrayRows) and not (screened and model.final_estimator is None)
    fit_final = partial(_fit_final_in_memory if in_memory else _fit_final, model, data)
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
    options = Columns.of(model)
    seen = known.X if isinstance(known, ArrayRows) else np.empty((0, known.n_features))
    mapping = FeatureMap.of(ideals._by_class, options.extras(seen), options.features)
    if mapping.n_generators == 0:
        raise ValueError(no_generator(ideals.estimators_[0].psi))
    return mapping


def _screened(model: Any, mapping: FeatureMap, rows: ArrayRows, reach: Float1D) -> FeatureMap:
    """The map to the columns that the SVM on a sample of the rows uses: the others would only burden that on all."""
    columns = mapping.over(rows)
    mapping.fitted_by(columns, rows.sample_weight, reach, scale=model.scale_features)
    svm = L1SVC(model.C, tol=SCREENING_TOL, n_jobs=model.n_jobs)
    used: Bool1D = np.abs(svm.fit(columns, rows.labels, rows.sample_weight).coef_).max(axis=0) > 0.0
    return mapping.select(used) if used[: mapping.absolute.size + mapping.signed.size].any() else mapping


def _largest_columns(mapping: FeatureMap, svm: L1SVC, most: int) -> FeatureMap:
    """The map to the ``most`` columns with the largest weights, not yet fitted."""
    chosen = np.zeros(mapping.n_columns, dtype=bool)
    chosen[np.argsort(-np.abs(svm.coef_).max(axis=0), kind="stable")[:most]] = True
    return replace(mapping.select(chosen), width=None)


def _fit_final(model: Any, data: Labelled, mapping: FeatureMap, reach: Float1D, tol: float) -> tuple[FeatureMap, Any]:
    """The fitted map, and the SVM, whose columns are computed anew in every pass.

    The columns of very many rows in memory would take longer to store than to compute.
    """
    if model.final_estimator is not None:
        raise ValueError(
            "final_estimator must be None for data outside of memory: only the built-in SVM fits them in passes."
        )
    mapping = mapping.fitted_on(data.rows, reach, scale=model.scale_features)
    svm = L1SVC(model.C, n_jobs=model.n_jobs, tol=tol)
    svm.n_features_in_ = mapping.n_columns
    svm._fit_from([model.C], data._replace(rows=mapping.computed_over(data.rows)), [svm])
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


def takes_no_weight(final: Any) -> str:
    """What to tell users who weight the rows of a last step that cannot."""
    return f"{type(final).__name__} takes no sample_weight: leave it out, or choose another final_estimator."
