"""The fit of a classifier, piece by piece: weights of classes, scaling, ideals, the columns, the last step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...checks import no_generator, quoted, warn_outside_unit_cube
from ...constants import TINY
from ...engine.survey import Survey, scale_and_survey_parts, survey_parts
from ...ideals.ideal import VanishingIdeal
from ...rows.array_api import on_device_of, to_host
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled
from ...rows.protocol import Block
from ...rows.reading import input_names, take_input_from
from ...rows.sampling import Sample, stratified_sample
from ...svm import L1SVC, svms_along
from .columns import Columns
from .features import FeatureMap
from .per_class import PerClass
from .probabilities import Calibration
from .transforms import InputTransform, in_unit_cube


def class_factors(class_weight: Any, classes: Array, n_rows: Float1D) -> Float1D:
    """What ``class_weight`` multiplies the weights of the rows of each class by.

    Examples
    --------
    >>> import numpy as np
    >>> class_factors("balanced", np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([0.66666667, 2.        ])
    >>> class_factors({"a": 3.0}, np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([3., 1.])
    """
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


def class_weighted(data: Labelled, class_weight: Any, sample: Sample | None = None) -> Labelled:
    """The rows with their weights times the factor of their class; a sample knows how many rows each class has."""
    if class_weight is None:
        return data
    if sample is not None:
        n_rows = sample.n_rows
    else:
        used = data.without_zero_weights().rows
        assert isinstance(used, ArrayRows)
        assert used.labels is not None
        n_rows = np.bincount(used.labels, minlength=len(data.classes)).astype(np.float64)
    factors = class_factors(class_weight, data.classes, n_rows)
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
    """Which ``most`` columns to keep, from their values on labelled rows; columns beside the generators always stay.

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


def fitted_columns(
    options: Columns, ideals: Sequence[Sequence[VanishingIdeal]], rows: ArrayRows, most: int | None
) -> tuple[FeatureMap, Float2D] | None:
    """The fitted map to at most ``most`` columns of labelled rows in the unit cube, and their values.

    None, if there is neither a generator nor a column beside them.
    """
    mapping = FeatureMap.of(ideals, options, rows.X)
    if mapping.n_columns == 0:
        return None
    columns, codes, weights = mapping.over(rows), rows.labels, rows.sample_weight
    if most is not None and mapping.n_columns > most:
        assert codes is not None
        chosen = relevant_columns(mapping, columns, codes, weights, most)
        mapping, columns = mapping.select(chosen), np.ascontiguousarray(columns[:, chosen])
    reach = np.abs(rows.X).max(axis=0)
    return mapping.fitted_by(columns, weights, reach, scale=options.scale_features), columns


def last_steps(
    final: Any, columns: Float2D, rows: ArrayRows, classes: Array, Cs: Sequence[float], signs: Float1D, **limits: Any
) -> Iterator[Any]:
    """The last step for every C, ascending, fitted when it is asked for.

    ``final`` is a classifier of the user, whose C is set; None stands for our SVM with these ``limits``, which starts
    each fit from the one before; its weights have the ``signs``, where they are not 0.
    """
    codes, weights = rows.labels, rows.sample_weight
    assert codes is not None
    if final is None:
        yield from svms_along(columns, codes, classes, Cs, weights, signs=signs, n_jobs=rows.n_jobs, **limits)
        return
    if weights is not None and not has_fit_parameter(final, "sample_weight"):
        raise ValueError(
            f"{type(final).__name__} takes no sample_weight: leave it out, or choose another final_estimator."
        )
    options = {} if weights is None else {"sample_weight": weights}
    for C in Cs:
        own = clone(final).set_params(C=C) if hasattr(final, "C") else clone(final)
        yield own.fit(columns, classes[codes], **options)


SAMPLE_ROWS = 10_000  # rows whose quantiles stand for the quantiles of all rows, outside of memory
CHOOSING_TOL = 5e-3  # relative duality gap of SVMs that choose a model or columns: 0.5% more of the objective


class Conditions(NamedTuple):
    """What a search adds to the parameters of a classifier that it fits.

    A ``sample`` of the rows, if given, tells quantiles, and chooses the columns that the SVM on all rows sees, which
    then has to be less exact. An SVM sees at most ``svm_columns`` columns, and at most ``max_columns`` get a weight.
    ``calibration_of`` gives the calibration of a fitted classifier, which turns its decisions into log-odds.
    """

    sample: Sample | None = None
    svm_columns: int | None = None
    max_columns: int | None = None
    calibration_of: Callable[[Any], Calibration] | None = None


class Pieces(NamedTuple):
    """What a fit has made, and rows in memory as the ideals saw them: all, or a sample, if one was drawn."""

    scaler: Any
    ideals: PerClass
    mapping: FeatureMap
    final: Any
    known: ArrayRows | None


def fit_pieces(model: Any, data: Labelled, how: Conditions) -> Pieces:
    """The pieces of a classifier with the parameters of ``model``, which knows its columns."""
    sample = how.sample
    needs_sample = isinstance(model.scale_input, str) or model.hinges > 0 or model.class_weight is not None
    if sample is None and needs_sample and not isinstance(data.rows, ArrayRows):
        sample = stratified_sample(data, SAMPLE_ROWS, input_names(model))
    data = class_weighted(data, model.class_weight, sample)
    data, scaler, ideals, whole = _fit_ideals(model, data, sample)
    rows, sampled = data.rows, None if sample is None else _sampled(model, data, sample, scaler)
    if isinstance(rows, ArrayRows) and (how.sample is None or model.final_estimator is not None):
        mapping, final = _fit_last(model, data.classes, rows, ideals, how)
    else:
        reach = np.maximum(np.abs(whole.low), np.abs(whole.high))
        mapping, final = _fit_last_in_passes(model, data, sampled, reach, ideals, how)
    return Pieces(scaler, ideals, mapping, final, rows if isinstance(rows, ArrayRows) else sampled)


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


def _sampled(model: Any, data: Labelled, sample: Sample, scaler: Any) -> ArrayRows:
    """The rows of a sample as the ideals see them, weighted like all."""
    numbered = data._replace(rows=sample.rows, keys=list(range(len(data.classes))))
    rows = in_unit_cube(class_weighted(numbered, model.class_weight, sample).rows, scaler)
    assert isinstance(rows, ArrayRows)
    return rows


def _fit_last(model: Any, classes: Array, rows: ArrayRows, ideals: PerClass, how: Conditions) -> tuple[FeatureMap, Any]:
    """The fitted map and the last step, from columns that are kept in memory."""
    found = fitted_columns(Columns.of(model), ideals._by_class, rows, how.svm_columns)
    if found is None:
        raise ValueError(no_generator(ideals.estimators_[0].psi))
    mapping, columns = found
    last, Cs = model.final_estimator, [getattr(model.final_estimator, "C", model.C)]
    (final,) = last_steps(last, columns, rows, classes, Cs, mapping.signs(model.monotone))
    chosen = _largest_weights(final, how.max_columns)
    if chosen is not None:
        mapping, columns = mapping.select(chosen), np.ascontiguousarray(columns[:, chosen])
        (final,) = last_steps(last, columns, rows, classes, Cs, mapping.signs(model.monotone))
    return mapping, final.set_params(n_jobs=model.n_jobs) if last is None else final


def _fit_last_in_passes(
    model: Any, data: Labelled, sampled: ArrayRows | None, reach: Float1D, ideals: PerClass, how: Conditions
) -> tuple[FeatureMap, L1SVC]:
    """The fitted map and the SVM, whose columns are computed anew in every pass.

    The columns of very many rows in memory would take longer to store than to compute. After a search on a sample, an
    SVM on the sample chooses the columns: those without a weight there would only burden the SVM on all rows.
    """
    if model.final_estimator is not None:
        raise ValueError(
            "final_estimator must be None for data outside of memory: only the built-in SVM fits them in passes."
        )
    options, tol = Columns.of(model), L1SVC().tol
    mapping = FeatureMap.of(ideals._by_class, options, None if sampled is None else sampled.X)
    if mapping.n_columns == 0:
        raise ValueError(no_generator(ideals.estimators_[0].psi))
    if how.sample is not None and sampled is not None:
        tol = CHOOSING_TOL
        found = fitted_columns(options, ideals._by_class, sampled, how.svm_columns)
        assert found is not None
        signs = found[0].signs(model.monotone)
        (svm,) = last_steps(None, found[1], sampled, data.classes, [model.C], signs, tol=tol)
        used: Bool1D = (svm.coef_ != 0.0).any(axis=0)
        mapping = replace(found[0], width=None, exact=None)
        mapping = mapping.select(used) if used.any() else mapping
    mapping = mapping.fitted_on(data.rows, reach, scale=model.scale_features)

    def fitted(mapping: FeatureMap) -> L1SVC:
        svm = L1SVC(model.C, n_jobs=model.n_jobs, tol=tol)
        svm.n_features_in_ = mapping.n_columns
        rows, signs = mapping.computed_over(data.rows), mapping.signs(model.monotone)
        svm._fit_from([model.C], data._replace(rows=rows), [svm], signs)
        return svm

    svm = fitted(mapping)
    chosen = _largest_weights(svm, how.max_columns)
    if chosen is not None:
        mapping = mapping.select(chosen)
        svm = fitted(mapping)
    return mapping, svm


def _largest_weights(final: Any, most: int | None) -> Bool1D | None:
    """The ``most`` columns with the largest weights; None where no more have one."""
    if most is None or not isinstance(final, L1SVC) or np.count_nonzero(final.coef_.any(axis=0)) <= most:
        return None
    chosen = np.zeros(final.coef_.shape[1], dtype=bool)
    chosen[np.argsort(-np.abs(final.coef_).max(axis=0), kind="stable")[:most]] = True
    return chosen
