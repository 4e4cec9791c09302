"""The l1 SVM of many rows from a part of them: the optimum up to chance, in few passes."""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np
import pytest
from reference import svm_objective
from sklearn.base import clone
from test_separable import CountedRows, make_rows

from vanishing import OAVI, VCA, VanishingIdealClassifierCV
from vanishing.classification import fitting
from vanishing.classification.extras import Extras, hinge_knots
from vanishing.classification.features import FeatureMap
from vanishing.rows.arrays import as_rows
from vanishing.rows.protocol import Cost
from vanishing.svm import SquaredHinge, hyperplanes
from vanishing.svm.newton import hyperplane_from


@pytest.mark.parametrize(("kind", "most_passes"), [("overlapping", 5), ("almost separable", 12), ("touching", 6)])
def test_the_optimum_is_that_of_all_rows_up_to_chance(kind, most_passes):
    X, signed = make_rows(kind)
    rows = CountedRows(X, signed)
    part = SquaredHinge.in_memory(X[::8].copy(), 8.0 * signed[::8])
    found = hyperplane_from(part, SquaredHinge(rows), 1.0, tol=1e-3, part_tol=1e-3, max_iter=100)
    (exact,) = hyperplanes(SquaredHinge(CountedRows(X, signed)), [1.0], tol=1e-8, max_iter=200)
    assert found.converged
    assert rows.n_passes <= most_passes
    assert (1.0 - 1e-12) * exact.objective <= found.objective <= (1.0 + 0.5 / np.sqrt(len(X))) * exact.objective
    assert found.gap >= found.objective - exact.objective - 1e-12 * exact.objective


def test_a_gap_that_need_not_be_proven_saves_steps_and_is_reached_nearly():
    X, signed = make_rows("overlapping")
    loose, proven, exact = (
        next(hyperplanes(SquaredHinge(CountedRows(X, signed)), [1.0], max_iter=200, **options))
        for options in ({"tol": 5e-3, "proven": False}, {"tol": 5e-3}, {"tol": 1e-8})
    )
    assert loose.converged
    assert loose.n_iter < proven.n_iter
    assert exact.objective <= loose.objective <= (1.0 + 1e-3) * exact.objective


def test_too_few_steps_from_a_part_do_not_converge():
    X, signed = make_rows("overlapping", 4_000)
    part = SquaredHinge.in_memory(X[::8].copy(), 8.0 * signed[::8])
    found = hyperplane_from(part, SquaredHinge(CountedRows(X, signed)), 1.0, tol=1e-3, part_tol=1e-3, max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
    assert found.objective == pytest.approx(svm_objective(X, signed, 1.0, found.x), rel=1e-10)


def test_a_search_on_a_sample_ends_with_the_same_classifier_from_a_part(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (6_000, 2))
    y = np.digitize((X**2).sum(axis=1) + 0.2 * rng.standard_normal(len(X)), [0.4, 0.9])
    weights = rng.choice([0.5, 2.0], len(X))
    options = {"psis": [0.01], "Cs": [1.0], "search_rows": 1_000, "cv": 2, "probability": False}
    whole = VanishingIdealClassifierCV(**options).fit(X, y, weights)
    monkeypatch.setattr(fitting, "_PART_ROWS", 1_500)
    monkeypatch.setattr(fitting, "_ROWS_PER_COLUMN", 10)
    monkeypatch.setattr(fitting, "_ROWS_PER_CLASS", 100)
    one, two = (VanishingIdealClassifierCV(n_jobs=n_jobs, **options).fit(X, y, weights) for n_jobs in (1, 2))
    assert np.mean(one.predict(X) == whole.predict(X)) > 0.985
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    objectives = [clf.best_estimator_.final_estimator_.objective_ for clf in (whole, one)]
    np.testing.assert_allclose(objectives[1], objectives[0], rtol=0.01)
    assert (objectives[0] != objectives[1]).all()


@pytest.mark.parametrize("ideal", [OAVI(psi=1e-3), VCA(psi=1e-3)], ids=["OAVI", "VCA"])
def test_columns_that_are_computed_in_a_pass_are_those_that_are_kept(ideal):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3_000, 3))
    ideals = [clone(ideal).fit(X), clone(ideal).fit(X**2), clone(ideal).set_params(psi=0.0, max_degree=1).fit(X)]
    mapping = FeatureMap.of([ideals], Extras.of(3, append_input=True, knots=hinge_knots(X, 3), products=True), "both")
    mapping = mapping.select(rng.random(mapping.n_columns) < 0.7)
    mapping = replace(mapping, width=rng.uniform(1.0, 2.0, mapping.n_columns))
    rows = as_rows(X)
    kept = mapping.over(rows)
    blocks = mapping.computed_over(rows).reduce(lambda block: [block.X], operator.add, Cost(1, 1, fewest=1))
    assert all(block.flags.f_contiguous for block in blocks)
    np.testing.assert_allclose(np.vstack(blocks), kept, rtol=1e-12, atol=1e-14)
