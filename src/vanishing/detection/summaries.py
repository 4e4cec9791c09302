"""A detector from moments: sums over rows that are gone.

Moments up to degree 2 d give q for monomials up to degree d, and the mean and the variance of q over the rows, which a
gamma distribution extends to a tail.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Float1D, Float2D
from ..engine.moments import Moments
from ..polynomials.terms import Term
from .calibration import GammaTail
from .christoffel import Christoffel, Monomials, expansion, keeps_digits
from .columns import ColumnSurvey, exact_relations, require_squares
from .equations import find_equations
from .model import Model, Score


def survey_of_moments(moments: Moments) -> ColumnSurvey:
    """The survey of the rows behind moments, in the units of the table."""
    survey, (scale, offset) = moments._survey(), _scaling(moments)
    mean = survey.gram[0, 1:]
    covariance = (survey.gram[1:, 1:] - np.outer(mean, mean)) / np.outer(scale, scale)
    low, mean, high = ((values - offset) / scale for values in (survey.low, mean, survey.high))
    return ColumnSurvey(low, high, mean, covariance, survey.n_samples, survey.total_weight)


def model_of_moments(moments: Moments, survey: ColumnSurvey, names: Sequence[str]) -> Model:
    """The model of the rows behind moments, with a fitted tail."""
    degree = max(moments.degree // 2, 1)
    require_squares(survey, names)
    monomials = Monomials.of_columns(survey, exact_relations(survey), degree)
    scale, offset = _scaling(moments)
    spread = np.where(survey.deviation > 0.0, survey.deviation, 1.0)
    distance = survey.distance_from(-offset / scale)
    if not keeps_digits(distance, moments.degree).all():
        raise ValueError(
            f"Moments of column {names[int(np.argmax(distance))]!r} have lost the digits that a detector needs, as its "
            "values are far from zero: collect them with scaler=MinMaxScaler().fit(some_rows)."
        )
    # z = (x - mean) / spread, where the moments are those of scale * x + offset
    change = expansion(moments.terms, 1.0 / (scale * spread), -(offset / scale + survey.mean) / spread)
    gram = change @ moments.gram @ change.T
    place = {term: k for k, term in enumerate(moments.terms)}
    terms = [tuple(int(monomials.columns[v]) for v in term) for term in monomials.terms]
    index = [place[term] for term in terms]
    christoffel = Christoffel.of_gram(monomials, gram[np.ix_(index, index)])
    tail = _tail(christoffel, gram, terms, place, exact=moments.degree >= 2 * degree)
    equations = find_equations(christoffel, survey.total_weight, names)
    return Model(Score((christoffel,), (tail.typical,)), tail, (), equations, survey.total_weight, None)


def _scaling(moments: Moments) -> tuple[Float1D, Float1D]:
    """Scale and offset of the columns ``scale * x + offset`` that the moments are of."""
    if moments.scaler is None:
        return np.ones(moments.n_features), np.zeros(moments.n_features)
    return moments.scaler.scale_, moments.scaler.min_


def _tail(
    christoffel: Christoffel, gram: Float2D, terms: Sequence[Term], place: dict[Term, int], *, exact: bool
) -> GammaTail:
    """The gamma distribution with the mean and variance of q over the rows.

    Without moments of q^2 (``exact=False``), the variance is that of normally distributed rows: twice the mean of the
    part of q that varies.
    """
    quadratic = christoffel.whitening.T @ christoffel.whitening
    mean = float(np.sum(quadratic * christoffel.gram))
    if not exact:
        return GammaTail.of_moments(mean, 2.0 * max(mean - 1.0, 0.5))
    products = np.zeros(len(gram))
    for i, left in enumerate(terms):
        for j, right in enumerate(terms):
            products[place[tuple(sorted((*left, *right)))]] += quadratic[i, j]
    return GammaTail.of_moments(mean, max(float(products @ gram @ products) - mean**2, 1e-6 * mean**2))
