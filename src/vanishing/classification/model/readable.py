"""What a fitted classifier says in words: its formula, and what single rows owe to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._typing import Array, Float1D, Float2D
from ...display import first_lines
from ...rows.arrays import as_rows
from ...rows.labels import as_vector, best_labels
from ...rows.reading import input_names
from ...svm import L1SVC
from .explain import Formula
from .features import FeatureMap
from .generators import ClassGenerators
from .probabilities import Calibration
from .rehearsal import Rehearsal
from .reported import ReportedClassifier
from .transforms import InputTransform, in_unit_cube, in_variables

__all__ = ["ReadableClassifier"]


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
        """Weights of the columns, and intercepts: those of the linear last step, calibrated."""
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
        """Weights of the columns before these are divided by their widths."""
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
