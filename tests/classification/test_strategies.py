"""Strategies on made-up scores: what they ask for next, and when they end."""

from dataclasses import replace

import numpy as np
import pytest
from made_up import PLAIN, score, trial

from vanishing import Columns
from vanishing.classification.search.strategies import (
    BetterScaling,
    Grid,
    RicherColumns,
    WalkDown,
    best_trial,
    neighbours,
)

PSIS = [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5]
CS = [0.1, 1.0]


def played(strategies, score_of):
    """The history of strategies one after the other, for scores that are a function of the trial."""
    history, asked = {}, []
    for strategy in strategies:
        while trials := strategy.ask(history):
            assert len(asked) < 100, "the strategy does not end"
            assert len({(each.scaling, each.columns) for each in trials}) == 1, "evaluators score them together"
            asked.append(trials)
            history.update({each: score_of(each) for each in trials})
    return history, asked


def walked(values, patience=2):
    """The psis that a walk tries, for made-up values of each psi."""
    scores = {psi: score(value) for psi, value in zip(PSIS, values, strict=True)}
    walk = WalkDown("arcsinh", PSIS, CS, PLAIN, patience)
    _, asked = played([walk], lambda each: scores[each.psi])
    assert all([(each.psi, each.C) for each in trials] == [(trials[0].psi, C) for C in CS] for trials in asked)
    return [trials[0].psi for trials in asked]


def test_a_grid_asks_once_for_every_pair():
    _, asked = played([Grid("rank", [0.1, 0.01], CS, PLAIN)], lambda each: score(0.5))
    assert asked == [[trial(psi, C, scaling="rank") for psi in (0.1, 0.01) for C in CS]]


def test_grids_of_two_scalings_follow_each_other():
    grids = [Grid(scaling, [0.1], [1.0], PLAIN) for scaling in ("arcsinh", "rank")]
    _, asked = played(grids, lambda each: score(0.5))
    assert asked == [[trial(0.1)], [trial(0.1, scaling="rank")]]


@pytest.mark.parametrize(
    ("values", "patience", "n_tried"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 2, 6),
        ([0.5, 0.4, 0.3, 0.9, 0.9, 0.9], 2, 3),
        ([0.5, 0.4, 0.6, 0.5, 0.7, 0.1], 2, 6),
        ([0.5, 0.5, 0.5, 0.9, 0.9, 0.9], 2, 3),  # an equal value is not a better one
        ([0.5, 0.6, 0.4, 0.9, 0.9, 0.9], 1, 3),
        ([0.5, 0.4, 0.4, 0.4, 0.9, 0.9], 4, 6),
        ([np.nan, np.nan, np.nan, 0.5, 0.4, 0.3], 2, 6),  # without generators, a psi does not count
        ([np.nan, 0.5, 0.4, 0.3, 0.9, 0.9], 2, 4),
    ],
    ids=str,
)
def test_a_walk_ends_when_its_patience_does(values, patience, n_tried):
    assert walked(values, patience) == PSIS[:n_tried]


def test_a_walk_follows_the_best_c():
    best = {1.0: 10.0, 0.1: 1.0, 0.01: 0.1, 1e-3: 0.01, 1e-4: 0.01, 1e-5: 0.01}
    walk = WalkDown("arcsinh", PSIS, [0.01, 0.1, 1.0, 10.0], PLAIN, patience=6)
    _, asked = played([walk], lambda each: score(-abs(np.log10(each.C / best[each.psi]))))
    assert [[each.C for each in trials] for trials in asked] == [
        [0.01, 0.1, 1.0, 10.0],
        [1.0, 10.0],
        [0.1, 1.0, 10.0],
        [0.01, 0.1, 1.0],
        [0.01, 0.1],
        [0.01, 0.1],
    ]


def test_neighbours_of_a_value_between_two_are_those_of_the_nearer_one():
    assert neighbours([10.0, 0.1, 1.0], 0.7) == [0.1, 1.0, 10.0]
    assert neighbours([5.0], 0.7) == [5.0]


@pytest.mark.parametrize(("gain", "chosen"), [(0.0, "arcsinh"), (0.1, "rank"), (-0.1, "arcsinh")])
def test_scalings_are_compared_on_the_first_psis_and_the_better_one_walks_on(gain, chosen):
    walks = [WalkDown(scaling, PSIS, CS, PLAIN, patience=6) for scaling in ("arcsinh", "rank")]
    scores = {psi: 0.1 * k for k, psi in enumerate(PSIS)}
    begun = [replace(walk, psis=PSIS[:2]) for walk in walks]
    strategies = [*begun, BetterScaling(walks)]
    _, asked = played(strategies, lambda each: score(scores[each.psi] + gain * (each.scaling == "rank")))
    tried = [(trials[0].scaling, trials[0].psi) for trials in asked]
    assert tried[:4] == [(scaling, psi) for scaling in ("arcsinh", "rank") for psi in PSIS[:2]]
    assert tried[4:] == [(chosen, psi) for psi in PSIS[2:]]


def test_a_scaling_without_a_generator_does_not_stop_the_others():
    walks = [WalkDown(scaling, PSIS[:3], CS, PLAIN, patience=2) for scaling in ("arcsinh", "rank")]
    strategies = [*(replace(walk, psis=PSIS[:1]) for walk in walks), BetterScaling(walks)]
    _, asked = played(strategies, lambda each: score(0.5 if each.scaling == "rank" else np.nan))
    assert [trials[0].scaling for trials in asked] == ["arcsinh", "rank", "rank", "rank"]


def test_without_a_value_no_scaling_is_better():
    walks = [WalkDown("arcsinh", PSIS[:3], CS, PLAIN, patience=2)]
    assert BetterScaling(walks).ask({trial(PSIS[0], C): score(np.nan) for C in CS}) == []


def test_a_walk_knows_only_the_trials_of_its_own_scaling_and_columns():
    walk = WalkDown("arcsinh", PSIS, CS, PLAIN, patience=2)
    others = {trial(psi, C, scaling="rank"): score(0.9) for psi in PSIS for C in CS}
    assert walk.ask(others) == [trial(PSIS[0], C) for C in CS]


OTHERS = [Columns(hinges=5), Columns(hinges=5, monomials=2), Columns(halves=True)]


def richer(gains, others=OTHERS, values=(0.3, 0.5, 0.4)):
    """History and questions after a walk, where a trial gains what its columns bring."""

    def score_of(each):
        gain = gains.get("hinges", 0.0) * (each.columns.hinges > 0)
        gain += gains.get("monomials", 0.0) * (each.columns.monomials > 1)
        gain += gains.get("halves", 0.0) * each.columns.halves
        return score(by_psi[each.psi] + gain)

    by_psi = dict(zip(PSIS, values, strict=False))
    walk = WalkDown("arcsinh", PSIS[:3], CS, PLAIN, patience=2)
    history, asked = played([walk, RicherColumns(others, CS)], score_of)
    return best_trial(history), [trials[0] for trials in asked[3:]]


def test_changes_that_bring_nothing_are_tried_at_the_best_psi_and_forgotten():
    best, asked = richer({})
    assert best == trial(0.1, 0.1)
    assert [each.columns for each in asked] == OTHERS
    assert [each.psi for each in asked] == [0.1, 0.1, 0.1]


def test_a_change_that_is_ahead_stays_in_all_that_follow():
    best, asked = richer({"hinges": -0.1, "monomials": 0.05, "halves": 0.1})
    assert best == trial(0.1, 0.1, Columns(halves=True))
    best, asked = richer({"hinges": 0.1, "monomials": -0.1, "halves": 0.1})
    assert asked[-1].columns == best.columns == Columns(hinges=5, halves=True)


def test_every_change_is_tried_with_the_best_c_and_its_neighbours():
    Cs = [0.01, 0.1, 1.0, 10.0]
    walk = {trial(0.1, C): score(-C) for C in Cs}
    assert [each.C for each in RicherColumns(OTHERS, Cs).ask(walk)] == [0.01, 0.1]


def test_without_a_value_there_is_nothing_to_change():
    assert RicherColumns(OTHERS, CS).ask({trial(0.1, C): score(np.nan) for C in CS}) == []


@pytest.mark.parametrize("gain", [0.1, -0.1])
def test_a_change_to_columns_that_were_tried_before_is_skipped(gain):
    _, asked = richer({"hinges": gain}, [PLAIN, Columns(hinges=5), Columns(hinges=5), Columns(halves=True)])
    assert [each.columns.hinges for each in asked] == [5, 5 if gain > 0.0 else 0]
