"""Rows in memory, in files, in Dask collections and on devices: the same answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from makers import (
    ALGORITHMS,
    BITS,
    EVERYWHERE,
    IN_DASK,
    IN_MEMORY,
    LABELLED,
    N_ROWS,
    NAMES,
    ON_DISK,
    THREE,
    WEIGHTED,
    arrow_file,
    as_fitted,
    assert_same_generators,
    c_order,
    csv_file,
    dask_array,
    dask_frame,
    float32,
    lazy_frame,
    memory_map,
    name_of,
    npy_file,
    npy_files,
    npy_float32,
    npy_fortran,
    numbers,
    pandas_frame,
    parquet_file,
    parquet_float32,
    parquet_folder,
    parquet_tiny_groups,
    polars_frame,
    some_weights,
    strict_array,
    surface,
    table_of,
    three_classes,
    torch_float32,
    torch_tensor,
    weighted_dask,
    weighted_frame,
    weighted_npy,
    weighted_parquet,
    weighted_torch,
    write_parquet,
)
from sklearn.base import clone

from vanishing import (
    ABM,
    L1SVC,
    OAVI,
    VCA,
    PerClass,
    RangeWarning,
    VanishingIdealClassifier,
    VanishingIdealDetector,
    ideal_path,
    open_rows,
)
from vanishing.rows.protocol import Rows

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")


# --- the same data in every source ------------------------------------------------------------------------------------


ONE_OF_EACH_KIND = (c_order, npy_file, parquet_folder, lazy_frame, torch_tensor, strict_array, dask_array)


def sources_of_algorithms():
    """Every algorithm on every source; quick ones are all sources of the first, and one source of each kind."""
    for name, model in zip(["OAVI", "CGAVI-IHB", "ABM", "AVI", "VCA"], ALGORITHMS, strict=True):
        for make in EVERYWHERE:
            quick = model is ALGORITHMS[0] or make in ONE_OF_EACH_KIND
            yield pytest.param(model, make, id=f"{name}-{name_of(make)}", marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize(("model", "make"), list(sources_of_algorithms()))
def test_every_source_gives_the_generators_of_the_array(model, make, tmp_path, reference_fit):
    X = surface()
    expected = reference_fit(model, as_fitted(X, make))
    source = make(X, tmp_path)
    found = clone(model).fit(source)
    assert_same_generators(found.generators_, expected.generators_, supports=not isinstance(model, VCA))
    assert found.n_features_in_ == 3
    assert found.degree_ == expected.degree_
    assert found.complete_ == expected.complete_
    if not isinstance(model, VCA):
        np.testing.assert_array_equal(list(found.order_ideal_.exponents), list(expected.order_ideal_.exponents))
    values = numbers(found.transform(source))
    wanted = expected.transform(as_fitted(X, make))
    assert values.shape == wanted.shape
    np.testing.assert_allclose(values, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_transformed_rows_are_of_the_kind_of_the_source(make, tmp_path):
    source = make(surface(), tmp_path)
    values = OAVI(1e-3, max_degree=2).fit(source).transform(source)
    if make in IN_MEMORY:
        assert isinstance(values, np.ndarray)
    elif make in ON_DISK:
        assert isinstance(values, Rows)
        assert values.n_samples in (N_ROWS, None)
    else:
        library = "dask" if make in IN_DASK else type(source).__module__.split(".")[0]
        assert type(values).__module__.split(".")[0] == library


@pytest.mark.parametrize(
    "make",
    [
        npy_file,
        pytest.param(npy_files),
        pytest.param(npy_fortran),
        npy_float32,
        parquet_folder,
        parquet_tiny_groups,
        arrow_file,
    ],
)
def test_rows_on_disk_come_into_memory_as_they_were(make, tmp_path):
    X = as_fitted(surface(), make)
    rows = open_rows(make(X, tmp_path).files, n_jobs=1)
    np.testing.assert_array_equal(rows.to_numpy(), X)
    head = rows.head()
    before = head.copy()
    OAVI(1e-2, max_degree=2).fit(rows)
    np.testing.assert_array_equal(head, before)
    np.testing.assert_array_equal(head, X[: len(head)])


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.bool_, np.float16])
@pytest.mark.parametrize(
    "make",
    [c_order, memory_map, pandas_frame, polars_frame, npy_file, parquet_folder, torch_tensor, strict_array, dask_array],
)
def test_integers_and_flags_are_numbers(dtype, make, tmp_path, reference_fit):
    if make is strict_array and dtype == np.float16:
        pytest.skip("not in the array API")
    found = OAVI(1e-6).fit(make(BITS.astype(dtype), tmp_path))
    assert_same_generators(found.generators_, reference_fit(OAVI(1e-6), BITS.astype(float)).generators_)


def test_frames_of_mixed_types_are_tables_of_numbers(reference_fit):
    pandas = pytest.importorskip("pandas")
    X = np.column_stack([surface()[:, 0].astype(np.float32), BITS[:, :2]])
    frame = pandas.DataFrame({"a": X[:, 0].astype(np.float32), "b": X[:, 1].astype(np.int8), "c": X[:, 2] > 0.5})
    nullable = frame.astype({"a": "Float32", "b": "Int64", "c": "boolean"})
    for table in (frame, nullable, pytest.importorskip("polars").from_pandas(frame)):
        found = OAVI(1e-3).fit(table)
        assert list(found.feature_names_in_) == NAMES
        assert_same_generators(found.generators_, reference_fit(OAVI(1e-3), X).generators_)


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, parquet_folder, arrow_file, csv_file, dask_frame])
def test_columns_with_names_keep_them(make, tmp_path):
    model = OAVI(1e-2, max_degree=1).fit(make(surface(), tmp_path))
    assert list(model.feature_names_in_) == NAMES


def test_columns_in_another_order_are_refused_in_transform(tmp_path):
    X = surface()
    write_parquet(tmp_path, X)
    model = OAVI(1e-2, max_degree=2).fit(open_rows(tmp_path))
    with pytest.raises(ValueError, match="same order"):
        model.transform(open_rows(tmp_path, columns=["b", "a", "c"]))
    with pytest.raises(ValueError, match="2 features"):
        model.transform(open_rows(tmp_path, columns=["a", "b"]))


@pytest.mark.slow
@pytest.mark.parametrize("row_group_size", [1, 7, 50, 200])
def test_the_sizes_of_row_groups_do_not_matter(row_group_size, tmp_path, reference_fit):
    X = surface(200)
    expected = reference_fit(OAVI(1e-3, max_degree=3), X)
    write_parquet(tmp_path, X, n_files=2, row_group_size=row_group_size)
    found = OAVI(1e-3, max_degree=3).fit(open_rows(tmp_path, n_jobs=1))
    assert_same_generators(found.generators_, expected.generators_)
    values = found.transform(open_rows(tmp_path)).to_numpy()
    np.testing.assert_allclose(values, expected.transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [npy_files, parquet_folder, parquet_tiny_groups, arrow_file])
def test_the_number_of_threads_does_not_change_a_bit(make, tmp_path):
    make(surface(), tmp_path)
    models = [OAVI(1e-3, max_degree=3).fit(open_rows(tmp_path, n_jobs=n_jobs)) for n_jobs in (1, 2, 4)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.generators_.coef, models[0].generators_.coef)


# --- weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", WEIGHTED, ids=name_of)
@pytest.mark.parametrize(
    "model", [OAVI(1e-3, max_degree=3), ABM(1e-3, max_degree=2), VCA(1e-3)], ids=["OAVI", "ABM", "VCA"]
)
def test_weights_count_the_same_in_every_source(model, make, tmp_path):
    X, weights = surface(), some_weights()
    expected = clone(model).fit(X, sample_weight=weights)
    source, given = make(X, weights, tmp_path)
    found = clone(model).fit(source, sample_weight=given)
    assert_same_generators(found.generators_, expected.generators_, supports=not isinstance(model, VCA))


def test_whole_weights_repeat_rows_on_disk(tmp_path):
    X, weights = surface(300), np.arange(300) % 3
    np.save(tmp_path / "rows.npy", np.column_stack([X, weights]))
    found = OAVI(1e-3, max_degree=3).fit(open_rows(tmp_path / "rows.npy", weight=3))
    expected = OAVI(1e-3, max_degree=3).fit(np.repeat(X, weights, axis=0))
    assert_same_generators(found.generators_, expected.generators_)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(weighted_npy),
        weighted_parquet,
        weighted_torch,
        weighted_dask,
        weighted_frame,
    ],
)
def test_a_bad_weight_is_refused(make, value, tmp_path):
    weights = some_weights()
    weights[123] = value
    with pytest.raises(ValueError, match="weight"):  # noqa: PT012
        source, given = make(surface(), weights, tmp_path)
        OAVI().fit(source, sample_weight=given)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(weighted_npy),
        pytest.param(weighted_parquet),
        weighted_torch,
        pytest.param(weighted_dask),
        weighted_frame,
    ],
)
def test_weights_that_are_all_zero_are_refused(make, tmp_path):
    with pytest.raises(ValueError, match=r"weight|zero"):  # noqa: PT012
        source, given = make(surface(), np.zeros(N_ROWS), tmp_path)
        OAVI().fit(source, sample_weight=given)


def test_a_class_without_weight_is_refused_on_disk(tmp_path):
    X, y = three_classes()
    write_parquet(tmp_path, X, y=y, w=(y != 1).astype(float))
    with pytest.raises(ValueError, match="weight 0"):
        PerClass().fit(open_rows(tmp_path, label="y", weight="w"))


def test_weights_beside_rows_on_disk_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"open_rows\(weight="):
        OAVI().fit(npy_file(surface(), tmp_path), sample_weight=np.ones(N_ROWS))


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference_classifier():
    return VanishingIdealClassifier(OAVI(1e-3, max_degree=2)).fit(*THREE)


@pytest.mark.parametrize("make", LABELLED, ids=name_of)
def test_one_ideal_per_class_is_the_same_in_every_source(make, tmp_path):
    expected = PerClass(OAVI(1e-3, max_degree=2)).fit(*THREE)
    source, y = make(*THREE, tmp_path)
    found = PerClass(OAVI(1e-3, max_degree=2)).fit(source, y)
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    for model, wanted in zip(found.estimators_, expected.estimators_, strict=True):
        assert_same_generators(model.generators_, wanted.generators_)
    values = numbers(found.transform(source))
    np.testing.assert_allclose(values, expected.transform(THREE[0]), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("make", LABELLED, ids=name_of)
def test_the_classifier_is_the_same_in_every_source(make, tmp_path, reference_classifier):
    source, y = make(*THREE, tmp_path)
    found = VanishingIdealClassifier(OAVI(1e-3, max_degree=2)).fit(source, y)
    expected = reference_classifier
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_allclose(found.scaler_.scale_, expected.scaler_.scale_, rtol=1e-12)
    scores = expected.decision_function(THREE[0])
    size = np.abs(scores).max()
    np.testing.assert_allclose(numbers(found.decision_function(source)) / size, scores / size, atol=1e-6)
    clear = np.ptp(np.sort(scores, axis=1)[:, -2:], axis=1) > 1e-4 * size
    np.testing.assert_array_equal(numbers(found.predict(source))[clear], expected.predict(THREE[0])[clear])
    assert found.score(source, y) == pytest.approx(expected.score(*THREE), abs=2e-3)


@pytest.mark.parametrize("make", LABELLED, ids=name_of)
def test_the_linear_classifier_is_the_same_in_every_source(make, tmp_path):
    expected = L1SVC(tol=1e-10).fit(*THREE)
    source, y = make(*THREE, tmp_path)
    found = L1SVC(tol=1e-10).fit(source, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-9)
    scores = numbers(found.decision_function(source))
    np.testing.assert_allclose(scores, expected.decision_function(THREE[0]), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("make", EVERYWHERE, ids=name_of)
def test_the_detector_is_the_same_in_every_source(make, tmp_path, reference_fit):
    X = 3.0 + 2.0 * surface()
    expected = reference_fit(VanishingIdealDetector(degree=2), as_fitted(X, make))
    source = make(X, tmp_path)
    found = VanishingIdealDetector(degree=2).fit(source)
    np.testing.assert_allclose(found.offset_, expected.offset_, rtol=1e-6)
    assert len(found.generators_) == len(expected.generators_)
    scores = numbers(found.score_samples(source))
    np.testing.assert_allclose(scores, expected.score_samples(as_fitted(X, make)), rtol=1e-6, atol=1e-6)
    assert set(numbers(found.predict(source))) <= {-1, 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [c_order, polars_frame, npy_file, parquet_folder, torch_tensor, strict_array, dask_array],
    ids=name_of,
)
def test_every_source_says_which_law_a_row_breaks(make, tmp_path):
    X = surface()
    source = make(X, tmp_path)
    detector = VanishingIdealDetector(degree=2)
    expected = clone(detector).fit(X).violations(X)
    found = numbers(detector.fit(source).violations(source))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=[] if make in ONE_OF_EACH_KIND else pytest.mark.slow) for make in EVERYWHERE],
    ids=name_of,
)
def test_models_along_psi_are_the_same_in_every_source(make, tmp_path):
    X, psis = surface(), [1e-2, 1e-3, 2e-4]
    expected = ideal_path(OAVI(max_degree=3), as_fitted(X, make), psis)
    found = ideal_path(OAVI(max_degree=3), make(X, tmp_path), psis)
    for model, wanted in zip(found, expected, strict=True):
        assert_same_generators(model.generators_, wanted.generators_)


def label_columns(y):
    words = np.array(["one", "two", "three"])[y].tolist()
    return {
        "integers": (pyarrow.array(y), [0, 1, 2]),
        "small integers": (pyarrow.array(y, pyarrow.int8()), [0, 1, 2]),
        "floats": (pyarrow.array(y.astype(float)), [0.0, 1.0, 2.0]),
        "flags": (pyarrow.array(y == 1), [False, True]),
        "strings": (pyarrow.array(words), ["one", "three", "two"]),
        "large strings": (pyarrow.array(words, pyarrow.large_string()), ["one", "three", "two"]),
        "string views": (pyarrow.array(words, pyarrow.string_view()), ["one", "three", "two"]),
        "dictionary": (pyarrow.array(words).dictionary_encode(), ["one", "three", "two"]),
        "dictionary of integers": (pyarrow.array(y).dictionary_encode(), [0, 1, 2]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(label_columns(np.arange(3))))
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_labels_of_every_type_are_read(kind, suffix, tmp_path):
    X, y = THREE
    column, classes = label_columns(y)[kind]
    table = table_of(X).append_column("y", column)
    if suffix == ".parquet":
        parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    else:
        feather.write_feather(table, tmp_path / "rows.feather", chunksize=100)
    rows = open_rows(tmp_path, label="y")
    found = VanishingIdealClassifier(OAVI(1e-3, max_degree=2)).fit(rows)
    assert found.classes_.tolist() == classes
    expected = VanishingIdealClassifier(OAVI(1e-3, max_degree=2)).fit(X, np.asarray(column.to_pylist()))
    assert found.score(rows) == pytest.approx(expected.score(X, np.asarray(column.to_pylist())), abs=2e-3)
    assert found.predict(rows).dtype.kind == expected.predict(X).dtype.kind


def test_dictionaries_that_differ_between_files_mean_the_same_words(tmp_path):
    X, y = THREE
    words = np.array(["one", "two", "three"])[y]
    for k, start in enumerate(range(0, N_ROWS, 301)):
        part = slice(start, start + 301)
        column = pyarrow.array(words[part].tolist()).dictionary_encode()
        parquet.write_table(table_of(X[part]).append_column("y", column), tmp_path / f"{k}.parquet", row_group_size=50)
    found = PerClass(OAVI(1e-3, max_degree=2)).fit(open_rows(tmp_path, label="y"))
    expected = PerClass(OAVI(1e-3, max_degree=2)).fit(X, words)
    assert found.classes_.tolist() == expected.classes_.tolist()
    for model, wanted in zip(found.estimators_, expected.estimators_, strict=True):
        assert_same_generators(model.generators_, wanted.generators_)


def test_labels_of_rows_on_disk_are_one_of_their_columns(tmp_path):
    X, y = THREE
    write_parquet(tmp_path, X, y=y)
    with pytest.raises(ValueError, match=r"open_rows\(label="):
        PerClass().fit(open_rows(tmp_path, columns=NAMES), y)
    with pytest.raises(ValueError, match=r"open_rows\(label="):
        PerClass().fit(open_rows(tmp_path, columns=NAMES))
    with pytest.raises(ValueError, match=r"open_rows\(label="):
        PerClass().fit(open_rows(tmp_path, label="y"), y)


# --- single precision -------------------------------------------------------------------------------------------------


SINGLE = [float32, npy_float32, parquet_float32, torch_float32]


def warned(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [warning.category for warning in caught]


def dask_float32(X, folder):
    return dask_array(X.astype(np.float32), folder)


def polars_float32(X, folder):
    return polars_frame(X.astype(np.float32), folder)


def nullable_float32(X, folder):
    return pandas_frame(X, folder).astype("Float32")


def one_column_float32(X, folder):
    return pandas_frame(X, folder).astype({"b": np.float32})


def later_file_float32(X, folder):
    parquet.write_table(table_of(X[:400]), folder / "0.parquet")
    parquet.write_table(table_of(X[400:].astype(np.float32)), folder / "1.parquet")
    return open_rows(folder)


@pytest.mark.parametrize(
    "make",
    [*SINGLE, dask_float32, polars_float32, nullable_float32, one_column_float32, later_file_float32],
    ids=name_of,
)
def test_psi_below_the_rounding_of_single_precision_is_warned_of(make, tmp_path):
    source = make(surface(), tmp_path)
    assert warned(lambda: OAVI(1e-15, max_degree=1).fit(source)) == [RangeWarning]
    assert warned(lambda: OAVI(1e-13, max_degree=1).fit(source)) == []


@pytest.mark.parametrize("make", [c_order, pandas_frame, npy_file, parquet_file, csv_file, torch_tensor, dask_array])
def test_double_precision_is_not_warned_of(make, tmp_path):
    assert warned(lambda: OAVI(1e-15, max_degree=1).fit(make(surface(), tmp_path))) == []


def test_the_smallest_of_several_psi_is_compared_with_single_precision():
    X = surface().astype(np.float32)
    assert warned(lambda: ideal_path(OAVI(max_degree=1), X, [1e-3, 1e-15])) == [RangeWarning]


# --- scores and weights -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["npy", "torch", "strict", "dask"])
def test_rows_of_some_classes_only_can_be_scored(kind, tmp_path):
    X, y = three_classes()
    model = VanishingIdealClassifier(OAVI(1e-2, max_degree=3)).fit(X, y)
    some = y != np.unique(y)[-1]
    X, y = X[some], y[some]
    X[:20] = X[-20:]  # so that some predictions are wrong
    expected = model.score(X, y)
    if kind == "npy":
        np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
        found = model.score(open_rows(tmp_path / "rows.npy", label=X.shape[1]))
    elif kind == "dask":
        da = pytest.importorskip("dask.array")
        found = model.score(da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100))
    else:
        library = pytest.importorskip("torch" if kind == "torch" else "array_api_strict")
        found = model.score(library.asarray(X), library.asarray(y))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["torch", "array_api_strict"])
@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf, 0.0])
def test_weights_on_a_device_are_checked_there(kind, bad):
    library = pytest.importorskip(kind)
    X, weights = surface(), np.full(len(surface()), 0.0 if bad == 0.0 else 1.0)
    weights[7] = bad
    with pytest.raises(ValueError, match="sample_weight"):
        OAVI(1e-2).fit(library.asarray(X), sample_weight=library.asarray(weights))
    with pytest.raises(ValueError, match=r"sample_weight must have shape"):
        OAVI(1e-2).fit(library.asarray(X), sample_weight=library.asarray(weights[:5]))


def test_rows_that_do_not_fit_the_model_are_not_scored(tmp_path):
    X, y = three_classes()
    model = VanishingIdealClassifier(OAVI(1e-2, max_degree=3)).fit(X, y)
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    with pytest.raises(ValueError, match="X has 2 features, but VanishingIdealClassifier is expecting 3"):
        model.score(open_rows(tmp_path / "rows.npy", columns=[0, 1], label=3))
    X[5, 1] = np.nan
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    with pytest.raises(ValueError, match="NaN in column 1: at least 1 such value, one in row 5 of"):
        model.score(open_rows(tmp_path / "rows.npy", label=3))
