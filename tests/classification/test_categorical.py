"""Columns of 0 and 1, and columns that never change: what vanishes on every class must not decide."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from searches import grid_search
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from vanishing import (
    ABM,
    AVI,
    OAVI,
    VCA,
    TableEncoder,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    load,
    open_rows,
    save,
)
from vanishing.exports import to_numpy_source

ESTIMATORS = [OAVI(), OAVI(1e-6), OAVI(solver="cg", boost="ihb"), ABM(), AVI(), VCA()]


def one_hot_table(n=300, seed=0):
    """Two categories, one-hot, and a number; the label depends on both."""
    rng = np.random.default_rng(seed)
    first, second, number = rng.integers(0, 4, n), rng.integers(0, 3, n), rng.uniform(size=n)
    X = np.column_stack([np.eye(4)[first], np.eye(3)[second], number])
    return X, np.where((first % 2 == 0) ^ (number > 0.7), "yes", "no")


def rows_on_disk(path, X, y):
    """The table as the rows of a file."""
    pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(label=y).to_parquet(path)
    return open_rows(path, label="label")


def without_category(X):
    """The same rows with a first category that was never seen."""
    unseen = X.copy()
    unseen[:, :4] = 0.0
    return unseen


def assert_stable(model, X):
    change = model.decision_function(X * (1.0 + 1e-12)) - model.decision_function(X)
    assert np.abs(change).max() < 1e-6


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("scale_features", [True, False])
def test_one_hot_columns_give_no_large_weights(estimator, scale_features):
    X, y = one_hot_table()
    model = VanishingIdealClassifier(estimator, scale_features=scale_features).fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.abs(model.generators_.weights).max() < 1e5
    assert np.abs(model.decision_function(without_category(X))).max() < 1e5
    assert_stable(model, X)
    assert_stable(model, without_category(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_generators_that_are_exact_on_every_class_are_marked_and_have_no_weight(n_classes):
    X, _ = one_hot_table()
    y = np.arange(len(X)) % n_classes
    X[:, -1] = 0.5 * X[:, -1] + 0.2 * y
    model = VanishingIdealClassifier(OAVI(1e-4)).fit(X, y)
    exact = [generator for generator in model.generators_ if generator.exact]
    assert "x0^2 - x0" in {str(generator.polynomial) for generator in exact}
    for generator in exact:
        assert np.abs(generator.polynomial.evaluate(X)).max() < 1e-12
        assert not np.any(generator.weight)
    others = [generator for generator in model.generators_ if not generator.exact]
    assert min(np.abs(generator.polynomial.evaluate(X)).max() for generator in others) > 1e-3
    assert f"{len(exact)} generators vanish exactly on every class" in str(model.generators_)


def test_without_weights_the_printed_list_still_says_which_generators_are_exact():
    X, y = one_hot_table()
    model = VanishingIdealClassifier(final_estimator=LogisticRegression(), scale_features=False).fit(X, y)
    plain = str(model.generators_)
    model.generators_.weights = None
    assert "generators vanish exactly on every class" in plain
    assert "generators vanish exactly on every class" in str(model.generators_)
    assert "(class no)" in str(model.generators_)


def test_columns_without_information_are_zero_for_the_last_step():
    X, y = one_hot_table()
    model = VanishingIdealClassifier().fit(X, y)
    left_out = np.append(model.generators_.exact, np.zeros(X.shape[1], dtype=bool))
    assert left_out.any()
    columns = model.transform(without_category(X))
    np.testing.assert_array_equal(columns[:, left_out], 0.0)
    np.testing.assert_allclose(model.transform(X)[:, ~left_out].std(axis=0), 1.0, atol=1e-9)


@pytest.mark.parametrize("scale_input", [True, False])
@pytest.mark.parametrize("scale_features", [True, False])
def test_columns_that_never_change_have_no_weight(scale_input, scale_features):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(200, 2)), np.full(200, 0.3), np.full(200, 0.1 + 0.2)])
    X[::2, 3] = 0.3  # 0.1 + 0.2, up to rounding
    y = X[:, 0] > X[:, 1]
    model = VanishingIdealClassifier(scale_input=scale_input, scale_features=scale_features).fit(X, y)
    np.testing.assert_array_equal(model.linear_coef_[:, 2:], 0.0)
    assert_stable(model, X)
    elsewhere = X + np.array([0.0, 0.0, 0.5, 0.5])
    assert np.abs(model.decision_function(elsewhere)).max() < 1e4


def test_columns_that_are_constant_within_each_class_separate():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = np.column_stack([rng.uniform(size=180), y == 1, y / 2.0])
    model = VanishingIdealClassifier().fit(X, y)
    assert model.score(X, y) == 1.0
    assert_stable(model, X)


def test_weights_of_rows_do_not_bring_the_noise_back():
    X, y = one_hot_table()
    weights = np.random.default_rng(1).uniform(0.1, 3.0, len(X))
    model = VanishingIdealClassifier().fit(X, y, sample_weight=weights)
    assert np.abs(model.generators_.weights).max() < 1e5
    assert_stable(model, X)


@pytest.mark.slow
@pytest.mark.parametrize("scale_features", [True, False])
def test_rows_of_a_file_leave_out_the_same_columns(tmp_path, scale_features):
    X, y = one_hot_table()
    rows = rows_on_disk(tmp_path / "rows.parquet", X, y)
    here, there = (VanishingIdealClassifier(scale_features=scale_features) for _ in range(2))
    here.fit(X, y)
    there.fit(rows)
    np.testing.assert_array_equal(there.generators_.exact, here.generators_.exact)
    assert there.generators_.exact.any()
    np.testing.assert_allclose(there.decision_function(rows), here.decision_function(X), atol=1e-3)
    table = pd.DataFrame(X, columns=there.feature_names_in_)
    assert_stable(there, table)


@pytest.mark.slow
def test_a_search_on_one_hot_columns_is_stable_in_memory_and_on_disk(tmp_path):
    X, y = one_hot_table(150)
    grid = {"psis": [0.05, 0.01], "Cs": [0.1, 1.0]}
    here = grid_search(**grid).fit(X, y)
    there = grid_search(**grid).fit(rows_on_disk(tmp_path / "rows.parquet", X, y))
    names = there.feature_names_in_
    for search, table in ((here, np.asarray), (there, lambda X: pd.DataFrame(X, columns=names))):
        assert search.best_score_ > 0.85
        assert_stable(search, table(X))
        assert np.abs(search.decision_function(table(without_category(X)))).max() < 1e5


@pytest.mark.slow
def test_scores_of_a_search_do_not_depend_on_rounding():
    """The held-out rows contain a category that the training rows of their fold lack."""
    X, y = one_hot_table(120)
    rare = np.zeros((4, 1))
    X = np.vstack([np.column_stack([X, np.zeros(120)]), np.column_stack([X[:4], rare + 1.0])])
    y = np.append(y, y[:4])
    folds = [(np.arange(120), np.arange(100, 124)), (np.arange(4, 124), np.arange(4))]
    scores = [
        grid_search(psis=[0.01], Cs=[1.0], cv=folds).fit(X * factor, y).cv_results_["mean_test_score"]
        for factor in (1.0, 1.0 + 1e-12, 1.0 - 3e-13)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


@pytest.mark.parametrize("model", [VanishingIdealClassifier(), grid_search(psis=[0.01], Cs=[1.0])])
def test_a_pipeline_from_categories_predicts_unseen_ones(model):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 200),
            "shape": rng.choice(["o", "x"], 200),
            "size": rng.random(200),
        }
    )
    y = (table["colour"] == "red") ^ (table["size"] > 0.6)
    encode = ColumnTransformer(
        [("text", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["colour", "shape"])],
        remainder="passthrough",
    )
    pipeline = make_pipeline(encode, model).fit(table, y)
    assert pipeline.score(table, y) > 0.95
    unseen = table.assign(colour="violet")
    decisions = pipeline.decision_function(unseen)
    assert np.abs(decisions).max() < 1e4
    moved = pipeline.decision_function(unseen.assign(size=unseen["size"] * (1.0 + 1e-12)))
    np.testing.assert_allclose(moved, decisions, atol=1e-6)


@pytest.mark.slow
def test_a_table_with_categories_and_gaps_needs_two_lines():
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], 150), rng.normal(size=150)
    y = np.where((colour == "red") ^ (size > 0.3), "yes", "no")
    table = pd.DataFrame({"colour": colour, "size": np.where(rng.random(150) < 0.1, np.nan, size), "new": size > 1.0})
    encoder = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer(
        (encoder, make_column_selector(dtype_exclude="number")),
        remainder=SimpleImputer(strategy="median", add_indicator=True),
        sparse_threshold=1.0,
    )
    clf = make_pipeline(columns, VanishingIdealClassifierCV(cv=2, n_jobs=1)).fit(table, y)
    assert issparse(clf[:-1].transform(table))
    assert clf.score(table, y) > 0.8
    unseen = clf.decision_function(table.assign(colour="purple"))
    assert np.abs(unseen).max() < 100.0
    generators = clf[-1].generators_
    assert all(generator.weight == 0.0 for generator in generators if generator.exact)


@pytest.mark.parametrize("kind", ["arcsinh", "rank"])
def test_an_indicator_of_gaps_is_printed_exported_and_saved_as_itself(kind, tmp_path):
    rng = np.random.default_rng(0)
    age, income = rng.uniform(20, 60, 300), np.exp(rng.normal(0, 2, 300))
    y = np.where((rng.random(300) < 0.1) | (age > 45), "yes", "no")
    table = pd.DataFrame({"age": np.where((y == "yes") & (age <= 45), np.nan, age), "income": income})
    model = grid_search(psis=[0.03], Cs=[1.0], cv=2, scale_input=kind)
    clf = make_pipeline(TableEncoder(), model).fit(table, y)
    encoded, decisions, printed = clf[0].transform(table), clf.decision_function(table), str(model)
    assert "age is missing" in printed
    assert "u_income" in printed
    assert "u_age is missing" not in printed
    scope = {}
    exec(to_numpy_source(model, "answer"), scope)
    np.testing.assert_allclose(scope["answer"](encoded.to_numpy())["scores"][:, 0], decisions, rtol=1e-9)
    save(clf, tmp_path / "model.vi")
    np.testing.assert_array_equal(load(tmp_path / "model.vi").decision_function(table), decisions)
