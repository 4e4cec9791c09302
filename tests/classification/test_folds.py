"""Folds in memory: those of scikit-learn, without rows of weight 0, and the ideals that their parts share."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold

from vanishing import OAVI
from vanishing.classification.search.in_memory import Fold, class_ideals, split
from vanishing.classification.search.strategies import Budget
from vanishing.rows.labels import read_labelled


def labelled(n_rows=60, n_classes=2, weights=None, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n_rows, 3)), np.arange(n_rows) % n_classes
    return X, y, read_labelled(X, y, weights)


def ideal_of_three_columns(**options):
    ideal = OAVI(n_jobs=1, **options)
    ideal.n_features_in_ = 3
    return ideal


def pairs(folds):
    return [(fold.train.tolist(), fold.test.tolist()) for fold in folds]


def expected(splitter, X, y):
    return [(train.tolist(), test.tolist()) for train, test in splitter.split(X, y)]


@pytest.mark.parametrize(
    ("cv", "splitter"),
    [
        ("auto", RepeatedStratifiedKFold(n_splits=3, n_repeats=3, random_state=0)),
        (4, StratifiedKFold(4)),
        (KFold(3), KFold(3)),
        (RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=1),) * 2,
        (ShuffleSplit(3, random_state=1),) * 2,
    ],
    ids=["auto", "number", "KFold", "repeated", "shuffled"],
)
def test_folds_are_those_of_scikit_learn(cv, splitter):
    X, y, data = labelled()
    folds = split(cv, data, Budget())
    assert pairs(folds) == expected(splitter, X, y)
    assert [fold.number for fold in folds] == list(range(len(folds)))


def test_a_class_of_two_rows_has_two_folds():
    X, y, _ = labelled()
    y = np.where(np.arange(60) < 2, 7, y)
    data = read_labelled(X, y)
    assert pairs(split("auto", data, Budget())) == expected(
        RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0), X, y
    )


def test_many_rows_have_one_draw_of_the_folds():
    X, y, data = labelled(Budget().rows_of_one_draw)
    assert pairs(split("auto", data, Budget())) == expected(StratifiedKFold(3, shuffle=True, random_state=0), X, y)


def test_the_budget_sets_the_number_of_folds():
    *_, data = labelled()
    assert len(split("auto", data, Budget(n_folds=5))) == 25
    assert len(split(2, data, Budget(n_folds=5))) == 2


def test_rows_without_weight_are_in_no_fold():
    weights = (np.arange(60) % 3 > 0).astype(float)
    X, y, data = labelled(weights=weights)
    used = np.flatnonzero(weights)
    alone = StratifiedKFold(3).split(X[used], y[used])
    assert pairs(split(3, data, Budget())) == [(used[train].tolist(), used[test].tolist()) for train, test in alone]
    given = split(KFold(3), data, Budget())  # the folds of a user count them, and lose them
    for fold, (train, test) in zip(given, KFold(3).split(X), strict=True):
        assert fold.train.tolist() == np.intersect1d(train, used).tolist()
        assert fold.test.tolist() == np.intersect1d(test, used).tolist()


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ("three", "cv must be 'auto', a number, a splitter or a list of folds; got 'three'"),
        (40, "Class 0 has 30 rows, fewer than the 40 folds"),
        ([], "cv gives no fold at all"),
        ([(np.arange(60), np.arange(0))], "no rows to test on in fold 0"),
        ([(np.arange(0, 60, 2), np.arange(1, 60, 2))], "training rows of fold 0 have none of class 1"),
    ],
    ids=["word", "many", "none", "empty", "class"],
)
def test_folds_that_cannot_be_are_refused(cv, message):
    *_, data = labelled()
    with pytest.raises(ValueError, match=message):
        split(cv, data, Budget())


FOLDS = {
    "three": KFold(3),
    "repeated": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    "random": ShuffleSplit(8, train_size=0.5, random_state=0),
    "overlapping": [(np.arange(60), np.arange(5)), (np.arange(30, 90), np.arange(5))],
    "drawn with repetition": [(np.random.default_rng(0).integers(0, 90, 90), np.arange(5)) for _ in range(2)],
}


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("folds", FOLDS.values(), ids=FOLDS.keys())
def test_ideals_of_shared_parts_are_those_of_the_training_rows(folds, weighted, halves):
    X, y, data = labelled(90)
    X[:, 2] = X[:, 0] * X[:, 1] + 0.02 * X[:, 2]
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 90) if weighted else None
    template, psis, chosen = ideal_of_three_columns(max_degree=2), [0.1, 0.001], y == 1
    found = class_ideals(template, psis, X, weights, chosen, split(folds, data, Budget()), halves=halves)
    for psi, by_fold in zip(psis, found, strict=True):
        for fold, (whole, *parts) in zip(split(folds, data, Budget()), by_fold, strict=True):
            assert len(parts) in ((0, 2) if halves else (0,))
            own = fold.train[chosen[fold.train]]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                alone = clone(template).set_params(psi=psi)
                alone.fit(X[own], sample_weight=None if weights is None else weights[own])
            np.testing.assert_allclose(whole.transform(X), alone.transform(X), rtol=1e-7, atol=1e-9)


def test_halves_of_the_training_rows_share_out_all_of_them():
    X, y, _ = labelled(200)
    X[:, 0] += (np.arange(200) % 4 > 1) * 3.0  # two clusters in each class
    X /= X.max(axis=0)
    fold = Fold(0, np.arange(150), np.arange(150, 200))
    ((ideals,),) = class_ideals(ideal_of_three_columns(), [0.1], X, None, y == 0, [fold], halves=True)
    whole, low, high = ideals
    own = fold.train[y[fold.train] == 0]
    for ideal, rows in ((low, own[X[own, 0] < 0.5]), (high, own[X[own, 0] > 0.5]), (whole, own)):
        alone = OAVI(0.1, n_jobs=1).fit(X[rows])
        np.testing.assert_allclose(ideal.transform(X), alone.transform(X), atol=1e-9)
