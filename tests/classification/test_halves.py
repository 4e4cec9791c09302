"""Ideals of the halves of a class: the cut, the same fits on every source, what users see, and the search."""

import warnings

import numpy as np
import pytest
from makers import LABELLED, assert_same_generators, name_of, numbers, three_classes
from rings import ALGORITHMS
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold

from vanishing import L1SVC, OAVI, Columns, PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV, load
from vanishing.classification.model.per_class import FEWEST_IN_HALF, Cut


def two_arcs(m=600, seed=0, noise=0.02):
    """A class of two arcs far from each other, and a class between them, in the unit square."""
    rng = np.random.default_rng(seed)
    y, t = np.arange(m) % 2, rng.random(m)
    left, x = rng.random(m) < 0.5, np.where(np.arange(m) % 2, 0.5, 0.0)
    x = np.where(y == 0, np.where(left, 0.1 + 0.1 * t**2, 0.9 - 0.1 * t), x + 0.2 * (t - 0.5) ** 2)
    return np.column_stack([x, t]) + rng.normal(0.0, noise, (m, 2)), y


def sides(X):
    """Which rows lie above the plane through the mean across the first principal component."""
    component = PCA(n_components=1, svd_solver="full").fit(X).components_[0]
    component = component * np.sign(component[np.argmax(np.abs(component))])
    return (X - X.mean(axis=0)) @ component > 0.0


def gram(X, weights=None):
    table = np.column_stack([np.ones(len(X)), X])
    return np.average(table[:, :, None] * table[:, None, :], axis=0, weights=weights)


@pytest.mark.parametrize("seed", range(5))
def test_the_cut_is_the_plane_across_the_first_principal_component(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 3.0
    np.testing.assert_array_equal(Cut.of(gram(X)).above(X), sides(X))


def test_the_cut_does_not_depend_on_the_order_of_the_rows_or_on_repeated_weights():
    X = two_arcs()[0]
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    cut, other = Cut.of(gram(X, weights)), Cut.of(gram(np.repeat(X, weights, axis=0)[::-1]))
    np.testing.assert_allclose(other.normal, cut.normal, atol=1e-12)
    assert other.level == pytest.approx(cut.level, abs=1e-12)


@ALGORITHMS
def test_halves_are_fitted_to_the_rows_on_either_side(estimator):
    X, y = three_classes(300)
    features = PerClass(estimator, halves=True).fit(X, y)
    for k in range(3):
        own = X[y == k]
        for half, chosen in zip(features.halves_[k], (~sides(own), sides(own)), strict=True):
            alone = clone(estimator).fit(own[chosen])
            np.testing.assert_allclose(half.transform(X), alone.transform(X), rtol=1e-6, atol=1e-9)
    whole = PerClass(estimator).fit(X, y)
    columns = [[model, *halves] for model, halves in zip(whole.estimators_, features.halves_, strict=True)]
    expected = np.abs(np.hstack([ideal.transform(X) for own in columns for ideal in own]))
    np.testing.assert_allclose(features.transform(X), expected, atol=1e-12)
    names = features.get_feature_names_out()
    assert len(names) == expected.shape[1]
    assert {name.split(":")[0] for name in names} >= {"0", "0, half 1", "0, half 2", "2, half 2"}


@pytest.mark.slow
@pytest.mark.parametrize("make", LABELLED, ids=name_of)
def test_every_source_has_the_same_halves(make, tmp_path):
    X, y = three_classes()
    expected = PerClass(OAVI(1e-3, max_degree=3), halves=True).fit(X, y)
    source, labels = make(X, y, tmp_path)
    fitted = PerClass(OAVI(1e-3, max_degree=3), halves=True).fit(source, labels)
    for own, others in zip(fitted.halves_, expected.halves_, strict=True):
        assert len(own) == len(others) == 2
        for half, other in zip(own, others, strict=True):
            assert_same_generators(half.generators_, other.generators_)
    np.testing.assert_allclose(numbers(fitted.transform(source)), expected.transform(X), atol=1e-6)


def test_a_class_with_few_rows_in_a_half_stays_whole():
    X, y = two_arcs(400)
    few = np.flatnonzero(y == 1)[: 2 * FEWEST_IN_HALF - 1]
    rows = np.r_[np.flatnonzero(y == 0), few]
    features = PerClass(OAVI(0.001), halves=True).fit(np.clip(X[rows], 0, 1), y[rows])
    assert [len(own) for own in features.halves_] == [2, 0]
    clf = VanishingIdealClassifier(OAVI(0.001), halves=True).fit(X[rows], y[rows])
    assert clf.generators_[-1].half == 0
    np.testing.assert_array_equal(np.unique([g.half for g in clf.generators_ if g.label == 0]), [0, 1, 2])
    single = np.r_[rows[:100], few[:1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = VanishingIdealClassifier(OAVI(0.001), halves=True).fit(X[single], y[single])
    assert [len(own) for own in clf.ideals_.halves_] == [2, 0]


def test_constant_classes_are_not_cut():
    X = np.repeat([[0.2, 0.3], [0.7, 0.3]], 50, axis=0)
    features = PerClass(OAVI(0.001), halves=True).fit(X, np.repeat([0, 1], 50))
    assert features.halves_ == [[], []]


def test_rows_without_weight_are_no_half():
    X = np.repeat([[0.2, 0.2], [0.8, 0.2]], 50, axis=0)
    features = PerClass(OAVI(0.001), halves=True).fit(X, np.zeros(100), np.repeat([1.0, 0.0], 50))
    assert features.halves_ == [[]]


def test_halves_tell_stripes_apart_that_whole_classes_do_not():
    rng = np.random.default_rng(0)
    y, stripe = rng.integers(0, 2, 800), rng.integers(0, 2, 800)
    X = np.column_stack([0.1 + 0.25 * (2 * stripe + y) + rng.normal(0, 0.02, 800), 0.3 * rng.random(800)])
    model = VanishingIdealClassifier(OAVI(psi=0.01, max_degree=1), scale_input=False, C=10.0)
    whole, halves = (clone(model).set_params(halves=halves).fit(X[:400], y[:400]) for halves in (False, True))
    assert whole.score(X[400:], y[400:]) < 0.8
    assert halves.score(X[400:], y[400:]) > 0.98


@pytest.mark.parametrize("scale_input", [True, "minmax"])
def test_scores_are_those_of_grid_search(scale_input):
    X, y = two_arcs(240, noise=0.1)
    rare = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:70]]  # cut in some training sets only
    X, y = X[np.sort(rare)], y[np.sort(rare)]
    if scale_input == "minmax":  # our search scales once for all folds
        X, scale_input = (X - X.min(axis=0)) / np.ptp(X, axis=0), False
    ours = VanishingIdealClassifierCV(
        final_estimator=L1SVC(),
        scale_input=scale_input,
        columns=Columns(halves=True),
        psis=[0.01, 0.001],
        Cs=[0.1, 1.0],
        cv=KFold(3),
        n_jobs=1,
    ).fit(X, y)
    grid = {"estimator__psi": [0.01, 0.001], "C": [0.1, 1.0]}
    model = VanishingIdealClassifier(OAVI(), scale_input=scale_input, features="both", halves=True, n_jobs=1)
    theirs = GridSearchCV(model, grid, cv=KFold(3), scoring="accuracy").fit(X, y)
    by_pair = {(p["estimator__psi"], p["C"]): k for k, p in enumerate(theirs.cv_results_["params"])}
    order = [by_pair[pair["psi"], pair["C"]] for pair in ours.cv_results_["params"]]
    expected = theirs.cv_results_["mean_test_score"][order]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], expected, atol=1e-12)
    best = ours.best_estimator_
    assert best.halves is True
    assert {len(own) for own in best.ideals_.halves_} == {2}


WITH_HALVES = [Columns(), Columns(halves=True)]


@pytest.fixture(scope="module")
def searched():
    """A search that takes halves: two classes of two bent pieces each, with noise in their labels."""
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    inside = np.abs(X[:, 1] - 0.5 - 0.35 * np.sin(9.0 * X[:, 0])) < 0.12
    y = np.where(inside ^ (rng.random(len(X)) < 0.05), "in", "out")
    return X, y, VanishingIdealClassifierCV(columns=WITH_HALVES, scale_input="minmax", n_jobs=1).fit(X, y)


def test_a_search_takes_halves_where_they_pay(searched):
    X, y, search = searched
    assert search.best_estimator_.halves is True
    assert search.best_columns_ == Columns(halves=True)
    assert search.cv_results_["param_psi"][-1] == search.best_params_["psi"]
    without = VanishingIdealClassifierCV(columns=Columns(), scale_input="minmax", n_jobs=1).fit(X, y)
    assert without.best_estimator_.halves is False
    assert search.best_score_ > without.best_score_
    assert accuracy_score(y, search.predict(X)) > accuracy_score(y, without.predict(X)) > 0.7


def test_models_with_halves_say_save_and_export_what_they_compute(searched, tmp_path):
    X, _, search = searched
    model = search.best_estimator_
    path = tmp_path / "model.vi"
    search.save(path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.decision_function(X), search.decision_function(X))
    np.testing.assert_array_equal(loaded.transform(X), search.transform(X))
    assert [len(own) for own in loaded.best_estimator_.ideals_.halves_] == [2, 2]
    scores = X @ model.linear_coef_[0] + model.intercept_[0]
    for generator in model.generators_:
        values = generator.polynomial(X)
        scores = scores + generator.weight * np.abs(values) + generator.signed_weight * values
    np.testing.assert_allclose(scores, search.decision_function(X), atol=1e-8)
    assert "half" in str(model.generators_)
    assert any(", half 2: " in name for name in search.get_feature_names_out())
    explanation = search.explain(X[0])
    total = explanation.intercept + sum(value for _, value in explanation.contributions)
    assert total == pytest.approx(search.decision_function(X[:1])[0])


def test_reports_count_the_generators_of_halves_with_their_class(searched, tmp_path):
    pytest.importorskip("matplotlib")
    X, y, search = searched
    search.report(X[:500], y[:500], tmp_path / "report.html")
    assert "out, half 1" in (tmp_path / "report.html").read_text()
    per_class = PerClass(OAVI(0.01), halves=True).fit(X[:500], y[:500])
    per_class.report(X[:500], y[:500], tmp_path / "classes.html")
    n_halves = sum(len(half.generators_) for own in per_class.halves_ for half in own)
    assert f"Not shown: {n_halves:,} equations of halves of classes." in (tmp_path / "classes.html").read_text()


def test_averages_and_sparse_searches_keep_whole_classes(searched):
    X, y, _ = searched
    for options in ({"refit": "average"}, {"refit": "1se"}, {"max_columns": 10}):
        search = VanishingIdealClassifierCV(n_jobs=1, scale_input="minmax", **options).fit(X[:1200], y[:1200])
        assert search.best_estimator_.halves is False


def test_members_of_an_average_may_have_halves():
    X, y = two_arcs(500, noise=0.08)
    search = VanishingIdealClassifierCV(columns=Columns(halves=True), refit="average", n_jobs=1).fit(X, y)
    assert all(len(own) == 2 for model in search.estimators_ for own in model.ideals_.halves_)
    assert search.score(X, y) > 0.9


def test_bad_values_are_refused(tmp_path):
    X, y = two_arcs(200)
    with pytest.raises(ValueError, match="halves must be True or False, got 2"):
        PerClass(halves=2).fit(np.clip(X, 0, 1), y)
    with pytest.raises(ValueError, match="halves must be True or False, got 'yes'"):
        Columns(halves="yes")
    dask = pytest.importorskip("dask.array")
    search = VanishingIdealClassifierCV(columns=Columns(halves=True), search_rows=None, psis=[0.01])
    with pytest.raises(ValueError, match="halves=True needs a search in memory: set search_rows"):
        search.fit(dask.from_array(X, chunks=(100, 2)), dask.from_array(y, chunks=100))
