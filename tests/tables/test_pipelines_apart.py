"""Explanations and reports through pipelines: encoders of scikit-learn and ours, with names of columns or without."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import vanishing
from vanishing import OAVI, TableEncoder, VanishingIdealClassifier, VanishingIdealClassifierCV, discover

pd = pytest.importorskip("pandas")


def table(n=300, seed=0):
    """A category, another one whose name begins like it, a number with gaps, and whether a row is one of interest."""
    rng = np.random.default_rng(seed)
    color, tone = rng.choice(["red", "blue", "green"], n), rng.choice(["dark", "light"], n)
    size = rng.normal(size=n)
    y = np.where((color == "red") | (size > 0.5), "yes", "no")
    size[::17] = np.nan
    return pd.DataFrame({"color": color, "color_tone": tone, "size": size}), y


def search():
    return VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2)


STEPS = {
    "ours": (TableEncoder(),),
    "columns": (
        make_column_transformer(
            (OneHotEncoder(), ["color", "color_tone"]),
            (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["size"]),
        ),
    ),
    "remainder": (
        make_column_transformer((OneHotEncoder(), [0, 1]), remainder=SimpleImputer(), verbose_feature_names_out=False),
        StandardScaler(),
    ),
    "frames": (
        make_column_transformer((OneHotEncoder(sparse_output=False), [True, True, False]), remainder=SimpleImputer())
        .set_output(transform="pandas"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=STEPS)
def fitted(request):
    X, y = table()
    return make_pipeline(*STEPS[request.param], search()).fit(X, y), X


def test_the_columns_of_the_table_share_the_decision(fitted):
    model, X = fitted
    found = vanishing.explain(model, X[:20], by="column")
    assert sorted(found) == sorted(["intercept", *X.columns])
    np.testing.assert_allclose(found.sum(axis=1), model.decision_function(X[:20]))
    assert found["color"].std() > 5.0 * found["color_tone"].std()


def test_one_row_is_explained_by_its_values(fitted):
    model, X = fitted
    one = vanishing.explain(model, X.iloc[1], by="column")
    rows = vanishing.explain(model, X.iloc[[1]], by="column")
    values = {text.split(" = ")[0]: value for text, value in one.contributions}
    assert values == pytest.approx(rows.iloc[0].drop("intercept").to_dict())
    assert f"color = {X['color'][1]}" in dict(one.contributions)
    assert one.label == model.predict(X.iloc[[1]])[0]


def test_a_reference_is_a_row_of_the_table(fitted):
    model, X = fitted
    found = vanishing.explain(model, X.iloc[:3], by="column", reference=X.iloc[5])
    np.testing.assert_allclose(found["intercept"], model.decision_function(X.iloc[[5]])[0])
    np.testing.assert_allclose(
        vanishing.explain(model, X.iloc[5], by="column", reference=X.iloc[5]).contributions[0][1], 0.0
    )


def test_terms_have_the_names_that_the_encoder_gives(fitted):
    model, X = fitted
    found = vanishing.explain(model, X[:4])
    np.testing.assert_allclose(found.sum(axis=1), model.decision_function(X[:4]))
    assert any("color" in name and any(level in name for level in ("red", "blue", "green")) for name in found)
    assert not any("x0" in name for name in found)


@pytest.mark.parametrize("step", [np.log1p, lambda X: np.hstack([X, X[:, :1] * X]), None])
def test_steps_that_name_or_mix_columns_otherwise_keep_the_sum(step):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.gamma(2.0, 1.0, (200, 2)), columns=["a", "b"])
    first = PCA(2) if step is None else FunctionTransformer(step)
    model = make_pipeline(StandardScaler(with_mean=False), first, search())
    model.fit(X.to_numpy() if step else X, np.where(X["a"] > X["b"], "up", "down"))
    rows = X.to_numpy() if step else X
    found = vanishing.explain(model, rows[:9], by="column")
    np.testing.assert_allclose(found.sum(axis=1), model.decision_function(rows[:9]))
    assert len(list(found)) == 1 + model[-1].n_features_in_


def test_a_model_alone_is_explained_as_by_its_method():
    X, y = table()
    numbers = TableEncoder().fit_transform(X)
    clf = VanishingIdealClassifier(OAVI(0.01)).fit(numbers, y)
    assert vanishing.explain(clf, numbers[:3], by="column").equals(clf.explain(numbers[:3], by="column"))


@pytest.mark.slow
def test_a_report_through_a_pipeline_counts_its_errors(fitted, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    model, X = fitted
    _, y = table()
    page = vanishing.report(model, X, y, tmp_path / "page.html")
    assert f"<strong>{np.mean(model.predict(X) == y):.2%}</strong>" in page.html
    assert "color" in page.html
    assert (tmp_path / "page.html").read_text("utf-8") == page.html


def test_other_models_have_the_report_of_their_method_or_are_refused():
    pytest.importorskip("matplotlib").use("Agg")
    x = np.linspace(1.0, 2.0, 60)
    laws = discover(np.column_stack([x, x**2]), names=["x", "y"])
    assert vanishing.report(laws, np.column_stack([x, x**2])).html.count("<section") > 1
    with pytest.raises(ValueError, match="StandardScaler has no report"):
        vanishing.report(StandardScaler().fit(x[:, None]), x[:, None])
