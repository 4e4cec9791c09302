"""Confirmation on all rows: moments in one pass, then coefficients, noise and test of laws found in some rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..._typing import Int2D
from ...rows.array_api import to_host
from ...rows.protocol import Block, Cost, Rows
from ..estimate.gmm import Conditions, is_rejected
from ..estimate.moments import collect_moments
from ..estimate.settings import LIKELY, Attempt, Settings
from ..rows.relation import LEFT_BY_ROUNDING
from ..rows.table import standardised, take
from .fitted import FittedLaw, refit

__all__ = ["confirm"]


def confirm(
    laws: Sequence[FittedLaw], rows: Rows, n_rows: int, kept: Sequence[int], settings: Settings
) -> tuple[list[FittedLaw], list[Attempt]]:
    """The laws on all rows; and attempts that say why all rows reject the others.

    The weights of the moment conditions stay those of the selected rows; two passes at most.
    """
    confirmed: list[FittedLaw] = []
    rejected: list[Attempt] = []
    noisy = [law for law in laws if not law.exact]
    samples = {id(law.conditions.sample): law.conditions.sample for law in noisy}
    tables = {}
    for key, sample in samples.items():
        own = [law.conditions for law in noisy if law.conditions.sample is sample]
        degree = max(conditions.degree + conditions.tests.degree for conditions in own)
        source = standardised(rows, kept, sample.origin + sample.centre, sample.scale)
        tables[key] = collect_moments(source, degree, n_rows, sample.model)
    for law in laws:
        degree, exponents = law.conditions.degree, law.conditions.terms.exponents[law.support]
        if law.exact:
            worst = largest_residual(law, rows, kept)
            if worst <= LEFT_BY_ROUNDING:
                confirmed.append(law)
            else:
                rejected.append(_rejection(law, f"exact on the selected rows, but not on all: residual {worst:.2g}"))
            continue
        extra = law.conditions.tests.degree - degree
        conditions = Conditions(law.conditions.sample, degree, extra, tables[id(law.conditions.sample)])
        whole = _on_all_rows(law, conditions, settings, exponents)
        if is_rejected(whole.J, whole.dof, n_rows):
            rejected.append(_rejection(whole, "rejected by all rows together"))
        else:
            confirmed.append(whole)
    return confirmed, rejected


def _on_all_rows(law: FittedLaw, conditions: Conditions, settings: Settings, exponents: Int2D) -> FittedLaw:
    """The law on all rows; where one noise level for all columns is not quite true, with a level for each."""
    whole = refit(law, conditions, settings, exponents)
    if law.nuisance != "level" or conditions.degree == 1 or whole.p_value >= LIKELY:
        return whole
    free = refit(replace(law, nuisance="columns", variances=whole.variances), conditions, settings, exponents)
    return free if free.p_value > whole.p_value else whole


def _rejection(law: FittedLaw, reason: str) -> Attempt:
    return Attempt(law.conditions.degree, len(law.support), law.level, reason, law.J, law.dof)


def largest_residual(law: FittedLaw, rows: Rows, kept: Sequence[int]) -> float:
    """The largest ``|g|`` on any row, over the sum of the absolute values of its terms; one pass."""
    conditions = law.conditions
    exponents = conditions.terms.exponents[law.support]
    coef = law.c[law.support] / conditions.unit[law.support]
    columns, shift = np.array(list(kept)), conditions.sample.origin

    def kernel(block: Block) -> float:
        X = np.asarray(to_host(take(block.X, columns, axis=1)), dtype=np.float64) - shift
        terms = np.array([c * np.prod(X**e, axis=1) for c, e in zip(coef, exponents, strict=True)])
        return float((np.abs(terms.sum(axis=0)) / np.maximum(np.abs(terms).sum(axis=0), 1e-300)).max())

    return rows.reduce(kernel, max, Cost(len(coef) * exponents.shape[1], 4 * len(coef)))
