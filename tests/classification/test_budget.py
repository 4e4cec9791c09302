"""The numbers of the default search: how they follow from rows, columns and classes."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from vanishing.classification.search.strategies import Budget


def test_psis_are_half_decades_from_the_largest():
    psis = Budget().psis(0.2)
    assert psis[0] == 0.2
    np.testing.assert_allclose(np.diff(np.log10(psis)), -1.0 / Budget().psis_per_decade)
    assert psis[-1] >= 2.0**-26 > psis[-1] * 10.0**-0.5  # the root of the machine epsilon
    assert Budget().psis(0.0) == [2.0**-26]
    assert [float(f"{psi:.3g}") for psi in Budget(psis_per_decade=1).psis(0.2)[:3]] == [0.2, 0.02, 0.002]


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_classes", "expected"),
    [(100, 3, 2, 60), (10**6, 3, 2, 6000), (100, 50, 2, 102), (30, 2, 3, 40), (10_000, 4, 10, 120)],
)
def test_terms_grow_with_the_root_of_the_rows_of_a_class(n_rows, n_features, n_classes, expected):
    assert Budget().max_terms(n_rows, n_features, n_classes) == expected


@pytest.mark.parametrize("n_features", [1, 7, 400])
def test_terms_are_enough_for_every_polynomial_of_degree_1(n_features):
    n_terms, n_generators = n_features + 1, n_features
    assert Budget().max_terms(2, n_features, 50) >= n_terms + n_generators


@pytest.mark.parametrize("n_classes", [2, 3, 26])
@pytest.mark.parametrize("n_rows", [100, 7000])
def test_columns_keep_the_hessians_of_a_step_within_their_work(n_rows, n_classes):
    budget = Budget()
    n_planes = 1 if n_classes == 2 else n_classes

    def work(n_columns):
        return n_planes * n_rows * n_columns**2

    most = budget.max_columns(n_rows, n_classes)
    assert work(most) <= budget.step_work < work(most + 1)


def test_a_budget_cannot_change_under_way():
    with pytest.raises(FrozenInstanceError):
        Budget().n_folds = 5
