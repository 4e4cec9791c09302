"""The cross-validation that tunes psi and C: scores, automatic psis, folds, and what is refused."""

import itertools
import pickle
import sys
import threading
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from rings import ALGORITHMS, DENSE, rings, unit_rings
from searches import grid_search
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

from vanishing import ABM, AVI, OAVI, VCA, Columns, VanishingIdealClassifier, show_progress
from vanishing.classification.model import fitting
from vanishing.progress import search_progress

PSIS = [0.05, 0.003]
CS = [0.1, 1.0]


def assert_same_as_grid_search(search, X, y):
    """Scores of all folds and pairs are those of GridSearchCV, and so is the best pair."""
    clf = VanishingIdealClassifier(
        search.estimator,
        scale_features=search.columns.scale_features,
        append_input=search.columns.append_input,
        scale_input=search.scale_input,
    )
    # Of equals GridSearchCV chooses the first; in this order it is the one with the largest psi, then the smallest C.
    grid = [{"estimator__psi": [psi], "C": [C]} for psi in search.psis for C in search.Cs]
    wanted = GridSearchCV(clf, grid, cv=search.cv, scoring=search.scoring, refit=False).fit(X, y)
    search.fit(X, y)
    params = [(p["estimator__psi"], p["C"]) for p in wanted.cv_results_["params"]]
    assert [(p["psi"], p["C"]) for p in search.cv_results_["params"]] == params
    names = [name for name in wanted.cv_results_ if name.endswith("test_score")]
    for name in names:
        np.testing.assert_allclose(search.cv_results_[name], wanted.cv_results_[name], rtol=0, atol=1e-12, err_msg=name)
    assert search.best_score_ == pytest.approx(wanted.best_score_, abs=1e-12)
    assert search.best_params_ == {"psi": wanted.best_params_["estimator__psi"], "C": wanted.best_params_["C"]}
    assert search.n_splits_ == wanted.n_splits_
    assert {name for name in search.cv_results_ if name.endswith("test_score")} == set(names)
    scores = [search.cv_results_[name] for name in names if name.startswith("split")]
    assert np.ptp(scores) > 0.0  # the comparison means something


OVERLAPPING = [(np.arange(60), np.arange(50, 80)), (np.arange(20, 80), np.arange(30)), (np.arange(0, 80, 2), [1, 3, 5])]
FOLDS = {
    "number": 3,
    "KFold": KFold(3),
    "StratifiedKFold-shuffled": StratifiedKFold(3, shuffle=True, random_state=0),
    "ShuffleSplit": ShuffleSplit(3, test_size=0.3, random_state=0),
    "RepeatedStratifiedKFold": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    "overlapping": OVERLAPPING,
    "unsorted": [(np.arange(80)[::-1][:50], np.arange(30)), (np.arange(50), np.arange(80)[::-1][:30])],
    "repeated test rows": [(np.arange(50), np.repeat(np.arange(50, 80), 2)), (np.arange(30, 80), [0, 0, 1, 2])],
    "lists": [(list(range(50)), list(range(50, 80))), (list(range(30, 80)), list(range(30)))],
    "PredefinedSplit": PredefinedSplit(np.random.default_rng(0).integers(-1, 3, 80)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folds", "scale_input"),
    [*((folds, False) for folds in FOLDS), *((folds, True) for folds in ("number", "KFold", "ShuffleSplit"))],
)
def test_scores_are_those_of_grid_search(folds, scale_input):
    X, y = (rings if scale_input else unit_rings)(noise=0.2)
    Cs = CS if folds == "number" else [1.0]
    search = grid_search(DENSE, psis=PSIS, Cs=Cs, cv=FOLDS[folds], scale_input=scale_input)
    assert_same_as_grid_search(search, X, y)


@pytest.mark.slow
@ALGORITHMS
def test_scores_are_those_of_grid_search_for_every_algorithm_and_three_classes(estimator):
    X, y = rings(3, noise=0.2)
    assert_same_as_grid_search(grid_search(estimator, psis=[0.01, 0.001], Cs=[1.0]), X, y)


@pytest.mark.slow
@pytest.mark.parametrize("append_input", [True, False])
@pytest.mark.parametrize("scale_features", [True, False])
def test_scores_are_those_of_grid_search_with_other_options(append_input, scale_features):
    X, y = rings(noise=0.2)
    columns = Columns("absolute", append_input=append_input, scale_features=scale_features)
    assert_same_as_grid_search(grid_search(DENSE, psis=PSIS, Cs=CS, columns=columns), X, y)


def squared_accuracy(model, X, y):
    return model.score(X, y) ** 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "scoring",
    ["balanced_accuracy", "roc_auc", "f1", squared_accuracy, make_scorer(balanced_accuracy_score, adjusted=True)],
    ids=["balanced_accuracy", "roc_auc", "f1", "function", "scorer"],
)
def test_scores_are_those_of_grid_search_for_other_scores(scoring):
    X, y = rings(noise=0.2)
    used = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:25]]  # 40 and 25 rows
    assert_same_as_grid_search(grid_search(DENSE, psis=PSIS, Cs=[1.0], scoring=scoring), X[used], y[used])


def test_scores_are_those_of_grid_search_for_a_psi_without_generators_in_some_fold():
    """NaN there as here, and last in rank."""
    rng = np.random.default_rng(0)
    x = rng.random(60)
    X = np.column_stack([x, 0.5 * x + 0.2 * rng.random(60) * (np.arange(60) < 5)])
    y = np.arange(60) % 2
    search = grid_search(
        OAVI(max_degree=1, solver="cg", boost="ihb"), psis=[0.2, 1e-9], Cs=[1.0], cv=KFold(2), scale_input=False
    ).fit(X, y)
    assert np.isnan(search.cv_results_["split1_test_score"]).tolist() == [False, True]
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
    assert search.cv_results_["rank_test_score"].tolist() == [1, 2]
    assert search.best_params_["psi"] == 0.2


@pytest.mark.slow
def test_training_rows_that_are_listed_twice_count_twice():
    X, y = rings(noise=0.2)
    rng = np.random.default_rng(0)
    folds = [(rng.integers(0, 80, 80), np.arange(80)) for _ in range(3)]
    assert_same_as_grid_search(grid_search(DENSE, psis=PSIS, Cs=CS, cv=folds), X, y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mask", "negative"])
def test_training_rows_may_be_masks_or_counted_from_the_end_as_in_grid_search(kind):
    X, y = rings(noise=0.2)
    masks = [np.arange(80) < 50, np.arange(80) >= 30]
    folds = [(mask if kind == "mask" else np.flatnonzero(mask) - 80, np.flatnonzero(~mask)) for mask in masks]
    assert_same_as_grid_search(grid_search(DENSE, psis=PSIS, Cs=CS, cv=folds), X, y)


@pytest.mark.slow
def test_a_callable_score_sees_the_rows_of_the_user():
    def weighted_accuracy(model, X, y):
        return accuracy_score(y, model.predict(X), sample_weight=X[:, 2])

    X, y = rings(noise=0.2)
    assert_same_as_grid_search(grid_search(DENSE, psis=PSIS, Cs=CS, scoring=weighted_accuracy), X, y)


def test_several_scores_at_once_are_refused():
    X, y = rings()
    with pytest.raises(ValueError, match="scoring"):
        grid_search(DENSE, psis=[0.01], scoring=["accuracy", "f1"]).fit(X, y)


@pytest.mark.slow
def test_results_hold_every_pair():
    X, y = rings(3, noise=0.2)
    search = grid_search(DENSE, psis=[0.001, 0.05], Cs=[10.0, 0.1], cv=4).fit(X, y)
    results = search.cv_results_
    pairs = [(0.001, 10.0), (0.001, 0.1), (0.05, 10.0), (0.05, 0.1)]
    assert [(p["psi"], p["C"]) for p in results["params"]] == pairs
    assert list(zip(results["param_psi"], results["param_C"], strict=True)) == pairs
    by_fold = np.array([results[f"split{k}_test_score"] for k in range(4)])
    np.testing.assert_allclose(results["mean_test_score"], by_fold.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], by_fold.std(axis=0))
    assert search.n_splits_ == 4
    assert search.best_params_ == results["params"][search.best_index_]
    assert search.best_score_ == results["mean_test_score"][search.best_index_] == results["mean_test_score"].max()
    folds = StratifiedKFold(4).split(X, y)
    sizes = []
    for train, _ in folds:
        scaled = MinMaxScaler().fit(X[train]).transform(X)
        models = [OAVI(0.05, solver="cg", boost="ihb").fit(scaled[train][y[train] == k]) for k in range(3)]
        sizes.append(sum(len(model.generators_) for model in models))
    assert results["mean_n_generators"][2] == results["mean_n_generators"][3] == np.mean(sizes)


@pytest.mark.slow
@ALGORITHMS
def test_the_best_estimator_is_a_direct_fit(estimator):
    X, y = rings(3, noise=0.2)
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    search = grid_search(estimator, psis=[0.01, 0.001], columns=Columns("absolute", append_input=False)).fit(frame, y)
    wanted = VanishingIdealClassifier(
        clone(estimator).set_params(psi=search.best_params_["psi"]), C=search.best_params_["C"], append_input=False
    ).fit(frame, y)
    np.testing.assert_array_equal(search.decision_function(frame), wanted.decision_function(frame))
    np.testing.assert_array_equal(search.predict(frame), wanted.predict(frame))
    assert str(search.generators_) == str(wanted.generators_)
    assert search.generators_ is search.best_estimator_.generators_
    assert search.score(frame, y) == wanted.score(frame, y)
    assert estimator.get_params()["psi"] != 0.01  # the given one is left alone


@pytest.mark.slow
def test_ties_choose_the_largest_psi_then_the_smallest_c():
    X, y = rings(noise=0.01)
    search = grid_search(DENSE, psis=[1e-4, 0.003, 1e-3], Cs=[10.0, 3.0, 30.0]).fit(X, y)
    assert (search.cv_results_["mean_test_score"] == 1.0).all()
    assert (search.cv_results_["rank_test_score"] == 1).all()
    assert search.best_params_ == {"psi": 0.003, "C": 3.0}


def within_class_variance(X, y):
    scaled = MinMaxScaler().fit_transform(X)
    return max(scaled[y == k].var(axis=0).max() for k in np.unique(y))


def largest_psi(X, y):
    """The largest variance of a column within a class, in the units of each of three folds."""
    scalers = [MinMaxScaler().fit(X[train]) for train, _ in StratifiedKFold(3).split(X, y)]
    return max(scaler.transform(X)[y == k].var(axis=0).max() for scaler in scalers for k in np.unique(y))


@pytest.mark.slow
def test_automatic_psis_descend_until_scores_stop_improving():
    X, y = rings()
    search = grid_search(OAVI(solver="cg", boost="ihb", max_degree=4), Cs=[1.0, 10.0]).fit(X[:, :2], y)
    psis, scores = (search.cv_results_[name].reshape(-1, 2) for name in ("param_psi", "mean_test_score"))
    assert psis[0, 0] == pytest.approx(largest_psi(X[:, :2], y))
    np.testing.assert_allclose(psis[1:] / psis[:-1], 10.0**-0.5)
    best = int(np.argmax(scores.max(axis=1)))
    assert best < len(psis) - 1
    assert 5 <= len(psis) <= 14


@pytest.mark.parametrize(
    "estimator",
    [
        DENSE,
        OAVI(solver="bpcg"),
        ABM(),
        AVI(),
    ],
    ids=["OAVI-cg", "OAVI-bpcg", "ABM", "AVI"],
)
def test_above_the_largest_automatic_psi_the_model_does_not_change(estimator):
    X, y = rings()
    psi = within_class_variance(X, y) * (1 + 1e-9)
    largest, more = (
        VanishingIdealClassifier(clone(estimator).set_params(psi=p)).fit(X, y).decision_function(X)
        for p in (psi, 5 * psi)
    )
    np.testing.assert_allclose(largest, more, rtol=0, atol=1e-6 * np.abs(largest).max())


def test_automatic_psis_keep_the_largest_when_all_are_too_large():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), np.arange(60) % 2
    search = grid_search(OAVI(solver="cg", boost="ihb", max_terms=9), Cs=[1.0], refit=False)
    search.fit(X * [1, 1, 1, 1, 1, 1, 1, 100], y)
    np.testing.assert_allclose(search.cv_results_["param_psi"][0], largest_psi(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [ABM(), AVI(max_degree=3), VCA(max_degree=3)], ids=["ABM", "AVI", "VCA"])
def test_automatic_psis_suit_every_algorithm(estimator):
    X, y = rings(noise=0.05)
    search = grid_search(estimator, Cs=[1.0], cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert (np.diff(search.cv_results_["param_psi"]) <= 0).all()


@pytest.mark.slow
def test_automatic_psis_for_columns_of_true_and_false():
    X, y = rings()
    search = grid_search(DENSE, Cs=[1.0]).fit(X.mean(axis=0) < X, y)
    wanted = grid_search(DENSE, Cs=[1.0]).fit((X.mean(axis=0) < X).astype(float), y)
    np.testing.assert_allclose(search.cv_results_["param_psi"], wanted.cv_results_["param_psi"])


@pytest.mark.slow
def test_automatic_psis_for_small_integers():
    X, y = rings()
    data = np.round(255 * MinMaxScaler().fit_transform(X) - 128).astype(np.int8)
    search = grid_search(DENSE, Cs=[1.0]).fit(data, y)
    assert search.cv_results_["param_psi"][0] == pytest.approx(largest_psi(data.astype(float), y))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
@pytest.mark.parametrize("algorithm", [ABM, AVI])
@pytest.mark.parametrize("case", ["unscaled", "constant"])
def test_automatic_psis_stay_below_1_for_algorithms_that_need_it(algorithm, case):
    X, y = rings()
    if case == "unscaled":
        search = grid_search(algorithm(max_degree=2), scale_input=False)
    else:  # every class is one point
        X, search = np.column_stack([y, 1 - y]), grid_search(algorithm(max_degree=2))
    search.fit(X, y)
    assert search.cv_results_["param_psi"].max() < 1.0


@pytest.mark.slow
def test_without_refit_there_are_results_but_no_model():
    X, y = rings()
    search = grid_search(DENSE, psis=PSIS, refit=False).fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_params_ in search.cv_results_["params"]
    for method in ("predict", "decision_function"):
        assert not hasattr(search, method)
        with pytest.raises(AttributeError, match=method):
            getattr(search, method)(X)
    with pytest.raises(AttributeError):
        search.score(X, y)
    for use in (lambda: search.transform(X), search.get_feature_names_out):
        with pytest.raises(AttributeError, match="set refit=True"):
            use()
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "generators_")
    refitted = grid_search(DENSE, psis=PSIS).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], refitted.cv_results_["mean_test_score"])


@pytest.mark.slow
def test_a_fit_without_refit_forgets_the_model_of_the_first():
    X, y = rings()
    search = grid_search(DENSE, psis=PSIS).fit(X, y)
    search.set_params(refit=False).fit(X, 1 - y)
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "generators_")


@pytest.mark.slow
def test_a_class_with_fewer_rows_than_folds_is_refused():
    X, y = rings()
    labels = np.where(np.arange(len(y)) < 2, "rare", "common").astype(object)
    labels[10:40] = "other"
    with pytest.raises(ValueError, match=r"'rare'.* has 2 rows, fewer than the 3 folds: lower cv, or leave out"):
        grid_search(DENSE, psis=PSIS).fit(X, labels)
    search = grid_search(DENSE, psis=PSIS, cv=2).fit(X, labels)
    assert list(search.classes_) == ["common", "other", "rare"]


@pytest.mark.parametrize(
    "folds",
    [KFold(2), [(np.arange(60), np.arange(60, 80)), (np.arange(40), np.arange(40, 80))]],
    ids=["KFold", "list"],
)
def test_folds_that_lack_a_class_in_training_are_refused(folds):
    X, y = rings()
    order = np.argsort(y)
    number = 0 if isinstance(folds, KFold) else 1
    with pytest.raises(ValueError, match=rf"training rows of fold {number} have none of class .*stratified"):
        grid_search(DENSE, psis=PSIS, cv=folds).fit(X[order], y[order])


@pytest.mark.parametrize("name", ["psis", "Cs"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "must be a list of numbers"),
        ([[0.1, 0.2]], "must be a list of numbers"),
        ("many", "must be .*number.*got 'many'"),
        (None, "must be a number, got None"),
        ([0.1, "0.2"], "must be a number, got '0.2'"),
        ([0.1, np.nan], "must be a number, got .*nan"),
        ([True], "must be a number, got True"),
        ([0.1, -1.0], "must be (at least|above) 0"),
        ([0.1, np.inf], "must be .*finite, got .*inf"),
        ({0.1: 1}, "must be a number"),
    ],
    ids=str,
)
def test_wrong_grids_are_refused(name, value, message):
    X, y = rings()
    with pytest.raises(ValueError, match=rf"{name} {message}"):
        grid_search(DENSE, **{"psis": [0.01], name: value}).fit(X, y)


@pytest.mark.slow
def test_c_of_zero_is_refused_and_psi_of_zero_is_not():
    X, y = rings()
    with pytest.raises(ValueError, match=r"Cs must be above 0.*, got 0"):
        grid_search(DENSE, psis=[0.01], Cs=[1, 0]).fit(X, y)
    search = grid_search(OAVI(max_degree=2, solver="agd", boost="ihb"), psis=[0.0, 0.01]).fit(X, y)
    assert search.best_params_["psi"] == 0.01


def test_an_infinite_c_is_refused_without_nonsense_about_minus_infinity():
    X, y = rings()
    with pytest.raises(ValueError, match="Cs") as caught:
        grid_search(DENSE, psis=[0.01], Cs=[np.inf]).fit(X, y)
    assert "-inf" not in str(caught.value)


@pytest.mark.parametrize(
    "kind",
    [tuple, np.array, pd.Series, lambda values: values[0]],
    ids=["tuple", "array", "series", "number"],
)
def test_grids_may_be_any_kind_of_list_or_one_number(kind):
    X, y = rings()
    search = grid_search(DENSE, psis=kind([0.01, 0.001]), Cs=kind([1, 2])).fit(X, y)
    assert len(search.cv_results_["params"]) == np.size(search.psis) * np.size(search.Cs)
    assert type(search.best_params_["psi"]) is type(search.best_params_["C"]) is float


@pytest.mark.parametrize(
    ("cv", "message"), [("three", "cv"), (0.5, "cv"), (1, "n_splits=2 or more"), (0, "n_splits=2 or more")]
)
def test_wrong_folds_are_refused(cv, message):
    X, y = rings()
    with pytest.raises(ValueError, match=message):
        grid_search(DENSE, psis=[0.01], cv=cv).fit(X, y)


def test_no_folds_at_all_are_refused_as_such():
    X, y = rings()
    with pytest.raises(ValueError, match=r"cv|fold.*at least"):
        grid_search(DENSE, psis=[0.01], cv=[]).fit(X, y)


def test_a_fold_without_test_rows_is_refused_as_such():
    X, y = rings()
    with pytest.raises(ValueError, match="fold 0"):
        grid_search(DENSE, psis=[0.01], cv=[(np.arange(80), np.arange(0))]).fit(X, y)


def test_wrong_scores_are_refused():
    X, y = rings()
    with pytest.raises(ValueError, match="scoring"):
        grid_search(DENSE, psis=[0.01], scoring="goodness").fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        grid_search(DENSE, psis=[0.01], scoring="neg_log_loss", final_estimator=LinearSVC()).fit(X, y)


@pytest.mark.parametrize("name", ["refit"])
def test_flags_of_the_search_must_be_true_or_false(name):
    X, y = rings()
    with pytest.raises(ValueError, match=f"{name} must be True or False, got 1"):
        grid_search(**{name: 1}).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [DENSE, OAVI(), VCA()], ids=["OAVI-cg", "OAVI-bpcg", "VCA"])
def test_the_number_of_threads_does_not_change_a_bit_of_the_search(estimator):
    X, y = rings(3, n=3000)
    search = grid_search(estimator, psis=[0.05, 0.005], Cs=CS, scoring=decision_sum)
    one, two = (clone(search).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    for name, column in one.cv_results_.items():
        assert np.array_equal(column, two.cv_results_[name]), name
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def decision_sum(model, X, y):
    """A score that changes with every bit of the model."""
    return float(np.sum(model.decision_function(X)[np.arange(len(y)), y]))


@pytest.mark.slow
def test_progress_is_shown_on_the_standard_error(capsys):
    X, y = rings()
    with show_progress():
        grid_search(DENSE, psis=PSIS, refit=False).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "psi x fold" in err
    assert "6/6" in err
    assert "pass 2" not in err  # after the first, which reads the rows, there are hundreds
    with show_progress():
        VanishingIdealClassifier(DENSE).fit(X, y)
    assert "pass 1" in capsys.readouterr().err
    grid_search(DENSE, psis=PSIS).fit(X, y)
    assert capsys.readouterr().err == ""


def test_a_search_that_stops_early_ends_at_100_percent(capsys):
    pytest.importorskip("tqdm")
    with show_progress(), search_progress(10, passes=True) as progress:
        progress.advance(3)
    assert "100%" in capsys.readouterr().err.splitlines()[-1]
    with suppress(ValueError), show_progress(), search_progress(10, passes=True) as progress:
        progress.advance(3)
        raise ValueError("a search that failed")
    assert "30%" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_progress_without_tqdm_names_the_extra(monkeypatch):
    X, y = rings()
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"pip install 'vanishing\[progress\]'"), show_progress():
        grid_search(DENSE, psis=PSIS).fit(X, y)
    assert grid_search(DENSE, psis=PSIS).fit(X, y).best_score_ > 0.8


def test_filters_of_warnings_are_as_before_after_a_fit_with_threads(monkeypatch):
    """Thread 1 starts its SVM when thread 0 is in its own, and ends it when thread 0 has left."""
    X, y = unit_rings()
    original, fitted_by = fitting.svms_along, fitting.FeatureMap.fitted_by
    number, lock, mine = itertools.count(), threading.Lock(), threading.local()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def before_svm(*arguments, **options):
        with lock:
            mine.number = next(number)
        if mine.number == 1:
            assert first_in.wait(60)
        return fitted_by(*arguments, **options)

    def svm(*arguments, **options):
        (first_in if mine.number == 0 else second_in).set()
        assert (second_in if mine.number == 0 else first_out).wait(60)
        return original(*arguments, **options)

    def score(model, X, y):
        first_out.set()
        return model.score(X, y)

    monkeypatch.setattr(fitting, "svms_along", svm)
    monkeypatch.setattr(fitting.FeatureMap, "fitted_by", before_svm)
    before = list(warnings.filters)
    grid_search(DENSE, psis=[0.003], cv=2, scale_input=False, n_jobs=2, refit=False, scoring=score).fit(X, y)
    assert warnings.filters == before


@pytest.mark.slow
def test_pickle_and_clone_keep_the_search():
    X, y = rings()
    search = grid_search(DENSE, psis=PSIS, Cs=CS).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))
    assert again.best_params_ == search.best_params_
    fresh = clone(search)
    assert not hasattr(fresh, "cv_results_")
    np.testing.assert_array_equal(fresh.fit(X, y).decision_function(X), search.decision_function(X))


@pytest.mark.slow
def test_grid_search_in_processes_over_the_classifier():
    X, y = rings()
    grid = {"estimator__psi": [0.1, 0.003]}
    search = GridSearchCV(VanishingIdealClassifier(DENSE), grid, cv=2, n_jobs=2).fit(X, y)
    alone = GridSearchCV(VanishingIdealClassifier(DENSE), grid, cv=2).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    assert search.best_score_ > 0.8


@pytest.mark.slow
def test_the_defaults_tell_rings_apart():
    X, y = rings(3, noise=0.05)
    fresh, labels = rings(3, noise=0.05, seed=1)
    search = grid_search().fit(X[:, :2], y)
    assert search.score(fresh[:, :2], labels) > 0.95
    assert isinstance(search.best_estimator_.estimator, OAVI)
    assert VanishingIdealClassifier().fit(X[:, :2], y).score(fresh[:, :2], labels) > 0.9
