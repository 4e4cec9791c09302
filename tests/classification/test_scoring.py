"""Judgements of decisions about held-out rows, against the scores of scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from vanishing.classification.model.probabilities import calibrate, probabilities
from vanishing.classification.search.scoring import Criterion, HeldOut, find_scorer, tabulated_score


def held_out(n_classes=2, weighted=False, seed=0):
    """The rows of three folds, and noisy decisions about them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, 150)
    wide = rng.normal(size=(150, n_classes)) + np.eye(n_classes)[codes]
    decisions = wide[:, 1:] - wide[:, :1] if n_classes == 2 else wide
    places = np.array_split(rng.permutation(150), 3)
    weights = [rng.uniform(0.5, 2.0, len(own)) if weighted else None for own in places]
    fit_weights = [own for own in weights if own is not None] or None
    rows = HeldOut(np.arange(n_classes), places, [codes[own] for own in places], weights, fit_weights)
    return rows, [decisions[own] for own in places]


def said(decisions):
    return (decisions[:, 0] > 0).astype(int) if decisions.shape[1] == 1 else decisions.argmax(axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_score_is_the_accuracy_of_each_fold(n_classes, weighted):
    rows, decisions = held_out(n_classes, weighted)
    judged = Criterion(calibrated=False).judge(rows, decisions)
    folds = zip(decisions, rows.codes, rows.weights, strict=True)
    expected = [accuracy_score(codes, said(own), sample_weight=weights) for own, codes, weights in folds]
    np.testing.assert_allclose(judged.scores, expected)
    assert judged.value == pytest.approx(np.mean(expected))
    assert judged.calibration is None
    assert set(judged.row_values) == {0.0, 1.0}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_brier_score_is_that_of_calibrated_probabilities(n_classes, weighted):
    rows, decisions = held_out(n_classes, weighted)
    judged = Criterion(by_probabilities=True).judge(rows, decisions)
    together, codes, weights = rows.together(decisions)
    calibration = calibrate(together, codes, weights)
    log_odds = calibration.limited(calibration(together))
    given = probabilities(log_odds[:, 0] if n_classes == 2 else log_odds)
    squares = ((given - np.eye(n_classes)[codes]) ** 2).sum(axis=1)
    assert judged.value == pytest.approx(-np.average(squares, weights=weights))
    assert judged.value == pytest.approx(np.average(judged.row_values, weights=judged.row_weights))
    answers = [said(calibration(own)) for own in decisions]
    folds = zip(rows.codes, answers, rows.weights, strict=True)
    np.testing.assert_allclose(judged.scores, [accuracy_score(c, own, sample_weight=w) for c, own, w in folds])


def test_a_score_of_the_user_is_judged_by_fold():
    rows, decisions = held_out()
    judged = Criterion(find_scorer("roc_auc"), calibrated=False).judge(rows, decisions)
    expected = [roc_auc_score(codes, own[:, 0]) for own, codes in zip(decisions, rows.codes, strict=True)]
    np.testing.assert_allclose(judged.scores, expected)
    np.testing.assert_array_equal(judged.row_values, judged.scores)
    assert judged.value == pytest.approx(np.mean(expected))


def test_values_of_rows_that_are_held_out_repeatedly_are_averaged():
    places = [np.array([0, 2]), np.array([2, 3])]
    rows = HeldOut(np.array([0, 1]), places, places, [np.array([1.0, 2.0]), np.array([2.0, 5.0])], None)
    values, weights = rows.by_row([np.array([1.0, 0.0]), np.array([1.0, 1.0])])
    np.testing.assert_array_equal(values, [1.0, 0.5, 1.0])
    np.testing.assert_array_equal(weights, [1.0, 2.0, 5.0])


def test_a_table_of_labels_and_predictions_is_enough_for_a_score_of_predictions():
    rng = np.random.default_rng(0)
    labels, answers, weights = rng.integers(0, 3, 200), rng.integers(0, 3, 200), rng.random(200)
    table = np.zeros((3, 3))
    np.add.at(table, (labels, answers), weights)
    expected = f1_score(labels, answers, average="macro", sample_weight=weights)
    assert tabulated_score(find_scorer("f1_macro"), table, np.arange(3), np.arange(3)) == pytest.approx(expected)
