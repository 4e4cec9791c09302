"""Features of rows on disk, written to files: what they hold, and that no half of one stays."""

from __future__ import annotations

import numpy as np
import pytest
from makers import (
    N_ROWS,
    arrow_file,
    assert_not_fitted,
    csv_file,
    npy_file,
    npy_files,
    parquet_folder,
    parquet_tiny_groups,
    surface,
    three_classes,
)
from watched import rows_with_blocks

from vanishing import L1SVC, OAVI, PerClass, open_rows

parquet = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("make", [npy_file, npy_files, parquet_folder, parquet_tiny_groups, arrow_file, csv_file])
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_transformed_rows_on_disk_are_written_as_they_are_computed(make, suffix, tmp_path, reference_fit):
    X = surface()
    model = reference_fit(OAVI(1e-3, max_degree=2), X)
    (tmp_path / "in").mkdir()
    target = tmp_path / f"features{suffix}"
    model.transform(make(X, tmp_path / "in")).write(target)
    if suffix == ".npy":
        written = np.load(target)
    else:
        table = parquet.read_table(target)
        assert table.column_names == list(model.get_feature_names_out())
        written = np.column_stack([column.to_numpy() for column in table.columns])
    np.testing.assert_allclose(written, model.transform(X), rtol=1e-12, atol=1e-14)
    assert sorted(file.name for file in tmp_path.iterdir()) == [target.name, "in"]


def test_written_features_can_be_opened_again(tmp_path):
    X, y = three_classes()
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    rows = open_rows(tmp_path / "rows.npy", label=3)
    features = PerClass(OAVI(1e-3, max_degree=2)).fit(rows)
    features.transform(rows).write(
        tmp_path / "features.parquet", names=[f"f{k}" for k in range(len(features.get_feature_names_out()))]
    )
    again = open_rows(tmp_path / "features.parquet")
    assert again.n_samples == N_ROWS
    np.testing.assert_allclose(again.to_numpy(), features.transform(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_a_wrong_number_of_names_is_refused_when_features_are_written(suffix, tmp_path, reference_fit):
    X = surface()
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(npy_file(X, tmp_path))
    with pytest.raises(ValueError, match="names"):
        values.write(tmp_path / f"features{suffix}", names=["only one"])
    assert not (tmp_path / f"features{suffix}").exists()


def test_a_fit_to_computed_rows_on_disk_is_that_to_computed_rows_in_memory(tmp_path):
    X, y = three_classes()
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    ideal = OAVI(1e-2, max_degree=3).fit(X)
    found = L1SVC().fit(ideal.transform(open_rows(tmp_path / "rows.npy", label=3)))
    expected = L1SVC().fit(ideal.transform(X), y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("existing", [False, True])
def test_an_interrupted_write_leaves_nothing_and_an_old_file_as_it_was(
    suffix, error, existing, tmp_path, reference_fit
):
    (tmp_path / "in").mkdir()
    X = surface()
    rows, model = npy_files(X, tmp_path / "in"), reference_fit(OAVI(1e-3, max_degree=2), X)
    target = tmp_path / f"features{suffix}"
    if existing:
        model.transform(rows).write(target)
    before = target.read_bytes() if existing else None

    def convert(block, piece):
        if piece.part == 2:
            raise error
        return block

    values = model.transform(rows_with_blocks(rows, convert))
    with pytest.raises(error):
        values.write(target)
    assert sorted(file.name for file in tmp_path.iterdir()) == ([target.name] if existing else []) + ["in"]
    assert not existing or target.read_bytes() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_while_a_block_is_computed_ends_a_write(n_jobs, tmp_path, reference_fit):
    (tmp_path / "in").mkdir()
    X = surface()
    npy_files(X, tmp_path / "in")

    def convert(block, piece):
        if piece.part == 2:
            raise KeyboardInterrupt
        return block

    rows = rows_with_blocks(open_rows(tmp_path / "in", n_jobs=n_jobs), convert)
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(rows)
    with pytest.raises(KeyboardInterrupt):
        values.write(tmp_path / "features.npy")
    model = OAVI()
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert_not_fitted(model)
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


def test_features_are_written_to_known_formats_and_folders_only(tmp_path, reference_fit):
    X = surface()
    values = reference_fit(OAVI(1e-3, max_degree=2), X).transform(npy_file(X, tmp_path))
    with pytest.raises(ValueError, match=r"\.npy and \.parquet"):
        values.write(tmp_path / "features.csv")
    with pytest.raises(FileNotFoundError, match="no folder"):
        values.write(tmp_path / "nowhere" / "features.npy")
