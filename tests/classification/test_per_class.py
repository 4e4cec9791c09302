"""Ideals per class: columns, names, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rings import ALGORITHMS, DENSE, rings, unit_rings
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from vanishing import (
    ABM,
    AVI,
    OAVI,
    VCA,
    PerClass,
    RangeWarning,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
)

# The default grid of the cross-validation has 21 psis and 3 Cs; the checks make some sixty fits.
CHECKED = [
    PerClass(),
    VanishingIdealClassifier(),
    VanishingIdealClassifierCV(OAVI(solver="cg", boost="ihb"), psis=(0.1, 0.003), Cs=(1.0,), cv=2),
]
CHECKED_SLOWLY = [PerClass(OAVI(psi=100.0, solver="cg", boost="ihb"))]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED_SLOWLY)
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


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


@pytest.mark.slow
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
