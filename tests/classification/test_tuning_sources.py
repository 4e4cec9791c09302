"""Cross-validation of rows outside of memory: the same on all sources, and as scikit-learn would compute it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from searches import grid_search
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, make_scorer, matthews_corrcoef
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold
from sklearn.preprocessing import MinMaxScaler
from watched import Watched, interrupt_in

from vanishing import (
    ABM,
    AVI,
    OAVI,
    VCA,
    Columns,
    RangeWarning,
    VanishingIdealClassifier,
    open_rows,
    show_progress,
)
from vanishing.rows.sampling import fold_numbers

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.slow

NAMES = ["a", "b", "c"]
N_ROWS = 900
PSIS = [1e-2, 1e-3]
CS = [0.1, 1.0]


def three_classes(m=N_ROWS, seed=0):
    """Points near three surfaces, in units of their own, and their labels."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(m, 3)), np.arange(m) % 3
    a, b = X[:, 0], X[:, 1]
    X[:, 2] = np.select([y == 0, y == 1], [0.5 * a * b + 0.25, 0.9 * a**2 + 0.05], 0.95 - 0.9 * a)
    X[:, 2] += rng.normal(0.0, 0.03, m)
    return 3.0 + X * [2.0, 5.0, 0.5], y


def two_classes(m=N_ROWS, seed=0):
    X, y = three_classes(3 * m // 2, seed)
    return X[y < 2], y[y < 2]


def write_npy(folder, X, y, n_files=1, weights=None):
    table = np.column_stack([X, y] if weights is None else [X, y, weights])
    for k, part in enumerate(np.array_split(table, n_files)):
        np.save(folder / f"part{k}.npy", part)
    return folder


def write_parquet(folder, X, y, n_files=1, row_group_size=None):
    for k, index in enumerate(np.array_split(np.arange(len(X)), n_files)):
        columns = {name: X[index, j] for j, name in enumerate(NAMES)}
        table = pyarrow.table({**columns, "y": pyarrow.array(y[index].tolist())})
        parquet.write_table(table, folder / f"part{k}.parquet", row_group_size=row_group_size)
    return folder


def npy_file(X, y, folder):
    return open_rows(write_npy(folder, X, y), label=3), None


def npy_one_thread(X, y, folder):
    return open_rows(write_npy(folder, X, y), label=3, n_jobs=1), None


def parquet_file(X, y, folder):
    return open_rows(write_parquet(folder, X, y), label="y"), None


def parquet_row_groups(X, y, folder):
    return open_rows(write_parquet(folder, X, y, row_group_size=150), label="y"), None


def dask_one_block(X, y, folder):
    dask = pytest.importorskip("dask.array")
    return dask.from_array(X, chunks=(-1, 2)), dask.from_array(y, chunks=-1)


def dask_frame(X, y, folder):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=NAMES).assign(y=y)
    frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=1)
    return frame[NAMES], frame["y"]


def torch_tensor(X, y, folder):
    torch = pytest.importorskip("torch")
    return torch.asarray(X), torch.asarray(y)


def strict_array(X, y, folder):
    strict = pytest.importorskip("array_api_strict")
    return strict.asarray(X), strict.asarray(y)


ON_DISK = [npy_file, npy_one_thread, parquet_file, parquet_row_groups]
SOURCES = [*ON_DISK, dask_one_block, dask_frame, torch_tensor, strict_array]


def name_of(make):
    return make.__name__


def tuner(estimator=None, **options):
    options = {"psis": PSIS, "Cs": CS, "cv": 2} | options
    return grid_search(OAVI(max_degree=2) if estimator is None else estimator, **options)


def fold_of(m, n_folds, part=0):
    return fold_numbers(np.empty((1, 1)), part, 0, m, int(n_folds))


def accuracy(y, predicted, sample_weight=None):
    return accuracy_score(y, predicted, sample_weight=sample_weight)


def expected_scores(X, y, folds, model, score=accuracy, weights=None):
    """Scores ``(n_pairs, n_folds)``: each fold's classifier in memory, on columns scaled by its training rows."""
    ideal = clone(model.estimator)
    pairs = [(psi, C) for psi in model.psis for C in model.Cs]
    scores = np.empty((len(pairs), model.cv))
    for j in range(model.cv):
        train, test = folds != j, folds == j
        scaler = MinMaxScaler().fit(X[train]) if model.scale_input else None
        table = X if scaler is None else scaler.transform(X)
        for i, (psi, C) in enumerate(pairs):
            clf = VanishingIdealClassifier(
                clone(ideal).set_params(psi=psi),
                C=C,
                scale_input=False,
                scale_features=model.columns.scale_features,
                append_input=model.columns.append_input,
            )
            clf.fit(table[train], y[train], None if weights is None else weights[train])
            more = {} if weights is None else {"sample_weight": weights[test]}
            scores[i, j] = score(y[test], clf.predict(table[test]), **more)
    return scores


def scores_of(model):
    return np.column_stack([model.cv_results_[f"split{k}_test_score"] for k in range(model.n_splits_)])


def assert_same_search(found, expected):
    assert found.cv_results_.keys() == expected.cv_results_.keys()
    for key, values in expected.cv_results_.items():
        if key in ("params", "param_columns", "param_scale_input"):
            assert found.cv_results_[key] == values
        else:
            np.testing.assert_allclose(found.cv_results_[key], values, rtol=1e-12, atol=1e-12, err_msg=key)
    assert found.best_params_ == expected.best_params_
    assert found.best_score_ == pytest.approx(expected.best_score_, abs=1e-12)
    assert found.best_index_ == expected.best_index_
    assert found.n_splits_ == expected.n_splits_
    np.testing.assert_array_equal(found.classes_, expected.classes_)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    """A search in one file."""
    return tuner().fit(npy_file(*three_classes(), tmp_path_factory.mktemp("rows"))[0])


# --- the same folds and scores everywhere -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", SOURCES, ids=name_of)
def test_a_search_is_the_same_on_every_source(make, on_disk, tmp_path):
    found = tuner(refit=False).fit(*make(*three_classes(), tmp_path))
    assert_same_search(found, on_disk)
    assert found.n_features_in_ == 3


def test_the_scores_of_a_file_are_those_of_classifiers_in_memory(on_disk):
    X, y = three_classes()
    expected = expected_scores(X, y, fold_of(N_ROWS, 2), on_disk)
    np.testing.assert_allclose(scores_of(on_disk), expected, atol=1e-12)
    results = on_disk.cv_results_
    np.testing.assert_allclose(results["mean_test_score"], expected.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(results["std_test_score"], expected.std(axis=1), atol=1e-12)
    assert results["params"] == [{"psi": psi, "C": C} for psi in PSIS for C in CS]
    np.testing.assert_array_equal(results["param_psi"], np.repeat(PSIS, 2))
    np.testing.assert_array_equal(results["param_C"], np.tile(CS, 2))
    assert results["rank_test_score"][on_disk.best_index_] == 1
    assert on_disk.best_params_ == results["params"][int(np.argmax(expected.mean(axis=1)))]
    assert on_disk.best_score_ == pytest.approx(expected.mean(axis=1).max(), abs=1e-12)


OPTIONS = {
    "three folds": {"cv": 3, "psis": [1e-3]},
    "five folds": {"cv": 5, "psis": [1e-3], "Cs": [1.0]},
    "NumPy integer": {"cv": np.int64(2), "psis": [1e-3], "Cs": [1.0]},
    "higher degree": {"estimator": OAVI(max_degree=4), "psis": [5e-4], "Cs": [10.0]},
    "not scaled features": {"columns": Columns("absolute", scale_features=False), "psis": [1e-2]},
    "no input": {"columns": Columns("absolute", append_input=False), "psis": [1e-3]},
    "one thread": {"n_jobs": 1, "psis": [1e-3]},
    "dense": {"estimator": OAVI(solver="cg", boost="ihb", max_degree=2), "psis": [1e-3]},
    "ABM": {"estimator": ABM(max_degree=2), "psis": [1e-3]},
    "AVI": {"estimator": AVI(max_degree=2), "psis": [1e-3]},
    "VCA": {"estimator": VCA(max_degree=2), "psis": [1e-4], "Cs": [1.0]},
    "unsorted": {"psis": [1e-3, 1e-2], "Cs": [1.0, 0.1]},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_scores_are_those_of_classifiers_in_memory_with_every_option(options, tmp_path):
    X, y = three_classes()
    model = tuner(**options, refit=False).fit(npy_file(X, y, tmp_path)[0])
    expected = expected_scores(X, y, fold_of(N_ROWS, model.cv), model)
    np.testing.assert_allclose(scores_of(model), expected, atol=1e-12)


@pytest.mark.parametrize("make", [npy_file, dask_one_block, strict_array], ids=name_of)
def test_two_classes_have_one_hyperplane(make, tmp_path):
    X, y = two_classes()
    model = tuner(psis=[1e-3], refit=False).fit(*make(X, y, tmp_path))
    expected = expected_scores(X, y, fold_of(len(X), 2), model)
    np.testing.assert_allclose(scores_of(model), expected, atol=1e-12)


def test_a_rows_fold_depends_on_its_file_and_its_place_there(tmp_path):
    X, y = three_classes()
    folds = np.concatenate([fold_of(300, 2, part) for part in range(3)])
    expected = None
    for kind, write in (("npy", write_npy), ("parquet", write_parquet)):
        (tmp_path / kind).mkdir()
        rows = open_rows(write(tmp_path / kind, X, y, n_files=3), label=3 if kind == "npy" else "y")
        model = tuner(refit=False).fit(rows)
        expected = expected_scores(X, y, folds, model) if expected is None else expected
        np.testing.assert_allclose(scores_of(model), expected, atol=1e-12)
    dask = pytest.importorskip("dask.array")
    blocks = dask.from_array(X, chunks=(300, 3)), dask.from_array(y, chunks=300)
    np.testing.assert_allclose(scores_of(tuner(refit=False).fit(*blocks)), expected, atol=1e-12)


def test_weights_count_in_fits_and_scores(tmp_path):
    X, y = three_classes()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N_ROWS)
    weights[::7] = 0.0
    rows = open_rows(write_npy(tmp_path, X, y, weights=weights), label=3, weight=4)
    model = tuner(psis=[1e-3], refit=False).fit(rows)
    folds, expected = fold_of(N_ROWS, 2), []
    for j in range(2):
        train, test = (folds != j) & (weights > 0.0), folds == j
        scaler = MinMaxScaler().fit(X[train])
        for C in CS:
            clf = VanishingIdealClassifier(OAVI(1e-3, max_degree=2), C=C, scale_input=False)
            clf.fit(scaler.transform(X[train]), y[train], weights[train])
            predicted = clf.predict(scaler.transform(X[test]))
            expected.append(accuracy_score(y[test], predicted, sample_weight=weights[test]))
    np.testing.assert_allclose(scores_of(model).T.ravel(), expected, atol=1e-12)


@pytest.mark.parametrize("row_group_size", [None, 150])
def test_labels_may_be_words(row_group_size, on_disk, tmp_path):
    X, y = three_classes()
    words = np.array(["a one", "b two", "c three"])[y]
    rows = open_rows(write_parquet(tmp_path, X, words, row_group_size=row_group_size), label="y")
    found = tuner().fit(rows)
    np.testing.assert_array_equal(scores_of(found), scores_of(on_disk))
    assert found.classes_.tolist() == ["a one", "b two", "c three"]
    assert set(found.predict(rows)) <= set(words)
    assert list(found.feature_names_in_) == NAMES


@pytest.mark.parametrize("kind", ["dask", "torch"])
def test_labels_beside_other_sources_may_be_words(kind, on_disk, tmp_path):
    X, y = three_classes()
    words = np.array(["a one", "b two", "c three"])[y]
    if kind == "dask":
        dask = pytest.importorskip("dask.array")
        found = tuner(refit=False).fit(dask.from_array(X, chunks=(-1, 3)), dask.from_array(words, chunks=-1))
    else:
        found = tuner(refit=False).fit(pytest.importorskip("torch").asarray(X), words)
    np.testing.assert_array_equal(scores_of(found), scores_of(on_disk))
    assert found.classes_.tolist() == ["a one", "b two", "c three"]


@pytest.mark.parametrize("scale_input", [True, "minmax"])
def test_hinges_have_their_knots_in_the_units_of_the_fold(scale_input, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(900, 3))
    y = (np.abs(np.abs(x[:, 0] - 0.5) - 0.2) < 0.1).astype(int)  # two bands, which no |x - mean| cuts out
    rows, _ = npy_file(100.0 + 50.0 * x, y, tmp_path)
    options = {"psis": [0.2], "Cs": [10.0], "scale_input": scale_input, "refit": False}
    plain = tuner(OAVI(max_degree=1), **options).fit(rows)
    hinged = tuner(OAVI(max_degree=1), columns=Columns("absolute", hinges=9), **options).fit(rows)
    assert plain.best_score_ < 0.75
    assert hinged.best_score_ > 0.95


# --- scoring ----------------------------------------------------------------------------------------------------------


def f1_macro(y, predicted):
    return f1_score(y, predicted, average="macro")


@pytest.mark.parametrize(
    ("scoring", "score"),
    [
        ("accuracy", accuracy),
        ("balanced_accuracy", balanced_accuracy_score),
        ("f1_macro", f1_macro),
        ("matthews_corrcoef", matthews_corrcoef),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_scores_of_predictions_are_those_of_scikit_learn(scoring, score, tmp_path):
    X, y = three_classes(900)
    keep = (y > 0) | (np.arange(900) % 5 == 0)  # classes of different size
    X, y = X[keep], y[keep]
    model = tuner(psis=[1e-2], scoring=scoring, refit=False).fit(npy_file(X, y, tmp_path)[0])
    expected = expected_scores(X, y, fold_of(len(X), 2), model, score)
    np.testing.assert_allclose(scores_of(model), expected, rtol=1e-12, atol=1e-12)


def test_the_f1_score_of_two_classes_is_that_of_scikit_learn(tmp_path):
    X, y = two_classes(800)
    model = tuner(psis=[1e-2], scoring="f1", refit=False).fit(npy_file(X, y, tmp_path)[0])
    expected = expected_scores(X, y, fold_of(len(X), 2), model, f1_score)
    np.testing.assert_allclose(scores_of(model), expected, rtol=1e-12)


@pytest.mark.parametrize("scoring", ["roc_auc", "roc_auc_ovr", "average_precision", "neg_log_loss"])
def test_a_score_of_single_rows_is_refused(scoring, tmp_path):
    model = tuner(scoring=scoring)
    with pytest.raises(ValueError, match=rf"'{scoring}' needs the scores of single rows.*use one.*'accuracy'"):
        model.fit(npy_file(*three_classes(), tmp_path)[0])
    assert_not_fitted(model)


def squared(model, X, y):
    return accuracy_score(y, model.predict(X)) ** 2


@pytest.mark.parametrize("scoring", [squared, make_scorer(accuracy_score)], ids=["function", "scorer"])
def test_a_function_as_score_is_refused(scoring, tmp_path):
    model = tuner(scoring=scoring)
    with pytest.raises(ValueError, match=r"scoring must be the name of a score, such as 'accuracy'.*outside of memory"):
        model.fit(npy_file(*three_classes(), tmp_path)[0])
    assert_not_fitted(model)


@pytest.mark.parametrize("scoring", ["nonsense", 3])
def test_an_unknown_score_is_refused(scoring, tmp_path):
    with pytest.raises(ValueError, match="scoring"):
        tuner(scoring=scoring).fit(npy_file(*three_classes(), tmp_path)[0])


def test_a_score_that_takes_no_weights_is_refused_before_anything_is_fitted(passes, tmp_path):
    with pytest.raises(ValueError, match="scoring"):
        tuner(scoring="adjusted_rand_score").fit(npy_file(*three_classes(), tmp_path)[0])
    assert len(passes) <= 1


# --- folds that cannot be -------------------------------------------------------------------------------------------


def assert_not_fitted(model):
    assert [name for name in vars(model) if name.endswith("_")] == []


@pytest.mark.parametrize(
    "cv",
    [0, 1, -3, True, 2.0, "3", None, KFold(3), StratifiedKFold(2), PredefinedSplit([0, 1] * 450), [([0], [1])]],
    ids=lambda cv: type(cv).__name__ + str(cv)[:5],
)
@pytest.mark.parametrize("make", [npy_file, dask_one_block], ids=name_of)
def test_folds_other_than_a_number_of_them_are_refused(cv, make, tmp_path):
    model = tuner(cv=cv)
    with pytest.raises(ValueError, match="cv must be a number of folds, at least 2, for data outside of memory; got"):
        model.fit(*make(*three_classes(), tmp_path))
    assert_not_fitted(model)


@pytest.mark.parametrize("scale_input", [False, True])
@pytest.mark.parametrize("make", [npy_file, parquet_file, dask_one_block, torch_tensor, strict_array], ids=name_of)
def test_a_class_that_is_missing_in_a_fold_is_named(make, scale_input, tmp_path):
    X, y = three_classes(300)
    folds = fold_of(300, 2)
    keep = (y != 1) | (folds == 0)
    y = np.where(keep, y, 2)  # class 1 has rows in fold 0 only
    model = tuner(scale_input=scale_input)
    with pytest.raises(ValueError, match=r"Class 1(\.0)? has no rows in fold 1: lower cv, or leave out the class"):
        model.fit(*make(X, y, tmp_path))
    assert_not_fitted(model)


def test_a_class_without_weight_in_a_fold_is_named(tmp_path):
    X, y = three_classes(300)
    weights = np.where((y == 1) & (fold_of(300, 2) == 1), 0.0, 1.0)
    rows = open_rows(write_npy(tmp_path, X, y, weights=weights), label=3, weight=4)
    with pytest.raises(ValueError, match=r"Class 1\.0 has no rows in fold 1"):
        tuner().fit(rows)


def test_one_class_is_refused(tmp_path):
    X, _ = three_classes(300)
    with pytest.raises(ValueError, match="class"):
        tuner().fit(npy_file(X, np.ones(300), tmp_path)[0])


def test_labels_of_rows_on_disk_are_one_of_their_columns(tmp_path):
    X, y = three_classes(300)
    rows, _ = npy_file(X, y, tmp_path)
    for bad, labels in ((open_rows(rows.files), None), (open_rows(rows.files), y), (rows, y)):
        with pytest.raises(ValueError, match=r"open_rows\(label="):
            tuner().fit(bad, labels)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("scale_input", [False, True])
def test_a_missing_value_is_named_with_its_file_and_row(value, word, scale_input, tmp_path):
    X, y = three_classes()
    X[613, 1] = value
    model = tuner(scale_input=scale_input)
    with pytest.raises(ValueError, match=rf"{word}.*column 1 \('b'\): 1 such value, the first in row 13 of .*part2"):
        model.fit(open_rows(write_parquet(tmp_path, X, y, n_files=3), label="y"))
    assert_not_fitted(model)


@pytest.mark.parametrize("psis", [[], [-1.0], "many", [np.nan]])
def test_wrong_psis_are_refused(psis, tmp_path):
    with pytest.raises(ValueError, match="psis"):
        tuner(psis=psis).fit(npy_file(*three_classes(300), tmp_path)[0])


def test_no_generator_for_any_psi_is_an_error(tmp_path):
    model = tuner(OAVI(max_degree=1), psis=[1e-9])
    with pytest.raises(ValueError, match=r"No psi gives a generator.*raise psis or max_degree"):
        model.fit(npy_file(*three_classes(300), tmp_path)[0])
    assert_not_fitted(model)


# --- passes -----------------------------------------------------------------------------------------------------------


def test_the_number_of_passes_does_not_grow_with_the_number_of_psis(passes, tmp_path):
    rows, _ = npy_file(*three_classes(), tmp_path)
    alone, psis = [], [1e-2, 3e-3, 2e-3, 1e-3]
    for psi in psis:
        tuner(psis=[psi], Cs=[1.0], refit=False).fit(rows)
        alone.append(len(passes))
        passes.clear()
    tuner(psis=psis, Cs=[1.0], refit=False).fit(rows)
    assert len(passes) <= max(alone) + 2  # one may be the last in the ideals, another one in the SVMs
    assert len(passes) < sum(alone) / 3


def test_the_number_of_passes_does_not_grow_with_the_number_of_folds(passes, tmp_path):
    rows, _ = npy_file(*three_classes(), tmp_path)
    made = []
    for n_folds in (2, 6):
        tuner(psis=[1e-3], Cs=[1.0], cv=n_folds, refit=False).fit(rows)
        made.append(len(passes))
        passes.clear()
    assert made[1] < 2 * made[0]  # the slowest of more SVMs may take some steps more


def test_scaling_to_the_folds_takes_no_pass_of_its_own(passes, tmp_path):
    X, y = three_classes()
    rows, _ = npy_file(MinMaxScaler().fit_transform(X), y, tmp_path)
    tuner(psis=[1e-3], Cs=[1.0], scale_input=False, refit=False).fit(rows)
    without = len(passes)
    passes.clear()
    tuner(psis=[1e-3], Cs=[1.0], refit=False).fit(rows)
    assert len(passes) <= 1.5 * without


def test_an_interrupt_in_a_pass_ends_the_search(passes, tmp_path):
    rows, _ = npy_file(*three_classes(), tmp_path)
    tuner(refit=False).fit(rows)
    for stop in (1, 2, 4, len(passes) - 1):
        model, watched = tuner(), Watched(rows, interrupt_in(stop))
        with pytest.raises(KeyboardInterrupt):
            model.fit(watched)
        assert watched.n_passes == stop
        assert_not_fitted(model)


# --- the best model ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [npy_file, parquet_file, dask_one_block, torch_tensor, strict_array], ids=name_of)
def test_the_best_estimator_is_the_classifier_of_the_source_with_the_best_parameters(make, tmp_path):
    source = make(*three_classes(600), tmp_path)
    found = tuner(psis=[1e-2], Cs=[0.1]).fit(*source)
    expected = VanishingIdealClassifier(OAVI(1e-2, max_degree=2), C=found.best_params_["C"]).fit(*source)
    best = found.best_estimator_
    assert found.best_params_["C"] == best.C
    assert best.estimator.psi == found.best_params_["psi"]
    np.testing.assert_array_equal(best.scaler_.scale_, expected.scaler_.scale_)
    np.testing.assert_allclose(best.final_estimator_.coef_, expected.final_estimator_.coef_, rtol=1e-9, atol=1e-12)
    assert str(found.generators_) == str(expected.generators_)
    same = np.asarray(found.predict(source[0])) == np.asarray(expected.predict(source[0]))
    assert same.all()
    assert found.score(*source) == expected.score(*source) > 0.8
    scores = [np.asarray(model.decision_function(source[0])) for model in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-9, atol=1e-9)


def test_the_best_estimator_on_disk_predicts_new_files(on_disk, tmp_path):
    X, y = three_classes(600, seed=5)
    rows, _ = npy_file(X, y, tmp_path)
    np.testing.assert_array_equal(on_disk.predict(rows), on_disk.predict(X))
    assert on_disk.score(rows) == pytest.approx(on_disk.score(X, y), abs=1e-12)


def test_without_refit_there_is_no_model(tmp_path):
    rows, _ = npy_file(*three_classes(600), tmp_path)
    model = tuner().fit(rows)
    assert model.best_estimator_.classes_.tolist() == [0.0, 1.0, 2.0]
    model.set_params(refit=False).fit(rows)
    assert not hasattr(model, "best_estimator_")
    assert model.best_params_ in model.cv_results_["params"]
    for name in ("predict", "decision_function"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.score(rows)


@pytest.mark.parametrize("make", [npy_file, parquet_file, dask_one_block], ids=name_of)
def test_columns_that_are_scaled_already_are_left_alone(make, tmp_path):
    X, y = three_classes(900)
    X = MinMaxScaler().fit_transform(X)
    model = tuner(psis=[1e-3], scale_input=False).fit(*make(X, y, tmp_path))
    expected = expected_scores(X, y, fold_of(900, 2), model)
    np.testing.assert_allclose(scores_of(model), expected, atol=1e-12)
    assert model.best_estimator_.scaler_ is None


def test_columns_outside_of_the_unit_cube_are_warned_of(tmp_path):
    with pytest.warns(RangeWarning, match="outside"):
        tuner(psis=[1e-2], scale_input=False).fit(npy_file(*three_classes(600), tmp_path)[0])


@pytest.mark.parametrize("scale_input", [False, True])
def test_rows_that_are_scaled_on_the_way_can_be_searched(scale_input, tmp_path):
    X, y = three_classes()
    write_npy(tmp_path, X, y)
    model = tuner(scale_input=scale_input).fit(open_rows(tmp_path, label=3, scale=True))
    scaled = MinMaxScaler().fit_transform(X)
    np.testing.assert_allclose(scores_of(model), expected_scores(scaled, y, fold_of(N_ROWS, 2), model), atol=1e-12)


def test_rows_with_a_given_scaling_can_be_searched(tmp_path):
    X, y = three_classes()
    scaler = MinMaxScaler().fit(X)
    write_npy(tmp_path, X, y)
    model = tuner(scale_input=False, refit=False).fit(open_rows(tmp_path, label=3, scale=scaler))
    expected = expected_scores(scaler.transform(X), y, fold_of(N_ROWS, 2), model)
    np.testing.assert_allclose(scores_of(model), expected, atol=1e-12)


# --- psi by itself ----------------------------------------------------------------------------------------------------


def test_an_automatic_grid_starts_at_the_largest_variance_within_a_class(tmp_path):
    X, y = three_classes(600)
    model = tuner(OAVI(max_degree=1), psis="auto", Cs=[1.0], refit=False).fit(npy_file(X, y, tmp_path)[0])
    folds, variances = fold_of(600, 2), []
    for j in range(2):
        table = MinMaxScaler().fit(X[folds != j]).transform(X)
        variances += [table[y == k].var(axis=0).max() for k in range(3)]
    psis = model.cv_results_["param_psi"]
    np.testing.assert_allclose(psis, max(variances) * 10.0 ** (-np.arange(14) / 2), rtol=1e-9)
    expected = expected_scores(X, y, folds, clone(model).set_params(psis=[float(psis[1])]))
    np.testing.assert_allclose(scores_of(model)[1:2], expected, atol=1e-12)


@pytest.mark.parametrize("make", [dask_one_block], ids=name_of)
def test_an_automatic_grid_is_the_same_on_every_source(make, tmp_path):
    X, y = three_classes(300)
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    options = {"psis": "auto", "Cs": [1.0], "refit": False}
    expected = tuner(OAVI(max_degree=1), **options).fit(npy_file(X, y, tmp_path / "one")[0])
    found = tuner(OAVI(max_degree=1), **options).fit(*make(X, y, tmp_path / "other"))
    np.testing.assert_allclose(found.cv_results_["param_psi"], expected.cv_results_["param_psi"], rtol=1e-9)
    np.testing.assert_allclose(scores_of(found), scores_of(expected), atol=1e-12)


@pytest.mark.parametrize("kind", [ABM, AVI])
def test_an_automatic_grid_stays_below_one_where_it_has_to(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(0.0, 9.0, (150, 2)), 20.0 + rng.uniform(0.0, 1.0, (150, 2))])
    rows, _ = npy_file(np.column_stack([X, X[:, :1]]), np.repeat([0, 1], 150), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = tuner(kind(max_degree=1), psis="auto", Cs=[1.0], scale_input=False, refit=False).fit(rows)
    assert 0.99 < model.cv_results_["param_psi"].max() < 1.0


# --- progress ---------------------------------------------------------------------------------------------------------


def test_progress_counts_psis_and_folds(capsys, tmp_path):
    pytest.importorskip("tqdm")
    rows, _ = npy_file(*three_classes(300), tmp_path)
    with show_progress():
        tuner(refit=False).fit(rows)
    err = capsys.readouterr().err
    assert "psi x fold" in err
    assert "4/4" in err
    assert "pass 1" in err
    tuner(refit=False).fit(rows)
    assert capsys.readouterr().err == ""
