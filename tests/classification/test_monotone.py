"""Columns with which the decision may only rise, or only fall."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC

import vanishing
from vanishing import L1SVC, OAVI, VCA, Columns, VanishingIdealClassifier, VanishingIdealClassifierCV
from vanishing.exports import to_numpy_source, to_sql

DIRECTIONS = {"late_payments": 1, "tenure": -1}


def churn_table(n_rows=1500, seed=0):
    """Customers who leave ("yes") after late payments, up to four of them, and rarely after a long tenure."""
    rng = np.random.default_rng(seed)
    late, tenure = rng.poisson(2.0, n_rows).astype(float), rng.gamma(2.0, 2.0, n_rows)
    price, calls = rng.uniform(10.0, 100.0, n_rows), rng.normal(5.0, 2.0, n_rows)
    log_odds = 0.9 * np.minimum(late, 4.0) - 0.3 * tenure + ((price - 55.0) / 25.0) ** 2 - 2.0
    log_odds += 0.02 * (calls - 5.0) * (price - 55.0)
    table = pd.DataFrame({"late_payments": late, "tenure": tenure, "price": price, "calls": calls})
    return table, np.where(rng.uniform(size=n_rows) < 1.0 / (1.0 + np.exp(-log_odds)), "yes", "no")


TABLE, LABELS = churn_table()


def changes(model, name, seed=0):
    """The least and the largest change of the decision about random rows, also far outside, as a column rises."""
    rng = np.random.default_rng(seed)
    low, high = TABLE.min(), TABLE.max()
    rows = pd.DataFrame(rng.uniform(2 * low - high, 2 * high - low, (3000, TABLE.shape[1])), columns=TABLE.columns)
    rows.iloc[:1500] = TABLE
    higher = rows.copy()
    higher[name] += rng.exponential((high - low)[name] / 5.0, len(rows))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "", UserWarning)  # rows are outside of the training range on purpose
        change = model.decision_function(higher) - model.decision_function(rows)
    return float(change.min()), float(change.max())


@pytest.fixture(scope="module")
def search():
    return VanishingIdealClassifierCV(columns=Columns(monotone=DIRECTIONS).richer(3)).fit(TABLE, LABELS)


def check_monotone(model, directions=DIRECTIONS):
    """The formula proves the directions, and random rows agree."""
    assert directions.items() <= model.monotone_.items()
    for name in directions:
        worst, best = changes(model, name)
        assert (worst if directions[name] > 0 else -best) >= -1e-12


def test_without_directions_the_formula_turns():
    model = VanishingIdealClassifierCV().fit(TABLE, LABELS)
    assert not DIRECTIONS.keys() & model.monotone_.keys()
    assert changes(model, "late_payments")[0] < -0.1
    assert changes(model, "tenure")[1] > 0.1


def test_searched_formulas_are_monotone_and_almost_as_good(search):
    check_monotone(search)
    assert search.best_estimator_.monotone == DIRECTIONS
    assert search.best_estimator_.n_columns_ > 3, "columns that are free have generators"
    table, labels = churn_table(3000, seed=1)
    free = VanishingIdealClassifierCV().fit(TABLE, LABELS)
    assert search.score(table, labels) > free.score(table, labels) - 0.015


def test_every_term_with_the_column_is_the_column_or_a_hinge_with_the_sign():
    model = VanishingIdealClassifier(OAVI(0.003), features="both", hinges=4, monomials=2, monotone=DIRECTIONS)
    model.fit(TABLE, LABELS)
    check_monotone(model)
    names = model.get_feature_names_out()
    weights = model.final_estimator_.coef_[0]
    for column, sign in DIRECTIONS.items():
        own = [column in name for name in names]
        pattern = rf"(max\(0, )?{column}( - [\d.e-]+\))?"
        assert all(re.fullmatch(pattern, name) for name in names[own])
        assert np.abs(weights[own]).max() > 0
        assert (sign * weights[own] >= 0.0).all()
    free = [name for name in names if "price" in name]
    assert any("price*calls" in name or "calls*price" in name for name in free)
    assert any(name.startswith("|") for name in free)


@pytest.mark.parametrize(
    "options",
    [
        {"scale_input": True},
        {"scale_input": "minmax"},
        {"scale_input": "rank", "features": "signed"},
        {"scale_input": "arcsinh", "halves": True, "scale_features": False},
        {"append_input": False, "hinges": 3},
        {"estimator": VCA(0.01), "features": "both"},
        {"class_weight": "balanced", "monomials": 2},
    ],
    ids=str,
)
def test_every_option_keeps_the_directions(options):
    model = VanishingIdealClassifier(**{"estimator": OAVI(0.01), "monotone": DIRECTIONS, **options})
    model.fit(TABLE, LABELS)
    for name in DIRECTIONS:
        worst, best = changes(model, name)
        assert (worst if DIRECTIONS[name] > 0 else -best) >= -1e-12
        assert model.monotone_.get(name, DIRECTIONS[name]) == DIRECTIONS[name]


@pytest.mark.parametrize(
    "options",
    [
        {"refit": "1se"},
        {"max_columns": 4},
        {"psis": [0.01], "Cs": [0.1, 1.0]},
        {"final_estimator": L1SVC()},
        {"search_rows": 500},
        {"scale_input": True, "psis": [0.01], "Cs": [1.0], "search_rows": None},
    ],
    ids=str,
)
def test_every_search_keeps_the_directions(options):
    check_monotone(VanishingIdealClassifierCV(columns=Columns(monotone=DIRECTIONS), **options).fit(TABLE, LABELS))


def test_every_model_of_an_average_is_monotone():
    search = VanishingIdealClassifierCV(columns=Columns(monotone=DIRECTIONS), refit="average").fit(TABLE, LABELS)
    for model in search.estimators_:
        assert DIRECTIONS.items() <= model.monotone_.items()


def test_with_a_direction_for_every_column_the_inputs_are_left():
    every = {"late_payments": 1, "tenure": -1, "price": 1, "calls": 1}
    for model in (
        VanishingIdealClassifier(OAVI(0.01), monotone=every),
        VanishingIdealClassifierCV(columns=Columns(monotone=every)),
    ):
        model.fit(TABLE, LABELS)
        assert model.monotone_.items() <= every.items()
        assert "late_payments" in str(model)


def test_columns_by_place_and_by_name_and_in_an_array_are_the_same():
    by_name = VanishingIdealClassifier(OAVI(0.01), monotone=DIRECTIONS).fit(TABLE, LABELS)
    for table, directions in ((TABLE, {0: 1, 1: -1}), (TABLE.to_numpy(), {0: 1, "x1": -1})):
        model = VanishingIdealClassifier(OAVI(0.01), monotone=directions).fit(table, LABELS)
        assert np.array_equal(model.final_estimator_.coef_, by_name.final_estimator_.coef_)


@pytest.mark.parametrize("search_rows", [None, 500])
def test_files_keep_the_directions(search_rows, tmp_path):
    TABLE.assign(left=LABELS).to_csv(tmp_path / "churn.csv", index=False)
    rows = vanishing.open_rows(tmp_path / "churn.csv", label="left")
    columns = Columns(hinges=2, monotone=DIRECTIONS)
    check_monotone(VanishingIdealClassifier(OAVI(0.01), hinges=2, monotone=DIRECTIONS).fit(rows))
    options = {"psis": [0.01], "Cs": [0.1, 1.0], "search_rows": search_rows}
    search = VanishingIdealClassifierCV(columns=columns, **options).fit(rows)
    check_monotone(search)


def test_saved_models_keep_the_directions(search, tmp_path):
    search.save(tmp_path / "search.vi")
    again = vanishing.load(tmp_path / "search.vi")
    assert again.best_columns_ == search.best_columns_
    assert again.best_columns_.monotone == DIRECTIONS
    assert again.monotone_ == search.monotone_
    assert np.array_equal(again.decision_function(TABLE), search.decision_function(TABLE))
    by_place = VanishingIdealClassifier(OAVI(0.01), monotone={0: 1}).fit(TABLE, LABELS)
    by_place.save(tmp_path / "plain.vi")
    assert vanishing.load(tmp_path / "plain.vi").monotone == {0: 1}


def test_what_models_say_is_what_they_decide(search):
    row = TABLE.iloc[[0]]
    decision = float(search.decision_function(row)[0])
    assert decision == pytest.approx(float(search.to_sympy().subs(dict(row.iloc[0]))), abs=1e-9)
    assert "late_payments" in str(search.explain(row.to_numpy()[0]))
    curve = search.effects(TABLE)["late_payments"].values
    assert (np.diff(curve) >= -1e-12).all()


def test_exports_decide_like_the_model(search):
    source = {}
    exec(to_numpy_source(search), source)
    scores = source["predict"](TABLE.to_numpy())["scores"]
    np.testing.assert_allclose(scores[:, 0], search.decision_function(TABLE), rtol=1e-9, atol=1e-9)
    assert "late_payments" in to_sql(search, table="customers")


def test_clones_have_the_directions(search):
    again = clone(search)
    assert again.get_params()["columns"] == search.columns
    assert clone(VanishingIdealClassifier(monotone=DIRECTIONS)).monotone == DIRECTIONS


def test_columns_with_directions_can_be_keys():
    one, other = Columns(monotone={"a": 1}), Columns(monotone={"a": -1})
    assert one != other
    assert {one: 1, other: 2}[Columns(monotone={"a": 1})] == 1


@pytest.mark.parametrize(
    ("monotone", "said"),
    [
        ({"late": 1}, "monotone names the column 'late', but the columns are ['late_payments',"),
        ({4: 1}, "monotone names the column 4,"),
        ({True: 1}, "monotone names the column True,"),
        ({"tenure": 2}, "monotone of 'tenure' must be 1 (rises) or -1 (falls); got 2."),
        ({"tenure": "up"}, "got 'up'."),
        ({"tenure": True}, "got True."),
        ({"tenure": np.array([1, 2])}, "must be 1 (rises) or -1 (falls)"),
        ({"tenure": -1, 1: 1}, "monotone says of 'tenure' that it rises and that it falls."),
        (["tenure"], "monotone must be None or a dict such as {'age': 1}; got ['tenure']."),
    ],
    ids=str,
)
def test_wrong_directions_are_refused_in_one_sentence(monotone, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        VanishingIdealClassifier(monotone=monotone).fit(TABLE, LABELS)
    with pytest.raises(ValueError, match=re.escape(said)):
        VanishingIdealClassifierCV(columns=Columns(monotone=monotone)).fit(TABLE, LABELS)


def test_what_cannot_be_monotone_is_refused():
    three = np.arange(len(TABLE)) % 3
    columns = Columns(monotone=DIRECTIONS)
    for model in (VanishingIdealClassifier(monotone=DIRECTIONS), VanishingIdealClassifierCV(columns=columns)):
        with pytest.raises(ValueError, match=r"which the second rises or falls; got 3\."):
            model.fit(TABLE, three)
        with pytest.raises(ValueError, match="monotone needs the built-in SVM, final_estimator=None; got LinearSVC"):
            clone(model).set_params(final_estimator=LinearSVC()).fit(TABLE, LABELS)
    with pytest.raises(ValueError, match="All Columns of a list must have the same monotone"):
        VanishingIdealClassifierCV(columns=[columns, Columns(hinges=5)]).fit(TABLE, LABELS)
    with pytest.raises(AttributeError, match="Only formulas of two classes have directions"):
        _ = VanishingIdealClassifier(OAVI(0.01)).fit(TABLE, three).monotone_
