"""Rows that may hold anomalies: concentration steps, against least squares without each row, and the parts they add."""

import re

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from vanishing import VanishingIdealDetector
from vanishing.detection.christoffel import Christoffel, Monomials
from vanishing.detection.columns import survey_columns
from vanishing.detection.regimes import fit_regimes
from vanishing.detection.sums import Sample, sum_rows
from vanishing.detection.trimming import concentrate, refitted
from vanishing.rows.arrays import ArrayRows


def christoffel_of(X, weights, degree=1):
    rows = ArrayRows(X, weights)
    monomials = Monomials.of_columns(survey_columns(rows, "abc"[: X.shape[1]]), [], degree)
    sums = sum_rows(rows, monomials)
    return Christoffel.of_gram(monomials, sums.gram / sums.total_weight)


def sample_of(X, weights):
    return Sample(np.zeros(len(X)), X, weights)


def distances_without_each_row(X, kept):
    """``v' M^-1 v`` of every row, with M the mean of v v' over the kept rows but the row itself."""
    V = np.column_stack([np.ones(len(X)), X])
    found = np.empty(len(X))
    for i, v in enumerate(V):
        rest = V[kept[kept != i]]
        found[i] = v @ np.linalg.solve(rest.T @ rest / len(rest), v)
    return found


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_rows_kept_are_those_nearest_to_the_others(seed, degree):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3))
    X[:8] += 3.0 * X.std(axis=0)
    kept = np.arange(80)
    for _ in range(3):
        kept = np.argsort(distances_without_each_row(X, kept))[:64]
    ones = np.ones(80)
    found, near = concentrate(christoffel_of(X, ones, degree), sample_of(X, ones))
    assert set(np.flatnonzero(found)) == set(kept)
    assert near[kept].all()


def test_a_weight_counts_like_repeated_rows():
    rng = np.random.default_rng(5)
    X, weights = rng.normal(size=(60, 2)), rng.integers(1, 4, 60)
    repeated, ones = np.repeat(X, weights, axis=0), np.ones(weights.sum())
    once = concentrate(christoffel_of(X, 1.0 * weights), sample_of(X, 1.0 * weights))
    every = concentrate(christoffel_of(repeated, ones), sample_of(repeated, ones))
    np.testing.assert_array_equal(np.repeat(once, weights, axis=1), every)


def test_robust_parts_are_those_of_a_fit_to_the_rows_kept():
    rng = np.random.default_rng(1)
    X, ones = rng.normal(size=(90, 2)), np.ones(90)
    kept = np.arange(90) % 5 > 0
    christoffel = christoffel_of(X, ones, 2)
    found, q = refitted(christoffel, sample_of(X, ones), kept)
    V = christoffel.monomials.values(X[kept])
    np.testing.assert_allclose(found.gram, V @ V.T / kept.sum(), rtol=1e-12)
    np.testing.assert_allclose(q[~kept], found.of_rows(X[~kept]), rtol=1e-12)
    assert (q[kept] > found.of_rows(X[kept])).all()
    some, C = fit_regimes(X, ones, kept)
    alone, C_alone = fit_regimes(X[kept], ones[kept])
    np.testing.assert_allclose(C[kept], C_alone, rtol=1e-9)
    np.testing.assert_allclose(C[~kept], alone.surprise(X[~kept]), rtol=1e-9)
    np.testing.assert_allclose(some.surprise(X), alone.surprise(X), rtol=1e-9)


def test_a_cluster_of_anomalies_does_not_hide_itself():
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(500, 4)), rng.normal([7.0, 7.0, 0.0, 0.0], 0.8, (60, 4))])
    y = np.repeat([0, 1], [500, 60])
    plain, dirty = (VanishingIdealDetector(contamination=rate, series=False).fit(X) for rate in (0.01, "auto"))
    assert np.mean(dirty.predict(X[y == 1]) == -1) > 0.9
    assert np.mean(plain.predict(X[y == 1]) == -1) < 0.5
    assert roc_auc_score(y, -dirty.score_samples(X)) > 0.99
    n_far = int(re.search(r"(\d+) are far from the others and do not count", dirty.calibration_)[1])
    assert 55 <= n_far <= 65
    new = rng.normal(size=(4000, 4))
    assert 0.002 < np.mean(dirty.predict(new) == -1) < 0.04


def test_rows_that_are_read_once_and_streams_may_be_dirty():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(900, 3)), rng.normal(8.0, 0.5, (50, 3))])
    rng.shuffle(X)
    stream = VanishingIdealDetector(contamination="auto", series=False).fit(X[:400]).partial_fit(X[400:])
    whole = VanishingIdealDetector(contamination="auto", series=False).fit(X)
    assert np.corrcoef(stream.score_samples(X), whole.score_samples(X))[0, 1] > 0.95


def test_the_rows_that_fit_best_may_be_equal():
    X = np.zeros((100, 2))
    X[:10] = np.random.default_rng(0).normal(size=(10, 2))
    detector = VanishingIdealDetector(contamination="auto", series=False).fit(X)
    assert np.isfinite(detector.score_samples(X)).all()
