"""Laws of famous tables, found by the defaults: small extracts, and made twins of those that are large."""

import numpy as np
import pytest

from vanishing import discover

# L. Klein (1950), Economic Fluctuations in the United States 1921-1941, table in the appendix: billions of dollars.
KLEIN = {
    "spending": "39.8 41.9 45.0 49.2 50.6 52.6 55.1 56.2 57.3 57.8 55.0 50.9 45.6 46.5 48.7 51.3 57.7 58.7 57.5 61.6",
    "profits": "12.7 12.4 16.9 18.4 19.4 20.1 19.6 19.8 21.1 21.7 15.6 11.4 7.0 11.2 12.3 14.0 17.6 17.3 15.3 19.0",
    "wages": "28.8 25.5 29.3 34.1 33.9 35.4 37.4 37.9 39.2 41.3 37.9 34.5 29.0 28.5 30.6 33.2 36.8 41.0 38.2 41.6",
    "investment": "2.7 -.2 1.9 5.2 3.0 5.1 5.6 4.2 3.0 5.1 1.0 -3.4 -6.2 -5.1 -3.0 -1.3 2.1 2.0 -1.9 1.3",
    "product": "44.9 45.6 50.1 57.2 57.1 61.0 64.0 64.4 64.5 67.0 61.2 53.4 44.3 45.1 49.7 54.4 62.7 65.0 60.9 69.5",
    "government": "2.4 3.9 3.2 2.8 3.5 3.3 3.3 4.0 4.2 4.1 5.2 5.9 4.9 3.7 4.0 4.4 2.9 4.3 5.3 6.6",
    "taxes": "3.4 7.7 3.9 4.7 3.8 5.5 7.0 6.7 4.2 4.0 7.7 7.5 8.3 5.4 6.8 7.2 8.3 6.7 7.4 8.9",
}


def the_law(laws, *columns):
    """The law of these columns."""
    return next(law for law in laws if set(law.variables) == set(columns))


def test_kleins_accounts_balance():
    X = np.array([np.array(column.split(), dtype=float) for column in KLEIN.values()]).T
    laws = discover(X, names=list(KLEIN))
    parts = [set(law.variables) - {"product"} for law in laws]
    assert len(laws) == 2
    assert {"spending", "investment", "government"} in parts
    assert {"profits", "wages", "taxes"} in parts
    assert all(set(abs(law.coef)) == {1.0} for law in laws)


def test_a_share_of_expenditures_is_found_beside_votes():
    # Wooldridge's vote1: shareA = 100 expendA / (expendA + expendB), 173 elections.
    random = np.random.default_rng(4)
    A, B = np.exp(random.normal(5.0, 1.6, (2, 173))).round(3)
    share = (100.0 * A / (A + B)).round(5)
    vote = (25.0 + 0.5 * share + random.normal(0.0, 6.0, 173)).round()
    laws = discover(np.column_stack([vote, A, B, share]), names=["vote", "A", "B", "share"])
    assert [law.equation for law in laws] == ["A*share + B*share = 100*A"]


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [4, 6])
def test_the_depth_of_diamonds_is_a_share_of_their_width(n_columns):
    # ggplot2's diamonds: depth = 200 z / (x + y) per cent; lengths in hundredths of a millimetre, 2% of them wrong.
    random = np.random.default_rng(5)
    x = np.exp(random.normal(1.72, 0.2, 2500)).round(2)
    y = (x * (1.0 + 0.01 * random.standard_t(2.0, 2500))).clip(1.0).round(2)
    depth = random.normal(61.7, 1.4, 2500).round(1)
    z = (depth * (x + y) / 200.0).round(2)
    wrong = random.random(2500) < 0.02
    z[wrong] = np.where(random.random(wrong.sum()) < 0.3, 0.0, random.permutation(z)[: wrong.sum()])
    carat = (0.0061 * x * y * z * random.normal(1.0, 0.02, 2500)).round(2)
    table = random.normal(57.5, 2.2, 2500).round()
    columns = [depth, x, y, z, carat, table][:n_columns]
    laws = discover(np.column_stack(columns), names=["depth", "x", "y", "z", "carat", "table"][:n_columns])
    law = the_law(laws, "depth", "x", "y", "z")
    assert law.distance(np.array([[60.0, 5.0, 5.0, 3.0, 0.0, 0.0][:n_columns]]))[0] < 1e-3
    assert 0.93 < law.share <= 1.0


def test_specific_heats_of_elements_are_molar_ones_over_masses():
    # Two of three columns are rounded, and 9% of the rows are from other sources.
    random = np.random.default_rng(6)
    mass = np.cumsum(random.uniform(0.8, 5.0, 85)).round(3)
    molar = np.where(random.random(85) < 0.8, random.normal(26.0, 2.0, 85), random.uniform(8.0, 36.0, 85)).round(2)
    specific = (molar / mass * random.normal(1.0, 0.0008, 85)).round(4)
    wrong = random.choice(85, 8, replace=False)
    specific[wrong] *= random.uniform(0.4, 2.0, 8)
    laws = discover(np.column_stack([mass, specific, molar]), names=["mass", "specific", "molar"])
    law = the_law(laws, "mass", "specific", "molar")
    assert law.equation == "mass*specific = molar"
    assert set(law.exceptions().tolist()) >= set(wrong[np.abs(specific * mass / molar - 1.0)[wrong] > 0.05].tolist())


@pytest.mark.parametrize("noise", [0.001, 0.005])
def test_the_constant_of_the_pendulum_is_no_whole_number(noise):
    random = np.random.default_rng(7)
    length = random.uniform(0.2, 2.0, 300)
    period = 2.0 * np.pi * np.sqrt(length / 9.81)
    X = np.column_stack([period, length]) * (1.0 + noise * random.normal(size=(300, 2)))
    (law,) = discover(X, names=["T", "L"])
    ((value, error),) = law.constants().values()
    assert law.equation.startswith("T^2 = 4.0")
    assert abs(abs(value) - 4.0 * np.pi**2 / 9.81) < 4.0 * error
    assert error < 0.01
