"""The outputs of fitted models, in operations that every target has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from ..classification.model.classifier import VanishingIdealClassifier
from ..classification.model.features import FeatureMap
from ..classification.model.per_class import PerClass
from ..classification.model.transforms import InputTransform
from ..classification.search import VanishingIdealClassifierCV
from ..detection import VanishingIdealDetector
from ..ideals.ideal import VanishingIdeal
from ..polynomials.affine import affine_map
from ..polynomials.polynomial import Polynomials
from ..svm import L1SVC
from ..tables import TableEncoder
from .detectors import detector_outputs
from .evaluation import polynomial_values
from .operations import Ops


def starts_with_encoder(model: Any) -> bool:
    """Whether a model is a pipeline that starts with a ``TableEncoder``, so that it takes texts and gaps."""
    return isinstance(model, Pipeline) and isinstance(model[0], TableEncoder)


def n_inputs(model: Any) -> int:
    """Number of columns that a fitted model takes."""
    if isinstance(model, Polynomials):
        return len(model.feature_names)
    if not hasattr(model, "fit"):
        raise _refuse(model)
    check_is_fitted(model)
    return int(model.n_features_in_)


def predicted_names(classes: Any, n_scores: int) -> tuple[list[str], list[str]]:
    """The columns of scores and of probabilities, as ``vanishing predict`` writes them.

    Examples
    --------
    >>> predicted_names(["no", "yes"], 1)
    (['score'], ['probability_no', 'probability_yes'])
    """
    names = short_names(classes)
    return ["score"] if n_scores == 1 else [f"score_{name}" for name in names], [f"probability_{n}" for n in names]


def short_names(labels: Any) -> list[str]:
    """Names that need no quotes in SQL, one for each label, all different.

    Examples
    --------
    >>> short_names(["Iris setosa", "1", "1!"]), short_names(["a_2", "a", "a!"])
    (['iris_setosa', '1', '1_2'], ['a_2', 'a', 'a_2_2'])
    """
    names: list[str] = []
    for label in labels:
        name = re.sub(r"[^a-z0-9]+", "_", str(label).lower()).strip("_") or "class"
        while name in names:
            name = f"{name}_{len(names)}"
        names.append(name)
    return names


def outputs(model: Any, ops: Ops, x: Any) -> dict[str, Any]:
    """The outputs of a fitted model by their names.

    Polynomials have ``values``, ideals and ``PerClass`` have ``features`` (``|g|``); classifiers and the SVM have
    ``scores``, ``label`` (its number among ``classes_``), and ``probabilities`` where these are calibrated. A detector
    has ``scores`` (its ``score_samples``) and ``label``, 0 for outliers.
    """
    if isinstance(model, Polynomials):
        return {"values": polynomial_values(ops, x, model)}
    check_is_fitted(model)
    if isinstance(model, Pipeline):  # an encoder, and scalers, which are affine, stand before a model
        *before, last = [step for _, step in model.steps]
        for step in before:
            if isinstance(step, TableEncoder):
                x = ops.keep(_encoded_columns(ops, x, step), "column")
            else:
                x = ops.affine(x, *affine_map(step, int(step.n_features_in_)))
        return outputs(last, ops, x)
    if isinstance(model, VanishingIdealClassifierCV):
        average = zip(model.weights_.tolist(), model.estimators_, strict=True) if model._averages else None
        return _classifiers(ops, x, average or [(1.0, model.best_estimator_)])
    if isinstance(model, VanishingIdeal):
        return {"features": ops.absolute(polynomial_values(ops, x, model.generators_))}
    if isinstance(model, PerClass):
        lists = [ideal.generators_ for _, ideal in model._named]
        return {"features": ops.absolute(ops.concat([polynomial_values(ops, x, each) for each in lists if len(each)]))}
    if isinstance(model, L1SVC):
        scores = ops.linear(x, model.coef_, model.intercept_)
        return {"scores": scores, "label": ops.best(scores)}
    if isinstance(model, VanishingIdealClassifier):
        return _classifiers(ops, x, [(1.0, model)])
    if isinstance(model, VanishingIdealDetector):
        return detector_outputs(ops, x, model)
    raise _refuse(model)


def _encoded_columns(ops: Ops, x: Any, encoder: TableEncoder) -> Any:
    """The columns of numbers that an encoder makes of texts and gaps."""
    parts = []
    for j, column in enumerate(encoder.columns_):
        is_text = column.categories is not None
        if not is_text:
            parts.append(ops.fill(x, j, column.median))
        elif column.shown:
            parts.append(ops.one_hot(x, j, column.shown))
        if column.has_gaps:
            parts.append(ops.missing(x, j, is_text))
    return ops.concat(parts)


def _refuse(model: Any) -> ValueError:
    return ValueError(f"{type(model).__name__} cannot be exported: give a fitted model of vanishing.")


def _classifiers(ops: Ops, x: Any, weighted: Iterable[tuple[float, VanishingIdealClassifier]]) -> dict[str, Any]:
    """Weighted sums of the scores of several classifiers, and their labels and probabilities."""
    members = list(weighted)
    parts = [_scores(ops, x, model) for _, model in members]
    n_scores = len(members[0][1]._planes[1])
    calibrated = all(model._calibration is not None for _, model in members)
    if len(members) > 1:
        parts = [_limited(ops, part, model) for part, (_, model) in zip(parts, members, strict=True)]
    weights = np.hstack([weight * np.eye(n_scores) for weight, _ in members])
    scores = parts[0] if len(parts) == 1 else ops.linear(ops.concat(parts), weights, np.zeros(n_scores))
    scores = ops.keep(scores, "decision")
    results = {"scores": scores, "label": ops.best(scores)}
    if calibrated:
        log_odds = scores if len(members) > 1 else _limited(ops, scores, members[0][1])
        results["probabilities"] = ops.softmax(_log_odds(ops, log_odds, n_scores))
    return results


def _limited(ops: Ops, scores: Any, model: VanishingIdealClassifier) -> Any:
    """Log-odds of two classes within the limits of the calibration; other scores unchanged."""
    if model._calibration is None or not np.isfinite(model._calibration.limits).all():
        return scores
    return ops.clip(scores, *model._calibration.limits)


def _scores(ops: Ops, x: Any, model: VanishingIdealClassifier) -> Any:
    if not isinstance(model.final_estimator_, L1SVC):
        raise ValueError(f"final_estimator={model.final_estimator_!r} cannot be exported: use the built-in SVM (None).")
    inside = ops.keep(_in_unit_cube(ops, x, model.scaler_), "t")
    mapping, (coef, intercept) = model._used_map, model._planes
    weights = coef if mapping.width is None else coef / mapping.width
    return ops.linear(_columns(ops, inside, mapping), weights, intercept)


def _log_odds(ops: Ops, scores: Any, n_scores: int) -> Any:
    """Log-odds with one column for each class."""
    if n_scores > 1:
        return scores
    return ops.linear(scores, np.array([[-0.5], [0.5]]), np.zeros(2))


def _in_unit_cube(ops: Ops, x: Any, scaler: MinMaxScaler | InputTransform | None) -> Any:
    if scaler is None:
        return x
    if not isinstance(scaler, InputTransform):
        return ops.affine(x, scaler.scale_, scaler.min_)
    if scaler.curved.any():
        x = _curved(ops, x, scaler)
    return ops.clip(ops.affine(x, *scaler.affine), *scaler.limits)


def _curved(ops: Ops, x: Any, transform: InputTransform) -> Any:
    """The curves of the columns that have one; the others unchanged."""
    bent, straight = np.flatnonzero(transform.curved), np.flatnonzero(~transform.curved)
    curve = ops.take(x, bent)
    if transform.knots is not None:
        curve = ops.interpolate(curve, [transform.knots[j] for j in bent])
    else:
        spread = transform.spread[bent]
        curve = ops.asinh(ops.affine(curve, 1.0 / spread, -transform.centre[bent] / spread))
    if straight.size == 0:
        return curve
    back = np.argsort(np.concatenate([bent, straight]))
    return ops.take(ops.concat([curve, ops.take(x, straight)]), back)


def _columns(ops: Ops, t: Any, mapping: FeatureMap) -> Any:
    """The columns of a feature map, not yet divided by their widths."""
    parts, extras = [], mapping.extras
    lists = [polynomials for polynomials in mapping.lists if len(polynomials)]
    if lists:
        values = ops.keep(ops.concat([polynomial_values(ops, t, polynomials) for polynomials in lists]), "g")
        if mapping.absolute.size:
            parts.append(ops.absolute(ops.take(values, mapping.absolute)))
        if mapping.signed.size:
            parts.append(ops.take(values, mapping.signed))
    if extras.inputs.size:
        parts.append(ops.take(t, extras.inputs))
    if extras.hinges.size:
        beyond = ops.affine(ops.take(t, extras.hinges), np.ones(extras.knots.size), -extras.knots)
        parts.append(ops.clip(beyond, 0.0, np.inf))
    if extras.left.size:
        parts.append(ops.products(t, extras.left, extras.right))
    return ops.concat(parts)
