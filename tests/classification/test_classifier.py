"""The classifier on top of the ideals: its decision, its last step, its labels and its printed generators."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rings import ALGORITHMS, DENSE, rings, unit_rings
from searches import grid_search
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC

from vanishing import OAVI, Columns, PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV


def recomputed_scores(clf, X):
    """The sum of weights times |g| and g, and of inputs and intercept, term by term in the user's units."""
    scores = X @ clf.linear_coef_.T + clf.intercept_
    for _, polynomial, weight, _, signed_weight, _ in clf.generators_:
        values = polynomial.evaluate(X)
        scores = scores + np.outer(np.abs(values), weight) + np.outer(values, signed_weight)
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
    assert clf.generators_[0].weight is not None
    clf.set_params(final_estimator=RandomForestClassifier(5, random_state=0)).fit(X, y)
    assert clf.generators_[0].weight is None
    assert not hasattr(clf, "linear_coef_")
    with pytest.raises(AttributeError, match="RandomForestClassifier has no weights"):
        _ = clf.intercept_


def test_generators_are_read_once_and_anew_after_another_fit():
    X, y = rings()
    clf = VanishingIdealClassifier(OAVI(psi=0.1)).fit(X, y)
    before = clf.generators_
    assert clf.generators_ is before
    fresh = VanishingIdealClassifier(DENSE).fit(X, y)
    clf.set_params(estimator=DENSE).fit(X, y)
    assert str(clf.generators_) == str(fresh.generators_) != str(before)
    np.testing.assert_array_equal(clf.linear_coef_, fresh.linear_coef_)
    again = pickle.loads(pickle.dumps(clf))
    assert str(again.generators_) == str(fresh.generators_)


@pytest.mark.parametrize("wrong", [LogisticRegression, "logistic"], ids=str)
def test_a_last_step_that_is_no_estimator_is_refused(wrong):
    X, y = rings()
    with pytest.raises(TypeError, match="Cannot clone object"):
        VanishingIdealClassifier(DENSE, final_estimator=wrong).fit(X, y)


def test_weights_that_the_last_step_cannot_use_are_refused():
    X, y = rings()
    with pytest.raises(ValueError, match="sample_weight"):
        VanishingIdealClassifier(DENSE, final_estimator=KNeighborsClassifier()).fit(X, y, sample_weight=1.0 + y)


@pytest.mark.slow
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
    for clf in (VanishingIdealClassifier(DENSE), grid_search(DENSE, psis=[0.003], Cs=[1.0])):
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
    [PerClass(DENSE), VanishingIdealClassifier(DENSE), grid_search(DENSE, psis=[0.01])],
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


@pytest.mark.slow
def test_other_columns_than_fitted_are_refused_in_scikit_learns_words():
    X, y = unit_rings()
    for model in (VanishingIdealClassifier(DENSE), grid_search(DENSE, psis=[0.01])):
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
    for clf in (VanishingIdealClassifier(DENSE), grid_search(DENSE, psis=[0.003])):
        labels = np.array(["a", "b"])[y].astype(object)
        clf.fit(X, labels)
        right = int(np.sum(clf.predict(X) == labels))
        lost = int(np.sum(clf.predict(X)[:10] == labels[:10]))
        labels[:10] = "c"
        assert clf.score(X, labels) == (right - lost) / len(X)


@pytest.mark.parametrize("name", ["scale_features", "append_input"])
def test_flags_must_be_true_or_false(name):
    X, y = rings()
    with pytest.raises(ValueError, match=f"{name} must be True or False, got 'yes'"):
        VanishingIdealClassifier(**{name: "yes"}).fit(X, y)


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


@pytest.mark.slow
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
    for model in (PerClass(DENSE), VanishingIdealClassifier(DENSE), grid_search(DENSE, psis=[0.01])):
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
        label, polynomial, weight, *_ = clf.generators_[place]
        assert len(line.split("|")[0].split()) == n_weights == np.size(weight)
        assert line.endswith(f"|{polynomial}|  (class {label})")
    assert repr(clf.generators_).startswith(f"<ClassGenerators: {len(size)} of {n_classes} classes\n  weight towards")


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


@pytest.mark.slow
def test_names_of_columns_appear_in_the_polynomials():
    X, y = rings()
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    for clf in (VanishingIdealClassifier(DENSE), grid_search(DENSE, psis=[0.003])):
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
    "model", [VanishingIdealClassifier(DENSE), grid_search(DENSE, psis=[0.003])], ids=["alone", "search"]
)


@pytest.mark.slow
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
    alone = isinstance(model, VanishingIdealClassifier)
    options = {"append_input": append_input} if alone else {"columns": Columns(append_input=append_input)}
    model = clone(model).set_params(**options).fit(X, y)
    names = model.get_feature_names_out(["y0", "y1", "y2"])
    assert len(names) == model.transform(X).shape[1]
    assert list(names[-3:]) == ["y0", "y1", "y2"] or not append_input
    assert [name.replace("y", "x") for name in names] == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="input_features should have length"):
        model.get_feature_names_out(["a", "b"])


@pytest.mark.slow
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
