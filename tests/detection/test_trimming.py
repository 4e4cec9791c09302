"""Concentration steps, against least squares without each row."""

import numpy as np
import pytest

from vanishing.detection.sums import Sample
from vanishing.detection.trimming import concentrate


def distances_without_each_row(X, kept):
    """``v' M^-1 v`` of every row, with M the mean of v v' over the kept rows but the row itself."""
    V = np.column_stack([np.ones(len(X)), X])
    found = np.empty(len(X))
    for i, v in enumerate(V):
        rest = V[kept[kept != i]]
        found[i] = v @ np.linalg.solve(rest.T @ rest / len(rest), v)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_rows_kept_are_those_nearest_to_the_others(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3))
    X[:8] += 3.0 * X.std(axis=0)
    kept = np.arange(80)
    for _ in range(3):
        kept = np.argsort(distances_without_each_row(X, kept))[:64]
    score, limit, found = concentrate(Sample(np.zeros(80), X, np.ones(80)), 1, ["a", "b", "c"])
    assert set(np.flatnonzero(found)) == set(kept)
    np.testing.assert_array_equal(score.of_rows(X) <= limit, found)


def test_a_weight_counts_like_repeated_rows():
    rng = np.random.default_rng(5)
    X, weights = rng.normal(size=(60, 2)), rng.integers(1, 4, 60)
    repeated = np.repeat(X, weights, axis=0)
    _, _, once = concentrate(Sample(np.zeros(60), X, weights.astype(float)), 1, ["a", "b"])
    _, _, every = concentrate(Sample(np.zeros(len(repeated)), repeated, np.ones(len(repeated))), 1, ["a", "b"])
    np.testing.assert_array_equal(np.repeat(once, weights), every)
