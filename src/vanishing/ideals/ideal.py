"""The base classes of the estimators: input, the fit, the transform, names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..checks import (
    check_choice,
    check_count,
    check_n_jobs,
    check_number,
    feature_permutation,
    warn_moments_end,
    warn_outside_unit_cube,
    warn_overflow,
    warn_single_precision,
)
from ..decisions import Decision
from ..display import counted
from ..engine.construction import Algorithm, Fit, Grams, construct
from ..engine.moments import GoneRows, Moments, moments_in_one_pass
from ..engine.monomials import MonomialBasis, MonomialGrams
from ..engine.products import ProductBasis
from ..engine.survey import Survey, survey_parts
from ..files.fields import Flag, Integer, require
from ..files.saved import Object, SavedEstimator
from ..polynomials.forms import MonomialForm, values_over
from ..polynomials.polynomial import Polynomial, Polynomials, Terms
from ..polynomials.terms import ORDERS, exponents_of
from ..report import Given, Reported
from ..rows.protocol import Rows
from ..rows.reading import input_names, learn_columns, read_finite, read_input, with_names
from ..threads import fitting
from .relations import MARGINS, Margins, Relations, find_relations, require_moments

_LONGEST_NAME = 60  # characters of an output column: a few terms


class VanishingIdeal(Reported, SavedEstimator, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the four estimators: input, warnings, the fit, the transform and the names."""

    psi: float
    max_degree: int
    max_terms: int
    n_jobs: int | None

    _fields: ClassVar = {
        "generators_": Object("Polynomials"),
        "degree_": Integer(low=0),
        "complete_": Flag(),
        "n_basis_": Integer(low=1),
    }

    _choices: ClassVar[dict[str, Collection[str]]] = {}  # parameters that are one of a few words
    _looks_ahead = False  # whether a pass can sum the candidates of the next degree before this degree is decided
    _grams: Callable[[Sequence[Rows], Sequence[Survey], Any], Grams]  # the Gram matrices of its kind of basis

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the polynomials that vanish approximately on the rows of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
            A NumPy array, a pandas or polars frame, files opened by :func:`~vanishing.open_rows`, a DuckDB relation or
            another Arrow stream, a Dask collection, an array on a GPU, or :class:`~vanishing.Moments`. The guarantees
            hold for data scaled to [0, 1], for instance by ``MinMaxScaler``.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in every mean; not all zero.

        Returns
        -------
        self
        """
        self._check_parameters()
        with fitting(self):
            if isinstance(X, Moments):
                self._fit_moments(X, sample_weight)
                return self
            rows = read_input(self, X, sample_weight, passes=1 if self._looks_ahead else None)
            if rows.read_once:
                self._fit_moments(moments_in_one_pass(rows, self.max_degree, self.n_jobs), None)
            else:
                self._fit_rows(*self._survey(rows))
        return self

    def transform(self, X: Any) -> Any:
        """Absolute values of the generators, ``|g(x)|``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source

        Returns
        -------
        array of shape (n_samples, n_generators)
            Of the same kind as ``X``: on the same device, lazy for Dask and for files.
        """
        check_is_fitted(self)
        values = values_over(self.generators_.form, read_finite(self, X), absolute=True)
        return with_names(values, lambda: self.get_feature_names_out())

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the output columns: the polynomials as text, long ones shortened.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns; those seen in fit by default.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        names = input_names(self)
        if input_features is not None:
            given = [str(name) for name in input_features]
            if len(given) != len(names):
                raise ValueError(
                    f"input_features should have length equal to number of features ({len(names)}), got {len(given)}."
                )
            if hasattr(self, "feature_names_in_") and given != names:
                raise ValueError("input_features is not equal to feature_names_in_.")
            names = given
        return np.array(self._output_names(names), dtype=object)

    def _report_rows(self, X: Any, y: Any) -> Given:
        check_is_fitted(self)
        return Given(read_input(self, X, reset=False), tuple(input_names(self)))

    def _report_story(self, subject: Any) -> Any:
        from .story import ideal_story  # only reports need it

        return ideal_story(self, subject)

    def _check_saved(self) -> None:
        n = len(self.generators_.feature_names)
        require(n == getattr(self, "n_features_in_", -1), "the generators and the fit have different columns")

    def __str__(self) -> str:
        return self._describe(self.generators_) if hasattr(self, "generators_") else repr(self)

    def _first_equations(self, n_shown: int) -> list[str]:
        generators: Polynomials = self.generators_
        return generators.first_lines(n_shown)

    def _describe(self, generators: Polynomials) -> str:
        """The constructor call, and the polynomials."""
        title = f"{self._constructor()}: {counted(len(generators), 'generator')}"
        return "\n  ".join([title, *str(generators).splitlines()])

    def _check_width(self) -> None:
        """Raise ValueError if there are more columns than ``max_terms`` allows."""
        if 1 + self.n_features_in_ > self.max_terms:
            raise ValueError(
                f"X has {self.n_features_in_} columns, too many for max_terms={self.max_terms}: raise it, or select "
                "columns."
            )

    def _survey(self, rows: Rows) -> tuple[Rows, Survey]:
        """Make the first pass; raise ValueError for NaN, and warn about data outside the unit cube or in float32."""
        self._check_width()
        names = input_names(self)
        rows, _, (survey,), _ = survey_parts(rows, names, ahead=self._looks_ahead)
        warn_outside_unit_cube(survey.low, survey.high, names)
        if rows.single_precision:
            warn_single_precision(self.psi)
        return rows, survey

    def _fit_moments(self, moments: Moments, sample_weight: Any) -> None:
        """Fit to moments, without rows."""
        if not self._looks_ahead:
            raise ValueError(f"{type(self).__name__} needs the rows: fit OAVI, ABM or AVI to moments.")
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be given for moments: give it to their update.")
        survey = moments._survey()
        learn_columns(self, moments, reset=True)
        warn_outside_unit_cube(survey.low, survey.high, input_names(self))
        if moments.single_precision:
            warn_single_precision(self.psi)
        self._fit_rows(GoneRows(moments.n_features), survey, min(self.max_degree, moments.degree))

    def _fit_rows(self, rows: Rows, survey: Survey, max_degree: int | None = None) -> Fit:
        """Fit to rows after the first pass, or to moments in their place, with the input columns set."""
        self._check_parameters()
        self._check_width()
        basis, algorithm = self._plan(survey)
        degree = self.max_degree if max_degree is None else max_degree
        grams = self._grams([rows], [survey], basis)
        built = Fit(basis, algorithm)
        construct(grams, [built], max_degree=degree, max_terms=self.max_terms)
        if degree < self.max_degree and not (built.complete or built.overflow):
            warn_moments_end(degree)
        self._finish(built, survey)
        return built

    def _finish(self, built: Fit, survey: Survey) -> None:
        """Set the fitted attributes, and warn if the model is incomplete."""
        if built.overflow:
            warn_overflow(built.degree, self.max_terms, self.psi)
        self.degree_ = built.degree
        self.complete_ = built.complete
        self.n_basis_ = built.basis.size

    def _check_parameters(self) -> None:
        check_number("psi", self.psi, low=0.0)
        check_count("max_degree", self.max_degree)
        check_count("max_terms", self.max_terms)
        check_n_jobs(self.n_jobs)
        for name, choices in self._choices.items():
            check_choice(name, getattr(self, name), choices)

    @abstractmethod
    def _plan(self, survey: Survey) -> tuple[MonomialBasis | ProductBasis, Algorithm]:
        """The initial basis, and the algorithm."""

    @abstractmethod
    def _output_names(self, names: list[str]) -> list[str]:
        """Names of the generators, from the names of the columns."""


class MonomialIdeal(VanishingIdeal):
    """Base class of the algorithms that visit monomials in a term order."""

    order: str
    feature_order: Any

    _fields: ClassVar = {"order_ideal_": Object("Terms"), "n_undecided_": Integer(low=0), "_margins": MARGINS}

    _choices: ClassVar = {"order": ORDERS}
    _looks_ahead = True
    _grams = MonomialGrams

    def _check_saved(self) -> None:
        super()._check_saved()
        n = len(self.generators_.feature_names)
        require(isinstance(self.generators_.form, MonomialForm), "the generators are not sums of monomials")
        require(self.generators_._n_free is not None, "the generators do not say which terms they could have")
        require(len(self.order_ideal_.feature_names) == n, "the order ideal has other columns than the generators")
        require(
            self._margins.low.size == self._margins.high.size == len(self._margins.moments) == n, "a column is missing"
        )
        form = cast(MonomialForm, self.generators_.form)
        basis, leads = (exponents_of(terms, n) for terms in (form.basis.terms, form.basis.products(form.leads)))
        require(
            np.array_equal(self.order_ideal_.exponents, basis), "the order ideal has other terms than the generators"
        )
        require_moments(self._margins, np.vstack([basis, leads]))

    def relations(self) -> Relations:
        """Which generators relate columns to each other, and which also vanish on independently permuted columns.

        Needs no data: the fit stores the mean powers of every column, which give the mean squares of the generators on
        columns that are permuted independently of each other.

        Returns
        -------
        Relations
            Prints as a sentence.
        """
        check_is_fitted(self)
        return find_relations(self.generators_, self.order_ideal_, self._margins)

    def _describe(self, generators: Polynomials) -> str:
        """The constructor call, the polynomials, relations between columns first, and a sentence that counts them."""
        if len(generators) == 0:
            return super()._describe(generators)
        return f"{super()._describe(self._ranked())}\n{self.relations()}"

    def _ranked(self) -> Polynomials:
        """The generators, relations between columns first."""
        return self.generators_[np.argsort(self.relations().rank, kind="stable")]

    def _first_equations(self, n_shown: int) -> list[str]:
        return self._ranked().first_lines(n_shown)

    def _plan(self, survey: Survey) -> tuple[MonomialBasis, Algorithm]:
        return MonomialBasis(feature_permutation(self.feature_order, survey.gram), self.order), self._algorithm()

    @abstractmethod
    def _algorithm(self) -> Algorithm:
        """The algorithm's decisions, from a Gram and from a triangular factor."""

    def _finish(self, built: Fit, survey: Survey) -> None:
        super()._finish(built, survey)
        basis: MonomialBasis = built.basis
        names = tuple(input_names(self))
        by_degree = dict(zip(Decision._fields, zip(*basis.decisions, strict=True), strict=True))
        self.generators_ = Polynomials(
            basis.form(),
            names,
            mse=np.concatenate(by_degree["mse"]),
            gap=np.concatenate(by_degree["gap"]),
            n_iter=np.concatenate(by_degree["n_iter"]),
            status=np.concatenate(by_degree["status"]),
            _n_free=np.concatenate(by_degree["n_free"]),
        )
        exponents = exponents_of(basis.terms, len(names))
        self.order_ideal_ = Terms(exponents.take(np.argsort(basis.feature_order), axis=1), names)
        self.n_undecided_ = sum(by_degree["n_undecided"])
        self._margins = Margins(basis.moments, survey.low, survey.high, survey.n_samples)

    def _output_names(self, names: list[str]) -> list[str]:
        return [_short_text(polynomial.renamed(names)) for polynomial in self.generators_]


def _short_text(polynomial: Polynomial) -> str:
    """The first terms of a polynomial; the leading term comes first, so shortened names stay distinct."""
    text, n_terms = "", polynomial.coef.size
    for k in range(1, n_terms + 1):
        longer = replace(polynomial, exponents=polynomial.exponents[:k], coef=polynomial.coef[:k]).to_text()
        if text and len(longer) > _LONGEST_NAME:
            return text + " + ..."
        text = longer
    return text


def check_unit_psi(psi: float) -> None:
    """Raise ValueError for a psi of 1 or more, for which the constant 1 would vanish."""
    if psi >= 1.0:
        raise ValueError(
            f"psi must be below 1 here, got {psi!r}: the constant 1 has a unit coefficient vector and mean square 1, "
            "so it would vanish itself."
        )
