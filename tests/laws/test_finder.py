"""The estimator: scikit-learn's rules, sources of every kind, bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tables import circle, gas, with_noise

from vanishing import LawFinder, discover, open_rows


@parametrize_with_checks([LawFinder(max_degree=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def large_gas():
    rng = np.random.default_rng(4)
    return with_noise(gas(rng, 20_000), 0.01, rng)


@pytest.mark.slow
def test_all_rows_confirm_what_some_have_shown(large_gas):
    (law,) = discover(large_gas, max_degree=2)
    assert law.n_rows == 20_000
    assert law.coef[1] == pytest.approx(-8.314, abs=4.0 * law.stderr[1])
    (some,) = discover(large_gas[:2000], max_degree=2)
    assert law.stderr[1] < some.stderr[1] / 2.5


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0, 1.0), (1.0, 1.2, 0.9, 1.0)])
def test_many_rows_do_not_reject_a_true_law(shares, rng):
    """Neither because the selected rows have slightly other deviations, nor because columns have other noise levels."""
    X = gas(rng, 300_000)
    X += 0.01 * X.std(axis=0) * shares * rng.normal(size=X.shape)
    (law,) = discover(X, max_degree=2)
    assert law.p_value > 1e-3
    assert law.noise == pytest.approx(0.01 * X.std(axis=0) * shares, rel=0.15)


def test_rows_that_contradict_an_exact_law_are_found(rng):
    X = circle(rng, 20_000)
    X[11_000, 0] = 3.0
    laws = discover(X, max_degree=2)
    assert not any(law.kind == "exact" for law in laws)


@pytest.mark.slow
def test_the_same_laws_from_files(large_gas, tmp_path):
    np.save(tmp_path / "gas.npy", large_gas)
    (law,) = discover(open_rows(str(tmp_path / "gas.npy")), max_degree=2)
    (expected,) = discover(large_gas, max_degree=2)
    assert np.array_equal(law.exponents, expected.exponents)
    assert law.coef == pytest.approx(expected.coef, rel=1e-4)


@pytest.mark.slow
def test_the_same_laws_from_a_device(large_gas):
    xp = pytest.importorskip("array_api_strict")
    pytest.importorskip("array_api_compat")
    (law,) = discover(xp.asarray(large_gas[:12_000]), max_degree=2)
    (expected,) = discover(large_gas[:12_000], max_degree=2)
    assert np.array_equal(law.exponents, expected.exponents)
    assert law.coef == pytest.approx(expected.coef, rel=1e-3)


@pytest.mark.slow
def test_a_frame_of_polars_has_the_law_of_its_rows(large_gas):
    polars = pytest.importorskip("polars")
    (law,) = discover(polars.DataFrame(large_gas[:2000], schema=["p", "V", "n", "T"]))
    assert law.equation.startswith("p*V = 8.3")


def test_transform_gives_distances_and_score_their_negative_root_mean_square(rng):
    X = with_noise(circle(rng, 500), 0.01, rng)
    finder = LawFinder().fit(X)
    assert finder.transform(X).shape == (500, 1)
    assert finder.score(X) == pytest.approx(-0.01, rel=0.3)
    assert finder.score(2.0 * X) < -0.3
    assert finder.get_feature_names_out().tolist() == ["law0"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_degree": 0}, "max_degree must be an integer of at least 1"),
        ({"noise": "loud"}, "noise must be one of 'relative'"),
        ({"noise": [0.1, 0.1, 0.1]}, "one for each of the 2 columns"),
        ({"noise": {"x0": 0.1}}, "nothing about column 'x1'"),
        ({"noise": -1.0}, "not negative"),
        ({"max_noise": 0.0}, "max_noise must be above 0"),
        ({"origin": "here"}, "origin must be one of 'auto'"),
        ({"names": ["a"]}, "names has 1 entries"),
        ({"names": ["a", "a"]}, "the same name twice"),
        ({"groups": "run"}, "the table has no names"),
        ({"groups": [1, 2, 3]}, "one entry for each of the 100 rows"),
        ({"groups": range(100)}, "at least three rows in each"),
        ({"forbidden": ["z"]}, "Cannot read the term 'z'"),
        ({"allowed": [(1, 2, 3)]}, "needs 2 numbers"),
        ({"units": {"x0": "m"}}, "nothing about column 'x1'"),
        ({"snap": "yes"}, "snap must be True or False"),
    ],
)
def test_wrong_options_are_refused_with_the_reason(options, message, rng):
    with pytest.raises(ValueError, match=message):
        discover(rng.normal(size=(100, 2)), **options)


def test_tables_that_cannot_have_laws_are_refused_with_the_reason(rng):
    frame = pd.DataFrame({"x": rng.normal(size=50), "who": ["a"] * 50, "when": pd.date_range("2024", periods=50)})
    with pytest.raises(ValueError, match=r"Columns 'who', 'when' hold text or dates"):
        discover(frame)
    with pytest.raises(ValueError, match="There is no column 'run'"):
        discover(frame, groups="run")
    missing = rng.normal(size=(50, 2))
    missing[3:5, 1] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN in column 1: 2 such values.*drop those rows"):
        discover(missing)
    with pytest.raises(ValueError, match="too short for laws of 5 columns"):
        discover(rng.normal(size=(6, 5)))
    with pytest.raises(ValueError, match="relates columns to each other"):
        discover(rng.normal(size=(50, 1)))


@pytest.fixture
def holed_gas(rng):
    """A gas with three rows that miss a value, two of them in the second column; and the complete rows."""
    table = pd.DataFrame(with_noise(gas(rng, 600), 0.01, rng), columns=["p", "V", "n", "T"])
    table.loc[[3, 40], "V"] = np.nan
    table.loc[[40, 599], "T"] = np.nan
    return table, table.dropna()


@pytest.mark.slow
@pytest.mark.parametrize("on_disk", [False, True])
def test_rows_with_gaps_are_left_out_and_counted(on_disk, holed_gas, tmp_path):
    table, complete = holed_gas
    table.to_csv(tmp_path / "gas.csv", index=False)
    options = {"max_degree": 2}
    with pytest.raises(ValueError, match=r"NaN in column 1 \('V'\).*, as missing='drop' does"):
        discover(open_rows(tmp_path / "gas.csv") if on_disk else table, **options)
    laws = discover(open_rows(tmp_path / "gas.csv") if on_disk else table, missing="drop", **options)
    (expected,) = discover(complete, **options)
    assert laws[0].n_rows == laws.n_rows == 597
    assert laws[0].exponents.tolist() == expected.exponents.tolist()
    assert laws[0].coef == pytest.approx(expected.coef, rel=1e-9)
    assert laws.notes[0] == "3 of 600 rows have missing values and were left out (2 in 'V', 2 in 'T')."
    assert laws.notes[0] in str(laws)
    assert discover(complete, missing="drop", **options).notes == ()


def test_groups_follow_the_rows_that_are_left(rng):
    energy, angle = np.repeat(rng.uniform(0.5, 3.0, 10), 40), rng.uniform(0, 2 * np.pi, 400)
    table = np.column_stack([np.sqrt(energy) * np.cos(angle), np.sqrt(energy) * np.sin(angle)])
    table[::50, 0] = np.nan
    (law,) = discover(table, groups=np.repeat(np.arange(10), 40), missing="drop", max_degree=2)
    assert law.conserved
    assert law.n_rows == 392


@pytest.mark.parametrize("none", [None, np.nan, pd.NA])
def test_a_missing_group_is_named(none, rng):
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["x", "v"])
    table["run"] = pd.Series(np.repeat(["a", "b"], 30), dtype=object)
    table.loc[7, "run"] = none
    with pytest.raises(ValueError, match="A group is missing in row 7 of column 'run': drop those rows"):
        discover(table, groups="run")


def test_exceptions_keep_their_places_among_rows_with_gaps(rng):
    X = rng.uniform(1, 2, (200, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    X[[13, 70], 2] = [5.0, 90.0]
    X[[1, 2, 50], 0] = np.nan
    assert discover(X, missing="drop")[0].exceptions().tolist() == [70, 13]


def test_degrees_that_are_skipped_are_named(rng):
    laws = discover(rng.normal(size=(100, 5)))
    assert "Degree 3 and above were skipped: 56 terms need 224 rows, and there are 100" in str(laws)


@pytest.mark.slow
def test_a_power_law_above_the_degree_of_the_moments_has_the_numbers_of_the_selected_rows(rng):
    a, b = rng.uniform(1.0, 3.0, (2, 12_000))
    X = with_noise(np.column_stack([a, b, 2.5 * a**3 / b**2]), 0.005, rng)
    (law,) = discover(X, max_degree=2, robust=False)
    assert law.degree == 3
    assert 9_000 < law.n_rows <= 10_000
    assert law.coef[1] == pytest.approx(-0.4, abs=4.0 * law.stderr[1])
