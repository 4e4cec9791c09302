"""Ideals per class, the classifier on top of them, and the cross-validation that tunes it."""

import itertools
import pickle
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import vanishing.classification.crossval
from vanishing import (
    ABM,
    AVI,
    L1SVC,
    OAVI,
    VCA,
    PerClass,
    RangeWarning,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    show_progress,
)

DENSE = OAVI(psi=0.003, solver="cg", boost="ihb")
ALGORITHMS = pytest.mark.parametrize(
    "estimator",
    [DENSE, OAVI(psi=0.003), ABM(psi=0.001), AVI(psi=0.001, max_degree=4), VCA(psi=0.001, max_degree=4)],
    ids=["OAVI-cg", "OAVI-bpcg", "ABM", "AVI", "VCA"],
)


def rings(n_classes=2, n=40, noise=0.1, seed=0):
    """Noisy circles in two columns, a third without meaning; every column in units of its own."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(n_classes), n))
    radius = 1.0 + 0.5 * y + rng.normal(0.0, noise, y.size)
    angle = rng.uniform(0.0, 2.0 * np.pi, y.size)
    return np.column_stack([3.0 * radius * np.cos(angle) + 1.0, radius * np.sin(angle), 10.0 * rng.random(y.size)]), y


def unit_rings(n_classes=2, n=40, noise=0.1, seed=0):
    X, y = rings(n_classes, n, noise, seed)
    return MinMaxScaler().fit_transform(X), y


# The default grid of the cross-validation has 21 psis and 3 Cs; the checks make some sixty fits.
CHECKED = [
    L1SVC(),
    PerClass(),
    PerClass(OAVI(psi=100.0, solver="cg", boost="ihb")),
    VanishingIdealClassifier(),
    VanishingIdealClassifierCV(OAVI(solver="cg", boost="ihb"), psis=(0.1, 0.003), Cs=(1.0,), cv=2),
]


@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- PerClass -----------------------------------------------------------------------------------------------------


@ALGORITHMS
@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_are_those_of_separate_estimators_side_by_side(estimator, n_classes):
    X, y = unit_rings(n_classes)
    fresh, _ = unit_rings(n_classes, seed=1)
    features = PerClass(estimator).fit(X, y)
    separate = [clone(estimator).fit(X[y == k]) for k in range(n_classes)]
    found = features.transform(fresh)
    assert found.shape == (len(fresh), sum(len(model.generators_) for model in separate))
    np.testing.assert_allclose(found, np.hstack([model.transform(fresh) for model in separate]), rtol=0, atol=1e-12)
    assert list(features.classes_) == list(range(n_classes))
    assert [len(model.generators_) for model in features.estimators_] == [len(m.generators_) for m in separate]


@ALGORITHMS
@pytest.mark.parametrize("weighted", ["random", "repeated"])
def test_weights_of_rows_reach_every_class(estimator, weighted):
    X, y = unit_rings()
    rng = np.random.default_rng(0)
    weights = rng.random(len(X)) if weighted == "random" else rng.integers(0, 4, len(X)).astype(float)
    found = PerClass(estimator).fit(X, y, sample_weight=weights).transform(X)
    separate = [clone(estimator).fit(X[y == k], sample_weight=weights[y == k]) for k in range(2)]
    np.testing.assert_allclose(found, np.hstack([model.transform(X) for model in separate]), rtol=0, atol=1e-12)
    assert found.shape != (other := PerClass(estimator).fit(X, y).transform(X)).shape or not np.allclose(found, other)


@ALGORITHMS
def test_names_carry_class_and_polynomial_and_are_unique(estimator):
    X, y = unit_rings(3)
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    labels = np.array(["red", "green", "blue"])[y]
    features = PerClass(estimator).fit(frame, labels)
    names = features.get_feature_names_out()
    assert len(set(names)) == len(names) == features.transform(frame).shape[1]
    wanted = [
        f"{label}: {name}"
        for label in ["blue", "green", "red"]
        for name in clone(estimator).fit(frame[labels == label]).get_feature_names_out()
    ]
    assert list(names) == wanted
    if not isinstance(estimator, VCA):
        assert all("width" in name or "height" in name or "depth" in name for name in names)


def test_names_of_input_columns_may_be_given():
    X, y = unit_rings()
    features = PerClass(DENSE).fit(X, y)
    names = features.get_feature_names_out(["a", "b", "c"])
    assert len(set(names)) == len(names)
    assert all(name.startswith(("0: ", "1: ")) and not set("abc").isdisjoint(name) for name in names)
    with pytest.raises(ValueError, match="input_features"):
        features.get_feature_names_out(["a"])


def test_names_stay_unique_when_columns_have_long_names_with_a_dash():
    X, y = unit_rings()
    columns = [f"gain - loss in the {nth} quarter of the year, in euros and cents" for nth in ("1st", "2nd", "3rd")]
    names = PerClass(OAVI(psi=0.2)).fit(pd.DataFrame(X, columns=columns), y).get_feature_names_out()
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("estimator", [OAVI(1e-6, max_degree=2), ABM(1e-6, max_degree=2), VCA(1e-12, max_degree=2)])
def test_a_class_without_generators_contributes_no_columns(estimator):
    rng = np.random.default_rng(0)
    x = rng.random(50)
    X = np.vstack([rng.random((50, 2)), np.column_stack([x, 0.5 * x])])
    y = np.repeat(["cloud", "line"], 50)
    features = PerClass(estimator).fit(X, y)
    assert len(features.estimators_[0].generators_) == 0
    names = features.get_feature_names_out()
    assert len(names) > 0
    assert all(name.startswith("line: ") for name in names)
    np.testing.assert_allclose(features.transform(X), clone(estimator).fit(X[50:]).transform(X), atol=1e-12)
    clf = VanishingIdealClassifier(estimator, scale_input=False).fit(X, y)
    assert {generator.label for generator in clf.generators_} == {"line"}
    assert clf.score(X, y) > 0.9


@pytest.mark.parametrize("estimator", [OAVI, ABM, AVI, VCA])
def test_no_generator_in_any_class_is_an_error_that_says_what_to_raise(estimator):
    X, y = unit_rings()
    none = r"No class has a polynomial.*psi=1e-09.*raise psi or max_degree"
    with pytest.raises(ValueError, match=none):
        VanishingIdealClassifier(estimator(psi=1e-9, max_degree=1)).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=none):
        features = PerClass(estimator(psi=1e-9, max_degree=1)).fit(X, y)
    assert features.transform(X).shape == (len(X), 0)
    search = VanishingIdealClassifierCV(estimator(max_degree=1), psis=[1e-9, 1e-10])
    with pytest.raises(ValueError, match=r"No psi gives a generator.*raise psis or max_degree"):
        search.fit(X, y)


@ALGORITHMS
@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_frames_in_frames_out(estimator, kind, frame):
    X, y = unit_rings()
    table = frame({"width": X[:, 0], "height": X[:, 1], "depth": X[:, 2]})
    features = PerClass(estimator).set_output(transform=kind).fit(table, y)
    out = features.transform(table)
    assert isinstance(out, frame)
    assert list(out.columns) == list(features.get_feature_names_out())
    np.testing.assert_array_equal(out.to_numpy(), PerClass(estimator).fit(X, y).transform(X))


def test_a_pipeline_of_scaling_ideals_and_a_linear_classifier():
    X, y = rings(3)
    pipeline = make_pipeline(MinMaxScaler(), PerClass(DENSE), LogisticRegression(C=10.0, max_iter=1000))
    search = GridSearchCV(pipeline, {"perclass__estimator__psi": [0.1, 0.003]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.75
    assert search.best_params_ == {"perclass__estimator__psi": 0.003}
    names = pipeline.fit(X, y)[:-1].get_feature_names_out()
    assert len(names) == pipeline[:-1].transform(X).shape[1]


@pytest.mark.parametrize("wrong", [OAVI, ABM, MinMaxScaler(), "OAVI", 3], ids=str)
@pytest.mark.parametrize("model", [PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV])
def test_an_estimator_that_is_none_of_ours_is_refused(model, wrong):
    X, y = unit_rings()
    with pytest.raises(ValueError, match=r"estimator must be an OAVI, ABM, AVI or VCA \(an object, not a class\); got"):
        model(wrong).fit(X, y)


def test_wrong_parameters_of_the_estimator_are_refused_by_name():
    X, y = unit_rings()
    for model in (PerClass, VanishingIdealClassifier):
        with pytest.raises(ValueError, match="psi must be at least 0"):
            model(OAVI(psi=-1.0)).fit(X, y)
    with pytest.raises(ValueError, match="solver must be one of"):
        VanishingIdealClassifierCV(OAVI(solver="newton")).fit(X, y)


@pytest.mark.parametrize("model", [PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV])
def test_more_columns_than_max_terms_are_refused_with_the_cure(model):
    X, y = unit_rings()
    with pytest.raises(ValueError, match="3 columns, too many for max_terms=3"):
        model(OAVI(max_terms=3)).fit(X, y)


def test_data_outside_the_unit_cube_warn():
    X, y = rings()
    with pytest.warns(RangeWarning, match="MinMaxScaler"):
        PerClass(ABM(psi=0.1, max_degree=2)).fit(X, y)


def test_a_class_without_weight_is_refused_as_such():
    X, y = unit_rings()
    with pytest.raises(ValueError, match="sample_weight"):
        PerClass(DENSE).fit(X, y, sample_weight=(y == 1).astype(float))


def test_unfitted_models_say_so():
    X, _ = unit_rings()
    with pytest.raises(NotFittedError):
        PerClass().transform(X)
    with pytest.raises(NotFittedError):
        PerClass().get_feature_names_out()
    for model in (VanishingIdealClassifier(), VanishingIdealClassifierCV()):
        with pytest.raises(NotFittedError):
            model.predict(X)
        with pytest.raises(NotFittedError):
            model.decision_function(X)


# --- VanishingIdealClassifier -------------------------------------------------------------------------------------


def recomputed_scores(clf, X):
    """``sum_g weight_g |g(x)| + linear_coef_ @ x + intercept_``, term by term in the user's units."""
    scores = X @ clf.linear_coef_.T + clf.intercept_
    for _, polynomial, weight, _ in clf.generators_:
        scores = scores + np.outer(np.abs(polynomial.evaluate(X)), weight)
    return scores[:, 0] if scores.shape[1] == 1 else scores


@ALGORITHMS
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_decision_is_what_the_attributes_say(estimator, n_classes):
    X, y = rings(n_classes)
    fresh, labels = rings(n_classes, seed=1)
    clf = VanishingIdealClassifier(estimator).fit(X, y)
    found = clf.decision_function(fresh)
    assert found.shape == ((len(fresh),) if n_classes == 2 else (len(fresh), n_classes))
    np.testing.assert_allclose(found, recomputed_scores(clf, fresh), rtol=0, atol=1e-8 * np.abs(found).max())
    chosen = (found > 0).astype(int) if n_classes == 2 else found.argmax(axis=1)
    np.testing.assert_array_equal(clf.predict(fresh), chosen)
    assert clf.score(fresh, labels) > 0.8
    assert len(clf.generators_) == sum(len(model.generators_) for model in clf.ideals_.estimators_)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("scale_features", "append_input", "scale_input"), list(itertools.product([True, False], repeat=3))
)
def test_the_decision_is_what_the_attributes_say_with_all_options(n_classes, scale_features, append_input, scale_input):
    X, y = rings(n_classes) if scale_input else unit_rings(n_classes)
    options = {"scale_features": scale_features, "append_input": append_input, "scale_input": scale_input}
    clf = VanishingIdealClassifier(DENSE, C=10.0, **options).fit(X, y)
    found = clf.decision_function(X)
    np.testing.assert_allclose(found, recomputed_scores(clf, X), rtol=0, atol=1e-8 * np.abs(found).max())
    assert clf.linear_coef_.shape == (1 if n_classes == 2 else n_classes, 3)
    assert append_input or not clf.linear_coef_.any()
    assert clf.transform(X).shape[1] == len(clf.generators_) + 3 * append_input == len(clf.get_feature_names_out())
    assert (clf.scaler_ is not None) == scale_input
    if scale_features:
        np.testing.assert_allclose(clf.transform(X).std(axis=0), 1.0)


def test_features_are_absolute_values_and_scaled_inputs_over_their_deviation():
    X, y = rings()
    fresh, _ = rings(seed=1)
    clf = VanishingIdealClassifier(DENSE).fit(X, y)

    def columns(rows):
        values = [np.abs(generator.polynomial.evaluate(rows)) for generator in clf.generators_]
        return np.column_stack([*values, (rows - X.min(axis=0)) / np.ptp(X, axis=0)])

    np.testing.assert_allclose(clf.transform(fresh), columns(fresh) / columns(X).std(axis=0), rtol=0, atol=1e-9)


def test_generators_are_those_of_the_scaled_classes_in_the_units_of_the_data():
    X, y = rings()
    clf = VanishingIdealClassifier(DENSE).fit(X, y)
    scaler = MinMaxScaler().fit(X)
    for k in range(2):
        model = clone(DENSE).fit(scaler.transform(X[y == k]))
        mine = [generator.polynomial for generator in clf.generators_ if generator.label == k]
        values = np.column_stack([polynomial.evaluate(X) for polynomial in mine])
        np.testing.assert_allclose(np.abs(values), model.transform(scaler.transform(X)), rtol=0, atol=1e-10)
        assert ((values[y == k] ** 2).mean(axis=0) <= DENSE.psi * (1 + 1e-8)).all()


@pytest.mark.parametrize("final", [LogisticRegression(max_iter=10_000), LinearSVC()], ids=["logistic", "LinearSVC"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_linear_classifier_may_be_the_last_step(final, n_classes):
    X, y = rings(n_classes)
    fresh, labels = rings(n_classes, seed=1)
    clf = VanishingIdealClassifier(DENSE, final_estimator=final).fit(X, y)
    found = clf.decision_function(fresh)
    np.testing.assert_allclose(found, recomputed_scores(clf, fresh), rtol=0, atol=1e-8 * np.abs(found).max())
    again = clone(final).fit(clf.transform(X), y)
    np.testing.assert_allclose(found, again.decision_function(clf.transform(fresh)), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(clf.predict(fresh), again.predict(clf.transform(fresh)))
    assert clf.score(fresh, labels) > 0.8


def test_weights_of_a_last_step_that_compares_pairs_of_classes_are_not_passed_off_as_the_decision():
    X, y = rings(3)
    clf = VanishingIdealClassifier(DENSE, final_estimator=SVC(kernel="linear")).fit(X, y)
    if clf.generators_[0].weight is not None:
        np.testing.assert_allclose(clf.decision_function(X), recomputed_scores(clf, X), atol=1e-6)


@pytest.mark.parametrize(
    "final", [LogisticRegression(max_iter=10_000), RandomForestClassifier(20, random_state=0)], ids=["linear", "forest"]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_last_step(final, n_classes):
    X, y = rings(n_classes)
    fresh, _ = rings(n_classes, seed=1)
    labels = np.array(["c", "a", "b"])[y]
    clf = VanishingIdealClassifier(DENSE, final_estimator=final).fit(X, labels)
    wanted = clone(final).fit(clf.transform(X), labels)
    assert list(clf.classes_) == sorted(set(labels)) == list(wanted.classes_)
    np.testing.assert_allclose(clf.predict_proba(fresh), wanted.predict_proba(clf.transform(fresh)), atol=1e-6)
    np.testing.assert_array_equal(clf.predict(fresh), clf.classes_[clf.predict_proba(fresh).argmax(axis=1)])


def test_methods_that_the_last_step_lacks_do_not_exist():
    X, y = rings()
    for clf in (VanishingIdealClassifier(), VanishingIdealClassifier(DENSE).fit(X, y)):
        assert not hasattr(clf, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba"):
            clf.predict_proba(X)
    forest = VanishingIdealClassifier(DENSE, final_estimator=RandomForestClassifier(5, random_state=0))
    for clf in (forest, forest.fit(X, y)):
        assert hasattr(clf, "predict_proba")
        assert not hasattr(clf, "decision_function")
    assert not hasattr(forest, "linear_coef_")
    assert not hasattr(forest, "intercept_")
    assert all(generator.weight is None for generator in forest.generators_)
    lines = str(forest.generators_).splitlines()
    assert lines[0] == f"|{forest.generators_[0].polynomial}|  (class 0)"
    assert len(lines) == len(forest.generators_)


def test_a_refit_with_another_last_step_forgets_the_weights_of_the_first():
    X, y = rings()
    clf = VanishingIdealClassifier(DENSE).fit(X, y)
    clf.set_params(final_estimator=RandomForestClassifier(5, random_state=0)).fit(X, y)
    assert clf.generators_[0].weight is None
    assert not hasattr(clf, "linear_coef_")
    assert not hasattr(clf, "intercept_")


@pytest.mark.parametrize("wrong", [LogisticRegression, "logistic"], ids=str)
def test_a_last_step_that_is_no_estimator_is_refused(wrong):
    X, y = rings()
    with pytest.raises(TypeError, match="Cannot clone object"):
        VanishingIdealClassifier(DENSE, final_estimator=wrong).fit(X, y)


def test_weights_that_the_last_step_cannot_use_are_refused():
    X, y = rings()
    with pytest.raises(ValueError, match="sample_weight"):
        VanishingIdealClassifier(DENSE, final_estimator=KNeighborsClassifier()).fit(X, y, sample_weight=1.0 + y)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["setosa", "virginica"]),
        np.array(["b", "a"], dtype=object),
        np.array([False, True]),
        np.array([7, -3]),
        np.array([1.0, 2.0]),
        np.array([0, 255], dtype=np.uint8),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_labels_of_any_kind_come_back(labels):
    X, y = rings()
    for clf in (VanishingIdealClassifier(DENSE), VanishingIdealClassifierCV(DENSE, psis=[0.003], Cs=[1.0])):
        clf.fit(X, labels[y])
        assert list(clf.classes_) == sorted(labels)
        found = clf.predict(X)
        assert found.dtype == labels.dtype
        assert set(found) == set(labels)
        assert clf.score(X, labels[y]) == np.mean(found == labels[y]) > 0.9
        assert {generator.label for generator in clf.generators_} == set(labels)
        # Positive scores belong to the last label.
        np.testing.assert_array_equal(found == clf.classes_[1], clf.decision_function(X) > 0)


def test_labels_as_a_categorical_column():
    X, y = rings(3)
    labels = pd.Series(pd.Categorical.from_codes(y, ["low", "mid", "high"]))
    clf = VanishingIdealClassifier(DENSE).fit(X, labels)
    assert list(clf.classes_) == ["high", "low", "mid"]
    assert clf.score(X, labels) > 0.8


@pytest.mark.parametrize("model", [VanishingIdealClassifier, VanishingIdealClassifierCV])
def test_one_class_is_refused(model):
    X, y = rings()
    with pytest.raises(ValueError, match="at least 2 classes, but y contains one class only"):
        model().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="continuous"):
        model().fit(X, X[:, 0])


def test_messages_name_a_class_as_the_user_does():
    X, y = rings()
    with pytest.raises(ValueError, match="one class only: 7"):
        VanishingIdealClassifier(DENSE).fit(X, np.full(len(y), 7))


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize(
    "model",
    [PerClass(DENSE), VanishingIdealClassifier(DENSE), VanishingIdealClassifierCV(DENSE, psis=[0.01])],
    ids=lambda model: type(model).__name__,
)
def test_non_finite_input_names_the_column(model, value, word):
    X, y = unit_rings()
    bad = X.copy()
    bad[7, 1] = value
    with pytest.raises(ValueError, match=rf"{word}.*column 1.*row 7"):
        clone(model).fit(bad, y)
    with pytest.raises(ValueError, match=rf"{word}.*'height'.*row 7"):
        clone(model).fit(pd.DataFrame(bad, columns=["width", "height", "depth"]), y)
    fitted = clone(model).fit(X, y)
    use = fitted.transform if isinstance(fitted, PerClass) else fitted.predict
    with pytest.raises(ValueError, match=rf"{word}.*column 1.*row 7"):
        use(bad)


def test_other_columns_than_fitted_are_refused_in_scikit_learns_words():
    X, y = unit_rings()
    for model in (VanishingIdealClassifier(DENSE), VanishingIdealClassifierCV(DENSE, psis=[0.01])):
        model.fit(X, y)
        for wrong in (X[:, :2], np.hstack([X, X])):
            with pytest.raises(ValueError, match="is expecting 3 features as input"):
                model.predict(wrong)
            with pytest.raises(ValueError, match="is expecting 3 features as input"):
                model.decision_function(wrong)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model.fit(frame, y)
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame[["c", "b", "a"]])
    with pytest.raises(ValueError, match="PerClass is expecting 3 features as input"):
        PerClass(DENSE).fit(X, y).transform(X[:, :2])


def test_labels_never_seen_count_as_wrong():
    X, y = rings()
    for clf in (VanishingIdealClassifier(DENSE), VanishingIdealClassifierCV(DENSE, psis=[0.003])):
        labels = np.array(["a", "b"])[y].astype(object)
        clf.fit(X, labels)
        right = int(np.sum(clf.predict(X) == labels))
        lost = int(np.sum(clf.predict(X)[:10] == labels[:10]))
        labels[:10] = "c"
        assert clf.score(X, labels) == (right - lost) / len(X)


@pytest.mark.parametrize("name", ["scale_features", "append_input", "scale_input"])
def test_flags_must_be_true_or_false(name):
    X, y = rings()
    for model in (VanishingIdealClassifier, VanishingIdealClassifierCV):
        with pytest.raises(ValueError, match=f"{name} must be True or False, got 'yes'"):
            model(**{name: "yes"}).fit(X, y)


@pytest.mark.parametrize(("C", "message"), [(0.0, "above 0"), (-1, "above 0"), ("1", "a number"), (np.nan, "a number")])
def test_wrong_c_is_refused(C, message):
    X, y = rings()
    with pytest.raises(ValueError, match=f"C must be {message}"):
        VanishingIdealClassifier(DENSE, C=C).fit(X, y)


@pytest.mark.parametrize("model", [PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV])
def test_wrong_n_jobs_is_refused(model):
    X, y = rings()
    for wrong in (0, 1.5, "2"):
        with pytest.raises(ValueError, match="n_jobs must be None or an integer other than 0"):
            model(n_jobs=wrong).fit(X, y)


def test_the_number_of_threads_does_not_change_a_bit_of_the_classifier():
    X, y = rings(2, n=140_000)
    X = X[:, :2]
    clf = VanishingIdealClassifier(OAVI(psi=0.01, solver="cg", boost="ihb"))
    one, two, again = (clone(clf).set_params(n_jobs=n).fit(X, y) for n in (1, 2, 2))
    for other in (two, again):
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
        np.testing.assert_array_equal(one.generators_.weights, other.generators_.weights)
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    np.testing.assert_array_equal(one.ideals_.transform(X), two.ideals_.transform(X))


@ALGORITHMS
def test_pickle_and_clone_keep_the_classifier(estimator):
    X, y = rings(3)
    clf = VanishingIdealClassifier(estimator, C=3.0).fit(X, y)
    wanted = clf.decision_function(X)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.decision_function(X), wanted)
    assert str(again.generators_) == str(clf.generators_)
    fresh = clone(clf)
    assert not hasattr(fresh, "classes_")
    assert fresh.get_params()["C"] == 3.0
    np.testing.assert_array_equal(fresh.fit(X, y).decision_function(X), wanted)


@pytest.mark.parametrize(
    ("n_classes", "final"),
    [(2, None), (3, None), (2, LogisticRegression(C=0.1, max_iter=1000, tol=1e-6))],
    ids=["2-L1SVC", "3-L1SVC", "2-logistic"],
)
def test_weights_count_like_repeated_rows(n_classes, final):
    X, y = rings(n_classes)
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    clf = VanishingIdealClassifier(DENSE, final_estimator=final)
    weighted = clone(clf).fit(X, y, sample_weight=counts)
    repeated = clone(clf).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    scores = repeated.decision_function(X)
    np.testing.assert_allclose(weighted.decision_function(X), scores, rtol=0, atol=1e-4 * np.abs(scores).max())
    plain = clone(clf).fit(X, y).decision_function(X)
    assert np.abs(plain - scores).max() > 0.01 * np.abs(scores).max()


def test_fit_does_not_touch_parameters_or_data():
    X, y = unit_rings()
    X.setflags(write=False)
    y.setflags(write=False)
    for model in (PerClass(DENSE), VanishingIdealClassifier(DENSE), VanishingIdealClassifierCV(DENSE, psis=[0.01])):
        before = repr(model.get_params())
        model.fit(X, y)
        assert repr(model.get_params()) == before
        assert not hasattr(DENSE, "generators_")


@pytest.mark.parametrize("kind", [np.float32, np.int64, bool])
def test_columns_of_other_types_are_numbers_too(kind):
    X, y = rings()
    data = (X.mean(axis=0) < X) if kind is bool else np.round(100 * X).astype(kind)
    clf = VanishingIdealClassifier(DENSE).fit(data, y)
    wanted = VanishingIdealClassifier(DENSE).fit(data.astype(float), y).decision_function(data.astype(float))
    np.testing.assert_allclose(clf.decision_function(data), wanted, rtol=0, atol=1e-3 * np.abs(wanted).max())


def test_constant_columns_are_survived():
    X, y = rings()
    data = np.column_stack([X, np.full(len(X), 5.0)])
    clf = VanishingIdealClassifier(DENSE).fit(data, y)
    found = clf.decision_function(data)
    np.testing.assert_allclose(found, recomputed_scores(clf, data), rtol=0, atol=1e-8 * np.abs(found).max())
    assert clf.score(data, y) > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_printed_generators_are_sorted_by_weight(n_classes):
    X, y = rings(n_classes)
    clf = VanishingIdealClassifier(DENSE).fit(X, y)
    size = np.array([np.abs(generator.weight).max() for generator in clf.generators_])
    head, *shown = str(clf.generators_).splitlines()
    towards = clf.classes_[1:] if n_classes == 2 else clf.classes_
    assert head.startswith(f"weight towards class {', '.join(map(str, towards))};")
    if not size.all():
        assert shown.pop() == f"{np.sum(size == 0)} generators have weight 0"
    assert len(shown) == np.sum(size > 0)
    n_weights = 1 if n_classes == 2 else n_classes
    printed = [np.abs([float(w) for w in line.split("|")[0].split()]).max() for line in shown]
    assert printed == sorted(printed, reverse=True)
    np.testing.assert_allclose(printed, np.sort(size[size > 0])[::-1], rtol=0.01)
    for line, place in zip(shown, np.argsort(-size), strict=False):
        label, polynomial, weight, _ = clf.generators_[place]
        assert len(line.split("|")[0].split()) == n_weights == np.size(weight)
        assert line.endswith(f"|{polynomial}|  (class {label})")
    assert repr(clf.generators_) == f"<ClassGenerators: {len(size)} of {n_classes} classes>"


def test_long_lists_of_generators_are_cut_when_printed():
    X, y = rings(3)
    clf = VanishingIdealClassifier(OAVI(psi=1e-4, solver="cg", boost="ihb"), C=100.0).fit(X, y)
    used = np.sum(np.abs(clf.generators_.weights).max(axis=0) > 0)
    assert used > 20
    lines = str(clf.generators_).splitlines()
    assert lines[21] == f"... and {used - 20} more"
    assert len(lines) <= 23


def test_generators_are_a_sequence():
    X, y = rings()
    generators = VanishingIdealClassifier(DENSE).fit(X, y).generators_
    assert len(list(generators)) == len(generators) > 3
    assert generators[-1].polynomial.to_text() == list(generators)[-1].polynomial.to_text()
    assert [g.label for g in generators[:2]] == [g.label for g in itertools.islice(generators, 2)]
    assert isinstance(generators[0].weight, float)
    with pytest.raises(IndexError):
        generators[len(generators)]


def test_names_of_columns_appear_in_the_polynomials():
    X, y = rings()
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    for clf in (VanishingIdealClassifier(DENSE), VanishingIdealClassifierCV(DENSE, psis=[0.003])):
        clf.fit(frame, y)
        assert list(clf.feature_names_in_) == ["width", "height", "depth"]
        text = str(clf.generators_)
        assert "width^2" in text
        assert "height^2" in text
        assert "x0" not in text
        np.testing.assert_array_equal(clf.predict(frame), clone(clf).fit(X, y).predict(X))
    names = VanishingIdealClassifier(DENSE).fit(frame, y).get_feature_names_out()
    assert list(names[-3:]) == ["width", "height", "depth"]
    assert names[0].startswith("0: ")
    assert len(set(names)) == len(names)


def test_polars_frames_give_the_same_model():
    X, y = rings()
    frame = pl.DataFrame({"width": X[:, 0], "height": X[:, 1], "depth": X[:, 2]})
    clf = VanishingIdealClassifier(DENSE).fit(frame, y)
    wanted = VanishingIdealClassifier(DENSE).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(clf.decision_function(frame), wanted)
    assert "width" in str(clf.generators_[0].polynomial)


def test_an_overflowing_class_warns_and_the_model_so_far_is_used():
    X, y = rings()
    with pytest.warns(ConvergenceWarning, match=r"max_terms=20.*Raise psi"):
        clf = VanishingIdealClassifier(OAVI(psi=1e-4, max_terms=20, solver="cg", boost="ihb")).fit(X, y)
    assert not all(model.complete_ for model in clf.ideals_.estimators_)
    assert clf.score(X, y) > 0.8


BOTH = pytest.mark.parametrize(
    "model", [VanishingIdealClassifier(DENSE), VanishingIdealClassifierCV(DENSE, psis=[0.003])], ids=["alone", "search"]
)


@BOTH
def test_the_classifier_is_a_transformer_in_a_pipeline(model):
    X, y = rings()
    pipeline = make_pipeline(clone(model), LogisticRegression(max_iter=10_000)).fit(X, y)
    columns = clone(model).fit(X, y).transform(X)
    alone = LogisticRegression(max_iter=10_000).fit(columns, y)
    np.testing.assert_allclose(pipeline.decision_function(X), alone.decision_function(columns))
    np.testing.assert_array_equal(clone(model).fit_transform(X, y), columns)
    assert len(pipeline[:-1].get_feature_names_out()) == columns.shape[1]


@BOTH
@pytest.mark.parametrize("append_input", [True, False])
def test_names_of_the_columns_follow_those_of_the_input(model, append_input):
    X, y = rings()
    model = clone(model).set_params(append_input=append_input).fit(X, y)
    names = model.get_feature_names_out(["y0", "y1", "y2"])
    assert len(names) == model.transform(X).shape[1]
    assert list(names[-3:]) == ["y0", "y1", "y2"] or not append_input
    assert [name.replace("y", "x") for name in names] == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="input_features should have length"):
        model.get_feature_names_out(["a", "b"])


@BOTH
@pytest.mark.parametrize("final_estimator", [None, LogisticRegression(max_iter=10_000)], ids=["svm", "logistic"])
def test_the_container_of_transform_does_not_reach_the_last_step(model, final_estimator):
    X, y = rings()
    model = clone(model).set_params(final_estimator=final_estimator)
    expected = clone(model).fit(X, y)
    model.set_output(transform="pandas").fit(X, y)
    columns = model.transform(X)
    assert isinstance(columns, pd.DataFrame)
    assert list(columns.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(columns, expected.transform(X))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


# --- VanishingIdealClassifierCV -----------------------------------------------------------------------------------

PSIS = [0.05, 0.003]
CS = [0.1, 1.0]


def assert_same_as_grid_search(search, X, y):
    """Scores of all folds and pairs are those of GridSearchCV, and so is the best pair."""
    clf = VanishingIdealClassifier(
        search.estimator,
        scale_features=search.scale_features,
        append_input=search.append_input,
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


@pytest.mark.parametrize(
    ("folds", "scale_input"),
    [*((folds, False) for folds in FOLDS), *((folds, True) for folds in ("number", "KFold", "ShuffleSplit"))],
)
def test_scores_are_those_of_grid_search(folds, scale_input):
    X, y = (rings if scale_input else unit_rings)(noise=0.2)
    search = VanishingIdealClassifierCV(DENSE, psis=PSIS, Cs=CS, cv=FOLDS[folds], scale_input=scale_input)
    assert_same_as_grid_search(search, X, y)


@ALGORITHMS
def test_scores_are_those_of_grid_search_for_every_algorithm_and_three_classes(estimator):
    X, y = rings(3, noise=0.2)
    assert_same_as_grid_search(VanishingIdealClassifierCV(estimator, psis=[0.01, 0.001], Cs=[1.0]), X, y)


@pytest.mark.parametrize("append_input", [True, False])
@pytest.mark.parametrize("scale_features", [True, False])
def test_scores_are_those_of_grid_search_with_other_options(append_input, scale_features):
    X, y = rings(noise=0.2)
    options = {"append_input": append_input, "scale_features": scale_features}
    assert_same_as_grid_search(VanishingIdealClassifierCV(DENSE, psis=PSIS, Cs=CS, **options), X, y)


def squared_accuracy(model, X, y):
    return model.score(X, y) ** 2


@pytest.mark.parametrize(
    "scoring",
    ["balanced_accuracy", "roc_auc", "f1", squared_accuracy, make_scorer(balanced_accuracy_score, adjusted=True)],
    ids=str,
)
def test_scores_are_those_of_grid_search_for_other_scores(scoring):
    X, y = rings(noise=0.2)
    used = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:25]]  # 40 and 25 rows
    assert_same_as_grid_search(
        VanishingIdealClassifierCV(DENSE, psis=PSIS, Cs=[1.0], scoring=scoring), X[used], y[used]
    )


def test_scores_are_those_of_grid_search_for_a_psi_without_generators_in_some_fold():
    """NaN there as here, and last in rank."""
    rng = np.random.default_rng(0)
    x = rng.random(60)
    X = np.column_stack([x, 0.5 * x + 0.2 * rng.random(60) * (np.arange(60) < 5)])
    y = np.arange(60) % 2
    search = VanishingIdealClassifierCV(
        OAVI(max_degree=1, solver="cg", boost="ihb"), psis=[0.2, 1e-9], Cs=[1.0], cv=KFold(2), scale_input=False
    ).fit(X, y)
    assert np.isnan(search.cv_results_["split1_test_score"]).tolist() == [False, True]
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
    assert search.cv_results_["rank_test_score"].tolist() == [1, 2]
    assert search.best_params_["psi"] == 0.2


def test_training_rows_that_are_listed_twice_count_twice():
    X, y = rings(noise=0.2)
    rng = np.random.default_rng(0)
    folds = [(rng.integers(0, 80, 80), np.arange(80)) for _ in range(3)]
    assert_same_as_grid_search(VanishingIdealClassifierCV(DENSE, psis=PSIS, Cs=CS, cv=folds), X, y)


@pytest.mark.parametrize("kind", ["mask", "negative"])
def test_training_rows_may_be_masks_or_counted_from_the_end_as_in_grid_search(kind):
    X, y = rings(noise=0.2)
    masks = [np.arange(80) < 50, np.arange(80) >= 30]
    folds = [(mask if kind == "mask" else np.flatnonzero(mask) - 80, np.flatnonzero(~mask)) for mask in masks]
    assert_same_as_grid_search(VanishingIdealClassifierCV(DENSE, psis=PSIS, Cs=CS, cv=folds), X, y)


def test_a_callable_score_sees_the_rows_of_the_user():
    def weighted_accuracy(model, X, y):
        return accuracy_score(y, model.predict(X), sample_weight=X[:, 2])

    X, y = rings(noise=0.2)
    assert_same_as_grid_search(VanishingIdealClassifierCV(DENSE, psis=PSIS, Cs=CS, scoring=weighted_accuracy), X, y)


def test_several_scores_at_once_are_refused():
    X, y = rings()
    with pytest.raises(ValueError, match="scoring"):
        VanishingIdealClassifierCV(DENSE, psis=[0.01], scoring=["accuracy", "f1"]).fit(X, y)


def test_results_hold_every_pair():
    X, y = rings(3, noise=0.2)
    search = VanishingIdealClassifierCV(DENSE, psis=[0.001, 0.05], Cs=[10.0, 0.1], cv=4).fit(X, y)
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


@ALGORITHMS
def test_the_best_estimator_is_a_direct_fit(estimator):
    X, y = rings(3, noise=0.2)
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    search = VanishingIdealClassifierCV(estimator, psis=[0.01, 0.001], append_input=False).fit(frame, y)
    wanted = VanishingIdealClassifier(
        clone(estimator).set_params(psi=search.best_params_["psi"]), C=search.best_params_["C"], append_input=False
    ).fit(frame, y)
    np.testing.assert_array_equal(search.decision_function(frame), wanted.decision_function(frame))
    np.testing.assert_array_equal(search.predict(frame), wanted.predict(frame))
    assert str(search.generators_) == str(wanted.generators_)
    assert search.generators_ is search.best_estimator_.generators_
    assert search.score(frame, y) == wanted.score(frame, y)
    assert estimator.get_params()["psi"] != 0.01  # the given one is left alone


def test_ties_choose_the_largest_psi_then_the_smallest_c():
    X, y = rings(noise=0.01)
    search = VanishingIdealClassifierCV(DENSE, psis=[1e-4, 0.003, 1e-3], Cs=[10.0, 3.0, 30.0]).fit(X, y)
    assert (search.cv_results_["mean_test_score"] == 1.0).all()
    assert (search.cv_results_["rank_test_score"] == 1).all()
    assert search.best_params_ == {"psi": 0.003, "C": 3.0}


def within_class_variance(X, y):
    scaled = MinMaxScaler().fit_transform(X)
    return max(scaled[y == k].var(axis=0).max() for k in np.unique(y))


def test_automatic_psis_descend_over_five_decades():
    X, y = rings()
    search = VanishingIdealClassifierCV(OAVI(solver="cg", boost="ihb", max_degree=4), Cs=[1.0, 10.0]).fit(X[:, :2], y)
    psis = search.cv_results_["param_psi"][::2]
    assert psis[0] == pytest.approx(within_class_variance(X[:, :2], y))
    np.testing.assert_allclose(psis[1:] / psis[:-1], 10.0**-0.5)
    assert psis[-1] == pytest.approx(psis[0] * 1e-5)


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


def test_automatic_psis_leave_out_exactly_those_whose_ideals_are_too_large():
    rng = np.random.default_rng(0)
    X, y = rng.random((150, 8)), np.arange(150) % 2
    # Two ideals of at most 50 terms in every fold: the estimator's own bound, if it is the smaller one.
    dense = OAVI(solver="cg", boost="ihb", max_terms=50)
    search = VanishingIdealClassifierCV(dense, Cs=[1.0], refit=False).fit(X, y)
    found = search.cv_results_["param_psi"]
    grid = within_class_variance(X, y) * 10.0 ** -(np.arange(11) / 2)
    small = []
    for psi in grid:
        complete = []
        for train, _ in StratifiedKFold(3).split(X, y):
            scaled = MinMaxScaler().fit_transform(X[train])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                models = [clone(dense).set_params(psi=psi).fit(scaled[y[train] == k]) for k in range(2)]
            complete += [model.complete_ for model in models]
        if all(complete):
            small.append(psi)
    np.testing.assert_allclose(found, small)
    assert 0 < len(found) < 11


def test_automatic_psis_keep_the_largest_when_all_are_too_large():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), np.arange(60) % 2
    search = VanishingIdealClassifierCV(OAVI(solver="cg", boost="ihb", max_terms=9), Cs=[1.0], refit=False)
    search.fit(X * [1, 1, 1, 1, 1, 1, 1, 100], y)
    np.testing.assert_allclose(search.cv_results_["param_psi"][0], within_class_variance(X, y))


@pytest.mark.parametrize("estimator", [ABM(), AVI(max_degree=3), VCA(max_degree=3)], ids=["ABM", "AVI", "VCA"])
def test_automatic_psis_suit_every_algorithm(estimator):
    X, y = rings(noise=0.05)
    search = VanishingIdealClassifierCV(estimator, Cs=[1.0], cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert (np.diff(search.cv_results_["param_psi"]) <= 0).all()


def test_automatic_psis_for_columns_of_true_and_false():
    X, y = rings()
    search = VanishingIdealClassifierCV(DENSE, Cs=[1.0]).fit(X.mean(axis=0) < X, y)
    wanted = VanishingIdealClassifierCV(DENSE, Cs=[1.0]).fit((X.mean(axis=0) < X).astype(float), y)
    np.testing.assert_allclose(search.cv_results_["param_psi"], wanted.cv_results_["param_psi"])


def test_automatic_psis_for_small_integers():
    X, y = rings()
    data = np.round(255 * MinMaxScaler().fit_transform(X) - 128).astype(np.int8)
    search = VanishingIdealClassifierCV(DENSE, Cs=[1.0]).fit(data, y)
    assert search.cv_results_["param_psi"][0] == pytest.approx(within_class_variance(data.astype(float), y))


@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning")
@pytest.mark.parametrize("algorithm", [ABM, AVI])
@pytest.mark.parametrize("case", ["unscaled", "constant"])
def test_automatic_psis_stay_below_1_for_algorithms_that_need_it(algorithm, case):
    X, y = rings()
    if case == "unscaled":
        search = VanishingIdealClassifierCV(algorithm(max_degree=2), scale_input=False)
    else:  # every class is one point
        X, search = np.column_stack([y, 1 - y]), VanishingIdealClassifierCV(algorithm(max_degree=2))
    search.fit(X, y)
    assert search.cv_results_["param_psi"].max() < 1.0


def test_without_refit_there_are_results_but_no_model():
    X, y = rings()
    search = VanishingIdealClassifierCV(DENSE, psis=PSIS, refit=False).fit(X, y)
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
    refitted = VanishingIdealClassifierCV(DENSE, psis=PSIS).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], refitted.cv_results_["mean_test_score"])


def test_a_fit_without_refit_forgets_the_model_of_the_first():
    X, y = rings()
    search = VanishingIdealClassifierCV(DENSE, psis=PSIS).fit(X, y)
    search.set_params(refit=False).fit(X, 1 - y)
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "generators_")


def test_a_class_with_fewer_rows_than_folds_is_refused():
    X, y = rings()
    labels = np.where(np.arange(len(y)) < 2, "rare", "common").astype(object)
    labels[10:40] = "other"
    with pytest.raises(ValueError, match=r"'rare'.* has 2 rows, fewer than the 3 folds: lower cv, or leave out"):
        VanishingIdealClassifierCV(DENSE, psis=PSIS).fit(X, labels)
    search = VanishingIdealClassifierCV(DENSE, psis=PSIS, cv=2).fit(X, labels)
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
        VanishingIdealClassifierCV(DENSE, psis=PSIS, cv=folds).fit(X[order], y[order])


@pytest.mark.parametrize("name", ["psis", "Cs"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "must be a list of numbers"),
        ([[0.1, 0.2]], "must be a list of numbers"),
        ("many", "must be .*number.*, got 'many'"),
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
        VanishingIdealClassifierCV(DENSE, **{"psis": [0.01], name: value}).fit(X, y)


def test_c_of_zero_is_refused_and_psi_of_zero_is_not():
    X, y = rings()
    with pytest.raises(ValueError, match=r"Cs must be above 0.*, got 0"):
        VanishingIdealClassifierCV(DENSE, psis=[0.01], Cs=[1, 0]).fit(X, y)
    search = VanishingIdealClassifierCV(OAVI(max_degree=2, solver="agd", boost="ihb"), psis=[0.0, 0.01]).fit(X, y)
    assert search.best_params_["psi"] == 0.01


def test_an_infinite_c_is_refused_without_nonsense_about_minus_infinity():
    X, y = rings()
    with pytest.raises(ValueError, match="Cs") as caught:
        VanishingIdealClassifierCV(DENSE, psis=[0.01], Cs=[np.inf]).fit(X, y)
    assert "-inf" not in str(caught.value)


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, lambda values: values[0]], ids=str)
def test_grids_may_be_any_kind_of_list_or_one_number(kind):
    X, y = rings()
    search = VanishingIdealClassifierCV(DENSE, psis=kind([0.01, 0.001]), Cs=kind([1, 2])).fit(X, y)
    assert len(search.cv_results_["params"]) == np.size(search.psis) * np.size(search.Cs)
    assert type(search.best_params_["psi"]) is type(search.best_params_["C"]) is float


@pytest.mark.parametrize(
    ("cv", "message"), [("three", "cv"), (0.5, "cv"), (1, "n_splits=2 or more"), (0, "n_splits=2 or more")]
)
def test_wrong_folds_are_refused(cv, message):
    X, y = rings()
    with pytest.raises(ValueError, match=message):
        VanishingIdealClassifierCV(DENSE, psis=[0.01], cv=cv).fit(X, y)


def test_no_folds_at_all_are_refused_as_such():
    X, y = rings()
    with pytest.raises(ValueError, match=r"cv|fold.*at least"):
        VanishingIdealClassifierCV(DENSE, psis=[0.01], cv=[]).fit(X, y)


def test_a_fold_without_test_rows_is_refused_as_such():
    X, y = rings()
    with pytest.raises(ValueError, match="fold 0"):
        VanishingIdealClassifierCV(DENSE, psis=[0.01], cv=[(np.arange(80), np.arange(0))]).fit(X, y)


def test_wrong_scores_are_refused():
    X, y = rings()
    with pytest.raises(ValueError, match="scoring"):
        VanishingIdealClassifierCV(DENSE, psis=[0.01], scoring="goodness").fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        VanishingIdealClassifierCV(DENSE, psis=[0.01], scoring="neg_log_loss").fit(X, y)


@pytest.mark.parametrize("name", ["refit"])
def test_flags_of_the_search_must_be_true_or_false(name):
    X, y = rings()
    with pytest.raises(ValueError, match=f"{name} must be True or False, got 1"):
        VanishingIdealClassifierCV(**{name: 1}).fit(X, y)


@pytest.mark.parametrize("estimator", [DENSE, OAVI(), VCA()], ids=["OAVI-cg", "OAVI-bpcg", "VCA"])
def test_the_number_of_threads_does_not_change_a_bit_of_the_search(estimator):
    X, y = rings(3, n=3000)
    search = VanishingIdealClassifierCV(estimator, psis=[0.05, 0.005], Cs=CS, scoring=decision_sum)
    one, two = (clone(search).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    for name, column in one.cv_results_.items():
        assert np.array_equal(column, two.cv_results_[name]), name
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def decision_sum(model, X, y):
    """A score that changes with every bit of the model."""
    return float(np.sum(model.decision_function(X)[np.arange(len(y)), y]))


def test_progress_is_shown_on_the_standard_error(capsys):
    X, y = rings()
    with show_progress():
        VanishingIdealClassifierCV(DENSE, psis=PSIS, refit=False).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "psi x fold" in err
    assert "6/6" in err
    assert "pass 2" not in err  # after the first, which reads the rows, there are hundreds
    with show_progress():
        VanishingIdealClassifier(DENSE).fit(X, y)
    assert "pass 1" in capsys.readouterr().err
    VanishingIdealClassifierCV(DENSE, psis=PSIS).fit(X, y)
    assert capsys.readouterr().err == ""


def test_progress_without_tqdm_names_the_extra(monkeypatch):
    X, y = rings()
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"pip install 'vanishing\[progress\]'"), show_progress():
        VanishingIdealClassifierCV(DENSE, psis=PSIS).fit(X, y)
    assert VanishingIdealClassifierCV(DENSE, psis=PSIS).fit(X, y).best_score_ > 0.8


def test_filters_of_warnings_are_as_before_after_a_fit_with_threads(monkeypatch):
    """Thread 1 starts its SVM when thread 0 is in its own, and ends it when thread 0 has left."""
    X, y = unit_rings()
    original, fitted_by = (
        vanishing.classification.crossval.svm_path,
        vanishing.classification.crossval.FeatureMap.fitted_by,
    )
    number, lock, mine = itertools.count(), threading.Lock(), threading.local()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def before_svm(*arguments, **options):
        with lock:
            mine.number = next(number)
        if mine.number == 1:
            first_in.wait(5)
        return fitted_by(*arguments, **options)

    def svm(*arguments, **options):
        (first_in if mine.number == 0 else second_in).set()
        (second_in if mine.number == 0 else first_out).wait(5)
        return original(*arguments, **options)

    def score(model, X, y):
        first_out.set()
        return model.score(X, y)

    monkeypatch.setattr(vanishing.classification.crossval, "svm_path", svm)
    monkeypatch.setattr(vanishing.classification.crossval.FeatureMap, "fitted_by", before_svm)
    before = list(warnings.filters)
    VanishingIdealClassifierCV(DENSE, psis=[0.003], cv=2, scale_input=False, n_jobs=2, refit=False, scoring=score).fit(
        X, y
    )
    assert warnings.filters == before


def test_pickle_and_clone_keep_the_search():
    X, y = rings()
    search = VanishingIdealClassifierCV(DENSE, psis=PSIS, Cs=CS).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))
    assert again.best_params_ == search.best_params_
    fresh = clone(search)
    assert not hasattr(fresh, "cv_results_")
    np.testing.assert_array_equal(fresh.fit(X, y).decision_function(X), search.decision_function(X))


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
    search = VanishingIdealClassifierCV().fit(X[:, :2], y)
    assert search.score(fresh[:, :2], labels) > 0.95
    assert isinstance(search.best_estimator_.estimator, OAVI)
    assert VanishingIdealClassifier().fit(X[:, :2], y).score(fresh[:, :2], labels) > 0.9
