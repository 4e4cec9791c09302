"""Missing values, damaged files, and files that change or vanish: each is named with its place."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from makers import (
    IN_DASK,
    IN_MEMORY,
    N_ROWS,
    NAMES,
    ON_DEVICES,
    THREE,
    arrow_file,
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
    strict_array,
    surface,
    table_of,
    torch_tensor,
    write_npy,
    write_parquet,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from watched import Watched

from vanishing import AVI, L1SVC, OAVI, VCA, PerClass, VanishingIdealClassifier, VanishingIdealDetector, open_rows

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize(
    ("value", "word", "scale", "groups"),
    [
        *((np.nan, "NaN", scale, groups) for scale in (False, True) for groups in (None, 50)),
        (np.inf, "infinity", False, None),
        (-np.inf, "infinity", True, 50),
    ],
)
@pytest.mark.parametrize(
    "model",
    [OAVI(), VCA(), AVI(), VanishingIdealDetector(missing="error"), PerClass(), VanishingIdealClassifier()],
    ids=lambda m: type(m).__name__,
)
def test_a_missing_value_is_named_with_its_file_row_and_column(value, word, model, scale, groups, tmp_path):
    X, y = THREE[0].copy(), THREE[1]
    X[663, 1] = X[850, 1] = value
    write_parquet(tmp_path, X, n_files=3, y=y, row_group_size=groups)
    model = clone(model)
    needs_labels = isinstance(model, (PerClass, VanishingIdealClassifier))
    rows = open_rows(tmp_path, columns=NAMES, label="y" if needs_labels else None, scale=scale)
    found = "2 such values, the first"
    if isinstance(model, VanishingIdealDetector) and not scale:  # its only pass ends at the first such block
        found = "at least [12] such values?, one"
    with pytest.raises(ValueError, match=rf"{word}.*column 1 \('b'\): {found} in row 63 of .*part2\.parquet"):
        model.fit(rows)
    assert_not_fitted(model)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_missing_value_in_an_array_is_named_with_its_file_row_and_column(order, tmp_path):
    X = surface()
    X[613, 1] = np.nan
    write_npy(tmp_path, X, n_files=3, order=order)
    with pytest.raises(ValueError, match=r"NaN in column 1: 1 such value, the first in row 13 of .*part2\.npy"):
        OAVI().fit(open_rows(tmp_path))


@pytest.mark.parametrize("make", [*IN_MEMORY, *ON_DEVICES, *IN_DASK], ids=name_of)
def test_a_missing_value_is_refused_in_every_source(make, tmp_path):
    X = surface()
    fitted = OAVI(1e-3, max_degree=2).fit(make(X, tmp_path))
    X[613, 1] = np.nan
    model = OAVI()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(make(X, tmp_path))
    assert_not_fitted(model)
    with pytest.raises(ValueError, match="NaN"):
        numbers(fitted.transform(make(X, tmp_path)))


@pytest.mark.parametrize(
    "make", [c_order, pandas_frame, npy_file, parquet_folder, torch_tensor, strict_array, dask_array]
)
@pytest.mark.parametrize(
    "model", [OAVI(), VCA(), VanishingIdealDetector(missing="error")], ids=lambda model: type(model).__name__
)
def test_after_a_fit_that_failed_an_estimator_is_not_fitted(model, make, tmp_path):
    X = surface()
    X[613, 1] = np.nan
    model = clone(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(make(X, tmp_path))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "model", [OAVI(), VanishingIdealDetector(missing="error")], ids=lambda model: type(model).__name__
)
def test_a_missing_value_among_the_first_rows_is_named_with_its_place(value, model, tmp_path):
    X = surface()
    X[13, 1] = value
    rows = open_rows(write_npy(tmp_path, X, n_files=3), scale=isinstance(model, OAVI))
    with pytest.raises(ValueError, match=r"column 1: .*1 such value, (the first|one) in row 13 of .*part0\.npy"):
        clone(model).fit(rows)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_a_missing_value_in_new_rows_is_named_when_they_are_read(suffix, tmp_path, reference_fit):
    X = surface()
    model = reference_fit(OAVI(1e-3, max_degree=2), X)
    X[613, 1] = np.nan
    (tmp_path / "in").mkdir()
    write_npy(tmp_path / "in", X, n_files=3)
    values = model.transform(open_rows(tmp_path / "in"))
    with pytest.raises(ValueError, match=r"row 13 of .*part2\.npy"):
        values.to_numpy()
    with pytest.raises(ValueError, match=r"row 13 of .*part2\.npy"):
        values.write(tmp_path / f"features{suffix}")
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


def truncated_npy(folder):
    np.save(folder / "broken.npy", surface())
    os.truncate(folder / "broken.npy", 10_000)


def npy_without_data(folder):
    (folder / "broken.npy").write_bytes(b"")


def npy_of_noise(folder):
    (folder / "broken.npy").write_bytes(bytes(range(256)))


def npy_vector(folder):
    np.save(folder / "broken.npy", np.arange(5.0))


def npy_of_text(folder):
    np.save(folder / "broken.npy", np.array([["a", "b"]]))


def npy_of_complex_numbers(folder):
    np.save(folder / "broken.npy", np.ones((3, 2), dtype=complex))


def parquet_without_footer(folder):
    write_parquet(folder, surface(), name="broken")
    os.truncate(folder / "broken0.parquet", 5_000)


def parquet_of_noise(folder):
    (folder / "broken.parquet").write_bytes(bytes(range(256)))


def arrow_of_noise(folder):
    (folder / "broken.arrow").write_bytes(bytes(range(256)))


def parquet_damaged(folder):
    """The footer is all right, but not a page."""
    write_parquet(folder, surface(), name="whole")
    write_parquet(folder, surface(), name="broken", row_group_size=300)
    file = folder / "broken0.parquet"
    group = parquet.ParquetFile(file).metadata.row_group(1).column(1)
    content = bytearray(file.read_bytes())
    start = group.dictionary_page_offset or group.data_page_offset
    content[start : start + 40] = b"\xff" * 40
    file.write_bytes(bytes(content))


def csv_with_a_short_line(folder):
    (folder / "broken.csv").write_text("a,b\n0.5,0.5\n0.25\n")


def column_of_text(folder):
    parquet.write_table(
        table_of(surface()).append_column("d", pyarrow.array(["x"] * N_ROWS)), folder / "broken.parquet"
    )


def column_of_dates(folder):
    days = pyarrow.array(np.arange(N_ROWS), pyarrow.timestamp("s"))
    parquet.write_table(table_of(surface()).append_column("d", days), folder / "broken.parquet")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (truncated_npy, "truncated"),
        (npy_without_data, r"not a \.npy file"),
        (npy_of_noise, r"not a \.npy file"),
        (npy_vector, "table of numbers"),
        (npy_of_text, "table of numbers"),
        (npy_of_complex_numbers, "table of numbers"),
        (parquet_without_footer, "cannot be read as parquet"),
        (parquet_of_noise, "cannot be read as parquet"),
        (parquet_damaged, "cannot be read as parquet"),
        (arrow_of_noise, "cannot be read as ipc"),
        (csv_with_a_short_line, "cannot be read as csv"),
        (column_of_text, "'d'.*type.*string"),
        (column_of_dates, "'d'.*type.*timestamp"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(make, message, tmp_path):
    make(tmp_path)
    model = OAVI()
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(open_rows(tmp_path))
    assert "broken" in str(caught.value)
    assert_not_fitted(model)


def test_a_damaged_file_does_not_leave_a_file_of_features(tmp_path):
    (tmp_path / "in").mkdir()
    parquet_damaged(tmp_path / "in")
    rows = open_rows(tmp_path / "in")
    model = OAVI(1e-3, max_degree=2).fit(pandas_frame(surface(), tmp_path))
    with pytest.raises(ValueError, match="broken0"):
        model.transform(rows).write(tmp_path / "features.npy")
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("value", [None, float("nan")])
@pytest.mark.parametrize(
    "model", [PerClass(), VanishingIdealClassifier(), L1SVC()], ids=lambda model: type(model).__name__
)
def test_a_missing_label_is_named_with_its_file(value, model, tmp_path):
    X, y = THREE
    labels = [*y[:500].tolist(), value, *y[501:].tolist()]
    if value is not None:
        labels = np.array(labels, dtype=float)
    for k in range(3):
        part = slice(300 * k, 300 * k + 300)
        parquet.write_table(
            table_of(X[part]).append_column("y", pyarrow.array(labels[part])), tmp_path / f"{k}.parquet"
        )
    model = clone(model)
    with pytest.raises(ValueError, match=r"label is missing in row 200 of .*1\.parquet"):
        model.fit(open_rows(tmp_path, label="y"))
    assert_not_fitted(model)


@pytest.mark.parametrize("make", [npy_files, parquet_folder, parquet_tiny_groups, arrow_file])
def test_a_file_that_has_changed_is_named(make, tmp_path):
    rows = make(surface(), tmp_path)
    file = Path(rows.files[-1])
    content = file.read_bytes()
    file.write_bytes(content + b"more")
    model = OAVI()
    with pytest.raises(ValueError, match=f"{file.name} has changed since it was opened"):
        model.fit(rows)
    assert_not_fitted(model)


@pytest.mark.parametrize("make", [npy_files, parquet_folder, arrow_file, csv_file])
def test_a_file_that_has_been_deleted_is_named(make, tmp_path):
    rows = make(surface(), tmp_path)
    os.unlink(rows.files[-1])
    model = OAVI()
    with pytest.raises(FileNotFoundError, match=Path(rows.files[-1]).name):
        model.fit(rows)
    assert_not_fitted(model)


def test_a_file_that_changes_between_two_passes_is_named(tmp_path):
    rows = npy_files(surface(), tmp_path)
    watched = Watched(rows, lambda number: number == 2 and os.utime(rows.files[1], (0, 0)))
    model = OAVI(2e-4)
    with pytest.raises(ValueError, match=r"part1\.npy has changed"):
        model.fit(watched)
    assert_not_fitted(model)
