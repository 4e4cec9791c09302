"""Effects of columns and contributions to decisions, against brute force: sklearn's partial dependence, all orders."""

from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.inspection import partial_dependence

from vanishing import ABM, OAVI, VCA, VanishingIdealClassifier, VanishingIdealClassifierCV, load

COLUMNS = {
    "generators": {"features": "both"},
    "absolute": {"features": "absolute", "append_input": False},
    "hinges": {"features": "both", "hinges": 4},
    "products": {"monomials": 2},
}


def rows(n_classes=2, n=240, seed=0):
    """Three columns, the last one of few values, whose classes need products."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.gamma(1.0, 3.0, n), rng.integers(0, 3, n)])
    score = X[:, 0] * (X[:, 2] - 1.0) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.linspace(0.0, 1.0, n_classes + 1)[1:-1]), score)


def decisions(model, X):
    """Decisions, one column for each score."""
    values = model.decision_function(X)
    return values.reshape(len(X), -1)


def with_values(X, columns, values):
    filled = X.copy()
    filled[:, columns] = values
    return filled


@pytest.fixture(scope="module")
def searched():
    X, y = rows(n=400)
    return VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2).fit(X, np.array(["no", "yes"])[y]), X


@pytest.mark.parametrize("scaling", [True, "arcsinh", "rank"])
@pytest.mark.parametrize("columns", COLUMNS)
def test_an_effect_is_the_partial_dependence_of_the_decision(columns, scaling):
    X, y = rows()
    clf = VanishingIdealClassifier(OAVI(0.005), scale_input=scaling, **COLUMNS[columns]).fit(X, y)
    effects = clf.effects(X)
    assert effects.mean == pytest.approx(clf.decision_function(X).mean())
    for j in range(3):
        effect = effects[f"x{j}"]
        brute = partial_dependence(
            clf, X, [j], method="brute", response_method="decision_function", custom_values={j: effect.grid}
        )
        np.testing.assert_allclose(effect.values + effects.mean, brute["average"][0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", [ABM(0.005), VCA(0.005)], ids=["ABM", "VCA"])
def test_effects_of_every_algorithm_and_several_classes_with_mixed_log_odds(estimator):
    X, y = rows(3)
    clf = VanishingIdealClassifierCV(estimator, psis=[0.01], Cs=[1.0], cv=2).fit(X, y)
    effects = clf.effects(X, pairs=0)
    assert (effects.pairs, effects[0].labels) == ((), (0, 1, 2))
    for effect in effects:
        j = int(effect.name[1:])
        brute = [decisions(clf, with_values(X, [j], value)).mean(axis=0) for value in effect.grid]
        np.testing.assert_allclose(effect.values + effects.mean, brute, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("columns", COLUMNS)
def test_a_map_is_what_two_columns_do_beyond_each(columns):
    X, y = rows()
    clf = VanishingIdealClassifier(OAVI(0.005), scale_input="arcsinh", **COLUMNS[columns]).fit(X, y)
    effects = clf.effects(X, pairs=[("x0", "x2")])
    pair = effects["x2", "x0"]

    def mean(columns, values):
        return clf.decision_function(with_values(X, columns, values)).mean()

    for a, b in [(0, 0), (3, 1), (-1, -1)]:
        u, v = pair.grids[0][a], pair.grids[1][b]
        expected = mean([0, 2], [u, v]) - mean([0], [u]) - mean([2], [v]) + effects.mean
        assert pair.values[a, b] == pytest.approx(expected, abs=1e-9)


def test_a_formula_of_two_columns_a_term_is_the_sum_of_its_curves_and_maps():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (300, 3)).astype(float)
    clf = VanishingIdealClassifier(OAVI(0.2, max_degree=1), features="signed", monomials=2, hinges=2)
    clf.fit(X, X[:, 0] * X[:, 1] - X[:, 2] > 1.0)
    names = [f"x{j}" for j in range(3)]
    effects = clf.effects(X, pairs=list(combinations(names, 2)))
    total = np.full(len(X), effects.mean)
    places = X.astype(int)
    for j, name in enumerate(names):
        np.testing.assert_array_equal(effects[name].grid, np.arange(4.0))
        total += effects[name].values[places[:, j]]
    for i, j in combinations(range(3), 2):
        total += effects[names[i], names[j]].values[places[:, i], places[:, j]]
    np.testing.assert_allclose(total, clf.decision_function(X), atol=1e-9)
    assert effects.explained[1] == pytest.approx(1.0)


def test_effects_know_the_distribution_and_come_in_order(searched):
    clf, X = searched
    effects = clf.effects(X)
    assert [e.importance for e in effects] == sorted((e.importance for e in effects), reverse=True)
    assert {e.name for e in effects} == {"x0", "x1", "x2"}
    np.testing.assert_array_equal(effects["x2"].edges, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(effects["x2"].counts, np.bincount(X[:, 2].astype(int)))
    assert effects["x0"].counts.sum() == len(X) == effects.n_rows
    assert (effects["x1"].grid[0], effects["x1"].grid[-1]) == (X[:, 1].min(), X[:, 1].max())
    assert 0.0 < effects.explained[0] <= effects.explained[1] <= 1.0
    assert effects.pairs[0].name == "x0 & x2"
    assert "x0 & x2" in str(effects)


def test_effects_of_many_rows_are_those_of_a_sample(searched):
    clf, X = searched
    many = np.tile(X, (30, 1))
    effects, few = clf.effects(many, pairs=0), clf.effects(X, pairs=0)
    assert effects.n_rows == 5000
    deviation = clf.decision_function(X).std()
    for name in ("x0", "x1", "x2"):
        curve = np.interp(effects[name].grid, few[name].grid, few[name].values)
        assert np.abs(curve - effects[name].values).max() < 4.0 * deviation / np.sqrt(5000)


def test_what_effects_refuse(searched):
    clf, X = searched
    with pytest.raises(ValueError, match="pairs must"):
        clf.effects(X, pairs="all")
    with pytest.raises(ValueError, match="two different columns"):
        clf.effects(X, pairs=[("x0", "x9")])
    with pytest.raises(KeyError, match="There is no column 'x9'"):
        clf.effects(X)["x9"]
    with pytest.raises(ValueError, match="NaN"):
        clf.effects(with_values(X, [0], np.nan))


# --- explanations of rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["term", "column"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_of_every_row_sum_to_its_decision(by, n_classes):
    pytest.importorskip("pandas")
    X, y = rows(n_classes)
    clf = VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2).fit(X, y)
    expected = decisions(clf, X[:20])
    table = clf.explain(X[:20], by=by)
    np.testing.assert_allclose(table.sum(axis=1), expected.max(axis=1) if n_classes > 2 else expected[:, 0])
    if n_classes > 2:
        np.testing.assert_allclose(clf.explain(X[:20], 1, by=by).sum(axis=1), expected[:, 1])
    one = clf.explain(X[3], by=by)
    assert one.intercept + sum(value for _, value in one.contributions) == pytest.approx(table.iloc[3].sum())
    assert sorted(value for _, value in one.contributions) == pytest.approx(sorted(table.iloc[3, 1:]))


def test_columns_share_by_shapleys_rule():
    """Against all orders of the columns, for terms of up to three columns."""
    X, y = rows()
    clf = VanishingIdealClassifier(OAVI(0.005), features="both", monomials=2).fit(X, y)
    start = X[7]
    shares = np.zeros(3)
    for order in permutations(range(3)):
        row = start.copy()
        for j in order:
            before = clf.decision_function(row[None, :])[0]
            row[j] = X[3, j]
            shares[j] += (clf.decision_function(row[None, :])[0] - before) / 6.0
    found = clf.explain(X[3], by="column", reference=start)
    assert found.intercept == pytest.approx(clf.decision_function(start[None, :])[0])
    by_name = {text.split(" = ")[0]: value for text, value in found.contributions}
    np.testing.assert_allclose([by_name[f"x{j}"] for j in range(3)], shares, rtol=0.1)


def test_the_decision_about_two_classes_is_towards_the_second(searched):
    clf, X = searched
    assert clf.explain(X[0], towards="yes").decision == clf.explain(X[0]).decision
    for other in ("no", "maybe"):
        with pytest.raises(ValueError, match="towards must be 'yes', the second of two classes"):
            clf.explain(X[0], towards=other)


def test_columns_of_one_thing_are_explained_together_and_after_loading(searched, tmp_path):
    clf, X = searched
    clf.save(tmp_path / "model.vi")
    again = load(tmp_path / "model.vi")
    table = clf.explain(X[:5], by="column", groups={"first two": [0, 1]})
    assert list(table) == ["intercept", "first two", "x2"]
    assert again.explain(X[:5], by="column", groups={"first two": [0, 1]}).equals(table)
    assert str(again) == str(clf)


def test_what_explanations_refuse(searched):
    clf, X = searched
    with pytest.raises(ValueError, match="by must be one of 'term', 'column'"):
        clf.explain(X[0], by="row")
    with pytest.raises(ValueError, match="groups must"):
        clf.explain(X[0], by="column", groups={"a": [0, 3]})
    with pytest.raises(ValueError, match="reference must be one row"):
        clf.explain(X[0], by="column", reference=X[:2])
