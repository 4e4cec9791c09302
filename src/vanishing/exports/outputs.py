"""How a fitted model computes its outputs from a table, written in terms of operations that every target has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..classification.classifier import VanishingIdealClassifier
from ..classification.features import FeatureMap
from ..classification.per_class import PerClass
from ..classification.search import VanishingIdealClassifierCV
from ..classification.transforms import InputTransform
from ..ideals.ideal import VanishingIdeal
from ..polynomials.forms import MonomialForm, ProductForm
from ..polynomials.polynomial import Polynomials
from ..svm import L1SVC

__all__ = ["Ops", "n_inputs", "outputs"]


class Ops(ABC):
    """Operations on tables; a table is whatever the target has for ``(n_rows, n_columns)`` numbers."""

    @abstractmethod
    def take(self, table: Any, columns: Int1D) -> Any:
        """Some columns, in this order."""

    @abstractmethod
    def concat(self, tables: Sequence[Any]) -> Any:
        """The columns of several tables side by side."""

    @abstractmethod
    def multiply(self, left: Any, right: Any) -> Any:
        """Products of columns, pair by pair."""

    @abstractmethod
    def linear(self, table: Any, weights: Float2D, offset: Float1D) -> Any:
        """``table @ weights.T + offset``."""

    @abstractmethod
    def affine(self, table: Any, scale: Float1D, offset: Float1D) -> Any:
        """``scale * x + offset``, column by column."""

    @abstractmethod
    def clip(self, table: Any, low: float, high: float) -> Any:
        """Values between ``low`` and ``high``; either may be infinite."""

    @abstractmethod
    def absolute(self, table: Any) -> Any:
        """Absolute values."""

    @abstractmethod
    def asinh(self, table: Any) -> Any:
        """Inverse hyperbolic sines."""

    @abstractmethod
    def interpolate(self, table: Any, knots: Sequence[tuple[Float1D, Float1D]]) -> Any:
        """Column by column, piecewise linear through knots and levels, constant outside of them."""

    @abstractmethod
    def softmax(self, table: Any) -> Any:
        """Exponentials of the columns over their sum."""

    @abstractmethod
    def best(self, scores: Any) -> Any:
        """The number of the largest column; of a single column whether it is positive, as 0 or 1."""

    def keep(self, table: Any, name: str) -> Any:
        """The table under a name, for targets that write out expressions."""
        return table

    def products(self, table: Any, left: Int1D, right: Int1D) -> Any:
        """Products ``table[left] * table[right]``."""
        return self.multiply(self.take(table, left), self.take(table, right))


def n_inputs(model: Any) -> int:
    """Number of columns that a fitted model takes."""
    if not isinstance(model, Polynomials):
        check_is_fitted(model)
    return len(model.feature_names) if isinstance(model, Polynomials) else int(model.n_features_in_)


def outputs(model: Any, ops: Ops, x: Any) -> dict[str, Any]:
    """The outputs of a fitted model by their names.

    Polynomials have ``values``, ideals and ``PerClass`` have ``features`` (``|g|``); classifiers and the SVM have
    ``scores``, ``label`` (its number among ``classes_``), and ``probabilities`` where these are calibrated.
    """
    if isinstance(model, Polynomials):
        return {"values": _polynomials(ops, x, model)}
    check_is_fitted(model)
    if isinstance(model, VanishingIdealClassifierCV):
        average = zip(model.weights_.tolist(), model.estimators_, strict=True) if model.average else None
        return _classifiers(ops, x, average or [(1.0, model.best_estimator_)])
    if isinstance(model, VanishingIdeal):
        return {"features": ops.absolute(_polynomials(ops, x, model.generators_))}
    if isinstance(model, PerClass):
        lists = [ideal.generators_ for ideal in model.estimators_]
        return {"features": ops.absolute(ops.concat([_polynomials(ops, x, each) for each in lists if len(each)]))}
    if isinstance(model, L1SVC):
        scores = ops.linear(x, model.coef_, model.intercept_)
        return {"scores": scores, "label": ops.best(scores)}
    if isinstance(model, VanishingIdealClassifier):
        return _classifiers(ops, x, [(1.0, model)])
    raise ValueError(f"{type(model).__name__} cannot be exported: give a fitted model of vanishing.")


def _classifiers(ops: Ops, x: Any, weighted: Iterable[tuple[float, VanishingIdealClassifier]]) -> dict[str, Any]:
    """Scores that are a weighted sum of those of several classifiers, and what follows from them."""
    members = list(weighted)
    parts = [_scores(ops, x, model, f"{k}_" if len(members) > 1 else "") for k, (_, model) in enumerate(members)]
    n_scores = len(members[0][1]._planes[1])
    calibrated = all(model._calibration is not None for _, model in members)
    if len(members) > 1:
        parts = [_limited(ops, part, model) for part, (_, model) in zip(parts, members, strict=True)]
    weights = np.hstack([weight * np.eye(n_scores) for weight, _ in members])
    scores = parts[0] if len(parts) == 1 else ops.linear(ops.concat(parts), weights, np.zeros(n_scores))
    scores = ops.keep(scores, "score")
    named = {"scores": scores, "label": ops.best(scores)}
    if calibrated:
        log_odds = scores if len(members) > 1 else _limited(ops, scores, members[0][1])
        named["probabilities"] = ops.softmax(_log_odds(ops, log_odds, n_scores))
    return named


def _limited(ops: Ops, scores: Any, model: VanishingIdealClassifier) -> Any:
    """Log-odds of two classes as far as probabilities follow them; other scores as they are."""
    if model._calibration is None or not np.isfinite(model._calibration.limits).all():
        return scores
    return ops.clip(scores, *model._calibration.limits)


def _scores(ops: Ops, x: Any, model: VanishingIdealClassifier, prefix: str) -> Any:
    if not isinstance(model.final_estimator_, L1SVC):
        raise ValueError(f"final_estimator={model.final_estimator_!r} cannot be exported: use the built-in SVM (None).")
    inside = ops.keep(_in_unit_cube(ops, x, model.scaler_), f"{prefix}t")
    mapping, (coef, intercept) = model._used_map, model._planes
    weights = coef if mapping.width is None else coef / mapping.width
    return ops.linear(_columns(ops, inside, mapping, prefix), weights, intercept)


def _log_odds(ops: Ops, scores: Any, n_scores: int) -> Any:
    """One column for each class."""
    if n_scores > 1:
        return scores
    return ops.linear(scores, np.array([[-0.5], [0.5]]), np.zeros(2))


def _in_unit_cube(ops: Ops, x: Any, scaler: MinMaxScaler | InputTransform | None) -> Any:
    if scaler is None:
        return x
    if not isinstance(scaler, InputTransform):
        return ops.affine(x, scaler.scale_, scaler.min_)
    if scaler.knots is not None:
        x = ops.interpolate(x, scaler.knots)
    elif scaler.curved.any():
        x = _curved(ops, x, scaler.curved, scaler.centre, scaler.spread)
    return ops.clip(ops.affine(x, *scaler.affine), *scaler.limits)


def _curved(ops: Ops, x: Any, curved: Bool1D, centre: Float1D, spread: Float1D) -> Any:
    """``arcsinh((x - centre) / spread)`` in some columns."""
    bent, straight = np.flatnonzero(curved), np.flatnonzero(~curved)
    curve = ops.asinh(ops.affine(ops.take(x, bent), 1.0 / spread[bent], -centre[bent] / spread[bent]))
    if straight.size == 0:
        return curve
    back = np.argsort(np.concatenate([bent, straight]))
    return ops.take(ops.concat([curve, ops.take(x, straight)]), back)


def _columns(ops: Ops, t: Any, mapping: FeatureMap, prefix: str) -> Any:
    """The columns of a feature map, not yet divided by their widths."""
    parts, extras = [], mapping.extras
    lists = [polynomials for polynomials in mapping.lists if len(polynomials)]
    if lists:
        values = ops.keep(ops.concat([_polynomials(ops, t, polynomials) for polynomials in lists]), f"{prefix}g")
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


def _polynomials(ops: Ops, x: Any, polynomials: Polynomials) -> Any:
    form = polynomials.form
    return _monomial_values(ops, x, form) if isinstance(form, MonomialForm) else _product_values(ops, x, form)


def _monomial_values(ops: Ops, x: Any, form: MonomialForm) -> Any:
    """Each term is an earlier one times a column, degree by degree; then one linear map."""
    degrees = np.array([len(term) for term in form.basis.terms])
    row_of = np.full(form.basis.size, -1)  # in the table, which leaves out the constant
    table, size = None, 0
    for degree in range(1, int(degrees.max(initial=0)) + 1):
        rows = np.flatnonzero(degrees == degree)
        new = ops.take(x, form.basis.right[rows])
        if degree > 1:
            new = ops.multiply(ops.take(table, row_of[form.basis.left[rows]]), new)
        table = new if table is None else ops.concat([table, new])
        row_of[rows] = size + np.arange(rows.size)
        size += rows.size
    simple = np.flatnonzero(form.leads.left == 0)
    further = np.flatnonzero(form.leads.left != 0)
    parts = [] if table is None else [table]
    if simple.size:
        parts.append(ops.take(x, form.leads.right[simple]))
    if further.size:
        factors = ops.take(x, form.leads.right[further])
        parts.append(ops.multiply(ops.take(table, row_of[form.leads.left[further]]), factors))
    order = np.argsort(row_of[1:], kind="stable") + 1
    leads = np.diag(form.lead_coef)[:, np.concatenate([simple, further])]
    return ops.linear(ops.concat(parts), np.hstack([form.coef[:, order], leads]), form.coef[:, 0])


def _product_values(ops: Ops, x: Any, form: ProductForm) -> Any:
    """Layer by layer: products of earlier polynomials, and linear combinations of both."""
    columns = ops.affine(x, form.scale, form.offset)
    table, values = None, []
    for layer in form.layers:
        if table is None:
            wide = ops.take(columns, layer.products.right)
        else:
            # Products of degree 2 and more have no constant factor, which would be number 0.
            products = ops.products(table, layer.products.left - 1, layer.products.right - 1)
            wide = ops.concat([table, products])
        # Column 0 of the coefficients belongs to the constant, which the table leaves out.
        for matrix, keep in ((layer.vanishing, False), (layer.kept, True)):
            if matrix.shape[0] == 0:
                continue
            result = ops.linear(wide, matrix[:, 1:], matrix[:, 0] * form.constant)
            if keep:
                table = result if table is None else ops.concat([table, result])
            else:
                values.append(result)
    chosen = ops.take(ops.concat(values), form.chosen)
    return ops.affine(chosen, form.factor, np.zeros(form.factor.size))
