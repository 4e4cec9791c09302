"""Dirty training rows: concentration steps find the rows that fit best, so that anomalies do not hide themselves.

Each step fits q of degree 1 to the rows kept so far, and keeps the four fifths of all rows with the lowest q (as for
least trimmed squares: Rousseeuw and Van Driessen, 2006). Polynomials of a higher degree would bend towards clusters of
anomalies. The rows kept in the end have a q and regimes of their own, which are further parts of the score. Units and
limit of the score come from the rows whose distance, the root of the last q, is within the outer fence.
"""

from __future__ import annotations

import numpy as np

from .._typing import Bool1D, Float1D
from .calibration import weighted_quantiles, within_fence
from .christoffel import Christoffel, left_out
from .sums import Sample

TRIMMED = 0.2  # share of the rows left out: more than are anomalies in nearly all tables
STEPS = 3  # fits: each moves the model away from the anomalies, the next ones hardly


def refitted(christoffel: Christoffel, sample: Sample, chosen: Bool1D) -> tuple[Christoffel, Float1D]:
    """q of some rows of a sample, and its values on all of them: a chosen row is left out."""
    V, weights = christoffel.monomials.values(sample.X), np.where(chosen, sample.weights, 0.0)
    total = float(weights.sum())
    found = Christoffel.of_gram(christoffel.monomials, (V * weights) @ V.T / total)
    return found, left_out(found.of_values(V), weights, total)


def concentrate(christoffel: Christoffel, sample: Sample) -> tuple[Bool1D, Bool1D]:
    """Which rows of a sample are kept after the concentration steps, and which are not far from these."""
    linear = christoffel.without((), 1) or christoffel
    kept, q = np.ones(len(sample.X), dtype=bool), np.ones(len(sample.X))
    for _ in range(STEPS):
        _, q = refitted(linear, sample, kept)
        kept = q <= weighted_quantiles(q, sample.weights, [1.0 - TRIMMED])[0]
    return kept, within_fence(np.sqrt(q), sample.weights)
