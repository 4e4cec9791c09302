"""From rows to the columns that a linear classifier sees."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import Bool1D, Float1D, Float2D
from ..ideals.ideal import VanishingIdeal
from ..polynomials.forms import Evaluator, MonomialForm, ProductForm, term_values
from ..polynomials.polynomial import Polynomials
from ..rows.array_api import empty_like, in_float64, namespace_of, on_device_of, to_host
from ..rows.protocol import Block, Cost, Rows

__all__ = ["FeatureMap"]

_EPS = float(np.finfo(np.float64).eps)
_CONSTANT = 1e-12  # spread of an input column that is constant up to rounding, relative to its values ...
_ROUNDED = 8.0 * _EPS  # ... and to 1, where scaling has moved them to 0


@dataclass(frozen=True)
class FeatureMap:
    """``x -> (|g_1(x)|, ..., |g_k(x)|, x_1, ..., x_n) / width``, the last n only with ``append_input``.

    ``lists`` holds the polynomials of each class; without a ``width`` the columns are not divided. An infinite width
    leaves a column out: it is 0 for every row. ``exact`` says which polynomials vanish on the rows of all classes.
    """

    lists: tuple[Polynomials, ...]
    append_input: bool = False
    width: Float1D | None = None
    exact: Bool1D | None = None
    _evaluator: Evaluator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        evaluator = Evaluator([polynomials.form for polynomials in self.lists], absolute=True)
        object.__setattr__(self, "_evaluator", evaluator)

    @classmethod
    def of(cls, ideals: Sequence[VanishingIdeal], *, append_input: bool) -> FeatureMap:
        """The map for fitted estimators, one per class."""
        return cls(tuple(ideal.generators_ for ideal in ideals), append_input)

    @property
    def n_generators(self) -> int:
        """Number of polynomials."""
        return self._evaluator.n_columns

    @property
    def n_columns(self) -> int:
        """Number of output columns."""
        return self.n_generators + (len(self.lists[0].feature_names) if self.append_input else 0)

    def over(self, rows: Rows, out: Any = None) -> Any:
        """The columns for all rows, ``(n_samples, n_columns)``, in one pass; written to ``out`` if given."""
        return rows.map(self._fill, self.n_columns, self._cost, out)

    def scores(self, rows: Rows, coef: Float2D, intercept: Float1D) -> Any:
        """``columns @ coef.T + intercept``, ``(n_samples, n_scores)``, without keeping the columns."""

        def kernel(block: Block, out: Any) -> None:
            columns = empty_like(block.X, self.n_columns)
            self._fill(block, columns)
            out[:, :] = columns @ on_device_of(block.X, coef).T + on_device_of(block.X, intercept)

        return rows.map(kernel, coef.shape[0], self._cost)

    def confusion(self, rows: Rows, coef: Float2D, intercept: Float1D, keys: Sequence[Any]) -> Float2D:
        """Total weight of the rows with each key (one a row) for which the scores speak for each class, in one pass."""

        def kernel(block: Block) -> Float2D:
            columns = empty_like(block.X, self.n_columns)
            self._fill(block, columns)
            scores = columns @ on_device_of(block.X, coef).T + on_device_of(block.X, intercept)
            namespace = namespace_of(scores)
            found = scores[:, 0] > 0.0 if len(coef) == 1 else namespace.argmax(scores, axis=1)
            found = namespace.astype(found, namespace.int64)
            if not isinstance(block.X, np.ndarray):
                return _table_on_device(block, found, keys, n_classes)
            weights = np.ones(len(found)) if block.weights is None else block.weights
            return np.array([np.bincount(found[of], weights[of], n_classes) for of in map(block.labels.__eq__, keys)])

        n_classes = max(len(coef), 2)
        return rows.reduce(kernel, operator.add, self._cost)

    @property
    def _cost(self) -> Cost:
        cost = self._evaluator.cost
        return cost._replace(width=cost.width + 2 * self.n_columns)

    def columns_of(self, rows: Rows) -> Rows:
        """Rows of the columns: kept in memory if the rows are, else computed in every pass."""
        return rows.computed(self._fill, self.n_columns, self._cost)

    def fitted_on(self, rows: Rows, reach: Float1D, *, scale: bool) -> FeatureMap:
        """The map without the columns that are constant on these rows, the others over their deviation if ``scale``.

        Takes one pass; ``reach`` holds the largest absolute value of every input column.
        """
        moments: tuple[float, Float1D, Float1D] = self.columns_of(rows).reduce(
            _block_moments, _merge_moments, self._cost
        )
        weight, mean, square = moments
        return self._fitted(mean, np.sqrt(square / weight), reach, scale=scale)

    def fitted_by(self, columns: Float2D, sample_weight: Float1D | None, reach: Float1D, *, scale: bool) -> FeatureMap:
        """The same from the columns of these rows, the output of this map, which become those of the fitted one."""
        fitted = self._fitted(*_spread(columns, sample_weight), reach, scale=scale)
        assert fitted.width is not None
        columns /= fitted.width
        return fitted

    def _fitted(self, mean: Float1D, deviation: Float1D, reach: Float1D, *, scale: bool) -> FeatureMap:
        noise = np.concatenate([_noise(polynomials.form, np.maximum(reach, 1.0)) for polynomials in self.lists])
        exact = np.hypot(mean, deviation)[: noise.size] <= noise
        rounding = np.maximum(_CONSTANT * (np.abs(mean) + deviation), _ROUNDED)
        bound = np.append(noise, rounding[noise.size :])
        return replace(self, width=np.where(deviation <= bound, np.inf, deviation if scale else 1.0), exact=exact)

    def _fill(self, block: Block, out: Any) -> None:
        X = block.X
        self._evaluator.fill(X, out[:, : self.n_generators])
        if self.append_input:
            out[:, self.n_generators :] = X
        if self.width is not None:
            out /= on_device_of(X, self.width)


def _noise(form: MonomialForm | ProductForm, reach: Float1D) -> Float1D:
    """The root mean square of every polynomial up to which it cannot be told from zero.

    Coefficients come from a Gram in float64, where the mean square of a sum of n terms is right to about
    ``8 n eps (sum of |c_t| |t|)^2``. Divided by a spread below the root of that, a column would be rounding made large.
    """
    if isinstance(form, MonomialForm):
        terms = term_values(reach[None, :], form.basis)[:, 0]
        size = np.abs(form.coef) @ terms + np.abs(form.lead_coef) * terms[form.leads.left] * reach[form.leads.right]
    else:
        size = np.abs(form.factor) * _sizes_of_mixtures(form, float(reach.max()))[form.chosen]
    return np.asarray(np.sqrt(8.0 * form.width * _EPS) * size)


def _sizes_of_mixtures(form: ProductForm, reach: float) -> Float1D:
    """The sum of ``|c_t| |t|`` for each vanishing polynomial, with basis polynomials as large as the constant one."""
    sizes = []
    for k, layer in enumerate(form.layers):
        n_basis = layer.vanishing.shape[1] - len(layer.products)
        lengths = np.repeat([form.constant, form.constant**2 if k else reach], [n_basis, len(layer.products)])
        sizes.append(np.abs(layer.vanishing) @ lengths)
    return np.concatenate(sizes)


def _spread(columns: Float2D, sample_weight: Float1D | None) -> tuple[Float1D, Float1D]:
    """Mean and standard deviation of every column."""
    mean = np.average(columns, axis=0, weights=sample_weight)
    square = np.zeros(columns.shape[1])
    total = 0.0
    for start in range(0, len(columns), 8192):
        part = slice(start, start + 8192)
        weights = np.ones(len(columns[part])) if sample_weight is None else sample_weight[part]
        square += weights @ (columns[part] - mean) ** 2
        total += weights.sum()
    return mean, np.sqrt(square / total)


def _table_on_device(block: Block, found: Any, keys: Sequence[Any], n_classes: int) -> Float2D:
    """How much weight of each key was found to be of each class, from indicators; only the table leaves the device."""
    namespace = namespace_of(block.X)
    true = namespace.stack([in_float64(block.labels == key) for key in keys], axis=1)
    said = namespace.stack([in_float64(found == k) for k in range(n_classes)], axis=1)
    return to_host((true if block.weights is None else true * block.weights[:, None]).T @ said)


def _block_moments(block: Block) -> tuple[float, Float1D, Float1D]:
    """Total weight, mean, and sum of squares around it."""
    columns, weights = block.X, block.weights
    namespace = namespace_of(columns)
    if weights is None:
        weights = namespace.ones_like(columns[:, 0])
    total = float(namespace.sum(weights))
    mean = weights @ columns / max(total, 1e-300)
    return total, to_host(mean), to_host(weights @ (columns - mean) ** 2)


def _merge_moments(
    a: tuple[float, Float1D, Float1D], b: tuple[float, Float1D, Float1D]
) -> tuple[float, Float1D, Float1D]:
    """Those of both together (Chan, Golub and LeVeque 1979)."""
    total = a[0] + b[0]
    share = b[0] / max(total, 1e-300)
    step = b[1] - a[1]
    return total, a[1] + share * step, a[2] + b[2] + a[0] * share * step**2
