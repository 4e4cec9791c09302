"""Slow, obvious versions of what the library computes fast. Nothing in this file is imported from the library."""

from __future__ import annotations

import functools
import itertools
import warnings
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize
from sklearn.linear_model import lars_path_gram

# ---------------------------------------------------------------------------------------------------------------------
# min x'Qx + 2c'x + r subject to |x|_1 <= radius


class Minimum(NamedTuple):
    """A feasible point; ``gap`` is its Frank-Wolfe gap, so the optimum lies in ``[loss - gap, loss]``."""

    x: np.ndarray
    loss: float
    gap: float


def loss_of(Q, c, r, x):
    """x'Qx + 2c'x + r, summed in extended precision."""
    Q, c, x = (np.asarray(a, dtype=np.longdouble) for a in (Q, c, x))
    return float(x @ Q @ x + 2.0 * (c @ x) + np.longdouble(r))


def frank_wolfe_gap_of(Q, c, x, radius):
    """The largest of ``<grad, x - v>`` over the vertices v of the ball, one vertex after another."""
    Q, c, x = (np.asarray(a, dtype=np.longdouble) for a in (Q, c, x))
    gradient = 2.0 * (Q @ x + c)
    vertices = [sign * radius * np.eye(c.size)[i] for i in range(c.size) for sign in (1.0, -1.0)]
    return float(max(gradient @ (x - v) for v in vertices))


def rounding_of(Q, r, x):
    """A generous bound on the rounding error of the loss at x in float64: 1e-14 times the square of all it sums."""
    return 1e-14 * float(np.abs(x) @ np.sqrt(np.abs(np.diag(Q))) + np.sqrt(r)) ** 2


def constrained_minimum(Q, c, r, radius):
    """The best of the lasso path cut at the radius, least squares, and (up to four variables) all faces of the ball.

    It is remembered, as every solver gets the same problems.
    """
    return _constrained_minimum(np.asarray(Q, dtype=float).tobytes(), np.asarray(c, dtype=float).tobytes(), r, radius)


@functools.cache
def _constrained_minimum(Q, c, r, radius):
    c = np.frombuffer(c)
    Q = np.frombuffer(Q).reshape(c.size, c.size)
    points = [lasso_path_cut(Q, c, radius), np.linalg.lstsq(Q, -c, rcond=None)[0]]
    if c.size <= 4:
        points += stationary_points(Q, c, radius)
    feasible = [x * min(1.0, radius / max(np.abs(x).sum(), 1e-300)) for x in points]
    x = min(feasible, key=lambda x: loss_of(Q, c, r, x))
    return Minimum(x, loss_of(Q, c, r, x), frank_wolfe_gap_of(Q, c, x, radius))


def lasso_path_cut(Q, c, radius):
    """Point of the lasso path with l1 norm ``radius``, or its end if the whole path is shorter.

    ``lars_path_gram`` follows the minimisers of ``x'Qx / 2 - Xy'x + alpha |x|_1`` from alpha = infinity to 0 (for
    ``n_samples=1``), so ``Xy = -c``. Its columns are the knots. Between two of them the path is a straight line on
    which no sign changes, and so the l1 norm is linear too.
    """
    x = np.zeros(c.size)
    # A zero column is of no use, nor is the second of two equal ones; the path algorithm does not cope with either.
    used = [
        j
        for j in range(c.size)
        if Q[j, j] > 0.0 and all(Q[i, i] + Q[j, j] - 2.0 * abs(Q[i, j]) > 1e-14 * Q[j, j] for i in range(j))
    ]
    if not np.any(c[used]):
        return x
    # A factor in front of the objective moves nothing, and keeps the numbers near the path's absolute tolerances.
    scale = np.diag(Q).max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dependent columns are dropped with a warning
        _, _, knots = lars_path_gram(
            -c[used] / scale, Q[np.ix_(used, used)] / scale, n_samples=1, method="lasso", max_iter=10_000
        )
    norms = np.abs(knots).sum(axis=0)
    longer = np.flatnonzero(norms > radius)
    if longer.size == 0:
        x[used] = knots[:, -1]
        return x
    k = longer[0]
    weight = (radius - norms[k - 1]) / (norms[k] - norms[k - 1])
    x[used] = (1.0 - weight) * knots[:, k - 1] + weight * knots[:, k]
    return x


def stationary_points(Q, c, radius):
    """Minimisers over the span of each set of coordinates, and over the affine hull of each face, if in the ball.

    The minimum over the ball is one of them: take the smallest face, or coordinate subspace, that holds an optimum.
    """
    points = [np.zeros(c.size)]
    for signs in itertools.product((-1.0, 0.0, 1.0), repeat=c.size):
        support = np.flatnonzero(signs)
        if support.size == 0:
            continue
        q, s = Q[np.ix_(support, support)], np.array(signs)[support]
        inside, outside = np.zeros(c.size), np.zeros(c.size)
        inside[support] = np.linalg.lstsq(q, -c[support], rcond=None)[0]
        # On s'x = radius: start at its centre, move in the orthogonal complement of s.
        centre = radius * s / support.size
        along = np.linalg.svd(s[None, :])[2][1:].T
        step = np.linalg.lstsq(along.T @ q @ along, -along.T @ (q @ centre + c[support]), rcond=None)[0]
        outside[support] = centre + along @ step
        points += [x for x in (inside, outside) if np.abs(x).sum() <= radius * (1.0 + 1e-12)]
    return points


def rational_minimum(Q, c, r, radius):
    """The minimum over the ball as a fraction, without any rounding, for a few variables.

    An optimum with the fewest non-zero coefficients solves a non-singular system: that of its support, or, on the
    boundary, that of its face. Every other solution that lies in the ball is no better.
    """
    Q, c, r, radius = _fractions(Q), _fractions(c), Fraction(float(r)), Fraction(float(radius))
    best = r
    for signs in itertools.product((-1, 0, 1), repeat=len(c)):
        support = [i for i, sign in enumerate(signs) if sign]
        rows = [[Q[i][j] for j in support] for i in support]
        systems = [(rows, [-c[i] for i in support])]
        face = [[*row, Fraction(signs[i])] for row, i in zip(rows, support, strict=True)]
        face.append([*(Fraction(signs[i]) for i in support), Fraction(0)])
        systems.append((face, [*(-c[i] for i in support), radius]))
        for matrix, right in systems if support else ():
            solution = _solve_fractions(matrix, right)
            if solution is not None:
                x = dict(zip(support, solution, strict=False))
                if sum(map(abs, x.values())) <= radius:
                    best = min(best, rational_loss(Q, c, r, x))
    return best


def rational_loss(Q, c, r, x):
    """x'Qx + 2c'x + r as a fraction; x maps the places of the non-zero coefficients to their values."""
    Q, c = _fractions(Q), _fractions(c)
    x = {i: Fraction(value) for i, value in x.items()}
    return sum((x[i] * (sum(Q[i][j] * x[j] for j in x) + 2 * c[i]) for i in x), Fraction(r))


def _fractions(values):
    return [_fractions(value) if np.ndim(value) or isinstance(value, list) else Fraction(value) for value in values]


def _solve_fractions(matrix, right):
    """Gaussian elimination; None for a singular matrix."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k] != 0:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


# ---------------------------------------------------------------------------------------------------------------------
# Terms as vectors of exponents


def deglex_compare(a, b):
    """Negative if a < b: by degree; then the term with more of the first variable on which they differ is smaller."""
    if sum(a) != sum(b):
        return sum(a) - sum(b)
    return next((q - p for p, q in zip(a, b, strict=True) if p != q), 0)


def degcolex_compare(a, b):
    """Negative if a < b: by degree; then the term with less of the last variable on which they differ is smaller."""
    if sum(a) != sum(b):
        return sum(a) - sum(b)
    return next((p - q for p, q in zip(reversed(a), reversed(b), strict=True) if p != q), 0)


COMPARISONS = {"deglex": deglex_compare, "degcolex": degcolex_compare}


def exponents_up_to(n_variables, degree):
    """All exponent vectors of degree <= ``degree``, in no particular order."""
    return [e for e in itertools.product(range(degree + 1), repeat=n_variables) if sum(e) <= degree]


def divides(a, b):
    """Whether the term a divides the term b."""
    return all(p <= q for p, q in zip(a, b, strict=True))


def brute_force_border(order_ideal, n_variables, degree, order):
    """Definition of the degree-d border, word for word: u of degree d, all of whose smaller divisors are in O."""
    smaller = exponents_up_to(n_variables, degree - 1)
    found = [
        u
        for u in exponents_up_to(n_variables, degree)
        if sum(u) == degree and all(t in order_ideal for t in smaller if divides(t, u))
    ]
    return sorted(found, key=functools.cmp_to_key(COMPARISONS[order]))


def term_column(X, exponents):
    """Values of one term on the rows of X."""
    return np.prod(np.asarray(X) ** np.asarray(exponents), axis=1)


def term_columns(X, terms):
    """Values of the terms, one per column."""
    return np.column_stack([term_column(X, e) for e in terms])


def as_variables(exponents):
    """The library's spelling of a term: the sorted tuple of its variables."""
    return tuple(v for v, e in enumerate(exponents) for _ in range(e))


# ---------------------------------------------------------------------------------------------------------------------
# The algorithms, on columns of evaluated terms: each candidate against everything kept so far


class Decision(NamedTuple):
    """Candidates kept, candidates that lead a generator with the coefficients there, and its mean square.

    ``coef[g]`` belongs to the basis and the candidates kept before generator g, then to its leading term.
    ``margin`` is the smallest distance of a decisive mean square from psi, relative to psi.
    """

    kept: list[int]
    generators: list[int]
    coef: list[np.ndarray]
    mse: list[float]
    margin: float


def _decide(columns, n_basis, psi, best):
    members, kept, generators, coef, mse, margins = list(range(n_basis)), [], [], [], [], [np.inf]
    for j in range(columns.shape[1] - n_basis):
        vector = best(columns[:, members], columns[:, n_basis + j])
        value = float(np.mean((columns[:, [*members, n_basis + j]] @ vector) ** 2))
        margins.append(abs(value - psi) / psi)
        if value <= psi:
            generators.append(j)
            coef.append(vector)
            mse.append(value)
        else:
            kept.append(j)
            members.append(n_basis + j)
    return Decision(kept, generators, coef, mse, min(margins))


def naive_oavi_split(columns, n_basis, psi, radius=np.inf):
    """OAVI's decision: least squares on the data, or the exact constrained problem where that leaves the ball."""

    def best(A, b):
        y = np.linalg.lstsq(A, -b, rcond=None)[0]
        if np.abs(y).sum() > radius:
            m = b.size
            y = constrained_minimum(A.T @ A / m, A.T @ b / m, b @ b / m, radius).x
        return np.append(y, 1.0)

    return _decide(columns, n_basis, psi, best)


def naive_abm_split(columns, n_basis, psi):
    """ABM's decision: the last right singular vector of the evaluated terms."""

    def best(A, b):
        table = np.column_stack([A, b])
        return np.linalg.svd(table, full_matrices=table.shape[0] < table.shape[1])[2][-1]

    return _decide(columns, n_basis, psi, best)


class Ideal(NamedTuple):
    """Terms of O in the order in which they joined, leading terms of the generators, and the smallest margin."""

    order_ideal: list[tuple[int, ...]]
    leads: list[tuple[int, ...]]
    coef: list[np.ndarray]
    mse: list[float]
    margin: float


def naive_monomial_algorithm(X, decide, order="deglex", max_degree=10):
    """Algorithm 1: degree by degree over the border, with ``decide(columns, n_basis)`` for each degree."""
    n = X.shape[1]
    order_ideal, leads, coef, mse, margin = [(0,) * n], [], [], [], np.inf
    for degree in range(1, max_degree + 1):
        candidates = brute_force_border(set(order_ideal), n, degree, order)
        if not candidates:
            break
        decision = decide(term_columns(X, [*order_ideal, *candidates]), len(order_ideal))
        order_ideal = order_ideal + [candidates[j] for j in decision.kept]
        leads += [candidates[j] for j in decision.generators]
        coef += decision.coef
        mse += decision.mse
        margin = min(margin, decision.margin)
    return Ideal(order_ideal, leads, coef, mse, margin)


def naive_oavi(X, psi, order="deglex", max_degree=10):
    """OAVI with tau = infinity and exact least squares on the data."""
    return naive_monomial_algorithm(X, lambda A, n: naive_oavi_split(A, n, psi), order, max_degree)


def naive_abm(X, psi, order="deglex", max_degree=10):
    """ABM with one singular value decomposition of the evaluated terms for every term."""
    return naive_monomial_algorithm(X, lambda A, n: naive_abm_split(A, n, psi), order, max_degree)


def updated_inverse(N, Ab, bb):
    """Inverse of the Gram of (A, b) from that of A, by the formulas in the paper's theorem on IHB.

    ``N = (A'A)^-1``, ``Ab = A'b``, ``bb = b'b``.
    """
    n2 = -(N + np.outer(N @ Ab, Ab @ N) / (bb - Ab @ N @ Ab)) @ Ab / bb
    n3 = (1.0 - Ab @ n2) / bb
    N1 = N - np.outer(N @ Ab, n2)
    return np.block([[N1, n2[:, None]], [n2[None, :], np.array([[n3]])]])


# ---------------------------------------------------------------------------------------------------------------------
# VCA


class Components(NamedTuple):
    """One degree of VCA: mean squares of all components, ascending, and the values of those kept and vanishing."""

    mean_squares: np.ndarray
    kept: np.ndarray
    vanishing: np.ndarray
    vectors: np.ndarray


def naive_vca_split(F, C, psi, length):
    """Residuals of the columns of C on those of F, and their principal components; kept ones get that length."""
    m = C.shape[0]
    residuals = C - F @ np.linalg.lstsq(F, C, rcond=None)[0]
    _, singular, right = np.linalg.svd(residuals, full_matrices=m < C.shape[1])
    mean_squares = np.zeros(C.shape[1])
    mean_squares[: singular.size] = singular**2 / m
    mean_squares, vectors = mean_squares[::-1], right[::-1].T
    values = residuals @ vectors
    kept = values[:, mean_squares > psi]
    kept = kept * (length / np.sqrt(np.mean(kept**2, axis=0)))
    return Components(mean_squares, kept, values[:, mean_squares <= psi], vectors)


def naive_vca(X, psi, length, max_degree=10):
    """VCA on evaluated columns: the components of every degree."""
    F = [np.full((X.shape[0], 1), length)]
    degrees = []
    candidates = X
    for degree in range(1, max_degree + 1):
        found = naive_vca_split(np.hstack(F), candidates, psi, length)
        degrees.append(found)
        F.append(found.kept)
        if found.kept.shape[1] == 0:
            break
        first = F[1]
        pairs = (
            itertools.combinations_with_replacement(range(first.shape[1]), 2)
            if degree == 1
            else itertools.product(range(F[-1].shape[1]), range(first.shape[1]))
        )
        candidates = np.column_stack([F[-1][:, i] * first[:, j] for i, j in pairs])
    return degrees


# ---------------------------------------------------------------------------------------------------------------------
# min x'Hx / 2 + r'x + penalty'|x|


def quadratic_l1_objective(H, r, penalty, x):
    """x'Hx / 2 + r'x + penalty'|x|, summed in extended precision."""
    H, r, penalty, x = (np.asarray(a, dtype=np.longdouble) for a in (H, r, penalty, x))
    return float(0.5 * (x @ H @ x) + r @ x + penalty @ np.abs(x))


def quadratic_l1_violation(H, r, penalty, x):
    """Largest entry of the shortest subgradient: the distance of 0 from each coordinate's interval of subgradients."""
    H, r, x = (np.asarray(a, dtype=np.longdouble) for a in (H, r, x))
    gradient = H @ x + r
    low = gradient + np.where(x > 0.0, penalty, -penalty)
    high = gradient + np.where(x < 0.0, -penalty, penalty)
    return float(np.maximum(0.0, np.maximum(low, -high)).max())


def quadratic_l1_minimum(H, r, penalty):
    """The best of the minimisers for all patterns of signs and zeros: for a handful of variables."""
    n = r.size
    best = np.zeros(n)
    for signs in itertools.product(*[(-1.0, 0.0, 1.0) if cost > 0.0 else (1.0,) for cost in penalty]):
        support = np.flatnonzero(signs)
        x = np.zeros(n)
        x[support] = np.linalg.lstsq(
            H[np.ix_(support, support)], -(r + penalty * np.array(signs))[support], rcond=None
        )[0]
        best = min(best, x, key=lambda point: quadratic_l1_objective(H, r, penalty, point))
    return best


def quadratic_l1_descent(H, r, penalty, n_sweeps=2000):
    """Coordinate descent from zero: for well-conditioned problems of any size."""
    x = np.zeros(r.size)
    for _ in range(n_sweeps):
        before = x.copy()
        for j in range(r.size):
            pull = H[j, j] * x[j] - (H[j] @ x + r[j])
            x[j] = np.sign(pull) * max(abs(pull) - penalty[j], 0.0) / H[j, j]
        if np.abs(x - before).max() <= 1e-15 * np.abs(x).max():
            break
    return x


# ---------------------------------------------------------------------------------------------------------------------
# min |w|_1 + C sum_i |s_i| max(0, 1 - y_i (w'z_i + b))^2 over x = (w, b), where y_i is the sign of s_i


def svm_shortfall(Z, signed, x):
    """How much each row's margin lacks."""
    return np.maximum(0.0, 1.0 - np.sign(signed) * (Z @ x[:-1] + x[-1]))


def svm_objective(Z, signed, C, x):
    """|w|_1 + C sum |s| xi^2."""
    return float(np.abs(x[:-1]).sum() + C * (np.abs(signed) @ svm_shortfall(Z, signed, x) ** 2))


def svm_gradient(Z, signed, C, x):
    """Gradient of the loss, without the penalty."""
    pull = -2.0 * C * signed * svm_shortfall(Z, signed, x)
    return np.append(Z.T @ pull, pull.sum())


def svm_dual_objective(signed, C, a):
    """sum a_i - a_i^2 / (4 C |s_i|); rows without weight have no a."""
    counts = signed != 0.0
    assert not a[~counts].any()
    return float(a[counts].sum() - (a[counts] ** 2 / (4.0 * C * np.abs(signed[counts]))).sum())


def svm_dual_point(Z, signed, C, x):
    """A feasible point of the dual, one entry per row: a >= 0, sum a y = 0, |sum a y z_j| <= 1 in every column j.

    Made from the losses' derivatives at x: the label that pulls more gives way, then the best multiple is taken.
    """
    y = np.sign(signed)
    a = 2.0 * C * np.abs(signed) * svm_shortfall(Z, signed, x)
    positive, negative = a[y > 0.0].sum(), a[y < 0.0].sum()
    if min(positive, negative) == 0.0:
        return np.zeros(y.size)
    a = np.where(y > 0.0, a / positive, a / negative)
    largest = np.abs(Z.T @ (a * y)).max()
    best = a.sum() / (2.0 * (a**2 / np.where(y == 0.0, 1.0, 4.0 * C * np.abs(signed))).sum())
    return a * min(best, 1.0 / largest if largest > 0.0 else np.inf)


def svm_minimum(Z, signed, C, signs=None):
    """x = (w, b) by L-BFGS-B on w = u - v with u, v >= 0, one of them 0 where w has a sign: for small problems."""
    p = Z.shape[1]
    signs = np.zeros(p) if signs is None else signs
    bounds = [(0.0, 0.0 if own < 0 else None) for own in signs] + [(0.0, 0.0 if own > 0 else None) for own in signs]

    def join(point):
        return np.append(point[:p] - point[p : 2 * p], point[-1])

    def value(point):
        x = join(point)
        gradient = svm_gradient(Z, signed, C, x)
        loss = C * (np.abs(signed) @ svm_shortfall(Z, signed, x) ** 2)
        return point[:-1].sum() + loss, np.concatenate([1.0 + gradient[:-1], 1.0 - gradient[:-1], gradient[-1:]])

    point = np.zeros(2 * p + 1)
    for _ in range(3):  # from where it gave up, with a fresh memory
        point = minimize(
            value,
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=[*bounds, (None, None)],
            options={"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 30},
        ).x
    return join(point)


def hard_margin(Z, y):
    """The least |w|_1 with ``y_i (w'z_i + b) >= 1``, and the multipliers of these bounds, by linear programming."""
    p = Z.shape[1]
    rows = -y[:, None] * np.column_stack([Z, -Z, np.ones(y.size)])
    found = linprog(
        np.append(np.ones(2 * p), 0.0), rows, -np.ones(y.size), bounds=[(0, None)] * (2 * p) + [(None, None)]
    )
    return found.fun, -found.ineqlin.marginals


# ---------------------------------------------------------------------------------------------------------------------
# Polynomials that vanish on rational points, in rational arithmetic


def _fraction_terms(rows, terms):
    return [
        [functools.reduce(lambda a, b: a * b, (x**e for x, e in zip(row, t, strict=True)), Fraction(1)) for t in terms]
        for row in _fractions(rows)
    ]


def fraction_rank(matrix):
    """Rank by Gaussian elimination, and for each column that depends on those before it the combination of the pivots.

    Returns the pivot columns and a dictionary from every other column to its coefficients.
    """
    rows, pivots, combinations = [list(row) for row in matrix], [], {}
    for k in range(len(rows[0]) if rows else 0):
        found = next((i for i in range(len(pivots), len(rows)) if rows[i][k] != 0), None)
        if found is None:
            combinations[k] = [rows[i][k] for i in range(len(pivots))]
            continue
        top = len(pivots)
        rows[top], rows[found] = rows[found], rows[top]
        rows[top] = [value / rows[top][k] for value in rows[top]]
        for i in range(len(rows)):
            if i != top and rows[i][k] != 0:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[top], strict=True)]
        pivots.append(k)
    return pivots, combinations


def rational_buchberger_moeller(rows, degree):
    """Reduced Groebner basis, up to a degree, of the polynomials that vanish on the rows; terms by degree, then lex.

    Each polynomial is a dictionary from exponents to Fractions with leading coefficient 1.
    """
    basis, leading, kept = [], [], []
    for term in sorted(exponents_up_to(len(rows[0]), degree), key=lambda e: (sum(e), e)):
        if any(divides(t, term) for t in leading):
            continue
        _, combinations = fraction_rank(_fraction_terms(rows, [*kept, term]))
        if combinations:
            (coefficients,) = combinations.values()
            below = {t: -c for t, c in zip(kept, coefficients, strict=True) if c}
            basis.append({**below, term: Fraction(1)})
            leading.append(term)
        else:
            kept.append(term)
    return basis


def rational_order_ideal(points, order="deglex"):
    """The terms that lead no polynomial that vanishes on distinct points: as many as there are points.

    A term joins if its values on the points are no combination of those of the terms before it. The values are reduced
    one term after the other, in fractions; the search ends once there are as many terms as points.
    """
    points = _fractions(points)
    n_variables = len(points[0])
    kept, reduced = [], []  # terms, and pairs of their values without those of the terms before, and a non-zero place
    degree = 0
    while len(kept) < len(points):
        for term in brute_force_border(set(kept), n_variables, degree, order) if degree else [(0,) * n_variables]:
            values = [column for (column,) in _fraction_terms(points, [term])]
            for other, place in reduced:
                if values[place]:
                    factor = values[place] / other[place]
                    values = [a - factor * b for a, b in zip(values, other, strict=True)]
            place = next((i for i, value in enumerate(values) if value), None)
            if place is not None:
                kept.append(term)
                reduced.append((values, place))
        degree += 1
    return kept


def rational_kernel(rows, degree):
    """Basis of the polynomials of degree <= ``degree`` that vanish on the rows, as dictionaries."""
    terms = sorted(exponents_up_to(len(rows[0]), degree), key=sum)
    pivots, combinations = fraction_rank(_fraction_terms(rows, terms))
    return [
        {terms[k]: Fraction(1), **{terms[p]: -c for p, c in zip(pivots, found, strict=False) if c}}
        for k, found in combinations.items()
    ]


def span_dimension(polynomials):
    """Dimension of the span of polynomials given as dictionaries."""
    terms = sorted({term for polynomial in polynomials for term in polynomial})
    matrix = [[Fraction(polynomial.get(term, 0)) for term in terms] for polynomial in polynomials]
    return len(fraction_rank(matrix)[0])
