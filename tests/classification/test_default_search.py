"""The search as users meet it: the walk, probabilities, sparse and averaged models, samples, formulas, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sympy
from searches import grid_search
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from vanishing import (
    L1SVC,
    OAVI,
    Columns,
    PerClass,
    RangeWarning,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    load,
    open_rows,
)
from vanishing.classification.model.columns import hinge_knots
from vanishing.classification.model.features import FeatureMap
from vanishing.classification.model.fitting import class_factors, relevant_columns
from vanishing.classification.model.probabilities import Calibration
from vanishing.classification.search.searching import Maker, search
from vanishing.classification.search.strategies import best_trial
from vanishing.rows.arrays import as_rows
from vanishing.rows.labels import read_labelled, read_labelled_input
from vanishing.rows.sampling import stratified_sample


def circles(n_classes=2, m=240, seed=0, noise=0.15):
    """Noisy circles, and a column with heavy tails that says nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % n_classes
    angle, radius = rng.uniform(0, 2 * np.pi, m), 1.0 + 0.7 * y + rng.normal(0.0, noise, m)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.standard_cauchy(m)]), y


SMALL = {"cv": 2, "n_jobs": 1}
RICHER = [Columns(hinges=5), Columns(hinges=5, monomials=2), Columns(halves=True)]
FEW_PAIRS = {"psis": [0.1, 0.02], "Cs": [0.1, 1.0], **SMALL}


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    X, y = circles(request.param)
    labels = np.array(["a", "b", "c"])[y]
    return VanishingIdealClassifierCV(**SMALL).fit(X, labels), X, labels, circles(request.param, seed=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
def test_the_default_separates_circles_and_gives_log_odds(fitted):
    clf, _, _, (fresh, y) = fitted
    assert clf.best_params_["psi"] < 0.2
    assert np.mean(clf.predict(fresh) == np.array(["a", "b", "c"])[y]) > 0.9
    given, decision = clf.predict_proba(fresh), clf.decision_function(fresh)
    np.testing.assert_allclose(given.sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.classes_[given.argmax(axis=1)], clf.predict(fresh))
    if decision.ndim == 1:
        limited = np.clip(decision, *clf.best_estimator_._calibration.limits)
        np.testing.assert_allclose(np.log(given[:, 1] / given[:, 0]), limited, rtol=1e-6)
    else:
        np.testing.assert_allclose(given, np.exp(decision) / np.exp(decision).sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
def test_contributions_and_sympy_add_up_to_the_decision(fitted):
    clf, X, _, _ = fitted
    for row in X[:2]:
        found = clf.explain(row)
        expected = np.atleast_1d(clf.decision_function(row[None, :])[0])
        k = 0 if len(expected) == 1 else int(np.flatnonzero(clf.classes_ == found.towards)[0])
        assert found.decision == pytest.approx(expected[k], abs=1e-10)
        total = found.intercept + sum(value for _, value in found.contributions)
        assert total == pytest.approx(expected[k], abs=1e-10)
        expressions = np.atleast_1d(clf.to_sympy())
        point = {sympy.Symbol(f"x{j}"): value for j, value in enumerate(row)}
        assert float(expressions[k].subs(point)) == pytest.approx(expected[k], abs=1e-8)


def test_rows_of_a_frame_are_explained_by_the_names_of_its_columns():
    pd = pytest.importorskip("pandas")
    X, y = circles()
    frame = pd.DataFrame(X, columns=["left", "up", "noise"])
    clf = VanishingIdealClassifierCV(**FEW_PAIRS).fit(frame, y)
    changes = clf.explain(frame.iloc[0]).changes
    assert changes
    assert {change.name for change in changes} <= set(frame)
    with pytest.raises(ValueError, match="pass one of each"):
        clf.explain(frame.iloc[0, 1:])


def test_the_changes_that_an_explanation_names_change_the_label(fitted):
    clf, X, _, _ = fitted
    found = clf.explain(X[0])
    assert found.changes
    for change in found.changes:
        row = X[:1].copy()
        j = int(change.name[1:])
        assert row[0, j] == change.value
        row[0, j] = change.new_value
        assert clf.predict(row)[0] == change.new_label != found.label
        row[0, j] = change.value + 0.999 * (change.new_value - change.value)
        assert clf.predict(row)[0] == found.label
    assert str(found).startswith(f"predicted {found.label}")


def test_the_print_is_the_formula_with_the_transform_spelled_out(fitted):
    clf, *_ = fitted
    text = str(clf)
    assert "log-odds of b" in text
    assert "cross-validated score" in text
    formula = clf.best_estimator_.formula_
    assert formula.ordered()[0].text in text
    assert len(formula.terms) == clf.best_estimator_.n_columns_
    if "u_x2" in text:
        assert "where u_x2 = arcsinh((x2" in text
    assert str(VanishingIdealClassifierCV()) == repr(VanishingIdealClassifierCV())


def test_tried_pairs_are_a_walk_down_the_half_decades_of_psi(fitted):
    clf, *_ = fitted
    results = clf.cv_results_
    assert set(results["param_scale_input"]) == {"arcsinh"}  # few rows tell no more
    assert set(results["param_columns"]) == {Columns()}
    psis = np.unique(results["param_psi"])[::-1]
    np.testing.assert_allclose(psis[1:] / psis[:-1], 10.0**-0.5)
    assert len(psis) <= 14
    first = results["param_psi"] == psis[0]
    assert results["param_C"][first].tolist() == [0.01, 0.03, 0.1, 0.3, 1.0, 10.0]
    for psi in psis[1:]:
        assert 2 <= np.sum(results["param_psi"] == psi) <= 3
    assert results["rank_test_score"][clf.best_index_] == 1
    assert clf.best_score_ == results["mean_test_score"][clf.best_index_]
    assert clf.best_score_ > results["mean_test_score"].max() - 0.1
    assert np.isfinite(results["mean_n_columns"]).all()
    assert clf.best_columns_ == results["param_columns"][clf.best_index_]
    assert clf.best_scaling_ == results["param_scale_input"][clf.best_index_]


def test_many_rows_compare_scalings_and_then_try_richer_columns():
    X, y = circles(2, m=1200)
    results = VanishingIdealClassifierCV(n_jobs=1).fit(X, y).cv_results_
    groups = list(dict.fromkeys(zip(results["param_scale_input"], results["param_columns"], strict=True)))
    assert groups[:2] == [("arcsinh", Columns()), ("rank", Columns())]
    assert len(groups) == 5
    assert [columns.hinges > 0 or columns.halves for _, columns in groups[2:]] == [True] * 3


@pytest.mark.parametrize(("noise", "seed", "sparser"), [(0.25, 5, True), (0.3, 2, False)])
def test_one_standard_error_is_that_of_the_difference_on_the_same_rows(noise, seed, sparser):
    X, y = circles(noise=noise, seed=seed)
    folds = StratifiedKFold(3)
    clf = grid_search(psis=[0.1, 0.02, 0.004], Cs=[0.1, 1.0], cv=folds, refit="1se").fit(X, y)
    hits = []
    for pair in clf.cv_results_["params"]:
        model = VanishingIdealClassifier(OAVI(psi=pair["psi"]), C=pair["C"])
        hits.append((cross_val_predict(model, X, y, cv=folds) == y).astype(float))
    best = np.lexsort([clf.cv_results_["param_C"], -clf.cv_results_["param_psi"], -np.mean(hits, axis=1)])[0]
    differences = hits[best] - np.array(hits)
    near = differences.mean(axis=1) <= differences.std(axis=1) / np.sqrt(len(y))
    sizes = np.where(near, clf.cv_results_["mean_n_columns"], np.inf)
    assert near.sum() < len(near)
    assert clf.best_index_ == np.lexsort([-np.mean(hits, axis=1), sizes])[0]
    assert (clf.best_index_ != best) == sparser


@pytest.mark.slow
def test_sparsity_and_max_columns_bound_the_formula():
    X, y = circles(2, noise=0.3)
    whole = VanishingIdealClassifierCV(**FEW_PAIRS).fit(X, y)
    sparse = VanishingIdealClassifierCV(refit="1se", **FEW_PAIRS).fit(X, y)
    few = VanishingIdealClassifierCV(max_columns=2, **{**FEW_PAIRS, "psis": [0.005]}).fit(X, y)
    assert sparse.best_estimator_.n_columns_ <= whole.best_estimator_.n_columns_
    assert sparse.best_score_ >= whole.best_score_ - 0.05
    assert few.best_estimator_.n_columns_ <= 2
    assert few.score(X, y) > 0.7


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
def test_an_average_is_the_mean_of_its_members_log_odds():
    X, y = circles(3)
    clf = VanishingIdealClassifierCV(refit="average", **FEW_PAIRS).fit(X, y)
    assert len(clf.estimators_) >= 3
    assert clf.weights_.sum() == pytest.approx(1.0)
    expected = np.average([member.decision_function(X) for member in clf.estimators_], axis=0, weights=clf.weights_)
    np.testing.assert_allclose(clf.decision_function(X), expected)
    np.testing.assert_array_equal(clf.predict(X), clf.predict_proba(X).argmax(axis=1))
    with pytest.raises(ValueError, match="no single formula"):
        clf.explain(X[0])


@pytest.mark.slow
def test_scores_of_probabilities_come_from_calibrated_decisions():
    X, y = circles(2, noise=0.4)
    found = VanishingIdealClassifierCV(scoring="neg_log_loss", **FEW_PAIRS).fit(X, y)
    assert -found.best_score_ < np.log(2.0)
    assert -found.best_score_ == pytest.approx(log_loss(y, found.predict_proba(X)), abs=0.15)
    assert 0.5 < VanishingIdealClassifierCV(scoring="roc_auc", **FEW_PAIRS).fit(X, y).best_score_ <= 1.0
    scorer = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")
    assert VanishingIdealClassifierCV(scoring=scorer, **FEW_PAIRS).fit(X, y).best_score_ == pytest.approx(
        found.best_score_
    )


@pytest.mark.slow
def test_class_weights_count_like_sample_weights_in_the_fit():
    X, y = circles(2, noise=0.4)
    options = {"psis": [0.1, 0.01], "Cs": [0.1, 1.0], **SMALL}
    by_class = VanishingIdealClassifierCV(class_weight={0: 1.0, 1: 5.0}, **options).fit(X, y)
    assert (by_class.predict(X) == 1).mean() > (VanishingIdealClassifierCV(**options).fit(X, y).predict(X) == 1).mean()
    alone = VanishingIdealClassifier(OAVI(0.01), class_weight={1: 5.0}, n_jobs=1).fit(X, y)
    weighted = VanishingIdealClassifier(OAVI(0.01), n_jobs=1).fit(X, y, np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(alone.decision_function(X), weighted.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(class_factors("balanced", np.arange(2), np.array([1.0, 3.0])), [2.0, 2.0 / 3.0])


def test_rows_without_weight_do_not_count_for_balanced_classes():
    X, y = circles(2, noise=0.4)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    search = VanishingIdealClassifierCV(class_weight="balanced", psis=[0.05], Cs=[0.1], cv=folds, n_jobs=1)
    alone = clone(search).fit(X, y, np.ones(len(y)))
    extra = X[y == 1] + 0.1
    beside = clone(search).fit(
        np.vstack([X, extra]), np.r_[y, np.ones(len(extra), int)], np.arange(len(X) + len(extra)) < len(X)
    )
    np.testing.assert_allclose(beside.linear_coef_, alone.linear_coef_, rtol=1e-6)  # calibrated by the search


@pytest.mark.parametrize(
    ("weights", "message"),
    [("equal", "None, 'balanced' or a dict"), ({7: 1.0}, "the class 7"), ({0: -1.0}, "positive number")],
)
def test_bad_class_weights_say_what_is_wrong(weights, message):
    X, y = circles()
    with pytest.raises(ValueError, match=message):
        VanishingIdealClassifier(class_weight=weights).fit(X, y)


def test_a_search_on_a_sample_of_a_frame_gives_no_warning():
    X, y = circles(2, m=1500)
    table = pd.DataFrame(X, columns=["width", "height", "depth"])
    search = VanishingIdealClassifierCV(search_rows=300, psis=[0.01], Cs=[1.0]).fit(table, y)
    plain = VanishingIdealClassifierCV(search_rows=300, psis=[0.01], Cs=[1.0]).fit(X, y)
    assert np.array_equal(search.decision_function(table), plain.decision_function(X))


@pytest.mark.slow
def test_a_sampled_search_fits_all_rows(tmp_path):
    X, y = circles(2, m=1500)
    here = VanishingIdealClassifierCV(search_rows=300, **SMALL).fit(X, y)
    assert here.score(X, y) > 0.93
    assert here.best_params_["C"] == here.best_estimator_.C
    assert here.best_estimator_._map.n_columns < 100
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    there = VanishingIdealClassifierCV(search_rows=300, **SMALL).fit(open_rows(tmp_path / "rows.npy", label=3))
    assert there.best_params_ == pytest.approx(here.best_params_, rel=1e-9)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    assert there.predict_proba(X).shape == (1500, 2)


def outcome_of(X, y, **options):
    """The outcome of the search behind a fit."""
    clf = VanishingIdealClassifierCV(**{**SMALL, **options})
    data = read_labelled_input(clf, X, y)
    maker = Maker(clf, clf._template(), None, None, clf.n_jobs, None)
    return search(clf._options(data, maker), data)


@pytest.mark.parametrize(
    ("flipped", "options", "n_rows"),
    [(0.0, {}, 1200), (0.5, {}, 300), (0.0, {"scoring": "f1"}, 300), (0.0, {"psis": [0.1, 0.01]}, 300)],
    ids=["few-errors", "many-errors", "other-score", "grid"],
)
def test_a_sample_with_few_errors_is_enlarged_and_psi_does_not_rise(flipped, options, n_rows):
    X, y = circles(2, m=1500)
    y = np.where(np.random.default_rng(1).random(1500) < flipped, 1 - y, y)
    found = outcome_of(X, y, search_rows=300, Cs=[1.0], columns=Columns(), **options)
    assert len(found.evaluator.problem.rows) == len(found.sample.rows) == pytest.approx(n_rows, abs=2)
    if n_rows > 300:
        small = stratified_sample(read_labelled(X, y), 300, ["a", "b", "c"])
        alone = outcome_of(small.rows.X, small.rows.labels, Cs=[1.0], columns=Columns())
        psis = np.array([trial.psi for trial in found.history])
        assert psis[0] == pytest.approx(best_trial(alone.history).psi, rel=0.5)  # scaled by other ranges
        np.testing.assert_allclose(psis[1:] / psis[:-1], 10.0**-0.5)
        assert {trial.scaling for trial in found.history} == {best_trial(alone.history).scaling}


def test_scores_of_several_classes_are_those_of_the_labels_that_the_model_predicts():
    rng = np.random.default_rng(0)
    y = rng.choice(3, 1200, p=[0.75, 0.15, 0.1])
    X = rng.normal(size=(1200, 3)) + 0.8 * np.eye(3)[y]
    options = {"psis": [0.1], "Cs": [0.01], "cv": 3, "scale_input": True}
    calibrated, raw = (VanishingIdealClassifierCV(final_estimator=f, **options).fit(X, y) for f in (None, L1SVC()))
    assert calibrated.best_score_ > raw.best_score_
    decisions, scale, offset = raw.decision_function(X), *calibrated.best_estimator_._calibration
    np.testing.assert_array_equal(calibrated.predict(X), np.argmax(scale * decisions + offset, axis=1))
    assert calibrated.best_score_ == pytest.approx(calibrated.score(X, y), abs=0.02)


def test_an_average_has_members_of_every_scaling_that_is_good_enough():
    X, y = circles(2, m=300, noise=0.3)
    clf = VanishingIdealClassifierCV(refit="average", Cs=[0.1, 1.0], **SMALL).fit(X, y)
    (same,) = (each for each in clf.estimators_ if each.final_estimator_ is clf.best_estimator_.final_estimator_)
    slope, offset = np.polyfit(clf.best_estimator_.decision_function(X), same.decision_function(X), 1)
    own, again = clf.best_estimator_._calibration, Calibration(np.array([slope]), np.array([offset]))
    np.testing.assert_allclose(same._calibration, own.followed_by(again), rtol=1e-6)  # the mean is calibrated again
    assert slope != pytest.approx(1.0, abs=1e-6)
    assert {member.scale_input for member in clf.estimators_} == {"arcsinh", "rank"}
    assert clf.weights_.sum() == pytest.approx(1.0)
    decisions = clf.decision_function(X)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-decisions)), atol=1e-12)


def test_a_stratified_sample_keeps_the_shares_and_depends_on_no_blocks():
    X, y = circles(3, m=3000)
    y = np.where(np.arange(3000) < 60, 2, y % 2)
    data = read_labelled(X, y)
    sample = stratified_sample(data, 300, ["a", "b", "c"])
    np.testing.assert_array_equal(sample.n_rows, np.bincount(y))
    counts = np.bincount(sample.rows.labels)
    assert counts[2] == 40
    np.testing.assert_allclose(counts[:2], np.bincount(y)[:2] / 10, atol=1)
    np.testing.assert_array_equal(sample.low, X.min(axis=0))
    whole = stratified_sample(data, 5000, ["a", "b", "c"])
    assert len(whole.rows) == 3000
    assert sorted(map(tuple, whole.rows.X)) == sorted(map(tuple, X))


def test_outliers_are_clipped_and_counted(fitted):
    clf, X, _, _ = fitted
    far = X[:5].copy()
    far[0, 0], far[1, 1] = 1e9, -1e9
    with pytest.warns(RangeWarning, match="2 of 5 rows lie outside of the range"):
        found = clf.decision_function(far)
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 1e3


@pytest.mark.slow
@pytest.mark.parametrize("features", ["absolute", "signed", "both"])
@pytest.mark.parametrize("extras", [{}, {"hinges": 2, "monomials": 2}, {"append_input": False}])
def test_columns_of_every_kind_give_the_formula(features, extras):
    X, y = circles(3, m=120)
    clf = VanishingIdealClassifier(OAVI(0.01), scale_input="arcsinh", features=features, n_jobs=1, **extras).fit(X, y)
    names = clf.get_feature_names_out()
    assert clf.transform(X).shape == (120, len(names))
    expected = clf.decision_function(X[:1])[0]
    formula = clf.formula_
    found = [clf.explain(X[0], towards=label).decision for label in clf.classes_]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    point = {sympy.Symbol(f"x{j}"): value for j, value in enumerate(X[0])}
    np.testing.assert_allclose([float(e.subs(point)) for e in formula.to_sympy()], expected, atol=1e-8)
    final = clf.final_estimator_
    np.testing.assert_allclose(clf.transform(X) @ final.coef_.T + final.intercept_, clf.decision_function(X), atol=1e-9)


@pytest.mark.slow
def test_hinges_stay_where_they_pay(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((2400, 14))
    height = np.maximum(0.0, X - rng.uniform(0.5, 0.9, X.shape[1])).sum(axis=1)
    y = height + 0.03 * rng.normal(size=len(X)) > np.median(height)
    options = {"scale_input": "arcsinh", "n_jobs": 1}
    clf = VanishingIdealClassifierCV(**options).fit(X, y)
    plain = VanishingIdealClassifierCV(**options, columns=Columns()).fit(X, y)
    assert clf.best_estimator_.hinges == 5
    assert clf.best_score_ > plain.best_score_
    assert clf.best_index_ >= len(plain.cv_results_["params"])
    np.testing.assert_array_equal(
        clf.cv_results_["mean_test_score"][: len(plain.cv_results_["params"])], plain.cv_results_["mean_test_score"]
    )
    again = VanishingIdealClassifier(
        OAVI(clf.best_params_["psi"], max_terms=plain.best_estimator_.estimator.max_terms),
        C=clf.best_params_["C"],
        scale_input="arcsinh",
        features="both",
        hinges=5,
        monomials=clf.best_estimator_.monomials,
        halves=clf.best_estimator_.halves,
    ).fit(X, y)
    np.testing.assert_array_equal(clf.best_estimator_.transform(X), again.transform(X))
    clf.save(tmp_path / "model.vi")
    np.testing.assert_array_equal(load(tmp_path / "model.vi").predict_proba(X), clf.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"refit": "average"}, {"refit": "1se"}, {"max_columns": 20}])
def test_searches_for_something_else_try_no_hinges(options):
    rng = np.random.default_rng(0)
    X = rng.random((2000, 6))
    height = np.maximum(0.0, X - rng.uniform(0.5, 0.9, X.shape[1])).sum(axis=1)
    y = height > np.median(height)
    clf = VanishingIdealClassifierCV(scale_input="arcsinh", n_jobs=1, **options).fit(X, y)
    assert (clf.best_estimator_.hinges, clf.best_estimator_.monomials) == (0, 1)


def test_a_grid_is_scored_with_every_entry_of_a_list_of_columns():
    X, y = circles()
    columns, options = [Columns(), Columns(hinges=2)], {**FEW_PAIRS, "scale_input": "arcsinh"}
    results = VanishingIdealClassifierCV(columns=columns, **options).fit(X, y).cv_results_
    assert results["param_columns"] == [columns[0]] * 4 + [columns[1]] * 4
    for k, own in enumerate(columns):
        alone = VanishingIdealClassifierCV(columns=own, **options).fit(X, y).cv_results_
        np.testing.assert_array_equal(results["mean_test_score"][4 * k : 4 * k + 4], alone["mean_test_score"])
    plain = VanishingIdealClassifierCV(**options).fit(X, y)
    assert plain.cv_results_["param_columns"] == [Columns()] * 4


@pytest.mark.parametrize("options", [{"refit": "1se"}, {"max_columns": 20}, {}], ids=str)
def test_columns_that_are_asked_for_are_tried(options):
    X, y = circles()
    columns = [Columns(), Columns(hinges=2), Columns(), Columns(halves=True)]
    search = VanishingIdealClassifierCV(columns=columns, scale_input="arcsinh", **SMALL, **options).fit(X, y)
    tried = list(dict.fromkeys(search.cv_results_["param_columns"]))
    assert len(tried) == 3
    assert tried[0] == columns[0]
    assert tried[1] == columns[1]
    assert tried[2].halves


def test_an_average_outside_of_memory_needs_a_sample():
    da = pytest.importorskip("dask.array")
    X, y = circles()
    search = VanishingIdealClassifierCV(refit="average", search_rows=None, **FEW_PAIRS)
    with pytest.raises(ValueError, match="refit='average' needs a search in memory: set search_rows"):
        search.fit(da.from_array(X, chunks=(120, 3)), da.from_array(y, chunks=120))


@pytest.mark.slow
def test_a_smooth_boundary_rarely_gets_hinges():
    taken = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.random((1000, 2))
        y = ((X - 0.5) ** 2).sum(axis=1) + 0.02 * rng.normal(size=len(X)) > 0.15
        search = VanishingIdealClassifierCV(scale_input="arcsinh", columns=[Columns(), Columns(hinges=5)], n_jobs=1)
        taken.append(search.fit(X, y).best_columns_.hinges > 0)
    assert np.mean(taken) <= 0.5  # a sixth by chance alone, for a lead of one standard error


def test_signed_generators_of_degree_1_are_left_out_beside_the_inputs():
    X, y = circles(2, m=120)
    clf = VanishingIdealClassifier(OAVI(0.01), features="both", n_jobs=1).fit(X, y)
    degrees = np.concatenate([ideal.generators_.degrees for ideal in clf.ideals_.estimators_])
    both = FeatureMap.of([clf.ideals_.estimators_], Columns(append_input=False))
    assert both.signed.size == degrees.size
    assert clf._map.signed.size == (degrees > 1).sum()


def test_a_search_may_end_without_a_generator_on_all_rows():
    """The training rows of a fold are few, and vanish on what all rows do not."""
    X, y = load_wine(return_X_y=True)
    X, _, y, _ = train_test_split(X, y, test_size=0.4, stratify=y, random_state=5)
    options = {"psis": [0.0019], "Cs": [0.1], "scale_input": "arcsinh", "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the bound on terms
        clf = VanishingIdealClassifierCV(OAVI(max_terms=41), **options).fit(X, y)
    assert clf.cv_results_["mean_n_generators"][0] > 0.0
    assert len(clf.generators_) == 0
    assert clf.score(X, y) > 0.95
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    assert "x12" in str(clf)


def test_knots_are_distinct_quantiles_inside_of_the_range():
    X = np.column_stack([np.linspace(0, 1, 101), np.r_[np.zeros(90), np.linspace(0, 1, 11)]])
    knots = hinge_knots(X, 5)
    np.testing.assert_allclose(knots[:, 0], [0.1, 0.3, 0.5, 0.7, 0.9])
    assert np.isnan(knots[:, 1]).sum() >= 3
    assert hinge_knots(X, 0).shape == (0, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale_input": "log"}, "scale_input must be True, False or one of 'auto', 'minmax', 'arcsinh', 'rank'"),
        ({"columns": "many"}, r"columns must be 'auto', Columns\(\.\.\.\) or a list of them; got 'many'"),
        ({"columns": [Columns(), 5]}, r"columns must be 'auto', Columns\(\.\.\.\) or a list of them"),
        ({"columns": []}, r"columns must be 'auto', Columns\(\.\.\.\) or a list of them"),
        ({"columns": 5}, r"columns must be 'auto', Columns\(\.\.\.\) or a list of them"),
        ({"search_rows": 0}, "search_rows must be"),
        ({"max_columns": 0}, "max_columns must be"),
        ({"refit": "2se"}, "refit must be one of '1se', 'average'"),
        ({"Cs": "all"}, "Cs must be 'auto'"),
        ({"cv": "three"}, "cv must be 'auto'"),
    ],
)
def test_bad_options_name_the_choices(options, message):
    X, y = circles()
    with pytest.raises(ValueError, match=message):
        VanishingIdealClassifierCV(**options).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "square"}, "features must be one of"),
        ({"append_input": 1}, "append_input must be True or False"),
        ({"hinges": -1}, "hinges must be"),
        ({"hinges": "many"}, "hinges must be"),
        ({"monomials": 3}, "monomials must be 1 or 2"),
        ({"monomials": True}, "monomials must be 1 or 2"),
    ],
)
def test_bad_columns_name_the_choices(options, message):
    with pytest.raises(ValueError, match=message):
        Columns(**options)


def test_a_class_with_one_row_is_refused_with_the_fix():
    X, y = circles(2, m=60)
    with pytest.raises(ValueError, match="Class 9 has one row, but a search needs two: leave out the class"):
        VanishingIdealClassifierCV(n_jobs=1).fit(X, np.where(np.arange(60) == 5, 9, y))


@pytest.mark.slow
def test_constant_columns_and_more_columns_than_rows_are_fine():
    X, y = circles(2, m=60)
    wide = np.column_stack([X, np.ones(60), np.random.default_rng(0).normal(size=(60, 70))])
    clf = VanishingIdealClassifierCV(**SMALL).fit(wide, y)
    assert np.isfinite(clf.decision_function(wide)).all()
    assert clf.linear_coef_[0, 3] == 0.0


def test_the_paper_keeps_its_pipeline():
    paper = VanishingIdealClassifierCV.paper(Cs=[1.0])
    assert paper.columns == Columns("absolute", append_input=False, scale_features=False)
    assert (paper.scale_input, paper.search_rows, paper.Cs) == (True, None, [1.0])
    assert paper.final_estimator is not VanishingIdealClassifierCV.paper().final_estimator
    X, y = circles(2, m=90)
    clf = paper.set_params(psis=[0.1, 0.01], n_jobs=1).fit(X, y)
    assert not hasattr(clf, "predict_proba")
    svm = clf.best_estimator_.final_estimator_
    columns = clf.transform(X)
    np.testing.assert_allclose(clf.decision_function(X), columns @ svm.coef_[0] + svm.intercept_, atol=1e-9)


def test_nothing_is_explained_before_a_fit():
    with pytest.raises(NotFittedError):
        VanishingIdealClassifierCV().explain([0.0])


def test_many_rows_see_the_columns_that_a_sample_needs():
    X, y = circles(2, m=1500)
    options = {"psis": [0.01], "Cs": [1.0], **SMALL}
    whole = VanishingIdealClassifierCV(search_rows=None, **options).fit(X, y).best_estimator_
    needed = VanishingIdealClassifierCV(search_rows=300, **options).fit(X, y).best_estimator_
    assert needed._map.n_columns < whole._map.n_columns
    assert whole._map.n_generators == sum(len(ideal.generators_) for ideal in whole.ideals_.estimators_)
    assert len(needed.get_feature_names_out()) == needed._map.n_columns
    assert needed.score(X, y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
def test_a_search_on_dask_arrays_is_that_in_memory_up_to_quantiles_of_a_sample(n_classes):
    da = pytest.importorskip("dask.array")
    X, y = circles(n_classes, m=400)
    options = {"psis": [0.05], "Cs": [1.0], "search_rows": 200, "refit": "average" if n_classes == 3 else True, **SMALL}
    here = VanishingIdealClassifierCV(**options).fit(X, y)
    D = da.from_array(X, chunks=(400, 3))
    there = VanishingIdealClassifierCV(**options).fit(D, da.from_array(y, chunks=400))
    lazy = there.predict_proba(D)
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), there.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(lazy.compute(), here.predict_proba(X), atol=0.1)
    assert np.abs(lazy.compute() - here.predict_proba(X)).mean() < 0.005
    assert np.mean(there.predict(D).compute() == here.predict(X)) > 0.98


def test_a_screen_keeps_one_column_per_leading_term_and_the_most_telling_absolute_ones():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(600, 5)), rng.integers(0, 3, 600)
    X[y == 1, 0] *= 0.2
    ideals = PerClass(OAVI(psi=0.01)).fit(X, y).estimators_
    mapping = FeatureMap.of([ideals], Columns())
    columns = mapping.over(as_rows(X))
    chosen_columns = relevant_columns(mapping, columns, y, None, 40)
    small = mapping.select(chosen_columns)
    assert small.n_columns == 40
    assert small.extras.inputs.size == 5
    leads = np.concatenate([polynomials.leading_terms for polynomials in mapping.lists])
    chosen = np.concatenate([polynomials.leading_terms for polynomials in small.lists])[small.signed]
    assert len(np.unique(chosen, axis=0)) == len(chosen) <= len(np.unique(leads[mapping.signed], axis=0))
    labels = (y[:, None] == np.arange(3)).T
    telling = np.abs(np.corrcoef(columns[:, : mapping.absolute.size].T, labels)[:-3, -3:]).max(axis=1)
    kept = chosen_columns[: mapping.absolute.size]
    assert telling[kept].min() >= telling[~kept].max()
