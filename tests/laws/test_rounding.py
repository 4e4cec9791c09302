"""Tables whose columns were rounded before they were written."""

import numpy as np
import pytest

from vanishing import discover
from vanishing.laws.rows.rounding import rounding_steps


def thermometers(decimals, seed=0, n_rows=1500):
    celsius = np.random.default_rng(seed).uniform(-20.0, 40.0, n_rows).round(decimals)
    return np.column_stack([celsius, (1.8 * celsius + 32.0).round(decimals)])


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [0, 1])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_law_of_rounded_columns_is_found(decimals, seed):
    (law,) = discover(thermometers(decimals, seed), names=["C", "F"])
    assert law.exponents.sum(axis=1).max() == 1
    slope = float(law.to_sympy().coeff("C") / -law.to_sympy().coeff("F"))
    assert slope == pytest.approx(1.8, abs=0.005 if decimals == 0 else 0.0005)


def test_an_exact_law_of_integers_stays_exact():
    k = np.arange(1.0, 60.0)
    assert {law.kind for law in discover(np.column_stack([k, k**2]))} == {"exact"}


def test_steps_are_powers_of_ten():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    columns = [100.0 * (50.0 * x).round(), (20.0 * x).round(2), x, (x > 0.0).astype(float), (9e5 * x).round(1)]
    assert rounding_steps(np.column_stack(columns)).tolist() == [100.0, 0.01, 0.0, 1.0, 0.1]
