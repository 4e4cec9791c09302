"""What a fitted classifier says in words: its formula, its generators, and what single rows owe to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._typing import Array, Bool1D, Float1D, Float2D, Int1D
from ...constants import IN_HTML
from ...display import counted, first_lines, lines_html
from ...polynomials.polynomial import Polynomial, Polynomials
from ...rows.arrays import as_rows
from ...rows.labels import as_vector, best_labels
from ...rows.reading import input_names
from ...svm import L1SVC
from .explain import Formula
from .explained import ReportedClassifier
from .features import FeatureMap
from .per_class import owner_name
from .probabilities import Calibration
from .rates import Rehearsal
from .transforms import InputTransform, in_unit_cube, in_variables


class ClassGenerator(NamedTuple):
    """A polynomial g that vanishes on a class, with the weights of ``|g|`` and of ``g`` in the decision.

    A weight is a number for two classes, one number per class for more, None if the last step is not linear.
    An ``exact`` polynomial vanishes, up to rounding, on the training rows of every class: it tells no classes apart,
    and its weights are 0. With ``halves``, some vanish on one half of their class alone: ``half`` is 1 or 2 for these.
    """

    label: Any
    polynomial: Polynomial
    weight: Any
    exact: bool
    signed_weight: Any = 0.0
    half: int = 0


class ClassGenerators(Sequence[ClassGenerator]):
    """The generators of all classes with their weights in the decision.

    The polynomials are in the units of the data given to ``fit``; printed, the ones with the largest weights
    come first. ``owners`` holds the number of the class of each list: one list a class, or three where its halves have
    one each.
    """

    def __init__(
        self,
        labels: Array,
        lists: Sequence[Polynomials],
        weights: Float2D | None,
        signed_weights: Float2D | None,
        exact: Bool1D,
        owners: Int1D | None = None,
    ):
        self.labels = labels
        self.lists = tuple(lists)
        self.weights = weights
        self.signed_weights = signed_weights
        self.exact = exact
        self.owners = np.arange(len(self.lists)) if owners is None else owners
        self._places = [(k, g) for k, polynomials in enumerate(self.lists) for g in range(len(polynomials))]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[int(index)]
        k, g = self._places[i]
        weights = [_weight_of(weights, i) for weights in (self.weights, self.signed_weights)]
        owner = int(self.owners[k])
        half = k - int(np.searchsorted(self.owners, owner))
        return ClassGenerator(self.labels[owner], self.lists[k][g], weights[0], bool(self.exact[i]), weights[1], half)

    def __iter__(self) -> Iterator[ClassGenerator]:
        return (self[i] for i in range(len(self)))

    def __str__(self) -> str:
        lines = []
        if self.weights is None or self.signed_weights is None:
            shown: list[tuple[int, Any, str]] = [(int(i), None, "|") for i in np.flatnonzero(~self.exact)]
        else:
            towards = self.labels[1:] if len(self.weights) == 1 else self.labels
            lines.append(f"weight towards class {', '.join(map(str, towards))}; polynomial; class that it vanishes on")
            both = np.hstack([self.weights, self.signed_weights])
            order = np.argsort(-np.abs(both).max(axis=0), kind="stable")
            order = order[np.abs(both).max(axis=0)[order] > 0.0]
            shown = [(int(i) % len(self), both[:, i], "|" if i < len(self) else "") for i in order]
        for i, weight, bar in shown[:IN_HTML]:
            label, polynomial, *_, half = self[i]
            numbers = "" if weight is None else " ".join(f"{w:+10.3g}" for w in weight) + "  "
            lines.append(f"{numbers}{bar}{polynomial}{bar}  (class {owner_name(label, half)})")
        if len(shown) > IN_HTML:
            lines.append(f"... and {len(shown) - IN_HTML} more")
        n_used = len({i for i, *_ in shown})
        if n_used < len(self):
            n_left = len(self) - n_used
            lines.append(f"{counted(n_left, 'generator')} {'has' if n_left == 1 else 'have'} weight 0")
        if self.exact.any():
            n_exact = int(self.exact.sum())
            vanish, tell = ("vanishes", "tells") if n_exact == 1 else ("vanish", "tell")
            lines.append(f"{counted(n_exact, 'generator')} {vanish} exactly on every class, and {tell} none apart")
        return "\n".join(lines)

    def __repr__(self) -> str:
        lines = first_lines(str(self).splitlines())
        return "\n  ".join([f"<ClassGenerators: {len(self)} of {len(self.labels)} classes", *lines]) + ">"

    def _repr_html_(self) -> str:
        return lines_html(str(self).splitlines())


def _weight_of(weights: Float2D | None, i: int) -> Any:
    """The weight of column i: a number for two classes."""
    if weights is None:
        return None
    return float(weights[0, i]) if len(weights) == 1 else weights[:, i]


class ReadableClassifier(ReportedClassifier):
    """A classifier whose decision is a formula: it prints it, gives it to SymPy, and explains rows by it."""

    classes_: Array
    n_features_in_: int
    scaler_: Any
    ideals_: Any
    final_estimator_: Any
    _map: FeatureMap
    _used_map: FeatureMap
    _linear: bool  # whether decisions are ``coef_ @ columns + intercept_`` of the last step
    _planes: tuple[Float2D, Float1D]
    _rehearsal: Rehearsal | None = None  # what a fit has noted about its rows
    _calibration: Calibration | None = None
    _generators: ClassGenerators | None = None  # where they have been read

    @property
    def _units(self) -> tuple[Float1D, Float1D]:
        """Scale and offset from the variables of the formula to the unit cube."""
        if self.scaler_ is None:
            return np.ones(self.n_features_in_), np.zeros(self.n_features_in_)
        if isinstance(self.scaler_, InputTransform):
            return self.scaler_.affine
        return self.scaler_.scale_, self.scaler_.min_

    @property
    def _weights(self) -> tuple[Float2D, Float1D]:
        """Weights of the columns, and intercepts, of the linear last step after calibration."""
        final = self.final_estimator_
        coef, intercept = np.atleast_2d(final.coef_), np.atleast_1d(final.intercept_)
        return (coef, intercept) if self._calibration is None else self._calibration.of_planes(coef, intercept)

    @property
    def generators_(self) -> ClassGenerators:
        """Every generator with its class and its weight, in the units of the input; computed at the first use."""
        check_is_fitted(self)
        # Not a cached_property: before Python 3.12 that holds a lock, which a forked child may inherit locked.
        if self._generators is None:
            self._generators = self._read_generators()
        return self._generators

    def _read_generators(self) -> ClassGenerators:
        mapping, variables = self._map, input_names(self)
        if isinstance(self.scaler_, InputTransform):
            variables = self.scaler_.variables(variables)
        lists = [in_variables(polynomials.in_units(self._units), variables) for polynomials in mapping.lists]
        exact = np.zeros(mapping.n_generators, dtype=bool) if mapping.exact is None else mapping.exact
        if not self._linear:
            return ClassGenerators(self.classes_, lists, None, None, exact, self.ideals_._owners)
        weights = mapping.by_generator(self._weights_before_division)
        return ClassGenerators(self.classes_, lists, *weights, exact, self.ideals_._owners)

    @property
    def linear_coef_(self) -> Float2D:
        """Weights of the input columns, in their units."""
        return np.asarray(self._input_weights * self._units[0])

    @property
    def intercept_(self) -> Float1D:
        """Intercepts, for inputs in their units."""
        return np.asarray(self._input_weights @ self._units[1] + self._weights[1])

    @property
    def _input_weights(self) -> Float2D:
        """Weights of the inputs in the unit cube."""
        check_is_fitted(self)
        if not self._linear:
            raise AttributeError(f"The decision of {type(self.final_estimator_).__name__} has no weights of columns.")
        coef, inputs = self._weights_before_division, self._map.extras.inputs
        weights = np.zeros((len(coef), self.n_features_in_))
        weights[:, inputs] = self._map.of_extras(coef)[:, : inputs.size]
        return weights

    @property
    def _weights_before_division(self) -> Float2D:
        """Weights of the columns as they are before the division by their widths."""
        assert self._map.width is not None
        return np.asarray(self._weights[0] / self._map.width)

    def _require_formula(self) -> None:
        check_is_fitted(self)
        if not isinstance(self.final_estimator_, L1SVC):
            raise AttributeError(f"{type(self.final_estimator_).__name__} gives no formula: use final_estimator=None.")

    @property
    def formula_(self) -> Formula:
        """The decision as a formula in the units of the table, for the built-in SVM."""
        self._require_formula()
        transform = self.scaler_ if isinstance(self.scaler_, InputTransform) else None
        return Formula(self._used_map, *self._planes, self._units, input_names(self), transform)

    @property
    def _score_names(self) -> list[str]:
        """What the scores are called."""
        kind = "decision" if self._calibration is None else "log-odds"
        classes = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [f"{kind} of {label}" for label in classes]

    def to_sympy(self) -> Any:
        """The decision as a SymPy expression in symbols named like the inputs; one for each class if there are several.

        Exact for rows within the training range; needs ``pip install 'vanishing[sympy]'``.

        Returns
        -------
        sympy expression, or list of them
        """
        expressions = self.formula_.to_sympy()
        return expressions[0] if len(expressions) == 1 else expressions

    def _predict_checked(self, X: Float2D) -> Array:
        """Labels of rows with the columns of the fit, whose names are not asked for."""
        scores = self._used_map.scores(in_unit_cube(as_rows(X), self.scaler_), *self._planes)
        return np.asarray(best_labels(as_vector(scores), self.classes_))

    @property
    def _input_range(self) -> tuple[Float1D, Float1D]:
        if isinstance(self.scaler_, InputTransform):
            return self.scaler_.input_range
        scale, offset = self._units
        return -offset / scale, (1.0 - offset) / scale

    def __str__(self) -> str:
        if not isinstance(getattr(self, "final_estimator_", None), L1SVC):
            return repr(self)
        return "\n".join([self._constructor(), *self._formula_lines()])

    def _first_equations(self, n_shown: int) -> list[str]:
        if not isinstance(getattr(self, "final_estimator_", None), L1SVC):
            return []
        return first_lines(self._formula_lines(), n_shown)

    def _formula_lines(self) -> list[str]:
        """The formula, the largest contributions first, and what it says about the rows of the fit."""
        formula, noted = self.formula_, self._rehearsal
        if noted is None:
            return formula.to_text(self._score_names)
        return [*formula.to_text(self._score_names, noted.n_printed), *noted.lines(self.classes_, len(formula.terms))]
