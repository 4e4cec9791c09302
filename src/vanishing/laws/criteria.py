"""When a relation is a law: the criteria that every candidate has to meet, from whichever search it comes.

1. *Bits.* The equation saves more bits on the rows than it takes to write it down. What a column gains is measured by
   replacing it with draws from its own values: ``p`` is the share of rows that obey the relation, ``q_j`` the share
   that still does after column j was drawn anew, and ``KL(p || q_j)`` the bits a row that the equation says about it.
   The least of them, times the number of distinct rows, has to exceed the length of the equation. An interpolant pays
   for its coefficients, and a product with a small factor pins none of its columns. With exceptions, each column
   gains more than it takes to say which rows obey. An exact curve with many coefficients longer than the real
   numbers that a fit would give glues several cases together.
2. *Nothing unseen.* The rows suffice to detect a small departure from the law, or its coefficients are rational. A few
   rows near a regression cannot tell a law with noise from correlated columns.
3. *Width between rows.* The relation holds between the steps from row to row, too, not only between the columns:
   trends that columns have in common drop out.
4. *Nothing left.* The distances of the rows that obey do not vary smoothly with a column. If they do, that column
   belongs in the law, or the law holds only where that column hardly varies.
5. *New bits.* Points that obey the laws known so far do not obey this one by themselves: squares, products and
   multiples of a law, which have a higher degree or its terms and more, say nothing new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import comb, log2, sqrt

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from .candidates.core import without_lumps
from .candidates.one_law import ANY_NUMBERS
from .estimate.gmm import unseen
from .estimate.settings import Attempt
from .rows.relation import (
    HALF_OF_NORMAL,
    LEFT_BY_ROUNDING,
    MANY_ROWS,
    PARALLEL,
    REACH,
    SEED,
    SOME_ROWS,
    Relation,
    information,
    middle_spread,
    moved_onto,
    predictable,
    share_within,
)
from .rows.rounding import rounding_steps
from .say.law import Law

__all__ = [
    "CRITERIA",
    "Criteria",
    "Judgement",
    "Known",
    "Verdict",
    "bits_of_equation",
    "follows_from",
    "is_narrower",
    "judge",
    "most_left",
    "most_saved",
    "without_factors",
]

_DRAWS = 8000  # draws of a column that estimate how often chance obeys a relation
_BITS_OF_ORIGIN = 8.0  # to write down where a column is counted from
_SHOWN = 100  # characters of a rejected equation


@dataclass(frozen=True)
class Criteria:
    """The numbers of the decision.

    Attributes
    ----------
    width : float
        Largest noise of a law between rows, as a share of the columns' steps. Independent walks have 0.7 to 1.5.
    gain : float
        Bits a row by which a curved law of all rows has to be sharper than a linear regression, where it is wider than
        that. (Which rows obey is a choice that makes any curve sharper.)
    whiteness : float
        Largest correlation of successive residuals, over its standard error, where a law is wider between rows.
    core : float
        Deviations of the columns within which rows that are merely correlated are near to an equation: the largest
        width of one that some rows do not obey, and the largest departure from a law with real coefficients that the
        test of its rows does not see.
    smooth : float
        Largest share of the distances' variance that neighbouring rows predict, beyond chance and rounding.
    parallel : float
        Singular value of unit gradients, in deviations of the columns, below which these count as dependent.
    noise : float
        Largest noise of a law of one column, in robust deviations of it.
    """

    width: float = 0.10
    gain: float = 0.5
    whiteness: float = 1.0
    core: float = 0.03
    smooth: float = 0.25
    parallel: float = PARALLEL
    noise: float = 0.12


CRITERIA = Criteria()


@dataclass(frozen=True)
class Verdict:
    """Whether a relation is a law; the numbers behind that, and the reason for a rejection in words.

    Attributes
    ----------
    accepted : bool
    reason : str
        Empty for a law.
    saved, cost : float
        Bits that the equation saves on the distinct rows, and bits of the equation.
    width : float
        Noise between rows, as a share of the columns' steps; 0 for exact laws.
    net : float
        Bits that the law is worth beside others: ``-log2`` of the distance within which rows obey, in deviations of
        the columns, for each distinct row that does, less ``cost``. Unlike ``saved``, it has no limit where chance
        never obeys.
    """

    accepted: bool
    reason: str
    saved: float
    cost: float
    width: float = 0.0
    net: float = 0.0
    lacks: int | None = None


@dataclass(frozen=True, eq=False)
class Known:
    """A law that was accepted, and the distance within which rows obey it."""

    relation: Relation
    tolerance: float


def relation_of(law: Law, X: Float2D, groups: Int1D | None = None, *, multiplicative: bool | None = None) -> Relation:
    """The equation of a law on the rows of a table; by default, with distances in the units of its noise."""
    if multiplicative is None:
        multiplicative = _is_multiplicative(law)
    return Relation(X, law.exponents, law.coef, law.origin, multiplicative=multiplicative, groups=groups)


def _is_multiplicative(law: Law) -> bool:
    return "multiplicative" in law.noise_kind


def judge(
    law: Law, X: Float2D, known: Sequence[Known] = (), groups: Int1D | None = None, criteria: Criteria = CRITERIA
) -> tuple[Verdict, Known]:
    """Whether a relation between columns is a law of a table.

    Parameters
    ----------
    law : Law
        The candidate.
    X : ndarray of shape (n_rows, n_columns)
        The rows, in the order of the table.
    known : sequence of Known
        Laws that were accepted before.
    groups : ndarray of shape (n_rows,), optional
        Numbers of the groups along which the law is conserved.
    criteria : Criteria, optional

    Returns
    -------
    verdict : Verdict
    known : Known
        The candidate as a law that others may follow from.

    Examples
    --------
    >>> from vanishing import discover
    >>> x = np.random.default_rng(0).uniform(1, 2, (60, 2))
    >>> X = np.column_stack([x, x.prod(axis=1)])
    >>> law = discover(X)[0]
    >>> judge(law, X)[0].accepted, judge(law, np.random.default_rng(1).permuted(X, axis=0))[0].accepted
    (True, False)
    """
    relation = relation_of(law, X, groups)
    longer = sum(bits > _real_bits(len(X)) for bits in _bits_of_numbers(law, len(X)))
    unknown = [k for k, error in enumerate(law.stderr) if law.rational[k] is None and abs(law.coef[k]) <= error]
    exact, random = law.kind == "exact", np.random.default_rng(SEED)
    reach = relation.tolerance(exact=exact)
    own = Known(relation, reach)
    n_distinct, cost = len(np.unique(relation.Z.round(12), axis=0)), bits_of_equation(law, len(X))
    most = most_saved(n_distinct)
    if most <= cost:  # whatever chance would do
        return Verdict(False, _too_long(most, n_distinct, cost), most, cost), own
    if exact and law.degree > 1 and longer > ANY_NUMBERS:
        reason = f"{longer} of its coefficients are longer than real numbers that the rows would give"
        return Verdict(False, reason, 0.0, cost), own
    if unknown:
        return Verdict(False, f"the coefficient of term {unknown[0] + 1} is smaller than its error", 0.0, cost), own
    obeys = relation.distance(relation.Z) <= reach
    share = float(np.mean(obeys))
    bits = min(information(share, q) for q in _chances(X, relation, reach, random))
    saved = n_distinct * bits
    if law.share < 1.0:
        places = without_lumps(relation.Z)
        chances = _chances(X[places], relation.at(places), reach, random)
        bits = min(information(float(np.mean(obeys[places])), q) for q in chances)
        if bits <= (which := bits_of_rows(share)):
            reason = f"it says {bits:.2f} bits a row about one of its columns, and which rows obey it takes {which:.2f}"
            return Verdict(False, reason, saved, cost), own
    if saved <= cost:
        return Verdict(False, _too_long(saved, n_distinct, cost), saved, cost), own
    near = relation.at(obeys)
    missed = near.noise_in_deviations() * unseen(law.dof, int(n_distinct * share))
    if missed > criteria.core and None in law.rational:
        reason = f"{int(n_distinct * share):,} rows would not show a departure of {missed:.1%} of a deviation"
        return Verdict(False, reason, saved, cost), own
    if not exact and groups is None:
        column, left = most_left(near, X[obeys])
        if left > criteria.smooth:
            reason = f"{left:.0%} of the distances are a smooth function of column {law.columns[column]!r}"
            return Verdict(False, reason, saved, cost, lacks=column), own
    width = 0.0 if exact or groups is not None else _width_between_rows(near)
    sharp = law.share == 1.0 and width > criteria.width and _is_sharp(relation, criteria)
    if width > criteria.width and not sharp and not _is_white(relation, criteria):
        reason = f"the relation of the steps from row to row is {width:.0%} wide: a trend that columns share, not a law"
        return Verdict(False, reason, saved, cost, width), own
    if groups is None and _leaves_points_only(near, known, X[obeys]):
        reason = "with the laws found before it would leave points only"
        return Verdict(False, reason, saved, cost, width), own
    if groups is None and _may_follow(relation, known):
        q = _chance_on_known(X, relation, reach, known, random)
        if n_distinct * information(share, q) <= cost:
            return Verdict(False, "it follows from the laws found before", saved, cost, width), own
    in_deviations = relation_of(law, X, groups, multiplicative=False).tolerance(exact=exact)
    return Verdict(True, "", saved, cost, width, -n_distinct * share * log2(in_deviations) - cost), own


def follows_from(law: Law, other: Law, X: Float2D) -> bool:
    """Whether points that obey another law obey this one.

    Examples
    --------
    >>> from vanishing import discover
    >>> x = np.random.default_rng(0).uniform(1, 2, (60, 2))
    >>> X = np.column_stack([x, x.prod(axis=1)])
    >>> law = discover(X)[0]
    >>> follows_from(law, law, X)
    True
    """
    relation, known = relation_of(law, X), relation_of(other, X)
    reach = relation.tolerance(exact=law.kind == "exact")
    places = [Known(known, known.tolerance(exact=other.kind == "exact"))]
    q = _chance_on_known(X, relation, reach, places, np.random.default_rng(SEED))
    return len(X) * information(relation.share(reach), q) <= bits_of_equation(law, len(X))


def is_narrower(law: Law, other: Law, X: Float2D) -> bool:
    """Whether the rows that obey a law are nearer to it than the noise of another one."""
    return relation_of(law, X, multiplicative=_is_multiplicative(other)).tolerance() <= other.level


def bits_of_rows(share: float) -> float:
    """Bits a row that say which rows obey.

    Examples
    --------
    >>> bits_of_rows(0.5), round(bits_of_rows(0.9), 2), bits_of_rows(1.0)
    (1.0, 0.47, 0.0)
    """
    return -sum(p * log2(p) for p in (share, 1.0 - share) if p > 0.0) + 0.0


def most_saved(n_distinct: int) -> float:
    """The most bits that an equation can save on some distinct rows: those of chance that never obeys it."""
    return n_distinct * log2(2.0 * (_DRAWS + 1))


@dataclass(eq=False)
class Judgement:
    """The laws of a table, one judged after another.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
    groups : ndarray of shape (n_rows,), optional
    laws : list of Law
        Those accepted, and those of a single column, which no other column can speak for.
    rejected : list of Attempt
    net : float
        The most that one of the laws is worth, in bits.
    """

    X: Float2D
    groups: Int1D | None = None
    laws: list[Law] = field(default_factory=list)
    rejected: list[Attempt] = field(default_factory=list)
    net: float = -np.inf
    _known: list[Known] = field(default_factory=list)

    @property
    def between_columns(self) -> list[Law]:
        """The laws of two or more columns that were accepted."""
        return [law for law in self.laws if len(law.variables) > 1 and law.kind != "dense"]

    def copy(self) -> Judgement:
        """The same judgement, to which other laws may be added; ``net`` is that of these."""
        return replace(self, laws=[*self.laws], rejected=[*self.rejected], net=-np.inf, _known=[*self._known])

    def add(self, laws: Sequence[Law]) -> list[Verdict]:
        """Judge more laws, in this order; the verdicts on those between columns."""
        verdicts = []
        for law in laws:
            if len(law.variables) < 2:
                if _is_wide(law, self.X):
                    self._reject(law, "most values are not near it")
                elif all(law.variables != other.variables for other in self.laws):
                    self.laws.append(law)
                continue
            if law.kind == "dense" and any(
                set(other.variables) <= set(law.variables) for other in self.between_columns
            ):
                continue  # a law says what these columns have in common
            law = without_factors(law, self.X)
            verdict, own = judge(law, self.X, self._known, self.groups)
            verdicts.append(verdict)
            if not verdict.accepted:
                self._reject(law, verdict.reason)
                continue
            self.laws.append(law)
            if law.kind != "dense":
                self._known.append(own)
                self.net = max(self.net, verdict.net)
        return verdicts

    def _reject(self, law: Law, reason: str) -> None:
        said = f"{law.equation[:_SHOWN]}: {reason}"
        self.rejected.append(Attempt(law.degree, len(law.coef), law.level, said, law.J, law.dof))


def _is_wide(law: Law, X: Float2D) -> bool:
    """Whether a law of one column leaves half of its values further away than a law may be, in robust deviations."""
    relation = relation_of(law, X)
    return bool(np.median(relation.distance(relation.Z)) / HALF_OF_NORMAL > CRITERIA.noise)


def _leaves_points_only(relation: Relation, known: Sequence[Known], X: Float2D) -> bool:
    """Whether a relation and the laws of its columns have as many independent gradients as there are columns.

    The line through a curve is near to the rows, too; with the curve it would leave their intersections.
    """
    inside = [entry.relation for entry in known if set(entry.relation.columns) <= set(relation.columns)]
    if not inside:
        return False
    rows = np.linspace(0, len(X) - 1, min(len(X), SOME_ROWS)).astype(np.int64)
    place = {j: k for k, j in enumerate(relation.columns)}
    gradients = np.zeros((len(rows), len(inside) + 1, len(place)))
    for k, each in enumerate([*inside, relation]):
        Z = each.scaled(X[rows])
        slopes = each.values_and_slopes(Z)[1] * each.spread
        gradients[:, k, [place[j] for j in each.columns]] = slopes
    length = np.linalg.norm(gradients, axis=2, keepdims=True)
    gradients = gradients / np.where(length > 0.0, length, 1.0)
    ranks = np.linalg.matrix_rank(np.nan_to_num(gradients), tol=CRITERIA.parallel)
    return bool(np.median(ranks) == len(place))


def _may_follow(relation: Relation, known: Sequence[Known]) -> bool:
    """Whether a relation has another degree than all known laws, or the terms of one and more.

    Another equation of the same degree is a generator of its own, as ``xz = y^2`` is beside ``y = x^2`` and ``z = xy``.
    """
    own = relation.terms()
    other_degree = all(entry.relation.degree != relation.degree for entry in known)
    return bool(known) and (other_degree or any(entry.relation.terms() <= own for entry in known))


def _too_long(saved: float, n_distinct: int, cost: float) -> str:
    return f"it saves {saved:.0f} bits on {n_distinct:,} distinct rows, and takes {cost:.0f} to write down"


def without_factors(law: Law, X: Float2D) -> Law:
    """The law divided by those of its columns that are a factor of all terms, and not zero within the noise of a row.

    Examples
    --------
    >>> from vanishing import discover
    >>> x = np.random.default_rng(0).uniform(1, 2, (60, 2))
    >>> X = np.column_stack([x, x.prod(axis=1)])
    >>> law = discover(X)[0]
    >>> without_factors(replace(law, exponents=law.exponents + np.array([0, 0, 1])), X).equation
    'x0*x1 = x2'
    """
    size = np.abs(X - law.origin)
    noise = REACH * law.noise * (size if _is_multiplicative(law) else 1.0)
    common = np.where((size > noise).all(axis=0), law.exponents.min(axis=0), 0)
    left = law.exponents - common
    return replace(law, exponents=left) if common.any() and left.any(axis=0).sum() > 1 else law


def bits_of_equation(law: Law, n_rows: int) -> float:
    """Bits to write an equation down.

    Which of the monomials of all columns up to its degree it has, ``log2 C(M, T)``; its coefficients, ``1 + log2(1 +
    |p|) + log2 q`` for a rational number and ``1 + log2(|c| / error)`` for a real one; and the origins of columns. The
    equation may be multiplied by any number, so that one real coefficient is free.
    """
    n_terms, n_columns = law.exponents.shape
    bits = _bits_of_numbers(law, n_rows)
    free = max(bits) if all(exact is None for exact in law.rational) else 0.0
    terms = log2(comb(comb(n_columns + law.degree, law.degree), n_terms))
    return terms + sum(bits) - free + _BITS_OF_ORIGIN * int(np.count_nonzero(law.origin))


def _bits_of_numbers(law: Law, n_rows: int) -> list[float]:
    bits = []
    for c, error, exact in zip(law.coef, law.stderr, law.rational, strict=True):
        if exact is not None:
            bits.append(1.0 + log2(1 + abs(exact.numerator)) + log2(exact.denominator))
        elif error > 0.0 and np.isfinite(error):
            bits.append(1.0 + max(log2(max(abs(c) / error, 1.0)), 1.0))
        else:
            bits.append(_real_bits(n_rows))
    return bits


def _real_bits(n_rows: int) -> float:
    """Bits of a real number that is known up to ``1 / sqrt(n_rows)`` of its size."""
    return 1.0 + max(0.5 * log2(n_rows), 1.0)


def _some_rows(n_rows: int, random: np.random.Generator) -> Int1D:
    rows: Int1D = np.arange(n_rows) if n_rows <= MANY_ROWS else random.choice(n_rows, MANY_ROWS, replace=False)
    return np.repeat(rows, max(_DRAWS // len(rows), 1))


def _chances(X: Float2D, relation: Relation, reach: float, random: np.random.Generator) -> list[float]:
    """For every column of a relation, how often rows obey it with that column drawn from its own values."""
    rows = _some_rows(len(X), random)
    level = relation.level if np.isscalar(relation.level) else relation.level[rows]
    chances = []
    for j in range(len(relation.columns)):
        drawn = relation.Z[rows]
        drawn[:, j] = relation.Z[random.integers(0, len(X), len(rows)), j]
        chances.append(share_within(relation.distance(drawn, level), reach))
    return chances


def _chance_on_known(
    X: Float2D, relation: Relation, reach: float, known: Sequence[Known], random: np.random.Generator
) -> float:
    """How often points that obey the known laws obey this relation, too.

    Rows with some of their entries drawn anew are moved onto the known laws; those that arrive, between the smallest
    and the largest value of every column, are such points.
    """
    rows = _some_rows(len(X), random)
    drawn = X[rows]
    anew = random.random(drawn.shape) < 0.5
    drawn[anew] = X[random.integers(0, len(X), drawn.shape), np.arange(X.shape[1])][anew]
    moved, distances = moved_onto([entry.relation for entry in known], drawn)
    low, high = X.min(axis=0), X.max(axis=0)
    with np.errstate(invalid="ignore"):
        arrived = ((moved >= low) & (moved <= high)).all(axis=1)
    for entry, distance in zip(known, distances, strict=True):
        arrived &= distance <= entry.tolerance
    if arrived.sum() < sqrt(len(rows)):  # the known laws leave no room for other points
        return 1.0
    return share_within(relation.distance(relation.scaled(moved[arrived]), 0.0), reach)


def most_left(relation: Relation, X: Float2D) -> tuple[int, float]:
    """The column whose neighbouring rows say most about distances from a relation, and which share of their variance.

    A law without one of its columns holds where that column hardly varies, and leaves what it does vary.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(1.0, 2.0, (300, 3))
    >>> x[:, 1] = x[:, 0] + 0.01 * x[:, 2]
    >>> line = Relation(x, np.array([[1, 0, 0], [0, 1, 0]]), [1.0, -1.0], np.zeros(3))
    >>> column, share = most_left(line, x)
    >>> column, share > 0.5
    (2, True)
    """
    distinct = np.unique(relation.Z.round(12), axis=0, return_index=True)[1]  # repeated rows are no evidence
    relation, X = relation.at(distinct), X[distinct]
    distance = relation.signed_distance(relation.Z)
    by_rounding = relation.variance_of_rounding(rounding_steps(X[:, relation.columns]))
    random, shares = np.random.default_rng(SEED), []
    for column in moved_onto([relation], X)[0].T:  # noise that moves a row away from the law would sort it, too
        shuffled = random.permutation(len(X))  # rows with one value have no order
        order = shuffled[np.argsort(column[shuffled], kind="stable")]
        shares.append(predictable(distance[order], by_rounding))
    most = int(np.argmax(shares))
    return most, shares[most]


def _width_between_rows(relation: Relation) -> float:
    """Robust size of ``g(x_(i+1)) - g(x_i)``, as a share of what independent steps of the columns would give."""
    Z = relation.Z
    steps, middle = np.diff(Z, axis=0), (Z[1:] + Z[:-1]) / 2.0
    values, _ = relation.values_and_slopes(Z)
    _, slopes = relation.values_and_slopes(middle)
    expected = np.sqrt(((slopes * middle_spread(steps)) ** 2).sum(axis=1))
    if not np.median(expected) > 0.0:  # all columns count rows: their steps say nothing
        return 1.0
    return float(np.median(np.abs(np.diff(values)) / np.maximum(expected, 1e-300)) / HALF_OF_NORMAL)


def _is_sharp(relation: Relation, criteria: Criteria) -> bool:
    """Whether a curved relation is sharper, for one of its columns, than a linear regression on the others.

    Bits a row: ``log2`` of the median residual of the robust regression over that of the relation solved for the
    column, ``|g / (dg/dx_j)|``. A trend that columns share is as sharp without curvature.
    """
    if relation.degree == 1:
        return False
    (n_rows, n), (values, slopes) = relation.Z.shape, relation.values_and_slopes(relation.Z)
    for j in range(n):
        design = np.column_stack([np.ones(n_rows), np.delete(relation.Z, j, axis=1)])
        residual = _robust_residuals(design, relation.Z[:, j])
        with np.errstate(all="ignore"):
            own = np.median(np.where(values == 0.0, 0.0, np.abs(values / slopes[:, j])))
        fair = np.median(residual) * sqrt(n_rows / max(n_rows - n, 1))
        if fair > 2.0**criteria.gain * max(own, LEFT_BY_ROUNDING):
            return True
    return False


def _robust_residuals(design: Float2D, values: Float1D) -> Float1D:
    """Sizes of the residuals of a regression on the rows within four deviations of it."""
    kept = np.ones(len(values), dtype=bool)
    for _ in range(4):
        solution = np.linalg.lstsq(design[kept], values[kept], rcond=None)[0]
        residual = np.abs(values - design @ solution)
        near = residual <= max(4.0 * np.median(residual) / HALF_OF_NORMAL, LEFT_BY_ROUNDING)
        if near.sum() <= design.shape[1] + 2 or np.array_equal(near, kept):
            break
        kept = near
    return residual


def _is_white(relation: Relation, criteria: Criteria) -> bool:
    """Whether residuals are within the width of a law, and those of successive rows do not correlate.

    Steps between rows say little where rows were sorted, or columns change slowly beside their noise. What is left of
    a shared trend walks from row to row.
    """
    distance = relation.signed_distance(relation.Z)
    deviation = np.median(np.abs(distance)) / HALF_OF_NORMAL
    residual = np.clip(distance, -4.0 * deviation, 4.0 * deviation)
    place = np.column_stack([np.ones(len(residual)), np.linspace(-1.0, 1.0, len(residual))])
    residual = residual - place @ np.linalg.lstsq(place, residual, rcond=None)[0]
    squares = float(residual @ residual)
    if not squares > 0.0 or deviation > criteria.width:
        return False
    return float(residual[1:] @ residual[:-1]) / squares < criteria.whiteness / sqrt(len(residual))
