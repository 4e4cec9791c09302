"""The fit of a classifier, piece by piece: weights of classes, scaling, ideals, the columns, the last step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...checks import no_generator, quoted, warn_outside_unit_cube
from ...constants import TINY
from ...engine.survey import Survey, scale_and_survey_parts, survey_parts
from ...rows.array_api import on_device_of, to_host
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled
from ...rows.protocol import Block, Rows
from ...rows.reading import input_names, take_input_from
from ...rows.sampling import Sample, stratified_sample
from ...svm import L1SVC, svms_along
from ...threads import one_blas_thread
from .columns import Columns
from .features import FeatureMap
from .per_class import PerClass
from .probabilities import Calibration
from .transforms import InputTransform, in_unit_cube


def class_factors(class_weight: Any, classes: Array, n_rows: Float1D) -> Float1D | None:
    """What ``class_weight`` multiplies the weights of the rows of each class by; None for None.

    Examples
    --------
    >>> import numpy as np
    >>> class_factors("balanced", np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([0.66666667, 2.        ])
    >>> class_factors({"a": 3.0}, np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([3., 1.])
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(n_rows.sum() / (len(classes) * n_rows))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict of labels; got {class_weight!r}.")
    known = {label.item() if isinstance(label, np.generic) else label: k for k, label in enumerate(classes)}
    factors = np.ones(len(classes))
    for label, weight in class_weight.items():
        label = label.item() if isinstance(label, np.generic) else label
        if label not in known:
            raise ValueError(f"class_weight names the class {quoted(label)}, but the classes are {list(known)}.")
        if isinstance(weight, bool) or not np.isreal(weight) or not 0.0 < float(weight) < np.inf:
            raise ValueError(f"class_weight of {quoted(label)} must be a positive number, got {weight!r}.")
        factors[known[label]] = float(weight)
    return factors


def class_weighted(data: Labelled, factors: Float1D | None) -> Labelled:
    """The rows with their weights times the factor of their class."""
    if factors is None:
        return data
    if isinstance(data.rows, ArrayRows):
        rows, own = data.rows, factors[data.rows.labels]
        weights = own if rows.sample_weight is None else own * rows.sample_weight
        return data._replace(rows=ArrayRows(rows.X, weights, rows.labels, rows.n_jobs))
    return data._replace(rows=data.rows.changed(_ClassWeighted(tuple(data.keys), factors)))


@dataclass(frozen=True)
class _ClassWeighted:
    """Weights times the factor of the row's class."""

    keys: tuple[Any, ...]
    factors: Float1D

    def __call__(self, block: Block) -> Block:
        own = np.ones(block.X.shape[0])
        for key, factor in zip(self.keys, self.factors, strict=True):
            own[to_host(block.labels == key)] = factor
        weights = on_device_of(block.X, own)
        return block._replace(weights=weights if block.weights is None else weights * block.weights)


def relevant_columns(mapping: FeatureMap, columns: Float2D, codes: Int1D, weights: Float1D | None, most: int) -> Bool1D:
    """Which ``most`` columns to keep, from their values on labelled rows; those beside the generators always stay.

    The relevance of a column is its largest absolute correlation with the label of a class. Classes share most leading
    terms, and g of one class differs from g of another by smaller terms: of the signed columns, the first of each
    leading term can be kept. They share the places with the columns |g|.
    """
    first, second = mapping.absolute.size, mapping.absolute.size + mapping.signed.size
    relevance = _relevance(columns[:, :second], codes, weights)
    once = first + _first_of_each(mapping)
    signed = once[np.argsort(-relevance[once], kind="stable")[: most // 2]]
    n_left = max(most - signed.size - mapping.extras.n_columns, 0)
    absolute = np.argsort(-relevance[:first], kind="stable")[:n_left]
    keep = np.zeros(mapping.n_columns, dtype=bool)
    keep[signed] = keep[absolute] = keep[second:] = True
    return keep


def _first_of_each(mapping: FeatureMap) -> Int1D:
    """The places of the signed columns whose leading term no earlier one has."""
    terms = np.concatenate([polynomials.leading_terms for polynomials in mapping.lists])[mapping.signed]
    return np.sort(np.unique(terms, axis=0, return_index=True)[1]) if terms.size else np.empty(0, dtype=np.int64)


def _relevance(columns: Float2D, codes: Int1D, weights: Float1D | None) -> Float1D:
    """The largest absolute correlation of every column with the label of a class."""
    weights = np.ones(len(codes)) if weights is None else weights
    share = weights / weights.sum()
    mean = share @ columns
    deviation = np.sqrt(np.maximum(share @ columns**2 - mean**2, 0.0))
    largest = np.zeros(columns.shape[1])
    for code in np.unique(codes):
        own = share * (codes == code)
        total = own.sum()
        covariance = own @ columns - total * mean
        largest = np.maximum(largest, np.abs(covariance) / np.sqrt(max(total * (1.0 - total), TINY)))
    return np.asarray(np.where(deviation > 0.0, largest / np.where(deviation > 0.0, deviation, 1.0), 0.0))


SAMPLE_ROWS = 10_000  # rows whose quantiles stand for those of all rows, outside of memory
CHOOSING_TOL = 5e-3  # relative duality gap of SVMs that choose a model or columns: 0.5% more of the objective


class Conditions(NamedTuple):
    """What a search adds to the parameters of a classifier that it fits.

    A ``sample`` of the rows, if given, tells quantiles, and chooses the columns that the SVM on all rows sees, which
    then has to be less exact. An SVM sees at most ``svm_columns`` columns, and at most ``max_columns`` get a weight.
    The ``calibration`` turns decisions into log-odds.
    """

    sample: Sample | None = None
    svm_columns: int | None = None
    max_columns: int | None = None
    calibration: Calibration | None = None

    @property
    def tol(self) -> float:
        """Relative duality gap of the SVM."""
        return L1SVC().tol if self.sample is None else CHOOSING_TOL


class Pieces(NamedTuple):
    """What a fit has made, and the rows that the ideals saw: all of them, and those of a sample."""

    scaler: Any
    ideals: PerClass
    mapping: FeatureMap
    final: Any
    rows: Rows
    sampled: ArrayRows | None


def fit_pieces(model: Any, data: Labelled, how: Conditions) -> Pieces:
    """The pieces of a classifier with the parameters of ``model``, which knows its columns."""
    sample, screened = how.sample, how.sample is not None
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
    if how.svm_columns is not None and mapping.n_columns > how.svm_columns and isinstance(known, ArrayRows):
        assert known.labels is not None
        columns, weights = mapping.over(known), known.sample_weight
        mapping = mapping.select(relevant_columns(mapping, columns, known.labels, weights, how.svm_columns))
    if screened and sampled is not None and model.final_estimator is None:
        mapping = _screened(model, mapping, sampled, reach)
    in_memory = isinstance(data.rows, ArrayRows) and not (screened and model.final_estimator is None)
    fit_final = partial(_fit_final_in_memory if in_memory else _fit_final, model, data)
    fitted, final = fit_final(mapping, reach, how.tol)
    most = how.max_columns
    if most is not None and isinstance(final, L1SVC) and np.count_nonzero(final.coef_.any(axis=0)) > most:
        fitted, final = fit_final(_largest_columns(fitted, final, most), reach, how.tol)
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
        transform = InputTransform.of(model.scale_input, data.rows, sample)
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
    svm = L1SVC(model.C, tol=CHOOSING_TOL, n_jobs=model.n_jobs)
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
