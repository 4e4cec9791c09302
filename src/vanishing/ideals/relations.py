"""Which generators relate columns to each other, and which describe the range of the columns only.

Independent columns have no law, but their range is a box, on which ``(x - 1/2) (y - 1/2)`` has a small mean square; it
stays the same if the columns are permuted independently of each other. The mean square of a relation grows. The moments
of the single columns are enough to compare: averaged over all permutations, the mean of a product of powers of columns
is the product of their means.

On few rows a polynomial may have a smaller mean square than that average by chance. A matrix Chernoff bound (Tropp
2012, "User-friendly tail bounds for sums of random matrices", arXiv:1004.4389) on the Gram matrix of its terms bounds
the probability. It holds for all polynomials in these terms at once, and so for the one that was fitted to the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from .._typing import Array, Bool1D, Float1D, Float2D, Int1D, Int2D
from ..constants import ROUNDING
from ..files.fields import Integer, Number, Numbers, Record, TupleOf, require
from ..polynomials.polynomial import Polynomials, Terms

_RELATED_SHARE = 0.5  # a relation has less than this share of the mean square on permuted columns; by convention
_SIGNIFICANCE = 0.05  # probability of as small a mean square on permuted columns; the usual level
GRID_POINTS = 101  # over the range of a column, from end to end: maxima of polynomials are often there


@dataclass(frozen=True, eq=False)
class Margins:
    """The marginal of every column: the means of its powers from 0 on and its range; and the number of rows."""

    moments: Sequence[Sequence[float]]
    low: Float1D
    high: Float1D
    n_rows: int


MARGINS = Record(
    Margins,
    {
        "moments": TupleOf(TupleOf(Number())),
        "low": Numbers("f8", (None,)),
        "high": Numbers("f8", (None,)),
        "n_rows": Integer(low=1),
    },
)


def require_moments(margins: Margins, exponents: Int2D) -> None:
    """Refuse a file whose margins have too few moments for the mean squares of terms: up to twice their powers."""
    needed = 2 * exponents.max(axis=0, initial=0) + 1
    found = [len(means) for means in margins.moments]
    require(bool((np.array(found) >= needed).all()), "a column has fewer moments than its powers need")
    require(all(mean >= 0.0 for means in margins.moments for mean in means[::2]), "a mean of squares is negative")


@dataclass(frozen=True, eq=False)
class Relations:
    """Which generators relate columns to each other.

    Attributes
    ----------
    related : ndarray of shape (n_generators,)
        Whether the generator relates columns: it vanishes better than on independently permuted columns.
    unclear : ndarray of shape (n_generators,)
        Whether it vanishes better, but on so few rows that this may be chance.
    permuted_mse : ndarray of shape (n_generators,)
        Its mean square on independently permuted columns, averaged over all permutations.
    n_rows, n_columns : int
        Size of the data.
    """

    related: Bool1D
    unclear: Bool1D
    permuted_mse: Float1D
    n_rows: int
    n_columns: int

    def __str__(self) -> str:
        if self.n_columns == 1:
            return "There is only one column: the polynomials describe its range."
        n, k, u = self.related.size, int(self.related.sum()), int(self.unclear.sum())
        if k == u == 0:
            return (
                "No law: the same polynomials vanish about as well on independently permuted columns. They describe "
                "the range of each column, not a relation between columns; lower psi to look for one."
            )
        if k == n:
            what = "It relates" if n == 1 else f"All {n} relate"
            return f"{what} columns to each other: independently permuted columns have at least twice the mean square."
        parts = [_count("The first", k, "relates columns to each other", "relate columns to each other")]
        better = f"better than on independently permuted columns, which on {self.n_rows:,} rows may be chance"
        parts.append(_count("the next" if k else "The first", u, f"vanishes {better}", f"vanish {better}"))
        as_well = "about as well on independently permuted columns, as the range of each column makes them"
        parts.append(_count("the other", n - k - u, f"vanishes {as_well}", f"vanish {as_well}"))
        return "; ".join(part for part in parts if part) + "."

    @property
    def rank(self) -> Int1D:
        """0 for generators that relate columns, 1 for generators that may relate them, 2 for the others."""
        return np.where(self.related, 0, np.where(self.unclear, 1, 2))


def _count(which: str, number: int, one: str, many: str) -> str:
    return "" if number == 0 else f"{which} one {one}" if number == 1 else f"{which} {number} {many}"


def find_relations(generators: Polynomials, order_ideal: Terms, margins: Margins) -> Relations:
    """Compare the mean squares of generators with those on independently permuted columns.

    The generators are those of OAVI, ABM or AVI, with terms of the order ideal beside the leading ones; the margins are
    those of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> X[:, 1] = X[:, 0] ** 2
    >>> print(OAVI(psi=1e-4, max_degree=2).fit(X).relations())
    All 2 relate columns to each other: independently permuted columns have at least twice the mean square.
    """
    permuted = _permuted_mse(generators, order_ideal.exponents, margins.moments)
    n_terms = np.asarray(generators._n_free)
    peaks = _peaks(margins)
    kept, leads = (_products(peaks, exponents) for exponents in (order_ideal.exponents, generators.leading_terms))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = generators.mse / permuted
        better = (permuted > 0.0) & (share < _RELATED_SHARE)
        n_strong = margins.n_rows / (np.cumsum(kept)[n_terms - 1] + leads)
        chance = (n_terms + 1) * np.exp(-n_strong * (1.0 - share + xlogy(share, share)))
    related = better & (chance <= _SIGNIFICANCE)
    return Relations(related, better & ~related, permuted, margins.n_rows, margins.low.size)


def _permuted_mse(generators: Polynomials, kept: Int2D, moments: Sequence[Any]) -> Float1D:
    """Mean squares on independently permuted columns; 0 if they are rounding errors only."""
    lead, leads = generators.leading_coef, generators.leading_terms
    coef = generators.coef[:, : len(kept)]
    gram, mixed, square = (_products(moments, e) for e in (kept[:, None] + kept, leads[:, None] + kept, 2 * leads))
    total = ((coef @ gram + 2.0 * lead[:, None] * mixed) * coef).sum(axis=1) + lead**2 * square
    largest = np.abs(coef) @ np.sqrt(gram.diagonal()) + np.abs(lead) * np.sqrt(square)
    return np.where(total > gram.size * ROUNDING * largest**2, total, 0.0)


def _products(tables: Sequence[Any], exponents: Array) -> Array:
    """For each term, the product over the columns j of ``tables[j][exponent of x_j]``."""
    total = np.ones(exponents.shape[:-1])
    for j, table in enumerate(tables):
        total *= np.asarray(table)[exponents[..., j]]
    return total


def _peaks(margins: Margins) -> list[Float1D]:
    """Largest squares, over the range of each column, of its orthonormal polynomials of degrees 0, 1, ..."""
    peaks = []
    for means, low, high in zip(margins.moments, margins.low, margins.high, strict=True):
        square, monic = _orthogonal(np.asarray(means))
        values = np.vander(np.linspace(low, high, GRID_POINTS), square.size, increasing=True) @ monic.T
        with np.errstate(divide="ignore", invalid="ignore"):
            peaks.append(np.max(values**2, axis=0) / square)
    return peaks


def _orthogonal(means: Float1D) -> tuple[Float1D, Float2D]:
    """Mean squares and coefficients, one row each, of a column's monic orthogonal polynomials, from its moments.

    Examples
    --------
    >>> square, monic = _orthogonal(1.0 / np.arange(1, 6))  # moments of a uniform column on [0, 1]
    >>> square.round(6)
    array([1.      , 0.083333, 0.005556])
    >>> monic[2].round(6)
    array([ 0.166667, -1.      ,  1.      ])
    """
    n = (means.size + 1) // 2
    gram = means[np.add.outer(np.arange(n), np.arange(n))]
    square, monic = np.zeros(n), np.eye(n)
    for k in range(n):
        for i in range(k):
            if square[i] > 0.0:
                monic[k] -= (monic[i] @ gram[k]) / square[i] * monic[i]
        square[k] = monic[k] @ gram @ monic[k]
        if square[k] <= gram.size * ROUNDING * gram[k, k]:  # the column has at most k distinct values
            square[k:] = 0.0
            break
    return square, monic
