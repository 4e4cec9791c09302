"""Input that is unusual: masked arrays, labels that are missing or of several types, paths, text, odd names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from vanishing import (
    L1SVC,
    OAVI,
    VCA,
    Moments,
    PerClass,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
)
from vanishing.polynomials.polynomial import Polynomial, Terms

LABELLED = [PerClass(), VanishingIdealClassifier(), VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2), L1SVC()]
of_each = pytest.mark.parametrize("model", LABELLED, ids=lambda model: type(model).__name__)


def rows(m=60):
    return np.random.default_rng(0).random((m, 2))


def masked(values, *places):
    mask = np.zeros(np.shape(values), dtype=bool)
    if places:
        mask[places] = True
    return np.ma.array(values, mask=mask)


def labels_with(odd, usual=("a", "b"), m=60):
    labels = np.array([usual[k % 2] for k in range(m)], dtype=object)
    labels[7] = odd
    return labels


# --- masked arrays ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [OAVI(), VCA(), VanishingIdealDetector(), Moments(2, 2)], ids=repr)
def test_masked_rows_and_weights_are_refused(model):
    use = model.update if isinstance(model, Moments) else model.fit
    with pytest.raises(
        ValueError, match=r"X has masked values \(1 of them\): drop those rows, or fill them in with X\."
    ):
        use(masked(rows(), 3, 1))
    with pytest.raises(ValueError, match="sample_weight has masked values"):
        use(rows(), sample_weight=masked(np.ones(60), 3))


@of_each
def test_masked_rows_labels_and_weights_are_refused(model):
    X, y = rows(), np.arange(60) % 2
    with pytest.raises(ValueError, match="X has masked values"):
        model.fit(masked(X, 3, 1), y)
    with pytest.raises(ValueError, match="y has masked values"):
        model.fit(X, masked(y, 3))
    if not isinstance(model, VanishingIdealClassifierCV):
        with pytest.raises(ValueError, match="sample_weight has masked values"):
            model.fit(X, y, sample_weight=masked(np.ones(60), 3))


def test_masked_rows_are_refused_after_the_fit_and_in_lists():
    model = OAVI().fit(rows())
    with pytest.raises(ValueError, match="X has masked values"):
        model.transform(masked(rows(), 3, 1))
    with pytest.raises(ValueError, match="X has masked values"):
        OAVI().fit(list(masked(rows(), 3, 1)))
    with pytest.raises(ValueError, match="y has masked values"):
        L1SVC().fit(rows(), list(masked(np.arange(60) % 2, 3)))


def test_masked_arrays_without_masked_values_are_arrays():
    X, y, weights = rows(), np.arange(60) % 2, np.linspace(1.0, 2.0, 60)
    found = L1SVC().fit(masked(X), masked(y), sample_weight=masked(weights))
    np.testing.assert_array_equal(found.coef_, L1SVC().fit(X, y, sample_weight=weights).coef_)
    np.testing.assert_array_equal(OAVI(0.01).fit(np.ma.array(X)).transform(X), OAVI(0.01).fit(X).transform(X))


def test_masked_blocks_of_dask_arrays_are_refused():
    da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")
    D = da.from_array(rows(), chunks=(20, 2))
    with pytest.raises(ValueError, match="X has masked values"):
        OAVI().fit(da.ma.masked_where(D > 0.9, D))
    with pytest.raises(ValueError, match="sample_weight has masked values"):
        OAVI().fit(D, sample_weight=da.ma.masked_where(D[:, 0] > 0.9, D[:, 0]))


# --- labels -------------------------------------------------------------------------------------------------------


MISSING = {
    "None": (7, labels_with(None)),
    "None in a list": (7, list(labels_with(None))),
    "NaN among text": (7, labels_with(np.nan)),
    "NaN": (58, np.array([0.0, 1.0] * 29 + [np.nan, 1.0])),
    "NaT": (58, np.array(["2020-01-01", "2020-01-02"] * 29 + ["NaT", "2020-01-01"], dtype="M8[D]")),
    "pandas.NA": (7, pd.Series(labels_with(pd.NA))),
    "string": (7, pd.Series(labels_with(pd.NA), dtype="string")),
    "Int64": (58, pd.Series([0, 1] * 29 + [pd.NA, 1], dtype="Int64")),
    "boolean": (58, pd.Series([True, False] * 29 + [pd.NA, True], dtype="boolean")),
    "categories": (7, pd.Series(pd.Categorical(labels_with(None)))),
    "polars": (7, pl.Series(list(labels_with(None)))),
    "numbers in polars": (58, pl.Series([0, 1] * 29 + [None, 1])),
}


@of_each
@pytest.mark.parametrize(("row", "y"), MISSING.values(), ids=MISSING)
def test_a_label_that_is_missing_is_refused_with_its_row(model, row, y):
    with pytest.raises(ValueError, match=f"^A label is missing in row {row}: drop those rows\\.$"):
        model.fit(rows(), y)


@of_each
@pytest.mark.parametrize("y", [labels_with(3), ["a", 1] * 30, labels_with(b"a"), labels_with((1, 2))], ids=range(4))
def test_labels_of_several_types_are_refused(model, y):
    with pytest.raises(ValueError, match=r"^Some labels are text and some are not: convert them to one type"):
        model.fit(rows(), y)


@of_each
def test_labels_that_have_no_order_are_refused(model):
    with pytest.raises(ValueError, match=r"Labels have to be text or numbers, but one is \(1, 2\): convert them"):
        model.fit(rows(), labels_with((1, 2), usual=(0, 1)))


@of_each
@pytest.mark.parametrize("kind", [np.int64, bool, str, float])
def test_labels_in_an_array_of_objects_are_what_they_are(model, kind):
    plain = (np.arange(60) % 2).astype(kind)
    found = model.fit(rows(), plain.astype(object))
    np.testing.assert_array_equal(found.classes_, np.unique(plain))
    assert found.classes_.dtype.kind == plain.dtype.kind or kind is str


def test_labels_of_several_types_in_different_blocks_are_refused():
    da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")
    y = np.array(["a", "b"] * 15 + [0, 1] * 15, dtype=object)
    with pytest.raises(ValueError, match=r"^Some labels are text and some are not"):
        PerClass().fit(da.from_array(rows(), chunks=(30, 2)), da.from_array(y, chunks=30))


@pytest.mark.parametrize("y", [labels_with(None), labels_with(3)], ids=["missing", "mixed"])
def test_odd_labels_of_rows_on_a_device_are_refused(y):
    strict = pytest.importorskip("array_api_strict", reason="needs array-api-strict")
    pytest.importorskip("array_api_compat", reason="needs array-api-compat: pip install 'vanishing[gpu]'")
    with pytest.raises(ValueError, match="label"):
        PerClass().fit(strict.asarray(rows()), y)


# --- frames -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", [OAVI().fit, Moments(2, 2).update, lambda X: L1SVC().fit(X, [0, 1])])
def test_the_name_of_a_file_is_answered_with_open_rows(use):
    with pytest.raises(ValueError, match=r"is a path.*open_rows\('data\.csv'\)"):
        use("data.csv")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_text_column_is_named(kind):
    table = kind({"a": [0.1, 0.2, 0.3], "city": ["Bonn", "Kyoto", "Berlin"]})
    for fit in (OAVI().fit, lambda X: L1SVC().fit(X, [0, 1, 0])):
        with pytest.raises(ValueError, match=r"Column 'city' holds text or dates.*encode it.*OneHotEncoder"):
            fit(table)


# --- names of columns ---------------------------------------------------------------------------------------------


def polynomial(*names):
    exponents = np.vstack([np.eye(len(names), dtype=np.int64), np.zeros(len(names), dtype=np.int64)])
    return Polynomial(exponents, np.append(np.ones(len(names)), -0.5), names, 0.0, 0.0, 0, "vanishing")


@pytest.mark.parametrize(
    ("names", "text", "latex"),
    [
        (("", "b"), "`` + b - 0.5", r"\mathrm{<>} + b - 0.5"),
        (("1", "b"), "`1` + b - 0.5", r"\mathrm{<1>} + b - 0.5"),
        (("-2e3", "nan"), "`-2e3` + `nan` - 0.5", r"\mathrm{<-2e3>} + \mathrm{<nan>} - 0.5"),
        (("inf", "Infinity"), "`inf` + `Infinity` - 0.5", r"\mathrm{<inf>} + \mathrm{<Infinity>} - 0.5"),
        (("a-b", "a"), "`a-b` + a - 0.5", r"\mathrm{<a-b>} + a - 0.5"),
        (("a^2", "a*b"), "`a^2` + `a*b` - 0.5", r"\mathrm{<a\hat{\ }2>} + \mathrm{<a*b>} - 0.5"),
        (("a", "a"), "a[0] + a[1] - 0.5", "a[0] + a[1] - 0.5"),
        (("", ""), "``[0] + ``[1] - 0.5", r"\mathrm{<>}[0] + \mathrm{<>}[1] - 0.5"),
        (
            ("petal length (cm)", "x0"),
            "`petal length (cm)` + x0 - 0.5",
            r"\mathrm{<petal\ length\ (cm)>} + x_{0} - 0.5",
        ),
    ],
    ids=str,
)
def test_names_are_told_from_numbers_and_from_each_other(names, text, latex):
    assert polynomial(*names).to_text() == text
    assert polynomial(*names).to_latex() == latex.translate({ord("<"): "\u2018", ord(">"): "\u2019"})
    terms = Terms(np.vstack([np.eye(2, dtype=np.int64), [[0, 0], [2, 0]]]), names)
    assert [*terms[:3]] == [*text.split(" + ", 1)[:1], text.split(" + ", 1)[1].removesuffix(" - 0.5"), "1"]
    assert terms[3] == f"{terms[0]}^2"


@pytest.mark.slow
def test_symbols_of_columns_with_the_same_name_are_different():
    pytest.importorskip("sympy", reason="needs sympy: pip install 'vanishing[sympy]'")
    assert len(polynomial("a", "a").to_sympy().free_symbols) == 2
    assert {str(symbol) for symbol in polynomial("log-price", "b").to_sympy().free_symbols} == {"log-price", "b"}


def test_a_model_of_a_frame_with_odd_names_prints_them_in_backticks():
    x = np.linspace(0.0, 1.0, 50)
    model = OAVI(1e-10).fit(pd.DataFrame({"": x, "1": x**2}))
    assert str(model.generators_[0]) == "``^2 - `1`"
    assert list(model.order_ideal_)[:3] == ["1", "``", "`1`"]


def test_numbers_in_a_column_of_objects_are_read():
    frame = pytest.importorskip("pandas").DataFrame(
        {"a": np.array([0.0, 0.5, 1.0], dtype=object), "b": [0.0, 0.5, 1.0]}
    )
    assert OAVI().fit(frame).n_features_in_ == 2
