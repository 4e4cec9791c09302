"""The l1 SVM of many rows starts from a part of them."""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from test_separable import make_rows

from vanishing import L1SVC, OAVI, VCA, Columns, VanishingIdealClassifierCV
from vanishing.classification.model.features import FeatureMap
from vanishing.rows.arrays import as_rows
from vanishing.rows.protocol import Cost
from vanishing.svm import SquaredHinge


def test_a_part_stands_for_all_rows():
    X, signed = make_rows("overlapping", 60_000, 3)
    data = SquaredHinge(as_rows(X, signed))
    part = data.part()
    assert part is not None
    assert part.rows.n_samples == 2 * 600 * 4  # 600 rows of each label for each number of the plane
    assert part.total_weight == pytest.approx(data.total_weight, rel=0.05)
    x = np.array([0.3, 0.2, 0.1, -0.5])
    assert part.sums(x).loss == pytest.approx(data.sums(x).loss, rel=0.1)
    assert data.part() is None  # handed out once


def test_few_rows_have_no_part():
    X, signed = make_rows("overlapping", 4_000, 10)
    assert SquaredHinge(as_rows(X, signed)).part() is None


@pytest.mark.slow
def test_a_search_on_a_sample_ends_with_the_classifier_of_all_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (60_000, 2))
    y = np.digitize((X**2).sum(axis=1) + 0.2 * rng.standard_normal(len(X)), [0.4, 0.9])
    weights = rng.choice([0.5, 2.0], len(X))
    options = {"psis": [0.01], "Cs": [1.0], "cv": 2, "final_estimator": L1SVC()}
    whole = VanishingIdealClassifierCV(search_rows=None, **options).fit(X, y, weights)
    one, two = (VanishingIdealClassifierCV(n_jobs=n, search_rows=1_000, **options).fit(X, y, weights) for n in (1, 2))
    assert np.mean(one.predict(X) == whole.predict(X)) > 0.985
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("ideal", [OAVI(psi=1e-3), VCA(psi=1e-3)], ids=["OAVI", "VCA"])
def test_columns_that_are_computed_in_a_pass_are_those_that_are_kept(ideal):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3_000, 3))
    ideals = [clone(ideal).fit(X), clone(ideal).fit(X**2), clone(ideal).set_params(psi=0.0, max_degree=1).fit(X)]
    mapping = FeatureMap.of([ideals], Columns(hinges=3, monomials=2), X)
    mapping = mapping.select(rng.random(mapping.n_columns) < 0.7)
    mapping = replace(mapping, width=rng.uniform(1.0, 2.0, mapping.n_columns))
    rows = as_rows(X)
    kept = mapping.over(rows)
    blocks = mapping.computed_over(rows).reduce(lambda block: [block.X], operator.add, Cost(1, 1, fewest=1))
    np.testing.assert_allclose(np.vstack(blocks), kept, rtol=1e-12, atol=1e-14)
