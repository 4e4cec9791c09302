"""Files that are damaged, or made to do harm: a ValueError, in little memory."""

from __future__ import annotations

import gzip
import re
import runpy
import zipfile
from pathlib import Path

import numpy as np
import pytest

from vanishing import OAVI, Moments

MEGABYTE = 2**20
LITTLE_MEMORY = 16 * MEGABYTE


def surface(m=300, seed=0):
    X = np.random.default_rng(seed).random((m, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    return X


def parts_of(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture
def parts(tmp_path):
    """What a file of moments consists of."""
    Moments(3, 2).update(surface()).save(tmp_path / "good.npz")
    return parts_of(tmp_path / "good.npz")


def written(path, parts):
    with open(path, "wb") as stream:
        np.savez_compressed(stream, **parts)
    return path


@pytest.fixture
def assert_refused(refusal):
    def check(path, kind="moments", message="is not a file of moments, or it is damaged"):
        error, found, peak = refusal(kind, path)
        assert error == "ValueError"
        assert re.search(message, found)
        assert peak < LITTLE_MEMORY

    return check


# --- moments that cannot be ---------------------------------------------------------------------------------------


def shifted(values, place, by):
    values = values.copy()
    values[place] += by
    return values


def symmetric(values, i, j, by):
    return shifted(shifted(values, (i, j), by), (j, i), by)


IMPOSSIBLE = {
    "asymmetric": lambda p: {"sum": shifted(p["sum"], (1, 2), 5.0)},
    "indefinite": lambda p: {"sum": p["sum"] - 30.0 * np.eye(10)},
    "products that differ": lambda p: {"sum": symmetric(p["sum"], 1, 2, 0.01)},
    "larger than the range allows": lambda p: {"range": p["range"] * 0.5},
    "another weight": lambda p: {"total_weight": np.float64(299.0)},
    "weight of no rows": lambda p: {"shape": np.array([3, 2, 0])},
    "negative weight": lambda p: {"total_weight": np.float64(-300.0), "sum": -p["sum"]},
    "infinite": lambda p: {"sum": p["sum"] * np.inf},
    "NaN": lambda p: {"sum": shifted(p["sum"], (0, 0), np.nan)},
    "range upside down": lambda p: {"range": p["range"][::-1]},
    "infinite range": lambda p: {"range": np.array([[-np.inf] * 3, [np.inf] * 3])},
    "range of other columns": lambda p: {"range": p["range"][:, :2]},
    "two names": lambda p: {"names": np.array(["a", "b"])},
    "names that are numbers": lambda p: {"names": np.arange(3)},
    "half a character": lambda p: {"names": np.array(["a", "b", "\ud800"])},
    "no scaling": lambda p: {"scaling": np.zeros((2, 3))},
    "scaling that overflows": lambda p: {"scaling": np.full((2, 3), 1e-320)},
    "scaling of other columns": lambda p: {"scaling": np.ones((2, 4))},
    "float32": lambda p: {"sum": p["sum"].astype(np.float32)},
    "complex": lambda p: {"sum": p["sum"].astype(complex)},
    "text": lambda p: {"sum": p["sum"].astype(str)},
    "Fortran order": lambda p: {"sum": np.asfortranarray(p["sum"])},
    "negative number of rows": lambda p: {"shape": np.array([3, 2, -300])},
    "no columns": lambda p: {"shape": np.array([0, 2, 300])},
    "very many columns": lambda p: {"shape": np.array([2**62, 2**62, 300])},
    "many terms": lambda p: {"shape": np.array([4000, 2, 300])},
    "another part": lambda p: {"more": np.zeros(3)},
}


@pytest.mark.parametrize("change", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_moments_that_no_rows_can_have_are_refused(change, parts, tmp_path, assert_refused):
    assert_refused(written(tmp_path / "m.npz", parts | change(parts)))


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60, np.array([0.0, 1.0, 1e-9])], ids=str)
def test_moments_are_loaded_whatever_rows_were_added_and_taken_away(scale, tmp_path):
    X, weights = surface(2000) * scale, np.random.default_rng(1).random(2000)
    weights[:300] = 0.0
    moments = Moments(3, 2).update(X, weights).subtract(Moments(3, 2).update(X[:1990], weights[:1990]))
    moments.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(Moments.load(tmp_path / "m.npz").gram, moments.gram)


def test_no_rounding_is_left_when_all_rows_that_count_are_subtracted(tmp_path):
    X, weights = surface(300), np.random.default_rng(1).random(300)
    moments = Moments(3, 2)
    for k in range(0, 300, 30):
        moments.update(np.vstack([X[k : k + 30], X[:1]]), np.append(weights[k : k + 30], 0.0))
    moments.subtract(Moments(3, 2).update(X, weights))
    moments.save(tmp_path / "m.npz")
    found = Moments.load(tmp_path / "m.npz")
    assert (found.n_samples, found.total_weight) == (0, 0.0)
    assert found.update(X).total_weight == 300.0


# --- archives that take long or much ------------------------------------------------------------------------------


def add_member(path, name, content, compression=zipfile.ZIP_DEFLATED):
    with (
        zipfile.ZipFile(path, "a", compression, compresslevel=1) as file,
        file.open(name, "w", force_zip64=True) as member,
    ):
        for piece in content:
            member.write(piece)


def header(text, version=b"\1\0"):
    return b"\x93NUMPY" + version + len(text).to_bytes(2 if version == b"\1\0" else 4, "little") + text


def replaced(path, parts, name, content):
    written(path, {key: part for key, part in parts.items() if key != name})
    add_member(path, f"{name}.npy", content)
    return path


def array_header(descr, shape):
    return header(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode())


@pytest.mark.slow
def test_an_archive_that_unpacks_to_much_is_refused_before(parts, tmp_path, assert_refused):
    zeros = [bytes(MEGABYTE)] * 80
    path = written(tmp_path / "m.npz", parts)
    add_member(path, "more.npy", [array_header("<f8", (MEGABYTE * 10,)), *zeros])
    assert_refused(path)
    for name, start in {
        "sum": array_header("<f8", (5000, 5000)),
        "names": array_header(f"<U{80 * MEGABYTE // 12}", (3,)),
        "range": header(b"(" * 9000),
        "format": header(b" " * 60_000),
        "scaling": header(b"{" * 80 * MEGABYTE, b"\2\0"),
    }.items():
        assert_refused(replaced(path, parts, name, [start, *zeros]))
    assert path.stat().st_size < MEGABYTE


@pytest.mark.parametrize(
    "text",
    [b"(" * 9000, b"{'descr': '''", b"{'a': " * 1500, b"-" * 9999, b"[" + b"1," * 4000, b"\xff" * 64, b"", b"{}\n"],
    ids=range(8),
)
@pytest.mark.parametrize("name", ["format", "sum"])
def test_a_header_that_numpy_would_choke_on_is_refused(text, name, parts, tmp_path, assert_refused):
    assert_refused(replaced(tmp_path / "m.npz", parts, name, [header(text)]))


@pytest.mark.parametrize("descr", ["<f3", "|O", "|V8", "<U0", "<M8", "<c16", "|S9", "<f999999999", "|b1"])
def test_types_of_no_numbers_are_refused(descr, parts, tmp_path, assert_refused):
    assert_refused(replaced(tmp_path / "m.npz", parts, "total_weight", [array_header(descr, ()), bytes(8)]))


def test_an_array_that_is_there_twice_is_refused(parts, tmp_path, assert_refused):
    path = written(tmp_path / "m.npz", parts)
    with pytest.warns(UserWarning, match="Duplicate"):
        add_member(path, "sum.npy", [b"anything"])
    assert_refused(path)


def test_unusual_compression_and_encryption_are_refused(parts, tmp_path, assert_refused):
    path = written(tmp_path / "m.npz", {key: part for key, part in parts.items() if key != "names"})
    add_member(path, "names.npy", [array_header("<U1", (0,))], zipfile.ZIP_LZMA)
    assert_refused(path)
    content = written(path, parts).read_bytes()
    place = content.index(b"PK\1\2")
    path.write_bytes(content[: place + 8] + b"\1" + content[place + 9 :])
    assert_refused(path)


@pytest.mark.slow
def test_an_archive_of_very_many_members_is_refused_before_they_are_listed(tmp_path, assert_refused):
    path = tmp_path / "m.npz"
    with zipfile.ZipFile(path, "w") as file:
        for k in range(60_000):
            file.writestr(f"{k:05d}.npy", b"")
    assert_refused(path)


# --- random damage ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_randomly_damaged_moments_are_refused_or_valid(tmp_path):
    fuzz = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "fuzz.py"))["fuzz"]
    n_valid = fuzz(tmp_path, 1000, seed=0)
    assert 0 < n_valid < 500  # some of the damage is where it does not matter


# --- tables -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("line", [b"1,1,1,1,1,1,1,1\n", b"1," * 500_000, b"1"], ids=["rows", "columns", "digits"])
def test_a_table_that_unpacks_to_much_is_refused_before(line, tmp_path, assert_refused):
    with gzip.open(tmp_path / "seeds.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"a,b,c,d,e,f,g,label\n")
        for _ in range(60):
            file.write(line * (MEGABYTE // len(line)))
    assert_refused(tmp_path / "seeds.csv.gz", "table", r"seeds\.csv\.gz.*Get it again")


def test_a_model_of_loaded_moments_is_that_of_the_rows(tmp_path):
    X = surface()
    Moments(3, 2).update(X).save(tmp_path / "m.npz")
    found = OAVI(1e-6, max_degree=2).fit(Moments.load(tmp_path / "m.npz"))
    np.testing.assert_allclose(found.generators_.coef, OAVI(1e-6, max_degree=2).fit(X).generators_.coef, atol=1e-9)
