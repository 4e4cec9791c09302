"""Laws that some rows do not obey: the core says which rows count, and the moments of these rows give the numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .._typing import Bool1D, Float1D, Float2D, Int2D
from ..rows.array_api import to_host
from ..rows.protocol import Block, Cost
from .candidates.core import Core, find_core, without_lumps, without_term
from .candidates.fitted import FittedLaw, fit_terms
from .candidates.power_laws import power_law_of
from .criteria import CRITERIA, Judgement
from .estimate.gmm import Conditions
from .estimate.moments import ADDITIVE, MULTIPLICATIVE
from .estimate.sample import make_sample
from .estimate.settings import DENSE, LIKELY, Attempt, Settings
from .rows.relation import ROUNDED, middle_spread
from .rows.table import Table
from .say.describe import describe, power_law, with_rational
from .say.law import Law

__all__ = ["core_laws", "with_exceptions"]

_FEWEST_VALUES = 6  # different values that a column needs in a law with exceptions
_MORE_WIDTH, _LEAST_WIDTH = 2.0, 0.005  # further cores: times the first one's; the limit is at least the second


def core_laws(table: Table, kept: Sequence[int], settings: Settings) -> tuple[list[Law], list[Attempt]]:
    """The laws of a table that some rows do not obey; and attempts that say how each search ended.

    After a law, the search goes on among the rows that obey it, without one of its columns, which the others give.
    Where a column is missing from an equation, it goes on among the equations with that column.
    """
    judgement = Judgement(table.X)
    attempts: list[Attempt] = []
    X, widest = table.X, CRITERIA.core
    varying = [j for j in kept if _varies(X[:, j])]
    columns, needed, rows = [*varying], set[int](), np.ones(len(X), dtype=bool)
    while len(columns) > 1 and (np.ptp(X[rows][:, columns], axis=0) > 0.0).all():
        distinct = np.unique(X[rows][:, varying], axis=0)
        some = distinct[without_lumps(distinct)][:, np.isin(varying, columns)]
        comparable = _comparable(settings, [list(kept).index(j) for j in columns], len(kept))
        places = [columns.index(j) for j in needed]
        core = find_core(some, X[:, columns], comparable, widest=CRITERIA.core, needed=places)
        while True:
            law, reason, lacks = _judged(core, columns, widest, table, kept, settings)
            idle = None if core is None or law is None else _idle_term(law, _in_table(core, columns, X.shape[1]))
            if core is None or idle is None:
                break
            core = without_term(core, idle, some, X[:, columns], comparable)
        if law is not None:
            verdict = judgement.add([law])[0]
            lacks = verdict.lacks
        if lacks in columns and lacks not in needed:
            needed.add(lacks)
            continue
        if law is None:
            power_law = find_core(some, X[:, columns], comparable, widest=CRITERIA.core, power_laws=True)
            near = [_in_table(c, columns, X.shape[1]) for c in (core, power_law) if c is not None]
            attempts.append(_attempt(near, table, kept, settings, reason))
        if core is None or law is None or not verdict.accepted:
            break
        rows &= core.obeys
        widest = min(widest, max(_MORE_WIDTH * core.width, _LEAST_WIDTH))
        lowest = min(core.columns, key=lambda j: int(core.exponents[:, j].sum()))
        columns.remove(columns[lowest])
        needed.clear()
    return judgement.laws, [*attempts, *judgement.rejected]


def _judged(
    core: Core | None, columns: Sequence[int], widest: float, table: Table, kept: Sequence[int], settings: Settings
) -> tuple[Law | None, str, int | None]:
    """The law of a core of some columns; or None, what is left to say about the core, and a column that it lacks."""
    if core is None or core.width > widest:
        return None, "none is near to half of the rows", None
    core = _in_table(core, columns, table.X.shape[1])
    still = _hardly_varies(table.X[core.obeys], table.X, core.columns)
    if still is not None:
        return None, f"one is near to half of the rows, but column {table.names[still]!r} hardly varies there", still
    return (_law(core, table, kept, settings) if core.smooth <= CRITERIA.smooth else None), DENSE, None


def _attempt(near: Sequence[Core], table: Table, kept: Sequence[int], settings: Settings, reason: str) -> Attempt:
    """How a search without a law ended: by a relation that nearly holds, the first of those that has a law's form."""
    for core in near:
        narrow = core.width <= CRITERIA.core and core.smooth > CRITERIA.smooth
        varies = narrow and _hardly_varies(table.X[core.obeys], table.X, core.columns) is None
        law = _law(core, table, kept, settings) if varies else None
        if law is not None:
            share = "" if law.share == 1.0 else f" on {law.share:.0%} of the rows"
            size = f"{100.0 * core.within:.1g}%"
            reason = f"{law.equation} holds to {size} of the value{share}, but the rest is smooth, not noise"
            return Attempt(0, 0, core.width, reason)
    return Attempt(0, 0, near[0].width if near else float("nan"), reason)


def _in_table(core: Core, columns: Sequence[int], n: int) -> Core:
    """A core of some columns as one of the table."""
    exponents = np.zeros((len(core.exponents), n), dtype=np.int64)
    exponents[:, columns] = core.exponents
    return replace(core, exponents=exponents)


def _idle_term(law: Law, core: Core) -> int | None:
    """The term of a core whose coefficient in the law is smaller than its error, the one with the largest share."""
    real = [exact is None for exact in law.rational]
    shares = np.where(real, law.stderr / np.abs(law.coef), 0.0)
    if len(law.coef) < 3 or not shares.max() >= 1.0:
        return None
    return int(core.exponents.tolist().index(law.exponents[int(shares.argmax())].tolist()))


def _comparable(settings: Settings, columns: Sequence[int], n_kept: int) -> Callable[[Int2D, int], Bool1D] | None:
    """Which terms in some of the columns may have rational multiples of each other's coefficients."""
    if not settings.snap:
        return lambda exponents, k: np.arange(len(exponents)) == k
    return settings.of_columns(columns, n_kept).comparable


def _varies(column: Float1D) -> bool:
    """Whether a column has a few values at least."""
    return len(np.unique(column)) >= _FEWEST_VALUES


def _hardly_varies(obeying: Float2D, X: Float2D, used: Sequence[int]) -> int | None:
    """A column that is as good as constant on the rows that obey: the law may be a part of one that has the column."""
    still = middle_spread(obeying) < CRITERIA.core * middle_spread(X)
    still &= [_varies(column) for column in X.T]  # the few rows with another value may be among the others by chance
    still[used] |= np.ptp(obeying, axis=0)[used] == 0.0
    return int(still.argmax()) if still.any() else None


def _law(core: Core, table: Table, kept: Sequence[int], settings: Settings) -> Law | None:
    """The law of a core, with the numbers that the rows give which obey it; None if it may be a smooth curve's."""
    X, used = table.X[core.obeys], core.columns
    if len(core.coef) == 2 and ((X[:, used] > 0.0).all(axis=0) | (X[:, used] < 0.0).all(axis=0)).all():
        found = power_law_of(X, core.exponents[0] - core.exponents[1], models=[True])
        snap = settings.snaps(found.exponents[list(kept)])
        law = power_law(found, replace(table, X=X, n_rows=len(X)), range(len(table.names)), snap=snap)
    else:
        fitted = _fitted(core, X, settings.of_columns([list(kept).index(j) for j in used], len(kept)))
        if fitted.dense and not core.special:
            return None
        law = describe(replace(fitted, dense=False), table.names, used)
        if sum(map(bool, core.rational)) > sum(map(bool, law.rational)):
            law = with_rational(law, {tuple(e): r for e, r in zip(core.exponents.tolist(), core.rational, strict=True)})
    return with_exceptions(law, table, core.obeys, core.within)


def _fitted(core: Core, X: Float2D, settings: Settings) -> FittedLaw:
    """The equation of a core by moments, under the noise model that the test prefers."""
    used, fits = core.columns, []
    for model, nuisance in ((ADDITIVE, "level"), (MULTIPLICATIVE, "level"), (ADDITIVE, "columns")):
        conditions = Conditions(make_sample(X[:, used], model=model), int(core.exponents.sum(axis=1).max()))
        fits.append(fit_terms(conditions, settings, core.exponents[:, used], nuisance))
        if fits[-1].exact or fits[-1].p_value >= LIKELY:
            break
    return max(fits, key=lambda law: (law.exact, law.p_value))


def with_exceptions(law: Law, table: Table, obeys: Bool1D, within: float) -> Law:
    """The law with the rows that do not obey it, worst first."""
    distance: Float1D = law.distance(table.X)
    share = float(obeys.mean())
    if not table.whole:
        share = _share_of_all(law, table, float(distance[obeys].max()))
    if share == 1.0:
        return law
    off = np.flatnonzero(~obeys)
    off = off[np.argsort(-distance[off], kind="stable")]
    why = f"It holds on {share:.0%} of the rows; the others do not count. {law.why}"
    kind = "law" if law.kind == "exact" else law.kind
    return replace(law, share=share, within=within, off=tuple(off.tolist()), why=why, kind=kind)


def _share_of_all(law: Law, table: Table, limit: float) -> float:
    """The share of all rows that are no further from a law than those of the selected rows that obey; one pass."""

    def kernel(block: Block) -> int:
        rows = np.asarray(to_host(block.X), dtype=np.float64)
        return int((law.distance(rows) <= max(limit, ROUNDED)).sum())

    n_terms = len(law.coef)
    n_near: int = table.rows.reduce(kernel, operator.add, Cost(n_terms * len(law.columns), 4 * n_terms))
    return n_near / table.n_rows
