"""What a walk down psi does not try: larger C, and scalings, that lose."""

from types import SimpleNamespace

import numpy as np
import pytest

from vanishing.classification.crossval import Fold, FoldModel, _fits_along
from vanishing.classification.scoring import HeldOut, paired_difference
from vanishing.classification.walk import explore_in_turns


@pytest.mark.parametrize(("n_columns", "n_fits"), [(200, 2), (20, 3)], ids=["many-columns", "few-columns"])
def test_many_columns_go_up_c_until_that_is_clearly_worse(n_columns, n_fits):
    columns = np.random.default_rng(0).standard_normal((300, n_columns))
    codes, places = (columns[:, 0] > 0.0).astype(int), np.arange(300)
    rows = HeldOut(np.array([0, 1]), [places], [codes], [None], [None])
    study = SimpleNamespace(ascending=True, held_out=lambda folds: rows)
    fold = Fold(0, places, places, None)
    finals = [SimpleNamespace(coef_=np.eye(n_columns)[[j]], intercept_=np.zeros(1)) for j in (0, 1, 0)]
    asked = []

    def models():
        for final in finals:
            asked.append(final)
            yield FoldModel(fold, (), None, final)

    assert len(_fits_along(study, fold, models(), columns)) == n_fits == len(asked)


@pytest.mark.parametrize(("costly", "clear", "n_steps"), [(True, False, 2), (False, True, 3), (False, False, 6)])
def test_scalings_take_turns_until_one_is_clearly_ahead_or_they_cost_too_much(costly, clear, n_steps):
    steps = []
    walks = [
        SimpleNamespace(step=lambda k=k: steps.append(k), is_costly=costly, is_clearly_ahead_of=lambda other: clear)
        for k in range(2)
    ]
    explore_in_turns(walks)
    assert steps == [0, 1] * n_steps


def test_a_paired_difference_has_the_error_of_a_mean_and_weights_count_like_repeated_rows():
    rng = np.random.default_rng(0)
    own, other, weights = rng.random(40), rng.random(40), rng.integers(1, 4, 40).astype(float)
    mean, error = paired_difference(own, other, np.ones(40))
    assert mean == pytest.approx((own - other).mean())
    assert error == pytest.approx((own - other).std() / np.sqrt(40))
    repeated = np.repeat(own - other, weights.astype(int))
    assert paired_difference(own, other, weights)[0] == pytest.approx(repeated.mean())


def test_values_of_rows_that_are_held_out_repeatedly_are_averaged():
    places = [np.array([0, 2]), np.array([2, 3])]
    rows = HeldOut(np.array([0, 1]), places, places, [np.array([1.0, 2.0]), np.array([2.0, 5.0])], [None, None])
    values, weights = rows.by_row([np.array([1.0, 0.0]), np.array([1.0, 1.0])])
    np.testing.assert_array_equal(values, [1.0, 0.5, 1.0])
    np.testing.assert_array_equal(weights, [1.0, 2.0, 5.0])
