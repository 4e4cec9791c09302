"""Passes over rows: how many a fit makes, tasks that share them, folds, and the bars that show them."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest
from makers import (
    IN_MEMORY,
    N_ROWS,
    THREE,
    assert_not_fitted,
    c_order,
    csv_file,
    dask_array,
    name_of,
    npy_file,
    npy_files,
    numbers,
    pandas_frame,
    parquet_folder,
    parquet_tiny_groups,
    surface,
    torch_tensor,
    write_parquet,
)
from sklearn.base import clone
from watched import Watched, interrupt_in

from vanishing import ABM, AVI, OAVI, VCA, PerClass, ideal_path, open_rows, show_progress
from vanishing.rows.arrays import ArrayRows, as_rows
from vanishing.rows.protocol import Cost, Reduction, Rows, reduce_together
from vanishing.rows.sampling import InFolds, NumberFolds, fold_numbers
from vanishing.rows.together import together

# --- passes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [OAVI(2e-4), OAVI(1e-3), ABM(1e-4), AVI(1e-4)], ids=repr)
@pytest.mark.parametrize("scale", [False, True])
def test_a_fit_on_disk_makes_a_pass_fewer_than_it_has_degrees(model, scale, passes, tmp_path):
    rows = open_rows(write_parquet(tmp_path, surface(), n_files=2), scale=scale)
    found = clone(model).fit(rows)
    assert found.degree_ >= 3
    assert 1 <= len(passes) <= found.degree_ - 1


@pytest.mark.parametrize("make", [c_order, npy_file, dask_array, torch_tensor], ids=name_of)
@pytest.mark.parametrize("model", [OAVI(1e-12, max_degree=1), VCA(1e-12, max_degree=1)], ids=repr)
def test_a_model_without_generators_has_no_columns_in_any_source(model, make, tmp_path):
    model = clone(model).fit(surface())
    assert numbers(model.transform(make(surface(), tmp_path))).shape == (N_ROWS, 0)


def test_no_kernel_sees_a_block_without_rows():
    parts = [as_rows(np.empty((0, 2))), as_rows(np.ones((3, 2)))]
    requests = [Reduction(rows, lambda block: block.X.min(), min, Cost(2, 2)) for rows in parts]
    assert reduce_together(requests) == [None, 1.0]


def test_opening_and_transforming_make_no_pass(passes, tmp_path, reference_fit):
    X = surface()
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(npy_file(X, tmp_path))
    assert passes == []
    values.to_numpy()
    assert len(passes) == 1
    values.write(tmp_path / "features.npy")
    assert len(passes) == 2


def test_several_psi_need_the_passes_of_the_smallest(passes, tmp_path):
    rows = npy_file(surface(), tmp_path)
    OAVI(2e-4).fit(rows)
    alone = len(passes)
    passes.clear()
    ideal_path(OAVI(), rows, [1e-2, 1e-3, 2e-4])
    assert len(passes) <= alone


def test_three_classes_need_no_more_passes_than_the_slowest_of_them(passes, tmp_path):
    X, y = THREE
    alone = []
    for k in range(3):
        (tmp_path / str(k)).mkdir()
        PerClass(OAVI(5e-4)).fit(open_rows(write_parquet(tmp_path / str(k), X[y == k], y=y[y == k]), label="y"))
        alone.append(len(passes))
        passes.clear()
    (tmp_path / "all").mkdir()
    PerClass(OAVI(5e-4)).fit(open_rows(write_parquet(tmp_path / "all", X, y=y), label="y"))
    assert len(passes) <= max(alone)
    assert max(alone) < sum(alone)


# --- together ---------------------------------------------------------------------------------------------------------

SMALL = Cost(work=10**9, width=1, fewest=100)  # blocks of 100 rows


class Counted(Rows):
    """Rows outside of memory, as far as anybody can tell, that count passes over them."""

    reading_dominates = True

    def __init__(self, X, fail_in=None, error=None):
        self.inside = ArrayRows(X, n_jobs=1)
        self.n_samples, self.n_features = X.shape
        self.n_passes = 0
        self.fail_in = fail_in
        self.error = error

    def reduce(self, kernel, combine, cost):
        self.n_passes += 1
        if self.n_passes == self.fail_in:
            raise self.error
        return self.inside.reduce(kernel, combine, cost)

    def map(self, kernel, n_columns, cost, out=None):
        return self.inside.map(kernel, n_columns, cost, out)


def total(rows, power=1):
    return rows.reduce(lambda block: float((block.X**power).sum()), lambda a, b: a + b, SMALL)


def in_passes(n_passes):
    """A task that makes so many passes, the k-th for the sum of k-th powers."""
    return lambda rows: [total(rows, k + 1) for k in range(n_passes)]


def within(seconds, work):
    """The result of ``work()``, or the exception that it raised; fails if that takes too long."""
    ended = []

    def run():
        try:
            ended.append(work())
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert ended, "it hangs"
    return ended[0]


@pytest.mark.parametrize("lengths", [[1], [3], [2, 2], [1, 4, 2], [0, 3, 0, 1], [1] * 20])
def test_tasks_together_make_as_many_passes_as_the_longest(lengths):
    X = surface(300)
    rows = Counted(X)
    found = within(60, lambda: together(rows, [in_passes(n) for n in lengths]))
    assert rows.n_passes == max(lengths)
    for values, n in zip(found, lengths, strict=True):
        np.testing.assert_allclose(values, [(X ** (k + 1)).sum() for k in range(n)], rtol=1e-12)


def test_tasks_together_see_the_views_that_they_are_given():
    X, _ = THREE
    rows = Counted(X)
    scaled = rows.scaled(np.array([2.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    expected = (X * [2.0, 1.0, 1.0] + [0.0, 1.0, 0.0]).sum()
    found = within(60, lambda: together(scaled, [total, total]))
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-12)
    assert rows.n_passes == 1


@pytest.mark.parametrize("when", [0, 1, 3])
def test_a_task_that_fails_ends_the_others(when):
    def failing(rows):
        in_passes(when)(rows)
        raise ZeroDivisionError("mine")

    rows = Counted(surface(300))
    error = within(60, lambda: together(rows, [in_passes(50), failing, in_passes(2)]))
    assert isinstance(error, ZeroDivisionError)
    assert rows.n_passes <= when + 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, ValueError, MemoryError])
@pytest.mark.parametrize("fail_in", [1, 2])
def test_an_error_in_a_pass_ends_everything(kind, fail_in):
    rows = Counted(surface(300), fail_in, kind("in a pass"))
    error = within(60, lambda: together(rows, [in_passes(5), in_passes(3), in_passes(1)]))
    assert isinstance(error, kind)
    assert rows.n_passes == fail_in


def test_a_kernel_that_fails_for_one_task_ends_everything():
    def failing(rows):
        return rows.reduce(lambda block: 1 / 0, lambda a, b: a + b, SMALL)

    error = within(60, lambda: together(Counted(surface(300)), [in_passes(5), failing]))
    assert isinstance(error, ZeroDivisionError)


def test_a_task_that_survives_an_error_of_a_pass_does_not_hang():
    def stubborn(rows):
        for _ in range(3):
            with contextlib.suppress(BaseException):
                total(rows)
        return "done"

    rows = Counted(surface(300), 1, KeyboardInterrupt())
    assert isinstance(within(60, lambda: together(rows, [stubborn, in_passes(2)])), KeyboardInterrupt)


def test_an_interrupt_in_a_fit_of_several_classes_ends_it(tmp_path):
    X, y = THREE
    # The passes are those over the labels, the survey, and the first pass together.
    rows = Watched(open_rows(write_parquet(tmp_path, X, y=y), label="y"), interrupt_in(3))
    model = PerClass(OAVI(2e-4))
    assert isinstance(within(60, lambda: model.fit(rows)), KeyboardInterrupt)
    assert_not_fitted(model)
    assert rows.n_passes == 3


def test_tasks_in_memory_make_their_own_passes():
    X = surface(300)
    rows = ArrayRows(X, n_jobs=1)
    for threads in (1, 3):
        found = within(60, lambda threads=threads: together(rows, [in_passes(2), in_passes(1)], threads=threads))
        np.testing.assert_allclose(found[1], [X.sum()])


# --- folds ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_row_is_in_one_fold_whatever_the_blocks():
    X = np.empty((1, 1))
    whole = fold_numbers(X, 2, 0, 10_000, 5)
    for size in (1, 7, 1000, 9999):
        parts = [fold_numbers(X, 2, start, min(size, 10_000 - start), 5) for start in range(0, 10_000, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert set(whole.tolist()) == set(range(5))
    assert (fold_numbers(X, 3, 0, 10_000, 5) != whole).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("n_folds", [2, 3, 7, 64])
def test_folds_are_splitmix64_of_the_place_in_unsigned_arithmetic(n_folds):
    places = (1000 << 40) + 17 + np.arange(2000)

    def expected(place):
        mixed = (int(place) + 1) * 0x9E3779B97F4A7C15 % 2**64
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        return (mixed ^ (mixed >> 31)) % n_folds

    numbers = fold_numbers(np.empty((1, 1)), 1000, 17, 2000, n_folds)
    np.testing.assert_array_equal(numbers, [expected(place) for place in places])


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
@pytest.mark.parametrize("part", [0, 1, 1000])
def test_folds_are_balanced(n_folds, part):
    m = 200_000
    counts = np.bincount(fold_numbers(np.empty((1, 1)), part, 12_345, m, n_folds), minlength=n_folds)
    assert counts.sum() == m
    share = 1.0 / n_folds
    assert np.abs(counts - m * share).max() < 5.0 * np.sqrt(m * share * (1.0 - share))


@pytest.mark.parametrize("row_group_size", [10, 64, 300])
def test_folds_of_rows_on_disk_do_not_depend_on_how_they_are_read(row_group_size, tmp_path):
    X = surface()
    write_parquet(tmp_path, X, n_files=3, row_group_size=row_group_size)
    rows = open_rows(tmp_path, n_jobs=1).changed(NumberFolds(4))
    expected = np.concatenate([fold_numbers(X, part, 0, 300, 4) for part in range(3)])
    seen = 0
    for k in range(4):
        inside = rows.changed(InFolds((k,))).to_numpy()
        np.testing.assert_array_equal(inside, X[expected == k])
        seen += len(inside)
    assert seen == N_ROWS
    others = rows.changed(InFolds((0, 1, 3))).to_numpy()
    np.testing.assert_array_equal(others, X[expected != 2])


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [c_order, pandas_frame, npy_files, parquet_folder, parquet_tiny_groups, torch_tensor, dask_array]
)
def test_nothing_is_shown_unless_it_is_wanted(make, tmp_path, capfd):
    source = make(surface(), tmp_path)
    numbers(OAVI(1e-3, max_degree=3).fit(source).transform(source))
    shown = capfd.readouterr()
    assert shown.out == shown.err == ""


@pytest.mark.parametrize(
    "make",
    [c_order, pandas_frame, npy_files, parquet_folder, parquet_tiny_groups, torch_tensor, dask_array],
    ids=name_of,
)
def test_every_pass_shows_a_bar_that_counts_rows(make, tmp_path, capsys):
    pytest.importorskip("tqdm")
    source = make(surface(), tmp_path)
    with show_progress():
        model = OAVI(2e-4, max_degree=4).fit(source)
    shown = capsys.readouterr().err
    assert model.degree_ == 4
    for k in range(1, model.degree_ - (0 if make in IN_MEMORY else 1)):
        assert f"pass {k}:" in shown
    assert "900/900" in shown
    assert " rows" in shown
    OAVI(1e-3, max_degree=2).fit(source)
    assert capsys.readouterr().err == ""


def test_a_bar_counts_rows_where_their_number_is_not_known(tmp_path, capsys):
    pytest.importorskip("tqdm")
    with show_progress():
        OAVI(1e-3, max_degree=2).fit(csv_file(surface(), tmp_path))
    assert "900 rows" in capsys.readouterr().err


def test_bars_are_numbered_anew_in_every_context_and_survive_errors(capsys):
    pytest.importorskip("tqdm")
    X = surface()
    for _ in range(2):
        with show_progress():
            OAVI(1e-2, max_degree=1).fit(X)
        shown = capsys.readouterr().err
        assert "pass 1:" in shown
        assert "pass 2:" not in shown
    with pytest.raises(ValueError, match="NaN"), show_progress(), show_progress():
        OAVI().fit(np.full((5, 2), np.nan))
    capsys.readouterr()
    OAVI(1e-2, max_degree=1).fit(X)
    assert capsys.readouterr().err == ""
