"""Laws from sums over rows, without the rows: ``Moments``, which several sites may have collected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._typing import Float1D, Float2D
from ...engine.moments import Moments
from ...polynomials.terms import count_terms
from ..estimate.gmm import EXTRA_DEGREE, Conditions, whitener
from ..estimate.moments import ADDITIVE, MomentTable
from ..estimate.monomials import Monomials, binomial_matrix, monomials
from ..estimate.sample import Sample
from ..estimate.settings import Attempt, Settings
from ..rows.relation import LEFT_BY_ROUNDING
from .fitted import FittedLaw
from .search import find_laws

__all__ = ["NOT_AUDITED", "SummedConditions", "SummedSample", "find_laws_of_sums", "summed_sample"]

NOT_AUDITED = (
    "The sums have no rows: laws are tested by J alone. The criteria of laws, power laws through logarithms, a noise "
    "level for each column and multiplicative noise need rows."
)


@dataclass(frozen=True, eq=False)
class SummedSample(Sample):
    """Moments of standardised columns in place of rows."""

    table: MomentTable | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows in the sums."""
        return 0 if self.table is None else self.table.n_rows

    @property
    def deviation(self) -> Float1D:
        """Standard deviations of the columns."""
        return self.scale

    def moments(self, degree: int, test_degree: int) -> MomentTable:
        """Means of all monomials in the sums, whatever the degree."""
        assert self.table is not None
        return self.table


def summed_sample(moments: Moments) -> SummedSample:
    """Means of monomials of ``(x - mean) / deviation``, from moments of the columns or of scaled columns.

    ``E z^a = sum_b B_ba E x^b`` with the binomial matrix of ``z = -mean / deviation + x / deviation``.

    Examples
    --------
    >>> sample = summed_sample(Moments(1, degree=2).update(np.array([[1.0], [3.0]])))
    >>> sample.centre, sample.scale, sample.table.means
    (array([2.]), array([1.]), array([1., 0., 1., 0., 1.]))
    """
    half, whole = (monomials(moments.n_features, k * moments.degree) for k in (1, 2))
    means = np.empty(len(whole))
    means[whole.products(half, half)] = moments.gram
    raw = MomentTable(whole, means, moments.n_samples)
    centre, deviation = means[1 : moments.n_features + 1].copy(), np.sqrt(np.maximum(raw.column_variances, 0.0))
    constant = np.flatnonzero(deviation <= LEFT_BY_ROUNDING * np.abs(centre))
    if constant.size:
        name = moments.feature_names[constant[0]] if moments.feature_names else f"x{constant[0]}"
        raise ValueError(f"Column {name!r} is constant in these sums: collect moments of the other columns.")
    means = binomial_matrix(whole, -centre / deviation, 1.0 / deviation).T @ means
    table = MomentTable(whole, means, moments.n_samples)
    if moments.scaler is not None:
        centre = (centre - moments.scaler.min_) / moments.scaler.scale_
        deviation = deviation / moments.scaler.scale_
    size, no_rows = np.sqrt(centre**2 + deviation**2), np.empty((0, len(centre)))
    return SummedSample(no_rows, np.zeros(len(centre)), centre, deviation, size, no_rows, table=table)


class SummedConditions(Conditions):
    """Moment conditions whose weights are functions of moments, too: products of polynomials replace sums over rows."""

    @cached_property
    def reduced(self) -> list[Conditions]:
        """Empty: sums cost the same for all numbers of rows."""
        return []

    def covariance(self, c: Float1D, variances: Float1D) -> tuple[Float2D, float]:
        """``E[t t' w + q q']`` over ``E w``, and ``E w``, with w and q as in :func:`.covariance_of_tests`."""
        terms, n = self.terms, self.sample.n_columns
        slopes = [terms.derivative(self.basis @ c, j) for j in range(n)]
        pairs = [(j, k) for j in range(n) for k in range(n)]
        whole = monomials(n, 2 * terms.degree)
        squares = {(j, k): whole.product(terms, slopes[j], terms, slopes[k]) for j, k in pairs}
        w = sum(variances[j] * squares[j, j] for j in range(n)) + np.zeros(len(whole))
        for j, k in pairs:
            curve = terms.derivative(slopes[j], k)
            w = w + 0.5 * variances[j] * variances[k] * whole.product(terms, curve, terms, curve)
        products = monomials(n, 2 * self.tests.degree)
        at = products.products(self.tests, self.tests)
        total = self._expectations(w, products)[at]
        for j, k in pairs:
            mixed = self._expectations(variances[j] * variances[k] * squares[j, k], products)
            (a, lower_a, power_a), (b, lower_b, power_b) = self.tests.lowered[j], self.tests.lowered[k]
            total[np.ix_(a, b)] += np.outer(power_a, power_b) * mixed[at[np.ix_(lower_a, lower_b)]]
        mean = float(self.moments.means[: len(w)] @ w)
        return total / mean, mean

    def _expectations(self, coef: Float1D, products: Monomials) -> Float1D:
        """``E[m g]`` for the monomials m of ``products`` and a polynomial g whose degree the moments allow."""
        factor = monomials(self.sample.n_columns, 2 * max(self.degree - 1, 0))
        whole = self.moments.terms
        return np.asarray(self.moments.means[whole.products(products, factor)] @ coef[: len(factor)])

    @cached_property
    def _first_whitener(self) -> Float2D:
        return whitener(self.moments.means[self.moments.terms.products(self.tests, self.tests)])


def find_laws_of_sums(moments: Moments, settings: Settings) -> tuple[list[FittedLaw], list[Attempt]]:
    """The laws of sums, degree by degree, and all attempts.

    The weights of a law of degree d with tests up to degree d + e need moments up to degree ``2 (d + e) + 2 (d - 1)``,
    so that sums of terms up to degree D have laws of degree ``(D + 1) / 2`` at most.
    """
    sample = summed_sample(moments)
    level = replace(settings, models=((ADDITIVE, "level"),)) if settings.sigma is None else settings
    highest = min(settings.max_degree, (moments.degree + 1) // 2)

    def conditions(sample: Sample, degree: int) -> Conditions:
        return SummedConditions(sample, degree, min(EXTRA_DEGREE, moments.degree - 2 * degree + 1))

    laws, attempts = find_laws(sample, replace(level, max_degree=highest), conditions)
    if highest < settings.max_degree:
        n_terms = count_terms(highest + 1, sample.n_columns)
        reason = (
            f"skipped: laws of degree {highest + 1} need Moments(degree={2 * highest + 1}) or more, and enough rows"
        )
        attempts = [*attempts, Attempt(highest + 1, n_terms, float("nan"), reason)]
    return laws, attempts
