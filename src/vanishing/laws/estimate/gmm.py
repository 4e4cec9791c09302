"""Moment conditions of a law, their covariance, and the statistic J that tests them.

If the rows without noise satisfy ``g(x) = sum_a c_a x^a = 0``, then ``E[t(x) g(x)] = 0`` for every test polynomial t.
Unbiased estimates of these are ``A c`` with ``A = E[t m']`` debiased, whose covariance is known, so the generalised
method of moments (Hansen 1982) gives the coefficients, their standard errors, and a test of the law itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.lapack import dpstrf, dsygvx, dtrtri
from scipy.special import chdtri

from ..._typing import Array, Float1D, Float2D
from ...constants import SINGULAR
from ...polynomials.terms import count_terms
from ..rows.relation import LEFT_BY_ROUNDING, MANY_ROWS, SOME_ROWS
from .moments import MomentTable
from .monomials import binomial_matrix, monomials
from .sample import Sample
from .weights import RowNoise, covariance_of_tests, row_noise

__all__ = [
    "EXTRA_DEGREE",
    "FLOOR",
    "ROWS_PER_TEST",
    "Conditions",
    "System",
    "is_noise",
    "is_rejected",
    "largest_passing",
    "smallest_ratio",
    "unseen",
    "whitener",
]

FLOOR = 1e-6  # noise in deviations that moments in float64 resolve; estimates up to four times as large are rounding
EXTRA_DEGREE = 2  # tests have this degree more than the terms; with 1, parity could hide a misfit
ROWS_PER_TEST = 6  # fewer rows for each test condition make their covariance unreliable
_ESTIMATED_WEIGHTS = 8.0  # times conditions over rows: information that estimated weights lose, by simulation
_CHANCE = 1e-4  # share of true laws that a test may reject
_NEGLIGIBLE = 0.005  # J per row of a departure, or of a term, that is too small to matter


def is_noise(variances: Float1D) -> bool:
    """Whether noise variances are more than rounding.

    Examples
    --------
    >>> is_noise(np.array([1e-12])), is_noise(np.array([1e-4]))
    (False, True)
    """
    return bool(np.max(variances) > (4.0 * FLOOR) ** 2)


def largest_passing(dof: int, n_rows: int) -> float:
    """The largest ``J`` that a test accepts: that of chance, and that of a departure of 1/200 of the noise variance.

    Without the second part, many rows would reject laws for departures that are too small to matter. The same limit
    says what a term is worth: ``J`` has to rise by more when it leaves (one degree of freedom).

    Examples
    --------
    >>> round(largest_passing(10, 1000), 1), round(largest_passing(10, 1_000_000), 1)
    (40.6, 5035.6)
    """
    return float(chdtri(max(dof, 1), _CHANCE)) + _NEGLIGIBLE * n_rows


def unseen(dof: int, n_rows: int) -> float:
    """The departure from a law that the test detects with a power of one half, in deviations of the law's noise.

    A mean of size d in one of the whitened conditions adds ``n_rows d^2`` to ``J``, which chance alone brings to
    ``dof``.

    Examples
    --------
    >>> round(unseen(10, 20), 2), round(unseen(10, 2000), 2)
    (1.13, 0.11)
    """
    dof = max(dof, 1)
    return float(np.sqrt((chdtri(dof, _CHANCE) - dof) / n_rows))


def is_rejected(J: float, dof: int, n_rows: int) -> bool:
    """Whether a test rejects a law.

    Examples
    --------
    >>> is_rejected(60.0, 10, 1000), is_rejected(60.0, 10, 1_000_000), is_rejected(12.0, 10, 1000)
    (True, False, False)
    """
    return dof > 0 and largest_passing(dof, n_rows) < J


def whitener(covariance: Float2D) -> Float2D:
    """``W`` with ``W' V W = 1`` on the range of ``V``, one column for each direction of it.

    Examples
    --------
    >>> whitener(np.diag([0.0, 4.0])).T.tolist()
    [[0.0, 0.5]]
    """
    factor, pivots, rank, _ = dpstrf(covariance, tol=SINGULAR * float(np.trace(covariance)), lower=1)
    W = np.zeros((len(covariance), rank))
    if not rank:  # LAPACK inverts no empty matrix
        return W
    W[pivots[:rank] - 1] = np.tril(dtrtri(factor[:rank, :rank], lower=1)[0]).T  # LAPACK leaves the other half
    return W


def smallest_ratio(P: Float2D, D: Float2D) -> tuple[float, Float1D]:
    """The smallest ``c'Pc / c'Dc``, and its ``c``.

    Examples
    --------
    >>> smallest_ratio(np.diag([4.0, 1.0]), np.eye(2))[0]
    1.0
    """
    values, vectors, _, _, failed = dsygvx(P, D, range="I", il=1, iu=1, lwork=64 * len(D))
    if failed:  # a term that varies with no column
        D = D + 1e-12 * np.trace(D) / len(D) * np.eye(len(D))
        values, vectors, _, _, failed = dsygvx(P, D, range="I", il=1, iu=1, lwork=64 * len(D))
    if failed:
        raise LinAlgError("The noise variances of the terms are not positive.")
    return float(values[0]), np.asarray(vectors[:, 0])


@dataclass(frozen=True, eq=False)
class System:
    """Whitened conditions ``R c`` of a law, and ``D`` with ``c'Dc`` the mean noise variance of ``c``.

    ``J(S) = N min over c supported on S of c'R'Rc / c'Dc`` is chi^2 with :meth:`dof` degrees of freedom at a true law.
    The first term is the constant, which has no noise.
    """

    R: Float2D
    D: Float2D
    rank: int
    n_nuisance: int
    n_rows: int

    @cached_property
    def normal(self) -> Float2D:
        """The matrix ``R'R`` of the normal equations."""
        return np.asarray(self.R.T @ self.R)

    @cached_property
    def _without_constant(self) -> Float2D:
        """``R'R`` with the constant at its best."""
        along = self.normal[0]
        return np.asarray(self.normal - np.outer(along, along / max(float(along[0]), 1e-300)))

    def _forms(self, support: Sequence[int]) -> tuple[list[int], Float2D, Float2D]:
        """The terms but the constant, and ``R'R`` and D of these, with the constant at its best if it is there."""
        inner = [i for i in support if i]
        at = np.array(inner, dtype=np.int64)[:, None], inner
        P = self._without_constant if len(inner) < len(support) else self.normal
        return inner, P[at], self.D[at]

    def minimise(self, support: Sequence[int]) -> tuple[float, Float1D]:
        """``J`` of the best polynomial with these terms, and that polynomial with ``c'Dc = 1``; infinity for none."""
        inner, P, D = self._forms(support)
        c = np.zeros(len(self.D))
        if not inner:
            return np.inf, c
        ratio, v = smallest_ratio(P, D)
        c[inner] = v / np.sqrt(_mean_variance(v, D))
        if len(inner) < len(support):
            c[0] = -float(self.normal[0] @ c) / max(float(self.normal[0, 0]), 1e-300)
        return self.n_rows * max(ratio, 0.0), c

    def spectrum(self, support: Sequence[int]) -> Float1D:
        """``J`` of a basis of all polynomials with these terms, ascending: the small ones nearly vanish."""
        _, P, D = self._forms(support)
        D = D + 1e-12 * np.trace(D) / len(D) * np.eye(len(D))
        return np.asarray(self.n_rows * np.maximum(eigh(P, D, eigvals_only=True), 0.0))

    def statistic(self, c: Float1D) -> float:
        """``N c'R'Rc / c'Dc``."""
        return float(self.n_rows * np.sum((self.R @ c) ** 2) / _mean_variance(c, self.D))

    def dof(self, n_terms: int) -> int:
        """Degrees of freedom of ``J`` of a law with this many coefficients, one of which is fixed."""
        return self.rank - self.n_nuisance - (n_terms - 1)

    def information(self, c: Float1D, support: Sequence[int]) -> Float2D:
        """Fisher information of the coefficients of ``c`` on its support: ``N R'R / c'Dc``.

        Weights that are estimated from the same rows make it look larger than it is (Windmeijer 2005); dividing by
        ``1 + 8 rank / N`` makes up for that in simulations.
        """
        at = np.ix_(support, support)
        shrunk = 1.0 + _ESTIMATED_WEIGHTS * self.rank / self.n_rows
        return np.asarray(self.n_rows * self.normal[at] / _mean_variance(c, self.D) / shrunk)


def _mean_variance(c: Float1D, D: Float2D) -> float:
    """``c'Dc``, the mean noise variance of a polynomial; the debiased D may be indefinite."""
    least = 1e-12 * float(np.trace(D)) / len(D) * float(c @ c)
    return max(float(c @ D @ c), least, 1e-300)


class Conditions:
    """The moment conditions of laws of one degree, on the rows of a sample.

    Terms are the monomials of the users' coordinates, in units in which each has root mean square 1; they are tied to
    those of the standardised columns by a binomial matrix, so that conditioning is good and sparsity is judged where
    the user reads it.

    Parameters
    ----------
    sample : Sample
    degree : int
        Of the terms.
    extra : int, default=2
        Degree of the test polynomials above that of the terms, less where rows are few.
    moments : MomentTable, optional
        Of more rows than the sample has, in the same standardised columns; weights are the sample's all the same.

    Attributes
    ----------
    basis : ndarray of shape (n_terms, n_terms)
        Coefficients of the terms in monomials of the standardised columns, one term per column.
    unit : ndarray of shape (n_terms,)
        A coefficient divided by it is the one of the users' monomial.
    """

    def __init__(self, sample: Sample, degree: int, extra: int = EXTRA_DEGREE, moments: MomentTable | None = None):
        n = sample.n_columns
        while extra > 0 and count_terms(degree + extra, n) > sample.n_rows / ROWS_PER_TEST:
            extra -= 1
        self.sample, self.degree = sample, degree
        self.terms, self.tests = monomials(n, degree), monomials(n, degree + extra)
        self.moments = sample.moments(2 * degree + extra, degree + extra) if moments is None else moments
        self.n_rows = self.moments.n_rows
        raw = binomial_matrix(self.terms, sample.centre / sample.size, sample.scale / sample.size)
        gram = self.moments.means[self.moments.terms.products(self.terms, self.terms)]
        rms = np.sqrt(np.maximum(np.einsum("ik,ik->k", raw, gram @ raw), 0.0))
        rms[rms < LEFT_BY_ROUNDING] = 1.0
        self.basis = raw / rms
        self.unit = rms * np.prod(sample.size**self.terms.exponents, axis=1)
        self.screened: dict[tuple[tuple[int, ...], int], list[list[int]]] = {}  # small sets of terms, by candidates
        self._means: dict[bytes, Float2D] = {}  # for the variances asked for last
        self._slopes: dict[bytes, list[Float2D]] = {}

    @cached_property
    def reduced(self) -> list[Conditions]:
        """The same terms with tests of a lower degree only, if these are fewer: most polynomials that are no law fail.

        The cost of a test grows with the rows that weigh it, and with the square of the number of its conditions.
        """
        n, degree = self.sample.n_columns, 1
        while count_terms(degree + 1, n) * ROWS_PER_TEST <= SOME_ROWS:
            degree += 1
        if 2 * count_terms(degree, n) > len(self.tests):
            return []
        return [Conditions(self.sample.thinned(MANY_ROWS // 2), self.degree, degree - self.degree, self.moments)]

    @property
    def table(self) -> Float2D:
        """The monomials of the standardised columns on the rows, up to the larger degree of terms and tests."""
        return self.sample.values(max(self.degree, self.tests.degree))

    @property
    def test_values(self) -> Float2D:
        """The values of the tests on the rows."""
        return self.table[: len(self.tests)]

    def noise_of(self, c: Float1D, variances: Float1D) -> RowNoise:
        """Values, slopes and variance of the polynomial ``c`` on the rows."""
        return row_noise(self.terms, self.table, self.basis @ c, self.sample.variances_on_rows(variances))

    def residuals(self, noise: RowNoise) -> Float1D:
        """The values of a polynomial, minus their mean within each group."""
        return self.sample.without_group_means(noise.values)

    def covariance(self, c: Float1D, variances: Float1D) -> tuple[Float2D, float]:
        """The covariance of the conditions at the law ``c``, times N and over its mean variance; and the latter."""
        self.sample.work.spend(float(self.sample.n_rows) * len(self.tests) ** 2)
        noise = self.noise_of(c, variances)
        spread = self.sample.variances_on_rows(variances)
        total = covariance_of_tests(self.tests, self.test_values, noise, spread, self._centred_tests)
        mean = float(noise.variance.mean())
        return total / (self.sample.n_rows * mean), mean

    def means(self, variances: Float1D) -> Float2D:
        """``A = E[t m']``, debiased; one column for each term."""
        key = variances.tobytes()
        if key not in self._means:
            self._means.clear()
            self._means[key] = np.asarray(self.moments.products(variances, self.tests, self.terms) @ self.basis)
        return self._means[key]

    def spread(self, variances: Float1D) -> Float2D:
        """``D = sum_j s_j^2 E[d_j m d_j m']``: ``c'Dc`` is the mean noise variance of a polynomial, to first order."""
        return np.asarray(np.tensordot(variances, self._gradients, 1))

    @cached_property
    def _gradients(self) -> Array:
        """``E[d_j m d_j m']`` for every column j."""
        unit = np.eye(self.sample.n_columns)
        return np.array([self.basis.T @ self.moments.gradient_products(e, self.terms) @ self.basis for e in unit])

    def noise_pencil(self, profile: Float1D) -> tuple[Float2D, Float2D]:
        """``G = E[m m']`` and ``D = sum_j p_j E[d_j m d_j m']``, both of the noisy rows.

        To first order, a polynomial ``c`` vanishes at the noise variance ``c'Gc / c'Dc``.
        """
        gram = self.moments.products(0.0 * profile, self.terms, self.terms)
        return np.asarray(self.basis.T @ gram @ self.basis), self.spread(profile)

    def first_system(self, variances: Float1D) -> System:
        """The system before a law is known: every row has the same weight."""
        W = self._first_whitener
        return System(W.T @ self.means(variances), self.spread(variances), W.shape[1], 0, self.n_rows)

    @property
    def _centred_tests(self) -> Float2D:
        return self.sample.without_group_means(self.test_values)

    @cached_property
    def _first_whitener(self) -> Float2D:
        centred = self._centred_tests
        return whitener(centred @ centred.T / self.sample.n_rows)

    def system(self, variances: Float1D, c: Float1D, nuisance: str) -> System:
        """The system whose weights belong to the law ``c``.

        The test leaves out the directions in which the conditions move with the noise variances. With
        ``nuisance="level"`` the direction of the common level is projected out; with ``"columns"`` the directions of
        all columns are; with ``"none"`` the noise is known.
        """
        W = whitener(self.covariance(c, variances)[0])
        R = W.T @ self.means(variances)
        n_nuisance = 0
        if nuisance != "none" and is_noise(variances):
            slopes = W.T @ self.noise_slopes(variances, c)
            q, size, _ = np.linalg.svd(slopes.sum(axis=1, keepdims=True) if nuisance == "level" else slopes, False)
            q = q[:, size > LEFT_BY_ROUNDING * size[0]]
            R, n_nuisance = R - q @ (q.T @ R), q.shape[1]
        return System(R, self.spread(variances), W.shape[1], n_nuisance, self.n_rows)

    def noise_slopes(self, variances: Float1D, c: Float1D) -> Float2D:
        """Derivatives of ``A c`` with respect to the log noise variances, ``(n_tests, n_columns)``."""
        key = variances.tobytes()
        if key not in self._slopes:
            self._slopes.clear()
            self._slopes[key] = self.moments.product_slopes(variances, self.tests, self.terms)
        z = self.basis @ c
        return np.column_stack([change @ z for change in self._slopes[key]])
