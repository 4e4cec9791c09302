"""Pictures of classifiers and detectors: what they draw."""

import numpy as np
import pytest

from vanishing import OAVI, VanishingIdealClassifier, VanishingIdealClassifierCV
from vanishing.plots import (
    plot_confusion,
    plot_contributions,
    plot_control_chart,
    plot_effects,
    plot_episodes,
    plot_tuning,
    plot_weights,
)
from vanishing.plots.style import LOGARITHMIC, MOST_POINTS, distinct_labels, new_axes, tame


def rings(n_classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 60)
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, y.size), 1.0 + y + rng.normal(0.0, 0.05, y.size)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_those_of_the_largest_terms(n_classes):
    clf = VanishingIdealClassifier(OAVI(0.001)).fit(*rings(n_classes))
    ax = plot_weights(clf, n_terms=3)
    terms = clf.formula_.ordered()[:3]
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert [label[:15] for label in shown] == [term.text[:15] for term in terms]
    assert len(set(shown)) == len(terms)
    drawn = (
        np.array([bar.get_width() for bar in ax.patches]) if n_classes == 2 else np.asarray(ax.images[0].get_array())
    )
    np.testing.assert_allclose(np.abs(drawn).reshape(len(terms), -1).max(axis=1), [term.spread for term in terms])


def test_contributions_sum_to_the_decision():
    X, y = rings(2)
    clf = VanishingIdealClassifier(OAVI(0.001)).fit(X, y)
    explanation = clf.explain(X[0])
    ax = plot_contributions(explanation, n_terms=1)
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(explanation.decision)
    assert ax.get_title(loc="left").startswith("Predicted 0")


def test_contributions_in_a_table_are_drawn_for_one_row():
    X, y = rings(2)
    clf = VanishingIdealClassifier(OAVI(0.001)).fit(X, y)
    bars = plot_contributions(clf.explain(X[:1]), n_terms=2).patches
    assert sum(bar.get_width() for bar in bars) == pytest.approx(clf.decision_function(X[:1])[0])
    with pytest.raises(ValueError, match="draws one decision; this explanation is about 3 rows: choose one"):
        plot_contributions(clf.explain(X[:3]))


def test_the_tuning_surface_has_every_pair_and_a_ring_at_the_best():
    search = VanishingIdealClassifierCV(psis=[0.1, 0.01, 0.001], Cs=[0.1, 1.0], cv=2).fit(*rings(2))
    ax = plot_tuning(search)
    shown = np.asarray(ax.images[0].get_array())
    assert shown.shape == (3, 2)
    x, y = (int(value[0]) for value in ax.lines[0].get_data())
    assert shown[y, x] == search.best_score_
    assert ax.get_yticklabels()[y].get_text() == f"{search.best_params_['psi']:.2g}"


def test_a_confusion_matrix_says_how_many_and_which_share():
    ax = plot_confusion([[40, 10], [0, 50]], ["calm", "<b>storm</b>"])
    assert [text.get_text() for text in ax.texts] == ["40\n80.0%", "10\n20.0%", "0\n0.0%", "50\n100.0%"]
    assert ax.get_yticklabels()[1].get_text() == "<b>storm</b>"


def test_a_long_chart_keeps_every_alarm():
    scores = np.zeros(100_000)
    scores[[17, 40_001]] = 5.0, 7.0
    ax = plot_control_chart(scores, {0.01: 3.0, 0.001: 4.0}, mark=[40_001, 17])
    normal, alarm, *limits = ax.lines
    assert len(normal.get_xdata()) <= 20_000
    assert alarm.get_xdata().tolist() == [17, 40_001]
    assert [line.get_ydata()[0] for line in limits] == [3.0, 4.0]
    assert {"17", "40001"} <= {text.get_text() for text in ax.texts}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_effect_is_drawn_as_its_curve_above_the_distribution(n_classes):
    X, y = rings(n_classes)
    effects = VanishingIdealClassifier(OAVI(0.001), features="both").fit(X, y).effects(X)
    ax = plot_effects(effects[0])
    values = effects[0].values.reshape(len(effects[0].grid), -1)
    for line, expected in zip(ax.lines, values.T, strict=False):
        np.testing.assert_array_equal(line.get_xdata(), effects[0].grid)
        np.testing.assert_array_equal(line.get_ydata(), expected)
    heights = np.array([bar.get_height() for bar in ax.patches])
    np.testing.assert_allclose(heights / heights.max(), effects[0].counts / effects[0].counts.max())
    low, high = ax.get_ylim()
    assert low + heights.max() * (high - low) < values.min()  # the bars, in shares of the axis, stay below the curve


def test_all_effects_are_drawn_with_their_maps_last():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 2)), rng.integers(0, 2, 300)])
    clf = VanishingIdealClassifier(OAVI(0.01), monomials=2).fit(X, X[:, 0] + X[:, 1] * X[:, 2] > 0.0)
    effects = clf.effects(X)
    axes = plot_effects(effects, n_shown=20)
    curves = [effect.name for effect in effects if effect.importance > 0.0]
    maps = [pair.name for pair in effects.pairs if pair.importance > 0.0]
    assert [ax.get_title(loc="left") for ax in axes] == curves + maps
    assert axes[curves.index("x2")].get_xticks().tolist() == [0.0, 1.0]
    pair = plot_effects(effects["x1", "x2"])
    drawn = np.asarray(pair.collections[0].get_array()).reshape(2, -1)
    np.testing.assert_allclose(drawn.T, effects["x1", "x2"].values)
    with pytest.raises(ValueError, match="ax is for one effect"):
        plot_effects(effects, ax=pair)


def test_bars_of_terms_that_begin_alike_have_different_labels():
    texts = ["|0.5*length + 0.25*width - 0.125*height + 1|", "|0.5*length + 0.25*width - 0.125*height + 2|", "width"]
    labels = distinct_labels([*texts, "width", "height"], 30)
    assert len(set(labels)) == 5
    assert all(len(label) <= 30 for label in labels)
    assert labels[4] == "height"


def test_a_peak_of_one_row_is_drawn_among_many_rows():
    evidence = np.zeros(10 * MOST_POINTS)
    evidence[12_345] = 7.0
    line = plot_episodes(evidence, 5.0, [(12_345, 12_345)]).lines[0]
    assert len(line.get_ydata()) <= MOST_POINTS
    assert max(line.get_ydata()) == 7.0


@pytest.mark.parametrize(
    ("largest", "scale"), [(0.9 * LOGARITHMIC, "linear"), (1.1 * LOGARITHMIC, "symlog"), (-1.1 * LOGARITHMIC, "symlog")]
)
def test_a_scale_becomes_logarithmic_where_values_are_far_from_usual(largest, scale):
    ax = new_axes(None)
    tame(ax, np.array([0.5, largest]), 1.0)
    assert ax.get_yscale() == scale
