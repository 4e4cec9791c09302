"""The equations behind a score: sparse polynomials that nearly vanish, and the share of q that each accounts for.

The search visits terms by degree. A term leads an equation g = 0 if its residual g, given the terms before it, is small
against the gradient of g: the equation then gives a column from the others to within a small part of its deviation.
Only the part of the gradient counts that is independent of the gradients of the equations before, so that neither
multiples of an equation nor its Taylor polynomials are listed beside it. The tightest equations come first, and among
these the lowest degree. Each becomes sparse in the units of the table: the fewest terms whose residual is not much
larger than that of all. A polynomial of many terms, or with a residual of heavier tails than noise, is rejected.

In the coordinates ``y = whitening v`` in which q is ``|y|^2``, an equation and its multiples span a subspace. One after
the other, each equation takes the part of y in its subspace that the ones before it have left: the squared lengths of
these parts and of the rest sum to q exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular, svd

from .._typing import Bool1D, Float1D, Float2D, Int1D
from ..cholesky import append_column
from ..constants import ROUNDING
from ..polynomials.forms import MonomialForm, term_values
from ..polynomials.polynomial import Polynomials
from ..polynomials.products import ProductForm
from ..polynomials.terms import Program, Term, derivatives, gram_of_gradients
from ..rows.array_api import empty_like, namespace_of
from ..solvers import Status
from .calibration import NORMAL_RANGE, weighted_quantiles
from .christoffel import MOST_TERMS, Christoffel, Monomials, expansion, keeps_digits
from .columns import RIDGE, TIGHT
from .hashes import distinct_rows

_STEP = 3.0  # from one level of tightness to the next, and from one degree to the next
_SLACK = 0.5  # residual mean square of a sparse equation over that of the dense one, less 1, at most
_MOST_TERMS = 12  # terms of an equation: longer ones cannot be read and lose 0.003 of AUROC
_ROWS_PER_TERM = 4.0  # weight behind each term of a search, at least
_HEAVY_TAILS = 1.5  # root mean square of a residual over that of normal ones with its inter-quartile range, at most
_POINTS = 300  # rows at which gradients are compared


@dataclass(frozen=True)
class Violation:
    """E, a part of the score: ``log(1 + mean of squares)`` of tight equations in units of their deviations."""

    polynomials: Polynomials
    deviation: Float1D

    @cached_property
    def form(self) -> MonomialForm | ProductForm:
        """The equations in units of their deviations."""
        return self.polynomials.form.scaled(1.0 / self.deviation)

    def surprise(self, X: Any) -> Any:
        """E on rows in the units of the table, one value per row."""
        values = empty_like(X, len(self.polynomials))
        self.form.fill(X, values, absolute=False)
        return log_mean_square(values)

    def without(self, missing: Sequence[int]) -> Violation | None:
        """The same of the equations in other columns; None if there are none."""
        kept = [k for k, columns in enumerate(columns_of(self.polynomials)) if not columns & set(missing)]
        return Violation(self.polynomials[kept], self.deviation[kept]) if kept else None

    @property
    def lean(self) -> Violation:
        """What values of E need."""
        return self

    @property
    def width(self) -> int:
        """About how many numbers of working memory a row takes."""
        return int(self.polynomials.coef.shape[1])


def log_mean_square(values: Any) -> Any:
    """``log(1 + mean of squares)`` of equations in units of their deviations, ``(n_rows, n_equations)``."""
    namespace = namespace_of(values)
    values = namespace.clip(values, -1.0 / RIDGE, 1.0 / RIDGE)  # what the ridge leaves of an exact relation
    return namespace.log1p(namespace.mean(values**2, axis=1))


def columns_of(polynomials: Polynomials) -> list[set[int]]:
    """The columns in each polynomial."""
    used = [np.flatnonzero(polynomials.exponents[coef != 0.0].any(axis=0)) for coef in polynomials.coef]
    return [{int(j) for j in columns} for columns in used]


@dataclass(frozen=True)
class Equations:
    """Polynomials that nearly vanish on the rows, in the units of the table, and their subspaces.

    ``deviation`` are their root mean squares over the rows and ``mean`` their means in units of these; ``tight`` says
    which are a part of the score. ``spans`` ``(n_terms, n_directions)`` holds orthonormal directions, those of equation
    k from ``edges[k]`` to ``edges[k + 1]``.
    """

    polynomials: Polynomials
    deviation: Float1D
    mean: Float1D
    tight: Bool1D
    spans: Float2D
    edges: tuple[int, ...]

    def contributions(self, whitened: Float2D) -> Float2D:
        """The part of q from each equation, ``(n_equations, n_rows)``, for ``whitened = whitening @ values``."""
        squares = (self.spans.T @ whitened) ** 2
        parts = [squares[a:b].sum(axis=0) for a, b in pairwise(self.edges)]
        return np.array(parts).reshape(-1, whitened.shape[1])

    @property
    def standard_form(self) -> MonomialForm | ProductForm:
        """The equations in units of their deviations."""
        return self.polynomials.form.scaled(1.0 / self.deviation)

    def among(self, chosen: Int1D, christoffel: Christoffel) -> Equations:
        """Some of the equations, with their subspaces among the monomials of another q.

        An equation with a term that is not among these monomials has no subspace.
        """
        units, columns = christoffel.monomials.units, christoffel.monomials.columns
        n = len(self.polynomials.feature_names)
        scale, offset = np.ones(n), np.zeros(n)
        scale[columns], offset[columns] = units.scale, units.centre
        polynomials = self.polynomials[chosen]
        standard = polynomials.in_units((scale, offset))  # in the standard units of the columns
        place = {int(j): k for k, j in enumerate(columns)}
        terms = [
            tuple(place.get(int(j), n) for j in np.flatnonzero(exponents) for _ in range(exponents[j]))
            for exponents in standard.exponents
        ]
        order = sorted(range(len(terms)), key=lambda k: len(terms[k]))
        coef = np.array(standard.coef)[:, order]
        spans, edges = _spans(coef, [terms[k] for k in order], christoffel)
        return Equations(polynomials, self.deviation[chosen], self.mean[chosen], self.tight[chosen], spans, edges)

    @property
    def violation(self) -> Violation | None:
        """The part of the score from the tight equations; None if there are none."""
        tight = np.flatnonzero(self.tight)
        return Violation(self.polynomials[tight], self.deviation[tight]) if tight.size else None


class Sparse(NamedTuple):
    """Equations as a search finds them: coefficients of terms of y, where ``y = scale z + offset``.

    ``places`` are those of the terms among the monomials, ``leads`` the terms whose coefficients are 1, and ``change``
    gives the terms of y from those of z.
    """

    terms: list[Term]
    places: Int1D
    coef: Float2D
    leads: Int1D
    origin: tuple[Float1D, Float1D]
    change: Float2D

    def refitted(self, gram: Float2D) -> tuple[Float2D, Float1D]:
        """Coefficients in standard units and mean squares of the same terms, for another Gram of the monomials."""
        gram = gram[np.ix_(self.places, self.places)]
        gram_y = self.change @ gram @ self.change.T
        coef = self.coef.copy()
        for equation, lead in zip(coef, self.leads, strict=True):
            support = np.flatnonzero(equation)
            support = support[support != lead]
            equation[support] = -_least_squares(gram_y, int(lead), support)[0]
        standard = coef @ self.change
        return standard, np.maximum(np.einsum("gi,ij,gj->g", standard, gram, standard), 0.0)


def find_equations(
    christoffel: Christoffel, total_weight: float, names: Sequence[str], sample: tuple[Float2D, Float1D] | None = None
) -> Equations:
    """The equations of the rows behind a Gram, and their subspaces; see :func:`search_equations`."""
    return equations_of(search_equations(christoffel, total_weight, sample), christoffel, names)


def search_equations(
    christoffel: Christoffel, total_weight: float, sample: tuple[Float2D, Float1D] | None = None
) -> Sparse:
    """Search for equations of the rows behind a Gram.

    ``sample`` has some of the rows with their weights, if there are any. Neither the order of the rows nor that of the
    columns matters: gradients are compared at 300 rows that a hash of their values chooses, and the columns that the
    others determine best are visited first.
    """
    monomials = christoffel.monomials
    terms = _searched(monomials)
    places = np.array([monomials.terms.index(term) for term in terms])
    gram = christoffel.gram[np.ix_(places, places)]
    n = monomials.n_columns
    points, weights = np.empty((0, n)), np.empty(0)
    if sample is not None:
        X, weights = distinct_rows(*sample, _POINTS)
        points = monomials.units.units(X)[:, :n]
    visit, sequence, renamed = _visiting_order(terms, gram, n)
    scale, offset = _origin(christoffel)
    search = _Search(
        renamed, gram[np.ix_(sequence, sequence)], (points[:, visit], weights), (scale[visit], offset[visit]),
        total_weight,
    )  # fmt: skip
    search.run()
    coef = np.zeros((len(search.equations), len(terms)))
    coef[:, sequence] = np.array(search.equations).reshape(-1, len(terms))
    leads = sequence[np.array(search.leads, dtype=np.int64)]
    return Sparse(terms, places, coef, leads, (scale, offset), expansion(terms, scale, offset))


def equations_of(found: Sparse, christoffel: Christoffel, names: Sequence[str]) -> Equations:
    """What a search has found as polynomials in the units of the table, with their subspaces."""
    gram = christoffel.gram[np.ix_(found.places, found.places)]
    polynomials = _polynomials(found, christoffel, names)
    in_standard_units = found.coef @ found.change
    mse, slope = (
        np.maximum(np.einsum("gi,ij,gj->g", in_standard_units, matrix, in_standard_units), 0.0)
        for matrix in (gram, gram_of_gradients(found.terms, gram))
    )
    factor = 1.0 / np.where(polynomials.leading_coef == 0.0, 1.0, polynomials.leading_coef)
    polynomials = replace(polynomials, form=polynomials.form.scaled(factor), mse=mse * factor**2)
    deviation = np.sqrt(mse + RIDGE**2 * slope) * np.abs(factor)
    spans, edges = _spans(in_standard_units, found.terms, christoffel)
    mean = in_standard_units @ gram[:, 0] * factor / deviation
    return Equations(polynomials, deviation, mean, mse <= (1.0 + _SLACK) * TIGHT * slope, spans, edges)


def _visiting_order(terms: Sequence[Term], gram: Float2D, n_columns: int) -> tuple[Int1D, Int1D, list[Term]]:
    """The columns in the order of a search, the places of the terms in it, and the terms of these columns.

    Columns that the others determine best come first, by the diagonal of the inverse Gram of the columns. Equations
    are then led by the columns of the least linear relations, and fewer of their products are skipped as multiples. Of
    two equal ones, the column with less in common with all terms comes first.
    """
    linear = {term[0]: k for k, term in enumerate(terms) if len(term) == 1}
    known = list(linear.values())
    determined = np.zeros(n_columns)
    if known:
        regular = gram[np.ix_(known, known)] + RIDGE * np.diag(np.diag(gram)[known])
        determined[list(linear)] = np.diag(np.linalg.inv(regular)) * np.diag(gram)[known]
    size = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    common = np.abs(gram / np.outer(size, size)).sum(axis=1)[[linear.get(v, 0) for v in range(n_columns)]]
    visit = np.lexsort((common, -determined.astype(np.float32)))
    rank = np.argsort(visit)
    renamed = [tuple(sorted(int(rank[v]) for v in term)) for term in terms]
    sequence = np.array(sorted(range(len(terms)), key=lambda k: (len(renamed[k]), renamed[k])), dtype=np.int64)
    return visit, sequence, [renamed[k] for k in sequence]


def _searched(monomials: Monomials) -> list[Term]:
    """The terms of columns, up to the largest degree that has not too many."""
    terms = [term for term in monomials.terms if all(v < monomials.n_columns for v in term)]
    degree = len(terms[-1])
    while degree > 1 and sum(len(term) <= degree for term in terms) > MOST_TERMS:
        degree -= 1
    return [term for term in terms if len(term) <= degree]


def _origin(christoffel: Christoffel) -> tuple[Float1D, Float1D]:
    """Scale and offset of the coordinates ``y = scale z + offset`` in which terms are chosen.

    They are the columns of the table up to scale; columns so far from zero that a Gram would lose digits are centred.
    """
    units = christoffel.monomials.units
    near = keeps_digits(np.abs(units.centre) / units.scale, len(christoffel.monomials.terms[-1]))
    size = np.where(near, np.hypot(units.centre, units.scale), units.scale)
    return units.scale / size, np.where(near, units.centre / size, 0.0)


class _Search:
    """Finds equations among terms, from their Gram in standard units z; coefficients are those of the terms of y.

    ``equations`` and ``leads`` hold the coefficients of the equations and the places of their leading terms.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        gram: Float2D,
        points: tuple[Float2D, Float1D],
        origin: tuple[Float1D, Float1D],
        total_weight: float,
    ):
        self.terms, self.gram, self.origin, self.total_weight = terms, gram, origin, total_weight
        self.rounding = len(terms) * ROUNDING  # share of a mean square
        self.change = expansion(terms, *origin)
        self.gram_y = self.change @ gram @ self.change.T
        self.equations: list[Float1D] = []
        self.leads: list[int] = []
        self.refused: set[int] = set()
        self.tightest: dict[int, float] = {}  # by degree, among terms that lead no equation yet
        self.derivatives = derivatives(terms)
        rows, self.weights = points
        self.values = term_values(rows, Program.of(terms))
        self.slopes = gram_of_gradients(terms, gram)
        self.known = np.zeros((len(rows), len(self.derivatives), 0))  # orthonormal gradients of the equations there

    def run(self) -> None:
        """Find the equations, the tightest first."""
        tightest = level = self.rounding
        while tightest <= level:
            tightest = self._visit(level)
            level = min(_STEP * tightest, TIGHT)

    def _visit(self, level: float) -> float:
        """Visit all terms once, accept the equations up to a level, and return the tightest level beyond it."""
        scale = 1.0 / np.sqrt(np.maximum(np.diag(self.gram), 1e-300))
        H = np.ascontiguousarray(self.gram * np.outer(scale, scale))
        L, face = np.zeros_like(H), np.zeros(len(self.terms), dtype=np.int64)
        size, next_level = 0, np.inf
        tightest: dict[int, float] = {}
        for j, term in enumerate(self.terms):
            if size + 1 > self.total_weight / _ROWS_PER_TERM:
                break
            if any(_divides(self.terms[lead], term) for lead in self.leads):
                continue
            residual = max(append_column(H, L, face, size, j, self.rounding), 0.0)
            if size and j not in self.refused:
                dense = np.zeros(len(self.terms))
                dense[face[:size]] = solve_triangular(L[:size, :size], -L[size, :size], lower=True, trans="T")
                dense[j] = 1.0
                corrected = residual * self.total_weight / (self.total_weight - size)  # for the fit of size terms
                square = corrected / scale[j] ** 2
                tightness = self._tightness(dense * scale / scale[j], square, min(next_level, TIGHT))
                if tightness > self._bound(term, level):
                    next_level = min(next_level, tightness)
                    tightest[len(term)] = min(tightest.get(len(term), np.inf), tightness)
                elif self._accept(j, face[:size].copy(), square):
                    continue
            size += residual > RIDGE**1.5  # the digits that a Gram keeps: below, rounding decides about later terms
        self.tightest = tightest
        return next_level

    def _bound(self, term: Term, level: float) -> float:
        """The largest tightness of an equation led by a term.

        Powers of an equation are a little tighter than the equation: lower degrees take precedence. Within a degree the
        tightest comes first: others may be its Taylor polynomials.
        """
        by_degree = level * _STEP ** (len(self.terms[-1]) - len(term))
        return min(by_degree, _STEP * self.tightest.get(len(term), np.inf))

    def _tightness(self, polynomial: Float1D, residual: float, of_interest: float) -> float:
        """The residual over the mean square of the gradient, without the part that the known equations explain."""
        tightness = residual / max(float(polynomial @ self.slopes @ polynomial), 1e-300)
        if tightness > of_interest or not self.known.size:  # no equation yet, or moments, which have no points
            return tightness
        gradient = self._gradient(polynomial)
        whole = float(self.weights @ (gradient**2).sum(axis=1))
        explained = float(self.weights @ (np.einsum("snk,sn->sk", self.known, gradient) ** 2).sum(axis=1))
        return tightness * whole / max(whole - explained, 1e-12 * whole)

    def _gradient(self, polynomial: Float1D) -> Float2D:
        """The gradient at the points, ``(n_points, n_columns)``."""
        parts = [(polynomial[index] * powers) @ self.values[lower] for index, powers, lower in self.derivatives]
        return np.array(parts).T

    def _accept(self, lead: int, before: Int1D, residual: float) -> bool:
        """Whether there is a sparse equation with this leading term, whose dense version has this residual."""
        support, values = self._sparse(lead, before, residual)
        equation = np.zeros(len(self.terms))
        equation[support], equation[lead] = values, 1.0
        standard = equation @ self.change
        if len(support) >= _MOST_TERMS or self._has_heavy_tails(standard):
            self.refused.add(lead)
            return False
        self.equations.append(equation)
        self.leads.append(lead)
        gradient = self._gradient(standard)
        gradient -= np.einsum("snk,sk->sn", self.known, np.einsum("snk,sn->sk", self.known, gradient))
        length = np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
        self.known = np.concatenate([self.known, (gradient / length)[:, :, None]], axis=2)
        return True

    def _has_heavy_tails(self, polynomial: Float1D) -> bool:
        """Whether most rows are much closer to zero than the root mean square, beyond rounding."""
        if not self.values.shape[1]:
            return False
        low, high = weighted_quantiles(polynomial @ self.values, self.weights, [0.25, 0.75])
        square = float(polynomial @ self.gram @ polynomial)
        slope = float(polynomial @ self.slopes @ polynomial)
        return square > RIDGE**2 * slope and square > (_HEAVY_TAILS * (high - low) / NORMAL_RANGE) ** 2

    def _sparse(self, lead: int, before: Int1D, residual: float) -> tuple[Int1D, Float1D]:
        """Support and coefficients of the fewest terms whose residual is close to that of all terms."""
        goal = (1.0 + _SLACK) * residual * self.change[lead, lead] ** 2 + self.rounding * self.gram_y[lead, lead]
        support = self._forward(lead, before, goal)
        while len(support) > 1:
            trials = [self._solve(lead, np.delete(support, k))[1] for k in range(len(support))]
            best = int(np.argmin(trials))
            if trials[best] > goal:
                break
            support = np.delete(support, best)
        return support, -self._solve(lead, support)[0]

    def _forward(self, lead: int, before: Int1D, goal: float) -> Int1D:
        """Terms one by one, each the one that leaves the smallest residual (orthogonal least squares)."""
        G = self.gram_y
        power, products = np.diag(G)[before].copy(), G[before, lead].copy()
        least, left = self.rounding * power, float(G[lead, lead])
        rows: list[Float1D] = []
        chosen: list[int] = []
        while left > goal and len(chosen) < min(len(before), _MOST_TERMS):
            gain = np.where(power > least, products**2 / np.maximum(power, 1e-300), -1.0)
            gain[chosen] = -1.0
            k = int(np.argmax(gain))
            if gain[k] <= 0.0:
                break
            root = np.sqrt(power[k])
            row = (G[before[k], before] - sum((r[k] * r for r in rows), np.zeros(len(before)))) / root
            share = products[k] / root
            products, power, left = products - share * row, power - row**2, left - share**2
            rows.append(row)
            chosen.append(k)
        return before[chosen]

    def _solve(self, lead: int, support: Int1D) -> tuple[Float1D, float]:
        return _least_squares(self.gram_y, lead, support)


def _least_squares(G: Float2D, lead: int, support: Int1D) -> tuple[Float1D, float]:
    """Coefficients of the terms ``support`` for the term ``lead``, and the residual mean square, from a Gram."""
    scale = 1.0 / np.sqrt(np.diag(G)[support])
    part = G[np.ix_(support, support)] * np.outer(scale, scale)
    part[np.diag_indices_from(part)] += 1e-15
    values = scale * np.linalg.solve(part, scale * G[support, lead])
    polynomial, index = np.append(values, -1.0), np.append(support, lead)
    return values, float(polynomial @ G[np.ix_(index, index)] @ polynomial)


def _divides(divisor: Term, term: Term) -> bool:
    return all(term.count(v) >= divisor.count(v) for v in set(divisor))


def _polynomials(found: Sparse, christoffel: Christoffel, names: Sequence[str]) -> Polynomials:
    """The equations as polynomials of all columns, in the units of the table, led by the last of their terms."""
    columns, units = christoffel.monomials.columns, christoffel.monomials.units
    index = np.array([np.flatnonzero(values)[-1] for values in found.coef], dtype=np.int64)
    rows, lower = np.arange(len(index)), found.coef.copy()
    lead = lower[rows, index].copy()
    lower[rows, index] = 0.0
    program = Program.of(found.terms, columns)
    form = MonomialForm(program, lower, program[index], lead)
    scale, offset = np.ones(len(names)), np.zeros(len(names))
    ratio, shift = found.origin
    scale[columns] = ratio / units.scale  # y = ratio (x - centre) / deviation + shift
    offset[columns] = np.where(shift == 0.0, -units.centre * scale[columns], 0.0)
    polynomials = Polynomials(
        form,
        tuple(names),
        mse=np.zeros(len(index)),
        gap=np.full(len(index), np.nan),
        n_iter=np.zeros(len(index), dtype=np.int64),
        status=np.array([Status.VANISHING] * len(index), dtype=object),
    )
    return polynomials.in_units((scale, offset))


def _spans(coef: Float2D, terms: Sequence[Term], christoffel: Christoffel) -> tuple[Float2D, tuple[int, ...]]:
    """Orthonormal directions of the equations and their multiples, one equation after the other."""
    place = {term: k for k, term in enumerate(christoffel.monomials.terms)}
    degree = len(christoffel.monomials.terms[-1])
    known = np.zeros((christoffel.n_terms, 0))
    edges = [0]
    for polynomial in coef:
        used = np.flatnonzero(polynomial).tolist()
        own = max(len(terms[k]) for k in used)
        rows = []
        for factor in (factor for factor in christoffel.monomials.terms if len(factor) + own <= degree):
            products = [tuple(sorted((*terms[k], *factor))) for k in used]
            if all(product in place for product in products):
                row = np.zeros(christoffel.n_terms)
                row[[place[product] for product in products]] = polynomial[used]
                rows.append(row)
        if not rows:
            edges.append(known.shape[1])
            continue
        vectors = christoffel.factor.T @ (np.array(rows) / christoffel.scale).T
        vectors /= np.linalg.norm(vectors, axis=0)
        for _ in range(2):  # Gram-Schmidt twice is orthogonal up to rounding
            vectors -= known @ (known.T @ vectors)
        directions, strength, _ = svd(vectors, full_matrices=False, lapack_driver="gesvd")  # gesdd may fail
        known = np.hstack([known, directions[:, strength > 1e-6]])
        edges.append(known.shape[1])
    return np.ascontiguousarray(known), tuple(edges)  # the layout of arrays from files: products have the same bits
