"""The l1 SVM on rows that a plane separates, or almost: the same optimum, in fewer passes where rows are many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from reference import svm_dual_objective, svm_dual_point, svm_objective
from sklearn.svm import LinearSVC

from vanishing import (
    L1SVC,
    OAVI,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    open_rows,
    show_progress,
)
from vanishing.classification.search.in_passes import InPasses
from vanishing.rows.arrays import ArrayRows, as_rows
from vanishing.rows.sampling import lowest_of, lowest_of_both
from vanishing.svm import SquaredHinge, hyperplanes, svms_along
from vanishing.svm.newton import _minimise

KINDS = ("overlapping", "almost separable", "touching", "apart")


class CountedRows(ArrayRows):
    """Rows in memory that count the passes over them."""

    n_passes = 0

    def reduce(self, *arguments, **options):
        self.n_passes += 1
        return super().reduce(*arguments, **options)


def make_rows(kind, n=20_000, n_columns=10, seed=0):
    """Columns of unit spread, those after the third skewed, and labels -1 and 1 by a plane."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_columns))
    height = X[:, 0] + 0.5 * X[:, 1] - 0.3 * X[:, 2] - 0.6
    noise = {"overlapping": 0.3, "almost separable": 0.02}.get(kind, 0.0)
    signed = np.where(height + noise * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    X[:, 3:] = rng.exponential(size=(n, n_columns - 3)) ** 2
    kept = np.abs(height) > (0.1 if kind == "apart" else 0.0)
    return X[kept] / X.std(axis=0), signed[kept]


def solve(X, signed, C, **options):
    rows = CountedRows(X, signed)
    (found,) = hyperplanes(SquaredHinge(rows), [C], **{"tol": 1e-6, "max_iter": 200, **options})
    return found, rows.n_passes


@pytest.mark.slow
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_many_rows_saves_passes(kind, C):
    X, signed = make_rows(kind, 150_000, 10)
    found, passes = solve(X, signed, C)
    rows = CountedRows(X, signed)
    direct, _ = _minimise(SquaredHinge(rows), C, np.zeros(11), None, 1e-6, 200)
    assert found.converged
    assert found.objective == pytest.approx(direct.objective, rel=2e-6)
    assert passes <= rows.n_passes
    assert passes <= 12 if kind == "overlapping" else passes < 0.8 * rows.n_passes


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_newton_steps_on_all_rows(kind, C):
    X, signed = make_rows(kind, 5_000)
    found, _ = solve(X, signed, C, tol=1e-9)
    direct, _ = _minimise(SquaredHinge(as_rows(X, signed)), C, np.zeros(X.shape[1] + 1), None, 1e-9, 500)
    assert found.converged
    assert direct.converged
    assert found.objective == pytest.approx(direct.objective, rel=2e-9)
    np.testing.assert_allclose(found.x, direct.x, atol=1e-3 * np.abs(direct.x).max())


@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_is_a_certificate_over_all_rows(kind):
    X, signed = make_rows(kind, 4_000)
    found, _ = solve(X, signed, 1.0)
    a = svm_dual_point(X, signed, 1.0, found.x)
    value = svm_objective(X, signed, 1.0, found.x)
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert value - svm_dual_objective(signed, 1.0, a) <= 1.01e-6 * value


@pytest.mark.slow
def test_liblinear_agrees_where_the_penalty_on_the_intercept_is_negligible():
    X, signed = make_rows("touching", 3_000, 5)
    ours = L1SVC(1.0).fit(X, signed)
    options = {"penalty": "l1", "dual": False, "intercept_scaling": 1e4, "tol": 1e-8, "max_iter": 100_000}
    theirs = LinearSVC(**options, random_state=3).fit(X, signed)  # its seed decides how early it stops, up to 3% off
    x = np.append(theirs.coef_, theirs.intercept_)
    assert ours.objective_[0] <= svm_objective(X, signed, 1.0, x) * (1.0 + 1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.02 * np.abs(theirs.coef_).max())


@pytest.mark.slow
def test_a_path_reaches_every_optimum():
    X, signed = make_rows("touching", 5_000)
    Cs = [0.01, 1.0, 100.0]
    rows = CountedRows(X, signed)
    for C, found in zip(Cs, hyperplanes(SquaredHinge(rows), Cs, tol=1e-7, max_iter=200), strict=True):
        assert found.converged
        assert found.objective == pytest.approx(solve(X, signed, C, tol=1e-7)[0].objective, rel=2e-7)
    assert rows.n_passes <= 120


def test_a_path_takes_few_passes_on_rows_that_overlap():
    X, signed = make_rows("overlapping", 5_000)
    rows = CountedRows(X, signed)
    assert all(found.converged for found in hyperplanes(SquaredHinge(rows), [0.1, 1.0, 10.0], tol=1e-6, max_iter=200))
    assert rows.n_passes <= 22


def test_weights_and_a_rare_label_are_respected():
    X, signed = make_rows("touching", 6_000)
    rare = (signed < 0.0) | (np.cumsum(signed > 0.0) <= 20)
    X, signed = X[rare], signed[rare] * np.random.default_rng(1).choice([0.0, 0.5, 3.0], rare.sum())
    found, _ = solve(X, signed, 10.0, tol=1e-8)
    used = signed != 0.0
    direct, _ = _minimise(SquaredHinge(as_rows(X[used], signed[used])), 10.0, np.zeros(11), None, 1e-8, 500)
    assert found.converged
    assert found.objective == pytest.approx(direct.objective, rel=2e-8)


def test_paths_along_c_do_not_depend_on_the_threads():
    X, signed = make_rows("almost separable", 40_000, 60)
    codes, classes = (signed > 0.0).astype(np.int64), np.array(["no", "yes"])
    one, several = (
        [model.coef_ for model in svms_along(X, codes, classes, [0.1, 1.0], None, n_jobs=n, tol=1e-3)] for n in (1, 3)
    )
    np.testing.assert_array_equal(one, several)
    assert np.count_nonzero(one[0]) >= 3


def test_too_few_steps_stay_too_few():
    X, signed = make_rows("touching", 5_000)
    found, _ = solve(X, signed, 1.0, max_iter=2)
    assert not found.converged
    assert found.n_iter == 2


def test_the_lowest_rows_of_two_parts_are_those_of_both():
    rng = np.random.default_rng(0)
    Z, signed, numbers = rng.random((500, 2)), rng.choice([-1.0, 1.0], 500), rng.integers(0, 60, 500) / 40.0
    halves = [lowest_of(Z[half], signed[half], numbers[half], 1.5, 80) for half in (slice(0, 200), slice(200, 500))]
    both, whole = lowest_of_both(*halves, 80), lowest_of(Z, signed, numbers, 1.5, 80)
    assert both.limit == whole.limit
    for mine, expected in zip(both, whole, strict=True):
        np.testing.assert_array_equal(mine, expected)
    below = numbers < both.limit
    assert 0 < below.sum() <= 80
    np.testing.assert_array_equal(both.Z, Z[below])


# --- rows that are not in memory --------------------------------------------------------------------------------------


def write(path, X, signed):
    pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(label=signed).to_parquet(path)
    return path


def bars(capsys):
    """Names of the bars that were shown."""
    lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    return {line.split(":")[0] for line in lines if ":" in line}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["overlapping", "touching"])
def test_rows_of_a_file_are_solved_in_few_passes_that_are_shown(kind, tmp_path, capsys):
    X, signed = make_rows(kind, 20_000)
    rows = open_rows(write(tmp_path / "rows.parquet", X, signed), label="label")
    with show_progress():
        there = L1SVC(1.0).fit(rows)
    shown = {name for name in bars(capsys) if name.startswith("pass ")}
    assert 4 <= len(shown) <= 60
    here = L1SVC(1.0).fit(X, signed)
    assert there.objective_[0] == pytest.approx(here.objective_[0], rel=2e-6)


@pytest.mark.slow
def test_dask_rows_are_solved_in_passes_that_are_shown(capsys):
    array = pytest.importorskip("dask.array")
    X, signed = make_rows("touching", 8_000)
    with show_progress():
        there = L1SVC(1.0).fit(array.from_array(X, chunks=(1_000, -1)), array.from_array(signed, chunks=1_000))
    shown = {name for name in bars(capsys) if name.startswith("pass ")}
    assert 3 <= len(shown) <= 60
    assert there.objective_[0] == pytest.approx(L1SVC(1.0).fit(X, signed).objective_[0], rel=2e-6)


def test_a_classifier_of_separable_rows_in_a_file_shows_every_pass(tmp_path, capsys):
    X, signed = make_rows("apart", 5_000, 4)
    rows = open_rows(write(tmp_path / "rows.parquet", X, signed), label="label")
    with show_progress():
        model = VanishingIdealClassifier(OAVI(0.01)).fit(rows)
    shown = sorted(int(name.split()[1]) for name in bars(capsys) if name.startswith("pass "))
    assert shown == list(range(1, len(shown) + 1))
    assert len(shown) <= 60
    assert model.score(rows) > 0.98


@pytest.mark.slow
def test_a_search_in_passes_shows_those_of_ideals_and_of_svms(tmp_path, capsys, monkeypatch):
    X, signed = make_rows("overlapping", 600, 3)
    rows = open_rows(write(tmp_path / "rows.parquet", X, signed), label="label")
    before_svms = []
    fit_fold = InPasses._fit_fold

    def counted(*given, **options):
        before_svms.append(bars(capsys))
        return fit_fold(*given, **options)

    monkeypatch.setattr(InPasses, "_fit_fold", counted)
    with show_progress():
        search = VanishingIdealClassifierCV(psis=[0.01, 1e-6], Cs=[1.0], cv=2, refit=False, search_rows=None)
        search.fit(rows)
    after = bars(capsys)
    assert len({name for name in before_svms[0] if name.startswith("pass ")}) >= 2
    assert len({name for name in after - before_svms[0] if name.startswith("pass ")}) >= 4
    assert "psi x fold" in after
