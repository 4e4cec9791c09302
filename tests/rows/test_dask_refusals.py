"""Dask collections, labels and weights that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from dask_makers import MODELS, arc, circles, in_blocks, in_frames, with_bad_value
from sklearn.base import clone

from vanishing import L1SVC, OAVI, PerClass, VanishingIdealClassifier, VanishingIdealDetector

dask = pytest.importorskip("dask", reason="needs dask: pip install 'vanishing[dask]'")
pd = pytest.importorskip("pandas", reason="dask.dataframe needs pandas")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'vanishing[dask]'")
bag = pytest.importorskip("dask.bag", reason="needs dask: pip install 'vanishing[dask]'")


def test_missing_values_of_nullable_columns_are_found():
    frame = pd.DataFrame({"a": pd.array([1, 0, None, 1], dtype="Int64"), "b": [0.1, 0.2, 0.3, 0.4]})
    with pytest.raises(ValueError, match=r"NaN in column 0 \('a'\): 1 such value, the first in row 0 of block 1"):
        OAVI().fit(dd.from_pandas(frame, npartitions=2))


@pytest.mark.parametrize("kind", ["object", "string", "category", "dates"])
def test_columns_that_are_no_numbers_are_named(kind):
    column = {
        "object": pd.Series([{}, {}, {}, {}], dtype=object),
        "string": pd.Series(list("abcd")),
        "category": pd.Series(list("abab"), dtype="category"),
        "dates": pd.Series(pd.date_range("2020", periods=4)),
    }[kind]
    with dask.config.set({"dataframe.convert-string": False}):
        D = dd.from_pandas(pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "odd": column}), npartitions=2)
    with pytest.raises(ValueError, match=r"Column 'odd' has values of type .* not numbers: convert it, or choose"):
        OAVI().fit(D)


@pytest.mark.parametrize("values", [np.array([["a"], ["b"]]), np.array([[1j], [2j]]), np.array([[{}], [{}]])])
def test_arrays_of_no_numbers_are_refused(values):
    with pytest.raises(ValueError, match=r"values of type .* convert its columns to numbers"):
        OAVI().fit(da.from_array(values, chunks=1))


@pytest.mark.parametrize("shape", [(6,), (6, 2, 2), ()])
def test_arrays_that_are_no_tables_are_refused(shape):
    with pytest.raises(ValueError, match=r"Expected 2D array, got .D array instead: reshape"):
        OAVI().fit(da.zeros(shape))


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="0 columns"):
        OAVI().fit(da.zeros((6, 0)))


def test_a_bag_is_refused():
    with pytest.raises(ValueError, match=r"Expected a dask.array or a dask.dataframe, got Bag"):
        OAVI().fit(bag.from_sequence([(0.0, 1.0), (1.0, 0.0)]))


def test_a_delayed_object_is_refused():
    with pytest.raises(ValueError, match=r"Expected a dask.array or a dask.dataframe, got Delayed"):
        OAVI().fit(dask.delayed(arc)())


def test_a_series_is_refused_as_one_dimensional():
    with pytest.raises(ValueError, match=r"1D|one dimension|dask.dataframe"):
        OAVI().fit(in_frames(arc())["c0"])


def test_an_unknown_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="columns"):
        OAVI().fit(da.from_delayed(dask.delayed(arc)(), shape=(np.nan, np.nan), dtype=float))


def test_other_columns_than_those_of_the_fit_are_refused():
    X = arc()
    model = OAVI(1e-3).fit(in_frames(X))
    with pytest.raises(ValueError, match="in the same order: c0, c1, c2; got c2, c1, c0"):
        model.transform(in_frames(X)[["c2", "c1", "c0"]])
    with pytest.raises(ValueError, match="X has 2 features, but OAVI is expecting 3"):
        model.transform(in_blocks(X[:, :2]))


@pytest.mark.parametrize("as_array", [True, False])
@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_values_for_another_number_of_rows_are_refused(as_array, name):
    X, y = arc(), np.arange(1199) % 2
    values = {"y": np.arange(1200) % 2, name: in_blocks(y) if as_array else y}
    with pytest.raises(ValueError, match=f"{name} has 1199 values for 1200 rows: give one for each row"):
        L1SVC().fit(in_blocks(X), **values)


def test_labels_of_another_number_of_rows_are_refused_where_lengths_are_unknown():
    D, y = in_blocks(arc()), in_blocks(np.arange(1200) % 2, 300)
    with pytest.raises(ValueError, match=r"y has 1200 values for \d+ rows: give one for each row"):
        L1SVC().fit(D[D[:, 0] > 0.5], y)


def test_labels_in_blocks_of_other_lengths_are_refused_where_lengths_are_unknown():
    D, y = in_blocks(arc()), in_blocks(np.arange(1200) % 2)
    with pytest.raises(ValueError, match=r"y has 200 values in a block of \d+ rows: rechunk it like X"):
        PerClass().fit(D[D[:, 0] > 0.5], y)


@pytest.mark.parametrize("as_frame", [True, False])
def test_labels_in_memory_of_another_number_of_rows_are_refused_where_lengths_are_unknown(as_frame):
    D = in_frames(arc()) if as_frame else in_blocks(arc())[in_blocks(arc())[:, 0] > -1.0]
    with pytest.raises(ValueError, match="y has 1199 values for 1200 rows: give one for each row"):
        PerClass().fit(D, np.arange(1199) % 2)
    assert list(PerClass(OAVI(1e-3)).fit(D, np.arange(1200) % 2).classes_) == [0, 1]


def test_labels_with_two_dimensions_are_refused():
    with pytest.raises(ValueError, match="y must have one dimension, one value per row; got 2"):
        L1SVC().fit(in_blocks(arc()), da.zeros((1200, 1), chunks=(200, 1)))


def test_labels_in_a_frame_are_refused():
    frame = in_frames(arc())
    with pytest.raises(ValueError, match="one dimension"):
        L1SVC().fit(frame[["c0", "c1"]], (frame[["c2"]] > 0.5).astype(int))


def test_labels_are_required():
    with pytest.raises(ValueError, match="requires y to be passed"):
        L1SVC().fit(in_blocks(arc()))


def test_one_class_is_not_enough():
    with pytest.raises(ValueError, match="class"):
        L1SVC().fit(in_blocks(arc()), np.zeros(1200))


def test_a_missing_number_among_labels_is_found_in_its_block():
    y = np.arange(1200) % 2 + 0.0
    y[700] = np.nan
    with pytest.raises(ValueError, match=r"A label is missing in row 100 of block 3: drop those rows"):
        PerClass().fit(in_blocks(arc()), y)


@pytest.mark.parametrize("dtype", ["str", object])
def test_a_missing_text_among_labels_is_found_in_its_block(dtype):
    y = pd.Series(["a", "b"] * 600, dtype=dtype)
    y[700] = None
    with pytest.raises(ValueError, match="A label is missing"):
        PerClass().fit(in_frames(arc()), dd.from_pandas(y, npartitions=5))


def test_labels_of_mixed_types_are_refused():
    y = np.array([0, *["a"] * 1199], dtype=object)
    with pytest.raises(ValueError, match=r"[Ll]abel"):
        PerClass().fit(in_blocks(arc()), y)


def test_nan_is_found_for_the_svm():
    with pytest.raises(ValueError, match=r"NaN in column 1: 1 such value, the first in row 100 of block 3"):
        L1SVC().fit(in_blocks(with_bad_value(np.nan, 700)), np.arange(1200) % 2)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_that_are_not_finite_are_found_in_the_first_rows_too(value, name):
    with pytest.raises(ValueError, match=rf"{name}.* in column 1.* one in row 7 of block 0"):
        VanishingIdealDetector(missing="error").fit(in_blocks(with_bad_value(value, 7)))


@pytest.mark.parametrize("model", [*MODELS, VanishingIdealDetector()], ids=repr)
def test_no_rows_at_all_are_refused(model):
    X = arc()
    frame = in_frames(X)
    for D in (in_blocks(X)[in_blocks(X)[:, 0] > 5.0], frame[frame["c0"] > 5.0], da.zeros((0, 3))):
        with pytest.raises(ValueError, match="There are no rows in X"):
            clone(model).fit(D)


def test_no_rows_with_labels_are_refused_and_none_are_predicted():
    X, y = circles(n_classes=2)
    D = in_blocks(X)
    none = D[:, 0] > 50.0
    for model in (PerClass(), L1SVC(), VanishingIdealClassifier()):
        with pytest.raises(ValueError, match="There are no rows in X"):
            model.fit(D[none], in_blocks(y)[none])
    found = VanishingIdealClassifier(OAVI(1e-3)).fit(X, y)
    assert found.predict(D[none]).compute().shape == (0,)


@pytest.mark.parametrize("model", [OAVI(), VanishingIdealDetector()], ids=repr)
def test_weights_that_are_all_zero_are_refused(model):
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(in_blocks(arc()), sample_weight=np.zeros(1200))


def test_a_class_without_weight_is_refused():
    y = np.arange(1200) % 2
    with pytest.raises(ValueError, match=r"All rows of .*class.* have sample_weight 0"):
        PerClass().fit(in_blocks(arc()), y, sample_weight=1.0 * y)


@pytest.mark.parametrize("weights", [1.0, np.array(["a"] * 1200)], ids=["scalar", "text"])
def test_weights_of_the_wrong_kind_are_refused(weights):
    with pytest.raises(ValueError, match="sample_weight"):
        OAVI().fit(in_blocks(arc()), sample_weight=weights)
