"""The inverse Christoffel function of the rows: large where a polynomial that nearly vanishes on normal rows does not.

With v(x) the monomials up to a degree, scaled to mean square 1, and M the mean of ``v v'`` over the rows,

    q(x) = v(x)' (M + ridge I)^-1 v(x),    G(x) = log q(x).

A polynomial that nearly vanishes on the rows is a small eigenvalue of M, and q divides by it: tight equations weigh
most. q needs one Gram, a sum over rows (Lasserre and Pauwels, "The empirical Christoffel function with applications in
data analysis", 2019; for streams Ducharlet et al., "Leveraging the Christoffel function for outlier detection in data
streams", 2024). q at row i of the model without row i is a function of q: scores of left-out rows cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement, pairwise
from math import comb, isqrt
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..polynomials.forms import MonomialForm, term_values
from ..polynomials.terms import Program, Term
from ..rows.array_api import namespace_of, on_device_of
from .columns import CLIP, RIDGE, ColumnSurvey, Exact, Standardised, leading_directions

MOST_TERMS = 900  # monomials of a detector: a factorisation of the Gram takes a fraction of a second
_MOST_WORK = 200_000_000_000  # products of terms that a degree above 2 may cost: about ten seconds of one core


def choose_degree(n_features: int, n_samples: int) -> int:
    """Degree of the monomials: the largest from 2 to 4 with at most 900 terms; 1 with too few rows for degree 2.

    Examples
    --------
    >>> choose_degree(5, 1000), choose_degree(10, 1000), choose_degree(10, 10_000_000), choose_degree(10, 50)
    (4, 3, 2, 1)
    """
    if n_samples < n_terms_needed(n_features):
        return 1
    for degree in (4, 3):
        n_terms = comb(n_features + degree, degree)
        if n_terms <= MOST_TERMS and n_samples * n_terms**2 <= _MOST_WORK:
            return degree
    return 2


def n_terms_needed(n_features: int) -> int:
    """Terms of a detector of degree 2: the fewest rows that this degree needs."""
    return min(comb(n_features + 2, 2), MOST_TERMS)


@dataclass(frozen=True)
class Monomials:
    """The monomials of a detector: which columns they are made of, and a program that evaluates them.

    ``exact`` are the relations that hold for every row. Monomials that these make redundant are left out: powers of
    binary columns, products within a one-hot group, and all of its last column.
    """

    units: Standardised
    terms: tuple[Term, ...]
    exact: tuple[Exact, ...]
    program: Program

    @classmethod
    def of_terms(cls, units: Standardised, terms: Sequence[Term], exact: Sequence[Exact]) -> Monomials:
        """The monomials with these terms."""
        return cls(units, tuple(terms), tuple(exact), Program.of(terms))

    @classmethod
    def of_columns(cls, survey: ColumnSurvey, exact: Sequence[Exact], degree: int) -> Monomials:
        """All monomials up to a degree; for wide tables the columns and the products of principal directions."""
        redundant = {relation.columns[-1] for relation in exact if relation.kind in ("constant", "one-hot")}
        kept = np.array([j for j in range(survey.mean.size) if j not in redundant], dtype=np.int64)
        n = kept.size
        whole = n if n < survey.mean.size else None
        units = Standardised(survey.mean[kept], survey.deviation[kept], None if whole is None else kept)
        if degree == 1 or comb(n + 2, 2) <= MOST_TERMS:
            return cls.of_terms(units, _terms(kept, exact, degree), exact)
        p = int((np.sqrt(8 * max(MOST_TERMS - n - 1, 0) + 9) - 3) / 2)  # p + p (p + 1) / 2 further terms
        if p < 1:
            return cls.of_terms(units, _terms(kept, exact, 1), exact)
        directions = leading_directions(survey, kept, min(p, n))
        units = Standardised(units.centre, units.scale, units.kept, directions)
        products = combinations_with_replacement(range(n, n + directions.shape[1]), 2)
        # Directions are combinations of columns, but a program needs the factors of each product among its terms.
        terms = [(), *((j,) for j in range(n + directions.shape[1])), *products]
        return cls.of_terms(units, terms, exact)

    @property
    def n_columns(self) -> int:
        """Number of columns in the monomials."""
        return int(self.units.centre.size)

    @property
    def columns(self) -> Int1D:
        """Places of these columns in the table."""
        return np.arange(self.n_columns) if self.units.kept is None else self.units.kept

    def values(self, X: Any) -> Any:
        """Values of the monomials on rows in the units of the table, ``(n_terms, n_rows)``."""
        return term_values(self.units.units(X), self.program)

    def penalty(self, X: Any) -> Any:
        """The part of q from violated exact relations, one value per row: ``sum of (residual / 1e-6)^2``."""
        namespace = namespace_of(X)
        total = namespace.zeros(X.shape[0], dtype=namespace.float64, device=X.device)
        for relation in self.exact:
            total = total + namespace.clip(relation.residual(X), -CLIP, CLIP) ** 2 / RIDGE**2
        return total


def _terms(kept: Int1D, exact: Sequence[Exact], degree: int) -> list[Term]:
    """The terms up to a degree without those that exact relations make redundant."""
    place = {int(j): k for k, j in enumerate(kept)}
    binary = {place[j] for relation in exact if relation.kind == "binary" for j in relation.columns if j in place}
    group = {
        place[j]: g
        for g, relation in enumerate(exact)
        if relation.kind == "one-hot"
        for j in relation.columns
        if j in place
    }

    def needed(term: Term) -> bool:
        squares = any(a == b and a in binary for a, b in pairwise(term))
        groups = [group[v] for v in set(term) if v in group]
        return not squares and len(set(groups)) == len(groups)

    every = (term for d in range(degree + 1) for term in combinations_with_replacement(range(kept.size), d))
    return [term for term in every if needed(term)]


def expansion(terms: Sequence[Term], scale: Float1D, offset: Float1D) -> Float2D:
    """E with ``t(scale * z + offset) = sum of E[t, s] s(z)`` over the same terms, which contain all their divisors.

    Examples
    --------
    >>> import numpy as np
    >>> expansion([(), (0,), (0, 0)], np.array([2.0]), np.array([1.0]))  # (2 z + 1)^2 = 4 z^2 + 4 z + 1
    array([[1., 0., 0.],
           [1., 2., 0.],
           [1., 4., 4.]])
    """
    zeros = np.zeros(len(terms), dtype=np.int64)
    form = MonomialForm(Program.of(terms), np.eye(len(terms)), Program(zeros, zeros), np.zeros(len(terms)))
    return form.compose(scale, offset).coef


def keeps_digits(distance: Float1D, degree: int) -> Bool1D:
    """Whether a Gram keeps its digits when columns are counted from a point some deviations away.

    Its entries grow by ``(1 + distance)^(2 degree)``; rounding errors of that have to stay a thousand times
    below the ridge.

    Examples
    --------
    >>> import numpy as np
    >>> keeps_digits(np.array([1.0, 1000.0]), 2)
    array([ True, False])
    """
    return np.asarray((1.0 + distance) ** (2 * degree) * np.finfo(np.float64).eps <= RIDGE**1.5)


def left_out(q: Float1D, weights: Float1D, total: float) -> Float1D:
    """q at rows behind M, each with an M without that row: ``(W - u) / W * q / (1 - u q / W)``.

    W is the total weight, and u the weight of the row, at most 1: of equal rows, one is left out.

    Examples
    --------
    >>> import numpy as np
    >>> left_out(np.array([2.0]), np.array([1.0]), 4.0)  # 3/4 * 2 / (1 - 2/4)
    array([3.])
    """
    u = np.minimum(weights, 1.0)
    return np.asarray((total - u) / total * q / np.maximum(1.0 - u * q / total, 1e-12))


@dataclass(frozen=True)
class Christoffel:
    """q for a Gram of monomials: ``q(x) = |whitening v(x)|^2``, plus the penalty of exact relations.

    ``gram`` is the mean of the products of the monomials, in standard units, and ``factor`` the L of
    ``M + ridge I = L L'``.
    """

    monomials: Monomials
    gram: Float2D
    scale: Float1D
    factor: Float2D
    whitening: Float2D

    @classmethod
    def of_gram(cls, monomials: Monomials, gram: Float2D) -> Christoffel:
        """Scale the monomials to mean square 1 and factor ``M + ridge I = L L'``."""
        squares = np.diag(gram)
        scale = 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0))
        regular = gram * np.outer(scale, scale)
        regular[np.diag_indices_from(regular)] += RIDGE
        factor = np.asarray(np.linalg.cholesky(regular), dtype=np.float64)
        whitening = np.ascontiguousarray(solve_triangular(factor, np.diag(scale), lower=True))  # as in files
        return cls(monomials, gram, scale, factor, whitening)

    @property
    def n_terms(self) -> int:
        """Number of monomials."""
        return len(self.monomials.terms)

    def without(self, missing: Sequence[int], degree: int | None = None) -> Christoffel | None:
        """q of the monomials and exact relations without the columns ``missing``; None if none are left.

        With a ``degree``, only of monomials up to it. Products of directions involve all columns: they go with the
        first column that is missing, and with a degree below 2.
        """
        if not missing and (degree is None or degree >= len(self.monomials.terms[-1])):
            return self
        absent = {k for k, j in enumerate(self.monomials.columns) if int(j) in set(missing)}
        n, most = self.monomials.n_columns, degree or len(self.monomials.terms[-1])
        chosen = [
            k
            for k, term in enumerate(self.monomials.terms)
            if len(term) <= most and not any(v in absent or v >= n for v in term)
        ]
        exact = tuple(relation for relation in self.monomials.exact if not set(relation.columns) & set(missing))
        if len(chosen) < 2 and not exact:
            return None
        terms = tuple(self.monomials.terms[k] for k in chosen)
        monomials = Monomials.of_terms(replace(self.monomials.units, directions=None), terms, exact)
        return Christoffel.of_gram(monomials, self.gram[np.ix_(chosen, chosen)])

    def of_rows(self, X: Any) -> Any:
        """q on rows in the units of the table, one value per row."""
        return self.of_values(self.monomials.values(X)) + self.monomials.penalty(X)

    def of_values(self, values: Any) -> Any:
        """q of values of the monomials, but for the penalty of exact relations."""
        whitening, namespace = on_device_of(values, self.whitening), namespace_of(values)
        q = namespace.zeros_like(values[0, ...])
        n_rows = isqrt(self.n_terms)  # at once: fewer save products, more use the cache
        for start in range(0, self.n_terms, n_rows):
            stop = min(start + n_rows, self.n_terms)
            last = stop if self._is_triangular else self.n_terms
            q += namespace.sum((whitening[start:stop, :last] @ values[:last, ...]) ** 2, axis=0)
        return q

    @cached_property
    def _is_triangular(self) -> bool:
        """Whether the upper half of the whitening is zero, as that of a Gram is: half of the products are saved."""
        return not np.triu(self.whitening, 1).any()

    def surprise(self, X: Any) -> Any:
        """G, the logarithm of q."""
        return namespace_of(X).log(self.of_rows(X))

    @property
    def lean(self) -> Christoffel:
        """What values of q need."""
        return replace(self, gram=np.empty((0, 0)), factor=np.empty((0, 0)))

    @property
    def width(self) -> int:
        """About how many numbers of working memory a row takes."""
        return 3 * self.n_terms
