"""The paper's data sets, wherever they come from, and points on known varieties."""

import gzip
import itertools
import os
import sys
import urllib.error
from dataclasses import replace
from http.client import IncompleteRead
from pathlib import Path

import numpy as np
import pytest
import sympy
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import Bunch

from vanishing import ABM, OAVI
from vanishing.datasets import TABLES, VARIETIES, _tables, cache_folder, load, make_variety

FOLDER = Path(os.environ.get("VANISHING_DATA", "no-folder-is-named"))
# Rows, features and labels according to the UCI repository; of credit, the paper leaves out one feature of 23.
SIZES = {
    "bank": (1372, 4, {0, 1}),
    "credit": (30000, 22, {0, 1}),
    "htru": (17898, 8, {0, 1}),
    "skin": (245057, 3, {1, 2}),
    "spam": (4601, 57, {0, 1}),
    "seeds": (210, 7, {1, 2, 3}),
}


def write(path, table, header="one,row"):
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt") as file:
        file.write(header + "\n")
        file.writelines(",".join(map(repr, row)) + "\n" for row in table.tolist())
    return path


def made(name):
    """Random numbers of the right shape, with the right labels in random order."""
    known, rng = _tables._KNOWN[name], np.random.default_rng(0)
    labels = np.repeat(list(known.counts), list(known.counts.values()))
    return np.column_stack([rng.normal(size=(known.shape[0], known.shape[1] - 1)), rng.permutation(labels)])


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No data set is on this computer, and fetching one is an error; the folder of the cache."""

    def fetch_openml(**_):
        raise AssertionError("nothing is to be fetched")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    monkeypatch.delenv("VANISHING_DATA", raising=False)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "cache"))
    return tmp_path / "cache" / "vanishing"


@pytest.fixture
def genuine(monkeypatch):
    """A function that makes a table, and has it taken for the one of the source."""

    def make(name):
        table = made(name)
        monkeypatch.setitem(_tables._KNOWN, name, replace(_tables._KNOWN[name], digest=_tables._digest(table)))
        return table

    return make


def openml(monkeypatch, answer):
    """Have every call of fetch_openml answered, or fail, like this; the list of the calls."""
    calls = []

    def fetch_openml(**how):
        calls.append(how)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return calls


def as_openml(table, **changes):
    """The answer of OpenML for a table."""
    names = [f"V{j}" for j in range(1, table.shape[1])]
    target = np.array([f"{label:g}" for label in table[:, -1]], dtype=object)
    return Bunch(**{"data": table[:, :-1], "target": target, "feature_names": names, "categories": {}, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_the_files_of_the_source(name):
    """Warnings are errors: the digests are those of the files."""
    path = FOLDER / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not there; set VANISHING_DATA to the folder with the paper's data sets")
    table = load(name, data_dir=FOLDER)
    raw = np.loadtxt(path, delimiter=",", skiprows=1)
    first = 1 if name == "credit" else 0
    assert (*table.data.shape, set(table.target.tolist())) == SIZES[name]
    assert table.data.dtype == np.float64
    assert table.data.flags.c_contiguous
    assert table.target.dtype == np.int64
    assert np.array_equal(np.column_stack([table.data, table.target]), raw[:, first:])
    with gzip.open(path, "rt") as file:
        assert table.feature_names == file.readline().strip().split(",")[first:-1]
    assert len(table.target_names) == len(SIZES[name][2])
    assert table.name == name
    assert all(part in table.DESCR for part in ("UCI", "doi:10.24432/", "CC BY 4.0"))


@pytest.mark.slow
def test_credit_has_one_more_feature_on_demand(genuine, nowhere):
    table = genuine("credit")
    write(nowhere / "credit.csv", table)
    paper, everything = load("credit"), load("credit", all_features=True)
    assert np.array_equal(paper.data, table[:, 1:-1])
    assert np.array_equal(everything.data, table[:, :-1])
    assert everything.feature_names == ["LIMIT_BAL", *paper.feature_names]


def test_all_features_of_the_others_are_those_of_the_paper(genuine, nowhere):
    write(nowhere / "seeds.csv.gz", genuine("seeds"))
    X, y = load("seeds", all_features=True, return_X_y=True)
    table = load("seeds")
    assert np.array_equal(X, table.data)
    assert np.array_equal(y, table.target)


@pytest.mark.filterwarnings("ignore:.*the published splits are not exactly reproduced")
def test_places_are_tried_in_order(tmp_path, nowhere, monkeypatch):
    table = made("seeds")
    given, named = tmp_path / "given", tmp_path / "named"
    for number, folder in enumerate([given, named, nowhere]):
        table[0, 0] = number
        write(folder / "seeds.csv.gz", table)
    monkeypatch.setenv("VANISHING_DATA", str(named))
    assert load("seeds", data_dir=str(given)).data[0, 0] == 0
    assert load("seeds").data[0, 0] == 1
    (named / "seeds.csv.gz").unlink()
    assert load("seeds").data[0, 0] == 2
    table[0, 0] = 3
    write(named / "seeds.csv", table)
    assert load("seeds").data[0, 0] == 3


def test_a_folder_that_is_given_is_the_only_place(genuine, tmp_path, nowhere):
    write(nowhere / "seeds.csv.gz", genuine("seeds"))
    with pytest.raises(FileNotFoundError, match=r"no seeds\.csv\.gz in .*given.*header row.*doi\.org/10\.24432/C5H30K"):
        load("seeds", data_dir=tmp_path / "given")


def test_what_is_fetched_is_kept(genuine, nowhere, monkeypatch):
    table = genuine("seeds")
    calls = openml(monkeypatch, as_openml(table))
    first = load("seeds")
    assert [(how["data_id"], how["data_home"]) for how in calls] == [(1499, str(nowhere))]
    assert [path.name for path in nowhere.iterdir()] == ["seeds.csv.gz"]
    second = load("seeds")
    assert len(calls) == 1
    for loaded in (first, second):  # every digit survives the file
        assert np.array_equal(np.column_stack([loaded.data, loaded.target]), table)


def test_labels_of_openml_become_those_of_the_source(genuine, nowhere, monkeypatch):
    """OpenML has 1 and 2 for the banknotes' 0 and 1."""
    table = genuine("bank")
    openml(monkeypatch, as_openml(table + np.array([0, 0, 0, 0, 1])))
    assert np.array_equal(load("bank").target, table[:, -1])
    assert np.array_equal(load("bank").target, table[:, -1])  # from the cache, where they must not change again


def test_numbers_that_openml_takes_for_names(genuine, nowhere, monkeypatch):
    table = genuine("seeds")
    texts = sorted({repr(x) for x in table[:, 2].tolist()})
    data = table[:, :-1].copy()
    data[:, 2] = [texts.index(repr(x)) for x in table[:, 2].tolist()]
    openml(monkeypatch, as_openml(table, data=data, categories={"V3": texts}))
    assert np.array_equal(load("seeds").data, table[:, :-1])


def test_openml_without_a_target(genuine, nowhere, monkeypatch):
    table = genuine("seeds")
    openml(monkeypatch, as_openml(table, data=table, target=None))
    assert np.array_equal(load("seeds").target, table[:, -1])


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.URLError("no route to host"),
        TimeoutError("timed out"),
        ConnectionResetError("reset by peer"),
        IncompleteRead(b"half"),
        ValueError("md5 checksum does not match"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_without_a_connection_the_error_says_what_to_do(nowhere, monkeypatch, error):
    openml(monkeypatch, error)
    with pytest.raises(FileNotFoundError) as raised:
        load("htru")
    assert raised.value.__cause__ is error
    expected = (
        "htru.csv.gz",
        str(nowhere),
        "45558",
        str(error),
        "header row",
        "VANISHING_DATA",
        "--data-dir",
        "C5DK6R",
    )
    assert all(part in str(raised.value) for part in expected)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda table: as_openml(table[1:]), "209 rows and 8 columns, but Seeds has 210 rows and 8 columns"),
        (lambda table: as_openml(table, target=np.full(210, "Kama", dtype=object)), "text in place of numbers.*'Kama'"),
    ],
)
def test_what_is_wrong_is_not_kept(nowhere, monkeypatch, answer, message):
    openml(monkeypatch, answer(made("seeds")))
    with pytest.raises(ValueError, match=f"OpenML data set 1499 has {message}"):
        load("seeds")
    assert not nowhere.exists()


def test_a_failed_write_leaves_nothing(genuine, nowhere, monkeypatch):
    def no_space(*_):
        raise OSError("no space left")

    openml(monkeypatch, as_openml(genuine("seeds")))
    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(OSError, match="no space left"):
        load("seeds")
    assert list(nowhere.iterdir()) == []


def with_value(table, row, column, value):
    changed = table.copy()
    changed[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda table: table[:-1], "209 rows and 8 columns, but Seeds has 210 rows and 8 columns"),
        (lambda table: table[:0], "0 rows and"),
        (lambda table: np.column_stack([table[:, :1], table]), "210 rows and 9 columns, but"),
        (lambda table: with_value(table, 5, 3, np.nan), "values that are missing or infinite"),
        (lambda table: with_value(table, 5, 3, np.inf), "values that are missing or infinite"),
        (lambda table: with_value(table, slice(None), -1, 1), "label 1: 210, but Seeds has rows by label 1: 70, 2: 70"),
        (lambda table: table[:, ::-1], r"rows by label -?\d.*, but Seeds has rows by label 1: 70, 2: 70, 3: 70"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_tables_that_cannot_be_the_data_set(tmp_path, spoil, message, suffix):
    path = write(tmp_path / f"seeds.{suffix}", spoil(made("seeds")))
    with pytest.raises(ValueError, match=rf"seeds\.{suffix} has .*{message}.*doi\.org/10\.24432/C5H30K"):
        load("seeds", data_dir=path.parent)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:5],
        lambda content: content[20:],
        lambda content: content[:400] + bytes(8) + content[408:],
        lambda content: gzip.compress(gzip.decompress(content) + b"1,2,3,4,five,6,7,1\n"),
        lambda content: gzip.compress(gzip.decompress(content) + b"1,2,3,4,,6,7,1\n"),
        lambda content: gzip.compress(gzip.decompress(content) + b"1,2,3\n"),
        lambda content: gzip.compress(b"name\n\xff\xfe\n"),
    ],
    ids=["half", "start", "end", "hole", "text", "gap", "short row", "other encoding"],
)
def test_damaged_files(tmp_path, spoil):
    path = write(tmp_path / "seeds.csv.gz", made("seeds"))
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(
        ValueError, match=r"seeds\.csv\.gz is damaged, or not a CSV file of numbers \(.+\)\. Get it again"
    ):
        load("seeds", data_dir=tmp_path)


def test_other_rows_or_digits_give_one_warning(genuine, tmp_path):
    table = genuine("seeds")
    for changed in (table[::-1], with_value(table, 0, 0, np.nextafter(table[0, 0], 9))):
        write(tmp_path / "seeds.csv.gz", changed)
        with pytest.warns(UserWarning, match=r"seeds\.csv\.gz has its rows in another order") as warned:
            loaded = load("seeds", data_dir=tmp_path)
        assert [Path(warning.filename) for warning in warned] == [Path(__file__)]
        assert np.array_equal(loaded.data, changed[:, :-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "iris"}, "name must be one of 'bank', 'credit', 'htru', 'skin', 'spam', 'seeds'; got 'iris'"),
        ({"name": "seeds", "all_features": "yes"}, "all_features must be True or False"),
        ({"name": "seeds", "return_X_y": None}, "return_X_y must be True or False"),
    ],
)
def test_bad_arguments_of_load(arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**arguments)


def test_cache_folder(monkeypatch):
    home = Path.home()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_folder() == home / ".cache" / "vanishing"
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_folder() == Path("/elsewhere/vanishing")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert cache_folder() == Path("/local/vanishing")


def polynomials(texts, names):
    return [sympy.Poly(text, *map(sympy.Symbol, names)) for text in texts]


@pytest.mark.parametrize("name", VARIETIES)
def test_equations_are_zero_on_the_points(name):
    variety = make_variety(name, 500, random_state=0)
    assert variety.data.shape == (500, len(variety.feature_names))
    assert variety.data.flags.c_contiguous
    # No name is one that SymPy has a meaning for, and none is there in vain.
    used = set().union(*(sympy.sympify(equation).free_symbols for equation in variety.equations))
    assert used == set(map(sympy.Symbol, variety.feature_names))
    for polynomial in polynomials(variety.equations, variety.feature_names):
        values = sympy.lambdify(polynomial.gens, polynomial.as_expr())(*variety.data.T)
        size = sum(abs(float(c)) * np.prod(np.abs(variety.data) ** e, axis=1) for e, c in polynomial.terms())
        assert (np.abs(values) <= 1e-10 * size).all()


@pytest.mark.parametrize("name", VARIETIES)
def test_noise_is_relative_to_the_range_of_a_column(name):
    exact, noisy = (make_variety(name, 4000, noise=noise, random_state=0).data for noise in (0.0, 0.03))
    relative = (noisy - exact) / np.ptp(exact, axis=0)
    covariance = np.cov(relative.T) / 0.03**2
    assert covariance == pytest.approx(np.eye(exact.shape[1]), abs=0.1)
    assert relative.mean(axis=0) == pytest.approx(0.0, abs=0.002)


def inside(polynomial, generators, X, degree):
    """Distance of a polynomial from the multiples of the generators up to a degree, relative to its own size.

    A term counts as much as its largest value on the data, so that units do not matter.
    """
    terms = [e for e in itertools.product(range(degree + 1), repeat=X.shape[1]) if sum(e) <= degree]
    size = [np.prod(np.abs(X) ** e, axis=1).max() for e in terms]

    def vector(p):
        coef = dict(p.terms())
        v = np.array([float(coef.get(e, 0)) for e in terms]) * size
        return v / np.linalg.norm(v)

    multiples = [
        vector(g * sympy.Poly({e: 1}, *g.gens))
        for g in generators
        for e in terms
        if sum(e) + g.total_degree() <= degree
    ]
    A, b = np.column_stack(multiples), vector(polynomial)
    return np.linalg.norm(A @ np.linalg.lstsq(A, b)[0] - b)


@pytest.mark.parametrize("estimator", [OAVI(0.0, tau=1e6), ABM(1e-14)], ids=["OAVI", "ABM"])
@pytest.mark.parametrize("name", VARIETIES)
def test_the_equations_are_found(name, estimator):
    """The ideals that the stated and the found equations generate are the same, up to the degree of the former.

    For one equation this means that the generator is a multiple of it.
    """
    variety = make_variety(name, random_state=0)
    stated = polynomials(variety.equations, variety.feature_names)
    degree = max(polynomial.total_degree() for polynomial in stated)
    scaler = MinMaxScaler().fit(variety.data)
    model = clone(estimator).set_params(max_degree=degree).fit(scaler.transform(variety.data))
    assert sorted(model.generators_.degrees) == sorted(polynomial.total_degree() for polynomial in stated)
    fresh = make_variety(name, random_state=1).data
    assert model.generators_.evaluate(scaler.transform(fresh)) == pytest.approx(0.0, abs=1e-6)
    in_units = [g.renamed(variety.feature_names).to_sympy() for g in model.generators_.in_units(scaler)]
    found = polynomials(in_units, variety.feature_names)
    for some, others in ((stated, found), (found, stated)):
        assert max(inside(polynomial, others, variety.data, degree) for polynomial in some) < 1e-6


def test_points_do_not_depend_on_global_state():
    first, second, other = (make_variety("torus", 20, noise=0.1, random_state=seed).data for seed in (0, 0, 1))
    assert np.array_equal(first, second)
    assert not np.allclose(first, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "klein_bottle"}, "name must be one of 'circle', 'sphere',.*; got 'klein_bottle'"),
        ({"name": "circle", "n_samples": 0}, "n_samples must be an integer of at least 1, got 0"),
        ({"name": "circle", "n_samples": 2.5}, "n_samples must be an integer of at least 1, got 2.5"),
        ({"name": "circle", "noise": -0.1}, "noise must be at least 0 and finite, got -0.1"),
        ({"name": "circle", "noise": np.nan}, "noise must be a number, got nan"),
    ],
)
def test_bad_arguments_of_make_variety(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_variety(**arguments)
