"""Laws that some rows do not obey: the core says which rows count, and the moments of these rows give the numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._typing import Bool1D, Float1D, Float2D, Int2D
from ..display import in_percent
from ..rows.array_api import to_host
from ..rows.protocol import Block, Cost
from .candidates.core import FEWEST_VALUES, Core, find_cores, without_lumps, without_term
from .candidates.fitted import FittedLaw, fit_terms
from .candidates.power_laws import power_law_of
from .criteria import CRITERIA, Judgement, bits_of_equation, judge
from .estimate.gmm import Conditions
from .estimate.sample import make_sample
from .estimate.settings import DENSE, LIKELY, Attempt, Settings
from .rows.relation import MANY_ROWS, REACH, ROUNDED, middle_spread
from .rows.table import Table
from .say.describe import describe, power_law
from .say.law import Law

__all__ = ["core_laws", "with_exceptions"]

_OF_DIGITS = 0.005  # width of an equation of columns with two or three digits


def core_laws(table: Table, kept: Sequence[int], settings: Settings) -> tuple[list[Law], list[Attempt]]:
    """The laws of a table that some rows do not obey; and attempts that say how each search ended.

    After a law, the search goes on among the rows that obey it, without one of its columns, which the others give.
    Noise belongs to columns, so another law is about as narrow; a wider one is a correlation.
    Where a column is missing from an equation, it goes on among the equations with that column.
    """
    judgement, attempts, X = Judgement(table.X), list[Attempt](), table.X
    varying = [j for j in kept if _varies(X[:, j])]
    columns, needed, rows, widest = [*varying], set[int](), np.ones(len(X), dtype=bool), CRITERIA.core
    while len(columns) > 1 and (np.ptp(X[rows][:, columns], axis=0) > 0.0).all():
        distinct = np.unique(X[rows][:, varying], axis=0)
        search = _Search(
            distinct[without_lumps(distinct)][:, np.isin(varying, columns)], columns, widest, table, kept, settings
        )
        core = search.shortest(search.cores(needed))
        law, reason, lacks = search.law(core)
        while core is not None and law is not None and (idle := _idle_term(law, core, columns)) is not None:
            core = without_term(core, idle, search.some, X[:, columns])
            law, reason, lacks = search.law(core)
        if law is not None:
            verdict = judgement.add([law])[0]
            reason, lacks = verdict.reason, verdict.lacks
        used = [] if core is None else [columns[j] for j in core.columns]
        if lacks in columns and lacks not in (*needed, *used):
            needed.add(lacks)
            continue
        if core is None or reason:
            attempts.append(search.attempt(core, reason))
            break
        rows &= core.obeys
        widest = min(widest, max(REACH * core.width, _OF_DIGITS))
        columns.remove(min(used, key=lambda j: int(core.exponents[:, columns.index(j)].sum())))
        needed.clear()
    return judgement.laws, [*attempts, *judgement.rejected]


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for a core of some columns, in rows of which any half may obey."""

    some: Float2D
    columns: list[int]
    widest: float
    table: Table
    kept: Sequence[int]
    settings: Settings

    def cores(self, needed: Iterable[int] = (), *, power_laws: bool = False) -> list[Core]:
        """The cores that contain some columns."""
        places, every = [self.columns.index(j) for j in needed], self.table.X[:, self.columns]
        return find_cores(self.some, every, widest=CRITERIA.core, needed=places, power_laws=power_laws)

    def shortest(self, cores: Sequence[Core]) -> Core | None:
        """Of cores that are about as narrow, the one whose law takes the fewest bits: its numbers may be rational."""
        if len(cores) < 2:
            return cores[0] if cores else None
        bits = []
        for core in cores:
            may_be_one = core.width <= self.widest and self.still(core) is None
            law = self.fitted(core, MANY_ROWS) if may_be_one else None
            bits.append(np.inf if law is None else bits_of_equation(law, len(self.some)))
        return cores[int(np.argmin(bits))]

    def still(self, core: Core) -> int | None:
        """A column that is as good as constant on the rows that obey: the law may be a part of one that has it."""
        X, used = self.table.X, [self.columns[j] for j in core.columns]
        still = middle_spread(X[core.obeys]) < CRITERIA.core * middle_spread(X)
        still &= [
            _varies(column) for column in X.T
        ]  # the few rows with another value may be among the others by chance
        still[used] |= np.ptp(X[core.obeys][:, used], axis=0) == 0.0
        return int(still.argmax()) if still.any() else None

    def fitted(self, core: Core, most: int) -> Law | None:
        """The equation of a core with the numbers that at most so many of its rows give, or a few more."""
        used, places = [self.columns[j] for j in core.columns], np.flatnonzero(core.obeys)
        rows, exponents = places[:: max(len(places) // most, 1)], core.exponents[:, core.columns]
        settings = self.settings.of_columns([list(self.kept).index(j) for j in used], len(self.kept))
        return _law_of_rows(self.table.X[rows][:, used], exponents, self.table.names, used, settings)

    def law(self, core: Core | None) -> tuple[Law | None, str, int | None]:
        """The law of a core; or None, what is left to say about the core, and a column that it lacks."""
        if core is None or core.width > self.widest:
            return None, "none is near to half of the rows", None
        still = self.still(core)
        if still is not None:
            name = self.table.names[still]
            return None, f"one is near to half of the rows, but column {name!r} hardly varies there", still
        law = self.fitted(core, len(core.obeys))
        return None if law is None else with_exceptions(law, self.table, core.obeys, core.within), DENSE, None

    def attempt(self, core: Core | None, reason: str) -> Attempt:
        """How the search ended without a law: by an equation that nearly holds, the core's or that of a power law."""
        for each in (core, *self.cores(power_laws=True)[:1]):
            law = self.law(each)[0]
            if each is not None and law is not None and judge(law, self.table.X)[0].lacks is not None:
                share = "" if law.share == 1.0 else f" on {in_percent(law.share)} of the rows"
                holds = f"{law.equation} holds to {100.0 * each.within:.1g}% of the value{share}"
                return Attempt(0, 0, each.width, f"{holds}, but the rest is smooth, not noise")
        return Attempt(0, 0, float("nan") if core is None else core.width, reason)


def _idle_term(law: Law, core: Core, columns: Sequence[int]) -> int | None:
    """The term of a core whose coefficient in the law is smaller than its error, the one with the largest share."""
    real = [exact is None for exact in law.rational]
    shares = np.where(real, law.stderr / np.abs(law.coef), 0.0)
    if len(law.coef) < 3 or not shares.max() >= 1.0:
        return None
    return int(core.exponents.tolist().index(law.exponents[int(shares.argmax()), columns].tolist()))


def _varies(column: Float1D) -> bool:
    """Whether a column has a few values at least."""
    return len(np.unique(column)) >= FEWEST_VALUES


def _law_of_rows(
    X: Float2D, exponents: Int2D, names: Sequence[str], used: Sequence[int], settings: Settings
) -> Law | None:
    """The equation with these terms, with the numbers that its rows give; None if it may be a smooth curve's.

    Of the noise models it is the one that the test prefers. Power laws of columns without zeros, or of a higher degree
    than the moments have, are linear in the logarithms.
    """
    of_one_sign = bool(((X > 0.0).all(axis=0) | (X < 0.0).all(axis=0)).all())
    if len(exponents) == 2 and (of_one_sign or exponents.sum(axis=1).max() > settings.max_degree):
        X = X[(X != 0.0).all(axis=1)]
        if len(X) <= X.shape[1]:
            return None
        found = power_law_of(X, exponents[0] - exponents[1], models=[True])
        return power_law(found, names, X, used, snap=settings.snaps(found.exponents))
    fits: list[FittedLaw] = []
    for model, nuisance in settings.models:
        conditions = Conditions(make_sample(X, model=model), int(exponents.sum(axis=1).max()))
        fits.append(fit_terms(conditions, settings, exponents, nuisance))
        if fits[-1].exact or fits[-1].p_value >= LIKELY:
            break
    best = max(fits, key=lambda law: (law.exact, law.p_value))
    return None if best.dense else describe(best, names, used)


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
    why = f"It holds on {in_percent(share)} of the rows; the others do not count. {law.why}"
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
