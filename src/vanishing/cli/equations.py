"""Equations as commands print them: in the units of the files, relations between columns first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..constants import IN_HTML
from ..ideals.ideal import MonomialIdeal
from ..polynomials.affine import without_rounding
from ..polynomials.polynomial import Polynomial, Polynomials


def equation_lines(title: str, ideal: Any, scaler: Any) -> Iterator[str]:
    """The equations of an ideal that was fitted to scaled columns, and a sentence about relations."""
    listed = listed_equations(ideal, scaler)
    yield f"{title}: {len(listed)} equations" + (", in the units of the files" if scaler is not None else "")
    for entry in listed[:IN_HTML]:
        yield f"  {entry['equation']} = 0    (root mean square {entry['rms']:.2g} for columns in [0, 1])"
    if len(listed) > IN_HTML:
        yield f"  ... and {len(listed) - IN_HTML} more"
    if isinstance(ideal, MonomialIdeal) and listed:
        yield str(ideal.relations())


def listed_equations(ideal: Any, scaler: Any) -> list[dict[str, Any]]:
    """Equations with their root mean squares: relations first, then lower degrees, and of one degree the best."""
    generators: Polynomials = ideal if isinstance(ideal, Polynomials) else ideal.generators_
    shown = polynomials_in_units(generators, scaler)
    relations = ideal.relations() if isinstance(ideal, MonomialIdeal) and len(generators) else None
    rank = np.zeros(len(generators)) if relations is None else relations.rank
    order = sorted(range(len(generators)), key=lambda g: (rank[g], shown[g].degree, generators.mse[g]))
    return [{"equation": str(shown[g]), "rms": float(generators.mse[g] ** 0.5)} for g in order]


def polynomials_in_units(generators: Polynomials, scaler: Any) -> list[Polynomial]:
    """The generators in the units of the files, each with the first coefficient 1, without rounding errors as terms."""
    size = np.ones(len(generators.feature_names))
    if scaler is None:
        return [without_rounding(polynomial, size) for polynomial in generators]
    size = np.maximum(np.abs(scaler.data_min_), np.abs(scaler.data_max_))
    return [without_rounding(polynomial, size) for polynomial in generators.in_units(scaler)]
