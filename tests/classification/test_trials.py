"""Which trial is taken: a clear lead, the best trial, few columns, and the table of results."""

import numpy as np
import pytest
from made_up import PLAIN, score, trial
from scipy.stats import ttest_rel

from vanishing import Columns
from vanishing.classification.search.strategies import best_trial, choose, is_ahead, tabulate

HINGES = Columns(hinges=5)


@pytest.mark.parametrize("seed", range(20))
def test_a_lead_is_a_paired_t_statistic_above_one(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.random(30), rng.random(30)
    t = ttest_rel(one, other).statistic * np.sqrt(30 / 29)  # the error here divides by m, not by m - 1
    assert is_ahead(score(one), score(other)) == (t > 1.0)


def test_equal_trials_are_not_ahead_and_a_constant_lead_is():
    assert not is_ahead(score(0.5), score(0.5))
    assert is_ahead(score(0.6), score(0.5))


@pytest.mark.parametrize("seed", range(10))
def test_weights_of_rows_give_the_error_of_a_weighted_mean(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 5, 50)
    one, other = rng.random(50) + 0.05, rng.random(50)
    difference = one - other
    shares = weights / weights.sum()
    mean = shares @ difference
    error = np.sqrt(sum(share**2 * (d - mean) ** 2 for share, d in zip(shares, difference, strict=True)))
    assert is_ahead(score(one, weights=weights), score(other, weights=weights)) == (mean > error)
    scaled = is_ahead(score(one, weights=7.0 * weights), score(other, weights=7.0 * weights))
    assert scaled == (mean > error)  # the unit of weights does not count
    equal = is_ahead(score(one, weights=np.full(50, 3.0)), score(other, weights=np.full(50, 3.0)))
    assert equal == is_ahead(score(one), score(other))


def test_the_best_trial_has_the_largest_value_then_psi_then_the_smallest_c():
    history = {trial(psi, C): score(0.5) for psi in (0.001, 0.1, 0.01) for C in (10.0, 0.1, 1.0)}
    assert best_trial(history) == trial(0.1, 0.1)
    history[trial(0.001, 10.0)] = score(0.6)
    assert best_trial(history) == trial(0.001, 10.0)


def test_trials_without_a_value_are_never_the_best():
    assert best_trial({}) is None
    assert best_trial({trial(0.1): score(np.nan)}) is None
    assert best_trial({trial(0.1): score(np.nan), trial(0.01): score(0.1)}) == trial(0.01)


def test_other_columns_need_a_clear_lead_over_the_best_before():
    plain = np.random.default_rng(0).random(40)
    noisy = plain + 0.01 + 0.2 * (-1.0) ** np.arange(40)  # ahead by 0.01 +- 0.03
    clear = plain + 0.02
    assert is_ahead(score(clear), score(plain))
    assert not is_ahead(score(noisy), score(plain))
    history = {trial(0.1): score(plain), trial(0.1, columns=HINGES): score(noisy)}
    assert best_trial(history) == trial(0.1)
    history[trial(0.1, columns=HINGES)] = score(clear)
    assert best_trial(history) == trial(0.1, columns=HINGES)
    ranks = trial(0.2, columns=HINGES, scaling="rank")
    assert best_trial({**history, ranks: score(clear)}) == trial(0.1, columns=HINGES)
    assert best_trial({**history, ranks: score(clear + 0.02)}) == ranks


def test_choose_takes_the_best_trial_of_few_enough_columns():
    history = {trial(0.1): score(0.5, n_columns=3), trial(0.01): score(0.8, n_columns=30)}
    assert choose(history, sparse=False, max_columns=None) == trial(0.01)
    assert choose(history, sparse=False, max_columns=30) == trial(0.01)
    assert choose(history, sparse=False, max_columns=10) == trial(0.1)
    assert choose(history, sparse=False, max_columns=2) == trial(0.01)  # none has so few: the fit leaves some out


def test_sparse_takes_the_fewest_columns_that_the_best_is_not_ahead_of():
    best = np.random.default_rng(0).random(50)
    near, far = best - 0.01 + 0.3 * (-1.0) ** np.arange(50), best - 0.1
    assert not is_ahead(score(best), score(near))
    assert is_ahead(score(best), score(far))
    history = {
        trial(0.1): score(far, n_columns=2),
        trial(0.01): score(near, n_columns=5),
        trial(0.001): score(best, n_columns=9),
    }
    assert near.mean() < best.mean()
    assert choose(history, sparse=True, max_columns=None) == trial(0.01)
    assert choose(history, sparse=False, max_columns=None) == trial(0.001)


def test_choose_refuses_a_history_without_values():
    with pytest.raises(ValueError, match="No psi gives a generator for any class in every fold: raise psis"):
        choose({trial(0.1): score(np.nan)}, sparse=False, max_columns=None)


def test_the_table_ranks_trials_with_the_chosen_columns_first_and_nan_last():
    history = {
        trial(0.1): score(0.5),
        trial(0.01): score(0.7),
        trial(0.001): score(np.nan),
        trial(0.01, columns=HINGES): score(0.9),
        trial(0.01, 10.0, columns=HINGES): score(0.9),
    }
    results, place = tabulate(history, trial(0.01))
    assert place == 1
    assert results["rank_test_score"].tolist() == [2, 1, 3, 4, 4]
    assert tabulate(history, trial(0.01, columns=HINGES))[0]["rank_test_score"].tolist() == [4, 3, 5, 1, 1]
    assert results["params"][3] == {"psi": 0.01, "C": 1.0}
    assert results["param_columns"] == [PLAIN, PLAIN, PLAIN, HINGES, HINGES]
    assert results["param_scale_input"] == ["arcsinh"] * 5
    np.testing.assert_allclose(results["mean_test_score"], [0.5, 0.7, np.nan, 0.9, 0.9])
    np.testing.assert_array_equal(results["split1_test_score"], results["mean_test_score"])
    np.testing.assert_array_equal(results["mean_n_columns"], np.full(5, 10.0))
