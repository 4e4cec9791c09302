import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from vanishing import ABM, AVI, OAVI, VCA

ESTIMATORS = [OAVI(), OAVI(solver="cg", boost="ihb"), OAVI(solver="agd", boost="ihb"), ABM(), AVI(), VCA()]
# Conventions do not depend on the degree, which on a few rows far outside the unit cube is high and takes seconds.
CHECKED_SLOWLY = [OAVI(solver="cg", boost="ihb", max_degree=4), OAVI(solver="agd", boost="ihb")]


@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([OAVI(), ABM(), AVI(), VCA()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vanishing.RangeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED_SLOWLY)
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


@pytest.fixture
def labelled():
    rng = np.random.default_rng(0)
    radius = np.repeat([0.3, 0.45], 150)
    angle = rng.uniform(0, 2 * np.pi, 300)
    X = 0.5 + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + rng.normal(0, 0.01, X.shape), np.repeat([0, 1], 150)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_pipeline_and_grid_search(labelled, estimator):
    X, y = labelled
    pipeline = make_pipeline(MinMaxScaler(), clone(estimator), LogisticRegression(C=1e4, max_iter=1000))
    name = type(estimator).__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__psi": [1e-3, 1e-6]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85
    assert set(search.cv_results_["params"][0]) == {f"{name}__psi"}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("dump", [lambda m, path: path.write_bytes(pickle.dumps(m)), joblib.dump])
def test_pickle_and_joblib_keep_the_model(labelled, estimator, dump, tmp_path):
    X, _ = labelled
    model = clone(estimator).fit(X)
    dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_frames_in_frames_out(labelled, estimator, kind, frame):
    X, _ = labelled
    table = frame({"width": X[:, 0], "height": X[:, 1]})
    model = clone(estimator).set_output(transform=kind).fit(table)
    out = model.transform(table)
    assert isinstance(out, frame)
    assert list(out.columns) == list(model.get_feature_names_out())
    assert len(set(out.columns)) == len(model.generators_)
    if not isinstance(estimator, VCA):
        assert all("width" in name or "height" in name for name in out.columns)
    np.testing.assert_array_equal(out.to_numpy(), clone(estimator).fit(X).transform(X))


def test_long_names_are_shortened_and_stay_different(labelled):
    X = np.random.default_rng(0).uniform(size=(500, 6))
    names = OAVI(0.001).fit(X).get_feature_names_out()
    assert max(map(len, names)) < 80
    assert len(set(names)) == len(names)
    assert any(name.endswith("+ ...") for name in names)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_fit_does_not_touch_parameters_or_data(labelled, estimator):
    X, _ = labelled
    X.setflags(write=False)
    model = clone(estimator)
    before = model.get_params()
    assert model.fit(X).get_params() == before


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_number_of_threads_does_not_change_a_bit(estimator):
    X = np.random.default_rng(0).uniform(size=(300_000, 3))
    one, two = (clone(estimator).set_params(n_jobs=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.transform(X), two.transform(X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_weights_count_like_repeated_rows(labelled, estimator):
    X, _ = labelled
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = clone(estimator).fit(X, sample_weight=counts)
    repeated = clone(estimator).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-8)


def test_inverse_hessian_boosting_is_off_only_for_the_fit_that_needs_it():
    """(INF): y0 leaves the ball of radius tau - 1 = 1; the parameters, and the next fit, know nothing of it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=200)
    steep = np.column_stack([0.1 * x, x])
    tame = np.column_stack([x, 0.1 * x])
    model = OAVI(1e-6, tau=2.0, max_degree=2).fit(steep)
    assert np.abs(model.generators_.coef).sum(axis=1).max(initial=0.0) <= 2.0 + 1e-9
    assert "x1" in list(model.order_ideal_)
    assert model.get_params()["boost"] == "wihb"
    again = model.fit(tame)
    np.testing.assert_array_equal(again.transform(tame), OAVI(1e-6, tau=2.0, max_degree=2).fit(tame).transform(tame))
