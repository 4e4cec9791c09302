"""``vanishing fit``: equations of tables in files, from the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler

import vanishing.cli.outputs
import vanishing.progress
import vanishing.rows.writing
from vanishing import ABM, AVI, OAVI, VCA, PerClass, open_rows
from vanishing.cli.main import main
from vanishing.constants import IN_HTML
from vanishing.rows.disk import DiskRows

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N_ROWS = 600


def curves(m=N_ROWS, seed=0):
    """Columns a and b: on the parabola ``b = a^2`` for label 1, on the line ``b = 10 - 2 a`` for label 0."""
    rng = np.random.default_rng(seed)
    a, y = rng.uniform(1.0, 3.0, m), np.arange(m) % 2
    return np.column_stack([a, np.where(y == 1, a**2, 10.0 - 2.0 * a)]), y


def write_parquet(path, X, names=("a", "b"), **more):
    columns = {name: X[:, j] for j, name in enumerate(names)}
    parquet.write_table(pyarrow.table({**columns, **more}), path)
    return str(path)


@pytest.fixture
def parabola(tmp_path):
    X, y = curves()
    return write_parquet(tmp_path / "parabola.parquet", X[y == 1])


@pytest.fixture
def both(tmp_path):
    X, y = curves()
    return write_parquet(tmp_path / "both.parquet", X, y=y, w=1.0 + y, word=np.array(["line", "parabola"])[y].tolist())


def fit(*arguments, quiet=True):
    return main(["fit", *map(str, arguments), *(["--quiet"] if quiet else [])])


def equations(text):
    """The printed equations, one list for each title."""
    found = []
    for line in text.splitlines():
        if match := re.fullmatch(r"  (.+) = 0    \(root mean square (\S+) for columns in \[0, 1\]\)", line):
            found[-1].append((match[1], float(match[2])))
        elif re.search(r"\d equations?\b", line):
            found.append([])
    return found


def value(equation, **columns):
    """The polynomial that is printed, on some rows."""
    return eval(equation.replace("^", "**"), {"__builtins__": {}}, columns)


def refused(capsys, *arguments):
    """The line on stderr of a run that ends with status 2 and nothing else."""
    assert fit(*arguments) == 2
    seen = capsys.readouterr()
    assert "Traceback" not in seen.err
    assert seen.err.startswith("vanishing: ")
    assert seen.err.count("\n") == 1
    assert equations(seen.out) == []
    return seen.err


# --- what is printed --------------------------------------------------------------------------------------------------


def test_equations_are_in_the_units_of_the_files(parabola, capsys):
    assert fit(parabola, "--psi", "1e-6") == 0
    seen = capsys.readouterr()
    assert seen.err == ""
    title, *_ = seen.out.splitlines()
    assert re.fullmatch(r"OAVI, psi = 1e-06, \d+\.\d s: \d+ equations, in the units of the files", title)
    ((first, *_),) = equations(seen.out)
    assert first[0] == "a^2 - b"
    assert first[1] < 1e-6


@pytest.mark.parametrize("algorithm", ["oavi", "abm", "avi", "vca"])
def test_every_algorithm_prints_the_equations_of_its_estimator(algorithm, tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.uniform(2.0, 5.0, (N_ROWS, 2))
    X[:, 1] = 10.0 * X[:, 0] ** 2 + rng.normal(0.0, 1.0, N_ROWS)
    file = write_parquet(tmp_path / "rows.parquet", X)
    assert fit(file, "--psi", "1e-3", "--max-degree", "2", "--algorithm", algorithm) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{algorithm.upper()}, psi = 0.001")
    scaler = MinMaxScaler().fit(X)
    model = {"oavi": OAVI, "abm": ABM, "avi": AVI, "vca": VCA}[algorithm](1e-3, max_degree=2)
    generators = model.fit(scaler.transform(X)).generators_
    (found,) = equations(text)
    assert len(found) == len(generators) > 0
    in_units = generators.in_units(scaler).monic()
    order = sorted(range(len(generators)), key=lambda g: (in_units[g].degree, generators.mse[g]))
    for (equation, rms), g in zip(found, order, strict=True):
        assert equation == str(in_units[g]).replace("x0", "a").replace("x1", "b")
        assert rms == pytest.approx(np.sqrt(generators.mse[g]), rel=0.1, abs=1e-7)


def test_relations_come_first_then_equations_of_lower_degree_and_of_one_degree_the_best(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_ROWS, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + rng.normal(0.0, 0.01, N_ROWS)
    assert fit(write_parquet(tmp_path / "rows.parquet", X, "abc"), "--psi", "0.001") == 0
    (found,) = equations(capsys.readouterr().out)
    rows = open_rows(tmp_path / "rows.parquet", scale=True)
    model = OAVI(0.001).fit(rows)
    generators, rank = model.generators_, model.relations().rank
    assert len(set(rank)) > 1
    expected = sorted((rank[g], generators[g].degree, generators.mse[g]) for g in range(len(generators)))
    assert [rms for _, rms in found] == pytest.approx([mse**0.5 for *_, mse in expected], rel=0.1, abs=1e-9)


def test_a_long_list_is_cut(tmp_path, capsys):
    X = np.random.default_rng(0).uniform(size=(N_ROWS, 9))
    assert fit(write_parquet(tmp_path / "rows.parquet", X, "abcdefghi"), "--psi", "0.05") == 0
    text = capsys.readouterr().out
    (found,) = equations(text)
    assert len(found) == IN_HTML
    n_all, n_more = int(re.search(r"(\d+) equations", text)[1]), int(re.search(r"\.\.\. and (\d+) more", text)[1])
    assert n_all == IN_HTML + n_more


def test_no_equation_is_an_answer(both, capsys):
    assert fit(both, "--columns", "a,b", "--psi", "1e-12", "--max-degree", "1") == 0
    text = capsys.readouterr().out
    assert "0 equations" in text
    assert equations(text) == [[]]


def test_an_exact_law_has_a_root_mean_square_that_is_a_number(tmp_path, capsys):
    x = np.random.default_rng(0).integers(0, 64, N_ROWS) / 64.0
    assert fit(write_parquet(tmp_path / "rows.parquet", np.column_stack([x, 2.0 * x])), "--psi", "1e-8") == 0
    ((first, *_),) = equations(capsys.readouterr().out)
    assert first[0] == "b - 2*a"
    assert 0.0 <= first[1] < 1e-7


@pytest.mark.parametrize(("small", "large"), [(1e-5, 1e5), (1e-9, 1.0), (1.0, 1e9)])
def test_columns_of_very_different_sizes_keep_their_terms(small, large, tmp_path, capsys):
    x = np.random.default_rng(0).uniform(size=N_ROWS)
    X = np.column_stack([small * x, large * x])
    assert fit(write_parquet(tmp_path / "rows.parquet", X), "--psi", "1e-6", "--max-degree", "1") == 0
    (((equation, _),),) = equations(capsys.readouterr().out)
    assert "a" in equation
    assert "b" in equation
    np.testing.assert_allclose(value(equation, a=X[:, 0], b=X[:, 1]) / large, 0.0, atol=1e-3)


def test_coefficients_of_products_of_sums_are_not_divided_by_dust(parabola, capsys):
    assert fit(parabola, "--algorithm", "vca", "--psi", "1e-6", "--max-degree", "2") == 0
    (found,) = equations(capsys.readouterr().out)
    assert "a^2 - b" in [equation.replace("b - a^2", "a^2 - b") for equation, _ in found]


# --- labels, columns, weights, scaling --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "titles"), [("y", ["class 0", "class 1"]), ("word", ["class line", "class parabola"])]
)
def test_a_label_gives_equations_for_each_class(label, titles, both, capsys):
    assert fit(both, "--columns", "a,b", "--label", label, "--psi", "1e-4") == 0
    seen = capsys.readouterr()
    assert seen.err == ""
    assert [line.split(":")[0] for line in seen.out.splitlines() if line.startswith("class")] == titles
    line, parabola = equations(seen.out)
    assert line[0][0] == "b + 2*a - 10"
    assert parabola[0][0] == "a^2 - b"


def test_columns_are_chosen_and_ordered(both, capsys):
    assert fit(both, "--columns", "b,a", "--label", "y", "--psi", "1e-4") == 0
    line, _ = equations(capsys.readouterr().out)
    assert line[0][0] == "a + 0.5*b - 5"


def test_all_columns_but_label_and_weight_are_used(tmp_path, capsys):
    X, y = curves()
    file = write_parquet(tmp_path / "rows.parquet", X, y=y, w=1.0 + y)
    assert fit(file, "--label", "y", "--weight", "w", "--psi", "1e-4") == 0
    text = capsys.readouterr().out
    for group in equations(text):
        for equation, _ in group:
            assert set(re.findall("[a-z]", equation.replace("e", ""))) <= {"a", "b"}


def test_weights_count_like_repeated_rows(tmp_path, capsys):
    X, y = curves()
    X = X + np.random.default_rng(1).normal(0.0, 0.1, X.shape)
    weighted = write_parquet(tmp_path / "weighted.parquet", X, w=1 + 2 * y)
    repeated = write_parquet(tmp_path / "repeated.parquet", np.repeat(X, 1 + 2 * y, axis=0))
    texts = []
    for arguments in ((weighted, "--weight", "w"), (repeated,), (weighted, "--columns", "a,b")):
        assert fit(*arguments, "--psi", "0.01") == 0
        texts.append(equations(capsys.readouterr().out))
    assert texts[0] == texts[1] != texts[2]


def test_columns_in_the_unit_cube_need_no_scaling(tmp_path, capsys):
    x = np.random.default_rng(0).uniform(0.2, 0.8, N_ROWS)
    file = write_parquet(tmp_path / "rows.parquet", np.column_stack([x, x**2]))
    assert fit(file, "--no-scale", "--psi", "1e-6") == 0
    text = capsys.readouterr().out
    assert "in the units of the files" not in text
    ((first, *_),) = equations(text)
    assert first[0] == "a^2 - b"
    expected = OAVI(1e-6).fit(np.column_stack([x, x**2])).generators_
    assert len(equations(text)[0]) == len(expected)


@pytest.mark.filterwarnings("always::vanishing.RangeWarning")
def test_columns_outside_the_unit_cube_are_warned_of_in_one_line_without_scaling(parabola, capsys):
    assert fit(parabola, "--no-scale", "--psi", "1e-3", "--quiet") == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("vanishing: Values outside [0, 1] in column 'a'")


def write_csv(path, X):
    np.savetxt(path, X, delimiter=",", header="a,b", comments="", fmt="%.17g")


def write_feather(path, X):
    pytest.importorskip("pyarrow.feather").write_feather(pyarrow.table({"a": X[:, 0], "b": X[:, 1]}), path)


@pytest.mark.parametrize(
    ("suffix", "write", "law"),
    [
        (".parquet", write_parquet, "a^2 - b"),
        (".csv", write_csv, "a^2 - b"),
        (".feather", write_feather, "a^2 - b"),
        (".npy", np.save, "x0^2 - x1"),
    ],
)
@pytest.mark.parametrize("how", ["files", "pattern", "folder"])
def test_files_of_every_format_are_found(suffix, write, law, how, tmp_path, capsys):
    X, y = curves()
    for k, part in enumerate(np.array_split(X[y == 1], 3)):
        write(tmp_path / f"part{k}{suffix}", part)
    files = {"files": sorted(tmp_path.iterdir()), "pattern": [tmp_path / f"*{suffix}"], "folder": [tmp_path]}[how]
    assert fit(*files, "--psi", "1e-6") == 0
    ((first, *_),) = equations(capsys.readouterr().out)
    assert first[0] == law


@pytest.mark.parametrize(
    "how",
    [
        "file",
        "pattern",
        pytest.param("folder"),
    ],
)
def test_columns_of_arrays_are_numbers(how, tmp_path, capsys):
    X, y = curves()
    np.save(tmp_path / "rows.npy", np.column_stack([y, X, 1.0 + y]))
    path = {"file": tmp_path / "rows.npy", "pattern": tmp_path / "*.npy", "folder": tmp_path}[how]
    assert fit(path, "--label", "0", "--weight", "3", "--columns", "2,1", "--psi", "1e-4") == 0
    line, _ = equations(capsys.readouterr().out)
    assert line[0][0] == "x1 + 0.5*x0 - 5"


# --- features ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("label", [None, "y"])
@pytest.mark.parametrize("algorithm", ["oavi", "vca"])
def test_features_are_written(suffix, label, algorithm, both, tmp_path, capsys):
    target = tmp_path / f"features{suffix}"
    arguments = ["--columns", "a,b", "--psi", "1e-3", "--max-degree", "3", "--algorithm", algorithm]
    arguments += [] if label is None else ["--label", label]
    assert fit(both, *arguments, "--features", target) == 0
    assert capsys.readouterr().out.endswith(f"features written to {target}\n")
    X, y = curves()
    ideal = (OAVI if algorithm == "oavi" else VCA)(1e-3, max_degree=3)
    scaled = pytest.importorskip("pandas").DataFrame(MinMaxScaler().fit_transform(X), columns=["a", "b"])
    model = ideal.fit(scaled) if label is None else PerClass(ideal).fit(scaled, y)
    if suffix == ".npy":
        written = np.load(target)
    else:
        table = parquet.read_table(target)
        assert table.column_names == [f"g{k}" for k in range(table.num_columns)]
        equations = json.loads(table.schema.metadata[b"vanishing"])["equations"]
        assert list(equations.values()) == list(model.get_feature_names_out())
        written = np.column_stack([column.to_numpy() for column in table.columns])
    np.testing.assert_allclose(written, model.transform(scaled), rtol=1e-6, atol=1e-7)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["both.parquet", target.name]


@pytest.mark.parametrize(
    ("target", "message"), [("features.txt", r"has to end in \.parquet or \.csv"), ("no/f.npy", "make it first")]
)
def test_features_that_cannot_be_written_are_refused(target, message, parabola, tmp_path, capsys):
    assert re.search(message, refused(capsys, parabola, "--psi", "1e-6", "--features", tmp_path / target))
    assert [file.name for file in tmp_path.iterdir()] == ["parabola.parquet"]


@pytest.mark.parametrize("target", ["features.txt", "no/f.npy"])
def test_features_that_cannot_be_written_are_refused_before_the_fit(target, parabola, tmp_path, capsys, passes):
    refused(capsys, parabola, "--features", tmp_path / target)
    assert passes == []


def test_features_do_not_replace_the_data(parabola, capsys):
    with open(parabola, "rb") as stream:
        before = stream.read()
    status = fit(parabola, "--psi", "1e-6", "--features", parabola)
    with open(parabola, "rb") as stream:
        assert stream.read() == before
    assert status == 2


def test_no_equation_to_write_is_said_with_a_way_out(both, tmp_path, capsys):
    arguments = ["--columns", "a,b", "--psi", "1e-12", "--max-degree", "1", "--features", tmp_path / "f.npy"]
    assert "psi" in refused(capsys, both, *arguments)


# --- progress ---------------------------------------------------------------------------------------------------------


def test_progress_is_shown_on_stderr(parabola, tmp_path, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr("vanishing.cli.inputs.BAR_DELAY", 0.0)
    assert fit(parabola, "--psi", "1e-6", "--features", tmp_path / "f.npy", quiet=False) == 0
    seen = capsys.readouterr()
    assert "pass 1" in seen.err
    assert "rows" in seen.err
    assert "pass" not in seen.out
    assert vanishing.progress.passes_shown.depth == 0
    assert fit(parabola, "--psi", "1e-6", "--features", tmp_path / "f.npy", "--force") == 0
    assert capsys.readouterr().err == ""


def test_progress_of_a_run_that_fails_ends_with_it(parabola, tmp_path, capsys):
    pytest.importorskip("tqdm")
    assert fit(parabola, "--psi", "1e-6", "--features", tmp_path / "f.txt", quiet=False) == 2
    assert vanishing.progress.passes_shown.depth == 0
    assert "Traceback" not in capsys.readouterr().err


def test_progress_that_cannot_be_shown_does_not_matter(parabola, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert fit(parabola, "--psi", "1e-6", quiet=False) == 0
    seen = capsys.readouterr()
    assert "no progress is shown" in seen.err
    assert "pip install 'vanishing[progress]'" in seen.err
    assert equations(seen.out)[0][0][0] == "a^2 - b"


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--columns", "--label", "--weight"])
def test_an_unknown_column_is_named_beside_those_that_there_are(option, both, capsys):
    message = refused(capsys, both, option, "z")
    assert "both.parquet has no column 'z'; it has a, b, y, w, word" in message


@pytest.mark.parametrize("option", ["--columns", "--label", "--weight"])
@pytest.mark.parametrize("given", ["a", "7", "1.5"])
def test_a_column_of_an_array_that_is_no_number_or_none_of_them_is_refused(option, given, tmp_path, capsys):
    np.save(tmp_path / "rows.npy", curves()[0])
    message = refused(capsys, tmp_path / "rows.npy", option, given)
    assert "by their numbers, from 0 on" in message or "number of a column, 0 to 1" in message


def test_a_column_of_text_is_named(both, capsys):
    message = refused(capsys, both, "--label", "y")
    assert "has text in 'word': leave it out with --exclude word." in message


@pytest.mark.parametrize("path", ["nothing.parquet", "*.npy", "."])
def test_a_missing_file_is_named_with_what_could_be_given(path, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = refused(capsys, path)
    assert f"No data files at {path!r}: give a file, a folder or a pattern like '*.parquet'" in message


def test_formats_that_are_unknown_or_mixed_are_refused(parabola, tmp_path, capsys):
    (tmp_path / "rows.ods").write_text("")
    assert "files have to end in .npy, .parquet" in refused(capsys, tmp_path / "rows.ods")
    np.save(tmp_path / "rows.npy", np.ones((3, 2)))
    assert "open one format at a time" in refused(capsys, parabola, tmp_path / "rows.npy")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--psi", "-1"], "psi must be at least 0"),
        (["--psi", "nan"], "psi must be a number"),
        (["--psi", "inf"], "psi must be at least 0 and finite"),
        (["--psi", "1", "--algorithm", "abm"], "psi must be below 1"),
        (["--max-degree", "0"], "--max-degree must be an integer of at least 1"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments, message, parabola, capsys):
    assert message in refused(capsys, parabola, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--psi", "little"], "argument --psi: invalid float value: 'little'"),
        (["--max-degree", "2.5"], "argument --max-degree: invalid int value"),
        (["--algorithm", "magic"], "argument --algorithm: invalid choice: 'magic' (choose from"),
        (["--nonsense"], "'vanishing fit' does not take '--nonsense': see 'vanishing fit --help'."),
    ],
)
def test_arguments_that_cannot_be_read_show_the_usage(arguments, message, parabola, capsys):
    with pytest.raises(SystemExit) as stop:
        fit(parabola, *arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_files_are_required(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["fit"])
    assert stop.value.code == 2
    assert "required: FILE" in capsys.readouterr().err


def test_help_shows_every_option(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["fit", "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for option in ("psi", "algorithm", "max-degree", "columns", "label", "weight", "no-scale", "features", "quiet"):
        assert f"--{option}" in text


def test_a_missing_value_is_named_with_its_row(tmp_path, capsys):
    X, _ = curves()
    X[123, 1] = np.nan
    message = refused(capsys, write_parquet(tmp_path / "rows.parquet", X))
    assert re.search(r"Column 'b' has missing values: 1, the first in row 123 of .*rows\.parquet", message)
    assert "drop those rows" in message


def test_a_truncated_file_is_named(parabola, capsys):
    os.truncate(parabola, 500)
    assert re.search(r"parabola\.parquet cannot be read.*truncated", refused(capsys, parabola))


def test_a_file_without_rows_is_named(tmp_path, capsys):
    assert "no rows in" in refused(capsys, write_parquet(tmp_path / "rows.parquet", np.empty((0, 2))))


def test_a_bad_weight_is_named_with_its_file(tmp_path, capsys):
    X, y = curves()
    file = write_parquet(tmp_path / "rows.parquet", X, w=y - 1.0)
    assert re.search(r"weight is negative.*rows\.parquet, column 'w'", refused(capsys, file, "--weight", "w"))


def test_a_label_with_too_many_values_is_refused(tmp_path, capsys):
    X, _ = curves(5000)
    file = write_parquet(tmp_path / "rows.parquet", X, y=np.repeat(np.arange(1250), 4))
    assert "is --target or --label the right column?" in refused(capsys, file, "--label", "y")


@pytest.mark.slow
def test_more_than_twenty_classes_are_no_reason_to_warn(tmp_path, capsys):
    X, _ = curves()
    file = write_parquet(tmp_path / "rows.parquet", X, y=np.arange(N_ROWS) % 26)
    assert fit(file, "--label", "y", "--psi", "0.01", "--max-degree", "2") == 0
    assert len(equations(capsys.readouterr().out)) == 26


def test_what_has_to_be_installed_is_said(parabola, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    assert "pip install 'vanishing[parquet]'" in refused(capsys, parabola)


# --- interrupts -------------------------------------------------------------------------------------------------------


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("label", [False, True])
def test_an_interrupt_in_the_fit_is_no_error(quiet, label, both, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(DiskRows, "reduce", interrupt)
    arguments = ["--columns", "a,b", *(["--label", "y"] if label else []), "--features", tmp_path / "f.npy"]
    assert fit(both, *arguments, quiet=quiet) == 130
    seen = capsys.readouterr()
    assert "interrupted; nothing was written" in seen.err
    assert "Traceback" not in seen.err
    assert seen.out == ""
    assert [file.name for file in tmp_path.iterdir()] == ["both.parquet"]
    assert vanishing.progress.passes_shown.depth == 0


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("place", ["write", "replace"])
def test_an_interrupt_while_features_are_written_leaves_no_file(
    suffix, existing, place, parabola, tmp_path, capsys, monkeypatch
):
    target = tmp_path / f"features{suffix}"
    if existing:
        target.write_bytes(b"what was there before")
    file = vanishing.rows.writing._Npy if suffix == ".npy" else vanishing.cli.outputs._Parquet
    monkeypatch.setattr(file if place == "write" else vanishing.rows.writing.os, place, interrupt)
    assert fit(parabola, "--psi", "1e-6", "--features", target, "--force") == 130
    assert "interrupted" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ([target.name] if existing else []) + [
        "parabola.parquet"
    ]
    assert not existing or target.read_bytes() == b"what was there before"


# --- the program itself -----------------------------------------------------------------------------------------------


def shell(*arguments):
    command = [sys.executable, "-W", "error", "-m", "vanishing", "fit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.slow
def test_the_program_runs_from_the_shell(parabola, tmp_path):
    done = shell(parabola, "--psi", "1e-6", "--features", tmp_path / "f.parquet")
    assert done.returncode == 0, done.stderr
    assert equations(done.stdout)[0][0][0] == "a^2 - b"
    assert (tmp_path / "f.parquet").exists()


@pytest.mark.slow
def test_the_program_fails_without_a_traceback():
    done = shell("nothing.parquet", "--quiet")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("vanishing: No data files at 'nothing.parquet'")
    assert "Traceback" not in done.stderr
