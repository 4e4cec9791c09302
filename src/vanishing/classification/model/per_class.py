"""One ideal per class and, with ``halves``, one for each half of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..._typing import Array, Float1D, Float2D, Int1D
from ...checks import (
    check_flag,
    check_n_jobs,
    warn_no_generator,
    warn_outside_unit_cube,
    warn_single_precision,
)
from ...display import first_lines
from ...engine.survey import Survey, survey_parts, surveys_if_any
from ...files.fields import Labels, ListOf, MayBeMissing, require
from ...files.saved import Object, SavedEstimator
from ...ideals.ideal import VanishingIdeal
from ...ideals.oavi import DefaultIdeal
from ...ideals.path import fit_together
from ...rows.array_api import on_device_of
from ...rows.arrays import ArrayRows
from ...rows.labels import Labelled, read_labelled_input
from ...rows.protocol import Block, Rows, where
from ...rows.reading import input_names, read_finite, take_input_from, with_names
from ...rows.sampling import FEWEST_IN_HALF
from ...rows.together import together
from ...threads import fitting, n_threads
from .columns import Columns
from .explained import ReportedPerClass
from .features import FeatureMap

_ABSOLUTE = Columns("absolute", append_input=False)  # |g| alone


@dataclass(frozen=True)
class Cut:
    """The plane through the mean of a class across its longest direction: ``normal @ x = level``.

    ``normal`` is the eigenvector of the covariance with the largest eigenvalue, with its largest entry positive, so
    that the cut is known from the Gram of the columns, which the first pass sums.
    """

    normal: Float1D
    level: float

    @classmethod
    def of(cls, gram: Float2D) -> Cut:
        """From the means of the products of (1, x), a matrix of shape ``(n_features + 1, n_features + 1)``.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.2]])
        >>> table = np.column_stack([np.ones(3), x])
        >>> Cut.of(table.T @ table / 3).above(x)
        array([False, False,  True])
        """
        mean = gram[0, 1:]
        normal = np.linalg.eigh(gram[1:, 1:] - np.outer(mean, mean))[1][:, -1]
        normal = normal * np.sign(normal[np.argmax(np.abs(normal))])
        return cls(normal, float(normal @ mean))

    def above(self, X: Any) -> Any:
        """Which rows lie above the plane."""
        return X @ on_device_of(X, self.normal) > self.level

    def halves(self, rows: Rows) -> list[Rows]:
        """The rows on or below the plane, and the rows above it."""
        if isinstance(rows, ArrayRows):
            above = self.above(rows.X)
            return [rows.where(~above), rows.where(above)]
        return [rows.changed(_Half(self, above)) for above in (False, True)]


@dataclass(frozen=True)
class _Half:
    """The rows above a plane, or the others."""

    leaves_out_rows: ClassVar = True
    cut: Cut
    is_above: bool

    def __call__(self, block: Block) -> Block:
        return where(block, self.cut.above(block.X) == self.is_above)


def owner_name(label: Any, half: int) -> str:
    """What polynomials vanish on: a class (0), or one of its halves (1 or 2).

    Examples
    --------
    >>> owner_name("A", 0), owner_name("A", 2)
    ('A', 'A, half 2')
    """
    return f"{label}, half {half}" if half else f"{label}"


class _ClassRows(NamedTuple):
    """The rows of a class with their survey; or both of its halves, where it is cut."""

    parts: list[Rows]
    surveys: list[Survey]
    cut: Cut | None = None

    def parts_of(self, rows: Rows) -> list[Rows]:
        """The same parts of another view of the rows of the class."""
        return [rows] if self.cut is None else self.cut.halves(rows)

    @property
    def members(self) -> list[tuple[int, ...]]:
        """The parts that each ideal sees: all of them, then one by one."""
        return [(0,)] if self.cut is None else [(0, 1), (0,), (1,)]


class PerClass(SavedEstimator, DefaultIdeal, ReportedPerClass, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Vanishing polynomials of every class, side by side: the paper's feature map (Section 3.2).

    A clone of ``estimator`` is fitted to the rows of each class. A row x becomes ``|g(x)|`` for all generators g of
    all classes: those of its own class are small, those of others need not be.

    With ``halves``, further clones are fitted to the two halves of each class, cut by the plane through its mean across
    its longest direction: where a class has several pieces, or bends, fewer terms describe a half than the whole.

    Parameters
    ----------
    estimator : OAVI, ABM, AVI or VCA, default=None
        The algorithm; None stands for ``OAVI()``.
    halves : bool, default=False
        Fit the halves of each class, too, where each of them has at least 20 rows.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    estimators_ : list
        The fitted clones, in the order of ``classes_``.
    halves_ : list of lists
        For each class the clones that were fitted to its halves; none where it was not cut.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, PerClass
    >>> x = np.linspace(0, 1, 100)
    >>> X = np.vstack([np.column_stack([x, x**2]), np.column_stack([x, 1 - x])])
    >>> features = PerClass(OAVI(psi=1e-6)).fit(X, np.repeat(["parabola", "line"], 100))
    >>> features.get_feature_names_out()[0]
    'line: x1 + x0 - 1'
    >>> features.transform([[0.5, 0.5], [0.5, 0.25]])[:, 0].round(6)
    array([0.  , 0.25])
    """

    _fields: ClassVar = {
        "classes_": Labels(),
        "estimators_": ListOf(Object("OAVI", "ABM", "AVI", "VCA")),
        "halves_": MayBeMissing(ListOf(ListOf(Object("OAVI", "ABM", "AVI", "VCA")))),  # not in the first files
    }

    def _check_saved(self) -> None:
        require(len(self.classes_) == len(self.estimators_), "numbers of classes and estimators differ")
        if not hasattr(self, "halves_"):
            self.halves_: list[list[VanishingIdeal]] = [[] for _ in self.classes_]
        require(len(self.classes_) == len(self.halves_), "numbers of classes and halves differ")
        require(all(len(own) in (0, 2) for own in self.halves_), "a class has one half, or more than two")
        widths = {model.n_features_in_ for own in self._by_class for model in own}
        require(widths == {getattr(self, "n_features_in_", -1)}, "the estimators have other columns")

    def __init__(self, estimator: Any = None, *, halves: bool = False, n_jobs: int | None = None):
        self.estimator = estimator
        self.halves = halves
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit one clone of the estimator per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled to [0, 1] for the theory to hold, for instance by ``MinMaxScaler``.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; not all zero in any class.

        Returns
        -------
        self
        """
        with fitting(self):
            data = read_labelled_input(self, X, y, sample_weight, at_least=1)
            data.require_weights()
            names = input_names(self)
            first = survey_parts(data.rows, names, data.parts, ahead=self._template()._looks_ahead)
            warn_outside_unit_cube(first.whole.low, first.whole.high, names)
            self._fit_parts(data._replace(rows=first.rows), first.parts, first.surveys)
        if not any(len(model.generators_) for model in self.estimators_):
            warn_no_generator(self.estimators_[0].psi)
        return self

    def _fit_parts(self, data: Labelled, parts: Sequence[Rows], surveys: Sequence[Survey]) -> None:
        """Fit the clones to the parts of the data, one for each class, that have been surveyed; and to their halves."""
        check_n_jobs(self.n_jobs)
        check_flag("halves", self.halves)
        template = self._template()
        if data.rows.single_precision:
            warn_single_precision(template.psi)
        if self.halves:
            classes = _cut_in_halves(parts, surveys, ahead=template._looks_ahead)
        else:
            classes = [_ClassRows([part], [own]) for part, own in zip(parts, surveys, strict=True)]

        def fit(rows: Rows, k: int) -> list[VanishingIdeal]:
            own = classes[k]
            models: list[VanishingIdeal] = [clone(template) for _ in own.members]
            for model in models:
                take_input_from(self, model)
            in_memory = isinstance(rows, ArrayRows)
            seen = own.parts if in_memory else own.parts_of(rows.where_label(data.keys[k]))
            fit_together(models, seen, own.members, own.surveys)
            return models

        tasks = [partial(fit, k=k) for k in range(len(classes))]
        self._store(data.classes, together(data.rows, tasks, threads=n_threads(self.n_jobs)))

    def _store(self, classes: Array, by_class: Sequence[Sequence[VanishingIdeal]]) -> None:
        """Set what was fitted: for each class its ideal, and those of its halves."""
        self.classes_ = classes
        self.estimators_ = [own[0] for own in by_class]
        self.halves_ = [list(own[1:]) for own in by_class]

    @property
    def _by_class(self) -> list[list[VanishingIdeal]]:
        """For each class its ideal, and those of its halves: all that give columns, in their order."""
        return [[whole, *halves] for whole, halves in zip(self.estimators_, self.halves_, strict=True)]

    @property
    def _owners(self) -> Int1D:
        """The number of the class of every ideal."""
        return np.repeat(np.arange(len(self.classes_)), [len(own) for own in self._by_class])

    @property
    def _named(self) -> list[tuple[str, VanishingIdeal]]:
        """Every ideal with the name of its class, and of the half."""
        return [
            (owner_name(label, half), ideal)
            for label, own in zip(self.classes_, self._by_class, strict=True)
            for half, ideal in enumerate(own)
        ]

    def transform(self, X: Any) -> Any:
        """Absolute values of the generators of all classes, ``|g(x)|``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_generators)
        """
        check_is_fitted(self)
        values = FeatureMap.of(self._by_class, _ABSOLUTE).over(read_finite(self, X))
        return with_names(values, lambda: self.get_feature_names_out())

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the output columns: the class and the polynomial, shortened where it is long.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns; those seen in fit by default.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        names = [
            f"{whose}: {name}" for whose, model in self._named for name in model.get_feature_names_out(input_features)
        ]
        return np.array(names, dtype=object)

    def _first_equations(self, n_shown: int) -> list[str]:
        return first_lines([str(name) for name in self.get_feature_names_out()], n_shown)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _cut_in_halves(parts: Sequence[Rows], surveys: Sequence[Survey], *, ahead: bool) -> list[_ClassRows]:
    """The halves of classes, surveyed in one pass; a class with too few rows in a half stays whole."""
    cuts = [Cut.of(survey.gram) for survey in surveys]
    halves = [cut.halves(part) for part, cut in zip(parts, cuts, strict=True)]
    found = surveys_if_any([half for own in halves for half in own], ahead=ahead)
    classes = []
    for k, cut in enumerate(cuts):
        own = [survey for survey in found[2 * k : 2 * k + 2] if survey is not None and _has_enough_rows(survey)]
        classes.append(_ClassRows(halves[k], own, cut) if len(own) == 2 else _ClassRows([parts[k]], [surveys[k]]))
    return classes


def _has_enough_rows(half: Survey) -> bool:
    return half.n_samples >= FEWEST_IN_HALF and half.total_weight > 0.0
