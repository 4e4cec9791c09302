"""The l1 SVM whose weights may have one sign only, against a bounded minimiser of twice as many variables."""

from __future__ import annotations

import numpy as np
import pytest
from reference import svm_minimum, svm_objective
from test_separable import make_rows

from vanishing.rows.arrays import as_rows
from vanishing.svm import SquaredHinge, hyperplanes


def least_objective(Z, signed, C, signs):
    return svm_objective(Z, signed, C, svm_minimum(Z, signed, C, signs))


def table(kind, seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((120, 8))
    if kind == "repeated":
        Z[:, 4:] = Z[:, :4]
    elif kind == "opposite":
        Z[:, 4:] = -2.0 * Z[:, :4]
    elif kind == "low rank":
        Z = Z[:, :3] @ rng.standard_normal((3, 8))
    elif kind == "wide":
        Z = rng.standard_normal((12, 40))
    signed = np.sign(Z @ rng.standard_normal(Z.shape[1]) + rng.standard_normal(len(Z))) * rng.uniform(0.5, 2.0, len(Z))
    return Z, signed, rng.integers(-1, 2, Z.shape[1]).astype(float)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("kind", ["plain", "repeated", "opposite", "low rank", "wide"])
def test_signs_are_kept_at_the_optimum(kind, C, seed):
    Z, signed, signs = table(kind, seed)
    (plane,) = hyperplanes(SquaredHinge(as_rows(Z, signed), signs), [C], tol=1e-7, max_iter=200)
    assert (signs * plane.x[:-1] >= 0.0).all()
    assert plane.converged
    assert plane.objective == pytest.approx(svm_objective(Z, signed, C, plane.x), rel=1e-10)
    least = least_objective(Z, signed, C, signs)
    assert plane.objective <= least * (1.0 + 1e-6)
    assert plane.objective - plane.gap <= least * (1.0 + 1e-9)


def test_a_path_keeps_signs_and_reaches_the_free_optimum_where_they_do_not_bind():
    Z, signed, _ = table("plain", 0)
    Cs = [0.01, 0.1, 1.0, 10.0]
    free = list(hyperplanes(SquaredHinge(as_rows(Z, signed)), Cs, tol=1e-9, max_iter=200))
    signs = np.sign(free[-1].x[:-1])
    for plane, own in zip(
        free, hyperplanes(SquaredHinge(as_rows(Z, signed), signs), Cs, tol=1e-9, max_iter=200), strict=True
    ):
        assert (signs * own.x[:-1] >= 0.0).all()
        if (signs * plane.x[:-1] >= 0.0).all():
            assert own.objective == pytest.approx(plane.objective, rel=1e-8)
    (against,) = hyperplanes(
        SquaredHinge(as_rows(Z[:, :1], np.sign(Z[:, 0])), np.array([-1.0])), [1.0], tol=1e-7, max_iter=9
    )
    assert against.x[0] == 0.0
    assert against.converged


def test_many_rows_that_start_from_a_part_keep_signs():
    X, signed = make_rows("overlapping", 60_000, 3)
    signs = np.array([-1.0, 1.0, 0.0])
    Cs = [1e-4, 1e-2]
    for C, plane in zip(
        Cs, hyperplanes(SquaredHinge(as_rows(X, signed), signs), Cs, tol=1e-7, max_iter=200), strict=True
    ):
        assert (signs * plane.x[:-1] >= 0.0).all()
        assert plane.converged
        assert plane.objective <= least_objective(X, signed, C, signs) * (1.0 + 1e-6)
