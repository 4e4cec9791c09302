"""Files of moments: every bit comes back, and what is damaged or foreign is refused."""

from __future__ import annotations

import gc
import os
import pickle
import warnings
import zipfile

import numpy as np
import pytest
from makers import N_ROWS, some_weights, surface
from sklearn.preprocessing import MinMaxScaler
from sums import SCALER, assert_same_model, assert_same_moments, state

import vanishing.engine.moments
from vanishing import OAVI, Moments


def saved(path, moments=None):
    (Moments(3, 3).update(surface(), some_weights()) if moments is None else moments).save(path)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".moments", ""])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_file_gives_back_every_bit(suffix, as_text, tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(surface() * 3.0, columns=["ä b", "", "β"])
    path = tmp_path / f"week{suffix}"
    moments = Moments(3, 3, scaler=SCALER).update(frame, some_weights())
    moments.save(str(path) if as_text else path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    found = Moments.load(str(path) if as_text else path)
    assert state(found) == state(moments)
    assert found.terms == moments.terms
    found.save(tmp_path / "again")
    assert state(Moments.load(tmp_path / "again")) == state(moments)


@pytest.mark.parametrize("moments", [Moments(2, 4), Moments(1, 1).update([[0.5]]), Moments(3, 2, scaler=SCALER)])
def test_small_and_empty_moments_can_be_saved(moments, tmp_path):
    found = Moments.load(saved(tmp_path / "m.npz", moments))
    assert state(found) == state(moments)


def test_loaded_moments_go_on(tmp_path):
    X = surface()
    found = Moments.load(saved(tmp_path / "m.npz", Moments(3, 3).update(X[:400])))
    found.update(X[400:700]).merge(Moments(3, 3).update(X[700:]))
    assert_same_moments(found, Moments(3, 3).update(X))
    assert_same_model(OAVI(1e-3).fit(found), OAVI(1e-3).fit(X))


@pytest.mark.slow
def test_a_loaded_scaling_is_the_saved_one_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.normal(0.0, 10.0, (5, 3))
        moments = Moments(3, 1, scaler=MinMaxScaler().fit(X)).update(X)
        found = Moments.load(saved(tmp_path / "m.npz", moments))
        np.testing.assert_array_equal(found.scaler.scale_, moments.scaler.scale_)
        np.testing.assert_array_equal(found.scaler.min_, moments.scaler.min_)
        found.merge(moments)  # of another site, with the same scaler


def test_a_loaded_scaling_scales_as_the_saved_one(tmp_path):
    X = np.column_stack([10.0 - 3.0 * surface()[:, :2], np.full(N_ROWS, 7.0)])  # one column is constant
    scaler = MinMaxScaler(feature_range=(0.25, 0.75)).fit(X)
    found = Moments.load(saved(tmp_path / "m.npz", Moments(3, 2, scaler=scaler).update(X[:400]))).update(X[400:])
    np.testing.assert_allclose(found.gram, Moments(3, 2, scaler=scaler).update(X).gram, rtol=1e-12)


def test_saving_replaces_an_old_file(tmp_path):
    saved(tmp_path / "m.npz", Moments(2, 2))
    saved(tmp_path / "m.npz")
    assert Moments.load(tmp_path / "m.npz").n_samples == np.count_nonzero(some_weights())
    assert [file.name for file in tmp_path.iterdir()] == ["m.npz"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("where", ["savez", "replace"])
def test_an_interrupted_save_leaves_nothing_and_an_old_file_as_it_was(error, existing, where, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    if existing:
        saved(path)
    before = path.read_bytes() if existing else None

    def half(stream, **arrays):
        stream.write(b"PK half of it")
        raise error

    def failing(*arguments):
        raise error

    if where == "savez":
        monkeypatch.setattr(vanishing.engine.moments.np, "savez_compressed", half)
    else:
        monkeypatch.setattr(vanishing.rows.writing.os, "replace", failing)
    with pytest.raises(error):
        saved(path, Moments(3, 3).update(surface(100)))
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == (["m.npz"] if existing else [])
    assert not existing or path.read_bytes() == before


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Moments(3, 2).save(tmp_path / "nothing" / "m.npz")
    with pytest.raises(FileNotFoundError):
        Moments.load(tmp_path / "nothing.npz")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see the next test but one
def test_a_truncated_file_is_refused(tmp_path):
    path = saved(tmp_path / "m.npz")
    size = path.stat().st_size
    for share in (0.999, 0.9, 0.6, 0.3, 0.01, 0.001, 0.0):
        os.truncate(path, int(share * size))
        with pytest.raises(ValueError, match=r"m\.npz is not a file of moments, or it is damaged"):
            Moments.load(path)
    gc.collect()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_damaged_file_is_refused_or_gives_back_every_bit(tmp_path):
    path = saved(tmp_path / "m.npz", Moments(2, 1).update(surface()[:, :2]))
    content = path.read_bytes()
    expected = state(Moments.load(path))
    for k in range(0, len(content), 3):
        path.write_bytes(content[:k] + bytes([content[k] ^ 0xFF]) + content[k + 1 :])
        try:
            found = Moments.load(path)
        except (ValueError, OSError):
            pass
        else:
            assert state(found) == expected  # a part of the zip directory that nobody reads
    gc.collect()


def test_a_refused_file_is_closed(tmp_path):
    path = saved(tmp_path / "m.npz")
    os.truncate(path, path.stat().st_size // 2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="damaged"):
            Moments.load(path)
        gc.collect()
    assert [str(warning.message) for warning in seen] == []


def foreign_npz(path):
    np.savez(path, X=np.eye(3))


def foreign_npy(path):
    with open(path, "wb") as stream:
        np.save(stream, np.eye(3))


def foreign_text(path):
    path.write_text("a,b\n1,2\n")


def foreign_pickle(path):
    path.write_bytes(pickle.dumps({"sum": np.eye(3)}))


def foreign_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("hello.txt", "hello")


def of_another_version(path):
    rewritten(path, format=np.int64(2))


def without_a_part(path):
    rewritten(path, range=None)


def of_another_shape(path):
    rewritten(path, sum=np.eye(7))


def with_too_few_numbers(path):
    rewritten(path, shape=np.array([3, 3]))


def rewritten(path, **changes):
    with np.load(saved(path)) as file:
        parts = {name: file[name] for name in file.files} | changes
    with open(path, "wb") as stream:
        np.savez(stream, **{name: part for name, part in parts.items() if part is not None})


FOREIGN = [
    foreign_npz, foreign_npy, foreign_text, foreign_pickle, foreign_zip, of_another_version, without_a_part,
    of_another_shape, with_too_few_numbers,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_foreign_file_is_refused_by_its_name(tmp_path):
    for make in FOREIGN:
        path = tmp_path / f"{make.__name__}.npz"
        make(path)
        with pytest.raises(ValueError, match=rf"{path.name} (is not a file of moments|was saved by another version)"):
            Moments.load(path)
    gc.collect()


class Harmful:
    """Something whose unpickling would be noticed."""

    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


@pytest.mark.parametrize("member", ["names", "sum", "format", "extra"])
def test_pickled_content_is_refused(member, tmp_path):
    path = tmp_path / "m.npz"
    rewritten(path, **{member: np.array([Harmful()], dtype=object)})
    with pytest.raises(ValueError, match="is not a file of moments"):
        Moments.load(path)
