"""Pictures of classifiers and detectors: what they draw."""

import numpy as np
import pytest

from vanishing import OAVI, VanishingIdealClassifier, VanishingIdealClassifierCV
from vanishing.plots import plot_confusion, plot_contributions, plot_control_chart, plot_tuning, plot_weights


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
    assert [label.get_text()[:20] for label in ax.get_yticklabels()] == [term.text[:20] for term in terms]
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
