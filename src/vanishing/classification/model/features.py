"""From rows to the columns that a linear classifier sees."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...constants import CACHE_ENTRIES, ROUNDING, TINY
from ...files.fields import Numbers, Optional, Record, TupleOf, require
from ...files.saved import Object
from ...ideals.ideal import VanishingIdeal
from ...polynomials.forms import MonomialForm
from ...polynomials.polynomial import Polynomials
from ...polynomials.products import ProductForm
from ...polynomials.terms import term_values
from ...polynomials.text import shown_names
from ...rows.array_api import empty_like, in_float64, namespace_of, on_device_of, to_host
from ...rows.protocol import Block, Computed, Cost, Rows, View
from .columns import EXTRAS, Columns, Extras, take_columns

_CONSTANT = 1e-12  # spread of a column that is constant up to rounding, relative to its values or the unit cube


@dataclass(frozen=True)
class FeatureMap:
    """``t -> (|g(t)| for some generators, g(t) for some, extra columns) / width``, for rows t in the unit cube.

    ``lists`` holds the polynomials of each class, and of its halves, numbered through. ``absolute`` and ``signed`` are
    the numbers of the polynomials that give a column |g| and g. Without a ``width`` the columns are not divided. An
    infinite width leaves a column out: it is 0 for every row. ``exact`` says which polynomials vanish on the rows of
    all classes.
    """

    lists: tuple[Polynomials, ...]
    absolute: Int1D
    signed: Int1D
    extras: Extras
    width: Float1D | None = None
    exact: Bool1D | None = None

    @classmethod
    def of(cls, ideals: Sequence[Sequence[VanishingIdeal]], options: Columns, X: Float2D | None = None) -> FeatureMap:
        """The map for the fitted estimators of each class; hinges need rows ``X`` in the unit cube.

        Beside the inputs, signed generators of degree 1 would say nothing new, and are left out. So are generators and
        products of inputs with which the decision may only rise or fall.
        """
        lists = tuple(ideal.generators_ for own in ideals for ideal in own)
        names, features = lists[0].feature_names, options.features
        held = options.directions(names) != 0.0
        extras = options.extras(np.empty((0, len(names))) if X is None else X).without_products_of(held)
        degrees = np.concatenate([polynomials.degrees for polynomials in lists])
        numbers = np.arange(degrees.size)
        if held.any():
            numbers = np.flatnonzero(~np.concatenate([_inputs_of(each)[:, held].any(axis=1) for each in lists]))
        signed = numbers[degrees[numbers] > 1] if extras.inputs.size else numbers
        absolute = numbers[:0] if features == "signed" else numbers
        return cls(lists, absolute, numbers[:0] if features == "absolute" else signed, extras)

    @property
    def n_generators(self) -> int:
        """Number of polynomials."""
        return sum(map(len, self.lists))

    @property
    def n_columns(self) -> int:
        """Number of output columns."""
        return int(self.absolute.size + self.signed.size) + self.extras.n_columns

    def by_generator(self, values: Float2D) -> tuple[Float2D, Float2D]:
        """Values of columns ``(n, n_columns)`` for |g| and for g, each ``(n, n_generators)``, 0 where missing."""
        sizes = [np.zeros((len(values), self.n_generators)) for _ in range(2)]
        sizes[0][:, self.absolute] = values[:, : self.absolute.size]
        sizes[1][:, self.signed] = values[:, self.absolute.size : self.absolute.size + self.signed.size]
        return sizes[0], sizes[1]

    def of_extras(self, values: Float2D) -> Float2D:
        """Values of the columns ``(n, n_columns)`` for the extra columns alone."""
        return values[:, self.absolute.size + self.signed.size :]

    def signs(self, monotone: Mapping[Any, float] | None) -> Float1D:
        """The signs that the weights of the columns may have, for the directions of some inputs; 0 where free."""
        own = Columns(monotone=monotone).directions(self.lists[0].feature_names)
        signs = np.zeros(self.n_columns)
        start = self.absolute.size + self.signed.size
        bent = start + self.extras.inputs.size
        signs[start:bent] = own[self.extras.inputs]
        signs[bent : bent + self.extras.hinges.size] = own[self.extras.hinges]
        return signs

    def directions(self, coef: Float1D) -> Int1D:
        """For every input 1 or -1, if a sum of columns with these weights never falls or never rises with it, else 0.

        Read from the formula: the input has a column or hinges, with weights of one sign, and is in no other column.
        """
        n, extras = len(self.lists[0].feature_names), self.extras
        used = np.concatenate([self.absolute, self.signed])[coef[: self.absolute.size + self.signed.size] != 0.0]
        mixed = np.concatenate([_inputs_of(each) for each in self.lists])[used].any(axis=0)
        weights = coef[self.absolute.size + self.signed.size :]
        alone, products = np.split(weights, [extras.inputs.size + extras.hinges.size])
        mixed[np.concatenate([extras.left[products != 0.0], extras.right[products != 0.0]])] = True
        inputs = np.concatenate([extras.inputs, extras.hinges])
        rises, falls = (np.bincount(inputs[way], minlength=n) > 0 for way in (alone > 0.0, alone < 0.0))
        return np.where(mixed, 0, rises.astype(np.int64) - falls)

    def select(self, chosen: Bool1D) -> FeatureMap:
        """The map to some of the columns, without polynomials that none of them needs; ``exact`` is not kept."""
        first, second = self.absolute.size, self.absolute.size + self.signed.size
        absolute, signed = self.absolute[chosen[:first]], self.signed[chosen[first:second]]
        used = np.union1d(absolute, signed)
        ends = np.cumsum([len(polynomials) for polynomials in self.lists])
        parts = np.split(used, np.searchsorted(used, ends[:-1]))
        starts = ends - [len(polynomials) for polynomials in self.lists]
        lists = tuple(
            polynomials[part - start] for polynomials, part, start in zip(self.lists, parts, starts, strict=True)
        )
        return FeatureMap(
            lists,
            np.searchsorted(used, absolute),
            np.searchsorted(used, signed),
            self.extras.select(chosen[second:]),
            None if self.width is None else self.width[chosen],
        )

    def over(self, rows: Rows, out: Any = None) -> Any:
        """The columns for all rows, ``(n_samples, n_columns)``, in one pass; written to ``out`` if given."""
        return rows.map(self._fill, self.n_columns, self._cost, out)

    def scores(self, rows: Rows, coef: Float2D, intercept: Float1D) -> Any:
        """``columns @ coef.T + intercept``, ``(n_samples, n_scores)``, without keeping the columns."""

        def kernel(block: Block, out: Any) -> None:
            out[:, :] = self._scores_of(block, coef, intercept)

        return rows.map(kernel, coef.shape[0], self._cost)

    def _scores_of(self, block: Block, coef: Float2D, intercept: Float1D) -> Any:
        columns = empty_like(block.X, self.n_columns)
        self._fill(block, columns)
        return columns @ on_device_of(block.X, coef).T + on_device_of(block.X, intercept)

    def scores_and_labels(self, rows: Rows, coef: Float2D, intercept: Float1D) -> tuple[Float2D, Array, Float1D | None]:
        """The scores of all rows of a source with their labels and weights, in memory, in one pass."""

        def kernel(block: Block) -> list[tuple[Float2D, Array, Float1D | None]]:
            scores = self._scores_of(block, coef, intercept)
            weights = None if block.weights is None else to_host(block.weights)
            return [(to_host(scores), to_host(block.labels), weights)]

        scores, labels, weights = zip(*rows.reduce(kernel, operator.add, self._cost), strict=True)
        unweighted = any(own is None for own in weights)
        return np.concatenate(scores), np.concatenate(labels), None if unweighted else np.concatenate(weights)

    def confusion(self, rows: Rows, coef: Float2D, intercept: Float1D, keys: Sequence[Any]) -> Float2D:
        """Total weight of the rows with each key (one a row) for which the scores speak for each class, in one pass."""

        def kernel(block: Block) -> Float2D:
            scores = self._scores_of(block, coef, intercept)
            namespace = namespace_of(scores)
            predicted = scores[:, 0] > 0.0 if len(coef) == 1 else namespace.argmax(scores, axis=1)
            predicted = namespace.astype(predicted, namespace.int64)
            if not isinstance(block.X, np.ndarray):
                return _table_on_device(block, predicted, keys, n_classes)
            weights = np.ones(len(predicted)) if block.weights is None else block.weights
            return np.array(
                [np.bincount(predicted[of], weights[of], n_classes) for of in map(block.labels.__eq__, keys)]
            )

        n_classes = max(len(coef), 2)
        return rows.reduce(kernel, operator.add, self._cost)

    @property
    def _cost(self) -> Cost:
        cost = Cost(0, 2 * self.n_columns)
        for polynomials in self.lists:
            own = polynomials.form.cost
            cost = Cost(cost.work + own.work, cost.width + own.width)
        return cost

    def columns_of(self, rows: Rows) -> Rows:
        """Rows of the columns: kept in memory if the rows are, else computed in every pass."""
        return rows.computed(self._fill, self.n_columns, self._cost)

    def computed_over(self, rows: Rows) -> Rows:
        """Rows of the columns, computed in every pass wherever the rows are."""
        return View(rows, Computed(self._fill, self.n_columns), self.n_columns)

    def fitted_on(self, rows: Rows, reach: Float1D, *, scale: bool) -> FeatureMap:
        """The map without the columns that are constant on these rows, the others over their deviation if ``scale``.

        Takes one pass; ``reach`` holds the largest absolute value of every input column.
        """
        return self._fitted(
            self.columns_of(rows).reduce(_block_moments, _merge_moments, self._cost), reach, scale=scale
        )

    def fitted_by(self, columns: Float2D, sample_weight: Float1D | None, reach: Float1D, *, scale: bool) -> FeatureMap:
        """As :meth:`fitted_on`, from the columns that this map gives, which are divided in place."""
        fitted = self._fitted(_block_moments(Block(columns, sample_weight)), reach, scale=scale)
        assert fitted.width is not None
        columns /= fitted.width
        return fitted

    def _fitted(self, moments: tuple[float, Float1D, Float1D], reach: Float1D, *, scale: bool) -> FeatureMap:
        weight, mean, square = moments
        deviation = np.sqrt(square / weight)
        noise = np.concatenate([_noise(polynomials.form, np.maximum(reach, 1.0)) for polynomials in self.lists])
        places = np.concatenate([self.absolute, self.signed])
        rounding = _CONSTANT * np.maximum(np.abs(mean) + deviation, 1.0)
        bound = np.append(noise[places], rounding[places.size :])
        exact = np.zeros(self.n_generators, dtype=bool)
        exact[places] = np.hypot(mean, deviation)[: places.size] <= noise[places]
        return replace(self, width=np.where(deviation <= bound, np.inf, deviation if scale else 1.0), exact=exact)

    def _fill(self, block: Block, out: Any) -> None:
        X, first, second = block.X, self.absolute.size, self.absolute.size + self.signed.size
        if first == self.n_generators and first == second:
            self._fill_generators(X, out[:, :first], absolute=True)
        else:
            on_host = isinstance(X, np.ndarray)
            length = CACHE_ENTRIES // max(self.n_generators, 1) + 1 if on_host else max(X.shape[0], 1)
            for start in range(0, X.shape[0], length):  # values that stay in the cache
                part = slice(start, start + length)
                values = empty_like(X[part, :], self.n_generators)
                self._fill_generators(X[part, :], values)
                out[part, :first] = namespace_of(X).abs(take_columns(values, self.absolute))
                out[part, first:second] = take_columns(values, self.signed)
        self.extras.fill(X, out[:, second:])
        if self.width is not None:
            out /= on_device_of(X, self.width)

    def _fill_generators(self, X: Any, out: Any, *, absolute: bool = False) -> None:
        """Write the values of all generators, or the absolute ones, to ``out``."""
        start = 0
        for polynomials in self.lists:
            stop = start + len(polynomials)
            polynomials.form.fill(X, out[:, start:stop], absolute=absolute)
            start = stop


def _inputs_of(polynomials: Polynomials) -> Bool1D:
    """Which inputs each polynomial has, ``(n_polynomials, n_features)``."""
    return np.asarray((polynomials.coef != 0.0) @ (polynomials.exponents > 0))


def _check_map(mapping: FeatureMap) -> None:
    n = len(mapping.lists[0].feature_names) if mapping.lists else 0
    extras = mapping.extras
    require(all(len(polynomials.feature_names) == n for polynomials in mapping.lists), "a class has other columns")
    for numbers, most in (
        (mapping.absolute, mapping.n_generators),
        (mapping.signed, mapping.n_generators),
        (extras.inputs, n),
        (extras.hinges, n),
        (extras.left, n),
        (extras.right, n),
    ):
        require(int(numbers.max(initial=-1)) < most, "a column is made of a missing one")
    require(extras.hinges.size == extras.knots.size, "a hinge has no knot")
    require(extras.left.size == extras.right.size, "a product has one factor only")
    require(mapping.width is None or mapping.width.size == mapping.n_columns, "a column has no width")
    require(mapping.exact is None or mapping.exact.size == mapping.n_generators, "numbers of generators differ")


_INDICES = Numbers("i8", (None,), low=0)
FEATURE_MAP = Record(
    FeatureMap,
    {"lists": TupleOf(Object("Polynomials")), "absolute": _INDICES, "signed": _INDICES, "extras": EXTRAS}
    | {"width": Optional(Numbers("f8", (None,), low=0.0, finite=False)), "exact": Optional(Numbers("b1", (None,)))},
    _check_map,
)


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
    return np.asarray(np.sqrt(form.width * ROUNDING) * size)


def _sizes_of_mixtures(form: ProductForm, reach: float) -> Float1D:
    """The sum of ``|c_t| |t|`` for each vanishing polynomial, with basis polynomials as large as the constant one."""
    sizes = []
    for k, layer in enumerate(form.layers):
        n_basis = layer.vanishing.shape[1] - len(layer.products)
        lengths = np.repeat([form.constant, form.constant**2 if k else reach], [n_basis, len(layer.products)])
        sizes.append(np.abs(layer.vanishing) @ lengths)
    return np.concatenate(sizes)


def _table_on_device(block: Block, predicted: Any, keys: Sequence[Any], n_classes: int) -> Float2D:
    """Weight of the rows of each key that are predicted to be of each class; only the table leaves the device."""
    namespace = namespace_of(block.X)
    true = namespace.stack([in_float64(block.labels == key) for key in keys], axis=1)
    said = namespace.stack([in_float64(predicted == k) for k in range(n_classes)], axis=1)
    return to_host((true if block.weights is None else true * block.weights[:, None]).T @ said)


def _block_moments(block: Block) -> tuple[float, Float1D, Float1D]:
    """Total weight of a block, and the mean of every column with the sum of squares around it."""
    columns, weights = block.X, block.weights
    namespace = namespace_of(columns)
    if weights is None:
        weights = namespace.ones_like(columns[:, 0])
    total = float(namespace.sum(weights))
    mean, square = weights @ columns / max(total, TINY), np.zeros(columns.shape[1])
    length = CACHE_ENTRIES // columns.shape[1] + 1 if isinstance(columns, np.ndarray) else max(columns.shape[0], 1)
    for start in range(0, columns.shape[0], length):  # rows that stay in the cache
        part = columns[start : start + length, :] - mean
        part *= part
        square += to_host(weights[start : start + length] @ part)
    return total, to_host(mean), square


def _merge_moments(
    a: tuple[float, Float1D, Float1D], b: tuple[float, Float1D, Float1D]
) -> tuple[float, Float1D, Float1D]:
    """The moments of two blocks together (Chan, Golub and LeVeque 1979)."""
    total = a[0] + b[0]
    share = b[0] / max(total, TINY)
    step = b[1] - a[1]
    return total, a[1] + share * step, a[2] + b[2] + a[0] * share * step**2


def column_names(mapping: FeatureMap, owners: Sequence[str], inputs: Sequence[str], generators: Array | None) -> Array:
    """Names of the columns: the class and the polynomial, with bars for |g| where g has a column, too; then the extras.

    ``owners`` names the class or half that each list of polynomials belongs to, ``generators`` each polynomial, where
    the names are known.
    """
    if generators is None:
        pairs = zip(owners, mapping.lists, strict=True)
        texts = [f"{whose}: {text}" for whose, polynomials in pairs for text in polynomials]
        generators = np.array(texts, dtype=object)
    extras, names = mapping.extras, list(generators[mapping.absolute])
    if mapping.signed.size:
        names = [f"|{name}|" for name in names] + list(generators[mapping.signed])
    names += [inputs[j] for j in extras.inputs]
    shown = shown_names(tuple(inputs))
    names += [f"max(0, {shown[j]} - {knot:.4g})" for j, knot in zip(extras.hinges, extras.knots, strict=True)]
    names += [f"{shown[i]}*{shown[j]}" for i, j in zip(extras.left, extras.right, strict=True)]
    return np.array(names, dtype=object)
